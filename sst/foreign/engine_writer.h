/*
 * engine_writer.h - writes tables in the layouts of nori and mini-lsm. engine_writer.c does what
 * all layouts share; nori_writer.c and minilsm_writer.c encode blocks, index and footer.
 *
 * The writer keeps the open block, the index and the hashes for the filter in memory. Finished
 * blocks go to a sink. The sink of a path writes a temporary file, which replaces the file at the
 * path when the table is finished.
 */
#ifndef NAY_SST_FOREIGN_ENGINE_WRITER_H
#define NAY_SST_FOREIGN_ENGINE_WRITER_H

#include "base/buffer.h"
#include "foreign/engine.h"
#include "io/table_file.h"
#include "nay_format.h"
#include "nay_sst.h"

/* nay_foreign_options: how a table is made; zero but for the name: as its engine does by default.
 */
typedef struct nay_foreign_options {
  const char *name;          /* as nay_sst_layout_at lists it; "mini-lsm-sst" is that of week 2 */
  uint32_t block_bytes;      /* 0: 4096 */
  uint32_t restart_interval; /* nori; 0: 16 */
  bool quotient;             /* nori: a quotient filter in each block (version 2) */
  bool no_sync;
  uint32_t bits_per_key; /* nori's Bloom filter; 0: 10. mini-lsm always has 10 */
  uint64_t nkeys;        /* nori's Bloom filter is planned for these; 0: those that are added */
  const nay_sst_codec *codec; /* nori: NULL, or one of id 4 (LZ4) or 2 (zstd) */
} nay_foreign_options;

typedef struct nay_foreign_writer nay_foreign_writer;

/* nay_foreign_entry_in: an entry to be written. */
typedef struct nay_foreign_entry_in {
  const uint8_t *key, *value;
  size_t len, value_len;
  uint64_t version, term;
  bool deleted;
} nay_foreign_entry_in;

/* nay_foreign_layout: the encoder of one layout. */
typedef struct nay_foreign_layout {
  unsigned form;      /* mini-lsm: the features of its layout, MINI_ bits */
  const char *filter; /* name of the filter's format, one for the whole table; NULL: none */
  nay_foreign_versions versions;
  /* Returns why the layout cannot hold an entry; NULL: it can. */
  const char *(*refuses)(const nay_foreign_writer *, const nay_foreign_entry_in *);
  /* Appends an entry to the open block, and writes the block once it is full. */
  nay_status (*add)(nay_foreign_writer *, const nay_foreign_entry_in *);
  /* Writes the last block, index, filter and footer. */
  nay_status (*finish)(nay_foreign_writer *);
} nay_foreign_layout;

struct nay_foreign_writer {
  nay_allocator allocator;
  nay_foreign_options options;
  const nay_foreign_layout *layout;
  nay_sst_target sink;
  bool sink_open;     /* the sink is neither finished nor aborted */
  uint64_t offset;    /* bytes written so far: the file offset of the next byte */
  nay_buffer block;   /* entries of the open block, encoded */
  nay_buffer marks;   /* offsets in the open block: nori's restart points, mini-lsm's entries */
  nay_buffer first;   /* first key of the open block */
  nay_buffer last;    /* last key added */
  nay_buffer index;   /* the index (nori) or the block metadata (mini-lsm), encoded */
  nay_buffer scratch; /* an encoded filter or a compressed block */
  uint64_t first_version, last_version, max_version;
  uint32_t nentries;    /* entries in the open block */
  uint32_t nblocks;     /* blocks written */
  uint64_t total;       /* entries added */
  nay_builder *bloom;   /* of the whole table; NULL: the layout has no such filter */
  nay_filter *quotient; /* filter of the open block; NULL: the layout has none */
  bool finished;
  nay_status failed; /* the first error, which is final */
  nay_diag trouble;  /* its cause */
};

/* nay_sst__foreign_writer_new: a writer to the target, or to the file at path if it is NULL. */
nay_status nay_sst__foreign_writer_new(const char *path, const nay_sst_target *target,
                                       const nay_foreign_options *options, const nay_allocator *a,
                                       nay_diag *diag, nay_foreign_writer **writer);
nay_status nay_sst__foreign_writer_add(nay_foreign_writer *w, const nay_sst_entry *entry,
                                       const void *value, size_t value_len, nay_diag *diag);
nay_status nay_sst__foreign_writer_finish(nay_foreign_writer *w, nay_diag *diag);
void nay_sst__foreign_writer_free(nay_foreign_writer *w);

/* nay_sst__foreign_put: appends bytes to the file. */
nay_status nay_sst__foreign_put(nay_foreign_writer *w, const void *bytes, size_t len);

/* nay_sst__foreign_append_le, nay_sst__foreign_append_be: append a number of `width` bytes, at most
 * 8, to a buffer, little-endian or big-endian. */
nay_status nay_sst__foreign_append_le(nay_buffer *to, uint64_t number, size_t width,
                                      const nay_allocator *a);
nay_status nay_sst__foreign_append_be(nay_buffer *to, uint64_t number, size_t width,
                                      const nay_allocator *a);

/* nay_sst__foreign_encode: encodes a filter into w->scratch. */
nay_status nay_sst__foreign_encode(nay_foreign_writer *w, const nay_filter *filter);

/* nay_sst__foreign_put_bloom: builds the filter of all keys and appends it to the file. Sets *len
 * to its length. */
nay_status nay_sst__foreign_put_bloom(nay_foreign_writer *w, size_t *len);

extern const nay_foreign_layout nay_sst__foreign_write_nori, nay_sst__foreign_write_nori_quotient;
extern const nay_foreign_layout nay_sst__foreign_write_day4, nay_sst__foreign_write_week1,
    nay_sst__foreign_write_week2, nay_sst__foreign_write_week3;

#endif /* NAY_SST_FOREIGN_ENGINE_WRITER_H */
