/* lanes/x86.h: the operations of lanes/native.h on x86-64. The compiler's builtins are named directly: they are
   what immintrin.h wraps, without its reading time. gcc and clang differ in a few names. */

#ifdef __clang__
#define TJ_512(NAME, V, a) __builtin_ia32_##NAME##512(a, 4)
#else
#define TJ_512(NAME, V, a) __builtin_ia32_##NAME##512_mask(a, a, -1, 4)
#endif

/* fma */
#if TJ_HAS_FMA
TJ_INLINE f32x4 tj_hw_fma_f32x4(f32x4 a, f32x4 b, f32x4 c) { return __builtin_ia32_vfmaddps(a, b, c); }
TJ_INLINE f64x2 tj_hw_fma_f64x2(f64x2 a, f64x2 b, f64x2 c) { return __builtin_ia32_vfmaddpd(a, b, c); }
#if TJ_VECTOR_BYTES >= 32
TJ_INLINE f32x8 tj_hw_fma_f32x8(f32x8 a, f32x8 b, f32x8 c) { return __builtin_ia32_vfmaddps256(a, b, c); }
TJ_INLINE f64x4 tj_hw_fma_f64x4(f64x4 a, f64x4 b, f64x4 c) { return __builtin_ia32_vfmaddpd256(a, b, c); }
#endif
#if TJ_VECTOR_BYTES >= 64
TJ_INLINE f32x16 tj_hw_fma_f32x16(f32x16 a, f32x16 b, f32x16 c) { return __builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4); }
TJ_INLINE f64x8 tj_hw_fma_f64x8(f64x8 a, f64x8 b, f64x8 c) { return __builtin_ia32_vfmaddpd512_mask(a, b, c, -1, 4); }
#endif
#else
/* As tj_fma_f32x1 without hardware: exact product, sum rounded to odd, one rounding to float32. */
#define TJ_FMA_BY_DOUBLE(N, HALF)                                                                      \
  TJ_INLINE f64x##HALF tj_hw_sum_to_odd_x##HALF(f64x##HALF product, f64x##HALF addend) {               \
    f64x##HALF sum = product + addend, part = sum - product;                                           \
    f64x##HALF rest = (product - (sum - part)) + (addend - part);                                      \
    i64x##HALF up = (rest > 0) & ~((i64x##HALF)sum), down = (rest < 0) & ~((i64x##HALF)sum);           \
    i64x##HALF away = (up & 1) - (down & 1), minus = sum < 0;                                          \
    return (f64x##HALF)((i64x##HALF)sum + ((away ^ minus) - minus));                                   \
  }                                                                                                    \
  TJ_INLINE f32x##N tj_hw_fma_f32x##N(f32x##N a, f32x##N b, f32x##N c) {                               \
    f64x##HALF low = tj_hw_sum_to_odd_x##HALF(TJ_LOW(HALF, a) * TJ_LOW(HALF, b), TJ_LOW(HALF, c));     \
    f64x##HALF high = tj_hw_sum_to_odd_x##HALF(TJ_HIGH(HALF, a) * TJ_HIGH(HALF, b), TJ_HIGH(HALF, c)); \
    return TJ_JOIN(HALF, low, high);                                                                   \
  }
#define TJ_FMA_BY_LANE(N)                                                                              \
  TJ_INLINE f64x##N tj_hw_fma_f64x##N(f64x##N a, f64x##N b, f64x##N c) {                               \
    f64x##N r = a;                                                                                     \
    for (int i = 0; i < N; i++) r[i] = __builtin_fma(a[i], b[i], c[i]);                                \
    return r;                                                                                          \
  }
TJ_FMA_BY_DOUBLE(4, 2)
TJ_FMA_BY_LANE(2)
#if TJ_VECTOR_BYTES >= 32
TJ_FMA_BY_DOUBLE(8, 4)
TJ_FMA_BY_LANE(4)
#endif
#endif

