/*
 * test_compact.c - compactions with several outputs, snapshots, threads and a limit of memory,
 * against a model of what every reader may still see.
 *
 * The model knows each write. A compaction is right if every snapshot, and a reader of now, sees
 * through the outputs (one disjoint level) what the model says; if nothing is kept that no reader
 * sees; and if the outputs are disjoint and of the target size.
 */
#include "support/flaky.h"
#include "support/sst_outputs.h"

/* ---- versions ---- */

static size_t random_snapshots(uint64_t seed, uint64_t snapshots[8]) {
  size_t n = seed % 8;
  for (size_t i = 0; i < n; i++) snapshots[i] = nay_hash_mix(seed * 31 + i) % N_WRITES;
  for (size_t i = 0; i < n; i++) {
    for (size_t k = i; k > 0 && snapshots[k - 1] > snapshots[k]; k--) {
      uint64_t t = snapshots[k];
      snapshots[k] = snapshots[k - 1];
      snapshots[k - 1] = t;
    }
  }
  return n;
}

/* How many entries have to stay: for each user the versions that some reader sees, without the
 * deletions that hide nothing at the bottom. */
static uint64_t entries_needed(const history *h, const uint64_t *snapshots, size_t n, bool bottom) {
  uint64_t needed = 0;
  for (unsigned user = 0; user < N_USERS; user++) {
    unsigned last = UINT32_MAX;
    for (size_t i = n + 1; i-- > 0;) {
      unsigned s = history_at(h, user, i == n ? N_WRITES : (unsigned)snapshots[i]);
      if (s == 0 || s == last) continue;
      last = s;
      bool lowest = n == 0 || s <= snapshots[0];
      needed += !(h->deleted[s] && bottom && lowest);
    }
  }
  return needed;
}

static void check_history(const history *h, const inputs *in, uint64_t seed) {
  uint64_t snapshots[8];
  nay_sst_compact_stats stats = {.size = sizeof stats};
  nay_sst_compact_options how = {.size = sizeof how,
                                 .write = &internal_keys,
                                 .bottom = seed % 2 == 0,
                                 .snapshots = snapshots,
                                 .nsnapshots = random_snapshots(seed / 2, snapshots),
                                 .target_bytes = 1 + nay_hash_mix(seed) % 8000,
                                 .range_bytes = 1 + nay_hash_mix(seed + 1) % 30000,
                                 .threads = 1 + (unsigned)seed % 3};
  static outputs out;
  out = (outputs){.n = 0};
  nay_sst_outputs to = outputs_of(&out);
  while (how.target_bytes * 24 < 60000) how.target_bytes *= 2; /* MOST_OUTPUTS */
  while (how.range_bytes * 24 < 160000) how.range_bytes *= 2;
  assert_ok(nay_sst_compact_to(in->at, N_TABLES, &to, &how, NULL, NULL, &stats));
  level l;
  level_open(&out, &l);
  for (unsigned user = 0; user < N_USERS; user++) {
    for (size_t i = 0; i < how.nsnapshots; i++) {
      assert_reader(&l, h, user, (unsigned)snapshots[i]);
    }
    assert_reader(&l, h, user, N_WRITES);
  }
  assert_int_equal(stats.read, N_WRITES);
  assert_int_equal(stats.written, entries_needed(h, snapshots, how.nsnapshots, how.bottom));
  assert_int_equal(stats.read, stats.written + stats.superseded + stats.deletions);
  assert_int_equal(stats.outputs, out.n);
  uint64_t bytes = 0;
  for (unsigned i = 0; i < out.n; i++) bytes += out.done[i].nbytes;
  assert_true(stats.bytes_written == bytes && stats.bytes_read > N_WRITES * 16);
  level_free(&l);
  outputs_remove(&out);
}

static void readers_see_what_they_saw(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < TEST_SCALE(20) + 6; seed++) {
    history h;
    inputs in;
    history_make(&h, seed);
    inputs_make(&h, &in);
    for (uint64_t i = 0; i < 6; i++) check_history(&h, &in, seed * 6 + i);
    inputs_free(&in);
  }
}

/* ---- bytes do not depend on threads ---- */

static uint64_t bytes_of(const outputs *o) {
  uint64_t hash = 0;
  for (unsigned i = 0; i < o->n; i++) {
    size_t len;
    uint8_t *bytes = sample_read(o->done[i].path, &len);
    for (size_t k = 0; k < len; k++) hash = nay_hash_mix(hash ^ bytes[k]);
    free(bytes);
  }
  return hash;
}

