/*
 * sbbf.c - the split-block Bloom filter: the filter of Parquet, and so of the lakehouse.
 *
 *   hash   | hi 32 bits: which block        | lo 32 bits: one bit of each of its 8 words |
 *
 *   block  | word 0 | word 1 | ... | word 7 |     8 * 32 bits, half a cache line
 *             ..1..    1....         ...1.        bit (lo * salt[i] mod 2^32) >> 27 of word i
 *
 *   add    sets 8 bits, one in each word       test   nay unless all 8 are set
 *
 * The block is (hi * nblocks) >> 32: a multiplication, and folding is exact: block b of n is block
 * b / f of n / f. The 8 bits need one multiplication each and no branch, which fits one vector
 * register (cpu/sbbf_vector.c). The price is that k is 8 at every size, that each word takes one
 * bit of each key, and that blocks of 256 bits fill unevenly: 1% takes 10.5 bits per key, 0.1% 16.9
 * and 0.01% 26.3. Take it to exchange filters with Parquet, and blocked otherwise.
 *
 * FPR: a block of j keys has a word's bit set with 1 - (31/32)^j, all eight with its 8th power; the
 * keys of a block are binomial over the blocks.
 *
 * Putze, Sanders, Singler: Cache-, hash- and space-efficient Bloom filters. WEA 2007.
 */
#include "family/sbbf.h"

#include "base/bits.h"
#include "base/bytes.h"
#include "family/bitarray.h"
#include "family/explain.h"
#include "math/elementary.h"
#include "math/fpr.h"
#include "math/plan.h"

/* ---- sizes ---- */

/* The chance that a block of j keys answers maybe, times the chance of j keys, over all j. */
static double sbbf_fpr_of(double keys_per_block) {
  if (keys_per_block > 400) return 1; /* within 1e-4: (1 - (31/32)^400)^8 */
  double chance = nay__exp(-keys_per_block), clear = 1, sum = 0, left = 1;
  for (unsigned j = 0; left > 1e-18 && j < 2000; j++) {
    double set = 1 - clear;
    sum += chance * nay__ipow(set, NAY_SBBF_WORDS);
    left -= chance;
    if (j > keys_per_block && chance < 1e-20) break;
    chance *= keys_per_block / (j + 1);
    clear *= 31.0 / 32;
  }
  return sum < 1 ? sum : 1;
}

static double sbbf_fpr(const nay_shape *shape, uint64_t nkeys) {
  return sbbf_fpr_of((double)nkeys / (double)shape->nunits);
}

