/* tj_atan2_f64xW(y, x): the angle of the point (x, y); zeros and infinities as in C's atan2 */
#include "../lanes.h"
#include "atan_core_f64.h"
#if TJ_LANES == 1 && !defined TJ_ATAN2_F64_1
#define TJ_ATAN2_F64_1
#elif TJ_LANES == 2 && !defined TJ_ATAN2_F64_2
#define TJ_ATAN2_F64_2
#elif TJ_LANES == 4 && !defined TJ_ATAN2_F64_4
#define TJ_ATAN2_F64_4
#elif TJ_LANES == 8 && !defined TJ_ATAN2_F64_8
#define TJ_ATAN2_F64_8
#elif TJ_LANES == 16 && !defined TJ_ATAN2_F64_16
#define TJ_ATAN2_F64_16
#elif TJ_LANES == 32 && !defined TJ_ATAN2_F64_32
#define TJ_ATAN2_F64_32
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
TJ_INLINE TJ_F64 TJ_D(atan2)(TJ_F64 y, TJ_F64 x) {
  TJ_F64 up = TJ_D(abs)(y), down = TJ_D(abs)(x), zero = TJ_D(splat)(0.0), one = TJ_D(splat)(1.0), lost;
  /* 0/0 stands for 0/1, inf/inf for 1/1 */
  TJ_I64 nothing = TJ_D(eq)(up, zero) & TJ_D(eq)(down, zero), endless = TJ_D(eq)(up, down) & TJ_D(eq)(up, TJ_D(splat)(TJ_INF64));
  TJ_F64 a = TJ_D(atan_ratio)(TJ_D(select)(endless, one, up), TJ_D(select)(nothing | endless, one, down), &lost);
  TJ_F64 back = 0x1.921fb54442d18p1 - a, back_lost = ((0x1.921fb54442d18p1 - back) - a) + (0x1.1a62633145c07p-53 - lost);
  TJ_I64 left = TJ_D(lt)(TJ_D(copysign)(one, x), zero);
  TJ_F64 r = TJ_D(select)(left, back + back_lost, a + lost);
  r = TJ_D(select)(TJ_D(eq)(x, x) & TJ_D(eq)(y, y), r, x + y);
  return TJ_D(copysign)(r, y);
}
#endif
#undef TJ_DEFINED
