/* Experimental: any minor version may change what is here; symbols then get another version. */
/*
 * nay_sst_filters.h - finds and probes the filters inside a table of LevelDB, RocksDB or nay,
 * without reading its data.
 *
 *   nay_sst_filters *t;
 *   if (nay_sst_filters_open(bytes, len, NULL, NULL, NULL, &t) != NAY_OK) return 1;
 *   if (!nay_sst_filters_may_contain(t, "foo", 3)) puts("nay");
 *   nay_sst_filters_free(t);
 *
 * This header is for tools: it tells which filters an .ldb or .sst file has, their size and
 * false-positive rate (FPR), and their answers for a key. nay_sst.h reads and writes the tables
 * themselves, in LevelDB's format. This header also takes RocksDB's files, because it never reads
 * their data: every footer from format 0 to 7, all five checksum types, full and partitioned
 * filters, the filter names of early 7.0 releases, and prefixes.
 *
 * The bytes may be untrusted. Damage is an error with its offset; a damaged filter answers maybe.
 * THREADS: calls on a const nay_sst_filters are safe together.
 */
#ifndef NAY_SST_FILTERS_H
#define NAY_SST_FILTERS_H

#include "nay_format.h"
#include "nay_sst.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nay_sst_filters nay_sst_filters;

typedef enum nay_sst_filters_engine {
  NAY_SST_ENGINE_LEVELDB = 0,
  NAY_SST_ENGINE_ROCKSDB = 1,
  NAY_SST_ENGINE_NAY = 2, /* LevelDB's layout with nay's own filters */
  NAY_SST_ENGINE_NORI = 3,
  NAY_SST_ENGINE_MINILSM = 4
} nay_sst_filters_engine;

/* nay_sst_filters_options: all fields except `size` may be zero. Everything the options point to
   must outlive the nay_sst_filters. */
typedef struct nay_sst_filters_options {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  /* Codecs for the index, which LevelDB may compress and its filters need */
  const nay_sst_codec *const *codecs;
  size_t ncodecs;
  /* Policies for filters whose policy has no format in this library */
  const nay_policy *const *policies;
  size_t npolicies;
  /* Layout of another engine, from nay_sst_layout_at. NULL: the bytes decide. mini-lsm's tables
     have no magic number, so their layout must be named. NAY_EINVAL: the layout is unknown. */
  const char *layout;
} nay_sst_filters_options;

/* nay_sst_filters_recognise: whether the bytes end with the magic number of a table of LevelDB,
   RocksDB or nori. */
NAY_API bool nay_sst_filters_recognise(const void *bytes, size_t len);

/*
 * nay_sst_filters_open: opens the filters in bytes that must not move until nay_sst_filters_free.
 * options and allocator may be NULL. This call verifies the checksum of every filter block. Tables
 * of any comparator open. If the key order selects the filter of a key and is not bytewise, every
 * filter is probed. NAY_EFORMAT: the bytes are not a table. NAY_ECORRUPT: footer, metaindex,
 * properties or partition index are damaged. NAY_EVERSION: the format is newer than this library's
 * knowledge of RocksDB. NAY_ENOTSUP: the metaindex is compressed and its codec is missing.
 * NAY_ENOMEM.
 */
NAY_API nay_status nay_sst_filters_open(const void *bytes, size_t len,
                                        const nay_sst_filters_options *options,
                                        const nay_allocator *allocator, nay_diag *diag,
                                        nay_sst_filters **table);
NAY_API void nay_sst_filters_free(nay_sst_filters *table);

