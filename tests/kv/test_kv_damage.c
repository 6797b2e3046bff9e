/*
 * test_kv_damage.c - a store with damaged files: logs cut and flipped at every byte, a manifest
 * that is damaged or lies, tables that are missing, cut or flipped. The store opens with all that
 * was acknowledged, or says what is wrong and where; it never answers wrong.
 *
 * The files are in memory where the machine has /dev/shm: thousands of stores are opened.
 */
#define _GNU_SOURCE 1

#include <errno.h>
#include <fcntl.h>

#include "kv_model.h"
#include "parts.h"
#include "support/directory.h"

#define OPERATIONS 24u

static directory dir;
static nay_status try_open(kv_error *error, kv **db) {
  kv_options options = model_options();
  return kv_open(dir.path, &options, error, db);
}

static void file_write(const char *name, const void *bytes, size_t len) {
  directory_write(directory_at(&dir, name), bytes, len);
}

/* ---- logs ---- */

/* A short operation, so that every byte of a log can be tried. */
static size_t log_record(uint8_t *at, uint64_t sequence, unsigned type, const char *key,
                         const char *value, size_t value_len) {
  size_t len = strlen(key);
  memcpy(at + KV_RECORD, key, len);
  kv_store(at + KV_RECORD + len, sequence << 8 | type, 8);
  memcpy(at + KV_RECORD + len + 8, value, value_len);
  kv_record_seal(at, len, value_len);
  return KV_RECORD + len + 8 + value_len;
}

typedef struct sample_log {
  uint8_t bytes[4000];
  size_t len, starts[OPERATIONS + 1];
} sample_log;

/* Entry i: key "k" and its letter, value its number. */
static sample_log log_sample(uint64_t first) {
  sample_log log = {.len = 0};
  for (unsigned i = 0; i < OPERATIONS; i++) {
    char key[3] = {'k', (char)('a' + i), 0}, value[8];
    size_t n = (size_t)snprintf(value, sizeof value, "%u", i);
    log.starts[i] = log.len;
    log.len += log_record(log.bytes + log.len, first + i, KV_VALUE, key, value, n);
  }
  log.starts[OPERATIONS] = log.len;
  return log;
}

static bool log_has(kv *db, unsigned i) {
  char key[3] = {'k', (char)('a' + i), 0};
  kv_bytes value = {0};
  bool there = get(db, key, 2, &value) == NAY_OK;
  char want[8];
  size_t n = (size_t)snprintf(want, sizeof want, "%u", i);
  if (there) assert_true(value.len == n && memcmp(value.data, want, n) == 0);
  free(value.data);
  return there;
}

static void store_with_log(const void *bytes, size_t len) {
  static kv db;
  snprintf(db.dir, sizeof db.dir, "%s", dir.path);
  assert_ok(kv_manifest_save(&db, &(kv_view){.log = 1}, NULL));
  file_write("000001.log", bytes, len);
}

static void store_clear(void) {
  directory_remove(&dir);
  assert_int_equal(mkdir(dir.path, 0777), 0);
}

static void a_log_cut_at_every_byte(void **state) {
  (void)state;
  sample_log log = log_sample(1);
  for (size_t len = 0; len <= log.len; len++) {
    kv *db;
    kv_error error = {""};
    unsigned whole = 0;
    while (whole < OPERATIONS && log.starts[whole + 1] <= len) whole++;
    store_clear();
    store_with_log(log.bytes, len);
    if (try_open(&error, &db) != NAY_OK) fail_msg("%zu bytes: %s", len, error.text);
    for (unsigned i = 0; i < OPERATIONS; i++) assert_int_equal(log_has(db, i), i < whole);
    char want[200] = "";
    if (len > log.starts[whole])
      snprintf(want, sizeof want,
               "000001.log: recovered %u records, %zu bytes of a torn record dropped at offset %zu",
               whole, len - log.starts[whole], log.starts[whole]);
    assert_string_equal(error.text, want);
    assert_ok(put(db, "kz", 2, "25", 2)); /* continues where the last whole record ends */
    kv_close(db);
    assert_ok(try_open(&error, &db));
    assert_string_equal(error.text, "");
    assert_true(log_has(db, 25));
    for (unsigned i = 0; i < OPERATIONS; i++) assert_int_equal(log_has(db, i), i < whole);
    kv_close(db);
  }
}

