/* tj_acosh_f64xW(x) = log(1 + t + sqrt(t (t + 2))), t = x - 1; log(2 x) from 2^28 on; NaN below 1. */
#include "../lanes.h"
#include "log_core_f64.h"
#if TJ_LANES == 1 && !defined TJ_ACOSH_F64_1
#define TJ_ACOSH_F64_1
#elif TJ_LANES == 2 && !defined TJ_ACOSH_F64_2
#define TJ_ACOSH_F64_2
#elif TJ_LANES == 4 && !defined TJ_ACOSH_F64_4
#define TJ_ACOSH_F64_4
#elif TJ_LANES == 8 && !defined TJ_ACOSH_F64_8
#define TJ_ACOSH_F64_8
#elif TJ_LANES == 16 && !defined TJ_ACOSH_F64_16
#define TJ_ACOSH_F64_16
#elif TJ_LANES == 32 && !defined TJ_ACOSH_F64_32
#define TJ_ACOSH_F64_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F64 TJ_D(acosh)(TJ_F64 x) {
  TJ_F64 zero = TJ_D(splat)(0.0), one = TJ_D(splat)(1.0);
  TJ_I64 big = TJ_D(ge)(x, TJ_D(splat)(0x1p28)), outside = TJ_D(lt)(x, one);
  TJ_F64 b = TJ_D(select)(big | outside, one, x), t = b - 1.0, t_low = (b - t) - 1.0;
  TJ_F64 more = t + 2.0, more_low = (b - (more - 1.0)); /* b + 1 */
  TJ_F64 under = t * more, low = TJ_D(fma)(t, more, TJ_D(neg)(under)) + TJ_D(fma)(t, more_low, t_low * more);
  TJ_F64 root = TJ_D(sqrt)(under), root_low = (TJ_D(fma)(TJ_D(neg)(root), root, under) + low) / (root + root);
  root_low = TJ_D(select)(TJ_D(gt)(root, zero), root_low, zero);
  TJ_F64 sum = t + root, sum_part = sum - t, sum_low = (t - (sum - sum_part)) + (root - sum_part);
  TJ_F64 one_t = 1.0 + sum, part = one_t - 1.0, missing = ((1.0 - (one_t - part)) + (sum - part)) + (sum_low + (root_low + t_low));
  TJ_F64 y = TJ_D(log_sum)(TJ_D(select)(big, x, one_t), TJ_D(select)(big, zero, missing), TJ_D(select)(big, one, zero));
  y = TJ_D(select)(TJ_D(eq)(x, x), y, x);
  return TJ_D(select)(outside, TJ_D(splat)(TJ_INF64) - TJ_D(splat)(TJ_INF64), y);
}
#endif
#undef TJ_DEFINED
