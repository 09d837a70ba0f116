/* hypot of float32 values: in float64 the squares are exact and cannot overflow or underflow */
#include "../lanes.h"
#if TJ_LANES == 1 && !defined TJ_HYPOT_CORE_F32_1
#define TJ_HYPOT_CORE_F32_1
#elif TJ_LANES == 2 && !defined TJ_HYPOT_CORE_F32_2
#define TJ_HYPOT_CORE_F32_2
#elif TJ_LANES == 4 && !defined TJ_HYPOT_CORE_F32_4
#define TJ_HYPOT_CORE_F32_4
#elif TJ_LANES == 8 && !defined TJ_HYPOT_CORE_F32_8
#define TJ_HYPOT_CORE_F32_8
#elif TJ_LANES == 16 && !defined TJ_HYPOT_CORE_F32_16
#define TJ_HYPOT_CORE_F32_16
#elif TJ_LANES == 32 && !defined TJ_HYPOT_CORE_F32_32
#define TJ_HYPOT_CORE_F32_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F64 TJ_D(hypot_short)(TJ_F64 x, TJ_F64 y) {
  TJ_F64 inf = TJ_D(splat)(TJ_INF64), r = TJ_D(sqrt)(TJ_D(fma)(x, x, y * y));
  return TJ_D(select)(TJ_D(eq)(TJ_D(abs)(x), inf) | TJ_D(eq)(TJ_D(abs)(y), inf), inf, r);
}
#endif
#undef TJ_DEFINED
