/* outfile.c - see outfile.h. */
#include "outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "descriptors.h"
#include "output.h"

/* ---- where it goes ---- */

bool outfile_is_stdout(const char *path) {
  struct stat named, out;
  if (strcmp(path, "-") == 0) return true;
  bool special = strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0;
  return special && stat(path, &named) == 0 && fstat(STDOUT_FILENO, &out) == 0 &&
         named.st_ino == out.st_ino && named.st_dev == out.st_dev;
}

/* A device, a pipe, a descriptor of ours: it is written, not replaced. */
static bool outfile_is_stream(const char *path) {
  struct stat st;
  if (outfile_is_stdout(path)) return true;
  return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

static bool outfile_must_be_new;

static void outfile_check_new(const char *path) {
  struct stat st;
  if (!outfile_must_be_new || stat(path, &st) != 0 || !S_ISREG(st.st_mode)) return;
  die(EXIT_TROUBLE, "%s exists; -f overwrites it", path);
}

void outfile_may_write(const char *path, bool force) {
  outfile_must_be_new = !force;
  if (force) return;
  if (!outfile_is_stdout(path)) {
    outfile_check_new(path);
  } else if (isatty(STDOUT_FILENO) == 1) {
    die(EXIT_TROUBLE, "refusing to write binary data to the terminal; use -o FILE, or -f");
  }
}

/* ---- the lock ---- */

static nay_filelock outfile_locked = {.size = sizeof outfile_locked};
static bool outfile_is_locked;

_Noreturn static void outfile_failed(const char *path, nay_status status, const nay_diag *diag) {
  if (status == NAY_EIO && diag->os_error == EPIPE) exit(EXIT_PIPE);
  die(EXIT_TROUBLE, "cannot write %s: %s", path,
      diag->os_error != 0 ? strerror(diag->os_error) : nay_status_text(status));
}

/* A signal that comes while the lock is taken waits until its handler knows of the lock. */
static nay_status outfile_try_lock(const char *path, nay_diag *diag) {
  signals_defer(true);
  nay_status status = nay_file_lock(path, NAY_LOCK_TRY, diag, &outfile_locked);
  outfile_is_locked = status == NAY_OK;
  if (outfile_is_locked) signals_release(&outfile_locked);
  signals_defer(false);
  return status;
}

void outfile_lock(const char *path) {
  static bool registered;
  nay_diag diag = {.what = NULL};
  if (outfile_is_locked || outfile_is_stream(path)) return;
  if (!registered) atexit(outfile_unlock);
  registered = true;
  nay_status status = outfile_try_lock(path, &diag);
  if (status == NAY_EIO && diag.os_error == EWOULDBLOCK) {
    message("waiting for another nay process that changes %s", path);
    status = nay_file_lock(path, 0, &diag, &outfile_locked);
    outfile_is_locked = status == NAY_OK;
    if (outfile_is_locked) signals_release(&outfile_locked);
  }
  if (status == NAY_ENOTSUP) {
    message_error(
        "warning: %s is on a file system without locks: run no other nay process on it now", path);
  } else if (status != NAY_OK) {
    outfile_failed(path, status, &diag);
  }
  outfile_check_new(path);
}

void outfile_unlock(void) {
  if (!outfile_is_locked) return;
  outfile_is_locked = false;
  signals_release(NULL);
  nay_file_unlock(&outfile_locked);
}

/* ---- writing ---- */

typedef struct outfile_job {
  nay_producer produce;
  void *ctx;
  nay_sink sink; /* of the library, when a file is replaced */
  void *sink_ctx;
  int fd; /* else */
} outfile_job;

static nay_status outfile_pass(void *ctx, const void *bytes, size_t len) {
  const outfile_job *job = ctx;
  if (signals_abort()) return NAY_EIO;
  return job->sink(job->sink_ctx, bytes, len);
}

static nay_status outfile_produce(void *ctx, nay_sink sink, void *sink_ctx) {
  outfile_job *job = ctx;
  job->sink = sink;
  job->sink_ctx = sink_ctx;
  return job->produce(job->ctx, outfile_pass, job);
}

static void outfile_replace(const char *path, uint32_t flags, outfile_job *job) {
  nay_diag diag = {.what = NULL};
  outfile_lock(path);
  signals_defer(true);
  nay_status status = nay_file_replace(path, flags, outfile_produce, job, &diag);
  outfile_unlock();
  signals_defer(false); /* ends here when one came */
  if (status != NAY_OK) outfile_failed(path, status, &diag);
}

static nay_status outfile_put(void *ctx, const void *bytes, size_t len) {
  const outfile_job *job = ctx;
  const uint8_t *p = bytes;
  while (len > 0) {
    ssize_t n = write(job->fd, p, len);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return NAY_EIO;
    p += n;
    len -= (size_t)n;
  }
  return NAY_OK;
}

static void outfile_stream(const char *path, outfile_job *job) {
  bool is_stdout = outfile_is_stdout(path);
  const char *name = is_stdout ? "standard output" : path;
  if (is_stdout) out_flush();
  job->fd = is_stdout ? STDOUT_FILENO : open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (job->fd < 0) die(EXIT_TROUBLE, "cannot write %s: %s", path, strerror(errno));
  nay_status status = job->produce(job->ctx, outfile_put, job);
  if (status == NAY_OK && !is_stdout && close(job->fd) != 0) status = NAY_EIO;
  if (status == NAY_OK) return;
  if (status == NAY_EIO && errno == EPIPE) exit(EXIT_PIPE);
  die(EXIT_TROUBLE, "cannot write %s: %s", name,
      status == NAY_EIO ? descriptor_error(job->fd, errno) : nay_status_text(status));
}

void outfile_write(const char *path, uint32_t flags, nay_producer produce, void *ctx) {
  outfile_job job = {.produce = produce, .ctx = ctx, .fd = -1};
  if (outfile_is_stream(path)) {
    outfile_stream(path, &job);
  } else {
    outfile_replace(path, flags, &job);
  }
}

typedef struct outfile_bytes {
  const void *at;
  size_t len;
} outfile_bytes;

static nay_status outfile_produce_bytes(void *ctx, nay_sink sink, void *sink_ctx) {
  const outfile_bytes *b = ctx;
  return sink(sink_ctx, b->at, b->len);
}

void outfile_save(const void *bytes, size_t len, const char *path) {
  outfile_bytes b = {bytes, len};
  outfile_write(path, 0, outfile_produce_bytes, &b);
}

void outfile_remove(const char *path) { (void)unlink(path); }
