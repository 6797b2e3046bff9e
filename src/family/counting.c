/*
 * counting.c - a blocked Bloom filter from which keys can be removed.
 *
 * Queries read a plain bit plane, exactly that of blocked.c, with the same kernels at the same
 * speed. Beside it lie counters: how many keys hold each bit. A bit is cleared with the last of
 * them. Four-bit counters for every bit would cost four planes; these cost little more than one:
 *
 *   payload   | bit plane: nblocks x 64 bytes | page 0 | page 1 | ...
 *   page      | a word for each group | flags | pool | ranks |        512 blocks, the last one less
 *
 * A group is 64 bits of the plane. Its word holds the counters of the bits that are set, in order,
 * in unary: c - 1 zeros, then a one.
 *
 *   plane word   ...0 1 0 0 1 1 0      three bits set, counters 1, 3, 1 from the right
 *   group word   ...0 0 0 1 1 0 0 1    read from the right: "1", "001", "1"
 *
 * So the r-th set bit owns what follows the r-th one, adding or removing a key inserts or deletes
 * one bit there, and the word is full when the counters sum to 64. The mean sum in a filter as full
 * as planned is 26 to 44. The few groups above (0.15% at 1%) have their flag set, their word zero,
 * and 64 four-bit counters in the page's pool, where records are sorted by group: a rank before
 * each row of 64 flags and the flags of the row itself tell which. As nothing depends on history,
 * the bytes are the same whatever the order of adds and removes, and keys that have gone leave no
 * trace.
 *
 * A counter that has reached 15 sticks: it is never changed again. Nor is a group that finds the
 * pool full: it is stuck as a whole (word zero, flag clear, plane not zero). What sticks can only
 * turn a nay into a maybe. Pools are planned so that this does not happen to as many keys as the
 * filter is for: counting_plan.c.
 *
 * Threads: adds and removals lock the page; the plane is written word by word with atomic
 * stores, so readers need no lock. Bytes: doc/families/counting.md. Fan, Cao, Almeida, Broder,
 * Summary Cache, 2000 (counting); unary words beside a plane: the succinct filter of
 * fastfilter_cpp.
 */
#include "base/bits.h"
#include "base/bytes.h"
#include "base/trace.h"
#include "family/bitarray.h"
#include "family/blocked.h"
#include "family/counting_page.h"
#include "family/explain.h"
#include "math/fpr.h"
#include "math/plan.h"
#include "os/spin.h"

/* ---- the family ---- */

static double counting_fpr(const nay_shape *shape, uint64_t nkeys) {
  return nay__fpr_blocked(shape->nunits, shape->k, nkeys);
}

static uint8_t *counting_lock(const nay_filter *f, uint64_t block) {
  return f->locks != NULL ? nay__spin_lock(f->locks, nay__stripe_of(block / NAY_COUNTING_PAGE))
                          : NULL;
}

static void counting_unlock(uint8_t *lock) {
  if (lock != NULL) nay__spin_unlock(lock);
}

/* A block and its counters: two cache lines, which are prefetched together. */
typedef struct counting_location {
  uint8_t *plane, *words;
} counting_location;

NAY_INLINE counting_location counting_locate(const nay_counting_table *t, uint64_t block) {
  nay_counting_page page = nay__counting_page_at(t, block / NAY_COUNTING_PAGE);
  return (counting_location){t->plane + block * NAY_BLOCK_BYTES,
                             page.words + block % NAY_COUNTING_PAGE * NAY_BLOCK_BYTES};
}

/* The probes that a kernel has left. */
static NAY_NOINLINE bool counting_rest(const nay_counting_table *t, uint64_t block, uint64_t hash,
                                       uint64_t left, int change) {
  nay_counting_page page = nay__counting_page_at(t, block / NAY_COUNTING_PAGE);
  uint64_t mask[NAY_COUNTING_GROUPS] = {0};
  bool fresh = false;
  for (uint32_t h = (uint32_t)hash; left != 0; left >>= 1, h *= NAY_G32) {
    mask[h >> NAY_BLOCK_WORD64_SHIFT] |= (left & 1) << (h >> NAY_BLOCK_BIT_SHIFT & 63);
  }
  for (unsigned g = 0; g < NAY_COUNTING_GROUPS; g++) {
    if (mask[g] == 0) continue;
    nay_counting_group group = nay__counting_group_at(t, &page, block, g);
    fresh |= nay__counting_group_change(&page, &group, mask[g], change);
  }
  return fresh;
}

