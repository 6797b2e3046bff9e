/*
 * test_engine_filters.c - filters that other systems' own code wrote (tests/golden/engines): the
 * answers of their readers, their bytes when a filter is read, copied and built again from its
 * keys, and bytes that lie.
 *
 *     test_engine_filters [DIRECTORY]     another set of vectors, as make_engine_vectors.py writes
 * it
 */
#include "golden/foreign_vectors.h"
#include "support/flaky.h"

static const char *vectors = TEST_GOLDEN;

typedef struct vector {
  const char *file, *op;
  const nay_format *format;
  golden_key make, make_absent;
  uint64_t n, first, end, absent_from; /* the members are first .. end - 1 */
  nay_params params;                   /* no size: it is only read */
  uint64_t k, nbits;                   /* 0: not stated */
  size_t skip, nskip;                  /* bytes that a rebuilt filter need not have */
  const char *absent;
  golden_bytes bytes;
} vector;

static void read_params(char *text, nay_params *p, vector *v) {
  for (char *field = strtok(text, ","); field != NULL; field = strtok(NULL, ",")) {
    char *value = strchr(field, '=') + 1;
    if (strncmp(field, "fpr=", 4) == 0) p->fpr = strtod(value, NULL);
    if (strncmp(field, "nbits=", 6) == 0) p->nbits = strtoull(value, NULL, 10);
    if (strncmp(field, "k=", 2) == 0) p->k = (uint32_t)strtoul(value, NULL, 10);
    if (strcmp(field, "skip=24") == 0) v->nskip = 8;
    if (strcmp(field, "skip=last") == 0) v->nskip = 1;
    if (v->nskip != 0) v->skip = v->nskip == 8 ? 24 : v->bytes.len - 1;
    if (strncmp(field, "secret=", 7) == 0) {
      p->hash = NAY_HASH_SIPHASH;
      assert_int_equal(golden_from_hex(value, 32, p->key), 16);
    }
    if (strncmp(field, "seed=", 5) == 0) p->seed = strtoull(value, NULL, 10); /* a - wraps */
  }
}

static vector read_vector(const foreign_row *row) {
  char path[512];
  assert_int_equal(row->nfields, 13);
  snprintf(path, sizeof path, "%s/engines/%s", vectors, row->field[1]);
  vector v = {.file = row->field[1],
              .op = row->field[5],
              .format = nay_format_find(row->field[2]),
              .make = foreign_engine_keys(row->field[3]),
              .n = foreign_number(row, 4),
              .k = foreign_number(row, 8),
              .nbits = foreign_number(row, 9),
              .absent = strcmp(row->field[12], "-") != 0 ? row->field[12] : NULL,
              .absent_from = foreign_number(row, 11),
              .params = {.size = sizeof(nay_params), .nkeys = foreign_number(row, 6)},
              .bytes = golden_read(path)};
  if (v.format == NULL) fail_msg("%s: no layout %s", v.file, row->field[2]);
  if (v.absent != NULL) v.make_absent = foreign_engine_keys(row->field[10]);
  v.end = v.n;
  if (strcmp(v.op, "and") == 0) {
    v.first = v.n / 3;
    v.end = 2 * v.n / 3;
  }
  if (strcmp(row->field[7], "-") != 0) read_params(row->field[7], &v.params, &v);
  return v;
}

static void check_answers(const vector *v, const nay_filter *f) {
  uint8_t key[GOLDEN_KEY_MAX];
  for (uint64_t i = v->first; i < v->end; i++) {
    if (!nay_filter_may_contain(f, key, v->make(i, key))) {
      fail_msg("%s: member %u is missing", v->file, (unsigned)i);
    }
  }
  for (uint64_t i = 0; v->absent != NULL && i < FOREIGN_ABSENT; i++) {
    bool maybe = nay_filter_may_contain(f, key, v->make_absent(v->absent_from + i, key));
    if (maybe != foreign_bit(v->absent, i)) fail_msg("%s: absent key %u", v->file, (unsigned)i);
  }
}

static nay_filter *of_keys(const vector *v, uint64_t first, uint64_t end) {
  uint8_t key[GOLDEN_KEY_MAX];
  nay_filter *f;
  nay_diag diag = {.what = NULL};
  nay_status status = nay_format_new(v->format, &v->params, NULL, &diag, &f);
  if (status != NAY_OK) fail_msg("%s: %s", v->file, diag.what);
  for (uint64_t i = first; i < end; i++) {
    assert_ok(nay_filter_add(f, key, v->make(i, key), NULL));
  }
  return f;
}

