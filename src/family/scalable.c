/*
 * scalable.c - a filter that grows: when the last level is full, a level for three times the keys
 * follows. cpu/halves.h draws the payload and names its fields.
 *
 *   payload   | header 64 | a row of 64 bytes for each level | level 0 | level 1 | ...
 *   level     two halves, of which the second is made when the first is full
 *
 * A half is a blocked Bloom filter with blocks of 256 bits, and block i of both halves is one cache
 * line. So memory grows in steps of two, as if levels doubled, and an absent key, which must be nay
 * in every half, costs one line for each factor of three (doc/design/0034-growth.md).
 *
 * The false-positive rates (FPR) of all halves add up. Level i gets fpr * 0.18 * 0.82^i
 * (math/series.c says why): the sum stays below fpr for ever, and bits per key grow slowly.
 *
 * A half is full when as many of its bits are set as are expected of the keys it was planned for.
 * The count of set bits is kept in the row and is exact; a count of keys would miss those that set
 * no new bit, and an attacker's choice of keys shows in the bits, not in their number. Keys that
 * test maybe are not added again.
 *
 * Growing copies the old levels into a larger payload; twice for each factor of three, so a key is
 * copied about twice in all. The limit max_nbytes is checked before anything is allocated; a level
 * for which it leaves no room is made smaller.
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
#include "cpu/halves.h"
#include "family/bitarray.h"
#include "family/explain.h"
#include "family/regrow.h"
#include "math/elementary.h"
#include "math/plan.h"
#include "math/series.h"

#define SCALABLE_FIRST 1000u /* keys of the first half when nkeys is 0 */
#define SCALABLE_MAX_FIRST ((uint64_t)1 << 48)
#define SCALABLE_TRUSTED 65536u /* bytes that nay_filter_clear takes on the word of a header */
/*
 * The range of fpr, 1e-6 to 0.5, as the header of the file has it: singles above 0 are in the order
 * of their bits. The least is the single below 1e-6, which is what 1e-6 becomes in a filter.
 */
#define SCALABLE_MIN_EXTRA 0x358637bdu
#define SCALABLE_MAX_EXTRA 0x3f000000u
#define SCALABLE_MAX_FPR 0.5

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

static uint64_t scalable_levels_at(uint32_t nlevels) {
  return NAY_LEVELS_HEADER + (uint64_t)nlevels * NAY_LEVELS_ROW;
}

/* A level of an odd number of single small blocks ends in zeros. */
static uint64_t scalable_level_bytes(uint64_t nblocks, uint32_t nhalves, uint32_t block_bits) {
  return nay__round_up(nblocks * nhalves * (block_bits / 8), NAY_CACHE_LINE);
}

static uint64_t scalable_row_bytes(const uint8_t *row) {
  return scalable_level_bytes(nay__load64le(row + NAY_ROW_NBLOCKS),
                              nay__load32le(row + NAY_ROW_NHALVES),
                              nay__load32le(row + NAY_ROW_BLOCK_BITS));
}

static nay_halves scalable_level(const nay_filter *f, uint32_t level) {
  return nay__halves_of(f->bits.bytes, nay__levels_row(f->bits.bytes, level));
}

static uint8_t *scalable_last_row(const nay_filter *f) {
  return nay__levels_row(f->bits.bytes, nay__levels_count(f->bits.bytes) - 1);
}

/* The half of the last level that takes keys. */
static unsigned scalable_open_half(const uint8_t *row) {
  return nay__load32le(row + NAY_ROW_NHALVES) - 1;
}

static void scalable_put_row(uint8_t *row, uint64_t at, const nay_level *level) {
  nay__store64le(row + NAY_ROW_AT, at);
  nay__store64le(row + NAY_ROW_NBLOCKS, level->nblocks);
  nay__store32le(row + NAY_ROW_K, level->k);
  nay__store32le(row + NAY_ROW_NHALVES, 1);
  nay__store64le(row + NAY_ROW_NKEYS, level->nkeys);
  nay__store64le(row + NAY_ROW_FULL, level->nbits_full);
  nay__store32le(row + NAY_ROW_BLOCK_BITS, level->block_bits);
}

