/* Experimental: any minor version may change what is here; symbols then get another version. */
/*
 * nay_sst_foreign.h - sorted tables of nori and mini-lsm, read through nay_sst.h.
 *
 *   nay_sst *t;
 *   if (nay_sst_open_as("00001.sst", "mini-lsm-sst", NULL, NULL, NULL, &t) != NAY_OK) return 1;
 *   if (nay_sst_get(t, "foo", 3, NULL, &v) == NAY_OK && !v.deleted) ...
 *
 * A foreign table is a nay_sst like any other: get, iterate, look up, compact. Its keys are
 * internal keys: deletions are told, and the sequence number is the version that the table stores
 * (nori: the sequence number, or the index beside a term; mini-lsm: the timestamp; else 0). nori's
 * tables have a magic number, and nay_sst_open takes them as they are; mini-lsm's have none and are
 * read when they are named.
 *
 * CODECS. nori compresses with raw LZ4 blocks and zstd frames, neither with its size: give a
 * nay_sst_codec of id 4 for the first and 2 for the second, whose uncompressed_size finds the size.
 *
 * CHECKSUMS. Blocks, index and filter of nori have none, nor has anything in mini-lsm's first week:
 * damage that still parses gives wrong answers. nay_sst_foreign_caveat says so.
 */
#ifndef NAY_SST_FOREIGN_H
#define NAY_SST_FOREIGN_H

#include "nay_sst_io.h"

