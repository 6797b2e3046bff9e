/*
 * signals.c - what SIGINT, SIGTERM and SIGHUP do. Only async-signal-safe calls in the handler.
 *
 *   usually              the lock is released and the program dies of the signal
 *   a file is replaced   the signal is noted; producing stops, the file stays as it was, then the
 * program ends gently               the signal is noted; reading ends, all that was read is saved,
 * then death. Later signals change nothing: half a save would lose lines that are printed
 */
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "cli.h"

static volatile sig_atomic_t signals_first, signals_count, signals_gentle, signals_deferred;
static nay_filelock *volatile signals_lock;

static void signals_unlock(void) {
  nay_filelock *lock = signals_lock;
  signals_lock = NULL;
  if (lock != NULL) nay_file_unlock(lock);
}

static void signals_handle(int number) {
  if (signals_gentle || signals_deferred) {
    if (signals_first == 0) signals_first = number;
    if (signals_count < 2) signals_count++;
    return;
  }
  signals_unlock();
  signal(number, SIG_DFL);
  raise(number);
}

void signals_begin(void) {
  static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction action = {.sa_handler = signals_handle}; /* no SA_RESTART: reads must wake up */
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    struct sigaction old;
    bool ignored = sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == SIG_IGN;
    if (!ignored) sigaction(numbers[i], &action, NULL); /* nohup stays nohup */
  }
  signal(SIGUSR1, SIG_IGN); /* until there is progress to show */
  signal(SIGXFSZ, SIG_IGN); /* these two are errors of write: EFBIG, EPIPE */
  signal(SIGPIPE, SIG_IGN);
}

void signals_release(nay_filelock *lock) { signals_lock = lock; }
void signals_stop_gently(void) { signals_gentle = 1; }
bool stop_requested(void) { return signals_gentle != 0 && signals_first != 0; }
bool stop_insisted(void) { return signals_gentle != 0 && signals_count > 1; }
bool signals_abort(void) { return signals_gentle == 0 && signals_first != 0; }

void signals_defer(bool defer) {
  signals_deferred = defer;
  if (!defer && signals_abort()) signals_finish();
}

void signals_finish(void) {
  int number = signals_first;
  if (number == 0) return;
  signals_unlock();
  sigset_t one; /* a thread may have it blocked */
  sigemptyset(&one);
  sigaddset(&one, number);
  signal(number, SIG_DFL);
  raise(number);
  sigprocmask(SIG_UNBLOCK, &one, NULL);
}
