/*
 * test_parquet.c - the split-block filters in files that DuckDB wrote (tests/golden/parquet): every
 * value of a row group is a maybe in its column's own type, the filters are those that the values
 * make, and files that are cut, changed or lies are refused, or answer, but never crash.
 */
#include "golden/golden.h"
#include "nay_sst_parquet.h"
#include "support/memory_file.h"

#define NCOLUMNS 7

static const char *const column_names[NCOLUMNS] = {"s", "b", "j", "d", "f", "x", "u"};

static nay_sst_parquet *open_golden(const char *name) {
  char path[512];
  nay_sst_parquet *p = NULL;
  nay_diag diag = {.what = NULL};
  snprintf(path, sizeof path, "%s/parquet/duckdb_%s.parquet", TEST_GOLDEN, name);
  nay_status status = nay_sst_parquet_open(path, NULL, &diag, &p);
  if (status != NAY_OK) fail_msg("%s: %s", name, diag.what);
  return p;
}

/* Value i of a column of the queries in MANIFEST.md, as a text. */
static size_t value_of(char column, uint64_t i, char *text, size_t cap) {
  long long n = (long long)i;
  switch (column) {
    case 's': return (size_t)snprintf(text, cap, "key%06lld", n);
    case 'f': return (size_t)snprintf(text, cap, "%lld.%d", n / 2, n % 2 == 0 ? 0 : 5);
    case 'x': return (size_t)snprintf(text, cap, "\xff%lld", n);
    default: return (size_t)snprintf(text, cap, "%lld", n);
  }
}

/* ---- values ---- */

static bool maybe_in(nay_sst_parquet *p, uint64_t group, uint64_t column, const char *text,
                     size_t len) {
  bool maybe = false;
  nay_diag diag = {.what = NULL};
  nay_status status = nay_sst_parquet_may_contain(p, group, column, text, len, &diag, &maybe);
  if (status != NAY_OK) fail_msg("%s: %s", text, diag.what);
  nay_filter *f;
  if (nay_sst_parquet_filter_read(p, group, column, NULL, NULL, &f) == NAY_OK) {
    bool probed = !maybe; /* the whole filter says the same as one block of it */
    assert_ok(nay_sst_parquet_filter_may_contain(p, column, f, text, len, NULL, &probed));
    assert_int_equal(probed, maybe);
    nay_filter_free(f);
  }
  return maybe;
}

static void check_values(const char *name, uint64_t n, uint64_t group_rows, unsigned ncolumns,
                         unsigned most) {
  nay_sst_parquet *p = open_golden(name);
  nay_sst_parquet_info info = {.size = sizeof info};
  assert_ok(nay_sst_parquet_stats(p, &info));
  assert_int_equal(info.nrows, n);
  assert_int_equal(info.nrow_groups, (n + group_rows - 1) / group_rows);
  assert_int_equal(info.nfilters, info.nrow_groups * ncolumns);
  assert_int_equal(info.nencrypted, 0);
  unsigned nmaybes = 0;
  for (unsigned c = 0; c < ncolumns; c++) {
    uint64_t column;
    char text[64];
    assert_ok(nay_sst_parquet_find(p, column_names[c], NULL, &column));
    for (uint64_t i = 0; i < n; i++) {
      size_t len = value_of(column_names[c][0], i, text, sizeof text);
      if (!maybe_in(p, i / group_rows, column, text, len)) fail_msg("%s %s", name, text);
    }
    for (uint64_t i = 0; i < 500; i++) {
      size_t len = value_of(column_names[c][0], 1000000 + i, text, sizeof text);
      nmaybes += maybe_in(p, 0, column, text, len);
    }
  }
  print_message("# %s: %u of %u absent values are maybe\n", name, nmaybes, 500 * ncolumns);
  assert_true(nmaybes <= most);
  nay_sst_parquet_free(p);
}

static void every_value_is_maybe(void **state) {
  (void)state;
  check_values("n1_p01", 1, 2048, 7, 10);
  check_values("n2_p01", 2, 2048, 7, 10);
  check_values("n100_p01", 100, 2048, 7, 120);
  check_values("n100_p001", 100, 2048, 7, 30);
  check_values("n1000_p0001_snappy", 1000, 2048, 7, 20);
  check_values("n6000_rg2048", 6000, 2048, 2, 40);
}

