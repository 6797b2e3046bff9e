/* progress.c - see progress.h. */
#include "progress.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "numbers.h"

#define PROGRESS_WAIT 0.5  /* a job that is over by then needs no bar */
#define PROGRESS_EVERY 0.1 /* ten updates a second */

static struct {
  bool on, shown, over_output; /* stdout goes to the same terminal */
  double started, next;
  uint64_t total;
} progress;

static volatile sig_atomic_t progress_asked;

static void progress_ask(int signal_number) {
  (void)signal_number;
  progress_asked = 1;
}

double now_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool progress_shares_terminal(void) {
  struct stat out, err;
  return isatty(STDOUT_FILENO) == 1 && isatty(STDERR_FILENO) == 1 &&
         fstat(STDOUT_FILENO, &out) == 0 && fstat(STDERR_FILENO, &err) == 0 &&
         out.st_rdev == err.st_rdev;
}

void progress_begin(progress_mode mode, uint64_t total) {
  progress.over_output = progress_shares_terminal();
  progress.on = mode == PROGRESS_ALWAYS || (mode == PROGRESS_AUTO && isatty(STDERR_FILENO) == 1);
  progress.shown = false;
  progress.started = now_seconds();
  progress.next = progress.started + PROGRESS_WAIT;
  progress.total = total;
  struct sigaction action = {.sa_handler = progress_ask, .sa_flags = SA_RESTART};
  sigaction(SIGUSR1, &action, NULL);
}

/* Columns for the line: the last one stays free, where terminals would wrap. SIZE_MAX: a file. */
static size_t progress_width(void) {
  struct winsize size;
  if (isatty(STDERR_FILENO) != 1) return SIZE_MAX;
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 79;
  return (size_t)size.ws_col - 1;
}

static void progress_bar(char *text, size_t cap, double part) {
  char bar[21];
  for (int i = 0; i < 20; i++) bar[i] = i < (int)(part * 20) ? '#' : '-';
  bar[20] = '\0';
  snprintf(text, cap, "[%s] ", bar);
}

static void progress_speed(char *text, size_t cap, double keys_per_second) {
  if (keys_per_second >= 1e5) {
    snprintf(text, cap, "%.1f M keys/s", keys_per_second * 1e-6);
  } else {
    snprintf(text, cap, "%s/s", COUNTED(keys_per_second, "key"));
  }
}

/* The parts of the line that fit, in the order of their importance; at least the first, cut. */
static void progress_line(char *line, size_t cap, size_t width, uint64_t bytes, uint64_t keys,
                          double seconds) {
  char bar[48] = "", percent[16] = "", parts[4][NUMBER_TEXT + 24] = {"", "", "", ""};
  counted_text((double)keys, "key", parts[0], sizeof parts[0]);
  size_text(bytes, parts[1]);
  progress_speed(parts[2], sizeof parts[2], (double)keys / seconds);
  if (progress.total > 0 && bytes > 0) {
    double part = (double)bytes / (double)progress.total;
    if (part > 1) part = 1;
    progress_bar(bar, sizeof bar, part);
    snprintf(percent, sizeof percent, "%3.0f%%  ", part * 100);
    snprintf(parts[3], sizeof parts[3], "%.0f s left", seconds / part - seconds);
  }
  size_t all = strlen(bar) + strlen(percent), used = 0;
  for (unsigned i = 0; i < 4; i++) all += strlen(parts[i]) + 2;
  if (all - 2 <= width) used += (size_t)snprintf(line, cap, "%s", bar);
  used += (size_t)snprintf(line + used, cap - used, "%s", percent);
  for (unsigned i = 0; i < 4; i++) {
    bool fits = used + strlen(parts[i]) + 2 <= width;
    if (parts[i][0] == '\0' || (i > 0 && !fits)) continue;
    used += (size_t)snprintf(line + used, cap - used, "%s%s", i > 0 ? ", " : "", parts[i]);
  }
  if (used > width) line[width] = '\0';
}

void progress_update(uint64_t bytes, uint64_t keys) {
  if (!progress.on && !progress_asked) return;
  double now = now_seconds();
  if (!progress_asked && now < progress.next) return;
  char line[200];
  size_t width = progress.on ? progress_width() : SIZE_MAX;
  progress_line(line, sizeof line, width, bytes, keys, now - progress.started);
  if (progress.on) {
    fprintf(stderr, "\r\x1b[K%s", line);
    progress.shown = true;
  } else {
    fprintf(stderr, "nay: %s\n", line);
  }
  progress_asked = 0;
  progress.next = now + PROGRESS_EVERY;
}

void progress_clear(void) {
  if (progress.shown) fputs("\r\x1b[K", stderr);
  progress.shown = false;
}

void progress_make_way(void) {
  if (progress.over_output) progress_clear();
}
