/*
 * bloom.c - the classic Bloom filter: k bits of one array for each key.
 *
 *   add      sets bits p0 .. p(k-1)                    0 0 1 0 0 1 0 0 0 0 1 0 ... nbits
 *   test     nay unless all of them are set                ^     ^         ^
 *
 * The k positions come from one 64-bit hash: h, h*G, h*G^2, ... (mod 2^64), each reduced to
 * [0, nbits) by a multiplication that keeps the high bits. Double hashing (h1 + i*h2), the usual
 * choice, is cheaper by nothing and worse for small arrays: at 50 keys of 16 bits it costs 5.1
 * times the theoretical false-positive rate (FPR), this 1.01 times. Keeping the high bits also
 * makes folding exact: position p of nbits is position p/f of nbits/f, so or-ing groups of f
 * neighbouring bits gives, bit for bit, the filter that the same keys would have built at that
 * size.
 *
 * Cost: up to k cache lines for a probe, all at once. blocked.c needs one; take
 * this family for tiny sets, very low FPRs, and to learn. Payload: the bits, padded with zeros to
 * 8 bytes. Spec: doc/formats/nay.md.
 *
 * Bloom: Space/time trade-offs in hash coding with allowable errors. CACM 13(7), 1970.
 */
#include "base/bits.h"
#include "family/bitarray.h"
#include "family/explain.h"
#include "family/family.h"
#include "math/fpr.h"
#include "math/plan.h"
#include "os/spin.h"

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
    const char *what = p->fold > 1 ? "fold: rounded up to it the size is above 2^60 bits"
                                   : "fpr or bits_per_key needs more than 2^60 bits";
    return nay__fail(diag, NAY_EINVAL, what, 0);
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

static void bloom_bind(nay_filter *f) {
  const nay_bloom_kernels *kernels = f->kernels->bloom;
  f->bits.probe = kernels->choose_test(&f->bits);
  f->add_blind = kernels->choose_add_blind != NULL ? kernels->choose_add_blind(&f->bits) : NULL;
}

/*
 * With many threads: the bits of a key lie anywhere, so what an add by itself locks is the key. Two
 * adders of one key come one after the other, and only the first can find a bit clear; adders of
 * other keys may write the same byte at the same time, which the atomic or of the shared kernel
 * allows. While a batch runs, such an add is a batch, too.
 *
 * Batches that ask which keys are new hold all parts of the filter. Others sort bits by part and
 * hold one part at a time: nobody is told that a key is new, so its bits may come in any order.
 */
static void bloom_hold_all(nay_filter *f) {
  for (uint32_t i = 0; i < NAY_BLOOM_NPARTS; i++) nay__batch_region_lock(f->locks, i);
}

static void bloom_release_all(nay_filter *f) {
  for (uint32_t i = 0; i < NAY_BLOOM_NPARTS; i++) nay__region_unlock(f->locks, i);
}

static void bloom_prefetch_bits(const nay_filter *f, uint64_t h, uint32_t probes) {
  for (uint32_t i = 0; i < f->shape.k && i < probes; i++, h *= NAY_G64) {
    NAY_PREFETCH(f->bits.bytes + (nay__reduce(h, f->shape.nunits) >> 3));
  }
}

/* Adds up to 64 keys and returns which are new. */
static uint64_t bloom_add_held(nay_filter *f, const uint64_t *lo, unsigned n) {
  for (unsigned i = 0; i < n && !f->bits.in_cache; i++) bloom_prefetch_bits(f, lo[i], NAY_MAX_K);
  bloom_hold_all(f);
  uint64_t fresh = f->kernels->bloom->add64(&f->bits, lo, n, true);
  bloom_release_all(f);
  return fresh;
}

static bool bloom_add_shared(nay_filter *f, uint64_t h) {
  uint8_t *lock = nay__spin_lock_alone(f->locks, nay__stripe_of(h));
  bool is_new;
  if (lock != NULL) {
    is_new = f->kernels->bloom->add(&f->bits, h);
    nay__spin_unlock(lock);
  } else {
    nay__batch_begin(f->locks);
    is_new = bloom_add_held(f, &h, 1) != 0;
    nay__batch_end(f->locks);
  }
  return is_new;
}

static nay_status bloom_add(nay_filter *f, nay_hash h, bool *is_new) {
  *is_new = f->locks != NULL ? bloom_add_shared(f, h.lo) : f->kernels->bloom->add(&f->bits, h.lo);
  return NAY_OK;
}

static bool bloom_test(const nay_filter *f, nay_hash h) {
  return f->kernels->bloom->test(&f->bits, h.lo);
}

