/*
 * test_hash.c - every hash function against values that others computed: published tables, tables
 * made by other implementations (tests/golden/MANIFEST.md), and libsodium and libxxhash as they
 * run. All through the public calls, as filters use them.
 */
#include <sodium.h>
#include <xxhash.h>

#include "format/format.h"
#include "golden/golden.h"
#include "hash/hash.h"
#include "support/hashes.h"

/* The hash of a key in a layout; the key is at the very end of its memory, at any alignment. */
static nay_hash hash_in(const nay_filter *f, const uint8_t *key, size_t len, size_t misalign) {
  uint8_t *memory = malloc(misalign + len + (len == 0)), *at = memory + misalign;
  assert_non_null(memory);
  if (len != 0) memcpy(at, key, len);
  nay_hash hash = {0, 0};
  assert_ok(filter_hash(f, len != 0 ? at : NULL, len, &hash));
  free(memory);
  return hash;
}

static nay_filter *filter_of(const char *format) {
  nay_params p = {sizeof p, .nkeys = 1, .bits_per_key = 10};
  nay_filter *f;
  assert_ok(nay_format_new(nay_format_find(format), &p, NULL, NULL, &f));
  return f;
}

static nay_filter *native(nay_params p) {
  nay_filter *f;
  p.kind = NAY_BLOOM;
  p.nkeys = 1;
  p.bits_per_key = 10;
  assert_ok(nay_filter_new(&p, NULL, NULL, &f));
  return f;
}

/* 0, 1, 2, ... */
static void count_up(uint8_t *bytes, size_t len) {
  for (size_t i = 0; i < len; i++) bytes[i] = (uint8_t)i;
}

static void noise(uint8_t *bytes, size_t len, uint64_t seed) {
  for (size_t i = 0; i < len; i++) bytes[i] = (uint8_t)nay_hash_mix(seed + i);
}

/* ---- SipHash ---- */

static void siphash24_is_the_published_table(void **state) {
  (void)state;
  golden_bytes table = golden_read(TEST_GOLDEN "/hash/siphash24.txt");
  char *rest = (char *)table.at, *line;
  uint8_t key[16], input[64];
  unsigned rows = 0;
  count_up(key, sizeof key);
  count_up(input, sizeof input);
  while ((line = golden_line(&rest)) != NULL) {
    char *end;
    size_t len = strtoul(line, &end, 10);
    assert_int_equal(nay__siphash(key, input, len, 2, 4), strtoull(end, NULL, 16));
    rows++;
  }
  assert_int_equal(rows, 64);
  free(table.at);
}

static void siphash24_is_libsodium(void **state) {
  (void)state;
  assert_true(sodium_init() >= 0);
  uint8_t key[16], input[300], out[8];
  for (uint64_t round = 0; round < 3000; round++) {
    size_t len = nay_hash_mix(round) % sizeof input;
    noise(key, sizeof key, round * 1000);
    noise(input, len, ~round);
    assert_int_equal(crypto_shorthash(out, input, len, key), 0);
    uint64_t want = 0;
    for (unsigned i = 8; i-- > 0;) want = want << 8 | out[i];
    assert_int_equal(nay__siphash(key, input, len, 2, 4), want);
  }
}

