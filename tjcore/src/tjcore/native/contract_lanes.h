/* contract_lanes.h: vectors of the element type T for the product kernels.

   In: the element type, as one of TJ_F32, TJ_F64, TJ_I32, TJ_I64 defined by the including file. Out: T, the vector V of
   W lanes and the v_ functions. Compilers without GNU vector extensions get W = 1: the same code, one lane, same bits.
   TILE_ROWS x TILE_VECS vectors are the accumulators of a register tile: as many as the registers hold. */
#include <math.h>
#include <string.h>
#if defined(__GNUC__) && !defined(__TINYC__)
#define TJ_VECTORS 1
#define TJ_INLINE static inline __attribute__((always_inline))
#if defined(__clang__)
#define TJ_UNROLL _Pragma("clang loop unroll(full)")
#else
#define TJ_UNROLL _Pragma("GCC unroll 16")
#endif
#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif
#else
#define TJ_VECTORS 0
#define TJ_INLINE static inline
#define TJ_UNROLL
#endif

#if defined(TJ_F32)
#define T float
#define T_BYTES 4
#define scalar_fma(a, b, c) fmaf(a, b, c)
#elif defined(TJ_F64)
#define T double
#define T_BYTES 8
#define scalar_fma(a, b, c) fma(a, b, c)
#elif defined(TJ_I32)
#define T uint32_t
#define T_BYTES 4
#define scalar_fma(a, b, c) ((a) * (b) + (c))
#else
#define T uint64_t
#define T_BYTES 8
#define scalar_fma(a, b, c) ((a) * (b) + (c))
#endif

#if !TJ_VECTORS
#define V_BYTES T_BYTES
#elif defined(__AVX512F__)
#define V_BYTES 64
#elif defined(__AVX2__)
#define V_BYTES 32
#else
#define V_BYTES 16
#endif
#define W (V_BYTES / T_BYTES)

#ifndef TILE_ROWS
#if defined(__AVX512F__) || defined(__aarch64__) /* 32 registers: 24 sums, 3 of B, some of A */
#define TILE_ROWS 8
#define TILE_VECS 3
#elif defined(__AVX2__) /* 16 registers: 12 sums, 2 of B, 1 of A */
#define TILE_ROWS 6
#define TILE_VECS 2
#else
#define TILE_ROWS 4
#define TILE_VECS 2
#endif
#endif
#define TILE_COLS (TILE_VECS * W)

/* Whether loading and storing a part of a vector costs no more than a whole one. */
#if TJ_VECTORS && defined(__AVX512F__)
#define CHEAP_PARTS 1
#else
#define CHEAP_PARTS 0
#endif

#if !TJ_VECTORS
typedef T V;
TJ_INLINE V v_load(const T *p) { return *p; }
TJ_INLINE void v_store(T *p, V v) { *p = v; }
TJ_INLINE V v_load_part(const T *p, int64_t count) { return count ? *p : 0; }
TJ_INLINE void v_store_part(T *p, V v, int64_t count) { if (count) *p = v; }
TJ_INLINE V v_all(T x) { return x; }
TJ_INLINE V v_fma(V a, V b, V c) { return scalar_fma(a, b, c); }
TJ_INLINE void v_transpose(V *x) { (void)x; }
#define v_prefetch(p) ((void)(p))
#define v_prefetch_out(p) ((void)(p))
#define v_again(p) (p)
#else
typedef T V __attribute__((vector_size(V_BYTES)));
typedef T V_anywhere __attribute__((vector_size(V_BYTES), aligned(T_BYTES), may_alias));
TJ_INLINE V v_load(const T *p) { return *(const V_anywhere *)p; }
TJ_INLINE void v_store(T *p, V v) { *(V_anywhere *)p = v; }
#define v_prefetch(p) __builtin_prefetch(p)
#define v_prefetch_out(p) __builtin_prefetch(p, 1)
TJ_INLINE T *v_again(T *p) { /* the same pointer, of which the compiler knows nothing */
  __asm__("" : "+r"(p));
  return p;
}

TJ_INLINE V v_all(T x) {
#if W == 16
  return (V){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x};
#elif W == 8
  return (V){x, x, x, x, x, x, x, x};
#elif W == 4
  return (V){x, x, x, x};
#else
  return (V){x, x};
#endif
}

