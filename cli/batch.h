/* batch.h - the memory of a batch of keys: what stream.c fills. The users of batches have stream.h.
 */
#ifndef NAY_BATCH_H
#define NAY_BATCH_H

#include "stream.h"

#define BATCH_BYTES 131072u /* 8192 keys of 16 bytes */

struct batch_memory {
  uint8_t *bytes; /* cap + 1 of them: a terminator always fits */
  size_t cap, len;
  uint8_t *scratch; /* texts and keys that are not bytes of the file */
  size_t scratch_cap;
};

/* batch_new: arrays for what the reader finds, and hashes of 64 or 128 bits if they are wanted. */
void batch_new(key_batch *b, const key_reader *r, bool line_numbers, bool hashes, bool wide);
void batch_free(key_batch *b);

/* batch_grow: twice the bytes, for a record that is longer than the batch. */
void batch_grow(struct batch_memory *m);

/* batch_scratch: room for the texts and keys of all bytes in the batch. */
void batch_scratch(struct batch_memory *m, const key_reader *r);

/* batch_scratch_left: whether the rest of the batch, from p on, fits into the scratch at `at`. */
bool batch_scratch_left(const key_batch *b, const key_reader *r, const uint8_t *p,
                        const uint8_t *at);

/* batch_forget_bads: those from the first-th on. */
void batch_forget_bads(key_batch *b, size_t first);

/* batch_add_bad: a bad record before the next key. */
bad_record *batch_add_bad(key_batch *b, const uint8_t *bytes, size_t len, uint64_t line);

/* batch_is_full: of keys or of bad records. */
static inline bool batch_is_full(const key_batch *b) {
  return b->n == BATCH_KEYS || b->bads->n == BATCH_KEYS;
}

void batch_add(key_batch *b, const uint8_t *record, const key_record *r);

/* batch_end_records: gives each record another terminator. */
void batch_end_records(key_batch *b, uint8_t terminator);

/* batch_may_contain, batch_add: by the hashes of the batch, or by its keys where the filter takes
 * no hashes. */
nay_status batch_may_contain(const nay_filter *f, const key_batch *b, uint64_t *bitmap);
nay_status batch_add_all(nay_filter *f, const key_batch *b, uint64_t *bitmap, size_t *taken);

#endif /* NAY_BATCH_H */
