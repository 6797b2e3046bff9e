/* block.h - the block of a hash. */
#ifndef NAY_BLOCK_H
#define NAY_BLOCK_H

#include "base/bits.h"
#include "cpu/kernels.h"

NAY_INLINE uint8_t *nay__block_of(const nay_bits *b, uint64_t hash) {
  return b->bytes + nay__reduce(hash, b->nunits) * NAY_BLOCK_BYTES;
}

#endif /* NAY_BLOCK_H */
