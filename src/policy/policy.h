/* policy.h - what the policies of the library share: arguments, sizes, LevelDB's recipe for both.
 */
#ifndef NAY_POLICY_PRIVATE_H
#define NAY_POLICY_PRIVATE_H

#include "base/abi.h"
#include "base/alloc.h"
#include "nay_policy.h"

/*
 * nay__policy_begin: the start of every `create`: checks the arguments, reads the allocator, and
 * sets *size to the bytes of LevelDB's filter of n keys, its array and one for k. NAY_EINVAL: an
 * array is missing; the code that hashes checks each key. NAY_ENOMEM: *size leaves size_t.
 */
nay_status nay__policy_begin(const void *ctx, const void *const *keys, const size_t *lens, size_t n,
                             const nay_allocator *allocator, uint8_t **filter, const size_t *len,
                             nay_allocator *a, size_t *size);

/* What nay_policy_find finds; their ctx is the number of bits per key. */
extern const nay_policy nay__policy_leveldb, nay__policy_small;

#define NAY_ABI_POLICY NAY_ABI(nay_policy, comparator)

/* nay__policy_bits_per_key: what the library's own policies keep in ctx. */
static inline uint32_t nay__policy_bits_per_key(const void *ctx) {
  return (uint32_t)(uintptr_t)ctx;
}

/*
 * Setting bits of a small array one after the other is slow: each is a load, an or and a store, and
 * in so few bytes the next load waits for the last store. So small arrays are made in a scratch
 * that has a byte for each bit, to be set to 1: stores alone, which do not wait. nay__policy_pack
 * makes bits of it. Measured, for LevelDB's filters of 20 keys: 4.8 ns a key, instead of 6.6.
 */
#define NAY_POLICY_SCRATCH 8192u /* bits: 500 keys of 16; larger arrays rarely meet themselves */

/* nay__policy_clear: zeros nbits bytes. A call, because memset of a size that is known to be small
 * becomes a string instruction with a slow start. */
void nay__policy_clear(uint8_t *scratch, size_t nbits);

/* nay__policy_pack: bit i is byte i of the scratch, which is 0 or 1; nbits is a multiple of 8. */
void nay__policy_pack(const uint8_t *scratch, size_t nbits, uint8_t *bits);

/* nay__policy_key: a key of no bytes may be NULL, which hash functions must not see. */
static inline const uint8_t *nay__policy_key(const void *key) {
  return key != NULL ? key : (const uint8_t *)"";
}

#endif /* NAY_POLICY_PRIVATE_H */
