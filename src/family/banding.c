/*
 * banding.c - solves the equations of one shard of a ribbon filter.
 *
 * Each key is an equation over 128 neighbouring slots. They are brought, one by one, into a band
 * matrix in echelon form: the equation goes to the row of its first slot; if that row is taken, the
 * two are added, which removes the first slot, and the sum goes on to the row of its next one:
 *
 *      slot  0 1 2 3 4 5 6 7 8 9 ...
 *      row 0 1 0 1 1 0 1
 *      row 1   1 1 0 0 1 0           each row begins with a 1 on the diagonal, or is empty
 *      row 3       1 0 1 1 0 1
 *
 * A sum that vanishes means that the equations depend on each other: another seed. Then the slots
 * are computed from the last to the first. The columns of the result do not know of each other, so
 * each has a register with its last 128 slots, shifted by one for each row; every 128 rows the
 * registers are a block as it is stored.
 *
 * Which rows are taken depends on the set alone, slots of empty rows are 0, and the rest follows:
 * the order of the keys leaves no trace. They are sorted by their first slot, roughly, for the
 * cache and for the CPUs that eliminate eight slots at a time (cpu/banding_avx512.c).
 *
 * Homogeneous [2]: when no seed works, all results are made 0 and the slots of empty rows random.
 * That has always a solution. It would need 1.05 n slots to keep the false-positive rate (FPR), so
 * here it is a last resort that costs the FPR of a shard: 32 seeds fail together once in 10^40
 * shards.
 *
 * [1] Dillinger, Walzer: Ribbon filter: practically smaller than Bloom and xor. 2021.
 * [2] Dillinger, Hübschle-Schneider, Sanders, Walzer: Fast succinct retrieval and approximate
 *     membership using ribbon. SEA 2022.
 */
#include "base/sort.h"
#include "family/ribbon.h"

#define BAND_LANES 2u /* 1: 20% slower, 4: 15% slower, for want of registers */

typedef struct band {
  nay_band_row *rows;
  uint32_t *ends; /* of the keys of each panel */
  uint64_t *keys; /* in the order of their panels */
  uint32_t nslots;
} band;

static size_t band_rows_bytes(uint64_t nblocks) {
  return (size_t)nay__round_up(nblocks * NAY_RIBBON_WIDTH * sizeof(nay_band_row), 64);
}

static size_t band_ends_bytes(uint64_t nblocks) {
  return (size_t)(nblocks * NAY_RIBBON_WIDTH / NAY_BAND_PANEL * sizeof(uint32_t));
}

static size_t band_scratch(const nay_shape *shape, uint64_t n) {
  (void)shape;
  uint64_t nblocks = nay__ribbon_demand(n) + 1; /* band_begin gives a shard one more, at most */
  return band_rows_bytes(nblocks) + band_ends_bytes(nblocks) + (size_t)n * sizeof(uint64_t);
}

static band band_open(const nay_ribbon_shard *s, uint8_t *scratch) {
  uint8_t *ends = scratch + band_rows_bytes(s->nblocks), *keys = ends + band_ends_bytes(s->nblocks);
  return (band){(nay_band_row *)(void *)scratch, (uint32_t *)(void *)ends, (uint64_t *)(void *)keys,
                s->nblocks * NAY_RIBBON_WIDTH};
}

/* ---- elimination ---- */

static void band_sort(const nay_ribbon_shard *s, const uint64_t *x, size_t n, const band *b) {
  uint32_t sum = 0;
  memset(b->ends, 0, band_ends_bytes(s->nblocks));
  for (size_t i = 0; i < n; i++) b->ends[nay__ribbon_row_of(x[i], s).start / NAY_BAND_PANEL]++;
  for (uint32_t i = 0; i < b->nslots / NAY_BAND_PANEL; i++) {
    uint32_t count = b->ends[i];
    b->ends[i] = sum; /* where its keys begin, until all of them are there */
    sum += count;
  }
  for (size_t i = 0; i < n; i++) {
    b->keys[b->ends[nay__ribbon_row_of(x[i], s).start / NAY_BAND_PANEL]++] = x[i];
  }
}

/* A share of the sorted keys, and the equation of one of them on its way down the band. */
typedef struct band_lane {
  const uint64_t *next, *end;
  uint64_t lo, hi, fingerprint;
  nay_band_row *row;
} band_lane;

