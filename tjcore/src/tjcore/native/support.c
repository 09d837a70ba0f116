/* support.c: the support library's table. The other files of the library are compiled beside it (build.py lists them). */
#include "support.h"
#include "pool.h"

#if defined __GNUC__ && !defined __TINYC__
__attribute__((visibility("default")))
#endif
const struct tj_support *tj_support_table(void) {
  static struct tj_support table;
  table.contract = tj_contract_functions;
  return &table;
}

#ifndef TJ_MOST_ARRAYS
#define TJ_MOST_ARRAYS 64 /* of a call through tj_run_arrays; larger ones go through tj_pool_run */
#endif

#if defined __GNUC__ && !defined __TINYC__
__attribute__((visibility("default")))
#endif
int tj_run_arrays(tj_entry *entry, const struct tj_support *support, const uintptr_t *arrays, int64_t count, int64_t data_offset, char *arena,
                  const int64_t *offsets, int64_t temporaries, const int64_t *dims, int64_t threads) {
  void *buffers[TJ_MOST_ARRAYS];
  for (int64_t i = 0; i < count; i++) buffers[i] = *(void *const *)(arrays[i] + data_offset);
  arena += -(uintptr_t)arena % 64;
  for (int64_t i = 0; i < temporaries; i++) buffers[count + i] = arena + offsets[i];
  return tj_pool_run(entry, support, buffers, dims, threads);
}
