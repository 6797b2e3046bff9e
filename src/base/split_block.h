/*
 * split_block.h - the split-block Bloom filter: where the bits of a hash are, and the header that
 * Parquet puts before the blocks. The family, the format and the reader of Parquet files share it.
 */
#ifndef NAY_SPLIT_BLOCK_H
#define NAY_SPLIT_BLOCK_H

#include "base/base.h"
#include "base/compiler.h"

#define NAY_SBBF_BYTES 32u /* of a block */
#define NAY_SBBF_BITS 256u
#define NAY_SBBF_WORDS 8u /* of 32 bits, little-endian; a key has a bit in each */

static const uint32_t nay__sbbf_salt[NAY_SBBF_WORDS] = {
    0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};

NAY_INLINE uint64_t nay__sbbf_block(uint64_t hash, uint64_t nblocks) {
  return (hash >> 32) * nblocks >> 32;
}

NAY_INLINE uint32_t nay__sbbf_bit(uint64_t hash, unsigned word) {
  return (uint32_t)hash * nay__sbbf_salt[word] >> 27;
}

/*
 * nay__sbbf_header: BloomFilterHeader at the start of len bytes. Sets *header to its length and
 * *nbytes to that of the blocks after it, which may be more than there is. NAY_ENOTSUP: another
 * algorithm, hash or compression; NAY_ECORRUPT. *what says why, *at where.
 */
nay_status nay__sbbf_header(const uint8_t *bytes, size_t len, size_t *header, uint64_t *nbytes,
                            const char **what, size_t *at);

#endif /* NAY_SPLIT_BLOCK_H */
