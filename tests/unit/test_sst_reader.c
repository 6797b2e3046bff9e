/* test_sst_reader.c - cache, prefixes and scans, lookup over many tables, memory that runs out. */
#include "nay_sst_cache.h"
#include "nay_sst_lookup.h"
#include "support/flaky.h"
#include "support/sst_numbers.h"

#define N_KEYS 20000

/* ---- partitions and the cache ---- */

static void partitions_come_on_demand(void **flags) {
  char path[TEMP_MAX], key[32];
  nay_sst_cache *cache;
  nay_sst_cache_info stats = {.size = sizeof stats};
  nay_sst_value v = {.size = sizeof v};
  nay_sst_write_options how = {
      .size = sizeof how, .filter = NAY_SST_PARTITIONED_FILTER, .partition_keys = 500};
  write_even(temp_path(path, "parts.ldb"), &how, N_KEYS);
  assert_ok(nay_sst_cache_new(
      &(nay_sst_cache_options){sizeof(nay_sst_cache_options), 1 << 20, 1 << 20, false}, NULL, NULL,
      &cache));
  nay_sst *t = open_table(path, &(nay_sst_read_options){.size = sizeof(nay_sst_read_options),
                                                        .cache = cache,
                                                        .flags = *(const unsigned *)*flags});
  uint64_t nparts = info_of(t).npartitions;
  assert_true(nparts >= N_KEYS / 1000 && nparts <= N_KEYS / 500 + 1);
  assert_int_equal(counters_of(t).filter_loads, 0); /* opening reads none */
  for (int i = 0; i < 100; i++)
    nay_sst_get(t, key, number_key(1001, key), NAY_SST_NEWEST, NULL, &v);
  assert_int_equal(counters_of(t).filter_loads, 1);
  ask_all(t, N_KEYS);
  assert_int_equal(counters_of(t).filter_loads, nparts);
  nay_sst_cache_stats(cache, &stats);
  assert_int_equal(stats.filter.entries, nparts);
  /* data blocks are cached only where they are not in place, and nothing else is among them */
  assert_int_equal(stats.data.entries, *(const unsigned *)*flags == 0 ? 0 : info_of(t).nblocks);
  assert_true(stats.filter.bytes > info_of(t).filter_bytes / 2);
  nay_sst_value_free(&v);
  nay_sst_free(t);
  nay_sst_cache_free(cache);
  unlink(path);
}

/* Without a cache a table keeps its last partitions itself: each is loaded once. One that is larger
 * than all that is kept otherwise is kept as well. */
static void partitions_are_kept_without_a_cache(void **flags) {
  char path[TEMP_MAX];
  const struct {
    unsigned keys;
    double bits;
    const nay_policy *policy;
  } kinds[] = {{500, 10, NULL}, {500, 10, &exact}, {N_KEYS, 2000, NULL}};
  const nay_policy *policies[] = {&exact};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    nay_params params = {sizeof params, .kind = NAY_BLOOM, .bits_per_key = kinds[i].bits};
    if (kinds[i].bits > 1000) params.kind = NAY_BLOCKED;
    nay_sst_write_options how = {.size = sizeof how,
                                 .filter = NAY_SST_PARTITIONED_FILTER,
                                 .partition_keys = kinds[i].keys,
                                 .policy = kinds[i].policy,
                                 .params = &params};
    write_even(temp_path(path, "kept.ldb"), &how, N_KEYS);
    nay_sst *t = open_table(path, &(nay_sst_read_options){.size = sizeof(nay_sst_read_options),
                                                          .flags = *(const unsigned *)*flags,
                                                          .policies = policies,
                                                          .npolicies = 1});
    uint64_t nparts = info_of(t).npartitions;
    ask_all(t, N_KEYS);
    ask_all(t, N_KEYS);
    assert_int_equal(counters_of(t).filter_loads, nparts);
    assert_int_equal(counters_of(t).filter_faults, 0);
    assert_true(counters_of(t).filter_useful > N_KEYS);
    nay_sst_free(t);
    unlink(path);
  }
}

