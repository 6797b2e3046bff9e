/*
 * blocked_template.h - the loops that blocked_<isa>.c share. An ISA differs in how it tests and
 * adds one key, and in the instructions that the compiler may use. It defines
 *
 *   BLOCKED(name)    the name of a static function: blocked_avx2_##name
 *   BLOCKED_TARGET   the target attribute, or nothing
 *   BLOCKED_TEST     it has an inline BLOCKED(test_k)(bits, hash, k); gets BLOCKED(test), (test64)
 *   BLOCKED_ADD      it has an inline BLOCKED(add_k)(bits, hash, k) that returns whether a bit
 *                    changed; gets BLOCKED(add) and BLOCKED(choose_add_blind)
 *   BLOCKED_ADD64    the same; gets BLOCKED(add64), key by key
 *
 * and includes this file, which has no include guard: each inclusion is a new copy.
 */
#ifdef BLOCKED_TEST

#define BLOCKED_TEST_LOOP(k) \
  for (unsigned i = 0; i < n; i++) bitmap |= (uint64_t)BLOCKED(test_k)(b, hashes[i], k) << i

#define BLOCKED_TEST_NEXT_LOOP(k)                              \
  for (unsigned i = 0; i < 64; i++) {                          \
    NAY_PREFETCH(nay__block_of(b, next[i]));                   \
    bitmap |= (uint64_t)BLOCKED(test_k)(b, hashes[i], k) << i; \
  }

BLOCKED_TARGET static bool BLOCKED(test)(const nay_bits *b, uint64_t hash) {
  return BLOCKED(test_k)(b, hash, b->k);
}

BLOCKED_TARGET static uint64_t BLOCKED(test64)(const nay_bits *b, const uint64_t *hashes,
                                               unsigned n, const uint64_t *next) {
  uint64_t bitmap = 0;
  if (next == NULL) {
    NAY_FOR_COMMON_K(b->k, BLOCKED_TEST_LOOP)
  } else {
    NAY_FOR_COMMON_K(b->k, BLOCKED_TEST_NEXT_LOOP)
  }
  return bitmap;
}

#undef BLOCKED_TEST_LOOP
#undef BLOCKED_TEST_NEXT_LOOP
#undef BLOCKED_TEST
#endif

#ifdef BLOCKED_ADD

BLOCKED_TARGET static bool BLOCKED(add)(const nay_bits *b, uint64_t hash) {
  return BLOCKED(add_k)(b, hash, b->k);
}

BLOCKED_TARGET NAY_INLINE nay_status BLOCKED(add_blind_k)(const nay_bits *b, uint64_t hash,
                                                          uint32_t k) {
  (void)BLOCKED(add_k)(b, hash, k);
  return NAY_OK;
}

NAY_SPECIALIZE(BLOCKED_TARGET, nay_status, nay_add_blind, BLOCKED(add_blind), BLOCKED(add_blind_k))

static nay_add_blind BLOCKED(choose_add_blind)(const nay_bits *b) {
  return BLOCKED(add_blind_choose)(b->k);
}

#undef BLOCKED_ADD
#endif

#ifdef BLOCKED_ADD64

#define BLOCKED_ADD_LOOP(k)                                    \
  for (unsigned i = 0; i < n; i++) {                           \
    if (next != NULL) NAY_PREFETCH(nay__block_of(b, next[i])); \
    bitmap |= (uint64_t)BLOCKED(add_k)(b, hashes[i], k) << i;  \
  }

/* The bitmap costs next to nothing here. */
BLOCKED_TARGET static uint64_t BLOCKED(add64)(const nay_bits *b, const uint64_t *hashes, unsigned n,
                                              const uint64_t *next, bool report) {
  uint64_t bitmap = 0;
  (void)report;
  NAY_FOR_COMMON_K(b->k, BLOCKED_ADD_LOOP)
  return bitmap;
}

#undef BLOCKED_ADD_LOOP
#undef BLOCKED_ADD64
#endif
