/* prefix.c - the built-in prefix extractors: fixed length, up to a delimiter, RocksDB's capped
 * length. */
#include "block/prefix.h"

#include "block/block.h"
#include "struct_sizes.h"

static nay_status prefix_fixed_extract(void *ctx, const void *key, size_t len, size_t *prefix_len) {
  (void)key;
  if (len < (uintptr_t)ctx) return NAY_ENOENT;
  *prefix_len = (size_t)(uintptr_t)ctx;
  return NAY_OK;
}

/* RocksDB's CappedPrefix: a key shorter than the cap is its own prefix. */
static nay_status prefix_capped_extract(void *ctx, const void *key, size_t len,
                                        size_t *prefix_len) {
  (void)key;
  *prefix_len = len < (uintptr_t)ctx ? len : (size_t)(uintptr_t)ctx;
  return NAY_OK;
}

static nay_status prefix_delimiter_extract(void *ctx, const void *key, size_t len,
                                           size_t *prefix_len) {
  const uint8_t *at = len == 0 ? NULL : memchr(key, (int)(uintptr_t)ctx, len);
  if (at == NULL) return NAY_ENOENT;
  *prefix_len = (size_t)(at - (const uint8_t *)key) + 1;
  return NAY_OK;
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

/* prefix_kind: a family of extractors, named by a number. */
typedef struct prefix_kind {
  const char *name;
  nay_status (*extract)(void *ctx, const void *key, size_t len, size_t *prefix_len);
  size_t least, most;
} prefix_kind;

static const prefix_kind prefix_kinds[] = {
    {"nay.fixed.", prefix_fixed_extract, 1, UINT16_MAX},
    {"nay.delimiter.", prefix_delimiter_extract, 0, UINT8_MAX},
    {"rocksdb.FixedPrefix.", prefix_fixed_extract, 1, UINT16_MAX},
    {"rocksdb.CappedPrefix.", prefix_capped_extract, 1, UINT16_MAX},
};

nay_status nay_sst_prefix_find(const char *name, nay_sst_prefix *prefix) {
  if (name == NULL || prefix == NULL) return NAY_EINVAL;
  NAY_TRY(nay__abi_check(NAY_ABI_PREFIX, prefix, NULL));
  for (size_t i = 0; i < sizeof prefix_kinds / sizeof prefix_kinds[0]; i++) {
    const prefix_kind *kind = &prefix_kinds[i];
    size_t n;
    if (!nay_sst__number_of_name(name, kind->name, kind->most, &n) || n < kind->least) continue;
    nay_sst_prefix made = {.extract = kind->extract, .ctx = (void *)(uintptr_t)n};
    nay_sst__name_number(made.name, kind->name, n);
    if (strcmp(made.name, name) != 0) return NAY_EINVAL; /* leading zeros */
    nay__abi_write(NAY_ABI_PREFIX, &made, prefix);
    return NAY_OK;
  }
  return NAY_EINVAL;
}
