/* contract_tile.h: the register tile, where all multiply-adds of the blocked paths happen.

   A tile kernel makes rows x cols sums over one block of k (depth <= TJ_CONTRACT_BLOCK), each one chain from +0, in
   registers, and then stores them to C or, from the second block on, adds them to what is there.
   A is read either by rows, from a copy in which rows are TJ_CONTRACT_BLOCK apart, or by columns with any stride.
   There is a kernel for each number of rows and vectors, so edges waste nothing. */
#define A_ROW TJ_CONTRACT_BLOCK

typedef struct tile_job {
  int64_t depth;
  const T *a;
  int64_t a_col; /* used when A is read by columns */
  const T *b;
  int64_t b_row;
  int64_t tail; /* columns in the last vector, 1..W */
  T *c;
  int64_t c_row;
  int add; /* 0: the first block of k */
} tile_job;

typedef void tile_kernel(const tile_job *job);

TJ_INLINE void tile(const int rows, const int vecs, const int by_columns, const int parts, const tile_job *job) {
  const T *restrict a = job->a, *restrict b = job->b;
  const int64_t depth = job->depth, a_col = job->a_col, b_row = job->b_row, tail = job->tail, c_row = job->c_row;
  T *restrict c = job->c;
  V sum[TILE_ROWS][TILE_VECS];
  for (int i = 0; i < rows; i++) /* C comes while the sums are made */
    for (int j = 0; j < vecs; j++) v_prefetch_out(c + i * c_row + j * W);
  c = v_again(c); /* or else all addresses of C would be kept on the stack during the loop */
  TJ_UNROLL for (int i = 0; i < rows; i++) {
    TJ_UNROLL for (int j = 0; j < vecs; j++) sum[i][j] = v_all(0);
  }
  for (int64_t p = 0; p < depth; p++) {
    V right[TILE_VECS];
    TJ_UNROLL for (int j = 0; j < vecs; j++)
      right[j] = parts && j == vecs - 1 ? v_load_part(b + p * b_row + j * W, tail) : v_load(b + p * b_row + j * W);
    TJ_UNROLL for (int i = 0; i < rows; i++) {
      V left = v_all(by_columns ? a[p * a_col + i] : a[i * A_ROW + p]);
      TJ_UNROLL for (int j = 0; j < vecs; j++) sum[i][j] = v_fma(left, right[j], sum[i][j]);
    }
  }
  TJ_UNROLL for (int i = 0; i < rows; i++) {
    TJ_UNROLL for (int j = 0; j < vecs; j++) {
      T *to = c + i * c_row + j * W;
      if (j == vecs - 1 && tail != W)
        v_store_part(to, job->add ? v_load_part(to, tail) + sum[i][j] : sum[i][j], tail);
      else
        v_store(to, job->add ? v_load(to) + sum[i][j] : sum[i][j]);
    }
  }
}

#define KERNEL(rows, vecs)                                                                                 \
  static void tile_rows_##rows##_##vecs(const tile_job *job) { tile(rows, vecs, 0, CHEAP_PARTS, job); }    \
  static void tile_columns_##rows##_##vecs(const tile_job *job) { tile(rows, vecs, 1, CHEAP_PARTS, job); }
#define KERNEL_PART(rows, vecs)                                                                            \
  static void tile_rows_part_##rows##_##vecs(const tile_job *job) { tile(rows, vecs, 0, 1, job); }         \
  static void tile_columns_part_##rows##_##vecs(const tile_job *job) { tile(rows, vecs, 1, 1, job); }
#if TILE_VECS == 3
#define EACH_VECS(M, rows) M(rows, 1) M(rows, 2) M(rows, 3)
#define LIST_VECS(kind, rows) {kind##_##rows##_1, kind##_##rows##_2, kind##_##rows##_3},
#else
#define EACH_VECS(M, rows) M(rows, 1) M(rows, 2)
#define LIST_VECS(kind, rows) {kind##_##rows##_1, kind##_##rows##_2},
#endif
#if TILE_ROWS == 8
#define EACH_TILE(E, x) E(x, 1) E(x, 2) E(x, 3) E(x, 4) E(x, 5) E(x, 6) E(x, 7) E(x, 8)
#elif TILE_ROWS == 6
#define EACH_TILE(E, x) E(x, 1) E(x, 2) E(x, 3) E(x, 4) E(x, 5) E(x, 6)
#else
#define EACH_TILE(E, x) E(x, 1) E(x, 2) E(x, 3) E(x, 4)
#endif
EACH_TILE(EACH_VECS, KERNEL)
#if CHEAP_PARTS
#define PARTS(kind) kind
#else
EACH_TILE(EACH_VECS, KERNEL_PART)
#define PARTS(kind) kind##_part
#endif
/* [by columns][a part in the last vector of B][rows - 1][vectors - 1] */
static tile_kernel *const tile_kernels[2][2][TILE_ROWS][TILE_VECS] = {
#if CHEAP_PARTS
    {{EACH_TILE(LIST_VECS, tile_rows)}, {EACH_TILE(LIST_VECS, tile_rows)}},
    {{EACH_TILE(LIST_VECS, tile_columns)}, {EACH_TILE(LIST_VECS, tile_columns)}},
#else
    {{EACH_TILE(LIST_VECS, tile_rows)}, {EACH_TILE(LIST_VECS, tile_rows_part)}},
    {{EACH_TILE(LIST_VECS, tile_columns)}, {EACH_TILE(LIST_VECS, tile_columns_part)}},
#endif
};
#undef PARTS
