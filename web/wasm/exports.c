/*
 * exports.c - the calls of nayw.h: batches, builders, explanations.
 *
 * BATCHES. JavaScript writes keys one after the other into a buffer (packed), in pieces, and has
 * each piece hashed into one array. When all are hashed, one call adds or probes them: so a key
 * that cannot be encoded is found before anything is added, and the keys of a batch take 8 bytes
 * each (16 where the layout of another system needs two words), not their lengths.
 */
#include <stdlib.h>
#include <string.h>

#include "base/trace.h"
#include "filter.h"
#include "hash/hash.h"
#include "nay_explain.h"
#include "nay_key.h"
#include "nay_map.h"
#include "nayw.h"

#define NAYW_GROUP 64u /* keys for which pointers and lengths are made at a time */
#define NAYW_ROOM 65536u
#define NAYW_PIECE 512u /* keys that JavaScript hands over at a time */

static uint8_t nayw_room_bytes[NAYW_ROOM] __attribute__((aligned(64)));

/* nayw_room: where JavaScript writes keys of up to nayw_room_size bytes. */
NAYW_EXPORT(nayw_room) uint8_t *nayw_room(void);
uint8_t *nayw_room(void) { return nayw_room_bytes; }

/* nayw_hash_name: of the hashes that the core knows; nay_hash_name would link every format. */
NAYW_EXPORT(nayw_hash_name) const char *nayw_hash_name(nay_hash_kind kind);
const char *nayw_hash_name(nay_hash_kind kind) {
  const char *name = nay__hash_native_name(kind);
  return name != NULL ? name : "unknown";
}

/* nayw_hash_mix: nay_hash_mix is a function of the header. */
NAYW_EXPORT(nayw_hash_mix) uint64_t nayw_hash_mix(uint64_t x);
uint64_t nayw_hash_mix(uint64_t x) { return nay_hash_mix(x); }

NAYW_EXPORT(nayw_room_size) size_t nayw_room_size(void);
size_t nayw_room_size(void) { return NAYW_ROOM; }

/* ---- one key ---- */

/*
 * nayw_add: 1 when the key is new, 0 when it tested maybe before; else a status. In a bloom or
 * blocked filter an add to a key whose bits are all set changes nothing, so a probe and an add that
 * does not look at the bits do, by the code that the filter has for its k. (With trace events an
 * add shows every bit, also of such a key.)
 */
NAYW_EXPORT(nayw_add) int nayw_add(nay_filter *filter, const uint8_t *key, size_t len);
int nayw_add(nay_filter *filter, const uint8_t *key, size_t len) {
  bool is_new = false;
  uint64_t hash;
  bool plain = !NAY_TRACED && filter->add_blind != NULL && filter->bits.probe != NULL &&
               (filter->family->kind == NAY_BLOOM || filter->family->kind == NAY_BLOCKED);
  if (NAY_LIKELY(plain && nay__hash_4to16(&filter->hasher, key, len, &hash))) {
    if (filter->bits.probe(&filter->bits, hash)) return 0;
    nay_status status = filter->add_blind(&filter->bits, hash);
    return status != NAY_OK ? (int)status : 1;
  }
  nay_status status = nay_filter_add(filter, key, len, &is_new);
  return status != NAY_OK ? (int)status : is_new;
}

/* nayw_hash: both words to hash[2]. */
NAYW_EXPORT(nayw_hash)
int nayw_hash(const nay_filter *f, const uint8_t *key, size_t len, nay_hash *hash);
int nayw_hash(const nay_filter *f, const uint8_t *key, size_t len, nay_hash *hash) {
  nay_status status = nay__hasher_ready(&f->hasher);
  if (status == NAY_OK) *hash = nay__hash_key(&f->hasher, key, len);
  return status;
}

/* nayw_remove_hash: a struct by value has no form in JavaScript. */
NAYW_EXPORT(nayw_remove_hash) int nayw_remove_hash(nay_filter *f, uint64_t lo, uint64_t hi);
int nayw_remove_hash(nay_filter *f, uint64_t lo, uint64_t hi) {
  return nay_filter_remove_hash(f, (nay_hash){lo, hi});
}

