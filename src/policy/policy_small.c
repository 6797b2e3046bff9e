/*
 * policy_small.c - "nay.small.v1": Bloom filters of a few dozen keys, with a check that detects
 * every flipped bit.
 *
 *   | head u8 | m bits, least significant first | check u8 |        len bytes, m = 8 * (len - 2)
 *
 *   head  = 84 * (len % 3) + 21 * salt + k         k in [1, 21], salt in [0, 3]; 0 and 253 to 255
 *                                                  are reserved
 *   check = 83 * (len % 3) + x % 83                x: the bytes before it, folded into 64 bits
 *
 * len is that of LevelDB's own filter for as many keys. Probe i of a key is bit
 * floor(g_i * m / 2^64), g_i = rotl64(h, 8 * salt) * G^i mod 2^64, G = 0x9e3779b97f4a7c15,
 * h = XXH3 of the key: the independent probes of family bloom. LevelDB's double hashing puts a
 * key's probes in an arithmetic progression, and in a small array progressions of different keys
 * coincide: at 50 keys of 16 bits its false-positive rate (FPR) is 2.5 times that of independent
 * probes.
 *
 * The salt. The fewer bits the keys happen to set, the lower the FPR, and for few keys the variance
 * is large: +-4% of the bits for 20 keys, +-25% of the FPR. The writer builds the filter with each
 * of four salts and keeps the one with the fewest bits set; above 8,192 bits the variance is small,
 * and the salt is 0.
 *
 * The check. x is the exclusive or of all 8-byte words, the last one padded with zeros, word i
 * rotated left by 5 * (i % 4). A flipped bit of the filter flips exactly one bit of x, and so
 * changes it, as a number, by
 * +-2^j, which no odd modulus divides: x % 83 becomes another one, always. (83 is a prime of which
 * 2 is a primitive root: of the pairs of bits of x, few cancel each other.) A flipped bit of the
 * check itself is detected as well, because the byte has one right value. Where filters lie side by
 * side behind an array of offsets, as in LevelDB, a flipped bit of an offset moves one end of two
 * filters by 2^j bytes. Then len % 3 has changed for certain, and the byte at the end that did not
 * move, head or check, still has the old one. So every single flipped bit, wherever, is detected;
 * of random damage 1 in 250 is not.
 *
 * Only a nay needs the check: a maybe is never wrong. Present keys do not pay for it.
 */
#include "base/bits.h"
#include "base/bytes.h"
#include "base/sort.h"
#include "cpu/kernels.h"
#include "cpu/lanes.h"
#include "family/bitarray.h"
#include "hash/hash.h"
#include "policy/policy.h"

#define SMALL_SEED 0x6e61792e736d616cu /* "nay.smal": not the hash that shards are chosen by */
#define SMALL_MIN_LEN 3u
#define SMALL_MAX_K 21u
#define SMALL_SALTS 4u
#define SMALL_MODULUS 83u
#define SMALL_G2 (NAY_G64 * NAY_G64)
#define SMALL_G3 (NAY_G64 * NAY_G64 * NAY_G64)
#define SMALL_G4 (NAY_G64 * NAY_G64 * NAY_G64 * NAY_G64)

static inline uint64_t small_salted(uint64_t hash, unsigned salt) {
  return salt == 0 ? hash : nay__rotl64(hash, 8 * salt);
}

static inline uint64_t small_hash_key(const void *key, size_t len) {
  return XXH3_64bits_withSeed(nay__policy_key(key), len, SMALL_SEED);
}

/* ---- the check ---- */

/* The 8 bytes at p + i, of which those past the end count as zero; len is 8 at least. */
static inline uint64_t small_word(const uint8_t *p, size_t i, size_t len) {
  return i + 8 <= len ? nay__load64le(p + i) : nay__load64le(p + len - 8) >> (8 * (i + 8 - len));
}

