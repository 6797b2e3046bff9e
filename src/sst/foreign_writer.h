/*
 * foreign_writer.h - a foreign table while it is written: what foreign_writer.c does for every
 * engine, and what nori_writer.c and minilsm_writer.c know.
 *
 * In memory are the open block, the index and the hashes for the filter. The bytes go into a sink;
 * that of a path replaces the file when the table is finished.
 */
#ifndef NAY_SST_FOREIGN_WRITER_H
#define NAY_SST_FOREIGN_WRITER_H

#include "base/buffer.h"
#include "nay_format.h"
#include "nay_sst_foreign.h"
#include "sst/foreign.h"
#include "sst/sst_io.h"

typedef struct nay_foreign_entry_in {
  const uint8_t *key, *value;
  size_t len, value_len;
  uint64_t version, term;
  bool deleted;
} nay_foreign_entry_in;

/* nay_foreign_layout: what differs from layout to layout. */
typedef struct nay_foreign_layout {
  unsigned form;      /* of mini-lsm */
  const char *filter; /* layout of the table's filter; NULL: none */
  nay_foreign_versions versions;
  /* what this layout cannot hold, or NULL */
  const char *(*refuses)(const nay_sst_foreign_writer *, const nay_foreign_entry_in *);
  /* puts an entry into the open block; closes blocks before or after it */
  nay_status (*add)(nay_sst_foreign_writer *, const nay_foreign_entry_in *);
  /* closes the last block, writes index, filter and footer */
  nay_status (*finish)(nay_sst_foreign_writer *);
} nay_foreign_layout;

struct nay_sst_foreign_writer {
  nay_allocator allocator;
  nay_sst_foreign_options options;
  const nay_foreign_layout *layout;
  nay_sst_sink sink;
  bool sink_open;     /* neither finished nor aborted */
  uint64_t offset;    /* of what is written next */
  nay_buffer block;   /* entries of the open block */
  nay_buffer marks;   /* nori: restarts; mini-lsm: offsets of entries */
  nay_buffer first;   /* key of the open block */
  nay_buffer last;    /* key */
  nay_buffer index;   /* index or metadata */
  nay_buffer scratch; /* filter or compressed block */
  uint64_t first_version, last_version, max_version;
  uint32_t nentries; /* of the open block */
  uint32_t nblocks;
  uint64_t total; /* entries */
  nay_builder *bloom;
  nay_filter *quotient; /* of the open block */
  bool finished;
  nay_status failed;
  nay_diag trouble;
};

/* nay__foreign_put: bytes at the end of the file. */
nay_status nay__foreign_put(nay_sst_foreign_writer *w, const void *bytes, size_t len);

/* nay__foreign_append_le, nay__foreign_append_be: a number at the end of a buffer. */
nay_status nay__foreign_append_le(nay_buffer *to, uint64_t number, size_t width,
                                  const nay_allocator *a);
nay_status nay__foreign_append_be(nay_buffer *to, uint64_t number, size_t width,
                                  const nay_allocator *a);

/* nay__foreign_encode: a filter, into w->scratch. */
nay_status nay__foreign_encode(nay_sst_foreign_writer *w, const nay_filter *filter);

/* nay__foreign_put_bloom: builds the filter of all keys and writes it; *len is its length. */
nay_status nay__foreign_put_bloom(nay_sst_foreign_writer *w, size_t *len);

extern const nay_foreign_layout nay__foreign_write_nori, nay__foreign_write_nori_quotient;
extern const nay_foreign_layout nay__foreign_write_day4, nay__foreign_write_week1,
    nay__foreign_write_week2, nay__foreign_write_week3;

#endif /* NAY_SST_FOREIGN_WRITER_H */
