/* lanes/scalar.h: the layer for one lane, in plain C11. Included once by lanes.h.

   Rounding and float32 fma are written in IEEE operations where the compiler may have no instruction for them:
   the bits are those of the instruction. */

/* bits */
TJ_INLINE int32_t tj_bits_f32x1(float x) { union { float f; int32_t i; } u; u.f = x; return u.i; }
TJ_INLINE float tj_from_bits_f32x1(int32_t x) { union { float f; int32_t i; } u; u.i = x; return u.f; }
TJ_INLINE int64_t tj_bits_f64x1(double x) { union { double f; int64_t i; } u; u.f = x; return u.i; }
TJ_INLINE double tj_from_bits_f64x1(int64_t x) { union { double f; int64_t i; } u; u.i = x; return u.f; }

/* load, store, splat, compare, select: for every type. MASK is the mask type. */
#define TJ_SCALAR_BASICS(NAME, T, MASK)                                                                \
  TJ_INLINE T tj_load_##NAME##x1(const T *p) { return *p; }                                            \
  TJ_INLINE void tj_store_##NAME##x1(T *p, T v) { *p = v; }                                            \
  TJ_INLINE void tj_stream_##NAME##x1(T *p, T v) { *p = v; }                                           \
  TJ_INLINE T tj_splat_##NAME##x1(T v) { return v; }                                                   \
  TJ_INLINE MASK tj_lt_##NAME##x1(T a, T b) { return (MASK) - (a < b); }                               \
  TJ_INLINE MASK tj_le_##NAME##x1(T a, T b) { return (MASK) - (a <= b); }                              \
  TJ_INLINE MASK tj_gt_##NAME##x1(T a, T b) { return (MASK) - (a > b); }                               \
  TJ_INLINE MASK tj_ge_##NAME##x1(T a, T b) { return (MASK) - (a >= b); }                              \
  TJ_INLINE MASK tj_eq_##NAME##x1(T a, T b) { return (MASK) - (a == b); }                              \
  TJ_INLINE MASK tj_ne_##NAME##x1(T a, T b) { return (MASK) - (a != b); }                              \
  TJ_INLINE T tj_select_##NAME##x1(MASK m, T a, T b) { return m ? a : b; }
TJ_SCALAR_BASICS(f32, float, int32_t)
TJ_SCALAR_BASICS(f64, double, int64_t)
TJ_SCALAR_BASICS(i32, int32_t, int32_t)
TJ_SCALAR_BASICS(i64, int64_t, int64_t)
TJ_SCALAR_BASICS(u8, uint8_t, int8_t)

/* Integer min, max; abs wraps at the smallest value, as NumPy's does. */
TJ_INLINE int32_t tj_min_i32x1(int32_t a, int32_t b) { return a < b ? a : b; }
TJ_INLINE int32_t tj_max_i32x1(int32_t a, int32_t b) { return a > b ? a : b; }
TJ_INLINE int64_t tj_min_i64x1(int64_t a, int64_t b) { return a < b ? a : b; }
TJ_INLINE int64_t tj_max_i64x1(int64_t a, int64_t b) { return a > b ? a : b; }
TJ_INLINE uint8_t tj_min_u8x1(uint8_t a, uint8_t b) { return a < b ? a : b; }
TJ_INLINE uint8_t tj_max_u8x1(uint8_t a, uint8_t b) { return a > b ? a : b; }
TJ_INLINE int32_t tj_abs_i32x1(int32_t x) { return x < 0 ? (int32_t)(0u - (uint32_t)x) : x; }
TJ_INLINE int64_t tj_abs_i64x1(int64_t x) { return x < 0 ? (int64_t)(0u - (uint64_t)x) : x; }
TJ_INLINE uint8_t tj_abs_u8x1(uint8_t x) { return x; }
TJ_INLINE int tj_any_i32x1(int32_t mask) { return mask != 0; }
TJ_INLINE int tj_any_i64x1(int64_t mask) { return mask != 0; }

