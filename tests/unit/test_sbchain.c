/* test_sbchain.c - RedisBloom's chained Bloom filter: its bytes, its growth, its old variants. */
#include <math.h>

#include "golden/golden.h"
#include "hash/hash.h"
#include "math/elementary.h"
#include "redis/sbchain.h"
#include "support/zflaky.h"

static size_t make_item(const char *prefix, uint64_t i, char *out, size_t size) {
  return (size_t)snprintf(out, size, "%s:%llu", prefix, (unsigned long long)i);
}

static bool add(nay_sbchain *chain, uint64_t i) {
  char item[40];
  bool is_new;
  assert_ok(nay__sbchain_add(chain, item, make_item("item", i, item, sizeof item), &is_new));
  return is_new;
}

static bool has(const nay_sbchain *chain, const char *prefix, uint64_t i) {
  char item[40];
  return nay__sbchain_may_contain(chain, item, make_item(prefix, i, item, sizeof item));
}

static golden_bytes header_of(const nay_sbchain *chain) {
  golden_bytes header = {NULL, nay__sbchain_header_size(chain)};
  size_t written;
  header.at = malloc(header.len);
  assert_non_null(header.at);
  assert_status(nay__sbchain_encode_header(chain, header.at, header.len - 1, &written),
                NAY_EBUFFER);
  assert_ok(nay__sbchain_encode_header(chain, header.at, header.len, &written));
  assert_int_equal(written, header.len);
  return header;
}

static void assert_same(const nay_sbchain *a, const nay_sbchain *b) {
  golden_bytes ha = header_of(a), hb = header_of(b);
  assert_int_equal(ha.len, hb.len);
  assert_memory_equal(ha.at, hb.at, ha.len);
  free(ha.at);
  free(hb.at);
  nay_sblink la, lb;
  for (uint64_t i = 0; nay__sbchain_link(a, i, &la) == NAY_OK; i++) {
    assert_ok(nay__sbchain_link(b, i, &lb));
    assert_memory_equal(la.bytes, lb.bytes, la.nbytes);
  }
}

/* ---- golden filters ---- */

/* One filter of bloom_chains.txt. */
typedef struct golden_chain {
  double error;
  unsigned long long capacity, n;
  unsigned growth, options;
  golden_bytes header, arrays; /* arrays: one after the other */
  size_t lens[16];             /* of the arrays */
  unsigned narrays;
  bool hits[2000];
} golden_chain;

static size_t unhex(const char *text, uint8_t *out) {
  size_t n = strlen(text) / 2;
  for (size_t i = 0; i < n; i++) {
    unsigned byte;
    assert_int_equal(sscanf(text + 2 * i, "%2x", &byte), 1);
    out[i] = (uint8_t)byte;
  }
  return n;
}

static void read_hits(char *text, golden_chain *g) {
  for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " ")) {
    g->hits[atoi(word)] = true;
  }
}

/* The next filter of the file; false at the end. */
static bool next_golden(char **rest, golden_chain *g) {
  *g = (golden_chain){.header.at = malloc(4096), .arrays.at = malloc(65536)};
  char *line;
  while ((line = golden_line(rest)) != NULL && strcmp(line, "end") != 0) {
    if (strncmp(line, "made ", 5) == 0) {
      assert_int_equal(
          sscanf(line, "made %lf %llu %u %u", &g->error, &g->capacity, &g->growth, &g->options), 4);
    } else if (strncmp(line, "items ", 6) == 0) {
      g->n = strtoull(line + 6, NULL, 10);
    } else if (strncmp(line, "header ", 7) == 0) {
      g->header.len = unhex(line + 7, g->header.at);
    } else if (strncmp(line, "array ", 6) == 0) {
      g->lens[g->narrays] = unhex(line + 6, g->arrays.at + g->arrays.len);
      g->arrays.len += g->lens[g->narrays++];
    } else if (strncmp(line, "hits", 4) == 0) {
      read_hits(line + 4, g);
    }
  }
  return line != NULL;
}

