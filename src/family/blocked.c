/*
 * blocked.c - the blocked Bloom filter: all k bits of a key lie in one cache line.
 *
 *          block 0          block 1          block 2                 64 bytes = 512 bits each
 *     |................|..1....1.1....1.|................| ...
 *                         \____ one key: k bits of one block
 *
 * The high bits of the hash choose the block, floor(h * nblocks / 2^64); the low 32 bits make the
 * pattern: x, x*g, x*g^2, ... (mod 2^32), the top 9 bits of each naming one of the 512. A probe
 * costs one cache miss whatever k is, and the pattern is made by one vector multiplication.
 *
 * The price: blocks do not fill evenly. At 1% that is 3% more bits than a classic Bloom, at 0.1%
 * 8%, at 10^-6 34%. The exact false-positive rate (FPR) (math/fpr.c) mixes over the number of keys
 * in a block.
 *
 * Fold by f: block i of nblocks is block i/f of nblocks/f, so or-ing f neighbours gives exactly the
 * filter built at that size. Twice the keys get exactly twice the blocks (math/plan.c).
 *
 * Payload: the blocks. Putze, Sanders, Singler: Cache-, hash- and space-efficient Bloom filters,
 * WEA 2007; the in-line pattern is that of RocksDB's FastLocalBloom.
 */
#include "family/blocked.h"

#include "base/bits.h"
#include "family/bitarray.h"
#include "family/explain.h"
#include "math/elementary.h"
#include "math/fpr.h"
#include "math/plan.h"
#include "os/spin.h"

nay_status nay__blocked_plan(const nay_params *p, nay_diag *diag, nay_shape *shape) {
  nay_sizing by;
  NAY_TRY(nay__params_check(p, diag, &by));
  uint64_t nblocks = 0;
  switch (by) {
    case NAY_BY_FPR:
      nblocks = nay__blocked_size(p->nkeys, p->fpr, p->k);
      if (nblocks == 0) {
        return nay__fail(diag, NAY_EINVAL, "fpr is too low for blocks of 512 bits: take bloom", 0);
      }
      break;
    case NAY_BY_BITS_PER_KEY:
      nblocks = nay__grid_up((double)p->nkeys * p->bits_per_key / NAY_BLOCK_BITS);
      break;
    case NAY_BY_NBYTES:
      nblocks = p->nbytes / NAY_BLOCK_BYTES;
      if (nblocks == 0) {
        return nay__fail(diag, NAY_EINVAL, "nbytes is below one block of 64 bytes: take bloom", 0);
      }
      nblocks = nay__grid_down(nblocks);
      if (p->fold > 1) nblocks -= nblocks % p->fold;
      break;
    case NAY_BY_NBITS:
      if (p->nbits % NAY_BLOCK_BITS != 0) {
        return nay__fail(diag, NAY_EINVAL, "nbits is not a multiple of 512, the block", 0);
      }
      nblocks = p->nbits / NAY_BLOCK_BITS;
      break;
  }
  bool up = by == NAY_BY_FPR || by == NAY_BY_BITS_PER_KEY;
  if (p->fold > 1 && up) nblocks = nay__round_up(nblocks, p->fold);
  if (p->fold > 1 && (nblocks == 0 || nblocks % p->fold != 0)) {
    return nay__fail(diag, NAY_EINVAL, "fold does not divide the number of blocks", 0);
  }
  if (nblocks > NAY_MAX_NBITS / NAY_BLOCK_BITS) {
    const char *what = p->fold > 1 ? "fold: rounded up to it the size is above 2^60 bits"
                                   : "fpr or bits_per_key needs more than 2^60 bits";
    return nay__fail(diag, NAY_EINVAL, what, 0);
  }
  *shape = (nay_shape){nblocks, p->k != 0 ? p->k : nay__blocked_k(nblocks, p->nkeys), 0};
  return NAY_OK;
}

static bool blocked_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {
  if (shape->nunits == 0 || shape->nunits > NAY_MAX_NBITS / NAY_BLOCK_BITS) return false;
  if (shape->k == 0 || shape->k > NAY_MAX_K || shape->extra != 0) return false;
  *nbits = shape->nunits * NAY_BLOCK_BITS;
  *nbytes = shape->nunits * NAY_BLOCK_BYTES;
  return true;
}

