/* ulp.c: the sweeps of bench/ulp.py. Compares a function under test with the C library's in the next wider type, whose own error (below
   2^-28 ULP of float32, 2^-10 ULP of float64) does not matter to the figures. Built once by gcc or clang with -O2. */
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef struct {
  double worst;       /* largest error in ULP of the exact result's binade */
  double at[2];       /* where it was */
  int64_t count;      /* inputs checked */
  int64_t special;    /* results wrong in kind: NaN or not, or the sign of a zero or infinity */
  double special_at[2];
} report;

typedef long double (*wide)(long double, long double);
typedef double (*dbl)(double, double);

#define ONE(NAME, D, L)                                                                                \
  static double d_##NAME(double x, double y) { (void)y; return D; }                                    \
  static long double l_##NAME(long double x, long double y) { (void)y; return L; }
#define SAME(NAME) ONE(NAME, NAME(x), NAME##l(x))
#define TWO(NAME)                                                                                      \
  static double d_##NAME(double x, double y) { return NAME(x, y); }                                    \
  static long double l_##NAME(long double x, long double y) { return NAME##l(x, y); }
SAME(exp) SAME(exp2) SAME(expm1) SAME(log) SAME(log2) SAME(log10) SAME(log1p) SAME(sin) SAME(cos) SAME(tan) SAME(tanh)
SAME(sinh) SAME(cosh) SAME(asin) SAME(acos) SAME(atan) SAME(asinh) SAME(acosh) SAME(atanh) SAME(cbrt) SAME(erf) SAME(erfc) SAME(sqrt)
ONE(rsqrt, 1 / sqrt(x), 1 / sqrtl(x))
ONE(sigmoid, x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x)), x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x)))
TWO(pow) TWO(atan2) TWO(hypot)
#define ROW(NAME) { #NAME, d_##NAME, l_##NAME },
static const struct { const char *name; dbl d; wide l; } table[] = {
  ROW(exp) ROW(exp2) ROW(expm1) ROW(log) ROW(log2) ROW(log10) ROW(log1p) ROW(sin) ROW(cos) ROW(tan) ROW(tanh) ROW(sinh) ROW(cosh)
  ROW(asin) ROW(acos) ROW(atan) ROW(asinh) ROW(acosh) ROW(atanh) ROW(cbrt) ROW(erf) ROW(erfc) ROW(sqrt) ROW(rsqrt) ROW(sigmoid)
  ROW(pow) ROW(atan2) ROW(hypot)
};
int find(const char *name) {
  for (unsigned i = 0; i < sizeof table / sizeof table[0]; i++)
    if (!strcmp(name, table[i].name)) return (int)i;
  return -1;
}

static void wrong(report *r, double x, double y) {
  if (!r->special++) { r->special_at[0] = x; r->special_at[1] = y; }
}

static void check32(report *r, double x, double y, float got, double want) {
  r->count++;
  if (want != want || got != got) {
    if ((want != want) != (got != got)) wrong(r, x, y);
    return;
  }
  if (!signbit(want) != !signbit(got)) wrong(r, x, y);
  if (isinf(want) && isinf(got)) return;
  double value = isinf(got) ? copysign(0x1p128, got) : got;
  if (fabs(want) > 0x1p128) want = copysign(0x1p128, want);
  int64_t bits;
  memcpy(&bits, &want, 8);
  int64_t exponent = (bits >> 52) & 2047;
  if (exponent < 1023 - 126) exponent = 1023 - 126;
  if (exponent > 1023 + 127) exponent = 1023 + 127;
  int64_t scale_bits = (2046 - exponent + 23) << 52; /* 1 / ULP */
  double scale;
  memcpy(&scale, &scale_bits, 8);
  double error = fabs(value - want) * scale;
  if (error > r->worst) { r->worst = error; r->at[0] = x; r->at[1] = y; }
}

static void check64(report *r, double x, double y, double got, long double want) {
  r->count++;
  if (want != want || got != got) {
    if ((want != want) != (got != got)) wrong(r, x, y);
    return;
  }
  if (!signbit(want) != !signbit(got)) wrong(r, x, y);
  if (isinf(want) && isinf(got)) return;
  long double value = isinf(got) ? copysignl(0x1p1024L, got) : got;
  if (fabsl(want) > 0x1p1024L) want = copysignl(0x1p1024L, want);
  int exponent = want == 0 ? -1022 : ilogbl(want);
  if (exponent < -1022) exponent = -1022;
  if (exponent > 1023) exponent = 1023;
  double error = (double)ldexpl(fabsl(value - want), 52 - exponent);
  if (error > r->worst) { r->worst = error; r->at[0] = x; r->at[1] = y; }
}

