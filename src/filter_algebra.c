/*
 * filter_algebra.c - whole filters: merge, intersect, fold, shrink, overlap.
 *
 * A family does the work on the bytes (its `algebra` group); what is common to all is decided here:
 * whether two filters match, whether the result keeps the false-positive rate (FPR) that the caller
 * allows, and that a failed call leaves both as they were. Filters that differ in size alone are
 * folded to their greatest common size first.
 */
#include "filter.h"

#include "base/abi.h"

#include "base/bits.h"
#include "math/elementary.h"
#include "math/plan.h"

static const nay_family_algebra *algebra_of(const nay_filter *f) {
  static const nay_family_algebra none = {.merge = NULL};
  return f->family->algebra != NULL ? f->family->algebra : &none;
}

/*
 * Why two filters are not of one set of values, or NULL. Keys that were made in two ways are not
 * comparable: of two filters with different descriptions no union, intersection or overlap means
 * anything.
 */
static const char *algebra_differ(const nay_filter *a, const nay_filter *b) {
  if (a->family != b->family) return "the filters are of different families";
  if (!nay__key_same(a->key_text, b->key_text)) return "the key descriptions differ";
  if (!nay__hasher_same(&a->hasher, &b->hasher))
    return "the hash functions, seeds or secret keys differ";
  return NULL;
}

/* The same, for filters that folding cannot make alike. */
static const char *algebra_differ_but_size(const nay_filter *a, const nay_filter *b) {
  const char *why = algebra_differ(a, b);
  bool same = a->shape.k == b->shape.k &&
              ((a->shape.extra ^ b->shape.extra) & ~a->family->capacity_mask) == 0;
  return why != NULL || same ? why : "the filters differ in k or another number of their shape";
}

/* The same, for filters that are not alike. */
static const char *algebra_unlike(const nay_filter *a, const nay_filter *b) {
  const char *why = algebra_differ_but_size(a, b);
  return why != NULL || a->shape.nunits == b->shape.nunits ? why
                                                           : "the sizes of the filters differ";
}

static nay_status algebra_mismatch(const char *why, nay_diag *diag) {
  return why == NULL ? NAY_OK : nay__fail(diag, NAY_EMISMATCH, why, 0);
}

static nay_status algebra_verified(const nay_filter *f, nay_diag *diag) {
  if (nay__filter_all_verified(f) == NAY_OK) return NAY_OK;
  return nay__fail(diag, NAY_ECORRUPT, "a mapped filter is damaged", 0);
}

static nay_status algebra_pair_ready(const nay_filter *a, const nay_filter *b, nay_diag *diag) {
  if (a == NULL || b == NULL) return nay__fail(diag, NAY_EINVAL, "a filter is NULL", 0);
  NAY_TRY(algebra_verified(a, diag));
  return algebra_verified(b, diag);
}

static nay_status algebra_writable(const nay_filter *f, nay_diag *diag) {
  nay_status status = nay__filter_writable(f);
  if (status == NAY_OK) return NAY_OK;
  return nay__fail(diag, status, f == NULL ? "filter is NULL" : "the filter is read-only", 0);
}

static nay_status algebra_cannot(nay_diag *diag) {
  return nay__fail(diag, NAY_ENOTSUP, "the family of the filter cannot do this", 0);
}

/* What a family or an allocation says without a diag. */
static nay_status algebra_told(nay_status status, nay_diag *diag) {
  return status == NAY_OK ? NAY_OK : nay__fail(diag, status, nay_status_text(status), 0);
}

/* A new filter: f at 1/factor of its size. */
static nay_status algebra_folded(const nay_filter *f, uint64_t factor,
                                 const nay_allocator *allocator, nay_filter **out) {
  nay_shape shape = f->shape;
  shape.nunits /= factor;
  nay_filter *folded;
  uint32_t flags = f->flags & ~(NAY_IS_READ_ONLY | NAY_ZEROED);
  NAY_TRY(nay__filter_make(f->family, &shape, &f->hasher, f->nkeys, flags, allocator, &folded));
  f->family->algebra->fold(f, factor, folded->bits.bytes);
  memcpy(folded->key_text, f->key_text, sizeof folded->key_text);
  *out = folded;
  return NAY_OK;
}

/* f takes the payload and shape of `other`, which is freed. Nothing of f may point into its memory.
 */
static void algebra_take_payload(nay_filter *f, nay_filter *other) {
  nay_memory old = f->memory;
  f->shape = other->shape;
  f->memory = other->memory;
  nay__filter_attach(f, other->bits.bytes, other->nbytes);
  other->memory = old;
  nay_filter_free(other);
}

/* Makes the metadata f's own, so that its payload can be replaced. */
static nay_status algebra_own_meta(nay_filter *f) {
  if (f->meta == NULL || f->meta_owned) return NAY_OK;
  return nay_filter_set_meta(f, f->meta, f->meta_len);
}

