/* tj_log1p_f64xW(x) = log(1 + x), accurate for small x. */
#include "../lanes.h"
#include "log_core_f64.h"
#if TJ_LANES == 1 && !defined TJ_LOG1P_F64_1
#define TJ_LOG1P_F64_1
#elif TJ_LANES == 2 && !defined TJ_LOG1P_F64_2
#define TJ_LOG1P_F64_2
#elif TJ_LANES == 4 && !defined TJ_LOG1P_F64_4
#define TJ_LOG1P_F64_4
#elif TJ_LANES == 8 && !defined TJ_LOG1P_F64_8
#define TJ_LOG1P_F64_8
#elif TJ_LANES == 16 && !defined TJ_LOG1P_F64_16
#define TJ_LOG1P_F64_16
#elif TJ_LANES == 32 && !defined TJ_LOG1P_F64_32
#define TJ_LOG1P_F64_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F64 TJ_D(log1p)(TJ_F64 x) { return TJ_D(copysign)(TJ_D(log_one)(x, TJ_D(splat)(0.0)), x); }
#endif
#undef TJ_DEFINED
