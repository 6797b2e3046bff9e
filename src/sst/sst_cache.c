/* sst_cache.c - see sst_cache.h. A lock is held for a few pointers at a time; memory is freed
 * outside. */
#include "sst/sst_cache.h"

#include "base/spin.h"
#include "sst/sst_abi.h"

#define CACHE_BUCKETS 64u /* at first; a power of two */

typedef struct cache_list {
  uint8_t lock;
  nay_cache_entry **buckets;
  size_t nbuckets;
  nay_cache_entry *newest, *oldest;
  size_t budget; /* of a shared cache's data: as the filters leave it */
  struct nay_sst_cache_side stats;
} cache_list;

struct nay_sst_cache {
  nay_allocator allocator;
  uint64_t last_id;
  size_t shared; /* the budget of both lists; 0: each has its own */
  cache_list lists[2];
};

static void cache_lock(cache_list *l) {
  if (nay__atomic_swap8(&l->lock, 1) != 0) nay__spin_wait(&l->lock);
}

static nay_cache_entry **cache_bucket(const cache_list *l, uint64_t table, uint64_t offset) {
  uint64_t h = nay_hash_mix(offset ^ table * 0x9e3779b97f4a7c15u);
  return &l->buckets[h & (l->nbuckets - 1)];
}

/* The link that points to the entry, or to the NULL where it would be. */
static nay_cache_entry **cache_link(const cache_list *l, uint64_t table, uint64_t offset) {
  nay_cache_entry **p = cache_bucket(l, table, offset);
  while (*p != NULL && ((*p)->table != table || (*p)->offset != offset)) p = &(*p)->chain;
  return p;
}

static void cache_unlink(cache_list *l, nay_cache_entry *e) {
  *(e->newer != NULL ? &e->newer->older : &l->newest) = e->older;
  *(e->older != NULL ? &e->older->newer : &l->oldest) = e->newer;
}

static void cache_to_front(cache_list *l, nay_cache_entry *e) {
  e->newer = NULL;
  e->older = l->newest;
  *(l->newest != NULL ? &l->newest->newer : &l->oldest) = e;
  l->newest = e;
}

/* Doubles the buckets; if there is no memory for them, chains only get longer. */
static void cache_grow(cache_list *l, const nay_allocator *a) {
  size_t old = l->nbuckets, bytes;
  nay_cache_entry **buckets;
  if (!nay__mul_ok(old * 2, sizeof *buckets, &bytes)) return;
  buckets = nay__alloc(a, bytes);
  if (buckets == NULL) return;
  nay__free(a, l->buckets, old * sizeof *buckets);
  memset(buckets, 0, bytes);
  l->buckets = buckets;
  l->nbuckets = old * 2;
  for (nay_cache_entry *e = l->newest; e != NULL; e = e->older) {
    nay_cache_entry **p = cache_bucket(l, e->table, e->offset);
    e->chain = *p;
    *p = e;
  }
}

/* Takes an entry off the list. If nobody has it pinned it goes before `dead`, chained by `older`,
 * for the caller to free without the lock. */
static nay_cache_entry *cache_remove(cache_list *l, nay_cache_entry *e, nay_cache_entry *dead) {
  cache_unlink(l, e);
  *cache_link(l, e->table, e->offset) = e->chain;
  e->listed = false;
  l->stats.bytes -= e->charge;
  l->stats.entries--;
  if (e->npins != 0) return dead;
  e->older = dead;
  return e;
}

/* Removes the oldest entries until the list is within budget. */
static nay_cache_entry *cache_shrink(cache_list *l, nay_cache_entry *dead) {
  while (l->stats.bytes > l->budget && l->oldest != NULL) {
    l->stats.evictions++;
    dead = cache_remove(l, l->oldest, dead);
  }
  return dead;
}