static void check_bytes(const vector *v, nay_filter *f, const char *what) {
  golden_bytes got = golden_encode(f);
  size_t at = 0;
  if (strcmp(what, "read") != 0 && strcmp(what, "copied") != 0 && got.len == v->bytes.len) {
    memcpy(got.at + v->skip, v->bytes.at + v->skip, v->nskip);
  }
  while (at < got.len && at < v->bytes.len && got.at[at] == v->bytes.at[at]) at++;
  if (got.len != v->bytes.len || at != got.len) {
    fail_msg("%s, %s: %u bytes instead of %u, different from byte %u on", v->file, what,
             (unsigned)got.len, (unsigned)v->bytes.len, (unsigned)at);
  }
  free(got.at);
  nay_filter_free(f);
}

static void check_rebuilt(const vector *v) {
  if (strcmp(v->op, "-") != 0) { /* two filters, united or intersected */
    nay_filter *a = of_keys(v, 0, 2 * v->n / 3), *b = of_keys(v, v->n / 3, v->n);
    bool is_or = strcmp(v->op, "or") == 0;
    assert_ok(is_or ? nay_filter_merge(a, b, 1, NULL) : nay_filter_intersect(a, b, NULL));
    nay_filter_free(b);
    check_bytes(v, a, "united or intersected");
    return;
  }
  nay_filter *empty;
  nay_status takes_adds = nay_format_new(v->format, &v->params, NULL, NULL, &empty);
  if (takes_adds == NAY_OK) {
    nay_filter_free(empty);
    check_bytes(v, of_keys(v, 0, v->n), "added");
  } else {
    assert_status(takes_adds, NAY_ENOTSUP);
  }
  uint8_t key[GOLDEN_KEY_MAX];
  nay_builder *b;
  nay_filter *f;
  assert_ok(nay_format_builder_new(v->format, &v->params, NULL, NULL, &b));
  for (uint64_t i = 0; i < v->n; i++) assert_ok(nay_builder_add(b, key, v->make(i, key)));
  assert_ok(nay_builder_finish(b, NULL, &f));
  nay_builder_free(b);
  check_bytes(v, f, "built");
}

static void check_vector(const vector *v) {
  nay_filter *f, *copy;
  nay_view view = {.size = sizeof view};
  nay_stats stats = {.size = sizeof stats};
  nay_diag diag = {.what = NULL};
  nay_status status = nay_format_decode(v->format, v->bytes.at, v->bytes.len, 0, NULL, &diag, &f);
  if (status != NAY_OK) fail_msg("%s: %s", v->file, diag.what);
  assert_ptr_equal(nay_filter_format(f), v->format);
  assert_ok(nay_filter_stats(f, &stats));
  if (v->params.hash == NAY_HASH_SIPHASH) {
    assert_true(stats.locked);
    assert_true(nay_filter_may_contain(f, "no key, no nay", 14));
    assert_ok(nay_filter_unlock(f, v->params.key));
  }
  if (v->nbits != 0) assert_int_equal(stats.nbits, v->nbits);
  if (v->k != 0) assert_int_equal(stats.k, v->k);
  check_answers(v, f);
  status = nay_format_view(v->format, v->bytes.at, v->bytes.len, 0, NULL, &view);
  if (status != NAY_ENOTSUP) assert_ok(status);
  if (status == NAY_OK) check_answers(v, nay_view_filter(&view));
  assert_ok(nay_filter_copy(f, NULL, NULL, &copy));
  check_answers(v, copy);
  check_bytes(v, copy, "copied");
  check_bytes(v, f, "read");
  if (v->params.fpr != 0 || v->params.nbits != 0) check_rebuilt(v);
}

/* Every vector whose layout starts so. */
static void each_vector(const char *prefix, void (*check)(const vector *), unsigned least) {
  char path[512];
  snprintf(path, sizeof path, "%s/engines/vectors.txt", vectors);
  golden_bytes text = golden_read(path);
  char *rest = (char *)text.at;
  unsigned n = 0;
  for (foreign_row row; foreign_next(&rest, "filter", &row);) {
    if (strncmp(row.field[2], prefix, strlen(prefix)) != 0) continue;
    vector v = read_vector(&row);
    check(&v);
    free(v.bytes.at);
    n++;
  }
  free(text.at);
  print_message("# %s: %u filters\n", prefix, n);
  assert_true(n >= least);
}

