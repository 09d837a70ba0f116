/* tj_hypot_f64xW(x, y) = sqrt(x^2 + y^2) without overflow or underflow on the way; inf wins over NaN */
#include "../lanes.h"
#if TJ_LANES == 1 && !defined TJ_HYPOT_F64_1
#define TJ_HYPOT_F64_1
#elif TJ_LANES == 2 && !defined TJ_HYPOT_F64_2
#define TJ_HYPOT_F64_2
#elif TJ_LANES == 4 && !defined TJ_HYPOT_F64_4
#define TJ_HYPOT_F64_4
#elif TJ_LANES == 8 && !defined TJ_HYPOT_F64_8
#define TJ_HYPOT_F64_8
#elif TJ_LANES == 16 && !defined TJ_HYPOT_F64_16
#define TJ_HYPOT_F64_16
#elif TJ_LANES == 32 && !defined TJ_HYPOT_F64_32
#define TJ_HYPOT_F64_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F64 TJ_D(hypot)(TJ_F64 x, TJ_F64 y) {
  TJ_F64 a = TJ_D(abs)(x), b = TJ_D(abs)(y), inf = TJ_D(splat)(TJ_INF64);
  TJ_F64 large = TJ_D(most)(a, b), small = TJ_D(least)(a, b);
  TJ_I64 high = TJ_D(gt)(large, TJ_D(splat)(0x1p500)), low = TJ_D(lt)(large, TJ_D(splat)(0x1p-450));
  TJ_F64 in = TJ_D(select)(high, TJ_D(splat)(0x1p-600), TJ_D(select)(low, TJ_D(splat)(0x1p600), TJ_D(splat)(1.0)));
  TJ_F64 out = TJ_D(select)(high, TJ_D(splat)(0x1p600), TJ_D(select)(low, TJ_D(splat)(0x1p-600), TJ_D(splat)(1.0)));
  large = large * in;
  small = small * in;
  TJ_F64 r = TJ_D(sqrt)(TJ_D(fma)(large, large, small * small)) * out;
  r = TJ_D(select)(TJ_D(eq)(a, a) & TJ_D(eq)(b, b), r, x + y);
  return TJ_D(select)(TJ_D(eq)(a, inf) | TJ_D(eq)(b, inf), inf, r);
}
#endif
#undef TJ_DEFINED
