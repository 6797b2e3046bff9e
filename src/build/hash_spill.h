/*
 * hash_spill.h - hashes in a temporary file, so that a builder of many keys needs little memory.
 *
 * The top byte of a hash selects one of 256 buckets. A full bucket buffer is appended to the file
 * as one chunk, so that a build reads any range of hashes as whole chunks.
 */
#ifndef NAY_HASH_SPILL_H
#define NAY_HASH_SPILL_H

#include "base/alloc.h"

typedef struct nay_hash_spill nay_hash_spill;

/* nay__hash_spill_new: NAY_EIO when no file can be created in the directory. */
nay_status nay__hash_spill_new(const char *directory, const nay_allocator *allocator,
                               nay_diag *diag, nay_hash_spill **spill);

/* nay__hash_spill_trouble: what the last NAY_EIO of a read or write was. */
const nay_diag *nay__hash_spill_trouble(const nay_hash_spill *spill);

/* nay__hash_spill_add: on failure nothing is lost and the hash is not added. */
nay_status nay__hash_spill_add(nay_hash_spill *spill, uint64_t hash);

uint64_t nay__hash_spill_count(const nay_hash_spill *spill);

/* nay__hash_spill_read: calls `piece` with all hashes in [lo, hi], and perhaps others. */
nay_status nay__hash_spill_read(nay_hash_spill *spill, uint64_t lo, uint64_t hi,
                                void (*piece)(void *ctx, const uint64_t *hashes, size_t n),
                                void *ctx);

/* nay__hash_spill_clear: drops all hashes; the file stays open and is overwritten. */
void nay__hash_spill_clear(nay_hash_spill *spill);
void nay__hash_spill_free(nay_hash_spill *spill);

#endif /* NAY_HASH_SPILL_H */
