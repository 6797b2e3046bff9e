/*
 * table_pool.c - a pool of open tables, like LevelDB's TableCache.
 *
 *   buckets   hash table: path -> entry, for every table that an acquire can find
 *   idle      LRU list of the entries without users, the most recently released first
 *
 *                 acquire, not open           acquire
 *        (none) ------------------> in use <---------- idle
 *                                     |  ------------>   |
 *                                     |    release       |  evicted, or closed to make room
 *                                     v                  v
 *                 released above max_open,             closed
 *                 or after evict
 *
 * An open table has a descriptor or a mapping, its index and its filters, so max_open bounds files
 * and memory. Idle tables are also closed when the system has no file descriptors left.
 *
 * INVARIANT: stats.open counts tables that are open, being opened or being closed. It is
 * incremented before a file is opened and decremented after it is closed, and a thread that needs
 * room closes its victim first. So at most max_open tables are ever open, unless more are in use.
 *
 * The mutex protects only the lists; files are opened and closed without it. Two threads may
 * therefore open the same table at once: the second one to finish closes its own. An evict during
 * an open may mean that the file has been replaced since: the table is then not listed, and closed
 * when released.
 *
 * Cost: acquiring an open table hashes its path and updates a few pointers. A table that is
 * reopened gets a new id in the block cache, and its old blocks age out.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "os/file.h"
#include "os/mutex.h"
#include "table/table.h"

#define TABLES_BUCKETS_MAX 65536u /* upper limit; with more open tables the chains get longer */

typedef struct tables_entry tables_entry;
struct tables_entry {
  nay_sst *sst;
  uint64_t hash; /* hash of the path */
  uint64_t users;
  bool listed;         /* the entry is in `buckets`: an acquire finds it */
  tables_entry *chain; /* next entry of the same bucket */
  tables_entry *newer; /* neighbour in the idle list, as is `older` */
  tables_entry *older;
  size_t path_size;
  char path[];
};

struct nay_sst_pool {
  nay_allocator allocator;
  nay_sst_pool_options options;
  nay_sst_read_options read;
  nay_mutex mutex; /* protects all fields below */
  tables_entry **buckets;
  size_t nbuckets; /* a power of two */
  tables_entry *newest, *oldest;
  uint64_t closing; /* tables of stats.open that are being closed */
  uint64_t evicts;  /* number of calls of evict */
  nay_sst_pool_info stats;
};

/* ---- the mutex is held ---- */

/* Returns the link that points to the entry, or the NULL link where it would be appended. */
static tables_entry **tables_link(const nay_sst_pool *c, const char *path, uint64_t hash) {
  tables_entry **p = &c->buckets[hash & (c->nbuckets - 1)];
  while (*p != NULL && ((*p)->hash != hash || strcmp((*p)->path, path) != 0)) p = &(*p)->chain;
  return p;
}

static void tables_list(nay_sst_pool *c, tables_entry *e) {
  tables_entry **p = &c->buckets[e->hash & (c->nbuckets - 1)];
  e->chain = *p;
  *p = e;
  e->listed = true;
}

static void tables_unlist(nay_sst_pool *c, tables_entry *e) {
  *tables_link(c, e->path, e->hash) = e->chain;
  e->listed = false;
}

static void tables_leave_idle(nay_sst_pool *c, tables_entry *e) {
  *(e->newer != NULL ? &e->newer->older : &c->newest) = e->older;
  *(e->older != NULL ? &e->older->newer : &c->oldest) = e->newer;
}

static void tables_become_idle(nay_sst_pool *c, tables_entry *e) {
  e->newer = NULL;
  e->older = c->newest;
  *(c->newest != NULL ? &c->newest->newer : &c->oldest) = e;
  c->newest = e;
}

static void tables_use(nay_sst_pool *c, tables_entry *e) {
  if (e->users++ != 0) return;
  tables_leave_idle(c, e);
  c->stats.in_use++;
}

/* Unlists the table that was released longest ago, for the caller to close. NULL: none is idle. */
static tables_entry *tables_take_idle(nay_sst_pool *c) {
  tables_entry *e = c->oldest;
  if (e == NULL) return NULL;
  tables_leave_idle(c, e);
  tables_unlist(c, e);
  c->stats.closed++;
  return e;
}

/* Makes room for one more table. If *victim is not NULL, the caller closes it first, and the new
 * table takes its place. False: max_open tables are in use, and the option `strict` forbids
 * more. */
static bool tables_reserve(nay_sst_pool *c, tables_entry **victim) {
  *victim = c->stats.open >= c->options.max_open ? tables_take_idle(c) : NULL;
  if (*victim != NULL) return true;
  if (c->stats.open >= c->options.max_open && c->options.strict) return false;
  if (++c->stats.open > c->stats.peak_open) c->stats.peak_open = c->stats.open;
  return true;
}