static void free_golden(golden_chain *g) {
  free(g->header.at);
  free(g->arrays.at);
}

static void assert_golden(const nay_sbchain *chain, const golden_chain *g) {
  golden_bytes header = header_of(chain);
  assert_int_equal(header.len, g->header.len);
  assert_memory_equal(header.at, g->header.at, header.len);
  free(header.at);
  const uint8_t *bytes;
  size_t at = 0, len;
  for (unsigned i = 0; nay__sbchain_chunk(chain, at, SIZE_MAX, &bytes, &len); i++, at += len) {
    assert_int_equal(len, g->lens[i]);
    assert_memory_equal(bytes, g->arrays.at + at, len);
  }
  assert_int_equal(at, g->arrays.len);
  for (unsigned i = 0; i < 2000; i++) assert_int_equal(has(chain, "probe", i), g->hits[i]);
}

/* Adds as the server did: a filter that does not scale refuses what comes after it is full. */
static nay_sbchain *build_golden(const golden_chain *g) {
  nay_sbchain *chain;
  assert_ok(nay__sbchain_new(g->error, g->capacity, g->growth, g->options, NULL, &chain));
  for (unsigned long long i = 0; i < g->n; i++) {
    char item[40];
    nay_status status =
        nay__sbchain_add(chain, item, make_item("item", i, item, sizeof item), NULL);
    if (status != NAY_OK) assert_status(status, NAY_EFULL);
  }
  return chain;
}

static nay_sbchain *load_golden(const golden_chain *g) {
  nay_sbchain *chain;
  nay_diag diag = {.what = ""};
  assert_status(nay__sbchain_decode_header(g->header.at, g->header.len, NULL, &diag, &chain),
                NAY_OK);
  for (size_t at = 0, i = 0; i < g->narrays; at += g->lens[i++]) {
    assert_ok(nay__sbchain_load_chunk(chain, at, g->arrays.at + at, g->lens[i]));
  }
  return chain;
}

/* As an RDB value comes: field by field, the arrays handed over. */
static nay_sbchain *assemble(const nay_sbchain *from) {
  nay_sbstats stats;
  nay_sbchain *chain;
  nay_sblink link;
  nay__sbchain_stats(from, &stats);
  assert_ok(nay__sbchain_begin(stats.size, stats.options, stats.growth, NULL, NULL, &chain));
  for (uint64_t i = 0; nay__sbchain_link(from, i, &link) == NAY_OK; i++) {
    void *bytes = malloc(link.nbytes);
    assert_non_null(bytes);
    memcpy(bytes, link.bytes, link.nbytes);
    assert_ok(nay__sbchain_take(chain, &link, bytes, NULL));
  }
  assert_ok(nay__sbchain_finish(chain, NULL));
  return chain;
}

static void filters_of_redisbloom_are_rebuilt_and_read(void **state) {
  (void)state;
  golden_bytes file = golden_read(TEST_GOLDEN "/redis/bloom_chains.txt");
  char *rest = (char *)file.at;
  golden_chain g;
  unsigned n = 0;
  for (; next_golden(&rest, &g); n++, free_golden(&g)) {
    nay_sbchain *built = build_golden(&g), *loaded = load_golden(&g), *fields = assemble(loaded);
    assert_golden(built, &g);
    assert_golden(loaded, &g);
    assert_golden(fields, &g);
    nay__sbchain_free(built);
    nay__sbchain_free(loaded);
    nay__sbchain_free(fields);
  }
  free_golden(&g);
  free(file.at);
  assert_int_equal(n, 6);
}

/* ---- arithmetic ---- */

