/*
 * commands_bf.c - BF.*: RedisBloom's commands on chained Bloom filters.
 *
 * Grammar, replies and errors are RedisBloom's, down to its oddities: BF.RESERVE passes over words
 * it does not know, BF.INSERT looks at first letters only, BF.EXISTS answers 0 for a key of another
 * type. What differs is what nobody can rely on (README.md has the list): replicas get the
 * parameters of a new filter and only those items that changed something, listeners get events.
 */
#include "commands_bf.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reply.h"

#define BF_MAX_ERROR 0.25 /* greater rates are taken as this one */

/* What a filter is made with. */
typedef struct bf_params {
  double error;
  long long capacity;
  long long expansion;
  bool is_fixed; /* does not scale */
} bf_params;

static bf_params bf_defaults(void) {
  return (bf_params){settings.bf_error_rate, settings.bf_initial_size, settings.bf_expansion_factor,
                     settings.bf_expansion_factor == 0};
}

static bool error_in_range(double error) { return error > 0 && error < 1; }
static bool capacity_in_range(long long n) { return n >= 1 && n <= MAX_CAPACITY; }
static bool expansion_in_range(long long n) { return n >= 0 && n <= MAX_EXPANSION; }

static double bf_cap_error(redis_ctx *ctx, double error) {
  if (error <= BF_MAX_ERROR) return error;
  redis.Log(ctx, "warning", "Error rate is capped at %f", BF_MAX_ERROR);
  return BF_MAX_ERROR;
}

/* NULL, or the error that the client gets. */
static const char *bf_create(redis_ctx *ctx, module_key *key, bf_params *params) {
  params->error = bf_cap_error(ctx, params->error);
  nay_zallocator allocator = memory_zallocator(&bf_memory);
  nay_sbchain *chain;
  nay_status status = nay_sbchain_new(
      params->error, (uint64_t)params->capacity, (uint32_t)params->expansion,
      NAY_SB_DEFAULT | (params->is_fixed ? NAY_SB_NO_SCALING : 0), &allocator, &chain);
  if (status == NAY_ENOMEM) return ERROR_NO_MEMORY;
  if (status != NAY_OK) return "ERR could not create filter";
  memory_value_made(&bf_memory);
  redis.ModuleTypeSetValue(key->handle, bf_type, chain);
  key->value = chain;
  return NULL;
}

/* Seventeen digits read back as the same number. */
typedef struct error_text {
  char text[40];
} error_text;

static error_text bf_error_text(double error) {
  error_text t;
  snprintf(t.text, sizeof t.text, "%.17g", error);
  return t;
}

/* ---- BF.RESERVE ---- */

/* The position of a word among the options, 0 when it is not there. */
static int bf_find_option(redis_string **argv, int argc, const char *word) {
  for (int i = 4; i < argc; i++) {
    if (word_is(argv[i], word)) return i;
  }
  return 0;
}

/* NULL, or what is wrong with the options. A filter that does not scale carries a growth factor
 * all the same, the default of RedisBloom, so that replicas need not share our settings. */
static const char *bf_parse_reserve_options(redis_string **argv, int argc, bf_params *params) {
  bool is_fixed = bf_find_option(argv, argc, "NONSCALING") != 0;
  int at = bf_find_option(argv, argc, "EXPANSION");
  if (is_fixed) {
    params->is_fixed = true;
    params->expansion = 2;
  }
  if (at == 0) return NULL;
  if (at + 1 == argc) return "ERR no expansion";
  if (redis.StringToLongLong(argv[at + 1], &params->expansion) != REDIS_OK) {
    return "ERR bad expansion";
  }
  if (is_fixed && params->expansion != 0) return "Nonscaling filters cannot expand";
  if (!expansion_in_range(params->expansion))
    return "ERR expansion must be in the range [0, 32768]";
  params->is_fixed = params->expansion == 0;
  return NULL;
}

static const char *bf_parse_reserve(redis_string **argv, int argc, bf_params *params) {
  *params = bf_defaults();
  if (redis.StringToDouble(argv[2], &params->error) != REDIS_OK) return "ERR bad error rate";
  if (!error_in_range(params->error)) {
    return "ERR error rate must be in the range (0.000000, 1.000000)";
  }
  if (redis.StringToLongLong(argv[3], &params->capacity) != REDIS_OK) return "ERR bad capacity";
  if (!capacity_in_range(params->capacity)) {
    return "ERR capacity must be in the range [1, 1073741824]";
  }
  return bf_parse_reserve_options(argv, argc, params);
}

