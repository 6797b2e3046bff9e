/* block_cache.c - the sharded block cache: shards, eviction, and the account of bytes. See
 * block_cache.h. */
#include "cache/block_cache.h"

#include "base/compiler.h"
#include "cache/lru_list.h"
#include "os/mutex.h"
#include "os/thread.h"
#include "struct_sizes.h"

#define CACHE_SHARD_BITS 4u
#define CACHE_SHARDED_MIN                                                                     \
  (1u << 20) /* budget from which on there are 16 shards: 16 blocks of 4 KiB in each keep LRU \
                meaningful */

typedef struct cache_shard {
  nay_mutex mutex;
  nay_cache_list lists[2];
} cache_shard;

/* cache_account: the bytes in use, and their budgets. */
typedef struct cache_account {
  nay_mutex mutex;
  size_t budget[2];
  size_t shared;   /* budget of both sides together; 0: each side has its own */
  size_t bytes[2]; /* bytes of linked entries; the filter side includes `held` */
  size_t held;     /* bytes that open tables hold in memory */
  /* Bytes that tables being opened are about to hold. Entries are evicted for them, and no entry
   * may use the space. */
  size_t reserved;
} cache_account;

struct nay_sst_cache {
  nay_allocator allocator;
  uint64_t last_id;    /* atomic; last table id given out */
  uint64_t next_shard; /* atomic; round-robin choice of the shard to evict from */
  cache_account account;
  unsigned nshards; /* a power of two; counts the shards whose mutex is initialised */
  unsigned shard_bits;
  cache_shard shards[];
};

static uint64_t cache_hash(uint64_t table, uint64_t offset) {
  return nay_hash_mix(offset ^ table * 0x9e3779b97f4a7c15u);
}

/* Shards take the upper bits of the hash, buckets the lower ones. */
static cache_shard *cache_shard_of(nay_sst_cache *c, uint64_t hash) {
  return &c->shards[c->nshards == 1 ? 0 : hash >> (64 - c->shard_bits)];
}

/* ---- account of bytes ---- */

static size_t account_filter_bytes(const cache_account *a) {
  return a->bytes[NAY_CACHE_FILTER] + a->reserved;
}

/* Whether `more` bytes of a side would fit if every evictable entry were evicted. */
static bool account_could_fit(const cache_account *a, nay_cache_side side, size_t more) {
  size_t stays = side == NAY_CACHE_FILTER ? a->held + a->reserved : 0;
  size_t budget = a->budget[side];
  if (side == NAY_CACHE_DATA && a->shared != 0) {
    stays = account_filter_bytes(a);
    budget = a->shared;
  }
  return more <= budget && stays <= budget - more;
}

/* Whether `more` bytes of a side fit now. If not, sets *evict to the side that must lose an
 * entry. */
static bool account_fits(const cache_account *a, nay_cache_side side, size_t more,
                         nay_cache_side *evict) {
  size_t filters = account_filter_bytes(a), data = a->bytes[NAY_CACHE_DATA];
  *evict = side;
  if (a->shared == 0 || side == NAY_CACHE_FILTER) {
    size_t has = side == NAY_CACHE_FILTER ? filters : data;
    if (has > a->budget[side] || more > a->budget[side] - has) return false;
  }
  *evict = NAY_CACHE_DATA;
  return a->shared == 0 || (filters <= a->shared && data <= a->shared - filters &&
                            more <= a->shared - filters - data);
}

typedef enum cache_verdict { CACHE_CHARGED, CACHE_REFUSED, CACHE_MUST_EVICT } cache_verdict;

/* Charges the bytes of an entry that is about to be linked, if they fit. */
static cache_verdict account_charge(cache_account *a, nay_cache_side side, size_t more,
                                    nay_cache_side *evict) {
  cache_verdict verdict = CACHE_MUST_EVICT;
  nay__mutex_lock(&a->mutex);
  if (account_fits(a, side, more, evict)) {
    a->bytes[side] += more;
    verdict = CACHE_CHARGED;
  } else if (!account_could_fit(a, side, more)) {
    verdict = CACHE_REFUSED;
  }
  nay__mutex_unlock(&a->mutex);
  return verdict;
}

static void account_discharge(cache_account *a, nay_cache_side side, size_t bytes) {
  nay__mutex_lock(&a->mutex);
  a->bytes[side] -= bytes;
  nay__mutex_unlock(&a->mutex);
}