/* SMHasher's check: hashes of 0..254 bytes under falling seeds, hashed again. */
static void murmur_has_its_published_check_values(void **state) {
  (void)state;
  uint8_t key[256], all64[256 * 8], all32[256 * 4];
  for (unsigned i = 0; i < 256; i++) {
    key[i] = (uint8_t)i;
    uint64_t h64 = nay__murmur64a(key, i, 256 - i);
    uint32_t h32 = nay__murmur32(key, i, 256 - i);
    for (unsigned b = 0; b < 8; b++) all64[8 * i + b] = (uint8_t)(h64 >> (8 * b));
    for (unsigned b = 0; b < 4; b++) all32[4 * i + b] = (uint8_t)(h32 >> (8 * b));
  }
  assert_int_equal((uint32_t)nay__murmur64a(all64, sizeof all64, 0), 0x1f0d3804u);
  assert_int_equal(nay__murmur32(all32, sizeof all32, 0), 0x27864c1eu);
}

static void positions_are_remainders(void **state) {
  (void)state;
  const uint64_t moduli[] = {1, 2, 3, 64, 1152, 11072, 1ull << 32, (1ull << 63) - 1, 1ull << 63};
  uint64_t seed = 7;
  for (size_t m = 0; m < sizeof moduli / sizeof moduli[0] + 2000; m++) {
    sblink link = {.nbits = m < 9 ? moduli[m] : nay_hash_mix(m) >> (m % 60)};
    if (link.nbits == 0) continue;
    nay__sblink_set_modulus(&link);
    for (uint32_t i = 0; i < 50; i++) {
      nay_hash h = {nay_hash_mix(seed), nay_hash_mix(seed + 1)};
      seed += 2;
      if (i == 0) h = (nay_hash){UINT64_MAX, 0};
      if (i == 1) h = (nay_hash){link.nbits - 1, 1};
      assert_true(nay__sblink_position(&link, h, i) == (h.lo + i * h.hi) % link.nbits);
    }
  }
}

/* libm is the oracle. It is not exact to the last bit itself: 16 of 100000 random rates differ. */
static void logarithms_are_those_of_libm(void **state) {
  (void)state;
  const double rates[] = {0.5,  0.25, 0.2,   0.1,  0.05, 0.03, 0.02,
                          0.01, 5e-3, 0.001, 1e-4, 1e-5, 1e-6, 1e-10};
  for (size_t r = 0; r < sizeof rates / sizeof rates[0]; r++) {
    for (int link = 0; link < 60; link++) {
      double error = ldexp(rates[r], -link);
      assert_true(nay__ln_nearest(error) == log(error));
    }
  }
  unsigned differ = 0;
  for (uint64_t i = 1; i <= 20000; i++) {
    double error = (double)(nay_hash_mix(i) >> 11) * 0x1p-53, a = nay__ln_nearest(error);
    differ += a != log(error);
    assert_close(a, log(error), 2.3e-16);
  }
  assert_true(differ < 20);
  assert_true(nay__ln_nearest(5e-324) == log(5e-324));
}

/* ---- behaviour ---- */

static void chain_grows_by_its_factor_and_tightens(void **state) {
  (void)state;
  nay_sbchain *chain;
  assert_ok(nay__sbchain_new(0.02, 10, 3, NAY_SB_DEFAULT, NULL, &chain));
  for (uint64_t i = 0; i < 1000; i++) add(chain, i);
  for (uint64_t i = 0; i < 1000; i++) assert_true(has(chain, "item", i));
  nay_sbstats stats;
  nay__sbchain_stats(chain, &stats);
  assert_int_equal(stats.nlinks, 5);
  assert_int_equal(stats.capacity, 10 + 30 + 90 + 270 + 810);
  nay_sblink link;
  double error = 0.02;
  for (uint64_t i = 0; nay__sbchain_link(chain, i, &link) == NAY_OK; i++) {
    error /= 2;
    assert_true(link.error == error);
    assert_true(i == 4 || link.size == link.entries);
  }
  assert_status(nay__sbchain_link(chain, 5, &link), NAY_EINVAL);
  nay__sbchain_free(chain);
}