/* Levels lie in the order of their rows, without gaps. */
static void scalable_place_rows(uint8_t *payload, uint32_t nlevels) {
  uint64_t at = scalable_levels_at(nlevels);
  for (uint32_t i = 0; i < nlevels; i++) {
    uint8_t *row = nay__levels_row(payload, i);
    nay__store64le(row + NAY_ROW_AT, at);
    at += scalable_row_bytes(row);
  }
}

/* ---- trace ---- */

#ifdef NAY_WITH_TRACE
/* scalable_trace: the bits that a key sets in a block of the last level. */
static void scalable_trace(const nay_filter *f, const uint8_t *block, uint64_t hash) {
  uint32_t last = nay__levels_count(f->bits.bytes) - 1, x = (uint32_t)hash;
  nay_halves level = scalable_level(f, last);
  for (uint32_t i = 0; i < level.k; i++, x *= NAY_G32) {
    unsigned bit = nay__halves_bit(&level, x);
    NAY_TRACE(BLOCK_BIT, last, i, (uint64_t)(block - level.bytes) >> level.block_log, bit,
              ~block[bit / 8] >> bit % 8 & 1, 0);
  }
}
#define SCALABLE_TRACE(f, block, hash) scalable_trace(f, block, hash)
#else
#define SCALABLE_TRACE(f, block, hash) ((void)0)
#endif

/* ---- plan ---- */

static bool scalable_first(const nay_shape *shape, nay_level *level) {
  if (shape->extra < SCALABLE_MIN_EXTRA || shape->extra > SCALABLE_MAX_EXTRA) return false;
  if (shape->nunits > SCALABLE_MAX_FIRST) return false;
  return nay__series_level(shape->nunits, scalable_rate(shape), 0, level);
}