/* The bytes of DuckDB's filters are those that sbbf makes of the values. */
static void filters_are_rebuilt(void **state) {
  (void)state;
  nay_sst_parquet *p = open_golden("n1000_p0001_snappy");
  for (unsigned c = 0; c < NCOLUMNS; c++) {
    uint64_t column;
    nay_filter *theirs, *ours;
    char text[64];
    uint8_t key[64];
    size_t key_len;
    assert_ok(nay_sst_parquet_find(p, column_names[c], NULL, &column));
    assert_ok(nay_sst_parquet_filter_read(p, 0, column, NULL, NULL, &theirs));
    nay_params params = {sizeof params, .nkeys = 1000, .fpr = 0.0001}; /* the size is theirs, too */
    assert_ok(nay_format_new(nay_format_find("sbbf"), &params, NULL, NULL, &ours));
    for (uint64_t i = 0; i < 1000; i++) {
      size_t len = value_of(column_names[c][0], i, text, sizeof text);
      assert_ok(nay_sst_parquet_key(p, column, text, len, NULL, key, sizeof key, &key_len));
      assert_ok(nay_filter_add(ours, key, key_len, NULL));
    }
    golden_bytes bytes = golden_encode(theirs);
    golden_assert_encodes(ours, bytes.at, bytes.len);
    free(bytes.at);
    nay_filter_free(theirs);
  }
  nay_sst_parquet_free(p);
}

static void no_filter_is_maybe(void **state) {
  (void)state;
  nay_sst_parquet *p = open_golden("n1000_default_options");
  nay_sst_parquet_info info = {.size = sizeof info};
  nay_sst_parquet_filter at = {.size = sizeof at};
  nay_filter *f;
  uint64_t column;
  assert_ok(nay_sst_parquet_stats(p, &info));
  assert_int_equal(info.nfilters, 0);
  assert_ok(nay_sst_parquet_find(p, "s", NULL, &column));
  assert_ok(nay_sst_parquet_filter_at(p, 0, column, &at));
  assert_false(at.has_filter);
  assert_status(nay_sst_parquet_filter_read(p, 0, column, NULL, NULL, &f), NAY_EINVAL);
  assert_true(maybe_in(p, 0, column, "anything", 8));
  assert_status(nay_sst_parquet_find(p, "none", NULL, &column), NAY_EINVAL);
  nay_sst_parquet_free(p);
  p = open_golden("n0_p01"); /* no row group */
  assert_ok(nay_sst_parquet_stats(p, &info));
  assert_int_equal(info.nrow_groups, 0);
  assert_int_equal(info.ncolumns, 7);
  nay_sst_parquet_free(p);
}

/* ---- texts ---- */

static void refuse_text(const nay_sst_parquet *p, const char *name, const char *text) {
  uint64_t column;
  uint8_t key[64];
  size_t len = 99;
  assert_ok(nay_sst_parquet_find(p, name, NULL, &column));
  if (nay_sst_parquet_key(p, column, text, strlen(text), NULL, key, sizeof key, &len) !=
      NAY_EINVAL) {
    fail_msg("%s: '%s' is taken", name, text);
  }
  assert_int_equal(len, 99);
}

static void assert_key(const nay_sst_parquet *p, const char *name, const char *text,
                       const char *hex) {
  uint64_t column;
  uint8_t key[64], want[64];
  size_t len, want_len = golden_from_hex(hex, strlen(hex), want);
  assert_ok(nay_sst_parquet_find(p, name, NULL, &column));
  assert_ok(nay_sst_parquet_key(p, column, text, strlen(text), NULL, key, sizeof key, &len));
  assert_int_equal(len, want_len);
  assert_memory_equal(key, want, len);
}

