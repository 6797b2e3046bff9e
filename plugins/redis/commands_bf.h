/* commands_bf.h - what the commands BF.* and their data type know of each other. */
#ifndef NAY_REDIS_COMMANDS_BF_H
#define NAY_REDIS_COMMANDS_BF_H

#include "module.h"

/* Set when the type MBbloom-- is registered. Its values are nay_sbchain. */
extern redis_type *bf_type;
extern redis_type_methods bf_methods;

/* bf_memory: what all values of the type hold. */
extern memory_use bf_memory;

/* Dumps and rewritten logs come in pieces of at most 16 MiB, as RedisBloom's. */
enum { BF_CHUNK = 16 << 20 };

/* bf_size: the memory of a filter as RedisBloom states it: 32 bytes, 64 for each link, the arrays.
 */
size_t bf_size(const void *value);

/* bf_header: the header of a dump; free it with redis.Free. NULL: no memory. */
void *bf_header(const nay_sbchain *chain, size_t *len);

/* bf_gather: bytes and lengths of at most NAY_SB_BATCH of n items; returns of how many. */
size_t bf_gather(redis_string **items, size_t n, const void **bytes, size_t *lens);

/* The commands of insert_bf.c. */
int bf_reserve(redis_ctx *ctx, redis_string **argv, int argc);
int bf_add(redis_ctx *ctx, redis_string **argv, int argc);
int bf_madd(redis_ctx *ctx, redis_string **argv, int argc);
int bf_insert(redis_ctx *ctx, redis_string **argv, int argc);

#endif /* NAY_REDIS_COMMANDS_BF_H */
