/*
 * test_merge_errors.c - merging iterators where something is wrong: damage is an error that stays
 * and never a shorter scan, every allocation may fail, nonsense is refused; and tables outside of
 * the bounds are not read.
 */
#include "nay_sst_iter.h"
#include "support/flaky.h"
#include "support/fold_order.h"
#include "support/sst_calls.h"
#include "support/sst_sample.h"

#define N_KEYS 300u
#define N_TABLES 6u

#define HOW(...) \
  &(nay_sst_scan_options) { .size = sizeof(nay_sst_scan_options), __VA_ARGS__ }

/* ---- tables of numbers ---- */

static size_t number(unsigned i, char key[16]) { return (size_t)snprintf(key, 16, "key%05u", i); }

/* Keys first, first + step, ... below end, in small blocks. */
static uint8_t *table_bytes(unsigned first, unsigned step, unsigned end, size_t *len) {
  char path[TEMP_MAX], key[16];
  nay_sst_writer *w;
  nay_sst_write_options how = {sizeof how, .block_bytes = 100};
  assert_ok(nay_sst_writer_new(temp_path(path, "merge.ldb"), &how, NULL, NULL, &w));
  for (unsigned i = first; i < end; i += step) {
    assert_ok(nay_sst_writer_add(w, key, number(i, key), key, number(i, key), NULL));
  }
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  uint8_t *bytes = sample_read(path, len);
  unlink(path);
  return bytes;
}

static nay_sst *view_table(const uint8_t *bytes, size_t len) {
  nay_sst_read_options how = {sizeof how, .keys = NAY_SST_KEYS_PLAIN};
  nay_sst *t = NULL;
  nay_status status = nay_sst_view(bytes, len, &how, NULL, NULL, &t);
  return status == NAY_OK ? t : NULL;
}

/* ---- damage ---- */

/* Iterates in one direction: every entry is the next one, until the end or an error. */
static nay_status walk(nay_sst_scan *m, bool backward, unsigned *n) {
  nay_status status = backward ? nay_sst_scan_last(m) : nay_sst_scan_first(m);
  for (*n = 0; status == NAY_OK; ++*n) {
    char key[16];
    size_t len, want = number(backward ? N_KEYS - 1 - *n : *n, key);
    const void *got = nay_sst_scan_key(m, &len);
    assert_int_equal(len, want);
    assert_memory_equal(got, key, len);
    got = nay_sst_scan_value(m, &len);
    assert_int_equal(len, want);
    assert_memory_equal(got, key, len);
    status = backward ? nay_sst_scan_prev(m) : nay_sst_scan_next(m);
  }
  return status;
}

/* Every byte of one of two tables flipped: all entries, or an error with an offset, which stays. */
static void damage_is_never_a_shorter_scan(void **unused) {
  (void)unused;
  size_t len, other_len;
  uint8_t *bytes = table_bytes(0, 2, N_KEYS, &len), *other = table_bytes(1, 2, N_KEYS, &other_len);
  unsigned failed = 0, whole = 0;
  for (size_t at = 0; at < len; at++) {
    bytes[at] ^= (uint8_t)(1u << at % 8);
    nay_sst *a = view_table(bytes, len), *b = view_table(other, other_len);
    nay_sst_lookup *l;
    nay_sst_scan *m;
    if (a != NULL) {
      const nay_sst *both[] = {b, a};
      assert_ok(
          nay_sst_lookup_new(&(nay_sst_lookup_level){sizeof(nay_sst_lookup_level), both, 2, false},
                             1, NULL, NULL, NULL, &l));
      assert_ok(nay_sst_scan_new(l, NULL, NULL, NULL, &m));
      for (int backward = 0; backward < 2; backward++) {
        unsigned n;
        nay_status status = walk(m, backward, &n);
        if (status == NAY_EEND) {
          assert_int_equal(n, N_KEYS);
          whole++;
          continue;
        }
        failed++;
        assert_true(status == NAY_ECORRUPT || status == NAY_ENOTSUP);
        assert_true(nay_sst_scan_diag(m)->what != NULL && nay_sst_scan_diag(m)->offset < len);
        assert_ptr_equal(nay_sst_scan_table(m), a);
        assert_status(nay_sst_scan_next(m), status);
        assert_status(nay_sst_scan_prev(m), status);
        assert_false((nay_sst_scan_key(m, &(size_t){0}) != NULL));
        size_t none;
        assert_null(nay_sst_scan_key(m, &none));
        assert_null(nay_sst_scan_value(m, &none));
      }
      nay_sst_scan_free(m);
      nay_sst_lookup_free(l);
    }
    nay_sst_free(a);
    nay_sst_free(b);
    bytes[at] ^= (uint8_t)(1u << at % 8);
  }
  assert_true(failed > 1000 && whole > 10);
  free(bytes);
  free(other);
}