static size_t account_entries(cache_account *a, nay_cache_side side) {
  nay__mutex_lock(&a->mutex);
  size_t bytes = a->bytes[side] - (side == NAY_CACHE_FILTER ? a->held : 0);
  nay__mutex_unlock(&a->mutex);
  return bytes;
}

/* Whether reserved bytes exceed a budget and an entry can be evicted for them. Sets *evict to its
 * side. */
static bool account_is_over(const cache_account *a, nay_cache_side *evict) {
  size_t filters = account_filter_bytes(a), data = a->bytes[NAY_CACHE_DATA];
  *evict = NAY_CACHE_FILTER;
  if (filters > a->budget[NAY_CACHE_FILTER] && a->bytes[NAY_CACHE_FILTER] > a->held) return true;
  *evict = NAY_CACHE_DATA;
  return a->shared != 0 && data != 0 && (filters > a->shared || data > a->shared - filters);
}

/* Turns reserved bytes into held ones. False: an entry of *evict must be evicted first. */
static bool account_hold(cache_account *a, size_t bytes, nay_cache_side *evict) {
  nay__mutex_lock(&a->mutex);
  bool done = !account_is_over(a, evict);
  if (done) {
    a->reserved -= bytes;
    a->held += bytes;
    a->bytes[NAY_CACHE_FILTER] += bytes;
  }
  nay__mutex_unlock(&a->mutex);
  return done;
}

/* ---- entries ---- */

nay_cache_entry *nay_sst__cache_entry_new(nay_sst_cache *c, uint64_t table, uint64_t offset,
                                          size_t len) {
  if (len > SIZE_MAX / 2) return NULL;
  nay_cache_entry *e = nay__alloc(&c->allocator, sizeof *e + len);
  if (e == NULL) return NULL;
  *e = (nay_cache_entry){.table = table,
                         .offset = offset,
                         .len = len,
                         .charge = sizeof *e + len,
                         .refs = 1,
                         .hash = cache_hash(table, offset)};
  e->bytes = (uint8_t *)(e + 1);
  return e;
}

void nay_sst__cache_pin(nay_cache_entry *e) { nay__atomic_increment64(&e->refs); }

void nay_sst__cache_release(nay_sst_cache *c, nay_cache_entry *e) {
  if (e == NULL || nay__atomic_decrement64(&e->refs) != 0) return;
  if (e->native != NULL) nay_filter_free(e->native->filter);
  nay__free(&c->allocator, e, sizeof *e + e->len);
}

/* ---- shards ---- */

/* Unlinks an entry. The caller holds the shard's mutex, and drops the shard's reference after
 * unlocking. */
static void cache_unlink(nay_sst_cache *c, cache_shard *s, nay_cache_side side,
                         nay_cache_entry *e) {
  nay_sst__cache_list_remove(&s->lists[side], e);
  account_discharge(&c->account, side, e->charge);
}

/* Unlinks the least recently used entry of a side of a shard, if the side has at least `least`
 * bytes. */
static nay_cache_entry *cache_unlink_oldest(nay_sst_cache *c, cache_shard *s, nay_cache_side side,
                                            size_t least) {
  nay_cache_list *l = &s->lists[side];
  nay__mutex_lock(&s->mutex);
  nay_cache_entry *e = l->bytes >= least ? l->oldest : NULL;
  if (e != NULL) {
    cache_unlink(c, s, side, e);
    l->evictions++;
  }
  nay__mutex_unlock(&s->mutex);
  return e;
}

/* Evicts one entry. The first round visits shards that have at least an equal share, so that shards
 * stay about equal; the second round, needed if other threads changed them meanwhile, visits
 * any. */
static void cache_evict(nay_sst_cache *c, nay_cache_side side) {
  nay_cache_entry *e = NULL;
  size_t least = account_entries(&c->account, side) / c->nshards;
  for (unsigned i = 0; e == NULL && i < 2 * c->nshards; i++) {
    cache_shard *s = &c->shards[nay__tally(&c->next_shard, 1) & (c->nshards - 1)];
    e = cache_unlink_oldest(c, s, side, i < c->nshards ? least : 0);
  }
  nay_sst__cache_release(c, e);
}

