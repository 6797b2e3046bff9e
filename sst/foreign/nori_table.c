/*
 * nori_table.c - reads tables of nori-sstable (doc/formats/nori-sst.md).
 *
 *   | block 0 | ... | block N-1 | index | Bloom filter (not in version 2) | footer, 64 bytes |
 *
 *   footer   | index offset, size u64 | filter offset, size u64 | codec u8 | block_size u32 |
 *            | entries u64 | version u8 | qf_remainder_bits u8 | 0 x 5 | "NORISSTL" | CRC-32C u32 |
 *   index    N x | key_len varint | first key | offset u64 | size u32 |, then N u32
 *   block    | entries | restart u32 x n | n u32 | and in version 2: | filter | its length u16 |
 *   entry    | shared | unshared | value_len, bit 63 a deletion | VERSION | key[shared..] | value |
 *
 * Fixed-width numbers are little-endian, the numbers of an entry are varints. Only the footer has a
 * checksum. A compressed block is one frame without its uncompressed length.
 *
 * VERSION is zero, one or two varints, depending on the writer's release. Footer versions 1 and 2
 * imply two (term and index); footer version 0 does not tell, see nori_trial.c.
 *
 * nori's own reader misses keys that are present when it probes a Bloom filter of 0 bits, and in
 * blocks whose quotient filter overflowed. This reader does not use such filters and finds the
 * keys.
 */
#include "base/varint.h"
#include "block/codec.h"
#include "block/crc32c.h"
#include "foreign/engine.h"

#define NORI_FOOTER 64u
#define NORI_MAGIC_AT 52u
#define NORI_CRC_AT 60u
#define NORI_BLOOM_HEADER 12u
#define NORI_MAX_VERSION 2u
#define NORI_LZ4 1u
#define NORI_ZSTD 2u
#define NORI_DELETED ((uint64_t)1 << 63)
#define NORI_CODEC_LZ4 4u  /* id of the nay_sst_codec for a raw LZ4 block */
#define NORI_CODEC_ZSTD 2u /* id of the nay_sst_codec for a zstd frame, the same as LevelDB's */

const nay_foreign_engine *nay_sst__foreign_recognise(const uint8_t *tail, size_t len) {
  bool nori = len >= NORI_FOOTER && memcmp(tail + len - 12, "NORISSTL", 8) == 0;
  return nori ? &nay_sst__foreign_nori : NULL;
}

nay_status nay_sst__foreign_check_name(const nay_foreign_engine *named,
                                       const nay_foreign_engine *is, uint64_t file_len,
                                       nay_diag *diag) {
  if (is == NULL || is == named) return NAY_OK;
  return nay__fail(diag, NAY_EFORMAT, "the file has the magic number of nori-sstable",
                   file_len - 12);
}

/* ---- footer and index ---- */

typedef struct nori_footer {
  nay_handle index, bloom;
  uint64_t at; /* file offset of the footer */
} nori_footer;

NAY_INLINE nay_status nori_bad(nay_diag *diag, const char *what, uint64_t at) {
  return nay__fail(diag, NAY_ECORRUPT, what, at);
}

static nay_status nori_check_footer(const nay_foreign *f, const nori_footer *footer,
                                    nay_diag *diag) {
  uint64_t at = footer->at, index = footer->index.offset, nindex = footer->index.size;
  if (f->footer_version > NORI_MAX_VERSION) {
    return nay__fail(diag, NAY_EVERSION, "a footer version above 2", at + 45);
  }
  if (f->codec > NORI_ZSTD) return nori_bad(diag, "a codec other than 0, 1 and 2", at + 32);
  if (index > at || nindex < 4 || nindex > at - index) {
    return nori_bad(diag, "the index lies outside of the file", at);
  }
  uint64_t end = index + nindex;
  if (footer->bloom.size == 0) {
    if (end != at) return nori_bad(diag, "the index does not end at the footer", at + 8);
    return NAY_OK;
  }
  if (f->footer_version == 2) return nori_bad(diag, "version 2 with a Bloom filter", at + 24);
  if (footer->bloom.offset != end || footer->bloom.size != at - end) {
    return nori_bad(diag, "the filter does not lie between index and footer", at + 16);
  }
  if (footer->bloom.size < NORI_BLOOM_HEADER) {
    return nori_bad(diag, "a filter shorter than its header", at + 24);
  }
  return NAY_OK;
}

