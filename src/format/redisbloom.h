/*
 * redisbloom.h - RedisBloom's two filters as families: chained Bloom (BF.*) and cuckoo (CF.*).
 *
 * The payload of both is the output of SCANDUMP, header and chunks concatenated:
 *
 *   bf   | size u64 | links u32 | options u32 | growth u32 | 53 bytes for each link | arrays |
 *   cf   | items u64 | buckets u64 | deletes u64 | filters u64 | bucketsize u16 |
 *        | maxiterations u16 | expansion u16 | slots |
 *
 * They are probed in place, by the code of the Redis module (src/redis). A Bloom
 * filter also takes adds, until its last link is full: a chain grows in Redis, not here. A cuckoo
 * filter is only read.
 */
#ifndef NAY_REDISBLOOM_H
#define NAY_REDISBLOOM_H

#include "family/family.h"

extern const nay_family nay__family_rb_bloom;
extern const nay_family nay__family_rb_cuckoo;

/* As nay_format.parse: the whole of the bytes is the payload. */
nay_status nay__rb_bloom_parse(const uint8_t *bytes, size_t len, nay_diag *diag, nay_shape *shape,
                               nay_span *payload);
nay_status nay__rb_cuckoo_parse(const uint8_t *bytes, size_t len, nay_diag *diag, nay_shape *shape,
                                nay_span *payload);

/* nay__rb_bloom_reserve: the shape of what BF.RESERVE would make. NAY_EINVAL. */
nay_status nay__rb_bloom_reserve(uint64_t nkeys, double fpr, nay_diag *diag, nay_shape *shape);

/* nay__rb_bloom_is_old: whether a chain of Bloom filters was made with the hash of before 2019. */
bool nay__rb_bloom_is_old(const uint8_t *payload);

#endif /* NAY_REDISBLOOM_H */
