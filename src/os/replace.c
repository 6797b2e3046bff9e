/*
 * replace.c - the one implementation of replacing a file: nay_file_replace has its promise.
 *
 * The directory is opened first and all calls are relative to it, so that what can fail fails
 * before the first write.
 *
 *   open(O_TMPFILE), write, fsync     a complete file on disk that has no name yet
 *   linkat                            a name of its own: ".name.nay-PID-N"
 *   renameat                          the target's name: old file or new file, nothing between
 *   fsync(directory)                  the name is on disk as well
 *
 * A killed process leaves nothing behind, except a complete ".name.nay-PID-N" if it dies between
 * linkat and renameat. Without O_TMPFILE the file has that name from the start, and a kill while it
 * is written leaves an incomplete one. A later save never removes such leftovers: in a shared
 * directory it cannot know that the process, perhaps on another machine, is dead, and unlinking the
 * file of a live one would break its save. It never opens them either: O_EXCL or linkat creates the
 * name.
 */
#define _GNU_SOURCE 1 /* O_TMPFILE; what else is used is POSIX 2008 */
#ifndef __LP64__
#define _FILE_OFFSET_BITS 64
#endif

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nay_file.h"
#include "os/file.h"
#include "os/place.h"

#define REPLACE_ATTEMPTS 1000

/* ---- the new file ---- */

/* stat of the target; mode 0 if it does not exist. */
static nay_status replace_stat_target(const nay_place *place, nay_diag *diag, struct stat *old) {
  if (fstatat(place->dir, place->name, old, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno != ENOENT) return nay__os_fail(diag, "cannot stat the file that is to be replaced");
    *old = (struct stat){.st_mode = 0};
    return NAY_OK;
  }
  if (S_ISREG(old->st_mode)) return NAY_OK;
  errno = S_ISDIR(old->st_mode) ? EISDIR : EINVAL;
  return nay__os_fail(diag, "only a regular file can be replaced");
}

/* The temporary file. */
typedef struct replace_temp {
  int fd;
  int dir;
  char name[NAME_MAX + 1]; /* empty: it has none yet */
  bool sync;
  nay_diag *diag;
} replace_temp;

/* ".name.nay-PID-N"; a long name is truncated: it only informs whoever finds the file. */
static void replace_temp_name(replace_temp *t, const char *name, int attempt) {
  snprintf(t->name, sizeof t->name, ".%.200s.nay-%ld-%d", name, (long)getpid(), attempt);
}

#ifdef O_TMPFILE
static void replace_fd_path(int fd, char path[32]) { snprintf(path, 32, "/proc/self/fd/%d", fd); }

/* -1 where the system has no unnamed files, or cannot name one later. */
static int replace_create_unnamed(int dir, mode_t mode) {
  char path[32];
  int fd = nay__os_openat(dir, ".", O_WRONLY | O_TMPFILE, mode);
  if (fd < 0) return -1;
  replace_fd_path(fd, path);
  if (access(path, F_OK) == 0) return fd;
  nay__os_close(fd);
  return -1;
}

static int replace_give_name(replace_temp *t, const char *name) {
  char path[32];
  replace_fd_path(t->fd, path);
  for (int attempt = 0; attempt < REPLACE_ATTEMPTS; attempt++) {
    replace_temp_name(t, name, attempt);
    if (linkat(AT_FDCWD, path, t->dir, t->name, AT_SYMLINK_FOLLOW) == 0) return 0;
    t->name[0] = '\0';
    if (errno != EEXIST) return -1;
  }
  return -1;
}
#else
static int replace_create_unnamed(int dir, mode_t mode) {
  (void)dir, (void)mode;
  return -1;
}
static int replace_give_name(replace_temp *t, const char *name) {
  (void)t, (void)name;
  return -1;
}
#endif

/*
 * Not mkstemp: undoing its mode of 0600 requires the umask, and reading that changes it for all
 * threads. The mode is never wider than that of the old file, which may hold a secret key.
 */
static nay_status replace_create(const nay_place *place, mode_t mode, replace_temp *t) {
  t->dir = place->dir;
  t->name[0] = '\0';
  t->fd = replace_create_unnamed(place->dir, mode);
  for (int attempt = 0; t->fd < 0 && attempt < REPLACE_ATTEMPTS; attempt++) {
    replace_temp_name(t, place->name, attempt);
    t->fd = nay__os_openat(place->dir, t->name, O_WRONLY | O_CREAT | O_EXCL, mode);
    if (t->fd < 0 && errno != EEXIST) break;
  }
  return t->fd >= 0 ? NAY_OK
                    : nay__os_fail(t->diag, "cannot create a temporary file in the directory");
}

static nay_status replace_write_all(int fd, const void *bytes, size_t len, const char *what,
                                    nay_diag *diag) {
  const uint8_t *p = bytes;
  while (len > 0) {
    ssize_t n = write(fd, p, len);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = EIO; /* POSIX has no such answer for a regular file: do not ask for ever */
    if (n <= 0) return nay__os_fail(diag, what);
    p += n;
    len -= (size_t)n;
  }
  return NAY_OK;
}

nay_status nay__file_write(int fd, const void *bytes, size_t len, nay_diag *diag) {
  return replace_write_all(fd, bytes, len, "cannot write the file", diag);
}

static nay_status replace_write(void *ctx, const void *bytes, size_t len) {
  const replace_temp *t = ctx;
  return replace_write_all(t->fd, bytes, len, "cannot write the temporary file", t->diag);
}

static int replace_sync(int fd) {
  int result;
  do result = fsync(fd);
  while (result != 0 && errno == EINTR);
  return result;
}

