/*
 * window.c - a filter that forgets: generations of Bloom filters, the oldest dropped in time.
 *
 *   payload   | header 192 | unit 0: 128 bytes | unit 1 | ...
 *   unit      16 words; each is cut into 64 / G cells of G bits, one bit for each generation
 *
 *      word    | ... | cell 2 | cell 1 | cell 0 |        G = 8: cells are bytes
 *                             \__ bit j: a key of generation j has probed here
 *
 * The window is g generations long and there are G = g + 1 of them: keys go into the newest, a
 * query probes all, and when the newest has served its time it becomes the second and the oldest is
 * emptied to be the newest. A key is thus remembered for one window at least, and for 1 + 1/g at
 * most.
 *
 * All generations of a key lie in one unit, two cache lines, and share their probes: a query reads
 * k cells and takes their bitwise and. What remains are the generations in which all k bits are
 * set. Probing separate filters would access G lines; the price is that a slice of a unit is a
 * small filter (64 to 512 bits) and fills unevenly: 20% more bits at 1% and g = 7.
 *
 * Time is either counted in keys (the newest is full after nkeys / g keys that changed it) or told
 * by the caller in ticks; it never goes back, and queries never move it. Emptying a generation is
 * one pass over the payload, once for nkeys / g keys.
 *
 *   header    newest u32 | clock set u32 | window u64 | clock u64 | keys per generation u64 | 0..
 *             at 64: for each of 16 generations, how many keys changed it, u64
 *
 * Probe i of a hash: unit reduce(h, nunits); x = lo32(h) * g^i as in blocked.c; its top 4 bits are
 * the word, the other 28 the cell: reduce to 64 / G.
 */
#include "base/bits.h"
#include "base/bytes.h"
#include "base/compiler.h"
#include "base/trace.h"
#include "cpu/units.h"
#include "family/explain.h"
#include "family/family.h"
#include "math/elementary.h"
#include "math/fpr.h"
#include "math/plan.h"
#include "math/sliced.h"

#define WINDOW_HEADER NAY_WINDOW_HEADER
#define WINDOW_UNIT NAY_WINDOW_UNIT
#define WINDOW_WORDS NAY_WINDOW_WORDS
#define WINDOW_MAX_GENERATIONS 16u
#define WINDOW_DEFAULT 7u   /* G = 8 fills words without a rest; a key stays 1/7 too long at most */
#define WINDOW_OVERLOAD 1.1 /* times the plan */

enum {
  WINDOW_AT_NEWEST = 0,
  WINDOW_AT_CLOCK_SET = 4,
  WINDOW_AT_TICKS = 8,
  WINDOW_AT_CLOCK = 16,
  WINDOW_AT_PER_GENERATION = 24,
  WINDOW_AT_ZERO = 32,
  WINDOW_AT_COUNTS = 64,
};

/* ---- where things are ---- */

static unsigned window_all(const nay_shape *shape) { return shape->extra; }

static nay_slices window_slices(unsigned all) { return (nay_slices){all, 64 / all * WINDOW_WORDS}; }

static uint64_t window_per_generation(uint64_t nkeys, unsigned all) {
  return nay__max_u64(1, nay__ceil_div(nkeys, all - 1));
}

static uint64_t window_count(const nay_filter *f, unsigned generation) {
  return nay__load64le(f->bits.bytes + WINDOW_AT_COUNTS + generation * 8);
}

static void window_set_count(nay_filter *f, unsigned generation, uint64_t count) {
  nay__store64le(f->bits.bytes + WINDOW_AT_COUNTS + generation * 8, count);
}

NAY_INLINE uint8_t *window_unit(const nay_filter *f, uint64_t hash) {
  return nay__unit_of(&f->bits, hash);
}

/* ---- keys ---- */

static void window_bind(nay_filter *f) { f->bits.probe = f->kernels->window->test; }

static bool window_test(const nay_filter *f, nay_hash h) {
  return f->kernels->window->test(&f->bits, h.lo);
}

