/*
 * test_sbchain_hostile.c - headers and fields that lie. Each way in which RedisBloom was broken
 * into has a test of its own; then come all single bytes and many random changes.
 */
#include "base/bytes.h"
#include "support/test.h"
#include "support/zflaky.h"

enum { HEAD = 20, ROW = 53, NLINKS = 3, LEN = HEAD + NLINKS * ROW };
enum { AT_SIZE = 0, AT_NLINKS = 8, AT_OPTIONS = 12, AT_GROWTH = 16 };
enum { ROW_BYTES = 0, ROW_BITS = 8, ROW_SIZE = 16, ROW_ERROR = 24, ROW_BPE = 32, ROW_HASHES = 40 };
enum { ROW_ENTRIES = 44, ROW_N2 = 52 };

/* An honest header of three links. */
static void honest(uint8_t header[LEN]) {
  nay_sbchain *chain;
  size_t written;
  assert_ok(nay__sbchain_new(0.01, 10, 2, NAY_SB_DEFAULT, NULL, &chain));
  for (unsigned i = 0; i < 60; i++) {
    char item[16];
    size_t len = (size_t)snprintf(item, sizeof item, "%u", i);
    assert_ok(nay__sbchain_add(chain, item, len, NULL));
  }
  assert_int_equal(nay__sbchain_header_size(chain), LEN);
  assert_ok(nay__sbchain_encode_header(chain, header, LEN, &written));
  nay__sbchain_free(chain);
}

static void assert_loads_again(const nay_sbchain *chain) {
  size_t len = nay__sbchain_header_size(chain), written;
  uint8_t *header = malloc(len);
  nay_sbchain *again;
  assert_non_null(header);
  assert_ok(nay__sbchain_encode_header(chain, header, len, &written));
  assert_ok(nay__sbchain_decode_header(header, len, NULL, NULL, &again));
  nay__sbchain_free(again);
  free(header);
}

/* Probes, grows and dumps a chain that a stranger's bytes made. */
static void use(nay_sbchain *chain) {
  uint64_t answers, is_new;
  size_t done, len;
  const void *items[] = {"a", "b", "", "a longer item, of 26 bytes"};
  const size_t lens[] = {1, 1, 0, 26};
  nay__sbchain_may_contain_many(chain, items, lens, 4, &answers);
  if (nay__sbchain_add_many(chain, items, lens, 4, &is_new, &done) == NAY_OK) {
    nay__sbchain_may_contain_many(chain, items, lens, 4, &answers);
    assert_int_equal(answers, 15);
  }
  assert_loads_again(chain);
  const uint8_t *bytes;
  uint64_t sum = 0;
  for (uint64_t at = 0; nay__sbchain_chunk(chain, at, 1 << 20, &bytes, &len); at += len) {
    for (size_t i = 0; i < len; i++) sum += bytes[i];
    assert_ok(nay__sbchain_load_chunk(chain, at, bytes, 0));
  }
  assert_true(sum < UINT64_MAX);
}

/* A heap of a megabyte: what a header claims beyond that is no memory. */
static void *small_zalloc(void *ctx, size_t size) {
  flaky *heap = ctx;
  return size > (1u << 20) - heap->live ? NULL : zflaky_alloc(heap, size);
}

static nay_status try_header(const uint8_t *header, size_t len) {
  flaky heap = {.fail_at = -1};
  nay_zallocator a = {small_zalloc, flaky_free, &heap};
  nay_diag diag = {.what = NULL};
  nay_sbchain *chain = NULL;
  uint8_t *exact = malloc(len + (len == 0)); /* so that a read behind the end is seen */
  assert_non_null(exact);
  memcpy(exact, header, len);
  nay_status status = nay__sbchain_decode_header(exact, len, &a, &diag, &chain);
  free(exact);
  if (status == NAY_OK) use(chain);
  if (status == NAY_ECORRUPT) assert_non_null(diag.what);
  nay__sbchain_free(chain);
  assert_true(flaky_is_clean(&heap));
  return status;
}

static void assert_refused(const uint8_t *header) {
  assert_status(try_header(header, LEN), NAY_ECORRUPT);
}

static void store_double(uint8_t *p, double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  nay__store64le(p, bits);
}

static void honest_header_is_taken(void **state) {
  (void)state;
  uint8_t h[LEN];
  honest(h);
  assert_ok(try_header(h, LEN));
}

