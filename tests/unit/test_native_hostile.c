/*
 * test_native_hostile.c - files with right digests and wrong contents: each is refused with its
 * status, at the offset that is to blame; what the specification allows is accepted.
 */
#include "support/flaky.h"
#include "support/native.h"
#include "support/test.h"

enum { PAYLOAD = 1, KEY = 2, META = 3, REQUIRED = 1 };

static void expect_status(const uint8_t *p, size_t len, nay_status want, uint64_t offset) {
  nay_filter *f = NULL;
  nay_view view = {.size = sizeof view};
  nay_diag diag = {.what = NULL};
  assert_status(nay_filter_decode(p, len, NULL, &diag, &f), want);
  if (want != NAY_OK) {
    assert_null(f);
    assert_non_null(diag.what);
    if (diag.offset != offset) {
      fail_msg("%s: offset %llu, not %llu", diag.what, (unsigned long long)diag.offset,
               (unsigned long long)offset);
    }
  }
  assert_status(nay_view_open(p, len, NULL, NULL, &view), want);
  nay_filter_free(f);
}

/* A sample with one header field changed and all digests right. */
static void expect_field(const nay_params *params, const char *name, uint64_t value,
                         nay_status want) {
  size_t len;
  uint8_t *p = native_sample(params, 10, &len);
  for (size_t i = 0; i < NATIVE_NFIELDS; i++) {
    if (strcmp(native_fields[i].name, name) != 0) continue;
    native_put(p + native_fields[i].at, native_fields[i].size, value);
    native_seal(p, len);
    uint64_t offset = native_fields[i].at;
    if (strcmp(name, "k") == 0 || strcmp(name, "extra") == 0)
      offset = 32; /* the shape as a whole */
    expect_status(p, len, want, offset);
  }
  free(p);
}

static const nay_params bloom = {sizeof bloom, .kind = NAY_BLOOM, .nbits = 1000, .k = 6};
static const nay_params blocked = {sizeof blocked, .kind = NAY_BLOCKED, .nbits = 1024, .k = 6};

static void header_fields(void **state) {
  (void)state;
  expect_field(&bloom, "magic", 0x0a1a0a0d79616e88u, NAY_EFORMAT);
  expect_field(&bloom, "version", 0, NAY_EVERSION);
  expect_field(&bloom, "version", 2, NAY_EVERSION);
  for (uint64_t kind = 10; kind < 256; kind++) {
    if (nay_kind_name((nay_kind)kind) == NULL) expect_field(&bloom, "kind", kind, NAY_EVERSION);
  }
  expect_field(&bloom, "kind", 0, NAY_EVERSION);
  for (uint64_t hash = 3; hash < 256; hash++) expect_field(&bloom, "hash", hash, NAY_EVERSION);
  for (unsigned bit = 0; bit < 8; bit++) {
    expect_field(&bloom, "required", (uint64_t)1 << bit, NAY_EVERSION);
    expect_field(&bloom, "optional", (uint64_t)1 << bit, NAY_OK);
  }
  for (unsigned bit = 0; bit < 16; bit++) {
    expect_field(&bloom, "zero", (uint64_t)1 << bit, NAY_ECORRUPT);
  }
  expect_field(&bloom, "seed", UINT64_MAX, NAY_OK);
  expect_field(&bloom, "nkeys", (uint64_t)1 << 56, NAY_OK);
  expect_field(&bloom, "nkeys", ((uint64_t)1 << 56) + 1, NAY_ECORRUPT);
  expect_field(&bloom, "nkeys", UINT64_MAX, NAY_ECORRUPT);
}

