/*
 * guard.c - calls of several Python threads on one filter.
 *
 * The counts change only while both the GIL and the mutex are held, so either is enough to read
 * them: calls look with the GIL, and those that wait look with the mutex. After a fork the threads
 * of the parent are gone: batches that only read are forgotten, and a filter in whose memory one
 * was writing cannot be used in the child.
 */
#include "binding.h"

static bool guard_orphaned(py_guard *g) {
  if (g->pid == getpid()) return true;
  if (g->writer) {
    PyErr_SetString(PyExc_RuntimeError,
                    "another thread was changing this filter when the process forked: its bytes "
                    "are half written");
    return false;
  }
  g->readers = g->waiting = 0;
  pthread_mutex_init(&g->mutex, NULL);
  pthread_cond_init(&g->idle, NULL);
  g->pid = getpid();
  return true;
}

static bool guard_busy(const py_guard *g, bool change) {
  return g->writer || (change ? g->readers != 0 : g->waiting != 0);
}

static void guard_count_waiting(py_guard *g, unsigned more) {
  pthread_mutex_lock(&g->mutex);
  g->waiting += more;
  pthread_cond_broadcast(&g->idle);
  pthread_mutex_unlock(&g->mutex);
}

bool py_wait(py_filter *self, bool change) {
  py_guard *g = &self->guard;
  while (guard_busy(g, change)) {
    if (!guard_orphaned(g)) return false;
    if (!guard_busy(g, change)) break;
    if (change) guard_count_waiting(g, 1);
    PyThreadState *state = PyEval_SaveThread();
    pthread_mutex_lock(&g->mutex);
    while (guard_busy(g, change)) pthread_cond_wait(&g->idle, &g->mutex);
    pthread_mutex_unlock(&g->mutex);
    PyEval_RestoreThread(state);
    if (change) guard_count_waiting(g, -1u);
  }
  if (self->filter != NULL) return true;
  PyErr_SetString(PyExc_ValueError, "the filter is closed");
  return false;
}

bool py_is_idle(const py_filter *self) { return !guard_busy(&self->guard, false); }

bool py_enter(py_filter *self, bool change) {
  if (!py_wait(self, change)) return false;
  py_guard *g = &self->guard;
  if (g->pid != getpid() && !guard_orphaned(g)) return false;
  pthread_mutex_lock(&g->mutex);
  if (change) {
    g->writer = true;
  } else {
    g->readers++;
  }
  pthread_mutex_unlock(&g->mutex);
  return true;
}

void py_leave(py_filter *self, bool change) {
  py_guard *g = &self->guard;
  pthread_mutex_lock(&g->mutex);
  if (change) {
    g->writer = false;
  } else {
    g->readers--;
  }
  pthread_cond_broadcast(&g->idle);
  pthread_mutex_unlock(&g->mutex);
}
