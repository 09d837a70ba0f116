/* tj_expm1_f64xW(x) = e^x - 1, accurate for small x; the float32 version explains the steps. */
#include "../lanes.h"
#include "exp_core_f64.h"
#if TJ_LANES == 1 && !defined TJ_EXPM1_F64_1
#define TJ_EXPM1_F64_1
#elif TJ_LANES == 2 && !defined TJ_EXPM1_F64_2
#define TJ_EXPM1_F64_2
#elif TJ_LANES == 4 && !defined TJ_EXPM1_F64_4
#define TJ_EXPM1_F64_4
#elif TJ_LANES == 8 && !defined TJ_EXPM1_F64_8
#define TJ_EXPM1_F64_8
#elif TJ_LANES == 16 && !defined TJ_EXPM1_F64_16
#define TJ_EXPM1_F64_16
#elif TJ_LANES == 32 && !defined TJ_EXPM1_F64_32
#define TJ_EXPM1_F64_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F64 TJ_D(expm1)(TJ_F64 x) {
  TJ_F64 n, lost, a = TJ_D(least)(TJ_D(splat)(710.0), TJ_D(most)(TJ_D(splat)(-45.0), x));
  TJ_F64 t = TJ_D(exp_reduced)(a, &n, &lost), power = TJ_D(pow2)(n - 1.0);
  TJ_F64 whole = power - 0.5, part = power * t, sum = whole + part;
  TJ_F64 rest = TJ_D(fma)(power, lost, (part - (sum - whole)) + ((power - whole) - 0.5));
  TJ_I64 tiny = TJ_D(lt)(TJ_D(abs)(x), TJ_D(splat)(0x1p-55));
  return TJ_D(select)(tiny, x, (sum + rest) * 2.0);
}
#endif
#undef TJ_DEFINED
