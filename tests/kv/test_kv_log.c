/*
 * test_kv_log.c - a store with a torn or a damaged log: cut and flipped at every byte, with holes,
 * of another store, missing, with records that no store writes. What was never known to be on the
 * disk is dropped, and that is said; damage to the rest is an error with its offset, and a repair
 * keeps the records that are whole.
 *
 * The files are in memory where the machine has /dev/shm: thousands of stores are opened.
 */
#define _GNU_SOURCE 1

#include <errno.h>
#include <fcntl.h>

#include "kv_damage.h"

#define OPERATIONS 24u
#define HEAD 16u   /* bytes at the start of a log */
#define RECORD 40u /* bytes of a record, besides key and value */

/* A store of a few short entries, all of them in its log, so that every byte of it can be tried. */
typedef struct sample_log {
  uint8_t bytes[4000];
  size_t len, starts[OPERATIONS + 1];
} sample_log;

static char sample_manifest[1000];

/* Entry i: key "k" and its letter, value its number. sync: each record states that all before it
 * are on the disk; else none but the head is. */
static sample_log log_sample(bool sync) {
  sample_log log = {.len = 0, .starts = {HEAD}};
  kv *db;
  kv_options options = model_options();
  options.sync = sync;
  store_clear();
  assert_ok(kv_open(dir.path, &options, NULL, &db));
  for (unsigned i = 0; i < OPERATIONS; i++) {
    char key[3] = {'k', (char)('a' + i), 0}, value[8];
    size_t n = (size_t)snprintf(value, sizeof value, "%u", i);
    assert_ok(put(db, key, 2, value, n));
    log.starts[i + 1] = log.starts[i] + RECORD + 2 + n;
  }
  kv_close(db);
  unsigned char *bytes = directory_read(directory_at(&dir, "000001.log"), &log.len);
  assert_int_equal(log.len, log.starts[OPERATIONS]);
  memcpy(log.bytes, bytes, log.len);
  free(bytes);
  size_t len;
  bytes = directory_read(directory_at(&dir, "MANIFEST"), &len);
  assert_true(len < sizeof sample_manifest);
  memset(sample_manifest, 0, sizeof sample_manifest);
  memcpy(sample_manifest, bytes, len);
  free(bytes);
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

/* The store of the last sample, with another log. */
static void store_with_log(const void *bytes, size_t len) {
  store_clear();
  file_write("MANIFEST", sample_manifest, strlen(sample_manifest));
  file_write("000001.log", bytes, len);
}

static unsigned log_whole(const sample_log *log, size_t len) {
  unsigned whole = 0;
  while (whole < OPERATIONS && log->starts[whole + 1] <= len) whole++;
  return whole;
}

/* The store opens with the first records, and says what it drops; further puts go on from there. */
static void check_torn(const sample_log *log, unsigned whole, size_t len) {
  kv *db;
  kv_error error = {""};
  char want[600] = "";
  if (len > log->starts[whole])
    snprintf(want, sizeof want,
             "%s/000001.log: recovered %u records, torn at offset %zu: %zu bytes dropped", dir.path,
             whole, log->starts[whole], len - log->starts[whole]);
  for (unsigned opened = 0; opened < 2; opened++) { /* to open it changes nothing */
    if (try_open(&error, &db) != NAY_OK) fail_msg("%zu bytes: %s", len, error.text);
    for (unsigned i = 0; i < OPERATIONS; i++) assert_int_equal(log_has(db, i), i < whole);
    assert_string_equal(error.text, want);
    if (opened == 1) assert_ok(put(db, "kz", 2, "25", 2));
    kv_close(db);
  }
  assert_ok(try_open(&error, &db));
  assert_string_equal(error.text, "");
  assert_true(log_has(db, 25));
  for (unsigned i = 0; i < OPERATIONS; i++) assert_int_equal(log_has(db, i), i < whole);
  kv_close(db);
}

static void check_damaged(const char *want) {
  kv *db;
  kv_error error = {""};
  assert_status(try_open(&error, &db), NAY_ECORRUPT);
  if (strstr(error.text, want) == NULL) fail_msg("%s, not %s", error.text, want);
}

static void a_log_cut_at_every_byte(void **state) {
  (void)state;
  for (int sync = 0; sync < 2; sync++) {
    sample_log log = log_sample(sync);
    for (size_t len = 0; len <= log.len; len++) {
      store_with_log(log.bytes, len);
      if (len < HEAD)
        check_damaged("000001.log: damaged at offset 0: not the head of this log");
      else
        check_torn(&log, log_whole(&log, len), len);
    }
  }
}

/* Some file systems leave zeros for what was not yet written: within a record, too. */
static void a_log_that_ends_in_zeros(void **state) {
  (void)state;
  sample_log log = log_sample(true);
  for (size_t len = log.starts[OPERATIONS - 2]; len <= log.len; len++) {
    for (size_t zeros = 1; zeros <= 4096; zeros *= 64) {
      static uint8_t bytes[10000];
      memset(bytes, 0, sizeof bytes);
      memcpy(bytes, log.bytes, len);
      store_with_log(bytes, len + zeros);
      unsigned whole = log_whole(&log, len); /* a last byte that is 0 was there already */
      while (whole < OPERATIONS && log.starts[whole + 1] <= len + zeros &&
             memcmp(bytes, log.bytes, log.starts[whole + 1]) == 0)
        whole++;
      check_torn(&log, whole, len + zeros);
    }
  }
}

/* A page of a log without syncs is lost, the later ones are there: from the first record that it
 * hits, all are dropped. */
static void a_log_with_a_hole(void **state) {
  (void)state;
  const sample_log log = log_sample(false);
  for (size_t at = HEAD; at < log.len; at += 5) {
    for (size_t n = 1; n <= 256; n *= 4) {
      sample_log bad = log;
      size_t end = at + n < log.len ? at + n : log.len, first = at;
      memset(bad.bytes + at, 0, end - at);
      while (first < end && log.bytes[first] == 0) first++; /* those were zeros */
      if (first == end) continue;
      store_with_log(bad.bytes, bad.len);
      check_torn(&log, log_whole(&log, first), log.len);
    }
  }
}

/* What a repair leaves: all entries but one, the damaged log, and a store that takes puts. */
static void check_repaired(const sample_log *bad, unsigned lost, size_t lost_bytes) {
  kv *db;
  kv_error error = {""};
  char want[200];
  size_t len = 0;
  assert_ok(kv_repair(dir.path, &error));
  snprintf(want, sizeof want,
           "000001.log: %u records are whole, %zu bytes are lost from offset %zu", OPERATIONS - 1,
           lost_bytes, bad->starts[lost]);
  if (strstr(error.text, want) == NULL) fail_msg("%s, not %s", error.text, want);
  unsigned char *aside = directory_read(directory_at(&dir, "000001.log.damaged"), &len);
  assert_int_equal(len, bad->len);
  assert_memory_equal(aside, bad->bytes, len);
  free(aside);
  for (unsigned opened = 0; opened < 2; opened++) {
    assert_ok(try_open(&error, &db));
    assert_string_equal(error.text, "");
    for (unsigned i = 0; i < OPERATIONS; i++) assert_int_equal(log_has(db, i), i != lost);
    assert_int_equal(log_has(db, 25), opened == 1);
    assert_ok(put(db, "kz", 2, "25", 2));
    kv_close(db);
  }
  assert_int_equal(access(directory_at(&dir, "000001.log"), F_OK), -1);
  assert_ok(kv_repair(dir.path, &error));
  assert_string_equal(error.text, "");
}

/* With syncs only the last record can be torn; what is below a stated offset is damage. */
static void a_log_flipped_at_every_bit(void **state) {
  (void)state;
  for (int sync = 0; sync < 2; sync++) {
    const sample_log log = log_sample(sync);
    for (size_t bit = 0; bit < 8 * log.len; bit += bit < 8 * 300 ? 1 : 7) {
      sample_log bad = log;
      char want[100];
      unsigned hit = log_whole(&log, bit / 8);
      bad.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
      store_with_log(bad.bytes, bad.len);
      if (bit < 8 * HEAD) {
        check_damaged("000001.log: damaged at offset 0: not the head of this log");
      } else if (!sync || hit == OPERATIONS - 1) {
        check_torn(&log, hit, log.len);
      } else {
        snprintf(want, sizeof want,
                 "000001.log: damaged at offset %zu: the log was on the disk up to offset %zu",
                 log.starts[hit], log.starts[OPERATIONS - 1]);
        check_damaged(want);
        check_repaired(&bad, hit, log.starts[hit + 1] - log.starts[hit]);
      }
    }
  }
}

/* All records are whole and the head is not; the log is gone. */
static void repairs_of_the_whole_log(void **state) {
  (void)state;
  sample_log log = log_sample(false);
  for (int gone = 0; gone < 2; gone++) {
    kv *db;
    kv_error error = {""};
    store_with_log(log.bytes, log.len);
    log.bytes[0] ^= 1;
    if (gone)
      unlink(directory_at(&dir, "000001.log"));
    else
      file_write("000001.log", log.bytes, log.len);
    assert_ok(kv_repair(dir.path, &error));
    const char *want =
        gone ? "000001.log: missing" : "24 records are whole, 16 bytes are lost from offset 0";
    if (strstr(error.text, want) == NULL) fail_msg("%s, not %s", error.text, want);
    assert_ok(try_open(&error, &db));
    for (unsigned i = 0; i < OPERATIONS; i++) assert_int_equal(log_has(db, i), !gone);
    kv_close(db);
  }
  kv_error error = {""};
  store_clear();
  assert_status(kv_repair(dir.path, &error), NAY_ENOENT);
  assert_int_equal(directory_count(&dir, NULL), 0);
}

/* The log of another store, and one of another number. */
static void a_log_of_another_store(void **state) {
  (void)state;
  const sample_log other = log_sample(false), log = log_sample(false);
  assert_memory_not_equal(other.bytes, log.bytes, log.len);
  store_with_log(other.bytes, other.len);
  check_damaged("000001.log: damaged at offset 0: not the head of this log");
  store_with_log(log.bytes, log.len);
  check_torn(&log, OPERATIONS, log.len);
}

/* ---- records that no crash and no damage makes ---- */

static uint64_t sample_checksum(unsigned log, const void *bytes, size_t len) {
  uint8_t key[16] = {0};
  const uint64_t store = strtoull(strstr(sample_manifest, "store ") + 6, NULL, 16);
  for (unsigned i = 0; i < 8; i++) key[i] = (uint8_t)(store >> 8 * i);
  key[8] = (uint8_t)log;
  return nay__siphash(key, bytes, len, 1, 3);
}

static void put_number(uint8_t *at, size_t n, uint64_t number) {
  for (size_t i = 0; i < n; i++) at[i] = (uint8_t)(number >> 8 * i);
}

/* Makes the checksums of the record at an offset of log 1 right. */
static void log_seal(uint8_t *bytes, size_t at, size_t body) {
  put_number(bytes + at + 4, 4, (uint32_t)sample_checksum(1, bytes + at + 32, body));
  put_number(bytes + at, 4, (uint32_t)sample_checksum(1, bytes + at + 4, 28));
}

static void records_that_no_store_writes(void **state) {
  (void)state;
  const sample_log log = log_sample(false);
  const size_t at = log.starts[5], body = log.starts[6] - at - 32;
  const struct {
    size_t field, bytes;
    uint64_t value;
    const char *text;
  } lies[] = {
      {8, 4, 0xffffffff, "no store writes this"},       /* length of the key */
      {12, 4, (64u << 20) + 1, "no store writes this"}, /* length of the value */
      {24, 8, at + 1, "no store writes this"},          /* on the disk before it was written */
      {24, 8, UINT64_MAX, "no store writes this"},
      {34, 1, 9, "no store writes this"}, /* type */
      {34, 1, 2, "no store writes this"}, /* a merge operand */
      {35, 1, 99, "records are missing"}, /* sequence */
  };
  for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
    sample_log bad = log;
    put_number(bad.bytes + at + lies[i].field, lies[i].bytes, lies[i].value);
    log_seal(bad.bytes, at, body);
    store_with_log(bad.bytes, bad.len);
    char want[100];
    snprintf(want, sizeof want, "000001.log: damaged at offset %zu: %s", at, lies[i].text);
    check_damaged(want);
    kv_error error = {""};
    kv *db;
    assert_ok(kv_repair(dir.path, &error));
    assert_ok(try_open(&error, &db));
    for (unsigned k = 0; k < 5; k++) assert_true(log_has(db, k));
    kv_close(db);
  }
  sample_log last = log; /* a length that the file does not have */
  put_number(last.bytes + log.starts[OPERATIONS - 1] + 12, 4, 1000);
  log_seal(last.bytes, log.starts[OPERATIONS - 1], body);
  store_with_log(last.bytes, last.len);
  check_torn(&log, OPERATIONS - 1, log.len);
}

