/* arithmetic.h: operations of NumPy's meaning that C has not, or leaves undefined for some values.

   Integers: floor_divide and remainder follow the divisor's sign, fmod the dividend's; x / 0 is 0, the smallest / -1 wraps. Shifts by
   the width or more, or by a negative count, leave nothing but the sign. pow wraps; a negative exponent leaves 1, -1 or 0.
   Floats: remainders are exact (C's fmod has one possible result); nextafter is the neighbour on the way to b.
   Law: defined for every value, the same bits everywhere. Include after lanes.h, once per TJ_LANES. */
#ifndef TJ_ARITHMETIC_H
#define TJ_ARITHMETIC_H
#define TJ_INTEGER(NAME, T, U, BITS, NEGATIVE)                                                         \
  TJ_INLINE T tj_floor_divide_##NAME##x1(T a, T b) {                                                   \
    if (b == 0) return 0;                                                                              \
    if (b == (T)-1 && NEGATIVE(b)) return (T)(0 - (U)a);                                               \
    return (T)(a / b - (a % b != 0 && NEGATIVE(a) != NEGATIVE(b)));                                    \
  }                                                                                                    \
  TJ_INLINE T tj_fmod_##NAME##x1(T a, T b) {                                                           \
    if (b == 0 || (b == (T)-1 && NEGATIVE(b))) return 0;                                               \
    return (T)(a % b);                                                                                 \
  }                                                                                                    \
  TJ_INLINE T tj_remainder_##NAME##x1(T a, T b) {                                                      \
    T r = tj_fmod_##NAME##x1(a, b);                                                                    \
    return (T)(r != 0 && NEGATIVE(r) != NEGATIVE(b) ? r + b : r);                                      \
  }                                                                                                    \
  TJ_INLINE T tj_bitwise_left_shift_##NAME##x1(T a, T b) { return (U)b < BITS ? (T)((U)a << (U)b) : 0; } \
  TJ_INLINE T tj_bitwise_right_shift_##NAME##x1(T a, T b) {                                            \
    return (T)((U)b < BITS ? a >> (U)b : NEGATIVE(a) ? -1 : 0);                                        \
  }                                                                                                    \
  TJ_INLINE T tj_pow_##NAME##x1(T a, T b) {                                                            \
    if (NEGATIVE(b)) return (T)(a == 1 ? 1 : a == (T)-1 ? (b & 1 ? -1 : 1) : 0);                       \
    U result = 1, square = (U)a, rest = (U)b;                                                          \
    for (; rest; rest >>= 1, square *= square)                                                         \
      if (rest & 1) result *= square;                                                                  \
    return (T)result;                                                                                  \
  }
#define TJ_NEGATIVE(x) ((x) < 0)
#define TJ_NEVER(x) 0
TJ_INTEGER(i32, int32_t, uint32_t, 32, TJ_NEGATIVE)
TJ_INTEGER(i64, int64_t, uint64_t, 64, TJ_NEGATIVE)
TJ_INTEGER(u8, uint8_t, uint32_t, 8, TJ_NEVER)

extern double fmod(double, double); /* exact, so all of them agree */

#define TJ_FLOATING(NAME, T, I)                                                                 \
  TJ_INLINE T tj_fmod_##NAME##x1(T a, T b) { return (T)fmod(a, b); }                                   \
  TJ_INLINE T tj_remainder_##NAME##x1(T a, T b) {                                                      \
    T r = tj_fmod_##NAME##x1(a, b);                                                                    \
    if (b == 0) return r;                                                                              \
    if (r == 0) return tj_copysign_##NAME##x1(0, b);                                                   \
    return (r < 0) != (b < 0) ? r + b : r;                                                             \
  }                                                                                                    \
  TJ_INLINE T tj_floor_divide_##NAME##x1(T a, T b) {                                                   \
    if (b == 0) return a / b;                                                                          \
    T r = tj_fmod_##NAME##x1(a, b), whole = (a - r) / b, down;                                         \
    if (r != 0 && (r < 0) != (b < 0)) whole -= 1;                                                      \
    if (whole == 0) return tj_copysign_##NAME##x1(0, a / b);                                           \
    down = tj_floor_##NAME##x1(whole); /* whole but for its rounding */                                \
    return whole - down > (T)0.5 ? down + 1 : down;                                                    \
  }                                                                                                    \
  TJ_INLINE T tj_nextafter_##NAME##x1(T a, T b) {                                                      \
    I bits = tj_bits_##NAME##x1(a);                                                                    \
    if (a != a || b != b) return a + b;                                                                \
    if (a == b) return b;                                                                              \
    if (a == 0) return tj_copysign_##NAME##x1(tj_from_bits_##NAME##x1(1), b);                          \
    return tj_from_bits_##NAME##x1((a < b) == (a > 0) ? bits + 1 : bits - 1);                          \
  }
