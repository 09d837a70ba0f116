/* e^x in parts, for float64 functions that are made of it: e^x = (1 + t) 2^n, x = n ln 2 + r, with ln 2 in two parts. x must lie in [-2000, 2000] or be NaN.
   The polynomial is exp_f64 of bench/minimax.py: (e^r - 1 - r) / r^2. */
#include "../lanes.h"
#if TJ_LANES == 1 && !defined TJ_EXP_CORE_F64_1
#define TJ_EXP_CORE_F64_1
#elif TJ_LANES == 2 && !defined TJ_EXP_CORE_F64_2
#define TJ_EXP_CORE_F64_2
#elif TJ_LANES == 4 && !defined TJ_EXP_CORE_F64_4
#define TJ_EXP_CORE_F64_4
#elif TJ_LANES == 8 && !defined TJ_EXP_CORE_F64_8
#define TJ_EXP_CORE_F64_8
#elif TJ_LANES == 16 && !defined TJ_EXP_CORE_F64_16
#define TJ_EXP_CORE_F64_16
#elif TJ_LANES == 32 && !defined TJ_EXP_CORE_F64_32
#define TJ_EXP_CORE_F64_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
/* t, n, and what rounding t lost (not read: not computed) */
TJ_INLINE TJ_F64 TJ_D(exp_reduced)(TJ_F64 x, TJ_F64 *n, TJ_F64 *lost) {
  TJ_F64 k = TJ_D(step)(x, TJ_D(splat)(0x1.71547652b82fep0), 0x1.8p52) - 0x1.8p52;
  TJ_F64 r = TJ_D(fma)(k, TJ_D(splat)(-0x1.62e42fefa39efp-1), x);
  r = TJ_D(fma)(k, TJ_D(splat)(-0x1.abc9e3b39803fp-56), r);
  TJ_F64 p = TJ_D(step)(TJ_D(splat)(0x1.204f1e5191e35p-29), r, 0x1.af7458e464143p-26);
  p = TJ_D(step)(p, r, 0x1.27e44b28744bbp-22);
  p = TJ_D(step)(p, r, 0x1.71ddeaa3b113cp-19);
  p = TJ_D(step)(p, r, 0x1.a01a01e87df0bp-16);
  p = TJ_D(step)(p, r, 0x1.a01a01b5f7e89p-13);
  p = TJ_D(step)(p, r, 0x1.6c16c16c0a443p-10);
  p = TJ_D(step)(p, r, 0x1.111111110e543p-7);
  p = TJ_D(step)(p, r, 0x1.555555555556cp-5);
  p = TJ_D(step)(p, r, 0x1.555555555555dp-3);
  p = TJ_D(step)(p, r, 0x1p-1);
  TJ_F64 square = r * r, t = TJ_D(fma)(square, p, r);
  *n = k;
  *lost = TJ_D(fma)(square, p, r - t);
  return t;
}
#endif
#undef TJ_DEFINED
