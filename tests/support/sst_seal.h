/*
 * sst_seal.h - gives the blocks of a damaged table checksums that fit, so that what lies behind the
 * checksums is tested as well; and everything that one may do with an untrusted table.
 */
#ifndef NAY_TEST_SST_SEAL_H
#define NAY_TEST_SST_SEAL_H

#include <stdio.h>
#include <stdlib.h>

#include "block/block.h"
#include "block/footer.h"
#include "nay_sst_iter.h"
#include "nay_sst_lookup.h"
#include "support/sst_calls.h"
#include "table/table.h"

/* A codec to read with: two bytes of length, then the bytes, each of them inverted. */
static inline nay_status invert_size(void *ctx, const void *src, size_t len, size_t *size) {
  (void)ctx;
  if (len < 2) return NAY_ECORRUPT;
  *size = nay__load16le(src);
  return NAY_OK;
}

static inline nay_status invert_unpack(void *ctx, const void *src, size_t len, void *dst,
                                       size_t size) {
  const uint8_t *p = src;
  (void)ctx;
  if (size != len - 2) return NAY_ECORRUPT;
  for (size_t i = 0; i < size; i++) ((uint8_t *)dst)[i] = (uint8_t)~p[i + 2];
  return NAY_OK;
}

static const nay_sst_codec invert_codec = {.size = sizeof invert_codec,
                                           .id = 1,
                                           .uncompressed_size = invert_size,
                                           .uncompress = invert_unpack};

static inline void seal_block(uint8_t *bytes, nay_handle h) {
  nay_sst__block_trailer_store(bytes + h.offset + h.size, bytes[h.offset + h.size],
                               bytes + h.offset, (size_t)h.size);
}

/* seal_entries: the blocks that the values of an index, metaindex or partition index point to. */
static inline void seal_entries(uint8_t *bytes, uint64_t limit, nay_handle index, int depth) {
  nay_allocator a = nay__allocator_default();
  nay_cursor c = {.order = NAY_BYTEWISE, .allocator = &a};
  if (bytes[index.offset + index.size] != 0) return;
  uint8_t *copy = malloc((size_t)index.size + 1); /* sealing may write into the block it walks */
  if (copy == NULL) abort();
  memcpy(copy, bytes + index.offset, (size_t)index.size);
  if (nay_sst__block_open(copy, (size_t)index.size, NULL, &c.block) == NAY_OK) {
    nay_status status = nay_sst__cursor_first(&c, NULL);
    for (int n = 0; status == NAY_OK && n < 1000; n++, status = nay_sst__cursor_next(&c, NULL)) {
      nay_handle h;
      const uint8_t *value = c.entry.value;
      const uint8_t *behind = nay_sst__handle_load(value, value + c.entry.value_len, &h);
      if (behind == NULL || !nay_sst__handle_fits(h, limit)) continue;
      if (depth > 0) seal_entries(bytes, limit, h, depth - 1);
      seal_block(bytes, h);
      if (value + c.entry.value_len - behind == 4) { /* the checksum that the entry states */
        memcpy(bytes + index.offset + (behind - copy), bytes + h.offset + h.size + 1, 4);
      }
    }
  }
  nay__buffer_free(&c.key, &a);
  free(copy);
}

/* seal_table: as far as its footer leads anywhere. */
static inline void seal_table(uint8_t *bytes, size_t len) {
  nay_footer f;
  if (len < NAY_FOOTER) return;
  nay__store64le(bytes + len - 8, NAY_FOOTER_MAGIC);
  if (nay_sst__footer_load(bytes, len, len, NULL, &f) != NAY_OK) return;
  seal_entries(bytes, len - NAY_FOOTER, f.index, 0);
  seal_entries(bytes, len - NAY_FOOTER, f.metaindex, 1);
  seal_block(bytes, f.metaindex);
  seal_block(bytes, f.index);
}

/* seal_named: checksums that fit what the block behind this entry of the metaindex is now, and no
 * other block changes. */
static inline void seal_named(uint8_t *bytes, size_t len, const char *name) {
  nay_footer f;
  nay_handle h;
  size_t n = strlen(name), at = len - n;
  if (nay_sst__footer_load(bytes, len, len, NULL, &f) != NAY_OK) abort();
  while (memcmp(bytes + at, name, n) != 0) at--;
  const uint8_t *behind = nay_sst__handle_load(bytes + at + n, bytes + len, &h);
  seal_block(bytes, h);
  memcpy(bytes + (behind - bytes), bytes + h.offset + h.size + 1, 4);
  seal_block(bytes, f.metaindex);
}

