/*
 * sql_aggregate.c - the state of nay_agg. With n and a kind that adds and merges it is a filter and
 * a buffer of hashes, so that batches of adds overlap their cache misses. Otherwise it is the set
 * of distinct hashes, 8 bytes each in a hash table, from which the filter is built at the end, as
 * nay_builder does: its bytes do not depend on the order of the rows.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nay_sql.h"

enum { BATCH = 256, FIRST_SLOTS = 1024 };

struct nay_sql_agg {
  nay_allocator allocator;
  nay_sql_wish wish;
  nay_hasher hasher;
  bool streams; /* the filter takes adds as rows come */
  bool typed;
  bool current; /* what is counted has not changed since the filter was built */
  nay_key_type type;
  nay_filter *filter;
  size_t nbatch;
  uint64_t batch[BATCH];
  /* distinct hashes: open addressing; 0 is an empty slot, and has a flag of its own */
  uint64_t *slots;
  size_t nslots, ndistinct;
  bool has_zero;
};

static const nay_allocator *agg_allocator(const nay_sql_agg *agg) {
  return agg->allocator.alloc != NULL ? &agg->allocator : NULL;
}

static void *agg_alloc(const nay_allocator *allocator, size_t size) {
  return allocator->alloc != NULL ? allocator->alloc(allocator->ctx, size) : malloc(size);
}

static void agg_release(const nay_allocator *allocator, void *ptr, size_t size) {
  if (allocator->alloc == NULL)
    free(ptr);
  else if (ptr != NULL)
    allocator->free(allocator->ctx, ptr, size);
}

/* ---- arguments ------------------------------------------------------------------------------- */

nay_status nay_sql_wish_read(const int64_t *nkeys, double fpr, const char *kind, size_t kind_len,
                             nay_sql_error *error, nay_sql_wish *wish) {
  nay_sql_wish made = {.fpr = fpr};
  if (nkeys != NULL && (*nkeys < 1 || *nkeys > INT64_C(1) << 56))
    return nay_sql_fail(error, NAY_EINVAL, "Without n, nay_agg counts the distinct keys itself.",
                        "n, the number of distinct keys, is %lld: from 1 to 2^56",
                        (long long)*nkeys);
  if (nkeys != NULL) made.nkeys = (uint64_t)*nkeys;
  if (!(fpr > 0 && fpr < 1))
    return nay_sql_fail(error, NAY_EINVAL, "0.01 is one false positive in a hundred absent keys.",
                        "the false-positive rate is %g: above 0 and below 1", fpr);
  char name[32] = "auto";
  if (kind != NULL) {
    if (kind_len >= sizeof name || memchr(kind, 0, kind_len) != NULL) kind_len = 0;
    memcpy(name, kind, kind_len);
    name[kind_len] = 0;
  }
  if (nay_kind_parse(name, &made.kind) != NAY_OK || (nay_kind_traits(made.kind) & NAY_CAN_GET) != 0)
    return nay_sql_fail(
        error, NAY_EINVAL,
        "auto, bloom, blocked, counting, scalable, window, cuckoo, xor, fuse, ribbon.",
        "there is no kind of filter '%s'", name);
  if ((nay_kind_traits(made.kind) & NAY_CAN_RANGE) != 0)
    return nay_sql_fail(error, NAY_ENOTSUP, "nay build -t range makes one, which SQL then asks.",
                        "nay_agg makes no range filters");
  *wish = made;
  return NAY_OK;
}

static nay_params agg_params(const nay_sql_wish *wish) {
  return (nay_params){
      .size = sizeof(nay_params), .kind = wish->kind, .nkeys = wish->nkeys, .fpr = wish->fpr};
}

/* The same limit as for bits_per_key of nay_params: small filters of tiny rates are mostly empty.
 */
static nay_status agg_too_thin(const nay_plan *plan, nay_sql_error *error) {
  if (!(plan->bits_per_key > 4096) || plan->nbytes_file <= 65536) return NAY_OK;
  return nay_sql_fail(error, NAY_EINVAL, "Take a higher false-positive rate.",
                      "the filter would have %.0f bits for each key, and has at most 4096",
                      plan->bits_per_key);
}

