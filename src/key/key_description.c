/*
 * key_description.c - key descriptions: the grammar of nay_key.h, canonical forms, conversion.
 *
 * Descriptions are compared as bytes, also those that name what this library does not know. So
 * every description has one canonical form: the grammar allows no other spelling of an argument,
 * and a notation (bytes, hex, b64) is replaced by the type that it is a notation of.
 */
#include "key/key_description.h"

#include "base/abi.h"
#include "key/key_text.h"

#define DESCRIPTION_ABI NAY_ABI(nay_key_description, reserved)

/* ---- grammar ---- */

static bool description_is_letter(int byte) { return byte >= 'a' && byte <= 'z'; }

static nay_status description_take_name(key_cursor *c) {
  if (!description_is_letter(nay__key_peek(c))) {
    return nay__key_fail(c, "a name in a key description starts with a letter from a to z");
  }
  do c->at++;
  while (description_is_letter(nay__key_peek(c)) || nay__key_is_digit(nay__key_peek(c)) ||
         nay__key_peek(c) == '-');
  return NAY_OK;
}

/* Bytes that stand for themselves in an argument. */
static bool description_is_plain(int byte) {
  return byte > ' ' && byte < 0x7f && byte != ',' && byte != ':' && byte != '%';
}

static int description_hex(int byte) {
  return byte >= 'a' && byte <= 'f' ? -1 : nay__key_hex_digit(byte);
}

/* %XX in upper case, and only for bytes that are not plain: an argument has one spelling. */
static nay_status description_take_escape(key_cursor *c) {
  int high = c->len - c->at > 2 ? description_hex(c->text[c->at + 1]) : -1;
  int low = high >= 0 ? description_hex(c->text[c->at + 2]) : -1;
  if (low < 0 || description_is_plain(16 * high + low)) {
    return nay__key_fail(c,
                         "%XX in a key description is two upper-case digits of a byte that "
                         "cannot stand for itself");
  }
  c->at += 3;
  return NAY_OK;
}

static nay_status description_take_argument(key_cursor *c) {
  for (;;) {
    if (description_is_plain(nay__key_peek(c))) {
      c->at++;
    } else if (nay__key_peek(c) == '%') {
      NAY_TRY(description_take_escape(c));
    } else {
      return NAY_OK;
    }
  }
}

/* The whole text; *type_len is the length of the type, *n the number of transformations. */
static nay_status description_scan(const char *text, size_t len, nay_diag *diag, size_t *type_len,
                                   uint32_t *n) {
  key_cursor c = {.text = (const uint8_t *)text, .len = len, .diag = diag};
  *n = 0;
  NAY_TRY(description_take_name(&c));
  *type_len = c.at;
  while (nay__key_take(&c, ',')) {
    ++*n;
    NAY_TRY(description_take_name(&c));
    while (nay__key_take(&c, ':')) NAY_TRY(description_take_argument(&c));
  }
  if (c.at != len) return nay__key_fail(&c, "a character that no key description has here");
  return NAY_OK;
}

/* ---- canonical forms ---- */

/* The name in files of a type: that of text for its notations. */
static const char *description_type_name(nay_key_type type) {
  bool notation = type == NAY_KEY_HEX || type == NAY_KEY_B64;
  return nay_key_type_name(notation ? NAY_KEY_TEXT : type);
}

/* The type of this name; false when it is not known. */
static bool description_type(const char *text, size_t len, nay_key_type *type) {
  nay_key_text name;
  if (len >= sizeof name) return false;
  memcpy(name, text, len);
  name[len] = '\0';
  return nay__key_type_parse(name, type) == NAY_OK;
}

typedef struct description_name {
  const char *name;
  nay_key_transformation bit;
} description_name;

/* In the order in which files state them. */
static const description_name description_names[] = {{"trim", NAY_KEY_TRIM},
                                                     {"ascii-lower", NAY_KEY_ASCII_LOWER}};
#define DESCRIPTION_NAMES (sizeof description_names / sizeof description_names[0])

static uint64_t description_bit(const char *name, size_t len) {
  for (size_t i = 0; i < DESCRIPTION_NAMES; i++) {
    const char *is = description_names[i].name;
    if (strlen(is) == len && memcmp(is, name, len) == 0) return description_names[i].bit;
  }
  return 0;
}

/* The bits of ",name,name"; *unknown is the offset of the first one that is not known, or len. */
static uint64_t description_bits(const char *text, size_t len, size_t *unknown) {
  uint64_t bits = 0;
  *unknown = len;
  for (size_t at = 0; at < len;) {
    const char *comma = memchr(text + at + 1, ',', len - at - 1);
    size_t next = comma != NULL ? (size_t)(comma - text) : len;
    uint64_t bit = description_bit(text + at + 1, next - at - 1);
    if (bit == 0 && *unknown == len) *unknown = at + 1;
    bits |= bit;
    at = next;
  }
  return bits;
}

