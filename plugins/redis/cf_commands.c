/*
 * cf_commands.c - CF.*: the table of RedisBloom's commands on cuckoo filters.
 *
 * cf_write.c creates filters, adds, removes and compacts; cf_read.c probes and describes them;
 * cf_dump.c dumps and restores them; cf_type.c is the data type: RDB, AOF, memory.
 *
 * Grammar, replies and errors are RedisBloom's, including its quirks, because clients depend on
 * them. Differences, and why:
 *   - a creation is replicated as CF.RESERVE with all parameters, so that a replica with other
 *     defaults creates the same filter; an add that changes nothing is not replicated;
 *   - a command from the master or from an AOF may exceed cf-max-expansions;
 *   - CF.COUNT counts a slot once; an empty filter can be dumped; CF.COMPACT is a write;
 *   - CF.SCANDUMP from the middle of a sub-filter stops at its end (RedisBloom reads past it);
 *   - CF.RESERVE looks for options only where options may stand: a key named BUCKETSIZE is a key,
 *     and an option without a value does not read past the arguments;
 *   - a command that fails changes nothing and creates no key.
 */
#include "cf.h"
#include "reply.h"

key_state cf_open(redis_ctx *ctx, redis_string *name, module_key *key) {
  return key_open(ctx, name, REDIS_READ, cf_type, key);
}

key_state cf_open_write(redis_ctx *ctx, redis_string *name, module_key *key) {
  return key_open(ctx, name, REDIS_READ | REDIS_WRITE, cf_type, key);
}

uint64_t cf_hash(const redis_string *item) {
  size_t len;
  const char *bytes = redis.StringPtrLen(item, &len);
  return nay__cfchain_hash(bytes, len);
}

nay_cfchain *cf_create(module_key *key, const nay_cfchain_header *header) {
  nay_cfchain *chain = cf_new(header);
  if (chain == NULL) return NULL;
  redis.ModuleTypeSetValue(key->handle, cf_type, chain);
  key->value = chain;
  return chain;
}

/* ---- the table ---- */

#define CF_BLOCK(arg_name, arg_token, arg_subargs)                                       \
  {                                                                                      \
    .name = arg_name, .type = REDIS_ARG_BLOCK, .key_spec_index = -1, .token = arg_token, \
    .flags = REDIS_ARG_OPTIONAL, .subargs = arg_subargs                                  \
  }
#define CF_TOKEN(arg_name, arg_token, arg_flags)                                              \
  {                                                                                           \
    .name = arg_name, .type = REDIS_ARG_PURE_TOKEN, .key_spec_index = -1, .token = arg_token, \
    .flags = arg_flags                                                                        \
  }

static redis_arg bucketsize_arg[] = {ARG("bucketsize", REDIS_ARG_INTEGER), ARG_END};
static redis_arg maxiterations_arg[] = {ARG("maxiterations", REDIS_ARG_INTEGER), ARG_END};
static redis_arg expansion_arg[] = {ARG("expansion", REDIS_ARG_INTEGER), ARG_END};
static redis_arg capacity_arg[] = {CF_TOKEN("capacity", "CAPACITY", 0),
                                   ARG("capacity", REDIS_ARG_INTEGER), ARG_END};

static redis_arg args_reserve[] = {ARG_KEY,
                                   ARG("capacity", REDIS_ARG_INTEGER),
                                   CF_BLOCK("bucketsize", "BUCKETSIZE", bucketsize_arg),
                                   CF_BLOCK("maxiterations", "MAXITERATIONS", maxiterations_arg),
                                   CF_BLOCK("expansion", "EXPANSION", expansion_arg),
                                   ARG_END};
static redis_arg args_insert[] = {ARG_KEY,
                                  CF_BLOCK("capacity", NULL, capacity_arg),
                                  CF_TOKEN("nocreate", "NOCREATE", REDIS_ARG_OPTIONAL),
                                  CF_TOKEN("items", "ITEMS", 0),
                                  ARG_MANY("item", REDIS_ARG_STRING),
                                  ARG_END};

