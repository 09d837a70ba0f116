/* tj_sigmoid_f64xW(x) = 1 / (1 + e^-x); the float32 version explains the steps. */
#include "../lanes.h"
#include "exp_core_f64.h"
#if TJ_LANES == 1 && !defined TJ_SIGMOID_F64_1
#define TJ_SIGMOID_F64_1
#elif TJ_LANES == 2 && !defined TJ_SIGMOID_F64_2
#define TJ_SIGMOID_F64_2
#elif TJ_LANES == 4 && !defined TJ_SIGMOID_F64_4
#define TJ_SIGMOID_F64_4
#elif TJ_LANES == 8 && !defined TJ_SIGMOID_F64_8
#define TJ_SIGMOID_F64_8
#elif TJ_LANES == 16 && !defined TJ_SIGMOID_F64_16
#define TJ_SIGMOID_F64_16
#elif TJ_LANES == 32 && !defined TJ_SIGMOID_F64_32
#define TJ_SIGMOID_F64_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F64 TJ_D(sigmoid)(TJ_F64 x) {
  x = TJ_D(least)(TJ_D(splat)(60.0), TJ_D(most)(TJ_D(splat)(-746.0), x));
  TJ_F64 n, lost, t = TJ_D(exp_reduced)(x, &n, &lost);
  TJ_F64 high = 1.0 + t, low = t - (high - 1.0), power = TJ_D(scale)(high, n);
  TJ_F64 sum = 1.0 + power, part = sum - 1.0;
  TJ_F64 rest = (1.0 - (sum - part)) + (power - part);
  TJ_F64 inverse = 1.0 / sum, q = high * inverse, minus = TJ_D(neg)(q);
  TJ_F64 remainder = TJ_D(fma)(minus, rest, TJ_D(fma)(low, inverse, TJ_D(fma)(minus, sum, high)));
  return TJ_D(scale)(TJ_D(fma)(remainder, inverse, q), n);
}
#endif
#undef TJ_DEFINED
