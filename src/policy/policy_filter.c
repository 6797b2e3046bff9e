/*
 * policy_filter.c - "nay.filter.v1": the native file of any family (doc/formats/nay.md) as a
 * policy's filter. The file says what it is, so a reader needs no params but a secret key.
 */
#include "filter.h"
#include "hash/hash.h"
#include "policy/policy.h"

static nay_status filter_policy_encode(const nay_filter *f, const nay_allocator *a,
                                       uint8_t **filter, size_t *len) {
  size_t size = nay_filter_encoded_size(f), written;
  uint8_t *bytes = nay__alloc(a, size);
  if (bytes == NULL) return NAY_ENOMEM;
  nay_status status = nay_filter_encode(f, bytes, size, &written);
  if (status != NAY_OK) {
    nay__free(a, bytes, size);
    return status;
  }
  *filter = bytes;
  *len = size;
  return NAY_OK;
}

static nay_status filter_policy_create(const nay_policy *self, const void *const *keys,
                                       const size_t *lens, size_t n, const nay_allocator *allocator,
                                       uint8_t **filter, size_t *len) {
  NAY_TRY(nay__policy_args(keys, lens, n, filter, len));
  nay_allocator a;
  NAY_TRY(nay__allocator_read(allocator, NULL, &a));
  nay_builder *builder;
  nay_params params = nay__policy_params(self);
  NAY_TRY(nay_builder_new(&params, &a, NULL, &builder));
  nay_status status = NAY_OK;
  for (size_t i = 0; i < n && status == NAY_OK; i++) {
    status = nay_builder_add(builder, keys[i], lens[i]);
  }
  nay_filter *f = NULL;
  if (status == NAY_OK) status = nay_builder_finish(builder, NULL, &f);
  if (status == NAY_OK) status = filter_policy_encode(f, &a, filter, len);
  nay_filter_free(f);
  nay_builder_free(builder);
  return status;
}

/* The filter in the bytes, or NULL when they are not one that this policy can probe. */
static const nay_filter *filter_policy_open(const nay_policy *self, const uint8_t *bytes,
                                            size_t len, nay_view *view) {
  nay_params params = nay__policy_params(self);
  const uint8_t *key = params.hash == NAY_HASH_SIPHASH ? params.key : NULL;
  return nay_view_open(bytes, len, key, NULL, view) == NAY_OK ? nay_view_filter(view) : NULL;
}

static bool filter_policy_may_match(const nay_policy *self, const void *key, size_t key_len,
                                    const uint8_t *filter, size_t len) {
  nay_view view;
  return nay_filter_may_contain(filter_policy_open(self, filter, len, &view), key, key_len);
}

static nay_hash_fn filter_policy_hasher(const nay_policy *self) {
  nay_hash_fn hasher = {.kind = NAY_HASH_XXH3};
  nay_params params = nay__policy_params(self);
  (void)nay__hasher_init(&params, NULL, &hasher); /* nay_policy_filter has tried it */
  return hasher;
}

static nay_hash filter_policy_hash(const nay_policy *self, const void *key, size_t key_len) {
  nay_hash_fn hasher = filter_policy_hasher(self);
  return nay__hash_key(&hasher, nay__policy_key(key), key_len);
}

/* A filter built with another seed or key needs another hash: maybe. */
static bool filter_policy_may_match_hash(const nay_policy *self, nay_hash hash,
                                         const uint8_t *filter, size_t len) {
  nay_view view;
  const nay_filter *f = filter_policy_open(self, filter, len, &view);
  nay_hash_fn hasher = filter_policy_hasher(self);
  if (f == NULL || !nay__hasher_same(&f->hasher, &hasher)) return true;
  return nay_filter_may_contain_hash(f, hash);
}

nay_status nay_policy_filter(const nay_params *params, nay_policy *policy) {
  if (params == NULL || policy == NULL) return NAY_EINVAL;
  nay_params full, p;
  NAY_TRY(nay__abi_read(NAY_ABI_PARAMS, params, NULL, &full));
  NAY_TRY(nay__abi_check(NAY_ABI_POLICY, policy, NULL));
  if (full.hash == NAY_HASH_CALLER) return NAY_EINVAL;
  nay_plan plan = {.size = sizeof plan};
  p = full;
  if (p.nkeys == 0) p.nkeys = 1; /* any number, to have the other fields checked now */
  NAY_TRY(nay_params_plan(&p, NULL, &plan));
  nay_policy made = {.size = sizeof made,
                     .name = "nay.filter.v1",
                     .create = filter_policy_create,
                     .may_match = filter_policy_may_match,
                     .hash = filter_policy_hash,
                     .may_match_hash = filter_policy_may_match_hash};
  memcpy(made.opaque, &full, sizeof full);
  nay__abi_write(NAY_ABI_POLICY, &made, policy);
  return NAY_OK;
}
