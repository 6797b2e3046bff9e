/* file.c - see file.h. Short writes, EINTR and partial reads are handled here and nowhere else. */
#define _POSIX_C_SOURCE 200809L
#define _DEFAULT_SOURCE 1

#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef O_CLOEXEC
#define O_CLOEXEC 0
#endif

static nay_status file_fail(nay_diag *diag, const char *what) {
  int error = errno;
  if (diag != NULL) *diag = (nay_diag){.what = what, .offset = 0, .os_error = error};
  return NAY_EIO;
}

/* ---- reading ---- */

static nay_status file_open_regular(const char *path, nay_diag *diag, int *fd, size_t *len) {
  struct stat st;
  int f;
  do f = open(path, O_RDONLY | O_CLOEXEC);
  while (f < 0 && errno == EINTR);
  if (f < 0) return file_fail(diag, "cannot open the file");
  if (fstat(f, &st) != 0) {
    nay_status status = file_fail(diag, "cannot stat the file");
    close(f);
    return status;
  }
  if (!S_ISREG(st.st_mode)) {
    close(f);
    errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
    return file_fail(diag, "not a regular file");
  }
  if (!nay__size_ok((uint64_t)st.st_size, len)) {
    close(f);
    errno = EFBIG;
    return file_fail(diag, "the file is too long for this machine");
  }
  *fd = f;
  return NAY_OK;
}

static nay_status file_read_fully(int fd, uint8_t *dst, size_t len, nay_diag *diag) {
  size_t done = 0;
  while (done < len) {
    ssize_t n = read(fd, dst + done, len - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return file_fail(diag, "cannot read the file");
    if (n == 0)
      return nay__fail(diag, NAY_ECORRUPT, "the file became shorter while it was read", done);
    done += (size_t)n;
  }
  return NAY_OK;
}

nay_status nay__file_read(const char *path, const nay_allocator *allocator, nay_diag *diag,
                          nay_memory *memory, size_t *len) {
  int fd;
  size_t size;
  nay_memory m = {NULL, NULL, 0};
  NAY_TRY(file_open_regular(path, diag, &fd, &size));
  nay_status status = nay__memory_new(allocator, size, &m);
  if (status == NAY_OK) status = file_read_fully(fd, m.at, size, diag);
  close(fd);
  if (status != NAY_OK) {
    nay__memory_free(allocator, &m);
    return status;
  }
  *memory = m;
  *len = size;
  return NAY_OK;
}

nay_status nay__file_map(const char *path, nay_diag *diag, void **mapping, size_t *len) {
  int fd;
  size_t size;
  NAY_TRY(file_open_regular(path, diag, &fd, &size));
  void *m = NULL;
  if (size != 0) m = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
  nay_status status = m == MAP_FAILED ? file_fail(diag, "cannot map the file") : NAY_OK;
  close(fd);
  if (status != NAY_OK) return status;
  *mapping = m;
  *len = size;
  return NAY_OK;
}

void nay__file_unmap(void *mapping, size_t len) {
  if (mapping != NULL) munmap(mapping, len);
}

/* ---- replacing ---- */

typedef struct file_sink {
  int fd;
  nay_diag *diag;
} file_sink;

static nay_status file_write(void *ctx, const void *bytes, size_t len) {
  const file_sink *sink = ctx;
  const uint8_t *p = bytes;
  while (len > 0) {
    ssize_t n = write(sink->fd, p, len);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return file_fail(sink->diag, "cannot write the temporary file");
    p += n;
    len -= (size_t)n;
  }
  return NAY_OK;
}

static nay_status file_sync_folder(const char *temp, nay_diag *diag) {
  char folder[PATH_MAX];
  const char *slash = strrchr(temp, '/');
  size_t len = slash == NULL ? 0 : slash == temp ? 1 : (size_t)(slash - temp);
  if (slash == NULL) {
    strcpy(folder, ".");
  } else {
    memcpy(folder, temp, len);
    folder[len] = '\0';
  }
  int fd = open(folder, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return file_fail(diag, "cannot open the folder to sync it");
  /* some file systems cannot sync a folder and say EINVAL: there is nothing more to do then */
  nay_status status = NAY_OK;
  if (fsync(fd) != 0 && errno != EINVAL) status = file_fail(diag, "cannot sync the folder");
  close(fd);
  return status;
}

/*
 * Creates "dir/.name.nay-PID-N" for "dir/name" and returns its descriptor. Not mkstemp, whose mode
 * of 0600 could only be undone by asking for the umask, which other threads would notice.
 */
static int file_create_temp(const char *path, char *temp, size_t cap) {
  const char *slash = strrchr(path, '/');
  size_t folder = slash == NULL ? 0 : (size_t)(slash - path) + 1;
  for (int attempt = 0; attempt < 1000; attempt++) {
    int n = snprintf(temp, cap, "%.*s.%s.nay-%ld-%d", (int)folder, path, path + folder,
                     (long)getpid(), attempt);
    if (n < 0 || (size_t)n >= cap) {
      errno = ENAMETOOLONG;
      return -1;
    }
    int fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 || (errno != EEXIST && errno != EINTR)) return fd;
  }
  return -1;
}

static nay_status file_finish(int fd, const char *temp, const char *path, nay_diag *diag) {
  nay_status status = NAY_OK;
  struct stat old;
  if (stat(path, &old) == 0 && fchmod(fd, old.st_mode & 07777) != 0) {
    status = file_fail(diag, "cannot give the temporary file the old one's mode");
  }
  if (status == NAY_OK && fsync(fd) != 0)
    status = file_fail(diag, "cannot sync the temporary file");
  if (close(fd) != 0 && status == NAY_OK)
    status = file_fail(diag, "cannot close the temporary file");
  if (status == NAY_OK && rename(temp, path) != 0) {
    status = file_fail(diag, "cannot rename the temporary file");
  }
  if (status != NAY_OK) unlink(temp);
  return status;
}

nay_status nay__file_replace(const char *path, nay_producer produce, const void *object,
                             nay_diag *diag) {
  char target[PATH_MAX], temp[PATH_MAX];
  if (realpath(path, target) == NULL) { /* no such file yet: the path itself */
    if (errno != ENOENT) return file_fail(diag, "cannot resolve the path");
    if (strlen(path) >= sizeof target) {
      errno = ENAMETOOLONG;
      return file_fail(diag, "the path is too long");
    }
    strcpy(target, path);
  }
  int fd = file_create_temp(target, temp, sizeof temp);
  if (fd < 0) return file_fail(diag, "cannot create a temporary file in the folder");
  file_sink sink = {fd, diag};
  nay_status status = produce(object, file_write, &sink);
  if (status != NAY_OK) {
    close(fd);
    unlink(temp);
    return status;
  }
  NAY_TRY(file_finish(fd, temp, target, diag));
  return file_sync_folder(temp, diag);
}
