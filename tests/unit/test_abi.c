/*
 * test_abi.c - public structs of other versions. Every struct with a size, in heap blocks of
 * exactly that many bytes (AddressSanitizer sees what is read or written beyond), for every size
 * from 0 to 64 past the struct: refused below the first published size, answered above it, the tail
 * of an output zeroed, an input with something in its tail refused. Unknown flag bits one by one.
 * A library that has appended a field, and callers compiled before that: through nay__abi_*.
 */
#include <fcntl.h>

#include "base/abi.h"
#include "build/map_build.h"
#include "nay_column.h"
#include "nay_explain.h"
#include "nay_file.h"
#include "nay_format.h"
#include "nay_map.h"
#include "nay_policy.h"
#include "nay_sst.h"
#include "nay_sst_cache.h"
#include "nay_sst_compact.h"
#include "nay_sst_filters.h"
#include "nay_sst_iter.h"
#include "nay_sst_lookup.h"
#include "nay_sst_plan.h"
#include "support/abi_sizes.h"
#include "support/flaky.h"
#include "support/sst_calls.h"
#include "support/sst_numbers.h"

static nay_filter *filter; /* of foo */
static nay_sst *table;
static nay_sst_cache *cache;
static nay_sst_pool *tables;
static nay_sst_lookup *lookup;
static nay_sst_filters *found;
static uint8_t *table_bytes;
static char table_path[TEMP_MAX];

static nay_params good_params(void) {
  return (nay_params){sizeof(nay_params), .kind = NAY_BLOCKED, .nkeys = 100, .fpr = 0.01};
}

/* ---- outputs ---- */

static nay_status out_plan(void *o) {
  nay_params p = good_params();
  return nay_params_plan(&p, NULL, o);
}
static nay_status out_format_plan(void *o) {
  nay_params p = {sizeof p, .nkeys = 100, .bits_per_key = 10};
  return nay_format_plan(nay_format_find("leveldb"), &p, NULL, o);
}
static nay_status out_stats(void *o) { return nay_filter_stats(filter, o); }
static nay_status out_params(void *o) { return nay_filter_params(filter, o); }
static nay_status out_overlap(void *o) { return nay_filter_overlap(filter, filter, NULL, o); }
static nay_status out_explain(void *o) {
  return nay_filter_explain(filter, "foo", 3, NULL, NULL, o);
}
static nay_status out_leveldb(void *o) { return nay_policy_find(NAY_POLICY_LEVELDB, 10, o); }
static nay_status out_small(void *o) { return nay_policy_find(NAY_POLICY_SMALL, 10, o); }
static nay_status out_fixed(void *o) { return nay_sst_prefix_find("nay.fixed.4", o); }
static nay_status out_delimiter(void *o) { return nay_sst_prefix_find("nay.delimiter.47", o); }
static nay_status out_reverse(void *o) {
  return nay_sst_comparator_find("rocksdb.ReverseBytewiseComparator", o);
}
static nay_status out_named(void *o) { return nay_sst_comparator_find("nay.prefix.7", o); }
static nay_status out_version(void *o) { return nay_sst_key_split("k\1\0\0\0\0\0\0\0", 9, o); }
static nay_status out_merge_version(void *o) {
  nay_sst_scan *m;
  assert_ok(nay_sst_scan_new(lookup, NULL, NULL, NULL, &m));
  assert_ok(nay_sst_scan_first(m));
  nay_status status = nay_sst_scan_entry(m, o);
  nay_sst_scan_free(m);
  return status;
}
static nay_status out_info(void *o) { return nay_sst_stats(table, o); }
static nay_status out_lookup_counters(void *o) { return nay_sst_lookup_stats(lookup, o); }
static nay_status out_cache(void *o) { return nay_sst_cache_stats(cache, o); }
static nay_status out_tables(void *o) { return nay_sst_pool_stats(tables, o); }
static nay_status out_file(void *o) {
  int fd = open(table_path, O_RDONLY);
  nay_status status = nay_sst_file_descriptor(fd, NULL, o);
  close(fd);
  return status;
}
static nay_status out_sink(void *o) { return nay_sst_target_descriptor(1, o); }
static nay_status out_memory_sink(void *o) {
  nay_sst_memory *memory;
  assert_ok(nay_sst_memory_new(NULL, &memory));
  nay_status status = nay_sst_memory_target(memory, o);
  nay_sst_memory_free(memory);
  return status;
}
static nay_status out_compacted(void *o) {
  char path[TEMP_MAX];
  const nay_sst *one = table;
  return nay_sst_compact(&one, 1, temp_path(path, "abi-out.ldb"), NULL, NULL, NULL, o);
}
static nay_status out_found_info(void *o) { return nay_sst_filters_stats(found, o); }
static nay_status out_map(void *o) {
  nay_params p = {sizeof p, .kind = NAY_MAP, .value_bits = 3};
  uint64_t hashes[] = {1, 2}, values[] = {3, 4};
  nay_filter *map = NULL;
  assert_ok(nay__map_build_arrays(&p, hashes, values, 2, NULL, NULL, &map));
  nay_status status = nay_filter_stats(map, o);
  nay_filter_free(map);
  return status;
}
static nay_status lsm_read(void *level, void *sums) {
  nay_sst_plan_params p = {sizeof p, .nkeys = 1000, .ratio = 10, .bits_per_key = 10};
  nay_sst_plan *plan;
  assert_ok(nay_sst_plan_new(&p, NULL, NULL, &plan));
  nay_status status = level != NULL ? nay_sst_plan_level(plan, NAY_SST_PLAN_MONKEY, 0, level)
                                    : nay_sst_plan_stats(plan, NAY_SST_PLAN_MONKEY, sums);
  nay_sst_plan_free(plan);
  return status;
}
static nay_status out_lsm_level(void *o) { return lsm_read(o, NULL); }
static nay_status out_lsm_sums(void *o) { return lsm_read(NULL, o); }
static nay_status out_found(void *o) { return nay_sst_filters_at(found, 0, o); }

