/* tj_atan2_f32xW(y, x), by way of float64 */
#include "../lanes.h"
#include "half_begin.h"
#include "atan2_f64.h"
#include "half_end.h"
#if TJ_LANES == 1 && !defined TJ_ATAN2_F32_1
#define TJ_ATAN2_F32_1
#elif TJ_LANES == 2 && !defined TJ_ATAN2_F32_2
#define TJ_ATAN2_F32_2
#elif TJ_LANES == 4 && !defined TJ_ATAN2_F32_4
#define TJ_ATAN2_F32_4
#elif TJ_LANES == 8 && !defined TJ_ATAN2_F32_8
#define TJ_ATAN2_F32_8
#elif TJ_LANES == 16 && !defined TJ_ATAN2_F32_16
#define TJ_ATAN2_F32_16
#elif TJ_LANES == 32 && !defined TJ_ATAN2_F32_32
#define TJ_ATAN2_F32_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_THROUGH_F64_2(atan2, atan2)
#endif
#undef TJ_DEFINED
