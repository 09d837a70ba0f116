/* reduce_big.h: x modulo pi/2 for huge x, one number at a time. Included by sin, cos and tan for the rare lanes that need it.

   x = m 2^e with m of 53 bits. Of 2/pi only the 192 bits can matter that start where m 2^e times them is below 4; one product of integers
   then gives the quadrant and the fraction (Payne and Hanek's method). */
#ifndef TJ_REDUCE_BIG
#define TJ_REDUCE_BIG
#include "../lanes.h"

#if TJ_VECTOR_BYTES
#define TJ_COLD static __attribute__((noinline, cold, unused))
#else
#define TJ_COLD static inline
#endif

/* 64 zero bits, then the bits of 2/pi */
static const uint32_t tj_two_over_pi[40] = {
  0x00000000u, 0x00000000u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu, 0xdebbc561u,
  0xb7246e3au, 0x424dd2e0u, 0x06492eeau, 0x09d1921cu, 0xfe1deb1cu, 0xb129a73eu, 0xe88235f5u, 0x2ebb4484u, 0xe99c7026u, 0xb45f7e41u,
  0x3991d639u, 0x835339f4u, 0x9c845f8bu, 0xbdf9283bu, 0x1ff897ffu, 0xde05980fu, 0xef2f118bu, 0x5a0a6d1fu, 0x6d367ecfu, 0x27cb09b7u,
  0x4f463f66u, 0x9e5fea2du, 0x7527bac7u, 0xebe5f17bu, 0x3d0739f7u, 0x8a5292eau, 0x6bfb5fb1u, 0x1f8d5d08u, 0x56033046u, 0xfc7b6babu,
};

/* x = quadrant * pi/2 + (result + *low), |result| <= pi/4; |x| >= 2^20 or not finite (then the result is NaN) */
TJ_COLD double tj_reduce_big(double x, double *low, int *quadrant) {
  int64_t bits = tj_bits_f64x1(x) & INT64_MAX;
  int e = (int)(bits >> 52) - 1075, shift = (e + 62) & 31;
  *quadrant = 0;
  *low = 0;
  if (e >= 1024 - 52) return x - x;
  const uint32_t *word = tj_two_over_pi + ((e + 62) >> 5);
  uint32_t factor[6], product[6];
  for (int i = 0; i < 6; i++) { /* least significant first */
    uint64_t pair = (uint64_t)word[5 - i] << 32 | word[6 - i];
    factor[i] = (uint32_t)(pair << shift >> 32);
  }
  uint64_t m = ((uint64_t)bits & UINT64_C(0xfffffffffffff)) | UINT64_C(0x10000000000000);
  uint64_t m0 = m & 0xffffffffu, m1 = m >> 32, carry = 0;
  for (int i = 0; i < 6; i++) {
    carry += m0 * factor[i];
    product[i] = (uint32_t)carry;
    carry >>= 32;
  }
  carry = 0;
  for (int i = 0; i < 5; i++) {
    carry += m1 * factor[i] + product[i + 1];
    product[i + 1] = (uint32_t)carry;
    carry >>= 32;
  }
  uint64_t top = (uint64_t)product[5] << 32 | product[4], next = (uint64_t)product[3] << 32 | product[2];
  int q = (int)(top >> 62), minus = (int)(top >> 61) & 1; /* a fraction of a half or more is taken from the next quadrant */
  top = top << 2 | next >> 62;
  next = next << 2 | product[1] >> 30;
  if (minus) { q++; top = ~top; next = ~next; }
  double a = (double)(int64_t)(top >> 11) * 0x1p-53;
  double b = (double)(int64_t)((top & 2047) << 42 | next >> 22) * 0x1p-106;
  double c = (double)(int64_t)(next & 0x3fffff) * 0x1p-128;
  double high = a + b, rest = (b - (high - a)) + c;
  double r = high * 0x1.921fb54442d18p0;
  rest = rest * 0x1.921fb54442d18p0 + (tj_fma_f64x1(high, 0x1.921fb54442d18p0, -r) + high * 0x1.1a62633145c07p-54);
  double result = r + rest;
  rest = rest - (result - r);
  if ((tj_bits_f64x1(x) < 0) != minus) { result = -result; rest = -rest; }
  *quadrant = (tj_bits_f64x1(x) < 0 ? -q : q) & 3;
  *low = rest;
  return result;
}

/* x + shift * pi/2 = turns * pi + result, |result| <= pi/2, for float32 functions; *odd is the last bit of turns */
TJ_COLD double tj_reduce_big_pi(double x, int shift, int64_t *odd) {
  int quadrant;
  double low, r = tj_reduce_big(x, &low, &quadrant);
  quadrant += shift;
  if (quadrant & 1) {
    int up = r >= 0;
    r = up ? r - 0x1.921fb54442d18p0 : r + 0x1.921fb54442d18p0;
    quadrant += up ? 1 : -1;
  }
  *odd = quadrant >> 1 & 1;
  return r;
}
#endif
