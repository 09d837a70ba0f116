/* tj_pow_f32xW(x, y) = x^y, with the special values of C and NumPy */
#include "../lanes.h"
#include "half_begin.h"
#include "pow_core_f32.h"
#include "half_end.h"
#if TJ_LANES == 1 && !defined TJ_POW_F32_1
#define TJ_POW_F32_1
#elif TJ_LANES == 2 && !defined TJ_POW_F32_2
#define TJ_POW_F32_2
#elif TJ_LANES == 4 && !defined TJ_POW_F32_4
#define TJ_POW_F32_4
#elif TJ_LANES == 8 && !defined TJ_POW_F32_8
#define TJ_POW_F32_8
#elif TJ_LANES == 16 && !defined TJ_POW_F32_16
#define TJ_POW_F32_16
#elif TJ_LANES == 32 && !defined TJ_POW_F32_32
#define TJ_POW_F32_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_THROUGH_F64_2(pow, pow_short)
#endif
#undef TJ_DEFINED
