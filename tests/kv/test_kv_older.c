/*
 * test_kv_older.c - files that do not belong together, and tables that lie: a manifest that is
 * older than the files beside it (a store that was copied while it was open), files that nothing
 * names, and ranges of keys that a table states and does not have. The store opens with all that
 * the files have, or says which file is wrong; a repair overwrites and removes nothing that it does
 * not know.
 */
#define _GNU_SOURCE 1

#include "kv_damage.h"
#include "support/sst_seal.h"

/* ---- a store at one moment ---- */

enum { FILES = 40, STATES = 18 };

typedef struct saved_file {
  char name[64];
  unsigned char *bytes;
  size_t len;
} saved_file;

typedef struct saved {
  saved_file files[FILES];
  size_t n;
  model m;
} saved;

static saved save(void) {
  saved s = {.n = 0};
  DIR *d = opendir(dir.path);
  for (const struct dirent *e; (e = readdir(d)) != NULL;) {
    if (e->d_name[0] == '.') continue;
    assert_true(s.n < FILES);
    saved_file *f = &s.files[s.n++];
    snprintf(f->name, sizeof f->name, "%.63s", e->d_name);
    f->bytes = directory_read(directory_at(&dir, f->name), &f->len);
  }
  closedir(d);
  return s;
}

static void saved_free(saved *s) {
  for (size_t i = 0; i < s->n; i++) free(s->files[i].bytes);
}

static const saved_file *saved_manifest(const saved *s) {
  for (size_t i = 0; i < s->n; i++)
    if (strcmp(s->files[i].name, "MANIFEST") == 0) return &s->files[i];
  fail_msg("there is no MANIFEST");
  return NULL;
}

/* The files of one moment, the manifest of another. */
static void restore(const saved *files, const saved *manifest) {
  const saved_file *m = saved_manifest(manifest);
  store_clear();
  for (size_t i = 0; i < files->n; i++)
    file_write(files->files[i].name, files->files[i].bytes, files->files[i].len);
  file_write(m->name, m->bytes, m->len);
}

/* What was restored is there, and nothing else. */
static void check_unchanged(const saved *files, const saved *manifest) {
  assert_int_equal(directory_count(&dir, NULL), files->n);
  for (size_t i = 0; i < files->n; i++) {
    const saved_file *f = &files->files[i];
    if (strcmp(f->name, "MANIFEST") == 0) f = saved_manifest(manifest);
    if (!directory_holds(directory_at(&dir, f->name), f->bytes, f->len))
      fail_msg("%s has changed", f->name);
  }
}

/* ---- manifests that are older ---- */

/* Each state has three operations more than the one before; at each third one they become a table.
 * Some of those are merged. */
static void states_make(saved *states) {
  store_clear();
  model m = {.seed = 8};
  for (uint64_t i = 0; i < STATES; i++) {
    kv *db = model_open(dir.path, model_options());
    for (uint64_t k = 3 * i; k < 3 * i + 3; k++) {
      assert_ok(model_write(db, m.seed, k, NULL));
      model_apply(&m, k);
    }
    if (i % 3 != 0) assert_ok(kv_settle(db, NULL));
    kv_close(db);
    states[i] = save();
    states[i].m = m;
  }
}

/* Opens what is in the directory: it has all, or it is refused and nothing is changed. */
static bool opens_whole(const saved *files, const saved *manifest) {
  kv *db;
  kv_error error = {""};
  nay_status status = try_open(&error, &db);
  if (status != NAY_OK) {
    if (strstr(error.text, dir.path) == NULL) fail_msg("no file is named: %s", error.text);
    check_unchanged(files, manifest);
    return false;
  }
  model_check(&files->m, db, 0);
  kv_close(db);
  return true;
}

