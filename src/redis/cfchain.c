/*
 * cfchain.c - RedisBloom's cuckoo filter: a chain of sub-filters, each a power of two of buckets.
 *
 *   sub-filter 0   | bucket | bucket | ...            nbuckets
 *   sub-filter 1   | bucket | bucket | ...            nbuckets * expansion
 *   sub-filter i                                      nbuckets * expansion^i
 *
 *   bucket         | fp | fp | ... |                  bucket_size bytes, 0: free
 *
 * An add looks for a free slot in the key's two buckets, in the newest sub-filter first, then in
 * older ones. If there is none it kicks in the newest alone: victim slots 0, 1, 2, ... in turn,
 * each moving to its other bucket; after max_iterations kicks all of them are undone and the chain
 * grows. A remove goes the same way, and compacts the chain from time to time.
 *
 * Nothing is random: the same calls make the same bytes, here, on a replica and in RedisBloom. That
 * is why its search order is kept exactly, also where another would be faster. Not kept: the count
 * of a key whose two buckets are the same (RedisBloom counted such slots twice), the 32-bit slot
 * index, and the trust in headers.
 *
 * Invariants: nitems is the number of slots that are not free; nbuckets and a non-zero expansion
 * are powers of two; the bytes of all sub-filters together can be addressed.
 */
#include "redis/cfchain.h"
#include "base/bytes.h"
#include "base/compiler.h"
#include "hash/hash.h"

#define CFCHAIN_MAX_NBYTES ((uint64_t)1 << 56)
#define CFCHAIN_MAX_EXPANSION 32768u
#define CFCHAIN_MAX_NDELETES ((uint64_t)INT64_MAX) /* replies are signed */

/* How RedisBloom counts memory: the struct, then this for each sub-filter. */
#define CFCHAIN_NBYTES_STRUCT 40u
#define CFCHAIN_NBYTES_FILTER 16u

uint64_t nay__cfchain_hash(const void *key, size_t len) { return nay__murmur64a(key, len, 0); }

/* ---- sizes ---- */

static bool cf_is_pow2(uint64_t x) { return x != 0 && (x & (x - 1)) == 0; }

static uint64_t cf_round_pow2(uint64_t x) {
  uint64_t p = 1;
  while (p < x) p *= 2;
  return p;
}

nay_status nay__cfchain_plan(uint64_t capacity, uint32_t bucket_size, uint32_t max_iterations,
                             uint32_t expansion, nay_cfchain_header *header) {
  if (header == NULL || bucket_size < 1 || bucket_size > 255 || max_iterations < 1 ||
      max_iterations > 65535 || expansion > CFCHAIN_MAX_EXPANSION ||
      capacity < 2 * (uint64_t)bucket_size || capacity > NAY_CFCHAIN_MAX_CAPACITY) {
    return NAY_EINVAL;
  }
  *header = (nay_cfchain_header){
      .nbuckets = cf_round_pow2(capacity / bucket_size),
      .nfilters = 1,
      .bucket_size = bucket_size,
      .max_iterations = max_iterations,
      .expansion = expansion == 0 ? 0 : (uint32_t)cf_round_pow2(expansion),
  };
  return NAY_OK;
}

/* Offsets are those of the fields in a dump. */
static nay_status cf_check_fields(const nay_cfchain_header *h, nay_diag *diag) {
  if (!cf_is_pow2(h->nbuckets)) {
    return nay__fail(diag, NAY_ECORRUPT, "the number of buckets is not a power of two", 8);
  }
  if (h->ndeletes > CFCHAIN_MAX_NDELETES) {
    return nay__fail(diag, NAY_ECORRUPT, "more deletes than CF.INFO can tell", 16);
  }
  if (h->nfilters < 1 || h->nfilters > NAY_CFCHAIN_MAX_FILTERS) {
    return nay__fail(diag, NAY_ECORRUPT, "the number of sub-filters is not 1 to 65535", 24);
  }
  if (h->bucket_size < 1 || h->bucket_size > 255) {
    return nay__fail(diag, NAY_ECORRUPT, "the bucket size is not 1 to 255", 32);
  }
  if (h->max_iterations < 1 || h->max_iterations > 65535) {
    return nay__fail(diag, NAY_ECORRUPT, "the iterations are not 1 to 65535", 34);
  }
  if (h->expansion > CFCHAIN_MAX_EXPANSION || (h->expansion != 0 && !cf_is_pow2(h->expansion))) {
    return nay__fail(diag, NAY_ECORRUPT, "the expansion is not 0 or a power of two to 32768", 36);
  }
  if (h->expansion == 0 && h->nfilters != 1) {
    return nay__fail(diag, NAY_ECORRUPT, "a chain that does not expand has one sub-filter", 24);
  }
  return NAY_OK;
}

