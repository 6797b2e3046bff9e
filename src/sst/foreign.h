/*
 * foreign.h - tables of other engines, as the rest of this directory sees them.
 *
 * A foreign table is a list of blocks of entries in order. Its engine (nori_table.c,
 * minilsm_table.c) knows the footer, the index and the bytes of a block; everything else is done
 * here once. A block that is read is *translated* into a block of block.h with internal keys:
 *
 *   user key | version << 8 | 1, or 0 for a deletion      value
 *
 * every entry at a restart, and the index likewise. So gets, iterators, lookups, caches and
 * compactions of nay_sst.h work on foreign tables without knowing of them.
 *
 *   foreign.c                 reading, checks that hold for every engine, translation
 *   nori_table.c              nori: footer, index, blocks; nori_trial.c which of its writers it was
 *   minilsm_table.c           mini-lsm: four forms
 *   sst_foreign.c             a nay_sst over a foreign table
 *   table_filters_foreign.c   its filters as nay_table_filters
 *
 * The bytes are an attacker's, and most have no checksum: every length and offset is checked before
 * it is used, blocks must fill the file without gaps, and memory follows the bytes that are there.
 */
#ifndef NAY_SST_FOREIGN_H
#define NAY_SST_FOREIGN_H

#include "nay_format.h"
#include "nay_sst.h"
#include "nay_sst_foreign.h"
#include "sst/block.h"
#include "sst/footer.h"
#include "sst/sst_io.h"

typedef struct nay_foreign nay_foreign;

/* nay_foreign_source: the file, in memory or behind a descriptor. */
typedef struct nay_foreign_source {
  const uint8_t *bytes; /* NULL: read through file */
  nay_sst_file file;
  uint64_t len;
  const nay_sst_codec *const *codecs;
  size_t ncodecs;
  uint64_t max_block_bytes;
} nay_foreign_source;

/* nay_foreign_entry: one entry. key and value are valid until the next. */
typedef struct nay_foreign_entry {
  nay_bytes key;
  nay_bytes value;
  uint64_t version; /* sequence number, index or timestamp; 0: the table has none */
  uint64_t term;    /* nori: what a version belongs to; else 0 */
  bool deleted;
  size_t at; /* in the contents of the block */
} nay_foreign_entry;

/* nay_foreign_block: what the index says of a block. Keys point into the index. */
typedef struct nay_foreign_block {
  nay_handle handle;                    /* as it is stored; foreign blocks have no trailer */
  nay_bytes first;                      /* user key */
  nay_bytes last;                       /* user key; at NULL: the index does not say */
  uint64_t first_version, last_version; /* if last is known */
  uint64_t index_at;                    /* of this index entry in the file */
} nay_foreign_block;

typedef nay_status (*nay_foreign_visit)(void *ctx, const nay_foreign_entry *entry);

/* nay_foreign_scratch: memory that one caller uses for one block after the other. */
typedef struct nay_foreign_scratch {
  nay_buffer stored;   /* as read from the file */
  nay_buffer contents; /* uncompressed */
  nay_buffer key;
} nay_foreign_scratch;

void nay__foreign_scratch_free(nay_foreign_scratch *scratch, const nay_allocator *a);

/* nay_foreign_engine: what differs from engine to engine. diag offsets count from the file. */
typedef struct nay_foreign_engine {
  const char *name; /* as nay_sst_open_as takes it */
  const char *about;
  /* reads footer and index; sets blocks and what is known of the table */
  nay_status (*open)(nay_foreign *, nay_diag *);
  /* the contents of a block that is stored so: checksum verified, uncompressed into room */
  nay_status (*contents)(const nay_foreign *, const nay_foreign_block *, nay_bytes stored,
                         nay_buffer *room, nay_diag *, nay_bytes *contents);
  /* calls visit for each entry; offsets in diag count from the contents */
  nay_status (*walk)(const nay_foreign *, nay_bytes contents, nay_buffer *key, nay_foreign_visit,
                     void *ctx, nay_diag *);
} nay_foreign_engine;

/* How versions stand in the entries. */
typedef enum nay_foreign_versions {
  NAY_FOREIGN_NO_VERSIONS = 0,
  NAY_FOREIGN_SEQUENCE = 1,
  NAY_FOREIGN_TERM_AND_INDEX = 2,
  NAY_FOREIGN_TIMESTAMP = 3
} nay_foreign_versions;

/* nay_foreign: an open foreign table. Const after nay__foreign_open. */
struct nay_foreign {
  const nay_foreign_engine *engine;
  nay_allocator allocator;
  nay_foreign_source source;
  nay_buffer index_bytes;   /* what the blocks point into, if the file is not in memory */
  nay_buffer blocks;        /* of nay_foreign_block */
  uint64_t blocks_end;      /* offset behind the last block */
  nay_handle filter;        /* size 0: there is none */
  const nay_format *format; /* of the filter, or of the filters of blocks */
  bool filter_in_blocks;    /* nori's version 2 */

