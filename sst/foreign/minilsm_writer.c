/*
 * minilsm_writer.c - writes tables of mini-lsm in its four forms; minilsm_table.c draws the layout.
 *
 * A block is finished before an entry that would make it exceed block_bytes. Like mini-lsm, the
 * size estimate counts the whole key although only the part after the overlap is stored. A block
 * always takes at least one entry. Entry offsets have 16 bits, so a block is also finished when its
 * entries exceed 64 KiB.
 */
#include "base/crc32.h"
#include "foreign/engine_writer.h"

#define MINI_FILTER 1u /* features of a form, as in minilsm_table.c */
#define MINI_OVERLAP 2u
#define MINI_CRC 4u
#define MINI_TS 8u
#define MINI_ENTRY 6u /* bytes that mini-lsm's size estimate adds for the numbers of an entry */

static bool mini_writes(const nay_foreign_writer *w, unsigned bit) {
  return (w->layout->form & bit) != 0;
}

static const char *mini_refuses(const nay_foreign_writer *w, const nay_foreign_entry_in *e) {
  if (e->len == 0) return "an empty key: mini-lsm has none";
  if (e->len > UINT16_MAX || e->value_len > UINT16_MAX) {
    return "a key or value of more than 65,535 bytes: mini-lsm stores 16 bits";
  }
  if (!e->deleted && e->value_len == 0) return "an empty value: in mini-lsm that is a deletion";
  if (w->offset + w->block.len + w->index.len > UINT32_MAX / 2) {
    return "the table would be too large: mini-lsm's offsets have 32 bits";
  }
  return NULL;
}

/* ---- blocks ---- */

static nay_status mini_append_key(nay_foreign_writer *w, const nay_buffer *key, uint64_t ts) {
  NAY_TRY(nay_sst__foreign_append_be(&w->index, key->len, 2, &w->allocator));
  NAY_TRY(nay__buffer_append(&w->index, key->at, key->len, &w->allocator));
  return mini_writes(w, MINI_TS) ? nay_sst__foreign_append_be(&w->index, ts, 8, &w->allocator)
                                 : NAY_OK;
}

static nay_status mini_close_block(nay_foreign_writer *w) {
  const nay_allocator *a = &w->allocator;
  if (w->nentries == 0) return NAY_OK;
  NAY_TRY(nay__buffer_append(&w->block, w->marks.at, w->marks.len, a));
  NAY_TRY(nay_sst__foreign_append_be(&w->block, w->nentries, 2, a));
  if (mini_writes(w, MINI_CRC)) {
    NAY_TRY(nay_sst__foreign_append_be(&w->block, nay__crc32(w->block.at, w->block.len), 4, a));
  }
  NAY_TRY(nay_sst__foreign_append_be(&w->index, w->offset, 4, a));
  NAY_TRY(mini_append_key(w, &w->first, w->first_version));
  NAY_TRY(mini_append_key(w, &w->last, w->last_version));
  NAY_TRY(nay_sst__foreign_put(w, w->block.at, w->block.len));
  w->nblocks++;
  w->nentries = 0;
  w->block.len = w->marks.len = 0;
  return NAY_OK;
}

static bool mini_must_close(const nay_foreign_writer *w, const nay_foreign_entry_in *e) {
  size_t size = 2 + 2 * (size_t)w->nentries + w->block.len + e->len +
                (mini_writes(w, MINI_TS) ? 8 : 0) + e->value_len + MINI_ENTRY;
  bool offsets = w->block.len > UINT16_MAX || w->nentries == UINT16_MAX;
  return w->nentries != 0 && (size > w->options.block_bytes || offsets);
}

