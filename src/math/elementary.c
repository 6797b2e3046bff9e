/* elementary.c - ln by the series of artanh, exp by Taylor, both after reduction by powers of two.
 */
#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ == 2
#error "doubles are computed in 80 bits here, and sizes would differ: add -msse2 -mfpmath=sse"
#endif

#include "math/elementary.h"

#define ELEMENTARY_INFINITY ((double)(1e300 * 1e10))

static uint64_t elementary_to_bits(double x) {
  uint64_t b;
  memcpy(&b, &x, sizeof b);
  return b;
}

static double elementary_from_bits(uint64_t b) {
  double x;
  memcpy(&x, &b, sizeof x);
  return x;
}

double nay__ln(double x) {
  if (x <= 0) return -ELEMENTARY_INFINITY;
  int exponent = 0;
  if (x < 2.3e-308) {         /* subnormal: scale up first */
    x *= 18014398509481984.0; /* 2^54 */
    exponent = -54;
  }
  uint64_t bits = elementary_to_bits(x);
  exponent += (int)(bits >> 52) - 1023;
  double m = elementary_from_bits((bits & 0x000fffffffffffffu) | 0x3ff0000000000000u);
  if (m > 1.4142135623730951) { /* keep m near 1: the series wants |s| <= 0.172 */
    m *= 0.5;
    exponent++;
  }
  double s = (m - 1) / (m + 1), s2 = s * s, sum = 0;
  for (int i = 23; i >= 3; i -= 2) sum = s2 * (sum + 1.0 / i);
  return 2 * s * (1 + sum) + exponent * NAY_LN2;
}

double nay__ln1p(double x) {
  if (x > -1e-4 && x < 1e-4) { /* five terms: the sixth is below 1e-21 of the first */
    return x * (1 - x * (1.0 / 2 - x * (1.0 / 3 - x * (1.0 / 4 - x / 5))));
  }
  return nay__ln(1 + x);
}

double nay__exp(double x) {
  if (x < -700) return 0;
  if (x > 700) return ELEMENTARY_INFINITY;
  int n = (int)(x / NAY_LN2 + (x < 0 ? -0.5 : 0.5));
  double r = x - n * 0.693147180369123816490; /* ln 2 in two parts: n * high is exact */
  r -= n * 1.90821492927058770002e-10;
  double sum = 1;
  for (int i = 16; i >= 1; i--) sum = 1 + sum * r / i;
  return sum * elementary_from_bits((uint64_t)(n + 1023) << 52);
}

double nay__expm1(double x) {
  if (x < -0.7 || x > 0.7) return nay__exp(x) - 1;
  double sum = 1; /* Taylor: the last term is below 1e-18 of the first */
  for (int i = 18; i >= 2; i--) sum = 1 + sum * x / i;
  return x * sum;
}

/* Newton's steps from the halved exponent: four leave no error that a double can show. */
double nay__sqrt(double x) {
  if (x <= 0) return 0;
  double r = elementary_from_bits((elementary_to_bits(x) >> 1) + 0x1ff8000000000000u);
  for (int i = 0; i < 5; i++) r = 0.5 * (r + x / r);
  return r;
}

double nay__ipow(double x, uint64_t n) {
  double result = 1;
  for (; n > 0; n >>= 1, x *= x) {
    if (n & 1) result *= x;
  }
  return result;
}
