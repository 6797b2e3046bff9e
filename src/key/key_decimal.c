/*
 * key_decimal.c - decimal numbers: the scanner that float and numeric share, and the canonical text
 * of a numeric.
 *
 *   numeric   "-"? integer fraction?  |  "NaN"  |  "Infinity"  |  "-Infinity"       but never "-0"
 *   integer   "0"  |  [1-9] [0-9]*
 *   fraction  "." [0-9]* [1-9]
 */
#include "key/key_text.h"

#define DECIMAL_MAX_BEFORE 131072 /* digits before the point, as in PostgreSQL */
#define DECIMAL_MAX_AFTER 16383
/* A longer exponent saturates: no text in memory has enough digits to bring it back. */
#define DECIMAL_MAX_EXPONENT INT64_C(100000000000000000)

static size_t decimal_take_digits(key_cursor *c) {
  size_t start = c->at;
  while (nay__key_is_digit(nay__key_peek(c))) c->at++;
  return c->at - start;
}

static nay_status decimal_exponent(key_cursor *c, int64_t *exponent) {
  *exponent = 0;
  if (!nay__key_take(c, 'e') && !nay__key_take(c, 'E')) return NAY_OK;
  bool negative = nay__key_take_sign(c);
  if (!nay__key_is_digit(nay__key_peek(c))) return nay__key_fail(c, "an exponent without digits");
  for (; nay__key_is_digit(nay__key_peek(c)); c->at++) {
    if (*exponent < DECIMAL_MAX_EXPONENT / 10)
      *exponent = *exponent * 10 + c->text[c->at] - '0';
    else
      *exponent = DECIMAL_MAX_EXPONENT;
  }
  if (negative) *exponent = -*exponent;
  return NAY_OK;
}

/* Drops zeros at both ends. */
static void decimal_trim(key_decimal *d, size_t ndigits, int64_t exponent) {
  d->ndigits = ndigits;
  while (d->ndigits > 0 && nay__key_digit(d, 0) == '0') {
    d->first++;
    d->ndigits--;
  }
  while (d->ndigits > 0 && nay__key_digit(d, d->ndigits - 1) == '0') d->ndigits--;
  d->point = (int64_t)d->before_point - (int64_t)d->first + exponent;
}

nay_status nay__key_scan_decimal(key_cursor *c, key_decimal *d) {
  *d = (key_decimal){.negative = nay__key_take_sign(c)};
  if (nay__key_take_rest(c, "inf") || nay__key_take_rest(c, "infinity")) d->class = KEY_INFINITE;
  if (nay__key_take_rest(c, "nan")) d->class = KEY_NAN;
  if (d->class != KEY_FINITE) return NAY_OK;
  int64_t exponent;
  d->digits = c->text + c->at;
  d->before_point = decimal_take_digits(c);
  size_t after = nay__key_take(c, '.') ? decimal_take_digits(c) : 0;
  if (d->before_point + after == 0) return nay__key_fail(c, "a number without digits");
  NAY_TRY(decimal_exponent(c, &exponent));
  if (c->at < c->len) return nay__key_fail(c, "not a decimal digit");
  decimal_trim(d, d->before_point + after, exponent);
  return NAY_OK;
}

/* ---- numeric ---- */

static void decimal_put_zeros(key_sink *sink, int64_t n) {
  if (n > 0) nay__key_put_fill(sink, '0', (size_t)n);
}

static void decimal_put(const key_decimal *d, key_sink *sink) {
  if (d->negative) nay__key_put_byte(sink, '-');
  if (d->point <= 0) {
    nay__key_put(sink, "0.", 2);
    decimal_put_zeros(sink, -d->point);
  }
  for (size_t i = 0; i < d->ndigits; i++) {
    if (d->point > 0 && i == (uint64_t)d->point) nay__key_put_byte(sink, '.');
    nay__key_put_byte(sink, nay__key_digit(d, i));
  }
  decimal_put_zeros(sink, d->point - (int64_t)d->ndigits);
}

nay_status nay__key_write_numeric(key_cursor *c, key_sink *sink) {
  key_decimal d;
  NAY_TRY(nay__key_scan_decimal(c, &d));
  if (d.class == KEY_NAN) {
    nay__key_put(sink, "NaN", 3);
  } else if (d.class == KEY_INFINITE) {
    nay__key_put(sink, d.negative ? "-Infinity" : "Infinity", d.negative ? 9 : 8);
  } else if (d.ndigits == 0) {
    nay__key_put_byte(sink, '0');
  } else if (d.point > DECIMAL_MAX_BEFORE) {
    return nay__key_fail_at(c, 0, "a numeric of more than 131,072 digits before the point");
  } else if ((int64_t)d.ndigits - d.point > DECIMAL_MAX_AFTER) {
    return nay__key_fail_at(c, 0, "a numeric of more than 16,383 digits after the point");
  } else {
    decimal_put(&d, sink);
  }
  return NAY_OK;
}
