/*
 * test_native_flips.c - damage: every single-bit flip, truncation and extension of a native file of
 * each family is refused, by decode and by view; a lazy map refuses it or answers maybe for every
 * member. `test_native_flips all` does it for files of 64 KiB and for every change of two bytes of
 * the header.
 */
#include "family/family.h"
#include "format/native.h"
#include "support/native.h"
#include "support/test.h"

static bool thorough = false;

/* The first bit whose flip is not refused, or `nbits`. */
static size_t first_accepted_flip(uint8_t *p, size_t len,
                                  bool (*accepts)(const uint8_t *, size_t)) {
  size_t nbits = len * 8;
  for (size_t bit = 0; bit < nbits; bit++) {
    p[bit / 8] ^= (uint8_t)(1u << bit % 8);
    bool accepted = accepts(p, len);
    p[bit / 8] ^= (uint8_t)(1u << bit % 8);
    if (accepted) return bit;
  }
  return nbits;
}

static bool view_accepts(const uint8_t *p, size_t len) {
  nay_view view = {.size = sizeof view};
  return nay_view_open(p, len, NULL, NULL, &view) == NAY_OK;
}

/* Also: a refusal says what and where, and makes nothing. */
static bool decode_accepts(const uint8_t *p, size_t len) {
  nay_filter *f = NULL;
  nay_diag diag = {.offset = UINT64_MAX, .os_error = -1};
  nay_status status = nay_filter_decode(p, len, NULL, &diag, &f);
  nay_filter_free(f);
  if (status == NAY_OK) return true;
  assert_null(f);
  assert_non_null(diag.what);
  assert_true(diag.offset <= len);
  assert_int_equal(diag.os_error, 0);
  return false;
}

static void every_flip_is_refused(void **state) {
  const nay_family *family = *state;
  size_t len;
  uint64_t n;
  uint8_t *p = native_sample_upto(family->kind, thorough ? 65536 : 2048, &n, &len);
  assert_true(view_accepts(p, len));
  assert_int_equal(first_accepted_flip(p, len, view_accepts), len * 8);
  if (!thorough) assert_int_equal(first_accepted_flip(p, len, decode_accepts), len * 8);
  free(p);
}

/* ---- lazy maps ---- */

static nay_filter *lazy_filter(uint8_t *p, size_t len) {
  nay_filter *f = malloc(sizeof *f);
  *f = (nay_filter){.allocator = nay__allocator_default(), .flags = NAY_IS_READ_ONLY};
  if (nay__native_parse(p, len, NAY_VERIFY_AT_TOUCH, NULL, f) == NAY_OK) return f;
  nay_filter_free(f);
  return NULL;
}

/* A damaged file that is opened must not lose a member, and must not be passed on. */
static void check_lazy(uint8_t *p, size_t len, uint64_t nmembers, size_t bit) {
  nay_filter *f = lazy_filter(p, len), *copy = NULL;
  if (f == NULL) return;
  if (!native_members_ok(f, nmembers)) fail_msg("bit %zu: a false nay", bit);
  nay_stats stats = {.size = sizeof stats};
  size_t written;
  uint8_t out[1];
  assert_status(nay_filter_stats(f, &stats), NAY_ECORRUPT);
  assert_status(nay_filter_health(f), NAY_ECORRUPT);
  assert_status(nay_filter_copy(f, NULL, NULL, &copy), NAY_ECORRUPT);
  assert_true(nay_filter_encode(f, out, sizeof out, &written) != NAY_OK);
  nay_filter_free(f);
}

