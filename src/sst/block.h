/*
 * block.h - blocks of sorted entries with shared prefixes: what LevelDB's and RocksDB's tables are
 * made of.
 *
 *   entry    | shared varint32 | unshared varint32 | value_len varint32 | key[shared..] | value |
 *   block    | entry | entry | ... | restart u32le x n | n u32le |
 *
 * Prefix compression: each key omits the `shared` bytes that it has in common with the key before
 * it. At a restart point shared is 0, and the array at the end has the offsets of the restarts: a
 * search is a binary search among them, then a scan of a few entries.
 *
 * The reader takes untrusted bytes: it never reads outside of them, and every loop ends.
 * `diag->offset` counts from the start of the block.
 */
#ifndef NAY_SST_BLOCK_H
#define NAY_SST_BLOCK_H

#include "base/varint.h"
#include "sst/comparator.h"

/* A key or value is shorter: offsets in a block have 32 bits. */
#define NAY_SST_ENTRY_MAX (1u << 30)

/* nay_bytes: a view of bytes that someone else owns. */
typedef struct nay_bytes {
  const uint8_t *at;
  size_t len;
} nay_bytes;

/* nay__bytes_are: whether they spell this text. */
static inline bool nay__bytes_are(nay_bytes bytes, const char *text) {
  size_t n = strlen(text);
  return bytes.len == n && (n == 0 || memcmp(bytes.at, text, n) == 0);
}

/* nay__bytes_after: whether they start with this text; *rest is what follows it. */
static inline bool nay__bytes_after(nay_bytes bytes, const char *start, nay_bytes *rest) {
  size_t n = strlen(start);
  if (bytes.len < n || memcmp(bytes.at, start, n) != 0) return false;
  *rest = (nay_bytes){bytes.at + n, bytes.len - n};
  return true;
}

/* ---- writing ---- */

/* nay_block_builder: zero-initialise, with `interval` set; nay__block_reset before the first add.
 */
typedef struct nay_block_builder {
  nay_buffer bytes;
  nay_buffer restarts; /* as they will be stored */
  uint32_t interval;   /* entries from one restart to the next */
  uint32_t since;      /* entries since the last restart */
} nay_block_builder;

nay_status nay__block_reset(nay_block_builder *builder, const nay_allocator *a);
void nay__block_builder_free(nay_block_builder *builder, const nay_allocator *a);

/*
 * nay__block_add: `shared` is what the key has in common with the one added before it; the builder
 * decides whether to use it. NAY_ENOMEM changes nothing.
 */
nay_status nay__block_add(nay_block_builder *builder, const uint8_t *key, size_t len, size_t shared,
                          const uint8_t *value, size_t value_len, const nay_allocator *a);

/* nay__block_finish: appends the restarts; the block is then builder->bytes, until the reset. */
nay_status nay__block_finish(nay_block_builder *builder, const nay_allocator *a);

/* nay__block_size: how long the block would be if it were finished now. */
static inline size_t nay__block_size(const nay_block_builder *builder) {
  return builder->bytes.len + builder->restarts.len + 4;
}

/* ---- reading ---- */

typedef struct nay_block {
  const uint8_t *bytes;
  uint32_t end; /* of the entries: where the restarts start */
  uint32_t nrestarts;
} nay_block;

/* nay__block_open: NAY_ECORRUPT when the restarts do not fit, or there is none. Entries are not
 * read yet. */
nay_status nay__block_open(const uint8_t *bytes, size_t len, nay_diag *diag, nay_block *block);

/* nay__block_len: of the block that was opened. */
static inline size_t nay__block_len(const nay_block *block) {
  return block->end + 4 * (size_t)block->nrestarts + 4;
}

/* The messages of NAY_ENOTSUP for keys out of order: the checksum is right, so they were written
 * so. */
#define NAY_ORDER_TEXT \
  "the keys are not in bytewise order: the table has another comparator, or is corrupt"
#define NAY_CUSTOM_ORDER_TEXT \
  "the keys are not in the order of the comparator: the table has another one, or is corrupt"

/* nay_entry: an entry where it lies. */
typedef struct nay_entry {
  uint32_t at;   /* offset in the block */
  uint32_t next; /* of the entry after it */
  uint32_t shared;
  uint32_t unshared;
  uint32_t value_len;
  const uint8_t *suffix; /* unshared bytes */
  const uint8_t *value;
} nay_entry;

/* nay_found: where a search ended. */
typedef struct nay_found {
  nay_entry entry;
  uint64_t trailer; /* of an internal key, if the user keys are equal */
  bool equal;       /* the user keys are */
  size_t near;      /* leading bytes of the target that an adjacent key shares: the entry found, or
                       the one before it in the block */
} nay_found;

/*
 * nay__block_find: the first entry whose key is not before target, without reconstructing any key,
 * unless the caller's comparator needs it: then a key of more than 256 bytes may need memory.
 * NAY_ENOENT: all are before it, and found has `near` alone. NAY_ECORRUPT, NAY_ENOMEM. NAY_EINVAL:
 * the comparator calls other bytes the same key.
 */
nay_status nay__block_find(const nay_block *block, nay_order order, const nay_target *target,
                           const nay_allocator *a, nay_diag *diag, nay_found *found);

/*
 * nay__block_check: whether a search finds every entry: restarts point to entries with whole keys,
 * and keys ascend strictly, from above `above` to at most `upto` (either may be NULL). Needs memory
 * for one key, with a comparator of the caller for two. NAY_ENOTSUP: the keys are in another order.
 * NAY_ECORRUPT, NAY_ENOMEM.
 */
nay_status nay__block_check(const nay_block *block, nay_order order, const nay_buffer *above,
                            const nay_buffer *upto, const nay_allocator *a, nay_diag *diag);

/*
 * nay_cursor: walks a block and reconstructs its keys. Set block, order and allocator; the rest
 * zero. Movements return NAY_OK when there is an entry, NAY_ENOENT past either end (the cursor is
 * then at no entry), NAY_ECORRUPT, NAY_ENOMEM. The key buffer is the cursor's: free it in the end.
 */
typedef struct nay_cursor {
  nay_block block;
  nay_order order;
  const nay_allocator *allocator;
  nay_entry entry;
  nay_buffer key;
  bool valid;
} nay_cursor;

nay_status nay__cursor_first(nay_cursor *cursor, nay_diag *diag);
nay_status nay__cursor_last(nay_cursor *cursor, nay_diag *diag);
nay_status nay__cursor_next(nay_cursor *cursor, nay_diag *diag);
nay_status nay__cursor_prev(nay_cursor *cursor, nay_diag *diag);

/* nay__cursor_at: the entry at this offset in the block, or the last one before it. */
nay_status nay__cursor_at(nay_cursor *cursor, uint32_t at, nay_diag *diag);

/* nay__cursor_seek: the first entry that is not before target. */
nay_status nay__cursor_seek(nay_cursor *cursor, const nay_target *target, nay_diag *diag);

/*
 * nay__block_walk: calls visit for each entry in turn, and ends with its error or at the end of the
 * block. For metaindex, properties and indexes: keys may be in any order.
 */
typedef nay_status (*nay_block_visit)(void *ctx, const nay_cursor *entry, nay_diag *diag);
nay_status nay__block_walk(const nay_block *block, nay_block_visit visit, void *ctx,
                           const nay_allocator *a, nay_diag *diag);

#endif /* NAY_SST_BLOCK_H */
