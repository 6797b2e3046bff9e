/* scalable_scalar.c - the levels of a scalable filter in plain C: the kernels that define its bits.
 */
#include "cpu/groups.h"
#include "cpu/halves.h"

/* No branch on what is found, as in blocked_scalar.c. */
unsigned nay__row_has(const uint8_t *payload, const uint8_t *row, uint64_t hash) {
  nay_halves level = nay__halves_of((uint8_t *)(uintptr_t)payload, row);
  const uint8_t *line = nay__halves_line(&level, hash);
  size_t right = (level.nhalves - 1) * nay__halves_block_bytes(&level);
  unsigned left_all = 1, right_all = 1;
  uint32_t h = (uint32_t)hash;
  for (uint32_t i = 0; i < level.k; i++, h *= NAY_G32) {
    unsigned bit = nay__halves_bit(&level, h);
    const uint8_t *byte = line + bit / 8;
    left_all &= (unsigned)byte[0] >> bit % 8;
    right_all &= (unsigned)byte[right] >> bit % 8;
  }
  return (left_all | right_all) & 1;
}

NAY_INLINE unsigned scalable_scalar_has(const uint8_t *payload, const uint8_t *row, uint64_t hash,
                                        const uint32_t *pattern) {
  (void)pattern;
  return nay__row_has(payload, row, hash);
}

typedef uint32_t scalable_scalar_pattern;
NAY_INLINE uint32_t scalable_scalar_make(uint64_t hash) { return (uint32_t)hash; }

#define SCALABLE(name) scalable_scalar_##name
#define SCALABLE_TARGET
#include "cpu/scalable_template.h"

unsigned nay__halves_set(const nay_halves *level, uint8_t *block, uint64_t hash) {
  uint32_t h = (uint32_t)hash;
  unsigned fresh = 0;
  for (uint32_t i = 0; i < level->k; i++, h *= NAY_G32) {
    unsigned bit = nay__halves_bit(level, h);
    uint8_t mask = (uint8_t)(1u << bit % 8), *byte = block + bit / 8;
    fresh += (*byte & mask) == 0;
    *byte |= mask;
  }
  return fresh;
}

void nay__scalable_prefetch64(const nay_bits *b, const uint64_t *hashes, unsigned n) {
  unsigned nlevels = nay__levels_count(b->bytes), near = nay__levels_near(b->bytes);
  for (unsigned i = 0; i < n; i++) {
    for (unsigned j = near; j < nlevels; j++) {
      NAY_PREFETCH(nay__row_line(b->bytes, nay__levels_row(b->bytes, j), hashes[i]));
    }
  }
}

static nay_bits_probe scalable_scalar_choose_test(const nay_bits *b) {
  (void)b;
  return scalable_scalar_test;
}

const nay_scalable_kernels nay__scalable_scalar = {
    .choose_test = scalable_scalar_choose_test,
    .test64 = scalable_scalar_test64,
    .set = nay__halves_set,
};
