/*
 * bloom_template.h - the kernels of the classic Bloom filter that bloom_<isa>.c share. An ISA
 * differs in how it computes positions. It defines
 *
 *   BLOOM(name)            the name of a static function: bloom_avx2_##name
 *   BLOOM_TARGET           the target attribute, or nothing
 *   BLOOM(locate)(b,h,k)   the positions of k <= 8 probes, in any order
 *   BLOOM(locate8)(b,h)    the positions of eight probes, in order
 *   BLOOM_SURVIVORS        optional, see the end of the file
 *
 * and includes this file, which has no include guard. It gets BLOOM(test), (choose_test), (add),
 * (choose_add_blind) and (add64).
 */

/* ---- one key ---- */

BLOOM_TARGET NAY_INLINE bool BLOOM(test_k)(const nay_bits *b, uint64_t h, uint32_t k) {
  nay_bloom_locations p;
  if (k < NAY_BLOOM_ROUND) {
    p = BLOOM(locate)(b, h, k);
    return nay__bloom_test_at(b->bytes, &p, k);
  }
  for (;; k -= NAY_BLOOM_ROUND, h *= NAY_G64_POW_8) {
    if (k < NAY_BLOOM_ROUND) return nay__bloom_test_all(b, h, k);
    p = BLOOM(locate)(b, h, NAY_BLOOM_ROUND);
    bool all = nay__bloom_test_at(b->bytes, &p, NAY_BLOOM_ROUND);
    if (k == NAY_BLOOM_ROUND || !all) return all;
  }
}

BLOOM_TARGET NAY_INLINE bool BLOOM(add_k)(const nay_bits *b, uint64_t h, uint32_t k) {
  nay_bloom_locations p;
  bool fresh = false;
  for (; k > NAY_BLOOM_ROUND; k -= NAY_BLOOM_ROUND, h *= NAY_G64_POW_8) {
    p = BLOOM(locate)(b, h, NAY_BLOOM_ROUND);
    fresh |= nay__bloom_add_at(b->bytes, &p, NAY_BLOOM_ROUND);
  }
  p = BLOOM(locate)(b, h, k);
  return nay__bloom_add_at(b->bytes, &p, k) || fresh;
}

BLOOM_TARGET NAY_INLINE nay_status BLOOM(add_blind_k)(const nay_bits *b, uint64_t h, uint32_t k) {
  for (;; k -= NAY_BLOOM_ROUND, h *= NAY_G64_POW_8) {
    nay_bloom_locations p = BLOOM(locate8)(b, h);
    nay__bloom_set_at(b->bytes, &p, k);
    if (k <= NAY_BLOOM_ROUND) return NAY_OK;
  }
}

NAY_SPECIALIZE(BLOOM_TARGET, bool, nay_bits_probe, BLOOM(test), BLOOM(test_k))
NAY_SPECIALIZE(BLOOM_TARGET, bool, nay_bits_probe, BLOOM(add), BLOOM(add_k))
NAY_SPECIALIZE(BLOOM_TARGET, nay_status, nay_add_blind, BLOOM(add_blind), BLOOM(add_blind_k))

/* One probe of fewer than four bits is as fast without vectors. */
static nay_bits_probe BLOOM(choose_test)(const nay_bits *b) {
  bool vectors = nay__bloom_fits(b) && b->k >= 4;
  return vectors ? BLOOM(test_choose)(b->k) : nay__bloom_scalar.choose_test(b);
}

static bool BLOOM(test)(const nay_bits *b, uint64_t hash) { return BLOOM(choose_test)(b)(b, hash); }

static bool BLOOM(add)(const nay_bits *b, uint64_t hash) {
  return nay__bloom_fits(b) ? BLOOM(add_choose)(b->k)(b, hash) : nay__bloom_scalar.add(b, hash);
}

static nay_add_blind BLOOM(choose_add_blind)(const nay_bits *b) {
  return nay__bloom_fits(b) ? BLOOM(add_blind_choose)(b->k) : nay__bloom_scalar.choose_add_blind(b);
}

