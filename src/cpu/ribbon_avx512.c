/*
 * ribbon_avx512.c - eight columns of a ribbon filter at once, and batches.
 *
 * A column is 128 slots of a block, 16 bytes; those of one block follow each other. So one vector
 * of 512 bits is four columns of the block where a key begins, another the same columns of the next
 * block, and two ands and a xor leave in each pair of lanes a column's slots that are the key's.
 * The pairs of columns 0 to 3 and 4 to 7 are summed across, into even and odd lanes of one vector,
 * and the parities of its lanes are compared with the fingerprint. No branch depends on the key;
 * the scalar code leaves after four columns, which is mispredicted for half of the keys.
 *
 * For a batch the locations of eight keys are computed side by side, all 64 before the first
 * lookup: a word of a vector that has just been stored is not forwarded to a load, which waits for
 * the store to reach L1. The answers of 64 lookups are 64 bytes, compared with 64 fingerprints at
 * the end. Lookups in a map store what the slots add up to, instead of comparing it.
 */
#include "cpu/groups.h"

#if NAY_HAS_X86_KERNELS

#include "cpu/ribbon_lanes.h"
#include "cpu/ribbon_rows_avx512.h"

#define RIBBON_AVX512 __attribute__((target("avx512f,avx512dq,bmi2")))
#define RIBBON_VBMI                                              \
  __attribute__((                                                \
      target("avx512f,avx512dq,avx512bw,avx512vbmi,avx512vbmi2," \
             "avx512vpopcntdq,bmi,bmi2,popcnt")))

/* The slots that are the key's, in pairs of lanes: both words of a column, here and in the next. */
typedef struct ribbon_row_slots {
  __m512i here, next;
} ribbon_row_slots;

RIBBON_AVX512 static inline ribbon_row_slots ribbon_slots_of(const nay_ribbon_location *s) {
  /* the 128 coefficients begin in the lower (even) or in the upper (odd) words of their block */
  const unsigned even = 0x55, odd = 0xaa, upper = s->upper;
  __mmask8 outer = (__mmask8)(even << upper);
  __mmask8 second_here = (__mmask8)(odd & (upper - 1)),
           second_next = (__mmask8)(even & (0 - upper));
  __m512i second = _mm512_set1_epi64((int64_t)s->bits[1]);
  return (ribbon_row_slots){_mm512_mask_set1_epi64(_mm512_maskz_mov_epi64(second_here, second),
                                                   outer, (int64_t)s->bits[0]),
                            _mm512_mask_set1_epi64(_mm512_maskz_mov_epi64(second_next, second),
                                                   outer, (int64_t)s->bits[2])};
}

/* Eight columns at p and q, each summed into one lane. */
RIBBON_AVX512 static inline __m512i ribbon_sum(const uint8_t *p, const uint8_t *q,
                                               ribbon_lanes lanes, ribbon_row_slots slots) {
  __m512i a = _mm512_and_si512(_mm512_maskz_loadu_epi64(lanes.low, p), slots.here);
  __m512i b = _mm512_and_si512(_mm512_maskz_loadu_epi64(lanes.high, p + 64), slots.here);
  __m512i c = _mm512_maskz_loadu_epi64(lanes.low, q);
  __m512i d = _mm512_maskz_loadu_epi64(lanes.high, q + 64);
  a = _mm512_ternarylogic_epi64(a, c, slots.next, 0x78); /* a ^ (c & next) */
  b = _mm512_ternarylogic_epi64(b, d, slots.next, 0x78);
  return _mm512_xor_si512(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
}

/* Bit i: the parity of lane i. */
RIBBON_AVX512 static inline uint32_t ribbon_parity_folded(__m512i x) {
  x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 32));
  x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 16));
  x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 8));
  x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 4));
  x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 2));
  x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 1));
  return _mm512_test_epi64_mask(x, _mm512_set1_epi64(1));
}

RIBBON_POPCNT static inline uint32_t ribbon_parity_counted(__m512i x) {
  return _mm512_test_epi64_mask(_mm512_popcnt_epi64(x), _mm512_set1_epi64(1));
}

