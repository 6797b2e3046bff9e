/* Experimental: may change in a minor version. */
/*
 * nay_list.h - exact lists: is a key of a known universe listed? A key OUTSIDE THE UNIVERSE gets an
 * ARBITRARY answer, unless the list has check bits, which tell all but 1 in 2^check_bits of them.
 *
 *   nay_params p = {sizeof p, .kind = NAY_LIST, .check_bits = 8};
 *   nay_builder *b;
 *   nay_filter *list;
 *   uint64_t listed;
 *   if (nay_builder_new(&p, NULL, NULL, &b) != NAY_OK) return 1;
 *   nay_builder_add_value(b, "ada", 3, 0);
 *   nay_builder_add_value(b, "eve", 3, 1);
 *   if (nay_builder_finish(b, NULL, &list) != NAY_OK) return 1;
 *   if (nay_filter_get(list, "eve", 3, &listed) == NAY_OK && listed != 0) puts("listed");
 *
 * Revoked ones among all certificates, breached passwords among those of your users, blocked
 * packages among all packages: where both sides are known, some 8 bits for each listed key tell
 * them apart when 1 in 70 is listed, and no answer is wrong. A filter of the listed keys needs more
 * bits and errs. A list is a filter of the kind NAY_LIST: it is saved, opened, mapped, viewed,
 * unlocked and freed by the calls of nay.h and nay_advanced.h. It does not change once it is built.
 *
 * ANSWERS. nay_filter_get and nay_filter_get_many (nay_map.h): NAY_OK and 1 (listed) or 0 (not);
 * NAY_ENOENT: the key is certainly not of the universe, which needs check bits or partitions.
 * nay_filter_may_contain is true for listed keys. Hashes are not enough: nay_filter_get_hash is
 * NAY_ENOTSUP, and nay_filter_may_contain_hash says maybe.
 *
 * BUILDING. nay_builder_add_value(key, 1): listed; 0: not listed. nay_builder_add(key): of the
 * universe, and listed if it is added with 1, too; so the universe can be added from one file and
 * the listed keys from another. list_outside says what becomes of keys that are added with 1 alone:
 * NAY_LIST_REFUSE is for such files. A key may come more than once. nay_builder_finish returns
 * NAY_EINVAL for a key that was added with both 0 and 1: diag->offset is the index of the later
 * add. It asks the finished list for every key, and fails (NAY_ECORRUPT) if an answer is wrong. The
 * bytes depend on the keys alone, not on their order, on threads or the CPU. A builder keeps 24
 * bytes for each key; finish takes some 35 for each listed one, and for all where one in three is
 * listed or more. With NAY_LOW_MEMORY the keys are in a temporary file.
 *
 * TWO PASSES. With the flag NAY_LIST_TWO_PASSES a builder keeps the listed keys and some as many
 * others, and the caller adds the universe again instead:
 *
 *   nay_params p = {sizeof p, .kind = NAY_LIST, .flags = NAY_LIST_TWO_PASSES,
 *                   .list_outside = NAY_LIST_REFUSE};
 *   for (each listed key) nay_builder_add_value(b, key, len, 1);
 *   do {
 *     for (each key of the universe) nay_builder_add(b, key, len);
 *     status = nay_builder_finish(b, &diag, &list);
 *   } while (status == NAY_OK && list == NULL);
 *
 * NAY_OK and a list that is NULL ask for a pass: two are enough, three where most keys of one
 * partition are listed and few of another. The order of the keys may differ. A pass that adds other
 * keys than the first one is NAY_EINVAL, "the universe changed between the passes". Add each key of
 * the universe once in a pass: one that is added again is NAY_EINVAL if it is kept, and is else
 * counted twice, which no answer depends on. Instead of a second source for the listed keys
 * nay_builder_add_value may add all keys in all passes, with NAY_LIST_JOIN. Not with check bits and
 * NAY_LIST_DROP. Offsets of a diag count the adds of a pass; nay_builder_nkeys, too.
 *
 * The bytes are those of one pass, unless the 64-bit hashes of two keys collide. NAY_ENOTSUP: both
 * are kept (one build in 200,000 of 10^6 listed keys among 10^8); another seed helps. Where level 1
 * denies one of them (one build in 4,000), it is not noticed, and both are answered right.
 *
 * PARTITIONS. Where shares differ by something that is known of a key (the issuer of a certificate,
 * the domain of an address), a list needs fewer bits if the key begins with it: list_prefix is its
 * length, or list_delimiter the byte that ends it. A key that is shorter is all partition; one
 * without the delimiter is in the empty one. Each partition costs 10 bytes. A key whose partition
 * has no key of the universe is unknown.
 *
 * CHANGES. The keys whose answer changed are a list over the same universe, which is much smaller:
 * add each key with 1 if the lists so far answer it wrongly (unknown: not listed), and set
 * list_base to the list_id (of nay_stats) of the last one. A reader asks all: nay_list_get_all.
 *
 * PARAMS. Of nay_params a list takes check_bits (0 to 32), list_base, list_outside, list_prefix
 * or list_delimiter, the hash with its seed or key (not NAY_HASH_CALLER), threads, spill_dir and
 * the flags NAY_STORE_KEY, NAY_SMALL_PAGES, NAY_LOW_MEMORY and NAY_LIST_TWO_PASSES; all else is 0.
 * A list has no plan: its size depends on which keys are listed.
 */
#ifndef NAY_LIST_H
#define NAY_LIST_H

#include "nay_map.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Flag of nay_params: the universe is added in several passes, instead of kept. */
#define NAY_LIST_TWO_PASSES 0x80u

/* nay_list_outside: of keys that nay_builder_add_value adds with 1, and nay_builder_add does not.
 */
typedef enum nay_list_outside {
  NAY_LIST_JOIN = 0,  /* they are of the universe, too */
  NAY_LIST_DROP = 1,  /* they are left out */
  NAY_LIST_REFUSE = 2 /* nay_builder_finish: NAY_EINVAL, diag->offset is the index of the add */
} nay_list_outside;

/*
 * nay_list_get_all: the answer of a list and the changes to it, oldest first. The last one decides
 * whether the key is unknown: NAY_ENOENT. To the next change, an unknown key was not listed.
 * Statuses: as nay_filter_get. That each is the base of the next one is the caller's to check,
 * once: list_base and list_id of nay_stats.
 */
static inline nay_status nay_list_get_all(const nay_filter *const *lists, size_t n, const void *key,
                                          size_t len, uint64_t *listed) {
  nay_status status = NAY_EINVAL;
  uint64_t answer = 0;
  for (size_t i = 0; i < n; i++) {
    uint64_t one = 0;
    status = nay_filter_get(lists[i], key, len, &one);
    if (status != NAY_OK && status != NAY_ENOENT) return status;
    answer = status == NAY_OK ? answer ^ one : 0;
  }
  if (status == NAY_OK) *listed = answer;
  return status;
}

#ifdef __cplusplus
}
#endif

#endif /* NAY_LIST_H */
