/*
 * minilsm_table.c - reads tables of mini-lsm, the LSM course (doc/formats/mini-lsm-sst.md).
 *
 *   | block 0 | ... | block N-1 | metadata | metadata offset u32 | filter | filter offset u32 |
 *
 * Numbers are big-endian; there is no magic number and no compression. The course changes the
 * layout from week to week, which makes four forms:
 *
 *                                         day 4     week 1    week 2    week 3
 *   filter and filter offset              no        yes       yes       yes
 *   CRC-32 of block, metadata, filter     no        no        yes       yes
 *   prefix shared with the first key      no        yes       yes       yes
 *   timestamps                            no        no        no        yes
 *
 *   block      | entries | offset u16 x n | n u16 | [crc u32] |
 *   entry      | [overlap u16] | rest_len u16 | rest | [ts u64] | value_len u16 | value |
 *   metadata   [n u32] n x | offset u32 | first_len u16 | first | [ts u64] | last_len u16 | last |
 *              | [ts u64] |, [max_ts u64] [crc u32]
 *
 * An empty value is a deletion. The CRC-32 of the metadata does not cover the block count n.
 *
 * The layout name mini-lsm-sst stands for any form: the reader tries each, the latest first, and
 * accepts the one in which every block parses exactly. A name with a week selects that form alone.
 */
#include "base/crc32.h"
#include "foreign/engine.h"

/* Features of a form. */
#define MINI_FILTER 1u
#define MINI_OVERLAP 2u
#define MINI_CRC 4u
#define MINI_TS 8u

#define MINI_DAY4 0u
#define MINI_WEEK1 (MINI_FILTER | MINI_OVERLAP)
#define MINI_WEEK2 (MINI_WEEK1 | MINI_CRC)
#define MINI_WEEK3 (MINI_WEEK2 | MINI_TS)

static uint16_t mini_load16(const uint8_t *p) { return (uint16_t)(p[0] << 8 | p[1]); }

static uint64_t mini_load64(const uint8_t *p) {
  return (uint64_t)nay__load32be(p) << 32 | nay__load32be(p + 4);
}

static bool mini_has(const nay_foreign *f, unsigned bit) { return (f->form & bit) != 0; }

NAY_INLINE nay_status mini_bad(nay_diag *diag, const char *what, uint64_t at) {
  return nay__fail(diag, NAY_ECORRUPT, what, at);
}

/* ---- metadata ---- */

/* Reads the u32 at a file offset. */
static nay_status mini_load_at(const nay_foreign *f, uint64_t at, nay_diag *diag, uint32_t *n) {
  nay_buffer buffer = {NULL, 0, 0};
  nay_bytes bytes;
  nay_status status = nay_sst__foreign_read(f, at, 4, &buffer, diag, &bytes);
  if (status == NAY_OK) *n = nay__load32be(bytes.at);
  nay__buffer_free(&buffer, &f->allocator);
  return status;
}

/* Finds the metadata and the filter by their offsets at the end of the file. */
static nay_status mini_locate(nay_foreign *f, nay_diag *diag, nay_handle *metadata) {
  uint64_t end = f->source.len;
  uint32_t at;
  if (end < 8 || end > UINT32_MAX) {
    return nay__fail(diag, NAY_EFORMAT, "too short or too long for a table of mini-lsm", end);
  }
  if (mini_has(f, MINI_FILTER)) {
    NAY_TRY(mini_load_at(f, end - 4, diag, &at));
    if (at < 4 || at > end - 4)
      return mini_bad(diag, "the filter lies outside of the file", end - 4);
    f->filter = (nay_handle){at, end - 4 - at};
    end = at;
  }
  NAY_TRY(mini_load_at(f, end - 4, diag, &at));
  if (at > end - 4) return mini_bad(diag, "the metadata lies outside of the file", end - 4);
  *metadata = (nay_handle){at, end - 4 - at};
  f->blocks_end = at;
  return NAY_OK;
}

/* A bounded cursor. `truncated` is set once a read went past the end, and stays set. */
typedef struct mini_reader {
  const uint8_t *start, *p, *end;
  bool truncated;
} mini_reader;

