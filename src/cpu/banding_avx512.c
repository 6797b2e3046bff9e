/*
 * banding_avx512.c - banding and back substitution of a ribbon filter by vectors.
 *
 * Banding (family/banding.c) one key after the other is a chain: each step waits for the row that
 * the one before has led to, about fifteen steps a key. Here elimination goes over the slots, eight
 * at a time (a panel), with all equations that have begun and are not placed yet: about 25, at most
 * 64.
 *
 *   equation e   | 8 slots of the panel | ... 128 and 7 slots from its first on | fingerprint |
 *
 *   1. The eight slots of 64 equations are eight words, a bit for each equation. In them pivots are
 *      found: for each slot an equation that has it becomes the slot's row, and is added to all
 *      others that have it. Only the words change; which equation gets which row is kept.
 *   2. The rows: those that got others before them are summed up, and stored.
 *   3. All equations get their rows, eight equations in a vector; those that have become rows are
 *      dropped, the others advance by eight slots.
 *
 * It gives rows for the same slots, and so the same solution. A key that finds 64 others pending is
 * deferred, to be placed one by one when all rows are there; so are those that the first half of
 * the slots leaves to the second.
 *
 * Back substitution goes from the last slot to the first, eight columns side by side, a lane each.
 */
#include "cpu/groups.h"

#if NAY_HAS_X86_KERNELS

#include "cpu/ribbon_rows_avx512.h"

#define BAND_TOP 0xff00000000000000u /* no fingerprint has these bits: slots 128 to 134 */

/* The keys that begin in a panel. */
RIBBON_POPCNT static inline void band_enter(nay_band_half *s) {
  nay_band_pending *p = &s->pending;
  uint32_t end = *s->ends++;
  const __m512i seed = ribbon_set1(s->seed), starts = ribbon_set1(s->starts);
  while (s->next < end) {
    unsigned n = end - s->next < 8 ? end - s->next : 8;
    if (NAY_UNLIKELY(p->n + n > NAY_BAND_PENDING)) {
      while (n-- > 0) s->keys[s->deferred + s->ndeferred++] = s->keys[s->next++];
      continue;
    }
    __mmask8 mask = (__mmask8)((1u << n) - 1);
    ribbon_rows r = ribbon_rows_of(_mm512_maskz_loadu_epi64(mask, s->keys + s->next), seed, starts);
    __m512i up = _mm512_and_si512(r.start, ribbon_set1(NAY_BAND_PANEL - 1));
    __m512i down = _mm512_sub_epi64(ribbon_set1(64), up);
    __m512i top = _mm512_slli_epi64(_mm512_srlv_epi64(r.hi, down), 56);
    __m512i hi = _mm512_or_si512(_mm512_sllv_epi64(r.hi, up), _mm512_srlv_epi64(r.lo, down));
    _mm512_storeu_si512(p->lo + p->n, _mm512_sllv_epi64(r.lo, up));
    _mm512_storeu_si512(p->hi + p->n, hi);
    _mm512_storeu_si512(
        p->fingerprint + p->n,
        _mm512_or_si512(_mm512_andnot_si512(ribbon_set1(BAND_TOP), r.fingerprint), top));
    p->n += n;
    s->next += n;
  }
}

/* What step 1 finds. */
typedef struct band_pivots {
  uint64_t others[NAY_BAND_PANEL]; /* bit e: equation e gets the row of this slot */
  uint64_t at[NAY_BAND_PANEL];     /* which equation is the row */
  uint64_t left;                   /* equations that are no row */
  __mmask8 found;
} band_pivots;

/* The low bytes of 64 equations. */
RIBBON_POPCNT static inline __m512i band_low_bytes(const nay_band_pending *p) {
  __m256i half[2];
  for (unsigned i = 0; i < 2; i++) {
    const uint64_t *lo = p->lo + 32 * i;
    __m128i a = _mm512_cvtepi64_epi8(_mm512_loadu_si512(lo));
    __m128i b = _mm512_cvtepi64_epi8(_mm512_loadu_si512(lo + 8));
    __m128i c = _mm512_cvtepi64_epi8(_mm512_loadu_si512(lo + 16));
    __m128i d = _mm512_cvtepi64_epi8(_mm512_loadu_si512(lo + 24));
    half[i] = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_unpacklo_epi64(a, b)),
                                      _mm_unpacklo_epi64(c, d), 1);
  }
  return _mm512_inserti64x4(_mm512_castsi256_si512(half[0]), half[1], 1);
}

