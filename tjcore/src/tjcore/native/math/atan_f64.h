/* tj_atan_f64xW(x) */
#include "../lanes.h"
#include "atan_core_f64.h"
#if TJ_LANES == 1 && !defined TJ_ATAN_F64_1
#define TJ_ATAN_F64_1
#elif TJ_LANES == 2 && !defined TJ_ATAN_F64_2
#define TJ_ATAN_F64_2
#elif TJ_LANES == 4 && !defined TJ_ATAN_F64_4
#define TJ_ATAN_F64_4
#elif TJ_LANES == 8 && !defined TJ_ATAN_F64_8
#define TJ_ATAN_F64_8
#elif TJ_LANES == 16 && !defined TJ_ATAN_F64_16
#define TJ_ATAN_F64_16
#elif TJ_LANES == 32 && !defined TJ_ATAN_F64_32
#define TJ_ATAN_F64_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F64 TJ_D(atan)(TJ_F64 x) {
  TJ_F64 lost, y = TJ_D(atan_ratio)(TJ_D(abs)(x), TJ_D(splat)(1.0), &lost);
  y = TJ_D(select)(TJ_D(eq)(y, TJ_D(splat)(0.0)), y, y + lost);
  return TJ_D(copysign)(y, x);
}
#endif
#undef TJ_DEFINED
