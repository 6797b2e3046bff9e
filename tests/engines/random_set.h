/* random_set.h - random keys for comparing with a real engine, and damage for its filters. */
#ifndef NAY_TEST_RANDOM_SET_H
#define NAY_TEST_RANDOM_SET_H

#include "golden/golden.h"

#define MAX_KEYS 2000
#define MAX_KEY_LEN 40

/* A random set of binary keys; some are there twice, some are empty. */
typedef struct random_set {
  uint64_t seed;
  size_t n;
  int bits_per_key;
  uint8_t bytes[MAX_KEYS][MAX_KEY_LEN];
  const uint8_t *keys[MAX_KEYS];
  size_t lens[MAX_KEYS];
} random_set;

static inline uint64_t draw(uint64_t *state, uint64_t below) {
  *state += 0x9e3779b97f4a7c15u;
  return nay_hash_mix(*state) % below;
}

static inline size_t draw_bytes(uint64_t *state, uint8_t *key, size_t len) {
  for (size_t i = 0; i < len; i++) key[i] = (uint8_t)draw(state, 256);
  return len;
}

static inline size_t draw_key(uint64_t *state, uint8_t *key) {
  return draw_bytes(state, key, draw(state, MAX_KEY_LEN + 1));
}

static inline void draw_set(random_set *set, uint64_t seed, size_t max_keys) {
  uint64_t state = nay_hash_mix(seed);
  set->seed = seed;
  set->n = draw(&state, draw(&state, 2) == 0 ? 21 : max_keys + 1); /* half of them tiny */
  set->bits_per_key = 1 + (int)draw(&state, 50);
  bool alike = seed % 4 == 0; /* all keys of one length, in whole words */
  size_t len = 4 * draw(&state, MAX_KEY_LEN / 4 + 1);
  for (size_t i = 0; i < set->n; i++) {
    if (i != 0 && draw(&state, 8) == 0) {
      size_t same = draw(&state, i);
      set->keys[i] = set->keys[same];
      set->lens[i] = set->lens[same];
    } else {
      set->lens[i] = draw_key(&state, set->bytes[i]);
      if (alike) set->lens[i] = draw_bytes(&state, set->bytes[i], len);
      set->keys[i] = set->bytes[i];
    }
  }
}

/* A member or a key that is likely none; `room` has MAX_KEY_LEN bytes. */
static inline const uint8_t *draw_probe(const random_set *set, bool member, uint64_t *state,
                                        uint8_t *room, size_t *len) {
  if (set->n != 0 && member) {
    size_t i = draw(state, set->n);
    *len = set->lens[i];
    return set->keys[i];
  }
  *len = draw_key(state, room);
  return room;
}

/* Flips bits, cuts, appends, or puts any number in the byte at the end; at least one of them. */
static inline size_t damage(uint8_t *filter, size_t len, size_t cap, uint64_t *state) {
  uint64_t what = 1 + draw(state, 15);
  for (uint64_t i = 0; (what & 1) != 0 && i < 1 + len / 16; i++) {
    filter[draw(state, len)] ^= (uint8_t)(1u << draw(state, 8));
  }
  if ((what & 2) != 0) len = draw(state, 4) == 0 ? draw(state, 3) : draw(state, len + 1);
  while ((what & 4) != 0 && len < cap && draw(state, 8) != 0) {
    filter[len++] = (uint8_t)draw(state, 256);
  }
  if ((what & 8) != 0 && len != 0) filter[len - 1] = (uint8_t)draw(state, 256);
  return len;
}

#endif /* NAY_TEST_RANDOM_SET_H */
