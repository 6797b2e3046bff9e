/*
 * map_bytes.c - static maps as bytes: encode, decode, view. The file is that of a filter with
 * another kind (doc/formats/nay.md), so the filter's code writes and checks it.
 */
#include "format/native.h"
#include "map_handle.h"

size_t nay_map_encoded_size(const nay_map *map) {
  return map == NULL ? 0 : nay_filter_encoded_size(nay__map_filter(map));
}

nay_status nay_map_encode(const nay_map *map, void *dst, size_t cap, size_t *written) {
  return map == NULL ? NAY_EINVAL : nay_filter_encode(nay__map_filter(map), dst, cap, written);
}

nay_status nay_map_encode_stream(const nay_map *map, nay_sink sink, void *ctx) {
  return map == NULL ? NAY_EINVAL : nay_filter_encode_stream(nay__map_filter(map), sink, ctx);
}

nay_status nay_map_decode(const void *bytes, size_t len, const nay_allocator *allocator,
                          nay_diag *diag, nay_map **map) {
  if (map == NULL || (bytes == NULL && len != 0)) {
    return nay__fail(diag, NAY_EINVAL, "bytes or map is NULL", 0);
  }
  nay_filter parsed = {.family = &nay__family_map, .flags = NAY_IS_READ_ONLY}, *copy;
  NAY_TRY(nay__native_parse((uint8_t *)(uintptr_t)bytes, len, NAY_VERIFY_ALL, diag, &parsed));
  nay_status status = nay_filter_copy(&parsed, allocator, &copy);
  if (status != NAY_OK) return nay__fail(diag, status, "no memory for the map", 0);
  *map = nay__map_of(copy);
  return NAY_OK;
}

_Static_assert(sizeof(nay_map) <= sizeof(nay_map_view), "nay_map_view is too small for a map");
_Static_assert(sizeof(nay_map) == sizeof(nay_filter), "nay_filter_free releases maps");

nay_status nay_map_view_open(const void *bytes, size_t len, const uint8_t *key, nay_diag *diag,
                             nay_map_view *view) {
  if (view == NULL || (bytes == NULL && len != 0)) {
    return nay__fail(diag, NAY_EINVAL, "bytes or view is NULL", 0);
  }
  nay_filter parsed = {.family = &nay__family_map, .flags = NAY_IS_READ_ONLY};
  NAY_TRY(nay__native_parse((uint8_t *)(uintptr_t)bytes, len, NAY_VERIFY_ALL, diag, &parsed));
  if (key != NULL && nay__hasher_unlock(&parsed.hasher, key) != NAY_OK) {
    return nay__fail(diag, NAY_EKEY, "the key does not fit its check value", NAY_AT_SEED);
  }
  memcpy(view, &parsed, sizeof parsed);
  return NAY_OK;
}

const nay_map *nay_map_view_map(const nay_map_view *view) {
  return (const nay_map *)(const void *)view;
}
