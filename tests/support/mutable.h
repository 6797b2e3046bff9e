/* mutable.h - helpers for the families that change: random numbers, snapshots, hostile payloads. */
#ifndef NAY_TEST_MUTABLE_H
#define NAY_TEST_MUTABLE_H

#include "family/family.h"
#include "filter.h"
#include "support/test.h"

/* A small generator with a visible seed: every failure can be repeated. */
typedef struct rng {
  uint64_t state;
} rng;

static inline uint64_t rng_next(rng *r) { return nay_hash_mix(r->state++); }
static inline uint64_t rng_below(rng *r, uint64_t n) { return rng_next(r) % n; }

static inline nay_hash hash_of(uint64_t key) { return (nay_hash){nay_hash_mix(key), 0}; }

/* All bytes of a filter's file. */
typedef struct snapshot {
  uint8_t *bytes;
  size_t len;
} snapshot;

static inline snapshot snap(const nay_filter *f) {
  snapshot s = {NULL, nay_filter_encoded_size(f)};
  s.bytes = malloc(s.len);
  assert_non_null(s.bytes);
  assert_ok(nay_filter_encode(f, s.bytes, s.len, &s.len));
  return s;
}

/* Whether the filter's file still has these bytes; frees them. */
static inline bool snap_same(snapshot s, const nay_filter *f) {
  snapshot now = snap(f);
  bool same = s.len == now.len && memcmp(s.bytes, now.bytes, s.len) == 0;
  free(s.bytes);
  free(now.bytes);
  return same;
}

static inline bool same_bytes(const nay_filter *a, const nay_filter *b) {
  return snap_same(snap(a), b);
}

/* Saves, reads back (which runs every check of the family), and replaces the filter. */
static inline void reload(nay_filter **f) {
  snapshot s = snap(*f);
  nay_filter *read;
  nay_diag diag = {.what = NULL};
  nay_status status = nay_filter_decode(s.bytes, s.len, NULL, &diag, &read);
  if (status != NAY_OK) fail_msg("reload: %s: %s", nay_status_name(status), diag.what);
  assert_true(snap_same(s, read));
  nay_filter_free(*f);
  *f = read;
}

/*
 * A payload made on purpose, with right checksums: `flips` random bytes of it changed. The
 * family refuses it, or it must be safe to use: adds, removes, counts, probes, ticks, merges.
 */
static inline void use_after_damage(const nay_filter *f, rng *r, unsigned flips, size_t within) {
  nay_filter *bad;
  assert_ok(nay_filter_copy(f, NULL, NULL, &bad));
  if (within > bad->nbytes) within = bad->nbytes;
  for (unsigned i = 0; i < flips; i++) {
    bad->bits.bytes[rng_below(r, within)] ^= (uint8_t)(1u << rng_below(r, 8));
  }
  nay_diag diag;
  const nay_family *family = bad->family;
  if (family->check(&bad->shape, bad->bits.bytes, bad->nbytes, &diag) == NAY_OK) {
    for (unsigned i = 0; i < 200; i++) {
      nay_hash h = {rng_next(r), 0};
      uint64_t count;
      bool is_new;
      (void)nay_filter_add_hash(bad, h, &is_new);
      (void)nay_filter_may_contain_hash(bad, (nay_hash){rng_next(r), 0});
      if (i % 2 == 0) (void)nay_filter_remove_hash(bad, h);
      (void)nay__filter_count_hash(bad, h, &count);
    }
    nay_stats stats = {.size = sizeof stats};
    assert_ok(nay_filter_stats(bad, &stats));
    (void)nay_filter_advance(bad, rng_next(r));
    (void)nay_filter_clear(bad);
  }
  nay_filter_free(bad);
}

#endif /* NAY_TEST_MUTABLE_H */
