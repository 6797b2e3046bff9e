/* key_bytes.c - keys that are bytes: text as it is, UUIDs, hexadecimal and base64. */
#include "key/key_text.h"

nay_status nay__key_write_text(key_cursor *c, key_sink *sink) {
  nay__key_put(sink, c->text, c->len);
  return NAY_OK;
}

/* Two hexadecimal digits. */
static nay_status bytes_hex_pair(key_cursor *c, key_sink *sink) {
  int byte = 0;
  for (unsigned i = 0; i < 2; i++, c->at++) {
    int digit = nay__key_hex_digit(nay__key_peek(c));
    if (digit < 0) {
      return nay__key_fail(c, c->at < c->len ? "not a hexadecimal digit"
                                             : "the text ends where a hexadecimal digit must be");
    }
    byte = byte << 4 | digit;
  }
  nay__key_put_byte(sink, byte);
  return NAY_OK;
}

/* 8-4-4-4-12 digits, all of the hyphens or none; in braces, or after urn:uuid:. */
nay_status nay__key_write_uuid(key_cursor *c, key_sink *sink) {
  bool braces = !nay__key_take_prefix(c, "urn:uuid:") && nay__key_take(c, '{');
  bool hyphens = false;
  for (unsigned i = 0; i < 16; i++) {
    if (i == 4) hyphens = nay__key_peek(c) == '-';
    bool between = i == 4 || i == 6 || i == 8 || i == 10;
    if (hyphens && between && !nay__key_take(c, '-')) {
      return nay__key_fail(c, "a hyphen is missing in the UUID");
    }
    NAY_TRY(bytes_hex_pair(c, sink));
  }
  if (braces && !nay__key_take(c, '}'))
    return nay__key_fail(c, "the brace of the UUID is not closed");
  if (c->at < c->len) return nay__key_fail(c, "something follows the UUID");
  return NAY_OK;
}

/* 0x as in SQL literals, \x as PostgreSQL prints a bytea. */
nay_status nay__key_write_hex(key_cursor *c, key_sink *sink) {
  if (!nay__key_take_prefix(c, "0x")) (void)nay__key_take_prefix(c, "\\x");
  while (c->at < c->len) NAY_TRY(bytes_hex_pair(c, sink));
  return NAY_OK;
}

/* ---- base64 ---- */

/* The value of a digit, of either alphabet of RFC 4648, or -1. */
static int bytes_b64_digit(uint8_t byte) {
  if (byte >= 'A' && byte <= 'Z') return byte - 'A';
  if (byte >= 'a' && byte <= 'z') return byte - 'a' + 26;
  if (byte >= '0' && byte <= '9') return byte - '0' + 52;
  if (byte == '+' || byte == '-') return 62;
  return byte == '/' || byte == '_' ? 63 : -1;
}

/* The number of digits before the padding, which is complete or absent. */
static nay_status bytes_b64_length(const key_cursor *c, size_t *ndigits) {
  size_t n = c->len;
  while (n > 0 && c->len - n < 2 && c->text[n - 1] == '=') n--;
  if (n % 4 == 1) return nay__key_fail_at(c, n, "base64 of an impossible length");
  if (n != c->len && c->len % 4 != 0) {
    return nay__key_fail_at(c, n, "the padding of the base64 text is wrong");
  }
  *ndigits = n;
  return NAY_OK;
}

nay_status nay__key_write_b64(key_cursor *c, key_sink *sink) {
  size_t ndigits;
  NAY_TRY(bytes_b64_length(c, &ndigits));
  bool plain = false, url = false;
  uint32_t bits = 0;
  for (; c->at < ndigits; c->at++) {
    uint8_t byte = c->text[c->at];
    int digit = bytes_b64_digit(byte);
    if (digit < 0) return nay__key_fail(c, "not a base64 digit");
    plain |= byte == '+' || byte == '/';
    url |= byte == '-' || byte == '_';
    if (plain && url) return nay__key_fail(c, "two base64 alphabets in one text");
    bits = bits << 6 | (uint32_t)digit;
    size_t i = c->at % 4;
    if (i != 0) nay__key_put_byte(sink, (int)(bits >> (6 - 2 * i) & 0xff));
  }
  unsigned spare = ndigits % 4 == 2 ? 0xf : ndigits % 4 == 3 ? 0x3 : 0;
  if ((bits & spare) != 0) {
    return nay__key_fail_at(c, ndigits - 1, "unused bits of the last base64 digit are not 0");
  }
  return NAY_OK;
}
