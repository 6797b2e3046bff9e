/*
 * test_inline.c - inline probes answer as the filter does: blocked with every k in sizes of all
 * kinds, sbbf, fuse of 8 and 16 bits with 3 and 4 slots in one shard and in many; built, copied,
 * folded, merged, decoded, mapped, viewed at odd addresses, keyed; with every set of flags that
 * this CPU can run (inline_probes.h). What they cannot answer, init refuses and says why.
 */
#include "base/bytes.h"
#include "family/fuse.h"
#include "filter.h"
#include "golden/golden.h"
#include "inline_probes.h"
#include "nay_format.h"
#include "support/hashes.h"
#include "support/static_sets.h"
#include "support/temp.h"

/* ---- variants ---- */

static const inline_variant *variants[9];
static size_t nvariants;

static void find_variants(void) {
  variants[nvariants++] = &inline_variant_o0;
  variants[nvariants++] = &inline_variant_o3;
  variants[nvariants++] = &inline_variant_portable;
#ifdef INLINE_HAS_X86
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2")) variants[nvariants++] = &inline_variant_avx2;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) {
    variants[nvariants++] = &inline_variant_avx512;
  }
#endif
#ifdef INLINE_HAS_NATIVE
  variants[nvariants++] = &inline_variant_native;
#endif
#ifdef INLINE_HAS_CPP
  variants[nvariants++] = &inline_variant_cpp;
#endif
#if defined(INLINE_HAS_CPP) && defined(INLINE_HAS_X86)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) {
    variants[nvariants++] = &inline_variant_cpp_avx512;
  }
#endif
}

/* ---- the same answers ---- */

#define MAX_HASHES 8192u
#define MAX_KEYS 300000u

static uint64_t hashes[MAX_HASHES], expected[MAX_HASHES / 64], answers[MAX_HASHES / 64];
static size_t nhashes;
static uint64_t nprobes; /* in all */

/* Half of them present: key i is set_random's. */
static void choose_hashes(const uint64_t *present, size_t npresent, size_t n) {
  assert_true(n <= MAX_HASHES);
  for (nhashes = 0; nhashes < n; nhashes++) {
    bool absent = npresent == 0 || nhashes % 2 == 1;
    hashes[nhashes] = absent ? nay_hash_mix(nhashes + ((uint64_t)77 << 40))
                             : present[nay_hash_mix(nhashes) % npresent];
  }
  hashes[n - 1] = ~(uint64_t)0; /* the last block, the last shard */
  hashes[n - 3] = 0;
}

static void assert_same(const nay_filter *f, inline_type type, const char *what) {
  memset(expected, 0, sizeof expected);
  for (size_t i = 0; i < nhashes; i++) {
    bool maybe = nay_filter_may_contain_hash(f, (nay_hash){hashes[i], 0});
    expected[i / 64] |= (uint64_t)maybe << i % 64;
  }
  for (size_t v = 0; v < nvariants; v++) {
    assert_ok(variants[v]->all(type, f, NULL, hashes, nhashes, answers));
    nprobes += nhashes;
    if (memcmp(answers, expected, (nhashes + 63) / 64 * 8) != 0) {
      fail_msg("%s: %s answers otherwise", what, variants[v]->name);
    }
  }
}

/* Every variant refuses with this status, says why, and leaves the probe alone. */
static void assert_refused(const nay_filter *f, inline_type type, nay_status status) {
  for (size_t v = 0; v < nvariants; v++) {
    nay_diag diag = {.what = NULL};
    assert_status(variants[v]->all(type, f, &diag, hashes, nhashes, answers), status);
    assert_non_null(diag.what);
    assert_status(variants[v]->all(type, f, NULL, hashes, nhashes, answers), status);
  }
}

/* ---- forms ---- */

