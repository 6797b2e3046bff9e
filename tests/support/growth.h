/*
 * growth.h - how a cost grows with the work: it is counted, never timed, at n, 2n, 4n and 8n, and
 * may not grow faster than n log n.
 *
 *   static uint64_t cost_of_adds(size_t n) { ...; return ncomparisons; }
 *   growth_check("adds", cost_of_adds, 1000);
 */
#ifndef NAY_TEST_GROWTH_H
#define NAY_TEST_GROWTH_H

#include "support/test.h"

static inline double growth_log2(double x) {
  double bits = 0;
  for (; x >= 2; x /= 2) bits++;
  return bits + x - 1; /* linear between powers of two */
}

/* Between n and 8n the cost of n log n grows by 8 log(8n) / log(n), n^1.5 by 22.6, n^2 by 64. A
 * quarter more is for steps of the code and for chance. */
static inline void growth_check(const char *what, uint64_t (*cost)(size_t n), size_t n) {
  uint64_t costs[4];
  for (unsigned i = 0; i < 4; i++) costs[i] = cost(n << i);
  double most = 1.25 * 8 * growth_log2(8.0 * (double)n) / growth_log2((double)n);
  double grown = (double)costs[3] / (double)(costs[0] != 0 ? costs[0] : 1);
  print_message("# %s: %llu, %llu, %llu, %llu for n = %zu to %zu: x %.1f, at most %.1f\n", what,
                (unsigned long long)costs[0], (unsigned long long)costs[1],
                (unsigned long long)costs[2], (unsigned long long)costs[3], n, 8 * n, grown, most);
  if (grown > most) fail_msg("%s grows by %.1f, more than n log n", what, grown);
}

#endif /* NAY_TEST_GROWTH_H */
