/* k0: div
   x0 float32 (N, M)
   x1 float32 (N, 1)
   y0 out float32 (N, M) */
static void k0(const tj_team *team, const float *restrict x0, const float *restrict x1, float *restrict y0, int64_t dim_M, int64_t dim_N) {
  int64_t first, last;
  tj_share(team, dim_N, 1, &first, &last);
  for (int64_t i0 = first; i0 < last; i0++) {
    const float r1 = x1[i0];
    {
      for (int64_t i1 = 0; i1 < dim_M; i1++) {
        const float r0 = x0[i0*dim_M + i1];
        const float r2 = r0 / r1;
        y0[i0*dim_M + i1] = r2;
      }
    }
  }
}