static void manifests_that_are_older(void **state) {
  (void)state;
  static saved states[STATES];
  unsigned refused = 0;
  states_make(states);
  for (size_t i = 0; i < STATES; i++) {
    for (size_t k = i; k < STATES; k++) {
      kv_error error = {""};
      restore(&states[k], &states[i]);
      if (opens_whole(&states[k], &states[i])) continue;
      assert_true(k > i);
      nay_status status = kv_repair(dir.path, &error);
      if (status == NAY_OK)
        fail_msg("MANIFEST of %zu, files of %zu: repaired: %s", i, k, error.text);
      check_unchanged(&states[k], &states[i]);
      refused++;
    }
  }
  assert_true(refused > STATES);
  for (size_t i = 0; i < STATES; i++) saved_free(&states[i]);
}

/* The log that the manifest names is there and whole; a table has what came after it. */
static void a_table_that_is_newer(void **state) {
  (void)state;
  kv_error error = {""};
  store_clear();
  kv *db = model_open(dir.path, model_options());
  assert_ok(put(db, "a", 1, "1", 1));
  saved first = save();
  assert_ok(put(db, "b", 1, "2", 1));
  assert_ok(kv_settle(db, NULL));
  kv_close(db);
  saved last = save();
  restore(&last, &first);
  for (size_t i = 0; i < first.n; i++)
    if (strcmp(first.files[i].name, "000001.log") == 0)
      file_write("000001.log", first.files[i].bytes, first.files[i].len);
  const unsigned before = directory_count(&dir, NULL);
  for (unsigned repairs = 0; repairs < 2; repairs++) {
    nay_status status = repairs ? kv_repair(dir.path, &error) : try_open(&error, &db);
    assert_status(status, NAY_ECORRUPT);
    assert_non_null(strstr(error.text, "000003.ldb: not in MANIFEST"));
    assert_int_equal(directory_count(&dir, NULL), before);
  }
  saved_free(&first);
  saved_free(&last);
}

/* ---- files that nothing names ---- */

/* Four records in a log of synced puts, the second of them damaged. */
static void store_damage(void) {
  kv_options options = {.sync = true};
  store_clear();
  kv *db = model_open(dir.path, options);
  for (unsigned i = 0; i < 4; i++) assert_ok(put(db, &"abcd"[i], 1, "v", 1));
  kv_close(db);
  size_t len = 0;
  unsigned char *log = directory_read(directory_at(&dir, "000001.log"), &len);
  log[16 + 42 + 35] ^= 1;
  file_write("000001.log", log, len);
  free(log);
}

static void check_repaired(void) {
  kv_error error = {""};
  kv_bytes value = {0};
  kv *db;
  assert_ok(try_open(&error, &db));
  for (unsigned i = 0; i < 4; i++)
    assert_status(get(db, &"abcd"[i], 1, &value), i == 1 ? NAY_ENOENT : NAY_OK);
  kv_close(db);
  free(value.data);
}

static void files_that_nothing_names_are_kept(void **state) {
  (void)state;
  kv_error error = {""};
  store_damage();
  file_write("000002.ldb", "two", 3); /* the number that a repair would take next */
  file_write("000003.log", "", 0);    /* has no record */
  file_write("000007.ldb", "seven", 5);
  file_write("000009.log.damaged", "nine", 4); /* of an earlier repair */
  file_write("1 note", "text", 4);
  assert_ok(kv_repair(dir.path, &error));
  assert_non_null(strstr(error.text, "000001.log: 3 records are whole, 42 bytes are lost"));
  assert_non_null(strstr(error.text, "; 000002.ldb: not in MANIFEST, kept as 000002.ldb.damaged"));
  assert_non_null(strstr(error.text, "; 000007.ldb: not in MANIFEST, kept as 000007.ldb.damaged"));
  for (unsigned opened = 0; opened < 2; opened++) {
    assert_true(directory_holds(directory_at(&dir, "000002.ldb.damaged"), "two", 3));
    assert_true(directory_holds(directory_at(&dir, "000007.ldb.damaged"), "seven", 5));
    assert_true(directory_holds(directory_at(&dir, "000009.log.damaged"), "nine", 4));
    assert_true(directory_holds(directory_at(&dir, "1 note"), "text", 4));
    assert_int_equal(access(directory_at(&dir, "000010.ldb"), F_OK), 0);
    assert_int_equal(access(directory_at(&dir, "000011.log"), F_OK), 0);
    check_repaired();
  }
}

