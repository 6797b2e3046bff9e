/* sst_calls.h - short forms of calls of tables that tests make often. */
#ifndef NAY_TEST_SST_CALLS_H
#define NAY_TEST_SST_CALLS_H

#include "nay_sst.h"
#include "nay_sst_cache.h"
#include "nay_sst_filters.h"

/* Each counter of a table. */
static inline void table_counts(const nay_sst *t, nay_sst_counters *counters) {
  nay_sst_info info = {.size = sizeof info};
  (void)nay_sst_stats(t, &info);
  *counters = info.counters;
}

/* What a table states of its entries; false: nothing. */
static inline bool table_states(const nay_sst *t, nay_sst_properties *properties) {
  nay_sst_info info = {.size = sizeof info};
  (void)nay_sst_stats(t, &info);
  if (info.properties != NULL) *properties = *info.properties;
  return info.properties != NULL;
}

/* The native full filter; NULL: there is none, or it is in the cache. */
static inline const nay_filter *table_filter(const nay_sst *t) {
  nay_sst_info info = {.size = sizeof info};
  (void)nay_sst_stats(t, &info);
  return info.native;
}

/* The options with this layout; NULL: none. */
static inline nay_sst_read_options with_layout(const nay_sst_read_options *options,
                                               const char *layout) {
  nay_sst_read_options how = {.size = sizeof how};
  if (options != NULL) how = *options;
  how.layout = layout;
  return how;
}

static inline nay_status open_layout(const char *path, const char *layout,
                                     const nay_sst_read_options *options, const nay_allocator *a,
                                     nay_diag *diag, nay_sst **sst) {
  nay_sst_read_options how = with_layout(options, layout);
  return nay_sst_open(path, &how, a, diag, sst);
}

static inline nay_status view_layout(const void *bytes, size_t len, const char *layout,
                                     const nay_sst_read_options *options, const nay_allocator *a,
                                     nay_diag *diag, nay_sst **sst) {
  nay_sst_read_options how = with_layout(options, layout);
  return nay_sst_view(bytes, len, &how, a, diag, sst);
}

static inline nay_status filters_layout(const void *bytes, size_t len, const char *layout,
                                        const nay_sst_filters_options *options,
                                        const nay_allocator *a, nay_diag *diag,
                                        nay_sst_filters **filters) {
  nay_sst_filters_options how = {.size = sizeof how};
  if (options != NULL) how = *options;
  how.layout = layout;
  return nay_sst_filters_open(bytes, len, &how, a, diag, filters);
}

#endif /* NAY_TEST_SST_CALLS_H */
