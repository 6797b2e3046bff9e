/*
 * key_transform.c - transformations of texts, and nay_key_convert, which applies those of a
 * description before a type reads the text.
 */
#include "base/bits.h"
#include "key/key_text.h"
#include "nay_key.h"

/* key_trim: the length without white space at both ends; *start is its first byte. */
static size_t key_trim(const char *text, size_t len, size_t *start) {
  size_t from = 0;
  while (from < len && nay__key_is_space((uint8_t)text[from])) from++;
  while (len > from && nay__key_is_space((uint8_t)text[len - 1])) len--;
  *start = from;
  return len - from;
}

/* A key of type text, of a text that is trimmed already. */
static nay_status transform_text(uint64_t transformations, const char *text, size_t len,
                                 nay_diag *diag, uint8_t *dst, size_t cap, size_t *written) {
  if (written == NULL) return nay__fail(diag, NAY_EINVAL, "written is NULL", 0);
  if (dst != NULL) {
    if (len > cap) return nay__fail(diag, NAY_EBUFFER, "the key is longer than the buffer", 0);
    if ((transformations & NAY_KEY_ASCII_LOWER) != 0) {
      for (size_t i = 0; i < len; i++) dst[i] = (uint8_t)nay__key_lower((uint8_t)text[i]);
    } else if (len != 0) {
      memcpy(dst, text, len);
    }
  }
  *written = len;
  return NAY_OK;
}

nay_status nay_key_convert(const nay_key_description *description, const char *text, size_t len,
                           nay_diag *diag, uint8_t *dst, size_t cap, size_t *written) {
  if (description == NULL) return nay__fail(diag, NAY_EINVAL, "description is NULL", 0);
  uint64_t known = NAY_KEY_TRIM | NAY_KEY_ASCII_LOWER, bits = description->transformations;
  if ((bits & ~known) != 0 || nay__popcount64(bits) != description->ntransformations) {
    return nay__fail(diag, NAY_EVERSION, "a transformation of keys that this library does not know",
                     0);
  }
  nay_key_type type = description->type;
  if (bits == 0) return nay_key_parse(type, text, len, diag, dst, cap, written);
  if (text == NULL && len != 0) return nay__fail(diag, NAY_EINVAL, "the text is NULL", 0);
  size_t start = 0;
  if ((bits & NAY_KEY_TRIM) != 0) len = key_trim(text, len, &start);
  if (len != 0) text += start;
  if (type == NAY_KEY_TEXT) return transform_text(bits, text, len, diag, dst, cap, written);
  bool notation = type == NAY_KEY_HEX || type == NAY_KEY_B64;
  nay_diag why = {.what = NULL};
  nay_status status =
      nay__key_parse_as(type, notation ? bits : 0, text, len, &why, dst, cap, written);
  if (status != NAY_OK) return nay__fail(diag, status, why.what, why.offset + start);
  return NAY_OK;
}
