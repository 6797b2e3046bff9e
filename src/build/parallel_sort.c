/* parallel_sort.c - one pass by the top byte, then threads take the 256 buckets. */
#include "build/parallel_sort.h"

#include "base/sort.h"
#include "os/thread.h"

typedef struct psort_job {
  uint64_t *words, next;
  size_t end[256];
} psort_job;

static void psort_worker(void *ctx, unsigned worker) {
  (void)worker;
  psort_job *s = ctx;
  uint64_t part;
  while ((part = nay__take(&s->next)) < 256) {
    size_t start = part == 0 ? 0 : s->end[part - 1];
    nay__sort_u64(s->words + start, s->end[part] - start);
  }
}

void nay__sort_parallel(uint64_t *words, size_t n, unsigned nthreads) {
  if (nthreads == 1) {
    nay__sort_u64(words, n);
    return;
  }
  psort_job s = {.words = words};
  nay__sort_split_u64(words, n, s.end);
  nay__parallel(nthreads, psort_worker, &s);
}