/* Whether a bit of the key was clear. */
NAY_INLINE bool counting_change(const nay_filter *f, const nay_counting_table *t, uint64_t block,
                                uint64_t hash, nay_counting_change kernel, int change) {
  counting_location at = counting_locate(t, block);
  nay_counted counted = kernel(at.plane, at.words, hash, f->shape.k);
  if (NAY_LIKELY(counted.left == 0)) return counted.fresh;
  return counting_rest(t, block, hash, counted.left, change) || counted.fresh;
}

#ifdef NAY_WITH_TRACE
static void counting_trace(const nay_filter *f, const nay_counting_table *t, uint64_t block,
                           uint64_t hash) {
  uint8_t counts[NAY_BLOCK_BITS];
  nay_counting_page page = nay__counting_page_at(t, block / NAY_COUNTING_PAGE);
  for (unsigned g = 0; g < NAY_COUNTING_GROUPS; g++) {
    nay_counting_group group = nay__counting_group_at(t, &page, block, g);
    if (!nay__counting_get(&page, &group, counts + 64 * g)) {
      memset(counts + 64 * g, NAY_COUNTING_STUCK, 64);
    }
  }
  uint32_t x = (uint32_t)hash;
  for (uint32_t i = 0; i < f->shape.k; i++, x *= NAY_G32) {
    unsigned bit = x >> NAY_BLOCK_BIT_SHIFT;
    NAY_TRACE(COUNTER, 0, i, block, bit, counts[bit], 0);
  }
}
#define COUNTING_TRACE(f, t, block, hash) counting_trace(f, t, block, hash)
#else
#define COUNTING_TRACE(f, t, block, hash) ((void)0)
#endif

/* Whether the key was new. */
NAY_INLINE bool counting_add_one(const nay_filter *f, const nay_counting_table *t, uint64_t hash) {
  uint64_t block = nay__reduce(hash, t->nblocks);
  uint8_t *lock = counting_lock(f, block);
  bool once = NAY_UNLIKELY((f->shape.extra & NAY_COUNTING_UNIQUE) != 0);
  bool is_new = (!once || !f->kernels->blocked->test(&f->bits, hash)) &&
                counting_change(f, t, block, hash, f->kernels->counting->add, 1);
  COUNTING_TRACE(f, t, block, hash);
  counting_unlock(lock);
  return is_new;
}

static nay_status counting_add(nay_filter *f, nay_hash h, bool *is_new) {
  nay_counting_table t = nay__counting_of(f);
  *is_new = counting_add_one(f, &t, h.lo);
  return NAY_OK;
}

static nay_status counting_remove(nay_filter *f, nay_hash h) {
  nay_counting_table t = nay__counting_of(f);
  uint64_t block = nay__reduce(h.lo, t.nblocks);
  NAY_PREFETCH(counting_locate(&t, block).words);
  uint8_t *lock = counting_lock(f, block);
  bool was_there = f->kernels->blocked->test(&f->bits, h.lo);
  if (was_there) counting_change(f, &t, block, h.lo, f->kernels->counting->remove, -1);
  COUNTING_TRACE(f, &t, block, h.lo);
  counting_unlock(lock);
  return was_there ? NAY_OK : NAY_ENOENT;
}

/* The counters of a block. Set bits of a group that is stuck have NAY_COUNTING_STUCK. */
static void counting_read(const nay_filter *f, const nay_counting_table *t, uint64_t block,
                          uint8_t counts[NAY_BLOCK_BITS]) {
  uint8_t *lock = counting_lock(f, block);
  nay_counting_page page = nay__counting_page_at(t, block / NAY_COUNTING_PAGE);
  for (unsigned g = 0; g < NAY_COUNTING_GROUPS; g++, counts += 64) {
    nay_counting_group group = nay__counting_group_at(t, &page, block, g);
    if (nay__counting_get(&page, &group, counts)) continue;
    for (uint64_t left = nay__load64le(group.plane); left != 0; left &= left - 1)
      counts[nay__ctz64(left)] = NAY_COUNTING_STUCK;
  }
  counting_unlock(lock);
}

