/*
 * cuckoo_plan.c - the size and the false-positive rate (FPR) of a cuckoo filter.
 *
 * A probe compares up to 8 tags. With t equally frequent tags and a share `load` of the slots in
 * use, the FPR is at most 1 - (1 - 1/t)^(8 load), by 1/(2t) of it. Tags are bits of the hash, with
 * 1 in place of 0, so two of 2^f values are one: tags of f bits are as good as t = 4^f / (2^f + 2).
 * A plan takes the shortest tags that keep the FPR at a load of 0.95; for tags that the caller
 * chooses, the highest load that keeps it. What it states is the exact FPR: nay__cuckoo_expected.
 * It counts the spare bits of a table that grows in nbytes and bits_per_key,
 * which are budgets of the new filter, before its first doubling; max_nbytes bounds the last.
 */
#include "family/cuckoo.h"

#include "math/elementary.h"
#include "math/plan.h"

#define CUCKOO_TAIL 8u /* a tag is loaded as eight bytes */
#define CUCKOO_MIN_TAG 6u
#define CUCKOO_MAX_TAG 32u
#define CUCKOO_MAX_BUCKETS ((uint64_t)1 << 53) /* 2^60 bits of the widest tags */

/* ---- sizes ---- */

uint64_t nay__cuckoo_nbits(const nay_shape *shape, unsigned d) {
  uint64_t f = nay__cuckoo_low_bits(shape) + nay__cuckoo_most_doublings(shape) - d;
  return (shape->nunits << d) * NAY_CUCKOO_SLOTS * f;
}

uint64_t nay__cuckoo_nbytes(const nay_shape *shape, unsigned d) {
  uint64_t buckets = nay__ceil_div(nay__cuckoo_nbits(shape, d), 8);
  return NAY_CUCKOO_HEADER + nay__round_up(buckets + CUCKOO_TAIL, NAY_CACHE_LINE);
}

double nay__cuckoo_rate(double tags, double load) {
  return -nay__expm1(2 * NAY_CUCKOO_SLOTS * load * nay__ln1p(-1 / tags));
}

double nay__cuckoo_tags(unsigned f) {
  double all = (double)((uint64_t)1 << f);
  return all * all / (all + 2);
}

double nay__cuckoo_expected(const nay_cuckoo_table *t, double n, bool distinct) {
  double tags = (double)((uint64_t)1 << t->f), nbuckets = (double)(t->m << t->d);
  double twice = 2 / (double)((uint64_t)1 << t->low), same = 2 / (nbuckets * tags);
  if (distinct) {
    double fpr = n * same * (1 + twice);
    return fpr < 1 ? fpr : 1;
  }
  return -(1 - twice) * nay__expm1(n * nay__ln1p(-same)) -
         twice * nay__expm1(n * nay__ln1p(-2 * same));
}

/* The highest load at which tags of f bits keep the FPR; 0: none worth having. */
static double cuckoo_plan_load(unsigned f, double fpr) {
  double most = nay__ln1p(-fpr) / (2 * NAY_CUCKOO_SLOTS * nay__ln1p(-1 / nay__cuckoo_tags(f)));
  return most > NAY_CUCKOO_LOAD ? NAY_CUCKOO_LOAD : most < 0.05 ? 0 : most;
}

/*
 * Adds of n random keys fail when more than 4 s of them have both buckets among the same s. Small
 * tables fill unevenly, so they get more room: below 2,200 slots the sum over all such sets, which
 * bounds the chance of a failure, stays below 10^-9 (tests/stats/test_cuckoo_room.c computes it).
 * Above, 95% is more than ten standard deviations below the load at which the first add fails.
 */
uint64_t nay__cuckoo_capacity(uint64_t nslots) {
  uint64_t s = nslots;
  if (s >= 2040) return s - nay__ceil_div(s, 20) - 150;
  uint64_t n = nay__min_u64(s * s / 720 + s / 8, s > 60 ? s * 9 / 10 - 48 : 0);
  return nay__max_u64(8, nay__max_u64(s / 4, n));
}

/* The shortest tags of a plan. Nine keys with equal tags and buckets are refused, with shorter ones
 * at a chance above 10^-9: the page of the family has the formula. */
static unsigned cuckoo_plan_least_tag(const nay_params *p) {
  if (p->tag_bits != 0) return p->tag_bits;
  unsigned f = 8;
  uint64_t most = nay__max_u64(p->nkeys, p->max_nkeys); /* 2^56 at most */
  while (most >> (25 + 8 * (f - 8)) != 0) f++;
  return f;
}

/* Buckets for n keys at a load. */
static uint64_t cuckoo_plan_buckets(uint64_t n, double load) {
  uint64_t m = (uint64_t)((double)n / load / NAY_CUCKOO_SLOTS) + 1;
  m += m % 2;
  while (nay__cuckoo_capacity(m * NAY_CUCKOO_SLOTS) < n) m += 2;
  return m;
}

