/* support.h: what is built once per toolchain and lends itself to every built graph. */
#ifndef TJ_SUPPORT_H
#define TJ_SUPPORT_H
#include "tj.h"
#include "contract.h"

struct tj_support {
  tj_contract_table contract;
};

/* The table that tj_pool_run hands to the team. */
const struct tj_support *tj_support_table(void);

/* A call of at most TJ_MOST_ARRAYS buffers straight from NumPy's array objects: `arrays` are the addresses of the objects, each of which holds
   the address of its data `data_offset` bytes in (native.py measures where). The temporaries lie at `offsets` in the arena, which has
   room to be aligned to 64 bytes. */
int tj_run_arrays(tj_entry *entry, const struct tj_support *support, const uintptr_t *arrays, int64_t count, int64_t data_offset, char *arena,
                  const int64_t *offsets, int64_t temporaries, const int64_t *dims, int64_t threads);
#endif
