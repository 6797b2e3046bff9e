/*
 * test_cassandra.c - Filter.db of Cassandra: the answers of its own reader, its own bytes when a
 * filter is read, copied and built again from its keys, its table of sizes, and bytes that lie.
 *
 *     test_cassandra [DIRECTORY]     another set of vectors, as make_cassandra_vectors.py writes it
 */
#include "golden/foreign_vectors.h"
#include "support/hashes.h"

#define ABSENT_FIRST 10000000u
#define NFORMS 3

static const char *vectors = TEST_GOLDEN;
static const char *const forms[NFORMS] = {"cassandra", "cassandra-old", "cassandra-old-swapped"};

typedef struct vector {
  const char *file;
  const nay_format *format;
  const char *listed; /* members in hex; NULL: those of make */
  golden_key make;
  uint64_t n, sized_for, nbits;
  double fpr, bits;
  uint32_t k;
  const char *absent;
  golden_bytes bytes;
} vector;

static vector read_vector(const foreign_row *row) {
  char path[512];
  assert_int_equal(row->nfields, 10);
  snprintf(path, sizeof path, "%s/cassandra/%s", vectors, row->field[1]);
  bool listed = strncmp(row->field[3], "hex=", 4) == 0;
  vector v = {.file = row->field[1],
              .format = nay_format_find(row->field[2]),
              .listed = listed ? row->field[3] + 4 : NULL,
              .make = foreign_keys(listed ? "key8" : row->field[3]),
              .n = foreign_number(row, 4),
              .sized_for = foreign_number(row, 5),
              .k = (uint32_t)foreign_number(row, 7),
              .nbits = foreign_number(row, 8),
              .absent = row->field[9],
              .bytes = golden_read(path)};
  const char *by = row->field[6];
  if (strncmp(by, "fpr=", 4) == 0) v.fpr = strtod(by + 4, NULL);
  if (strncmp(by, "bits=", 5) == 0) v.bits = strtod(by + 5, NULL);
  if (strcmp(by, "-") == 0) v.fpr = 0.01; /* the default of a table */
  assert_non_null(v.format);
  return v;
}

/* Member i. */
static size_t member(const vector *v, uint64_t i, uint8_t *key) {
  if (v->listed == NULL) return v->make(i, key);
  const char *at = v->listed;
  for (; i > 0; i--) at = strchr(at, ',') + 1;
  return golden_from_hex(at, strcspn(at, ","), key);
}

static uint64_t nmissing(const vector *v, const nay_filter *f) {
  uint8_t key[GOLDEN_KEY_MAX];
  uint64_t missing = 0;
  for (uint64_t i = 0; i < v->n; i++) {
    missing += !nay_filter_may_contain(f, key, member(v, i, key));
  }
  return missing;
}

static void check_answers(const vector *v, const nay_filter *f) {
  uint8_t key[GOLDEN_KEY_MAX];
  if (nmissing(v, f) != 0) fail_msg("%s: a member is missing", v->file);
  for (uint64_t i = 0; i < FOREIGN_ABSENT; i++) {
    bool maybe = nay_filter_may_contain(f, key, v->make(ABSENT_FIRST + i, key));
    if (maybe != foreign_bit(v->absent, i)) fail_msg("%s: absent key %u", v->file, (unsigned)i);
  }
}

static void check_rebuilt(const vector *v) {
  uint8_t key[GOLDEN_KEY_MAX];
  nay_params p = {sizeof p, .nkeys = v->sized_for, .fpr = v->fpr, .bits_per_key = v->bits};
  nay_filter *f;
  nay_builder *b;
  assert_ok(nay_format_new(v->format, &p, NULL, NULL, &f));
  for (uint64_t i = 0; i < v->n; i++) {
    assert_ok(nay_filter_add(f, key, member(v, i, key), NULL));
  }
  golden_assert_encodes(f, v->bytes.at, v->bytes.len);
  assert_ok(nay_format_builder_new(v->format, &p, NULL, NULL, &b));
  for (uint64_t i = 0; i < v->n; i++) assert_ok(nay_builder_add(b, key, member(v, i, key)));
  assert_ok(nay_builder_finish(b, NULL, &f));
  nay_builder_free(b);
  golden_assert_encodes(f, v->bytes.at, v->bytes.len);
}

