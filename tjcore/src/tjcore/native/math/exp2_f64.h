/* tj_exp2_f64xW(x) = 2^x; whole x give exact powers. The polynomial is exp2_f64 of bench/minimax.py. */
#include "../lanes.h"
#if TJ_LANES == 1 && !defined TJ_EXP2_F64_1
#define TJ_EXP2_F64_1
#elif TJ_LANES == 2 && !defined TJ_EXP2_F64_2
#define TJ_EXP2_F64_2
#elif TJ_LANES == 4 && !defined TJ_EXP2_F64_4
#define TJ_EXP2_F64_4
#elif TJ_LANES == 8 && !defined TJ_EXP2_F64_8
#define TJ_EXP2_F64_8
#elif TJ_LANES == 16 && !defined TJ_EXP2_F64_16
#define TJ_EXP2_F64_16
#elif TJ_LANES == 32 && !defined TJ_EXP2_F64_32
#define TJ_EXP2_F64_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F64 TJ_D(exp2)(TJ_F64 x) {
  x = TJ_D(least)(TJ_D(splat)(1025.0), TJ_D(most)(TJ_D(splat)(-1080.0), x));
  TJ_F64 n = (x + 0x1.8p52) - 0x1.8p52, r = x - n;
  TJ_F64 p = TJ_D(step)(TJ_D(splat)(0x1.b9e6d5bf4f7c4p-36), r, 0x1.ea0b17afbfc27p-32);
  p = TJ_D(step)(p, r, 0x1.e4d6aeb28b79p-28);
  p = TJ_D(step)(p, r, 0x1.b524d808a12f4p-24);
  p = TJ_D(step)(p, r, 0x1.62c02045eaf64p-20);
  p = TJ_D(step)(p, r, 0x1.ffcbfc767ea11p-17);
  p = TJ_D(step)(p, r, 0x1.430912f8e1d05p-13);
  p = TJ_D(step)(p, r, 0x1.5d87fe78a2633p-10);
  p = TJ_D(step)(p, r, 0x1.3b2ab6fba4d05p-7);
  p = TJ_D(step)(p, r, 0x1.c6b08d704a0ccp-5);
  p = TJ_D(step)(p, r, 0x1.ebfbdff82c58fp-3);
  p = TJ_D(step)(p, r, 0x1.abc9e3b39803fp-56);
  return TJ_D(scale)(1.0 + TJ_D(fma)(r, TJ_D(splat)(0x1.62e42fefa39efp-1), r * p), n);
}
#endif
#undef TJ_DEFINED
