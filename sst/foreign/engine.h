/*
 * engine.h - reads tables of engines other than LevelDB and RocksDB: nori and mini-lsm.
 *
 * A foreign table is a sequence of blocks of sorted entries. Its engine (nori_table.c,
 * minilsm_table.c) decodes the footer, the index and the blocks; engine.c does everything else.
 * Each block is *translated* into a block of block.h with internal keys, one restart point per
 * entry. The terms of nori follow the block; other engines have 0:
 *
 *   entry         | user key | trailer u64le: version << 8 | 1 for a value, 0 for a deletion |
 *   translated    | block of block.h | term u64le x n | n u32le |         n entries
 *
 * The index is translated as well. So the gets, iterators, lookups, caches and compactions of
 * nay_sst.h work on foreign tables without a line of their own.
 *
 *   engine.c                 reading, checks common to all engines, translation
 *   nori_table.c              nori: footer, index, blocks
 *   nori_trial.c              nori: which of its writers made a table, found by trial
 *   minilsm_table.c           mini-lsm: four layouts
 *   translated.c             opens a foreign table as a nay_sst
 *   filters_foreign.c   its filters as nay_sst_filters
 *
 * The bytes are untrusted, and most have no checksum. Every length and offset is checked before
 * use, blocks must fill the file without gaps, and allocations are proportional to the bytes
 * present.
 */
#ifndef NAY_SST_FOREIGN_ENGINE_H
#define NAY_SST_FOREIGN_ENGINE_H

#include "block/block.h"
#include "block/footer.h"
#include "io/table_file.h"
#include "nay_format.h"
#include "nay_sst.h"

typedef struct nay_foreign nay_foreign;

/* nay_foreign_source: the bytes of a table, and how to uncompress them. */
typedef struct nay_foreign_source {
  const uint8_t *bytes; /* the file in memory; NULL: read through `file` */
  nay_sst_file file;
  uint64_t len; /* of the file */
  const nay_sst_codec *const *codecs;
  size_t ncodecs;
  uint64_t max_block_bytes;
} nay_foreign_source;

/* nay_foreign_entry: a decoded entry. Key and value are valid until the next entry is decoded. */
typedef struct nay_foreign_entry {
  nay_bytes key;
  nay_bytes value;
  uint64_t version; /* sequence number, Raft index or timestamp; 0: the table has none */
  uint64_t term;    /* nori: the Raft term of the version; other engines: 0 */
  bool deleted;
  size_t at; /* offset of the entry in the contents of the block */
} nay_foreign_entry;

/* nay_foreign_block: an index entry. Its keys point into the index. */
typedef struct nay_foreign_block {
  nay_handle handle;                    /* the stored block; foreign blocks have no trailer */
  nay_bytes first;                      /* first user key of the block */
  nay_bytes last;                       /* last user key; `at` NULL: the index has no last keys */
  uint64_t first_version, last_version; /* versions of those keys; set if `last` is */
  uint64_t index_at;                    /* offset of this index entry in the file */
} nay_foreign_block;

typedef nay_status (*nay_foreign_visit)(void *ctx, const nay_foreign_entry *entry);

/* nay_foreign_scratch: buffers that a caller reuses from block to block. */
typedef struct nay_foreign_scratch {
  nay_buffer stored;   /* the block as read from the file */
  nay_buffer contents; /* the block uncompressed */
  nay_buffer key;      /* the current key, which prefix compression may have cut */
} nay_foreign_scratch;

void nay_sst__foreign_scratch_free(nay_foreign_scratch *scratch, const nay_allocator *a);

