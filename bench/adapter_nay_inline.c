/*
 * adapter_nay_inline.c - blocked and fuse again, probed by nay_inline.h: the same filters as those
 * of adapter_nay.c, with the probe inlined into the loop. Compiled for this machine
 * (CMakeLists.txt), as a user who inlines would.
 */
#include <nay_inline.h>

#include "bench.h"

/* The loops of one type of probe. */
#define INLINE_LOOPS(type)                                                                     \
  static size_t type##_all(const void *filter, const bench_keys *keys) {                       \
    type probe;                                                                                \
    size_t maybe = 0;                                                                          \
    if (type##_init(filter, NULL, &probe) != NAY_OK) return 0; /* the runner objects */        \
    for (size_t i = 0; i < keys->n; i++) maybe += type##_may_contain(&probe, keys->hashes[i]); \
    return maybe;                                                                              \
  }                                                                                            \
  static size_t type##_alone(const void *filter, const bench_keys *keys) {                     \
    type probe;                                                                                \
    size_t maybe = 0;                                                                          \
    if (type##_init(filter, NULL, &probe) != NAY_OK) return 0;                                 \
    for (size_t i = 0; i < keys->n;) {                                                         \
      bool answer = type##_may_contain(&probe, keys->hashes[i]);                               \
      maybe += answer;                                                                         \
      i = bench_next(i, answer);                                                               \
    }                                                                                          \
    return maybe;                                                                              \
  }

INLINE_LOOPS(nay_inline_blocked)
INLINE_LOOPS(nay_inline_fuse8)

bool bench_nay_inline(const bench_adapter *of, bench_adapter *inlined) {
  *inlined = *of;
  inlined->takes_strings = false; /* nay_filter_may_contain is faster */
  inlined->add = NULL;            /* these are measured in the row of the filter */
  inlined->add_batch = NULL;
  inlined->probe_batch = NULL;
  switch ((nay_kind)of->setting) {
    case NAY_BLOCKED:
      inlined->name = "blocked inline";
      inlined->probe = nay_inline_blocked_all;
      inlined->probe_alone = nay_inline_blocked_alone;
      return true;
    case NAY_FUSE:
      inlined->name = "fuse inline";
      inlined->probe = nay_inline_fuse8_all;
      inlined->probe_alone = nay_inline_fuse8_alone;
      return true;
    default: return false;
  }
}
