/*
 * cf_mutate.h - hostile chains of RedisBloom's cuckoo filters that decoders accept: after each
 * change the slots are as many as the header says, and the items as many as the slots in use.
 * Random changes of bytes alone are refused by these two sums, so that nothing behind the decoder
 * is reached. Shared by the mutation test and the fuzz target.
 */
#ifndef NAY_TEST_CF_MUTATE_H
#define NAY_TEST_CF_MUTATE_H

#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"
#include "nay_advanced.h"
#include "support/seal.h"

#define CF_HEADER 38u
/* places of the fields */
enum { CF_ITEMS = 0, CF_BUCKETS = 8, CF_DELETES = 16, CF_FILTERS = 24 };          /* 64 bits */
enum { CF_BUCKET_SIZE = 32, CF_ITERATIONS = 34, CF_EXPANSION = 36, CF_END = 38 }; /* 16 bits */

typedef struct cf_dice {
  uint64_t state;
} cf_dice;

static inline uint64_t cf_roll(cf_dice *dice, uint64_t n) {
  return nay_hash_mix(dice->state++) % n;
}

/* The slots that a header states, or 0: more than `room`. */
static inline size_t cf_slots(const uint8_t *p, size_t room) {
  uint64_t nbuckets = nay__load64le(p + CF_BUCKETS), total = 0;
  for (uint64_t i = 0; i < nay__load64le(p + CF_FILTERS); i++) {
    if (nbuckets > room) return 0;
    total += nbuckets * nay__load16le(p + CF_BUCKET_SIZE);
    if (total > room) return 0;
    nbuckets *= nay__load16le(p + CF_EXPANSION);
  }
  return (size_t)total;
}

/* One field takes another value that a chain may have: mostly a small one, as few chains have room
 * for a large one. */
static inline void cf_change_field(uint8_t *p, cf_dice *dice) {
  bool large = cf_roll(dice, 8) == 0;
  uint64_t bits = nay_hash_mix(dice->state++);
  switch (cf_roll(dice, 6)) {
    case 0: nay__store64le(p + CF_BUCKETS, (uint64_t)1 << bits % 11); break;
    case 1: nay__store64le(p + CF_FILTERS, 1 + bits % (large ? 300 : 5)); break;
    case 2: nay__store16le(p + CF_BUCKET_SIZE, (uint16_t)(1 + bits % (large ? 255 : 8))); break;
    case 3: nay__store16le(p + CF_ITERATIONS, (uint16_t)(1 + bits % 65535)); break;
    case 4: nay__store16le(p + CF_EXPANSION, (uint16_t)(1u << bits % (large ? 16 : 3))); break;
    default: nay__store64le(p + CF_DELETES, bits >> (1 + cf_roll(dice, 63)));
  }
  if (cf_roll(dice, 8) == 0) nay__store16le(p + CF_EXPANSION, 0);
  if (nay__load16le(p + CF_EXPANSION) == 0) nay__store64le(p + CF_FILTERS, 1);
}

/* Some slots: freed, filled, repeated, or random. */
static inline void cf_change_slots(uint8_t *p, size_t len, cf_dice *dice) {
  size_t nslots = len - CF_HEADER;
  if (nslots == 0) return;
  size_t from = (size_t)cf_roll(dice, nslots), n = 1 + (size_t)cf_roll(dice, 1 + nslots / 4);
  uint64_t how = cf_roll(dice, 4);
  uint8_t value = (uint8_t)cf_roll(dice, 256);
  for (size_t i = from; i < nslots && i < from + n; i++) {
    p[CF_HEADER + i] = how == 0 ? 0 : how == 1 ? value : (uint8_t)nay_hash_mix(dice->state++);
  }
}

static inline void cf_seal(uint8_t *p, size_t len) {
  uint64_t nitems = 0;
  for (size_t i = CF_HEADER; i < len; i++) nitems += p[i] != 0;
  nay__store64le(p + CF_ITEMS, nitems);
}

/*
 * cf_mutate: another chain, in place of the one in p[0, len), which has a header. At most `room`
 * bytes; returns how many. One in 16 has a field that does not fit the others.
 */
