/*
 * test_elimination.c - elimination and back substitution of every table of kernels against the
 * plain definition: keys placed one by one, classes taken out again, slots computed bit by bit.
 */
#include "family/burr.h"
#include "support/test.h"

static void *test_alloc(size_t size) {
  void *p = calloc(1, size + 1);
  assert_non_null(p);
  return p;
}

/* ---- the definition ---- */

typedef struct plain_part {
  uint32_t nblocks, seed;
  size_t nkeys, nbumped;
  const uint64_t *keys, *values;
  nay_band_row *rows;
  uint64_t *bumped;
  uint8_t *codes;
} plain_part;

/* False: the equation depends on the rows. *at is the row that it got. */
static bool plain_place(plain_part *p, size_t key, nay_band_row **at) {
  nay_burr_row r = nay__burr_row_of(p->keys[key], p->seed, nay__burr_starts(p->nblocks));
  nay_band_row e = {r.lo, r.hi, p->values != NULL ? p->values[key] : r.fingerprint};
  for (uint32_t slot = r.start;; slot++) {
    if (e.lo == 0 && e.hi == 0) return false;
    if ((e.lo & 1) != 0) {
      nay_band_row *row = &p->rows[slot];
      if (row->lo == 0) {
        *row = e;
        *at = row;
        return true;
      }
      e = (nay_band_row){e.lo ^ row->lo, e.hi ^ row->hi, e.fingerprint ^ row->fingerprint};
    }
    e.lo = e.lo >> 1 | e.hi << 63;
    e.hi >>= 1;
  }
}

static void plain_bucket(plain_part *p, uint32_t bucket) {
  unsigned limits[4];
  for (unsigned i = 0; i < 4; i++) limits[i] = (unsigned)(NAY_RIBBON_LIMITS >> (16 * i)) & 0xffff;
  uint64_t starts = nay__burr_starts(p->nblocks);
  nay_band_row **placed = test_alloc(p->nkeys * sizeof *placed);
  p->codes[bucket] = 0;
  for (unsigned code = 3; code > 0 && p->codes[bucket] == 0; code--) {
    size_t n = 0;
    for (size_t i = 0; i < p->nkeys; i++) {
      uint32_t start = nay__burr_row_of(p->keys[i], p->seed, starts).start;
      bool here =
          start / 512 == bucket && start % 512 >= limits[code - 1] && start % 512 < limits[code];
      if (!here || plain_place(p, i, &placed[n])) {
        n += here;
        continue;
      }
      while (n-- > 0) *placed[n] = (nay_band_row){0, 0, 0};
      p->codes[bucket] = (uint8_t)code;
      break;
    }
  }
  for (size_t i = 0; i < p->nkeys; i++) {
    uint32_t start = nay__burr_row_of(p->keys[i], p->seed, starts).start;
    if (start / 512 == bucket && start % 512 < limits[p->codes[bucket]]) {
      p->bumped[p->nbumped++] = p->keys[i];
    }
  }
  free(placed);
}

/* Slot after slot, from the last: bit c of slots[i] is column c. */
static void plain_solve(const plain_part *p, uint64_t *slots, unsigned ncolumns) {
  for (uint32_t i = p->nblocks * 128; i-- > 0;) {
    const nay_band_row *row = &p->rows[i];
    slots[i] = 0;
    if (row->lo == 0) continue;
    for (unsigned c = 0; c < ncolumns; c++) {
      slots[i] |= (row->fingerprint >> nay__burr_bit(c) & 1) << c;
    }
    for (unsigned j = 1; j < 128; j++) {
      bool has = ((j < 64 ? row->lo >> j : row->hi >> (j - 64)) & 1) != 0;
      if (has) slots[i] ^= slots[i + j];
    }
  }
}

/* ---- the library against it ---- */

