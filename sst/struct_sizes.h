/* struct_sizes.h - the sizes of libnaysst's public structs that may grow at their end; see
   base/abi.h. */
#ifndef NAY_SST_STRUCT_SIZES_H
#define NAY_SST_STRUCT_SIZES_H

#include "base/abi.h"
#include "nay_sst.h"
#include "nay_sst_cache.h"
#include "nay_sst_compact.h"
#include "nay_sst_iter.h"
#include "nay_sst_lookup.h"
#include "nay_sst_parquet.h"
#include "nay_sst_puffin.h"

#define NAY_ABI_SST_ENTRY NAY_ABI(nay_sst_entry, term)
#define NAY_ABI_SST_WRITE NAY_ABI(nay_sst_write_options, range)
#define NAY_ABI_SST_READ NAY_ABI(nay_sst_read_options, layout)
#define NAY_ABI_SST_CACHE NAY_ABI(nay_sst_cache_info, filter)
#define NAY_ABI_SST_POOL NAY_ABI(nay_sst_pool_options, open_ctx)
#define NAY_ABI_SST_POOL_INFO NAY_ABI(nay_sst_pool_info, closed)
#define NAY_ABI_SST_FILE NAY_ABI(nay_sst_file, ctx)
#define NAY_ABI_SST_TARGET NAY_ABI(nay_sst_target, ctx)
#define NAY_ABI_SST_VALUE NAY_ABI(nay_sst_value, hold)
#define NAY_ABI_SST_INFO NAY_ABI(nay_sst_info, range_used)
#define NAY_ABI_SST_COUNTERS NAY_ABI(nay_sst_counters, reserved)
#define NAY_ABI_SST_COMPACT_STATS NAY_ABI(nay_sst_compact_stats, peak_memory)
#define NAY_ABI_SST_COMPACT NAY_ABI(nay_sst_compact_options, progress_ctx)
#define NAY_ABI_SST_OUTPUTS NAY_ABI(nay_sst_outputs, ctx)
#define NAY_ABI_LOOKUP NAY_ABI(nay_sst_lookup_options, merge_ctx)
#define NAY_ABI_SST_CACHE_OPTIONS NAY_ABI(nay_sst_cache_options, shared)
#define NAY_ABI_MEMTABLE_INFO NAY_ABI(nay_sst_memtable_info, nbytes)
#define NAY_ABI_LOOKUP_LEVEL NAY_ABI(nay_sst_lookup_level, disjoint)
#define NAY_ABI_LOOKUP_EDIT NAY_ABI(nay_sst_lookup_edit, nadded)
#define NAY_ABI_CODEC NAY_ABI(nay_sst_codec, ctx)
#define NAY_ABI_PREFIX NAY_ABI(nay_sst_prefix, ctx)
#define NAY_ABI_SST_SCAN NAY_ABI(nay_sst_scan_options, merge_ctx)
#define NAY_ABI_SST_SOURCE NAY_ABI(nay_sst_source, stable)
#define NAY_ABI_COMPARATOR NAY_ABI(nay_sst_comparator, ctx)
#define NAY_ABI_PARQUET_INFO NAY_ABI(nay_sst_parquet_info, created_by)
#define NAY_ABI_PARQUET_COLUMN NAY_ABI(nay_sst_parquet_column, nfilters)
#define NAY_ABI_PARQUET_FILTER NAY_ABI(nay_sst_parquet_filter, has_filter)
#define NAY_ABI_PUFFIN_BLOB NAY_ABI(nay_sst_puffin_blob, status)
#define NAY_ABI_PUFFIN_OPTIONS NAY_ABI(nay_sst_puffin_options, compress_footer)
#define NAY_ABI_POLICY NAY_ABI(nay_policy, comparator)

#endif /* NAY_SST_STRUCT_SIZES_H */
