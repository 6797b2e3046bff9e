/* file_log.c - nay_file.h: whole files and appends, for logs. */
#define _GNU_SOURCE 1 /* POSIX 2008 */
#ifndef __LP64__
#define _FILE_OFFSET_BITS 64
#endif

#include <errno.h>
#include <unistd.h>

#include "nay_file.h"
#include "os/file.h"
#include "os/place.h"

nay_status nay_file_append(int fd, const void *bytes, size_t len, bool sync, uint64_t *length,
                           nay_diag *diag) {
  if (length == NULL || (bytes == NULL && len != 0)) {
    return nay__fail(diag, NAY_EINVAL, "bytes or length is NULL", 0);
  }
  nay_status status = nay__file_write(fd, bytes, len, diag);
  if (status == NAY_OK && sync && fdatasync(fd) != 0) {
    status = nay__os_fail(diag, "cannot sync the file");
  }
  if (status == NAY_OK) *length += len;
  if (status == NAY_OK || len == 0) return status;
  int error = errno;
  if (ftruncate(fd, (off_t)*length) == 0) return status;
  errno = error;
  return nay__os_fail(diag, "cannot write the file, nor cut it back");
}

typedef struct log_bytes {
  const void *at;
  size_t len;
} log_bytes;

static nay_status log_produce(void *ctx, nay_sink sink, void *sink_ctx) {
  const log_bytes *b = ctx;
  return b->len != 0 ? sink(sink_ctx, b->at, b->len) : NAY_OK;
}

nay_status nay_file_write(const char *path, uint32_t flags, const void *bytes, size_t len,
                          nay_diag *diag) {
  log_bytes b = {bytes, len};
  if (bytes == NULL && len != 0) return nay__fail(diag, NAY_EINVAL, "bytes is NULL", 0);
  return nay_file_replace(path, flags, log_produce, &b, diag);
}

static nay_status log_read_all(int fd, size_t size, const nay_allocator *a, nay_diag *diag,
                               void **bytes) {
  uint8_t *at = nay__alloc(a, size + 1);
  if (at == NULL) return nay__fail(diag, NAY_ENOMEM, "no memory for the file", 0);
  nay_status status = nay__file_pread(fd, 0, at, size, diag);
  if (status != NAY_OK) {
    nay__free(a, at, size + 1);
    return status;
  }
  at[size] = 0;
  *bytes = at;
  return NAY_OK;
}

nay_status nay_file_read(const char *path, size_t max_len, const nay_allocator *allocator,
                         nay_diag *diag, void **bytes, size_t *len) {
  nay_allocator a;
  int fd = -1;
  size_t size = 0;
  if (path == NULL || bytes == NULL || len == NULL) {
    return nay__fail(diag, NAY_EINVAL, "path, bytes or len is NULL", 0);
  }
  NAY_TRY(nay__allocator_read(allocator, diag, &a));
  NAY_TRY(nay__file_open(path, diag, &fd, &size));
  nay_status status =
      size <= max_len && size < SIZE_MAX
          ? log_read_all(fd, size, &a, diag, bytes)
          : nay__fail(diag, NAY_EFULL, "the file has more than max_len bytes", size);
  nay__os_close(fd);
  if (status == NAY_OK) *len = size;
  return status;
}
