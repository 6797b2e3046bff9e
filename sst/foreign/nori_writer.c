/*
 * nori_writer.c - writes tables of nori-sstable, versions 1 and 2; nori_table.c draws the layout.
 *
 * A block is finished once it reaches block_bytes, so blocks are slightly larger than that. Version
 * 2 stores a quotient filter in each block, sized for max(16, block_bytes / 64) keys. nori silently
 * drops keys from a full quotient filter and then misses them, and the filter's length must fit 16
 * bits. This writer therefore also finishes a block before a key that would overflow its filter.
 * Only in this case do the bytes differ from nori's.
 */
#include "block/crc32c.h"
#include "foreign/engine_writer.h"

#define NORI_FOOTER 64u
#define NORI_KEY_BYTES 64u /* nori's estimate of an entry's size */
#define NORI_LEAST_KEYS 16u
#define NORI_REMAINDER 7u
#define NORI_MAX_FILTER UINT16_MAX
#define NORI_SLOT 6u /* bytes that one key adds to a quotient filter */
#define NORI_DELETED ((uint64_t)1 << 63)

static bool nori_has_quotient(const nay_foreign_writer *w) {
  return w->layout == &nay_sst__foreign_write_nori_quotient;
}

static const char *nori_refuses(const nay_foreign_writer *w, const nay_foreign_entry_in *e) {
  (void)w, (void)e;
  return NULL;
}

/* ---- the quotient filter of a block ---- */

static nay_status nori_new_filter(nay_foreign_writer *w) {
  uint64_t nkeys = w->options.block_bytes / NORI_KEY_BYTES;
  nay_params p = {.size = sizeof p,
                  .nkeys = nkeys < NORI_LEAST_KEYS ? NORI_LEAST_KEYS : nkeys,
                  .bits_per_key = NORI_REMAINDER};
  if (p.nkeys > 49152) p.nkeys = 49152; /* the largest filter is planned for 3/4 of 65,536 slots */
  return nay_format_new(nay_format_find("nori-quotient"), &p, &w->allocator, &w->trouble,
                        &w->quotient);
}

/* Whether the quotient filter can take the key without dropping it. */
static bool nori_filter_has_room(const nay_foreign_writer *w, const nay_foreign_entry_in *e) {
  nay_stats s = {.size = sizeof s};
  if (w->quotient == NULL || nay_filter_stats(w->quotient, &s) != NAY_OK) return true;
  size_t len = nay_format_encoded_size(nay_filter_format(w->quotient), w->quotient);
  bool fits = s.nbits_set < s.nbits && len + NORI_SLOT <= NORI_MAX_FILTER;
  return fits || (s.fill < 1 && nay_filter_may_contain(w->quotient, e->key, e->len));
}

/* ---- blocks ---- */

static size_t nori_block_size(const nay_foreign_writer *w) {
  size_t size = w->block.len + w->marks.len + 4;
  if (w->quotient == NULL) return size;
  return size + nay_format_encoded_size(nay_filter_format(w->quotient), w->quotient) + 2;
}

/* Compresses w->block into w->scratch. */
static nay_status nori_compress(nay_foreign_writer *w) {
  const nay_sst_codec *codec = w->options.codec;
  size_t bound = codec->bound(codec->ctx, w->block.len), len = bound;
  w->scratch.len = 0;
  NAY_TRY(nay__buffer_reserve(&w->scratch, bound + 1, &w->allocator));
  nay_status status =
      codec->compress(codec->ctx, w->block.at, w->block.len, w->scratch.at, bound, &len);
  if (status != NAY_OK || len > bound) {
    return nay__fail(&w->trouble, NAY_EINVAL, "the codec could not compress a block", w->offset);
  }
  w->scratch.len = len;
  return NAY_OK;
}

static nay_status nori_put_index_entry(nay_foreign_writer *w, size_t size) {
  uint8_t len[NAY_VARINT64_MAX];
  const nay_allocator *a = &w->allocator;
  size_t n = (size_t)(nay__varint_store(len, w->first.len) - len);
  NAY_TRY(nay__buffer_append(&w->index, len, n, a));
  NAY_TRY(nay__buffer_append(&w->index, w->first.at, w->first.len, a));
  NAY_TRY(nay_sst__foreign_append_le(&w->index, w->offset, 8, a));
  return nay_sst__foreign_append_le(&w->index, size, 4, a);
}

/* Appends restart points, their count and the quotient filter to the entries of the block. */
static nay_status nori_close_entries(nay_foreign_writer *w) {
  const nay_allocator *a = &w->allocator;
  NAY_TRY(nay__buffer_append(&w->block, w->marks.at, w->marks.len, a));
  NAY_TRY(nay_sst__foreign_append_le(&w->block, w->marks.len / 4, 4, a));
  if (w->quotient == NULL) return NAY_OK;
  NAY_TRY(nay_sst__foreign_encode(w, w->quotient));
  NAY_TRY(nay__buffer_append(&w->block, w->scratch.at, w->scratch.len, a));
  NAY_TRY(nay_sst__foreign_append_le(&w->block, w->scratch.len, 2, a));
  nay_filter_free(w->quotient);
  w->quotient = NULL;
  return NAY_OK;
}

