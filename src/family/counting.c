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
 * as planned is about 40. The few groups above (0.2 % at 1 %) have their flag set, their word zero,
 * and 64 four-bit counters in the page's pool, where records are sorted by group: a rank before
 * each row of 64 flags and the flags of the row itself tell which. As nothing depends on history,
 * the bytes are the same whatever the order of adds and removes, and keys that have gone leave no
 * trace.
 *
 * A counter that has reached 15 sticks: it is never changed again. Nor is a group that finds the
 * pool full: it is stuck as a whole (word zero, flag clear, plane not zero). What sticks can only
 * turn a nay into a maybe.
 *
 * Threads: whoever adds or removes locks the page; the plane is written byte by byte with atomic
 * stores, so readers need no lock. Bytes: doc/families/counting.md. Fan, Cao, Almeida, Broder,
 * Summary Cache, 2000 (counting); unary words beside a plane: the succinct filter of
 * fastfilter_cpp.
 */
#include "base/bits.h"
#include "base/bytes.h"
#include "base/spin.h"
#include "family/bitarray.h"
#include "family/blocked.h"
#include "math/fpr.h"
#include "math/plan.h"

#define COUNTING_PAGE 512u /* blocks; larger pages save a percent of pool and move more memory */
#define COUNTING_GROUPS 8u /* of a block */
#define COUNTING_RECORD 32u
#define COUNTING_STUCK 15u
#define COUNTING_UNIQUE 1u /* shape.extra */

/* ---- where things are ---- */

typedef struct counting_table {
  uint8_t *plane;
  uint8_t *pages;
  uint64_t nblocks;
  uint32_t nrecords; /* in each pool */
  bool shared;
} counting_table;

typedef struct counting_page {
  uint8_t *words, *flags, *ranks, *pool;
  unsigned nblocks, nrows;
  uint32_t nrecords;
} counting_page;

/*
 * Records of a page: one for each 48 groups, and 8. Of the 4096 groups of a page in a filter as
 * full as planned, 3 to 8 are above 64 (rates from 10 % to 0.01 %); with 10 % more keys 17 to 31,
 * eight standard deviations below the 93 records; with 20 % more the pools begin to overflow.
 */
static uint32_t counting_nrecords(const nay_shape *shape) {
  uint64_t nblocks = nay__min_u64(shape->nunits, COUNTING_PAGE);
  return (uint32_t)nay__min_u64(nblocks / 6 + 8, nblocks * COUNTING_GROUPS);
}

static counting_table counting_open(uint8_t *payload, const nay_shape *shape, bool shared) {
  return (counting_table){payload, payload + shape->nunits * NAY_BLOCK_BYTES, shape->nunits,
                          counting_nrecords(shape), shared};
}

static counting_table counting_of(const nay_filter *f) {
  return counting_open(f->bits.bytes, &f->shape, f->locks != NULL);
}

static unsigned counting_rows(unsigned nblocks) { return (nblocks + 7) / 8; }

/* Words, flags (8 bytes a row), pool, ranks (2 bytes a row and the total); to a cache line. */
static uint64_t counting_page_size(unsigned nblocks, uint32_t nrecords) {
  unsigned nrows = counting_rows(nblocks);
  return (uint64_t)nblocks * NAY_BLOCK_BYTES +
         nay__round_up((uint64_t)nrows * 8 + (nrows + 1) * 2 + (uint64_t)nrecords * COUNTING_RECORD,
                       NAY_CACHE_LINE);
}

NAY_INLINE counting_page counting_page_at(const counting_table *t, uint64_t page) {
  uint64_t left = t->nblocks - page * COUNTING_PAGE;
  counting_page p = {.nblocks = left < COUNTING_PAGE ? (unsigned)left : COUNTING_PAGE,
                     .nrecords = t->nrecords};
  p.nrows = counting_rows(p.nblocks);
  p.words = t->pages + page * counting_page_size(COUNTING_PAGE, t->nrecords);
  p.flags = p.words + (size_t)p.nblocks * NAY_BLOCK_BYTES;
  p.pool = p.flags + (size_t)p.nrows * 8;
  p.ranks = p.pool + (size_t)p.nrecords * COUNTING_RECORD;
  return p;
}

