/*
 * classic.h - the Bloom filters of other systems: k bits of one array, by three kinds of double
 * hashing.
 *
 *   rotating   32-bit hash h, delta = h rotated right by 17; bit h % m, h += delta, k times
 *              (LevelDB, mini-lsm). k above 30 or 0 is reserved: such a filter answers maybe.
 *   striding   bits (lo + i * hi mod 2^64) % m for i = 0 .. k-1  (nori, the lab)
 *   signed     bits |lo + i * hi mod 2^64 as a signed number| % m  (Cassandra). `extra` says which
 *              word of the hash is the first bit, and the order of the bytes. No bits: maybe.
 *
 * shape: nunits bits (0: a filter of no keys, which answers nay), k, and in `extra` a value of the
 * format.
 */
#ifndef NAY_CLASSIC_H
#define NAY_CLASSIC_H

#include "family/family.h"

extern const nay_family nay__family_rotating;
extern const nay_family nay__family_striding;
extern const nay_family nay__family_signed;

#define NAY_SIGNED_WORDS_BE 1u /* extra: each 8 bytes of the array are in reverse order */
#define NAY_SIGNED_SWAPPED 2u  /* extra: hash.lo is the first bit and hash.hi the step */

#define NAY_CLASSIC_MAX_K 255u /* a file with more is refused: it would slow down every probe */

/* nay__classic_bits: n * bits_per_key, refused when it cannot be addressed. */
nay_status nay__classic_bits(uint64_t nkeys, double bits_per_key, nay_diag *diag, uint64_t *nbits);

#endif /* NAY_CLASSIC_H */
