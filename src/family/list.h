/*
 * list.h - the family of exact lists (nay_list.h): which keys of a known universe are listed. A
 * list is a filter that is built of keys and values (build/list_build.h). It answers for keys, not
 * for hashes: part of a key may choose its partition, and the few keys whose hashes collide are
 * told apart by a second hash.
 *
 * shape.nunits is the length of the payload, shape.k the number of check bits, shape.extra the
 * partition rule: 0 none, up to 65,535 the length of the prefix, else 65,536 times the delimiter.
 */
#ifndef NAY_FAMILY_LIST_H
#define NAY_FAMILY_LIST_H

#include "family/burr.h"
#include "family/family.h"

#define NAY_LIST_MAX_KEYS ((uint64_t)1 << 36)
#define NAY_LIST_MAX_PREFIX 65535u
#define NAY_LIST_MAX_CHECK 32u
#define NAY_LIST_GROUP 64u

extern const nay_family nay__family_list;

/* ---- payload ---- */

#define NAY_LIST_HEAD_LEN 64u
#define NAY_LIST_ENTRY 16u     /* bytes of a group */
#define NAY_LIST_SLOT 8u       /* of a slot of the table of partitions */
#define NAY_LIST_EXCEPTION 24u /* of an exception: both hashes, 1 if it is listed */
#define NAY_LIST_MAX_GROUPS 40u

/* Classes: how the keys of a partition are stored. 1 + g: group g and the exact level. */
#define NAY_LIST_EXACT_ONLY 126u
#define NAY_LIST_CONSTANT 127u
#define NAY_LIST_INVERTED 128u

/* nay_list_head: the first 64 bytes of a payload. */
typedef struct nay_list_head {
  uint64_t nlisted;
  uint64_t bound; /* information-theoretic lower bound, bits */
  uint64_t base;  /* identity of the list that this one changes; 0: none */
  uint32_t npartitions, nslots, nexceptions, ngroups;
  uint32_t exact_blocks, check_blocks;
  uint8_t whole; /* the class of all keys, where there are no partitions */
} nay_list_head;

void nay__list_head_load(const uint8_t *payload, nay_list_head *head);
void nay__list_head_store(const nay_list_head *head, uint8_t *payload);

/* nay__list_start, nay__list_end: of a structure of so many blocks and columns; the next one begins
 * at the next multiple of 64. */
NAY_INLINE uint64_t nay__list_start(uint64_t end) { return nay__round_up(end, 64); }
NAY_INLINE uint64_t nay__list_end(uint64_t at, uint64_t nblocks, unsigned columns) {
  return at + nblocks * columns * NAY_BURR_COLUMN + nay__burr_tail(nblocks);
}

/* nay__list_homes: how many slots of the table are the home of a partition; the others, behind
 * them, take what does not fit, and the last one is free. */
NAY_INLINE uint64_t nay__list_homes(uint64_t npartitions) {
  return npartitions + npartitions / 4 + 1;
}

/* nay__list_home: the lowest 8 bits of a partition's hash have no part in it. */
NAY_INLINE uint64_t nay__list_home(uint64_t part, uint64_t nhomes) {
  return nay__reduce(part & ~(uint64_t)255, nhomes);
}

/* nay__list_tables_end: the end of what comes before the first structure. */
NAY_INLINE uint64_t nay__list_tables_end(const nay_list_head *h) {
  return NAY_LIST_HEAD_LEN + (uint64_t)h->ngroups * NAY_LIST_ENTRY +
         (uint64_t)h->nslots * NAY_LIST_SLOT + (uint64_t)h->nexceptions * NAY_LIST_EXCEPTION;
}

/* ---- keys ---- */

/* nay__list_second: the hash function that tells keys with equal hashes apart. */
nay_hash_fn nay__list_second(const nay_hash_fn *hasher);

/* nay__list_partition_len: the length of a key's partition, which it begins with. */
size_t nay__list_partition_len(uint32_t rule, const void *key, size_t len);

/* nay__list_exact_word: the hash of a key in the exact level. */
NAY_INLINE uint64_t nay__list_exact_word(uint64_t hash) {
  return nay_hash_mix(hash ^ NAY_LIST_EXACT);
}

/* nay__list_word: what a key's slots add up to in a structure of so many columns. */
NAY_INLINE uint64_t nay__list_word(uint64_t hash, unsigned columns) {
  return nay_hash_mix(hash ^ NAY_MAP_CHECK) >> (64 - columns);
}

/* nay_list_asked: at most 64 keys. second is read only where there are exceptions, part only where
 * there are partitions. */
typedef struct nay_list_asked {
  uint64_t hash[NAY_LIST_GROUP], second[NAY_LIST_GROUP], part[NAY_LIST_GROUP];
} nay_list_asked;

/* nay__list_answers: bit i: key i is listed; *known: it may be a key of the universe. */
uint64_t nay__list_answers(const nay_filter *f, const nay_list_asked *asked, unsigned n,
                           uint64_t *known);

/* nay__list_get: the same for keys; the filter's hasher is ready. */
uint64_t nay__list_get(const nay_filter *f, const void *const *keys, const size_t *lens, unsigned n,
                       uint64_t *known);

/* ---- params ---- */

/* nay__list_params: checks the params of a list. */
nay_status nay__list_params(const nay_params *params, nay_diag *diag);
uint32_t nay__list_rule(const nay_params *params);

#endif /* NAY_FAMILY_LIST_H */
