/*
 * shapes.h - every shape that has code of its own: widths of fingerprints, tags and columns,
 * numbers of probes, one shard and many. test_shapes.c takes each through every form a filter can
 * have.
 */
#ifndef NAY_TEST_SHAPES_H
#define NAY_TEST_SHAPES_H

#include "contract.h"

typedef struct shape_case {
  char name[64];
  nay_params params;
  uint64_t nkeys;
} shape_case;

typedef struct shape_list {
  shape_case at[512];
  size_t n;
} shape_list;

#define SHAPE_FEW 777u        /* twelve groups of 64 and a tail */
#define SHAPE_SHARDS 2097153u /* fuse, xor: two shards */
#define SHAPE_RIBBONS 12000u  /* ribbon: two layers */
#define SHAPE_PARTS 210000u   /* ribbon: two parts */
#define SHAPE_TINY 90u        /* ribbon: kept as a Bloom filter */
#define SHAPE_MEDIUM 700000u  /* past the cache, for 8 bits a key and more */

/* 2^-bits, exactly. */
static inline double shape_fpr(unsigned bits) { return 1.0 / (double)((uint64_t)1 << bits); }

static inline void shape_push(shape_list *list, const nay_params *p, uint64_t nkeys,
                              const char *what, unsigned number) {
  assert_true(list->n < sizeof list->at / sizeof list->at[0]);
  shape_case *s = &list->at[list->n++];
  *s = (shape_case){.params = *p, .nkeys = nkeys};
  s->params.nkeys = nkeys;
  snprintf(s->name, sizeof s->name, "%s, %s %u, %llu keys", nay_kind_name(p->kind), what, number,
           (unsigned long long)nkeys);
}

/* Probes of the Bloom kinds: kernels unroll, split or refuse some of them. */
static inline void shapes_of_probes(shape_list *list, nay_kind kind, uint64_t nkeys) {
  static const uint32_t probes[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                                    12, 13, 15, 16, 17, 24, 25, 32, 33, 64};
  for (size_t i = 0; i < sizeof probes / sizeof probes[0]; i++) {
    nay_params p = {sizeof p, .kind = kind, .k = probes[i]};
    p.bits_per_key = probes[i] < 7 ? 10 : 1.5 * probes[i];
    if (kind == NAY_COUNTING) p.bits_per_key *= 4;
    shape_push(list, &p, nkeys, "k", probes[i]);
  }
}

/* Fingerprints of 4 to 32 bits, three or four slots. */
static inline void shapes_of_fuse(shape_list *list, uint64_t nkeys, const unsigned *widths,
                                  size_t nwidths) {
  for (size_t i = 0; i < nwidths; i++) {
    nay_params p = {sizeof p, .kind = NAY_FUSE, .fpr = shape_fpr(widths[i])};
    shape_push(list, &p, nkeys, "3 slots, bits", widths[i]);
    p.k = 4;
    shape_push(list, &p, nkeys, "4 slots, bits", widths[i]);
    p.k = 0;
    p.kind = NAY_XOR;
    shape_push(list, &p, nkeys, "bits", widths[i]);
  }
}

static inline void shapes_of_ribbon(shape_list *list, uint64_t nkeys) {
  for (unsigned columns = 1; columns <= 32; columns++) {
    nay_params p = {sizeof p, .kind = NAY_RIBBON, .fpr = shape_fpr(columns)};
    shape_push(list, &p, nkeys, "columns", columns);
    p.fpr *= 1.4; /* some blocks have a column less */
    if (columns > 1 && columns % 4 < 2) shape_push(list, &p, nkeys, "short of columns", columns);
  }
}

static inline void shapes_of_cuckoo(shape_list *list, uint64_t nkeys) {
  for (uint32_t bits = 6; bits <= 32; bits++) {
    nay_params p = {.size = sizeof p,
                    .kind = NAY_CUCKOO,
                    .nbits = (nkeys / 8 * 20 / 19 + 40) * 8 * bits,
                    .tag_bits = bits};
    shape_push(list, &p, nkeys, "tag bits", bits);
  }
  for (uint32_t doublings = 1; doublings <= 6; doublings++) { /* grown, and with room to grow */
    nay_params p = {sizeof p, .kind = NAY_CUCKOO, .fpr = 0.001, .max_nkeys = nkeys << doublings};
    shape_push(list, &p, nkeys, "spare bits", doublings);
  }
  nay_params unique = {sizeof unique, .kind = NAY_CUCKOO, .fpr = 0.001, .flags = NAY_UNIQUE};
  shape_push(list, &unique, nkeys, "unique", 1);
  unique.fpr = 0.1; /* keys are mistaken for others, and not added */
  shape_push(list, &unique, nkeys, "unique", 2);
}