static const output outputs[] = {
    {"nay_plan", sizeof(nay_plan), out_plan},
    {"nay_plan of a format", sizeof(nay_plan), out_format_plan},
    {"nay_stats", sizeof(nay_stats), out_stats},
    {"nay_params", sizeof(nay_params), out_params},
    {"nay_overlap", sizeof(nay_overlap), out_overlap},
    {"nay_explanation", sizeof(nay_explanation), out_explain},
    {"nay_policy, LevelDB's", sizeof(nay_policy), out_leveldb},
    {"nay_policy, small", sizeof(nay_policy), out_small},
    {"nay_sst_prefix, fixed", sizeof(nay_sst_prefix), out_fixed},
    {"nay_sst_prefix, delimiter", sizeof(nay_sst_prefix), out_delimiter},
    {"nay_sst_comparator, reverse", sizeof(nay_sst_comparator), out_reverse},
    {"nay_sst_comparator, named", sizeof(nay_sst_comparator), out_named},
    {"nay_sst_entry", sizeof(nay_sst_entry), out_version},
    {"nay_sst_entry of a merge", sizeof(nay_sst_entry), out_merge_version},
    {"nay_sst_info", sizeof(nay_sst_info), out_info},
    {"nay_sst_counters of a lookup", sizeof(nay_sst_counters), out_lookup_counters},
    {"nay_sst_cache_info", sizeof(nay_sst_cache_info), out_cache},
    {"nay_sst_pool_info", sizeof(nay_sst_pool_info), out_tables},
    {"nay_sst_file", sizeof(nay_sst_file), out_file},
    {"nay_sst_target", sizeof(nay_sst_target), out_sink},
    {"nay_sst_target of memory", sizeof(nay_sst_target), out_memory_sink},
    {"nay_sst_compact_stats", sizeof(nay_sst_compact_stats), out_compacted},
    {"nay_stats, map", sizeof(nay_stats), out_map},
    {"nay_sst_level", sizeof(nay_sst_level), out_lsm_level},
    {"nay_sst_plan_info", sizeof(nay_sst_plan_info), out_lsm_sums},
    {"nay_sst_filters_info", sizeof(nay_sst_filters_info), out_found_info},
    {"nay_sst_filters_entry", sizeof(nay_sst_filters_entry), out_found},
};

/* ---- inputs ---- */

