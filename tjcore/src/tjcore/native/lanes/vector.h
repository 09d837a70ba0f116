/* lanes/vector.h: the layer for TJ_LANES > 1 lanes; included by lanes.h once per width.

   Vectors wider than the registers are cut into parts of TJ_VECTOR_BYTES where the compiler would do badly on its own (gcc
   makes branches of a wide comparison); the other operators both compilers split well. */

#ifndef TJ_VECTOR_MACROS
#define TJ_VECTOR_MACROS
#ifdef __clang__
#define TJ_UNROLL
#else
#define TJ_UNROLL _Pragma("GCC unroll 16")
#endif
/* FUNCTION over V as HW over its parts, for 1, 2 and 3 operands; A is the type of the operands, V of the result. */
#define TJ_PARTS(V, PART) union { V v; PART part[sizeof(V) / sizeof(PART)]; }
#define TJ_OVER1(FUNCTION, HW, V, PART)                                                                \
  TJ_INLINE V FUNCTION(V a) {                                                                          \
    TJ_PARTS(V, PART) x, r;                                                                            \
    x.v = a;                                                                                           \
    TJ_UNROLL for (unsigned i = 0; i < sizeof(V) / sizeof(PART); i++) r.part[i] = HW(x.part[i]);       \
    return r.v;                                                                                        \
  }
#define TJ_OVER2(FUNCTION, HW, V, PART)                                                                \
  TJ_INLINE V FUNCTION(V a, V b) {                                                                     \
    TJ_PARTS(V, PART) x, y, r;                                                                         \
    x.v = a; y.v = b;                                                                                  \
    TJ_UNROLL for (unsigned i = 0; i < sizeof(V) / sizeof(PART); i++) r.part[i] = HW(x.part[i], y.part[i]); \
    return r.v;                                                                                        \
  }
#define TJ_OVER3(FUNCTION, HW, V, PART)                                                                \
  TJ_INLINE V FUNCTION(V a, V b, V c) {                                                                \
    TJ_PARTS(V, PART) x, y, z, r;                                                                      \
    x.v = a; y.v = b; z.v = c;                                                                         \
    TJ_UNROLL for (unsigned i = 0; i < sizeof(V) / sizeof(PART); i++) r.part[i] = HW(x.part[i], y.part[i], z.part[i]); \
    return r.v;                                                                                        \
  }
#define TJ_COMPARE(FUNCTION, OPERATOR, V, PART, MASK, MASK_PART)                                       \
  TJ_INLINE MASK FUNCTION(V a, V b) {                                                                  \
    TJ_PARTS(V, PART) x, y;                                                                            \
    TJ_PARTS(MASK, MASK_PART) r;                                                                       \
    x.v = a; y.v = b;                                                                                  \
    TJ_UNROLL for (unsigned i = 0; i < sizeof(V) / sizeof(PART); i++) r.part[i] = x.part[i] OPERATOR y.part[i]; \
    return r.v;                                                                                        \
  }
