/*
 * prom.h - metrics in the text format of Prometheus, for the textfile collector of node_exporter.
 *
 * The format wants all samples of a metric in one group, after its HELP and TYPE. So the values of
 * all files are kept, and printed at the end, metric by metric.
 */
#ifndef NAY_PROM_H
#define NAY_PROM_H

#include <nay_sst.h>

#include "promise.h"
#include "tablefile.h"

/* Gauges of filters and tables, then the counters of lookups in tables. */
typedef enum prom_metric {
  PROM_UP,
  PROM_FILE_BYTES,
  PROM_FILTER_BYTES,
  PROM_FILTERS,
  PROM_FILTERS_DAMAGED,
  PROM_TABLE_ENTRIES,
  PROM_TABLE_BLOCKS,
  PROM_KEYS_PLANNED,
  PROM_KEYS_ESTIMATED,
  PROM_UTILISATION,
  PROM_OVERFILLED,
  PROM_SATURATED,
  PROM_BITS_PER_KEY,
  PROM_PROBES,
  PROM_FILL,
  PROM_FPR_NOW,
  PROM_FPR_PLANNED,
  PROM_GETS,
  PROM_OUT_OF_RANGE,
  PROM_CHECKS,
  PROM_USEFUL,
  PROM_FALSE_POSITIVES,
  PROM_FAULTS,
  PROM_BLOCK_READS,
  PROM_CACHE_HITS,
  PROM_METRICS
} prom_metric;

/* prom_samples: of one file. kind is a label: a family, or "table". */
typedef struct prom_samples {
  const char *file, *kind;
  bool has[PROM_METRICS];
  double value[PROM_METRICS];
} prom_samples;

/* prom_check: exits when --json is given as well. */
void prom_check(const options *o, bool prom);

void prom_sample(prom_samples *s, prom_metric metric, double value);

/* prom_filter: what the statistics of a filter say. prom_table: the filters of a table.
 * prom_counts: the lookups in one. */
void prom_filter(prom_samples *s, const promise *p);
void prom_table(prom_samples *s, const table_file *file, const table_summary *filters);
void prom_counts(prom_samples *s, const nay_sst_counters *c);

/* prom_print: the metrics that some file has. Samples with equal labels would make the whole text
 * invalid: a file that is named more than once has those of the first time, which is said. */
void prom_print(prom_samples *files, size_t n);

#endif /* NAY_PROM_H */
