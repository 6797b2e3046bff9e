/*
 * banding_panel_avx512.h - one step of the elimination of banding_avx512.c: eight slots, and all
 * equations that have begun and are not placed yet.
 *
 * These pending equations are kept by bytes: plane j has byte j (slots 8 j to 8 j + 7 of the panel)
 * of every pending equation, lane by lane. So going on by eight slots is renaming the planes, and
 * adding any of the panel's eight rows to 64 equations is, for each plane, one product of bytes by
 * an 8 x 8 matrix of bits:
 *
 *   byte j of all lanes  ^=  selectors (bit i: add row i)  *  byte j of the eight rows
 *
 * The pivot of a slot is the *last* lane that has it. Rows that depend on rows of the same panel
 * are summed up by the inverse of 1 + P, where P says which row was added to which: P^8 is 0, so
 * the inverse is (1 + P)(1 + P^2)(1 + P^4).
 */
#ifndef NAY_BANDING_PANEL_H
#define NAY_BANDING_PANEL_H

#include "cpu/ribbon_lanes.h"
#include "cpu/ribbon_rows_avx512.h"

#define BAND_GFNI                                                         \
  __attribute__((                                                         \
      target("avx512f,avx512dq,avx512bw,avx512vl,avx512vbmi,avx512vbmi2," \
             "avx512vpopcntdq,gfni,bmi,bmi2,popcnt,lzcnt")))
#define BAND_INLINE BAND_GFNI static inline __attribute__((always_inline))

#define BAND_COEFFICIENTS 17u /* bytes: 128 slots from one of the panel's eight on */
#define BAND_PLANES (BAND_COEFFICIENTS + 8u)
#define BAND_PANELS (NAY_RIBBON_BUCKET / NAY_BAND_PANEL)
#define BAND_DRAIN (NAY_RIBBON_WIDTH / NAY_BAND_PANEL)
#define BAND_MAX_KEYS 1024u /* of a bucket */
#define BAND_MAX_PANEL_KEYS 48u
/* How many first slots of a bucket a code bumps. */
#define BAND_LIMIT(code) ((unsigned)(NAY_RIBBON_LIMITS >> (16 * (code))) & 0xffff)
#define BAND_MATRIX_ONE 0x0102040810204080u

typedef struct band_sweep {
  uint8_t coefficients[32][256]; /* a ring: byte j of panel q is plane (q + j) % 32 */
  uint8_t values[8][256];
  uint8_t keys[BAND_PLANES][BAND_MAX_KEYS + NAY_BAND_PADDING]; /* of the bucket, by bytes */
  uint64_t rows[BAND_PANELS + BAND_DRAIN][BAND_PLANES];        /* byte 7 - i: row i */
  /* bit 7 - i: row i; the rows of each class of this bucket */
  uint8_t found[BAND_PANELS + BAND_DRAIN], own[3][BAND_PANELS + BAND_DRAIN];
  unsigned n, n2, n1; /* pending equations; of them of class 2, which come first, and of class 1 */
  unsigned nvalues;   /* bytes of a value */
  unsigned drained;   /* panels at the start of the bucket that have rows of the one before */
  unsigned code;
} band_sweep;
_Static_assert(sizeof(band_sweep) <= NAY_BAND_SWEEP_BYTES, "the scratch is too small");

/* Bytes j of eight words side by side. */
BAND_INLINE __m512i band_transpose(__m512i x) {
  const __m512i index = _mm512_set_epi64(0x3f372f271f170f07, 0x3e362e261e160e06, 0x3d352d251d150d05,
                                         0x3c342c241c140c04, 0x3b332b231b130b03, 0x3a322a221a120a02,
                                         0x3931292119110901, 0x3830282018100800);
  return _mm512_permutexvar_epi8(index, x);
}

/* A panel: what enters, and what is found. */
typedef struct band_panel {
  size_t first_key;
  unsigned nkeys;            /* enter at lane n */
  bool rows;                 /* eight lanes after them are rows of the bucket before */
  __mmask64 keys[3], old[3]; /* lanes that enter */
  uint64_t left[3];          /* lanes that may become rows, then those that have not */
  __m512i key_index, row_index;
  uint64_t others[8][3]; /* lanes that get the row of a slot */
  uint64_t at;           /* byte 7 - i: the lane of row i */
  unsigned found;        /* bit 7 - i */
} band_panel;

BAND_INLINE uint64_t band_ones(int n) {
  return n <= 0 ? 0 : n >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << n) - 1;
}