static nay_status nori_read_footer(nay_foreign *f, nay_diag *diag, nori_footer *footer) {
  nay_buffer buffer = {NULL, 0, 0};
  nay_bytes bytes;
  if (f->source.len < NORI_FOOTER) {
    return nay__fail(diag, NAY_EFORMAT, "shorter than the footer of nori", f->source.len);
  }
  uint64_t at = f->source.len - NORI_FOOTER;
  nay_status status = nay_sst__foreign_read(f, at, NORI_FOOTER, &buffer, diag, &bytes);
  if (status == NAY_OK) {
    const uint8_t *p = bytes.at;
    uint32_t crc = nay_sst__crc32c(0, p, NORI_CRC_AT);
    *footer = (nori_footer){{nay__load64le(p), nay__load64le(p + 8)},
                            {nay__load64le(p + 16), nay__load64le(p + 24)},
                            at};
    f->codec = p[32];
    f->block_bytes = nay__load32le(p + 33);
    f->nentries = nay__load64le(p + 37);
    f->has_nentries = true;
    f->footer_version = p[45];
    if (memcmp(p + NORI_MAGIC_AT, "NORISSTL", 8) != 0) {
      status = nay__fail(diag, NAY_EFORMAT, "not a table of nori", at + NORI_MAGIC_AT);
    } else if (crc != nay__load32le(p + NORI_CRC_AT)) {
      status = nori_bad(diag, "the CRC-32C of the footer is wrong", at + NORI_CRC_AT);
    }
  }
  nay__buffer_free(&buffer, &f->allocator);
  return status == NAY_OK ? nori_check_footer(f, footer, diag) : status;
}

/* Parses the index entry at *p and advances *p past it. */
static nay_status nori_index_entry(nay_foreign *f, const uint8_t **p, const uint8_t *end,
                                   uint64_t at, nay_diag *diag) {
  uint64_t len;
  const uint8_t *q = nay__varint64_load(*p, end, &len);
  if (q == NULL || len > (uint64_t)(end - q) || (uint64_t)(end - q) - len < 12) {
    return nori_bad(diag, "an entry exceeds the index", at);
  }
  nay_foreign_block b = {.first = {q, (size_t)len}, .index_at = at};
  q += len;
  b.handle = (nay_handle){nay__load64le(q), nay__load32le(q + 8)};
  *p = q + 12;
  return nay_sst__foreign_add_block(f, &b, diag);
}

static nay_status nori_read_index(nay_foreign *f, const nori_footer *footer, nay_diag *diag) {
  nay_bytes index;
  uint64_t start = footer->index.offset, nblocks = 0;
  NAY_TRY(nay_sst__foreign_read(f, start, footer->index.size, &f->index_bytes, diag, &index));
  const uint8_t *p = index.at, *end = index.at + index.len - 4;
  uint32_t stated = nay__load32le(end);
  for (; p < end; nblocks++) {
    NAY_TRY(nori_index_entry(f, &p, end, start + (uint64_t)(p - index.at), diag));
  }
  if (nblocks != stated) {
    return nori_bad(diag, "the block count differs from the entries of the index",
                    start + (uint64_t)(end - index.at));
  }
  const nay_foreign_block *last =
      nblocks != 0 ? nay_sst__foreign_block_at(f, (size_t)nblocks - 1) : NULL;
  uint64_t covered = last != NULL ? last->handle.offset + last->handle.size : 0;
  if (covered != f->blocks_end) {
    return nori_bad(diag, "the blocks of the index do not fill the file in order", start);
  }
  if ((nblocks == 0) != (f->nentries == 0)) {
    return nori_bad(diag, "the entry count contradicts the block count", footer->at + 37);
  }
  return NAY_OK;
}

static nay_status nori_open(nay_foreign *f, nay_diag *diag) {
  nori_footer footer = {.at = 0}; /* gcc -O1 does not see that a failed load returns early */
  NAY_TRY(nori_read_footer(f, diag, &footer));
  f->blocks_end = footer.index.offset;
  f->filter_in_blocks = f->footer_version == 2;
  f->versions = NAY_FOREIGN_TERM_AND_INDEX;
  f->format = nay_format_find(f->filter_in_blocks ? "nori-quotient" : "nori12");
  if (footer.bloom.size != 0) f->filter = footer.bloom;
  NAY_TRY(nori_read_index(f, &footer, diag));
  return f->footer_version == 0 ? nay_sst__nori_resolve(f, diag) : NAY_OK;
}

/* ---- blocks ---- */

static nay_status nori_contents(const nay_foreign *f, const nay_foreign_block *b, nay_bytes stored,
                                nay_buffer *room, nay_diag *diag, nay_bytes *contents) {
  uint8_t id = f->codec == NORI_LZ4 ? NORI_CODEC_LZ4 : NORI_CODEC_ZSTD;
  const nay_sst_codec *codec = NULL;
  size_t size;
  *contents = stored;
  if (f->codec == 0 || f->stored_raw) return NAY_OK;
  for (size_t i = 0; i < f->source.ncodecs; i++) {
    if (f->source.codecs[i]->id == id) codec = f->source.codecs[i];
  }
  if (codec == NULL) {
    return nay__fail(diag, NAY_ENOTSUP, "a block is compressed, and no codec was given for it",
                     b->handle.offset);
  }
  nay_status status = codec->uncompressed_size(codec->ctx, stored.at, stored.len, &size);
  if (status != NAY_OK) return nay_sst__codec_failed(status, b->handle.offset, diag);
  if (size > f->source.max_block_bytes) {
    return nay__fail(diag, NAY_EFULL, "the uncompressed size of a block is above max_block_bytes",
                     b->handle.offset);
  }
  room->len = 0;
  if (nay__buffer_reserve(room, size + 1, &f->allocator) != NAY_OK) {
    return nay__fail(diag, NAY_ENOMEM, "no memory for a block", b->handle.offset);
  }
  *contents = (nay_bytes){room->at, size};
  status = codec->uncompress(codec->ctx, stored.at, stored.len, room->at, size);
  return status == NAY_OK ? NAY_OK : nay_sst__codec_failed(status, b->handle.offset, diag);
}

