/*
 * commands_cf.c - CF.*: RedisBloom's commands on cuckoo filters.
 *
 * Grammar, replies and errors are RedisBloom's, the odd ones included: clients count on them. Where
 * it differs, and why:
 *   - a creation is replicated as CF.RESERVE with all of its numbers, so that a replica with other
 *     defaults makes the same filter; an add that changes nothing is not replicated;
 *   - a command from the master or from an AOF is obeyed beyond cf-max-expansions;
 *   - CF.COUNT counts a slot once; an empty filter can be dumped; CF.COMPACT is a write;
 *   - CF.SCANDUMP from the middle of a sub-filter stops at its end (RedisBloom reads on);
 *   - options of CF.RESERVE are words at their own places: a key called BUCKETSIZE is a key, and
 *     an option without a value is no reason to read beyond the arguments;
 *   - a command that fails leaves nothing behind, not even the key that it would have made.
 */
#include "commands_cf.h"

#include <stdio.h>

#include "reply.h"

#define ERROR_CAPACITY "Bad capacity"
#define ERROR_CREATE "ERR Could not create filter"
#define ERROR_FULL "Filter is full"
#define ERROR_GROW "ERR Insufficient memory"
#define ERROR_LONG "Maximum expansions reached"
#define ERROR_POSITION "Invalid position"

enum { BATCH = 64 }; /* items that are hashed, then fetched, then used */

static key_state cf_open(redis_ctx *ctx, redis_string *name, module_key *key) {
  return key_open(ctx, name, REDIS_READ, cf_type, key);
}

static key_state cf_open_write(redis_ctx *ctx, redis_string *name, module_key *key) {
  return key_open(ctx, name, REDIS_READ | REDIS_WRITE, cf_type, key);
}

static int cf_close_error(redis_ctx *ctx, module_key *key, const char *text) {
  key_close(key);
  return reply_error(ctx, text);
}

/* For commands that need a filter: closes the key and replies, or returns the filter. */
static nay_cfchain *cf_need(redis_ctx *ctx, key_state state, module_key *key) {
  if (state == KEY_OURS) return key->value;
  cf_close_error(ctx, key, state == KEY_MISSING ? ERROR_NOT_FOUND : ERROR_WRONGTYPE);
  return NULL;
}

static uint64_t cf_hash(const redis_string *item) {
  size_t len;
  const char *bytes = redis.StringPtrLen(item, &len);
  return nay_cfchain_hash(bytes, len);
}

/* ---- making filters ---- */

/* A value under a key that has none. NULL: no memory, nothing has changed. */
static nay_cfchain *cf_create(module_key *key, const nay_cfchain_header *header) {
  nay_cfchain *chain = cf_new(header);
  if (chain == NULL) return NULL;
  redis.ModuleTypeSetValue(key->handle, cf_type, chain);
  key->value = chain;
  return chain;
}

static void cf_replicate_reserve(redis_ctx *ctx, redis_string *name, long long capacity,
                                 const nay_cfchain_header *h) {
  redis.Replicate(ctx, "CF.RESERVE", "slclclcl", name, capacity, "BUCKETSIZE",
                  (long long)h->bucket_size, "MAXITERATIONS", (long long)h->max_iterations,
                  "EXPANSION", (long long)h->expansion);
  key_event(ctx, "cuckoo.reserve", name);
}

/*
 * One option of CF.RESERVE: the first pair that starts with its name counts, pairs that nobody
 * knows are ignored. NULL, or why the value will not do.
 */
static const char *cf_reserve_option(redis_string **argv, int argc, const char *name, long long min,
                                     long long max, long long *value) {
  static char text[96]; /* commands run one at a time */
  for (int i = 3; i + 1 < argc; i += 2) {
    if (!word_is(argv[i], name)) continue;
    if (redis.StringToLongLong(argv[i + 1], value) != REDIS_OK) {
      snprintf(text, sizeof text, "Couldn't parse %s", name);
      return text;
    }
    if (*value >= min && *value <= max) return NULL;
    snprintf(text, sizeof text, "%s: value must be in the range [%lld, %lld]", name, min, max);
    return text;
  }
  return NULL;
}

