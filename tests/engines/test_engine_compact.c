/*
 * test_engine_compact.c - the tables of a real LevelDB database, with all their versions and
 * deletions, compacted by us: the result has exactly what the database shows its users.
 */
#define _GNU_SOURCE 1
#include "database.h"
#include "nay_sst_compact.h"
#include "nay_sst_iter.h"
#include "support/snappy_codec.h"

#define N_USERS 3000u
#define N_SESSIONS 6u
#define N_WRITES 4000u
#define MAX_TABLES 64

/* Each session ends in a table: a database writes out its log when it is opened again. */
static void write_sessions(const char *path) {
  for (unsigned session = 0; session < N_SESSIONS; session++) {
    database d = database_open(path, nay_leveldb_policy(NAY_LEVELDB_NAY, 10));
    leveldb_writeoptions_t *write = leveldb_writeoptions_create();
    for (unsigned i = 0; i < N_WRITES; i++) {
      uint64_t random = nay_hash_mix(session * 1000000 + i);
      char key[32], value[64], *error = NULL;
      size_t len = database_key(random % N_USERS, key);
      if ((random >> 40) % 3 == 0) {
        leveldb_delete(d.db, write, key, len, &error);
      } else {
        size_t value_len = (size_t)sprintf(value, "session %u write %u", session, i);
        leveldb_put(d.db, write, key, len, value, value_len, &error);
      }
      database_check(error);
    }
    leveldb_writeoptions_destroy(write);
    database_close(&d);
  }
  database d = database_open(path, NULL);
  database_close(&d);
}

/* In any order: sequence numbers say which version is newer. */
static size_t open_tables(const directory *f, const nay_sst **tables) {
  nay_sst_read_options how = {
      .size = sizeof how, .keys = NAY_SST_KEYS_INTERNAL, .codecs = snappy_codecs, .ncodecs = 1};
  size_t n = 0;
  DIR *dir = opendir(f->path);
  for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
    if (strstr(e->d_name, ".ldb") == NULL) continue;
    nay_sst *t;
    assert_ok(nay_sst_open(directory_at(f, e->d_name), &how, NULL, NULL, &t));
    assert_true(n < MAX_TABLES);
    tables[n++] = t;
  }
  closedir(dir);
  return n;
}

static void compact_all(const directory *f, const char *path, nay_sst_compact_stats *stats) {
  const nay_sst *tables[MAX_TABLES];
  size_t n = open_tables(f, tables);
  assert_true(n >= 2);
  nay_sst_write_options write = {sizeof write, .filter = NAY_SST_FULL_FILTER};
  nay_sst_compact_options how = {sizeof how, .write = &write, .bottom = true};
  assert_ok(nay_sst_compact(tables, n, path, &how, NULL, NULL, stats));
  for (size_t i = 0; i < n; i++) nay_sst_free((nay_sst *)(uintptr_t)tables[i]);
}

/* Entry by entry beside LevelDB's own iterator. */
static uint64_t compare(const char *path, const nay_sst *t) {
  database d = database_open(path, NULL);
  leveldb_iterator_t *theirs = leveldb_create_iterator(d.db, d.read);
  nay_sst_iter *ours;
  uint64_t n = 0;
  assert_ok(nay_sst_iter_new(t, NULL, &ours));
  leveldb_iter_seek_to_first(theirs);
  nay_status status = nay_sst_iter_first(ours);
  for (; leveldb_iter_valid(theirs); leveldb_iter_next(theirs), n++) {
    size_t len, want_len;
    nay_sst_entry v = {.size = sizeof v};
    assert_ok(status);
    const void *key = nay_sst_iter_key(ours, &len);
    assert_ok(nay_sst_key_split(key, len, &v));
    const char *want = leveldb_iter_key(theirs, &want_len);
    assert_int_equal(v.type, NAY_SST_PUT);
    assert_int_equal(v.len, want_len);
    assert_memory_equal(v.key, want, want_len);
    const void *value = nay_sst_iter_value(ours, &len);
    want = leveldb_iter_value(theirs, &want_len);
    assert_int_equal(len, want_len);
    assert_memory_equal(value, want, want_len);
    assert_true(nay_sst_may_contain(t, v.key, v.len));
    status = nay_sst_iter_next(ours);
  }
  assert_status(status, NAY_EEND);
  nay_sst_iter_free(ours);
  leveldb_iter_destroy(theirs);
  database_close(&d);
  return n;
}

static void a_database_compacted_by_us(void **state) {
  (void)state;
  directory f = directory_make(), out = directory_make();
  nay_sst_compact_stats stats = {.size = sizeof stats};
  write_sessions(f.path);
  const char *path = directory_at(&out, "all.ldb");
  compact_all(&f, path, &stats);
  nay_sst *t;
  assert_ok(nay_sst_open(path, NULL, NULL, NULL, &t));
  assert_int_equal(compare(f.path, t), stats.written);
  assert_true(stats.superseded > 0 && stats.deletions > 0 && stats.written > N_USERS / 2);
  nay_sst_free(t);
  directory_remove(&out);
  directory_remove(&f);
}

int main(void) {
  const test_case tests[] = {TEST(a_database_compacted_by_us)};
  return run_all(tests);
}
