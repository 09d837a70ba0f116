/* What asin and acos share: asin(r) = r + r^3 p(r^2) for |r| <= 1/2, asin_f64 of bench/minimax.py; beyond, asin(a) = pi/2 - 2 asin(sqrt((1 - a) / 2)). */
#include "../lanes.h"
#if TJ_LANES == 1 && !defined TJ_ASIN_CORE_F64_1
#define TJ_ASIN_CORE_F64_1
#elif TJ_LANES == 2 && !defined TJ_ASIN_CORE_F64_2
#define TJ_ASIN_CORE_F64_2
#elif TJ_LANES == 4 && !defined TJ_ASIN_CORE_F64_4
#define TJ_ASIN_CORE_F64_4
#elif TJ_LANES == 8 && !defined TJ_ASIN_CORE_F64_8
#define TJ_ASIN_CORE_F64_8
#elif TJ_LANES == 16 && !defined TJ_ASIN_CORE_F64_16
#define TJ_ASIN_CORE_F64_16
#elif TJ_LANES == 32 && !defined TJ_ASIN_CORE_F64_32
#define TJ_ASIN_CORE_F64_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
/* For a = |x|: r (a, or the root where a > 1/2, with *low what its rounding lost) and r^3 p(r^2) */
TJ_INLINE TJ_F64 TJ_D(asin_reduced)(TJ_F64 a, TJ_I64 far, TJ_F64 *low, TJ_F64 *tail) {
  TJ_F64 z = TJ_D(select)(far, (1.0 - a) * 0.5, a * a), root = TJ_D(sqrt)(z), zero = TJ_D(splat)(0.0);
  TJ_F64 lost = TJ_D(fma)(TJ_D(neg)(root), root, z) / (root + root);
  *low = TJ_D(select)(far & TJ_D(gt)(root, zero), lost, zero);
  TJ_F64 r = TJ_D(select)(far, root, a);
  TJ_F64 p = TJ_D(step)(TJ_D(splat)(0x1.0b73a45a16e9ap-5), z, -0x1.5887c43a43c33p-6);
  p = TJ_D(step)(p, z, 0x1.63fa36039a79bp-6);
  p = TJ_D(step)(p, z, 0x1.e4cefe951006dp-9);
  p = TJ_D(step)(p, z, 0x1.614f114aac25dp-7);
  p = TJ_D(step)(p, z, 0x1.75826c2aed368p-7);
  p = TJ_D(step)(p, z, 0x1.ca1fe8621009fp-7);
  p = TJ_D(step)(p, z, 0x1.1c49ece06f9dbp-6);
  p = TJ_D(step)(p, z, 0x1.6e8bdf0cd733ap-6);
  p = TJ_D(step)(p, z, 0x1.f1c71a9395d1ep-6);
  p = TJ_D(step)(p, z, 0x1.6db6db72154abp-5);
  p = TJ_D(step)(p, z, 0x1.333333332e10ap-4);
  p = TJ_D(step)(p, z, 0x1.5555555555577p-3);
  *tail = r * (z * p);
  return r;
}
#endif
#undef TJ_DEFINED
