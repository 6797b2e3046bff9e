/*
 * block.h - the block of LevelDB's and RocksDB's tables: sorted entries with prefix compression.
 *
 *   entry    | shared varint32 | unshared varint32 | value_len varint32 | key[shared..] | value |
 *   block    | entry | entry | ... | restart u32le x n | n u32le |
 *
 * Each key omits the `shared` bytes that it has in common with the key before it. An entry at a
 * restart point has `shared` 0, so its key is whole. The restart array holds the offsets of those
 * entries. A search is a binary search over the restart array, then a linear scan to the next
 * restart point.
 *
 * The reader accepts untrusted bytes: it never reads outside the block, and every loop terminates.
 * `diag->offset` counts from the start of the block.
 */
#ifndef NAY_SST_BLOCK_BLOCK_H
#define NAY_SST_BLOCK_BLOCK_H

#include "base/varint.h"
#include "block/key_order.h"

/* NAY_SST_ENTRY_MAX: keys and values are shorter than this, because offsets in a block have 32
 * bits. */
#define NAY_SST_ENTRY_MAX (1u << 30)

/* nay_bytes: a slice, that is a pointer and a length. A slice does not own its bytes (LevelDB's
 * Slice). */
typedef struct nay_bytes {
  const uint8_t *at;
  size_t len;
} nay_bytes;

/* nay_sst__bytes_are: whether the bytes equal this text. */
static inline bool nay_sst__bytes_are(nay_bytes bytes, const char *text) {
  size_t n = strlen(text);
  return bytes.len == n && (n == 0 || memcmp(bytes.at, text, n) == 0);
}

/* nay_sst__bytes_after: whether the bytes begin with `start`. Sets *rest to the bytes after it. */
static inline bool nay_sst__bytes_after(nay_bytes bytes, const char *start, nay_bytes *rest) {
  size_t n = strlen(start);
  if (bytes.len < n || memcmp(bytes.at, start, n) != 0) return false;
  *rest = (nay_bytes){bytes.at + n, bytes.len - n};
  return true;
}

/* ---- writing ---- */

/* nay_block_builder: zero-initialise, set `interval`, and call nay_sst__block_reset before the
 * first add. */
typedef struct nay_block_builder {
  nay_buffer bytes;
  nay_buffer restarts;     /* the restart array, encoded */
  uint32_t interval;       /* entries per restart point: LevelDB's block_restart_interval */
  uint32_t nsince_restart; /* entries since the last restart point */
} nay_block_builder;

nay_status nay_sst__block_reset(nay_block_builder *builder, const nay_allocator *a);
void nay_sst__block_builder_free(nay_block_builder *builder, const nay_allocator *a);

/*
 * nay_sst__block_add: appends an entry. `shared` is the length of the prefix that the key shares
 * with the previous key; the builder ignores it at a restart point. NAY_ENOMEM changes nothing.
 */
nay_status nay_sst__block_add(nay_block_builder *builder, const uint8_t *key, size_t len,
                              size_t shared, const uint8_t *value, size_t value_len,
                              const nay_allocator *a);

/* nay_sst__block_finish: appends the restart array. builder->bytes is the block until the next
 * reset.
 */
nay_status nay_sst__block_finish(nay_block_builder *builder, const nay_allocator *a);

/* nay_sst__block_size: bytes of the block if it were finished now: LevelDB's CurrentSizeEstimate.
 */
static inline size_t nay_sst__block_size(const nay_block_builder *builder) {
  return builder->bytes.len + builder->restarts.len + 4;
}

/* ---- reading ---- */

typedef struct nay_block {
  const uint8_t *bytes;
  uint32_t end; /* offset of the restart array, where the entries end */
  uint32_t nrestarts;
} nay_block;

/* nay_sst__block_open: checks the length of the restart array and reads no entry. NAY_ECORRUPT: the
 * array is empty or does not fit the block. */
nay_status nay_sst__block_open(const uint8_t *bytes, size_t len, nay_diag *diag, nay_block *block);

/* nay_sst__block_len: bytes of the whole block, the restart array included. */
static inline size_t nay_sst__block_len(const nay_block *block) {
  return block->end + 4 * (size_t)block->nrestarts + 4;
}

