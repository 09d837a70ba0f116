/* tj_rsqrt_f64xW(x) = 1 / sqrt(x); the float32 version explains the steps. */
#include "../lanes.h"
#if TJ_LANES == 1 && !defined TJ_RSQRT_F64_1
#define TJ_RSQRT_F64_1
#elif TJ_LANES == 2 && !defined TJ_RSQRT_F64_2
#define TJ_RSQRT_F64_2
#elif TJ_LANES == 4 && !defined TJ_RSQRT_F64_4
#define TJ_RSQRT_F64_4
#elif TJ_LANES == 8 && !defined TJ_RSQRT_F64_8
#define TJ_RSQRT_F64_8
#elif TJ_LANES == 16 && !defined TJ_RSQRT_F64_16
#define TJ_RSQRT_F64_16
#elif TJ_LANES == 32 && !defined TJ_RSQRT_F64_32
#define TJ_RSQRT_F64_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F64 TJ_D(rsqrt)(TJ_F64 x) {
  TJ_I64 small = TJ_D(lt)(x, TJ_D(splat)(0x1p-900));
  TJ_F64 scaled = TJ_D(select)(small, x * 0x1p200, x);
  TJ_F64 root = TJ_D(sqrt)(scaled), y = 1.0 / root;
  TJ_F64 miss = TJ_D(fma)(TJ_D(neg)(root), root, scaled), gap = TJ_D(step)(TJ_D(neg)(y), root, 1.0);
  TJ_F64 better = TJ_D(fma)(y, TJ_D(fma)(miss * y, y * -0.5, gap), y);
  better = TJ_D(select)(small, better * 0x1p100, better);
  TJ_I64 plain = TJ_D(gt)(x, TJ_D(splat)(0.0)) & TJ_D(lt)(x, TJ_D(splat)(TJ_INF64));
  return TJ_D(select)(plain, better, y);
}
#endif
#undef TJ_DEFINED