static uint64_t counting_npages(uint64_t nblocks) { return nay__ceil_div(nblocks, COUNTING_PAGE); }

/* ---- one group ---- */

/* A group at its place: `at` points to its plane word; row and bit to its flag. */
typedef struct counting_group {
  uint8_t *plane, *word;
  unsigned row, bit;
} counting_group;

NAY_INLINE counting_group counting_group_at(const counting_table *t, const counting_page *p,
                                            uint64_t block, unsigned group) {
  unsigned in_page = (unsigned)(block % COUNTING_PAGE);
  return (counting_group){t->plane + block * NAY_BLOCK_BYTES + group * 8,
                          p->words + (size_t)in_page * NAY_BLOCK_BYTES + group * 8, in_page / 8,
                          in_page % 8 * COUNTING_GROUPS + group};
}

NAY_INLINE bool counting_flagged(const counting_page *p, const counting_group *g) {
  return (nay__load64le(p->flags + g->row * 8) >> g->bit & 1) != 0;
}

static unsigned counting_rank(const counting_page *p, unsigned row) {
  return nay__load16le(p->ranks + row * 2);
}

static uint8_t *counting_record(const counting_page *p, const counting_group *g) {
  uint64_t below = nay__load64le(p->flags + g->row * 8) & (((uint64_t)1 << g->bit) - 1);
  return p->pool + (size_t)(counting_rank(p, g->row) + nay__popcount64(below)) * COUNTING_RECORD;
}

/* Sets or clears a flag and keeps the ranks of the rows after it. */
static void counting_flip_flag(const counting_page *p, const counting_group *g, int change) {
  uint8_t *flags = p->flags + g->row * 8;
  nay__store64le(flags, nay__load64le(flags) ^ (uint64_t)1 << g->bit);
  for (unsigned row = g->row + 1; row <= p->nrows; row++) {
    nay__store16le(p->ranks + row * 2, (uint16_t)((int)counting_rank(p, row) + change));
  }
}

/* A zeroed record for the group at its sorted place; NULL when the pool is full. */
static uint8_t *counting_record_insert(const counting_page *p, const counting_group *g) {
  unsigned used = counting_rank(p, p->nrows);
  if (used == p->nrecords) return NULL;
  uint8_t *record = counting_record(p, g), *end = p->pool + (size_t)used * COUNTING_RECORD;
  memmove(record + COUNTING_RECORD, record, (size_t)(end - record));
  memset(record, 0, COUNTING_RECORD);
  counting_flip_flag(p, g, 1);
  return record;
}

static void counting_record_delete(const counting_page *p, const counting_group *g) {
  unsigned used = counting_rank(p, p->nrows);
  uint8_t *record = counting_record(p, g), *end = p->pool + (size_t)used * COUNTING_RECORD;
  memmove(record, record + COUNTING_RECORD, (size_t)(end - record) - COUNTING_RECORD);
  memset(end - COUNTING_RECORD, 0, COUNTING_RECORD);
  counting_flip_flag(p, g, -1);
}

/* Readers look at the plane without a lock: bytes that change are stored one by one, atomically. */
static void counting_store_plane(const counting_table *t, uint8_t *at, uint64_t before,
                                 uint64_t after) {
  if (!t->shared) {
    nay__store64le(at, after);
    return;
  }
  for (unsigned i = 0; i < 8; i++, before >>= 8, after >>= 8) {
    if ((uint8_t)before != (uint8_t)after) nay__atomic_store8(at + i, (uint8_t)after);
  }
}

static unsigned counting_nibble(const uint8_t *record, unsigned bit) {
  return record[bit / 2] >> (bit % 2 * 4) & 15;
}

