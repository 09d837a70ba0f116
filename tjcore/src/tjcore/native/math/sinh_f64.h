/* tj_sinh_f64xW(x): with v = e^|x| - 1 it is (v + v / (v + 1)) / 2. v is computed at a quarter of its size, which does not overflow before the
   result does. */
#include "../lanes.h"
#include "exp_core_f64.h"
#if TJ_LANES == 1 && !defined TJ_SINH_F64_1
#define TJ_SINH_F64_1
#elif TJ_LANES == 2 && !defined TJ_SINH_F64_2
#define TJ_SINH_F64_2
#elif TJ_LANES == 4 && !defined TJ_SINH_F64_4
#define TJ_SINH_F64_4
#elif TJ_LANES == 8 && !defined TJ_SINH_F64_8
#define TJ_SINH_F64_8
#elif TJ_LANES == 16 && !defined TJ_SINH_F64_16
#define TJ_SINH_F64_16
#elif TJ_LANES == 32 && !defined TJ_SINH_F64_32
#define TJ_SINH_F64_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F64 TJ_D(sinh)(TJ_F64 x) {
  TJ_F64 n, lost, size = TJ_D(abs)(x);
  TJ_F64 t = TJ_D(exp_reduced)(TJ_D(least)(TJ_D(splat)(710.6), size), &n, &lost), power = TJ_D(pow2)(n - 2.0);
  TJ_F64 whole = power - 0.25, part = power * t, v = whole + part;
  TJ_F64 rest = TJ_D(fma)(power, lost, (part - (v - whole)) + ((power - whole) - 0.25));
  TJ_F64 down = TJ_D(step)(v, TJ_D(splat)(4.0), 1.0), y = (v + (v / down + (rest + rest / (down * down)))) * 2.0;
  TJ_I64 tiny = TJ_D(lt)(size, TJ_D(splat)(0x1p-28));
  return TJ_D(copysign)(TJ_D(select)(tiny, size, y), x);
}
#endif
#undef TJ_DEFINED
