/*
 * policy_leveldb.c - "leveldb.BuiltinBloomFilter2": LevelDB's own filters, byte for byte.
 *
 *   | bits, max(64, n * bits_per_key) rounded up to bytes | k u8 |
 *
 * k = trunc(0.69 * bits_per_key) in [1, 30]. A key's 32-bit hash h gives bit h % m, h += delta, k
 * times, delta being h rotated right by 17. A filter of fewer than 2 bytes matches nothing; k above
 * 30 is reserved and matches everything, and so does k = 0, which probes nothing.
 *
 * format/fmt_leveldb.c reads and writes the same bytes as a nay_filter. Here are only the two calls
 * on an engine's hot path: no handle, and no division. The remainder of a 32-bit number by m needs
 * two multiplications once 2^64 / m is known (Lemire, Kaser, Kurz: Faster remainder by direct
 * computation, 2019: exact for all 32-bit h and m).
 */
#include "base/bits.h"
#include "base/compiler.h"
#include "family/bitarray.h"
#include "hash/hash.h"
#include "policy/policy.h"

#define LEVELDB_SEED 0xbc9f1d34u
#define LEVELDB_MAX_K 30u
#define LEVELDB_BATCH 64u

/* divisor: remainders by m; reciprocal 0 when m is above 2^32 and h % m is h. */
typedef struct leveldb_divisor {
  uint64_t reciprocal, m;
} leveldb_divisor;

static leveldb_divisor leveldb_divisor_of(uint64_t m) {
  return (leveldb_divisor){m <= UINT32_MAX ? UINT64_MAX / m + 1 : 0, m};
}

static inline uint64_t leveldb_remainder(leveldb_divisor d, uint32_t h) {
  return d.reciprocal != 0 ? nay__mulhi(d.reciprocal * h, d.m) : h;
}

static uint32_t leveldb_k(const void *ctx) {
  uint32_t k = nay__policy_bits_per_key(ctx) * 69 / 100; /* as trunc(b * 0.69), up to b = 99 */
  return k < 1 ? 1 : k > LEVELDB_MAX_K ? LEVELDB_MAX_K : k;
}

/* Whether four keys are not NULL and have the same length, a multiple of 4. */
static inline bool leveldb_four_alike(const void *const *keys, const size_t *lens) {
  size_t len = lens[0];
  bool there = keys[0] != NULL && keys[1] != NULL && keys[2] != NULL && keys[3] != NULL;
  return len % 4 == 0 && there && len == lens[1] && len == lens[2] && len == lens[3];
}

/*
 * Hashing is a dependency chain of multiplications for each key: a batch overlaps those of several
 * keys.
 * False: a key is NULL and has a length.
 */
static bool leveldb_hash_batch(const void *const *keys, const size_t *lens, size_t n,
                               uint32_t *hashes) {
  size_t i = 0;
  for (; i + 4 <= n && leveldb_four_alike(keys + i, lens + i); i += 4) {
    nay__leveldb_hash_four(keys + i, lens[i], LEVELDB_SEED, hashes + i);
  }
  for (; i < n; i++) {
    if (NAY_UNLIKELY(keys[i] == NULL && lens[i] != 0)) return false;
    hashes[i] = nay__leveldb_hash(keys[i], lens[i], LEVELDB_SEED);
  }
  return true;
}

static inline void leveldb_mark_one(uint8_t *scratch, leveldb_divisor d, uint32_t h) {
  scratch[nay__mulhi(d.reciprocal * h, d.m)] = 1;
}