static const uint8_t *mini_take(mini_reader *r, size_t n) {
  if (r->truncated || (size_t)(r->end - r->p) < n) {
    r->truncated = true;
    return NULL;
  }
  const uint8_t *at = r->p;
  r->p += n;
  return at;
}

/* Reads a key of the metadata and its timestamp. An empty key counts as truncated. */
static nay_bytes mini_take_key(const nay_foreign *f, mini_reader *r, uint64_t *ts) {
  const uint8_t *p = mini_take(r, 2);
  size_t len = p != NULL ? mini_load16(p) : 0;
  const uint8_t *key = mini_take(r, len);
  if (len == 0) r->truncated = true;
  *ts = 0;
  if (mini_has(f, MINI_TS)) {
    p = mini_take(r, 8);
    if (p != NULL) *ts = mini_load64(p);
  }
  return (nay_bytes){key, len};
}

static nay_status mini_read_entry(nay_foreign *f, mini_reader *r, uint64_t base, uint64_t *next,
                                  nay_diag *diag) {
  nay_foreign_block b = {.index_at = base + (uint64_t)(r->p - r->start)};
  const uint8_t *p = mini_take(r, 4);
  if (p != NULL) b.handle.offset = nay__load32be(p);
  b.first = mini_take_key(f, r, &b.first_version);
  b.last = mini_take_key(f, r, &b.last_version);
  if (r->truncated) return mini_bad(diag, "an entry exceeds the metadata", b.index_at);
  /* a block ends where the next one starts */
  mini_reader ahead = *r;
  p = mini_take(&ahead, 4);
  *next = p != NULL ? nay__load32be(p) : f->blocks_end;
  if (*next <= b.handle.offset || *next > f->blocks_end) {
    return mini_bad(diag, "the blocks of the index do not fill the file in order", b.index_at);
  }
  b.handle.size = *next - b.handle.offset;
  return nay_sst__foreign_add_block(f, &b, diag);
}

/* Strips block count, max_ts and checksum from the metadata. Sets *count to UINT64_MAX for forms
 * without a count. */
static nay_status mini_open_metadata(nay_foreign *f, nay_bytes meta, uint64_t at, nay_diag *diag,
                                     mini_reader *r, uint64_t *count) {
  size_t head = mini_has(f, MINI_CRC) ? 4 : 0;
  size_t tail = head + (mini_has(f, MINI_TS) ? 8 : 0);
  *count = UINT64_MAX;
  if (meta.len < head + tail) return mini_bad(diag, "the metadata is too short", at);
  *r = (mini_reader){meta.at, meta.at + head, meta.at + meta.len - tail, false};
  if (!mini_has(f, MINI_CRC)) return NAY_OK;
  *count = nay__load32be(meta.at);
  if (mini_has(f, MINI_TS)) f->max_version = mini_load64(r->end);
  if (nay__crc32(meta.at + 4, meta.len - 8) == nay__load32be(meta.at + meta.len - 4)) return NAY_OK;
  return mini_bad(diag, "the CRC-32 of the metadata is wrong", at + meta.len - 4);
}

static nay_status mini_read_metadata(nay_foreign *f, nay_handle handle, nay_diag *diag) {
  nay_bytes meta;
  mini_reader r;
  uint64_t count, next = 0;
  NAY_TRY(nay_sst__foreign_read(f, handle.offset, handle.size, &f->index_bytes, diag, &meta));
  NAY_TRY(mini_open_metadata(f, meta, handle.offset, diag, &r, &count));
  while (r.p < r.end) NAY_TRY(mini_read_entry(f, &r, handle.offset, &next, diag));
  if (count != UINT64_MAX && count != nay_sst__foreign_nblocks(f)) {
    return mini_bad(diag, "the block count differs from the entries of the metadata",
                    handle.offset);
  }
  if (next == f->blocks_end && next != 0) return NAY_OK;
  return mini_bad(diag, "the table has no block", handle.offset);
}

