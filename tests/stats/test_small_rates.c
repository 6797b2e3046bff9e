/*
 * test_small_rates.c - "nay.small.v1" beside LevelDB's own filters of the same total size, check
 * included: the promise of doc/design/0011-small-filters.md, at 20, 50 and 500 keys per filter.
 *
 * LevelDB's bytes are those of nay_policy_find (tests/engines compares them with the real ones).
 * Keys are random, but for the last point, which shows where we are the worse one. Each rate is the
 * mean over many filters, and what is left to chance is the spread between filters: the standard
 * error is printed and enters the bound, five of them, so that a true ratio at the bound fails
 * about once in 10^6 runs; as seeds are fixed, it fails always or never.
 */
#include <math.h>

#include "support/policy_keys.h"
#include "support/test.h"

typedef struct rate {
  double mean, error; /* standard error of the mean */
  size_t nbytes;
} rate;

/* Consecutive numbers in decimal: there LevelDB's hash spreads better than chance would. */
static size_t key_decimal(uint64_t i, uint8_t *out) {
  return (size_t)snprintf((char *)out, KEY_MAX, "user%012llu", (unsigned long long)i);
}

typedef struct point {
  const char *name;
  key_maker make;
  size_t n;
  uint32_t bits_per_key;
  double bound; /* of our rate, in LevelDB's */
  unsigned filters, probes;
} point;

static const point points[] = {
    {"20 keys, 10 bits", key_random, 20, 10, 0.90, 20000, 250},
    {"50 keys, 10 bits", key_random, 50, 10, 0.90, 10000, 500},
    {"500 keys, 10 bits", key_random, 500, 10, 0.98, 2000, 4000},
    {"20 keys, 16 bits", key_random, 20, 16, 0.45, 20000, 500},
    {"50 keys, 16 bits", key_random, 50, 16, 0.50, 10000, 1500},
    {"500 keys, 16 bits", key_random, 500, 16, 0.92, 2000, 8000},
    {"500 in a row, 10 bits", key_decimal, 500, 10, 1.15, 2000, 4000},
};
#define N_POINTS (sizeof points / sizeof points[0])

static double filter_rate(const nay_policy *policy, const policy_keys *absent,
                          const policy_bytes *filter) {
  return (double)policy_count(policy, absent, filter->at, filter->len) / (double)absent->n;
}

/* Each filter has keys of its own and is asked for keys of its own: some keys are worse than others
 * for LevelDB, whose steps may be as wide as a good part of the array. */
static rate measure(const nay_policy *policy, const point *p) {
  double sum = 0, squares = 0;
  rate r = {0, 0, 0};
  for (unsigned i = 0; i < p->filters; i++) {
    policy_keys keys = policy_keys_make(p->make, (uint64_t)i * p->n, p->n);
    policy_keys absent =
        policy_keys_make(p->make, 10000000000u + (uint64_t)i * p->probes, p->probes);
    policy_bytes filter = policy_make(policy, &keys);
    double x = filter_rate(policy, &absent, &filter);
    sum += x;
    squares += x * x;
    r.nbytes = filter.len;
    free(filter.at);
    policy_keys_free(&absent);
    policy_keys_free(&keys);
  }
  double n = p->filters;
  r.mean = sum / n;
  r.error = sqrt((squares / n - r.mean * r.mean) / n);
  return r;
}

static void fewer_false_positives_in_the_same_bytes(void **state) {
  const point *p = *state;
  nay_policy leveldb = {.size = sizeof leveldb}, small = {.size = sizeof small};
  assert_ok(nay_policy_find(NAY_POLICY_LEVELDB, p->bits_per_key, &leveldb));
  assert_ok(nay_policy_find(NAY_POLICY_SMALL, p->bits_per_key, &small));
  rate theirs = measure(&leveldb, p), ours = measure(&small, p);
  assert_int_equal(ours.nbytes, theirs.nbytes);
  double ratio = ours.mean / theirs.mean;
  double error = ratio * hypot(ours.error / ours.mean, theirs.error / theirs.mean);
  print_message("# %s, %zu bytes: LevelDB %.4f %%, ours %.4f %%, ratio %.3f +- %.3f\n", p->name,
                ours.nbytes, 100 * theirs.mean, 100 * ours.mean, ratio, error);
  assert_true(error < 0.03 * ratio); /* the measurement is firm */
  assert_true(ratio + 5 * error <= p->bound);
}

int main(void) {
  test_case tests[N_POINTS];
  for (size_t i = 0; i < N_POINTS; i++) {
    tests[i] =
        (test_case)TEST_WITH(points[i].name, fewer_false_positives_in_the_same_bytes, &points[i]);
  }
  return run_list("test_small_rates.c", tests, N_POINTS);
}