/* The last words, fewer than four, from the end: each turn rotates those behind it once more. */
static uint64_t small_fold(const uint8_t *p, size_t len) {
  uint8_t padded[8] = {0};
  if (len < 8) { /* no writer makes such filters */
    memcpy(padded, p, len);
    return nay__load64le(padded);
  }
  uint64_t x = 0, lane[4];
  size_t whole = len / NAY_LANES_BYTES * NAY_LANES_BYTES;
  for (size_t i = (len + 7) / 8 * 8; i > whole; i -= 8) {
    x = nay__rotl64(x, 5) ^ small_word(p, i - 8, len);
  }
  if (whole == 0) return x;
  nay__lanes(p, whole, lane);
  x ^= lane[0] ^ nay__rotl64(lane[1], 5) ^ nay__rotl64(lane[2], 10) ^ nay__rotl64(lane[3], 15);
  return x;
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

static void small_fill(const uint64_t *hashes, size_t n, unsigned salt, const nay_bits *bits) {
  memset(bits->bytes, 0, (size_t)(bits->nunits / 8));
  for (size_t i = 0; i < n; i++) {
    uint64_t h = small_salted(hashes[i], salt);
    for (uint32_t j = 0; j < bits->k; j++, h *= NAY_G64) {
      nay__bit_set(bits->bytes, nay__reduce(h, bits->nunits));
    }
  }
}

/* The same through a scratch, which has room for small filters only. */
static void small_fill_scratch(const uint64_t *hashes, size_t n, unsigned salt,
                               const nay_bits *bits) {
  uint8_t scratch[NAY_POLICY_SCRATCH];
  const uint64_t m = bits->nunits;
  nay__policy_clear(scratch, (size_t)m);
  for (size_t i = 0; i < n; i++) {
    uint64_t h = small_salted(hashes[i], salt);
    uint32_t j = bits->k;
    for (; j >= 3; j -= 3, h *= SMALL_G3) {
      scratch[nay__reduce(h, m)] = 1;
      scratch[nay__reduce(h * NAY_G64, m)] = 1;
      scratch[nay__reduce(h * SMALL_G2, m)] = 1;
    }
    for (; j > 0; j--, h *= NAY_G64) scratch[nay__reduce(h, m)] = 1;
  }
  nay__policy_pack(scratch, (size_t)m, bits->bytes);
}

/* Makes the filter with each salt, keeps that with the fewest bits set, and returns the salt. */
static unsigned small_fill_best(const uint64_t *hashes, size_t n, const nay_bits *bits) {
  uint8_t best[NAY_POLICY_SCRATCH / 8];
  size_t nbytes = (size_t)(bits->nunits / 8);
  uint64_t fewest = UINT64_MAX;
  unsigned chosen = 0;
  for (unsigned salt = 0; salt < SMALL_SALTS; salt++) {
    small_fill_scratch(hashes, n, salt, bits);
    uint64_t set = nay__bits_count(bits->bytes, nbytes);
    if (set >= fewest) continue;
    fewest = set;
    chosen = salt;
    memcpy(best, bits->bytes, nbytes);
  }
  memcpy(bits->bytes, best, nbytes);
  return chosen;
}

static void small_write(const uint64_t *hashes, size_t n, uint8_t *filter, size_t len) {
  nay_bits bits = {.bytes = filter + 1, .nunits = (uint64_t)(len - 2) * 8};
  bits.k = small_best_k(bits.nunits, n);
  unsigned salt = 0;
  if (bits.nunits <= NAY_POLICY_SCRATCH) {
    salt = small_fill_best(hashes, n, &bits);
  } else {
    small_fill(hashes, n, salt, &bits);
  }
  filter[0] = (uint8_t)(SMALL_MAX_K * (SMALL_SALTS * (len % 3) + salt) + bits.k);
  filter[len - 1] = small_check(filter, len);
}

static nay_status small_hash_all(const void *const *keys, const size_t *lens, size_t n,
                                 uint64_t *hashes) {
  for (size_t i = 0; i < n; i++) {
    if (keys[i] == NULL && lens[i] != 0) return NAY_EINVAL;
    hashes[i] = small_hash_key(keys[i], lens[i]);
  }
  return NAY_OK;
}

/* Sorted, so that a repeated key counts once, and order not at all. */
static nay_status small_make(uint64_t *hashes, size_t n, size_t size, const nay_allocator *a,
                             uint8_t **filter, size_t *len) {
  uint8_t *bytes = nay__alloc(a, size);
  if (bytes == NULL) return NAY_ENOMEM;
  nay__sort_u64(hashes, n);
  small_write(hashes, nay__unique_u64(hashes, n), bytes, size);
  *filter = bytes;
  *len = size;
  return NAY_OK;
}

static nay_status small_create(void *ctx, const void *const *keys, const size_t *lens, size_t n,
                               const nay_allocator *allocator, uint8_t **filter, size_t *len) {
  size_t size;
  nay_allocator a;
  NAY_TRY(nay__policy_begin(ctx, keys, lens, n, allocator, filter, len, &a, &size));
  uint64_t few[64], *hashes = few;
  if (n > sizeof few / sizeof few[0]) hashes = nay__alloc(&a, n * sizeof *hashes);
  if (hashes == NULL) return NAY_ENOMEM;
  nay_status status = small_hash_all(keys, lens, n, hashes);
  if (status == NAY_OK) status = small_make(hashes, n, size, &a, filter, len);
  if (hashes != few) nay__free(&a, hashes, n * sizeof *hashes);
  return status;
}

/* ---- probes ---- */

/* Four probes and one branch, which absent keys take 15 times of 16: it is foreseen. */
static inline bool small_probe(const uint8_t *bits, uint64_t m, uint64_t h, uint32_t k) {
  for (; k >= 4; k -= 4, h *= SMALL_G4) {
    bool a = nay__bit_get(bits, nay__reduce(h, m));
    bool b = nay__bit_get(bits, nay__reduce(h * NAY_G64, m));
    bool c = nay__bit_get(bits, nay__reduce(h * SMALL_G2, m));
    bool d = nay__bit_get(bits, nay__reduce(h * SMALL_G3, m));
    if (!(a & b & c & d)) return false;
  }
  for (; k > 0; k--, h *= NAY_G64) {
    if (!nay__bit_get(bits, nay__reduce(h, m))) return false;
  }
  return true;
}

static bool small_may_contain(void *ctx, const void *key, size_t key_len, const uint8_t *filter,
                              size_t len) {
  (void)ctx;
  if (len < SMALL_MIN_LEN) return true;
  uint32_t head = (uint32_t)filter[0] - 1, k = head % SMALL_MAX_K + 1;
  uint32_t salt = head / SMALL_MAX_K % SMALL_SALTS;
  if (head / (SMALL_MAX_K * SMALL_SALTS) != len % 3) return true; /* reserved values as well */
  uint64_t h = small_salted(small_hash_key(key, key_len), salt), m = (uint64_t)(len - 2) * 8;
  return small_probe(filter + 1, m, h, k) || small_check(filter, len) != filter[len - 1];
}

const nay_policy nay__policy_small = {.size = sizeof nay__policy_small,
                                      .name = NAY_POLICY_SMALL,
                                      .create = small_create,
                                      .may_contain = small_may_contain};
