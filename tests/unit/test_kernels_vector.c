/* test_kernels_vector.c - 64 keys of fuse, xor and cuckoo side by side, against their formulas. */
#include <stdlib.h>

#include "family/fuse.h"
#include "support/test.h"

/* Mixed, with some edges: 0, all ones, and lower halves of either. */
static uint64_t a_key(uint64_t seed, unsigned i) {
  uint64_t h = nay_hash_mix(seed << 8 | i);
  switch (i) {
    case 3: return 0;
    case 11: return ~(uint64_t)0;
    case 17: return h >> 32 << 32;
    case 40: return h | 0xffffffffu;
    case 41: return h >> 16 << 16 | 1;
    default: return h;
  }
}

/* ---- fuse and xor ---- */

static uint32_t fuse_sum(nay_fuse_layout layout, const nay_fuse_view *v, const nay_fuse_map *map,
                         uint64_t x, uint64_t at[4]) {
  uint64_t shard = nay__shard_of(x, v->nshards), factor = nay__fuse_factor(v, shard);
  const uint8_t *array = v->arrays + shard * v->stride;
  uint32_t sum = nay__fuse_slots(layout, v, factor, nay__remix(x, 0), map->bits, at);
  for (unsigned j = 0; j < map->arity; j++) sum ^= nay__fuse_get(array, at[j], map->bits);
  return sum;
}

/* Makes the sum of the slots of three keys of four right, unless a later one spoils it. */
static void fuse_plant(nay_fuse_layout layout, const nay_fuse_view *v, const nay_fuse_map *map,
                       const uint64_t *x) {
  for (unsigned i = 0; i < 64; i++) {
    uint64_t at[4];
    uint32_t sum = fuse_sum(layout, v, map, x[i], at);
    for (unsigned bit = 0; bit < map->bits && i % 4 != 0; bit++) {
      uint64_t shard = nay__shard_of(x[i], v->nshards);
      uint64_t place = shard * v->stride * 8 + at[1] * map->bits + bit;
      v->arrays[place >> 3] ^= (uint8_t)((sum >> bit & 1) << (place & 7));
    }
  }
}

/* Shards of which one has no factor, and the last of which ends where its memory does. */
static void fuse_as_formulas(const nay_kernels *table, nay_fuse_layout layout, unsigned bits,
                             uint64_t seed, uint64_t nshards) {
  const uint64_t segment = layout == NAY_XOR_3 ? 0 : (uint64_t)1 << (seed % 17);
  const unsigned arity = nay__fuse_arity(layout);
  const uint64_t span = layout == NAY_XOR_3 ? 1 + seed * 97 : segment * (1 + seed % 5);
  const uint64_t slots = layout == NAY_XOR_3 ? 3 * span : span + (arity - 1) * segment;
  const uint64_t stride = nay__fuse_stride(nshards, slots, bits);
  uint8_t *factors = malloc(8 * nshards), *arrays = malloc(nshards * stride);
  assert_true(factors != NULL && arrays != NULL);
  for (size_t i = 0; i < nshards * stride; i++)
    arrays[i] = (uint8_t)(nay_hash_mix(i >> 3) >> i % 8 * 8);
  for (uint64_t i = 0; i < nshards; i++) {
    nay__store64le(factors + 8 * i, i == 1 ? NAY_FUSE_SAYS_MAYBE : nay_hash_mix(seed + i) | 1);
  }
  nay_fuse_view v = {nshards, stride, span, segment, factors, arrays};
  nay_fuse_map map = {factors, arrays, nshards, stride, span, segment, bits, arity};
  uint64_t x[64], at[4], want = 0, even = 0, fixed;
  for (unsigned i = 0; i < 64; i++) x[i] = a_key(seed, i);
  fuse_plant(layout, &v, &map, x);
  for (unsigned i = 0; i < 64; i++) {
    want |= (uint64_t)(fuse_sum(layout, &v, &map, x[i], at) == 0) << i;
    even |= (uint64_t)(nay__shard_of(x[i], nshards) == 1) << i;
  }
  uint64_t got = table->fuse->test64(&map, x, &fixed);
  assert_int_equal(fixed, even);
  assert_int_equal(got & ~fixed, want & ~fixed);
  assert_true(want != 0);
  free(factors);
  free(arrays);
}

static void fuse(void **state) {
  for (uint64_t seed = 0; seed < 17; seed++) {
    for (unsigned bits = NAY_FUSE_MIN_BITS; bits <= NAY_FUSE_MAX_BITS; bits++) {
      uint64_t nshards = (seed + bits) % 3 == 0 ? 1 : 2 + seed % 2;
      fuse_as_formulas(*state, NAY_FUSE_3, bits, seed, nshards);
      fuse_as_formulas(*state, NAY_FUSE_4, bits, seed, nshards);
      fuse_as_formulas(*state, NAY_XOR_3, bits, seed, nshards);
    }
  }
}

