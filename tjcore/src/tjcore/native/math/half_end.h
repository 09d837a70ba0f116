/* half_end.h: makes TJ_LANES what it was before half_begin.h. */
#undef TJ_LANES
#if TJ_WHOLE == 1
#define TJ_LANES 1
#elif TJ_WHOLE == 2
#define TJ_LANES 2
#elif TJ_WHOLE == 4
#define TJ_LANES 4
#elif TJ_WHOLE == 8
#define TJ_LANES 8
#elif TJ_WHOLE == 16
#define TJ_LANES 16
#elif TJ_WHOLE == 32
#define TJ_LANES 32
#endif
#undef TJ_WHOLE
