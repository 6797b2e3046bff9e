/*
 * test_sst_rocksdb.c - tables whose metaindex has rocksdb.properties: every property and every meta
 * block that would make answers wrong is refused by name, whatever RocksDB wrote it. The bytes are
 * those of a table of ours with RocksDB's meta blocks; tests/engines has tables of RocksDB itself.
 *
 *   data blocks | filter block | index | properties | metaindex | footer
 */
#include "nay_sst_compact.h"
#include "nay_sst_lookup.h"
#include "support/sst_blocks.h"
#include "support/sst_numbers.h"
#include "support/sst_own_io.h"

#define NKEYS 200

static nay_policy builtin = {.size = sizeof builtin};

typedef struct property {
  const char *name;
  const char *value;
  size_t len;
  const char *refused; /* what the reader says; NULL: the table is read */
} property;

/* The file, and where its properties are. */
typedef struct rocksdb_file {
  nay_buffer bytes;
  nay_handle properties;
} rocksdb_file;

static nay_allocator a;

static rocksdb_file make_file(const property *p, const char *meta) {
  char path[TEMP_MAX];
  size_t len;
  nay_footer f;
  nay_sst_write_options how = {sizeof how, .filter = NAY_SST_BLOCK_FILTER, .policy = &builtin,
                               .block_bytes = 400};
  rocksdb_file file = {.bytes = {NULL, 0, 0}};
  nay_block_builder b = {.interval = 1};
  a = nay__allocator_default();
  assert_ok(nay_policy_find(NAY_POLICY_LEVELDB, 10, &builtin));
  write_even(temp_path(path, "rocksdb.ldb"), &how, NKEYS);
  uint8_t *bytes = sample_read(path, &len);
  unlink(path);
  assert_ok(nay_sst__footer_load(bytes, len, len, NULL, &f));
  size_t upto = (size_t)f.metaindex.offset, index_len = (size_t)f.index.size + NAY_BLOCK_TRAILER;
  nay_cursor c = {.order = NAY_BYTEWISE, .allocator = &a};
  assert_ok(nay_sst__block_open(bytes + upto, (size_t)f.metaindex.size, NULL, &c.block));
  assert_ok(nay_sst__block_reset(&b, &a));
  assert_ok(nay__buffer_append(&file.bytes, bytes, upto, &a));
  assert_ok(nay__buffer_append(&file.bytes, bytes + f.index.offset, index_len, &a));
  assert_ok(nay_sst__block_add(&b, (const uint8_t *)p->name, strlen(p->name), 0,
                               (const uint8_t *)p->value, p->len, &a));
  file.properties = put_block(&file.bytes, &b, &a);
  assert_ok(nay_sst__cursor_first(&c, NULL)); /* the filter */
  assert_ok(nay_sst__block_add(&b, c.key.at, c.key.len, 0, c.entry.value, c.entry.value_len, &a));
  add_entry(&b, "rocksdb.properties", file.properties, &a);
  if (meta != NULL) add_entry(&b, meta, file.properties, &a);
  nay_handle metaindex = put_block(&file.bytes, &b, &a);
  put_end(&file.bytes, metaindex, (nay_handle){upto, f.index.size}, &a);
  nay__buffer_free(&c.key, &a);
  nay_sst__block_builder_free(&b, &a);
  free(bytes);
  return file;
}

/* The bytes in memory, or through the reads of `own`. */
static nay_status open_file(const rocksdb_file *file, own_file *own, nay_diag *diag, nay_sst **t) {
  static const nay_policy *const policies[] = {&builtin};
  nay_sst_read_options how = {sizeof how, .policies = policies, .npolicies = 1};
  how.keys = NAY_SST_KEYS_PLAIN;
  if (own == NULL) return nay_sst_view(file->bytes.at, file->bytes.len, &how, NULL, diag, t);
  own->bytes = file->bytes.at;
  own->len = file->bytes.len;
  nay_sst_file io = own_file_of(own);
  return nay_sst_open_file(&io, &how, NULL, diag, t);
}