/* The least number of blocks for an FPR; 0: more than there can be. */
static uint64_t sbbf_blocks_for(uint64_t nkeys, double fpr) {
  uint64_t low = 1, high = NAY_SBBF_MAX_BLOCKS;
  if (sbbf_fpr_of((double)nkeys / (double)high) > fpr) return 0;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (sbbf_fpr_of((double)nkeys / (double)middle) <= fpr) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

static nay_status sbbf_plan(const nay_params *p, nay_diag *diag, nay_shape *shape) {
  nay_sizing by;
  NAY_TRY(nay__params_check(p, diag, &by));
  if (p->k != 0 && p->k != NAY_SBBF_WORDS) {
    return nay__fail(diag, NAY_EINVAL, "k: a split-block filter has 8 probes", 0);
  }
  uint64_t nblocks = 0;
  switch (by) {
    case NAY_BY_FPR:
      nblocks = sbbf_blocks_for(p->nkeys, p->fpr);
      if (nblocks == 0) {
        return nay__fail(diag, NAY_EINVAL, "fpr and nkeys need more than 2^31 blocks", 0);
      }
      break;
    case NAY_BY_BITS_PER_KEY: {
      double blocks = (double)p->nkeys * p->bits_per_key / NAY_SBBF_BITS;
      nblocks = blocks <= 1 ? 1 : (uint64_t)blocks + (blocks > (double)(uint64_t)blocks);
      break;
    }
    case NAY_BY_NBYTES: nblocks = p->nbytes / NAY_SBBF_BYTES; break;
    case NAY_BY_NBITS:
      if (p->nbits % NAY_SBBF_BITS != 0) {
        return nay__fail(diag, NAY_EINVAL, "nbits is not a multiple of 256, the block", 0);
      }
      nblocks = p->nbits / NAY_SBBF_BITS;
      break;
  }
  if (nblocks == 0) return nay__fail(diag, NAY_EINVAL, "nbytes is below one block of 32 bytes", 0);
  bool up = by == NAY_BY_FPR || by == NAY_BY_BITS_PER_KEY;
  if (p->fold > 1 && up && p->fold <= NAY_SBBF_MAX_BLOCKS) {
    nblocks = nay__round_up(nblocks, p->fold);
  }
  if (p->fold > 1 && by == NAY_BY_NBYTES) nblocks -= nblocks % p->fold;
  if (p->fold > 1 && (nblocks == 0 || nblocks % p->fold != 0)) {
    return nay__fail(diag, NAY_EINVAL, "fold does not divide the number of blocks", 0);
  }
  if (nblocks > NAY_SBBF_MAX_BLOCKS) {
    return nay__fail(diag, NAY_EINVAL, "the size is above 2^31 blocks, 64 GiB", 0);
  }
  *shape = (nay_shape){nblocks, NAY_SBBF_WORDS, 0};
  return NAY_OK;
}

static bool sbbf_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {
  if (shape->nunits == 0 || shape->nunits > NAY_SBBF_MAX_BLOCKS) return false;
  if (shape->k != NAY_SBBF_WORDS || shape->extra != 0) return false;
  *nbits = shape->nunits * NAY_SBBF_BITS;
  *nbytes = shape->nunits * NAY_SBBF_BYTES;
  return true;
}

static void sbbf_to_params(const nay_filter *f, nay_params *params) {
  params->nbits = f->shape.nunits * NAY_SBBF_BITS;
  params->k = 0;
}

/* ---- one hash ---- */

static void sbbf_bind(nay_filter *f) {
  f->bits.probe = f->kernels->sbbf->test;
  f->add_blind = f->kernels->sbbf->add_blind;
}

static nay_status sbbf_add(nay_filter *f, nay_hash hash, bool *is_new) {
  *is_new = f->kernels->sbbf->add(&f->bits, hash.lo);
  return NAY_OK;
}

static bool sbbf_test(const nay_filter *f, nay_hash hash) {
  return f->kernels->sbbf->test(&f->bits, hash.lo);
}

static void sbbf_explain(const nay_filter *f, nay_hash hash, nay_explain_run *run) {
  uint64_t block = nay__sbbf_block(hash.lo, f->shape.nunits), first = block * NAY_SBBF_BITS;
  nay_explain_unit unit = {"block", block, nay__explain_at(run, f->bits.bytes) + first,
                           NAY_SBBF_BITS};
  nay__explain_group(run, 0, NAY_SBBF_WORDS);
  for (unsigned i = 0; i < NAY_SBBF_WORDS; i++) {
    nay__explain_bit(run, &unit, 32 * i + nay__sbbf_bit(hash.lo, i), 0);
  }
}

static unsigned sbbf_probe_addresses(const nay_filter *f, nay_hash hash,
                                     const uint8_t **addresses) {
  addresses[0] = f->bits.bytes + nay__sbbf_block(hash.lo, f->shape.nunits) * NAY_SBBF_BYTES;
  return 1; /* blocks and checksummed chunks are both aligned */
}

/* ---- batches ---- */

static void sbbf_prefetch(const nay_filter *f, const uint64_t *lo, const uint64_t *hi, unsigned n) {
  (void)hi;
  for (unsigned i = 0; i < n; i++) {
    NAY_PREFETCH(f->bits.bytes + nay__sbbf_block(lo[i], f->shape.nunits) * NAY_SBBF_BYTES);
  }
}

static nay_status sbbf_batch_add(nay_filter *f, const uint64_t *lo, const uint64_t *hi, unsigned n,
                                 const uint64_t *next, uint64_t *bitmap, size_t *taken) {
  (void)hi;
  (void)taken;
  uint64_t word = f->kernels->sbbf->add64(&f->bits, lo, n, next, bitmap != NULL);
  if (bitmap != NULL) *bitmap = word;
  return NAY_OK;
}

static uint64_t sbbf_batch_test(const nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                                unsigned n, const uint64_t *next) {
  (void)hi;
  return f->kernels->sbbf->test64(&f->bits, lo, n, next);
}

/* ---- whole filters ---- */

static nay_status sbbf_merge(nay_filter *dst, const nay_filter *src) {
  nay__bits_or(dst->bits.bytes, src->bits.bytes, dst->nbytes);
  return NAY_OK;
}

static void sbbf_intersect(nay_filter *dst, const nay_filter *src) {
  nay__bits_and(dst->bits.bytes, src->bits.bytes, dst->nbytes);
}

static void sbbf_fold(const nay_filter *src, uint64_t factor, uint8_t *dst) {
  const uint8_t *from = src->bits.bytes;
  for (uint64_t to = 0; to < src->shape.nunits / factor; to++, dst += NAY_SBBF_BYTES) {
    for (uint64_t i = 0; i < factor; i++, from += NAY_SBBF_BYTES) {
      nay__bits_or(dst, from, NAY_SBBF_BYTES);
    }
  }
}

/* Block by block: keys by maximum likelihood, and the FPR of its eight words. */
static void sbbf_census(const nay_filter *a, const nay_filter *b, uint64_t factor,
                        nay_census *census) {
  uint64_t nblocks = a->shape.nunits / factor, histogram[NAY_SBBF_BITS + 1] = {0};
  const uint8_t *p = a->bits.bytes;
  double fpr = 0;
  for (uint64_t block = 0; block < nblocks; block++) {
    uint8_t sum[NAY_SBBF_BYTES] = {0};
    for (uint64_t i = 0; i < factor; i++, p += sizeof sum) nay__bits_or(sum, p, sizeof sum);
    if (b != NULL) nay__bits_or(sum, b->bits.bytes + block * sizeof sum, sizeof sum);
    double all = 1;
    uint64_t set = 0;
    for (unsigned i = 0; i < NAY_SBBF_WORDS; i++) {
      uint64_t in_word = nay__bits_count(sum + 4 * i, 4);
      all *= (double)in_word / 32;
      set += in_word;
    }
    histogram[set]++;
    fpr += all;
  }
  nay_census c = {.nbits = nblocks * NAY_SBBF_BITS, .fpr = fpr / (double)nblocks};
  for (unsigned x = 0; x <= NAY_SBBF_BITS; x++) {
    if (histogram[x] == 0) continue;
    nay_estimate keys = nay__estimate_keys(NAY_SBBF_BITS, NAY_SBBF_WORDS, x);
    nay__estimate_add(&c.keys, &keys, histogram[x]);
    c.nbits_set += x * histogram[x];
  }
  *census = c;
}

static const nay_family_batch sbbf_batch = {
    .interleaves_add = true,
    .interleaves_test = true,
    .add = sbbf_batch_add,
    .test = sbbf_batch_test,
    .prefetch = sbbf_prefetch,
};

static const nay_family_algebra sbbf_algebra = {
    .merge = sbbf_merge,
    .intersect = sbbf_intersect,
    .fold = sbbf_fold,
};

const nay_family nay__family_sbbf = {
    .kind = NAY_SBBF,
    .name = "sbbf",
    .traits = NAY_CAN_ADD | NAY_CAN_MERGE | NAY_CAN_INTERSECT | NAY_CAN_FOLD,
    .plan = sbbf_plan,
    .payload = sbbf_payload,
    .fpr = sbbf_fpr,
    .to_params = sbbf_to_params,
    .census = sbbf_census,
    .bind = sbbf_bind,
    .test = sbbf_test,
    .explain = sbbf_explain,
    .add = sbbf_add,
    .probe_addresses = sbbf_probe_addresses,
    .batch = &sbbf_batch,
    .algebra = &sbbf_algebra,
};
