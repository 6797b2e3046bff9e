/*
 * blocked_gfni.c - adds to the blocked filter by products of bit matrices (GFNI).
 *
 * A probe is a position of 9 bits, q c r: word q of the block, byte c of the word, bit r of the
 * byte. Eight probes i of a key, as three matrices of 8 x 8 bits in one word each:
 *
 *   Q[q][i] = 1 when probe i is in word q       C[c][i], R[r][i] the same for byte and bit
 *
 * Word q of the pattern that the block gets is then the product  (C with the columns of q only) x R
 * transposed, and such a product is one instruction for all eight words of the block
 * (gf2p8affineqb). So a key costs a shuffle, an and, and a product, whatever its number of probes;
 * making Q, C and R takes about 25 instructions for eight keys together, and 11 for a single one.
 *
 * The product adds where we want an or: two equal probes would cancel. Whether probes i and j agree
 * in q is the product of Q's own transpose with itself, and a probe that agrees with an earlier one
 * in all three is struck from Q. So are those from k on. Up to 16 probes take two rounds.
 *
 * All patterns of a group are in registers before the first block is read: the processor compares
 * a load with earlier stores by 12 bits of the address (4K aliasing), and stores to random lines
 * that wait for their data would delay loads of other lines (twice as slow).
 */
#include "cpu/block.h"
#include "cpu/groups.h"
#include "cpu/specialize.h"

#if NAY_HAS_X86_KERNELS

#include <immintrin.h>

#define GFNI_FEATURES "avx512f,avx512dq,avx512bw,avx512vl,avx512cd,avx512vbmi,gfni,bmi2,prfchw"
#define BLOCKED_TARGET __attribute__((target(GFNI_FEATURES)))
#define GFNI_MAX_K 16u
#define GFNI_IDENTITY 0x8040201008040201
#define GFNI_REVERSED 0x0102040810204080

/* Dword d of row a: the power for probe 2 a + d / 8 of key d % 8. */
#define GFNI_EIGHT(p) p, p, p, p, p, p, p, p
static const uint32_t gfni_powers[4][16] = {
    {GFNI_EIGHT(NAY_G32_POW_0), GFNI_EIGHT(NAY_G32_POW_1)},
    {GFNI_EIGHT(NAY_G32_POW_2), GFNI_EIGHT(NAY_G32_POW_3)},
    {GFNI_EIGHT(NAY_G32_POW_4), GFNI_EIGHT(NAY_G32_POW_5)},
    {GFNI_EIGHT(NAY_G32_POW_6), GFNI_EIGHT(NAY_G32_POW_7)},
};

/*
 * From the words made by gfni_fields (their bytes: rc rc cq cq of two keys for a probe, twice) to
 * eight bytes a key: the place of r and c of probe i of key j is entry 8 j + i; c and q are 2 on.
 */
static const uint8_t gfni_places[64] = {
    0,  32,  4,  36,  64, 96, 68, 100, 1,  33,  5,  37,  65, 97, 69, 101, 8,  40,  12, 44,  72, 104,
    76, 108, 9,  41,  13, 45, 73, 105, 77, 109, 16, 48,  20, 52, 80, 112, 84, 116, 17, 49,  21, 53,
    81, 113, 85, 117, 24, 56, 28, 60,  88, 120, 92, 124, 25, 57, 29, 61,  89, 121, 93, 125,
};

/* The rows of the matrices of eight keys, one word a key: bit 7 - i of a row is for probe i. */
typedef struct gfni_group {
  uint64_t q[8], c[8], r[8];
} gfni_group;

/*
 * The bits of `equal` in gfni_prepare that strike a probe. Byte i is for probe i: bit 7 - j is set
 * for every earlier probe j < i. Bytes from k on are 0xff: a probe equals itself, so those are
 * always struck.
 */
static uint64_t gfni_strike(uint32_t k) {
  return 0xfefcf8f0e0c08000u | (k < 8 ? ~(uint64_t)0 << 8 * k : 0);
}

