/*
 * lazy.h - a mapped file whose chunks are verified at first access.
 *
 * Each 64 KiB chunk of the body has a checksum in the directory and a byte of state here: unknown,
 * good or bad. Several threads may verify one chunk at the same time; they come to the same result,
 * so a release store of one byte is all the synchronisation there is.
 */
#ifndef NAY_LAZY_H
#define NAY_LAZY_H

#include "base/base.h"

#define NAY_CHUNK ((size_t)65536)

typedef struct nay_lazy {
  const uint8_t *body;
  size_t body_len;
  const uint8_t *digests; /* u64le for each chunk */
  size_t nchunks;
  /* tells the system that these bytes are read next, in one piece; or NULL */
  void (*soon)(const void *at, size_t len);
  uint8_t bad;     /* 1 once a damaged chunk was met: nay_filter_health */
  uint8_t state[]; /* one for each chunk */
} nay_lazy;

size_t nay__lazy_size(size_t nchunks);

/* nay__lazy_ok: verifies the chunk that holds `at`, once. False when it is damaged. */
bool nay__lazy_ok(nay_lazy *lazy, const uint8_t *at);

/* nay__lazy_range_ok: the same for every chunk that holds a part of at[0, len). */
bool nay__lazy_range_ok(nay_lazy *lazy, const uint8_t *at, size_t len);

/* nay__lazy_all_ok: verifies every chunk. */
bool nay__lazy_all_ok(nay_lazy *lazy);

#endif /* NAY_LAZY_H */