static void bloom_explain(const nay_filter *f, nay_hash h, nay_explain_run *run) {
  nay__explain_bloom(run, f->bits.bytes, f->shape.nunits, f->shape.k, h.lo);
}

/* Parts of whole cache lines, at most NAY_BLOOM_NPARTS of them. */
static unsigned bloom_part_shift(uint64_t nbits) {
  unsigned shift = 9;
  while ((nbits - 1) >> shift >= NAY_BLOOM_NPARTS) shift++;
  return shift;
}

/* Sets the bits of all parts. Threads that start at different parts stay out of step. */
static void bloom_flush_parts(nay_filter *f, nay_bloom_parts *parts, unsigned first) {
  for (unsigned i = 0; i < NAY_BLOOM_NPARTS; i++) {
    unsigned part = (first + i) % NAY_BLOOM_NPARTS;
    if (parts->used[part] == 0) continue;
    nay__batch_region_lock(f->locks, part);
    f->kernels->bloom->set(&f->bits, parts, part);
    nay__region_unlock(f->locks, part);
    parts->used[part] = 0;
  }
}

/* The keys for which every part has room. */
static unsigned bloom_parts_room(const nay_filter *f, const nay_bloom_parts *parts) {
  uint32_t most = 0;
  for (unsigned i = 0; i < NAY_BLOOM_NPARTS; i++)
    most = parts->used[i] > most ? parts->used[i] : most;
  return (NAY_BLOOM_PART - most) / f->shape.k;
}

#define BLOOM_FEW 16u /* keys: flush when a part has room for fewer; an empty one has for 16 */

static void bloom_add_parts(nay_filter *f, const uint64_t *lo, size_t n) {
  nay_bloom_parts parts;
  parts.shift = bloom_part_shift(f->shape.nunits);
  memset(parts.used, 0, sizeof parts.used);
  unsigned first = n != 0 ? (unsigned)(lo[0] % NAY_BLOOM_NPARTS) : 0;
  for (size_t i = 0, some; i < n; i += some) {
    some = nay__min_u64(n - i, bloom_parts_room(f, &parts));
    f->kernels->bloom_split->split(&f->bits, lo + i, (unsigned)some, &parts);
    if (bloom_parts_room(f, &parts) < BLOOM_FEW) bloom_flush_parts(f, &parts, first);
  }
  bloom_flush_parts(f, &parts, first);
}

#define BLOOM_MAX_SHIFT 32u /* bits of a part have 32-bit numbers */

/* A batch of adds beside other threads. */
static void bloom_add_batch(nay_filter *f, const uint64_t *lo, size_t n, uint64_t *bitmap) {
  nay__batch_begin(f->locks);
  if (bitmap == NULL && bloom_part_shift(f->shape.nunits) <= BLOOM_MAX_SHIFT) {
    bloom_add_parts(f, lo, n);
  } else {
    for (size_t i = 0; i < n; i += 64) {
      uint64_t fresh = bloom_add_held(f, lo + i, n - i < 64 ? (unsigned)(n - i) : 64);
      if (bitmap != NULL) bitmap[i / 64] = fresh;
    }
  }
  nay__batch_end(f->locks);
}

static nay_status bloom_batch_add(nay_filter *f, const uint64_t *lo, const uint64_t *hi, unsigned n,
                                  const uint64_t *next, uint64_t *bitmap, size_t *taken) {
  (void)next;
  if (f->locks != NULL) return nay__add_each(bloom_add, f, lo, hi, n, bitmap, taken);
  uint64_t word = f->kernels->bloom->add64(&f->bits, lo, n, bitmap != NULL);
  if (bitmap != NULL) *bitmap = word;
  return NAY_OK;
}

static uint64_t bloom_batch_test(const nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                                 unsigned n, const uint64_t *next) {
  (void)hi, (void)next;
  return f->kernels->bloom->test64(&f->bits, lo, n);
}

/*
 * A single probe tests eight bits at once, and few absent keys get further. A batch tests two bits
 * of each key first, and prefetches pay only in filters larger than the LLC.
 */
static void bloom_prefetch(const nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                           unsigned n) {
  (void)hi;
  if (n == 1) {
    bloom_prefetch_bits(f, lo[0], 8);
    return;
  }
  for (unsigned i = 0; i < n && f->nbytes >= NAY_OUT_OF_CACHE_BYTES; i++)
    bloom_prefetch_bits(f, lo[i], 2);
}

/* Sets bits whose lines have been prefetched. */
static void bloom_set_all(uint8_t *bytes, const uint64_t *bits, unsigned n) {
  for (unsigned i = 0; i < n; i++) bytes[bits[i] >> 3] |= (uint8_t)(1u << (bits[i] & 7));
}