static void same_when_viewed(const nay_filter *f, inline_type type, const char *what) {
  size_t len = nay_filter_encoded_size(f), written;
  uint8_t *bytes = malloc(len + 3);
  assert_non_null(bytes);
  for (size_t odd = 0; odd <= 3; odd += 3) {
    nay_view view = {.size = sizeof view};
    assert_ok(nay_filter_encode(f, bytes + odd, len, &written));
    assert_ok(nay_view_open(bytes + odd, len, NULL, NULL, &view));
    assert_same(nay_view_filter(&view), type, what);
  }
  nay_filter *decoded;
  assert_ok(nay_filter_decode(bytes + 3, len, NULL, NULL, &decoded));
  assert_same(decoded, type, what);
  nay_filter_free(decoded);
  free(bytes);
}

static void same_when_mapped(const nay_filter *f, inline_type type, const char *what) {
  char path[TEMP_MAX];
  nay_filter *mapped, *lazy;
  assert_ok(nay_filter_save(f, temp_path(path, "inline"), NULL));
  assert_ok(nay_filter_mmap(path, 0, NULL, NULL, &mapped));
  assert_ok(nay_filter_mmap(path, NAY_MMAP_LAZY, NULL, NULL, &lazy));
  remove(path);
  assert_same(mapped, type, what);
  assert_refused(lazy, type, NAY_ENOTSUP);
  nay_filter_free(mapped);
  nay_filter_free(lazy);
}

static void same_in_every_form(const nay_filter *f, inline_type type, const char *what) {
  nay_filter *copy;
  assert_same(f, type, what);
  assert_ok(nay_filter_copy(f, NULL, NULL, &copy));
  assert_same(copy, type, what);
  nay_filter_free(copy);
  same_when_viewed(f, type, what);
  same_when_mapped(f, type, what);
}

/* ---- blocked ---- */

static nay_filter *blocked(uint64_t nblocks, uint32_t k, const uint64_t *x, size_t n) {
  nay_params p = {.size = sizeof p,
                  .kind = NAY_BLOCKED,
                  .nbits = nblocks * 512,
                  .k = k,
                  .hash = NAY_HASH_CALLER};
  nay_filter *f;
  assert_ok(nay_filter_new(&p, NULL, NULL, &f));
  assert_ok(nay_filter_add_hash_many(f, x, NULL, n, NULL, NULL));
  return f;
}

/* One block; odd; a power of two; m * 2^e; more than one chunk of a file. */
static const uint64_t block_counts[] = {1, 3, 64, 7 * 32, 1500};
#define N_BLOCK_COUNTS (sizeof block_counts / sizeof block_counts[0])

/* A share of 0.5 of the bits is set; and 0.93, so that many keys lack only a late bit. */
static const double fills[] = {0.7, 2.7};

static void blocked_of_every_k_and_size(void **state) {
  (void)state;
  uint64_t *x = set_random(MAX_KEYS, 1);
  for (uint32_t k = 1; k <= 64; k++) {
    for (size_t i = 0; i < 2 * N_BLOCK_COUNTS; i++) {
      uint64_t nblocks = block_counts[i / 2];
      size_t n = 1 + (size_t)(fills[i % 2] * 512 * (double)nblocks) / k;
      char what[64];
      snprintf(what, sizeof what, "blocked, k %u, %llu blocks", k, (unsigned long long)nblocks);
      if (n > MAX_KEYS) n = MAX_KEYS;
      nay_filter *f = blocked(nblocks, k, x, n);
      choose_hashes(x, n, TEST_SCALE(640));
      assert_same(f, INLINE_BLOCKED, what);
      nay_filter_free(f);
    }
  }
  free(x);
}

