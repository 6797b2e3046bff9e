/*
 * ribbon.h - what the two files of the ribbon filter share: ribbon.c, which has a map of all of
 * them, and ribbon_plan.c. The bytes are those of burr.h; shape.extra is the number of blocks,
 * shape.nunits that of the columns of all blocks, shape.k the columns of a block.
 *
 * extra is 0: the set is small, and the filter is a Bloom filter of nunits words with k probes,
 * after 8 bytes of premix.
 */
#ifndef NAY_RIBBON_H
#define NAY_RIBBON_H

#include "family/burr.h"
#include "family/family.h"
#include "nay_explain.h"

#define NAY_RIBBON_MAX_COLUMNS 32u
#define NAY_RIBBON_MAX_KEYS ((uint64_t)1 << 38) /* so that blocks are counted in 32 bits */
#define NAY_RIBBON_BLOOM_HEADER 8u
#define NAY_RIBBON_BLOOM_KEYS 4096u /* at most, where the filter is a Bloom filter */

NAY_INLINE nay_burr nay__ribbon_open(const nay_bits *b) {
  return nay__burr_of(b->bytes, b->extra, b->nunits, b->k);
}

/* nay__ribbon_bloom: the bits of a filter that is a Bloom filter. */
NAY_INLINE nay_bits nay__ribbon_bloom(const nay_filter *f) {
  nay_bits bits = f->bits;
  bits.bytes += NAY_RIBBON_BLOOM_HEADER;
  bits.nunits *= 64;
  return bits;
}

/* nay__ribbon_rate: the false-positive rate when a share of the keys finds a column less. */
NAY_INLINE double nay__ribbon_rate(unsigned r, double share) {
  return (1 + share) / (double)((uint64_t)1 << r);
}

/* ribbon_plan.c */
nay_status nay__ribbon_plan(const nay_params *p, nay_diag *diag, nay_shape *shape);
bool nay__ribbon_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes);
double nay__ribbon_fpr(const nay_shape *shape, uint64_t nkeys);

/* nay__ribbon_explain_place: the layer of what->word and its place there; part and seed go to
 * *what. For ribbons and maps. */
unsigned nay__ribbon_explain_place(const nay_burr *b, nay_explanation *what, nay_burr_place *place);

#endif /* NAY_RIBBON_H */
