/* spill.c - see spill.h. Without files (WebAssembly) there is no low-memory builder. */
#define _POSIX_C_SOURCE 200809L
#define _DEFAULT_SOURCE 1
#define _FILE_OFFSET_BITS 64

#include "os/spill.h"

#if !defined(__wasm__)
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "os/file.h"
#include "os/place.h"

nay_status nay__spill_open(const char *directory, nay_diag *diag, int *fd) {
  static const char what[] = "spill_dir: cannot create a temporary file in it";
  char path[PATH_MAX];
  int len =
      snprintf(path, sizeof path, "%s/nay-spill-XXXXXX", directory != NULL ? directory : "/tmp");
  if (len < 0 || (size_t)len >= sizeof path) {
    errno = ENAMETOOLONG;
    return nay__os_fail(diag, what);
  }
  int opened = mkstemp(path);
  if (opened < 0) return nay__os_fail(diag, what);
  if (unlink(path) != 0) {
    nay_status status = nay__os_fail(diag, what);
    close(opened);
    return status;
  }
  *fd = opened;
  return NAY_OK;
}

nay_status nay__spill_write(int fd, uint64_t at, const void *bytes, size_t len, nay_diag *diag) {
  const uint8_t *p = bytes;
  while (len > 0) {
    ssize_t n = pwrite(fd, p, len, (off_t)at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return nay__os_fail(diag, "cannot write the temporary file of hashes");
    p += n;
    at += (uint64_t)n;
    len -= (size_t)n;
  }
  return NAY_OK;
}

nay_status nay__spill_read(int fd, uint64_t at, void *bytes, size_t len, nay_diag *diag) {
  if (nay__file_pread(fd, at, bytes, len, NULL) == NAY_OK) return NAY_OK;
  return nay__os_fail(diag, "cannot read the temporary file of hashes");
}

void nay__spill_close(int fd) { close(fd); }

#else

nay_status nay__spill_open(const char *directory, nay_diag *diag, int *fd) {
  (void)directory, (void)fd;
  return nay__fail(diag, NAY_ENOTSUP, "flags: NAY_LOW_MEMORY needs files", 0);
}

nay_status nay__spill_write(int fd, uint64_t at, const void *bytes, size_t len, nay_diag *diag) {
  (void)fd, (void)at, (void)bytes, (void)len, (void)diag;
  return NAY_ENOTSUP;
}

nay_status nay__spill_read(int fd, uint64_t at, void *bytes, size_t len, nay_diag *diag) {
  (void)fd, (void)at, (void)bytes, (void)len, (void)diag;
  return NAY_ENOTSUP;
}

void nay__spill_close(int fd) { (void)fd; }

#endif
