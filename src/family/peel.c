/*
 * peel.c - solves the equations of one shard of a xor or fuse filter by peeling.
 *
 * Lay every key over its slots. A slot that only one key uses can be given to that key: whatever
 * the other slots hold, this one can make the xor right. Take the key away; other slots are now
 * used by one key only; go on until no key is left. Then fill the slots in the opposite order, each
 * fixed by those that were filled before it.
 *
 *   per slot    u64  xor of the keys that use it: the key itself when there is only one
 *               u8   how many use it
 *
 * The table does not know the order in which keys came, so the order of peeling, and hence every
 * byte, depends on the set alone. The walk goes through the slots chunk by chunk, pushes the
 * singletons (slots of degree 1) on a queue and drains the queue before the next chunk: it accesses
 * a few neighbouring segments, and the queue's neighbours are independent of each other, so their
 * cache misses overlap. A slot enters the queue once, when its count falls to one; the places of
 * the queue that have been read take the order of peeling.
 *
 * Before that, the keys are brought into the order of their windows by one pass over 256 buckets,
 * so that the table, too, is filled through a moving window that fits in L2.
 *
 * Keys that are equal never come apart. A count of 128 or more (the mean is 2.7) ends the attempt.
 * Every second attempt halves the segments, which helps where a number of keys makes the formula's
 * chain too short (n near 11,500).
 */
#include "base/trace.h"
#include "family/fuse.h"

#define PEEL_BUCKET_FROM 32768u /* keys; below, the table is in L2 anyway */
#define PEEL_CHUNK 4096u
#define PEEL_CROWDED 0x80u

typedef struct peel_table {
  uint64_t *keys;  /* xor of the keys of a slot */
  uint32_t *queue; /* shares its memory with `bucketed`, which is not needed any more by then */
  uint64_t *bucketed;
  uint8_t *counts;
  uint32_t slots;
  uint64_t nshards;
} peel_table;

static size_t peel_shared_bytes(uint64_t slots, uint64_t n) {
  uint64_t queue = (slots + 8) * sizeof(uint32_t), bucketed = n * sizeof(uint64_t);
  return (size_t)nay__round_up(nay__max_u64(queue, bucketed), 64);
}

static size_t peel_scratch(const nay_shape *shape, uint64_t n) {
  uint64_t slots = shape->nunits / nay__fuse_nshards(shape);
  return (size_t)nay__round_up(slots * 8, 64) + peel_shared_bytes(slots, n) + (size_t)slots;
}

static peel_table peel_open(const nay_shape *shape, size_t n, uint8_t *scratch) {
  peel_table t = {.nshards = nay__fuse_nshards(shape)};
  uint32_t slots = t.slots = (uint32_t)(shape->nunits / t.nshards);
  t.keys = (uint64_t *)(void *)scratch;
  scratch += nay__round_up((uint64_t)slots * 8, 64);
  t.queue = (uint32_t *)(void *)scratch;
  t.bucketed = (uint64_t *)(void *)scratch;
  t.counts = scratch + peel_shared_bytes(slots, n);
  return t;
}

/* The words m of the keys, roughly in the order of their first slots. */
static void peel_bucket(const uint64_t *x, size_t n, uint64_t *out) {
  size_t next[256] = {0};
  for (size_t i = 0; i < n; i++) next[nay__remix(x[i], 0) >> 56]++;
  size_t sum = 0;
  for (unsigned b = 0; b < 256; b++) {
    size_t count = next[b];
    next[b] = sum;
    sum += count;
  }
  for (size_t i = 0; i < n; i++) {
    uint64_t m = nay__remix(x[i], 0);
    out[next[m >> 56]++] = m;
  }
}

/* Lays a key over its slots; returns the counts, or-ed. */
NAY_INLINE unsigned peel_lay(nay_fuse_layout layout, const nay_fuse_view *v, uint64_t factor,
                             uint64_t m, const peel_table *t) {
  unsigned any = 0;
  uint64_t at[4];
  nay__fuse_slots(layout, v, factor, m, 8, at);
  for (unsigned j = 0; j < nay__fuse_arity(layout); j++) {
    any |= ++t->counts[at[j]];
    t->keys[at[j]] ^= m;
  }
  return any;
}

/* Lays all keys over their slots; false when a slot is crowded. */
NAY_INLINE bool peel_fill(nay_fuse_layout layout, const nay_fuse_view *v, uint64_t factor,
                          const uint64_t *x, size_t n, const peel_table *t) {
  unsigned any = 0;
  memset(t->keys, 0, (size_t)t->slots * 8);
  memset(t->counts, 0, t->slots);
  if (layout != NAY_XOR_3 && n >= PEEL_BUCKET_FROM) {
    peel_bucket(x, n, t->bucketed);
    for (size_t i = 0; i < n; i++) any |= peel_lay(layout, v, factor, t->bucketed[i], t);
  } else {
    for (size_t i = 0; i < n; i++) any |= peel_lay(layout, v, factor, nay__remix(x[i], 0), t);
  }
  return (any & PEEL_CROWDED) == 0;
}

