/* pow of float32 values, in float64: 2^(y log2 |x|). The logarithm has about 40 bits, also close to 1 (log_pow_f32 of bench/minimax.py); then
   2^r = 1 + r p(r), exp2_pow_f32. The rounding to float32 at the end overflows and underflows as it should. Special values are C's. */
#include "../lanes.h"
#if TJ_LANES == 1 && !defined TJ_POW_CORE_F32_1
#define TJ_POW_CORE_F32_1
#elif TJ_LANES == 2 && !defined TJ_POW_CORE_F32_2
#define TJ_POW_CORE_F32_2
#elif TJ_LANES == 4 && !defined TJ_POW_CORE_F32_4
#define TJ_POW_CORE_F32_4
#elif TJ_LANES == 8 && !defined TJ_POW_CORE_F32_8
#define TJ_POW_CORE_F32_8
#elif TJ_LANES == 16 && !defined TJ_POW_CORE_F32_16
#define TJ_POW_CORE_F32_16
#elif TJ_LANES == 32 && !defined TJ_POW_CORE_F32_32
#define TJ_POW_CORE_F32_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F64 TJ_D(pow_short)(TJ_F64 x, TJ_F64 y) {
  TJ_F64 a = TJ_D(abs)(x), zero = TJ_D(splat)(0.0), one = TJ_D(splat)(1.0), inf = TJ_D(splat)(TJ_INF64);
  TJ_I64 bits = TJ_D(bits)(a) - INT64_C(0x3fe5555555555555);
  TJ_F64 e = TJ_D(from_bits)((bits >> 52) + INT64_C(0x4338000000000000)) - 0x1.8p52;
  TJ_F64 f = TJ_D(from_bits)((bits & INT64_C(0xfffffffffffff)) + INT64_C(0x3fe5555555555555)) - 1.0;
  TJ_F64 p = TJ_D(step)(TJ_D(splat)(-0x1.8b091e7e81b19p-4), f, 0x1.99dac0f161ab6p-4);
  p = TJ_D(step)(p, f, -0x1.0795471378d29p-4);
  p = TJ_D(step)(p, f, 0x1.20a91fcc44b1ap-4);
  p = TJ_D(step)(p, f, -0x1.5865aed4de97fp-4);
  p = TJ_D(step)(p, f, 0x1.76e7b02be6abp-4);
  p = TJ_D(step)(p, f, -0x1.996b6f6fbf671p-4);
  p = TJ_D(step)(p, f, 0x1.c6fa9404fd956p-4);
  p = TJ_D(step)(p, f, -0x1.0000c1bd249eap-3);
  p = TJ_D(step)(p, f, 0x1.2492c0e44c82cp-3);
  p = TJ_D(step)(p, f, -0x1.5555520ac024ap-3);
  p = TJ_D(step)(p, f, 0x1.99999809d8878p-3);
  p = TJ_D(step)(p, f, -0x1.0000000312cc2p-2);
  p = TJ_D(step)(p, f, 0x1.5555555636735p-2);
  p = TJ_D(step)(p, f, -0x1.fffffffffe8bep-2);
  TJ_F64 log2 = TJ_D(fma)(TJ_D(fma)(f * f, p, f), TJ_D(splat)(0x1.71547652b82fep0), e);
  log2 = TJ_D(select)(TJ_D(eq)(a, zero), TJ_D(neg)(inf), TJ_D(select)(TJ_D(eq)(a, inf), inf, log2));
  TJ_F64 z = y * log2;
  z = TJ_D(least)(TJ_D(splat)(200.0), TJ_D(most)(TJ_D(splat)(-200.0), z));
  TJ_F64 n = (z + 0x1.8p52) - 0x1.8p52, r = z - n;
  TJ_F64 q = TJ_D(step)(TJ_D(splat)(0x1.00f0ffb96e82dp-16), r, 0x1.445e6880815d2p-13);
  q = TJ_D(step)(q, r, 0x1.5d87241830571p-10);
  q = TJ_D(step)(q, r, 0x1.3b29f1000df4bp-7);
  q = TJ_D(step)(q, r, 0x1.c6b08df3d4495p-5);
  q = TJ_D(step)(q, r, 0x1.ebfbe07ab684ep-3);
  q = TJ_D(step)(q, r, 0x1.62e42fef7bab8p-1);
  TJ_F64 power = TJ_D(step)(q, r, 1.0) * TJ_D(pow2)(n);
  TJ_I64 whole = TJ_D(eq)(TJ_D(rint)(y), y), odd = whole & TJ_D(ne)(TJ_D(rint)(y * 0.5), y * 0.5);
  power = TJ_D(select)(TJ_D(eq)(x, x) & TJ_D(eq)(y, y), power, x + y);
  power = TJ_D(select)(TJ_D(eq)(a, one) & TJ_D(eq)(y, y), one, power);
  power = TJ_D(select)(TJ_D(lt)(x, zero) & TJ_D(lt)(a, inf) & ~whole & TJ_D(eq)(y, y), inf - inf, power);
  power = TJ_D(select)(odd & TJ_D(lt)(TJ_D(copysign)(one, x), zero), TJ_D(neg)(power), power);
  return TJ_D(select)(TJ_D(eq)(y, zero) | TJ_D(eq)(x, one), one, power);
}
#endif
#undef TJ_DEFINED
