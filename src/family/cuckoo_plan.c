/*
 * cuckoo_plan.c - the size and the false-positive rate (FPR) of a cuckoo filter.
 *
 * A probe compares up to 8 tags. With t equally frequent tags and a share `load` of the slots in
 * use, the FPR is at most 1 - (1 - 1/t)^(8 load), by 1/(2t) of it. Tags are bits of the hash, with
 * 1 in place of 0, so two of 2^f values are one: tags of f bits are as good as t = 4^f / (2^f + 2).
 * A plan takes the shortest tags that keep the FPR at a load of 0.95; for tags that the caller
 * chooses, the highest load that keeps it. What it states is the exact FPR: nay__cuckoo_expected.
 */
#include "family/cuckoo.h"

#include "math/elementary.h"
#include "math/plan.h"

#define CUCKOO_TAIL 8u /* a tag is loaded as eight bytes */
#define CUCKOO_MIN_TAG 6u
#define CUCKOO_MAX_TAG 32u
#define CUCKOO_MAX_BUCKETS ((uint64_t)1 << 53) /* 2^60 bits of the widest tags */

/* ---- sizes ---- */

static uint32_t cuckoo_plan_extra(unsigned low_bits, unsigned doublings) {
  return low_bits | doublings << 8;
}

uint64_t nay__cuckoo_nbits(const nay_shape *shape, unsigned d) {
  uint64_t f = nay__cuckoo_low_bits(shape) + nay__cuckoo_most_doublings(shape) - d;
  return (shape->nunits << d) * NAY_CUCKOO_SLOTS * f;
}

uint64_t nay__cuckoo_nbytes(const nay_shape *shape, unsigned d) {
  uint64_t buckets = nay__ceil_div(nay__cuckoo_nbits(shape, d), 8);
  return NAY_CUCKOO_HEADER + nay__round_up(buckets + CUCKOO_TAIL, NAY_CACHE_LINE);
}

double nay__cuckoo_rate(double tags, double load) {
  return 1 - nay__exp(2 * NAY_CUCKOO_SLOTS * load * nay__ln1p(-1 / tags));
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
  return (1 - twice) * (1 - nay__exp(n * nay__ln1p(-same))) +
         twice * (1 - nay__exp(n * nay__ln1p(-2 * same)));
}

/* The highest load at which tags of f bits keep the FPR; 0: none worth having. */
static double cuckoo_plan_load(unsigned f, double fpr) {
  double most = nay__ln1p(-fpr) / (2 * NAY_CUCKOO_SLOTS * nay__ln1p(-1 / nay__cuckoo_tags(f)));
  return most > NAY_CUCKOO_LOAD ? NAY_CUCKOO_LOAD : most < 0.05 ? 0 : most;
}

/*
 * Buckets for n keys at a load. Small tables fill unevenly, so they get some room: with it, adds of
 * n random keys failed in none of 10^5 trials for any n (tests/stats).
 */
static uint64_t cuckoo_plan_buckets(uint64_t n, double load) {
  double room = load > 0.9 && n < 40000 ? 2 + 2.0 * nay__exp(0.4 * nay__ln((double)n)) : 0;
  double slots = (double)n / load + room;
  uint64_t m = (uint64_t)(slots / NAY_CUCKOO_SLOTS) + 1;
  return m + m % 2;
}

static nay_status cuckoo_plan_doublings(const nay_params *p, nay_diag *diag, unsigned low,
                                        nay_shape *shape) {
  if (p->max_nkeys > NAY_MAX_NKEYS) {
    return nay__fail(diag, NAY_EINVAL, "max_nkeys is above 2^56", 0);
  }
  unsigned doublings = 0;
  for (uint64_t n = p->nkeys; n < p->max_nkeys; n *= 2) doublings++; /* below 2^57: no wrap */
  if (low + doublings > CUCKOO_MAX_TAG) {
    return nay__fail(diag, NAY_EINVAL, "max_nkeys: tags of 32 bits cannot grow that far", 0);
  }
  shape->extra = cuckoo_plan_extra(low, doublings);
  if ((p->flags & NAY_UNIQUE) != 0) shape->extra |= NAY_CUCKOO_UNIQUE;
  if (p->max_nbytes != 0 && nay__cuckoo_nbytes(shape, 0) > p->max_nbytes) {
    return nay__fail(diag, NAY_EINVAL, "max_nbytes is below the size of the table", 0);
  }
  return NAY_OK;
}

static nay_status cuckoo_plan_by_fpr(const nay_params *p, nay_diag *diag, unsigned *low,
                                     uint64_t *m) {
  unsigned f = p->tag_bits != 0 ? p->tag_bits : CUCKOO_MIN_TAG;
  while (p->tag_bits == 0 && f < CUCKOO_MAX_TAG && cuckoo_plan_load(f, p->fpr) < NAY_CUCKOO_LOAD)
    f++;
  double load = cuckoo_plan_load(f, p->fpr);
  if (load == 0) return nay__fail(diag, NAY_EINVAL, "fpr is too low for the tags", 0);
  /* doubling splits the table into parts that fill unevenly: plan the parts less full */
  if (p->max_nkeys > p->nkeys && load > 0.85) load = 0.85;
  *low = f;
  *m = cuckoo_plan_buckets(p->nkeys, load);
  return NAY_OK;
}