static void counting_set_nibble(uint8_t *record, unsigned bit, unsigned value) {
  unsigned shift = bit % 2 * 4;
  record[bit / 2] = (uint8_t)((record[bit / 2] & ~(15u << shift)) | value << shift);
}

static unsigned counting_total(const uint8_t *record) {
  unsigned total = 0;
  for (unsigned i = 0; i < COUNTING_RECORD; i++) total += (record[i] & 15u) + (record[i] >> 4);
  return total;
}

/* The counters of a group, all 64; false when it is stuck. */
static bool counting_get(const counting_page *p, const counting_group *g, uint8_t counts[64]) {
  uint64_t plane = nay__load64le(g->plane), word = nay__load64le(g->word);
  memset(counts, 0, 64);
  if (counting_flagged(p, g)) {
    const uint8_t *record = counting_record(p, g);
    for (unsigned bit = 0; bit < 64; bit++) counts[bit] = (uint8_t)counting_nibble(record, bit);
    return true;
  }
  if (word == 0) return plane == 0;
  for (; plane != 0 && word != 0; plane &= plane - 1) {
    unsigned zeros = nay__ctz64(word);
    counts[nay__ctz64(plane)] = (uint8_t)(zeros + 1);
    word = zeros == 63 ? 0 : word >> (zeros + 1);
  }
  return true;
}

static uint64_t counting_unary(const uint8_t counts[64]) {
  uint64_t word = 0;
  unsigned at = 0;
  for (unsigned bit = 0; bit < 64; bit++) {
    if (counts[bit] == 0) continue;
    at += counts[bit];
    word |= (uint64_t)1 << (at - 1);
  }
  return word;
}

/* Writes counters into a group, wherever they were; it sticks when there is no room. */
static void counting_put(const counting_page *p, const counting_group *g,
                         const uint8_t counts[64]) {
  unsigned total = 0;
  bool flagged = counting_flagged(p, g);
  for (unsigned bit = 0; bit < 64; bit++) total += counts[bit];
  nay__store64le(g->word, total <= 64 ? counting_unary(counts) : 0);
  if (total <= 64) {
    if (flagged) counting_record_delete(p, g);
    return;
  }
  uint8_t *record = flagged ? counting_record(p, g) : counting_record_insert(p, g);
  for (unsigned bit = 0; record != NULL && bit < 64; bit++) {
    counting_set_nibble(record, bit, counts[bit]);
  }
}

/*
 * Adds 1 to the counters of mask, or takes it off, whatever the group is like. Returns whether one
 * of the bits was clear.
 */
static bool counting_group_change(const counting_table *t, const counting_page *p,
                                  const counting_group *g, uint64_t mask, int change) {
  uint8_t counts[64];
  uint64_t before = nay__load64le(g->plane), after = change > 0 ? before | mask : before;
  if (counting_get(p, g, counts)) {
    for (uint64_t rest = mask; rest != 0; rest &= rest - 1) {
      unsigned bit = nay__ctz64(rest);
      if (counts[bit] == COUNTING_STUCK) continue;
      counts[bit] = (uint8_t)(counts[bit] + change);
      if (counts[bit] == 0) after &= ~((uint64_t)1 << bit);
    }
    counting_put(p, g, counts);
  }
  counting_store_plane(t, g->plane, before, after);
  return (mask & ~before) != 0;
}

/* ---- the family ---- */

static bool counting_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {
  if (shape->nunits == 0 || shape->nunits > NAY_MAX_NBITS / NAY_BLOCK_BITS / 8) return false;
  if (shape->k == 0 || shape->k > NAY_MAX_K) return false;
  if ((shape->extra & ~COUNTING_UNIQUE) != 0) return false;
  uint32_t nrecords = counting_nrecords(shape);
  uint64_t npages = counting_npages(shape->nunits);
  uint64_t last = shape->nunits - (npages - 1) * COUNTING_PAGE;
  *nbytes = shape->nunits * NAY_BLOCK_BYTES +
            (npages - 1) * counting_page_size(COUNTING_PAGE, nrecords) +
            counting_page_size((unsigned)last, nrecords);
  *nbits = *nbytes * 8;
  return true;
}