/* Lanes from to to - 1 of word w. */
BAND_INLINE uint64_t band_lanes(unsigned from, unsigned to, unsigned w) {
  return band_ones((int)to - 64 * (int)w) & ~band_ones((int)from - 64 * (int)w);
}

BAND_INLINE __m512i band_lane_index(unsigned first) {
  __m512i iota = _mm512_set_epi64(0x3f3e3d3c3b3a3938, 0x3736353433323130, 0x2f2e2d2c2b2a2928,
                                  0x2726252423222120, 0x1f1e1d1c1b1a1918, 0x1716151413121110,
                                  0x0f0e0d0c0b0a0908, 0x0706050403020100);
  return _mm512_sub_epi8(iota, _mm512_set1_epi8((char)first));
}

/* One plane with the lanes that enter. */
BAND_INLINE void band_plane_load(const band_panel *l, unsigned nw, const uint8_t *plane,
                                 const uint8_t *keys, uint64_t row, bool fresh, __m512i *v) {
  __m512i in = _mm512_loadu_si512(keys + l->first_key), old = ribbon_set1(row);
  for (unsigned w = 0; w < nw; w++) {
    v[w] = fresh ? _mm512_setzero_si512() : _mm512_load_si512(plane + 64 * w);
    v[w] = _mm512_mask_permutexvar_epi8(v[w], l->keys[w], l->key_index, in);
    if (l->rows) v[w] = _mm512_mask_permutexvar_epi8(v[w], l->old[w], l->row_index, old);
  }
}

/* Pivots: for each slot the last lane that has it. */
BAND_INLINE void band_panel_find(band_panel *l, unsigned nw, const __m512i *low) {
  uint64_t slot[8][3], at = 0;
  unsigned found = 0;
#pragma GCC unroll 8
  for (unsigned i = 0; i < 8; i++) {
    for (unsigned w = 0; w < nw; w++) {
      slot[i][w] = _mm512_test_epi8_mask(low[w], _mm512_set1_epi8((char)(1u << i)));
    }
  }
#pragma GCC unroll 8
  for (unsigned i = 0; i < 8; i++) {
    uint64_t have[3], row[3], from = 0;
    unsigned word = 0;
#pragma GCC unroll 3
    for (unsigned w = 0; w < nw; w++) {
      have[w] = slot[i][w] & l->left[w];
      from = have[w] != 0 ? have[w] : from;
      word = have[w] != 0 ? w : word;
    }
    unsigned bit = 63 ^ ((unsigned)_lzcnt_u64(from) & 63);
    uint64_t top = from == 0 ? 0 : (uint64_t)1 << bit;
    at |= (uint64_t)(word * 64 + bit) << (8 * (7 - i));
    found |= (unsigned)(from != 0) << (7 - i);
#pragma GCC unroll 3
    for (unsigned w = 0; w < nw; w++) {
      row[w] = word == w ? top : 0;
      l->left[w] ^= row[w];
      l->others[i][w] = have[w] ^ row[w];
    }
#pragma GCC unroll 8
    for (unsigned j = i + 1; j < 8; j++) {
      uint64_t has = slot[j][0] & row[0];
      if (nw > 1) has |= slot[j][1] & row[1];
      if (nw > 2) has |= slot[j][2] & row[2];
      uint64_t add = 0 - (uint64_t)(has != 0);
#pragma GCC unroll 3
      for (unsigned w = 0; w < nw; w++) slot[j][w] ^= l->others[i][w] & add;
    }
  }
  l->at = at;
  l->found = found;
}

/* The eight lanes of the rows, in each word of a vector. */
BAND_INLINE __m512i band_panel_pick(const band_panel *l, unsigned nw, const __m512i *v) {
  __m512i index = ribbon_set1(l->at);
  __mmask64 mask = (uint64_t)l->found * 0x0101010101010101u;
  if (nw == 1) return _mm512_maskz_permutexvar_epi8(mask, index, v[0]);
  __m512i x = _mm512_maskz_permutex2var_epi8(mask, v[0], index, v[1]);
  if (nw == 3) x = _mm512_mask_permutexvar_epi8(x, mask & _mm512_movepi8_mask(index), index, v[2]);
  return x;
}

/* The operand of a product by a matrix whose rows are the bytes, row i in byte 7 - i. */
BAND_INLINE __m512i band_matrix(__m512i rows) {
  return _mm512_gf2p8affine_epi64_epi8(ribbon_set1(BAND_MATRIX_ONE), rows, 0);
}

BAND_INLINE __m512i band_times(__m512i bytes, __m512i operand) {
  return _mm512_gf2p8affine_epi64_epi8(bytes, operand, 0);
}

