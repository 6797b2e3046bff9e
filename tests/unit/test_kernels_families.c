/* test_kernels_families.c - whole filters and maps answer alike with every table of kernels. */
#include "family/family.h"
#include "support/maps.h"

#define N 5000u
#define NPROBES 6400u /* the first N were added */

static uint64_t hashes[NPROBES];

/* All distinct. Some have a tag of 0, which becomes 1; and the least and the greatest are there. */
static uint64_t a_hash(size_t i) {
  uint64_t h = nay_hash_mix(i);
  if (i % 16 == 5) return h >> 20 << 20;
  if (i % 16 == 6) return h | 0xffff;
  return i == 100 || i == N + 1 ? 0 - (uint64_t)(i == 100) : h;
}

/* One probe after the other, as f's family does it with f's kernels. */
static void answers_of(nay_filter *f, const nay_kernels *kernels, uint64_t *batches,
                       uint64_t *singles) {
  f->kernels = kernels;
  if (f->family->bind != NULL) f->family->bind(f);
  nay_bits_probe probe = f->bits.probe;
  for (unsigned i = 0; i < NPROBES; i += 64) {
    unsigned n = 64 - i / 64 % 2; /* whole batches and others */
    batches[i / 64] = f->family->batch->test(f, hashes + i, NULL, n, NULL);
    singles[i / 64] = 0;
    for (unsigned j = 0; j < n; j++) {
      bool maybe = probe != NULL ? probe(&f->bits, hashes[i + j])
                                 : f->family->test(f, (nay_hash){hashes[i + j], 0});
      singles[i / 64] |= (uint64_t)maybe << j;
    }
  }
}

static void check_filter(const nay_params *params, size_t nkeys) {
  nay_filter *f;
  assert_status(nay_filter_build(params, hashes, nkeys, NULL, NULL, &f), NAY_OK);
  const nay_kernels *own = f->kernels, *table;
  uint64_t want[NPROBES / 64], singles[NPROBES / 64], batches[NPROBES / 64];
  for (size_t t = 0; (table = nay__kernels_at(t)) != NULL; t++) {
    for (unsigned near = 0; near < 2; near++) {
      f->bits.in_cache = near != 0;
      answers_of(f, table, batches, singles);
      if (t == 0 && near == 0) memcpy(want, singles, sizeof want);
      assert_memory_equal(singles, want, sizeof want);
      assert_memory_equal(batches, want, sizeof want);
    }
  }
  for (size_t i = 0; i < nkeys; i++) {
    if (i % 128 != 127) assert_true(want[i / 64] >> i % 64 & 1);
  }
  f->kernels = own;
  nay_filter_free(f);
}

static void every_width(void **state) {
  nay_kind kind = *(const nay_kind *)*state;
  for (unsigned bits = 4; bits <= 32; bits++) {
    nay_params p = {sizeof p, .kind = kind, .hash = NAY_HASH_CALLER};
    p.fpr = 1.0 / (double)((uint64_t)1 << bits) * (kind == NAY_RIBBON ? 1.3 : 1.001);
    if (kind == NAY_CUCKOO) p.tag_bits = bits < 6 ? 6 : bits;
    if (kind == NAY_CUCKOO) p.fpr = 0.9;
    for (uint32_t k = 3; k <= (kind == NAY_FUSE ? 4 : 3); k++) {
      if (kind == NAY_FUSE) p.k = k;
      check_filter(&p, N);
      check_filter(&p, 300);
    }
  }
}

/* ---- filters that take adds ---- */

/* Every number of generations and of probes: the rotated bytes are the same for every table. */
static void windows(void **state) {
  (void)state;
  for (uint32_t g = 1; g <= 15; g++) {
    for (uint32_t k = 1; k <= 64; k += k < 20 ? 1 : 11) {
      nay_params p = {.size = sizeof p,
                      .kind = NAY_WINDOW,
                      .nkeys = N,
                      .bits_per_key = 1.5 * k,
                      .k = k,
                      .generations = g,
                      .hash = NAY_HASH_CALLER};
      check_filter(&p, N);
    }
  }
}

static void levels(void **state) {
  (void)state;
  for (double fpr = 0.5; fpr > 1e-6; fpr /= 3) {
    for (uint64_t first = 1; first <= N; first *= 17) {
      nay_params p = {.size = sizeof p,
                      .kind = NAY_SCALABLE,
                      .nkeys = first,
                      .fpr = fpr,
                      .hash = NAY_HASH_CALLER};
      check_filter(&p, N);
    }
  }
}

/* ---- maps ---- */

/* What the slots of 4,096 keys add up to, in batches of 1 to 64; some are in the map, some not. */
#define NWORDS 4096u
static void words_of(const nay_filter *f, const uint64_t *x, uint64_t *words) {
  for (unsigned i = 0, n = 1; i < NWORDS; i += n, n = n % 64 + 1) {
    if (n > NWORDS - i) n = NWORDS - i;
    nay__map_lookup(f, x + i, n, words + i);
  }
}

static void check_map(size_t nkeys, unsigned value_bits, unsigned check_bits) {
  pairs p = pairs_of(nkeys, value_bits, 9);
  nay_params params = params_of(value_bits, check_bits);
  nay_filter *map = build(&params, &p);
  nay_filter *f = map;
  const nay_kernels *own = f->kernels, *table;
  uint64_t x[NWORDS], want[NWORDS], words[NWORDS];
  for (size_t i = 0; i < NWORDS; i++) {
    x[i] = i % 3 == 0 ? a_hash(i) : p.hashes[i * 37 % nkeys];
  }
  for (size_t t = 0; (table = nay__kernels_at(t)) != NULL; t++) {
    for (unsigned near = 0; near < 2; near++) {
      f->kernels = table;
      f->bits.in_cache = near != 0;
      words_of(f, x, words);
      if (t == 0 && near == 0) memcpy(want, words, sizeof want);
      assert_memory_equal(words, want, sizeof want);
      for (size_t i = 0; i < 64; i++) { /* one by one */
        nay__map_lookup(f, x + i, 1, words);
        assert_int_equal(words[0], want[i]);
      }
    }
  }
  for (size_t i = 0; i < NWORDS; i++) {
    if (i % 3 == 0) continue;
    uint64_t value = p.values[i * 37 % nkeys];
    assert_int_equal(want[i], nay__map_word_of(&f->shape, x[i], value));
  }
  f->kernels = own;
  nay_filter_free(map);
  pairs_free(&p);
}

/* One layer; two; several parts; codes in one register, in two, gathered. */
static void maps(void **state) {
  (void)state;
  for (unsigned r = 1; r <= 64; r++) check_map(300, r, 0);
  for (unsigned r = 1; r <= 64; r += r < 10 ? 1 : 9) check_map(20000, r, r % 2 == 0 ? 64 - r : 0);
  check_map(170000, 5, 0);
  check_map(300000, 1, 0);
  check_map(300000, 7, 4);
  check_map(300000, 8, 0);
}

int main(void) {
  static const nay_kind kinds[] = {NAY_CUCKOO, NAY_XOR, NAY_FUSE, NAY_RIBBON};
  for (size_t i = 0; i < NPROBES; i++) hashes[i] = a_hash(i);
  test_case tests[7];
  for (size_t i = 0; i < 4; i++) {
    tests[i] = (test_case)TEST_WITH(nay_kind_name(kinds[i]), every_width, &kinds[i]);
  }
  tests[4] = (test_case)TEST(maps);
  tests[5] = (test_case)TEST(windows);
  tests[6] = (test_case)TEST(levels);
  return run_list("kernels_families", tests, 7);
}
