/*
 * range_sort.h - the locations of the keys of a range filter, sorted and written by several
 * threads.
 */
#ifndef NAY_RANGE_SORT_H
#define NAY_RANGE_SORT_H

#include "family/range.h"

/* nay_range_run: n records of `width` words one after the other (range_build.c says which). */
typedef struct nay_range_run {
  const uint64_t *records;
  size_t n;
  unsigned width;
} nay_range_run;

/* nay_range_source: the records of a build, and what sends them to locations. */
typedef struct nay_range_source {
  const nay_range_run *runs;
  size_t nruns, nrecords;
  nay_range_map map;
  bool exact;
  uint64_t base, last; /* exact: the least number; the greatest location */
} nay_range_source;

/* nay_range_sorted: the distinct locations, in parts that ascend. */
typedef struct nay_range_sorted {
  uint64_t *words;  /* room for nrecords */
  uint64_t nvalues; /* distinct locations */
  uint64_t *first;  /* where a part begins in `words`; nparts + 1 */
  uint64_t *kept;   /* its distinct locations, and later their first number */
  unsigned nparts, shift;
  uint64_t *repeats; /* locations of more than one record, in any order; or NULL */
  uint64_t nrepeats, repeats_cap;
  void *tables;
  size_t tables_bytes;
} nay_range_sorted;

/* nay__range_sort: s->words has room for all records, s->repeats for s->repeats_cap locations; if
 * there are more, nrepeats says how many, and the array is useless. NAY_ENOMEM. */
nay_status nay__range_sort(const nay_range_source *source, unsigned nthreads,
                           const nay_allocator *allocator, nay_range_sorted *s);

/* nay__range_sorted_clear: frees the tables; `words` and `repeats` are the caller's. */
void nay__range_sorted_clear(const nay_allocator *allocator, nay_range_sorted *s);

/* nay__range_sorted_write: into the zeroed parts of a payload whose head is stored. */
void nay__range_sorted_write(nay_range_sorted *s, unsigned nthreads, uint8_t *payload);

/* nay__range_equal_records: how many records equal one before them, if s->repeats has the
 * locations of all that could. NAY_ENOMEM. */
nay_status nay__range_equal_records(const nay_range_source *source, nay_range_sorted *s,
                                    unsigned nthreads, const nay_allocator *allocator,
                                    uint64_t *nequal);

#endif /* NAY_RANGE_SORT_H */
