/*
 * window_template.h - the loops that window_<isa>.c share. An ISA defines
 *
 *   WINDOW(name)    the name of a static function: window_scalar_##name
 *   WINDOW_TARGET   the target attribute, or nothing
 *   WINDOW(find)    inline, (bits, hash) -> the generations that have all bits of the key
 *
 * and includes this file; it gets WINDOW(test), (test64), (find_one) and (find64).
 */

WINDOW_TARGET static bool WINDOW(test)(const nay_bits *b, uint64_t hash) {
  return WINDOW(find)(b, hash) != 0;
}

WINDOW_TARGET static uint64_t WINDOW(test64)(const nay_bits *b, const uint64_t *hashes, unsigned n,
                                             const uint64_t *next) {
  uint64_t bitmap = 0;
  for (unsigned i = 0; i < n; i++) {
    if (next != NULL) {
      const uint8_t *unit = nay__unit_of(b, next[i]);
      NAY_PREFETCH(unit);
      NAY_PREFETCH(unit + (NAY_WINDOW_UNIT / 2));
    }
    bitmap |= (uint64_t)(WINDOW(find)(b, hashes[i]) != 0) << i;
  }
  return bitmap;
}

WINDOW_TARGET static uint64_t WINDOW(find_one)(const nay_bits *b, uint64_t hash) {
  return WINDOW(find)(b, hash);
}