nay_status nay_sst__nori_block_filter(nay_bytes contents, nay_diag *diag, nay_bytes *filter) {
  if (contents.len < 2) return nori_bad(diag, "a block is too short", contents.len);
  size_t len = nay__load16le(contents.at + contents.len - 2);
  if (len > contents.len - 2) {
    return nori_bad(diag, "the filter of a block exceeds the block", contents.len - 2);
  }
  *filter = (nay_bytes){contents.at + contents.len - 2 - len, len};
  return NAY_OK;
}

/* A parsed entry: its numbers, and the entry that the visitor receives. */
typedef struct nori_entry {
  uint64_t shared, unshared, value_len;
  nay_foreign_entry out;
} nori_entry;

/* Parses the numbers of an entry. Returns where its key starts; NULL: the entry exceeds the block.
 */
static const uint8_t *nori_entry_numbers(const nay_foreign *f, const uint8_t *p, const uint8_t *end,
                                         nori_entry *e) {
  uint64_t *numbers[5] = {&e->shared, &e->unshared, &e->value_len};
  unsigned n = 3;
  if (f->versions == NAY_FOREIGN_TERM_AND_INDEX) numbers[n++] = &e->out.term;
  if (f->versions != NAY_FOREIGN_NO_VERSIONS) numbers[n++] = &e->out.version;
  for (unsigned i = 0; i < n; i++) {
    p = nay__varint64_load(p, end, numbers[i]);
    if (p == NULL) return NULL;
  }
  e->out.deleted = (e->value_len & NORI_DELETED) != 0;
  e->value_len &= ~NORI_DELETED;
  uint64_t left = (uint64_t)(end - p);
  if (e->unshared > left || e->value_len > left - e->unshared) return NULL;
  return p;
}

/* The entries of a block, and its restart points. */
typedef struct nori_block {
  const uint8_t *start, *end; /* start and end of the entries */
  uint32_t nrestarts;
} nori_block;

static nay_status nori_open_block(const nay_foreign *f, nay_bytes contents, nay_diag *diag,
                                  nori_block *b) {
  size_t len = contents.len;
  if (f->filter_in_blocks) {
    nay_bytes filter;
    NAY_TRY(nay_sst__nori_block_filter(contents, diag, &filter));
    len -= filter.len + 2;
  }
  if (len < 4) return nori_bad(diag, "a block is too short", len);
  b->nrestarts = nay__load32le(contents.at + len - 4);
  if (b->nrestarts > (len - 4) / 4) {
    return nori_bad(diag, "a block has more restarts than bytes", len - 4);
  }
  b->start = contents.at;
  b->end = contents.at + (len - 4 - 4 * (size_t)b->nrestarts);
  return NAY_OK;
}

static nay_status nori_walk(const nay_foreign *f, nay_bytes contents, nay_buffer *key,
                            nay_foreign_visit visit, void *ctx, nay_diag *diag) {
  nori_block b;
  uint32_t restart = 0;
  NAY_TRY(nori_open_block(f, contents, diag, &b));
  key->len = 0;
  for (const uint8_t *p = b.start; p < b.end;) {
    nori_entry e = {.out = {.at = (size_t)(p - b.start)}};
    const uint8_t *suffix = nori_entry_numbers(f, p, b.end, &e);
    if (suffix == NULL || e.shared > key->len) {
      return nori_bad(diag, "a block has an entry that does not fit", e.out.at);
    }
    for (; restart < b.nrestarts && nay__load32le(b.end + 4 * (size_t)restart) == e.out.at;) {
      if (e.shared != 0)
        return nori_bad(diag, "the entry at a restart point has no whole key", e.out.at);
      restart++;
    }
    key->len = (size_t)e.shared;
    if (nay__buffer_append(key, suffix, (size_t)e.unshared, &f->allocator) != NAY_OK) {
      return nay__fail(diag, NAY_ENOMEM, "no memory for a key", e.out.at);
    }
    e.out.key = (nay_bytes){key->len != 0 ? key->at : (const uint8_t *)"", key->len};
    e.out.value = (nay_bytes){suffix + e.unshared, (size_t)e.value_len};
    p = e.out.value.at + e.value_len;
    NAY_TRY(visit(ctx, &e.out));
  }
  if (restart == b.nrestarts && restart != 0) return NAY_OK;
  return nori_bad(diag, "a restart point is not at an entry", (size_t)(b.end - b.start));
}

const nay_foreign_engine nay_sst__foreign_nori = {
    .name = "nori-sst",
    .about = "a table of nori-sstable (magic NORISSTL)",
    .open = nori_open,
    .contents = nori_contents,
    .walk = nori_walk,
};
