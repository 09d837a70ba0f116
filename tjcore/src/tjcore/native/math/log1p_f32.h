/* tj_log1p_f32xW(x) = log(1 + x), accurate for small x: what rounding 1 + x lost is carried to the end. */
#include "../lanes.h"
#include "log_fine_f32.h"
#if TJ_LANES == 1 && !defined TJ_LOG1P_F32_1
#define TJ_LOG1P_F32_1
#elif TJ_LANES == 2 && !defined TJ_LOG1P_F32_2
#define TJ_LOG1P_F32_2
#elif TJ_LANES == 4 && !defined TJ_LOG1P_F32_4
#define TJ_LOG1P_F32_4
#elif TJ_LANES == 8 && !defined TJ_LOG1P_F32_8
#define TJ_LOG1P_F32_8
#elif TJ_LANES == 16 && !defined TJ_LOG1P_F32_16
#define TJ_LOG1P_F32_16
#elif TJ_LANES == 32 && !defined TJ_LOG1P_F32_32
#define TJ_LOG1P_F32_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F32 TJ_F(log1p)(TJ_F32 x) {
  TJ_F32 e, one_x = 1.0f + x, part = one_x - 1.0f, missing = (1.0f - (one_x - part)) + (x - part);
  TJ_F32 f = TJ_F(log_reduced)(one_x, &e);
  missing = missing * TJ_F(pow2)(TJ_F(neg)(TJ_F(least)(e, TJ_F(splat)(126.0f))));
  TJ_F32 rest, square = TJ_F(log_fine)(f, &rest);
  rest = rest + TJ_F(fma)(TJ_F(neg)(f), missing, missing);
  TJ_F32 whole = e * 0x1.62e4p-1f, sum = whole + f; /* exact product: ln 2 in two parts, the first of 16 bits */
  rest = TJ_F(fma)(e, TJ_F(splat)(0x1.7f7d1cp-20f), rest + (f - (sum - whole)));
  return TJ_F(copysign)(TJ_F(log_special)(one_x, sum + (square + rest)), x);
}
#endif
#undef TJ_DEFINED
