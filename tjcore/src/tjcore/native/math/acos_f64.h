/* tj_acos_f64xW(x): pi/2 - asin(x) for |x| <= 1/2, else 2 asin(sqrt((1 - |x|) / 2)) or pi less that. NaN outside [-1, 1] */
#include "../lanes.h"
#include "asin_core_f64.h"
#if TJ_LANES == 1 && !defined TJ_ACOS_F64_1
#define TJ_ACOS_F64_1
#elif TJ_LANES == 2 && !defined TJ_ACOS_F64_2
#define TJ_ACOS_F64_2
#elif TJ_LANES == 4 && !defined TJ_ACOS_F64_4
#define TJ_ACOS_F64_4
#elif TJ_LANES == 8 && !defined TJ_ACOS_F64_8
#define TJ_ACOS_F64_8
#elif TJ_LANES == 16 && !defined TJ_ACOS_F64_16
#define TJ_ACOS_F64_16
#elif TJ_LANES == 32 && !defined TJ_ACOS_F64_32
#define TJ_ACOS_F64_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F64 TJ_D(acos)(TJ_F64 x) {
  TJ_F64 a = TJ_D(abs)(x), low, tail;
  TJ_I64 far = TJ_D(gt)(a, TJ_D(splat)(0.5)), minus = TJ_D(lt)(x, TJ_D(splat)(0.0));
  TJ_F64 r = TJ_D(asin_reduced)(a, far, &low, &tail);
  TJ_F64 s = TJ_D(copysign)(r, x), near = 0x1.921fb54442d18p0 - s;
  near = near + (((0x1.921fb54442d18p0 - near) - s) + (0x1.1a62633145c07p-54 - TJ_D(copysign)(tail, x)));
  TJ_F64 twice = r + r, rest = 2.0 * (low + tail), back = 0x1.921fb54442d18p1 - twice;
  back = back + (((0x1.921fb54442d18p1 - back) - twice) + (0x1.1a62633145c07p-53 - rest));
  return TJ_D(select)(far, TJ_D(select)(minus, back, twice + rest), near);
}
#endif
#undef TJ_DEFINED
