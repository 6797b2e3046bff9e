/*
 * test_kv.c - examples/kv against a model: random puts and deletes with flushes and compactions
 * below them, gets, scans, snapshots, reopening; and what it refuses.
 */
#define _GNU_SOURCE 1

#include "kv_model.h"
#include "support/directory.h"

static void answers_are_those_of_a_model(void **state) {
  (void)state;
  enum { ROUNDS = 8, OPERATIONS = TEST_SCALE(1500), KEPT = 4 };
  directory dir = directory_make();
  model now = {.seed = 1}, was[KEPT];
  kv *db = model_open(dir.path, model_options());
  uint64_t i = 0;
  for (unsigned round = 0; round < ROUNDS; round++) {
    uint64_t snapshots[KEPT];
    for (unsigned k = 0; k < KEPT; k++) { /* snapshots of different ages, checked at the end */
      snapshots[k] = kv_snapshot_take(db);
      was[k] = now;
      for (unsigned n = 0; n < OPERATIONS / KEPT; n++, i++) {
        assert_ok(model_write(db, now.seed, i, NULL));
        model_apply(&now, i);
      }
    }
    if (round % 3 == 1) assert_ok(kv_settle(db, NULL));
    model_check(&now, db, 0);
    for (unsigned k = 0; k < KEPT; k++) {
      model_check(&was[k], db, snapshots[k]);
      kv_snapshot_release(db, snapshots[k]);
    }
    if (round % 2 == 1) {
      kv_close(db);
      db = model_open(dir.path, model_options());
      model_check(&now, db, 0);
    }
  }
  kv_stats stats;
  assert_ok(kv_settle(db, NULL));
  kv_describe(db, &stats);
  assert_int_equal(model_operations(db), i);
  assert_true(stats.tables[0] < 4);
  assert_true(stats.tables[1] + stats.tables[2] + stats.tables[3] > 0);
  model_check(&now, db, 0);
  kv_close(db);
  directory_remove(&dir);
}

static void an_iterator_sees_no_later_put(void **state) {
  (void)state;
  directory dir = directory_make();
  kv *db = model_open(dir.path, model_options());
  kv_iter it;
  assert_ok(put(db, "a", 1, "1", 1));
  assert_ok(put(db, "c", 1, "3", 1));
  assert_ok(iter_new(db, 0, "", "d", &it));
  assert_ok(put(db, "b", 1, "2", 1));
  assert_ok(kv_delete(db, (kv_slice){"c", 1}, NULL));
  assert_ok(put(db, "d", 1, "4", 1));
  assert_ok(kv_settle(db, NULL)); /* its tables are gone, its files are not */
  size_t len;
  assert_memory_equal(nay_sst_scan_key(it.merge, &len), "a", 1);
  assert_ok(nay_sst_scan_next(it.merge));
  assert_memory_equal(nay_sst_scan_key(it.merge, &len), "c", 1);
  assert_status(nay_sst_scan_next(it.merge), NAY_EEND);
  kv_iter_free(&it);
  assert_status(iter_new(db, 0, "c", "d", &it), NAY_EEND);
  kv_iter_free(&it);
  kv_close(db);
  directory_remove(&dir);
}

/* Any bytes are a key, none as well; so are large ones. */
static void keys_and_values_are_bytes(void **state) {
  (void)state;
  directory dir = directory_make();
  kv *db = model_open(dir.path, model_options());
  kv_bytes value = {0};
  static char large[300000];
  memset(large, 7, sizeof large);
  for (unsigned round = 0; round < 3; round++) {
    if (round == 0) {
      assert_ok(put(db, "", 0, "empty", 5));
      assert_ok(put(db, "\0", 1, "", 0));
      assert_ok(put(db, "\xff\xff", 2, large, sizeof large));
      assert_ok(put(db, large, sizeof large, "x", 1));
    }
    if (round == 1) assert_ok(kv_settle(db, NULL));
    if (round == 2) {
      kv_close(db);
      db = model_open(dir.path, model_options());
    }
    assert_ok(get(db, "", 0, &value));
    assert_int_equal(value.len, 5);
    assert_ok(get(db, "\0", 1, &value));
    assert_int_equal(value.len, 0);
    assert_ok(get(db, "\xff\xff", 2, &value));
    assert_int_equal(value.len, sizeof large);
    assert_memory_equal(value.data, large, sizeof large);
    assert_ok(get(db, large, sizeof large, &value));
    assert_status(get(db, "\0\0", 2, &value), NAY_ENOENT);
  }
  assert_status(put(db, "k", 1, large, (size_t)1 << 40), NAY_EINVAL);
  assert_ok(put(db, "k", 1, "v", 1)); /* that was no failed write */
  free(value.data);
  kv_close(db);
  directory_remove(&dir);
}

