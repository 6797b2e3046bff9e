/*
 * burr.h - bumped ribbon retrieval (BuRR): the bytes, and the equation of a key. A filter
 * (ribbon.c) stores fingerprints in it; a map would store values. burr.c lays the bytes out and
 * fills them, banding.c solves the equations of one part.
 *
 *   0     the blocks of layer 0, of layer 1, ..., of the last layer
 *   ...   codes: 2 bits for each bucket, unless there is one layer only
 *   -6    u32 premix
 *   -2    u8 number of the seed of all layers but the last
 *   -1    u8 number of the seed of the last layer; 255: the last layer has no slots
 *
 * A block is 128 slots. It is stored by columns, 16 bytes each: bit i of column c is bit c of slot
 * i. The first U blocks have r - 1 columns, the others r. So block b begins at column
 * b * r - min(b, U).
 *
 *   layer      nparts parts, each a band of its own; a key's part is reduce(x, nparts)
 *   part       nblocks blocks, a multiple of 4, the same number in all parts of a layer
 *   bucket     4 blocks; a key that begins in the first limit(code) slots of its bucket is bumped:
 *              the next layer has it, under the hash mix(x)
 *   last       the last layer is one part of at most 62 blocks, and bumps none
 *
 * A layer takes 97.5% of the blocks that are left, so all sizes follow from the number of blocks,
 * and nothing in the payload states a size that could be wrong.
 */
#ifndef NAY_BURR_H
#define NAY_BURR_H

#include "base/alloc.h"
#include "base/bytes.h"
#include "cpu/kernels.h"
#include "family/static_hash.h"

#define NAY_BURR_COLUMN 16u /* bytes */
#define NAY_BURR_BUCKET_BLOCKS (NAY_RIBBON_BUCKET / NAY_RIBBON_WIDTH)
#define NAY_BURR_LAST_BLOCKS 62u
#define NAY_BURR_PART_BLOCKS 1024u
#define NAY_BURR_SHARE 999u /* of 1024 blocks, in a layer that is not the last */
#define NAY_BURR_TRAILER 6u
#define NAY_BURR_SAYS_MAYBE 255u /* number of the last seed */

/* ---- layers ---- */

typedef struct nay_burr_layer {
  uint64_t first; /* block */
  uint64_t nparts;
  uint32_t nblocks; /* of a part */
  bool last;
} nay_burr_layer;

/* nay__burr_layer_at: the layer that begins at block `first` of nblocks. */
NAY_INLINE nay_burr_layer nay__burr_layer_at(uint64_t nblocks, uint64_t first) {
  uint64_t rest = nblocks - first, nparts = 1, own = rest * NAY_BURR_SHARE >> 10;
  if (rest <= NAY_BURR_LAST_BLOCKS) return (nay_burr_layer){first, 1, (uint32_t)rest, true};
  if (rest >= NAY_BURR_PART_BLOCKS + NAY_BURR_PART_BLOCKS / 2) {
    nparts = (rest + NAY_BURR_PART_BLOCKS / 2) / NAY_BURR_PART_BLOCKS;
    own /= nparts;
  }
  return (nay_burr_layer){first, nparts, (uint32_t)own & ~(NAY_BURR_BUCKET_BLOCKS - 1), false};
}

/* nay__burr_layer_end: the first block after it. */
NAY_INLINE uint64_t nay__burr_layer_end(const nay_burr_layer *l) {
  return l->first + l->nparts * l->nblocks;
}

/* nay__burr_layer, nay__burr_last: layer number i, the last layer. */
nay_burr_layer nay__burr_layer(uint64_t nblocks, unsigned i);
nay_burr_layer nay__burr_last(uint64_t nblocks);

/* nay__burr_starts: how many first slots a part has. */
NAY_INLINE uint64_t nay__burr_starts(uint32_t nblocks) {
  return (uint64_t)nblocks * NAY_RIBBON_WIDTH - (NAY_RIBBON_WIDTH - 1);
}

/* nay__burr_blocks: how many blocks n keys should have. */
uint64_t nay__burr_blocks(uint64_t n);

/* ---- payload ---- */

/* nay_burr: a payload, unpacked. */
typedef struct nay_burr {
  uint8_t *bytes;
  uint64_t nblocks;
  uint64_t short_blocks; /* U: blocks with a column less */
  uint64_t codes_at;     /* offset */
  unsigned columns;      /* r */
} nay_burr;

