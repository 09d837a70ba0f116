/* What erf and erfc share in float64. The polynomials are erf_small_f64 and erfc_f64 of bench/minimax.py. */
#include "../lanes.h"
#include "exp_core_f64.h"
#if TJ_LANES == 1 && !defined TJ_ERF_CORE_F64_1
#define TJ_ERF_CORE_F64_1
#elif TJ_LANES == 2 && !defined TJ_ERF_CORE_F64_2
#define TJ_ERF_CORE_F64_2
#elif TJ_LANES == 4 && !defined TJ_ERF_CORE_F64_4
#define TJ_ERF_CORE_F64_4
#elif TJ_LANES == 8 && !defined TJ_ERF_CORE_F64_8
#define TJ_ERF_CORE_F64_8
#elif TJ_LANES == 16 && !defined TJ_ERF_CORE_F64_16
#define TJ_ERF_CORE_F64_16
#elif TJ_LANES == 32 && !defined TJ_ERF_CORE_F64_32
#define TJ_ERF_CORE_F64_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
/* erf(x) for |x| < 0.75 */
TJ_INLINE TJ_F64 TJ_D(erf_near)(TJ_F64 x) {
  TJ_F64 z = x * x;
  TJ_F64 p = TJ_D(step)(TJ_D(splat)(-0x1.d5212719dba78p-27), z, 0x1.d01f9f5738475p-25);
  p = TJ_D(step)(p, z, -0x1.d1663b104a489p-23);
  p = TJ_D(step)(p, z, 0x1.c4c66d5ec0ec7p-20);
  p = TJ_D(step)(p, z, -0x1.f57749f05eed5p-17);
  p = TJ_D(step)(p, z, 0x1.f9a96e892445p-14);
  p = TJ_D(step)(p, z, -0x1.c02ddb5520d35p-11);
  p = TJ_D(step)(p, z, 0x1.565bcda82052bp-8);
  p = TJ_D(step)(p, z, -0x1.b82ce31546663p-6);
  p = TJ_D(step)(p, z, 0x1.ce2f21a0492b7p-4);
  p = TJ_D(step)(p, z, -0x1.812746b037a45p-2);
  p = TJ_D(step)(p, z, 0x1.06eba8214db69p-3);
  TJ_F64 y = TJ_D(fma)(x, p, x);
  return TJ_D(select)(TJ_D(eq)(x, TJ_D(splat)(0.0)), x, y); /* keeps -0 */
}
/* erfc(a) = e^(-a^2) p((a - 2) / (a + 2)) / (1 + 2 a) for a from 0.25 on; a^2 in two parts */
TJ_INLINE TJ_F64 TJ_D(erfc_far)(TJ_F64 a) {
  a = TJ_D(least)(TJ_D(splat)(27.5), TJ_D(most)(TJ_D(splat)(0.25), a));
  TJ_F64 square = a * a, low = TJ_D(fma)(a, a, TJ_D(neg)(square)), t = (a - 2.0) / (a + 2.0), n, lost;
  TJ_F64 p = TJ_D(step)(TJ_D(splat)(-0x1.8824b691681afp-24), t, 0x1.950745e0b243bp-24);
  p = TJ_D(step)(p, t, 0x1.f1d443e5910b8p-22);
  p = TJ_D(step)(p, t, -0x1.fe147609778eep-23);
  p = TJ_D(step)(p, t, -0x1.5afc756923b3cp-20);
  p = TJ_D(step)(p, t, -0x1.54a7bd2e28a82p-21);
  p = TJ_D(step)(p, t, 0x1.fb1f78085ff21p-20);
  p = TJ_D(step)(p, t, 0x1.587fa666ded19p-18);
  p = TJ_D(step)(p, t, 0x1.d6136cd2721e4p-19);
  p = TJ_D(step)(p, t, -0x1.c2c6a29537322p-17);
  p = TJ_D(step)(p, t, -0x1.30ea451eb4ce7p-15);
  p = TJ_D(step)(p, t, -0x1.9b36943c31093p-20);
  p = TJ_D(step)(p, t, 0x1.3cb704933b4a5p-13);
  p = TJ_D(step)(p, t, 0x1.b0cb45764a843p-13);
  p = TJ_D(step)(p, t, -0x1.dc687409d59d1p-12);
  p = TJ_D(step)(p, t, -0x1.7de52d2671337p-10);
  p = TJ_D(step)(p, t, 0x1.4d4618a435b16p-10);
  p = TJ_D(step)(p, t, 0x1.1dd2ecaf9efe2p-7);
  p = TJ_D(step)(p, t, -0x1.074233fcc18b4p-7);
  p = TJ_D(step)(p, t, -0x1.bc2b9561e8733p-5);
  p = TJ_D(step)(p, t, 0x1.4ffa1e14df63fp-3);
  p = TJ_D(step)(p, t, -0x1.5407bebf31f4fp-3);
  p = TJ_D(step)(p, t, -0x1.7bf5ec1700575p-4);
  p = TJ_D(step)(p, t, 0x1.46e80e2277953p0);
  TJ_F64 e = TJ_D(exp_reduced)(TJ_D(neg)(square), &n, &lost), g = p / (1.0 + (a + a));
  return TJ_D(scale)(TJ_D(fma)(g, e - TJ_D(fma)(e, low, low), g), n);
}
/* erfc(x), to about 4 ULP: enough for float32 */
TJ_INLINE TJ_F64 TJ_D(erfc_short)(TJ_F64 x) {
  TJ_F64 a = TJ_D(abs)(x), far = TJ_D(erfc_far)(a);
  far = TJ_D(select)(TJ_D(lt)(x, TJ_D(splat)(0.0)), 2.0 - far, far);
  return TJ_D(select)(TJ_D(lt)(a, TJ_D(splat)(0.25)), 1.0 - TJ_D(erf_near)(x), far);
}
#endif
#undef TJ_DEFINED
