/*
 * cuckoo_lookup.h - the table of a cuckoo filter, and where a key's tag can be: the scalar lookup.
 * family/cuckoo.c uses it for adds, probes and removals, cuckoo_vector.c for the buckets of a
 * single key. The bytes are described in family/cuckoo.c.
 */
#ifndef NAY_CUCKOO_LOOKUP_H
#define NAY_CUCKOO_LOOKUP_H

#include "base/bits.h"
#include "base/bytes.h"
#include "cpu/kernels.h"

#define NAY_CUCKOO_SLOTS 4u /* of a bucket */

typedef struct nay_cuckoo_table {
  uint8_t *slots;
  uint64_t m;         /* buckets before the first doubling */
  unsigned d, spare;  /* doublings done and still to come */
  unsigned low, f;    /* bits of a tag: those that stay, all */
  bool narrow;        /* f <= 16: a bucket is one word */
  uint64_t ones, top; /* narrow: the lowest and the highest bit of each tag of a bucket */
  uint64_t factor;    /* NAY_G64; vector kernels keep it in memory */
} nay_cuckoo_table;

NAY_INLINE void nay__cuckoo_set_width(nay_cuckoo_table *t, bool narrow) {
  t->f = t->low + t->spare;
  t->factor = NAY_G64;
  t->narrow = narrow;
  if (!narrow) return;
  uint64_t pair = 1 | (uint64_t)1 << t->f;
  t->ones = pair | pair << 2 * t->f;
  t->top = t->ones << (t->f - 1);
}

/* nay__cuckoo_plain: a table that does not grow, of at most 16 bits in a tag. The compiler sees
 * that there are no doublings and no spare bits. */
NAY_INLINE nay_cuckoo_table nay__cuckoo_plain(const nay_bits *b, unsigned tag_bits) {
  nay_cuckoo_table t = {.slots = b->bytes + NAY_CUCKOO_HEADER, .m = b->nunits, .low = tag_bits};
  nay__cuckoo_set_width(&t, true);
  return t;
}

/* ---- slots and buckets ---- */

NAY_INLINE uint64_t nay__cuckoo_mask(unsigned bits) { return ((uint64_t)1 << bits) - 1; }

/* Slots are named by the bit at which they start, counted from the first bucket. */
NAY_INLINE uint64_t nay__cuckoo_bucket_bit(const nay_cuckoo_table *t, uint64_t bucket) {
  return bucket * NAY_CUCKOO_SLOTS * t->f;
}

NAY_INLINE uint64_t nay__cuckoo_get(const nay_cuckoo_table *t, uint64_t bit) {
  return nay__load64le(t->slots + (bit >> 3)) >> (bit & 7) & nay__cuckoo_mask(t->f);
}

/* Narrow tags: the bucket from bit 0 on, undefined bits above it. Even ones fill whole bytes. */
NAY_INLINE uint64_t nay__cuckoo_bucket_word(const nay_cuckoo_table *t, uint64_t bucket) {
  if (t->f % 2 == 0) return nay__load64le(t->slots + bucket * (t->f / 2));
  uint64_t bit = nay__cuckoo_bucket_bit(t, bucket);
  return nay__load64le(t->slots + (bit >> 3)) >> (bit & 7);
}

/*
 * The slots that hold a tag (0: the empty ones), one bit each at the top of the slot's place. Up to
 * 16 bits a bucket is one word and all slots are compared at once: a field x - tag is 0 exactly
 * when neither its top bit nor the carry from the bits below it is set.
 */
NAY_INLINE uint64_t nay__cuckoo_match(const nay_cuckoo_table *t, uint64_t bucket, uint64_t tag) {
  if (t->narrow) {
    uint64_t x = nay__cuckoo_bucket_word(t, bucket) ^ tag * t->ones;
    uint64_t rest = t->top - t->ones; /* each field: all bits below the top one */
    return ~(((x & rest) + rest) | x) & t->top;
  }
  uint64_t found = 0;
  for (unsigned slot = 0; slot < NAY_CUCKOO_SLOTS; slot++) {
    uint64_t bit = nay__cuckoo_bucket_bit(t, bucket) + slot * t->f;
    found |= (uint64_t)(nay__cuckoo_get(t, bit) == tag) << slot;
  }
  return found;
}

