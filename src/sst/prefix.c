/* prefix.c - the extractors that come with the library, and internal keys in parts. */
#include "nay_sst.h"
#include "sst/comparator.h"

static bool prefix_fixed_extract(const nay_prefix *self, const void *key, size_t len,
                                 size_t *prefix_len) {
  (void)key;
  if (len < self->number) return false;
  *prefix_len = (size_t)self->number;
  return true;
}

static bool prefix_delimiter_extract(const nay_prefix *self, const void *key, size_t len,
                                     size_t *prefix_len) {
  const uint8_t *at = len == 0 ? NULL : memchr(key, (int)self->number, len);
  if (at == NULL) return false;
  *prefix_len = (size_t)(at - (const uint8_t *)key) + 1;
  return true;
}

/* "nay.fixed." and the like with a number in decimal behind it. */
static void prefix_name(nay_prefix *p, const char *kind, size_t number) {
  char digits[24];
  size_t n = 0, at = strlen(kind);
  do digits[n++] = (char)('0' + number % 10);
  while ((number /= 10) != 0);
  memcpy(p->name, kind, at);
  while (n > 0) p->name[at++] = digits[--n];
  p->name[at] = '\0';
}

nay_status nay_prefix_fixed(size_t len, nay_prefix *prefix) {
  if (prefix == NULL || len == 0 || len > UINT16_MAX) return NAY_EINVAL;
  *prefix = (nay_prefix){.extract = prefix_fixed_extract, .number = len};
  prefix_name(prefix, "nay.fixed.", len);
  return NAY_OK;
}

nay_status nay_prefix_delimiter(uint8_t byte, nay_prefix *prefix) {
  if (prefix == NULL) return NAY_EINVAL;
  *prefix = (nay_prefix){.extract = prefix_delimiter_extract, .number = byte};
  prefix_name(prefix, "nay.delimiter.", byte);
  return NAY_OK;
}

nay_status nay_sst_key_split(const void *key, size_t len, nay_sst_version *version) {
  if (key == NULL || version == NULL || len < NAY_TRAILER) return NAY_EINVAL;
  uint64_t trailer = nay__load64le((const uint8_t *)key + len - NAY_TRAILER);
  if ((trailer & 0xff) > 1) return NAY_EINVAL;
  *version = (nay_sst_version){key, len - NAY_TRAILER, trailer >> 8, (trailer & 0xff) == 0};
  return NAY_OK;
}