/* Grows the hash table of a list. The memory is allocated without the mutex. */
static void cache_grow(nay_sst_cache *c, cache_shard *s, nay_cache_list *l, size_t wants) {
  size_t bytes;
  if (wants == 0 || !nay__mul_ok(wants, sizeof(nay_cache_entry *), &bytes)) return;
  nay_cache_entry **buckets = nay__alloc(&c->allocator, bytes);
  if (buckets == NULL) return;
  nay__mutex_lock(&s->mutex);
  bool taken = nay_sst__cache_list_give(l, buckets, wants);
  nay__mutex_unlock(&s->mutex);
  if (!taken) nay__free(&c->allocator, buckets, bytes);
}

/* ---- calls of tables ---- */

uint64_t nay_sst__cache_id(nay_sst_cache *c) { return nay__tally(&c->last_id, 1); }

const nay_allocator *nay_sst__cache_allocator(const nay_sst_cache *c) { return &c->allocator; }

nay_cache_entry *nay_sst__cache_find(nay_sst_cache *c, nay_cache_side side, uint64_t table,
                                     uint64_t offset) {
  uint64_t hash = cache_hash(table, offset);
  cache_shard *s = cache_shard_of(c, hash);
  nay_cache_list *l = &s->lists[side];
  nay__mutex_lock(&s->mutex);
  nay_cache_entry *e = nay_sst__cache_list_find(l, hash, table, offset);
  if (e != NULL) {
    nay_sst__cache_pin(e);
    nay_sst__cache_list_use(l, e);
    l->hits++;
  } else {
    l->misses++;
  }
  nay__mutex_unlock(&s->mutex);
  return e;
}

void nay_sst__cache_insert(nay_sst_cache *c, nay_cache_side side, nay_cache_entry *e) {
  cache_shard *s = cache_shard_of(c, e->hash);
  nay_cache_list *l = &s->lists[side];
  cache_verdict verdict;
  size_t wants = 0;
  do {
    nay_cache_side evict = side;
    nay__mutex_lock(&s->mutex);
    bool exists = nay_sst__cache_list_find(l, e->hash, e->table, e->offset) != NULL;
    verdict = exists ? CACHE_REFUSED : account_charge(&c->account, side, e->charge, &evict);
    if (verdict == CACHE_CHARGED) {
      nay_sst__cache_pin(e); /* the shard's reference */
      nay_sst__cache_list_add(l, e);
      wants = nay_sst__cache_list_wants(l);
    }
    nay__mutex_unlock(&s->mutex);
    if (verdict == CACHE_MUST_EVICT) cache_evict(c, evict);
  } while (verdict == CACHE_MUST_EVICT);
  cache_grow(c, s, l, wants);
}

void nay_sst__cache_erase(nay_sst_cache *c, nay_cache_side side, uint64_t table, uint64_t offset) {
  uint64_t hash = cache_hash(table, offset);
  cache_shard *s = cache_shard_of(c, hash);
  nay__mutex_lock(&s->mutex);
  nay_cache_entry *e = nay_sst__cache_list_find(&s->lists[side], hash, table, offset);
  if (e != NULL) cache_unlink(c, s, side, e);
  nay__mutex_unlock(&s->mutex);
  nay_sst__cache_release(c, e);
}

void nay_sst__cache_hold(nay_sst_cache *c, size_t bytes) {
  nay_cache_side evict;
  nay__mutex_lock(&c->account.mutex);
  c->account.reserved += bytes;
  nay__mutex_unlock(&c->account.mutex);
  while (!account_hold(&c->account, bytes, &evict)) cache_evict(c, evict);
}

void nay_sst__cache_unhold(nay_sst_cache *c, size_t bytes) {
  nay__mutex_lock(&c->account.mutex);
  c->account.held -= bytes;
  c->account.bytes[NAY_CACHE_FILTER] -= bytes;
  nay__mutex_unlock(&c->account.mutex);
}

/* ---- create and free ---- */

