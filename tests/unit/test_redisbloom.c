/*
 * test_redisbloom.c - RedisBloom's filters outside of Redis: dumps that it wrote are recognised,
 * answer as it answered, and are written back byte for byte, in the form of SCANDUMP and of DUMP;
 * bytes of strangers are refused with a reason.
 */
#include "format/lzf.h"
#include "format/rdb.h"
#include "support/exercise.h"
#include "support/redisbloom.h"
#include "support/seal.h"

static const char *const names[] = {"bf_default", "bf_1pct_1000", "bf_nonscaling", "bf_exp4",
                                    "bf_tiny",    "bf_empty",     "cf_default",    "cf_b4",
                                    "cf_exp0",    "cf_del"};
#define N_NAMES (sizeof names / sizeof names[0])

static const nay_format *format_of(const char *name, bool is_dump) {
  char text[32];
  snprintf(text, sizeof text, "%s-%.2s", is_dump ? "redis-dump" : "redisbloom", name);
  const nay_format *format = nay_format_find(text);
  assert_non_null(format);
  return format;
}

static nay_filter *decode(const char *name, bool is_dump) {
  golden_bytes bytes = redisbloom_bytes(name, is_dump);
  nay_filter *f;
  assert_ok(nay_format_decode(format_of(name, is_dump), bytes.at, bytes.len, 0, NULL, NULL, &f));
  free(bytes.at);
  return f;
}

/* ---- bytes ---- */

static void assert_writes(const nay_format *format, const nay_filter *f, golden_bytes want) {
  assert_int_equal(nay_format_encoded_size(format, f), want.len);
  uint8_t *got = malloc(want.len);
  size_t written = 0;
  assert_non_null(got);
  assert_status(nay_format_encode(format, f, got, want.len - 1, &written), NAY_EBUFFER);
  assert_ok(nay_format_encode(format, f, got, want.len, &written));
  assert_int_equal(written, want.len);
  assert_memory_equal(got, want.at, want.len);
  free(got);
}

/* Each form is written from itself and from the other. */
static void both_forms_are_written_as_they_were(void **state) {
  (void)state;
  for (size_t i = 0; i < N_NAMES; i++) {
    golden_bytes scan = redisbloom_bytes(names[i], false), dump = redisbloom_bytes(names[i], true);
    for (int from_dump = 0; from_dump < 2; from_dump++) {
      nay_filter *f = decode(names[i], from_dump), *copy;
      assert_ok(nay_filter_copy(f, NULL, NULL, &copy));
      assert_writes(format_of(names[i], false), f, scan);
      assert_writes(format_of(names[i], true), copy, dump);
      nay_filter_free(f);
      nay_filter_free(copy);
    }
    free(scan.at);
    free(dump.at);
  }
}

static void another_kind_of_filter_is_not_written(void **state) {
  (void)state;
  nay_filter *bf = decode("bf_default", true), *cf = decode("cf_default", false);
  uint8_t buffer[4096];
  size_t written;
  static const char *const others[] = {"nay", "leveldb", "nori", "redisbloom-cf", "redis-dump-cf"};
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
    const nay_format *other = nay_format_find(others[i]);
    assert_int_equal(nay_format_encoded_size(other, bf), 0);
    assert_status(nay_format_encode(other, bf, buffer, sizeof buffer, &written), NAY_EMISMATCH);
  }
  const nay_format *bloom = nay_format_find("redis-dump-bf");
  assert_status(nay_format_encode(bloom, cf, buffer, sizeof buffer, &written), NAY_EMISMATCH);
  nay_filter_free(bf);
  nay_filter_free(cf);
}