/* Generations from the newest on: a group each. */
static void window_explain(const nay_filter *f, nay_hash h, nay_explain_run *run) {
  unsigned all = window_all(&f->shape), newest = nay__load32le(f->bits.bytes + WINDOW_AT_NEWEST);
  nay_explain_unit unit = {"unit", nay__reduce(h.lo, f->shape.nunits),
                           nay__explain_at(run, window_unit(f, h.lo)), WINDOW_UNIT * 8};
  for (unsigned age = 0; age < all; age++) {
    uint32_t x = (uint32_t)h.lo;
    nay__explain_group(run, age, f->shape.k);
    for (uint32_t i = 0; i < f->shape.k; i++, x *= NAY_G32) {
      nay_unit_probe p = nay__unit_probe(x, 64 / all, all);
      nay__explain_bit(run, &unit, p.word * 64 + p.shift + (newest + all - age) % all, 0);
    }
  }
}

static void window_prefetch(const nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                            unsigned n) {
  (void)hi;
  for (unsigned i = 0; i < n; i++) {
    const uint8_t *unit = window_unit(f, lo[i]);
    NAY_PREFETCH(unit);
    NAY_PREFETCH(unit + NAY_CACHE_LINE);
  }
}

static uint64_t window_batch_test(const nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                                  unsigned n, const uint64_t *next) {
  (void)hi;
  return f->kernels->window->test64(&f->bits, lo, n, next);
}

/* Empties the generations whose bits are set. */
static void window_forget(nay_filter *f, uint64_t generations) {
  unsigned all = window_all(&f->shape);
  uint64_t mask = 0;
  for (unsigned cell = 0; cell < 64 / all; cell++) mask |= generations << cell * all;
  uint8_t *at = f->bits.bytes + WINDOW_HEADER, *end = f->bits.bytes + f->nbytes;
  const uint64_t kept = nay__little64(~mask);
  for (; at < end; at += 8) {
    uint64_t word; /* nay__load64le would be a load for each byte here */
    memcpy(&word, at, sizeof word);
    word &= kept;
    memcpy(at, &word, sizeof word);
  }
  for (unsigned i = 0; i < all; i++) {
    if ((generations >> i & 1) != 0) window_set_count(f, i, 0);
  }
}

/* The newest generation moves on by `steps`; those that it passes are the oldest. */
static void window_rotate(nay_filter *f, uint64_t steps) {
  unsigned all = window_all(&f->shape);
  unsigned newest = nay__load32le(f->bits.bytes + WINDOW_AT_NEWEST);
  uint64_t gone = 0;
  for (uint64_t i = 1; i <= nay__min_u64(steps, all); i++)
    gone |= (uint64_t)1 << (newest + i) % all;
  window_forget(f, gone);
  NAY_TRACE(WINDOW_EXPIRED, 0, 0, gone, (newest + steps % all) % all, 0, 0);
  nay__store32le(f->bits.bytes + WINDOW_AT_NEWEST, (uint32_t)((newest + steps % all) % all));
}

NAY_INLINE nay_status window_add(nay_filter *f, nay_hash h, bool *is_new) {
  uint8_t *header = f->bits.bytes, *unit = window_unit(f, h.lo);
  uint64_t found = f->kernels->window->find(&f->bits, h.lo);
  unsigned newest = nay__load32le(header + WINDOW_AT_NEWEST);
  *is_new = found == 0;
  if ((found >> newest & 1) != 0) return NAY_OK;
  uint64_t count = window_count(f, newest);
  bool by_count = nay__load64le(header + WINDOW_AT_TICKS) == 0;
  if (by_count && count >= nay__load64le(header + WINDOW_AT_PER_GENERATION)) {
    window_rotate(f, 1);
    newest = nay__load32le(header + WINDOW_AT_NEWEST);
    count = window_count(f, newest);
  }
  unsigned all = window_all(&f->shape), cells = 64 / all;
  uint32_t x = (uint32_t)h.lo;
  for (uint32_t i = 0; i < f->shape.k; i++, x *= NAY_G32) {
    nay_unit_probe p = nay__unit_probe(x, cells, all);
    NAY_TRACE(WINDOW_BIT, 0, i, nay__reduce(h.lo, f->shape.nunits), p.word * 64 + p.shift + newest,
              newest, 0);
    (void)nay__unit_set(unit, p.word * 64 + p.shift + newest);
  }
  window_set_count(f, newest, count + 1);
  return NAY_OK;
}

