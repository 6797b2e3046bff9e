/*
 * plan_rocksdb.c - a plan of an LSM tree as the filter_policy of the RocksDB plug-in,
 * "nay:BITS:BLOCKED_BEFORE_LEVEL:BITS0,BITS1,...".
 *
 * The plug-in takes bits per key as RocksDB does: for ribbon filters they stand for the FPR of
 * RocksDB's Bloom filter, whatever the ribbon itself takes. So levels with ribbon filters get the
 * bits of that Bloom filter, those with blocked filters their own. Bits are rounded down to
 * thousandths, as RocksDB rounds them, so that the budget holds. A Bloom filter of RocksDB has at
 * least one bit per key: a filter with a higher FPR than that becomes none.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "plan.h"

#define ROCKSDB_KEYS 1000000u /* as the plug-in plans: FPRs of large tables */

/* FPR of RocksDB's Bloom filter with so many thousandths of a bit per key. */
static double rocksdb_fpr(unsigned millibits) {
  nay_params p = {sizeof p, .nkeys = ROCKSDB_KEYS, .bits_per_key = millibits / 1000.0};
  nay_plan plan = {.size = sizeof plan};
  if (nay_format_plan(nay_format_find("rocksdb-ribbon"), &p, NULL, &plan) != NAY_OK) {
    die(EXIT_TROUBLE, "no plan for RocksDB's ribbon filters");
  }
  return plan.fpr;
}

/* The most bits, up to 100, with which that Bloom filter has this FPR or a higher one; 0: none. */
static unsigned rocksdb_millibits(double fpr) {
  unsigned low = 1000, high = 100000;
  if (fpr > rocksdb_fpr(low)) return 0;
  while (low < high) {
    unsigned middle = low + (high - low + 1) / 2;
    if (rocksdb_fpr(middle) >= fpr) low = middle;
    if (rocksdb_fpr(middle) < fpr) high = middle - 1;
  }
  return low;
}

static unsigned rocksdb_level(const nay_sst_level *level) {
  if (level->kind == NAY_AUTO) return 0;
  if (level->kind == NAY_RIBBON) return rocksdb_millibits(level->fpr);
  unsigned millibits = (unsigned)(level->bits_per_key * 1000);
  return millibits < 500 ? 0 : millibits > 100000 ? 100000 : millibits;
}

/* Says what the string cannot: RocksDB's bits per key are 0.5 or 1 to 100. */
static void rocksdb_differs(const nay_sst_level *level, unsigned millibits) {
  if (level->kind != NAY_AUTO && millibits == 0) {
    message_error(
        "warning: level %u: a filter of %.3g bits per key cannot be asked of RocksDB; it gets none "
        "there",
        level->level, level->bits_per_key);
  } else if (millibits >= 100000) {
    message_error("warning: level %u: RocksDB takes at most 100 bits per key", level->level);
  }
}

static void rocksdb_add(char id[PLAN_ROCKSDB], const char *before, unsigned millibits) {
  size_t used = strlen(id);
  snprintf(id + used, PLAN_ROCKSDB - used, "%s%g", before, millibits / 1000.0);
}

void plan_rocksdb_check(const nay_sst_plan_params *params) {
  if (params->merging != NAY_SST_PLAN_LEVELED) {
    die(EXIT_TROUBLE, "--rocksdb is for leveled trees: universal compaction has other levels");
  }
  if (params->kind != NAY_AUTO && params->kind != NAY_BLOCKED && params->kind != NAY_RIBBON) {
    die(EXIT_TROUBLE, "--rocksdb: the plug-in builds blocked and ribbon filters, no %s",
        nay_kind_name(params->kind));
  }
}

const char *plan_rocksdb_id(const nay_sst_plan *plan, nay_sst_plan_allocation a, nay_kind kind,
                            char id[PLAN_ROCKSDB]) {
  nay_sst_level level = {.size = sizeof level};
  unsigned others = 0; /* of levels that are not in the list: the uniform bits of the last level */
  for (size_t i = 0; nay_sst_plan_level(plan, NAY_SST_PLAN_UNIFORM, i, &level) == NAY_OK; i++) {
    others = rocksdb_level(&level);
  }
  strcpy(id, "nay");
  rocksdb_add(id, ":", others >= 500 ? others : 1000);
  snprintf(id + strlen(id), PLAN_ROCKSDB - strlen(id), ":%d",
           kind == NAY_BLOCKED  ? INT_MAX
           : kind == NAY_RIBBON ? -1
                                : 0);
  const char *before = ":";
  for (size_t i = 0; nay_sst_plan_level(plan, a, i, &level) == NAY_OK; i++) {
    bool no_level0 = i == 0 && level.level != 0;
    unsigned bits = rocksdb_level(&level);
    rocksdb_differs(&level, bits);
    if (no_level0) rocksdb_add(id, before, bits); /* flushes are as good as the first level */
    if (no_level0) before = ",";
    rocksdb_add(id, before, bits);
    before = ",";
  }
  return id;
}