/* The least counter of the key's bits: none of them counts less than the key itself. */
static nay_status counting_count(const nay_filter *f, nay_hash h, uint64_t *count) {
  nay_counting_table t = nay__counting_of(f);
  uint64_t least = NAY_COUNTING_STUCK;
  uint8_t counts[NAY_BLOCK_BITS];
  counting_read(f, &t, nay__reduce(h.lo, t.nblocks), counts);
  uint32_t x = (uint32_t)h.lo;
  for (uint32_t i = 0; i < f->shape.k; i++, x *= NAY_G32)
    least = nay__min_u64(least, counts[x >> NAY_BLOCK_BIT_SHIFT]);
  *count = least;
  return NAY_OK;
}

/* As blocked.c, with the counter of each bit. */
static void counting_explain(const nay_filter *f, nay_hash h, nay_explain_run *run) {
  nay_counting_table t = nay__counting_of(f);
  uint64_t block = nay__reduce(h.lo, t.nblocks);
  uint8_t counts[NAY_BLOCK_BITS];
  counting_read(f, &t, block, counts);
  nay_explain_unit unit = nay__explain_block_unit(run, t.plane, block);
  nay__explain_group(run, 0, f->shape.k);
  uint32_t x = (uint32_t)h.lo;
  for (uint32_t i = 0; i < f->shape.k; i++, x *= NAY_G32)
    nay__explain_bit(run, &unit, x >> NAY_BLOCK_BIT_SHIFT, counts[x >> NAY_BLOCK_BIT_SHIFT]);
}

static bool counting_test(const nay_filter *f, nay_hash h) {
  return f->kernels->blocked->test(&f->bits, h.lo);
}

/* Keys prefetched ahead: with 64 at once most lines are evicted again before they are used, and a
 * batch of 10^7 takes three times as long. */
#define COUNTING_AHEAD 8u

NAY_INLINE void counting_prefetch(const nay_counting_table *t, uint64_t hash) {
  counting_location at = counting_locate(t, nay__reduce(hash, t->nblocks));
  NAY_PREFETCH(at.plane);
  NAY_PREFETCH(at.words);
}

static nay_status counting_batch_add(nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                                     unsigned n, const uint64_t *next, uint64_t *bitmap,
                                     size_t *taken) {
  (void)hi, (void)next, (void)taken;
  nay_counting_table t = nay__counting_of(f);
  uint64_t word = 0;
  for (unsigned i = 0; i < n && i < COUNTING_AHEAD; i++) counting_prefetch(&t, lo[i]);
  for (unsigned i = 0; i < n; i++) {
    if (i + COUNTING_AHEAD < n) counting_prefetch(&t, lo[i + COUNTING_AHEAD]);
    word |= (uint64_t)counting_add_one(f, &t, lo[i]) << i;
  }
  if (bitmap != NULL) *bitmap = word;
  return NAY_OK;
}

/* Parts are whole pages: nothing outside a page depends on its keys. */
static void counting_add_part(nay_filter *f, const uint64_t *lo, uint64_t n, unsigned part,
                              unsigned nparts) {
  uint64_t npages = nay__counting_npages(f->shape.nunits);
  uint64_t first = nay__part(npages, part, nparts) * NAY_COUNTING_PAGE;
  uint64_t end = nay__part(npages, part + 1, nparts) * NAY_COUNTING_PAGE;
  nay__blocked_add_range(f, lo, n, first, nay__min_u64(end, f->shape.nunits) - first);
}

