/*
 * range.h - the family of range filters (nay_range.h): its payload, its hash, its questions. Like a
 * map, a range filter is built of more than hashes (build/range_build.h) and is not in families.h.
 *
 * shape.nunits is r, the number of locations; shape.k the longest range that the plan is for, as
 * nay__range_length_of reads it; shape.extra how keys end: nay_range_keys, then the delimiter in
 * the second byte.
 */
#ifndef NAY_FAMILY_RANGE_H
#define NAY_FAMILY_RANGE_H

#include "base/bits.h"
#include "base/bytes.h"
#include "family/family.h"
#include "family/range_keys.h"

#define NAY_RANGE_MAX_VALUES UINT32_MAX         /* the directory counts in 32 bits */
#define NAY_RANGE_MAX_UNITS ((uint64_t)1 << 62) /* r */
#define NAY_RANGE_GROUP 64u                     /* ranges of a batch */

extern const nay_family nay__family_range;

/* ---- the payload ---- */

/*
 * nay_range_head: the first 64 bytes of a payload, little-endian. Numbers that say which keys there
 * are (prefix lengths and so on) have min > max when there is none.
 */
typedef struct nay_range_head {
  uint64_t base;     /* exact: the least key; else 0 */
  uint64_t last;     /* exact: the greatest key - base; else (r - 1) >> shift */
  uint64_t nvalues;  /* locations that are stored, all different; at most 2^32 - 1 */
  uint32_t low_bits; /* of a location, stored apart */
  uint32_t shift;    /* low bits that shrinking has dropped */
  bool exact;
  bool others; /* there are keys that do not end in a number */
  nay_range_forms forms;
  uint32_t others_min_len, others_max_len; /* of the first NAY_RANGE_OTHER bytes of these keys */
} nay_range_head;

#define NAY_RANGE_HEAD 64u
#define NAY_RANGE_HEAD_USED 50u
#define NAY_RANGE_OTHER 255u

/* nay_range_parts: where the parts of a payload begin, in bytes from its start. */
typedef struct nay_range_parts {
  uint64_t nbuckets; /* zeros of the upper bits */
  uint64_t nupper;   /* bits: a one for each value, a zero for each bucket */
  uint64_t upper, supers, groups, samples, low, others, end;
} nay_range_parts;

#define NAY_RANGE_SAMPLE_LOG 15u /* samples[s]: ones among the upper bits before s * 2^15 */

/* nay__range_low_bits: of n values in [0, last]. */
uint32_t nay__range_low_bits(uint64_t n, uint64_t last);

/* nay__range_parts: false when nvalues, last or low_bits are not those of any filter. */
bool nay__range_parts(const nay_range_head *head, nay_range_parts *parts);

/* nay__range_layout: the parts of a head that nay__range_parts accepts. */
void nay__range_layout(const nay_range_head *head, nay_range_parts *parts);

/* nay__range_counts: compares the counts of a payload with its upper bits, or writes them (`out`,
 * the payload, unless it is NULL). False: a count is wrong. */
bool nay__range_counts(const uint8_t *payload, const nay_range_parts *parts, uint8_t *out);

void nay__range_head_load(const uint8_t *payload, nay_range_head *head);
void nay__range_head_store(const nay_range_head *head, uint8_t *payload);

/*
 * nay_range_writer: writes the parts of a payload, whose head is stored and whose other bytes are
 * zero, from values in ascending order without duplicates.
 */
typedef struct nay_range_writer {
  uint8_t *payload;
  nay_range_parts parts;
  uint32_t low_bits;
  uint64_t n; /* values so far */
} nay_range_writer;

void nay__range_writer_start(nay_range_writer *w, uint8_t *payload);
void nay__range_writer_put(nay_range_writer *w, uint64_t value);
void nay__range_writer_end(nay_range_writer *w);

/* nay_range_reader: the values of a payload, ascending. */
typedef struct nay_range_reader {
  const uint8_t *payload;
  nay_range_parts parts;
  uint32_t low_bits;
  uint64_t n, i, at; /* the next value is number i, its bit at `at` or later */
} nay_range_reader;

void nay__range_reader_start(nay_range_reader *r, const uint8_t *payload);
bool nay__range_reader_next(nay_range_reader *r, uint64_t *value);

/* nay__range_any: whether a stored value is in [lo, hi]; lo <= hi <= last. For any payload: the
 * kernels (cpu/range_template.h) answer most ranges, and leave the others to it. */
bool nay__range_any(const uint8_t *payload, uint64_t lo, uint64_t hi);

/* nay_range_where: the bucket of a value, which holds the values [first, end), and the one of them
 * that decides whether it is stored: the first that is not below it, or the last. */