/* r and c, c and q in the low 6 bits of bytes, for the probes of two rows of powers. */
BLOCKED_TARGET NAY_INLINE __m512i gfni_fields(__m512i hashes, unsigned row) {
  const __m512i from = _mm512_set1_epi32(0x3a1a3717); /* bits 23, 55, 26, 58 of a word */
  __m512i a = _mm512_mullo_epi32(hashes, _mm512_loadu_si512(gfni_powers[row]));
  __m512i b = _mm512_mullo_epi32(hashes, _mm512_loadu_si512(gfni_powers[row + 1]));
  return _mm512_mask_multishift_epi64_epi8(_mm512_multishift_epi64_epi8(from, a),
                                           0xf0f0f0f0f0f0f0f0u, from, b);
}

/* 1 << x of the low and of the high 3 of 6 bits, for each byte. */
BLOCKED_TARGET NAY_INLINE __m512i gfni_low(__m512i x) {
  return _mm512_permutexvar_epi8(x, _mm512_set1_epi64((int64_t)GFNI_IDENTITY));
}

BLOCKED_TARGET NAY_INLINE __m512i gfni_high(__m512i x) {
  const __m512i table = _mm512_setr_epi64(
      0x0101010101010101, 0x0202020202020202, 0x0404040404040404, 0x0808080808080808,
      0x1010101010101010, 0x2020202020202020, 0x4040404040404040, (int64_t)0x8080808080808080);
  return _mm512_permutexvar_epi8(x, table);
}

/*
 * b stays in a register: clang 14 writes a wrong address into the form of this instruction that
 * takes one word from memory for all lanes (it scales the displacement by 64 instead of 8).
 */
BLOCKED_TARGET NAY_INLINE __m512i gfni_product(__m512i a, __m512i b) {
  __asm__("" : "+v"(b));
  return _mm512_gf2p8affine_epi64_epi8(a, b, 0);
}

/* The matrices of eight keys, whose hashes come twice as 32-bit lanes. */
BLOCKED_TARGET NAY_INLINE void gfni_prepare(__m512i hashes, __m512i strike, gfni_group *g) {
  const __m512i identity = _mm512_set1_epi64((int64_t)GFNI_IDENTITY);
  const __m512i reversed = _mm512_set1_epi64(GFNI_REVERSED);
  __m512i places = _mm512_loadu_si512(gfni_places), a = gfni_fields(hashes, 0);
  __m512i b = gfni_fields(hashes, 2), two = _mm512_set1_epi8(2);
  __m512i rc = _mm512_permutex2var_epi8(a, places, b);
  __m512i cq = _mm512_permutex2var_epi8(a, _mm512_or_si512(places, two), b);
  __m512i r = gfni_low(rc), c = gfni_high(rc), q = gfni_high(cq);
  __m512i equal = _mm512_and_si512(_mm512_and_si512(gfni_product(r, r), gfni_product(c, c)),
                                   gfni_product(q, q));
  q = _mm512_maskz_mov_epi8(_mm512_testn_epi8_mask(equal, strike), q);
  _mm512_storeu_si512(g->q, gfni_product(identity, q));
  _mm512_storeu_si512(g->c, gfni_product(identity, c));
  _mm512_storeu_si512(g->r, gfni_product(reversed, r));
}

/* The bits of one key of a group, as they will be in its block. */
BLOCKED_TARGET NAY_INLINE __m512i gfni_pattern(const gfni_group *g, unsigned key) {
  const __m512i word_of = _mm512_setr_epi64(
      0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303, 0x0404040404040404,
      0x0505050505050505, 0x0606060606060606, 0x0707070707070707);
  __m512i q = _mm512_shuffle_epi8(_mm512_set1_epi64((int64_t)g->q[key]), word_of);
  __m512i c = _mm512_and_si512(q, _mm512_set1_epi64((int64_t)g->c[key]));
  return gfni_product(c, _mm512_set1_epi64((int64_t)g->r[key]));
}

