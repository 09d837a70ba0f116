/* tj_cbrt_f64xW(x): |x| = m 2^(3 q), m from 1 to 8. A polynomial (cbrt_f64 of bench/minimax.py) for m^(-1/3) on [1, 2), times 2^(-1/3) or 2^(-2/3);
   one step of third order makes about 60 bits of it; the root m r^2 is corrected once. */
#include "../lanes.h"
#if TJ_LANES == 1 && !defined TJ_CBRT_F64_1
#define TJ_CBRT_F64_1
#elif TJ_LANES == 2 && !defined TJ_CBRT_F64_2
#define TJ_CBRT_F64_2
#elif TJ_LANES == 4 && !defined TJ_CBRT_F64_4
#define TJ_CBRT_F64_4
#elif TJ_LANES == 8 && !defined TJ_CBRT_F64_8
#define TJ_CBRT_F64_8
#elif TJ_LANES == 16 && !defined TJ_CBRT_F64_16
#define TJ_CBRT_F64_16
#elif TJ_LANES == 32 && !defined TJ_CBRT_F64_32
#define TJ_CBRT_F64_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F64 TJ_D(cbrt)(TJ_F64 x) {
  TJ_F64 a = TJ_D(abs)(x);
  TJ_I64 small = TJ_D(lt)(a, TJ_D(splat)(0x1p-1022));
  TJ_I64 bits = TJ_D(bits)(TJ_D(select)(small, a * 0x1p54, a));
  TJ_F64 e = (TJ_D(from_bits)((bits >> 52) + INT64_C(0x4338000000000000)) - 0x1.8p52) - 1023.0;
  TJ_F64 third = TJ_D(floor)((e + 0.5) * (1.0 / 3.0)), left = e - third * 3.0;
  TJ_F64 f = TJ_D(from_bits)((bits & INT64_C(0xfffffffffffff)) | INT64_C(0x3ff0000000000000));
  TJ_F64 r = TJ_D(step)(TJ_D(splat)(-0x1.16d582aa0af22p-6), f, 0x1.3fa103f68c00dp-3);
  r = TJ_D(step)(r, f, -0x1.321b4bddc3315p-1);
  r = TJ_D(step)(r, f, 0x1.3e67e9e5dc2adp0);
  r = TJ_D(step)(r, f, -0x1.90e6a737b68b4p0);
  r = TJ_D(step)(r, f, 0x1.c7f3384cee63cp0);
  TJ_I64 one = TJ_D(eq)(left, TJ_D(splat)(1.0)), two = TJ_D(eq)(left, TJ_D(splat)(2.0));
  r = r * TJ_D(select)(two, TJ_D(splat)(0x1.428a2f98d728bp-1), TJ_D(select)(one, TJ_D(splat)(0x1.965fea53d6e3dp-1), TJ_D(splat)(1.0)));
  TJ_F64 m = f * TJ_D(select)(two, TJ_D(splat)(4.0), TJ_D(select)(one, TJ_D(splat)(2.0), TJ_D(splat)(1.0)));
  TJ_F64 h = TJ_D(step)(TJ_D(neg)(m * r), r * r, 1.0);
  TJ_F64 w = TJ_D(step)(TJ_D(step)(h, TJ_D(splat)(14.0 / 81.0), 2.0 / 9.0), h, 1.0 / 3.0);
  r = TJ_D(fma)(r, h * w, r);
  TJ_F64 y = m * (r * r), square = y * y, square_low = TJ_D(fma)(y, y, TJ_D(neg)(square));
  TJ_F64 cube = square * y, cube_low = TJ_D(fma)(square, y, TJ_D(neg)(cube)) + square_low * y;
  y = y + ((m - cube) - cube_low) * (r * r) * (1.0 / 3.0);
  y = y * TJ_D(pow2)(third - TJ_D(select)(small, TJ_D(splat)(18.0), TJ_D(splat)(0.0)));
  TJ_I64 plain = TJ_D(gt)(a, TJ_D(splat)(0.0)) & TJ_D(lt)(a, TJ_D(splat)(TJ_INF64));
  return TJ_D(copysign)(TJ_D(select)(plain, y, a), x);
}
#endif
#undef TJ_DEFINED
