/* test_base.c - the small things everything stands on: status, allocator, bytes, checksum, sizes.
 */
#include "base/abi.h"
#include "base/alloc.h"
#include "base/bytes.h"
#include "base/crc32.h"
#include "support/flaky.h"
#include "support/test.h"

/* ---- status ---- */

static void every_status_has_a_text_and_a_name(void **state) {
  (void)state;
  int lowest = 0;
#define X(name, value, text)                                               \
  if (value < lowest) lowest = value;                                      \
  assert_int_equal(NAY_##name, value);                                     \
  assert_string_equal(nay_status_text((nay_status)(value)), text);         \
  assert_string_equal(nay_status_name((nay_status)(value)), "NAY_" #name); \
  assert_true(strlen(text) > 5);
  NAY_STATUS_MAP(X)
#undef X
  const int others[] = {1, 2, lowest - 1, -100, 2147483647, -2147483647 - 1};
  for (size_t i = 0; i < 6; i++) {
    assert_string_equal(nay_status_text((nay_status)others[i]), "unknown status");
    assert_null(nay_status_name((nay_status)others[i]));
  }
}

static void the_version_is_that_of_the_header(void **state) {
  (void)state;
  char expected[64];
  snprintf(expected, sizeof expected, "%d.%d.%d", NAY_VERSION_MAJOR, NAY_VERSION_MINOR,
           NAY_VERSION_PATCH);
  assert_string_equal(nay_version(), expected);
}

/* ---- allocator ---- */

/* Hands out memory at an odd multiple of 16: aligned for any type, not for a cache line. */
static void *awkward_alloc(void *ctx, size_t size) {
  size_t shift = *(size_t *)ctx;
  uint8_t *raw = aligned_alloc(64, (size + 128 + 63) / 64 * 64);
  if (raw == NULL) return NULL;
  memset(raw, 0xa5, size + 128);
  return raw + shift;
}

static void awkward_free(void *ctx, void *p, size_t size) {
  (void)size;
  free((uint8_t *)p - *(size_t *)ctx);
}

static void regions_are_aligned_and_zeroed(void **state) {
  (void)state;
  for (size_t shift = 0; shift < 64; shift += 16) {
    for (size_t size = 0; size < 1000; size += 37) {
      nay_allocator a = {.alloc = awkward_alloc, .free = awkward_free, .ctx = &shift};
      nay_memory m;
      assert_ok(nay__memory_new(&a, size, &m));
      assert_int_equal((uintptr_t)m.at % NAY_CACHE_LINE, 0);
      assert_true(m.at >= (uint8_t *)m.raw && m.at + size <= (uint8_t *)m.raw + m.raw_size);
      assert_true(nay__all_zero(m.at, size));
      memset(m.at, 0xff, size);
      nay__memory_free(&a, &m);
      assert_null(m.at);
      nay__memory_free(&a, &m); /* a second time does nothing */
    }
  }
}

static void the_default_is_malloc(void **state) {
  (void)state;
  nay_allocator a = nay__allocator_default();
  nay_memory m;
  assert_ok(nay__memory_new(&a, 100000, &m));
  assert_int_equal((uintptr_t)m.at % NAY_CACHE_LINE, 0);
  assert_true(nay__all_zero(m.at, 100000));
  nay__memory_free(&a, &m);
  void *p = nay__alloc(&a, 10);
  assert_non_null(p);
  nay__free(&a, p, 10);
  nay__free(&a, NULL, 10);
}

static void no_memory_is_told(void **state) {
  (void)state;
  flaky heap = {.fail_at = 0};
  nay_allocator a = flaky_allocator(&heap);
  nay_memory m = {NULL, &heap, 7};
  assert_status(nay__memory_new(&a, 100, &m), NAY_ENOMEM);
  assert_true(m.raw == &heap && m.raw_size == 7);
  flaky_arm(&heap, -1, false);
  assert_status(nay__memory_new(&a, SIZE_MAX, &m), NAY_ENOMEM); /* would wrap */
  assert_status(nay__memory_new(&a, SIZE_MAX - 63, &m), NAY_ENOMEM);
  assert_true(flaky_is_clean(&heap));
}

/* The tester's own tool: it notices wrong sizes, foreign pointers and leaks. */
static void the_flaky_allocator_notices(void **state) {
  (void)state;
  flaky heap = {.fail_at = -1};
  void *p = flaky_alloc(&heap, 100);
  assert_false(flaky_is_clean(&heap));
  flaky_free(&heap, p, 99);
  assert_int_equal(heap.faults, 1);
  flaky_free(&heap, p, 100);
  assert_true(heap.objects == 0 && heap.live == 0 && heap.peak == 100);
  flaky_arm(&heap, 1, false);
  void *q = flaky_alloc(&heap, 1);
  assert_non_null(q);
  assert_null(flaky_alloc(&heap, 1));
  flaky_arm(&heap, 0, true);
  assert_null(flaky_alloc(&heap, 1));
  assert_null(flaky_alloc(&heap, 1));
  flaky_free(&heap, q, 1);
}

/* ---- bytes ---- */

static void loads_and_stores_have_one_order(void **state) {
  (void)state;
  const uint8_t bytes[10] = {0xff, 1, 2, 3, 4, 5, 6, 7, 8, 0xff};
  const uint8_t *p = bytes + 1; /* at an odd address */
  assert_int_equal(nay__load16le(p), 0x0201);
  assert_int_equal(nay__load32le(p), 0x04030201);
  assert_int_equal(nay__load32be(p), 0x01020304);
  assert_true(nay__load64le(p) == 0x0807060504030201u);
  for (unsigned shift = 0; shift < 8; shift++) {
    uint8_t out[24] = {0};
    nay__store64le(out + shift, 0x0807060504030201u);
    assert_memory_equal(out + shift, p, 8);
    nay__store32le(out + shift, 0x04030201u);
    nay__store32be(out + shift + 4, 0x05060708u);
    assert_memory_equal(out + shift, p, 8);
    nay__store16le(out + shift, 0x0201);
    assert_memory_equal(out + shift, p, 8);
    assert_true(nay__all_zero(out, shift) && nay__all_zero(out + shift + 8, 16 - shift));
  }
}

static void zeros_are_seen(void **state) {
  (void)state;
  uint8_t bytes[100] = {0};
  assert_true(nay__all_zero(bytes, 100) && nay__all_zero(bytes, 0) && nay__all_zero(NULL, 0));
  for (size_t i = 0; i < 100; i++) {
    bytes[i] = 0x80;
    assert_false(nay__all_zero(bytes, 100));
    assert_true(nay__all_zero(bytes, i));
    bytes[i] = 0;
  }
}

/* The check value of CRC-32/ISO-HDLC, and that it is the remainder: bits count wherever they are.
 */
static void the_checksum_is_the_known_one(void **state) {
  (void)state;
  assert_int_equal(nay__crc32((const uint8_t *)"123456789", 9), 0xcbf43926u);
  assert_int_equal(nay__crc32(NULL, 0), 0);
  assert_int_equal(nay__crc32((const uint8_t *)"a", 1), 0xe8b7be43u);
  uint8_t bytes[64] = {0};
  uint32_t seen[512], zero = nay__crc32(bytes, sizeof bytes);
  for (unsigned i = 0; i < 512; i++) {
    bytes[i / 8] = (uint8_t)(1u << i % 8);
    seen[i] = nay__crc32(bytes, sizeof bytes);
    bytes[i / 8] = 0;
    assert_true(seen[i] != zero);
    for (unsigned j = 0; j < i; j++) assert_true(seen[i] != seen[j]);
  }
}

/* ---- sizes ---- */

static void products_that_overflow_are_refused(void **state) {
  (void)state;
  size_t product = 7;
  assert_true(nay__mul_ok(0, SIZE_MAX, &product) && product == 0);
  assert_true(nay__mul_ok(SIZE_MAX, 0, &product) && product == 0);
  assert_true(nay__mul_ok(SIZE_MAX, 1, &product) && product == SIZE_MAX);
  assert_true(nay__mul_ok(SIZE_MAX / 8, 8, &product) && product == SIZE_MAX / 8 * 8);
  product = 7;
  assert_false(nay__mul_ok(SIZE_MAX / 8 + 1, 8, &product));
  assert_false(nay__mul_ok(SIZE_MAX, SIZE_MAX, &product));
  assert_int_equal(product, 7);
  assert_true(nay__size_ok(SIZE_MAX / 2, &product) && product == SIZE_MAX / 2);
  assert_false(nay__size_ok((uint64_t)SIZE_MAX / 2 + 1, &product));
}

static void divisions_round_as_they_say(void **state) {
  (void)state;
  assert_true(nay__ceil_div(0, 5) == 0 && nay__ceil_div(1, 5) == 1 && nay__ceil_div(5, 5) == 1);
  assert_true(nay__ceil_div(UINT64_MAX, 2) == (uint64_t)1 << 63);
  assert_true(nay__round_up(0, 64) == 0 && nay__round_up(1, 64) == 64);
  assert_true(nay__round_up(64, 64) == 64 && nay__round_up(65, 64) == 128);
  assert_true(nay__min_u64(3, 4) == 3 && nay__max_u64(3, 4) == 4);
}

/* ---- abi.h: a field is appended ---- */

typedef struct first_version {
  size_t size;
  uint64_t a;
} first_version;

typedef struct second_version {
  size_t size;
  uint64_t a;
  uint64_t b; /* 0: not used */
} second_version;

static const nay_abi second = {sizeof(first_version), sizeof(second_version), "bad size",
                               "bad tail"};

static void old_callers_of_a_newer_library(void **state) {
  (void)state;
  first_version old = {sizeof old, 5};
  second_version seen;
  memset(&seen, 0xa5, sizeof seen);
  assert_ok(nay__abi_read(&second, &old, NULL, &seen));
  assert_int_equal(seen.size, sizeof seen);
  assert_int_equal(seen.a, 5);
  assert_int_equal(seen.b, 0); /* as if it had not been set */
  assert_ok(nay__abi_check_input(&second, &old, NULL));
  assert_false(NAY_ABI_HAS(second_version, &old, b));
  assert_true(NAY_ABI_HAS(second_version, &seen, b));
  struct {
    first_version object;
    uint64_t after;
  } out = {{sizeof out.object, 0}, 99};
  assert_ok(nay__abi_check(&second, &out.object, NULL));
  nay__abi_write(&second, &(second_version){.a = 7, .b = 8}, &out.object);
  assert_int_equal(out.object.size, sizeof out.object);
  assert_int_equal(out.object.a, 7);
  assert_int_equal(out.after, 99);
}

int main(void) {
  const test_case tests[] = {
      TEST(every_status_has_a_text_and_a_name),
      TEST(the_version_is_that_of_the_header),
      TEST(regions_are_aligned_and_zeroed),
      TEST(the_default_is_malloc),
      TEST(no_memory_is_told),
      TEST(the_flaky_allocator_notices),
      TEST(loads_and_stores_have_one_order),
      TEST(zeros_are_seen),
      TEST(the_checksum_is_the_known_one),
      TEST(products_that_overflow_are_refused),
      TEST(divisions_round_as_they_say),
      TEST(old_callers_of_a_newer_library),
  };
  return run_all(tests);
}
