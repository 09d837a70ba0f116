/* tj_cosh_f64xW(x) = 2 w + 1 / (8 w) with w = e^|x| / 4, which does not overflow before the result does */
#include "../lanes.h"
#include "exp_core_f64.h"
#if TJ_LANES == 1 && !defined TJ_COSH_F64_1
#define TJ_COSH_F64_1
#elif TJ_LANES == 2 && !defined TJ_COSH_F64_2
#define TJ_COSH_F64_2
#elif TJ_LANES == 4 && !defined TJ_COSH_F64_4
#define TJ_COSH_F64_4
#elif TJ_LANES == 8 && !defined TJ_COSH_F64_8
#define TJ_COSH_F64_8
#elif TJ_LANES == 16 && !defined TJ_COSH_F64_16
#define TJ_COSH_F64_16
#elif TJ_LANES == 32 && !defined TJ_COSH_F64_32
#define TJ_COSH_F64_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F64 TJ_D(cosh)(TJ_F64 x) {
  TJ_F64 n, lost, t = TJ_D(exp_reduced)(TJ_D(least)(TJ_D(splat)(710.6), TJ_D(abs)(x)), &n, &lost), power = TJ_D(pow2)(n - 2.0);
  TJ_F64 w = TJ_D(fma)(power, t, power);
  return TJ_D(step)(w, TJ_D(splat)(2.0), 0.0) + 0.125 / w;
}
#endif
#undef TJ_DEFINED