/* ---- keys ---- */

/* The tag of a key is not the same in both of its buckets when the table can grow. */
typedef struct nay_cuckoo_key {
  uint64_t home, other;
  uint64_t home_tag, other_tag;
} nay_cuckoo_key;

/*
 * Tags to sums of buckets. Multiples of the tag would be spaced evenly, and then sums and
 * differences of them coincide: few buckets can be reached in two steps, and short tags fail at
 * 93% load. Multiples of its square do not.
 */
NAY_INLINE uint64_t nay__cuckoo_pair(const nay_cuckoo_table *t, uint64_t bucket, uint64_t low) {
  uint64_t r = nay__reduce(low * low * t->factor, t->m) | 1, alt = r - bucket, more = alt + t->m;
  return more < alt ? more : alt; /* r - bucket below 0 is large, and then the sum is small */
}

/*
 * A table that can grow: the low bits of a tag choose a word of as many bits as there are
 * doublings. A tag that moves to its other bucket xors its spare bits with that word, those in its
 * bucket number included, so the doubled table is one table and not two.
 */
NAY_INLINE uint64_t nay__cuckoo_twist(const nay_cuckoo_table *t, uint64_t low) {
  unsigned growth = t->d + t->spare;
  return growth == 0 ? 0 : low * low * NAY_REMIX >> (64 - growth);
}

/* nay__cuckoo_move: where a tag goes when it leaves `bucket`, and what it is there. */
NAY_INLINE uint64_t nay__cuckoo_move(const nay_cuckoo_table *t, uint64_t bucket, uint64_t *tag) {
  uint64_t low = *tag & nay__cuckoo_mask(t->low), twist = nay__cuckoo_twist(t, low);
  *tag ^= (twist & nay__cuckoo_mask(t->spare)) << t->low;
  uint64_t used = (bucket ^ twist >> t->spare) & nay__cuckoo_mask(t->d);
  return nay__cuckoo_pair(t, bucket >> t->d, low) << t->d | used;
}

/* High bits of the hash make the bucket, the lowest the tag that stays, those above it the spare.
 */
NAY_INLINE nay_cuckoo_key nay__cuckoo_locate(const nay_cuckoo_table *t, uint64_t hash) {
  uint64_t low = hash & nay__cuckoo_mask(t->low);
  low = low != 0 ? low : 1;
  uint64_t spare = hash >> t->low & nay__cuckoo_mask(t->d + t->spare);
  nay_cuckoo_key key = {.home = nay__reduce(hash, t->m) << t->d | spare >> t->spare};
  key.home_tag = key.other_tag = (spare & nay__cuckoo_mask(t->spare)) << t->low | low;
  key.other = nay__cuckoo_move(t, key.home, &key.other_tag);
  return key;
}

/*
 * Not 0 at the top of a field when some field of x is 0; of a word or of a vector of words. The
 * carries that nay__cuckoo_match avoids do no harm here: x - 1 borrows only from fields above the
 * first that is 0.
 */
#define NAY_CUCKOO_ZERO_FIELDS(x, ones) (((x) - (ones)) & ~(x))

/* nay__cuckoo_has: whether one of its buckets has the key's tag there. */
NAY_INLINE bool nay__cuckoo_has(const nay_cuckoo_table *t, const nay_cuckoo_key *key) {
  if (!t->narrow) {
    return (nay__cuckoo_match(t, key->home, key->home_tag) |
            nay__cuckoo_match(t, key->other, key->other_tag)) != 0;
  }
  uint64_t ones = t->ones;
  NAY_OPAQUE(ones); /* one product: compilers would make it of six shifts and adds */
  uint64_t same = key->home_tag * ones;
  uint64_t twisted = t->d + t->spare == 0 ? same : key->other_tag * ones;
  uint64_t home = nay__cuckoo_bucket_word(t, key->home) ^ same;
  uint64_t other = nay__cuckoo_bucket_word(t, key->other) ^ twisted;
  uint64_t zeros = NAY_CUCKOO_ZERO_FIELDS(home, ones) | NAY_CUCKOO_ZERO_FIELDS(other, ones);
  return (zeros & t->top) != 0;
}

#endif /* NAY_CUCKOO_LOOKUP_H */
