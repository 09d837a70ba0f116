/* contract.h: products of matrices, C[b][i][j] = sum over k of A[b][i][k] * B[b][k][j], as generated code calls them.

   The law of the sum: k is cut into blocks of TJ_CONTRACT_BLOCK. Inside a block each element is one chain
   acc = fma(a[k], b[k], acc) from +0 in ascending k; the first block's result is the start and the others are added
   to it in ascending order. Integers wrap. k = 0 gives +0. No path, tile, thread or compiler changes a bit of it.

   Calls: every thread of the team makes the same call with its own team; inputs must be ready before
   (a barrier between kernels is the caller's), and the results are complete once the caller's next barrier is passed. */
#ifndef TJ_CONTRACT_H
#define TJ_CONTRACT_H
#include "tj.h"

#define TJ_CONTRACT_BLOCK 256

/* What decides paths and scratch. TJ_L2 is the size of the cache that a core has to itself. */
#ifndef TJ_L2
#define TJ_L2 1048576
#endif
#ifndef TJ_CONTRACT_SMALL
#define TJ_CONTRACT_SMALL 2097152 /* up to so many multiply-adds a product needs no scratch */
#endif
#define TJ_CONTRACT_IS_SMALL(m, n, k) ((m) * (n) * (k) <= TJ_CONTRACT_SMALL)
#ifndef TJ_CONTRACT_ROWS
#define TJ_CONTRACT_ROWS 240 /* rows of C that wait for an epilogue; a multiple of every tile's rows */
#endif
/* Columns of a packed block of B: half of the cache holds it. A multiple of every tile's columns, at least one tile. */
#define TJ_CONTRACT_COLS(bytes) \
  (TJ_L2 / 2 / TJ_CONTRACT_BLOCK < 192 ? 192 / (bytes) : TJ_L2 / 2 / TJ_CONTRACT_BLOCK / 192 * 192 / (bytes))

/* Writes the elements [row, row + rows) x [col, col + cols) of an operand (A is m x k, B is k x n) of one batch into
   `block`: element (row + r, col + c) goes to block[r * stride + c], or, where the contraction says `by_columns`,
   to block[c * stride + r]. Blocks have the contraction's element type, no alignment beyond it, at most
   TJ_CONTRACT_BLOCK elements along k. The same element may be asked for more than once. */
typedef void tj_contract_fill(void *user, int64_t batch, int64_t row, int64_t rows, int64_t col, int64_t cols,
                              void *block, int64_t stride);

/* Takes a finished block of C: element (row + r, col + c) is tile[r * stride + c]. Called exactly once for every
   element of every batch, by one of the threads. The tile may be overwritten by the callee. */
typedef void tj_contract_epilogue(void *user, int64_t batch, int64_t row, int64_t rows, int64_t col, int64_t cols,
                                  void *tile, int64_t stride);

enum { TJ_CONTRACT_F32, TJ_CONTRACT_F64, TJ_CONTRACT_I32, TJ_CONTRACT_I64 }; /* element types */

/* How the product is worked; the results are the same. AUTO chooses by the extents; the others are for tests and tuning
   and fall back to AUTO's choice where a path cannot serve the product. */
enum { TJ_CONTRACT_AUTO, TJ_CONTRACT_TILES, TJ_CONTRACT_PACKED, TJ_CONTRACT_VECTOR };

/* Strides count elements, may be 0 (broadcast) or negative. Members that are not named in an initialiser are 0 = absent. */
typedef struct tj_contract {
  int64_t m, n, k, batch;                     /* batch is 1 for a plain product */
  const void *a;                              /* unused when pack_a is given */
  int64_t a_batch, a_row, a_col;
  const void *b;                              /* unused when pack_b is given */
  int64_t b_batch, b_row, b_col;
  void *c;                                    /* unused when epilogue is given; columns have stride 1 */
  int64_t c_batch, c_row;
  tj_contract_fill *pack_a, *pack_b;          /* elementwise producers of A and B, or NULL */
  int32_t pack_a_by_columns, pack_b_by_columns;
  tj_contract_epilogue *epilogue;             /* elementwise consumer of C, or NULL */
  void *user;                                 /* handed to the three callbacks */
  void *scratch;                              /* 64-byte aligned, the same for the whole team, tj_contract_scratch bytes */
  int32_t path;
} tj_contract;

typedef void tj_contract_function(const tj_team *team, const tj_contract *contract);

tj_contract_function tj_contract_f32, tj_contract_f64, tj_contract_i32, tj_contract_i64;

/* What a support library has of them: each type is a library of its own, built when a graph first needs it. */
typedef struct tj_contract_table {
  tj_contract_function *f32, *f64, *i32, *i64;
} tj_contract_table;

/* Bytes that `scratch` must have; where they are 0, it may be NULL. With NULL for any other product the result is right but
   comes slowly. packing.py has the same formula over symbolic sizes, for the memory plan. */
static inline int64_t tj_contract_scratch(int32_t dtype, int64_t m, int64_t n, int64_t k, int64_t threads, int32_t epilogue) {
  int64_t bytes = dtype == TJ_CONTRACT_F32 || dtype == TJ_CONTRACT_I32 ? 4 : 8, unit = 64 / bytes;
  int64_t cols = (n + unit - 1) / unit * unit, rows = k < TJ_CONTRACT_BLOCK ? k : TJ_CONTRACT_BLOCK;
  if (TJ_CONTRACT_IS_SMALL(m, n, k)) return 0;
  if (cols > TJ_CONTRACT_COLS(bytes)) cols = TJ_CONTRACT_COLS(bytes);
  if (epilogue) rows += m < TJ_CONTRACT_ROWS ? m : TJ_CONTRACT_ROWS;
  return threads * rows * cols * bytes;
}
#endif