static void chain_that_does_not_scale_is_full(void **state) {
  (void)state;
  nay_sbchain *chain, *copy;
  bool is_new;
  assert_ok(nay__sbchain_new(0.01, 3, 2, NAY_SB_DEFAULT | NAY_SB_NO_SCALING, NULL, &chain));
  for (uint64_t i = 0; i < 3; i++) assert_true(add(chain, i));
  assert_ok(nay__sbchain_copy(chain, NULL, &copy));
  assert_status(nay__sbchain_add(chain, "four", 4, &is_new), NAY_EFULL);
  assert_false(add(chain, 1)); /* what is there is no error */
  assert_same(chain, copy);
  nay__sbchain_free(chain);
  nay__sbchain_free(copy);
}

static void bad_wishes_are_refused(void **state) {
  (void)state;
  nay_sbchain *chain;
  const double rates[] = {0, 1, -0.5, 2, NAN, INFINITY};
  for (size_t i = 0; i < 6; i++) {
    assert_status(nay__sbchain_new(rates[i], 10, 2, 13, NULL, &chain), NAY_EINVAL);
  }
  assert_status(nay__sbchain_new(0.01, 0, 2, 5, NULL, &chain), NAY_EINVAL);
  assert_status(nay__sbchain_new(0.01, 10, 0, 5, NULL, &chain), NAY_EINVAL);
  assert_status(nay__sbchain_new(0.01, 10, 2, 16, NULL, &chain), NAY_EINVAL);
  assert_status(nay__sbchain_new(0.01, UINT64_MAX, 2, 5, NULL, &chain), NAY_EINVAL);
  assert_status(nay__sbchain_new(0.01, UINT64_MAX, 2, 4, NULL, &chain), NAY_EINVAL);
  assert_status(nay__sbchain_new(0.01, 64, 2, 6, NULL, &chain), NAY_EINVAL);
  flaky heap = {.fail_at = 2}; /* the object, the list of links, the array */
  nay_zallocator a = zflaky_allocator(&heap);
  assert_status(nay__sbchain_new(0.01, 1ull << 55, 2, 5, &a, &chain), NAY_ENOMEM);
  assert_true(flaky_is_clean(&heap));
}

/* The bits of a link from the definition: hash, multiply, remainder. */
static void set_by_definition(const nay_sblink *link, bool is_hash64, const char *item, size_t len,
                              uint8_t *bytes) {
  const uint8_t *p = (const uint8_t *)item;
  uint64_t a =
      is_hash64 ? nay__murmur64a(p, len, 0xc6a4a7935bd1e995u) : nay__murmur32(p, len, 0x9747b28cu);
  uint64_t b = is_hash64 ? nay__murmur64a(p, len, a) : nay__murmur32(p, len, (uint32_t)a);
  for (uint32_t i = 0; i < link->hashes; i++) {
    uint64_t at = (a + i * b) % (link->n2 > 0 ? 1ull << link->n2 : link->nbits);
    bytes[at / 8] |= (uint8_t)(1u << at % 8);
  }
}

static void old_variants_are_probed_and_grown_as_they_were(void **state) {
  (void)state;
  const uint32_t variants[] = {0, NAY_SB_HASH64, NAY_SB_NO_ROUND, NAY_SB_DEFAULT};
  for (size_t v = 0; v < 4; v++) {
    nay_sbchain *chain, *again;
    nay_sblink link;
    assert_ok(nay__sbchain_new(0.01, 100, 2, variants[v], NULL, &chain));
    assert_ok(nay__sbchain_link(chain, 0, &link));
    uint8_t expected[1024] = {0};
    for (uint64_t i = 0; i < link.entries; i++) {
      char item[40];
      size_t len = make_item("item", i, item, sizeof item);
      if (add(chain, i)) set_by_definition(&link, variants[v] & NAY_SB_HASH64, item, len, expected);
    }
    assert_memory_equal(link.bytes, expected, link.nbytes);
    bool is_power = !(variants[v] & NAY_SB_NO_ROUND);
    assert_int_equal(link.n2, is_power ? 11 : 0); /* 100 items of 11.03 bits: 2048 */
    assert_int_equal(link.entries, is_power ? 185 : 100);
    for (uint64_t i = 0; i < 500; i++) add(chain, i);
    again = assemble(chain);
    assert_same(chain, again);
    for (uint64_t i = 0; i < 500; i++) assert_true(has(again, "item", i));
    nay__sbchain_free(chain);
    nay__sbchain_free(again);
  }
}