static inline size_t cf_mutate(uint8_t *p, size_t len, size_t room, cf_dice *dice) {
  uint8_t header[CF_HEADER];
  for (uint64_t n = 1 + cf_roll(dice, 3); n > 0; n--) {
    memcpy(header, p, CF_HEADER);
    if (cf_roll(dice, 2) == 0) cf_change_field(p, dice);
    size_t nslots = cf_slots(p, room - CF_HEADER);
    if (nslots == 0) { /* too large: as it was, or the smallest */
      memcpy(p, header, CF_HEADER);
      nslots = cf_slots(p, room - CF_HEADER);
    }
    if (nslots == 0) {
      nay__store64le(p + CF_BUCKETS, 1);
      nay__store64le(p + CF_FILTERS, 1);
      nay__store16le(p + CF_BUCKET_SIZE, 1);
      nslots = 1;
    }
    for (size_t i = len; i < CF_HEADER + nslots; i++) p[i] = p[CF_HEADER + i % 7];
    len = CF_HEADER + nslots;
    if (cf_roll(dice, 2) == 0) cf_change_slots(p, len, dice);
  }
  cf_seal(p, len);
  if (cf_roll(dice, 16) == 0) p[cf_roll(dice, CF_END)] ^= (uint8_t)(1u << cf_roll(dice, 8));
  return len;
}

/* ---- as Redis' DUMP ---- */

static inline uint8_t *cf_put_length(uint8_t *to, uint64_t value) {
  if (value < 64) {
    *to++ = (uint8_t)value;
  } else if (value < 16384) {
    *to++ = (uint8_t)(0x40 | value >> 8);
    *to++ = (uint8_t)value;
  } else {
    *to++ = 0x81;
    for (unsigned i = 8; i-- > 0;) *to++ = (uint8_t)(value >> 8 * i);
  }
  return to;
}

static inline uint8_t *cf_put_number(uint8_t *to, uint64_t value) {
  *to++ = 2; /* RDB_MODULE_OPCODE_UINT */
  return cf_put_length(to, value);
}

/* The room that cf_dump needs: 300 sub-filters have a number and a length each. */
static inline size_t cf_dump_room(size_t len) { return len + 128 + 300 * 20; }

/*
 * cf_dump: the chain in p[0, len) as DUMP writes the key. Sub-filters that the slots do not reach
 * are shorter than they say.
 */
static inline size_t cf_dump(const uint8_t *p, size_t len, uint8_t *dump) {
  static const uint8_t start[] = {7, 0x81, 0x30, 0x16, 0xe5, 0xa2, 0x89, 0x82, 0x14, 4};
  uint64_t nfilters = nay__load64le(p + CF_FILTERS), nbuckets = nay__load64le(p + CF_BUCKETS);
  uint64_t bucket_size = nay__load16le(p + CF_BUCKET_SIZE);
  uint8_t *to = dump + sizeof start;
  memcpy(dump, start, sizeof start);
  to = cf_put_number(to, nfilters);
  to = cf_put_number(to, nbuckets);
  to = cf_put_number(to, nay__load64le(p + CF_ITEMS));
  to = cf_put_number(to, nay__load64le(p + CF_DELETES));
  for (unsigned at = CF_BUCKET_SIZE; at < CF_END; at += 2) {
    to = cf_put_number(to, nay__load16le(p + at));
  }
  size_t at = CF_HEADER;
  for (uint64_t i = 0; i < nfilters && i < 300; i++, nbuckets *= nay__load16le(p + CF_EXPANSION)) {
    uint64_t want = nbuckets > len ? len : nbuckets * bucket_size;
    bool last = i + 1 == nfilters || i + 1 == 300;
    size_t n = want < len - at && !last ? (size_t)want : len - at;
    to = cf_put_number(to, nbuckets);
    *to++ = 5; /* RDB_MODULE_OPCODE_STRING */
    to = cf_put_length(to, n);
    memcpy(to, p + at, n);
    to += n;
    at += n;
  }
  *to++ = 0; /* RDB_MODULE_OPCODE_EOF */
  *to++ = 10, *to++ = 0;
  to += 8;
  seal_dump(dump, (size_t)(to - dump));
  return (size_t)(to - dump);
}

#endif /* NAY_TEST_CF_MUTATE_H */
