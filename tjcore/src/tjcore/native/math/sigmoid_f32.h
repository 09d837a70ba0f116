/* tj_sigmoid_f32xW(x) = 1 / (1 + e^-x), written e^x / (1 + e^x): with e^x = (high + low) 2^n the factor 2^n is applied last,
   so that the result underflows as it should. The quotient is corrected once by its remainder. */
#include "../lanes.h"
#include "exp_core_f32.h"
#if TJ_LANES == 1 && !defined TJ_SIGMOID_F32_1
#define TJ_SIGMOID_F32_1
#elif TJ_LANES == 2 && !defined TJ_SIGMOID_F32_2
#define TJ_SIGMOID_F32_2
#elif TJ_LANES == 4 && !defined TJ_SIGMOID_F32_4
#define TJ_SIGMOID_F32_4
#elif TJ_LANES == 8 && !defined TJ_SIGMOID_F32_8
#define TJ_SIGMOID_F32_8
#elif TJ_LANES == 16 && !defined TJ_SIGMOID_F32_16
#define TJ_SIGMOID_F32_16
#elif TJ_LANES == 32 && !defined TJ_SIGMOID_F32_32
#define TJ_SIGMOID_F32_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F32 TJ_F(sigmoid)(TJ_F32 x) {
  x = TJ_F(least)(TJ_F(splat)(30.0f), TJ_F(most)(TJ_F(splat)(-104.0f), x));
  TJ_F32 n, lost, t = TJ_F(exp_reduced)(x, &n, &lost);
  TJ_F32 high = 1.0f + t, low = t - (high - 1.0f), power = TJ_F(scale)(high, n);
  TJ_F32 sum = 1.0f + power, part = sum - 1.0f;
  TJ_F32 rest = (1.0f - (sum - part)) + (power - part);
  TJ_F32 inverse = 1.0f / sum, q = high * inverse, minus = TJ_F(neg)(q);
  TJ_F32 remainder = TJ_F(fma)(minus, rest, TJ_F(fma)(low, inverse, TJ_F(fma)(minus, sum, high)));
  return TJ_F(scale)(TJ_F(fma)(remainder, inverse, q), n);
}
#endif
#undef TJ_DEFINED
