/* test_sst.c - tables: the writer's grammar, every kind of filter, every kind of key.
 */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include "nay_sst_cache.h"
#include "support/sst_calls.h"
#include "support/sst_numbers.h"

#define N_KEYS 20000

/* ---- the writer ---- */

static void keys_must_ascend(void **unused) {
  (void)unused;
  char path[TEMP_MAX];
  nay_sst_writer *w;
  nay_sst_value v = {.size = sizeof v};
  assert_ok(nay_sst_writer_new(temp_path(path, "order.ldb"), NULL, NULL, NULL, &w));
  assert_ok(nay_sst_writer_add(w, "b", 1, "1", 1, NULL));
  assert_status(nay_sst_writer_add(w, "b", 1, "2", 1, NULL), NAY_EINVAL);
  assert_status(nay_sst_writer_add(w, "a", 1, "2", 1, NULL), NAY_EINVAL);
  assert_status(nay_sst_writer_add(w, "", 0, "2", 1, NULL), NAY_EINVAL);
  assert_status(nay_sst_writer_add(w, NULL, 1, "2", 1, NULL), NAY_EINVAL);
  assert_status(nay_sst_writer_add(w, "c", 1, NULL, 1, NULL), NAY_EINVAL);
  assert_status(nay_sst_writer_add(w, "c", (size_t)1 << 30, "", 0, NULL), NAY_EINVAL);
  assert_ok(nay_sst_writer_add(w, "b\0", 2, "3", 1, NULL));
  assert_ok(nay_sst_writer_add(w, "\xff", 1, NULL, 0, NULL));
  assert_int_equal(nay_sst__writer_count(w), 3);
  assert_ok(nay_sst_writer_finish(w, NULL));
  assert_status(nay_sst_writer_add(w, "\xff\xff", 2, "", 0, NULL), NAY_EINVAL);
  assert_status(nay_sst_writer_finish(w, NULL), NAY_EINVAL);
  nay_sst_writer_free(w);
  nay_sst *t = open_table(path, NULL);
  assert_ok(nay_sst_get(t, "b", 1, NAY_SST_NEWEST, NULL, &v));
  assert_memory_equal(v.bytes, "1", 1);
  assert_ok(nay_sst_get(t, "\xff", 1, NAY_SST_NEWEST, NULL, &v));
  assert_int_equal(v.len, 0);
  assert_status(nay_sst_get(t, "a", 1, NAY_SST_NEWEST, NULL, &v), NAY_ENOENT);
  nay_sst_value_free(&v);
  nay_sst_free(t);
  unlink(path);
}

/* A diag is filled on failure alone; what it said before stays. */
static void success_leaves_the_diag_alone(void **unused) {
  (void)unused;
  char path[TEMP_MAX];
  nay_sst_writer *w;
  nay_sst *t;
  nay_diag diag = {.what = "before", .offset = 7};
  temp_path(path, "diag.ldb");
  assert_ok(nay_sst_writer_new(path, NULL, NULL, &diag, &w));
  assert_ok(nay_sst_writer_add(w, "k", 1, "v", 1, NULL));
  assert_ok(nay_sst_writer_finish(w, &diag));
  nay_sst_writer_free(w);
  assert_ok(nay_sst_open(path, NULL, NULL, &diag, &t));
  nay_sst_free(t);
  assert_non_null(diag.what);
  assert_string_equal(diag.what, "before");
  assert_int_equal(diag.offset, 7);
  assert_status(nay_sst_writer_new("no/such/directory", NULL, NULL, &diag, &w), NAY_EIO);
  assert_string_not_equal(diag.what, "before");
  assert_true(diag.os_error != 0);
  unlink(path);
}

