/* tj_log2_f32xW(x): the logarithm to base 2; exact for powers of two. */
#include "../lanes.h"
#include "log_fine_f32.h"
#if TJ_LANES == 1 && !defined TJ_LOG2_F32_1
#define TJ_LOG2_F32_1
#elif TJ_LANES == 2 && !defined TJ_LOG2_F32_2
#define TJ_LOG2_F32_2
#elif TJ_LANES == 4 && !defined TJ_LOG2_F32_4
#define TJ_LOG2_F32_4
#elif TJ_LANES == 8 && !defined TJ_LOG2_F32_8
#define TJ_LOG2_F32_8
#elif TJ_LANES == 16 && !defined TJ_LOG2_F32_16
#define TJ_LOG2_F32_16
#elif TJ_LANES == 32 && !defined TJ_LOG2_F32_32
#define TJ_LOG2_F32_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F32 TJ_F(log2)(TJ_F32 x) {
  TJ_F32 e, f = TJ_F(log_reduced)(x, &e), scale = TJ_F(splat)(0x1.715476p0f); /* 1 / ln 2 in two parts */
  TJ_F32 sum = TJ_F(fma)(f, scale, e), lost = TJ_F(fma)(f, scale, e - sum);
  TJ_F32 rest, square = TJ_F(log_fine)(f, &rest);
  lost = TJ_F(fma)(rest, scale, TJ_F(fma)(f, TJ_F(splat)(0x1.4ae0cp-26f), lost));
  return TJ_F(log_special)(x, sum + TJ_F(fma)(square, scale, lost));
}
#endif
#undef TJ_DEFINED
