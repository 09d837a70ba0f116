/* tj.h: what generated code and the support library agree on. Plain C11, any compiler. */
#ifndef TJ_H
#define TJ_H
#include <stdint.h>

struct tj_support; /* support.h: the table of functions that are built once */

/* One thread's view of a call. All threads of a call run the same entry side by side, each with
   its own tj_team; each takes its share of every loop that can be split (tj_share). */
typedef struct tj_team {
  int64_t index, size;                          /* 0 <= index < size */
  void (*barrier)(const struct tj_team *team);  /* waits for the whole team; unused when size is 1 */
  void *shared;                                 /* belongs to the thread pool */
  const struct tj_support *support;
} tj_team;

/* What a built graph exports: buffers are inputs, outputs and temporaries in plan order,
   dims the sizes of the symbols in plan order. */
typedef void tj_entry(const tj_team *team, void *const *buffers, const int64_t *dims);

/* This thread's share [*first, *last) of `count` items, in multiples of `grain` (the last may be short). */
static inline void tj_share(const tj_team *team, int64_t count, int64_t grain, int64_t *first, int64_t *last) {
  int64_t grains = (count + grain - 1) / grain;
  int64_t each = grains / team->size, more = grains % team->size;
  int64_t from = team->index * each + (team->index < more ? team->index : more);
  int64_t to = from + each + (team->index < more ? 1 : 0);
  *first = from * grain < count ? from * grain : count;
  *last = to * grain < count ? to * grain : count;
}

static inline void tj_wait(const tj_team *team) {
  if (team->size > 1) team->barrier(team);
}
#endif
