/* k0: sum
   x0 float32 (N, M)
   y0 out float32 (N,) */
static inline float k0_element1(int64_t i1, const float *restrict x0, int64_t dim_M, int64_t i0) {
  const float r0 = x0[i0*dim_M + i1];
  return r0;
}
static float k0_fold1_block(int64_t first, int64_t last, const float *restrict x0, int64_t dim_M, int64_t i0) {
  float lane[64];
  int64_t i = first;
  for (int t = 0; t < 64; t++, i++) lane[t] = i < last ? k0_element1(i, x0, dim_M, i0) : -0.0f;
  for (int t = 0; i < last; i++, t = (t + 1) % 64) lane[t] = TJ_COMBINE_add(f32x1, lane[t], k0_element1(i, x0, dim_M, i0));
  return tj_halve_add_f32x1(lane, 64);
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