static double blocked_fpr(const nay_shape *shape, uint64_t nkeys) {
  return nay__fpr_blocked(shape->nunits, shape->k, nkeys);
}

void nay__blocked_bind_probe(nay_filter *f) { f->bits.probe = f->kernels->blocked->test; }

static void blocked_bind(nay_filter *f) {
  nay__blocked_bind_probe(f);
  const nay_blocked_add_kernels *kernels = f->kernels->blocked_add;
  bool alone = (f->flags & NAY_CONCURRENT) == 0 && kernels->choose_add_blind != NULL;
  f->add_blind = alone ? kernels->choose_add_blind(&f->bits) : NULL;
}

/*
 * With many threads: adders lock the stripe of the block, so that finding a bit clear and setting
 * all of them is one step, and one of several adders of a key is told that it is new. Readers lock
 * nothing. Batches lock a region of blocks at a time (build/concurrent_add.c).
 */
static uint8_t *blocked_lock(const nay_filter *f, uint64_t hash) {
  uint64_t block = nay__reduce(hash, f->shape.nunits);
  uint32_t region = (uint32_t)(block >> nay__region_shift(f->shape.nunits));
  return nay__spin_lock(f->locks, nay__stripe_in_region(region, block));
}

static nay_status blocked_add(nay_filter *f, nay_hash h, bool *is_new) {
  uint8_t *lock = f->locks != NULL ? blocked_lock(f, h.lo) : NULL;
  *is_new = f->kernels->blocked_add->add(&f->bits, h.lo);
  if (lock != NULL) nay__spin_unlock(lock);
  return NAY_OK;
}

static bool blocked_test(const nay_filter *f, nay_hash h) {
  return f->kernels->blocked->test(&f->bits, h.lo);
}

static void blocked_explain(const nay_filter *f, nay_hash h, nay_explain_run *run) {
  nay__explain_block(run, 0, f->bits.bytes, nay__reduce(h.lo, f->shape.nunits), f->shape.k,
                     (uint32_t)h.lo);
}

void nay__blocked_prefetch(const nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                           unsigned n) {
  (void)hi;
  nay__blocked_prefetch64(&f->bits, lo, n);
}

/* Adds of several threads: the stripe of each block is locked. */
static nay_status blocked_add_locked(nay_filter *f, const uint64_t *lo, unsigned n,
                                     uint64_t *bitmap, size_t *taken) {
  for (unsigned i = 0; i < n; i++) {
    NAY_PREFETCH(f->bits.bytes + nay__reduce(lo[i], f->shape.nunits) * NAY_BLOCK_BYTES);
  }
  return nay__add_each(blocked_add, f, lo, NULL, n, bitmap, taken);
}

static nay_status blocked_batch_add(nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                                    unsigned n, const uint64_t *next, uint64_t *bitmap,
                                    size_t *taken) {
  if (f->locks != NULL) {
    if (next != NULL) nay__blocked_prefetch(f, next, hi, 64);
    return blocked_add_locked(f, lo, n, bitmap, taken);
  }
  uint64_t word = f->kernels->blocked_add->add64(&f->bits, lo, n, next, bitmap != NULL);
  if (bitmap != NULL) *bitmap = word;
  return NAY_OK;
}

/* The caller holds the regions of these hashes. */
static uint64_t blocked_add_held(nay_filter *f, const uint64_t *lo, unsigned n, bool report) {
  return f->kernels->blocked_add->add64(&f->bits, lo, n, NULL, report);
}

uint64_t nay__blocked_batch_test(const nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                                 unsigned n, const uint64_t *next) {
  (void)hi;
  return f->kernels->blocked->test64(&f->bits, lo, n, next);
}

/* The least hash of unit `unit` of n: the units of a part are a range of hashes. */
static uint64_t blocked_least_hash(uint64_t unit, uint64_t n) {
  uint64_t hash = 0;
  for (uint64_t bit = (uint64_t)1 << 63; bit != 0; bit >>= 1) {
    if (nay__reduce(hash | (bit - 1), n) < unit) hash |= bit;
  }
  return hash;
}

