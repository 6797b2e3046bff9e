/*
 * cf_write.c - CF.* commands that change filters: CF.RESERVE, CF.ADD, CF.ADDNX, CF.INSERT,
 * CF.INSERTNX, CF.DEL, CF.COMPACT.
 */
#include <stdio.h>

#include "cf.h"
#include "reply.h"

#define ERROR_CAPACITY "Bad capacity"
#define ERROR_CREATE "ERR Could not create filter"
#define ERROR_FULL "Filter is full"
#define ERROR_GROW "ERR Insufficient memory"
#define ERROR_LONG "Maximum expansions reached"

/* ---- CF.RESERVE ---- */

static void cf_replicate_reserve(redis_ctx *ctx, redis_string *name, long long capacity,
                                 const nay_cfchain_header *h) {
  redis.Replicate(ctx, "CF.RESERVE", "slclclcl", name, capacity, "BUCKETSIZE",
                  (long long)h->bucket_size, "MAXITERATIONS", (long long)h->max_iterations,
                  "EXPANSION", (long long)h->expansion);
  key_event(ctx, "cuckoo.reserve", name);
}

/*
 * One option of CF.RESERVE: the first pair that starts with its name counts, unknown pairs are
 * ignored. NULL, or the error.
 */
static const char *cf_reserve_option(redis_string **argv, int argc, const char *name, long long min,
                                     long long max, long long *value) {
  static char text[96]; /* commands run one at a time */
  for (int i = 3; i + 1 < argc; i += 2) {
    if (!arg_is(argv[i], name)) continue;
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

/* The parameters of a new filter. NULL, or the error. */
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
  nay_status status = nay__cfchain_plan((uint64_t)*capacity, (uint32_t)bucket, (uint32_t)iterations,
                                        (uint32_t)expansion, header);
  return status == NAY_OK ? NULL : ERROR_CREATE;
}

/* CF.RESERVE key capacity [BUCKETSIZE n] [MAXITERATIONS n] [EXPANSION n] */
int cf_reserve(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc < 3 || argc % 2 == 0) return redis.WrongArity(ctx);
  long long capacity;
  nay_cfchain_header header;
  const char *wrong = cf_reserve_parse(argv, argc, &capacity, &header);
  if (wrong != NULL) return reply_error(ctx, wrong);
  module_key key;
  key_state state = cf_open_write(ctx, argv[1], &key);
  if (state != KEY_MISSING) {
    return key_close_error(ctx, &key, state == KEY_OURS ? ERROR_EXISTS : ERROR_WRONGTYPE);
  }
  if (cf_create(&key, &header) == NULL) {
    return key_close_error(ctx, &key, memory_error(ERROR_CREATE));
  }
  key_close(&key);
  cf_replicate_reserve(ctx, argv[1], capacity, &header);
  return reply_ok(ctx);
}

/* ---- CF.ADD, CF.ADDNX, CF.INSERT, CF.INSERTNX ---- */

typedef struct cf_insertion {
  bool is_nx;     /* only items that are certainly absent */
  bool is_many;   /* CF.INSERT, CF.INSERTNX: failures are elements of the reply */
  bool no_create; /* the key must exist */
  long long capacity;
  redis_string **items;
  int nitems;
} cf_insertion;