static nay_status mini_open(nay_foreign *f, unsigned form, nay_diag *diag) {
  nay_handle metadata;
  f->form = form;
  f->blocks.len = 0;
  f->filter = (nay_handle){0, 0};
  f->has_checksums = mini_has(f, MINI_CRC);
  f->versions = mini_has(f, MINI_TS) ? NAY_FOREIGN_TIMESTAMP : NAY_FOREIGN_NO_VERSIONS;
  f->format = nay_format_find(f->has_checksums ? "mini-lsm" : "mini-lsm-week1");
  NAY_TRY(mini_locate(f, diag, &metadata));
  return mini_read_metadata(f, metadata, diag);
}

/* ---- blocks ---- */

static nay_status mini_contents(const nay_foreign *f, const nay_foreign_block *b, nay_bytes stored,
                                nay_buffer *room, nay_diag *diag, nay_bytes *contents) {
  (void)room;
  *contents = stored;
  if (!mini_has(f, MINI_CRC)) return NAY_OK;
  if (stored.len < 4) return mini_bad(diag, "a block is too short", b->handle.offset);
  contents->len = stored.len - 4;
  if (nay__crc32(stored.at, contents->len) == nay__load32be(stored.at + contents->len)) {
    return NAY_OK;
  }
  return mini_bad(diag, "the CRC-32 of a block is wrong", b->handle.offset + contents->len);
}

/* Parses the entry at r->p; e->key is set to the bytes after the overlap. False: the entry exceeds
 * the block. */
static bool mini_entry(const nay_foreign *f, mini_reader *r, size_t first_len, nay_foreign_entry *e,
                       size_t *overlap) {
  const uint8_t *p = mini_has(f, MINI_OVERLAP) ? mini_take(r, 2) : NULL;
  *overlap = p != NULL ? mini_load16(p) : 0;
  p = mini_take(r, 2);
  e->key.len = p != NULL ? mini_load16(p) : 0;
  e->key.at = mini_take(r, e->key.len);
  p = mini_has(f, MINI_TS) ? mini_take(r, 8) : NULL;
  e->version = p != NULL ? mini_load64(p) : 0;
  p = mini_take(r, 2);
  e->value.len = p != NULL ? mini_load16(p) : 0;
  e->value.at = mini_take(r, e->value.len);
  e->deleted = e->value.len == 0;
  return !r->truncated && *overlap <= first_len && *overlap + e->key.len != 0;
}

/* Rebuilds a whole key. `key` starts with the block's first key, and the result is stored after
 * it. */
static nay_status mini_rebuild_key(const nay_foreign *f, nay_buffer *key, size_t first_len,
                                   size_t overlap, nay_foreign_entry *e, nay_diag *diag) {
  key->len = first_len;
  if (nay__buffer_reserve(key, overlap + e->key.len, &f->allocator) != NAY_OK) {
    return nay__fail(diag, NAY_ENOMEM, "no memory for a key", e->at);
  }
  uint8_t *at = key->at + first_len;
  if (overlap != 0) memcpy(at, key->at, overlap);
  if (e->key.len != 0) memcpy(at + overlap, e->key.at, e->key.len);
  e->key = (nay_bytes){at, overlap + e->key.len};
  return NAY_OK;
}

static nay_status mini_walk(const nay_foreign *f, nay_bytes contents, nay_buffer *key,
                            nay_foreign_visit visit, void *ctx, nay_diag *diag) {
  if (contents.len < 2) return mini_bad(diag, "a block is too short", contents.len);
  size_t n = mini_load16(contents.at + contents.len - 2);
  if (n > (contents.len - 2) / 2) {
    return mini_bad(diag, "a block has more offsets than bytes", contents.len - 2);
  }
  const uint8_t *offsets = contents.at + contents.len - 2 - 2 * n;
  mini_reader r = {contents.at, contents.at, offsets, false};
  size_t first_len = 0;
  key->len = 0;
  for (size_t i = 0; i < n; i++) {
    nay_foreign_entry e = {.at = (size_t)(r.p - r.start)};
    size_t overlap;
    /* mini-lsm stores offsets modulo 2^16, also in blocks larger than 64 KiB */
    if (mini_load16(offsets + 2 * i) != (uint16_t)e.at ||
        !mini_entry(f, &r, first_len, &e, &overlap)) {
      return mini_bad(diag, "a block has an entry that does not fit", e.at);
    }
    NAY_TRY(mini_rebuild_key(f, key, first_len, overlap, &e, diag));
    if (i == 0) first_len = e.key.len;
    NAY_TRY(visit(ctx, &e));
  }
  if (r.p == offsets) return NAY_OK;
  return mini_bad(diag, "a block has bytes between entries and offsets", (size_t)(r.p - r.start));
}