static void assert_refused(const rocksdb_file *file, nay_status status, const char *what) {
  for (int reads = 0; reads < 2; reads++) {
    nay_sst *t;
    nay_diag diag = {.what = NULL};
    own_file own = {.fail_at = -1};
    assert_status(open_file(file, reads ? &own : NULL, &diag, &t), status);
    assert_non_null(diag.what);
    if (strstr(diag.what, what) == NULL) fail_msg("says: %s", diag.what);
  }
}

static void assert_answers(const rocksdb_file *file, bool filtered) {
  for (int reads = 0; reads < 2; reads++) {
    nay_sst *t;
    nay_sst_info info = {.size = sizeof info};
    own_file own = {.fail_at = -1};
    assert_ok(open_file(file, reads ? &own : NULL, NULL, &t));
    ask_all(t, NKEYS);
    nay_sst_stats(t, &info);
    assert_int_equal(info.filter_used, filtered);
    if (!filtered) assert_int_equal(counters_of(t).filter_useful, 0);
    nay_sst_free(t);
  }
}

#define INDEX_TYPE "rocksdb.block.based.table.index.type"
#define SEQUENCE "rocksdb.external_sst_file.global_seqno"

static void every_property(void **unused) {
  (void)unused;
  static const property rows[] = {
      {"rocksdb.num.entries", "\x05", 1, NULL},
      {INDEX_TYPE, "\0\0\0\0", 4, NULL},
      {INDEX_TYPE, "\1\0\0\0", 4, NULL},
      {INDEX_TYPE, "\2\0\0\0", 4, "partitioned index"},
      {INDEX_TYPE, "\3\0\0\0", 4, "an unsupported index type"},
      {INDEX_TYPE, "\4\0\0\0", 4, "an unsupported index type"},
      {INDEX_TYPE, "\0\0\0\1", 4, "an unsupported index type"},
      {INDEX_TYPE, "\0", 1, "an unsupported index type"},
      {"rocksdb.index.key.is.user.key", "\0", 1, NULL},
      {"rocksdb.index.key.is.user.key", "\1", 1, "user keys in its index"},
      {"rocksdb.index.value.is.delta.encoded", "\0", 1, NULL},
      {"rocksdb.index.value.is.delta.encoded", "\1", 1, "a delta-encoded index"},
      {"rocksdb.user.defined.timestamps.persisted", "\1", 1, NULL},
      {"rocksdb.user.defined.timestamps.persisted", "\0", 1, "without the timestamps"},
      {"rocksdb.external_sst_file.version", "\1\0\0\0", 4, NULL},
      {SEQUENCE, "\0\0\0\0\0\0\0\0", 8, NULL},
      {SEQUENCE, "\7\0\0\0\0\0\0\0", 8, "ingested"},
      {SEQUENCE, "", 0, "ingested"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    rocksdb_file file = make_file(&rows[i], NULL);
    if (rows[i].refused != NULL) {
      assert_refused(&file, NAY_ENOTSUP, rows[i].refused);
    } else {
      assert_answers(&file, true);
    }
    nay__buffer_free(&file.bytes, &a);
  }
}

static const property harmless = {"rocksdb.num.entries", "\x05", 1, NULL};

/* RocksDB's, and Pebble's. */
static void range_deletions(void **unused) {
  (void)unused;
  static const char *const names[] = {"rocksdb.range_del", "rocksdb.range_del2"};
  for (size_t i = 0; i < 2; i++) {
    rocksdb_file file = make_file(&harmless, names[i]);
    assert_refused(&file, NAY_ENOTSUP, "range deletions");
    nay__buffer_free(&file.bytes, &a);
  }
}

/* A filter block of prefixes would deny every whole key. */
static void filters_of_prefixes(void **unused) {
  (void)unused;
  const char *name = "rocksdb.block.based.table.whole.key.filtering";
  for (int whole = 0; whole < 2; whole++) {
    property p = {name, whole ? "1" : "0", 1, NULL};
    rocksdb_file file = make_file(&p, NULL);
    assert_answers(&file, whole);
    nay__buffer_free(&file.bytes, &a);
  }
}

/* A table for ingestion is read by itself, but not with others, before or after them. */
static void not_among_others(void **unused) {
  (void)unused;
  const property p = {SEQUENCE, "\0\0\0\0\0\0\0\0", 8, NULL};
  rocksdb_file files[2] = {make_file(&p, NULL), make_file(&harmless, NULL)};
  nay_sst *t[2];
  for (size_t i = 0; i < 2; i++) assert_ok(open_file(&files[i], NULL, NULL, &t[i]));
  for (unsigned i = 0; i < 4; i++) {
    const nay_sst *both[2] = {t[i & 1], t[i >> 1]};
    nay_status want = i == 3 ? NAY_OK : NAY_ENOTSUP; /* 3: both are of a database */
    nay_sst_lookup *l = NULL;
    char path[TEMP_MAX];
    nay_diag diag = {.what = NULL};
    assert_status(
        nay_sst_lookup_new(&(nay_sst_lookup_level){sizeof(nay_sst_lookup_level), both, 2, false}, 1,
                           NULL, NULL, NULL, &l),
        want);
    nay_sst_lookup_free(l);
    temp_path(path, "rocksdb-merged.ldb");
    assert_status(nay_sst_compact(both, 2, path, NULL, NULL, &diag, NULL), want);
    if (want != NAY_OK) assert_non_null(strstr(diag.what, "for ingestion"));
    assert_ok(
        nay_sst_lookup_new(&(nay_sst_lookup_level){sizeof(nay_sst_lookup_level), both, 1, false}, 1,
                           NULL, NULL, NULL, &l));
    nay_sst_lookup_free(l);
    assert_ok(nay_sst_compact(both, 1, path, NULL, NULL, NULL, NULL));
    unlink(path);
  }
  for (size_t i = 0; i < 2; i++) {
    nay_sst_free(t[i]);
    nay__buffer_free(&files[i].bytes, &a);
  }
}

/* RocksDB writes the sequence number of an ingested table and leaves the checksum. Any other byte
 * that does not fit the checksum is damage. */
static void a_number_written_later(void **unused) {
  (void)unused;
  const property p = {SEQUENCE, "\0\0\0\0\0\0\0\0", 8, NULL};
  rocksdb_file file = make_file(&p, NULL);
  uint8_t *block = file.bytes.at + file.properties.offset;
  size_t number = 3 + strlen(SEQUENCE); /* behind the three lengths and the name */
  for (size_t i = 0; i < 8; i++) block[number + i] = (uint8_t)(0x81 + i);
  assert_refused(&file, NAY_ENOTSUP, "ingested");
  for (size_t i = 0; i < file.properties.size; i++) {
    block[i] ^= 0x10;
    bool of_number = i >= number && i < number + 8;
    assert_refused(&file, of_number ? NAY_ENOTSUP : NAY_ECORRUPT, "");
    block[i] ^= 0x10;
  }
  own_file own = {.fail_at = -1};
  nay_sst *t;
  nay_diag diag = {.what = NULL};
  assert_status(open_file(&file, &own, &diag, &t), NAY_ENOTSUP);
  for (long fail_at = own.reads - 1; fail_at >= 0; fail_at--) { /* no failure becomes damage */
    own_file failing = {.fail_at = fail_at, .failure = NAY_EIO};
    nay_status status = open_file(&file, &failing, &diag, &t);
    if (status != NAY_ENOTSUP) assert_status(status, NAY_EIO); /* ENOTSUP: the read of a filter */
  }
  nay__buffer_free(&file.bytes, &a);
}

int main(void) {
  const test_case tests[] = {
      TEST(every_property),   TEST(range_deletions),        TEST(filters_of_prefixes),
      TEST(not_among_others), TEST(a_number_written_later),
  };
  return run_all(tests);
}
