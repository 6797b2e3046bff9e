/*
 * test_format_hostile.c - bytes that are short, long, damaged or lies, in every layout. What is
 * refused is refused with the documented status, text and offset, before anything is allocated;
 * what is accepted is safe to ask, costs no more than its length, and is written back as it was.
 */
#include "base/crc32.h"
#include "golden/golden.h"
#include "support/flaky.h"

#define MARK ((nay_filter *)(uintptr_t)0x5a5a) /* must still be there after a failure */

static const char *const layouts[] = {"leveldb", "mini-lsm", "nori", "nori12", "lab"};
#define N_LAYOUTS (sizeof layouts / sizeof layouts[0])

/* str keys; 7 keys of 5 bits leave the last byte of nori and lab with 5 bits that are not used */
static golden_bytes valid(const char *name, uint64_t n, uint32_t bits_per_key) {
  nay_filter *f = golden_by_new(nay_format_find(name), golden_str, n, bits_per_key);
  golden_bytes bytes = golden_encode(f);
  nay_filter_free(f);
  return bytes;
}

/* decode and view refuse alike; nothing is allocated, nothing is written. */
static void assert_refused(const char *name, const uint8_t *bytes, size_t len, const char *what,
                           uint64_t offset) {
  const nay_format *format = nay_format_find(name);
  flaky memory = {.fail_at = -1};
  nay_allocator allocator = flaky_allocator(&memory);
  nay_diag diag = {.offset = UINT64_MAX, .os_error = -1}, view_diag = diag;
  nay_filter *f = MARK;
  nay_view view = {.size = sizeof view};
  assert_status(nay_format_decode(format, bytes, len, 0, &allocator, &diag, &f), NAY_ECORRUPT);
  assert_ptr_equal(f, MARK);
  assert_int_equal(memory.calls, 0);
  assert_non_null(diag.what);
  assert_string_equal(diag.what, what);
  assert_int_equal(diag.offset, offset);
  assert_int_equal(diag.os_error, 0);
  assert_status(nay_format_view(format, bytes, len, 0, &view_diag, &view), NAY_ECORRUPT);
  assert_string_equal(view_diag.what, what);
  assert_int_equal(view_diag.offset, offset);
  assert_status(nay_format_decode(format, bytes, len, 0, NULL, NULL, &f), NAY_ECORRUPT);
}

/* Asks everything of a filter that came from strange bytes. */
static void use_all(const nay_filter *f) {
  nay_stats stats = {.size = sizeof stats};
  uint8_t key[GOLDEN_KEY_MAX];
  assert_ok(nay_filter_stats(f, &stats));
  assert_true(stats.nbits_set <= stats.nbits);
  assert_true(stats.fpr_now >= 0 && stats.fpr_now <= 1);
  for (uint64_t i = 0; i < 8; i++) (void)nay_filter_may_contain(f, key, golden_abs(i, key));
}

/* Decodes, checks the cost, compares with the view and writes it back: the first `kept` bytes. */
static void assert_accepted(const char *name, const uint8_t *bytes, size_t len, size_t kept) {
  const nay_format *format = nay_format_find(name);
  flaky memory = {.fail_at = -1};
  nay_allocator allocator = flaky_allocator(&memory);
  nay_filter *f;
  nay_view view = {.size = sizeof view};
  assert_ok(nay_format_decode(format, bytes, len, 0, &allocator, NULL, &f));
  assert_true(memory.peak <= 2 * len + 65536);
  assert_ok(nay_format_view(format, bytes, len, 0, NULL, &view));
  use_all(f);
  use_all(nay_view_filter(&view));
  for (uint64_t i = 0; i < 8; i++) {
    uint8_t key[GOLDEN_KEY_MAX];
    size_t key_len = golden_str(i, key);
    assert_int_equal(nay_filter_may_contain(f, key, key_len),
                     nay_filter_may_contain(nay_view_filter(&view), key, key_len));
  }
  golden_assert_encodes(f, bytes, kept);
  assert_int_equal(memory.objects, 0);
}

