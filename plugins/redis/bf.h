/* bf.h - what the files of BF.* share: the data type, helpers, the commands themselves. */
#ifndef NAY_REDIS_BF_H
#define NAY_REDIS_BF_H

#include "module.h"

/* Set when the type MBbloom-- is registered. Its values are nay_sbchain. */
extern redis_type *bf_type;
extern redis_type_methods bf_methods;

/* bf_memory: memory and number of all values of the type. */
extern memory_use bf_memory;

/* Dumps and rewritten AOF files have chunks of at most 16 MiB, as RedisBloom's. */
enum { BF_CHUNK = 16 << 20 };

/* bf_size: the memory of a filter as RedisBloom reports it: 32 bytes, 64 per link, the arrays. */
size_t bf_size(const void *value);

/* bf_header: the header of a dump; free it with redis.Free. NULL: out of memory. */
void *bf_header(const nay_sbchain *chain, size_t *len);

/* bf_gather: pointers to and lengths of the first NAY_SB_BATCH of n items; returns how many. */
size_t bf_gather(redis_string **items, size_t n, const void **bytes, size_t *lens);

/* bf_need: opens a filter to read it: see key_need. */
void *bf_need(redis_ctx *ctx, redis_string *name, module_key *key);

/* The commands. */
int bf_reserve(redis_ctx *ctx, redis_string **argv, int argc);
int bf_add(redis_ctx *ctx, redis_string **argv, int argc);
int bf_madd(redis_ctx *ctx, redis_string **argv, int argc);
int bf_insert(redis_ctx *ctx, redis_string **argv, int argc);
int bf_exists(redis_ctx *ctx, redis_string **argv, int argc);
int bf_mexists(redis_ctx *ctx, redis_string **argv, int argc);
int bf_info(redis_ctx *ctx, redis_string **argv, int argc);
int bf_card(redis_ctx *ctx, redis_string **argv, int argc);
int bf_debug(redis_ctx *ctx, redis_string **argv, int argc);
int bf_scandump(redis_ctx *ctx, redis_string **argv, int argc);
int bf_loadchunk(redis_ctx *ctx, redis_string **argv, int argc);

#endif /* NAY_REDIS_BF_H */