static void lazy_flips_in_one_chunk_are_refused(void **state) {
  const nay_family *family = *state;
  size_t len;
  uint64_t n;
  uint8_t *p = native_sample_upto(family->kind, 1024, &n, &len);
  nay_filter *good = lazy_filter(p, len);
  assert_true(native_members_ok(good, n));
  assert_status(nay_filter_health(good), NAY_OK);
  nay_filter_free(good);
  for (size_t bit = 0; bit < len * 8; bit++) { /* one chunk: where sections start and end */
    p[bit / 8] ^= (uint8_t)(1u << bit % 8);
    assert_null(lazy_filter(p, len));
    p[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
  free(p);
}

/* Several chunks: the good ones still answer, and say nay. */
static void lazy_chunks_are_independent(void **state) {
  const nay_family *family = *state;
  size_t len;
  uint64_t n;
  uint8_t *p = native_sample_upto(family->kind, 5 * 65536, &n, &len), key[8];
  for (unsigned trial = 0; trial < 300; trial++) {
    size_t bit = (size_t)(nay_hash_mix(trial) % (len * 8));
    p[bit / 8] ^= (uint8_t)(1u << bit % 8);
    check_lazy(p, len, 500, bit);
    p[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
  assert_true(len > 4 * 65536); /* the flip below is in the last chunk but one */
  size_t middle = len - 65536 - 65536 / 2;
  p[middle] ^= 1;
  nay_filter *f = lazy_filter(p, len);
  if (f != NULL) { /* a family with lazy maps */
    uint64_t nays = 0;
    for (uint64_t i = n; i < n + 1000; i++) {
      nays += !nay_filter_may_contain(f, key, native_member(i, key));
    }
    assert_true(nays > 100); /* one chunk of five is lost; a probe of seven chunks finds it often */
    assert_status(nay_filter_health(f), NAY_ECORRUPT);
  }
  nay_filter_free(f);
  free(p);
}

/* Metadata larger than a chunk: handed out only when all of it is good. */
static void lazy_metadata_is_verified(void **state) {
  (void)state;
  nay_params params = {sizeof params, .kind = NAY_BLOCKED, .fpr = 0.01};
  nay_filter *f = native_filter(&params, 100);
  uint8_t *meta = calloc(1, 300000);
  size_t len;
  assert_ok(nay_filter_set_meta(f, meta, 300000));
  uint8_t *p = native_encode(f, &len);
  nay_filter *good = lazy_filter(p, len);
  assert_non_null(good);
  nay_filter_free(good);
  for (size_t at = len - 300000; at < len; at += 30011) {
    p[at] ^= 4;
    assert_null(lazy_filter(p, len));
    p[at] ^= 4;
  }
  free(p);
  free(meta);
  nay_filter_free(f);
}

/* ---- lengths ---- */

static void every_length_but_one_is_refused(void **state) {
  const nay_family *family = *state;
  size_t len;
  uint64_t n;
  uint8_t *p = native_sample_upto(family->kind, thorough ? 65536 : 2048, &n, &len);
  for (size_t cut = 0; cut < len; cut++) {
    uint8_t *exact = malloc(cut + 1); /* exact: a sanitizer sees a read past the end */
    memcpy(exact + 1, p, cut);
    if (view_accepts(exact + 1, cut)) fail_msg("accepted after %zu of %zu bytes", cut, len);
    free(exact);
  }
  uint8_t *longer = calloc(1, len + 300);
  memcpy(longer, p, len);
  for (size_t more = 1; more <= 300; more++) assert_false(view_accepts(longer, len + more));
  memset(longer + len, 0xff, 300);
  for (size_t more = 1; more <= 300; more++) assert_false(view_accepts(longer, len + more));
  free(longer);
  free(p);
}

/* A view needs no alignment. */
static void views_at_every_alignment(void **state) {
  const nay_family *family = *state;
  size_t len;
  uint64_t n;
  uint8_t *p = native_sample_upto(family->kind, 4096, &n, &len);
  uint8_t *room = malloc(len + 64);
  for (size_t shift = 0; shift < 64; shift++) {
    nay_view view = {.size = sizeof view};
    memcpy(room + shift, p, len);
    assert_ok(nay_view_open(room + shift, len, NULL, NULL, &view));
    assert_true(native_members_ok(nay_view_filter(&view), n));
  }
  free(room);
  free(p);
}

/* ---- the header ---- */

static void check_two_bytes(uint8_t *p, size_t len, size_t a, size_t b) {
  uint8_t old_a = p[a], old_b = p[b];
  for (unsigned x = 1; x < 256; x++) {
    p[a] = (uint8_t)(old_a ^ x);
    for (unsigned y = 1; y < 256; y++) {
      p[b] = (uint8_t)(old_b ^ y);
      if (view_accepts(p, len)) fail_msg("bytes %zu and %zu changed by %x and %x", a, b, x, y);
    }
    p[b] = old_b;
  }
  p[a] = old_a;
}

static void header_changes_are_refused(void **state) {
  (void)state;
  nay_params params = {sizeof params, .kind = NAY_BLOCKED, .nbits = 512, .k = 6};
  size_t len;
  uint8_t *p = native_sample(&params, 10, &len);
  for (size_t at = 0; at < 64; at++) {
    uint8_t old = p[at];
    for (unsigned x = 1; x < 256; x++) {
      p[at] = (uint8_t)(old ^ x);
      assert_false(decode_accepts(p, len));
    }
    p[at] = old;
  }
  for (size_t a = 0; a < 64; a++) { /* neighbours always, all pairs when thorough: 131 million */
    for (size_t b = a + 1; b < (thorough ? 64 : a + 2 < 64 ? a + 2 : 64); b++) {
      if (thorough || a % 8 == 7) check_two_bytes(p, len, a, b);
    }
  }
  free(p);
}

int main(int argc, char **argv) {
  test_case tests[128];
  size_t n = 0;
  const nay_family *family;
  thorough = argc > 1 && strcmp(argv[1], "all") == 0;
  tests[n++] = (test_case)TEST(header_changes_are_refused);
  for (size_t i = 0; (family = nay__family_at(i)) != NULL; i++) {
    tests[n++] = (test_case)TEST_WITH("every_flip_is_refused", every_flip_is_refused, family);
    tests[n++] = (test_case)TEST_WITH("every_length_but_one_is_refused",
                                      every_length_but_one_is_refused, family);
    if (thorough) continue;
    tests[n++] = (test_case)TEST_WITH("lazy_flips_in_one_chunk_are_refused",
                                      lazy_flips_in_one_chunk_are_refused, family);
    tests[n++] =
        (test_case)TEST_WITH("lazy_chunks_are_independent", lazy_chunks_are_independent, family);
    tests[n++] = (test_case)TEST_WITH("views_at_every_alignment", views_at_every_alignment, family);
  }
  if (!thorough) tests[n++] = (test_case)TEST(lazy_metadata_is_verified);
  return run_list("native_flips", tests, n);
}
