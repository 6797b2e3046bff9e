/*
 * builtin_comparators.c - the built-in comparators.
 *
 *   rocksdb.ReverseBytewiseComparator   bytewise, descending
 *   nay.decimal                         numbers by value, then other keys bytewise:
 *                                       7 < 07 < 12 < 100 < "" < 1x < x
 *   nay.prefix.<n>                      the first n bytes ascending, the rest of the key descending
 *
 * Each is a total order in which only identical bytes are equal, so filters work with all of them.
 * Tables store the name, and nay_sst_comparator_find finds the comparator by it.
 */
#include "block/key_order.h"
#include "block/prefix.h"
#include "struct_sizes.h"

#define COMPARATOR_REVERSE "rocksdb.ReverseBytewiseComparator"
#define COMPARATOR_DECIMAL "nay.decimal"
#define COMPARATOR_PREFIX "nay.prefix."

static int reverse_compare(void *ctx, const void *a, size_t a_len, const void *b, size_t b_len) {
  (void)ctx;
  return nay_sst__compare_bytes(b, b_len, a, a_len);
}

/* Whether a key is a decimal number. Sets *zeros to the number of its leading zeros. */
static bool decimal_is_number(const uint8_t *key, size_t len, size_t *zeros) {
  size_t z = 0;
  for (size_t i = 0; i < len; i++) {
    if (key[i] < '0' || key[i] > '9') return false;
    z += z == i && key[i] == '0';
  }
  *zeros = z;
  return len != 0;
}

static int decimal_compare(void *ctx, const void *a, size_t a_len, const void *b, size_t b_len) {
  size_t a_zeros = 0, b_zeros = 0;
  bool a_number = decimal_is_number(a, a_len, &a_zeros);
  bool b_number = decimal_is_number(b, b_len, &b_zeros);
  (void)ctx;
  if (a_number != b_number) return a_number ? -1 : 1;
  if (!a_number) return nay_sst__compare_bytes(a, a_len, b, b_len);
  size_t a_digits = a_len - a_zeros, b_digits = b_len - b_zeros;
  if (a_digits != b_digits) return a_digits < b_digits ? -1 : 1;
  int order = memcmp((const uint8_t *)a + a_zeros, (const uint8_t *)b + b_zeros, a_digits);
  return order != 0 ? order : (a_len > b_len) - (a_len < b_len);
}

static int prefix_compare(void *ctx, const void *a, size_t a_len, const void *b, size_t b_len) {
  const uint8_t *p = a, *q = b;
  size_t n = (size_t)(uintptr_t)ctx, head_a = a_len < n ? a_len : n, head_b = b_len < n ? b_len : n;
  int order = nay_sst__compare_bytes(p, head_a, q, head_b);
  if (order != 0) return order;
  return nay_sst__compare_bytes(q + head_b, b_len - head_b, p + head_a, a_len - head_a);
}

static nay_status comparator_make(const nay_sst_comparator *made, const char *name,
                                  nay_sst_comparator *comparator) {
  nay_sst_comparator c = *made;
  if (comparator == NULL) return NAY_EINVAL;
  NAY_TRY(nay__abi_check(NAY_ABI_COMPARATOR, comparator, NULL));
  if (name != NULL) memcpy(c.name, name, strlen(name) + 1);
  nay__abi_write(NAY_ABI_COMPARATOR, &c, comparator);
  return NAY_OK;
}

static nay_status comparator_prefix(size_t len, nay_sst_comparator *comparator) {
  nay_sst_comparator made = {
      .compare = prefix_compare, .prefixes_contiguous = true, .ctx = (void *)(uintptr_t)len};
  nay_sst__name_number(made.name, COMPARATOR_PREFIX, len);
  return comparator_make(&made, NULL, comparator);
}

nay_status nay_sst_comparator_find(const char *name, nay_sst_comparator *comparator) {
  size_t n;
  if (name == NULL || comparator == NULL) return NAY_EINVAL;
  if (strcmp(name, COMPARATOR_REVERSE) == 0) {
    nay_sst_comparator made = {.compare = reverse_compare, .prefixes_contiguous = true};
    return comparator_make(&made, COMPARATOR_REVERSE, comparator);
  }
  if (strcmp(name, COMPARATOR_DECIMAL) == 0) {
    nay_sst_comparator made = {.compare = decimal_compare};
    return comparator_make(&made, COMPARATOR_DECIMAL, comparator);
  }
  if (!nay_sst__number_of_name(name, COMPARATOR_PREFIX, UINT16_MAX, &n) || n == 0)
    return NAY_EINVAL;
  return comparator_prefix(n, comparator);
}

int nay_sst_compare(const nay_sst_comparator *comparator, const void *a, size_t a_len,
                    const void *b, size_t b_len) {
  return nay_sst__compare_users((nay_order){comparator, false}, a, a_len, b, b_len);
}