enum { BLOCK = 1024 };
typedef void (*run32)(const float *x, const float *y, float *out, int64_t n);
typedef void (*run64)(const double *x, const double *y, double *out, int64_t n);

/* Every `stride`-th float32 from bit pattern `first` on. */
void sweep32(int which, run32 run, uint64_t first, uint64_t stride, report *r) {
  float x[BLOCK], out[BLOCK];
  for (uint64_t at = first; at < (UINT64_C(1) << 32);) {
    int n = 0;
    for (; n < BLOCK && at < (UINT64_C(1) << 32); n++, at += stride) {
      uint32_t bits = (uint32_t)at;
      memcpy(x + n, &bits, 4);
    }
    for (int i = n; i < BLOCK; i++) x[i] = 0;
    run(x, x, out, BLOCK);
    for (int i = 0; i < n; i++) check32(r, x[i], 0, out[i], table[which].d(x[i], 0));
  }
}

static uint64_t next(uint64_t *state) { /* splitmix64 */
  uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}
static double unit(uint64_t *state) { return (double)(int64_t)next(state) * 0x1p-63; } /* -1 to 1 */

/* A pair of inputs: a third any bit pattern, a third of moderate size, a third related in the way that is hard for the function. */
static void draw(const char *name, uint64_t *state, int is64, double *x, double *y) {
  uint64_t a = next(state), b = next(state);
  float fa, fb;
  uint32_t a32 = (uint32_t)a, b32 = (uint32_t)b;
  memcpy(&fa, &a32, 4);
  memcpy(&fb, &b32, 4);
  *x = fa;
  *y = fb;
  if (is64) { memcpy(x, &a, 8); memcpy(y, &b, 8); }
  switch (next(state) % 3) {
    case 0: break;
    case 1: *x = unit(state) * exp2(5 * unit(state)); *y = unit(state) * exp2(5 * unit(state)); break;
    default:
      if (!strcmp(name, "pow")) {
        if (next(state) & 1) *x = 1 + unit(state) * exp2(-20 * fabs(unit(state)));
        *y = unit(state) * (is64 ? 1080 : 152) / log2(fabs(*x));
      } else if (!strcmp(name, "atan2") || !strcmp(name, "hypot")) {
        *y = *x * exp2(16 * unit(state));
      } else {
        *x = 1 + unit(state) * exp2(-30 * fabs(unit(state)));
        if (next(state) & 1) *x = unit(state) * 750;
      }
  }
}

void sample32(int which, run32 run, uint64_t seed, int64_t count, report *r) {
  float x[BLOCK], y[BLOCK], out[BLOCK];
  for (int64_t done = 0; done < count; done += BLOCK) {
    for (int i = 0; i < BLOCK; i++) {
      double dx, dy;
      draw(table[which].name, &seed, 0, &dx, &dy);
      x[i] = (float)dx;
      y[i] = (float)dy;
    }
    run(x, y, out, BLOCK);
    for (int i = 0; i < BLOCK; i++) check32(r, x[i], y[i], out[i], table[which].d(x[i], y[i]));
  }
}
void sample64(int which, run64 run, uint64_t seed, int64_t count, report *r) {
  double x[BLOCK], y[BLOCK], out[BLOCK];
  for (int64_t done = 0; done < count; done += BLOCK) {
    for (int i = 0; i < BLOCK; i++) draw(table[which].name, &seed, 1, x + i, y + i);
    run(x, y, out, BLOCK);
    for (int i = 0; i < BLOCK; i++) check64(r, x[i], y[i], out[i], table[which].l(x[i], y[i]));
  }
}

/* Every pair of the given values: zeros, infinities, NaN, halves, integers, limits. */
void pairs32(int which, run32 run, const double *values, int64_t n, int arity, report *r) {
  float x[BLOCK] = {0}, y[BLOCK] = {0}, out[BLOCK];
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < (arity == 2 ? n : 1); j++) {
      x[0] = (float)values[i];
      y[0] = (float)values[j];
      run(x, y, out, BLOCK);
      check32(r, x[0], y[0], out[0], table[which].d(x[0], y[0]));
    }
}
void pairs64(int which, run64 run, const double *values, int64_t n, int arity, report *r) {
  double x[BLOCK] = {0}, y[BLOCK] = {0}, out[BLOCK];
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < (arity == 2 ? n : 1); j++) {
      x[0] = values[i];
      y[0] = values[j];
      run(x, y, out, BLOCK);
      check64(r, x[0], y[0], out[0], table[which].l(x[0], y[0]));
    }
}
