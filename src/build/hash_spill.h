/*
 * hash_spill.h - hashes in a temporary file, so that a builder of many keys needs little memory.
 *
 * They are sorted into 256 buckets by their top byte as they come; a bucket's buffer goes to the
 * end of the file when it is full. So a build can read any range of hashes by reading whole chunks.
 */
#ifndef NAY_HASH_SPILL_H
#define NAY_HASH_SPILL_H

#include "base/alloc.h"

typedef struct nay_hash_spill nay_hash_spill;

/* nay__hash_spill_new: NAY_EIO when the folder takes no file. */
nay_status nay__hash_spill_new(const char *folder, const nay_allocator *allocator,
                               nay_hash_spill **spill);

/* nay__hash_spill_add: on failure nothing is lost and the hash is not in. */
nay_status nay__hash_spill_add(nay_hash_spill *spill, uint64_t hash);

uint64_t nay__hash_spill_count(const nay_hash_spill *spill);

/* nay__hash_spill_read: all hashes in [lo, hi], and perhaps others, in pieces. */
nay_status nay__hash_spill_read(const nay_hash_spill *spill, uint64_t lo, uint64_t hi,
                                void (*piece)(void *ctx, const uint64_t *hashes, size_t n),
                                void *ctx);

/* nay__hash_spill_clear: forgets all hashes; the file stays open and is written over. */
void nay__hash_spill_clear(nay_hash_spill *spill);
void nay__hash_spill_free(nay_hash_spill *spill);

#endif /* NAY_HASH_SPILL_H */
