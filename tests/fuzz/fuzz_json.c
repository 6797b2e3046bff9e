/*
 * fuzz_json.c - a path, a zero byte, and a line that claims to be JSON. What is found lies in the
 * line, its text has the length that was promised, and is the same when the line is an element of
 * an array, when it is quoted and read again, and when it stands between blanks.
 */
#include "json_read.h"
#include "support/exercise.h"

static json_value found[JSON_VALUES], again[JSON_VALUES];

static size_t text_of(const json_value *value, uint8_t **text) {
  *text = malloc(value->len + JSON_NUMBER + 1);
  CHECK(*text != NULL);
  size_t len = json_value_text(value, *text);
  CHECK(len <= value->len + JSON_NUMBER);
  CHECK(!value->is_plain || (len == value->len && memcmp(*text, value->at, len) == 0));
  return len;
}

static void expect_same(const json_value *a, const json_value *b) {
  uint8_t *x, *y;
  size_t n = text_of(a, &x), m = text_of(b, &y);
  CHECK(n == m && memcmp(x, y, n) == 0);
  free(x);
  free(y);
}

/* A number by its text has the same text; a string by its quoted text too. */
static void expect_again(const json_value *value) {
  static json_paths whole;
  uint8_t *text;
  size_t len = text_of(value, &text), n, at;
  bool blank;
  CHECK(json_paths_parse(".", &whole) == NULL);
  uint8_t *line = malloc(6 * len + 2);
  CHECK(line != NULL);
  size_t quoted = json_value_quote(text, len, line);
  CHECK(quoted <= 6 * len + 2);
  CHECK(json_find(&whole, line, quoted, again, &n, &at, &blank) == NULL && n == 1);
  expect_same(value, &again[0]);
  if (!value->is_string) {
    CHECK(json_find(&whole, text, len, again, &n, &at, &blank) == NULL && n == 1);
    expect_same(value, &again[0]);
  }
  free(line);
  free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static json_paths paths, wrapped;
  const uint8_t *zero = memchr(data, 0, size);
  if (zero == NULL || (size_t)(zero - data) > 200) return 0;
  const char *path = (const char *)data;
  if (json_paths_parse(path, &paths) != NULL) return 0;
  size_t len = (size_t)(data + size - zero) - 1, n = 99, m = 99, at = 99;
  bool blank = true, blank_too;
  uint8_t *line = malloc(len + 4);
  CHECK(line != NULL);
  memcpy(line + 1, zero + 1, len);
  uint8_t *exact = malloc(len + (len == 0));
  CHECK(exact != NULL);
  memcpy(exact, zero + 1, len);
  const char *why = json_find(&paths, exact, len, found, &n, &at, &blank);
  CHECK(at <= len);
  if (why == NULL && !blank) {
    CHECK(n > 0 && n <= JSON_VALUES);
    for (size_t i = 0; i < n; i++) {
      CHECK(found[i].at >= exact && found[i].at + found[i].len <= exact + len);
      if (i < 8) expect_again(&found[i]);
    }
    line[0] = line[len + 1] = ' ';
    CHECK(json_find(&paths, line, len + 2, again, &m, &at, &blank_too) == NULL && m == n);
    for (size_t i = 0; i < n; i++) expect_same(&found[i], &again[i]);
  }
  char text[256];
  bool alone = paths.n == 1 && paths.at[0].n + 1 < JSON_SEGMENTS;
  if (alone && !blank) { /* the line as the element of an array */
    bool dot = path[0] == '.' && path[1] == '\0', elements = path[0] == '[';
    snprintf(text, sizeof text, "[]%s%s", dot || elements ? "" : ".", dot ? "" : path);
    if (json_paths_parse(text, &wrapped) == NULL) {
      line[0] = '[';
      line[len + 1] = ']';
      const char *too = json_find(&wrapped, line, len + 2, again, &m, &at, &blank_too);
      if (why == NULL) CHECK(too == NULL && m == n);
      for (size_t i = 0; why == NULL && i < n; i++) expect_same(&found[i], &again[i]);
    }
  }
  free(line);
  free(exact);
  return 0;
}