#define TJ_BASICS(NAME, V, PART, T, MASK, MASK_PART)                                                   \
  TJ_INLINE V TJ_FN(tj_load_##NAME)(const T *p) { return *(const TJ_CAT(V, _any) *)p; }                \
  TJ_INLINE void TJ_FN(tj_store_##NAME)(T *p, V v) { *(TJ_CAT(V, _any) *)p = v; }                      \
  TJ_INLINE V TJ_FN(tj_splat_##NAME)(T x) { return x - (V){0}; }                                       \
  TJ_COMPARE(TJ_FN(tj_lt_##NAME), <, V, PART, MASK, MASK_PART)                                         \
  TJ_COMPARE(TJ_FN(tj_le_##NAME), <=, V, PART, MASK, MASK_PART)                                        \
  TJ_COMPARE(TJ_FN(tj_gt_##NAME), >, V, PART, MASK, MASK_PART)                                         \
  TJ_COMPARE(TJ_FN(tj_ge_##NAME), >=, V, PART, MASK, MASK_PART)                                        \
  TJ_COMPARE(TJ_FN(tj_eq_##NAME), ==, V, PART, MASK, MASK_PART)                                        \
  TJ_COMPARE(TJ_FN(tj_ne_##NAME), !=, V, PART, MASK, MASK_PART)                                        \
  TJ_INLINE V TJ_FN(tj_select_##NAME)(MASK m, V a, V b) { return (V)(((MASK)a & m) | ((MASK)b & ~m)); }
/* Float functions; I is the integer vector of the same size. */
#define TJ_FLOATS(NAME, V, PART, I, SIGN, HW)                                                          \
  TJ_INLINE I TJ_FN(tj_bits_##NAME)(V x) { return (I)x; }                                              \
  TJ_INLINE V TJ_FN(tj_from_bits_##NAME)(I x) { return (V)x; }                                         \
  TJ_INLINE V TJ_FN(tj_abs_##NAME)(V x) { return (V)((I)x & ~SIGN); }                                  \
  TJ_INLINE V TJ_FN(tj_neg_##NAME)(V x) { return (V)((I)x ^ SIGN); }                                   \
  TJ_INLINE V TJ_FN(tj_copysign_##NAME)(V x, V sign) { return (V)(((I)x & ~SIGN) | ((I)sign & SIGN)); } \
  TJ_OVER3(TJ_FN(tj_fma_##NAME), HW(fma_##NAME), V, PART)                                              \
  TJ_OVER1(TJ_FN(tj_sqrt_##NAME), HW(sqrt_##NAME), V, PART)                                            \
  TJ_OVER1(TJ_FN(tj_rint_##NAME), HW(rint_##NAME), V, PART)                                            \
  TJ_OVER1(TJ_FN(tj_floor_##NAME), HW(floor_##NAME), V, PART)                                          \
  TJ_OVER1(TJ_FN(tj_ceil_##NAME), HW(ceil_##NAME), V, PART)                                            \
  TJ_OVER1(TJ_FN(tj_trunc_##NAME), HW(trunc_##NAME), V, PART)                                          \
  TJ_OVER2(TJ_FN(tj_least_##NAME), HW(least_##NAME), V, PART)                                          \
  TJ_OVER2(TJ_FN(tj_most_##NAME), HW(most_##NAME), V, PART)                                            \
  TJ_OVER2(TJ_FN(tj_scale_##NAME), HW(scale_##NAME), V, PART)                                          \
  /* The cheap kind with its operands exchanged is right but for a NaN in b. */                          \
  TJ_INLINE V TJ_FN(tj_min_##NAME)(V a, V b) {                                                         \
    return TJ_FN(tj_select_##NAME)(TJ_FN(tj_ne_##NAME)(b, b), b, TJ_FN(tj_least_##NAME)(b, a));        \
  }                                                                                                    \
  TJ_INLINE V TJ_FN(tj_max_##NAME)(V a, V b) {                                                         \
    return TJ_FN(tj_select_##NAME)(TJ_FN(tj_ne_##NAME)(b, b), b, TJ_FN(tj_most_##NAME)(b, a));         \
  }
#define TJ_INTS(NAME, V)                                                                               \
  TJ_INLINE V TJ_FN(tj_min_##NAME)(V a, V b) { return TJ_FN(tj_select_##NAME)(TJ_FN(tj_lt_##NAME)(a, b), a, b); } \
  TJ_INLINE V TJ_FN(tj_max_##NAME)(V a, V b) { return TJ_FN(tj_select_##NAME)(TJ_FN(tj_gt_##NAME)(a, b), a, b); }
#define TJ_CONVERT(TO, FROM)                                                                           \
  TJ_INLINE TJ_FN(TO) TJ_FN(tj_##TO##_from_##FROM)(TJ_FN(FROM) x) { return __builtin_convertvector(x, TJ_FN(TO)); }
/* Towards zero; what does not fit, NaN too, gives the smallest integer. The conversion itself only meets what fits. MASK is the integer of
   the size of FROM; its lanes are widened or narrowed to those of TO. */
#define TJ_TRUNCATE(TO, FROM, MASK, FITS, SMALLEST)                                                    \
  TJ_INLINE TJ_FN(TO) TJ_FN(tj_##TO##_from_##FROM)(TJ_FN(FROM) x) {                                    \
    TJ_FN(MASK) fits = FITS;                                                                           \
    TJ_FN(FROM) inside = (TJ_FN(FROM))((TJ_FN(MASK))x & fits);                                         \
    TJ_FN(TO) all = __builtin_convertvector(fits, TJ_FN(TO));                                          \
    return (__builtin_convertvector(inside, TJ_FN(TO)) & all) | (SMALLEST & ~all);                     \
  }
#endif

/* How many lanes one part has, for lanes of 4, 8 and 1 bytes; less than 16 bytes of floats are handled lane by lane. */
#if TJ_LANES * 4 < 16
#define TJ_PART4 1
#define TJ_HW4(name) TJ_CAT(tj_##name##x, TJ_PART4)
#define TJ_SPLIT4 TJ_LANES
#else
#define TJ_HW4(name) TJ_CAT(tj_hw_##name##x, TJ_PART4)
#define TJ_SPLIT4 TJ_PART4
#if TJ_LANES * 4 <= TJ_VECTOR_BYTES
#define TJ_PART4 TJ_LANES
#elif TJ_VECTOR_BYTES == 16
#define TJ_PART4 4
#elif TJ_VECTOR_BYTES == 32
#define TJ_PART4 8
#else
#define TJ_PART4 16
#endif
#endif
#define TJ_HW8(name) TJ_CAT(tj_hw_##name##x, TJ_PART8)
#if TJ_LANES * 8 <= TJ_VECTOR_BYTES
#define TJ_PART8 TJ_LANES
#elif TJ_VECTOR_BYTES == 16
#define TJ_PART8 2
#elif TJ_VECTOR_BYTES == 32
#define TJ_PART8 4
#else
#define TJ_PART8 8
#endif
#if TJ_LANES <= TJ_VECTOR_BYTES
#define TJ_PART1 TJ_LANES
#else
#define TJ_PART1 16
#endif

TJ_BASICS(f32, TJ_F32, TJ_CAT(f32x, TJ_SPLIT4), float, TJ_I32, TJ_CAT(i32x, TJ_SPLIT4))
TJ_BASICS(i32, TJ_I32, TJ_CAT(i32x, TJ_SPLIT4), int32_t, TJ_I32, TJ_CAT(i32x, TJ_SPLIT4))
TJ_BASICS(f64, TJ_F64, TJ_CAT(f64x, TJ_PART8), double, TJ_I64, TJ_CAT(i64x, TJ_PART8))
TJ_BASICS(i64, TJ_I64, TJ_CAT(i64x, TJ_PART8), int64_t, TJ_I64, TJ_CAT(i64x, TJ_PART8))
TJ_BASICS(u8, TJ_U8, TJ_CAT(u8x, TJ_PART1), uint8_t, TJ_I8, TJ_CAT(i8x, TJ_PART1))
TJ_FLOATS(f32, TJ_F32, TJ_CAT(f32x, TJ_PART4), TJ_I32, INT32_MIN, TJ_HW4)
TJ_FLOATS(f64, TJ_F64, TJ_CAT(f64x, TJ_PART8), TJ_I64, INT64_MIN, TJ_HW8)
TJ_INTS(i32, TJ_I32)
TJ_INTS(i64, TJ_I64)
TJ_INTS(u8, TJ_U8)
/* abs wraps at the smallest value, as NumPy's does */
TJ_INLINE TJ_I32 TJ_FN(tj_abs_i32)(TJ_I32 x) { TJ_I32 minus = TJ_FN(tj_lt_i32)(x, x - x); return (x ^ minus) - minus; }
TJ_INLINE TJ_I64 TJ_FN(tj_abs_i64)(TJ_I64 x) { TJ_I64 minus = TJ_FN(tj_lt_i64)(x, x - x); return (x ^ minus) - minus; }
TJ_INLINE TJ_U8 TJ_FN(tj_abs_u8)(TJ_U8 x) { return x; }

TJ_INLINE TJ_I32 TJ_FN(tj_shift_i32)(TJ_I32 x, int by) { return x << by; } /* to the left */
TJ_INLINE TJ_I64 TJ_FN(tj_shift_i64)(TJ_I64 x, int by) { return x << by; }

/* 2^n for an integral n from -126 to 127 (-1022 to 1023): the sum ends in the biased exponent */
TJ_INLINE TJ_F32 TJ_FN(tj_pow2_f32)(TJ_F32 n) { return (TJ_F32)((TJ_I32)(n + (0x1.8p23f + 127)) << 23); }
TJ_INLINE TJ_F64 TJ_FN(tj_pow2_f64)(TJ_F64 n) { return (TJ_F64)((TJ_I64)(n + (0x1.8p52 + 1023)) << 52); }

/* x * m + c for a constant c: one step of Horner's rule */
TJ_INLINE TJ_F32 TJ_FN(tj_step_f32)(TJ_F32 x, TJ_F32 m, float c) { return TJ_FN(tj_fma_f32)(x, m, TJ_FN(tj_splat_f32)(c)); }
TJ_INLINE TJ_F64 TJ_FN(tj_step_f64)(TJ_F64 x, TJ_F64 m, double c) { return TJ_FN(tj_fma_f64)(x, m, TJ_FN(tj_splat_f64)(c)); }

TJ_CONVERT(f32, i32)
TJ_CONVERT(f32, i64)
TJ_CONVERT(f32, f64)
TJ_CONVERT(f32, u8)
TJ_CONVERT(f64, i32)
TJ_CONVERT(f64, i64)
TJ_CONVERT(f64, f32)
TJ_CONVERT(f64, u8)
TJ_CONVERT(i32, i64)
TJ_CONVERT(i64, i32)
TJ_CONVERT(i32, u8)
TJ_CONVERT(i64, u8)
TJ_CONVERT(u8, i32)
TJ_CONVERT(u8, i64)
TJ_TRUNCATE(i32, f32, i32, TJ_FN(tj_ge_f32)(x, TJ_FN(tj_splat_f32)(-0x1p31f)) & TJ_FN(tj_lt_f32)(x, TJ_FN(tj_splat_f32)(0x1p31f)), INT32_MIN)
TJ_TRUNCATE(i64, f32, i32, TJ_FN(tj_ge_f32)(x, TJ_FN(tj_splat_f32)(-0x1p63f)) & TJ_FN(tj_lt_f32)(x, TJ_FN(tj_splat_f32)(0x1p63f)), INT64_MIN)
TJ_TRUNCATE(i32, f64, i64, TJ_FN(tj_gt_f64)(x, TJ_FN(tj_splat_f64)(-0x1.00000002p31)) & TJ_FN(tj_lt_f64)(x, TJ_FN(tj_splat_f64)(0x1p31)), INT32_MIN)
TJ_TRUNCATE(i64, f64, i64, TJ_FN(tj_ge_f64)(x, TJ_FN(tj_splat_f64)(-0x1p63)) & TJ_FN(tj_lt_f64)(x, TJ_FN(tj_splat_f64)(0x1p63)), INT64_MIN)

/* the two halves as float64, and back */
#if TJ_LANES == 2
TJ_INLINE double tj_low_f32x2(f32x2 x) { return x[0]; }
TJ_INLINE double tj_high_f32x2(f32x2 x) { return x[1]; }
TJ_INLINE f32x2 tj_join_f32x2(double low, double high) { return (f32x2){(float)low, (float)high}; }
#else
TJ_INLINE TJ_HALF_F64 TJ_F(low)(TJ_F32 x) { return TJ_LOW(TJ_HALF_LANES, x); }
TJ_INLINE TJ_HALF_F64 TJ_F(high)(TJ_F32 x) { return TJ_HIGH(TJ_HALF_LANES, x); }
TJ_INLINE TJ_F32 TJ_F(join)(TJ_HALF_F64 low, TJ_HALF_F64 high) { return TJ_JOIN(TJ_HALF_LANES, low, high); }
#endif

/* bool (a byte 0 or 1) and masks */
TJ_INLINE TJ_I8 TJ_FN(tj_mask8_from_bool)(TJ_U8 b) { return -(TJ_I8)b; }
TJ_INLINE TJ_U8 TJ_FN(tj_bool_from_mask8)(TJ_I8 m) { return (TJ_U8)(m & 1); }
TJ_INLINE TJ_I32 TJ_FN(tj_mask32_from_bool)(TJ_U8 b) { return __builtin_convertvector(-(TJ_I8)b, TJ_I32); }
TJ_INLINE TJ_I64 TJ_FN(tj_mask64_from_bool)(TJ_U8 b) { return __builtin_convertvector(-(TJ_I8)b, TJ_I64); }
#if defined __clang__ && defined __AVX512VL__ && TJ_LANES <= 16
/* clang would make a masked load of the constant 1, which takes 100 ns where no lane is set (measured): hide that it is one. */
TJ_INLINE TJ_U8 TJ_FN(tj_ones)(void) {
  union { u8x16 all; TJ_U8 part; } one;
  one.all = 1 - (u8x16){0};
  __asm__("" : "+x"(one.all));
  return one.part;
}
#else
TJ_INLINE TJ_U8 TJ_FN(tj_ones)(void) { return 1 - (TJ_U8){0}; }
#endif
TJ_INLINE TJ_U8 TJ_FN(tj_bool_from_mask32)(TJ_I32 m) { return (TJ_U8)__builtin_convertvector(m, TJ_I8) & TJ_FN(tj_ones)(); }
TJ_INLINE TJ_U8 TJ_FN(tj_bool_from_mask64)(TJ_I64 m) { return (TJ_U8)__builtin_convertvector(m, TJ_I8) & TJ_FN(tj_ones)(); }

TJ_INLINE int TJ_FN(tj_any_i32)(TJ_I32 mask) {
#if TJ_PART4 == 1
  return (mask[0] | mask[1]) != 0;
#else
  TJ_PARTS(TJ_I32, TJ_CAT(i32x, TJ_PART4)) x;
  x.v = mask;
  TJ_UNROLL for (unsigned i = 1; i < sizeof x / sizeof x.part[0]; i++) x.part[0] |= x.part[i];
  return TJ_CAT(tj_hw_any_i32x, TJ_PART4)(x.part[0]);
#endif
}
TJ_INLINE int TJ_FN(tj_any_i64)(TJ_I64 mask) {
  TJ_PARTS(TJ_I64, TJ_CAT(i64x, TJ_PART8)) x;
  x.v = mask;
  TJ_UNROLL for (unsigned i = 1; i < sizeof x / sizeof x.part[0]; i++) x.part[0] |= x.part[i];
#if TJ_PART8 == 2
  return tj_hw_any_i32x4((i32x4)x.part[0]);
#elif TJ_PART8 == 4
  return tj_hw_any_i32x8((i32x8)x.part[0]);
#else
  return tj_hw_any_i32x16((i32x16)x.part[0]);
#endif
}

/* Of a table of eight, written twice: the elements whose numbers are `place` modulo 8. */
TJ_INLINE TJ_F32 TJ_F(pick)(const float *table, TJ_I32 place) {
#if TJ_LANES >= 8 && TJ_VECTOR_BYTES >= 32
  TJ_PARTS(TJ_F32, TJ_CAT(f32x, TJ_PART4)) r;
  TJ_PARTS(TJ_I32, TJ_CAT(i32x, TJ_PART4)) at;
  at.v = place;
  TJ_UNROLL for (unsigned i = 0; i < sizeof r / sizeof r.part[0]; i++)
    r.part[i] = TJ_CAT(tj_hw_pick_f32x, TJ_PART4)(table, at.part[i]);
  return r.v;
#else
  TJ_F32 r;
  for (int i = 0; i < TJ_LANES; i++) r[i] = table[place[i] & 7];
  return r;
#endif
}

/* NaN met on the way: tj_see notes whether a or b holds one, tj_saw tells whether any did. The notes begin as {0}. */
#if TJ_LANES >= 8
#define TJ_NANS(NAME, V, PART, NOTE, SAW)                                                              \
  typedef NOTE TJ_FN(tj_nans_##NAME);                                                                  \
  TJ_INLINE NOTE TJ_FN(tj_see_##NAME)(NOTE seen, V a, V b) {                                           \
    TJ_PARTS(V, TJ_CAT(NAME##x, PART)) x, y;                                                           \
    x.v = a; y.v = b;                                                                                  \
    TJ_UNROLL for (unsigned i = 0; i < sizeof x / sizeof x.part[0]; i++)                               \
      seen |= TJ_CAT(tj_hw_nans_##NAME##x, PART)(x.part[i], y.part[i]);                                \
    return seen;                                                                                       \
  }                                                                                                    \
  TJ_INLINE int TJ_FN(tj_saw_##NAME)(NOTE seen) { return SAW; }
#if TJ_VECTOR_BYTES >= 64
TJ_NANS(f32, TJ_F32, TJ_PART4, int, seen != 0)
TJ_NANS(f64, TJ_F64, TJ_PART8, int, seen != 0)
#else
TJ_NANS(f32, TJ_F32, TJ_PART4, TJ_CAT(i32x, TJ_PART4), TJ_CAT(tj_hw_any_i32x, TJ_PART4)(seen))
#if TJ_VECTOR_BYTES == 32
TJ_NANS(f64, TJ_F64, TJ_PART8, i64x4, tj_hw_any_i32x8((i32x8)seen))
#else
TJ_NANS(f64, TJ_F64, TJ_PART8, i64x2, tj_hw_any_i32x4((i32x4)seen))
#endif
#endif
#undef TJ_NANS
#endif

/* Stores that pass by the cache where the target has them; p must be aligned to the size of the vector. Call tj_stream_fence()
   after the last one, before another thread reads. */
#define TJ_STREAM_PARTS(NAME, T, V, N)                                                                 \
  TJ_INLINE void TJ_FN(tj_stream_##NAME)(T *p, V v) {                                                  \
    TJ_PARTS(V, TJ_CAT(f32x, N)) x;                                                                    \
    x.v = v;                                                                                           \
    TJ_UNROLL for (unsigned i = 0; i < sizeof x / sizeof x.part[0]; i++)                               \
      TJ_CAT(tj_hw_stream_f32x, N)((float *)(void *)p + i * N, x.part[i]);                             \
  }
#if TJ_PART4 == 1
TJ_INLINE void TJ_FN(tj_stream_f32)(float *p, TJ_F32 v) { TJ_FN(tj_store_f32)(p, v); }
TJ_INLINE void TJ_FN(tj_stream_i32)(int32_t *p, TJ_I32 v) { TJ_FN(tj_store_i32)(p, v); }
#else
TJ_STREAM_PARTS(f32, float, TJ_F32, TJ_PART4)
TJ_STREAM_PARTS(i32, int32_t, TJ_I32, TJ_PART4)
#endif
#if TJ_PART8 == 2
TJ_STREAM_PARTS(f64, double, TJ_F64, 4)
TJ_STREAM_PARTS(i64, int64_t, TJ_I64, 4)
#elif TJ_PART8 == 4
TJ_STREAM_PARTS(f64, double, TJ_F64, 8)
TJ_STREAM_PARTS(i64, int64_t, TJ_I64, 8)
#else
TJ_STREAM_PARTS(f64, double, TJ_F64, 16)
TJ_STREAM_PARTS(i64, int64_t, TJ_I64, 16)
#endif
#if TJ_LANES == 32 && TJ_VECTOR_BYTES >= 32
TJ_STREAM_PARTS(u8, uint8_t, TJ_U8, 8)
#elif TJ_LANES >= 16
TJ_STREAM_PARTS(u8, uint8_t, TJ_U8, 4)
#else
TJ_INLINE void TJ_FN(tj_stream_u8)(uint8_t *p, TJ_U8 v) { TJ_FN(tj_store_u8)(p, v); }
#endif
#undef TJ_STREAM_PARTS
#undef TJ_HW4
#undef TJ_HW8
#undef TJ_PART4
#undef TJ_PART8
#undef TJ_PART1
#undef TJ_SPLIT4