#define RIBBON_DEFINE_TEST(target, name, parity)                                         \
  target static bool name(const nay_ribbon_location *s) {                                \
    ribbon_row_slots slots = ribbon_slots_of(s);                                         \
    uint64_t fingerprint = s->fingerprint;                                               \
    uint32_t differ = 0;                                                                 \
    for (unsigned left = s->columns, at = 0;; left -= 8, at += 128, fingerprint >>= 2) { \
      ribbon_lanes lanes = RIBBON_LANES(left);                                           \
      uint32_t got = parity(ribbon_sum(s->here + at, s->next + at, lanes, slots));       \
      differ |= (got ^ (uint32_t)_pext_u64(fingerprint, RIBBON_PAIRS)) & lanes.valid;    \
      if (left <= 8) return differ == 0;                                                 \
    }                                                                                    \
  }

RIBBON_DEFINE_TEST(RIBBON_AVX512, ribbon_avx512_test, ribbon_parity_folded)
RIBBON_DEFINE_TEST(RIBBON_POPCNT, ribbon_vpopcnt_test, ribbon_parity_counted)

/* Columns that are not there add 0: their words are not loaded. */
#define RIBBON_DEFINE_SUM(target, name, parity)                                            \
  target static uint64_t name(const nay_ribbon_location *s) {                              \
    ribbon_row_slots slots = ribbon_slots_of(s);                                           \
    uint64_t word = 0;                                                                     \
    for (unsigned c = 0; c < s->columns; c += 8) {                                         \
      ribbon_lanes lanes = RIBBON_LANES(s->columns - c);                                   \
      size_t at = 16 * (size_t)c;                                                          \
      word |= (uint64_t)parity(ribbon_sum(s->here + at, s->next + at, lanes, slots)) << c; \
    }                                                                                      \
    return ribbon_by_columns(word);                                                        \
  }

RIBBON_DEFINE_SUM(RIBBON_AVX512, ribbon_avx512_sum, ribbon_parity_folded)
RIBBON_DEFINE_SUM(RIBBON_POPCNT, ribbon_vpopcnt_sum, ribbon_parity_counted)

/* ---- batches ---- */

/* 64 keys: the slots that are theirs, in both words of a column of both blocks; where the blocks
 * are; what the parities of columns 8 i to 8 i + 7 must be. */
typedef struct ribbon_group {
  uint64_t here[64][2], next[64][2];
  uint64_t here_at[64], next_at[64];
  uint8_t fingerprint[4][64];
  uint64_t is_short, bumped; /* bit i: key i begins in a block with a column less, is bumped */
} ribbon_group;

/* The codes: up to 128 bytes of them in registers. */
typedef struct ribbon_codes {
  const uint8_t *bytes;
  uint64_t nbytes;
  __m512i low, high;
} ribbon_codes;

RIBBON_VBMI static inline ribbon_codes ribbon_codes_open(const nay_ribbon_map *map) {
  ribbon_codes c = {.bytes = map->codes, .nbytes = map->ncodes};
  if (c.bytes == NULL || c.nbytes > 128) return c;
  __mmask64 all = ~(__mmask64)0;
  c.low = _mm512_maskz_loadu_epi8(c.nbytes >= 64 ? all : ~(all << c.nbytes), c.bytes);
  c.high = _mm512_setzero_si512();
  if (c.nbytes > 64) {
    c.high = _mm512_maskz_loadu_epi8(all >> (128 - c.nbytes), c.bytes + 64);
  }
  return c;
}

/* The byte of a bucket's code, as the lowest of eight. Many codes are gathered: the byte is the top
 * one of a word that ends with it, since blocks come before the codes. */
RIBBON_VBMI static inline __m512i ribbon_code_bytes(const ribbon_codes *c, __m512i byte) {
  if (c->nbytes <= 64) return _mm512_permutexvar_epi8(byte, c->low);
  if (c->nbytes <= 128) return _mm512_permutex2var_epi8(c->low, byte, c->high);
  return _mm512_srli_epi64(_mm512_i64gather_epi64(byte, c->bytes - 7, 1), 56);
}

