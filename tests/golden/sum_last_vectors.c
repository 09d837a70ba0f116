/* k0: sum
   x0 float32 (N, M)
   y0 out float32 (N,) */
static inline float k0_element1(int64_t i1, const float *restrict x0, int64_t dim_M, int64_t i0) {
  const float r0 = x0[i0*dim_M + i1];
  return r0;
}
TJ_INLINE f32x16 k0_element1_lanes(int64_t i1, const float *restrict x0, int64_t dim_M, int64_t i0) {
  const f32x16 v0 = tj_load_f32x16(x0 + i0*dim_M + i1);
  return v0;
}
/* The last elements, fewer than 16; lanes without one are neutral. */
static f32x16 k0_rest1(int64_t i, int64_t last, const float *restrict x0, int64_t dim_M, int64_t i0) {
  float lane[16];
  for (int t = 0; t < 16; t++) lane[t] = i + t < last ? k0_element1(i + t, x0, dim_M, i0) : -0.0f;
  return tj_load_f32x16(lane);
}
static float k0_fold1_block(int64_t first, int64_t last, const float *restrict x0, int64_t dim_M, int64_t i0) {
  int64_t i = first;
  f32x16 a0 = tj_splat_f32x16(-0.0f), a1 = a0, a2 = a0, a3 = a0;
  for (; i + 64 <= last; i += 64) {
    const f32x16 e0 = k0_element1_lanes(i, x0, dim_M, i0);
    a0 = TJ_COMBINE_add(f32x16, a0, e0);
    const f32x16 e1 = k0_element1_lanes(i + 16, x0, dim_M, i0);
    a1 = TJ_COMBINE_add(f32x16, a1, e1);
    const f32x16 e2 = k0_element1_lanes(i + 32, x0, dim_M, i0);
    a2 = TJ_COMBINE_add(f32x16, a2, e2);
    const f32x16 e3 = k0_element1_lanes(i + 48, x0, dim_M, i0);
    a3 = TJ_COMBINE_add(f32x16, a3, e3);
  }
  if (i < last) { const f32x16 e0 = i + 16 <= last ? k0_element1_lanes(i, x0, dim_M, i0) : k0_rest1(i, last, x0, dim_M, i0); a0 = TJ_COMBINE_add(f32x16, a0, e0); }
  i += 16;
  if (i < last) { const f32x16 e1 = i + 16 <= last ? k0_element1_lanes(i, x0, dim_M, i0) : k0_rest1(i, last, x0, dim_M, i0); a1 = TJ_COMBINE_add(f32x16, a1, e1); }
  i += 16;
  if (i < last) { const f32x16 e2 = i + 16 <= last ? k0_element1_lanes(i, x0, dim_M, i0) : k0_rest1(i, last, x0, dim_M, i0); a2 = TJ_COMBINE_add(f32x16, a2, e2); }
  i += 16;
  if (i < last) { const f32x16 e3 = i + 16 <= last ? k0_element1_lanes(i, x0, dim_M, i0) : k0_rest1(i, last, x0, dim_M, i0); a3 = TJ_COMBINE_add(f32x16, a3, e3); }
  return tj_halve_add_f32x16(TJ_COMBINE_add(f32x16, TJ_COMBINE_add(f32x16, a0, a2), TJ_COMBINE_add(f32x16, a1, a3)));
}
static inline float k0_fold1(const float *restrict x0, int64_t dim_M, int64_t i0) {
  const int64_t count = dim_M;
  if (count == 0) return 0.0f;
  if (count <= 1024) return k0_fold1_block(0, count, x0, dim_M, i0);
  tj_tree_add_f32x1 tree;
  tree.count = tree.top = 0;
  for (int64_t i = 0; i < count; i += 1024)
    tj_push_add_f32x1(&tree, k0_fold1_block(i, i + 1024 < count ? i + 1024 : count, x0, dim_M, i0));
  return tj_finish_add_f32x1(&tree);
}
static void k0(const tj_team *team, const float *restrict x0, float *restrict y0, int64_t dim_M, int64_t dim_N) {
  int64_t first, last;
  tj_share(team, dim_N, 1, &first, &last);
  for (int64_t i0 = first; i0 < last; i0++) {
    const float r1 = k0_fold1(x0, dim_M, i0);
    y0[i0] = r1;
  }
}