/* The largest plane whose payload, counters included, is within a budget; 0 when none is. */
static uint64_t counting_fit(const nay_params *p, uint64_t budget) {
  uint64_t nblocks = budget / (2 * NAY_BLOCK_BYTES), nbits, nbytes;
  for (; nblocks > 0; nblocks -= nblocks / 128 + 1) {
    nay_shape shape = {nay__grid_down(nblocks), p->k, 0};
    if (p->fold > 1) shape.nunits -= shape.nunits % p->fold;
    if (shape.nunits == 0) return 0;
    if (shape.k == 0) shape.k = 1; /* the length does not depend on it */
    if (counting_payload(&shape, &nbits, &nbytes) && nbytes <= budget) return shape.nunits;
  }
  return 0;
}

static nay_status counting_plan(const nay_params *params, nay_diag *diag, nay_shape *shape) {
  nay_sizing by;
  NAY_TRY(nay__params_check(params, diag, &by));
  nay_params plane = *params;
  if (by == NAY_BY_BITS_PER_KEY || by == NAY_BY_NBYTES) {
    uint64_t budget = by == NAY_BY_NBYTES
                          ? params->nbytes
                          : (uint64_t)((double)params->nkeys * params->bits_per_key / 8);
    uint64_t nblocks = counting_fit(params, budget);
    if (nblocks == 0) {
      return nay__fail(diag, NAY_EINVAL,
                       "the size is below one block and its counters, or fold is above it", 0);
    }
    plane.bits_per_key = 0;
    plane.nbytes = 0;
    plane.nbits = nblocks * NAY_BLOCK_BITS;
  }
  NAY_TRY(nay__blocked_plan(&plane, diag, shape));
  if ((params->flags & NAY_UNIQUE) != 0) shape->extra |= COUNTING_UNIQUE;
  uint64_t nbits, nbytes;
  if (!counting_payload(shape, &nbits, &nbytes)) {
    return nay__fail(diag, NAY_EINVAL, "the size is above 2^57 bits", 0);
  }
  return NAY_OK;
}

static double counting_fpr(const nay_shape *shape, uint64_t nkeys) {
  return nay__fpr_blocked(shape->nunits, shape->k, nkeys);
}

static uint8_t *counting_lock(const nay_filter *f, uint64_t block) {
  return f->locks != NULL ? nay__spin_lock(f->locks, block / COUNTING_PAGE) : NULL;
}

static void counting_unlock(uint8_t *lock) {
  if (lock != NULL) nay__spin_unlock(lock);
}

/* Where a block and its counters are, asked for at once: they are two lines far from each other. */
typedef struct counting_place {
  uint8_t *plane, *words;
} counting_place;

NAY_INLINE counting_place counting_find(const counting_table *t, uint64_t block) {
  counting_page page = counting_page_at(t, block / COUNTING_PAGE);
  return (counting_place){t->plane + block * NAY_BLOCK_BYTES,
                          page.words + block % COUNTING_PAGE * NAY_BLOCK_BYTES};
}

/* The probes that a kernel has left. */
static NAY_NOINLINE bool counting_rest(const counting_table *t, uint64_t block, uint64_t hash,
                                       uint64_t left, int change) {
  counting_page page = counting_page_at(t, block / COUNTING_PAGE);
  uint64_t mask[COUNTING_GROUPS] = {0};
  bool fresh = false;
  for (uint32_t h = (uint32_t)hash; left != 0; left >>= 1, h *= NAY_G32) {
    mask[h >> NAY_BLOCK_WORD64_SHIFT] |= (left & 1) << (h >> NAY_BLOCK_BIT_SHIFT & 63);
  }
  for (unsigned g = 0; g < COUNTING_GROUPS; g++) {
    if (mask[g] == 0) continue;
    counting_group group = counting_group_at(t, &page, block, g);
    fresh |= counting_group_change(t, &page, &group, mask[g], change);
  }
  return fresh;
}

