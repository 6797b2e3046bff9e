/* test_sort.c - the radix sort against qsort, on input that is kind to it and input that is not. */
#include "base/sort.h"
#include "support/test.h"

#define BIG ((size_t)1000000)

static int compare(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static void assert_sorts(uint64_t *a, size_t n) {
  uint64_t *expected = malloc((n + 1) * sizeof *expected);
  assert_non_null(expected);
  if (n != 0) memcpy(expected, a, n * sizeof *a);
  qsort(expected, n, sizeof *expected, compare);
  nay__sort_u64(a, n);
  if (n != 0) assert_memory_equal(a, expected, n * sizeof *a);
  size_t distinct = 0;
  for (size_t i = 0; i < n; i++) {
    if (i == 0 || expected[i] != expected[i - 1]) expected[distinct++] = expected[i];
  }
  assert_int_equal(nay__unique_u64(a, n), distinct);
  if (distinct != 0) assert_memory_equal(a, expected, distinct * sizeof *a);
  free(expected);
}

/* The i-th value of a pattern over n values. */
typedef uint64_t (*pattern)(size_t i, size_t n);
static uint64_t hashes(size_t i, size_t n) { return (void)n, nay_hash_mix(i); }
static uint64_t ascending(size_t i, size_t n) { return (void)n, i; }
static uint64_t descending(size_t i, size_t n) { return n - i; }
static uint64_t equal(size_t i, size_t n) { return (void)i, (void)n, 0x0123456789abcdefu; }
static uint64_t few(size_t i, size_t n) { return (void)n, nay_hash_mix(nay_hash_mix(i) % 5); }
static uint64_t top_byte_only(size_t i, size_t n) { return (void)n, nay_hash_mix(i) << 56; }
static uint64_t low_byte_only(size_t i, size_t n) { return (void)n, nay_hash_mix(i) & 255; }
static uint64_t extremes(size_t i, size_t n) {
  return (void)n, i % 2 == 0 ? UINT64_MAX - i % 3 : i % 7;
}

static const pattern patterns[] = {hashes, ascending,     descending,    equal,
                                   few,    top_byte_only, low_byte_only, extremes};
#define N_PATTERNS (sizeof patterns / sizeof patterns[0])

static void small_arrays_are_sorted(void **state) {
  (void)state;
  for (size_t p = 0; p < N_PATTERNS; p++) {
    for (size_t n = 0; n <= 200; n++) {
      uint64_t a[202];
      for (size_t i = 0; i < n; i++) a[i] = patterns[p](i, n);
      a[n] = a[n + 1] = 42;
      assert_sorts(a, n);
      assert_true(a[n] == 42 && a[n + 1] == 42);
    }
  }
}

static void large_arrays_are_sorted(void **state) {
  (void)state;
  uint64_t *a = malloc(BIG * sizeof *a);
  assert_non_null(a);
  for (size_t p = 0; p < N_PATTERNS; p++) {
    size_t n = TEST_SCALE(BIG);
    for (size_t i = 0; i < n; i++) a[i] = patterns[p](i, n);
    assert_sorts(a, n);
  }
  free(a);
}

/* Every order of eight values, two of them equal. */
static void every_permutation_is_sorted(void **state) {
  (void)state;
  const uint64_t values[8] = {0, 1, 1, 255, 256, (uint64_t)1 << 32, (uint64_t)1 << 63, UINT64_MAX};
  for (unsigned code = 0; code < 40320; code += 7) {
    uint64_t pool[8], a[8];
    unsigned left = 8, c = code;
    memcpy(pool, values, sizeof pool);
    for (; left > 0; c /= left, left--) {
      a[8 - left] = pool[c % left];
      pool[c % left] = pool[left - 1];
    }
    nay__sort_u64(a, 8);
    assert_memory_equal(a, values, sizeof a);
  }
}

int main(void) {
  const test_case tests[] = {
      TEST(small_arrays_are_sorted),
      TEST(large_arrays_are_sorted),
      TEST(every_permutation_is_sorted),
  };
  return run_all(tests);
}