static void fill_params(void *o) {
  nay_params p = good_params();
  memcpy(o, &p, sizeof p);
}
static void fill_format(void *o) {
  nay_params p = {sizeof p, .nkeys = 100, .bits_per_key = 10};
  memcpy(o, &p, sizeof p);
}
static void fill_native(void *o) {
  nay_params p = {sizeof p, .kind = NAY_BLOCKED, .fpr = 0.01};
  memcpy(o, &p, sizeof p);
}
static void fill_nothing(void *o) { (void)o; }
static void fill_column(void *o) {
  nay_column c = {sizeof c, .bytes = "foobar", .nbytes = 6, .width = 3};
  memcpy(o, &c, sizeof c);
}
static nay_status in_column(const void *o, nay_diag *diag) {
  uint64_t bitmap;
  (void)diag;
  return nay_filter_may_contain_column(filter, o, 2, &bitmap);
}
static nay_status in_column_add(const void *o, nay_diag *diag) {
  (void)diag;
  return nay_filter_add_column(filter, o, 2, NULL, NULL);
}
static nay_status in_column_build(const void *o, nay_diag *diag) {
  nay_params p = good_params();
  nay_builder *b;
  (void)diag;
  assert_ok(nay_builder_new(&p, NULL, NULL, &b));
  nay_status status = nay_builder_add_column(b, o, 2, NULL);
  nay_builder_free(b);
  return status;
}
static void fill_policy(void *o) { memcpy(o, &exact, sizeof exact); }
static void fill_prefix(void *o) {
  nay_sst_prefix p = {.size = sizeof p};
  assert_ok(nay_sst_prefix_find("nay.fixed.4", &p));
  memcpy(o, &p, sizeof p);
}
static void fill_comparator(void *o) {
  nay_sst_comparator c = {.size = sizeof c};
  assert_ok(nay_sst_comparator_find("nay.decimal", &c));
  memcpy(o, &c, sizeof c);
}
static void fill_codec(void *o) { memcpy(o, &snappy_codec, sizeof snappy_codec); }
static void fill_version(void *o) {
  nay_sst_entry v = {sizeof v, .key = "k", .len = 1, .sequence = 7, .type = NAY_SST_PUT};
  memcpy(o, &v, sizeof v);
}

static nay_status freed(nay_status status, nay_filter *f) {
  if (status == NAY_OK) nay_filter_free(f);
  return status;
}
static nay_status in_plan(const void *o, nay_diag *diag) {
  nay_plan plan = {.size = sizeof plan};
  return nay_params_plan(o, diag, &plan);
}
static nay_status in_new(const void *o, nay_diag *diag) {
  nay_filter *f = NULL;
  nay_status status = nay_filter_new(o, NULL, diag, &f);
  return freed(status, f);
}
static nay_status in_build(const void *o, nay_diag *diag) {
  nay_filter *f = NULL;
  nay_status status = nay_filter_build(o, NULL, 0, NULL, diag, &f);
  return freed(status, f);
}
static nay_status in_builder(const void *o, nay_diag *diag) {
  nay_builder *b;
  nay_status status = nay_builder_new(o, NULL, diag, &b);
  if (status == NAY_OK) nay_builder_free(b);
  return status;
}
static nay_status in_format_plan(const void *o, nay_diag *diag) {
  nay_plan plan = {.size = sizeof plan};
  return nay_format_plan(nay_format_find("leveldb"), o, diag, &plan);
}
static nay_status in_format_new(const void *o, nay_diag *diag) {
  nay_filter *f = NULL;
  nay_status status = nay_format_new(nay_format_find("leveldb"), o, NULL, diag, &f);
  return freed(status, f);
}
static nay_status in_format_builder(const void *o, nay_diag *diag) {
  nay_builder *b;
  nay_status status = nay_format_builder_new(nay_format_find("leveldb"), o, NULL, diag, &b);
  if (status == NAY_OK) nay_builder_free(b);
  return status;
}

