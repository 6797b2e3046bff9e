/*
 * os_wasm.c - src/os for a place without an operating system: no files, no pages to advise. Every
 * call that needs a file is NAY_ENOTSUP and touches nothing; filters, maps and tables go through
 * bytes (encode, decode, view) instead. There is one thread, so a mutex does nothing.
 * src/os/thread.c and spin.c, which know that, stay.
 */
#include "nay_file.h"
#include "os/file.h"
#include "os/mutex.h"
#include "os/pages.h"
#include "os/spill.h"

static nay_status os_no_files(nay_diag *diag) {
  return nay__fail(diag, NAY_ENOTSUP, "there are no files in WebAssembly", 0);
}

/* ---- file.h ---- */

nay_status nay__file_read(const char *path, nay_accept accept, const nay_allocator *allocator,
                          nay_diag *diag, nay_memory *memory, size_t *len) {
  (void)path, (void)accept, (void)allocator, (void)memory, (void)len;
  return os_no_files(diag);
}

nay_status nay__file_map(const char *path, nay_diag *diag, void **mapping, size_t *len) {
  (void)path, (void)mapping, (void)len;
  return os_no_files(diag);
}

void nay__file_unmap(void *mapping, size_t len) { (void)mapping, (void)len; }

nay_status nay__file_open(const char *path, nay_diag *diag, int *fd, size_t *len) {
  (void)path, (void)fd, (void)len;
  return os_no_files(diag);
}

nay_status nay__file_pread(int fd, uint64_t at, uint8_t *dst, size_t len, nay_diag *diag) {
  (void)fd, (void)at, (void)dst, (void)len;
  return os_no_files(diag);
}

void nay__file_close(int fd) { (void)fd; }

bool nay__file_too_many(const nay_diag *diag) { return (void)diag, false; }

nay_status nay__file_length(int fd, nay_diag *diag, size_t *len) {
  (void)fd, (void)len;
  return os_no_files(diag);
}

nay_status nay__file_write(int fd, const void *bytes, size_t len, nay_diag *diag) {
  (void)fd, (void)bytes, (void)len;
  return os_no_files(diag);
}

nay_status nay__file_sync(int fd, nay_diag *diag) {
  (void)fd;
  return os_no_files(diag);
}

nay_status nay__replacement_new(const char *path, uint32_t flags, bool sync,
                                const nay_allocator *allocator, nay_diag *diag,
                                nay_replacement **replacement) {
  (void)path, (void)flags, (void)sync, (void)allocator, (void)replacement;
  return os_no_files(diag);
}

nay_status nay__replacement_write(nay_replacement *replacement, const void *bytes, size_t len,
                                  nay_diag *diag) {
  (void)replacement, (void)bytes, (void)len;
  return os_no_files(diag);
}

nay_status nay__replacement_finish(nay_replacement *replacement, nay_diag *diag) {
  (void)replacement;
  return os_no_files(diag);
}

void nay__replacement_free(nay_replacement *replacement) { (void)replacement; }

/* ---- nay_file.h ---- */

nay_status nay_file_lock(const char *path, uint32_t flags, nay_diag *diag, nay_filelock *lock) {
  (void)path, (void)flags, (void)lock;
  return os_no_files(diag);
}

void nay_file_unlock(nay_filelock *lock) { (void)lock; }

/* ---- spill.h, pages.h ---- */

nay_status nay__spill_open(const char *directory, nay_diag *diag, int *fd) {
  (void)directory, (void)fd;
  return os_no_files(diag);
}

nay_status nay__spill_write(int fd, uint64_t at, const void *bytes, size_t len, nay_diag *diag) {
  (void)fd, (void)at, (void)bytes, (void)len;
  return os_no_files(diag);
}

nay_status nay__spill_read(int fd, uint64_t at, void *bytes, size_t len, nay_diag *diag) {
  (void)fd, (void)at, (void)bytes, (void)len;
  return os_no_files(diag);
}

void nay__spill_close(int fd) { (void)fd; }

void nay__pages_want_huge(void *p, size_t len) { (void)p, (void)len; }

void nay__pages_random(void *mapping, size_t len) { (void)mapping, (void)len; }

void nay__pages_soon(const void *p, size_t len) { (void)p, (void)len; }

/* ---- mutex.h ---- */

nay_status nay__mutex_init(nay_mutex *mutex) {
  mutex->unused = 0;
  return NAY_OK;
}

void nay__mutex_free(nay_mutex *mutex) { (void)mutex; }

void nay__mutex_lock(nay_mutex *mutex) { (void)mutex; }

void nay__mutex_unlock(nay_mutex *mutex) { (void)mutex; }
