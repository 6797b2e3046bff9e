/*
 * patterns.h - the constants that turn a hash into bits. They are part of the file format, so they
 * stand here once, for the kernels (src/cpu), the families (src/family) and the hash (src/hash).
 *
 *   bloom     probe i is bit reduce(h * G^i mod 2^64, nbits), G = NAY_G64
 *   blocked   block reduce(h, nblocks); probe i is bit (lo32(h) * g^i mod 2^32) >> 23 of its 512,
 *             g = NAY_G32; counting and RocksDB's FastLocalBloom use the same pattern
 *   scalable  the same in blocks of 256 bits, two of them in a cache line: >> 24; at a low FPR in
 *             blocks of 512, in two lines
 *   cuckoo    the alternate bucket depends on reduce(tag^2 * G mod 2^64, nbuckets); where the table
 *             can grow, also on the top bits of tag^2 * NAY_REMIX mod 2^64
 *   static    xor, fuse and ribbon remix the hash with NAY_REMIX (family/static_hash.h)
 *
 * where bit b of a byte array is bit b % 8 (least significant first) of byte b / 8.
 */
#ifndef NAY_PATTERNS_H
#define NAY_PATTERNS_H

#include <stdint.h>

#define NAY_G64 NAY_G64_POW_1
#define NAY_G32 NAY_G32_POW_1

/* ---- blocks ---- */

#define NAY_BLOCK_BITS 512u
#define NAY_BLOCK_BYTES 64u

/* The top 9 bits of a 32-bit product are the bit of a probe; the top bits of those its byte, its
 * 32-bit word and its 64-bit word. */
#define NAY_BLOCK_BIT_SHIFT 23
#define NAY_BLOCK_BYTE_SHIFT 26
#define NAY_BLOCK_WORD32_SHIFT 28
#define NAY_BLOCK_WORD64_SHIFT 29

/* ---- half blocks: two of them side by side in a cache line ---- */

#define NAY_HALF_BITS 256u
#define NAY_HALF_BYTES 32u
#define NAY_HALF_BYTES_LOG 5
#define NAY_HALF_BIT_SHIFT 24
#define NAY_HALF_WORD32_SHIFT 29

/* ---- powers: g^i mod 2^32 and G^i mod 2^64; tests/unit/test_kernels.c recomputes them ---- */

#define NAY_G32_POW_0 0x00000001u
#define NAY_G32_POW_1 0x9e3779b9u
#define NAY_G32_POW_2 0xe35e67b1u
#define NAY_G32_POW_3 0x734297e9u
#define NAY_G32_POW_4 0x35fbe861u
#define NAY_G32_POW_5 0xdeb7c719u
#define NAY_G32_POW_6 0x0448b211u
#define NAY_G32_POW_7 0x3459b749u
#define NAY_G32_POW_8 0xab25f4c1u
#define NAY_G32_POW_16 0x7fca7981u
#define NAY_G32_POWS_0_TO_7                                                                 \
  NAY_G32_POW_0, NAY_G32_POW_1, NAY_G32_POW_2, NAY_G32_POW_3, NAY_G32_POW_4, NAY_G32_POW_5, \
      NAY_G32_POW_6, NAY_G32_POW_7
#define NAY_G32_POWS_0_TO_15                                                              \
  NAY_G32_POWS_0_TO_7, NAY_G32_POW_8, 0x52941879u, 0x9c95e071u, 0xf5ab9aa9u, 0x2d6ba521u, \
      0x8bededd9u, 0x9bfb72d1u, 0x3ae1c209u

#define NAY_G64_POW_0 ((uint64_t)1)
#define NAY_G64_POW_1 0x9e3779b97f4a7c15u
#define NAY_G64_POW_2 0xdf442d22ce4859b9u
#define NAY_G64_POW_3 0x604a5ce3addef82du
#define NAY_G64_POW_4 0xd94363fc538227b1u
#define NAY_G64_POW_5 0x2e2b795f2d10fd85u
#define NAY_G64_POW_6 0x4be7956e30a337e9u
#define NAY_G64_POW_7 0x5ecb31e4ccd2721du
#define NAY_G64_POW_8 0x06d4b2611beb6861u
#define NAY_G64_POWS_0_TO_7                                                                 \
  NAY_G64_POW_0, NAY_G64_POW_1, NAY_G64_POW_2, NAY_G64_POW_3, NAY_G64_POW_4, NAY_G64_POW_5, \
      NAY_G64_POW_6, NAY_G64_POW_7
#define NAY_G64_INVERSE 0xf1de83e19937733du /* G * this = 1 mod 2^64 */

/* ---- static families ---- */

#define NAY_REMIX 0xd6e8feb86659fd93u       /* odd, 40 of 64 bits set */
#define NAY_FINGERPRINT 0xa0761d6478bd642fu /* odd; xor, fuse of four: the last slot */
#define NAY_RIBBON_ROW 0xe7037ed1a0b428dbu  /* odd, above 2^63: the coefficients of a row */

/* Bumped ribbon retrieval (family/burr.h): slots of a bucket, and how many of its first ones are
 * bumped, 16 bits for each code from 0 to 3. */
#define NAY_RIBBON_WIDTH 128u
#define NAY_RIBBON_BUCKET 512u
#define NAY_RIBBON_LIMITS 0x0200005800200000u

/* Static maps (family/map.h): the check bits of a hash are those of another mix. */
#define NAY_MAP_CHECK 0x8ebc6af09c88c6e3u

/* Exact lists (family/list.h): the exact level mixes hashes again; the seed of the second hash. */
#define NAY_LIST_EXACT 0x9c30d5392af26013u
#define NAY_LIST_SECOND 0xc5d1d6c8f4b0d2a7u

/* ---- cuckoo ---- */

#define NAY_CUCKOO_HEADER 64u /* bytes before the first bucket */

/* ---- XXH3 of 9 to 16 bytes: words of its default secret, xored, and the multiplier at the end */

#define NAY_XXH3_FIRST 0x6782737bea4239b9u
#define NAY_XXH3_LAST 0xaf56bc3b0996523au
#define NAY_XXH3_PRIME 0x165667919e3779f9u

#endif /* NAY_PATTERNS_H */