static nay_status in_write(const void *o, nay_diag *diag) {
  char path[TEMP_MAX];
  nay_sst_writer *w;
  nay_status status = nay_sst_writer_new(temp_path(path, "abi-w.ldb"), o, NULL, diag, &w);
  if (status == NAY_OK) nay_sst_writer_free(w);
  return status;
}
static nay_status in_write_params(const void *o, nay_diag *diag) {
  nay_sst_write_options how = {sizeof how, .filter = NAY_SST_FULL_FILTER, .params = o};
  return in_write(&how, diag);
}
static void fill_range(void *o) {
  nay_params p = {.size = sizeof p, .fpr = 0.01, .range_length = 10};
  memcpy(o, &p, sizeof p);
}
static nay_status in_write_range(const void *o, nay_diag *diag) {
  nay_sst_write_options how = {sizeof how, .range = o};
  return in_write(&how, diag);
}
static nay_status in_write_policy(const void *o, nay_diag *diag) {
  nay_sst_write_options how = {sizeof how, .filter = NAY_SST_FULL_FILTER, .policy = o};
  return in_write(&how, diag);
}
static nay_status in_write_prefix(const void *o, nay_diag *diag) {
  nay_sst_write_options how = {sizeof how, .prefix = o};
  return in_write(&how, diag);
}
static nay_status in_write_comparator(const void *o, nay_diag *diag) {
  nay_sst_write_options how = {sizeof how, .comparator = o};
  return in_write(&how, diag);
}
static nay_status in_write_codec(const void *o, nay_diag *diag) {
  nay_sst_write_options how = {sizeof how, .codec = o};
  return in_write(&how, diag);
}
static nay_status in_version(const void *o, nay_diag *diag) {
  char path[TEMP_MAX];
  nay_sst_writer *w;
  nay_sst_write_options how = {sizeof how, .keys = NAY_SST_KEYS_INTERNAL};
  (void)diag;
  assert_ok(nay_sst_writer_new(temp_path(path, "abi-v.ldb"), &how, NULL, NULL, &w));
  nay_status status = nay_sst_writer_add_entry(w, o, "", 0, NULL);
  nay_sst_writer_free(w);
  return status;
}
static nay_status in_read(const void *o, nay_diag *diag) {
  nay_sst *t;
  nay_status status = nay_sst_open(table_path, o, NULL, diag, &t);
  if (status == NAY_OK) nay_sst_free(t);
  return status;
}
static void fill_tables(void *o) {
  nay_sst_pool_options t = {sizeof t, .max_open = 1};
  memcpy(o, &t, sizeof t);
}
static nay_status in_tables(const void *o, nay_diag *diag) {
  nay_sst_pool *t = NULL;
  nay_status status = nay_sst_pool_new(o, NULL, diag, &t);
  nay_sst_pool_free(t);
  return status;
}
static nay_status in_tables_read(const void *o, nay_diag *diag) {
  nay_sst_pool_options t = {sizeof t, .max_open = 1, .read = o};
  return in_tables(&t, diag);
}
static nay_status abi_read_at(void *ctx, uint64_t at, void *dst, size_t len, nay_diag *diag) {
  (void)diag;
  memcpy(dst, (const uint8_t *)ctx + at, len);
  return NAY_OK;
}
static void fill_file(void *o) {
  nay_sst_file f = {sizeof f, info_of(table).nbytes, abi_read_at, NULL, table_bytes};
  memcpy(o, &f, sizeof f);
}
static nay_status in_file(const void *o, nay_diag *diag) {
  nay_sst *t = NULL;
  nay_status status = nay_sst_open_file(o, NULL, NULL, diag, &t);
  nay_sst_free(t);
  return status;
}
static nay_status abi_write(void *ctx, const void *bytes, size_t len, nay_diag *diag) {
  (void)ctx, (void)bytes, (void)len, (void)diag;
  return NAY_OK;
}
static void fill_sink(void *o) {
  nay_sst_target s = {.size = sizeof s, .write = abi_write};
  memcpy(o, &s, sizeof s);
}
static nay_status in_sink(const void *o, nay_diag *diag) {
  nay_sst_writer *w = NULL;
  nay_status status = nay_sst_writer_new_target(o, NULL, NULL, diag, &w);
  nay_sst_writer_free(w);
  return status;
}
static nay_status in_read_policy(const void *o, nay_diag *diag) {
  const nay_policy *policies[] = {o};
  nay_sst_read_options how = {sizeof how, .policies = policies, .npolicies = 1};
  return in_read(&how, diag);
}
static nay_status in_read_codec(const void *o, nay_diag *diag) {
  const nay_sst_codec *codecs[] = {o};
  nay_sst_read_options how = {sizeof how, .codecs = codecs, .ncodecs = 1};
  return in_read(&how, diag);
}
static nay_status in_read_comparator(const void *o, nay_diag *diag) {
  nay_sst_read_options how = {sizeof how, .comparator = o};
  nay_sst_write_options write = {.size = sizeof write};
  nay_sst_comparator decimal = {.size = sizeof decimal};
  char path[TEMP_MAX];
  nay_sst_writer *w;
  nay_sst *t = NULL;
  assert_ok(nay_sst_comparator_find("nay.decimal", &decimal));
  write.comparator = &decimal;
  assert_ok(nay_sst_writer_new(temp_path(path, "abi-order.ldb"), &write, NULL, NULL, &w));
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  nay_status status = nay_sst_open(path, &how, NULL, diag, &t);
  nay_sst_free(t);
  unlink(path);
  return status;
}
static nay_status in_read_prefix(const void *o, nay_diag *diag) {
  nay_sst_read_options how = {sizeof how, .prefix = o};
  return in_read(&how, diag);
}
static nay_status in_key_join(const void *o, nay_diag *diag) {
  uint8_t key[64];
  (void)diag;
  return nay_sst_key_join(o, key, sizeof key, NULL);
}
static nay_status in_merge(const void *o, nay_diag *diag) {
  nay_sst_scan *m;
  nay_status status = nay_sst_scan_new(lookup, o, NULL, diag, &m);
  if (status == NAY_OK) nay_sst_scan_free(m);
  return status;
}
static nay_status source_move(void *state) { return state == NULL ? NAY_EEND : NAY_OK; }
static nay_status source_seek(void *state, const void *key, size_t len) {
  return len == 0 || key == NULL ? source_move(state) : NAY_EEND;
}
static const void *source_bytes(void *state, size_t *len) {
  *len = 0;
  return state;
}
static void fill_source(void *o) {
  nay_sst_source s = {sizeof s,     source_move, source_move, source_seek,
                      source_seek,  source_move, source_move, source_bytes,
                      source_bytes, NULL,        NULL,        false};
  memcpy(o, &s, sizeof s);
}
static nay_status in_merge_source(const void *o, nay_diag *diag) {
  nay_sst_scan_options how = {sizeof how, .sources = o, .nsources = 1};
  return in_merge(&how, diag);
}
static nay_status in_compact(const void *o, nay_diag *diag) {
  char path[TEMP_MAX];
  const nay_sst *one = table;
  return nay_sst_compact(&one, 1, temp_path(path, "abi-c.ldb"), o, NULL, diag, NULL);
}
static nay_status in_compact_write(const void *o, nay_diag *diag) {
  nay_sst_compact_options how = {sizeof how, .write = o};
  return in_compact(&how, diag);
}
static const char *abi_next(void *ctx) {
  (void)ctx;
  return NULL;
}
static void fill_outputs(void *o) {
  nay_sst_outputs to = {.size = sizeof to, .next = abi_next};
  memcpy(o, &to, sizeof to);
}
static nay_status in_outputs(const void *o, nay_diag *diag) {
  const nay_sst *one = table;
  nay_status status = nay_sst_compact_to(&one, 1, o, NULL, NULL, diag, NULL);
  return status == NAY_ECANCELED ? NAY_OK : status; /* next was called: the struct was read */
}
static nay_status in_level(const void *o, nay_diag *diag) {
  nay_sst_lookup *l;
  nay_status status = nay_sst_lookup_new(o, 1, NULL, NULL, diag, &l);
  if (status == NAY_OK) nay_sst_lookup_free(l);
  return status;
}
static nay_status in_edit(const void *o, nay_diag *diag) {
  nay_sst_lookup *l, *edited;
  assert_ok(
      nay_sst_lookup_new(&(nay_sst_lookup_level){sizeof(nay_sst_lookup_level), NULL, 0, false}, 1,
                         NULL, NULL, NULL, &l));
  nay_status status = nay_sst_lookup_new_edited(l, o, 1, NULL, diag, &edited);
  if (status == NAY_OK) nay_sst_lookup_free(edited);
  nay_sst_lookup_free(l);
  return status;
}
static nay_status in_lookup(const void *o, nay_diag *diag) {
  nay_sst_lookup *l;
  nay_status status = nay_sst_lookup_new(NULL, 0, o, NULL, diag, &l);
  if (status == NAY_OK) nay_sst_lookup_free(l);
  return status;
}
static void fill_cache(void *o) {
  nay_sst_cache_options c = {sizeof c, 1000, 100, true};
  memcpy(o, &c, sizeof c);
}
static nay_status in_cache(const void *o, nay_diag *diag) {
  nay_sst_cache *c;
  nay_status status = nay_sst_cache_new(o, NULL, diag, &c);
  if (status == NAY_OK) nay_sst_cache_free(c);
  return status;
}
static void fill_map(void *o) {
  nay_params p = {sizeof p, .kind = NAY_MAP, .value_bits = 3};
  memcpy(o, &p, sizeof p);
}
static nay_status in_map_build(const void *o, nay_diag *diag) {
  uint64_t hash = 1, value = 2;
  nay_filter *map = NULL;
  nay_status status = nay__map_build_arrays(o, &hash, &value, 1, NULL, diag, &map);
  if (status == NAY_OK) nay_filter_free(map);
  return status;
}
static nay_status in_map_builder(const void *o, nay_diag *diag) {
  nay_builder *b;
  nay_status status = nay_builder_new(o, NULL, diag, &b);
  if (status == NAY_OK) nay_builder_free(b);
  return status;
}
static void fill_lsm(void *o) {
  nay_sst_plan_params p = {sizeof p, .nkeys = 1000, .ratio = 10, .bits_per_key = 10};
  memcpy(o, &p, sizeof p);
}
static nay_status in_lsm(const void *o, nay_diag *diag) {
  nay_sst_plan *plan;
  nay_status status = nay_sst_plan_new(o, NULL, diag, &plan);
  if (status == NAY_OK) nay_sst_plan_free(plan);
  return status;
}
static nay_status in_table_filters(const void *o, nay_diag *diag) {
  size_t len;
  uint8_t *bytes = sample_read(table_path, &len);
  nay_sst_filters *t;
  nay_status status = nay_sst_filters_open(bytes, len, o, NULL, diag, &t);
  if (status == NAY_OK) nay_sst_filters_free(t);
  free(bytes);
  return status;
}