/* Redis 8.2.3: "out of bounds access with an empty Bloom chain". */
static void empty_chain(void **state) {
  (void)state;
  uint8_t h[LEN];
  honest(h);
  nay__store32le(h + AT_NLINKS, 0);
  assert_status(try_header(h, HEAD), NAY_ECORRUPT);
  assert_refused(h);
  nay_sbchain *chain;
  assert_ok(nay__sbchain_begin(0, 5, 2, NULL, NULL, &chain));
  assert_status(nay__sbchain_finish(chain, NULL), NAY_ECORRUPT);
  nay__sbchain_free(chain);
}

/* Redis 8.2.3: "arbitrary memory reads and writes with an invalid Bloom filter"; RED-181297. */
static void bits_beyond_the_array(void **state) {
  (void)state;
  const uint64_t lies[] = {0, 1, 63, 65, 192 + 64, 1ull << 40, 1ull << 63, UINT64_MAX};
  for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
    uint8_t h[LEN];
    honest(h);
    nay__store64le(h + HEAD + ROW_BITS, lies[i]);
    assert_refused(h);
    honest(h);
    nay__store64le(h + HEAD + ROW_BYTES, lies[i]);
    assert_refused(h);
  }
}

/* bytes * 8 that wraps round to the bits. */
static void product_that_overflows(void **state) {
  (void)state;
  uint8_t h[LEN];
  honest(h);
  uint64_t nbytes = nay__load64le(h + HEAD + ROW_BYTES);
  nay__store64le(h + HEAD + ROW_BYTES, nbytes + (1ull << 61));
  assert_refused(h);
}

/* A shift by 64 or more, and a power of two that is not the array's. */
static void powers_of_two_that_are_not(void **state) {
  (void)state;
  for (unsigned n2 = 1; n2 < 256; n2++) {
    uint8_t h[LEN];
    honest(h);
    h[HEAD + ROW_N2] = (uint8_t)n2;
    assert_refused(h);
  }
}

/* Found by mutated RESTOREs: what loads can be grown, and what has grown can be loaded again. */
static void capacity_as_a_logarithm_without_one(void **state) {
  (void)state;
  uint8_t h[LEN];
  for (uint32_t options = 2; options < 16; options++) {
    honest(h);
    nay__store32le(h + AT_OPTIONS, options);
    nay_status status = try_header(h, LEN);
    assert_status(status, options & NAY_SB_ENTRIES_ARE_LOG2 ? NAY_ECORRUPT : NAY_OK);
  }
}

/* A number of hashes that would keep the server busy for ever, and none at all. */
static void hashes_that_are_not_the_rates(void **state) {
  (void)state;
  const uint32_t lies[] = {0, 1, 7, 9, 1u << 31, UINT32_MAX};
  for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
    uint8_t h[LEN];
    honest(h);
    nay__store32le(h + HEAD + ROW_HASHES, lies[i]);
    assert_refused(h);
  }
  uint8_t h[LEN]; /* consistent with each other, but not with the rate */
  honest(h);
  store_double(h + HEAD + ROW_BPE, 1e9);
  nay__store32le(h + HEAD + ROW_HASHES, 693147181);
  assert_refused(h);
}

static void rates_that_are_none(void **state) {
  (void)state;
  const double lies[] = {0, -0.0, 1, 2, -1, 1e308 * 10, -(1e308 * 10), 0.0 / (1e308 * 0)};
  for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
    uint8_t h[LEN];
    honest(h);
    store_double(h + HEAD + ROW_ERROR, lies[i]);
    assert_refused(h);
    honest(h);
    store_double(h + HEAD + ROW_BPE, lies[i]);
    assert_refused(h);
  }
}

/* Entries without end would make a filter that never grows; none, one that always does. */
static void entries_that_do_not_fit(void **state) {
  (void)state;
  const uint64_t lies[] = {0, 1, 100, 1ull << 60, UINT64_MAX};
  for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
    uint8_t h[LEN];
    honest(h);
    nay__store64le(h + HEAD + ROW_ENTRIES, lies[i]);
    assert_refused(h);
  }
}

/* #1027: the list of links was allocated by this number. */
static void more_links_than_the_header_has(void **state) {
  (void)state;
  const uint32_t lies[] = {1, NLINKS - 1, NLINKS + 1, 1u << 26, UINT32_MAX};
  for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
    uint8_t h[LEN];
    honest(h);
    nay__store32le(h + AT_NLINKS, lies[i]);
    assert_refused(h);
  }
}

