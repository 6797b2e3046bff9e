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
                gone = {sizeof gone, "b", 1, .sequence = 7, .type = NAY_SST_DELETE},
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
                gone = {sizeof gone, "b", 1, .sequence = 7, .type = NAY_SST_DELETE};
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
  nay_sst_source source = {sizeof source,   ends_as_before, ends_as_before, seeks_as_before,
                           seeks_as_before, ends_as_before, ends_as_before, no_bytes,
                           no_bytes,        NULL,           NULL,           false};
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

/* A buffer has a capacity, and a call that needs more returns NAY_EBUFFER and the length. */
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
  assert_true(e.len == 1 && *(const char *)e.key == 'b' && e.sequence == 7 &&
              e.type == NAY_SST_DELETE);
  nay_sst_iter_free(it);
  nay_sst_free(t);
}

/* ---- callbacks ---- */

/* failing: what a callback returns, and how often it is called before. */
typedef struct failing {
  nay_status status;
  unsigned after, calls;
  size_t written;
} failing;

static nay_status failing_now(failing *f) { return f->calls++ >= f->after ? f->status : NAY_OK; }

static nay_status failing_operator(void *ctx, const nay_sst_operands *o, void *dst, size_t cap,
                                   size_t *written) {
  failing *f = ctx;
  (void)o, (void)dst, (void)cap;
  *written = f->written;
  return failing_now(f);
}

static nay_status failing_filter(void *ctx, const nay_sst_entry *entry, const void *value,
                                 size_t value_len, nay_sst_compact_verdict *verdict, void *dst,
                                 size_t cap, size_t *written) {
  failing *f = ctx;
  (void)entry, (void)value, (void)value_len, (void)dst, (void)cap;
  *verdict = NAY_SST_COMPACT_CHANGE;
  *written = f->written;
  return failing_now(f);
}

static nay_status failing_progress(void *ctx, const nay_sst_compact_stats *so_far) {
  (void)so_far;
  return failing_now(ctx);
}

static nay_status failing_extract(void *ctx, const void *key, size_t len, size_t *prefix_len) {
  (void)key;
  *prefix_len = len;
  return failing_now(ctx);
}

/* What a failing merge operator or compaction filter ends with; *written is `written`. */
static const struct {
  nay_status returned;
  size_t written;
  nay_status expected;
} callback_cases[] = {
    {NAY_ECORRUPT, 0, NAY_ECORRUPT}, {NAY_ENOMEM, 0, NAY_ENOMEM},    {NAY_EIO, 0, NAY_EIO},
    {NAY_ENOENT, 0, NAY_EINVAL}, /* a get would say that the key is absent */
    {NAY_EEND, 0, NAY_EINVAL},   /* a scan would end before the key */
    {NAY_EBUFFER, 0, NAY_EINVAL},    {NAY_OK, SIZE_MAX, NAY_EINVAL},
};
#define CALLBACK_CASES (sizeof callback_cases / sizeof callback_cases[0])

static void operators_return_statuses(void **unused) {
  (void)unused;
  char path[TEMP_MAX], out[TEMP_MAX];
  nay_sst_write_options how = {sizeof how, .keys = NAY_SST_KEYS_INTERNAL};
  nay_sst_entry e = {sizeof e, "k", 1, .sequence = 5, .type = NAY_SST_MERGE};
  nay_sst_writer *w;
  nay_sst *t;
  assert_ok(nay_sst_writer_new(temp_path(path, "operand.ldb"), &how, NULL, NULL, &w));
  assert_ok(nay_sst_writer_add_entry(w, &e, "+1", 2, NULL));
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  assert_ok(nay_sst_open(path, NULL, NULL, NULL, &t));
  temp_path(out, "operand-out.ldb");
  for (size_t i = 0; i < CALLBACK_CASES; i++) {
    failing f = {.status = callback_cases[i].returned, .written = callback_cases[i].written};
    nay_status expected = callback_cases[i].expected, each = NAY_OK;
    nay_sst_lookup_level level = {sizeof level, (const nay_sst *const[]){t}, 1, false};
    nay_sst_lookup_options merges = {sizeof merges, .merge = failing_operator, .merge_ctx = &f};
    nay_sst_value v = {.size = sizeof v, .len = 77};
    nay_sst_lookup *l;
    nay_sst_scan *s;
    nay_diag diag = {.what = NULL};
    const void *key = "k";
    size_t len = 1;
    assert_ok(nay_sst_lookup_new(&level, 1, &merges, NULL, NULL, &l));
    assert_status(nay_sst_lookup_get(l, "k", 1, NAY_SST_NEWEST, &diag, &v, NULL), expected);
    assert_non_null(diag.what);
    assert_status(nay_sst_lookup_get_many(l, &key, &len, 1, NAY_SST_NEWEST, NULL, &v, &each, NULL),
                  expected);
    assert_int_equal(each, expected);
    assert_ok(nay_sst_scan_new(l, NULL, NULL, NULL, &s));
    assert_status(nay_sst_scan_first(s), expected);
    nay_sst_scan_free(s);
    nay_sst_compact_options compact = {
        .size = sizeof compact, .bottom = true, .merge = failing_operator, .merge_ctx = &f};
    assert_status(nay_sst_compact(level.tables, 1, out, &compact, NULL, &diag, NULL), expected);
    assert_int_not_equal(access(out, F_OK), 0);
    nay_sst_value_free(&v);
    nay_sst_lookup_free(l);
  }
  nay_sst_free(t);
  unlink(path);
}