/* Capacity as a logarithm: the next link would be 2^(entries * growth) bits, more than any memory.
 */
static void capacity_as_a_logarithm_is_read_and_cannot_grow(void **state) {
  (void)state;
  nay_sbchain *chain;
  nay_sblink link;
  assert_ok(nay__sbchain_new(0.01, 10, 2, NAY_SB_ENTRIES_ARE_LOG2 | NAY_SB_HASH64, NULL, &chain));
  assert_ok(nay__sbchain_link(chain, 0, &link));
  assert_int_equal(link.nbits, 1024);
  assert_int_equal(link.entries, 92); /* 1024 / 11.03 */
  nay_status status = NAY_OK;
  for (uint64_t i = 0; i < 200 && status == NAY_OK; i++) {
    char item[40];
    status = nay__sbchain_add(chain, item, make_item("item", i, item, sizeof item), NULL);
  }
  assert_status(status, NAY_EINVAL);
  nay__sbchain_free(chain);
}

static void batches_answer_as_single_items(void **state) {
  (void)state;
  enum { N = 170000, FIRST = 150000 }; /* the first link is larger than what is taken as cached */
  nay_sbchain *one, *many;
  assert_ok(nay__sbchain_new(0.001, FIRST, 2, NAY_SB_DEFAULT, NULL, &one));
  assert_ok(nay__sbchain_new(0.001, FIRST, 2, NAY_SB_DEFAULT, NULL, &many));
  for (uint64_t from = 0, batch = 0; from < N; from += 1 + batch++ % NAY_SB_BATCH) {
    char text[NAY_SB_BATCH][24];
    const void *items[NAY_SB_BATCH];
    size_t lens[NAY_SB_BATCH], n = 1 + batch % NAY_SB_BATCH, done;
    uint64_t is_new, there;
    for (size_t i = 0; i < n; i++) { /* some twice in one batch */
      lens[i] = make_item("item", from + i - (i % 5 == 4), text[i], sizeof text[i]);
      items[i] = text[i];
    }
    nay__sbchain_may_contain_many(many, items, lens, n, &there);
    for (size_t i = 0; i < n; i++) {
      assert_int_equal(there >> i & 1, nay__sbchain_may_contain(one, items[i], lens[i]));
    }
    assert_ok(nay__sbchain_add_many(many, items, lens, n, &is_new, &done));
    assert_int_equal(done, n);
    for (size_t i = 0; i < n; i++) {
      bool was_new;
      assert_ok(nay__sbchain_add(one, items[i], lens[i], &was_new));
      assert_int_equal(is_new >> i & 1, was_new);
    }
  }
  assert_same(one, many);
  nay__sbchain_free(one);
  nay__sbchain_free(many);
}

static void batch_of_adds_stops_at_the_first_failure(void **state) {
  (void)state;
  nay_sbchain *chain;
  const void *items[] = {"a", "b", "a", "c", "d"};
  const size_t lens[] = {1, 1, 1, 1, 1};
  uint64_t is_new;
  size_t done;
  assert_ok(nay__sbchain_new(0.01, 2, 2, NAY_SB_DEFAULT | NAY_SB_NO_SCALING, NULL, &chain));
  assert_status(nay__sbchain_add_many(chain, items, lens, 5, &is_new, &done), NAY_EFULL);
  assert_int_equal(done, 3);
  assert_int_equal(is_new, 3);
  nay__sbchain_free(chain);
}

/* ---- memory ---- */

