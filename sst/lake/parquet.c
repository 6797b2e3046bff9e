/*
 * parquet.c - opens a Parquet file by its footer, and reads and probes the filters in it.
 *
 *   | PAR1 | pages, filters, indexes ... | footer | length of the footer u32 | PAR1 |
 *
 * A probe reads two ranges of the file: the header of a filter, 64 bytes of which nearly always
 * suffice, and one block of the filter.
 */
#include "lake/parquet.h"

#include "base/bytes.h"
#include "base/split_block.h"
#include "base/thrift.h"
#include "struct_sizes.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define PARQUET_END 8u   /* the end of a file: footer length and magic number */
#define PARQUET_HEAD 64u /* bytes read for a filter's header; known writers use 15 to 19 */
/* Bytes read for a header with fields of later versions of the format */
#define PARQUET_HEADS 4096u

static const uint8_t parquet_magic[4] = {'P', 'A', 'R', '1'};
static const uint8_t parquet_encrypted[4] = {'P', 'A', 'R', 'E'};

static nay_status parquet_read(nay_sst_parquet *p, uint64_t at, void *dst, size_t len,
                               nay_diag *diag) {
  NAY_TRY(nay_sst__io_read(&p->file, at, dst, len, diag));
  p->nbytes_read += len;
  return NAY_OK;
}

/* ---- opening ---- */

static nay_status parquet_load(nay_sst_parquet *p, nay_diag *diag) {
  uint8_t head[4], end[PARQUET_END];
  uint64_t length = p->file.length;
  if (length < sizeof head + PARQUET_END) {
    return nay__fail(diag, NAY_EFORMAT, "not a Parquet file: too short", 0);
  }
  NAY_TRY(parquet_read(p, 0, head, sizeof head, diag));
  if (memcmp(head, parquet_magic, 4) != 0 && memcmp(head, parquet_encrypted, 4) != 0) {
    return nay__fail(diag, NAY_EFORMAT, "not a Parquet file: it does not start with PAR1", 0);
  }
  NAY_TRY(parquet_read(p, length - PARQUET_END, end, PARQUET_END, diag));
  if (memcmp(end + 4, parquet_encrypted, 4) == 0) {
    return nay__fail(diag, NAY_ENOTSUP, "the footer of this Parquet file is encrypted", length - 4);
  }
  if (memcmp(end + 4, parquet_magic, 4) != 0) {
    return nay__fail(diag, NAY_ECORRUPT, "the end of the Parquet file is missing", length - 4);
  }
  uint64_t len = nay__load32le(end), most = length - PARQUET_END - sizeof head;
  if (len == 0 || len > most) {
    return nay__fail(diag, NAY_ECORRUPT, "the length of the footer is not one", length - 8);
  }
  p->footer_at = length - PARQUET_END - len;
  p->footer = nay__alloc(&p->allocator, (size_t)len);
  if (p->footer == NULL) return nay__fail(diag, NAY_ENOMEM, "no memory for the footer", 0);
  p->footer_len = (size_t)len;
  NAY_TRY(parquet_read(p, p->footer_at, p->footer, p->footer_len, diag));
  return nay_sst__parquet_footer(p, diag);
}

static nay_status parquet_open(const nay_sst_file *file, bool owns, const nay_allocator *allocator,
                               nay_diag *diag, nay_sst_parquet **parquet) {
  nay_allocator a;
  nay_status status = nay__allocator_read(allocator, diag, &a);
  nay_sst_parquet *p = status == NAY_OK ? nay__alloc(&a, sizeof *p) : NULL;
  if (p == NULL) {
    if (status == NAY_OK) status = nay__fail(diag, NAY_ENOMEM, "no memory for a file", 0);
    if (owns) nay_sst__io_close(file);
    return status;
  }
  *p = (nay_sst_parquet){.allocator = a, .file = *file, .owns_file = owns};
  status = parquet_load(p, diag);
  if (status != NAY_OK) {
    nay_sst_parquet_free(p);
    return status;
  }
  *parquet = p;
  return NAY_OK;
}

