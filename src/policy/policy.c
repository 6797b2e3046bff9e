/* policy.c - see policy.h. */
#include "policy/policy.h"

#define POLICY_MAX_BITS_PER_KEY 4096u /* as in nay_params */

nay_status nay__policy_args(const void *const *keys, const size_t *lens, size_t n, uint8_t **filter,
                            const size_t *len) {
  if (filter == NULL || len == NULL || (n != 0 && (keys == NULL || lens == NULL))) {
    return NAY_EINVAL;
  }
  for (size_t i = 0; i < n; i++) {
    if (keys[i] == NULL && lens[i] != 0) return NAY_EINVAL;
  }
  return NAY_OK;
}

nay_status nay__policy_bits(uint32_t bits_per_key, nay_policy *policy) {
  if (policy == NULL || bits_per_key == 0 || bits_per_key > POLICY_MAX_BITS_PER_KEY) {
    return NAY_EINVAL;
  }
  *policy = (nay_policy){.params = {.kind = NAY_BLOOM, .bits_per_key = bits_per_key}};
  return NAY_OK;
}

nay_status nay__policy_size(const nay_policy *self, size_t n, size_t *size) {
  size_t nbits;
  if (!nay__mul_ok(n, (size_t)self->params.bits_per_key, &nbits)) return NAY_ENOMEM;
  *size = (size_t)nay__ceil_div(nay__max_u64(nbits, 64), 8) + 1;
  return NAY_OK;
}
