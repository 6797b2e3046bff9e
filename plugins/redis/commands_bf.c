/*
 * commands_bf.c - BF.*: RedisBloom's commands on chained Bloom filters.
 *
 * Grammar, replies and errors are RedisBloom's, down to its oddities: BF.RESERVE passes over words
 * it does not know, BF.INSERT looks at first letters only, BF.EXISTS answers 0 for a key of another
 * type. What differs is what nobody can rely on (README.md has the list): replicas get the
 * parameters of a new filter and only those items that changed something, listeners get events.
 */
#include "commands_bf.h"

#include <stdio.h>

#include "reply.h"

/* ---- BF.EXISTS, BF.MEXISTS ---- */

size_t bf_gather(redis_string **items, size_t n, const void **bytes, size_t *lens) {
  if (n > NAY_SB_BATCH) n = NAY_SB_BATCH;
  for (size_t i = 0; i < n; i++) bytes[i] = redis.StringPtrLen(items[i], &lens[i]);
  return n;
}

static int bf_exists(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc != 3) return redis.WrongArity(ctx);
  module_key key;
  bool is_there = false;
  if (key_open(ctx, argv[1], REDIS_READ, bf_type, &key) == KEY_OURS) {
    size_t len;
    const char *item = redis.StringPtrLen(argv[2], &len);
    is_there = nay_sbchain_may_contain(key.value, item, len);
  }
  key_close(&key);
  return redis.ReplyWithBool(ctx, is_there);
}

static int bf_mexists(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc < 3) return redis.WrongArity(ctx);
  module_key key;
  bool is_ours = key_open(ctx, argv[1], REDIS_READ, bf_type, &key) == KEY_OURS;
  size_t n = (size_t)argc - 2, batch;
  redis.ReplyWithArray(ctx, (long)n);
  for (size_t from = 0; from < n; from += batch) {
    const void *bytes[NAY_SB_BATCH];
    size_t lens[NAY_SB_BATCH];
    uint64_t answers = 0;
    batch = bf_gather(argv + 2 + from, n - from, bytes, lens);
    if (is_ours) nay_sbchain_may_contain_many(key.value, bytes, lens, batch, &answers);
    for (size_t i = 0; i < batch; i++) redis.ReplyWithBool(ctx, answers >> i & 1);
  }
  key_close(&key);
  return REDIS_OK;
}

/* ---- BF.INFO, BF.CARD, BF.DEBUG ---- */

/* Opens a filter to read it; false: the client has got the error, and nothing is open. */
static bool bf_open_to_read(redis_ctx *ctx, redis_string *name, module_key *key) {
  key_state state = key_open(ctx, name, REDIS_READ, bf_type, key);
  if (state == KEY_OURS) return true;
  key_close(key);
  reply_error(ctx, state == KEY_OTHER ? ERROR_WRONGTYPE : ERROR_NOT_FOUND);
  return false;
}

enum { BF_INFO_EXPANSION = 4, BF_INFO_FIELDS = 5 };
static const char *const bf_info_words[] = {"CAPACITY", "SIZE", "FILTERS", "ITEMS", "EXPANSION"};
static const char *const bf_info_names[] = {"Capacity", "Size", "Number of filters",
                                            "Number of items inserted", "Expansion rate"};

static void bf_reply_info(redis_ctx *ctx, const nay_sbchain *chain, int field, bool with_name) {
  nay_sbstats stats;
  nay_sbchain_stats(chain, &stats);
  const uint64_t values[] = {stats.capacity, bf_size(chain), stats.nlinks, stats.size,
                             stats.growth};
  if (with_name) redis.ReplyWithSimpleString(ctx, bf_info_names[field]);
  if (field == BF_INFO_EXPANSION && (stats.options & NAY_SB_NO_SCALING)) {
    redis.ReplyWithNull(ctx);
  } else {
    redis.ReplyWithLongLong(ctx, (long long)values[field]);
  }
}

/* One field: RESP3 has it with its name, RESP2 alone. */
static void bf_reply_one_info(redis_ctx *ctx, const nay_sbchain *chain, const redis_string *word) {
  int field = 0;
  while (field < BF_INFO_FIELDS && !word_is(word, bf_info_words[field])) field++;
  if (field == BF_INFO_FIELDS) {
    reply_error(ctx, "Invalid information value");
    return;
  }
  bool with_name = reply_is_resp3(ctx);
  if (with_name) {
    redis.ReplyWithMap(ctx, 1);
  } else {
    redis.ReplyWithArray(ctx, 1);
  }
  bf_reply_info(ctx, chain, field, with_name);
}

