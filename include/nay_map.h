/* Stable: a program works with every later library of the same SONAME. */
/*
 * nay_map.h - static maps: a value of 1 to 64 bits for each key; a key outside the set gets an
 * ARBITRARY value, unless the map has check bits.
 *
 *   nay_params p = {sizeof p, .kind = NAY_MAP, .check_bits = 16};
 *   nay_builder *b;
 *   nay_filter *m;
 *   uint64_t value;
 *   if (nay_builder_new(&p, NULL, NULL, &b) != NAY_OK) return 1;
 *   nay_builder_add_value(b, "ada", 3, 1815);
 *   nay_builder_add_value(b, "grace", 5, 1906);
 *   if (nay_builder_finish(b, NULL, &m) != NAY_OK) return 1;
 *   if (nay_filter_get(m, "grace", 5, &value) == NAY_OK) printf("%llu\n", (unsigned long
 * long)value);
 *
 * A map is a filter of the kind NAY_MAP: it is built, copied, saved, opened, mapped, viewed,
 * unlocked and freed by the calls of nay.h and nay_advanced.h. The rest of this page is what maps
 * have beyond filters.
 *
 * A map stores no keys: some 1.002 bits for each bit of a value (1.005 when it has one bit),
 * whatever the keys are (bumped ribbon retrieval, doc/map.md). So it knows the value of each key it
 * was built from, and cannot tell other keys apart: it returns some value for them, too. With check
 * bits it can, mostly: a key outside the set is then *absent*, except for one in 2^check_bits of
 * them, which gets an arbitrary value. nay_filter_may_contain of a map with check bits is false for
 * keys that are absent; without them every answer is maybe. A map does not change once it is built.
 *
 * Keys are known by their 64-bit hashes. Two keys with equal hashes and different values cannot
 * both be in a map: NAY_EINVAL. Among 10^6 keys the chance is 3 * 10^-8, among 10^9 it is 3%;
 * another seed helps.
 *
 * PARAMS. Of nay_params a map takes nkeys (for a plan), value_bits, check_bits, the hash with its
 * seed or key, threads, spill_dir and the flags NAY_STORE_KEY, NAY_NO_VERIFY, NAY_SMALL_PAGES and
 * NAY_LOW_MEMORY; all else is 0. value_bits 0 means as many as the largest value needs; a plan
 * needs the number.
 *
 * BUILDING. The bytes depend on the set of pairs alone, not on their order, on threads or the CPU.
 * A key may come more than once if its values are equal. nay_builder_finish returns NAY_EINVAL for
 * two values of one key, or a value above value_bits: diag->offset is then the index of the later
 * pair, or of the value, in the order of the adds. A builder keeps 16 bytes for each pair, and
 * finish takes some 17 more, and 24 for each hash that comes more than once; with NAY_LOW_MEMORY
 * the pairs are in a temporary file and an eighth of them is built at a time, 4 million at least: 3
 * bytes for each of 40 million keys, more time, the same bytes.
 *
 * STATS. value_bits and check_bits are those of the map; fpr_now is the share of keys outside the
 * set that get a value, 2^-check_bits; nlevels are the layers of the ribbon; k is the number of
 * columns, value_bits + check_bits.
 */
#ifndef NAY_MAP_H
#define NAY_MAP_H

#include "nay_advanced.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * nay_builder_add_value, nay_builder_add_value_hash: a key and its value, for a builder of a map.
 * NAY_ENOTSUP: another kind; and nay_builder_add of a builder of a map, which lacks the value.
 */
NAY_API nay_status nay_builder_add_value(nay_builder *builder, const void *key, size_t len,
                                         uint64_t value);
NAY_API nay_status nay_builder_add_value_hash(nay_builder *builder, nay_hash hash, uint64_t value);

/*
 * nay_filter_get, nay_filter_get_hash: the value of a key. NAY_ENOENT: the map has check bits, and
 * the key is certainly not in it. Without check bits a key outside the set gets an arbitrary value,
 * and NAY_OK. NAY_ENOTSUP: not a map, or the caller hashes (NAY_HASH_CALLER). NAY_EKEY: the secret
 * key is missing. NAY_ECORRUPT: a lazily mapped file is damaged where the value is. Unless it
 * returns NAY_OK, *value is as it was.
 */
NAY_API nay_status nay_filter_get(const nay_filter *map, const void *key, size_t len,
                                  uint64_t *value);
NAY_API nay_status nay_filter_get_hash(const nay_filter *map, nay_hash hash, uint64_t *value);

/*
 * nay_filter_get_many: the same for n keys, several times as fast when the map is larger than the
 * cache. Bit i % 64 of bitmap[i / 64] tells whether key i has a value; without check bits all have
 * one, and bitmap may be NULL. values[i] is 0 for an absent key. NAY_ECORRUPT: as above, for any of
 * the keys; values[] and bitmap[] are then undefined.
 */
NAY_API nay_status nay_filter_get_many(const nay_filter *map, const void *const *keys,
                                       const size_t *lens, size_t n, uint64_t *values,
                                       uint64_t *bitmap);

#ifdef __cplusplus
}
#endif

#endif /* NAY_MAP_H */
