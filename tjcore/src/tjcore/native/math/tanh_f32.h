/* tj_tanh_f32xW(x): on each of the intervals [0, 1/4), [1/4, 1/2), [1/2, 1), ..., [4, 8), [8, 10] of |x| a polynomial in its distance t from a centre,
   with the sign of x. The centres are such that tanh there is all but a float, so the sum's one rounding is nearly all of the error; on the
   first interval it is |x| itself that is added to. What an interval needs is picked by the exponent of |x|; from 10 on tanh is 1.
   bench/tanh_table.py derives the table. */
#include "../lanes.h"
#ifndef TJ_TANH_F32
#define TJ_TANH_F32
#define TJ_TWICE(...) {__VA_ARGS__, __VA_ARGS__}
/* By exponent modulo 8: the intervals from 2, 4 and 8, none, those to 1/4, from 1/4, 1/2 and 1. Rows: centre, tanh there, coefficients of t^1 to t^9. */
static const float tj_tanh_table[11][16] = {
  TJ_TWICE(0x1.7fb8c8p1f, 0x1.800688p2f, 0x1.1fa24p3f, 0, 0, 0x1.80169p-2f, 0x1.804c7p-1f, 0x1.7fbd4p0f),
  TJ_TWICE(0x1.fd75p-1f, 0x1.fffe64p-1f, 0x1.fffffep-1f, 0, 0, 0x1.6f08e8p-2f, 0x1.455fd4p-1f, 0x1.cf5772p-1f),
  TJ_TWICE(0x1.44b0f2p-7f, 0x1.9c342ep-16f, 0x1.0bb4f4p-24f, 0, 0, 0x1.be38aep-1f, 0x1.3139c6p-1f, 0x1.72c528p-3f),
  TJ_TWICE(-0x1.4315a4p-7f, -0x1.9a96b8p-16f, 0x1.c263c6p-21f, 0, 0, -0x1.3fe168p-2f, -0x1.83f09ap-2f, -0x1.4f889p-3f),
  TJ_TWICE(0x1.aa818ep-8f, 0x1.119f52p-16f, 0x1.68e294p-26f, 0, -0x1.555556p-2f, -0x1.6d9ca8p-3f, 0x1.5866d6p-5f, 0x1.681c54p-4f),
  TJ_TWICE(-0x1.a1c196p-9f, -0x1.19530cp-17f, -0x1.2de0f4p-18f, 0, 0x1.4fda4ap-21f, 0x1.58611cp-3f, 0x1.97d288p-4f, -0x1.98db3ep-6f),
  TJ_TWICE(0x1.40799ep-10f, 0x1.c203a2p-19f, 0x1.d1a802p-23f, 0, 0x1.11094p-3f, 0x1.ddd464p-7f, -0x1.06317ap-4f, -0x1.61b15cp-9f),
  TJ_TWICE(-0x1.8d209cp-12f, -0x1.fb74cp-21f, 0x1.de1fbcp-18f, 0, 0x1.764312p-13f, -0x1.2f9b9cp-4f, -0x1.f00efp-11f, 0x1.d5bc48p-8f),
  TJ_TWICE(0x1.7cfbb2p-14f, 0x1.22ea7cp-22f, -0x1.0c09d2p-21f, 0, -0x1.c3ae54p-5f, 0x1.540d1cp-2f, 0x1.58b8f2p-6f, -0x1.06dfdep-8f),
  TJ_TWICE(-0x1.f843cp-18f, -0x1.fd9848p-24f, -0x1.dca6fcp-19f, 0, 0x1.0e428ep-8f, 0x1.981b5ap-3f, -0x1.3fcdbcp-7f, 0x1.a33a0ep-11f),
  TJ_TWICE(-0x1.f9588ap-19f, 0x1.c133e2p-26f, 0x1.649aa4p-22f, 0, 0x1.f63728p-7f, -0x1.0e9e22p3f, 0x1.b6012ep-10f, 0x1.5a16bcp-12f)
};
#undef TJ_TWICE
#endif
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
  TJ_F32 size = TJ_F(least)(TJ_F(splat)(10.0f), TJ_F(abs)(x));
  TJ_I32 place = TJ_F(bits)(TJ_F(most)(TJ_F(splat)(0.125f), size)) >> 23;
  TJ_F32 t = size - TJ_F(pick)(tj_tanh_table[0], place), p = TJ_F(pick)(tj_tanh_table[10], place);
  p = TJ_F(fma)(p, t, TJ_F(pick)(tj_tanh_table[9], place));
  p = TJ_F(fma)(p, t, TJ_F(pick)(tj_tanh_table[8], place));
  p = TJ_F(fma)(p, t, TJ_F(pick)(tj_tanh_table[7], place));
  p = TJ_F(fma)(p, t, TJ_F(pick)(tj_tanh_table[6], place));
  p = TJ_F(fma)(p, t, TJ_F(pick)(tj_tanh_table[5], place));
  p = TJ_F(fma)(p, t, TJ_F(pick)(tj_tanh_table[4], place));
  p = TJ_F(fma)(p, t, TJ_F(pick)(tj_tanh_table[3], place));
  p = TJ_F(fma)(p, t, TJ_F(pick)(tj_tanh_table[2], place));
  TJ_F32 start = TJ_F(select)(TJ_F(lt)(size, TJ_F(splat)(0.25f)), size, TJ_F(pick)(tj_tanh_table[1], place));
  return TJ_F(copysign)(TJ_F(fma)(p, t, start), x);
}
#endif
#undef TJ_DEFINED
