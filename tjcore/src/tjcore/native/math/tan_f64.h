/* tj_tan_f64xW(x) = sin / cos; the quotient is corrected by its remainder. */
#include "../lanes.h"
#include "trig_core_f64.h"
#if TJ_LANES == 1 && !defined TJ_TAN_F64_1
#define TJ_TAN_F64_1
#elif TJ_LANES == 2 && !defined TJ_TAN_F64_2
#define TJ_TAN_F64_2
#elif TJ_LANES == 4 && !defined TJ_TAN_F64_4
#define TJ_TAN_F64_4
#elif TJ_LANES == 8 && !defined TJ_TAN_F64_8
#define TJ_TAN_F64_8
#elif TJ_LANES == 16 && !defined TJ_TAN_F64_16
#define TJ_TAN_F64_16
#elif TJ_LANES == 32 && !defined TJ_TAN_F64_32
#define TJ_TAN_F64_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F64 TJ_D(tan)(TJ_F64 x) {
  TJ_I64 q;
  TJ_F64 low, s_low, c_low, r = TJ_D(reduced)(x, &low, &q);
  TJ_F64 s = TJ_D(sin_near)(r, low, &s_low), c = TJ_D(cos_near)(r, low, &c_low);
  TJ_I64 odd = TJ_FN(tj_ne_i64)(q & 1, q - q);
  TJ_F64 up = TJ_D(select)(odd, TJ_D(neg)(c), s), up_low = TJ_D(select)(odd, TJ_D(neg)(c_low), s_low);
  TJ_F64 down = TJ_D(select)(odd, s, c), down_low = TJ_D(select)(odd, s_low, c_low);
  TJ_F64 y = up / down, minus = TJ_D(neg)(y);
  TJ_F64 better = y + (TJ_D(fma)(minus, down, up) + TJ_D(fma)(minus, down_low, up_low)) / down;
  return TJ_D(select)(TJ_D(eq)(r, TJ_D(splat)(0.0)), y, better);
}
#endif
#undef TJ_DEFINED
