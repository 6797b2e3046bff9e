/*
 * threaded_add.c - many hashes into a new filter, by several threads.
 *
 * Where the filter is far larger than the cache and the order of adds does not show (blocked), each
 * thread takes slices of the arrays and gathers their hashes by neighbourhood (partitioned_add.c).
 *
 * Elsewhere the payload is cut into as many parts as there are threads, which share no byte. Each
 * thread reads all hashes and adds what falls into its part: reading them is sequential and costs a
 * nanosecond a key, so little is lost by every thread reading everything, and nothing has to be
 * moved, locked or merged. A part gets its keys in the order of the arrays, as it does from one
 * thread.
 *
 * Either way the bytes are the same for every number of threads.
 */
#include "build/threaded_add.h"

#include "build/partitioned_add.h"
#include "filter.h"
#include "os/thread.h"

#define FILL_THREAD_KEYS 32768u /* for fewer a thread is not worth its start */
#define FILL_SLICE 65536u       /* hashes */

typedef struct fill_job {
  nay_filter *f;
  const nay_run *runs;
  size_t nruns;
  uint64_t n;
  unsigned nparts;
  nay_partitioner *spread;
  uint64_t next;
} fill_job;

/* ---- parts ---- */

static void fill_part_worker(void *ctx, unsigned worker) {
  (void)worker;
  fill_job *j = ctx;
  uint64_t part;
  while ((part = nay__take(&j->next)) < j->nparts) {
    for (size_t i = 0; i < j->nruns; i++) {
      j->f->family->fill_part(j->f, j->runs[i].at, j->runs[i].n, (unsigned)part, j->nparts);
    }
  }
}

/* ---- slices ---- */

typedef struct fill_hand {
  nay_partitioner *spread;
  unsigned worker;
} fill_hand;

static void fill_take_piece(void *ctx, const uint64_t *hashes, size_t n) {
  const fill_hand *hand = ctx;
  nay__partitioner_add(hand->spread, hand->worker, hashes, n);
}

static void fill_slice_worker(void *ctx, unsigned worker) {
  fill_job *j = ctx;
  fill_hand hand = {j->spread, worker};
  uint64_t from;
  while ((from = nay__take(&j->next) * FILL_SLICE) < j->n) {
    uint64_t to = nay__min_u64(j->n, from + FILL_SLICE);
    nay__runs_read(j->runs, j->nruns, from, to, fill_take_piece, &hand);
  }
  nay__partitioner_flush(j->spread, worker);
}

/* Without memory for it the parts will do. */
static void fill_make_spread(fill_job *j) {
  if (!nay__partitioner_pays(j->f, j->n) || nay__partitioner_ordered(j->runs[0].at, j->runs[0].n))
    return;
  (void)nay__partitioner_new(j->f, j->nparts, &j->spread);
}

nay_status nay__threaded_add(nay_filter *f, const nay_run *runs, size_t nruns, unsigned nthreads) {
  fill_job job = {.f = f, .runs = runs, .nruns = nruns};
  for (size_t i = 0; i < nruns; i++) job.n += runs[i].n;
  job.nparts = (unsigned)nay__min_u64(job.n / FILL_THREAD_KEYS, nthreads);
  if (job.nparts < 2 || f->family->fill_part == NULL || f->locks != NULL) {
    for (size_t i = 0; i < nruns; i++) {
      NAY_TRY(nay_filter_add_hash_many(f, runs[i].at, NULL, (size_t)runs[i].n, NULL));
    }
    return NAY_OK;
  }
  fill_make_spread(&job);
  nay__parallel(job.nparts, job.spread != NULL ? fill_slice_worker : fill_part_worker, &job);
  nay__partitioner_free(job.spread);
  return NAY_OK;
}
