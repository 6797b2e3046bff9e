/* output.c - see output.h. One buffer in front of stdout, written by write(2) so errors are ours.
 */
#include "output.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli.h"
#include "descriptors.h"
#include "progress.h"

#define OUT_CAP 131072u

static struct {
  uint8_t bytes[OUT_CAP];
  size_t used;
  bool terminal, color, failed;
} out;

static bool out_env(const char *name) {
  const char *value = getenv(name);
  return value != NULL && *value != '\0';
}

void out_begin(color_mode mode) {
  out.terminal = isatty(STDOUT_FILENO) == 1;
  const char *term = getenv("TERM");
  bool dumb = term == NULL || strcmp(term, "dumb") == 0;
  if (mode != COLOR_AUTO) {
    out.color = mode == COLOR_ALWAYS;
  } else if (out_env("NO_COLOR")) {
    out.color = false;
  } else if (out_env("CLICOLOR_FORCE")) {
    out.color = true;
  } else {
    out.color = out.terminal && !dumb;
  }
}

/*
 * The reader of stdout is stuck and a second signal arrived: the write may never end. Saving the
 * state now would lose the lines that are not written; without it they are printed again.
 */
static void out_insisted(void) {
  struct pollfd p = {.fd = STDOUT_FILENO, .events = POLLOUT};
  if (!stop_insisted() || poll(&p, 1, 0) != 0) return;
  out.failed = true;
  message_error("standard output is blocked: the state is not saved, lines may appear again");
  signals_finish();
}

/* Writes it all; false with errno set when the system refuses. */
static bool out_write(const uint8_t *bytes, size_t len) {
  progress_make_way();
  while (len > 0) {
    ssize_t n = write(STDOUT_FILENO, bytes, len);
    if (n < 0 && errno == EINTR) {
      out_insisted();
      continue;
    }
    if (n < 0) return false;
    bytes += n;
    len -= (size_t)n;
  }
  return true;
}

static void out_must_write(const void *bytes, size_t len) {
  if (out_write(bytes, len)) return;
  out.failed = true;
  if (errno == EPIPE) exit(EXIT_PIPE);
  die(EXIT_TROUBLE, "cannot write to standard output: %s", descriptor_error(STDOUT_FILENO, errno));
}

void out_flush(void) {
  size_t used = out.used;
  out.used = 0;
  if (used > 0) out_must_write(out.bytes, used);
}

void out_flush_quietly(void) {
  if (!out.failed && out.used > 0) out_write(out.bytes, out.used);
  out.used = 0;
}

void out_bytes(const void *bytes, size_t len) {
  if (len > OUT_CAP - out.used) {
    out_flush();
    if (len >= OUT_CAP) {
      out_must_write(bytes, len);
      return;
    }
  }
  memcpy(out.bytes + out.used, bytes, len);
  out.used += len;
}

void out_text(const char *format, ...) {
  char text[4096];
  va_list args;
  va_start(args, format);
  int n = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (n > 0) out_bytes(text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

bool out_is_terminal(void) { return out.terminal; }

bool out_is_utf8(void) {
  const char *names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
  for (int i = 0; i < 3; i++) {
    if (!out_env(names[i])) continue;
    const char *value = getenv(names[i]);
    return strstr(value, "UTF-8") != NULL || strstr(value, "utf8") != NULL;
  }
  return false;
}

unsigned out_width(void) {
  struct winsize size;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20) return size.ws_col;
  return 80;
}

const char *paint(paint_style style) {
  static const char *const codes[] = {"\x1b[0m",  "\x1b[1m",  "\x1b[2m",
                                      "\x1b[32m", "\x1b[31m", "\x1b[36m"};
  return out.color ? codes[style] : "";
}

/* ---- escaping ---- */

size_t utf8_printable(const uint8_t *p, size_t len) {
  if (p[0] < 0x80) return p[0] >= 0x20 && p[0] != 0x7f ? 1 : 0;
  size_t need = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
  static const uint32_t least[] = {0, 0, 0xa0, 0x800, 0x10000}; /* below 0xa0: C1 controls */
  if (p[0] < 0xc2 || p[0] > 0xf4 || need > len) return 0;
  uint32_t code = p[0] & (0x7fu >> need);
  for (size_t i = 1; i < need; i++) {
    if ((p[i] & 0xc0) != 0x80) return 0;
    code = code << 6 | (p[i] & 0x3f);
  }
  bool surrogate = code >= 0xd800 && code < 0xe000;
  return code < least[need] || code > 0x10ffff || surrogate ? 0 : need;
}

void out_record(const uint8_t *record, size_t len) {
  if (!out.terminal) {
    out_bytes(record, len);
    return;
  }
  for (size_t i = 0; i < len;) {
    size_t n = utf8_printable(record + i, len - i);
    bool layout = record[i] == '\t' || (record[i] == '\n' && i + 1 == len);
    if (n == 0 && layout) n = 1;
    if (n == 0) out_text("\\x%02x", record[i]);
    if (n != 0) out_bytes(record + i, n);
    i += n == 0 ? 1 : n;
  }
}

const char *escape_text(const uint8_t *bytes, size_t len, char *text, size_t cap) {
  size_t used = 0;
  for (size_t i = 0; i < len;) {
    if (used + 9 > cap) {
      strcpy(text + used, "...");
      return text;
    }
    size_t n = utf8_printable(bytes + i, len - i);
    if (n == 0) {
      used += (size_t)snprintf(text + used, 5, "\\x%02x", bytes[i++]);
    } else {
      memcpy(text + used, bytes + i, n);
      used += n;
      i += n;
    }
  }
  text[used] = '\0';
  return text;
}