/* nay_foreign_engine: the decoder of one engine. */
typedef struct nay_foreign_engine {
  const char *name;  /* as nay_sst_layout_at lists it */
  const char *about; /* one line for users */
  /* Reads footer and index; fills nay_foreign. Offsets in diag count from the start of the file. */
  nay_status (*open)(nay_foreign *, nay_diag *);
  /* Verifies the checksum of a stored block and uncompresses it into `room` if it is compressed.
   * Offsets in diag count from the start of the file. */
  nay_status (*contents)(const nay_foreign *, const nay_foreign_block *, nay_bytes stored,
                         nay_buffer *room, nay_diag *, nay_bytes *contents);
  /* Calls `visit` for each entry. Offsets in diag count from the start of the contents. */
  nay_status (*walk)(const nay_foreign *, nay_bytes contents, nay_buffer *key, nay_foreign_visit,
                     void *ctx, nay_diag *);
} nay_foreign_engine;

/* nay_foreign_versions: what distinguishes the versions of a key in a table. */
typedef enum nay_foreign_versions {
  NAY_FOREIGN_NO_VERSIONS = 0,
  NAY_FOREIGN_SEQUENCE = 1,
  NAY_FOREIGN_TERM_AND_INDEX = 2,
  NAY_FOREIGN_TIMESTAMP = 3
} nay_foreign_versions;

/* nay_foreign: an open foreign table. Immutable after nay_sst__foreign_open. */
struct nay_foreign {
  const nay_foreign_engine *engine;
  nay_allocator allocator;
  nay_foreign_source source;
  nay_buffer index_bytes;   /* the index, which `blocks` points into; unused for a file in memory */
  nay_buffer blocks;        /* array of nay_foreign_block */
  uint64_t blocks_end;      /* offset of the first byte after the last block */
  nay_handle filter;        /* of the whole table; size 0: there is none */
  const nay_format *format; /* layout of the table's filter or of the blocks' filters */
  bool filter_in_blocks;    /* each block contains its own filter: nori's version 2 */

  /* What the table states about itself; see nay_sst_foreign_info. */
  nay_foreign_versions versions;
  uint32_t footer_version;
  uint8_t codec;      /* nori's codec id */
  bool stored_raw;    /* the blocks are not compressed, whatever the footer says */
  bool has_checksums; /* blocks, metadata and filter have checksums */
  bool has_nentries;
  uint64_t nentries;
  uint64_t block_bytes; /* the writer's target size of a block; 0: not stored */
  uint64_t max_version;
  unsigned form; /* mini-lsm: the features of its layout, MINI_ bits of minilsm_table.c */
};

static inline size_t nay_sst__foreign_nblocks(const nay_foreign *f) {
  return f->blocks.len / sizeof(nay_foreign_block);
}

static inline const nay_foreign_block *nay_sst__foreign_block_at(const nay_foreign *f, size_t i) {
  return (const nay_foreign_block *)(const void *)f->blocks.at + i;
}

/* nay_sst__foreign_recognise: the engine whose magic number is at the end of `tail`, the last `len`
 * bytes of a file; NULL: none. */
const nay_foreign_engine *nay_sst__foreign_recognise(const uint8_t *tail, size_t len);

/* nay_sst__foreign_check_name: fails if the caller named one engine and the file has the magic
 * number of another. `is` is the engine of the magic number; NULL: the file has none. */
nay_status nay_sst__foreign_check_name(const nay_foreign_engine *named,
                                       const nay_foreign_engine *is, uint64_t file_len,
                                       nay_diag *diag);

/* nay_sst__foreign_find: the engine with this name; NULL: none. */
const nay_foreign_engine *nay_sst__foreign_find(const char *name);

/* nay_sst__foreign_at: the i-th engine, NULL past the last. */
const nay_foreign_engine *nay_sst__foreign_at(size_t i);

/* nay_sst__foreign_open: reads footer and index of a table. NAY_ENOTSUP: a codec is missing.
 * NAY_ECORRUPT, NAY_EIO, NAY_ENOMEM. */
nay_status nay_sst__foreign_open(const nay_foreign_engine *engine, const nay_foreign_source *source,
                                 const nay_allocator *a, nay_diag *diag, nay_foreign **foreign);
