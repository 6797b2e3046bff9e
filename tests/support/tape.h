/*
 * tape.h - properties that draw all their decisions from a tape of bytes.
 *
 *   bool property_x(tape *t) { ... tape_below(t, 6) ... return ok || tape_fail(t, "what broke"); }
 *
 * Because a tape is all a property knows, one function is many things: a random test (tape_search
 * tries many tapes), the subject of a shrinker (tape_shrink deletes and lowers bytes while it still
 * fails), a libFuzzer target (the input is the tape: tape_holds), and a replay (tape_replay reads
 * the tape from a file; a crash file of libFuzzer is one). A tape that has run out reads as zeros,
 * so let zero be the simplest choice everywhere, and loop while tape_more(t).
 */
#ifndef NAY_TEST_TAPE_H
#define NAY_TEST_TAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct tape {
  const uint8_t *bytes;
  size_t len, at;
  const char *why; /* the first complaint; NULL while all is well */
  bool trace;      /* tell what is done: set by tape_replay */
} tape;

typedef bool (*tape_property)(tape *);

static inline bool tape_more(const tape *t) { return t->at < t->len; }

static inline uint8_t tape_byte(tape *t) { return tape_more(t) ? t->bytes[t->at++] : 0; }

/* tape_below: a number below n, which is 1 to 256. */
static inline unsigned tape_below(tape *t, unsigned n) { return tape_byte(t) % n; }

static inline bool tape_fail(tape *t, const char *why) {
  if (t->why == NULL) t->why = why;
  return false;
}

/* tape_holds: runs the property once; *why (may be NULL) tells what broke. */
static inline bool tape_holds(tape_property property, const uint8_t *bytes, size_t len,
                              const char **why) {
  tape t = {bytes, len, 0, NULL, false};
  bool ok = property(&t);
  if (why != NULL) *why = ok ? NULL : t.why;
  return ok;
}

/* SplitMix64, so that the same seed gives the same tapes everywhere. */
static inline uint64_t tape_random(uint64_t *seed) {
  uint64_t x = *seed += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

/* tape_search: up to ntapes random tapes of at most max_len bytes; true when one fails, in bytes[].
 */
static inline bool tape_search(tape_property property, uint64_t seed, size_t ntapes, size_t max_len,
                               uint8_t *bytes, size_t *len) {
  for (size_t i = 0; i < ntapes; i++) {
    *len = (size_t)(tape_random(&seed) % (max_len + 1));
    for (size_t j = 0; j < *len; j++) bytes[j] = (uint8_t)tape_random(&seed);
    if (!tape_holds(property, bytes, *len, NULL)) return true;
  }
  return false;
}

/* Drops every run of `run` bytes that is not needed for the failure. */
static inline bool tape_delete(tape_property property, uint8_t *bytes, size_t *len, size_t run,
                               uint8_t *scratch) {
  bool shrunk = false;
  for (size_t at = 0; at + run <= *len;) {
    memcpy(scratch, bytes, at);
    memcpy(scratch + at, bytes + at + run, *len - at - run);
    if (tape_holds(property, scratch, *len - run, NULL)) {
      at++;
      continue;
    }
    *len -= run;
    memcpy(bytes, scratch, *len);
    shrunk = true;
  }
  return shrunk;
}

/* Lowers each byte to the least value that still fails. */
static inline bool tape_lower(tape_property property, uint8_t *bytes, size_t len) {
  bool shrunk = false;
  for (size_t at = 0; at < len; at++) {
    unsigned old = bytes[at], value = 0;
    for (; value < old; value++) {
      bytes[at] = (uint8_t)value;
      if (!tape_holds(property, bytes, len, NULL)) break;
    }
    bytes[at] = (uint8_t)value;
    shrunk |= value < old;
  }
  return shrunk;
}

/* tape_shrink: makes a failing tape as short and as low as single steps can. */
static inline void tape_shrink(tape_property property, uint8_t *bytes, size_t *len) {
  uint8_t *scratch = malloc(*len + 1);
  if (scratch == NULL) return;
  for (bool shrunk = true; shrunk;) {
    shrunk = false;
    for (size_t run = *len; run > 0; run /= 2) {
      shrunk |= tape_delete(property, bytes, len, run, scratch);
    }
    shrunk |= tape_lower(property, bytes, *len);
  }
  free(scratch);
}

/* tape_print: as hex, which `xxd -r -p` turns back into a file for tape_replay. */
static inline void tape_print(FILE *out, const char *why, const uint8_t *bytes, size_t len) {
  fprintf(out, "# %s\n# tape of %zu bytes: ", why != NULL ? why : "the property is false", len);
  for (size_t i = 0; i < len; i++) fprintf(out, "%02x", bytes[i]);
  fputc('\n', out);
}

/* tape_replay: runs the property on the bytes of a file, telling each step; true when it holds. */
static inline bool tape_replay(tape_property property, const char *path) {
  static uint8_t bytes[1 << 16];
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    perror(path);
    return false;
  }
  tape t = {bytes, fread(bytes, 1, sizeof bytes, file), 0, NULL, true};
  fclose(file);
  bool ok = property(&t);
  if (!ok) tape_print(stderr, t.why, bytes, t.len);
  return ok;
}

#endif /* NAY_TEST_TAPE_H */
