/* Experimental: any minor version may change what is here; symbols then get another version. */
/*
 * nay_sst_parquet.h - probes the split-block Bloom filters inside Parquet files, to find the row
 * groups that may have a value of a column.
 *
 *   nay_sst_parquet *p;
 *   uint64_t column;
 *   bool maybe;
 *   if (nay_sst_parquet_open("a.parquet", NULL, NULL, &p) != NAY_OK) return 1;
 *   if (nay_sst_parquet_find(p, "id", NULL, &column) == NAY_OK &&
 *       nay_sst_parquet_may_contain(p, 0, column, "42", 2, NULL, &maybe) == NAY_OK && !maybe) {
 *     puts("not in row group 0");
 *   }
 *   nay_sst_parquet_free(p);
 *
 * Of the file only the footer is read, and for a probe the filter's header and one block of 32
 * bytes. Pages, statistics and indexes are never read. A value is given as text, and parsed as the
 * column's Parquet type.
 *
 * The bytes may be untrusted. Parquet has no checksum over footers and filters: a flipped bit there
 * can make a filter deny a value that is present. THREADS: a nay_sst_parquet counts its reads, so
 * it belongs to one thread at a time.
 */
#ifndef NAY_SST_PARQUET_H
#define NAY_SST_PARQUET_H

#include "nay_format.h"
#include "nay_sst.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nay_sst_parquet nay_sst_parquet;

/*
 * nay_sst_parquet_open: reads the footer of the file at path. NAY_EFORMAT: not a Parquet file;
 * nothing but its first 4 bytes was read. NAY_ECORRUPT: the footer is damaged. NAY_ENOTSUP: the
 * footer is encrypted. NAY_EIO, NAY_ENOMEM.
 */
NAY_API nay_status nay_sst_parquet_open(const char *path, const nay_allocator *allocator,
                                        nay_diag *diag, nay_sst_parquet **parquet);

/* nay_sst_parquet_open_file: nay_sst_parquet_open over your own file, which must outlive it. */
NAY_API nay_status nay_sst_parquet_open_file(const nay_sst_file *file,
                                             const nay_allocator *allocator, nay_diag *diag,
                                             nay_sst_parquet **parquet);
NAY_API void nay_sst_parquet_free(nay_sst_parquet *parquet);

/* nay_sst_parquet_info: the description of a file. */
typedef struct nay_sst_parquet_info {
  size_t size;            /* sizeof the struct: see ABI in nay.h */
  uint64_t nbytes;        /* length of the file */
  uint64_t nbytes_footer; /* bytes of the footer, with its length and magic number */
  uint64_t nbytes_read;   /* bytes read so far */
  uint64_t nrows, nrow_groups;
  uint64_t ncolumns;      /* leaf columns of the schema */
  uint64_t nfilters;      /* column chunks with a filter */
  uint64_t nencrypted;    /* encrypted column chunks, whose filters are not read */
  const char *created_by; /* program that wrote the file; "": not stated */
} nay_sst_parquet_info;

NAY_API nay_status nay_sst_parquet_stats(const nay_sst_parquet *parquet,
                                         nay_sst_parquet_info *info);

/* nay_sst_parquet_column: a leaf column of the schema. */
typedef struct nay_sst_parquet_column {
  size_t size;      /* sizeof the struct: see ABI in nay.h */
  const char *name; /* path of the column from the root, joined by dots */
  const char *type; /* type as which a text is parsed: "INT64", "INT32 (date)", ... */
  uint64_t nfilters;
} nay_sst_parquet_column;

/* nay_sst_parquet_column_at: describes column i. NAY_EEND: past the last. */
NAY_API nay_status nay_sst_parquet_column_at(const nay_sst_parquet *parquet, uint64_t i,
                                             nay_sst_parquet_column *column);

/* nay_sst_parquet_find: finds a column by its name. NAY_EINVAL: no column or several columns have
   it; diag says which. */
NAY_API nay_status nay_sst_parquet_find(const nay_sst_parquet *parquet, const char *name,
                                        nay_diag *diag, uint64_t *column);

/* nay_sst_parquet_filter: the filter of a column chunk, which is a column in a row group. */
typedef struct nay_sst_parquet_filter {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  uint64_t nrows;
  uint64_t offset;
  uint64_t nbytes; /* length with the header; 0: only the filter's header states it */
  bool encrypted;
  bool has_filter; /* false: offset, nbytes and encrypted are 0 */
} nay_sst_parquet_filter;

/* nay_sst_parquet_filter_at: describes the filter of a chunk. NAY_EINVAL: there is no such chunk.
 */
NAY_API nay_status nay_sst_parquet_filter_at(const nay_sst_parquet *parquet, uint64_t row_group,
                                             uint64_t column, nay_sst_parquet_filter *filter);

/*
 * nay_sst_parquet_filter_read: reads a whole filter, in the layout sbbf. NAY_EINVAL: the chunk has
 * no filter (nay_sst_parquet_filter_at tells), or there is no such chunk. NAY_ENOTSUP: the filter
 * is encrypted, or uses an algorithm that Parquet's specification does not have. NAY_ECORRUPT.
 */
NAY_API nay_status nay_sst_parquet_filter_read(nay_sst_parquet *parquet, uint64_t row_group,
                                               uint64_t column, const nay_allocator *allocator,
                                               nay_diag *diag, nay_filter **filter);

/*
 * nay_sst_parquet_key: writes the bytes that the filter hashes for a text to dst[0, cap), and their
 * number to *written; len + 256 bytes are always enough. doc/formats/parquet.md describes the
 * types. NAY_EINVAL: the text is no value of the column's type. NAY_ENOTSUP: no text can be parsed
 * as this type. NAY_EBUFFER.
 */
NAY_API nay_status nay_sst_parquet_key(const nay_sst_parquet *parquet, uint64_t column,
                                       const char *text, size_t len, nay_diag *diag, uint8_t *dst,
                                       size_t cap, size_t *written);

/*
 * nay_sst_parquet_may_contain: whether a row group may have a value. *maybe is also true if the
 * chunk has no filter, if nay cannot read the filter, and for NaN. A floating-point zero is probed
 * with both signs. NAY_EINVAL and NAY_ENOTSUP as nay_sst_parquet_key. NAY_ECORRUPT, NAY_EIO: the
 * filter is damaged or cannot be read, and *maybe is true. nay_sst_parquet_filter_may_contain: the
 * same with a filter that nay_sst_parquet_filter_read has read.
 */
NAY_API nay_status nay_sst_parquet_may_contain(nay_sst_parquet *parquet, uint64_t row_group,
                                               uint64_t column, const char *text, size_t len,
                                               nay_diag *diag, bool *maybe);
NAY_API nay_status nay_sst_parquet_filter_may_contain(const nay_sst_parquet *parquet,
                                                      uint64_t column, const nay_filter *filter,
                                                      const char *text, size_t len, nay_diag *diag,
                                                      bool *maybe);

#ifdef __cplusplus
}
#endif

#endif /* NAY_SST_PARQUET_H */
