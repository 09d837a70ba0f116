/* contract_copy.h: brings blocks of A and B, strided or produced by a callback, into the layout that tile kernels read. */

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t up_to(int64_t a, int64_t unit) { return (a + unit - 1) / unit * unit; }
/* The next of the fewest nearly equal pieces, none above `most`, into which `left` falls. */
static inline int64_t piece(int64_t left, int64_t most) {
  if (left <= most) return left;
  int64_t pieces = (left + most - 1) / most;
  return (left + pieces - 1) / pieces;
}

/* to[p * to_row + j] = from[p * row + j * col] for p < depth, j < cols; columns up to the next multiple of W become 0. */
static void copy_rows(T *to, int64_t to_row, const T *from, int64_t row, int64_t col, int64_t depth, int64_t cols) {
  int64_t whole = cols / W * W, tail = cols - whole;
  if (col == 1) {
    for (int64_t p = 0; p < depth; p++, from += row, to += to_row) {
      for (int64_t j = 0; j < whole; j += W) v_store(to + j, v_load(from + j));
      if (tail) v_store(to + whole, v_load_part(from + whole, tail));
    }
  } else if (row == 1) { /* depth runs along memory: W x W blocks are transposed in registers */
    for (int64_t j = 0; j < cols; j += W) {
      int64_t lanes = least(W, cols - j), p = 0;
      V x[W];
      for (; p + W <= depth; p += W) {
        if (lanes == W) {
          TJ_UNROLL for (int64_t i = 0; i < W; i++) x[i] = v_load(from + (j + i) * col + p);
        } else {
          for (int64_t i = 0; i < W; i++) x[i] = i < lanes ? v_load(from + (j + i) * col + p) : v_all(0);
        }
        v_transpose(x);
        TJ_UNROLL for (int64_t i = 0; i < W; i++) v_store(to + (p + i) * to_row + j, x[i]);
      }
      if (p == depth) continue;
      for (int64_t i = 0; i < W; i++) x[i] = i < lanes ? v_load_part(from + (j + i) * col + p, depth - p) : v_all(0);
      v_transpose(x);
      for (int64_t i = 0; p + i < depth; i++) v_store(to + (p + i) * to_row + j, x[i]);
    }
  } else {
    for (int64_t p = 0; p < depth; p++)
      for (int64_t j = 0; j < up_to(cols, W); j++) to[p * to_row + j] = j < cols ? from[p * row + j * col] : 0;
  }
}

/* What a tile kernel needs to know of one tile of A. */
typedef struct a_tile {
  const T *a;
  int64_t a_col;
  int by_columns;
} a_tile;

/* Rows [i, i + rows) x [k, k + depth) of A; `buffer` has TILE_ROWS * TJ_CONTRACT_BLOCK elements. */
static a_tile take_a(const tj_contract *t, int64_t batch, int64_t i, int64_t rows, int64_t k, int64_t depth, int often, T *buffer) {
  a_tile by_rows = {buffer, 1, 0}, by_columns = {buffer, TILE_ROWS, 1};
  if (t->pack_a) {
    if (depth) t->pack_a(t->user, batch, i, rows, k, depth, buffer, t->pack_a_by_columns ? TILE_ROWS : A_ROW);
    return t->pack_a_by_columns ? by_columns : by_rows;
  }
  const T *a = (const T *)t->a + batch * t->a_batch + i * t->a_row + k * t->a_col;
  if (t->a_row != 1 || t->a_col == 1) {
    for (int64_t r = 0; r < rows; r++) {
      const T *from = a + r * t->a_row;
      T *to = buffer + r * A_ROW;
      if (t->a_col == 1) {
        int64_t p = 0;
        for (; p + W <= depth; p += W) v_store(to + p, v_load(from + p));
        if (p < depth) v_store(to + p, v_load_part(from + p, depth - p));
      } else {
        for (int64_t p = 0; p < depth; p++) to[p] = from[p * t->a_col];
      }
    }
    return by_rows;
  }
  if (!often) { /* columns of A lie along memory and can be read where they are */
    by_columns.a = a, by_columns.a_col = t->a_col;
    return by_columns;
  }
  for (int64_t p = 0; p < depth; p++) {
    if (rows == TILE_ROWS)
      memcpy(buffer + p * TILE_ROWS, a + p * t->a_col, TILE_ROWS * sizeof(T));
    else
      for (int64_t r = 0; r < rows; r++) buffer[p * TILE_ROWS + r] = a[p * t->a_col + r];
  }
  return by_columns;
}

/* Rows [k, k + depth) x columns [j, j + cols) of B as panels, one after another; the columns fall into panels as
   piece(..., TILE_VECS) tells, each depth x (its vectors * W). */
static void take_b(const tj_contract *t, int64_t batch, int64_t k, int64_t depth, int64_t j, int64_t cols, T *to) {
  int64_t vecs = (cols + W - 1) / W;
  if (!t->pack_b && t->b_col == 1) { /* whole rows in order, as memory likes it */
    const T *b = (const T *)t->b + batch * t->b_batch + k * t->b_row + j;
    for (int64_t p = 0; p < depth; p++, b += t->b_row) {
      const T *from = b;
      T *panel = to;
      for (int64_t left = vecs, width; left; left -= width, panel += depth * width * W, from += width * W) {
        width = piece(left, TILE_VECS);
        T *row = panel + p * width * W;
        for (int64_t v = 0; v + 1 < width; v++) v_store(row + v * W, v_load(from + v * W));
        int64_t tail = left == width ? cols - (vecs - 1) * W : W;
        V last = tail == W ? v_load(from + (width - 1) * W) : v_load_part(from + (width - 1) * W, tail);
        v_store(row + (width - 1) * W, last);
      }
    }
    return;
  }
  for (int64_t left = vecs, width; left; left -= width, j += width * W, cols -= width * W, to += depth * width * W) {
    width = piece(left, TILE_VECS);
    int64_t count = least(cols, width * W), row = width * W;
    if (!t->pack_b) {
      copy_rows(to, row, (const T *)t->b + batch * t->b_batch + k * t->b_row + j * t->b_col, t->b_row, t->b_col, depth, count);
    } else if (!t->pack_b_by_columns) {
      if (depth) t->pack_b(t->user, batch, k, depth, j, count, to, row);
      for (int64_t p = 0; p < depth; p++)
        for (int64_t x = count; x < row; x++) to[p * row + x] = 0;
    } else {
      T chunk[TILE_COLS * 32];
      for (int64_t p = 0; p < depth; p += 32) {
        int64_t some = least(32, depth - p);
        t->pack_b(t->user, batch, k + p, some, j, count, chunk, 32);
        copy_rows(to + p * row, row, chunk, 1, 32, some, count);
      }
    }
  }
}
