/* tj_exp_f32xW(x) = e^x. Overflows to inf, underflows through the subnormals to 0. */
#include "../lanes.h"
#include "exp_core_f32.h"
#if TJ_LANES == 1 && !defined TJ_EXP_F32_1
#define TJ_EXP_F32_1
#elif TJ_LANES == 2 && !defined TJ_EXP_F32_2
#define TJ_EXP_F32_2
#elif TJ_LANES == 4 && !defined TJ_EXP_F32_4
#define TJ_EXP_F32_4
#elif TJ_LANES == 8 && !defined TJ_EXP_F32_8
#define TJ_EXP_F32_8
#elif TJ_LANES == 16 && !defined TJ_EXP_F32_16
#define TJ_EXP_F32_16
#elif TJ_LANES == 32 && !defined TJ_EXP_F32_32
#define TJ_EXP_F32_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F32 TJ_F(exp)(TJ_F32 x) {
  x = TJ_F(least)(TJ_F(splat)(89.0f), TJ_F(most)(TJ_F(splat)(-104.0f), x));
  TJ_F32 n, lost, t = TJ_F(exp_reduced)(x, &n, &lost);
  return TJ_F(scale)(1.0f + t, n);
}
#endif
#undef TJ_DEFINED
