/* tj_expm1_f32xW(x) = e^x - 1, accurate for small x: with e^x = 2^n (1 + t) it is (2^n - 1) + 2^n t. It is computed at half its size, which
   does not overflow before the result does. The polynomial is expm1_f32 of bench/minimax.py: one term more than e^x needs. */
#include "../lanes.h"
#if TJ_LANES == 1 && !defined TJ_EXPM1_F32_1
#define TJ_EXPM1_F32_1
#elif TJ_LANES == 2 && !defined TJ_EXPM1_F32_2
#define TJ_EXPM1_F32_2
#elif TJ_LANES == 4 && !defined TJ_EXPM1_F32_4
#define TJ_EXPM1_F32_4
#elif TJ_LANES == 8 && !defined TJ_EXPM1_F32_8
#define TJ_EXPM1_F32_8
#elif TJ_LANES == 16 && !defined TJ_EXPM1_F32_16
#define TJ_EXPM1_F32_16
#elif TJ_LANES == 32 && !defined TJ_EXPM1_F32_32
#define TJ_EXPM1_F32_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F32 TJ_F(expm1)(TJ_F32 x) {
  TJ_F32 a = TJ_F(least)(TJ_F(splat)(89.0f), TJ_F(most)(TJ_F(splat)(-20.0f), x));
  TJ_F32 n = TJ_F(step)(a, TJ_F(splat)(0x1.715476p0f), 0x1.8p23f) - 0x1.8p23f;
  TJ_F32 r = TJ_F(fma)(n, TJ_F(splat)(-0x1.62e430p-1f), a);
  r = TJ_F(fma)(n, TJ_F(splat)(0x1.05c610p-29f), r);
  TJ_F32 p = TJ_F(step)(TJ_F(splat)(0x1.392334p-13f), r, 0x1.6d2e34p-10f);
  p = TJ_F(step)(p, r, 0x1.115676p-7f);
  p = TJ_F(step)(p, r, 0x1.555502p-5f);
  p = TJ_F(step)(p, r, 0x1.55552cp-3f);
  p = TJ_F(step)(p, r, 0x1p-1f);
  TJ_F32 square = r * r, t = TJ_F(fma)(square, p, r), lost = TJ_F(fma)(square, p, r - t);
  TJ_F32 power = TJ_F(pow2)(n - 1.0f), whole = power - 0.5f, part = power * t, sum = whole + part;
  TJ_F32 rest = TJ_F(fma)(power, lost, (part - (sum - whole)) + ((power - whole) - 0.5f));
  TJ_I32 tiny = TJ_F(lt)(TJ_F(abs)(x), TJ_F(splat)(0x1p-26f)); /* x itself; keeps -0 and subnormals */
  return TJ_F(select)(tiny, x, (sum + rest) * 2.0f);
}
#endif
#undef TJ_DEFINED
