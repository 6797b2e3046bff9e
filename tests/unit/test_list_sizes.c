/*
 * test_list_sizes.c - sizes of exact lists: the two-level formula from 0.1 to 1,000 unlisted keys
 * for each listed one, and a synthetic CRLite beside Clubcard's builder.
 *
 * The synthetic CRLite: 81.6 million certificates of 300 issuers, whose sizes follow Zipf's law
 * with exponent 1. The shares of listed ones are log-uniform between 0.1% and 20%, drawn with
 * SplitMix64 from the seed below; then one common factor brings them to 1.17 million listed ones,
 * each clamped at 50%.
 *
 *   test_list_sizes [divisor]   universes smaller by that, for a quick look; default 1
 */
#include <math.h>
#include <stdlib.h>

#include "support/lists.h"

#define ISSUERS 300u
#define SEED 34u

static uint64_t divisor = 1;

/* ---- one partition ---- */

static double formula_bits(double few, double many, unsigned k) {
  return few * (k + 1) + many / (double)((uint64_t)1 << k);
}

static double least_bits(double few, double many) {
  double least = formula_bits(few, many, 0);
  for (unsigned k = 1; k < 40; k++) least = fmin(least, formula_bits(few, many, k));
  return least;
}

/* Keys 0 to n - 1 of a partition, the first nlisted of them listed. */
static void add_keys(nay_builder *b, uint32_t partition, uint64_t n, uint64_t nlisted) {
  for (uint64_t i = 0; i < n; i++) {
    uint8_t key[UNIVERSE_KEY];
    memcpy(key, &partition, 4);
    memcpy(key + 4, &i, 8);
    assert_ok(nay_builder_add_value(b, key, sizeof key, i < nlisted));
  }
}

static nay_stats stats_and_free(nay_builder *b) {
  nay_filter *list = NULL;
  nay_diag diag = {.what = ""};
  if (nay_builder_finish(b, &diag, &list) != NAY_OK) fail_msg("%s", diag.what);
  nay_builder_free(b);
  nay_stats stats = list_stats(list);
  nay_filter_free(list);
  return stats;
}

static void payload_is_that_of_two_levels(void **state) {
  (void)state;
  static const double xs[] = {0.1, 0.25, 0.5, 0.9, 1,  1.5, 2,   3,   4,   5,   7,   8,
                              9,   12,   16,  31,  33, 69,  100, 200, 400, 700, 1000};
  unsigned nabove = 0;
  for (size_t i = 0; i < sizeof xs / sizeof xs[0]; i++) {
    uint64_t few = 100000 / (xs[i] > 100 ? divisor : 1);
    uint64_t listed = xs[i] < 1 ? (uint64_t)((double)few / xs[i]) : few;
    uint64_t unlisted = xs[i] < 1 ? few : (uint64_t)((double)few * xs[i]);
    nay_params params = list_params(0, 0);
    nay_builder *b;
    assert_ok(nay_builder_new(&params, NULL, NULL, &b));
    add_keys(b, 0, listed + unlisted, listed);
    nay_stats stats = stats_and_free(b);
    double formula = least_bits((double)few, (double)(listed + unlisted - few));
    double over = (double)stats.nbits / formula;
    print_message(
        "x %g: %.4f bits per key on the smaller side, %.4f times the formula, %.4f times "
        "the bound\n",
        xs[i], (double)stats.nbits / (double)few, over,
        (double)stats.nbits / (double)stats.list_bound);
    nabove += over > 1.01;
  }
  assert_int_equal(nabove, 0);
}

/* ---- a synthetic CRLite ---- */

typedef struct issuer {
  uint64_t n, listed;
  double share;
} issuer;

static uint64_t listed_of(issuer *issuers, double factor) {
  uint64_t sum = 0;
  for (unsigned i = 0; i < ISSUERS; i++) {
    double share = fmin(issuers[i].share * factor, 0.5);
    issuers[i].listed = (uint64_t)((double)issuers[i].n * share);
    sum += issuers[i].listed;
  }
  return sum;
}

static void make_issuers(issuer *issuers) {
  double all = 81.6e6 / (double)divisor, listed = 1.17e6 / (double)divisor, harmonic = 0;
  for (unsigned i = 1; i <= ISSUERS; i++) harmonic += 1.0 / i;
  for (unsigned i = 0; i < ISSUERS; i++) {
    double u = (double)(nay_hash_mix((uint64_t)SEED << 32 | i) >> 11) * 0x1p-53;
    issuers[i].n = (uint64_t)(all / harmonic / (i + 1));
    issuers[i].share = 0.001 * pow(200, u);
  }
  double low = 0, high = 1000;
  for (unsigned i = 0; i < 100; i++) {
    double middle = (low + high) / 2;
    if ((double)listed_of(issuers, middle) < listed) low = middle;
    if (!((double)listed_of(issuers, middle) < listed)) high = middle;
  }
  (void)listed_of(issuers, high);
}

/* ---- Clubcard's own builder ---- */

/*
 * What clubcard 0.3.2 does (doc/formats/clubcard.md): m = floor(1.02 n) slots, which equations that
 * run over the end lengthen; rank = floor(log2 x), 0 below 2. Coefficients are random here instead
 * of SHA-256: the number of rows depends on nothing else.
 */
typedef struct rows256 {
  uint64_t (*at)[4];
  uint64_t cap, used;
} rows256;

