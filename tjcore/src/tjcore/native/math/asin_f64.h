/* tj_asin_f64xW(x), NaN outside [-1, 1] */
#include "../lanes.h"
#include "asin_core_f64.h"
#if TJ_LANES == 1 && !defined TJ_ASIN_F64_1
#define TJ_ASIN_F64_1
#elif TJ_LANES == 2 && !defined TJ_ASIN_F64_2
#define TJ_ASIN_F64_2
#elif TJ_LANES == 4 && !defined TJ_ASIN_F64_4
#define TJ_ASIN_F64_4
#elif TJ_LANES == 8 && !defined TJ_ASIN_F64_8
#define TJ_ASIN_F64_8
#elif TJ_LANES == 16 && !defined TJ_ASIN_F64_16
#define TJ_ASIN_F64_16
#elif TJ_LANES == 32 && !defined TJ_ASIN_F64_32
#define TJ_ASIN_F64_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F64 TJ_D(asin)(TJ_F64 x) {
  TJ_F64 a = TJ_D(abs)(x), low, tail;
  TJ_I64 far = TJ_D(gt)(a, TJ_D(splat)(0.5));
  TJ_F64 r = TJ_D(asin_reduced)(a, far, &low, &tail);
  TJ_F64 twice = r + r, y = 0x1.921fb54442d18p0 - twice, lost = (0x1.921fb54442d18p0 - y) - twice;
  y = y + (lost + (0x1.1a62633145c07p-54 - 2.0 * (low + tail)));
  return TJ_D(copysign)(TJ_D(select)(far, y, r + tail), x);
}
#endif
#undef TJ_DEFINED