static void a_dump_is_recognised_and_a_scan_is_not(void **state) {
  (void)state;
  for (size_t i = 0; i < N_NAMES; i++) {
    golden_bytes scan = redisbloom_bytes(names[i], false), dump = redisbloom_bytes(names[i], true);
    assert_ptr_equal(nay_format_recognise(dump.at, 10, 10, NULL), format_of(names[i], true));
    assert_ptr_equal(nay_format_recognise(dump.at, dump.len, dump.len, NULL),
                     format_of(names[i], true));
    assert_null(nay_format_recognise(dump.at, 9, 9, NULL));
    assert_null(nay_format_recognise(scan.at, scan.len, scan.len, NULL));
    assert_true((nay_format_traits(format_of(names[i], true)) & NAY_FORMAT_MAGIC) != 0);
    assert_true((nay_format_traits(format_of(names[i], true)) & NAY_FORMAT_CHECKSUM) != 0);
    assert_false((nay_format_traits(format_of(names[i], false)) & NAY_FORMAT_MAGIC) != 0);
    free(scan.at);
    free(dump.at);
  }
  assert_null(nay_format_recognise(NULL, 10, 10, NULL));
}

/* ---- answers ---- */

static void assert_hits(const nay_filter *f, const char *hits, golden_key make) {
  uint64_t next = redisbloom_number(&hits);
  for (uint64_t p = 0; p < 2000; p++) {
    uint8_t key[GOLDEN_KEY_MAX];
    size_t len = make(p, key);
    assert_int_equal(nay_filter_may_contain(f, key, len), p == next);
    if (p == next) next = redisbloom_number(&hits);
  }
  assert_true(next == UINT64_MAX);
}

static size_t probe_key(uint64_t i, uint8_t *out) { return redisbloom_key("probe", i, out); }

static void answers_are_redisbloom_s(void **state) {
  (void)state;
  golden_bytes text = golden_read(TEST_GOLDEN "/redisbloom/filters.txt");
  for (size_t i = 0; i < N_NAMES; i++) {
    const char *numbers = redisbloom_line((char *)text.at, names[i], "items");
    unsigned items, deleted, errors;
    assert_int_equal(sscanf(numbers, "%u deleted %u errors %u", &items, &deleted, &errors), 3);
    for (int is_dump = 0; is_dump < 2; is_dump++) {
      nay_filter *f = decode(names[i], is_dump);
      assert_hits(f, redisbloom_line((char *)text.at, names[i], "hits"), probe_key);
      unsigned maybes = 0;
      for (uint64_t k = deleted; k < items; k++) {
        uint8_t key[32];
        size_t len = redisbloom_key("item", k, key);
        maybes += nay_filter_may_contain(f, key, len);
      }
      assert_true(maybes >= items - deleted - errors);
      nay_filter_free(f);
    }
  }
  free(text.at);
}

/* Chains that RedisBloom's own source wrote, with other keys, rates and growths. */
static void chains_of_bloom_txt(void **state) {
  (void)state;
  golden_bytes text = golden_read(TEST_GOLDEN "/redisbloom/bloom.txt");
  char *rest = (char *)text.at, *line;
  unsigned n = 0;
  while ((line = golden_line(&rest)) != NULL) {
    char set[16], file[64];
    unsigned long long capacity, expansion, nonscaling, nkeys;
    double error;
    assert_int_equal(sscanf(line, "%llu %lf %llu %llu %15s %llu %63s", &capacity, &error,
                            &expansion, &nonscaling, set, &nkeys, file),
                     7);
    char *hits = golden_line(&rest);
    assert_non_null(hits);
    nay_filter *f = decode(file, false);
    nay_stats stats = {.size = sizeof stats};
    uint8_t key[GOLDEN_KEY_MAX];
    assert_hits(f, hits + strlen("hits"), golden_abs);
    for (uint64_t i = 0; i < nkeys && !nonscaling; i++) {
      assert_true(nay_filter_may_contain(f, key, golden_set(set)(i, key)));
    }
    assert_ok(nay_filter_stats(f, &stats));
    assert_true(stats.fpr_planned <= error * 1.0001);
    if (nkeys >= 100) assert_close(stats.nkeys_estimated, (double)nkeys, 0.06);
    nay_filter_free(f);
    n++;
  }
  assert_int_equal(n, 8);
  free(text.at);
}

