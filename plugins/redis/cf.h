/* cf.h - what the files of CF.* share: the data type, helpers, the commands themselves. */
#ifndef NAY_REDIS_CF_H
#define NAY_REDIS_CF_H

#include "module.h"

/* Set when the type MBbloomCF is registered. */
extern redis_type *cf_type;
extern redis_type_methods cf_methods;

/* cf_memory: memory and number of all values of the type. */
extern memory_use cf_memory;

/* cf_size: the memory of a filter as RedisBloom reports it. */
size_t cf_size(const void *value);

/* cf_new: nay__cfchain_new with the server's allocator; NULL when out of memory. */
nay_cfchain *cf_new(const nay_cfchain_header *header);

/* Items of one batch: hashed, prefetched, then probed or added. */
enum { CF_BATCH = 64 };

uint64_t cf_hash(const redis_string *item);

/* cf_open, cf_open_write: key_open for reading, and for reading and writing. */
key_state cf_open(redis_ctx *ctx, redis_string *name, module_key *key);
key_state cf_open_write(redis_ctx *ctx, redis_string *name, module_key *key);

/* cf_create: a new filter in an empty key. NULL: out of memory, nothing has changed. */
nay_cfchain *cf_create(module_key *key, const nay_cfchain_header *header);

/* The commands. */
int cf_reserve(redis_ctx *ctx, redis_string **argv, int argc);
int cf_add(redis_ctx *ctx, redis_string **argv, int argc);
int cf_addnx(redis_ctx *ctx, redis_string **argv, int argc);
int cf_insert(redis_ctx *ctx, redis_string **argv, int argc);
int cf_insertnx(redis_ctx *ctx, redis_string **argv, int argc);
int cf_exists(redis_ctx *ctx, redis_string **argv, int argc);
int cf_mexists(redis_ctx *ctx, redis_string **argv, int argc);
int cf_count(redis_ctx *ctx, redis_string **argv, int argc);
int cf_del(redis_ctx *ctx, redis_string **argv, int argc);
int cf_compact(redis_ctx *ctx, redis_string **argv, int argc);
int cf_scandump(redis_ctx *ctx, redis_string **argv, int argc);
int cf_loadchunk(redis_ctx *ctx, redis_string **argv, int argc);
int cf_info(redis_ctx *ctx, redis_string **argv, int argc);
int cf_debug(redis_ctx *ctx, redis_string **argv, int argc);

#endif /* NAY_REDIS_CF_H */