/* ---- the mutex is not held ---- */

static void tables_close(nay_sst_pool *c, tables_entry *e) {
  if (e == NULL) return;
  nay_sst_free(e->sst);
  nay__free(&c->allocator, e, sizeof *e + e->path_size);
}

/* Closes an entry that is not listed and is counted in `closing`. */
static void tables_close_counted(nay_sst_pool *c, tables_entry *e) {
  if (e == NULL) return;
  tables_close(c, e);
  nay__mutex_lock(&c->mutex);
  c->closing--;
  c->stats.open--;
  nay__mutex_unlock(&c->mutex);
}

static nay_status tables_open(nay_sst_pool *c, const char *path, uint64_t hash, nay_diag *diag,
                              tables_entry **entry) {
  size_t size = strlen(path) + 1;
  tables_entry *e = nay__alloc(&c->allocator, sizeof *e + size);
  if (e == NULL) return nay__fail(diag, NAY_ENOMEM, "no memory for a table", 0);
  *e = (tables_entry){.hash = hash, .users = 1, .path_size = size};
  memcpy(e->path, path, size);
  const nay_sst_pool_options *o = &c->options;
  nay_status status = o->open != NULL
                          ? o->open(o->open_ctx, path, &c->read, &c->allocator, diag, &e->sst)
                          : nay_sst_open(path, &c->read, &c->allocator, diag, &e->sst);
  if (status != NAY_OK) {
    e->sst = NULL;
    tables_close(c, e);
    return status;
  }
  e->sst->pool_entry = e;
  *entry = e;
  return NAY_OK;
}

/* Whether an open failed because no file descriptors are left, and an idle table was closed so that
 * it can be tried again. */
static bool tables_retry(nay_sst_pool *c, nay_status status, const nay_diag *diag) {
  if (status != NAY_EIO || !nay__file_too_many(diag)) return false;
  nay__mutex_lock(&c->mutex);
  tables_entry *e = tables_take_idle(c);
  c->closing += e != NULL;
  nay__mutex_unlock(&c->mutex);
  tables_close_counted(c, e);
  return e != NULL;
}

/* Lists a table that was just opened. If another thread listed the same table meanwhile, closes
 * this one and returns the other. e NULL: the open failed, and its room is given back. */
static tables_entry *tables_publish(nay_sst_pool *c, tables_entry *e, uint64_t evicts) {
  tables_entry *other = NULL;
  nay__mutex_lock(&c->mutex);
  if (e == NULL) {
    c->stats.open--;
  } else {
    other = *tables_link(c, e->path, e->hash);
    if (other != NULL) {
      tables_use(c, other);
      c->closing++;
    } else {
      if (c->evicts == evicts) tables_list(c, e);
      c->stats.in_use++;
    }
  }
  nay__mutex_unlock(&c->mutex);
  if (other == NULL) return e;
  tables_close_counted(c, e);
  return other;
}

nay_status nay_sst_pool_acquire(nay_sst_pool *c, const char *path, nay_diag *diag,
                                const nay_sst **sst) {
  if (c == NULL || path == NULL || sst == NULL) {
    return nay__fail(diag, NAY_EINVAL, "tables, path or sst is NULL", 0);
  }
  uint64_t hash = XXH3_64bits(path, strlen(path));
  tables_entry *victim = NULL;
  nay__mutex_lock(&c->mutex);
  uint64_t evicts = c->evicts;
  tables_entry *e = *tables_link(c, path, hash);
  bool found = e != NULL, room = true;
  if (found) {
    tables_use(c, e);
    c->stats.hits++;
  } else {
    c->stats.misses++;
    room = tables_reserve(c, &victim);
  }
  nay__mutex_unlock(&c->mutex);
  if (!room) return nay__fail(diag, NAY_EFULL, "max_open tables are in use", 0);
  if (!found) {
    nay_diag local;
    nay_status status;
    if (diag == NULL) diag = &local;
    tables_close(c, victim);
    do {
      *diag = (nay_diag){.what = NULL};
      status = tables_open(c, path, hash, diag, &e);
    } while (tables_retry(c, status, diag));
    e = tables_publish(c, e, evicts);
    NAY_TRY(status);
  }
  *sst = e->sst;
  return NAY_OK;
}

