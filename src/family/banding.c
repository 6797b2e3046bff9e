/*
 * banding.c - solves the equations of one part of a layer (burr.h).
 *
 * A key uses some of 128 neighbouring slots, so the equations, sorted by their first slot, are a
 * band. Gaussian elimination needs no search: an equation goes to the row of its first slot; if
 * that row is taken, the two are added, which removes the first slot, and the sum goes on to the
 * row of its next one:
 *
 *      slot  0 1 2 3 4 5 6 7 8 9 ...
 *      row 0 1 0 1 1 0 1
 *      row 1   1 1 0 0 1 0           each row begins with a 1 on the diagonal, or is empty
 *      row 3       1 0 1 1 0 1
 *
 * A sum that vanishes means that the equation depends on others.
 *
 * Bumping. Buckets are taken in order. The keys of a bucket belong to three classes by their first
 * slot:
 *
 *      slot of the bucket   0 ..... 32 ......... 88 ................................ 512
 *      class                |   2    |      1     |                0                   |
 *
 * Class 0 enters the band first. It stays if its equations depend neither on each other nor on the
 * rows that are there; then class 1 follows, then class 2. The first class that does not stay is
 * taken out again, and it and the classes after it are bumped; the code of the bucket says which.
 * To take a class out, its rows are cleared: no other row contains them yet. Whether an equation
 * depends on a set of others does not depend on their order, so the outcome depends on the set of
 * keys alone: the order within a class is free. elimination.c and cpu/banding_avx512.c take the
 * slots from left to right instead, with all equations that have begun.
 *
 * Back substitution computes the slots from the last to the first. The columns of the result do not
 * depend on each other, so none has to wait for another, and every 128 rows are a block as it is
 * stored (substitution.c). Slots of empty rows are 0.
 *
 * Papers: burr.c.
 */
#include "base/trace.h"
#include "family/burr.h"

/* ---- scratch ---- */

static size_t band_rows_bytes(uint32_t nblocks) {
  return (size_t)nblocks * NAY_RIBBON_WIDTH * sizeof(nay_band_row);
}

static size_t band_npanels(uint32_t nblocks) {
  return (size_t)nblocks * (NAY_RIBBON_WIDTH / NAY_BAND_PANEL);
}

static size_t band_keys_bytes(size_t nkeys) { return (nkeys + NAY_BAND_PADDING) * 8; }

static uint32_t band_nbuckets(uint32_t nblocks) {
  return (nblocks + NAY_BURR_BUCKET_BLOCKS - 1) / NAY_BURR_BUCKET_BLOCKS;
}

size_t nay__band_bytes(uint32_t nblocks, size_t nkeys, bool values) {
  size_t bytes = NAY_BAND_SWEEP_BYTES + band_rows_bytes(nblocks);
  bytes += (values ? 4 : 2) * band_keys_bytes(nkeys);
  bytes += band_npanels(nblocks) * sizeof(uint32_t) + band_nbuckets(nblocks);
  return (size_t)nay__round_up(bytes, NAY_CACHE_LINE);
}

void nay__band_open(nay_band_part *p, uint32_t nblocks, size_t nkeys, bool values,
                    uint8_t *scratch) {
  *p = (nay_band_part){
      .nblocks = nblocks, .nbuckets = band_nbuckets(nblocks), .nkeys = nkeys, .sweep = scratch};
  scratch += NAY_BAND_SWEEP_BYTES;
  p->rows = (nay_band_row *)(void *)scratch;
  scratch += band_rows_bytes(nblocks);
  uint64_t **lists[4] = {&p->keys, &p->bumped, &p->values, &p->bumped_values};
  for (unsigned i = 0; i < (values ? 4 : 2); i++, scratch += band_keys_bytes(nkeys)) {
    *lists[i] = (uint64_t *)(void *)scratch;
  }
  p->ends = (uint32_t *)(void *)scratch;
  p->codes = scratch + band_npanels(nblocks) * sizeof(uint32_t);
}

void nay__band_sort(nay_band_part *p, const uint64_t *x, const uint64_t *values) {
  uint64_t starts = nay__burr_starts(p->nblocks);
  size_t npanels = band_npanels(p->nblocks);
  uint32_t sum = 0, seed = p->seed;
  memset(p->ends, 0, npanels * sizeof *p->ends);
  for (size_t i = 0; i < p->nkeys; i++) {
    p->ends[nay__burr_row_of(x[i], seed, starts).start / NAY_BAND_PANEL]++;
  }
  for (size_t i = 0; i < npanels; i++) {
    uint32_t count = p->ends[i];
    p->ends[i] = sum; /* where its keys begin, until all of them are there */
    sum += count;
  }
  for (size_t i = 0; i < p->nkeys; i++) {
    uint32_t to = p->ends[nay__burr_row_of(x[i], seed, starts).start / NAY_BAND_PANEL]++;
    p->keys[to] = x[i];
    if (values != NULL) p->values[to] = values[i];
  }
}

/* ---- elimination and back substitution ---- */

void nay__band_bump(const nay_kernels *kernels, nay_band_part *p) {
  p->nbumped = 0;
  if (kernels->banding == NULL || !kernels->banding->bump(p)) nay__band_eliminate(p);
}

static void band_store(const nay_burr *b, uint64_t block, const nay_band_columns *columns) {
  uint8_t *to = b->bytes + nay__burr_column_of(b, block) * NAY_BURR_COLUMN;
  unsigned n = b->columns - (block < b->short_blocks);
  for (unsigned c = 0; c < n; c++, to += NAY_BURR_COLUMN) {
    nay__store64le(to, columns->lo[c]);
    nay__store64le(to + 8, columns->hi[c]);
    NAY_TRACE(BAND_COLUMN, 0, 0, block, c, columns->lo[c], columns->hi[c]);
  }
}

static void band_substitute_vectors(const nay_kernels *kernels, const nay_band_part *p,
                                    uint32_t block, unsigned ncolumns, nay_band_columns *columns) {
  const nay_band_row *rows = p->rows + (size_t)block * NAY_RIBBON_WIDTH;
  for (unsigned part = 0; part < (ncolumns + 7) / 8; part++) {
    kernels->banding->back_substitute(rows, part, columns);
  }
}

void nay__band_solve(const nay_kernels *kernels, const nay_band_part *p, const nay_burr *b,
                     uint64_t first) {
  nay_band_columns columns = {{0}, {0}};
  if (kernels->banding == NULL) nay__band_substitute_open(p, b->columns);
  for (uint32_t block = p->nblocks; block-- > 0;) {
    if (kernels->banding != NULL) {
      band_substitute_vectors(kernels, p, block, b->columns, &columns);
    } else {
      nay__band_substitute(p, block, b->columns, &columns);
    }
    band_store(b, first + block, &columns);
  }
}
