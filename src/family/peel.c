/*
 * peel.c - solves the equations of one shard of a xor or fuse filter by peeling.
 *
 * Lay every key over its slots. A slot that only one key uses can be given to that key: whatever
 * the other slots hold, this one can make the xor right. Take the key away; other slots are now
 * used by one key only; go on until no key is left. Then fill the slots in the opposite order, each
 * fixed by those that were filled before it.
 *
 *   per slot    u64  xor of the keys that use it: the key itself when there is only one
 *               u8   how many use it (6 bits) and the xor of which of their slots it is (2 bits)
 *
 * The table does not know the order in which keys came, so the order of peeling, and hence every
 * byte, depends on the set alone. The walk goes through the slots chunk by chunk, pushes the lonely
 * ones on a queue and follows the queue to its end before the next chunk: what it touches are a few
 * neighbouring segments, and the queue's neighbours are independent of each other, so their cache
 * misses overlap. A slot enters the queue once, when its count falls to one; the places of the
 * queue that have been read take the order of peeling.
 *
 * Before that, the keys are brought into the order of their windows by one pass over 256 buckets,
 * so that the table, too, is filled through a moving window that fits the second-level cache.
 *
 * Keys that are equal never come apart. A count of 32 or more (a mean of 2.7 is normal) ends the
 * attempt. Every fourth attempt halves the segments, which helps where a number of keys makes the
 * formula's chain too short (n near 11,500).
 */
#include "family/fuse.h"

#define PEEL_BUCKET_FROM 32768u /* keys; below, the table is in the second-level cache anyway */
#define PEEL_CHUNK 4096u
#define PEEL_CROWDED 0x80u

typedef struct peel_table {
  uint64_t *keys;  /* xor of the keys of a slot */
  uint32_t *queue; /* shares its memory with `bucketed`, which is not needed any more by then */
  uint64_t *bucketed;
  uint8_t *counts;
  uint32_t slots;
} peel_table;

static size_t peel_shared_bytes(uint64_t slots, uint64_t n) {
  uint64_t queue = (slots + 8) * sizeof(uint32_t), bucketed = n * sizeof(uint64_t);
  return (size_t)nay__round_up(nay__max_u64(queue, bucketed), 64);
}

static size_t peel_scratch(const nay_shape *shape, uint64_t n) {
  uint64_t slots = shape->nunits / nay__fuse_nshards(shape);
  return (size_t)nay__round_up(slots * 8, 64) + peel_shared_bytes(slots, n) + (size_t)slots;
}

static peel_table peel_open(uint32_t slots, size_t n, uint8_t *scratch) {
  peel_table t = {.slots = slots};
  t.keys = (uint64_t *)(void *)scratch;
  scratch += nay__round_up((uint64_t)slots * 8, 64);
  t.queue = (uint32_t *)(void *)scratch;
  t.bucketed = (uint64_t *)(void *)scratch;
  t.counts = scratch + peel_shared_bytes(slots, n);
  return t;
}

/* The keys in the order of their windows, roughly. */
static void peel_bucket(const nay_fuse_shard *s, const uint64_t *x, size_t n, uint64_t *out) {
  size_t next[256] = {0};
  for (size_t i = 0; i < n; i++) next[nay__place_of(x[i], s->nshards) >> 56]++;
  size_t sum = 0;
  for (unsigned b = 0; b < 256; b++) {
    size_t count = next[b];
    next[b] = sum;
    sum += count;
  }
  for (size_t i = 0; i < n; i++) out[next[nay__place_of(x[i], s->nshards) >> 56]++] = x[i];
}

