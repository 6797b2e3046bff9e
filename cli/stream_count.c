/*
 * stream_count.c - key files before they are read: whether they are there, how many bytes they
 * have, and how many keys, if they can be read twice, so that a filter can be sized.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codecs.h"
#include "key_files.h"
#include "stream.h"

#define COUNT_BYTES 131072u

static uint64_t count_byte(const uint8_t *p, size_t n, uint8_t byte) {
  uint64_t count = 0;
  for (size_t i = 0; i < n; i++) count += p[i] == byte;
  return count;
}

/* A text that is a byte order mark, and nothing else, has no lines. */
static bool count_is_mark(const uint8_t *p, size_t n, uint8_t terminator) {
  return terminator == '\n' && n == UTF8_MARK_LEN && memcmp(p, UTF8_MARK, n) == 0;
}

/* Counts the lines of an open file from its offset, without moving it. Binary files that were found
 * in a directory are skipped, as the stream does. */
static bool count_lines(int fd, uint8_t terminator, bool decompress, bool found, uint64_t *nkeys) {
  struct stat st;
  off_t at = lseek(fd, 0, SEEK_CUR);
  if (at < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) return false;
  uint8_t *bytes = must_alloc(COUNT_BYTES), last = terminator;
  ssize_t n;
  bool packed = false;
  for (off_t start = at; !packed && (n = pread(fd, bytes, COUNT_BYTES, at)) > 0; at += n) {
    bool more, first = at == start;
    packed = decompress && first && codec_recognise(bytes, (size_t)n, &more) != NULL;
    bool binary = found && decompress && terminator == '\n' && !packed;
    if (first && binary && memchr(bytes, '\0', n < 65536 ? (size_t)n : 65536) != NULL) break;
    *nkeys += count_byte(bytes, (size_t)n, terminator);
    if (!first || !count_is_mark(bytes, (size_t)n, terminator)) last = bytes[n - 1];
  }
  *nkeys += last != terminator;
  free(bytes);
  return !packed;
}

bool stream_count(const keys_options *keys, const char *const *paths, size_t n, uint64_t *nkeys) {
  key_reader reader = key_reader_new(keys);
  if (keys->args.n > 0) {
    for (size_t i = 0; i < keys->args.n; i++) {
      *nkeys += !reader.skip_empty || keys->args.at[i][0] != '\0';
    }
    return true;
  }
  key_reader_end(&reader);
  if (!reader.plain || reader.skip_empty) return false;
  static const char *const from_stdin[] = {"-"};
  const key_files *listed = keys->listed;
  if (listed != NULL && paths != (const char *const *)listed->paths) listed = NULL;
  if (n == 0 && listed == NULL) paths = from_stdin, n = 1;
  uint64_t sum = 0;
  for (size_t i = 0; i < n; i++) {
    struct stat st; /* opening a named pipe would wake up its writer */
    bool is_stdin = strcmp(paths[i], "-") == 0;
    if (!is_stdin && (stat(paths[i], &st) != 0 || !S_ISREG(st.st_mode))) return false;
    int fd = is_stdin ? STDIN_FILENO : open(paths[i], O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false; /* stream_open says why */
    bool found = listed != NULL && listed->found[i];
    bool ok = count_lines(fd, reader.terminator, !keys->no_decompress, found, &sum);
    if (!is_stdin) close(fd);
    if (!ok) return false;
  }
  *nkeys = sum;
  return true;
}

uint64_t stream_nbytes(const char *const *paths, size_t n) {
  uint64_t total = 0;
  for (size_t i = 0; i < n; i++) {
    struct stat st;
    bool is_stdin = strcmp(paths[i], "-") == 0;
    int got = is_stdin ? fstat(STDIN_FILENO, &st) : stat(paths[i], &st);
    if (got != 0 || !S_ISREG(st.st_mode)) return 0;
    total += (uint64_t)st.st_size;
  }
  return total;
}

source_use stream_use(const options *o, const keys_options *keys) {
  return (source_use){
      .wanted = "keys",
      .decompress = !keys->no_decompress,
      .has_no_decompress = option_is_taken(o->command, "no-decompress"),
      .has_element = keys->listed == NULL && option_is_taken(o->command, "element")};
}

void stream_must_exist(const options *o, const keys_options *keys, const char *const *paths,
                       size_t n) {
  source_use use = stream_use(o, keys);
  source_failure fail;
  for (size_t i = 0; i < n; i++) {
    if (!source_exists(paths[i], &use, &fail)) die(fail.status, "%s", fail.text);
  }
}