nay_status nay__cfchain_nslots(const nay_cfchain_header *h, nay_diag *diag, uint64_t *nslots) {
  if (h == NULL || nslots == NULL) return nay__fail(diag, NAY_EINVAL, "an argument is NULL", 0);
  NAY_TRY(cf_check_fields(h, diag));
  uint64_t total = 0, nbuckets = h->nbuckets;
  for (uint64_t i = 0; i < h->nfilters; i++) {
    if (i != 0 && nbuckets > CFCHAIN_MAX_NBYTES / h->expansion)
      nbuckets = CFCHAIN_MAX_NBYTES;
    else if (i != 0)
      nbuckets *= h->expansion;
    if (nbuckets > (CFCHAIN_MAX_NBYTES - total) / h->bucket_size) {
      return nay__fail(diag, NAY_ECORRUPT, "the sub-filters are larger than can be addressed", 8);
    }
    total += nbuckets * h->bucket_size;
  }
  if (h->nitems > total) {
    return nay__fail(diag, NAY_ECORRUPT, "more items than slots", 0);
  }
  *nslots = total;
  return NAY_OK;
}

static uint64_t cf_nslots(const nay_cfchain *chain) {
  uint64_t total = 0;
  for (uint32_t i = 0; i < chain->nfilters; i++) total += nay__cf_sub_len(chain, i);
  return total;
}

uint64_t nay__cfchain_nbytes(const nay_cfchain *chain) {
  return CFCHAIN_NBYTES_STRUCT + CFCHAIN_NBYTES_FILTER * (uint64_t)chain->nfilters +
         cf_nslots(chain);
}

/* ---- making and releasing ---- */

static nay_zallocator cf_allocator(const nay_zallocator *a) {
  return a != NULL ? *a : (nay_zallocator){nay__calloc_default, nay__free_default, NULL};
}

static void *cf_alloc(const nay_zallocator *a, size_t size) { return a->zalloc(a->ctx, size); }

static void cf_free(const nay_zallocator *a, void *ptr, size_t size) {
  if (ptr != NULL) a->free(a->ctx, ptr, size);
}

static nay_status cf_fill_slots(nay_cfchain *chain) {
  for (uint32_t i = 0; i < chain->nfilters; i++) {
    chain->subs[i].slots = cf_alloc(&chain->allocator, nay__cf_sub_len(chain, i));
    if (chain->subs[i].slots == NULL) return NAY_ENOMEM;
  }
  return NAY_OK;
}

