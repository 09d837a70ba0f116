/* What log, log2, log10 and log1p of float32 share.

   x = 2^e (1 + f) with 1 + f from 2/3 to 4/3; log(1 + f) = f + rest; the polynomial is log_f32 of bench/minimax.py: rest / f^2. */
#include "../lanes.h"
#if TJ_LANES == 1 && !defined TJ_LOG_CORE_F32_1
#define TJ_LOG_CORE_F32_1
#elif TJ_LANES == 2 && !defined TJ_LOG_CORE_F32_2
#define TJ_LOG_CORE_F32_2
#elif TJ_LANES == 4 && !defined TJ_LOG_CORE_F32_4
#define TJ_LOG_CORE_F32_4
#elif TJ_LANES == 8 && !defined TJ_LOG_CORE_F32_8
#define TJ_LOG_CORE_F32_8
#elif TJ_LANES == 16 && !defined TJ_LOG_CORE_F32_16
#define TJ_LOG_CORE_F32_16
#elif TJ_LANES == 32 && !defined TJ_LOG_CORE_F32_32
#define TJ_LOG_CORE_F32_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
/* e and f of a positive finite x, subnormals included */
TJ_INLINE TJ_F32 TJ_F(log_reduced)(TJ_F32 x, TJ_F32 *e) {
  TJ_I32 small = TJ_F(lt)(x, TJ_F(splat)(0x1p-126f));
  TJ_I32 bits = TJ_F(bits)(TJ_F(select)(small, x * 0x1p24f, x)) - 0x3f2aaaab;
  *e = TJ_FN(tj_f32_from_i32)((bits >> 23) + (small & -24));
  return TJ_F(from_bits)((bits & 0x7fffff) + 0x3f2aaaab) - 1.0f;
}
TJ_INLINE TJ_F32 TJ_F(log_rest)(TJ_F32 f) {
  TJ_F32 p = TJ_F(step)(TJ_F(splat)(-0x1.006ccep-3f), f, 0x1.1fd31ap-3f);
  p = TJ_F(step)(p, f, -0x1.f68388p-4f);
  p = TJ_F(step)(p, f, 0x1.1e8732p-3f);
  p = TJ_F(step)(p, f, -0x1.557f1cp-3f);
  p = TJ_F(step)(p, f, 0x1.99d56ap-3f);
  p = TJ_F(step)(p, f, -0x1.ffff92p-3f);
  p = TJ_F(step)(p, f, 0x1.5554fap-2f);
  p = TJ_F(step)(p, f, -0x1p-1f);
  return f * f * p;
}
/* y, or what a logarithm of x is where x is not positive and finite */
TJ_INLINE TJ_F32 TJ_F(log_special)(TJ_F32 x, TJ_F32 y) {
  TJ_F32 zero = TJ_F(splat)(0.0f), inf = TJ_F(splat)(TJ_INF32), nan = inf - inf;
  y = TJ_F(select)(TJ_F(lt)(x, inf), y, inf);
  return TJ_F(select)(TJ_F(gt)(x, zero), y, TJ_F(select)(TJ_F(eq)(x, zero), TJ_F(neg)(inf), nan));
}
#endif
#undef TJ_DEFINED