/* Two tables in one cache; each kind of entry stays in its own budget. */
static void budgets_are_apart(void **unused) {
  (void)unused;
  char path[TEMP_MAX];
  nay_sst_cache *cache;
  nay_sst_cache_info stats = {.size = sizeof stats};
  const size_t data = 100000, filter = 8000;
  nay_sst_write_options how = {.size = sizeof how,
                               .filter = NAY_SST_PARTITIONED_FILTER,
                               .partition_keys = 500,
                               .codec = &snappy_codec};
  write_even(temp_path(path, "budget.ldb"), &how, N_KEYS);
  assert_ok(nay_sst_cache_new(
      &(nay_sst_cache_options){sizeof(nay_sst_cache_options), data, filter, false}, NULL, NULL,
      &cache));
  nay_sst_read_options read = {sizeof read, .cache = cache, .codecs = snappy_codecs, .ncodecs = 1};
  nay_sst *a = open_table(path, &read), *b = open_table(path, &read);
  for (int i = 0; i < 2; i++) {
    ask_all(a, N_KEYS);
    ask_all(b, N_KEYS);
    nay_sst_cache_stats(cache, &stats);
    assert_true(stats.data.bytes <= data && stats.data.bytes > data / 2);
    assert_true(stats.filter.bytes <= filter && stats.filter.bytes > filter / 2);
    assert_true(stats.data.evictions > 0 && stats.filter.evictions > 0);
    assert_true(stats.data.hits > stats.data.misses); /* neighbours are in one block */
  }
  nay_sst_free(a);
  nay_sst_free(b);
  nay_sst_cache_free(cache);
  unlink(path);
}

/* ---- prefixes ---- */

static bool scan_is(nay_sst_iter *it, const sample *s, size_t from, size_t to) {
  nay_status status = (nay_sst_iter_key(it, &(size_t){0}) != NULL) ? NAY_OK : NAY_EEND;
  for (size_t i = from; i < to; i++, status = nay_sst_iter_next(it)) {
    if (status != NAY_OK) return false;
    sample_assert_entry(it, &s->entries[i]);
  }
  return status == NAY_EEND;
}

static bool starts_with(const sample_entry *e, const uint8_t *prefix, size_t len) {
  return e->len >= len && (len == 0 || memcmp(e->key, prefix, len) == 0);
}

static size_t after_prefix(const sample *s, size_t from, const uint8_t *prefix, size_t len) {
  while (from < s->n && starts_with(&s->entries[from], prefix, len)) from++;
  return from;
}

/* Scans of prefixes and ranges are what a sorted list says, with any filter and with none. */
static void scans(void **state) {
  sample s;
  nay_sst_prefix prefix = {.size = sizeof prefix};
  size_t useful = 0;
  sample_init(&s, 500);
  assert_ok(nay_sst_prefix_find(*state, &prefix));
  for (uint64_t seed = 0; seed < TEST_SCALE(300); seed++) {
    sample_fill(&s, seed, 500);
    size_t len;
    nay_sst *t;
    nay_sst_iter *it;
    nay_sst_write_options how = {sizeof how, .prefix = &prefix, .block_bytes = 300};
    uint8_t *bytes = sample_bytes(&s, &how, &len);
    assert_ok(nay_sst_view(
        bytes, len,
        &(nay_sst_read_options){
            .size = sizeof(nay_sst_read_options), .prefix = &prefix, .keys = NAY_SST_KEYS_PLAIN},
        NULL, NULL, &t));
    assert_ok(nay_sst_iter_new(t, NULL, &it));
    for (int i = 0; i < 60; i++) {
      uint8_t a[SAMPLE_KEY_MAX], b[SAMPLE_KEY_MAX];
      size_t n = sample_key(&s, (unsigned)sample_draw(&s, 3), a);
      if (sample_draw(&s, 2) == 0) n = sample_draw(&s, n + 1);
      size_t m = sample_key(&s, (unsigned)sample_draw(&s, 3), b);
      if (sample_draw(&s, 2) == 0) { /* ranges whose ends are alike */
        memcpy(b, a, n);
        m = n;
        if (m != 0) b[sample_draw(&s, m)]++;
      }
      size_t from = sample_lower(&s, a, n), to = sample_lower(&s, b, m);
      (void)nay_sst_iter_seek_range(it, a, n, b, m);
      assert_true(scan_is(it, &s, from, to));
      (void)nay_sst_iter_seek_range(it, a, n, NULL, 0);
      assert_true(scan_is(it, &s, from, s.n));
      (void)nay_sst_iter_seek_prefix(it, a, n);
      assert_true(scan_is(it, &s, from, after_prefix(&s, from, a, n)));
    }
    useful += counters_of(t).prefix_useful;
    sample_check_gets(&s, t); /* a filter of prefixes alone serves gets as well */
    nay_sst_iter_free(it);
    nay_sst_free(t);
    free(bytes);
  }
  assert_true(useful > 0);
  sample_free(&s);
}