/* Removes the key of a singleton; slots that become singletons join the queue. */
NAY_INLINE size_t peel_take(nay_fuse_layout layout, const nay_fuse_view *v, uint64_t factor,
                            const peel_table *t, uint32_t slot, size_t tail) {
  uint64_t m = t->keys[slot];
  uint64_t at[4];
  nay__fuse_slots(layout, v, factor, m, 8, at);
  for (unsigned j = 0; j < nay__fuse_arity(layout); j++) {
    t->queue[tail] = (uint32_t)at[j];
    tail += --t->counts[at[j]] == 1;
    t->keys[at[j]] ^= m;
  }
  t->keys[slot] = m; /* the loop took it away here too; the assignment needs it */
  return tail;
}

/* Returns how many keys came off; queue[0 .. that) are their slots in that order. */
NAY_INLINE size_t peel_walk(nay_fuse_layout layout, const nay_fuse_view *v, uint64_t factor,
                            const peel_table *t) {
  size_t head = 0, tail = 0, done = 0;
  for (uint32_t start = 0; start < t->slots; start += PEEL_CHUNK) {
    uint32_t end = t->slots - start < PEEL_CHUNK ? t->slots : start + PEEL_CHUNK;
    for (uint32_t i = start; i < end; i++) {
      t->queue[tail] = i;
      tail += t->counts[i] == 1;
    }
    while (head < tail) {
      uint32_t slot = t->queue[head++];
      if (t->counts[slot] != 1) continue;
      NAY_TRACE(PEEL_TAKE, 0, done, t->keys[slot], slot, 0, 0);
      t->queue[done++] = slot;
      tail = peel_take(layout, v, factor, t, slot, tail);
    }
  }
  return done;
}

NAY_INLINE void peel_assign(nay_fuse_layout layout, const nay_fuse_view *v, uint64_t factor,
                            const peel_table *t, size_t n, unsigned bits, uint8_t *array) {
  while (n-- > 0) {
    uint32_t slot = t->queue[n];
    uint64_t m = t->keys[slot], at[4];
    uint32_t value = nay__fuse_slots(layout, v, factor, m, bits, at);
    for (unsigned j = 0; j < nay__fuse_arity(layout); j++) {
      value ^= nay__fuse_get(array, at[j], bits); /* its own is still zero */
    }
    NAY_TRACE(PEEL_ASSIGN, 0, n, m, slot, value, 0);
    nay__fuse_put(array, slot, bits, value);
  }
}

#ifdef NAY_WITH_TRACE
static void peel_trace(nay_fuse_layout layout, const nay_fuse_view *v, uint64_t factor,
                       const uint64_t *x, size_t n, const peel_table *t) {
  NAY_TRACE(PEEL_ATTEMPT, 0, 0, n, t->slots, v->segment, factor);
  for (size_t i = 0; i < n; i++) {
    uint64_t at[4], m = nay__remix(x[i], 0);
    nay__fuse_slots(layout, v, factor, m, 8, at);
    uint64_t fourth = nay__fuse_arity(layout) == 4 ? at[3] : UINT32_MAX;
    NAY_TRACE(PEEL_KEY, 0, i, x[i], m, at[0] | at[1] << 32, at[2] | fourth << 32);
  }
}
#define PEEL_TRACE(layout, v, factor, x, n, t) peel_trace(layout, v, factor, x, n, t)
#else
#define PEEL_TRACE(layout, v, factor, x, n, t) ((void)0)
#endif

NAY_INLINE bool peel_solve(nay_fuse_layout layout, const nay_shape *shape, const nay_fuse_view *v,
                           uint64_t factor, const uint64_t *x, size_t n, uint8_t *scratch,
                           uint8_t *array) {
  peel_table t = peel_open(shape, n, scratch);
  unsigned bits = nay__fuse_bits(shape);
  PEEL_TRACE(layout, v, factor, x, n, &t);
  if (!peel_fill(layout, v, factor, x, n, &t) || peel_walk(layout, v, factor, &t) != n) {
    NAY_TRACE(PEEL_STUCK, 0, 0, n, 0, 0, 0);
    return false;
  }
  memset(array, 0, (size_t)v->stride);
  switch (bits) {
    case 8: peel_assign(layout, v, factor, &t, n, 8, array); break;
    case 16: peel_assign(layout, v, factor, &t, n, 16, array); break;
    case 32: peel_assign(layout, v, factor, &t, n, 32, array); break;
    default: peel_assign(layout, v, factor, &t, n, bits, array); break;
  }
  return true;
}