static void compactions_return_statuses(void **unused) {
  (void)unused;
  char path[TEMP_MAX], out[TEMP_MAX];
  nay_sst *t = three_entries(path);
  const nay_sst *const one[] = {t};
  nay_diag diag = {.what = NULL};
  temp_path(out, "filtered.ldb");
  for (size_t i = 0; i < CALLBACK_CASES; i++) {
    failing f = {.status = callback_cases[i].returned, .written = callback_cases[i].written};
    nay_sst_compact_options how = {
        .size = sizeof how, .bottom = true, .filter = failing_filter, .filter_ctx = &f};
    assert_status(nay_sst_compact(one, 1, out, &how, NULL, &diag, NULL),
                  callback_cases[i].expected);
    assert_int_not_equal(access(out, F_OK), 0);
  }
  nay_sst_free(t);
  unlink(path);
}

/* The status of progress is that of the compaction. */
static void progress_returns_a_status(void **unused) {
  (void)unused;
  char path[TEMP_MAX], out[TEMP_MAX], key[16];
  static const char value[1000];
  nay_sst_writer *w;
  nay_sst *t;
  assert_ok(nay_sst_writer_new(temp_path(path, "much.ldb"), NULL, NULL, NULL, &w));
  for (unsigned i = 0; i < 1000; i++) {
    snprintf(key, sizeof key, "%08u", i);
    assert_ok(nay_sst_writer_add(w, key, 8, value, sizeof value, NULL));
  }
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  assert_ok(nay_sst_open(path, NULL, NULL, NULL, &t));
  temp_path(out, "much-out.ldb");
  static const nay_status statuses[] = {NAY_ECANCELED, NAY_EIO, NAY_ENOMEM, NAY_OK};
  for (size_t i = 0; i < 4; i++) {
    failing f = {.status = statuses[i], .after = 1};
    nay_sst_compact_options how = {
        .size = sizeof how, .progress = failing_progress, .progress_ctx = &f};
    const nay_sst *const one[] = {t};
    assert_status(nay_sst_compact(one, 1, out, &how, NULL, NULL, NULL), statuses[i]);
    assert_int_equal(access(out, F_OK), statuses[i] == NAY_OK ? 0 : -1);
    assert_true(f.calls > 1);
  }
  nay_sst_free(t);
  unlink(out);
  unlink(path);
}

/* An extractor that fails when a table is written ends the write; when it is read, the prefix
 * filter is not used. A key that it calls without a prefix must stay findable. */
static void extractors_return_statuses(void **unused) {
  (void)unused;
  char path[TEMP_MAX];
  failing f = {.status = NAY_ENOMEM, .after = 1};
  nay_sst_prefix prefix = {sizeof prefix, "failing", failing_extract, &f};
  nay_sst_write_options how = {sizeof how, .prefix = &prefix};
  nay_sst_writer *w;
  nay_sst *t;
  nay_diag diag = {.what = NULL};
  nay_sst_value v = {.size = sizeof v};
  assert_ok(nay_sst_writer_new(temp_path(path, "prefixes.ldb"), &how, NULL, NULL, &w));
  assert_ok(nay_sst_writer_add(w, "a", 1, "1", 1, NULL));
  assert_status(nay_sst_writer_add(w, "b", 1, "2", 1, &diag), NAY_ENOMEM);
  assert_string_equal(diag.what, "the prefix extractor failed");
  assert_status(nay_sst_writer_finish(w, NULL), NAY_ENOMEM);
  nay_sst_writer_free(w);
  f = (failing){.status = NAY_ENOENT, .after = 1}; /* the first key alone has a prefix */
  assert_ok(nay_sst_writer_new(path, &how, NULL, NULL, &w));
  assert_ok(nay_sst_writer_add(w, "a", 1, "1", 1, NULL));
  assert_ok(nay_sst_writer_add(w, "b", 1, "2", 1, NULL));
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  nay_sst_read_options read = {.size = sizeof read, .prefix = &prefix};
  assert_ok(nay_sst_open(path, &read, NULL, NULL, &t));
  static const nay_status statuses[] = {NAY_ENOENT, NAY_ENOMEM, NAY_EINVAL};
  for (size_t i = 0; i < 3; i++) {
    f = (failing){.status = statuses[i]};
    assert_ok(nay_sst_get(t, "a", 1, NAY_SST_NEWEST, NULL, &v));
    assert_ok(nay_sst_get(t, "b", 1, NAY_SST_NEWEST, NULL, &v));
    assert_true(nay_sst_may_contain(t, "b", 1));
  }
  nay_sst_value_free(&v);
  nay_sst_free(t);
  unlink(path);
}