static void blocked_in_every_form(void **state) {
  (void)state;
  static const uint32_t ks[] = {1, 6, 8, 9, 16, 17, 64};
  uint64_t *x = set_random(20000, 2);
  for (size_t i = 0; i < sizeof ks / sizeof ks[0]; i++) {
    nay_filter *f = blocked(1536, ks[i], x, 120000 / (ks[i] + 6)), *other;
    choose_hashes(x, 120000 / (ks[i] + 6), TEST_SCALE(6400));
    same_in_every_form(f, INLINE_BLOCKED, "blocked");
    assert_ok(nay_filter_fold(f, 3, NULL));
    same_in_every_form(f, INLINE_BLOCKED, "folded");
    other = blocked(256, ks[i], x + 500, 1000);
    assert_ok(nay_filter_merge(f, other, 1, NULL));
    same_in_every_form(f, INLINE_BLOCKED, "merged at another size");
    assert_ok(nay_filter_intersect(f, other, NULL));
    same_in_every_form(f, INLINE_BLOCKED, "intersected");
    assert_ok(nay_filter_clear(f));
    assert_same(f, INLINE_BLOCKED, "cleared");
    nay_filter_free(other);
    nay_filter_free(f);
  }
  free(x);
}

/* A probe that was made before an add sees the key. */
static void adds_are_seen(void **state) {
  (void)state;
  nay_filter *f = blocked(5000, 7, NULL, 0);
  nay_inline_blocked probe = {.k = 0};
  assert_ok(nay_inline_blocked_init(f, NULL, &probe));
  for (uint64_t i = 0; i < 5000; i++) {
    uint64_t hash = nay_hash_mix(i);
    assert_ok(nay_filter_add_hash(f, (nay_hash){hash, 0}, NULL));
    assert_true(nay_inline_blocked_may_contain(&probe, hash));
  }
  assert_int_equal(probe.k, 7);
  assert_int_equal(probe.nblocks, 5000);
  nay_filter_free(f);
}

/* ---- sbbf ---- */

static nay_filter *split_blocks(uint64_t nblocks, const uint64_t *x, size_t n) {
  nay_params p = {.size = sizeof p, .nbits = nblocks * 256};
  nay_filter *f;
  assert_ok(nay_format_new(nay_format_find("sbbf"), &p, NULL, NULL, &f));
  assert_ok(nay_filter_add_hash_many(f, x, NULL, n, NULL, NULL));
  return f;
}

/* Parquet's filter: built, viewed at odd addresses, merged, folded. */
static void sbbf_of_every_form(void **state) {
  (void)state;
  static const uint64_t sizes[] = {1, 2, 3, 64, 1000, 3000};
  uint64_t *x = set_random(60000, 9);
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    size_t n = (size_t)sizes[i] * 10;
    nay_filter *f = split_blocks(sizes[i], x, n), *other = split_blocks(sizes[i], x + n, n);
    choose_hashes(x, n, TEST_SCALE(6400));
    assert_same(f, INLINE_SBBF, "sbbf");
    assert_refused(f, INLINE_BLOCKED, NAY_ENOTSUP);
    golden_bytes bytes = golden_encode(f);
    uint8_t *odd = malloc(bytes.len + 1);
    nay_view view = {.size = sizeof view};
    assert_non_null(odd);
    memcpy(odd + 1, bytes.at, bytes.len);
    assert_ok(nay_format_view(nay_format_find("sbbf"), odd + 1, bytes.len, NAY_FORMAT_CERTAIN, NULL,
                              &view));
    assert_same(nay_view_filter(&view), INLINE_SBBF, "viewed");
    assert_ok(nay_filter_merge(f, other, 1, NULL));
    assert_same(f, INLINE_SBBF, "merged");
    if (sizes[i] % 2 == 0) assert_ok(nay_filter_fold(f, 2, NULL));
    assert_same(f, INLINE_SBBF, "folded");
    free(odd);
    free(bytes.at);
    nay_filter_free(other);
    nay_filter_free(f);
  }
  free(x);
}

