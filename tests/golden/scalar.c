/* k0: div, sub
   x0 float32 ()
   y0 out float32 () */
static void k0(const tj_team *team, const float *restrict x0, float *restrict y0) {
  if (team->index != 0) return;
  const float r0 = x0[0];
  const float r2 = r0 / 0x1.8p+1f;
  const float r4 = r2 - 0x1p+0f;
  y0[0] = r4;
}
