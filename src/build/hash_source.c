/* hash_source.c - see hash_source.h. */
#include "build/hash_source.h"

void nay__runs_read(const nay_run *runs, size_t nruns, uint64_t from, uint64_t to,
                    void (*each)(void *ctx, const uint64_t *hashes, size_t n), void *ctx) {
  uint64_t at = 0;
  for (size_t i = 0; i < nruns && at < to; at += runs[i++].n) {
    uint64_t lo = from > at ? from - at : 0, hi = nay__min_u64(runs[i].n, to - at);
    if (lo < hi) each(ctx, runs[i].at + lo, (size_t)(hi - lo));
  }
}