static void finish_replaces_or_nothing_does(void **unused) {
  (void)unused;
  char path[TEMP_MAX];
  struct stat st;
  nay_sst_writer *w;
  temp_path(path, "atomic.ldb");
  assert_ok(nay_sst_writer_new(path, NULL, NULL, NULL, &w));
  assert_ok(nay_sst_writer_add(w, "a", 1, "", 0, NULL));
  assert_int_equal(stat(path, &st), -1); /* nothing there before finish, */
  nay_sst_writer_free(w);
  assert_int_equal(stat(path, &st), -1); /* nor after it was given up */
  write_even(path, NULL, 10);
  assert_ok(nay_sst_writer_new(path, NULL, NULL, NULL, &w));
  assert_ok(nay_sst_writer_add(w, "a", 1, "", 0, NULL));
  nay_sst *t = open_table(path, NULL); /* the old one is whole while the new one is written */
  ask_all(t, 10);
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  ask_all(t, 10); /* a table that is open keeps its file */
  nay_sst_free(t);
  t = open_table(path, NULL);
  assert_int_equal(info_of(t).nblocks, 1);
  assert_true(nay_sst_may_contain(t, "a", 1));
  nay_sst_free(t);
  unlink(path);
}

/* The disk is full, as far as this process is concerned: an error that says so, the old file stays.
 */
static void no_room_on_disk(void **unused) {
  (void)unused;
  char path[TEMP_MAX], key[32];
  nay_sst_writer *w;
  nay_diag diag = {.what = NULL};
  struct rlimit old, little = {.rlim_cur = 100000};
  static char value[1000];
  write_even(temp_path(path, "full.ldb"), NULL, 10);
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
  little.rlim_max = old.rlim_max;
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
  assert_ok(nay_sst_writer_new(path, NULL, NULL, NULL, &w));
  nay_status status = NAY_OK;
  for (unsigned i = 0; i < 300 && status == NAY_OK; i++) {
    status = nay_sst_writer_add(w, key, number_key(i, key), value, sizeof value, NULL);
  }
  assert_status(status, NAY_EIO);
  assert_status(nay_sst_writer_add(w, "z", 1, "", 0, NULL), NAY_EIO);
  assert_status(nay_sst_writer_finish(w, &diag), NAY_EIO);
  assert_int_equal(diag.os_error, EFBIG);
  assert_non_null(diag.what);
  nay_sst_writer_free(w);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
  signal(SIGXFSZ, handler);
  nay_sst *t = open_table(path, NULL);
  ask_all(t, 10);
  nay_sst_free(t);
  unlink(path);
}

/* Params that no filter can be made of are refused with the reason that nay_params_plan gives. */
static void refused_params_are_named(void) {
  const nay_params bad[] = {
      {sizeof(nay_params), .fpr = 2},
      {sizeof(nay_params), .bits_per_key = 5000},
      {sizeof(nay_params), .fpr = 0.1, .bits_per_key = 8},
      {sizeof(nay_params), .kind = NAY_BLOOM, .bits_per_key = 10, .k = 65},
      {sizeof(nay_params), .kind = NAY_SCALABLE, .fpr = 1e-7},
      {sizeof(nay_params), .kind = NAY_FUSE, .fpr = 1e-30},
      {sizeof(nay_params), .kind = NAY_BLOCKED, .fpr = 0.1, .tag_bits = 8},
      {sizeof(nay_params), .kind = NAY_BLOCKED, .fpr = 0.1, .threads = 257},
      {sizeof(nay_params), .kind = (nay_kind)99, .fpr = 0.1},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    nay_diag wanted = {.what = NULL}, diag = {.what = NULL};
    nay_sst_write_options how = {sizeof how, .filter = NAY_SST_FULL_FILTER, .params = &bad[i]};
    nay_params one = bad[i];
    nay_plan plan = {.size = sizeof plan};
    nay_sst_writer *w;
    one.nkeys = 1;
    if (one.kind == NAY_AUTO) one.kind = NAY_BLOCKED;
    assert_status(nay_params_plan(&one, &wanted, &plan), NAY_EINVAL);
    assert_status(nay_sst_writer_new("never", &how, NULL, &diag, &w), NAY_EINVAL);
    assert_string_equal(diag.what, wanted.what);
  }
}