nay_status nay__cfchain_open(const nay_cfchain_header *h, const nay_zallocator *allocator,
                             nay_diag *diag, nay_cfchain **chain) {
  uint64_t nslots;
  size_t nbytes;
  if (chain == NULL) return nay__fail(diag, NAY_EINVAL, "chain is NULL", 0);
  NAY_TRY(nay__cfchain_nslots(h, diag, &nslots));
  if (!nay__size_ok(nslots, &nbytes)) {
    return nay__fail(diag, NAY_ENOMEM, nay_status_text(NAY_ENOMEM), 0);
  }
  nay_zallocator a = cf_allocator(allocator);
  nay_cfchain *c = cf_alloc(&a, sizeof *c);
  nay_cfsub *subs = cf_alloc(&a, (size_t)h->nfilters * sizeof *subs);
  if (c == NULL || subs == NULL) {
    cf_free(&a, c, sizeof *c);
    cf_free(&a, subs, (size_t)h->nfilters * sizeof *subs);
    return nay__fail(diag, NAY_ENOMEM, nay_status_text(NAY_ENOMEM), 0);
  }
  uint64_t nbuckets = h->nbuckets;
  for (uint64_t i = 0; i < h->nfilters; i++, nbuckets *= h->expansion) {
    subs[i] = (nay_cfsub){NULL, nbuckets};
  }
  *c = (nay_cfchain){.subs = subs,
                     .nbuckets = h->nbuckets,
                     .ndeletes = h->ndeletes,
                     .nfilters = (uint32_t)h->nfilters,
                     .nfilters_room = (uint32_t)h->nfilters,
                     .bucket_size = h->bucket_size,
                     .max_iterations = h->max_iterations,
                     .expansion = h->expansion,
                     .allocator = a};
  *chain = c;
  return NAY_OK;
}

nay_status nay__cfchain_new(const nay_cfchain_header *header, const nay_zallocator *allocator,
                            nay_diag *diag, nay_cfchain **chain) {
  nay_cfchain *c;
  if (chain == NULL) return nay__fail(diag, NAY_EINVAL, "chain is NULL", 0);
  NAY_TRY(nay__cfchain_open(header, allocator, diag, &c));
  nay_status status = cf_fill_slots(c);
  if (status != NAY_OK) {
    nay__cfchain_free(c);
    return nay__fail(diag, status, nay_status_text(status), 0);
  }
  *chain = c;
  return NAY_OK;
}

nay_status nay__cfchain_adopt(nay_cfchain *chain, uint64_t i, uint64_t nbuckets, void *slots,
                              size_t len) {
  if (chain == NULL || slots == NULL) return NAY_EINVAL;
  if (i >= chain->nfilters || chain->subs[i].slots != NULL || chain->subs[i].nbuckets != nbuckets ||
      nay__cf_sub_len(chain, i) != len) {
    return NAY_ECORRUPT;
  }
  chain->subs[i].slots = slots;
  return NAY_OK;
}

nay_status nay__cfchain_finish(nay_cfchain *chain) {
  uint64_t nitems = 0;
  for (uint32_t i = 0; i < chain->nfilters; i++) {
    if (chain->subs[i].slots == NULL) return NAY_ECORRUPT;
    nitems += nay__cf_occupied(chain->subs[i].slots, nay__cf_sub_len(chain, i));
  }
  chain->nitems = nitems;
  return NAY_OK;
}

nay_status nay__cfchain_copy(const nay_cfchain *chain, const nay_zallocator *allocator,
                             nay_cfchain **copy) {
  nay_cfchain_header header;
  nay_cfchain *c;
  if (chain == NULL || copy == NULL) return NAY_EINVAL;
  nay__cfchain_describe(chain, &header);
  NAY_TRY(nay__cfchain_new(&header, allocator, NULL, &c));
  for (uint32_t i = 0; i < c->nfilters; i++) {
    memcpy(c->subs[i].slots, chain->subs[i].slots, nay__cf_sub_len(c, i));
  }
  c->nitems = chain->nitems;
  *copy = c;
  return NAY_OK;
}

void nay__cfchain_free(nay_cfchain *chain) {
  if (chain == NULL) return;
  nay_zallocator a = chain->allocator;
  for (uint32_t i = 0; i < chain->nfilters; i++) {
    cf_free(&a, chain->subs[i].slots, nay__cf_sub_len(chain, i));
  }
  cf_free(&a, chain->subs, chain->nfilters_room * sizeof *chain->subs);
  cf_free(&a, chain, sizeof *chain);
}

void nay__cfchain_describe(const nay_cfchain *chain, nay_cfchain_header *header) {
  *header = (nay_cfchain_header){
      .nitems = chain->nitems,
      .nbuckets = chain->nbuckets,
      .ndeletes = chain->ndeletes,
      .nfilters = chain->nfilters,
      .bucket_size = chain->bucket_size,
      .max_iterations = chain->max_iterations,
      .expansion = chain->expansion,
  };
}