static void prefixes_have_names(void **unused) {
  (void)unused;
  static const struct {
    const char *name, *key;
    int prefix_len; /* -1: none */
  } cases[] = {
      {"nay.fixed.3", "abcd", 3},
      {"nay.fixed.3", "ab", -1},
      {"nay.fixed.65535", "ab", -1},
      {"nay.delimiter.47", "a/b/c", 2},
      {"nay.delimiter.0", "a", -1},
      {"rocksdb.FixedPrefix.2", "abc", 2},
      {"rocksdb.CappedPrefix.3", "abcd", 3},
      {"rocksdb.CappedPrefix.3", "ab", 2},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    nay_sst_prefix p = {.size = sizeof p};
    size_t len = 99;
    assert_ok(nay_sst_prefix_find(cases[i].name, &p));
    assert_string_equal(p.name, cases[i].name);
    nay_status status = p.extract(p.ctx, cases[i].key, strlen(cases[i].key), &len);
    assert_status(status, cases[i].prefix_len < 0 ? NAY_ENOENT : NAY_OK);
    if (status == NAY_OK) assert_int_equal(len, cases[i].prefix_len);
  }
  static const char *const unknown[] = {"",
                                        "nay.fixed.",
                                        "nay.fixed.0",
                                        "nay.fixed.03",
                                        "nay.fixed.65536",
                                        "nay.fixed.3x",
                                        "nay.delimiter.256",
                                        "nay.delimiter.-1",
                                        "rocksdb.CappedPrefix.0",
                                        "rocksdb.CappedPrefix.18446744073709551617"};
  for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
    nay_sst_prefix p = {.size = sizeof p};
    assert_status(nay_sst_prefix_find(unknown[i], &p), NAY_EINVAL);
    assert_null(p.extract);
  }
  assert_status(nay_sst_prefix_find(NULL, NULL), NAY_EINVAL);
  char version[32];
  snprintf(version, sizeof version, "%d.%d.%d", NAY_SST_VERSION_MAJOR, NAY_SST_VERSION_MINOR,
           NAY_SST_VERSION_PATCH);
  assert_string_equal(nay_sst_version(), version);
}

/* A codec that is out of memory is no damage; any other failure is. */
static nay_status codec_size(void *ctx, const void *src, size_t len, size_t *size) {
  (void)ctx, (void)src;
  *size = len;
  return NAY_OK;
}

static nay_status codec_copy(void *ctx, const void *src, size_t len, void *dst, size_t cap,
                             size_t *written) {
  (void)ctx, (void)cap;
  memset(dst, 0, len);
  memcpy(dst, src, 1);
  *written = len / 2;
  return NAY_OK;
}

static nay_status codec_fails(void *ctx, const void *src, size_t len, void *dst, size_t size) {
  (void)src, (void)len, (void)dst, (void)size;
  return failing_now(ctx);
}

static size_t codec_bound(void *ctx, size_t len) { return (void)ctx, len; }

static void codecs_return_statuses(void **unused) {
  (void)unused;
  char path[TEMP_MAX], value[100] = {0};
  failing f = {.status = NAY_OK};
  nay_sst_codec codec = {sizeof codec, 77, codec_bound, codec_copy, codec_size, codec_fails, &f};
  const nay_sst_codec *const codecs[] = {&codec};
  nay_sst_write_options how = {sizeof how, .codec = &codec};
  nay_sst_read_options read = {.size = sizeof read, .codecs = codecs, .ncodecs = 1};
  nay_sst_writer *w;
  nay_sst *t;
  nay_diag diag;
  assert_ok(nay_sst_writer_new(temp_path(path, "codec.ldb"), &how, NULL, NULL, &w));
  assert_ok(nay_sst_writer_add(w, "a", 1, value, sizeof value, NULL));
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  static const nay_status statuses[][2] = {{NAY_ENOMEM, NAY_ENOMEM},
                                           {NAY_ECORRUPT, NAY_ECORRUPT},
                                           {NAY_ENOENT, NAY_ECORRUPT},
                                           {NAY_EEND, NAY_ECORRUPT},
                                           {NAY_EINVAL, NAY_ECORRUPT}};
  for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
    f = (failing){.status = statuses[i][0]};
    diag.what = NULL;
    assert_status(nay_sst_open(path, &read, NULL, &diag, &t), statuses[i][1]);
    assert_non_null(diag.what);
  }
  unlink(path);
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
      TEST(operators_return_statuses),
      TEST(compactions_return_statuses),
      TEST(progress_returns_a_status),
      TEST(extractors_return_statuses),
      TEST(prefixes_have_names),
      TEST(codecs_return_statuses),
  };
  return run_all(tests);
}
