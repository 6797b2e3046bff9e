/*
 * sst_io.h - the bytes of a table: files and sinks of nay_sst_io.h, and those that a path names.
 * Readers and writers know nothing else, so that own I/O goes the same way as files do.
 */
#ifndef NAY_SST_SST_IO_H
#define NAY_SST_SST_IO_H

#include "base/alloc.h"
#include "nay_sst_io.h"

/* nay__io_open: the file at path, read by pread. */
nay_status nay__io_open(const char *path, nay_diag *diag, nay_sst_file *file);

/* nay__io_read: len bytes from offset `at` on. */
nay_status nay__io_read(const nay_sst_file *file, uint64_t at, void *dst, size_t len,
                        nay_diag *diag);
void nay__io_close(const nay_sst_file *file);

/* nay__io_replace: a sink that replaces the file at path when it is finished, and syncs then. */
nay_status nay__io_replace(const char *path, bool sync, const nay_allocator *allocator,
                           nay_diag *diag, nay_sst_sink *sink);

nay_status nay__io_write(const nay_sst_sink *sink, const void *bytes, size_t len, nay_diag *diag);

/* nay__io_sync: unless the sink has nothing to sync. */
nay_status nay__io_sync(const nay_sst_sink *sink, nay_diag *diag);
nay_status nay__io_finish(const nay_sst_sink *sink, nay_diag *diag);
void nay__io_abort(const nay_sst_sink *sink);

#endif /* NAY_SST_SST_IO_H */
