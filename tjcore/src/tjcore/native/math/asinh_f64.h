/* tj_asinh_f64xW(x) = log(1 + a + a^2 / (1 + sqrt(a^2 + 1))), a = |x|; log(2 a) from 2^28 on. */
#include "../lanes.h"
#include "log_core_f64.h"
#if TJ_LANES == 1 && !defined TJ_ASINH_F64_1
#define TJ_ASINH_F64_1
#elif TJ_LANES == 2 && !defined TJ_ASINH_F64_2
#define TJ_ASINH_F64_2
#elif TJ_LANES == 4 && !defined TJ_ASINH_F64_4
#define TJ_ASINH_F64_4
#elif TJ_LANES == 8 && !defined TJ_ASINH_F64_8
#define TJ_ASINH_F64_8
#elif TJ_LANES == 16 && !defined TJ_ASINH_F64_16
#define TJ_ASINH_F64_16
#elif TJ_LANES == 32 && !defined TJ_ASINH_F64_32
#define TJ_ASINH_F64_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F64 TJ_D(asinh)(TJ_F64 x) {
  TJ_F64 a = TJ_D(abs)(x);
  TJ_I64 big = TJ_D(ge)(a, TJ_D(splat)(0x1p28));
  TJ_F64 b = TJ_D(select)(big, TJ_D(splat)(1.0), a), square = b * b, lost = TJ_D(fma)(b, b, TJ_D(neg)(square));
  TJ_F64 under = square + 1.0, bit = under - square, low = ((square - (under - bit)) + (1.0 - bit)) + lost;
  TJ_F64 root = TJ_D(sqrt)(under), root_low = (TJ_D(fma)(TJ_D(neg)(root), root, under) + low) / (root + root);
  TJ_F64 down = root + 1.0, down_low = (root - (down - 1.0)) + root_low;
  TJ_F64 g = square / down, g_low = (TJ_D(fma)(TJ_D(neg)(g), down, square) + TJ_D(fma)(TJ_D(neg)(g), down_low, lost)) / down;
  TJ_F64 t = b + g, t_part = t - b, t_low = ((b - (t - t_part)) + (g - t_part)) + g_low;
  TJ_F64 one_t = 1.0 + t, part = one_t - 1.0, missing = ((1.0 - (one_t - part)) + (t - part)) + t_low;
  TJ_F64 zero = TJ_D(splat)(0.0);
  TJ_F64 y = TJ_D(log_sum)(TJ_D(select)(big, a, one_t), TJ_D(select)(big, zero, missing), TJ_D(select)(big, TJ_D(splat)(1.0), zero));
  return TJ_D(copysign)(y, x);
}
#endif
#undef TJ_DEFINED