/* Takes up the next key; false at the end of the share. */
NAY_INLINE bool band_start(const nay_ribbon_shard *s, const band *b, band_lane *l) {
  if (l->next == l->end) return false;
  nay_ribbon_row equation = nay__ribbon_row_of(*l->next++, s);
  l->lo = equation.lo;
  l->hi = equation.hi;
  l->fingerprint = equation.fingerprint;
  l->row = b->rows + equation.start;
  return true;
}

enum { BAND_GOES_ON, BAND_PLACED, BAND_DEPENDS };

/* Goes on to the first slot that is not eliminated. */
NAY_INLINE int band_skip(band_lane *l, nay_band_row *row, uint64_t lo, uint64_t hi) {
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

/* One step: into the row if it is empty, else on to the next one. */
NAY_INLINE int band_step(band_lane *l) {
  nay_band_row *row = l->row;
  if (row->lo == 0) {
    *row = (nay_band_row){l->lo, l->hi, l->fingerprint};
    return BAND_PLACED;
  }
  l->fingerprint ^= row->fingerprint;
  return band_skip(l, row, l->lo ^ row->lo, l->hi ^ row->hi);
}

/* False when an equation depends on others, which in a homogeneous system does no harm. */
NAY_INLINE bool band_advance(const nay_ribbon_shard *s, const band *b, bool homogeneous,
                             band_lane *l, bool *more) {
  int step = band_step(l);
  if (NAY_LIKELY(step == BAND_GOES_ON)) return true;
  if (step == BAND_DEPENDS && !homogeneous) return false;
  *more = band_start(s, b, l);
  return true;
}

/*
 * A step waits for the one before it. So several keys go down at once, from different parts of the
 * band; where their ways meet, any order of steps is as good as another.
 */
static bool band_place(const nay_ribbon_shard *s, const band *b, uint64_t *keys, size_t n,
                       bool homogeneous) {
  band_lane lanes[BAND_LANES];
  bool more = true;
  for (size_t i = 0; i < BAND_LANES; i++) {
    lanes[i].next = keys + n * i / BAND_LANES;
    lanes[i].end = keys + n * (i + 1) / BAND_LANES;
    if (!band_start(s, b, &lanes[i])) lanes[i].row = NULL;
    more = more && lanes[i].row != NULL;
  }
  while (more) {
    for (size_t i = 0; i < BAND_LANES; i++) {
      bool lane_more = true;
      if (!band_advance(s, b, homogeneous, &lanes[i], &lane_more)) return false;
      if (NAY_UNLIKELY(!lane_more)) {
        lanes[i].row = NULL;
        more = false;
      }
    }
  }
  for (size_t i = 0; i < BAND_LANES; i++) { /* one share has ended: the others one by one */
    bool lane_more = lanes[i].row != NULL;
    while (lane_more) {
      if (!band_advance(s, b, homogeneous, &lanes[i], &lane_more)) return false;
    }
  }
  return true;
}

/* Equations that begin anywhere after `row`. */
static bool band_place_pending(const nay_band_pending *p, nay_band_row *row) {
  for (unsigned i = 0; i < p->n; i++) {
    band_lane l = {.fingerprint = p->fingerprint[i]};
    int step = band_skip(&l, row, p->lo[i], p->hi[i]);
    while (step == BAND_GOES_ON) step = band_step(&l);
    if (step == BAND_DEPENDS) return false;
  }
  return true;
}

/* By vectors; the few keys that are left then go down one by one. */
static bool band_sweep(const nay_filter *f, const nay_ribbon_shard *s, const band *b) {
  uint32_t half = b->nslots / NAY_BAND_PANEL / 2, middle = b->ends[half - 1];
  uint32_t starts = b->nslots - (NAY_RIBBON_WIDTH - 1);
  nay_band_half halves[2];
  for (uint32_t i = 0; i < 2; i++) {
    nay_band_half *h = &halves[i];
    h->rows = b->rows + (size_t)i * half * NAY_BAND_PANEL;
    h->ends = b->ends + (size_t)i * half;
    h->keys = b->keys;
    h->next = h->deferred = i == 0 ? 0 : middle;
    h->seed = s->seed;
    h->starts = starts;
    h->ndeferred = 0;
    memset(&h->pending, 0, sizeof h->pending);
  }
  f->kernels->banding->eliminate(halves, half);
  /* what the second half leaves has no slot: it depends on others */
  return halves[1].pending.n == 0 &&
         band_place_pending(&halves[0].pending, b->rows + (size_t)half * NAY_BAND_PANEL) &&
         band_place(s, b, b->keys, halves[0].ndeferred, false) &&
         band_place(s, b, b->keys + middle, halves[1].ndeferred, false);
}

static bool band_eliminate(const nay_filter *f, const nay_ribbon_shard *s, const band *b, size_t n,
                           bool homogeneous) {
  if (f->kernels->banding != NULL && !homogeneous) return band_sweep(f, s, b);
  memset(b->rows, 0, b->nslots * sizeof *b->rows);
  return band_place(s, b, b->keys, n, homogeneous);
}

/* ---- substitution ---- */

/* All columns of one slot. free: the results of an empty row. */
NAY_INLINE void band_substitute(const nay_band_row *row, uint64_t free, bool popcnt,
                                nay_band_columns *columns, unsigned ncolumns) {
  uint64_t constant = row->lo == 0 ? free : row->fingerprint;
  for (unsigned c = 0; c < ncolumns; c++) {
    uint64_t lo = columns->lo[c], hi = columns->hi[c];
    hi = hi << 1 | lo >> 63;
    lo <<= 1;
    uint64_t bit = constant >> nay__ribbon_fingerprint_bit(c), x = (lo & row->lo) ^ (hi & row->hi);
    bit ^= popcnt ? nay__popcount64(x) : nay__parity64(x);
    columns->lo[c] = lo | (bit & 1);
    columns->hi[c] = hi;
  }
}

static void band_store(const nay_filter *f, const nay_ribbon *r, uint64_t block,
                       const nay_band_columns *columns) {
  uint8_t *p = f->bits.bytes + nay__ribbon_blocks_at(r->nshards) +
               nay__ribbon_column_of(r, block) * NAY_RIBBON_COLUMN;
  unsigned n = r->columns - (block < r->short_blocks);
  for (unsigned c = 0; c < n; c++, p += NAY_RIBBON_COLUMN) {
    nay__store64le(p, columns->lo[c]);
    nay__store64le(p + 8, columns->hi[c]);
  }
}

NAY_INLINE void band_solve(const nay_filter *f, const nay_ribbon *r, const nay_ribbon_shard *s,
                           const band *b, bool homogeneous, bool popcnt) {
  nay_band_columns columns = {{0}, {0}};
  for (uint32_t i = b->nslots; i-- > 0;) {
    uint64_t free = homogeneous ? nay_hash_mix(((uint64_t)s->first << 32) + i) : 0;
    band_substitute(&b->rows[i], free, popcnt, &columns, r->columns);
    if (i % NAY_RIBBON_WIDTH == 0) band_store(f, r, s->first + i / NAY_RIBBON_WIDTH, &columns);
  }
}

/* The same, block by block. */
static void band_solve_vectors(const nay_filter *f, const nay_ribbon *r, const nay_ribbon_shard *s,
                               const band *b) {
  nay_band_columns columns = {{0}, {0}};
  for (uint32_t block = s->nblocks; block-- > 0;) {
    for (unsigned part = 0; part < (r->columns + 7) / 8; part++) {
      f->kernels->banding->back_substitute(b->rows + (size_t)block * NAY_RIBBON_WIDTH, part,
                                           &columns);
    }
    band_store(f, r, s->first + block, &columns);
  }
}

NAY_BMI2 static void band_solve_popcnt(const nay_filter *f, const nay_ribbon *r,
                                       const nay_ribbon_shard *s, const band *b, bool homogeneous) {
  band_solve(f, r, s, b, homogeneous, true);
}

static void band_solve_back(const nay_filter *f, const nay_ribbon *r, const nay_ribbon_shard *s,
                            const band *b, bool homogeneous) {
  if (f->kernels->banding != NULL && !homogeneous) {
    band_solve_vectors(f, r, s, b);
  } else if (f->kernels->bmi2) {
    band_solve_popcnt(f, r, s, b, homogeneous);
  } else {
    band_solve(f, r, s, b, homogeneous, false);
  }
}

/* ---- the solver ---- */

static uint64_t band_nshards(const nay_shape *shape) { return nay__max_u64(shape->extra, 1); }

static uint8_t *band_entry(nay_filter *f, uint64_t shard) {
  return f->bits.bytes + NAY_RIBBON_HEADER + shard * NAY_RIBBON_ENTRY;
}

/* While the directory is made, the number of blocks of a shard is where its first block will be. */
static void band_change_blocks(nay_filter *f, uint64_t shard, uint64_t *difference, int by) {
  uint8_t *entry = band_entry(f, shard);
  uint32_t blocks = nay__load32le(entry);
  if (*difference == 0 || blocks == 0 || (by < 0 && blocks == 1)) return;
  nay__store32le(entry, by < 0 ? blocks - 1 : blocks + 1);
  --*difference;
}

/*
 * The directory. The plan has fixed the number of blocks; each shard gets what its keys demand. Of
 * what is left over it gets one more, as long as there are any; what lacks is taken one by one.
 */
static void band_begin(nay_filter *f, uint64_t premix, const uint64_t *counts) {
  nay__store64le(f->bits.bytes, premix);
  if (f->shape.extra == 0) return;
  uint64_t nshards = f->shape.extra, nblocks = nay__ribbon_dims(f->nkeys).nblocks, demand = 0;
  for (uint64_t s = 0; s < nshards; s++) {
    uint64_t blocks = nay__ribbon_demand(counts[s]);
    nay__store32le(band_entry(f, s), (uint32_t)blocks);
    demand += blocks;
  }
  uint64_t spare = demand < nblocks ? nblocks - demand : 0;
  for (uint64_t s = 0; s < nshards; s++) band_change_blocks(f, s, &spare, 1);
  uint64_t lack = demand > nblocks ? demand - nblocks : 0;
  while (lack != 0) { /* ends: there are fewer shards than blocks */
    for (uint64_t s = 0; s < nshards; s++) band_change_blocks(f, s, &lack, -1);
  }
  uint32_t first = 0;
  for (uint64_t s = 0; s < nshards; s++) {
    uint32_t blocks = nay__load32le(band_entry(f, s));
    nay__store32le(band_entry(f, s), first);
    first += blocks;
  }
  nay__store32le(band_entry(f, nshards), first);
  nay__store32le(band_entry(f, nshards) + 4, (uint32_t)nblocks);
}

/* A set for which a Bloom filter is smaller: see ribbon.c. Equal keys are refused here too. */
static bool band_fill_bloom(nay_filter *f, const uint64_t *x, size_t n, uint8_t *scratch) {
  nay_bits bits = nay__ribbon_bloom(f);
  uint64_t *sorted = (uint64_t *)(void *)scratch;
  if (n != 0) memcpy(sorted, x, n * sizeof *x);
  nay__sort_u64(sorted, n);
  if (nay__unique_u64(sorted, n) != n) return false;
  for (size_t i = 0; i < n; i++) nay__kernels_scalar.bloom->add(&bits, x[i]);
  return true;
}

static bool band_attempt(nay_filter *f, uint64_t shard, unsigned attempt, uint32_t seed,
                         const uint64_t *x, size_t n, uint8_t *scratch) {
  (void)attempt;
  if (f->shape.extra == 0) return band_fill_bloom(f, x, n, scratch);
  nay_ribbon r = nay__ribbon_open(&f->bits);
  nay_ribbon_shard s = nay__ribbon_shard_at(f->bits.bytes, shard);
  if (n == 0) return true;
  s.seed = seed;
  band b = band_open(&s, scratch);
  if (n > b.nslots) return false;
  band_sort(&s, x, n, &b);
  if (!band_eliminate(f, &s, &b, n, false)) return false;
  band_solve_back(f, &r, &s, &b, false);
  nay__store32le(band_entry(f, shard) + 4, seed);
  return true;
}

static void band_give_up(nay_filter *f, uint64_t shard, uint32_t seed, const uint64_t *x, size_t n,
                         uint8_t *scratch) {
  nay_ribbon r = nay__ribbon_open(&f->bits);
  nay_ribbon_shard s = nay__ribbon_shard_at(f->bits.bytes, shard);
  s.seed = seed | NAY_RIBBON_HOMOGENEOUS;
  band b = band_open(&s, scratch);
  band_sort(&s, x, n, &b);
  band_eliminate(f, &s, &b, n, true);
  band_solve_back(f, &r, &s, &b, true);
  nay__store32le(band_entry(f, shard) + 4, s.seed);
}

const nay_solver nay__band_solver = {
    .nshards = band_nshards,
    .shards_per_task_log2 = 4, /* 2^18 keys: enough to cut in one pass, few enough to share */
    .begin = band_begin,
    .scratch = band_scratch,
    .attempt = band_attempt,
    .give_up = band_give_up,
    .test = nay__ribbon_test_premixed,
};
