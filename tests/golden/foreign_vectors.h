/*
 * foreign_vectors.h - the files of nori and mini-lsm in tests/golden: their key sets, and the
 * answers of the engines' own readers. make_foreign_vectors.py describes the fields of a row.
 */
#ifndef NAY_TEST_FOREIGN_VECTORS_H
#define NAY_TEST_FOREIGN_VECTORS_H

#include "golden/golden.h"

/* ---- key sets: generator(i) ---- */

static inline uint64_t foreign_mix(uint64_t i) {
  uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

static inline size_t foreign_key8(uint64_t i, uint8_t *out) {
  return (size_t)snprintf((char *)out, GOLDEN_KEY_MAX, "key%08llu", (unsigned long long)i);
}

static inline size_t foreign_emptyfirst(uint64_t i, uint8_t *out) {
  if (i == 0) return 0;
  return (size_t)snprintf((char *)out, GOLDEN_KEY_MAX, "k%06llu", (unsigned long long)i);
}

static inline size_t foreign_bin(uint64_t i, uint8_t *out) {
  uint64_t x = foreign_mix(i);
  size_t len = 4 + x % 45;
  uint32_t head = (uint32_t)(i * 2654435761u);
  for (size_t j = 0; j < len; j++) {
    out[j] = j < 4 ? (uint8_t)(head >> (24 - 8 * j)) : (uint8_t)(x >> 8 * (j % 8));
  }
  return len;
}

/* Makes i + 128 as big-endian bytes without leading zero bytes. */
static inline size_t foreign_short(uint64_t i, uint8_t *out) {
  uint64_t x = i + 128;
  size_t len = x > 0xffffff ? 4 : x > 0xffff ? 3 : x > 0xff ? 2 : 1;
  for (size_t j = 0; j < len; j++) out[j] = (uint8_t)(x >> 8 * (len - 1 - j));
  return len;
}

/* ---- integers, as little-endian bytes ---- */

static inline size_t foreign_store(uint64_t x, size_t len, uint8_t *out) {
  for (size_t j = 0; j < len; j++) out[j] = (uint8_t)(x >> 8 * j);
  return len;
}

static inline size_t foreign_i64le(uint64_t i, uint8_t *out) { return foreign_store(i, 8, out); }
static inline size_t foreign_i32le(uint64_t i, uint8_t *out) { return foreign_store(i, 4, out); }
static inline size_t foreign_neg64le(uint64_t i, uint8_t *out) {
  return foreign_store(~i, 8, out); /* -(i + 1) */
}
static inline size_t foreign_mul64le(uint64_t i, uint8_t *out) {
  return foreign_store(i * 1000003 - 500000000, 8, out);
}
static inline size_t foreign_sm64le(uint64_t i, uint8_t *out) {
  return foreign_store(foreign_mix(i), 8, out);
}

/* Every key twice. */
static inline size_t foreign_dup64le(uint64_t i, uint8_t *out) {
  return foreign_sm64le(i < 1000000 ? i / 2 : i, out);
}

/* The double (i - 50) / 8. */
static inline size_t foreign_dbl(uint64_t i, uint8_t *out) {
  double x = ((double)i - 50) / 8;
  uint64_t word;
  memcpy(&word, &x, sizeof word);
  return foreign_store(word, 8, out);
}

/* U+043A U+043B U+044E U+0447 "-" i U+20AC, in UTF-8. */
static inline size_t foreign_utf8(uint64_t i, uint8_t *out) {
  return (size_t)snprintf((char *)out, GOLDEN_KEY_MAX,
                          "\xd0\xba\xd0\xbb\xd1\x8e\xd1\x87-%llu\xe2\x82\xac",
                          (unsigned long long)i);
}

/* The set str in UTF-16. */
static inline size_t foreign_str16(uint64_t i, uint8_t *out) {
  uint8_t text[32];
  size_t len = golden_str(i, text);
  for (size_t j = 0; j < len; j++) {
    out[2 * j] = text[j];
    out[2 * j + 1] = 0;
  }
  return 2 * len;
}

static inline golden_key foreign_engine_keys(const char *name) {
  static const struct {
    const char *name;
    golden_key make;
  } sets[] = {{"i64le", foreign_i64le},     {"i32le", foreign_i32le},
              {"neg64le", foreign_neg64le}, {"mul64le", foreign_mul64le},
              {"sm64le", foreign_sm64le},   {"dup", foreign_dup64le},
              {"utf8", foreign_utf8},       {"str16", foreign_str16},
              {"dbl", foreign_dbl},         {"str", golden_str},
              {"abs", golden_abs},          {"varlen", golden_varlen},
              {"key8", foreign_key8},       {"bin", foreign_bin},
              {"short", foreign_short},     {"emptyfirst", foreign_emptyfirst}};
  for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
    if (strcmp(sets[i].name, name) == 0) return sets[i].make;
  }
  fail_msg("no key generator %s", name);
  return NULL;
}

static inline golden_key foreign_keys(const char *name) {
  if (strcmp(name, "key8") == 0) return foreign_key8;
  if (strcmp(name, "bin") == 0) return foreign_bin;
  if (strcmp(name, "short") == 0) return foreign_short;
  if (strcmp(name, "emptyfirst") == 0) return foreign_emptyfirst;
  fail_msg("no key generator %s", name);
  return NULL;
}

/* ---- rows ---- */

#define FOREIGN_FIELDS 32

typedef struct foreign_row {
  char *field[FOREIGN_FIELDS];
  size_t nfields;
} foreign_row;

/* Reads the next row whose first field is `kind`. False: there is none. */
static inline bool foreign_next(char **rest, const char *kind, foreign_row *row) {
  for (char *line; (line = golden_line(rest)) != NULL;) {
    row->nfields = 0;
    for (char *at = line; at != NULL;) {
      assert_true(row->nfields < FOREIGN_FIELDS);
      row->field[row->nfields++] = at;
      at = strchr(at, '\t');
      if (at != NULL) *at++ = 0;
    }
    if (strcmp(row->field[0], kind) == 0) return true;
  }
  return false;
}

static inline uint64_t foreign_number(const foreign_row *row, size_t i) {
  return strtoull(row->field[i], NULL, 10);
}

/* Returns the value of name=value among the last fields; NULL: not there. */
static inline const char *foreign_param(const foreign_row *row, const char *name) {
  size_t len = strlen(name);
  for (size_t i = 0; i < row->nfields; i++) {
    if (strncmp(row->field[i], name, len) == 0 && row->field[i][len] == '=') {
      return row->field[i] + len + 1;
    }
  }
  return NULL;
}

/* Whether i is in an ascending list of numbers, separated by commas; "-" is the empty list. */
static inline bool foreign_listed(const char *list, uint64_t i) {
  for (const char *at = list; *at != 0 && *at != '-';) {
    char *end;
    if (strtoull(at, &end, 10) == i) return true;
    at = *end == ',' ? end + 1 : end;
  }
  return false;
}

static inline bool foreign_bit(const char *hex, uint64_t i) {
  char text[3] = {hex[2 * (i / 8)], hex[2 * (i / 8) + 1], 0};
  return (strtoul(text, NULL, 16) >> i % 8 & 1) != 0;
}

#define FOREIGN_ABSENT 2000

#endif /* NAY_TEST_FOREIGN_VECTORS_H */
