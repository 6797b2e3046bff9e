/*
 * bloom_scalar.c - the classic Bloom filter in plain C: k random bits, k cache lines.
 *
 * Throughput is the number of outstanding misses. A probe that leaves at the first zero bit reads
 * fewer lines, but whether it leaves is an unpredictable branch that resolves only when the line
 * has arrived; when it is mispredicted, the work behind it is lost. So the bits of a key are tested
 * together, eight at a time. A batch tests two bits of each key, then the others of the keys that
 * are left, without a branch on what it finds. Adds compute all positions of a few keys before they
 * write the first.
 */
#include "base/trace.h"
#include "cpu/bloom_common.h"

/* ---- one key ---- */

NAY_INLINE bool bloom_scalar_test_k(const nay_bits *b, uint64_t h, uint32_t k) {
  for (; k > NAY_BLOOM_ROUND; k -= NAY_BLOOM_ROUND, h *= NAY_G64_POW_8) {
    if (!nay__bloom_test_all(b, h, NAY_BLOOM_ROUND)) return false;
  }
  return nay__bloom_test_all(b, h, k);
}

NAY_INLINE void bloom_scalar_locate(const nay_bits *b, uint64_t h, uint32_t k, uint64_t *at) {
  for (uint32_t i = 0; i < k; i++, h *= NAY_G64) at[i] = nay__reduce(h, b->nunits);
}

NAY_INLINE void bloom_scalar_set(uint8_t *bytes, uint64_t bit) {
  bytes[bit >> 3] |= (uint8_t)(1u << (bit & 7));
}

NAY_INLINE bool bloom_scalar_add_k(const nay_bits *b, uint64_t h, uint32_t k) {
  uint64_t at[NAY_BLOOM_MAX_K];
  uint8_t *bytes = b->bytes, fresh = 0;
  bloom_scalar_locate(b, h, k, at);
  for (uint32_t i = 0; i < k; i++) {
    NAY_TRACE(BLOOM_BIT, 0, i, at[i], ~bytes[at[i] >> 3] >> (at[i] & 7) & 1, 0, 0);
    fresh |= (uint8_t)(~bytes[at[i] >> 3] & 1u << (at[i] & 7));
    bloom_scalar_set(bytes, at[i]);
  }
  return fresh != 0;
}

NAY_INLINE nay_status bloom_scalar_add_blind_k(const nay_bits *b, uint64_t h, uint32_t k) {
  uint64_t at[NAY_BLOOM_MAX_K];
  uint8_t *bytes = b->bytes;
  bloom_scalar_locate(b, h, k, at);
  for (uint32_t i = 0; i < k; i++) {
    NAY_TRACE(BLOOM_BIT, 0, i, at[i], ~bytes[at[i] >> 3] >> (at[i] & 7) & 1, 0, 0);
    bloom_scalar_set(bytes, at[i]);
  }
  return NAY_OK;
}

NAY_SPECIALIZE(, bool, nay_bits_probe, bloom_scalar_test, bloom_scalar_test_k)
NAY_SPECIALIZE(, bool, nay_bits_probe, bloom_scalar_add, bloom_scalar_add_k)
NAY_SPECIALIZE(, nay_status, nay_add_blind, bloom_scalar_add_blind, bloom_scalar_add_blind_k)

static nay_bits_probe bloom_scalar_choose_test(const nay_bits *b) {
  return bloom_scalar_test_choose(b->k);
}

static nay_add_blind bloom_scalar_choose_add_blind(const nay_bits *b) {
  return bloom_scalar_add_blind_choose(b->k);
}

static bool bloom_scalar_add(const nay_bits *b, uint64_t hash) {
  return bloom_scalar_add_choose(b->k)(b, hash);
}

/* ---- up to 64 keys ---- */

static uint64_t bloom_scalar_test64(const nay_bits *b, const uint64_t *hashes, unsigned n) {
  uint32_t first = b->k < NAY_BLOOM_FIRST ? b->k : NAY_BLOOM_FIRST;
  uint64_t left[64], bitmap = 0;
  uint8_t who[64];
  unsigned nleft = 0;
  for (unsigned i = 0; i < n; i++) {
    left[nleft] = hashes[i] * NAY_G64_POW_2;
    who[nleft] = (uint8_t)i;
    nleft += nay__bloom_test_all(b, hashes[i], first);
  }
  for (unsigned i = 0; i < nleft && nay__bloom_prefetches_tests(b); i++) {
    nay__bloom_prefetch(b, left[i], b->k - first);
  }
  for (unsigned i = 0; i < nleft; i++) {
    bitmap |= (uint64_t)bloom_scalar_test_k(b, left[i], b->k - first) << who[i];
  }
  return bitmap;
}

/* The bitmap costs two instructions a bit: worth leaving out. */
static uint64_t bloom_scalar_add64(const nay_bits *b, const uint64_t *hashes, unsigned n,
                                   bool report) {
  nay_bits_probe add = bloom_scalar_add_choose(b->k);
  nay_add_blind add_blind = bloom_scalar_add_blind_choose(b->k);
  bool prefetches = nay__bloom_prefetches_adds(b);
  uint64_t bitmap = 0;
  for (unsigned from = 0; from < n; from += NAY_BLOOM_GROUP) {
    unsigned end = n - from < NAY_BLOOM_GROUP ? n : from + NAY_BLOOM_GROUP;
    for (unsigned i = from; prefetches && i < end; i++) nay__bloom_prefetch(b, hashes[i], b->k);
    for (unsigned i = from; i < end; i++) {
      if (report) {
        bitmap |= (uint64_t)add(b, hashes[i]) << i;
      } else {
        add_blind(b, hashes[i]);
      }
    }
  }
  return bitmap;
}

const nay_bloom_kernels nay__bloom_scalar = {
    .test = bloom_scalar_test_any,
    .choose_test = bloom_scalar_choose_test,
    .test64 = bloom_scalar_test64,
    .add = bloom_scalar_add,
    .choose_add_blind = bloom_scalar_choose_add_blind,
    .add64 = bloom_scalar_add64,
};
