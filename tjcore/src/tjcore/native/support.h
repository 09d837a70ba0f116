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
void tj_support_lend(int32_t type, tj_contract_function *product);
#endif
