/*
 * covering_array.h - a covering array: few configurations in which any `strength` dimensions take
 * every combination of their values. Built greedily, as AETG does: each configuration starts from a
 * combination that none before it has, and each further dimension takes the value that adds the
 * most new combinations.
 *
 * Some combinations cannot occur: `possible` says so of a whole configuration. It must be a list of
 * pairs of values that exclude each other, and value 0 must be in none of them. Then a combination
 * occurs in some configuration exactly if it does with 0 everywhere else.
 */
#ifndef NAY_TEST_COVERING_ARRAY_H
#define NAY_TEST_COVERING_ARRAY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "nay_advanced.h"

#define COVERING_DIMENSIONS 16u /* at most */
#define COVERING_TRIES 8u       /* candidates for each configuration */

typedef struct covering {
  unsigned ndimensions, strength;
  unsigned nvalues[COVERING_DIMENSIONS];
  bool (*possible)(const uint8_t *config);
  uint32_t *offset; /* by a set of dimensions, as bits: where its combinations start in `left` */
  uint8_t *left;    /* combinations: 1 until one of the configurations has it */
  uint32_t ncombinations, nleft, nimpossible, first_left;
  uint64_t draws;
} covering;

/* The combination in `config` of a set of dimensions. */
static inline uint32_t covering_index(const covering *c, uint32_t set, const uint8_t *config) {
  uint32_t index = 0;
  for (unsigned d = 0; d < c->ndimensions; d++) {
    if (set >> d & 1) index = index * c->nvalues[d] + config[d];
  }
  return c->offset[set] + index;
}

/* The combination with this index within a set, and 0 in all other dimensions. */
static inline void covering_combination(const covering *c, uint32_t set, uint32_t index,
                                        uint8_t *config) {
  memset(config, 0, c->ndimensions);
  for (unsigned d = c->ndimensions; d-- > 0;) {
    if ((set >> d & 1) == 0) continue;
    config[d] = (uint8_t)(index % c->nvalues[d]);
    index /= c->nvalues[d];
  }
}

static inline uint32_t covering_size(const covering *c, uint32_t set) {
  uint32_t size = 1;
  for (unsigned d = 0; d < c->ndimensions; d++) size *= set >> d & 1 ? c->nvalues[d] : 1;
  return size;
}

static inline unsigned covering_bits(uint32_t set) {
  unsigned n = 0;
  for (; set != 0; set &= set - 1) n++;
  return n;
}

/* Goes through the sets of `strength` dimensions; `set` is 0 at first. */
static inline bool covering_next_set(const covering *c, uint32_t *set) {
  do {
    if (++*set >> c->ndimensions != 0) return false;
  } while (covering_bits(*set) != c->strength);
  return true;
}

static inline void covering_init(covering *c) {
  uint8_t config[COVERING_DIMENSIONS];
  c->offset = calloc((size_t)1 << c->ndimensions, sizeof *c->offset);
  c->ncombinations = c->nleft = c->nimpossible = c->first_left = 0;
  for (uint32_t set = 0; covering_next_set(c, &set);) {
    c->offset[set] = c->ncombinations;
    c->ncombinations += covering_size(c, set);
  }
  c->left = calloc(c->ncombinations, 1);
  for (uint32_t set = 0; covering_next_set(c, &set);) {
    for (uint32_t i = 0; i < covering_size(c, set); i++) {
      covering_combination(c, set, i, config);
      bool possible = c->possible(config);
      c->left[c->offset[set] + i] = possible;
      c->nleft += possible;
      c->nimpossible += !possible;
    }
  }
}

static inline void covering_free(covering *c) {
  free(c->offset);
  free(c->left);
}

static inline unsigned covering_draw(covering *c, unsigned below) {
  return (unsigned)(nay_hash_mix(c->draws++) % below);
}

/* New combinations of `with` and `more` other dimensions, which are from `d` on and in `among`. */
static inline unsigned covering_gain(const covering *c, uint32_t with, uint32_t among, unsigned d,
                                     unsigned more, const uint8_t *config) {
  unsigned gain = 0;
  if (more == 0) return c->left[covering_index(c, with, config)];
  for (; d < c->ndimensions; d++) {
    if (among >> d & 1) {
      gain += covering_gain(c, with | 1u << d, among, d + 1, more - 1, config);
    }
  }
  return gain;
}

/* Gives dimension `d` the value that adds the most new combinations with those `among`. */
static inline unsigned covering_choose(covering *c, uint32_t among, unsigned d, uint8_t *config) {
  unsigned best = 0, most = 0, ties = 0;
  for (unsigned value = 0; value < c->nvalues[d]; value++) {
    config[d] = (uint8_t)value;
    if (!c->possible(config)) continue;
    unsigned gain = covering_gain(c, 1u << d, among, 0, c->strength - 1, config);
    ties = gain == most ? ties + 1 : 1;
    if (gain > most || (gain == most && covering_draw(c, ties) == 0)) best = value;
    if (gain > most) most = gain;
  }
  config[d] = (uint8_t)best;
  return most;
}

/* A configuration with one combination that is left. Returns how many others it adds. */
static inline unsigned covering_try(covering *c, uint32_t set, uint32_t index, uint8_t *config) {
  unsigned gain = 0;
  covering_combination(c, set, index, config);
  for (uint32_t all = (1u << c->ndimensions) - 1; set != all;) {
    unsigned d = covering_draw(c, c->ndimensions);
    if (set >> d & 1) continue;
    gain += covering_choose(c, set, d, config);
    set |= 1u << d;
  }
  return gain;
}

/* The next configuration; false: no combination is left. */
static inline bool covering_next(covering *c, uint8_t *config) {
  uint8_t tried[COVERING_DIMENSIONS];
  uint32_t of = 0, set = 0;
  unsigned most = 0;
  if (c->nleft == 0) return false;
  while (c->left[c->first_left] == 0) c->first_left++;
  while (covering_next_set(c, &set)) {
    if (c->offset[set] <= c->first_left) of = set;
  }
  for (unsigned i = 0; i < COVERING_TRIES; i++) {
    unsigned gain = covering_try(c, of, c->first_left - c->offset[of], tried);
    if (i == 0 || gain > most) memcpy(config, tried, c->ndimensions);
    if (gain > most) most = gain;
  }
  for (set = 0; covering_next_set(c, &set);) {
    uint8_t *left = &c->left[covering_index(c, set, config)];
    c->nleft -= *left;
    *left = 0;
  }
  return true;
}

/*
 * Counts the combinations that are possible and in none of the n configurations: by looking for
 * each, with nothing that the choice of configurations has kept.
 */
static inline uint32_t covering_missing(const covering *c, const uint8_t *configs, size_t n) {
  uint8_t want[COVERING_DIMENSIONS];
  uint32_t missing = 0;
  for (uint32_t set = 0; covering_next_set(c, &set);) {
    for (uint32_t i = 0; i < covering_size(c, set); i++) {
      bool found = false;
      covering_combination(c, set, i, want);
      for (size_t row = 0; row < n && !found; row++) {
        const uint8_t *config = configs + row * c->ndimensions;
        found = true;
        for (unsigned d = 0; d < c->ndimensions && found; d++) {
          found = (set >> d & 1) == 0 || config[d] == want[d];
        }
      }
      missing += !found && c->possible(want);
    }
  }
  return missing;
}

#endif /* NAY_TEST_COVERING_ARRAY_H */