/* nayw_convert: nay_key_convert by a description that is a text. */
NAYW_EXPORT(nayw_convert)
int nayw_convert(const char *description, const char *text, size_t len, uint8_t *out, size_t cap,
                 size_t *key_len, nay_diag *diag);
int nayw_convert(const char *description, const char *text, size_t len, uint8_t *out, size_t cap,
                 size_t *key_len, nay_diag *diag) {
  nay_key_description how = {.size = sizeof how};
  nay_status status = nay_key_description_parse(description, diag, &how);
  if (status != NAY_OK) return status;
  return nay_key_convert(&how, text, len, diag, out, cap, key_len);
}

/* ---- batches ---- */

typedef nay_status (*nayw_group)(void *ctx, const void *const *keys, const size_t *lens, size_t n);

/* Key i is bytes[offsets[i], offsets[i + 1]): pointers and lengths for a group at a time. */
static nay_status packed_each(const uint8_t *bytes, const uint32_t *offsets, size_t n,
                              nayw_group each, void *ctx) {
  const void *keys[NAYW_GROUP];
  size_t lens[NAYW_GROUP];
  for (size_t i = 0; i < n;) {
    size_t m = 0;
    for (; m < NAYW_GROUP && i < n; m++, i++) {
      keys[m] = bytes + offsets[i];
      lens[m] = offsets[i + 1] - offsets[i];
    }
    nay_status status = each(ctx, keys, lens, m);
    if (status != NAY_OK) return status;
  }
  return NAY_OK;
}

/* The same for lines: the delimiter ends a key; the last one may lack it. */
static nay_status lines_each(const uint8_t *bytes, size_t len, int delimiter, nayw_group each,
                             void *ctx) {
  const void *keys[NAYW_GROUP];
  size_t lens[NAYW_GROUP];
  for (const uint8_t *at = bytes, *end = bytes + len; at < end;) {
    size_t m = 0;
    for (; m < NAYW_GROUP && at < end; m++) {
      const uint8_t *stop = memchr(at, delimiter, (size_t)(end - at));
      if (stop == NULL) stop = end;
      keys[m] = at;
      lens[m] = (size_t)(stop - at);
      at = stop + 1;
    }
    nay_status status = each(ctx, keys, lens, m);
    if (status != NAY_OK) return status;
  }
  return NAY_OK;
}

typedef struct hash_ctx {
  const nay_filter *filter;
  uint64_t *lo, *hi;
} hash_ctx;

/* The hash of a key, which is XXH3 of 4 to 16 bytes more often than not, is inlined. */
NAY_INLINE void hash_one(hash_ctx *c, const uint8_t *key, size_t len) {
  nay_hash hash = nay__hash_key(&c->filter->hasher, key, len);
  *c->lo++ = hash.lo;
  if (c->hi != NULL) *c->hi++ = hash.hi;
}

static nay_status hash_group(void *ctx, const void *const *keys, const size_t *lens, size_t n) {
  for (size_t i = 0; i < n; i++) hash_one(ctx, keys[i], lens[i]);
  return NAY_OK;
}

/* nayw_hash_packed: the hashes of n packed keys; hi may be NULL where the hash has one word. */
NAYW_EXPORT(nayw_hash_packed)
int nayw_hash_packed(const nay_filter *f, const uint8_t *bytes, const uint32_t *offsets, size_t n,
                     uint64_t *lo, uint64_t *hi);
int nayw_hash_packed(const nay_filter *f, const uint8_t *bytes, const uint32_t *offsets, size_t n,
                     uint64_t *lo, uint64_t *hi) {
  hash_ctx ctx = {f, lo, hi};
  const nay_hash_fn hasher = f->hasher; /* a copy that nothing points to: it stays in registers */
  nay_status status = nay__hasher_ready(&f->hasher);
  if (status != NAY_OK) return status;
  for (size_t i = 0; i < n; i++) {
    const uint8_t *key = bytes + offsets[i];
    size_t len = offsets[i + 1] - offsets[i];
    if (hi == NULL && nay__hash_4to16(&hasher, key, len, &lo[i])) {
      ctx.lo++;
    } else {
      hash_one(&ctx, key, len);
    }
  }
  return NAY_OK;
}

