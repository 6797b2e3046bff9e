/*
 * bloom.c - the classic Bloom filter: k bits of one array for each key.
 *
 *   add      sets bits p0 .. p(k-1)                    0 0 1 0 0 1 0 0 0 0 1 0 ... nbits
 *   test     nay unless all of them are set                ^     ^         ^
 *
 * The k positions come from one 64-bit hash: h, h*G, h*G^2, ... (mod 2^64), each reduced to
 * [0, nbits) by a multiplication that keeps the high bits. Double hashing (h1 + i*h2), the usual
 * choice, is cheaper by nothing and worse for small arrays: at 50 keys of 16 bits it costs 5.1
 * times the theoretical rate, this 1.01 times. Keeping the high bits also makes folding exact:
 * position p of nbits is position p/f of nbits/f, so or-ing groups of f neighbouring bits gives,
 * bit for bit, the filter that the same keys would have built at that size.
 *
 * Cost: up to k cache lines for a probe, all at once. blocked.c needs one; take
 * this family for tiny sets, very low rates, and to learn. Payload: the bits, padded with zeros to
 * 8 bytes. Spec: doc/formats/nay.md.
 *
 * Bloom: Space/time trade-offs in hash coding with allowable errors. CACM 13(7), 1970.
 */
#include "base/bits.h"
#include "base/spin.h"
#include "family/bitarray.h"
#include "family/family.h"
#include "math/fpr.h"
#include "math/plan.h"

static nay_status bloom_plan(const nay_params *p, nay_diag *diag, nay_shape *shape) {
  nay_sizing by;
  NAY_TRY(nay__params_check(p, diag, &by));
  uint64_t nbits = 0;
  switch (by) {
    case NAY_BY_FPR: nbits = nay__bloom_size(p->nkeys, p->fpr, p->k); break;
    case NAY_BY_BITS_PER_KEY: nbits = (uint64_t)((double)p->nkeys * p->bits_per_key + 0.5); break;
    case NAY_BY_NBYTES:
      nbits = p->nbytes / 8 * 64; /* the payload is whole words: what is left over cannot be used */
      if (nbits == 0) return nay__fail(diag, NAY_EINVAL, "nbytes is below one word of 8 bytes", 0);
      break;
    case NAY_BY_NBITS: nbits = p->nbits; break;
  }
  if (nbits == 0 && by == NAY_BY_FPR) {
    return nay__fail(diag, NAY_EINVAL, "fpr and nkeys need more than 2^60 bits", 0);
  }
  if (p->fold > 1) {
    if (by == NAY_BY_FPR || by == NAY_BY_BITS_PER_KEY) nbits = nay__round_up(nbits, p->fold);
    if (by == NAY_BY_NBYTES) nbits -= nbits % p->fold;
    if (nbits == 0) return nay__fail(diag, NAY_EINVAL, "fold is above the number of bits", 0);
    if (nbits % p->fold != 0) return nay__fail(diag, NAY_EINVAL, "fold does not divide nbits", 0);
  }
  if (nbits == 0) {
    return nay__fail(diag, NAY_EINVAL, "bits_per_key times nkeys is below one bit", 0);
  }
  if (nbits > NAY_MAX_NBITS) {
    return nay__fail(diag, NAY_EINVAL, "fpr, bits_per_key or fold needs more than 2^60 bits", 0);
  }
  *shape = (nay_shape){nbits, p->k != 0 ? p->k : nay__bloom_k(nbits, p->nkeys), 0};
  return NAY_OK;
}

static bool bloom_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {
  if (shape->nunits == 0 || shape->nunits > NAY_MAX_NBITS) return false;
  if (shape->k == 0 || shape->k > NAY_MAX_K || shape->extra != 0) return false;
  *nbits = shape->nunits;
  *nbytes = nay__ceil_div(shape->nunits, 64) * 8;
  return true;
}

static double bloom_fpr(const nay_shape *shape, uint64_t nkeys) {
  return nay__fpr_bloom(shape->nunits, shape->k, nkeys);
}

static nay_probe bloom_kernel(nay_filter *f) { return f->kernels->bloom->choose_test(&f->bits); }

static nay_add_blind bloom_put_kernel(const nay_filter *f) {
  const nay_bloom_kernels *kernels = f->kernels->bloom;
  return kernels->choose_add_blind != NULL ? kernels->choose_add_blind(&f->bits) : NULL;
}