nay_status nay_sst_parquet_open(const char *path, const nay_allocator *allocator, nay_diag *diag,
                                nay_sst_parquet **parquet) {
  nay_sst_file file;
  if (path == NULL || parquet == NULL) {
    return nay__fail(diag, NAY_EINVAL, "path or parquet is NULL", 0);
  }
  NAY_TRY(nay_sst__io_open(path, diag, &file));
  return parquet_open(&file, true, allocator, diag, parquet);
}

nay_status nay_sst_parquet_open_file(const nay_sst_file *file, const nay_allocator *allocator,
                                     nay_diag *diag, nay_sst_parquet **parquet) {
  nay_sst_file full;
  if (file == NULL || parquet == NULL) {
    return nay__fail(diag, NAY_EINVAL, "file or parquet is NULL", 0);
  }
  NAY_TRY(nay__abi_read(NAY_ABI_SST_FILE, file, diag, &full));
  if (full.read_at == NULL) return nay__fail(diag, NAY_EINVAL, "file->read_at is NULL", 0);
  return parquet_open(&full, false, allocator, diag, parquet);
}

void nay_sst_parquet_free(nay_sst_parquet *p) {
  if (p == NULL) return;
  nay_allocator a = p->allocator;
  nay__memory_free(&a, &p->names);
  nay__memory_free(&a, &p->columns_memory);
  nay__memory_free(&a, &p->groups_memory);
  nay__memory_free(&a, &p->chunks_memory);
  nay__free(&a, p->footer, p->footer_len);
  if (p->owns_file) nay_sst__io_close(&p->file);
  nay__free(&a, p, sizeof *p);
}

/* ---- what is in it ---- */

nay_status nay_sst_parquet_stats(const nay_sst_parquet *p, nay_sst_parquet_info *info) {
  if (p == NULL || info == NULL) return NAY_EINVAL;
  NAY_TRY(nay__abi_check(NAY_ABI_PARQUET_INFO, info, NULL));
  nay_sst_parquet_info now = {.nbytes = p->file.length,
                              .nbytes_footer = p->footer_len + PARQUET_END,
                              .nbytes_read = p->nbytes_read,
                              .nrows = p->nrows,
                              .nrow_groups = p->ngroups,
                              .ncolumns = p->ncolumns,
                              .nfilters = p->nfilters,
                              .nencrypted = p->nencrypted,
                              .created_by = p->created_by};
  nay__abi_write(NAY_ABI_PARQUET_INFO, &now, info);
  return NAY_OK;
}

nay_status nay_sst_parquet_column_at(const nay_sst_parquet *p, uint64_t i,
                                     nay_sst_parquet_column *column) {
  if (p == NULL || column == NULL) return NAY_EINVAL;
  NAY_TRY(nay__abi_check(NAY_ABI_PARQUET_COLUMN, column, NULL));
  if (i >= p->ncolumns) return NAY_EEND;
  const parquet_column *c = &p->columns[i];
  nay_sst_parquet_column now = {.name = c->name, .type = c->type_text, .nfilters = c->nfilters};
  nay__abi_write(NAY_ABI_PARQUET_COLUMN, &now, column);
  return NAY_OK;
}

nay_status nay_sst_parquet_find(const nay_sst_parquet *p, const char *name, nay_diag *diag,
                                uint64_t *column) {
  uint64_t found = 0, at = 0;
  if (p == NULL || name == NULL || column == NULL) {
    return nay__fail(diag, NAY_EINVAL, "parquet, name or column is NULL", 0);
  }
  for (uint64_t i = 0; i < p->ncolumns; i++) {
    if (strcmp(p->columns[i].name, name) != 0) continue;
    at = i;
    found++;
  }
  if (found == 0) return nay__fail(diag, NAY_EINVAL, "no column has this name", 0);
  if (found > 1) return nay__fail(diag, NAY_EINVAL, "several columns have this name", 0);
  *column = at;
  return NAY_OK;
}

static const parquet_chunk *parquet_chunk_of(const nay_sst_parquet *p, uint64_t group,
                                             uint64_t column) {
  if (p == NULL || group >= p->ngroups || column >= p->ncolumns) return NULL;
  return &p->chunks[group * p->ncolumns + column];
}