/* ---- cuckoo ---- */

#define HEADER 64u

static uint64_t cuckoo_place(uint64_t bucket, unsigned slot, unsigned f) {
  return (HEADER * 8) + (bucket * 4 + slot) * f;
}

static bool cuckoo_holds(const uint8_t *bytes, uint64_t bucket, unsigned f, uint64_t tag) {
  for (unsigned slot = 0; slot < 4; slot++) {
    uint64_t place = cuckoo_place(bucket, slot, f), found = 0;
    for (unsigned bit = 0; bit < f; bit++, place++) {
      found |= (uint64_t)(bytes[place >> 3] >> (place & 7) & 1) << bit;
    }
    if (found == tag) return true;
  }
  return false;
}

/* doc/formats/nay.md: the tag and the two buckets of a hash. */
static uint64_t cuckoo_find(uint64_t hash, uint64_t m, unsigned f, uint64_t bucket[2]) {
  uint64_t tag = hash & (((uint64_t)1 << f) - 1);
  if (tag == 0) tag = 1;
  uint64_t r = nay__reduce(tag * tag * NAY_G64, m) | 1;
  bucket[0] = nay__reduce(hash, m);
  bucket[1] = (r + m - bucket[0]) % m;
  return tag;
}

/* Every other key is there, at home or not; `noise` fills all other slots, too. */
static void cuckoo_as_formulas(const nay_kernels *table, uint64_t m, unsigned f, bool noise) {
  size_t nbytes = (size_t)(HEADER + (m * 4 * f + 7) / 8 + 8);
  uint8_t *bytes = calloc(nbytes, 1);
  assert_non_null(bytes);
  for (size_t i = 0; noise && i < nbytes; i++) bytes[i] = (uint8_t)nay_hash_mix(m + i);
  uint64_t hashes[64], bucket[2], want = 0;
  for (unsigned i = 0; i < 64; i++) {
    hashes[i] = a_key(m << 8 | f, i);
    uint64_t tag = cuckoo_find(hashes[i], m, f, bucket);
    uint64_t place = cuckoo_place(bucket[i / 2 % 2], i / 4 % 4, f);
    for (unsigned bit = 0; bit < f && i % 2 == 0; bit++, place++) {
      uint8_t mask = (uint8_t)(1u << (place & 7));
      bytes[place >> 3] &= (uint8_t)~mask;
      if (tag >> bit & 1) bytes[place >> 3] |= mask;
    }
  }
  for (unsigned i = 0; i < 64; i++) {
    uint64_t tag = cuckoo_find(hashes[i], m, f, bucket);
    bool holds = cuckoo_holds(bytes, bucket[0], f, tag) || cuckoo_holds(bytes, bucket[1], f, tag);
    want |= (uint64_t)holds << i;
  }
  nay_cuckoo_map map = {bytes + HEADER, m, f};
  assert_int_equal(table->cuckoo->test64(&map, hashes), want);
  nay_bits_probe probe = table->cuckoo->choose_test != NULL ? table->cuckoo->choose_test(f) : NULL;
  nay_bits b = {.bytes = bytes, .nunits = m};
  for (unsigned i = 0; probe != NULL && i < 64; i++) {
    assert_int_equal(probe(&b, hashes[i]), want >> i & 1);
  }
  free(bytes);
}

static void cuckoo(void **state) {
  for (unsigned f = 6; f <= 16; f++) {
    for (uint64_t m = 2; m < 3000; m += m < 40 ? 2 : 278) {
      cuckoo_as_formulas(*state, m, f, true);
      cuckoo_as_formulas(*state, m, f, false);
    }
  }
}

/* The largest that these kernels take: few pages of it are touched. */
static void cuckoo_largest(void **state) {
  cuckoo_as_formulas(*state, ((uint64_t)1 << 28) - 2, 15, false);
  cuckoo_as_formulas(*state, ((uint64_t)1 << 28) - 2, 16, false);
}

int main(void) {
  test_case tests[32];
  size_t n = 0;
  const nay_kernels *table;
  for (size_t i = 0; (table = nay__kernels_at(i)) != NULL; i++) {
    if (table->fuse != NULL) tests[n++] = (test_case)TEST_WITH(table->name, fuse, table);
    if (table->cuckoo == NULL) continue;
    tests[n++] = (test_case)TEST_WITH(table->name, cuckoo, table);
    tests[n++] = (test_case)TEST_WITH(table->name, cuckoo_largest, table);
  }
  return run_list("kernels_vector", tests, n);
}