/* ---- what is read ---- */

typedef struct level {
  uint8_t *bytes[N_TABLES];
  nay_sst *tables[N_TABLES];
  nay_sst_lookup *lookup;
} level;

/* A disjoint level: table i has the keys from 50 i on. */
static void level_make(level *l) {
  for (unsigned i = 0; i < N_TABLES; i++) {
    size_t len;
    l->bytes[i] = table_bytes(i * 50, 1, i * 50 + 50, &len);
    l->tables[i] = view_table(l->bytes[i], len);
    assert_non_null(l->tables[i]);
  }
  nay_sst_lookup_level one = {.size = sizeof one,
                              .tables = (const nay_sst *const *)l->tables,
                              .n = N_TABLES,
                              .disjoint = true};
  assert_ok(nay_sst_lookup_new(&one, 1, NULL, NULL, NULL, &l->lookup));
}

static void level_free(level *l) {
  nay_sst_lookup_free(l->lookup);
  for (unsigned i = 0; i < N_TABLES; i++) {
    nay_sst_free(l->tables[i]);
    free(l->bytes[i]);
  }
}

static uint64_t reads(const nay_sst *t) {
  nay_sst_counters c = {.size = sizeof c};
  table_counts(t, &c);
  return c.block_reads;
}

static void only_what_is_needed_is_read(void **unused) {
  (void)unused;
  level l;
  nay_sst_scan *m;
  unsigned n = 0;
  uint64_t before[N_TABLES];
  level_make(&l);
  for (unsigned i = 0; i < N_TABLES; i++) before[i] = reads(l.tables[i]);
  nay_sst_scan_options how = {sizeof how, .lower = "key00120", .lower_len = 8, .upper = "key00180",
                              .upper_len = 8};
  assert_ok(nay_sst_scan_new(l.lookup, &how, NULL, NULL, &m));
  for (nay_status s = nay_sst_scan_first(m); s == NAY_OK; s = nay_sst_scan_next(m)) n++;
  assert_int_equal(n, 60);
  assert_ok(nay_sst_scan_last(m));
  for (unsigned i = 0; i < N_TABLES; i++)
    assert_int_equal(reads(l.tables[i]) != before[i], i == 2 || i == 3);
  nay_sst_scan_free(m);
  assert_ok(nay_sst_scan_new(l.lookup, NULL, NULL, NULL, &m));
  assert_ok(nay_sst_scan_seek(m, "key00010", 8)); /* the other tables of the level stay closed */
  assert_int_equal(reads(l.tables[0]), before[0] + 1);
  assert_int_equal(reads(l.tables[1]), before[1]);
  nay_sst_scan_free(m);
  level_free(&l);
}

/* Of tables whose range has a prefix, those whose filter denies it are not read. */
static void prefix_filters_leave_tables_out(void **unused) {
  (void)unused;
  nay_sst_prefix prefix = {.size = sizeof prefix};
  assert_ok(nay_sst_prefix_find("nay.fixed.2", &prefix));
  nay_sst_write_options how = {sizeof how, .prefix = &prefix};
  nay_sst_read_options read = {sizeof read, .keys = NAY_SST_KEYS_PLAIN, .prefix = &prefix};
  nay_sst *t[2];
  nay_sst_lookup *l;
  const char *keys[2][3] = {{"aa1", "mm1", "zz1"}, {"aa2", "pp2", "zz2"}};
  for (int i = 0; i < 2; i++) {
    char path[TEMP_MAX];
    nay_sst_writer *w;
    assert_ok(nay_sst_writer_new(temp_path(path, "prefix.ldb"), &how, NULL, NULL, &w));
    for (int k = 0; k < 3; k++) assert_ok(nay_sst_writer_add(w, keys[i][k], 3, "", 0, NULL));
    assert_ok(nay_sst_writer_finish(w, NULL));
    nay_sst_writer_free(w);
    assert_ok(nay_sst_open(path, &read, NULL, NULL, &t[i]));
    unlink(path);
  }
  assert_ok(nay_sst_lookup_new(
      &(nay_sst_lookup_level){sizeof(nay_sst_lookup_level), (const nay_sst *const *)t, 2, false}, 1,
      NULL, NULL, NULL, &l));
  for (int backward = 0; backward < 2; backward++) {
    nay_sst_scan *m;
    size_t len;
    assert_ok(nay_sst_scan_new(l, HOW(.prefix = "mm", .prefix_len = 2), NULL, NULL, &m));
    assert_ok(backward ? nay_sst_scan_last(m) : nay_sst_scan_first(m));
    assert_memory_equal(nay_sst_scan_key(m, &len), "mm1", 3);
    assert_ptr_equal(nay_sst_scan_table(m), t[0]);
    assert_status(backward ? nay_sst_scan_prev(m) : nay_sst_scan_next(m), NAY_EEND);
    nay_sst_scan_free(m);
  }
  assert_int_equal(reads(t[0]), 2);
  assert_int_equal(reads(t[1]), 0);
  nay_sst_lookup_free(l);
  for (int i = 0; i < 2; i++) nay_sst_free(t[i]);
}