static nay_status algebra_merge_folding(nay_filter *dst, const nay_filter *src, double max_fpr,
                                        nay_diag *diag) {
  uint64_t common = nay__gcd(dst->shape.nunits, src->shape.nunits);
  nay_filter *a = NULL, *b = NULL;
  nay_status status = algebra_own_meta(dst);
  if (status == NAY_OK) {
    status = algebra_folded(dst, dst->shape.nunits / common, &dst->allocator, &a);
  }
  if (status == NAY_OK) {
    status = algebra_folded(src, src->shape.nunits / common, &dst->allocator, &b);
  }
  status = algebra_told(status, diag);
  if (status == NAY_OK) status = nay_filter_merge(a, b, max_fpr, diag);
  if (status == NAY_OK) {
    dst->flags |= a->flags & NAY_IS_DERIVED;
    algebra_take_payload(dst, a);
    a = NULL;
  }
  nay_filter_free(a);
  nay_filter_free(b);
  return status;
}

/* Filters of one size. */
static nay_status algebra_merge_alike(nay_filter *dst, const nay_filter *src, double max_fpr,
                                      nay_diag *diag) {
  if (max_fpr < 1) {
    nay_census census;
    dst->family->census(dst, src, 1, &census);
    if (census.fpr > max_fpr) {
      return nay__fail(diag, NAY_EFULL, "the FPR of the union would be above max_fpr", 0);
    }
  }
  NAY_TRY(algebra_told(dst->family->algebra->merge(dst, src), diag));
  dst->flags |= src->flags & NAY_IS_DERIVED;
  return NAY_OK;
}

nay_status nay_filter_merge(nay_filter *dst, const nay_filter *src, double max_fpr,
                            nay_diag *diag) {
  NAY_TRY(algebra_pair_ready(dst, src, diag));
  NAY_TRY(algebra_writable(dst, diag));
  const nay_family_algebra *verbs = algebra_of(dst);
  if (verbs->merge == NULL && verbs->join == NULL) return algebra_cannot(diag);
  if (!(max_fpr > 0 && max_fpr <= 1)) {
    return nay__fail(diag, NAY_EINVAL, "max_fpr is not above 0 and at most 1", 0);
  }
  if (verbs->join != NULL) {
    NAY_TRY(algebra_mismatch(algebra_differ(dst, src), diag));
    return algebra_told(verbs->join(dst, src, max_fpr), diag);
  }
  NAY_TRY(algebra_mismatch(algebra_differ_but_size(dst, src), diag));
  const char *unlike = algebra_unlike(dst, src);
  if (unlike == NULL) return algebra_merge_alike(dst, src, max_fpr, diag);
  if (verbs->fold == NULL) return algebra_mismatch(unlike, diag);
  return algebra_merge_folding(dst, src, max_fpr, diag);
}

nay_status nay_filter_intersect(nay_filter *dst, const nay_filter *src, nay_diag *diag) {
  NAY_TRY(algebra_pair_ready(dst, src, diag));
  NAY_TRY(algebra_writable(dst, diag));
  if (algebra_of(dst)->intersect == NULL) return algebra_cannot(diag);
  NAY_TRY(algebra_mismatch(algebra_unlike(dst, src), diag));
  algebra_of(dst)->intersect(dst, src);
  dst->flags |= NAY_IS_DERIVED;
  return NAY_OK;
}

/* What a factor must divide, and the k of what is folded; 0: this family does not fold. */
static uint64_t algebra_foldable(const nay_filter *f, uint32_t *k) {
  const nay_family_algebra *verbs = algebra_of(f);
  *k = f->shape.k;
  if (verbs->foldable != NULL) return verbs->foldable(f, k);
  return verbs->fold != NULL ? f->shape.nunits : 0;
}

nay_status nay_filter_fold(nay_filter *f, uint64_t factor, nay_diag *diag) {
  NAY_TRY(algebra_writable(f, diag));
  uint32_t k;
  uint64_t nunits = algebra_foldable(f, &k);
  if (nunits == 0) return algebra_cannot(diag);
  if (factor == 0 || nunits % factor != 0) {
    return nay__fail(diag, NAY_EINVAL, "the size of the filter is not divisible by factor", 0);
  }
  if (algebra_of(f)->fold_and_seal != NULL) {
    return algebra_told(algebra_of(f)->fold_and_seal(f, factor), diag);
  }
  if (factor == 1) return NAY_OK;
  nay_filter *folded;
  NAY_TRY(algebra_told(algebra_own_meta(f), diag));
  NAY_TRY(algebra_told(algebra_folded(f, factor, &f->allocator, &folded), diag));
  algebra_take_payload(f, folded);
  return NAY_OK;
}