/* The first `count` lanes, 0 <= count <= W; the rest are 0 and their memory is not touched. */
TJ_INLINE V v_load_part(const T *p, int64_t count) {
#if defined(__AVX512F__) && T_BYTES == 4
  return (V)_mm512_maskz_loadu_epi32((__mmask16)((1u << count) - 1), p);
#elif defined(__AVX512F__)
  return (V)_mm512_maskz_loadu_epi64((__mmask8)((1u << count) - 1), p);
#elif defined(__AVX2__) && T_BYTES == 4
  __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return (V)_mm256_maskload_epi32((const int *)p, _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), lanes));
#elif defined(__AVX2__)
  __m256i lanes = _mm256_setr_epi64x(0, 1, 2, 3);
  return (V)_mm256_maskload_epi64((const long long *)p, _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), lanes));
#else
  T lanes[W];
  for (int64_t i = 0; i < W; i++) lanes[i] = i < count ? p[i] : 0;
  return v_load(lanes);
#endif
}

TJ_INLINE void v_store_part(T *p, V v, int64_t count) {
#if defined(__AVX512F__) && T_BYTES == 4
  _mm512_mask_storeu_epi32(p, (__mmask16)((1u << count) - 1), (__m512i)v);
#elif defined(__AVX512F__)
  _mm512_mask_storeu_epi64(p, (__mmask8)((1u << count) - 1), (__m512i)v);
#else
  for (int64_t i = 0; i < W; i++)
    if (i < count) p[i] = v[i];
#endif
}

/* One rounding, whatever the machine has. */
TJ_INLINE V v_fma(V a, V b, V c) {
#if defined(TJ_I32) || defined(TJ_I64)
  return a * b + c;
#elif defined(__AVX512F__) && T_BYTES == 4
  return (V)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__AVX512F__)
  return (V)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__AVX2__) && defined(__FMA__) && T_BYTES == 4
  return (V)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__AVX2__) && defined(__FMA__)
  return (V)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#elif defined(__aarch64__) && T_BYTES == 4
  return (V)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#elif defined(__aarch64__)
  return (V)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
#else
  V r;
  for (int i = 0; i < W; i++) r[i] = scalar_fma(a[i], b[i], c[i]);
  return r;
#endif
}

/* One step of a transposition: swaps blocks of `d` lanes off the diagonal between two vectors. */
#if defined(__clang__) || __GNUC__ >= 12
#define v_shuffle(x, y, ...) __builtin_shufflevector(x, y, __VA_ARGS__)
#elif T_BYTES == 4
typedef int32_t V_index __attribute__((vector_size(V_BYTES)));
#define v_shuffle(x, y, ...) __builtin_shuffle(x, y, (V_index){__VA_ARGS__})
#else
typedef int64_t V_index __attribute__((vector_size(V_BYTES)));
#define v_shuffle(x, y, ...) __builtin_shuffle(x, y, (V_index){__VA_ARGS__})
#endif
#define SWAP(d, low, high)                                \
  TJ_UNROLL for (int i = 0; i < W; i++) if (!(i & d)) {   \
    V p = x[i], q = x[i + d];                             \
    x[i] = v_shuffle(p, q, low), x[i + d] = v_shuffle(p, q, high); \
  }
#define LANES(...) __VA_ARGS__

/* x[i][j] becomes x[j][i]. */
TJ_INLINE void v_transpose(V *x) {
#if W == 16
  SWAP(1, LANES(0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30), LANES(1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31))
  SWAP(2, LANES(0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29), LANES(2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31))
  SWAP(4, LANES(0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27), LANES(4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31))
  SWAP(8, LANES(0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23), LANES(8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31))
#elif W == 8
  SWAP(1, LANES(0, 8, 2, 10, 4, 12, 6, 14), LANES(1, 9, 3, 11, 5, 13, 7, 15))
  SWAP(2, LANES(0, 1, 8, 9, 4, 5, 12, 13), LANES(2, 3, 10, 11, 6, 7, 14, 15))
  SWAP(4, LANES(0, 1, 2, 3, 8, 9, 10, 11), LANES(4, 5, 6, 7, 12, 13, 14, 15))
#elif W == 4
  SWAP(1, LANES(0, 4, 2, 6), LANES(1, 5, 3, 7))
  SWAP(2, LANES(0, 1, 4, 5), LANES(2, 3, 6, 7))
#else
  SWAP(1, LANES(0, 2), LANES(1, 3))
#endif
}
#undef SWAP
#undef LANES
#endif
