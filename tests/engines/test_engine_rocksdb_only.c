/*
 * test_engine_rocksdb_only.c - tables of a real RocksDB, in format 0 (LevelDB's footer and blocks),
 * that have what only RocksDB has: range deletions, its codecs, its kinds of indexes, the sequence
 * number of an ingested table. Each is read rightly or refused by name (NAY_ENOTSUP), mapped, with
 * reads, and through a cache: never called damaged, and no deleted or older value comes back.
 */
#define _POSIX_C_SOURCE 200809L
#include <nay_codecs.h>
#include <rocksdb/c.h>

#include "nay_sst_cache.h"
#include "nay_sst_iter.h"
#include "support/directory.h"
#include "support/test.h"

#define KEYS 400u
#define READERS 3u

typedef struct row {
  const char *name;
  const char *options; /* of RocksDB, beside the format */
  const char *table;   /* options of its tables */
  const char *refused; /* what the reader says; NULL: all answers are right */
} row;

typedef struct store {
  directory at;
  rocksdb_t *db;
  rocksdb_options_t *options;
  rocksdb_writeoptions_t *write;
} store;

static void no_error(char *error) {
  if (error != NULL) fail_msg("RocksDB: %s", error);
}

static size_t key_of(unsigned i, char key[32]) { return (size_t)snprintf(key, 32, "key%06u", i); }

static size_t value_of(unsigned i, const char *version, char value[64]) {
  return (size_t)snprintf(value, 64, "%s of %06u, which compresses: aaaaaaaaaaaaaaa", version, i);
}

/* ---- the database ---- */

static store store_open(const row *r) {
  char text[512], *error = NULL;
  store s = {.at = directory_make()};
  snprintf(text, sizeof text,
           "create_if_missing=true;disable_auto_compactions=true;%s;block_based_table_factory={"
           "format_version=0;checksum=kCRC32c;block_size=512;%s}",
           r->options, r->table);
  rocksdb_options_t *base = rocksdb_options_create();
  s.options = rocksdb_options_create();
  s.write = rocksdb_writeoptions_create();
  rocksdb_get_options_from_string(base, text, s.options, &error);
  no_error(error);
  rocksdb_options_destroy(base);
  s.db = rocksdb_open(s.options, directory_at(&s.at, "db"), &error);
  no_error(error);
  return s;
}

static void store_close(store *s) {
  rocksdb_close(s->db);
  rocksdb_writeoptions_destroy(s->write);
  rocksdb_options_destroy(s->options);
  directory_remove(&s->at);
}

static void store_flush(store *s) {
  char *error = NULL;
  rocksdb_flushoptions_t *how = rocksdb_flushoptions_create();
  rocksdb_flush(s->db, how, &error);
  no_error(error);
  rocksdb_flushoptions_destroy(how);
}

static void store_put(store *s, unsigned from, unsigned to, const char *version) {
  for (unsigned i = from; i < to; i++) {
    char key[32], value[64], *error = NULL;
    size_t len = key_of(i, key), value_len = value_of(i, version, value);
    rocksdb_put(s->db, s->write, key, len, value, value_len, &error);
    no_error(error);
  }
  store_flush(s);
}

static void store_delete_range(store *s, unsigned from, unsigned to) {
  char first[32], end[32], *error = NULL;
  size_t first_len = key_of(from, first), end_len = key_of(to, end);
  rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
  rocksdb_writebatch_delete_range(batch, first, first_len, end, end_len);
  rocksdb_write(s->db, s->write, batch, &error);
  no_error(error);
  rocksdb_writebatch_destroy(batch);
}

