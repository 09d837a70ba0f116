/* A more accurate log(1 + f) than that of log_core_f32.h: log(1 + f) = f + (square + rest), square = -f^2 / 2 rounded, and rest takes what that lost.
   The polynomial is log_fine_f32 of bench/minimax.py: (log(1 + f) - f + f^2 / 2) / f^3. */
#include "../lanes.h"
#include "log_core_f32.h"
#if TJ_LANES == 1 && !defined TJ_LOG_FINE_F32_1
#define TJ_LOG_FINE_F32_1
#elif TJ_LANES == 2 && !defined TJ_LOG_FINE_F32_2
#define TJ_LOG_FINE_F32_2
#elif TJ_LANES == 4 && !defined TJ_LOG_FINE_F32_4
#define TJ_LOG_FINE_F32_4
#elif TJ_LANES == 8 && !defined TJ_LOG_FINE_F32_8
#define TJ_LOG_FINE_F32_8
#elif TJ_LANES == 16 && !defined TJ_LOG_FINE_F32_16
#define TJ_LOG_FINE_F32_16
#elif TJ_LANES == 32 && !defined TJ_LOG_FINE_F32_32
#define TJ_LOG_FINE_F32_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F32 TJ_F(log_fine)(TJ_F32 f, TJ_F32 *rest) {
  TJ_F32 p = TJ_F(step)(TJ_F(splat)(0x1.e0107ep-4f), f, -0x1.07fef4p-3f);
  p = TJ_F(step)(p, f, 0x1.bb5008p-4f);
  p = TJ_F(step)(p, f, -0x1.f327e6p-4f);
  p = TJ_F(step)(p, f, 0x1.24d78ap-3f);
  p = TJ_F(step)(p, f, -0x1.559c2p-3f);
  p = TJ_F(step)(p, f, 0x1.99985ep-3f);
  p = TJ_F(step)(p, f, -0x1.ffffp-3f);
  p = TJ_F(step)(p, f, 0x1.555556p-2f);
  TJ_F32 square = f * f, lost = TJ_F(fma)(f, f, TJ_F(neg)(square));
  *rest = TJ_F(fma)(square * f, p, lost * -0.5f);
  return square * -0.5f;
}
#endif
#undef TJ_DEFINED