/* A part is a run of whole cache lines: of each key the bits that lie there. */
static void bloom_add_part(nay_filter *f, const uint64_t *lo, uint64_t n, unsigned part,
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
      /* branch-free: for bits of other parts, prefetch our first line instead */
      used += mine;
      NAY_PREFETCH(f->bits.bytes + ((mine ? bit : first) >> 3));
    }
    if (used < 128) continue;
    bloom_set_all(f->bits.bytes, bits, used);
    used = 0;
  }
  bloom_set_all(f->bits.bytes, bits, used);
}

static void bloom_locate_bits(const nay_filter *f, const uint64_t *lo, unsigned n, uint64_t *bits) {
  for (unsigned i = 0; i < n; i++) {
    uint64_t h = lo[i];
    for (uint32_t probe = 0; probe < f->shape.k; probe++, h *= NAY_G64) {
      *bits++ = nay__reduce(h, f->shape.nunits);
    }
  }
}

static void bloom_add_partition(nay_filter *f, const void *locations, size_t nbytes, uint64_t first,
                                uint64_t count) {
  uint8_t *bytes = f->bits.bytes + first / 8; /* a multiple of 8: partitions are whole lines */
  const uint32_t *bit = locations;
  nay__bits_read(bytes, (size_t)nay__ceil_div(count, 8));
  for (size_t i = 0; i < nbytes / sizeof *bit; i++) {
    bytes[bit[i] >> 3] |= (uint8_t)(1u << (bit[i] & 7));
  }
}

static nay_status bloom_merge(nay_filter *dst, const nay_filter *src) {
  nay__bits_or(dst->bits.bytes, src->bits.bytes, dst->nbytes);
  return NAY_OK;
}

static void bloom_intersect(nay_filter *dst, const nay_filter *src) {
  nay__bits_and(dst->bits.bytes, src->bits.bytes, dst->nbytes);
}

/* The first group of `factor` neighbours, from `group` on, in which a bit is set; or their number.
 */
static uint64_t bloom_next_group(const nay_filter *f, uint64_t factor, uint64_t group) {
  uint64_t first = group * factor, bit = nay__bits_next(f->bits.bytes, first, f->shape.nunits);
  return bit - first < factor ? group : bit / factor; /* a division only where groups are empty */
}

static void bloom_fold(const nay_filter *src, uint64_t factor, uint8_t *dst) {
  uint64_t ngroups = src->shape.nunits / factor, group = bloom_next_group(src, factor, 0);
  for (; group < ngroups; group = bloom_next_group(src, factor, group + 1))
    nay__bit_set(dst, group);
}

/* How many bits would be set after a fold. */
static uint64_t bloom_count_folded(const nay_filter *f, uint64_t factor) {
  uint64_t count = 0, ngroups = f->shape.nunits / factor, group = bloom_next_group(f, factor, 0);
  for (; group < ngroups; group = bloom_next_group(f, factor, group + 1)) count++;
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

static unsigned bloom_probe_addresses(const nay_filter *f, nay_hash hash,
                                      const uint8_t **addresses) {
  uint64_t h = hash.lo;
  for (uint32_t i = 0; i < f->shape.k; i++, h *= NAY_G64) {
    addresses[i] = f->bits.bytes + (nay__reduce(h, f->shape.nunits) >> 3);
  }
  return f->shape.k;
}

static void bloom_to_params(const nay_filter *f, nay_params *params) {
  params->nbits = f->shape.nunits;
}

static const nay_family_batch bloom_batch = {
    .add = bloom_batch_add,
    .test = bloom_batch_test,
    .prefetch = bloom_prefetch,
};

static const nay_family_bulk bloom_bulk = {
    .add_batch = bloom_add_batch,
    .add_part = bloom_add_part,
    .add_partition = bloom_add_partition,
    .locate_bits = bloom_locate_bits,
};

static const nay_family_algebra bloom_algebra = {
    .merge = bloom_merge,
    .intersect = bloom_intersect,
    .fold = bloom_fold,
};

const nay_family nay__family_bloom = {
    .kind = NAY_BLOOM,
    .name = "bloom",
    .traits = NAY_CAN_ADD | NAY_CAN_MERGE | NAY_CAN_INTERSECT | NAY_CAN_FOLD,
    .concurrent = true,
    .plan = bloom_plan,
    .payload = bloom_payload,
    .fpr = bloom_fpr,
    .to_params = bloom_to_params,
    .check = bloom_check,
    .census = bloom_census,
    .bind = bloom_bind,
    .test = bloom_test,
    .explain = bloom_explain,
    .add = bloom_add,
    .probe_addresses = bloom_probe_addresses,
    .batch = &bloom_batch,
    .bulk = &bloom_bulk,
    .algebra = &bloom_algebra,
};
