/* contract_blocks.h: the two blocked paths, TILES and PACKED. They are one loop over register tiles and differ in where
   B is read from: TILES reads it where it lies (or one panel at a time from a copy on the stack) and needs no scratch;
   PACKED copies a block of B, TJ_CONTRACT_BLOCK deep and as wide as half of the L2 cache holds, into the thread's scratch.

   Threads take whole parts of C, so nothing is shared and nobody waits. */
enum {
  TILES_ROWS = 32, /* up to so many rows, copying B costs more than it brings */
  STACK_TILE = 48 * 1024 / T_BYTES, /* elements of a finished block of C on the stack, for TILES with an epilogue */
  GROUP_ROWS = 64                   /* rows that use one block of B in TILES */
};
#define PACKED_COLS TJ_CONTRACT_COLS(T_BYTES)
#define PACKED_ROWS TJ_CONTRACT_ROWS

typedef struct blocks {
  int64_t rows, cols; /* the largest block of C worked at once */
  int in_place;       /* B is read where it lies */
  T *b, *tile;        /* a block of B; with an epilogue, a block of C */
} blocks;

/* Asks for the next share (one of `panels`) of the next tile of A, so that it is near when its turn comes. */
static int64_t fetch_a(const tj_contract *t, int64_t batch, int64_t i, int64_t k, int64_t depth, int64_t from, int64_t panels) {
  int64_t lines = (depth * T_BYTES + 63) / 64, to = from + (TILE_ROWS * lines + panels - 1) / panels;
  if (t->pack_a || t->a_col != 1) return 0;
  const T *a = (const T *)t->a + batch * t->a_batch + i * t->a_row + k;
  for (int64_t x = from; x < to; x++) v_prefetch(a + x / lines * t->a_row + x % lines * (64 / T_BYTES));
  return to;
}

static void one_block(const tj_contract *t, const blocks *how, int64_t batch, int64_t i0, int64_t rows, int64_t j0, int64_t cols) {
  T a_buffer[TILE_ROWS * A_ROW];
  int64_t vecs = (cols + W - 1) / W, tail = cols - (vecs - 1) * W;
  T *c = how->tile;
  int64_t c_row = up_to(cols, W);
  if (!t->epilogue) c = (T *)t->c + batch * t->c_batch + i0 * t->c_row + j0, c_row = t->c_row;
  for (int64_t k = 0; k == 0 || k < t->k; k += TJ_CONTRACT_BLOCK) {
    int64_t depth = least(t->k - k, TJ_CONTRACT_BLOCK);
    const T *b = how->b;
    if (how->in_place)
      b = (const T *)t->b + batch * t->b_batch + k * t->b_row + j0;
    else
      take_b(t, batch, k, depth, j0, cols, how->b);
    for (int64_t i = 0, high; i < rows; i += high) {
      high = piece(rows - i, TILE_ROWS);
      a_tile a = take_a(t, batch, i0 + i, high, k, depth, vecs > 2 * TILE_VECS, a_buffer);
      tile_job job = {depth, a.a, a.a_col, b, t->b_row, W, c + i * c_row, c_row, k > 0};
      if (t->epilogue && t->k <= TJ_CONTRACT_BLOCK) job.c = c; /* finished at once: stays in the nearest cache */
      T *finished = job.c;
      int64_t ahead = 0, panels = (vecs + TILE_VECS - 1) / TILE_VECS;
      for (int64_t left = vecs, width; left; left -= width, job.c += width * W) {
        width = piece(left, TILE_VECS);
        if (!how->in_place) job.b_row = width * W;
        if (left == width) job.tail = tail;
        if (i + high < rows) ahead = fetch_a(t, batch, i0 + i + high, k, depth, ahead, panels);
        tile_kernels[a.by_columns][how->in_place && job.tail != W][high - 1][width - 1](&job);
        job.b += how->in_place ? width * W : width * W * depth;
      }
      if (t->epilogue && k + TJ_CONTRACT_BLOCK >= t->k)
        t->epilogue(t->user, batch, i0 + i, high, j0, cols, finished, c_row);
    }
  }
}

/* Cuts C into down x across parts so that each of `parts` threads has one, at the least cost for the slowest. */
static void cut(const tj_contract *t, int64_t parts, int64_t *down, int64_t *across) {
  int64_t best = -1;
  for (int64_t d = 1; d <= parts; d++) {
    if (parts % d) continue;
    int64_t rows = up_to((t->m + d - 1) / d, TILE_ROWS), cols = up_to((t->n + parts / d - 1) / (parts / d), W);
    int64_t cost = rows * cols + 5 * cols + rows; /* sums, copies of B, copies of A, per k */
    if (best < 0 || cost < best) best = cost, *down = d, *across = parts / d;
  }
}

static void all_blocks(const tj_team *team, const tj_contract *t, const blocks *how) {
  int64_t parts = team->size, down = 1, across = 1, item, last;
  for (int64_t x = t->batch, y; x; y = parts % x, parts = x, x = y) {} /* the greatest common divisor */
  parts = t->batch >= 4 * team->size ? 1 : team->size / parts;
  if (parts > 1) cut(t, parts, &down, &across);
  int64_t high = up_to((t->m + down - 1) / down, down > 1 ? TILE_ROWS : 1), wide = up_to((t->n + across - 1) / across, across > 1 ? W : 1);
  tj_share(team, t->batch * down * across, 1, &item, &last);
  for (; item < last; item++) {
    int64_t batch = item / (down * across);
    int64_t i0 = item / across % down * high, j0 = item % across * wide;
    int64_t i1 = least(i0 + high, t->m), j1 = least(j0 + wide, t->n);
    for (int64_t j = j0, cols; j < j1; j += cols) {
      cols = least(up_to(piece(j1 - j, how->cols), W), j1 - j);
      for (int64_t i = i0, rows; i < i1; i += rows) {
        rows = least(up_to(piece(i1 - i, how->rows), TILE_ROWS), i1 - i);
        one_block(t, how, batch, i, rows, j, cols);
      }
    }
  }
}

static void tiles(const tj_team *team, const tj_contract *t) {
  T b[TILE_COLS * TJ_CONTRACT_BLOCK], tile[STACK_TILE];
  blocks how = {up_to(least(t->m, GROUP_ROWS), TILE_ROWS), 0, !t->pack_b && (t->b_col == 1 || t->n == 1), b, tile};
  how.cols = how.in_place ? STACK_TILE / how.rows / TILE_COLS * TILE_COLS : TILE_COLS;
  all_blocks(team, t, &how);
}

static void packed(const tj_team *team, const tj_contract *t) {
  int64_t cols = least(up_to(t->n, 64 / T_BYTES), PACKED_COLS), rows = least(t->m, PACKED_ROWS);
  int64_t b_bytes = up_to(least(t->k, TJ_CONTRACT_BLOCK) * cols * T_BYTES, 64), c_bytes = t->epilogue ? up_to(rows * cols * T_BYTES, 64) : 0;
  char *scratch = (char *)t->scratch + team->index * (b_bytes + c_bytes);
  blocks how = {t->epilogue && t->k > TJ_CONTRACT_BLOCK ? PACKED_ROWS : t->m, cols, 0, (T *)scratch, (T *)(scratch + b_bytes)};
  all_blocks(team, t, &how);
}