static void absent_prefixes_read_nothing(void **unused) {
  (void)unused;
  char path[TEMP_MAX], key[32];
  nay_sst_prefix fixed = {.size = sizeof fixed}, other = {.size = sizeof other};
  nay_sst_iter *it;
  assert_ok(nay_sst_prefix_find("nay.fixed.8", &fixed)); /* key00012: the last three digits vary */
  assert_ok(nay_sst_prefix_find("nay.fixed.7", &other));
  nay_sst_write_options how = {sizeof how, .filter = NAY_SST_FULL_FILTER, .prefix = &fixed};
  nay_sst_writer *w;
  assert_ok(nay_sst_writer_new(temp_path(path, "prefix.ldb"), &how, NULL, NULL, &w));
  for (unsigned i = 0; i < 100000; i++) {
    if (i / 1000 % 2 == 0) assert_ok(nay_sst_writer_add(w, key, number_key(i, key), "", 0, NULL));
  }
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  nay_sst *t =
      open_table(path, &(nay_sst_read_options){sizeof(nay_sst_read_options), .prefix = &fixed});
  assert_true(info_of(t).prefix_used && info_of(t).filter_used);
  assert_string_equal(info_of(t).prefix, "nay.fixed.8");
  assert_ok(nay_sst_iter_new(t, NULL, &it));
  for (unsigned i = 1; i < 98; i += 2) {
    number_key(i * 1000, key);
    assert_status(nay_sst_iter_seek_prefix(it, key, 8), NAY_EEND);
    assert_status(nay_sst_iter_seek_prefix(it, key, 9), NAY_EEND);
  }
  assert_int_equal(counters_of(t).prefix_checks, 98);
  assert_true(counters_of(t).prefix_useful >= 90);
  assert_true(counters_of(t).block_reads <= 8);
  nay_sst_iter_free(it);
  nay_sst_free(t);
  /* another extractor: the filter of prefixes is left alone, that of whole keys is not */
  t = open_table(path, &(nay_sst_read_options){sizeof(nay_sst_read_options), .prefix = &other});
  assert_false(info_of(t).prefix_used);
  assert_true(info_of(t).filter_used);
  assert_ok(nay_sst_iter_new(t, NULL, &it));
  number_key(1000, key);
  assert_status(nay_sst_iter_seek_prefix(it, key, 8), NAY_EEND);
  assert_ok(nay_sst_iter_seek_prefix(it, key, 7));
  assert_int_equal(counters_of(t).prefix_checks, 0);
  nay_sst_iter_free(it);
  nay_sst_free(t);
  unlink(path);
}

/* ---- lookup ---- */

static void newest_table_wins(void **unused) {
  (void)unused;
  enum { TABLES = 12 };
  char path[TEMP_MAX], key[32];
  nay_sst *t[TABLES];
  nay_sst_lookup *l;
  nay_sst_value v = {.size = sizeof v};
  nay_sst_counters c = {.size = sizeof c};
  temp_path(path, "many.ldb");
  for (unsigned i = 0; i < TABLES; i++) { /* table i: multiples of i + 2; the value says which */
    nay_sst_writer *w;
    nay_sst_write_options how = {
        .size = sizeof how,
        .filter = i % 3 == 2 ? NAY_SST_PARTITIONED_FILTER : NAY_SST_FULL_FILTER,
        .partition_keys = 300,
        .params = &(nay_params){.size = sizeof(nay_params),
                                .kind = i % 2 == 0 ? NAY_BLOCKED : NAY_RIBBON,
                                .bits_per_key = 12}};
    uint8_t value = (uint8_t)i;
    assert_ok(nay_sst_writer_new(path, &how, NULL, NULL, &w));
    for (unsigned n = 0; n < 20000; n += i + 2) {
      assert_ok(nay_sst_writer_add(w, key, number_key(n, key), &value, 1, NULL));
    }
    assert_ok(nay_sst_writer_finish(w, NULL));
    nay_sst_writer_free(w);
    t[i] = open_table(path, NULL);
  }
  unlink(path);
  assert_ok(nay_sst_lookup_new(&(nay_sst_lookup_level){sizeof(nay_sst_lookup_level),
                                                       (const nay_sst *const *)t, TABLES, false},
                               1, NULL, NULL, NULL, &l));
  uint64_t found = 0;
  for (unsigned n = 0; n < 20000; n++) {
    unsigned want = 0;
    size_t which = 99;
    while (want < TABLES && n % (want + 2) != 0) want++;
    nay_status status =
        nay_sst_lookup_get(l, key, number_key(n, key), NAY_SST_NEWEST, NULL, &v, &which);
    assert_status(status, want == TABLES ? NAY_ENOENT : NAY_OK);
    if (want == TABLES) continue;
    found++;
    assert_int_equal(which, want);
    assert_int_equal(*(const uint8_t *)v.bytes, want);
  }
  nay_sst_lookup_stats(l, &c);
  assert_int_equal(c.gets, 20000);
  assert_true(c.hashes <= 20000 && c.hashes > 19900); /* a key out of every range needs none */
  assert_int_equal(c.block_reads, found + c.filter_false_positives);
  assert_true(c.filter_false_positives < c.filter_checks / 50);
  nay_sst_lookup_free(l);
  for (unsigned i = 0; i < TABLES; i++) nay_sst_free(t[i]);
  nay_sst_value_free(&v);
}

