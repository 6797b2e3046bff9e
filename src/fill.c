/*
 * fill.c - many hashes into a new filter, by several threads.
 *
 * The payload is cut into as many parts as there are threads, which share no byte. Each thread
 * reads all hashes and adds what falls into its part: reading them is sequential and costs a
 * nanosecond a key, adding is random and costs ten, so little is lost by every thread reading
 * everything, and nothing has to be moved, locked or merged. A part gets its keys in the order of
 * the arrays, as it does from one thread: the bytes are the same for every number of threads.
 */
#include "fill.h"

#include "filter.h"
#include "os/thread.h"

#define FILL_THREAD_KEYS 32768u /* for fewer a thread is not worth its start */

typedef struct fill_job {
  nay_filter *f;
  const nay_run *runs;
  size_t nruns;
  unsigned nparts;
  uint64_t next;
} fill_job;

static void fill_worker(void *ctx, unsigned worker) {
  (void)worker;
  fill_job *j = ctx;
  uint64_t part;
  while ((part = nay__take(&j->next)) < j->nparts) {
    for (size_t i = 0; i < j->nruns; i++) {
      j->f->family->fill_part(j->f, j->runs[i].at, j->runs[i].n, (unsigned)part, j->nparts);
    }
  }
}

nay_status nay__fill(nay_filter *f, const nay_run *runs, size_t nruns, unsigned nthreads) {
  uint64_t n = 0;
  for (size_t i = 0; i < nruns; i++) n += runs[i].n;
  uint64_t nparts = n / FILL_THREAD_KEYS < nthreads ? n / FILL_THREAD_KEYS : nthreads;
  if (nparts < 2 || f->family->fill_part == NULL || f->locks != NULL) {
    for (size_t i = 0; i < nruns; i++) {
      NAY_TRY(nay_filter_add_hash_many(f, runs[i].at, NULL, (size_t)runs[i].n, NULL));
    }
    return NAY_OK;
  }
  fill_job job = {f, runs, nruns, (unsigned)nparts, 0};
  nay__parallel(job.nparts, fill_worker, &job);
  return NAY_OK;
}
