/*
 * test_sst_conventions.c - the conventions of nay_sst*.h, one of each kind: what a deletion looks
 * like, what NAY_ENOENT and NAY_EEND mean, which calls say why.
 */
#include "nay_sst_cache.h"
#include "nay_sst_compact.h"
#include "nay_sst_filters.h"
#include "nay_sst_iter.h"
#include "nay_sst_lookup.h"
#include "nay_sst_memtable.h"
#include "nay_sst_plan.h"
#include "support/temp.h"
#include "support/test.h"

/* A table with "a" = 1 at sequence 5, and "b" deleted at sequence 7 above its value at 6. */
static nay_sst *three_entries(char path[TEMP_MAX]) {
  nay_sst_write_options how = {sizeof how, .keys = NAY_SST_KEYS_INTERNAL};
  nay_sst_entry a = {sizeof a, "a", 1, .sequence = 5},
                gone = {sizeof gone, "b", 1, .sequence = 7, .deleted = true},
                b = {sizeof b, "b", 1, .sequence = 6};
  nay_sst_writer *w;
  nay_sst *t;
  assert_ok(nay_sst_writer_new(temp_path(path, "conventions.ldb"), &how, NULL, NULL, &w));
  assert_ok(nay_sst_writer_add_entry(w, &a, "1", 1, NULL));
  assert_ok(nay_sst_writer_add_entry(w, &gone, "", 0, NULL));
  assert_ok(nay_sst_writer_add_entry(w, &b, "2", 1, NULL));
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  assert_ok(nay_sst_open(path, NULL, NULL, NULL, &t));
  return t;
}

static nay_sst_lookup *lookup_of(const nay_sst *t) {
  nay_sst_lookup_level level = {sizeof level, &t, 1, false};
  nay_sst_lookup *l;
  assert_ok(nay_sst_lookup_new(&level, 1, NULL, NULL, NULL, &l));
  return l;
}

static nay_sst_memtable *memtable_of(void) {
  nay_sst_memtable *m;
  nay_sst_entry a = {sizeof a, "a", 1, .sequence = 5}, b = {sizeof b, "b", 1, .sequence = 6},
                gone = {sizeof gone, "b", 1, .sequence = 7, .deleted = true};
  assert_ok(nay_sst_memtable_new(NULL, NULL, NULL, &m));
  assert_ok(nay_sst_memtable_add(m, &a, "1", 1, NULL));
  assert_ok(nay_sst_memtable_add(m, &b, "2", 1, NULL));
  assert_ok(nay_sst_memtable_add(m, &gone, "", 0, NULL));
  return m;
}

/* A get of any object says NAY_ENOENT for a deletion, with `deleted`, and for an absent key,
 * without. */
static void deletions_are_enoent(void **unused) {
  (void)unused;
  char path[TEMP_MAX];
  nay_sst *t = three_entries(path);
  nay_sst_lookup *l = lookup_of(t);
  nay_sst_memtable *m = memtable_of();
  nay_sst_value v = {.size = sizeof v};
  static const struct {
    const char *key;
    uint64_t sequence;
    nay_status status;
    bool deleted;
  } gets[] = {{"a", NAY_SST_NEWEST, NAY_OK, false}, {"b", NAY_SST_NEWEST, NAY_ENOENT, true},
              {"b", 7, NAY_ENOENT, true},           {"b", 6, NAY_OK, false},
              {"b", 5, NAY_ENOENT, false},          {"c", NAY_SST_NEWEST, NAY_ENOENT, false}};
  for (size_t i = 0; i < sizeof gets / sizeof *gets; i++) {
    for (int of = 0; of < 3; of++) {
      const char *key = gets[i].key;
      uint64_t at = gets[i].sequence;
      v.deleted = !gets[i].deleted;
      nay_status status = of == 0   ? nay_sst_get(t, key, 1, at, NULL, &v)
                          : of == 1 ? nay_sst_lookup_get(l, key, 1, at, NULL, &v, NULL)
                                    : nay_sst_memtable_get(m, key, 1, at, NULL, &v);
      assert_status(status, gets[i].status);
      assert_int_equal(v.deleted, gets[i].deleted);
    }
  }
  nay_sst_value_free(&v);
  nay_sst_memtable_free(m);
  nay_sst_lookup_free(l);
  nay_sst_free(t);
}

