/*
 * test_format_doc.c - the worked examples of doc/formats/. An example is a fenced block
 *
 *     ```hex <format> bits_per_key=<b> keys=<comma-separated> secret=<hex>
 *     21 49 ...   # comment
 *     ```
 *
 * and its bytes must be what the library writes for those keys. In nay.md it is a block
 *
 *     ```trace <golden file> <key>
 *     ...
 *     maybe
 *     ```
 *
 * whose last line must be the library's answer; tests/golden/native/test_read_nay.py checks the
 * lines before it.
 */
#include <dirent.h>

#include "format/format.h"
#include "golden/golden.h"

#define FORMATS 128

typedef struct example {
  char format[32];
  unsigned bits_per_key;
  char keys[128], secret[33]; /* "": none */
  uint8_t bytes[256];
  size_t len;
} example;

static void read_hex_line(char *line, example *e) {
  char *comment = strchr(line, '#');
  if (comment != NULL) *comment = 0;
  for (char *token = strtok(line, " "); token != NULL; token = strtok(NULL, " ")) {
    char *end;
    unsigned long byte = strtoul(token, &end, 16);
    assert_true(strlen(token) == 2 && *end == 0 && e->len < sizeof e->bytes);
    e->bytes[e->len++] = (uint8_t)byte;
  }
}

static nay_filter *build_example(const example *e) {
  const nay_format *format = nay_format_find(e->format);
  assert_non_null(format);
  nay_params p = {sizeof p, .bits_per_key = e->bits_per_key};
  nay_builder *b;
  nay_filter *f;
  char keys[128];
  if (e->secret[0] != 0) p.hash = NAY_HASH_SIPHASH;
  (void)golden_from_hex(e->secret, strlen(e->secret), p.key);
  snprintf(keys, sizeof keys, "%s", e->keys);
  assert_ok(nay_format_builder_new(format, &p, NULL, NULL, &b));
  for (char *key = strtok(keys, ","); key != NULL; key = strtok(NULL, ",")) {
    assert_ok(nay_builder_add(b, key, strlen(key)));
  }
  assert_ok(nay_builder_finish(b, NULL, &f));
  nay_builder_free(b);
  return f;
}

/* Lines that open with "#" are headings here, not comments: cut the text by hand. */
static char *next_line(char **rest) {
  if (**rest == 0) return NULL;
  char *line = *rest, *end = strchr(line, '\n');
  *rest = end != NULL ? end + 1 : line + strlen(line);
  if (end != NULL) *end = 0;
  return line;
}

/* Counts the examples of each format, in the order of nay_format_at. */
static void check_page(const char *path, unsigned examples[FORMATS]) {
  golden_bytes page = golden_read(path);
  char *rest = (char *)page.at, *line;
  while ((line = next_line(&rest)) != NULL) {
    example e = {.len = 0};
    if (strncmp(line, "```hex ", 7) != 0) continue;
    int fields = sscanf(line, "```hex %31s bits_per_key=%u keys=%127s secret=%32s", e.format,
                        &e.bits_per_key, e.keys, e.secret);
    assert_true(fields >= 2); /* no keys: an empty set */
    while ((line = next_line(&rest)) != NULL && strcmp(line, "```") != 0) read_hex_line(line, &e);
    golden_assert_encodes(build_example(&e), e.bytes, e.len);
    for (size_t i = 0; nay_format_at(i) != NULL; i++) {
      examples[i] += nay_format_at(i) == nay_format_find(e.format);
    }
  }
  free(page.at);
}

/* Formats without an example: too long for a page, or not made here. tests/golden has them. */
static bool may_lack_an_example(const char *name) {
  static const char *const names[] = {"nay", "nori-quotient-compact", "rocksdb-ribbon",
                                      "redisbloom-cf", "redis-dump-cf"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (strcmp(names[i], name) == 0) return true;
  }
  return false;
}

static void examples_are_what_the_library_writes(void **state) {
  (void)state;
  unsigned examples[FORMATS] = {0};
  const struct dirent *entry;
  DIR *pages = opendir(TEST_SOURCE "/doc/formats");
  assert_non_null(pages);
  while ((entry = readdir(pages)) != NULL) {
    char path[512];
    size_t len = strlen(entry->d_name);
    if (len < 3 || strcmp(entry->d_name + len - 3, ".md") != 0) continue;
    snprintf(path, sizeof path, "%s/doc/formats/%s", TEST_SOURCE, entry->d_name);
    check_page(path, examples);
  }
  closedir(pages);
  for (size_t i = 0; nay_format_at(i) != NULL; i++) {
    const char *name = nay_format_name(nay_format_at(i));
    if ((examples[i] == 0) != may_lack_an_example(name)) fail_msg("%s: examples", name);
  }
}

