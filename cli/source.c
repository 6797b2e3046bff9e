/* source.c - see source.h. */
#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef NAY_HAVE_ZLIB
#define ZLIB_CONST
#include <zlib.h>
#endif
#ifdef NAY_HAVE_ZSTD
#include <zstd.h>
#endif

#include "cli.h"
#include "descriptors.h"

#define SOURCE_CAP 65536u

typedef enum source_kind { SOURCE_PLAIN, SOURCE_GZIP, SOURCE_ZSTD } source_kind;

struct source {
  int fd;
  const char *name;
  source_kind kind;
  uint64_t position;
  uint8_t in[SOURCE_CAP]; /* read but not yet handed out or unpacked */
  size_t at, len;
  bool between; /* packed: at the border of two members or frames */
#ifdef NAY_HAVE_ZLIB
  z_stream gzip;
#endif
#ifdef NAY_HAVE_ZSTD
  ZSTD_DStream *zstd;
#endif
};

const char *source_codecs(void) {
#if defined(NAY_HAVE_ZLIB) && defined(NAY_HAVE_ZSTD)
  return "gzip, zstd";
#elif defined(NAY_HAVE_ZLIB)
  return "gzip";
#elif defined(NAY_HAVE_ZSTD)
  return "zstd";
#else
  return "none";
#endif
}

uint64_t source_position(const source *s) { return s->position; }

/*
 * Waits for bytes, looking every 0.2 s whether the program was asked to stop: a signal that comes
 * just before read would otherwise not wake it. False when it is to stop.
 */
static bool source_wait(const source *s) {
  struct pollfd p = {.fd = s->fd, .events = POLLIN};
  while (!stop_requested()) {
    if (poll(&p, 1, 200) > 0) return true;
  }
  return false;
}

static ssize_t source_raw(source *s, void *dst, size_t cap, char fail[SOURCE_FAIL]) {
  ssize_t n = -1;
  do {
    if (!source_wait(s)) return 0; /* asked to stop: as if the input ended here */
    n = read(s->fd, dst, cap);
  } while (n < 0 && errno == EINTR);
  if (n < 0) {
    snprintf(fail, SOURCE_FAIL, "cannot read %s: %s", s->name, descriptor_error(s->fd, errno));
  }
  if (n > 0) s->position += (uint64_t)n;
  return n;
}

/* More packed bytes into s->in; 0 at the end. */
static ssize_t source_refill(source *s, char fail[SOURCE_FAIL]) {
  if (s->at < s->len) return 1;
  ssize_t n = source_raw(s, s->in, SOURCE_CAP, fail);
  s->at = 0;
  s->len = n > 0 ? (size_t)n : 0;
  return n;
}

static bool source_starts(const source *s, const char *magic, size_t n) {
  return s->len >= n && memcmp(s->in, magic, n) == 0;
}

/* Reads until the first bytes tell what the file is: four, unless they cannot be a magic number. */
static bool source_recognise(source *s, char fail[SOURCE_FAIL]) {
  while (s->len < 4) {
    ssize_t n = source_raw(s, s->in + s->len, SOURCE_CAP - s->len, fail);
    if (n < 0) return false;
    s->len += (size_t)n;
    if (n == 0 || (s->in[0] != 0x1f && s->in[0] != 0x28)) break;
  }
  s->kind = source_starts(s, "\x1f\x8b\x08", 3)       ? SOURCE_GZIP
            : source_starts(s, "\x28\xb5\x2f\xfd", 4) ? SOURCE_ZSTD
                                                      : SOURCE_PLAIN;
  return true;
}

static bool source_start_codec(source *s, char fail[SOURCE_FAIL]) {
  s->between = true;
  const char *missing = NULL;
  if (s->kind == SOURCE_GZIP) {
#ifdef NAY_HAVE_ZLIB
    if (inflateInit2(&s->gzip, 15 + 16) != Z_OK) missing = "memory for gzip";
#else
    missing = "gzip";
#endif
  }
  if (s->kind == SOURCE_ZSTD) {
#ifdef NAY_HAVE_ZSTD
    s->zstd = ZSTD_createDStream();
    if (s->zstd == NULL) missing = "memory for zstd";
#else
    missing = "zstd";
#endif
  }
  if (missing == NULL) return true;
  s->kind = SOURCE_PLAIN; /* nothing to release */
  snprintf(fail, SOURCE_FAIL, "%s is compressed, and this program was built without %s", s->name,
           missing);
  return false;
}