static void siphash13_is_rust_and_python(void **state) {
  (void)state;
  golden_bytes table = golden_read(TEST_GOLDEN "/hash/siphash13.txt");
  char *rest = (char *)table.at, *line;
  uint8_t input[4096];
  unsigned rows = 0;
  count_up(input, sizeof input);
  while ((line = golden_line(&rest)) != NULL) {
    nay_params p = {sizeof p, .hash = NAY_HASH_SIPHASH};
    for (unsigned i = 0; i < 16; i++) {
      char pair[3] = {line[2 * i], line[2 * i + 1], 0};
      p.key[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    char *end;
    size_t len = strtoul(line + 32, &end, 10);
    uint64_t want = strtoull(end, NULL, 16);
    assert_int_equal(nay__siphash(p.key, input, len, 1, 3), want);
    nay_filter *f = native(p);
    assert_int_equal(hash_in(f, input, len, rows % 8).lo, want);
    nay_filter_free(f);
    rows++;
  }
  assert_int_equal(rows, 325);
  free(table.at);
}

/* ---- XXH3 and XXH64: libxxhash itself ---- */

static void xxh3_is_libxxhash(void **state) {
  (void)state;
  static const uint64_t seeds[] = {0, 1, 0x9e3779b97f4a7c15u, 0x80000000u, UINT64_MAX};
  uint8_t input[1024];
  noise(input, sizeof input, 3);
  for (size_t s = 0; s < sizeof seeds / sizeof seeds[0]; s++) {
    nay_filter *f = native((nay_params){sizeof(nay_params), .seed = seeds[s]});
    for (size_t len = 0; len <= sizeof input; len++) {
      nay_hash hash = hash_in(f, input, len, len % 5);
      assert_int_equal(hash.lo, XXH3_64bits_withSeed(input, len, seeds[s]));
      assert_int_equal(hash.hi, 0);
    }
    nay_filter_free(f);
  }
}

/*
 * Calls that take one key have a fast path by length. In a filter that is nearly empty a probe
 * answers maybe only if the hash of the add or of the builder was right.
 */
static void xxh3_by_key(void **state) {
  (void)state;
  for (uint64_t round = 0; round < 64; round++) {
    uint64_t seed = round == 0 ? 0 : nay_hash_mix(round);
    nay_params p = {sizeof p, .kind = NAY_BLOOM, .nbits = 1 << 20, .k = 20, .seed = seed};
    nay_filter *f, *added, *built;
    nay_builder *b;
    assert_ok(nay_filter_new(&p, NULL, NULL, &f));
    assert_ok(nay_filter_new(&p, NULL, NULL, &added));
    assert_ok(nay_builder_new(&p, NULL, NULL, &b));
    nay_hash hashes[64];
    size_t n = 0;
    for (size_t len = 0; len <= 300; len += len < 40 ? 1 : 51, n++) {
      uint8_t *key = malloc(len + (len == 0));
      assert_non_null(key);
      noise(key, len, seed + len);
      hashes[n] = (nay_hash){XXH3_64bits_withSeed(key, len, seed), 0};
      assert_false(nay_filter_may_contain(f, key, len));
      assert_ok(nay_filter_add_hash(f, hashes[n], NULL));
      assert_true(nay_filter_may_contain(f, key, len));
      bool is_new = true;
      assert_ok(nay_filter_add(f, key, len, &is_new));
      assert_false(is_new);
      assert_true(len == 0 || nay_filter_may_contain(f, NULL, len)); /* in doubt, maybe */
      assert_ok(nay_filter_add(added, key, len, NULL));
      assert_ok(nay_builder_add(b, key, len));
      free(key);
    }
    assert_ok(nay_builder_finish(b, NULL, &built));
    for (size_t i = 0; i < n; i++) {
      assert_true(nay_filter_may_contain_hash(added, hashes[i]));
      assert_true(nay_filter_may_contain_hash(built, hashes[i]));
    }
    nay_builder_free(b);
    nay_filter_free(built);
    nay_filter_free(added);
    nay_filter_free(f);
  }
}

static void xxh64_pair_is_libxxhash(void **state) {
  (void)state;
  uint8_t input[1024];
  noise(input, sizeof input, 4);
  nay_filter *f = filter_of("nori"), *same = filter_of("nori12");
  for (size_t len = 0; len <= sizeof input; len++) {
    nay_hash hash = hash_in(f, input, len, len % 5);
    assert_int_equal(hash.lo, XXH64(input, len, 0));
    assert_int_equal(hash.hi, XXH64(input, len, 1));
  }
  assert_true(filter_same_hash(f, same));
  nay_filter_free(f);
  nay_filter_free(same);
}

/* ---- LevelDB and FarmHash: stored tables; tests/engines asks the live libraries ---- */

/* A table of 274 lengths: "i hash", for the key varlen(i). */
static void check_varlen_table(const char *path, const char *format) {
  golden_bytes table = golden_read(path);
  char *rest = (char *)table.at, *line;
  uint8_t key[GOLDEN_KEY_MAX];
  unsigned rows = 0;
  nay_filter *f = filter_of(format);
  while ((line = golden_line(&rest)) != NULL) {
    char *end;
    uint64_t i = strtoul(line, &end, 10);
    nay_hash hash = hash_in(f, key, golden_varlen(i, key), rows % 4);
    assert_int_equal(hash.lo, strtoull(end, NULL, 16));
    assert_int_equal(hash.hi, 0);
    rows++;
  }
  assert_int_equal(rows, 274);
  nay_filter_free(f);
  free(table.at);
}

static void leveldb_hash_is_leveldbs(void **state) {
  (void)state;
  check_varlen_table(TEST_GOLDEN "/hash/leveldb.txt", "leveldb");
}

static void xxph3_is_rocksdbs(void **state) {
  (void)state;
  check_varlen_table(TEST_GOLDEN "/hash/xxph3.txt", "rocksdb-bloom");
}

static void leveldb_s8_is_rocksdbs(void **state) {
  (void)state;
  check_varlen_table(TEST_GOLDEN "/hash/leveldb_s8.txt", "rocksdb-legacy");
}

static void farm32_is_the_crate_of_mini_lsm(void **state) {
  (void)state;
  golden_bytes table = golden_read(TEST_GOLDEN "/hash/farm32.txt");
  char *rest = (char *)table.at, *line;
  uint8_t key[GOLDEN_KEY_MAX];
  unsigned rows = 0;
  nay_filter *f = filter_of("mini-lsm");
  while ((line = golden_line(&rest)) != NULL) {
    bool varlen = strncmp(line, "varlen ", 7) == 0;
    char *end;
    uint64_t i = strtoul(line + (varlen ? 7 : 5), &end, 10);
    size_t len = 1;
    key[0] = (uint8_t)i;
    if (varlen) len = golden_varlen(i, key);
    assert_int_equal(hash_in(f, key, len, rows % 4).lo, strtoull(end, NULL, 16));
    rows++;
  }
  assert_int_equal(rows, 301 + 256);
  nay_filter_free(f);
  free(table.at);
}

/* ---- SplitMix64 and FNV-1a ---- */

static void mix_is_splitmix64(void **state) {
  (void)state;
  /* the first numbers of the generator from seeds 0 and 1234567: state + gamma, then the mix */
  static const uint64_t from_0[] = {0xe220a8397b1dcdafu, 0x6e789e6aa1b965f4u, 0x06c45d188009454fu,
                                    0xf88bb8a8724c81ecu, 0x1b39896a51a8749bu};
  static const uint64_t from_1234567[] = {6457827717110365317u, 3203168211198807973u,
                                          9817491932198370423u, 4593380528125082431u,
                                          16408922859458223821u};
  for (uint64_t i = 0; i < 5; i++) {
    assert_int_equal(nay_hash_mix(i * 0x9e3779b97f4a7c15u), from_0[i]);
    assert_int_equal(nay_hash_mix(1234567 + i * 0x9e3779b97f4a7c15u), from_1234567[i]);
  }
}

/* The mix is a bijection, so equal mixes are equal FNVs. */
static void lab_hash_is_the_mix_of_fnv1a(void **state) {
  (void)state;
  static const struct {
    const char *key;
    uint64_t fnv1a;
  } published[] = {{"", 0xcbf29ce484222325u},       {"a", 0xaf63dc4c8601ec8cu},
                   {"b", 0xaf63df4c8601f1a5u},      {"foo", 0xdcb27518fed9d577u},
                   {"foobar", 0x85944171f73967e8u}, {"chongo was here!\n", 0x46810940eff5f915u},
                   {"\xff", 0xaf64724c8602eb6eu}};
  nay_filter *f = filter_of("lab");
  for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
    const char *key = published[i].key;
    nay_hash hash = hash_in(f, (const uint8_t *)key, strlen(key), i % 3);
    uint64_t want = nay_hash_mix(published[i].fnv1a);
    assert_int_equal(hash.lo, want & UINT32_MAX);
    assert_int_equal(hash.hi, want >> 32);
  }
  nay_filter_free(f);
}

/* ---- the list ---- */

static void names_are_distinct(void **state) {
  (void)state;
  nay_hash_kind kinds[NAY_HASH_LAST + 1];
  size_t n = 0;
  for (unsigned kind = 0; kind <= NAY_HASH_LAST; kind++) {
    if (nay_hash_name((nay_hash_kind)kind) != NULL) kinds[n++] = (nay_hash_kind)kind;
  }
  assert_true(n >= 13);
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < i; j++) {
      assert_string_not_equal(nay_hash_name(kinds[i]), nay_hash_name(kinds[j]));
    }
  }
  assert_null(nay_hash_name((nay_hash_kind)63));
}

