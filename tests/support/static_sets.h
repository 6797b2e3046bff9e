/* static_sets.h - sets of hashes for tests of static families, and what is checked of every filter.
 */
#ifndef NAY_TEST_STATIC_SETS_H
#define NAY_TEST_STATIC_SETS_H

#include "base/bytes.h"
#include "family/family.h"
#include "support/test.h"

/* set_random: n hashes; salts give sets that have nothing in common. */
static inline uint64_t *set_random(size_t n, uint64_t salt) {
  uint64_t *x = malloc((n + 1) * sizeof *x);
  assert_non_null(x);
  for (size_t i = 0; i < n; i++) x[i] = nay_hash_mix(i + (salt << 40));
  return x;
}

static inline nay_params set_params(nay_kind kind, double fpr, uint32_t k) {
  return (nay_params){
      .size = sizeof(nay_params), .kind = kind, .fpr = fpr, .k = k, .hash = NAY_HASH_CALLER};
}

static inline nay_filter *set_build(const nay_params *p, const uint64_t *x, size_t n) {
  nay_filter *f = NULL;
  assert_ok(nay_filter_build(p, x, n, NULL, NULL, &f));
  return f;
}

/* set_all_maybe: one by one and in batches. */
static inline void set_all_maybe(const nay_filter *f, const uint64_t *x, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (!nay_filter_may_contain_hash(f, (nay_hash){x[i], 0})) fail_msg("a false nay, key %zu", i);
  }
  for (size_t i = 0; i < n; i += 64) {
    size_t group = n - i < 64 ? n - i : 64;
    uint64_t word = 0;
    assert_ok(nay_filter_may_contain_hash_many(f, x + i, NULL, group, &word));
    if (word != ~(uint64_t)0 >> (64 - group)) fail_msg("a false nay in the batch at %zu", i);
  }
}

/* set_fpr: the share of maybes among n absent hashes; one by one and in batches they must agree. */
static inline double set_fpr(const nay_filter *f, size_t n, uint64_t salt) {
  uint64_t *x = set_random(n, salt + 1000);
  size_t maybes = 0;
  for (size_t i = 0; i < n; i += 64) {
    size_t group = n - i < 64 ? n - i : 64;
    uint64_t word = 0;
    assert_ok(nay_filter_may_contain_hash_many(f, x + i, NULL, group, &word));
    for (size_t j = 0; j < group; j++) {
      bool maybe = nay_filter_may_contain_hash(f, (nay_hash){x[i + j], 0});
      assert_int_equal(maybe, word >> j & 1);
      maybes += maybe;
    }
  }
  free(x);
  return (double)maybes / (double)n;
}

static inline void set_same_bytes(const nay_filter *a, const nay_filter *b) {
  assert_int_equal(a->nbytes, b->nbytes);
  assert_memory_equal(&a->shape, &b->shape, sizeof a->shape);
  assert_int_equal(a->nkeys, b->nkeys);
  assert_memory_equal(a->bits.bytes, b->bits.bytes, a->nbytes);
}

#endif /* NAY_TEST_STATIC_SETS_H */
