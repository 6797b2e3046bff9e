/* files.c - memory, errors, names of files. */
#include <endian.h>
#include <stdarg.h>
#include <stdio.h>

#include "store.h"

void *kv__grow(void *old, size_t n) {
  void *p = realloc(old, n);
  if (p == NULL) abort();
  return p;
}

void *kv__alloc(size_t n) { return memset(kv__grow(NULL, n), 0, n); }

nay_status kv__fail(kv_error *error, nay_status status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  if (error != NULL) vsnprintf(error->text, sizeof error->text, format, args);
  va_end(args);
  return status;
}

void kv__also(kv_error *error, const char *format, ...) {
  va_list args;
  va_start(args, format);
  size_t said = error != NULL ? strlen(error->text) : 0;
  if (error != NULL) vsnprintf(error->text + said, sizeof error->text - said, format, args);
  va_end(args);
}

nay_status kv__blame(kv_error *error, nay_status status, const kv_file *at) {
  if (status == NAY_OK) return NAY_OK;
  int os = at->diag.os_error;
  kv__fail(error, status, "%s: %s", at->path, at->diag.what);
  if (os == 0) kv__also(error, " at offset %" PRIu64, at->diag.offset);
  kv__also(error, ": %s", os != 0 ? strerror(os) : nay_status_text(status));
  return status;
}

int kv__compare(kv_slice a, kv_slice b) {
  return nay_sst_compare(NULL, a.data, a.len, b.data, b.len);
}

kv_file kv__file_named(const kv *db, const char *name) {
  kv_file at = {.diag = {.what = ""}};
  snprintf(at.path, sizeof at.path, "%s/%s", db->dir, name);
  return at;
}

kv_file kv__file_numbered(const kv *db, uint64_t number, const char *suffix) {
  char name[40];
  snprintf(name, sizeof name, "%06" PRIu64 ".%s", number, suffix);
  return kv__file_named(db, name);
}

uint64_t kv__checksum(uint64_t store, uint64_t log, const void *bytes, size_t len) {
  const uint64_t key[2] = {htole64(store), htole64(log)};
  return nay_hash_siphash((const uint8_t *)key, bytes, len, 1, 3);
}
