/*
 * cuckoo_room.c - room for a tag whose two buckets are full: a chain of moves, or a larger table.
 *
 * Both are searched before anything is written or allocated. A table that will be doubled is
 * searched as it is: after `ahead` doublings bucket B holds the tags of bucket B >> ahead whose top
 * bits are the low bits of B, so it is full only when all four of them have these.
 */
#include "base/bits.h"
#include "base/bytes.h"
#include "base/compiler.h"
#include "base/trace.h"
#include "family/cuckoo.h"
#include "family/regrow.h"

#define CUCKOO_NODES 1024u /* of a search; 95% load needs a few dozen: tests/stats */

/* ---- chains of moves ---- */

/* A bucket reached by moving the tag in `slot` of its parent there. */
typedef struct cuckoo_node {
  uint64_t bucket;
  uint16_t parent;
  uint8_t slot;
} cuckoo_node;

/* The table after some doublings more: where its buckets are. The slots are those of `now`. */
typedef struct cuckoo_view {
  const nay_cuckoo_table *now;
  nay_cuckoo_table then;
  unsigned ahead;
} cuckoo_view;

static cuckoo_view cuckoo_look_ahead(const nay_cuckoo_table *t, unsigned ahead) {
  cuckoo_view v = {t, *t, ahead};
  v.then.d += ahead;
  v.then.spare -= ahead;
  return v;
}

static uint64_t cuckoo_view_slot(const cuckoo_view *v, uint64_t bucket, unsigned slot) {
  return nay__cuckoo_bucket_bit(v->now, bucket >> v->ahead) + slot * v->now->f;
}

static bool cuckoo_view_full(const cuckoo_view *v, uint64_t bucket) {
  if (v->ahead == 0) return nay__cuckoo_match(v->now, bucket, 0) == 0;
  for (unsigned slot = 0; slot < NAY_CUCKOO_SLOTS; slot++) {
    uint64_t tag = nay__cuckoo_get(v->now, cuckoo_view_slot(v, bucket, slot));
    uint64_t top = tag >> (v->now->f - v->ahead);
    if (tag == 0 || top != (bucket & nay__cuckoo_mask(v->ahead))) return false;
  }
  return true;
}

/*
 * Breadth first from both buckets, which are full: the four neighbours of a bucket are prefetched
 * together, and the first with a free slot ends the search. No bucket can be on the path twice,
 * because the part between would make it longer than another that is found earlier. Returns the
 * number of that node; 0: there is no path.
 */
static unsigned cuckoo_search(const cuckoo_view *v, const nay_cuckoo_key *key, cuckoo_node *nodes) {
  nodes[0] = (cuckoo_node){key->home, 0, 0};
  nodes[1] = (cuckoo_node){key->other, 0, 0};
  for (unsigned next = 0, end = 2; next < end && end + NAY_CUCKOO_SLOTS <= CUCKOO_NODES; next++) {
    unsigned first = end;
    for (unsigned slot = 0; slot < NAY_CUCKOO_SLOTS; slot++) {
      uint64_t tag = nay__cuckoo_get(v->now, cuckoo_view_slot(v, nodes[next].bucket, slot));
      uint64_t alt = nay__cuckoo_move(&v->then, nodes[next].bucket, &tag);
      NAY_PREFETCH(v->now->slots + (cuckoo_view_slot(v, alt, 0) >> 3));
      nodes[end++] = (cuckoo_node){alt, (uint16_t)next, (uint8_t)slot};
    }
    for (unsigned i = first; i < end; i++) {
      if (!cuckoo_view_full(v, nodes[i].bucket)) return i;
    }
  }
  return 0;
}

/* Moves the tags along the path to nodes[last], which has a free slot; the root's gets the key. */
static void cuckoo_shift(const nay_cuckoo_table *t, const cuckoo_node *nodes, unsigned last,
                         const nay_cuckoo_key *key) {
  uint64_t free = nay__cuckoo_match(t, nodes[last].bucket, 0);
  uint64_t to = nay__cuckoo_first(t, nodes[last].bucket, free);
  while (last > 1) { /* nodes 0 and 1 are the roots */
    unsigned parent = nodes[last].parent;
    uint64_t from = nay__cuckoo_bucket_bit(t, nodes[parent].bucket) + nodes[last].slot * t->f;
    uint64_t tag = nay__cuckoo_get(t, from);
    nay__cuckoo_move(t, nodes[parent].bucket, &tag);
    NAY_TRACE(CUCKOO_KICK, 0, 0, nodes[parent].bucket, nodes[last].slot, nodes[last].bucket, tag);
    nay__cuckoo_set(t, to, tag);
    to = from;
    last = parent;
  }
  uint64_t tag = last == 0 ? key->home_tag : key->other_tag;
  NAY_TRACE(CUCKOO_PUT, 0, 0, nodes[last].bucket,
            (to - nay__cuckoo_bucket_bit(t, nodes[last].bucket)) / t->f, tag, 0);
  nay__cuckoo_set(t, to, tag);
}