/* The filters have changed, and their lock is held: data gets what they leave. */
static nay_cache_entry *cache_divide(nay_sst_cache *c, nay_cache_entry *dead) {
  cache_list *data = &c->lists[NAY_CACHE_DATA];
  uint64_t filters = c->lists[NAY_CACHE_FILTER].stats.bytes;
  if (c->shared == 0) return dead;
  cache_lock(data);
  data->budget = filters < c->shared ? c->shared - (size_t)filters : 0;
  dead = cache_shrink(data, dead);
  nay__spin_unlock(&data->lock);
  return dead;
}

static void cache_bury(nay_sst_cache *c, nay_cache_entry *dead) {
  while (dead != NULL) {
    nay_cache_entry *next = dead->older;
    nay__cache_entry_free(c, dead);
    dead = next;
  }
}

uint64_t nay__cache_id(nay_sst_cache *c) {
  cache_list *l = &c->lists[0];
  cache_lock(l);
  uint64_t id = ++c->last_id;
  nay__spin_unlock(&l->lock);
  return id;
}

const nay_allocator *nay__cache_allocator(const nay_sst_cache *c) { return &c->allocator; }

nay_cache_entry *nay__cache_find(nay_sst_cache *c, nay_cache_side side, uint64_t table,
                                 uint64_t offset) {
  cache_list *l = &c->lists[side];
  cache_lock(l);
  nay_cache_entry *e = *cache_link(l, table, offset);
  if (e != NULL) {
    e->npins++;
    cache_unlink(l, e);
    cache_to_front(l, e);
    l->stats.hits++;
  } else {
    l->stats.misses++;
  }
  nay__spin_unlock(&l->lock);
  return e;
}

nay_cache_entry *nay__cache_entry_new(nay_sst_cache *c, uint64_t table, uint64_t offset,
                                      size_t len) {
  if (len > SIZE_MAX / 2) return NULL;
  nay_cache_entry *e = nay__alloc(&c->allocator, sizeof *e + len);
  if (e == NULL) return NULL;
  *e = (nay_cache_entry){.table = table, .offset = offset, .len = len, .charge = sizeof *e + len};
  e->bytes = (uint8_t *)(e + 1);
  return e;
}

void nay__cache_entry_free(nay_sst_cache *c, nay_cache_entry *e) {
  nay_filter_free(e->filter);
  nay__free(&c->allocator, e, sizeof *e + e->len);
}

void nay__cache_insert(nay_sst_cache *c, nay_cache_side side, nay_cache_entry *e) {
  cache_list *l = &c->lists[side];
  nay_cache_entry *dead = NULL;
  e->npins = 1;
  cache_lock(l);
  nay_cache_entry **p = cache_link(l, e->table, e->offset);
  uint64_t left = l->budget > l->stats.held ? l->budget - l->stats.held : 0;
  if (*p == NULL && e->charge <= left) {
    *p = e;
    e->chain = NULL;
    e->listed = true;
    cache_to_front(l, e);
    l->stats.bytes += e->charge;
    if (++l->stats.entries > l->nbuckets) cache_grow(l, &c->allocator);
    dead = cache_shrink(l, dead);
    if (side == NAY_CACHE_FILTER) dead = cache_divide(c, dead);
  }
  nay__spin_unlock(&l->lock);
  cache_bury(c, dead);
}

void nay__cache_hold(nay_sst_cache *c, size_t bytes) {
  cache_list *l = &c->lists[NAY_CACHE_FILTER];
  cache_lock(l);
  l->stats.held += bytes;
  l->stats.bytes += bytes;
  nay_cache_entry *dead = cache_divide(c, cache_shrink(l, NULL));
  nay__spin_unlock(&l->lock);
  cache_bury(c, dead);
}

void nay__cache_unhold(nay_sst_cache *c, size_t bytes) {
  cache_list *l = &c->lists[NAY_CACHE_FILTER];
  cache_lock(l);
  l->stats.held -= bytes;
  l->stats.bytes -= bytes;
  nay_cache_entry *dead = cache_divide(c, NULL);
  nay__spin_unlock(&l->lock);
  cache_bury(c, dead);
}

