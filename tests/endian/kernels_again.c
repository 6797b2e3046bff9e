/* kernels_again.c - filters answer alike with every table of kernels: for CPUs under qemu, without
 * a test framework. TAP; tests/unit/test_kernels_families.c does the same with more sets. */
#include "build/map_build.h"
#include "family/fuse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 2000u
#define NPROBES 2560u /* the first N were added */

static uint64_t hashes[NPROBES];

/* How many probes of two filters, single or in batches, are answered in two ways. */
static unsigned differences(nay_filter *f, const nay_kernels *table) {
  unsigned n = 0;
  for (unsigned i = 0; i < NPROBES; i += 64) {
    f->kernels = &nay__kernels_scalar;
    uint64_t want = f->family->batch->test(f, hashes + i, NULL, 64, NULL);
    f->kernels = table;
    uint64_t got = f->family->batch->test(f, hashes + i, NULL, 64, NULL);
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
    nay_params p = {sizeof p, .kind = kind, .hash = NAY_HASH_CALLER};
    p.fpr = 1.3 / (double)((uint64_t)1 << (bits + 1));
    if (kind == NAY_FUSE && bits % 4 == 3) p.k = 4;
    nay_filter *f;
    if (nay_filter_build(&p, hashes, N, NULL, NULL, &f) != NAY_OK)
      continue; /* not a rate of this kind */
    const nay_kernels *own = f->kernels;
    n += differences(f, table);
    f->kernels = own;
    nay_filter_free(f);
  }
  return n;
}

