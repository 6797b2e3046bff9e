/* parquet.h - an open Parquet file, as its footer describes it: see nay_sst_parquet.h. */
#ifndef NAY_SST_LAKE_PARQUET_H
#define NAY_SST_LAKE_PARQUET_H

#include "base/alloc.h"
#include "io/table_file.h"
#include "nay_sst_parquet.h"

/* Parquet's physical types. */
typedef enum parquet_physical {
  PARQUET_BOOLEAN = 0,
  PARQUET_INT32 = 1,
  PARQUET_INT64 = 2,
  PARQUET_INT96 = 3,
  PARQUET_FLOAT = 4,
  PARQUET_DOUBLE = 5,
  PARQUET_BYTE_ARRAY = 6,
  PARQUET_FIXED = 7
} parquet_physical;

/* Parquet's logical types, where they change how a text is parsed. */
typedef enum parquet_logical {
  PARQUET_PLAIN,
  PARQUET_SIGNED, /* integers of `width` bits */
  PARQUET_UNSIGNED,
  PARQUET_DECIMAL, /* numbers with `scale` digits after the decimal point */
  PARQUET_DATE,
  PARQUET_TIMESTAMP, /* `per_second` units per second */
  PARQUET_TIME,
  PARQUET_UUID,
  PARQUET_FLOAT16,
  PARQUET_INTERVAL
} parquet_logical;

typedef struct parquet_type {
  parquet_physical physical;
  parquet_logical logical;
  int32_t fixed_len, scale, width;
  int64_t per_second; /* 0: the unit is not known */
  bool is_local;      /* a timestamp without a time zone (isAdjustedToUTC is false) */
} parquet_type;

typedef struct parquet_column {
  const char *name;
  parquet_type type;
  uint64_t nfilters;
  char type_text[56];
} parquet_column;

#define PARQUET_HAS_FILTER 1u
#define PARQUET_ENCRYPTED 2u
#define PARQUET_ELSEWHERE 4u /* the chunk is in another file */

typedef struct parquet_chunk {
  uint64_t offset;
  uint32_t nbytes; /* 0: not stated */
  uint32_t flags;
} parquet_chunk;

struct nay_sst_parquet {
  nay_allocator allocator;
  nay_sst_file file;
  bool owns_file;
  uint64_t footer_at, nbytes_read;
  uint8_t *footer;
  size_t footer_len;
  nay_memory names;
  nay_memory columns_memory, groups_memory, chunks_memory;
  parquet_column *columns;
  uint64_t *group_rows;
  parquet_chunk *chunks; /* ngroups * ncolumns chunks, row group after row group */
  uint64_t ncolumns, ngroups, nrows, nfilters, nencrypted;
  char created_by[128];
};

/* nay_sst__parquet_footer: parses p->footer and fills in the rest of *p. */
nay_status nay_sst__parquet_footer(nay_sst_parquet *p, nay_diag *diag);

/* nay_sst__parquet_type_text: writes a short name of the type. */
void nay_sst__parquet_type_text(const parquet_type *type, char *text, size_t cap);

/* Bytes of the longest key that is not the caller's text itself: a value of fixed length. */
#define PARQUET_KEY_MAX 256u

/* parquet_key: the bytes that a filter hashes for a value: `short_bytes`, or the caller's text
   itself. */
typedef struct parquet_key {
  uint8_t short_bytes[PARQUET_KEY_MAX];
  const uint8_t *at;
  size_t len;
  bool any;       /* NaN: filters cannot exclude it */
  bool also_zero; /* a floating-point zero: the zero with the other sign is probed as well */
} parquet_key;

nay_status nay_sst__parquet_key(const parquet_type *type, const char *text, size_t len,
                                nay_diag *diag, parquet_key *key);

#endif /* NAY_SST_LAKE_PARQUET_H */
