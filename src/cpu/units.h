/*
 * units.h - the units of a window filter, as kernels read them; family/window.c draws them.
 *
 * A unit is 16 words, two cache lines; a word has 64 / G cells of G bits, one for each generation.
 * Probe i of a key is a word and where in it the cell starts.
 */
#ifndef NAY_UNITS_H
#define NAY_UNITS_H

#include "base/bits.h"
#include "base/bytes.h"
#include "cpu/kernels.h"

#define NAY_WINDOW_HEADER 192u
#define NAY_WINDOW_UNIT 128u
#define NAY_WINDOW_WORDS 16u

/* nay__unit_of: bits.nunits units follow the header; bits.extra is G. */
NAY_INLINE uint8_t *nay__unit_of(const nay_bits *b, uint64_t hash) {
  return b->bytes + NAY_WINDOW_HEADER + nay__reduce(hash, b->nunits) * NAY_WINDOW_UNIT;
}

/* nay_unit_probe: a word of the unit and where the cell starts in it. */
typedef struct nay_unit_probe {
  unsigned word, shift;
} nay_unit_probe;

NAY_INLINE nay_unit_probe nay__unit_probe(uint32_t x, unsigned cells, unsigned all) {
  uint64_t cell = (uint64_t)(x & 0x0fffffffu) * cells >> 28;
  return (nay_unit_probe){x >> 28, (unsigned)cell * all};
}

/* nay__unit_set: sets a bit, numbered from the first of the unit, and returns 1 when it was clear.
 * A byte is stored: its bits are where those of the word are. */
NAY_INLINE unsigned nay__unit_set(uint8_t *unit, unsigned bit) {
  unsigned old = unit[bit / 8], mask = 1u << bit % 8;
  unit[bit / 8] = (uint8_t)(old | mask);
  return ~old >> bit % 8 & 1;
}

/* nay__unit_word: one load; gcc makes nay__load64le of an indexed word a load for each byte. */
NAY_INLINE uint64_t nay__unit_word(const uint8_t *unit, unsigned word) {
  uint64_t value;
  memcpy(&value, unit + (size_t)word * 8, sizeof value);
  return nay__little64(value);
}

#endif /* NAY_UNITS_H */