static void counts_and_stats(void **state) {
  (void)state;
  nay_filter *f = decode("cf_b4", true);
  nay_stats s = {.size = sizeof s};
  uint64_t count = 77;
  assert_ok(nay_filter_stats(f, &s));
  assert_int_equal(s.kind, NAY_CUCKOO);
  assert_string_equal(nay_hash_name(s.hash), "murmur64a");
  assert_int_equal(s.nlevels, 2);
  assert_int_equal(s.tag_bits, 8);
  assert_int_equal((uint64_t)s.nkeys_estimated, 2100);
  assert_close(s.fill, 2100.0 / 3072, 1e-9);
  assert_close(s.fpr_now, 0.0443, 0.01); /* RedisBloom answered 4.05 % of 2000 probes with 1 */
  assert_ok(nay_filter_count(f, "item:2000", 9, &count));
  assert_int_equal(count, 1);
  assert_status(nay_filter_add(f, "x", 1, NULL), NAY_ENOTSUP);
  assert_status(nay_filter_remove(f, "item:2000", 9), NAY_ENOTSUP);
  nay_filter_free(f);
  f = decode("bf_exp4", false);
  assert_ok(nay_filter_stats(f, &s));
  assert_int_equal(s.kind, NAY_BLOOM);
  assert_string_equal(nay_hash_name(s.hash), "murmur64a-x2");
  assert_int_equal(s.nlevels, 4);
  assert_int_equal(s.nkeys, 5440); /* Capacity of BF.INFO */
  assert_close(s.nkeys_estimated, 1994, 0.02);
  assert_close(s.fpr_planned, 0.0009375, 1e-9);
  nay_filter_free(f);
}

static void a_scan_is_viewed_and_a_dump_is_not(void **state) {
  (void)state;
  golden_bytes scan = redisbloom_bytes("bf_exp4", false), dump = redisbloom_bytes("bf_exp4", true);
  nay_view view = {.size = sizeof view};
  nay_diag diag;
  assert_ok(nay_format_view(format_of("bf", false), scan.at, scan.len, 0, NULL, &view));
  assert_true(nay_filter_may_contain(nay_view_filter(&view), "item:7", 6));
  assert_status(nay_format_view(format_of("bf", true), dump.at, dump.len, 0, &diag, &view),
                NAY_ENOTSUP);
  free(scan.at);
  free(dump.at);
}

static void cuckoo_filters_are_not_made_here(void **state) {
  (void)state;
  static const char *const both[] = {"redisbloom-cf", "redis-dump-cf"};
  for (size_t i = 0; i < 2; i++) {
    const nay_format *format = nay_format_find(both[i]);
    nay_params p = {sizeof p, .nkeys = 100, .fpr = 0.01};
    nay_plan plan = {.size = sizeof plan};
    nay_filter *f = NULL;
    nay_builder *b = NULL;
    nay_diag diag = {0};
    assert_status(nay_format_plan(format, &p, &diag, &plan), NAY_ENOTSUP);
    assert_non_null(diag.what);
    assert_status(nay_format_new(format, &p, NULL, NULL, &f), NAY_ENOTSUP);
    assert_status(nay_format_builder_new(format, &p, NULL, NULL, &b), NAY_ENOTSUP);
  }
}

/* ---- making Bloom filters ---- */

static size_t item_key(uint64_t i, uint8_t *out) { return redisbloom_key("item", i, out); }

static nay_filter *reserve(bool is_dump, uint64_t capacity, double fpr, uint64_t n) {
  nay_params p = {sizeof p, .nkeys = capacity, .fpr = fpr};
  nay_filter *f;
  uint8_t key[GOLDEN_KEY_MAX];
  assert_ok(nay_format_new(format_of("bf", is_dump), &p, NULL, NULL, &f));
  for (uint64_t i = 0; i < n; i++) assert_ok(nay_filter_add(f, key, item_key(i, key), NULL));
  return f;
}

