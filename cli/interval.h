/* interval.h - an FPR measured by counting, with its confidence interval. */
#ifndef NAY_INTERVAL_H
#define NAY_INTERVAL_H

#include <stdint.h>

typedef struct interval {
  double rate, low, high;
} interval;

/* interval_of: Wilson's score interval. z 1.96 covers 95% of cases, 3.29 covers 99.9%. */
#define Z_95 1.959964
#define Z_999 3.290527
interval interval_of(uint64_t hits, uint64_t trials, double z);

#endif /* NAY_INTERVAL_H */
