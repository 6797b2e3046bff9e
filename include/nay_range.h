/* Stable: a program works with every later library of the same SONAME. */
/*
 * nay_range.h - range filters: "is a key between a and b?". The certain answer is "nay".
 *
 *   nay_params p = {sizeof p, .kind = NAY_RANGE, .fpr = 0.01, .range_length = 1000};
 *   nay_builder *b;
 *   nay_filter *f;
 *   uint8_t key[8];
 *   bool maybe;
 *   if (nay_builder_new(&p, NULL, NULL, &b) != NAY_OK) return 1;
 *   nay_builder_add(b, nay_range_key(1700000000, key), sizeof key);
 *   if (nay_builder_finish(b, NULL, &f) != NAY_OK) return 1;
 *   if (nay_filter_may_contain_range_u64(f, 1699990000, 1699990999, &maybe) != NAY_OK) return 1;
 *
 * A range filter is static: a filter of the kind NAY_RANGE, made by a builder from all keys; it is
 * saved, opened, mapped, viewed, merged, shrunk and freed by the calls of nay.h. A range of at most
 * range_length numbers without a key is a *maybe* with the planned false-positive rate (FPR), for
 * any keys and any ranges that do not depend on the seed; a shorter range has less of it, in
 * proportion, and nay_filter_may_contain asks for a range of one key. A longer range has more of
 * it, and beyond 2 blocks (a block is at least range_length / fpr * nkeys / 2 numbers) every answer
 * is maybe. doc/families/range.md has the proof, the layout, and when not to use it.
 *
 * KEYS. A key is bytes: a prefix, then a number. What a range covers is the numbers between its two
 * ends, behind one prefix; two ends with different prefixes are a maybe. range_keys says how keys
 * end:
 *
 *   NAY_RANGE_BE8       the number is the last 8 bytes, big-endian: the order of the bytes
 *   NAY_RANGE_BE4       the last 4 bytes, big-endian
 *   NAY_RANGE_DECIMAL   decimal digits at the end, up to 2^64 - 1; 7 and 007 are one number. The
 * order is that of prefix and number: for keys whose numbers differ in digits it is not that of the
 * bytes
 *
 * range_delimiter, if it is not 0, is the byte that the prefix of every key ends in. A key of
 * another form (too short, no digit, no delimiter) is kept apart, with others of its like: ranges
 * from below the least of them to above the greatest are then a maybe. Of BE8 and BE4 an answer is
 * right in the order of the bytes: a range is nay only if every key of the filter has a prefix of
 * one length, or as many delimiters in it as the ends of the range; otherwise a longer key could
 * lie between two shorter ones. Keys of your own form: write prefix and big-endian number, for adds
 * and ranges.
 *
 * MERGING. Filters of one number of locations, seed and form of keys merge: give their builders the
 * number of keys of the union as nkeys, which builders of range filters take as the least number to
 * plan for. nay_filter_shrink drops the lowest bits of all numbers.
 *
 * PARAMS. fpr and range_length, or bits_per_key or nbytes and range_length; the hash with its seed
 * or key; threads, spill_dir, NAY_STORE_KEY, NAY_SMALL_PAGES, NAY_LOW_MEMORY; all else is 0. A
 * filter whose keys are all within one block, without prefixes, is exact: no false positive, for
 * ranges of any length (nay_stats.range_exact).
 */
#ifndef NAY_RANGE_H
#define NAY_RANGE_H

#include <string.h>

#include "nay_advanced.h"

#ifdef __cplusplus
extern "C" {
#endif

/* nay_range_keys: how a key ends in a number; the numbers are those of the file format. */
typedef enum nay_range_keys {
  NAY_RANGE_BE8 = 0,
  NAY_RANGE_BE4 = 1,
  NAY_RANGE_DECIMAL = 2
} nay_range_keys;

/*
 * nay_filter_may_contain_range: whether a key may lie in [lo, hi], both ends included. In doubt
 * *maybe is true: ends of different prefixes or of another form than keys, ranges longer than a
 * block. NAY_EINVAL: lo is above hi, or a pointer is NULL. NAY_ENOTSUP: not a range filter.
 * NAY_EKEY: locked. Unless it returns NAY_OK, *maybe is as it was.
 */
NAY_API nay_status nay_filter_may_contain_range(const nay_filter *filter, const void *lo,
                                                size_t lo_len, const void *hi, size_t hi_len,
                                                bool *maybe);

/*
 * nay_filter_may_contain_scan: whether a key may lie in [lo, end) in the order of bytes, which is
 * what a scan of a sorted table asks; end itself is not included, and lo = end is nay. Of
 * NAY_RANGE_DECIMAL an answer is nay only if all keys and both ends have equally many digits, and
 * prefixes that the order of bytes keeps together, as those of BE8: else the order of bytes is not
 * that of the numbers. Errors as nay_filter_may_contain_range.
 */
NAY_API nay_status nay_filter_may_contain_scan(const nay_filter *filter, const void *lo,
                                               size_t lo_len, const void *end, size_t end_len,
                                               bool *maybe);

/*
 * nay_filter_may_contain_range_u64_many: n ranges [lo[i], hi[i]] of a filter whose keys are 8
 * bytes, big-endian, as nay_range_key writes them. Bit i % 64 of bitmap[i / 64] is the answer of
 * range i, and bits past n of its last word are 0. If a range is refused, or the filter cannot
 * answer, every answer is maybe and the status says why, as of every batch. NAY_ENOTSUP: the filter
 * has keys of another form (range_keys, range_delimiter).
 */
NAY_API nay_status nay_filter_may_contain_range_u64_many(const nay_filter *filter,
                                                         const uint64_t *lo, const uint64_t *hi,
                                                         size_t n, uint64_t *bitmap);

/* nay_filter_may_contain_range_u64: the same for one range. Unless it returns NAY_OK, *maybe is as
 * it was. */
static inline nay_status nay_filter_may_contain_range_u64(const nay_filter *filter, uint64_t lo,
                                                          uint64_t hi, bool *maybe) {
  uint64_t answer = 0;
  nay_status status = nay_filter_may_contain_range_u64_many(filter, &lo, &hi, 1, &answer);
  if (status == NAY_OK && maybe == NULL) status = NAY_EINVAL;
  if (status == NAY_OK) *maybe = answer != 0;
  return status;
}

/* ---- numbers as keys, in their order ---- */

/* nay_range_key: the 8 bytes, big-endian; returns key. */
static inline const uint8_t *nay_range_key(uint64_t value, uint8_t key[8]) {
  for (int i = 7; i >= 0; i--, value >>= 8) key[i] = (uint8_t)value;
  return key;
}

/* nay_range_i64: signed integers, in their order, as unsigned ones. */
static inline uint64_t nay_range_i64(int64_t value) { return (uint64_t)value ^ (uint64_t)1 << 63; }

/* nay_range_double: the same for doubles. -0 is 0, every NaN is above infinity. */
static inline uint64_t nay_range_double(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  if (value != value) bits = 0x7ff8000000000000u;
  if (value == 0) bits = 0;
  return bits >> 63 != 0 ? ~bits : bits | (uint64_t)1 << 63;
}

#ifdef __cplusplus
}
#endif

#endif /* NAY_RANGE_H */
