/*
 * differences.h - the fingerprints of absent keys against what their slots add up to. The bits of
 * the difference are free: it has full rank over GF(2), so no column is a sum of others, and any 8
 * of its bits are all zero once in 256. That shows of 32 columns what no rate of 2^-32 can show.
 */
#ifndef NAY_TEST_DIFFERENCES_H
#define NAY_TEST_DIFFERENCES_H

#include "stats/windows.h"
#include "support/gf2.h"

#define MOST_N 2000u
#define NPROBES 8192u
#define NDIFFERENCES 128u

/* Some 10^7 windows are compared in the long tier, 10^6 in the other: false alarms come with less
 * than one of 10^6 choices of seeds, and the seeds are fixed. */
#ifdef EVERY_N_LONG
#define MAX_EXCESS 34.0
static inline unsigned next_n(unsigned n) { return n + 1; }
#else
#define MAX_EXCESS 30.0
/* Every n to 24, then steps of 4%: 130 sizes. */
static inline unsigned next_n(unsigned n) { return n + 1 + n / 25; }
#endif

#define NSUBSETS 8u

/* differences: what is known of those of one shape. Zero it first. */
typedef struct differences {
  gf2_space space; /* of one filter */
  unsigned n, nbits;
  window_counts subsets[NSUBSETS];
} differences;

/* cell_of: a cell is a shape and an n; it has 2^20 hashes of its own, absent ones too. */
static inline uint64_t cell_of(size_t shape, unsigned n) {
  return ((uint64_t)shape << 11 | n) << 20;
}

/* subset_of: eight bits: in a row, or drawn; 0: there are no such. */
static inline uint64_t subset_of(unsigned i, unsigned nbits) {
  if (i < 4) return i * 8 + 8 <= nbits ? (uint64_t)0xff << (i * 8) : 0;
  uint64_t bits = 0, drawn = nay_hash_mix(i * 64 + nbits);
  for (unsigned n = 0; nbits >= 8 && n < 8; drawn = nay_hash_mix(drawn)) {
    uint64_t bit = (uint64_t)1 << drawn % nbits;
    n += (bits & bit) == 0;
    bits |= bit;
  }
  return bits;
}

static inline void differences_add(differences *all, unsigned n, uint64_t bits, unsigned nbits) {
  all->n++;
  if (nbits > all->nbits) all->nbits = nbits;
  gf2_add(&all->space, (gf2_vector){{bits}});
  for (unsigned i = 0; i < NSUBSETS; i++) {
    uint64_t subset = subset_of(i, nbits);
    if (subset == 0) continue;
    all->subsets[i].expected[n] += 1.0 / 256;
    all->subsets[i].hits[n] += (bits & subset) == 0;
  }
}

/* differences_close: the end of a filter: its differences have full rank. Few are not enough to
 * tell. */
static inline void differences_close(differences *all, const char *name, unsigned n) {
  if (all->n >= all->nbits + 64 && all->space.rank != all->nbits) {
    fail_msg("%s, n = %u: the fingerprints have rank %u, not %u", name, n, all->space.rank,
             all->nbits);
  }
  memset(&all->space, 0, sizeof all->space);
  all->n = all->nbits = 0;
}

static inline void assert_within(worst_window w, const char *what, const char *name) {
  if (w.excess > MAX_EXCESS) fail_msg("%s, %s: %s (excess %.1f)", name, what, w.where, w.excess);
}

static inline void assert_subsets(differences *all, const char *name) {
  for (unsigned i = 0; i < NSUBSETS; i++) {
    char what[64];
    snprintf(what, sizeof what, "8 bits of fingerprints, choice %u", i);
    assert_within(counts_worst(&all->subsets[i]), what, name);
  }
}

#endif /* NAY_TEST_DIFFERENCES_H */