static void bf_replicate_reserve(redis_ctx *ctx, redis_string *name, const bf_params *params) {
  error_text error = bf_error_text(params->error);
  if (params->is_fixed && params->expansion != 0) {
    redis.Replicate(ctx, "BF.RESERVE", "sclc", name, error.text, params->capacity, "NONSCALING");
  } else {
    redis.Replicate(ctx, "BF.RESERVE", "sclcl", name, error.text, params->capacity, "EXPANSION",
                    params->expansion);
  }
}

static int bf_reserve(redis_ctx *ctx, redis_string **argv, int argc) {
  bf_params params;
  if (argc < 4 || argc > 7) return redis.WrongArity(ctx);
  const char *error = bf_parse_reserve(argv, argc, &params);
  if (error != NULL) return reply_error(ctx, error);
  module_key key;
  key_state state = key_open(ctx, argv[1], REDIS_READ | REDIS_WRITE, bf_type, &key);
  if (state == KEY_OTHER) error = ERROR_WRONGTYPE;
  if (state == KEY_OURS) error = ERROR_EXISTS;
  if (error == NULL) error = bf_create(ctx, &key, &params);
  key_close(&key);
  if (error != NULL) return reply_error(ctx, error);
  bf_replicate_reserve(ctx, argv[1], &params);
  key_event(ctx, "bloom.reserve", argv[1]);
  return reply_ok(ctx);
}

/* ---- BF.ADD, BF.MADD, BF.INSERT ---- */

/* An insertion under way. */
typedef struct bf_insertion {
  redis_string *name;
  redis_string **items;
  size_t n;
  bool is_many; /* the reply is an array */
  bool may_create;
  bf_params params;
  bool is_created;
  redis_string **fresh; /* items that changed the filter */
  size_t nfresh;
} bf_insertion;

static size_t bf_gather(redis_string **items, size_t n, const void **bytes, size_t *lens) {
  if (n > NAY_SB_BATCH) n = NAY_SB_BATCH;
  for (size_t i = 0; i < n; i++) bytes[i] = redis.StringPtrLen(items[i], &lens[i]);
  return n;
}

/* Adds the items from `from` on: one batch, or less when one fails. Returns how many replies it
 * gave; *status is that of the last. */
static size_t bf_insert_batch(redis_ctx *ctx, nay_sbchain *chain, bf_insertion *in, size_t from,
                              nay_status *status) {
  const void *bytes[NAY_SB_BATCH];
  size_t lens[NAY_SB_BATCH], done;
  uint64_t is_new;
  size_t n = bf_gather(in->items + from, in->n - from, bytes, lens);
  *status = nay_sbchain_add_many(chain, bytes, lens, n, &is_new, &done);
  for (size_t i = 0; i < done; i++) {
    if (is_new >> i & 1) in->fresh[in->nfresh++] = in->items[from + i];
    redis.ReplyWithBool(ctx, is_new >> i & 1);
  }
  if (*status == NAY_OK) return done;
  redis.ReplyWithError(ctx, *status == NAY_EFULL ? "ERR non scaling filter is full"
                                                 : "ERR problem inserting into filter");
  return done + 1;
}

/* A filter that does not scale may be full before the end; the reply then ends with that error. */
static bool bf_may_fill_up(const nay_sbchain *chain, size_t n) {
  nay_sbstats stats;
  nay_sbchain_stats(chain, &stats);
  return (stats.options & NAY_SB_NO_SCALING) != 0 &&
         (stats.size > stats.capacity || stats.capacity - stats.size < n);
}

static void bf_insert_items(redis_ctx *ctx, nay_sbchain *chain, bf_insertion *in) {
  bool is_open = in->is_many && bf_may_fill_up(chain, in->n);
  if (in->is_many) redis.ReplyWithArray(ctx, is_open ? REDIS_POSTPONED_LEN : (long)in->n);
  nay_status status = NAY_OK;
  size_t replies = 0;
  while (replies < in->n && status != NAY_EFULL) {
    replies += bf_insert_batch(ctx, chain, in, replies, &status);
  }
  if (is_open) redis.ReplySetArrayLength(ctx, (long)replies);
}

