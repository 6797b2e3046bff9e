/*
 * filter.c - the public handle: check the arguments, hash the key once, forward to the family.
 *
 * The life of a query: nay_filter_may_contain -> bits.probe (chosen by family->bind); otherwise
 * nay__hash_key -> family->test.
 * Everything unusual is decided here, before the family is called: a filter that cannot hash,
 * read-only bytes, chunks of a mapped file that are not verified yet.
 */
#include "filter.h"

#include "base/abi.h"
#include "base/bits.h"
#include "base/compiler.h"
#include "family/lazy.h"
#include "math/choose.h"
#include "math/elementary.h"
#include "math/plan.h"
#include "os/pages.h"
#include "os/spin.h"
#include "redis/redis.h"

/* ---- making and releasing ---- */

/* A family without add has nothing to make concurrent: its filters are const, and const calls are
 * safe. */
static bool filter_may_be_concurrent(const nay_family *family) {
  return family->concurrent || (family->traits & NAY_CAN_ADD) == 0;
}

static nay_status filter_make_locks(nay_filter *f) {
  if ((f->flags & NAY_CONCURRENT) == 0 || f->locks != NULL || !f->family->concurrent) return NAY_OK;
  f->locks = nay__alloc(&f->allocator, NAY_LOCK_BYTES);
  if (f->locks == NULL) return NAY_ENOMEM;
  memset(f->locks, 0, NAY_LOCK_BYTES);
  return NAY_OK;
}

nay_status nay__resolve(const nay_params *params, nay_diag *diag, const nay_family **family,
                        nay_shape *shape, nay_hash_fn *hasher) {
  if (params == NULL) return nay__fail(diag, NAY_EINVAL, "params is NULL", 0);
  nay_kind kind = params->kind == NAY_AUTO ? nay__choose(params) : params->kind;
  if (kind == NAY_AUTO_STATIC) {
    return nay__fail(diag, NAY_EINVAL, "kind: NAY_AUTO_STATIC is for plans: take the plan's", 0);
  }
  const nay_family *found = nay__family_find(kind);
  if (found == NULL) return nay__fail(diag, NAY_EINVAL, "kind is not a family of this library", 0);
  NAY_TRY(nay__hasher_init(params, diag, hasher));
  NAY_TRY(nay__params_knobs(params, found->knobs, diag));
  if ((params->flags & NAY_CONCURRENT) != 0 && !filter_may_be_concurrent(found)) {
    return nay__fail(diag, NAY_EINVAL, "flags: this family takes adds from one thread at a time",
                     0);
  }
  NAY_TRY(found->plan(params, diag, shape));
  *family = found;
  return NAY_OK;
}

/* A probe or an add that needs no check before it is one indirect call: bits.probe, add_blind. */
static void filter_bind(nay_filter *f) {
  f->kernels = (f->flags & NAY_CONCURRENT) != 0 ? nay__kernels_shared() : nay__kernels_best();
  f->bits.probe = NULL;
  f->add_blind = NULL;
  if (f->lazy != NULL || f->family->bind == NULL) return;
  f->family->bind(f);
  if ((f->flags & NAY_IS_READ_ONLY) != 0) f->add_blind = NULL;
}

void nay__filter_attach(nay_filter *f, uint8_t *payload, size_t nbytes) {
  const nay_shape *shape = &f->shape;
  f->bits = (nay_bits){.bytes = payload,
                       .nunits = shape->nunits,
                       .k = shape->k,
                       .extra = shape->extra,
                       .in_cache = nbytes <= NAY_CACHE_BYTES};
  f->nbytes = nbytes;
  filter_bind(f);
}

nay_status nay__filter_make_sized(const nay_family *family, const nay_shape *shape, size_t nbytes,
                                  const nay_hash_fn *hasher, uint64_t nkeys, uint32_t flags,
                                  const nay_allocator *allocator, nay_filter **filter) {
  nay_allocator a;
  NAY_TRY(nay__allocator_read(allocator, NULL, &a));
  nay_filter *f = nay__alloc(&a, sizeof *f);
  if (f == NULL) return NAY_ENOMEM;
  *f = (nay_filter){.family = family,
                    .shape = *shape,
                    .hasher = *hasher,
                    .nkeys = nkeys,
                    .flags = flags,
                    .allocator = a};
  nay_status status = nay__memory_from(&a, nbytes, (flags & NAY_ZEROED) != 0, &f->memory);
  if (status == NAY_OK) status = filter_make_locks(f);
  if (status != NAY_OK) {
    nay_filter_free(f);
    return status;
  }
  /* memory of the caller's own allocator is the caller's to advise */
  if (nay__allocator_is_default(&a) && (flags & NAY_SMALL_PAGES) == 0)
    nay__pages_want_huge(f->memory.at, nbytes);
  nay__filter_attach(f, f->memory.at, nbytes);
  *filter = f;
  return NAY_OK;
}

