/* tan of float32 values, in float64: x = n pi/2 + r, tan x = sin r / cos r or -cos r / sin r. Lanes of 2^40 and more go through reduce_big.h. */
#include "../lanes.h"
#include "reduce_big.h"
#if TJ_LANES == 1 && !defined TJ_TAN_CORE_F32_1
#define TJ_TAN_CORE_F32_1
#elif TJ_LANES == 2 && !defined TJ_TAN_CORE_F32_2
#define TJ_TAN_CORE_F32_2
#elif TJ_LANES == 4 && !defined TJ_TAN_CORE_F32_4
#define TJ_TAN_CORE_F32_4
#elif TJ_LANES == 8 && !defined TJ_TAN_CORE_F32_8
#define TJ_TAN_CORE_F32_8
#elif TJ_LANES == 16 && !defined TJ_TAN_CORE_F32_16
#define TJ_TAN_CORE_F32_16
#elif TJ_LANES == 32 && !defined TJ_TAN_CORE_F32_32
#define TJ_TAN_CORE_F32_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F64 TJ_D(tan_short)(TJ_F64 x) {
  TJ_F64 turn = TJ_D(step)(x, TJ_D(splat)(0x1.45f306dc9c883p-1), 0x1.8p52), minus = TJ_D(neg)(turn - 0x1.8p52);
  TJ_F64 r = TJ_D(fma)(minus, TJ_D(splat)(0x1.921fb54442d18p0), x);
  r = TJ_D(fma)(minus, TJ_D(splat)(0x1.1a62633145c07p-54), r);
  TJ_I64 q = TJ_D(bits)(turn), big = ~TJ_D(lt)(TJ_D(abs)(x), TJ_D(splat)(0x1p40));
  if (TJ_FN(tj_any_i64)(big)) {
    double xs[TJ_LANES], rs[TJ_LANES], low;
    int64_t qs[TJ_LANES];
    TJ_D(store)(xs, x);
    TJ_D(store)(rs, r);
    TJ_FN(tj_store_i64)(qs, q);
    for (int i = 0; i < TJ_LANES; i++)
      if (!(tj_abs_f64x1(xs[i]) < 0x1p40)) {
        int one;
        rs[i] = tj_reduce_big(xs[i], &low, &one);
        qs[i] = one;
      }
    r = TJ_D(load)(rs);
    q = TJ_FN(tj_load_i64)(qs);
  }
  TJ_F64 z = r * r;
  TJ_F64 s = TJ_D(step)(TJ_D(splat)(0x1.6cd0be265d86fp-19), z, -0x1.a00f7a2d2a621p-13);
  s = TJ_D(step)(s, z, 0x1.1111086449c3ep-7);
  s = TJ_D(step)(s, z, -0x1.5555554c6981ap-3);
  TJ_F64 c = TJ_D(step)(TJ_D(splat)(-0x1.241d9619cd91fp-22), z, 0x1.a010d9cedc2cbp-16);
  c = TJ_D(step)(c, z, -0x1.6c16b82262179p-10);
  c = TJ_D(step)(c, z, 0x1.5555554ed2379p-5);
  s = r * TJ_D(step)(s, z, 1.0);
  c = TJ_D(step)(TJ_D(step)(c, z, -0.5), z, 1.0);
  TJ_I64 odd = TJ_FN(tj_ne_i64)(q & 1, q - q);
  return TJ_D(select)(odd, TJ_D(neg)(c), s) / TJ_D(select)(odd, s, c);
}
#endif
#undef TJ_DEFINED
