/* Stable: a program works with every later library of the same SONAME. */
/*
 * nay_format.h - other systems' filter bytes: recognise, read, probe, write.
 *
 *   const nay_format *leveldb = nay_format_find("leveldb");
 *   nay_params p = {sizeof p, .nkeys = 1000, .bits_per_key = 10};
 *   nay_filter *f;
 *   nay_format_new(leveldb, &p, NULL, NULL, &f);      // an empty filter with LevelDB's layout
 *   nay_filter_add(f, "foo", 3, NULL);                // hashed as LevelDB hashes
 *   nay_format_encode(leveldb, f, buf, sizeof buf, &len);
 *
 * A filter in another system's layout is a nay_filter like any other: probe it, add to it, read
 * its statistics. Its hash is that system's, so it merges only with filters of the same layout, and
 * only building it again from the keys makes a native file of it.
 *
 * Layouts without a magic number are read when they are named, never guessed.
 *
 * Two things a layout may ask for. Keyed ones (bip158) are locked until nay_filter_unlock, which
 * takes any key, because the bytes do not tell a wrong one; they are built with NAY_HASH_SIPHASH
 * and params.key. Of layouts of numbers (xor8, binary-fuse8, ...) a key is 8 bytes, little-endian;
 * for any other length the answer is maybe, and nay_builder_finish refuses it (NAY_EINVAL).
 */
#ifndef NAY_FORMAT_H
#define NAY_FORMAT_H

#include "nay_advanced.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nay_format nay_format;

/* nay_format_find: by name ("nay", "leveldb", ...); NULL when there is none. */
NAY_API const nay_format *nay_format_find(const char *name);

/* nay_format_at: the i-th known format, NULL past the last: for lists. */
NAY_API const nay_format *nay_format_at(size_t i);

/* nay_format_name: the name that nay_format_find finds it by. */
NAY_API const char *nay_format_name(const nay_format *format);

/* nay_format_about: one line that says whose bytes these are. */
NAY_API const char *nay_format_about(const nay_format *format);

/* nay_format_traits: what is known of these bytes, a set of these flags; 0 for NULL. */
#define NAY_FORMAT_MAGIC 0x01u    /* nay_format_recognise can tell them from others */
#define NAY_FORMAT_CHECKSUM 0x02u /* damage is detected */
#define NAY_FORMAT_NOTE 0x04u     /* files have a place for nay_filter_meta */
NAY_API uint32_t nay_format_traits(const nay_format *format);

/*
 * nay_format_recognise: the layout of a file of len bytes, by its first nhead: all of it, or at
 * least 64 bytes. NULL when no layout is recognised. With `likely` NULL only magic numbers count.
 * Otherwise *likely is false where a magic number tells the layout, and true where no magic number
 * does, but the numbers in the header agree with each other and with len in the layouts of one
 * system alone. Where one header has several hashes (Spark's, and those of its SQL), the result is
 * the first of them. Show a user what is likely, but take answers only from a filter whose layout
 * somebody named.
 */
NAY_API const nay_format *nay_format_recognise(const void *head, size_t nhead, uint64_t len,
                                               bool *likely);

/*
 * nay_format_plan: what nay_format_new would make. Sizes are in that system's terms: nkeys and a
 * whole number of bits_per_key, or fpr (turned into the least whole bits per key that reach it by
 * the textbook formula). RocksDB's layouts take fractions of a bit, and reach an fpr in steps of a
 * tenth; Cassandra's take an fpr by a table of their own.
 * nkeys 0 is a filter of no keys. NAY_EINVAL: diag says which field.
 * plan->fpr takes the k probes as independent. These layouts use double hashing, whose real
 * false-positive rate (FPR) is higher for small sets and many bits per key: doc/formats/README.md
 * has a table.
 */
NAY_API nay_status nay_format_plan(const nay_format *format, const nay_params *params,
                                   nay_diag *diag, nay_plan *plan);

