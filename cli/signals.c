/* signals.c - what interrupting the program does. Only async-signal-safe calls in the handler. */
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "cli.h"

static volatile sig_atomic_t signals_seen, signals_gentle;
static const char *volatile signals_path;

static void signals_die(int number) {
  signal(number, SIG_DFL);
  raise(number);
}

static void signals_handle(int number) {
  const char *path = signals_path;
  if (signals_gentle && !signals_seen) {
    signals_seen = number; /* a second one is not gentle */
    return;
  }
  if (path != NULL) unlink(path);
  signals_die(number);
}

void signals_begin(void) {
  static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction action = {.sa_handler = signals_handle}; /* no SA_RESTART: reads must wake up */
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    struct sigaction old;
    bool ignored = sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == SIG_IGN;
    if (!ignored) sigaction(numbers[i], &action, NULL); /* nohup stays nohup */
  }
}

void signals_guard(const char *path) { signals_path = path; }
void signals_stop_gently(void) { signals_gentle = 1; }
bool stop_requested(void) { return signals_seen != 0; }

void signals_finish(void) {
  int number = signals_seen;
  if (number == 0) return;
  sigset_t one; /* a thread may have it blocked */
  sigemptyset(&one);
  sigaddset(&one, number);
  signal(number, SIG_DFL);
  raise(number);
  sigprocmask(SIG_UNBLOCK, &one, NULL);
}
