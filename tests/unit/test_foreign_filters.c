/*
 * test_foreign_filters.c - filters that nori and mini-lsm wrote. Their answers equal the engine's
 * own, and a filter that is read, copied, or rebuilt from its keys has the same bytes.
 *
 *     test_foreign_filters [DIRECTORY]     other vectors, as make_foreign_vectors.py writes them
 */
#include "golden/foreign_vectors.h"
#include "support/flaky.h"

static const char *vectors = TEST_GOLDEN;

typedef struct vector {
  const char *file;
  const nay_format *format;
  golden_key make;
  uint64_t n, sized_for, absent_first;
  double bits;
  const char *denied, *absent;
  golden_bytes bytes;
} vector;

static vector read_vector(const char *directory, const foreign_row *row) {
  char path[512];
  assert_int_equal(row->nfields, 10);
  snprintf(path, sizeof path, "%s/%s/%s", vectors, directory, row->field[1]);
  vector v = {.file = row->field[1],
              .format = nay_format_find(row->field[2]),
              .make = foreign_keys(row->field[3]),
              .n = foreign_number(row, 4),
              .sized_for = foreign_number(row, 5),
              .bits = strtod(row->field[6], NULL),
              .denied = row->field[7],
              .absent_first = foreign_number(row, 8),
              .absent = row->field[9],
              .bytes = golden_read(path)};
  assert_non_null(v.format);
  return v;
}

/* Whether all slots of a quotient filter are in use. nori then misses keys, and nay answers
 * maybe. */
static bool is_full(const vector *v, const nay_filter *f) {
  const char *caveat = nay_filter_caveat(f);
  return strstr(v->file, "qf_") != NULL && caveat != NULL;
}

static void check_answers(const vector *v, const nay_filter *f) {
  uint8_t key[GOLDEN_KEY_MAX];
  bool full = is_full(v, f);
  for (uint64_t i = 0; i < v->n; i++) {
    bool denied = !full && foreign_listed(v->denied, i);
    if (nay_filter_may_contain(f, key, v->make(i, key)) == denied) {
      fail_msg("%s: present key %llu", v->file, (unsigned long long)i);
    }
  }
  for (uint64_t i = 0; i < FOREIGN_ABSENT; i++) {
    bool maybe = full || foreign_bit(v->absent, i);
    if (nay_filter_may_contain(f, key, v->make(v->absent_first + i, key)) != maybe) {
      fail_msg("%s: absent key %llu", v->file, (unsigned long long)i);
    }
  }
  /* a filter that misses keys has a caveat */
  bool loses = strcmp(v->denied, "-") != 0;
  if (loses) assert_non_null(nay_filter_caveat(f));
}

/* Rebuilds the filter by adds. nori drops the keys that do not fit, and nay refuses them. */
static void check_rebuilt(const vector *v) {
  uint8_t key[GOLDEN_KEY_MAX];
  nay_params p = {sizeof p, .nkeys = v->sized_for, .bits_per_key = v->bits != 0 ? v->bits : 10};
  nay_filter *f;
  assert_ok(nay_format_new(v->format, &p, NULL, NULL, &f));
  for (uint64_t i = 0; i < v->n; i++) {
    nay_status status = nay_filter_add(f, key, v->make(i, key), NULL);
    assert_status(status, foreign_listed(v->denied, i) ? NAY_EFULL : NAY_OK);
  }
  golden_assert_encodes(f, v->bytes.at, v->bytes.len);
  if (v->sized_for != v->n) return;
  golden_assert_encodes(golden_by_builder(v->format, v->make, v->n, p.bits_per_key), v->bytes.at,
                        v->bytes.len);
}

static void check_vector(const vector *v) {
  nay_filter *f, *copy;
  nay_stats stats = {.size = sizeof stats};
  nay_diag diag = {.what = NULL};
  nay_status status = nay_format_decode(v->format, v->bytes.at, v->bytes.len, 0, NULL, &diag, &f);
  if (status != NAY_OK) fail_msg("%s: %s", v->file, diag.what);
  assert_ptr_equal(nay_filter_format(f), v->format);
  check_answers(v, f);
  assert_ok(nay_filter_copy(f, NULL, NULL, &copy));
  check_answers(v, copy);
  golden_assert_encodes(copy, v->bytes.at, v->bytes.len);
  assert_ok(nay_filter_stats(f, &stats));
  assert_true(stats.fpr_now >= 0 && stats.fpr_now <= 1);
  golden_assert_encodes(f, v->bytes.at, v->bytes.len);
  check_rebuilt(v);
}

