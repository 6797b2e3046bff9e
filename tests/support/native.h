/*
 * native.h - native files for tests: samples of any family, assembled by hand, sealed again after a
 * change. It follows doc/formats/nay.md and not the library, so that the two check each other.
 */
#ifndef NAY_TEST_NATIVE_H
#define NAY_TEST_NATIVE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "hash/hash.h"
#include "nay_advanced.h"

#define NATIVE_CHUNK 65536u

/* Header fields: offset and size. */
typedef struct native_field {
  const char *name;
  unsigned at, size;
} native_field;

static const native_field native_fields[] = {
    {"magic", 0, 8},     {"version", 8, 1},   {"kind", 9, 1},       {"hash", 10, 1},
    {"required", 11, 1}, {"optional", 12, 1}, {"nsections", 13, 1}, {"zero", 14, 2},
    {"seed", 16, 8},     {"nkeys", 24, 8},    {"nunits", 32, 8},    {"k", 40, 4},
    {"extra", 44, 4},    {"body_len", 48, 8}, {"digest", 56, 8},
};
#define NATIVE_NFIELDS (sizeof native_fields / sizeof native_fields[0])

static inline void native_put(uint8_t *at, unsigned size, uint64_t value) {
  for (unsigned i = 0; i < size; i++) at[i] = (uint8_t)(value >> (8 * i));
}

static inline uint64_t native_directory_end(uint64_t nsections, uint64_t body_len) {
  return 64 + 16 * nsections + 8 * (body_len / NATIVE_CHUNK + (body_len % NATIVE_CHUNK != 0));
}

static inline uint64_t native_up(uint64_t x) { return (x + 63) / 64 * 64; }

static inline uint64_t native_body_at(uint64_t nsections, uint64_t body_len) {
  return native_up(native_directory_end(nsections, body_len) + 8);
}

/*
 * Makes every digest right again that can be, for the lengths the header states. When these do not
 * fit the file only the header is sealed.
 */
static inline void native_seal(uint8_t *p, size_t len) {
  if (len < 64) return;
  nay__store64le(p + 56, XXH3_64bits(p, 56));
  uint64_t nsections = p[13], body_len = nay__load64le(p + 48);
  if (body_len >= len || native_body_at(nsections, body_len) + body_len != len) return;
  uint8_t *body = p + native_body_at(nsections, body_len), *digest = p + 64 + 16 * nsections;
  for (uint64_t at = 0; at < body_len; at += NATIVE_CHUNK, digest += 8) {
    uint64_t n = body_len - at < NATIVE_CHUNK ? body_len - at : NATIVE_CHUNK;
    nay__store64le(digest, XXH3_64bits(body + at, (size_t)n));
  }
  nay__store64le(digest, XXH3_64bits(p + 56, (size_t)(digest - p) - 56));
}

typedef struct native_section {
  uint32_t type, flags;
  const void *at;
  size_t len;
} native_section;

/* A file of these sections; header gives the fields before body_len. Returns malloc'ed bytes. */
static inline uint8_t *native_assemble(const uint8_t *header, const native_section *s, unsigned n,
                                       size_t *len) {
  uint64_t body_len = 0;
  for (unsigned i = 0; i < n; i++) body_len = native_up(body_len) + s[i].len;
  uint64_t body_at = native_body_at(n, body_len), at = body_at;
  *len = (size_t)(body_at + body_len);
  uint8_t *p = calloc(1, *len);
  if (p == NULL) abort();
  memcpy(p, header, 48);
  p[13] = (uint8_t)n;
  nay__store64le(p + 48, body_len);
  for (unsigned i = 0; i < n; i++) {
    nay__store32le(p + 64 + 16 * i, s[i].type);
    nay__store32le(p + 68 + 16 * i, s[i].flags);
    nay__store64le(p + 72 + 16 * i, s[i].len);
    at = native_up(at);
    if (s[i].len != 0) memcpy(p + at, s[i].at, s[i].len);
    at += s[i].len;
  }
  native_seal(p, *len);
  return p;
}

/* The sections of a good file; returns how many (at most max). */
static inline unsigned native_split(const uint8_t *p, native_section *s, unsigned max) {
  uint64_t at = native_body_at(p[13], nay__load64le(p + 48));
  unsigned n = 0;
  for (; n < p[13] && n < max; n++) {
    const uint8_t *entry = p + 64 + 16 * n;
    at = native_up(at);
    s[n] = (native_section){nay__load32le(entry), nay__load32le(entry + 4), p + at,
                            (size_t)nay__load64le(entry + 8)};
    at += s[n].len;
  }
  return n;
}

/* Member i of every sample: a mixed integer, so that files of every hash kind have the same. */
static inline size_t native_member(uint64_t i, uint8_t key[8]) {
  native_put(key, 8, nay_hash_mix(i));
  return 8;
}

static inline nay_filter *native_filter(const nay_params *params, uint64_t nmembers) {
  nay_builder *b = NULL;
  nay_filter *f = NULL;
  nay_status status = nay_builder_new(params, NULL, NULL, &b);
  for (uint64_t i = 0; i < nmembers && status == NAY_OK; i++) {
    uint8_t key[8];
    status = nay_builder_add(b, key, native_member(i, key));
  }
  if (status == NAY_OK) status = nay_builder_finish(b, NULL, &f);
  nay_builder_free(b);
  if (status != NAY_OK) {
    fprintf(stderr, "native_filter: kind %d: %s\n", (int)params->kind, nay_status_text(status));
    abort();
  }
  return f;
}

static inline uint8_t *native_encode(const nay_filter *f, size_t *len) {
  *len = nay_filter_encoded_size(f);
  uint8_t *p = malloc(*len);
  if (p == NULL || nay_filter_encode(f, p, *len, len) != NAY_OK) abort();
  return p;
}

static inline uint8_t *native_sample(const nay_params *params, uint64_t nmembers, size_t *len) {
  nay_filter *f = native_filter(params, nmembers);
  uint8_t *p = native_encode(f, len);
  nay_filter_free(f);
  return p;
}

/* The largest sample of a kind, at a rate of 1 %, whose file has at most `most` bytes. */
static inline uint8_t *native_sample_upto(nay_kind kind, size_t most, uint64_t *nmembers,
                                          size_t *len) {
  nay_params params = {sizeof params, .kind = kind, .fpr = 0.01};
  uint8_t *best = NULL;
  for (uint64_t n = 16; n <= 64 * (uint64_t)most;
       n += n / 8) { /* down to an eighth of a bit per key */
    size_t size;
    uint8_t *p = native_sample(&params, n, &size);
    if (size > most) {
      free(p);
      if (best != NULL) break;
      continue;
    }
    free(best);
    best = p;
    *len = size;
    *nmembers = n;
  }
  if (best == NULL) abort();
  return best;
}

static inline bool native_members_ok(const nay_filter *f, uint64_t nmembers) {
  for (uint64_t i = 0; i < nmembers; i++) {
    uint8_t key[8];
    if (!nay_filter_may_contain(f, key, native_member(i, key))) return false;
  }
  return true;
}

#endif /* NAY_TEST_NATIVE_H */
