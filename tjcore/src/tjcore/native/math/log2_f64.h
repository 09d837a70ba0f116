/* tj_log2_f64xW(x): the logarithm to base 2; exact for powers of two. */
#include "../lanes.h"
#include "log_core_f64.h"
#if TJ_LANES == 1 && !defined TJ_LOG2_F64_1
#define TJ_LOG2_F64_1
#elif TJ_LANES == 2 && !defined TJ_LOG2_F64_2
#define TJ_LOG2_F64_2
#elif TJ_LANES == 4 && !defined TJ_LOG2_F64_4
#define TJ_LOG2_F64_4
#elif TJ_LANES == 8 && !defined TJ_LOG2_F64_8
#define TJ_LOG2_F64_8
#elif TJ_LANES == 16 && !defined TJ_LOG2_F64_16
#define TJ_LOG2_F64_16
#elif TJ_LANES == 32 && !defined TJ_LOG2_F64_32
#define TJ_LOG2_F64_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F64 TJ_D(log2)(TJ_F64 x) {
  TJ_F64 e, f = TJ_D(log_reduced)(x, &e), scale = TJ_D(splat)(0x1.71547652b82fep0); /* 1 / ln 2 in two parts */
  TJ_F64 sum = TJ_D(fma)(f, scale, e), lost = TJ_D(fma)(f, scale, e - sum);
  TJ_F64 rest, square = TJ_D(log_fine)(f, &rest);
  lost = TJ_D(fma)(rest, scale, TJ_D(fma)(f, TJ_D(splat)(0x1.777d0ffda0d24p-56), lost));
  return TJ_D(log_special)(x, sum + TJ_D(fma)(square, scale, lost));
}
#endif
#undef TJ_DEFINED