/* ---- lengths ---- */

/* Why a filter of 100 keys and 10 bits, cut to len bytes, is refused. */
static const char *why_short(const char *name, size_t len, uint64_t *offset) {
  if (strcmp(name, "mini-lsm") == 0) {
    *offset = len < 5 ? len : len - 4;
    return len < 5 ? "shorter than k and checksum" : "the CRC-32 is wrong";
  }
  bool nori = strcmp(name, "nori") == 0;
  size_t header = nori ? 16 : 12;
  *offset = len < header ? len : nori ? 0 : 4;
  if (len < header) return "shorter than the header";
  return strcmp(name, "lab") == 0 ? "m does not fit the length"
                                  : "num_bits does not fit the length";
}

static void every_truncation(void **state) {
  const char *name = *state;
  golden_bytes bytes = valid(name, 100, 10);
  for (size_t len = 0; len < bytes.len; len++) {
    uint8_t *cut = malloc(len + 1);
    assert_non_null(cut);
    memcpy(cut + 1, bytes.at, len); /* the end of the memory is the end of the filter */
    if (strcmp(name, "leveldb") == 0) {
      assert_accepted(name, cut + 1, len, len); /* any bytes are a filter there */
    } else {
      uint64_t offset;
      const char *what = why_short(name, len, &offset);
      assert_refused(name, cut + 1, len, what, offset);
    }
    free(cut);
  }
  free(bytes.at);
}

static void trailing_bytes(void **state) {
  const char *name = *state;
  golden_bytes bytes = valid(name, 100, 10);
  uint8_t *longer = calloc(bytes.len + 64, 1);
  assert_non_null(longer);
  memcpy(longer, bytes.at, bytes.len);
  longer[bytes.len + 5] = 0xa5;
  for (size_t more = 1; more <= 64; more++) {
    size_t len = bytes.len + more;
    uint64_t offset;
    if (strcmp(name, "leveldb") == 0) {
      assert_accepted(name, longer, len, len); /* another filter, with another k */
    } else if (strcmp(name, "nori12") == 0) {
      assert_accepted(name, longer, len, bytes.len); /* as its own reader: the rest is not ours */
    } else {
      const char *what = why_short(name, len, &offset);
      assert_refused(name, longer, len, what, offset);
    }
  }
  free(longer);
  free(bytes.at);
}

/* ---- headers that lie ---- */

static void put_le(uint8_t *at, unsigned width, uint64_t v) {
  for (unsigned i = 0; i < width; i++) at[i] = (uint8_t)(v >> (8 * i));
}

/* Puts a little-endian number of `width` bytes somewhere, expects a refusal, and takes it out. */
static void assert_lie_refused(const char *name, golden_bytes *bytes, size_t at, unsigned width,
                               uint64_t lie, const char *what, uint64_t offset) {
  uint8_t saved[8];
  memcpy(saved, bytes->at + at, width);
  put_le(bytes->at + at, width, lie);
  assert_refused(name, bytes->at, bytes->len, what, offset);
  memcpy(bytes->at + at, saved, width);
}

static const uint64_t impossible_bits[] = {0,
                                           1,
                                           1008,
                                           UINT64_C(1) << 32,
                                           UINT64_C(1) << 60,
                                           (UINT64_C(1) << 60) + 8,
                                           UINT64_C(1) << 63,
                                           UINT64_MAX,
                                           UINT64_MAX - 7};
#define N_IMPOSSIBLE (sizeof impossible_bits / sizeof impossible_bits[0])

static void nori_header_lies(void **state) {
  (void)state;
  golden_bytes b = valid("nori", 100, 10);
  static const uint32_t bad_k[] = {0, 31, 255, 256, UINT32_MAX};
  for (size_t i = 0; i < N_IMPOSSIBLE; i++) {
    assert_lie_refused("nori", &b, 0, 8, impossible_bits[i], "num_bits does not fit the length", 0);
  }
  for (size_t i = 0; i < sizeof bad_k / sizeof bad_k[0]; i++) {
    assert_lie_refused("nori", &b, 8, 4, bad_k[i], "k is not between 1 and 30", 8);
  }
  memset(b.at + 12, 0xff, 4); /* bits_per_key is only remembered */
  assert_accepted("nori", b.at, b.len, b.len);
  free(b.at);
}