static void a_store_is_open_once(void **state) {
  (void)state;
  directory dir = directory_make();
  kv_options options = {.sync = true};
  kv_error error = {""};
  kv *db, *second;
  assert_ok(kv_open(dir.path, &options, &error, &db));
  assert_status(kv_open(dir.path, &options, &error, &second), NAY_EIO);
  assert_non_null(strstr(error.text, "the store is open, here or in another process"));
  kv_close(db);
  assert_ok(kv_open(dir.path, &options, &error, &db));
  kv_close(db);
  directory_remove(&dir);
}

/* Backwards and by seeks, over memtables and tables. */
static void iterators_go_both_ways(void **state) {
  (void)state;
  directory dir = directory_make();
  kv *db = model_open(dir.path, model_options());
  for (unsigned i = 0; i < 300; i++) {
    char key[8];
    snprintf(key, sizeof key, "k%03u", i * 7 % 300);
    assert_ok(put(db, key, 4, "v", 1));
    if (i == 200) assert_ok(kv_settle(db, NULL));
  }
  kv_iter it;
  size_t len;
  assert_ok(iter_new(db, 0, "k010", "k290", &it));
  nay_status status = nay_sst_scan_last(it.merge);
  for (unsigned i = 290; i-- > 10; status = nay_sst_scan_prev(it.merge)) {
    assert_ok(status);
    char want[8];
    snprintf(want, sizeof want, "k%03u", i);
    assert_memory_equal(nay_sst_scan_key(it.merge, &len), want, 4);
    assert_int_equal(len, 4);
  }
  assert_status(status, NAY_EEND);
  assert_ok(nay_sst_scan_seek(it.merge, "k0995", 5));
  assert_memory_equal(nay_sst_scan_key(it.merge, &len), "k100", 4);
  assert_ok(nay_sst_scan_prev(it.merge));
  assert_ok(nay_sst_scan_prev(it.merge));
  assert_memory_equal(nay_sst_scan_key(it.merge, &len), "k098", 4);
  assert_ok(nay_sst_scan_next(it.merge));
  assert_memory_equal(nay_sst_scan_key(it.merge, &len), "k099", 4);
  assert_ok(nay_sst_scan_seek_for_prev(it.merge, "k2005", 5));
  assert_memory_equal(nay_sst_scan_key(it.merge, &len), "k200", 4);
  kv_iter_free(&it);
  kv_close(db);
  directory_remove(&dir);
}

typedef struct steps {
  char text[4096];
} steps;

static void steps_add(void *ctx, const char *step) {
  steps *s = ctx;
  strncat(s->text, step, sizeof s->text - strlen(s->text) - 2);
  strcat(s->text, "\n");
}