#define O_ADD "O(f + m) for f sub-filters and MAXITERATIONS m"
#define O_INSERT "O(n * (f + m)) for n items, f sub-filters and MAXITERATIONS m"
#define O_TEST "O(f) for f sub-filters"
#define O_TESTS "O(f * n) for f sub-filters and n items"
#define O_DUMP "O(n) for a chunk of n bytes"

/* name, handler, flags, ACL, arity, keys, since, complexity, summary, tips, arguments */
static const module_command cf_commands[] = {
    {"cf.reserve", cf_reserve, WRITE_FLAGS, "write fast cuckoo", -3, KEYS_INSERT, "1.0.0", "O(1)",
     "Creates an empty cuckoo filter", NULL, args_reserve},
    {"cf.add", cf_add, WRITE_FLAGS, "write cuckoo", 3, KEYS_INSERT, "1.0.0", O_ADD,
     "Adds an item to a cuckoo filter, which is created if it does not exist", NULL, args_item},
    {"cf.addnx", cf_addnx, WRITE_FLAGS, "write cuckoo", 3, KEYS_INSERT, "1.0.0", O_ADD,
     "Adds an item to a cuckoo filter unless it may be present already", NULL, args_item},
    {"cf.insert", cf_insert, WRITE_FLAGS, "write cuckoo", -4, KEYS_INSERT, "1.0.0", O_INSERT,
     "Adds items to a cuckoo filter, which is created with the given capacity", NULL, args_insert},
    {"cf.insertnx", cf_insertnx, WRITE_FLAGS, "write cuckoo", -4, KEYS_INSERT, "1.0.0", O_INSERT,
     "Adds the items that are certainly absent to a cuckoo filter", NULL, args_insert},
    {"cf.exists", cf_exists, READ_FLAGS, "read cuckoo", 3, KEYS_READ, "1.0.0", O_TEST,
     "Checks whether an item may be in a cuckoo filter; 0 is certain", NULL, args_item},
    {"cf.mexists", cf_mexists, READ_FLAGS, "read cuckoo", -3, KEYS_READ, "1.0.0", O_TESTS,
     "Checks which items may be in a cuckoo filter; 0 is certain", NULL, args_items},
    {"cf.count", cf_count, READ_FLAGS, "read cuckoo", 3, KEYS_READ, "1.0.0", O_TEST,
     "Returns an upper bound of how often an item is in a cuckoo filter", NULL, args_item},
    {"cf.del", cf_del, "write fast", "write cuckoo", 3, KEYS_DELETE, "1.0.0", O_TEST,
     "Removes an item that was added to a cuckoo filter", NULL, args_item},
    {"cf.compact", cf_compact, "write fast", "write cuckoo", -1, KEYS_UPDATE, "1.0.0",
     "O(n) for n slots",
     "Moves items out of the newest sub-filters, and frees those that are empty", NULL, args_key},
    {"cf.scandump", cf_scandump, READ_FLAGS, "read cuckoo", 3, KEYS_DUMP, "1.0.0", O_DUMP,
     "Starts or continues a dump of a cuckoo filter", "dont_cache", args_scandump},
    {"cf.loadchunk", cf_loadchunk, WRITE_FLAGS, "write cuckoo", 4, KEYS_UPDATE, "1.0.0", O_DUMP,
     "Restores a cuckoo filter from the chunks of CF.SCANDUMP", NULL, args_loadchunk},
    {"cf.info", cf_info, READ_FLAGS, "read fast cuckoo", 2, KEYS_READ, "1.0.0", "O(1)",
     "Returns the size, buckets, items and parameters of a cuckoo filter", "dont_cache", args_key},
    {"cf.debug", cf_debug, READ_FLAGS, "read cuckoo", 2, KEYS_READ, "1.0.0", "O(1)",
     "Returns the parameters of a cuckoo filter in one line", "dont_cache", args_key},
};

static void cf_server_info(redis_info *info) { memory_info(info, "cuckoo", &cf_memory); }

const module_part cf_part = {.acl_category = "cuckoo",
                             .commands = cf_commands,
                             .ncommands = sizeof cf_commands / sizeof cf_commands[0],
                             .type_name = "MBbloomCF",
                             .encver = 4,
                             .methods = &cf_methods,
                             .type = &cf_type,
                             .info = cf_server_info};
