/* thread.c - see thread.h. Without threads (WebAssembly) the caller works alone. */
#include "os/thread.h"

#if !defined(__wasm__)
#include <pthread.h>

typedef struct thread_start {
  void (*work)(void *ctx, unsigned worker);
  void *ctx;
  unsigned worker;
} thread_start;

static void *thread_main(void *arg) {
  const thread_start *start = arg;
  start->work(start->ctx, start->worker);
  return NULL;
}

void nay__parallel(unsigned n, void (*work)(void *ctx, unsigned worker), void *ctx) {
  pthread_t threads[NAY_MAX_THREADS];
  thread_start starts[NAY_MAX_THREADS];
  unsigned running = 0;
  if (n > NAY_MAX_THREADS) n = NAY_MAX_THREADS;
  for (unsigned i = 1; i < n; i++) {
    starts[running] = (thread_start){work, ctx, i};
    if (pthread_create(&threads[running], NULL, thread_main, &starts[running]) != 0) break;
    running++;
  }
  work(ctx, 0);
  for (unsigned i = 0; i < running; i++) pthread_join(threads[i], NULL);
}

uint64_t nay__take(uint64_t *next) { return __atomic_fetch_add(next, 1, __ATOMIC_RELAXED); }

uint64_t nay__tally(uint64_t *sum, uint64_t more) {
  return __atomic_add_fetch(sum, more, __ATOMIC_RELAXED);
}

#else

void nay__parallel(unsigned n, void (*work)(void *ctx, unsigned worker), void *ctx) {
  (void)n;
  work(ctx, 0);
}

uint64_t nay__take(uint64_t *next) { return (*next)++; }

uint64_t nay__tally(uint64_t *sum, uint64_t more) { return *sum += more; }

#endif
