/* varint.h - LEB128 varints: seven bits per byte, least significant first. */
#ifndef NAY_VARINT_H
#define NAY_VARINT_H

#include "base/base.h"
#include "base/compiler.h"

#define NAY_VARINT32_MAX 5u /* bytes */
#define NAY_VARINT64_MAX 10u

/* nay__varint_store: returns the first byte after the number. */
static inline uint8_t *nay__varint_store(uint8_t *p, uint64_t v) {
  for (; v >= 0x80; v >>= 7) *p++ = (uint8_t)(v | 0x80);
  *p++ = (uint8_t)v;
  return p;
}

/*
 * nay__varint64_load: the first byte after the number, or NULL when it does not end before `end`
 * or needs more than 64 bits. Overlong encodings are accepted, as in LevelDB.
 */
static inline const uint8_t *nay__varint64_load(const uint8_t *p, const uint8_t *end, uint64_t *v) {
  uint64_t result = 0;
  for (unsigned shift = 0; shift <= 63 && p < end; shift += 7) {
    uint64_t byte = *p++;
    if (shift == 63 && byte > 1) return NULL;
    result |= (byte & 0x7f) << shift;
    if (byte < 0x80) {
      *v = result;
      return p;
    }
  }
  return NULL;
}

/* nay__varint32_load: the same for 32 bits; one byte is the common case. */
static inline const uint8_t *nay__varint32_load(const uint8_t *p, const uint8_t *end, uint32_t *v) {
  if (NAY_LIKELY(p < end && *p < 0x80)) {
    *v = *p;
    return p + 1;
  }
  uint64_t wide = 0;
  p = nay__varint64_load(p, end, &wide);
  if (p == NULL || wide > UINT32_MAX) return NULL;
  *v = (uint32_t)wide;
  return p;
}

#endif /* NAY_VARINT_H */
