/*
 * spread.c - many hashes into a filter far larger than the cache.
 *
 * An add to memory far away takes as long as a line takes to come, and one to go. But hashes that
 * come in thousands need not be added in the order in which they come. The units are cut into
 * neighbourhoods of 256 KiB, and every hash waits in the room of its own:
 *
 *   hash --reduce--> unit --shift--> desk, 32 hashes --full--> room, 16384 hashes --full--> filter
 *                                    256 bytes, in L2          in memory, written           this
 * part past the cache               in L2
 *
 * When a room is full, its part of the filter is read from end to end, which memory does twice as
 * fast as here and there, and then the adds are made in the cache, four for each line. Writing
 * a hash to a room and reading it again is sequential, too. 10^8 keys of 10 bits: 4.8 ns a key in
 * place of 10.6; with rooms half as large 5.4, a quarter 6.7. A desk of 8 hashes takes 0.8 ns
 * more, since whether it is full is a branch that nobody can foretell; rooms that are written
 * through the cache 1.5 more. A filter that the last cache holds takes hashes faster as they come.
 *
 * Every thread has desks and rooms of its own, and locks a neighbourhood while it empties a room
 * into it: with 500 of them two threads seldom meet. Rooms take half as much memory as the filter,
 * those of all threads as much; more than 1024 desks would not stay in the cache, so very large
 * filters have larger neighbourhoods. The order in which hashes get in depends on the threads, so
 * this is for families that are the same bytes in any order.
 */
#include "spread.h"

#include "base/bits.h"
#include "base/compiler.h"
#include "base/spin.h"
#include "cpu/stream.h"
#include "os/pages.h"

#define SPREAD_FAR ((size_t)32 << 20) /* bytes of a filter: more than its share of a last cache */
#define SPREAD_NEAR ((uint64_t)256 << 10) /* bytes of a neighbourhood: a quarter of a usual L2 */
#define SPREAD_MAX 1024u                  /* neighbourhoods */
#define SPREAD_DESK 32u                   /* hashes */

/* What a thread has. */
typedef struct spread_hand {
  uint64_t *rooms, *desks;
  uint32_t *used; /* of each room, with what is on its desk */
} spread_hand;

struct nay_spread {
  nay_filter *f;
  nay_memory memory;
  size_t hand_bytes;
  unsigned nnear, shift; /* neighbourhoods, of 2^shift units */
  uint32_t capacity;     /* of a room: whole desks */
  uint8_t locks[NAY_NSTRIPES];
};

bool nay__spread_pays(const nay_filter *f, uint64_t n) {
  if (f->family->add_near == NULL || f->locks != NULL || f->nbytes < SPREAD_FAR) return false;
  return n / 4 >= f->nbytes / NAY_CACHE_LINE; /* four for each line, or it is read for too few */
}

bool nay__spread_ordered(const uint64_t *hashes, uint64_t n) {
  for (uint64_t i = 1; i < n && i < 64; i++) {
    if (hashes[i - 1] > hashes[i]) return false;
  }
  return true;
}

static void spread_cut(nay_spread *s, unsigned nthreads) {
  uint64_t nunits = s->f->shape.nunits, unit_bytes = s->f->nbytes / nunits;
  while (unit_bytes << s->shift < SPREAD_NEAR || nunits >> s->shift >= SPREAD_MAX) s->shift++;
  uint64_t room_bytes = (unit_bytes << s->shift) / (nthreads < 2 ? 2 : nthreads);
  s->nnear = (unsigned)nay__ceil_div(nunits, (uint64_t)1 << s->shift);
  s->capacity = (uint32_t)nay__round_up(room_bytes / sizeof(uint64_t), SPREAD_DESK);
}

