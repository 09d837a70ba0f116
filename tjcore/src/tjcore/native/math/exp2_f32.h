/* tj_exp2_f32xW(x) = 2^x; whole x give exact powers. The polynomial is exp2_f32 of bench/minimax.py: 2^r = 1 + r (ln 2 + r p(r)), with ln 2 in two
   parts. */
#include "../lanes.h"
#if TJ_LANES == 1 && !defined TJ_EXP2_F32_1
#define TJ_EXP2_F32_1
#elif TJ_LANES == 2 && !defined TJ_EXP2_F32_2
#define TJ_EXP2_F32_2
#elif TJ_LANES == 4 && !defined TJ_EXP2_F32_4
#define TJ_EXP2_F32_4
#elif TJ_LANES == 8 && !defined TJ_EXP2_F32_8
#define TJ_EXP2_F32_8
#elif TJ_LANES == 16 && !defined TJ_EXP2_F32_16
#define TJ_EXP2_F32_16
#elif TJ_LANES == 32 && !defined TJ_EXP2_F32_32
#define TJ_EXP2_F32_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F32 TJ_F(exp2)(TJ_F32 x) {
  x = TJ_F(least)(TJ_F(splat)(129.0f), TJ_F(most)(TJ_F(splat)(-151.0f), x));
  TJ_F32 n = (x + 0x1.8p23f) - 0x1.8p23f, r = x - n;
  TJ_F32 p = TJ_F(step)(TJ_F(splat)(0x1.3b5cp-13f), r, 0x1.5f031p-10f);
  p = TJ_F(step)(p, r, 0x1.3b36c4p-7f);
  p = TJ_F(step)(p, r, 0x1.c6af8ap-5f);
  p = TJ_F(step)(p, r, 0x1.ebfbdp-3f);
  p = TJ_F(step)(p, r, -0x1.05c610p-29f);
  return TJ_F(scale)(1.0f + TJ_F(fma)(r, TJ_F(splat)(0x1.62e430p-1f), r * p), n);
}
#endif
#undef TJ_DEFINED
