/* filter_builder.c - see filter_builder.h. */
#include "sst/filter_builder.h"

#include "base/bytes.h"

#define BLOCK_LG 11u /* LevelDB's: 2 KiB */

nay_status nay__filter_builder_init(nay_filter_builder *m, const nay_policy *policy,
                                    const nay_params *params, const nay_allocator *a) {
  *m = (nay_filter_builder){.policy = policy};
  return policy != NULL ? NAY_OK : nay_builder_new(params, a, &m->builder);
}

nay_status nay__filter_builder_add(nay_filter_builder *m, const void *key, size_t len,
                                   const nay_allocator *a) {
  if (m->policy == NULL) {
    NAY_TRY(nay_builder_add(m->builder, key, len));
  } else {
    NAY_TRY(nay__buffer_append(&m->keys, key, len, a));
    NAY_TRY(nay__buffer_append(&m->ends, &m->keys.len, sizeof m->keys.len, a));
  }
  m->n++;
  return NAY_OK;
}

static nay_status builder_native(nay_filter_builder *m, nay_buffer *out, const nay_allocator *a) {
  nay_filter *f = NULL;
  NAY_TRY(nay_builder_finish(m->builder, &f));
  size_t size = nay_filter_encoded_size(f);
  nay_status status = nay__buffer_reserve(out, size, a);
  if (status == NAY_OK) status = nay_filter_encode(f, out->at + out->len, size, &size);
  if (status == NAY_OK) out->len += size;
  nay_filter_free(f);
  return status;
}

/* What policy->create takes: pointers first, then lengths, in one piece of memory. */
static nay_status builder_pointers(nay_filter_builder *m, const nay_allocator *a,
                                   const void ***keys, size_t **lens) {
  size_t bytes;
  if (!nay__mul_ok(m->n, sizeof **keys + sizeof **lens, &bytes)) return NAY_ENOMEM;
  m->pointers.len = 0;
  NAY_TRY(nay__buffer_reserve(&m->pointers, bytes, a));
  *keys = (const void **)(void *)m->pointers.at; /* the allocator aligns for any type */
  *lens = (size_t *)(void *)(m->pointers.at + m->n * sizeof **keys);
  size_t start = 0, end;
  for (size_t i = 0; i < m->n; i++, start = end) {
    memcpy(&end, m->ends.at + i * sizeof end, sizeof end);
    (*keys)[i] = nay__buffer_at(&m->keys, start);
    (*lens)[i] = end - start;
  }
  return NAY_OK;
}

static nay_status builder_by_policy(nay_filter_builder *m, nay_buffer *out,
                                    const nay_allocator *a) {
  const void **keys;
  size_t *lens, len = 0;
  uint8_t *filter = NULL;
  NAY_TRY(builder_pointers(m, a, &keys, &lens));
  NAY_TRY(m->policy->create(m->policy, keys, lens, m->n, a, &filter, &len));
  nay_status status = nay__buffer_append(out, filter, len, a);
  nay__free(a, filter, len);
  m->keys.len = m->ends.len = 0;
  return status;
}

nay_status nay__filter_builder_finish(nay_filter_builder *m, nay_buffer *out,
                                      const nay_allocator *a) {
  NAY_TRY(m->policy == NULL ? builder_native(m, out, a) : builder_by_policy(m, out, a));
  m->n = 0;
  return NAY_OK;
}

void nay__filter_builder_free(nay_filter_builder *m, const nay_allocator *a) {
  nay_builder_free(m->builder);
  nay__buffer_free(&m->keys, a);
  nay__buffer_free(&m->ends, a);
  nay__buffer_free(&m->pointers, a);
}

/* ---- LevelDB's filter block ---- */

/* Closes a filter; without keys it has no bytes. */
static nay_status builder_close(nay_filter_block_builder *b, const nay_allocator *a) {
  uint8_t offset[4];
  nay__store32le(offset, (uint32_t)b->filters.len);
  NAY_TRY(nay__buffer_append(&b->offsets, offset, sizeof offset, a));
  return b->maker.n == 0 ? NAY_OK : nay__filter_builder_finish(&b->maker, &b->filters, a);
}

nay_status nay__filter_block_start(nay_filter_block_builder *b, uint64_t offset,
                                   const nay_allocator *a) {
  while (b->offsets.len / 4 < offset >> BLOCK_LG) NAY_TRY(builder_close(b, a));
  return NAY_OK;
}

nay_status nay__filter_block_finish(nay_filter_block_builder *b, const nay_allocator *a) {
  if (b->maker.n != 0) NAY_TRY(builder_close(b, a));
  uint8_t end[5];
  nay__store32le(end, (uint32_t)b->filters.len);
  end[4] = BLOCK_LG;
  NAY_TRY(nay__buffer_append(&b->filters, b->offsets.at, b->offsets.len, a));
  return nay__buffer_append(&b->filters, end, sizeof end, a);
}

void nay__filter_block_free(nay_filter_block_builder *b, const nay_allocator *a) {
  nay__filter_builder_free(&b->maker, a);
  nay__buffer_free(&b->filters, a);
  nay__buffer_free(&b->offsets, a);
}

bool nay__filter_block_open(const uint8_t *bytes, size_t len, nay_filter_block *block) {
  if (len < 5) return false;
  size_t array = nay__load32le(bytes + len - 5);
  unsigned lg = bytes[len - 1];
  if (array > len - 5 || lg > 63) return false;
  *block = (nay_filter_block){bytes, array, (len - 5 - array) / 4, lg};
  return true;
}

bool nay__filter_block_may_match(const nay_filter_block *b, const nay_policy *policy,
                                 uint64_t offset, const void *key, size_t len) {
  uint64_t i = offset >> b->lg;
  if (i >= b->n) return true;
  const uint8_t *entry = b->bytes + b->array + (size_t)i * 4;
  size_t start = nay__load32le(entry), end = nay__load32le(entry + 4);
  if (start > end || end > b->array) return true;
  return start != end && policy->may_match(policy, key, len, b->bytes + start, end - start);
}
