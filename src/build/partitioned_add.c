/*
 * partitioned_add.c - many hashes into a filter far larger than the cache.
 *
 * An add to memory far away takes as long as a line takes to come, and one to go. But hashes that
 * come in thousands need not be added in the order in which they come. The filter is cut into
 * neighbourhoods of 256 KiB, and what is to be added waits in the room of its own:
 *
 *   hash --> unit, item --shift--> desk, 256 bytes --full--> room, 128 KiB --full--> filter
 *                                  in L2                     in memory, written      this part
 *                                                            past the cache          in L2
 *
 * An item is the hash, where one unit has all that is its (blocked), or the place of a bit in its
 * neighbourhood, four bytes, where a hash has many (bloom).
 *
 * When a room is full, its part of the filter is read from end to end, which memory does twice as
 * fast as here and there, and then the adds are made in the cache, four hashes for each line.
 * Writing an item to a room and reading it again is sequential, too. Blocked, 10^8 keys of 10
 * bits: 4.8 ns a key in place of 6.4; with rooms half as large 5.4, a quarter 6.7. A desk of 8
 * hashes in place of 32 takes 0.8 ns more, since whether it is full is a branch that nobody can
 * foretell; rooms that are written through the cache 1.5 more. A filter that the last cache holds
 * takes hashes faster as they come.
 *
 * Every thread has desks and rooms of its own, and locks a neighbourhood while it empties a room
 * into it: with 500 of them two threads seldom meet. Rooms take half as much memory as the filter,
 * those of all threads as much; more than 1024 desks would not stay in the cache, so very large
 * filters have larger neighbourhoods. The order in which hashes get in depends on the threads, so
 * this is for families that are the same bytes in any order.
 */
#include "build/partitioned_add.h"

#include "base/bits.h"
#include "base/compiler.h"
#include "base/spin.h"
#include "cpu/stream.h"
#include "math/plan.h"
#include "os/pages.h"

#define SPREAD_TOO_FAR ((uint64_t)1 << 37) /* bytes: a place would need more than 32 bits */
#define SPREAD_NEAR ((uint64_t)256 << 10)  /* bytes of a neighbourhood: a quarter of a usual L2 */
#define SPREAD_MAX 1024u                   /* neighbourhoods */
#define SPREAD_DESK 256u                   /* bytes */

/* What a thread has. */
typedef struct spread_hand {
  uint8_t *rooms, *desks;
  uint32_t *used; /* bytes of each room, with what is on its desk */
} spread_hand;

struct nay_partitioner {
  nay_filter *f;
  nay_memory memory;
  size_t hand_bytes;
  unsigned nnear, shift; /* neighbourhoods, of 2^shift units */
  uint32_t room_bytes;   /* whole desks */
  uint8_t locks[NAY_NSTRIPES];
};

bool nay__partitioner_pays(const nay_filter *f, uint64_t n) {
  if (f->family->add_near == NULL || f->locks != NULL) return false;
  if ((f->flags & NAY_LOW_MEMORY) != 0) return false;
  if (f->nbytes < NAY_FAR_BYTES || f->nbytes >= SPREAD_TOO_FAR) return false;
  uint64_t lines = f->nbytes / NAY_CACHE_LINE; /* not to be read for less than four adds each */
  return n / 4 >= (f->family->bits_of != NULL ? lines / f->shape.k : lines);
}

bool nay__partitioner_ordered(const uint64_t *hashes, uint64_t n) {
  for (uint64_t i = 1; i < n && i < 64; i++) {
    if (hashes[i - 1] > hashes[i]) return false;
  }
  return true;
}

/* Both the bits of a bloom and the blocks of the others are a power of two to a neighbourhood. */
static void spread_cut(nay_partitioner *s, unsigned nthreads) {
  uint64_t nunits = s->f->shape.nunits, near = SPREAD_NEAR;
  while (s->f->nbytes / near >= SPREAD_MAX) near *= 2;
  uint64_t units = s->f->family->bits_of != NULL ? near * 8 : near / NAY_BLOCK_BYTES;
  while ((uint64_t)1 << s->shift < units) s->shift++;
  s->nnear = (unsigned)nay__ceil_div(nunits, units);
  s->room_bytes = (uint32_t)nay__round_up(near / (nthreads < 2 ? 2 : nthreads), SPREAD_DESK);
}

static nay_status spread_furnish(nay_partitioner *s, unsigned nthreads) {
  const nay_allocator *a = &s->f->allocator;
  size_t near_bytes = (size_t)s->room_bytes + SPREAD_DESK + sizeof(uint32_t), bytes;
  if (!nay__mul_ok(near_bytes, s->nnear, &s->hand_bytes)) return NAY_ENOMEM;
  s->hand_bytes += NAY_CACHE_LINE - s->hand_bytes % NAY_CACHE_LINE;
  if (!nay__mul_ok(s->hand_bytes, nthreads, &bytes)) return NAY_ENOMEM;
  NAY_TRY(nay__memory_raw(a, bytes, &s->memory));
  if (nay__allocator_is_default(a) && (s->f->flags & NAY_SMALL_PAGES) == 0) {
    nay__pages_want_huge(s->memory.at, bytes);
  }
  return NAY_OK;
}

