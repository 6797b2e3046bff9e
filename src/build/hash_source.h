/* hash_source.h - where a build reads its hashes: arrays in memory, and a temporary file. */
#ifndef NAY_HASH_SOURCE_H
#define NAY_HASH_SOURCE_H

#include "build/hash_spill.h"

/* nay_run: an array of hashes. */
typedef struct nay_run {
  const uint64_t *at;
  size_t n;
} nay_run;

/* nay__runs_read: hashes [from, to) of the concatenated runs, one call of `each` per run. */
void nay__runs_read(const nay_run *runs, size_t nruns, uint64_t from, uint64_t to,
                    void (*each)(void *ctx, const uint64_t *hashes, size_t n), void *ctx);

/* nay_source: all hashes of a build, duplicates included. A build reads them several times. */
typedef struct nay_source {
  const nay_run *runs;
  size_t nruns;
  nay_hash_spill *spill; /* more hashes, in a temporary file; or NULL */
  uint64_t n;            /* in all */
} nay_source;

#endif /* NAY_HASH_SOURCE_H */
