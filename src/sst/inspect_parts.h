/* inspect_parts.h - the entries of an index block: keys that end a part of the table, and handles.
 */
#ifndef NAY_SST_INSPECT_PARTS_H
#define NAY_SST_INSPECT_PARTS_H

#include "base/buffer.h"
#include "sst/footer.h"
#include "sst/order.h"

typedef struct nay_part {
  nay_handle handle;
  size_t key_at; /* in nay_parts.keys */
  size_t key_len;
  bool damaged; /* for the owner */
} nay_part;

typedef struct nay_parts {
  nay_buffer list; /* of nay_part */
  nay_buffer keys;
  bool all_internal; /* every key has room for a trailer */
} nay_parts;

/*
 * nay__parts_load: of an uncompressed index block. delta: RocksDB's form since format 4, without
 * lengths of values, where a handle that follows the one before it is only a difference. `most` is
 * how many bytes of keys are kept: more is NAY_ECORRUPT, for no real index grows like that.
 */
nay_status nay__parts_load(const uint8_t *block, size_t len, bool delta, size_t most,
                           const nay_allocator *a, nay_diag *diag, nay_parts *parts);
void nay__parts_free(nay_parts *parts, const nay_allocator *a);

static inline size_t nay__parts_count(const nay_parts *parts) {
  return parts->list.len / sizeof(nay_part);
}

static inline nay_part *nay__part_at(const nay_parts *parts, size_t i) {
  return (nay_part *)(void *)parts->list.at + i;
}

/* nay__parts_ascend: whether no key is below the one before it, as a search assumes. */
bool nay__parts_ascend(const nay_parts *parts, nay_order order);

/* nay__parts_find: the first part whose key is not before the user key; the count when all are. */
size_t nay__parts_find(const nay_parts *parts, nay_order order, const void *key, size_t len);

#endif /* NAY_SST_INSPECT_PARTS_H */