/* Two functions of one number would make nay_filter_same_hash lie. */
static void every_hash_of_a_layout_has_a_number_of_its_own(void **state) {
  (void)state;
  const nay_foreign_hash *of[NAY_HASH_LAST + 1] = {NULL};
  for (size_t i = 0; nay_format_at(i) != NULL; i++) {
    const nay_format *format = nay_format_at(i);
    const nay_foreign_hash *both[] = {format->hash, format->other_hash};
    assert_true((format->hash == NULL) == (format->family == NULL));
    for (size_t j = 0; j < 2 && both[j] != NULL; j++) {
      assert_in_range(both[j]->kind, NAY_HASH_OTHERS, NAY_HASH_LAST);
      if (of[both[j]->kind] == NULL) of[both[j]->kind] = both[j];
      assert_ptr_equal(of[both[j]->kind], both[j]);
      assert_string_equal(nay_hash_name(both[j]->kind), both[j]->name);
    }
  }
}

int main(void) {
  const test_case tests[] = {
      TEST(siphash24_is_the_published_table),
      TEST(siphash24_is_libsodium),
      TEST(siphash13_is_rust_and_python),
      TEST(xxh3_is_libxxhash),
      TEST(xxh3_by_key),
      TEST(xxh64_pair_is_libxxhash),
      TEST(leveldb_hash_is_leveldbs),
      TEST(xxph3_is_rocksdbs),
      TEST(leveldb_s8_is_rocksdbs),
      TEST(farm32_is_the_crate_of_mini_lsm),
      TEST(mix_is_splitmix64),
      TEST(lab_hash_is_the_mix_of_fnv1a),
      TEST(names_are_distinct),
      TEST(every_hash_of_a_layout_has_a_number_of_its_own),
  };
  return run_all(tests);
}