/* Among the plans is one for as many keys, and at most a word of bits more. */
static void check_plans(const vector *v, const nay_filter *f) {
  nay_plan p = {.size = sizeof p};
  bool found = v->bits != 0; /* plans are those from a chance */
  for (size_t i = 0; nay_filter_plan(f, i, NULL, &p) == NAY_OK; i++) {
    if (i == 0 && p.nkeys == 0) continue; /* none fits */
    assert_true((double)p.nkeys * p.bits_per_key + 20 <= (double)v->nbits);
    assert_true(p.fpr > 0 && p.fpr < 1);
    bool sized = (double)(p.nkeys - v->sized_for) * p.bits_per_key < 64 && p.nkeys >= v->sized_for;
    found |= sized && (p.fpr <= v->fpr);
  }
  if (!found) fail_msg("%s: no plan", v->file);
}

static void check_vector(const vector *v) {
  nay_filter *f, *copy;
  nay_view view = {.size = sizeof view};
  nay_stats stats = {.size = sizeof stats};
  assert_ok(nay_format_decode(v->format, v->bytes.at, v->bytes.len, 0, NULL, NULL, &f));
  assert_ptr_equal(nay_filter_format(f), v->format);
  assert_ok(nay_filter_stats(f, &stats));
  assert_int_equal(stats.nbits, v->nbits);
  assert_int_equal(stats.k, v->k);
  assert_int_equal(stats.nkeys, 0);
  assert_null(nay_filter_caveat(f));
  check_answers(v, f);
  assert_ok(nay_format_view(v->format, v->bytes.at, v->bytes.len, 0, NULL, &view));
  check_answers(v, nay_view_filter(&view));
  assert_ok(nay_filter_copy(f, NULL, NULL, &copy));
  check_answers(v, copy);
  golden_assert_encodes(copy, v->bytes.at, v->bytes.len);
  check_plans(v, f);
  golden_assert_encodes(f, v->bytes.at, v->bytes.len);
  check_rebuilt(v);
}

static void every_vector(void **state) {
  (void)state;
  char path[512];
  snprintf(path, sizeof path, "%s/cassandra/vectors.txt", vectors);
  golden_bytes text = golden_read(path);
  char *rest = (char *)text.at;
  unsigned n = 0;
  for (foreign_row row; foreign_next(&rest, "filter", &row); n++) {
    vector v = read_vector(&row);
    check_vector(&v);
    free(v.bytes.at);
  }
  free(text.at);
  print_message("# %u filters\n", n);
  assert_true(n >= 90);
}

/* A filter of 100 keys and more that is read in another form loses keys, which shows the form. */
static void members_tell_the_forms_apart(void **state) {
  (void)state;
  char path[512];
  snprintf(path, sizeof path, "%s/cassandra/vectors.txt", vectors);
  golden_bytes text = golden_read(path);
  char *rest = (char *)text.at;
  unsigned n = 0;
  for (foreign_row row; foreign_next(&rest, "filter", &row);) {
    vector v = read_vector(&row);
    for (size_t i = 0; i < NFORMS && v.n >= 100 && v.fpr <= 0.1 && v.bits == 0; i++) {
      nay_view view = {.size = sizeof view};
      const nay_format *form = nay_format_find(forms[i]);
      assert_ok(nay_format_view(form, v.bytes.at, v.bytes.len, 0, NULL, &view));
      assert_int_equal(nmissing(&v, nay_view_filter(&view)) == 0, form == v.format);
      n++;
    }
    free(v.bytes.at);
  }
  free(text.at);
  assert_true(n >= 60);
}

/* ---- sizes ---- */

static nay_status plan_for(const nay_params *p, nay_plan *plan) {
  nay_status status = nay_format_plan(nay_format_find(forms[0]), p, NULL, plan);
  nay_plan first = *plan;
  for (size_t i = 1; i < NFORMS; i++) { /* the forms differ in nothing here */
    assert_status(nay_format_plan(nay_format_find(forms[i]), p, NULL, plan), status);
    if (status == NAY_OK) assert_true(plan->nbits == first.nbits && plan->k == first.k);
  }
  return status;
}

