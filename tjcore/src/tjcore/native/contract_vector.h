/* contract_vector.h: a matrix times a vector (m = 1 or n = 1), bound by how fast the matrix streams in.

   Both are y[o] = sum over k of x[k] * M[k][o], with M one of A and B. Lanes are always independent chains: outputs side
   by side where outputs lie side by side in memory; else W outputs at once, W x W blocks of M transposed in registers;
   and for fewer outputs than lanes, the blocks of k of one output, which are chains of their own. */
enum { STRIP = 16384 / T_BYTES, ROWS_AT_ONCE = 8 }; /* long streams keep the memory busy; the sums of a strip stay in the nearest cache */
enum { MADE = 2048 / T_BYTES }; /* columns of M that a callback makes at once, of as many rows */

typedef struct vector_job {
  const tj_contract *t;
  int64_t batch, k, x_step, m_out, m_k; /* strides of x and of M */
  const T *x, *m;
  int x_is_a;
} vector_job;

/* x[k .. k + depth), side by side: where it lies, or in `buffer`. */
static const T *take_x(const vector_job *v, int64_t k, int64_t depth, T *buffer) {
  const tj_contract *t = v->t;
  if (v->x_is_a && t->pack_a) {
    t->pack_a(t->user, v->batch, 0, 1, k, depth, buffer, t->pack_a_by_columns ? 1 : depth);
  } else if (!v->x_is_a && t->pack_b) {
    t->pack_b(t->user, v->batch, k, depth, 0, 1, buffer, t->pack_b_by_columns ? depth : 1);
  } else {
    const T *x = v->x + k * v->x_step;
    if (v->x_step == 1) return x;
    for (int64_t p = 0; p < depth; p++) buffer[p] = x[p * v->x_step];
  }
  return buffer;
}

static void give_y(const vector_job *v, int64_t o, int64_t count, T *y) {
  const tj_contract *t = v->t;
  if (t->epilogue) {
    if (v->x_is_a)
      t->epilogue(t->user, v->batch, 0, 1, o, count, y, count);
    else
      t->epilogue(t->user, v->batch, o, count, 0, 1, y, 1);
  } else {
    int64_t step = v->x_is_a ? 1 : t->c_row;
    T *c = (T *)t->c + v->batch * t->c_batch + o * step;
    if (step == 1)
      memcpy(c, y, (size_t)count * sizeof(T));
    else
      for (int64_t i = 0; i < count; i++) c[i * step] = y[i];
  }
}

/* sum[j] = the chain continued over `rows` rows of M, for `count` outputs side by side. */
TJ_INLINE void add_rows(const int rows, T *sum, const T *x, const T *m, int64_t m_k, int64_t count) {
  V left[ROWS_AT_ONCE];
  TJ_UNROLL for (int r = 0; r < rows; r++) left[r] = v_all(x[r]);
  int64_t j = 0;
  for (; j + W <= count; j += W) {
    V s = v_load(sum + j);
    TJ_UNROLL for (int r = 0; r < rows; r++) s = v_fma(left[r], v_load(m + r * m_k + j), s);
    v_store(sum + j, s);
  }
  if (j == count) return;
  V s = v_load_part(sum + j, count - j);
  TJ_UNROLL for (int r = 0; r < rows; r++) s = v_fma(left[r], v_load_part(m + r * m_k + j, count - j), s);
  v_store_part(sum + j, s, count - j);
}

static void outputs_along_memory(const vector_job *v, int64_t first, int64_t last) {
  T x_buffer[TJ_CONTRACT_BLOCK], total[STRIP], sum[STRIP], made[ROWS_AT_ONCE * MADE];
  const tj_contract *t = v->t;
  const int makes = v->x_is_a && t->pack_b;
  for (int64_t o = first, count; o < last; o += count) {
    count = least(last - o, makes ? MADE : STRIP);
    memset(total, 0, (size_t)count * sizeof(T));
    for (int64_t k = 0; k < v->k; k += TJ_CONTRACT_BLOCK) {
      int64_t depth = least(v->k - k, TJ_CONTRACT_BLOCK), p = 0;
      T *to = k ? sum : total;
      const T *x = take_x(v, k, depth, x_buffer), *m = makes ? made : v->m + k * v->m_k + o;
      if (k) memset(sum, 0, (size_t)count * sizeof(T));
      for (; makes && p < depth; p += ROWS_AT_ONCE) {
        int64_t rows = least(depth - p, ROWS_AT_ONCE), r = 0;
        t->pack_b(t->user, v->batch, k + p, rows, o, count, made, MADE);
        if (rows == ROWS_AT_ONCE) add_rows(ROWS_AT_ONCE, to, x + p, made, MADE, count), r = rows;
        for (; r < rows; r++) add_rows(1, to, x + p + r, made + r * MADE, MADE, count);
      }
      for (; p + ROWS_AT_ONCE <= depth; p += ROWS_AT_ONCE) add_rows(ROWS_AT_ONCE, to, x + p, m + p * v->m_k, v->m_k, count);
      for (; p < depth; p++) add_rows(1, to, x + p, m + p * v->m_k, v->m_k, count);
      if (k)
        for (int64_t j = 0; j < count; j++) total[j] += sum[j];
    }
    give_y(v, o, count, total);
  }
}

/* Chains over M's rows, which lie along memory: lane l has rows[l], all with the same x. */
TJ_INLINE V chains(const T *const *rows, const T *x, int64_t depth) {
  V sum = v_all(0), block[W];
  int64_t p = 0;
  for (; p + W <= depth; p += W) {
    TJ_UNROLL for (int l = 0; l < W; l++) block[l] = v_load(rows[l] + p);
    v_transpose(block);
    TJ_UNROLL for (int l = 0; l < W; l++) sum = v_fma(v_all(x[p + l]), block[l], sum);
  }
  if (p == depth) return sum;
  TJ_UNROLL for (int l = 0; l < W; l++) block[l] = v_load_part(rows[l] + p, depth - p);
  v_transpose(block);
  for (int64_t l = 0; p + l < depth; l++) sum = v_fma(v_all(x[p + l]), block[l], sum);
  return sum;
}

