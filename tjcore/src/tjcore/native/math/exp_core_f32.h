/* e^x in parts, for float32 functions that are made of it: e^x = (high + low) * 2^n.

   x must lie in [-1000, 1000] or be NaN. The reduction x = n ln 2 + r uses ln 2 in two parts; the polynomial is exp_f32 of
   bench/minimax.py: (e^r - 1 - r) / r^2 for |r| <= ln(2)/2. */
#include "../lanes.h"
#if TJ_LANES == 1 && !defined TJ_EXP_CORE_F32_1
#define TJ_EXP_CORE_F32_1
#elif TJ_LANES == 2 && !defined TJ_EXP_CORE_F32_2
#define TJ_EXP_CORE_F32_2
#elif TJ_LANES == 4 && !defined TJ_EXP_CORE_F32_4
#define TJ_EXP_CORE_F32_4
#elif TJ_LANES == 8 && !defined TJ_EXP_CORE_F32_8
#define TJ_EXP_CORE_F32_8
#elif TJ_LANES == 16 && !defined TJ_EXP_CORE_F32_16
#define TJ_EXP_CORE_F32_16
#elif TJ_LANES == 32 && !defined TJ_EXP_CORE_F32_32
#define TJ_EXP_CORE_F32_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
/* t = e^r - 1, n, and what rounding t lost (not read: not computed) */
TJ_INLINE TJ_F32 TJ_F(exp_reduced)(TJ_F32 x, TJ_F32 *n, TJ_F32 *lost) {
  TJ_F32 k = TJ_F(step)(x, TJ_F(splat)(0x1.715476p0f), 0x1.8p23f) - 0x1.8p23f;
  TJ_F32 r = TJ_F(fma)(k, TJ_F(splat)(-0x1.62e430p-1f), x);
  r = TJ_F(fma)(k, TJ_F(splat)(0x1.05c610p-29f), r);
  TJ_F32 p = TJ_F(step)(TJ_F(splat)(0x1.63bb6ep-10f), r, 0x1.12391p-7f);
  p = TJ_F(step)(p, r, 0x1.5562p-5f);
  p = TJ_F(step)(p, r, 0x1.555494p-3f);
  p = TJ_F(step)(p, r, 0x1.fffffp-2f);
  TJ_F32 square = r * r, t = TJ_F(fma)(square, p, r);
  *n = k;
  *lost = TJ_F(fma)(square, p, r - t);
  return t;
}
#endif
#undef TJ_DEFINED