/* sqrt */
#ifdef __has_builtin
#if __has_builtin(__builtin_elementwise_sqrt)
#define TJ_SQRT(SUFFIX, a) __builtin_elementwise_sqrt(a)
#endif
#endif
#ifndef TJ_SQRT
#define TJ_SQRT(SUFFIX, a) __builtin_ia32_sqrt##SUFFIX(a)
#endif
TJ_INLINE f32x4 tj_hw_sqrt_f32x4(f32x4 a) { return TJ_SQRT(ps, a); }
TJ_INLINE f64x2 tj_hw_sqrt_f64x2(f64x2 a) { return TJ_SQRT(pd, a); }
#if TJ_VECTOR_BYTES >= 32
TJ_INLINE f32x8 tj_hw_sqrt_f32x8(f32x8 a) { return TJ_SQRT(ps256, a); }
TJ_INLINE f64x4 tj_hw_sqrt_f64x4(f64x4 a) { return TJ_SQRT(pd256, a); }
#endif
#if TJ_VECTOR_BYTES >= 64
TJ_INLINE f32x16 tj_hw_sqrt_f32x16(f32x16 a) { return TJ_512(sqrtps, f32x16, a); }
TJ_INLINE f64x8 tj_hw_sqrt_f64x8(f64x8 a) { return TJ_512(sqrtpd, f64x8, a); }
#endif

/* rounding: immediate 8 nearest even, 9 down, 10 up, 11 towards zero, all without raising inexact */
#if TJ_HAS_ROUND
#define TJ_ROUNDING(V, BUILTIN)                                                                        \
  TJ_INLINE V tj_hw_rint_##V(V a) { return __builtin_ia32_##BUILTIN(a, 8); }                           \
  TJ_INLINE V tj_hw_floor_##V(V a) { return __builtin_ia32_##BUILTIN(a, 9); }                          \
  TJ_INLINE V tj_hw_ceil_##V(V a) { return __builtin_ia32_##BUILTIN(a, 10); }                          \
  TJ_INLINE V tj_hw_trunc_##V(V a) { return __builtin_ia32_##BUILTIN(a, 11); }
TJ_ROUNDING(f32x4, roundps)
TJ_ROUNDING(f64x2, roundpd)
#if TJ_VECTOR_BYTES >= 32
TJ_ROUNDING(f32x8, roundps256)
TJ_ROUNDING(f64x4, roundpd256)
#endif
#if TJ_VECTOR_BYTES >= 64
#define TJ_ROUNDING_512(V, SUFFIX)                                                                     \
  TJ_INLINE V tj_hw_rint_##V(V a) { return __builtin_ia32_rndscale##SUFFIX##_mask(a, 8, a, -1, 4); }   \
  TJ_INLINE V tj_hw_floor_##V(V a) { return __builtin_ia32_rndscale##SUFFIX##_mask(a, 9, a, -1, 4); }  \
  TJ_INLINE V tj_hw_ceil_##V(V a) { return __builtin_ia32_rndscale##SUFFIX##_mask(a, 10, a, -1, 4); }  \
  TJ_INLINE V tj_hw_trunc_##V(V a) { return __builtin_ia32_rndscale##SUFFIX##_mask(a, 11, a, -1, 4); }
TJ_ROUNDING_512(f32x16, ps)
TJ_ROUNDING_512(f64x8, pd)
#endif
#else /* as in lanes/scalar.h */
#define TJ_ROUNDING(V, I, SIGN, BIG)                                                                   \
  TJ_INLINE V tj_hw_rint_##V(V x) {                                                                    \
    I sign = (I)x & SIGN;                                                                              \
    V size = (V)((I)x & ~SIGN), sum = size + BIG;                                                      \
    I small = size < BIG;                                                                              \
    return (V)((((I)(sum - BIG) | sign) & small) | ((I)x & ~small));                                   \
  }                                                                                                    \
  TJ_INLINE V tj_hw_floor_##V(V x) {                                                                   \
    V near = tj_hw_rint_##V(x), less = near - 1;                                                       \
    I over = near > x;                                                                                 \
    return (V)(((I)less & over) | ((I)near & ~over));                                                  \
  }                                                                                                    \
  TJ_INLINE V tj_hw_ceil_##V(V x) {                                                                    \
    V near = tj_hw_rint_##V(x), more = near + 1;                                                       \
    I under = near < x;                                                                                \
    return (V)((((I)more | ((I)x & SIGN)) & under) | ((I)near & ~under));                              \
  }                                                                                                    \
  TJ_INLINE V tj_hw_trunc_##V(V x) {                                                                   \
    return (V)((I)tj_hw_floor_##V((V)((I)x & ~SIGN)) | ((I)x & SIGN));                                 \
  }
