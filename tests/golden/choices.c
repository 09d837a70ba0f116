/* k0: maximum, minimum
   x0 float32 (N, M)
   x1 float32 (N, M)
   y0 out float32 (N, M) */
static void k0(const tj_team *team, const float *restrict x0, const float *restrict x1, float *restrict y0, int64_t dim_M, int64_t dim_N) {
  int64_t first, last;
  tj_share(team, dim_M*dim_N, 64, &first, &last);
  for (int64_t i1 = first; i1 < last; i1++) {
    const float r0 = x0[i1];
    const float r2 = tj_max_f32x1(r0, 0.0f);
    const float r3 = x1[i1];
    const float r4 = tj_min_f32x1(r2, r3);
    y0[i1] = r4;
  }
}

/* k1: positive
   x0 float32 (N, M)
   y0 out float32 (N, M) */
static void k1(const tj_team *team, const float *restrict x0, float *restrict y0, int64_t dim_M, int64_t dim_N) {
  int64_t first, last;
  tj_share(team, dim_M*dim_N, 64, &first, &last);
  for (int64_t i1 = first; i1 < last; i1++) {
    const float r0 = x0[i1];
    const float r1 = r0 > 0 ? 1 : 0;
    y0[i1] = r1;
  }
}

/* k2: equals
   x0 float32 (N, M)
   x1 float32 (N, M)
   y0 out float32 (N, M) */
static void k2(const tj_team *team, const float *restrict x0, const float *restrict x1, float *restrict y0, int64_t dim_M, int64_t dim_N) {
  int64_t first, last;
  tj_share(team, dim_M*dim_N, 64, &first, &last);
  for (int64_t i1 = first; i1 < last; i1++) {
    const float r0 = x0[i1];
    const float r1 = x1[i1];
    const float r2 = r0 == r1 ? 1 : 0;
    y0[i1] = r2;
  }
}