void nay_sst__foreign_free(nay_foreign *foreign);

/* nay_sst__foreign_read: bytes [offset, offset + len) of the file, which must have them. The result
 * points into the file in memory, or into `room`. */
nay_status nay_sst__foreign_read(const nay_foreign *f, uint64_t offset, uint64_t len,
                                 nay_buffer *room, nay_diag *diag, nay_bytes *bytes);

/* nay_sst__foreign_add_block: appends an index entry. NAY_ECORRUPT: the block does not follow the
 * previous one without a gap, or their first keys do not ascend. */
nay_status nay_sst__foreign_add_block(nay_foreign *f, const nay_foreign_block *block,
                                      nay_diag *diag);

/*
 * nay_sst__foreign_walk: reads block i and calls `visit` for each entry. Each entry is checked
 * first, the same way for all engines: keys ascend, versions of one key descend, the first and the
 * last key are those of the index, and no key belongs into the next block.
 */
nay_status nay_sst__foreign_walk(const nay_foreign *f, size_t i, nay_foreign_scratch *scratch,
                                 nay_foreign_visit visit, void *ctx, nay_diag *diag);

/* nay_sst__foreign_contents: reads block i, verifies its checksum and uncompresses it. */
nay_status nay_sst__foreign_contents(const nay_foreign *f, size_t i, nay_foreign_scratch *scratch,
                                     nay_diag *diag, nay_bytes *contents);

/*
 * nay_sst__foreign_translate: translates block i into `to`, as the head of this file draws it.
 * nay_sst__foreign_block_len: the length of the block of block.h in it, without the terms.
 */
nay_status nay_sst__foreign_translate(const nay_foreign *f, size_t i, nay_foreign_scratch *scratch,
                                      nay_buffer *to, nay_diag *diag);
static inline size_t nay_sst__foreign_block_len(nay_bytes translated) {
  uint32_t n = nay__load32le(translated.at + translated.len - 4);
  return translated.len - 4 - (size_t)n * 8;
}

/* nay_sst__foreign_translate_index: translates the index into `to`, a block of block.h whose values
 * are handles. Sets *largest to the last key of the table. */
nay_status nay_sst__foreign_translate_index(const nay_foreign *f, nay_buffer *to,
                                            nay_buffer *largest, nay_diag *diag);

/* nay_sst__foreign_block_of: the number of the block at this offset of the file;
 * nay_sst__foreign_nblocks if there is none. */
size_t nay_sst__foreign_block_of(const nay_foreign *f, uint64_t offset);

/* nay_sst__foreign_find_block: the number of the last block whose first key is at or below `key`;
 * nay_sst__foreign_nblocks if there is none. */
size_t nay_sst__foreign_find_block(const nay_foreign *f, const void *key, size_t len);

/*
 * nay_sst__foreign_caveat: the i-th caveat of a table, NULL past the last. `nbits` is the size of
 * its Bloom filter, 1 if it has none. `nfull` is the number of block filters known to be full.
 */
const char *nay_sst__foreign_caveat(const nay_foreign *f, uint64_t nbits, uint64_t nfull, size_t i);

/* nay_sst__nori_block_filter: finds the quotient filter in the contents of a block; its length is 0
 * if there is none. */
nay_status nay_sst__nori_block_filter(nay_bytes contents, nay_diag *diag, nay_bytes *filter);

/* nay_sst__nori_resolve: finds out which of nori's writers made a table of footer version 0. */
nay_status nay_sst__nori_resolve(nay_foreign *f, nay_diag *diag);

extern const nay_foreign_engine nay_sst__foreign_nori;
extern const nay_foreign_engine nay_sst__foreign_minilsm, nay_sst__foreign_minilsm_day4,
    nay_sst__foreign_minilsm_week1, nay_sst__foreign_minilsm_week2, nay_sst__foreign_minilsm_week3;

#endif /* NAY_SST_FOREIGN_ENGINE_H */