/* Numbers of a new filter; NULL, or what is wrong with them. */
static const char *cf_reserve_parse(redis_string **argv, int argc, long long *capacity,
                                    nay_cfchain_header *header) {
  long long bucket = settings.cf_bucket_size, iterations = settings.cf_max_iterations,
            expansion = settings.cf_expansion_factor;
  if (redis.StringToLongLong(argv[2], capacity) != REDIS_OK) return ERROR_CAPACITY;
  const char *wrong = cf_reserve_option(argv, argc, "MAXITERATIONS", 1, 65535, &iterations);
  if (wrong == NULL) wrong = cf_reserve_option(argv, argc, "BUCKETSIZE", 1, 255, &bucket);
  if (wrong == NULL) {
    wrong = cf_reserve_option(argv, argc, "EXPANSION", 0, MAX_EXPANSION, &expansion);
  }
  if (wrong != NULL) return wrong;
  if (*capacity < 2 * bucket || *capacity > MAX_CAPACITY) {
    return "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]";
  }
  nay_status status = nay_cfchain_plan((uint64_t)*capacity, (uint32_t)bucket, (uint32_t)iterations,
                                       (uint32_t)expansion, header);
  return status == NAY_OK ? NULL : ERROR_CREATE;
}

/* CF.RESERVE key capacity [BUCKETSIZE n] [MAXITERATIONS n] [EXPANSION n] */
static int cf_reserve(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc < 3 || argc % 2 == 0) return redis.WrongArity(ctx);
  long long capacity;
  nay_cfchain_header header;
  const char *wrong = cf_reserve_parse(argv, argc, &capacity, &header);
  if (wrong != NULL) return reply_error(ctx, wrong);
  module_key key;
  key_state state = cf_open_write(ctx, argv[1], &key);
  if (state != KEY_MISSING) {
    return cf_close_error(ctx, &key, state == KEY_OURS ? ERROR_EXISTS : ERROR_WRONGTYPE);
  }
  if (cf_create(&key, &header) == NULL) {
    return cf_close_error(ctx, &key, memory_error(ERROR_CREATE));
  }
  key_close(&key);
  cf_replicate_reserve(ctx, argv[1], capacity, &header);
  return reply_ok(ctx);
}

/* ---- adding ---- */

typedef struct cf_insertion {
  bool is_nx;     /* only items that test nay */
  bool is_many;   /* CF.INSERT, CF.INSERTNX: failures are elements of the reply */
  bool no_create; /* the key must be there */
  long long capacity;
  redis_string **items;
  int nitems;
} cf_insertion;

/* What became of one item. */
static nay_status cf_insert_one(nay_cfchain *chain, const cf_insertion *in, uint64_t hash) {
  if (in->is_nx && nay_cfchain_has(chain, hash)) return NAY_ENOENT; /* nothing to do */
  return nay_cfchain_add(chain, hash);
}

static void cf_reply_insert(redis_ctx *ctx, const cf_insertion *in, nay_status status,
                            bool is_resp3) {
  if (!in->is_many) {
    if (status == NAY_EFULL || status == NAY_ENOMEM) {
      reply_error(ctx, status == NAY_EFULL ? ERROR_FULL : memory_error(ERROR_GROW));
    } else {
      redis.ReplyWithBool(ctx, status == NAY_OK);
    }
  } else if (in->is_nx) {
    redis.ReplyWithLongLong(ctx, status == NAY_OK ? 1 : status == NAY_ENOENT ? 0 : -1);
  } else if (is_resp3) {
    redis.ReplyWithBool(ctx, status == NAY_OK);
  } else {
    redis.ReplyWithLongLong(ctx, status == NAY_OK ? 1 : -1);
  }
}

/*
 * Inserts the items and replies for each. Memory that runs out ends it: the items after that one
 * are refused as it was, so that those before it, *ntaken of them, are what replicas must repeat.
 * Returns how many changed something.
 */
