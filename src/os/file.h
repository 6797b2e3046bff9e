/*
 * file.h - files: read whole, map, replace atomically. With threads, the only user of POSIX.
 * On failure diag gets the step that failed and errno.
 */
#ifndef NAY_OS_FILE_H
#define NAY_OS_FILE_H

#include "base/alloc.h"
#include "base/base.h"

/* nay__file_read: a regular file's bytes into aligned memory, exactly as long as it was at open. */
nay_status nay__file_read(const char *path, const nay_allocator *allocator, nay_diag *diag,
                          nay_memory *memory, size_t *len);

/* nay__file_map: read-only. An empty file maps to NULL with length 0. */
nay_status nay__file_map(const char *path, nay_diag *diag, void **mapping, size_t *len);
void nay__file_unmap(void *mapping, size_t len);

/*
 * nay__file_replace: what `produce` writes to its sink becomes the file at path, or nothing
 * changes: a temporary file in the same folder, fsync, rename, fsync of the folder. A symbolic link
 * keeps pointing where it did; its target is replaced. An existing file's permissions are kept.
 */
typedef nay_status (*nay_producer)(const void *object, nay_sink sink, void *sink_ctx);
nay_status nay__file_replace(const char *path, nay_producer produce, const void *object,
                             nay_diag *diag);

#endif /* NAY_OS_FILE_H */
