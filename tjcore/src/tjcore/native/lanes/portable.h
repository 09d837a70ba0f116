/* lanes/portable.h: the operations of lanes/native.h for a target that has no file of its own: lane by lane, and the
   compiler's vectoriser makes instructions of them. Registers of 16 bytes are assumed. */

#define TJ_EACH1(NAME, V, N, T, EXPRESSION)                                                            \
  TJ_INLINE V tj_hw_##NAME##_##V(V a) {                                                                \
    V r = a;                                                                                           \
    for (int i = 0; i < N; i++) { T x = a[i]; r[i] = EXPRESSION; }                                     \
    return r;                                                                                          \
  }
#define TJ_EACH2(NAME, V, N, T, EXPRESSION)                                                            \
  TJ_INLINE V tj_hw_##NAME##_##V(V a, V b) {                                                           \
    V r = a;                                                                                           \
    for (int i = 0; i < N; i++) { T x = a[i], y = b[i]; r[i] = EXPRESSION; }                           \
    return r;                                                                                          \
  }
#define TJ_EACH3(NAME, V, N, FUNCTION)                                                                 \
  TJ_INLINE V tj_hw_##NAME##_##V(V a, V b, V c) {                                                      \
    V r = a;                                                                                           \
    for (int i = 0; i < N; i++) r[i] = FUNCTION(a[i], b[i], c[i]);                                     \
    return r;                                                                                          \
  }
#define TJ_EACH(V, N, T, SUFFIX)                                                                       \
  TJ_EACH3(fma, V, N, __builtin_fma##SUFFIX)                                                           \
  TJ_EACH1(sqrt, V, N, T, __builtin_sqrt##SUFFIX(x))                                                   \
  TJ_EACH1(rint, V, N, T, __builtin_nearbyint##SUFFIX(x))                                              \
  TJ_EACH1(floor, V, N, T, __builtin_floor##SUFFIX(x))                                                 \
  TJ_EACH1(ceil, V, N, T, __builtin_ceil##SUFFIX(x))                                                   \
  TJ_EACH1(trunc, V, N, T, __builtin_trunc##SUFFIX(x))                                                 \
  TJ_EACH2(least, V, N, T, x < y ? x : y)                                                              \
  TJ_EACH2(most, V, N, T, x > y ? x : y)
TJ_EACH(f32x4, 4, float, f)
TJ_EACH(f64x2, 2, double, )

TJ_INLINE i32x4 tj_hw_nans_f32x4(f32x4 a, f32x4 b) { return (a != a) | (b != b); }
TJ_INLINE i64x2 tj_hw_nans_f64x2(f64x2 a, f64x2 b) { return (a != a) | (b != b); }

TJ_INLINE f32x4 tj_hw_scale_f32x4(f32x4 x, f32x4 n) {
  i32x4 e = (i32x4)(n + 0x1.8p23f) - 0x4b400000, half = e >> 1;
  return x * (f32x4)((half + 127) << 23) * (f32x4)((e - half + 127) << 23);
}
TJ_INLINE f64x2 tj_hw_scale_f64x2(f64x2 x, f64x2 n) {
  i64x2 e = (i64x2)(n + 0x1.8p52) - INT64_C(0x4338000000000000), half = e >> 1;
  return x * (f64x2)((half + 1023) << 52) * (f64x2)((e - half + 1023) << 52);
}
TJ_INLINE int tj_hw_any_i32x4(i32x4 mask) { return (mask[0] | mask[1] | mask[2] | mask[3]) != 0; }
TJ_INLINE void tj_hw_stream_f32x4(float *p, f32x4 v) { *(f32x4_any *)p = v; }
TJ_INLINE void tj_stream_fence(void) {}
