/*
 * fmt_nay.c - nay's own format: decode into memory, or view in place. native.h lists the rest.
 */
#include "base/abi.h"
#include "format/format.h"
#include "format/native.h"

nay_status nay__native_handle(const nay_allocator *allocator, uint32_t flags, nay_diag *diag,
                              nay_filter **filter) {
  nay_allocator a;
  NAY_TRY(nay__allocator_read(allocator, NULL, &a));
  nay_filter *f = nay__alloc(&a, sizeof *f);
  if (f == NULL) return nay__fail(diag, NAY_ENOMEM, "no memory for the filter", 0);
  *f = (nay_filter){.allocator = a, .flags = flags};
  *filter = f;
  return NAY_OK;
}

nay_status nay_filter_decode(const void *bytes, size_t len, const nay_allocator *allocator,
                             nay_diag *diag, nay_filter **filter) {
  if (filter == NULL || (bytes == NULL && len != 0)) {
    return nay__fail(diag, NAY_EINVAL, "bytes or filter is NULL", 0);
  }
  nay_filter parsed = {.flags = NAY_IS_READ_ONLY};
  NAY_TRY(nay__native_parse((uint8_t *)(uintptr_t)bytes, len, NAY_VERIFY_ALL, diag, &parsed));
  nay_status status = nay_filter_copy(&parsed, allocator, NULL, filter);
  return status == NAY_OK ? NAY_OK : nay__fail(diag, status, "no memory for the filter", 0);
}

_Static_assert(_Alignof(nay_filter) <= _Alignof(nay_view), "a view is not aligned for a filter");

nay_status nay__view_check(const nay_view *view, nay_diag *diag) {
  NAY_TRY(nay__abi_check(NAY_ABI(nay_view, opaque), view, diag));
  if (view->size - offsetof(nay_view, opaque) >= sizeof(nay_filter)) return NAY_OK;
  return nay__fail(diag, NAY_ENOTSUP, "the view is too small for this library", 0);
}

void nay__view_set(nay_view *view, const nay_filter *parsed) {
  memcpy(view->opaque, parsed, sizeof *parsed);
}

nay_status nay_view_open(const void *bytes, size_t len, const uint8_t *key, nay_diag *diag,
                         nay_view *view) {
  if (view == NULL || (bytes == NULL && len != 0)) {
    return nay__fail(diag, NAY_EINVAL, "bytes or view is NULL", 0);
  }
  NAY_TRY(nay__view_check(view, diag));
  nay_filter parsed = {.flags = NAY_IS_READ_ONLY};
  NAY_TRY(nay__native_parse((uint8_t *)(uintptr_t)bytes, len, NAY_VERIFY_ALL, diag, &parsed));
  if (key != NULL && nay__hasher_unlock(&parsed.hasher, key) != NAY_OK) {
    return nay__fail(diag, NAY_EKEY, "the key does not fit its check value", NAY_AT_SEED);
  }
  nay__view_set(view, &parsed);
  return NAY_OK;
}

const nay_filter *nay_view_filter(const nay_view *view) {
  return view != NULL ? (const nay_filter *)(const void *)view->opaque : NULL;
}

const nay_format nay__format_nay = {
    .name = "nay",
    .about = "the native file, every byte checksummed",
    .traits = NAY_FORMAT_MAGIC | NAY_FORMAT_CHECKSUM | NAY_FORMAT_NOTE,
    .named_wrong = "the magic number of a native file (nay), not of the layout that is named",
    .matches = nay__native_magic,
};