/* ---- keys that are equal and differ ---- */

/* The newest table's bytes of a key come, in both directions. */
static void equal_keys_may_differ(void **unused) {
  (void)unused;
  nay_sst_write_options how = {sizeof how, .comparator = &fold};
  nay_sst_read_options read = {sizeof read, .comparator = &fold};
  const char *keys[2][2] = {{"B", "c"}, {"a", "b"}}; /* newest first */
  const char *want[] = {"a", "B", "c"};
  nay_sst *t[2];
  nay_sst_lookup *l;
  nay_sst_scan *m;
  for (int i = 0; i < 2; i++) {
    char path[TEMP_MAX];
    nay_sst_writer *w;
    assert_ok(nay_sst_writer_new(temp_path(path, "fold.ldb"), &how, NULL, NULL, &w));
    for (int k = 0; k < 2; k++)
      assert_ok(nay_sst_writer_add(w, keys[i][k], 1, keys[i][k], 1, NULL));
    assert_ok(nay_sst_writer_finish(w, NULL));
    nay_sst_writer_free(w);
    assert_ok(nay_sst_open(path, &read, NULL, NULL, &t[i]));
    unlink(path);
  }
  assert_ok(nay_sst_lookup_new(
      &(nay_sst_lookup_level){sizeof(nay_sst_lookup_level), (const nay_sst *const *)t, 2, false}, 1,
      NULL, NULL, NULL, &l));
  assert_ok(nay_sst_scan_new(l, NULL, NULL, NULL, &m));
  for (int backward = 0; backward < 2; backward++) {
    nay_status status = backward ? nay_sst_scan_last(m) : nay_sst_scan_first(m);
    for (int i = 0; i < 3; i++) {
      size_t len;
      assert_ok(status);
      const char *one = want[backward ? 2 - i : i];
      assert_memory_equal(nay_sst_scan_key(m, &len), one, 1);
      assert_memory_equal(nay_sst_scan_value(m, &len), one, 1);
      status = backward ? nay_sst_scan_prev(m) : nay_sst_scan_next(m);
    }
    assert_status(status, NAY_EEND);
  }
  nay_sst_scan_free(m);
  nay_sst_lookup_free(l);
  for (int i = 0; i < 2; i++) nay_sst_free(t[i]);
}

/* ---- memory ---- */

static nay_status use(const nay_sst_lookup *l, const nay_allocator *a) {
  nay_sst_scan *m;
  nay_sst_scan_options how = {sizeof how, .prefix = "key000", .prefix_len = 6};
  nay_sst_value v = {.size = sizeof v};
  nay_status status = nay_sst_scan_new(l, &how, a, NULL, &m);
  if (status != NAY_OK) return status;
  status = nay_sst_scan_first(m);
  if (status == NAY_OK) status = nay_sst_scan_next(m);
  if (status == NAY_OK) status = nay_sst_scan_prev(m);
  if (status == NAY_OK) status = nay_sst_scan_last(m);
  if (status == NAY_OK) status = nay_sst_scan_pin(m, &v);
  if (status == NAY_OK) status = nay_sst_scan_prev(m);
  if (status != NAY_OK) assert_status(nay_sst_scan_next(m), status);
  nay_sst_value_free(&v);
  nay_sst_scan_free(m);
  return status;
}

