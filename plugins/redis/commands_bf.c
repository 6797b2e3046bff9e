/* commands_bf.c - BF.*: RedisBloom's commands on chained Bloom filters. */
#include "commands_bf.h"

static void bf_info(redis_info *info) { memory_info(info, "bloom", &bf_memory); }

const module_part bf_part = {.acl_category = "bloom",
                             .type_name = "MBbloom--",
                             .encver = 4,
                             .methods = &bf_methods,
                             .type = &bf_type,
                             .info = bf_info};
