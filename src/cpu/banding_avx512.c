/*
 * banding_avx512.c - banding and back substitution of bumped ribbon retrieval by vectors.
 *
 * Banding (family/banding.c) one key after the other is a chain: each step waits for the row that
 * the one before has led to, about forty steps a key. Here elimination goes over the slots of a
 * bucket from left to right, a panel of eight at a time, with all pending equations: those that
 * have begun and are not placed yet, up to some 140.
 *
 * Priority. The pivot of a slot is the last lane that has it. Lanes are in the order in which keys
 * begin, so a key of class 2 is never added to one of class 1 or 0, and none of this bucket to a
 * row of an earlier one (these enter last). So an equation that vanishes depends on keys that take
 * precedence, exactly as in family/banding.c, and clearing the rows of a class undoes it.
 *
 * Draining. After the 64 panels of a bucket 16 more follow without new keys: what is pending then
 * has vanished, and its class gives the code. The rows found in these 16 are the next bucket's to
 * begin with.
 *
 * More than 128 pending equations have only 128 slots left: one depends on others, so class 2 can
 * go at once, then class 1, then all.
 *
 * Back substitution goes from the last slot to the first, eight columns side by side, a lane each.
 */
#include "cpu/groups.h"

#if NAY_HAS_X86_KERNELS

#include "cpu/ribbon_lanes.h"
#include "cpu/ribbon_rows_avx512.h"

/*
 * ---- a panel: eight slots, and all pending equations ----
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

/* ---- the keys of a bucket ---- */

BAND_INLINE void band_store_planes(uint8_t (*planes)[BAND_MAX_KEYS + 64], size_t at,
                                   __m512i words) {
  __m512i x = band_transpose(words);
  for (unsigned i = 0; i < 4; i++) {
    __m128i two = i == 0   ? _mm512_castsi512_si128(x)
                  : i == 1 ? _mm512_extracti64x2_epi64(x, 1)
                  : i == 2 ? _mm512_extracti64x2_epi64(x, 2)
                           : _mm512_extracti64x2_epi64(x, 3);
    _mm_storel_epi64((__m128i *)(void *)(planes[2 * i] + at), two);
    _mm_storeh_pd((double *)(void *)(planes[2 * i + 1] + at), _mm_castsi128_pd(two));
  }
}

/* Columns 8 part to 8 part + 7 of a fingerprint, as a byte, and back. */
BAND_INLINE __m512i band_fingerprint_byte(__m512i fingerprint, unsigned part) {
  __m512i bits =
      _mm512_and_si512(_mm512_srli_epi64(fingerprint, 2 * part), ribbon_set1(RIBBON_PAIRS));
  bits = _mm512_or_si512(bits, _mm512_srli_epi64(bits, 14));
  return _mm512_or_si512(bits, _mm512_srli_epi64(bits, 28));
}

BAND_INLINE __m512i band_fingerprint_of_byte(__m512i byte, unsigned part) {
  __m512i bits = _mm512_or_si512(byte, _mm512_slli_epi64(byte, 28));
  bits = _mm512_or_si512(bits, _mm512_slli_epi64(bits, 14));
  return _mm512_slli_epi64(_mm512_and_si512(bits, ribbon_set1(RIBBON_PAIRS)), 2 * part);
}

/* The keys of a bucket, by bytes from the first slot of their panel on. */
BAND_GFNI static void band_sweep_load(band_sweep *s, const nay_band_part *p, size_t from,
                                      size_t to) {
  const __m512i seed = ribbon_set1(p->seed),
                starts =
                    ribbon_set1((uint64_t)p->nblocks * NAY_RIBBON_WIDTH - (NAY_RIBBON_WIDTH - 1));
  for (size_t i = 0; i < to - from; i += 8) {
    ribbon_rows r = ribbon_rows_of(_mm512_loadu_si512(p->keys + from + i), seed, starts);
    __m512i fingerprint =
        p->values == NULL ? r.fingerprint : _mm512_loadu_si512(p->values + from + i);
    __m512i up = _mm512_and_si512(r.start, ribbon_set1(NAY_BAND_PANEL - 1));
    __m512i down = _mm512_sub_epi64(ribbon_set1(64), up);
    __m512i hi = _mm512_or_si512(_mm512_sllv_epi64(r.hi, up), _mm512_srlv_epi64(r.lo, down));
    band_store_planes(s->keys, i, _mm512_sllv_epi64(r.lo, up));
    band_store_planes(s->keys + 8, i, hi);
    __m128i top = _mm512_cvtepi64_epi8(_mm512_srlv_epi64(r.hi, down));
    _mm_storel_epi64((__m128i *)(void *)(s->keys[16] + i), top);
    for (unsigned v = 0; v < s->nvalues; v++) {
      __m128i bytes = _mm512_cvtepi64_epi8(band_fingerprint_byte(fingerprint, v));
      _mm_storel_epi64((__m128i *)(void *)(s->keys[BAND_COEFFICIENTS + v] + i), bytes);
    }
  }
}

