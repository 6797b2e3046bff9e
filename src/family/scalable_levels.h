/*
 * scalable_levels.h - the header, the rows and the levels of a scalable filter: see the head of
 * scalable.c, the only file that includes this.
 */
#ifndef NAY_SCALABLE_LEVELS_H
#define NAY_SCALABLE_LEVELS_H

#include "base/bytes.h"
#include "base/trace.h"
#include "family/family.h"
#include "math/series.h"

#define NAY_SCALABLE_HEADER 64u
#define NAY_SCALABLE_ROW 40u

/* Header fields; the rest is zero. */
enum {
  NAY_SCALABLE_AT_NLEVELS = 0,     /* u32 */
  NAY_SCALABLE_AT_FINISHED = 4,    /* u32: 1 when folded */
  NAY_SCALABLE_AT_NGROWN = 8,      /* u64: levels made so far, the index of the next share */
  NAY_SCALABLE_AT_MAX_NBYTES = 16, /* u64: 0 is no limit */
  NAY_SCALABLE_AT_LIMIT = 24,      /* double: the sum of the FPRs of everything that was joined */
  NAY_SCALABLE_AT_END = 32,
};

/* Fields of a row. */
enum {
  NAY_SCALABLE_ROW_NBLOCKS = 0,
  NAY_SCALABLE_ROW_NKEYS = 8,
  NAY_SCALABLE_ROW_NSET = 16,
  NAY_SCALABLE_ROW_FULL = 24,
  NAY_SCALABLE_ROW_K = 32,
  NAY_SCALABLE_ROW_ZERO = 36
};

/* ---- numbers in bytes ---- */

/* The FPR as the header of the file has it: an IEEE single, rounded down. */
static inline uint32_t nay__scalable_rate_bits(double fpr) {
  float single = (float)fpr;
  uint32_t bits;
  memcpy(&bits, &single, sizeof bits);
  return (double)single > fpr ? bits - 1 : bits;
}

static inline double nay__scalable_rate(const nay_shape *shape) {
  float single;
  memcpy(&single, &shape->extra, sizeof single);
  return (double)single;
}

static inline double nay__scalable_load_double(const uint8_t *p) {
  uint64_t bits = nay__load64le(p);
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static inline void nay__scalable_store_double(uint8_t *p, double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  nay__store64le(p, bits);
}

/* ---- levels ---- */

static inline uint32_t nay__scalable_nlevels(const uint8_t *payload) {
  return nay__load32le(payload + NAY_SCALABLE_AT_NLEVELS);
}

static inline uint8_t *nay__scalable_row(uint8_t *payload, uint32_t level) {
  return payload + NAY_SCALABLE_HEADER + (size_t)level * NAY_SCALABLE_ROW;
}

static inline uint64_t nay__scalable_levels_at(uint32_t nlevels) {
  return nay__round_up(NAY_SCALABLE_HEADER + (uint64_t)nlevels * NAY_SCALABLE_ROW, NAY_CACHE_LINE);
}

static inline uint64_t nay__scalable_level_bytes(const uint8_t *row) {
  return nay__load64le(row + NAY_SCALABLE_ROW_NBLOCKS) * NAY_BLOCK_BYTES;
}

static inline void nay__scalable_put_row(uint8_t *row, const nay_level *level) {
  nay__store64le(row + NAY_SCALABLE_ROW_NBLOCKS, level->nblocks);
  nay__store64le(row + NAY_SCALABLE_ROW_NKEYS, level->nkeys);
  nay__store64le(row + NAY_SCALABLE_ROW_NSET, 0);
  nay__store64le(row + NAY_SCALABLE_ROW_FULL, level->nbits_full);
  nay__store32le(row + NAY_SCALABLE_ROW_K, level->k);
}

/* A walk over the levels from the last, which ends the payload, to the first. */
typedef struct nay_scalable_walk {
  uint8_t *payload;
  uint32_t left;  /* levels before the current one */
  uint8_t *row;   /* of the current level */
  nay_bits level; /* the current level, as the kernels see it */
} nay_scalable_walk;

static inline nay_scalable_walk nay__scalable_begin(const nay_filter *f) {
  uint8_t *payload = f->bits.bytes;
  return (nay_scalable_walk){
      payload, nay__scalable_nlevels(payload), NULL, {.bytes = payload + f->nbytes}};
}

NAY_INLINE bool nay__scalable_next(nay_scalable_walk *w) {
  if (w->left == 0) return false;
  w->left--;
  w->row = nay__scalable_row(w->payload, w->left);
  w->level.nunits = nay__load64le(w->row + NAY_SCALABLE_ROW_NBLOCKS);
  w->level.k = nay__load32le(w->row + NAY_SCALABLE_ROW_K);
  w->level.bytes -= w->level.nunits * NAY_BLOCK_BYTES;
  return true;
}

/* ---- trace ---- */

#ifdef NAY_WITH_TRACE
/* nay__scalable_trace: the bits that a key sets in the level of the walk. */
static inline void nay__scalable_trace(const nay_scalable_walk *w, uint64_t hash) {
  uint64_t block = nay__reduce(hash, w->level.nunits);
  uint32_t x = (uint32_t)hash;
  for (uint32_t i = 0; i < w->level.k; i++, x *= NAY_G32) {
    unsigned bit = x >> NAY_BLOCK_BIT_SHIFT;
    const uint8_t *byte = w->level.bytes + block * NAY_BLOCK_BYTES + bit / 8;
    NAY_TRACE(BLOCK_BIT, w->left, i, block, bit, ~*byte >> bit % 8 & 1, 0);
  }
}
#define NAY_SCALABLE_TRACE(w, hash) nay__scalable_trace(w, hash)
#else
#define NAY_SCALABLE_TRACE(w, hash) ((void)0)
#endif

#endif /* NAY_SCALABLE_LEVELS_H */
