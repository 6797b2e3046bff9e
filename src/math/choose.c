/*
 * choose.c - which family NAY_AUTO takes, and why.
 *
 * blocked is the default: one cache miss whatever the false-positive rate (FPR). Two cases are
 * better off with the classic Bloom: a set so small that it does not fill a few blocks (its whole
 * array is a few cache lines anyway, and 512-bit steps would waste a good part of it), and an FPR
 * so low that uneven blocks cost a quarter more bits than the classic array.
 */
#include "math/choose.h"

#include "math/plan.h"

#define CHOOSE_SMALL_BITS 4096u /* eight cache lines */
#define CHOOSE_BLOCK_BITS 512u
#define CHOOSE_WASTE 1.25

nay_kind nay__choose(const nay_params *p) {
  nay_sizing by;
  if (nay__params_check(p, NULL, &by) != NAY_OK) return NAY_BLOCKED; /* whose plan says why not */
  switch (by) {
    case NAY_BY_NBITS: return p->nbits % CHOOSE_BLOCK_BITS == 0 ? NAY_BLOCKED : NAY_BLOOM;
    case NAY_BY_NBYTES: return p->nbytes * 8 < CHOOSE_SMALL_BITS ? NAY_BLOOM : NAY_BLOCKED;
    case NAY_BY_BITS_PER_KEY:
      /* from 26 bits per key on, blocked needs a quarter more for the same FPR */
      if (p->bits_per_key >= 26) return NAY_BLOOM;
      return p->bits_per_key * (double)p->nkeys < CHOOSE_SMALL_BITS ? NAY_BLOOM : NAY_BLOCKED;
    case NAY_BY_FPR: break;
  }
  double bloom = (double)nay__bloom_bits(p->nkeys, p->fpr, p->k);
  if (bloom < CHOOSE_SMALL_BITS) return NAY_BLOOM;
  double blocked = (double)nay__blocked_blocks(p->nkeys, p->fpr, p->k) * CHOOSE_BLOCK_BITS;
  return blocked == 0 || blocked > bloom * CHOOSE_WASTE ? NAY_BLOOM : NAY_BLOCKED;
}
