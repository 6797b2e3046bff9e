/*
 * bytes.h - loads and stores of a stated byte order, at any alignment. All bytes that enter or
 * leave the library go through them, so no other file depends on the byte order of the machine.
 */
#ifndef NAY_BYTES_H
#define NAY_BYTES_H

#include "base/base.h"
#include "base/compiler.h"

NAY_TINY uint32_t nay__load32le(const uint8_t *p) {
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

NAY_TINY uint64_t nay__load64le(const uint8_t *p) {
  return (uint64_t)nay__load32le(p) | (uint64_t)nay__load32le(p + 4) << 32;
}

/* nay__little64: the word that has the bytes of x in memory, the least significant first. */
NAY_TINY uint64_t nay__little64(uint64_t x) {
  return nay__load64le((const uint8_t *)(const void *)&x);
}

NAY_TINY uint16_t nay__load16le(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }

NAY_TINY uint32_t nay__load32be(const uint8_t *p) {
  return (uint32_t)p[3] | (uint32_t)p[2] << 8 | (uint32_t)p[1] << 16 | (uint32_t)p[0] << 24;
}

NAY_TINY uint16_t nay__load16be(const uint8_t *p) { return (uint16_t)(p[0] << 8 | p[1]); }

NAY_TINY uint64_t nay__load64be(const uint8_t *p) {
  return (uint64_t)nay__load32be(p) << 32 | (uint64_t)nay__load32be(p + 4);
}

NAY_TINY void nay__store16le(uint8_t *p, uint16_t v) {
  p[0] = (uint8_t)v;
  p[1] = (uint8_t)(v >> 8);
}

NAY_TINY void nay__store32le(uint8_t *p, uint32_t v) {
  nay__store16le(p, (uint16_t)v);
  nay__store16le(p + 2, (uint16_t)(v >> 16));
}

NAY_TINY void nay__store64le(uint8_t *p, uint64_t v) {
  nay__store32le(p, (uint32_t)v);
  nay__store32le(p + 4, (uint32_t)(v >> 32));
}

NAY_TINY void nay__store32be(uint8_t *p, uint32_t v) {
  p[0] = (uint8_t)(v >> 24);
  p[1] = (uint8_t)(v >> 16);
  p[2] = (uint8_t)(v >> 8);
  p[3] = (uint8_t)v;
}

NAY_TINY void nay__store16be(uint8_t *p, uint16_t v) {
  p[0] = (uint8_t)(v >> 8);
  p[1] = (uint8_t)v;
}

NAY_TINY void nay__store64be(uint8_t *p, uint64_t v) {
  nay__store32be(p, (uint32_t)(v >> 32));
  nay__store32be(p + 4, (uint32_t)v);
}

/*
 * nay__shared_store64le: nay__store64le for bytes that other threads may load one by one meanwhile
 * (nay__atomic_load8). p is aligned to 8. The compiler may not write a byte twice, or another value
 * first; it costs no more than a plain store.
 */
NAY_TINY void nay__shared_store64le(uint8_t *p, uint64_t v) {
#if UINTPTR_MAX > UINT32_MAX
  typedef uint64_t __attribute__((may_alias)) shared_word;
  __atomic_store_n((shared_word *)(void *)p, nay__little64(v), __ATOMIC_RELAXED);
#else
  for (unsigned i = 0; i < 8; i++) nay__atomic_store8(p + i, (uint8_t)(v >> 8 * i));
#endif
}

/* nay__all_zero: for padding, which readers check. */
static inline bool nay__all_zero(const uint8_t *p, size_t len) {
  uint8_t any = 0;
  for (size_t i = 0; i < len; i++) any |= p[i];
  return any == 0;
}

/* nay__bits_of: bit i is flags[i], which is 0 or 1; one product gathers eight of them. */
static inline uint64_t nay__bits_of(const uint8_t flags[64]) {
  uint64_t bits = 0;
  for (unsigned i = 0; i < 64; i += 8) {
    bits |= (nay__load64le(flags + i) * 0x0102040810204080u >> 56) << i;
  }
  return bits;
}

#endif /* NAY_BYTES_H */