bool nay__cuckoo_evict(const nay_cuckoo_table *t, const nay_cuckoo_key *key) {
  cuckoo_node nodes[CUCKOO_NODES];
  cuckoo_view v = cuckoo_look_ahead(t, 0);
  unsigned last = cuckoo_search(&v, key, nodes);
  if (last == 0) return false;
  cuckoo_shift(t, nodes, last, key);
  return true;
}

/* ---- doubling ---- */

/* Whether the key has a place after so many doublings more. Later buckets of a key follow from the
 * earlier ones: the next spare bits of its tags are their low bits. */
static bool cuckoo_has_room(const nay_cuckoo_table *t, const nay_cuckoo_key *key, unsigned ahead) {
  cuckoo_node nodes[CUCKOO_NODES];
  cuckoo_view v = cuckoo_look_ahead(t, ahead);
  nay_cuckoo_key then = {.home = key->home << ahead | key->home_tag >> (t->f - ahead),
                         .other = key->other << ahead | key->other_tag >> (t->f - ahead)};
  if (!cuckoo_view_full(&v, then.home) || !cuckoo_view_full(&v, then.other)) return true;
  return cuckoo_search(&v, &then, nodes) != 0;
}

/* Whether the spare bits and the limit of the memory allow so many doublings more. */
static bool cuckoo_may_double(const nay_filter *f, const nay_cuckoo_table *t, unsigned doublings) {
  uint64_t most = nay__load64le(f->bits.bytes + NAY_CUCKOO_AT_MAX_NBYTES);
  if (doublings > t->spare) return false;
  return most == 0 || nay__cuckoo_nbytes(&f->shape, t->d + doublings) <= most;
}

static uint64_t cuckoo_nslots(const nay_cuckoo_table *t) {
  return nay__cuckoo_nbuckets(t) * NAY_CUCKOO_SLOTS;
}

bool nay__cuckoo_is_due(const nay_filter *f, const nay_cuckoo_table *t) {
  uint64_t nentries = nay__load64le(f->bits.bytes + NAY_CUCKOO_AT_NENTRIES);
  return nentries >= nay__cuckoo_capacity(cuckoo_nslots(t)) && cuckoo_may_double(f, t, 1);
}

/* Tags go to the bucket that their top bits name, slot 0 first. */
static void cuckoo_split(const nay_cuckoo_table *from, const nay_cuckoo_table *to) {
  unsigned doublings = to->d - from->d;
  for (uint64_t bucket = 0; bucket < nay__cuckoo_nbuckets(from); bucket++) {
    for (unsigned slot = 0; slot < NAY_CUCKOO_SLOTS; slot++) {
      uint64_t tag = nay__cuckoo_get(from, nay__cuckoo_bucket_bit(from, bucket) + slot * from->f);
      if (tag == 0) continue;
      uint64_t half = bucket << doublings | tag >> to->f;
      nay__cuckoo_set(to, nay__cuckoo_first(to, half, nay__cuckoo_match(to, half, 0)),
                      tag & nay__cuckoo_mask(to->f));
    }
  }
}

static nay_status cuckoo_double(nay_filter *f, const nay_cuckoo_table *from, unsigned doublings) {
  uint64_t nbytes = nay__cuckoo_nbytes(&f->shape, from->d + doublings);
  nay_memory fresh;
  NAY_TRY(nay__payload_new(f, nbytes, &fresh));
  memcpy(fresh.at, f->bits.bytes, NAY_CUCKOO_HEADER);
  nay__store64le(fresh.at + NAY_CUCKOO_AT_DOUBLINGS, from->d + doublings);
  nay_cuckoo_table to = nay__cuckoo_open(&f->shape, fresh.at, from->d + doublings);
  cuckoo_split(from, &to);
  NAY_TRACE(CUCKOO_DOUBLED, 0, 0, nay__cuckoo_nbuckets(&to), 0, 0, 0);
  nay__payload_take(f, &fresh, (size_t)nbytes);
  return NAY_OK;
}

/* At most three doublings: a table four times as large as this one cannot be a quarter full. */
nay_status nay__cuckoo_grow(nay_filter *f, const nay_cuckoo_table *t, const nay_cuckoo_key *key) {
  uint64_t nentries = nay__load64le(f->bits.bytes + NAY_CUCKOO_AT_NENTRIES);
  for (unsigned doublings = 1; cuckoo_may_double(f, t, doublings); doublings++) {
    if (nentries < (cuckoo_nslots(t) << doublings) / 8) break;
    if (cuckoo_has_room(t, key, doublings)) return cuckoo_double(f, t, doublings);
  }
  return NAY_EFULL;
}