TJ_FLOATING(f32, float, int32_t)
TJ_FLOATING(f64, double, int64_t)
#endif

/* For vectors lane by lane what has no better way: no processor divides integers or takes remainders in vectors. */
#if TJ_LANES == 8 && !defined TJ_ARITHMETIC_8
#define TJ_ARITHMETIC_8
#elif TJ_LANES == 16 && !defined TJ_ARITHMETIC_16
#define TJ_ARITHMETIC_16
#else
#define TJ_DEFINED
#endif
#ifndef TJ_DEFINED
#define TJ_EACH_LANE(OP, NAME)                                                                         \
  TJ_INLINE TJ_FN(NAME) TJ_FN(tj_##OP##_##NAME)(TJ_FN(NAME) a, TJ_FN(NAME) b) {                        \
    TJ_FN(NAME) r = a;                                                                                 \
    for (int i = 0; i < TJ_LANES; i++) r[i] = tj_##OP##_##NAME##x1(a[i], b[i]);                        \
    return r;                                                                                          \
  }
#define TJ_EACH_LANE_INTEGER(OP) TJ_EACH_LANE(OP, i32) TJ_EACH_LANE(OP, i64) TJ_EACH_LANE(OP, u8)
#define TJ_EACH_LANE_WIDE(OP) TJ_EACH_LANE(OP, i64) TJ_EACH_LANE(OP, u8)
TJ_EACH_LANE_WIDE(floor_divide)
TJ_EACH_LANE_WIDE(remainder)
TJ_EACH_LANE_WIDE(fmod)

/* Floats: while the quotient has fewer bits than the type, its whole part q comes out right or one too large (a rounded quotient never falls
   below a whole number that the exact one reaches), and x - q * y is exact. `fine` tells where that holds; for all others there is fmod. */
