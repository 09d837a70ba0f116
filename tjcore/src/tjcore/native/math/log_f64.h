/* tj_log_f64xW(x): the natural logarithm. log(+-0) = -inf, NaN below. */
#include "../lanes.h"
#include "log_core_f64.h"
#if TJ_LANES == 1 && !defined TJ_LOG_F64_1
#define TJ_LOG_F64_1
#elif TJ_LANES == 2 && !defined TJ_LOG_F64_2
#define TJ_LOG_F64_2
#elif TJ_LANES == 4 && !defined TJ_LOG_F64_4
#define TJ_LOG_F64_4
#elif TJ_LANES == 8 && !defined TJ_LOG_F64_8
#define TJ_LOG_F64_8
#elif TJ_LANES == 16 && !defined TJ_LOG_F64_16
#define TJ_LOG_F64_16
#elif TJ_LANES == 32 && !defined TJ_LOG_F64_32
#define TJ_LOG_F64_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F64 TJ_D(log)(TJ_F64 x) {
  TJ_F64 e, f = TJ_D(log_reduced)(x, &e), rest, square = TJ_D(log_fine)(f, &rest);
  TJ_F64 y = f + (square + TJ_D(fma)(e, TJ_D(splat)(0x1.abc9e3b39803fp-56), rest));
  return TJ_D(log_special)(x, TJ_D(fma)(e, TJ_D(splat)(0x1.62e42fefa39efp-1), y));
}
#endif
#undef TJ_DEFINED