/*
 * With many threads: the bits of a key lie anywhere, so what is locked is the key itself. Two
 * adders of one key come one after the other, and only the first can find a bit clear; adders of
 * other keys may write the same byte at the same time, which the atomic or of the shared kernel
 * allows.
 */
static nay_status bloom_add(nay_filter *f, nay_hash h, bool *is_new) {
  uint8_t *lock = f->locks != NULL ? nay__spin_lock(f->locks, h.lo) : NULL;
  *is_new = f->kernels->bloom->add(&f->bits, h.lo);
  if (lock != NULL) nay__spin_unlock(lock);
  return NAY_OK;
}

static bool bloom_test(const nay_filter *f, nay_hash h) {
  return f->kernels->bloom->test(&f->bits, h.lo);
}

static nay_status bloom_add64(nay_filter *f, const uint64_t *lo, const uint64_t *hi, unsigned n,
                              uint64_t *bitmap) {
  (void)hi;
  if (f->locks == NULL) {
    *bitmap = f->kernels->bloom->add64(&f->bits, lo, n, true);
    return NAY_OK;
  }
  *bitmap = 0;
  for (unsigned i = 0; i < n; i++) {
    bool is_new;
    NAY_TRY(bloom_add(f, (nay_hash){lo[i], 0}, &is_new));
    *bitmap |= (uint64_t)is_new << i;
  }
  return NAY_OK;
}

static bool bloom_put64(nay_filter *f, const uint64_t *lo, unsigned n) {
  if (f->locks != NULL) return false;
  f->kernels->bloom->add64(&f->bits, lo, n, false);
  return true;
}

/* Sets bits whose lines were asked for when they were noted. */
static void bloom_set_all(uint8_t *bytes, const uint64_t *bits, unsigned n) {
  for (unsigned i = 0; i < n; i++) bytes[bits[i] >> 3] |= (uint8_t)(1u << (bits[i] & 7));
}

/* A part is a run of whole cache lines: of each key the bits that lie there. */
static void bloom_fill_part(nay_filter *f, const uint64_t *lo, uint64_t n, unsigned part,
                            unsigned nparts) {
  const uint64_t line = NAY_CACHE_LINE * 8;
  uint64_t nlines = nay__ceil_div(f->shape.nunits, line);
  uint64_t first = nay__part(nlines, part, nparts) * line;
  uint64_t count = nay__part(nlines, part + 1, nparts) * line - first;
  uint64_t bits[128 + NAY_MAX_K];
  unsigned used = 0;
  for (uint64_t i = 0; i < n; i++) {
    uint64_t h = lo[i];
    for (uint32_t probe = 0; probe < f->shape.k; probe++, h *= NAY_G64) {
      uint64_t bit = nay__reduce(h, f->shape.nunits);
      bool mine = bit - first < count;
      bits[used] = bit;
      used += mine; /* no branch to foretell; for the bits of others the first line of ours is asked
                       for */
      NAY_PREFETCH(f->bits.bytes + ((mine ? bit : first) >> 3));
    }
    if (used < 128) continue;
    bloom_set_all(f->bits.bytes, bits, used);
    used = 0;
  }
  bloom_set_all(f->bits.bytes, bits, used);
}

static void bloom_bits_of(const nay_filter *f, const uint64_t *lo, unsigned n, uint64_t *bits) {
  for (unsigned i = 0; i < n; i++) {
    uint64_t h = lo[i];
    for (uint32_t probe = 0; probe < f->shape.k; probe++, h *= NAY_G64) {
      *bits++ = nay__reduce(h, f->shape.nunits);
    }
  }
}

static void bloom_add_near(nay_filter *f, const void *places, size_t nbytes, uint64_t first,
                           uint64_t count) {
  uint8_t *bytes = f->bits.bytes + first / 8; /* a multiple of 8: neighbourhoods are whole lines */
  const uint32_t *place = places;
  nay__bits_read(bytes, (size_t)nay__ceil_div(count, 8));
  for (size_t i = 0; i < nbytes / sizeof *place; i++) {
    bytes[place[i] >> 3] |= (uint8_t)(1u << (place[i] & 7));
  }
}

static uint64_t bloom_test64(const nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                             unsigned n) {
  (void)hi;
  return f->kernels->bloom->test64(&f->bits, lo, n);
}

static void bloom_fetch(const nay_filter *f, uint64_t h, uint32_t probes) {
  for (uint32_t i = 0; i < f->shape.k && i < probes; i++, h *= NAY_G64) {
    NAY_PREFETCH(f->bits.bytes + (nay__reduce(h, f->shape.nunits) >> 3));
  }
}

