/*
 * file.c - see file.h. Short writes, EINTR and partial reads are handled here and nowhere else.
 *
 * How a file is replaced. The folder is opened first and all else happens relative to it, so that
 * whatever can fail without having written anything does.
 *
 *   open(O_TMPFILE), write, fsync     a complete file on disk that has no name yet
 *   linkat                            a name of its own: ".name.nay-PID-N"
 *   renameat                          the target's name: old file or new file, nothing between
 *   fsync(folder)                     the name is on disk as well
 *
 * A process that is killed leaves nothing behind, but for a complete ".name.nay-PID-N" when it dies
 * between linkat and renameat. Where the file system or kernel has no O_TMPFILE the file has that
 * name from the start, and a kill while it is written leaves a part of it. Such leftovers are never
 * removed by a later save: on a shared folder nobody can know that the process, perhaps of another
 * machine, is dead, and deleting the file of a live one would ruin its save. They are never opened
 * either: the name is always made with O_EXCL or linkat.
 */
#define _GNU_SOURCE 1 /* O_TMPFILE; what else is used is POSIX 2008 */
#ifndef __LP64__
#define _FILE_OFFSET_BITS 64
#endif

#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/pages.h"

#ifndef O_CLOEXEC
#define O_CLOEXEC 0
#endif

#define FILE_MAX_LINKS 40 /* as Linux: more symbolic links than this are a loop */
#define FILE_ATTEMPTS 1000

static nay_status file_fail(nay_diag *diag, const char *what) {
  int error = errno;
  if (diag != NULL) *diag = (nay_diag){.what = what, .offset = 0, .os_error = error};
  return NAY_EIO;
}

static int file_openat(int folder, const char *name, int flags, mode_t mode) {
  int fd;
  do fd = openat(folder, name, flags | O_CLOEXEC, mode);
  while (fd < 0 && errno == EINTR);
  return fd;
}

/* close without a trace in errno: for descriptors whose fate no longer matters. */
static void file_drop(int fd) {
  int error = errno;
  close(fd);
  errno = error;
}

/* ---- reading ---- */

