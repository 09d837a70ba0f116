/* tj_exp_f64xW(x) = e^x. Overflows to inf, underflows through the subnormals to 0. */
#include "../lanes.h"
#include "exp_core_f64.h"
#if TJ_LANES == 1 && !defined TJ_EXP_F64_1
#define TJ_EXP_F64_1
#elif TJ_LANES == 2 && !defined TJ_EXP_F64_2
#define TJ_EXP_F64_2
#elif TJ_LANES == 4 && !defined TJ_EXP_F64_4
#define TJ_EXP_F64_4
#elif TJ_LANES == 8 && !defined TJ_EXP_F64_8
#define TJ_EXP_F64_8
#elif TJ_LANES == 16 && !defined TJ_EXP_F64_16
#define TJ_EXP_F64_16
#elif TJ_LANES == 32 && !defined TJ_EXP_F64_32
#define TJ_EXP_F64_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F64 TJ_D(exp)(TJ_F64 x) {
  x = TJ_D(least)(TJ_D(splat)(710.0), TJ_D(most)(TJ_D(splat)(-746.0), x));
  TJ_F64 n, lost, t = TJ_D(exp_reduced)(x, &n, &lost);
  return TJ_D(scale)(1.0 + t, n);
}
#endif
#undef TJ_DEFINED
