/* Experimental: any minor version may change what is here; symbols then get another version. */
/*
 * nay_sst_parquet.h - the split-block Bloom filters inside Parquet files: which row groups may hold
 * a value of a column.
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
 * Only the footer and what a probe needs of a filter are read: its header and one block of 32
 * bytes. Pages, statistics and indexes are not looked at. A value is a text, read in the column's
 * own Parquet type.
 *
 * Bytes may come from anyone. Parquet has no checksum over footers and filters: a flipped bit in
 * them can make a value vanish.
 * THREADS: a nay_sst_parquet counts what it reads, so use one from one thread at a time.
 */
#ifndef NAY_SST_PARQUET_H
#define NAY_SST_PARQUET_H

#include "nay_format.h"
#include "nay_sst.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nay_sst_parquet nay_sst_parquet;

/* nay_sst_parquet_recognise: whether a file starts as Parquet does; nbytes of its start are given,
 * 4 are enough. */
NAY_API bool nay_sst_parquet_recognise(const void *head, size_t nbytes);

/*
 * nay_sst_parquet_open: reads the footer. NAY_EFORMAT: not a Parquet file. NAY_ECORRUPT: the
 * footer. NAY_ENOTSUP: the footer is encrypted. NAY_EIO, NAY_ENOMEM.
 */
NAY_API nay_status nay_sst_parquet_open(const char *path, const nay_allocator *allocator,
                                        nay_diag *diag, nay_sst_parquet **parquet);

/* nay_sst_parquet_open_file: the same over I/O of your own, which must outlive it. */
NAY_API nay_status nay_sst_parquet_open_file(const nay_sst_file *file,
                                             const nay_allocator *allocator, nay_diag *diag,
                                             nay_sst_parquet **parquet);
NAY_API void nay_sst_parquet_free(nay_sst_parquet *parquet);

/* nay_sst_parquet_info: what a file says of itself. */
typedef struct nay_sst_parquet_info {
  size_t size;            /* sizeof the struct: see ABI in nay.h */
  uint64_t nbytes;        /* of the file */
  uint64_t nbytes_footer; /* with its length and magic number */
  uint64_t nbytes_read;   /* up to now */
  uint64_t nrows, nrow_groups;
  uint64_t ncolumns;      /* leaves of the schema */
  uint64_t nfilters;      /* chunks that have one */
  uint64_t nencrypted;    /* chunks that are encrypted: any filter of theirs is not read */
  const char *created_by; /* "" when it does not say */
} nay_sst_parquet_info;

NAY_API nay_status nay_sst_parquet_stats(const nay_sst_parquet *parquet,
                                         nay_sst_parquet_info *info);

/* nay_sst_parquet_column: a leaf of the schema. */
typedef struct nay_sst_parquet_column {
  size_t size;      /* sizeof the struct: see ABI in nay.h */
  const char *name; /* the names from the root on, separated by dots */
  const char *type; /* "INT64", "INT32 (date)", ...: how a text is read as a value */
  uint64_t nfilters;
} nay_sst_parquet_column;

/* nay_sst_parquet_column_at: NAY_ENOENT past the last. */
NAY_API nay_status nay_sst_parquet_column_at(const nay_sst_parquet *parquet, uint64_t i,
                                             nay_sst_parquet_column *column);

/* nay_sst_parquet_find: the column of a name. NAY_ENOENT: none has it; NAY_EINVAL: several do. */
NAY_API nay_status nay_sst_parquet_find(const nay_sst_parquet *parquet, const char *name,
                                        nay_diag *diag, uint64_t *column);

/* nay_sst_parquet_filter: a filter of a chunk, which is a column in a row group. */
typedef struct nay_sst_parquet_filter {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  uint64_t nrows;
  uint64_t offset;
  uint64_t nbytes; /* with its header; 0: only the header says */
  bool encrypted;
} nay_sst_parquet_filter;

/* nay_sst_parquet_filter_at: NAY_ENOENT: the chunk has none. NAY_EINVAL: there is no such chunk;
 * *filter has nrows in both cases but this one. */
NAY_API nay_status nay_sst_parquet_filter_at(const nay_sst_parquet *parquet, uint64_t row_group,
                                             uint64_t column, nay_sst_parquet_filter *filter);

/*
 * nay_sst_parquet_filter_read: the whole filter, in the layout sbbf. NAY_ENOENT: the chunk has
 * none; NAY_ENOTSUP: it is encrypted, or of another algorithm than the one Parquet has;
 * NAY_ECORRUPT.
 */
NAY_API nay_status nay_sst_parquet_filter_read(nay_sst_parquet *parquet, uint64_t row_group,
                                               uint64_t column, const nay_allocator *allocator,
                                               nay_diag *diag, nay_filter **filter);

/*
 * nay_sst_parquet_key: the bytes that a filter hashes for a text, in dst[0, cap); *written of them.
 * See doc/formats/parquet.md for the types. NAY_EINVAL: the text is no value of the column's type.
 * NAY_ENOTSUP: no text is read as this type. NAY_EBUFFER. len + 16 bytes are always enough.
 */
NAY_API nay_status nay_sst_parquet_key(const nay_sst_parquet *parquet, uint64_t column,
                                       const char *text, size_t len, nay_diag *diag, uint8_t *dst,
                                       size_t cap, size_t *written);

/*
 * nay_sst_parquet_may_contain: whether a row group may hold a value. *maybe is true, too, where
 * there is no filter, where nay cannot read it, and for NaN; a zero of a floating-point type is
 * probed with both signs. NAY_EINVAL and NAY_ENOTSUP as nay_sst_parquet_key. NAY_ECORRUPT, NAY_EIO:
 * the filter is damaged, or cannot be read; *maybe is true. nay_sst_parquet_probe: the same of a
 * filter that was read.
 */
NAY_API nay_status nay_sst_parquet_may_contain(nay_sst_parquet *parquet, uint64_t row_group,
                                               uint64_t column, const char *text, size_t len,
                                               nay_diag *diag, bool *maybe);
NAY_API nay_status nay_sst_parquet_probe(const nay_sst_parquet *parquet, uint64_t column,
                                         const nay_filter *filter, const char *text, size_t len,
                                         nay_diag *diag, bool *maybe);

#ifdef __cplusplus
}
#endif

#endif /* NAY_SST_PARQUET_H */