/* One key's k bytes of the scratch. Six at a time: k is 6 at 10 bits per key. */
static inline void leveldb_mark(uint8_t *scratch, leveldb_divisor d, uint32_t h, uint32_t k) {
  uint32_t delta = nay__rotr32(h, 17);
  for (; k >= 6; k -= 6, h += 6 * delta) {
    leveldb_mark_one(scratch, d, h);
    leveldb_mark_one(scratch, d, h + delta);
    leveldb_mark_one(scratch, d, h + 2 * delta);
    leveldb_mark_one(scratch, d, h + 3 * delta);
    leveldb_mark_one(scratch, d, h + 4 * delta);
    leveldb_mark_one(scratch, d, h + 5 * delta);
  }
  for (; k > 0; k--, h += delta) leveldb_mark_one(scratch, d, h);
}

static bool leveldb_fill_small(const void *const *keys, const size_t *lens, size_t n, uint32_t k,
                               uint8_t *bits, uint32_t m) {
  uint8_t scratch[NAY_POLICY_SCRATCH];
  nay__policy_clear(scratch, m);
  leveldb_divisor d = leveldb_divisor_of(m);
  uint32_t hashes[LEVELDB_BATCH];
  for (size_t done = 0, batch; done < n; done += batch) {
    batch = n - done < LEVELDB_BATCH ? n - done : LEVELDB_BATCH;
    if (!leveldb_hash_batch(keys + done, lens + done, batch, hashes)) return false;
    for (size_t i = 0; i < batch; i++) leveldb_mark(scratch, d, hashes[i], k);
  }
  nay__policy_pack(scratch, m, bits);
  return true;
}

static bool leveldb_fill(const void *const *keys, const size_t *lens, size_t n, uint32_t k,
                         uint8_t *bits, uint64_t m) {
  memset(bits, 0, (size_t)(m / 8));
  leveldb_divisor d = leveldb_divisor_of(m);
  uint32_t hash;
  for (size_t i = 0; i < n; i++) {
    if (!leveldb_hash_batch(keys + i, lens + i, 1, &hash)) return false;
    uint32_t delta = nay__rotr32(hash, 17);
    for (uint32_t j = 0; j < k; j++, hash += delta) nay__bit_set(bits, leveldb_remainder(d, hash));
  }
  return true;
}

static nay_status leveldb_create(void *ctx, const void *const *keys, const size_t *lens, size_t n,
                                 const nay_allocator *allocator, uint8_t **filter, size_t *len) {
  size_t size;
  nay_allocator a;
  NAY_TRY(nay__policy_begin(ctx, keys, lens, n, allocator, filter, len, &a, &size));
  uint8_t *bytes = nay__alloc(&a, size);
  if (bytes == NULL) return NAY_ENOMEM;
  uint32_t k = leveldb_k(ctx);
  uint64_t m = (uint64_t)(size - 1) * 8;
  bool ok = m <= NAY_POLICY_SCRATCH ? leveldb_fill_small(keys, lens, n, k, bytes, (uint32_t)m)
                                    : leveldb_fill(keys, lens, n, k, bytes, m);
  if (!ok) {
    nay__free(&a, bytes, size);
    return NAY_EINVAL;
  }
  bytes[size - 1] = (uint8_t)k;
  *filter = bytes;
  *len = size;
  return NAY_OK;
}

static bool leveldb_may_contain(void *ctx, const void *key, size_t key_len, const uint8_t *filter,
                                size_t len) {
  (void)ctx;
  if (len < 2) return false;
  uint32_t k = filter[len - 1];
  if (k > LEVELDB_MAX_K) return true;
  leveldb_divisor d = leveldb_divisor_of((uint64_t)(len - 1) * 8);
  uint32_t h = nay__leveldb_hash(key, key_len, LEVELDB_SEED), delta = nay__rotr32(h, 17);
  for (uint32_t i = 0; i < k; i++, h += delta) {
    if (!nay__bit_get(filter, leveldb_remainder(d, h))) return false;
  }
  return true;
}

const nay_policy nay__policy_leveldb = {.size = sizeof nay__policy_leveldb,
                                        .name = NAY_POLICY_LEVELDB,
                                        .create = leveldb_create,
                                        .may_contain = leveldb_may_contain};