const uint8_t *nay__cfchain_slots(const nay_cfchain *chain, uint64_t i, size_t *len) {
  if (i >= chain->nfilters) return NULL;
  *len = nay__cf_sub_len(chain, i);
  return chain->subs[i].slots;
}

/* Room for one more in the array of sub-filters. */
static nay_status cf_make_room(nay_cfchain *chain) {
  if (chain->nfilters < chain->nfilters_room) return NAY_OK;
  uint32_t room = chain->nfilters + 1;
  nay_cfsub *subs = cf_alloc(&chain->allocator, room * sizeof *subs);
  if (subs == NULL) return NAY_ENOMEM;
  memcpy(subs, chain->subs, chain->nfilters * sizeof *subs);
  cf_free(&chain->allocator, chain->subs, chain->nfilters_room * sizeof *subs);
  chain->subs = subs;
  chain->nfilters_room = room;
  return NAY_OK;
}

static nay_status cf_grow(nay_cfchain *chain) {
  if (chain->expansion == 0 || chain->nfilters == NAY_CFCHAIN_MAX_FILTERS) return NAY_EFULL;
  nay_cfchain_header header;
  uint64_t nslots;
  size_t nbytes;
  nay__cfchain_describe(chain, &header);
  header.nfilters++;
  if (nay__cfchain_nslots(&header, NULL, &nslots) != NAY_OK || !nay__size_ok(nslots, &nbytes)) {
    return NAY_ENOMEM;
  }
  nay_cfsub sub = {NULL, chain->subs[chain->nfilters - 1].nbuckets * chain->expansion};
  nbytes = (size_t)sub.nbuckets * chain->bucket_size;
  NAY_TRY(cf_make_room(chain));
  sub.slots = cf_alloc(&chain->allocator, nbytes);
  if (sub.slots == NULL) return NAY_ENOMEM;
  chain->subs[chain->nfilters++] = sub;
  return NAY_OK;
}

/* ---- keys ---- */

/* How many of the newest sub-filters are prefetched: for longer chains it does not pay off. */
#define CFCHAIN_PREFETCHED 4u

void nay__cfchain_prefetch(const nay_cfchain *chain, const uint64_t *hashes, size_t n, bool all) {
  uint32_t depth = !all ? 1 : chain->nfilters;
  if (depth > CFCHAIN_PREFETCHED) depth = CFCHAIN_PREFETCHED;
  for (uint32_t d = 1; d <= depth; d++) {
    const nay_cfsub *sub = &chain->subs[chain->nfilters - d];
    for (size_t i = 0; i < n; i++) {
      nay_cfkey key = nay__cf_key(hashes[i]);
      NAY_PREFETCH(nay__cf_bucket(sub, chain->bucket_size, key.h1));
      NAY_PREFETCH(nay__cf_bucket(sub, chain->bucket_size, key.h2));
    }
  }
}

/* The slot that holds `value` (0: free) for this key, newest sub-filter first. */
static uint8_t *cf_search(const nay_cfchain *chain, const nay_cfkey *key, uint8_t value) {
  for (uint32_t i = chain->nfilters; i-- != 0;) {
    uint8_t *slot = nay__cf_find(&chain->subs[i], chain->bucket_size, key, value);
    if (slot != NULL) return slot;
  }
  return NULL;
}

static nay_status cf_place(nay_cfchain *chain, const nay_cfkey *key) {
  uint8_t *slot = cf_search(chain, key, 0);
  if (slot == NULL) {
    const nay_cfsub *newest = &chain->subs[chain->nfilters - 1];
    if (nay__cf_kick(newest, chain->bucket_size, chain->max_iterations, key)) return NAY_OK;
    NAY_TRY(cf_grow(chain));
    slot = nay__cf_bucket(&chain->subs[chain->nfilters - 1], chain->bucket_size, key->h1);
  }
  *slot = key->fp;
  return NAY_OK;
}

nay_status nay__cfchain_add(nay_cfchain *chain, uint64_t hash) {
  nay_cfkey key = nay__cf_key(hash);
  NAY_TRY(cf_place(chain, &key));
  chain->nitems++;
  return NAY_OK;
}