static void every_allocation_may_fail(void **unused) {
  (void)unused;
  level l;
  level_make(&l);
  flaky heap = {.fail_at = -1};
  nay_allocator a = flaky_allocator(&heap);
  for (long fail = 0;; fail++) {
    heap.fail_at = heap.calls + fail;
    nay_status status = use(l.lookup, &a);
    bool failed = heap.calls > heap.fail_at;
    assert_status(status, failed ? NAY_ENOMEM : NAY_OK);
    assert_true(flaky_is_clean(&heap));
    if (!failed) break;
  }
  level_free(&l);
}

/* ---- nonsense ---- */

static nay_status no_move(void *state) {
  (void)state;
  return NAY_EEND;
}
static nay_status no_seek(void *state, const void *key, size_t len) {
  (void)state, (void)key, (void)len;
  return NAY_EEND;
}
static nay_status one_move(void *state) {
  (void)state;
  return NAY_OK;
}
static nay_status broken_move(void *state) {
  (void)state;
  return NAY_EIO;
}
static const void *short_key(void *state, size_t *len) {
  (void)state;
  *len = 3;
  return "abc";
}

static nay_sst_source nothing(void) {
  return (nay_sst_source){.size = sizeof(nay_sst_source),
                          .first = no_move,
                          .last = no_move,
                          .next = no_move,
                          .prev = no_move,
                          .seek = no_seek,
                          .seek_for_prev = no_seek,
                          .key = short_key,
                          .value = short_key};
}

static void assert_refused(const nay_sst_lookup *l, const nay_sst_scan_options *how,
                           nay_status want) {
  nay_sst_scan *m;
  nay_diag diag = {.what = NULL};
  assert_status(nay_sst_scan_new(l, how, NULL, &diag, &m), want);
  assert_non_null(diag.what);
}

static void nonsense_is_refused(void **unused) {
  (void)unused;
  level l;
  level_make(&l);
  nay_sst_source s = nothing(), lacks = s, sizes[2] = {s, s};
  lacks.prev = NULL;
  sizes[1].size += 8;
  nay_sst_comparator reverse = {.size = sizeof reverse};
  assert_ok(nay_sst_comparator_find("rocksdb.ReverseBytewiseComparator", &reverse));
  assert_refused(NULL, HOW(.nsources = 1), NAY_EINVAL);
  assert_refused(NULL, HOW(.sources = &lacks, .nsources = 1), NAY_EINVAL);
  assert_refused(NULL, HOW(.sources = sizes, .nsources = 2), NAY_EINVAL);
  assert_refused(NULL, HOW(.lower_len = 1), NAY_EINVAL);
  assert_refused(NULL, HOW(.upper_len = 1), NAY_EINVAL);
  assert_refused(NULL, HOW(.prefix_len = 1), NAY_EINVAL);
  assert_refused(NULL, HOW(.sequence = &(uint64_t){1ull << 56}), NAY_EINVAL);
  assert_refused(NULL, HOW(.keys = (nay_sst_keys)3), NAY_EINVAL);
  assert_refused(NULL, HOW(.comparator = &reverse, .prefix = "a", .prefix_len = 1), NAY_ENOTSUP);
  assert_refused(l.lookup, HOW(.comparator = &reverse), NAY_EMISMATCH);
  assert_refused(l.lookup, HOW(.keys = NAY_SST_KEYS_INTERNAL), NAY_EMISMATCH);
  assert_status(nay_sst_scan_new(NULL, NULL, NULL, NULL, NULL), NAY_EINVAL);
  nay_sst_scan *m;
  assert_ok(nay_sst_scan_new(NULL, NULL, NULL, NULL, &m)); /* nothing to merge */
  nay_sst_value v = {.size = sizeof v};
  nay_sst_entry version = {.size = sizeof version};
  assert_status(nay_sst_scan_first(m), NAY_EEND);
  assert_status(nay_sst_scan_last(m), NAY_EEND);
  assert_status(nay_sst_scan_seek(m, NULL, 0), NAY_EEND);
  assert_status(nay_sst_scan_seek(m, NULL, 1), NAY_EINVAL);
  assert_status(nay_sst_scan_seek_for_prev(m, NULL, 1), NAY_EINVAL);
  assert_status(nay_sst_scan_pin(m, &v), NAY_EINVAL);
  assert_status(nay_sst_scan_entry(m, &version), NAY_EINVAL);
  nay_sst_scan_free(m);
  nay_sst_scan_free(NULL);
  level_free(&l);
}

