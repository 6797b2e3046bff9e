/*
 * fuse_peer.c - nay's fuse beside xor_singleheader's binary_fuse8: build and probe, one table row
 * for each number of keys given. An adapter: whoever has the library builds it, with the header's
 * directory on the include path and PEER_NAME as the name in the table.
 *
 * As shipped, binary_fuse8_populate cuts i * size to 32 bits before the shift by blockBits, and
 * large sets take far longer to build: 168 ns per key at 10^7 where a copy with the cast around the
 * shift, as binary_fuse16_populate has it, takes 66. That copy is the fairer peer.
 */
#include <string.h>

#include <binaryfusefilter.h>

#include "peer_clock.h"

#define PROBES ((size_t)10000000)

static void row(size_t n, const char *who, double build, double one, double batch, double bits) {
  printf("%11zu  %-22s %8.1f %8.1f %8.1f %8.3f\n", n, who, build, one, batch, bits);
  fflush(stdout);
}

/* Half of the probes are keys of the set, in random order with the others. */
static uint64_t *make_probes(const uint64_t *keys, size_t n) {
  uint64_t *probes = make_keys(PROBES, 7);
  for (size_t i = 0; i < PROBES; i++) {
    uint64_t r = nay_hash_mix(i ^ 0x5555);
    if (r & 1) probes[i] = keys[(r >> 1) % n];
  }
  return probes;
}

static void run_peer(const uint64_t *keys, size_t n, const uint64_t *probes, int rounds) {
  uint64_t *copy = malloc(n * sizeof *copy); /* it may reorder its input */
  binary_fuse8_t f;
  size_t hits = 0;
  if (copy == NULL) exit(2);
  double build = 1e300;
  for (int r = 0; r < rounds; r++) {
    memcpy(copy, keys, n * sizeof *copy);
    double start = seconds();
    die_unless(binary_fuse8_allocate((uint32_t)n, &f), "peer: allocate");
    die_unless(binary_fuse8_populate(copy, (uint32_t)n, &f), "peer: populate failed");
    double took = (seconds() - start) * 1e9 / (double)n;
    if (took < build) build = took;
    if (r + 1 < rounds) binary_fuse8_free(&f);
  }
  double one = BEST_OF(
      3, PROBES,
      for (size_t i = 0; i < PROBES; i++) { hits += binary_fuse8_contain(probes[i], &f); });
  die_unless(hits >= 3 * (PROBES / 2 - 5000), "peer: too few hits");
  row(n, PEER_NAME, build, one, one, 8.0 * (double)binary_fuse8_size_in_bytes(&f) / (double)n);
  binary_fuse8_free(&f);
  free(copy);
}

static void run_nay(const uint64_t *keys, size_t n, const uint64_t *probes, int rounds, uint32_t k,
                    uint32_t threads, uint32_t flags, const char *who) {
  nay_params p = {sizeof p, .kind = NAY_FUSE, .fpr = 1.0 / 256, .k = k, .hash = NAY_HASH_CALLER};
  p.threads = threads;
  p.flags = flags;
  nay_filter *f = NULL;
  size_t hits = 0;
  double build = BEST_OF(rounds, n, {
    nay_filter_free(f);
    die_unless(nay_filter_build(&p, keys, n, NULL, NULL, &f) == NAY_OK, "nay: build failed");
  });
  double one = BEST_OF(
      3, PROBES, for (size_t i = 0; i < PROBES; i++) {
        hits += nay_filter_may_contain_hash(f, (nay_hash){probes[i], 0});
      });
  uint64_t *bitmap = malloc(PROBES / 8 + 8);
  if (bitmap == NULL) exit(2);
  double batch = BEST_OF(3, PROBES, {
    die_unless(nay_filter_may_contain_hash_many(f, probes, NULL, PROBES, bitmap) == NAY_OK, "nay");
  });
  die_unless(hits >= 3 * (PROBES / 2 - 5000), "nay: too few hits");
  nay_stats stats = {.size = sizeof stats};
  nay_filter_stats(f, &stats);
  row(n, who, build, one, batch, (double)stats.nbits / (double)n);
  free(bitmap);
  nay_filter_free(f);
}

int main(int argc, char **argv) {
  printf("%11s  %-22s %8s %8s %8s %8s\n", "keys", "", "build ns", "one ns", "batch ns", "bits/key");
  for (int i = 1; i < argc; i++) {
    size_t n = (size_t)strtoull(argv[i], NULL, 10);
    int rounds = n >= 50000000 ? 1 : n >= 5000000 ? 3 : 5;
    uint64_t *keys = make_keys(n, 0), *probes = make_probes(keys, n);
    run_peer(keys, n, probes, rounds);
    run_nay(keys, n, probes, rounds, 3, 1, 0, "nay fuse-3");
    run_nay(keys, n, probes, rounds, 3, 1, NAY_NO_VERIFY, "  without verify");
    run_nay(keys, n, probes, rounds, 3, 2, 0, "  2 threads");
    run_nay(keys, n, probes, rounds, 4, 1, 0, "nay fuse-4");
    free(keys);
    free(probes);
  }
  return 0;
}