static void every_vector(void **state) { each_vector(*state, check_vector, 6); }

/* A truncated filter is refused, or is a valid filter of fewer bytes. */
static void check_cut(const vector *v) {
  size_t step = v->bytes.len / 97 + 1;
  for (size_t len = 0; len < v->bytes.len; len += step) {
    uint8_t *cut = malloc(len + 1);
    nay_filter *f = NULL;
    assert_non_null(cut);
    memcpy(cut + 1, v->bytes.at, len); /* not aligned, and ends where the memory does */
    nay_status status = nay_format_decode(v->format, cut + 1, len, 0, NULL, NULL, &f);
    if (status == NAY_OK) fail_msg("%s: the first %u bytes are a filter", v->file, (unsigned)len);
    assert_null(f);
    free(cut);
  }
}

static void cut_files_are_refused(void **state) { each_vector(*state, check_cut, 6); }

static void assert_refused(const char *name, const char *hex, const char *what) {
  uint8_t bytes[512];
  size_t len = golden_from_hex(hex, strlen(hex), bytes);
  nay_diag diag = {.what = NULL};
  nay_filter *f = NULL;
  nay_view view = {.size = sizeof view};
  const nay_format *format = nay_format_find(name);
  assert_status(nay_format_decode(format, bytes, len, 0, NULL, &diag, &f), NAY_ECORRUPT);
  assert_null(f);
  if (diag.what == NULL || strcmp(diag.what, what) != 0) fail_msg("%s: %s", hex, diag.what);
  assert_true(nay_format_view(format, bytes, len, 0, NULL, &view) != NAY_OK);
}

static void headers_that_lie(void **state) {
  (void)state;
  assert_refused("guava", "01057fffffff",
                 "the number of words does not fit the length"); /* 17 GB */
  assert_refused("guava", "0105ffffffff0000000000000000",
                 "the number of words does not fit the length");
  assert_refused("guava", "0105000000000000000000000000",
                 "the number of words does not fit the length");
  assert_refused("guava", "0205000000010000000000000000", "the strategy is neither 0 nor 1");
  assert_refused("guava", "0100000000010000000000000000", "k is 0");
  assert_refused("spark-v1", "00000003000000050000000100000000000000000000",
                 "the version is neither 1 nor 2");
  assert_refused("spark-v1", "0000000100000000000000010000000000000000",
                 "k is not between 1 and 4096");
  assert_refused("spark-v2", "000000010000000580000000",
                 "the number of words does not fit the length");
  assert_refused("spark-v2", "0000000200000005000000007fffffff0000000000000000",
                 "the number of words does not fit the length");
  assert_refused("spark-v2", "000000020000000500000000", "shorter than the header");
  assert_refused("binary-fuse8", "00000000000000000200000003000000010000000300000009000000",
                 "the lengths of the header contradict each other");
  assert_refused("binary-fuse8", "000000000000000002000000040000000100000004000000ffffffff",
                 "the lengths of the header contradict each other");
  assert_refused("binary-fuse16", "00000000000000000200000000000400ff3f00000000fcff00000400",
                 "the lengths of the header contradict each other");
  assert_refused("binary-fuse8-packed", "0000000000000000ffffffff00",
                 "the number of keys is above 3,000,000,000");
  assert_refused("binary-fuse8-packed", "0000000000000000005ed0b200",
                 "the bitmap of the cells does not fit the length"); /* 3.4 GB */
  assert_refused("binary-fuse8-packed", "000000000000000002000000001000",
                 "bits are set past the last cell");
  assert_refused("binary-fuse8-packed", "00000000000000000200000001000101",
                 "the cells are not as many as the bitmap says");
  assert_refused("binary-fuse8-packed", "000000000000000002000000010000",
                 "a cell of the list is 0");
  assert_refused("xor8", "00000000000000000000000000000000",
                 "a third is not of 1 to 2^32 - 1 cells");
  assert_refused("xor8", "0000000000000000ffffffffffffffff",
                 "a third is not of 1 to 2^32 - 1 cells");
  assert_refused("xor16", "0000000000000000ffffffff00000000",
                 "the number of cells does not fit the length"); /* 25 GB */
  assert_refused("xor16-packed", "0000000000000000ffffffff00000000",
                 "the bitmap of the cells does not fit the length");
  assert_refused("bip37",
                 "fd0100ff0500000000000000"
                 "00",
                 "the length is not one of at most 36,000 bytes"); /* one byte is enough */
  assert_refused("bip158", "", "N is not a CompactSize");
  assert_refused("bip158", "fdfc00", "N is not a CompactSize"); /* one byte is enough */
  assert_refused("bip158", "ffffffffffffffffff", "N does not fit the length"); /* 147 exabytes */
  assert_refused("bip158", "feffffffff000000", "N does not fit the length");
  assert_refused("bip158", "01ffffff", "the values end before the last");
  assert_refused("bip158", "0000", "bytes follow the last value");
  assert_refused("bip158", "0100000001", "bytes follow the last value");
  assert_refused("bip158", "01000001", "padding is not zero");
  assert_refused("bip158", "01c00000", "a value is not below N * 784931");
}