/* Plain and internal tables do not mix. */
static void kinds_of_keys_do_not_mix(void **unused) {
  (void)unused;
  char path[TEMP_MAX];
  level l;
  nay_sst_writer *w;
  nay_sst *internal;
  nay_sst_lookup *mixed;
  nay_sst_write_options how = {sizeof how, .keys = NAY_SST_KEYS_INTERNAL};
  nay_sst_entry v = {sizeof v, "a", 1, 7, NAY_SST_PUT, 0};
  level_make(&l);
  assert_ok(nay_sst_writer_new(temp_path(path, "mixed.ldb"), &how, NULL, NULL, &w));
  assert_ok(nay_sst_writer_add_entry(w, &v, "", 0, NULL));
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  assert_ok(nay_sst_open(path, NULL, NULL, NULL, &internal));
  const nay_sst *both[] = {l.tables[0], internal};
  assert_ok(
      nay_sst_lookup_new(&(nay_sst_lookup_level){sizeof(nay_sst_lookup_level), both, 2, false}, 1,
                         NULL, NULL, NULL, &mixed));
  assert_refused(mixed, NULL, NAY_EMISMATCH);
  nay_sst_lookup_free(mixed);
  nay_sst_free(internal);
  unlink(path);
  level_free(&l);
}

/* A source that fails, or has no internal keys, ends the walk with an error that stays. */
static void sources_that_fail(void **unused) {
  (void)unused;
  nay_sst_source broken = nothing(), plain = nothing();
  nay_sst_scan *m;
  broken.first = broken_move;
  plain.first = plain.last = one_move;
  nay_sst_scan_options how = {sizeof how, .sources = &broken, .nsources = 1};
  assert_ok(nay_sst_scan_new(NULL, &how, NULL, NULL, &m));
  assert_status(nay_sst_scan_first(m), NAY_EIO);
  assert_status(nay_sst_scan_next(m), NAY_EIO);
  assert_non_null(nay_sst_scan_diag(m)->what);
  assert_null(nay_sst_scan_table(m));
  assert_status(nay_sst_scan_last(m), NAY_EEND);
  nay_sst_scan_free(m);
  how.sources = &plain;
  assert_ok(nay_sst_scan_new(NULL, &how, NULL, NULL, &m));
  assert_status(nay_sst_scan_first(m), NAY_EINVAL);
  assert_status(nay_sst_scan_last(m), NAY_EINVAL);
  nay_sst_scan_free(m);
}

/* An empty table that says which keys it has says so for the sources beside it. */
static void empty_tables_have_a_kind_of_keys(void **unused) {
  (void)unused;
  size_t bytes_len, len;
  uint8_t *bytes = table_bytes(0, 1, 0, &bytes_len);
  nay_sst_source plain = nothing();
  nay_sst_lookup *l;
  nay_sst_scan *m;
  plain.first = one_move;
  for (nay_sst_keys keys = NAY_SST_KEYS_AUTO; keys <= NAY_SST_KEYS_INTERNAL; keys++) {
    nay_sst_read_options how = {sizeof how, .keys = keys};
    nay_sst *t;
    assert_ok(nay_sst_view(bytes, bytes_len, &how, NULL, NULL, &t));
    assert_ok(nay_sst_lookup_new(
        &(nay_sst_lookup_level){sizeof(nay_sst_lookup_level), (const nay_sst *[]){t}, 1, false}, 1,
        NULL, NULL, NULL, &l));
    assert_ok(nay_sst_scan_new(l, HOW(.sources = &plain, .nsources = 1), NULL, NULL, &m));
    assert_status(nay_sst_scan_first(m), keys == NAY_SST_KEYS_PLAIN ? NAY_OK : NAY_EINVAL);
    if (keys == NAY_SST_KEYS_PLAIN) assert_memory_equal(nay_sst_scan_key(m, &len), "abc", 3);
    nay_sst_scan_free(m);
    nay_sst_lookup_free(l);
    nay_sst_free(t);
  }
  free(bytes);
}

