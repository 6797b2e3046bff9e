/*
 * test_banding.c - the equations of one part: elimination with bumping, substitution. However a
 * table of kernels does it, the same keys are bumped, and the same bytes come out; what stays has
 * its fingerprint or its value.
 */
#include "base/sort.h"
#include "family/burr.h"
#include "support/static_sets.h"

/* One part, solved by one table. */
typedef struct part {
  uint8_t *scratch, *bytes;
  size_t nbytes;
  nay_burr burr;
  nay_band_part band;
} part;

static part part_solve(const nay_kernels *kernels, uint32_t nblocks, unsigned columns,
                       uint32_t seed, const uint64_t *x, const uint64_t *values, size_t n) {
  part p = {.nbytes = (size_t)nblocks * columns * 16};
  size_t scratch = nay__band_bytes(nblocks, n, values != NULL);
  p.scratch = aligned_alloc(64, scratch);
  p.bytes = malloc(p.nbytes);
  assert_true(p.scratch != NULL && p.bytes != NULL);
  memset(p.scratch, 0xa5, scratch); /* nothing depends on what was there */
  p.burr = nay__burr_of(p.bytes, nblocks, (uint64_t)nblocks * columns, columns);
  nay__band_open(&p.band, nblocks, n, values != NULL, p.scratch);
  p.band.seed = seed;
  p.band.nvalue_bytes = (columns + 7) / 8;
  nay__band_sort(&p.band, x, values);
  nay__band_bump(kernels, &p.band);
  nay__band_solve(kernels, &p.band, &p.burr, 0);
  nay__sort_u64(p.band.bumped, p.band.nbumped);
  return p;
}

static void part_free(part *p) {
  free(p->scratch);
  free(p->bytes);
}

/* What the slots of a key sum up to, bit by bit. */
static uint64_t part_sum(const part *p, const nay_burr_row *row) {
  uint64_t sum = 0;
  for (unsigned c = 0; c < p->burr.columns; c++) {
    unsigned parity = 0;
    for (unsigned i = 0; i < 128; i++) {
      uint64_t coefficient = i < 64 ? row->lo >> i : row->hi >> (i - 64), slot = row->start + i;
      if ((coefficient & 1) == 0) continue;
      const uint8_t *column = p->bytes + (slot / 128 * p->burr.columns + c) * 16;
      parity ^= column[slot % 128 / 8] >> (slot % 8) & 1;
    }
    sum |= (uint64_t)parity << nay__burr_bit(c);
  }
  return sum;
}

static uint64_t column_mask(unsigned columns) {
  uint64_t mask = 0;
  for (unsigned c = 0; c < columns; c++) mask |= (uint64_t)1 << nay__burr_bit(c);
  return mask;
}

/* Every key is bumped exactly where the code of its bucket says so; the others have their sum. */
static void part_check(const part *p, const uint64_t *x, const uint64_t *values, size_t n) {
  uint64_t starts = nay__burr_starts(p->band.nblocks), mask = column_mask(p->burr.columns);
  size_t bumped = 0;
  for (size_t i = 0; i < n; i++) {
    nay_burr_row row = nay__burr_row_of(x[i], p->band.seed, starts);
    static const unsigned limits[] = {0, 32, 88, 512};
    unsigned code = p->band.codes[row.start / 512];
    assert_true(code <= 3);
    if (row.start % 512 < limits[code]) {
      bumped++;
    } else if (i % 7 == 0 || n < 5000) {
      uint64_t want = values != NULL ? values[i] : row.fingerprint;
      assert_true(((part_sum(p, &row) ^ want) & mask) == 0);
    }
  }
  assert_int_equal(bumped, p->band.nbumped);
}

static void solve_by_all(uint32_t nblocks, unsigned columns, size_t n, bool values,
                         const uint64_t *x) {
  uint64_t *v = NULL;
  if (values) {
    v = malloc((n + 1) * 8);
    assert_non_null(v);
    for (size_t i = 0; i < n; i++) v[i] = nay_hash_mix(x[i] + 1) & column_mask(columns);
  }
  const nay_kernels *table;
  part first = part_solve(&nay__kernels_scalar, nblocks, columns, columns, x, v, n);
  part_check(&first, x, v, n);
  for (size_t t = 1; (table = nay__kernels_at(t)) != NULL; t++) {
    part p = part_solve(table, nblocks, columns, columns, x, v, n);
    assert_int_equal(p.band.nbumped, first.band.nbumped);
    assert_memory_equal(p.band.bumped, first.band.bumped, p.band.nbumped * 8);
    assert_memory_equal(p.band.codes, first.band.codes, p.band.nbuckets);
    assert_memory_equal(p.bytes, first.bytes, p.nbytes);
    part_free(&p);
  }
  part_free(&first);
  free(v);
}

/* Few keys, as many as slots, more than slots; parts that end with a bucket and others. */
static void every_cpu_bumps_alike(void **state) {
  (void)state;
  uint64_t *x = set_random(60000, 9);
  for (uint32_t nblocks = 1; nblocks < 340; nblocks += 1 + nblocks / 3) {
    size_t slots = (size_t)nblocks * 128;
    solve_by_all(nblocks, 7, 0, false, x);
    for (size_t n = slots / 2; n < slots + slots / 3; n += 1 + slots / 17) {
      solve_by_all(nblocks, 1 + (unsigned)n % 13, n, n % 3 == 0, x + n % 100);
    }
  }
  free(x);
}

static void every_width_of_values(void **state) {
  (void)state;
  uint64_t *x = set_random(6000, 10);
  for (unsigned columns = 1; columns <= 64; columns++) {
    solve_by_all(40, columns, 5300, columns % 2 == 0, x);
  }
  free(x);
}

/* Keys that crowd some buckets, keys that are there often: bumped, by all CPUs alike. */
static void crowds_and_duplicates(void **state) {
  (void)state;
  size_t n = 20000;
  uint64_t *x = set_random(n, 11);
  for (size_t i = 0; i < n; i += 97) x[i] = x[n / 2];
  solve_by_all(152, 7, n, false, x);
  for (size_t i = 0; i < n; i += 3) x[i] = x[i % 1000];
  solve_by_all(152, 7, n, false, x);
  uint64_t starts = nay__burr_starts(152);
  size_t kept = 0;
  for (uint64_t i = 0; kept < n / 2; i++) { /* half of them in 40 of 19,329 first slots */
    uint64_t key = nay_hash_mix(i + 12345);
    if (nay__burr_row_of(key, 7, starts).start % 2048 < 4) x[kept++] = key;
  }
  solve_by_all(152, 7, n, false, x);
  for (size_t i = 0; i < n; i++) x[i] = 42;
  solve_by_all(152, 7, n, false, x);
  free(x);
}

/* A part of the size that large sets have. */
static void a_large_part(void **state) {
  (void)state;
  size_t n = 134500;
  uint64_t *x = set_random(n, 12);
  solve_by_all(1020, 10, n, false, x);
  free(x);
}

int main(void) {
  const test_case tests[] = {TEST(every_cpu_bumps_alike), TEST(every_width_of_values),
                             TEST(crowds_and_duplicates), TEST(a_large_part)};
  return run_all(tests);
}