TJ_INLINE float tj_abs_f32x1(float x) { return tj_from_bits_f32x1(tj_bits_f32x1(x) & INT32_MAX); }
TJ_INLINE double tj_abs_f64x1(double x) { return tj_from_bits_f64x1(tj_bits_f64x1(x) & INT64_MAX); }
TJ_INLINE float tj_neg_f32x1(float x) { return tj_from_bits_f32x1(tj_bits_f32x1(x) ^ INT32_MIN); }
TJ_INLINE double tj_neg_f64x1(double x) { return tj_from_bits_f64x1(tj_bits_f64x1(x) ^ INT64_MIN); }
TJ_INLINE float tj_copysign_f32x1(float x, float sign) {
  return tj_from_bits_f32x1((tj_bits_f32x1(x) & INT32_MAX) | (tj_bits_f32x1(sign) & INT32_MIN));
}
TJ_INLINE double tj_copysign_f64x1(double x, double sign) {
  return tj_from_bits_f64x1((tj_bits_f64x1(x) & INT64_MAX) | (tj_bits_f64x1(sign) & INT64_MIN));
}

/* NumPy's minimum and maximum: NaN propagates, of equal values (-0 and +0) the first is taken. */
TJ_INLINE float tj_min_f32x1(float a, float b) { return (a <= b || a != a) ? a : b; }
TJ_INLINE float tj_max_f32x1(float a, float b) { return (a >= b || a != a) ? a : b; }
TJ_INLINE double tj_min_f64x1(double a, double b) { return (a <= b || a != a) ? a : b; }
TJ_INLINE double tj_max_f64x1(double a, double b) { return (a >= b || a != a) ? a : b; }
/* The cheap kind, b unless the comparison holds: NaN in b comes out, NaN in a does not. */
TJ_INLINE float tj_least_f32x1(float a, float b) { return a < b ? a : b; }
TJ_INLINE float tj_most_f32x1(float a, float b) { return a > b ? a : b; }
TJ_INLINE double tj_least_f64x1(double a, double b) { return a < b ? a : b; }
TJ_INLINE double tj_most_f64x1(double a, double b) { return a > b ? a : b; }

/* Conversions. To an integer: towards zero; what does not fit (NaN too) gives the smallest integer, as x86 and
   NumPy on it do. */
TJ_INLINE float tj_f32_from_i32x1(int32_t x) { return (float)x; }
TJ_INLINE float tj_f32_from_i64x1(int64_t x) { return (float)x; }
TJ_INLINE float tj_f32_from_f64x1(double x) { return (float)x; }
TJ_INLINE float tj_f32_from_u8x1(uint8_t x) { return (float)x; }
TJ_INLINE double tj_f64_from_i32x1(int32_t x) { return (double)x; }
TJ_INLINE double tj_f64_from_i64x1(int64_t x) { return (double)x; }
TJ_INLINE double tj_f64_from_f32x1(float x) { return (double)x; }
TJ_INLINE double tj_f64_from_u8x1(uint8_t x) { return (double)x; }
TJ_INLINE int32_t tj_i32_from_i64x1(int64_t x) { return (int32_t)x; }
TJ_INLINE int64_t tj_i64_from_i32x1(int32_t x) { return x; }
TJ_INLINE int32_t tj_i32_from_u8x1(uint8_t x) { return x; }
TJ_INLINE int64_t tj_i64_from_u8x1(uint8_t x) { return x; }
TJ_INLINE uint8_t tj_u8_from_i32x1(int32_t x) { return (uint8_t)x; }
TJ_INLINE uint8_t tj_u8_from_i64x1(int64_t x) { return (uint8_t)x; }
TJ_INLINE int32_t tj_i32_from_f32x1(float x) {
  return (x >= -0x1p31f && x < 0x1p31f) ? (int32_t)x : INT32_MIN;
}
TJ_INLINE int32_t tj_i32_from_f64x1(double x) {
  return (x > -0x1.00000002p31 && x < 0x1p31) ? (int32_t)x : INT32_MIN;
}
TJ_INLINE int64_t tj_i64_from_f32x1(float x) {
  return (x >= -0x1p63f && x < 0x1p63f) ? (int64_t)x : INT64_MIN;
}
TJ_INLINE int64_t tj_i64_from_f64x1(double x) {
  return (x >= -0x1p63 && x < 0x1p63) ? (int64_t)x : INT64_MIN;
}
/* bool (a byte 0 or 1) and masks */
TJ_INLINE int8_t tj_mask8_from_boolx1(uint8_t b) { return (int8_t)-(b != 0); }
TJ_INLINE uint8_t tj_bool_from_mask8x1(int8_t m) { return (uint8_t)(m & 1); }
TJ_INLINE int32_t tj_mask32_from_boolx1(uint8_t b) { return -(int32_t)(b != 0); }
TJ_INLINE int64_t tj_mask64_from_boolx1(uint8_t b) { return -(int64_t)(b != 0); }
TJ_INLINE uint8_t tj_bool_from_mask32x1(int32_t m) { return (uint8_t)(m & 1); }
TJ_INLINE uint8_t tj_bool_from_mask64x1(int64_t m) { return (uint8_t)(m & 1); }