/* The longest tags with which the keys fit into so many bytes of buckets. */
static nay_status cuckoo_plan_by_bytes(const nay_params *p, double nbytes, nay_diag *diag,
                                       unsigned *low, uint64_t *m) {
  uint64_t least = cuckoo_plan_buckets(p->nkeys, NAY_CUCKOO_LOAD);
  for (unsigned f = CUCKOO_MAX_TAG; f >= CUCKOO_MIN_TAG; f--) {
    if (p->tag_bits != 0 && f != p->tag_bits) continue;
    double fit = nbytes * 8 / (NAY_CUCKOO_SLOTS * f);
    if (fit < (double)least || fit > (double)CUCKOO_MAX_BUCKETS) continue;
    *low = f;
    *m = (uint64_t)fit & ~(uint64_t)1;
    return NAY_OK;
  }
  return nay__fail(diag, NAY_EINVAL, "the size is too small for nkeys tags of at least 6 bits", 0);
}

static nay_status cuckoo_plan_by_nbits(const nay_params *p, nay_diag *diag, unsigned *low,
                                       uint64_t *m) {
  *low = p->tag_bits != 0 ? p->tag_bits : 12;
  if (p->nbits % (2 * NAY_CUCKOO_SLOTS * *low) != 0) {
    return nay__fail(diag, NAY_EINVAL, "nbits is not a multiple of 8 tags (tag_bits 0 means 12)",
                     0);
  }
  *m = p->nbits / (NAY_CUCKOO_SLOTS * *low);
  return NAY_OK;
}

bool nay__cuckoo_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {
  unsigned low = nay__cuckoo_low_bits(shape), doublings = nay__cuckoo_most_doublings(shape);
  if (shape->nunits < 2 || shape->nunits % 2 != 0 || shape->k != 2) return false;
  if ((shape->extra & ~(NAY_CUCKOO_UNIQUE | 0xffffu)) != 0) return false;
  if (low < CUCKOO_MIN_TAG || low + doublings > CUCKOO_MAX_TAG) return false;
  if (shape->nunits > CUCKOO_MAX_BUCKETS >> doublings) return false;
  *nbits = nay__cuckoo_nbits(shape, 0);
  *nbytes = nay__cuckoo_nbytes(shape, 0);
  return true;
}

nay_status nay__cuckoo_plan(const nay_params *p, nay_diag *diag, nay_shape *shape) {
  nay_sizing by;
  unsigned low = 0;
  nay_shape s = {0, 2, 0};
  NAY_TRY(nay__params_check(p, diag, &by));
  if (p->k != 0) return nay__fail(diag, NAY_EINVAL, "k: cuckoo has no probes to choose", 0);
  if (p->fold > 1) return nay__fail(diag, NAY_EINVAL, "fold: cuckoo does not fold", 0);
  if (p->tag_bits != 0 && (p->tag_bits < CUCKOO_MIN_TAG || p->tag_bits > CUCKOO_MAX_TAG)) {
    return nay__fail(diag, NAY_EINVAL, "tag_bits is not between 6 and 32", 0);
  }
  if (p->max_nkeys != 0 && (p->max_nkeys < p->nkeys || p->nkeys == 0)) {
    return nay__fail(diag, NAY_EINVAL, "max_nkeys is below nkeys, or without it", 0);
  }
  switch (by) {
    case NAY_BY_FPR: NAY_TRY(cuckoo_plan_by_fpr(p, diag, &low, &s.nunits)); break;
    case NAY_BY_BITS_PER_KEY:
      NAY_TRY(
          cuckoo_plan_by_bytes(p, (double)p->nkeys * p->bits_per_key / 8, diag, &low, &s.nunits));
      break;
    case NAY_BY_NBYTES:
      NAY_TRY(cuckoo_plan_by_bytes(
          p, (double)(p->nbytes - p->nbytes % NAY_CACHE_LINE) - NAY_CUCKOO_HEADER - CUCKOO_TAIL,
          diag, &low, &s.nunits));
      break;
    case NAY_BY_NBITS: NAY_TRY(cuckoo_plan_by_nbits(p, diag, &low, &s.nunits)); break;
  }
  NAY_TRY(cuckoo_plan_doublings(p, diag, low, &s));
  uint64_t nbits, nbytes;
  if (!nay__cuckoo_payload(&s, &nbits, &nbytes)) {
    return nay__fail(diag, NAY_EINVAL, "the size is above 2^53 buckets", 0);
  }
  *shape = s;
  return NAY_OK;
}

/* The doublings that nkeys keys need; the FPR is that of the tags and the load there. */
double nay__cuckoo_fpr(const nay_shape *shape, uint64_t nkeys) {
  unsigned d = 0, most = nay__cuckoo_most_doublings(shape), low = nay__cuckoo_low_bits(shape);
  double slots = (double)shape->nunits * NAY_CUCKOO_SLOTS;
  for (; d < most && (double)nkeys > NAY_CUCKOO_LOAD * slots; d++) slots *= 2;
  nay_cuckoo_table t = {.m = shape->nunits, .d = d, .low = low, .f = low + most - d};
  return nay__cuckoo_expected(&t, (double)nkeys < slots ? (double)nkeys : slots, false);
}

void nay__cuckoo_extend_plan(const nay_params *params, const nay_shape *shape, nay_plan *plan) {
  plan->tag_bits = nay__cuckoo_low_bits(shape) + nay__cuckoo_most_doublings(shape);
  if (params->max_nkeys != 0) plan->fpr_limit = nay__cuckoo_fpr(shape, params->max_nkeys);
}
