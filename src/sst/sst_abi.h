/*
 * sst_abi.h - the sizes of the public structs of tables, as base/abi.h needs them, and checks of
 * the structs that a table keeps a pointer to.
 */
#ifndef NAY_SST_ABI_H
#define NAY_SST_ABI_H

#include "base/abi.h"
#include "nay_compact.h"
#include "nay_lookup.h"
#include "nay_merge.h"
#include "nay_sst_cache.h"
#include "nay_sst_foreign.h"
#include "nay_sst_io.h"
#include "nay_sst_stats.h"

#define NAY_ABI_SST_VERSION NAY_ABI(nay_sst_version, merge)
#define NAY_ABI_SST_WRITE NAY_ABI(nay_sst_write_options, key)
#define NAY_ABI_SST_READ NAY_ABI(nay_sst_read_options, readahead)
#define NAY_ABI_SST_PROPERTIES NAY_ABI(nay_sst_properties, largest_len)
#define NAY_ABI_SST_CACHE NAY_ABI(nay_sst_cache_stats, filter)
#define NAY_ABI_SST_TABLES NAY_ABI(nay_sst_tables_options, open_ctx)
#define NAY_ABI_SST_TABLES_STATS NAY_ABI(nay_sst_tables_stats, closed)
#define NAY_ABI_SST_FILE NAY_ABI(nay_sst_file, state)
#define NAY_ABI_SST_SINK NAY_ABI(nay_sst_sink, state)
#define NAY_ABI_SST_VALUE NAY_ABI(nay_sst_value, hold)
#define NAY_ABI_SST_INFO NAY_ABI(nay_sst_info, key)
#define NAY_ABI_SST_COUNTERS NAY_ABI(nay_sst_counters, index_loads)
#define NAY_ABI_SST_COMPACTED NAY_ABI(nay_sst_compact_stats, peak_memory)
#define NAY_ABI_SST_COMPACT NAY_ABI(nay_sst_compact_options, progress_ctx)
#define NAY_ABI_SST_OUTPUTS NAY_ABI(nay_sst_outputs, next_sink)
#define NAY_ABI_LOOKUP NAY_ABI(nay_lookup_options, merge_ctx)
#define NAY_ABI_LOOKUP_NEWER NAY_ABI(nay_lookup_newer, ended)
#define NAY_ABI_LOOKUP_LEVEL NAY_ABI(nay_lookup_level, disjoint)
#define NAY_ABI_LOOKUP_EDIT NAY_ABI(nay_lookup_edit, nadded)
#define NAY_ABI_SST_FOREIGN NAY_ABI(nay_sst_foreign_info, filter_in_blocks)
#define NAY_ABI_SST_FOREIGN_OPTIONS NAY_ABI(nay_sst_foreign_options, codec)
#define NAY_ABI_CODEC NAY_ABI(nay_sst_codec, state)
#define NAY_ABI_PREFIX NAY_ABI(nay_sst_prefix, state)
#define NAY_ABI_MERGE NAY_ABI(nay_merge_options, merge_ctx)
#define NAY_ABI_MERGE_SOURCE NAY_ABI(nay_merge_source, stable)
#define NAY_ABI_COMPARATOR NAY_ABI(nay_sst_comparator, state)
#define NAY_ABI_POLICY NAY_ABI(nay_policy, comparator)

/* nay__sst_check_lists: checks what a reader takes: codecs that uncompress, policies that probe. */
nay_status nay__sst_check_lists(const nay_sst_codec *const *codecs, size_t ncodecs,
                                const nay_policy *const *policies, size_t npolicies,
                                nay_diag *diag);

/* nay__sst_policy_folds: whether a policy takes keys that the comparator of this name calls equal
 * for one key. Policies of libnay never do, whatever their field says: they hash the bytes. */
bool nay__sst_policy_folds(const nay_policy *policy, const char *comparator);

/* nay__sst_check_prefix: checks that a prefix extractor has a name and a call. NULL passes. */
nay_status nay__sst_check_prefix(const nay_sst_prefix *prefix, nay_diag *diag);

/* nay__sst_check_comparator: checks that a comparator has a call, and a name other than the
 * bytewise one's. NULL passes. */
nay_status nay__sst_check_comparator(const nay_sst_comparator *comparator, nay_diag *diag);

/* nay__sst_check_writes: checks what a writer takes: a codec that compresses, a policy that builds.
 * NULL passes for either. */
nay_status nay__sst_check_writes(const nay_sst_codec *codec, const nay_policy *policy,
                                 nay_diag *diag);

#endif /* NAY_SST_ABI_H */