nay_status nay__filter_make(const nay_family *family, const nay_shape *shape,
                            const nay_hash_fn *hasher, uint64_t nkeys, uint32_t flags,
                            const nay_allocator *allocator, nay_filter **filter) {
  uint64_t nbits, nbytes64;
  size_t nbytes;
  if (!family->payload(shape, &nbits, &nbytes64)) return NAY_EINVAL;
  if (!nay__size_ok(nbytes64, &nbytes)) return NAY_ENOMEM;
  return nay__filter_make_sized(family, shape, nbytes, hasher, nkeys, flags, allocator, filter);
}

nay_status nay__filter_made(nay_status status, nay_diag *diag) {
  switch (status) {
    case NAY_OK: return NAY_OK;
    case NAY_ENOMEM:
      return nay__fail(diag, status, "no memory for the filter: nay_params_plan tells its size", 0);
    case NAY_EINVAL: return nay__fail(diag, status, "the size cannot be addressed", 0);
    case NAY_EFULL:
      return nay__fail(diag, status, "nkeys: there are more keys than the filter can hold", 0);
    default: return nay__fail(diag, status, nay_status_text(status), 0);
  }
}

void nay__filter_init(nay_filter *f, const nay_params *params) {
  if (f->family->init != NULL) f->family->init(f, params);
}

nay_status nay_filter_new(const nay_params *params, const nay_allocator *allocator, nay_diag *diag,
                          nay_filter **filter) {
  const nay_family *family;
  nay_shape shape;
  nay_hash_fn hasher;
  nay_params p;
  if (params == NULL || filter == NULL) {
    return nay__fail(diag, NAY_EINVAL, "params or filter is NULL", 0);
  }
  nay_allocator a;
  NAY_TRY(nay__abi_read(NAY_ABI_PARAMS, params, diag, &p));
  NAY_TRY(nay__allocator_read(allocator, diag, &a));
  NAY_TRY(nay__resolve(&p, diag, &family, &shape, &hasher));
  if ((family->traits & NAY_CAN_ADD) == 0) {
    return nay__fail(diag, NAY_ENOTSUP, "kind: a static family is built from all keys at once", 0);
  }
  nay_status status = nay__filter_make(family, &shape, &hasher, p.nkeys, p.flags, &a, filter);
  if (status != NAY_OK) return nay__filter_made(status, diag);
  nay__filter_init(*filter, &p);
  return NAY_OK;
}

/* Byte by byte where other threads may be adding: each byte is one that the filter has had. */
static void filter_copy_payload(const nay_filter *f, uint8_t *dst) {
  if ((f->flags & NAY_CONCURRENT) == 0) {
    if (f->nbytes != 0) memcpy(dst, f->bits.bytes, f->nbytes);
    return;
  }
  for (size_t i = 0; i < f->nbytes; i++) dst[i] = nay__atomic_load8(f->bits.bytes + i);
}

nay_status nay_filter_copy(const nay_filter *f, const nay_allocator *allocator, nay_diag *diag,
                           nay_filter **copy) {
  if (f == NULL || copy == NULL) return nay__fail(diag, NAY_EINVAL, "filter or copy is NULL", 0);
  nay_allocator a;
  NAY_TRY(nay__allocator_read(allocator, diag, &a));
  if (nay__filter_all_verified(f) != NAY_OK) {
    return nay__fail(diag, NAY_ECORRUPT, "the mapped filter is damaged", 0);
  }
  nay_filter *c;
  uint32_t flags = f->flags & ~(NAY_IS_READ_ONLY | NAY_ZEROED);
  /* as long as it is, which in a self-sized family is not what a new filter would be */
  nay_status status =
      nay__filter_make_sized(f->family, &f->shape, f->nbytes, &f->hasher, f->nkeys, flags, &a, &c);
  if (status != NAY_OK) return nay__fail(diag, status, "no memory for a copy of the filter", 0);
  bool wait = f->locks != NULL && f->family->copy_locked;
  if (wait) nay__spin_lock_all(f->locks);
  filter_copy_payload(f, c->bits.bytes);
  if (wait) nay__spin_unlock_all(f->locks);
  nay__filter_attach(c, c->bits.bytes, c->nbytes); /* a probe may depend on what is there */
  c->format = f->format;
  memcpy(c->key_text, f->key_text, sizeof c->key_text);
  status = nay_filter_set_meta(c, f->meta, f->meta_len);
  if (status != NAY_OK) {
    nay_filter_free(c);
    return nay__fail(diag, status, "no memory for the metadata", 0);
  }
  *copy = c;
  return NAY_OK;
}

