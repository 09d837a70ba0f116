/* k0: add, mul, sub, relu
   x0 float32 (N, M)
   x1 float32 (N, M)
   y0 out float32 (N, M) */
static void k0(const tj_team *team, const float *restrict x0, const float *restrict x1, float *restrict y0, int64_t dim_M, int64_t dim_N) {
  int64_t first, last;
  tj_share(team, dim_M*dim_N, 1024, &first, &last);
  int64_t i1 = first;
  const int past_y0 = tj_streams(team, y0 + i1, 4*dim_M*dim_N);
  for (; i1 + 16 <= last; i1 += 16) {
    const f32x16 v0 = tj_load_f32x16(x0 + i1);
    const f32x16 v1 = tj_load_f32x16(x1 + i1);
    const f32x16 v2 = v0 + v1;
    const f32x16 v3 = v2 * v0;
    const f32x16 v5 = v3 - tj_splat_f32x16(0x1.8p+1f);
    const f32x16 v6 = tj_most_f32x16(v5, tj_splat_f32x16(0));
    tj_put(f32x16, past_y0, y0 + i1, v6);
  }
  for (; i1 < last; i1++) {
    const float r0 = x0[i1];
    const float r1 = x1[i1];
    const float r2 = r0 + r1;
    const float r3 = r2 * r0;
    const float r5 = r3 - 0x1.8p+1f;
    const float r6 = r5 > 0 ? r5 : 0;
    y0[i1] = r6;
  }
  if (team->stream) tj_stream_fence();
}