static spread_hand spread_hand_of(const nay_partitioner *s, unsigned thread) {
  uint8_t *rooms = s->memory.at + thread * s->hand_bytes;
  uint8_t *desks = rooms + (size_t)s->nnear * s->room_bytes;
  void *used = desks + (size_t)s->nnear * SPREAD_DESK;
  return (spread_hand){rooms, desks, used};
}

nay_status nay__partitioner_new(nay_filter *f, unsigned nthreads, nay_partitioner **spread) {
  nay_partitioner *s = nay__alloc(&f->allocator, sizeof *s);
  if (s == NULL) return NAY_ENOMEM;
  *s = (nay_partitioner){.f = f};
  spread_cut(s, nthreads);
  nay_status status = spread_furnish(s, nthreads);
  if (status != NAY_OK) {
    nay__free(&f->allocator, s, sizeof *s);
    return status;
  }
  for (unsigned t = 0; t < nthreads; t++) {
    memset(spread_hand_of(s, t).used, 0, s->nnear * sizeof(uint32_t));
  }
  *spread = s;
  return NAY_OK;
}

void nay__partitioner_free(nay_partitioner *s) {
  if (s == NULL) return;
  nay_allocator a = s->f->allocator;
  nay__memory_free(&a, &s->memory);
  nay__free(&a, s, sizeof *s);
}

/* Adds what is in a room. */
static void spread_empty(nay_partitioner *s, const spread_hand *hand, uint64_t near) {
  uint64_t nunits = s->f->shape.nunits, first = near << s->shift;
  uint64_t count = nay__min_u64((uint64_t)1 << s->shift, nunits - first);
  uint8_t *lock = nay__spin_lock(s->locks, near);
  s->f->family->add_near(s->f, hand->rooms + near * s->room_bytes, hand->used[near], first, count);
  nay__spin_unlock(lock);
  hand->used[near] = 0;
}

/* Carries a full desk into the room. */
static NAY_NOINLINE void spread_carry(nay_partitioner *s, const spread_hand *hand, uint64_t near) {
  uint8_t *to = hand->rooms + near * s->room_bytes + hand->used[near] - SPREAD_DESK;
  nay__stream(to, hand->desks + near * SPREAD_DESK, SPREAD_DESK);
  if (hand->used[near] == s->room_bytes) spread_empty(s, hand, near);
}

NAY_INLINE void spread_put(nay_partitioner *s, const spread_hand *hand, uint64_t near,
                           const void *item, size_t size) {
  uint32_t used = hand->used[near];
  memcpy(hand->desks + near * SPREAD_DESK + used % SPREAD_DESK, item, size);
  hand->used[near] = used += (uint32_t)size;
  if (used % SPREAD_DESK == 0) spread_carry(s, hand, near);
}

static void spread_add_hashes(nay_partitioner *s, const spread_hand *hand, const uint64_t *hashes,
                              uint64_t n) {
  uint64_t nunits = s->f->shape.nunits;
  unsigned shift = s->shift;
  for (uint64_t i = 0; i < n; i++) {
    spread_put(s, hand, nay__reduce(hashes[i], nunits) >> shift, &hashes[i], sizeof hashes[i]);
  }
}

#define SPREAD_BITS 16u /* hashes whose bits are found together */

static void spread_add_bits(nay_partitioner *s, const spread_hand *hand, const uint64_t *hashes,
                            uint64_t n) {
  uint64_t bits[SPREAD_BITS * NAY_MAX_K], mask = ((uint64_t)1 << s->shift) - 1;
  for (uint64_t i = 0; i < n; i += SPREAD_BITS) {
    unsigned group = n - i < SPREAD_BITS ? (unsigned)(n - i) : SPREAD_BITS;
    s->f->family->bits_of(s->f, hashes + i, group, bits);
    for (uint32_t b = 0; b < group * s->f->shape.k; b++) {
      uint32_t item = (uint32_t)(bits[b] & mask);
      spread_put(s, hand, bits[b] >> s->shift, &item, sizeof item);
    }
  }
}

void nay__partitioner_add(nay_partitioner *s, unsigned thread, const uint64_t *hashes, uint64_t n) {
  spread_hand hand = spread_hand_of(s, thread);
  if (s->f->family->bits_of != NULL) {
    spread_add_bits(s, &hand, hashes, n);
  } else {
    spread_add_hashes(s, &hand, hashes, n);
  }
}

void nay__partitioner_flush(nay_partitioner *s, unsigned thread) {
  spread_hand hand = spread_hand_of(s, thread);
  for (uint64_t near = 0; near < s->nnear; near++) {
    uint32_t rest = hand.used[near] % SPREAD_DESK;
    uint8_t *end = hand.rooms + near * s->room_bytes + hand.used[near];
    memcpy(end - rest, hand.desks + near * SPREAD_DESK, rest);
    if (hand.used[near] != 0) spread_empty(s, &hand, near);
  }
  nay__stream_end();
}
