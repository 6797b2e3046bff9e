/*
 * billion.c - a static filter of many keys (10^9 unless told) through a builder in the low-memory
 * mode: time, peak memory, and whether it answers. bench/peers/billion runs it.
 *
 *   billion [keys] [threads] [directory of the spill file] [fuse|ribbon]
 */
#include <string.h>

#include "peer_clock.h"

typedef struct peak {
  size_t live, most;
} peak;

static void *peak_alloc(void *ctx, size_t size) {
  peak *p = ctx;
  p->live += size;
  if (p->live > p->most) p->most = p->live;
  return malloc(size);
}

static void peak_free(void *ctx, void *ptr, size_t size) {
  peak *p = ctx;
  p->live -= size;
  free(ptr);
}

int main(int argc, char **argv) {
  uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000000;
  peak memory = {0, 0};
  nay_allocator allocator = {.alloc = peak_alloc, .free = peak_free, .ctx = &memory};
  nay_params p = {sizeof p, .kind = NAY_FUSE, .fpr = 1.0 / 256, .hash = NAY_HASH_CALLER};
  p.flags = NAY_LOW_MEMORY;
  p.threads = argc > 2 ? (uint32_t)atoi(argv[2]) : 2;
  p.spill_dir = argc > 3 ? argv[3] : NULL;
  if (argc > 4 && strcmp(argv[4], "ribbon") == 0) p.kind = NAY_RIBBON;
  nay_builder *b;
  nay_filter *f;
  double start = seconds();
  die_unless(nay_builder_new(&p, &allocator, NULL, &b) == NAY_OK, "cannot make the builder");
  for (uint64_t i = 0; i < n; i++) {
    die_unless(nay_builder_add_hash(b, (nay_hash){nay_hash_mix(i), 0}) == NAY_OK, "cannot add");
  }
  double added = seconds();
  die_unless(nay_builder_finish(b, NULL, &f) == NAY_OK, "cannot build");
  double built = seconds();
  nay_stats stats = {.size = sizeof stats};
  nay_filter_stats(f, &stats);
  uint64_t found = 0, maybes = 0, probes = n < 20000000 ? n : 20000000;
  for (uint64_t i = 0; i < probes; i++) {
    uint64_t present = (uint64_t)((double)n / (double)probes * (double)i);
    found += nay_filter_may_contain_hash(f, (nay_hash){nay_hash_mix(present), 0});
    maybes += nay_filter_may_contain_hash(f, (nay_hash){nay_hash_mix(n + i), 0});
  }
  printf("%llu keys, %u threads: %.1f s to add, %.1f s to build, %.1f ns per key\n",
         (unsigned long long)n, p.threads, added - start, built - added,
         (built - start) * 1e9 / (double)n);
  printf("%.3f bits per key; beside the filter at most %.2f bytes per key were held\n",
         (double)stats.nbits / (double)n,
         ((double)memory.most - (double)stats.nbits / 8) / (double)n);
  printf("%llu of %llu present keys found, rate %.4f %% (planned %.4f %%)\n",
         (unsigned long long)found, (unsigned long long)probes,
         100 * (double)maybes / (double)probes, 100 * stats.fpr_planned);
  nay_filter_free(f);
  nay_builder_free(b);
  return found == probes ? 0 : 1;
}