static void chances(void **state) {
  (void)state;
  static const struct {
    double fpr;
    uint32_t k, b;
  } cases[] = {{0.999, 2, 1},  {0.393, 2, 1},  {0.3929, 1, 3},   {0.3, 1, 3},      {0.2, 2, 4},
               {0.1, 3, 5},    {0.05, 3, 7},   {0.03, 4, 8},     {0.02, 4, 9},     {0.01, 5, 10},
               {0.005, 5, 12}, {0.001, 7, 15}, {0.0001, 10, 20}, {6.71e-5, 14, 20}};
  nay_plan plan = {.size = sizeof plan};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    nay_params p = {sizeof p, .nkeys = 6400, .fpr = cases[i].fpr};
    assert_ok(plan_for(&p, &plan));
    assert_int_equal(plan.k, cases[i].k);
    assert_int_equal(plan.nbits, 6400 * cases[i].b + 64); /* 20 bits more, and whole words */
  }
  nay_params low = {sizeof low, .nkeys = 1, .fpr = 6.709e-5};
  assert_status(plan_for(&low, &plan), NAY_EINVAL);
}

static void buckets(void **state) {
  (void)state;
  static const uint32_t best[] = {1, 1, 1, 2,  3,  3,  4,  5,  6,  6, 7,
                                  8, 8, 9, 10, 10, 11, 12, 12, 13, 14};
  nay_plan plan = {.size = sizeof plan};
  for (uint32_t b = 1; b <= 20; b++) {
    nay_params p = {sizeof p, .nkeys = 64, .bits_per_key = b};
    assert_ok(plan_for(&p, &plan));
    assert_int_equal(plan.k, best[b]);
    assert_int_equal(plan.nbits, 64 * (b + 1));
  }
  nay_params many = {sizeof many, .nkeys = 64, .bits_per_key = 21},
             half = {sizeof half, .nkeys = 64, .bits_per_key = 9.5};
  assert_status(plan_for(&many, &plan), NAY_EINVAL);
  assert_status(plan_for(&half, &plan), NAY_EINVAL);
}

/* 2^31 - 1 words, and not one more. */
static void the_most_words(void **state) {
  (void)state;
  nay_plan plan = {.size = sizeof plan};
  uint64_t most = (64 * UINT64_C(0x7fffffff) - 20) / 10;
  nay_params p = {sizeof p, .nkeys = most, .bits_per_key = 10};
  assert_ok(plan_for(&p, &plan));
  assert_int_equal(plan.nbits, 64 * UINT64_C(0x7fffffff));
  p.nkeys++;
  assert_status(plan_for(&p, &plan), NAY_EINVAL);
  p.nkeys = UINT64_C(1) << 56;
  assert_status(plan_for(&p, &plan), NAY_EINVAL);
}

static void other_params_are_refused(void **state) {
  (void)state;
  nay_plan plan = {.size = sizeof plan};
  nay_params none = {sizeof none, .nkeys = 10},
             both = {sizeof both, .nkeys = 10, .fpr = 0.01, .bits_per_key = 10},
             probes = {sizeof probes, .nkeys = 10, .fpr = 0.01, .k = 4};
  assert_status(plan_for(&none, &plan), NAY_EINVAL);
  assert_status(plan_for(&both, &plan), NAY_EINVAL);
  assert_status(plan_for(&probes, &plan), NAY_EINVAL);
  assert_status(plan_for(NULL, &plan), NAY_EINVAL);
}

static void plans_of_a_filter(void **state) {
  (void)state;
  nay_params p = {sizeof p, .nkeys = 1000, .fpr = 0.01};
  nay_filter *f;
  nay_plan plan = {.size = sizeof plan};
  assert_ok(nay_format_new(nay_format_find("cassandra"), &p, NULL, NULL, &f));
  static const double expected[][2] = {{7, .0347},   {8, .0217},  {9, .0141},
                                       {10, .00943}, {11, .0065}, {12, .00459}}; /* k = 5 */
  for (size_t i = 0; i < 6; i++) {
    assert_ok(nay_filter_plan(f, i, NULL, &plan));
    assert_true(plan.bits_per_key == expected[i][0] && plan.fpr == expected[i][1]);
    assert_int_equal(plan.nkeys, (10048 - 20) / (uint64_t)plan.bits_per_key);
    assert_int_equal(plan.nbits, 10048);
  }
  assert_status(nay_filter_plan(f, 6, NULL, &plan), NAY_EEND);
  assert_status(nay_filter_plan(f, SIZE_MAX, NULL, &plan), NAY_EEND);
  assert_status(nay_filter_plan(f, 0, NULL, NULL), NAY_EINVAL);
  assert_status(nay_filter_plan(NULL, 0, NULL, &plan), NAY_EINVAL);
  nay_filter_free(f);
  nay_filter *other = golden_by_new(nay_format_find("leveldb"), golden_str, 10, 10);
  assert_ok(nay_filter_plan(other, 0, NULL, &plan));
  assert_status(nay_filter_plan(other, 1, NULL, &plan), NAY_EEND);
  nay_filter_free(other);
}

