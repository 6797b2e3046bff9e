/* source.c - see source.h. */
#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "binary.h"
#include "cli.h"
#include "codecs.h"
#include "descriptors.h"

#define SOURCE_CAP 65536u

struct source {
  int fd;
  const char *name;
  const codec *codec; /* NULL: plain */
  void *state;        /* of the codec */
  uint64_t position;
  uint8_t in[SOURCE_CAP]; /* read but not yet returned or decompressed */
  size_t at, len;
  bool between;    /* packed: at the border of two members or frames */
  bool skips_mark; /* at its start: a byte order mark may come */
};

void source_fail(source_failure *fail, int status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(fail->text, sizeof fail->text, format, args);
  va_end(args);
  fail->status = status;
  fail->binary = false;
}

uint64_t source_position(const source *s) { return s->position; }

/*
 * Waits for bytes, checking every 0.2 s whether a signal asked the program to stop: a signal that
 * comes just before read would otherwise not wake it. False when it is to stop.
 */
static bool source_wait(const source *s) {
  struct pollfd p = {.fd = s->fd, .events = POLLIN};
  while (!stop_requested()) {
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before);
    int ready = poll(&p, 1, 200);
    pthread_setcancelstate(before, NULL);
    if (ready > 0) return true;
  }
  return false;
}

/* A named pipe that no one writes to makes open(2) wait. */
static int source_open_file(const char *path) {
  int before;
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  pthread_setcancelstate(before, NULL);
  return fd;
}

static ssize_t source_raw(source *s, void *dst, size_t cap, source_failure *fail) {
  ssize_t n = -1;
  do {
    if (!source_wait(s)) return 0; /* asked to stop: as if the input ended here */
    n = read(s->fd, dst, cap);
  } while (n < 0 && errno == EINTR);
  if (n < 0) {
    source_fail(fail, EXIT_TROUBLE, "cannot read %s: %s", s->name, descriptor_error(s->fd, errno));
  }
  if (n > 0) s->position += (uint64_t)n;
  return n;
}

/* More packed bytes into s->in; 0 at the end. */
static ssize_t source_refill(source *s, source_failure *fail) {
  if (s->at < s->len) return 1;
  ssize_t n = source_raw(s, s->in, SOURCE_CAP, fail);
  s->at = 0;
  s->len = n > 0 ? (size_t)n : 0;
  return n;
}

static bool source_is_binary(const source *s, const source_use *use, const binary_format *is,
                             source_failure *fail) {
  source_fail(fail, EXIT_TROUBLE, "%s is %s, not %s in lines: %s%s", s->name, is->name, use->wanted,
              is->command, use->has_no_decompress ? AS_KEYS : "");
  fail->binary = true;
  return false;
}

/* A filter of another system, by the numbers that it starts with and the length of the file, or a
 * file that holds filters. */
static bool source_is_foreign(const source *s, const source_use *use, source_failure *fail) {
  struct stat st;
  if (fstat(s->fd, &st) != 0 || !S_ISREG(st.st_mode)) return false;
  bool likely;
  uint64_t nbytes = (uint64_t)st.st_size;
  const nay_format *is = nay_format_recognise(s->in, s->len, nbytes, &likely);
  const char *container = binary_container(s->fd, s->in, s->len, nbytes);
  const char *hint = use->has_no_decompress ? "; --no-decompress reads its bytes as keys" : "";
  if (container != NULL) {
    source_fail(fail, EXIT_TROUBLE, "%s is probably %s, not %s%s", s->name, container, use->wanted,
                hint);
  } else if (is != NULL) {
    source_fail(fail, EXIT_TROUBLE, "%s is probably a filter (%s), not %s%s", s->name,
                nay_format_name(is), use->wanted, hint);
  } else {
    return false;
  }
  fail->binary = true;
  return true;
}

/* Reads until the first bytes identify the codec, if any. A filter is no file of keys. */
static bool source_recognise(source *s, const source_use *use, source_failure *fail) {
  const binary_format *binary = NULL;
  for (bool more = true; more;) {
    ssize_t n = source_raw(s, s->in + s->len, SOURCE_CAP - s->len, fail);
    if (n < 0) return false;
    s->len += (size_t)n;
    s->codec = codec_recognise(s->in, s->len, &more);
    if (use->text) binary = binary_recognise(s->in, s->len, &more);
    if (n == 0 || s->codec != NULL || binary != NULL) break;
  }
  if (s->codec == NULL && binary != NULL) return source_is_binary(s, use, binary, fail);
  const nay_format *is =
      s->codec == NULL ? nay_format_recognise(s->in, s->len, s->len, NULL) : NULL;
  if (is == NULL || strcmp(nay_format_name(is), "nay") != 0) {
    return s->codec != NULL || !use->text || !source_is_foreign(s, use, fail);
  }
  source_fail(fail, EXIT_TROUBLE, "%s is a filter, not %s%s", s->name, use->wanted,
              use->has_no_decompress ? "; --no-decompress reads its bytes as keys" : "");
  fail->binary = true;
  return false;
}

static bool source_start_codec(source *s, const source_use *use, source_failure *fail) {
  const codec *c = s->codec;
  s->between = true;
  if (c->open != NULL) s->state = c->open();
  if (s->state != NULL) return true;
  if (c->open != NULL) {
    source_fail(fail, EXIT_TROUBLE, "cannot decompress %s: out of memory", s->name);
  } else {
    source_fail(fail, EXIT_TROUBLE,
                "%s is compressed by %s, which this program cannot decompress: %s FILE | nay ...%s",
                s->name, c->name, c->command, use->has_no_decompress ? AS_KEYS : "");
  }
  return false;
}