RIBBON_POPCNT static inline void band_find(const nay_band_pending *p, band_pivots *v) {
  uint64_t slot[NAY_BAND_PANEL], left = p->n == 0 ? 0 : ~(uint64_t)0 >> (64 - p->n);
  __m512i bytes = band_low_bytes(p);
  unsigned found = 0;
  for (unsigned i = 0; i < NAY_BAND_PANEL; i++) {
    slot[i] = _mm512_test_epi8_mask(bytes, _mm512_set1_epi8((char)(1u << i)));
  }
#pragma GCC unroll 8
  for (unsigned i = 0; i < NAY_BAND_PANEL; i++) {
    uint64_t have = slot[i] & left, row = have & (0 - have), others = have ^ row;
    left ^= row;
    found |= (unsigned)(row != 0) << i;
    v->at[i] = _tzcnt_u64(row) & 63;
    v->others[i] = others;
#pragma GCC unroll 8
    for (unsigned j = i + 1; j < NAY_BAND_PANEL; j++) {
      slot[j] ^= others & (0 - (uint64_t)((slot[j] & row) != 0));
    }
  }
  v->left = left;
  v->found = (__mmask8)found;
}

/* Rows of eight slots, a lane each. */
typedef struct band_eight {
  __m512i lo, hi, fingerprint;
} band_eight;

RIBBON_POPCNT static inline band_eight band_add(band_eight a, __mmask8 lanes, band_eight b) {
  return (band_eight){_mm512_mask_xor_epi64(a.lo, lanes, a.lo, b.lo),
                      _mm512_mask_xor_epi64(a.hi, lanes, a.hi, b.hi),
                      _mm512_mask_xor_epi64(a.fingerprint, lanes, a.fingerprint, b.fingerprint)};
}

/* Sums up the rows; each[i] is row i in all lanes. */
RIBBON_POPCNT static inline band_eight band_rows(const nay_band_pending *p, const band_pivots *v,
                                                 band_eight *each) {
  const __m512i none = _mm512_setzero_si512();
  __m512i at = _mm512_loadu_si512(v->at);
  band_eight r = {_mm512_mask_i64gather_epi64(none, v->found, at, p->lo, 8),
                  _mm512_mask_i64gather_epi64(none, v->found, at, p->hi, 8),
                  _mm512_mask_i64gather_epi64(none, v->found, at, p->fingerprint, 8)};
#pragma GCC unroll 8
  for (unsigned i = 0; i < NAY_BAND_PANEL; i++) {
    __m512i lane = ribbon_set1(i);
    each[i] =
        (band_eight){_mm512_permutexvar_epi64(lane, r.lo), _mm512_permutexvar_epi64(lane, r.hi),
                     _mm512_permutexvar_epi64(lane, r.fingerprint)};
    __m512i mine = _mm512_srlv_epi64(ribbon_set1(v->others[i]), at);
    r = band_add(r, v->found & _mm512_test_epi64_mask(mine, ribbon_set1(1)), each[i]);
  }
  return r;
}

/* Row i begins at slot i: moved down by i, and stored one after the other. */
RIBBON_POPCNT static inline void band_store_rows(band_eight r, nay_band_row *rows) {
  const __m512i down = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
  const __m512i up = _mm512_sub_epi64(ribbon_set1(64), down);
  __m512i top = _mm512_srli_epi64(r.fingerprint, 56),
          fingerprint = _mm512_andnot_si512(ribbon_set1(BAND_TOP), r.fingerprint);
  __m512i lo = _mm512_or_si512(_mm512_srlv_epi64(r.lo, down), _mm512_sllv_epi64(r.hi, up));
  __m512i hi = _mm512_or_si512(_mm512_srlv_epi64(r.hi, down), _mm512_sllv_epi64(top, up));
  /* lo 0, hi 0, fingerprint 0, lo 1, ...: first lo and hi, 8 + i being hi's, then the rest */
  const __m512i pairs[3] = {_mm512_setr_epi64(0, 8, 0, 1, 9, 0, 2, 10),
                            _mm512_setr_epi64(0, 3, 11, 0, 4, 12, 0, 5),
                            _mm512_setr_epi64(13, 0, 6, 14, 0, 7, 15, 0)};
  const __m512i thirds[3] = {_mm512_setr_epi64(0, 0, 0, 0, 0, 1, 0, 0),
                             _mm512_setr_epi64(2, 0, 0, 3, 0, 0, 4, 0),
                             _mm512_setr_epi64(0, 5, 0, 0, 6, 0, 0, 7)};
  const __mmask8 lanes[3] = {0x24, 0x49, 0x92};
  for (unsigned i = 0; i < 3; i++) {
    __m512i both = _mm512_permutex2var_epi64(lo, pairs[i], hi);
    both = _mm512_mask_permutexvar_epi64(both, lanes[i], thirds[i], fingerprint);
    _mm512_storeu_si512((uint64_t *)rows + 8 * i, both);
  }
}

