/*
 * threaded_add.c - bulk adds to a new filter by several threads.
 *
 * Partitioned: where the filter is larger than the LLC and its bytes do not depend on the order of
 * adds, each thread takes slices of the input and partitions them (partitioned_add.c).
 *
 * Owned: elsewhere the payload is divided into one part per thread; parts share no byte. Each
 * thread reads all hashes and adds those that fall into its part. Reading is sequential and costs
 * a nanosecond per key, so reading everything in every thread loses little, and nothing has to be
 * moved, locked or merged. A part gets its keys in the order of the input, as from one thread.
 *
 * Either way the bytes are the same for every number of threads.
 */
#include "build/threaded_add.h"

#include "build/bulk_strategy.h"
#include "build/partitioned_add.h"
#include "os/thread.h"

#define THREADED_SLICE 65536u /* hashes */

typedef struct threaded_job {
  nay_filter *f;
  const nay_run *runs;
  size_t nruns;
  uint64_t n;
  unsigned nthreads;
  nay_partitioner *partitioner; /* NULL: threads own parts */
  uint64_t next;                /* counter of parts or slices */
} threaded_job;

/* ---- owned parts ---- */

static void threaded_own_part(void *ctx, unsigned worker) {
  (void)worker;
  threaded_job *j = ctx;
  uint64_t part;
  while ((part = nay__take(&j->next)) < j->nthreads) {
    for (size_t i = 0; i < j->nruns; i++) {
      j->f->family->bulk->add_part(j->f, j->runs[i].at, j->runs[i].n, (unsigned)part, j->nthreads);
    }
  }
}

/* ---- partitioned slices ---- */

typedef struct threaded_worker {
  nay_partitioner *partitioner;
  unsigned worker;
} threaded_worker;

static void threaded_partition_piece(void *ctx, const uint64_t *hashes, size_t n) {
  const threaded_worker *w = ctx;
  nay__partitioner_add(w->partitioner, w->worker, hashes, n);
}

static void threaded_partition_slices(void *ctx, unsigned worker) {
  threaded_job *j = ctx;
  threaded_worker w = {j->partitioner, worker};
  uint64_t from;
  while ((from = nay__take(&j->next) * THREADED_SLICE) < j->n) {
    uint64_t to = nay__min_u64(j->n, from + THREADED_SLICE);
    nay__runs_read(j->runs, j->nruns, from, to, threaded_partition_piece, &w);
  }
  nay__partitioner_flush(j->partitioner, worker);
}

nay_status nay__threaded_add(nay_filter *f, const nay_run *runs, size_t nruns,
                             unsigned max_threads) {
  threaded_job job = {.f = f, .runs = runs, .nruns = nruns};
  for (size_t i = 0; i < nruns; i++) job.n += runs[i].n;
  if (job.n == 0) return NAY_OK;
  nay_bulk_strategy strategy = nay__bulk_strategy(f, job.n, runs[0].at, runs[0].n, max_threads);
  job.nthreads = strategy.nthreads;
  if (job.nthreads == 1) {
    for (size_t i = 0; i < nruns; i++) {
      NAY_TRY(nay_filter_add_hash_many(f, runs[i].at, NULL, (size_t)runs[i].n, NULL, NULL));
    }
    return NAY_OK;
  }
  /* without memory for the partitions, threads own parts */
  if (strategy.partitioned) (void)nay__partitioner_new(f, job.nthreads, &job.partitioner);
  bool partitioned = job.partitioner != NULL;
  nay__parallel(job.nthreads, partitioned ? threaded_partition_slices : threaded_own_part, &job);
  nay__partitioner_free(job.partitioner);
  return NAY_OK;
}