static void nori12_header_lies(void **state) {
  (void)state;
  golden_bytes b = valid("nori12", 100, 10);
  static const uint32_t bad_k[] = {256, UINT32_MAX};
  for (size_t i = 0; i < sizeof bad_k / sizeof bad_k[0]; i++) {
    assert_lie_refused("nori12", &b, 0, 4, bad_k[i], "k is above 255", 0);
  }
  for (unsigned power = 11; power < 64; power++) {
    assert_lie_refused("nori12", &b, 4, 8, UINT64_C(1) << power, "num_bits does not fit the length",
                       4);
  }
  assert_lie_refused("nori12", &b, 4, 8, 1025, "num_bits does not fit the length", 4);
  assert_lie_refused("nori12", &b, 4, 8, UINT64_MAX, "num_bits does not fit the length", 4);
  b.at[0] = 255; /* the most that is read */
  assert_accepted("nori12", b.at, b.len, b.len);
  free(b.at);
}

static void lab_header_lies(void **state) {
  (void)state;
  golden_bytes b = valid("lab", 100, 10);
  static const uint32_t bad_k[] = {0, 256, UINT32_MAX};
  for (size_t i = 0; i < sizeof bad_k / sizeof bad_k[0]; i++) {
    assert_lie_refused("lab", &b, 0, 4, bad_k[i], "k is not between 1 and 255", 0);
  }
  for (size_t i = 0; i < N_IMPOSSIBLE; i++) {
    assert_lie_refused("lab", &b, 4, 8, impossible_bits[i], "m does not fit the length", 4);
  }
  b.at[0] = 255;
  assert_accepted("lab", b.at, b.len, b.len);
  free(b.at);
}

/* 35 bits in 5 bytes: the last 5 must be clear. */
static void bits_past_the_end(void **state) {
  (void)state;
  static const struct {
    const char *name, *what;
  } cases[] = {{"nori", "bits are set past num_bits"}, {"lab", "bits are set past m"}};
  for (size_t i = 0; i < 2; i++) {
    golden_bytes b = valid(cases[i].name, 7, 5);
    for (unsigned bit = 3; bit < 8; bit++) {
      b.at[b.len - 1] ^= (uint8_t)(1u << bit);
      assert_refused(cases[i].name, b.at, b.len, cases[i].what, b.len - 1);
      b.at[b.len - 1] ^= (uint8_t)(1u << bit);
    }
    assert_accepted(cases[i].name, b.at, b.len, b.len);
    free(b.at);
  }
  golden_bytes one = valid("nori12", 1, 1); /* one bit in one byte */
  one.at[one.len - 1] |= 0x80;
  assert_refused("nori12", one.at, one.len, "bits are set past num_bits", one.len - 1);
  free(one.at);
}

/* What nori itself writes for an empty table: no probes, no bits. */
static void nori12_of_an_empty_table(void **state) {
  (void)state;
  uint8_t bytes[12] = {0};
  nay_filter *f;
  assert_accepted("nori12", bytes, sizeof bytes, sizeof bytes);
  assert_ok(nay_format_decode(nay_format_find("nori12"), bytes, sizeof bytes, 0, NULL, NULL, &f));
  assert_false(nay_filter_may_contain(f, "foo", 3));
  assert_status(nay_filter_add(f, "foo", 3, NULL), NAY_EFULL);
  nay_filter_free(f);
}

/* ---- mini-lsm: the checksum ---- */