static int cf_insert_items(redis_ctx *ctx, nay_cfchain *chain, const cf_insertion *in,
                           int *ntaken) {
  bool is_resp3 = reply_is_resp3(ctx);
  uint64_t hashes[BATCH];
  int ninserted = 0;
  nay_status status = NAY_OK;
  *ntaken = 0;
  if (in->is_many) redis.ReplyWithArray(ctx, in->nitems);
  for (int start = 0; start < in->nitems; start += BATCH) {
    int n = in->nitems - start < BATCH ? in->nitems - start : BATCH;
    for (int i = 0; i < n; i++) hashes[i] = cf_hash(in->items[start + i]);
    if (n > 1) nay_cfchain_prefetch(chain, hashes, (size_t)n, in->is_nx);
    for (int i = 0; i < n; i++) {
      if (status != NAY_ENOMEM) status = cf_insert_one(chain, in, hashes[i]);
      if (status != NAY_ENOMEM) ++*ntaken;
      ninserted += status == NAY_OK;
      cf_reply_insert(ctx, in, status, is_resp3);
    }
  }
  return ninserted;
}

static void cf_replicate_insert(redis_ctx *ctx, redis_string *name, const cf_insertion *in,
                                int ntaken) {
  if (ntaken == in->nitems) {
    redis.ReplicateVerbatim(ctx);
  } else {
    redis.Replicate(ctx, in->is_nx ? "CF.INSERTNX" : "CF.INSERT", "scv", name, "ITEMS", in->items,
                    (size_t)ntaken);
  }
  key_event(ctx, "cuckoo.add", name);
}

static bool cf_is_too_long(redis_ctx *ctx, uint64_t nfilters) {
  return nfilters >= (uint64_t)settings.cf_max_expansions && !must_obey(ctx);
}

/* The filter of an insertion into a key that is not there; NULL: replied. */
static nay_cfchain *cf_insert_create(redis_ctx *ctx, redis_string *name, const cf_insertion *in,
                                     module_key *key) {
  nay_cfchain_header header;
  const char *wrong = NULL;
  nay_cfchain *chain = NULL;
  if (in->no_create) {
    wrong = ERROR_NOT_FOUND;
  } else if (cf_is_too_long(ctx, 1)) {
    wrong = ERROR_LONG;
  } else if (nay_cfchain_plan((uint64_t)in->capacity, (uint32_t)settings.cf_bucket_size,
                              (uint32_t)settings.cf_max_iterations,
                              (uint32_t)settings.cf_expansion_factor, &header) != NAY_OK) {
    wrong = ERROR_CREATE;
  } else if ((chain = cf_create(key, &header)) == NULL) {
    wrong = memory_error(ERROR_CREATE);
  }
  if (wrong != NULL) {
    cf_close_error(ctx, key, wrong);
    return NULL;
  }
  cf_replicate_reserve(ctx, name, in->capacity, &header);
  return chain;
}

static int cf_insert(redis_ctx *ctx, redis_string *name, const cf_insertion *in) {
  module_key key;
  key_state state = cf_open_write(ctx, name, &key);
  nay_cfchain *chain;
  if (state == KEY_MISSING) {
    chain = cf_insert_create(ctx, name, in, &key);
    if (chain == NULL) return REDIS_OK;
  } else {
    chain = cf_need(ctx, state, &key);
    if (chain == NULL) return REDIS_OK;
    nay_cfchain_header h;
    nay_cfchain_describe(chain, &h);
    if (cf_is_too_long(ctx, h.nfilters)) return cf_close_error(ctx, &key, ERROR_LONG);
    memory_grows(cf_size, chain);
  }
  int ntaken, ninserted = cf_insert_items(ctx, chain, in, &ntaken);
  key_close(&key);
  if (ninserted != 0) cf_replicate_insert(ctx, name, in, ntaken);
  return REDIS_OK;
}

static int cf_add_single(redis_ctx *ctx, redis_string **argv, int argc, bool is_nx) {
  if (argc != 3) return redis.WrongArity(ctx);
  cf_insertion in = {
      .is_nx = is_nx, .capacity = settings.cf_initial_size, .items = argv + 2, .nitems = 1};
  return cf_insert(ctx, argv[1], &in);
}

