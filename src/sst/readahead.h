/*
 * readahead.h - larger reads for an iterator that walks forward.
 *
 *   block      | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | ...
 *   reads      |---|---|-----------|---------------------- ...
 *                       16 KiB      32 KiB, then 64 KiB, up to `most`
 *
 * The third block in a row starts it, so that a seek and a look at what follows read no more than
 * their blocks; whoever seeks sets `run` to 0. In a row is a block behind the last one: filter
 * partitions lie between data blocks, and some blocks are found in the cache. A block
 * is copied out of the buffer to where it would have been read to, so that whoever pins it does not
 * pin the buffer.
 *
 * Readahead is never the reason for an error: if the large read fails, or there is no memory for
 * it, the block is read alone. In a mapped file it is advice to the system (MADV_WILLNEED).
 */
#ifndef NAY_SST_READAHEAD_H
#define NAY_SST_READAHEAD_H

#include "base/buffer.h"
#include "sst/sst_io.h"

typedef struct nay_readahead {
  size_t most;       /* bytes at a time; 0: none */
  uint64_t next;     /* end of the last block */
  uint32_t run;      /* blocks in a row */
  size_t window;     /* of the last large read; 0: none yet */
  uint64_t at;       /* where the buffer, or what was advised, starts */
  uint64_t end;      /* and ends */
  nay_buffer buffer; /* not for mapped files */
} nay_readahead;

/* nay__readahead_take: copies the len bytes at `at` to dst, if they are in the buffer or can be
 * read with those behind them, up to `end`. False: the caller reads them. */
bool nay__readahead_take(nay_readahead *r, const nay_sst_file *file, uint64_t end, uint64_t at,
                         uint8_t *dst, size_t len, const nay_allocator *allocator);

/* nay__readahead_advise: the same for a mapped file, which has `end` bytes. */
void nay__readahead_advise(nay_readahead *r, const uint8_t *file, uint64_t end, uint64_t at,
                           size_t len);

#endif /* NAY_SST_READAHEAD_H */
