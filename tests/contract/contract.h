/*
 * contract.h - what the contract tests share. Each test takes a family from the registry and reads
 * its traits, so a family is under contract as soon as it is registered.
 *
 * A test names the traits it needs. A family without them does not run it; that it refuses the
 * calls instead is the business of refuses_what_it_cannot (test_arguments.c).
 */
#ifndef NAY_TEST_CONTRACT_H
#define NAY_TEST_CONTRACT_H

#include "family/family.h"
#include "support/flaky.h"
#include "support/keys.h"
#include "support/temp.h"
#include "support/test.h"

typedef struct contract_test {
  const char *name;
  void (*run)(void **);
  unsigned needs;  /* NAY_CAN_...: run for families that have all of these */
  unsigned unless; /* and none of these */
} contract_test;

#define CONTRACT(function, needs) \
  { #function, function, needs, 0 }
/* Only where contract_is_a_set. */
#define CONTRACT_SETS(function, needs) \
  { #function, function, NAY_CAN_ADD | (needs), CONTRACT_NOT_A_SET }

#define CONTRACT_MAX 1024

/*
 * Beside the traits of nay.h: a filter is one array of a size that the caller may choose, and folds
 * as a whole. Scalable has levels and finishes the last.
 */
#define CONTRACT_FOLDS_WHOLE 0x10000u

static inline bool contract_can(const nay_family *family, unsigned traits) {
  bool folds = family->algebra != NULL && family->algebra->fold != NULL;
  unsigned own = family->traits | (folds ? CONTRACT_FOLDS_WHOLE : 0);
  return (own & traits) == traits;
}

/* contract_run: every test with every family that has the traits. */
static inline int contract_run(const char *group, const contract_test *tests, size_t ntests) {
  static test_case cases[CONTRACT_MAX];
  static char names[CONTRACT_MAX][96];
  const nay_family *family;
  size_t n = 0;
  for (size_t i = 0; (family = nay__family_at(i)) != NULL; i++) {
    for (size_t t = 0; t < ntests && n < CONTRACT_MAX; t++) {
      if (!contract_can(family, tests[t].needs) || (family->traits & tests[t].unless) != 0) {
        continue;
      }
      snprintf(names[n], sizeof names[n], "%s: %s", family->name, tests[t].name);
      cases[n] = (test_case)TEST_WITH(names[n], tests[t].run, family);
      n++;
    }
  }
  return run_list(group, cases, n);
}

#define contract_run_all(tests) \
  contract_run(test_file(__FILE__), tests, sizeof tests / sizeof tests[0])

/*
 * contract_is_a_set: adding is idempotent and commutes, so the bytes depend on the set of keys
 * alone. Not so where copies are counted, where levels grow, where time passes.
 */
#define CONTRACT_NOT_A_SET (NAY_CAN_REMOVE | NAY_CAN_COUNT | NAY_CAN_GROW | NAY_CAN_EXPIRE)

static inline bool contract_is_a_set(const nay_family *family) {
  return contract_can(family, NAY_CAN_ADD) && (family->traits & CONTRACT_NOT_A_SET) == 0;
}

static inline nay_params contract_params(const nay_family *family, uint64_t nkeys) {
  return (nay_params){sizeof(nay_params), .kind = family->kind, .nkeys = nkeys, .fpr = 0.01};
}

static inline nay_params contract_keyed(const nay_family *family, uint64_t nkeys) {
  nay_params p = contract_params(family, nkeys);
  p.hash = NAY_HASH_SIPHASH;
  for (unsigned i = 0; i < sizeof p.key; i++) p.key[i] = (uint8_t)(0xc0 + i);
  return p;
}

/* contract_hash: the hash of key number i, for calls that take hashes. */
static inline nay_hash contract_hash(uint64_t i) { return (nay_hash){nay_hash_mix(i), 0}; }

/* contract_build: a filter of keys [first, first + n) of a set, for every family. */
static inline nay_filter *contract_build(const nay_params *p, const key_set *set, uint64_t first,
                                         uint64_t n) {
  nay_builder *b;
  nay_filter *f;
  uint8_t key[KEY_MAX];
  assert_ok(nay_builder_new(p, NULL, NULL, &b));
  for (uint64_t i = first; i < first + n; i++) {
    assert_ok(nay_builder_add(b, key, set->make(i, key)));
  }
  assert_int_equal(nay_builder_nkeys(b), n);
  assert_ok(nay_builder_finish(b, NULL, &f));
  nay_builder_free(b);
  return f;
}

/* contract_filter: the usual one, of keys 0 .. n-1 of the random set. */
static inline nay_filter *contract_filter(const nay_family *family, uint64_t n) {
  nay_params p = contract_params(family, n);
  return contract_build(&p, &key_sets[3], 0, n);
}

/* A filter with the same keys that takes concurrent adds; NULL when its family takes none. */
static inline nay_filter *concurrent_twin(const nay_filter *f) {
  nay_params p = {.size = sizeof p};
  nay_filter *twin;
  if (nay_filter_params(f, &p) != NAY_OK) return NULL;
  p.flags |= NAY_CONCURRENT;
  if (nay_filter_new(&p, NULL, NULL, &twin) != NAY_OK) return NULL;
  assert_ok(nay_filter_merge(twin, f, 1.0, NULL));
  return twin;
}

static inline nay_filter *contract_new(const nay_params *p) {
  nay_filter *f;
  assert_ok(nay_filter_new(p, NULL, NULL, &f));
  return f;
}

static inline void contract_add(nay_filter *f, const key_set *set, uint64_t first, uint64_t n) {
  uint8_t key[KEY_MAX];
  for (uint64_t i = first; i < first + n; i++) {
    assert_ok(nay_filter_add(f, key, set->make(i, key), NULL));
  }
}

static inline bool contract_has(const nay_filter *f, const key_set *set, uint64_t i) {
  uint8_t key[KEY_MAX];
  return nay_filter_may_contain(f, key, set->make(i, key));
}

static inline void assert_all_maybe(const nay_filter *f, const key_set *set, uint64_t first,
                                    uint64_t n) {
  for (uint64_t i = first; i < first + n; i++) {
    if (!contract_has(f, set, i)) fail_msg("key %llu is lost", (unsigned long long)i);
  }
}

/* assert_same_answers: on keys [0, n), some in and some not. */
static inline void assert_same_answers(const nay_filter *a, const nay_filter *b, const key_set *set,
                                       uint64_t n) {
  for (uint64_t i = 0; i < n; i++) {
    if (contract_has(a, set, i) != contract_has(b, set, i)) {
      fail_msg("the answers for key %llu differ", (unsigned long long)i);
    }
  }
}

/* ---- bytes ---- */

typedef struct bytes {
  uint8_t *at;
  size_t len;
} bytes;

static inline bytes bytes_of(const nay_filter *f) {
  size_t len = nay_filter_encoded_size(f), written = 0;
  bytes b = {malloc(len != 0 ? len : 1), len};
  assert_true(len != 0);
  assert_non_null(b.at);
  assert_ok(nay_filter_encode(f, b.at, len, &written));
  assert_int_equal(written, len);
  return b;
}

static inline void bytes_free(bytes *b) {
  free(b->at);
  *b = (bytes){NULL, 0};
}

static inline bool bytes_equal(const bytes *a, const bytes *b) {
  return a->len == b->len && memcmp(a->at, b->at, a->len) == 0;
}

static inline bool filters_equal(const nay_filter *a, const nay_filter *b) {
  bytes x = bytes_of(a), y = bytes_of(b);
  bool equal = bytes_equal(&x, &y);
  bytes_free(&x);
  bytes_free(&y);
  return equal;
}

/* assert_unchanged: f still has the bytes it had. */
static inline void assert_unchanged(const nay_filter *f, const bytes *before) {
  bytes now = bytes_of(f);
  assert_true(bytes_equal(&now, before));
  bytes_free(&now);
}

static inline nay_stats stats_of(const nay_filter *f) {
  nay_stats s = {.size = sizeof s};
  assert_ok(nay_filter_stats(f, &s));
  return s;
}

/* A file with the filter's bytes; the path lives until the next call. Remove it yourself. */
static inline const char *saved(const nay_filter *f, const char *name) {
  static char path[TEMP_MAX];
  assert_ok(nay_filter_save(f, temp_path(path, name), NULL));
  return path;
}

#endif /* NAY_TEST_CONTRACT_H */
