/* tj_cos_f64xW(x) */
#include "../lanes.h"
#include "trig_core_f64.h"
#if TJ_LANES == 1 && !defined TJ_COS_F64_1
#define TJ_COS_F64_1
#elif TJ_LANES == 2 && !defined TJ_COS_F64_2
#define TJ_COS_F64_2
#elif TJ_LANES == 4 && !defined TJ_COS_F64_4
#define TJ_COS_F64_4
#elif TJ_LANES == 8 && !defined TJ_COS_F64_8
#define TJ_COS_F64_8
#elif TJ_LANES == 16 && !defined TJ_COS_F64_16
#define TJ_COS_F64_16
#elif TJ_LANES == 32 && !defined TJ_COS_F64_32
#define TJ_COS_F64_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F64 TJ_D(cos)(TJ_F64 x) {
  TJ_I64 q;
  TJ_F64 low, lost, r = TJ_D(reduced)(x, &low, &q);
  TJ_I64 odd = TJ_FN(tj_ne_i64)(q & 1, q - q);
  TJ_F64 y = TJ_D(select)(odd, TJ_D(sin_near)(r, low, &lost), TJ_D(cos_near)(r, low, &lost));
  return TJ_D(from_bits)(TJ_D(bits)(y) ^ TJ_FN(tj_shift_i64)((q + 1) >> 1, 63));
}
#endif
#undef TJ_DEFINED
