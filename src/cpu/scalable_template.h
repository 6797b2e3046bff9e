/*
 * scalable_template.h - the loops that scalable_<isa>.c share. An ISA defines
 *
 *   SCALABLE(name)     the name of a static function: scalable_avx2_##name
 *   SCALABLE_TARGET    the target attribute, or nothing
 *   SCALABLE(pattern)  a type: the bits of a key
 *   SCALABLE(make)     inline, hash -> pattern
 *   SCALABLE(has)      inline, (payload, row, hash, pattern) -> not 0 when a half has all bits
 *
 * and includes this file; it gets SCALABLE(test) and SCALABLE(test64).
 *
 * Levels are tested from the last, which holds two thirds of the keys, without a branch on what is
 * found: such a branch is mispredicted, and would keep the CPU from loading the lines of the next
 * levels and the next keys. After sixteen levels, which hold all but one key of 43 million, there
 * is one.
 */

SCALABLE_TARGET NAY_INLINE bool SCALABLE(test_levels)(const uint8_t *payload, unsigned nlevels,
                                                      uint64_t hash) {
  const SCALABLE(pattern) bits = SCALABLE(make)(hash);
  const uint8_t *row = payload + NAY_LEVELS_HEADER + (size_t)nlevels * NAY_LEVELS_ROW;
  unsigned found = 0;
  for (;;) {
    unsigned chunk = nlevels < NAY_LEVELS_CHUNK ? nlevels : NAY_LEVELS_CHUNK;
    const uint8_t *end = row - (size_t)chunk * NAY_LEVELS_ROW;
    do {
      row -= NAY_LEVELS_ROW;
      found |= SCALABLE(has)(payload, row, hash, &bits);
    } while (row != end);
    nlevels -= chunk;
    if (NAY_LIKELY(nlevels == 0)) return found != 0;
    if (found != 0) return true;
  }
}

SCALABLE_TARGET static bool SCALABLE(test)(const nay_bits *b, uint64_t hash) {
  return SCALABLE(test_levels)(b->bytes, nay__levels_count(b->bytes), hash);
}

SCALABLE_TARGET NAY_INLINE uint64_t SCALABLE(test_batch)(const nay_bits *b, const uint64_t *hashes,
                                                         unsigned n) {
  unsigned nlevels = nay__levels_count(b->bytes);
  uint64_t bitmap = 0;
  for (unsigned i = 0; i < n; i++) {
    bitmap |= (uint64_t)SCALABLE(test_levels)(b->bytes, nlevels, hashes[i]) << i;
  }
  return bitmap;
}

SCALABLE_TARGET static uint64_t SCALABLE(test64)(const nay_bits *b, const uint64_t *hashes,
                                                 unsigned n, const uint64_t *next) {
  if (next == NULL) return SCALABLE(test_batch)(b, hashes, n);
  unsigned nlevels = nay__levels_count(b->bytes), near = nay__levels_near(b->bytes);
  uint64_t bitmap = 0;
  for (unsigned i = 0; i < 64; i++) {
    for (unsigned j = near; j < nlevels; j++) {
      NAY_PREFETCH(nay__row_line(b->bytes, nay__levels_row(b->bytes, j), next[i]));
    }
    bitmap |= (uint64_t)SCALABLE(test_levels)(b->bytes, nlevels, hashes[i]) << i;
  }
  return bitmap;
}