/* A table of SstFileWriter. */
static const char *store_write_table(store *s, const char *version) {
  char *error = NULL;
  const char *path = directory_at(&s->at, "external.sst");
  rocksdb_envoptions_t *env = rocksdb_envoptions_create();
  rocksdb_sstfilewriter_t *w = rocksdb_sstfilewriter_create(env, s->options);
  rocksdb_sstfilewriter_open(w, path, &error);
  no_error(error);
  for (unsigned i = 0; i < KEYS; i++) {
    char key[32], value[64];
    size_t len = key_of(i, key), value_len = value_of(i, version, value);
    rocksdb_sstfilewriter_put(w, key, len, value, value_len, &error);
    no_error(error);
  }
  rocksdb_sstfilewriter_finish(w, &error);
  no_error(error);
  rocksdb_sstfilewriter_destroy(w);
  rocksdb_envoptions_destroy(env);
  return path;
}

static void store_ingest(store *s, const char *path) {
  char *error = NULL;
  rocksdb_ingestexternalfileoptions_t *how = rocksdb_ingestexternalfileoptions_create();
  rocksdb_ingest_external_file(s->db, &path, 1, how, &error);
  no_error(error);
  rocksdb_ingestexternalfileoptions_destroy(how);
}

/* ---- readers of a table ---- */

static nay_sst_read_options reader(unsigned i, nay_sst_cache *cache) {
  static const uint32_t flags[READERS] = {0, NAY_SST_PREAD, NAY_SST_PREAD | NAY_SST_BUDGETED};
  nay_sst_read_options how = {.size = sizeof how, .flags = flags[i]};
  how.codecs = nay_codecs(&how.ncodecs);
  if ((flags[i] & NAY_SST_BUDGETED) != 0) how.cache = cache;
  return how;
}

static void assert_not_supported(nay_status status, const nay_diag *diag, const char *what) {
  assert_status(status, NAY_ENOTSUP);
  if (strstr(diag->what, what) == NULL) fail_msg("says: %s", diag->what);
}

/* Every get and both walks of a table that opens in spite of what it has. */
static void assert_reads_refused(const nay_sst *t, const char *what) {
  nay_sst_value v = {.size = sizeof v};
  nay_sst_iter *it;
  for (unsigned i = 0; i < KEYS; i++) {
    char key[32];
    nay_diag diag = {.what = NULL};
    size_t len = key_of(i, key);
    assert_not_supported(nay_sst_get(t, key, len, NAY_SST_NEWEST, &diag, &v), &diag, what);
  }
  nay_sst_value_free(&v);
  assert_ok(nay_sst_iter_new(t, NULL, &it));
  assert_status(nay_sst_iter_first(it), NAY_ENOTSUP);
  assert_status(nay_sst_iter_last(it), NAY_ENOTSUP);
  nay_sst_iter_free(it);
}

static void assert_refused(const char *path, const char *what) {
  for (unsigned i = 0; i < READERS; i++) {
    nay_sst *t = NULL;
    nay_sst_cache *cache;
    nay_diag diag = {.what = NULL};
    assert_ok(nay_sst_cache_new(
        &(nay_sst_cache_options){sizeof(nay_sst_cache_options), 1 << 16, 1 << 16, false}, NULL,
        NULL, &cache));
    nay_sst_read_options how = reader(i, cache);
    nay_status status = nay_sst_open(path, &how, NULL, &diag, &t);
    if (status == NAY_OK) {
      assert_reads_refused(t, what);
    } else {
      assert_not_supported(status, &diag, what);
    }
    nay_sst_free(t);
    nay_sst_cache_free(cache);
  }
}

/* The values of a table that has all keys but those of [from, to). */
static void assert_right(const char *path, const char *version, unsigned from, unsigned to) {
  for (unsigned r = 0; r < READERS; r++) {
    nay_sst *t;
    nay_sst_cache *cache;
    nay_diag diag = {.what = NULL};
    nay_sst_value v = {.size = sizeof v};
    assert_ok(nay_sst_cache_new(
        &(nay_sst_cache_options){sizeof(nay_sst_cache_options), 1 << 16, 1 << 16, false}, NULL,
        NULL, &cache));
    nay_sst_read_options how = reader(r, cache);
    if (nay_sst_open(path, &how, NULL, &diag, &t) != NAY_OK) fail_msg("%s", diag.what);
    for (unsigned i = 0; i < KEYS; i++) {
      char key[32], value[64];
      size_t len = key_of(i, key), value_len = value_of(i, version, value);
      nay_status status = nay_sst_get(t, key, len, NAY_SST_NEWEST, &diag, &v);
      assert_status(status, i >= from && i < to ? NAY_ENOENT : NAY_OK);
      if (status != NAY_OK) continue;
      assert_int_equal(v.len, value_len);
      assert_memory_equal(v.bytes, value, value_len);
    }
    nay_sst_value_free(&v);
    nay_sst_free(t);
    nay_sst_cache_free(cache);
  }
}