static inline void seal_properties(uint8_t *bytes, size_t len) {
  seal_named(bytes, len, "nay.properties");
}

static inline void exercise_key(const nay_sst *t, const nay_sst_lookup *l, const void *key,
                                size_t len) {
  nay_sst_value v = {.size = sizeof v};
  unsigned sum = 0;
  (void)nay_sst_may_contain(t, key, len);
  if (nay_sst_get(t, key, len, NAY_SST_NEWEST, NULL, &v) == NAY_OK) {
    for (size_t i = 0; i < v.len; i++) sum += ((const uint8_t *)v.bytes)[i];
  }
  (void)nay_sst_get(t, key, len, 7, NULL, &v);
  (void)nay_sst_lookup_get(l, key, len, NAY_SST_NEWEST, NULL, &v, NULL);
  nay_sst_value_free(&v);
  if (sum == 0xffffffffu) fputc('\n', stderr); /* so that the bytes are really read */
}

/* A merge operator that takes everything: the newer bytes behind the older ones, up to 64 KiB. */
static inline nay_status append_operands(void *ctx, const nay_sst_operands *o, void *out,
                                         size_t cap, size_t *len) {
  size_t older = o->older_len < 65536 ? o->older_len : 65536;
  size_t newer = o->newer_len < 65536 - older ? o->newer_len : 65536 - older;
  (void)ctx;
  *len = older + newer;
  if (*len > cap) return NAY_EBUFFER;
  if (older != 0) memcpy(out, o->older, older);
  if (newer != 0) memcpy((uint8_t *)out + older, o->newer, newer);
  return NAY_OK;
}

/* exercise_table: opens, asks, walks. All must come back, whatever the bytes are. */
static inline nay_status exercise_table(const uint8_t *bytes, size_t len,
                                        const nay_sst_read_options *how) {
  nay_sst *t;
  nay_sst_iter *it;
  nay_sst_lookup *l;
  nay_diag diag = {.what = NULL};
  nay_status status = nay_sst_view(bytes, len, how, NULL, &diag, &t);
  if (status != NAY_OK) {
    if (diag.what == NULL || diag.offset > len + (uint64_t)UINT32_MAX) abort();
    return status;
  }
  nay_sst_lookup_level both = {sizeof both, .tables = (const nay_sst *const[]){t, t}, .n = 2};
  nay_sst_lookup_options merges = {sizeof merges, .merge = append_operands};
  status = nay_sst_lookup_new(&both, 1, &merges, NULL, NULL, &l);
  if (status == NAY_ENOTSUP) { /* a table for ingestion into RocksDB: only by itself */
    both.n = 1;
    status = nay_sst_lookup_new(&both, 1, &merges, NULL, NULL, &l);
  }
  if (status != NAY_OK || nay_sst_iter_new(t, NULL, &it) != NAY_OK) abort();
  const char *keys[] = {"", "key00000010", "a", "\xff\xff", "user/1"};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    exercise_key(t, l, keys[i], strlen(keys[i]));
    (void)nay_sst_iter_seek_prefix(it, keys[i], strlen(keys[i]));
    (void)nay_sst_iter_seek(it, keys[i], strlen(keys[i]));
  }
  status = nay_sst_iter_first(it);
  for (unsigned n = 0; status == NAY_OK && n < 2000; n++, status = nay_sst_iter_next(it)) {
    size_t key_len;
    const void *key = nay_sst_iter_key(it, &key_len);
    if (n % 16 == 0) exercise_key(t, l, key, key_len);
  }
  status = nay_sst_iter_last(it);
  for (unsigned n = 0; status == NAY_OK && n < 2000; n++) status = nay_sst_iter_prev(it);
  nay_sst_info info = {.size = sizeof info};
  nay_sst_counters counters = {.size = sizeof counters};
  nay_sst_stats(t, &info);
  nay_sst_properties stated = {.size = sizeof stated};
  uint64_t offset;
  if (table_states(t, &stated) && stated.ndeletions > stated.nentries) abort();
  if (nay_sst__approximate_offset(t, "m", 1, NULL, &offset) == NAY_OK && offset > len) abort();
  nay_sst_lookup_stats(l, &counters);
  nay_sst_lookup_free(l);
  nay_sst_iter_free(it);
  nay_sst_free(t);
  return NAY_OK;
}

#endif /* NAY_TEST_SST_SEAL_H */