/* The answer of the library for the key of a trace. */
static bool answer_of(const char *file, const char *key) {
  char path[512];
  nay_filter *f;
  snprintf(path, sizeof path, "%s/tests/golden/native/%s", TEST_SOURCE, file);
  assert_ok(nay_filter_open(path, NULL, NULL, &f));
  bool maybe = nay_filter_may_contain(f, key, strlen(key));
  nay_filter_free(f);
  return maybe;
}

static void traces_end_in_the_answer_of_the_library(void **state) {
  (void)state;
  golden_bytes page = golden_read(TEST_SOURCE "/doc/formats/nay.md");
  char *rest = (char *)page.at, *line;
  unsigned traces[2] = {0, 0};
  while ((line = next_line(&rest)) != NULL) {
    char file[64], key[64];
    const char *last = "";
    if (sscanf(line, "```trace %63s %63s", file, key) != 2) continue;
    while ((line = next_line(&rest)) != NULL && strcmp(line, "```") != 0) last = line;
    bool maybe = answer_of(file, key);
    assert_string_equal(last, maybe ? "maybe" : "nay");
    traces[maybe]++;
  }
  assert_true(traces[false] >= 9 && traces[true] >= 9); /* of every family */
  free(page.at);
}

/* ---- the matrix of doc/formats/README.md: what each layout can do, found by doing it ---- */

#define MATRIX_KEYS 2000 /* RocksDB makes a Bloom filter of fewer keys */

static nay_params matrix_params(const nay_format *format) {
  nay_params p = {sizeof p, .nkeys = MATRIX_KEYS, .bits_per_key = 10};
  nay_plan plan = {.size = sizeof plan};
  if (nay_format_plan(format, &p, NULL, &plan) != NAY_OK) p.bits_per_key = 24;
  p.hash = NAY_HASH_SIPHASH; /* where the layout is keyed */
  if (nay_format_plan(format, &p, NULL, &plan) != NAY_OK || format->family == NULL) {
    p.hash = NAY_HASH_XXH3;
  }
  return p;
}

/* Layouts that are read here, not made: a file of their engine. */
static nay_filter *matrix_open(const nay_format *format) {
  bool dump = strcmp(nay_format_name(format), "redis-dump-cf") == 0;
  golden_bytes bytes = golden_read(dump ? TEST_GOLDEN "/redisbloom/cf_default.dump"
                                        : TEST_GOLDEN "/redisbloom/cf_default.scandump");
  nay_filter *f;
  assert_ok(nay_format_decode(format, bytes.at, bytes.len, 0, NULL, NULL, &f));
  free(bytes.at);
  return f;
}

static nay_filter *matrix_build(const nay_format *format, const nay_params *p) {
  nay_builder *b;
  nay_filter *f;
  char key[16];
  nay_status status = nay_format_builder_new(format, p, NULL, NULL, &b);
  if (status == NAY_ENOTSUP) return NULL;
  assert_ok(status);
  for (unsigned i = 0; i < MATRIX_KEYS; i++) {
    snprintf(key, sizeof key, "key%05u", i);
    assert_ok(nay_builder_add(b, key, 8));
  }
  assert_ok(nay_builder_finish(b, NULL, &f));
  nay_builder_free(b);
  assert_true(nay_filter_may_contain(f, "key00007", 8));
  return f;
}

static const char *matrix_read(const nay_format *format, const golden_bytes *bytes) {
  nay_view view = {.size = sizeof view};
  nay_filter *f;
  assert_ok(nay_format_decode(format, bytes->at, bytes->len, 0, NULL, NULL, &f));
  nay_filter_free(f);
  nay_status status = nay_format_view(format, bytes->at, bytes->len, 0, NULL, &view);
  return status == NAY_OK ? "in place" : "copied";
}

/* What a probe takes: keys, and hashes where two words are enough for all bits of a key. */
static const char *matrix_check(const nay_filter *f) {
  uint64_t lo = 0, hi = 0, bitmap;
  nay_stats s = {.size = sizeof s};
  assert_ok(nay_filter_stats(f, &s));
  if (nay_filter_may_contain(f, "no 8", 4) && nay_filter_may_contain(f, "no 8 bytes", 10)) {
    return "numbers";
  }
  bool hashes = nay_filter_may_contain_hash_many(f, &lo, &hi, 1, &bitmap) == NAY_OK;
  return hashes ? "keys, hashes" : "keys";
}

