/* What the logarithms of float64 share.

   x = 2^e (1 + f) with 1 + f from 2/3 to 4/3; log(1 + f) = f + (square + rest), square = -f^2 / 2 rounded, and rest takes what that lost.
   The polynomial is log_fine_f64 of bench/minimax.py: (log(1 + f) - f + f^2 / 2) / f^3. */
#include "../lanes.h"
#if TJ_LANES == 1 && !defined TJ_LOG_CORE_F64_1
#define TJ_LOG_CORE_F64_1
#elif TJ_LANES == 2 && !defined TJ_LOG_CORE_F64_2
#define TJ_LOG_CORE_F64_2
#elif TJ_LANES == 4 && !defined TJ_LOG_CORE_F64_4
#define TJ_LOG_CORE_F64_4
#elif TJ_LANES == 8 && !defined TJ_LOG_CORE_F64_8
#define TJ_LOG_CORE_F64_8
#elif TJ_LANES == 16 && !defined TJ_LOG_CORE_F64_16
#define TJ_LOG_CORE_F64_16
#elif TJ_LANES == 32 && !defined TJ_LOG_CORE_F64_32
#define TJ_LOG_CORE_F64_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
/* e and f of a positive finite x, subnormals included */
TJ_INLINE TJ_F64 TJ_D(log_reduced)(TJ_F64 x, TJ_F64 *e) {
  TJ_I64 small = TJ_D(lt)(x, TJ_D(splat)(0x1p-1022));
  TJ_I64 bits = TJ_D(bits)(TJ_D(select)(small, x * 0x1p54, x)) - INT64_C(0x3fe5555555555555);
  /* the exponent as a float64, by way of the bits of 1.5 * 2^52 + e */
  TJ_F64 whole = TJ_D(from_bits)((bits >> 52) + INT64_C(0x4338000000000000)) - 0x1.8p52;
  *e = whole - TJ_D(select)(small, TJ_D(splat)(54.0), TJ_D(splat)(0.0));
  return TJ_D(from_bits)((bits & INT64_C(0xfffffffffffff)) + INT64_C(0x3fe5555555555555)) - 1.0;
}
TJ_INLINE TJ_F64 TJ_D(log_fine)(TJ_F64 f, TJ_F64 *rest) {
  TJ_F64 p = TJ_D(step)(TJ_D(splat)(-0x1.552b9926eb7aap-4), f, 0x1.5c297fa2f8f6cp-4);
  p = TJ_D(step)(p, f, -0x1.39572693113d6p-5);
  p = TJ_D(step)(p, f, 0x1.5609fa003de07p-5);
  p = TJ_D(step)(p, f, -0x1.d75063bbeafdp-5);
  p = TJ_D(step)(p, f, 0x1.efc216f2529b5p-5);
  p = TJ_D(step)(p, f, -0x1.fe5495c4c6f2p-5);
  p = TJ_D(step)(p, f, 0x1.1069615c77a62p-4);
  p = TJ_D(step)(p, f, -0x1.24a04a82bfb02p-4);
  p = TJ_D(step)(p, f, 0x1.3b1db6044a3d1p-4);
  p = TJ_D(step)(p, f, -0x1.5554c00e20fp-4);
  p = TJ_D(step)(p, f, 0x1.745cb6210f5a3p-4);
  p = TJ_D(step)(p, f, -0x1.99999d7220a76p-4);
  p = TJ_D(step)(p, f, 0x1.c71c7409dfd1ep-4);
  p = TJ_D(step)(p, f, -0x1.fffffff0fd5dbp-4);
  p = TJ_D(step)(p, f, 0x1.24924920b923ep-3);
  p = TJ_D(step)(p, f, -0x1.55555555655c7p-3);
  p = TJ_D(step)(p, f, 0x1.99999999a00a9p-3);
  p = TJ_D(step)(p, f, -0x1.fffffffffff3p-3);
  p = TJ_D(step)(p, f, 0x1.5555555555538p-2);
  TJ_F64 square = f * f, lost = TJ_D(fma)(f, f, TJ_D(neg)(square));
  *rest = TJ_D(fma)(square * f, p, lost * -0.5);
  return square * -0.5;
}
/* y, or what a logarithm of x is where x is not positive and finite */
TJ_INLINE TJ_F64 TJ_D(log_special)(TJ_F64 x, TJ_F64 y) {
  TJ_F64 zero = TJ_D(splat)(0.0), inf = TJ_D(splat)(TJ_INF64), nan = inf - inf;
  y = TJ_D(select)(TJ_D(lt)(x, inf), y, inf);
  return TJ_D(select)(TJ_D(gt)(x, zero), y, TJ_D(select)(TJ_D(eq)(x, zero), TJ_D(neg)(inf), nan));
}
/* log((x + more) 2^twos) for a `more` below the last place of x */
TJ_INLINE TJ_F64 TJ_D(log_sum)(TJ_F64 x, TJ_F64 more, TJ_F64 twos) {
  TJ_F64 e, f = TJ_D(log_reduced)(x, &e), rest, square = TJ_D(log_fine)(f, &rest);
  more = more * TJ_D(pow2)(TJ_D(neg)(TJ_D(least)(e, TJ_D(splat)(1022.0))));
  rest = rest + TJ_D(fma)(TJ_D(neg)(f), more, more);
  e = e + twos;
  TJ_F64 whole = e * 0x1.62e42fefa38p-1, sum = whole + f; /* exact product: ln 2 in two parts, the first of 42 bits */
  rest = TJ_D(fma)(e, TJ_D(splat)(0x1.ef35793c7673p-45), rest + (f - (sum - whole)));
  return TJ_D(log_special)(x, sum + (square + rest));
}
/* log(1 + x + low) */
TJ_INLINE TJ_F64 TJ_D(log_one)(TJ_F64 x, TJ_F64 low) {
  TJ_F64 one_x = 1.0 + x, part = one_x - 1.0, missing = (1.0 - (one_x - part)) + (x - part);
  return TJ_D(log_sum)(one_x, missing + low, TJ_D(splat)(0.0));
}
#endif
#undef TJ_DEFINED
