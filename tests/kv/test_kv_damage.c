/*
 * test_kv_damage.c - a store with damaged files: a manifest that is damaged or lies, tables that
 * are missing, cut or flipped (test_kv_log.c damages logs). The store opens with all that was
 * acknowledged, or says what is wrong and where; it never answers wrong.
 *
 * The files are in memory where the machine has /dev/shm: thousands of stores are opened.
 */
#define _GNU_SOURCE 1

#include "kv_damage.h"

/* ---- manifest ---- */

/* The last entries are in the log, and there is nothing to merge: it does not change by itself. */
static void store_of_tables(model *m) {
  kv *db;
  kv_error error;
  store_clear();
  *m = (model){.seed = 3};
  assert_ok(try_open(&error, &db));
  for (uint64_t i = 0; i < 699; i++) {
    assert_ok(model_write(db, m->seed, i, NULL));
    model_apply(m, i);
    if (i % 100 == 99 || i == 689) assert_ok(kv_settle(db, NULL));
  }
  kv_close(db);
}

static void a_manifest_damaged_at_every_byte(void **state) {
  (void)state;
  model m;
  kv *db;
  kv_error error = {""};
  size_t len = 0;
  store_of_tables(&m);
  unsigned char *good = directory_read(directory_at(&dir, "MANIFEST"), &len);
  unsigned before = directory_count(&dir, NULL);
  for (size_t at = 0; at < len; at++) {
    file_write("MANIFEST", good, at);
    nay_status status = try_open(&error, &db);
    if (status != NAY_EFORMAT && status != NAY_ECORRUPT) fail_msg("cut at %zu: %d", at, status);
    good[at] ^= (unsigned char)(1u << at % 8);
    file_write("MANIFEST", good, len);
    status = try_open(&error, &db);
    if (status != NAY_EFORMAT && status != NAY_ECORRUPT) fail_msg("flip at %zu: %d", at, status);
    good[at] ^= (unsigned char)(1u << at % 8);
  }
  assert_int_equal(directory_count(&dir, NULL), before); /* and no file is removed on its word */
  unlink(directory_at(&dir, "MANIFEST"));
  assert_status(try_open(&error, &db), NAY_ECORRUPT);
  assert_non_null(strstr(error.text, "not in MANIFEST, or that is missing"));
  file_write("MANIFEST", good, len);
  assert_ok(try_open(&error, &db));
  model_check(&m, db, 0);
  kv_close(db);
  free(good);
}

