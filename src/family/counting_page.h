/*
 * counting_page.h - the counters of a counting filter: pages, groups, records. The layout and the
 * reasons for it are at the head of counting.c; counting_plan.c chooses the sizes.
 */
#ifndef NAY_COUNTING_PAGE_H
#define NAY_COUNTING_PAGE_H

#include "base/bits.h"
#include "base/bytes.h"
#include "family/family.h"

#define NAY_COUNTING_PAGE \
  512u /* blocks; larger pages save a percent of pool and move more memory */
#define NAY_COUNTING_GROUPS 8u /* of a block */
#define NAY_COUNTING_RECORD 32u
#define NAY_COUNTING_STUCK 15u

/* shape.extra: the mode, and from bit 1 on the spare records for each block */
#define NAY_COUNTING_UNIQUE 1u
#define NAY_COUNTING_MAX_SPARE 8u

/* ---- where things are ---- */

typedef struct nay_counting_table {
  uint8_t *plane;
  uint8_t *pages;
  uint64_t nblocks;
  uint32_t spare; /* records for each block */
} nay_counting_table;

typedef struct nay_counting_page {
  uint8_t *words, *flags, *ranks, *pool;
  unsigned nblocks, nrows;
  uint32_t nrecords;
} nay_counting_page;

/*
 * Records of a page: one for each 64 groups, and 28, because small pages vary more; and the spare
 * ones. Of the 4096 groups of a page in a filter as full as planned, up to 12 are above 64, and 92
 * have a record.
 */
NAY_INLINE uint32_t nay__counting_nrecords(unsigned nblocks, uint32_t spare) {
  uint32_t wanted = nblocks / 8 + 28 + spare * nblocks, most = nblocks * NAY_COUNTING_GROUPS;
  return wanted < most ? wanted : most;
}

static inline nay_counting_table nay__counting_open(uint8_t *payload, const nay_shape *shape) {
  return (nay_counting_table){payload, payload + shape->nunits * NAY_BLOCK_BYTES, shape->nunits,
                              shape->extra >> 1};
}

static inline nay_counting_table nay__counting_of(const nay_filter *f) {
  return nay__counting_open(f->bits.bytes, &f->shape);
}

static inline unsigned nay__counting_rows(unsigned nblocks) { return (nblocks + 7) / 8; }

/* Words, flags (8 bytes a row), pool, ranks (2 bytes a row and the total); to a cache line. */
NAY_INLINE uint64_t nay__counting_page_size(unsigned nblocks, uint32_t spare) {
  unsigned nrows = nay__counting_rows(nblocks);
  uint32_t nrecords = nay__counting_nrecords(nblocks, spare);
  return (uint64_t)nblocks * NAY_BLOCK_BYTES +
         nay__round_up(
             (uint64_t)nrows * 8 + (nrows + 1) * 2 + (uint64_t)nrecords * NAY_COUNTING_RECORD,
             NAY_CACHE_LINE);
}

NAY_INLINE nay_counting_page nay__counting_page_at(const nay_counting_table *t, uint64_t page) {
  uint64_t left = t->nblocks - page * NAY_COUNTING_PAGE;
  nay_counting_page p = {.nblocks = left < NAY_COUNTING_PAGE ? (unsigned)left : NAY_COUNTING_PAGE};
  p.nrecords = nay__counting_nrecords(p.nblocks, t->spare);
  p.nrows = nay__counting_rows(p.nblocks);
  p.words = t->pages + page * nay__counting_page_size(NAY_COUNTING_PAGE, t->spare);
  p.flags = p.words + (size_t)p.nblocks * NAY_BLOCK_BYTES;
  p.pool = p.flags + (size_t)p.nrows * 8;
  p.ranks = p.pool + (size_t)p.nrecords * NAY_COUNTING_RECORD;
  return p;
}

static inline uint64_t nay__counting_npages(uint64_t nblocks) {
  return nay__ceil_div(nblocks, NAY_COUNTING_PAGE);
}

/* ---- one group ---- */

/* A group at its place: `at` points to its plane word; row and bit to its flag. */
typedef struct nay_counting_group {
  uint8_t *plane, *word;
  unsigned row, bit;
} nay_counting_group;

NAY_INLINE nay_counting_group nay__counting_group_at(const nay_counting_table *t,
                                                     const nay_counting_page *p, uint64_t block,
                                                     unsigned group) {
  unsigned in_page = (unsigned)(block % NAY_COUNTING_PAGE);
  return (nay_counting_group){t->plane + block * NAY_BLOCK_BYTES + group * 8,
                              p->words + (size_t)in_page * NAY_BLOCK_BYTES + group * 8, in_page / 8,
                              in_page % 8 * NAY_COUNTING_GROUPS + group};
}

NAY_INLINE bool nay__counting_flagged(const nay_counting_page *p, const nay_counting_group *g) {
  return (nay__load64le(p->flags + g->row * 8) >> g->bit & 1) != 0;
}

static inline unsigned nay__counting_rank(const nay_counting_page *p, unsigned row) {
  return nay__load16le(p->ranks + row * 2);
}

static inline uint8_t *nay__counting_record(const nay_counting_page *p,
                                            const nay_counting_group *g) {
  uint64_t below = nay__load64le(p->flags + g->row * 8) & (((uint64_t)1 << g->bit) - 1);
  return p->pool +
         (size_t)(nay__counting_rank(p, g->row) + nay__popcount64(below)) * NAY_COUNTING_RECORD;
}