/* the halves of one lane: one half does the work, the other is not read */
TJ_INLINE double tj_low_f32x1(float x) { return x; }
TJ_INLINE double tj_high_f32x1(float x) { return x; }
TJ_INLINE float tj_join_f32x1(double low, double high) { (void)high; return (float)low; }

/* Fused multiply-add, one rounding. */
#if TJ_HAS_FMA
TJ_INLINE float tj_fma_f32x1(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
TJ_INLINE double tj_fma_f64x1(double a, double b, double c) { return __builtin_fma(a, b, c); }
#else
/* The product is exact in double; the sum is rounded to odd (an inexact sum gets its last bit set), which makes the
   final rounding to float32 the only one. An infinite or NaN sum leaves `rest` NaN and unused. */
TJ_INLINE float tj_fma_f32x1(float a, float b, float c) {
  double product = (double)a * b, addend = c;
  double sum = product + addend, part = sum - product;
  double rest = (product - (sum - part)) + (addend - part);
  int64_t bits = tj_bits_f64x1(sum);
  if ((rest < 0 || rest > 0) && !(bits & 1)) bits += (rest > 0) == (sum > 0) ? 1 : -1;
  return (float)tj_from_bits_f64x1(bits);
}
extern double fma(double, double, double);
TJ_INLINE double tj_fma_f64x1(double a, double b, double c) { return fma(a, b, c); }
#endif

#if TJ_VECTOR_BYTES
TJ_INLINE float tj_sqrt_f32x1(float x) { return __builtin_sqrtf(x); }
TJ_INLINE double tj_sqrt_f64x1(double x) { return __builtin_sqrt(x); }
#else
extern float sqrtf(float);
extern double sqrt(double);
TJ_INLINE float tj_sqrt_f32x1(float x) { return sqrtf(x); }
TJ_INLINE double tj_sqrt_f64x1(double x) { return sqrt(x); }
#endif

/* Rounding: rint is half to even. */
#if TJ_HAS_ROUND
TJ_INLINE float tj_rint_f32x1(float x) { return __builtin_nearbyintf(x); }
TJ_INLINE float tj_floor_f32x1(float x) { return __builtin_floorf(x); }
TJ_INLINE float tj_ceil_f32x1(float x) { return __builtin_ceilf(x); }
TJ_INLINE float tj_trunc_f32x1(float x) { return __builtin_truncf(x); }
TJ_INLINE double tj_rint_f64x1(double x) { return __builtin_nearbyint(x); }
TJ_INLINE double tj_floor_f64x1(double x) { return __builtin_floor(x); }
TJ_INLINE double tj_ceil_f64x1(double x) { return __builtin_ceil(x); }
TJ_INLINE double tj_trunc_f64x1(double x) { return __builtin_trunc(x); }
#else
/* Adding and taking away 2^23 (2^52) rounds to an integer; what is larger is one already. */
#define TJ_SCALAR_ROUND(NAME, T, BIG)                                                                  \
  TJ_INLINE T tj_rint_##NAME##x1(T x) {                                                                \
    T size = tj_abs_##NAME##x1(x), sum = size + BIG;                                                   \
    return size < BIG ? tj_copysign_##NAME##x1(sum - BIG, x) : x;                                      \
  }                                                                                                    \
  TJ_INLINE T tj_floor_##NAME##x1(T x) {                                                               \
    T near = tj_rint_##NAME##x1(x);                                                                    \
    return near > x ? near - 1 : near;                                                                 \
  }                                                                                                    \
  TJ_INLINE T tj_ceil_##NAME##x1(T x) {                                                                \
    T near = tj_rint_##NAME##x1(x);                                                                    \
    return near < x ? tj_copysign_##NAME##x1(near + 1, x) : near;                                      \
  }                                                                                                    \
  TJ_INLINE T tj_trunc_##NAME##x1(T x) {                                                               \
    return tj_copysign_##NAME##x1(tj_floor_##NAME##x1(tj_abs_##NAME##x1(x)), x);                       \
  }