static unsigned check_all(const char *directory) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s/vectors.txt", vectors, directory);
  golden_bytes text = golden_read(path);
  char *rest = (char *)text.at;
  unsigned n = 0;
  for (foreign_row row; foreign_next(&rest, "filter", &row); n++) {
    vector v = read_vector(directory, &row);
    check_vector(&v);
    free(v.bytes.at);
  }
  free(text.at);
  print_message("# %u filters in %s\n", n, directory);
  return n;
}

static void nori(void **state) {
  (void)state;
  assert_true(check_all("nori-engine") >= 50);
}

static void mini_lsm(void **state) {
  (void)state;
  assert_true(check_all("mini-lsm-engine") >= 25);
}

/* ---- both names of the 12-byte header read both sizings ---- */

static void either_name_reads_both_sizings(void **state) {
  (void)state;
  const nay_format *rounded = nay_format_find("nori12"), *any = nay_format_find("nori12-unrounded");
  nay_filter *f = golden_by_new(any, golden_str, 100, 10), *read;
  golden_bytes bytes = golden_encode(f);
  assert_ok(nay_format_decode(rounded, bytes.at, bytes.len, 0, NULL, NULL, &read));
  assert_ptr_equal(nay_filter_format(read), any);
  golden_check_members(read, golden_str, 100);
  golden_assert_encodes(read, bytes.at, bytes.len);
  nay_filter_free(f);
  free(bytes.at);
  f = golden_by_new(rounded, golden_str, 100, 10);
  bytes = golden_encode(f);
  assert_ok(nay_format_decode(any, bytes.at, bytes.len, 0, NULL, NULL, &read));
  golden_check_members(read, golden_str, 100);
  golden_assert_encodes(read, bytes.at, bytes.len);
  nay_filter_free(f);
  free(bytes.at);
}

static void k_0_is_maybe(void **state) {
  (void)state;
  const uint8_t bytes[] = {0, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  nay_filter *f;
  assert_ok(nay_format_decode(nay_format_find("nori12"), bytes, sizeof bytes, 0, NULL, NULL, &f));
  assert_true(nay_filter_may_contain(f, "a", 1));
  assert_non_null(nay_filter_caveat(f));
  nay_filter_free(f);
}

/* ---- hostile quotient filters ---- */

static nay_status decode_quotient(const uint8_t *bytes, size_t len, nay_diag *diag) {
  flaky memory = {.fail_at = -1};
  nay_allocator allocator = flaky_allocator(&memory);
  nay_filter *f = NULL;
  nay_status status =
      nay_format_decode(nay_format_find("nori-quotient"), bytes, len, 0, &allocator, diag, &f);
  assert_true(memory.peak <= 17 * len + 3 * (1 << 20));
  if (status == NAY_OK) {
    golden_bytes again = golden_encode(f);
    assert_int_equal(again.len, len);
    free(again.at);
  } else {
    assert_null(f);
    assert_non_null(diag->what);
  }
  nay_filter_free(f);
  return status;
}

static golden_bytes small_quotient(const char *name) {
  nay_filter *f = golden_by_new(nay_format_find(name), golden_str, 12, 7);
  golden_bytes bytes = golden_encode(f);
  nay_filter_free(f);
  return bytes;
}

static void quotient_lies(void **state) {
  (void)state;
  static const struct {
    size_t at;
    uint8_t byte;
    const char *what;
  } lies[] = {
      {0, 0, "the form is neither 1 nor 2"},
      {0, 3, "the form is neither 1 nor 2"},
      {1, 0, "the quotient is not of 1 to 32 bits"},
      {1, 33, "the quotient is not of 1 to 32 bits"},
      {1, 1, "a quotient of more than q bits"},
      {2, 17, "the remainder is of more than 16 bits"},
      {2, 1, "a remainder of more than r bits"},
      {3, 11, "the count is not that of the used slots"},
      {3, 200, "more keys than slots"},
      {10, 0xff, "the slots are more than the bytes can hold"},
  };
  golden_bytes bytes = small_quotient("nori-quotient");
  for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
    nay_diag diag = {.what = NULL};
    uint8_t was = bytes.at[lies[i].at];
    bytes.at[lies[i].at] = lies[i].byte;
    assert_status(decode_quotient(bytes.at, bytes.len, &diag), NAY_ECORRUPT);
    assert_string_equal(diag.what, lies[i].what);
    bytes.at[lies[i].at] = was;
  }
  free(bytes.at);
}

