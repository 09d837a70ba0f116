/* fold.h: reductions by the tree of the numeric contract (docs/numerics.md), for generated kernels.

   The elements of a block go to TJ_FOLD_BYTES / sizeof(T) lanes in turn; the lanes are folded by halves, the blocks in pairs.
   Law: the order of combination depends on the number of elements and on nothing else.
   TJ_FOLD_TREE and TJ_FOLD_ROWS define what one operation on one type needs: generated code asks for what it uses.
   Include after lanes.h. Integer sums wrap: compile with -fwrapv where the compiler needs to be told. */
#ifndef TJ_FOLD_H
#define TJ_FOLD_H

#define TJ_FOLD_LEVELS 32   /* 2^32 blocks are more than any array has */
#define TJ_FOLD_ROW_LEVELS 24 /* of whole rows: they lie on the stack */
#define TJ_FOLD_GROUPS 8    /* where lanes run across columns, one lane in so many is folded at a time */
#define TJ_FOLD_COLUMNS(T) (16384 / (int64_t)sizeof(T)) /* columns side by side: rows are read in long pieces, and a group's lanes fit the second cache */

/* How two partial results become one, the one of lower index on the left; V names the type in the functions of lanes.h. */
#define TJ_COMBINE_add(V, a, b) ((a) + (b))
#define TJ_COMBINE_mul(V, a, b) ((a) * (b))
#define TJ_COMBINE_max(V, a, b) tj_max_##V(a, b)
#define TJ_COMBINE_min(V, a, b) tj_min_##V(a, b)
/* The same while no NaN has come: of equal ones the left, so the bits are those of max and min. */
#define TJ_COMBINE_most(V, a, b) tj_most_##V(b, a)
#define TJ_COMBINE_least(V, a, b) tj_least_##V(b, a)

/* Blocks folded so far: each level holds a complete subtree, larger ones first. */
#define TJ_FOLD_TREE(OP, V, T)                                                                         \
  typedef struct tj_tree_##OP##_##V {                                                                  \
    int64_t count;                                                                                     \
    int top;                                                                                           \
    T level[TJ_FOLD_LEVELS];                                                                           \
  } tj_tree_##OP##_##V;                                                                                \
  static inline void tj_push_##OP##_##V(tj_tree_##OP##_##V *tree, T block) {                           \
    for (int64_t c = tree->count++; c & 1; c >>= 1) block = (T)TJ_COMBINE_##OP(V, tree->level[--tree->top], block); \
    tree->level[tree->top++] = block;                                                                  \
  }                                                                                                    \
  static inline T tj_finish_##OP##_##V(tj_tree_##OP##_##V *tree) {                                     \
    T rest = tree->level[--tree->top];                                                                 \
    while (tree->top) rest = (T)TJ_COMBINE_##OP(V, tree->level[--tree->top], rest);                    \
    return rest;                                                                                       \
  }                                                                                                    \
  static inline T tj_halve_##OP##_##V(T *lane, int count) { /* count: a power of two */                \
    for (int half = count / 2; half; half /= 2)                                                        \
      for (int i = 0; i < half; i++) lane[i] = (T)TJ_COMBINE_##OP(V, lane[i], lane[i + half]);         \
    return lane[0];                                                                                    \
  }

/* The same for `width` columns side by side, V at a time; V1 is one element of it. */
#define TJ_COLUMNS(OP, V, V1, T, W, to, a, b)                                                          \
  do {                                                                                                 \
    int64_t t = 0;                                                                                     \
    for (; t + W <= width; t += W) tj_store_##V(to + t, TJ_COMBINE_##OP(V, tj_load_##V(a + t), tj_load_##V(b + t))); \
    for (; t < width; t++) to[t] = (T)TJ_COMBINE_##OP(V1, a[t], b[t]);                                 \
  } while (0)
#define TJ_FOLD_ROWS(OP, V, V1, T, W)                                                                  \
  typedef struct tj_rows_##OP##_##V {                                                                  \
    int64_t count;                                                                                     \
    int top;                                                                                           \
    T level[TJ_FOLD_ROW_LEVELS][TJ_FOLD_COLUMNS(T)];                                                         \
  } tj_rows_##OP##_##V;                                                                                \
  static inline void tj_push_rows_##OP##_##V(tj_rows_##OP##_##V *tree, T *block, int64_t width) {      \
    for (int64_t c = tree->count++; c & 1; c >>= 1) {                                                  \
      const T *before = tree->level[--tree->top];                                                      \
      TJ_COLUMNS(OP, V, V1, T, W, block, before, block);                                               \
    }                                                                                                  \
    for (int64_t t = 0; t < width; t++) tree->level[tree->top][t] = block[t];                          \
    tree->top++;                                                                                       \
  }                                                                                                    \
  static inline void tj_finish_rows_##OP##_##V(tj_rows_##OP##_##V *tree, T *out, int64_t width) {      \
    tree->top--;                                                                                       \
    for (int64_t t = 0; t < width; t++) out[t] = tree->level[tree->top][t];                            \
    while (tree->top) {                                                                                \
      const T *before = tree->level[--tree->top];                                                      \
      TJ_COLUMNS(OP, V, V1, T, W, out, before, out);                                                   \
    }                                                                                                  \
  }                                                                                                    \
  /* Of `lanes` rows the first `filled` hold something; afterwards row 0 holds their fold. */          \
  static inline void tj_halve_rows_##OP##_##V(T (*lane)[TJ_FOLD_COLUMNS(T)], int64_t lanes, int64_t filled, int64_t width) { \
    for (int64_t half = lanes / 2; half; half /= 2)                                                    \
      for (int64_t i = 0; i < half && i + half < filled; i++) {                                        \
        T *to = lane[i];                                                                               \
        const T *other = lane[i + half];                                                               \
        TJ_COLUMNS(OP, V, V1, T, W, to, to, other);                                                    \
      }                                                                                                \
  }

