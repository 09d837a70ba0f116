/* tj_atanh_f64xW(x) = log(1 + 2 a / (1 - a)) / 2, a = |x|. inf at 1, NaN beyond. */
#include "../lanes.h"
#include "log_core_f64.h"
#if TJ_LANES == 1 && !defined TJ_ATANH_F64_1
#define TJ_ATANH_F64_1
#elif TJ_LANES == 2 && !defined TJ_ATANH_F64_2
#define TJ_ATANH_F64_2
#elif TJ_LANES == 4 && !defined TJ_ATANH_F64_4
#define TJ_ATANH_F64_4
#elif TJ_LANES == 8 && !defined TJ_ATANH_F64_8
#define TJ_ATANH_F64_8
#elif TJ_LANES == 16 && !defined TJ_ATANH_F64_16
#define TJ_ATANH_F64_16
#elif TJ_LANES == 32 && !defined TJ_ATANH_F64_32
#define TJ_ATANH_F64_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F64 TJ_D(atanh)(TJ_F64 x) {
  TJ_F64 a = TJ_D(abs)(x), down = 1.0 - a, down_low = (1.0 - down) - a, up = a + a;
  TJ_F64 q = up / down, low = TJ_D(fma)(TJ_D(neg)(q), down_low, TJ_D(fma)(TJ_D(neg)(q), down, up)) / down;
  TJ_I64 inside = TJ_D(lt)(a, TJ_D(splat)(1.0));
  low = TJ_D(select)(inside, low, TJ_D(splat)(0.0));
  TJ_F64 y = TJ_D(log_one)(q, low) * 0.5;
  TJ_I64 tiny = TJ_D(lt)(a, TJ_D(splat)(0x1p-28));
  return TJ_D(select)(tiny, x, TJ_D(copysign)(y, x));
}
#endif
#undef TJ_DEFINED