static void failed_growth_changes_nothing(void **state) {
  (void)state;
  flaky heap = {.fail_at = -1};
  nay_zallocator a = zflaky_allocator(&heap);
  nay_sbchain *chain, *copy;
  assert_ok(nay__sbchain_new(0.01, 2, 2, NAY_SB_DEFAULT, &a, &chain));
  for (long at = 0; at < 2; at++) { /* the list of links, the array */
    add(chain, 0);
    add(chain, 1);
    assert_ok(nay__sbchain_copy(chain, NULL, &copy));
    flaky_arm(&heap, at, true);
    assert_status(nay__sbchain_add(chain, "more", 4, NULL), NAY_ENOMEM);
    flaky_arm(&heap, -1, false);
    assert_same(chain, copy);
    nay__sbchain_free(copy);
  }
  assert_true(add(chain, 2));
  nay__sbchain_free(chain);
  assert_true(flaky_is_clean(&heap));
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  nay_sbchain *source;
  assert_ok(nay__sbchain_new(0.01, 2, 2, NAY_SB_DEFAULT, NULL, &source));
  for (uint64_t i = 0; i < 50; i++) add(source, i);
  golden_bytes header = header_of(source);
  for (long at = 0;; at++) {
    flaky heap = {.fail_at = at};
    nay_zallocator a = zflaky_allocator(&heap);
    nay_sbchain *copy = NULL, *decoded = NULL;
    nay_status status = nay__sbchain_copy(source, &a, &copy);
    if (status == NAY_OK) {
      status = nay__sbchain_decode_header(header.at, header.len, &a, NULL, &decoded);
    }
    nay__sbchain_free(copy);
    nay__sbchain_free(decoded);
    assert_true(flaky_is_clean(&heap));
    if (status == NAY_OK) break;
    assert_status(status, NAY_ENOMEM);
  }
  free(header.at);
  nay__sbchain_free(source);
}

static void *move_by_copy(void *ctx, void *ptr) {
  size_t *n = ctx;
  size_t size = *n == 0 ? sizeof(nay_sbchain) : *n == 1 ? 8 * sizeof(sblink) : 0;
  ++*n;
  if (size == 0) return NULL; /* the arrays stay */
  void *moved = malloc(size);
  assert_non_null(moved);
  memcpy(moved, ptr, size);
  free(ptr);
  return moved;
}

static void parts_can_be_moved_one_by_one(void **state) {
  (void)state;
  nay_sbchain *chain, *copy;
  assert_ok(nay__sbchain_new(0.01, 2, 2, NAY_SB_DEFAULT, NULL, &chain));
  for (uint64_t i = 0; i < 50; i++) add(chain, i); /* five links: the list has room for 8 */
  assert_ok(nay__sbchain_copy(chain, NULL, &copy));
  size_t n = 0;
  for (uint64_t part = 0; nay__sbchain_move(&chain, part, move_by_copy, &n); part++) continue;
  assert_int_equal(n, 2 + 5);
  assert_same(chain, copy);
  assert_true(add(chain, 1000));
  nay__sbchain_free(chain);
  nay__sbchain_free(copy);
}

int main(void) {
  const test_case tests[] = {
      TEST(filters_of_redisbloom_are_rebuilt_and_read),
      TEST(murmur_has_its_published_check_values),
      TEST(positions_are_remainders),
      TEST(logarithms_are_those_of_libm),
      TEST(chain_grows_by_its_factor_and_tightens),
      TEST(chain_that_does_not_scale_is_full),
      TEST(bad_wishes_are_refused),
      TEST(old_variants_are_probed_and_grown_as_they_were),
      TEST(capacity_as_a_logarithm_is_read_and_cannot_grow),
      TEST(batches_answer_as_single_items),
      TEST(batch_of_adds_stops_at_the_first_failure),
      TEST(failed_growth_changes_nothing),
      TEST(every_allocation_may_fail),
      TEST(parts_can_be_moved_one_by_one),
  };
  return run_all(tests);
}