static void a_manifest_that_lies(void **state) {
  (void)state;
  model m;
  kv *db;
  kv_error error = {""};
  size_t len = 0;
  store_of_tables(&m);
  unsigned char *bytes = directory_read(directory_at(&dir, "MANIFEST"), &len);
  char *good = (char *)bytes;
  good[len] = 0;
  char synced[100];
  snprintf(synced, sizeof synced, "logs 0 0 %lu 99999\n",
           strtoul(strstr(good, "logs 0 0 ") + 9, NULL, 10));
  const struct {
    const char *from, *to;
    nay_status status;
    const char *text;
  } lies[] = {
      {"comparator", "comparator other.Comparator\n", NAY_EMISMATCH, "comparator other.Comparator"},
      {"comparator", "comparator \n", NAY_ECORRUPT, "offset"},
      {"kv 1", "kv 2\n", NAY_ECORRUPT, "offset 3"},
      {"store", "store 0\n", NAY_ECORRUPT, "offset"},
      {"store", "store 0000000000000001\n", NAY_ECORRUPT, "not the head of this log"},
      {"logs", "logs 0 0 99999 16\n", NAY_EIO, "099999.log"},
      {"logs", "logs x 0 1 16\n", NAY_ECORRUPT, "offset"},
      {"logs", "logs 0 0 0 16\n", NAY_ECORRUPT, "offset"},
      {"logs", "logs 0 0 1\n", NAY_ECORRUPT, "offset"},
      {"logs", "logs 0 7 1 16\n", NAY_ECORRUPT, "offset"},
      {"logs", "logs 0 0 9999999999999 16\n", NAY_ECORRUPT, "offset"},
      {"logs", "logs 0 0 18446744073709551615 16\n", NAY_ECORRUPT, "offset"},
      {"logs", "logs 99 16 98 16\n", NAY_ECORRUPT, "offset"},
      {"logs", synced, NAY_ECORRUPT, "the log was on the disk up to offset 99999"},
      {"sequence", "sequence 1\n", NAY_ECORRUPT, "offset"}, /* tables have more */
      {"sequence", "sequence 800\n", NAY_ECORRUPT, "records are missing"},
      {"sequence", "sequence 99999999999999999999\n", NAY_ECORRUPT, "MANIFEST"},
      {"sequence", "", NAY_ECORRUPT, "offset"},
      {"table", "table 0 9999999 10 2\n", NAY_EIO, "9999999.ldb"},
      {"table", "table 0 1 10 2\n", NAY_EIO, "000001.ldb"},
      {"table", "table 7 1 10 2\n", NAY_ECORRUPT, "offset"},
      {"table", "table 4294967296 1 10 2\n", NAY_ECORRUPT, "offset"},
      {"table", "table +0 1 10 2\n", NAY_ECORRUPT, "offset"},
      {"table", "table 00 1 10 2\n", NAY_ECORRUPT, "offset"},
      {"table", "table 0 0 10 2\n", NAY_ECORRUPT, "offset"},
      {"table", "table 0 -2 10 2\n", NAY_ECORRUPT, "offset"},
      {"table", "table 0 18446744073709551616 10 2\n", NAY_ECORRUPT, "offset"},
      {"table", "table 0 1  10 2\n", NAY_ECORRUPT, "offset"},
      {"table", "table 0 1 10\n", NAY_ECORRUPT, "offset"},
      {"table", "\n", NAY_ECORRUPT, "offset"},
      {"check", "nonsense\n", NAY_ECORRUPT, "offset"},
  };
  for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
    manifest_edit(good, lies[i].from, lies[i].to);
    nay_status status = try_open(&error, &db);
    if (status != lies[i].status || strstr(error.text, lies[i].text) == NULL)
      fail_msg("%s: %s: %s", lies[i].to, nay_status_name(status), error.text);
  }
  char line[100];
  const char *table = strstr(good, "table");
  unsigned level;
  unsigned long number, size, last;
  assert_int_equal(sscanf(table, "table %u %lu %lu %lu", &level, &number, &size, &last), 4);
  for (unsigned i = 0; i < 2; i++) {
    snprintf(line, sizeof line, "table %u %lu %lu %lu\n", level, number, size + i, last - !i);
    manifest_edit(good, "table", line);
    assert_status(try_open(&error, &db), NAY_ECORRUPT);
    assert_non_null(strstr(error.text, "not the table that was written"));
  }
  file_write("MANIFEST", good, len);
  assert_ok(try_open(&error, &db));
  model_check(&m, db, 0);
  kv_close(db);
  free(bytes);
}

/* A store whose sequence numbers are used up refuses puts; it is not damaged by them. */
static void sequences_that_are_used_up(void **state) {
  (void)state;
  static const struct {
    const char *line;
    nay_status opens, puts;
  } lies[] = {
      {"sequence 72057594037927936\n", NAY_ECORRUPT, NAY_OK}, /* 2^56 */
      {"sequence 72057594037927935\n", NAY_OK, NAY_EFULL},
      {"sequence 72057594037923840\n", NAY_OK, NAY_EFULL},
      {"sequence 72057594037923839\n", NAY_OK, NAY_OK},
  };
  for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
    kv *db;
    kv_error error = {""};
    kv_iter it;
    size_t len = 0;
    store_clear();
    assert_ok(try_open(&error, &db));
    kv_close(db);
    char *text = (char *)directory_read(directory_at(&dir, "MANIFEST"), &len);
    text[len] = 0;
    manifest_edit(text, "sequence", lies[i].line);
    free(text);
    for (unsigned k = 0; k < 2; k++) {
      assert_status(try_open(&error, &db), lies[i].opens);
      if (lies[i].opens != NAY_OK) continue;
      nay_status status = put(db, "a", 1, "1", 1);
      if (k == 0) assert_status(status, lies[i].puts);
      status = iter_new(db, 0, NULL, NULL, &it);
      assert_status(status, lies[i].puts == NAY_OK ? NAY_OK : NAY_EEND);
      kv_iter_free(&it);
      kv_close(db);
    }
  }
}

