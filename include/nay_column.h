/* Stable: a program works with every later library of the same SONAME. */
/*
 * nay_column.h - keys that lie one after the other in a buffer, as the columns of Arrow, Parquet
 * and numpy do, without a pointer and a length for each.
 *
 *   nay_column ids = {sizeof ids, .bytes = bytes, .nbytes = nbytes, .offsets = offsets,
 *                     .offset_bytes = 4};                       // n + 1 offsets of 32 bits
 *   nay_filter_may_contain_column(filter, &ids, n, bitmap);
 */
#ifndef NAY_COLUMN_H
#define NAY_COLUMN_H

#include "nay.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * nay_column: key i is bytes[offset i, offset i + 1), or bytes[i * width, (i + 1) * width). Offsets
 * have the byte order of the machine and need no alignment. The first need not be 0, so that a
 * slice of a column is a column; they never descend and never exceed nbytes. Else, and when fields
 * do not fit together, the call returns NAY_EINVAL and adds no key.
 */
typedef struct nay_column {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  const void *bytes;
  size_t nbytes;         /* of bytes, all of them: no key reaches beyond */
  const void *offsets;   /* n + 1 unsigned integers; NULL: all keys have `width` bytes */
  uint32_t offset_bytes; /* of each offset: 4 or 8; without offsets 0 */
  uint32_t width;        /* of each key; with offsets 0 */
} nay_column;

/* nay_filter_add_column: nay_filter_add_many of the first n keys of a column. */
NAY_API nay_status nay_filter_add_column(nay_filter *filter, const nay_column *column, size_t n,
                                         uint64_t *bitmap, size_t *taken);

/* nay_filter_may_contain_column: nay_filter_may_contain_many of the first n keys of a column. */
NAY_API nay_status nay_filter_may_contain_column(const nay_filter *filter, const nay_column *column,
                                                 size_t n, uint64_t *bitmap);

/*
 * nay_builder_add_column: nay_builder_add of the first n keys of a column. *taken, which may be
 * NULL, tells how many were added: n, unless memory or the builder's file fails in the middle.
 */
NAY_API nay_status nay_builder_add_column(nay_builder *builder, const nay_column *column, size_t n,
                                          size_t *taken);

#ifdef __cplusplus
}
#endif

#endif /* NAY_COLUMN_H */