nay_status nay_sst_parquet_filter_at(const nay_sst_parquet *p, uint64_t group, uint64_t column,
                                     nay_sst_parquet_filter *filter) {
  const parquet_chunk *chunk = parquet_chunk_of(p, group, column);
  if (chunk == NULL || filter == NULL) return NAY_EINVAL;
  NAY_TRY(nay__abi_check(NAY_ABI_PARQUET_FILTER, filter, NULL));
  nay_sst_parquet_filter now = {.nrows = p->group_rows[group],
                                .offset = chunk->offset,
                                .nbytes = chunk->nbytes,
                                .encrypted = (chunk->flags & PARQUET_ENCRYPTED) != 0,
                                .has_filter = (chunk->flags & PARQUET_HAS_FILTER) != 0};
  nay__abi_write(NAY_ABI_PARQUET_FILTER, &now, filter);
  return NAY_OK;
}

/* ---- filters ---- */

/* Reads the header of a filter: the header's length, and the number of bytes of the blocks after
   it. All blocks lie inside the file. */
static nay_status parquet_header(nay_sst_parquet *p, const parquet_chunk *chunk, nay_diag *diag,
                                 size_t *header, uint64_t *nbytes) {
  uint8_t head[PARQUET_HEADS];
  size_t at, len = PARQUET_HEAD;
  const char *what;
  if ((chunk->flags & PARQUET_HAS_FILTER) == 0) {
    return nay__fail(diag, NAY_EINVAL, "the chunk has no filter", 0);
  }
  if ((chunk->flags & (PARQUET_ENCRYPTED | PARQUET_ELSEWHERE)) != 0) {
    return nay__fail(diag, NAY_ENOTSUP, "the filter is encrypted, or in another file", 0);
  }
  if (chunk->offset < sizeof parquet_magic || chunk->offset >= p->footer_at) {
    return nay__fail(diag, NAY_ECORRUPT, "a filter lies outside of the file", chunk->offset);
  }
  uint64_t room = p->footer_at - chunk->offset;
  if (chunk->nbytes != 0) {
    if (chunk->nbytes > room) {
      return nay__fail(diag, NAY_ECORRUPT, "a filter lies outside of the file", chunk->offset);
    }
    room = chunk->nbytes;
  }
  nay_status status = NAY_ECORRUPT;
  for (; len <= PARQUET_HEADS; len = PARQUET_HEADS) {
    size_t n = room < len ? (size_t)room : len;
    NAY_TRY(parquet_read(p, chunk->offset, head, n, diag));
    status = nay__sbbf_header(head, n, header, nbytes, &what, &at);
    if (status == NAY_OK || n == room || len == PARQUET_HEADS) break;
  }
  if (status != NAY_OK) return nay__fail(diag, status, what, chunk->offset + at);
  if (*nbytes > room - *header || (chunk->nbytes != 0 && *nbytes != room - *header)) {
    return nay__fail(diag, NAY_ECORRUPT, "the length of a filter is not the stated one",
                     chunk->offset);
  }
  return NAY_OK;
}

nay_status nay_sst_parquet_filter_read(nay_sst_parquet *p, uint64_t group, uint64_t column,
                                       const nay_allocator *allocator, nay_diag *diag,
                                       nay_filter **filter) {
  const parquet_chunk *chunk = parquet_chunk_of(p, group, column);
  size_t header, len;
  uint64_t nbytes;
  nay_memory memory;
  if (chunk == NULL || filter == NULL) {
    return nay__fail(diag, NAY_EINVAL, "there is no such chunk, or filter is NULL", 0);
  }
  NAY_TRY(parquet_header(p, chunk, diag, &header, &nbytes));
  if (!nay__size_ok(header + nbytes, &len) ||
      nay__memory_new(&p->allocator, len, &memory) != NAY_OK) {
    return nay__fail(diag, NAY_ENOMEM, "no memory for a filter", chunk->offset);
  }
  nay_status status = parquet_read(p, chunk->offset, memory.at, len, diag);
  if (status == NAY_OK) {
    status = nay_format_decode(nay_format_find("sbbf"), memory.at, len, NAY_FORMAT_CERTAIN,
                               allocator, diag, filter);
  }
  nay__memory_free(&p->allocator, &memory);
  return status;
}