static void texts_are_values_of_the_column(void **state) {
  (void)state;
  nay_sst_parquet *p = open_golden("n100_p01");
  assert_key(p, "s", "", "");
  assert_key(p, "b", "-1", "ffffffffffffffff");
  assert_key(p, "b", "9223372036854775807", "ffffffffffffff7f");
  assert_key(p, "j", "-2147483648", "00000080");
  assert_key(p, "j", "0x10", "10000000");
  assert_key(p, "u", "18446744073709551615", "ffffffffffffffff");
  assert_key(p, "d", "0.5", "000000000000e03f");
  assert_key(p, "f", "0.1", "cdcccc3d");
  refuse_text(p, "b", "9223372036854775808");
  refuse_text(p, "b", "");
  refuse_text(p, "b", "7 ");
  refuse_text(p, "j", "2147483648");
  refuse_text(p, "j", "-2147483649");
  refuse_text(p, "u", "-1");
  refuse_text(p, "d", "one");
  refuse_text(p, "f", "1.00000005960464477540"); /* between two floats */
  assert_key(p, "f", "1e-45", "01000000");       /* subnormal */
  assert_key(p, "f", "1.17549435e-38", "00008000");
  assert_key(p, "f", "-7.2083115e-39", "d77d4e80");
  assert_key(p, "f", "1e-60", "00000000");
  refuse_text(p, "f",
              "2."
              "101947696487225606385594374934874196920392912814773657635602425834686624028790902229"
              "957282543182373046875e-45");
  uint64_t column;
  assert_ok(nay_sst_parquet_find(p, "d", NULL, &column));
  assert_true(maybe_in(p, 0, column, "-0.0", 4)); /* 0 is there: one zero stands for both */
  assert_true(maybe_in(p, 0, column, "nan", 3));
  nay_sst_parquet_free(p);
}

/* ---- bytes that lie ---- */

/* Opens bytes and does everything with what opens. */
static nay_status use_bytes(const uint8_t *bytes, size_t len) {
  memory_file m = {bytes, len};
  nay_sst_file file = {.size = sizeof file, .length = len, .read_at = memory_read, .ctx = &m};
  nay_sst_parquet *p;
  nay_status status = nay_sst_parquet_open_file(&file, NULL, NULL, &p);
  if (status != NAY_OK) return status;
  nay_sst_parquet_info info = {.size = sizeof info};
  assert_ok(nay_sst_parquet_stats(p, &info));
  for (uint64_t c = 0; c < info.ncolumns; c++) {
    nay_sst_parquet_column column = {.size = sizeof column};
    assert_ok(nay_sst_parquet_column_at(p, c, &column));
    assert_true(strlen(column.name) <= 5 * len + 65536 && column.type[0] != '\0');
    for (uint64_t g = 0; g < info.nrow_groups; g++) {
      nay_filter *f = NULL;
      bool maybe = false;
      nay_status probed = nay_sst_parquet_may_contain(p, g, c, "1", 1, NULL, &maybe);
      assert_true(probed == NAY_OK || maybe || probed == NAY_EINVAL || probed == NAY_ENOTSUP);
      if (nay_sst_parquet_filter_read(p, g, c, NULL, NULL, &f) == NAY_OK) nay_filter_free(f);
    }
  }
  nay_sst_parquet_free(p);
  return NAY_OK;
}

static golden_bytes golden_file(const char *name) {
  char path[512];
  snprintf(path, sizeof path, "%s/parquet/duckdb_%s.parquet", TEST_GOLDEN, name);
  return golden_read(path);
}

static void cut_files_are_refused(void **state) {
  (void)state;
  golden_bytes b = golden_file("n2_p01");
  assert_ok(use_bytes(b.at, b.len));
  for (size_t len = 0; len < b.len; len++) assert_true(use_bytes(b.at, len) != NAY_OK);
  free(b.at);
}

/* Every byte behind the pages in turn, eight ways. */
static void changed_files_do_not_crash(void **state) {
  (void)state;
  golden_bytes b = golden_file("n2_p01");
  unsigned nopened = 0, n = 0;
  for (size_t i = b.len / 3; i < b.len; i++) {
    for (unsigned bit = 0; bit < 8; bit++, n++) {
      b.at[i] ^= (uint8_t)(1u << bit);
      nopened += use_bytes(b.at, b.len) == NAY_OK;
      b.at[i] ^= (uint8_t)(1u << bit);
    }
  }
  print_message("# %u of %u changed files open\n", nopened, n);
  free(b.at);
}

