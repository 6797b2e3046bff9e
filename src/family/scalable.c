/*
 * scalable.c - a filter that grows: when the last level is full, a level for twice the keys
 * follows.
 *
 *   payload   | header 64 | a row of 40 bytes for each level | 0.. | level 0 | level 1 | ... |
 *                                                          to 64     blocked Bloom filters
 *   row       | nblocks u64 | nkeys u64 | bits set u64 | bits when full u64 | k u32 | 0 u32 |
 *
 * An absent key must be nay in every level, so the false-positive rates
 * (FPR) add up. Level i gets fpr * 0.12 * 0.88^i
 * (math/series.c says why): the sum stays below fpr for ever, and bits per key grow slowly.
 *
 * A level is full when as many of its bits are set as are expected of the keys it was planned for.
 * The count of set bits is kept in the row and is exact; a count of keys would miss those that set
 * no new bit, and an attacker's choice of keys shows in the bits, not in their number. Keys that
 * test maybe are not added again.
 *
 * Queries start with the last level: it holds half of the keys. Growing copies the old levels into
 * a larger payload; once for each doubling, so a key is copied about once in all. The limit
 * max_nbytes is checked before anything is allocated.
 *
 * Merging joins the level lists, sorted by size; FPRs add up and are checked against the
 * caller's limit. Folding shrinks the last level to what is in it and finishes the filter: it takes
 * no new key.
 *
 * Almeida, Baquero, Preguica, Hutchison: Scalable Bloom filters, 2007.
 */
#include "base/bits.h"
#include "base/bytes.h"
#include "base/compiler.h"
#include "base/trace.h"
#include "family/bitarray.h"
#include "family/blocked.h"
#include "family/explain.h"
#include "family/regrow.h"
#include "math/plan.h"
#include "math/series.h"

#define SCALABLE_MAX_LEVELS 64u
#define SCALABLE_FIRST 1000u /* keys of the first level when nkeys is 0 */
#define SCALABLE_MAX_FIRST ((uint64_t)1 << 48)
#define SCALABLE_TRUSTED 65536u /* bytes that nay_filter_clear takes on the word of a header */
/*
 * The range of fpr, 1e-6 to 0.5, as the header of the file has it: singles above 0 are in the order
 * of their bits. The least is the single below 1e-6, which is what 1e-6 becomes in a filter.
 */
#define SCALABLE_MIN_EXTRA 0x358637bdu
#define SCALABLE_MAX_EXTRA 0x3f000000u
#define SCALABLE_MAX_FPR 0.5

#define SCALABLE_HEADER 64u
#define SCALABLE_ROW 40u

/* Header fields; the rest is zero. */
enum {
  SCALABLE_AT_NLEVELS = 0,     /* u32 */
  SCALABLE_AT_FINISHED = 4,    /* u32: 1 when folded */
  SCALABLE_AT_NGROWN = 8,      /* u64: levels made so far, the index of the next share */
  SCALABLE_AT_MAX_NBYTES = 16, /* u64: 0 is no limit */
  SCALABLE_AT_LIMIT = 24,      /* double: the sum of the FPRs of everything that was joined */
  SCALABLE_AT_END = 32,
};

/* Fields of a row. */
enum {
  SCALABLE_ROW_NBLOCKS = 0,
  SCALABLE_ROW_NKEYS = 8,
  SCALABLE_ROW_NSET = 16,
  SCALABLE_ROW_FULL = 24,
  SCALABLE_ROW_K = 32,
  SCALABLE_ROW_ZERO = 36
};

/* ---- numbers in bytes ---- */

/* The FPR as the header of the file has it: an IEEE single, rounded down. */
static uint32_t scalable_rate_bits(double fpr) {
  float single = (float)fpr;
  uint32_t bits;
  memcpy(&bits, &single, sizeof bits);
  return (double)single > fpr ? bits - 1 : bits;
}

static double scalable_rate(const nay_shape *shape) {
  float single;
  memcpy(&single, &shape->extra, sizeof single);
  return (double)single;
}

