/* tj_log10_f64xW(x): the logarithm to base 10. */
#include "../lanes.h"
#include "log_core_f64.h"
#if TJ_LANES == 1 && !defined TJ_LOG10_F64_1
#define TJ_LOG10_F64_1
#elif TJ_LANES == 2 && !defined TJ_LOG10_F64_2
#define TJ_LOG10_F64_2
#elif TJ_LANES == 4 && !defined TJ_LOG10_F64_4
#define TJ_LOG10_F64_4
#elif TJ_LANES == 8 && !defined TJ_LOG10_F64_8
#define TJ_LOG10_F64_8
#elif TJ_LANES == 16 && !defined TJ_LOG10_F64_16
#define TJ_LOG10_F64_16
#elif TJ_LANES == 32 && !defined TJ_LOG10_F64_32
#define TJ_LOG10_F64_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F64 TJ_D(log10)(TJ_F64 x) {
  TJ_F64 e, f = TJ_D(log_reduced)(x, &e), scale = TJ_D(splat)(0x1.bcb7b1526e50ep-2); /* 1 / ln 10 in two parts */
  TJ_F64 whole = e * 0x1.34413509f78p-2; /* exact: log10 2 in two parts, the first of 42 bits */
  TJ_F64 sum = TJ_D(fma)(f, scale, whole), lost = TJ_D(fma)(f, scale, whole - sum);
  TJ_F64 low = TJ_D(fma)(e, TJ_D(splat)(0x1.fef311f12b358p-46), TJ_D(fma)(f, TJ_D(splat)(0x1.95355baaafad3p-57), lost));
  TJ_F64 rest, square = TJ_D(log_fine)(f, &rest);
  return TJ_D(log_special)(x, sum + TJ_D(fma)(square, scale, TJ_D(fma)(rest, scale, low)));
}
#endif
#undef TJ_DEFINED
