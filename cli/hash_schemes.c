/*
 * hash_schemes.c - how many hashes a Bloom filter needs: k, two, or one.
 *
 * Bit i of a key, i = 0 .. k-1, in an array of m bits:
 *
 *   k hashes    h_i mod m                      k independent hashes: XXH3 with k seeds
 *   two hashes  (h_0 + i * h_1) mod 2^64 mod m double hashing: Kirsch and Mitzenmacher, ESA 2006
 *   one hash    (low + i * high) mod m         the same, of the 32-bit halves of one hash
 *   LevelDB's   (h + i * r) mod 2^32 mod m     one hash of 32 bits; r is that, rotated by 15
 *   nay bloom                                  nay's own filter of as many bits and probes
 *
 * The first four share all code but the hash, and compute h_i when bit i is tested: a key that is
 * absent ends at its first clear bit, after two of seven on average, so k hashes cost it less than
 * k times one. Present keys pay for all. What double hashing costs is in the false-positive rate
 * (FPR): the bits of a key are an arithmetic progression, and in small arrays those of two keys
 * coincide. A sum that wraps at 2^64 or 2^32 breaks the progression now and then, which helps. A
 * hash of 32 bits repeats: each key adds 2^-32 to the FPR, in an array of any size. The FPR of few
 * keys varies, so it is the mean over many filters, each of other keys.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hash_bench.h"
#include "hashers.h"
#include "interval.h"
#include "numbers.h"
#include "progress.h"

#define SCHEME_NKEYS 100000u
#define SCHEME_BITS 10
#define SCHEME_PROBED 2000000u /* absent keys for the FPR */
#define SCHEME_MAX_K 32u
#define SCHEME_SECONDS 0.01
#define SCHEME_TIMED 32768u /* keys of a timing: too many for the branch predictor to learn */
#define SCHEME_TIMED_LONG                                                 \
  4096u /* of those longer than 128 bytes, so that they stay in L2 or LLC \
         */
#define SCHEME_LENGTHS 3

typedef enum scheme {
  SCHEME_K,
  SCHEME_TWO,
  SCHEME_ONE,
  SCHEME_LEVELDB,
  SCHEME_NAY,
  SCHEMES
} scheme;
static const char *const scheme_names[SCHEMES] = {"k hashes", "two hashes", "one hash", "LevelDB's",
                                                  "nay bloom"};
static const size_t scheme_lengths[SCHEME_LENGTHS] = {16, 128, 1024};

/* What the schemes share. hashers[i] has seed i. */
typedef struct scheme_plan {
  uint64_t nkeys, nbits;
  uint32_t k;
  double fpr; /* expected, with independent probes */
  nay_hasher hashers[SCHEME_MAX_K];
} scheme_plan;

/* One filter of a scheme. */
typedef struct scheme_filter {
  const scheme_plan *plan;
  scheme which;
  uint64_t *words;
  nay_filter *nay;
} scheme_filter;

typedef struct scheme_result {
  double hit_ns[SCHEME_LENGTHS], miss_ns[SCHEME_LENGTHS];
  uint64_t nfilters, nabsent, nmaybes;
} scheme_result;

/* ---- the filters ---- */

static uint64_t scheme_hash(const scheme_plan *p, uint32_t seed, const void *key, size_t len) {
  nay_hash h;
  (void)nay_hasher_hash(&p->hashers[seed], key, len, &h);
  return h.lo;
}

/* The bits of a key, one after the other; first and step are kept between them. */
typedef struct scheme_walk {
  uint64_t first, step;
} scheme_walk;

static inline scheme_walk scheme_begin(scheme which, uint64_t h) {
  uint32_t low = (uint32_t)h;
  if (which == SCHEME_ONE) return (scheme_walk){low, h >> 32};
  if (which == SCHEME_LEVELDB) return (scheme_walk){low, (low >> 17) | (uint32_t)(low << 15)};
  return (scheme_walk){h, 0};
}

static inline uint64_t scheme_bit(const scheme_filter *f, const void *key, size_t len, uint32_t i,
                                  scheme_walk *w) {
  const scheme_plan *p = f->plan;
  if (f->which == SCHEME_K) return scheme_hash(p, i, key, len) % p->nbits;
  if (i == 0) {
    uint64_t h = scheme_hash(p, 0, key, len);
    *w = scheme_begin(f->which, h);
  } else if (i == 1 && f->which == SCHEME_TWO) {
    w->step = scheme_hash(p, 1, key, len);
  }
  uint64_t at = w->first + i * w->step;
  return (f->which == SCHEME_LEVELDB ? (uint32_t)at : at) % p->nbits;
}

static void scheme_add(const scheme_filter *f, const void *key, size_t len) {
  scheme_walk w = {0, 0};
  if (f->which == SCHEME_NAY) {
    (void)nay_filter_add(f->nay, key, len, NULL);
    return;
  }
  for (uint32_t i = 0; i < f->plan->k; i++) {
    uint64_t bit = scheme_bit(f, key, len, i, &w);
    f->words[bit / 64] |= (uint64_t)1 << (bit % 64);
  }
}

