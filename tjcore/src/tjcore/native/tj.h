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
  int64_t stream;                               /* results of so many bytes and more go past the cache; 0: none do */
  void *parts;                                  /* the team's: TJ_TEAM_PARTS elements for what its threads pass on within a kernel; unused when size is 1 */
} tj_team;

#define TJ_TEAM_PARTS 256

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

/* Whether a loop that starts to store at `at` into a result of `bytes` bytes should store past the cache: the result would push out of it
   what is still wanted, and whole lines that are written need not be read first. A loop of its own line each time would be slower for it. */
static inline int tj_streams(const tj_team *team, const void *at, int64_t bytes) {
  return team->stream && bytes >= team->stream && ((uintptr_t)at & 63) == 0;
}

/* Chains of kernels run over rows tile by tile, so that what they pass on stays in the cache. A tile takes the place of a thread in a
   larger team: each kernel finds its rows by tj_share. Rows of a tile: as many as keep each scratch buffer within `bytes`, `least` at least. */
static inline int64_t tj_tiles(const tj_team *team, int64_t rows, int64_t grain, int64_t row_bytes, int64_t bytes, int64_t least) {
  int64_t grains = (rows + grain - 1) / grain;
  int64_t fit = bytes / (row_bytes > 0 ? row_bytes * grain : 1);
  if (fit < least) fit = least;
  int64_t tiles = (grains + fit - 1) / fit;
  return tiles >= team->size ? tiles : grains < team->size ? grains : team->size;
}

/* Where row 0 of a scratch buffer would lie, so that this thread's own piece of it is met at `row`. */
static inline void *tj_scratch(const tj_team *team, void *buffer, int64_t rows, int64_t row_bytes, int64_t row, int64_t bytes, int64_t least) {
  int64_t piece = least * row_bytes > bytes ? (least * row_bytes + 63) / 64 * 64 : bytes;
  if (rows * row_bytes <= team->size * piece) return buffer; /* it is there as a whole */
  return (void *)((uintptr_t)buffer + (uintptr_t)(team->index * piece) - (uintptr_t)(row * row_bytes));
}

static inline void tj_wait(const tj_team *team) {
  if (team->size > 1) team->barrier(team);
}
#endif
