/*
 * lsm_vectors.h - the files of nori and mini-lsm in tests/golden, their keys and their engines' own
 * answers. make_lsm_vectors.py says what the fields of a row are.
 */
#ifndef NAY_TEST_LSM_VECTORS_H
#define NAY_TEST_LSM_VECTORS_H

#include "golden/golden.h"

/* ---- keys: generator(i) ---- */

static inline uint64_t lsm_mix(uint64_t i) {
  uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

static inline size_t lsm_key8(uint64_t i, uint8_t *out) {
  return (size_t)snprintf((char *)out, GOLDEN_KEY_MAX, "key%08llu", (unsigned long long)i);
}

static inline size_t lsm_emptyfirst(uint64_t i, uint8_t *out) {
  if (i == 0) return 0;
  return (size_t)snprintf((char *)out, GOLDEN_KEY_MAX, "k%06llu", (unsigned long long)i);
}

static inline size_t lsm_bin(uint64_t i, uint8_t *out) {
  uint64_t x = lsm_mix(i);
  size_t len = 4 + x % 45;
  uint32_t head = (uint32_t)(i * 2654435761u);
  for (size_t j = 0; j < len; j++) {
    out[j] = j < 4 ? (uint8_t)(head >> (24 - 8 * j)) : (uint8_t)(x >> 8 * (j % 8));
  }
  return len;
}

/* i + 128 as big-endian bytes without leading zero bytes. */
static inline size_t lsm_short(uint64_t i, uint8_t *out) {
  uint64_t x = i + 128;
  size_t len = x > 0xffffff ? 4 : x > 0xffff ? 3 : x > 0xff ? 2 : 1;
  for (size_t j = 0; j < len; j++) out[j] = (uint8_t)(x >> 8 * (len - 1 - j));
  return len;
}

static inline golden_key lsm_keys(const char *name) {
  if (strcmp(name, "key8") == 0) return lsm_key8;
  if (strcmp(name, "bin") == 0) return lsm_bin;
  if (strcmp(name, "short") == 0) return lsm_short;
  if (strcmp(name, "emptyfirst") == 0) return lsm_emptyfirst;
  fail_msg("no key generator %s", name);
  return NULL;
}

/* ---- rows ---- */

#define LSM_FIELDS 32

typedef struct lsm_row {
  char *field[LSM_FIELDS];
  size_t nfields;
} lsm_row;

/* The next row whose first field is `kind`; false at the end. */
static inline bool lsm_next(char **rest, const char *kind, lsm_row *row) {
  for (char *line; (line = golden_line(rest)) != NULL;) {
    row->nfields = 0;
    for (char *at = line; at != NULL;) {
      assert_true(row->nfields < LSM_FIELDS);
      row->field[row->nfields++] = at;
      at = strchr(at, '\t');
      if (at != NULL) *at++ = 0;
    }
    if (strcmp(row->field[0], kind) == 0) return true;
  }
  return false;
}

static inline uint64_t lsm_number(const lsm_row *row, size_t i) {
  return strtoull(row->field[i], NULL, 10);
}

/* name=value among the last fields; NULL when it is not there. */
static inline const char *lsm_param(const lsm_row *row, const char *name) {
  size_t len = strlen(name);
  for (size_t i = 0; i < row->nfields; i++) {
    if (strncmp(row->field[i], name, len) == 0 && row->field[i][len] == '=') {
      return row->field[i] + len + 1;
    }
  }
  return NULL;
}

/* Whether i is in a list of numbers separated by commas, ascending; "-" is empty. */
static inline bool lsm_listed(const char *list, uint64_t i) {
  for (const char *at = list; *at != 0 && *at != '-';) {
    char *end;
    if (strtoull(at, &end, 10) == i) return true;
    at = *end == ',' ? end + 1 : end;
  }
  return false;
}

static inline bool lsm_bit(const char *hex, uint64_t i) {
  char text[3] = {hex[2 * (i / 8)], hex[2 * (i / 8) + 1], 0};
  return (strtoul(text, NULL, 16) >> i % 8 & 1) != 0;
}

#define LSM_ABSENT 2000

#endif /* NAY_TEST_LSM_VECTORS_H */
