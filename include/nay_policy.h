/* Experimental: any minor version may change what is here; symbols then get another version. */
/*
 * nay_policy.h - how a table builds a filter from the keys of a block and probes it.
 *
 *   nay_policy policy = {.size = sizeof policy};
 *   if (nay_policy_find(NAY_POLICY_SMALL, 10, &policy) != NAY_OK) return 1;
 *   policy.create(policy.ctx, keys, lens, n, &allocator, &bytes, &len);
 *   if (!policy.may_contain(policy.ctx, "bar", 3, bytes, len)) puts("nay");
 *
 * A policy is LevelDB's FilterPolicy as a C struct: a name and two calls. Tables (nay_sst.h) and
 * plug-ins take any policy, the library's or yours. The name is stored beside the filter, and a
 * reader that has a policy of another name ignores the filter: so change the name whenever the
 * bytes change.
 *
 * Both calls may come from many threads at once.
 */
#ifndef NAY_POLICY_H
#define NAY_POLICY_H

#include "nay_advanced.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nay_policy {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  const char *name;
  /*
   * Builds the filter of n keys; duplicates are allowed. *filter is memory of `allocator` (NULL:
   * malloc), exactly *len bytes (at least 1), for the caller to release with allocator->free. On
   * failure both are untouched. NAY_EINVAL: a key is NULL and its length is not 0. NAY_ENOMEM.
   */
  nay_status (*create)(void *ctx, const void *const *keys, const size_t *lens, size_t n,
                       const nay_allocator *allocator, uint8_t **filter, size_t *len);
  /*
   * false: the key was not among them, for certain. On any doubt true: for bytes that are not a
   * filter of this policy, and always for NAY_POLICY_EVERYTHING. Bytes need no alignment.
   */
  bool (*may_contain)(void *ctx, const void *key, size_t key_len, const uint8_t *filter,
                      size_t len);
  void *ctx; /* for both calls; the library's own policies keep their bits per key here */
  /*
   * The name of a nay_sst_comparator (nay_sst.h) with equal_may_differ: keys that it calls equal
   * are one key for this policy too: a filter made by create from one of them makes may_contain
   * return true for all of them. Tables of that comparator have filters only with such a policy,
   * which is yours: the library's own hash the bytes. NULL: keys are their bytes.
   */
  const char *comparator;
} nay_policy;

/*
 * The filter to store when none could be built: every policy answers maybe for each key, and so
 * does LevelDB itself (a single byte LevelDB takes for a filter without keys).
 */
#define NAY_POLICY_EVERYTHING "\x00\xff"
#define NAY_POLICY_EVERYTHING_LEN 2u

/* NAY_POLICY_LEVELDB: the bytes of LevelDB's own policy. */
#define NAY_POLICY_LEVELDB "leveldb.BuiltinBloomFilter2"

/*
 * NAY_POLICY_SMALL: for the many small filters of such tables: exactly as many bytes as LevelDB's,
 * a lower false-positive rate (FPR), and a check that turns every flipped bit, of the filter or of
 * its length, into a maybe. A nay reads the whole filter for that, which is too much for a filter
 * over a whole table. doc/design/0011-small-filters.md has the bytes.
 */
#define NAY_POLICY_SMALL "nay.small.v1"

/*
 * nay_policy_find: the library's policy of this name, with so many bits per key; any number of them
 * does for a reader. NAY_EINVAL: the library has no such policy; bits_per_key is 0 or above 4096.
 */
NAY_API nay_status nay_policy_find(const char *name, uint32_t bits_per_key, nay_policy *policy);

#ifdef __cplusplus
}
#endif

#endif /* NAY_POLICY_H */
