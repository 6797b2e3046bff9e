/* messages.c - what the program says on stderr, and how it ends on errors. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "output.h"
#include "progress.h"

static struct {
  const char *name;
  bool quiet;
} messages = {"", false};

void messages_begin(const char *name, bool quiet) {
  messages.name = name;
  messages.quiet = quiet;
}

/* One write for a line, so that lines of several processes do not mix. */
static void message_print(const char *format, va_list args) {
  char line[2048];
  size_t used =
      (size_t)snprintf(line, sizeof line, "nay%s%s: ", *messages.name ? " " : "", messages.name);
  int n = vsnprintf(line + used, sizeof line - used - 1, format, args);
  used += n < 0 ? 0 : (size_t)n;
  if (used > sizeof line - 2) used = sizeof line - 2;
  line[used++] = '\n';
  progress_clear();
  fwrite(line, 1, used, stderr);
}

void message(const char *format, ...) {
  if (messages.quiet) return;
  va_list args;
  va_start(args, format);
  message_print(format, args);
  va_end(args);
}

void message_error(const char *format, ...) {
  va_list args;
  va_start(args, format);
  message_print(format, args);
  va_end(args);
}

void die(int status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  out_flush_quietly();
  message_print(format, args);
  va_end(args);
  exit(status);
}

/* ---- did you mean ---- */

#define NEAREST_MAX 32

static unsigned nearest_min(unsigned a, unsigned b) { return a < b ? a : b; }

/* Edits between two short words: insert, delete, replace, swap of neighbours. */
static unsigned nearest_edits(const char *a, const char *b) {
  unsigned d[NEAREST_MAX + 1][NEAREST_MAX + 1];
  size_t na = strlen(a), nb = strlen(b);
  if (na > NEAREST_MAX || nb > NEAREST_MAX) return NEAREST_MAX;
  for (unsigned i = 0; i <= na; i++) d[i][0] = i;
  for (unsigned j = 0; j <= nb; j++) d[0][j] = j;
  for (size_t i = 1; i <= na; i++) {
    for (size_t j = 1; j <= nb; j++) {
      unsigned same = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = nearest_min(nearest_min(d[i - 1][j], d[i][j - 1]) + 1, d[i - 1][j - 1] + same);
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = nearest_min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[na][nb];
}

const char *nearest_word(const char *word, const char *const *candidates) {
  const char *best = NULL;
  unsigned limit = strlen(word) < 4 ? 2 : 3, least = limit; /* fewer edits than this */
  for (; *candidates != NULL; candidates++) {
    unsigned edits = nearest_edits(word, *candidates);
    if (edits < least) {
      least = edits;
      best = *candidates;
    }
  }
  return best;
}

/* ---- library errors ---- */

int exit_of(nay_status status) {
  switch (status) {
    case NAY_ECORRUPT:
    case NAY_EVERSION:
    case NAY_EFORMAT: return EXIT_DAMAGED;
    default: return EXIT_TROUBLE;
  }
}

int exit_worse(int a, int b) {
  if (a == EXIT_OVERFILLED) return b == EXIT_FOUND ? a : b;
  if (b == EXIT_OVERFILLED) return a == EXIT_FOUND ? b : a;
  return a > b ? a : b;
}

/* The fields of nay_params and nay_sst_plan_params that options set, by the names of those options,
 * and the call that a command makes. */
static const char *const message_fields[][2] = {
    {"nkeys", "-n"},
    {"max_nkeys", "--max-keys"},
    {"fpr", "-p"},
    {"bits_per_key", "-b"},
    {"nbytes", "-M"},
    {"k", "--probes"},
    {"fold", "--fold"},
    {"threads", "-T"},
    {"seed", "--seed"},
    {"nbits", "--nbits"},
    {"ratio", "--ratio"},
    {"nkeys_memtable", "--memtable"},
    {"nkeys_table", "--table-keys"},
    {"nruns_level0", "--flushes"},
    {"nay_params_plan", "nay plan"},
};

/* Replaces names of fields in a message of the library by options. Only whole words match. */
static void message_in_options(const char *what, char text[DIAG_TEXT]) {
  size_t used = 0;
  for (const char *p = what; *p != '\0' && used < DIAG_TEXT - 1;) {
    size_t len = strspn(p, "abcdefghijklmnopqrstuvwxyz_0123456789");
    const char *word = p;
    size_t shown = len > 0 ? len : 1;
    for (size_t i = 0; i < sizeof message_fields / sizeof message_fields[0]; i++) {
      const char *field = message_fields[i][0];
      bool first = p == what || (p - what > 3 && strncmp(p - 3, "or ", 3) == 0);
      bool verb = strcmp(field, "fold") == 0 && !first;
      if (len != strlen(field) || strncmp(p, field, len) != 0 || verb) continue;
      word = message_fields[i][1];
      shown = strlen(word);
    }
    if (shown > DIAG_TEXT - 1 - used) shown = DIAG_TEXT - 1 - used;
    memcpy(text + used, word, shown);
    used += shown;
    p += len > 0 ? len : 1;
  }
  text[used] = '\0';
}

const char *diag_text(nay_status status, const nay_diag *diag, char text[DIAG_TEXT]) {
  if (diag == NULL || diag->what == NULL) {
    snprintf(text, DIAG_TEXT, "%s", nay_status_text(status));
  } else if (diag->os_error != 0) {
    snprintf(text, DIAG_TEXT, "%s: %s", diag->what, strerror(diag->os_error));
  } else if (exit_of(status) == EXIT_DAMAGED) {
    snprintf(text, DIAG_TEXT, "%s (at byte %llu)", diag->what, (unsigned long long)diag->offset);
  } else {
    message_in_options(diag->what, text);
  }
  return text;
}

/* ---- memory ---- */

void *must_alloc(size_t size) {
  void *p = malloc(size != 0 ? size : 1);
  if (p == NULL) die(EXIT_TROUBLE, "out of memory (%zu bytes)", size);
  return p;
}

void *must_grow(void *p, size_t size) {
  p = realloc(p, size != 0 ? size : 1);
  if (p == NULL) die(EXIT_TROUBLE, "out of memory (%zu bytes)", size);
  return p;
}
