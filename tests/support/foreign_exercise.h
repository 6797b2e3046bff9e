/*
 * foreign_exercise.h - everything that one may do with an untrusted table of nori or mini-lsm, and
 * checksums that fit its damage, so that what lies behind them is tested as well.
 */
#ifndef NAY_TEST_FOREIGN_EXERCISE_H
#define NAY_TEST_FOREIGN_EXERCISE_H

#include "base/bytes.h"
#include "base/crc32.h"
#include "block/crc32c.h"
#include "nay_sst_filters.h"
#include "nay_sst_iter.h"
#include "support/exercise.h"
#include "support/sst_calls.h"
#include "support/sst_seal.h"

/* ---- checksums ---- */

static inline void seal_be(uint8_t *bytes, size_t from, size_t to) { /* [from, to) | crc */
  nay__store32be(bytes + to, nay__crc32(bytes + from, to - from));
}

static inline size_t seal_skip_key(const uint8_t *meta, size_t at, size_t end, bool ts) {
  if (at > end || end - at < 2) return end + 1;
  size_t len = (size_t)(meta[at] << 8 | meta[at + 1]) + 2 + (ts ? 8 : 0);
  return len > end - at ? end + 1 : at + len;
}

/* A block ends where the next one starts, the last one at the metadata. */
static inline void seal_mini_blocks(uint8_t *bytes, size_t meta, size_t end, bool ts) {
  size_t start = SIZE_MAX;
  for (size_t at = meta + 4; at < end && end - at >= 4;) {
    size_t offset = nay__load32be(bytes + at);
    if (start != SIZE_MAX && offset <= meta && offset >= 4 && offset - 4 >= start) {
      seal_be(bytes, start, offset - 4);
    }
    start = offset;
    at = seal_skip_key(bytes, seal_skip_key(bytes, at + 4, end, ts), end, ts);
  }
  if (start != SIZE_MAX && meta >= 4 && meta - 4 >= start) seal_be(bytes, start, meta - 4);
}

static inline void seal_mini(uint8_t *bytes, size_t len, bool ts) {
  if (len < 16) return;
  size_t bloom = nay__load32be(bytes + len - 4);
  if (bloom < 4 || bloom > len - 8) return;
  seal_be(bytes, bloom, len - 8);
  size_t meta = nay__load32be(bytes + bloom - 4);
  if (meta > bloom - 4 || bloom - 4 - meta < 8) return;
  seal_mini_blocks(bytes, meta, bloom - 8 - (ts ? 8 : 0), ts);
  seal_be(bytes, meta + 4, bloom - 8);
}

static inline void seal_foreign(uint8_t *bytes, size_t len, const char *name) {
  if (strcmp(name, "nori-sst") == 0) {
    if (len < 64) return;
    memcpy(bytes + len - 12, "NORISSTL", 8);
    nay__store32le(bytes + len - 4, nay_sst__crc32c(0, bytes + len - 64, 60));
  } else if (strcmp(name, "mini-lsm-sst-day4") != 0 && strcmp(name, "mini-lsm-sst-week1") != 0) {
    seal_mini(bytes, len, strcmp(name, "mini-lsm-sst-week3") == 0);
  }
}

/* ---- use ---- */

/* Scans the table. If the scan succeeds, gets find its keys, without filters, as these may be
 * damaged. */
static inline void exercise_entries(const nay_sst *t) {
  nay_sst_iter *it;
  nay_sst_value value = {.size = sizeof value};
  if (nay_sst_iter_new(t, NULL, &it) != NAY_OK) return;
  nay_status status = nay_sst_iter_first(it);
  unsigned n = 0;
  for (; status == NAY_OK && n < 4000; n++, status = nay_sst_iter_next(it)) {
    size_t len, value_len;
    const void *key = nay_sst_iter_key(it, &len);
    const uint8_t *bytes = nay_sst_iter_value(it, &value_len);
    nay_sst_entry v = {.size = sizeof v};
    CHECK(nay_sst_key_split(key, len, &v) == NAY_OK);
    uint8_t sum = 0;
    for (size_t i = 0; i < value_len; i++) sum ^= bytes[i];
    CHECK(nay_sst_iter_entry(it, &v) == NAY_OK);
    if (n >= 64 || sum == 77) continue;
    nay_status got = nay_sst_get(t, v.key, v.len, v.sequence, NULL, &value);
    CHECK(got == NAY_ENOMEM ||
          (got == (v.type == NAY_SST_DELETE ? NAY_ENOENT : NAY_OK) &&
           value.deleted == (v.type == NAY_SST_DELETE) && value.sequence == v.sequence));
  }
  CHECK(status == NAY_OK || status == NAY_EEND || nay_sst_iter_diag(it)->what != NULL);
  for (status = nay_sst_iter_last(it); status == NAY_OK && n > 0; n--)
    status = nay_sst_iter_prev(it);
  (void)nay_sst_iter_seek(it, "key00000007", 11);
  nay_sst_iter_free(it);
  nay_sst_value_free(&value);
}