typedef struct nay_range_where {
  uint64_t bucket, first, end;
  uint64_t at, low; /* the number of that one, and its low bits; first and 0 in an empty bucket */
  uint64_t upper;   /* bit of the payload: the zero that ends the bucket */
  uint64_t lows;    /* bit of the payload: the low bits of value 0 */
} nay_range_where;

/* nay__range_find: of a payload that has values; value <= last. */
nay_range_where nay__range_find(const uint8_t *payload, uint64_t value);

/* ---- the hash ---- */

/* nay_range_map: what sends keys to locations. */
typedef struct nay_range_map {
  const nay_hash_fn *hasher;
  uint64_t r;
  unsigned block_bits; /* 2^block_bits <= r < 2^(block_bits + 1) */
} nay_range_map;

static inline nay_range_map nay__range_map_of(const nay_hash_fn *hasher, uint64_t r) {
  return (nay_range_map){hasher, r, nay__log2_64(r)};
}

/* nay__range_block: where block j of a prefix begins, in [0, r). has_prefix: prefix is the hash of
 * a prefix that is not empty. */
NAY_INLINE uint64_t nay__range_block(const nay_range_map *map, bool has_prefix, uint64_t prefix,
                                     uint64_t j) {
  if (!has_prefix) return nay__reduce(nay__hash_u64(map->hasher, j), map->r);
  uint8_t bytes[16];
  nay__store64le(bytes, j);
  nay__store64le(bytes + 8, prefix);
  return nay__reduce(nay__hash_key(map->hasher, bytes, 16).lo, map->r);
}

/* nay__range_place: the location of a number. */
NAY_INLINE uint64_t nay__range_place(const nay_range_map *map, bool has_prefix, uint64_t prefix,
                                     uint64_t number) {
  uint64_t mask = ((uint64_t)1 << map->block_bits) - 1;
  uint64_t at =
      nay__range_block(map, has_prefix, prefix, number >> map->block_bits) + (number & mask);
  return at >= map->r ? at - map->r : at;
}

/* nay__range_prefix: the hash of a prefix; 0 for an empty one, which has none. */
static inline uint64_t nay__range_prefix(const nay_hash_fn *hasher, const uint8_t *key,
                                         size_t len) {
  return len == 0 ? 0 : nay__hash_key(hasher, key, len).lo;
}

/* ---- params and shape ---- */

/* nay__range_params: checks the params of a builder, whose nkeys may be 0. */
nay_status nay__range_params(const nay_params *params, nay_diag *diag);

/* nay__range_shape: the shape for n distinct keys. NAY_EINVAL. */
nay_status nay__range_shape(const nay_params *params, uint64_t n, nay_diag *diag, nay_shape *shape);

/* nay__range_length_of: shape.k as a length: 26 bits of a number, and how far it is shifted. */
static inline uint64_t nay__range_length_of(uint32_t k) {
  return (uint64_t)(k & 0x3ffffffu) << (k >> 26);
}

static inline nay_range_form nay__range_form_of(const nay_shape *shape) {
  return (nay_range_form){shape->extra & 0xff, (uint8_t)(shape->extra >> 8)};
}

/* nay__range_rate: the FPR of a range as long as the plan's, of the values that are there. */
double nay__range_rate(const nay_shape *shape, const nay_range_head *head);

/* ---- whole filters: range_algebra.c ---- */

nay_status nay__range_join(nay_filter *dst, const nay_filter *src, double max_fpr);

/* nay__range_shrink: NAY_EINVAL: no number of bits to drop makes it that small. */
nay_status nay__range_shrink(nay_filter *f, uint64_t nbytes);

/* ---- questions ---- */

/* nay__range_bind: after the payload has changed. */
void nay__range_bind(nay_filter *f);

/* nay_range_ends: the two ends of a range of keys as bytes. */
typedef struct nay_range_ends {
  const uint8_t *lo, *hi;
  size_t lo_len, hi_len;
} nay_range_ends;

/* nay__range_ask: n <= NAY_RANGE_GROUP ranges of keys as bytes; nay_filter_may_contain_range says
 * which. Bit i of *answers is that of range i. NAY_EINVAL: a range is upside down, and *answers is
 * as it was. */
nay_status nay__range_ask(const nay_filter *f, const nay_range_ends *ranges, unsigned n,
                          uint64_t *answers);

/* nay__range_ask_scan: [lo, end) in the order of bytes; nay_filter_may_contain_scan says which. */
nay_status nay__range_ask_scan(const nay_filter *f, const nay_range_ends *scan, bool *maybe);

/* nay__range_ask_numbers: n <= NAY_RANGE_GROUP ranges of numbers without a prefix, lo <= hi, of
 * keys that are NAY_RANGE_BE8 without a delimiter. Bit i is the answer of range i. */
uint64_t nay__range_ask_numbers(const nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                                unsigned n);

#endif /* NAY_FAMILY_RANGE_H */