/* Bit i: key i is bumped. */
RIBBON_VBMI static inline __mmask8 ribbon_bumped(const ribbon_codes *c, __m512i block,
                                                 __m512i start) {
  __m512i bytes = ribbon_code_bytes(c, _mm512_srli_epi64(block, 4));
  __m512i shift = _mm512_and_si512(_mm512_srli_epi64(block, 1), ribbon_set1(6));
  __m512i code = _mm512_and_si512(_mm512_srlv_epi64(bytes, shift), ribbon_set1(3));
  __m512i limit = _mm512_maskz_permutexvar_epi16(0x11111111, code, ribbon_set1(NAY_RIBBON_LIMITS));
  return _mm512_cmplt_epu64_mask(_mm512_and_si512(start, ribbon_set1(NAY_RIBBON_BUCKET - 1)),
                                 limit);
}

/* Eight rows of 128 coefficients, moved up by `offset` slots over the four words of two blocks. A
 * shift by 64 or more, or by less than 0, leaves nothing. */
RIBBON_POPCNT static inline void ribbon_shift(__m512i lo, __m512i hi, __m512i offset,
                                              ribbon_group *g, unsigned i) {
  __m512i up = _mm512_sub_epi64(offset, ribbon_set1(64));
  __m512i down = _mm512_sub_epi64(ribbon_set1(64), offset);
  __m512i down128 = _mm512_sub_epi64(ribbon_set1(128), offset);
  __m512i here_lo = _mm512_sllv_epi64(lo, offset), next_hi = _mm512_srlv_epi64(hi, down128);
  __m512i here_hi = _mm512_ternarylogic_epi64(
      _mm512_sllv_epi64(hi, offset), _mm512_srlv_epi64(lo, down), _mm512_sllv_epi64(lo, up), 0xfe);
  __m512i next_lo = _mm512_ternarylogic_epi64(
      _mm512_srlv_epi64(hi, down), _mm512_srlv_epi64(lo, down128), _mm512_sllv_epi64(hi, up), 0xfe);
  /* pairs of the even keys, pairs of the odd ones: into their order */
  const __m512i first = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
  const __m512i second = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
  _mm512_storeu_si512(g->here[i], _mm512_permutex2var_epi64(here_lo, first, here_hi));
  _mm512_storeu_si512(g->here[i + 4], _mm512_permutex2var_epi64(here_lo, second, here_hi));
  _mm512_storeu_si512(g->next[i], _mm512_permutex2var_epi64(next_lo, first, next_hi));
  _mm512_storeu_si512(g->next[i + 4], _mm512_permutex2var_epi64(next_lo, second, next_hi));
}

/* Bits c and c + 4 of four columns lie 16 apart: as eight bits, in the order of the lanes. */
RIBBON_POPCNT static inline void ribbon_fingerprints(__m512i fingerprint, unsigned columns,
                                                     ribbon_group *g, unsigned i) {
  for (unsigned part = 0; part < (columns + 7) / 8; part++) {
    __m512i bits = _mm512_and_si512(fingerprint, ribbon_set1(RIBBON_PAIRS));
    bits = _mm512_or_si512(bits, _mm512_srli_epi64(bits, 14));
    bits = _mm512_or_si512(bits, _mm512_srli_epi64(bits, 28));
    _mm_storel_epi64((__m128i *)(void *)(g->fingerprint[part] + i), _mm512_cvtepi64_epi8(bits));
    fingerprint = _mm512_srli_epi64(fingerprint, 2);
  }
}

/* Eight keys, as nay__burr_row_of and nay__burr_locate have it for one. Returns the fingerprints.
 */