static const input inputs[] = {
    INPUT(nay_params, fill_params, in_plan),
    INPUT(nay_params, fill_params, in_new),
    INPUT(nay_params, fill_params, in_build),
    INPUT(nay_params, fill_params, in_builder),
    INPUT(nay_params, fill_format, in_format_plan),
    INPUT(nay_params, fill_format, in_format_new),
    INPUT(nay_params, fill_format, in_format_builder),
    INPUT(nay_params, fill_native, in_write_params),
    INPUT(nay_params, fill_range, in_write_range),
    INPUT(nay_sst_write_options, fill_nothing, in_write),
    INPUT(nay_sst_write_options, fill_nothing, in_compact_write),
    INPUT(nay_sst_read_options, fill_nothing, in_read),
    INPUT(nay_sst_read_options, fill_nothing, in_tables_read),
    INPUT(nay_sst_pool_options, fill_tables, in_tables),
    INPUT(nay_sst_file, fill_file, in_file),
    INPUT(nay_sst_target, fill_sink, in_sink),
    INPUT(nay_sst_compact_options, fill_nothing, in_compact),
    INPUT(nay_sst_lookup_level, fill_nothing, in_level),
    INPUT(nay_sst_lookup_edit, fill_nothing, in_edit),
    INPUT(nay_sst_lookup_options, fill_nothing, in_lookup),
    INPUT(nay_sst_cache_options, fill_cache, in_cache),
    INPUT(nay_sst_outputs, fill_outputs, in_outputs),
    INPUT_WITHOUT_DIAG(nay_column, fill_column, in_column),
    INPUT_WITHOUT_DIAG(nay_column, fill_column, in_column_add),
    INPUT_WITHOUT_DIAG(nay_column, fill_column, in_column_build),
    INPUT_WITHOUT_DIAG(nay_sst_entry, fill_version, in_version),
    INPUT_WITHOUT_DIAG(nay_sst_entry, fill_version, in_key_join),
    INPUT(nay_sst_scan_options, fill_nothing, in_merge),
    INPUT(nay_sst_source, fill_source, in_merge_source),
    INPUT(nay_policy, fill_policy, in_write_policy),
    INPUT(nay_policy, fill_policy, in_read_policy),
    INPUT(nay_sst_prefix, fill_prefix, in_write_prefix),
    INPUT(nay_sst_prefix, fill_prefix, in_read_prefix),
    INPUT(nay_sst_comparator, fill_comparator, in_write_comparator),
    INPUT(nay_sst_comparator, fill_comparator, in_read_comparator),
    INPUT(nay_sst_codec, fill_codec, in_write_codec),
    INPUT(nay_sst_codec, fill_codec, in_read_codec),
    INPUT(nay_sst_filters_options, fill_nothing, in_table_filters),
    INPUT(nay_params, fill_map, in_map_build),
    INPUT(nay_params, fill_map, in_map_builder),
    INPUT(nay_sst_plan_params, fill_lsm, in_lsm),
};