/* Flags that are the caller's wish and no state. */
#define FILTER_WISHES (NAY_CONCURRENT | NAY_STORE_KEY | NAY_SMALL_PAGES)

nay_status nay_filter_params(const nay_filter *f, nay_params *params) {
  if (f == NULL || params == NULL) return NAY_EINVAL;
  NAY_TRY(nay__abi_check(NAY_ABI_PARAMS, params, NULL));
  if (f->format != NULL || f->family->to_params == NULL) return NAY_ENOTSUP;
  if (f->hasher.locked) return NAY_EKEY;
  NAY_TRY(nay__filter_all_verified(f));
  nay_params p = {.size = sizeof p,
                  .kind = f->family->kind,
                  .nkeys = f->nkeys,
                  .k = f->shape.k,
                  .flags = f->flags & FILTER_WISHES,
                  .hash = f->hasher.kind};
  if (f->hasher.kind == NAY_HASH_SIPHASH) {
    memcpy(p.key, f->hasher.key, sizeof p.key);
  } else {
    p.seed = f->hasher.seed;
  }
  f->family->to_params(f, &p);
  nay__abi_write(NAY_ABI_PARAMS, &p, params);
  return NAY_OK;
}

static void filter_drop_meta(nay_filter *f) {
  if (f->meta_owned) nay__free(&f->allocator, (void *)(uintptr_t)f->meta, f->meta_len);
  f->meta = NULL;
  f->meta_len = 0;
  f->meta_owned = false;
}

void nay_filter_free(nay_filter *f) {
  if (f == NULL) return;
  nay_allocator a = f->allocator;
  filter_drop_meta(f);
  if (f->lazy != NULL) nay__free(&a, f->lazy, nay__lazy_size(f->lazy->nchunks));
  if (f->unmap != NULL) f->unmap(f->mapping, f->mapping_len);
  nay__memory_free(&a, &f->memory);
  nay__free(&a, f->locks, NAY_LOCK_BYTES);
  nay__free(&a, f, sizeof *f);
}

nay_kind nay_filter_kind(const nay_filter *f) {
  return f != NULL && f->format == NULL ? f->family->kind : NAY_AUTO;
}

size_t nay_filter_nbytes(const nay_filter *f) {
  if (f == NULL) return 0;
  return sizeof *f + f->memory.raw_size + (f->meta_owned ? f->meta_len : 0) +
         (f->locks != NULL ? NAY_LOCK_BYTES : 0) +
         (f->lazy != NULL ? nay__lazy_size(f->lazy->nchunks) : 0);
}

/* The block that holds the payload; metadata of an opened file lies in it as well. */
static void filter_move_memory(nay_filter *f, nay_mover move, void *ctx) {
  size_t payload = (size_t)(f->bits.bytes - f->memory.at), meta = 0;
  bool meta_inside = f->meta != NULL && !f->meta_owned;
  if (meta_inside) meta = (size_t)(f->meta - f->memory.at);
  if (!nay__memory_move(&f->memory, move, ctx)) return;
  f->bits.bytes = f->memory.at + payload;
  if (meta_inside) f->meta = f->memory.at + meta;
}

nay_filter *nay__filter_move(nay_filter *f, nay_mover move, void *ctx) {
  if (f == NULL || move == NULL) return f;
  if (f->memory.raw != NULL) filter_move_memory(f, move, ctx);
  void *to = f->meta_owned ? move(ctx, (void *)(uintptr_t)f->meta) : NULL;
  if (to != NULL) f->meta = to;
  to = f->locks != NULL ? move(ctx, f->locks) : NULL;
  if (to != NULL) f->locks = to;
  to = move(ctx, f);
  return to != NULL ? to : f;
}

