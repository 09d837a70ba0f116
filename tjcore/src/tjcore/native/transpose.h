/* transpose.h: a rectangle of memory copied with its rows and columns exchanged, for tiled kernels.

   In: `rows` rows of `columns` elements, `from_row` elements apart. Out: to[column * to_row + row] is the element of that row and column.
   Squares that are as wide as a register are turned in registers, row pairs exchanging ever larger parts; what is left over, and everything where
   there are no vector types, goes element by element. Include after lanes.h, and narrow.h where it is needed. */
#ifndef TJ_TRANSPOSE_H
#define TJ_TRANSPOSE_H

#if TJ_VECTOR_BYTES
#if defined __clang__ || __GNUC__ >= 12
#define TJ_MIX(M, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define TJ_MIX(M, a, b, ...) __builtin_shuffle(a, b, (M){__VA_ARGS__})
#endif
/* Of rows a and b, which lie D apart: every other D elements of a, each followed by those of b; the others likewise. */
#define TJ_FIRST_2_1 0, 2
#define TJ_OTHER_2_1 1, 3
#define TJ_FIRST_4_1 0, 4, 2, 6
#define TJ_OTHER_4_1 1, 5, 3, 7
#define TJ_FIRST_4_2 0, 1, 4, 5
#define TJ_OTHER_4_2 2, 3, 6, 7
#define TJ_FIRST_8_1 0, 8, 2, 10, 4, 12, 6, 14
#define TJ_OTHER_8_1 1, 9, 3, 11, 5, 13, 7, 15
#define TJ_FIRST_8_2 0, 1, 8, 9, 4, 5, 12, 13
#define TJ_OTHER_8_2 2, 3, 10, 11, 6, 7, 14, 15
#define TJ_FIRST_8_4 0, 1, 2, 3, 8, 9, 10, 11
#define TJ_OTHER_8_4 4, 5, 6, 7, 12, 13, 14, 15
#define TJ_FIRST_16_1 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30
#define TJ_OTHER_16_1 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31
#define TJ_FIRST_16_2 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29
#define TJ_OTHER_16_2 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31
#define TJ_FIRST_16_4 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27
#define TJ_OTHER_16_4 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31
#define TJ_FIRST_16_8 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23
#define TJ_OTHER_16_8 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31
#define TJ_EXCHANGE(V, M, W, D)                                                                        \
  TJ_UNROLL for (int k = 0; k < W; k++)                                                                \
    if (!(k & D)) {                                                                                    \
      V a = row[k], b = row[k + D];                                                                    \
      row[k] = TJ_MIX(M, a, b, TJ_FIRST_##W##_##D);                                                    \
      row[k + D] = TJ_MIX(M, a, b, TJ_OTHER_##W##_##D);                                                \
    }
#define TJ_EXCHANGE_2(V, M) TJ_EXCHANGE(V, M, 2, 1)
#define TJ_EXCHANGE_4(V, M) TJ_EXCHANGE(V, M, 4, 1) TJ_EXCHANGE(V, M, 4, 2)
#define TJ_EXCHANGE_8(V, M) TJ_EXCHANGE(V, M, 8, 1) TJ_EXCHANGE(V, M, 8, 2) TJ_EXCHANGE(V, M, 8, 4)
#define TJ_EXCHANGE_16(V, M) TJ_EXCHANGE(V, M, 16, 1) TJ_EXCHANGE(V, M, 16, 2) TJ_EXCHANGE(V, M, 16, 4) TJ_EXCHANGE(V, M, 16, 8)
#define TJ_SQUARE_(NAME, MASK, W)                                                                      \
  TJ_INLINE void tj_square_##NAME(const NAME##x1 *from, int64_t from_row, NAME##x1 *to, int64_t to_row) { \
    NAME##x##W row[W];                                                                                 \
    TJ_UNROLL for (int k = 0; k < W; k++) row[k] = *(const NAME##x##W##_any *)(from + k * from_row);   \
    TJ_EXCHANGE_##W(NAME##x##W, MASK##x##W)                                                            \
    TJ_UNROLL for (int k = 0; k < W; k++) *(NAME##x##W##_any *)(to + k * to_row) = row[k];             \
  }
#define TJ_SQUARE(NAME, MASK, W) TJ_SQUARE_(NAME, MASK, W)
#if TJ_VECTOR_BYTES == 64
#define TJ_SIDE4 16
#define TJ_SIDE8 8
#elif TJ_VECTOR_BYTES == 32
#define TJ_SIDE4 8
#define TJ_SIDE8 4
#else
#define TJ_SIDE4 4
#define TJ_SIDE8 2
#endif
TJ_SQUARE(f32, i32, TJ_SIDE4)
TJ_SQUARE(i32, i32, TJ_SIDE4)
TJ_SQUARE(f64, i64, TJ_SIDE8)
TJ_SQUARE(i64, i64, TJ_SIDE8)
#else
#define TJ_SIDE4 1
#define TJ_SIDE8 1
#define tj_square_f32(from, from_row, to, to_row) (*(to) = *(from))
#define tj_square_i32 tj_square_f32
#define tj_square_f64 tj_square_f32
#define tj_square_i64 tj_square_f32
#endif
#define tj_square_u8(from, from_row, to, to_row) (*(to) = *(from))
#define tj_square_u16 tj_square_u8

#define TJ_TRANSPOSE(NAME, SIDE)                                                                       \
  static inline void tj_transpose_##NAME(const NAME##x1 *from, int64_t from_row, int64_t rows, int64_t columns, NAME##x1 *to, int64_t to_row) { \
    int64_t row = 0;                                                                                   \
    for (; row + SIDE <= rows; row += SIDE) {                                                          \
      int64_t column = 0;                                                                              \
      for (; column + SIDE <= columns; column += SIDE)                                                 \
        tj_square_##NAME(from + row * from_row + column, from_row, to + column * to_row + row, to_row); \
      for (; column < columns; column++)                                                               \
        for (int64_t k = row; k < row + SIDE; k++) to[column * to_row + k] = from[k * from_row + column]; \
    }                                                                                                  \
    for (; row < rows; row++)                                                                          \
      for (int64_t column = 0; column < columns; column++) to[column * to_row + row] = from[row * from_row + column]; \
  }
TJ_TRANSPOSE(f32, TJ_SIDE4)
TJ_TRANSPOSE(i32, TJ_SIDE4)
TJ_TRANSPOSE(f64, TJ_SIDE8)
TJ_TRANSPOSE(i64, TJ_SIDE8)
TJ_TRANSPOSE(u8, 1)
#ifdef TJ_NARROW_H
TJ_TRANSPOSE(u16, 1)
#endif
#endif