static nay_status cache_new(const cache_account *account, const nay_allocator *allocator,
                            nay_diag *diag, nay_sst_cache **cache) {
  nay_allocator a;
  NAY_TRY(nay__allocator_read(allocator, diag, &a));
  bool sharded = account->budget[NAY_CACHE_DATA] >= CACHE_SHARDED_MIN ||
                 account->budget[NAY_CACHE_FILTER] >= CACHE_SHARDED_MIN;
  unsigned bits = sharded ? CACHE_SHARD_BITS : 0;
  size_t size = sizeof(nay_sst_cache) + ((size_t)1 << bits) * sizeof(cache_shard);
  nay_sst_cache *c = nay__alloc(&a, size);
  if (c == NULL) return nay__fail(diag, NAY_ENOMEM, "no memory for a cache", 0);
  *c = (nay_sst_cache){.allocator = a, .account = *account, .shard_bits = bits};
  if (nay__mutex_init(&c->account.mutex) != NAY_OK) {
    nay__free(&a, c, size);
    return nay__fail(diag, NAY_ENOMEM, "no memory for a mutex", 0);
  }
  for (; c->nshards < 1u << bits; c->nshards++) {
    cache_shard *s = &c->shards[c->nshards];
    for (unsigned i = 0; i < 2; i++) nay_sst__cache_list_init(&s->lists[i]);
    if (nay__mutex_init(&s->mutex) != NAY_OK) {
      nay_sst_cache_free(c);
      return nay__fail(diag, NAY_ENOMEM, "no memory for a mutex", 0);
    }
  }
  *cache = c;
  return NAY_OK;
}

nay_status nay_sst_cache_new(const nay_sst_cache_options *options, const nay_allocator *allocator,
                             nay_diag *diag, nay_sst_cache **cache) {
  nay_sst_cache_options o;
  if (options == NULL || cache == NULL)
    return nay__fail(diag, NAY_EINVAL, "options or cache is NULL", 0);
  NAY_TRY(nay__abi_read(NAY_ABI_SST_CACHE_OPTIONS, options, diag, &o));
  if (o.shared && (o.data_bytes == 0 || o.filter_bytes > o.data_bytes))
    return nay__fail(diag, NAY_EINVAL, "data_bytes is 0 or below filter_bytes", 0);
  cache_account account = {.budget = {o.data_bytes, o.filter_bytes},
                           .shared = o.shared ? o.data_bytes : 0};
  return cache_new(&account, allocator, diag, cache);
}

static void cache_free_shard(nay_sst_cache *c, cache_shard *s) {
  for (unsigned i = 0; i < 2; i++) {
    for (nay_cache_entry *e = s->lists[i].newest, *next; e != NULL; e = next) {
      next = e->older;
      nay_sst__cache_release(c, e);
    }
    nay_sst__cache_list_free(&s->lists[i], &c->allocator);
  }
  nay__mutex_free(&s->mutex);
}

void nay_sst_cache_free(nay_sst_cache *c) {
  if (c == NULL) return;
  nay_allocator a = c->allocator;
  for (unsigned i = 0; i < c->nshards; i++) cache_free_shard(c, &c->shards[i]);
  nay__mutex_free(&c->account.mutex);
  nay__free(&a, c, sizeof *c + ((size_t)1 << c->shard_bits) * sizeof *c->shards);
}

static void cache_add_counts(const nay_cache_list *l, struct nay_sst_cache_side *side) {
  side->entries += l->entries;
  side->hits += l->hits;
  side->misses += l->misses;
  side->evictions += l->evictions;
}

nay_status nay_sst_cache_stats(const nay_sst_cache *cache, nay_sst_cache_info *stats) {
  if (cache == NULL || stats == NULL) return NAY_EINVAL;
  NAY_TRY(nay__abi_check(NAY_ABI_SST_CACHE, stats, NULL));
  nay_sst_cache_info now = {.size = sizeof now};
  nay_sst_cache *c = (nay_sst_cache *)(uintptr_t)cache; /* the cast gives access to the mutexes */
  for (unsigned i = 0; i < c->nshards; i++) {
    cache_shard *s = &c->shards[i];
    nay__mutex_lock(&s->mutex);
    cache_add_counts(&s->lists[NAY_CACHE_DATA], &now.data);
    cache_add_counts(&s->lists[NAY_CACHE_FILTER], &now.filter);
    nay__mutex_unlock(&s->mutex);
  }
  /* Both sides are read under one lock, so their sum is a value the cache really had. */
  nay__mutex_lock(&c->account.mutex);
  now.data.bytes = c->account.bytes[NAY_CACHE_DATA];
  now.filter.bytes = c->account.bytes[NAY_CACHE_FILTER];
  now.filter.held = c->account.held;
  nay__mutex_unlock(&c->account.mutex);
  nay__abi_write(NAY_ABI_SST_CACHE, &now, stats);
  return NAY_OK;
}