/* Messages for keys out of order. The status is NAY_ENOTSUP and not NAY_ECORRUPT: the block's
 * checksum is right, so its writer most likely used another comparator. */
#define NAY_ORDER_TEXT \
  "the keys are not in bytewise order: the table has another comparator, or is corrupt"
#define NAY_CUSTOM_ORDER_TEXT \
  "the keys are not in the order of the comparator: the table has another one, or is corrupt"

/* nay_entry: a decoded entry; its pointers point into the block. */
typedef struct nay_entry {
  uint32_t at;   /* offset of this entry in the block */
  uint32_t next; /* offset of the next entry, or of the restart array after the last entry */
  uint32_t shared;
  uint32_t unshared;
  uint32_t value_len;
  const uint8_t *suffix; /* the key without its first `shared` bytes; `unshared` bytes long */
  const uint8_t *value;
} nay_entry;

/* nay_found: the result of a search. */
typedef struct nay_found {
  nay_entry entry;
  uint64_t trailer; /* trailer of the internal key found; set if `equal` and keys are internal */
  bool equal;       /* the user key found equals the target's */
  size_t near;      /* longest common prefix of the target with its neighbours in the block, the
                       entry found and the entry before it */
} nay_found;

/*
 * nay_sst__block_find: finds the first entry whose key is at or after the target. Bytewise order
 * compares keys without reconstructing them. A custom comparator gets whole keys; one of more than
 * 256 bytes may need memory. NAY_ENOENT: every key is before the target, and only found->near is
 * set. NAY_EINVAL: the comparator calls different bytes equal without equal_may_differ.
 * NAY_ECORRUPT, NAY_ENOMEM.
 */
nay_status nay_sst__block_find(const nay_block *block, nay_order order, const nay_target *target,
                               const nay_allocator *a, nay_diag *diag, nay_found *found);

/*
 * nay_sst__block_check: verifies that a search finds every entry. Each restart point must be an
 * entry with a whole key. Keys must ascend strictly, the first above `above` and the last at most
 * `upto`; NULL means no bound. The check needs memory for one key, with a custom comparator for
 * two. NAY_ENOTSUP: the keys are in another order. NAY_ECORRUPT, NAY_ENOMEM.
 */
nay_status nay_sst__block_check(const nay_block *block, nay_order order, const nay_buffer *above,
                                const nay_buffer *upto, const nay_allocator *a, nay_diag *diag);

/*
 * nay_cursor: the iterator of a block; it reconstructs each key. Set block, order and allocator,
 * and zero the rest. A movement returns NAY_OK at an entry, NAY_EEND past either end (the cursor
 * is then invalid), NAY_ECORRUPT or NAY_ENOMEM. The caller frees `key` at the end.
 */
typedef struct nay_cursor {
  nay_block block;
  nay_order order;
  const nay_allocator *allocator;
  nay_entry entry;
  nay_buffer key;
  bool valid;
} nay_cursor;

nay_status nay_sst__cursor_first(nay_cursor *cursor, nay_diag *diag);
nay_status nay_sst__cursor_last(nay_cursor *cursor, nay_diag *diag);
nay_status nay_sst__cursor_next(nay_cursor *cursor, nay_diag *diag);
nay_status nay_sst__cursor_prev(nay_cursor *cursor, nay_diag *diag);

/* nay_sst__cursor_at: moves to the entry at this offset in the block, or to the last one before it.
 */
nay_status nay_sst__cursor_at(nay_cursor *cursor, uint32_t at, nay_diag *diag);

/* nay_sst__cursor_seek: moves to the first entry at or after the target. */
nay_status nay_sst__cursor_seek(nay_cursor *cursor, const nay_target *target, nay_diag *diag);

/*
 * nay_sst__block_walk: calls `visit` for each entry in turn and stops at its first error. Keys may
 * be in any order, which metaindex, properties and index blocks need.
 */
typedef nay_status (*nay_block_visit)(void *ctx, const nay_cursor *entry, nay_diag *diag);
nay_status nay_sst__block_walk(const nay_block *block, nay_block_visit visit, void *ctx,
                               const nay_allocator *a, nay_diag *diag);

#endif /* NAY_SST_BLOCK_BLOCK_H */