/* How many keys the newest generation takes for certain, whatever they change. */
static unsigned window_room(const nay_filter *f, unsigned n) {
  const uint8_t *header = f->bits.bytes;
#ifdef NAY_WITH_TRACE
  return 0; /* window_add traces */
#endif
  if (nay__load64le(header + WINDOW_AT_TICKS) != 0) return n;
  uint64_t count = window_count(f, nay__load32le(header + WINDOW_AT_NEWEST));
  uint64_t most = nay__load64le(header + WINDOW_AT_PER_GENERATION);
  return count < most ? (unsigned)nay__min_u64(n, most - count) : 0;
}

/* Adds keys of which the newest generation takes all. */
static uint64_t window_add_some(nay_filter *f, const uint64_t *lo, unsigned n,
                                const uint64_t *next) {
  unsigned newest = nay__load32le(f->bits.bytes + WINDOW_AT_NEWEST), nchanged;
  uint64_t fresh = f->kernels->window->add64(&f->bits, lo, n, next, newest, &nchanged);
  window_set_count(f, newest, window_count(f, newest) + nchanged);
  return fresh;
}

static nay_status window_batch_add(nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                                   unsigned n, const uint64_t *next, uint64_t *bitmap,
                                   size_t *taken) {
  (void)hi, (void)taken;
  uint64_t fresh = 0;
  if (next != NULL && window_room(f, n) != n) {
    window_prefetch(f, next, NULL, 64);
    next = NULL;
  }
  for (unsigned i = 0, some; i < n; i += some) {
    bool is_new;
    some = window_room(f, n - i);
    if (some != 0) {
      fresh |= window_add_some(f, lo + i, some, next) << i;
    } else {
      (void)window_add(f, (nay_hash){lo[i], 0}, &is_new); /* which cannot fail */
      fresh |= (uint64_t)is_new << i;
      some = 1;
    }
  }
  if (bitmap != NULL) *bitmap = fresh;
  return NAY_OK;
}

/* ---- time ---- */

static nay_status window_advance(nay_filter *f, uint64_t now) {
  uint8_t *header = f->bits.bytes;
  uint64_t ticks = nay__load64le(header + WINDOW_AT_TICKS);
  if (ticks == 0) return NAY_ENOTSUP;
  uint64_t length = nay__ceil_div(ticks, window_all(&f->shape) - 1);
  uint64_t before = nay__load64le(header + WINDOW_AT_CLOCK);
  if (nay__load32le(header + WINDOW_AT_CLOCK_SET) == 0) {
    nay__store32le(header + WINDOW_AT_CLOCK_SET, 1);
  } else {
    if (now < before) return NAY_EINVAL;
    uint64_t steps = now / length - before / length;
    if (steps != 0) window_rotate(f, steps);
  }
  nay__store64le(header + WINDOW_AT_CLOCK, now);
  return NAY_OK;
}

/* ---- plan ---- */

static bool window_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {
  if (shape->nunits == 0 || shape->nunits > NAY_MAX_NBITS / 8 / WINDOW_UNIT) return false;
  if (shape->k == 0 || shape->k > NAY_MAX_K) return false;
  if (shape->extra < 2 || shape->extra > WINDOW_MAX_GENERATIONS) return false;
  *nbytes = WINDOW_HEADER + shape->nunits * WINDOW_UNIT;
  *nbits = *nbytes * 8;
  return true;
}