/* Adds the keys of a group; with `more` they have a second round of probes. */
BLOCKED_TARGET NAY_INLINE uint64_t gfni_add_group(const nay_bits *b, const uint64_t *hashes,
                                                  const uint64_t *next, const gfni_group *g,
                                                  const gfni_group *more, bool report) {
  __m512i patterns[8];
  uint8_t *blocks[8];
  uint64_t bitmap = 0;
#pragma GCC unroll 8
  for (unsigned i = 0; i < 8; i++) {
    blocks[i] = nay__block_of(b, hashes[i]);
    patterns[i] = gfni_pattern(g, i);
    if (more != NULL) patterns[i] = _mm512_or_si512(patterns[i], gfni_pattern(more, i));
  }
#pragma GCC unroll 8
  for (unsigned i = 0; i < 8; i++) {
    if (next != NULL) NAY_PREFETCH(nay__block_of(b, next[i]));
    __m512i old = _mm512_loadu_si512(blocks[i]);
    _mm512_storeu_si512(blocks[i], _mm512_or_si512(old, patterns[i]));
    /* a bit of the pattern that was not there: andnot, then any */
    __m512i fresh = _mm512_andnot_si512(old, patterns[i]);
    if (report) bitmap |= (uint64_t)(_mm512_test_epi64_mask(fresh, fresh) != 0) << i;
  }
  return bitmap;
}

/* Whole groups of eight; returns the answers, and how many keys were done. */
BLOCKED_TARGET NAY_INLINE uint64_t gfni_add_groups(const nay_bits *b, const uint64_t *hashes,
                                                   unsigned n, const uint64_t *next, bool report) {
  const __m512i twice = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 0, 2, 4, 6, 8, 10, 12, 14);
  gfni_group groups[8], more[8];
  bool two = b->k > 8;
  __m512i strike = _mm512_set1_epi64((int64_t)gfni_strike(two ? 8 : b->k));
  __m512i strike_more = _mm512_set1_epi64((int64_t)gfni_strike(two ? b->k - 8 : 0));
  for (unsigned i = 0; i < n / 8; i++) {
    __m512i h = _mm512_permutexvar_epi32(twice, _mm512_loadu_si512(hashes + 8 * i));
    gfni_prepare(h, strike, &groups[i]);
    if (!two) continue;
    h = _mm512_mullo_epi32(h, _mm512_set1_epi32((int32_t)NAY_G32_POW_8));
    gfni_prepare(h, strike_more, &more[i]);
  }
  uint64_t bitmap = 0;
  for (unsigned i = 0; i < n / 8; i++) {
    const uint64_t *next_eight = next != NULL ? next + 8 * i : NULL;
    const gfni_group *rest = two ? &more[i] : NULL;
    bitmap |= gfni_add_group(b, hashes + 8 * i, next_eight, &groups[i], rest, report) << 8 * i;
  }
  return bitmap;
}

/* ---- one key ---- */

/*
 * The powers for k probes of one key: eight from entry 8 - k on. Those past the k-th repeat a
 * probe, and are struck as any other that does.
 */
static const uint32_t gfni_powers_back[15] __attribute__((aligned(64))) = {
    NAY_G32_POW_7,
    NAY_G32_POW_6,
    NAY_G32_POW_5,
    NAY_G32_POW_4,
    NAY_G32_POW_3,
    NAY_G32_POW_2,
    NAY_G32_POW_1,
    NAY_G32_POW_0,
    1u,
    1u,
    1u,
    1u,
    1u,
    1u,
    1u,
};