/* Tables of the same size have each other's name. */
static void tables_that_are_swapped(void **state) {
  (void)state;
  kv *db;
  kv_error error = {""};
  store_clear();
  assert_ok(try_open(&error, &db));
  for (unsigned i = 0; i < 2; i++) {
    assert_ok(put(db, "a", 1, i == 0 ? "1" : "3", 1));
    assert_ok(put(db, "b", 1, i == 0 ? "2" : "4", 1));
    assert_ok(kv_settle(db, NULL));
  }
  kv_close(db);
  assert_int_equal(rename(directory_at(&dir, "000003.ldb"), directory_at(&dir, "x")), 0);
  assert_int_equal(rename(directory_at(&dir, "000005.ldb"), directory_at(&dir, "000003.ldb")), 0);
  assert_int_equal(rename(directory_at(&dir, "x"), directory_at(&dir, "000005.ldb")), 0);
  assert_status(try_open(&error, &db), NAY_ECORRUPT);
  assert_non_null(strstr(error.text, "not the table that was written"));
}

/* Files that only look like those of the store are removed, and numbers go on where they were. */
static void numbers_near_the_end(void **state) {
  (void)state;
  static const char *const names[] = {"18446744073709551614.ldb", "18446744073709551615.ldb",
                                      "18446744073709551615.log", "999999999999.ldb"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    kv *db;
    kv_error error;
    kv_bytes value = {0};
    store_clear();
    assert_ok(try_open(&error, &db));
    assert_ok(put(db, "a", 1, "1", 1));
    kv_close(db);
    file_write(names[i], "junk", strstr(names[i], "log") != NULL ? 0 : 4);
    assert_ok(try_open(&error, &db));
    assert_ok(put(db, "n", 1, "m", 1));
    assert_ok(kv_settle(db, &error));
    kv_close(db);
    assert_int_equal(access(directory_at(&dir, names[i]), F_OK), -1);
    assert_ok(try_open(&error, &db));
    assert_ok(get(db, "n", 1, &value));
    assert_ok(get(db, "a", 1, &value));
    kv_close(db);
    free(value.data);
  }
}

/* Tables that overlap are said to be disjoint. */
static void levels_that_overlap(void **state) {
  (void)state;
  kv *db;
  kv_error error = {""};
  size_t len = 0;
  store_clear();
  assert_ok(try_open(&error, &db));
  for (unsigned i = 0; i < 2; i++) {
    assert_ok(put(db, "a", 1, "v", 1));
    assert_ok(put(db, "z", 1, "v", 1));
    assert_ok(kv_settle(db, NULL));
  }
  kv_close(db);
  char *text = (char *)directory_read(directory_at(&dir, "MANIFEST"), &len);
  text[len] = 0;
  for (char *at = text; (at = strstr(at, "table 0")) != NULL;) at[6] = '1';
  manifest_edit(text, "check", "");
  assert_status(try_open(&error, &db), NAY_ECORRUPT);
  assert_non_null(strstr(error.text, ".ldb"));
  free(text);
}

/* ---- tables ---- */

static void each_table(void (*act)(const char *name, const model *m), const model *m) {
  char names[100][32];
  size_t n = 0;
  DIR *d = opendir(dir.path);
  for (const struct dirent *e; (e = readdir(d)) != NULL;)
    if (strstr(e->d_name, ".ldb") != NULL && n < 100)
      snprintf(names[n++], sizeof names[0], "%.31s", e->d_name);
  closedir(d);
  assert_true(n > 0);
  for (size_t i = 0; i < n; i++) act(names[i], m);
}

