/*
 * range_peer.h - what a peer of nay-bench-range exports from a shared object: another range filter
 * over the same keys. The loops are the peer's, so that its calls can be inlined.
 */
#ifndef NAY_RANGE_PEER_H
#define NAY_RANGE_PEER_H

#include <stddef.h>
#include <stdint.h>

typedef struct range_peer {
  const char *name;
  /* NULL: it failed. fpr: of ranges of `length` numbers. */
  void *(*build)(const uint64_t *keys, size_t n, double fpr, uint64_t length);
  /* Asks one range after the other; returns how many may have a key. */
  size_t (*ask)(const void *filter, const uint64_t *lo, const uint64_t *hi, size_t n);
  size_t (*nbytes)(const void *filter);
  void (*free)(void *filter);
} range_peer;

/* The one name that leaves the shared object. */
const range_peer *nay_range_peer(void);

#endif /* NAY_RANGE_PEER_H */