/* What a filter has in its file beside keys. */
static void dcso_keeps_header_and_data(void **state) {
  (void)state;
  const nay_format *format = nay_format_find("dcso");
  nay_params p = {sizeof p, .nkeys = 100, .fpr = 0.01};
  nay_filter *f, *g;
  bool is_new;
  assert_ok(nay_format_new(format, &p, NULL, NULL, &f));
  assert_ok(nay_filter_set_meta(f, "origin: here", 12));
  assert_ok(nay_filter_add(f, "a", 1, &is_new));
  assert_ok(nay_filter_add(f, "b", 1, NULL));
  assert_ok(nay_filter_add(f, "b", 1, &is_new));
  assert_false(is_new);
  golden_bytes bytes = golden_encode(f);
  assert_int_equal(bytes.at[40], 2); /* adds that set a bit */
  assert_memory_equal(bytes.at + bytes.len - 12, "origin: here", 12);
  assert_ok(nay_format_decode(format, bytes.at, bytes.len, 0, NULL, NULL, &g));
  size_t len;
  assert_memory_equal(nay_filter_meta(g, &len), "origin: here", 12);
  assert_int_equal(len, 12);
  nay_stats s = {.size = sizeof s};
  assert_ok(nay_filter_stats(g, &s));
  assert_int_equal(s.nkeys, 100);
  assert_ok(nay_filter_merge(g, f, 1, NULL)); /* as the engine's Join: 2 + 2 */
  golden_bytes merged = golden_encode(g);
  assert_int_equal(merged.at[40], 4);
  assert_ok(nay_filter_clear(g));
  free(merged.at);
  merged = golden_encode(g);
  assert_int_equal(merged.at[40], 0);
  assert_memory_equal(merged.at, bytes.at, 40);
  free(merged.at);
  free(bytes.at);
  nay_filter_free(f);
  nay_filter_free(g);
}

/* At 2^32 bits the engines of DataSketches compute locations in 32 bits: such filters lose keys. */
static void sizes_that_engines_lose_keys_of(void **state) {
  (void)state;
  const nay_format *format = nay_format_find("datasketches");
  nay_params p = {sizeof p, .nbits = ((uint64_t)1 << 32) - 64, .k = 1, .nkeys = 1};
  nay_plan plan = {.size = sizeof plan};
  assert_ok(nay_format_plan(format, &p, NULL, &plan));
  p.nbits++;
  assert_status(nay_format_plan(format, &p, NULL, &plan), NAY_EINVAL);
  static const uint8_t bytes[40] = {4, 1, 21, 0, 1, [19] = 4}; /* 2^26 words */
  nay_filter *f = NULL;
  nay_diag diag = {.what = NULL};
  assert_status(nay_format_decode(format, bytes, sizeof bytes, 0, NULL, &diag, &f), NAY_ENOTSUP);
  assert_string_equal(diag.what, "a filter of 2^32 bits or more: its engine loses keys");
}