static nay_status mini_append_entry(nay_foreign_writer *w, const nay_foreign_entry_in *e) {
  const nay_allocator *a = &w->allocator;
  size_t overlap = 0;
  if (mini_writes(w, MINI_OVERLAP)) {
    if (w->nentries != 0) {
      overlap = nay_sst__common(w->first.at, e->key, w->first.len < e->len ? w->first.len : e->len);
    }
    NAY_TRY(nay_sst__foreign_append_be(&w->block, overlap, 2, a));
  }
  NAY_TRY(nay_sst__foreign_append_be(&w->block, e->len - overlap, 2, a));
  NAY_TRY(nay__buffer_append(&w->block, e->key + overlap, e->len - overlap, a));
  if (mini_writes(w, MINI_TS)) NAY_TRY(nay_sst__foreign_append_be(&w->block, e->version, 8, a));
  NAY_TRY(nay_sst__foreign_append_be(&w->block, e->value_len, 2, a));
  return nay__buffer_append(&w->block, e->value, e->value_len, a);
}

static nay_status mini_add(nay_foreign_writer *w, const nay_foreign_entry_in *e) {
  if (mini_must_close(w, e)) NAY_TRY(mini_close_block(w));
  NAY_TRY(nay_sst__foreign_append_be(&w->marks, w->block.len, 2, &w->allocator));
  if (w->nentries == 0) {
    w->first.len = 0;
    NAY_TRY(nay__buffer_append(&w->first, e->key, e->len, &w->allocator));
    w->first_version = e->version;
  }
  NAY_TRY(mini_append_entry(w, e));
  w->nentries++;
  return NAY_OK;
}

/* ---- finishing ---- */

/* Writes the metadata. The block count comes first and is not covered by the CRC-32. */
static nay_status mini_put_metadata(nay_foreign_writer *w) {
  const nay_allocator *a = &w->allocator;
  uint8_t count[4];
  if (mini_writes(w, MINI_TS)) NAY_TRY(nay_sst__foreign_append_be(&w->index, w->max_version, 8, a));
  if (mini_writes(w, MINI_CRC)) {
    nay__store32be(count, w->nblocks);
    NAY_TRY(nay_sst__foreign_put(w, count, sizeof count));
    NAY_TRY(nay_sst__foreign_append_be(&w->index, nay__crc32(w->index.at, w->index.len), 4, a));
  }
  return nay_sst__foreign_put(w, w->index.at, w->index.len);
}

static nay_status mini_put_offset(nay_foreign_writer *w, uint64_t offset) {
  uint8_t bytes[4];
  if (w->offset > UINT32_MAX - 4) {
    return nay__fail(&w->trouble, NAY_EINVAL, "mini-lsm's offsets have 32 bits", w->offset);
  }
  nay__store32be(bytes, (uint32_t)offset);
  return nay_sst__foreign_put(w, bytes, sizeof bytes);
}

static nay_status mini_finish(nay_foreign_writer *w) {
  size_t len;
  if (w->total == 0) {
    return nay__fail(&w->trouble, NAY_EINVAL, "mini-lsm has no table without entries", 0);
  }
  NAY_TRY(mini_close_block(w));
  uint64_t metadata = w->offset;
  NAY_TRY(mini_put_metadata(w));
  NAY_TRY(mini_put_offset(w, metadata));
  if (!mini_writes(w, MINI_FILTER)) return NAY_OK;
  uint64_t filter = w->offset;
  NAY_TRY(nay_sst__foreign_put_bloom(w, &len));
  return mini_put_offset(w, filter);
}

const nay_foreign_layout nay_sst__foreign_write_day4 = {
    .form = 0, .refuses = mini_refuses, .add = mini_add, .finish = mini_finish};
const nay_foreign_layout nay_sst__foreign_write_week1 = {.form = MINI_FILTER | MINI_OVERLAP,
                                                         .filter = "mini-lsm-week1",
                                                         .refuses = mini_refuses,
                                                         .add = mini_add,
                                                         .finish = mini_finish};
const nay_foreign_layout nay_sst__foreign_write_week2 = {
    .form = MINI_FILTER | MINI_OVERLAP | MINI_CRC,
    .filter = "mini-lsm",
    .refuses = mini_refuses,
    .add = mini_add,
    .finish = mini_finish};
const nay_foreign_layout nay_sst__foreign_write_week3 = {
    .form = MINI_FILTER | MINI_OVERLAP | MINI_CRC | MINI_TS,
    .filter = "mini-lsm",
    .versions = NAY_FOREIGN_TIMESTAMP,
    .refuses = mini_refuses,
    .add = mini_add,
    .finish = mini_finish};
