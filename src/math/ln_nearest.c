/*
 * ln_nearest.c - ln to the nearest double, for layouts that store what a good libm returned.
 *
 * RedisBloom writes -ln(fpr) / ln(2)^2 as a double into its dumps; a last bit that differs is a
 * dump that differs. So the series of elementary.c is summed here in double-double arithmetic: a
 * number is hi + lo, exact to about 2^-104, and rounded once, at the end. Dekker's products need no
 * fused multiply-add. Slow, and called once for each link of a chain.
 */
#include "math/elementary.h"

typedef struct ln_pair {
  double hi, lo;
} ln_pair;

static ln_pair ln_pair_sum(double a, double b) { /* exact, whatever their sizes */
  double s = a + b, bb = s - a;
  return (ln_pair){s, (a - (s - bb)) + (b - bb)};
}

static ln_pair ln_pair_product(double a, double b) { /* exact: each factor cut into 26-bit halves */
  double ca = 134217729.0 * a, cb = 134217729.0 * b;
  double ah = ca - (ca - a), al = a - ah, bh = cb - (cb - b), bl = b - bh;
  double p = a * b;
  return (ln_pair){p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}

static ln_pair ln_pair_add(ln_pair a, ln_pair b) {
  ln_pair s = ln_pair_sum(a.hi, b.hi);
  return ln_pair_sum(s.hi, s.lo + (a.lo + b.lo));
}

static ln_pair ln_pair_mul(ln_pair a, ln_pair b) {
  ln_pair p = ln_pair_product(a.hi, b.hi);
  return ln_pair_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

static ln_pair ln_pair_div(ln_pair a,
                           ln_pair b) { /* one Newton step after the quotient of the high parts */
  double q = a.hi / b.hi;
  ln_pair p = ln_pair_mul((ln_pair){q, 0}, b);
  ln_pair rest = ln_pair_add(a, (ln_pair){-p.hi, -p.lo});
  return ln_pair_sum(q, rest.hi / b.hi);
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
  ln_pair s = ln_pair_div(ln_pair_sum(x, -1), ln_pair_sum(x, 1)), s2 = ln_pair_mul(s, s),
          sum = {0, 0};
  for (int i = 45; i >= 1; i -= 2) { /* |s| <= 0.172: what is left out is below 2^-118 of s */
    sum = ln_pair_add(ln_pair_mul(sum, s2), ln_pair_div((ln_pair){1, 0}, (ln_pair){i, 0}));
  }
  ln_pair m = ln_pair_mul(ln_pair_mul(sum, s), (ln_pair){2, 0});
  ln_pair ln2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56}; /* ln 2 to 2^-108 */
  ln_pair result = ln_pair_add(ln_pair_mul(ln2, (ln_pair){exponent, 0}), m);
  return result.hi + result.lo;
}
