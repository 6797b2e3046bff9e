/* abi.c - see abi.h. The size is read by memcpy: it is all that is known of the object yet. */
#include "base/abi.h"

static size_t abi_size(const void *object) {
  size_t size;
  memcpy(&size, object, sizeof size);
  return size;
}

nay_status nay__abi_check(const nay_abi *abi, const void *object, nay_diag *diag) {
  size_t size = abi_size(object);
  if (size < abi->first || size > NAY_ABI_MAX) {
    return nay__fail(diag, NAY_EINVAL, abi->bad_size, 0);
  }
  return NAY_OK;
}

nay_status nay__abi_check_input(const nay_abi *abi, const void *object, nay_diag *diag) {
  NAY_TRY(nay__abi_check(abi, object, diag));
  const uint8_t *bytes = object;
  for (size_t i = abi->known; i < abi_size(object); i++) {
    if (bytes[i] != 0) return nay__fail(diag, NAY_EINVAL, abi->bad_tail, 0);
  }
  return NAY_OK;
}

nay_status nay__abi_read(const nay_abi *abi, const void *from, nay_diag *diag, void *to) {
  NAY_TRY(nay__abi_check_input(abi, from, diag));
  size_t size = abi_size(from), n = size < abi->known ? size : abi->known;
  memset(to, 0, abi->known);
  memcpy(to, from, n);
  memcpy(to, &abi->known, sizeof abi->known);
  return NAY_OK;
}

void nay__abi_write(const nay_abi *abi, const void *from, void *to) {
  size_t size = abi_size(to), n = size < abi->known ? size : abi->known;
  memcpy(to, from, n);
  memcpy(to, &size, sizeof size);
  if (size > n) memset((uint8_t *)to + n, 0, size - n);
}
