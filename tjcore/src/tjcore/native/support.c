/* support.c: the support library's table. The other files of the library are compiled beside it (build.py lists them). */
#include "support.h"
#include "pool.h"

static struct tj_support table;

#if defined __GNUC__ && !defined __TINYC__
#pragma GCC visibility push(default)
#endif
const struct tj_support *tj_support_table(void) { return &table; }

/* Adds the product of one element type. Asked for again, it is the same function: so no call sees a change. */
void tj_support_lend(int32_t type, tj_contract_function *product) {
  switch (type) {
    case TJ_CONTRACT_F32: table.contract.f32 = product; break;
    case TJ_CONTRACT_F64: table.contract.f64 = product; break;
    case TJ_CONTRACT_I32: table.contract.i32 = product; break;
    case TJ_CONTRACT_I64: table.contract.i64 = product; break;
  }
}
