/*
 * golden.h - the key sets and files of tests/golden (MANIFEST.md has the rules), and the two ways
 * to make a filter in another system's layout from a key set.
 */
#ifndef NAY_TEST_GOLDEN_H
#define NAY_TEST_GOLDEN_H

#include "nay_format.h"
#include "support/test.h"

#define GOLDEN_KEY_MAX 5120 /* varlen goes to 5000 */

typedef size_t (*golden_key)(uint64_t i, uint8_t *out); /* returns the length */

static inline size_t golden_decimal(const char *prefix, uint64_t i, uint8_t *out) {
  return (size_t)snprintf((char *)out, GOLDEN_KEY_MAX, "%s%06llu", prefix, (unsigned long long)i);
}

static inline size_t golden_str(uint64_t i, uint8_t *out) { return golden_decimal("key", i, out); }
static inline size_t golden_abs(uint64_t i, uint8_t *out) { return golden_decimal("abs", i, out); }
static inline size_t golden_twice(uint64_t i, uint8_t *out) {
  return golden_decimal("key", i / 2, out);
}

static inline size_t golden_u64le(uint64_t i, uint8_t *out) {
  for (unsigned b = 0; b < 8; b++) out[b] = (uint8_t)(i >> (8 * b));
  return 8;
}

static inline size_t golden_varlen(uint64_t i, uint8_t *out) {
  for (uint64_t j = 0; j < i; j++) out[j] = (uint8_t)(i * 131 + j * 17 + 7);
  return (size_t)i;
}

static inline golden_key golden_set(const char *name) {
  if (strcmp(name, "str") == 0) return golden_str;
  if (strcmp(name, "u64le") == 0) return golden_u64le;
  if (strcmp(name, "varlen") == 0) return golden_varlen;
  if (strcmp(name, "twice") == 0) return golden_twice;
  fail_msg("no key set %s", name);
  return NULL;
}

/* ---- files ---- */

typedef struct golden_bytes {
  uint8_t *at; /* from malloc, with a zero byte after the last */
  size_t len;
} golden_bytes;

static inline golden_bytes golden_read(const char *path) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) fail_msg("cannot open %s", path);
  assert_int_equal(fseek(file, 0, SEEK_END), 0);
  long len = ftell(file);
  rewind(file);
  golden_bytes bytes = {malloc((size_t)len + 1), (size_t)len};
  assert_non_null(bytes.at);
  assert_int_equal(fread(bytes.at, 1, bytes.len, file), bytes.len);
  bytes.at[len] = 0;
  fclose(file);
  return bytes;
}

/* The next line that is not a comment, cut out of the text; NULL at the end. */
static inline char *golden_line(char **rest) {
  while (**rest != 0) {
    char *line = *rest, *end = strchr(line, '\n');
    *rest = end != NULL ? end + 1 : line + strlen(line);
    if (end != NULL) *end = 0;
    if (*line != '#') return line;
  }
  return NULL;
}

/* ---- filters ---- */

/* An empty filter, then adds. */
static inline nay_filter *golden_by_new(const nay_format *format, golden_key make, uint64_t n,
                                        double bits_per_key) {
  nay_params p = {sizeof p, .nkeys = n, .bits_per_key = bits_per_key};
  nay_filter *f;
  uint8_t key[GOLDEN_KEY_MAX];
  assert_ok(nay_format_new(format, &p, NULL, NULL, &f));
  for (uint64_t i = 0; i < n; i++) assert_ok(nay_filter_add(f, key, make(i, key), NULL));
  return f;
}