/* nayw_hash_lines: of the keys that a delimiter ends. */
NAYW_EXPORT(nayw_hash_lines)
int nayw_hash_lines(const nay_filter *f, const uint8_t *bytes, size_t len, int delimiter,
                    uint64_t *lo, uint64_t *hi);
int nayw_hash_lines(const nay_filter *f, const uint8_t *bytes, size_t len, int delimiter,
                    uint64_t *lo, uint64_t *hi) {
  hash_ctx ctx = {f, lo, hi};
  nay_status status = nay__hasher_ready(&f->hasher);
  return status != NAY_OK ? status : lines_each(bytes, len, delimiter, hash_group, &ctx);
}

/* nayw_count_lines: how many keys these bytes hold. */
NAYW_EXPORT(nayw_count_lines)
size_t nayw_count_lines(const uint8_t *bytes, size_t len, int delimiter);
size_t nayw_count_lines(const uint8_t *bytes, size_t len, int delimiter) {
  size_t n = 0;
  for (size_t i = 0; i < len; i++) n += bytes[i] == (uint8_t)delimiter;
  return n + (len > 0 && bytes[len - 1] != (uint8_t)delimiter);
}

/* nayw_spread: a bitmap of n bits as n bytes, 0 or 1. */
NAYW_EXPORT(nayw_spread) void nayw_spread(const uint64_t *bitmap, size_t n, uint8_t *bytes);
void nayw_spread(const uint64_t *bitmap, size_t n, uint8_t *bytes) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) { /* bit j of eight to the lowest bit of byte j */
    uint64_t bits = bitmap[i / 64] >> i % 64 & 0xffu;
    uint64_t low = (bits & 0x7fu) * 0x0002040810204081u & 0x0101010101010101u;
    uint64_t each = low | bits >> 7 << 56;
    memcpy(bytes + i, &each, 8);
  }
  for (; i < n; i++) bytes[i] = bitmap[i / 64] >> i % 64 & 1u;
}

/*
 * nayw_test_packed: answers[i] is 1 when the filter may contain key i, of at most NAYW_PIECE packed
 * keys, else 0. As nay_filter_may_contain, a filter that cannot hash says maybe.
 */
NAYW_EXPORT(nayw_test_packed)
int nayw_test_packed(const nay_filter *f, const uint8_t *bytes, const uint32_t *offsets, size_t n,
                     uint8_t *answers);
int nayw_test_packed(const nay_filter *f, const uint8_t *bytes, const uint32_t *offsets, size_t n,
                     uint8_t *answers) {
  static uint64_t lo[NAYW_PIECE], hi[NAYW_PIECE], bitmap[NAYW_PIECE / 64];
  if (n > NAYW_PIECE) return NAY_EINVAL;
  uint64_t *second = nay__hasher_has_hi(&f->hasher) ? hi : NULL;
  if (nayw_hash_packed(f, bytes, offsets, n, lo, second) != NAY_OK) {
    memset(answers, 1, n);
    return NAY_OK;
  }
  nay_status status = nay_filter_may_contain_hash_many(f, lo, second, n, bitmap);
  if (status == NAY_OK) nayw_spread(bitmap, n, answers);
  return status;
}

/* ---- builders ---- */

static nay_status builder_group(void *ctx, const void *const *keys, const size_t *lens, size_t n) {
  nay_status status = NAY_OK;
  for (size_t i = 0; i < n && status == NAY_OK; i++)
    status = nay_builder_add(ctx, keys[i], lens[i]);
  return status;
}

/* nayw_builder_packed, _lines, _hashes: n keys to a builder. */
NAYW_EXPORT(nayw_builder_packed)
int nayw_builder_packed(nay_builder *b, const uint8_t *bytes, const uint32_t *offsets, size_t n);
int nayw_builder_packed(nay_builder *b, const uint8_t *bytes, const uint32_t *offsets, size_t n) {
  return packed_each(bytes, offsets, n, builder_group, b);
}

NAYW_EXPORT(nayw_builder_lines)
int nayw_builder_lines(nay_builder *b, const uint8_t *bytes, size_t len, int delimiter);
int nayw_builder_lines(nay_builder *b, const uint8_t *bytes, size_t len, int delimiter) {
  return lines_each(bytes, len, delimiter, builder_group, b);
}