/* What walks and lists return past the last is NAY_EEND, and never NAY_ENOENT. */
static void past_the_last_is_eend(void **unused) {
  (void)unused;
  char path[TEMP_MAX];
  nay_sst *t = three_entries(path);
  nay_sst_lookup *l = lookup_of(t);
  nay_sst_memtable *m = memtable_of();
  nay_sst_iter *it;
  nay_sst_scan *scan;
  nay_sst_source source = {.size = sizeof source};
  assert_ok(nay_sst_iter_new(t, NULL, &it));
  assert_status(nay_sst_iter_seek(it, "c", 1), NAY_EEND);
  assert_status(nay_sst_iter_next(it), NAY_EEND);
  assert_status(nay_sst_iter_seek_for_prev(it, "", 0), NAY_EEND);
  nay_sst_iter_free(it);
  assert_ok(nay_sst_scan_new(l, NULL, NULL, NULL, &scan));
  assert_status(nay_sst_scan_seek(scan, "c", 1), NAY_EEND);
  assert_status(nay_sst_scan_seek_for_prev(scan, "", 0), NAY_EEND);
  nay_sst_scan_free(scan);
  assert_ok(nay_sst_memtable_source(m, &source));
  assert_status(source.seek(source.ctx, "c", 1), NAY_EEND);
  source.free(source.ctx);
  nay_sst_plan_params tree = {sizeof tree, .nkeys = 1000, .ratio = 10, .bits_per_key = 10};
  nay_sst_plan *plan;
  nay_sst_level level = {.size = sizeof level};
  assert_ok(nay_sst_plan_new(&tree, NULL, NULL, &plan));
  assert_status(nay_sst_plan_level(plan, NAY_SST_PLAN_MONKEY, 1000, &level), NAY_EEND);
  nay_sst_plan_free(plan);
  nay_sst_memtable_free(m);
  nay_sst_lookup_free(l);
  nay_sst_free(t);
}

static nay_status ends_as_before(void *state) {
  (void)state;
  return NAY_ENOENT;
}
static const void *no_bytes(void *state, size_t *len) {
  (void)state;
  *len = 0;
  return "";
}
static nay_status seeks_as_before(void *state, const void *key, size_t len) {
  (void)key, (void)len;
  return ends_as_before(state);
}

/* A source that says NAY_ENOENT at its end is an error: a scan must not end early in silence. */
static void sources_end_with_eend(void **unused) {
  (void)unused;
  nay_sst_scan *scan;
  nay_sst_source source = {sizeof source,
                           NULL,
                           ends_as_before,
                           ends_as_before,
                           seeks_as_before,
                           seeks_as_before,
                           ends_as_before,
                           ends_as_before,
                           no_bytes,
                           no_bytes,
                           NULL,
                           false};
  nay_sst_scan_options how = {sizeof how, .sources = &source, .nsources = 1};
  assert_ok(nay_sst_scan_new(NULL, &how, NULL, NULL, &scan));
  assert_status(nay_sst_scan_first(scan), NAY_EINVAL);
  assert_non_null(nay_sst_scan_diag(scan)->what);
  assert_status(nay_sst_scan_last(scan), NAY_EINVAL);
  nay_sst_scan_free(scan);
}

/* A name that is not known is NAY_EINVAL. */
static void unknown_names_are_einval(void **unused) {
  (void)unused;
  nay_sst_comparator c = {.size = sizeof c};
  assert_status(nay_sst_comparator_find("nay.hexadecimal", &c), NAY_EINVAL);
}