/* A merge operand at the reader's own sequence number is an error; no older value hides it. */
static void operands_are_not_passed_over(void **unused) {
  (void)unused;
  char path[TEMP_MAX];
  nay_sst_writer *w;
  nay_sst *t;
  nay_sst_lookup *l;
  nay_sst_scan *m;
  nay_sst_value value = {.size = sizeof value};
  nay_sst_write_options how = {sizeof how, .keys = NAY_SST_KEYS_INTERNAL};
  nay_sst_entry v = {sizeof v, "a", 1, 7, NAY_SST_MERGE, 0}, got = {.size = sizeof got};
  assert_ok(nay_sst_writer_new(temp_path(path, "operand.ldb"), &how, NULL, NULL, &w));
  assert_ok(nay_sst_writer_add_entry(w, &v, "+1", 2, NULL));
  v.sequence = 5;
  v.type = NAY_SST_PUT;
  assert_ok(nay_sst_writer_add_entry(w, &v, "1", 1, NULL));
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  nay_sst_read_options read = {sizeof read, .keys = NAY_SST_KEYS_INTERNAL};
  assert_ok(nay_sst_open(path, &read, NULL, NULL, &t));
  assert_ok(nay_sst_lookup_new(
      &(nay_sst_lookup_level){sizeof(nay_sst_lookup_level), (const nay_sst *const[]){t}, 1, false},
      1, NULL, NULL, NULL, &l));
  for (uint64_t at = 5; at < 10; at++) {
    nay_status want = at < 7 ? NAY_OK : NAY_ENOTSUP;
    assert_status(nay_sst_get(t, "a", 1, at, NULL, &value), want);
    assert_status(nay_sst_lookup_get(l, "a", 1, at, NULL, &value, NULL), want);
    assert_ok(nay_sst_scan_new(l, HOW(.sequence = &at), NULL, NULL, &m));
    assert_status(nay_sst_scan_first(m), want);
    assert_status(nay_sst_scan_last(m), want);
    nay_sst_scan_free(m);
  }
  assert_ok(nay_sst_scan_new(l, HOW(.all_versions = true), NULL, NULL, &m));
  assert_ok(nay_sst_scan_first(m));
  assert_ok(nay_sst_scan_entry(m, &got));
  assert_true(got.type == NAY_SST_MERGE && got.sequence == 7);
  nay_sst_scan_free(m);
  nay_sst_value_free(&value);
  nay_sst_lookup_free(l);
  nay_sst_free(t);
  unlink(path);
}

static void keys_are_joined(void **unused) {
  (void)unused;
  uint8_t key[16];
  nay_sst_entry v = {sizeof v, "abc", 3, 0x123456789abcdeu, NAY_SST_PUT, 0},
                back = {.size = sizeof back};
  assert_ok(nay_sst_key_join(&v, key, sizeof key, NULL));
  assert_ok(nay_sst_key_split(key, 11, &back));
  assert_int_equal(back.len, 3);
  assert_int_equal(back.sequence, v.sequence);
  assert_int_equal(back.type, NAY_SST_PUT);
  v.type = NAY_SST_DELETE;
  assert_ok(nay_sst_key_join(&v, key, sizeof key, NULL));
  assert_int_equal(key[3], 0);
  v.type = NAY_SST_MERGE;
  assert_ok(nay_sst_key_join(&v, key, sizeof key, NULL));
  assert_ok(nay_sst_key_split(key, 11, &back));
  assert_int_equal(back.type, NAY_SST_MERGE);
  v.type = (nay_sst_entry_type)3;
  assert_status(nay_sst_key_join(&v, key, sizeof key, NULL), NAY_EINVAL);
  v.type = NAY_SST_PUT;
  v.sequence = 1ull << 56;
  assert_status(nay_sst_key_join(&v, key, sizeof key, NULL), NAY_EINVAL);
  assert_status(nay_sst_key_join(NULL, key, sizeof key, NULL), NAY_EINVAL);
}

int main(void) {
  const test_case tests[] = {
      TEST(damage_is_never_a_shorter_scan),
      TEST(only_what_is_needed_is_read),
      TEST(prefix_filters_leave_tables_out),
      TEST(equal_keys_may_differ),
      TEST(every_allocation_may_fail),
      TEST(nonsense_is_refused),
      TEST(kinds_of_keys_do_not_mix),
      TEST(sources_that_fail),
      TEST(empty_tables_have_a_kind_of_keys),
      TEST(operands_are_not_passed_over),
      TEST(keys_are_joined),
  };
  return run_all(tests);
}
