/* floor.h - lower bounds of the time to build a filter from a file, for nay bench --floor. */
#ifndef NAY_FLOOR_H
#define NAY_FLOOR_H

#include "options.h"

/* Seconds for the whole file, each part alone, in one thread. */
typedef struct floor_times {
  uint64_t nkeys;
  double read;  /* read(2) of every byte */
  double hash;  /* the filter's hash of every key, keys in cache */
  double touch; /* or-ing one word of a random cache line of the filter's memory, prefetched */
  double build; /* what nay build does, in one thread */
} floor_times;

floor_times floor_measure(const options *o, const size_options *size, const char *path);

#endif /* NAY_FLOOR_H */
