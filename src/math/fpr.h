/*
 * fpr.h - from bits and keys to the false-positive rate (FPR), exactly, and back from bits to keys.
 *
 * The textbook FPR (1 - e^(-kn/m))^k takes the mean fill and raises it to the k-th power. But a
 * power of a mean is less than the mean of the power: the fill of a small array varies, and fuller
 * ones answer maybe far more often. For a 512-bit block at 16 bits per key the textbook mixture
 * says 0.0826%, the truth is 0.0844%. So the functions here use the mean *and the variance* of
 * the number of occupied bits, both known exactly; tests compare them with the full distribution.
 */
#ifndef NAY_FPR_H
#define NAY_FPR_H

#include "base/base.h"

/* nay__fpr_bloom: n keys of k probes in m bits. m >= 1. */
double nay__fpr_bloom(uint64_t m, uint32_t k, uint64_t n);

/* nay__fpr_bloom_fast: the same from mean and variance alone, for searches over sizes. */
double nay__fpr_bloom_fast(uint64_t m, uint32_t k, uint64_t n);

/* nay__fpr_bloom_scaled: the same for m bits and n keys that are fractions of larger numbers. */
double nay__fpr_bloom_scaled(double m, uint32_t k, double n);

/* nay__fpr_blocked: n keys over nblocks blocks of 512 bits, k probes within one block. */
double nay__fpr_blocked(uint64_t nblocks, uint32_t k, uint64_t n);

/* nay__fpr_blocks: the same for blocks of another size, all of whose bits are equally likely. */
double nay__fpr_blocks(uint64_t nblocks, uint32_t block_bits, uint32_t k, uint64_t n);

/*
 * nay_estimate: how many keys the occupied bits of one array tell of, or of several together.
 * Saturated: an array has no clear bit, and such an array may hold any number of keys. It counts as
 * the fewest that fill it with a chance of 1 in 1,000.
 */
typedef struct nay_estimate {
  double nkeys;
  double variance; /* of nkeys; none for a saturated array */
  bool saturated;
} nay_estimate;

/* nay__estimate_keys: the n that makes x occupied bits of m most likely, k probes a key. */
nay_estimate nay__estimate_keys(uint64_t m, uint32_t k, uint64_t x);

/* nay__estimate_add: adds `times` arrays like this one. */
void nay__estimate_add(nay_estimate *sum, const nay_estimate *one, uint64_t times);

/* nay__estimate_value: the most likely number of keys; when it is saturated, a lower bound: 3.1
 * standard deviations (1 in 1,000) below. */
double nay__estimate_value(const nay_estimate *estimate);

#endif /* NAY_FPR_H */