/* ---- in and out: a value ---- */

static void values_of_every_size(void **state) {
  (void)state;
  char key[32];
  size_t key_len = number_key(2, key);
  for (size_t size = 0; size <= sizeof(nay_sst_value) + BEYOND; size++) {
    size_t len;
    nay_sst_value *v = (nay_sst_value *)(void *)sized_block(size, &len);
    memset((uint8_t *)v + sizeof size, 0, len - sizeof size);
    bool fits = size >= sizeof *v;
    nay_diag diag = {.what = NULL};
    assert_status(nay_sst_get(table, key, key_len, NAY_SST_NEWEST, &diag, v),
                  fits ? NAY_OK : NAY_EINVAL);
    assert_status(nay_sst_lookup_get(lookup, key, key_len, NAY_SST_NEWEST, &diag, v, NULL),
                  fits ? NAY_OK : NAY_EINVAL);
    if (!fits) assert_non_null(strstr(diag.what, "nay_sst_value"));
    nay_sst_value_free(v);
    assert_int_equal(v->size, size);
    free(v);
  }
}

/* ---- flags, reserved words ---- */

/* Flags of one call: all 32 bits in turn, of which `known` are accepted or refused for their own
 * reasons. */
static void assert_flags(const char *name, uint32_t known,
                         nay_status (*call)(uint32_t flags, nay_diag *diag)) {
  for (unsigned bit = 0; bit < 32; bit++) {
    uint32_t flags = (uint32_t)1 << bit;
    nay_diag diag = {.what = NULL};
    nay_status status = call(flags, &diag);
    if ((flags & known) != 0) continue;
    if (status != NAY_EINVAL || diag.what == NULL || strstr(diag.what, "flag") == NULL) {
      fail_msg("%s: bit %u: %s, %s", name, bit, nay_status_name(status), diag.what);
    }
  }
}

