/*
 * format.h - what a format implements. One file per format, listed in NAY_FORMATS.
 *
 * Another system's layout is a shape and a payload inside some bytes. Its filter is a nay_filter of
 * a family with that system's hash. A format's file has all that is its own: the header and the
 * offset of the payload, the hash (a nay_foreign_hash), and the probing scheme, if it is not one
 * of classic.h. fmt_cassandra.c is the model.
 */
#ifndef NAY_FORMAT_INTERNAL_H
#define NAY_FORMAT_INTERNAL_H

#include "filter.h"
#include "math/plan.h"
#include "nay_format.h"

#define NAY_TAKES_NBITS 0x01u
#define NAY_TAKES_K 0x02u
#define NAY_TAKES_SEED 0x04u
#define NAY_TAKES_KEY 0x08u

/*
 * NAY_FORMATS: every format, in the order of nay_format_at. X(file, name) stands for a
 * `const nay_format nay__format_<name>` in src/format/fmt_<file>.c. A new format is that file and a
 * line here: CMakeLists.txt and tools/amalgamate.py take the names of the files from these lines.
 */
/* clang-format off */
#define NAY_FORMATS(X)         \
  X(nay, nay)                  \
  X(leveldb, leveldb)          \
  X(minilsm, minilsm)          \
  X(minilsm, minilsm_week1)    \
  X(nori, nori)                \
  X(nori, nori12)              \
  X(nori, nori12_unrounded)    \
  X(nori_quotient, nori_quotient)         \
  X(nori_quotient, nori_quotient_compact) \
  X(lab, lab)                  \
  X(rocksdb, rocksdb_bloom)    \
  X(rocksdb, rocksdb_ribbon)   \
  X(rocksdb, rocksdb_legacy)   \
  X(redisbloom, redisbloom_bf) \
  X(redisbloom, redisbloom_cf) \
  X(redisbloom, redis_dump_bf) \
  X(redisbloom, redis_dump_cf) \
  X(cassandra, cassandra)      \
  X(cassandra, cassandra_old)  \
  X(cassandra, cassandra_old_swapped) \
  X(guava, guava)              \
  X(guava, guava_mitz32)       \
  X(spark, spark_v1)           \
  X(spark, spark_v2)           \
  X(spark, spark_sql_v1)       \
  X(spark, spark_sql_v2)       \
  X(dcso, dcso)                \
  X(sbbf, sbbf)                \
  X(bits_and_blooms, bits_and_blooms)         \
  X(bits_and_blooms, bits_and_blooms_le)      \
  X(bits_and_blooms, bits_and_blooms_json)    \
  X(bits_and_blooms, bits_and_blooms_json_le) \
  X(datasketches, datasketches) \
  X(bip37, bip37)              \
  X(bip158, bip158)            \
  X(binary_fuse, binary_fuse8)         \
  X(binary_fuse, binary_fuse8_packed)  \
  X(binary_fuse, binary_fuse16)        \
  X(binary_fuse, binary_fuse16_packed) \
  X(xor_filter, xor8)          \
  X(xor_filter, xor8_packed)   \
  X(xor_filter, xor16)         \
  X(xor_filter, xor16_packed)
/* clang-format on */

struct nay_format {
  const char *name;
  const char *about;
  uint32_t traits;              /* NAY_FORMAT_... */
  const char *named_wrong;      /* the message when these bytes are read as another format */
  const nay_family *family;     /* NULL: the native format, which has many */
  const nay_foreign_hash *hash; /* NULL: the native format */

