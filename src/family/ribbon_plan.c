/*
 * ribbon_plan.c - the sizes of a ribbon filter.
 *
 * The number of blocks follows from the number of keys (burr.c). What remains is the number of
 * columns, whole or mixed: the first U blocks may have a column less, so that any false-positive
 * rate (FPR) and any number of bytes is met to within one column. It costs up to 1.2% at 1%, 2.4%
 * at 10%, against the ideal of a fractional number of columns.
 *
 * Few keys: a block is 128 slots, and below some 150 keys a Bloom filter is smaller.
 */
#include "family/ribbon.h"
#include "math/fpr.h"
#include "math/plan.h"

#define RIBBON_ALWAYS_BLOOM 16u

bool nay__ribbon_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {
  uint64_t nblocks = shape->extra;
  if (shape->nunits == 0 || shape->nunits > NAY_MAX_NBITS / 128 || shape->k == 0) return false;
  if (nblocks == 0) {
    if (shape->k > NAY_MAX_K) return false;
    *nbytes = NAY_RIBBON_BLOOM_HEADER + shape->nunits * 8;
  } else {
    if (shape->k > NAY_RIBBON_MAX_COLUMNS) return false;
    if (nblocks * shape->k < shape->nunits || nblocks * (shape->k - 1) >= shape->nunits) {
      return false;
    }
    *nbytes = shape->nunits * NAY_BURR_COLUMN + nay__burr_tail(nblocks);
  }
  *nbits = *nbytes * 8;
  return true;
}

static uint64_t ribbon_bytes(const nay_shape *shape) {
  uint64_t nbits, nbytes;
  return nay__ribbon_payload(shape, &nbits, &nbytes) ? nbytes : UINT64_MAX;
}

/* How many blocks hold the first slots of all keys: the last block of a part is that of one slot
 * only. A key that is bumped is as likely to find a given block of a later layer. */
static double ribbon_start_blocks(uint64_t nblocks) {
  uint64_t nparts = nay__burr_layer_at(nblocks, 0).nparts;
  return (double)nblocks - (double)nparts * (NAY_RIBBON_WIDTH - 1) / NAY_RIBBON_WIDTH;
}

double nay__ribbon_fpr(const nay_shape *shape, uint64_t nkeys) {
  if (nkeys == 0) return 0;
  if (shape->extra == 0) return nay__fpr_bloom(shape->nunits * 64, shape->k, nkeys);
  uint64_t short_blocks = (uint64_t)shape->extra * shape->k - shape->nunits;
  double share = (double)short_blocks / ribbon_start_blocks(shape->extra);
  return nay__ribbon_rate(shape->k, share > 1 ? 1 : share);
}

/* ---- plan ---- */

static nay_shape ribbon_bloom_shape(uint64_t nkeys, uint64_t nwords) {
  return (nay_shape){nwords, nay__bloom_k(nwords * 64, nkeys), 0};
}

/* Shapes of both kinds; columns or words are 0 when there is none. */
typedef struct ribbon_choice {
  nay_shape ribbon, bloom;
} ribbon_choice;

static bool ribbon_for_fpr(uint64_t nkeys, double fpr, ribbon_choice *choice) {
  uint64_t nblocks = nay__burr_blocks(nkeys);
  unsigned r = 1;
  double rate = 0.5;
  for (; rate > fpr && r <= NAY_RIBBON_MAX_COLUMNS; r++) rate /= 2;
  if (r > NAY_RIBBON_MAX_COLUMNS) return false;
  uint64_t short_blocks = (uint64_t)((fpr / rate - 1) * ribbon_start_blocks(nblocks));
  if (short_blocks >= nblocks) short_blocks = nblocks - 1;
  choice->ribbon = (nay_shape){nblocks * r - short_blocks, r, (uint32_t)nblocks};
  bool small = nkeys <= NAY_RIBBON_BLOOM_KEYS;
  uint64_t bloom = small ? nay__ceil_div(nay__bloom_bits(nkeys, fpr, 0), 64) : 0;
  choice->bloom = ribbon_bloom_shape(nkeys, nay__max_u64(bloom, 1));
  if (bloom == 0) choice->bloom.nunits = 0;
  return true;
}

