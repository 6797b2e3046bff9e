/* files.c - memory, errors, names of files, whole files, checksums. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* ---- whole files ---- */

static nay_status file_refused(kv_file *at, const char *what) {
  at->diag = (nay_diag){.what = what, .os_error = errno};
  return NAY_EIO;
}

/* files_bytes: what becomes a file. */
typedef struct files_bytes {
  const void *at;
  size_t len;
} files_bytes;

static nay_status files_produce(void *ctx, nay_sink sink, void *sink_ctx) {
  const files_bytes *b = ctx;
  return b->len != 0 ? sink(sink_ctx, b->at, b->len) : NAY_OK;
}

nay_status kv__file_replace(kv_file *at, const void *bytes, size_t len) {
  files_bytes b = {bytes, len};
  return nay_file_replace(at->path, 0, files_produce, &b, &at->diag);
}

static nay_status file_write_all(kv_file *at, int fd, const uint8_t *p, size_t len) {
  while (len > 0) {
    ssize_t n = write(fd, p, len);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = EIO; /* POSIX has no such answer for a regular file: do not ask for ever */
    if (n <= 0) return file_refused(at, "cannot write the file");
    p += n;
    len -= (size_t)n;
  }
  return NAY_OK;
}

nay_status kv__file_append(kv_file *at, int fd, const void *bytes, size_t len, bool sync,
                           uint64_t *length) {
  nay_status status = file_write_all(at, fd, bytes, len);
  if (status == NAY_OK && sync && fdatasync(fd) != 0)
    status = file_refused(at, "cannot sync the file");
  if (status == NAY_OK) *length += len;
  if (status == NAY_OK || len == 0) return status;
  int error = errno;
  if (ftruncate(fd, (off_t)*length) == 0) return status;
  errno = error;
  return file_refused(at, "cannot write the file, nor cut it back");
}

static nay_status file_read_all(kv_file *at, int fd, uint8_t *dst, size_t len) {
  for (size_t done = 0; done < len;) {
    ssize_t n = read(fd, dst + done, len - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return file_refused(at, "cannot read the file");
    if (n == 0) {
      at->diag = (nay_diag){.what = "the file became shorter while it was read", .offset = done};
      return NAY_ECORRUPT;
    }
    done += (size_t)n;
  }
  return NAY_OK;
}

nay_status kv__file_read(kv_file *at, void **bytes, size_t *len) {
  struct stat st;
  int fd = open(at->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC); /* waits for no FIFO */
  if (fd < 0) return file_refused(at, "cannot open the file");
  nay_status status = NAY_OK;
  if (fstat(fd, &st) != 0) {
    status = file_refused(at, "cannot stat the file");
  } else if (!S_ISREG(st.st_mode)) {
    errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
    status = file_refused(at, "not a regular file");
  }
  size_t n = status == NAY_OK ? (size_t)st.st_size : 0;
  uint8_t *read = status == NAY_OK ? kv__grow(NULL, n + 1) : NULL;
  if (status == NAY_OK) status = file_read_all(at, fd, read, n);
  close(fd);
  if (status != NAY_OK) {
    free(read);
    return status;
  }
  read[n] = 0;
  *bytes = read;
  *len = n;
  return NAY_OK;
}

/* ---- checksums ---- */

typedef struct sip_state {
  uint64_t a, b, c, d;
} sip_state;

static uint64_t sip_rotate(uint64_t x, unsigned n) { return x << n | x >> (64 - n); }

static sip_state sip_round(sip_state s) {
  s.a += s.b, s.b = sip_rotate(s.b, 13) ^ s.a, s.a = sip_rotate(s.a, 32);
  s.c += s.d, s.d = sip_rotate(s.d, 16) ^ s.c;
  s.a += s.d, s.d = sip_rotate(s.d, 21) ^ s.a;
  s.c += s.b, s.b = sip_rotate(s.b, 17) ^ s.c, s.c = sip_rotate(s.c, 32);
  return s;
}

static sip_state sip_word(sip_state s, uint64_t word) {
  s.d ^= word;
  s = sip_round(s);
  s.a ^= word;
  return s;
}

uint64_t kv__checksum(uint64_t store, uint64_t log, const void *bytes, size_t len) {
  sip_state s = {store ^ 0x736f6d6570736575u, log ^ 0x646f72616e646f6du,
                 store ^ 0x6c7967656e657261u, log ^ 0x7465646279746573u};
  const uint8_t *p = bytes;
  uint64_t word = 0;
  for (size_t i = 0; i < len; i++) {
    word |= (uint64_t)p[i] << i % 8 * 8;
    if (i % 8 == 7) s = sip_word(s, word), word = 0;
  }
  s = sip_word(s, word | (uint64_t)len << 56);
  s.c ^= 0xff;
  for (unsigned i = 0; i < 3; i++) s = sip_round(s);
  return s.a ^ s.b ^ s.c ^ s.d;
}