static void refused_options(void **unused) {
  (void)unused;
  nay_sst_writer *w;
  nay_sst *t;
  nay_policy nameless = {.size = sizeof nameless};
  nay_sst_prefix no_call = {sizeof no_call, .name = "x"};
  nay_sst_codec zero = {.size = sizeof zero};
  const nay_sst_write_options bad[] = {
      {sizeof(nay_sst_write_options), .keys = (nay_sst_keys)3},
      {sizeof(nay_sst_write_options), .filter = (nay_sst_filter_layout)4},
      {sizeof(nay_sst_write_options), .filter = NAY_SST_BLOCK_FILTER},
      {sizeof(nay_sst_write_options), .filter = NAY_SST_FULL_FILTER, .policy = &nameless},
      {sizeof(nay_sst_write_options), .prefix = &no_call},
      {sizeof(nay_sst_write_options), .codec = &zero},
      {sizeof(nay_sst_write_options), .block_bytes = UINT32_MAX},
      {.size = sizeof(nay_sst_write_options),
       .filter = NAY_SST_FULL_FILTER,
       .params = &(nay_params){sizeof(nay_params), .fpr = 2}},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    nay_diag diag = {.what = NULL};
    assert_status(nay_sst_writer_new("never", &bad[i], NULL, &diag, &w), NAY_EINVAL);
    assert_non_null(diag.what);
  }
  refused_params_are_named();
  nay_sst_read_options flags = {sizeof flags, .flags = 0x80},
                       nothing = {sizeof nothing, .npolicies = 1};
  assert_status(nay_sst_view("", 0, &flags, NULL, NULL, &t), NAY_EINVAL);
  assert_status(nay_sst_view("", 0, &nothing, NULL, NULL, &t), NAY_EINVAL);
  assert_status(nay_sst_view("", 0, NULL, NULL, NULL, &t), NAY_EFORMAT);
  assert_status(nay_sst_open("/does/not/exist", NULL, NULL, NULL, &t), NAY_EIO);
  assert_status(nay_sst_writer_new("/does/not/exist", NULL, NULL, NULL, &w), NAY_EIO);
}

static void odd_sizes(void **unused) {
  (void)unused;
  char path[TEMP_MAX];
  size_t long_len = 100000, value_len = 3000000;
  char *long_key = malloc(long_len + 1), *value = malloc(value_len);
  nay_sst_writer *w;
  nay_sst_value v = {.size = sizeof v};
  assert_true(long_key != NULL && value != NULL);
  memset(long_key, 'x', long_len + 1);
  memset(value, 'v', value_len);
  nay_sst_write_options how = {sizeof how, .filter = NAY_SST_FULL_FILTER};
  assert_ok(nay_sst_writer_new(temp_path(path, "odd.ldb"), &how, NULL, NULL, &w));
  assert_ok(nay_sst_writer_add(w, NULL, 0, "empty", 5, NULL));
  assert_ok(nay_sst_writer_add(w, "a", 1, value, value_len, NULL));
  assert_ok(nay_sst_writer_add(w, long_key, long_len, "1", 1, NULL));
  assert_ok(nay_sst_writer_add(w, long_key, long_len + 1, value, value_len, NULL));
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  for (unsigned flags = 0; flags <= NAY_SST_PREAD; flags++) {
    nay_sst *t =
        open_table(path, &(nay_sst_read_options){sizeof(nay_sst_read_options), .flags = flags});
    assert_ok(nay_sst_get(t, NULL, 0, NAY_SST_NEWEST, NULL, &v));
    assert_memory_equal(v.bytes, "empty", 5);
    assert_ok(nay_sst_get(t, "a", 1, NAY_SST_NEWEST, NULL, &v));
    assert_int_equal(v.len, value_len);
    assert_memory_equal(v.bytes, value, value_len);
    assert_ok(nay_sst_get(t, long_key, long_len, NAY_SST_NEWEST, NULL, &v));
    assert_int_equal(v.len, 1);
    assert_ok(nay_sst_get(t, long_key, long_len + 1, NAY_SST_NEWEST, NULL, &v));
    assert_int_equal(v.len, value_len);
    nay_sst_value_free(&v);
    nay_sst_free(t);
  }
  free(long_key);
  free(value);
  unlink(path);
}

/* ---- filters ---- */

typedef struct filter_case {
  const char *name;
  nay_sst_filter_layout filter;
  nay_params params;
  bool policy;
  unsigned n; /* keys */
} filter_case;