static void deletions_hide_older_tables(void **unused) {
  (void)unused;
  char path[TEMP_MAX];
  nay_sst *t[2];
  nay_sst_lookup *l;
  nay_sst_value v = {.size = sizeof v};
  temp_path(path, "deleted.ldb");
  for (unsigned i = 0; i < 2; i++) { /* the first is the newest */
    nay_sst_writer *w;
    nay_sst_write_options how = {
        .size = sizeof how, .keys = NAY_SST_KEYS_INTERNAL, .filter = NAY_SST_FULL_FILTER};
    assert_ok(nay_sst_writer_new(path, &how, NULL, NULL, &w));
    assert_ok(nay_sst_writer_add_entry(
        w,
        &(nay_sst_entry){sizeof(nay_sst_entry), .key = "gone", .len = 4, .sequence = 20 - i,
                         .type = i == 0 ? NAY_SST_DELETE : NAY_SST_PUT},
        "x", 1, NULL));
    if (i == 1)
      assert_ok(
          nay_sst_writer_add_entry(w,
                                   &(nay_sst_entry){sizeof(nay_sst_entry), .key = "kept", .len = 4,
                                                    .sequence = 5, .type = NAY_SST_PUT},
                                   "y", 1, NULL));
    assert_ok(nay_sst_writer_finish(w, NULL));
    nay_sst_writer_free(w);
    t[i] = open_table(path, NULL);
  }
  unlink(path);
  assert_ok(nay_sst_lookup_new(
      &(nay_sst_lookup_level){sizeof(nay_sst_lookup_level), (const nay_sst *const *)t, 2, false}, 1,
      NULL, NULL, NULL, &l));
  assert_status(nay_sst_lookup_get(l, "gone", 4, NAY_SST_NEWEST, NULL, &v, NULL), NAY_ENOENT);
  assert_true(v.deleted);
  assert_ok(nay_sst_lookup_get(l, "kept", 4, NAY_SST_NEWEST, NULL, &v, NULL));
  assert_false(v.deleted);
  assert_status(nay_sst_lookup_get(l, "none", 4, NAY_SST_NEWEST, NULL, &v, NULL), NAY_ENOENT);
  assert_false(v.deleted);
  nay_sst_lookup_free(l);
  for (unsigned i = 0; i < 2; i++) nay_sst_free(t[i]);
  nay_sst_value_free(&v);
}

/* ---- what counts as a false positive ---- */

static bool sample_has_prefix(const sample *s, const uint8_t *key, size_t len) {
  size_t i = sample_lower(s, key, len);
  return i < s->n && starts_with(&s->entries[i], key, len);
}

/*
 * A prefix filter without whole keys: its maybe is a false positive only if no key has the
 * prefix, and right if one has, though not the key.
 */