static double scalable_load_double(const uint8_t *p) {
  uint64_t bits = nay__load64le(p);
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static void scalable_store_double(uint8_t *p, double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  nay__store64le(p, bits);
}

/* ---- levels ---- */

static uint32_t scalable_nlevels(const uint8_t *payload) {
  return nay__load32le(payload + SCALABLE_AT_NLEVELS);
}

static uint8_t *scalable_row(uint8_t *payload, uint32_t level) {
  return payload + SCALABLE_HEADER + (size_t)level * SCALABLE_ROW;
}

static uint64_t scalable_levels_at(uint32_t nlevels) {
  return nay__round_up(SCALABLE_HEADER + (uint64_t)nlevels * SCALABLE_ROW, NAY_CACHE_LINE);
}

static uint64_t scalable_level_bytes(const uint8_t *row) {
  return nay__load64le(row + SCALABLE_ROW_NBLOCKS) * NAY_BLOCK_BYTES;
}

static void scalable_put_row(uint8_t *row, const nay_level *level) {
  nay__store64le(row + SCALABLE_ROW_NBLOCKS, level->nblocks);
  nay__store64le(row + SCALABLE_ROW_NKEYS, level->nkeys);
  nay__store64le(row + SCALABLE_ROW_NSET, 0);
  nay__store64le(row + SCALABLE_ROW_FULL, level->nbits_full);
  nay__store32le(row + SCALABLE_ROW_K, level->k);
}

/* A walk over the levels from the last, which ends the payload, to the first. */
typedef struct nay_scalable_walk {
  uint8_t *payload;
  uint32_t left;  /* levels before the current one */
  uint8_t *row;   /* of the current level */
  nay_bits level; /* the current level, as the kernels see it */
} nay_scalable_walk;

static nay_scalable_walk scalable_begin(const nay_filter *f) {
  uint8_t *payload = f->bits.bytes;
  return (nay_scalable_walk){
      payload, scalable_nlevels(payload), NULL, {.bytes = payload + f->nbytes}};
}

NAY_INLINE bool scalable_next(nay_scalable_walk *w) {
  if (w->left == 0) return false;
  w->left--;
  w->row = scalable_row(w->payload, w->left);
  w->level.nunits = nay__load64le(w->row + SCALABLE_ROW_NBLOCKS);
  w->level.k = nay__load32le(w->row + SCALABLE_ROW_K);
  w->level.bytes -= w->level.nunits * NAY_BLOCK_BYTES;
  return true;
}

/* ---- trace ---- */

#ifdef NAY_WITH_TRACE
/* scalable_trace: the bits that a key sets in the level of the walk. */
static void scalable_trace(const nay_scalable_walk *w, uint64_t hash) {
  uint64_t block = nay__reduce(hash, w->level.nunits);
  uint32_t x = (uint32_t)hash;
  for (uint32_t i = 0; i < w->level.k; i++, x *= NAY_G32) {
    unsigned bit = x >> NAY_BLOCK_BIT_SHIFT;
    const uint8_t *byte = w->level.bytes + block * NAY_BLOCK_BYTES + bit / 8;
    NAY_TRACE(BLOCK_BIT, w->left, i, block, bit, ~*byte >> bit % 8 & 1, 0);
  }
}
#define SCALABLE_TRACE(w, hash) scalable_trace(w, hash)
#else
#define SCALABLE_TRACE(w, hash) ((void)0)
#endif

/* ---- plan ---- */

static bool scalable_first(const nay_shape *shape, nay_level *level) {
  if (shape->extra < SCALABLE_MIN_EXTRA || shape->extra > SCALABLE_MAX_EXTRA) return false;
  if (shape->nunits > SCALABLE_MAX_FIRST) return false;
  return nay__series_level(shape->nunits, scalable_rate(shape), 0, level);
}

/* A payload of this level alone. */
static uint64_t scalable_bytes_of(const nay_level *level) {
  return scalable_levels_at(1) + level->nblocks * NAY_BLOCK_BYTES;
}

/* k is for people: the levels have their own, and another planner may choose another. */
static bool scalable_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {
  nay_level level;
  if (!scalable_first(shape, &level) || shape->k == 0 || shape->k > NAY_MAX_K) return false;
  *nbytes = scalable_bytes_of(&level);
  *nbits = *nbytes * 8;
  return true;
}

static nay_status scalable_plan(const nay_params *params, nay_diag *diag, nay_shape *shape) {
  nay_params p = *params;
  nay_sizing by;
  if (p.nkeys == 0) p.nkeys = SCALABLE_FIRST;
  NAY_TRY(nay__params_check(&p, diag, &by));
  if (by != NAY_BY_FPR) {
    return nay__fail(diag, NAY_EINVAL, "scalable has no size of its own: set fpr", 0);
  }
  nay_shape s = {p.nkeys, 0, scalable_rate_bits(p.fpr)};
  if (s.extra < SCALABLE_MIN_EXTRA || p.fpr > SCALABLE_MAX_FPR) {
    return nay__fail(diag, NAY_EINVAL, "fpr: scalable takes 0.000001 to 0.5", 0);
  }
  if (p.k != 0) return nay__fail(diag, NAY_EINVAL, "k: scalable chooses it for each level", 0);
  if (p.fold > 1) return nay__fail(diag, NAY_EINVAL, "fold: scalable has no fixed size", 0);
  nay_level level;
  if (!scalable_first(&s, &level))
    return nay__fail(diag, NAY_EINVAL, "nkeys is above 2^48, where scalable may start", 0);
  s.k = level.k;
  uint64_t nbytes = scalable_bytes_of(&level);
  if (p.max_nbytes != 0 && nbytes > p.max_nbytes) {
    return nay__fail(diag, NAY_EINVAL, "max_nbytes is below the size of the first level", 0);
  }
  *shape = s;
  return NAY_OK;
}

static double scalable_fpr(const nay_shape *shape, uint64_t nkeys) {
  return nay__series_fpr(shape->nunits, scalable_rate(shape), nkeys);
}

static void scalable_extend_plan(const nay_params *params, const nay_shape *shape, nay_plan *plan) {
  (void)params;
  plan->fpr_limit = scalable_rate(shape);
}

/* An empty filter of one level; the payload is zero but for the header, of which these fields stay.
 */
static void scalable_start(nay_filter *f, const nay_level *level, uint64_t max_nbytes) {
  uint8_t *payload = f->bits.bytes;
  nay__store32le(payload + SCALABLE_AT_NLEVELS, 1);
  nay__store64le(payload + SCALABLE_AT_NGROWN, 1);
  nay__store64le(payload + SCALABLE_AT_MAX_NBYTES, max_nbytes);
  scalable_store_double(payload + SCALABLE_AT_LIMIT, scalable_rate(&f->shape));
  scalable_put_row(scalable_row(payload, 0), level);
}

static void scalable_init(nay_filter *f, const nay_params *params) {
  nay_level level;
  if (!scalable_first(&f->shape, &level)) return; /* the plan has seen that it can */
  scalable_start(f, &level, params->max_nbytes);
}

/* nkeys 0 and the number it stands for make the same filter but for the number kept in files. */
static void scalable_to_params(const nay_filter *f, nay_params *params) {
  if (f->nkeys != 0 || f->shape.nunits != SCALABLE_FIRST) params->nkeys = f->shape.nunits;
  params->k = 0;
  params->fpr = scalable_rate(&f->shape);
  params->max_nbytes = nay__load64le(f->bits.bytes + SCALABLE_AT_MAX_NBYTES);
}

/* Bytes that a payload can have where it is; metadata of an opened file lies behind it. */
static uint64_t scalable_room(const nay_filter *f) {
  bool meta_inside = f->meta != NULL && !f->meta_owned;
  if (f->memory.raw == NULL || meta_inside) return f->nbytes;
  return (uint64_t)((uint8_t *)f->memory.raw + f->memory.raw_size - f->bits.bytes);
}

/*
 * Back to one level, in the memory that is there. A file may have been folded, and its header may
 * claim a first level of any size: no more than SCALABLE_TRUSTED bytes are allocated for that, and
 * the first level is halved until it fits.
 */
static nay_status scalable_clear(nay_filter *f) {
  uint64_t max_nbytes = nay__load64le(f->bits.bytes + SCALABLE_AT_MAX_NBYTES);
  uint64_t room = scalable_room(f), limit = nay__max_u64(room, SCALABLE_TRUSTED);
  if (max_nbytes != 0) limit = nay__min_u64(limit, max_nbytes);
  nay_level level;
  if (!scalable_first(&f->shape, &level)) return NAY_EINVAL;
  while (scalable_bytes_of(&level) > limit && level.nkeys > 1) {
    if (!nay__series_level(level.nkeys / 2, scalable_rate(&f->shape), 0, &level)) return NAY_EINVAL;
  }
  uint64_t nbytes = scalable_bytes_of(&level);
  if (max_nbytes != 0 && nbytes > max_nbytes) return NAY_EFULL; /* no plan makes such a header */
  if (nbytes > room) {
    nay_memory fresh;
    NAY_TRY(nay__payload_new(f, nbytes, &fresh));
    nay__payload_take(f, &fresh, (size_t)nbytes);
  }
  f->nbytes = (size_t)nbytes;
  memset(f->bits.bytes, 0, f->nbytes);
  scalable_start(f, &level, max_nbytes);
  return NAY_OK;
}

/* ---- growing ---- */

static bool scalable_within_limit(const nay_filter *f, uint64_t nbytes) {
  uint64_t most = nay__load64le(f->bits.bytes + SCALABLE_AT_MAX_NBYTES);
  return (most == 0 || nbytes <= most) && nbytes <= NAY_MAX_NBITS / 8;
}

static nay_status scalable_grow(nay_filter *f) {
  uint8_t *old = f->bits.bytes;
  uint32_t nlevels = scalable_nlevels(old);
  uint64_t ngrown = nay__load64le(old + SCALABLE_AT_NGROWN),
           levels_at = scalable_levels_at(nlevels);
  nay_level level;
  if (nay__load32le(old + SCALABLE_AT_FINISHED) != 0 || nlevels == SCALABLE_MAX_LEVELS)
    return NAY_EFULL;
  uint64_t nkeys = nay__load64le(scalable_row(old, nlevels - 1) + SCALABLE_ROW_NKEYS) * 2;
  if (!nay__series_level(nkeys, scalable_rate(&f->shape), (unsigned)ngrown, &level)) {
    return NAY_EFULL;
  }
  uint64_t kept = f->nbytes - levels_at, new_at = scalable_levels_at(nlevels + 1);
  uint64_t nbytes = new_at + kept + level.nblocks * NAY_BLOCK_BYTES;
  if (!scalable_within_limit(f, nbytes)) return NAY_EFULL;
  nay_memory fresh;
  NAY_TRY(nay__payload_new(f, nbytes, &fresh));
  memcpy(fresh.at, old, SCALABLE_HEADER + (size_t)nlevels * SCALABLE_ROW);
  memcpy(fresh.at + new_at, old + levels_at, (size_t)kept);
  nay__store32le(fresh.at + SCALABLE_AT_NLEVELS, nlevels + 1);
  nay__store64le(fresh.at + SCALABLE_AT_NGROWN, ngrown + 1);
  scalable_put_row(scalable_row(fresh.at, nlevels), &level);
  nay__payload_take(f, &fresh, (size_t)nbytes);
  NAY_TRACE(LEVEL_OPENED, nlevels, 0, level.nblocks, nkeys, level.k, 0);
  return NAY_OK;
}

/* Sets the bits of a key; how many were clear. */
static unsigned scalable_set(const nay_bits *level, uint64_t hash) {
  uint8_t *block = level->bytes + nay__reduce(hash, level->nunits) * NAY_BLOCK_BYTES;
  nay_pattern pattern = nay__block_pattern(hash, level->k);
  unsigned fresh = 0;
  for (unsigned i = 0; i < NAY_BLOCK_BITS / 64; i++) {
    uint64_t before = nay__load64le(block + i * 8);
    fresh += nay__popcount64(pattern.word[i] & ~before);
    nay__store64le(block + i * 8, before | pattern.word[i]);
  }
  return fresh;
}

static bool scalable_test(const nay_filter *f, nay_hash h) {
  bool (*const test)(const nay_bits *, uint64_t) = f->kernels->blocked->test;
  nay_bits level = {0}; /* a copy: the walk stays in registers */
  for (nay_scalable_walk w = scalable_begin(f); scalable_next(&w);) {
    level.bytes = w.level.bytes;
    level.nunits = w.level.nunits;
    level.k = w.level.k;
    if (test(&level, h.lo)) return true;
  }
  return false;
}

static void scalable_explain(const nay_filter *f, nay_hash h, nay_explain_run *run) {
  for (nay_scalable_walk w = scalable_begin(f); scalable_next(&w);) {
    nay__explain_block(run, w.left, w.level.bytes, nay__reduce(h.lo, w.level.nunits), w.level.k,
                       (uint32_t)h.lo);
  }
}

static nay_status scalable_add(nay_filter *f, nay_hash h, bool *is_new) {
  if (scalable_test(f, h)) {
    *is_new = false;
    return NAY_OK;
  }
  nay_scalable_walk w = scalable_begin(f);
  (void)scalable_next(&w);
  bool full = nay__load64le(w.row + SCALABLE_ROW_NSET) >= nay__load64le(w.row + SCALABLE_ROW_FULL);
  if (full || nay__load32le(w.payload + SCALABLE_AT_FINISHED) != 0) {
    NAY_TRY(scalable_grow(f));
    w = scalable_begin(f);
    (void)scalable_next(&w);
  }
  SCALABLE_TRACE(&w, h.lo);
  uint64_t nset = nay__load64le(w.row + SCALABLE_ROW_NSET);
  nay__store64le(w.row + SCALABLE_ROW_NSET, nset + scalable_set(&w.level, h.lo));
  *is_new = true;
  return NAY_OK;
}

static nay_status scalable_batch_add(nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                                     unsigned n, const uint64_t *next, uint64_t *bitmap,
                                     size_t *taken) {
  (void)next;
  nay_scalable_walk w = scalable_begin(f);
  for (unsigned depth = 0; depth < 2 && scalable_next(&w); depth++) { /* three quarters of all */
    for (unsigned i = 0; i < n; i++) {
      NAY_PREFETCH(w.level.bytes + nay__reduce(lo[i], w.level.nunits) * NAY_BLOCK_BYTES);
    }
  }
  return nay__add_each(scalable_add, f, lo, hi, n, bitmap, taken);
}

/* Level after level, each with the keys that no level has claimed yet. */
static uint64_t scalable_batch_test(const nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                                    unsigned n, const uint64_t *next) {
  (void)hi, (void)next;
  uint64_t left[64], answer = 0;
  uint8_t index[64];
  for (unsigned i = 0; i < n; i++) {
    left[i] = lo[i];
    index[i] = (uint8_t)i;
  }
  for (nay_scalable_walk w = scalable_begin(f); n > 0 && scalable_next(&w);) {
    if (!f->bits.in_cache) nay__blocked_prefetch64(&w.level, left, n);
    uint64_t found = f->kernels->blocked->test64(&w.level, left, n, NULL);
    unsigned kept = 0;
    for (unsigned i = 0; i < n; i++) {
      if ((found >> i & 1) != 0) {
        answer |= (uint64_t)1 << index[i];
      } else {
        left[kept] = left[i];
        index[kept++] = index[i];
      }
    }
    n = kept;
  }
  return answer;
}

/* ---- the whole filter ---- */

/* factor folds the last level alone: what nay_filter_fold would do. */
static void scalable_census(const nay_filter *a, const nay_filter *b, uint64_t factor,
                            nay_census *census) {
  (void)b;
  nay_census sum = {.nbits = 0};
  double nay = 1;
  for (nay_scalable_walk w = scalable_begin(a); scalable_next(&w); factor = 1) {
    nay_census c;
    nay__blocked_measure(&w.level, NULL, factor, &c);
    sum.nbits += c.nbits;
    sum.nbits_set += c.nbits_set;
    nay__estimate_add(&sum.keys, &c.keys, 1);
    nay *= 1 - c.fpr;
  }
  sum.fpr = 1 - nay;
  *census = sum;
}

static void scalable_describe(const nay_filter *f, nay_stats *stats) {
  stats->nbits = f->nbytes * 8;
  stats->nlevels = scalable_nlevels(f->bits.bytes);
  stats->fpr_planned = scalable_load_double(f->bits.bytes + SCALABLE_AT_LIMIT);
  /* growing is what it is for: more keys than it started with are no overload */
  stats->overloaded = stats->fpr_now > stats->fpr_planned;
}

/* Copies the levels of both into `to`, smallest first; at equal size a's first. */
static void scalable_interleave(uint8_t *to, uint32_t nlevels, const nay_filter *a,
                                const nay_filter *b) {
  const nay_filter *side[2] = {a, b};
  uint32_t next[2] = {0, 0};
  const uint8_t *from[2];
  for (unsigned s = 0; s < 2; s++) {
    from[s] = side[s]->bits.bytes + scalable_levels_at(scalable_nlevels(side[s]->bits.bytes));
  }
  uint8_t *level = to + scalable_levels_at(nlevels);
  for (uint32_t i = 0; i < nlevels; i++) {
    const uint8_t *row[2];
    for (unsigned s = 0; s < 2; s++) {
      bool any = next[s] < scalable_nlevels(side[s]->bits.bytes);
      row[s] = any ? scalable_row(side[s]->bits.bytes, next[s]) : NULL;
    }
    unsigned s = row[0] == NULL ||
                 (row[1] != NULL && scalable_level_bytes(row[1]) < scalable_level_bytes(row[0]));
    size_t len = (size_t)scalable_level_bytes(row[s]);
    memcpy(scalable_row(to, i), row[s], SCALABLE_ROW);
    memcpy(level, from[s], len);
    level += len;
    from[s] += len;
    next[s]++;
  }
}

static nay_status scalable_join(nay_filter *dst, const nay_filter *src, double max_fpr) {
  if (dst == src) return NAY_OK;
  uint8_t *old = dst->bits.bytes;
  const uint8_t *other = src->bits.bytes;
  uint32_t nlevels = scalable_nlevels(old) + scalable_nlevels(other);
  nay_census a, b;
  if (nlevels > SCALABLE_MAX_LEVELS) return NAY_EFULL;
  scalable_census(dst, NULL, 1, &a);
  scalable_census(src, NULL, 1, &b);
  if (a.fpr + b.fpr - a.fpr * b.fpr > max_fpr) return NAY_EFULL;
  uint64_t nbytes = scalable_levels_at(nlevels) +
                    (dst->nbytes - scalable_levels_at(scalable_nlevels(old))) +
                    (src->nbytes - scalable_levels_at(scalable_nlevels(other)));
  if (!scalable_within_limit(dst, nbytes)) return NAY_EFULL;
  nay_memory fresh;
  NAY_TRY(nay__payload_new(dst, nbytes, &fresh));
  memcpy(fresh.at, old, SCALABLE_HEADER);
  nay__store32le(fresh.at + SCALABLE_AT_NLEVELS, nlevels);
  double limit = scalable_load_double(old + SCALABLE_AT_LIMIT) +
                 scalable_load_double(other + SCALABLE_AT_LIMIT);
  scalable_store_double(fresh.at + SCALABLE_AT_LIMIT, limit < 1 ? limit : 1);
  scalable_interleave(fresh.at, nlevels, dst, src);
  nay__payload_take(dst, &fresh, (size_t)nbytes);
  return NAY_OK;
}

static uint64_t scalable_foldable(const nay_filter *f, uint32_t *k) {
  const uint8_t *last = scalable_row(f->bits.bytes, scalable_nlevels(f->bits.bytes) - 1);
  *k = nay__load32le(last + SCALABLE_ROW_K);
  return nay__load64le(last + SCALABLE_ROW_NBLOCKS);
}

/*
 * Folds the last level; the shorter payload stays in the memory that is there. The level is then
 * planned for what it holds: should it be joined to a filter that still grows, it is full there.
 */
static nay_status scalable_fold_and_seal(nay_filter *f, uint64_t factor) {
  nay_scalable_walk w = scalable_begin(f);
  (void)scalable_next(&w);
  nay_census census;
  nay__blocked_measure(&w.level, NULL, factor, &census);
  uint64_t nblocks = w.level.nunits / factor;
  uint8_t *to = w.level.bytes;
  const uint8_t *from = to;
  for (uint64_t i = 0; i < nblocks; i++, to += NAY_BLOCK_BYTES) {
    uint8_t sum[NAY_BLOCK_BYTES] = {0};
    for (uint64_t j = 0; j < factor; j++, from += NAY_BLOCK_BYTES) {
      nay__bits_or(sum, from, sizeof sum);
    }
    memcpy(to, sum, sizeof sum);
  }
  size_t len = (size_t)(nblocks * NAY_BLOCK_BYTES);
  f->nbytes -= (size_t)(w.level.nunits * NAY_BLOCK_BYTES) - len;
  nay__store64le(w.row + SCALABLE_ROW_NBLOCKS, nblocks);
  nay__store64le(w.row + SCALABLE_ROW_NSET, census.nbits_set);
  nay__store64le(w.row + SCALABLE_ROW_FULL, nay__max_u64(1, census.nbits_set));
  nay__store64le(w.row + SCALABLE_ROW_NKEYS,
                 nay__min_u64((uint64_t)census.keys.nkeys + 1, nblocks * NAY_BLOCK_BITS));
  nay__store32le(w.payload + SCALABLE_AT_FINISHED, 1);
  return NAY_OK;
}

/* ---- bytes from outside ---- */

static nay_status scalable_bad(nay_diag *diag, const char *what, uint64_t offset) {
  return nay__fail(diag, NAY_ECORRUPT, what, offset);
}

static bool scalable_row_ok(const uint8_t *row, uint64_t left) {
  uint64_t nblocks = nay__load64le(row + SCALABLE_ROW_NBLOCKS),
           nkeys = nay__load64le(row + SCALABLE_ROW_NKEYS);
  uint32_t k = nay__load32le(row + SCALABLE_ROW_K);
  uint64_t full = nay__load64le(row + SCALABLE_ROW_FULL);
  if (nblocks == 0 || nblocks > left / NAY_BLOCK_BYTES) return false;
  uint64_t nbits = nblocks * NAY_BLOCK_BITS;
  return nkeys > 0 && nkeys <= nbits && full > 0 && full <= nbits && k > 0 && k <= NAY_MAX_K &&
         nay__load32le(row + SCALABLE_ROW_ZERO) == 0;
}

static nay_status scalable_check(const nay_shape *shape, const uint8_t *payload, size_t len,
                                 nay_diag *diag) {
  (void)shape;
  if (len < scalable_levels_at(1)) return scalable_bad(diag, "shorter than a header", 0);
  uint32_t nlevels = scalable_nlevels(payload);
  double limit = scalable_load_double(payload + SCALABLE_AT_LIMIT);
  uint64_t ngrown = nay__load64le(payload + SCALABLE_AT_NGROWN);
  uint64_t most = nay__load64le(payload + SCALABLE_AT_MAX_NBYTES);
  if (nlevels == 0 || nlevels > SCALABLE_MAX_LEVELS || len < scalable_levels_at(nlevels)) {
    return scalable_bad(diag, "impossible number of levels", SCALABLE_AT_NLEVELS);
  }
  if (nay__load32le(payload + SCALABLE_AT_FINISHED) > 1 || ngrown == 0 || ngrown > nlevels ||
      (most != 0 && len > most) || !(limit > 0 && limit <= 1) ||
      !nay__all_zero(payload + SCALABLE_AT_END, SCALABLE_HEADER - SCALABLE_AT_END)) {
    return scalable_bad(diag, "a field of the header is out of range", SCALABLE_AT_FINISHED);
  }
  uint64_t at = scalable_levels_at(nlevels);
  uint64_t rows_end = SCALABLE_HEADER + (uint64_t)nlevels * SCALABLE_ROW;
  if (!nay__all_zero(payload + rows_end, (size_t)(at - rows_end))) {
    return scalable_bad(diag, "padding after the level table is not zero", rows_end);
  }
  for (uint32_t i = 0; i < nlevels; i++) {
    uint64_t row_at = SCALABLE_HEADER + (uint64_t)i * SCALABLE_ROW;
    const uint8_t *row = payload + row_at;
    if (!scalable_row_ok(row, len - at)) return scalable_bad(diag, "an impossible level", row_at);
    size_t size = (size_t)scalable_level_bytes(row);
    if (nay__bits_count(payload + at, size) != nay__load64le(row + SCALABLE_ROW_NSET)) {
      return scalable_bad(diag, "a level has another number of bits than it says", row_at);
    }
    at += size;
  }
  return at == len ? NAY_OK : scalable_bad(diag, "bytes after the last level", at);
}

static const nay_family_batch scalable_batch = {
    .add = scalable_batch_add,
    .test = scalable_batch_test,
};

static const nay_family_algebra scalable_algebra = {
    .join = scalable_join,
    .foldable = scalable_foldable,
    .fold_and_seal = scalable_fold_and_seal,
};

const nay_family nay__family_scalable = {
    .kind = NAY_SCALABLE,
    .name = "scalable",
    .traits = NAY_CAN_ADD | NAY_CAN_MERGE | NAY_CAN_FOLD | NAY_CAN_GROW,
    .knobs = NAY_KNOB_MAX_NBYTES,
    .self_sized = true,
    .ordered = true,
    .plan = scalable_plan,
    .payload = scalable_payload,
    .fpr = scalable_fpr,
    .extend_plan = scalable_extend_plan,
    .init = scalable_init,
    .to_params = scalable_to_params,
    .clear = scalable_clear,
    .check = scalable_check,
    .census = scalable_census,
    .describe = scalable_describe,
    .test = scalable_test,
    .explain = scalable_explain,
    .add = scalable_add,
    .batch = &scalable_batch,
    .algebra = &scalable_algebra,
};
