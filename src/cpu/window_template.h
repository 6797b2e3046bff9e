/*
 * window_template.h - the loops that window_<isa>.c share. An ISA defines
 *
 *   WINDOW(name)    the name of a static function: window_scalar_##name
 *   WINDOW_TARGET   the target attribute, or nothing
 *   WINDOW(find)    inline, (bits, hash) -> the generations that have all bits of the key
 *
 * and includes this file; it gets WINDOW(test), (test64), (find_one) and (add_one_by_one).
 */

WINDOW_TARGET NAY_INLINE void WINDOW(prefetch)(const nay_bits *b, uint64_t hash) {
  const uint8_t *unit = nay__unit_of(b, hash);
  NAY_PREFETCH(unit);
  NAY_PREFETCH(unit + (NAY_WINDOW_UNIT / 2));
}

WINDOW_TARGET static bool WINDOW(test)(const nay_bits *b, uint64_t hash) {
  return WINDOW(find)(b, hash) != 0;
}

WINDOW_TARGET static uint64_t WINDOW(test64)(const nay_bits *b, const uint64_t *hashes, unsigned n,
                                             const uint64_t *next) {
  uint64_t bitmap = 0;
  for (unsigned i = 0; i < n; i++) {
    if (next != NULL) WINDOW(prefetch)(b, next[i]);
    bitmap |= (uint64_t)(WINDOW(find)(b, hashes[i]) != 0) << i;
  }
  return bitmap;
}

WINDOW_TARGET static uint64_t WINDOW(find_one)(const nay_bits *b, uint64_t hash) {
  return WINDOW(find)(b, hash);
}

/* Whether a bit was clear. */
WINDOW_TARGET NAY_INLINE unsigned WINDOW(set)(const nay_bits *b, uint64_t hash,
                                              unsigned generation) {
  uint8_t *unit = nay__unit_of(b, hash);
  unsigned all = b->extra, cells = 64 / all, clear = 0;
  uint32_t x = (uint32_t)hash;
  for (uint32_t i = 0; i < b->k; i++, x *= NAY_G32) {
    nay_unit_probe p = nay__unit_probe(x, cells, all);
    clear |= nay__unit_set(unit, p.word * 64 + p.shift + generation);
  }
  return clear;
}

WINDOW_TARGET static uint64_t WINDOW(add_one_by_one)(const nay_bits *b, const uint64_t *hashes,
                                                     unsigned n, const uint64_t *next,
                                                     unsigned generation, unsigned *nchanged) {
  uint64_t fresh = 0;
  unsigned changed = 0;
  for (unsigned i = 0; i < n; i++) {
    if (next != NULL) WINDOW(prefetch)(b, next[i]);
    uint64_t found = WINDOW(find)(b, hashes[i]);
    fresh |= (uint64_t)(found == 0) << i;
    changed += WINDOW(set)(b, hashes[i], generation);
  }
  *nchanged = changed;
  return fresh;
}
