/* lanes.h: the vector layer that kernels and math/ are written on.

   In:  TJ_LANES, the number of lanes W: 1, 4, 8, 16 or 32 (2 serves as the half of 4). Include the file
        again after changing TJ_LANES; a width that was there before is not defined twice.
   Out: types f32xW f64xW i32xW i64xW u8xW (GNU vectors; for W = 1 plain scalars, so that any C11 compiler
        takes them), functions tj_<name>_<type>xW on them, and for templates TJ_FN(name) -> namexW, TJ_F(name) ->
        tj_<name>_f32xW, TJ_D(name) -> tj_<name>_f64xW, and the type names TJ_F32 TJ_F64 TJ_I32 TJ_I64 TJ_U8 of the current width.
   Law: every function gives the same bits on every compiler, optimisation level, width and instruction set
        (of a NaN only that it is one). Operators + - * / & | ^ ~ may be used on the types directly; never pass
        -ffast-math, always pass -ffp-contract=off. A mask is an integer vector of the same lane size whose lanes
        are 0 or -1. Rounding is to nearest, subnormals are kept.
   Link with -lm: without hardware for it, fma in double precision comes from libm. */
#ifndef TJ_LANES_H
#define TJ_LANES_H
#include <stdint.h>

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

#define TJ_CAT_(a, b) a##b
#define TJ_CAT(a, b) TJ_CAT_(a, b)
#define TJ_FN(name) TJ_CAT(name##x, TJ_LANES)
#define TJ_F(name) TJ_FN(tj_##name##_f32) /* TJ_F(exp) -> tj_exp_f32x16 */
#define TJ_D(name) TJ_FN(tj_##name##_f64)
#define TJ_F32 TJ_FN(f32)
#define TJ_F64 TJ_FN(f64)
#define TJ_I32 TJ_FN(i32)
#define TJ_I64 TJ_FN(i64)
#define TJ_U8 TJ_FN(u8)
#define TJ_I8 TJ_FN(i8)


/* A float32 function may compute in float64 on halves: TJ_HALF_LANES lanes of TJ_HALF_F64, two of them for one TJ_F32. */
#define TJ_HALF_1 1
#define TJ_HALF_2 1
#define TJ_HALF_4 2
#define TJ_HALF_8 4
#define TJ_HALF_16 8
#define TJ_HALF_32 16
#define TJ_HALF_LANES TJ_CAT(TJ_HALF_, TJ_LANES)
#define TJ_HALF_F64 TJ_CAT(f64x, TJ_HALF_LANES)
#define TJ_HALF_D(name) TJ_CAT(TJ_CAT(tj_##name##_f64, x), TJ_HALF_LANES)
/* float32 NAME from float64 NAME: math/NAME_f64.h must be there for the half width (math/half_begin.h) */
#define TJ_THROUGH_F64(NAME, FUNCTION)                                                                 \
  TJ_INLINE TJ_F32 TJ_F(NAME)(TJ_F32 x) {                                                              \
    return TJ_F(join)(TJ_HALF_D(FUNCTION)(TJ_F(low)(x)), TJ_HALF_D(FUNCTION)(TJ_F(high)(x)));          \
  }
#define TJ_THROUGH_F64_2(NAME, FUNCTION)                                                               \
  TJ_INLINE TJ_F32 TJ_F(NAME)(TJ_F32 x, TJ_F32 y) {                                                    \
    return TJ_F(join)(TJ_HALF_D(FUNCTION)(TJ_F(low)(x), TJ_F(low)(y)),                                 \
                      TJ_HALF_D(FUNCTION)(TJ_F(high)(x), TJ_F(high)(y)));                              \
  }

/* Store past the cache where `past` is not 0 (then p is aligned to 64 bytes); V names the type, as in tj_put(f32x16, 0, p, v). */
#define tj_put(V, past, p, v)                                                                          \
  do {                                                                                                 \
    if (past) TJ_CAT(tj_stream_, V)(p, v);                                                             \
    else TJ_CAT(tj_store_, V)(p, v);                                                                   \
  } while (0)

#define TJ_INF32 tj_from_bits_f32x1(0x7f800000)
#define TJ_INF64 tj_from_bits_f64x1(INT64_C(0x7ff0000000000000))

typedef float f32x1;
typedef double f64x1;
typedef int32_t i32x1;
typedef int64_t i64x1;
typedef uint8_t u8x1;
typedef int8_t i8x1;

#if defined __GNUC__ && !defined __TINYC__
#define TJ_INLINE static inline __attribute__((always_inline, unused))
/* Values of vector type never cross a call that is not inlined, so what the ABI says of them does not matter. */
#pragma GCC diagnostic ignored "-Wpsabi"
#include "lanes/native.h"
#else
#define TJ_INLINE static inline
#define TJ_VECTOR_BYTES 0
#endif
#include "lanes/scalar.h"
#endif /* TJ_LANES_H */

#if TJ_LANES == 1
/* lanes/scalar.h is already there */
#elif TJ_VECTOR_BYTES == 0
#error "TJ_LANES above 1 needs GNU vector types: compile with gcc or clang, or use TJ_LANES 1"
#elif TJ_LANES == 2 && !defined TJ_LANES_H_2
#define TJ_LANES_H_2
#include "lanes/vector.h"
#elif TJ_LANES == 4 && !defined TJ_LANES_H_4
#define TJ_LANES_H_4
#include "lanes/vector.h"
#elif TJ_LANES == 8 && !defined TJ_LANES_H_8
#define TJ_LANES_H_8
#include "lanes/vector.h"
#elif TJ_LANES == 16 && !defined TJ_LANES_H_16
#define TJ_LANES_H_16
#include "lanes/vector.h"
#elif TJ_LANES == 32 && !defined TJ_LANES_H_32
#define TJ_LANES_H_32
#include "lanes/vector.h"
#elif TJ_LANES != 2 && TJ_LANES != 4 && TJ_LANES != 8 && TJ_LANES != 16 && TJ_LANES != 32
#error "TJ_LANES must be 1, 4, 8, 16 or 32"
#endif