/* ---- bytes ---- */

static void a_file_of_no_bytes_is_maybe(void **state) {
  const nay_format *format = nay_format_find(*state);
  nay_filter *f;
  nay_stats stats = {.size = sizeof stats};
  nay_plan plan = {.size = sizeof plan};
  assert_ok(nay_format_decode(format, NULL, 0, 0, NULL, NULL, &f));
  assert_true(nay_filter_may_contain(f, "a", 1));
  assert_ok(nay_filter_stats(f, &stats));
  assert_true(stats.fpr_now == 1);
  assert_non_null(nay_filter_caveat(f));
  assert_ok(nay_filter_plan(f, 0, NULL, &plan));
  assert_true(plan.nkeys == 0 && plan.nbits == 0);
  assert_status(nay_filter_add(f, "a", 1, NULL), NAY_ENOTSUP);
  assert_int_equal(nay_format_encoded_size(format, f), 0);
  nay_filter_free(f);
}

static void assert_refused(const nay_format *format, const uint8_t *bytes, size_t len,
                           const char *what, uint64_t offset) {
  nay_diag diag = {.what = NULL};
  nay_filter *f = NULL;
  nay_view view = {.size = sizeof view};
  assert_status(nay_format_decode(format, bytes, len, 0, NULL, &diag, &f), NAY_ECORRUPT);
  assert_null(f);
  assert_string_equal(diag.what, what);
  assert_int_equal(diag.offset, offset);
  assert_status(nay_format_view(format, bytes, len, 0, &diag, &view), NAY_ECORRUPT);
}

static golden_bytes thirty_keys(const nay_format *format) {
  nay_filter *f = golden_by_new(format, golden_str, 30, 10);
  golden_bytes bytes = golden_encode(f);
  nay_filter_free(f);
  return bytes;
}

static void lengths(void **state) {
  const nay_format *format = nay_format_find(*state);
  golden_bytes b = thirty_keys(format);
  for (size_t len = 1; len < b.len; len++) {
    uint8_t *cut = malloc(len + 1);
    assert_non_null(cut);
    memcpy(cut + 1, b.at, len);
    if (len < 8) assert_refused(format, cut + 1, len, "shorter than the header", len);
    if (len >= 8) {
      assert_refused(format, cut + 1, len, "the number of words does not fit the length", 4);
    }
    free(cut);
  }
  uint8_t *longer = calloc(b.len + 9, 1); /* what follows is not read */
  assert_non_null(longer);
  memcpy(longer, b.at, b.len);
  longer[b.len + 3] = 0xa5;
  nay_filter *f;
  assert_ok(nay_format_decode(format, longer, b.len + 9, 0, NULL, NULL, &f));
  golden_check_members(f, golden_str, 30);
  golden_assert_encodes(f, b.at, b.len);
  free(longer);
  free(b.at);
}

static void put_be(uint8_t *at, uint32_t v) {
  for (unsigned i = 0; i < 4; i++) at[i] = (uint8_t)(v >> (24 - 8 * i));
}

