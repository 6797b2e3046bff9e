/*
 * policy_small.c - "nay.small.v1": Bloom filters of a few dozen keys, with a check that is certain.
 *
 *   | head u8 | m bits, least significant first | check u8 |        len bytes, m = 8 * (len - 2)
 *
 *   head  = 84 * (len % 3) + 21 * salt + k         k in [1, 21], salt in [0, 3]; 0 and 253 to 255
 *                                                  are reserved
 *   check = 83 * (len % 3) + x % 83                x: the bytes before it, folded into 64 bits
 *
 * len is that of LevelDB's own filter for as many keys. Probe i of a key is bit
 * floor(g_i * m / 2^64), g_i = rotl64(h, 8 * salt) * G^i mod 2^64, G = 0x9e3779b97f4a7c15,
 * h = XXH3 of the key: the independent probes of family bloom. LevelDB's lie on a line, and in a
 * small array lines meet: at 50 keys of 16 bits its rate is 2.5 times that of independent ones.
 *
 * The salt. The fewer bits the keys happen to set, the lower the rate, and for few keys luck is
 * large: +-4 % of the bits for 20 keys, +-25 % of the rate. The writer makes the filter with each
 * of four salts and keeps the one with the fewest bits set.
 *
 * The check. x is a chain over the 8-byte words, x = rotl64(x, 5) ^ word, the last one padded with
 * zeros. A flipped bit of the filter flips exactly one bit of x, and so changes it, as a number, by
 * +-2^j, which no odd modulus divides: x % 83 becomes another one, always. (83 is a prime of which
 * 2 is a primitive root: of the pairs of bits of x, few cancel each other.) A flipped bit of the
 * check itself is seen as well, for the byte has one right value. Where filters lie side by side
 * behind an array of offsets, as in LevelDB, a flipped bit of an offset moves one end of two
 * filters by 2^j bytes. Then len % 3 has changed for certain, and the byte at the end that did not
 * move, head or check, still has the old one. So every single flipped bit, wherever, is noticed;
 * of random damage 1 in 250 is not.
 *
 * Only a nay needs the check: a maybe harms nobody. Keys that are there do not pay for it.
 */
#include "base/bits.h"
#include "base/bytes.h"
#include "base/sort.h"
#include "cpu/kernels.h"
#include "family/bitarray.h"
#include "hash/hash.h"
#include "policy/policy.h"

#define SMALL_SEED 0x6e61792e736d616cu /* "nay.smal": not the hash that shards are chosen by */
#define SMALL_MIN_LEN 3u
#define SMALL_MAX_K 21u
#define SMALL_SALTS 4u
#define SMALL_MODULUS 83u
/* Above it one salt must do: the best of four is then less than 4 % better (1 % of the bits). */
#define SMALL_MAX_TRIED 1000u

static inline uint64_t small_hash_key(const void *key, size_t len) {
  return XXH3_64bits_withSeed(nay__policy_key(key), len, SMALL_SEED);
}

/* ---- the check ---- */

static inline uint64_t small_fold_word(uint64_t x, uint64_t word) {
  return nay__rotl64(x, 5) ^ word;
}

/* Four chains at once, put together as if they were one. */
static uint64_t small_fold(const uint8_t *p, size_t len) {
  uint64_t a = 0, b = 0, c = 0, d = 0;
  for (; len >= 32; p += 32, len -= 32) {
    a = nay__rotl64(a, 20) ^ nay__load64le(p);
    b = nay__rotl64(b, 20) ^ nay__load64le(p + 8);
    c = nay__rotl64(c, 20) ^ nay__load64le(p + 16);
    d = nay__rotl64(d, 20) ^ nay__load64le(p + 24);
  }
  uint64_t x = nay__rotl64(a, 15) ^ nay__rotl64(b, 10) ^ nay__rotl64(c, 5) ^ d;
  for (; len >= 8; p += 8, len -= 8) x = small_fold_word(x, nay__load64le(p));
  if (len == 0) return x;
  uint8_t last[8] = {0};
  memcpy(last, p, len);
  return small_fold_word(x, nay__load64le(last));
}

static uint8_t small_check(const uint8_t *filter, size_t len) {
  uint64_t x = small_fold(filter, len - 1);
  return (uint8_t)(SMALL_MODULUS * (len % 3) + x % SMALL_MODULUS);
}

/* ---- create ---- */

/* The nearest whole number to m / n * ln 2, where a Bloom filter has its lowest rate. */
static uint32_t small_best_k(uint64_t m, uint64_t n) {
  if (n == 0) return 1;
  if (m / n >= 31) return SMALL_MAX_K;
  uint64_t k = (m * 2839 + n * 2048) / (n * 4096); /* 2839 / 4096: ln 2 */
  return k < 1 ? 1 : k > SMALL_MAX_K ? SMALL_MAX_K : (uint32_t)k;
}