/* A value that is the log itself: what it says of offsets is not taken for records. */
static void a_log_inside_of_a_value(void **state) {
  (void)state;
  sample_log log = log_sample(true);
  kv *db;
  kv_error error = {""};
  size_t len = 0;
  store_with_log(log.bytes, log.len);
  assert_ok(try_open(&error, &db));
  for (unsigned i = 0; i < 3; i++) assert_ok(put(db, "log", 3, log.bytes, log.len));
  kv_close(db);
  unsigned char *bytes = directory_read(directory_at(&dir, "000001.log"), &len);
  memset(bytes + log.len, 0, 32); /* the header of the first of them */
  store_with_log(bytes, len);
  check_torn(&log, OPERATIONS, len);
  free(bytes);
}

static void a_log_that_is_no_file(void **state) {
  (void)state;
  kv *db;
  kv_error error;
  log_sample(false);
  assert_int_equal(unlink(directory_at(&dir, "000001.log")), 0);
  assert_int_equal(mkfifo(directory_at(&dir, "000001.log"), 0666), 0);
  assert_status(try_open(&error, &db), NAY_EIO);
  assert_non_null(strstr(error.text, "000001.log: not a regular file"));
  assert_int_equal(unlink(directory_at(&dir, "000001.log")), 0);
  assert_int_equal(mkdir(directory_at(&dir, "000001.log"), 0777), 0);
  assert_status(try_open(&error, &db), NAY_EIO);
  assert_non_null(strstr(error.text, "000001.log: not a regular file"));
}