static void headers_that_lie(void **state) {
  const nay_format *format = nay_format_find(*state);
  static const uint32_t bad_k[] = {0, 22, 255, 0x05000000, 0x80000000, UINT32_MAX};
  static const uint32_t bad_words[] = {0, 6, 0x05000000, 0x7fffffff, 0x80000000, UINT32_MAX};
  golden_bytes b = thirty_keys(format);
  assert_int_equal(b.len, 8 + 5 * 8);
  for (size_t i = 0; i < sizeof bad_k / sizeof bad_k[0]; i++) {
    put_be(b.at, bad_k[i]);
    assert_refused(format, b.at, b.len, "k is not between 1 and 21", 0);
  }
  put_be(b.at, 21);
  for (size_t i = 0; i < sizeof bad_words / sizeof bad_words[0]; i++) {
    put_be(b.at + 4, bad_words[i]);
    assert_refused(format, b.at, b.len, "the number of words does not fit the length", 4);
  }
  put_be(b.at + 4, 5);
  nay_filter *f;
  assert_ok(nay_format_decode(format, b.at, b.len, 0, NULL, NULL, &f));
  golden_assert_encodes(f, b.at, b.len);
  free(b.at);
}

/* Filters of different forms are never merged, whatever their size. */
static void forms_do_not_mix(void **state) {
  (void)state;
  for (size_t i = 0; i < NFORMS; i++) {
    nay_filter *a = golden_by_new(nay_format_find(forms[i]), golden_str, 100, 10);
    for (size_t j = 0; j < NFORMS; j++) {
      nay_filter *b = golden_by_new(nay_format_find(forms[j]), golden_abs, 100, 10);
      assert_status(nay_filter_merge(b, a, 1, NULL), i == j ? NAY_OK : NAY_EMISMATCH);
      if (i == j) golden_check_members(b, golden_str, 100);
      nay_filter_free(b);
    }
    nay_filter_free(a);
  }
}

/* ---- the hash ---- */

/* ASCII and whole blocks are MurmurHash3's published words; a byte of 0x80 or above in the tail is
 * extended with its sign. */
static void hash_is_murmur3_with_signed_tails(void **state) {
  (void)state;
  static const struct {
    const char *key;
    size_t len;
    uint64_t lo, hi;
  } cases[] = {
      {"", 0, 0, 0},
      {"hello", 5, 0xcbd8a7b341bd9b02u, 0x5b1e906a48ae1d19u},
      {"The quick brown fox jumps over the lazy dog", 43, 0xe34bbc7bbc071b6cu, 0x7a433ca9c49a9347u},
      {"\x80", 1, 0xb6aa75aff6f3b434u, 0x6ec0210d9ab133c5u},
      {"\xff\xff\xff\xff\xff\xff\xff\xff\xff", 9, 0x750ce211aa5dd8c6u, 0xc98f414ed50da9f8u},
      {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 15, 0xe187e84efa24f091u,
       0x5536ce977875b220u},
      {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 16, 0xd8ce73d7a39a46e6u,
       0xd0ac179d2650b632u},
      {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\xfe", 18,
       0x3d2212989a2600ddu, 0x289ea38de89dd948u},
  };
  nay_filter *f = golden_by_new(nay_format_find("cassandra"), golden_str, 1, 10);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    nay_hash hash;
    assert_ok(filter_hash(f, cases[i].key, cases[i].len, &hash));
    assert_int_equal(hash.lo, cases[i].lo);
    assert_int_equal(hash.hi, cases[i].hi);
  }
  nay_filter_free(f);
}

int main(int argc, char **argv) {
  if (argc > 1) vectors = argv[1];
  const test_case tests[] = {
      TEST(every_vector),
      TEST(members_tell_the_forms_apart),
      TEST(chances),
      TEST(buckets),
      TEST(the_most_words),
      TEST(other_params_are_refused),
      TEST(plans_of_a_filter),
      TEST_WITH("a_file_of_no_bytes_is_maybe cassandra", a_file_of_no_bytes_is_maybe, "cassandra"),
      TEST_WITH("a_file_of_no_bytes_is_maybe old", a_file_of_no_bytes_is_maybe, "cassandra-old"),
      TEST_WITH("lengths cassandra", lengths, "cassandra"),
      TEST_WITH("lengths old-swapped", lengths, "cassandra-old-swapped"),
      TEST_WITH("headers_that_lie cassandra", headers_that_lie, "cassandra"),
      TEST_WITH("headers_that_lie old", headers_that_lie, "cassandra-old"),
      TEST(forms_do_not_mix),
      TEST(hash_is_murmur3_with_signed_tails),
  };
  return run_all(tests);
}