static nay_status with_footer(const char *hex, const char **what) {
  uint8_t file[1024] = {'P', 'A', 'R', '1'};
  size_t len = golden_from_hex(hex, strlen(hex), file + 4);
  memcpy(file + 4 + len, (uint8_t[]){(uint8_t)len, (uint8_t)(len >> 8), 0, 0, 'P', 'A', 'R', '1'},
         8);
  memory_file m = {file, len + 12};
  nay_sst_file from = {.size = sizeof from, .length = m.len, .read_at = memory_read, .ctx = &m};
  nay_sst_parquet *p = NULL;
  nay_diag diag = {.what = NULL};
  nay_status status = nay_sst_parquet_open_file(&from, NULL, &diag, &p);
  *what = diag.what;
  nay_sst_parquet_free(p);
  return status;
}

static void footers_that_lie(void **state) {
  (void)state;
  static const struct {
    const char *hex, *what;
  } cases[] = {
      {"00", "there is no schema"},
      {"29fcffffffff0f00", "a list has more elements than there are bytes"},
      {"291c", "the bytes end inside a struct"},
      {"293c1502000000000000", "a list has elements of another type"},
      {"88ffffffff7f00", "a length is more than the bytes that are left"},
      {"ff", "a field has an unknown type"},
      {"2900", "there is no schema"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const char *what;
    nay_status status = with_footer(cases[i].hex, &what);
    if (status != NAY_ECORRUPT) fail_msg("%s: status %d", cases[i].hex, (int)status);
    assert_non_null(what);
  }
  char deep[400] = "";
  for (unsigned i = 0; i < 60; i++) strcat(deep, "9c"); /* structs in field 9, 10, ... */
  const char *what;
  assert_status(with_footer(deep, &what), NAY_ECORRUPT);
  assert_string_equal(what, "structs and lists are nested too deep");
}

static void encrypted_footers_say_so(void **state) {
  (void)state;
  const uint8_t bytes[] = "PAREabcdefgh\x04\0\0\0PARE";
  memory_file m = {bytes, sizeof bytes - 1};
  nay_sst_file file = {.size = sizeof file, .length = m.len, .read_at = memory_read, .ctx = &m};
  nay_sst_parquet *p;
  nay_diag diag = {.what = NULL};
  assert_status(nay_sst_parquet_open_file(&file, NULL, &diag, &p), NAY_ENOTSUP);
  assert_string_equal(diag.what, "the footer of this Parquet file is encrypted");
}

static void arguments(void **state) {
  (void)state;
  nay_sst_parquet *p = open_golden("n2_p01");
  nay_sst_parquet_info info = {.size = sizeof info};
  nay_sst_parquet_filter at = {.size = sizeof at};
  nay_filter *f;
  bool maybe;
  uint64_t column;
  assert_status(nay_sst_parquet_open(NULL, NULL, NULL, &p), NAY_EINVAL);
  assert_status(nay_sst_parquet_open("/no/such/file", NULL, NULL, &p), NAY_EIO);
  assert_status(nay_sst_parquet_open_file(NULL, NULL, NULL, &p), NAY_EINVAL);
  assert_status(nay_sst_parquet_stats(NULL, &info), NAY_EINVAL);
  assert_status(nay_sst_parquet_find(p, NULL, NULL, &column), NAY_EINVAL);
  assert_status(nay_sst_parquet_filter_at(p, 1, 0, &at), NAY_EINVAL);
  assert_status(nay_sst_parquet_filter_at(p, 0, 7, &at), NAY_EINVAL);
  assert_status(nay_sst_parquet_filter_read(p, 0, 7, NULL, NULL, &f), NAY_EINVAL);
  assert_status(nay_sst_parquet_may_contain(p, 0, 0, NULL, 1, NULL, &maybe), NAY_EINVAL);
  assert_status(nay_sst_parquet_may_contain(p, 0, 0, "a", 1, NULL, NULL), NAY_EINVAL);
  nay_sst_parquet_free(NULL);
  nay_sst_parquet_free(p);
}

int main(void) {
  const test_case tests[] = {
      TEST(every_value_is_maybe),
      TEST(filters_are_rebuilt),
      TEST(no_filter_is_maybe),
      TEST(texts_are_values_of_the_column),
      TEST(cut_files_are_refused),
      TEST(changed_files_do_not_crash),
      TEST(footers_that_lie),
      TEST(encrypted_footers_say_so),
      TEST(arguments),
  };
  return run_all(tests);
}
