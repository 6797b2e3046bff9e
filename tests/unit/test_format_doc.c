/*
 * test_format_doc.c - the worked examples of doc/formats/. An example is a fenced block
 *
 *     ```hex <format> bits_per_key=<b> keys=<comma-separated>
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

#include "golden/golden.h"

#define FORMATS 128

typedef struct example {
  char format[32];
  unsigned bits_per_key;
  char keys[128];
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
    int fields =
        sscanf(line, "```hex %31s bits_per_key=%u keys=%127s", e.format, &e.bits_per_key, e.keys);
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

/* Every format has a line in the overview and a page that the line points to. */
static void every_format_has_a_page(void **state) {
  (void)state;
  golden_bytes overview = golden_read(TEST_SOURCE "/doc/formats/README.md");
  for (size_t i = 0; nay_format_at(i) != NULL; i++) {
    char row[64];
    snprintf(row, sizeof row, "\n| `%s` |", nay_format_name(nay_format_at(i)));
    assert_non_null(strstr((char *)overview.at, row));
  }
  free(overview.at);
}

int main(void) {
  const test_case tests[] = {
      TEST(examples_are_what_the_library_writes),
      TEST(traces_end_in_the_answer_of_the_library),
      TEST(every_format_has_a_page),
  };
  return run_all(tests);
}
