/*
 * file.h - files: read, map, read at an offset, replace piece by piece. nay_file.h has the rest. On
 * failure diag has the step that failed and errno.
 */
#ifndef NAY_OS_FILE_H
#define NAY_OS_FILE_H

#include "base/alloc.h"
#include "base/base.h"

/*
 * nay_accept: checks the first NAY_FILE_START bytes of a file (or all of a shorter one) and its
 * length, before memory for the rest is allocated.
 */
#define NAY_FILE_START 64u
typedef nay_status (*nay_accept)(const uint8_t *start, size_t file_len, nay_diag *diag);

/* nay__file_read: a regular file into aligned memory, of the length that it had at open. */
nay_status nay__file_read(const char *path, nay_accept accept, const nay_allocator *allocator,
                          nay_diag *diag, nay_memory *memory, size_t *len);

/* nay__file_map: read-only. An empty file maps to NULL with length 0. */
nay_status nay__file_map(const char *path, nay_diag *diag, void **mapping, size_t *len);
void nay__file_unmap(void *mapping, size_t len);

/* nay__file_open: a regular file, for nay__file_pread and nay__file_close. */
nay_status nay__file_open(const char *path, nay_diag *diag, int *fd, size_t *len);
nay_status nay__file_pread(int fd, uint64_t at, uint8_t *dst, size_t len, nay_diag *diag);
void nay__file_close(int fd);

/* nay__file_too_many: whether an open failed because too many files are open. */
bool nay__file_too_many(const nay_diag *diag);

/* nay__file_length: of a descriptor that is a regular file. */
nay_status nay__file_length(int fd, nay_diag *diag, size_t *len);

/* nay__file_write, nay__file_sync: all bytes to a descriptor; fsync. */
nay_status nay__file_write(int fd, const void *bytes, size_t len, nay_diag *diag);
nay_status nay__file_sync(int fd, nay_diag *diag);

/*
 * nay_replacement: nay_file_replace for a file that is written piece by piece. Calls: new (write)*
 * [finish] free; without finish, or if it fails, nothing changes. Without sync it is still replaced
 * atomically for other processes, but a crash of the system may leave a damaged file. flags: 0 or
 * NAY_FILE_PRIVATE.
 */
typedef struct nay_replacement nay_replacement;
nay_status nay__replacement_new(const char *path, uint32_t flags, bool sync,
                                const nay_allocator *allocator, nay_diag *diag,
                                nay_replacement **replacement);
nay_status nay__replacement_write(nay_replacement *replacement, const void *bytes, size_t len,
                                  nay_diag *diag);
nay_status nay__replacement_finish(nay_replacement *replacement, nay_diag *diag);
void nay__replacement_free(nay_replacement *replacement);

#endif /* NAY_OS_FILE_H */
