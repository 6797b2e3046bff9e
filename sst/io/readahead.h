/*
 * readahead.h - readahead for an iterator that reads blocks sequentially.
 *
 *   block      | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | ...
 *   reads      |---|---|-----------|---------------------- ...
 *                       16 KiB      32 KiB, then 64 KiB, up to max_window
 *
 * Readahead starts with the third block of a sequential run, so that a seek and a short
 * scan read no more than their blocks. A block continues the run if it lies after the previous one;
 * gaps are normal, because filter partitions lie between data blocks and some blocks are cached. A
 * seek resets the run.
 *
 * A block is copied out of the readahead buffer, so that pinning the block does not pin the buffer.
 *
 * Readahead never causes an error: if the large read fails or memory is short, the block is read
 * alone. For a mapped file readahead is only advice to the system (MADV_WILLNEED).
 */
#ifndef NAY_SST_IO_READAHEAD_H
#define NAY_SST_IO_READAHEAD_H

#include "base/buffer.h"
#include "io/table_file.h"

typedef struct nay_readahead {
  size_t max_window;   /* largest window in bytes; 0: no readahead */
  uint64_t last_end;   /* end offset of the previous block */
  uint32_t sequential; /* length of the sequential run in blocks, counted up to READAHEAD_AFTER */
  size_t window;       /* size of the last window; 0: none yet */
  uint64_t at;         /* start offset of the window, read or advised */
  uint64_t end;        /* end offset of the window */
  nay_buffer buffer;   /* contents of the window; unused for mapped files */
} nay_readahead;

/* nay_sst__readahead_take: copies the len bytes at `at` to dst if they are in the window, or after
 * reading a new window, which ends at most at `end`. False: the caller reads the block itself. */
bool nay_sst__readahead_take(nay_readahead *r, const nay_sst_file *file, uint64_t end, uint64_t at,
                             uint8_t *dst, size_t len, const nay_allocator *allocator);

/* nay_sst__readahead_advise: advises the system to load the window, for a mapped file of `end`
 * bytes. */
void nay_sst__readahead_advise(nay_readahead *r, const uint8_t *file, uint64_t end, uint64_t at,
                               size_t len);

#endif /* NAY_SST_IO_READAHEAD_H */