static nay_status agg_too_large(const nay_sql_wish *wish, uint64_t nbytes, nay_sql_error *error) {
  if (wish->max_file == 0 || nbytes <= wish->max_file) return NAY_OK;
  return nay_sql_fail(error, NAY_EFULL, "Split the keys: one filter for each part, probed with OR.",
                      "the filter would have %llu bytes, and a value here at most %llu",
                      (unsigned long long)nbytes, (unsigned long long)wish->max_file);
}

/* Whether a filter for the wish is filled as rows come, and whether it fits. */
static nay_status agg_plan(const nay_sql_wish *wish, nay_sql_error *error, bool *streams) {
  nay_params params = agg_params(wish);
  if (params.nkeys == 0) params.nkeys = 1; /* the number is not known yet: check the rest */
  nay_plan plan = {.size = sizeof plan};
  nay_diag diag = {0};
  nay_status status = nay_params_plan(&params, &diag, &plan);
  if (status != NAY_OK) return nay_sql_refuse(error, status, &diag);
  uint32_t traits = nay_kind_traits(plan.kind);
  *streams = wish->nkeys != 0 && (traits & NAY_CAN_ADD) != 0 && (traits & NAY_CAN_MERGE) != 0 &&
             (traits & (NAY_CAN_GROW | NAY_CAN_EXPIRE)) == 0;
  if (wish->nkeys == 0) return NAY_OK;
  status = agg_too_thin(&plan, error);
  return status == NAY_OK ? agg_too_large(wish, plan.nbytes_file, error) : status;
}

/* ---- making and releasing -------------------------------------------------------------------- */

/* The hasher of a small filter: that of every filter made without a seed. */
static nay_status agg_hasher(nay_hasher *hasher) {
  nay_params params = {.size = sizeof params, .kind = NAY_BLOCKED, .nbits = 512};
  nay_filter *small;
  nay_status status = nay_filter_new(&params, NULL, NULL, &small);
  if (status != NAY_OK) return status;
  hasher->size = sizeof *hasher;
  status = nay_filter_hasher(small, hasher);
  nay_filter_free(small);
  return status;
}

static nay_status agg_make(const nay_sql_wish *wish, bool streams, const nay_allocator *allocator,
                           nay_sql_error *error, nay_sql_agg **agg) {
  nay_allocator kept = {0};
  if (allocator != NULL) kept = *allocator;
  nay_sql_agg *made = agg_alloc(&kept, sizeof *made);
  if (made == NULL) return nay_sql_refuse(error, NAY_ENOMEM, NULL);
  *made = (nay_sql_agg){.allocator = kept, .wish = *wish, .streams = streams};
  nay_status status = agg_hasher(&made->hasher);
  if (status != NAY_OK) {
    nay_sql_agg_free(made);
    return nay_sql_refuse(error, status, NULL);
  }
  *agg = made;
  return NAY_OK;
}

nay_status nay_sql_agg_new(const nay_sql_wish *wish, const nay_allocator *allocator,
                           nay_sql_error *error, nay_sql_agg **agg) {
  bool streams = false;
  nay_status status = agg_plan(wish, error, &streams);
  if (status != NAY_OK) return status;
  nay_sql_agg *made;
  status = agg_make(wish, streams, allocator, error, &made);
  if (status != NAY_OK) return status;
  if (streams) {
    nay_params params = agg_params(wish);
    nay_diag diag = {0};
    status = nay_filter_new(&params, agg_allocator(made), &diag, &made->filter);
    if (status != NAY_OK) {
      nay_sql_agg_free(made);
      return nay_sql_refuse(error, status, &diag);
    }
  }
  *agg = made;
  return NAY_OK;
}

void nay_sql_agg_free(nay_sql_agg *agg) {
  if (agg == NULL) return;
  nay_allocator kept = agg->allocator;
  nay_filter_free(agg->filter);
  agg_release(&kept, agg->slots, agg->nslots * sizeof *agg->slots);
  agg_release(&kept, agg, sizeof *agg);
}

void *nay_sql_agg_memory(const nay_sql_agg *agg) { return agg->allocator.ctx; }