static int bf_info(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc != 2 && argc != 3) return redis.WrongArity(ctx);
  module_key key;
  if (!bf_open_to_read(ctx, argv[1], &key)) return REDIS_OK;
  if (argc == 3) {
    bf_reply_one_info(ctx, key.value, argv[2]);
  } else {
    redis.ReplyWithMap(ctx, BF_INFO_FIELDS);
    for (int i = 0; i < BF_INFO_FIELDS; i++) bf_reply_info(ctx, key.value, i, true);
  }
  key_close(&key);
  return REDIS_OK;
}

static int bf_card(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc != 2) return redis.WrongArity(ctx);
  module_key key;
  nay_sbstats stats = {.size = 0};
  key_state state = key_open(ctx, argv[1], REDIS_READ, bf_type, &key);
  if (state == KEY_OURS) nay_sbchain_stats(key.value, &stats);
  key_close(&key);
  if (state == KEY_OTHER) return reply_error(ctx, ERROR_WRONGTYPE);
  return redis.ReplyWithLongLong(ctx, (long long)stats.size);
}

static void bf_reply_link(redis_ctx *ctx, const nay_sblink *link, uint32_t options) {
  char text[256];
  int len =
      snprintf(text, sizeof text,
               "bytes:%llu bits:%llu hashes:%u hashwidth:%d capacity:%llu size:%llu ratio:%g",
               (unsigned long long)link->nbytes, (unsigned long long)link->nbits, link->hashes,
               options & NAY_SB_HASH64 ? 64 : 32, (unsigned long long)link->entries,
               (unsigned long long)link->size, link->error);
  redis.ReplyWithStringBuffer(ctx, text, (size_t)len);
}

static int bf_debug(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc != 2) return redis.WrongArity(ctx);
  module_key key;
  if (!bf_open_to_read(ctx, argv[1], &key)) return REDIS_OK;
  nay_sbstats stats;
  nay_sbchain_stats(key.value, &stats);
  redis.ReplyWithArray(ctx, 1 + (long)stats.nlinks);
  char text[32];
  int len = snprintf(text, sizeof text, "size:%llu", (unsigned long long)stats.size);
  redis.ReplyWithStringBuffer(ctx, text, (size_t)len);
  nay_sblink link;
  for (uint64_t i = 0; nay_sbchain_link(key.value, i, &link) == NAY_OK; i++) {
    bf_reply_link(ctx, &link, stats.options);
  }
  key_close(&key);
  return REDIS_OK;
}

/* ---- BF.SCANDUMP, BF.LOADCHUNK ---- */

/* Iterator 0 asks for the header, i > 0 for the bytes from i - 1 on; 0 and no bytes is the end. */
static void bf_reply_dump(redis_ctx *ctx, const nay_sbchain *chain, long long iterator) {
  size_t len = 0;
  const uint8_t *bytes = NULL;
  if (iterator == 0) {
    void *header = bf_header(chain, &len);
    if (header == NULL) {
      reply_error(ctx, ERROR_NO_MEMORY);
      return;
    }
    reply_chunk(ctx, 1, header, len);
    redis.Free(header);
  } else if (iterator > 0 &&
             nay_sbchain_chunk(chain, (uint64_t)iterator - 1, BF_CHUNK, &bytes, &len)) {
    reply_chunk(ctx, iterator + (long long)len, bytes, len);
  } else {
    reply_chunk(ctx, 0, "", 0);
  }
}

static int bf_scandump(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc != 3) return redis.WrongArity(ctx);
  module_key key;
  if (!bf_open_to_read(ctx, argv[1], &key)) return REDIS_OK;
  long long iterator;
  if (redis.StringToLongLong(argv[2], &iterator) != REDIS_OK) {
    reply_error(ctx, "Second argument must be numeric");
  } else {
    bf_reply_dump(ctx, key.value, iterator);
  }
  key_close(&key);
  return REDIS_OK;
}

/* NULL, or the error that the client gets. */
static const char *bf_load_header(module_key *key, const char *bytes, size_t len) {
  nay_zallocator allocator = memory_zallocator(&bf_memory);
  nay_sbchain *chain;
  nay_status status = nay_sbchain_decode_header(bytes, len, &allocator, NULL, &chain);
  if (status == NAY_ENOMEM) return memory_error(ERROR_NO_MEMORY);
  if (status != NAY_OK) return "ERR received bad data";
  memory_value_made(&bf_memory);
  redis.ModuleTypeSetValue(key->handle, bf_type, chain);
  return NULL;
}