/* CF.ADD key item, CF.ADDNX key item */
static int cf_add(redis_ctx *ctx, redis_string **argv, int argc) {
  return cf_add_single(ctx, argv, argc, false);
}

static int cf_addnx(redis_ctx *ctx, redis_string **argv, int argc) {
  return cf_add_single(ctx, argv, argc, true);
}

/*
 * Options up to ITEMS are told by their first letter, as in RedisBloom. NULL: fine. The items may
 * still be missing: nitems is then 0.
 */
static const char *cf_insert_parse(redis_string **argv, int argc, cf_insertion *in) {
  for (int i = 2; i < argc; i++) {
    char letter = *redis.StringPtrLen(argv[i], NULL); /* 0 for an empty word */
    switch (letter | 0x20) {
      case 'i':
        in->items = argv + i + 1;
        in->nitems = argc - i - 1;
        return NULL;
      case 'n': in->no_create = true; break;
      case 'c':
        if (++i == argc) return NULL;
        if (redis.StringToLongLong(argv[i], &in->capacity) != REDIS_OK) return ERROR_CAPACITY;
        if (in->capacity < 2 * settings.cf_bucket_size || in->capacity > MAX_CAPACITY) {
          return "Capacity must be in the range [cf-bucket-size * 2, 1073741824]";
        }
        break;
      default: return "Unknown argument received";
    }
  }
  return NULL;
}

static int cf_insert_many(redis_ctx *ctx, redis_string **argv, int argc, bool is_nx) {
  if (argc < 4) return redis.WrongArity(ctx);
  cf_insertion in = {.is_nx = is_nx, .is_many = true, .capacity = settings.cf_initial_size};
  const char *wrong = cf_insert_parse(argv, argc, &in);
  if (wrong != NULL) return reply_error(ctx, wrong);
  if (in.nitems == 0) return redis.WrongArity(ctx);
  return cf_insert(ctx, argv[1], &in);
}

/* CF.INSERT key [CAPACITY n] [NOCREATE] ITEMS item [item ...], CF.INSERTNX */
static int cf_insert_all(redis_ctx *ctx, redis_string **argv, int argc) {
  return cf_insert_many(ctx, argv, argc, false);
}

static int cf_insert_new(redis_ctx *ctx, redis_string **argv, int argc) {
  return cf_insert_many(ctx, argv, argc, true);
}

/* ---- asking ---- */

static void cf_reply_exists(redis_ctx *ctx, const nay_cfchain *chain, redis_string **items,
                            int nitems) {
  uint64_t hashes[BATCH];
  for (int start = 0; start < nitems; start += BATCH) {
    int n = nitems - start < BATCH ? nitems - start : BATCH;
    for (int i = 0; i < n && chain != NULL; i++) hashes[i] = cf_hash(items[start + i]);
    if (chain != NULL && n > 1) nay_cfchain_prefetch(chain, hashes, (size_t)n, true);
    for (int i = 0; i < n; i++) {
      redis.ReplyWithBool(ctx, chain != NULL && nay_cfchain_has(chain, hashes[i]));
    }
  }
}

/* A key that is missing, or of another type, holds no item: that is the answer, not an error. */
static int cf_exists(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc != 3) return redis.WrongArity(ctx);
  module_key key;
  cf_open(ctx, argv[1], &key);
  cf_reply_exists(ctx, key.value, argv + 2, 1);
  key_close(&key);
  return REDIS_OK;
}

static int cf_mexists(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc < 3) return redis.WrongArity(ctx);
  module_key key;
  cf_open(ctx, argv[1], &key);
  redis.ReplyWithArray(ctx, argc - 2);
  cf_reply_exists(ctx, key.value, argv + 2, argc - 2);
  key_close(&key);
  return REDIS_OK;
}

static int cf_count(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc != 3) return redis.WrongArity(ctx);
  module_key key;
  cf_open(ctx, argv[1], &key);
  uint64_t count = key.value != NULL ? nay_cfchain_count(key.value, cf_hash(argv[2])) : 0;
  key_close(&key);
  return redis.ReplyWithLongLong(ctx, (long long)count);
}