static nay_status window_plan(const nay_params *p, nay_diag *diag, nay_shape *shape) {
  nay_sizing by;
  NAY_TRY(nay__params_check(p, diag, &by));
  uint32_t g = p->generations != 0 ? p->generations : WINDOW_DEFAULT;
  if (g >= WINDOW_MAX_GENERATIONS) {
    return nay__fail(diag, NAY_EINVAL, "generations is above 15", 0);
  }
  if (p->nkeys == 0) return nay__fail(diag, NAY_EINVAL, "nkeys: how many are in one window?", 0);
  if (p->window != 0 && p->window < g) {
    return nay__fail(diag, NAY_EINVAL, "window has fewer ticks than generations", 0);
  }
  if (p->fold > 1) return nay__fail(diag, NAY_EINVAL, "fold: window does not fold", 0);
  nay_slices slices = window_slices(g + 1);
  uint64_t n = window_per_generation(p->nkeys, g + 1), nunits = 0;
  switch (by) {
    case NAY_BY_FPR: nunits = nay__sliced_units(slices, n, p->fpr, p->k); break;
    case NAY_BY_BITS_PER_KEY:
      nunits = (uint64_t)((double)p->nkeys * p->bits_per_key / 8 / WINDOW_UNIT + 0.5);
      break;
    case NAY_BY_NBYTES:
      nunits = p->nbytes < WINDOW_HEADER ? 0 : (p->nbytes - WINDOW_HEADER) / WINDOW_UNIT;
      break;
    case NAY_BY_NBITS:
      if (p->nbits % (8 * WINDOW_UNIT) != 0) {
        return nay__fail(diag, NAY_EINVAL, "nbits is not a multiple of 1024, the unit", 0);
      }
      nunits = p->nbits / 8 / WINDOW_UNIT;
      break;
  }
  if (nunits == 0) {
    const char *what = by == NAY_BY_FPR ? "fpr is too low for so many generations in 128 bytes"
                                        : "the size is below one unit of 128 bytes";
    return nay__fail(diag, NAY_EINVAL, what, 0);
  }
  *shape = (nay_shape){nunits, p->k != 0 ? p->k : nay__sliced_k(slices, nunits, n), g + 1};
  return NAY_OK;
}

/* At its worst: all generations full, just before the oldest goes. */
static double window_fpr(const nay_shape *shape, uint64_t nkeys) {
  unsigned all = window_all(shape);
  if (nkeys == 0) return 0;
  return nay__sliced_fpr(window_slices(all), shape->nunits, shape->k,
                         window_per_generation(nkeys, all));
}

static void window_extend_plan(const nay_params *params, const nay_shape *shape, nay_plan *plan) {
  unsigned g = window_all(shape) - 1;
  uint64_t length = params->window != 0 ? params->window : params->nkeys;
  plan->generations = g;
  plan->window_error = (double)nay__ceil_div(length, g) * (g + 1) / (double)length - 1;
}

static void window_init(nay_filter *f, const nay_params *params) {
  nay__store64le(f->bits.bytes + WINDOW_AT_TICKS, params->window);
  nay__store64le(f->bits.bytes + WINDOW_AT_PER_GENERATION,
                 window_per_generation(f->nkeys, window_all(&f->shape)));
}

static void window_to_params(const nay_filter *f, nay_params *params) {
  params->nbits = f->shape.nunits * WINDOW_UNIT * 8;
  params->generations = window_all(&f->shape) - 1;
  params->window = nay__load64le(f->bits.bytes + WINDOW_AT_TICKS);
}

/* Keys go, the clock stays: time never goes back. */
static nay_status window_clear(nay_filter *f) {
  nay__store32le(f->bits.bytes + WINDOW_AT_NEWEST, 0);
  memset(f->bits.bytes + WINDOW_AT_COUNTS, 0, f->nbytes - WINDOW_AT_COUNTS);
  return NAY_OK;
}

/* ---- what it knows of itself ---- */

/* For one slice with x of its bits set: the keys in it, and the probability that an absent key
 * tests maybe. */