/* Adds the counters of one group to those of another, stuck when either is. */
static void counting_join(const nay_counting_page *dst_page, const nay_counting_group *to,
                          const nay_counting_page *src_page, const nay_counting_group *from) {
  uint64_t before = nay__load64le(to->plane), more = nay__load64le(from->plane);
  uint8_t sum[64], other[64];
  if (more == 0) return;
  bool counted = nay__counting_get(dst_page, to, sum);
  counted &= nay__counting_get(src_page, from, other);
  nay__shared_store64le(to->plane, before | more);
  if (!counted) {
    if (nay__counting_flagged(dst_page, to)) nay__counting_record_delete(dst_page, to);
    nay__store64le(to->word, 0);
    return;
  }
  for (unsigned bit = 0; bit < 64; bit++) {
    unsigned total = (unsigned)sum[bit] + other[bit];
    sum[bit] = (uint8_t)(total < NAY_COUNTING_STUCK ? total : NAY_COUNTING_STUCK);
  }
  nay__counting_put(dst_page, to, sum);
}

/* Adds block `from` of src to block `to` of dst. */
static void counting_join_block(const nay_counting_table *dst, uint64_t to,
                                const nay_counting_table *src, uint64_t from) {
  nay_counting_page dst_page = nay__counting_page_at(dst, to / NAY_COUNTING_PAGE);
  nay_counting_page src_page = nay__counting_page_at(src, from / NAY_COUNTING_PAGE);
  for (unsigned g = 0; g < NAY_COUNTING_GROUPS; g++) {
    nay_counting_group to_group = nay__counting_group_at(dst, &dst_page, to, g);
    nay_counting_group from_group = nay__counting_group_at(src, &src_page, from, g);
    counting_join(&dst_page, &to_group, &src_page, &from_group);
  }
}

static nay_status counting_merge(nay_filter *dst, const nay_filter *src) {
  nay_counting_table d = nay__counting_of(dst), s = nay__counting_of(src);
  for (uint64_t block = 0; block < d.nblocks; block++) counting_join_block(&d, block, &s, block);
  return NAY_OK;
}

static void counting_fold(const nay_filter *src, uint64_t factor, uint8_t *dst) {
  nay_shape shape = src->shape;
  shape.nunits /= factor;
  nay_counting_table d = nay__counting_open(dst, &shape), s = nay__counting_of(src);
  for (uint64_t block = 0; block < s.nblocks; block++) {
    counting_join_block(&d, block / factor, &s, block);
  }
}

static uint64_t counting_stuck_in(const nay_counting_page *p, const nay_counting_group *g) {
  uint8_t counts[64];
  if (!nay__counting_get(p, g, counts)) return nay__popcount64(nay__load64le(g->plane));
  uint64_t n = 0;
  for (unsigned bit = 0; bit < 64; bit++) n += counts[bit] == NAY_COUNTING_STUCK;
  return n;
}

static void counting_describe(const nay_filter *f, nay_stats *stats) {
  stats->nbits = (uint64_t)f->nbytes * 8; /* the counters too; fill stays that of the plane */
  nay_counting_table t = nay__counting_of(f);
  for (uint64_t block = 0; block < t.nblocks; block++) {
    nay_counting_page page = nay__counting_page_at(&t, block / NAY_COUNTING_PAGE);
    for (unsigned g = 0; g < NAY_COUNTING_GROUPS; g++) {
      nay_counting_group group = nay__counting_group_at(&t, &page, block, g);
      stats->nstuck += counting_stuck_in(&page, &group);
    }
  }
}

/* ---- bytes from outside ---- */

static bool counting_word_ok(uint64_t plane, uint64_t word) {
  if (word == 0) return true; /* empty, or stuck */
  if (nay__popcount64(word) != nay__popcount64(plane)) return false;
  while (word != 0) {
    unsigned zeros = nay__ctz64(word);
    if (zeros >= NAY_COUNTING_STUCK) return false;
    word = zeros == 63 ? 0 : word >> (zeros + 1);
  }
  return true;
}

static bool counting_record_ok(uint64_t plane, const uint8_t *record) {
  for (unsigned bit = 0; bit < 64; bit++) {
    if ((nay__counting_nibble(record, bit) != 0) != ((plane >> bit & 1) != 0)) return false;
  }
  return nay__counting_total(record) > 64;
}

