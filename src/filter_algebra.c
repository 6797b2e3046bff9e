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

/* Whether a value has one hash in both. Keys that were made in two ways are not comparable: of two
 * filters with different descriptions no union, intersection or overlap means anything. */
static bool algebra_same_keys(const nay_filter *a, const nay_filter *b) {
  return nay__key_same(a->key_text, b->key_text) && nay__hasher_same(&a->hasher, &b->hasher);
}

/* Alike but for size: filters that folding can make alike. */
static bool algebra_same_but_size(const nay_filter *a, const nay_filter *b) {
  return a->family == b->family && a->shape.k == b->shape.k &&
         ((a->shape.extra ^ b->shape.extra) & ~a->family->capacity_mask) == 0 &&
         algebra_same_keys(a, b);
}

static bool algebra_alike(const nay_filter *a, const nay_filter *b) {
  return algebra_same_but_size(a, b) && a->shape.nunits == b->shape.nunits;
}

static nay_status algebra_pair_ready(const nay_filter *a, const nay_filter *b) {
  if (a == NULL || b == NULL) return NAY_EINVAL;
  NAY_TRY(nay__filter_all_verified(a));
  return nay__filter_all_verified(b);
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

static nay_status algebra_merge_folding(nay_filter *dst, const nay_filter *src, double max_fpr) {
  uint64_t common = nay__gcd(dst->shape.nunits, src->shape.nunits);
  nay_filter *a = NULL, *b = NULL;
  nay_status status = algebra_own_meta(dst);
  if (status == NAY_OK) {
    status = algebra_folded(dst, dst->shape.nunits / common, &dst->allocator, &a);
  }
  if (status == NAY_OK) {
    status = algebra_folded(src, src->shape.nunits / common, &dst->allocator, &b);
  }
  if (status == NAY_OK) status = nay_filter_merge(a, b, max_fpr);
  if (status == NAY_OK) {
    dst->flags |= a->flags & NAY_IS_DERIVED;
    algebra_take_payload(dst, a);
    a = NULL;
  }
  nay_filter_free(a);
  nay_filter_free(b);
  return status;
}

nay_status nay_filter_merge(nay_filter *dst, const nay_filter *src, double max_fpr) {
  NAY_TRY(algebra_pair_ready(dst, src));
  NAY_TRY(nay__filter_writable(dst));
  const nay_family_algebra *verbs = algebra_of(dst);
  if (verbs->merge == NULL && verbs->join == NULL) return NAY_ENOTSUP;
  if (!(max_fpr > 0 && max_fpr <= 1)) return NAY_EINVAL;
  if (verbs->join != NULL) {
    if (dst->family != src->family || !algebra_same_keys(dst, src)) return NAY_EMISMATCH;
    return verbs->join(dst, src, max_fpr);
  }
  if (!algebra_same_but_size(dst, src)) return NAY_EMISMATCH;
  if (!algebra_alike(dst, src)) {
    if (verbs->fold == NULL) return NAY_EMISMATCH;
    return algebra_merge_folding(dst, src, max_fpr);
  }
  if (max_fpr < 1) {
    nay_census census;
    dst->family->census(dst, src, 1, &census);
    if (census.fpr > max_fpr) return NAY_EFULL;
  }
  NAY_TRY(verbs->merge(dst, src));
  dst->flags |= src->flags & NAY_IS_DERIVED;
  return NAY_OK;
}

nay_status nay_filter_intersect(nay_filter *dst, const nay_filter *src) {
  NAY_TRY(algebra_pair_ready(dst, src));
  NAY_TRY(nay__filter_writable(dst));
  if (algebra_of(dst)->intersect == NULL) return NAY_ENOTSUP;
  if (!algebra_alike(dst, src)) return NAY_EMISMATCH;
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

nay_status nay_filter_fold(nay_filter *f, uint64_t factor) {
  NAY_TRY(nay__filter_writable(f));
  uint32_t k;
  uint64_t nunits = algebra_foldable(f, &k);
  if (nunits == 0) return NAY_ENOTSUP;
  if (factor == 0 || nunits % factor != 0) return NAY_EINVAL;
  if (algebra_of(f)->fold_and_seal != NULL) return algebra_of(f)->fold_and_seal(f, factor);
  if (factor == 1) return NAY_OK;
  NAY_TRY(algebra_own_meta(f));
  nay_filter *folded;
  NAY_TRY(algebra_folded(f, factor, &f->allocator, &folded));
  algebra_take_payload(f, folded);
  return NAY_OK;
}

nay_status nay_filter_shrink(nay_filter *f, uint64_t nbytes) {
  NAY_TRY(nay__filter_writable(f));
  const nay_family_algebra *verbs = algebra_of(f);
  if (verbs->shrink == NULL) return NAY_ENOTSUP;
  nay_shape shape;
  nay_filter *small;
  NAY_TRY(verbs->shrunk_shape(f, nbytes, &shape));
  if (shape.nunits == f->shape.nunits) return NAY_OK;
  NAY_TRY(algebra_own_meta(f));
  NAY_TRY(
      nay__filter_make(f->family, &shape, &f->hasher, f->nkeys, f->flags, &f->allocator, &small));
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

nay_status nay_filter_overlap(const nay_filter *a, const nay_filter *b, nay_overlap *overlap) {
  if (overlap == NULL) return NAY_EINVAL;
  NAY_TRY(nay__abi_check(NAY_ABI_OVERLAP, overlap, NULL));
  NAY_TRY(algebra_pair_ready(a, b));
  const nay_family_algebra *verbs = algebra_of(a);
  if (verbs->merge == NULL && verbs->join == NULL) return NAY_ENOTSUP;
  if (a->family != b->family || !algebra_same_keys(a, b)) return NAY_EMISMATCH;
  if (verbs->merge == NULL) return NAY_ENOTSUP;
  if (!algebra_alike(a, b)) return NAY_EMISMATCH;
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