/* Bit i of byte e: lane e gets row i. */
BAND_INLINE __m512i band_panel_selectors(const band_panel *l, unsigned w) {
  __m512i x =
      _mm512_set_epi64((int64_t)l->others[0][w], (int64_t)l->others[1][w], (int64_t)l->others[2][w],
                       (int64_t)l->others[3][w], (int64_t)l->others[4][w], (int64_t)l->others[5][w],
                       (int64_t)l->others[6][w], (int64_t)l->others[7][w]);
  return _mm512_gf2p8affine_epi64_epi8(ribbon_set1(0x8040201008040201u), band_transpose(x), 0);
}

/* Lanes that are left, moved together. */
BAND_INLINE void band_plane_store(const band_panel *l, unsigned nw, uint8_t *plane,
                                  const __m512i *v, unsigned n0, __m512i index) {
  __m512i c0 = _mm512_maskz_compress_epi8(l->left[0], v[0]);
  if (nw == 1) {
    _mm512_store_si512(plane, c0);
    return;
  }
  __m512i c1 = _mm512_maskz_compress_epi8(l->left[1], v[1]);
  __m512i moved = _mm512_permutexvar_epi8(index, c1);
  _mm512_store_si512(plane, _mm512_mask_mov_epi8(c0, ~band_ones((int)n0), moved));
  _mm512_store_si512(plane + 64, n0 == 64 ? c1 : moved);
  if (nw == 2) return;
  unsigned n1 = (unsigned)_mm_popcnt_u64(l->left[1]);
  _mm512_storeu_si512(plane + n0 + n1, _mm512_maskz_compress_epi8(l->left[2], v[2]));
}

/* One plane: adds the rows, keeps what is left; returns the eight rows. */
BAND_INLINE uint64_t band_plane_apply(const band_panel *l, unsigned nw, __m512i *v,
                                      const __m512i *selectors, __m512i sums) {
  __m512i operand = band_matrix(band_panel_pick(l, nw, v));
  for (unsigned w = 0; w < nw; w++) {
    v[w] = _mm512_xor_si512(v[w], band_times(selectors[w], operand));
  }
  return (uint64_t)_mm_cvtsi128_si64(_mm512_castsi512_si128(band_times(sums, operand)));
}

/* Sums: row i of the panel in terms of the lanes that became rows: the inverse of 1 + p. */
BAND_INLINE __m512i band_panel_sums(const band_panel *l, unsigned nw, const __m512i *selectors) {
  __m512i one = ribbon_set1(BAND_MATRIX_ONE), p = band_panel_pick(l, nw, selectors);
  __m512i p2 = band_times(p, band_matrix(p)), p4 = band_times(p2, band_matrix(p2));
  __m512i sums = band_times(_mm512_xor_si512(one, p), band_matrix(_mm512_xor_si512(one, p2)));
  return band_times(sums, band_matrix(_mm512_xor_si512(one, p4)));
}

BAND_INLINE void band_sweep_panel(band_sweep *s, unsigned q, band_panel *l, unsigned nw) {
  uint64_t *rows = s->rows[q];
  __m512i v[3], selectors[3];
  band_plane_load(l, nw, s->coefficients[q & 31], s->keys[0], rows[0], false, v);
  band_panel_find(l, nw, v);
  for (unsigned w = 0; w < nw; w++) selectors[w] = band_panel_selectors(l, w);
  __m512i sums = band_panel_sums(l, nw, selectors), operand = band_matrix(sums);
  for (unsigned w = 0; w < nw; w++) selectors[w] = band_times(selectors[w], operand);
  unsigned n0 = (unsigned)_mm_popcnt_u64(l->left[0]);
  __m512i index = band_lane_index(n0);
  rows[0] = band_plane_apply(l, nw, v, selectors, sums);
  for (unsigned j = 1; j < BAND_COEFFICIENTS; j++) {
    uint8_t *plane = s->coefficients[(q + j) & 31];
    band_plane_load(l, nw, plane, s->keys[j], rows[j], j == 16, v);
    rows[j] = band_plane_apply(l, nw, v, selectors, sums);
    band_plane_store(l, nw, plane, v, n0, index);
  }
  for (unsigned j = 0; j < s->nvalues; j++) {
    band_plane_load(l, nw, s->values[j], s->keys[BAND_COEFFICIENTS + j],
                    rows[BAND_COEFFICIENTS + j], false, v);
    rows[BAND_COEFFICIENTS + j] = band_plane_apply(l, nw, v, selectors, sums);
    band_plane_store(l, nw, s->values[j], v, n0, index);
  }
}

#endif /* NAY_BANDING_PANEL_H */