  /* nkeys and bits per key -> shape; the bits are a whole number unless `rate` is there */
  nay_status (*plan)(uint64_t nkeys, double bits_per_key, nay_diag *, nay_shape *);
  /* bits per key -> FPR; the layout takes fractions of a bit, and finds the bits for an FPR */
  double (*rate)(double bits_per_key);
  /* layouts that one reader tells apart by the bytes: which of them these are; NULL: this one */
  const nay_format *(*variant)(const nay_format *named, const uint8_t *bytes, size_t len);
  /* instead of plan and reserve: params -> shape by a size that `sizing` names; reads the fields in
   * `takes` beyond nkeys, fpr and bits_per_key. nkeys is at least 1. */
  nay_status (*size_by)(const nay_params *params, nay_sizing sizing, nay_diag *, nay_shape *);
  uint32_t takes; /* NAY_TAKES_... */
  /* bytes -> shape and location of the payload; all checks */
  nay_status (*parse)(const uint8_t *bytes, size_t len, nay_diag *, nay_shape *, nay_span *payload);
  /* how many keys the header says were planned for; NULL: it does not say */
  uint64_t (*planned)(const nay_shape *, const uint8_t *bytes);
  size_t overhead; /* bytes around the payload */
  /* how many bytes encode writes; NULL: payload and overhead */
  size_t (*size)(const nay_filter *);
  void (*encode)(const nay_filter *, uint8_t *dst);

  /* ---- what few layouts need; NULL and false elsewhere ---- */

  /* payloads that are not made with `hash` but with this one */
  const nay_foreign_hash *other_hash;
  bool (*has_other_hash)(const uint8_t *payload);
  /* whether bytes start with this layout's magic number */
  bool (*matches)(const uint8_t *bytes, size_t len);
  /* whether a file of len bytes starts so that it probably is of this layout: its numbers agree
   * with each other and with its length. `head` is at least 64 bytes, or all */
  bool (*fits)(const uint8_t *head, size_t nhead, uint64_t len);
  /* the seed of the hash, where it has one */
  uint64_t (*seed)(const uint8_t *bytes);
  /* bytes after the filter that are the user's: nay_filter_meta; NULL: there are none */
  nay_span (*note)(const uint8_t *bytes, size_t len, const nay_shape *);
  /*
   * Packed bytes: unpack before `parse`, pack instead of `encode`. With dst NULL both only check
   * and measure. *extra goes into shape.extra.
   */
  nay_status (*unpack)(const uint8_t *bytes, size_t len, nay_diag *, uint8_t *dst, size_t *size,
                       uint32_t *extra);
  nay_status (*pack)(const nay_filter *, uint8_t *dst, size_t *size);
  /* bytes that pack or encode will write for so many keys; NULL: those of the payload and overhead
   */
  uint64_t (*packed_size)(const nay_shape *, uint64_t nkeys);
  /* nkeys and FPR -> shape, where a layout is sized by its FPR; without plan, for bits_per_key too
   */
  nay_status (*reserve)(uint64_t nkeys, double fpr, nay_diag *, nay_shape *);
  /* a filter in any other such layout of the family can be written in this one */
  bool interchanges;
  /* the i-th plan that the size and k of a filter can come from, where the bytes do not say which
   */
  bool (*plan_of)(const nay_shape *, size_t i, uint64_t *nkeys, double *bits_per_key, double *fpr);
  /* what a user must know about the answers of this filter; NULL: nothing */
  const char *(*caveat)(const nay_filter *);
};

/* nay__format_bits: checks params against what the layout supports; the bits per key that they
 * mean. */
nay_status nay__format_bits(const nay_format *format, const nay_params *params, nay_diag *diag,
                            double *bits_per_key);

/* nay__format_hasher: the hash of a layout, with the seed or secret key of params. NAY_EINVAL: the
 * layout is keyed, and params have no key. */
nay_status nay__format_hasher(const nay_format *format, const nay_params *params, nay_diag *diag,
                              nay_hash_fn *hasher);

extern const nay_foreign_hash nay__nori_hash; /* of all layouts of nori */

/* nay__encode_k_m_bits: | k u32le | m u64le | bits |, the layout of nori12 and the lab. */
void nay__encode_k_m_bits(const nay_filter *f, uint8_t *dst);

#define NAY_FORMAT_DECLARE(file, name) extern const nay_format nay__format_##name;
NAY_FORMATS(NAY_FORMAT_DECLARE)
#undef NAY_FORMAT_DECLARE

#endif /* NAY_FORMAT_INTERNAL_H */