/* R, C and Q of one key in the words of half a register; probes that repeat one are struck in R. */
BLOCKED_TARGET NAY_INLINE __m256i gfni_matrices(uint32_t h, uint32_t k) {
  const __m256i *powers = (const __m256i *)(const void *)(gfni_powers_back + 8 - k);
  /* bits 23, 26 and 29, then 55, 58 and 61 of each word: r r c c q q of two probes */
  const __m256i from = _mm256_set1_epi64x(0x3d1d3a1a3717);
  const __m256i places = _mm256_setr_epi8(0, 1, 8, 9, 16, 17, 24, 25, 2, 3, 10, 11, 18, 19, 26, 27,
                                          4, 5, 12, 13, 20, 21, 28, 29, 6, 6, 6, 6, 6, 6, 6, 6);
  const __m256i ones = _mm256_set1_epi64x((int64_t)GFNI_IDENTITY);
  const __m256i turned =
      _mm256_setr_epi64x(GFNI_REVERSED, (int64_t)GFNI_IDENTITY, (int64_t)GFNI_IDENTITY, 0);
  __m256i probes = _mm256_mullo_epi32(_mm256_set1_epi32((int32_t)h), _mm256_loadu_si256(powers));
  __m256i fields = _mm256_multishift_epi64_epi8(from, probes);
  __m256i rows = _mm256_permutexvar_epi8(_mm256_permutexvar_epi8(places, fields), ones);
  __m256i repeats = _mm256_conflict_epi32(_mm256_srli_epi32(probes, NAY_BLOCK_BIT_SHIFT));
  rows = _mm256_mask_sub_epi8(rows, _mm256_test_epi32_mask(repeats, repeats), rows, rows);
  return _mm256_gf2p8affine_epi64_epi8(turned, rows, 0);
}

/* The pattern of one key of up to eight probes; none of its registers has seen the block. */
BLOCKED_TARGET NAY_INLINE __m512i gfni_pattern_of(uint32_t h, uint32_t k) {
  const __m512i word_of = _mm512_setr_epi64(
      0x1010101010101010, 0x1111111111111111, 0x1212121212121212, 0x1313131313131313,
      0x1414141414141414, 0x1515151515151515, 0x1616161616161616, 0x1717171717171717);
  __m256i matrices = gfni_matrices(h, k);
  __m128i rc = _mm256_castsi256_si128(matrices);
  __m512i q = _mm512_permutexvar_epi8(word_of, _mm512_castsi256_si512(matrices));
  __m512i c = _mm512_broadcastq_epi64(_mm_unpackhi_epi64(rc, rc));
  return gfni_product(_mm512_and_si512(q, c), _mm512_broadcastq_epi64(rc));
}

BLOCKED_TARGET NAY_INLINE bool gfni_add_k(const nay_bits *b, uint64_t hash, uint32_t k) {
  if (k > GFNI_MAX_K) return nay__blocked_add_avx512.add(b, hash);
  uint8_t *block = nay__block_of(b, hash);
  uint32_t h = (uint32_t)hash;
  NAY_PREFETCH_TO_WRITE(block); /* does not wait for earlier stores, as the load may */
  __m512i pattern = gfni_pattern_of(h, k < 8 ? k : 8);
  if (k > 8) pattern = _mm512_or_si512(pattern, gfni_pattern_of(h * NAY_G32_POW_8, k - 8));
  __m512i old = _mm512_loadu_si512(block), fresh = _mm512_andnot_si512(old, pattern);
  _mm512_storeu_si512(block, _mm512_or_si512(old, pattern));
  return _mm512_test_epi64_mask(fresh, fresh) != 0;
}

#define BLOCKED(name) gfni_##name
#define BLOCKED_ADD
#include "cpu/blocked_template.h"

/* The keys that do not fill a group go one by one; more than 16 probes to the AVX-512 kernel. */
BLOCKED_TARGET static uint64_t gfni_add64(const nay_bits *b, const uint64_t *hashes, unsigned n,
                                          const uint64_t *next, bool report) {
  if (b->k > GFNI_MAX_K) {
    return nay__blocked_add_avx512.add64(b, hashes, n, next, report);
  }
  if (next != NULL) {
    return report ? gfni_add_groups(b, hashes, 64, next, true)
                  : gfni_add_groups(b, hashes, 64, next, false);
  }
  uint64_t bitmap = report ? gfni_add_groups(b, hashes, n, NULL, true)
                           : gfni_add_groups(b, hashes, n, NULL, false);
  for (unsigned i = n & ~7u; i < n; i++) bitmap |= (uint64_t)gfni_add(b, hashes[i]) << i;
  return bitmap;
}

const nay_blocked_add_kernels nay__blocked_add_gfni = {
    .add = gfni_add,
    .choose_add_blind = gfni_choose_add_blind,
    .add64 = gfni_add64,
};

#endif /* NAY_HAS_X86_KERNELS */