/* Values of every width: how many of present or absent keys are not those of the scalar table. */
static unsigned check_map(const nay_kernels *table) {
  unsigned n = 0;
  uint64_t values[NPROBES], want[64], got[64];
  for (unsigned bits = 1; bits <= 64; bits++) {
    nay_params p = {.size = sizeof p, .kind = NAY_MAP, .value_bits = bits, .hash = NAY_HASH_CALLER};
    nay_filter *map;
    for (unsigned i = 0; i < N; i++) values[i] = nay_hash_mix(~hashes[i]) >> (64 - bits);
    if (nay__map_build_arrays(&p, hashes, values, N, NULL, NULL, &map) != NAY_OK) return 1;
    const nay_kernels *own = map->kernels;
    for (unsigned i = 0; i < NPROBES; i += 64) {
      map->kernels = &nay__kernels_scalar;
      (void)nay__map_get(map, hashes + i, 64, want);
      map->kernels = table;
      (void)nay__map_get(map, hashes + i, 64, got);
      n += memcmp(want, got, sizeof want) != 0;
      for (unsigned j = 0; j < 64 && i + j < N; j++) n += got[j] != values[i + j];
    }
    map->kernels = own;
    nay_filter_free(map);
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
  nay_params p = {sizeof p, .kind = NAY_FUSE, .hash = NAY_HASH_CALLER, .fpr = 1.0 / 512};
  if (keys != NULL && nay_filter_build(&p, keys, nkeys, NULL, NULL, &f) == NAY_OK) {
    n = nay__fuse_nshards(&f->shape) == 2 ? differences(f, table) : 1;
    nay_filter_free(f);
  }
  free(keys);
  return n;
}

/* Bytes that adds of every kind have changed: by the scalar table, and by another. */
#define NBYTES 4096u
static uint8_t want[NBYTES + 64], got[NBYTES + 64];

static unsigned check_adds(const nay_kernels *table, uint32_t k) {
  const nay_kernels *scalar = &nay__kernels_scalar;
  nay_bits a = {.bytes = want + k, .nunits = NBYTES / NAY_BLOCK_BYTES, .k = k}, b = a;
  b.bytes = got + k;
  unsigned n = 0, few = 64 - k;
  memset(want, 0, sizeof want);
  memset(got, 0, sizeof got);
  n += scalar->blocked_add->add64(&a, hashes, few, NULL, true) !=
       table->blocked_add->add64(&b, hashes, few, NULL, true);
  n += scalar->blocked_add->add64(&a, hashes, 64, NULL, true) !=
       table->blocked_add->add64(&b, hashes, 64, hashes + 64, true);
  for (unsigned i = 0; i < 100; i++) {
    n += scalar->blocked_add->add(&a, hashes[i]) != table->blocked_add->add(&b, hashes[i]);
    scalar->blocked_add->add(&a, hashes[i + 100]);
    table->blocked_add->choose_add_blind (&b)(&b, hashes[i + 100]);
  }
  a.nunits = b.nunits = NBYTES * 8 - 5;
  n += scalar->bloom->add64(&a, hashes, few, true) != table->bloom->add64(&b, hashes, few, true);
  scalar->bloom->add64(&a, hashes + 200, 64, false);
  table->bloom->add64(&b, hashes + 200, 64, false);
  for (unsigned i = 0; i < 100; i++) {
    n += scalar->bloom->add(&a, hashes[i]) != table->bloom->add(&b, hashes[i]);
    scalar->bloom->add(&a, hashes[i + 100]);
    table->bloom->choose_add_blind (&b)(&b, hashes[i + 100]);
  }
  return n + (memcmp(want, got, sizeof want) != 0);
}

/*
 * Adds and removes by a counting filter that holds the table, and by one for many threads: how
 * many answers differ, or bytes in the end. The pools of 16 blocks fill up.
 */
static unsigned check_changes(const nay_kernels *table) {
  unsigned n = 0;
  for (uint32_t k = 1; k <= 32; k++) {
    nay_params p = {sizeof p, .kind = NAY_COUNTING, .nbits = 16 * 512, .nkeys = 700, .k = k};
    nay_filter *fast, *plain;
    if (nay_filter_new(&p, NULL, NULL, &fast) != NAY_OK) return 1;
    p.flags = NAY_CONCURRENT;
    if (nay_filter_new(&p, NULL, NULL, &plain) != NAY_OK) return 1;
    fast->kernels = table;
    for (uint64_t i = 0; i < N; i++) {
      uint64_t x = nay_hash_mix(i << 8 | k);
      nay_hash h = {nay_hash_mix(x % (i < N / 2 ? 1000 : 60)), 0};
      bool a = false, b = false;
      if (x >> 60 < 5) {
        n += nay_filter_remove_hash(fast, h) != nay_filter_remove_hash(plain, h);
      } else {
        n += nay_filter_add_hash(fast, h, &a) != nay_filter_add_hash(plain, h, &b) || a != b;
      }
    }
    n += memcmp(fast->bits.bytes, plain->bits.bytes, fast->nbytes) != 0;
    nay_filter_free(fast);
    nay_filter_free(plain);
  }
  return n;
}

static void print_result(int *tests, int *failed, const char *what, const nay_kernels *table,
                         unsigned faults) {
  *failed += faults != 0;
  printf("%sok %d - %s by %s\n", faults != 0 ? "not " : "", ++*tests, what, table->name);
}

int main(void) {
  static const nay_kind kinds[] = {NAY_BLOOM, NAY_BLOCKED, NAY_COUNTING, NAY_CUCKOO,
                                   NAY_XOR,   NAY_FUSE,    NAY_RIBBON};
  int tests = 0, failed = 0;
  for (size_t i = 0; i < NPROBES; i++) hashes[i] = nay_hash_mix(i);
  const nay_kernels *table;
  for (size_t t = 0; (table = nay__kernels_at(t)) != NULL; t++) {
    unsigned differ = 0;
    for (uint32_t k = 1; k <= 40; k++) differ += check_adds(table, k);
    print_result(&tests, &failed, "adds", table, differ);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
      print_result(&tests, &failed, nay_kind_name(kinds[i]), table, check_table(kinds[i], table));
    }
    print_result(&tests, &failed, "map", table, check_map(table));
    print_result(&tests, &failed, "fuse of two shards", table, check_shards(table));
    print_result(&tests, &failed, "counters", table, check_changes(table));
  }
  printf("1..%d\n", tests);
  return failed != 0;
}