/* BF.RESERVE k <rate> <capacity>, then BF.ADD of the items: what RedisBloom made of that. */
static void built_here_they_have_redisbloom_s_bytes(void **state) {
  (void)state;
  static const struct {
    const char *name;
    double fpr;
    uint64_t capacity, n;
  } cases[] = {{"bf_1pct_1000", 0.01, 1000, 1000},
               {"bf_default", 0.01, 100, 50},
               {"bf_tiny", 0.01, 1, 1},
               {"bf_empty", 0.1, 100, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    for (int is_dump = 0; is_dump < 2; is_dump++) {
      nay_filter *f = reserve(is_dump, cases[i].capacity, cases[i].fpr, cases[i].n);
      golden_bytes want = redisbloom_bytes(cases[i].name, is_dump);
      assert_writes(format_of("bf", is_dump), f, want);
      nay_filter_free(f);
      free(want.at);
    }
  }
}

static void a_builder_counts(void **state) {
  (void)state;
  nay_params p = {sizeof p, .fpr = 0.01};
  nay_builder *b;
  nay_filter *f;
  uint8_t key[GOLDEN_KEY_MAX];
  assert_ok(nay_format_builder_new(format_of("bf", true), &p, NULL, NULL, &b));
  for (uint64_t i = 0; i < 1000; i++) assert_ok(nay_builder_add(b, key, item_key(i, key)));
  assert_ok(nay_builder_finish(b, NULL, &f));
  nay_builder_free(b);
  golden_bytes want = redisbloom_bytes("bf_1pct_1000", true);
  assert_writes(format_of("bf", true), f, want);
  free(want.at);
  nay_filter_free(f);
}

/* A chain grows in Redis, not here; what is there still answers. */
static void a_full_chain_takes_no_more(void **state) {
  (void)state;
  nay_filter *f = reserve(false, 50, 0.01, 50);
  golden_bytes before = golden_encode(f);
  bool is_new = true;
  assert_status(nay_filter_add(f, "one more", 8, &is_new), NAY_EFULL);
  assert_ok(nay_filter_add(f, "item:7", 6, &is_new)); /* it is there already */
  assert_false(is_new);
  golden_assert_encodes(f, before.at, before.len);
  free(before.at);
}

static void a_dump_takes_adds_and_forgets(void **state) {
  (void)state;
  nay_filter *f = decode("bf_default", true);
  bool is_new = false;
  nay_stats s = {.size = sizeof s};
  assert_ok(nay_filter_add(f, "one more", 8, &is_new));
  assert_true(is_new);
  assert_true(nay_filter_may_contain(f, "one more", 8));
  exercise_round_trip(format_of("bf", true), f);
  assert_ok(nay_filter_clear(f));
  assert_false(nay_filter_may_contain(f, "one more", 8));
  assert_ok(nay_filter_stats(f, &s));
  assert_int_equal(s.nbits_set, 0);
  nay_filter *empty = reserve(true, 100, 0.01, 0);
  golden_bytes bytes = golden_encode(f);
  golden_assert_encodes(empty, bytes.at, bytes.len);
  free(bytes.at);
  nay_filter_free(f);
}

static void sizes_are_by_rate_or_bits(void **state) {
  (void)state;
  const nay_format *format = format_of("bf", false);
  nay_plan plan = {.size = sizeof plan};
  nay_diag diag;
  nay_params p = {sizeof p, .nkeys = 1000, .fpr = 0.01};
  assert_ok(nay_format_plan(format, &p, NULL, &plan));
  assert_int_equal(plan.nbytes, 73 + 1384);
  assert_int_equal(plan.k, 8);
  assert_close(plan.fpr, 0.005, 0.03); /* half for the first link, which has some bits to spare */
  p = (nay_params){sizeof(nay_params), .nkeys = 1000, .bits_per_key = 10};
  assert_ok(nay_format_plan(format, &p, NULL, &plan));
  assert_int_equal(plan.nbytes, 73 + 1256);
  static const nay_params wrong[] = {
      {sizeof(nay_params), .nkeys = 10},
      {sizeof(nay_params), .nkeys = 10, .fpr = 1.5},
      {sizeof(nay_params), .nkeys = 10, .bits_per_key = 1},
      {sizeof(nay_params), .nkeys = 10, .fpr = 0.01, .k = 3},
      {sizeof(nay_params), .nkeys = 10, .fpr = 0.01, .seed = 3},
      {sizeof(nay_params), .nkeys = UINT64_C(1) << 56, .fpr = 1e-100},
      {sizeof(nay_params), .nkeys = 10, .fpr = 0.01, .kind = NAY_CUCKOO}};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    diag = (nay_diag){0};
    assert_status(nay_format_plan(format, &wrong[i], &diag, &plan), NAY_EINVAL);
    assert_non_null(diag.what);
  }
  assert_status(nay_format_plan(format, NULL, NULL, &plan), NAY_EINVAL);
}

