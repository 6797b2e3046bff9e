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
 * keys alone: the order within a class is free, and cpu/banding_avx512.c eliminates in another one.
 *
 * Back substitution computes the slots from the last to the first. The columns of the result do not
 * depend on each other, so each has a register with its last 128 slots, shifted by one for each
 * row; every 128 rows the registers are a block as it is stored. Slots of empty rows are 0.
 *
 * Papers: burr.c.
 */
#include "family/burr.h"

#define BAND_CLASSES 3u

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

/* ---- elimination ---- */

/* An equation on its way down the band. */
typedef struct band_lane {
  uint64_t lo, hi, fingerprint;
  nay_band_row *row;
} band_lane;

enum { BAND_GOES_ON, BAND_PLACED, BAND_DEPENDS };

NAY_INLINE band_lane band_start(const nay_band_part *p, uint64_t starts, size_t key) {
  nay_burr_row r = nay__burr_row_of(p->keys[key], p->seed, starts);
  return (band_lane){r.lo, r.hi, p->values != NULL ? p->values[key] : r.fingerprint,
                     p->rows + r.start};
}

/* One step: into the row if it is empty, else on to the next slot of the sum. */
NAY_INLINE int band_step(band_lane *l) {
  nay_band_row *row = l->row;
  if (row->lo == 0) {
    *row = (nay_band_row){l->lo, l->hi, l->fingerprint};
    return BAND_PLACED;
  }
  uint64_t lo = l->lo ^ row->lo, hi = l->hi ^ row->hi;
  l->fingerprint ^= row->fingerprint;
  if (NAY_UNLIKELY(lo == 0)) {
    if (hi == 0) return BAND_DEPENDS;
    row += 64;
    lo = hi;
    hi = 0;
  }
  unsigned zeros = nay__ctz64(lo);
  l->row = row + zeros;
  l->lo = lo >> zeros | (hi << 1) << (63 - zeros);
  l->hi = hi >> zeros;
  return BAND_GOES_ON;
}

/* The rows that a class has taken: numbers, in the part of bumped[] that is not in use yet. */
typedef struct band_taken {
  uint32_t *rows;
  size_t n;
} band_taken;

static void band_take(const nay_band_part *p, const band_lane *l, band_taken *taken) {
  taken->rows[taken->n++] = (uint32_t)(l->row - p->rows);
}

/*
 * Places keys [from, to). False: one depends on others. A step waits for the one before it, so two
 * keys go down at once; where their ways meet, any order of steps is as good as another.
 */
static bool band_place(const nay_band_part *p, size_t from, size_t to, band_taken *taken) {
  uint64_t starts = nay__burr_starts(p->nblocks);
  band_lane lanes[2];
  unsigned busy = 0;
  for (; busy < 2 && from < to; busy++) lanes[busy] = band_start(p, starts, from++);
  while (busy == 2) {
    for (unsigned i = 0; i < 2; i++) {
      int step = band_step(&lanes[i]);
      if (NAY_LIKELY(step == BAND_GOES_ON)) continue;
      if (step == BAND_DEPENDS) return false;
      band_take(p, &lanes[i], taken);
      if (from < to) {
        lanes[i] = band_start(p, starts, from++);
      } else {
        lanes[0] = lanes[1 - i];
        busy = 1;
        break;
      }
    }
  }
  if (busy == 0) return true;
  int step = BAND_GOES_ON;
  while (step == BAND_GOES_ON) step = band_step(&lanes[0]);
  if (step == BAND_DEPENDS) return false;
  band_take(p, &lanes[0], taken);
  return true;
}

static void band_bump_keys(nay_band_part *p, size_t from, size_t to) {
  size_t n = to - from;
  memcpy(p->bumped + p->nbumped, p->keys + from, n * sizeof *p->keys);
  if (p->values != NULL) {
    memcpy(p->bumped_values + p->nbumped, p->values + from, n * sizeof *p->values);
  }
  p->nbumped += n;
}

/* The first key that begins at a slot of the bucket, or after it. */
static size_t band_first_key(const nay_band_part *p, size_t bucket, unsigned slot) {
  size_t panel = (bucket * NAY_RIBBON_BUCKET + slot) / NAY_BAND_PANEL;
  panel = (size_t)nay__min_u64(panel, band_npanels(p->nblocks));
  return panel == 0 ? 0 : p->ends[panel - 1];
}