static nay_status nori_close_block(nay_foreign_writer *w) {
  if (w->nentries == 0) return NAY_OK;
  NAY_TRY(nori_close_entries(w));
  const nay_buffer *stored = &w->block;
  if (w->options.codec != NULL) {
    NAY_TRY(nori_compress(w));
    stored = &w->scratch;
  }
  if (stored->len > UINT32_MAX) {
    return nay__fail(&w->trouble, NAY_EINVAL, "a block of 4 GiB or more", w->offset);
  }
  NAY_TRY(nori_put_index_entry(w, stored->len));
  NAY_TRY(nay_sst__foreign_put(w, stored->at, stored->len));
  w->nblocks++;
  w->nentries = 0;
  w->block.len = w->marks.len = 0;
  return NAY_OK;
}

static nay_status nori_append_entry(nay_foreign_writer *w, const nay_foreign_entry_in *e,
                                    size_t shared) {
  uint8_t head[5 * NAY_VARINT64_MAX], *p = head;
  const nay_allocator *a = &w->allocator;
  p = nay__varint_store(p, shared);
  p = nay__varint_store(p, e->len - shared);
  p = nay__varint_store(p, e->value_len | (e->deleted ? NORI_DELETED : 0));
  p = nay__varint_store(p, e->term);
  p = nay__varint_store(p, e->version);
  NAY_TRY(nay__buffer_append(&w->block, head, (size_t)(p - head), a));
  NAY_TRY(nay__buffer_append(&w->block, e->key + shared, e->len - shared, a));
  return nay__buffer_append(&w->block, e->value, e->value_len, a);
}

static nay_status nori_add(nay_foreign_writer *w, const nay_foreign_entry_in *e) {
  const nay_allocator *a = &w->allocator;
  if (w->nentries != 0 && !nori_filter_has_room(w, e)) NAY_TRY(nori_close_block(w));
  bool restart = w->nentries % w->options.restart_interval == 0;
  if (w->nentries == 0) {
    w->first.len = 0;
    NAY_TRY(nay__buffer_append(&w->first, e->key, e->len, a));
    if (nori_has_quotient(w)) NAY_TRY(nori_new_filter(w));
  }
  size_t shared = 0;
  if (restart) {
    NAY_TRY(nay_sst__foreign_append_le(&w->marks, w->block.len, 4, a));
  } else {
    shared = nay_sst__common(w->last.at, e->key, w->last.len < e->len ? w->last.len : e->len);
  }
  NAY_TRY(nori_append_entry(w, e, shared));
  if (w->quotient != NULL) NAY_TRY(nay_filter_add(w->quotient, e->key, e->len, NULL));
  w->nentries++;
  return nori_block_size(w) >= w->options.block_bytes ? nori_close_block(w) : NAY_OK;
}

/* ---- finishing ---- */

static nay_status nori_put_footer(nay_foreign_writer *w, nay_handle index, nay_handle bloom) {
  uint8_t footer[NORI_FOOTER] = {0};
  const nay_sst_codec *codec = w->options.codec;
  nay__store64le(footer, index.offset);
  nay__store64le(footer + 8, index.size);
  nay__store64le(footer + 16, bloom.offset);
  nay__store64le(footer + 24, bloom.size);
  footer[32] = codec == NULL ? 0 : codec->id == 4 ? 1 : 2;
  nay__store32le(footer + 33, w->options.block_bytes);
  nay__store64le(footer + 37, w->total);
  footer[45] = nori_has_quotient(w) ? 2 : 1;
  footer[46] = nori_has_quotient(w) ? NORI_REMAINDER : 0;
  memcpy(footer + 52, "NORISSTL", 8);
  nay__store32le(footer + 60, nay_sst__crc32c(0, footer, 60));
  return nay_sst__foreign_put(w, footer, sizeof footer);
}

static nay_status nori_finish(nay_foreign_writer *w) {
  nay_handle bloom = {0, 0};
  NAY_TRY(nori_close_block(w));
  NAY_TRY(nay_sst__foreign_append_le(&w->index, w->nblocks, 4, &w->allocator));
  nay_handle index = {w->offset, w->index.len};
  NAY_TRY(nay_sst__foreign_put(w, w->index.at, w->index.len));
  if (w->bloom != NULL) {
    size_t len;
    bloom.offset = w->offset;
    NAY_TRY(nay_sst__foreign_put_bloom(w, &len));
    bloom.size = len;
  }
  return nori_put_footer(w, index, bloom);
}

const nay_foreign_layout nay_sst__foreign_write_nori = {.filter = "nori12",
                                                        .versions = NAY_FOREIGN_TERM_AND_INDEX,
                                                        .refuses = nori_refuses,
                                                        .add = nori_add,
                                                        .finish = nori_finish};
const nay_foreign_layout nay_sst__foreign_write_nori_quotient = {
    .versions = NAY_FOREIGN_TERM_AND_INDEX,
    .refuses = nori_refuses,
    .add = nori_add,
    .finish = nori_finish};