NAYW_EXPORT(nayw_builder_hashes)
int nayw_builder_hashes(nay_builder *b, const uint64_t *lo, size_t n);
int nayw_builder_hashes(nay_builder *b, const uint64_t *lo, size_t n) {
  nay_status status = NAY_OK;
  for (size_t i = 0; i < n && status == NAY_OK; i++) {
    status = nay_builder_add_hash(b, (nay_hash){lo[i], 0});
  }
  return status;
}

/* nayw_map_builder_packed, _hashes: n pairs to a builder of maps. */
NAYW_EXPORT(nayw_map_builder_packed)
int nayw_map_builder_packed(nay_builder *b, const uint8_t *bytes, const uint32_t *offsets, size_t n,
                            const uint64_t *values);
int nayw_map_builder_packed(nay_builder *b, const uint8_t *bytes, const uint32_t *offsets, size_t n,
                            const uint64_t *values) {
  nay_status status = NAY_OK;
  for (size_t i = 0; i < n && status == NAY_OK; i++) {
    size_t len = offsets[i + 1] - offsets[i];
    status = nay_builder_add_value(b, bytes + offsets[i], len, values[i]);
  }
  return status;
}

NAYW_EXPORT(nayw_map_builder_hashes)
int nayw_map_builder_hashes(nay_builder *b, const uint64_t *lo, size_t n, const uint64_t *values);
int nayw_map_builder_hashes(nay_builder *b, const uint64_t *lo, size_t n, const uint64_t *values) {
  nay_status status = NAY_OK;
  for (size_t i = 0; i < n && status == NAY_OK; i++) {
    status = nay_builder_add_value_hash(b, (nay_hash){lo[i], 0}, values[i]);
  }
  return status;
}

/* nayw_map_get_hash: as nay_filter_get, of a hash. */
NAYW_EXPORT(nayw_map_get_hash)
int nayw_map_get_hash(const nay_filter *map, uint64_t lo, uint64_t *value);
int nayw_map_get_hash(const nay_filter *map, uint64_t lo, uint64_t *value) {
  return nay_filter_get_hash(map, (nay_hash){lo, 0}, value);
}

/* ---- explanations ---- */

typedef struct step_list {
  nay_explain_step *at;
  size_t n, cap;
} step_list;

static step_list steps; /* of the last explanation */

static nay_status steps_add(void *ctx, const nay_explain_step *step) {
  (void)ctx;
  if (steps.n == steps.cap) {
    size_t cap = steps.cap == 0 ? 16 : 2 * steps.cap;
    nay_explain_step *more = malloc(cap * sizeof *more);
    if (more == NULL) return NAY_ENOMEM;
    if (steps.n != 0) memcpy(more, steps.at, steps.n * sizeof *more);
    free(steps.at);
    steps.at = more;
    steps.cap = cap;
  }
  steps.at[steps.n++] = *step;
  return NAY_OK;
}

/* nayw_explain: the summary; nayw_explain_steps then has the steps, until the next one. */
NAYW_EXPORT(nayw_explain)
int nayw_explain(const nay_filter *f, const uint8_t *key, size_t len, nay_explanation *why);
int nayw_explain(const nay_filter *f, const uint8_t *key, size_t len, nay_explanation *why) {
  steps.n = 0;
  why->size = sizeof *why;
  return nay_filter_explain(f, key, len, steps_add, NULL, why);
}

NAYW_EXPORT(nayw_explain_hash)
int nayw_explain_hash(const nay_filter *f, uint64_t lo, uint64_t hi, nay_explanation *why);
int nayw_explain_hash(const nay_filter *f, uint64_t lo, uint64_t hi, nay_explanation *why) {
  steps.n = 0;
  why->size = sizeof *why;
  return nay__filter_explain_hash(f, (nay_hash){lo, hi}, steps_add, NULL, why);
}

NAYW_EXPORT(nayw_explain_nsteps) size_t nayw_explain_nsteps(void);
size_t nayw_explain_nsteps(void) { return steps.n; }

NAYW_EXPORT(nayw_explain_steps) const nay_explain_step *nayw_explain_steps(void);
const nay_explain_step *nayw_explain_steps(void) { return steps.at; }