/* The kernel works on a copy of the bits, since others may read them. */
static NAY_NOINLINE nay_counted counting_shared(const counting_table *t, const counting_place *at,
                                                uint64_t hash, uint32_t k,
                                                nay_counting_change kernel) {
  uint8_t copy[NAY_BLOCK_BYTES];
  memcpy(copy, at->plane, sizeof copy);
  nay_counted counted = kernel(copy, at->words, hash, k);
  for (unsigned i = 0; i < sizeof copy; i += 8) {
    counting_store_plane(t, at->plane + i, nay__load64le(at->plane + i), nay__load64le(copy + i));
  }
  return counted;
}

/* Whether a bit of the key was clear. */
NAY_INLINE bool counting_change(const nay_filter *f, const counting_table *t, uint64_t block,
                                uint64_t hash, nay_counting_change kernel, int change) {
  counting_place at = counting_find(t, block);
  nay_counted counted = NAY_UNLIKELY(t->shared) ? counting_shared(t, &at, hash, f->shape.k, kernel)
                                                : kernel(at.plane, at.words, hash, f->shape.k);
  if (NAY_LIKELY(counted.left == 0)) return counted.fresh;
  return counting_rest(t, block, hash, counted.left, change) || counted.fresh;
}

/* Whether the key was new. */
NAY_INLINE bool counting_add_one(const nay_filter *f, const counting_table *t, uint64_t hash) {
  uint64_t block = nay__reduce(hash, t->nblocks);
  uint8_t *lock = counting_lock(f, block);
  bool once = NAY_UNLIKELY((f->shape.extra & COUNTING_UNIQUE) != 0);
  bool is_new = (!once || !f->kernels->blocked->test(&f->bits, hash)) &&
                counting_change(f, t, block, hash, f->kernels->counting->add, 1);
  counting_unlock(lock);
  return is_new;
}

static nay_status counting_add(nay_filter *f, nay_hash h, bool *is_new) {
  counting_table t = counting_of(f);
  *is_new = counting_add_one(f, &t, h.lo);
  return NAY_OK;
}

static nay_status counting_remove(nay_filter *f, nay_hash h) {
  counting_table t = counting_of(f);
  uint64_t block = nay__reduce(h.lo, t.nblocks);
  NAY_PREFETCH(counting_find(&t, block).words);
  uint8_t *lock = counting_lock(f, block);
  bool was_there = f->kernels->blocked->test(&f->bits, h.lo);
  if (was_there) counting_change(f, &t, block, h.lo, f->kernels->counting->remove, -1);
  counting_unlock(lock);
  return was_there ? NAY_OK : NAY_ENOENT;
}

/* The least counter of the key's bits: none of them counts less than the key itself. */
static nay_status counting_count(const nay_filter *f, nay_hash h, uint64_t *count) {
  counting_table t = counting_of(f);
  uint64_t block = nay__reduce(h.lo, t.nblocks), least = COUNTING_STUCK;
  nay_pattern pattern = nay__block_pattern(h.lo, f->shape.k);
  uint8_t *lock = counting_lock(f, block);
  counting_page page = counting_page_at(&t, block / COUNTING_PAGE);
  for (unsigned g = 0; g < COUNTING_GROUPS; g++) {
    uint8_t counts[64];
    counting_group group = counting_group_at(&t, &page, block, g);
    bool stuck = !counting_get(&page, &group, counts);
    uint64_t plane = nay__load64le(group.plane);
    for (uint64_t mask = pattern.word[g]; mask != 0; mask &= mask - 1) {
      unsigned bit = nay__ctz64(mask);
      uint64_t c = !stuck ? counts[bit] : (plane >> bit & 1) != 0 ? COUNTING_STUCK : 0;
      least = nay__min_u64(least, c);
    }
  }
  counting_unlock(lock);
  *count = least;
  return NAY_OK;
}