static void a_log_that_ends_in_zeros(void **state) {
  (void)state;
  sample_log log = log_sample(1);
  kv *db;
  kv_error error;
  store_clear();
  store_with_log(log.bytes, log.len + 500);
  assert_ok(try_open(&error, &db));
  assert_non_null(strstr(error.text, "500 bytes of a torn record"));
  for (unsigned i = 0; i < OPERATIONS; i++) assert_true(log_has(db, i));
  kv_close(db);
}

static void a_log_flipped_at_every_bit(void **state) {
  (void)state;
  const sample_log log = log_sample(1);
  for (size_t bit = 0; bit < 8 * log.len; bit += bit < 8 * 300 ? 1 : 7) {
    sample_log bad = log;
    kv *db;
    kv_error error = {""};
    char want[100];
    unsigned hit = 0;
    bad.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    while (log.starts[hit + 1] <= bit / 8) hit++;
    store_clear();
    store_with_log(bad.bytes, bad.len);
    assert_status(try_open(&error, &db), NAY_ECORRUPT);
    snprintf(want, sizeof want, "000001.log: damaged at offset %zu: ", log.starts[hit]);
    if (strstr(error.text, want) == NULL) fail_msg("bit %zu: %s", bit, error.text);
  }
}

static void a_log_that_is_missing(void **state) {
  (void)state;
  kv *db;
  kv_error error = {""};
  store_clear();
  store_with_log("", 0);
  unlink(directory_at(&dir, "000001.log"));
  assert_status(try_open(&error, &db), NAY_EIO);
  assert_non_null(strstr(error.text, "000001.log"));
  assert_non_null(strstr(error.text, strerror(ENOENT)));
}

/* A log that is not named, and not older than those that are, has what was acknowledged. */
static void a_log_that_is_not_named(void **state) {
  (void)state;
  sample_log log = log_sample(1);
  kv *db;
  kv_error error = {""};
  store_clear();
  store_with_log(log.bytes, log.len);
  file_write("000002.log", "", 0); /* that a crash left */
  file_write("000003.log", log.bytes, log.len);
  assert_status(try_open(&error, &db), NAY_ECORRUPT);
  assert_non_null(strstr(error.text, "000003.log: not in MANIFEST"));
  unlink(directory_at(&dir, "000003.log"));
  assert_ok(try_open(&error, &db));
  assert_int_equal(access(directory_at(&dir, "000002.log"), F_OK), -1);
  for (unsigned i = 0; i < OPERATIONS; i++) assert_true(log_has(db, i));
  kv_close(db);
}

/* ---- manifest ---- */

