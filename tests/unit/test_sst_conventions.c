/*
 * test_sst_conventions.c - the conventions of nay_sst*.h, one of each kind: what a deletion looks
 * like, what NAY_ENOENT and NAY_EEND mean, which calls say why.
 */
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
  assert_ok(nay_sst_writer_add_entry(w, &a, "1", 1));
  assert_ok(nay_sst_writer_add_entry(w, &gone, "", 0));
  assert_ok(nay_sst_writer_add_entry(w, &b, "2", 1));
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
  assert_ok(nay_sst_memtable_add(m, &a, "1", 1));
  assert_ok(nay_sst_memtable_add(m, &b, "2", 1));
  assert_ok(nay_sst_memtable_add(m, &gone, "", 0));
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
  assert_ok(nay_sst_iter_new(t, &it));
  assert_status(nay_sst_iter_seek(it, "c", 1), NAY_EEND);
  assert_status(nay_sst_iter_next(it), NAY_EEND);
  assert_status(nay_sst_iter_seek_for_prev(it, "", 0), NAY_EEND);
  nay_sst_iter_free(it);
  assert_ok(nay_sst_scan_new(l, NULL, NULL, NULL, &scan));
  assert_status(nay_sst_scan_seek(scan, "c", 1), NAY_EEND);
  assert_status(nay_sst_scan_seek_for_prev(scan, "", 0), NAY_EEND);
  nay_sst_scan_free(scan);
  assert_ok(nay_sst_memtable_source(m, &source));
  assert_status(source.seek(source.state, "c", 1), NAY_EEND);
  source.free(source.state);
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

int main(void) {
  const test_case tests[] = {
      TEST(deletions_are_enoent),
      TEST(past_the_last_is_eend),
      TEST(sources_end_with_eend),
      TEST(unknown_names_are_einval),
  };
  return run_all(tests);
}