static void every_number_of_threads_writes_the_same(void **state) {
  (void)state;
  history h;
  inputs in;
  static outputs out;
  uint64_t hashes[4], snapshots[] = {700, 2000};
  unsigned n[4], most = 0;
  nay_sst_write_options write = {sizeof write, .keys = NAY_SST_KEYS_INTERNAL,
                                 .filter = NAY_SST_FULL_FILTER, .block_bytes = 512};
  history_make(&h, 99);
  inputs_make(&h, &in);
  for (unsigned i = 0; i < 4; i++) {
    out = (outputs){.n = 0};
    nay_sst_outputs to = outputs_of(&out);
    nay_sst_compact_options how = {.size = sizeof how,
                                   .write = &write,
                                   .snapshots = snapshots,
                                   .nsnapshots = 2,
                                   .target_bytes = 2000,
                                   .threads = 1u << i};
    assert_ok(nay_sst_compact_to(in.at, N_TABLES, &to, &how, NULL, NULL, NULL));
    hashes[i] = bytes_of(&out);
    n[i] = out.n;
    if (out.n > most) most = out.n;
    outputs_remove(&out);
  }
  assert_true(most > 4);
  for (unsigned i = 1; i < 4; i++) assert_true(hashes[i] == hashes[0] && n[i] == n[0]);
  inputs_free(&in);
}

/* ---- other orders ---- */

/* Plain keys in descending order: table i has the numbers that are divisible by i + 2. */
static void outputs_are_in_the_order_of_the_inputs(void **state) {
  (void)state;
  enum { N = 6000 };
  char paths[3][TEMP_MAX], key[32], value[32];
  static outputs out;
  nay_sst_comparator reverse = {.size = sizeof reverse};
  assert_ok(nay_sst_comparator_find("rocksdb.ReverseBytewiseComparator", &reverse));
  nay_sst_write_options write = {
      .size = sizeof write, .comparator = &reverse, .filter = NAY_SST_FULL_FILTER};
  nay_sst_read_options read = {sizeof read, .comparator = &reverse};
  const nay_sst *t[3];
  for (unsigned i = 0; i < 3; i++) {
    nay_sst_writer *w;
    snprintf(key, sizeof key, "reverse%u.ldb", i);
    assert_ok(nay_sst_writer_new(temp_path(paths[i], key), &write, NULL, NULL, &w));
    for (unsigned k = N; k-- > 0;) {
      int len = snprintf(value, sizeof value, "table %u", i);
      if (k % (i + 2) != 0) continue;
      assert_ok(nay_sst_writer_add(w, key, number_key(k, key), value, (size_t)len, NULL));
    }
    assert_ok(nay_sst_writer_finish(w, NULL));
    nay_sst_writer_free(w);
    t[i] = open_table(paths[i], &read);
  }
  out = (outputs){.n = 0};
  nay_sst_outputs to = outputs_of(&out);
  to.done = NULL;
  nay_sst_compact_options how = {
      .size = sizeof how, .target_bytes = 5000, .range_bytes = 15000, .threads = 1};
  assert_ok(nay_sst_compact_to(t, 3, &to, &how, NULL, NULL, NULL));
  assert_true(out.named > 5);
  level l = {.n = out.named};
  for (unsigned i = 0; i < l.n; i++) l.at[i] = open_table(out.paths[i], &read);
  nay_sst_lookup_level one = {
      .size = sizeof one, .tables = (const nay_sst *const *)l.at, .n = l.n, .disjoint = true};
  assert_ok(nay_sst_lookup_new(&one, 1, NULL, NULL, NULL, &l.lookup)); /* in order, too */
  for (unsigned k = 0; k < N; k++) {
    nay_sst_value v = {.size = sizeof v};
    unsigned newest = k % 2 == 0 ? 0 : k % 3 == 0 ? 1 : k % 4 == 0 ? 2 : 3;
    nay_status status =
        nay_sst_lookup_get(l.lookup, key, number_key(k, key), NAY_SST_NEWEST, NULL, &v, NULL);
    assert_status(status, newest < 3 ? NAY_OK : NAY_ENOENT);
    if (status == NAY_OK) assert_int_equal(((const char *)v.bytes)[6], '0' + newest);
    nay_sst_value_free(&v);
  }
  level_free(&l);
  outputs_remove(&out);
  for (unsigned i = 0; i < 3; i++) {
    nay_sst_free((nay_sst *)(uintptr_t)t[i]);
    unlink(paths[i]);
  }
}

