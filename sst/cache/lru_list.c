/* lru_list.c - see lru_list.h. */
#include "cache/lru_list.h"

#include "base/bits.h"

/* Segment more[k] starts at bucket NAY_CACHE_SEGMENT << k and has the same number of buckets. */
static nay_cache_entry **list_bucket(const nay_cache_list *l, size_t i) {
  nay_cache_list *own = (nay_cache_list *)(uintptr_t)l; /* the caller decides on constness */
  if (i < NAY_CACHE_SEGMENT) return &own->first[i];
  unsigned k = nay__log2_64(i / NAY_CACHE_SEGMENT);
  return &own->more[k][i - ((size_t)NAY_CACHE_SEGMENT << k)];
}

static nay_cache_entry **list_bucket_of(const nay_cache_list *l, uint64_t hash) {
  size_t m = (size_t)1 << nay__log2_64(l->nbuckets);
  size_t i = (size_t)hash & (2 * m - 1);
  return list_bucket(l, i < l->nbuckets ? i : i - m);
}

void nay_sst__cache_list_init(nay_cache_list *l) {
  *l = (nay_cache_list){.nbuckets = NAY_CACHE_SEGMENT};
}

nay_cache_entry *nay_sst__cache_list_find(const nay_cache_list *l, uint64_t hash, uint64_t table,
                                          uint64_t offset) {
  nay_cache_entry *e = *list_bucket_of(l, hash);
  while (e != NULL && (e->hash != hash || e->table != table || e->offset != offset)) e = e->chain;
  return e;
}

/* ---- LRU order ---- */

static void list_unlink(nay_cache_list *l, nay_cache_entry *e) {
  *(e->newer != NULL ? &e->newer->older : &l->newest) = e->older;
  *(e->older != NULL ? &e->older->newer : &l->oldest) = e->newer;
}

static void list_to_front(nay_cache_list *l, nay_cache_entry *e) {
  e->newer = NULL;
  e->older = l->newest;
  *(l->newest != NULL ? &l->newest->newer : &l->oldest) = e;
  l->newest = e;
}

void nay_sst__cache_list_use(nay_cache_list *l, nay_cache_entry *e) {
  if (l->newest == e) return;
  list_unlink(l, e);
  list_to_front(l, e);
}

/* ---- buckets ---- */

/* The segment of `more` that holds bucket number nbuckets, the next one to be made. */
static unsigned list_next_segment(const nay_cache_list *l) {
  return nay__log2_64(l->nbuckets / NAY_CACHE_SEGMENT);
}

static bool list_can_split(const nay_cache_list *l) {
  unsigned k = list_next_segment(l);
  return k < NAY_CACHE_SEGMENTS && l->more[k] != NULL;
}

static void list_split(nay_cache_list *l) {
  size_t n = l->nbuckets, m = (size_t)1 << nay__log2_64(n);
  nay_cache_entry *e = *list_bucket(l, n - m), *next;
  nay_cache_entry **low_half = list_bucket(l, n - m), **high_half = list_bucket(l, n);
  *low_half = *high_half = NULL;
  l->nbuckets = n + 1;
  for (; e != NULL; e = next) {
    nay_cache_entry **to = ((size_t)e->hash & m) != 0 ? high_half : low_half;
    next = e->chain;
    e->chain = *to;
    *to = e;
  }
}

void nay_sst__cache_list_add(nay_cache_list *l, nay_cache_entry *e) {
  nay_cache_entry **bucket = list_bucket_of(l, e->hash);
  e->chain = *bucket;
  *bucket = e;
  list_to_front(l, e);
  l->bytes += e->charge;
  l->entries++;
  if (l->entries > l->nbuckets && list_can_split(l)) list_split(l);
}

void nay_sst__cache_list_remove(nay_cache_list *l, nay_cache_entry *e) {
  nay_cache_entry **p = list_bucket_of(l, e->hash);
  while (*p != e) p = &(*p)->chain;
  *p = e->chain;
  list_unlink(l, e);
  l->bytes -= e->charge;
  l->entries--;
}

/* A missing segment starts at bucket nbuckets, and a segment is as long as its first bucket's
 * number: the length is nbuckets. */
size_t nay_sst__cache_list_wants(const nay_cache_list *l) {
  bool enough = l->entries <= l->nbuckets || list_can_split(l);
  return enough || list_next_segment(l) == NAY_CACHE_SEGMENTS ? 0 : l->nbuckets;
}

bool nay_sst__cache_list_give(nay_cache_list *l, nay_cache_entry **buckets, size_t n) {
  if (n != l->nbuckets || list_can_split(l)) return false;
  l->more[list_next_segment(l)] = buckets;
  return true;
}

void nay_sst__cache_list_free(nay_cache_list *l, const nay_allocator *a) {
  for (unsigned k = 0; k < NAY_CACHE_SEGMENTS; k++) {
    nay__free(a, l->more[k], ((size_t)NAY_CACHE_SEGMENT << k) * sizeof **l->more);
  }
}