/*
 * What replicas and the log get: a new filter with all its parameters, so that their settings may
 * differ from ours; and only items that changed something, which leads to the same bits whatever
 * became of the others here.
 */
static void bf_replicate_creation(redis_ctx *ctx, const bf_insertion *in) {
  const bf_params *p = &in->params;
  error_text error = bf_error_text(p->error);
  if (p->is_fixed) {
    redis.Replicate(ctx, "BF.INSERT",
                    "scccl"
                    "clccv",
                    in->name, "ERROR", error.text, "CAPACITY", p->capacity, "EXPANSION",
                    p->expansion, "NONSCALING", "ITEMS", in->fresh, in->nfresh);
  } else {
    redis.Replicate(ctx, "BF.INSERT",
                    "scccl"
                    "clcv",
                    in->name, "ERROR", error.text, "CAPACITY", p->capacity, "EXPANSION",
                    p->expansion, "ITEMS", in->fresh, in->nfresh);
  }
}

static void bf_replicate_insertion(redis_ctx *ctx, const bf_insertion *in) {
  if (in->is_created) {
    bf_replicate_creation(ctx, in);
    key_event(ctx, "bloom.reserve", in->name);
  } else if (in->nfresh == in->n) {
    redis.ReplicateVerbatim(ctx);
  } else if (in->nfresh > 0) {
    redis.Replicate(ctx, "BF.MADD", "sv", in->name, in->fresh, in->nfresh);
  }
  if (in->nfresh > 0) key_event(ctx, "bloom.add", in->name);
}

static const char *bf_open_to_insert(redis_ctx *ctx, bf_insertion *in, module_key *key) {
  key_state state = key_open(ctx, in->name, REDIS_READ | REDIS_WRITE, bf_type, key);
  if (state == KEY_OURS) return NULL;
  if (state == KEY_OTHER) return ERROR_WRONGTYPE;
  if (!in->may_create) return ERROR_NOT_FOUND;
  in->is_created = true;
  return bf_create(ctx, key, &in->params);
}

static int bf_insert_all(redis_ctx *ctx, bf_insertion *in) {
  redis_string *few[NAY_SB_BATCH];
  in->fresh = in->n <= NAY_SB_BATCH ? few : redis.TryAlloc(in->n * sizeof *in->fresh);
  if (in->fresh == NULL) return reply_error(ctx, "ERR problem inserting into filter");
  module_key key;
  const char *error = bf_open_to_insert(ctx, in, &key);
  if (error == NULL) bf_insert_items(ctx, key.value, in);
  key_close(&key);
  if (error == NULL) bf_replicate_insertion(ctx, in);
  if (in->fresh != few) redis.Free(in->fresh);
  return error == NULL ? REDIS_OK : reply_error(ctx, error);
}

static int bf_add(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc != 3) return redis.WrongArity(ctx);
  bf_insertion in = {
      .name = argv[1], .items = argv + 2, .n = 1, .may_create = true, .params = bf_defaults()};
  return bf_insert_all(ctx, &in);
}

static int bf_madd(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc < 3) return redis.WrongArity(ctx);
  bf_insertion in = {.name = argv[1],
                     .items = argv + 2,
                     .n = (size_t)argc - 2,
                     .is_many = true,
                     .may_create = true,
                     .params = bf_defaults()};
  return bf_insert_all(ctx, &in);
}

/* The letter at `i` of an argument in lower case, 0 beyond its end. */
static int bf_letter(const redis_string *argument, size_t i) {
  size_t len;
  const char *text = redis.StringPtrLen(argument, &len);
  return i < len ? tolower((unsigned char)text[i]) : 0;
}

/* A value of BF.INSERT: NULL, or what is wrong with it. */
static const char *bf_parse_insert_value(int first, int second, const redis_string *value,
                                         bf_insertion *in) {
  bf_params *p = &in->params;
  if (first == 'c') {
    bool ok = redis.StringToLongLong(value, &p->capacity) == REDIS_OK;
    return ok && capacity_in_range(p->capacity) ? NULL : "Bad capacity";
  }
  if (second == 'r') {
    bool ok = redis.StringToDouble(value, &p->error) == REDIS_OK;
    return ok && error_in_range(p->error) ? NULL : "Bad error rate";
  }
  bool ok = redis.StringToLongLong(value, &p->expansion) == REDIS_OK;
  if (!ok || !expansion_in_range(p->expansion)) return "Bad expansion";
  p->is_fixed = p->expansion == 0;
  return NULL;
}

