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
