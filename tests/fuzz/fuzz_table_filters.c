/*
 * fuzz_table_filters.c - tables of LevelDB and RocksDB. The first byte is no part of the file: bit
 * 0 turns RocksDB's checksums off, so that changed blocks are looked into.
 */
#include "nay_sst_filters.h"
#include "support/exercise.h"

static const uint8_t rocksdb_magic[8] = {0xf7, 0xcf, 0xf4, 0x85, 0xb7, 0x41, 0xe2, 0x88};

static void fuzz_key(const nay_sst_filters *t, const void *key, size_t len) {
  bool maybe;
  CHECK(explained_table(t, key, len, &maybe) == NULL);
}

static void fuzz_filters(const nay_sst_filters *t, size_t len) {
  nay_sst_filters_info info = {.size = sizeof info};
  nay_sst_filters_entry f = {.size = sizeof f};
  uint64_t bytes = 0, n = 0;
  nay_sst_filters_stats(t, &info);
  CHECK(strlen(info.checksum) < 8);
  for (; nay_sst_filters_at(t, n, &f) == NAY_OK; n++) {
    CHECK(f.offset <= len && f.len <= len - f.offset);
    uint8_t sum = 0;
    for (size_t i = 0; i < f.len && n < 64; i++) sum ^= ((const uint8_t *)f.bytes)[i];
    for (size_t i = 0; i < f.last_key_len && n < 64; i++) sum ^= ((const uint8_t *)f.last_key)[i];
    bytes += f.len + (sum & 0);
    if (f.last_key_len != 0 && n < 64) fuzz_key(t, f.last_key, f.last_key_len);
  }
  CHECK(info.nfilters + info.nempty == n && info.nbytes == bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  size_t len = size - 1;
  uint8_t *p = malloc(len == 0 ? 1 : len);
  if (p == NULL) return 0;
  memcpy(p, data + 1, len);
  bool rocksdb = len >= 53 && memcmp(p + len - 8, rocksdb_magic, 8) == 0;
  if (rocksdb && (data[0] & 1) != 0) p[len - 53] = 0;
  flaky memory = {.fail_at = -1};
  nay_allocator allocator = flaky_allocator(&memory);
  nay_diag diag = {.what = NULL};
  nay_sst_filters *t = NULL;
  nay_status status = nay_sst_filters_open(p, len, NULL, &allocator, &diag, &t);
  CHECK((status == NAY_OK) == (t != NULL) && (status == NAY_OK || diag.what != NULL));
  /* a part of an index takes 56 bytes, and may be told in three: no more than that */
  CHECK(memory.peak <= 64 * len + 262144);
  if (t != NULL) {
    fuzz_filters(t, len);
    fuzz_key(t, "key000007", 9);
    fuzz_key(t, "", 0);
    fuzz_key(t, "\xff\xff\xff\xff\xff\xff\xff\xff\xff", 9);
  }
  nay_sst_filters_free(t);
  CHECK(memory.objects == 0 && memory.faults == 0);
  free(p);
  return 0;
}