static void small_fill(const uint64_t *hashes, size_t n, unsigned salt, const nay_bits *bits,
                       size_t nbytes) {
  memset(bits->bytes, 0, nbytes);
  for (size_t i = 0; i < n; i++) {
    uint64_t h = salt != 0 ? nay__rotl64(hashes[i], 8 * salt) : hashes[i];
    for (uint32_t j = 0; j < bits->k; j++, h *= NAY_G64) {
      uint64_t bit = nay__reduce(h, bits->nunits);
      bits->bytes[bit >> 3] |= (uint8_t)(1u << (bit & 7));
    }
  }
}

/* Fills the array with the salt that sets the fewest bits, and returns the salt. */
static unsigned small_fill_best(const uint64_t *hashes, size_t n, const nay_bits *bits,
                                size_t nbytes) {
  unsigned best = 0, last = 0;
  uint64_t fewest = UINT64_MAX;
  for (unsigned salt = 0; salt < SMALL_SALTS && n <= SMALL_MAX_TRIED; salt++) {
    small_fill(hashes, n, salt, bits, nbytes);
    uint64_t set = nay__bits_count(bits->bytes, nbytes);
    if (set < fewest) {
      fewest = set;
      best = salt;
    }
    last = salt;
  }
  if (best != last || n > SMALL_MAX_TRIED) small_fill(hashes, n, best, bits, nbytes);
  return best;
}

static void small_write(const uint64_t *hashes, size_t n, uint8_t *filter, size_t len) {
  nay_bits bits = {.bytes = filter + 1, .nunits = (uint64_t)(len - 2) * 8};
  bits.k = small_best_k(bits.nunits, n);
  unsigned salt = small_fill_best(hashes, n, &bits, len - 2);
  filter[0] = (uint8_t)(SMALL_MAX_K * (SMALL_SALTS * (len % 3) + salt) + bits.k);
  filter[len - 1] = small_check(filter, len);
}

static nay_status small_create(const nay_policy *self, const void *const *keys, const size_t *lens,
                               size_t n, const nay_allocator *allocator, uint8_t **filter,
                               size_t *len) {
  size_t size;
  NAY_TRY(nay__policy_args(keys, lens, n, filter, len));
  NAY_TRY(nay__policy_size(self, n, &size));
  nay_allocator a = nay__allocator_or_default(allocator);
  uint64_t few[64], *hashes = few;
  if (n > sizeof few / sizeof few[0]) hashes = nay__alloc(&a, n * sizeof *hashes);
  uint8_t *bytes = hashes != NULL ? nay__alloc(&a, size) : NULL;
  if (bytes != NULL) {
    for (size_t i = 0; i < n; i++) hashes[i] = small_hash_key(keys[i], lens[i]);
    nay__sort_u64(hashes, n); /* so that a repeated key counts once, and order not at all */
    small_write(hashes, nay__unique_u64(hashes, n), bytes, size);
    *filter = bytes;
    *len = size;
  }
  if (hashes != few) nay__free(&a, hashes, n * sizeof *hashes);
  return bytes != NULL ? NAY_OK : NAY_ENOMEM;
}

/* ---- may match ---- */

static nay_hash small_hash(const nay_policy *self, const void *key, size_t key_len) {
  (void)self;
  return (nay_hash){small_hash_key(key, key_len), 0};
}

static bool small_may_match_hash(const nay_policy *self, nay_hash hash, const uint8_t *filter,
                                 size_t len) {
  (void)self;
  if (len < SMALL_MIN_LEN) return true;
  uint32_t head = (uint32_t)filter[0] - 1, k = head % SMALL_MAX_K + 1;
  uint32_t salt = head / SMALL_MAX_K % SMALL_SALTS;
  if (head / (SMALL_MAX_K * SMALL_SALTS) != len % 3) return true; /* reserved values as well */
  uint64_t h = salt != 0 ? nay__rotl64(hash.lo, 8 * salt) : hash.lo, m = (uint64_t)(len - 2) * 8;
  for (uint32_t i = 0; i < k; i++, h *= NAY_G64) {
    if (!nay__bit_get(filter + 1, nay__reduce(h, m))) {
      return small_check(filter, len) != filter[len - 1];
    }
  }
  return true;
}

static bool small_may_match(const nay_policy *self, const void *key, size_t key_len,
                            const uint8_t *filter, size_t len) {
  return small_may_match_hash(self, small_hash(self, key, key_len), filter, len);
}

nay_status nay_policy_small(uint32_t bits_per_key, nay_policy *policy) {
  NAY_TRY(nay__policy_bits(bits_per_key, policy));
  policy->name = "nay.small.v1";
  policy->create = small_create;
  policy->may_match = small_may_match;
  policy->hash = small_hash;
  policy->may_match_hash = small_may_match_hash;
  return NAY_OK;
}
