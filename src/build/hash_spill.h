/*
 * hash_spill.h - hashes in a temporary file, so that a builder of many keys needs little memory. A
 * record is a hash, and whatever words belong to it: those of a map have a value.
 *
 * The top byte of a hash selects one of 256 buckets. A full bucket buffer is appended to the file
 * as one chunk, so that a build reads any range of hashes as whole chunks.
 */
#ifndef NAY_HASH_SPILL_H
#define NAY_HASH_SPILL_H

#include "base/alloc.h"

typedef struct nay_hash_spill nay_hash_spill;

/* nay__hash_spill_new: for records of nwords words. NAY_EIO when no file can be created in the
 * directory. */
nay_status nay__hash_spill_new(const char *directory, unsigned nwords,
                               const nay_allocator *allocator, nay_diag *diag,
                               nay_hash_spill **spill);

/* nay__hash_spill_trouble: what the last NAY_EIO of a read or write was. */
const nay_diag *nay__hash_spill_trouble(const nay_hash_spill *spill);

/* nay__hash_spill_add: record[0] is the hash. On failure nothing is lost and the record is not
 * added. */
nay_status nay__hash_spill_add(nay_hash_spill *spill, const uint64_t *record);

uint64_t nay__hash_spill_count(const nay_hash_spill *spill);

/* nay__hash_spill_read: calls `piece` with n records at a time: all whose hashes are in [lo, hi],
 * and perhaps others. Records of one hash come in the order in which they were added. */
nay_status nay__hash_spill_read(nay_hash_spill *spill, uint64_t lo, uint64_t hi,
                                void (*piece)(void *ctx, const uint64_t *records, size_t n),
                                void *ctx);

/* nay__hash_spill_clear: drops all hashes; the file stays open and is overwritten. */
void nay__hash_spill_clear(nay_hash_spill *spill);
void nay__hash_spill_free(nay_hash_spill *spill);

#endif /* NAY_HASH_SPILL_H */