/* NAY_ENOENT: the item may be present already, nothing was added. */
static nay_status cf_insert_one(nay_cfchain *chain, const cf_insertion *in, uint64_t hash) {
  if (in->is_nx && nay__cfchain_has(chain, hash)) return NAY_ENOENT;
  return nay__cfchain_add(chain, hash);
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
 * Inserts the items and replies for each. When memory runs out, all later items are refused like
 * the first, so that replicas must repeat exactly the *ntaken items before it. Returns how many
 * changed the filter.
 */
static int cf_insert_items(redis_ctx *ctx, nay_cfchain *chain, const cf_insertion *in,
                           int *ntaken) {
  bool is_resp3 = reply_is_resp3(ctx);
  uint64_t hashes[CF_BATCH];
  int ninserted = 0;
  nay_status status = NAY_OK;
  *ntaken = 0;
  if (in->is_many) redis.ReplyWithArray(ctx, in->nitems);
  for (int start = 0; start < in->nitems; start += CF_BATCH) {
    int n = in->nitems - start < CF_BATCH ? in->nitems - start : CF_BATCH;
    for (int i = 0; i < n; i++) hashes[i] = cf_hash(in->items[start + i]);
    if (n > 1) nay__cfchain_prefetch(chain, hashes, (size_t)n, in->is_nx);
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

/* Creates the filter for an insertion into a missing key. NULL: the client has the error. */
static nay_cfchain *cf_insert_create(redis_ctx *ctx, redis_string *name, const cf_insertion *in,
                                     module_key *key) {
  nay_cfchain_header header;
  const char *wrong = NULL;
  nay_cfchain *chain = NULL;
  if (in->no_create) {
    wrong = ERROR_NOT_FOUND;
  } else if (cf_is_too_long(ctx, 1)) {
    wrong = ERROR_LONG;
  } else if (nay__cfchain_plan((uint64_t)in->capacity, (uint32_t)settings.cf_bucket_size,
                               (uint32_t)settings.cf_max_iterations,
                               (uint32_t)settings.cf_expansion_factor, &header) != NAY_OK) {
    wrong = ERROR_CREATE;
  } else if ((chain = cf_create(key, &header)) == NULL) {
    wrong = memory_error(ERROR_CREATE);
  }
  if (wrong != NULL) {
    key_close_error(ctx, key, wrong);
    return NULL;
  }
  cf_replicate_reserve(ctx, name, in->capacity, &header);
  return chain;
}

static int cf_run_insertion(redis_ctx *ctx, redis_string *name, const cf_insertion *in) {
  module_key key;
  key_state state = cf_open_write(ctx, name, &key);
  nay_cfchain *chain;
  if (state == KEY_MISSING) {
    chain = cf_insert_create(ctx, name, in, &key);
    if (chain == NULL) return REDIS_OK;
  } else {
    chain = key_need(ctx, state, &key);
    if (chain == NULL) return REDIS_OK;
    nay_cfchain_header h;
    nay__cfchain_describe(chain, &h);
    if (cf_is_too_long(ctx, h.nfilters)) return key_close_error(ctx, &key, ERROR_LONG);
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
  return cf_run_insertion(ctx, argv[1], &in);
}

/* CF.ADD key item, CF.ADDNX key item */
int cf_add(redis_ctx *ctx, redis_string **argv, int argc) {
  return cf_add_single(ctx, argv, argc, false);
}

int cf_addnx(redis_ctx *ctx, redis_string **argv, int argc) {
  return cf_add_single(ctx, argv, argc, true);
}

/*
 * Options up to ITEMS are recognised by their first letter, as in RedisBloom. NULL, or the error.
 * nitems is 0 without items.
 */
static const char *cf_insert_parse(redis_string **argv, int argc, cf_insertion *in) {
  for (int i = 2; i < argc; i++) {
    char letter = *redis.StringPtrLen(argv[i], NULL); /* 0 for an empty argument */
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
  return cf_run_insertion(ctx, argv[1], &in);
}

/* CF.INSERT key [CAPACITY n] [NOCREATE] ITEMS item [item ...], CF.INSERTNX */
int cf_insert(redis_ctx *ctx, redis_string **argv, int argc) {
  return cf_insert_many(ctx, argv, argc, false);
}

int cf_insertnx(redis_ctx *ctx, redis_string **argv, int argc) {
  return cf_insert_many(ctx, argv, argc, true);
}

/* ---- CF.DEL, CF.COMPACT ---- */

/* CF.DEL key item */
int cf_del(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc != 3) return redis.WrongArity(ctx);
  module_key key;
  if (cf_open_write(ctx, argv[1], &key) != KEY_OURS) {
    return key_close_error(ctx, &key, "Not found");
  }
  bool removed = nay__cfchain_remove(key.value, cf_hash(argv[2]));
  key_close(&key);
  if (removed) {
    redis.ReplicateVerbatim(ctx);
    key_event(ctx, "cuckoo.del", argv[1]);
  }
  return redis.ReplyWithBool(ctx, removed);
}

/* CF.COMPACT key: a write, so that a read-only replica refuses it and all replicas repeat it. */
int cf_compact(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc != 2) return redis.WrongArity(ctx);
  module_key key;
  if (cf_open_write(ctx, argv[1], &key) != KEY_OURS) {
    return key_close_error(ctx, &key, "Cuckoo filter was not found");
  }
  nay_cfchain_header h;
  nay__cfchain_describe(key.value, &h);
  bool changes = h.nfilters > 1 || h.ndeletes != 0;
  nay__cfchain_compact(key.value);
  key_close(&key);
  if (changes) {
    redis.ReplicateVerbatim(ctx);
    key_event(ctx, "cuckoo.compact", argv[1]);
  }
  return reply_ok(ctx);
}