/* nay__burr_ncodes: bytes of codes. */
NAY_INLINE uint64_t nay__burr_ncodes(uint64_t nblocks) {
  return nblocks <= NAY_BURR_LAST_BLOCKS ? 0 : nay__ceil_div(nblocks, 4 * NAY_BURR_BUCKET_BLOCKS);
}

/* nay__burr_tail: bytes of codes and trailer. */
NAY_INLINE uint64_t nay__burr_tail(uint64_t nblocks) {
  return nay__burr_ncodes(nblocks) + NAY_BURR_TRAILER;
}

/* nay__burr_of: ncolumns columns in all, so many that 0 <= U < nblocks. */
NAY_INLINE nay_burr nay__burr_of(uint8_t *bytes, uint64_t nblocks, uint64_t ncolumns, unsigned r) {
  return (nay_burr){.bytes = bytes,
                    .nblocks = nblocks,
                    .short_blocks = nblocks * r - ncolumns,
                    .codes_at = ncolumns * NAY_BURR_COLUMN,
                    .columns = r};
}

/* nay__burr_column_of: the first column of a block. */
NAY_INLINE uint64_t nay__burr_column_of(const nay_burr *b, uint64_t block) {
  return block * b->columns - (block < b->short_blocks ? block : b->short_blocks);
}

NAY_INLINE uint8_t *nay__burr_trailer(const nay_burr *b) {
  return b->bytes + b->codes_at + nay__burr_ncodes(b->nblocks);
}

NAY_INLINE uint32_t nay__burr_premix(const nay_burr *b) {
  return nay__load32le(nay__burr_trailer(b));
}

/* nay__burr_seed_of: from its number. */
NAY_INLINE uint32_t nay__burr_seed_of(unsigned number) {
  return number == 0 ? 0 : (uint32_t)nay_hash_mix(number);
}

NAY_INLINE uint32_t nay__burr_seed(const nay_burr *b, bool last) {
  return nay__burr_seed_of(nay__burr_trailer(b)[last ? 5 : 4]);
}

NAY_INLINE bool nay__burr_says_maybe(const nay_burr *b) {
  return nay__burr_trailer(b)[5] == NAY_BURR_SAYS_MAYBE;
}

/* nay__burr_limit: how many first slots of the bucket of a block are bumped. */
NAY_INLINE unsigned nay__burr_limit(const uint8_t *codes, uint64_t block) {
  uint64_t bucket = block / NAY_BURR_BUCKET_BLOCKS;
  unsigned code = codes[bucket / 4] >> (bucket % 4 * 2) & 3;
  return (unsigned)(NAY_RIBBON_LIMITS >> (16 * code)) & 0xffff;
}

/* nay__burr_check: whether the codes past the last bucket that can be bumped are zero; if not,
 * *offset is that of the first which is not. */
bool nay__burr_check(const nay_burr *b, uint64_t *offset);

/* nay__burr_shrink: drops columns; `to` has the same blocks and as many columns, or fewer. */
void nay__burr_shrink(const nay_burr *from, const nay_burr *to);

/* ---- the equation of a key ---- */

/* nay_burr_row: the xor of the slots in `lo, hi` after `start` is fingerprint. */
typedef struct nay_burr_row {
  uint64_t lo, hi;      /* bit 0 of lo is always set */
  uint64_t fingerprint; /* bit nay__burr_bit(c) is for column c */
  uint32_t start;       /* slot, from the first of the part */
} nay_burr_row;

/* nay__burr_bit: four columns are compared together, each in a quarter of a word. */
NAY_INLINE unsigned nay__burr_bit(unsigned column) { return column % 4 * 16 + column / 4; }

/*
 * Coefficients and fingerprint are both functions of m, so they must not depend on each other
 * linearly: a sum of fingerprint bits that is a sum of coefficients for all keys of a start would
 * be met by absent keys too, and a column would be worth nothing. In a part of one block all keys
 * have one start. The coefficients are both halves of a product; the fold of another product is
 * independent of them (tests/unit/test_burr_rank.c). Its lower half alone is not: modulo 8 the two
 * factors are 3 and 7, so bit 1 of both products is m0 ^ m1, and their bits 2 differ by m0.
 */
