/*
 * exports_full.c - calls of the full module: sorted tables and the filters inside, over bytes in
 * the module's memory, with snappy (snappy.c) for compressed blocks.
 */
#include <stdlib.h>
#include <string.h>

#include "nay_explain.h"
#include "nay_sst.h"
#include "nay_sst_filters.h"
#include "nay_sst_plan.h"
#include "nayw.h"
#include "snappy.h"

static const nay_sst_codec snappy = {.size = sizeof snappy,
                                     .id = 1,
                                     .uncompressed_size = nayw_snappy_size,
                                     .uncompress = nayw_snappy_uncompress};
static const nay_sst_codec *const codecs[] = {&snappy};

/* ---- layouts of structs, as in layout.c ---- */

#define F(type, field) NAYW_FIELD(type, nay_sst_info, field)
static const nayw_field layout_sst_info[] = {F(NUMBER, size),
                                             F(NUMBER, keys),
                                             F(BOOL, keys_guessed),
                                             F(COUNT, nbytes),
                                             F(COUNT, nblocks),
                                             F(NUMBER, filter),
                                             F(BOOL, filter_used),
                                             F(COUNT, filter_bytes),
                                             F(COUNT, npartitions),
                                             F(TEXT, policy),
                                             F(TEXT, prefix),
                                             F(BOOL, prefix_used),
                                             F(COUNT, prefix_bytes),
                                             F(NUMBER, smallest),
                                             F(NUMBER, smallest_len),
                                             F(NUMBER, upper_bound),
                                             F(NUMBER, upper_bound_len),
                                             F(TEXT, key),
                                             {NULL, 0, 0}};
#undef F

#define F(field) NAYW_FIELD(COUNT, nay_sst_counters, field)
static const nayw_field layout_sst_counters[] = {{"size", 0, NAYW_NUMBER},
                                                 F(gets),
                                                 F(out_of_range),
                                                 F(filter_checks),
                                                 F(filter_useful),
                                                 F(filter_false_positives),
                                                 F(filter_faults),
                                                 F(filter_loads),
                                                 F(prefix_checks),
                                                 F(prefix_useful),
                                                 F(hashes),
                                                 F(block_reads),
                                                 F(cache_hits),
                                                 {NULL, 0, 0}};
#undef F

#define F(type, field) NAYW_FIELD(type, nay_sst_value, field)
static const nayw_field layout_sst_value[] = {F(NUMBER, size),   F(NUMBER, bytes), F(NUMBER, len),
                                              F(WORD, sequence), F(BOOL, deleted), {NULL, 0, 0}};
#undef F

#define F(type, field) NAYW_FIELD(type, nay_sst_entry, field)
static const nayw_field layout_sst_entry[] = {F(NUMBER, size),   F(NUMBER, key),  F(NUMBER, len),
                                              F(WORD, sequence), F(NUMBER, type), {NULL, 0, 0}};
#undef F

#define F(type, field) NAYW_FIELD(type, nay_sst_filters_info, field)
static const nayw_field layout_filters_info[] = {
    F(NUMBER, size),        F(NUMBER, engine),    F(NUMBER, format_version),
    F(TEXT, checksum),      F(NUMBER, layout),    F(TEXT, policy),
    F(TEXT, policy_option), F(TEXT, prefix),      F(BOOL, whole_keys),
    F(BOOL, prefixes),      F(BOOL, understood),  F(BOOL, index_known),
    F(COUNT, nkeys),        F(COUNT, nentries),   F(COUNT, nfilters),
    F(COUNT, nempty),       F(COUNT, ndamaged),   F(COUNT, nbytes),
    F(TEXT, key),           F(TEXT, engine_text), {NULL, 0, 0}};
#undef F

#define F(type, field) NAYW_FIELD(type, nay_sst_filters_entry, field)
static const nayw_field layout_filters_entry[] = {
    F(NUMBER, size),         F(NUMBER, bytes),     F(NUMBER, len),    F(COUNT, offset),
    F(BOOL, damaged),        F(BOOL, of_prefixes), F(NUMBER, format), F(NUMBER, last_key),
    F(NUMBER, last_key_len), {NULL, 0, 0}};
#undef F

#define F(type, field) NAYW_FIELD(type, nay_sst_plan_params, field)
static const nayw_field layout_lsm_params[] = {
    F(NUMBER, size),         F(COUNT, nkeys),    F(COUNT, ratio),         F(COUNT, nkeys_memtable),
    F(COUNT, nkeys_table),   F(COUNT, nbytes),   F(DOUBLE, bits_per_key), F(DOUBLE, fpr),
    F(NUMBER, nruns_level0), F(NUMBER, merging), F(KIND, kind),           {NULL, 0, 0}};
#undef F

#define F(type, field) NAYW_FIELD(type, nay_sst_level, field)
static const nayw_field layout_lsm_level[] = {F(NUMBER, size),        F(NUMBER, level),
                                              F(KIND, kind),          F(COUNT, nkeys),
                                              F(COUNT, nruns),        F(COUNT, nfilters),
                                              F(COUNT, nkeys_filter), F(COUNT, nbytes_filter),
                                              F(COUNT, nbytes),       F(DOUBLE, bits_per_key),
                                              F(DOUBLE, fpr),         F(DOUBLE, absent_reads),
                                              F(TEXT, why),           {NULL, 0, 0}};
#undef F