typedef struct window_tables {
  nay_estimate keys[64 / 2 * WINDOW_WORDS + 1];
  double claims[64 / 2 * WINDOW_WORDS + 1];
} window_tables;

static void window_fill_tables(const nay_shape *shape, window_tables *t) {
  uint32_t nbits = window_slices(window_all(shape)).nbits;
  for (uint32_t x = 0; x <= nbits; x++) {
    t->keys[x] = nay__estimate_keys(nbits, shape->k, x);
    t->claims[x] = nay__ipow((double)x / nbits, shape->k);
  }
}

static void window_census(const nay_filter *a, const nay_filter *b, uint64_t factor,
                          nay_census *census) {
  (void)b;
  (void)factor;
  unsigned all = window_all(&a->shape);
  uint64_t first = 0; /* the lowest bit of each cell */
  for (unsigned cell = 0; cell < 64 / all; cell++) first |= (uint64_t)1 << cell * all;
  window_tables t;
  window_fill_tables(&a->shape, &t);
  nay_census c = {.nbits = a->shape.nunits * WINDOW_UNIT * 8};
  for (uint64_t u = 0; u < a->shape.nunits; u++) {
    const uint8_t *unit = a->bits.bytes + WINDOW_HEADER + u * WINDOW_UNIT;
    double nay = 1;
    for (unsigned i = 0; i < all; i++) {
      unsigned x = 0;
      for (unsigned w = 0; w < WINDOW_WORDS; w++) {
        x += nay__popcount64(nay__load64le(unit + w * 8) >> i & first);
      }
      c.nbits_set += x;
      nay__estimate_add(&c.keys, &t.keys[x], 1);
      nay *= 1 - t.claims[x];
    }
    c.fpr += (1 - nay) / (double)a->shape.nunits;
  }
  *census = c;
}

static double window_slice_fpr(const nay_filter *f, uint64_t n) {
  return nay__fpr_blocks(f->shape.nunits, window_slices(window_all(&f->shape)).nbits, f->shape.k,
                         n);
}

static uint64_t window_planned(const nay_filter *f) {
  return nay__min_u64(nay__load64le(f->bits.bytes + WINDOW_AT_PER_GENERATION), NAY_MAX_NKEYS);
}

/*
 * How many keys a generation was given when `count` of them have changed it. Of absent keys a share
 * of the slice's FPR changes nothing, so counts stand still where the FPR nears 1: the next key is
 * counted with the chance 1 - FPR, which is summed up here, in steps of 1/32.
 */
static uint64_t window_keys_of(const nay_filter *f, uint64_t count) {
  const uint64_t planned = window_planned(f);
  double counted = 0, fpr = 0;
  count = nay__min_u64(count, NAY_MAX_NKEYS);
  if (window_slice_fpr(f, count) < 0.01) return count; /* less than 1% are not counted */
  for (uint64_t n = 0; n < NAY_MAX_NKEYS && fpr < 1 - 1e-9;) {
    uint64_t step = nay__max_u64(1, nay__max_u64(planned, n) / 32);
    double next_fpr = window_slice_fpr(f, n + step);
    double more = (double)step * (1 - (fpr + next_fpr) / 2);
    if (counted + more >= (double)count)
      return n + (uint64_t)((double)step * ((double)count - counted) / more + 0.5);
    counted += more;
    fpr = next_fpr;
    n += step;
  }
  return NAY_MAX_NKEYS;
}

/*
 * The FPR that is expected of these numbers of keys. A generation may have more keys than its share
 * while others have fewer, so what counts is the FPR of all; and unlike the FPR of the bits, this
 * one has no noise.
 */
static double window_fpr_expected(const nay_filter *f) {
  double nay = 1;
  for (unsigned i = 0; i < window_all(&f->shape); i++) {
    uint64_t count = window_count(f, i);
    if (count != 0) nay *= 1 - window_slice_fpr(f, window_keys_of(f, count));
  }
  return 1 - nay;
}