const nay_sql_wish *nay_sql_agg_wish(const nay_sql_agg *agg) { return &agg->wish; }

/* ---- distinct hashes ------------------------------------------------------------------------- */

static size_t agg_slot(const uint64_t *slots, size_t nslots, uint64_t hash) {
  size_t i =
      (size_t)(hash >> 32) & (nslots - 1); /* families use the high bits; these are as good */
  while (slots[i] != 0 && slots[i] != hash) i = (i + 1) & (nslots - 1);
  return i;
}

/* Before hash i of many. */
static inline void agg_interrupts(const nay_sql_agg *agg, size_t i) {
  if (i % 65536 == 0 && agg->wish.interrupts != NULL) agg->wish.interrupts();
}

static nay_status agg_too_many(const nay_sql_agg *agg, size_t nbytes, nay_sql_error *error) {
  nay_sql_fail(error, NAY_EFULL, NULL, "%zu distinct keys need %zu kB, and %zu kB are allowed",
               agg->ndistinct, nbytes / 1024, agg->wish.max_memory / 1024);
  snprintf(error->hint, sizeof error->hint,
           "nay_agg(x, n, fpr) with kind bloom, blocked or counting needs no memory beside the "
           "filter; or raise %s.",
           agg->wish.memory != NULL ? agg->wish.memory : "the limit");
  return NAY_EFULL;
}

static nay_status agg_resize(nay_sql_agg *agg, size_t nslots, nay_sql_error *error) {
  if (nslots > SIZE_MAX / 16) return nay_sql_refuse(error, NAY_ENOMEM, NULL);
  size_t nbytes = nslots * sizeof *agg->slots;
  if (agg->wish.max_memory != 0 && nslots > FIRST_SLOTS && nbytes > agg->wish.max_memory)
    return agg_too_many(agg, nbytes, error);
  uint64_t *slots = agg_alloc(&agg->allocator, nbytes);
  if (slots == NULL) return nay_sql_refuse(error, NAY_ENOMEM, NULL);
  memset(slots, 0, nbytes);
  for (size_t i = 0; i < agg->nslots; i++) {
    agg_interrupts(agg, i);
    if (agg->slots[i] != 0) slots[agg_slot(slots, nslots, agg->slots[i])] = agg->slots[i];
  }
  agg_release(&agg->allocator, agg->slots, agg->nslots * sizeof *slots);
  agg->slots = slots;
  agg->nslots = nslots;
  return NAY_OK;
}

/* Slots for n distinct hashes: three quarters of them are used at most. */
static size_t agg_slots_for(size_t n) {
  size_t nslots = FIRST_SLOTS;
  while (nslots / 4 * 3 < n && nslots <= SIZE_MAX / 16) nslots *= 2;
  return nslots;
}

static nay_status agg_count(nay_sql_agg *agg, uint64_t hash, nay_sql_error *error) {
  if (agg->ndistinct >= agg->nslots / 4 * 3) {
    nay_status status = agg_resize(agg, agg->nslots == 0 ? FIRST_SLOTS : agg->nslots * 2, error);
    if (status != NAY_OK) return status;
  }
  if (hash == 0) {
    agg->ndistinct += !agg->has_zero;
    agg->has_zero = true;
    return NAY_OK;
  }
  size_t i = agg_slot(agg->slots, agg->nslots, hash);
  agg->ndistinct += agg->slots[i] == 0;
  agg->slots[i] = hash;
  return NAY_OK;
}

/*
 * Adds the hashes of src, whose slots are in the order of the same bits of the hash. In that order
 * they would fill dst from its start, far beyond three quarters there, and linear probing would
 * take quadratic time. So groups of 8 slots, a cache line, are taken in another order.
 */
static nay_status agg_unite(nay_sql_agg *dst, const nay_sql_agg *src, nay_sql_error *error) {
  const size_t group = 8, odd = (size_t)UINT64_C(0x9e3779b97f4a7c15);
  nay_status status = src->has_zero ? agg_count(dst, 0, error) : NAY_OK;
  for (size_t i = 0; i < src->nslots && status == NAY_OK; i++) {
    agg_interrupts(dst, i);
    uint64_t hash = src->slots[(i / group * odd * group + i % group) & (src->nslots - 1)];
    if (hash != 0) status = agg_count(dst, hash, error);
  }
  return status;
}