/* The columns that fit into a budget, and the r they are for. */
static nay_shape ribbon_for_bytes(uint64_t nkeys, uint64_t nbytes) {
  uint64_t nblocks = nay__burr_blocks(nkeys), tail = nay__burr_tail(nblocks);
  uint64_t columns = nbytes > tail ? (nbytes - tail) / NAY_BURR_COLUMN : 0;
  columns = nay__min_u64(columns, nblocks * NAY_RIBBON_MAX_COLUMNS);
  return (nay_shape){columns, (uint32_t)nay__ceil_div(columns, nblocks), (uint32_t)nblocks};
}

static void ribbon_for_budget(uint64_t nkeys, uint64_t nbytes, ribbon_choice *choice) {
  choice->ribbon = ribbon_for_bytes(nkeys, nbytes);
  bool small = nkeys <= NAY_RIBBON_BLOOM_KEYS && nbytes > NAY_RIBBON_BLOOM_HEADER;
  uint64_t words = small ? (nbytes - NAY_RIBBON_BLOOM_HEADER) / 8 : 0;
  words = nay__min_u64(words, nkeys * 2); /* 128 bits a key: no k makes use of more */
  choice->bloom = ribbon_bloom_shape(nkeys, nay__max_u64(words, 1));
  if (words == 0) choice->bloom.nunits = 0;
}

nay_status nay__ribbon_plan(const nay_params *p, nay_diag *diag, nay_shape *shape) {
  nay_sizing by;
  NAY_TRY(nay__params_check(p, diag, &by));
  if (by == NAY_BY_NBITS) {
    return nay__fail(diag, NAY_EINVAL, "nbits: the size of a static filter follows from its keys",
                     0);
  }
  if (p->fold > 1) return nay__fail(diag, NAY_EINVAL, "fold: this family does not fold", 0);
  if (p->k != 0) return nay__fail(diag, NAY_EINVAL, "k: a ribbon filter has none to choose", 0);
  if (p->nkeys > NAY_RIBBON_MAX_KEYS) {
    return nay__fail(diag, NAY_EINVAL, "nkeys is above 2^38, the limit of this family", 0);
  }
  ribbon_choice choice;
  bool bloom;
  if (by == NAY_BY_FPR) {
    if (!ribbon_for_fpr(p->nkeys, p->fpr, &choice)) {
      return nay__fail(diag, NAY_EINVAL, "fpr is below 2^-32: there are up to 32 columns", 0);
    }
    bloom = choice.bloom.nunits != 0 && ribbon_bytes(&choice.bloom) < ribbon_bytes(&choice.ribbon);
  } else {
    double budget =
        by == NAY_BY_NBYTES ? (double)p->nbytes : p->bits_per_key * (double)p->nkeys / 8;
    /* like every family, bits_per_key may not hold for a handful of keys; nbytes always does */
    double least = NAY_RIBBON_BLOOM_HEADER + 8;
    if (by == NAY_BY_BITS_PER_KEY && budget < least) budget = least;
    ribbon_for_budget(p->nkeys, (uint64_t)budget, &choice);
    bloom = choice.bloom.nunits != 0 &&
            (choice.ribbon.nunits == 0 ||
             nay__ribbon_fpr(&choice.bloom, p->nkeys) < nay__ribbon_fpr(&choice.ribbon, p->nkeys));
  }
  if (choice.bloom.nunits != 0 && p->nkeys <= RIBBON_ALWAYS_BLOOM) bloom = true;
  *shape = bloom ? choice.bloom : choice.ribbon;
  if (shape->nunits != 0) return NAY_OK;
  return nay__fail(diag, NAY_EINVAL, "the size is too small for one column", 0);
}
