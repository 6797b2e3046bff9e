/* Experimental: any minor version may change what is here; symbols then get another version. */
/*
 * nay_sst_filters.h - the filters inside a table of LevelDB, RocksDB or nay, found and probed
 * without its data.
 *
 *   nay_sst_filters *t;
 *   if (nay_sst_filters_open(bytes, len, NULL, NULL, NULL, &t) != NAY_OK) return 1;
 *   if (!nay_sst_filters_may_contain(t, "foo", 3)) puts("nay");
 *   nay_sst_filters_free(t);
 *
 * For tools: which filters an .ldb or .sst has, their size and false-positive rate (FPR), and what
 * they answer for a key. nay_sst.h reads and writes the tables themselves, in LevelDB's format;
 * this header also takes RocksDB's files, whose data it never needs: every footer from format 0 to
 * 7, all five checksums, full and partitioned filters, the names that early 7.0 releases gave them,
 * prefixes.
 *
 * Bytes may come from anyone. Damage is an error with its offset; a damaged filter answers maybe.
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
  NAY_SST_ENGINE_NAY = 2, /* LevelDB's layout with filters of nay's own */
  NAY_SST_ENGINE_NORI = 3,
  NAY_SST_ENGINE_MINILSM = 4
} nay_sst_filters_engine;

/* nay_sst_filters_options: may be all zero but for the size. What it points to must outlive the
 * table. */
typedef struct nay_sst_filters_options {
  size_t size;                        /* sizeof the struct: see ABI in nay.h */
  const nay_sst_codec *const *codecs; /* LevelDB may compress the index, which its filters need */
  size_t ncodecs;
  const nay_policy *const *policies; /* for filters of other policies than those of the formats */
  size_t npolicies;
  const char *layout; /* of another engine: nay_sst_layout_at. NULL: what the bytes say; mini-lsm's
                         tables have no magic number and must be named. NAY_EINVAL: unknown */
} nay_sst_filters_options;

/* nay_sst_filters_recognise: whether the bytes end as a table of LevelDB, RocksDB or nori does.
 */
NAY_API bool nay_sst_filters_recognise(const void *bytes, size_t len);

/*
 * nay_sst_filters_open: over bytes that stay where they are until nay_sst_filters_free; options
 * and allocator may be NULL. Every filter block is checked against its checksum here. Tables of any
 * comparator: where the key order selects a filter and is not bytewise, all filters are
 * probed. NAY_EFORMAT: not a table. NAY_ECORRUPT: footer, metaindex, properties or the index of
 * partitions. NAY_EVERSION: a format that RocksDB did not have when this was written. NAY_ENOTSUP:
 * the metaindex is compressed and no codec was given. NAY_ENOMEM.
 */
NAY_API nay_status nay_sst_filters_open(const void *bytes, size_t len,
                                        const nay_sst_filters_options *options,
                                        const nay_allocator *allocator, nay_diag *diag,
                                        nay_sst_filters **table);
NAY_API void nay_sst_filters_free(nay_sst_filters *table);

/* nay_sst_filters_info: what a table says of itself. Texts are the table's own. */
typedef struct nay_sst_filters_info {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  nay_sst_filters_engine engine;
  uint32_t format_version;
  const char *checksum; /* of its blocks: "none", "crc32", "crc32c", "xxh32", "xxh64", "xxh3" */
  nay_sst_filter_layout layout; /* none, one for each 2 KiB, full, partitioned */
  const char *policy;           /* whose name the filter has; NULL: there is none */
  const char *policy_option;    /* RocksDB: the option of the writer; else NULL */
  const char *prefix;           /* the prefix extractor; NULL: none */
  bool whole_keys;              /* whole keys are in the filter */
  bool prefixes;                /* prefixes are, or have a filter of their own */
  bool understood;              /* the filter can be probed; else every answer is maybe */
  bool index_known;             /* one filter for each 2 KiB: false when the index is compressed and
                                   no codec was given, or the keys are not known to be in bytewise
                                   order. All of them are then probed */
  uint64_t nkeys;               /* entries of the table; 0: it does not say */
  uint64_t nentries;            /* entries of the filter; 0: it does not say */
  uint64_t nfilters;            /* non-empty ones, the filter of prefixes included */
  uint64_t nempty;              /* ranges of 2 KiB in which no block starts */
  uint64_t ndamaged; /* whose checksum is wrong, or that are not the ones that the table names */
  uint64_t nbytes;   /* of all filters */
  const char *key;   /* the key description (nay_key.h); NULL: the engine states none */
  const char *engine_text; /* "LevelDB", "RocksDB", "nay", "nori", "mini-lsm" */
} nay_sst_filters_info;