static void false_positives_of_prefixes(void **unused) {
  (void)unused;
  enum { PREFIX = 4 };
  sample s;
  nay_sst_prefix prefix = {.size = sizeof prefix};
  uint64_t right = 0, wrong = 0;
  sample_init(&s, 400);
  assert_ok(nay_sst_prefix_find("nay.fixed.4", &prefix));
  for (uint64_t seed = 0; seed < TEST_SCALE(300); seed++) {
    size_t len;
    nay_sst *t;
    nay_sst_value v = {.size = sizeof v};
    sample_fill(&s, seed, 400);
    nay_sst_write_options how = {.size = sizeof how,
                                 .prefix = &prefix,
                                 .block_bytes = 200,
                                 .params = &(nay_params){sizeof(nay_params), .bits_per_key = 3}};
    uint8_t *bytes = sample_bytes(&s, &how, &len);
    nay_sst_read_options read = {sizeof read, .prefix = &prefix, .keys = NAY_SST_KEYS_PLAIN};
    assert_ok(nay_sst_view(bytes, len, &read, NULL, NULL, &t));
    uint64_t want = 0;
    for (int i = 0; i < 200; i++) {
      uint8_t key[SAMPLE_KEY_MAX];
      size_t n = sample_key(&s, (unsigned)sample_draw(&s, 3), key), at = sample_lower(&s, key, n);
      nay_sst_counters before = counters_of(t);
      nay_status status = nay_sst_get(t, key, n, NAY_SST_NEWEST, NULL, &v);
      nay_sst_counters after = counters_of(t);
      if (at < s.n && s.entries[at].len == n && memcmp(s.entries[at].key, key, n) == 0) {
        assert_ok(status);
        continue;
      }
      assert_status(status, NAY_ENOENT);
      bool maybe = after.filter_checks != before.filter_checks &&
                   after.filter_useful == before.filter_useful;
      if (!maybe) continue;
      bool there = sample_has_prefix(&s, key, PREFIX);
      want += !there;
      *(there ? &right : &wrong) += 1;
    }
    assert_int_equal(counters_of(t).filter_false_positives, want);
    nay_sst_value_free(&v);
    nay_sst_free(t);
    free(bytes);
  }
  assert_true(right > 100 && wrong > 100);
  sample_free(&s);
}

/* ---- memory ---- */

static nay_status write_flaky(const char *path, const nay_sst_write_options *how,
                              const nay_allocator *a) {
  nay_sst_writer *w;
  char key[32];
  nay_status status = nay_sst_writer_new(path, how, a, NULL, &w);
  if (status != NAY_OK) return status;
  for (unsigned i = 0; i < 300 && status == NAY_OK; i++) {
    status = nay_sst_writer_add(w, key, number_key(2 * i, key), "value", 5, NULL);
  }
  if (status == NAY_OK) status = nay_sst_writer_finish(w, NULL);
  nay_sst_writer_free(w);
  return status;
}

/* Opens, gets, walks, looks up; no answer may be wrong, only missing for lack of memory. */
static nay_status read_flaky(const char *path, const nay_sst_read_options *how,
                             const nay_allocator *a) {
  nay_sst *t;
  nay_sst_iter *it = NULL;
  nay_sst_lookup *l = NULL;
  nay_sst_value v = {.size = sizeof v};
  char key[32];
  nay_status status = nay_sst_open(path, how, a, NULL, &t);
  if (status != NAY_OK) return status;
  for (unsigned i = 0; i < 600 && status != NAY_ENOMEM; i += 29) {
    status = nay_sst_get(t, key, number_key(i, key), NAY_SST_NEWEST, NULL, &v);
    if (status != NAY_ENOMEM) assert_status(status, i % 2 == 0 ? NAY_OK : NAY_ENOENT);
  }
  if (status != NAY_ENOMEM) status = nay_sst_iter_new(t, NULL, &it);
  if (status == NAY_OK) status = nay_sst_iter_seek_prefix(it, "key000001", 9);
  while (status == NAY_OK) status = nay_sst_iter_next(it);
  if (status == NAY_EEND)
    status = nay_sst_lookup_new(&(nay_sst_lookup_level){sizeof(nay_sst_lookup_level),
                                                        (const nay_sst *const[]){t}, 1, false},
                                1, NULL, a, NULL, &l);
  if (status == NAY_OK)
    status = nay_sst_lookup_get(l, "key00000002", 11, NAY_SST_NEWEST, NULL, &v, NULL);
  nay_sst_lookup_free(l);
  nay_sst_iter_free(it);
  nay_sst_value_free(&v);
  nay_sst_free(t);
  return status;
}

