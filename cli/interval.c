/* interval.c - Wilson, JASA 22 (1927): right also for no hits at all, where the normal one is not.
 */
#include "interval.h"

#include <math.h>

interval interval_of(uint64_t hits, uint64_t trials, double z) {
  if (trials == 0) return (interval){0, 0, 1};
  double n = (double)trials, p = (double)hits / n, z2 = z * z;
  double middle = (p + z2 / (2 * n)) / (1 + z2 / n);
  double half = z / (1 + z2 / n) * sqrt(p * (1 - p) / n + z2 / (4 * n * n));
  double low = middle - half;
  return (interval){p, hits == 0 || low < 0 ? 0 : low, middle + half};
}
