/*
 * key_order.h - the order of a table's keys, and the short separator keys of its index.
 *
 * A table's keys are plain user keys or *internal keys*, as the tables of a LevelDB or RocksDB
 * database have them:
 *
 *   | user key | trailer u64le: sequence << 8 | type |      type 0: deletion, 1: value,
 *                                                           2: merge operand (RocksDB only)
 *
 * User keys compare as bytes, or by the caller's nay_sst_comparator. Internal keys compare by user
 * key, then by descending trailer, so the newest version of a key comes first.
 */
#ifndef NAY_SST_BLOCK_KEY_ORDER_H
#define NAY_SST_BLOCK_KEY_ORDER_H

#include "base/bits.h"
#include "base/buffer.h"
#include "base/bytes.h"
#include "nay_sst.h"

/* nay_entry_type: the type byte of an internal key, LevelDB's ValueType: its two, and RocksDB's
 * merge operand. */
typedef enum nay_entry_type {
  NAY_KEY_DELETION = 0,
  NAY_KEY_VALUE = 1,
  NAY_KEY_MERGE = 2
} nay_entry_type;

/* nay_sst__trailer: the trailer of an internal key. */
static inline uint64_t nay_sst__trailer(uint64_t sequence, nay_sst_entry_type type) {
  return sequence << 8 | (type == NAY_SST_MERGE ? NAY_KEY_MERGE : type == NAY_SST_PUT);
}

/* nay_sst__trailer_type: the type in a trailer whose type byte is known to be 0 to 2. */
static inline nay_sst_entry_type nay_sst__trailer_type(uint64_t trailer) {
  return (trailer & 0xff) == NAY_KEY_MERGE   ? NAY_SST_MERGE
         : (trailer & 0xff) == NAY_KEY_VALUE ? NAY_SST_PUT
                                             : NAY_SST_DELETE;
}

/* nay_order: the order of a table's keys. */
typedef struct nay_order {
  const nay_sst_comparator *user; /* comparator of user keys; NULL: bytewise */
  bool internal;                  /* the keys are internal keys */
} nay_order;

#define NAY_BYTEWISE ((nay_order){NULL, false})
#define NAY_INTERNAL_KEYS ((nay_order){NULL, true})

#define NAY_BYTEWISE_NAME "leveldb.BytewiseComparator" /* RocksDB uses this name, too */

#define NAY_KEY_TRAILER 8u /* bytes of the trailer of an internal key */

/* NAY_KEY_TRAILER_NEWEST: the largest sequence number (56 bits) with the type of a value. LevelDB
 * gives it to the separators of an index. */
#define NAY_KEY_TRAILER_NEWEST 0xffffffffffffff01u

/*
 * NAY_KEY_TRAILER_BEFORE_ALL: an index key with this trailer sorts before every search target with
 * the same user key; no entry has it. engine.c needs it for an index that has only first keys: a
 * search for the first key of a block must not end in the block before it.
 */
#define NAY_KEY_TRAILER_BEFORE_ALL UINT64_MAX

/* NAY_KEY_TRAILER_OF: the trailer of a search at a sequence number. Types are below 0xfe, so no
 * entry with that sequence number comes before the search target. */
#define NAY_KEY_TRAILER_OF(sequence) ((uint64_t)(sequence) << 8 | 0xfe)

/* nay_sst__key_parts: nay_sst_key_split of a key that is not NULL into a struct of these headers.
 * false: it is no internal key. */
static inline bool nay_sst__key_parts(const void *key, size_t len, nay_sst_entry *entry) {
  if (len < NAY_KEY_TRAILER) return false;
  uint64_t trailer = nay__load64le((const uint8_t *)key + len - NAY_KEY_TRAILER);
  if ((trailer & 0xff) > NAY_KEY_MERGE) return false;
  entry->key = key;
  entry->len = len - NAY_KEY_TRAILER;
  entry->sequence = trailer >> 8;
  entry->type = nay_sst__trailer_type(trailer);
  return true;
}