static void minilsm_notices_every_flipped_bit(void **state) {
  (void)state;
  golden_bytes b = valid("mini-lsm", 2, 10);
  for (size_t bit = 0; bit < 8 * b.len; bit++) {
    b.at[bit / 8] ^= (uint8_t)(1u << bit % 8);
    assert_refused("mini-lsm", b.at, b.len, "the CRC-32 is wrong", b.len - 4);
    b.at[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
  assert_accepted("mini-lsm", b.at, b.len, b.len);
  free(b.at);
}

/* Makes the checksum right again. */
static void seal(uint8_t *bytes, size_t len) {
  uint32_t crc = nay__crc32(bytes, len - 4);
  for (unsigned i = 0; i < 4; i++) bytes[len - 4 + i] = (uint8_t)(crc >> (24 - 8 * i));
}

static void minilsm_without_bits(void **state) {
  (void)state;
  uint8_t bytes[5] = {6};
  seal(bytes, sizeof bytes);
  assert_refused("mini-lsm", bytes, sizeof bytes, "no bits", 0);
}

/* Reserved numbers of probes, under a sound checksum: every key is a maybe, none can be added. */
static void minilsm_reserved_k(void **state) {
  (void)state;
  static const uint8_t reserved[] = {0, 31, 128, 255};
  for (size_t i = 0; i < sizeof reserved; i++) {
    uint8_t bytes[8 + 5] = {0};
    nay_filter *f;
    nay_stats stats = {.size = sizeof stats};
    bytes[8] = reserved[i];
    seal(bytes, sizeof bytes);
    assert_accepted("mini-lsm", bytes, sizeof bytes, sizeof bytes);
    assert_ok(nay_format_decode(nay_format_find("mini-lsm"), bytes, 13, 0, NULL, NULL, &f));
    assert_true(nay_filter_may_contain(f, "foo", 3));
    assert_status(nay_filter_add(f, "foo", 3, NULL), NAY_ENOTSUP);
    assert_ok(nay_filter_stats(f, &stats));
    assert_true(stats.fpr_now == 1);
    nay_filter_free(f);
  }
}

/* ---- any bytes at all ---- */

static void every_flipped_bit_is_safe(void **state) {
  const char *name = *state;
  golden_bytes b = valid(name, 7, 5);
  const nay_format *format = nay_format_find(name);
  for (size_t bit = 0; bit < 8 * b.len; bit++) {
    b.at[bit / 8] ^= (uint8_t)(1u << bit % 8);
    nay_view view = {.size = sizeof view};
    if (nay_format_view(format, b.at, b.len, 0, NULL, &view) == NAY_OK) {
      size_t kept = nay_format_encoded_size(format, nay_view_filter(&view));
      assert_true(kept <= b.len);
      assert_accepted(name, b.at, b.len, kept);
    }
    b.at[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
  free(b.at);
}

/* Makes the lengths in random bytes true, so that what lies behind those checks is reached. */
static void make_plausible(const char *name, uint8_t *bytes, size_t len, uint64_t r) {
  bool nori = strcmp(name, "nori") == 0;
  size_t header = nori ? 16 : 12;
  if (strcmp(name, "mini-lsm") == 0 && len >= 5) seal(bytes, len);
  if (strcmp(name, "leveldb") == 0 || strcmp(name, "mini-lsm") == 0 || len <= header) return;
  uint64_t nbits = (len - header) * 8;
  while (strcmp(name, "nori12") == 0 && (nbits & (nbits - 1)) != 0) nbits &= nbits - 1;
  put_le(bytes + (nori ? 0 : 4), 8, nbits);
  put_le(bytes + (nori ? 8 : 0), 4, r % 40);
}

static void random_bytes_are_safe(void **state) {
  const char *name = *state;
  const nay_format *format = nay_format_find(name);
  unsigned accepted = 0;
  for (uint64_t round = 0; round < 20000; round++) {
    uint8_t bytes[96];
    uint64_t r = nay_hash_mix(round);
    size_t len = r % sizeof bytes;
    for (size_t i = 0; i < len; i++) bytes[i] = (uint8_t)nay_hash_mix(round << 8 | i);
    if (round % 2 == 0) make_plausible(name, bytes, len, r >> 32);
    nay_view view = {.size = sizeof view};
    if (nay_format_view(format, bytes, len, 0, NULL, &view) != NAY_OK) continue;
    assert_accepted(name, bytes, len, nay_format_encoded_size(format, nay_view_filter(&view)));
    accepted++;
  }
  assert_true(accepted > 5000);
}

static void views_at_any_address(void **state) {
  const char *name = *state;
  golden_bytes b = valid(name, 100, 10);
  for (size_t shift = 0; shift < 16; shift++) {
    uint8_t *memory = malloc(b.len + shift), key[GOLDEN_KEY_MAX];
    assert_non_null(memory);
    memcpy(memory + shift, b.at, b.len);
    nay_view view = {.size = sizeof view};
    assert_ok(nay_format_view(nay_format_find(name), memory + shift, b.len, 0, NULL, &view));
    const nay_filter *f = nay_view_filter(&view);
    for (uint64_t i = 0; i < 100; i++) {
      assert_true(nay_filter_may_contain(f, key, golden_str(i, key)));
    }
    nay_stats stats = {.size = sizeof stats};
    assert_ok(nay_filter_stats(f, &stats));
    assert_true(stats.read_only);
    assert_status(nay_filter_add((nay_filter *)(uintptr_t)f, "foo", 3, NULL), NAY_ENOTSUP);
    free(memory);
  }
  free(b.at);
}

/* ---- no memory ---- */

static void no_memory(void **state) {
  const char *name = *state;
  const nay_format *format = nay_format_find(name);
  golden_bytes b = valid(name, 100, 10);
  nay_params p = {sizeof p, .nkeys = 100, .bits_per_key = 10};
  for (long call = 0; call < 2; call++) { /* a handle and its bits */
    flaky memory = {.fail_at = call};
    nay_allocator allocator = flaky_allocator(&memory);
    nay_diag diag = {.offset = 1, .os_error = 1};
    nay_filter *f = MARK;
    assert_status(nay_format_decode(format, b.at, b.len, 0, &allocator, &diag, &f), NAY_ENOMEM);
    assert_string_equal(diag.what, nay_status_text(NAY_ENOMEM));
    memory.calls = 0;
    assert_status(nay_format_new(format, &p, &allocator, &diag, &f), NAY_ENOMEM);
    assert_ptr_equal(f, MARK);
    assert_int_equal(memory.objects, 0);
  }
  flaky memory = {.fail_at = 0};
  nay_allocator allocator = flaky_allocator(&memory);
  nay_diag diag = {.offset = 1, .os_error = 1};
  nay_builder *builder = NULL;
  assert_status(nay_format_builder_new(format, &p, &allocator, &diag, &builder), NAY_ENOMEM);
  assert_string_equal(diag.what, "no memory for a builder");
  free(b.at);
}

int main(void) {
  static const struct {
    const char *name;
    void (*run)(void **);
  } for_each[] = {
      {"every_truncation", every_truncation},
      {"trailing_bytes", trailing_bytes},
      {"every_flipped_bit_is_safe", every_flipped_bit_is_safe},
      {"random_bytes_are_safe", random_bytes_are_safe},
      {"views_at_any_address", views_at_any_address},
      {"no_memory", no_memory},
  };
  test_case tests[64] = {
      TEST(nori_header_lies),         TEST(nori12_header_lies),
      TEST(lab_header_lies),          TEST(bits_past_the_end),
      TEST(nori12_of_an_empty_table), TEST(minilsm_notices_every_flipped_bit),
      TEST(minilsm_without_bits),     TEST(minilsm_reserved_k),
  };
  size_t n = 8;
  static char names[64][64];
  for (size_t t = 0; t < sizeof for_each / sizeof for_each[0]; t++) {
    for (size_t i = 0; i < N_LAYOUTS; i++, n++) {
      snprintf(names[n], sizeof names[n], "%s %s", for_each[t].name, layouts[i]);
      tests[n] = (test_case)TEST_WITH(names[n], for_each[t].run, layouts[i]);
    }
  }
  return run_list("hostile", tests, n);
}