/* What a plan chooses: buckets before the first doubling, bits of a tag that stay, doublings. */
typedef struct cuckoo_size {
  uint64_t m;
  unsigned low, doublings;
} cuckoo_size;

static bool cuckoo_plan_grows(const nay_params *p) { return p->max_nkeys > p->nkeys; }

/* The fewest doublings after which m buckets have become `most`. One at least: the spare bit is
 * what tells a table that may grow from one that holds more keys than planned. */
static unsigned cuckoo_plan_doublings(uint64_t m, uint64_t most) {
  unsigned doublings = 1;
  while (m << doublings < most) doublings++;
  return doublings;
}

static nay_status cuckoo_plan_by_fpr(const nay_params *p, nay_diag *diag, cuckoo_size *size) {
  unsigned f = cuckoo_plan_least_tag(p);
  while (p->tag_bits == 0 && f < CUCKOO_MAX_TAG && cuckoo_plan_load(f, p->fpr) < NAY_CUCKOO_LOAD)
    f++;
  double load = cuckoo_plan_load(f, p->fpr);
  if (load == 0) return nay__fail(diag, NAY_EINVAL, "fpr is too low for the tags", 0);
  size->low = f;
  size->m = cuckoo_plan_buckets(p->nkeys, load);
  if (!cuckoo_plan_grows(p)) return NAY_OK;
  size->m = nay__max_u64(size->m, NAY_CUCKOO_LEAST_GROWING);
  size->doublings = cuckoo_plan_doublings(size->m, cuckoo_plan_buckets(p->max_nkeys, load));
  return NAY_OK;
}

/* The longest tags with which the keys fit into so many bits of buckets, spare bits included. */
static nay_status cuckoo_plan_by_budget(const nay_params *p, uint64_t nbits, nay_diag *diag,
                                        cuckoo_size *size) {
  bool grows = cuckoo_plan_grows(p);
  uint64_t least = cuckoo_plan_buckets(p->nkeys, NAY_CUCKOO_LOAD), most = least;
  if (grows) most = cuckoo_plan_buckets(p->max_nkeys, NAY_CUCKOO_LOAD);
  if (grows) least = nay__max_u64(least, NAY_CUCKOO_LEAST_GROWING);
  for (unsigned low = CUCKOO_MAX_TAG; low >= cuckoo_plan_least_tag(p); low--) {
    if (p->tag_bits != 0 && low != p->tag_bits) continue;
    for (unsigned d = grows; low + d <= CUCKOO_MAX_TAG; d++) {
      uint64_t fit = nbits / (NAY_CUCKOO_SLOTS * (low + d)), m = fit & ~(uint64_t)1;
      if (fit < least || fit > CUCKOO_MAX_BUCKETS) break;
      if (m << d < most) continue;
      *size = (cuckoo_size){m, low, d};
      return NAY_OK;
    }
  }
  return nay__fail(diag, NAY_EINVAL, "the size is too small for nkeys tags that find room", 0);
}

static nay_status cuckoo_plan_by_nbits(const nay_params *p, nay_diag *diag, cuckoo_size *size) {
  unsigned low = p->tag_bits != 0 ? p->tag_bits : 12;
  if (p->nbits % (2 * NAY_CUCKOO_SLOTS * low) != 0) {
    return nay__fail(diag, NAY_EINVAL, "nbits is not a multiple of 8 tags (tag_bits 0 means 12)",
                     0);
  }
  *size = (cuckoo_size){p->nbits / (NAY_CUCKOO_SLOTS * low), low, 0};
  if (!cuckoo_plan_grows(p)) return NAY_OK;
  if (size->m < NAY_CUCKOO_LEAST_GROWING) {
    return nay__fail(diag, NAY_EINVAL, "max_nkeys: a table of less than 8 buckets cannot grow", 0);
  }
  size->doublings =
      cuckoo_plan_doublings(size->m, cuckoo_plan_buckets(p->max_nkeys, NAY_CUCKOO_LOAD));
  return NAY_OK;
}

static nay_status cuckoo_plan_size(const nay_params *p, nay_sizing by, nay_diag *diag,
                                   cuckoo_size *size) {
  switch (by) {
    case NAY_BY_FPR: return cuckoo_plan_by_fpr(p, diag, size);
    case NAY_BY_BITS_PER_KEY: {
      double nbits =
          (double)p->nkeys * p->bits_per_key; /* at most 2^68; 2^61 is too much already */
      return cuckoo_plan_by_budget(p, nbits < 0x1p61 ? (uint64_t)nbits : (uint64_t)1 << 61, diag,
                                   size);
    }
    case NAY_BY_NBYTES: { /* in integers: a double rounds 2^56 bytes up, above the budget */
      uint64_t nbytes = p->nbytes - p->nbytes % NAY_CACHE_LINE;
      uint64_t around = NAY_CUCKOO_HEADER + CUCKOO_TAIL;
      return cuckoo_plan_by_budget(p, nbytes > around ? 8 * (nbytes - around) : 0, diag, size);
    }
    case NAY_BY_NBITS: break;
  }
  return cuckoo_plan_by_nbits(p, diag, size);
}