/* ---- removing ---- */

/* CF.DEL key item */
static int cf_del(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc != 3) return redis.WrongArity(ctx);
  module_key key;
  if (cf_open_write(ctx, argv[1], &key) != KEY_OURS) {
    return cf_close_error(ctx, &key, "Not found");
  }
  bool removed = nay_cfchain_remove(key.value, cf_hash(argv[2]));
  key_close(&key);
  if (removed) {
    redis.ReplicateVerbatim(ctx);
    key_event(ctx, "cuckoo.del", argv[1]);
  }
  return redis.ReplyWithBool(ctx, removed);
}

/* CF.COMPACT key: a write, so a read-only replica refuses it and all replicas do it. */
static int cf_compact(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc != 2) return redis.WrongArity(ctx);
  module_key key;
  if (cf_open_write(ctx, argv[1], &key) != KEY_OURS) {
    return cf_close_error(ctx, &key, "Cuckoo filter was not found");
  }
  nay_cfchain_header h;
  nay_cfchain_describe(key.value, &h);
  bool changes = h.nfilters > 1 || h.ndeletes != 0;
  nay_cfchain_compact(key.value);
  key_close(&key);
  if (changes) {
    redis.ReplicateVerbatim(ctx);
    key_event(ctx, "cuckoo.compact", argv[1]);
  }
  return reply_ok(ctx);
}

/* ---- dumps ---- */

/* CF.SCANDUMP key iterator: the header at 0; else the chunk that starts iterator - 1 bytes in. */
static int cf_scandump(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc != 3) return redis.WrongArity(ctx);
  long long at;
  if (redis.StringToLongLong(argv[2], &at) != REDIS_OK || at < 0) {
    return reply_error(ctx, ERROR_POSITION);
  }
  module_key key;
  nay_cfchain *chain = cf_need(ctx, cf_open(ctx, argv[1], &key), &key);
  if (chain == NULL) return REDIS_OK;
  uint8_t header[NAY_CFCHAIN_HEADER_LEN];
  size_t len = sizeof header;
  const uint8_t *bytes = header;
  if (at == 0) {
    nay_cfchain_header h;
    nay_cfchain_describe(chain, &h);
    nay_cfchain_write_header(&h, header);
    at = 1;
  } else {
    bytes = nay_cfchain_chunk(chain, (uint64_t)at - 1, &len);
    at = bytes != NULL ? at + (long long)len : 0;
  }
  reply_chunk(ctx, at, bytes, len);
  key_close(&key);
  return REDIS_OK;
}

/* A chunk for a filter that is there; the iterator counts to the end of the chunk. */
static const char *cf_load_chunk(nay_cfchain *chain, long long at, const char *data, size_t len) {
  if (at < 1 || (uint64_t)at - 1 < len) return "Couldn't load chunk!";
  nay_status status = nay_cfchain_load(chain, (uint64_t)at - 1 - len, data, len);
  return status == NAY_OK ? NULL : "Couldn't load chunk!";
}

static const char *cf_load_header(module_key *key, const char *data, size_t len) {
  nay_cfchain_header header;
  if (len != NAY_CFCHAIN_HEADER_LEN) return "Invalid header";
  if (nay_cfchain_read_header(data, len, NULL, &header) != NAY_OK ||
      cf_create(key, &header) == NULL) {
    return memory_error("Couldn't create filter!");
  }
  return NULL;
}

/* CF.LOADCHUNK key iterator data: every piece goes to the replicas, header and chunks alike. */
static int cf_loadchunk(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc != 4) return redis.WrongArity(ctx);
  long long at;
  if (redis.StringToLongLong(argv[2], &at) != REDIS_OK || at == 0) {
    return reply_error(ctx, ERROR_POSITION);
  }
  size_t len;
  const char *data = redis.StringPtrLen(argv[3], &len);
  module_key key;
  key_state state = cf_open_write(ctx, argv[1], &key);
  const char *wrong;
  if (state == KEY_OTHER) {
    wrong = ERROR_WRONGTYPE;
  } else if (state == KEY_MISSING) {
    wrong = at == 1 ? cf_load_header(&key, data, len) : ERROR_NOT_FOUND;
  } else {
    wrong = at == 1 ? ERROR_EXISTS : cf_load_chunk(key.value, at, data, len);
  }
  key_close(&key);
  if (wrong != NULL) return reply_error(ctx, wrong);
  redis.ReplicateVerbatim(ctx);
  key_event(ctx, "cuckoo.loadchunk", argv[1]);
  return reply_ok(ctx);
}

