/* filter_range.c - nay_range.h: the arguments of range questions are checked, then the family
 * answers. */
#include "nay_range.h"

#include "family/range.h"
#include "filter.h"

static nay_status franges_ready(const nay_filter *f) {
  if (f == NULL) return NAY_EINVAL;
  if (f->family != &nay__family_range) return NAY_ENOTSUP;
  return nay__hasher_ready(&f->hasher);
}

static nay_status franges_ready_u64(const nay_filter *f) {
  NAY_TRY(franges_ready(f));
  return f->shape.extra == NAY_RANGE_BE8 ? NAY_OK : NAY_ENOTSUP; /* and no delimiter */
}

nay_status nay_filter_may_contain_range(const nay_filter *f, const void *lo, size_t lo_len,
                                        const void *hi, size_t hi_len, bool *maybe) {
  if (maybe == NULL || (lo == NULL && lo_len != 0) || (hi == NULL && hi_len != 0)) {
    return NAY_EINVAL;
  }
  NAY_TRY(franges_ready(f));
  nay_range_ends ends = {lo, hi, lo_len, hi_len};
  uint64_t answer;
  NAY_TRY(nay__range_ask(f, &ends, 1, &answer));
  *maybe = answer != 0;
  return NAY_OK;
}

nay_status nay_filter_may_contain_scan(const nay_filter *f, const void *lo, size_t lo_len,
                                       const void *end, size_t end_len, bool *maybe) {
  if (maybe == NULL || (lo == NULL && lo_len != 0) || (end == NULL && end_len != 0)) {
    return NAY_EINVAL;
  }
  NAY_TRY(franges_ready(f));
  nay_range_ends ends = {lo, end, lo_len, end_len};
  return nay__range_ask_scan(f, &ends, maybe);
}

static nay_status franges_all_maybe(nay_status status, size_t n, uint64_t *bitmap) {
  for (size_t i = 0; i < n; i += 64) {
    bitmap[i / 64] = ~(uint64_t)0 >> (n - i < 64 ? 64 - (n - i) : 0);
  }
  return status;
}

nay_status nay_filter_may_contain_range_u64_many(const nay_filter *f, const uint64_t *lo,
                                                 const uint64_t *hi, size_t n, uint64_t *bitmap) {
  if (n == 0) return franges_ready_u64(f);
  if (bitmap == NULL) return NAY_EINVAL;
  nay_status status = lo != NULL && hi != NULL ? franges_ready_u64(f) : NAY_EINVAL;
  for (size_t i = 0; status == NAY_OK && i < n; i++) {
    if (lo[i] > hi[i]) status = NAY_EINVAL;
  }
  if (status != NAY_OK) return franges_all_maybe(status, n, bitmap);
  for (size_t i = 0; i < n; i += NAY_RANGE_GROUP) {
    unsigned group = n - i < NAY_RANGE_GROUP ? (unsigned)(n - i) : NAY_RANGE_GROUP;
    bitmap[i / 64] = nay__range_ask_numbers(f, lo + i, hi + i, group);
  }
  return nay_filter_health(f);
}