#ifdef __cplusplus
extern "C" {
#endif

/* nay_sst_foreign_name: the i-th layout that nay_sst_open_as takes, NULL past the last. */
NAY_API const char *nay_sst_foreign_name(size_t i);

/* nay_sst_foreign_about: one line that says whose tables these are; NULL for an unknown name. */
NAY_API const char *nay_sst_foreign_about(const char *name);

/*
 * nay_sst_open_as: a table in the layout of this name: "nori-sst"; "mini-lsm-sst", which tries all
 * its forms; "mini-lsm-sst-day4", "-week1", "-week2" (the finished course), "-week3" (timestamps).
 * NAY_EINVAL: no such name. NAY_EFORMAT, NAY_ECORRUPT, NAY_EVERSION, NAY_ENOTSUP (a codec is
 * missing): diag says where. options.keys is not used.
 */
NAY_API nay_status nay_sst_open_as(const char *path, const char *name,
                                   const nay_sst_read_options *options,
                                   const nay_allocator *allocator, nay_diag *diag, nay_sst **sst);

/* nay_sst_view_as: the same over bytes that stay where they are until nay_sst_free. */
NAY_API nay_status nay_sst_view_as(const void *bytes, size_t len, const char *name,
                                   const nay_sst_read_options *options,
                                   const nay_allocator *allocator, nay_diag *diag, nay_sst **sst);

/* nay_sst_foreign_info: what a foreign table says of itself. Set size before the call. */
typedef struct nay_sst_foreign_info {
  size_t size;
  const char *layout;      /* "nori-sst", "mini-lsm-sst-week2", ... */
  uint32_t footer_version; /* nori: 0, 1 or 2 */
  const char *versions;    /* of entries: "none", "sequence", "term and index", "timestamp" */
  bool versions_tried;     /* the file does not say: they were told by parsing all blocks */
  const char *codec;       /* "none", "lz4", "zstd" */
  bool codec_ignored;      /* nori's first writer: the footer names it, the blocks are not
                              compressed */
  bool has_checksums;      /* of blocks, metadata and filter */
  bool has_nentries;
  uint64_t nentries;     /* that the footer states, deletions included */
  uint64_t block_bytes;  /* the writer's target; 0: not stored */
  uint64_t max_version;  /* mini-lsm with timestamps; else 0 */
  const char *filter;    /* its layout, as nay_format_find takes it; NULL: none */
  bool filter_in_blocks; /* one in each data block: it saves no block read */
} nay_sst_foreign_info;

/* nay_sst_foreign_describe: NAY_ENOENT: the table is LevelDB's. NAY_EINVAL: size. */
NAY_API nay_status nay_sst_foreign_describe(const nay_sst *sst, nay_sst_foreign_info *info);

/*
 * nay_sst_foreign_caveat: the i-th thing that a user of this table must know about its answers, or
 * about those of the engine that wrote it; NULL past the last, and for LevelDB's tables.
 */
NAY_API const char *nay_sst_foreign_caveat(const nay_sst *sst, size_t i);

/*
 * nay_sst_foreign_verify: reads every block, and asks the table's own filters for every key as the
 * engine that wrote them does. *nentries, *ndenied: how many there are, and how many of them that
 * engine denies. NAY_ENOENT: the table is LevelDB's. Errors as nay_sst_iter.
 */
NAY_API nay_status nay_sst_foreign_verify(const nay_sst *sst, nay_diag *diag, uint64_t *nentries,
                                          uint64_t *ndenied);

/* nay_sst_iter_term: nori's term of the entry that the iterator is at; else 0. */
NAY_API uint64_t nay_sst_iter_term(const nay_sst_iter *iter);

/* ---- writing ---- */

/*
 * nay_sst_foreign_options: how a foreign table is made; all zero but size and name is what its
 * engine does by default. The bytes are then the engine's own for the same entries.
 */
typedef struct nay_sst_foreign_options {
  size_t size;
  const char *name;          /* as nay_sst_open_as takes it; "mini-lsm-sst" is that of week 2 */
  uint32_t block_bytes;      /* 0: 4096 */
  uint32_t restart_interval; /* nori; 0: 16 */
  bool quotient;             /* nori: a quotient filter in each block (version 2) */
  uint32_t bits_per_key;     /* nori's Bloom filter; 0: 10. mini-lsm always has 10 */
  uint64_t nkeys;            /* nori's Bloom filter is planned for these; 0: those that are added */
  const nay_sst_codec *codec; /* nori: NULL, or one of id 4 (LZ4) or 2 (zstd) */
} nay_sst_foreign_options;

typedef struct nay_sst_foreign_writer nay_sst_foreign_writer;

/*
 * nay_sst_foreign_writer_new: a table that will replace the file at path when it is finished.
 * NAY_EINVAL: diag says which option.
 */
NAY_API nay_status nay_sst_foreign_writer_new(const char *path,
                                              const nay_sst_foreign_options *options,
                                              const nay_allocator *allocator, nay_diag *diag,
                                              nay_sst_foreign_writer **writer);

/* nay_sst_foreign_writer_new_sink: the same into a sink, as nay_sst_writer_new_sink. */
NAY_API nay_status nay_sst_foreign_writer_new_sink(const nay_sst_sink *sink,
                                                   const nay_sst_foreign_options *options,
                                                   const nay_allocator *allocator, nay_diag *diag,
                                                   nay_sst_foreign_writer **writer);

/*
 * nay_sst_foreign_writer_add: entries in order: keys ascend; in mini-lsm's week 3 a key may come
 * again with a lower sequence number, its timestamp. term is nori's, else 0. NAY_EINVAL: out of
 * order; a sequence number where the layout has none; an empty key, an empty value that is no
 * deletion, or more than 65,535 bytes in mini-lsm; a deletion with a value. Nothing has changed
 * then, and diag says why. Any other error is final.
 */
NAY_API nay_status nay_sst_foreign_writer_add(nay_sst_foreign_writer *writer,
                                              const nay_sst_version *version, uint64_t term,
                                              const void *value, size_t value_len, nay_diag *diag);

/*
 * nay_sst_foreign_writer_finish: writes index, filter and footer, syncs, and puts the table at its
 * path. NAY_EINVAL: mini-lsm has no table without entries. Then the writer can only be freed.
 */
NAY_API nay_status nay_sst_foreign_writer_finish(nay_sst_foreign_writer *writer, nay_diag *diag);

/* nay_sst_foreign_writer_free: without a finish before it, it is as if there had been no writer. */
NAY_API void nay_sst_foreign_writer_free(nay_sst_foreign_writer *writer);

#ifdef __cplusplus
}
#endif

#endif /* NAY_SST_FOREIGN_H */