/* nay_format_new: an empty filter in that layout. NAY_ENOTSUP: it must be built (RocksDB's ribbon).
 */
NAY_API nay_status nay_format_new(const nay_format *format, const nay_params *params,
                                  const nay_allocator *allocator, nay_diag *diag,
                                  nay_filter **filter);

/*
 * nay_format_builder_new: a builder for that layout. The number of keys is the one params state,
 * else the number added, duplicates counted as these systems count them. Any of RocksDB's names
 * reads and writes all its layouts: RocksDB, too, makes a Bloom filter of a small ribbon, and
 * nay_filter_format tells which it is.
 */
NAY_API nay_status nay_format_builder_new(const nay_format *format, const nay_params *params,
                                          const nay_allocator *allocator, nay_diag *diag,
                                          nay_builder **builder);

/* nay_filter_format: the layout that a filter is in. */
NAY_API const nay_format *nay_filter_format(const nay_filter *filter);

/*
 * nay_filter_caveat: what a user of this filter must know about its answers, in one line; NULL when
 * there is nothing. Such as: the system that wrote the filter loses keys of it.
 */
NAY_API const char *nay_filter_caveat(const nay_filter *filter);

/*
 * nay_filter_plan: the i-th of the plans that a filter can have been sized by. Most filters have
 * one, which costs no pass over the payload; plan->nkeys is 0 where the bytes do not state it.
 * Where they state k and the number of bits only (Cassandra's layouts, nori's with 12 bytes of
 * header) there may be several: the most keys, the bits per key, and the false-positive rate (FPR)
 * with so many keys, in Cassandra's by its own table. NAY_EEND: past the last; plan 0 is always
 * there.
 */
NAY_API nay_status nay_filter_plan(const nay_filter *filter, size_t i, nay_diag *diag,
                                   nay_plan *plan);

/*
 * nay_format_encoded_size: bytes that nay_format_encode writes; 0 when it cannot, and for filters
 * that have none (LevelDB's of no bytes, RocksDB's ribbon of no keys).
 */
NAY_API size_t nay_format_encoded_size(const nay_format *format, const nay_filter *filter);

/*
 * nay_format_encode: NAY_EMISMATCH when the filter is in another layout: build it from the keys.
 * Only RedisBloom's filters have two layouts that are written from each other.
 */
NAY_API nay_status nay_format_encode(const nay_format *format, const nay_filter *filter, void *dst,
                                     size_t cap, size_t *written);

/*
 * NAY_FORMAT_CERTAIN: a container names the layout. No magic number and no checksum of another
 * layout is looked for, so that a single probe of a view stays cheap.
 * NAY_FORMAT_AS_WRITTEN: the filter answers as the system that wrote it does, the keys that this
 * system loses included (nay_filter_caveat): to examine that system, not to look for keys.
 */
#define NAY_FORMAT_CERTAIN 0x01u
#define NAY_FORMAT_AS_WRITTEN 0x02u

/*
 * nay_format_decode: as nay_filter_decode, for that layout. NAY_EFORMAT: the bytes have the magic
 * number of another layout (nay_format_recognise tells which), or a checksum of another holds over
 * them (mini-lsm's) and this one has none.
 */
NAY_API nay_status nay_format_decode(const nay_format *format, const void *bytes, size_t len,
                                     uint32_t flags, const nay_allocator *allocator, nay_diag *diag,
                                     nay_filter **filter);

/* nay_format_view: as nay_view_open, for that layout: probe the bytes where they are. NAY_EFORMAT
 * as nay_format_decode; NAY_ENOTSUP: bytes that must be unpacked first (Redis' DUMP, nori's
 * quotient filter). */
NAY_API nay_status nay_format_view(const nay_format *format, const void *bytes, size_t len,
                                   uint32_t flags, nay_diag *diag, nay_view *view);

#ifdef __cplusplus
}
#endif

#endif /* NAY_FORMAT_H */