static bool counting_test(const nay_filter *f, nay_hash h) {
  return f->kernels->blocked->test(&f->bits, h.lo);
}

/* Keys prefetched ahead: with 64 at once most lines are evicted again before they are used, and a
 * batch of 10^7 takes three times as long. */
#define COUNTING_AHEAD 8u

NAY_INLINE void counting_prefetch(const counting_table *t, uint64_t hash) {
  counting_place at = counting_find(t, nay__reduce(hash, t->nblocks));
  NAY_PREFETCH(at.plane);
  NAY_PREFETCH(at.words);
}

static nay_status counting_batch_add(nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                                     unsigned n, const uint64_t *next, uint64_t *bitmap) {
  (void)hi, (void)next;
  counting_table t = counting_of(f);
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
  uint64_t npages = counting_npages(f->shape.nunits);
  uint64_t first = nay__part(npages, part, nparts) * COUNTING_PAGE;
  uint64_t end = nay__part(npages, part + 1, nparts) * COUNTING_PAGE;
  nay__blocked_add_range(f, lo, n, first, nay__min_u64(end, f->shape.nunits) - first);
}

/* Adds the counters of one group to those of another, stuck when either is. */
static void counting_join(const counting_table *dst, const counting_page *dst_page,
                          const counting_group *to, const counting_page *src_page,
                          const counting_group *from) {
  uint64_t before = nay__load64le(to->plane), more = nay__load64le(from->plane);
  uint8_t sum[64], other[64];
  if (more == 0) return;
  bool counted = counting_get(dst_page, to, sum);
  counted &= counting_get(src_page, from, other);
  counting_store_plane(dst, to->plane, before, before | more);
  if (!counted) {
    if (counting_flagged(dst_page, to)) counting_record_delete(dst_page, to);
    nay__store64le(to->word, 0);
    return;
  }
  for (unsigned bit = 0; bit < 64; bit++) {
    unsigned total = (unsigned)sum[bit] + other[bit];
    sum[bit] = (uint8_t)(total < COUNTING_STUCK ? total : COUNTING_STUCK);
  }
  counting_put(dst_page, to, sum);
}

/* Adds block `from` of src to block `to` of dst. */
static void counting_join_block(const counting_table *dst, uint64_t to, const counting_table *src,
                                uint64_t from) {
  counting_page dst_page = counting_page_at(dst, to / COUNTING_PAGE);
  counting_page src_page = counting_page_at(src, from / COUNTING_PAGE);
  for (unsigned g = 0; g < COUNTING_GROUPS; g++) {
    counting_group to_group = counting_group_at(dst, &dst_page, to, g);
    counting_group from_group = counting_group_at(src, &src_page, from, g);
    counting_join(dst, &dst_page, &to_group, &src_page, &from_group);
  }
}

static nay_status counting_merge(nay_filter *dst, const nay_filter *src) {
  counting_table d = counting_of(dst), s = counting_of(src);
  for (uint64_t block = 0; block < d.nblocks; block++) counting_join_block(&d, block, &s, block);
  return NAY_OK;
}

static void counting_fold(const nay_filter *src, uint64_t factor, uint8_t *dst) {
  nay_shape shape = src->shape;
  shape.nunits /= factor;
  counting_table d = counting_open(dst, &shape, false), s = counting_of(src);
  for (uint64_t block = 0; block < s.nblocks; block++) {
    counting_join_block(&d, block / factor, &s, block);
  }
}

static uint64_t counting_stuck_in(const counting_page *p, const counting_group *g) {
  uint8_t counts[64];
  if (!counting_get(p, g, counts)) return nay__popcount64(nay__load64le(g->plane));
  uint64_t n = 0;
  for (unsigned bit = 0; bit < 64; bit++) n += counts[bit] == COUNTING_STUCK;
  return n;
}

