/* overflow.h - how many groups of a counting filter outgrow their word. */
#ifndef NAY_OVERFLOW_H
#define NAY_OVERFLOW_H

#include "base/base.h"

/*
 * nay__overflow_records: room for the groups of 64 bits, among those of page_blocks blocks, whose
 * counters sum to more than 64, when n keys of k bits each are spread over nblocks blocks. Six
 * standard deviations above the mean: a page in about 10^8 is too full.
 */
uint32_t nay__overflow_records(uint64_t page_blocks, uint64_t nblocks, uint32_t k, uint64_t n);

#endif /* NAY_OVERFLOW_H */