/* A word that names no file may be meant as a key. */
static void source_cannot_open(const char *path, const source_use *use, int error,
                               source_failure *fail) {
  bool is_key = error == ENOENT && use->has_element && strchr(path, '\'') == NULL;
  source_fail(fail, EXIT_TROUBLE, "cannot open %s: %s%s%s%s", path, strerror(error),
              is_key ? "; if it is a key, not a file: -e '" : "", is_key ? path : "",
              is_key ? "'" : "");
}

bool source_exists(const char *path, const source_use *use, source_failure *fail) {
  if (strcmp(path, "-") == 0 || access(path, R_OK) == 0) return true;
  source_cannot_open(path, use, errno, fail);
  return false;
}

bool source_open(const char *path, const source_use *use, source **opened, source_failure *fail) {
  *opened = NULL;
  bool is_stdin = strcmp(path, "-") == 0;
  int fd = is_stdin ? STDIN_FILENO : source_open_file(path);
  struct stat st;
  if (fd < 0) {
    source_cannot_open(path, use, errno, fail);
    return false;
  }
  if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
    source_fail(fail, EXIT_TROUBLE, "%s is a directory", path);
    if (!is_stdin) close(fd);
    return false;
  }
  source *s = calloc(1, sizeof *s);
  if (s == NULL) {
    source_fail(fail, EXIT_TROUBLE, "out of memory");
    if (!is_stdin) close(fd);
    return false;
  }
  *opened = s;
  s->fd = fd;
  s->name = is_stdin ? "standard input" : path;
  s->skips_mark = use->skips_mark;
#ifdef POSIX_FADV_SEQUENTIAL
  posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
#endif
  bool ok = !use->decompress || source_recognise(s, use, fail);
  if (ok && s->codec != NULL) ok = source_start_codec(s, use, fail);
  if (ok) return true;
  *opened = NULL;
  source_close(s);
  return false;
}

void source_close(source *s) {
  if (s == NULL) return;
  if (s->state != NULL) s->codec->close(s->state);
  if (s->fd != STDIN_FILENO) close(s->fd);
  free(s);
}

static ssize_t source_cannot_unpack(const source *s, int status, const char *what,
                                    source_failure *fail) {
  source_fail(fail, status, "cannot decompress %s: %s", s->name, what);
  return -1;
}

/* One loop for all codecs: at least one byte, or 0 at the end of the last member. */
static ssize_t source_unpack(source *s, uint8_t *dst, size_t cap, source_failure *fail) {
  for (;;) {
    ssize_t more = source_refill(s, fail);
    if (more < 0) return -1;
    if (more == 0 && (s->between || stop_requested())) return 0;
    codec_io io = {.in = s->in + s->at,
                   .in_len = s->len - s->at,
                   .out = dst,
                   .out_len = cap,
                   .last = more == 0};
    codec_result got = s->codec->step(s->state, &io);
    s->at = s->len - io.in_len;
    s->between = got == CODEC_END;
    if (got == CODEC_BAD) return source_cannot_unpack(s, EXIT_DAMAGED, io.why, fail);
    if (got == CODEC_REFUSED) return source_cannot_unpack(s, EXIT_TROUBLE, io.why, fail);
    if (io.out_len < cap) return (ssize_t)(cap - io.out_len);
    if (more == 0 && got == CODEC_MORE) {
      char why[64];
      snprintf(why, sizeof why, "the %s data is truncated", s->codec->name);
      return source_cannot_unpack(s, EXIT_DAMAGED, why, fail);
    }
  }
}

static ssize_t source_next(source *s, uint8_t *dst, size_t cap, source_failure *fail) {
  if (s->codec != NULL) return source_unpack(s, dst, cap, fail);
  if (s->at == s->len) return source_raw(s, dst, cap, fail);
  size_t n = s->len - s->at < cap ? s->len - s->at : cap; /* what recognising has read */
  memcpy(dst, s->in + s->at, n);
  s->at += n;
  return (ssize_t)n;
}

/* The first bytes of a text, without a byte order mark, which may come in pieces. */
static ssize_t source_first(source *s, uint8_t *dst, size_t cap, source_failure *fail) {
  size_t have = 0;
  ssize_t n;
  do {
    n = source_next(s, dst + have, cap - have, fail);
    if (n < 0) return n;
    have += (size_t)n;
  } while (n > 0 && have < UTF8_MARK_LEN && memcmp(dst, UTF8_MARK, have) == 0);
  s->skips_mark = false;
  if (have < UTF8_MARK_LEN || memcmp(dst, UTF8_MARK, UTF8_MARK_LEN) != 0) return (ssize_t)have;
  have -= UTF8_MARK_LEN;
  memmove(dst, dst + UTF8_MARK_LEN, have);
  return have > 0 ? (ssize_t)have : source_next(s, dst, cap, fail);
}

ssize_t source_read(source *s, void *dst, size_t cap, source_failure *fail) {
  return s->skips_mark ? source_first(s, dst, cap, fail) : source_next(s, dst, cap, fail);
}

const char *source_unpack_command(const source *s) {
  return s->codec != NULL ? s->codec->command : NULL;
}

bool source_is_idle(const source *s) {
  struct pollfd p = {.fd = s->fd, .events = POLLIN};
  return s->at == s->len && poll(&p, 1, 0) == 0;
}

bool source_whole(source *s, source_failure *fail) {
  uint8_t rest[4096];
  ssize_t n = s->codec != NULL ? 1 : 0;
  while (n > 0) n = source_read(s, rest, sizeof rest, fail);
  return n == 0;
}
