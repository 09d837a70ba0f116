/* contract.c: the table of products, and the scratch they need. */
#include "contract.h"

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t up_to(int64_t a, int64_t unit) { return (a + unit - 1) / unit * unit; }

/* packing.py has the same formula over symbolic sizes. */
int64_t tj_contract_scratch(int32_t dtype, int64_t m, int64_t n, int64_t k, int64_t threads, int32_t epilogue) {
  int64_t bytes = dtype == TJ_CONTRACT_F32 || dtype == TJ_CONTRACT_I32 ? 4 : 8;
  if (TJ_CONTRACT_IS_SMALL(m, n, k)) return 0;
  int64_t cols = least(up_to(n, 64 / bytes), TJ_CONTRACT_COLS(bytes));
  int64_t b = up_to(least(k, TJ_CONTRACT_BLOCK) * cols * bytes, 64), c = epilogue ? least(m, TJ_CONTRACT_ROWS) * cols * bytes : 0;
  return threads * (b + up_to(c, 64));
}

const tj_contract_table tj_contract_functions = {tj_contract_f32, tj_contract_f64, tj_contract_i32, tj_contract_i64, tj_contract_scratch};