nay_status nay__file_sync(int fd, nay_diag *diag) {
  return replace_sync(fd) == 0 ? NAY_OK : nay__os_fail(diag, "cannot sync the file");
}

/*
 * The mode of the old file. If the owner or group differs, without set-user-ID and set-group-ID; if
 * the group differs, its members get the permissions of others.
 */
static mode_t replace_mode(const struct stat *now, const struct stat *old) {
  mode_t mode = old->st_mode & 07777;
  if (now->st_uid != old->st_uid || now->st_gid != old->st_gid) mode &= 0777;
  if (now->st_gid != old->st_gid) mode &= 0707 | (mode & 07) << 3;
  return mode;
}

/* Owner before mode: chown clears bits of the mode. Only root may change the owner; a member may
 * keep the group. */
static nay_status replace_inherit(const replace_temp *t, const struct stat *old) {
  struct stat now;
  if (old->st_mode == 0) return NAY_OK;
  if (fstat(t->fd, &now) != 0) return nay__os_fail(t->diag, "cannot stat the temporary file");
  if (now.st_uid != old->st_uid || now.st_gid != old->st_gid) {
    bool kept = fchown(t->fd, old->st_uid, old->st_gid) == 0 ||
                (errno == EPERM && fchown(t->fd, (uid_t)-1, old->st_gid) == 0);
    if (!kept && errno != EPERM) {
      return nay__os_fail(t->diag, "cannot give the temporary file the old one's owner");
    }
    if (fstat(t->fd, &now) != 0) return nay__os_fail(t->diag, "cannot stat the temporary file");
  }
  if (fchmod(t->fd, replace_mode(&now, old)) == 0) return NAY_OK;
  return nay__os_fail(t->diag, "cannot give the temporary file the old one's mode");
}

/* Closes the temporary file and renames it to the target; on failure removes it. */
static nay_status replace_finish(replace_temp *t, const nay_place *place, const struct stat *old) {
  nay_status status = replace_inherit(t, old);
  if (status == NAY_OK && t->sync && replace_sync(t->fd) != 0) {
    status = nay__os_fail(t->diag, "cannot sync the temporary file");
  }
  if (status == NAY_OK && t->name[0] == '\0' && replace_give_name(t, place->name) != 0) {
    status = nay__os_fail(t->diag, "cannot give the temporary file a name");
  }
  if (close(t->fd) != 0 && errno != EINTR && status == NAY_OK) {
    status = nay__os_fail(t->diag, "cannot close the temporary file");
  }
  if (status == NAY_OK && renameat(t->dir, t->name, t->dir, place->name) != 0) {
    status = nay__os_fail(t->diag, "cannot rename the temporary file");
  }
  if (status != NAY_OK && t->name[0] != '\0') unlinkat(t->dir, t->name, 0);
  return status;
}

/* ---- the whole replacement ---- */

struct nay_replacement {
  nay_allocator allocator; /* of this object, if it is on the heap */
  nay_place place;
  struct stat old;
  replace_temp temp;
  bool open; /* the temporary file exists */
};

static nay_status replace_begin(nay_replacement *r, const char *path, uint32_t flags,
                                nay_diag *diag) {
  r->temp = (replace_temp){.sync = true, .diag = diag};
  r->open = false;
  NAY_TRY(nay__place_resolve(path, diag, &r->place));
  nay_status status = replace_stat_target(&r->place, diag, &r->old);
  if (status == NAY_OK) {
    mode_t fresh = (flags & NAY_FILE_PRIVATE) != 0 ? 0600 : 0666;
    mode_t mode = r->old.st_mode != 0 ? r->old.st_mode & 0777 : fresh;
    status = replace_create(&r->place, mode, &r->temp);
  }
  r->open = status == NAY_OK;
  if (!r->open) nay__os_close(r->place.dir);
  return status;
}

static nay_status replace_commit(nay_replacement *r) {
  r->open = false;
  nay_status status = replace_finish(&r->temp, &r->place, &r->old);
  /* EINVAL: the file system cannot sync a directory, and nothing more can be done */
  if (status == NAY_OK && r->temp.sync && replace_sync(r->place.dir) != 0 && errno != EINVAL) {
    status = nay__os_fail(r->temp.diag, "the file is replaced, but its directory cannot be synced");
  }
  nay__os_close(r->place.dir);
  return status;
}

static void replace_abandon(nay_replacement *r) {
  r->open = false;
  nay__os_close(r->temp.fd);
  if (r->temp.name[0] != '\0') unlinkat(r->temp.dir, r->temp.name, 0);
  nay__os_close(r->place.dir);
}

nay_status nay__replacement_new(const char *path, uint32_t flags, bool sync,
                                const nay_allocator *allocator, nay_diag *diag,
                                nay_replacement **replacement) {
  nay_replacement *r = nay__alloc(allocator, sizeof *r);
  if (r == NULL) return nay__fail(diag, NAY_ENOMEM, "no memory to write a file", 0);
  r->allocator = *allocator;
  nay_status status = replace_begin(r, path, flags, diag);
  if (status != NAY_OK) {
    nay__free(allocator, r, sizeof *r);
    return status;
  }
  r->temp.sync = sync;
  *replacement = r;
  return NAY_OK;
}

nay_status nay__replacement_write(nay_replacement *r, const void *bytes, size_t len,
                                  nay_diag *diag) {
  r->temp.diag = diag;
  return replace_write(&r->temp, bytes, len);
}

nay_status nay__replacement_finish(nay_replacement *r, nay_diag *diag) {
  r->temp.diag = diag;
  return replace_commit(r);
}

void nay__replacement_free(nay_replacement *r) {
  if (r == NULL) return;
  if (r->open) replace_abandon(r);
  nay_allocator a = r->allocator;
  nay__free(&a, r, sizeof *r);
}