/*
 * Options up to ITEMS: *at becomes the place of the first item, or argc when there is none.
 * NONSCALING wins over any EXPANSION, wherever it stands.
 */
static const char *bf_parse_insert(redis_string **argv, int argc, bf_insertion *in, int *at) {
  bool is_fixed = false;
  const char *error = NULL;
  for (*at = 2; *at < argc && error == NULL; ++*at) {
    int first = bf_letter(argv[*at], 0), second = bf_letter(argv[*at], 1);
    if (first == 'i') {
      ++*at;
      break;
    } else if (first == 'n' && bf_letter(argv[*at], 2) == 'c') {
      in->may_create = false;
    } else if (first == 'n') {
      is_fixed = true;
    } else if (first != 'c' && first != 'e') {
      error = "Unknown argument received";
    } else if (++*at < argc) {
      error = bf_parse_insert_value(first, second, argv[*at], in);
    }
  }
  if (is_fixed) in->params.is_fixed = true;
  return error;
}

static int bf_insert(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc < 4) return redis.WrongArity(ctx);
  bf_insertion in = {.name = argv[1], .is_many = true, .may_create = true, .params = bf_defaults()};
  int at;
  const char *error = bf_parse_insert(argv, argc, &in, &at);
  if (error != NULL) return reply_error(ctx, error);
  if (at >= argc) return redis.WrongArity(ctx);
  in.items = argv + at;
  in.n = (size_t)(argc - at);
  return bf_insert_all(ctx, &in);
}

/* ---- BF.EXISTS, BF.MEXISTS ---- */

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
  if (status == NAY_ENOMEM) return ERROR_NO_MEMORY;
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
    {"bf.reserve", bf_reserve, WRITE_FLAGS, "write fast bloom", -4, RW_INSERT, 0, "1.0.0", "O(1)",
     "Creates an empty Bloom filter", NULL, args_reserve},
    {"bf.add", bf_add, WRITE_FLAGS, "write bloom", 3, RW_INSERT, 0, "1.0.0", PER_ITEM,
     "Adds an item to a Bloom filter, which is created if it does not exist", NULL, args_item},
    {"bf.madd", bf_madd, WRITE_FLAGS, "write bloom", -3, RW_INSERT, 0, "1.0.0", PER_ITEMS,
     "Adds items to a Bloom filter, which is created if it does not exist", NULL, args_items},
    {"bf.insert", bf_insert, WRITE_FLAGS, "write bloom", -4, RW_INSERT, 0, "1.0.0", PER_ITEMS,
     "Adds items to a Bloom filter, which is created with the given parameters", NULL, args_insert},
    {"bf.exists", bf_exists, READ_FLAGS, "read bloom", 3, RO_ACCESS, 0, "1.0.0", PER_ITEM,
     "Tells whether an item may be in a Bloom filter; no is certain", NULL, args_item},
    {"bf.mexists", bf_mexists, READ_FLAGS, "read bloom", -3, RO_ACCESS, 0, "1.0.0", PER_ITEMS,
     "Tells which items may be in a Bloom filter; no is certain", NULL, args_items},
    {"bf.info", bf_info, READ_FLAGS, "read fast bloom", -2, RO_ACCESS, 0, "1.0.0", "O(1)",
     "Tells about a Bloom filter: capacity, size, links, items, growth", "dont_cache", args_info},
    {"bf.card", bf_card, READ_FLAGS, "read fast bloom", 2, RO_ACCESS, 0, "2.4.4", "O(1)",
     "Tells how many items were new when they were added to a Bloom filter", NULL, args_key},
    {"bf.debug", bf_debug, READ_FLAGS, "read bloom", 2, RO_ACCESS, 0, "1.0.0", "O(n), n links",
     "Tells the shape of every link of a Bloom filter", "dont_cache", args_key},
    {"bf.scandump", bf_scandump, READ_FLAGS, "read bloom", 3, RW_ACCESS, 0, "1.0.0", PER_CHUNK,
     "Begins or continues a dump of a Bloom filter", "dont_cache", args_scandump},
    {"bf.loadchunk", bf_loadchunk, WRITE_FLAGS, "write bloom", 4, RW_UPDATE, 0, "1.0.0", PER_CHUNK,
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