#if TJ_VECTOR_BYTES
/* One vector folded by halves. */
#define TJ_HALVE_VECTOR(OP, NAME, W, H)                                                                \
  TJ_INLINE NAME##x1 tj_halve_##OP##_##NAME##x##W(NAME##x##W v) {                                      \
    union { NAME##x##W all; NAME##x##H half[2]; } u;                                                   \
    u.all = v;                                                                                         \
    return tj_halve_##OP##_##NAME##x##H(TJ_COMBINE_##OP(NAME##x##H, u.half[0], u.half[1]));            \
  }
#define TJ_HALVE_VECTORS(OP, NAME)                                                                     \
  TJ_INLINE NAME##x1 tj_halve_##OP##_##NAME##x2(NAME##x2 v) { return TJ_COMBINE_##OP(NAME##x1, v[0], v[1]); } \
  TJ_HALVE_VECTOR(OP, NAME, 4, 2)                                                                      \
  TJ_HALVE_VECTOR(OP, NAME, 8, 4)                                                                      \
  TJ_HALVE_VECTOR(OP, NAME, 16, 8)
TJ_HALVE_VECTORS(add, f32)
TJ_HALVE_VECTORS(add, f64)
TJ_HALVE_VECTORS(add, i32)
TJ_HALVE_VECTORS(add, i64)
TJ_HALVE_VECTORS(mul, f32)
TJ_HALVE_VECTORS(mul, f64)
TJ_HALVE_VECTORS(mul, i32)
TJ_HALVE_VECTORS(mul, i64)

/* The same where the combination is no operator. Floats, and no NaN among them: by the smallest registers, which every target has. */
#define TJ_HALVE_EXTREME(OP, NAME, W, Q, LAST)                                                         \
  TJ_INLINE NAME##x1 tj_halve_##OP##_##NAME##x##W(NAME##x##W v) {                                      \
    union { NAME##x##W all; NAME##x##Q part[W / Q]; } u;                                               \
    u.all = v;                                                                                         \
    for (int half = W / Q / 2; half; half /= 2)                                                        \
      for (int i = 0; i < half; i++) u.part[i] = tj_hw_##OP##_##NAME##x##Q(u.part[i + half], u.part[i]); \
    return LAST(OP, NAME##x1, u.part[0]);                                                              \
  }
#define TJ_LAST_2(OP, V, v) TJ_COMBINE_##OP(V, v[0], v[1])
#define TJ_LAST_4(OP, V, v) TJ_COMBINE_##OP(V, TJ_COMBINE_##OP(V, v[0], v[2]), TJ_COMBINE_##OP(V, v[1], v[3]))
#define TJ_HALVE_EXTREMES(OP)                                                                          \
  TJ_HALVE_EXTREME(OP, f32, 8, 4, TJ_LAST_4)                                                           \
  TJ_HALVE_EXTREME(OP, f32, 16, 4, TJ_LAST_4)                                                          \
  TJ_HALVE_EXTREME(OP, f64, 8, 2, TJ_LAST_2)
TJ_HALVE_EXTREMES(most)
TJ_HALVE_EXTREMES(least)

/* Integers one by one. */
#define TJ_HALVE_ONES(OP, NAME, W)                                                                     \
  TJ_INLINE NAME##x1 tj_halve_##OP##_##NAME##x##W(NAME##x##W v) {                                      \
    NAME##x1 lane[W];                                                                                  \
    *(NAME##x##W##_any *)lane = v;                                                                     \
    for (int half = W / 2; half; half /= 2)                                                            \
      for (int i = 0; i < half; i++) lane[i] = TJ_COMBINE_##OP(NAME##x1, lane[i], lane[i + half]);     \
    return lane[0];                                                                                    \
  }
#define TJ_HALVE_ONES_ALL(OP)                                                                          \
  TJ_HALVE_ONES(OP, i32, 8)                                                                            \
  TJ_HALVE_ONES(OP, i32, 16)                                                                           \
  TJ_HALVE_ONES(OP, i64, 8)
TJ_HALVE_ONES_ALL(max)
TJ_HALVE_ONES_ALL(min)

/* Elements that lie `stride` apart, as a vector. */
#define TJ_STRIDED(NAME, W)                                                                            \
  TJ_INLINE NAME##x##W tj_gather_##NAME##x##W(const NAME##x1 *p, int64_t stride) {                     \
    NAME##x##W v;                                                                                      \
    for (int i = 0; i < W; i++) v[i] = p[i * stride];                                                  \
    return v;                                                                                          \
  }                                                                                                    \
  TJ_INLINE void tj_scatter_##NAME##x##W(NAME##x1 *p, int64_t stride, NAME##x##W v) {                  \
    for (int i = 0; i < W; i++) p[i * stride] = v[i];                                                  \
  }
TJ_STRIDED(f32, 8)
TJ_STRIDED(f32, 16)
TJ_STRIDED(f64, 8)
TJ_STRIDED(i32, 8)
TJ_STRIDED(i32, 16)
TJ_STRIDED(i64, 8)
TJ_STRIDED(u8, 8)
TJ_STRIDED(u8, 16)
#endif
#endif