static bool scheme_test(const scheme_filter *f, const void *key, size_t len) {
  scheme_walk w = {0, 0};
  if (f->which == SCHEME_NAY) return nay_filter_may_contain(f->nay, key, len);
  for (uint32_t i = 0; i < f->plan->k; i++) {
    uint64_t bit = scheme_bit(f, key, len, i, &w);
    if ((f->words[bit / 64] >> (bit % 64) & 1) == 0) return false;
  }
  return true;
}

static nay_filter *scheme_nay(const scheme_plan *p) {
  nay_params params = {.size = sizeof params, .kind = NAY_BLOOM, .nbits = p->nbits, .k = p->k};
  nay_filter *f;
  if (nay_filter_new(&params, NULL, NULL, &f) != NAY_OK) die(EXIT_TROUBLE, "out of memory");
  return f;
}

static scheme_filter scheme_new(const scheme_plan *p, scheme which) {
  scheme_filter f = {.plan = p, .which = which};
  size_t nbytes = (size_t)(p->nbits + 63) / 64 * 8;
  if (which == SCHEME_NAY) {
    f.nay = scheme_nay(p);
  } else {
    f.words = must_alloc(nbytes);
    memset(f.words, 0, nbytes);
  }
  return f;
}

static void scheme_free(scheme_filter *f) {
  nay_filter_free(f->nay);
  free(f->words);
}

/* ---- measuring ---- */

static double scheme_time(const scheme_filter *f, const key_row *r) {
  volatile uint64_t sink = 0;
  double best = 1e300, until = now_seconds() + SCHEME_SECONDS;
  do {
    double start = now_seconds();
    uint64_t hits = 0;
    for (size_t i = 0; i < r->n; i++) hits += scheme_test(f, r->keys[i], r->len);
    sink = sink + hits;
    double took = now_seconds() - start;
    if (took < best) best = took;
  } while (now_seconds() < until);
  return best * 1e9 / (double)r->n;
}

/* Present keys are the first of those in the filter; absent ones have another salt. */
static void scheme_times(const scheme_plan *p, scheme which, scheme_result *to) {
  for (size_t i = 0; i < SCHEME_LENGTHS; i++) {
    size_t most = scheme_lengths[i] > 128 ? SCHEME_TIMED_LONG : SCHEME_TIMED;
    size_t timed = p->nkeys < most ? (size_t)p->nkeys : most;
    key_row present = key_row_new(timed, scheme_lengths[i], 1);
    key_row absent = key_row_new(most, scheme_lengths[i], 2);
    key_row others = key_row_new((size_t)p->nkeys - timed + 1, 16, 3);
    scheme_filter f = scheme_new(p, which);
    for (size_t j = 0; j < timed; j++) scheme_add(&f, present.keys[j], present.len);
    for (size_t j = 0; j + 1 < others.n; j++) scheme_add(&f, others.keys[j], others.len);
    to->hit_ns[i] = scheme_time(&f, &present);
    to->miss_ns[i] = scheme_time(&f, &absent);
    scheme_free(&f);
    key_row_free(&present);
    key_row_free(&absent);
    key_row_free(&others);
  }
}

/* Small sets: many filters, so that the mean counts and not the luck of one. */
static void scheme_fpr(const scheme_plan *p, scheme which, scheme_result *to) {
  uint64_t filters = SCHEME_NKEYS / p->nkeys, probes;
  filters = filters < 1 ? 1 : filters > 1000 ? 1000 : filters;
  probes = SCHEME_PROBED / filters;
  for (uint64_t i = 0; i < filters; i++) {
    scheme_filter f = scheme_new(p, which);
    for (uint64_t j = 0; j < p->nkeys; j++) {
      uint64_t key[2] = {nay_hash_mix(i * p->nkeys + j), 1};
      scheme_add(&f, key, sizeof key);
    }
    for (uint64_t j = 0; j < probes; j++) {
      uint64_t key[2] = {nay_hash_mix(i * probes + j), 2};
      to->nmaybes += scheme_test(&f, key, sizeof key);
    }
    scheme_free(&f);
  }
  to->nfilters = filters;
  to->nabsent = filters * probes;
}

/* ---- printing ---- */

static void scheme_text(const scheme_plan *p, scheme which, const scheme_result *r) {
  char rate[NUMBER_TEXT], low[NUMBER_TEXT], high[NUMBER_TEXT];
  interval fpr = interval_of(r->nmaybes, r->nabsent, Z_95);
  out_text("%-11s", scheme_names[which]);
  for (size_t i = 0; i < SCHEME_LENGTHS; i++) {
    out_text("  %7.1f %7.1f", r->hit_ns[i], r->miss_ns[i]);
  }
  out_text("  %8s (%s to %s), %.2f\n", fpr_text(fpr.rate, rate), fpr_text(fpr.low, low),
           fpr_text(fpr.high, high), fpr.rate / p->fpr);
}