static void every_length_but_one_is_refused(void **state) {
  (void)state;
  uint8_t h[LEN + 64] = {0};
  honest(h);
  for (size_t len = 0; len < sizeof h; len++) {
    assert_status(try_header(h, len), len == LEN ? NAY_OK : NAY_ECORRUPT);
  }
}

static void counts_that_do_not_add_up(void **state) {
  (void)state;
  uint8_t h[LEN];
  honest(h);
  nay__store64le(h + AT_SIZE, nay__load64le(h + AT_SIZE) + 1);
  assert_refused(h);
  honest(h); /* more items than could have set a bit */
  nay__store64le(h + AT_SIZE, nay__load64le(h + AT_SIZE) + (1ull << 62));
  nay__store64le(h + HEAD + ROW_SIZE, nay__load64le(h + HEAD + ROW_SIZE) + (1ull << 62));
  assert_refused(h);
  honest(h); /* a sum that wraps round to the right one */
  nay__store64le(h + HEAD + ROW_SIZE, UINT64_MAX);
  nay__store64le(h + HEAD + ROW + ROW_SIZE, nay__load64le(h + HEAD + ROW + ROW_SIZE) + 11);
  assert_refused(h);
}

static void options_and_growth_that_do_not_exist(void **state) {
  (void)state;
  uint8_t h[LEN];
  honest(h);
  nay__store32le(h + AT_OPTIONS, 16);
  assert_refused(h);
  honest(h);
  nay__store32le(h + AT_GROWTH, 0); /* the next link would have no entries */
  assert_refused(h);
  nay_sbchain *chain;
  assert_status(nay__sbchain_begin(0, 1ull << 32 | 5, 2, NULL, NULL, &chain), NAY_ECORRUPT);
  assert_status(nay__sbchain_begin(0, 5, 1ull << 32 | 2, NULL, NULL, &chain), NAY_ECORRUPT);
}

/* Links of a stranger's chain may have any rates: the strictest need not come last. */
static void strict_links_before_lax_ones(void **state) {
  (void)state;
  const double rates[] = {1e-300, 0.5, 1e-320, 0.9};
  nay_sbchain *chain;
  assert_ok(nay__sbchain_begin(0, 13, 2, NULL, NULL, &chain));
  for (size_t i = 0; i < 4; i++) {
    nay_sbchain *one;
    nay_sblink link;
    assert_ok(nay__sbchain_new(rates[i], 50, 2, 13, NULL, &one));
    assert_ok(nay__sbchain_link(one, 0, &link));
    void *bytes = calloc(1, link.nbytes);
    assert_non_null(bytes);
    assert_ok(nay__sbchain_take(chain, &link, bytes, NULL));
    nay__sbchain_free(one);
  }
  assert_ok(nay__sbchain_finish(chain, NULL));
  const void *items[NAY_SB_BATCH];
  size_t lens[NAY_SB_BATCH], done;
  char text[NAY_SB_BATCH];
  uint64_t is_new = 0, answers;
  for (size_t i = 0; i < NAY_SB_BATCH; i++) {
    text[i] = (char)i;
    items[i] = &text[i];
    lens[i] = 1;
  }
  nay__sbchain_may_contain_many(chain, items, lens, NAY_SB_BATCH, &answers);
  assert_int_equal(answers, 0); /* so all links have been asked */
  (void)nay__sbchain_add_many(chain, items, lens, NAY_SB_BATCH, &is_new, &done);
  nay__sbchain_may_contain_many(chain, items, lens, NAY_SB_BATCH, &answers);
  assert_int_equal(answers & is_new, is_new);
  nay__sbchain_free(chain);
}

/* A true header of a filter that is larger than the memory. */
static void honest_claims_without_memory(void **state) {
  (void)state;
  uint8_t h[LEN];
  double bpe;
  honest(h);
  uint64_t entries = 1ull << 40, bpe_bits = nay__load64le(h + HEAD + ROW_BPE);
  memcpy(&bpe, &bpe_bits, sizeof bpe);
  uint64_t words = (uint64_t)((double)entries * bpe) / 64 + 1;
  nay__store32le(h + AT_NLINKS, 1);
  nay__store64le(h + AT_SIZE, nay__load64le(h + HEAD + ROW_SIZE));
  nay__store64le(h + HEAD + ROW_BYTES, words * 8);
  nay__store64le(h + HEAD + ROW_BITS, words * 64);
  nay__store64le(h + HEAD + ROW_ENTRIES, entries);
  assert_status(try_header(h, HEAD + ROW), NAY_ENOMEM);
}

