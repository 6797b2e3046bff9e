/*
 * cuckoo.h - the shape of a cuckoo filter and its sizes: cuckoo_plan.c chooses them, cuckoo.c has
 * the table. nunits is the number of buckets before the first doubling, k is 2 (buckets of a key),
 * and `extra` holds the rest.
 */
#ifndef NAY_CUCKOO_H
#define NAY_CUCKOO_H

#include "cpu/cuckoo_lookup.h"
#include "family/family.h"

#define NAY_CUCKOO_LOAD 0.95 /* of the slots: the highest that a plan relies on */

/* shape.extra: low tag bits F, doublings D, and the mode that adds a key once only. */
#define NAY_CUCKOO_UNIQUE 0x10000u
static inline unsigned nay__cuckoo_low_bits(const nay_shape *shape) { return shape->extra & 255; }
static inline unsigned nay__cuckoo_most_doublings(const nay_shape *shape) {
  return shape->extra >> 8 & 255;
}

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

/* nay__cuckoo_of: the table of a filter. */
nay_cuckoo_table nay__cuckoo_of(const nay_filter *f);

/* Verbs of the family. */
void nay__cuckoo_explain(const nay_filter *f, nay_hash hash, struct nay_explain_run *run);
nay_status nay__cuckoo_plan(const nay_params *params, nay_diag *diag, nay_shape *shape);
bool nay__cuckoo_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes);
double nay__cuckoo_fpr(const nay_shape *shape, uint64_t nkeys);
void nay__cuckoo_extend_plan(const nay_params *params, const nay_shape *shape, nay_plan *plan);

#endif /* NAY_CUCKOO_H */
