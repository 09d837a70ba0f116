/* tj_erf_f32xW(x). Below 0.9 an odd polynomial (erf_small_f32 of bench/minimax.py), above 1 - e^(-x + x p(x)) (erf_large_f32); from 3.93 on the
   result rounds to 1. */
#include "../lanes.h"
#include "exp_core_f32.h"
#if TJ_LANES == 1 && !defined TJ_ERF_F32_1
#define TJ_ERF_F32_1
#elif TJ_LANES == 2 && !defined TJ_ERF_F32_2
#define TJ_ERF_F32_2
#elif TJ_LANES == 4 && !defined TJ_ERF_F32_4
#define TJ_ERF_F32_4
#elif TJ_LANES == 8 && !defined TJ_ERF_F32_8
#define TJ_ERF_F32_8
#elif TJ_LANES == 16 && !defined TJ_ERF_F32_16
#define TJ_ERF_F32_16
#elif TJ_LANES == 32 && !defined TJ_ERF_F32_32
#define TJ_ERF_F32_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F32 TJ_F(erf)(TJ_F32 x) {
  TJ_F32 size = TJ_F(abs)(x), a = TJ_F(least)(TJ_F(splat)(3.93f), size), z = size * size, n, lost;
  TJ_F32 s = TJ_F(step)(TJ_F(splat)(0x1.4d2968p-14f), z, -0x1.a583eap-11f);
  s = TJ_F(step)(s, z, 0x1.543f2cp-8f);
  s = TJ_F(step)(s, z, -0x1.b80062p-6f);
  s = TJ_F(step)(s, z, 0x1.ce2d6p-4f);
  s = TJ_F(step)(s, z, -0x1.81274p-2f);
  s = TJ_F(step)(s, z, 0x1.06eba8p-3f);
  TJ_F32 p = TJ_F(step)(TJ_F(splat)(-0x1.692984p-17f), a, 0x1.4d8192p-12f);
  p = TJ_F(step)(p, a, -0x1.dadbdp-9f);
  p = TJ_F(step)(p, a, 0x1.84a138p-6f);
  p = TJ_F(step)(p, a, -0x1.b2f19ep-4f);
  p = TJ_F(step)(p, a, -0x1.453686p-1f);
  p = TJ_F(step)(p, a, -0x1.0774e6p-3f);
  TJ_F32 t = TJ_F(exp_reduced)(TJ_F(fma)(a, p, TJ_F(neg)(a)), &n, &lost), power = TJ_F(pow2)(n);
  TJ_F32 large = TJ_F(fma)(TJ_F(neg)(power), t, 1.0f - power);
  TJ_I32 small = TJ_F(lt)(size, TJ_F(splat)(0.9f));
  return TJ_F(copysign)(TJ_F(select)(small, TJ_F(fma)(size, s, size), large), x);
}
#endif
#undef TJ_DEFINED
