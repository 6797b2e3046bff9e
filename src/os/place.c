/* place.c - see place.h. */
#define _GNU_SOURCE 1 /* POSIX 2008 */
#ifndef __LP64__
#define _FILE_OFFSET_BITS 64
#endif

#include "os/place.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef O_CLOEXEC
#define O_CLOEXEC 0
#endif

#define PLACE_MAX_LINKS 40 /* as Linux: more symbolic links are ELOOP */

nay_status nay__os_fail(nay_diag *diag, const char *what) {
  int error = errno;
  if (diag != NULL) *diag = (nay_diag){.what = what, .offset = 0, .os_error = error};
  return NAY_EIO;
}

int nay__os_openat(int dir, const char *name, int flags, unsigned mode) {
  int fd;
  do fd = openat(dir, name, flags | O_CLOEXEC, (mode_t)mode);
  while (fd < 0 && errno == EINTR);
  return fd;
}

void nay__os_close(int fd) {
  int error = errno;
  close(fd);
  errno = error;
}

/* Opens the directory of path, relative to `base`, and splits off the name; -1 and errno. */
static int place_enter(int base, const char *path, char name[NAME_MAX + 1]) {
  char dir[PATH_MAX];
  const char *slash = strrchr(path, '/'), *last = slash == NULL ? path : slash + 1;
  size_t dir_len = (size_t)(last - path), name_len = strlen(last);
  if (dir_len >= sizeof dir || name_len > NAME_MAX) {
    errno = ENAMETOOLONG;
    return -1;
  }
  if (name_len == 0) {
    errno = dir_len == 0 ? ENOENT : EISDIR;
    return -1;
  }
  memcpy(dir, path, dir_len);
  dir[dir_len] = '\0';
  memcpy(name, last, name_len + 1);
  return nay__os_openat(base, dir_len == 0 ? "." : dir, O_RDONLY | O_DIRECTORY, 0);
}

/* Follows symbolic links itself: realpath fails for a target that does not exist yet. */
nay_status nay__place_resolve(const char *path, nay_diag *diag, nay_place *place) {
  char link[PATH_MAX];
  place->dir = place_enter(AT_FDCWD, path, place->name);
  for (int hops = 0; place->dir >= 0; hops++) {
    ssize_t n = readlinkat(place->dir, place->name, link, sizeof link);
    if (n < 0 && (errno == EINVAL || errno == ENOENT)) return NAY_OK; /* no link, or nothing yet */
    int from = place->dir;
    place->dir = -1;
    if (n >= (ssize_t)sizeof link) {
      errno = ENAMETOOLONG;
    } else if (hops == PLACE_MAX_LINKS) {
      errno = ELOOP;
    } else if (n >= 0) {
      link[n] = '\0';
      place->dir = place_enter(from, link, place->name);
    }
    nay__os_close(from);
  }
  return nay__os_fail(diag, "cannot open the directory of the file");
}