static void a_log_that_is_missing(void **state) {
  (void)state;
  kv *db;
  kv_error error = {""};
  log_sample(false);
  unlink(directory_at(&dir, "000001.log"));
  assert_status(try_open(&error, &db), NAY_EIO);
  assert_non_null(strstr(error.text, "000001.log"));
  assert_non_null(strstr(error.text, strerror(ENOENT)));
}

/* A log that is not named, and not older than those that are, has what was acknowledged. */
static void a_log_that_is_not_named(void **state) {
  (void)state;
  sample_log log = log_sample(false);
  kv *db;
  kv_error error = {""};
  store_with_log(log.bytes, log.len);
  file_write("000002.log", log.bytes, HEAD); /* that a crash left */
  file_write("000003.log", log.bytes, log.len);
  assert_status(try_open(&error, &db), NAY_ECORRUPT);
  assert_non_null(strstr(error.text, "000003.log: not in MANIFEST"));
  unlink(directory_at(&dir, "000003.log"));
  assert_ok(try_open(&error, &db));
  assert_int_equal(access(directory_at(&dir, "000002.log"), F_OK), -1);
  for (unsigned i = 0; i < OPERATIONS; i++) assert_true(log_has(db, i));
  kv_close(db);
}

/* Of two logs the older one was on the disk before the newer one took a put, and the manifest has
 * its length: it is never torn. */