TJ_SCALAR_ROUND(f32, float, 0x1p23f)
TJ_SCALAR_ROUND(f64, double, 0x1p52)
#endif

/* x * 2^n for an integral n, rounded once; |n| at most 300 (2000 for float64). */
TJ_INLINE float tj_scale_f32x1(float x, float n) {
  int32_t e = tj_bits_f32x1(n + 0x1.8p23f) - 0x4b400000, half = e >> 1;
  return x * tj_from_bits_f32x1((int32_t)((uint32_t)(half + 127) << 23)) * tj_from_bits_f32x1((int32_t)((uint32_t)(e - half + 127) << 23));
}
TJ_INLINE double tj_scale_f64x1(double x, double n) {
  int64_t e = tj_bits_f64x1(n + 0x1.8p52) - INT64_C(0x4338000000000000), half = e >> 1;
  return x * tj_from_bits_f64x1((int64_t)((uint64_t)(half + 1023) << 52)) * tj_from_bits_f64x1((int64_t)((uint64_t)(e - half + 1023) << 52));
}
TJ_INLINE int32_t tj_shift_i32x1(int32_t x, int by) { return (int32_t)((uint32_t)x << by); } /* to the left */
TJ_INLINE int64_t tj_shift_i64x1(int64_t x, int by) { return (int64_t)((uint64_t)x << by); }

/* 2^n for an integral n from -126 to 127: the sum ends in the biased exponent */
TJ_INLINE float tj_pow2_f32x1(float n) { return tj_from_bits_f32x1((int32_t)((uint32_t)tj_bits_f32x1(n + (0x1.8p23f + 127)) << 23)); }
TJ_INLINE double tj_pow2_f64x1(double n) { return tj_from_bits_f64x1((int64_t)((uint64_t)tj_bits_f64x1(n + (0x1.8p52 + 1023)) << 52)); }
/* x * m + c for a constant c: one step of Horner's rule */
TJ_INLINE float tj_step_f32x1(float x, float m, float c) { return tj_fma_f32x1(x, m, c); }
TJ_INLINE double tj_step_f64x1(double x, double m, double c) { return tj_fma_f64x1(x, m, c); }
/* of a table of eight, written twice: the element whose number is `place` modulo 8 */
TJ_INLINE float tj_pick_f32x1(const float *table, int32_t place) { return table[place & 7]; }
#if !TJ_VECTOR_BYTES
TJ_INLINE void tj_stream_fence(void) {}
#endif
