/* tj_log10_f32xW(x): the logarithm to base 10. */
#include "../lanes.h"
#include "log_fine_f32.h"
#if TJ_LANES == 1 && !defined TJ_LOG10_F32_1
#define TJ_LOG10_F32_1
#elif TJ_LANES == 2 && !defined TJ_LOG10_F32_2
#define TJ_LOG10_F32_2
#elif TJ_LANES == 4 && !defined TJ_LOG10_F32_4
#define TJ_LOG10_F32_4
#elif TJ_LANES == 8 && !defined TJ_LOG10_F32_8
#define TJ_LOG10_F32_8
#elif TJ_LANES == 16 && !defined TJ_LOG10_F32_16
#define TJ_LOG10_F32_16
#elif TJ_LANES == 32 && !defined TJ_LOG10_F32_32
#define TJ_LOG10_F32_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F32 TJ_F(log10)(TJ_F32 x) {
  TJ_F32 e, f = TJ_F(log_reduced)(x, &e), scale = TJ_F(splat)(0x1.bcb7b2p-2f); /* 1 / ln 10 in two parts */
  TJ_F32 whole = e * 0x1.344p-2f; /* exact: log10 2 in two parts, the first of 16 bits */
  TJ_F32 sum = TJ_F(fma)(f, scale, whole), lost = TJ_F(fma)(f, scale, whole - sum);
  TJ_F32 low = TJ_F(fma)(e, TJ_F(splat)(0x1.3509f8p-18f), TJ_F(fma)(f, TJ_F(splat)(-0x1.5b235ep-27f), lost));
  TJ_F32 rest, square = TJ_F(log_fine)(f, &rest);
  return TJ_F(log_special)(x, sum + TJ_F(fma)(square, scale, TJ_F(fma)(rest, scale, low)));
}
#endif
#undef TJ_DEFINED
