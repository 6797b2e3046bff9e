/*
 * ribbon.h - the bytes of a ribbon filter, and what it makes of a key. ribbon.c probes them,
 * banding.c fills them.
 *
 *   0     u64 premix
 *   8     for each shard: u32 first block, u32 seed
 *   ...   once more: u32 the end of the last shard's blocks, u32 number of blocks in all
 *   ...   the blocks
 *
 * A block is 128 slots. It is stored by columns, 16 bytes each: bit i of column c is bit c of slot
 * i. The first U blocks have r - 1 columns, the others r. So block b begins at column
 * b * r - min(b, U), and the number of columns in all, which the header has, tells U.
 */
#ifndef NAY_RIBBON_H
#define NAY_RIBBON_H

#include "base/bytes.h"
#include "family/family.h"
#include "family/static_hash.h"

#define NAY_RIBBON_WIDTH 128u
#define NAY_RIBBON_COLUMN 16u /* bytes */
#define NAY_RIBBON_MAX_COLUMNS 32u
#define NAY_RIBBON_HEADER 8u
#define NAY_RIBBON_ENTRY 8u
#define NAY_RIBBON_HOMOGENEOUS 0x80000000u /* in a seed: all results of the shard are 0 */

/* nay_ribbon: a ribbon filter, unpacked. */
typedef struct nay_ribbon {
  uint64_t nshards;
  uint64_t short_blocks; /* U: blocks with a column less */
  unsigned columns;      /* r */
} nay_ribbon;

/* nay_ribbon_row: the equation of a key: the xor of the slots in `lo, hi` after `start` is
 * fingerprint.
 */
typedef struct nay_ribbon_row {
  uint64_t lo, hi;      /* bit 0 of lo is always set */
  uint64_t fingerprint; /* bit nay__ribbon_fingerprint_bit(c) is for column c */
  uint32_t start;       /* slot, from the first of the shard */
} nay_ribbon_row;

/* nay_ribbon_shard: one entry of the directory. */
typedef struct nay_ribbon_shard {
  uint32_t first; /* block */
  uint32_t nblocks;
  uint32_t seed;
} nay_ribbon_shard;

NAY_INLINE uint64_t nay__ribbon_blocks_at(uint64_t nshards) {
  return NAY_RIBBON_HEADER + (nshards + 1) * NAY_RIBBON_ENTRY;
}

NAY_INLINE nay_ribbon_shard nay__ribbon_shard_at(const uint8_t *bytes, uint64_t shard) {
  const uint8_t *entry = bytes + NAY_RIBBON_HEADER + shard * NAY_RIBBON_ENTRY;
  uint32_t first = nay__load32le(entry);
  return (nay_ribbon_shard){first, nay__load32le(entry + NAY_RIBBON_ENTRY) - first,
                            nay__load32le(entry + 4)};
}

NAY_INLINE nay_ribbon nay__ribbon_open(const nay_bits *b) {
  nay_ribbon r = {.nshards = b->extra, .columns = b->k};
  uint64_t nblocks = nay__load32le(b->bytes + NAY_RIBBON_HEADER + r.nshards * NAY_RIBBON_ENTRY + 4);
  r.short_blocks = nblocks * r.columns - b->nunits;
  return r;
}

/* nay__ribbon_column_of: the first column of a block. */
NAY_INLINE uint64_t nay__ribbon_column_of(const nay_ribbon *r, uint64_t block) {
  return block * r->columns - (block < r->short_blocks ? block : r->short_blocks);
}

/* nay__ribbon_fingerprint_bit: four columns are compared together, each in a quarter of a word. */
NAY_INLINE unsigned nay__ribbon_fingerprint_bit(unsigned column) {
  return column % 4 * 16 + column / 4;
}

NAY_INLINE nay_ribbon_row nay__ribbon_row_of(uint64_t x, const nay_ribbon_shard *s) {
  uint64_t m = nay__remix(x, s->seed), lo, hi = nay__mul128(m, NAY_RIBBON_ROW, &lo);
  uint64_t fingerprint = nay__fingerprint_of(m);
  fingerprint ^= fingerprint >> 32; /* the low bits of a product are poor */
  uint32_t starts = s->nblocks * NAY_RIBBON_WIDTH - (NAY_RIBBON_WIDTH - 1);
  return (nay_ribbon_row){lo | 1, hi, (s->seed & NAY_RIBBON_HOMOGENEOUS) != 0 ? 0 : fingerprint,
                          (uint32_t)((uint64_t)(uint32_t)m * starts >> 32)};
}

extern const nay_solver nay__band_solver;

/* nay__ribbon_demand: blocks that n keys of one shard should have. */
uint64_t nay__ribbon_demand(uint64_t n);

/* nay_ribbon_dims: shards and blocks for n keys. */
typedef struct nay_ribbon_dims {
  uint64_t nshards, nblocks;
} nay_ribbon_dims;

nay_ribbon_dims nay__ribbon_dims(uint64_t nkeys);

/* nay__ribbon_bloom: the bits of a filter that is a Bloom filter because it is small (extra is 0).
 */
NAY_INLINE nay_bits nay__ribbon_bloom(const nay_filter *f) {
  nay_bits bits = f->bits;
  bits.bytes += NAY_RIBBON_HEADER;
  bits.nunits *= 64;
  return bits;
}

/* nay__ribbon_explain: the verb of the family. */
void nay__ribbon_explain(const nay_filter *f, nay_hash hash, struct nay_explain_run *run);

/* nay__ribbon_test_premixed: up to 64 keys. */
uint64_t nay__ribbon_test_premixed(const nay_filter *f, const uint64_t *x, unsigned n);

#endif /* NAY_RIBBON_H */
