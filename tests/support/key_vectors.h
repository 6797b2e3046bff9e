/*
 * key_vectors.h - checks nay_key_parse on the vectors of tests/golden/keys/keys.txt: type, text,
 * key in hexadecimal or "error", separated by tabs. Stands alone, so that it can be compiled for
 * any CPU.
 */
#ifndef NAY_TEST_KEY_VECTORS_H
#define NAY_TEST_KEY_VECTORS_H

#include <nay_key.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_VECTOR_MAX 4096

/* A copy of exactly len bytes, so that AddressSanitizer sees a read beyond them. */
static inline char *key_vector_copy(const char *text, size_t len) {
  char *copy = malloc(len + (len == 0));
  if (copy == NULL) abort();
  if (len != 0) memcpy(copy, text, len);
  return copy;
}

static inline void key_vector_hex(const uint8_t *bytes, size_t len, char *hex) {
  for (size_t i = 0; i < len; i++) sprintf(hex + 2 * i, "%02x", bytes[i]);
  hex[2 * len] = '\0';
}

/*
 * key_vector_holds: parsing text gives the key, or fails as it should: measured, into a buffer of
 * that size, and into one that is too small. What a failed call must not touch is untouched.
 */
static inline bool key_vector_holds(nay_key_type type, const char *text, size_t text_len,
                                    const char *want) {
  char hex[2 * KEY_VECTOR_MAX + 1];
  size_t len = 77, again = 77;
  nay_diag diag = {.offset = UINT64_MAX};
  char *exact = key_vector_copy(text, text_len);
  nay_status status = nay_key_parse(type, exact, text_len, &diag, NULL, 0, &len);
  uint8_t *out = malloc(len + 1);
  if (out == NULL) abort();
  memset(out, 0xa5, len + 1);
  bool holds = nay_key_parse(type, exact, text_len, NULL, out, len, &again) == status;
  holds &= again == len && out[len] == 0xa5;
  if (status == NAY_OK) {
    holds &= len <= KEY_VECTOR_MAX && diag.what == NULL;
    if (len <= KEY_VECTOR_MAX) key_vector_hex(out, len, hex);
    holds = holds && strcmp(hex, want) == 0;
    memset(out, 0xa5, len);
    again = 77;
    if (len != 0) {
      holds &= nay_key_parse(type, exact, text_len, NULL, out, len - 1, &again) == NAY_EBUFFER;
      holds &= again == 77 && out[0] == 0xa5;
    }
  } else {
    holds &= status == NAY_EINVAL && strcmp(want, "error") == 0 && len == 77 && out[0] == 0xa5;
    holds &= diag.what != NULL && diag.offset <= text_len;
  }
  free(out);
  free(exact);
  return holds;
}

/* key_lines_check: "name <tab> text <tab> key" for each line of a file; prints what does not hold.
 * The number of lines, or -1. */
static inline int key_lines_check(const char *path,
                                  bool (*holds)(const char *name, const char *text, size_t text_len,
                                                const char *want)) {
  static char line[KEY_VECTOR_MAX];
  int count = 0, wrong = 0;
  FILE *file = fopen(path, "rb");
  if (file == NULL) return -1;
  while (fgets(line, sizeof line, file) != NULL) {
    if (line[0] == '#') continue;
    char *end = strchr(line, '\n'), *text = strchr(line, '\t');
    char *want = text != NULL ? strchr(text + 1, '\t') : NULL;
    if (end == NULL || want == NULL) break;
    *end = *text++ = *want++ = '\0';
    bool ok = holds(line, text, (size_t)(want - 1 - text), want);
    if (!ok) printf("# %s %s: not %s\n", line, text, want);
    wrong += !ok;
    count++;
  }
  bool whole = feof(file) != 0;
  fclose(file);
  return whole && wrong == 0 ? count : -1;
}

static inline bool key_vector_line(const char *name, const char *text, size_t text_len,
                                   const char *want) {
  nay_key_description how = {.size = sizeof how};
  return nay_key_description_parse(name, NULL, &how) == NAY_OK &&
         key_vector_holds(how.type, text, text_len, want);
}

/* key_vectors_check: the vectors of tests/golden/keys/keys.txt. */
static inline int key_vectors_check(const char *path) {
  return key_lines_check(path, key_vector_line);
}

/* ---- descriptions ---- */

/* key_vector_unhex: the bytes of hexadecimal digits, in memory of their own. */
static inline char *key_vector_unhex(const char *hex, size_t *len) {
  *len = strlen(hex) / 2;
  char *bytes = malloc(*len + (*len == 0));
  if (bytes == NULL) abort();
  for (size_t i = 0; i < *len; i++) {
    char pair[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
    bytes[i] = (char)strtoul(pair, NULL, 16);
  }
  return bytes;
}

/* key_description_holds: as key_vector_holds, for a description; the text is in hexadecimal. */
static inline bool key_description_holds(const char *description, const char *text,
                                         const char *want) {
  char hex[2 * KEY_VECTOR_MAX + 1];
  size_t text_len, len = 77, again = 77;
  nay_key_description how = {.size = sizeof how};
  nay_diag diag = {.offset = UINT64_MAX};
  char *exact = key_vector_unhex(text, &text_len);
  bool holds = nay_key_description_parse(description, NULL, &how) == NAY_OK;
  nay_status status = nay_key_convert(&how, exact, text_len, &diag, NULL, 0, &len);
  uint8_t *out = malloc(len + 1);
  if (out == NULL) abort();
  memset(out, 0xa5, len + 1);
  holds &= nay_key_convert(&how, exact, text_len, NULL, out, len, &again) == status;
  holds &= again == len && out[len] == 0xa5;
  if (status == NAY_OK) {
    if (len <= KEY_VECTOR_MAX) key_vector_hex(out, len, hex);
    holds = holds && len <= text_len + 8 && strcmp(hex, want) == 0;
    memset(out, 0xa5, len);
    if (len != 0) {
      holds &= nay_key_convert(&how, exact, text_len, NULL, out, len - 1, &again) == NAY_EBUFFER;
      holds &= again == len && out[0] == 0xa5;
    }
  } else {
    holds &= status == NAY_EINVAL && strcmp(want, "error") == 0 && len == 77 && out[0] == 0xa5;
    holds &= diag.what != NULL && diag.offset <= text_len;
  }
  free(out);
  free(exact);
  return holds;
}

static inline bool key_description_line(const char *name, const char *text, size_t text_len,
                                        const char *want) {
  (void)text_len;
  return key_description_holds(name, text, want);
}

/* key_descriptions_check: the vectors of tests/golden/keys/descriptions.txt. */
static inline int key_descriptions_check(const char *path) {
  return key_lines_check(path, key_description_line);
}

#endif /* NAY_TEST_KEY_VECTORS_H */
