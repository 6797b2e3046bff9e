/* policy.c - see policy.h. */
#include "policy/policy.h"

#include "base/bytes.h"

#define POLICY_MAX_BITS_PER_KEY 4096u /* as in nay_params */

/* Bytes of LevelDB's filter of n keys. */
static nay_status policy_size(const void *ctx, size_t n, size_t *size) {
  size_t nbits;
  if (!nay__mul_ok(n, (size_t)nay__policy_bits_per_key(ctx), &nbits)) return NAY_ENOMEM;
  *size = (size_t)nay__ceil_div(nay__max_u64(nbits, 64), 8) + 1;
  return NAY_OK;
}

nay_status nay__policy_begin(const void *ctx, const void *const *keys, const size_t *lens, size_t n,
                             const nay_allocator *allocator, uint8_t **filter, const size_t *len,
                             nay_allocator *a, size_t *size) {
  if (filter == NULL || len == NULL || (n != 0 && (keys == NULL || lens == NULL))) {
    return NAY_EINVAL;
  }
  NAY_TRY(policy_size(ctx, n, size));
  return nay__allocator_read(allocator, NULL, a);
}

nay_status nay_policy_find(const char *name, uint32_t bits_per_key, nay_policy *policy) {
  static const nay_policy *const known[] = {&nay__policy_leveldb, &nay__policy_small};
  if (name == NULL || policy == NULL) return NAY_EINVAL;
  if (bits_per_key == 0 || bits_per_key > POLICY_MAX_BITS_PER_KEY) return NAY_EINVAL;
  NAY_TRY(nay__abi_check(NAY_ABI_POLICY, policy, NULL));
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    if (strcmp(name, known[i]->name) != 0) continue;
    nay_policy found = *known[i];
    found.ctx = (void *)(uintptr_t)bits_per_key;
    nay__abi_write(NAY_ABI_POLICY, &found, policy);
    return NAY_OK;
  }
  return NAY_EINVAL;
}

void nay__policy_clear(uint8_t *scratch, size_t nbits) { memset(scratch, 0, nbits); }

/* The factor brings the lowest bits of the 8 bytes side by side into the top byte. */
void nay__policy_pack(const uint8_t *scratch, size_t nbits, uint8_t *bits) {
  const uint64_t gather = 0x0102040810204080u;
  size_t i = 0;
  for (; i + 32 <= nbits; i += 32) {
    uint64_t a = nay__load64le(scratch + i) * gather >> 56;
    uint64_t b = nay__load64le(scratch + i + 8) * gather >> 56;
    uint64_t c = nay__load64le(scratch + i + 16) * gather >> 56;
    uint64_t d = nay__load64le(scratch + i + 24) * gather >> 56;
    nay__store32le(bits + i / 8, (uint32_t)(a | b << 8 | c << 16 | d << 24));
  }
  for (; i < nbits; i += 8) bits[i / 8] = (uint8_t)(nay__load64le(scratch + i) * gather >> 56);
}
