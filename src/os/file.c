/* file.c - see file.h: reading. EINTR and partial reads are handled here and nowhere else. */
#define _GNU_SOURCE 1 /* POSIX 2008 */
#ifndef __LP64__
#define _FILE_OFFSET_BITS 64
#endif

#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/pages.h"
#include "os/place.h"

nay_status nay__file_length(int fd, nay_diag *diag, size_t *len) {
  struct stat st;
  if (fstat(fd, &st) != 0) return nay__os_fail(diag, "cannot stat the file");
  if (!S_ISREG(st.st_mode)) {
    errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
    return nay__os_fail(diag, "not a regular file");
  }
  if (nay__size_ok((uint64_t)st.st_size, len)) return NAY_OK;
  errno = EFBIG;
  return nay__os_fail(diag, "the file is too long for this machine");
}

static nay_status file_open_regular(const char *path, nay_diag *diag, int *fd, size_t *len) {
  /* O_NONBLOCK: do not wait for the writer of a FIFO; no effect on a regular file */
  int f = nay__os_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
  if (f < 0) return nay__os_fail(diag, "cannot open the file");
  nay_status status = nay__file_length(f, diag, len);
  if (status != NAY_OK) {
    nay__os_close(f);
    return status;
  }
  *fd = f;
  return NAY_OK;
}

/* Reads dst[from, to); dst[0] is the file's first byte. */
static nay_status file_read_range(int fd, uint8_t *dst, size_t from, size_t to, nay_diag *diag) {
  while (from < to) {
    ssize_t n = read(fd, dst + from, to - from);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return nay__os_fail(diag, "cannot read the file");
    if (n == 0) {
      return nay__fail(diag, NAY_ECORRUPT, "the file became shorter while it was read", from);
    }
    from += (size_t)n;
  }
  return NAY_OK;
}

static nay_status file_read_fd(int fd, size_t size, nay_accept accept,
                               const nay_allocator *allocator, nay_diag *diag, nay_memory *memory) {
  uint8_t start[NAY_FILE_START];
  size_t n = size < sizeof start ? size : sizeof start;
  NAY_TRY(file_read_range(fd, start, 0, n, diag));
  NAY_TRY(accept(start, size, diag));
  nay_memory m = {NULL, NULL, 0};
  if (nay__memory_new(allocator, size, &m) != NAY_OK) {
    return nay__fail(diag, NAY_ENOMEM, "no memory for the file", 0);
  }
  if (nay__allocator_is_default(allocator)) nay__pages_want_huge(m.at, size);
  memcpy(m.at, start, n);
  nay_status status = file_read_range(fd, m.at, n, size, diag);
  if (status != NAY_OK) {
    nay__memory_free(allocator, &m);
    return status;
  }
  *memory = m;
  return NAY_OK;
}

nay_status nay__file_read(const char *path, nay_accept accept, const nay_allocator *allocator,
                          nay_diag *diag, nay_memory *memory, size_t *len) {
  int fd = -1;
  size_t size = 0;
  NAY_TRY(file_open_regular(path, diag, &fd, &size));
  nay_status status = file_read_fd(fd, size, accept, allocator, diag, memory);
  nay__os_close(fd);
  if (status == NAY_OK) *len = size;
  return status;
}

nay_status nay__file_map(const char *path, nay_diag *diag, void **mapping, size_t *len) {
  int fd = -1;
  size_t size = 0;
  NAY_TRY(file_open_regular(path, diag, &fd, &size));
  void *m = NULL;
  if (size != 0) m = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
  nay_status status = m == MAP_FAILED ? nay__os_fail(diag, "cannot map the file") : NAY_OK;
  nay__os_close(fd);
  if (status != NAY_OK) return status;
  *mapping = m;
  *len = size;
  return NAY_OK;
}

void nay__file_unmap(void *mapping, size_t len) {
  if (mapping != NULL) munmap(mapping, len);
}

nay_status nay__file_open(const char *path, nay_diag *diag, int *fd, size_t *len) {
  return file_open_regular(path, diag, fd, len);
}

nay_status nay__file_pread(int fd, uint64_t at, uint8_t *dst, size_t len, nay_diag *diag) {
  while (len > 0) {
    ssize_t n = pread(fd, dst, len, (off_t)at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      nay_status status = nay__os_fail(diag, "cannot read the file");
      if (diag != NULL) diag->offset = at;
      return status;
    }
    if (n == 0) return nay__fail(diag, NAY_ECORRUPT, "the file became shorter", at);
    dst += n;
    at += (uint64_t)n;
    len -= (size_t)n;
  }
  return NAY_OK;
}

void nay__file_close(int fd) { nay__os_close(fd); }

bool nay__file_too_many(const nay_diag *diag) {
  return diag->os_error == EMFILE || diag->os_error == ENFILE;
}