/* Sets or clears a flag and keeps the ranks of the rows after it. */
static inline void nay__counting_flip_flag(const nay_counting_page *p, const nay_counting_group *g,
                                           int change) {
  uint8_t *flags = p->flags + g->row * 8;
  nay__store64le(flags, nay__load64le(flags) ^ (uint64_t)1 << g->bit);
  for (unsigned row = g->row + 1; row <= p->nrows; row++) {
    nay__store16le(p->ranks + row * 2, (uint16_t)((int)nay__counting_rank(p, row) + change));
  }
}

/* A zeroed record for the group at its sorted place; NULL when the pool is full. */
static inline uint8_t *nay__counting_record_insert(const nay_counting_page *p,
                                                   const nay_counting_group *g) {
  unsigned used = nay__counting_rank(p, p->nrows);
  if (used == p->nrecords) return NULL;
  uint8_t *record = nay__counting_record(p, g), *end = p->pool + (size_t)used * NAY_COUNTING_RECORD;
  memmove(record + NAY_COUNTING_RECORD, record, (size_t)(end - record));
  memset(record, 0, NAY_COUNTING_RECORD);
  nay__counting_flip_flag(p, g, 1);
  return record;
}

static inline void nay__counting_record_delete(const nay_counting_page *p,
                                               const nay_counting_group *g) {
  unsigned used = nay__counting_rank(p, p->nrows);
  uint8_t *record = nay__counting_record(p, g), *end = p->pool + (size_t)used * NAY_COUNTING_RECORD;
  memmove(record, record + NAY_COUNTING_RECORD, (size_t)(end - record) - NAY_COUNTING_RECORD);
  memset(end - NAY_COUNTING_RECORD, 0, NAY_COUNTING_RECORD);
  nay__counting_flip_flag(p, g, -1);
}

static inline unsigned nay__counting_nibble(const uint8_t *record, unsigned bit) {
  return record[bit / 2] >> (bit % 2 * 4) & 15;
}

static inline void nay__counting_set_nibble(uint8_t *record, unsigned bit, unsigned value) {
  unsigned shift = bit % 2 * 4;
  record[bit / 2] = (uint8_t)((record[bit / 2] & ~(15u << shift)) | value << shift);
}

static inline unsigned nay__counting_total(const uint8_t *record) {
  unsigned total = 0;
  for (unsigned i = 0; i < NAY_COUNTING_RECORD; i++) total += (record[i] & 15u) + (record[i] >> 4);
  return total;
}

/* The counters of a group, all 64; false when it is stuck. */
static inline bool nay__counting_get(const nay_counting_page *p, const nay_counting_group *g,
                                     uint8_t counts[64]) {
  uint64_t plane = nay__load64le(g->plane), word = nay__load64le(g->word);
  memset(counts, 0, 64);
  if (nay__counting_flagged(p, g)) {
    const uint8_t *record = nay__counting_record(p, g);
    for (unsigned bit = 0; bit < 64; bit++)
      counts[bit] = (uint8_t)nay__counting_nibble(record, bit);
    return true;
  }
  if (word == 0) return plane == 0;
  for (; plane != 0 && word != 0; plane &= plane - 1) {
    unsigned zeros = nay__ctz64(word);
    counts[nay__ctz64(plane)] = (uint8_t)(zeros + 1);
    word = zeros == 63 ? 0 : word >> (zeros + 1);
  }
  return true;
}

static inline uint64_t nay__counting_unary(const uint8_t counts[64]) {
  uint64_t word = 0;
  unsigned at = 0;
  for (unsigned bit = 0; bit < 64; bit++) {
    if (counts[bit] == 0) continue;
    at += counts[bit];
    word |= (uint64_t)1 << (at - 1);
  }
  return word;
}

/* Writes counters into a group, wherever they were; it sticks when there is no room. */
static inline void nay__counting_put(const nay_counting_page *p, const nay_counting_group *g,
                                     const uint8_t counts[64]) {
  unsigned total = 0;
  bool flagged = nay__counting_flagged(p, g);
  for (unsigned bit = 0; bit < 64; bit++) total += counts[bit];
  nay__store64le(g->word, total <= 64 ? nay__counting_unary(counts) : 0);
  if (total <= 64) {
    if (flagged) nay__counting_record_delete(p, g);
    return;
  }
  uint8_t *record = flagged ? nay__counting_record(p, g) : nay__counting_record_insert(p, g);
  for (unsigned bit = 0; record != NULL && bit < 64; bit++) {
    nay__counting_set_nibble(record, bit, counts[bit]);
  }
}

/*
 * Adds 1 to the counters of mask, or takes it off, whatever the group is like. Returns whether one
 * of the bits was clear.
 */
static inline bool nay__counting_group_change(const nay_counting_page *p,
                                              const nay_counting_group *g, uint64_t mask,
                                              int change) {
  uint8_t counts[64];
  uint64_t before = nay__load64le(g->plane), after = change > 0 ? before | mask : before;
  if (nay__counting_get(p, g, counts)) {
    for (uint64_t rest = mask; rest != 0; rest &= rest - 1) {
      unsigned bit = nay__ctz64(rest);
      if (counts[bit] == NAY_COUNTING_STUCK) continue;
      counts[bit] = (uint8_t)(counts[bit] + change);
      if (counts[bit] == 0) after &= ~((uint64_t)1 << bit);
    }
    nay__counting_put(p, g, counts);
  }
  nay__shared_store64le(g->plane, after); /* readers take no lock */
  return (mask & ~before) != 0;
}

/* ---- sizes: counting_plan.c ---- */

nay_status nay__counting_plan(const nay_params *params, nay_diag *diag, nay_shape *shape);
bool nay__counting_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes);

#endif /* NAY_COUNTING_PAGE_H */