/* The plan, with a standard deviation of random arrivals in every generation, and a tenth: of the
 * maybes, or of the nays where these are fewer, since no FPR is a tenth above 95%. */
static double window_fpr_limit(const nay_filter *f) {
  uint64_t count = window_planned(f);
  count += (uint64_t)nay__exp(0.5 * nay__ln((double)count));
  nay_slices slices = window_slices(window_all(&f->shape));
  double plan = nay__sliced_fpr(slices, f->shape.nunits, f->shape.k, window_keys_of(f, count));
  return plan < 0.5 ? WINDOW_OVERLOAD * plan : 1 - (1 - plan) / WINDOW_OVERLOAD;
}

static void window_describe(const nay_filter *f, nay_stats *stats) {
  const uint8_t *header = f->bits.bytes;
  unsigned all = window_all(&f->shape);
  /* of a full filter; counts may be less than the bits show in a file that others have made */
  double most = (double)window_keys_of(f, window_planned(f)) * all;
  stats->nbits = f->nbytes * 8;
  stats->nlevels = all;
  stats->clock = nay__load64le(header + WINDOW_AT_CLOCK);
  stats->overloaded = window_fpr_expected(f) > window_fpr_limit(f) ||
                      stats->nkeys_estimated > WINDOW_OVERLOAD * most + all;
}

/* ---- bytes from outside ---- */

static bool window_header_ok(const nay_shape *shape, const uint8_t *header) {
  unsigned all = window_all(shape);
  uint64_t ticks = nay__load64le(header + WINDOW_AT_TICKS);
  uint32_t clock_set = nay__load32le(header + WINDOW_AT_CLOCK_SET);
  size_t counts_end = WINDOW_AT_COUNTS + all * 8;
  return nay__load32le(header + WINDOW_AT_NEWEST) < all && clock_set <= 1 &&
         (ticks == 0 || ticks >= all - 1) && (ticks != 0 || clock_set == 0) &&
         (clock_set != 0 || nay__load64le(header + WINDOW_AT_CLOCK) == 0) &&
         nay__load64le(header + WINDOW_AT_PER_GENERATION) != 0 &&
         nay__all_zero(header + WINDOW_AT_ZERO, WINDOW_AT_COUNTS - WINDOW_AT_ZERO) &&
         nay__all_zero(header + counts_end, WINDOW_HEADER - counts_end);
}

static nay_status window_check(const nay_shape *shape, const uint8_t *payload, size_t len,
                               nay_diag *diag) {
  if (!window_header_ok(shape, payload)) {
    return nay__fail(diag, NAY_ECORRUPT, "a field of the window's header is out of range", 0);
  }
  unsigned used = 64 / window_all(shape) * window_all(shape);
  for (size_t at = WINDOW_HEADER; used < 64 && at < len; at += 8) {
    if (nay__load64le(payload + at) >> used != 0) {
      return nay__fail(diag, NAY_ECORRUPT, "the rest of a word is not zero", at);
    }
  }
  return NAY_OK;
}

static const nay_family_batch window_batch = {
    .interleaves_add = true,
    .interleaves_test = true,
    .add = window_batch_add,
    .test = window_batch_test,
    .prefetch = window_prefetch,
};

const nay_family nay__family_window = {
    .kind = NAY_WINDOW,
    .name = "window",
    .traits = NAY_CAN_ADD | NAY_CAN_EXPIRE,
    .knobs = NAY_KNOB_GENERATIONS,
    .ordered = true,
    .plan = window_plan,
    .payload = window_payload,
    .fpr = window_fpr,
    .extend_plan = window_extend_plan,
    .init = window_init,
    .to_params = window_to_params,
    .clear = window_clear,
    .check = window_check,
    .census = window_census,
    .describe = window_describe,
    .bind = window_bind,
    .test = window_test,
    .explain = window_explain,
    .add = window_add,
    .advance = window_advance,
    .batch = &window_batch,
};