#define TJ_REMAINDERS(NAME, V, I, ANY, LIMIT, LARGEST)                                                     \
  TJ_INLINE V TJ_FN(tj_fmod_##NAME)(V a, V b) {                                                        \
    V x = TJ_FN(tj_abs_##NAME)(a), y = TJ_FN(tj_abs_##NAME)(b), q = x / y;                             \
    I fine = TJ_FN(tj_lt_##NAME)(q, TJ_FN(tj_splat_##NAME)(LIMIT)) & TJ_FN(tj_le_##NAME)(y, TJ_FN(tj_splat_##NAME)(LARGEST)); \
    V r = TJ_FN(tj_fma_##NAME)(TJ_FN(tj_neg_##NAME)(TJ_FN(tj_trunc_##NAME)(q)), y, x);                 \
    r = TJ_FN(tj_copysign_##NAME)(r + (V)((I)y & TJ_FN(tj_lt_##NAME)(r, (V){0})), a);                  \
    if (TJ_FN(ANY)(~fine)) { /* rare */                                                     \
      V slow = a;                                                                                      \
      for (int i = 0; i < TJ_LANES; i++) slow[i] = tj_fmod_##NAME##x1(a[i], b[i]);                     \
      r = slow;                                                                                        \
    }                                                                                                  \
    return r;                                                                                          \
  }                                                                                                    \
  TJ_INLINE V TJ_FN(tj_remainder_##NAME)(V a, V b) {                                                   \
    V r = TJ_FN(tj_fmod_##NAME)(a, b), zero = {0};                                                     \
    I none = TJ_FN(tj_eq_##NAME)(r, zero) & TJ_FN(tj_ne_##NAME)(b, zero);                              \
    I apart = (TJ_FN(tj_lt_##NAME)(r, zero) ^ TJ_FN(tj_lt_##NAME)(b, zero)) & TJ_FN(tj_ne_##NAME)(b, zero); \
    return TJ_FN(tj_select_##NAME)(none, TJ_FN(tj_copysign_##NAME)(zero, b), TJ_FN(tj_select_##NAME)(apart, r + b, r)); \
  }                                                                                                    \
  TJ_INLINE V TJ_FN(tj_floor_divide_##NAME)(V a, V b) {                                                \
    V r = TJ_FN(tj_fmod_##NAME)(a, b), zero = {0}, half = TJ_FN(tj_splat_##NAME)(0.5f), one = half + half; \
    I apart = (TJ_FN(tj_lt_##NAME)(r, zero) ^ TJ_FN(tj_lt_##NAME)(b, zero)) & TJ_FN(tj_ne_##NAME)(r, zero); \
    V whole = (a - r) / b;                                                                             \
    whole = TJ_FN(tj_select_##NAME)(apart, whole - one, whole);                                        \
    V down = TJ_FN(tj_floor_##NAME)(whole);                                                            \
    V near = TJ_FN(tj_select_##NAME)(TJ_FN(tj_gt_##NAME)(whole - down, half), down + one, down);       \
    near = TJ_FN(tj_select_##NAME)(TJ_FN(tj_eq_##NAME)(whole, zero), TJ_FN(tj_copysign_##NAME)(zero, a / b), near); \
    return TJ_FN(tj_select_##NAME)(TJ_FN(tj_eq_##NAME)(b, zero), a / b, near);                         \
  }
TJ_REMAINDERS(f32, TJ_F32, TJ_I32, tj_any_i32, 0x1p23f, 0x1.fffffep127f)
TJ_REMAINDERS(f64, TJ_F64, TJ_I64, tj_any_i64, 0x1p52, 0x1.fffffffffffffp1023)
#undef TJ_REMAINDERS

/* Integers of four bytes by float64, in which their quotient's whole part comes out right. x / 0 is 0, the smallest / -1 wraps. */
TJ_INLINE TJ_I32 TJ_FN(tj_whole_i32)(TJ_I32 a, TJ_I32 b) { /* towards zero; by 1 instead where C leaves it undefined: then b times it is right */
  TJ_I32 zero = {0}, by_one = TJ_FN(tj_eq_i32)(b, zero) | (TJ_FN(tj_eq_i32)(a, zero + INT32_MIN) & TJ_FN(tj_eq_i32)(b, zero - 1));
  TJ_F64 q = TJ_FN(tj_f64_from_i32)(a) / TJ_FN(tj_f64_from_i32)(TJ_FN(tj_select_i32)(by_one, zero + 1, b));
  return __builtin_convertvector(q, TJ_I32);
}
TJ_INLINE TJ_I32 TJ_FN(tj_fmod_i32)(TJ_I32 a, TJ_I32 b) {
  TJ_I32 zero = {0};
  return (a - TJ_FN(tj_whole_i32)(a, b) * b) & TJ_FN(tj_ne_i32)(b, zero);
}
TJ_INLINE TJ_I32 TJ_FN(tj_remainder_i32)(TJ_I32 a, TJ_I32 b) {
  TJ_I32 zero = {0}, r = TJ_FN(tj_fmod_i32)(a, b);
  return r + (b & TJ_FN(tj_ne_i32)(r, zero) & TJ_FN(tj_lt_i32)(r ^ b, zero));
}
TJ_INLINE TJ_I32 TJ_FN(tj_floor_divide_i32)(TJ_I32 a, TJ_I32 b) {
  TJ_I32 zero = {0}, q = TJ_FN(tj_whole_i32)(a, b), r = a - q * b;
  return (q + (TJ_FN(tj_ne_i32)(r, zero) & TJ_FN(tj_lt_i32)(r ^ b, zero))) & TJ_FN(tj_ne_i32)(b, zero);
}

TJ_EACH_LANE_INTEGER(bitwise_left_shift)
TJ_EACH_LANE_INTEGER(bitwise_right_shift)
TJ_EACH_LANE_INTEGER(pow)
TJ_EACH_LANE(nextafter, f32)
TJ_EACH_LANE(nextafter, f64)
#endif
#undef TJ_DEFINED