/* Lays the keys over their slots; false when a slot is crowded. */
NAY_INLINE bool peel_lay(nay_fuse_layout layout, const nay_fuse_shard *s, const uint64_t *x,
                         size_t n, peel_table *t) {
  memset(t->keys, 0, (size_t)t->slots * 8);
  memset(t->counts, 0, t->slots);
  unsigned any = 0;
  for (size_t i = 0; i < n; i++) {
    uint32_t at[4];
    nay__fuse_slots(layout, s, x[i], nay__remix(x[i], s->seed), at);
    for (unsigned j = 0; j < nay__fuse_arity(layout); j++) {
      uint8_t count = (uint8_t)((t->counts[at[j]] + 4) ^ j);
      t->counts[at[j]] = count;
      t->keys[at[j]] ^= x[i];
      any |= count;
    }
  }
  return (any & PEEL_CROWDED) == 0;
}

/* Takes the key of a lonely slot away; slots that become lonely join the queue. */
NAY_INLINE size_t peel_take(nay_fuse_layout layout, const nay_fuse_shard *s, peel_table *t,
                            uint32_t slot, size_t tail) {
  uint64_t x = t->keys[slot];
  uint8_t which = t->counts[slot] & 3;
  uint32_t at[4];
  nay__fuse_slots(layout, s, x, nay__remix(x, s->seed), at);
  for (unsigned j = 0; j < nay__fuse_arity(layout); j++) {
    uint8_t count = (uint8_t)((t->counts[at[j]] - 4) ^ j);
    t->counts[at[j]] = count;
    t->keys[at[j]] ^= x;
    t->queue[tail] = at[j];
    tail += count >> 2 == 1;
  }
  t->keys[slot] = x; /* the loop took it away here too; the assignment needs it */
  t->counts[slot] = which;
  return tail;
}

/* Returns how many keys came off; queue[0 .. that) are their slots in that order. */
NAY_INLINE size_t peel_walk(nay_fuse_layout layout, const nay_fuse_shard *s, peel_table *t) {
  size_t head = 0, tail = 0, done = 0;
  for (uint32_t start = 0; start < t->slots; start += PEEL_CHUNK) {
    uint32_t end = t->slots - start < PEEL_CHUNK ? t->slots : start + PEEL_CHUNK;
    for (uint32_t i = start; i < end; i++) {
      t->queue[tail] = i;
      tail += t->counts[i] >> 2 == 1;
    }
    while (head < tail) {
      uint32_t slot = t->queue[head++];
      if (t->counts[slot] >> 2 != 1) continue;
      t->queue[done++] = slot;
      tail = peel_take(layout, s, t, slot, tail);
    }
  }
  return done;
}

NAY_INLINE void peel_assign(nay_fuse_layout layout, const nay_fuse_shard *s, const peel_table *t,
                            size_t n, unsigned bits, uint8_t *array) {
  while (n-- > 0) {
    uint32_t slot = t->queue[n], at[4];
    uint64_t x = t->keys[slot], m = nay__remix(x, s->seed);
    uint32_t value = nay__fuse_print(m, bits);
    nay__fuse_slots(layout, s, x, m, at);
    for (unsigned j = 0; j < nay__fuse_arity(layout); j++) {
      value ^= nay__fuse_get(array, at[j], bits); /* its own is still zero */
    }
    nay__fuse_put(array, slot, bits, value);
  }
}

NAY_INLINE bool peel_solve(nay_fuse_layout layout, const nay_fuse_shard *s, const uint64_t *x,
                           size_t n, unsigned bits, uint8_t *scratch, uint8_t *array) {
  peel_table t = peel_open(s->slots, n, scratch);
  if (layout != NAY_XOR_3 && n >= PEEL_BUCKET_FROM) {
    peel_bucket(s, x, n, t.bucketed);
    x = t.bucketed;
  }
  if (!peel_lay(layout, s, x, n, &t) || peel_walk(layout, s, &t) != n) return false;
  memset(array, 0, (size_t)nay__fuse_stride(s->nshards, s->slots, bits));
  switch (bits) {
    case 8: peel_assign(layout, s, &t, n, 8, array); break;
    case 16: peel_assign(layout, s, &t, n, 16, array); break;
    case 32: peel_assign(layout, s, &t, n, 32, array); break;
    default: peel_assign(layout, s, &t, n, bits, array); break;
  }
  return true;
}

/* ---- the solver ---- */

