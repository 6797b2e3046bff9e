/*
 * exercise.h - everything that callers may do with untrusted bytes, and what must then hold. Shared
 * by the mutation test and the fuzz targets, so a failure aborts.
 */
#ifndef NAY_TEST_EXERCISE_H
#define NAY_TEST_EXERCISE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/native.h"
#include "nay_advanced.h"
#include "nay_format.h"
#include "support/explained.h"
#include "support/flaky.h"

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      abort();                                                                \
    }                                                                         \
  } while (0)

/* What the promise on memory allows for an input. */
static inline size_t exercise_limit(size_t len) { return 2 * len + 65536; }

/*
 * What a packed layout may cost: its bytes unpacked, twice for a moment. nori's compact quotient
 * filter may state 65,536 slots, which are 8 bytes each when unpacked, however short it is.
 */
static inline size_t exercise_packed_limit(size_t len) {
  return 2 * 88 * len + 65536 + 2 * 8 * (1 + 65536);
}

/* Explanations agree with probes. */
static inline void exercise_explain(const nay_filter *f, nay_hash hash) {
  static explained e; /* too large for a stack */
  CHECK(explained_hash(f, hash, NULL, &e) == NULL);
}

/* The same of a filter that takes keys and no hashes. */
static inline void exercise_keys(const nay_filter *f, uint64_t salt) {
  uint64_t words[70], bitmap[2];
  const void *keys[70];
  size_t lens[70];
  for (unsigned i = 0; i < 70; i++) {
    words[i] = nay_hash_mix(salt + i);
    keys[i] = &words[i];
    lens[i] = i % 9;
  }
  CHECK(nay_filter_may_contain_many(f, keys, lens, 70, bitmap) == NAY_OK);
  for (unsigned i = 0; i < 70; i++) {
    nay_explanation why = {.size = sizeof why};
    bool maybe = nay_filter_may_contain(f, keys[i], lens[i]);
    CHECK(maybe == (bitmap[i / 64] >> i % 64 & 1));
    CHECK(nay_filter_explain(f, keys[i], lens[i], NULL, NULL, &why) == NAY_OK);
    CHECK(why.maybe == maybe);
  }
}

/* Probes: single and batch agree. `salt` makes the hashes. */
static inline void exercise_probe(const nay_filter *f, uint64_t salt) {
  uint64_t lo[70], hi[70], bitmap[2];
  for (unsigned i = 0; i < 70; i++) {
    lo[i] = nay_hash_mix(salt + i);
    hi[i] = nay_hash_mix(lo[i]);
  }
  lo[0] = hi[1] = 0;
  lo[1] = hi[0] = UINT64_MAX;
  nay_status status = nay_filter_may_contain_hash_many(f, lo, hi, 70, bitmap);
  if (status == NAY_ENOTSUP) {
    exercise_keys(f, salt);
    return;
  }
  CHECK(status == NAY_OK);
  for (unsigned i = 0; i < 70; i++) {
    nay_hash hash = {lo[i], hi[i]};
    CHECK(nay_filter_may_contain_hash(f, hash) == (bitmap[i / 64] >> i % 64 & 1));
    if (i % 8 < 2) exercise_explain(f, hash);
  }
  uint64_t count;
  (void)nay_filter_may_contain(f, "key", 3);
  (void)nay_filter_count(f, "key", 3, &count);
  (void)nay_filter_meta(f, NULL);
  CHECK(nay_key_description_same(nay_filter_key(f),
                                 nay_filter_key(f))); /* whatever was in the file */
}

static inline void exercise_stats(const nay_filter *f) {
  nay_stats stats = {.size = sizeof stats};
  CHECK(nay_filter_stats(f, &stats) == NAY_OK);
  CHECK(stats.nbits_set <= stats.nbits);
  CHECK(stats.fpr_planned >= 0 && stats.fpr_planned <= 1);
}

/* Adds, removals, time: what was added is a maybe. */
static inline void exercise_change(nay_filter *f, uint64_t salt) {
  if (nay_filter_add(f, "new", 3, NULL) == NAY_OK) CHECK(nay_filter_may_contain(f, "new", 3));
  for (unsigned i = 0; i < 8; i++) {
    nay_hash hash = {nay_hash_mix(salt + i), nay_hash_mix(salt - i)};
    if (nay_filter_add_hash(f, hash, NULL) != NAY_OK) continue;
    CHECK(nay_filter_may_contain_hash(f, hash));
    if (i % 2 == 0) (void)nay_filter_remove_hash(f, hash);
  }
  (void)nay_filter_advance(f, 1);
}