/* ---- ends before the end ---- */

typedef struct brake {
  unsigned calls, cancel_at;
  uint64_t bytes;
} brake;

static nay_status press(void *ctx, const nay_sst_compact_stats *so_far) {
  brake *b = ctx;
  assert_true(so_far->bytes_read > b->bytes);
  b->bytes = so_far->bytes_read;
  return ++b->calls != b->cancel_at ? NAY_OK : NAY_ECANCELED;
}

static void progress_cancels(void **state) {
  (void)state;
  char paths[2][TEMP_MAX];
  static outputs out;
  write_even(temp_path(paths[0], "even0.ldb"), NULL, 60000);
  write_even(temp_path(paths[1], "even1.ldb"), NULL, 50000);
  nay_sst *t[] = {open_table(paths[0], NULL), open_table(paths[1], NULL)};
  const nay_sst *const *tables = (const nay_sst *const *)t;
  for (unsigned cancel_at = 0; cancel_at < 6; cancel_at++) {
    brake b = {.cancel_at = cancel_at};
    nay_diag diag = {.what = NULL};
    out = (outputs){.n = 0};
    nay_sst_outputs to = outputs_of(&out);
    to.done = NULL;
    nay_sst_compact_options how = {
        .size = sizeof how, .target_bytes = 100000, .progress = press, .progress_ctx = &b};
    nay_status status = nay_sst_compact_to(tables, 2, &to, &how, NULL, &diag, NULL);
    assert_status(status, cancel_at == 0 ? NAY_OK : NAY_ECANCELED);
    if (status != NAY_OK) assert_non_null(diag.what);
    assert_true(cancel_at == 0 ? b.calls > 6 : b.calls == cancel_at);
    if (cancel_at == 0) { /* the last output was finished; one that was not is no file */
      assert_int_equal(access(out.paths[out.named - 1], F_OK), 0);
    } else {
      assert_int_equal(access(out.paths[out.named - 1], F_OK), -1);
    }
    outputs_remove(&out);
  }
  out = (outputs){.refuse_at = 3};
  nay_sst_outputs to = outputs_of(&out);
  to.done = NULL;
  nay_sst_compact_options how = {sizeof how, .target_bytes = 100000};
  assert_status(nay_sst_compact_to(tables, 2, &to, &how, NULL, NULL, NULL), NAY_ECANCELED);
  assert_int_equal(out.named, 3);
  outputs_remove(&out);
  for (unsigned i = 0; i < 2; i++) {
    nay_sst_free(t[i]);
    unlink(paths[i]);
  }
}

static void bad_options(void **state) {
  (void)state;
  char path[TEMP_MAX];
  write_even(temp_path(path, "bad.ldb"), NULL, 10);
  nay_sst *t = open_table(path, NULL);
  const nay_sst *one[] = {t};
  static outputs out;
  out = (outputs){.n = 0};
  nay_sst_outputs to = outputs_of(&out), none = {.size = sizeof none};
  uint64_t descending[] = {2, 1};
  const nay_sst_compact_options bad[] = {
      {.size = sizeof *bad, .snapshots = descending, .nsnapshots = 2},
      {.size = sizeof *bad, .nsnapshots = 1},
      {.size = sizeof *bad, .threads = 100000},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    nay_diag diag = {.what = NULL};
    assert_status(nay_sst_compact_to(one, 1, &to, &bad[i], NULL, &diag, NULL), NAY_EINVAL);
    assert_non_null(diag.what);
  }
  assert_status(nay_sst_compact_to(one, 1, NULL, NULL, NULL, NULL, NULL), NAY_EINVAL);
  assert_status(nay_sst_compact_to(one, 1, &none, NULL, NULL, NULL, NULL), NAY_EINVAL);
  assert_status(nay_sst_compact_to(one, 0, &to, NULL, NULL, NULL, NULL), NAY_EINVAL);
  nay_sst_compact_options cut = {sizeof cut, .target_bytes = 1};
  assert_status(nay_sst_compact(one, 1, path, &cut, NULL, NULL, NULL), NAY_EINVAL);
  assert_int_equal(out.named, 0);
  nay_sst_free(t);
  unlink(path);
}

/* ---- memory ---- */

/* peak_memory is the peak of the allocator, max_memory is never exceeded, and without room there is
 * no output. */