/* ---- one panel ---- */

/* Whose rows were found, and how many equations of each class are left. */
BAND_INLINE void band_sweep_account(band_sweep *s, unsigned q, const band_panel *l) {
  __m128i at = _mm_cvtsi64_si128((int64_t)l->at);
  unsigned below2 = _mm_cmplt_epu8_mask(at, _mm_set1_epi8((char)s->n2)) & l->found;
  unsigned below1 = _mm_cmplt_epu8_mask(at, _mm_set1_epi8((char)(s->n2 + s->n1))) & l->found;
  unsigned below0 = _mm_cmplt_epu8_mask(at, _mm_set1_epi8((char)(s->n + l->nkeys))) & l->found;
  s->found[q] = (uint8_t)l->found;
  s->own[2][q] = (uint8_t)below2;
  s->own[1][q] = (uint8_t)(below1 ^ below2);
  s->own[0][q] = (uint8_t)(below0 ^ below1);
  unsigned n = 0, n2 = 0, n21 = 0;
  for (unsigned w = 0; w < 3; w++) {
    n += (unsigned)_mm_popcnt_u64(l->left[w]);
    n2 += (unsigned)_mm_popcnt_u64(l->left[w] & band_lanes(0, s->n2, w));
    n21 += (unsigned)_mm_popcnt_u64(l->left[w] & band_lanes(0, s->n2 + s->n1, w));
  }
  s->n = n;
  s->n2 = n2;
  s->n1 = n21 - n2;
}

/* More equations than slots: the lowest class goes. Returns how many lanes at the front. */
static unsigned band_sweep_drop(band_sweep *s) {
  unsigned drop = 0;
  if (s->n > NAY_RIBBON_WIDTH) {
    if (s->code < 1) s->code = 1;
    drop = s->n2;
    if (s->n - drop > NAY_RIBBON_WIDTH) {
      s->code = 2;
      drop += s->n1;
    }
    if (s->n - drop > NAY_RIBBON_WIDTH) {
      s->code = 3;
      drop = s->n;
    }
  }
  return drop;
}

/* Which class a panel's keys are of. */
static unsigned band_panel_class(unsigned q) {
  return q < BAND_LIMIT(1) / NAY_BAND_PANEL ? 2 : q < BAND_LIMIT(2) / NAY_BAND_PANEL ? 1 : 0;
}

/* False: the whole bucket is bumped, and nothing has been done. */
BAND_GFNI static bool band_sweep_step(band_sweep *s, unsigned q, size_t first_key, unsigned nkeys) {
  band_panel l = {.first_key = first_key, .nkeys = nkeys, .rows = q < s->drained};
  unsigned drop = band_sweep_drop(s), class = band_panel_class(q);
  if (s->code == 3) return false;
  if (q < BAND_PANELS && class + s->code >= 3) l.nkeys = 0;
  unsigned entered = s->n + l.nkeys, all = entered + (l.rows ? 8 : 0), nw = (all + 63) / 64;
  if (class == 2) s->n2 += l.nkeys;
  if (class == 1) s->n1 += l.nkeys;
  for (unsigned w = 0; w < 3; w++) {
    l.keys[w] = band_lanes(s->n, entered, w);
    l.old[w] = band_lanes(entered, all, w);
    l.left[w] = band_lanes(drop, entered, w);
  }
  if (l.rows) { /* the rows that are there */
    uint64_t there = s->found[q];
    for (unsigned w = 0; w < 3; w++) {
      int shift = (int)entered - 64 * (int)w;
      l.left[w] |= shift >= 64 || shift <= -8 ? 0 : shift >= 0 ? there << shift : there >> -shift;
    }
  }
  l.key_index = band_lane_index(s->n);
  l.row_index = band_lane_index(entered);
  if (nw <= 1) {
    band_sweep_panel(s, q, &l, 1);
  } else if (nw == 2) {
    band_sweep_panel(s, q, &l, 2);
  } else {
    band_sweep_panel(s, q, &l, 3);
  }
  if (l.rows) { /* rows are found again; those of empty slots never were lanes */
    for (unsigned w = 0; w < 3; w++) l.left[w] &= ~l.old[w];
  }
  band_sweep_account(s, q, &l);
  return true;
}