/* CVE-2024-25115 was this for cuckoo filters: a chunk that runs over the end of its array. */
static void chunks_outside_their_link(void **state) {
  (void)state;
  uint8_t h[LEN], bytes[64] = {0};
  nay_sbchain *chain;
  nay_sbstats stats;
  nay_sblink first;
  honest(h);
  assert_ok(nay__sbchain_decode_header(h, LEN, NULL, NULL, &chain));
  nay__sbchain_stats(chain, &stats);
  assert_ok(nay__sbchain_link(chain, 0, &first));
  assert_ok(nay__sbchain_load_chunk(chain, 0, bytes, first.nbytes));
  assert_status(nay__sbchain_load_chunk(chain, 0, bytes, first.nbytes + 1), NAY_EBUFFER);
  assert_status(nay__sbchain_load_chunk(chain, 1, bytes, first.nbytes), NAY_EBUFFER);
  assert_status(nay__sbchain_load_chunk(chain, stats.nbytes - 1, bytes, 2), NAY_EBUFFER);
  assert_status(nay__sbchain_load_chunk(chain, stats.nbytes, bytes, 0), NAY_EINVAL);
  assert_status(nay__sbchain_load_chunk(chain, UINT64_MAX, bytes, 1), NAY_EINVAL);
  assert_status(nay__sbchain_load_chunk(chain, 0, bytes, SIZE_MAX), NAY_EBUFFER);
  nay__sbchain_free(chain);
}

/* Growth that would overflow, or tighten a rate to nothing, is refused and changes nothing. */
static void growth_that_overflows(void **state) {
  (void)state;
  nay_sbchain *chain;
  assert_ok(nay__sbchain_new(0.5, 1, UINT32_MAX, NAY_SB_DEFAULT, NULL, &chain));
  assert_ok(nay__sbchain_add(chain, "a", 1, NULL));
  nay__sbchain_free(chain);
  flaky heap = {.fail_at = -1};
  nay_zallocator a = {small_zalloc, flaky_free, &heap};
  assert_ok(nay__sbchain_new(1e-323, 1, 1, NAY_SB_DEFAULT, &a, &chain));
  assert_ok(nay__sbchain_add(chain, "a", 1, NULL));
  assert_status(nay__sbchain_add(chain, "b", 1, NULL), NAY_EINVAL); /* 5e-324 / 2 */
  assert_true(nay__sbchain_may_contain(chain, "a", 1));
  nay__sbchain_free(chain);
  assert_true(flaky_is_clean(&heap));
}

static void any_single_byte_is_refused_or_harmless(void **state) {
  (void)state;
  for (size_t at = 0; at < LEN; at++) {
    for (unsigned x = 1; x < 256; x++) {
      uint8_t h[LEN];
      honest(h);
      h[at] ^= (uint8_t)x;
      (void)try_header(h, LEN);
      x += x > 16 ? 6 : 0;
    }
  }
}

static void random_changes_are_refused_or_harmless(void **state) {
  (void)state;
  uint64_t seed = 42;
  uint8_t original[LEN];
  honest(original);
  for (unsigned i = 0; i < TEST_SCALE(100000); i++) {
    uint8_t h[LEN];
    memcpy(h, original, LEN);
    for (unsigned n = 1 + i % 4; n > 0; n--) {
      uint64_t r = nay_hash_mix(seed++);
      h[r % LEN] = (uint8_t)(r >> 32);
    }
    (void)try_header(h, LEN);
  }
}

int main(void) {
  const test_case tests[] = {
      TEST(honest_header_is_taken),
      TEST(empty_chain),
      TEST(bits_beyond_the_array),
      TEST(product_that_overflows),
      TEST(powers_of_two_that_are_not),
      TEST(capacity_as_a_logarithm_without_one),
      TEST(hashes_that_are_not_the_rates),
      TEST(rates_that_are_none),
      TEST(entries_that_do_not_fit),
      TEST(more_links_than_the_header_has),
      TEST(every_length_but_one_is_refused),
      TEST(counts_that_do_not_add_up),
      TEST(options_and_growth_that_do_not_exist),
      TEST(strict_links_before_lax_ones),
      TEST(honest_claims_without_memory),
      TEST(chunks_outside_their_link),
      TEST(growth_that_overflows),
      TEST(any_single_byte_is_refused_or_harmless),
      TEST(random_changes_are_refused_or_harmless),
  };
  return run_all(tests);
}
