/*
 * table_file.c - the I/O of tables: every reader uses a nay_sst_file, every writer a
 * nay_sst_target.
 *
 *   path, read        pread, close                       nay_sst__io_open
 *   path, written     temporary file, rename (replace.c) nay_sst__io_replace
 *   descriptor        pread; write, fsync                nay_sst_file_descriptor,
 * nay_sst_target_descriptor memory            a buffer that doubles nay_sst_memory_target the
 * caller's      callbacks
 *
 * A callback may return any status, but statuses have meanings in a table (NAY_ENOENT: no such key;
 * NAY_EINVAL from an add: nothing has changed). This file therefore turns every status that is no
 * I/O error into NAY_EIO.
 */
#include "io/table_file.h"

#include "base/buffer.h"
#include "os/file.h"
#include "struct_sizes.h"

/* Turns the result of a callback into an I/O status, and adds `what` if the callback gave no
 * reason. */
static nay_status io_status(nay_status status, const char *what, uint64_t at, nay_diag why,
                            nay_diag *diag) {
  if (status == NAY_OK) return NAY_OK;
  bool known = status == NAY_EIO || status == NAY_ENOMEM || status == NAY_ECORRUPT;
  if (why.what == NULL) why = (nay_diag){.what = what, .offset = at, .os_error = why.os_error};
  if (diag != NULL) *diag = why;
  return known ? status : NAY_EIO;
}

/* ---- reading ---- */

static int io_fd(const void *state) { return (int)(intptr_t)state; }

static nay_status io_fd_read(void *ctx, uint64_t at, void *dst, size_t len, nay_diag *diag) {
  return nay__file_pread(io_fd(ctx), at, dst, len, diag);
}

static void io_fd_close(void *ctx) { nay__file_close(io_fd(ctx)); }

static nay_sst_file io_fd_file(int fd, size_t len) {
  return (nay_sst_file){
      .size = sizeof(nay_sst_file),
      .length = len,
      .read_at = io_fd_read,
      .ctx = (void *)(intptr_t)fd,
  };
}

nay_status nay_sst__io_open(const char *path, nay_diag *diag, nay_sst_file *file) {
  int fd;
  size_t len;
  NAY_TRY(nay__file_open(path, diag, &fd, &len));
  *file = io_fd_file(fd, len);
  file->close = io_fd_close;
  return NAY_OK;
}

nay_status nay_sst_file_descriptor(int fd, nay_diag *diag, nay_sst_file *file) {
  size_t len;
  if (file == NULL) return nay__fail(diag, NAY_EINVAL, "file is NULL", 0);
  NAY_TRY(nay__abi_check(NAY_ABI_SST_FILE, file, diag));
  NAY_TRY(nay__file_length(fd, diag, &len));
  nay_sst_file now = io_fd_file(fd, len);
  nay__abi_write(NAY_ABI_SST_FILE, &now, file);
  return NAY_OK;
}

nay_status nay_sst__io_read(const nay_sst_file *file, uint64_t at, void *dst, size_t len,
                            nay_diag *diag) {
  nay_diag why = {.what = NULL};
  if (len == 0) return NAY_OK;
  /* Buffers are reused: a callback that reads too little but returns NAY_OK would leave an earlier
   * block in the buffer, with a valid checksum. */
  if (file->read_at != io_fd_read) memset(dst, 0, len);
  return io_status(file->read_at(file->ctx, at, dst, len, &why), "cannot read the table", at, why,
                   diag);
}

void nay_sst__io_close(const nay_sst_file *file) {
  if (file->close != NULL) file->close(file->ctx);
}

/* ---- writing ---- */

nay_status nay_sst__io_write(const nay_sst_target *sink, const void *bytes, size_t len,
                             nay_diag *diag) {
  nay_diag why = {.what = NULL};
  return io_status(sink->write(sink->ctx, bytes, len, &why), "cannot write the table", 0, why,
                   diag);
}

nay_status nay_sst__io_sync(const nay_sst_target *sink, nay_diag *diag) {
  nay_diag why = {.what = NULL};
  if (sink->sync == NULL) return NAY_OK;
  return io_status(sink->sync(sink->ctx, &why), "cannot sync the table", 0, why, diag);
}

nay_status nay_sst__io_finish(const nay_sst_target *sink, nay_diag *diag) {
  nay_diag why = {.what = NULL};
  if (sink->finish == NULL) return NAY_OK;
  return io_status(sink->finish(sink->ctx, &why), "cannot finish the table", 0, why, diag);
}