/* A refused add says why, and changes nothing. */
static void adds_say_why(void **unused) {
  (void)unused;
  char path[TEMP_MAX];
  nay_sst_writer *w;
  nay_sst_entry e = {.size = sizeof e, .key = "k", .len = 1, .sequence = 1};
  nay_diag diag = {.what = NULL};
  assert_ok(nay_sst_writer_new(temp_path(path, "why.ldb"), NULL, NULL, NULL, &w));
  assert_ok(nay_sst_writer_add(w, "b", 1, "", 0, &diag));
  assert_null(diag.what);
  assert_status(nay_sst_writer_add(w, "a", 1, "", 0, &diag), NAY_EINVAL);
  assert_non_null(strstr(diag.what, "not above"));
  diag.what = NULL;
  assert_status(nay_sst_writer_add_entry(w, &e, "", 0, &diag), NAY_EINVAL);
  assert_non_null(strstr(diag.what, "internal"));
  assert_ok(nay_sst_writer_add(w, "c", 1, "", 0, NULL));
  assert_ok(nay_sst_writer_finish(w, NULL));
  diag.what = NULL;
  assert_status(nay_sst_writer_add(w, "d", 1, "", 0, &diag), NAY_EINVAL);
  assert_non_null(strstr(diag.what, "finished"));
  nay_sst_writer_free(w);
  nay_sst_memtable *m;
  assert_ok(nay_sst_memtable_new(NULL, NULL, NULL, &m));
  assert_ok(nay_sst_memtable_add(m, &e, "", 0, NULL));
  diag.what = NULL;
  assert_status(nay_sst_memtable_add(m, &e, "", 0, &diag), NAY_EINVAL);
  assert_non_null(strstr(diag.what, "already"));
  nay_sst_memtable_info info = {.size = sizeof info};
  assert_ok(nay_sst_memtable_stats(m, &info));
  assert_true(info.nentries == 1 && info.nbytes != 0);
  nay_sst_memtable_free(m);
  nay_sst_cache *cache;
  nay_sst_cache_options lopsided = {sizeof lopsided, 10, 11, .shared = true};
  diag.what = NULL;
  assert_status(nay_sst_cache_new(&lopsided, NULL, &diag, &cache), NAY_EINVAL);
  assert_non_null(diag.what);
}

/* A buffer has a capacity, and what did not fit is told. */
static void buffers_have_capacities(void **unused) {
  (void)unused;
  uint8_t bytes[10] = {0};
  size_t written = 0;
  nay_sst_entry e = {.size = sizeof e, .key = "ab", .len = 2, .sequence = 1};
  for (size_t cap = 0; cap < sizeof bytes; cap++) {
    assert_status(nay_sst_key_join(&e, bytes, cap, &written), NAY_EBUFFER);
    assert_int_equal(written, 10);
    assert_int_equal(bytes[0], 0);
  }
  assert_ok(nay_sst_key_join(&e, bytes, sizeof bytes, NULL));
  assert_memory_equal(bytes, "ab\1\1\0\0\0\0\0\0", 10);
}

/* What a table does not state is a flag of its one getter; verify reads every table. */
static void one_getter(void **unused) {
  (void)unused;
  char path[TEMP_MAX];
  nay_sst *t = three_entries(path);
  nay_sst_info info = {.size = sizeof info};
  assert_ok(nay_sst_stats(t, &info));
  assert_true(info.properties == NULL && info.foreign == NULL && info.native == NULL);
  assert_int_equal(info.counters.gets, 0);
  nay_sst_value v = {.size = sizeof v};
  assert_ok(nay_sst_get(t, "a", 1, NAY_SST_NEWEST, NULL, &v));
  nay_sst_value_free(&v);
  assert_ok(nay_sst_stats(t, &info));
  assert_int_equal(info.counters.gets, 1);
  uint64_t nentries, ndenied;
  assert_ok(nay_sst_verify(t, NULL, &nentries, &ndenied));
  assert_true(nentries == 3 && ndenied == 0);
  nay_sst_free(t);
}

