/* tj_rsqrt_f32xW(x) = 1 / sqrt(x). The roundings of the root and of the quotient are both measured by fma and taken back. */
#include "../lanes.h"
#if TJ_LANES == 1 && !defined TJ_RSQRT_F32_1
#define TJ_RSQRT_F32_1
#elif TJ_LANES == 2 && !defined TJ_RSQRT_F32_2
#define TJ_RSQRT_F32_2
#elif TJ_LANES == 4 && !defined TJ_RSQRT_F32_4
#define TJ_RSQRT_F32_4
#elif TJ_LANES == 8 && !defined TJ_RSQRT_F32_8
#define TJ_RSQRT_F32_8
#elif TJ_LANES == 16 && !defined TJ_RSQRT_F32_16
#define TJ_RSQRT_F32_16
#elif TJ_LANES == 32 && !defined TJ_RSQRT_F32_32
#define TJ_RSQRT_F32_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F32 TJ_F(rsqrt)(TJ_F32 x) {
  TJ_I32 small = TJ_F(lt)(x, TJ_F(splat)(0x1p-100f)); /* what is measured must not underflow */
  TJ_F32 scaled = TJ_F(select)(small, x * 0x1p48f, x);
  TJ_F32 root = TJ_F(sqrt)(scaled), y = 1.0f / root;
  TJ_F32 miss = TJ_F(fma)(TJ_F(neg)(root), root, scaled), gap = TJ_F(step)(TJ_F(neg)(y), root, 1.0f);
  TJ_F32 better = TJ_F(fma)(y, TJ_F(fma)(miss * y, y * -0.5f, gap), y);
  better = TJ_F(select)(small, better * 0x1p24f, better);
  TJ_I32 plain = TJ_F(gt)(x, TJ_F(splat)(0.0f)) & TJ_F(lt)(x, TJ_F(splat)(TJ_INF32));
  return TJ_F(select)(plain, better, y);
}
#endif
#undef TJ_DEFINED