/* The path of the i-th table, newest first; false past the last. */
static bool table_path(store *s, int i, char path[512]) {
  const rocksdb_livefiles_t *files = rocksdb_livefiles(s->db);
  bool found = i < rocksdb_livefiles_count(files);
  if (found) snprintf(path, 512, "%s/db%s", s->at.path, rocksdb_livefiles_name(files, i));
  rocksdb_livefiles_destroy(files);
  return found;
}

/* ---- tests ---- */

#define NO_INDEX "enable_index_compression=false"
static const row rows[] = {
    {"plain", "compression=kNoCompression", "", NULL},
    {"snappy", "compression=kSnappyCompression", "", NULL},
    {"snappy, index plain", "compression=kSnappyCompression", NO_INDEX, NULL},
    {"zlib", "compression=kZlibCompression", "", "a RocksDB codec other than snappy"},
    {"zlib, index plain", "compression=kZlibCompression", NO_INDEX,
     "a RocksDB codec other than snappy"},
    {"lz4", "compression=kLZ4Compression", "", "a RocksDB codec other than snappy"},
    {"lz4, index plain", "compression=kLZ4Compression", NO_INDEX,
     "a RocksDB codec other than snappy"},
    {"lz4hc", "compression=kLZ4HCCompression", NO_INDEX, "a RocksDB codec other than snappy"},
    {"zstd", "compression=kZSTD", "", "a RocksDB codec other than snappy"},
    {"zstd, index plain", "compression=kZSTD", NO_INDEX, "a RocksDB codec other than snappy"},
    {"hash index of blocks", "compression=kNoCompression",
     "data_block_index_type=kDataBlockBinaryAndHash", "hash index"},
    {"hash index of blocks, snappy", "compression=kSnappyCompression",
     "data_block_index_type=kDataBlockBinaryAndHash", "hash index"},
    {"hash search", "compression=kNoCompression;prefix_extractor=fixed:7", "index_type=kHashSearch",
     NULL},
    {"partitioned index", "compression=kNoCompression",
     "metadata_block_size=128;index_type=kTwoLevelIndexSearch", "a partitioned index"},
    {"partitioned index, lz4", "compression=kLZ4Compression",
     "metadata_block_size=128;index_type=kTwoLevelIndexSearch", "a partitioned index"},
    {"first keys in the index", "compression=kNoCompression",
     "index_type=kBinarySearchWithFirstKey", "an unsupported index type"},
};

static void every_option(void **state) {
  const row *r = *state;
  char path[512];
  store s = store_open(r);
  store_put(&s, 0, KEYS, "first");
  assert_true(table_path(&s, 0, path));
  if (r->refused != NULL) {
    assert_refused(path, r->refused);
  } else {
    assert_right(path, "first", 0, 0);
  }
  store_close(&s);
}

/* A table with keys and range deletions, one with range deletions alone, and the table without any
 * that a compaction of RocksDB makes of them. */