void nay_sst__io_abort(const nay_sst_target *sink) {
  if (sink->abort != NULL) sink->abort(sink->ctx);
}

static nay_status io_path_write(void *ctx, const void *bytes, size_t len, nay_diag *diag) {
  return nay__replacement_write(ctx, bytes, len, diag);
}

static nay_status io_path_finish(void *ctx, nay_diag *diag) {
  nay_status status = nay__replacement_finish(ctx, diag);
  nay__replacement_free(ctx);
  return status;
}

static void io_path_abort(void *ctx) { nay__replacement_free(ctx); }

nay_status nay_sst__io_replace(const char *path, bool sync, const nay_allocator *allocator,
                               nay_diag *diag, nay_sst_target *sink) {
  nay_replacement *file;
  NAY_TRY(nay__replacement_new(path, 0, sync, allocator, diag, &file));
  *sink = (nay_sst_target){.size = sizeof *sink,
                           .write = io_path_write,
                           .finish = io_path_finish,
                           .abort = io_path_abort,
                           .ctx = file};
  return NAY_OK;
}

static nay_status io_fd_write(void *ctx, const void *bytes, size_t len, nay_diag *diag) {
  return nay__file_write(io_fd(ctx), bytes, len, diag);
}

static nay_status io_fd_sync(void *ctx, nay_diag *diag) { return nay__file_sync(io_fd(ctx), diag); }

nay_status nay_sst_target_descriptor(int fd, nay_sst_target *sink) {
  if (fd < 0 || sink == NULL) return NAY_EINVAL;
  NAY_TRY(nay__abi_check(NAY_ABI_SST_TARGET, sink, NULL));
  nay_sst_target now = {.write = io_fd_write, .sync = io_fd_sync, .ctx = (void *)(intptr_t)fd};
  nay__abi_write(NAY_ABI_SST_TARGET, &now, sink);
  return NAY_OK;
}

/* ---- memory ---- */

struct nay_sst_memory {
  nay_allocator allocator;
  nay_buffer bytes;
  bool finished;
};

nay_status nay_sst_memory_new(const nay_allocator *allocator, nay_sst_memory **memory) {
  nay_allocator a;
  if (memory == NULL) return NAY_EINVAL;
  NAY_TRY(nay__allocator_read(allocator, NULL, &a));
  nay_sst_memory *m = nay__alloc(&a, sizeof *m);
  if (m == NULL) return NAY_ENOMEM;
  *m = (nay_sst_memory){.allocator = a};
  *memory = m;
  return NAY_OK;
}

static void io_memory_clear(nay_sst_memory *m) {
  nay__buffer_free(&m->bytes, &m->allocator);
  m->finished = false;
}

void nay_sst_memory_free(nay_sst_memory *m) {
  if (m == NULL) return;
  nay_allocator a = m->allocator;
  io_memory_clear(m);
  nay__free(&a, m, sizeof *m);
}

static nay_status io_memory_write(void *ctx, const void *bytes, size_t len, nay_diag *diag) {
  nay_sst_memory *m = ctx;
  if (nay__buffer_append(&m->bytes, bytes, len, &m->allocator) == NAY_OK) return NAY_OK;
  return nay__fail(diag, NAY_ENOMEM, "no memory for a table", m->bytes.len);
}

static nay_status io_memory_finish(void *ctx, nay_diag *diag) {
  nay_sst_memory *m = ctx;
  (void)diag;
  m->finished = true;
  return NAY_OK;
}

static void io_memory_abort(void *ctx) { io_memory_clear(ctx); }

nay_status nay_sst_memory_target(nay_sst_memory *m, nay_sst_target *sink) {
  if (m == NULL || sink == NULL) return NAY_EINVAL;
  NAY_TRY(nay__abi_check(NAY_ABI_SST_TARGET, sink, NULL));
  io_memory_clear(m);
  nay_sst_target now = {
      .write = io_memory_write, .finish = io_memory_finish, .abort = io_memory_abort, .ctx = m};
  nay__abi_write(NAY_ABI_SST_TARGET, &now, sink);
  return NAY_OK;
}

const void *nay_sst_memory_bytes(const nay_sst_memory *m, size_t *len) {
  bool finished = m != NULL && m->finished;
  if (len != NULL) *len = finished ? m->bytes.len : 0;
  return finished ? m->bytes.at : NULL;
}
