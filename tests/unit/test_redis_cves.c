/*
 * test_redis_cves.c - what RedisBloom was broken with, one test for each, by name, on the objects
 * that the module runs on. Every one of them was a number from outside that nobody had checked: in
 * a header of LOADCHUNK, in the fields of RESTORE, in the arguments of RESERVE.
 */
#include "base/bytes.h"
#include "redis/cfsub.h"
#include "redis/redis.h"
#include "support/flaky.h"
#include "support/redisbloom.h"

static void put(uint8_t *at, uint64_t value, size_t width) {
  for (size_t i = 0; i < width; i++) at[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t bits_of(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

/* ---- cuckoo ---- */

static uint64_t item(uint64_t i) {
  uint8_t text[32];
  return nay__cfchain_hash(text, redisbloom_key("item", i, text));
}

/* The header of two sub-filters, 256 and 512 buckets of 4, with one field changed: refused, with a
 * reason, before anything is allocated; in a dump of its own as well. */
static void refuse_cf(size_t offset, uint64_t value, size_t width) {
  golden_bytes bytes = redisbloom_bytes("cf_b4", false);
  put(bytes.at + offset, value, width);
  nay_cfchain_header h = {.nfilters = 77};
  nay_diag diag = {.offset = UINT64_MAX};
  nay_filter *f = NULL;
  assert_status(nay__cfchain_read_header(bytes.at, NAY_CFCHAIN_HEADER_LEN, &diag, &h),
                NAY_ECORRUPT);
  assert_non_null(diag.what);
  assert_true(diag.offset < NAY_CFCHAIN_HEADER_LEN);
  assert_int_equal(h.nfilters, 77);
  const nay_format *format = nay_format_find("redisbloom-cf");
  assert_status(nay_format_decode(format, bytes.at, bytes.len, 0, NULL, NULL, &f), NAY_ECORRUPT);
  assert_null(f);
  free(bytes.at);
}

/* CF.LOADCHUNK wrote past the end of sub-filters that were smaller than their header claimed. */
static void cve_2024_25115_cf_loadchunk_heap_overflow(void **state) {
  (void)state;
  refuse_cf(8, 255, 8);               /* not a power of two: a mask would lie */
  refuse_cf(8, UINT64_C(1) << 63, 8); /* times the bucket size is 0 */
  refuse_cf(8, UINT64_C(1) << 56, 8);
  refuse_cf(24, 60, 8);                /* 2^60 * 1024 */
  refuse_cf(24, 65536, 8);             /* a counter of 16 bits would say 0 */
  refuse_cf(24, UINT64_C(1) << 32, 8); /* and one of 32 */
  refuse_cf(24, UINT64_MAX, 8);
  golden_bytes bytes = redisbloom_bytes("cf_b4", false);
  nay_cfchain_header h;
  nay_cfchain *chain;
  assert_ok(nay__cfchain_read_header(bytes.at, NAY_CFCHAIN_HEADER_LEN, NULL, &h));
  assert_ok(nay__cfchain_new(&h, NULL, NULL, &chain));
  uint8_t *big = malloc(1 << 20); /* ASan watches what is written */
  assert_non_null(big);
  memset(big, 0x41, 1 << 20);
  for (uint64_t offset = 0; offset < 4096; offset += 127) {
    assert_status(nay__cfchain_load(chain, offset, big, 1 << 20), NAY_EINVAL);
    assert_status(nay__cfchain_load(chain, 0 - offset, big, 2049), NAY_EINVAL);
  }
  free(big);
  nay__cfchain_free(chain);
  free(bytes.at);
}

/* CF.RESERVE with numbers that an assertion did not like. */
static void cve_2024_25116_cf_reserve_reachable_assert(void **state) {
  (void)state;
  static const uint64_t wild[] = {
      0, 1, UINT64_C(1) << 31, UINT64_C(1) << 32, UINT64_MAX / 2, UINT64_MAX};
  nay_cfchain_header h;
  for (size_t i = 0; i < sizeof wild / sizeof wild[0]; i++) {
    uint32_t number = wild[i] > UINT32_MAX ? UINT32_MAX : (uint32_t)wild[i];
    assert_status(nay__cfchain_plan(wild[i], 2, 20, 1, &h), NAY_EINVAL);
    if (number != 1) assert_status(nay__cfchain_plan(1024, number, 20, 1, &h), NAY_EINVAL);
    if (number != 1) assert_status(nay__cfchain_plan(1024, 2, number, 1, &h), NAY_EINVAL);
    if (number > 1) assert_status(nay__cfchain_plan(1024, 2, 20, number, &h), NAY_EINVAL);
  }
}

/* Sizes multiplied past 2^64 (there: of a count-min sketch; here: of both chains). */
static void cve_2024_55656_product_overflow(void **state) {
  (void)state;
  nay_cfchain_header h = {.nbuckets = UINT64_C(1) << 60,
                          .nfilters = 1,
                          .bucket_size = 255,
                          .max_iterations = 1,
                          .expansion = 32768};
  uint64_t nslots;
  assert_status(nay__cfchain_nslots(&h, NULL, &nslots), NAY_ECORRUPT);
  h = (nay_cfchain_header){
      .nbuckets = 2, .nfilters = 65535, .bucket_size = 1, .max_iterations = 1, .expansion = 2};
  assert_status(nay__cfchain_nslots(&h, NULL, &nslots), NAY_ECORRUPT);
  nay_sbchain *chain;
  assert_status(nay__sbchain_new(0.01, UINT64_MAX, 2, NAY_SB_DEFAULT, NULL, &chain), NAY_EINVAL);
  assert_status(nay__sbchain_new(1e-300, UINT64_C(1) << 62, 2, NAY_SB_DEFAULT, NULL, &chain),
                NAY_EINVAL);
}

static void redis_8_2_3_cf_division_by_zero_on_insert(void **state) {
  (void)state;
  refuse_cf(8, 0, 8);  /* no buckets */
  refuse_cf(24, 0, 8); /* no sub-filter */
  refuse_cf(32, 0, 2); /* no slots in a bucket */
  refuse_cf(32, 256, 2);
  refuse_cf(34, 0, 2); /* no kicks */
  refuse_cf(36, 3, 2);
  refuse_cf(36, 32769, 2);
  refuse_cf(36, 0, 2); /* two sub-filters where none may be added */
}

/* Items that are not there are removed, and the counter passes below 0. */
static void redis_8_2_3_cf_counter_overflow(void **state) {
  (void)state;
  refuse_cf(0, 3073, 8); /* more items than slots */
  refuse_cf(0, UINT64_MAX, 8);
  refuse_cf(16, UINT64_MAX, 8); /* deletes, of which CF.INFO would say -1 */
  golden_bytes bytes = redisbloom_bytes("cf_b4", false);
  put(bytes.at, 0, 8);              /* no items, it says */
  put(bytes.at + 16, INT64_MAX, 8); /* and has removed all that can be counted */
  nay_cfchain_header h;
  nay_cfchain *chain;
  assert_ok(nay__cfchain_read_header(bytes.at, NAY_CFCHAIN_HEADER_LEN, NULL, &h));
  assert_ok(nay__cfchain_new(&h, NULL, NULL, &chain));
  const uint8_t *slots = bytes.at + NAY_CFCHAIN_HEADER_LEN;
  assert_ok(nay__cfchain_load(chain, 0, slots, 1024));
  assert_ok(nay__cfchain_load(chain, 1024, slots + 1024, 2048));
  nay__cfchain_describe(chain, &h);
  assert_int_equal(h.nitems, 2100); /* counted, not believed */
  assert_int_equal(h.ndeletes, INT64_MAX);
  for (uint64_t i = 400, left = 2100; i < 2500; i++, left--) {
    assert_true(nay__cfchain_remove(chain, item(i)));
    nay__cfchain_describe(chain, &h);
    assert_int_equal(h.nitems, left - 1);
    assert_true(h.ndeletes <= 2100);
  }
  assert_false(nay__cfchain_remove(chain, item(400)));
  nay__cfchain_describe(chain, &h);
  assert_int_equal(h.nitems, 0);
  nay__cfchain_free(chain);
  free(bytes.at);
}

/* RedisBloom issue 481: a filter that may not expand is asked to. */
static void issue_481_cf_expansion_0(void **state) {
  (void)state;
  nay_cfchain_header h;
  nay_cfchain *chain;
  assert_ok(nay__cfchain_plan(4, 2, 20, 0, &h));
  assert_ok(nay__cfchain_new(&h, NULL, NULL, &chain));
  unsigned full = 0;
  for (uint64_t i = 0; i < 100; i++) full += nay__cfchain_add(chain, item(i)) == NAY_EFULL;
  assert_true(full >= 96);
  nay__cfchain_describe(chain, &h);
  assert_int_equal(h.nfilters, 1);
  assert_int_equal(h.nitems, 100 - full);
  nay__cfchain_free(chain);
}

/* Redis 8.4.1, MOD-11593: slots of an RDB value that are shorter or longer than the header says.
 * MOD-12225: what had been read by then leaked. */
static void redis_8_4_1_cf_rdb_of_another_length(void **state) {
  (void)state;
  for (size_t len = 1; len <= 4096; len *= 2) {
    flaky heap = {.fail_at = -1};
    nay_zallocator a = flaky_zallocator(&heap);
    nay_cfchain_header h = {.nitems = 5,
                            .nbuckets = 256,
                            .nfilters = 2,
                            .bucket_size = 4,
                            .max_iterations = 20,
                            .expansion = 2};
    nay_cfchain *chain;
    assert_ok(nay__cfchain_open(&h, &a, NULL, &chain));
    uint8_t *slots = flaky_zalloc(&heap, len);
    nay_status status = nay__cfchain_adopt(chain, 0, 256, slots, len);
    assert_status(status, len == 1024 ? NAY_OK : NAY_ECORRUPT);
    if (status != NAY_OK) flaky_free(&heap, slots, len);
    assert_status(nay__cfchain_finish(chain), NAY_ECORRUPT);
    nay__cfchain_free(chain);
    assert_true(flaky_is_clean(&heap));
  }
}

static void headers_of_other_lengths_are_refused(void **state) {
  (void)state;
  golden_bytes cf = redisbloom_bytes("cf_default", false),
               bf = redisbloom_bytes("bf_default", false);
  nay_cfchain_header h;
  nay_sbchain *chain;
  for (size_t len = 0; len < 200; len++) {
    if (len != NAY_CFCHAIN_HEADER_LEN) {
      assert_status(nay__cfchain_read_header(cf.at, len, NULL, &h), NAY_ECORRUPT);
    }
    if (len != 73) {
      assert_status(nay__sbchain_decode_header(bf.at, len, NULL, NULL, &chain), NAY_ECORRUPT);
    }
  }
  free(cf.at);
  free(bf.at);
}

/* ---- Bloom ---- */

enum { AT_LINKS = 8, AT_OPTIONS = 12, AT_GROWTH = 16, ROW = 20 };
enum {
  ROW_BYTES = 0,
  ROW_BITS = 8,
  ROW_SIZE = 16,
  ROW_ERROR = 24,
  ROW_BPE = 32,
  ROW_HASHES = 40,
  ROW_ENTRIES = 44,
  ROW_N2 = 52
};

/* The header of one link for 1000 items at 1 %, with one field changed: as refuse_cf. */
static void refuse_bf(size_t offset, uint64_t value, size_t width) {
  golden_bytes bytes = redisbloom_bytes("bf_1pct_1000", false);
  put(bytes.at + offset, value, width);
  flaky heap = {.fail_at = -1};
  nay_zallocator a = flaky_zallocator(&heap);
  nay_sbchain *chain = NULL;
  nay_filter *f = NULL;
  nay_diag diag = {.offset = UINT64_MAX};
  assert_status(nay__sbchain_decode_header(bytes.at, 73, &a, &diag, &chain), NAY_ECORRUPT);
  assert_non_null(diag.what);
  assert_null(chain);
  assert_true(heap.peak < 4096); /* no array was made for it */
  assert_true(flaky_is_clean(&heap));
  const nay_format *format = nay_format_find("redisbloom-bf");
  assert_status(nay_format_decode(format, bytes.at, bytes.len, 0, NULL, NULL, &f), NAY_ECORRUPT);
  assert_null(f);
  free(bytes.at);
}

/* Bits beyond the array: every probe and every add went wherever a hash said. */
static void redis_8_2_3_bf_arbitrary_read_write(void **state) {
  (void)state;
  refuse_bf(ROW + ROW_BITS, UINT64_C(1) << 40, 8);
  refuse_bf(ROW + ROW_BITS, UINT64_MAX, 8);
  refuse_bf(ROW + ROW_BITS, 0, 8); /* and a division by zero */
  refuse_bf(ROW + ROW_BYTES, 8, 8);
  refuse_bf(ROW + ROW_BYTES, UINT64_MAX, 8);
  refuse_bf(ROW + ROW_BYTES, UINT64_C(1) << 61, 8); /* times 8 is 0 */
  refuse_bf(ROW + ROW_N2, 40, 1);                   /* positions modulo 2^40 */
  refuse_bf(ROW + ROW_N2, 64, 1);                   /* a shift by 64 */
  refuse_bf(ROW + ROW_N2, 255, 1);
}

static void redis_8_2_3_bf_empty_chain(void **state) {
  (void)state;
  refuse_bf(AT_LINKS, 0, 4);
  uint8_t header[20] = {0};
  nay_sbchain *chain = NULL;
  put(header + AT_OPTIONS, NAY_SB_DEFAULT, 4);
  put(header + AT_GROWTH, 2, 4);
  assert_status(nay__sbchain_decode_header(header, sizeof header, NULL, NULL, &chain),
                NAY_ECORRUPT);
  assert_ok(nay__sbchain_begin(0, NAY_SB_DEFAULT, 2, NULL, NULL, &chain));
  assert_status(nay__sbchain_finish(chain, NULL), NAY_ECORRUPT);
  nay__sbchain_free(chain);
}

/* Redis 8.2.3, 8.4.1 (MOD-11590), CVE-2026-25589 and 8.2.8: RESTORE of a filter whose numbers do
 * not belong together. */
static void cve_2026_25589_bf_restore_of_an_invalid_filter(void **state) {
  (void)state;
  refuse_bf(ROW + ROW_HASHES, 0, 4);
  refuse_bf(ROW + ROW_HASHES, UINT32_MAX, 4); /* hours for a single probe */
  refuse_bf(ROW + ROW_ENTRIES, 0, 8);
  refuse_bf(ROW + ROW_ENTRIES, UINT64_MAX, 8);
  refuse_bf(ROW + ROW_ERROR, bits_of(0), 8);
  refuse_bf(ROW + ROW_ERROR, bits_of(1), 8);
  refuse_bf(ROW + ROW_ERROR, bits_of(-0.5), 8);
  refuse_bf(ROW + ROW_ERROR, UINT64_C(0x7ff8000000000000), 8); /* not a number */
  refuse_bf(ROW + ROW_ERROR, UINT64_C(0x7ff0000000000000), 8); /* infinity */
  refuse_bf(ROW + ROW_BPE, bits_of(1e300), 8);
  refuse_bf(ROW + ROW_BPE, UINT64_C(0x7ff8000000000000), 8);
  refuse_bf(ROW + ROW_SIZE, 7, 8); /* the chain says 1000 */
  refuse_bf(0, UINT64_MAX, 8);
  refuse_bf(AT_OPTIONS, 16, 4);
  refuse_bf(AT_OPTIONS, UINT32_MAX, 4);
  refuse_bf(AT_GROWTH, 0, 4);
  nay_sblink link = {.entries = 1000,
                     .size = 0,
                     .error = 0.005,
                     .bpe = 11.027755,
                     .nbits = 11072,
                     .nbytes = 8, /* the string that came is shorter than its bits */
                     .hashes = 8};
  nay_sbchain *chain;
  uint8_t bytes[8] = {0};
  assert_ok(nay__sbchain_begin(0, NAY_SB_DEFAULT, 2, NULL, NULL, &chain));
  assert_status(nay__sbchain_take(chain, &link, bytes, NULL), NAY_ECORRUPT);
  nay__sbchain_free(chain);
}

/* RedisBloom #1027: a list of links as long as a stranger says. */
static void issue_1027_bf_list_of_links_by_a_strangers_number(void **state) {
  (void)state;
  refuse_bf(AT_LINKS, UINT32_MAX, 4);
  refuse_bf(AT_LINKS, 2, 4);
  refuse_bf(AT_LINKS, UINT32_MAX / 53 + 2, 4); /* times 53 is small again in 32 bits */
}

/* RedisBloom #641: BF.RESERVE b 0.99 1 gave a filter of no bits, and a division by zero. */
static void issue_641_bf_of_no_bits(void **state) {
  (void)state;
  static const double rates[] = {0.999999, 0.99, 0.5, 0.25};
  for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
    nay_sbchain *chain;
    nay_sblink link;
    bool is_new = false;
    assert_ok(nay__sbchain_new(rates[i], 1, 0, NAY_SB_DEFAULT | NAY_SB_NO_SCALING, NULL, &chain));
    assert_ok(nay__sbchain_add(chain, "x", 1, &is_new));
    assert_true(is_new);
    assert_true(nay__sbchain_may_contain(chain, "x", 1));
    assert_ok(nay__sbchain_link(chain, 0, &link));
    assert_true(link.nbits >= 64 && link.hashes >= 1);
    nay__sbchain_free(chain);
  }
}

int main(void) {
  const test_case tests[] = {
      TEST(cve_2024_25115_cf_loadchunk_heap_overflow),
      TEST(cve_2024_25116_cf_reserve_reachable_assert),
      TEST(cve_2024_55656_product_overflow),
      TEST(redis_8_2_3_cf_division_by_zero_on_insert),
      TEST(redis_8_2_3_cf_counter_overflow),
      TEST(issue_481_cf_expansion_0),
      TEST(redis_8_4_1_cf_rdb_of_another_length),
      TEST(headers_of_other_lengths_are_refused),
      TEST(redis_8_2_3_bf_arbitrary_read_write),
      TEST(redis_8_2_3_bf_empty_chain),
      TEST(cve_2026_25589_bf_restore_of_an_invalid_filter),
      TEST(issue_1027_bf_list_of_links_by_a_strangers_number),
      TEST(issue_641_bf_of_no_bits),
  };
  return run_all(tests);
}