/* Plans state the size of the file to the byte. */
static void plans_are_exact(void **state) {
  (void)state;
  static const char *const names[] = {"guava",
                                      "spark-v1",
                                      "spark-v2",
                                      "dcso",
                                      "bits-and-blooms",
                                      "bits-and-blooms-le",
                                      "bits-and-blooms-json",
                                      "datasketches",
                                      "bip37"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    for (uint64_t n = 1; n < 3000; n = n * 3 / 2 + 1) {
      const nay_format *format = nay_format_find(names[i]);
      nay_params p = {sizeof p, .nkeys = n, .bits_per_key = 16};
      nay_plan plan = {.size = sizeof plan};
      nay_filter *f;
      assert_ok(nay_format_plan(format, &p, NULL, &plan));
      assert_ok(nay_format_new(format, &p, NULL, NULL, &f));
      assert_ok(nay_filter_add(f, "key", 3, NULL));
      if (plan.nbytes_file != nay_format_encoded_size(format, f)) {
        fail_msg("%s, %u keys: planned %u, written %u", names[i], (unsigned)n,
                 (unsigned)plan.nbytes_file, (unsigned)nay_format_encoded_size(format, f));
      }
      nay_filter_free(f);
    }
  }
}

/* The vectors of BIP158: blocks of Bitcoin's test network, with the filter of each. */
static void blocks_of_bitcoin(void **state) {
  (void)state;
  char path[512];
  snprintf(path, sizeof path, "%s/engines/vectors.txt", vectors);
  golden_bytes text = golden_read(path);
  char *rest = (char *)text.at;
  unsigned n = 0;
  for (foreign_row row; foreign_next(&rest, "block", &row); n++) {
    uint8_t item[512], expected[64];
    nay_params p = {sizeof p, .fpr = 0.5, .hash = NAY_HASH_SIPHASH};
    nay_builder *b;
    nay_filter *f;
    assert_int_equal(golden_from_hex(row.field[2], 32, p.key), 16);
    assert_ok(nay_format_builder_new(nay_format_find("bip158"), &p, NULL, NULL, &b));
    for (char *at = strtok(row.field[4], ",-"); at != NULL; at = strtok(NULL, ",-")) {
      assert_true(strlen(at) <= 2 * sizeof item);
      assert_ok(nay_builder_add(b, item, golden_from_hex(at, strlen(at), item)));
    }
    assert_ok(nay_builder_finish(b, NULL, &f));
    nay_builder_free(b);
    golden_assert_encodes(f, expected,
                          golden_from_hex(row.field[3], strlen(row.field[3]), expected));
  }
  free(text.at);
  assert_int_equal(n, 10);
}

/* A filter whose key the file does not contain. */
static void keys_of_blocks(void **state) {
  (void)state;
  const nay_format *format = nay_format_find("bip158");
  nay_params p = {sizeof p, .fpr = 0.5};
  nay_builder *b = NULL;
  nay_filter *f, *read;
  nay_diag diag = {.what = NULL};
  assert_status(nay_format_builder_new(format, &p, NULL, &diag, &b), NAY_EINVAL);
  assert_string_equal(diag.what, "hash: this layout is keyed, and needs its secret key");
  p.hash = NAY_HASH_SIPHASH;
  assert_status(nay_format_builder_new(nay_format_find("guava"), &p, NULL, NULL, &b), NAY_EINVAL);
  assert_ok(nay_format_builder_new(format, &p, NULL, NULL, &b));
  assert_ok(nay_builder_add(b, "foo", 3));
  assert_ok(nay_builder_finish(b, NULL, &f));
  nay_builder_free(b);
  golden_bytes bytes = golden_encode(f);
  assert_ok(nay_format_decode(format, bytes.at, bytes.len, 0, NULL, NULL, &read));
  for (unsigned i = 0; i < 100; i++) {
    uint8_t key[GOLDEN_KEY_MAX];
    assert_true(nay_filter_may_contain(read, key, golden_abs(i, key))); /* locked: no nay */
  }
  const uint8_t none[16] = {0}, other[16] = {1};
  assert_ok(nay_filter_unlock(read, none));
  assert_true(nay_filter_may_contain(read, "foo", 3));
  assert_false(nay_filter_may_contain(read, "bar", 3));
  assert_status(nay_filter_unlock(read, other), NAY_EKEY); /* it has one now */
  assert_true(nay_filter_may_contain(read, "foo", 3));
  free(bytes.at);
  nay_filter_free(f);
  nay_filter_free(read);
}

