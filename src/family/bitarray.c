/* bitarray.c - whole-array operations, eight bytes at a time where that is allowed. */
#include "family/bitarray.h"

#include "base/bits.h"
#include "base/bytes.h"

/* memcpy is how C spells an unaligned load; byte order does not matter to counting, or, and. */
static uint64_t bitarray_load(const uint8_t *p) {
  uint64_t word;
  memcpy(&word, p, sizeof word);
  return word;
}

static void bitarray_store(uint8_t *p, uint64_t word) { memcpy(p, &word, sizeof word); }

void nay__bits_read(const uint8_t *bits, size_t len) {
  const volatile uint8_t *line = bits;
  for (size_t i = 0; i < len; i += 64) (void)line[i];
}

uint64_t nay__bits_count(const uint8_t *bits, size_t len) {
  uint64_t count = 0;
  size_t i = 0;
  for (; i + 8 <= len; i += 8) count += nay__popcount64(bitarray_load(bits + i));
  for (; i < len; i++) count += nay__popcount64(bits[i]);
  return count;
}

uint64_t nay__bits_count_or(const uint8_t *a, const uint8_t *b, size_t len) {
  uint64_t count = 0;
  size_t i = 0;
  for (; i + 8 <= len; i += 8)
    count += nay__popcount64(bitarray_load(a + i) | bitarray_load(b + i));
  for (; i < len; i++) count += nay__popcount64((uint64_t)(a[i] | b[i]));
  return count;
}

void nay__bits_or(uint8_t *dst, const uint8_t *src, size_t len) {
  size_t i = 0;
  for (; i + 8 <= len; i += 8)
    bitarray_store(dst + i, bitarray_load(dst + i) | bitarray_load(src + i));
  for (; i < len; i++) dst[i] |= src[i];
}

void nay__bits_and(uint8_t *dst, const uint8_t *src, size_t len) {
  size_t i = 0;
  for (; i + 8 <= len; i += 8)
    bitarray_store(dst + i, bitarray_load(dst + i) & bitarray_load(src + i));
  for (; i < len; i++) dst[i] &= src[i];
}

uint64_t nay__bits_next(const uint8_t *bits, uint64_t from, uint64_t nbits) {
  if (from >= nbits) return nbits;
  uint64_t word = nay__load64le(bits + from / 64 * 8) >> from % 64;
  if (word != 0) return from + nay__ctz64(word);
  for (uint64_t at = from / 64 + 1; at < nay__ceil_div(nbits, 64); at++) {
    word = nay__load64le(bits + at * 8);
    if (word != 0) return at * 64 + nay__ctz64(word);
  }
  return nbits;
}

bool nay__bits_tail_clear(const uint8_t *bits, size_t len, uint64_t nbits) {
  size_t whole = (size_t)(nbits >> 3);
  if (whole < len && (nbits & 7) != 0 && bits[whole] >> (nbits & 7) != 0) return false;
  for (size_t i = whole + ((nbits & 7) != 0); i < len; i++) {
    if (bits[i] != 0) return false;
  }
  return true;
}
