/* half_begin.h: makes TJ_LANES half of what it was, for the float64 headers of a float32 function; half_end.h undoes it. */
#if TJ_LANES == 1
#undef TJ_LANES
#define TJ_LANES 1
#define TJ_WHOLE 1
#elif TJ_LANES == 2
#undef TJ_LANES
#define TJ_LANES 1
#define TJ_WHOLE 2
#elif TJ_LANES == 4
#undef TJ_LANES
#define TJ_LANES 2
#define TJ_WHOLE 4
#elif TJ_LANES == 8
#undef TJ_LANES
#define TJ_LANES 4
#define TJ_WHOLE 8
#elif TJ_LANES == 16
#undef TJ_LANES
#define TJ_LANES 8
#define TJ_WHOLE 16
#elif TJ_LANES == 32
#undef TJ_LANES
#define TJ_LANES 16
#define TJ_WHOLE 32
#endif
#include "../lanes.h"