/* A probe looks at eight bits at once; few absent keys get further. */
static void bloom_prepare(const nay_filter *f, nay_hash h) { bloom_fetch(f, h.lo, 8); }

/* A batch looks at two bits of each key first. What is not far comes by itself. */
static void bloom_prefetch64(const nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                             unsigned n) {
  (void)hi;
  for (unsigned i = 0; i < n && f->nbytes >= NAY_OUT_OF_CACHE_BYTES; i++) bloom_fetch(f, lo[i], 2);
}

static nay_status bloom_merge(nay_filter *dst, const nay_filter *src) {
  nay__bits_or(dst->bits.bytes, src->bits.bytes, dst->nbytes);
  return NAY_OK;
}

static void bloom_intersect(nay_filter *dst, const nay_filter *src) {
  nay__bits_and(dst->bits.bytes, src->bits.bytes, dst->nbytes);
}

static void bloom_fold(const nay_filter *src, uint64_t factor, uint8_t *dst) {
  uint64_t nbits = src->shape.nunits / factor, from = 0;
  for (uint64_t to = 0; to < nbits; to++) {
    for (uint64_t i = 0; i < factor; i++, from++) {
      if (nay__bit_get(src->bits.bytes, from)) nay__bit_set(dst, to);
    }
  }
}

/* How many bits would be set after a fold: groups of `factor` neighbours that are not all zero. */
static uint64_t bloom_count_folded(const nay_filter *f, uint64_t factor) {
  uint64_t count = 0, from = 0, nbits = f->shape.nunits / factor;
  for (uint64_t to = 0; to < nbits; to++, from += factor) {
    for (uint64_t i = 0; i < factor; i++) {
      if (nay__bit_get(f->bits.bytes, from + i)) {
        count++;
        break;
      }
    }
  }
  return count;
}

static void bloom_census(const nay_filter *a, const nay_filter *b, uint64_t factor,
                         nay_census *census) {
  uint64_t nbits = a->shape.nunits / factor;
  uint64_t set = b != NULL     ? nay__bits_count_or(a->bits.bytes, b->bits.bytes, a->nbytes)
                 : factor != 1 ? bloom_count_folded(a, factor)
                               : nay__bits_count(a->bits.bytes, a->nbytes);
  double fill = (double)set / (double)nbits, fpr = 1;
  for (uint32_t i = 0; i < a->shape.k; i++) fpr *= fill;
  *census = (nay_census){nbits, set, nay__estimate_keys(nbits, a->shape.k, set), fpr};
}

static nay_status bloom_check(const nay_shape *shape, const uint8_t *payload, size_t len,
                              nay_diag *diag) {
  if (nay__bits_tail_clear(payload, len, shape->nunits)) return NAY_OK;
  return nay__fail(diag, NAY_ECORRUPT, "bits are set past the end of the array", len - 1);
}

static unsigned bloom_touch(const nay_filter *f, nay_hash hash, const uint8_t **addresses) {
  uint64_t h = hash.lo;
  for (uint32_t i = 0; i < f->shape.k; i++, h *= NAY_G64) {
    addresses[i] = f->bits.bytes + (nay__reduce(h, f->shape.nunits) >> 3);
  }
  return f->shape.k;
}

static void bloom_recall(const nay_filter *f, nay_params *params) {
  params->nbits = f->shape.nunits;
}

const nay_family nay__family_bloom = {
    .kind = NAY_BLOOM,
    .name = "bloom",
    .traits = NAY_CAN_ADD | NAY_CAN_MERGE | NAY_CAN_INTERSECT | NAY_CAN_FOLD,
    .shared = true,
    .plan = bloom_plan,
    .payload = bloom_payload,
    .fpr = bloom_fpr,
    .recall = bloom_recall,
    .kernel = bloom_kernel,
    .put_kernel = bloom_put_kernel,
    .add = bloom_add,
    .test = bloom_test,
    .add64 = bloom_add64,
    .put64 = bloom_put64,
    .fill_part = bloom_fill_part,
    .add_near = bloom_add_near,
    .bits_of = bloom_bits_of,
    .test64 = bloom_test64,
    .prefetch64 = bloom_prefetch64,
    .prepare = bloom_prepare,
    .merge = bloom_merge,
    .intersect = bloom_intersect,
    .fold = bloom_fold,
    .census = bloom_census,
    .check = bloom_check,
    .touch = bloom_touch,
};