/* nay_sst_filters_info: the description of a table's filters. Texts are views. */
typedef struct nay_sst_filters_info {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  nay_sst_filters_engine engine;
  uint32_t format_version;
  /* Checksum type of the blocks: "none", "crc32", "crc32c", "xxh32", "xxh64", "xxh3" */
  const char *checksum;
  nay_sst_filter_layout layout; /* no filter, a filter for each 2 KiB, full, or partitioned */
  const char *policy;           /* policy name of the filter; NULL: no filter */
  const char *policy_option;    /* RocksDB: the writer's option filter_policy; else NULL */
  const char *prefix;           /* the prefix extractor; NULL: none */
  bool whole_keys;              /* the filter has whole keys */
  bool prefixes;                /* the filter has prefixes, or there is a prefix filter */
  bool understood;              /* the filter can be probed; otherwise every answer is maybe */
  /* The index of data blocks selects a key's filter in LevelDB's filter block. false: the index is
     compressed and its codec is missing, or the key order may not be bytewise; every filter is then
     probed. */
  bool index_known;
  uint64_t nkeys;    /* entries of the table; 0: not stated */
  uint64_t nentries; /* entries of the filter; 0: not stated */
  uint64_t nfilters; /* number of nonempty filters; prefix and range filter count */
  uint64_t nempty;   /* number of empty filters: ranges of 2 KiB in which no data block starts */
  /* Number of filters with a wrong checksum, or that are not the filter that the table names */
  uint64_t ndamaged;
  uint64_t nbytes;         /* bytes of all filters */
  const char *key;         /* key description (nay_key.h); NULL: not stated */
  const char *engine_text; /* "LevelDB", "RocksDB", "nay", "nori", "mini-lsm" */
} nay_sst_filters_info;

/* nay_sst_filters_stats: describes all filters. The texts are valid while the nay_sst_filters is
   open. NAY_EINVAL: info->size. */
NAY_API nay_status nay_sst_filters_stats(const nay_sst_filters *table, nay_sst_filters_info *info);

/* nay_sst_filters_entry: the description of one filter. */
typedef struct nay_sst_filters_entry {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  const void *bytes;
  size_t len;
  uint64_t offset;          /* offset of the filter in the file */
  bool damaged;             /* the checksum is wrong, or another filter is in this place */
  bool of_prefixes;         /* a prefix filter, in addition to a filter of whole keys */
  const nay_format *format; /* format that reads the filter; NULL: its policy has no format */
  const void *last_key;     /* a partition: every key in it is at or below this key; else NULL */
  size_t last_key_len;
  bool of_ranges; /* a range filter, in addition to a filter of whole keys */
} nay_sst_filters_entry;

/*
 * nay_sst_filters_at: describes filter i of nfilters + nempty, in file order. A filter without
 * bytes is empty. NAY_EEND: past the last.
 */
NAY_API nay_status nay_sst_filters_at(const nay_sst_filters *table, uint64_t i,
                                      nay_sst_filters_entry *filter);

/*
 * nay_sst_filters_may_contain: the answer of the engine's own reader for a user key. false is
 * certain; in doubt the answer is true. A filter that has only prefixes is probed with the key's
 * prefix, if the extractor is known: RocksDB's FixedPrefix and CappedPrefix, and nay's extractors.
 */
NAY_API bool nay_sst_filters_may_contain(const nay_sst_filters *table, const void *key, size_t len);

/* ---- tables of nori and mini-lsm ---- */

/* nay_sst_filters_caveat: nay_sst_caveat for the filters of the table. */
NAY_API const char *nay_sst_filters_caveat(const nay_sst_filters *table, size_t i);

/* nay_sst_filters_step: a filter that is probed for a key. */
typedef struct nay_sst_filters_step {
  size_t size;
  /* The filter, valid during the call, for example for nay_filter_explain. NULL: the filter is
     damaged, or its policy has no format. */
  const nay_filter *filter;
  uint64_t offset; /* offset of the filter in the file */
  const void *key; /* the probed bytes: the key or its prefix */
  size_t key_len;
  bool damaged; /* the filter is damaged, so its answer is maybe */
  bool maybe;   /* the filter's answer */
} nay_sst_filters_step;

/* nay_sst_filters_visitor: receives each probed filter. A status other than NAY_OK ends the
   explanation, which returns that status. */
typedef nay_status (*nay_sst_filters_visitor)(void *ctx, const nay_sst_filters_step *step);

/*
 * nay_sst_filters_explain: reports the filters that decide about a key. *maybe is the answer of
 * nay_sst_filters_may_contain. The answer is maybe if any probed filter answers maybe. If no filter
 * is probed, maybe means that the table has no filter for the key, and nay means that no block can
 * have the key. NAY_EINVAL: an argument other than ctx is NULL.
 */
NAY_API nay_status nay_sst_filters_explain(const nay_sst_filters *table, const void *key,
                                           size_t len, nay_sst_filters_visitor visit, void *ctx,
                                           bool *maybe);

#ifdef __cplusplus
}
#endif

#endif /* NAY_SST_FILTERS_H */