static const filter_case filter_cases[] = {
    {"full blocked", NAY_SST_FULL_FILTER, {.kind = NAY_BLOCKED}, false, N_KEYS},
    {"full bloom", NAY_SST_FULL_FILTER, {.kind = NAY_BLOOM, .fpr = 0.01}, false, N_KEYS},
    {"full ribbon", NAY_SST_FULL_FILTER, {.kind = NAY_RIBBON, .fpr = 0.01}, false, N_KEYS},
    {"full fuse", NAY_SST_FULL_FILTER, {.kind = NAY_FUSE, .fpr = 0.004}, false, N_KEYS},
    {"full cuckoo", NAY_SST_FULL_FILTER, {.kind = NAY_CUCKOO, .fpr = 0.01}, false, N_KEYS},
    {"full, a user's policy", NAY_SST_FULL_FILTER, {.kind = NAY_AUTO}, true, 300},
    {"partitioned blocked", NAY_SST_PARTITIONED_FILTER, {.kind = NAY_BLOCKED}, false, N_KEYS},
    {"partitioned ribbon",
     NAY_SST_PARTITIONED_FILTER,
     {.kind = NAY_RIBBON, .fpr = 0.01},
     false,
     N_KEYS},
    {"partitioned, a user's policy", NAY_SST_PARTITIONED_FILTER, {.kind = NAY_AUTO}, true, 3000},
    {"blocks, a user's policy", NAY_SST_BLOCK_FILTER, {.kind = NAY_AUTO}, true, N_KEYS},
};

/* Whatever the filter, and however it is read: right answers, and counters that add up. */
static void filters(void **state) {
  const filter_case *c = *state;
  char path[TEMP_MAX];
  const nay_policy *policies[] = {&exact};
  nay_sst_cache *cache;
  nay_params params = c->params;
  params.size = sizeof params;
  nay_sst_write_options how = {.size = sizeof how,
                               .filter = c->filter,
                               .params = &params,
                               .policy = c->policy ? &exact : NULL,
                               .partition_keys = 200};
  write_even(temp_path(path, "filters.ldb"), &how, c->n);
  assert_ok(nay_sst_cache_new(
      &(nay_sst_cache_options){sizeof(nay_sst_cache_options), 1 << 20, 1 << 20, false}, NULL, NULL,
      &cache));
  for (unsigned mode = 0; mode < 4; mode++) {
    nay_sst_read_options read = {.size = sizeof read,
                                 .policies = policies,
                                 .npolicies = 1,
                                 .flags = mode & 1 ? NAY_SST_PREAD : 0,
                                 .cache = mode & 2 ? cache : NULL};
    nay_sst *t = open_table(path, &read);
    assert_true(info_of(t).filter_used);
    assert_int_equal(info_of(t).filter, c->filter);
    assert_string_equal(info_of(t).policy, c->policy ? "test.exact" : "nay.filter.v1");
    assert_int_equal(table_filter(t) != NULL, c->filter == NAY_SST_FULL_FILTER && !c->policy);
    ask_all(t, c->n);
    nay_sst_counters s = counters_of(t);
    assert_int_equal(s.gets, 2 * c->n - 1);
    assert_int_equal(s.filter_checks, 2 * c->n - 1);
    assert_int_equal(s.filter_useful + s.filter_false_positives, c->n - 1);
    assert_true(s.filter_false_positives <= c->n / 50);
    if (c->policy) assert_int_equal(s.filter_false_positives, 0);
    assert_int_equal(s.block_reads, c->n + s.filter_false_positives);
    assert_int_equal(s.hashes, c->policy ? 0 : 2 * c->n - 1);
    assert_int_equal(s.filter_faults, 0);
    if (mode == 3) assert_true(s.cache_hits > s.block_reads / 2);
    nay_sst_free(t);
  }
  nay_sst_cache_free(cache);
  unlink(path);
}