nay_status nay__filter_writable(const nay_filter *f) {
  if (f == NULL) return NAY_EINVAL;
  return (f->flags & NAY_IS_READ_ONLY) != 0 ? NAY_ENOTSUP : NAY_OK;
}

nay_status nay_filter_clear(nay_filter *f) {
  NAY_TRY(nay__filter_writable(f));
  if ((f->family->traits & NAY_CAN_ADD) == 0) return NAY_ENOTSUP;
  if (f->family->clear != NULL) {
    NAY_TRY(f->family->clear(f));
  } else {
    memset(f->bits.bytes, 0, f->nbytes);
  }
  f->flags &= ~NAY_IS_DERIVED;
  return NAY_OK;
}

/* ---- keys ---- */

static nay_status filter_hash(const nay_filter *f, const void *key, size_t len, nay_hash *hash) {
  if (f == NULL || (key == NULL && len != 0)) return NAY_EINVAL;
  NAY_TRY(nay__hasher_ready(&f->hasher));
  *hash = nay__hash_key(&f->hasher, key, len);
  return NAY_OK;
}

nay_status nay_filter_hasher(const nay_filter *f, nay_hasher *hasher) {
  if (f == NULL || hasher == NULL || hasher->size < sizeof *hasher) return NAY_EINVAL;
  memcpy(hasher->opaque, &f->hasher, sizeof f->hasher);
  return NAY_OK;
}

NAY_FLATTEN nay_status nay_hasher_hash(const nay_hasher *hasher, const void *key, size_t len,
                                       nay_hash *hash) {
  if (hasher == NULL || hash == NULL || (key == NULL && len != 0)) return NAY_EINVAL;
  const nay_hash_fn *fn = nay__hasher_of(hasher);
  NAY_TRY(nay__hasher_ready(fn));
  *hash = nay__hash_key(fn, key, len);
  return NAY_OK;
}

bool nay_hasher_same(const nay_hasher *a, const nay_hasher *b) {
  return a != NULL && b != NULL && nay__hasher_same(nay__hasher_of(a), nay__hasher_of(b));
}

static NAY_NOINLINE nay_status filter_add_hash_any(nay_filter *f, nay_hash hash, bool *is_new) {
  NAY_TRY(nay__filter_writable(f));
  if (f->family->add == NULL) return NAY_ENOTSUP;
  bool ignored;
  return f->family->add(f, hash, is_new != NULL ? is_new : &ignored);
}

nay_status nay_filter_add_hash(nay_filter *f, nay_hash hash, bool *is_new) {
  if (NAY_LIKELY(f != NULL && f->add_blind != NULL && is_new == NULL))
    return f->add_blind(&f->bits, hash.lo);
  return filter_add_hash_any(f, hash, is_new);
}

/* Other keys, or callers that ask: with a frame that the usual ones do not pay for. */
NAY_FLATTEN static NAY_NOINLINE nay_status filter_add_any(nay_filter *f, const void *key,
                                                          size_t len, bool *is_new) {
  nay_hash hash;
  if (f != NULL && f->family->add_key != NULL) {
    bool ignored;
    if (key == NULL && len != 0) return NAY_EINVAL;
    NAY_TRY(nay__filter_writable(f));
    return f->family->add_key(f, nay__key_bytes(key), len, is_new != NULL ? is_new : &ignored);
  }
  NAY_TRY(filter_hash(f, key, len, &hash));
  return f->add_blind != NULL && is_new == NULL ? f->add_blind(&f->bits, hash.lo)
                                                : filter_add_hash_any(f, hash, is_new);
}

nay_status nay_filter_add(nay_filter *f, const void *key, size_t len, bool *is_new) {
  uint64_t hash;
  if (NAY_LIKELY(f != NULL && f->add_blind != NULL && is_new == NULL &&
                 nay__hash_4to16(&f->hasher, key, len, &hash))) {
    return f->add_blind(&f->bits, hash);
  }
  return filter_add_any(f, key, len, is_new);
}

bool nay__filter_probe_verified(const nay_filter *f, nay_hash hash) {
  const uint8_t *addresses[NAY_MAX_ADDRESSES];
  unsigned n = f->family->probe_addresses(f, hash, addresses);
  bool ok = true;
  for (unsigned i = 0; i < n; i++) ok &= nay__lazy_ok(f->lazy, addresses[i]);
  return ok;
}

static NAY_NOINLINE bool filter_may_contain_slow(const nay_filter *f, nay_hash hash) {
  if (f == NULL) return true;
  if (f->lazy != NULL && !nay__filter_probe_verified(f, hash)) return true;
  return f->family->test(f, hash);
}

