/* plan_lsm.h - nay plan --lsm: bits per key for each level of an LSM tree, also for RocksDB. */
#ifndef NAY_PLAN_LSM_H
#define NAY_PLAN_LSM_H

#include <nay_sst_plan.h>

#include "options.h"

/* plan_lsm_run: the command with --lsm. */
int plan_lsm_run(const options *o);

/*
 * plan_rocksdb_id: an allocation as the string of a filter_policy; returns id. plan_rocksdb_check:
 * exits when the plug-in cannot carry out such a plan.
 */
#define PLAN_ROCKSDB 1024
void plan_rocksdb_check(const nay_lsm_params *params);
const char *plan_rocksdb_id(const nay_lsm_plan *plan, nay_lsm_allocation a, nay_kind kind,
                            char id[PLAN_ROCKSDB]);

/* plan_lsm_refuse: exits when an option of --lsm is given without it. */
void plan_lsm_refuse(const options *o);

#endif /* NAY_PLAN_LSM_H */
