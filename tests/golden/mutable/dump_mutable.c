/*
 * dump_mutable.c - payloads of the families that change, for a reader that is not ours.
 *
 *   dump_mutable DIR    writes a file for each case and prints their digests
 *
 * A file is text: "kind nunits k extra", the number of members, the answers about 4000 hashes that
 * were not added as one line of 0 and 1, and the payload in hexadecimal. Member i has the hash
 * SplitMix64(i), stranger i SplitMix64(1000000 + i). read_mutable.py reads them by the
 * specification alone.
 */
#include <stdio.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "family/family.h"

typedef struct dump_case {
  const char *name;
  nay_params params;
  uint64_t nmembers;
  uint64_t removed; /* members from nmembers on, added and removed again */
  uint64_t now;     /* window: the clock moves to this after half of the members; they all stay */
} dump_case;

static const dump_case cases[] = {
    {"counting", {.kind = NAY_COUNTING, .nkeys = 900, .fpr = 0.02}, 900, 300, 0},
    {"counting-pooled", {.kind = NAY_COUNTING, .nkeys = 400, .fpr = 0.02}, 700, 100, 0},
    {"counting-unique",
     {.kind = NAY_COUNTING, .nkeys = 40000, .fpr = 0.02, .flags = NAY_UNIQUE},
     40000,
     0,
     0},
    {"scalable", {.kind = NAY_SCALABLE, .nkeys = 100, .fpr = 0.02}, 2500, 0, 0},
    {"window-count",
     {.kind = NAY_WINDOW, .nkeys = 1000, .fpr = 0.02, .generations = 4},
     1000,
     0,
     0},
    {"window-ticks", {.kind = NAY_WINDOW, .nkeys = 800, .fpr = 0.02, .window = 900}, 800, 0, 1700},
    {"cuckoo", {.kind = NAY_CUCKOO, .nkeys = 1500, .fpr = 0.02}, 1500, 60, 0},
    {"cuckoo-odd", {.kind = NAY_CUCKOO, .nkeys = 777, .fpr = 0.02, .tag_bits = 15}, 777, 0, 0},
    {"cuckoo-wide", {.kind = NAY_CUCKOO, .nkeys = 500, .fpr = 1e-6}, 500, 0, 0},
    {"cuckoo-grown",
     {.kind = NAY_CUCKOO, .nkeys = 300, .fpr = 0.02, .max_nkeys = 5000},
     4000,
     200,
     0},
};

static void must(nay_status status, const char *name) {
  if (status == NAY_OK) return;
  fprintf(stderr, "dump_mutable: %s: %s\n", name, nay_status_text(status));
  exit(2);
}

static nay_hash hash(uint64_t i) { return (nay_hash){nay_hash_mix(i), 0}; }

static nay_filter *make(const dump_case *c) {
  nay_params p = c->params;
  p.hash = NAY_HASH_CALLER;
  nay_filter *f;
  must(nay_filter_new(&p, NULL, &f), c->name);
  if (c->now != 0) must(nay_filter_advance(f, 1000), c->name);
  for (uint64_t i = 0; i < c->nmembers + c->removed; i++) {
    if (c->now != 0 && i == c->nmembers / 2) must(nay_filter_advance(f, c->now), c->name);
    must(nay_filter_add_hash(f, hash(i), NULL), c->name);
  }
  for (uint64_t i = 0; i < c->removed; i++) {
    must(nay_filter_remove_hash(f, hash(c->nmembers + i)), c->name);
  }
  return f;
}

static void write_case(const dump_case *c, const nay_filter *f, const char *dir) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.txt", dir, c->name);
  FILE *out = fopen(path, "w");
  if (out == NULL) {
    perror(path);
    exit(2);
  }
  fprintf(out, "%d %llu %u %u\n%llu\n", (int)f->family->kind, (unsigned long long)f->shape.nunits,
          f->shape.k, f->shape.extra, (unsigned long long)c->nmembers);
  for (uint64_t i = 0; i < 4000; i++) {
    fputc(nay_filter_may_contain_hash(f, hash(1000000 + i)) ? '1' : '0', out);
  }
  fputc('\n', out);
  for (size_t i = 0; i < f->nbytes; i++) fprintf(out, "%02x", f->bits.bytes[i]);
  fputc('\n', out);
  if (fclose(out) != 0) exit(2);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: dump_mutable DIR\n");
    return 2;
  }
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    nay_filter *f = make(&cases[i]);
    printf("%s %016llx\n", cases[i].name,
           (unsigned long long)XXH3_64bits(f->bits.bytes, f->nbytes));
    write_case(&cases[i], f, argv[1]);
    nay_filter_free(f);
  }
  return 0;
}