#define F(type, field) NAYW_FIELD(type, nay_sst_plan_info, field)
static const nayw_field layout_lsm_sums[] = {F(NUMBER, size),
                                             F(COUNT, nlevels),
                                             F(COUNT, nkeys),
                                             F(COUNT, nruns),
                                             F(COUNT, nfilters),
                                             F(COUNT, nbytes),
                                             F(COUNT, nbytes_budget),
                                             F(DOUBLE, bits_per_key),
                                             F(DOUBLE, absent_reads),
                                             F(DOUBLE, present_waste),
                                             {NULL, 0, 0}};
#undef F

static const nayw_layout layouts[] = {
    {"sstInfo", sizeof(nay_sst_info), layout_sst_info},
    {"sstCounters", sizeof(nay_sst_counters), layout_sst_counters},
    {"sstValue", sizeof(nay_sst_value), layout_sst_value},
    {"sstEntry", sizeof(nay_sst_entry), layout_sst_entry},
    {"filtersInfo", sizeof(nay_sst_filters_info), layout_filters_info},
    {"filtersEntry", sizeof(nay_sst_filters_entry), layout_filters_entry},
    {"lsmParams", sizeof(nay_sst_plan_params), layout_lsm_params},
    {"lsmLevel", sizeof(nay_sst_level), layout_lsm_level},
    {"lsmSums", sizeof(nay_sst_plan_info), layout_lsm_sums},
    {NULL, 0, NULL},
};

NAYW_EXPORT(nayw_full_layouts) const nayw_layout *nayw_full_layouts(void);
const nayw_layout *nayw_full_layouts(void) { return layouts; }

/* ---- opening ---- */

/* nayw_sst_view: as nay_sst_view, with the layout `name` (may be NULL). key: 16 bytes, or NULL. */
NAYW_EXPORT(nayw_sst_view)
int nayw_sst_view(const uint8_t *bytes, size_t len, const char *name, const uint8_t *key,
                  nay_diag *diag, nay_sst **sst);
int nayw_sst_view(const uint8_t *bytes, size_t len, const char *name, const uint8_t *key,
                  nay_diag *diag, nay_sst **sst) {
  nay_sst_read_options options = {
      .size = sizeof options, .codecs = codecs, .ncodecs = 1, .hash_key = key, .layout = name};
  return nay_sst_view(bytes, len, &options, NULL, diag, sst);
}

/* nayw_sst_counters: the counters of nay_sst_stats. */
NAYW_EXPORT(nayw_sst_counters)
int nayw_sst_counters(const nay_sst *sst, nay_sst_counters *counters);
int nayw_sst_counters(const nay_sst *sst, nay_sst_counters *counters) {
  nay_sst_info info = {.size = sizeof info};
  nay_status status = nay_sst_stats(sst, &info);
  if (status == NAY_OK) *counters = info.counters;
  return status;
}

/* nayw_filters_open: as nay_sst_filters_open, with the layout `name` (may be NULL). */
NAYW_EXPORT(nayw_filters_open)
int nayw_filters_open(const uint8_t *bytes, size_t len, const char *name, nay_diag *diag,
                      nay_sst_filters **table);
int nayw_filters_open(const uint8_t *bytes, size_t len, const char *name, nay_diag *diag,
                      nay_sst_filters **table) {
  nay_sst_filters_options options = {
      .size = sizeof options, .codecs = codecs, .ncodecs = 1, .layout = name};
  return nay_sst_filters_open(bytes, len, &options, NULL, diag, table);
}

/* ---- which filters of a table decide about a key ---- */

typedef struct probed {
  uint32_t offset; /* of the filter in the file */
  uint8_t damaged, maybe;
  uint16_t key_len; /* of the key or prefix that is probed; 65535: as long or longer */
} probed;

static struct probed_list {
  probed *at;
  size_t n, cap;
} probes; /* of the last nayw_filters_explain */

static nay_status probes_add(void *ctx, const nay_sst_filters_step *step) {
  (void)ctx;
  if (probes.n == probes.cap) {
    size_t cap = probes.cap == 0 ? 16 : 2 * probes.cap;
    probed *more = malloc(cap * sizeof *more);
    if (more == NULL) return NAY_ENOMEM;
    if (probes.n != 0) memcpy(more, probes.at, probes.n * sizeof *more);
    free(probes.at);
    probes.at = more;
    probes.cap = cap;
  }
  uint16_t len = step->key_len < UINT16_MAX ? (uint16_t)step->key_len : UINT16_MAX;
  probes.at[probes.n++] = (probed){(uint32_t)step->offset, step->damaged, step->maybe, len};
  return NAY_OK;
}

/* nayw_filters_explain: 1 maybe, 0 nay, or a status; nayw_filters_probes then has the probes. */
NAYW_EXPORT(nayw_filters_explain)
int nayw_filters_explain(const nay_sst_filters *table, const uint8_t *key, size_t len);
int nayw_filters_explain(const nay_sst_filters *table, const uint8_t *key, size_t len) {
  bool maybe = true;
  probes.n = 0;
  nay_status status = nay_sst_filters_explain(table, key, len, probes_add, NULL, &maybe);
  return status != NAY_OK ? (int)status : maybe;
}

NAYW_EXPORT(nayw_filters_nprobes) size_t nayw_filters_nprobes(void);
size_t nayw_filters_nprobes(void) { return probes.n; }

NAYW_EXPORT(nayw_filters_probes) const probed *nayw_filters_probes(void);
const probed *nayw_filters_probes(void) { return probes.at; }