static void quotient_truncated_and_flipped(void **state) {
  golden_bytes bytes = small_quotient(*state);
  nay_diag diag;
  for (size_t len = 0; len < bytes.len; len++) {
    uint8_t *cut = malloc(len + 1);
    assert_non_null(cut);
    memcpy(cut + 1, bytes.at, len);
    assert_status(decode_quotient(cut + 1, len, &diag), NAY_ECORRUPT);
    free(cut);
  }
  for (size_t bit = 0; bit < 8 * bytes.len; bit++) {
    bytes.at[bit / 8] ^= (uint8_t)(1u << bit % 8);
    (void)decode_quotient(bytes.at, bytes.len, &diag); /* fails, or gives a filter that encodes */
    bytes.at[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
  bytes.at = realloc(bytes.at, bytes.len + 1);
  assert_non_null(bytes.at);
  bytes.at[bytes.len] = 0;
  assert_status(decode_quotient(bytes.at, bytes.len + 1, &diag), NAY_ECORRUPT);
  free(bytes.at);
}

/* An empty slot lies between a fingerprint and its home slot, where a lookup would stop. */
static void a_fingerprint_out_of_reach_is_corrupt(void **state) {
  (void)state;
  const uint8_t compact[] = {2, 4, 7, 1, 0, 0, 0, 16, 0, 0, 0, 6, 0, 0, 0, 5, 0, 0, 0, 1, 0};
  nay_diag diag = {.what = NULL};
  assert_status(decode_quotient(compact, sizeof compact, &diag), NAY_ECORRUPT);
  assert_string_equal(diag.what, "a fingerprint that no lookup reaches");
}

/* A compact filter states its number of slots, but memory must be bounded by its bytes. */
static void compact_slots_are_bounded(void **state) {
  (void)state;
  const uint8_t compact[] = {2, 32, 7, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff};
  nay_diag diag = {.what = NULL};
  assert_status(decode_quotient(compact, sizeof compact, &diag), NAY_ECORRUPT);
  assert_int_equal(diag.offset, 7);
}

static void a_full_quotient_filter_answers_maybe(void **state) {
  (void)state;
  nay_params p = {sizeof p, .nkeys = 1, .bits_per_key = 7};
  nay_filter *f;
  uint8_t key[GOLDEN_KEY_MAX];
  assert_ok(nay_format_new(nay_format_find("nori-quotient"), &p, NULL, NULL, &f));
  uint64_t refused = 0;
  for (uint64_t i = 0; i < 40; i++) {
    refused += nay_filter_add(f, key, golden_str(i, key), NULL) == NAY_EFULL;
  }
  assert_true(refused >= 20);
  golden_check_members(f, golden_str, 40);
  assert_true(nay_filter_may_contain(f, "absent", 6));
  assert_non_null(nay_filter_caveat(f));
  nay_stats stats = {.size = sizeof stats};
  assert_ok(nay_filter_stats(f, &stats));
  assert_true(stats.fpr_now == 1);
  nay_filter_free(f);
}

int main(int argc, char **argv) {
  if (argc > 1) vectors = argv[1];
  const test_case tests[] = {
      TEST(nori),
      TEST(mini_lsm),
      TEST(either_name_reads_both_sizings),
      TEST(k_0_is_maybe),
      TEST(quotient_lies),
      TEST_WITH("quotient_truncated_and_flipped slots", quotient_truncated_and_flipped,
                "nori-quotient"),
      TEST_WITH("quotient_truncated_and_flipped compact", quotient_truncated_and_flipped,
                "nori-quotient-compact"),
      TEST(a_fingerprint_out_of_reach_is_corrupt),
      TEST(compact_slots_are_bounded),
      TEST(a_full_quotient_filter_answers_maybe),
  };
  return run_all(tests);
}
