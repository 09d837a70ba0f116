/* What sin, cos and tan share in float64: x modulo pi/2, and sin and cos of the rest.

   x = n pi/2 + (r + low), |r| <= pi/4. pi/2 is held in three parts; lanes of 2^30 and more go through reduce_big.h. */
#include "../lanes.h"
#include "reduce_big.h"
#if TJ_LANES == 1 && !defined TJ_TRIG_CORE_F64_1
#define TJ_TRIG_CORE_F64_1
#elif TJ_LANES == 2 && !defined TJ_TRIG_CORE_F64_2
#define TJ_TRIG_CORE_F64_2
#elif TJ_LANES == 4 && !defined TJ_TRIG_CORE_F64_4
#define TJ_TRIG_CORE_F64_4
#elif TJ_LANES == 8 && !defined TJ_TRIG_CORE_F64_8
#define TJ_TRIG_CORE_F64_8
#elif TJ_LANES == 16 && !defined TJ_TRIG_CORE_F64_16
#define TJ_TRIG_CORE_F64_16
#elif TJ_LANES == 32 && !defined TJ_TRIG_CORE_F64_32
#define TJ_TRIG_CORE_F64_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F64 TJ_D(reduced)(TJ_F64 x, TJ_F64 *low, TJ_I64 *quadrant) {
  TJ_F64 turn = TJ_D(step)(x, TJ_D(splat)(0x1.45f306dc9c883p-1), 0x1.8p52), n = turn - 0x1.8p52, minus = TJ_D(neg)(n);
  TJ_F64 first = TJ_D(fma)(minus, TJ_D(splat)(0x1.921fb54442d18p0), x); /* exact */
  TJ_F64 second = minus * 0x1.1a62633145c07p-54, lost = TJ_D(fma)(minus, TJ_D(splat)(0x1.1a62633145c07p-54), TJ_D(neg)(second));
  TJ_F64 r = first + second, part = r - first;
  TJ_F64 rest = ((first - (r - part)) + (second - part)) + TJ_D(fma)(minus, TJ_D(splat)(-0x1.f1976b7ed8fbcp-110), lost);
  TJ_I64 q = TJ_D(bits)(turn), big = ~TJ_D(lt)(TJ_D(abs)(x), TJ_D(splat)(0x1p30));
  if (TJ_FN(tj_any_i64)(big)) {
    double xs[TJ_LANES], rs[TJ_LANES], rests[TJ_LANES];
    int64_t qs[TJ_LANES];
    TJ_D(store)(xs, x);
    TJ_D(store)(rs, r);
    TJ_D(store)(rests, rest);
    TJ_FN(tj_store_i64)(qs, q);
    for (int i = 0; i < TJ_LANES; i++)
      if (!(tj_abs_f64x1(xs[i]) < 0x1p30)) {
        int one;
        rs[i] = tj_reduce_big(xs[i], rests + i, &one);
        qs[i] = one;
      }
    r = TJ_D(load)(rs);
    rest = TJ_D(load)(rests);
    q = TJ_FN(tj_load_i64)(qs);
  }
  *low = rest;
  *quadrant = q;
  return r;
}
/* each with what its rounding lost (not read: not computed) */
TJ_INLINE TJ_F64 TJ_D(sin_near)(TJ_F64 r, TJ_F64 low, TJ_F64 *lost) {
  TJ_F64 z = r * r;
  TJ_F64 p = TJ_D(step)(TJ_D(splat)(-0x1.9ffe97ae84593p-41), z, 0x1.6109bf515f7e5p-33);
  p = TJ_D(step)(p, z, -0x1.ae642c53ec8a8p-26);
  p = TJ_D(step)(p, z, 0x1.71de3a33a6a84p-19);
  p = TJ_D(step)(p, z, -0x1.a01a019ffe52ap-13);
  p = TJ_D(step)(p, z, 0x1.1111111111069p-7);
  p = TJ_D(step)(p, z, -0x1.5555555555555p-3);
  TJ_F64 small = TJ_D(fma)(z * r, p, TJ_D(fma)(z * -0.5, low, low)), y = r + small;
  *lost = (r - y) + small;
  return TJ_D(select)(TJ_D(eq)(r, TJ_D(splat)(0.0)), r, y); /* keeps -0 */
}
TJ_INLINE TJ_F64 TJ_D(cos_near)(TJ_F64 r, TJ_F64 low, TJ_F64 *lost) {
  TJ_F64 z = r * r, half = z * 0.5, most = 1.0 - half;
  TJ_F64 p = TJ_D(step)(TJ_D(splat)(0x1.9da8b1ff1a9dfp-45), z, -0x1.93744a181c25dp-37);
  p = TJ_D(step)(p, z, 0x1.1eed6f7b9daf9p-29);
  p = TJ_D(step)(p, z, -0x1.27e4fb5a1e548p-22);
  p = TJ_D(step)(p, z, 0x1.a01a019ffcb78p-16);
  p = TJ_D(step)(p, z, -0x1.6c16c16c16b3p-10);
  p = TJ_D(step)(p, z, 0x1.5555555555555p-5);
  TJ_F64 small = TJ_D(fma)(TJ_D(neg)(r), low, (z * z) * p) + TJ_D(fma)(r, r * -0.5, half);
  TJ_F64 rest = ((1.0 - most) - half) + small, y = most + rest;
  *lost = (most - y) + rest;
  return y;
}
#endif
#undef TJ_DEFINED