static nay_status flags_params(uint32_t flags, nay_diag *diag) {
  nay_params p = good_params();
  p.flags = flags;
  return in_new(&p, diag);
}
static nay_status flags_mmap(uint32_t flags, nay_diag *diag) {
  nay_filter *f = NULL;
  nay_status status = nay_filter_mmap("nowhere", flags, NULL, diag, &f);
  return freed(status, f);
}
static nay_status flags_read(uint32_t flags, nay_diag *diag) {
  nay_sst_read_options how = {sizeof how, .flags = flags};
  return in_read(&how, diag);
}
static nay_status produce(void *ctx, nay_sink sink, void *sink_ctx) {
  (void)ctx, (void)sink, (void)sink_ctx;
  return NAY_ENOENT;
}
static nay_status flags_replace(uint32_t flags, nay_diag *diag) {
  char path[TEMP_MAX];
  return nay_file_replace(temp_path(path, "abi-replace"), flags, produce, NULL, diag);
}
static nay_status flags_lock(uint32_t flags, nay_diag *diag) {
  char path[TEMP_MAX];
  nay_filelock lock = {.size = sizeof lock};
  nay_status status = nay_file_lock(temp_path(path, "abi-lock"), flags, diag, &lock);
  if (status == NAY_OK) nay_file_unlock(&lock);
  return status;
}

static void unknown_flags_are_refused(void **state) {
  (void)state;
  uint32_t params = NAY_CONCURRENT | NAY_STORE_KEY | NAY_SMALL_PAGES | NAY_UNIQUE | NAY_NO_VERIFY |
                    NAY_LOW_MEMORY | NAY_ZEROED;
  assert_flags("nay_params", params, flags_params);
  assert_flags("nay_filter_mmap", NAY_MMAP_LAZY, flags_mmap);
  assert_flags("nay_sst_read_options",
               NAY_SST_PREAD | NAY_SST_NO_FILTERS | NAY_SST_STORED_COMPARATOR | NAY_SST_BUDGETED |
                   NAY_SST_PINNED,
               flags_read);
  assert_flags("nay_file_replace", NAY_FILE_PRIVATE, flags_replace);
  assert_flags("nay_file_lock", NAY_LOCK_TRY, flags_lock);
}

