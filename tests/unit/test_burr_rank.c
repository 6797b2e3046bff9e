/*
 * test_burr_rank.c - the bits of a key's equation are linearly independent.
 *
 * The slots Z of a part solve row(key) * Z = fingerprint(key), column by column. Suppose that for
 * all keys some fingerprint bits add up to a fixed sum of coefficients. Then those columns of Z add
 * up to a fixed vector, absent keys find the sum of those fingerprint bits as members do, and the
 * filter has one column less than it stores: twice the false-positive rate (FPR). All keys of a
 * part of one block have the same start; in larger parts the same holds for the keys of each start,
 * and Z must agree with all of them. So it is enough that, for each start, no sum of fingerprint
 * bits is a sum of coefficients: the rank of both together is that of so many free bits. The
 * coefficients have 128 bits, the lowest of which is always 1, so constants are covered. A map has
 * check bits instead of a fingerprint, and they must be as independent.
 *
 * Rank n among n + 64 keys shows independence; free bits fail once in 2^64.
 */
#include "family/map.h"
#include "support/gf2.h"

#define COLUMNS 32u /* of a filter */
#define CHECKS 63u  /* of a map */
#define EQUATION (NAY_RIBBON_WIDTH + COLUMNS)
#define MORE 64u

/* Bits 0 to 127: coefficients; then the fingerprint, column by column; then check bits. */
static gf2_vector vector_of(uint64_t hash, const nay_burr_row *row) {
  gf2_vector v = {{row->lo, row->hi, 0, 0}};
  for (unsigned c = 0; c < COLUMNS; c++) {
    v.word[2] |= (row->fingerprint >> nay__burr_bit(c) & 1) << c;
  }
  v.word[3] = nay__map_check_of(hash, CHECKS);
  return v;
}

/* Whether n keys that begin in `start`, or in any slot, have the rank of free bits. */
static bool is_free(uint64_t *counter, uint32_t nblocks, int64_t start, uint64_t premix,
                    uint32_t seed, unsigned nbits, unsigned n) {
  gf2_space space = {.rank = 0};
  uint64_t starts = nay__burr_starts(nblocks);
  for (unsigned i = 0; i < n;) {
    uint64_t hash = nay_hash_mix((*counter)++);
    nay_burr_row row = nay__burr_row_of(nay__premix(hash, premix), seed, starts);
    if (start >= 0 && row.start != start) continue;
    gf2_vector v = vector_of(hash, &row);
    if (nbits == EQUATION) v.word[3] = 0;
    gf2_add(&space, v);
    i++;
  }
  return space.rank == nbits;
}

static void assert_free(uint32_t nblocks, int64_t start, uint64_t premix, uint32_t seed) {
  uint64_t counter = 0;
  unsigned nbits = EQUATION + CHECKS;
  if (is_free(&counter, nblocks, start, premix, seed, nbits, nbits + MORE)) return;
  fail_msg("%u blocks, start %lld, premix %llx, seed %x: the equations have too low a rank",
           nblocks, (long long)start, (unsigned long long)premix, seed);
}

/* Parts of every kind of size: one block, one layer, part of a layer; their first slots, middle and
 * last. */
static void equations_of_a_start_are_independent(void **state) {
  (void)state;
  static const uint32_t nblocks[] = {1, 2, 3, 4, 9, 31, 62, 100};
  for (size_t i = 0; i < sizeof nblocks / sizeof nblocks[0]; i++) {
    int64_t last = (int64_t)nay__burr_starts(nblocks[i]) - 1;
    assert_free(nblocks[i], 0, 0, 0);
    assert_free(nblocks[i], last / 2, 0, 0);
    assert_free(nblocks[i], last, 0, 0);
    assert_free(nblocks[i], -1, 0, 0);
  }
  assert_free(1024, 70001, 0, 0);
  assert_free(1535, 123456, 0, 0);
}

/* The seeds that a build tries, and a premix. */
static void equations_of_every_seed_are_independent(void **state) {
  (void)state;
  for (unsigned number = 0; number < 255; number++) {
    assert_free(1, 0, 0, nay__burr_seed_of(number));
    assert_free(1, 0, nay_hash_mix(number) | 1, nay__burr_seed_of(number));
  }
}

/*
 * Nor do sums of bits agree nearly always: one that holds for a share 1 - d of the keys would hold
 * for all of 200 keys once in (1 - d)^-200 samples. None of 2,000 samples excludes d below 3% with
 * a chance of 99%. Sums that hold more rarely do no harm: an absent key is the sum of some n / 2
 * members, whose errors add up.
 */
static void no_equation_is_nearly_dependent(void **state) {
  (void)state;
  uint64_t counter = (uint64_t)1 << 40;
  for (unsigned i = 0; i < 2000; i++) {
    if (!is_free(&counter, 1, 0, 0, 0, EQUATION, EQUATION + 40)) fail_msg("sample %u", i);
  }
}

int main(void) {
  const test_case tests[] = {TEST(equations_of_a_start_are_independent),
                             TEST(equations_of_every_seed_are_independent),
                             TEST(no_equation_is_nearly_dependent)};
  return run_all(tests);
}
