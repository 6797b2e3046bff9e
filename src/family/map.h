/*
 * map.h - the family of static maps (nay_map.h). A map is a filter that is built of pairs
 * (build/map_build.h) and has values beside its answers. It is not in families.h, whose members are
 * all built of hashes.
 *
 * shape.nunits is the number of blocks, shape.k that of columns: value bits, then check bits;
 * shape.extra is the number of check bits. The bytes are those of burr.h, all blocks with k
 * columns: bit i of the word that the slots of a key add up to is in column i.
 */
#ifndef NAY_FAMILY_MAP_H
#define NAY_FAMILY_MAP_H

#include "family/burr.h"
#include "family/family.h"

#define NAY_MAP_MAX_COLUMNS 64u
#define NAY_MAP_MAX_KEYS ((uint64_t)1 << 38) /* so that blocks are counted in 32 bits */
#define NAY_MAP_GROUP 64u

extern const nay_family nay__family_map;

NAY_INLINE unsigned nay__map_value_bits(const nay_shape *shape) { return shape->k - shape->extra; }

NAY_INLINE uint64_t nay__low_bits(unsigned n) { return ~(uint64_t)0 >> (64 - n); } /* n is not 0 */

/* nay__map_check_of: the check bits of a hash. */
NAY_INLINE uint64_t nay__map_check_of(uint64_t hash, unsigned check_bits) {
  return check_bits == 0 ? 0 : nay_hash_mix(hash ^ NAY_MAP_CHECK) >> (64 - check_bits);
}

/* nay__map_word_of: what the map stores for a hash. */
NAY_INLINE uint64_t nay__map_word_of(const nay_shape *shape, uint64_t hash, uint64_t value) {
  unsigned bits = nay__map_value_bits(shape);
  return shape->extra == 0 ? value : value | nay__map_check_of(hash, shape->extra) << bits;
}

/* nay__map_open: the payload of a map. */
NAY_INLINE nay_burr nay__map_open(const nay_filter *f) {
  return nay__burr_of(f->bits.bytes, f->shape.nunits, f->shape.nunits * f->shape.k, f->shape.k);
}

/* nay__map_params: checks the params of a map; value_bits may be 0, which is for builders to find.
 */
nay_status nay__map_params(const nay_params *params, nay_diag *diag);

/* nay__map_blocks: how many blocks the first attempt to build a map of n keys has. */
uint64_t nay__map_blocks(uint64_t n);

/* nay__map_premix: what hashes are mixed with first; 0: nothing. */
uint64_t nay__map_premix(const nay_filter *f);

/* nay__map_lookup: the words of n premixed hashes, at most NAY_MAP_GROUP. */
void nay__map_lookup(const nay_filter *f, const uint64_t *x, unsigned n, uint64_t *words);

/* nay__map_get: the values of n hashes, at most NAY_MAP_GROUP; 0 for those that are absent. Bit i
 * of what it returns tells whether hash i is there. */
uint64_t nay__map_get(const nay_filter *f, const uint64_t *hashes, unsigned n, uint64_t *values);

#endif /* NAY_FAMILY_MAP_H */
