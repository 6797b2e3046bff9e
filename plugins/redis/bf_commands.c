/*
 * bf_commands.c - BF.*: the table of RedisBloom's commands on chained Bloom filters.
 *
 * bf_write.c creates filters and adds items, bf_read.c probes and describes them, bf_dump.c dumps
 * and restores them, bf_type.c is the data type: RDB, AOF, memory.
 *
 * Grammar, replies and errors are RedisBloom's, including its quirks: BF.RESERVE ignores unknown
 * arguments, BF.INSERT compares first letters only, BF.EXISTS answers 0 for a key of another type.
 * README.md lists the differences, on which no client can depend: replicas receive the parameters
 * of a new filter and only the items that changed it, and keyspace events are sent.
 */
#include "bf.h"
#include "reply.h"

size_t bf_gather(redis_string **items, size_t n, const void **bytes, size_t *lens) {
  if (n > NAY_SB_BATCH) n = NAY_SB_BATCH;
  for (size_t i = 0; i < n; i++) bytes[i] = redis.StringPtrLen(items[i], &lens[i]);
  return n;
}

void *bf_need(redis_ctx *ctx, redis_string *name, module_key *key) {
  return key_need(ctx, key_open(ctx, name, REDIS_READ, bf_type, key), key);
}

/* ---- the table ---- */

static redis_arg args_reserve[] = {ARG_KEY,
                                   ARG("error_rate", REDIS_ARG_DOUBLE),
                                   ARG("capacity", REDIS_ARG_INTEGER),
                                   ARG_OPTION("expansion", REDIS_ARG_INTEGER, "EXPANSION"),
                                   ARG_OPTION("nonscaling", REDIS_ARG_PURE_TOKEN, "NONSCALING"),
                                   ARG_END};
static redis_arg args_insert[] = {ARG_KEY,
                                  ARG_OPTION("capacity", REDIS_ARG_INTEGER, "CAPACITY"),
                                  ARG_OPTION("error", REDIS_ARG_DOUBLE, "ERROR"),
                                  ARG_OPTION("expansion", REDIS_ARG_INTEGER, "EXPANSION"),
                                  ARG_OPTION("nocreate", REDIS_ARG_PURE_TOKEN, "NOCREATE"),
                                  ARG_OPTION("nonscaling", REDIS_ARG_PURE_TOKEN, "NONSCALING"),
                                  {.name = "items",
                                   .type = REDIS_ARG_STRING,
                                   .key_spec_index = -1,
                                   .token = "ITEMS",
                                   .flags = REDIS_ARG_MULTIPLE},
                                  ARG_END};
static redis_arg info_fields[] = {ARG_TOKEN("capacity", "CAPACITY"),   ARG_TOKEN("size", "SIZE"),
                                  ARG_TOKEN("filters", "FILTERS"),     ARG_TOKEN("items", "ITEMS"),
                                  ARG_TOKEN("expansion", "EXPANSION"), ARG_END};
static redis_arg args_info[] = {ARG_KEY,
                                {.name = "single_value",
                                 .type = REDIS_ARG_ONEOF,
                                 .key_spec_index = -1,
                                 .flags = REDIS_ARG_OPTIONAL,
                                 .subargs = info_fields},
                                ARG_END};

#define PER_ITEM "O(k) where k is the number of hash functions"
#define PER_CHUNK "O(n) where n is the number of bytes of the chunk"
#define PER_ITEMS "O(k * n) where k is the number of hash functions and n the number of items"

static const module_command commands[] = {
    {"bf.reserve", bf_reserve, WRITE_FLAGS, "write fast bloom", -4, KEYS_INSERT, "1.0.0", "O(1)",
     "Creates an empty Bloom filter", NULL, args_reserve},
    {"bf.add", bf_add, WRITE_FLAGS, "write bloom", 3, KEYS_INSERT, "1.0.0", PER_ITEM,
     "Adds an item to a Bloom filter, which is created if it does not exist", NULL, args_item},
    {"bf.madd", bf_madd, WRITE_FLAGS, "write bloom", -3, KEYS_INSERT, "1.0.0", PER_ITEMS,
     "Adds items to a Bloom filter, which is created if it does not exist", NULL, args_items},
    {"bf.insert", bf_insert, WRITE_FLAGS, "write bloom", -4, KEYS_INSERT, "1.0.0", PER_ITEMS,
     "Adds items to a Bloom filter, which is created with the given parameters", NULL, args_insert},
    {"bf.exists", bf_exists, READ_FLAGS, "read bloom", 3, KEYS_READ, "1.0.0", PER_ITEM,
     "Checks whether an item may be in a Bloom filter; 0 is certain", NULL, args_item},
    {"bf.mexists", bf_mexists, READ_FLAGS, "read bloom", -3, KEYS_READ, "1.0.0", PER_ITEMS,
     "Checks which items may be in a Bloom filter; 0 is certain", NULL, args_items},
    {"bf.info", bf_info, READ_FLAGS, "read fast bloom", -2, KEYS_READ, "1.0.0", "O(1)",
     "Returns the capacity, size, links, items and expansion of a Bloom filter", "dont_cache",
     args_info},
    {"bf.card", bf_card, READ_FLAGS, "read fast bloom", 2, KEYS_READ, "2.4.4", "O(1)",
     "Returns the number of items that were new when they were added to a Bloom filter", NULL,
     args_key},
    {"bf.debug", bf_debug, READ_FLAGS, "read bloom", 2, KEYS_READ, "1.0.0",
     "O(n) where n is the number of links",
     "Returns the parameters of every link of a Bloom filter", "dont_cache", args_key},
    {"bf.scandump", bf_scandump, READ_FLAGS, "read bloom", 3, KEYS_DUMP, "1.0.0", PER_CHUNK,
     "Starts or continues a dump of a Bloom filter", "dont_cache", args_scandump},
    {"bf.loadchunk", bf_loadchunk, WRITE_FLAGS, "write bloom", 4, KEYS_UPDATE, "1.0.0", PER_CHUNK,
     "Restores a Bloom filter from the chunks of BF.SCANDUMP", NULL, args_loadchunk},
};

static void bf_server_info(redis_info *info) { memory_info(info, "bloom", &bf_memory); }

const module_part bf_part = {.acl_category = "bloom",
                             .commands = commands,
                             .ncommands = sizeof commands / sizeof commands[0],
                             .type_name = "MBbloom--",
                             .encver = 4,
                             .methods = &bf_methods,
                             .type = &bf_type,
                             .info = bf_server_info};