/* Blind adds, of a caller who is alone in these blocks. None of the families that are loaded like
 * this can fail. */
static void blocked_add_all(nay_filter *f, const uint64_t *lo, size_t n) {
  for (size_t i = 0; i < n; i += 64) {
    unsigned group = n - i < 64 ? (unsigned)(n - i) : 64;
    if (f->family->bulk->add_held != NULL) {
      (void)f->family->bulk->add_held(f, lo + i, group, false);
    } else {
      (void)f->family->batch->add(f, lo + i, NULL, group, NULL, NULL, NULL);
    }
  }
}

/* Adds 64 hashes while the blocks of the next 64 are being prefetched. */
static void blocked_add_group(nay_filter *f, const uint64_t *lo, const uint64_t *next) {
  const nay_family_batch *batch = f->family->batch;
  if (!batch->interleaves_add) batch->prefetch(f, next, NULL, 64);
  (void)batch->add(f, lo, NULL, 64, batch->interleaves_add ? next : NULL, NULL, NULL);
}

static unsigned blocked_select(const nay_filter *f, const uint64_t *lo, unsigned n, uint64_t least,
                               uint64_t span, uint64_t *kept) {
  if (n == 64 && f->kernels->partition != NULL) {
    return f->kernels->partition->select64(lo, least, span, kept);
  }
  unsigned used = 0;
  for (unsigned i = 0; i < n; i++) {
    kept[used] = lo[i];
    used += lo[i] - least <= span; /* branch-free: the branch would be mispredicted */
  }
  return used;
}

/* Selects the hashes of the range, and adds 64 of them as soon as the 64 after them are known. */
void nay__blocked_add_range(nay_filter *f, const uint64_t *lo, uint64_t n, uint64_t first,
                            uint64_t count) {
  if (count == 0) return;
  uint64_t nunits = f->shape.nunits, least = blocked_least_hash(first, nunits);
  bool last = first + count == nunits;
  uint64_t span = (last ? 0 : blocked_least_hash(first + count, nunits)) - 1 - least;
  uint64_t kept[3 * 64];
  unsigned used = 0;
  for (uint64_t from = 0; from < n; from += 64) {
    unsigned chunk = n - from < 64 ? (unsigned)(n - from) : 64;
    used += blocked_select(f, lo + from, chunk, least, span, kept + used);
    if (used < 128) continue;
    blocked_add_group(f, kept, kept + 64);
    used -= 64;
    memmove(kept, kept + 64, used * sizeof kept[0]);
  }
  blocked_add_all(f, kept, used);
}

static void blocked_add_part(nay_filter *f, const uint64_t *lo, uint64_t n, unsigned part,
                             unsigned nparts) {
  uint64_t first = nay__part(f->shape.nunits, part, nparts);
  nay__blocked_add_range(f, lo, n, first, nay__part(f->shape.nunits, part + 1, nparts) - first);
}

static void blocked_add_partition(nay_filter *f, const void *hashes, size_t nbytes, uint64_t first,
                                  uint64_t count) {
  nay__bits_read(f->bits.bytes + first * NAY_BLOCK_BYTES, (size_t)count * NAY_BLOCK_BYTES);
  blocked_add_all(f, hashes, nbytes / sizeof(uint64_t));
}

static nay_status blocked_merge(nay_filter *dst, const nay_filter *src) {
  nay__bits_or(dst->bits.bytes, src->bits.bytes, dst->nbytes);
  return NAY_OK;
}

static void blocked_intersect(nay_filter *dst, const nay_filter *src) {
  nay__bits_and(dst->bits.bytes, src->bits.bytes, dst->nbytes);
}

static void blocked_fold(const nay_filter *src, uint64_t factor, uint8_t *dst) {
  const uint8_t *from = src->bits.bytes;
  for (uint64_t to = 0; to < src->shape.nunits / factor; to++, dst += NAY_BLOCK_BYTES) {
    for (uint64_t i = 0; i < factor; i++, from += NAY_BLOCK_BYTES) {
      nay__bits_or(dst, from, NAY_BLOCK_BYTES);
    }
  }
}

