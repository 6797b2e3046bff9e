/* window_scalar.c - the window filter in plain C: the kernels that define its answers. */
#include "cpu/groups.h"
#include "cpu/units.h"

/* All probes, without a branch on what is found: it would be mispredicted, and the lines of the
 * next keys would be requested too late. */
NAY_INLINE uint64_t window_scalar_find(const nay_bits *b, uint64_t hash) {
  const uint8_t *unit = nay__unit_of(b, hash);
  unsigned all = b->extra, cells = 64 / all;
  uint64_t found = ((uint64_t)1 << all) - 1;
  uint32_t x = (uint32_t)hash;
  for (uint32_t i = 0; i < b->k; i++, x *= NAY_G32) {
    nay_unit_probe p = nay__unit_probe(x, cells, all);
    found &= nay__unit_word(unit, p.word) >> p.shift;
  }
  return found;
}

#define WINDOW(name) window_scalar_##name
#define WINDOW_TARGET
#include "cpu/window_template.h"

const nay_window_kernels nay__window_scalar = {
    window_scalar_test, window_scalar_test64, window_scalar_find_one, window_scalar_add_one_by_one};