/* Keys that are no numbers: refused when a filter is built, and never denied. */
static void keys_that_are_no_numbers(void **state) {
  (void)state;
  static const char *const names[] = {"binary-fuse8", "binary-fuse16-packed", "xor8",
                                      "xor16-packed"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    nay_params p = {sizeof p, .fpr = 0.5};
    nay_builder *b;
    nay_filter *f = NULL;
    nay_diag diag = {.what = NULL};
    assert_ok(nay_format_builder_new(nay_format_find(names[i]), &p, NULL, NULL, &b));
    assert_ok(nay_builder_add(b, "8 bytes!", 8));
    assert_ok(nay_builder_finish(b, NULL, &f));
    for (size_t len = 0; len < 64; len++) {
      static const char text[64] = "8 bytes!, and more";
      const void *key = text;
      uint64_t bitmap = 0;
      assert_ok(nay_filter_may_contain_many(f, &key, &len, 1, &bitmap));
      assert_int_equal(bitmap, nay_filter_may_contain(f, text, len));
      if (len == 8 || bitmap == 1) continue;
      fail_msg("%s: nay for a key of %u bytes", names[i], (unsigned)len);
    }
    nay_filter_free(f);
    f = NULL;
    assert_ok(nay_builder_add(b, "8 bytes!", 8));
    assert_ok(nay_builder_add(b, "not of 8", 7));
    assert_status(nay_builder_finish(b, &diag, &f), NAY_EINVAL);
    assert_null(f);
    assert_string_equal(diag.what, "keys of this layout are numbers of 64 bits, 8 bytes each");
    nay_builder_free(b);
  }
}

/* Whichever allocation fails, finish says so, leaks nothing, and can be called again. */
static void building_without_memory(void **state) {
  (void)state;
  static const char *const names[] = {"bip158",       "binary-fuse8", "binary-fuse16-packed",
                                      "xor8-packed",  "xor16",        "bits-and-blooms-json",
                                      "datasketches", "bip37"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    const nay_format *format = nay_format_find(names[i]);
    flaky memory = {.fail_at = -1};
    nay_allocator allocator = flaky_allocator(&memory);
    nay_params p = {sizeof p, .fpr = 0.01, .hash = NAY_HASH_SIPHASH};
    nay_builder *b;
    nay_filter *f = NULL;
    if (strcmp(names[i], "bip158") != 0) p.hash = NAY_HASH_XXH3;
    assert_ok(nay_format_builder_new(format, &p, &allocator, NULL, &b));
    for (uint64_t j = 0; j < 1000; j++) {
      uint8_t key[8];
      assert_ok(nay_builder_add(b, key, foreign_sm64le(j, key)));
    }
    unsigned failures = 0;
    for (nay_status status = NAY_ENOMEM; status != NAY_OK; failures++) {
      nay_diag diag = {.what = NULL};
      memory.calls = 0;
      memory.fail_at = (long)failures;
      status = nay_builder_finish(b, &diag, &f);
      if (status == NAY_OK) break;
      assert_status(status, NAY_ENOMEM);
      assert_non_null(diag.what);
      assert_null(f);
    }
    assert_true(failures >= 2);
    memory.fail_at = -1;
    for (uint64_t j = 0; j < 1000; j++) {
      uint8_t key[8];
      assert_true(nay_filter_may_contain(f, key, foreign_sm64le(j, key)));
    }
    golden_bytes bytes = golden_encode(f);
    nay_filter_free(f);
    nay_builder_free(b);
    assert_int_equal(memory.objects, 0);
    for (long call = 0; call < 8; call++) { /* and reading */
      memory = (flaky){.fail_at = call};
      nay_status status = nay_format_decode(format, bytes.at, bytes.len, 0, &allocator, NULL, &f);
      if (status == NAY_OK) nay_filter_free(f);
      assert_true(status == NAY_OK || status == NAY_ENOMEM);
      assert_true(status == NAY_OK || call < 3);
      assert_int_equal(memory.objects, 0);
    }
    free(bytes.at);
  }
}

/* A packed file has no sizes: a filter with others than those of its number of keys stays as it is.
 */