static void unknown_policies_are_left_alone(void **unused) {
  (void)unused;
  char path[TEMP_MAX];
  temp_path(path, "unknown.ldb");
  for (int kind = NAY_SST_BLOCK_FILTER; kind <= NAY_SST_PARTITIONED_FILTER; kind++) {
    nay_sst_write_options how = {sizeof how, .filter = (nay_sst_filter_layout)kind,
                                 .policy = &exact};
    write_even(path, &how, 300);
    nay_sst *t = open_table(path, NULL);
    assert_false(info_of(t).filter_used);
    assert_string_equal(info_of(t).policy, "test.exact");
    ask_all(t, 300);
    assert_int_equal(counters_of(t).filter_checks, 0);
    assert_int_equal(counters_of(t).filter_faults, 0);
    assert_int_equal(counters_of(t).block_reads, 599);
    nay_sst_free(t);
  }
  nay_sst_write_options full = {sizeof full, .filter = NAY_SST_FULL_FILTER};
  write_even(path, &full, 300);
  nay_sst *t = open_table(
      path, &(nay_sst_read_options){sizeof(nay_sst_read_options), .flags = NAY_SST_NO_FILTERS});
  ask_all(t, 300);
  assert_int_equal(counters_of(t).filter_checks, 0);
  nay_sst_free(t);
  unlink(path);
}

static void keyed_filters(void **unused) {
  (void)unused;
  char path[TEMP_MAX];
  const uint8_t key[16] = {1, 2, 3};
  nay_sst_write_options how = {
      .size = sizeof how,
      .partition_keys = 100,
      .params = &(nay_params){sizeof(nay_params), .hash = NAY_HASH_SIPHASH, .key = {1, 2, 3}}};
  temp_path(path, "keyed.ldb");
  for (int kind = NAY_SST_FULL_FILTER; kind <= NAY_SST_PARTITIONED_FILTER; kind++) {
    how.filter = (nay_sst_filter_layout)kind;
    write_even(path, &how, 1000);
    for (int with = 0; with < 2; with++) {
      nay_sst *t = open_table(path, &(nay_sst_read_options){.size = sizeof(nay_sst_read_options),
                                                            .hash_key = with ? key : NULL});
      ask_all(t, 1000);
      assert_int_equal(counters_of(t).filter_useful > 900, with);
      assert_int_equal(counters_of(t).hashes, with ? 1999 : 0);
      nay_sst_free(t);
    }
  }
  unlink(path);
}

static void no_keys_no_filter(void **unused) {
  (void)unused;
  char path[TEMP_MAX];
  nay_sst_value v = {.size = sizeof v};
  nay_sst_prefix prefix = {.size = sizeof prefix};
  assert_ok(nay_sst_prefix_find("nay.fixed.2", &prefix));
  temp_path(path, "empty.ldb");
  for (int kind = NAY_SST_NO_FILTER; kind <= NAY_SST_PARTITIONED_FILTER; kind++) {
    nay_sst_write_options how = {.size = sizeof how,
                                 .filter = (nay_sst_filter_layout)kind,
                                 .policy = kind == 1 ? &exact : NULL,
                                 .prefix = &prefix};
    write_even(path, &how, 0);
    nay_sst *t = open_table(path, NULL);
    nay_sst_iter *it;
    assert_int_equal(info_of(t).nblocks, 0);
    assert_null(info_of(t).smallest);
    assert_status(nay_sst_get(t, "a", 1, NAY_SST_NEWEST, NULL, &v), NAY_ENOENT);
    assert_status(nay_sst_get(t, "", 0, NAY_SST_NEWEST, NULL, &v), NAY_ENOENT);
    assert_false(nay_sst_may_contain(t, "a", 1));
    assert_ok(nay_sst_iter_new(t, NULL, &it));
    assert_status(nay_sst_iter_first(it), NAY_EEND);
    assert_status(nay_sst_iter_last(it), NAY_EEND);
    assert_status(nay_sst_iter_seek(it, "a", 1), NAY_EEND);
    assert_status(nay_sst_iter_seek_prefix(it, "a", 1), NAY_EEND);
    assert_false((nay_sst_iter_key(it, &(size_t){0}) != NULL));
    nay_sst_iter_free(it);
    nay_sst_free(t);
  }
  nay_sst_value_free(&v);
  unlink(path);
}

/* ---- kinds of keys ---- */