/* A repair refuses to write over a file, and changes nothing. */
static void files_that_are_in_the_way(void **state) {
  (void)state;
  static const struct {
    const char *name, *other; /* other: a file that would get this name; or NULL */
    nay_status status;
    const char *text;
  } ways[] = {
      {"000001.log.damaged", NULL, NAY_EIO, "000001.log.damaged: is in the way"},
      {"000004.ldb.damaged", "000004.ldb", NAY_EIO, "000004.ldb.damaged: is in the way"},
      {"000002.log", NULL, NAY_ECORRUPT, "000002.log: not in MANIFEST"},
      {"999999999999.ldb", NULL, NAY_EFULL, "file numbers are used up"},
  };
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
    kv_error error = {""};
    store_damage();
    file_write(ways[i].name, "some bytes of someone", 21);
    if (ways[i].other != NULL) file_write(ways[i].other, "others", 6);
    nay_status status = kv_repair(dir.path, &error);
    if (status != ways[i].status || strstr(error.text, ways[i].text) == NULL)
      fail_msg("%s: %s: %s", ways[i].name, nay_status_name(status), error.text);
    assert_true(directory_holds(directory_at(&dir, ways[i].name), "some bytes of someone", 21));
    if (ways[i].other != NULL)
      assert_true(directory_holds(directory_at(&dir, ways[i].other), "others", 6));
    unlink(directory_at(&dir, ways[i].name));
    assert_ok(kv_repair(dir.path, &error));
    check_repaired();
  }
}

/* ---- tables that lie ---- */

/* The properties state other keys than the table has, and every checksum fits. */
static void ranges_that_lie(void **state) {
  (void)state;
  static const struct {
    const char *from, *to;
  } lies[] = {{"largest.keyk40", "largest.keyk15"},
              {"largest.keyk40", "largest.keyz99"},
              {"smallest.keyk10", "smallest.keyk35"},
              {"smallest.keyk10", "smallest.keya00"}};
  for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
    kv_error error = {""};
    size_t len = 0;
    store_clear();
    kv *db = model_open(dir.path, model_options());
    for (int k = 10; k <= 40; k++) {
      char key[8];
      snprintf(key, sizeof key, "k%d", k);
      assert_ok(put(db, key, 3, "old", 3));
    }
    assert_ok(kv_settle(db, NULL));
    kv_close(db);
    unsigned char *bytes = directory_read(directory_at(&dir, "000003.ldb"), &len);
    unsigned char *at = memmem(bytes, len, lies[i].from, strlen(lies[i].from));
    assert_non_null(at);
    memcpy(at, lies[i].to, strlen(lies[i].to));
    seal_properties(bytes, len);
    file_write("000003.ldb", bytes, len);
    assert_status(try_open(&error, &db), NAY_ECORRUPT);
    if (strstr(error.text, "000003.ldb: its keys are not those that it states") == NULL)
      fail_msg("%s: %s", lies[i].to, error.text);
    assert_status(kv_repair(dir.path, &error), NAY_ECORRUPT);
    assert_true(directory_holds(directory_at(&dir, "000003.ldb"), bytes, len));
    free(bytes);
  }
}

int main(void) {
  const test_case tests[] = {
      TEST(manifests_that_are_older),
      TEST(a_table_that_is_newer),
      TEST(files_that_nothing_names_are_kept),
      TEST(files_that_are_in_the_way),
      TEST(ranges_that_lie),
  };
  if (chdir("/dev/shm") != 0) print_message("# no /dev/shm: on the disk\n");
  dir = directory_make();
  int result = run_all(tests);
  directory_remove(&dir);
  return result;
}
