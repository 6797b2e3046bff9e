/* progress.c - see progress.h. */
#include "progress.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "numbers.h"

#define PROGRESS_WAIT 0.5  /* a job that is over by then needs no bar */
#define PROGRESS_EVERY 0.1 /* ten times a second is as fast as people read */

static struct {
  bool on, shown;
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

void progress_begin(progress_mode mode, uint64_t total) {
  progress.on = mode == PROGRESS_ALWAYS || (mode == PROGRESS_AUTO && isatty(STDERR_FILENO) == 1);
  progress.shown = false;
  progress.started = now_seconds();
  progress.next = progress.started + PROGRESS_WAIT;
  progress.total = total;
  struct sigaction action = {.sa_handler = progress_ask, .sa_flags = SA_RESTART};
  sigaction(SIGUSR1, &action, NULL);
}

static void progress_bar(char *text, size_t cap, double part) {
  char bar[21];
  for (int i = 0; i < 20; i++) bar[i] = i < (int)(part * 20) ? '#' : '-';
  bar[20] = '\0';
  snprintf(text, cap, "[%s] %3.0f %%  ", bar, part * 100);
}

static void progress_line(char *line, size_t cap, uint64_t bytes, uint64_t keys, double seconds) {
  char bar[48] = "", eta[32] = "", nkeys[NUMBER_TEXT], size[NUMBER_TEXT];
  if (progress.total > 0 && bytes > 0) {
    double part = (double)bytes / (double)progress.total;
    if (part > 1) part = 1;
    progress_bar(bar, sizeof bar, part);
    double left = seconds / part - seconds;
    snprintf(eta, sizeof eta, ", %.0f s left", left);
  }
  snprintf(line, cap, "%s%s keys, %s, %.1f M keys/s%s", bar, count_text((double)keys, nkeys),
           size_text(bytes, size), (double)keys / seconds * 1e-6, eta);
}

void progress_update(uint64_t bytes, uint64_t keys) {
  if (!progress.on && !progress_asked) return;
  double now = now_seconds();
  if (!progress_asked && now < progress.next) return;
  char line[200];
  progress_line(line, sizeof line, bytes, keys, now - progress.started);
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