static inline uint8_t *exercise_encode(const nay_format *format, const nay_filter *f, size_t *len) {
  size_t size = nay_format_encoded_size(format, f); /* 0: LevelDB's filter of no bytes */
  uint8_t *p = malloc(size + 1);
  CHECK(p != NULL && nay_format_encode(format, f, p, size, len) == NAY_OK && *len == size);
  return p;
}

/* Written, read and written again, a filter gives the same bytes. */
static inline void exercise_round_trip(const nay_format *format, const nay_filter *f) {
  size_t len, len2;
  nay_filter *again = NULL;
  uint8_t *p = exercise_encode(format, f, &len);
  CHECK(nay_format_decode(format, p, len, 0, NULL, NULL, &again) == NAY_OK);
  uint8_t *q = exercise_encode(format, again, &len2);
  CHECK(len == len2 && memcmp(p, q, len) == 0);
  nay_filter_free(again);
  free(q);
  free(p);
}

/* A native file mapped lazily: what decode accepts it accepts. */
static inline void exercise_lazy(uint8_t *p, size_t len, nay_status eager, uint64_t salt) {
  flaky memory = {.fail_at = -1};
  nay_allocator a = flaky_allocator(&memory);
  nay_filter *f = nay__alloc(&a, sizeof *f);
  CHECK(f != NULL);
  *f = (nay_filter){.allocator = a, .flags = NAY_IS_READ_ONLY};
  nay_status status = nay__native_parse(p, len, NAY_VERIFY_AT_TOUCH, NULL, f);
  CHECK(eager != NAY_OK || status == NAY_OK);
  if (status == NAY_OK) {
    for (unsigned i = 0; i < 20; i++) {
      nay_hash hash = {nay_hash_mix(salt + i), 0};
      (void)nay_filter_may_contain_hash(f, hash);
      exercise_explain(f, hash);
    }
    nay_stats stats = {.size = sizeof stats};
    CHECK(nay_filter_stats(f, &stats) == (eager == NAY_OK ? NAY_OK : NAY_ECORRUPT));
  }
  nay_filter_free(f);
  CHECK(memory.objects == 0 && memory.peak <= exercise_limit(len));
}

/*
 * exercise_bytes: decodes and views bytes[0, len) in a format and does everything above with the
 * result. `deep` adds what takes longer. True when the bytes were accepted.
 */
static inline bool exercise_bytes(const nay_format *format, uint8_t *p, size_t len, uint64_t salt,
                                  bool deep) {
  flaky memory = {.fail_at = -1};
  nay_allocator a = flaky_allocator(&memory);
  nay_filter *f = NULL;
  nay_view view = {.size = sizeof view};
  nay_diag diag = {.offset = UINT64_MAX};
  nay_status status = nay_format_decode(format, p, len, 0, &a, &diag, &f);
  nay_status viewed = nay_format_view(format, p, len, 0, NULL, &view);
  bool packed = viewed == NAY_ENOTSUP; /* its bytes cannot be probed in place */
  CHECK(memory.peak <= (packed ? exercise_packed_limit(len) : exercise_limit(len)));
  CHECK(packed || viewed == status);
  if (format == nay_format_find("nay")) exercise_lazy(p, len, status, salt);
  if (status == NAY_OK) {
    exercise_probe(f, salt);
    if (!packed) exercise_probe(nay_view_filter(&view), salt);
    if (deep) {
      exercise_stats(f);
      exercise_round_trip(format, f);
    }
    exercise_change(f, salt);
    exercise_probe(f, salt + 1);
    if (deep) {
      exercise_stats(f);
      exercise_round_trip(format, f);
    }
    nay_filter_free(f);
  } else {
    CHECK(f == NULL && diag.what != NULL && diag.offset <= len);
  }
  CHECK(memory.objects == 0);
  return status == NAY_OK;
}

#endif /* NAY_TEST_EXERCISE_H */