/* The keys that have vanished decide the code. */
static void band_sweep_judge(band_sweep *s) {
  unsigned code = s->n == 0 ? 0 : s->n > s->n2 + s->n1 ? 3 : s->n > s->n2 ? 2 : 1;
  if (code > s->code) s->code = code;
}

/* Clears rows of a panel that belong to bumped classes. */
static void band_sweep_undo(band_sweep *s, unsigned q) {
  unsigned gone = s->code >= 1 ? s->own[2][q] : 0;
  if (s->code >= 2) gone |= s->own[1][q];
  if (s->code >= 3) gone |= s->own[0][q];
  if (gone == 0) return;
  s->found[q] &= (uint8_t)~gone;
  uint64_t keep = 0;
  for (unsigned i = 0; i < 8; i++) keep |= (uint64_t)(s->found[q] >> i & 1 ? 0xff : 0) << (8 * i);
  for (unsigned j = 0; j < BAND_COEFFICIENTS + s->nvalues; j++) s->rows[q][j] &= keep;
}

/* Rows as family/banding.c has them. */
BAND_GFNI static void band_sweep_rows(const band_sweep *s, unsigned q, nay_band_row *to) {
  const uint64_t *rows = s->rows[q];
  const __m512i down = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
  const __m512i up = _mm512_sub_epi64(ribbon_set1(64), down);
  const __m512i reverse = _mm512_setr_epi64(7, 6, 5, 4, 3, 2, 1, 0);
  __m512i lo = _mm512_permutexvar_epi64(reverse, band_transpose(_mm512_loadu_si512(rows)));
  __m512i hi = _mm512_permutexvar_epi64(reverse, band_transpose(_mm512_loadu_si512(rows + 8)));
  __m512i top = _mm512_cvtepu8_epi64(_mm_cvtsi64_si128((int64_t)__builtin_bswap64(rows[16])));
  __m512i fingerprint = _mm512_setzero_si512();
  for (unsigned v = 0; v < s->nvalues; v++) {
    __m512i byte = _mm512_cvtepu8_epi64(
        _mm_cvtsi64_si128((int64_t)__builtin_bswap64(rows[BAND_COEFFICIENTS + v])));
    fingerprint = _mm512_or_si512(fingerprint, band_fingerprint_of_byte(byte, v));
  }
  /* not _mm512_shrdv_epi64: clang 14 takes the wrong word where a constant shift is 0 */
  lo = _mm512_or_si512(_mm512_srlv_epi64(lo, down), _mm512_sllv_epi64(hi, up));
  hi = _mm512_or_si512(_mm512_srlv_epi64(hi, down), _mm512_sllv_epi64(top, up));
  const __m512i pairs[3] = {_mm512_setr_epi64(0, 8, 0, 1, 9, 0, 2, 10),
                            _mm512_setr_epi64(0, 3, 11, 0, 4, 12, 0, 5),
                            _mm512_setr_epi64(13, 0, 6, 14, 0, 7, 15, 0)};
  const __m512i thirds[3] = {_mm512_setr_epi64(0, 0, 0, 0, 0, 1, 0, 0),
                             _mm512_setr_epi64(2, 0, 0, 3, 0, 0, 4, 0),
                             _mm512_setr_epi64(0, 5, 0, 0, 6, 0, 0, 7)};
  const __mmask8 third_lanes[3] = {0x24, 0x49, 0x92};
  for (unsigned i = 0; i < 3; i++) {
    __m512i both = _mm512_permutex2var_epi64(lo, pairs[i], hi);
    both = _mm512_mask_permutexvar_epi64(both, third_lanes[i], thirds[i], fingerprint);
    _mm512_storeu_si512((uint64_t *)(void *)to + 8 * i, both);
  }
}

