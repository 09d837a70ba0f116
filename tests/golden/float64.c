/* k0: add, sqrt
   x0 float64 (N,)
   y0 out float64 (N,) */
static void k0(const tj_team *team, const double *restrict x0, double *restrict y0, int64_t dim_N) {
  int64_t first, last;
  tj_share(team, dim_N, 1024, &first, &last);
  for (int64_t i0 = first; i0 < last; i0++) {
    const double r0 = x0[i0];
    const double r2 = r0 + 0x1.56e1fc2f8f359p-997;
    const double r3 = tj_sqrt_f64x1(r2);
    y0[i0] = r3;
  }
}
