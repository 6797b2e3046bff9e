/*
 * cuckoo.h - the shape of a cuckoo filter and its sizes: cuckoo_plan.c chooses them, cuckoo.c has
 * the verbs, cuckoo_room.c moves tags and doubles the table. nunits is the number of buckets before
 * the first doubling, k is 2 (buckets of a key), and `extra` holds the rest.
 */
#ifndef NAY_CUCKOO_H
#define NAY_CUCKOO_H

#include "cpu/cuckoo_lookup.h"
#include "family/family.h"

#define NAY_CUCKOO_LOAD 0.95 /* of the slots: the highest that a plan relies on */

/* Buckets of the smallest table that can grow: from here on each doubling adds capacity. */
#define NAY_CUCKOO_LEAST_GROWING 8u

/* shape.extra: low tag bits F, doublings D, and the mode that adds a key once only. */
#define NAY_CUCKOO_UNIQUE 0x10000u
static inline unsigned nay__cuckoo_low_bits(const nay_shape *shape) { return shape->extra & 255; }
static inline unsigned nay__cuckoo_most_doublings(const nay_shape *shape) {
  return shape->extra >> 8 & 255;
}

/* Header fields; the rest is zero. */
enum {
  NAY_CUCKOO_AT_DOUBLINGS = 0,   /* u64 */
  NAY_CUCKOO_AT_NENTRIES = 8,    /* u64: tags in the table */
  NAY_CUCKOO_AT_MAX_NBYTES = 16, /* u64: 0 is no limit */
  NAY_CUCKOO_AT_END = 24,
};

/* nay__cuckoo_capacity: as many random keys find room in so many slots, but for a chance below
 * 10^-9; a table that can grow is doubled for the next. */
uint64_t nay__cuckoo_capacity(uint64_t nslots);

/* nay__cuckoo_nbits: of the buckets after d doublings. */
uint64_t nay__cuckoo_nbits(const nay_shape *shape, unsigned d);

/* nay__cuckoo_nbytes: of the payload after d doublings. */
uint64_t nay__cuckoo_nbytes(const nay_shape *shape, unsigned d);

/* nay__cuckoo_tags: tags of f bits are as good as so many that are equally frequent. */
double nay__cuckoo_tags(unsigned f);

/* nay__cuckoo_rate: the probability that one of the tags in two buckets equals that of an absent
 * key. */
double nay__cuckoo_rate(double tags, double load);

/*
 * nay__cuckoo_expected: the FPR of a table (m, d, low, f) with n entries. For each tag the buckets
 * form pairs, so an entry has the pair and the tag of an absent key once in nbuckets / 2 * 2^f; the
 * tag that also stands for 0 is twice as frequent. distinct: no two entries have pair and tag in
 * common (NAY_UNIQUE), so their chances add up.
 */
double nay__cuckoo_expected(const nay_cuckoo_table *t, double n, bool distinct);

/* ---- the table ---- */

/* nay__cuckoo_open: the table in a payload, after d doublings. */
nay_cuckoo_table nay__cuckoo_open(const nay_shape *shape, uint8_t *payload, unsigned d);

/* nay__cuckoo_of: the table of a filter. */
nay_cuckoo_table nay__cuckoo_of(const nay_filter *f);

static inline uint64_t nay__cuckoo_nbuckets(const nay_cuckoo_table *t) { return t->m << t->d; }

NAY_INLINE void nay__cuckoo_set(const nay_cuckoo_table *t, uint64_t bit, uint64_t tag) {
  uint8_t *at = t->slots + (bit >> 3);
  uint64_t word = nay__load64le(at) & ~(nay__cuckoo_mask(t->f) << (bit & 7));
  nay__store64le(at, word | tag << (bit & 7));
}

/* nay__cuckoo_first: the first slot of a bucket's match, which is not empty. */
NAY_INLINE uint64_t nay__cuckoo_first(const nay_cuckoo_table *t, uint64_t bucket, uint64_t match) {
  unsigned at = nay__ctz64(match);
  return nay__cuckoo_bucket_bit(t, bucket) + (t->narrow ? at - (t->f - 1) : at * t->f);
}

/* ---- cuckoo_room.c ---- */

/* nay__cuckoo_evict: stores a key whose two buckets are full, by moving other tags. false: no chain
 * of moves ends in a free slot, and nothing has changed. */
bool nay__cuckoo_evict(const nay_cuckoo_table *t, const nay_cuckoo_key *key);

/* nay__cuckoo_is_due: whether the table holds its capacity and may be doubled. */
bool nay__cuckoo_is_due(const nay_filter *f, const nay_cuckoo_table *t);

/* nay__cuckoo_grow: doubles the table until the key has room in it. NAY_EFULL: it may not be
 * doubled, or too few keys are in it, or doubling makes no room; NAY_ENOMEM. A failed call changes
 * nothing. */
nay_status nay__cuckoo_grow(nay_filter *f, const nay_cuckoo_table *t, const nay_cuckoo_key *key);

/* Verbs of the family. */
void nay__cuckoo_explain(const nay_filter *f, nay_hash hash, struct nay_explain_run *run);
nay_status nay__cuckoo_plan(const nay_params *params, nay_diag *diag, nay_shape *shape);
bool nay__cuckoo_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes);
double nay__cuckoo_fpr(const nay_shape *shape, uint64_t nkeys);
double nay__cuckoo_fpr_limit(const nay_shape *shape);
void nay__cuckoo_extend_plan(const nay_params *params, const nay_shape *shape, nay_plan *plan);

#endif /* NAY_CUCKOO_H */