void nay__cache_erase(nay_sst_cache *c, nay_cache_side side, uint64_t table, uint64_t offset) {
  cache_list *l = &c->lists[side];
  nay_cache_entry *dead = NULL;
  cache_lock(l);
  nay_cache_entry *e = *cache_link(l, table, offset);
  if (e != NULL) dead = cache_remove(l, e, dead);
  if (side == NAY_CACHE_FILTER) dead = cache_divide(c, dead);
  nay__spin_unlock(&l->lock);
  cache_bury(c, dead);
}

void nay__cache_pin(nay_sst_cache *c, nay_cache_side side, nay_cache_entry *e) {
  cache_list *l = &c->lists[side];
  cache_lock(l);
  e->npins++;
  nay__spin_unlock(&l->lock);
}

void nay__cache_release(nay_sst_cache *c, nay_cache_side side, nay_cache_entry *e) {
  cache_list *l = &c->lists[side];
  cache_lock(l);
  bool dead = --e->npins == 0 && !e->listed;
  nay__spin_unlock(&l->lock);
  if (dead) nay__cache_entry_free(c, e);
}

nay_status nay_sst_cache_new_shared(size_t bytes, size_t filter_bytes,
                                    const nay_allocator *allocator, nay_sst_cache **cache) {
  if (bytes == 0 || filter_bytes > bytes) return NAY_EINVAL;
  NAY_TRY(nay_sst_cache_new(bytes, filter_bytes, allocator, cache));
  (*cache)->shared = bytes;
  return NAY_OK;
}

nay_status nay_sst_cache_new(size_t data_bytes, size_t filter_bytes, const nay_allocator *allocator,
                             nay_sst_cache **cache) {
  if (cache == NULL) return NAY_EINVAL;
  nay_allocator a;
  NAY_TRY(nay__allocator_read(allocator, NULL, &a));
  nay_sst_cache *c = nay__alloc(&a, sizeof *c);
  if (c == NULL) return NAY_ENOMEM;
  *c = (nay_sst_cache){.allocator = a};
  c->lists[NAY_CACHE_DATA].budget = data_bytes;
  c->lists[NAY_CACHE_FILTER].budget = filter_bytes;
  for (size_t i = 0; i < 2; i++) {
    size_t bytes = CACHE_BUCKETS * sizeof *c->lists[i].buckets;
    c->lists[i].buckets = nay__alloc(&a, bytes);
    if (c->lists[i].buckets == NULL) {
      nay_sst_cache_free(c);
      return NAY_ENOMEM;
    }
    memset(c->lists[i].buckets, 0, bytes);
    c->lists[i].nbuckets = CACHE_BUCKETS;
  }
  *cache = c;
  return NAY_OK;
}

void nay_sst_cache_free(nay_sst_cache *c) {
  if (c == NULL) return;
  nay_allocator a = c->allocator;
  for (size_t i = 0; i < 2; i++) {
    cache_list *l = &c->lists[i];
    cache_bury(c, l->newest);
    nay__free(&a, l->buckets, l->nbuckets * sizeof *l->buckets);
  }
  nay__free(&a, c, sizeof *c);
}

nay_status nay_sst_cache_describe(const nay_sst_cache *cache, nay_sst_cache_stats *stats) {
  if (cache == NULL || stats == NULL) return NAY_EINVAL;
  NAY_TRY(nay__abi_check(NAY_ABI_SST_CACHE, stats, NULL));
  nay_sst_cache_stats now = {.size = sizeof now};
  nay_sst_cache *c = (nay_sst_cache *)(uintptr_t)cache; /* for the locks */
  cache_list *data = &c->lists[NAY_CACHE_DATA], *filter = &c->lists[NAY_CACHE_FILTER];
  cache_lock(filter); /* both, so that their sum is one that was */
  cache_lock(data);
  now.data = data->stats;
  now.filter = filter->stats;
  nay__spin_unlock(&data->lock);
  nay__spin_unlock(&filter->lock);
  nay__abi_write(NAY_ABI_SST_CACHE, &now, stats);
  return NAY_OK;
}
