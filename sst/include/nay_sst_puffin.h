/* Experimental: any minor version may change what is here; symbols then get another version. */
/*
 * nay_sst_puffin.h - filters in Puffin files, Apache Iceberg's container for statistics and
 * indexes.
 *
 * A Puffin file is a list of blobs: bytes with a type, the ids of the fields they are about, and
 * properties. An engine that keeps one file of filters beside a table, a blob for each data file,
 * reads this one file to plan a scan, instead of the footer of every data file.
 *
 *   static nay_status visit(void *ctx, const nay_sst_puffin_info *info,
 *                           const nay_sst_puffin_blob *blob, bool *wanted) {
 *     if (blob == NULL) return NAY_OK;
 *     if (blob->bytes == NULL && strcmp(blob->type, NAY_SST_PUFFIN_NAY) == 0) *wanted = true;
 *     if (blob->bytes != NULL) return use_native_filter(ctx, blob->bytes, blob->len);
 *     return NAY_OK;
 *   }
 *
 * The bytes may be untrusted: every offset and length is checked before memory is allocated for it.
 * Puffin has no checksum. A native filter has its own; a flipped bit of a split-block filter can
 * make it deny a key that is present. doc/formats/puffin.md has the layout. THREADS: the calls
 * share nothing.
 */
#ifndef NAY_SST_PUFFIN_H
#define NAY_SST_PUFFIN_H

#include "nay_sst.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Types of blobs: a native file (doc/formats/nay.md), and Parquet's split-block filter with its
   header, whose keys are values in Parquet's PLAIN encoding. */
#define NAY_SST_PUFFIN_NAY "nay-v1"
#define NAY_SST_PUFFIN_SBBF "sbbf-v1"

/* nay_sst_puffin_property: both texts are UTF-8 and NUL-terminated. */
typedef struct nay_sst_puffin_property {
  const char *name, *value;
} nay_sst_puffin_property;

/* nay_sst_puffin_blob: a blob that was read or is to be written. Its pointers are valid during the
   call. */
typedef struct nay_sst_puffin_blob {
  size_t size;       /* sizeof the struct: see ABI in nay.h */
  const char *type;  /* for example NAY_SST_PUFFIN_NAY */
  const char *codec; /* "zstd", "lz4"; NULL: stored as it is */
  const int32_t *fields;
  size_t nfields;
  int64_t snapshot_id, sequence_number; /* -1: unknown */
  const nay_sst_puffin_property *properties;
  size_t nproperties;
  const void *bytes; /* contents, uncompressed; a visitor gets NULL unless it wanted them */
  size_t len;
  /* A writer ignores the following fields */
  uint64_t index;
  uint64_t offset, nbytes; /* in the file, compressed */
  /* Why the wanted contents are missing. NAY_ENOTSUP: there is no codec. NAY_EFULL: they are longer
     than max_bytes. NAY_ECORRUPT, NAY_ENOMEM, NAY_EIO */
  nay_status status;
} nay_sst_puffin_blob;

/* nay_sst_puffin_info: the description of a file. */
typedef struct nay_sst_puffin_info {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  uint64_t nbytes;
  uint64_t nbytes_footer;
  uint64_t nblobs;
  bool compressed_footer;
  const nay_sst_puffin_property *properties; /* properties of the file, such as "created-by" */
  size_t nproperties;
} nay_sst_puffin_info;

/* nay_sst_puffin_options: all fields except `size` may be zero. */
typedef struct nay_sst_puffin_options {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  /* Codecs for zstd (id 2) and LZ4 frames (id 4): those of nay_codecs.h, or your own */
  const nay_sst_codec *const *codecs;
  size_t ncodecs;
  uint64_t max_bytes; /* limit for an uncompressed footer or blob; 0: 1 GiB */
  /* For a writer: properties of the file, and whether to compress the footer with LZ4 */
  const nay_sst_puffin_property *properties;
  size_t nproperties;
  bool compress_footer;
} nay_sst_puffin_options;

/*
 * nay_sst_puffin_visitor: receives a file. The first call has blob NULL. Then each blob comes
 * without its contents, in the order of the footer; if the visitor sets *wanted, the same blob
 * comes once more with its contents, or with the status that says why not. A status other than
 * NAY_OK ends the visit, which returns it.
 */
typedef nay_status (*nay_sst_puffin_visitor)(void *ctx, const nay_sst_puffin_info *info,
                                             const nay_sst_puffin_blob *blob, bool *wanted);

/*
 * nay_sst_puffin_visit: reads the footer of a file, and the blobs that the visitor wants. Nothing
 * is visited unless the whole footer is valid. NAY_EFORMAT: not a Puffin file. NAY_ECORRUPT: the
 * end of the file is missing, lengths or JSON are invalid, a blob lies outside of the file, or two
 * blobs share bytes. NAY_EVERSION: a flag that this library does not know. NAY_ENOTSUP: the footer
 * is compressed and its codec is missing. NAY_EFULL: its size is above max_bytes. NAY_EIO,
 * NAY_ENOMEM.
 */
NAY_API nay_status nay_sst_puffin_visit(const nay_sst_file *file,
                                        const nay_sst_puffin_options *options,
                                        nay_sst_puffin_visitor visitor, void *ctx,
                                        const nay_allocator *allocator, nay_diag *diag);

/*
 * nay_sst_puffin_write: writes a file of n blobs, with the bytes of Iceberg's own writer. On
 * failure the target is aborted, on success finished. NAY_EINVAL: a text is NULL or not UTF-8, or a
 * codec is neither "zstd" nor "lz4". NAY_ENOTSUP: the codec is missing. NAY_EIO, NAY_ENOMEM.
 */
NAY_API nay_status nay_sst_puffin_write(const nay_sst_target *target,
                                        const nay_sst_puffin_blob *blobs, size_t n,
                                        const nay_sst_puffin_options *options,
                                        const nay_allocator *allocator, nay_diag *diag);

#ifdef __cplusplus
}
#endif

#endif /* NAY_SST_PUFFIN_H */