static void range_deletions(void **unused) {
  (void)unused;
  for (unsigned keys = 0; keys < 2; keys++) {
    char path[512];
    store s = store_open(&rows[0]);
    store_put(&s, 0, KEYS, "first");
    store_delete_range(&s, 100, 200);
    if (keys == 1) store_put(&s, 0, 100, "first");
    store_flush(&s);
    unsigned nrefused = 0;
    for (int i = 0; table_path(&s, i, path); i++) {
      nay_sst *t = NULL;
      nay_diag diag = {.what = NULL};
      nay_status status = nay_sst_open(path, NULL, NULL, &diag, &t);
      nay_sst_free(t);
      if (status == NAY_OK) continue;
      assert_refused(path, "range deletions");
      nrefused++;
    }
    assert_int_equal(nrefused, 1);
    rocksdb_compact_range(s.db, NULL, 0, NULL, 0);
    assert_true(table_path(&s, 0, path));
    assert_false(table_path(&s, 1, path));
    assert_right(path, "first", 100, 200);
    store_close(&s);
  }
}

/* Keys of an ingested table are newer than those that were there before, but their sequence number
 * in the table is 0: a compaction by those numbers would keep the older value. */
static void ingested_tables(void **unused) {
  (void)unused;
  char path[512];
  unsigned nrefused = 0;
  store s = store_open(&rows[0]);
  const char *external = store_write_table(&s, "second");
  assert_right(external, "second", 0, 0); /* by itself: test_sst_rocksdb has it with others */
  store_put(&s, 0, KEYS, "first");
  store_ingest(&s, external);
  for (int i = 0; table_path(&s, i, path); i++) {
    nay_sst *t = NULL;
    nay_status status = nay_sst_open(path, NULL, NULL, NULL, &t);
    nay_sst_free(t);
    if (status == NAY_OK) continue;
    assert_refused(path, "ingested");
    nrefused++;
  }
  assert_int_equal(nrefused, 1);
  rocksdb_compact_range(s.db, NULL, 0, NULL, 0);
  assert_true(table_path(&s, 0, path));
  assert_false(table_path(&s, 1, path));
  assert_right(path, "second", 0, 0);
  store_close(&s);
}

/* A deletion of a type of its own: a get of its key, and a merging iterator. */
static void single_deletions(void **unused) {
  (void)unused;
  char path[512], key[32], *error = NULL;
  unsigned nrefused = 0;
  store s = store_open(&rows[0]);
  store_put(&s, 0, KEYS, "first");
  size_t len = key_of(KEYS / 2, key);
  rocksdb_singledelete(s.db, s.write, key, len, &error);
  no_error(error);
  store_flush(&s);
  for (int i = 0; table_path(&s, i, path); i++) {
    nay_sst *t;
    nay_sst_lookup *l;
    nay_sst_scan *m;
    nay_sst_value v = {.size = sizeof v};
    assert_ok(nay_sst_open(path, NULL, NULL, NULL, &t));
    assert_ok(nay_sst_lookup_new(&(nay_sst_lookup_level){sizeof(nay_sst_lookup_level),
                                                         (const nay_sst *const[]){t}, 1, false},
                                 1, NULL, NULL, NULL, &l));
    assert_ok(nay_sst_scan_new(l, NULL, NULL, NULL, &m));
    nay_status status = nay_sst_get(t, key, len, NAY_SST_NEWEST, NULL, &v),
               walk = nay_sst_scan_first(m);
    while (walk == NAY_OK) walk = nay_sst_scan_next(m);
    assert_status(walk, status == NAY_OK ? NAY_EEND : NAY_ENOTSUP);
    nrefused += status == NAY_ENOTSUP;
    nay_sst_value_free(&v);
    nay_sst_scan_free(m);
    nay_sst_lookup_free(l);
    nay_sst_free(t);
  }
  assert_int_equal(nrefused, 1);
  store_close(&s);
}

int main(void) {
  enum { NROWS = sizeof rows / sizeof rows[0] };
  test_case tests[NROWS + 3];
  for (size_t i = 0; i < NROWS; i++) {
    tests[i] = (test_case)TEST_WITH(rows[i].name, every_option, &rows[i]);
  }
  tests[NROWS] = (test_case)TEST(range_deletions);
  tests[NROWS + 1] = (test_case)TEST(ingested_tables);
  tests[NROWS + 2] = (test_case)TEST(single_deletions);
  return run_list("test_engine_rocksdb_only.c", tests, NROWS + 3);
}
