/*
 * test_map_every_n.c - check bits of static maps at every number of keys up to 2,000: an absent key
 * is taken for a member once in 2^check_bits. Where that is too rare to be measured, the check bits
 * of absent keys and what their slots add up to are compared (differences.h).
 */
#include "stats/differences.h"
#include "support/maps.h"

#define ABSENT ((uint64_t)1 << 63) /* probes count from here, keys stay below */

typedef struct map_sums {
  window_counts rate;
  differences checks;
} map_sums;

static nay_filter *hashed_map(unsigned value_bits, unsigned check_bits, uint64_t first,
                              unsigned n) {
  static uint64_t hashes[MOST_N], values[MOST_N];
  nay_params p = {.size = sizeof p, .kind = NAY_MAP, .hash = NAY_HASH_CALLER};
  p.value_bits = value_bits;
  p.check_bits = check_bits;
  for (unsigned i = 0; i < n; i++) {
    hashes[i] = nay_hash_mix(first + i);
    values[i] = nay_hash_mix(~hashes[i]) >> (64 - value_bits);
  }
  nay_filter *map;
  assert_ok(nay__map_build_arrays(&p, hashes, values, n, NULL, NULL, &map));
  return map;
}

/* How many of the absent keys from `first` on the map takes for its own. */
static unsigned map_hits(const nay_filter *map, uint64_t first, unsigned n) {
  unsigned hits = 0;
  for (unsigned i = 0; i < n; i += 64) {
    uint64_t hashes[64], values[64], bitmap = 0;
    for (unsigned j = 0; j < 64; j++) hashes[j] = nay_hash_mix(ABSENT + first + i + j);
    assert_ok(maps_get_hashes(map, hashes, 64, values, &bitmap));
    hits += (unsigned)__builtin_popcountll(bitmap);
  }
  return hits;
}

static void map_differences(const nay_filter *map, uint64_t first, unsigned n, differences *all) {
  const nay_filter *f = map;
  unsigned check_bits = f->shape.extra, value_bits = nay__map_value_bits(&f->shape);
  for (unsigned i = 0; i < NDIFFERENCES; i++) {
    uint64_t hash = nay_hash_mix(ABSENT + first + i), word;
    uint64_t x = nay__premix(hash, nay__map_premix(f));
    nay__map_lookup(f, &x, 1, &word);
    differences_add(all, n, word >> value_bits ^ nay__map_check_of(hash, check_bits), check_bits);
  }
}

/* Check bits of maps: absent keys have them once in 2^check_bits; value bits go round. */
static void every_n_of_a_map(void **state) {
  (void)state;
  static const unsigned checks[] = {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 32, 63};
  for (size_t c = 0; c < sizeof checks / sizeof checks[0]; c++) {
    map_sums *sums = calloc(1, sizeof *sums);
    char name[32];
    assert_non_null(sums);
    snprintf(name, sizeof name, "map, check bits %u", checks[c]);
    for (unsigned n = 1; n <= MOST_N; n = next_n(n)) {
      uint64_t first = cell_of(600 + c, n);
      unsigned most = 64 - checks[c], value_bits = 1 + n % (most < 16 ? most : 16);
      nay_filter *map = hashed_map(value_bits, checks[c], first, n);
      if (checks[c] <= 16) {
        sums->rate.hits[n] = map_hits(map, first, NPROBES);
        sums->rate.expected[n] = NPROBES * 1.0 / (double)((uint64_t)1 << checks[c]);
      }
      map_differences(map, first + (1 << 19), n, &sums->checks);
      differences_close(&sums->checks, name, n);
      nay_filter_free(map);
    }
    assert_within(counts_worst(&sums->rate), "rate", name);
    assert_subsets(&sums->checks, name);
    free(sums);
  }
}

int main(void) {
  const test_case tests[] = {TEST(every_n_of_a_map)};
  return run_all(tests);
}