static void shapes(void **state) {
  (void)state;
  const nay_params *each[] = {&bloom, &blocked};
  for (size_t i = 0; i < 2; i++) {
    expect_field(each[i], "nunits", 0, NAY_ECORRUPT);
    expect_field(each[i], "nunits", ((uint64_t)1 << 60) + 1, NAY_ECORRUPT);
    expect_field(each[i], "nunits", UINT64_MAX, NAY_ECORRUPT);
    expect_field(each[i], "k", 0, NAY_ECORRUPT);
    expect_field(each[i], "k", 1, NAY_OK);
    expect_field(each[i], "k", 64, NAY_OK);
    expect_field(each[i], "k", 65, NAY_ECORRUPT);
    expect_field(each[i], "k", UINT32_MAX, NAY_ECORRUPT);
    expect_field(each[i], "extra", 1, NAY_ECORRUPT);
  }
  expect_field(&blocked, "nunits", (uint64_t)1 << 52, NAY_ECORRUPT);
}

/* Shapes that are possible, but not with this payload: the section is to blame. */
static void payload_lengths(void **state) {
  (void)state;
  const uint64_t wrong[] = {1, 64, 960, 1025, 2000, (uint64_t)1 << 32, (uint64_t)1 << 60};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    size_t len;
    uint8_t *p = native_sample(&bloom, 10, &len);
    nay__store64le(p + 32, wrong[i]);
    native_seal(p, len);
    expect_status(p, len, NAY_ECORRUPT, 128);
    free(p);
  }
}

static void bits_past_the_end(void **state) {
  (void)state;
  size_t len;
  uint8_t *p = native_sample(&bloom, 10, &len); /* 1000 bits in 1024 */
  for (unsigned bit = 1000; bit < 1024; bit++) {
    p[len - 128 + bit / 8] |= (uint8_t)(1u << bit % 8);
    native_seal(p, len);
    expect_status(p, len, NAY_ECORRUPT, len - 1);
    p[len - 128 + bit / 8] &= (uint8_t) ~(1u << bit % 8);
  }
  p[len - 4] |= 0x80; /* bit 991 */
  native_seal(p, len);
  expect_status(p, len, NAY_OK, 0);
  free(p);
}

/* ---- sections ---- */

typedef struct sections {
  uint8_t header[64];
  uint8_t *payload;
  size_t payload_len;
} sections;

static sections sections_of(const nay_params *params) {
  size_t len;
  native_section s[4];
  uint8_t *p = native_sample(params, 10, &len);
  sections result = {.payload = NULL};
  memcpy(result.header, p, 64);
  unsigned n = native_split(p, s, 4);
  result.payload_len = s[n - 1].len;
  result.payload = malloc(result.payload_len);
  memcpy(result.payload, s[n - 1].at, result.payload_len);
  free(p);
  return result;
}

static void expect_sections(const sections *from, const native_section *s, unsigned n,
                            nay_status want, uint64_t offset) {
  size_t len;
  uint8_t *p = native_assemble(from->header, s, n, &len);
  expect_status(p, len, want, offset);
  free(p);
}

static void section_lists(void **state) {
  (void)state;
  sections b = sections_of(&blocked);
  const native_section payload = {PAYLOAD, REQUIRED, b.payload, b.payload_len};
  const native_section meta = {META, 0, "metadata", 8}, empty = {META, 0, NULL, 0};
  const native_section unknown = {77, 0, "future", 6}, nothing = {78, 0, NULL, 0};
  const native_section must = {77, REQUIRED, "future", 6}, odd = {META, 2, "metadata", 8};
  const native_section key = {KEY, REQUIRED, "0123456789abcdef", 16};
#define EXPECT(want, offset, ...)                                                      \
  do {                                                                                 \
    const native_section list[] = {__VA_ARGS__};                                       \
    expect_sections(&b, list, (unsigned)(sizeof list / sizeof list[0]), want, offset); \
  } while (0)
  EXPECT(NAY_OK, 0, payload);
  EXPECT(NAY_OK, 0, payload, meta);
  EXPECT(NAY_OK, 0, meta, payload);
  EXPECT(NAY_OK, 0, unknown, payload);
  EXPECT(NAY_OK, 0, payload, unknown, nothing);
  EXPECT(NAY_OK, 0, nothing, unknown, meta, nothing, payload, unknown);
  EXPECT(NAY_ECORRUPT, 64, meta);
  EXPECT(NAY_ECORRUPT, 64, unknown);
  EXPECT(NAY_ECORRUPT, 128 + 128, payload, payload);
  EXPECT(NAY_ECORRUPT, 128 + 128, payload, empty);
  EXPECT(NAY_ECORRUPT, 192, meta, meta, payload); /* the second at body + 64 */
  EXPECT(NAY_EVERSION, 128 + 128, payload, must);
  EXPECT(NAY_EVERSION, 64 + 16 + 4, payload, odd);
  EXPECT(NAY_ECORRUPT, 128, key, payload); /* hash is XXH3 */
#undef EXPECT
  expect_sections(&b, NULL, 0, NAY_ECORRUPT, 64);
  free(b.payload);
}