static void band_sweep_bump(nay_band_part *p, unsigned code, const uint32_t *ends, unsigned npanels,
                            size_t from) {
  unsigned panels = BAND_LIMIT(code) / NAY_BAND_PANEL;
  if (code == 0) return;
  size_t to = ends[(panels < npanels ? panels : npanels) - 1], n = to - from;
  memcpy(p->bumped + p->nbumped, p->keys + from, n * 8);
  if (p->values != NULL) memcpy(p->bumped_values + p->nbumped, p->values + from, n * 8);
  p->nbumped += n;
}

/* One bucket of npanels panels; `after` panels of the part follow it. */
static void band_sweep_bucket(band_sweep *s, nay_band_part *p, size_t bucket, unsigned npanels,
                              unsigned after) {
  const uint32_t *ends = p->ends + bucket * BAND_PANELS;
  size_t from = bucket == 0 ? 0 : ends[-1], key = from;
  unsigned last = npanels + (after < BAND_DRAIN ? after : BAND_DRAIN), q = 0;
  s->n = s->n1 = s->n2 = s->code = 0;
  band_sweep_load(s, p, from, ends[npanels - 1]);
  for (; q < last; q++) {
    unsigned nkeys = q < npanels ? (unsigned)(ends[q] - key) : 0;
    if (q >= npanels && s->n == 0) break;
    if (!band_sweep_step(s, q, key - from, nkeys)) break;
    key += nkeys;
  }
  band_sweep_judge(s);
  if (s->code == 3) { /* only the rows of the bucket before */
    unsigned stop = q;
    for (q = 0; q < stop; q++) band_sweep_undo(s, q);
    for (q = stop > s->drained ? stop : s->drained; q < last; q++) {
      s->found[q] = 0;
      memset(s->rows[q], 0, sizeof s->rows[q]);
    }
    q = last;
  } else {
    for (unsigned i = 0; s->code != 0 && i < q; i++) band_sweep_undo(s, i);
  }
  for (unsigned i = 0; i < npanels; i++) {
    band_sweep_rows(s, i, p->rows + (bucket * BAND_PANELS + i) * NAY_BAND_PANEL);
  }
  s->drained = q - npanels;
  memcpy(s->rows, s->rows + npanels, s->drained * sizeof s->rows[0]);
  memcpy(s->found, s->found + npanels, s->drained);
  p->codes[bucket] = (uint8_t)s->code;
  band_sweep_bump(p, s->code, ends, npanels, from);
}

/* Whether no bucket and no panel is crowded: else family/banding.c does it. */
static bool band_sweep_fits(const nay_band_part *p, size_t npanels) {
  uint32_t before = 0, bucket = 0;
  for (size_t i = 0; i < npanels; i++) {
    if (i % BAND_PANELS == 0) bucket = before;
    if (p->ends[i] - before > BAND_MAX_PANEL_KEYS || p->ends[i] - bucket > BAND_MAX_KEYS)
      return false;
    before = p->ends[i];
  }
  return true;
}

static bool banding_bump(nay_band_part *p) {
  size_t left = (size_t)p->nblocks * (NAY_RIBBON_WIDTH / NAY_BAND_PANEL);
  band_sweep *s = (band_sweep *)(void *)p->sweep;
  if (!band_sweep_fits(p, left)) return false;
  memset(s, 0, sizeof *s);
  s->nvalues = p->nvalue_bytes;
  for (size_t bucket = 0; bucket < p->nbuckets; bucket++) {
    unsigned npanels = (unsigned)(left < BAND_PANELS ? left : BAND_PANELS);
    left -= npanels;
    band_sweep_bucket(s, p, bucket, npanels, (unsigned)(left < BAND_DRAIN ? left : BAND_DRAIN));
  }
  return true;
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

const nay_banding_kernels nay__banding_gfni = {banding_bump, banding_back_substitute};

#endif /* NAY_HAS_X86_KERNELS */