/* A probe that was made before an add sees the key. */
static void sbbf_adds_are_seen(void **state) {
  (void)state;
  nay_filter *f = split_blocks(100, NULL, 0);
  nay_inline_sbbf probe = {.nblocks = 0};
  assert_ok(nay_inline_sbbf_init(f, NULL, &probe));
  assert_int_equal(probe.nblocks, 100);
  for (uint64_t i = 0; i < 1000; i++) {
    uint64_t hash = nay_hash_mix(i);
    assert_ok(nay_filter_add_hash(f, (nay_hash){hash, 0}, NULL));
    nay_inline_sbbf_prefetch(&probe, hash);
    assert_true(nay_inline_sbbf_may_contain(&probe, hash));
  }
  nay_filter_free(f);
}

/* ---- fuse ---- */

static const struct {
  inline_type type;
  unsigned bits, slots;
} fuses[] = {{INLINE_FUSE8, 8, 3},
             {INLINE_FUSE16, 16, 3},
             {INLINE_FUSE8_4WISE, 8, 4},
             {INLINE_FUSE16_4WISE, 16, 4}};
#define N_FUSES (sizeof fuses / sizeof fuses[0])

static nay_filter *fuse(unsigned bits, unsigned slots, const uint64_t *x, size_t n) {
  nay_params p = set_params(NAY_FUSE, 1 / (double)((uint64_t)1 << bits), slots);
  p.threads = 2;
  return set_build(&p, x, n);
}

static void fuse_of_every_shape(void **state) {
  (void)state;
  static const size_t sizes[] = {1, 2, 3, 10, 100, 777, 5000, 30000};
  uint64_t *x = set_random(30000, 3);
  for (size_t i = 0; i < N_FUSES; i++) {
    for (size_t j = 0; j < sizeof sizes / sizeof sizes[0]; j++) {
      nay_filter *f = fuse(fuses[i].bits, fuses[i].slots, x, sizes[j]);
      choose_hashes(x, sizes[j], TEST_SCALE(1280));
      same_in_every_form(f, fuses[i].type, "fuse");
      for (size_t other = 0; other < N_FUSES; other++) {
        if (other != i) assert_refused(f, fuses[other].type, NAY_ENOTSUP);
      }
      nay_filter_free(f);
    }
  }
  free(x);
}

/* 2^21 keys and more: two shards, and three. */
static void fuse_of_many_shards(void **state) {
  (void)state;
  static const size_t sizes[] = {2097152, 3200000};
  uint64_t *x = set_random(3200000, 4);
  for (size_t i = 0; i < N_FUSES; i++) {
    if (TEST_SCALE(10) != 10 && i % 3 != 0) continue; /* slow to build */
    size_t n = sizes[i % 2];
    nay_filter *f = fuse(fuses[i].bits, fuses[i].slots, x, n);
    assert_int_equal(nay__fuse_nshards(&f->shape), i % 2 + 2);
    choose_hashes(x, n, TEST_SCALE(8000));
    same_in_every_form(f, fuses[i].type, "fuse in shards");
    nay__store64le(f->bits.bytes + NAY_FUSE_HEADER + 8, 0x123456789abcdef1); /* all were alike */
    assert_same(f, fuses[i].type, "factors that differ");
    nay_filter_free(f);
  }
  free(x);
}

/* ---- refusals ---- */

