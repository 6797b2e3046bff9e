/* sbbf_scalar.c - the split-block Bloom filter in plain C: the reference for sbbf_vector.c. */
#include "base/bytes.h"
#include "base/split_block.h"
#include "cpu/groups.h"

NAY_INLINE uint8_t *sbbf_scalar_block(const nay_bits *b, uint64_t hash) {
  return b->bytes + nay__sbbf_block(hash, b->nunits) * NAY_SBBF_BYTES;
}

/* Branch-free: the missing bits of all words are or-ed. */
static bool sbbf_scalar_test(const nay_bits *b, uint64_t hash) {
  const uint8_t *p = sbbf_scalar_block(b, hash);
  uint32_t clear = 0;
  for (unsigned i = 0; i < NAY_SBBF_WORDS; i++) {
    clear |= ~nay__load32le(p + 4 * i) >> nay__sbbf_bit(hash, i);
  }
  return (clear & 1) == 0;
}

static bool sbbf_scalar_add(const nay_bits *b, uint64_t hash) {
  uint8_t *p = sbbf_scalar_block(b, hash);
  uint32_t fresh = 0;
  for (unsigned i = 0; i < NAY_SBBF_WORDS; i++) {
    uint32_t word = nay__load32le(p + 4 * i), bit = (uint32_t)1 << nay__sbbf_bit(hash, i);
    fresh |= bit & ~word;
    nay__store32le(p + 4 * i, word | bit);
  }
  return fresh != 0;
}

static nay_status sbbf_scalar_add_blind(const nay_bits *b, uint64_t hash) {
  (void)sbbf_scalar_add(b, hash);
  return NAY_OK;
}

static uint64_t sbbf_scalar_test64(const nay_bits *b, const uint64_t *hashes, unsigned n,
                                   const uint64_t *next) {
  uint64_t bitmap = 0;
  for (unsigned i = 0; i < n; i++) {
    if (next != NULL) NAY_PREFETCH(sbbf_scalar_block(b, next[i]));
    bitmap |= (uint64_t)sbbf_scalar_test(b, hashes[i]) << i;
  }
  return bitmap;
}

static uint64_t sbbf_scalar_add64(const nay_bits *b, const uint64_t *hashes, unsigned n,
                                  const uint64_t *next, bool report) {
  uint64_t bitmap = 0;
  (void)report;
  for (unsigned i = 0; i < n; i++) {
    if (next != NULL) NAY_PREFETCH(sbbf_scalar_block(b, next[i]));
    bitmap |= (uint64_t)sbbf_scalar_add(b, hashes[i]) << i;
  }
  return bitmap;
}

const nay_sbbf_kernels nay__sbbf_scalar = {
    .test = sbbf_scalar_test,
    .test64 = sbbf_scalar_test64,
    .add = sbbf_scalar_add,
    .add_blind = sbbf_scalar_add_blind,
    .add64 = sbbf_scalar_add64,
};
