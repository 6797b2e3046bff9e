/* dispatch.c - the table of kernels for this CPU. The only file that tests for CPU features. */
#include "cpu/groups.h"

#if NAY_HAS_X86_KERNELS
/*
 * AMD before Zen 3 runs PDEP in microcode: the more bits are set the longer it takes, about 100
 * cycles for a word of counters. Intel, and AMD from Zen 3 on, take 3 cycles. Zen 3 is the first of
 * AMD's with VPCLMULQDQ.
 */
static bool dispatch_has_fast_pdep(void) {
  return __builtin_cpu_is("intel") || __builtin_cpu_supports("vpclmulqdq");
}
#endif

const nay_kernels *nay__kernels_at(size_t i) {
  const nay_kernels *tables[6] = {&nay__kernels_scalar};
  size_t n = 1;
#if NAY_HAS_X86_KERNELS
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
      __builtin_cpu_supports("popcnt")) {
    tables[n++] = &nay__kernels_avx2;
    if (dispatch_has_fast_pdep()) tables[n++] = &nay__kernels_avx2_pdep;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512cd")) {
      tables[n++] = &nay__kernels_avx512;
      if (__builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("gfni") &&
          __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512vpopcntdq")) {
        tables[n++] = &nay__kernels_gfni;
      }
    }
  }
#endif
#if NAY_HAS_NEON_KERNELS
  tables[n++] = &nay__kernels_neon; /* every 64-bit Arm has it */
#endif
  return i < n ? tables[i] : NULL;
}

const nay_kernels *nay__kernels_shared_at(size_t i) {
  const nay_kernels *tables[4] = {&nay__kernels_shared_bytes};
  size_t n = 1;
#if NAY_HAS_X86_KERNELS
  for (size_t at = 0; nay__kernels_at(at) != NULL; at++) {
    if (nay__kernels_at(at) == &nay__kernels_avx2) tables[n++] = &nay__kernels_shared_avx2;
    if (nay__kernels_at(at) == &nay__kernels_avx512) tables[n++] = &nay__kernels_shared_avx512;
    if (nay__kernels_at(at) == &nay__kernels_gfni) tables[n++] = &nay__kernels_shared_gfni;
  }
#endif
  return i < n ? tables[i] : NULL;
}

/* The last one is the best. */
static const nay_kernels *dispatch_last(const nay_kernels *(*tables)(size_t)) {
  const nay_kernels *best = NULL, *next;
  for (size_t i = 0; (next = tables(i)) != NULL; i++) best = next;
  return best;
}

const nay_kernels *nay__kernels_best(void) { return dispatch_last(nay__kernels_at); }

/* ThreadSanitizer does not see loads and stores of wide vectors: it is given bytes, so that it
 * finds adds that hold no lock. */
const nay_kernels *nay__kernels_shared(void) {
  return NAY_TSAN ? &nay__kernels_shared_bytes : dispatch_last(nay__kernels_shared_at);
}