static inline void shapes_of_others(shape_list *list, uint64_t nkeys) {
  static const double rates[] = {0.4, 0.1, 0.01, 1e-3, 1e-4, 1e-6};
  for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
    nay_params p = {sizeof p, .kind = NAY_SCALABLE, .fpr = rates[i]};
    shape_push(list, &p, nkeys, "rate", (unsigned)i);
    list->at[list->n - 1].params.nkeys = nkeys / 20 + 1; /* it grows */
  }
  for (uint32_t g = 1; g <= 15; g++) {
    nay_params p = {sizeof p, .kind = NAY_WINDOW, .fpr = 0.02, .generations = g, .window = 1000};
    shape_push(list, &p, nkeys, "generations", g);
    p.window = 0;
    p.k = g;
    p.fpr = 0;
    p.bits_per_key = 40;
    shape_push(list, &p, nkeys, "generations and k", g);
  }
  nay_params unique = {sizeof unique, .kind = NAY_COUNTING, .fpr = 0.01, .flags = NAY_UNIQUE};
  shape_push(list, &unique, nkeys, "unique", 1);
}

static const unsigned shape_all_widths[] = {4,  5,  6,  7,  8,  9,  10, 11, 12, 13,
                                            14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
                                            24, 25, 26, 27, 28, 29, 30, 31, 32};
#define N_SHAPE_WIDTHS (sizeof shape_all_widths / sizeof shape_all_widths[0])

/* A family of the registry that has no shapes above: usual rates. */
static inline void shapes_of_the_rest(shape_list *list, uint64_t nkeys) {
  const nay_family *family;
  for (size_t i = 0; (family = nay__family_at(i)) != NULL; i++) {
    size_t known = 0;
    for (size_t j = 0; j < list->n; j++) known += list->at[j].params.kind == family->kind;
    for (unsigned bits = 3; known == 0 && bits <= 12; bits += 3) {
      nay_params p = {sizeof p, .kind = family->kind, .fpr = shape_fpr(bits)};
      shape_push(list, &p, nkeys, "rate 2 to the -", bits);
    }
  }
}

/* shapes_of_all: every shape, for so many keys, xor and fuse for others; as many shapes in the same
 * order for any numbers. */
static inline void shapes_of_all(shape_list *list, uint64_t nkeys, uint64_t nfuse) {
  shapes_of_probes(list, NAY_BLOOM, nkeys);
  shapes_of_probes(list, NAY_BLOCKED, nkeys);
  shapes_of_probes(list, NAY_COUNTING, nkeys);
  shapes_of_fuse(list, nfuse, shape_all_widths, N_SHAPE_WIDTHS);
  shapes_of_ribbon(list, nkeys);
  shapes_of_cuckoo(list, nkeys);
  shapes_of_others(list, nkeys);
  shapes_of_the_rest(list, nkeys);
}

/* shapes_small: all of them, of a few hundred keys (ribbon also of several layers, and tiny). */
static inline void shapes_small(shape_list *list) {
  shapes_of_all(list, SHAPE_FEW, SHAPE_FEW);
  shapes_of_ribbon(list, SHAPE_TINY);
}

/* shapes_sharded: those that have another code for many shards. */
static inline void shapes_sharded(shape_list *list) {
  static const unsigned widths[] = {8, 16};
  shapes_of_fuse(list, SHAPE_SHARDS, widths, TEST_SCALE(10) == 10 ? 2 : 1); /* slow to build */
  nay_params p = {sizeof p, .kind = NAY_FUSE, .fpr = shape_fpr(12)};
  shape_push(list, &p, SHAPE_SHARDS, "3 slots, bits", 12);
  shapes_of_ribbon(list, SHAPE_RIBBONS);
  p = (nay_params){sizeof(nay_params), .kind = NAY_RIBBON, .fpr = 0.01};
  shape_push(list, &p, SHAPE_PARTS, "short of columns", 7);
}

/* shapes_large: every width in many shards, every probe count past the cache. Minutes. */
static inline void shapes_large(shape_list *list) {
  shapes_of_all(list, SHAPE_MEDIUM, SHAPE_SHARDS);
}

#endif /* NAY_TEST_SHAPES_H */
