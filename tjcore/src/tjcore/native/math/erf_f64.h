/* tj_erf_f64xW(x) */
#include "../lanes.h"
#include "erf_core_f64.h"
#if TJ_LANES == 1 && !defined TJ_ERF_F64_1
#define TJ_ERF_F64_1
#elif TJ_LANES == 2 && !defined TJ_ERF_F64_2
#define TJ_ERF_F64_2
#elif TJ_LANES == 4 && !defined TJ_ERF_F64_4
#define TJ_ERF_F64_4
#elif TJ_LANES == 8 && !defined TJ_ERF_F64_8
#define TJ_ERF_F64_8
#elif TJ_LANES == 16 && !defined TJ_ERF_F64_16
#define TJ_ERF_F64_16
#elif TJ_LANES == 32 && !defined TJ_ERF_F64_32
#define TJ_ERF_F64_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F64 TJ_D(erf)(TJ_F64 x) {
  TJ_F64 a = TJ_D(abs)(x);
  return TJ_D(select)(TJ_D(lt)(a, TJ_D(splat)(0.75)), TJ_D(erf_near)(x), TJ_D(copysign)(1.0 - TJ_D(erfc_far)(a), x));
}
#endif
#undef TJ_DEFINED