bool nay_filter_may_contain_hash(const nay_filter *f, nay_hash hash) {
  if (NAY_LIKELY(f != NULL && f->bits.probe != NULL)) return f->bits.probe(&f->bits, hash.lo);
  return filter_may_contain_slow(f, hash);
}

/* The probe of a filter that needs more than its bits: a lazy map verifies what it reads. */
static bool filter_probe_slow(const nay_bits *bits, uint64_t hash) {
  return filter_may_contain_slow(nay__filter_of(bits), (nay_hash){hash, 0});
}

nay_status nay_filter_probe(const nay_filter *f, nay_probe *probe) {
  if (f == NULL || probe == NULL) return NAY_EINVAL;
  if (nay__hasher_has_hi(&f->hasher)) return NAY_ENOTSUP;
  *probe = (nay_probe){f->bits.probe != NULL ? f->bits.probe : filter_probe_slow, &f->bits};
  return NAY_OK;
}

/* Other hash functions, and families that need the key itself. */
static NAY_NOINLINE bool filter_may_contain_other(const nay_filter *f, const void *key,
                                                  size_t len) {
  nay_hash hash;
  if (f != NULL && f->family->test_key != NULL) {
    return (key == NULL && len != 0) || f->family->test_key(f, nay__key_bytes(key), len);
  }
  bool maybe = true;
  if (f != NULL && f->family->order != NULL && (key != NULL || len == 0))
    return f->family->order->test(f, key, len, &maybe) != NAY_OK || maybe;
  if (filter_hash(f, key, len, &hash) != NAY_OK) return true;
  return nay_filter_may_contain_hash(f, hash);
}

/* XXH3 of other lengths, and static families: still inlined, but with a frame that keys of the
 * usual lengths do not pay for. */
NAY_FLATTEN static NAY_NOINLINE bool filter_may_contain_any(const nay_filter *f, const void *key,
                                                            size_t len) {
  if (NAY_UNLIKELY(f == NULL || key == NULL || f->hasher.kind != NAY_HASH_XXH3 ||
                   f->family->order != NULL)) {
    return filter_may_contain_other(f, key, len);
  }
  uint64_t hash = nay__hash_xxh3(f->hasher.seed, key, len);
  if (NAY_LIKELY(f->bits.probe != NULL)) return f->bits.probe(&f->bits, hash);
  return filter_may_contain_slow(f, (nay_hash){hash, 0});
}

/* The usual case first: no frame, few branches. */
bool nay_filter_may_contain(const nay_filter *f, const void *key, size_t len) {
  uint64_t hash;
  if (NAY_LIKELY(f != NULL && f->bits.probe != NULL &&
                 nay__hash_4to16(&f->hasher, key, len, &hash))) {
    return f->bits.probe(&f->bits, hash);
  }
  return filter_may_contain_any(f, key, len);
}

nay_status nay_filter_remove_hash(nay_filter *f, nay_hash hash) {
  NAY_TRY(nay__filter_writable(f));
  if (f->family->remove == NULL) return NAY_ENOTSUP;
  nay_status status = f->family->remove(f, hash);
  if (status == NAY_ENOENT) nay__atomic_increment64(&f->nrefused);
  return status;
}

nay_status nay_filter_remove(nay_filter *f, const void *key, size_t len) {
  nay_hash hash;
  NAY_TRY(filter_hash(f, key, len, &hash));
  return nay_filter_remove_hash(f, hash);
}

nay_status nay__filter_count_hash(const nay_filter *f, nay_hash hash, uint64_t *count) {
  if (f == NULL || count == NULL) return NAY_EINVAL;
  if (f->family->count == NULL) return NAY_ENOTSUP;
  NAY_TRY(nay__filter_all_verified(f)); /* counts read more than a probe does */
  return f->family->count(f, hash, count);
}

nay_status nay_filter_count(const nay_filter *f, const void *key, size_t len, uint64_t *count) {
  nay_hash hash;
  NAY_TRY(filter_hash(f, key, len, &hash));
  return nay__filter_count_hash(f, hash, count);
}

nay_status nay_filter_advance(nay_filter *f, uint64_t now) {
  NAY_TRY(nay__filter_writable(f));
  return f->family->advance != NULL ? f->family->advance(f, now) : NAY_ENOTSUP;
}

