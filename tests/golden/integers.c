/* k0: mul, sub
   x0 int32 (N,)
   x1 int32 (N,)
   y0 out int32 (N,) */
static void k0(const tj_team *team, const int32_t *restrict x0, const int32_t *restrict x1, int32_t *restrict y0, int64_t dim_N) {
  int64_t first, last;
  tj_share(team, dim_N, 1024, &first, &last);
  for (int64_t i0 = first; i0 < last; i0++) {
    const int32_t r0 = x0[i0];
    const int32_t r2 = (int32_t)((uint32_t)r0 * (uint32_t)3);
    const int32_t r3 = x1[i0];
    const int32_t r4 = (int32_t)((uint32_t)r2 - (uint32_t)r3);
    y0[i0] = r4;
  }
}