/* The most sections there can be; the payload is the last. */
static void many_sections(void **state) {
  (void)state;
  sections b = sections_of(&blocked);
  native_section s[255];
  for (unsigned i = 0; i < 254; i++) s[i] = (native_section){100 + i, 0, "x", i % 2};
  s[254] = (native_section){PAYLOAD, REQUIRED, b.payload, b.payload_len};
  expect_sections(&b, s, 255, NAY_OK, 0);
  free(b.payload);
}

static void section_lengths(void **state) {
  (void)state;
  sections b = sections_of(&blocked);
  const native_section s[] = {{META, 0, "metadata", 8},
                              {PAYLOAD, REQUIRED, b.payload, b.payload_len}};
  size_t len;
  uint8_t *p = native_assemble(b.header, s, 2, &len);
  const uint64_t lengths[] = {len, UINT64_MAX, UINT64_MAX - 63, (uint64_t)1 << 63, len - 127};
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
    nay__store64le(p + 72, lengths[i]);
    native_seal(p, len);
    expect_status(p, len, NAY_ECORRUPT, 72);
  }
  nay__store64le(p + 72, 7); /* one byte less: the last one is padding now, and not zero */
  native_seal(p, len);
  expect_status(p, len, NAY_ECORRUPT, 128 + 7);
  nay__store64le(p + 72, 9); /* one more: a zero of the padding belongs to it */
  native_seal(p, len);
  expect_status(p, len, NAY_OK, 0);
  nay__store64le(p + 88, b.payload_len - 1);
  native_seal(p, len);
  expect_status(p, len, NAY_ECORRUPT, 192); /* the payload's own length is wrong first */
  free(p);
  free(b.payload);
}

static void bytes_after_the_last_section(void **state) {
  (void)state;
  sections b = sections_of(&blocked);
  const native_section s[] = {{PAYLOAD, REQUIRED, b.payload, b.payload_len},
                              {META, 0, "metadata\0\0", 10}};
  size_t len;
  uint8_t *p = native_assemble(b.header, s, 2, &len);
  for (uint64_t n = 1; n < 10; n++) {
    nay__store64le(p + 88, n); /* the rest is zeros for n = 8 and 9, but nobody's */
    native_seal(p, len);
    expect_status(p, len, NAY_ECORRUPT, len - 10 + n);
  }
  free(p);
  free(b.payload);
}

static void padding(void **state) {
  (void)state;
  sections b = sections_of(&blocked);
  const native_section s[] = {{META, 0, "metadata", 8},
                              {PAYLOAD, REQUIRED, b.payload, b.payload_len}};
  size_t len;
  uint8_t *p = native_assemble(b.header, s, 2, &len);
  for (size_t at = 112; at < 128; at++) { /* after the directory: no digest covers it */
    p[at] = 1;
    expect_status(p, len, NAY_ECORRUPT, 112);
    p[at] = 0;
  }
  for (size_t at = 128 + 8; at < 192; at++) { /* between sections */
    p[at] = 0x80;
    native_seal(p, len);
    expect_status(p, len, NAY_ECORRUPT, 128 + 8);
    p[at] = 0;
  }
  free(p);
  free(b.payload);
}