/* nay_sst_filters_stats: goes through every filter; the texts live as long as the table.
 * NAY_EINVAL: info->size. */
NAY_API nay_status nay_sst_filters_stats(const nay_sst_filters *table, nay_sst_filters_info *info);

/* nay_sst_filters_entry: one of them. */
typedef struct nay_sst_filters_entry {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  const void *bytes;
  size_t len;
  uint64_t offset;          /* in the file */
  bool damaged;             /* its checksum is wrong, or it stands in the place of another */
  bool of_prefixes;         /* a filter of prefixes alone, beside one of whole keys */
  const nay_format *format; /* that reads it; NULL: a policy that no format has */
  const void *last_key;     /* a partition: no key in it is above this one; else NULL */
  size_t last_key_len;
} nay_sst_filters_entry;

/*
 * nay_sst_filters_at: the i-th of nfilters + nempty, in the order of the file; one without bytes
 * is empty. NAY_EEND past the last.
 */
NAY_API nay_status nay_sst_filters_at(const nay_sst_filters *table, uint64_t i,
                                      nay_sst_filters_entry *filter);

/*
 * nay_sst_filters_may_contain: what that engine's own reader would answer for a user key: false
 * is certain. A filter of prefixes alone is probed with the key's prefix, if the extractor is known
 * (RocksDB's FixedPrefix and CappedPrefix, nay's). In doubt true.
 */
NAY_API bool nay_sst_filters_may_contain(const nay_sst_filters *table, const void *key, size_t len);

/* ---- tables of nori and mini-lsm ---- */

/* nay_sst_filters_caveat: as nay_sst_caveat, for the filters of the table. */
NAY_API const char *nay_sst_filters_caveat(const nay_sst_filters *table, size_t i);

/* nay_sst_filters_step: a filter of a table that is probed for a key. */
typedef struct nay_sst_filters_step {
  size_t size;
  const nay_filter *filter; /* explain the key with it, during the call; NULL: it is damaged, or of
                               a policy that no format has */
  uint64_t offset;          /* of the filter in the file */
  const void *key;          /* what is probed: the key or a prefix of it */
  size_t key_len;
  bool damaged; /* the answer is maybe for this reason */
  bool maybe;   /* what this filter answers */
} nay_sst_filters_step;

/* nay_sst_filters_visitor: gets each of them. Another status than NAY_OK ends it and is returned.
 */
typedef nay_status (*nay_sst_filters_visitor)(void *ctx, const nay_sst_filters_step *step);

/*
 * nay_sst_filters_explain: which filters of a table (nay_sst_filters.h) decide about a key:
 * *maybe is what nay_sst_filters_may_contain answers. The answer is maybe when one of them says
 * so. When none is probed, maybe means that the table has no filter for the key, and nay that no
 * block of it can hold the key. NAY_EINVAL: an argument other than ctx is NULL.
 */
NAY_API nay_status nay_sst_filters_explain(const nay_sst_filters *table, const void *key,
                                           size_t len, nay_sst_filters_visitor sink, void *ctx,
                                           bool *maybe);

#ifdef __cplusplus
}
#endif

#endif /* NAY_SST_FILTERS_H */