NAY_INLINE nay_burr_row nay__burr_row_of(uint64_t x, uint32_t seed, uint64_t starts) {
  uint64_t m = nay__remix(x, seed), lo, hi = nay__mul128(m, NAY_RIBBON_ROW, &lo);
  return (nay_burr_row){lo | 1, hi, nay__fold(m, NAY_FINGERPRINT),
                        (uint32_t)((uint64_t)(uint32_t)m * starts >> 32)};
}

/* nay__burr_next: the hash of a bumped key in the next layer. */
NAY_INLINE uint64_t nay__burr_next(uint64_t x) { return nay_hash_mix(x); }

/* nay_burr_place: where a key begins. */
typedef struct nay_burr_place {
  nay_burr_row row;
  uint64_t part;
  uint64_t block;
} nay_burr_place;

NAY_INLINE nay_burr_place nay__burr_place_of(const nay_burr_layer *l, uint64_t x, uint32_t seed) {
  nay_burr_place place = {.row = nay__burr_row_of(x, seed, nay__burr_starts(l->nblocks)),
                          .part = nay__reduce(x, l->nparts)};
  place.block = l->first + place.part * l->nblocks + place.row.start / NAY_RIBBON_WIDTH;
  return place;
}

/* nay__burr_is_bumped: in a layer that is not the last. */
NAY_INLINE bool nay__burr_is_bumped(const uint8_t *codes, const nay_burr_place *place) {
  return place->row.start % NAY_RIBBON_BUCKET < nay__burr_limit(codes, place->block);
}

/*
 * nay__burr_bumped: the layer that has a bumped key, the key's hash in it, and its place. The last
 * layer may have no slots: nay__burr_says_maybe.
 */
nay_burr_layer nay__burr_bumped(const nay_burr *b, uint64_t *x, nay_burr_place *place);

/* nay__burr_layer_of: the layer that has the key, from 0; x becomes the key's hash in it. */
unsigned nay__burr_layer_of(const nay_burr *b, uint64_t *x);

/* ---- one part (banding.c) ---- */

/* nay__band_bytes: scratch for a part, 64-byte aligned. values: those of a map. */
size_t nay__band_bytes(uint32_t nblocks, size_t nkeys, bool values);
void nay__band_open(nay_band_part *p, uint32_t nblocks, size_t nkeys, bool values,
                    uint8_t *scratch);
void nay__band_sort(nay_band_part *p, const uint64_t *x, const uint64_t *values);
/* nay__band_bump: eliminates; sets codes, and bumps the keys that do not fit. */
void nay__band_bump(const nay_kernels *kernels, nay_band_part *p);
/* nay__band_solve: substitutes, and stores the blocks from `first` on. */
void nay__band_solve(const nay_kernels *kernels, const nay_band_part *p, const nay_burr *b,
                     uint64_t first);

/* nay__band_eliminate: nay__band_bump in portable C, for any keys (elimination.c). */
void nay__band_eliminate(nay_band_part *p);

/* nay__band_substitute_open: before the first call of nay__band_substitute (substitution.c). */
void nay__band_substitute_open(const nay_band_part *p, unsigned ncolumns);

/* nay__band_substitute: the 128 slots of a block, from those of the next one, which columns and
 * p->sweep have: call it from the last block to the first. */
void nay__band_substitute(const nay_band_part *p, uint32_t block, unsigned ncolumns,
                          nay_band_columns *columns);

/* ---- building (burr.c) ---- */

/* nay__burr_begin: a payload without keys. number: of the seed of all layers but the last. */
void nay__burr_begin(const nay_burr *b, uint32_t premix, unsigned number);

/*
 * nay__burr_fill_part: n keys of one part of a layer that is not the last. p->bumped are those that
 * are left, with their values, for the next layer under nay__burr_next. Threads may fill different
 * parts at once.
 */
void nay__burr_fill_part(const nay_kernels *kernels, const nay_burr *b, const nay_burr_layer *l,
                         uint64_t part, const uint64_t *x, const uint64_t *values, size_t n,
                         uint8_t *scratch, nay_band_part *p);

/* nay__burr_fill_last: false: the keys depend on each other with this seed. */
bool nay__burr_fill_last(const nay_kernels *kernels, const nay_burr *b, unsigned number,
                         const uint64_t *x, const uint64_t *values, size_t n, uint8_t *scratch);

/* nay__burr_give_up: every probe reaches the last layer, which has no slots. */
void nay__burr_give_up(const nay_burr *b);

#endif /* NAY_BURR_H */