/* Entries of an iterator have user key, sequence number and type, as those of a scan. */
static void entries_are_user_keys(void **unused) {
  (void)unused;
  char path[TEMP_MAX];
  nay_sst *t = three_entries(path);
  nay_sst_iter *it;
  nay_sst_entry e = {.size = sizeof e};
  assert_ok(nay_sst_iter_new(t, NULL, &it));
  assert_status(nay_sst_iter_entry(it, &e), NAY_EINVAL);
  assert_ok(nay_sst_iter_seek(it, "b", 1));
  assert_ok(nay_sst_iter_entry(it, &e));
  assert_true(e.len == 1 && *(const char *)e.key == 'b' && e.sequence == 7 && e.deleted);
  nay_sst_iter_free(it);
  nay_sst_free(t);
}

/* A layout is a field of the options, for files, bytes and filters. */
static void layouts_are_options(void **unused) {
  (void)unused;
  char path[TEMP_MAX];
  nay_sst_free(three_entries(path));
  nay_sst_read_options how = {.size = sizeof how, .layout = "no-sst"};
  nay_sst_filters_options of = {.size = sizeof of, .layout = "no-sst"};
  nay_sst *t;
  nay_sst_filters *f;
  nay_diag diag = {.what = NULL};
  assert_status(nay_sst_open(path, &how, NULL, &diag, &t), NAY_EINVAL);
  assert_non_null(strstr(diag.what, "layout"));
  assert_status(nay_sst_view("", 0, &how, NULL, NULL, &t), NAY_EINVAL);
  assert_status(nay_sst_filters_open("", 0, &of, NULL, NULL, &f), NAY_EINVAL);
  how.layout = of.layout = "nori-sst"; /* the file is LevelDB's */
  assert_status(nay_sst_open(path, &how, NULL, &diag, &t), NAY_EFORMAT);
  /* params are read field by field: what is between the fields may be anything */
  nay_params params;
  nay_params zero = {.size = sizeof zero, .bits_per_key = 12};
  memset(&params, 0xa5, sizeof params);
#define COPY(field) params.field = zero.field
  COPY(size), COPY(kind), COPY(nkeys), COPY(fpr), COPY(bits_per_key), COPY(nbytes), COPY(nbits);
  COPY(k), COPY(flags), COPY(fold), COPY(hash), COPY(seed), COPY(tag_bits), COPY(generations);
  COPY(window), COPY(max_nkeys), COPY(max_nbytes), COPY(threads), COPY(spill_dir), COPY(value_bits);
  COPY(check_bits), COPY(range_length), COPY(range_keys), COPY(range_delimiter);
#undef COPY
  nay_sst_writer *w;
  nay_sst_write_options nori = {.size = sizeof nori, .layout = "nori-sst", .params = &params};
  assert_ok(nay_sst_writer_new(path, &nori, NULL, &diag, &w));
  nay_sst_writer_free(w);
  params.fpr = 0.01;
  assert_status(nay_sst_writer_new(path, &nori, NULL, &diag, &w), NAY_EINVAL);
  params.fpr = 0, params.bits_per_key = 9.5;
  assert_status(nay_sst_writer_new(path, &nori, NULL, &diag, &w), NAY_EINVAL);
  /* compactions and memtables write LevelDB's layout alone */
  char out[TEMP_MAX];
  temp_path(out, "no.sst");
  nay_sst_write_options write = {.size = sizeof write, .layout = "nori-sst"};
  nay_sst_compact_options compact = {.size = sizeof compact, .write = &write};
  const nay_sst *one = t = three_entries(path);
  assert_status(nay_sst_compact(&one, 1, out, &compact, NULL, &diag, NULL), NAY_EINVAL);
  nay_sst_memtable *m = memtable_of();
  assert_status(nay_sst_memtable_write(m, out, &write, &diag), NAY_EINVAL);
  nay_sst_memtable_free(m);
  nay_sst_free(t);
}

int main(void) {
  const test_case tests[] = {
      TEST(deletions_are_enoent),
      TEST(past_the_last_is_eend),
      TEST(sources_end_with_eend),
      TEST(unknown_names_are_einval),
      TEST(adds_say_why),
      TEST(buffers_have_capacities),
      TEST(one_getter),
      TEST(entries_are_user_keys),
      TEST(layouts_are_options),
  };
  return run_all(tests);
}
