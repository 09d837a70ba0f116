/* atan(up / down) for 0 <= up, down, in the first quadrant and with what rounding lost: at most one of pi/2 - atan(down / up) and
   atan(x) = x + x^3 p(x^2), atan_f64 of bench/minimax.py. */
#include "../lanes.h"
#if TJ_LANES == 1 && !defined TJ_ATAN_CORE_F64_1
#define TJ_ATAN_CORE_F64_1
#elif TJ_LANES == 2 && !defined TJ_ATAN_CORE_F64_2
#define TJ_ATAN_CORE_F64_2
#elif TJ_LANES == 4 && !defined TJ_ATAN_CORE_F64_4
#define TJ_ATAN_CORE_F64_4
#elif TJ_LANES == 8 && !defined TJ_ATAN_CORE_F64_8
#define TJ_ATAN_CORE_F64_8
#elif TJ_LANES == 16 && !defined TJ_ATAN_CORE_F64_16
#define TJ_ATAN_CORE_F64_16
#elif TJ_LANES == 32 && !defined TJ_ATAN_CORE_F64_32
#define TJ_ATAN_CORE_F64_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F64 TJ_D(atan_ratio)(TJ_F64 up, TJ_F64 down, TJ_F64 *lost) {
  TJ_I64 steep = TJ_D(gt)(up, down);
  TJ_F64 n = TJ_D(select)(steep, down, up), d = TJ_D(select)(steep, up, down);
  TJ_F64 q = n / d, low = TJ_D(fma)(TJ_D(neg)(q), d, n) / d, zero = TJ_D(splat)(0.0);
  low = TJ_D(select)(TJ_D(lt)(d, TJ_D(splat)(0x1p1000)) & TJ_D(gt)(n, TJ_D(splat)(0x1p-900)), low, zero);
  TJ_F64 z = q * q;
  TJ_F64 p = TJ_D(step)(TJ_D(splat)(0x1.bbe767b562b18p-17), z, -0x1.3f326c0c8ab7ep-13);
  p = TJ_D(step)(p, z, 0x1.b3f650672c497p-11);
  p = TJ_D(step)(p, z, -0x1.7a366cec30304p-9);
  p = TJ_D(step)(p, z, 0x1.d7b60e86ecabbp-8);
  p = TJ_D(step)(p, z, -0x1.c78d9a7af72e9p-7);
  p = TJ_D(step)(p, z, 0x1.683b9ccadfe3ep-6);
  p = TJ_D(step)(p, z, -0x1.e9f916d72f2e1p-6);
  p = TJ_D(step)(p, z, 0x1.2c2e0e2b42cfdp-5);
  p = TJ_D(step)(p, z, -0x1.59a3d8146fbf6p-5);
  p = TJ_D(step)(p, z, 0x1.82dac87a3e49p-5);
  p = TJ_D(step)(p, z, -0x1.ae5e6e36f97ebp-5);
  p = TJ_D(step)(p, z, 0x1.e1bba56164396p-5);
  p = TJ_D(step)(p, z, -0x1.110e510ff957ep-4);
  p = TJ_D(step)(p, z, 0x1.3b13669741c37p-4);
  p = TJ_D(step)(p, z, -0x1.745d11ae32b0dp-4);
  p = TJ_D(step)(p, z, 0x1.c71c717fcb999p-4);
  p = TJ_D(step)(p, z, -0x1.249249237f46fp-3);
  p = TJ_D(step)(p, z, 0x1.99999999955bp-3);
  p = TJ_D(step)(p, z, -0x1.5555555555526p-2);
  TJ_F64 tail = q * (z * p) + TJ_D(fma)(TJ_D(neg)(z), low, low) , y = q + tail; /* derivative 1 / (1 + z) is 1 - z where low matters */
  TJ_F64 rest = (q - y) + tail, turned = 0x1.921fb54442d18p0 - y;
  TJ_F64 turned_rest = ((0x1.921fb54442d18p0 - turned) - y) + (0x1.1a62633145c07p-54 - rest);
  *lost = TJ_D(select)(steep, turned_rest, rest);
  return TJ_D(select)(steep, turned, y);
}
#endif
#undef TJ_DEFINED