/* ---- what a filter is ---- */

/* CF.INFO key */
static int cf_info(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc != 2) return redis.WrongArity(ctx);
  module_key key;
  nay_cfchain *chain = cf_need(ctx, cf_open(ctx, argv[1], &key), &key);
  if (chain == NULL) return REDIS_OK;
  nay_cfchain_header h;
  nay_cfchain_describe(chain, &h);
  redis.ReplyWithMap(ctx, 8);
  reply_field(ctx, "Size", (long long)nay_cfchain_nbytes(chain));
  reply_field(ctx, "Number of buckets", (long long)h.nbuckets);
  reply_field(ctx, "Number of filters", (long long)h.nfilters);
  reply_field(ctx, "Number of items inserted", (long long)h.nitems);
  reply_field(ctx, "Number of items deleted", (long long)h.ndeletes);
  reply_field(ctx, "Bucket size", h.bucket_size);
  reply_field(ctx, "Expansion rate", h.expansion);
  reply_field(ctx, "Max iterations", h.max_iterations);
  key_close(&key);
  return REDIS_OK;
}

/* CF.DEBUG key */
static int cf_debug(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc != 2) return redis.WrongArity(ctx);
  module_key key;
  nay_cfchain *chain = cf_need(ctx, cf_open(ctx, argv[1], &key), &key);
  if (chain == NULL) return REDIS_OK;
  nay_cfchain_header h;
  char text[256];
  nay_cfchain_describe(chain, &h);
  int len = snprintf(text, sizeof text,
                     "bktsize:%u buckets:%llu items:%llu deletes:%llu filters:%llu "
                     "max_iterations:%u expansion:%u",
                     h.bucket_size, (unsigned long long)h.nbuckets, (unsigned long long)h.nitems,
                     (unsigned long long)h.ndeletes, (unsigned long long)h.nfilters,
                     h.max_iterations, h.expansion);
  key_close(&key);
  return redis.ReplyWithStringBuffer(ctx, text, (size_t)len);
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

static redis_arg reserve_args[] = {ARG_KEY,
                                   ARG("capacity", REDIS_ARG_INTEGER),
                                   CF_BLOCK("bucketsize", "BUCKETSIZE", bucketsize_arg),
                                   CF_BLOCK("maxiterations", "MAXITERATIONS", maxiterations_arg),
                                   CF_BLOCK("expansion", "EXPANSION", expansion_arg),
                                   ARG_END};
static redis_arg insert_args[] = {ARG_KEY,
                                  CF_BLOCK("capacity", NULL, capacity_arg),
                                  CF_TOKEN("nocreate", "NOCREATE", REDIS_ARG_OPTIONAL),
                                  CF_TOKEN("items", "ITEMS", 0),
                                  ARG_MANY("item", REDIS_ARG_STRING),
                                  ARG_END};
static redis_arg item_args[] = {ARG_KEY, ARG("item", REDIS_ARG_STRING), ARG_END};
static redis_arg items_args[] = {ARG_KEY, ARG_MANY("item", REDIS_ARG_STRING), ARG_END};
static redis_arg scandump_args[] = {ARG_KEY, ARG("iterator", REDIS_ARG_INTEGER), ARG_END};
static redis_arg loadchunk_args[] = {ARG_KEY, ARG("iterator", REDIS_ARG_INTEGER),
                                     ARG("data", REDIS_ARG_STRING), ARG_END};
static redis_arg key_args[] = {ARG_KEY, ARG_END};

#define O_ADD "O(f + m) for f sub-filters and MAXITERATIONS m"
#define O_INSERT "O(n * (f + m)) for n items, f sub-filters and MAXITERATIONS m"
#define O_TEST "O(f) for f sub-filters"
#define O_TESTS "O(f * n) for f sub-filters and n items"
#define O_DUMP "O(n) for a chunk of n bytes"