static void internal_tables(void **unused) {
  (void)unused;
  char path[TEMP_MAX], key[32];
  nay_sst_writer *w;
  nay_sst_value v = {.size = sizeof v};
  temp_path(path, "internal.ldb");
  for (int kind = NAY_SST_NO_FILTER; kind <= NAY_SST_PARTITIONED_FILTER; kind++) {
    const nay_policy *policies[] = {&exact};
    nay_sst_write_options how = {.size = sizeof how,
                                 .keys = NAY_SST_KEYS_INTERNAL,
                                 .block_bytes = 200,
                                 .filter = (nay_sst_filter_layout)kind,
                                 .partition_keys = 40,
                                 .policy = kind == NAY_SST_BLOCK_FILTER ? &exact : NULL};
    assert_ok(nay_sst_writer_new(path, &how, NULL, NULL, &w));
    for (unsigned i = 0; i < 1000; i += 2) {
      for (uint64_t sequence = 40; sequence >= 10; sequence -= 10) { /* newest first */
        nay_sst_entry version = {
            sizeof version, .key = key, .len = number_key(i, key), .sequence = sequence,
            .type = (i / 2 + sequence / 10) % 4 == 0 ? NAY_SST_DELETE : NAY_SST_PUT};
        assert_ok(nay_sst_writer_add_entry(w, &version, &sequence, 1, NULL));
      }
    }
    nay_sst_entry again = {sizeof again, .key = key, .len = number_key(998, key), .sequence = 10,
                           .type = NAY_SST_PUT};
    assert_status(nay_sst_writer_add_entry(w, &again, "", 0, NULL),
                  NAY_EINVAL); /* no newer, no older */
    assert_status(nay_sst_writer_add(w, "zzzzzzz", 7, "", 0, NULL), NAY_EINVAL); /* no trailer */
    assert_status(nay_sst_writer_add(w, "zz\3zzzzzzz", 10, "", 0, NULL), NAY_EINVAL);
    assert_ok(nay_sst_writer_finish(w, NULL));
    nay_sst_writer_free(w);
    nay_sst *t = open_table(
        path, &(nay_sst_read_options){
                  .size = sizeof(nay_sst_read_options), .policies = policies, .npolicies = 1});
    assert_int_equal(info_of(t).keys, NAY_SST_KEYS_INTERNAL);
    assert_int_equal(info_of(t).keys_guessed, kind < NAY_SST_FULL_FILTER);
    for (unsigned i = 0; i < 1000; i++) {
      size_t len = number_key(i, key);
      for (uint64_t at = 5; at <= 45; at += 10) {
        bool there = i % 2 == 0 && at >= 10, deleted = there && (i / 2 + at / 10) % 4 == 0;
        nay_status want = there && !deleted ? NAY_OK : NAY_ENOENT;
        assert_status(nay_sst_get(t, key, len, at, NULL, &v), want);
        assert_int_equal(v.deleted, deleted);
        if (!there) continue;
        assert_int_equal(v.sequence, at / 10 * 10);
        assert_int_equal(*(const uint8_t *)v.bytes, v.sequence);
      }
    }
    nay_sst_free(t);
  }
  nay_sst_value_free(&v);
  unlink(path);
}

int main(void) {
  const test_case tests[] = {
      TEST(keys_must_ascend),
      TEST(success_leaves_the_diag_alone),
      TEST(finish_replaces_or_nothing_does),
      TEST(no_room_on_disk),
      TEST(refused_options),
      TEST(odd_sizes),
      TEST(unknown_policies_are_left_alone),
      TEST(keyed_filters),
      TEST(no_keys_no_filter),
      TEST(internal_tables),
      TEST_WITH("filters full blocked", filters, &filter_cases[0]),
      TEST_WITH("filters full bloom", filters, &filter_cases[1]),
      TEST_WITH("filters full ribbon", filters, &filter_cases[2]),
      TEST_WITH("filters full fuse", filters, &filter_cases[3]),
      TEST_WITH("filters full cuckoo", filters, &filter_cases[4]),
      TEST_WITH("filters full user", filters, &filter_cases[5]),
      TEST_WITH("filters partitioned blocked", filters, &filter_cases[6]),
      TEST_WITH("filters partitioned ribbon", filters, &filter_cases[7]),
      TEST_WITH("filters partitioned user", filters, &filter_cases[8]),
      TEST_WITH("filters blocks user", filters, &filter_cases[9]),
  };
  return run_all(tests);
}
