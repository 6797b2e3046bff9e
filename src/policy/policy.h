/* policy.h - what the policies of the library share: arguments, sizes, LevelDB's recipe for both.
 */
#ifndef NAY_POLICY_PRIVATE_H
#define NAY_POLICY_PRIVATE_H

#include "base/alloc.h"
#include "nay_policy.h"

/* nay__policy_args: NAY_EINVAL unless these are what `create` may be called with. */
nay_status nay__policy_args(const void *const *keys, const size_t *lens, size_t n, uint8_t **filter,
                            const size_t *len);

/* nay__policy_bits: checks bits_per_key and fills in a policy that has nothing else to say. */
nay_status nay__policy_bits(uint32_t bits_per_key, nay_policy *policy);

/*
 * nay__policy_size: bytes of LevelDB's filter of n keys, its array and one for k. NAY_ENOMEM when
 * that leaves the range of size_t.
 */
nay_status nay__policy_size(const nay_policy *self, size_t n, size_t *size);

/* nay__policy_key: a key of no bytes may be NULL, which hash functions must not see. */
static inline const uint8_t *nay__policy_key(const void *key) {
  return key != NULL ? key : (const uint8_t *)"";
}

#endif /* NAY_POLICY_PRIVATE_H */
