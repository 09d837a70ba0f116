/* lanes/native.h: vector types, and the few operations for which GNU vector types have no operator, for the vector
   sizes that the target's registers have. Included once by lanes.h, only by compilers with GNU vector types.

   Out: the types for 2 to 32 lanes; TJ_VECTOR_BYTES, the widest register; TJ_HAS_FMA and TJ_HAS_ROUND; and for each
   size up to TJ_VECTOR_BYTES the functions tj_hw_{fma,sqrt,rint,floor,ceil,trunc,least,most,scale,nans}_<type>xN, tj_hw_any_i32xN, tj_hw_stream_f32xN. On x86
   the compiler's own builtins are used instead of immintrin.h, which takes longer to read than a kernel takes to compile. */

#define TJ_VECTOR_TYPE(NAME, T, N)                                                                     \
  typedef T NAME##x##N __attribute__((vector_size(N * sizeof(T))));                                    \
  typedef T NAME##x##N##_any __attribute__((vector_size(N * sizeof(T)), aligned(sizeof(T)), may_alias));
#define TJ_VECTOR_TYPES(N)                                                                             \
  TJ_VECTOR_TYPE(f32, float, N)                                                                        \
  TJ_VECTOR_TYPE(f64, double, N)                                                                       \
  TJ_VECTOR_TYPE(i32, int32_t, N)                                                                      \
  TJ_VECTOR_TYPE(i64, int64_t, N)                                                                      \
  TJ_VECTOR_TYPE(u8, uint8_t, N)                                                                       \
  TJ_VECTOR_TYPE(i8, int8_t, N)
TJ_VECTOR_TYPES(2)
TJ_VECTOR_TYPES(4)
TJ_VECTOR_TYPES(8)
TJ_VECTOR_TYPES(16)
TJ_VECTOR_TYPES(32)

#if defined __AVX512F__ && defined __AVX512DQ__ && defined __AVX512BW__ && defined __AVX512VL__
#define TJ_VECTOR_BYTES 64
#elif defined __AVX2__
#define TJ_VECTOR_BYTES 32
#else
#define TJ_VECTOR_BYTES 16
#endif

#if defined __FMA__ || defined __AVX512F__ || defined __aarch64__ || defined __FP_FAST_FMA
#define TJ_HAS_FMA 1
#endif
#if defined __SSE4_1__ || defined __aarch64__
#define TJ_HAS_ROUND 1
#endif

/* The halves of a float32 vector as float64 of N lanes, and back. (A union would do, but then goes through memory.) */
#if defined __clang__ || __GNUC__ >= 12
#define TJ_INDEX_2(FROM) FROM, FROM + 1
#define TJ_INDEX_4(FROM) TJ_INDEX_2(FROM), TJ_INDEX_2(FROM + 2)
#define TJ_INDEX_8(FROM) TJ_INDEX_4(FROM), TJ_INDEX_4(FROM + 4)
#define TJ_INDEX_16(FROM) TJ_INDEX_8(FROM), TJ_INDEX_8(FROM + 8)
#define TJ_INDEX_32(FROM) TJ_INDEX_16(FROM), TJ_INDEX_16(FROM + 16)
#define TJ_LOW(N, v) __builtin_convertvector(__builtin_shufflevector(v, v, TJ_CAT(TJ_INDEX_, N)(0)), TJ_CAT(f64x, N))
#define TJ_HIGH(N, v) __builtin_convertvector(__builtin_shufflevector(v, v, TJ_CAT(TJ_INDEX_, N)(N)), TJ_CAT(f64x, N))
#define TJ_JOIN_(N, low, high, ...) \
  __builtin_shufflevector(__builtin_convertvector(low, TJ_CAT(f32x, N)), __builtin_convertvector(high, TJ_CAT(f32x, N)), __VA_ARGS__)
#define TJ_JOIN_2(low, high) TJ_JOIN_(2, low, high, TJ_INDEX_4(0))
#define TJ_JOIN_4(low, high) TJ_JOIN_(4, low, high, TJ_INDEX_8(0))
#define TJ_JOIN_8(low, high) TJ_JOIN_(8, low, high, TJ_INDEX_16(0))
#define TJ_JOIN_16(low, high) TJ_JOIN_(16, low, high, TJ_INDEX_32(0))
#define TJ_JOIN(N, low, high) TJ_CAT(TJ_JOIN_, N)(low, high)
#else
#define TJ_HALVES(N) union { float __attribute__((vector_size(N * 8))) v; float __attribute__((vector_size(N * 4))) half[2]; }
#define TJ_LOW(N, v_) __extension__({ TJ_HALVES(N) u; u.v = v_; __builtin_convertvector(u.half[0], TJ_CAT(f64x, N)); })
#define TJ_HIGH(N, v_) __extension__({ TJ_HALVES(N) u; u.v = v_; __builtin_convertvector(u.half[1], TJ_CAT(f64x, N)); })
#define TJ_JOIN(N, low, high)                                                                          \
  __extension__({                                                                                      \
    TJ_HALVES(N) u;                                                                                    \
    u.half[0] = __builtin_convertvector(low, TJ_CAT(f32x, N));                                         \
    u.half[1] = __builtin_convertvector(high, TJ_CAT(f32x, N));                                        \
    u.v;                                                                                               \
  })
#endif

#if defined __SSE2__
#include "x86.h"
#else
#include "portable.h"
#endif
