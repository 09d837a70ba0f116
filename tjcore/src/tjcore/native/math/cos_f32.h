/* tj_cos_f32xW(x) for every x, reduced exactly. NaN for infinities. */
#include "../lanes.h"
#include "half_begin.h"
#include "sin_core_f32.h"
#include "half_end.h"
#if TJ_LANES == 1 && !defined TJ_COS_F32_1
#define TJ_COS_F32_1
#elif TJ_LANES == 2 && !defined TJ_COS_F32_2
#define TJ_COS_F32_2
#elif TJ_LANES == 4 && !defined TJ_COS_F32_4
#define TJ_COS_F32_4
#elif TJ_LANES == 8 && !defined TJ_COS_F32_8
#define TJ_COS_F32_8
#elif TJ_LANES == 16 && !defined TJ_COS_F32_16
#define TJ_COS_F32_16
#elif TJ_LANES == 32 && !defined TJ_COS_F32_32
#define TJ_COS_F32_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F32 TJ_F(cos)(TJ_F32 x) {
  return TJ_F(join)(TJ_HALF_D(sin_short)(TJ_F(low)(x), 1), TJ_HALF_D(sin_short)(TJ_F(high)(x), 1));
}
#endif
#undef TJ_DEFINED
