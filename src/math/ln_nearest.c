/*
 * ln_nearest.c - ln to the nearest double, for layouts that store what a good libm returned.
 *
 * RedisBloom writes -ln(rate) / ln(2)^2 as a double into its dumps; a last bit that differs is a
 * dump that differs. So the series of elementary.c is summed here in double-double arithmetic: a
 * number is hi + lo, exact to about 2^-104, and rounded once, at the end. Dekker's products need no
 * fused multiply-add. Slow, and called once for each link of a chain.
 */
#include "math/elementary.h"

typedef struct pair {
  double hi, lo;
} pair;

static pair pair_sum(double a, double b) { /* exact, whatever their sizes */
  double s = a + b, bb = s - a;
  return (pair){s, (a - (s - bb)) + (b - bb)};
}

static pair pair_product(double a, double b) { /* exact: each factor cut into 26-bit halves */
  double ca = 134217729.0 * a, cb = 134217729.0 * b;
  double ah = ca - (ca - a), al = a - ah, bh = cb - (cb - b), bl = b - bh;
  double p = a * b;
  return (pair){p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}

static pair pair_add(pair a, pair b) {
  pair s = pair_sum(a.hi, b.hi);
  return pair_sum(s.hi, s.lo + (a.lo + b.lo));
}

static pair pair_mul(pair a, pair b) {
  pair p = pair_product(a.hi, b.hi);
  return pair_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

static pair pair_div(pair a, pair b) { /* one Newton step after the quotient of the high parts */
  double q = a.hi / b.hi;
  pair p = pair_mul((pair){q, 0}, b);
  pair rest = pair_add(a, (pair){-p.hi, -p.lo});
  return pair_sum(q, rest.hi / b.hi);
}

double nay__ln_nearest(double x) {
  int exponent = 0;
  while (x < 0.70710678118654752) { /* powers of two scale without error */
    x *= 2;
    exponent--;
  }
  while (x > 1.4142135623730951) {
    x *= 0.5;
    exponent++;
  }
  pair s = pair_div(pair_sum(x, -1), pair_sum(x, 1)), s2 = pair_mul(s, s), sum = {0, 0};
  for (int i = 45; i >= 1; i -= 2) { /* |s| <= 0.172: what is left out is below 2^-118 of s */
    sum = pair_add(pair_mul(sum, s2), pair_div((pair){1, 0}, (pair){i, 0}));
  }
  pair m = pair_mul(pair_mul(sum, s), (pair){2, 0});
  pair ln2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56}; /* ln 2 to 2^-108 */
  pair result = pair_add(pair_mul(ln2, (pair){exponent, 0}), m);
  return result.hi + result.lo;
}
