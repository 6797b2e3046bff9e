/* inline_probes.c - see inline_probes.h. C, and C++ as well: inline_probes.cpp includes it. */
#include "inline_probes.h"

#include <string.h>

#define INLINE_SET(bitmap, i, answer) ((bitmap)[(i) / 64] |= (uint64_t)(answer) << (i) % 64)

/* A user's loops over one type; those with a condition have the field as a constant inside. */
#define INLINE_LOOPS(type, condition)                                                            \
  static nay_status type##_all(const nay_filter *filter, nay_diag *diag, const uint64_t *hashes, \
                               size_t n, uint64_t *bitmap) {                                     \
    type probe;                                                                                  \
    nay_status status = type##_init(filter, diag, &probe);                                       \
    if (status != NAY_OK) return status;                                                         \
    memset(bitmap, 0, (n + 63) / 64 * sizeof *bitmap);                                           \
    if (condition) {                                                                             \
      for (size_t i = 0; i < n; i++) {                                                           \
        INLINE_SET(bitmap, i, type##_may_contain(&probe, hashes[i]));                            \
      }                                                                                          \
      return NAY_OK;                                                                             \
    }                                                                                            \
    for (size_t i = 0; i < n; i++) {                                                             \
      type##_prefetch(&probe, hashes[n - 1 - i]);                                                \
      INLINE_SET(bitmap, i, type##_may_contain(&probe, hashes[i]));                              \
    }                                                                                            \
    return NAY_OK;                                                                               \
  }

INLINE_LOOPS(nay_inline_blocked, probe.k == 6)
INLINE_LOOPS(nay_inline_sbbf, probe.nblocks == 1)
INLINE_LOOPS(nay_inline_fuse8, probe.fuse.nshards == 1)
INLINE_LOOPS(nay_inline_fuse16, probe.fuse.nshards == 1)
INLINE_LOOPS(nay_inline_fuse8_4wise, probe.fuse.nshards == 1)
INLINE_LOOPS(nay_inline_fuse16_4wise, probe.fuse.nshards == 1)

static nay_status inline_all(inline_type type, const nay_filter *filter, nay_diag *diag,
                             const uint64_t *hashes, size_t n, uint64_t *bitmap) {
  switch (type) {
    case INLINE_BLOCKED: return nay_inline_blocked_all(filter, diag, hashes, n, bitmap);
    case INLINE_SBBF: return nay_inline_sbbf_all(filter, diag, hashes, n, bitmap);
    case INLINE_FUSE8: return nay_inline_fuse8_all(filter, diag, hashes, n, bitmap);
    case INLINE_FUSE16: return nay_inline_fuse16_all(filter, diag, hashes, n, bitmap);
    case INLINE_FUSE8_4WISE: return nay_inline_fuse8_4wise_all(filter, diag, hashes, n, bitmap);
    case INLINE_FUSE16_4WISE: return nay_inline_fuse16_4wise_all(filter, diag, hashes, n, bitmap);
    case INLINE_NTYPES: break;
  }
  return NAY_EINVAL;
}

#define INLINE_TABLE_OF(variant) inline_variant_##variant
#define INLINE_TABLE(variant) INLINE_TABLE_OF(variant)
#define INLINE_NAME_OF(variant) #variant
#define INLINE_NAME(variant) INLINE_NAME_OF(variant)
const inline_variant INLINE_TABLE(INLINE_VARIANT) = {INLINE_NAME(INLINE_VARIANT), inline_all};