static void scheme_json(const scheme_plan *p, scheme which, const scheme_result *r) {
  interval fpr = interval_of(r->nmaybes, r->nabsent, Z_95);
  json_begin("nay.bench.scheme/1");
  json_text("scheme", scheme_names[which]);
  json_count("nkeys", p->nkeys);
  json_count("nbits", p->nbits);
  json_count("k", p->k);
  json_open("lengths", '[');
  for (size_t i = 0; i < SCHEME_LENGTHS; i++) {
    json_open(NULL, '{');
    json_count("key_nbytes", scheme_lengths[i]);
    json_real("hit_ns", r->hit_ns[i]);
    json_real("miss_ns", r->miss_ns[i]);
    json_close();
  }
  json_close();
  json_real("fpr_planned", p->fpr);
  json_count("nfilters", r->nfilters);
  json_count("nabsent", r->nabsent);
  json_real("fpr_measured", fpr.rate);
  json_real("fpr_low", fpr.low);
  json_real("fpr_high", fpr.high);
  json_end();
}

static void schemes_title(const scheme_plan *p) {
  char rate[NUMBER_TEXT];
  out_text("%s in %s, %s: two hashes against %u\n", COUNTED(p->nkeys, "key"),
           COUNTED(p->nbits, "bit"), COUNTED(p->k, "probe"), (unsigned)p->k);
  out_text("%s%-11s", paint(PAINT_BOLD), "scheme");
  for (size_t i = 0; i < SCHEME_LENGTHS; i++) {
    char bytes[24];
    snprintf(bytes, sizeof bytes, "hit %zuB", scheme_lengths[i]);
    out_text(" %8s %7s", bytes, "miss");
  }
  out_text("  FPR (95%%), times the expected %s%s\n", fpr_text(p->fpr, rate), paint(PAINT_PLAIN));
}

/* ---- the plan ---- */

static scheme_plan scheme_plan_size(const size_options *size) {
  scheme_plan p = {.nkeys = size->nkeys != 0 ? size->nkeys : SCHEME_NKEYS};
  double bits = size->bits_per_key != 0 ? size->bits_per_key : SCHEME_BITS;
  if (p.nkeys > 100000000 || bits > 64) die(EXIT_TROUBLE, "--hash: at most 100M keys of 64 bits");
  p.nbits = (uint64_t)(bits * (double)p.nkeys + 0.5);
  if (p.nbits < 64) p.nbits = 64;
  nay_params params = {
      .size = sizeof params,
      .kind = NAY_BLOOM,
      .nkeys = p.nkeys,
      .nbits = p.nbits,
      .k = size->probes > SCHEME_MAX_K ? SCHEME_MAX_K + 1 : (uint32_t)size->probes};
  nay_plan plan = {.size = sizeof plan};
  nay_diag diag = {.what = NULL};
  char text[DIAG_TEXT];
  nay_status status = nay_params_plan(&params, &diag, &plan);
  if (status != NAY_OK) die(EXIT_TROUBLE, "%s", diag_text(status, &diag, text));
  p.k = plan.k;
  p.fpr = plan.fpr;
  p.nbits = plan.nbits;
  if (size->probes > SCHEME_MAX_K) die(EXIT_TROUBLE, "--hash: at most %u probes", SCHEME_MAX_K);
  if (p.k > SCHEME_MAX_K) {
    die(EXIT_TROUBLE,
        "--hash: %s of %s have the least FPR with %u probes, more than %u: give --probes",
        COUNTED(p.nbits, "bit"), COUNTED(p.nkeys, "key"), p.k, SCHEME_MAX_K);
  }
  return p;
}

void hash_schemes_check(const size_options *size) { (void)scheme_plan_size(size); }

void hash_schemes(const size_options *size, bool json) {
  scheme_plan p = scheme_plan_size(size);
  for (uint32_t i = 0; i < SCHEME_MAX_K; i++) {
    nay_params seeded = {
        .size = sizeof seeded, .kind = NAY_BLOOM, .nkeys = 1, .fpr = 0.5, .seed = i};
    nay_filter *f;
    if (nay_filter_new(&seeded, NULL, NULL, &f) != NAY_OK) die(EXIT_TROUBLE, "out of memory");
    p.hashers[i] = filter_hasher(f);
    nay_filter_free(f);
  }
  if (!json) schemes_title(&p);
  for (unsigned which = 0; which < SCHEMES; which++) {
    scheme_result r = {.nfilters = 0};
    scheme_times(&p, (scheme)which, &r);
    scheme_fpr(&p, (scheme)which, &r);
    (json ? scheme_json : scheme_text)(&p, (scheme)which, &r);
    out_flush();
  }
  if (!json)
    out_text("ns per key: present (hit), absent (miss); one call each, hashing included\n");
}
