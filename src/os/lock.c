/*
 * lock.c - see nay_file.h. The lock cannot be on the file itself: it may not exist yet, and a
 * rename replaces its inode. So it is on a lock file in the same directory.
 *
 * The holder unlinks the lock file before it unlocks. A process that waited then has the lock of an
 * unlinked inode; it compares that inode with the one that has the name now, and starts again if
 * they differ.
 */
#define _GNU_SOURCE 1
#ifndef __LP64__
#define _FILE_OFFSET_BITS 64
#endif

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/abi.h"
#include "nay_file.h"
#include "os/place.h"

#define LOCK_ABI NAY_ABI(nay_filelock, reserved)
#define LOCK_NAME_MAX 245u /* "." before it and ".nay-lock" after it make 255 */

/* ".NAME.nay-lock"; a longer name is truncated and made unique by its FNV-1a hash. */
static void lock_name(nay_filelock *lock, const char *name) {
  if (strlen(name) <= LOCK_NAME_MAX) {
    snprintf(lock->name, sizeof lock->name, ".%.*s.nay-lock", (int)LOCK_NAME_MAX, name);
    return;
  }
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char *p = name; *p != '\0'; p++) hash = (hash ^ (uint8_t)*p) * 0x100000001b3u;
  snprintf(lock->name, sizeof lock->name, ".%.200s.%016llx.nay-lock", name,
           (unsigned long long)hash);
}

/*
 * Opens the lock file or creates it; -1 and errno. Never by one open(2): in a sticky directory
 * O_CREAT refuses the files of other users (fs.protected_regular).
 */
static int lock_open(const nay_filelock *lock) {
  int flags = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, fd;
  do {
    fd = nay__os_openat(lock->dir, lock->name, O_RDWR | flags, 0); /* NFS: locks need O_RDWR */
    if (fd < 0 && errno == EACCES) fd = nay__os_openat(lock->dir, lock->name, O_RDONLY | flags, 0);
    if (fd >= 0 || errno != ENOENT) return fd;
    fd = nay__os_openat(lock->dir, lock->name, O_RDWR | O_CREAT | O_EXCL | flags, 0666);
  } while (fd < 0 && errno == EEXIST);
  return fd;
}

static nay_status lock_wait(const nay_filelock *lock, bool try, nay_diag *diag) {
  int result;
  do result = flock(lock->fd, LOCK_EX | (try ? LOCK_NB : 0));
  while (result != 0 && errno == EINTR);
  if (result == 0) return NAY_OK;
  if (errno == EWOULDBLOCK)
    return nay__os_fail(diag, "the lock of the file is held, here or in another process");
  if (errno == ENOLCK || errno == ENOSYS || errno == EOPNOTSUPP || errno == EBADF) {
    return nay__fail(diag, NAY_ENOTSUP, "the file system has no locks", 0);
  }
  return nay__os_fail(diag, "cannot lock the file");
}

/* Whether the locked inode still has the name of the lock file. */
static bool lock_is_current(const nay_filelock *lock) {
  struct stat held, named;
  return fstat(lock->fd, &held) == 0 &&
         fstatat(lock->dir, lock->name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

static nay_status lock_take(nay_filelock *lock, bool try, nay_diag *diag) {
  for (;;) {
    lock->fd = lock_open(lock);
    if (lock->fd < 0) return nay__os_fail(diag, "cannot open the lock file beside the file");
    nay_status status = lock_wait(lock, try, diag);
    if (status == NAY_OK && lock_is_current(lock)) return NAY_OK;
    nay__os_close(lock->fd);
    if (status != NAY_OK) return status;
  }
}

nay_status nay_file_lock(const char *path, uint32_t flags, nay_diag *diag, nay_filelock *lock) {
  if (path == NULL || lock == NULL || (flags & ~NAY_LOCK_TRY) != 0) {
    return nay__fail(diag, NAY_EINVAL, "path or lock is NULL, or a flag is unknown", 0);
  }
  nay_place place;
  nay_filelock l = {.size = sizeof l};
  NAY_TRY(nay__abi_check(LOCK_ABI, lock, diag));
  NAY_TRY(nay__place_resolve(path, diag, &place));
  l.dir = place.dir;
  lock_name(&l, place.name);
  nay_status status = lock_take(&l, (flags & NAY_LOCK_TRY) != 0, diag);
  if (status != NAY_OK) {
    nay__os_close(l.dir);
    return status;
  }
  nay__abi_write(LOCK_ABI, &l, lock);
  return NAY_OK;
}

void nay_file_unlock(nay_filelock *lock) {
  int error = errno;
  unlinkat(lock->dir, lock->name, 0); /* fails for another user's in a sticky directory: harmless */
  close(lock->fd);
  close(lock->dir);
  errno = error;
}