RIBBON_VBMI static inline __m512i ribbon_avx512_locate8(const nay_ribbon_map *map,
                                                        const ribbon_codes *codes, __m512i x,
                                                        ribbon_group *g, unsigned i) {
  uint64_t starts = (uint64_t)map->nblocks * NAY_RIBBON_WIDTH - (NAY_RIBBON_WIDTH - 1);
  ribbon_rows rows = ribbon_rows_of(x, ribbon_set1(map->seed), ribbon_set1(starts));
  __m512i block = _mm512_srli_epi64(rows.start, 7);
  if (map->nparts != 1) {
    __m512i n = ribbon_set1(map->nparts); /* below 2^32 */
    __m512i low = _mm512_srli_epi64(_mm512_mul_epu32(x, n), 32);
    __m512i high = _mm512_mul_epu32(_mm512_srli_epi64(x, 32), n);
    __m512i part = _mm512_srli_epi64(_mm512_add_epi64(high, low), 32);
    block = _mm512_add_epi64(block, _mm512_mul_epu32(part, ribbon_set1(map->nblocks)));
  }
  if (codes->bytes != NULL) g->bumped |= (uint64_t)ribbon_bumped(codes, block, rows.start) << i;
  __m512i offset = _mm512_and_si512(rows.start, ribbon_set1(127));
  ribbon_shift(rows.lo, rows.hi, offset, g, i);
  __m512i short_blocks = ribbon_set1(map->short_blocks), columns = ribbon_set1(map->columns);
  __mmask8 is_short = _mm512_cmplt_epu64_mask(block, short_blocks);
  g->is_short |= (uint64_t)is_short << i;
  __m512i at =
      _mm512_sub_epi64(_mm512_mul_epu32(block, columns), _mm512_min_epu64(block, short_blocks));
  /* a key that begins with its block has nothing in the next, which may not exist */
  __mmask8 reaches = _mm512_test_epi64_mask(offset, offset);
  __m512i next_at = _mm512_mask_add_epi64(at, reaches, at, columns);
  next_at = _mm512_mask_sub_epi64(next_at, reaches & is_short, next_at, ribbon_set1(1));
  _mm512_storeu_si512(g->here_at + i, _mm512_slli_epi64(at, 4));
  _mm512_storeu_si512(g->next_at + i, _mm512_slli_epi64(next_at, 4));
  return rows.fingerprint;
}

/* Up to eight keys, zeroes for others. */
RIBBON_VBMI static inline __m512i ribbon_load8(const uint64_t *x, unsigned n) {
  return _mm512_maskz_loadu_epi64(n < 8 ? (__mmask8)((1u << n) - 1) : 0xff, x);
}

/* A key's two blocks are neighbours: a run of up to 2 KiB, prefetched line by line. */
static inline void ribbon_avx512_prefetch(const nay_ribbon_map *map, const ribbon_group *g,
                                          unsigned i) {
  const uint8_t *end = map->blocks + g->next_at[i] + map->columns * 16;
  for (const uint8_t *at = map->blocks + g->here_at[i]; at < end; at += 64) NAY_PREFETCH(at);
  NAY_PREFETCH(end - 1);
}

/* The last block is never short, so the columns of a whole one can be read everywhere. */
RIBBON_POPCNT static inline uint32_t ribbon_row_parities(const nay_ribbon_map *map,
                                                         const ribbon_group *g, unsigned i,
                                                         size_t at, ribbon_lanes lanes) {
  const __m128i *here = (const __m128i *)(const void *)g->here[i];
  const __m128i *next = (const __m128i *)(const void *)g->next[i];
  ribbon_row_slots slots = {_mm512_broadcast_i64x2(_mm_loadu_si128(here)),
                            _mm512_broadcast_i64x2(_mm_loadu_si128(next))};
  const uint8_t *blocks = map->blocks + at;
  return ribbon_parity_counted(
      ribbon_sum(blocks + g->here_at[i], blocks + g->next_at[i], lanes, slots));
}

#define RIBBON_AHEAD 8u /* keys, of some four lines each */