static uint64_t random_at;
static uint64_t random_word(void) { return nay_hash_mix(++random_at); }

/* The rows of n equations: at least m. */
static uint64_t rows_of(rows256 *r, uint64_t n) {
  uint64_t m = (uint64_t)(1.02 * (double)n), used = m;
  if (m + 256 > r->cap) {
    r->cap = 2 * (m + 256);
    r->at = realloc(r->at, r->cap * sizeof *r->at);
  }
  memset(r->at, 0, (m + 256) * sizeof *r->at);
  for (uint64_t i = 0; i < n; i++) {
    uint64_t a[4] = {random_word() | 1, random_word(), random_word(), random_word()};
    uint64_t start = random_word() % m;
    while ((a[0] | a[1] | a[2] | a[3]) != 0) {
      while (a[0] == 0) {
        a[0] = a[1], a[1] = a[2], a[2] = a[3], a[3] = 0;
        start += 64;
      }
      unsigned shift = (unsigned)__builtin_ctzll(a[0]);
      for (unsigned k = 0; k < 4 && shift != 0; k++) {
        a[k] = a[k] >> shift | (k < 3 ? a[k + 1] << (64 - shift) : 0);
      }
      start += shift;
      uint64_t *row = r->at[start];
      if (row[0] == 0) {
        memcpy(row, a, sizeof a);
        if (start >= used) used = start + 1;
        break;
      }
      for (unsigned k = 0; k < 4; k++) a[k] ^= row[k];
    }
  }
  return used;
}

/* Bits of the words of X and Y, the tail of 64 included. */
static double clubcard_bits(const issuer *issuers, unsigned n) {
  rows256 r = {.at = NULL};
  uint64_t columns[64] = {0}, exact = 0, words = 0;
  unsigned ranks = 0;
  random_at = SEED;
  for (unsigned i = 0; i < n; i++) {
    const issuer *p = &issuers[i];
    uint64_t others = p->n - p->listed;
    if (p->listed == 0 || others == 0) continue;
    unsigned rank =
        2 * p->listed >= p->n ? 0 : (unsigned)floor(log2((double)others / (double)p->listed));
    uint64_t rows = rank != 0 ? rows_of(&r, p->listed) : 0;
    for (unsigned c = 0; c < rank; c++) columns[c] += rows;
    if (rank > ranks) ranks = rank;
    exact += rows_of(&r, p->listed + (others >> rank));
  }
  for (unsigned c = 0; c < ranks; c++) words += (columns[c] + (ranks > 1 ? 64 : 0) + 63) / 64;
  free(r.at);
  return (double)(words + (exact + 63) / 64) * 64;
}

/* One issuer, 50,000 listed: what the real builder wrote. */
static void the_model_is_that_of_the_real_builder(void **state) {
  (void)state;
  static const struct {
    unsigned x;
    double bits; /* per listed key */
  } real[] = {{1, 2.042}, {2, 3.063}, {4, 4.083}, {9, 5.244}, {69, 8.256}, {1000, 12.225}};
  for (size_t i = 0; i < sizeof real / sizeof real[0]; i++) {
    issuer one = {.n = 50000 * (uint64_t)(real[i].x + 1), .listed = 50000};
    double bits = clubcard_bits(&one, 1) / 50000;
    print_message("x %u: %.4f bits by the model, %.3f by clubcard 0.3.2\n", real[i].x, bits,
                  real[i].bits);
    assert_true(fabs(bits / real[i].bits - 1) < 0.004); /* its own builds vary by that */
  }
}

static void crlite_takes_fewer_bits_than_clubcard(void **state) {
  (void)state;
  static issuer issuers[ISSUERS];
  make_issuers(issuers);
  nay_params params = list_params(4, 0);
  nay_builder *b;
  double clubcard = clubcard_bits(issuers, ISSUERS), formula = 0;
  uint64_t n = 0, listed = 0;
  assert_ok(nay_builder_new(&params, NULL, NULL, &b));
  for (unsigned i = 0; i < ISSUERS; i++) {
    const issuer *p = &issuers[i];
    add_keys(b, i, p->n, p->listed);
    formula += p->listed != 0 ? least_bits((double)p->listed, (double)(p->n - p->listed)) : 0;
    n += p->n;
    listed += p->listed;
  }
  nay_stats stats = stats_and_free(b);
  assert_int_equal(stats.nkeys, n);
  assert_int_equal(stats.nlisted, listed);
  double bits = (double)stats.nbits;
  print_message(
      "%llu of %llu listed: %.0f bytes, %.4f bits per listed key; Clubcard's model %.0f "
      "bytes, ratio %.4f; two levels %.4f; bound %.4f\n",
      (unsigned long long)listed, (unsigned long long)n, bits / 8, bits / (double)listed,
      clubcard / 8, bits / clubcard, bits / formula, bits / (double)stats.list_bound);
  if (divisor == 1) assert_in_range(listed, 1169000, 1171000);
  if (divisor == 1 && bits > 0.985 * clubcard) fail_msg("%.4f of Clubcard", bits / clubcard);
}

int main(int argc, char **argv) {
  if (argc > 1) divisor = strtoull(argv[1], NULL, 10);
  const test_case tests[] = {
      TEST(payload_is_that_of_two_levels),
      TEST(the_model_is_that_of_the_real_builder),
      TEST(crlite_takes_fewer_bits_than_clubcard),
  };
  return run_all(tests);
}
