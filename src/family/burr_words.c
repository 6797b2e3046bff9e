/*
 * burr_words.c - retrieval: what the slots of keys add up to, all columns of it, for static maps
 * (map.c) and exact lists (list.c). Filters compare the sum with a fingerprint instead (ribbon.c).
 */
#include "family/burr_probe.h"
#include "family/ribbon.h"

/* Four columns at a time: a nibble of the word from the lowest bits of four quarters. */
static uint64_t words_sum(const nay_ribbon_location *p) {
  uint64_t word = 0;
  unsigned c = 0;
  for (; c + 4 <= p->columns; c += 4) {
    uint64_t got = nay__burr_parities(nay__burr_column(p, c), nay__burr_column(p, c + 1),
                                      nay__burr_column(p, c + 2), nay__burr_column(p, c + 3));
    word |= ((got & NAY_BURR_QUARTERS) * 0x0001000200040008u >> 48 & 15) << c;
  }
  for (; c < p->columns; c++) word |= (uint64_t)nay__parity64(nay__burr_column(p, c)) << c;
  return word;
}

#define WORDS_AHEAD 16u
#define WORDS_VECTOR_COLUMNS 4u /* fewer are faster one by one */

NAY_INLINE void words_each(bool vectors, const nay_kernels *kernels, const nay_burr_view *v,
                           bool in_cache, const uint64_t *x, unsigned n, uint64_t *words) {
  for (unsigned from = 0; from < n; from += WORDS_AHEAD) {
    nay_ribbon_location locations[WORDS_AHEAD];
    unsigned group = n - from < WORDS_AHEAD ? n - from : WORDS_AHEAD;
    for (unsigned i = 0; i < group; i++) {
      nay__burr_find_any(v, x[from + i], &locations[i]);
      if (n > 1 && !in_cache) nay__burr_prefetch(&locations[i]);
    }
    for (unsigned i = 0; i < group; i++) {
      words[from + i] = vectors ? kernels->ribbon->sum(&locations[i]) : words_sum(&locations[i]);
    }
  }
}

static void words_batch(const nay_kernels *kernels, const nay_burr_view *v, bool in_cache,
                        const uint64_t *x, unsigned n, uint64_t *words) {
  nay_ribbon_map map = nay__burr_kernel_map(v, in_cache);
  uint64_t bumped;
  kernels->ribbon->sum64(&map, x, n, words, &bumped);
  if (bumped == 0) return;
  nay_burr_second second = nay__burr_second_of(v);
  for (; bumped != 0; bumped &= bumped - 1) {
    unsigned i = nay__ctz64(bumped);
    nay_ribbon_location p;
    nay__burr_find_after(v, &second, x[i], &p);
    words[i] = kernels->ribbon->sum(&p);
  }
}

void nay__burr_words(const nay_kernels *kernels, const nay_burr_view *v, bool in_cache,
                     const uint64_t *x, unsigned n, uint64_t *words) {
  const nay_ribbon_kernels *ribbon = kernels->ribbon;
  if (ribbon != NULL && ribbon->sum64 != NULL && n > 1) {
    words_batch(kernels, v, in_cache, x, n, words);
  } else if (ribbon != NULL && v->burr.columns >= WORDS_VECTOR_COLUMNS) {
    words_each(true, kernels, v, in_cache, x, n, words);
  } else {
    words_each(false, kernels, v, in_cache, x, n, words);
  }
}