nay_status nay_filter_shrink(nay_filter *f, uint64_t nbytes, nay_diag *diag) {
  NAY_TRY(algebra_writable(f, diag));
  const nay_family_algebra *verbs = algebra_of(f);
  if (verbs->shrink_to != NULL) {
    nay_status made = verbs->shrink_to(f, nbytes);
    return made == NAY_EINVAL ? nay__fail(diag, made, "nbytes: too few for this many keys", 0)
                              : algebra_told(made, diag);
  }
  if (verbs->shrink == NULL) return algebra_cannot(diag);
  nay_shape shape;
  nay_filter *small;
  nay_status status = verbs->shrunk_shape(f, nbytes, &shape);
  if (status == NAY_EINVAL) {
    return nay__fail(diag, status, "nbytes: too few for one column of the ribbon", 0);
  }
  if (status == NAY_ENOTSUP) {
    return nay__fail(diag, status, "a ribbon of so few keys is a Bloom filter", 0);
  }
  NAY_TRY(algebra_told(status, diag));
  if (shape.nunits == f->shape.nunits) return NAY_OK;
  NAY_TRY(algebra_told(algebra_own_meta(f), diag));
  status =
      nay__filter_make(f->family, &shape, &f->hasher, f->nkeys, f->flags, &f->allocator, &small);
  NAY_TRY(algebra_told(status, diag));
  verbs->shrink(f, &shape, small->bits.bytes);
  algebra_take_payload(f, small);
  return NAY_OK;
}

/* FPRs of folds that have been measured, the latest ones. */
#define FOLDS_KEPT 256u

typedef struct algebra_folds {
  uint64_t factor[FOLDS_KEPT];
  double fpr[FOLDS_KEPT];
  unsigned n;
} algebra_folds;

/*
 * Whether a fold by d keeps the FPR. Counting the bits of a fold reads the whole payload, so what
 * is known of a divisor e of d decides where it can: groups of c = d/e units are or-ed, so the FPR
 * does not fall, and grows by c^k at most (the union of c units has at most the sum of their bits,
 * and the mean of k-th powers of sums of c is at most c^k times the mean of the k-th powers).
 * The margin is far above rounding: the answer is that of counting.
 */
static bool algebra_fold_keeps(const nay_filter *f, uint64_t d, uint32_t k, double max_fpr,
                               algebra_folds *known) {
  const double margin = 1e-9;
  for (unsigned i = 0; i < known->n && i < FOLDS_KEPT; i++) {
    if (d % known->factor[i] != 0) continue;
    if (known->fpr[i] * (1 - margin) > max_fpr) return false;
    double growth = nay__ipow((double)(d / known->factor[i]), k);
    if (known->fpr[i] * growth * (1 + margin) <= max_fpr) return true;
  }
  nay_census census;
  f->family->census(f, NULL, d, &census);
  known->factor[known->n % FOLDS_KEPT] = d;
  known->fpr[known->n++ % FOLDS_KEPT] = census.fpr;
  return census.fpr <= max_fpr;
}

/*
 * Tries the divisors upward. Rates grow with the factor but for accidents of the bits, so the first
 * failure at d ends the search at 2d; and no plan needs factors past 2^20.
 */
nay_status nay_filter_fold_factor(const nay_filter *f, double max_fpr, uint64_t *factor) {
  if (f == NULL || factor == NULL || !(max_fpr > 0 && max_fpr <= 1)) return NAY_EINVAL;
  uint32_t k;
  uint64_t nunits = algebra_foldable(f, &k);
  if (nunits == 0) return NAY_ENOTSUP;
  NAY_TRY(nay__filter_all_verified(f));
  algebra_folds known = {.n = 0};
  (void)algebra_fold_keeps(f, 1, k, max_fpr, &known); /* what all others are multiples of */
  uint64_t best = 1, limit = nay__min_u64(nunits, (uint64_t)1 << 20);
  for (uint64_t d = 2; d <= limit; d++) {
    if (nunits % d != 0) continue;
    if (algebra_fold_keeps(f, d, k, max_fpr, &known)) {
      best = d;
    } else {
      limit = nay__min_u64(limit, 2 * d);
    }
  }
  *factor = best;
  return NAY_OK;
}

nay_status nay_filter_overlap(const nay_filter *a, const nay_filter *b, nay_diag *diag,
                              nay_overlap *overlap) {
  if (overlap == NULL) return nay__fail(diag, NAY_EINVAL, "overlap is NULL", 0);
  NAY_TRY(nay__abi_check(NAY_ABI_OVERLAP, overlap, diag));
  NAY_TRY(algebra_pair_ready(a, b, diag));
  const nay_family_algebra *verbs = algebra_of(a);
  if (verbs->merge == NULL && verbs->join == NULL) return algebra_cannot(diag);
  NAY_TRY(algebra_mismatch(algebra_differ(a, b), diag));
  if (verbs->merge == NULL) return algebra_cannot(diag);
  NAY_TRY(algebra_mismatch(algebra_unlike(a, b), diag));
  nay_census ca, cb, cu;
  a->family->census(a, NULL, 1, &ca);
  b->family->census(b, NULL, 1, &cb);
  a->family->census(a, b, 1, &cu);
  double all = nay__estimate_value(&cu.keys);
  nay_overlap o = {.nkeys_a = nay__estimate_value(&ca.keys),
                   .nkeys_b = nay__estimate_value(&cb.keys),
                   .nkeys_union = all};
  double both = o.nkeys_a + o.nkeys_b - all;
  if (both < 0) both = 0;
  if (cu.keys.saturated) both = NAY_NAN; /* a difference of lower bounds says nothing */
  o.nkeys_intersection = both;
  o.jaccard = all > 0 ? both / all : 0;
  nay__abi_write(NAY_ABI_OVERLAP, &o, overlap);
  return NAY_OK;
}
