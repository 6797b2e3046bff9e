/* properties.c - parses the properties block; see properties.h. */
#include "block/properties.h"

#include "base/bytes.h"

void nay_sst__name_set(nay_name name, nay_bytes text) {
  size_t n = text.len < sizeof(nay_name) - 1 ? text.len : sizeof(nay_name) - 1;
  memset(name, 0, sizeof(nay_name));
  if (n != 0) memcpy(name, text.at, n);
}

void nay_sst__name_copy(char *to, const char *name, size_t room) {
  size_t n = strlen(name);
  if (n > room - 1) n = room - 1;
  memcpy(to, name, n);
  to[n] = '\0';
}

/* Stores the properties that are varints, or the texts "0" and "1". */
static void properties_set(nay_properties *p, nay_bytes key, nay_bytes value) {
  uint64_t number = 0;
  bool is_one = nay_sst__bytes_are(value, "1");
  bool is_number = nay__varint64_load(value.at, value.at + value.len, &number) != NULL;
  if (nay_sst__bytes_are(key, "rocksdb.num.entries") && is_number) p->nentries = number;
  if (nay_sst__bytes_are(key, "rocksdb.num.filter_entries") && is_number)
    p->nfilter_entries = number;
  if (nay_sst__bytes_are(key, "rocksdb.block.based.table.whole.key.filtering"))
    p->whole_keys = is_one;
  if (nay_sst__bytes_are(key, "rocksdb.block.based.table.prefix.filtering")) p->prefixes = is_one;
  if (nay_sst__bytes_are(key, "rocksdb.index.key.is.user.key"))
    p->index_internal_keys = number == 0;
  if (nay_sst__bytes_are(key, "rocksdb.index.value.is.delta.encoded")) p->index_delta = number != 0;
}

/* Returns why an index type is not supported; NULL: it is. Type 0 is LevelDB's index. Type 1 has a
   hash index in addition. */
static const char *properties_index_type(nay_bytes value) {
  uint32_t type = value.len == 4 ? nay__load32le(value.at) : UINT32_MAX;
  if (type <= 1) return NULL;
  return type == 2 ? "a RocksDB table with a partitioned index"
                   : "a RocksDB table with an unsupported index type";
}

/* Returns why an external table is not supported; NULL: it is. RocksDB's SstFileWriter writes
 * sequence number 0 in all keys. On ingestion the database assigns one number to all entries: it
 * overwrites the 0 of this property, or records the number in its manifest only. */
static const char *properties_ingestion(nay_properties *p, const nay_cursor *c, nay_bytes value) {
  p->for_ingestion = true;
  if (value.len == 8) p->sequence_at = (uint64_t)(value.at - c->block.bytes);
  if (value.len == 8 && nay__load64le(value.at) == 0) return NULL;
  return "a table ingested by RocksDB: its keys lack their sequence number";
}

/* Records the first RocksDB property that LevelDB's layout cannot express. */
static void properties_set_unsupported(nay_properties *p, const nay_cursor *c, nay_bytes key,
                                       nay_bytes value) {
  const char *what = NULL;
  uint64_t number = 0;
  bool is_number = nay__varint64_load(value.at, value.at + value.len, &number) != NULL;
  if (nay_sst__bytes_are(key, "rocksdb.block.based.table.index.type")) {
    what = properties_index_type(value);
  } else if (nay_sst__bytes_are(key, "rocksdb.index.key.is.user.key") && number != 0) {
    what = "a RocksDB table with user keys in its index";
  } else if (nay_sst__bytes_are(key, "rocksdb.index.value.is.delta.encoded") && number != 0) {
    what = "a RocksDB table with a delta-encoded index";
  } else if (nay_sst__bytes_are(key, "rocksdb.user.defined.timestamps.persisted") && is_number &&
             number == 0) {
    what = "a RocksDB table without the timestamps of its keys";
  } else if (nay_sst__bytes_are(key, "rocksdb.external_sst_file.global_seqno")) {
    what = properties_ingestion(p, c, value);
  }
  if (what == NULL || p->unsupported != NULL) return;
  p->unsupported = what;
  p->unsupported_at = c->entry.at;
}

static nay_status properties_visit(void *ctx, const nay_cursor *c, nay_diag *diag) {
  nay_properties *p = ctx;
  nay_bytes key = {c->key.at, c->key.len}, value = {c->entry.value, c->entry.value_len};
  properties_set(p, key, value);
  if (nay_sst__table_stats_load(&p->stats, key, value) != NAY_OK) {
    return nay__fail(diag, NAY_ECORRUPT, "a property of the table is not a number", c->entry.at);
  }
  if (nay_sst__bytes_are(key, "rocksdb.filter.policy")) nay_sst__name_set(p->filter_policy, value);
  if (nay_sst__bytes_are(key, "rocksdb.prefix.extractor.name") &&
      !nay_sst__bytes_are(value, "nullptr")) {
    nay_sst__name_set(p->prefix_extractor, value);
  }
  if (nay_sst__bytes_are(key, "rocksdb.comparator") ||
      nay_sst__bytes_are(key, NAY_PROPERTY_COMPARATOR)) {
    p->other_comparator = !nay_sst__bytes_are(value, NAY_BYTEWISE_NAME);
    p->comparator_at = c->entry.at;
    nay_sst__name_set(p->comparator, value);
  }
  properties_set_unsupported(p, c, key, value);
  return NAY_OK;
}

nay_status nay_sst__property_add(nay_block_builder *builder, const char *name, const void *value,
                                 size_t len, const nay_allocator *a) {
  return nay_sst__block_add(builder, (const uint8_t *)name, strlen(name), 0, value, len, a);
}

nay_status nay_sst__properties_load(nay_bytes contents, const nay_allocator *a, nay_diag *diag,
                                    nay_properties *properties) {
  nay_block block;
  NAY_TRY(nay_sst__block_open(contents.at, contents.len, diag, &block));
  return nay_sst__block_walk(&block, properties_visit, properties, a, diag);
}
