/* partition_avx512.c - the hashes of a partition, by a comparison and a compress of eight. */
#include "cpu/groups.h"

#if NAY_HAS_X86_KERNELS

#include <immintrin.h>

#define PARTITION_TARGET __attribute__((target("avx512f,popcnt")))

PARTITION_TARGET static unsigned partition_avx512_select64(const uint64_t *hashes, uint64_t least,
                                                           uint64_t span, uint64_t *kept) {
  unsigned used = 0;
  for (unsigned i = 0; i < 64; i += 8) {
    __m512i h = _mm512_loadu_si512(hashes + i);
    __m512i above = _mm512_sub_epi64(h, _mm512_set1_epi64((int64_t)least));
    __mmask8 mine = _mm512_cmple_epu64_mask(above, _mm512_set1_epi64((int64_t)span));
    _mm512_storeu_si512(kept + used, _mm512_maskz_compress_epi64(mine, h)); /* used <= i */
    used += (unsigned)__builtin_popcount(mine);
  }
  return used;
}

const nay_partition_kernels nay__partition_avx512 = {partition_avx512_select64};

#endif /* NAY_HAS_X86_KERNELS */
