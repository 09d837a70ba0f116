/* tj_tanh_f32xW(x): with u = e^(-2|x|) - 1 it is -u / (2 + u), with the sign of x. u is held in two parts, and the quotient is corrected once by
   its remainder; small x come out exact because u starts from r = -2|x| itself. */
#include "../lanes.h"
#include "exp_core_f32.h"
#if TJ_LANES == 1 && !defined TJ_TANH_F32_1
#define TJ_TANH_F32_1
#elif TJ_LANES == 2 && !defined TJ_TANH_F32_2
#define TJ_TANH_F32_2
#elif TJ_LANES == 4 && !defined TJ_TANH_F32_4
#define TJ_TANH_F32_4
#elif TJ_LANES == 8 && !defined TJ_TANH_F32_8
#define TJ_TANH_F32_8
#elif TJ_LANES == 16 && !defined TJ_TANH_F32_16
#define TJ_TANH_F32_16
#elif TJ_LANES == 32 && !defined TJ_TANH_F32_32
#define TJ_TANH_F32_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F32 TJ_F(tanh)(TJ_F32 x) {
  TJ_F32 n, lost, size = TJ_F(least)(TJ_F(splat)(10.0f), TJ_F(abs)(x));
  TJ_F32 t = TJ_F(exp_reduced)(size * -2.0f, &n, &lost), power = TJ_F(pow2)(n);
  TJ_F32 whole = power - 1.0f, part = power * t, u = whole + part;
  TJ_F32 low = TJ_F(fma)(power, lost, (part - (u - whole)) + (power - (whole + 1.0f)));
  TJ_F32 sum = 2.0f + u, rest = u - (sum - 2.0f);
  TJ_F32 inverse = 1.0f / sum, q = u * inverse, minus = TJ_F(neg)(q);
  TJ_F32 remainder = TJ_F(fma)(minus, rest + low, TJ_F(fma)(minus, sum, u) + low);
  return TJ_F(copysign)(TJ_F(fma)(remainder, inverse, q), x);
}
#endif
#undef TJ_DEFINED