TJ_ROUNDING(f32x4, i32x4, INT32_MIN, 0x1p23f)
TJ_ROUNDING(f64x2, i64x2, INT64_MIN, 0x1p52)
#endif

/* a < b ? a : b and a > b ? a : b: clang sees the instruction in the comparison, gcc has to be told */
#ifdef __clang__
#define TJ_EXTREMES(V, I, SUFFIX)                                                                      \
  TJ_INLINE V tj_hw_least_##V(V a, V b) { I m = a < b; return (V)(((I)a & m) | ((I)b & ~m)); }         \
  TJ_INLINE V tj_hw_most_##V(V a, V b) { I m = a > b; return (V)(((I)a & m) | ((I)b & ~m)); }
#define TJ_EXTREMES_512(V, I, SUFFIX) TJ_EXTREMES(V, I, SUFFIX)
#else
#define TJ_EXTREMES(V, I, SUFFIX)                                                                      \
  TJ_INLINE V tj_hw_least_##V(V a, V b) { return __builtin_ia32_min##SUFFIX(a, b); }                   \
  TJ_INLINE V tj_hw_most_##V(V a, V b) { return __builtin_ia32_max##SUFFIX(a, b); }
#define TJ_EXTREMES_512(V, I, SUFFIX)                                                                  \
  TJ_INLINE V tj_hw_least_##V(V a, V b) { return __builtin_ia32_min##SUFFIX##_mask(a, b, a, -1, 4); }  \
  TJ_INLINE V tj_hw_most_##V(V a, V b) { return __builtin_ia32_max##SUFFIX##_mask(a, b, a, -1, 4); }
#endif
TJ_EXTREMES(f32x4, i32x4, ps)
TJ_EXTREMES(f64x2, i64x2, pd)
#if TJ_VECTOR_BYTES >= 32
TJ_EXTREMES(f32x8, i32x8, ps256)
TJ_EXTREMES(f64x4, i64x4, pd256)
#endif
#if TJ_VECTOR_BYTES >= 64
TJ_EXTREMES_512(f32x16, i32x16, ps512)
TJ_EXTREMES_512(f64x8, i64x8, pd512)
#endif

/* of a table of eight, written twice: the elements whose numbers are `place` modulo 8 */
#if TJ_VECTOR_BYTES >= 32
TJ_INLINE f32x8 tj_hw_pick_f32x8(const float *table, i32x8 place) { return __builtin_ia32_permvarsf256(*(const f32x8_any *)table, place); }
#endif
#if TJ_VECTOR_BYTES >= 64
#ifdef __clang__
TJ_INLINE f32x16 tj_hw_pick_f32x16(const float *table, i32x16 place) { return __builtin_ia32_permvarsf512(*(const f32x16_any *)table, place); }
#else
TJ_INLINE f32x16 tj_hw_pick_f32x16(const float *table, i32x16 place) {
  f32x16 all = *(const f32x16_any *)table;
  return __builtin_ia32_permvarsf512_mask(all, place, all, -1);
}
#endif
#endif

/* whether a or b is NaN, lane by lane; AVX-512 gives a number with a bit for each lane */
#if TJ_VECTOR_BYTES >= 64
TJ_INLINE int tj_hw_nans_f32x16(f32x16 a, f32x16 b) { return (uint16_t)__builtin_ia32_cmpps512_mask(a, b, 3, -1, 4); }
TJ_INLINE int tj_hw_nans_f32x8(f32x8 a, f32x8 b) { return (uint8_t)__builtin_ia32_cmpps256_mask(a, b, 3, -1); }
TJ_INLINE int tj_hw_nans_f64x8(f64x8 a, f64x8 b) { return (uint8_t)__builtin_ia32_cmppd512_mask(a, b, 3, -1, 4); }
#elif TJ_VECTOR_BYTES >= 32
TJ_INLINE i32x8 tj_hw_nans_f32x8(f32x8 a, f32x8 b) { return (i32x8)__builtin_ia32_cmpps256(a, b, 3); }
TJ_INLINE i64x4 tj_hw_nans_f64x4(f64x4 a, f64x4 b) { return (i64x4)__builtin_ia32_cmppd256(a, b, 3); }
#else
TJ_INLINE i32x4 tj_hw_nans_f32x4(f32x4 a, f32x4 b) { return (i32x4)__builtin_ia32_cmpunordps(a, b); }
TJ_INLINE i64x2 tj_hw_nans_f64x2(f64x2 a, f64x2 b) { return (i64x2)__builtin_ia32_cmpunordpd(a, b); }
#endif