bool nay__cfchain_has(const nay_cfchain *chain, uint64_t hash) {
  nay_cfkey key = nay__cf_key(hash);
  return cf_search(chain, &key, key.fp) != NULL;
}

uint64_t nay__cfchain_count(const nay_cfchain *chain, uint64_t hash) {
  nay_cfkey key = nay__cf_key(hash);
  uint64_t count = 0;
  for (uint32_t i = 0; i < chain->nfilters; i++) {
    count += nay__cf_count(&chain->subs[i], chain->bucket_size, &key);
  }
  return count;
}

/* ---- removal and compaction ---- */

/* Moves one fingerprint of sub-filter `from` into the first older one with room. */
static bool cf_relocate(nay_cfchain *chain, uint32_t from, uint64_t bucket, uint8_t *slot) {
  nay_cfkey key = {bucket, nay__cf_partner(bucket, *slot), *slot};
  for (uint32_t i = 0; i < from; i++) {
    uint8_t *empty = nay__cf_find(&chain->subs[i], chain->bucket_size, &key, 0);
    if (empty == NULL) continue;
    *empty = *slot;
    *slot = 0;
    return true;
  }
  return false;
}

/* The first slot in use from `at` on; len if there is none. Empty ones go by in eights. */
static size_t cf_next_used(const uint8_t *slots, size_t at, size_t len) {
  while (len - at >= 8 && nay__load64le(slots + at) == 0) at += 8;
  while (at < len && slots[at] == 0) at++;
  return at;
}

/* Whether sub-filter i could be emptied. */
static bool cf_empty_out(nay_cfchain *chain, uint32_t i) {
  uint8_t *slots = chain->subs[i].slots;
  size_t len = nay__cf_sub_len(chain, i);
  bool all = true;
  for (size_t at = cf_next_used(slots, 0, len); at < len; at = cf_next_used(slots, at + 1, len)) {
    if (!cf_relocate(chain, i, at / chain->bucket_size, slots + at)) all = false;
  }
  return all;
}

/* Releases the newest sub-filter, which is empty. */
static void cf_drop_newest(nay_cfchain *chain) {
  uint32_t last = chain->nfilters - 1;
  cf_free(&chain->allocator, chain->subs[last].slots, nay__cf_sub_len(chain, last));
  chain->nfilters = last;
}

static void cf_compact(nay_cfchain *chain, bool thorough) {
  for (uint32_t i = chain->nfilters; i-- > 1;) {
    bool emptied = cf_empty_out(chain, i);
    if (emptied && i == chain->nfilters - 1) cf_drop_newest(chain);
    if (!emptied && !thorough) break;
  }
  chain->ndeletes = 0;
}

void nay__cfchain_compact(nay_cfchain *chain) { cf_compact(chain, true); }

bool nay__cfchain_remove(nay_cfchain *chain, uint64_t hash) {
  nay_cfkey key = nay__cf_key(hash);
  uint8_t *slot = cf_search(chain, &key, key.fp);
  if (slot == NULL) return false;
  *slot = 0;
  chain->nitems--;
  if (chain->ndeletes != CFCHAIN_MAX_NDELETES) chain->ndeletes++;
  if (chain->nfilters > 1 && chain->ndeletes > chain->nitems / 10) cf_compact(chain, false);
  return true;
}

static void *cf_moved(void *ptr, nay_mover mover, void *ctx) {
  void *moved = mover(ctx, ptr);
  return moved != NULL ? moved : ptr;
}

bool nay__cfchain_move(nay_cfchain **chain, uint64_t part, nay_mover mover, void *ctx) {
  nay_cfchain *c = *chain;
  if (part == 0) {
    *chain = cf_moved(c, mover, ctx);
  } else if (part == 1) {
    c->subs = cf_moved(c->subs, mover, ctx);
  } else if (part - 2 < c->nfilters) {
    c->subs[part - 2].slots = cf_moved(c->subs[part - 2].slots, mover, ctx);
  } else {
    return false;
  }
  return true;
}