/* ---- a batch of adds ---- */

/* Positions are computed twice when lines are prefetched: keeping them takes as long. */
BLOOM_TARGET static void BLOOM(prefetch)(const nay_bits *b, const uint64_t *hashes, unsigned n) {
#define BLOOM_PREFETCH(i) NAY_PREFETCH(b->bytes + (p.at[i] >> 3))
  for (unsigned i = 0; i < n && i < NAY_BLOOM_GROUP; i++) {
    uint64_t h = hashes[i];
    for (uint32_t probe = 0; probe < b->k; probe += NAY_BLOOM_ROUND, h *= NAY_G64_POW_8) {
      nay_bloom_locations p = BLOOM(locate8)(b, h);
      NAY_BLOOM_EACH(b->k - probe, BLOOM_PREFETCH);
    }
  }
#undef BLOOM_PREFETCH
}

#define BLOOM_ADD_LOOP(k)                                                              \
  for (unsigned i = 0; i < n; i++) {                                                   \
    if (prefetches && i % NAY_BLOOM_GROUP == 0) BLOOM(prefetch)(b, hashes + i, n - i); \
    bitmap |= (uint64_t)BLOOM(add_k)(b, hashes[i], k) << i;                            \
  }
#define BLOOM_ADD_BLIND_LOOP(k)                                                        \
  for (unsigned i = 0; i < n; i++) {                                                   \
    if (prefetches && i % NAY_BLOOM_GROUP == 0) BLOOM(prefetch)(b, hashes + i, n - i); \
    (void)BLOOM(add_blind_k)(b, hashes[i], k);                                         \
  }

BLOOM_TARGET static uint64_t BLOOM(add64)(const nay_bits *b, const uint64_t *hashes, unsigned n,
                                          bool report) {
  if (!nay__bloom_fits(b)) return nay__bloom_scalar.add64(b, hashes, n, report);
  const bool prefetches = nay__bloom_prefetches_adds(b);
  uint64_t bitmap = 0;
  if (report) {
    NAY_FOR_COMMON_K(b->k, BLOOM_ADD_LOOP)
  } else {
    NAY_FOR_COMMON_K(b->k, BLOOM_ADD_BLIND_LOOP)
  }
  return bitmap;
}

#undef BLOOM_ADD_LOOP
#undef BLOOM_ADD_BLIND_LOOP

/* ---- a batch of tests ---- */

/*
 * With BLOOM_SURVIVORS the ISA has BLOOM(survivors)(b, hashes, n, probes, who): the numbers of the
 * keys whose first `probes` bits are set, and how many. It gets BLOOM(test64), which tests the
 * survivors one by one.
 */
#ifdef BLOOM_SURVIVORS

#define BLOOM_REST_LOOP(k)                                                  \
  for (unsigned i = 0; i < left; i++) {                                     \
    uint64_t x = hashes[who[i]] * NAY_G64_POW_2;                            \
    bitmap |= (uint64_t)BLOOM(test_k)(b, x, (k)-NAY_BLOOM_FIRST) << who[i]; \
  }

BLOOM_TARGET static uint64_t BLOOM(test64)(const nay_bits *b, const uint64_t *hashes, unsigned n) {
  if (!nay__bloom_fits(b)) return nay__bloom_scalar.test64(b, hashes, n);
  uint8_t who[64 + 8];
  uint32_t first = b->k < NAY_BLOOM_FIRST ? b->k : NAY_BLOOM_FIRST;
  uint64_t bitmap = 0;
  unsigned left = BLOOM(survivors)(b, hashes, n, first, who);
  for (unsigned i = 0; i < left && nay__bloom_prefetches_tests(b); i++) {
    nay__bloom_prefetch(b, hashes[who[i]] * NAY_G64_POW_2, b->k - first);
  }
  NAY_FOR_COMMON_K(b->k - first + NAY_BLOOM_FIRST, BLOOM_REST_LOOP)
  return bitmap;
}

#undef BLOOM_REST_LOOP
#undef BLOOM_SURVIVORS
#endif
