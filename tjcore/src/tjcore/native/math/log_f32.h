/* tj_log_f32xW(x): the natural logarithm. log(+-0) = -inf, NaN below. */
#include "../lanes.h"
#include "log_core_f32.h"
#if TJ_LANES == 1 && !defined TJ_LOG_F32_1
#define TJ_LOG_F32_1
#elif TJ_LANES == 2 && !defined TJ_LOG_F32_2
#define TJ_LOG_F32_2
#elif TJ_LANES == 4 && !defined TJ_LOG_F32_4
#define TJ_LOG_F32_4
#elif TJ_LANES == 8 && !defined TJ_LOG_F32_8
#define TJ_LOG_F32_8
#elif TJ_LANES == 16 && !defined TJ_LOG_F32_16
#define TJ_LOG_F32_16
#elif TJ_LANES == 32 && !defined TJ_LOG_F32_32
#define TJ_LOG_F32_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F32 TJ_F(log)(TJ_F32 x) {
  TJ_F32 e, f = TJ_F(log_reduced)(x, &e);
  TJ_F32 y = f + TJ_F(fma)(e, TJ_F(splat)(-0x1.05c610p-29f), TJ_F(log_rest)(f)); /* ln 2 in two parts */
  return TJ_F(log_special)(x, TJ_F(fma)(e, TJ_F(splat)(0x1.62e430p-1f), y));
}
#endif
#undef TJ_DEFINED
