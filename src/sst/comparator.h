/*
 * comparator.h - how keys of a table compare, and short keys that separate two of them.
 *
 * Plain keys compare as user keys do: as bytes, or by the caller's nay_sst_comparator. Keys inside
 * a LevelDB or RocksDB database are *internal keys*:
 *
 *   | user key | u64le: sequence << 8 | type |      type 1: a value, 0: a deletion,
 *                                                        2: a merge operand (RocksDB's)
 *
 * ordered by user key, then by the number in descending order, so that the newest version of a key
 * comes first.
 */
#ifndef NAY_SST_COMPARATOR_H
#define NAY_SST_COMPARATOR_H

#include "base/bits.h"
#include "base/buffer.h"
#include "base/bytes.h"
#include "nay_sst.h"

/* Types of internal keys: LevelDB's two, and RocksDB's for merge operands. */
typedef enum nay_entry_type {
  NAY_KEY_DELETION = 0,
  NAY_KEY_VALUE = 1,
  NAY_KEY_MERGE = 2
} nay_entry_type;

/* nay_order: the order of a table's keys. */
typedef struct nay_order {
  const nay_sst_comparator *user; /* how user keys compare; NULL: as bytes */
  bool internal;                  /* the keys are internal ones */
} nay_order;

#define NAY_BYTEWISE ((nay_order){NULL, false})
#define NAY_INTERNAL_KEYS ((nay_order){NULL, true})

#define NAY_BYTEWISE_NAME "leveldb.BytewiseComparator" /* in RocksDB, too */

#define NAY_KEY_TRAILER 8u /* of an internal key */

/* The largest sequence (56 bits) and the type of a value: LevelDB's, of separators. */
#define NAY_KEY_TRAILER_NEWEST 0xffffffffffffff01u

/*
 * That of an index key that is before every search for its user key, and of no entry: where an
 * index has first keys alone (foreign.c), a search for the first key of a block must pass the block
 * before it.
 */
#define NAY_KEY_TRAILER_BEFORE_ALL UINT64_MAX

/* That of a search at a sequence number: no entry of the number is before it, whatever its type,
 * which is below 0xfe. */
#define NAY_KEY_TRAILER_OF(sequence) ((uint64_t)(sequence) << 8 | 0xfe)

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

/* nay__compare_custom: by the caller's comparator, which gets no NULL. */
int nay__compare_custom(const nay_sst_comparator *user, const uint8_t *a, size_t a_len,
                        const uint8_t *b, size_t b_len);

/* nay__compare_users: two user keys. */
static inline int nay__compare_users(nay_order order, const uint8_t *a, size_t a_len,
                                     const uint8_t *b, size_t b_len) {
  if (order.user != NULL) return nay__compare_custom(order.user, a, a_len, b, b_len);
  return nay__compare_bytes(a, a_len, b, b_len);
}

/* nay_target: a key that is searched for; the trailer counts in the order of internal keys only. */
typedef struct nay_target {
  const uint8_t *user;
  size_t len;
  uint64_t trailer;
} nay_target;

/* nay__compare_target: a stored key against a target. */
int nay__compare_target(nay_order order, const uint8_t *key, size_t len, const nay_target *target);

/* nay__compare: below 0, 0 or above. An internal key of fewer than 8 bytes has an empty user key.
 */
int nay__compare(nay_order order, const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len);

/* nay__user_len: the part of a key that users know. */
static inline size_t nay__user_len(nay_order order, size_t len) {
  if (!order.internal) return len;
  return len < NAY_KEY_TRAILER ? 0 : len - NAY_KEY_TRAILER;
}

/* nay__comparator_name: of user keys, as tables store it. */
static inline const char *nay__comparator_name(const nay_sst_comparator *user) {
  return user != NULL ? user->name : NAY_BYTEWISE_NAME;
}

/* nay__same_comparator: whether two tables are in the same order: by name, as it is stored. */
static inline bool nay__same_comparator(const nay_sst_comparator *a, const nay_sst_comparator *b) {
  return a == b || strcmp(nay__comparator_name(a), nay__comparator_name(b)) == 0;
}

/* nay__equal_is_same: whether keys that compare equal are the same bytes, so that filters, which
 * hash bytes, can answer for them. */
static inline bool nay__equal_is_same(nay_order order) {
  return order.user == NULL || !order.user->equal_may_differ;
}

/*
 * nay__separator: makes key, whose room is enough, the short key that LevelDB's comparators
 * choose: key <= result < next. next NULL: the table's last key, result >= key. Bytewise orders
 * alone.
 */
void nay__separator(nay_order order, nay_buffer *key, const uint8_t *next, size_t next_len);

/* nay__separator_custom: the same by the caller's comparator, if it can. What it returns is
 * checked: a key that does not separate the two is not used. NAY_ENOMEM, for the scratch. */
nay_status nay__separator_custom(nay_order order, nay_buffer *key, const uint8_t *next,
                                 size_t next_len, nay_buffer *scratch, const nay_allocator *a);

#endif /* NAY_SST_COMPARATOR_H */