/* All distinct hashes, into room for ndistinct. */
static void agg_hashes(const nay_sql_agg *agg, uint64_t *hashes) {
  size_t n = 0;
  if (agg->has_zero) hashes[n++] = 0;
  for (size_t i = 0; i < agg->nslots; i++) {
    if (agg->slots[i] != 0) hashes[n++] = agg->slots[i];
  }
}

/* ---- values ---------------------------------------------------------------------------------- */

static nay_status agg_flush(nay_sql_agg *agg, nay_sql_error *error) {
  if (agg->nbatch == 0) return NAY_OK;
  nay_status status =
      nay_filter_add_hash_many(agg->filter, agg->batch, NULL, agg->nbatch, NULL, NULL);
  if (status != NAY_OK) return nay_sql_refuse(error, status, NULL);
  agg->nbatch = 0;
  return NAY_OK;
}

void nay_sql_agg_set_type(nay_sql_agg *agg, nay_key_type type) {
  if (agg->typed) return;
  agg->typed = true;
  agg->type = type;
}

static nay_status agg_other_type(const nay_sql_agg *agg, nay_key_type type, nay_sql_error *error) {
  return nay_sql_fail(error, NAY_EINVAL, "Cast all values to one type.",
                      "the values before were of type %s, this one is of type %s",
                      nay_key_type_name(agg->type), nay_key_type_name(type));
}

nay_status nay_sql_agg_add(nay_sql_agg *agg, const nay_sql_value *value, nay_sql_error *error) {
  if (!agg->typed) nay_sql_agg_set_type(agg, value->type);
  if (value->type != agg->type) return agg_other_type(agg, value->type, error);
  nay_hash hash;
  nay_status status = nay_hasher_hash(&agg->hasher, value->key, value->len, &hash);
  if (status != NAY_OK) return nay_sql_refuse(error, status, NULL);
  if (!agg->streams) {
    agg->current = false;
    return agg_count(agg, hash.lo, error);
  }
  agg->batch[agg->nbatch++] = hash.lo;
  return agg->nbatch == BATCH ? agg_flush(agg, error) : NAY_OK;
}

nay_status nay_sql_agg_merge(nay_sql_agg *dst, nay_sql_agg *src, nay_sql_error *error) {
  const nay_sql_wish *a = &dst->wish, *b = &src->wish;
  if (a->nkeys != b->nkeys || a->fpr != b->fpr || a->kind != b->kind ||
      dst->streams != src->streams)
    return nay_sql_fail(error, NAY_EMISMATCH, "n, fpr and kind must be those of all rows.",
                        "parts of one aggregate have different arguments");
  if (dst->typed && src->typed && dst->type != src->type)
    return agg_other_type(dst, src->type, error);
  nay_status status = NAY_OK;
  if (dst->streams) {
    status = agg_flush(dst, error);
    if (status == NAY_OK) status = agg_flush(src, error);
    if (status != NAY_OK) return status;
    nay_diag diag = {0};
    status = nay_filter_merge(dst->filter, src->filter, 1.0, &diag);
    if (status != NAY_OK) return nay_sql_refuse(error, status, &diag);
  } else {
    dst->current = false;
    status = agg_unite(dst, src, error);
    if (status != NAY_OK) return status;
  }
  if (src->typed) nay_sql_agg_set_type(dst, src->type);
  return NAY_OK;
}

/* ---- the filter ------------------------------------------------------------------------------ */