/* A builder that counts. */
static inline nay_filter *golden_by_builder(const nay_format *format, golden_key make, uint64_t n,
                                            double bits_per_key) {
  nay_params p = {sizeof p, .bits_per_key = bits_per_key};
  nay_builder *b;
  nay_filter *f;
  uint8_t key[GOLDEN_KEY_MAX];
  assert_ok(nay_format_builder_new(format, &p, NULL, NULL, &b));
  for (uint64_t i = 0; i < n; i++) assert_ok(nay_builder_add(b, key, make(i, key)));
  assert_int_equal(nay_builder_nkeys(b), n);
  assert_ok(nay_builder_finish(b, NULL, &f));
  nay_builder_free(b);
  return f;
}

static inline golden_bytes golden_encode(const nay_filter *f) {
  const nay_format *format = nay_filter_format(f);
  golden_bytes bytes = {NULL, nay_format_encoded_size(format, f)};
  size_t written;
  bytes.at = malloc(bytes.len + 1); /* one more, so that no size gives NULL */
  assert_non_null(bytes.at);
  assert_ok(nay_format_encode(format, f, bytes.at, bytes.len, &written));
  assert_int_equal(written, bytes.len);
  return bytes;
}

/* Encodes f, compares, frees both. */
static inline void golden_assert_encodes(nay_filter *f, const void *bytes, size_t len) {
  golden_bytes got = golden_encode(f);
  assert_int_equal(got.len, len);
  if (len != 0) assert_memory_equal(got.at, bytes, len);
  free(got.at);
  nay_filter_free(f);
}

/* ---- what their engine was asked ---- */

#define GOLDEN_ABSENT 2000

static inline void golden_check_members(const nay_filter *f, golden_key make, uint64_t n) {
  uint8_t key[GOLDEN_KEY_MAX];
  for (uint64_t i = 0; i < n; i++) {
    if (!nay_filter_may_contain(f, key, make(i, key))) fail_msg("nay for member %u", (unsigned)i);
  }
}

/* The absent keys that the engine answered with maybe, in order, are ours. */
static inline void golden_check_positives(const nay_filter *f, const char *indices) {
  uint8_t key[GOLDEN_KEY_MAX];
  for (uint64_t i = 0; i < GOLDEN_ABSENT; i++) {
    char *end;
    unsigned long next = strtoul(indices, &end, 10);
    bool want = end != indices && next == i;
    if (want) indices = end;
    if (nay_filter_may_contain(f, key, golden_abs(i, key)) != want) {
      fail_msg("abs%06u: the engine says %d", (unsigned)i, want);
    }
  }
  assert_int_equal(strspn(indices, " "), strlen(indices)); /* all of them were met */
}

static inline size_t golden_from_hex(const char *hex, size_t digits, uint8_t *bytes) {
  for (size_t i = 0; i + 1 < digits; i += 2) {
    char pair[3] = {hex[i], hex[i + 1], 0};
    bytes[i / 2] = (uint8_t)strtoul(pair, NULL, 16);
  }
  return digits / 2;
}

/* Filters in hex, each with the answers of the real reader for 64 keys; returns how many. */
static inline unsigned golden_check_edge_cases(const char *name, const char *path) {
  const nay_format *format = nay_format_find(name);
  golden_bytes table = golden_read(path);
  char *rest = (char *)table.at, *line;
  unsigned cases = 0;
  while ((line = golden_line(&rest)) != NULL) {
    uint8_t bytes[256], key[GOLDEN_KEY_MAX];
    size_t digits = strcspn(line, " ");
    size_t len = golden_from_hex(line, digits, bytes); /* "-" has no pair: no bytes */
    const char *answers = line + digits + 1;
    nay_filter *f;
    assert_ok(nay_format_decode(format, bytes, len, 0, NULL, NULL, &f));
    for (uint64_t i = 0; i < 64; i++) {
      bool maybe = nay_filter_may_contain(f, key, golden_str(i, key));
      if (maybe != (answers[i] == '1')) fail_msg("case %s: key %u", answers + 65, (unsigned)i);
    }
    golden_assert_encodes(f, bytes, len);
    cases++;
  }
  free(table.at);
  return cases;
}

#endif /* NAY_TEST_GOLDEN_H */