static int compare_u64(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

static void assert_slots(const nay_burr *b, const uint64_t *slots) {
  for (uint64_t i = 0; i < b->nblocks * 128; i++) {
    const uint8_t *block = b->bytes + nay__burr_column_of(b, i / 128) * NAY_BURR_COLUMN;
    unsigned n = b->columns - (i / 128 < b->short_blocks);
    for (unsigned c = 0; c < n; c++) {
      assert_int_equal(block[c * 16 + i % 128 / 8] >> (i % 8) & 1, slots[i] >> c & 1);
    }
  }
}

static void compare_part(const nay_kernels *kernels, plain_part *want, unsigned ncolumns) {
  uint32_t nbuckets = (want->nblocks + 3) / 4;
  uint8_t *scratch =
      aligned_alloc(64, nay__band_bytes(want->nblocks, want->nkeys, want->values != NULL));
  uint64_t ncolumns_all = (uint64_t)want->nblocks * ncolumns - want->nblocks / 3;
  if (ncolumns == 1) ncolumns_all = want->nblocks;
  uint64_t *slots = test_alloc(want->nblocks * 128 * 8);
  nay_burr b = nay__burr_of(test_alloc(ncolumns_all * 16), want->nblocks, ncolumns_all, ncolumns);
  nay_band_part got;
  nay__band_open(&got, want->nblocks, want->nkeys, want->values != NULL, scratch);
  got.seed = want->seed;
  got.nvalue_bytes = (ncolumns + 7) / 8;
  nay__band_sort(&got, want->keys, want->values);
  nay__band_bump(kernels, &got);
  assert_memory_equal(got.codes, want->codes, nbuckets);
  assert_int_equal(got.nbumped, want->nbumped);
  qsort(got.bumped, got.nbumped, 8, compare_u64);
  qsort(want->bumped, want->nbumped, 8, compare_u64);
  if (got.nbumped != 0) assert_memory_equal(got.bumped, want->bumped, got.nbumped * 8);
  for (uint32_t i = 0; i < want->nblocks * 128; i++) {
    assert_int_equal(got.rows[i].lo != 0, want->rows[i].lo != 0);
  }
  nay__band_solve(kernels, &got, &b, 0);
  plain_solve(want, slots, ncolumns);
  assert_slots(&b, slots);
  free(b.bytes);
  free(slots);
  free(scratch);
}

static void compare_tables(uint32_t nblocks, size_t n, const uint64_t *keys, const uint64_t *values,
                           unsigned ncolumns) {
  plain_part want = {.nblocks = nblocks, .nkeys = n, .keys = keys, .values = values};
  want.rows = test_alloc(nblocks * 128 * sizeof *want.rows);
  want.bumped = test_alloc((n + 1) * 8);
  want.codes = test_alloc(nblocks);
  memset(want.rows, 0, nblocks * 128 * sizeof *want.rows);
  for (uint32_t bucket = 0; bucket < (nblocks + 3) / 4; bucket++) plain_bucket(&want, bucket);
  const nay_kernels *kernels;
  for (size_t i = 0; (kernels = nay__kernels_at(i)) != NULL; i++) {
    compare_part(kernels, &want, ncolumns);
  }
  free(want.rows);
  free(want.bumped);
  free(want.codes);
}

/* Loads from half full to overfull, and every number of columns with code of its own. */
static void test_random_sets(void **state) {
  (void)state;
  static const unsigned columns[] = {1, 2, 4, 5, 7, 8, 9, 16, 17, 20, 33, 64};
  for (unsigned i = 0; i < 60; i++) {
    uint32_t nblocks = 1 + (uint32_t)(nay_hash_mix(i) % 22);
    size_t n = (size_t)nblocks * 128 * (50 + nay_hash_mix(i + 1000) % 90) / 100;
    uint64_t *keys = test_alloc((n + 1) * 8), *values = test_alloc((n + 1) * 8);
    for (size_t k = 0; k < n; k++) {
      keys[k] = nay_hash_mix((uint64_t)i << 32 | k);
      values[k] = nay_hash_mix(keys[k]);
    }
    compare_tables(nblocks, n, keys, i % 2 == 0 ? NULL : values, columns[i % 12]);
    free(keys);
    free(values);
  }
}

/* Keys of which many are equal, or begin in few slots: panels and buckets beyond every limit. */
static void test_crowded_sets(void **state) {
  (void)state;
  for (unsigned i = 0; i < 24; i++) {
    uint32_t nblocks = 4 + i % 5;
    uint64_t starts = nay__burr_starts(nblocks);
    size_t n = 0, most = 600 + 60 * i;
    uint64_t *keys = test_alloc(most * 8);
    for (uint64_t k = 0; n < most; k++) {
      uint64_t x = nay_hash_mix(k % 5 == 0 && n > 9 ? k - k % 97 : k);
      uint32_t start = nay__burr_row_of(x, 0, starts).start, width = 8u << i % 6;
      if (k % 7 == 0 || start / width == 100 / width + i % 3) keys[n++] = x;
    }
    compare_tables(nblocks, n, keys, NULL, 1 + i);
    free(keys);
  }
}

static void test_empty(void **state) {
  (void)state;
  compare_tables(1, 0, NULL, NULL, 7);
  compare_tables(9, 0, NULL, NULL, 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_sets),
      cmocka_unit_test(test_crowded_sets),
      cmocka_unit_test(test_empty),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