static nay_status agg_build(nay_sql_agg *agg, nay_sql_error *error) {
  nay_params params = agg_params(&agg->wish);
  size_t n = agg->ndistinct;
  if (params.nkeys == 0) params.nkeys = n != 0 ? n : 1;
  nay_plan plan = {.size = sizeof plan};
  nay_diag diag = {0};
  nay_status status = nay_params_plan(&params, &diag, &plan);
  if (status != NAY_OK) return nay_sql_refuse(error, status, &diag);
  status = agg_too_thin(&plan, error);
  if (status == NAY_OK) status = agg_too_large(&agg->wish, plan.nbytes_file, error);
  if (status != NAY_OK) return status;
  uint64_t *hashes = agg_alloc(&agg->allocator, (n + 1) * sizeof *hashes);
  if (hashes == NULL) return nay_sql_refuse(error, NAY_ENOMEM, NULL);
  agg_hashes(agg, hashes);
  nay_filter *built = NULL;
  status = nay_filter_build(&params, hashes, n, agg_allocator(agg), &diag, &built);
  agg_release(&agg->allocator, hashes, (n + 1) * sizeof *hashes);
  if (status == NAY_EFULL)
    return nay_sql_fail(error, status, "Omit n: then the distinct keys are counted.",
                        "there are %zu distinct keys, and n is %llu", n,
                        (unsigned long long)params.nkeys);
  if (status != NAY_OK) return nay_sql_refuse(error, status, &diag);
  nay_filter_free(agg->filter);
  agg->filter = built;
  agg->current = true;
  return NAY_OK;
}

nay_status nay_sql_agg_result(nay_sql_agg *agg, nay_sql_error *error, const nay_filter **filter) {
  nay_status status = NAY_OK;
  if (agg->streams)
    status = agg_flush(agg, error);
  else if (!agg->current)
    status = agg_build(agg, error);
  if (status != NAY_OK) return status;
  if (agg->typed) {
    status = nay_filter_set_key(agg->filter, nay_key_type_name(agg->type));
    if (status != NAY_OK) return nay_sql_refuse(error, status, NULL);
  }
  *filter = agg->filter;
  return NAY_OK;
}

/* ---- states as bytes ------------------------------------------------------------------------- */

/*
 *   0  8  "naystat1"     24  u32 kind      32  streams: a native file
 *   8  u64 nkeys         28  u8 streams        else: distinct hashes, u64 each
 *  16  f64 fpr           29  u8 1 + type, 0: none yet
 * A state never leaves the cluster that made it: words are in the byte order of little-endian.
 */
enum { STATE_HEAD = 32 };
static const char state_magic[8] = {'n', 'a', 'y', 's', 't', 'a', 't', '1'};

static void state_store(uint8_t *dst, uint64_t word, int nbytes) {
  for (int i = 0; i < nbytes; i++) dst[i] = (uint8_t)(word >> (8 * i));
}

static uint64_t state_load(const uint8_t *src, int nbytes) {
  uint64_t word = 0;
  for (int i = 0; i < nbytes; i++) word |= (uint64_t)src[i] << (8 * i);
  return word;
}

nay_status nay_sql_agg_encode(nay_sql_agg *agg, void *dst, size_t cap, nay_sql_error *error,
                              size_t *written) {
  if (agg->streams) {
    nay_status status = agg_flush(agg, error);
    if (status != NAY_OK) return status;
  }
  size_t body = agg->streams ? nay_filter_encoded_size(agg->filter) : agg->ndistinct * 8;
  size_t need = STATE_HEAD + body;
  if (dst == NULL) {
    *written = need;
    return NAY_OK;
  }
  if (cap < need) return nay_sql_refuse(error, NAY_EBUFFER, NULL);
  uint8_t *out = dst;
  uint64_t fpr;
  memcpy(&fpr, &agg->wish.fpr, sizeof fpr);
  memcpy(out, state_magic, sizeof state_magic);
  state_store(out + 8, agg->wish.nkeys, 8);
  state_store(out + 16, fpr, 8);
  state_store(out + 24, (uint64_t)agg->wish.kind, 4);
  out[28] = agg->streams;
  out[29] = agg->typed ? (uint8_t)(1 + agg->type) : 0;
  out[30] = out[31] = 0;
  *written = need;
  if (agg->streams) {
    size_t len;
    nay_status status = nay_filter_encode(agg->filter, out + STATE_HEAD, body, &len);
    return status == NAY_OK ? NAY_OK : nay_sql_refuse(error, status, NULL);
  }
  uint8_t *at = out + STATE_HEAD;
  if (agg->has_zero) state_store(at, 0, 8), at += 8;
  for (size_t i = 0; i < agg->nslots; i++) {
    if (agg->slots[i] != 0) state_store(at, agg->slots[i], 8), at += 8;
  }
  return NAY_OK;
}

