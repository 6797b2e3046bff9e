/* filter_builder.c - see filter_builder.h. */
#include "block/filter_builder.h"

#include "base/bytes.h"

#define FILTER_BUILDER_MANY 65536u
#define FILTER_BUILDER_MAX_BITS 4096.0

/*
 * Makes a filter with a given nkeys equal to a filter whose keys were counted. A static family
 * counts its keys anyway, so its nkeys is cleared. Bits per key that are too few for the family's
 * smallest filter are raised in the steps of nay_builder.
 */
static nay_status filter_builder_stated(nay_params *p, nay_diag *diag) {
  nay_plan plan = {.size = sizeof plan};
  nay_params many = *p;
  nay_diag why = {.what = NULL}; /* diag must stay unchanged on success */
  if (p->kind != NAY_AUTO && (nay_kind_traits(p->kind) & NAY_CAN_ADD) == 0) {
    p->nkeys = 0;
    return NAY_OK;
  }
  many.nkeys = FILTER_BUILDER_MANY;
  nay_status status = nay_params_plan(p, &why, &plan);
  bool few = status == NAY_EINVAL && nay_params_plan(&many, NULL, &plan) == NAY_OK;
  while (few && status == NAY_EINVAL && p->bits_per_key > 0 &&
         p->bits_per_key < FILTER_BUILDER_MAX_BITS) {
    double more = p->bits_per_key * (17.0 / 16);
    p->bits_per_key = more < FILTER_BUILDER_MAX_BITS ? more : FILTER_BUILDER_MAX_BITS;
    status = nay_params_plan(p, NULL, &plan);
  }
  if (status != NAY_OK && diag != NULL) *diag = why;
  return status;
}

nay_status nay_sst__filter_builder_init(nay_filter_builder *b, const nay_policy *policy,
                                        const nay_params *params, const nay_allocator *a,
                                        nay_diag *diag) {
  *b = (nay_filter_builder){.policy = policy};
  if (policy != NULL) return NAY_OK;
  nay_params p = *params;
  if (p.nkeys != 0 && p.kind != NAY_RANGE) NAY_TRY(filter_builder_stated(&p, diag));
  return nay_builder_new(&p, a, diag, &b->builder);
}

nay_status nay_sst__filter_builder_add(nay_filter_builder *b, const void *key, size_t len,
                                       const nay_allocator *a) {
  if (b->policy == NULL) {
    NAY_TRY(nay_builder_add(b->builder, key, len));
  } else {
    NAY_TRY(nay__buffer_append(&b->keys, key, len, a));
    NAY_TRY(nay__buffer_append(&b->ends, &b->keys.len, sizeof b->keys.len, a));
  }
  b->n++;
  return NAY_OK;
}

static nay_status filter_builder_native(nay_filter_builder *b, nay_buffer *out,
                                        const nay_allocator *a, nay_diag *diag) {
  nay_filter *f = NULL;
  NAY_TRY(nay_builder_finish(b->builder, diag, &f));
  size_t size = nay_filter_encoded_size(f);
  nay_status status = nay__buffer_reserve(out, size, a);
  if (status == NAY_OK) status = nay_filter_encode(f, out->at + out->len, size, &size);
  if (status == NAY_OK) out->len += size;
  nay_filter_free(f);
  return status;
}

/* Makes the two arrays that policy->create takes, pointers and lengths, in one buffer. */
static nay_status filter_builder_pointers(nay_filter_builder *b, const nay_allocator *a,
                                          const void ***keys, size_t **lens) {
  size_t bytes;
  if (!nay__mul_ok(b->n, sizeof **keys + sizeof **lens, &bytes)) return NAY_ENOMEM;
  b->pointers.len = 0;
  NAY_TRY(nay__buffer_reserve(&b->pointers, bytes, a));
  *keys = (const void **)(void *)b->pointers.at; /* allocators align for any type */
  *lens = (size_t *)(void *)(b->pointers.at + b->n * sizeof **keys);
  size_t start = 0, end;
  for (size_t i = 0; i < b->n; i++, start = end) {
    memcpy(&end, b->ends.at + i * sizeof end, sizeof end);
    (*keys)[i] = nay__buffer_at(&b->keys, start);
    (*lens)[i] = end - start;
  }
  return NAY_OK;
}

static nay_status filter_builder_by_policy(nay_filter_builder *b, nay_buffer *out,
                                           const nay_allocator *a, nay_diag *diag) {
  const void **keys;
  size_t *lens, len = 0;
  uint8_t *filter = NULL;
  NAY_TRY(filter_builder_pointers(b, a, &keys, &lens));
  nay_status status = b->policy->create(b->policy->ctx, keys, lens, b->n, a, &filter, &len);
  if (status != NAY_OK) return nay__fail(diag, status, "the policy cannot make a filter", 0);
  status = nay__buffer_append(out, filter, len, a);
  nay__free(a, filter, len);
  b->keys.len = b->ends.len = 0;
  return status;
}

nay_status nay_sst__filter_builder_finish(nay_filter_builder *b, nay_buffer *out,
                                          const nay_allocator *a, nay_diag *diag) {
  nay_status status =
      (b->policy == NULL ? filter_builder_native : filter_builder_by_policy)(b, out, a, diag);
  if (status == NAY_EINVAL) status = NAY_EFULL; /* init checked the params: too many keys */
  NAY_TRY(status);
  b->n = 0;
  return NAY_OK;
}

void nay_sst__filter_builder_free(nay_filter_builder *b, const nay_allocator *a) {
  nay_builder_free(b->builder);
  nay__buffer_free(&b->keys, a);
  nay__buffer_free(&b->ends, a);
  nay__buffer_free(&b->pointers, a);
}