/* A payload of this level alone. */
static uint64_t scalable_bytes_of(const nay_level *level) {
  return scalable_levels_at(1) + scalable_level_bytes(level->nblocks, 1, level->block_bits);
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

/* After every change of the levels: a probe is chosen for them. The payload may be new and all
 * zero, or bytes that check() has yet to see: their rows are read here, and nothing else. */
static void scalable_bind(nay_filter *f) {
  f->bits.probe = NULL;
  if (f->nbytes < scalable_levels_at(1)) return;
  uint32_t nlevels = nay__levels_count(f->bits.bytes);
  if (nlevels == 0 || nlevels > NAY_MAX_LEVELS || f->nbytes < scalable_levels_at(nlevels)) return;
  f->bits.probe = f->kernels->scalable->choose_test(&f->bits);
}

/* An empty filter of one level; the payload is zero but for the header, of which these fields stay.
 */
static void scalable_start(nay_filter *f, const nay_level *level, uint64_t max_nbytes) {
  uint8_t *payload = f->bits.bytes;
  nay__store32le(payload + NAY_LEVELS_AT_NLEVELS, 1);
  nay__store64le(payload + NAY_LEVELS_AT_NGROWN, 1);
  nay__store64le(payload + NAY_LEVELS_AT_MAX_NBYTES, max_nbytes);
  scalable_store_double(payload + NAY_LEVELS_AT_LIMIT, scalable_rate(&f->shape));
  scalable_put_row(nay__levels_row(payload, 0), scalable_levels_at(1), level);
  scalable_bind(f);
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
  params->max_nbytes = nay__load64le(f->bits.bytes + NAY_LEVELS_AT_MAX_NBYTES);
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
  uint64_t max_nbytes = nay__load64le(f->bits.bytes + NAY_LEVELS_AT_MAX_NBYTES);
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

static void scalable_take(nay_filter *f, nay_memory *fresh, size_t nbytes) {
  nay__payload_take(f, fresh, nbytes);
  scalable_bind(f);
}

static bool scalable_within_limit(const nay_filter *f, uint64_t nbytes) {
  uint64_t most = nay__load64le(f->bits.bytes + NAY_LEVELS_AT_MAX_NBYTES);
  return (most == 0 || nbytes <= most) && nbytes <= NAY_MAX_NBITS / 8;
}

/* Copies the blocks of a half to every second place. */
static void scalable_spread(uint8_t *to, const nay_halves *from) {
  const size_t block = nay__halves_block_bytes(from);
  for (uint64_t i = 0; i < from->nblocks; i++) {
    memcpy(to + i * 2 * block, from->bytes + i * block, block);
  }
}

/* Makes the second half of the last level. */
static nay_status scalable_open_second(nay_filter *f) {
  uint32_t last = nay__levels_count(f->bits.bytes) - 1;
  nay_halves level = scalable_level(f, last);
  uint64_t kept = (uint64_t)(level.bytes - f->bits.bytes);
  uint64_t nbytes = kept + ((level.nblocks * 2) << level.block_log);
  if (!scalable_within_limit(f, nbytes)) return NAY_EFULL;
  nay_memory fresh;
  NAY_TRY(nay__payload_new(f, nbytes, &fresh));
  memcpy(fresh.at, f->bits.bytes, (size_t)kept);
  scalable_spread(fresh.at + kept, &level);
  nay__store32le(nay__levels_row(fresh.at, last) + NAY_ROW_NHALVES, 2);
  scalable_take(f, &fresh, (size_t)nbytes);
  NAY_TRACE(LEVEL_OPENED, last, 1, level.nblocks,
            nay__load64le(scalable_last_row(f) + NAY_ROW_NKEYS), level.k, 0);
  return NAY_OK;
}

/* The next level: for three times the keys of the last, for fewer where the limit demands it. */
static bool scalable_next_level(const nay_filter *f, uint64_t kept, nay_level *level) {
  const uint8_t *payload = f->bits.bytes;
  uint64_t nkeys = nay__load64le(scalable_last_row(f) + NAY_ROW_NKEYS);
  uint64_t ngrown = nay__load64le(payload + NAY_LEVELS_AT_NGROWN);
  for (uint64_t times = NAY_SERIES_GROWTH; times > 0; times--) {
    if (!nay__series_level(nkeys * times, scalable_rate(&f->shape), (unsigned)ngrown, level))
      continue;
    if (scalable_within_limit(f, kept + scalable_level_bytes(level->nblocks, 1, level->block_bits)))
      return true;
  }
  return false;
}

static nay_status scalable_open_level(nay_filter *f) {
  const uint8_t *old = f->bits.bytes;
  uint32_t nlevels = nay__levels_count(old);
  nay_level level;
  if (nlevels == NAY_MAX_LEVELS) return NAY_EFULL;
  uint64_t from = scalable_levels_at(nlevels), to = scalable_levels_at(nlevels + 1);
  uint64_t kept = f->nbytes - from;
  if (!scalable_next_level(f, to + kept, &level)) return NAY_EFULL;
  uint64_t nbytes = to + kept + scalable_level_bytes(level.nblocks, 1, level.block_bits);
  nay_memory fresh;
  NAY_TRY(nay__payload_new(f, nbytes, &fresh));
  memcpy(fresh.at, old, (size_t)from);
  memcpy(fresh.at + to, old + from, (size_t)kept);
  nay__store32le(fresh.at + NAY_LEVELS_AT_NLEVELS, nlevels + 1);
  nay__store64le(fresh.at + NAY_LEVELS_AT_NGROWN, nay__load64le(old + NAY_LEVELS_AT_NGROWN) + 1);
  scalable_put_row(nay__levels_row(fresh.at, nlevels), 0, &level);
  scalable_place_rows(fresh.at, nlevels + 1);
  scalable_take(f, &fresh, (size_t)nbytes);
  NAY_TRACE(LEVEL_OPENED, nlevels, 0, level.nblocks, level.nkeys, level.k, 0);
  return NAY_OK;
}

static nay_status scalable_grow(nay_filter *f) {
  const uint8_t *row = scalable_last_row(f);
  if (nay__load32le(f->bits.bytes + NAY_LEVELS_AT_FINISHED) != 0) return NAY_EFULL;
  bool second =
      nay__load32le(row + NAY_ROW_NHALVES) == 1 && nay__load32le(row + NAY_ROW_CLOSED) == 0;
  return second ? scalable_open_second(f) : scalable_open_level(f);
}

static bool scalable_is_full(const nay_filter *f) {
  const uint8_t *row = scalable_last_row(f);
  uint64_t nset = nay__load64le(row + NAY_ROW_NSET + 8 * scalable_open_half(row));
  return nset >= nay__load64le(row + NAY_ROW_FULL) ||
         nay__load32le(f->bits.bytes + NAY_LEVELS_AT_FINISHED) != 0;
}

/* ---- keys ---- */

static bool scalable_test(const nay_filter *f, nay_hash h) {
  return f->kernels->scalable->choose_test(&f->bits)(&f->bits, h.lo);
}

static void scalable_explain_half(const nay_halves *level, uint32_t number, unsigned half,
                                  uint64_t hash, nay_explain_run *run) {
  const uint8_t *block = nay__halves_line(level, hash) + half * nay__halves_block_bytes(level);
  nay_explain_unit unit = {"block", (uint64_t)(block - level->bytes) >> level->block_log,
                           nay__explain_at(run, block), nay__halves_block_bytes(level) * 8};
  uint32_t x = (uint32_t)hash;
  nay__explain_group(run, number, level->k);
  for (uint32_t i = 0; i < level->k; i++, x *= NAY_G32) {
    nay__explain_bit(run, &unit, nay__halves_bit(level, x), 0);
  }
}

static void scalable_explain(const nay_filter *f, nay_hash h, nay_explain_run *run) {
  for (uint32_t i = nay__levels_count(f->bits.bytes); i > 0; i--) {
    nay_halves level = scalable_level(f, i - 1);
    for (unsigned half = level.nhalves; half > 0; half--) {
      scalable_explain_half(&level, i - 1, half - 1, h.lo, run);
    }
  }
}

/* Sets the bits of a key that tests nay, or that did before its batch; returns whether one was
 * clear. The last half is not full. */
static bool scalable_set(nay_filter *f, uint64_t hash) {
  uint8_t *row = scalable_last_row(f);
  nay_halves level = nay__halves_of(f->bits.bytes, row);
  unsigned half = scalable_open_half(row);
  uint8_t *block = nay__halves_line(&level, hash) + half * nay__halves_block_bytes(&level);
  SCALABLE_TRACE(f, block, hash);
  unsigned fresh = f->kernels->scalable->set(&level, block, hash);
  uint8_t *nset = row + NAY_ROW_NSET + 8 * half;
  nay__store64le(nset, nay__load64le(nset) + fresh);
  return fresh != 0;
}

static nay_status scalable_add(nay_filter *f, nay_hash h, bool *is_new) {
  *is_new = false;
  if (f->bits.probe(&f->bits, h.lo)) return NAY_OK;
  if (scalable_is_full(f)) NAY_TRY(scalable_grow(f));
  *is_new = scalable_set(f, h.lo);
  return NAY_OK;
}

/*
 * All keys are tested first, so that the misses of the levels overlap. What the batch itself adds
 * is in the last half: a key that it makes a maybe finds no clear bit there. After the filter has
 * grown, that half is no longer the last, and all are tested again.
 */
static nay_status scalable_batch_add(nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                                     unsigned n, const uint64_t *next, uint64_t *bitmap,
                                     size_t *taken) {
  (void)hi;
  uint64_t maybe = f->kernels->scalable->test64(&f->bits, lo, n, next), fresh = 0;
  nay_status status = NAY_OK;
  for (unsigned i = 0; i < n && status == NAY_OK; i++) {
    if ((maybe >> i & 1) != 0) continue;
    if (NAY_UNLIKELY(scalable_is_full(f))) {
      if (f->bits.probe(&f->bits, lo[i])) continue;
      status = scalable_grow(f);
      if (status != NAY_OK) {
        *taken = i;
        break;
      }
      maybe = f->kernels->scalable->test64(&f->bits, lo, n, NULL);
    }
    fresh |= (uint64_t)scalable_set(f, lo[i]) << i;
  }
  if (bitmap != NULL) *bitmap = fresh;
  return status;
}

static uint64_t scalable_batch_test(const nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                                    unsigned n, const uint64_t *next) {
  (void)hi;
  return f->kernels->scalable->test64(&f->bits, lo, n, next);
}

static void scalable_prefetch(const nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                              unsigned n) {
  (void)hi;
  nay__scalable_prefetch64(&f->bits, lo, n);
}

/* ---- the whole filter ---- */

/* Counts and estimates one half; folded by factor. */
static nay_census scalable_measure_half(const nay_halves *level, unsigned half, uint64_t factor) {
  uint64_t histogram[NAY_BLOCK_BITS + 1] = {0};
  const size_t block = nay__halves_block_bytes(level), stride = level->nhalves * block;
  const uint8_t *from = level->bytes + half * block;
  uint64_t nblocks = level->nblocks / factor;
  for (uint64_t i = 0; i < nblocks; i++) {
    uint8_t sum[NAY_BLOCK_BYTES] = {0};
    for (uint64_t j = 0; j < factor; j++, from += stride) nay__bits_or(sum, from, block);
    histogram[nay__bits_count(sum, sizeof sum)]++;
  }
  const unsigned nbits = (unsigned)block * 8;
  nay_census c = {.nbits = nblocks * nbits};
  for (unsigned x = 0; x <= nbits; x++) {
    c.nbits_set += x * histogram[x];
    nay_estimate keys = nay__estimate_keys(nbits, level->k, x);
    nay__estimate_add(&c.keys, &keys, histogram[x]);
    c.fpr += (double)histogram[x] / (double)nblocks * nay__ipow((double)x / nbits, level->k);
  }
  return c;
}

/* factor folds the last level alone: what nay_filter_fold would do. */
static void scalable_census(const nay_filter *a, const nay_filter *b, uint64_t factor,
                            nay_census *census) {
  (void)b;
  nay_census sum = {.nbits = 0};
  double nay = 1;
  for (uint32_t i = nay__levels_count(a->bits.bytes); i > 0; i--, factor = 1) {
    nay_halves level = scalable_level(a, i - 1);
    for (unsigned half = 0; half < level.nhalves; half++) {
      nay_census c = scalable_measure_half(&level, half, factor);
      sum.nbits += c.nbits;
      sum.nbits_set += c.nbits_set;
      nay__estimate_add(&sum.keys, &c.keys, 1);
      nay *= 1 - c.fpr;
    }
  }
  sum.fpr = 1 - nay;
  *census = sum;
}

static void scalable_describe(const nay_filter *f, nay_stats *stats) {
  stats->nbits = f->nbytes * 8;
  stats->nlevels = nay__levels_count(f->bits.bytes);
  stats->fpr_planned = scalable_load_double(f->bits.bytes + NAY_LEVELS_AT_LIMIT);
  /* growing is what it is for: more keys than it started with are no overload */
  stats->overloaded = stats->fpr_now > stats->fpr_planned;
}

/* Copies the levels of both into `to`, smallest first; at equal size a's first. */
static void scalable_interleave(uint8_t *to, uint32_t nlevels, const nay_filter *a,
                                const nay_filter *b) {
  const nay_filter *side[2] = {a, b};
  uint32_t next[2] = {0, 0};
  uint8_t *level = to + scalable_levels_at(nlevels);
  for (uint32_t i = 0; i < nlevels; i++) {
    const uint8_t *row[2];
    for (unsigned s = 0; s < 2; s++) {
      bool any = next[s] < nay__levels_count(side[s]->bits.bytes);
      row[s] = any ? nay__levels_row(side[s]->bits.bytes, next[s]) : NULL;
    }
    unsigned s = row[0] == NULL ||
                 (row[1] != NULL && scalable_row_bytes(row[1]) < scalable_row_bytes(row[0]));
    size_t len = (size_t)scalable_row_bytes(row[s]);
    memcpy(nay__levels_row(to, i), row[s], NAY_LEVELS_ROW);
    memcpy(level, scalable_level(side[s], next[s]).bytes, len);
    level += len;
    next[s]++;
  }
  scalable_place_rows(to, nlevels);
}

static nay_status scalable_join(nay_filter *dst, const nay_filter *src, double max_fpr) {
  if (dst == src) return NAY_OK;
  uint8_t *old = dst->bits.bytes;
  const uint8_t *other = src->bits.bytes;
  uint32_t nlevels = nay__levels_count(old) + nay__levels_count(other);
  nay_census a, b;
  if (nlevels > NAY_MAX_LEVELS) return NAY_EFULL;
  scalable_census(dst, NULL, 1, &a);
  scalable_census(src, NULL, 1, &b);
  if (a.fpr + b.fpr - a.fpr * b.fpr > max_fpr) return NAY_EFULL;
  uint64_t nbytes = scalable_levels_at(nlevels) +
                    (dst->nbytes - scalable_levels_at(nay__levels_count(old))) +
                    (src->nbytes - scalable_levels_at(nay__levels_count(other)));
  if (!scalable_within_limit(dst, nbytes)) return NAY_EFULL;
  nay_memory fresh;
  NAY_TRY(nay__payload_new(dst, nbytes, &fresh));
  memcpy(fresh.at, old, NAY_LEVELS_HEADER);
  nay__store32le(fresh.at + NAY_LEVELS_AT_NLEVELS, nlevels);
  double limit = scalable_load_double(old + NAY_LEVELS_AT_LIMIT) +
                 scalable_load_double(other + NAY_LEVELS_AT_LIMIT);
  scalable_store_double(fresh.at + NAY_LEVELS_AT_LIMIT, limit < 1 ? limit : 1);
  scalable_interleave(fresh.at, nlevels, dst, src);
  scalable_take(dst, &fresh, (size_t)nbytes);
  return NAY_OK;
}

static uint64_t scalable_foldable(const nay_filter *f, uint32_t *k) {
  nay_halves last = scalable_level(f, nay__levels_count(f->bits.bytes) - 1);
  *k = last.k;
  return last.nblocks;
}

/* Ors each `factor` neighbours among the lines of a level. */
static void scalable_fold_lines(const nay_halves *level, uint64_t factor) {
  const size_t stride = level->nhalves * nay__halves_block_bytes(level);
  uint8_t *to = level->bytes;
  const uint8_t *from = to;
  for (uint64_t i = 0; i < level->nblocks / factor; i++, to += stride) {
    uint8_t sum[2 * NAY_BLOCK_BYTES] = {0};
    for (uint64_t j = 0; j < factor; j++, from += stride) nay__bits_or(sum, from, stride);
    memcpy(to, sum, stride);
  }
}

/*
 * Folds the last level; the shorter payload stays in the memory that is there. The level is then
 * planned for what it holds: should it be joined to a filter that still grows, it is full there,
 * and gets no second half, whose FPR nobody has planned.
 */
static nay_status scalable_fold_and_seal(nay_filter *f, uint64_t factor) {
  uint8_t *row = scalable_last_row(f);
  nay_halves level = nay__halves_of(f->bits.bytes, row);
  uint64_t most = 1, nkeys = 1, nblocks = level.nblocks / factor;
  for (unsigned half = 0; half < level.nhalves; half++) {
    nay_census c = scalable_measure_half(&level, half, factor);
    nay__store64le(row + NAY_ROW_NSET + 8 * half, c.nbits_set);
    most = nay__max_u64(most, c.nbits_set);
    nkeys = nay__max_u64(nkeys, (uint64_t)c.keys.nkeys + 1);
  }
  scalable_fold_lines(&level, factor);
  size_t used = (size_t)((nblocks * level.nhalves) << level.block_log);
  size_t len = (size_t)nay__round_up(used, NAY_CACHE_LINE);
  memset(level.bytes + used, 0, len - used);
  f->nbytes = (size_t)(level.bytes - f->bits.bytes) + len;
  nay__store64le(row + NAY_ROW_NBLOCKS, nblocks);
  nay__store64le(row + NAY_ROW_FULL, most);
  nay__store64le(row + NAY_ROW_NKEYS, nay__min_u64(nkeys, (nblocks * 8) << level.block_log));
  nay__store32le(row + NAY_ROW_CLOSED, 1);
  nay__store32le(f->bits.bytes + NAY_LEVELS_AT_FINISHED, 1);
  scalable_bind(f);
  return NAY_OK;
}

/* ---- bytes from outside ---- */

static nay_status scalable_bad(nay_diag *diag, const char *what, uint64_t offset) {
  return nay__fail(diag, NAY_ECORRUPT, what, offset);
}

/* left: bytes from the level's on. */
static bool scalable_row_ok(const uint8_t *row, uint64_t left) {
  uint64_t nblocks = nay__load64le(row + NAY_ROW_NBLOCKS),
           nkeys = nay__load64le(row + NAY_ROW_NKEYS);
  uint32_t k = nay__load32le(row + NAY_ROW_K), nhalves = nay__load32le(row + NAY_ROW_NHALVES);
  uint64_t full = nay__load64le(row + NAY_ROW_FULL);
  if (nhalves < 1 || nhalves > 2) return false;
  uint32_t block_bits = nay__load32le(row + NAY_ROW_BLOCK_BITS);
  if (block_bits != NAY_HALF_BITS && block_bits != NAY_BLOCK_BITS) return false;
  if (nblocks == 0 || nblocks > left / NAY_HALF_BYTES || scalable_row_bytes(row) > left)
    return false;
  uint64_t nbits = nblocks * block_bits;
  return nkeys > 0 && nkeys <= nbits && full > 0 && full <= nbits && k > 0 && k <= NAY_MAX_K &&
         nay__load32le(row + NAY_ROW_CLOSED) <= 1 &&
         (nhalves == 2 || nay__load64le(row + NAY_ROW_NSET + 8) == 0);
}

/* Whether the counts of set bits are right, and zero what is not a block. */
static bool scalable_bits_ok(const uint8_t *row, const nay_halves *level) {
  uint64_t nset[2] = {0, 0};
  const uint8_t *at = level->bytes;
  const size_t block = nay__halves_block_bytes(level);
  for (uint64_t i = 0; i < level->nblocks; i++) {
    for (unsigned half = 0; half < level->nhalves; half++, at += block) {
      nset[half] += nay__bits_count(at, block);
    }
  }
  return nset[0] == nay__load64le(row + NAY_ROW_NSET) &&
         nset[1] == nay__load64le(row + NAY_ROW_NSET + 8) &&
         nay__all_zero(at, (size_t)(level->bytes + scalable_row_bytes(row) - at));
}

static nay_status scalable_check_header(const uint8_t *payload, size_t len, nay_diag *diag) {
  if (len < scalable_levels_at(1)) return scalable_bad(diag, "shorter than a header", 0);
  uint32_t nlevels = nay__levels_count(payload);
  double limit = scalable_load_double(payload + NAY_LEVELS_AT_LIMIT);
  uint64_t ngrown = nay__load64le(payload + NAY_LEVELS_AT_NGROWN);
  uint64_t most = nay__load64le(payload + NAY_LEVELS_AT_MAX_NBYTES);
  if (nlevels == 0 || nlevels > NAY_MAX_LEVELS || len < scalable_levels_at(nlevels)) {
    return scalable_bad(diag, "impossible number of levels", NAY_LEVELS_AT_NLEVELS);
  }
  if (nay__load32le(payload + NAY_LEVELS_AT_FINISHED) > 1 || ngrown == 0 || ngrown > nlevels ||
      (most != 0 && len > most) || !(limit > 0 && limit <= 1) ||
      !nay__all_zero(payload + NAY_LEVELS_AT_END, NAY_LEVELS_HEADER - NAY_LEVELS_AT_END)) {
    return scalable_bad(diag, "a field of the header is out of range", NAY_LEVELS_AT_FINISHED);
  }
  return NAY_OK;
}

static nay_status scalable_check(const nay_shape *shape, const uint8_t *payload, size_t len,
                                 nay_diag *diag) {
  (void)shape;
  NAY_TRY(scalable_check_header(payload, len, diag));
  uint32_t nlevels = nay__levels_count(payload);
  uint64_t at = scalable_levels_at(nlevels);
  for (uint32_t i = 0; i < nlevels; i++) {
    uint64_t row_at = scalable_levels_at(i);
    const uint8_t *row = payload + row_at;
    if (nay__load64le(row + NAY_ROW_AT) != at || !scalable_row_ok(row, len - at)) {
      return scalable_bad(diag, "an impossible level", row_at);
    }
    nay_halves level = nay__halves_of((uint8_t *)(uintptr_t)payload, row);
    if (!scalable_bits_ok(row, &level)) {
      return scalable_bad(diag, "a level has another number of bits than it says", row_at);
    }
    at += scalable_row_bytes(row);
  }
  return at == len ? NAY_OK : scalable_bad(diag, "bytes after the last level", at);
}

static const nay_family_batch scalable_batch = {
    .interleaves_add = true,
    .interleaves_test = true,
    .add = scalable_batch_add,
    .test = scalable_batch_test,
    .prefetch = scalable_prefetch,
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
    .bind = scalable_bind,
    .test = scalable_test,
    .explain = scalable_explain,
    .add = scalable_add,
    .batch = &scalable_batch,
    .algebra = &scalable_algebra,
};