/* name, handler, flags, ACL, arity, keys, since, complexity, summary, tips, arguments */
static const module_command cf_commands[] = {
    {"cf.reserve", cf_reserve, WRITE_FLAGS, "write fast cuckoo", -3, KEYS_INSERT, "1.0.0", "O(1)",
     "Creates an empty cuckoo filter", NULL, reserve_args},
    {"cf.add", cf_add, WRITE_FLAGS, "write cuckoo", 3, KEYS_INSERT, "1.0.0", O_ADD,
     "Adds an item to a cuckoo filter, which is created if it does not exist", NULL, item_args},
    {"cf.addnx", cf_addnx, WRITE_FLAGS, "write cuckoo", 3, KEYS_INSERT, "1.0.0", O_ADD,
     "Adds an item to a cuckoo filter unless it may be there already", NULL, item_args},
    {"cf.insert", cf_insert_all, WRITE_FLAGS, "write cuckoo", -4, KEYS_INSERT, "1.0.0", O_INSERT,
     "Adds items to a cuckoo filter, which is created with the given capacity", NULL, insert_args},
    {"cf.insertnx", cf_insert_new, WRITE_FLAGS, "write cuckoo", -4, KEYS_INSERT, "1.0.0", O_INSERT,
     "Adds those items to a cuckoo filter that cannot be there yet", NULL, insert_args},
    {"cf.exists", cf_exists, READ_FLAGS, "read cuckoo", 3, KEYS_READ, "1.0.0", O_TEST,
     "Tells whether an item may be in a cuckoo filter; no is certain", NULL, item_args},
    {"cf.mexists", cf_mexists, READ_FLAGS, "read cuckoo", -3, KEYS_READ, "1.0.0", O_TESTS,
     "Tells which items may be in a cuckoo filter; no is certain", NULL, items_args},
    {"cf.count", cf_count, READ_FLAGS, "read cuckoo", 3, KEYS_READ, "1.0.0", O_TEST,
     "Tells at most how often an item is in a cuckoo filter", NULL, item_args},
    {"cf.del", cf_del, "write fast", "write cuckoo", 3, KEYS_DELETE, "1.0.0", O_TEST,
     "Takes an item that was added out of a cuckoo filter", NULL, item_args},
    {"cf.compact", cf_compact, "write fast", "write cuckoo", -1, KEYS_UPDATE, "1.0.0",
     "O(n) for n slots",
     "Moves items out of the newest sub-filters, and frees those that are empty", NULL, key_args},
    {"cf.scandump", cf_scandump, READ_FLAGS, "read cuckoo", 3, KEYS_DUMP, "1.0.0", O_DUMP,
     "Begins or continues a dump of a cuckoo filter", "dont_cache", scandump_args},
    {"cf.loadchunk", cf_loadchunk, WRITE_FLAGS, "write cuckoo", 4, KEYS_UPDATE, "1.0.0", O_DUMP,
     "Restores a cuckoo filter from the chunks of CF.SCANDUMP", NULL, loadchunk_args},
    {"cf.info", cf_info, READ_FLAGS, "read fast cuckoo", 2, KEYS_READ, "1.0.0", "O(1)",
     "Tells about a cuckoo filter: size, buckets, items, settings", "dont_cache", key_args},
    {"cf.debug", cf_debug, READ_FLAGS, "read cuckoo", 2, KEYS_READ, "1.0.0", "O(1)",
     "Tells the numbers of a cuckoo filter in one line", "dont_cache", key_args},
};

static void cf_info_section(redis_info *info) { memory_info(info, "cuckoo", &cf_memory); }

const module_part cf_part = {.acl_category = "cuckoo",
                             .commands = cf_commands,
                             .ncommands = sizeof cf_commands / sizeof cf_commands[0],
                             .type_name = "MBbloomCF",
                             .encver = 4,
                             .methods = &cf_methods,
                             .type = &cf_type,
                             .info = cf_info_section};
