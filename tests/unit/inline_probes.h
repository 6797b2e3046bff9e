/*
 * inline_probes.h - the probes of nay_inline.h, compiled with several sets of flags.
 * inline_probes.c is compiled once for each, as INLINE_VARIANT; test_inline.c compares them all
 * with the filter's own answers.
 */
#ifndef NAY_TEST_INLINE_PROBES_H
#define NAY_TEST_INLINE_PROBES_H

#include "nay_inline.h"

/* The probes there are. */
typedef enum inline_type {
  INLINE_BLOCKED,
  INLINE_SBBF,
  INLINE_FUSE8,
  INLINE_FUSE16,
  INLINE_FUSE8_4WISE,
  INLINE_FUSE16_4WISE,
  INLINE_NTYPES
} inline_type;

/* Probes n hashes: bit i % 64 of bitmap[i / 64]. What init says when it is not NAY_OK. */
typedef nay_status (*inline_probe_all)(inline_type type, const nay_filter *filter, nay_diag *diag,
                                       const uint64_t *hashes, size_t n, uint64_t *bitmap);

typedef struct inline_variant {
  const char *name;
  inline_probe_all all;
} inline_variant;

#ifdef __cplusplus
extern "C" {
#endif
extern const inline_variant inline_variant_o0, inline_variant_o3, inline_variant_portable,
    inline_variant_avx2, inline_variant_avx512, inline_variant_native, inline_variant_cpp,
    inline_variant_cpp_avx512;
#ifdef __cplusplus
}
#endif

#endif /* NAY_TEST_INLINE_PROBES_H */
