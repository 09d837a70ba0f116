/* contract_tiles.h: products tile by tile without shared packing. Included once per element type. */
enum { TILE_ROWS = 8, TILE_COLS = 16 };

static void tiles_item(const tj_contract *t, int64_t batch, int64_t i, int64_t rows, int64_t j, int64_t cols) {
  T filled_a[TILE_ROWS * TJ_CONTRACT_BLOCK], filled_b[TILE_COLS * TJ_CONTRACT_BLOCK], tile[TILE_ROWS * TILE_COLS];
  for (int64_t k = 0; k == 0 || k < t->k; k += TJ_CONTRACT_BLOCK) {
    int64_t depth = t->k - k < TJ_CONTRACT_BLOCK ? t->k - k : TJ_CONTRACT_BLOCK;
    int64_t a_row = t->a_row, a_col = t->a_col, b_row = t->b_row, b_col = t->b_col;
    const T *a = filled_a, *b = filled_b;
    if (t->pack_a) {
      a_row = t->pack_a_by_columns ? 1 : TJ_CONTRACT_BLOCK, a_col = t->pack_a_by_columns ? TILE_ROWS : 1;
      if (depth) t->pack_a(t->user, batch, i, rows, k, depth, filled_a, a_row > a_col ? a_row : a_col);
    } else {
      a = (const T *)t->a + batch * t->a_batch + i * a_row + k * a_col;
    }
    if (t->pack_b) {
      b_row = t->pack_b_by_columns ? 1 : TILE_COLS, b_col = t->pack_b_by_columns ? TJ_CONTRACT_BLOCK : 1;
      if (depth) t->pack_b(t->user, batch, k, depth, j, cols, filled_b, b_row > b_col ? b_row : b_col);
    } else {
      b = (const T *)t->b + batch * t->b_batch + k * b_row + j * b_col;
    }
    for (int64_t r = 0; r < rows; r++)
      for (int64_t c = 0; c < cols; c++) {
        T sum = 0;
        for (int64_t p = 0; p < depth; p++) sum = FMA(a[r * a_row + p * a_col], b[p * b_row + c * b_col], sum);
        T *to = tile + r * TILE_COLS + c;
        *to = k ? ADD(*to, sum) : sum;
      }
  }
  if (t->epilogue) {
    t->epilogue(t->user, batch, i, rows, j, cols, tile, TILE_COLS);
  } else {
    T *c = (T *)t->c + batch * t->c_batch + i * t->c_row + j;
    for (int64_t r = 0; r < rows; r++) memcpy(c + r * t->c_row, tile + r * TILE_COLS, (size_t)cols * sizeof(T));
  }
}

static void tiles(const tj_team *team, const tj_contract *t) {
  int64_t down = (t->m + TILE_ROWS - 1) / TILE_ROWS, across = (t->n + TILE_COLS - 1) / TILE_COLS;
  int64_t item, last;
  tj_share(team, t->batch * down * across, 1, &item, &last);
  for (; item < last; item++) {
    int64_t i = item / across % down * TILE_ROWS, j = item % across * TILE_COLS;
    tiles_item(t, item / across / down, i, t->m - i < TILE_ROWS ? t->m - i : TILE_ROWS, j,
               t->n - j < TILE_COLS ? t->n - j : TILE_COLS);
  }
}