static inline void exercise_foreign_table(const nay_sst *t, bool filters) {
  nay_sst_info info = {.size = sizeof info};
  nay_sst_value value = {.size = sizeof value};
  uint64_t nentries, ndenied;
  nay_diag diag = {.what = NULL};
  nay_sst_stats(t, &info);
  CHECK(info.foreign != NULL && info.foreign->layout != NULL);
  for (size_t i = 0; nay_sst_caveat(t, i) != NULL; i++) CHECK(i < 10);
  nay_status status = nay_sst_verify(t, &diag, &nentries, &ndenied);
  CHECK(status == NAY_OK ? ndenied <= nentries : diag.what != NULL);
  (void)nay_sst_get(t, "key00000007", 11, NAY_SST_NEWEST, &diag, &value);
  (void)nay_sst_get(t, "", 0, NAY_SST_NEWEST, &diag, &value);
  (void)nay_sst_may_contain(t, "zzz", 3);
  nay_sst_value_free(&value);
  if (!filters) exercise_entries(t);
}

static inline void exercise_foreign_filters(const uint8_t *bytes, size_t len, const char *name,
                                            const nay_sst_read_options *how) {
  nay_sst_filters_options o = {sizeof o, .codecs = how->codecs, .ncodecs = how->ncodecs};
  nay_sst_filters *t = NULL;
  nay_diag diag = {.what = NULL};
  nay_status status = filters_layout(bytes, len, name, &o, NULL, &diag, &t);
  CHECK((status == NAY_OK) == (t != NULL) && (status == NAY_OK || diag.what != NULL));
  if (t == NULL) return;
  nay_sst_filters_info info = {.size = sizeof info};
  nay_sst_filters_entry f = {.size = sizeof f};
  nay_sst_filters_stats(t, &info);
  for (uint64_t i = 0; nay_sst_filters_at(t, i, &f) == NAY_OK; i++) CHECK(f.offset <= len);
  (void)nay_sst_filters_may_contain(t, "key00000007", 11);
  (void)nay_sst_filters_may_contain(t, "", 0);
  for (size_t i = 0; nay_sst_filters_caveat(t, i) != NULL; i++) CHECK(i < 10);
  nay_sst_filters_free(t);
}

/* exercise_foreign: whether the table opened. Memory is bounded by the bytes of the file, and all
 * of it is freed. */
static inline bool exercise_foreign(const uint8_t *bytes, size_t len, const char *name) {
  nay_sst_codec lz4 = invert_codec, zstd = invert_codec;
  lz4.id = 4;
  zstd.id = 2;
  const nay_sst_codec *codecs[] = {&lz4, &zstd};
  bool opened = false;
  for (unsigned filters = 0; filters < 2; filters++) {
    flaky memory = {.fail_at = -1};
    nay_allocator allocator = flaky_allocator(&memory);
    nay_sst_read_options how = {.size = sizeof how,
                                .codecs = codecs,
                                .ncodecs = 2,
                                .flags = filters != 0 ? 0 : NAY_SST_NO_FILTERS,
                                .max_block_bytes = 1 << 20};
    nay_sst *t = NULL;
    nay_diag diag = {.what = NULL};
    nay_status status = view_layout(bytes, len, name, &how, &allocator, &diag, &t);
    CHECK((status == NAY_OK) == (t != NULL) && (status == NAY_OK || diag.what != NULL));
    if (t != NULL) exercise_foreign_table(t, filters != 0);
    nay_sst_free(t);
    CHECK(memory.objects == 0 && memory.faults == 0 && memory.peak <= 64 * len + (4u << 20));
    if (filters != 0) exercise_foreign_filters(bytes, len, name, &how);
    opened = status == NAY_OK;
  }
  return opened;
}

#endif /* NAY_TEST_FOREIGN_EXERCISE_H */
