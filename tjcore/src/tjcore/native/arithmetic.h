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

/* For vectors lane by lane: no processor divides integers or takes remainders in vectors. */
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
#define TJ_EACH_LANE_FLOAT(OP) TJ_EACH_LANE(OP, f32) TJ_EACH_LANE(OP, f64)
TJ_EACH_LANE_INTEGER(floor_divide)
TJ_EACH_LANE_INTEGER(remainder)
TJ_EACH_LANE_INTEGER(fmod)
TJ_EACH_LANE_INTEGER(bitwise_left_shift)
TJ_EACH_LANE_INTEGER(bitwise_right_shift)
TJ_EACH_LANE_INTEGER(pow)
TJ_EACH_LANE_FLOAT(floor_divide)
TJ_EACH_LANE_FLOAT(remainder)
TJ_EACH_LANE_FLOAT(fmod)
TJ_EACH_LANE_FLOAT(nextafter)
#endif
#undef TJ_DEFINED