/* histogram[x]: how many blocks have x bits set, after the union with b or the fold by factor. */
static void blocked_histogram(const nay_bits *a, const nay_bits *b, uint64_t factor,
                              uint64_t histogram[NAY_BLOCK_BITS + 1]) {
  const uint8_t *p = a->bytes, *q = b != NULL ? b->bytes : NULL;
  for (uint64_t block = 0; block < a->nunits / factor; block++) {
    uint8_t sum[NAY_BLOCK_BYTES] = {0};
    for (uint64_t i = 0; i < factor; i++, p += NAY_BLOCK_BYTES) nay__bits_or(sum, p, sizeof sum);
    if (q != NULL) nay__bits_or(sum, q + block * NAY_BLOCK_BYTES, sizeof sum);
    histogram[nay__bits_count(sum, sizeof sum)]++;
  }
}

/* Maximum likelihood and FPR block by block: a mean over all bits would miss the uneven filling.
 */
void nay__blocked_measure(const nay_bits *a, const nay_bits *b, uint64_t factor,
                          nay_census *census) {
  uint64_t histogram[NAY_BLOCK_BITS + 1] = {0};
  blocked_histogram(a, b, factor, histogram);
  uint64_t nblocks = a->nunits / factor;
  nay_census c = {.nbits = nblocks * NAY_BLOCK_BITS};
  for (unsigned x = 0; x <= NAY_BLOCK_BITS; x++) {
    double blocks = (double)histogram[x];
    c.nbits_set += x * histogram[x];
    nay_estimate keys = nay__estimate_keys(NAY_BLOCK_BITS, a->k, x);
    nay__estimate_add(&c.keys, &keys, histogram[x]);
    c.fpr += blocks / (double)nblocks * nay__ipow((double)x / NAY_BLOCK_BITS, a->k);
  }
  *census = c;
}

void nay__blocked_census(const nay_filter *a, const nay_filter *b, uint64_t factor,
                         nay_census *census) {
  nay__blocked_measure(&a->bits, b != NULL ? &b->bits : NULL, factor, census);
}

static unsigned blocked_probe_addresses(const nay_filter *f, nay_hash hash,
                                        const uint8_t **addresses) {
  addresses[0] = f->bits.bytes + nay__reduce(hash.lo, f->shape.nunits) * NAY_BLOCK_BYTES;
  return 1; /* blocks and checksummed chunks are both aligned: a block never lies in two chunks */
}

void nay__blocked_to_params(const nay_filter *f, nay_params *params) {
  params->nbits = f->shape.nunits * NAY_BLOCK_BITS;
}

static const nay_family_batch blocked_batch = {
    .interleaves_add = true,
    .interleaves_test = true,
    .add = blocked_batch_add,
    .test = nay__blocked_batch_test,
    .prefetch = nay__blocked_prefetch,
};

static const nay_family_bulk blocked_bulk = {
    .add_part = blocked_add_part,
    .add_partition = blocked_add_partition,
    .add_held = blocked_add_held,
};

static const nay_family_algebra blocked_algebra = {
    .merge = blocked_merge,
    .intersect = blocked_intersect,
    .fold = blocked_fold,
};

const nay_family nay__family_blocked = {
    .kind = NAY_BLOCKED,
    .name = "blocked",
    .traits = NAY_CAN_ADD | NAY_CAN_MERGE | NAY_CAN_INTERSECT | NAY_CAN_FOLD,
    .concurrent = true,
    .plan = nay__blocked_plan,
    .payload = blocked_payload,
    .fpr = blocked_fpr,
    .to_params = nay__blocked_to_params,
    .census = nay__blocked_census,
    .bind = blocked_bind,
    .test = blocked_test,
    .explain = blocked_explain,
    .add = blocked_add,
    .probe_addresses = blocked_probe_addresses,
    .batch = &blocked_batch,
    .bulk = &blocked_bulk,
    .algebra = &blocked_algebra,
};