static nay_status file_open_regular(const char *path, nay_diag *diag, int *fd, size_t *len) {
  struct stat st;
  /* not to wait for a writer, should this be a pipe; means nothing to a regular file */
  int f = file_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
  if (f < 0) return file_fail(diag, "cannot open the file");
  nay_status status = NAY_OK;
  if (fstat(f, &st) != 0) {
    status = file_fail(diag, "cannot stat the file");
  } else if (!S_ISREG(st.st_mode)) {
    errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
    status = file_fail(diag, "not a regular file");
  } else if (!nay__size_ok((uint64_t)st.st_size, len)) {
    errno = EFBIG;
    status = file_fail(diag, "the file is too long for this machine");
  }
  if (status != NAY_OK) {
    file_drop(f);
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
    if (n < 0) return file_fail(diag, "cannot read the file");
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
  int fd;
  size_t size;
  NAY_TRY(file_open_regular(path, diag, &fd, &size));
  nay_status status = file_read_fd(fd, size, accept, allocator, diag, memory);
  file_drop(fd);
  if (status == NAY_OK) *len = size;
  return status;
}

nay_status nay__file_map(const char *path, nay_diag *diag, void **mapping, size_t *len) {
  int fd;
  size_t size;
  NAY_TRY(file_open_regular(path, diag, &fd, &size));
  void *m = NULL;
  if (size != 0) m = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
  nay_status status = m == MAP_FAILED ? file_fail(diag, "cannot map the file") : NAY_OK;
  file_drop(fd);
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
      nay_status status = file_fail(diag, "cannot read the file");
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

void nay__file_close(int fd) { file_drop(fd); }

/* ---- replacing: where ---- */

/* A file that may not exist yet: its folder, open, and its name in it. */
typedef struct file_place {
  int folder;
  char name[NAME_MAX + 1];
} file_place;

/* Opens the folder of path, seen from `base`, and splits off the name. -1 and errno on failure. */
static int file_enter(int base, const char *path, char name[NAME_MAX + 1]) {
  char folder[PATH_MAX];
  const char *slash = strrchr(path, '/'), *last = slash == NULL ? path : slash + 1;
  size_t folder_len = (size_t)(last - path), name_len = strlen(last);
  if (folder_len >= sizeof folder || name_len > NAME_MAX) {
    errno = ENAMETOOLONG;
    return -1;
  }
  if (name_len == 0) {
    errno = folder_len == 0 ? ENOENT : EISDIR;
    return -1;
  }
  memcpy(folder, path, folder_len);
  folder[folder_len] = '\0';
  memcpy(name, last, name_len + 1);
  return file_openat(base, folder_len == 0 ? "." : folder, O_RDONLY | O_DIRECTORY, 0);
}

/* Follows symbolic links by hand: unlike realpath, to a target that is yet to be made. */
static nay_status file_resolve(const char *path, nay_diag *diag, file_place *place) {
  char link[PATH_MAX];
  place->folder = file_enter(AT_FDCWD, path, place->name);
  for (int hops = 0; place->folder >= 0; hops++) {
    ssize_t n = readlinkat(place->folder, place->name, link, sizeof link);
    if (n < 0 && (errno == EINVAL || errno == ENOENT)) return NAY_OK; /* no link, or nothing yet */
    int from = place->folder;
    place->folder = -1;
    if (n >= (ssize_t)sizeof link) {
      errno = ENAMETOOLONG;
    } else if (hops == FILE_MAX_LINKS) {
      errno = ELOOP;
    } else if (n >= 0) {
      link[n] = '\0';
      place->folder = file_enter(from, link, place->name);
    }
    file_drop(from);
  }
  return file_fail(diag, "cannot open the folder of the file");
}

/* What is there now, if anything: mode 0 when nothing is. */
static nay_status file_look(const file_place *place, nay_diag *diag, struct stat *old) {
  if (fstatat(place->folder, place->name, old, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno != ENOENT) return file_fail(diag, "cannot stat the file that is to be replaced");
    *old = (struct stat){.st_mode = 0};
    return NAY_OK;
  }
  if (S_ISREG(old->st_mode)) return NAY_OK;
  errno = S_ISDIR(old->st_mode) ? EISDIR : EINVAL;
  return file_fail(diag, "only a regular file can be replaced");
}

/* ---- replacing: the new file ---- */

/* The file while it is written. */
typedef struct file_temp {
  int fd;
  int folder;
  char name[NAME_MAX + 1]; /* empty: it has none yet */
  nay_diag *diag;
} file_temp;

/* ".name.nay-PID-N"; a long name is cut, it is only there for people who find the file. */
static void file_temp_name(file_temp *t, const char *name, int attempt) {
  snprintf(t->name, sizeof t->name, ".%.200s.nay-%ld-%d", name, (long)getpid(), attempt);
}

#ifdef O_TMPFILE
static void file_fd_path(int fd, char path[32]) { snprintf(path, 32, "/proc/self/fd/%d", fd); }

/* -1 when the system has no unnamed files, or no way to give one a name later. */
static int file_create_unnamed(int folder, mode_t mode) {
  char path[32];
  int fd = file_openat(folder, ".", O_WRONLY | O_TMPFILE, mode);
  if (fd < 0) return -1;
  file_fd_path(fd, path);
  if (access(path, F_OK) == 0) return fd;
  file_drop(fd);
  return -1;
}

static int file_give_name(file_temp *t, const char *name) {
  char path[32];
  file_fd_path(t->fd, path);
  for (int attempt = 0; attempt < FILE_ATTEMPTS; attempt++) {
    file_temp_name(t, name, attempt);
    if (linkat(AT_FDCWD, path, t->folder, t->name, AT_SYMLINK_FOLLOW) == 0) return 0;
    t->name[0] = '\0';
    if (errno != EEXIST) return -1;
  }
  return -1;
}
#else
static int file_create_unnamed(int folder, mode_t mode) {
  (void)folder, (void)mode;
  return -1;
}
static int file_give_name(file_temp *t, const char *name) {
  (void)t, (void)name;
  return -1;
}
#endif

/*
 * Not mkstemp, whose mode of 0600 could only be undone by asking for the umask, which other threads
 * would notice. The mode is never wider than the old file's: it may hold a secret key.
 */
static nay_status file_create(const file_place *place, mode_t mode, file_temp *t) {
  t->folder = place->folder;
  t->name[0] = '\0';
  t->fd = file_create_unnamed(place->folder, mode);
  for (int attempt = 0; t->fd < 0 && attempt < FILE_ATTEMPTS; attempt++) {
    file_temp_name(t, place->name, attempt);
    t->fd = file_openat(place->folder, t->name, O_WRONLY | O_CREAT | O_EXCL, mode);
    if (t->fd < 0 && errno != EEXIST) break;
  }
  return t->fd >= 0 ? NAY_OK : file_fail(t->diag, "cannot create a temporary file in the folder");
}

static nay_status file_write(void *ctx, const void *bytes, size_t len) {
  const file_temp *t = ctx;
  const uint8_t *p = bytes;
  while (len > 0) {
    ssize_t n = write(t->fd, p, len);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = EIO; /* POSIX has no such answer for a regular file: do not ask for ever */
    if (n <= 0) return file_fail(t->diag, "cannot write the temporary file");
    p += n;
    len -= (size_t)n;
  }
  return NAY_OK;
}

static int file_sync(int fd) {
  int result;
  do result = fsync(fd);
  while (result != 0 && errno == EINTR);
  return result;
}

/* Owner before mode: a change of owner clears bits of the mode. That only root may do it is fine.
 */
static nay_status file_inherit(const file_temp *t, const struct stat *old) {
  struct stat now;
  if (old->st_mode == 0) return NAY_OK;
  if (fstat(t->fd, &now) != 0) return file_fail(t->diag, "cannot stat the temporary file");
  if (now.st_uid != old->st_uid || now.st_gid != old->st_gid) {
    if (fchown(t->fd, old->st_uid, old->st_gid) != 0 && errno != EPERM) {
      return file_fail(t->diag, "cannot give the temporary file the old one's owner");
    }
  }
  if (fchmod(t->fd, old->st_mode & 07777) == 0) return NAY_OK;
  return file_fail(t->diag, "cannot give the temporary file the old one's mode");
}

/* Closes the temporary file and makes it the target; on failure it is as if it had never been. */
static nay_status file_finish(file_temp *t, const file_place *place, const struct stat *old) {
  nay_status status = file_inherit(t, old);
  if (status == NAY_OK && file_sync(t->fd) != 0) {
    status = file_fail(t->diag, "cannot sync the temporary file");
  }
  if (status == NAY_OK && t->name[0] == '\0' && file_give_name(t, place->name) != 0) {
    status = file_fail(t->diag, "cannot give the temporary file a name");
  }
  if (close(t->fd) != 0 && errno != EINTR && status == NAY_OK) {
    status = file_fail(t->diag, "cannot close the temporary file");
  }
  if (status == NAY_OK && renameat(t->folder, t->name, t->folder, place->name) != 0) {
    status = file_fail(t->diag, "cannot rename the temporary file");
  }
  if (status != NAY_OK && t->name[0] != '\0') unlinkat(t->folder, t->name, 0);
  return status;
}

/* ---- replacing: all of it ---- */

struct nay_replacement {
  nay_allocator allocator; /* of this object, when it is on the heap */
  file_place place;
  struct stat old;
  file_temp temp;
  bool open; /* the temporary file is there */
};

static nay_status file_begin(nay_replacement *r, const char *path, nay_diag *diag) {
  r->temp = (file_temp){.diag = diag};
  r->open = false;
  NAY_TRY(file_resolve(path, diag, &r->place));
  nay_status status = file_look(&r->place, diag, &r->old);
  if (status == NAY_OK) {
    mode_t mode = r->old.st_mode != 0 ? r->old.st_mode & 0777 : 0666;
    status = file_create(&r->place, mode, &r->temp);
  }
  r->open = status == NAY_OK;
  if (!r->open) file_drop(r->place.folder);
  return status;
}

static nay_status file_commit(nay_replacement *r) {
  r->open = false;
  nay_status status = file_finish(&r->temp, &r->place, &r->old);
  /* some file systems cannot sync a folder and say EINVAL: there is nothing more to do then */
  if (status == NAY_OK && file_sync(r->place.folder) != 0 && errno != EINVAL) {
    status = file_fail(r->temp.diag, "the file is replaced, but its folder cannot be synced");
  }
  file_drop(r->place.folder);
  return status;
}

static void file_abandon(nay_replacement *r) {
  r->open = false;
  file_drop(r->temp.fd);
  if (r->temp.name[0] != '\0') unlinkat(r->temp.folder, r->temp.name, 0);
  file_drop(r->place.folder);
}

nay_status nay__file_replace(const char *path, nay_producer produce, const void *object,
                             nay_diag *diag) {
  nay_replacement r;
  NAY_TRY(file_begin(&r, path, diag));
  nay_status status = produce(object, file_write, &r.temp);
  if (status == NAY_OK) return file_commit(&r);
  file_abandon(&r);
  return status;
}

nay_status nay__replacement_new(const char *path, const nay_allocator *allocator, nay_diag *diag,
                                nay_replacement **replacement) {
  nay_replacement *r = nay__alloc(allocator, sizeof *r);
  if (r == NULL) return nay__fail(diag, NAY_ENOMEM, "no memory to write a file", 0);
  r->allocator = *allocator;
  nay_status status = file_begin(r, path, diag);
  if (status != NAY_OK) {
    nay__free(allocator, r, sizeof *r);
    return status;
  }
  *replacement = r;
  return NAY_OK;
}

nay_status nay__replacement_write(nay_replacement *r, const void *bytes, size_t len,
                                  nay_diag *diag) {
  r->temp.diag = diag;
  return file_write(&r->temp, bytes, len);
}

nay_status nay__replacement_finish(nay_replacement *r, nay_diag *diag) {
  r->temp.diag = diag;
  return file_commit(r);
}

void nay__replacement_free(nay_replacement *r) {
  if (r == NULL) return;
  if (r->open) file_abandon(r);
  nay_allocator a = r->allocator;
  nay__free(&a, r, sizeof *r);
}