void nay_sst_pool_release(nay_sst_pool *c, const nay_sst *sst) {
  if (c == NULL || sst == NULL) return;
  tables_entry *e = sst->pool_entry, *dead = NULL;
  nay__mutex_lock(&c->mutex);
  if (--e->users == 0) {
    c->stats.in_use--;
    bool above = c->stats.open - c->closing > c->options.max_open;
    if (e->listed && !above) {
      tables_become_idle(c, e);
    } else {
      if (e->listed) tables_unlist(c, e);
      c->stats.closed += above;
      c->closing++;
      dead = e;
    }
  }
  nay__mutex_unlock(&c->mutex);
  tables_close_counted(c, dead);
}

void nay_sst_pool_evict(nay_sst_pool *c, const char *path) {
  if (c == NULL || path == NULL) return;
  uint64_t hash = XXH3_64bits(path, strlen(path));
  tables_entry *dead = NULL;
  nay__mutex_lock(&c->mutex);
  c->evicts++;
  tables_entry *e = *tables_link(c, path, hash);
  if (e != NULL) {
    tables_unlist(c, e);
    if (e->users == 0) {
      tables_leave_idle(c, e);
      c->closing++;
      dead = e;
    }
  }
  nay__mutex_unlock(&c->mutex);
  tables_close_counted(c, dead);
}

/* ---- create and free ---- */

static nay_status tables_options(const nay_sst_pool_options *from, nay_diag *diag,
                                 nay_sst_pool_options *o, nay_sst_read_options *read) {
  *read = (nay_sst_read_options){.size = sizeof *read};
  NAY_TRY(nay__abi_read(NAY_ABI_SST_POOL, from, diag, o));
  if (o->max_open == 0) return nay__fail(diag, NAY_EINVAL, "max_open is 0", 0);
  if (o->read != NULL) NAY_TRY(nay__abi_read(NAY_ABI_SST_READ, o->read, diag, read));
  o->read = NULL; /* owned by the caller; the pool has a copy */
  if (read->stored_comparator != NULL) {
    return nay__fail(diag, NAY_EINVAL, "stored_comparator is for one table", 0);
  }
  return nay_sst__check_read(read, diag);
}

nay_status nay_sst_pool_new(const nay_sst_pool_options *options, const nay_allocator *allocator,
                            nay_diag *diag, nay_sst_pool **tables) {
  nay_sst_pool_options o;
  nay_sst_read_options read;
  nay_allocator a;
  if (options == NULL || tables == NULL) {
    return nay__fail(diag, NAY_EINVAL, "options or tables is NULL", 0);
  }
  NAY_TRY(tables_options(options, diag, &o, &read));
  NAY_TRY(nay__allocator_read(allocator, diag, &a));
  size_t nbuckets = 16;
  while (nbuckets < o.max_open && nbuckets < TABLES_BUCKETS_MAX) nbuckets *= 2;
  nay_sst_pool *c = nay__alloc(&a, sizeof *c);
  tables_entry **buckets = nay__alloc(&a, nbuckets * sizeof *buckets);
  bool made = c != NULL && buckets != NULL;
  if (made) {
    memset(buckets, 0, nbuckets * sizeof *buckets);
    *c = (nay_sst_pool){.allocator = a, .options = o, .read = read, .nbuckets = nbuckets};
    c->buckets = buckets;
    made = nay__mutex_init(&c->mutex) == NAY_OK;
  }
  if (!made) {
    nay__free(&a, c, sizeof *c);
    nay__free(&a, buckets, nbuckets * sizeof *buckets);
    return nay__fail(diag, NAY_ENOMEM, "no memory for a pool of tables", 0);
  }
  *tables = c;
  return NAY_OK;
}

void nay_sst_pool_free(nay_sst_pool *c) {
  if (c == NULL) return;
  nay_allocator a = c->allocator;
  for (tables_entry *e = c->newest, *next; e != NULL; e = next) {
    next = e->older;
    tables_close(c, e);
  }
  nay__mutex_free(&c->mutex);
  nay__free(&a, c->buckets, c->nbuckets * sizeof *c->buckets);
  nay__free(&a, c, sizeof *c);
}

nay_status nay_sst_pool_stats(const nay_sst_pool *tables, nay_sst_pool_info *stats) {
  if (tables == NULL || stats == NULL) return NAY_EINVAL;
  NAY_TRY(nay__abi_check(NAY_ABI_SST_POOL_INFO, stats, NULL));
  nay_sst_pool *c = (nay_sst_pool *)(uintptr_t)tables; /* the cast gives access to the mutex */
  nay__mutex_lock(&c->mutex);
  nay_sst_pool_info now = c->stats;
  nay__mutex_unlock(&c->mutex);
  nay__abi_write(NAY_ABI_SST_POOL_INFO, &now, stats);
  return NAY_OK;
}