/* Body lengths that would overflow a careless sum. */
static void body_lengths(void **state) {
  (void)state;
  size_t len;
  uint8_t *p = native_sample(&blocked, 10, &len);
  const uint64_t lengths[] = {0,
                              1,
                              127,
                              129,
                              len,
                              len - 1,
                              UINT64_MAX,
                              UINT64_MAX - 127,
                              UINT64_MAX / 65536 * 65536,
                              (uint64_t)1 << 63};
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
    nay_filter *f = NULL;
    nay__store64le(p + 48, lengths[i]);
    native_seal(p, len);
    assert_status(nay_filter_decode(p, len, NULL, NULL, &f), NAY_ECORRUPT);
  }
  free(p);
}

/* body_at + body_len, which wraps around to the length of the file. */
static void body_length_that_wraps(void **state) {
  (void)state;
  __extension__ typedef unsigned __int128 u128;
  size_t len;
  uint8_t *p = native_sample(&blocked, 10, &len);
  const u128 goal = ((u128)1 << 64) + len;
  uint64_t low = 0, high = UINT64_MAX;
  while (low < high) { /* the least body_len whose sum reaches the goal */
    uint64_t mid = low + (high - low) / 2;
    if ((u128)native_body_at(p[13], mid) + mid < goal) {
      low = mid + 1;
    } else {
      high = mid;
    }
  }
  assert_int_equal(native_body_at(p[13], low) + low, len); /* modulo 2^64 */
  nay__store64le(p + 48, low);
  nay__store64le(p + 56, XXH3_64bits(p, 56));
  expect_status(p, len, NAY_ECORRUPT, 48);
  free(p);
}

/* Halves of two good files of the same shape: the chain of digests notices. */
static void spliced_files(void **state) {
  (void)state;
  nay_params other = blocked;
  other.seed = 1;
  size_t len, len2;
  uint8_t *a = native_sample(&blocked, 10, &len), *b = native_sample(&other, 10, &len2);
  assert_int_equal(len, len2);
  uint8_t *mixed = malloc(len);
  for (size_t cut = 1; cut < len; cut++) {
    nay_view view = {.size = sizeof view};
    memcpy(mixed, a, cut);
    memcpy(mixed + cut, b + cut, len - cut);
    bool is_a = memcmp(mixed, a, len) == 0, is_b = memcmp(mixed, b, len) == 0;
    if (!is_a && !is_b) {
      assert_status(nay_view_open(mixed, len, NULL, NULL, &view), NAY_ECORRUPT);
    }
  }
  free(a);
  free(b);
  free(mixed);
}

/* ---- secret keys ---- */

static void stored_keys(void **state) {
  (void)state;
  nay_params keyed = blocked;
  keyed.hash = NAY_HASH_SIPHASH;
  memcpy(keyed.key, "0123456789abcdef", 16);
  sections b = sections_of(&keyed);
  const native_section payload = {PAYLOAD, REQUIRED, b.payload, b.payload_len};
  const native_section good = {KEY, REQUIRED, "0123456789abcdef", 16};
  const native_section wrong = {KEY, REQUIRED, "0123456789abcdeF", 16};
  const native_section brief = {KEY, REQUIRED, "0123456789abcdef", 15};
  const native_section lists[][3] = {{good, payload, {99, 0, NULL, 0}},
                                     {wrong, payload, {99, 0, NULL, 0}},
                                     {brief, payload, {99, 0, NULL, 0}},
                                     {good, good, payload}};
  expect_sections(&b, lists[0], 2, NAY_OK, 0);
  expect_sections(&b, lists[1], 2, NAY_ECORRUPT, 128);
  expect_sections(&b, lists[2], 2, NAY_ECORRUPT, 128);
  expect_sections(&b, lists[3], 3, NAY_ECORRUPT, 192);
  free(b.payload);
}