/* Flags, ranks and the unused rest of the pool: what every place in the page is computed from. */
static bool counting_page_ok(const nay_counting_page *p, const uint8_t *end) {
  unsigned used = 0, spare = p->nrows * 8 - p->nblocks;
  for (unsigned row = 0; row < p->nrows; row++) {
    if (nay__counting_rank(p, row) != used) return false;
    used += nay__popcount64(nay__load64le(p->flags + row * 8));
  }
  if (nay__counting_rank(p, p->nrows) != used || used > p->nrecords) return false;
  const uint8_t *free_at = p->pool + (size_t)used * NAY_COUNTING_RECORD;
  const uint8_t *after = p->ranks + (p->nrows + 1) * 2;
  return nay__all_zero(p->flags + p->nblocks, spare) &&
         nay__all_zero(free_at, (size_t)(p->ranks - free_at)) &&
         nay__all_zero(after, (size_t)(end - after));
}

static bool counting_groups_ok(const nay_counting_table *t, const nay_counting_page *p,
                               uint64_t first) {
  for (unsigned i = 0; i < p->nblocks * NAY_COUNTING_GROUPS; i++) {
    nay_counting_group g =
        nay__counting_group_at(t, p, first + i / NAY_COUNTING_GROUPS, i % NAY_COUNTING_GROUPS);
    uint64_t plane = nay__load64le(g.plane), word = nay__load64le(g.word);
    bool ok = nay__counting_flagged(p, &g)
                  ? word == 0 && counting_record_ok(plane, nay__counting_record(p, &g))
                  : counting_word_ok(plane, word);
    if (!ok) return false;
  }
  return true;
}

static nay_status counting_check(const nay_shape *shape, const uint8_t *payload, size_t len,
                                 nay_diag *diag) {
  nay_counting_table t = nay__counting_open((uint8_t *)(uintptr_t)payload, shape);
  for (uint64_t i = 0; i < nay__counting_npages(t.nblocks); i++) {
    nay_counting_page p = nay__counting_page_at(&t, i);
    const uint8_t *end = p.words + nay__counting_page_size(p.nblocks, t.spare);
    if (end > payload + len || !counting_page_ok(&p, end) ||
        !counting_groups_ok(&t, &p, i * NAY_COUNTING_PAGE)) {
      return nay__fail(diag, NAY_ECORRUPT, "counters do not fit the bits",
                       (uint64_t)(p.words - payload));
    }
  }
  return NAY_OK;
}

static void counting_to_params(const nay_filter *f, nay_params *params) {
  nay__blocked_to_params(f, params);
  if ((f->shape.extra & NAY_COUNTING_UNIQUE) != 0) params->flags |= NAY_UNIQUE;
}

static const nay_family_batch counting_batch = {
    .interleaves_test = true,
    .add = counting_batch_add,
    .test = nay__blocked_batch_test,
    .prefetch = nay__blocked_prefetch,
};

static const nay_family_bulk counting_bulk = {.add_part = counting_add_part};

static const nay_family_algebra counting_algebra = {
    .merge = counting_merge,
    .fold = counting_fold,
};

const nay_family nay__family_counting = {
    .kind = NAY_COUNTING,
    .name = "counting",
    .traits = NAY_CAN_ADD | NAY_CAN_REMOVE | NAY_CAN_MERGE | NAY_CAN_FOLD | NAY_CAN_COUNT,
    .knobs = NAY_KNOB_UNIQUE,
    .ordered = true,
    .concurrent = true,
    .copy_locked = true,
    .capacity_mask = ~NAY_COUNTING_UNIQUE,
    .plan = nay__counting_plan,
    .payload = nay__counting_payload,
    .fpr = counting_fpr,
    .to_params = counting_to_params,
    .check = counting_check,
    .census = nay__blocked_census,
    .describe = counting_describe,
    .bind = nay__blocked_bind_probe,
    .test = counting_test,
    .explain = counting_explain,
    .add = counting_add,
    .remove = counting_remove,
    .count = counting_count,
    .batch = &counting_batch,
    .bulk = &counting_bulk,
    .algebra = &counting_algebra,
};
