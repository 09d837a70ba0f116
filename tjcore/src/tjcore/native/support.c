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

enum { MOST_BUFFERS = 64 }; /* of a call that starts from array objects; larger ones go through tj_pool_run */

#if defined __GNUC__ && !defined __TINYC__
__attribute__((visibility("default")))
#endif
int tj_run_frame(const tj_frame *frame, char *arena, uintptr_t a0, uintptr_t a1, uintptr_t a2, uintptr_t a3, uintptr_t a4, uintptr_t a5,
                 uintptr_t a6, uintptr_t a7) {
  void *buffers[MOST_BUFFERS];
  const uintptr_t first[8] = {a0, a1, a2, a3, a4, a5, a6, a7};
  const uintptr_t *arrays = frame->arrays > 8 ? (const uintptr_t *)a0 : first;
  for (int64_t i = 0; i < frame->arrays; i++) buffers[i] = *(void *const *)(arrays[i] + frame->data_offset);
  arena += -(uintptr_t)arena % 64;
  for (int64_t i = 0; i < frame->temporaries; i++) buffers[frame->arrays + i] = arena + frame->offsets[i];
  return tj_pool_run(frame->entry, tj_support_table(), buffers, frame->dims, frame->threads);
}