/* x * 2^n: AVX-512 has an instruction. Otherwise the power of two is multiplied in two halves, which rounds once as well:
   at most one of the two products can be inexact. */
#if TJ_VECTOR_BYTES >= 64
TJ_INLINE f32x4 tj_hw_scale_f32x4(f32x4 x, f32x4 n) { return __builtin_ia32_scalefps128_mask(x, n, x, -1); }
TJ_INLINE f64x2 tj_hw_scale_f64x2(f64x2 x, f64x2 n) { return __builtin_ia32_scalefpd128_mask(x, n, x, -1); }
TJ_INLINE f32x8 tj_hw_scale_f32x8(f32x8 x, f32x8 n) { return __builtin_ia32_scalefps256_mask(x, n, x, -1); }
TJ_INLINE f64x4 tj_hw_scale_f64x4(f64x4 x, f64x4 n) { return __builtin_ia32_scalefpd256_mask(x, n, x, -1); }
TJ_INLINE f32x16 tj_hw_scale_f32x16(f32x16 x, f32x16 n) { return __builtin_ia32_scalefps512_mask(x, n, x, -1, 4); }
TJ_INLINE f64x8 tj_hw_scale_f64x8(f64x8 x, f64x8 n) { return __builtin_ia32_scalefpd512_mask(x, n, x, -1, 4); }
#else
#define TJ_SCALE(V, I, MAGIC, MAGIC_BITS, BIAS, BITS)                                                  \
  TJ_INLINE V tj_hw_scale_##V(V x, V n) {                                                              \
    I e = (I)(n + MAGIC) - MAGIC_BITS, half = e >> 1;                                                  \
    return x * (V)((half + BIAS) << BITS) * (V)((e - half + BIAS) << BITS);                            \
  }
#define TJ_SCALE_F32(V, I) TJ_SCALE(V, I, 0x1.8p23f, 0x4b400000, 127, 23)
#define TJ_SCALE_F64(V, I) TJ_SCALE(V, I, 0x1.8p52, INT64_C(0x4338000000000000), 1023, 52)
TJ_SCALE_F32(f32x4, i32x4)
TJ_SCALE_F64(f64x2, i64x2)
#if TJ_VECTOR_BYTES >= 32
TJ_SCALE_F32(f32x8, i32x8)
TJ_SCALE_F64(f64x4, i64x4)
#endif
#endif

/* is any lane of a mask set? */
TJ_INLINE int tj_hw_any_i32x4(i32x4 mask) { return __builtin_ia32_pmovmskb128((char __attribute__((vector_size(16))))mask) != 0; }
#if TJ_VECTOR_BYTES >= 32
TJ_INLINE int tj_hw_any_i32x8(i32x8 mask) { return __builtin_ia32_pmovmskb256((char __attribute__((vector_size(32))))mask) != 0; }
#endif
#if TJ_VECTOR_BYTES >= 64
TJ_INLINE int tj_hw_any_i32x16(i32x16 mask) { return __builtin_ia32_cvtd2mask512(mask) != 0; }
#endif

/* stores that pass by the cache; p is aligned to the size of the vector */
#ifdef __clang__
#define TJ_STREAM(N, BUILTIN) \
  TJ_INLINE void tj_hw_stream_f32x##N(float *p, f32x##N v) { __builtin_nontemporal_store(v, (f32x##N *)(void *)p); }
#else
#define TJ_STREAM(N, BUILTIN) \
  TJ_INLINE void tj_hw_stream_f32x##N(float *p, f32x##N v) { BUILTIN(p, v); }
#endif
TJ_STREAM(4, __builtin_ia32_movntps)
#if TJ_VECTOR_BYTES >= 32
TJ_STREAM(8, __builtin_ia32_movntps256)
#endif
#if TJ_VECTOR_BYTES >= 64
TJ_STREAM(16, __builtin_ia32_movntps512)
#endif
TJ_INLINE void tj_stream_fence(void) { __builtin_ia32_sfence(); }
