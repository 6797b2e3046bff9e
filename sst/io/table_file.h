/*
 * table_file.h - the I/O of tables. Readers and writers use only the nay_sst_file and
 * nay_sst_target of nay_sst.h, so files, descriptors, memory and the caller's own I/O take the same
 * path.
 */
#ifndef NAY_SST_IO_TABLE_FILE_H
#define NAY_SST_IO_TABLE_FILE_H

#include "base/alloc.h"
#include "nay_sst.h"

/* nay_sst__io_open: opens the file at path for pread. */
nay_status nay_sst__io_open(const char *path, nay_diag *diag, nay_sst_file *file);

/* nay_sst__io_read: reads exactly len bytes from offset `at`. */
nay_status nay_sst__io_read(const nay_sst_file *file, uint64_t at, void *dst, size_t len,
                            nay_diag *diag);
void nay_sst__io_close(const nay_sst_file *file);

/* nay_sst__io_replace: opens a sink that atomically replaces the file at path when it is finished;
 * with `sync` it is synced first. */
nay_status nay_sst__io_replace(const char *path, bool sync, const nay_allocator *allocator,
                               nay_diag *diag, nay_sst_target *sink);

nay_status nay_sst__io_write(const nay_sst_target *sink, const void *bytes, size_t len,
                             nay_diag *diag);

/* nay_sst__io_sync: syncs the sink, if it has a sync call. */
nay_status nay_sst__io_sync(const nay_sst_target *sink, nay_diag *diag);
nay_status nay_sst__io_finish(const nay_sst_target *sink, nay_diag *diag);
void nay_sst__io_abort(const nay_sst_target *sink);

#endif /* NAY_SST_IO_TABLE_FILE_H */