/* ---- the solver ---- */

static void peel_put_factor(nay_filter *f, uint64_t shard, uint64_t factor) {
  nay__store64le(f->bits.bytes + NAY_FUSE_HEADER + 8 * shard, factor);
}

/*
 * The slots for an attempt. Shards are alike; but a filter of one shard may try shorter segments, a
 * half, a quarter.
 */
static void peel_choose_slots(const nay_filter *f, unsigned attempt, nay_fuse_view *v) {
  nay_fuse_layout layout = nay__fuse_layout_of(f);
  uint64_t slots = f->shape.nunits / v->nshards;
  if (layout == NAY_XOR_3) {
    v->segment = 0;
    v->span = slots / 3;
    return;
  }
  v->segment = nay__fuse_dims(layout, f->nkeys).segment;
  if (v->nshards == 1) v->segment = nay__max_u64(v->segment >> attempt / 2 % 3, 2);
  v->span = (slots / v->segment - (nay__fuse_arity(layout) - 1)) * v->segment;
}

static void peel_put_slots(nay_filter *f, const nay_fuse_view *v) {
  nay__store32le(f->bits.bytes + 12, (uint32_t)v->segment);
  nay__store32le(f->bits.bytes + 16, (uint32_t)v->span);
}

static void peel_begin(nay_filter *f, uint64_t premix) {
  nay_fuse_view v = nay__fuse_view_of(&f->shape, f->bits.bytes);
  nay__store64le(f->bits.bytes, premix);
  nay__store32le(f->bits.bytes + 8, (uint32_t)(f->shape.nunits / v.nshards));
  peel_choose_slots(f, 0, &v);
  peel_put_slots(f, &v);
}

static bool peel_attempt(nay_filter *f, uint64_t shard, unsigned attempt, uint32_t seed,
                         const uint64_t *x, size_t n, uint8_t *scratch) {
  if (n == 0) {
    peel_put_factor(f, shard, NAY_FUSE_SAYS_NAY);
    return true;
  }
  nay_fuse_view v = nay__fuse_view_of(&f->shape, f->bits.bytes);
  if (n >= f->shape.nunits / v.nshards) return false;
  peel_choose_slots(f, attempt, &v);
  uint8_t *array = v.arrays + shard * v.stride;
  uint64_t factor = nay_hash_mix(seed) | 1;
  bool solved = false;
  switch (nay__fuse_layout_of(f)) {
#define PEEL_CASE(layout) \
  case layout: solved = peel_solve(layout, &f->shape, &v, factor, x, n, scratch, array); break;
    PEEL_CASE(NAY_FUSE_3)
    PEEL_CASE(NAY_FUSE_4)
    PEEL_CASE(NAY_XOR_3)
#undef PEEL_CASE
  }
  if (!solved) return false;
  if (v.nshards == 1) peel_put_slots(f, &v);
  peel_put_factor(f, shard, factor);
  return true;
}

/* No attacker gets here by luck (static_build.c draws the late seeds from the set itself). */
static void peel_give_up(nay_filter *f, uint64_t shard, uint32_t seed, const uint64_t *x, size_t n,
                         uint8_t *scratch) {
  (void)seed, (void)x, (void)n, (void)scratch;
  nay_fuse_view v = nay__fuse_view_of(&f->shape, f->bits.bytes);
  memset(v.arrays + shard * v.stride, 0, (size_t)v.stride);
  peel_put_factor(f, shard, NAY_FUSE_SAYS_MAYBE);
}

static uint64_t peel_nshards(const nay_shape *shape) { return nay__fuse_nshards(shape); }

static bool peel_alike(const nay_filter *f, uint64_t a, uint64_t b) {
  nay_fuse_dims one = nay__fuse_dims(nay__fuse_layout_of(f), a);
  nay_fuse_dims other = nay__fuse_dims(nay__fuse_layout_of(f), b);
  return one.nshards == other.nshards && one.slots == other.slots && one.segment == other.segment;
}

static const nay_shards peel_shards = {
    .alike = peel_alike,
    .begin = peel_begin,
    .scratch = peel_scratch,
    .attempt = peel_attempt,
    .give_up = peel_give_up,
};

const nay_solver nay__peel_solver = {
    .nshards = peel_nshards,
    .premix_mask = UINT64_MAX,
    .shards = &peel_shards,
    .test = nay__fuse_test_premixed,
};