/* Lane l has whole block l of k, of M's row and of x. */
TJ_INLINE V block_chains(const T *m, const T *x) {
  V sum = v_all(0), left[W], right[W];
  for (int64_t p = 0; p < TJ_CONTRACT_BLOCK; p += W) {
    TJ_UNROLL for (int l = 0; l < W; l++) left[l] = v_load(x + l * TJ_CONTRACT_BLOCK + p), right[l] = v_load(m + l * TJ_CONTRACT_BLOCK + p);
    v_transpose(left), v_transpose(right);
    TJ_UNROLL for (int l = 0; l < W; l++) sum = v_fma(left[l], right[l], sum);
  }
  return sum;
}

static void blocks_side_by_side(const vector_job *v, int64_t first, int64_t last) {
  T x_buffer[W * TJ_CONTRACT_BLOCK], total[W], lanes[W];
  const T *m = v->m + first * v->m_out;
  memset(total, 0, sizeof total);
  for (int64_t k = 0; k < v->k;) {
    int64_t depth = least(v->k - k, W * TJ_CONTRACT_BLOCK);
    if (depth < W * TJ_CONTRACT_BLOCK) depth = least(depth, TJ_CONTRACT_BLOCK);
    const T *x = x_buffer;
    if (v->x_step == 1 && !(v->x_is_a ? v->t->pack_a : v->t->pack_b))
      x = v->x + k;
    else
      for (int64_t p = 0; p < depth; p += TJ_CONTRACT_BLOCK) {
        int64_t some = least(depth - p, TJ_CONTRACT_BLOCK);
        const T *part = take_x(v, k + p, some, x_buffer + p);
        if (part != x_buffer + p) memcpy(x_buffer + p, part, (size_t)some * sizeof(T));
      }
    for (int64_t o = 0; o < last - first; o++) {
      const T *row = m + o * v->m_out + k;
      if (depth == W * TJ_CONTRACT_BLOCK) {
        v_store(lanes, block_chains(row, x));
        for (int64_t l = 0; l < W; l++) total[o] = k == 0 && l == 0 ? lanes[0] : total[o] + lanes[l];
      } else {
        T sum = 0;
        for (int64_t p = 0; p < depth; p++) sum = scalar_fma(x[p], row[p], sum);
        total[o] = k ? total[o] + sum : sum;
      }
    }
    k += depth;
  }
  give_y(v, first, last - first, total);
}

static void k_along_memory(const vector_job *v, int64_t first, int64_t last) {
  for (int64_t o = first, count; o < last; o += count) {
    T x_buffer[TJ_CONTRACT_BLOCK], y[W];
    const T *rows[W];
    count = least(last - o, W);
    if (2 * count <= W) {
      blocks_side_by_side(v, o, o + count);
      continue;
    }
    V total = v_all(0);
    for (int64_t k = 0; k < v->k; k += TJ_CONTRACT_BLOCK) {
      int64_t depth = least(v->k - k, TJ_CONTRACT_BLOCK);
      const T *x = take_x(v, k, depth, x_buffer);
      for (int64_t l = 0; l < W; l++) rows[l] = v->m + (o + least(l, count - 1)) * v->m_out + k;
      V sum = chains(rows, x, depth);
      total = k ? total + sum : sum;
    }
    v_store(y, total);
    give_y(v, o, count, y);
  }
}

/* Whether a row times the matrix B can be worked here: B lies along memory one way or the other, or is made by rows. */
static int vector_left(const tj_contract *t) {
  return t->m == 1 && (t->pack_b ? !t->pack_b_by_columns : t->b_col == 1 || t->b_row == 1);
}

static int vector_can(const tj_contract *t) {
  if (vector_left(t)) return 1;
  return t->n == 1 && !t->pack_a && (t->a_col == 1 || t->a_row == 1);
}

static void vector(const tj_team *team, const tj_contract *t) {
  int x_is_a = vector_left(t);
  int64_t outputs = x_is_a ? t->n : t->m, grain = 64 / T_BYTES, item, last;
  int64_t pieces = t->batch >= team->size ? 1 : least(team->size, (outputs + grain - 1) / grain);
  int64_t wide = up_to((outputs + pieces - 1) / (pieces ? pieces : 1), grain);
  tj_share(team, t->batch * pieces, 1, &item, &last);
  for (; item < last; item++) {
    vector_job v = {t, item / pieces, t->k, 0, 0, 0, 0, 0, x_is_a};
    v.x_step = x_is_a ? t->a_col : t->b_row;
    v.m_out = x_is_a ? t->b_col : t->a_row, v.m_k = x_is_a ? t->b_row : t->a_col;
    if (x_is_a ? !t->pack_a : !t->pack_b)
      v.x = x_is_a ? (const T *)t->a + v.batch * t->a_batch : (const T *)t->b + v.batch * t->b_batch;
    if (x_is_a ? !t->pack_b : !t->pack_a)
      v.m = x_is_a ? (const T *)t->b + v.batch * t->b_batch : (const T *)t->a + v.batch * t->a_batch;
    int64_t from = item % pieces * wide, to = least(from + wide, outputs);
    if (from >= to) continue;
    if (v.m_out == 1 || (x_is_a && t->pack_b))
      outputs_along_memory(&v, from, to);
    else
      k_along_memory(&v, from, to);
  }
}