bool nay__cuckoo_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {
  unsigned low = nay__cuckoo_low_bits(shape), doublings = nay__cuckoo_most_doublings(shape);
  if (shape->nunits < 2 || shape->nunits % 2 != 0 || shape->k != 2) return false;
  if ((shape->extra & ~(NAY_CUCKOO_UNIQUE | 0xffffu)) != 0) return false;
  if (low < CUCKOO_MIN_TAG || low + doublings > CUCKOO_MAX_TAG) return false;
  if (doublings != 0 && shape->nunits < NAY_CUCKOO_LEAST_GROWING) return false;
  if (shape->nunits > CUCKOO_MAX_BUCKETS >> doublings) return false;
  *nbits = nay__cuckoo_nbits(shape, 0);
  *nbytes = nay__cuckoo_nbytes(shape, 0);
  return true;
}

static nay_status cuckoo_plan_check(const nay_params *p, nay_diag *diag) {
  if (p->k != 0) return nay__fail(diag, NAY_EINVAL, "k: cuckoo has no probes to choose", 0);
  if (p->fold > 1) return nay__fail(diag, NAY_EINVAL, "fold: cuckoo does not fold", 0);
  if (p->tag_bits != 0 && (p->tag_bits < CUCKOO_MIN_TAG || p->tag_bits > CUCKOO_MAX_TAG)) {
    return nay__fail(diag, NAY_EINVAL, "tag_bits is not between 6 and 32", 0);
  }
  if (p->max_nkeys != 0 && (p->max_nkeys < p->nkeys || p->nkeys == 0)) {
    return nay__fail(diag, NAY_EINVAL, "max_nkeys is below nkeys, or without it", 0);
  }
  if (p->max_nkeys > NAY_MAX_NKEYS) {
    return nay__fail(diag, NAY_EINVAL, "max_nkeys is above 2^56", 0);
  }
  return NAY_OK;
}

nay_status nay__cuckoo_plan(const nay_params *p, nay_diag *diag, nay_shape *shape) {
  nay_sizing by;
  cuckoo_size size = {0};
  NAY_TRY(nay__params_check(p, diag, &by));
  NAY_TRY(cuckoo_plan_check(p, diag));
  NAY_TRY(cuckoo_plan_size(p, by, diag, &size));
  if (size.low + size.doublings > CUCKOO_MAX_TAG) {
    return nay__fail(diag, NAY_EINVAL, "max_nkeys: tags of 32 bits cannot grow that far", 0);
  }
  nay_shape s = {size.m, 2, size.low | size.doublings << 8};
  if ((p->flags & NAY_UNIQUE) != 0) s.extra |= NAY_CUCKOO_UNIQUE;
  uint64_t nbits, nbytes;
  if (!nay__cuckoo_payload(&s, &nbits, &nbytes)) {
    return nay__fail(diag, NAY_EINVAL, "the size is above 2^53 buckets", 0);
  }
  if (p->max_nbytes != 0 && nbytes > p->max_nbytes) {
    return nay__fail(diag, NAY_EINVAL, "max_nbytes is below the size of the table", 0);
  }
  *shape = s;
  return NAY_OK;
}

/* The doublings that nkeys keys need; the FPR is that of the tags and the load there. */
double nay__cuckoo_fpr(const nay_shape *shape, uint64_t nkeys) {
  unsigned d = 0, most = nay__cuckoo_most_doublings(shape), low = nay__cuckoo_low_bits(shape);
  uint64_t nslots = shape->nunits * NAY_CUCKOO_SLOTS;
  while (d < most && nkeys > nay__cuckoo_capacity(nslots << d)) d++;
  nay_cuckoo_table t = {.m = shape->nunits, .d = d, .low = low, .f = low + most - d};
  return nay__cuckoo_expected(&t, (double)nay__min_u64(nkeys, nslots << d), false);
}

/* Of a table that grows: with the most keys that it is sure to hold after its last doubling. */
double nay__cuckoo_fpr_limit(const nay_shape *shape) {
  uint64_t nslots = shape->nunits * NAY_CUCKOO_SLOTS << nay__cuckoo_most_doublings(shape);
  return nay__cuckoo_fpr(shape, nay__cuckoo_capacity(nslots));
}

void nay__cuckoo_extend_plan(const nay_params *params, const nay_shape *shape, nay_plan *plan) {
  plan->tag_bits = nay__cuckoo_low_bits(shape) + nay__cuckoo_most_doublings(shape);
  (void)params;
  if (nay__cuckoo_most_doublings(shape) != 0) plan->fpr_limit = nay__cuckoo_fpr_limit(shape);
}