/* The iterator of a chunk is that of the dump's answer: it points behind the chunk. */
static const char *bf_load_chunk(module_key *key, long long iterator, const char *bytes,
                                 size_t len) {
  if (iterator <= 0 || (uint64_t)iterator < len) return "ERR received bad data";
  uint64_t behind = (uint64_t)iterator - len;
  nay_status status =
      behind == 0 ? NAY_EINVAL : nay_sbchain_load_chunk(key->value, behind - 1, bytes, len);
  if (status == NAY_EINVAL) return "ERR invalid offset - no link found";
  return status == NAY_OK ? NULL : "ERR invalid chunk - Too big for current filter";
}

static int bf_loadchunk(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc != 4) return redis.WrongArity(ctx);
  long long iterator;
  if (redis.StringToLongLong(argv[2], &iterator) != REDIS_OK) {
    return reply_error(ctx, "ERR Second argument must be numeric");
  }
  size_t len;
  const char *bytes = redis.StringPtrLen(argv[3], &len), *error = ERROR_NOT_FOUND;
  module_key key;
  key_state state = key_open(ctx, argv[1], REDIS_READ | REDIS_WRITE, bf_type, &key);
  if (state == KEY_OTHER) error = ERROR_WRONGTYPE;
  if (state == KEY_OURS) error = bf_load_chunk(&key, iterator, bytes, len);
  if (state == KEY_MISSING && iterator == 1) error = bf_load_header(&key, bytes, len);
  key_close(&key);
  if (error != NULL) return reply_error(ctx, error);
  redis.ReplicateVerbatim(ctx);
  key_event(ctx, "bloom.loadchunk", argv[1]);
  return reply_ok(ctx);
}

/* ---- the table ---- */

static redis_arg args_reserve[] = {ARG_KEY,
                                   ARG("error_rate", REDIS_ARG_DOUBLE),
                                   ARG("capacity", REDIS_ARG_INTEGER),
                                   ARG_OPTION("expansion", REDIS_ARG_INTEGER, "EXPANSION"),
                                   ARG_OPTION("nonscaling", REDIS_ARG_PURE_TOKEN, "NONSCALING"),
                                   ARG_END};
static redis_arg args_item[] = {ARG_KEY, ARG("item", REDIS_ARG_STRING), ARG_END};
static redis_arg args_items[] = {ARG_KEY, ARG_MANY("item", REDIS_ARG_STRING), ARG_END};
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
static redis_arg args_key[] = {ARG_KEY, ARG_END};
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
static redis_arg args_scandump[] = {ARG_KEY, ARG("iterator", REDIS_ARG_INTEGER), ARG_END};
static redis_arg args_loadchunk[] = {ARG_KEY, ARG("iterator", REDIS_ARG_INTEGER),
                                     ARG("data", REDIS_ARG_STRING), ARG_END};

#define PER_ITEM "O(k), k the number of bits that an item sets"
#define PER_CHUNK "O(n), n the bytes of the chunk"
#define PER_ITEMS "O(k * n), k the number of bits that an item sets, n the number of items"

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
     "Tells whether an item may be in a Bloom filter; no is certain", NULL, args_item},
    {"bf.mexists", bf_mexists, READ_FLAGS, "read bloom", -3, KEYS_READ, "1.0.0", PER_ITEMS,
     "Tells which items may be in a Bloom filter; no is certain", NULL, args_items},
    {"bf.info", bf_info, READ_FLAGS, "read fast bloom", -2, KEYS_READ, "1.0.0", "O(1)",
     "Tells about a Bloom filter: capacity, size, links, items, growth", "dont_cache", args_info},
    {"bf.card", bf_card, READ_FLAGS, "read fast bloom", 2, KEYS_READ, "2.4.4", "O(1)",
     "Tells how many items were new when they were added to a Bloom filter", NULL, args_key},
    {"bf.debug", bf_debug, READ_FLAGS, "read bloom", 2, KEYS_READ, "1.0.0", "O(n), n links",
     "Tells the shape of every link of a Bloom filter", "dont_cache", args_key},
    {"bf.scandump", bf_scandump, READ_FLAGS, "read bloom", 3, KEYS_DUMP, "1.0.0", PER_CHUNK,
     "Begins or continues a dump of a Bloom filter", "dont_cache", args_scandump},
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
