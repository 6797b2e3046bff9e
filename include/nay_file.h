/* Experimental: any minor version may change what is here; symbols then get another version. */
/*
 * nay_file.h - files that several processes read and change: replace one atomically, lock one.
 *
 *   nay_filelock lock = {.size = sizeof lock};
 *   nay_file_lock("f.nay", 0, NULL, &lock);           // others that lock it wait
 *   nay_filter_open("f.nay", NULL, NULL, &f);         // read, modify ...
 *   nay_filter_save(f, "f.nay", NULL);                // ... and replace: readers see old or new
 *   nay_file_unlock(&lock);
 *
 * Readers need no lock: they open the old file or the new one, whole. Writers that read first do,
 * or one of two loses its update. The commands of nay(1) that change or replace a file take this
 * lock.
 */
#ifndef NAY_FILE_H
#define NAY_FILE_H

#include "nay_advanced.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * nay_producer: writes the bytes of a file to sink, in order and in pieces of any size. A status
 * other than NAY_OK from sink must be returned; one of its own abandons the file.
 */
typedef nay_status (*nay_producer)(void *ctx, nay_sink sink, void *sink_ctx);

/* NAY_FILE_PRIVATE: a file that does not exist yet gets mode 0600, from the moment it is created.
 */
#define NAY_FILE_PRIVATE 0x01u

/*
 * nay_file_replace: what `produce` writes to its sink becomes the file at path, or nothing changes.
 * The bytes go to a new file in the same directory, which is created with O_EXCL (never through a
 * link that is already there), synced, and renamed; then the directory is synced.
 *
 * A symbolic link keeps pointing where it did: its target is replaced, or made if it does not exist
 * yet. Other hard links keep the old file. An existing file's permissions are kept, and its owner
 * and group where the system lets us; where the group cannot be kept, its members get no more than
 * everybody has. Access control lists are not kept. At no moment can anyone read the new bytes who
 * could not read the old file. A new file gets mode 0666 less the umask, or see NAY_FILE_PRIVATE.
 *
 * NAY_EIO, with errno in diag: also for a target that is not a regular file (EISDIR, EINVAL). One
 * failure comes too late to undo: when the directory cannot be synced, the new file is in place and
 * diag says so. Else the status of `produce`, which leaves diag alone.
 */
NAY_API nay_status nay_file_replace(const char *path, uint32_t flags, nay_producer produce,
                                    void *ctx, nay_diag *diag);

/* nay_filelock: in the caller's memory; all fields but size are the library's. */
typedef struct nay_filelock {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  int fd, dir;
  char name[256];
  uint64_t reserved[4];
} nay_filelock;

/* NAY_LOCK_TRY: do not wait. NAY_EIO with os_error EWOULDBLOCK: another has the lock. */
#define NAY_LOCK_TRY 0x01u

/*
 * nay_file_lock: waits until nobody else holds the lock of the file at path, and takes it. The file
 * need not exist. The lock is an flock(2) on an empty file beside it, ".NAME.nay-lock", which
 * nay_file_unlock removes: so it survives that the file itself is replaced, and ends with the
 * process however that dies (a lock file that kill -9 leaves behind is not locked, and is used
 * again). Symbolic links lead to the lock of their target. Two hard links are two files to whoever
 * replaces them, and have two locks.
 *
 * It excludes only those who take it too, threads of the same process included. On a network file
 * system it works between machines as far as flock does there: on NFS since Linux 2.6.12, on others
 * ask their manual. NAY_ENOTSUP: the file system has no locks. NAY_EIO, with errno in diag: the
 * directory does not exist, cannot be written, or the lock file is another user's.
 */
NAY_API nay_status nay_file_lock(const char *path, uint32_t flags, nay_diag *diag,
                                 nay_filelock *lock);

/* nay_file_unlock: async-signal-safe, so that a handler may release the lock before it exits. */
NAY_API void nay_file_unlock(nay_filelock *lock);

#ifdef __cplusplus
}
#endif

#endif /* NAY_FILE_H */