/* Transformations that are all known have one spelling; others stay as they are. */
static size_t description_spell(const char *text, size_t len, nay_key_text spelled) {
  size_t unknown, used = 0;
  uint64_t bits = description_bits(text, len, &unknown);
  if (unknown != len) {
    memcpy(spelled, text, len);
    return len;
  }
  for (size_t i = 0; i < DESCRIPTION_NAMES; i++) {
    size_t n = strlen(description_names[i].name);
    if ((bits & description_names[i].bit) == 0) continue;
    spelled[used] = ',';
    memcpy(spelled + used + 1, description_names[i].name, n);
    used += n + 1;
  }
  return used;
}

nay_status nay__key_canonical(const char *text, size_t len, nay_diag *diag,
                              nay_key_text canonical) {
  size_t type_len;
  uint32_t n;
  nay_key_type type;
  NAY_TRY(description_scan(text, len, diag, &type_len, &n));
  const char *name = text;
  size_t name_len = type_len;
  if (description_type(text, type_len, &type)) {
    name = description_type_name(type);
    name_len = strlen(name);
  }
  if (n == 0 && name_len == 4 && memcmp(name, "text", 4) == 0) name_len = 0;
  if (name_len + (len - type_len) > NAY_KEY_DESCRIPTION_MAX) {
    return nay__fail(diag, NAY_EINVAL, "a key description has at most 63 bytes", len);
  }
  nay_key_text made = "", spelled = "";
  size_t spelled_len = description_spell(text + type_len, len - type_len, spelled);
  memcpy(made, name, name_len);
  memcpy(made + name_len, spelled, spelled_len);
  memcpy(canonical, made, sizeof made);
  return NAY_OK;
}

bool nay__key_stored(const uint8_t *bytes, size_t len, nay_key_text stored) {
  nay_key_text canonical;
  if (len == 0 || len > NAY_KEY_DESCRIPTION_MAX) return false;
  if (nay__key_canonical((const char *)bytes, len, NULL, canonical) != NAY_OK) return false;
  if (strlen(canonical) != len || memcmp(canonical, bytes, len) != 0) return false;
  memcpy(stored, canonical, sizeof canonical);
  return true;
}

/* ---- public ---- */

nay_status nay_key_description_canonical(const char *text, size_t len, nay_diag *diag,
                                         char canonical[NAY_KEY_DESCRIPTION_MAX + 1]) {
  nay_key_text made;
  if (text == NULL || canonical == NULL) {
    return nay__fail(diag, NAY_EINVAL, "text or canonical is NULL", 0);
  }
  NAY_TRY(nay__key_canonical(text, len, diag, made));
  const char *shown = nay__key_shown(made);
  memcpy(canonical, shown, strlen(shown) + 1);
  return NAY_OK;
}

bool nay_key_description_same(const char *a, const char *b) {
  nay_key_text x, y;
  return a != NULL && b != NULL && nay__key_canonical(a, strlen(a), NULL, x) == NAY_OK &&
         nay__key_canonical(b, strlen(b), NULL, y) == NAY_OK && nay__key_same(x, y);
}

nay_status nay_key_description_parse(const char *text, nay_diag *diag,
                                     nay_key_description *description) {
  if (text == NULL || description == NULL) {
    return nay__fail(diag, NAY_EINVAL, "text or description is NULL", 0);
  }
  NAY_TRY(nay__abi_check(DESCRIPTION_ABI, description, diag));
  nay_key_text canonical;
  size_t len = strlen(text), type_len;
  nay_key_description d = {.size = sizeof d, .type = NAY_KEY_TEXT};
  NAY_TRY(nay__key_canonical(text, len, diag, canonical));
  NAY_TRY(description_scan(text, len, diag, &type_len, &d.ntransformations));
  if (!description_type(text, type_len, &d.type)) {
    return nay__fail(diag, NAY_EVERSION, "a type of keys that this library does not know", 0);
  }
  size_t unknown;
  d.transformations = description_bits(text + type_len, len - type_len, &unknown);
  if (type_len + unknown != len) {
    return nay__fail(diag, NAY_EVERSION, "a transformation of keys that this library does not know",
                     type_len + unknown);
  }
  d.ntransformations = (uint32_t)__builtin_popcountll(d.transformations);
  nay__abi_write(DESCRIPTION_ABI, &d, description);
  return NAY_OK;
}
