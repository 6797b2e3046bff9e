/* spill.c - see spill.h. Where there are no files (the browser) there is no low-memory builder. */
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

nay_status nay__spill_open(const char *folder, int *fd) {
  char path[PATH_MAX];
  int len = snprintf(path, sizeof path, "%s/nay-spill-XXXXXX", folder != NULL ? folder : "/tmp");
  if (len < 0 || (size_t)len >= sizeof path) return NAY_EIO;
  int opened = mkstemp(path);
  if (opened < 0) return NAY_EIO;
  if (unlink(path) != 0) {
    close(opened);
    return NAY_EIO;
  }
  *fd = opened;
  return NAY_OK;
}

nay_status nay__spill_write(int fd, uint64_t at, const void *bytes, size_t len) {
  const uint8_t *p = bytes;
  while (len > 0) {
    ssize_t n = pwrite(fd, p, len, (off_t)at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return NAY_EIO;
    p += n;
    at += (uint64_t)n;
    len -= (size_t)n;
  }
  return NAY_OK;
}

nay_status nay__spill_read(int fd, uint64_t at, void *bytes, size_t len) {
  uint8_t *p = bytes;
  while (len > 0) {
    ssize_t n = pread(fd, p, len, (off_t)at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return NAY_EIO;
    p += n;
    at += (uint64_t)n;
    len -= (size_t)n;
  }
  return NAY_OK;
}

void nay__spill_close(int fd) { close(fd); }

#else

nay_status nay__spill_open(const char *folder, int *fd) {
  (void)folder, (void)fd;
  return NAY_ENOTSUP;
}

nay_status nay__spill_write(int fd, uint64_t at, const void *bytes, size_t len) {
  (void)fd, (void)at, (void)bytes, (void)len;
  return NAY_ENOTSUP;
}

nay_status nay__spill_read(int fd, uint64_t at, void *bytes, size_t len) {
  (void)fd, (void)at, (void)bytes, (void)len;
  return NAY_ENOTSUP;
}

void nay__spill_close(int fd) { (void)fd; }

#endif