/* Adds the rows to all equations, drops those that are rows, and goes on by eight slots. */
RIBBON_POPCNT static inline void band_apply(nay_band_pending *p, const band_pivots *v,
                                            const band_eight *each) {
  unsigned to = 0;
  uint64_t left = v->left;
  for (unsigned from = 0; from < p->n; from += 8) {
    band_eight e = {_mm512_loadu_si512(p->lo + from), _mm512_loadu_si512(p->hi + from),
                    _mm512_loadu_si512(p->fingerprint + from)};
#pragma GCC unroll 8
    for (unsigned i = 0; i < NAY_BAND_PANEL; i++) {
      e = band_add(e, (__mmask8)(v->others[i] >> from), each[i]);
    }
    __mmask8 keep = (__mmask8)(left >> from);
    __m512i lo = _mm512_shrdi_epi64(e.lo, e.hi, 8), top = ribbon_set1(BAND_TOP);
    __m512i hi = _mm512_ternarylogic_epi64(_mm512_srli_epi64(e.hi, 8), e.fingerprint, top, 0xf8);
    _mm512_storeu_si512(p->lo + to, _mm512_maskz_compress_epi64(keep, lo));
    _mm512_storeu_si512(p->hi + to, _mm512_maskz_compress_epi64(keep, hi));
    _mm512_storeu_si512(p->fingerprint + to,
                        _mm512_maskz_compress_epi64(keep, _mm512_andnot_si512(top, e.fingerprint)));
    to += (unsigned)_mm_popcnt_u32(keep);
  }
  p->n = to;
}

/* One half of the slots, and what is known of its panel. */
typedef struct band_panel {
  nay_band_half *half;
  band_pivots pivots;
  band_eight each[NAY_BAND_PANEL];
} band_panel;

/* Each step waits for the one before it, so both halves advance together. */
RIBBON_POPCNT static void banding_eliminate(nay_band_half halves[2], uint32_t npanels) {
  band_panel panels[2] = {{.half = &halves[0]}, {.half = &halves[1]}};
  for (uint32_t panel = 0; panel < npanels; panel++) {
    for (unsigned i = 0; i < 2; i++) band_enter(&halves[i]);
    for (unsigned i = 0; i < 2; i++) band_find(&halves[i].pending, &panels[i].pivots);
    for (unsigned i = 0; i < 2; i++) {
      band_panel *p = &panels[i];
      band_store_rows(band_rows(&p->half->pending, &p->pivots, p->each), p->half->rows);
      p->half->rows += NAY_BAND_PANEL;
    }
    for (unsigned i = 0; i < 2; i++) {
      band_apply(&halves[i].pending, &panels[i].pivots, panels[i].each);
    }
  }
}

/* ---- back substitution ---- */

RIBBON_POPCNT static void banding_back_substitute(const nay_band_row *rows, unsigned part,
                                                  nay_band_columns *columns) {
  const __m512i one = ribbon_set1(1);
  const __m512i bit_of = _mm512_add_epi64(_mm512_setr_epi64(0, 16, 32, 48, 1, 17, 33, 49),
                                          ribbon_set1(2 * (uint64_t)part));
  __m512i lo = _mm512_loadu_si512(columns->lo + 8 * part);
  __m512i hi = _mm512_loadu_si512(columns->hi + 8 * part);
  for (unsigned i = 128; i-- > 0;) {
    __m512i fingerprint = _mm512_srlv_epi64(ribbon_set1(rows[i].fingerprint), bit_of);
    hi = _mm512_shldi_epi64(hi, lo, 1);
    lo = _mm512_add_epi64(lo, lo);
    __m512i x = _mm512_and_si512(lo, ribbon_set1(rows[i].lo));
    x = _mm512_ternarylogic_epi64(x, hi, ribbon_set1(rows[i].hi), 0x78);
    lo = _mm512_or_si512(lo, _mm512_and_si512(fingerprint, one));
    lo = _mm512_ternarylogic_epi64(lo, _mm512_popcnt_epi64(x), one, 0x78);
  }
  _mm512_storeu_si512(columns->lo + 8 * part, lo);
  _mm512_storeu_si512(columns->hi + 8 * part, hi);
}

const nay_banding_kernels nay__banding_vpopcnt = {banding_eliminate, banding_back_substitute};

#endif /* NAY_HAS_X86_KERNELS */