static void other_families_and_layouts(void **state) {
  (void)state;
  uint64_t *x = set_random(500, 5);
  unsigned nforeign = 0;
  choose_hashes(x, 500, 64);
  for (int kind = 1; nay_kind_name((nay_kind)kind) != NULL; kind++) {
    const uint32_t of_keys = NAY_CAN_RANGE | NAY_CAN_GET; /* not built of hashes */
    if ((nay_kind_traits((nay_kind)kind) & of_keys) != 0) continue;
    nay_params p = {.size = sizeof p,
                    .kind = (nay_kind)kind,
                    .nkeys = 500,
                    .fpr = 0.01,
                    .hash = NAY_HASH_CALLER};
    nay_filter *f = set_build(&p, x, 500);
    for (size_t t = 0; t < INLINE_NTYPES; t++) { /* fuse at 1% has 7 bits */
      if (kind == NAY_BLOCKED && t == INLINE_BLOCKED) continue;
      if (kind == NAY_SBBF && t == INLINE_SBBF) continue;
      assert_refused(f, (inline_type)t, NAY_ENOTSUP);
    }
    nay_filter_free(f);
  }
  free(x);
  for (size_t t = 0; t < INLINE_NTYPES; t++) assert_refused(NULL, (inline_type)t, NAY_EINVAL);
  nay_params p = {sizeof p, .nkeys = 500, .bits_per_key = 10};
  for (size_t i = 0; nay_format_at(i) != NULL; i++) {
    nay_filter *f;
    if (nay_format_new(nay_format_at(i), &p, NULL, NULL, &f) != NAY_OK) continue;
    if (nay_filter_kind(f) == NAY_AUTO) {
      assert_refused(f, INLINE_BLOCKED, NAY_ENOTSUP);
      nforeign++;
    }
    nay_filter_free(f);
  }
  assert_true(nforeign >= 4);
}

/* Fingerprints of other widths; and what is left of the arguments. */
static void other_widths_and_null(void **state) {
  (void)state;
  uint64_t *x = set_random(100, 6);
  choose_hashes(x, 100, 64);
  for (unsigned bits = 4; bits <= 32; bits++) {
    nay_filter *f = fuse(bits, 3, x, 100);
    for (size_t i = 0; i < N_FUSES; i++) {
      if (fuses[i].bits != bits || fuses[i].slots != 3) {
        assert_refused(f, fuses[i].type, NAY_ENOTSUP);
      }
    }
    const uint32_t shapes[] = {NAY_INLINE_FUSE8, NAY_INLINE_FUSE16};
    nay_inline_fuse probe;
    for (unsigned i = 0; i < 2; i++) {
      nay_status wanted = bits == 8u << i ? NAY_OK : NAY_ENOTSUP;
      assert_status(nay_filter_inline(f, shapes[i], sizeof probe, NULL, &probe), wanted);
      assert_status(nay_filter_inline(f, shapes[i], sizeof probe, NULL, NULL), NAY_EINVAL);
      assert_status(nay_filter_inline(f, shapes[i], sizeof probe - 8, NULL, &probe), NAY_EINVAL);
    }
    nay_filter_free(f);
  }
  nay_filter *f = blocked(4, 4, x, 100);
  nay_inline_blocked kept = {.k = 99}, probe = kept;
  const size_t size = sizeof probe;
  assert_status(nay_filter_inline(f, NAY_INLINE_BLOCKED, size, NULL, NULL), NAY_EINVAL);
  assert_status(nay_filter_inline(f, NAY_INLINE_BLOCKED, size + 8, NULL, &probe), NAY_EINVAL);
  assert_status(nay_filter_inline(f, 0, size, NULL, &probe), NAY_ENOTSUP); /* no such shape */
  assert_status(nay_filter_inline(f, 7, size, NULL, &probe), NAY_ENOTSUP);
  nay_filter_free(f);
  assert_status(nay_inline_blocked_init(NULL, NULL, &probe), NAY_EINVAL);
  assert_memory_equal(&probe, &kept, sizeof probe);
  free(x);
}

static void concurrent_filters(void **state) {
  (void)state;
  uint64_t *x = set_random(500, 7);
  choose_hashes(x, 500, 640);
  nay_params p = {.size = sizeof p,
                  .kind = NAY_BLOCKED,
                  .nbits = 40 * 512,
                  .k = 6,
                  .flags = NAY_CONCURRENT,
                  .hash = NAY_HASH_CALLER};
  nay_filter *f;
  assert_ok(nay_filter_new(&p, NULL, NULL, &f));
  assert_refused(f, INLINE_BLOCKED, NAY_ENOTSUP);
  nay_filter_free(f);
  p = set_params(NAY_FUSE, 1.0 / 256, 3);
  p.flags |= NAY_CONCURRENT; /* static: nobody adds */
  f = set_build(&p, x, 500);
  assert_same(f, INLINE_FUSE8, "shared fuse");
  nay_filter_free(f);
  free(x);
}

