/*
 * list.c - lookups of exact lists: one by one, in batches, and what else could hold the listed
 * keys.
 *
 *   nay-bench-list [universe] [share]     default 10,000,000 keys, one in 70 listed
 *
 * Each time is the least of nine rounds, in CPU time, over the same million keys in random order,
 * half of them listed; the structures take turns. Hashing the key is part of every lookup.
 */
#include <nay_list.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PROBES 1000000u
#define ROUNDS 9
#define BATCH 1024u

typedef struct bench {
  nay_filter *list;
  nay_hasher hasher;
  uint64_t n, each, nlisted;
  uint64_t *sorted; /* hashes of the listed keys, ascending */
  uint64_t *table;  /* open addressing, 3/4 full: hashes of the listed keys; 0: free */
  uint64_t nslots;
  uint64_t *keys;
  const void **at;
  size_t *lens;
  uint64_t *values, *known;
} bench;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* one thread: others on the machine do not count */
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static uint64_t hash_of(const bench *b, uint64_t key) {
  nay_hash hash = {0, 0};
  nay_hasher_hash(&b->hasher, &key, sizeof key, &hash);
  return hash.lo;
}

static int ascending(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static uint64_t one_by_one(const bench *b) {
  uint64_t sum = 0, value = 0;
  for (size_t i = 0; i < PROBES; i++) {
    if (nay_filter_get(b->list, &b->keys[i], 8, &value) == NAY_OK) sum += value;
  }
  return sum;
}

static uint64_t in_batches(const bench *b) {
  uint64_t sum = 0;
  for (size_t i = 0; i < PROBES; i += BATCH) {
    size_t n = PROBES - i < BATCH ? PROBES - i : BATCH;
    nay_filter_get_many(b->list, b->at + i, b->lens + i, n, b->values, b->known);
    for (size_t k = 0; k < n; k++) sum += b->values[k];
  }
  return sum;
}

static uint64_t binary_search(const bench *b) {
  uint64_t sum = 0;
  for (size_t i = 0; i < PROBES; i++) {
    uint64_t hash = hash_of(b, b->keys[i]), from = 0, to = b->nlisted;
    while (from < to) {
      uint64_t middle = from + (to - from) / 2;
      if (b->sorted[middle] < hash) from = middle + 1;
      if (b->sorted[middle] >= hash) to = middle;
    }
    sum += from < b->nlisted && b->sorted[from] == hash;
  }
  return sum;
}

static uint64_t hash_set(const bench *b) {
  uint64_t sum = 0;
  for (size_t i = 0; i < PROBES; i++) {
    uint64_t hash = hash_of(b, b->keys[i]), at = hash % b->nslots;
    while (b->table[at] != 0 && b->table[at] != hash) at = at + 1 < b->nslots ? at + 1 : 0;
    sum += b->table[at] == hash;
  }
  return sum;
}

static int make(bench *b) {
  nay_params params = {.size = sizeof params, .kind = NAY_LIST};
  nay_builder *builder;
  if (nay_builder_new(&params, NULL, NULL, &builder) != NAY_OK) return 0;
  double start = now();
  for (uint64_t i = 0; i < b->n; i++) nay_builder_add_value(builder, &i, 8, i % b->each == 0);
  if (nay_builder_finish(builder, NULL, &b->list) != NAY_OK) return 0;
  printf("build: %.0f ns per key\n", (now() - start) / (double)b->n);
  nay_builder_free(builder);
  b->hasher.size = sizeof b->hasher;
  nay_filter_hasher(b->list, &b->hasher);
  b->nlisted = (b->n + b->each - 1) / b->each;
  b->nslots = b->nlisted * 4 / 3 + 1;
  b->sorted = malloc(b->nlisted * 8);
  b->table = calloc(b->nslots, 8);
  b->keys = malloc(PROBES * 8);
  b->at = malloc(PROBES * sizeof *b->at);
  b->lens = malloc(PROBES * sizeof *b->lens);
  b->values = malloc(BATCH * 8);
  b->known = malloc(BATCH);
  if (!b->sorted || !b->table || !b->keys || !b->at || !b->lens || !b->values || !b->known)
    return 0;
  for (uint64_t i = 0; i < b->nlisted; i++) {
    uint64_t hash = hash_of(b, i * b->each), at = hash % b->nslots;
    b->sorted[i] = hash;
    while (b->table[at] != 0) at = at + 1 < b->nslots ? at + 1 : 0;
    b->table[at] = hash;
  }
  qsort(b->sorted, b->nlisted, 8, ascending);
  for (uint64_t i = 0; i < PROBES; i++) {
    uint64_t word = nay_hash_mix(i), key = (word >> 1) % b->n;
    b->keys[i] = word % 2 == 0 ? key : key / b->each * b->each;
    b->at[i] = &b->keys[i];
    b->lens[i] = 8;
  }
  return 1;
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    uint64_t (*run)(const bench *b);
  } rows[] = {{"list, one by one", one_by_one},
              {"list, batches of 1024", in_batches},
              {"sorted hashes of 64 bits, binary search", binary_search},
              {"hash set of 64-bit hashes, 3/4 full", hash_set}};
  enum { ROWS = sizeof rows / sizeof rows[0] };
  bench b = {.n = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000,
             .each = argc > 2 ? strtoull(argv[2], NULL, 10) : 70};
  double best[ROWS] = {0};
  uint64_t sums[ROWS] = {0};
  if (b.n == 0 || b.each == 0 || !make(&b)) return 1;
  for (int round = 0; round < ROUNDS; round++) {
    for (size_t i = 0; i < ROWS; i++) {
      double start = now();
      sums[i] = rows[i].run(&b);
      double ns = (now() - start) / PROBES;
      if (round == 0 || ns < best[i]) best[i] = ns;
    }
  }
  nay_stats s = {.size = sizeof s};
  nay_filter_stats(b.list, &s);
  double listed = (double)b.nlisted;
  double bits[ROWS] = {(double)s.nbits / listed, (double)s.nbits / listed, 64,
                       64 * (double)b.nslots / listed};
  printf("%llu of %llu keys listed\n", (unsigned long long)b.nlisted, (unsigned long long)b.n);
  for (size_t i = 0; i < ROWS; i++) {
    printf("%-40s %7.2f bits per listed key %6.1f ns\n", rows[i].name, bits[i], best[i]);
    if (sums[i] != sums[0]) printf("another answer: %llu\n", (unsigned long long)sums[i]);
  }
  nay_filter_free(b.list);
  free(b.sorted), free(b.table), free(b.keys), free(b.at), free(b.lens), free(b.values),
      free(b.known);
  return 0;
}