/* ---- layouts ---- */

static nay_status mini_check_all(const nay_foreign *f, nay_diag *diag) {
  nay_foreign_scratch scratch = {.key = {NULL, 0, 0}};
  nay_status status = NAY_OK;
  for (size_t i = 0; i < nay_sst__foreign_nblocks(f) && status == NAY_OK; i++) {
    status = nay_sst__foreign_walk(f, i, &scratch, NULL, NULL, diag);
  }
  nay_sst__foreign_scratch_free(&scratch, &f->allocator);
  return status;
}

/* Opens the table in the first form that fits. If none fits, reports the error of the latest form,
 * or of a form whose metadata checksum matched. */
static nay_status mini_open_any(nay_foreign *f, nay_diag *diag) {
  static const unsigned forms[] = {MINI_WEEK3, MINI_WEEK2, MINI_WEEK1, MINI_DAY4};
  nay_diag best = {.what = NULL};
  nay_status status = NAY_ECORRUPT, best_status = NAY_ECORRUPT;
  for (unsigned i = 0; i < 4; i++) {
    nay_diag why = {.what = NULL};
    status = mini_open(f, forms[i], &why);
    bool metadata = status == NAY_OK;
    if (metadata) status = mini_check_all(f, &why);
    if (status == NAY_OK) return NAY_OK;
    bool final = status == NAY_ENOMEM || status == NAY_EIO || (metadata && f->has_checksums);
    if (final || best.what == NULL) { /* a matching metadata checksum proves the form */
      best = why;
      best_status = status;
    }
    if (final) break;
  }
  if (diag != NULL) *diag = best;
  return best_status;
}

static nay_status mini_open_day4(nay_foreign *f, nay_diag *diag) {
  return mini_open(f, MINI_DAY4, diag);
}
static nay_status mini_open_week1(nay_foreign *f, nay_diag *diag) {
  return mini_open(f, MINI_WEEK1, diag);
}
static nay_status mini_open_week2(nay_foreign *f, nay_diag *diag) {
  return mini_open(f, MINI_WEEK2, diag);
}
static nay_status mini_open_week3(nay_foreign *f, nay_diag *diag) {
  return mini_open(f, MINI_WEEK3, diag);
}

const nay_foreign_engine nay_sst__foreign_minilsm = {
    "mini-lsm-sst", "a table of mini-lsm, of any week", mini_open_any, mini_contents, mini_walk};
const nay_foreign_engine nay_sst__foreign_minilsm_day4 = {
    "mini-lsm-sst-day4", "a table of mini-lsm's week 1, day 4: no filter", mini_open_day4,
    mini_contents, mini_walk};
const nay_foreign_engine nay_sst__foreign_minilsm_week1 = {
    "mini-lsm-sst-week1", "a table of mini-lsm's week 1: no checksums", mini_open_week1,
    mini_contents, mini_walk};
const nay_foreign_engine nay_sst__foreign_minilsm_week2 = {
    "mini-lsm-sst-week2", "a table of mini-lsm's week 2, the finished course", mini_open_week2,
    mini_contents, mini_walk};
const nay_foreign_engine nay_sst__foreign_minilsm_week3 = {
    "mini-lsm-sst-week3", "a table of mini-lsm's week 3: timestamps (MVCC)", mini_open_week3,
    mini_contents, mini_walk};