static nay_status spread_furnish(nay_spread *s, unsigned nthreads) {
  const nay_allocator *a = &s->f->allocator;
  size_t near_bytes = (SPREAD_DESK + (size_t)s->capacity) * sizeof(uint64_t) + sizeof(uint32_t);
  size_t bytes;
  if (!nay__mul_ok(near_bytes, s->nnear, &s->hand_bytes)) return NAY_ENOMEM;
  s->hand_bytes += NAY_CACHE_LINE - s->hand_bytes % NAY_CACHE_LINE;
  if (!nay__mul_ok(s->hand_bytes, nthreads, &bytes)) return NAY_ENOMEM;
  NAY_TRY(nay__memory_raw(a, bytes, &s->memory));
  if (nay__allocator_is_default(a) && (s->f->flags & NAY_SMALL_PAGES) == 0) {
    nay__pages_want_huge(s->memory.at, bytes);
  }
  return NAY_OK;
}

static spread_hand spread_hand_of(const nay_spread *s, unsigned thread) {
  uint64_t *rooms = (uint64_t *)(void *)(s->memory.at + thread * s->hand_bytes);
  uint64_t *desks = rooms + (size_t)s->nnear * s->capacity;
  return (spread_hand){rooms, desks, (uint32_t *)(void *)(desks + (size_t)s->nnear * SPREAD_DESK)};
}

nay_status nay__spread_new(nay_filter *f, unsigned nthreads, nay_spread **spread) {
  nay_spread *s = nay__alloc(&f->allocator, sizeof *s);
  if (s == NULL) return NAY_ENOMEM;
  *s = (nay_spread){.f = f};
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

void nay__spread_free(nay_spread *s) {
  if (s == NULL) return;
  nay_allocator a = s->f->allocator;
  nay__memory_free(&a, &s->memory);
  nay__free(&a, s, sizeof *s);
}

/* Adds what is in a room. */
static void spread_empty(nay_spread *s, const spread_hand *hand, uint64_t near) {
  uint64_t nunits = s->f->shape.nunits, first = near << s->shift;
  uint64_t count = nay__min_u64((uint64_t)1 << s->shift, nunits - first);
  const uint64_t *room = hand->rooms + near * s->capacity;
  uint8_t *lock = nay__spin_lock(s->locks, near);
  s->f->family->add_near(s->f, room, hand->used[near], first, count);
  nay__spin_unlock(lock);
  hand->used[near] = 0;
}

/* Carries a full desk into the room. */
static NAY_NOINLINE void spread_carry(nay_spread *s, const spread_hand *hand, uint64_t near) {
  uint64_t *to = hand->rooms + near * s->capacity + hand->used[near] - SPREAD_DESK;
  nay__stream(to, hand->desks + near * SPREAD_DESK, SPREAD_DESK * sizeof *to);
  if (hand->used[near] == s->capacity) spread_empty(s, hand, near);
}

void nay__spread_add(nay_spread *s, unsigned thread, const uint64_t *hashes, uint64_t n) {
  spread_hand hand = spread_hand_of(s, thread);
  uint64_t nunits = s->f->shape.nunits, *desks = hand.desks;
  uint32_t *used = hand.used;
  unsigned shift = s->shift;
  for (uint64_t i = 0; i < n; i++) {
    uint64_t near = nay__reduce(hashes[i], nunits) >> shift;
    desks[near * SPREAD_DESK + used[near] % SPREAD_DESK] = hashes[i];
    if (++used[near] % SPREAD_DESK == 0) spread_carry(s, &hand, near);
  }
}

void nay__spread_flush(nay_spread *s, unsigned thread) {
  spread_hand hand = spread_hand_of(s, thread);
  for (uint64_t near = 0; near < s->nnear; near++) {
    uint32_t rest = hand.used[near] % SPREAD_DESK;
    uint64_t *end = hand.rooms + near * s->capacity + hand.used[near];
    memcpy(end - rest, hand.desks + near * SPREAD_DESK, rest * sizeof *end);
    if (hand.used[near] != 0) spread_empty(s, &hand, near);
  }
  nay__stream_end();
}
