/*
 * tables.c - which group of kernels each ISA level takes, one line per family. A family that is not
 * listed runs in plain C, in src/family. dispatch.c chooses among the tables.
 */
#include "cpu/groups.h"

const nay_kernels nay__kernels_scalar = {
    .name = "scalar",
    .bloom = &nay__bloom_scalar,
    .blocked = &nay__blocked_scalar,
    .blocked_add = &nay__blocked_add_scalar,
    .counting = &nay__counting_scalar,
    .scalable = &nay__scalable_scalar,
    .window = &nay__window_scalar,
    .sbbf = &nay__sbbf_scalar,
    .range = &nay__range_scalar,
};

/*
 * Filters that take concurrent adds. Bits of one key lie in bytes that adders of other keys write,
 * so bloom takes atomic kernels. A block and a word of counters have one writer at a time; whole
 * vectors are loaded and stored by one instruction for each, which tears no byte, and a byte is all
 * that a reader needs: there the kernels of vectors serve as they are. Plain C and NEON, whose
 * stores a compiler might split, take bytes.
 */
const nay_kernels nay__kernels_shared_bytes = {
    .name = "shared_bytes",
    .bloom = &nay__bloom_concurrent,
    .bloom_split = &nay__bloom_split_scalar,
    .blocked = &nay__blocked_concurrent,
    .blocked_add = &nay__blocked_add_concurrent,
    .counting = &nay__counting_scalar,
    .scalable = &nay__scalable_scalar,
    .window = &nay__window_scalar,
    .sbbf = &nay__sbbf_scalar,
    .range = &nay__range_scalar,
};

#if NAY_HAS_X86_KERNELS

const nay_kernels nay__kernels_avx2 = {
    .name = "avx2",
    .bmi2 = true,
    .bloom = &nay__bloom_avx2,
    .blocked = &nay__blocked_avx2,
    .blocked_add = &nay__blocked_add_avx2,
    .counting = &nay__counting_avx2,
    .scalable = &nay__scalable_avx2,
    .window = &nay__window_scalar,
    .fuse = &nay__fuse_vector,
    .cuckoo = &nay__cuckoo_vector,
    .sbbf = &nay__sbbf_vector,
    .ribbon = &nay__ribbon_avx2,
    .range = &nay__range_popcnt,
};

const nay_kernels nay__kernels_avx2_pdep = {
    .name = "avx2_pdep",
    .bmi2 = true,
    .bloom = &nay__bloom_avx2,
    .blocked = &nay__blocked_avx2,
    .blocked_add = &nay__blocked_add_avx2,
    .counting = &nay__counting_avx2_pdep,
    .scalable = &nay__scalable_avx2,
    .window = &nay__window_scalar,
    .fuse = &nay__fuse_vector,
    .cuckoo = &nay__cuckoo_vector,
    .sbbf = &nay__sbbf_vector,
    .ribbon = &nay__ribbon_avx2,
    .range = &nay__range_pdep,
};

const nay_kernels nay__kernels_avx512 = {
    .name = "avx512",
    .bmi2 = true,
    .bloom = &nay__bloom_avx512,
    .blocked = &nay__blocked_avx512,
    .blocked_add = &nay__blocked_add_avx512,
    .counting = &nay__counting_avx512,
    .scalable = &nay__scalable_avx512,
    .window = &nay__window_avx512,
    .fuse = &nay__fuse_vector,
    .cuckoo = &nay__cuckoo_vector,
    .sbbf = &nay__sbbf_avx512,
    .ribbon = &nay__ribbon_avx512,
    .range = &nay__range_pdep,
    .partition = &nay__partition_avx512,
    .hash = &nay__hash_avx512,
};

const nay_kernels nay__kernels_gfni = {
    .name = "gfni",
    .bmi2 = true,
    .bloom = &nay__bloom_avx512,
    .blocked = &nay__blocked_avx512,
    .blocked_add = &nay__blocked_add_gfni,
    .counting = &nay__counting_avx512,
    .scalable = &nay__scalable_avx512,
    .window = &nay__window_avx512,
    .fuse = &nay__fuse_vector,
    .cuckoo = &nay__cuckoo_vector,
    .sbbf = &nay__sbbf_avx512,
    .ribbon = &nay__ribbon_gfni,
    .banding = &nay__banding_gfni,
    .range = &nay__range_pdep,
    .partition = &nay__partition_avx512,
    .hash = &nay__hash_avx512,
};

const nay_kernels nay__kernels_shared_avx2 = {
    .name = "shared_avx2",
    .bmi2 = true,
    .bloom = &nay__bloom_concurrent,
    .bloom_split = &nay__bloom_split_scalar,
    .blocked = &nay__blocked_avx2,
    .blocked_add = &nay__blocked_add_avx2,
    .counting = &nay__counting_avx2,
    .scalable = &nay__scalable_avx2,
    .window = &nay__window_scalar,
    .fuse = &nay__fuse_vector,
    .cuckoo = &nay__cuckoo_vector,
    .sbbf = &nay__sbbf_vector,
    .ribbon = &nay__ribbon_avx2,
    .range = &nay__range_popcnt,
};

const nay_kernels nay__kernels_shared_avx512 = {
    .name = "shared_avx512",
    .bmi2 = true,
    .bloom = &nay__bloom_concurrent,
    .bloom_split = &nay__bloom_split_avx512,
    .blocked = &nay__blocked_avx512,
    .blocked_add = &nay__blocked_add_avx512,
    .counting = &nay__counting_avx512,
    .scalable = &nay__scalable_avx512,
    .window = &nay__window_avx512,
    .fuse = &nay__fuse_vector,
    .cuckoo = &nay__cuckoo_vector,
    .sbbf = &nay__sbbf_avx512,
    .ribbon = &nay__ribbon_avx512,
    .range = &nay__range_pdep,
    .partition = &nay__partition_avx512,
    .hash = &nay__hash_avx512,
};

const nay_kernels nay__kernels_shared_gfni = {
    .name = "shared_gfni",
    .bmi2 = true,
    .bloom = &nay__bloom_concurrent,
    .bloom_split = &nay__bloom_split_avx512,
    .blocked = &nay__blocked_avx512,
    .blocked_add = &nay__blocked_add_gfni,
    .counting = &nay__counting_avx512,
    .scalable = &nay__scalable_avx512,
    .window = &nay__window_avx512,
    .fuse = &nay__fuse_vector,
    .cuckoo = &nay__cuckoo_vector,
    .sbbf = &nay__sbbf_avx512,
    .ribbon = &nay__ribbon_gfni,
    .banding = &nay__banding_gfni,
    .range = &nay__range_pdep,
    .partition = &nay__partition_avx512,
    .hash = &nay__hash_avx512,
};

#endif /* NAY_HAS_X86_KERNELS */

#if NAY_HAS_NEON_KERNELS

const nay_kernels nay__kernels_neon = {
    .name = "neon",
    .bloom = &nay__bloom_neon,
    .blocked = &nay__blocked_neon,
    .blocked_add = &nay__blocked_add_scalar,
    .counting = &nay__counting_scalar,
    .scalable = &nay__scalable_scalar,
    .window = &nay__window_scalar,
    .fuse = &nay__fuse_vector,
    .cuckoo = &nay__cuckoo_vector,
    .sbbf = &nay__sbbf_vector,
    .ribbon = &nay__ribbon_neon,
    .range = &nay__range_scalar,
};

#endif /* NAY_HAS_NEON_KERNELS */