static void counting_describe(const nay_filter *f, nay_stats *stats) {
  stats->nbits = (uint64_t)f->nbytes * 8; /* the counters too; fill stays that of the plane */
  counting_table t = counting_of(f);
  stats->nbits = f->nbytes * 8;
  for (uint64_t block = 0; block < t.nblocks; block++) {
    counting_page page = counting_page_at(&t, block / COUNTING_PAGE);
    for (unsigned g = 0; g < COUNTING_GROUPS; g++) {
      counting_group group = counting_group_at(&t, &page, block, g);
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
    if (zeros >= COUNTING_STUCK) return false;
    word = zeros == 63 ? 0 : word >> (zeros + 1);
  }
  return true;
}

static bool counting_record_ok(uint64_t plane, const uint8_t *record) {
  for (unsigned bit = 0; bit < 64; bit++) {
    if ((counting_nibble(record, bit) != 0) != ((plane >> bit & 1) != 0)) return false;
  }
  return counting_total(record) > 64;
}

/* Flags, ranks and the unused rest of the pool: what every place in the page is computed from. */
static bool counting_page_ok(const counting_page *p, const uint8_t *end) {
  unsigned used = 0, spare = p->nrows * 8 - p->nblocks;
  for (unsigned row = 0; row < p->nrows; row++) {
    if (counting_rank(p, row) != used) return false;
    used += nay__popcount64(nay__load64le(p->flags + row * 8));
  }
  if (counting_rank(p, p->nrows) != used || used > p->nrecords) return false;
  const uint8_t *free_at = p->pool + (size_t)used * COUNTING_RECORD;
  const uint8_t *after = p->ranks + (p->nrows + 1) * 2;
  return nay__all_zero(p->flags + p->nblocks, spare) &&
         nay__all_zero(free_at, (size_t)(p->ranks - free_at)) &&
         nay__all_zero(after, (size_t)(end - after));
}

static bool counting_groups_ok(const counting_table *t, const counting_page *p, uint64_t first) {
  for (unsigned i = 0; i < p->nblocks * COUNTING_GROUPS; i++) {
    counting_group g = counting_group_at(t, p, first + i / COUNTING_GROUPS, i % COUNTING_GROUPS);
    uint64_t plane = nay__load64le(g.plane), word = nay__load64le(g.word);
    bool ok = counting_flagged(p, &g)
                  ? word == 0 && counting_record_ok(plane, counting_record(p, &g))
                  : counting_word_ok(plane, word);
    if (!ok) return false;
  }
  return true;
}

static nay_status counting_check(const nay_shape *shape, const uint8_t *payload, size_t len,
                                 nay_diag *diag) {
  counting_table t = counting_open((uint8_t *)(uintptr_t)payload, shape, false);
  for (uint64_t i = 0; i < counting_npages(t.nblocks); i++) {
    counting_page p = counting_page_at(&t, i);
    const uint8_t *end = p.words + counting_page_size(p.nblocks, p.nrecords);
    if (end > payload + len || !counting_page_ok(&p, end) ||
        !counting_groups_ok(&t, &p, i * COUNTING_PAGE)) {
      return nay__fail(diag, NAY_ECORRUPT, "counters do not fit the bits",
                       (uint64_t)(p.words - payload));
    }
  }
  return NAY_OK;
}

static void counting_to_params(const nay_filter *f, nay_params *params) {
  nay__blocked_to_params(f, params);
  if ((f->shape.extra & COUNTING_UNIQUE) != 0) params->flags |= NAY_UNIQUE;
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
    .plan = counting_plan,
    .payload = counting_payload,
    .fpr = counting_fpr,
    .to_params = counting_to_params,
    .check = counting_check,
    .census = nay__blocked_census,
    .describe = counting_describe,
    .bind = nay__blocked_bind_probe,
    .test = counting_test,
    .add = counting_add,
    .remove = counting_remove,
    .count = counting_count,
    .batch = &counting_batch,
    .bulk = &counting_bulk,
    .algebra = &counting_algebra,
};
