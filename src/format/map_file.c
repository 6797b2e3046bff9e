/* map_file.c - static maps on disk: save, open, mmap. */
#include "format/native.h"
#include "map_handle.h"

nay_status nay_map_save(const nay_map *map, const char *path, nay_diag *diag) {
  if (map == NULL) return nay__fail(diag, NAY_EINVAL, "map is NULL", 0);
  return nay_filter_save(nay__map_filter(map), path, diag);
}

nay_status nay_map_open(const char *path, const nay_allocator *allocator, nay_diag *diag,
                        nay_map **map) {
  nay_filter *f;
  if (path == NULL || map == NULL) return nay__fail(diag, NAY_EINVAL, "path or map is NULL", 0);
  NAY_TRY(nay__native_open(path, &nay__family_map, allocator, diag, &f));
  *map = nay__map_of(f);
  return NAY_OK;
}

nay_status nay_map_mmap(const char *path, unsigned flags, const nay_allocator *allocator,
                        nay_diag *diag, nay_map **map) {
  nay_filter *f;
  if (path == NULL || map == NULL) return nay__fail(diag, NAY_EINVAL, "path or map is NULL", 0);
  NAY_TRY(nay__native_mmap(path, flags, &nay__family_map, allocator, diag, &f));
  *map = nay__map_of(f);
  return NAY_OK;
}
