/*
 * comparator.h - how keys of a table compare, and short keys that separate two of them.
 *
 * Plain keys compare as bytes. Keys inside a LevelDB or RocksDB database are *internal keys*:
 *
 *   | user key | u64le: sequence << 8 | type |      type 1: a value, 0: a deletion
 *
 * ordered by user key, then by the number in descending order, so that the newest version of a key
 * comes first.
 */
#ifndef NAY_SST_COMPARATOR_H
#define NAY_SST_COMPARATOR_H

#include "base/bits.h"
#include "base/buffer.h"
#include "base/bytes.h"

typedef enum nay_comparator { NAY_BYTEWISE, NAY_INTERNAL_KEYS } nay_comparator;

#define NAY_KEY_TRAILER 8u /* of an internal key */

/* The largest sequence (56 bits) and type of a search: the newest of all versions. */
#define NAY_KEY_TRAILER_NEWEST 0xffffffffffffff01u

/* nay__common: how many leading bytes a[0,n) and b[0,n) share. */
static inline size_t nay__common(const uint8_t *a, const uint8_t *b, size_t n) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    uint64_t differ = nay__load64le(a + i) ^ nay__load64le(b + i);
    if (differ != 0) return i + nay__ctz64(differ) / 8;
  }
  while (i < n && a[i] == b[i]) i++;
  return i;
}

/* nay__compare_bytes: memcmp, then the shorter one first. */
static inline int nay__compare_bytes(const uint8_t *a, size_t a_len, const uint8_t *b,
                                     size_t b_len) {
  size_t n = a_len < b_len ? a_len : b_len;
  int order = n == 0 ? 0 : memcmp(a, b, n);
  return order != 0 ? order : (a_len > b_len) - (a_len < b_len);
}

/* nay_target: a key that is searched for; the trailer counts in the order of internal keys only. */
typedef struct nay_target {
  const uint8_t *user;
  size_t len;
  uint64_t trailer;
} nay_target;

/* nay__compare_target: a stored key against a target. */
int nay__compare_target(nay_comparator order, const uint8_t *key, size_t len,
                        const nay_target *target);

/* nay__compare: below 0, 0 or above. An internal key of fewer than 8 bytes has an empty user key.
 */
int nay__compare(nay_comparator order, const uint8_t *a, size_t a_len, const uint8_t *b,
                 size_t b_len);

/* nay__user_len: the part of a key that users know. */
static inline size_t nay__user_len(nay_comparator order, size_t len) {
  if (order == NAY_BYTEWISE) return len;
  return len < NAY_KEY_TRAILER ? 0 : len - NAY_KEY_TRAILER;
}

/*
 * nay__separator: makes key, whose room is enough, the short key that LevelDB's comparators
 * choose: key <= result < next. next NULL: the table's last key, result >= key.
 */
void nay__separator(nay_comparator order, nay_buffer *key, const uint8_t *next, size_t next_len);

#endif /* NAY_SST_COMPARATOR_H */
