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

/* What the calls of one graph for one set of sizes have in common. */
typedef struct tj_frame {
  tj_entry *entry;
  const int64_t *dims;
  const int64_t *offsets; /* of the temporaries in the arena */
  int64_t temporaries, arrays, data_offset, threads;
} tj_frame;

/* A call straight from NumPy's array objects. a0 to a7 are the addresses of the objects, or, for more than 8, a0 is the address of a table
   of them; each object holds the address of its data `data_offset` bytes in (native_call.py measures where). The arena has room to be
   aligned to 64 bytes. Arrays and temporaries together are at most 64. */
int tj_run_frame(const tj_frame *frame, char *arena, uintptr_t a0, uintptr_t a1, uintptr_t a2, uintptr_t a3, uintptr_t a4, uintptr_t a5,
                 uintptr_t a6, uintptr_t a7);
#endif
