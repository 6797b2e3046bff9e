/*
 * key.c - typed values as keys: values, the table of types, integers and booleans from text.
 * doc/keys.md is the specification.
 */
#include "base/bits.h"
#include "base/bytes.h"
#include "key/key_description.h"
#include "key/key_text.h"
#include "nay_key.h"

/* How a word becomes a key whose bytes have the order of the values. */
typedef enum key_order { KEY_NO_ORDER, KEY_SIGNED, KEY_FLOATING } key_order;

/* A type has one of the two parsers. */
typedef struct key_parser {
  const char *name;
  nay_status (*scan)(key_cursor *c, uint64_t *word);
  nay_status (*write)(key_cursor *c, key_sink *sink);
  bool may_be_empty;
  key_order order;
} key_parser;

/* Above 2^63 - 1 an integer is that of x - 2^64, which has another place in the order. */
static nay_status key_scan_signed(key_cursor *c, uint64_t *word) {
  uint64_t value;
  bool negative = nay__key_peek(c) == '-';
  NAY_TRY(nay__key_scan_int(c, &value));
  if (!negative && value >> 63 != 0) {
    return nay__key_fail_at(c, 0, "an integer above 2^63 - 1 among keys in their order");
  }
  *word = value;
  return NAY_OK;
}

static const key_parser key_parsers[] = {
    [NAY_KEY_TEXT] = {"text", NULL, nay__key_write_text, true, KEY_NO_ORDER},
    [NAY_KEY_INT] = {"int", nay__key_scan_int, NULL, false, KEY_NO_ORDER},
    [NAY_KEY_FLOAT] = {"float", nay__key_scan_float, NULL, false, KEY_NO_ORDER},
    [NAY_KEY_BOOL] = {"bool", nay__key_scan_bool, NULL, false, KEY_NO_ORDER},
    [NAY_KEY_DATE] = {"date", nay__key_scan_date, NULL, false, KEY_NO_ORDER},
    [NAY_KEY_TIMESTAMP] = {"timestamp", nay__key_scan_timestamp, NULL, false, KEY_NO_ORDER},
    [NAY_KEY_UUID] = {"uuid", NULL, nay__key_write_uuid, false, KEY_NO_ORDER},
    [NAY_KEY_NUMERIC] = {"numeric", NULL, nay__key_write_numeric, false, KEY_NO_ORDER},
    [NAY_KEY_HEX] = {"hex", NULL, nay__key_write_hex, true, KEY_NO_ORDER},
    [NAY_KEY_B64] = {"b64", NULL, nay__key_write_b64, true, KEY_NO_ORDER},
    [NAY_KEY_ORDERED_INT] = {"ordered-int", key_scan_signed, NULL, false, KEY_SIGNED},
    [NAY_KEY_ORDERED_FLOAT] = {"ordered-float", nay__key_scan_float, NULL, false, KEY_FLOATING},
    [NAY_KEY_ORDERED_DATE] = {"ordered-date", nay__key_scan_date, NULL, false, KEY_SIGNED},
    [NAY_KEY_ORDERED_TIMESTAMP] = {"ordered-timestamp", nay__key_scan_timestamp, NULL, false,
                                   KEY_SIGNED},
};
#define KEY_NTYPES (sizeof key_parsers / sizeof key_parsers[0])

const char *nay_key_type_name(nay_key_type type) {
  return (unsigned)type < KEY_NTYPES ? key_parsers[type].name : NULL;
}

nay_status nay__key_type_parse(const char *name, nay_key_type *type) {
  if (name != NULL && strcmp(name, "bytes") == 0) name = "text";
  for (size_t i = 0; name != NULL && i < KEY_NTYPES; i++) {
    if (strcmp(name, key_parsers[i].name) != 0) continue;
    *type = (nay_key_type)i;
    return NAY_OK;
  }
  return NAY_EINVAL;
}

/* ---- values ---- */

void nay_key_int(int64_t value, uint8_t key[8]) { nay__store64le(key, (uint64_t)value); }

void nay_key_float(double value, uint8_t key[8]) {
  uint64_t bits;
  _Static_assert(sizeof bits == sizeof value, "double is binary64");
  memcpy(&bits, &value, sizeof bits);
  nay__store64le(key, nay__key_float_bits(bits));
}