static void a_trace_tells_each_step(void **state) {
  (void)state;
  directory dir = directory_make();
  kv *db = model_open(dir.path, model_options());
  kv_bytes value = {0};
  steps s = {""};
  for (unsigned i = 0; i < 100; i += 2) {
    char key[8];
    snprintf(key, sizeof key, "k%02u", i);
    assert_ok(put(db, key, 3, "v", 1));
  }
  assert_ok(kv_get(db, (kv_slice){"k00", 3}, 0, &value, steps_add, &s, NULL));
  assert_string_equal(s.text, "memtable: found\n");
  assert_ok(kv_settle(db, NULL));
  memset(&s, 0, sizeof s);
  assert_ok(kv_get(db, (kv_slice){"k00", 3}, 0, &value, steps_add, &s, NULL));
  assert_non_null(strstr(s.text, "memtable: absent\nlevel 0, 000003.ldb: filter: maybe\n"));
  assert_non_null(strstr(s.text, "000003.ldb: found\n"));
  memset(&s, 0, sizeof s);
  assert_status(kv_get(db, (kv_slice){"x", 1}, 0, &value, steps_add, &s, NULL), NAY_ENOENT);
  assert_non_null(strstr(s.text, "000003.ldb: outside of its range of keys\n"));
  memset(&s, 0, sizeof s);
  assert_status(kv_get(db, (kv_slice){"k01", 3}, 0, &value, steps_add, &s, NULL), NAY_ENOENT);
  assert_non_null(strstr(s.text, "000003.ldb: filter: nay\n"));
  free(value.data);
  kv_close(db);
  directory_remove(&dir);
}

static void fill(kv *db, uint64_t n, bool ascending) {
  static char value[500];
  for (uint64_t i = 0; i < n; i++) {
    char key[16];
    uint64_t number = ascending ? i : nay_hash_mix(i) % 100000;
    snprintf(key, sizeof key, "%08u", (unsigned)number);
    assert_ok(put(db, key, 8, value, sizeof value));
  }
  assert_ok(kv_settle(db, NULL));
}

/* Bytes that compactions write for each byte that was flushed. Keys in ascending order overlap
 * nothing: their tables move from level to level. */
static void compactions_write_what_overlaps(void **state) {
  (void)state;
  for (int ascending = 0; ascending < 2; ascending++) {
    directory dir = directory_make();
    kv *db = model_open(dir.path, (kv_options){.write_buffer = 64 << 10});
    kv_stats stats;
    fill(db, TEST_SCALE(12000), ascending);
    kv_describe(db, &stats);
    double amplification = (double)stats.compacted / (double)stats.flushed;
    print_message("# %s: %.2f\n", ascending ? "ascending" : "random", amplification);
    assert_true(amplification < (ascending ? 0.01 : 15));
    assert_true(stats.tables[0] < 4);
    assert_true(stats.tables[1] > 0);
    assert_true(stats.tables[2] > 0);
    kv_close(db);
    db = model_open(dir.path, (kv_options){.write_buffer = 64 << 10});
    kv_bytes value = {0};
    if (ascending) assert_ok(get(db, "00000007", 8, &value));
    free(value.data);
    kv_close(db);
    directory_remove(&dir);
  }
}

static void defaults_and_bad_arguments(void **state) {
  (void)state;
  directory dir = directory_make();
  kv *db;
  kv_iter it = {NULL, NULL};
  kv_bytes value = {0};
  kv_iter_free(&it);
  kv_close(NULL);
  assert_ok(kv_open(dir.path, NULL, NULL, &db));
  assert_ok(put(db, "a", 1, "1", 1));
  assert_ok(kv_get(db, (kv_slice){"a", 1}, UINT64_MAX, &value, NULL, NULL, NULL)); /* now */
  assert_ok(iter_new(db, UINT64_MAX, NULL, NULL, &it));
  kv_iter_free(&it);
  kv_close(db);
  directory_remove(&dir);
  kv_options options = {.must_exist = true};
  assert_status(kv_open(dir.path, &options, NULL, &db), NAY_ENOENT);
  assert_int_equal(mkdir(dir.path, 0777), 0);
  assert_status(kv_open(dir.path, &options, NULL, &db), NAY_ENOENT);
  assert_int_equal(directory_count(&dir, NULL), 0);
  directory_remove(&dir);
  free(value.data);
}

int main(void) {
  const test_case tests[] = {
      TEST(answers_are_those_of_a_model),    TEST(an_iterator_sees_no_later_put),
      TEST(keys_and_values_are_bytes),       TEST(a_store_is_open_once),
      TEST(a_trace_tells_each_step),         TEST(iterators_go_both_ways),
      TEST(compactions_write_what_overlaps), TEST(defaults_and_bad_arguments),
  };
  if (chdir("/dev/shm") != 0) print_message("# no /dev/shm: on the disk\n");
  return run_all(tests);
}