static void store_of_tables(model *m) {
  kv *db;
  kv_error error;
  store_clear();
  *m = (model){.seed = 3};
  assert_ok(try_open(&error, &db));
  for (uint64_t i = 0; i < 700; i++) {
    assert_ok(model_write(db, m->seed, i, NULL));
    model_apply(m, i);
    if (i % 100 == 99 && i < 600) assert_ok(kv_settle(db, NULL));
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
  assert_non_null(strstr(error.text, "MANIFEST is missing"));
  file_write("MANIFEST", good, len);
  assert_ok(try_open(&error, &db));
  model_check(&m, db, 0);
  kv_close(db);
  free(good);
}

/* A line of the manifest is replaced, or one is added; the checksum is right. */
static void manifest_edit(const char *good, const char *from, const char *to) {
  char text[4000];
  const char *at = strstr(good, from), *end = strstr(good, "check");
  assert_non_null(at);
  const char *rest = at == end ? at : strchr(at, '\n') + 1;
  int n = snprintf(text, sizeof text, "%.*s%s%.*s", (int)(at - good), good, to, (int)(end - rest),
                   rest);
  n += snprintf(text + n, sizeof text - (size_t)n, "check %016" PRIx64 "\n",
                kv_checksum(text, (size_t)n));
  file_write("MANIFEST", text, (size_t)n);
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
  const struct {
    const char *from, *to;
    nay_status status;
    const char *text;
  } lies[] = {
      {"comparator", "comparator other.Comparator\n", NAY_EMISMATCH, "comparator other.Comparator"},
      {"kv 1", "kv 2\n", NAY_EFORMAT, ""},
      {"log", "log 99999\n", NAY_EIO, "099999.log"},
      {"log", "log x\n", NAY_ECORRUPT, "offset"},
      {"log", "log 0\n", NAY_ECORRUPT, "not in MANIFEST"},
      {"sequence", "sequence 1\n", NAY_ECORRUPT, "records are missing"},
      {"sequence", "sequence 800\n", NAY_ECORRUPT, "records are missing"},
      {"sequence", "sequence 99999999999999999999\n", NAY_ECORRUPT, "offset"},
      {"sequence", "", NAY_ECORRUPT, "offset"},
      {"table", "table 0 9999999 10\n", NAY_EIO, "9999999.ldb"},
      {"table", "table 7 1 10\n", NAY_ECORRUPT, "offset"},
      {"table", "table 0 1 10\n", NAY_EIO, "000001.ldb"},
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
  unsigned long number, size;
  assert_int_equal(sscanf(table, "table %u %lu %lu", &level, &number, &size), 3);
  snprintf(line, sizeof line, "table %u %lu %lu\n", level, number, size + 1);
  manifest_edit(good, "table", line);
  assert_status(try_open(&error, &db), NAY_ECORRUPT);
  assert_non_null(strstr(error.text, "size"));
  snprintf(line, sizeof line, "table %u %lu %lu\n", level, number, size);
  manifest_edit(good, "check", line); /* twice */
  assert_status(try_open(&error, &db), NAY_ECORRUPT);
  file_write("MANIFEST", good, len);
  assert_ok(try_open(&error, &db));
  model_check(&m, db, 0);
  kv_close(db);
  free(bytes);
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
static void check_or_error(const model *m, kv *db, size_t *errors) {
  for (unsigned i = 0; i < MODEL_KEYS; i++) {
    model_op op = {0};
    kv_bytes value = {0};
    model_key(i, &op);
    nay_status status = get(db, op.key, op.len, &value);
    if (status == NAY_OK || status == NAY_ENOENT)
      assert_true(model_holds(m, db, 0, i));
    else
      ++*errors;
    free(value.data);
  }
  size_t n = 0, want = 0;
  for (unsigned i = 0; i < MODEL_KEYS; i++) want += m->put[i] != 0;
  kv_iter it;
  nay_status status = iter_new(db, 0, NULL, NULL, &it);
  bool opened = status == NAY_OK || status == NAY_ENOENT;
  for (; status == NAY_OK; status = nay_merge_next(it.merge)) n++;
  if (status == NAY_ENOENT) assert_int_equal(n, want);
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
      check_or_error(m, db, &errors);
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
      TEST(a_log_cut_at_every_byte),
      TEST(a_log_that_ends_in_zeros),
      TEST(a_log_flipped_at_every_bit),
      TEST(a_log_that_is_missing),
      TEST(a_log_that_is_not_named),
      TEST(a_manifest_that_lies),
      TEST(a_manifest_damaged_at_every_byte),
      TEST(levels_that_overlap),
      TEST(tables_missing_half_written_flipped),
  };
  if (chdir("/dev/shm") != 0) print_message("# no /dev/shm: on the disk\n");
  dir = directory_make();
  int result = run_all(tests);
  directory_remove(&dir);
  return result;
}