  /* what the table says of itself; see nay_sst_foreign_info */
  nay_foreign_versions versions;
  uint32_t footer_version;
  uint8_t codec;      /* nori's number */
  bool stored_raw;    /* the blocks are not compressed, whatever the footer says */
  bool has_checksums; /* of blocks, metadata and filter */
  bool has_nentries;
  uint64_t nentries;
  uint64_t block_bytes; /* the writer's target; 0: not stored */
  uint64_t max_version;
  unsigned form; /* of mini-lsm */
};

static inline size_t nay__foreign_nblocks(const nay_foreign *f) {
  return f->blocks.len / sizeof(nay_foreign_block);
}

static inline const nay_foreign_block *nay__foreign_block_at(const nay_foreign *f, size_t i) {
  return (const nay_foreign_block *)(const void *)f->blocks.at + i;
}

/* nay__foreign_recognise: the engine whose magic number ends the file; NULL: none. */
const nay_foreign_engine *nay__foreign_recognise(const uint8_t *tail, size_t len);

/* nay__foreign_check_name: a name does not override a magic number. is: what it says, or NULL. */
nay_status nay__foreign_check_name(const nay_foreign_engine *named, const nay_foreign_engine *is,
                                   uint64_t file_len, nay_diag *diag);

/* nay__foreign_find: by name; NULL: none. */
const nay_foreign_engine *nay__foreign_find(const char *name);

/* nay__foreign_at: the i-th engine, NULL past the last. */
const nay_foreign_engine *nay__foreign_at(size_t i);

/* nay__foreign_open: NAY_ECORRUPT, NAY_ENOTSUP (a codec is missing), NAY_EIO, NAY_ENOMEM. */
nay_status nay__foreign_open(const nay_foreign_engine *engine, const nay_foreign_source *source,
                             const nay_allocator *a, nay_diag *diag, nay_foreign **foreign);
void nay__foreign_free(nay_foreign *foreign);

/* nay__foreign_read: bytes of the file, in place or in room. They must lie in the file. */
nay_status nay__foreign_read(const nay_foreign *f, uint64_t offset, uint64_t len, nay_buffer *room,
                             nay_diag *diag, nay_bytes *bytes);

/* nay__foreign_add_block: appends to the list; blocks must follow each other without a gap. */
nay_status nay__foreign_add_block(nay_foreign *f, const nay_foreign_block *block, nay_diag *diag);

/*
 * nay__foreign_walk: reads block i and calls visit for each entry, after checks that hold for every
 * engine: keys ascend (versions of one key descend), the first and the last are those of the index,
 * and none reaches into the next block.
 */
nay_status nay__foreign_walk(const nay_foreign *f, size_t i, nay_foreign_scratch *scratch,
                             nay_foreign_visit visit, void *ctx, nay_diag *diag);

/* nay__foreign_contents: reads block i, as nay__foreign_walk does. */
nay_status nay__foreign_contents(const nay_foreign *f, size_t i, nay_foreign_scratch *scratch,
                                 nay_diag *diag, nay_bytes *contents);

/*
 * nay__foreign_translate: block i in the layout of block.h, into `to`; then, for each entry, its
 * term as u64le. nay__foreign_block_len: of the block alone.
 */
nay_status nay__foreign_translate(const nay_foreign *f, size_t i, nay_foreign_scratch *scratch,
                                  nay_buffer *to, nay_diag *diag);
static inline size_t nay__foreign_block_len(nay_bytes translated) {
  uint32_t n = nay__load32le(translated.at + translated.len - 4);
  return translated.len - 4 - (size_t)n * 8;
}

/* nay__foreign_translate_index: the index in the layout of block.h; a value is a handle. */
nay_status nay__foreign_translate_index(const nay_foreign *f, nay_buffer *to, nay_buffer *largest,
                                        nay_diag *diag);

/* nay__foreign_block_of: the block at this offset of the file, or their number. */
size_t nay__foreign_block_of(const nay_foreign *f, uint64_t offset);

/* nay__foreign_find_block: the last block whose first key is not above key; their number: none. */
size_t nay__foreign_find_block(const nay_foreign *f, const void *key, size_t len);

/*
 * nay__foreign_caveat: the i-th caveat of a table, NULL past the last. nbits: of its Bloom filter,
 * 1 if there is none; nfull: how many filters of blocks are known to be full.
 */
const char *nay__foreign_caveat(const nay_foreign *f, uint64_t nbits, uint64_t nfull, size_t i);

/* nay__nori_block_filter: the quotient filter in the contents of a block; len 0: none. */
nay_status nay__nori_block_filter(nay_bytes contents, nay_diag *diag, nay_bytes *filter);

/* nay__nori_resolve: which of its writers made a table of footer version 0. */
nay_status nay__nori_resolve(nay_foreign *f, nay_diag *diag);

extern const nay_foreign_engine nay__foreign_nori;
extern const nay_foreign_engine nay__foreign_minilsm, nay__foreign_minilsm_day4,
    nay__foreign_minilsm_week1, nay__foreign_minilsm_week2, nay__foreign_minilsm_week3;

#endif /* NAY_SST_FOREIGN_H */
