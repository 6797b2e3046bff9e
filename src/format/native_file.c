/* native_file.c - native files on disk: save, open, map. */
#include "format/native.h"
#include "nay_file.h"
#include "os/file.h"
#include "os/pages.h"

typedef struct native_saved {
  const nay_filter *filter;
} native_saved;

static nay_status native_produce(void *ctx, nay_sink sink, void *sink_ctx) {
  const native_saved *saved = ctx;
  return nay_filter_encode_stream(saved->filter, sink, sink_ctx);
}

nay_status nay_filter_save(const nay_filter *f, const char *path, nay_diag *diag) {
  if (f == NULL || path == NULL) return nay__fail(diag, NAY_EINVAL, "filter or path is NULL", 0);
  if (f->format != NULL || !nay__family_is_native(f->family)) {
    return nay__fail(diag, NAY_ENOTSUP, "another system's layout has no native file", 0);
  }
  bool keyed = f->hasher.kind == NAY_HASH_SIPHASH && (f->flags & NAY_STORE_KEY) != 0;
  native_saved saved = {f};
  nay_status status =
      nay_file_replace(path, keyed ? NAY_FILE_PRIVATE : 0, native_produce, &saved, diag);
  if (status == NAY_ECORRUPT) nay__fail(diag, status, "the mapped filter is damaged", 0);
  if (status == NAY_ENOMEM) nay__fail(diag, status, "no memory for a copy of a shared filter", 0);
  return status;
}

nay_status nay_filter_open(const char *path, const nay_allocator *allocator, nay_diag *diag,
                           nay_filter **filter) {
  nay_filter *f;
  size_t len = 0;
  if (path == NULL || filter == NULL) {
    return nay__fail(diag, NAY_EINVAL, "path or filter is NULL", 0);
  }
  NAY_TRY(nay__native_handle(allocator, 0, diag, &f));
  nay_status status =
      nay__file_read(path, nay__native_accept, &f->allocator, diag, &f->memory, &len);
  if (status == NAY_OK) status = nay__native_parse(f->memory.at, len, NAY_VERIFY_ALL, diag, f);
  if (status != NAY_OK) {
    nay_filter_free(f);
    return status;
  }
  *filter = f;
  return NAY_OK;
}

nay_status nay_filter_mmap(const char *path, uint32_t flags, const nay_allocator *allocator,
                           nay_diag *diag, nay_filter **filter) {
  if (path == NULL || filter == NULL) {
    return nay__fail(diag, NAY_EINVAL, "path or filter is NULL", 0);
  }
  if ((flags & ~NAY_MMAP_LAZY) != 0) return nay__fail(diag, NAY_EINVAL, "unknown flag", 0);
  nay_filter *f;
  NAY_TRY(nay__native_handle(allocator, NAY_IS_READ_ONLY, diag, &f));
  nay_status status = nay__file_map(path, diag, &f->mapping, &f->mapping_len);
  if (status == NAY_OK) {
    f->unmap = nay__file_unmap;
    nay_trust trust = (flags & NAY_MMAP_LAZY) != 0 ? NAY_VERIFY_AT_TOUCH : NAY_VERIFY_ALL;
    if (trust == NAY_VERIFY_AT_TOUCH) nay__pages_random(f->mapping, f->mapping_len);
    status = nay__native_parse(f->mapping, f->mapping_len, trust, diag, f);
    if (trust == NAY_VERIFY_ALL) nay__pages_random(f->mapping, f->mapping_len); /* it was read */
    if (f->lazy != NULL) f->lazy->soon = nay__pages_soon;
  }
  if (status != NAY_OK) {
    nay_filter_free(f);
    return status;
  }
  *filter = f;
  return NAY_OK;
}