static nay_status state_bad(nay_sql_error *error) {
  return nay_sql_fail(error, NAY_ECORRUPT, NULL, "the bytes are no state of nay_agg");
}

/* The filter must be one that the wish makes: another would merge into nonsense or not at all. */
static nay_status state_filter(nay_sql_agg *agg, const uint8_t *bytes, size_t len,
                               nay_sql_error *error) {
  nay_diag diag = {0};
  nay_status status = nay_filter_decode(bytes, len, agg_allocator(agg), &diag, &agg->filter);
  if (status != NAY_OK) return nay_sql_refuse(error, status, &diag);
  nay_hasher hasher = {.size = sizeof hasher};
  status = nay_filter_hasher(agg->filter, &hasher);
  if (status != NAY_OK || !nay_hasher_same(&hasher, &agg->hasher)) return state_bad(error);
  nay_params wanted = agg_params(&agg->wish), got = {.size = sizeof got};
  nay_plan plan = {.size = sizeof plan}, twin = {.size = sizeof twin};
  if (nay_params_plan(&wanted, &diag, &plan) != NAY_OK ||
      nay_filter_params(agg->filter, &got) != NAY_OK ||
      nay_params_plan(&got, &diag, &twin) != NAY_OK || twin.nbits != plan.nbits ||
      twin.kind != plan.kind || twin.k != plan.k)
    return state_bad(error);
  return NAY_OK;
}

static nay_status state_hashes(nay_sql_agg *agg, const uint8_t *bytes, size_t len,
                               nay_sql_error *error) {
  if (len % 8 != 0) return state_bad(error);
  /* the table that they came from, as it was: see agg_unite */
  nay_status status = agg_resize(agg, agg_slots_for(len / 8), error);
  for (size_t i = 0; i < len / 8 && status == NAY_OK; i++) {
    agg_interrupts(agg, i);
    status = agg_count(agg, state_load(bytes + 8 * i, 8), error);
  }
  return status;
}

nay_status nay_sql_agg_decode(const void *bytes, size_t len, const nay_sql_wish *limits,
                              const nay_allocator *allocator, nay_sql_error *error,
                              nay_sql_agg **agg) {
  const uint8_t *in = bytes;
  if (len < STATE_HEAD || memcmp(in, state_magic, sizeof state_magic) != 0 || in[28] > 1 ||
      in[29] > 1 + NAY_KEY_NUMERIC || in[30] != 0 || in[31] != 0)
    return state_bad(error);
  nay_sql_wish wish = {.nkeys = state_load(in + 8, 8),
                       .kind = (nay_kind)state_load(in + 24, 4),
                       .max_memory = limits->max_memory,
                       .max_file = limits->max_file,
                       .memory = limits->memory,
                       .interrupts = limits->interrupts};
  uint64_t fpr = state_load(in + 16, 8);
  memcpy(&wish.fpr, &fpr, sizeof fpr);
  if (!(wish.fpr > 0 && wish.fpr < 1)) return state_bad(error);
  if (wish.kind != NAY_AUTO && nay_kind_name(wish.kind) == NULL) return state_bad(error);
  bool streams = false;
  nay_status status = agg_plan(&wish, error, &streams);
  if (status != NAY_OK) return status;
  if (streams != (in[28] == 1)) return state_bad(error);
  nay_sql_agg *made;
  status = agg_make(&wish, streams, allocator, error, &made);
  if (status != NAY_OK) return status;
  if (in[29] != 0) nay_sql_agg_set_type(made, (nay_key_type)(in[29] - 1));
  status = streams ? state_filter(made, in + STATE_HEAD, len - STATE_HEAD, error)
                   : state_hashes(made, in + STATE_HEAD, len - STATE_HEAD, error);
  if (status != NAY_OK) {
    nay_sql_agg_free(made);
    return status;
  }
  *agg = made;
  return NAY_OK;
}
