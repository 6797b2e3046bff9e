/*
 * groups.h - which instruction sets this build has kernels for, and the groups that
 * <family>_<isa>.c (<family>_vector.c: AVX2 and NEON from one source, vec.h) end in. tables.c puts
 * them together.
 */
#ifndef NAY_GROUPS_H
#define NAY_GROUPS_H

#include "cpu/kernels.h"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define NAY_HAS_X86_KERNELS 1
#else
#define NAY_HAS_X86_KERNELS 0
#endif

#if defined(__aarch64__) && defined(__ARM_NEON) && !defined(__AARCH64EB__)
#define NAY_HAS_NEON_KERNELS 1
#else
#define NAY_HAS_NEON_KERNELS 0
#endif

extern const nay_bloom_kernels nay__bloom_scalar, nay__bloom_concurrent;
extern const nay_bloom_kernels nay__bloom_avx2, nay__bloom_avx512, nay__bloom_neon;
extern const nay_bloom_split_kernels nay__bloom_split_scalar, nay__bloom_split_avx512;

extern const nay_blocked_kernels nay__blocked_scalar, nay__blocked_concurrent;
extern const nay_blocked_kernels nay__blocked_avx2, nay__blocked_avx512, nay__blocked_neon;

extern const nay_blocked_add_kernels nay__blocked_add_scalar, nay__blocked_add_concurrent;
extern const nay_blocked_add_kernels nay__blocked_add_avx2, nay__blocked_add_avx512;
extern const nay_blocked_add_kernels nay__blocked_add_gfni;

extern const nay_counting_kernels nay__counting_scalar, nay__counting_avx2;
extern const nay_counting_kernels nay__counting_avx2_pdep, nay__counting_avx512;

extern const nay_scalable_kernels nay__scalable_scalar, nay__scalable_avx2, nay__scalable_avx512;

extern const nay_window_kernels nay__window_scalar, nay__window_avx512;

extern const nay_fuse_kernels nay__fuse_vector;     /* AVX2 or NEON */
extern const nay_cuckoo_kernels nay__cuckoo_vector; /* AVX2 or NEON */

extern const nay_sbbf_kernels nay__sbbf_scalar, nay__sbbf_avx512;
extern const nay_sbbf_kernels nay__sbbf_vector; /* AVX2 or NEON */

extern const nay_ribbon_kernels nay__ribbon_avx2, nay__ribbon_avx512, nay__ribbon_neon;
extern const nay_ribbon_kernels nay__ribbon_gfni; /* AVX-512 with VBMI, VBMI2, VPOPCNTDQ */
extern const nay_banding_kernels nay__banding_gfni;

extern const nay_range_kernels nay__range_scalar, nay__range_popcnt, nay__range_pdep;

extern const nay_partition_kernels nay__partition_avx512;
extern const nay_hash_kernels nay__hash_avx512;

extern const nay_kernels nay__kernels_shared_bytes, nay__kernels_shared_avx2,
    nay__kernels_shared_avx512, nay__kernels_shared_gfni;
extern const nay_kernels nay__kernels_avx2;
extern const nay_kernels nay__kernels_avx2_pdep; /* AVX2, and a PDEP that is not microcode */
extern const nay_kernels nay__kernels_avx512;
extern const nay_kernels nay__kernels_gfni; /* AVX-512 with VBMI, VBMI2, VPOPCNTDQ and GFNI */
extern const nay_kernels nay__kernels_neon;

#endif /* NAY_GROUPS_H */