/* Probes one block of a filter. */
static nay_status parquet_probe_block(nay_sst_parquet *p, const parquet_chunk *chunk, size_t header,
                                      uint64_t nbytes, uint64_t hash, nay_diag *diag, bool *maybe) {
  uint8_t block[NAY_SBBF_BYTES];
  uint64_t at =
      chunk->offset + header + nay__sbbf_block(hash, nbytes / NAY_SBBF_BYTES) * NAY_SBBF_BYTES;
  uint32_t clear = 0;
  NAY_TRY(parquet_read(p, at, block, sizeof block, diag));
  for (unsigned i = 0; i < NAY_SBBF_WORDS; i++) {
    clear |= ~nay__load32le(block + 4 * i) >> nay__sbbf_bit(hash, i);
  }
  *maybe = (clear & 1) == 0;
  return NAY_OK;
}

static uint64_t parquet_hash(const parquet_key *key) { return XXH64(key->at, key->len, 0); }

/* Changes the sign of a floating-point zero. The sign is the highest bit of the last byte; all
   other bits are 0. */
static void parquet_flip_zero(parquet_key *key) { key->short_bytes[key->len - 1] ^= 0x80; }

static nay_status parquet_key_of(const nay_sst_parquet *p, uint64_t column, const char *text,
                                 size_t len, nay_diag *diag, parquet_key *key) {
  if (p == NULL || column >= p->ncolumns || (text == NULL && len != 0)) {
    return nay__fail(diag, NAY_EINVAL, "there is no such column, or text is NULL", 0);
  }
  return nay_sst__parquet_key(&p->columns[column].type, text, len, diag, key);
}

nay_status nay_sst_parquet_key(const nay_sst_parquet *p, uint64_t column, const char *text,
                               size_t len, nay_diag *diag, uint8_t *dst, size_t cap,
                               size_t *written) {
  parquet_key key;
  if (dst == NULL || written == NULL) {
    return nay__fail(diag, NAY_EINVAL, "dst or written is NULL", 0);
  }
  NAY_TRY(parquet_key_of(p, column, text, len, diag, &key));
  if (key.len > cap) return nay__fail(diag, NAY_EBUFFER, "the key is longer than cap", 0);
  if (key.len != 0) memcpy(dst, key.at, key.len);
  *written = key.len;
  return NAY_OK;
}

nay_status nay_sst_parquet_may_contain(nay_sst_parquet *p, uint64_t group, uint64_t column,
                                       const char *text, size_t len, nay_diag *diag, bool *maybe) {
  const parquet_chunk *chunk = parquet_chunk_of(p, group, column);
  parquet_key key;
  size_t header;
  uint64_t nbytes;
  bool found = true;
  if (chunk == NULL || maybe == NULL) {
    return nay__fail(diag, NAY_EINVAL, "there is no such chunk, or maybe is NULL", 0);
  }
  NAY_TRY(parquet_key_of(p, column, text, len, diag, &key));
  *maybe = true;
  if ((chunk->flags & PARQUET_HAS_FILTER) == 0) return NAY_OK;
  nay_status status = parquet_header(p, chunk, diag, &header, &nbytes);
  if (status == NAY_ENOTSUP || (status == NAY_OK && key.any)) return NAY_OK;
  NAY_TRY(status);
  NAY_TRY(parquet_probe_block(p, chunk, header, nbytes, parquet_hash(&key), diag, &found));
  if (!found && key.also_zero) {
    parquet_flip_zero(&key);
    NAY_TRY(parquet_probe_block(p, chunk, header, nbytes, parquet_hash(&key), diag, &found));
  }
  *maybe = found;
  return NAY_OK;
}

nay_status nay_sst_parquet_filter_may_contain(const nay_sst_parquet *p, uint64_t column,
                                              const nay_filter *filter, const char *text,
                                              size_t len, nay_diag *diag, bool *maybe) {
  parquet_key key;
  if (filter == NULL || maybe == NULL) {
    return nay__fail(diag, NAY_EINVAL, "filter or maybe is NULL", 0);
  }
  NAY_TRY(parquet_key_of(p, column, text, len, diag, &key));
  bool found = key.any || nay_filter_may_contain(filter, key.at, key.len);
  if (!found && key.also_zero) {
    parquet_flip_zero(&key);
    found = nay_filter_may_contain(filter, key.at, key.len);
  }
  *maybe = found;
  return NAY_OK;
}
