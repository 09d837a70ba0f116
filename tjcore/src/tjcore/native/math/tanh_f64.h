/* tj_tanh_f64xW(x); the float32 version explains the steps. */
#include "../lanes.h"
#include "exp_core_f64.h"
#if TJ_LANES == 1 && !defined TJ_TANH_F64_1
#define TJ_TANH_F64_1
#elif TJ_LANES == 2 && !defined TJ_TANH_F64_2
#define TJ_TANH_F64_2
#elif TJ_LANES == 4 && !defined TJ_TANH_F64_4
#define TJ_TANH_F64_4
#elif TJ_LANES == 8 && !defined TJ_TANH_F64_8
#define TJ_TANH_F64_8
#elif TJ_LANES == 16 && !defined TJ_TANH_F64_16
#define TJ_TANH_F64_16
#elif TJ_LANES == 32 && !defined TJ_TANH_F64_32
#define TJ_TANH_F64_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F64 TJ_D(tanh)(TJ_F64 x) {
  TJ_F64 n, lost, size = TJ_D(least)(TJ_D(splat)(20.0), TJ_D(abs)(x));
  TJ_F64 t = TJ_D(exp_reduced)(size * -2.0, &n, &lost), power = TJ_D(pow2)(n);
  TJ_F64 whole = power - 1.0, part = power * t, u = whole + part;
  TJ_F64 low = TJ_D(fma)(power, lost, (part - (u - whole)) + (power - (whole + 1.0)));
  TJ_F64 sum = 2.0 + u, rest = u - (sum - 2.0);
  TJ_F64 inverse = 1.0 / sum, q = u * inverse, minus = TJ_D(neg)(q);
  TJ_F64 remainder = TJ_D(fma)(minus, rest + low, TJ_D(fma)(minus, sum, u) + low);
  return TJ_D(copysign)(TJ_D(fma)(remainder, inverse, q), x);
}
#endif
#undef TJ_DEFINED