/* ---- whole-filter operations ---- */

nay_status nay__filter_all_verified(const nay_filter *f) {
  return f->lazy == NULL || nay__lazy_all_ok(f->lazy) ? NAY_OK : NAY_ECORRUPT;
}

nay_status nay_filter_health(const nay_filter *f) {
  if (f == NULL) return NAY_EINVAL;
  bool bad = f->lazy != NULL && nay__atomic_acquire8(&f->lazy->bad) != 0;
  return bad ? NAY_ECORRUPT : NAY_OK;
}

/* ---- what it knows of itself ---- */

/*
 * More keys than planned. 5%: an estimate from bits is within 1% even for a few hundred keys; below
 * that, a key or two; one key sets bits that cannot be taken for two. Full arrays tell a lower
 * bound of their keys, which is below the plan where the planned FPR is near 1: without a clear bit
 * at all, the plan is kept only if few were to be left (16 expected, none seen: e^-16).
 */
static bool filter_overloaded(const nay_filter *f, const nay_census *census, double nkeys) {
  double most = 1.05 * (double)f->nkeys + (f->nkeys == 1 ? 0.5 : 2);
  if (nkeys > most) return true;
  double nbits = (double)census->nbits;
  return census->keys.saturated && census->nbits_set == census->nbits &&
         nbits * nay__exp(-most * f->shape.k / nbits) > 16;
}

nay_status nay_filter_stats(const nay_filter *f, nay_stats *stats) {
  if (f == NULL || stats == NULL) return NAY_EINVAL;
  NAY_TRY(nay__abi_check(NAY_ABI_STATS, stats, NULL));
  NAY_TRY(nay__filter_all_verified(f));
  nay_census census;
  f->family->census(f, NULL, 1, &census);
  bool derived = (f->flags & NAY_IS_DERIVED) != 0;
  double nkeys = nay__estimate_value(&census.keys);
  nay_stats s = {
      .kind = f->family->kind,
      .hash = f->hasher.kind,
      .k = f->shape.k,
      .nkeys = f->nkeys,
      .nkeys_estimated = derived ? NAY_NAN : nkeys,
      .nbits = census.nbits,
      .nbits_set = census.nbits_set,
      .nbytes = f->nbytes + sizeof *f,
      .fill = census.nbits == 0 ? 0 : (double)census.nbits_set / (double)census.nbits,
      .fpr_now = derived ? NAY_NAN : census.fpr,
      .fpr_planned = f->nkeys != 0 ? f->family->fpr(&f->shape, f->nkeys) : 0,
      .derived = derived,
      .saturated = census.keys.saturated && !derived,
      .read_only = (f->flags & NAY_IS_READ_ONLY) != 0,
      .locked = f->hasher.locked,
      .stores_key = f->hasher.kind == NAY_HASH_SIPHASH && (f->flags & NAY_STORE_KEY) != 0,
      .nlevels = 1,
      .nrefused = nay__atomic_load64(&f->nrefused),
  };
  if (f->nkeys != 0 && !derived) {
    s.utilisation = nkeys / (double)f->nkeys;
    s.overloaded = filter_overloaded(f, &census, nkeys);
  }
  if (f->family->describe != NULL) f->family->describe(f, &s);
  nay__abi_write(NAY_ABI_STATS, &s, stats);
  return NAY_OK;
}

nay_status nay_filter_unlock(nay_filter *f, const uint8_t key[16]) {
  if (f == NULL || key == NULL) return NAY_EINVAL;
  return nay__hasher_unlock(&f->hasher, key);
}

const void *nay_filter_meta(const nay_filter *f, size_t *len) {
  if (len != NULL) *len = f != NULL ? f->meta_len : 0;
  return f != NULL ? f->meta : NULL;
}

nay_status nay_filter_set_meta(nay_filter *f, const void *bytes, size_t len) {
  if (f == NULL || (bytes == NULL && len != 0)) return NAY_EINVAL;
  /* most other layouts have no place for it */
  if (f->format != NULL && !f->family->has_note && len != 0) return NAY_ENOTSUP;
  uint8_t *copy = NULL;
  if (len != 0) {
    copy = nay__alloc(&f->allocator, len);
    if (copy == NULL) return NAY_ENOMEM;
    memcpy(copy, bytes, len);
  }
  filter_drop_meta(f);
  f->meta = copy;
  f->meta_len = len;
  f->meta_owned = copy != NULL;
  return NAY_OK;
}