static const char *matrix_add(const nay_format *format, const nay_params *p) {
  nay_filter *f = NULL;
  nay_status status = nay_format_new(format, p, NULL, NULL, &f);
  nay_filter_free(f);
  return status == NAY_OK ? "yes" : "no";
}

/* Other layouts that are written from a filter of this one without its keys. */
static void matrix_convert(const nay_format *format, const nay_filter *f, char *text) {
  const nay_format *to;
  strcpy(text, "");
  for (size_t i = 0; (to = nay_format_at(i)) != NULL; i++) {
    if (to == format || nay_format_encoded_size(to, f) == 0) continue;
    size_t size = nay_format_encoded_size(to, f), len;
    uint8_t *bytes = malloc(size);
    nay_filter *other = NULL;
    assert_non_null(bytes);
    assert_ok(nay_format_encode(to, f, bytes, size, &len));
    assert_ok(nay_format_decode(to, bytes, len, 0, NULL, NULL, &other));
    /* one reader takes all variants: RocksDB's stay what they are */
    if (nay_filter_format(other) == to) {
      sprintf(text + strlen(text), "%s`%s`", *text != 0 ? ", " : "", nay_format_name(to));
    }
    nay_filter_free(other);
    free(bytes);
  }
  if (*text == 0) strcpy(text, "no");
}

static const char *matrix_detect(const nay_format *format, const golden_bytes *bytes) {
  bool likely;
  const nay_format *is = nay_format_recognise(bytes->at, bytes->len, bytes->len, &likely);
  bool magic = (nay_format_traits(format) & NAY_FORMAT_MAGIC) != 0;
  assert_true(magic == (is == format && !likely));
  if (is != NULL && is != format) return "likely, as another";
  return is == NULL ? "only if named" : likely ? "likely" : "certain";
}

static void matrix_row(const nay_format *format, char *row, size_t room) {
  char convert[256];
  nay_params p = matrix_params(format);
  nay_filter *f = matrix_build(format, &p);
  const char *builds = f != NULL ? "yes" : "no";
  if (f == NULL) f = matrix_open(format);
  golden_bytes bytes = {malloc(nay_format_encoded_size(format, f)),
                        nay_format_encoded_size(format, f)};
  assert_non_null(bytes.at);
  assert_ok(nay_format_encode(format, f, bytes.at, bytes.len, &bytes.len));
  matrix_convert(format, f, convert);
  uint32_t traits = nay_format_traits(format);
  snprintf(row, room, "| `%s` | %s | %s | %s | %s | %s | %s | %s | %s |\n", nay_format_name(format),
           matrix_read(format, &bytes), matrix_check(f), builds, matrix_add(format, &p), convert,
           matrix_detect(format, &bytes), (traits & NAY_FORMAT_CHECKSUM) != 0 ? "yes" : "no",
           (traits & NAY_FORMAT_NOTE) != 0 ? "yes" : "no");
  free(bytes.at);
  nay_filter_free(f);
}

/* Every format has a line in the overview, and one in the matrix that is true. */
static void every_format_has_a_page(void **state) {
  (void)state;
  golden_bytes overview = golden_read(TEST_SOURCE "/doc/formats/README.md");
  for (size_t i = 0; nay_format_at(i) != NULL; i++) {
    char row[512];
    snprintf(row, sizeof row, "\n| `%s` |", nay_format_name(nay_format_at(i)));
    if (strstr((char *)overview.at, row) == NULL) fail_msg("no row: %s", row + 1);
    matrix_row(nay_format_at(i), row, sizeof row);
    if (strstr((char *)overview.at, row) == NULL) fail_msg("README.md has not: %s", row);
  }
  free(overview.at);
}

/* What stands in the matrix: test_format_doc --matrix. */
static void print_matrix(void) {
  for (size_t i = 0; nay_format_at(i) != NULL; i++) {
    char row[512];
    matrix_row(nay_format_at(i), row, sizeof row);
    fputs(row, stdout);
  }
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "--matrix") == 0) {
    print_matrix();
    return 0;
  }
  const test_case tests[] = {
      TEST(examples_are_what_the_library_writes),
      TEST(traces_end_in_the_answer_of_the_library),
      TEST(every_format_has_a_page),
  };
  return run_all(tests);
}
