/* hash.c - hashers, and the check value of a secret key. */
#include "hash/hash.h"

const char *nay__hash_native_name(nay_hash_kind kind) {
  switch ((unsigned)kind) {
    case NAY_HASH_XXH3: return "xxh3";
    case NAY_HASH_SIPHASH: return "siphash13";
    case NAY_HASH_CALLER: return "caller";
  }
  return NULL;
}

/*
 * Files store the check value in the clear: it detects a wrong key and does not help to find the
 * right one. SipHash-2-4 of a fixed text: the filter itself uses SipHash-1-3.
 */
static uint64_t hash_key_check(const uint8_t key[16]) {
  static const char text[] = "nay key check v1";
  return nay__siphash(key, (const uint8_t *)text, sizeof text - 1, 2, 4);
}

/* For 4 to 8 bytes XXH3 xors the byte-swapped low half of the seed into the high half. */
nay_hash_fn nay__hasher_seed(uint64_t seed) {
  uint64_t mixed = seed ^ (nay__swap64(seed) >> 32 << 32);
  return (nay_hash_fn){.kind = NAY_HASH_XXH3,
                       .seed = seed,
                       .n9to16 = NAY_LEN_9TO16,
                       .first = NAY_XXH3_FIRST + seed,
                       .last = NAY_XXH3_LAST - seed,
                       .n4to8 = NAY_LEN_4TO8,
                       .flip = NAY_XXH3_4TO8_FLIP - mixed};
}

nay_status nay__hasher_init(const nay_params *params, nay_diag *diag, nay_hash_fn *hasher) {
  nay_hash_fn h = {.kind = params->hash};
  switch (params->hash) {
    case NAY_HASH_XXH3: h = nay__hasher_seed(params->seed); break;
    case NAY_HASH_SIPHASH:
      memcpy(h.key, params->key, sizeof h.key);
      h.seed = hash_key_check(h.key);
      break;
    case NAY_HASH_CALLER: h.seed = params->seed; break;
    default:
      return nay__fail(diag, NAY_EINVAL, "hash: native families take xxh3, siphash or caller", 0);
  }
  *hasher = h;
  return NAY_OK;
}

nay_status nay__hasher_unlock(nay_hash_fn *hasher, const uint8_t key[16]) {
  bool foreign = hasher->foreign != NULL && hasher->foreign->keyed != NULL;
  if (!foreign && hasher->kind != NAY_HASH_SIPHASH) return NAY_EKEY;
  if (foreign && hasher->locked) hasher->seed = hash_key_check(key);
  if (hash_key_check(key) != hasher->seed) return NAY_EKEY;
  memcpy(hasher->key, key, sizeof hasher->key);
  hasher->locked = false;
  return NAY_OK;
}

/* A keyed hash compares the check values: one side may be locked. */
bool nay__hasher_same(const nay_hash_fn *a, const nay_hash_fn *b) {
  return a->kind == b->kind && a->seed == b->seed;
}

static NAY_NOINLINE nay_hash hash_slow(const nay_hash_fn *hasher, const uint8_t *p, size_t len) {
  const nay_foreign_hash *foreign = hasher->foreign;
  if (foreign != NULL) {
    if (foreign->keyed != NULL) return foreign->keyed(hasher->key, p, len);
    return foreign->seeded != NULL ? foreign->seeded(hasher->seed, p, len) : foreign->hash(p, len);
  }
  assert(hasher->kind == NAY_HASH_SIPHASH && "the hasher is not ready");
  return (nay_hash){nay__siphash(hasher->key, p, len, 1, 3), 0};
}

NAY_FLATTEN nay_hash nay__hash_any(const nay_hash_fn *hasher, const void *key, size_t len) {
  if (NAY_LIKELY(hasher->kind == NAY_HASH_XXH3)) {
    return (nay_hash){nay__hash_xxh3(hasher->seed, key, len), 0};
  }
  return hash_slow(hasher, key != NULL ? key : (const void *)"", len);
}