/* ---- text ---- */

nay_status nay__key_scan_int(key_cursor *c, uint64_t *word) {
  bool negative = nay__key_take_sign(c);
  unsigned base = nay__key_take_prefix(c, "0x") ? 16 : 10;
  uint64_t value = 0, limit = negative ? UINT64_C(1) << 63 : UINT64_MAX;
  if (c->at == c->len) return nay__key_fail(c, "an integer without digits");
  for (; c->at < c->len; c->at++) {
    int digit = nay__key_hex_digit(c->text[c->at]);
    if (digit < 0 || (unsigned)digit >= base) {
      return nay__key_fail(c, base == 10 ? "not a decimal digit" : "not a hexadecimal digit");
    }
    if (value > (limit - (unsigned)digit) / base) {
      return nay__key_fail(c, "an integer below -2^63 or above 2^64 - 1");
    }
    value = value * base + (unsigned)digit;
  }
  *word = negative ? 0 - value : value;
  return NAY_OK;
}

nay_status nay__key_scan_bool(key_cursor *c, uint64_t *word) {
  static const char *const words[] = {"false", "true", "f", "t", "0", "1"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (!nay__key_take_rest(c, words[i])) continue;
    *word = i % 2;
    return NAY_OK;
  }
  return nay__key_fail(c, "a bool is true, false, t, f, 1 or 0");
}

static nay_status key_fixed(const key_parser *parser, key_cursor *c, uint8_t *out, size_t cap,
                            size_t *key_len) {
  uint64_t word;
  NAY_TRY(parser->scan(c, &word));
  if (out != NULL && cap < sizeof word) {
    return nay__fail(c->diag, NAY_EBUFFER, "the key has 8 bytes", 0);
  }
  const uint64_t sign = (uint64_t)1 << 63;
  if (parser->order != KEY_NO_ORDER) { /* big-endian; of negative doubles all bits are inverted */
    bool inverted = parser->order == KEY_FLOATING && (word & sign) != 0;
    word = nay__swap64(inverted ? ~word : word ^ sign);
  }
  if (out != NULL) nay__store64le(out, word);
  *key_len = sizeof word;
  return NAY_OK;
}

/* Runs the parser twice: to measure, then to write into a buffer that is large enough. */
static nay_status key_written(const key_parser *parser, uint64_t transformations, key_cursor *c,
                              uint8_t *out, size_t cap, size_t *key_len) {
  key_sink sink = {.transformations = transformations};
  NAY_TRY(parser->write(c, &sink));
  size_t len = transformations != 0 ? sink.end : sink.len;
  if (out != NULL) {
    if (len > cap) {
      return nay__fail(c->diag, NAY_EBUFFER, "the key is longer than the buffer", 0);
    }
    sink = (key_sink){.out = out, .transformations = transformations, .most = len};
    c->at = 0;
    NAY_TRY(parser->write(c, &sink));
  }
  *key_len = len;
  return NAY_OK;
}

nay_status nay__key_parse_as(nay_key_type type, uint64_t transformations, const char *text,
                             size_t len, nay_diag *diag, uint8_t *out, size_t cap,
                             size_t *key_len) {
  if ((unsigned)type >= KEY_NTYPES) return nay__fail(diag, NAY_EINVAL, "no such type of key", 0);
  if (text == NULL && len != 0) return nay__fail(diag, NAY_EINVAL, "the text is NULL", 0);
  if (key_len == NULL) return nay__fail(diag, NAY_EINVAL, "written is NULL", 0);
  const key_parser *parser = &key_parsers[type];
  key_cursor c = {.text = (const uint8_t *)text, .len = len, .diag = diag};
  if (len == 0 && !parser->may_be_empty) return nay__key_fail(&c, "an empty text has no value");
  if (parser->scan != NULL) return key_fixed(parser, &c, out, cap, key_len);
  return key_written(parser, transformations, &c, out, cap, key_len);
}

nay_status nay_key_parse(nay_key_type type, const char *text, size_t len, nay_diag *diag,
                         uint8_t *out, size_t cap, size_t *key_len) {
  return nay__key_parse_as(type, 0, text, len, diag, out, cap, key_len);
}
