/* kernels_again.c - filters answer alike whichever table of kernels they hold: for CPUs that only
 * qemu has. TAP; tests/unit/test_kernels_families.c is the same with a framework and more sets. */
#include "family/family.h"

#include <stdio.h>
#include <stdlib.h>

#define N 2000u
#define NPROBES 2560u /* the first N were added */

static uint64_t hashes[NPROBES];

/* How many probes of two filters, single or in batches, are answered in two ways. */
static unsigned differences(nay_filter *f, const nay_kernels *table) {
  unsigned n = 0;
  for (unsigned i = 0; i < NPROBES; i += 64) {
    f->kernels = &nay__kernels_scalar;
    uint64_t want = f->family->test64(f, hashes + i, NULL, 64);
    f->kernels = table;
    uint64_t got = f->family->test64(f, hashes + i, NULL, 64);
    for (unsigned j = 0; j < 64; j++) {
      bool single = f->family->test(f, (nay_hash){hashes[i + j], 0});
      n += (want >> j & 1) != (got >> j & 1) || (want >> j & 1) != single;
      n += i + j < N && !single;
    }
  }
  return n;
}

static unsigned check_table(nay_kind kind, const nay_kernels *table) {
  unsigned n = 0;
  for (unsigned bits = 1; bits <= 30; bits += kind == NAY_FUSE ? 1 : 2) {
    nay_params p = {.kind = kind, .hash = NAY_HASH_CALLER};
    p.fpr = 1.3 / (double)((uint64_t)1 << (bits + 1));
    if (kind == NAY_FUSE && bits % 4 == 3) p.k = 4;
    nay_filter *f;
    if (nay_filter_build(&p, hashes, N, NULL, &f) != NAY_OK) continue; /* not a rate of this kind */
    const nay_kernels *own = f->kernels;
    n += differences(f, table);
    f->kernels = own;
    nay_filter_free(f);
  }
  return n;
}

/* As many keys as make two shards, the first N of them those that are asked for. */
static unsigned check_shards(const nay_kernels *table) {
  const size_t nkeys = ((size_t)1 << 21) + 5;
  uint64_t *keys = malloc(nkeys * sizeof *keys);
  unsigned n = 1;
  nay_filter *f;
  for (size_t i = 0; keys != NULL && i < nkeys; i++)
    keys[i] = nay_hash_mix(i < N ? i : NPROBES + i);
  nay_params p = {.kind = NAY_FUSE, .hash = NAY_HASH_CALLER, .fpr = 1.0 / 512};
  if (keys != NULL && nay_filter_build(&p, keys, nkeys, NULL, &f) == NAY_OK) {
    n = f->fuse.nshards == 2 ? differences(f, table) : 1;
    nay_filter_free(f);
  }
  free(keys);
  return n;
}

int main(void) {
  static const nay_kind kinds[] = {NAY_BLOOM, NAY_BLOCKED, NAY_COUNTING, NAY_CUCKOO,
                                   NAY_XOR,   NAY_FUSE,    NAY_RIBBON};
  int tests = 0, failed = 0;
  for (size_t i = 0; i < NPROBES; i++) hashes[i] = nay_hash_mix(i);
  const nay_kernels *table;
  for (size_t t = 0; (table = nay__kernels_at(t)) != NULL; t++) {
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
      unsigned n = check_table(kinds[i], table);
      failed += n != 0;
      printf("%sok %d - %s by %s\n", n != 0 ? "not " : "", ++tests, nay_kind_name(kinds[i]),
             table->name);
    }
    unsigned n = check_shards(table);
    failed += n != 0;
    printf("%sok %d - fuse of two shards by %s\n", n != 0 ? "not " : "", ++tests, table->name);
  }
  printf("1..%d\n", tests);
  return failed != 0;
}
