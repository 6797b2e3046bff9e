/*
 * peer_loops.h - what the adapters of fetched peers share: the two loops of single probes, the
 * version, the exported name, and for C++ the table of functions over a class.
 *
 * The loops are forced inline with a constant function for `answer`, so that what remains in each
 * adapter is a loop around a direct call, as adapter.h asks for.
 */
#ifndef NAY_PEER_LOOPS_H
#define NAY_PEER_LOOPS_H

#include "../adapter.h"

#ifndef PEER_VERSION
#error "Say which release or commit the checkout is: -DPEER_VERSION=..."
#endif
#define PEER_TEXT_OF(x) #x
#define PEER_TEXT(x) PEER_TEXT_OF(x)
#define PEER_VERSION_TEXT PEER_TEXT(PEER_VERSION)

/* A probe that users would call in a library, not have in their own loop. */
#define PEER_CALL __attribute__((noinline))
#define PEER_INLINE inline __attribute__((always_inline))

/* The one name that leaves the shared object; see README.md for the others. */
#ifdef __cplusplus
#define PEER_EXPORT extern "C" __attribute__((visibility("default")))
#else
#define PEER_EXPORT extern __attribute__((visibility("default")))
#endif
PEER_EXPORT const bench_adapter *nay_bench_adapters(size_t *n);

/* Is key i of the keys maybe in the filter? */
typedef bool (*peer_answer)(const void *filter, const bench_keys *keys, size_t i);

static PEER_INLINE size_t peer_probe(const void *filter, const bench_keys *keys,
                                     peer_answer answer) {
  size_t maybe = 0;
  for (size_t i = 0; i < keys->n; i++) maybe += answer(filter, keys, i);
  return maybe;
}

static PEER_INLINE size_t peer_probe_alone(const void *filter, const bench_keys *keys,
                                           peer_answer answer) {
  size_t maybe = 0;
  for (size_t i = 0; i < keys->n;) {
    bool maybe_this = answer(filter, keys, i);
    maybe += maybe_this;
    i = bench_next(i, maybe_this);
  }
  return maybe;
}

/* How many keys a batch that starts at i has, of at most `most`. */
static inline size_t peer_batch(const bench_keys *keys, size_t i, size_t most) {
  return keys->n - i < most ? keys->n - i : most;
}

#ifdef __cplusplus

/*
 * peer_adapter: the table for a class with `bool Answer(const bench_keys *, size_t i) const` and
 * `uint64_t NBytes() const`. The ways to build, and batches, are left for the adapter to fill in.
 */
template <class Filter>
bench_adapter peer_adapter(const char *library, const char *name, const char *family) {
  struct Of {
    static PEER_INLINE bool Answer(const void *filter, const bench_keys *keys, size_t i) {
      return static_cast<const Filter *>(filter)->Answer(keys, i);
    }
  };
  bench_adapter a = {};
  a.library = library;
  a.version = PEER_VERSION_TEXT;
  a.name = name;
  a.family = family;
  a.takes_hashes = true;
  a.probe = [](const void *f, const bench_keys *keys) { return peer_probe(f, keys, Of::Answer); };
  a.probe_alone = [](const void *f, const bench_keys *keys) {
    return peer_probe_alone(f, keys, Of::Answer);
  };
  a.nbytes = [](const void *f) { return static_cast<const Filter *>(f)->NBytes(); };
  a.free = [](void *f) { delete static_cast<Filter *>(f); };
  return a;
}

#endif /* __cplusplus */

#endif /* NAY_PEER_LOOPS_H */