/* Bit i: key i differs from its fingerprint in one of eight columns from 8 `part` on. */
RIBBON_POPCNT static uint64_t ribbon_differ64(const nay_ribbon_map *map, const ribbon_group *g,
                                              unsigned n, unsigned part) {
  unsigned left = map->columns - 8 * part;
  ribbon_lanes lanes = RIBBON_LANES(left), fewer = RIBBON_LANES(left - 1);
  uint8_t got[64] = {0};
  bool prefetches = part == 0 && !map->in_cache;
  for (unsigned i = 0; prefetches && i < n && i < RIBBON_AHEAD; i++)
    ribbon_avx512_prefetch(map, g, i);
  for (unsigned i = 0; i < n; i++) {
    if (prefetches && i + RIBBON_AHEAD < n) ribbon_avx512_prefetch(map, g, i + RIBBON_AHEAD);
    got[i] = (uint8_t)ribbon_row_parities(map, g, i, 128 * (size_t)part, lanes);
  }
  __m512i valid =
      _mm512_mask_set1_epi8(_mm512_set1_epi8((char)lanes.valid), g->is_short, (char)fewer.valid);
  __m512i differ =
      _mm512_xor_si512(_mm512_loadu_si512(got), _mm512_loadu_si512(g->fingerprint[part]));
  return _mm512_test_epi8_mask(differ, valid);
}

RIBBON_VBMI static uint64_t ribbon_gfni_test64(const nay_ribbon_map *map, const uint64_t *x,
                                               unsigned n, uint64_t *bumped) {
  ribbon_group g;
  g.is_short = g.bumped = 0;
  ribbon_codes codes = ribbon_codes_open(map);
  for (unsigned i = 0; i < n; i += 8) {
    __m512i fingerprints = ribbon_avx512_locate8(map, &codes, ribbon_load8(x + i, n - i), &g, i);
    ribbon_fingerprints(fingerprints, map->columns, &g, i);
  }
  uint64_t nay = 0, all = ~(uint64_t)0 >> (64 - n);
  for (unsigned part = 0; part < (map->columns + 7) / 8; part++) {
    nay |= ribbon_differ64(map, &g, n, part);
  }
  *bumped = g.bumped & all;
  return ~nay & all & ~g.bumped;
}

/* The words of keys in the order of lanes, a byte for each eight columns. */
RIBBON_POPCNT static void ribbon_sum_lanes64(const nay_ribbon_map *map, const ribbon_group *g,
                                             unsigned n, uint64_t *words) {
  bool prefetches = !map->in_cache;
  for (unsigned i = 0; prefetches && i < n && i < RIBBON_AHEAD; i++)
    ribbon_avx512_prefetch(map, g, i);
  for (unsigned i = 0; i < n; i++) {
    if (prefetches && i + RIBBON_AHEAD < n) ribbon_avx512_prefetch(map, g, i + RIBBON_AHEAD);
    uint64_t word = 0;
    for (unsigned c = 0; c < map->columns; c += 8) {
      ribbon_lanes lanes = RIBBON_LANES(map->columns - c);
      word |= (uint64_t)ribbon_row_parities(map, g, i, 16 * (size_t)c, lanes) << c;
    }
    words[i] = word;
  }
}

RIBBON_VBMI static void ribbon_gfni_sum64(const nay_ribbon_map *map, const uint64_t *x, unsigned n,
                                          uint64_t *words, uint64_t *bumped) {
  ribbon_group g;
  g.is_short = g.bumped = 0;
  ribbon_codes codes = ribbon_codes_open(map);
  for (unsigned i = 0; i < n; i += 8) {
    ribbon_avx512_locate8(map, &codes, ribbon_load8(x + i, n - i), &g, i);
  }
  ribbon_sum_lanes64(map, &g, n, words);
  for (unsigned i = 0; i < n; i++) words[i] = ribbon_by_columns(words[i]);
  *bumped = g.bumped & ~(uint64_t)0 >> (64 - n);
}

const nay_ribbon_kernels nay__ribbon_avx512 = {.test = ribbon_avx512_test,
                                               .sum = ribbon_avx512_sum};
const nay_ribbon_kernels nay__ribbon_gfni = {ribbon_vpopcnt_test, ribbon_gfni_test64,
                                             ribbon_vpopcnt_sum, ribbon_gfni_sum64};

#endif /* NAY_HAS_X86_KERNELS */