static void peel_put_entry(nay_filter *f, uint64_t shard, const nay_fuse_shard *s) {
  uint8_t *p = f->bits.bytes + NAY_FUSE_HEADER + shard * NAY_FUSE_ENTRY;
  nay__store32le(p, s->seed);
  p[4] = (uint8_t)s->segment;
  p[5] = (uint8_t)s->mode;
  nay__store16le(p + 6, (uint16_t)s->nwindows);
}

static void peel_begin(nay_filter *f, uint64_t premix, const uint64_t *counts) {
  (void)counts;
  uint64_t nshards = nay__fuse_nshards(&f->shape), slots = f->shape.nunits / nshards;
  nay__store64le(f->bits.bytes, premix);
  nay__store64le(f->bits.bytes + 8, nay__fuse_stride(nshards, slots, nay__fuse_bits(&f->shape)));
  nay__store32le(f->bits.bytes + 16, (uint32_t)slots);
}

/* Segments for an attempt: as planned, a half, a quarter, and again. */
static void peel_segments(const nay_filter *f, nay_fuse_layout layout, unsigned attempt,
                          nay_fuse_shard *s) {
  if (layout == NAY_XOR_3) return;
  unsigned planned = nay__fuse_dims(layout, f->nkeys).segment, less = attempt / 4 % 3;
  s->segment = planned > less + 1 ? planned - less : 1;
  s->nwindows = (s->slots >> s->segment) - (nay__fuse_arity(layout) - 1);
}

static bool peel_attempt(nay_filter *f, uint64_t shard, unsigned attempt, uint32_t seed,
                         const uint64_t *x, size_t n, uint8_t *scratch) {
  nay_fuse_layout layout = nay__fuse_layout_of(f);
  uint64_t nshards = nay__fuse_nshards(&f->shape);
  unsigned bits = nay__fuse_bits(&f->shape);
  nay_fuse_shard s = {.nshards = nshards, .mode = NAY_SHARD_EMPTY};
  s.slots = (uint32_t)(f->shape.nunits / nshards);
  if (n == 0) {
    peel_put_entry(f, shard, &s);
    return true;
  }
  if (n >= s.slots) return false;
  s.seed = seed;
  s.mode = NAY_SHARD_NORMAL;
  peel_segments(f, layout, attempt, &s);
  uint8_t *array = f->bits.bytes + nay__fuse_arrays_at(nshards) +
                   shard * nay__fuse_stride(nshards, s.slots, bits);
  bool solved = false;
  switch (layout) {
    case NAY_FUSE_3: solved = peel_solve(NAY_FUSE_3, &s, x, n, bits, scratch, array); break;
    case NAY_FUSE_4: solved = peel_solve(NAY_FUSE_4, &s, x, n, bits, scratch, array); break;
    case NAY_XOR_3: solved = peel_solve(NAY_XOR_3, &s, x, n, bits, scratch, array); break;
  }
  if (solved) peel_put_entry(f, shard, &s);
  return solved;
}

/* No enemy gets here by luck (sharded.c draws the late seeds from the set itself). */
static void peel_give_up(nay_filter *f, uint64_t shard, uint32_t seed, const uint64_t *x, size_t n,
                         uint8_t *scratch) {
  (void)seed, (void)x, (void)n, (void)scratch;
  nay_fuse_shard s = {.mode = NAY_SHARD_MAYBE};
  uint64_t nshards = nay__fuse_nshards(&f->shape), stride = nay__load64le(f->bits.bytes + 8);
  memset(f->bits.bytes + nay__fuse_arrays_at(nshards) + shard * stride, 0, (size_t)stride);
  peel_put_entry(f, shard, &s);
}

static uint64_t peel_nshards(const nay_shape *shape) { return nay__fuse_nshards(shape); }

const nay_solver nay__peel_solver = {
    .nshards = peel_nshards,
    .shards_per_task_log2 = 0,
    .begin = peel_begin,
    .scratch = peel_scratch,
    .attempt = peel_attempt,
    .give_up = peel_give_up,
    .test64 = nay__fuse_test64,
};
