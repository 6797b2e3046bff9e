/* range_keys.c - see range_keys.h. */
#include "family/range_keys.h"

static bool rkeys_digits(const uint8_t *key, size_t len, nay_range_key_parts *parts) {
  size_t at = len;
  uint64_t number = 0;
  while (at > 0 && key[at - 1] >= '0' && key[at - 1] <= '9') at--;
  for (size_t i = at; i < len; i++) {
    uint64_t digit = key[i] - (uint64_t)'0';
    if (number > (UINT64_MAX - digit) / 10) return false;
    number = number * 10 + digit;
  }
  *parts = (nay_range_key_parts){at, number, (uint32_t)(len - at)};
  return at != len && len - at <= UINT32_MAX;
}

static uint64_t rkeys_big_endian(const uint8_t *p, unsigned n) {
  uint64_t x = 0;
  for (unsigned i = 0; i < n; i++) x = x << 8 | p[i];
  return x;
}

bool nay__range_split(nay_range_form form, const uint8_t *key, size_t len,
                      nay_range_key_parts *parts) {
  if (form.keys == NAY_RANGE_DECIMAL) {
    if (!rkeys_digits(key, len, parts)) return false;
  } else {
    unsigned n = form.keys == NAY_RANGE_BE4 ? 4 : 8;
    if (len < n) return false;
    *parts = (nay_range_key_parts){len - n, rkeys_big_endian(key + (len - n), n), 0};
  }
  if (parts->prefix_len > UINT32_MAX) return false;
  if (form.delimiter == 0) return true;
  return parts->prefix_len != 0 && key[parts->prefix_len - 1] == form.delimiter;
}

static uint32_t rkeys_delimiters(nay_range_form form, const uint8_t *prefix, size_t len) {
  uint32_t n = 0;
  for (size_t i = 0; form.delimiter != 0 && i < len; i++) n += prefix[i] == form.delimiter;
  return n;
}

void nay__range_forms_join(nay_range_forms *f, const nay_range_forms *more) {
  if (more->prefix_min < f->prefix_min) f->prefix_min = more->prefix_min;
  if (more->prefix_max > f->prefix_max) f->prefix_max = more->prefix_max;
  if (more->delimiters_min < f->delimiters_min) f->delimiters_min = more->delimiters_min;
  if (more->delimiters_max > f->delimiters_max) f->delimiters_max = more->delimiters_max;
  if (more->digits_min < f->digits_min) f->digits_min = more->digits_min;
  if (more->digits_max > f->digits_max) f->digits_max = more->digits_max;
}

void nay__range_forms_add(nay_range_forms *f, nay_range_form form, const uint8_t *key,
                          const nay_range_key_parts *parts) {
  uint32_t len = (uint32_t)parts->prefix_len, n = rkeys_delimiters(form, key, len);
  nay__range_forms_join(f, &(nay_range_forms){len, len, n, n, parts->digits, parts->digits});
}

/* Whether a key whose prefix begins with this one, or the other way round, has this prefix. */
static bool rkeys_one_prefix(const nay_range_forms *f, nay_range_form form, const uint8_t *prefix,
                             size_t len) {
  if (f->prefix_min > f->prefix_max) return true; /* no key is of the form */
  if (f->prefix_min == len && f->prefix_max == len) return true;
  if (form.delimiter == 0) return false;
  uint32_t n = rkeys_delimiters(form, prefix, len);
  return f->delimiters_min == n && f->delimiters_max == n;
}

bool nay__range_in_order(const nay_range_forms *f, nay_range_form form, const uint8_t *prefix,
                         size_t len) {
  if (form.keys == NAY_RANGE_DECIMAL) return true; /* not the order of bytes: nay_range.h */
  return rkeys_one_prefix(f, form, prefix, len);
}

bool nay__range_in_byte_order(const nay_range_forms *f, nay_range_form form, const uint8_t *prefix,
                              const nay_range_key_parts *lo, const nay_range_key_parts *end) {
  if (form.keys == NAY_RANGE_DECIMAL &&
      (f->digits_min != f->digits_max || lo->digits != f->digits_min ||
       end->digits != f->digits_min)) {
    return false;
  }
  return rkeys_one_prefix(f, form, prefix, lo->prefix_len);
}
