/* peer_clock.h - the stop-watch and the key generator that the comparison programs share. */
#ifndef NAY_PEER_CLOCK_H
#define NAY_PEER_CLOCK_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <nay_advanced.h>

/* CPU time of the process: on a busy machine it says more than the wall clock, but not of threads.
 */
#ifndef PEER_CLOCK
#define PEER_CLOCK CLOCK_MONOTONIC
#endif

static inline double seconds(void) {
  struct timespec t;
  clock_gettime(PEER_CLOCK, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* n distinct keys: salt 0 is the set, keys of other salts are absent. */
static inline uint64_t *make_keys(size_t n, uint64_t salt) {
  uint64_t *keys = (uint64_t *)malloc(n * sizeof *keys);
  if (keys == NULL) exit(2);
  for (size_t i = 0; i < n; i++) keys[i] = nay_hash_mix(i + (salt << 40));
  return keys;
}

static inline void die_unless(int ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "%s\n", what);
  exit(1);
}

/* The minimum over `rounds` runs, in ns per key. */
#define BEST_OF(rounds, n, ...)                                \
  __extension__({                                              \
    double best_ = 1e300;                                      \
    for (int round_ = 0; round_ < (rounds); round_++) {        \
      double start_ = seconds();                               \
      __VA_ARGS__;                                             \
      double took_ = (seconds() - start_) * 1e9 / (double)(n); \
      if (took_ < best_) best_ = took_;                        \
    }                                                          \
    best_;                                                     \
  })

#endif /* NAY_PEER_CLOCK_H */