static void sizes_that_packed_files_lack(void **state) {
  (void)state;
  const nay_format *plain = nay_format_find("binary-fuse8"),
                   *packed = nay_format_find("binary-fuse8-packed");
  uint8_t bytes[28 + 24] = {1, 2, 3, 4, 5, 6, 7, 8, 2, 0, 0,  0, 8, 0,
                            0, 0, 1, 0, 0, 0, 8, 0, 0, 0, 24, 0, 0, 0};
  nay_filter *f;
  assert_ok(nay_format_decode(plain, bytes, sizeof bytes, 0, NULL, NULL, &f));
  assert_int_equal(nay_format_encoded_size(plain, f), sizeof bytes);
  assert_int_equal(nay_format_encoded_size(packed, f), 0);
  nay_filter_free(f);
}

/* A seed that Spark cannot have. */
static void spark_seeds(void **state) {
  (void)state;
  nay_filter *f;
  nay_params p = {sizeof p, .nkeys = 10, .fpr = 0.01, .seed = UINT64_C(1) << 31};
  assert_status(nay_format_new(nay_format_find("spark-v2"), &p, NULL, NULL, &f), NAY_EINVAL);
  p.seed = 1;
  assert_status(nay_format_new(nay_format_find("spark-v1"), &p, NULL, NULL, &f), NAY_EINVAL);
  nay_filter *g;
  assert_ok(nay_format_new(nay_format_find("spark-v2"), &p, NULL, NULL, &f));
  p.seed = 2;
  assert_ok(nay_format_new(nay_format_find("spark-v2"), &p, NULL, NULL, &g));
  assert_status(nay_filter_merge(f, g, 1, NULL), NAY_EMISMATCH); /* their hashes differ */
  nay_filter_free(f);
  nay_filter_free(g);
}

/* Guava's two rules for k: before 33.4.0 it came from the size, which params.k gives. */
static void guava_rules_for_k(void **state) {
  (void)state;
  nay_params p = {sizeof p, .nkeys = 1, .fpr = 0.03};
  nay_plan plan = {.size = sizeof plan};
  assert_ok(nay_format_plan(nay_format_find("guava"), &p, NULL, &plan));
  assert_int_equal(plan.k, 5);
  p.k = 7;
  assert_ok(nay_format_plan(nay_format_find("guava-mitz32"), &p, NULL, &plan));
  assert_int_equal(plan.k, 7);
  assert_int_equal(plan.nbits, 64);
}

int main(int argc, char **argv) {
  if (argc > 1) vectors = argv[1];
  const test_case tests[] = {
      TEST_WITH("every_vector guava", every_vector, "guava"),
      TEST_WITH("every_vector spark", every_vector, "spark"),
      TEST_WITH("every_vector dcso", every_vector, "dcso"),
      TEST_WITH("every_vector bits-and-blooms", every_vector, "bits-and-blooms"),
      TEST_WITH("every_vector datasketches", every_vector, "datasketches"),
      TEST_WITH("every_vector bip37", every_vector, "bip37"),
      TEST_WITH("every_vector bip158", every_vector, "bip158"),
      TEST_WITH("every_vector binary-fuse", every_vector, "binary-fuse"),
      TEST_WITH("every_vector xor", every_vector, "xor"),
      TEST_WITH("cut_files_are_refused bip158", cut_files_are_refused, "bip158"),
      TEST_WITH("cut_files_are_refused binary-fuse", cut_files_are_refused, "binary-fuse"),
      TEST_WITH("cut_files_are_refused xor", cut_files_are_refused, "xor"),
      TEST_WITH("cut_files_are_refused bits-and-blooms", cut_files_are_refused, "bits-and-blooms"),
      TEST_WITH("cut_files_are_refused datasketches", cut_files_are_refused, "datasketches"),
      TEST_WITH("cut_files_are_refused bip37", cut_files_are_refused, "bip37"),
      TEST_WITH("cut_files_are_refused guava", cut_files_are_refused, "guava"),
      TEST_WITH("cut_files_are_refused spark", cut_files_are_refused, "spark"),
      TEST_WITH("cut_files_are_refused dcso", cut_files_are_refused, "dcso"),
      TEST(headers_that_lie),
      TEST(dcso_keeps_header_and_data),
      TEST(sizes_that_engines_lose_keys_of),
      TEST(plans_are_exact),
      TEST(building_without_memory),
      TEST(blocks_of_bitcoin),
      TEST(keys_of_blocks),
      TEST(keys_that_are_no_numbers),
      TEST(sizes_that_packed_files_lack),
      TEST(spark_seeds),
      TEST(guava_rules_for_k),
  };
  return run_all(tests);
}
