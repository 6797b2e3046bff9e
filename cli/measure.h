/* measure.h - times a family on this machine, hashing included, and measures its FPR. */
#ifndef NAY_MEASURE_H
#define NAY_MEASURE_H

#include "cli.h"
#include "interval.h"

/* Nanoseconds per key: best of several runs. */
typedef struct measurement {
  nay_plan plan;
  double build_ns;
  double hit_ns, miss_ns; /* batches of present and absent keys */
  double one_ns;          /* absent keys, one call each */
  uint64_t nabsent;
  interval fpr; /* 95% */
} measurement;

/* The columns of nay bench --csv, which nay plot bench reads. */
#define MEASURE_CSV                                                                              \
  "kind,nkeys,bits_per_key,nbytes_memory,fpr_planned,fpr_measured,nabsent,build_ns,hit_ns,miss_" \
  "ns,"                                                                                          \
  "one_ns"

/*
 * measure_filter: keys are 16 bytes, params->nkeys of them. format: another system's layout, or
 * NULL: the family params->kind. seconds: how long each timing lasts at least. NAY_EINVAL and
 * NAY_ENOMEM as the library says; NAY_ENOTSUP: the layout is read only. diag may be
 * NULL.
 */
nay_status measure_filter(const nay_format *format, const nay_params *params, double seconds,
                          nay_diag *diag, measurement *m);

/* measure_fpr: maybes among nabsent absent keys of such a filter, without timing it. The same in
 * every run. */
nay_status measure_fpr(const nay_format *format, const nay_params *params, size_t nabsent,
                       uint64_t *nmaybes);

#endif /* NAY_MEASURE_H */