static void wrong_keys(void **state) {
  (void)state;
  nay_params keyed = blocked;
  keyed.hash = NAY_HASH_SIPHASH;
  memcpy(keyed.key, "0123456789abcdef", 16);
  size_t len;
  uint8_t *p = native_sample(&keyed, 10, &len), key[8];
  nay_filter *f;
  nay_view view = {.size = sizeof view};
  nay_diag diag;
  nay_stats stats = {.size = sizeof stats};
  assert_ok(nay_filter_decode(p, len, NULL, NULL, &f));
  assert_ok(nay_filter_stats(f, &stats));
  assert_true(stats.locked);
  assert_true(nay_filter_may_contain(f, "absent", 6)); /* locked: in doubt, maybe */
  assert_status(nay_filter_add(f, "x", 1, NULL), NAY_EKEY);
  for (unsigned bit = 0; bit < 128; bit++) {
    uint8_t wrong[16];
    memcpy(wrong, keyed.key, 16);
    wrong[bit / 8] ^= (uint8_t)(1u << bit % 8);
    assert_status(nay_filter_unlock(f, wrong), NAY_EKEY);
    assert_status(nay_view_open(p, len, wrong, &diag, &view), NAY_EKEY);
    assert_int_equal(diag.offset, 16);
  }
  assert_ok(nay_filter_unlock(f, keyed.key));
  assert_true(native_members_ok(f, 10));
  assert_false(nay_filter_may_contain(f, key, native_member(1000, key)));
  assert_ok(nay_view_open(p, len, keyed.key, NULL, &view));
  assert_true(native_members_ok(nay_view_filter(&view), 10));
  nay_filter_free(f);
  free(p);
}

/* ---- what encode promises ---- */

static void encode_buffers(void **state) {
  (void)state;
  nay_filter *f = native_filter(&blocked, 10);
  size_t size = nay_filter_encoded_size(f), written = 0;
  uint8_t *p = malloc(size);
  for (size_t cap = 0; cap < size; cap++) {
    assert_status(nay_filter_encode(f, p, cap, &written), NAY_EBUFFER);
  }
  assert_int_equal(written, 0);
  assert_ok(nay_filter_encode(f, p, size, &written));
  assert_int_equal(written, size);
  free(p);
  nay_filter_free(f);
}

typedef struct budget {
  size_t left, calls;
  bool spent;
} budget;

static nay_status stingy_sink(void *ctx, const void *bytes, size_t len) {
  budget *b = ctx;
  (void)bytes;
  b->calls++;
  assert_false(b->spent);
  b->spent = len > b->left;
  if (b->spent) return NAY_EFULL;
  b->left -= len;
  return NAY_OK;
}

/* A sink that fails is not called again, whichever call it is. */
static void sinks_that_fail(void **state) {
  (void)state;
  nay_params params = {sizeof params, .kind = NAY_BLOOM, .nbits = 3 * 65536 * 8, .k = 3};
  nay_filter *f = native_filter(&params, 10);
  assert_ok(nay_filter_set_meta(f, "some metadata", 13));
  size_t size = nay_filter_encoded_size(f), calls = 0;
  for (size_t room = 0; room < size; room += room < 400 ? 1 : 997) {
    budget b = {room, 0, false};
    assert_status(nay_filter_encode_stream(f, stingy_sink, &b), NAY_EFULL);
    assert_true(b.calls >= calls);
    calls = b.calls;
  }
  budget b = {size, 0, false};
  assert_ok(nay_filter_encode_stream(f, stingy_sink, &b));
  assert_int_equal(b.left, 0);
  assert_true(b.calls <= 6); /* front, metadata, zeros, payload: digests are gathered */
  nay_filter_free(f);
}

