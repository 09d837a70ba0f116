/* narrow.h: floats of 16 bits. They are kept and moved as the uint16_t that holds their bits, and computed with as float32.

   In:  TJ_LANES, and lanes.h included for it. Include once per width.
   Out: types u16xW with load, store, splat, gather and scatter; tj_f32_from_f16xW, tj_f16_from_f32xW, tj_f16_from_f64xW.
   Law: to a narrower type every conversion rounds once, to nearest, halves to even; what is too large gives infinity. Subnormals are
        kept. A NaN stays one. */
#ifndef TJ_NARROW_H
#define TJ_NARROW_H
typedef uint16_t u16x1;
#define TJ_U16 TJ_FN(u16)
#endif

#if TJ_LANES == 1
#ifndef TJ_NARROW_H_1
#define TJ_NARROW_H_1
TJ_INLINE uint16_t tj_load_u16x1(const uint16_t *p) { return *p; }
TJ_INLINE void tj_store_u16x1(uint16_t *p, uint16_t v) { *p = v; }
TJ_INLINE uint16_t tj_splat_u16x1(uint16_t v) { return v; }
TJ_INLINE int32_t tj_i32_from_u16x1(uint16_t x) { return x; }
TJ_INLINE uint16_t tj_u16_from_i32x1(int32_t x) { return (uint16_t)x; }
TJ_INLINE int32_t tj_mask32_from_mask64x1(int64_t m) { return (int32_t)m; }
#define TJ_NARROW_NEW
#endif
#else
/* The vectors of one width are told apart from those of others by their names alone, so a second inclusion would define them twice. */
typedef uint16_t TJ_U16 __attribute__((vector_size(TJ_LANES * 2)));
typedef uint16_t TJ_CAT(TJ_U16, _any) __attribute__((vector_size(TJ_LANES * 2), aligned(2), may_alias));
TJ_INLINE TJ_U16 TJ_FN(tj_load_u16)(const uint16_t *p) { return *(const TJ_CAT(TJ_U16, _any) *)p; }
TJ_INLINE void TJ_FN(tj_store_u16)(uint16_t *p, TJ_U16 v) { *(TJ_CAT(TJ_U16, _any) *)p = v; }
TJ_INLINE TJ_U16 TJ_FN(tj_splat_u16)(uint16_t x) { return x - (TJ_U16){0}; }
TJ_INLINE TJ_I32 TJ_FN(tj_i32_from_u16)(TJ_U16 x) { return __builtin_convertvector(x, TJ_I32); }
TJ_INLINE TJ_U16 TJ_FN(tj_u16_from_i32)(TJ_I32 x) { return __builtin_convertvector(x, TJ_U16); }
TJ_INLINE TJ_I32 TJ_FN(tj_mask32_from_mask64)(TJ_I64 m) { return __builtin_convertvector(m, TJ_I32); }
TJ_INLINE TJ_U16 TJ_FN(tj_gather_u16)(const uint16_t *p, int64_t stride) {
  TJ_U16 v;
  for (int i = 0; i < TJ_LANES; i++) v[i] = p[i * stride];
  return v;
}
TJ_INLINE void TJ_FN(tj_scatter_u16)(uint16_t *p, int64_t stride, TJ_U16 v) {
  for (int i = 0; i < TJ_LANES; i++) p[i * stride] = v[i];
}
#define TJ_NARROW_NEW
#endif

#ifdef TJ_NARROW_NEW
#undef TJ_NARROW_NEW
/* The exponent's bits go where float32 has its own, 112 too small; a product mends that, for subnormals too. */
TJ_INLINE TJ_F32 TJ_FN(tj_f32_from_f16)(TJ_U16 x) {
  TJ_I32 all = TJ_FN(tj_i32_from_u16)(x), size = (all & 0x7fff) * 0x2000, sign = -(all & 0x8000) * 0x10000;
  TJ_I32 scaled = TJ_FN(tj_bits_f32)(TJ_FN(tj_from_bits_f32)(size) * TJ_FN(tj_splat_f32)(0x1p112f));
  TJ_I32 special = TJ_FN(tj_ge_i32)(size, TJ_FN(tj_splat_i32)(0x0f800000));
  return TJ_FN(tj_from_bits_f32)(scaled | (special & 0x7f800000) | sign);
}
/* Normal results by adding in the integer that is the float's bits; subnormal ones by the sum with 0.5, whose last bit is worth their last one. */
TJ_INLINE TJ_U16 TJ_FN(tj_f16_from_f32)(TJ_F32 x) {
  TJ_I32 all = TJ_FN(tj_bits_f32)(x), size = all & 0x7fffffff;
  TJ_I32 large = (size - 0x38000000 + 0xfff + ((size >> 13) & 1)) >> 13;
  TJ_I32 small = TJ_FN(tj_bits_f32)(TJ_FN(tj_from_bits_f32)(size) + TJ_FN(tj_splat_f32)(0.5f)) - 0x3f000000;
  TJ_I32 r = TJ_FN(tj_select_i32)(TJ_FN(tj_lt_i32)(size, TJ_FN(tj_splat_i32)(0x38800000)), small, large);
  r = TJ_FN(tj_select_i32)(TJ_FN(tj_ge_i32)(size, TJ_FN(tj_splat_i32)(0x477ff000)), TJ_FN(tj_splat_i32)(0x7c00), r);
  r = TJ_FN(tj_select_i32)(TJ_FN(tj_gt_i32)(size, TJ_FN(tj_splat_i32)(0x7f800000)), TJ_FN(tj_splat_i32)(0x7e00), r);
  return TJ_FN(tj_u16_from_i32)(r | ((all >> 16) & 0x8000));
}
/* float64 as a float32 that is rounded to odd (cut short, and the last bit set where anything was lost): rounding that once more is as good
   as rounding once (Boldo, Melquiond 2008). */
TJ_INLINE TJ_F32 TJ_FN(tj_odd_f32_from_f64)(TJ_F64 x) {
  TJ_F32 near = TJ_FN(tj_f32_from_f64)(x);
  TJ_F64 back = TJ_FN(tj_f64_from_f32)(near);
  TJ_I32 beyond = TJ_FN(tj_mask32_from_mask64)(TJ_FN(tj_gt_f64)(TJ_FN(tj_abs_f64)(back), TJ_FN(tj_abs_f64)(x)));
  TJ_I32 inexact = TJ_FN(tj_mask32_from_mask64)(TJ_FN(tj_ne_f64)(back, x));
  return TJ_FN(tj_from_bits_f32)((TJ_FN(tj_bits_f32)(near) + beyond) | (inexact & 1));
}
TJ_INLINE TJ_U16 TJ_FN(tj_f16_from_f64)(TJ_F64 x) { return TJ_FN(tj_f16_from_f32)(TJ_FN(tj_odd_f32_from_f64)(x)); }
#endif
