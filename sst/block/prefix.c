/* prefix.c - the built-in prefix extractors: fixed length, up to a delimiter, RocksDB's capped
 * length. */
#include "block/prefix.h"

#include "block/block.h"
#include "struct_sizes.h"

static bool prefix_fixed_extract(void *ctx, const void *key, size_t len, size_t *prefix_len) {
  (void)key;
  if (len < (uintptr_t)ctx) return false;
  *prefix_len = (size_t)(uintptr_t)ctx;
  return true;
}

/* RocksDB's CappedPrefix: a key shorter than the cap is its own prefix. */
static bool prefix_capped_extract(void *ctx, const void *key, size_t len, size_t *prefix_len) {
  (void)key;
  *prefix_len = len < (uintptr_t)ctx ? len : (size_t)(uintptr_t)ctx;
  return true;
}

static bool prefix_delimiter_extract(void *ctx, const void *key, size_t len, size_t *prefix_len) {
  const uint8_t *at = len == 0 ? NULL : memchr(key, (int)(uintptr_t)ctx, len);
  if (at == NULL) return false;
  *prefix_len = (size_t)(at - (const uint8_t *)key) + 1;
  return true;
}

void nay_sst__name_number(char *name, const char *kind, size_t number) {
  char digits[24];
  size_t n = 0, at = strlen(kind);
  do digits[n++] = (char)('0' + number % 10);
  while ((number /= 10) != 0);
  memcpy(name, kind, at);
  while (n > 0) name[at++] = digits[--n];
  name[at] = '\0';
}

nay_status nay_sst_prefix_fixed(size_t len, nay_sst_prefix *prefix) {
  if (prefix == NULL || len == 0 || len > UINT16_MAX) return NAY_EINVAL;
  NAY_TRY(nay__abi_check(NAY_ABI_PREFIX, prefix, NULL));
  nay_sst_prefix made = {.extract = prefix_fixed_extract, .ctx = (void *)(uintptr_t)len};
  nay_sst__name_number(made.name, "nay.fixed.", len);
  nay__abi_write(NAY_ABI_PREFIX, &made, prefix);
  return NAY_OK;
}

nay_status nay_sst_prefix_delimiter(uint8_t byte, nay_sst_prefix *prefix) {
  if (prefix == NULL) return NAY_EINVAL;
  NAY_TRY(nay__abi_check(NAY_ABI_PREFIX, prefix, NULL));
  nay_sst_prefix made = {.extract = prefix_delimiter_extract, .ctx = (void *)(uintptr_t)byte};
  nay_sst__name_number(made.name, "nay.delimiter.", byte);
  nay__abi_write(NAY_ABI_PREFIX, &made, prefix);
  return NAY_OK;
}

bool nay_sst__number_of_name(const char *name, const char *kind, size_t most, size_t *number) {
  nay_bytes text = {(const uint8_t *)name, strlen(name)}, digits;
  if (!nay_sst__bytes_after(text, kind, &digits) || digits.len == 0) return false;
  *number = 0;
  for (size_t i = 0; i < digits.len; i++) {
    if (digits.at[i] < '0' || digits.at[i] > '9') return false;
    *number = *number * 10 + (size_t)(digits.at[i] - '0');
    if (*number > most) return false;
  }
  return true;
}

bool nay_sst__prefix_by_name(const char *name, nay_sst_prefix *prefix) {
  size_t n;
  prefix->size = sizeof *prefix;
  if (nay_sst__number_of_name(name, "nay.delimiter.", UINT8_MAX, &n)) {
    return nay_sst_prefix_delimiter((uint8_t)n, prefix) == NAY_OK;
  }
  if (nay_sst__number_of_name(name, "nay.fixed.", UINT16_MAX, &n) ||
      nay_sst__number_of_name(name, "rocksdb.FixedPrefix.", UINT16_MAX, &n)) {
    return nay_sst_prefix_fixed(n, prefix) == NAY_OK;
  }
  if (nay_sst__number_of_name(name, "rocksdb.CappedPrefix.", UINT16_MAX, &n) && n != 0) {
    *prefix = (nay_sst_prefix){
        .size = sizeof *prefix, .extract = prefix_capped_extract, .ctx = (void *)(uintptr_t)n};
    return true;
  }
  return false;
}
