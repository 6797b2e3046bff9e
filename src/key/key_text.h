/*
 * key_text.h - what the parsers of nay_key_parse share: a cursor over the text, a sink for the key,
 * and one function per type.
 *
 * A parser of a fixed type returns the 8 bytes of the key as one word. A parser of another type
 * writes to a sink and runs twice: first to check and measure, then, if the key fits, to write.
 * So a failed call writes nothing.
 */
#ifndef NAY_KEY_TEXT_H
#define NAY_KEY_TEXT_H

#include "base/base.h"
#include "nay_key.h"

/* The text, and the byte that is parsed next. */
typedef struct key_cursor {
  const uint8_t *text;
  size_t len, at;
  nay_diag *diag;
} key_cursor;

/*
 * Takes the bytes of a key. out is NULL while the key is measured. Of a notation the bytes may be
 * transformed: then white space at the start is dropped, `end` is behind the last byte that is
 * none, and nothing is written past `most`.
 */
typedef struct key_sink {
  uint8_t *out;
  size_t len;
  uint64_t transformations; /* nay_key_transformation, or-ed */
  size_t end, most;
} key_sink;

/* ---- the cursor ---- */

/* nay__key_fail_at: NAY_EINVAL, with the offset of the byte that is wrong. */
static inline nay_status nay__key_fail_at(const key_cursor *c, size_t at, const char *what) {
  return nay__fail(c->diag, NAY_EINVAL, what, at);
}

static inline nay_status nay__key_fail(const key_cursor *c, const char *what) {
  return nay__key_fail_at(c, c->at, what);
}

/* nay__key_peek: the next byte, or -1 at the end. */
static inline int nay__key_peek(const key_cursor *c) {
  return c->at < c->len ? c->text[c->at] : -1;
}

/* nay__key_take: skips the next byte if it is this one. */
static inline bool nay__key_take(key_cursor *c, char byte) {
  if (nay__key_peek(c) != byte) return false;
  c->at++;
  return true;
}

/* nay__key_take_sign: skips + or -; true for -. */
static inline bool nay__key_take_sign(key_cursor *c) {
  bool negative = nay__key_peek(c) == '-';
  if (negative || nay__key_peek(c) == '+') c->at++;
  return negative;
}

/* nay__key_lower: ASCII letters in lower case, whatever the locale. */
static inline int nay__key_lower(int byte) {
  return byte >= 'A' && byte <= 'Z' ? byte - 'A' + 'a' : byte;
}

/* nay__key_take_prefix: skips a word of lower-case letters, in any case. */
static inline bool nay__key_take_prefix(key_cursor *c, const char *word) {
  size_t n = 0;
  for (; word[n] != '\0'; n++) {
    if (n >= c->len - c->at || nay__key_lower(c->text[c->at + n]) != word[n]) return false;
  }
  c->at += n;
  return true;
}

/* nay__key_take_rest: the same, if nothing follows the word. */
static inline bool nay__key_take_rest(key_cursor *c, const char *word) {
  size_t start = c->at;
  if (nay__key_take_prefix(c, word) && c->at == c->len) return true;
  c->at = start;
  return false;
}

static inline bool nay__key_is_digit(int byte) { return byte >= '0' && byte <= '9'; }

/* nay__key_hex_digit: its value, or -1. */
static inline int nay__key_hex_digit(int byte) {
  if (nay__key_is_digit(byte)) return byte - '0';
  byte = nay__key_lower(byte);
  return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

/* ---- the sink ---- */

static inline void nay__key_put(key_sink *sink, const void *bytes, size_t len) {
  if (sink->out != NULL && len != 0) memcpy(sink->out + sink->len, bytes, len);
  sink->len += len;
}

/* nay__key_is_space: what trim drops. */
static inline bool nay__key_is_space(int byte) { return byte == ' ' || (byte >= 9 && byte <= 13); }

static inline void nay__key_put_transformed(key_sink *sink, int byte) {
  bool trims = (sink->transformations & NAY_KEY_TRIM) != 0;
  if (trims && sink->len == 0 && nay__key_is_space(byte)) return;
  if ((sink->transformations & NAY_KEY_ASCII_LOWER) != 0) byte = nay__key_lower(byte);
  if (sink->out != NULL && sink->len < sink->most) sink->out[sink->len] = (uint8_t)byte;
  sink->len++;
  if (!trims || !nay__key_is_space(byte)) sink->end = sink->len;
}

static inline void nay__key_put_byte(key_sink *sink, int byte) {
  if (sink->transformations != 0) {
    nay__key_put_transformed(sink, byte);
    return;
  }
  if (sink->out != NULL) sink->out[sink->len] = (uint8_t)byte;
  sink->len++;
}

/* n times the same byte; of a sink that only counts the cost does not depend on n. */
static inline void nay__key_put_fill(key_sink *sink, int byte, size_t n) {
  if (sink->out != NULL && n != 0) memset(sink->out + sink->len, byte, n);
  sink->len += n;
}

/* ---- decimals: of float and numeric ---- */

typedef enum key_class { KEY_FINITE, KEY_INFINITE, KEY_NAN } key_class;

/*
 * A decimal number as it stands in the text: 0.d1 d2 ... d(ndigits) * 10^point, where d1 and the
 * last digit are not 0. Zero has no digits.
 */
typedef struct key_decimal {
  key_class class;
  bool negative;
  const uint8_t *digits; /* of the mantissa, the point still among them */
  size_t before_point;   /* digits that stand before the point */
  size_t first, ndigits; /* the significant ones, counted without the point */
  int64_t point;
} key_decimal;

/* nay__key_digit: d(i + 1), as a character. */
static inline int nay__key_digit(const key_decimal *d, size_t i) {
  size_t at = d->first + i;
  return d->digits[at < d->before_point ? at : at + 1];
}

/* nay__key_scan_decimal: sign, digits, point, exponent; or inf, infinity, nan. To the end. */
nay_status nay__key_scan_decimal(key_cursor *c, key_decimal *d);

/* nay__key_parse_as: as nay_key_parse; what hex or b64 stands for is transformed. */
nay_status nay__key_parse_as(nay_key_type type, uint64_t transformations, const char *text,
                             size_t len, nay_diag *diag, uint8_t *out, size_t cap, size_t *key_len);

/* ---- one parser per type ---- */

nay_status nay__key_scan_int(key_cursor *c, uint64_t *word);
nay_status nay__key_scan_bool(key_cursor *c, uint64_t *word);
nay_status nay__key_scan_float(key_cursor *c, uint64_t *word);
nay_status nay__key_scan_date(key_cursor *c, uint64_t *word);
nay_status nay__key_scan_timestamp(key_cursor *c, uint64_t *word);

nay_status nay__key_write_text(key_cursor *c, key_sink *sink);
nay_status nay__key_write_uuid(key_cursor *c, key_sink *sink);
nay_status nay__key_write_numeric(key_cursor *c, key_sink *sink);
nay_status nay__key_write_hex(key_cursor *c, key_sink *sink);
nay_status nay__key_write_b64(key_cursor *c, key_sink *sink);

/* nay__key_float_bits: a binary64 with one zero and one NaN. */
static inline uint64_t nay__key_float_bits(uint64_t bits) {
  if (bits << 1 == 0) return 0;
  return bits << 1 > UINT64_C(0x7ff) << 53 ? UINT64_C(0x7ff8) << 48 : bits;
}

#endif /* NAY_KEY_TEXT_H */
