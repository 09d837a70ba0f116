/* sin and cos of float32, computed in float64 (the only roundings that matter are then the first and the last).

   tj_sin_short_f64: sin(x + shift pi/2) for float32 values x; shift is 0 or 1. x + shift pi/2 = n pi + r; sin(r) = r + r^3 p(r^2), sin_f32
   of bench/minimax.py. Two parts of pi are enough below 2^40; lanes above go through reduce_big.h. */
#include "../lanes.h"
#include "reduce_big.h"
#if TJ_LANES == 1 && !defined TJ_SIN_CORE_F32_1
#define TJ_SIN_CORE_F32_1
#elif TJ_LANES == 2 && !defined TJ_SIN_CORE_F32_2
#define TJ_SIN_CORE_F32_2
#elif TJ_LANES == 4 && !defined TJ_SIN_CORE_F32_4
#define TJ_SIN_CORE_F32_4
#elif TJ_LANES == 8 && !defined TJ_SIN_CORE_F32_8
#define TJ_SIN_CORE_F32_8
#elif TJ_LANES == 16 && !defined TJ_SIN_CORE_F32_16
#define TJ_SIN_CORE_F32_16
#elif TJ_LANES == 32 && !defined TJ_SIN_CORE_F32_32
#define TJ_SIN_CORE_F32_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F64 TJ_D(sin_short)(TJ_F64 x, int shift) {
  double half = 0.5 * shift;
  TJ_F64 turn = TJ_D(step)(x, TJ_D(splat)(0x1.45f306dc9c883p-2), half) + 0x1.8p52, n = (turn - 0x1.8p52) - half;
  TJ_F64 r = TJ_D(fma)(TJ_D(neg)(n), TJ_D(splat)(0x1.921fb54442d18p1), x);
  r = TJ_D(fma)(TJ_D(neg)(n), TJ_D(splat)(0x1.1a62633145c07p-53), r);
  TJ_I64 odd = TJ_D(bits)(turn), big = ~TJ_D(lt)(TJ_D(abs)(x), TJ_D(splat)(0x1p40));
  if (TJ_FN(tj_any_i64)(big)) {
    double xs[TJ_LANES], rs[TJ_LANES];
    int64_t odds[TJ_LANES];
    TJ_D(store)(xs, x);
    TJ_D(store)(rs, r);
    TJ_FN(tj_store_i64)(odds, odd);
    for (int i = 0; i < TJ_LANES; i++)
      if (!(tj_abs_f64x1(xs[i]) < 0x1p40)) rs[i] = tj_reduce_big_pi(xs[i], shift, odds + i);
    r = TJ_D(load)(rs);
    odd = TJ_FN(tj_load_i64)(odds);
  }
  TJ_F64 z = r * r;
  TJ_F64 p = TJ_D(step)(TJ_D(splat)(-0x1.9a637349a1d33p-26), z, 0x1.717047f1a579bp-19);
  p = TJ_D(step)(p, z, -0x1.a017d7f789007p-13);
  p = TJ_D(step)(p, z, 0x1.11110c451fcf7p-7);
  p = TJ_D(step)(p, z, -0x1.5555554757e81p-3);
  p = TJ_D(step)(p, z, 1.0);
  return TJ_D(from_bits)(TJ_D(bits)(r * p) ^ TJ_FN(tj_shift_i64)(odd, 63));
}
#endif
#undef TJ_DEFINED