static void table_missing(const char *name, const model *m) {
  kv *db;
  kv_error error = {""};
  char aside[300];
  (void)m;
  snprintf(aside, sizeof aside, "%s/aside", dir.path);
  assert_int_equal(rename(directory_at(&dir, name), aside), 0);
  assert_status(try_open(&error, &db), NAY_EIO);
  if (strstr(error.text, name) == NULL) fail_msg("%s: %s", name, error.text);
  assert_int_equal(rename(aside, directory_at(&dir, name)), 0);
}

static void table_half(const char *name, const model *m) {
  size_t len = 0;
  (void)m;
  unsigned char *good = directory_read(directory_at(&dir, name), &len);
  for (size_t n = 0; n < len; n += 97) {
    kv *db;
    kv_error error = {""};
    file_write(name, good, n);
    assert_true(try_open(&error, &db) != NAY_OK);
    if (strstr(error.text, name) == NULL) fail_msg("%s: %s", name, error.text);
  }
  file_write(name, good, len);
  free(good);
}

/* An answer is right, or an error. */
static void check_or_error(const model *m, kv *db, const char *name, size_t *errors) {
  for (unsigned i = 0; i < MODEL_KEYS; i++) {
    model_op op = {0};
    kv_bytes value = {0};
    model_key(i, &op);
    kv_error error = {""};
    nay_status status = kv_get(db, (kv_slice){op.key, op.len}, 0, &value, NULL, NULL, &error);
    if (status == NAY_OK || status == NAY_ENOENT) {
      assert_true(model_holds(m, db, 0, i));
    } else {
      assert_non_null(strstr(error.text, name));
      ++*errors;
    }
    free(value.data);
  }
  size_t n = 0, want = 0;
  for (unsigned i = 0; i < MODEL_KEYS; i++) want += m->put[i] != 0;
  kv_iter it;
  nay_status status = iter_new(db, 0, NULL, NULL, &it);
  bool opened = status == NAY_OK || status == NAY_EEND;
  for (; status == NAY_OK; status = nay_sst_scan_next(it.merge)) n++;
  if (status == NAY_EEND) assert_int_equal(n, want);
  if (status != NAY_EEND) ++*errors;
  if (opened) kv_iter_free(&it);
}

static void table_flipped(const char *name, const model *m) {
  size_t len = 0, errors = 0, refused = 0;
  unsigned char *good = directory_read(directory_at(&dir, name), &len);
  for (size_t at = 0; at < len; at += 61) {
    kv *db;
    kv_error error = {""};
    good[at] ^= (unsigned char)(1u << at % 8);
    file_write(name, good, len);
    if (try_open(&error, &db) == NAY_OK) {
      check_or_error(m, db, name, &errors);
      kv_close(db);
    } else {
      refused++;
    }
    good[at] ^= (unsigned char)(1u << at % 8);
  }
  assert_true(errors + refused > 0);
  file_write(name, good, len);
  free(good);
}

static void tables_missing_half_written_flipped(void **state) {
  (void)state;
  model m;
  kv *db;
  kv_error error = {""};
  store_of_tables(&m);
  each_table(table_missing, &m);
  each_table(table_half, &m);
  each_table(table_flipped, &m);
  file_write("099999.ldb", "half a table", 12); /* what a crash left is removed */
  assert_ok(try_open(&error, &db));
  assert_int_equal(access(directory_at(&dir, "099999.ldb"), F_OK), -1);
  model_check(&m, db, 0);
  kv_close(db);
}

int main(void) {
  const test_case tests[] = {
      TEST(a_manifest_that_lies),
      TEST(a_manifest_damaged_at_every_byte),
      TEST(levels_that_overlap),
      TEST(sequences_that_are_used_up),
      TEST(tables_that_are_swapped),
      TEST(numbers_near_the_end),
      TEST(tables_missing_half_written_flipped),
  };
  if (chdir("/dev/shm") != 0) print_message("# no /dev/shm: on the disk\n");
  dir = directory_make();
  int result = run_all(tests);
  directory_remove(&dir);
  return result;
}