static void every_allocation_may_fail(void **unused) {
  (void)unused;
  char path[TEMP_MAX];
  nay_sst_prefix prefix = {.size = sizeof prefix};
  const nay_policy *policies[] = {&exact};
  assert_ok(nay_sst_prefix_find("nay.fixed.9", &prefix));
  temp_path(path, "memory.ldb");
  for (int kind = NAY_SST_NO_FILTER; kind <= NAY_SST_PARTITIONED_FILTER; kind++) {
    nay_sst_write_options how = {.size = sizeof how,
                                 .filter = (nay_sst_filter_layout)kind,
                                 .policy = kind == NAY_SST_BLOCK_FILTER ? &exact : NULL,
                                 .partition_keys = 40,
                                 .block_bytes = 200,
                                 .codec = &snappy_codec,
                                 .prefix = &prefix};
    nay_status status = NAY_ENOMEM;
    for (long i = 0; status == NAY_ENOMEM; i++) {
      flaky heap = {.fail_at = i};
      nay_allocator a = flaky_allocator(&heap);
      status = write_flaky(path, &how, &a);
      assert_true(status == NAY_OK || status == NAY_ENOMEM);
      assert_true(flaky_is_clean(&heap));
      assert_true(i < 100000);
    }
    for (unsigned mode = 0; mode < 4; mode++) {
      status = NAY_ENOMEM;
      for (long i = 0, calls = 100000; i < calls; i++) {
        flaky heap = {.fail_at = i};
        nay_allocator a = flaky_allocator(&heap);
        nay_sst_cache *cache = NULL;
        if ((mode & 2) != 0 &&
            nay_sst_cache_new(
                &(nay_sst_cache_options){sizeof(nay_sst_cache_options), 2000, 2000, false}, &a,
                NULL, &cache) != NAY_OK)
          continue;
        nay_sst_read_options read = {.size = sizeof read,
                                     .codecs = snappy_codecs,
                                     .ncodecs = 1,
                                     .policies = policies,
                                     .npolicies = 1,
                                     .prefix = &prefix,
                                     .cache = cache,
                                     .flags = mode & 1 ? NAY_SST_PREAD : 0};
        status = read_flaky(path, &read, &a);
        nay_sst_cache_free(cache);
        assert_true(status == NAY_OK || status == NAY_ENOMEM);
        assert_true(flaky_is_clean(&heap));
        if (heap.calls <= i) calls = i; /* none was left to fail */
      }
      assert_ok(status);
    }
  }
  unlink(path);
}

/* In steady state a get allocates nothing, whatever the blocks are. */
static void gets_do_not_allocate(void **unused) {
  (void)unused;
  char path[TEMP_MAX], key[32];
  flaky heap = {.fail_at = -1};
  nay_allocator a = flaky_allocator(&heap);
  nay_sst_write_options how = {sizeof how, .filter = NAY_SST_FULL_FILTER, .codec = &snappy_codec};
  write_even(temp_path(path, "steady.ldb"), &how, N_KEYS);
  nay_sst_read_options read = {
      .size = sizeof read, .codecs = snappy_codecs, .ncodecs = 1, .flags = NAY_SST_PREAD};
  nay_sst *t;
  nay_sst_value v = {.size = sizeof v};
  assert_ok(nay_sst_open(path, &read, &a, NULL, &t));
  for (unsigned i = 0; i < 2 * N_KEYS; i += 7)
    nay_sst_get(t, key, number_key(i, key), NAY_SST_NEWEST, NULL, &v);
  long calls = heap.calls;
  for (unsigned i = 0; i < 2 * N_KEYS; i += 3)
    nay_sst_get(t, key, number_key(i, key), NAY_SST_NEWEST, NULL, &v);
  assert_int_equal(heap.calls, calls);
  nay_sst_value_free(&v);
  nay_sst_free(t);
  assert_true(flaky_is_clean(&heap));
  unlink(path);
}

int main(void) {
  static const unsigned mapped = 0, pread = NAY_SST_PREAD;
  const test_case tests[] = {
      TEST_WITH("partitions_come_on_demand mapped", partitions_come_on_demand, &mapped),
      TEST_WITH("partitions_come_on_demand pread", partitions_come_on_demand, &pread),
      TEST_WITH("partitions_are_kept_without_a_cache mapped", partitions_are_kept_without_a_cache,
                &mapped),
      TEST_WITH("partitions_are_kept_without_a_cache pread", partitions_are_kept_without_a_cache,
                &pread),
      TEST(false_positives_of_prefixes),
      TEST(budgets_are_apart),
      TEST_WITH("scans fixed", scans, "nay.fixed.3"),
      TEST_WITH("scans delimiter", scans, "nay.delimiter.47"),
      TEST(absent_prefixes_read_nothing),
      TEST(newest_table_wins),
      TEST(deletions_hide_older_tables),
      TEST(every_allocation_may_fail),
      TEST(gets_do_not_allocate),
  };
  return run_all(tests);
}