static void memory_stays_below_the_limit(void **state) {
  (void)state;
  char paths[3][TEMP_MAX];
  static outputs out;
  unsigned succeeded = 0, refused = 0;
  nay_sst_write_options write = {sizeof write, .filter = NAY_SST_FULL_FILTER};
  nay_sst *t[3];
  for (unsigned i = 0; i < 3; i++) {
    char name[32];
    snprintf(name, sizeof name, "memory%u.ldb", i);
    write_even(temp_path(paths[i], name), &write, 40000 + i);
    nay_sst_read_options pread = {sizeof pread, .flags = NAY_SST_PREAD};
    t[i] = open_table(paths[i], &pread);
  }
  for (size_t limit = 1000; limit < (4u << 20); limit += limit / 3) {
    flaky heap = {.fail_at = -1};
    nay_allocator a = flaky_allocator(&heap);
    nay_sst_compact_stats stats = {.size = sizeof stats};
    nay_diag diag = {.what = NULL};
    out = (outputs){.n = 0};
    nay_sst_outputs to = outputs_of(&out);
    to.done = NULL;
    nay_sst_compact_options how = {.size = sizeof how,
                                   .write = &write,
                                   .target_bytes = 60000,
                                   .range_bytes = 300000,
                                   .threads = 4, /* as many of them as fit */
                                   .max_memory = limit};
    nay_status status =
        nay_sst_compact_to((const nay_sst *const *)t, 3, &to, &how, &a, &diag, &stats);
    assert_true(flaky_is_clean(&heap) && heap.peak <= limit);
    if (status == NAY_OK) {
      assert_true(stats.peak_memory == heap.peak && stats.written == 40002);
      succeeded++;
    } else {
      assert_status(status, NAY_EFULL);
      assert_non_null(diag.what);
      refused++;
    }
    outputs_remove(&out);
  }
  assert_true(succeeded == 6 && refused > 5);
  for (unsigned i = 0; i < 3; i++) {
    nay_sst_free(t[i]);
    unlink(paths[i]);
  }
}

/* Tables that do not overlap are open one after the other: 40 of them need little more than 2. */
static size_t peak_of_disjoint(unsigned n) {
  static char paths[40][TEMP_MAX];
  const nay_sst *t[40];
  static outputs out;
  for (unsigned i = 0; i < n; i++) {
    char name[32], key[32], value[1000] = {0};
    nay_sst_writer *w;
    snprintf(name, sizeof name, "part%u.ldb", i);
    nay_sst_write_options big = {sizeof big, .block_bytes = 64 << 10};
    assert_ok(nay_sst_writer_new(temp_path(paths[i], name), &big, NULL, NULL, &w));
    for (unsigned k = 0; k < 200; k++) {
      assert_ok(
          nay_sst_writer_add(w, key, number_key(i * 1000 + k, key), value, sizeof value, NULL));
    }
    assert_ok(nay_sst_writer_finish(w, NULL));
    nay_sst_writer_free(w);
    nay_sst_read_options pread = {sizeof pread, .flags = NAY_SST_PREAD};
    t[i] = open_table(paths[i], &pread);
  }
  nay_sst_compact_stats stats = {.size = sizeof stats};
  nay_sst_compact_options how = {sizeof how, .target_bytes = 200000};
  out = (outputs){.n = 0};
  nay_sst_outputs to = outputs_of(&out);
  to.done = NULL;
  assert_ok(nay_sst_compact_to(t, n, &to, &how, NULL, NULL, &stats));
  outputs_remove(&out);
  for (unsigned i = 0; i < n; i++) {
    nay_sst_free((nay_sst *)(uintptr_t)t[i]);
    unlink(paths[i]);
  }
  return (size_t)stats.peak_memory;
}

static void disjoint_tables_are_open_in_turn(void **state) {
  (void)state;
  size_t few = peak_of_disjoint(2), many = peak_of_disjoint(40);
  print_message("# peak memory: 2 tables %zu bytes, 40 tables %zu\n", few, many);
  assert_true(many < few + 40 * 2048); /* a struct for each, and no 64 KiB */
}

int main(void) {
  const test_case tests[] = {
      TEST(readers_see_what_they_saw),
      TEST(every_number_of_threads_writes_the_same),
      TEST(outputs_are_in_the_order_of_the_inputs),
      TEST(progress_cancels),
      TEST(bad_options),
      TEST(memory_stays_below_the_limit),
      TEST(disjoint_tables_are_open_in_turn),
  };
  return run_all(tests);
}
