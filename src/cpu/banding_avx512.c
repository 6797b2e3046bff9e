/*
 * banding_avx512.c - banding and back substitution of bumped ribbon retrieval by vectors.
 *
 * Banding (family/banding.c) one key after the other is a chain: each step waits for the row that
 * the one before has led to, about forty steps a key. Here elimination goes over the slots of a
 * bucket from left to right, a panel of eight at a time (banding_panel_avx512.h), with all pending
 * equations, up to some 140.
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

#include "cpu/banding_panel_avx512.h"

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