static void allocators_of_later_versions_are_refused(void **state) {
  (void)state;
  flaky heap = {.fail_at = -1};
  nay_params p = good_params();
  nay_filter *f = NULL;
  nay_allocator a = flaky_allocator(&heap);
  for (size_t i = 0; i < sizeof a.reserved / sizeof a.reserved[0]; i++) {
    nay_diag diag = {.what = NULL};
    a.reserved[i] = &heap;
    assert_status(nay_filter_new(&p, &a, &diag, &f), NAY_EINVAL);
    assert_non_null(strstr(diag.what, "reserved"));
    a.reserved[i] = NULL;
  }
  nay_allocator none = a;
  none.alloc = NULL;
  assert_status(nay_filter_new(&p, &none, NULL, &f), NAY_EINVAL);
  none = a;
  none.free = NULL;
  assert_status(nay_filter_new(&p, &none, NULL, &f), NAY_EINVAL);
  assert_ok(nay_filter_new(&p, &a, NULL, &f));
  nay_filter_free(f);
  assert_true(flaky_is_clean(&heap));
}

/* A diag is overwritten as a whole: what a later version puts into the reserved words is 0 now. */
static void diags_have_zeroed_reserves(void **state) {
  (void)state;
  nay_params p = {.size = sizeof p};
  nay_diag diag;
  memset(&diag, FILL, sizeof diag);
  assert_status(in_new(&p, &diag), NAY_EINVAL);
  assert_int_equal(diag.reserved32, 0);
  for (size_t i = 0; i < 4; i++) assert_int_equal(diag.reserved[i], 0);
}

/* ---- main ---- */

static void prepare(void) {
  nay_params p = good_params();
  nay_sst_write_options how = {sizeof how, .filter = NAY_SST_FULL_FILTER, .properties = true};
  size_t len;
  assert_ok(nay_filter_new(&p, NULL, NULL, &filter));
  assert_ok(nay_filter_add(filter, "foo", 3, NULL));
  write_even(temp_path(table_path, "abi.ldb"), &how, 20);
  table = open_table(table_path, NULL);
  table_bytes = sample_read(table_path, &len);
  const nay_sst *one = table;
  nay_sst_pool_options few = {sizeof few, .max_open = 1};
  assert_ok(
      nay_sst_cache_new(&(nay_sst_cache_options){sizeof(nay_sst_cache_options), 1024, 1024, false},
                        NULL, NULL, &cache));
  assert_ok(nay_sst_pool_new(&few, NULL, NULL, &tables));
  assert_ok(
      nay_sst_lookup_new(&(nay_sst_lookup_level){sizeof(nay_sst_lookup_level), &one, 1, false}, 1,
                         NULL, NULL, NULL, &lookup));
  assert_ok(nay_sst_filters_open(table_bytes, len, NULL, NULL, NULL, &found));
}

static void release(void) {
  nay_sst_filters_free(found);
  nay_sst_lookup_free(lookup);
  nay_sst_cache_free(cache);
  nay_sst_pool_free(tables);
  nay_sst_free(table);
  free(table_bytes);
  nay_filter_free(filter);
}

#define N_OUTPUTS (sizeof outputs / sizeof outputs[0])
#define N_INPUTS (sizeof inputs / sizeof inputs[0])

int main(void) {
  const test_case others[] = {
      TEST(values_of_every_size),
      TEST(unknown_flags_are_refused),
      TEST(allocators_of_later_versions_are_refused),
      TEST(diags_have_zeroed_reserves),
  };
  test_case tests[N_OUTPUTS + N_INPUTS + sizeof others / sizeof others[0]];
  size_t n = 0;
  for (size_t i = 0; i < N_OUTPUTS; i++, n++) {
    tests[n] = (test_case)TEST_WITH(outputs[i].name, outputs_of_every_size, &outputs[i]);
  }
  for (size_t i = 0; i < N_INPUTS; i++, n++) {
    tests[n] = (test_case)TEST_WITH(inputs[i].name, inputs_of_every_size, &inputs[i]);
  }
  memcpy(tests + n, others, sizeof others);
  prepare();
  int status = run_list(test_file(__FILE__), tests, sizeof tests / sizeof tests[0]);
  release();
  return status;
}