static void band_bucket(nay_band_part *p, size_t bucket) {
  size_t first = band_first_key(p, bucket, 0), end = band_first_key(p, bucket, NAY_RIBBON_BUCKET);
  p->codes[bucket] = 0;
  for (unsigned code = BAND_CLASSES; code > 0; code--) { /* that bumps the class and what follows */
    unsigned slot = (unsigned)(NAY_RIBBON_LIMITS >> (16 * (code - 1))) & 0xffff;
    size_t from = band_first_key(p, bucket, slot);
    band_taken taken = {(uint32_t *)(void *)(p->bumped + p->nbumped), 0};
    if (!band_place(p, from, end, &taken)) {
      while (taken.n-- > 0) p->rows[taken.rows[taken.n]] = (nay_band_row){0, 0, 0};
      band_bump_keys(p, first, end);
      p->codes[bucket] = (uint8_t)code;
      return;
    }
    end = from;
  }
}

void nay__band_bump(const nay_kernels *kernels, nay_band_part *p) {
  p->nbumped = 0;
  if (kernels->banding != NULL && kernels->banding->bump(p)) return;
  memset(p->rows, 0, band_rows_bytes(p->nblocks));
  for (uint32_t bucket = 0; bucket < p->nbuckets; bucket++) band_bucket(p, bucket);
}

/* ---- back substitution ---- */

/* All columns of one slot. */
NAY_INLINE void band_substitute(const nay_band_row *row, bool popcnt, nay_band_columns *columns,
                                unsigned ncolumns) {
  for (unsigned c = 0; c < ncolumns; c++) {
    uint64_t lo = columns->lo[c], hi = columns->hi[c];
    hi = hi << 1 | lo >> 63;
    lo <<= 1;
    uint64_t bit = row->fingerprint >> nay__burr_bit(c), x = (lo & row->lo) ^ (hi & row->hi);
    bit ^= popcnt ? nay__popcount64(x) : nay__parity64(x);
    columns->lo[c] = lo | (bit & 1);
    columns->hi[c] = hi;
  }
}

static void band_store(const nay_burr *b, uint64_t block, const nay_band_columns *columns) {
  uint8_t *to = b->bytes + nay__burr_column_of(b, block) * NAY_BURR_COLUMN;
  unsigned n = b->columns - (block < b->short_blocks);
  for (unsigned c = 0; c < n; c++, to += NAY_BURR_COLUMN) {
    nay__store64le(to, columns->lo[c]);
    nay__store64le(to + 8, columns->hi[c]);
  }
}

NAY_INLINE void band_solve(const nay_band_part *p, const nay_burr *b, uint64_t first, bool popcnt) {
  nay_band_columns columns = {{0}, {0}};
  for (uint32_t i = p->nblocks * NAY_RIBBON_WIDTH; i-- > 0;) {
    band_substitute(&p->rows[i], popcnt, &columns, b->columns);
    if (i % NAY_RIBBON_WIDTH == 0) band_store(b, first + i / NAY_RIBBON_WIDTH, &columns);
  }
}

NAY_BMI2 static void band_solve_popcnt(const nay_band_part *p, const nay_burr *b, uint64_t first) {
  band_solve(p, b, first, true);
}

/* The same, block by block. */
static void band_solve_vectors(const nay_kernels *kernels, const nay_band_part *p,
                               const nay_burr *b, uint64_t first) {
  nay_band_columns columns = {{0}, {0}};
  for (uint32_t block = p->nblocks; block-- > 0;) {
    for (unsigned part = 0; part < (b->columns + 7) / 8; part++) {
      kernels->banding->back_substitute(p->rows + (size_t)block * NAY_RIBBON_WIDTH, part, &columns);
    }
    band_store(b, first + block, &columns);
  }
}

void nay__band_solve(const nay_kernels *kernels, const nay_band_part *p, const nay_burr *b,
                     uint64_t first) {
  if (kernels->banding != NULL) {
    band_solve_vectors(kernels, p, b, first);
  } else if (kernels->bmi2) {
    band_solve_popcnt(p, b, first);
  } else {
    band_solve(p, b, first, false);
  }
}