/* 600 chunks: their digests are more than one piece. */
static void sinks_that_fail_in_the_directory(void **state) {
  (void)state;
  nay_params params = {
      .size = sizeof params, .kind = NAY_BLOOM, .nbits = (uint64_t)600 * 65536 * 8, .k = 1};
  nay_filter *f = native_filter(&params, 1);
  for (size_t room = 0; room < 6000; room += 500) {
    budget b = {room, 0, false};
    assert_status(nay_filter_encode_stream(f, stingy_sink, &b), NAY_EFULL);
    assert_int_equal(b.calls, room < 4096 ? 1 : room < 4992 ? 2 : 3);
  }
  nay_filter_free(f);
}

/* decode at every allocation failure: clean, and diag says so. */
static void memory_runs_out(void **state) {
  (void)state;
  nay_filter *f = native_filter(&blocked, 10), *out;
  assert_ok(nay_filter_set_meta(f, "some metadata", 13));
  size_t len;
  uint8_t *p = native_encode(f, &len);
  nay_filter_free(f);
  for (long call = 0;; call++) {
    flaky memory = {.fail_at = call};
    nay_allocator a = flaky_allocator(&memory);
    nay_diag diag = {.what = NULL};
    nay_status status = nay_filter_decode(p, len, &a, &diag, &out);
    if (status == NAY_OK) {
      assert_true(call >= 3);
      nay_filter_free(out);
      assert_int_equal(memory.objects, 0);
      break;
    }
    assert_status(status, NAY_ENOMEM);
    assert_non_null(diag.what);
    assert_int_equal(memory.objects, 0);
  }
  free(p);
}

/* A filter that many threads may change is copied, then written: the same bytes. */
static void shared_filters_are_written(void **state) {
  (void)state;
  size_t len, len2;
  uint8_t *p = native_sample(&blocked, 10, &len);
  nay_params params = blocked;
  params.flags = NAY_CONCURRENT;
  uint8_t *q = native_sample(&params, 10, &len2);
  assert_int_equal(len, len2);
  assert_memory_equal(p, q, len);
  free(p);
  free(q);
}

static void arguments(void **state) {
  (void)state;
  nay_filter *f = native_filter(&blocked, 10), *out = NULL;
  nay_view view = {.size = sizeof view};
  uint8_t byte;
  size_t n;
  assert_status(nay_filter_decode(NULL, 1, NULL, NULL, &out), NAY_EINVAL);
  assert_status(nay_filter_decode(NULL, 0, NULL, NULL, &out), NAY_EFORMAT);
  assert_status(nay_filter_decode("", 0, NULL, NULL, NULL), NAY_EINVAL);
  assert_status(nay_view_open(NULL, 0, NULL, NULL, &view), NAY_EFORMAT);
  assert_status(nay_view_open("", 0, NULL, NULL, NULL), NAY_EINVAL);
  assert_status(nay_filter_encode(NULL, &byte, 1, &n), NAY_EINVAL);
  assert_status(nay_filter_encode(f, NULL, 0, &n), NAY_EINVAL);
  assert_status(nay_filter_encode(f, &byte, 1, NULL), NAY_EINVAL);
  assert_status(nay_filter_encode_stream(f, NULL, NULL), NAY_EINVAL);
  assert_status(nay_filter_encode_stream(NULL, stingy_sink, NULL), NAY_EINVAL);
  assert_int_equal(nay_filter_encoded_size(NULL), 0);
  assert_null(out);
  nay_filter_free(f);
}

int main(void) {
  const test_case tests[] = {
      TEST(header_fields),
      TEST(shapes),
      TEST(payload_lengths),
      TEST(bits_past_the_end),
      TEST(section_lists),
      TEST(many_sections),
      TEST(section_lengths),
      TEST(padding),
      TEST(bytes_after_the_last_section),
      TEST(body_lengths),
      TEST(body_length_that_wraps),
      TEST(spliced_files),
      TEST(stored_keys),
      TEST(wrong_keys),
      TEST(encode_buffers),
      TEST(sinks_that_fail),
      TEST(sinks_that_fail_in_the_directory),
      TEST(memory_runs_out),
      TEST(shared_filters_are_written),
      TEST(arguments),
  };
  return run_all(tests);
}