/* Locked: refused, as keys have no hash yet; unlocked: as any other. */
static void keyed_filters(void **state) {
  (void)state;
  nay_params p = {
      .size = sizeof p, .kind = NAY_BLOCKED, .nkeys = 100, .fpr = 0.01, .hash = NAY_HASH_SIPHASH};
  memset(p.key, 7, sizeof p.key);
  nay_filter *f, *g;
  assert_ok(nay_filter_new(&p, NULL, NULL, &f));
  for (uint8_t i = 0; i < 100; i++) assert_ok(nay_filter_add(f, &i, 1, NULL));
  choose_hashes(NULL, 0, 640);
  assert_same(f, INLINE_BLOCKED, "keyed");
  uint8_t bytes[4096];
  size_t len;
  assert_ok(nay_filter_encode(f, bytes, sizeof bytes, &len));
  assert_ok(nay_filter_decode(bytes, len, NULL, NULL, &g));
  assert_refused(g, INLINE_BLOCKED, NAY_EKEY);
  assert_ok(nay_filter_unlock(g, p.key));
  assert_same(g, INLINE_BLOCKED, "unlocked");
  for (uint8_t i = 0; i < 100; i++) { /* its keys, by their hashes */
    nay_hash hash;
    assert_ok(filter_hash(g, &i, 1, &hash));
    for (size_t v = 0; v < nvariants; v++) {
      assert_ok(variants[v]->all(INLINE_BLOCKED, g, NULL, &hash.lo, 1, answers));
      assert_int_equal(answers[0], 1);
    }
  }
  nay_filter_free(f);
  nay_filter_free(g);
}

/* Filters that the probes of the header cannot answer: a premix, a shard whose answer is fixed. */
static void odd_fuse_filters(void **state) {
  (void)state;
  uint64_t *x = set_random(500, 8);
  choose_hashes(x, 500, 640);
  for (size_t i = 0; i < N_FUSES; i++) {
    nay_filter *f = fuse(fuses[i].bits, fuses[i].slots, NULL, 0);
    assert_refused(f, fuses[i].type, NAY_ENOTSUP); /* the empty set says nay */
    nay_filter_free(f);
    f = fuse(fuses[i].bits, fuses[i].slots, x, 500);
    nay__store64le(f->bits.bytes, 12345);
    assert_refused(f, fuses[i].type, NAY_ENOTSUP); /* hashes are mixed first */
    nay__store64le(f->bits.bytes, 0);
    assert_same(f, fuses[i].type, "fuse");
    nay__store64le(f->bits.bytes + NAY_FUSE_HEADER, NAY_FUSE_SAYS_MAYBE);
    assert_refused(f, fuses[i].type, NAY_ENOTSUP);
    nay_filter_free(f);
  }
  free(x);
}

static void enough_probes(void **state) {
  (void)state;
  print_message("# %zu variants, %llu probes\n", nvariants, (unsigned long long)nprobes);
  assert_true(nprobes >= TEST_SCALE(1000000));
}

int main(void) {
  const test_case tests[] = {
      TEST(blocked_of_every_k_and_size),
      TEST(blocked_in_every_form),
      TEST(sbbf_of_every_form),
      TEST(sbbf_adds_are_seen),
      TEST(adds_are_seen),
      TEST(fuse_of_every_shape),
      TEST(fuse_of_many_shards),
      TEST(other_families_and_layouts),
      TEST(other_widths_and_null),
      TEST(concurrent_filters),
      TEST(keyed_filters),
      TEST(odd_fuse_filters),
      TEST(enough_probes),
  };
  find_variants();
  return run_all(tests);
}
