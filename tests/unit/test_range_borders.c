/*
 * test_range_borders.c - 10^6 ranges against a sorted array, where a range filter could lose a key:
 * over the border of blocks, around location 0, longer than the circle, of few keys, of a plan for
 * ranges of 1 to 2^40 numbers. test_range_borders_long.c: 10^8.
 */
#include "cpu/kernels.h"
#include "family/family.h"
#include "support/ranges.h"

#ifndef ROUNDS
#define ROUNDS 2000u
#endif
#define ASKED 512u /* in a round */

/* A range near a key or the border of its block, or anywhere. */
static void border_range(uint64_t *rng, const uint64_t *keys, size_t n, uint64_t block,
                         uint64_t *lo, uint64_t *hi) {
  uint64_t key = keys[test_random(rng) % n], border = key & ~(block - 1);
  uint64_t span = test_random(rng) >> (test_random(rng) % 64), x = test_random(rng);
  if (x >> 60 == 0) span = block; /* as long as a block */
  uint64_t below = key < span ? 0 : key - span,
           above = key > UINT64_MAX - span ? UINT64_MAX : key + span;
  switch (x % 5) {
    case 0: *lo = below, *hi = key; break;
    case 1: *lo = key, *hi = above; break;
    case 2: *lo = border < span ? 0 : border - span, *hi = key; break;
    case 3: *lo = key, *hi = (border | (block - 1)) < above ? above : border | (block - 1); break;
    default: *lo = x, *hi = x > UINT64_MAX - span ? UINT64_MAX : x + span;
  }
}

static void borders(void **state) {
  (void)state;
  uint64_t rng = 2, nays = 0, exact = 0, crossing = 0;
  for (unsigned round = 0; round < ROUNDS; round++) {
    uint64_t keys[64], lo[ASKED], hi[ASKED], bitmap[ASKED / 64];
    size_t n = 1 + (size_t)(test_random(&rng) % 50);
    nay_params p = {sizeof p, .kind = NAY_RANGE, .fpr = 0.01, .seed = round};
    p.range_length = (uint64_t)1 << test_random(&rng) % 41;
    unsigned width = 1 + (unsigned)(test_random(&rng) % 64);
    for (size_t i = 0; i < n; i++) keys[i] = test_random(&rng) >> (64 - width);
    nay_filter *f = build(&p, keys, n);
    n = sort_unique(keys, n);
    nay_stats s = {.size = sizeof s};
    assert_int_equal(nay_filter_stats(f, &s), NAY_OK);
    for (unsigned i = 0; i < ASKED; i++) border_range(&rng, keys, n, s.range_block, &lo[i], &hi[i]);
    assert_int_equal(nay_filter_may_contain_range_u64_many(f, lo, hi, ASKED, bitmap), NAY_OK);
    for (unsigned i = 0; i < ASKED; i++) {
      bool there = model_any(keys, n, lo[i], hi[i]), got = ask(f, lo[i], hi[i]);
      if (there && !got)
        fail_msg("false nay: round %u, [%llu, %llu]", round, (unsigned long long)lo[i],
                 (unsigned long long)hi[i]);
      if (got != (bitmap[i / 64] >> i % 64 & 1)) fail_msg("a batch differs in round %u", round);
      if (s.range_exact != 0 && got != there) fail_msg("not exact in round %u", round);
      nays += !got;
      crossing += lo[i] / s.range_block + 1 == hi[i] / s.range_block;
    }
    exact += s.range_exact;
    for (size_t i = 0; i < n; i++) {
      uint8_t key[8];
      assert_true(nay_filter_may_contain(f, nay_range_key(keys[i], key), 8));
    }
    nay_filter_free(f);
  }
  assert_true(nays > (uint64_t)ROUNDS * ASKED / 20);
  assert_true(crossing > (uint64_t)ROUNDS * ASKED / 100);
  assert_true(exact > ROUNDS / 10 && exact < ROUNDS);
}

int main(void) {
  const test_case tests[] = {TEST(borders)};
  return run_all(tests);
}