source *source_open(const char *path, bool decompress, char fail[SOURCE_FAIL]) {
  bool is_stdin = strcmp(path, "-") == 0;
  int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
  struct stat st;
  if (fd < 0) {
    snprintf(fail, SOURCE_FAIL, "cannot open %s: %s", path, strerror(errno));
    return NULL;
  }
  if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
    snprintf(fail, SOURCE_FAIL, "%s is a folder", path);
    if (!is_stdin) close(fd);
    return NULL;
  }
  source *s = calloc(1, sizeof *s);
  if (s == NULL) {
    snprintf(fail, SOURCE_FAIL, "out of memory");
    if (!is_stdin) close(fd);
    return NULL;
  }
  s->fd = fd;
  s->name = is_stdin ? "standard input" : path;
#ifdef POSIX_FADV_SEQUENTIAL
  posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
#endif
  bool ok = !decompress || source_recognise(s, fail);
  if (ok && s->kind != SOURCE_PLAIN) ok = source_start_codec(s, fail);
  if (ok) return s;
  source_close(s);
  return NULL;
}

void source_close(source *s) {
  if (s == NULL) return;
#ifdef NAY_HAVE_ZLIB
  if (s->kind == SOURCE_GZIP) inflateEnd(&s->gzip);
#endif
#ifdef NAY_HAVE_ZSTD
  if (s->kind == SOURCE_ZSTD) ZSTD_freeDStream(s->zstd);
#endif
  if (s->fd != STDIN_FILENO) close(s->fd);
  free(s);
}

static ssize_t source_damaged(const source *s, const char *what, char fail[SOURCE_FAIL]) {
  snprintf(fail, SOURCE_FAIL, "cannot unpack %s: %s", s->name, what);
  return -1;
}

#ifdef NAY_HAVE_ZLIB
static ssize_t source_gunzip(source *s, uint8_t *dst, size_t cap, char fail[SOURCE_FAIL]) {
  z_stream *z = &s->gzip;
  z->next_out = dst;
  z->avail_out = (uInt)cap;
  while (z->avail_out == (uInt)cap) {
    ssize_t more = source_refill(s, fail);
    if (more < 0) return -1;
    if (more == 0) return s->between ? 0 : source_damaged(s, "the gzip data ends too early", fail);
    if (s->between) inflateReset(z); /* the next member of a concatenation */
    z->next_in = s->in + s->at;
    z->avail_in = (uInt)(s->len - s->at);
    int got = inflate(z, Z_NO_FLUSH);
    s->at = s->len - z->avail_in;
    s->between = got == Z_STREAM_END;
    if (got != Z_OK && got != Z_STREAM_END && got != Z_BUF_ERROR) {
      return source_damaged(s, z->msg != NULL ? z->msg : "the gzip data is damaged", fail);
    }
  }
  return (ssize_t)(cap - z->avail_out);
}
#endif

#ifdef NAY_HAVE_ZSTD
static ssize_t source_unzstd(source *s, uint8_t *dst, size_t cap, char fail[SOURCE_FAIL]) {
  ZSTD_outBuffer to = {dst, cap, 0};
  while (to.pos == 0) {
    ssize_t more = source_refill(s, fail);
    if (more < 0) return -1;
    if (more == 0) return s->between ? 0 : source_damaged(s, "the zstd data ends too early", fail);
    ZSTD_inBuffer from = {s->in, s->len, s->at};
    size_t got = ZSTD_decompressStream(s->zstd, &to, &from);
    s->at = from.pos;
    s->between = got == 0;
    if (ZSTD_isError(got)) return source_damaged(s, ZSTD_getErrorName(got), fail);
  }
  return (ssize_t)to.pos;
}
#endif

ssize_t source_read(source *s, void *dst, size_t cap, char fail[SOURCE_FAIL]) {
#ifdef NAY_HAVE_ZLIB
  if (s->kind == SOURCE_GZIP) return source_gunzip(s, dst, cap < 1u << 30 ? cap : 1u << 30, fail);
#endif
#ifdef NAY_HAVE_ZSTD
  if (s->kind == SOURCE_ZSTD) return source_unzstd(s, dst, cap, fail);
#endif
  if (s->at == s->len) return source_raw(s, dst, cap, fail);
  size_t n = s->len - s->at < cap ? s->len - s->at : cap; /* what recognising has read */
  memcpy(dst, s->in + s->at, n);
  s->at += n;
  return (ssize_t)n;
}
