/* bulk_strategy.c - see bulk_strategy.h. */
#include "build/bulk_strategy.h"

#define BULK_THREAD_KEYS 32768u /* starting a thread for fewer does not pay */
/* Threads that own parts of a filter each read all hashes, 8 bytes a key. Past 8 threads that takes
 * longer than what they add saves: 2^24 keys on 16 cores, 525 M keys/s with 8 threads, 407 with 16.
 */
#define BULK_MAX_OWNERS 8u
#define BULK_ADDS_PER_LINE 4u              /* a partition is read for at least so many */
#define BULK_MAX_BYTES ((uint64_t)1 << 37) /* above, a location may need more than 32 bits */
#define BULK_SAMPLE 64u                    /* hashes that tell whether all are ascending */
#define BULK_GROUPS 8u                     /* of a static build with NAY_LOW_MEMORY */
#define BULK_MIN_GROUP_KEYS ((uint64_t)1 << 22)

/* Ascending hashes access the filter sequentially already. */
static bool bulk_ascending(const uint64_t *hashes, uint64_t n) {
  for (uint64_t i = 1; i < n && i < BULK_SAMPLE; i++) {
    if (hashes[i - 1] > hashes[i]) return false;
  }
  return true;
}

static bool bulk_partitioning_pays(const nay_filter *f, uint64_t n) {
  const nay_family_bulk *bulk = f->family->bulk;
  if (bulk == NULL || bulk->add_partition == NULL) return false;
  if (f->locks != NULL && bulk->add_held == NULL) return false;
  if ((f->flags & NAY_LOW_MEMORY) != 0) return false;
  uint64_t nbytes = f->nbytes;
  if (nbytes < NAY_OUT_OF_CACHE_BYTES || nbytes >= BULK_MAX_BYTES) return false;
  uint64_t lines = nbytes / NAY_CACHE_LINE;
  if (bulk->locate_bits != NULL) lines /= f->shape.k;
  return n / BULK_ADDS_PER_LINE >= lines;
}

unsigned nay__bulk_threads(unsigned max_threads, uint64_t n) {
  return (unsigned)nay__max_u64(1, nay__min_u64(max_threads, n / BULK_THREAD_KEYS));
}

nay_bulk_strategy nay__bulk_strategy(const nay_filter *f, uint64_t n, const uint64_t *sample,
                                     uint64_t nsample, unsigned max_threads) {
  const nay_family_bulk *bulk = f->family->bulk;
  bool divisible = bulk != NULL && bulk->add_part != NULL && f->locks == NULL;
  bool partitioned =
      bulk_partitioning_pays(f, n) && (sample == NULL || !bulk_ascending(sample, nsample));
  unsigned useful = partitioned || max_threads < BULK_MAX_OWNERS ? max_threads : BULK_MAX_OWNERS;
  return (nay_bulk_strategy){.nthreads = divisible ? nay__bulk_threads(useful, n) : 1,
                             .partitioned = partitioned};
}

uint64_t nay__bulk_group_keys(uint32_t flags, uint64_t n) {
  if ((flags & NAY_LOW_MEMORY) == 0) return UINT64_MAX;
  return nay__max_u64(BULK_MIN_GROUP_KEYS, n / BULK_GROUPS);
}