static void an_older_log_is_whole(void **state) {
  (void)state;
  sample_log log = log_sample(false);
  uint8_t head[HEAD] = "kv log 1";
  put_number(head + 8, 8, sample_checksum(2, head, 8));
  for (size_t len = HEAD; len <= log.len + 1; len++) {
    kv *db;
    kv_error error = {""};
    char line[100];
    log.bytes[log.len] = 1;
    store_with_log(log.bytes, len);
    snprintf(line, sizeof line, "logs 1 %zu 2 16\n", log.len);
    manifest_edit(sample_manifest, "logs", line);
    file_write("000002.log", head, HEAD);
    nay_status status = try_open(&error, &db);
    assert_status(status, len == log.len ? NAY_OK : NAY_ECORRUPT);
    const char *want = len < log.len ? "000001.log: damaged at offset" : "and not the newest log";
    if (status != NAY_OK && strstr(error.text, want) == NULL) fail_msg("%s", error.text);
    if (status == NAY_OK) kv_close(db);
    assert_ok(kv_repair(dir.path, &error));
    assert_ok(try_open(&error, &db));
    for (unsigned i = 0; i < OPERATIONS; i++)
      assert_int_equal(log_has(db, i), i < log_whole(&log, len));
    kv_close(db);
  }
}

int main(void) {
  const test_case tests[] = {
      TEST(a_log_cut_at_every_byte),  TEST(a_log_that_ends_in_zeros),
      TEST(a_log_with_a_hole),        TEST(a_log_flipped_at_every_bit),
      TEST(repairs_of_the_whole_log), TEST(records_that_no_store_writes),
      TEST(a_log_inside_of_a_value),  TEST(a_log_of_another_store),
      TEST(a_log_that_is_no_file),    TEST(a_log_that_is_missing),
      TEST(a_log_that_is_not_named),  TEST(an_older_log_is_whole),
  };
  if (chdir("/dev/shm") != 0) print_message("# no /dev/shm: on the disk\n");
  dir = directory_make();
  int result = run_all(tests);
  directory_remove(&dir);
  return result;
}
