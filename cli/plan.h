/* plan.h - what the files of nay plan share: its options, and the verbs --format and --lsm. */
#ifndef NAY_PLAN_H
#define NAY_PLAN_H

#include <nay_sst_plan.h>

#include "options.h"

typedef struct plan_options {
  options common;
  size_options size;
  unsigned need;    /* a bit for each choice */
  uint64_t formats; /* a bit for each of nay_format_at */
  bool no_measure;
  bool lsm, tiered, lazy_leveled, rocksdb; /* of LSM trees, as all that follow */
  uint64_t ratio, memtable, flushes, table_keys;
  const char *reads, *absent, *sweep;
  const char *read_latency, *probe_time;
} plan_options;

/* plan_layouts: the layouts of --format, in a table or as JSON; returns the exit status. */
int plan_layouts(const plan_options *o);

/* plan_lsm_run: bits per key for each level of an LSM tree, also for RocksDB. */
int plan_lsm_run(const plan_options *o);

/*
 * plan_rocksdb_id: an allocation as the string of a filter_policy; returns id. plan_rocksdb_check:
 * exits when the plug-in cannot carry out such a plan.
 */
#define PLAN_ROCKSDB 1024
void plan_rocksdb_check(const nay_sst_plan_params *params);
const char *plan_rocksdb_id(const nay_sst_plan *plan, nay_sst_plan_allocation a, nay_kind kind,
                            char id[PLAN_ROCKSDB]);

/* plan_times: seconds that a data block takes to be read, and a filter to be probed; 0: not given.
 */
typedef struct plan_times {
  double read, probe;
} plan_times;

/*
 * plan_seconds: what one lookup takes by these times, when the key of a share `absent` of the
 * lookups is in no run, and the others are those of every key equally often. filters: false: every
 * run is read until the key is found.
 */
double plan_seconds(const nay_sst_plan *plan, nay_sst_plan_allocation a, const plan_times *times,
                    double absent, bool filters);

/* plan_lsm_refuse: exits when an option of --lsm is given without it. */
void plan_lsm_refuse(const plan_options *o);

#endif /* NAY_PLAN_H */