/* ---- strangers ---- */

static void every_cut_is_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < N_NAMES; i++) {
    for (int is_dump = 0; is_dump < 2; is_dump++) {
      golden_bytes bytes = redisbloom_bytes(names[i], is_dump);
      size_t step = bytes.len > 2000 ? 97 : 1;
      for (size_t len = 0; len < bytes.len; len += step) {
        nay_filter *f = NULL;
        nay_diag diag = {.offset = UINT64_MAX};
        nay_status status =
            nay_format_decode(format_of(names[i], is_dump), bytes.at, len, 0, NULL, &diag, &f);
        assert_true(status == NAY_ECORRUPT || (is_dump && len < 10 && status == NAY_EFORMAT));
        assert_true(diag.what != NULL && diag.offset <= len);
        assert_null(f);
      }
      free(bytes.at);
    }
  }
}

/* CRC-64 notices every single bit; in a scan what is accepted is at least safe. */
static void every_flip_of_a_dump_is_refused(void **state) {
  (void)state;
  static const char *const some[] = {"bf_tiny", "bf_empty", "cf_exp0"};
  for (size_t i = 0; i < 3; i++) {
    golden_bytes dump = redisbloom_bytes(some[i], true), scan = redisbloom_bytes(some[i], false);
    for (size_t bit = 0; bit < dump.len * 8; bit++) {
      nay_filter *f = NULL;
      dump.at[bit / 8] ^= (uint8_t)(1u << bit % 8);
      assert_true(nay_format_decode(format_of(some[i], true), dump.at, dump.len, 0, NULL, NULL,
                                    &f) != NAY_OK);
      dump.at[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t bit = 0; bit < scan.len * 8; bit++) {
      scan.at[bit / 8] ^= (uint8_t)(1u << bit % 8);
      (void)exercise_bytes(format_of(some[i], false), scan.at, scan.len, bit, false);
      scan.at[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    free(dump.at);
    free(scan.at);
  }
}

static void flips_under_a_right_checksum_are_harmless(void **state) {
  (void)state;
  static const char *const some[] = {"bf_tiny", "bf_default", "cf_exp0", "cf_default"};
  unsigned accepted = 0, refused = 0;
  for (size_t i = 0; i < 4; i++) {
    golden_bytes dump = redisbloom_bytes(some[i], true);
    size_t step = dump.len > 500 ? 7 : 1;
    for (size_t bit = 0; bit < (dump.len - 8) * 8; bit += step) {
      dump.at[bit / 8] ^= (uint8_t)(1u << bit % 8);
      seal_dump(dump.at, dump.len);
      bool ok = exercise_bytes(format_of(some[i], true), dump.at, dump.len, bit, bit % 16 == 0);
      accepted += ok;
      refused += !ok;
      dump.at[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    free(dump.at);
  }
  assert_true(accepted > 100); /* a bit of an array more or less is a filter, too */
  assert_true(refused > 500);
}

static void dumps_of_other_types_and_versions(void **state) {
  (void)state;
  golden_bytes dump = redisbloom_bytes("cf_exp0", true);
  nay_filter *f = NULL;
  assert_status(nay_format_decode(format_of("bf", true), dump.at, dump.len, 0, NULL, NULL, &f),
                NAY_EFORMAT);
  dump.at[9] ^= 7; /* version 3 of the encoding */
  seal_dump(dump.at, dump.len);
  assert_ptr_equal(nay_format_recognise(dump.at, dump.len, dump.len, NULL), format_of("cf", true));
  assert_status(nay_format_decode(format_of("cf", true), dump.at, dump.len, 0, NULL, NULL, &f),
                NAY_EVERSION);
  dump.at[0] = 6;
  assert_null(nay_format_recognise(dump.at, dump.len, dump.len, NULL));
  assert_null(f);
  free(dump.at);
}

/* A string that claims gigabytes is refused before memory is asked for them. */
static void a_claim_without_bytes_costs_nothing(void **state) {
  (void)state;
  nay_rdb_writer w = {0};
  uint8_t bytes[128];
  w.dst = bytes;
  nay__rdb_begin(&w, 0x3016e5a289821400u, 4);
  static const uint64_t numbers[] = {1, UINT64_C(1) << 40, 0, 0, 1, 20, 1, UINT64_C(1) << 40};
  for (size_t i = 0; i < 8; i++) nay__rdb_write_number(&w, numbers[i]);
  static const uint8_t lie[] = {5, 0xc3, 3, 0x81, 0, 0, 1, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff};
  memcpy(w.dst + w.len, lie, sizeof lie);
  w.len += sizeof lie;
  nay__rdb_end(&w, 10);
  flaky heap = {.fail_at = -1};
  nay_allocator a = flaky_allocator(&heap);
  nay_filter *f = NULL;
  nay_diag diag;
  assert_status(nay_format_decode(format_of("cf", true), bytes, w.len, 0, &a, &diag, &f),
                NAY_ECORRUPT);
  assert_string_equal(diag.what, "a packed string claims too much");
  assert_int_equal(heap.peak, 0);
}

static void without_memory_nothing_is_left(void **state) {
  (void)state;
  golden_bytes dump = redisbloom_bytes("bf_exp4", true);
  for (long at = 0;; at++) {
    flaky heap = {.fail_at = at};
    nay_allocator a = flaky_allocator(&heap);
    nay_filter *f = NULL;
    nay_status status =
        nay_format_decode(format_of("bf", true), dump.at, dump.len, 0, &a, NULL, &f);
    if (status == NAY_OK) {
      uint8_t *again = malloc(dump.len);
      size_t written;
      flaky_arm(&heap, 0, true); /* the table of the compressor */
      assert_int_equal(nay_format_encoded_size(format_of("bf", true), f), 0);
      assert_status(nay_format_encode(format_of("bf", true), f, again, dump.len, &written),
                    NAY_ENOMEM);
      free(again);
    } else {
      assert_status(status, NAY_ENOMEM);
    }
    nay_filter_free(f);
    assert_true(flaky_is_clean(&heap));
    if (status == NAY_OK) break;
  }
  free(dump.at);
}

/* ---- the parts ---- */

static void lzf_round_trips(void **state) {
  (void)state;
  static uint32_t table[65536];
  enum { MAX = 3000 };
  uint8_t src[MAX], packed[MAX], back[MAX];
  for (unsigned round = 0; round < TEST_SCALE(20000); round++) {
    uint64_t x = nay_hash_mix(round);
    size_t len = 5 + x % (round % 50 == 0 ? MAX - 5 : 120);
    unsigned density = (unsigned)(x >> 32) % 100, letters = 1 + (unsigned)(x >> 40) % 255;
    for (size_t i = 0; i < len; i++) {
      uint64_t y = nay_hash_mix(x + i);
      src[i] = (uint8_t)(y % 100 < density ? (y >> 8) % letters : 0);
    }
    size_t n = nay__lzf_compress(src, len, packed, len - 4, table);
    assert_int_equal(nay__lzf_compress(src, len, NULL, len - 4, table), n);
    if (n == 0) continue;
    assert_true(n <= len - 4);
    assert_true(nay__lzf_expand(packed, n, back, len));
    assert_memory_equal(src, back, len);
    assert_true(nay__lzf_expand(packed, n, NULL, len));
    assert_false(nay__lzf_expand(packed, n, back, len - 1));
    assert_false(nay__lzf_expand(packed, n, back, len + 1));
    assert_false(nay__lzf_expand(packed, n - 1, back, len));
  }
}

static void lzf_of_strangers_stays_in_its_buffer(void **state) {
  (void)state;
  static const uint8_t before_start[] = {0x00, 0x41, 0x20, 0x05};
  uint8_t out[64];
  assert_false(nay__lzf_expand(before_start, 4, out, 5)); /* copies from before the first byte */
  for (unsigned round = 0; round < TEST_SCALE(50000); round++) {
    uint8_t *src = malloc(16), *dst = malloc(40); /* to the byte: ASan sees one too many */
    for (unsigned i = 0; i < 16; i++) src[i] = (uint8_t)(nay_hash_mix(round * 16u + i) >> 7);
    (void)nay__lzf_expand(src, 16, dst, 40);
    free(src);
    free(dst);
  }
}

static void rdb_strings_of_every_kind(void **state) {
  (void)state;
  static const char *const strings[] = {"",
                                        "0",
                                        "-1",
                                        "127",
                                        "128",
                                        "-128",
                                        "-129",
                                        "32767",
                                        "-0",
                                        "32768",
                                        "007",
                                        "2147483647",
                                        "-2147483648",
                                        "2147483648",
                                        "12a",
                                        "-",
                                        "+5",
                                        "--1",
                                        " 1",
                                        "99999999999",
                                        "-9999999999",
                                        "short string",
                                        "1.5",
                                        "aaaaaaaaaaaaaaaaaaaa",
                                        "aaaaaaaaaaaaaaaaaaaaa"};
  static const size_t expected[] = {2,  3, 3, 3, 4, 3, 4,  4,  4,  6, 5,  6, 6,
                                    12, 5, 3, 4, 5, 4, 13, 13, 14, 5, 22, 10};
  static uint32_t table[65536];
  for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++) {
    uint8_t bytes[64] = {0}, back[64];
    size_t len = strlen(strings[i]);
    nay_rdb_writer w = {.dst = bytes, .table = table};
    nay__rdb_write_string(&w, (const uint8_t *)strings[i], len);
    assert_int_equal(w.len, expected[i]);
    nay_rdb_reader r = {.bytes = bytes, .end = w.len};
    nay_rdb_string s = nay__rdb_read_string(&r);
    assert_null(r.wrong);
    assert_int_equal(r.at, w.len);
    assert_int_equal(s.len, len);
    assert_true(nay__rdb_write_out(&s, back));
    assert_memory_equal(back, strings[i], len);
  }
}

static void rdb_numbers_of_every_length(void **state) {
  (void)state;
  static const uint64_t numbers[] = {
      0, 63, 64, 16383, 16384, UINT32_MAX, UINT32_MAX + UINT64_C(1), UINT64_MAX};
  static const size_t expected[] = {2, 2, 3, 3, 6, 6, 10, 10};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    uint8_t bytes[16];
    nay_rdb_writer w = {.dst = bytes};
    nay__rdb_write_number(&w, numbers[i]);
    assert_int_equal(w.len, expected[i]);
    nay_rdb_reader r = {.bytes = bytes, .end = w.len};
    assert_true(nay__rdb_read_number(&r) == numbers[i]);
    assert_null(r.wrong);
    for (size_t len = 0; len < w.len; len++) {
      nay_rdb_reader cut = {.bytes = bytes, .end = len};
      assert_true(nay__rdb_read_number(&cut) == 0);
      assert_non_null(cut.wrong);
    }
  }
}

int main(void) {
  const test_case tests[] = {
      TEST(both_forms_are_written_as_they_were),
      TEST(another_kind_of_filter_is_not_written),
      TEST(a_dump_is_recognised_and_a_scan_is_not),
      TEST(answers_are_redisbloom_s),
      TEST(chains_of_bloom_txt),
      TEST(counts_and_stats),
      TEST(a_scan_is_viewed_and_a_dump_is_not),
      TEST(cuckoo_filters_are_not_made_here),
      TEST(built_here_they_have_redisbloom_s_bytes),
      TEST(a_builder_counts),
      TEST(a_full_chain_takes_no_more),
      TEST(a_dump_takes_adds_and_forgets),
      TEST(sizes_are_by_rate_or_bits),
      TEST(every_cut_is_refused),
      TEST(every_flip_of_a_dump_is_refused),
      TEST(flips_under_a_right_checksum_are_harmless),
      TEST(dumps_of_other_types_and_versions),
      TEST(a_claim_without_bytes_costs_nothing),
      TEST(without_memory_nothing_is_left),
      TEST(lzf_round_trips),
      TEST(lzf_of_strangers_stays_in_its_buffer),
      TEST(rdb_strings_of_every_kind),
      TEST(rdb_numbers_of_every_length),
  };
  return run_all(tests);
}
