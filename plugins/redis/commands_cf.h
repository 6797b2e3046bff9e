/* commands_cf.h - what the commands CF.* and their data type know of each other. */
#ifndef NAY_REDIS_COMMANDS_CF_H
#define NAY_REDIS_COMMANDS_CF_H

#include <nay_redis_cuckoo.h>

#include "module.h"

/* Set when the type MBbloomCF is registered. */
extern redis_type *cf_type;
extern redis_type_methods cf_methods;

/* cf_memory: what all values of the type hold. */
extern memory_use cf_memory;

/* cf_size: the memory of a filter as RedisBloom states it. */
size_t cf_size(const void *value);

/* cf_new: nay_cfchain_new from the server's memory; NULL when there is none. */
nay_cfchain *cf_new(const nay_cfchain_header *header);

#endif /* NAY_REDIS_COMMANDS_CF_H */
