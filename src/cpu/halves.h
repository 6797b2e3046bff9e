/*
 * halves.h - the levels of a scalable filter, as kernels read them.
 *
 *   payload   | header 64 | a row of 64 bytes for each level | level 0 | level 1 | ...
 *
 *   level of two halves     | left 32 | right 32 | left 32 | right 32 | ...    one line, one probe
 *   of one half             | left 32 | left 32 | left 32 | ...
 *
 * A half is a blocked Bloom filter with blocks of 256 bits. Block i of both halves is in line i, so
 * a probe of two filters costs one cache miss, and the bits of a key are the same in all halves: a
 * kernel makes them once and looks for them in each line. A level of one half has its blocks twice
 * as close; the left block is then also taken for the right one, which changes no answer.
 *
 * At a low FPR blocks of 256 bits would cost a third more memory. There blocks have 512 bits, and
 * a level two adjacent lines for each.
 */
#ifndef NAY_HALVES_H
#define NAY_HALVES_H

#include "base/bits.h"
#include "base/bytes.h"
#include "cpu/kernels.h"

#define NAY_LEVELS_HEADER 64u
#define NAY_LEVELS_ROW 64u
#define NAY_MAX_LEVELS 64u
#define NAY_LEVELS_CHUNK 16u /* so many are loaded before the first answer counts */

/* Fields of the header. */
enum {
  NAY_LEVELS_AT_NLEVELS = 0,     /* u32 */
  NAY_LEVELS_AT_FINISHED = 4,    /* u32: 1 when folded */
  NAY_LEVELS_AT_NGROWN = 8,      /* u64: levels made so far, the index of the next share */
  NAY_LEVELS_AT_MAX_NBYTES = 16, /* u64: 0 is no limit */
  NAY_LEVELS_AT_LIMIT = 24,      /* double: the sum of the FPRs of everything that was joined */
  NAY_LEVELS_AT_END = 32,        /* zeros */
};

/* Fields of a row. */
enum {
  NAY_ROW_AT = 0,         /* u64: where the level begins in the payload */
  NAY_ROW_NBLOCKS = 8,    /* u64: of each half */
  NAY_ROW_K = 16,         /* u32 */
  NAY_ROW_NHALVES = 20,   /* u32: 1 or 2 */
  NAY_ROW_NKEYS = 24,     /* u64: a half is planned for so many */
  NAY_ROW_FULL = 32,      /* u64: bits set at which a half is full */
  NAY_ROW_NSET = 40,      /* u64, u64: bits set of each half */
  NAY_ROW_CLOSED = 56,    /* u32: 1 when it takes no second half */
  NAY_ROW_BLOCK_BITS = 60 /* u32: 256 or 512 */
};

/* nay_halves: a level. */
typedef struct nay_halves {
  uint8_t *bytes;
  uint64_t nblocks;
  uint32_t k, nhalves;
  uint32_t block_log; /* a block has 2^block_log bytes: 5 or 6 */
} nay_halves;

/* One load; gcc makes nay__load64le of a row a load for each byte. */
NAY_INLINE uint64_t nay__row_word(const uint8_t *at) {
  uint64_t word;
  memcpy(&word, at, sizeof word);
  return nay__little64(word);
}

NAY_INLINE bool nay__row_is_wide(const uint8_t *row) {
  return nay__load32le(row + NAY_ROW_BLOCK_BITS) != NAY_HALF_BITS;
}

NAY_INLINE nay_halves nay__halves_of(uint8_t *payload, const uint8_t *row) {
  uint64_t shape = nay__row_word(row + NAY_ROW_K), wide = nay__row_word(row + NAY_ROW_CLOSED) >> 41;
  /* of a payload that nobody has checked yet the place may be anywhere: an integer, no pointer */
  uintptr_t at = (uintptr_t)payload + (uintptr_t)nay__row_word(row + NAY_ROW_AT);
  return (nay_halves){(uint8_t *)at, nay__row_word(row + NAY_ROW_NBLOCKS), (uint32_t)shape,
                      (uint32_t)(shape >> 32), NAY_HALF_BYTES_LOG + (uint32_t)wide};
}

NAY_INLINE unsigned nay__levels_count(const uint8_t *payload) {
  return nay__load32le(payload + NAY_LEVELS_AT_NLEVELS);
}

NAY_INLINE uint8_t *nay__levels_row(uint8_t *payload, unsigned level) {
  return payload + NAY_LEVELS_HEADER + (size_t)level * NAY_LEVELS_ROW;
}

/* nay__halves_line: the left block of a hash; the right one, if there is one, follows it. */
NAY_INLINE uint8_t *nay__halves_line(const nay_halves *l, uint64_t hash) {
  return l->bytes + (nay__reduce(hash, l->nblocks) << (l->block_log + l->nhalves - 1));
}

/* nay__halves_block_bytes: of one half. */
NAY_INLINE size_t nay__halves_block_bytes(const nay_halves *l) { return (size_t)1 << l->block_log; }

/* nay__halves_bit: the bit of a block that a probe is for. */
NAY_INLINE unsigned nay__halves_bit(const nay_halves *l, uint32_t probe) {
  return probe >> (29 - l->block_log);
}

/* nay__row_has: not 0 when a half of the level has all bits of a hash. */
unsigned nay__row_has(const uint8_t *payload, const uint8_t *row, uint64_t hash);

/* nay__halves_set: sets the bits of a hash in its block of one half; how many were clear. */
unsigned nay__halves_set(const nay_halves *level, uint8_t *block, uint64_t hash);

/* nay__row_line: the line of a hash in the level of a row. */
NAY_INLINE uint8_t *nay__row_line(uint8_t *payload, const uint8_t *row, uint64_t hash) {
  nay_halves level = nay__halves_of(payload, row);
  return nay__halves_line(&level, hash);
}

/* nay__levels_near: how many of the first levels are so small, or so far from the last, that their
 * lines are not worth a prefetch. */
NAY_INLINE unsigned nay__levels_near(uint8_t *payload) {
  const uint64_t most = (uint64_t)256 << 10;
  unsigned nlevels = nay__levels_count(payload),
           near = nlevels < NAY_LEVELS_CHUNK ? 0 : nlevels - NAY_LEVELS_CHUNK;
  for (; near < nlevels; near++) {
    nay_halves level = nay__halves_of(payload, nay__levels_row(payload, near));
    if ((level.nblocks * level.nhalves) << level.block_log > most) break;
  }
  return near;
}

#endif /* NAY_HALVES_H */