/* nay_sst__common: length of the longest common prefix of a[0,n) and b[0,n). */
static inline size_t nay_sst__common(const uint8_t *a, const uint8_t *b, size_t n) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    uint64_t differ = nay__load64le(a + i) ^ nay__load64le(b + i);
    if (differ != 0) return i + nay__ctz64(differ) / 8;
  }
  while (i < n && a[i] == b[i]) i++;
  return i;
}

/* nay_sst__compare_bytes: bytewise order: memcmp, and a prefix comes before the longer key. */
static inline int nay_sst__compare_bytes(const uint8_t *a, size_t a_len, const uint8_t *b,
                                         size_t b_len) {
  size_t n = a_len < b_len ? a_len : b_len;
  int order = n == 0 ? 0 : memcmp(a, b, n);
  return order != 0 ? order : (a_len > b_len) - (a_len < b_len);
}

/* nay_sst__compare_custom: calls the caller's comparator, which gets "" for NULL. */
int nay_sst__compare_custom(const nay_sst_comparator *user, const uint8_t *a, size_t a_len,
                            const uint8_t *b, size_t b_len);

/* nay_sst__compare_users: compares two user keys. */
static inline int nay_sst__compare_users(nay_order order, const uint8_t *a, size_t a_len,
                                         const uint8_t *b, size_t b_len) {
  if (order.user != NULL) return nay_sst__compare_custom(order.user, a, a_len, b, b_len);
  return nay_sst__compare_bytes(a, a_len, b, b_len);
}

/* nay_target: the target of a search. Plain keys ignore the trailer. */
typedef struct nay_target {
  const uint8_t *user;
  size_t len;
  uint64_t trailer;
} nay_target;

/* nay_sst__compare_target: compares a key of the table with the target of a search. */
int nay_sst__compare_target(nay_order order, const uint8_t *key, size_t len,
                            const nay_target *target);

/* nay_sst__compare: compares two keys of the table. An internal key of fewer than 8 bytes, which is
 * corrupt, counts as an empty user key with trailer 0. */
int nay_sst__compare(nay_order order, const uint8_t *a, size_t a_len, const uint8_t *b,
                     size_t b_len);

/* nay_sst__user_len: length of the user key in a key of the table. */
static inline size_t nay_sst__user_len(nay_order order, size_t len) {
  if (!order.internal) return len;
  return len < NAY_KEY_TRAILER ? 0 : len - NAY_KEY_TRAILER;
}

/* nay_sst__comparator_name: the comparator's name, as tables store it. */
static inline const char *nay_sst__comparator_name(const nay_sst_comparator *user) {
  return user != NULL ? user->name : NAY_BYTEWISE_NAME;
}

/* nay_sst__same_comparator: whether two comparators are the same order. Their names decide, as in
 * LevelDB. */
static inline bool nay_sst__same_comparator(const nay_sst_comparator *a,
                                            const nay_sst_comparator *b) {
  return a == b || strcmp(nay_sst__comparator_name(a), nay_sst__comparator_name(b)) == 0;
}

/* nay_sst__equal_is_same: whether keys that compare equal have the same bytes. A filter hashes
 * bytes, so it can answer for such an order only. */
static inline bool nay_sst__equal_is_same(nay_order order) {
  return order.user == NULL || !order.user->equal_may_differ;
}

/*
 * nay_sst__separator: shortens `key` to a separator, key <= separator < next, as LevelDB's
 * FindShortestSeparator does. next NULL: `key` is the last key of the table, and the result is at
 * or above it (FindShortSuccessor). The result is never longer than the key. Bytewise orders only.
 */
void nay_sst__separator(nay_order order, nay_buffer *key, const uint8_t *next, size_t next_len);

/* nay_sst__separator_custom: nay_sst__separator with the caller's comparator. Leaves `key`
   unchanged if the comparator has no separator call or returns a key that does not separate the
   two. NAY_ENOMEM: `scratch` cannot grow. */
nay_status nay_sst__separator_custom(nay_order order, nay_buffer *key, const uint8_t *next,
                                     size_t next_len, nay_buffer *scratch, const nay_allocator *a);

#endif /* NAY_SST_BLOCK_KEY_ORDER_H */
