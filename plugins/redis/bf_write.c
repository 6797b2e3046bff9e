/*
 * bf_write.c - BF.* commands that create filters and add items: BF.RESERVE, BF.ADD, BF.MADD,
 * BF.INSERT.
 *
 * Replicas and the AOF receive the effect of a command, not its text: a new filter with all its
 * parameters, and the items that were new.
 */
#include <ctype.h>
#include <stdio.h>

#include "bf.h"
#include "reply.h"

#define BF_MAX_ERROR 0.25 /* a higher FPR is capped to this */

/* The parameters of a new filter. */
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
  nay_status status = nay__sbchain_new(
      params->error, (uint64_t)params->capacity, (uint32_t)params->expansion,
      NAY_SB_DEFAULT | (params->is_fixed ? NAY_SB_NO_SCALING : 0), &allocator, &chain);
  if (status == NAY_ENOMEM) return memory_error(ERROR_NO_MEMORY);
  if (status != NAY_OK) return "ERR could not create filter";
  memory_value_made(&bf_memory);
  redis.ModuleTypeSetValue(key->handle, bf_type, chain);
  key->value = chain;
  return NULL;
}

/* A double with 17 digits, which parse to the same number. */
typedef struct error_text {
  char text[40];
} error_text;

static error_text bf_error_text(double error) {
  error_text t;
  snprintf(t.text, sizeof t.text, "%.17g", error);
  return t;
}

/* ---- BF.RESERVE ---- */

/* The position of an option, 0 when it is not given. */
static int bf_find_option(redis_string **argv, int argc, const char *word) {
  for (int i = 4; i < argc; i++) {
    if (arg_is(argv[i], word)) return i;
  }
  return 0;
}

/* NULL, or the error. A filter that does not scale has an expansion factor as well, RedisBloom's
 * default, so that replicas need not have our settings. */
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

int bf_reserve(redis_ctx *ctx, redis_string **argv, int argc) {
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

/* The state of one insertion command. */
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

/* Adds one batch of items, starting at `from`; stops at the first that fails. Returns the number
 * of replies sent; *status is that of the last. */
static size_t bf_insert_batch(redis_ctx *ctx, nay_sbchain *chain, bf_insertion *in, size_t from,
                              nay_status *status) {
  const void *bytes[NAY_SB_BATCH];
  size_t lens[NAY_SB_BATCH], done;
  uint64_t is_new;
  size_t n = bf_gather(in->items + from, in->n - from, bytes, lens);
  *status = nay__sbchain_add_many(chain, bytes, lens, n, &is_new, &done);
  for (size_t i = 0; i < done; i++) {
    if (is_new >> i & 1) in->fresh[in->nfresh++] = in->items[from + i];
    redis.ReplyWithBool(ctx, is_new >> i & 1);
  }
  if (*status == NAY_OK) return done;
  /* RedisBloom's text, byte for byte. */
  reply_error(ctx, *status == NAY_EFULL ? "ERR non scaling filter is full"
                                        : memory_error("ERR problem inserting into filter"));
  return done + 1;
}

/* Whether a filter that does not scale may become full within n items. The reply array then ends
 * with that error, so its length is not known in advance. */
static bool bf_may_fill_up(const nay_sbchain *chain, size_t n) {
  nay_sbstats stats;
  nay__sbchain_stats(chain, &stats);
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
 * Replicas and the AOF receive a new filter with all its parameters, so that their settings may
 * differ from ours, and only the items that changed it, which give the same bits.
 */
static void bf_replicate_creation(redis_ctx *ctx, const bf_insertion *in) {
  const bf_params *p = &in->params;
  error_text error = bf_error_text(p->error);
  if (p->is_fixed) {
    redis.Replicate(ctx, "BF.INSERT", "sccclclccv", in->name, "ERROR", error.text, "CAPACITY",
                    p->capacity, "EXPANSION", p->expansion, "NONSCALING", "ITEMS", in->fresh,
                    in->nfresh);
  } else {
    redis.Replicate(ctx, "BF.INSERT", "sccclclcv", in->name, "ERROR", error.text, "CAPACITY",
                    p->capacity, "EXPANSION", p->expansion, "ITEMS", in->fresh, in->nfresh);
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
  if (state == KEY_OURS) memory_grows(bf_size, key->value);
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

int bf_add(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc != 3) return redis.WrongArity(ctx);
  bf_insertion in = {
      .name = argv[1], .items = argv + 2, .n = 1, .may_create = true, .params = bf_defaults()};
  return bf_insert_all(ctx, &in);
}

int bf_madd(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc < 3) return redis.WrongArity(ctx);
  bf_insertion in = {.name = argv[1],
                     .items = argv + 2,
                     .n = (size_t)argc - 2,
                     .is_many = true,
                     .may_create = true,
                     .params = bf_defaults()};
  return bf_insert_all(ctx, &in);
}

/* Character i of an argument in lower case, 0 past its end. */
static int bf_letter(const redis_string *argument, size_t i) {
  size_t len;
  const char *text = redis.StringPtrLen(argument, &len);
  return i < len ? tolower((unsigned char)text[i]) : 0;
}

/* Parses the value of an option of BF.INSERT. NULL, or the error. */
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
 * Parses the options up to ITEMS: *at becomes the index of the first item, argc without any.
 * NONSCALING overrides EXPANSION in any order.
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

int bf_insert(redis_ctx *ctx, redis_string **argv, int argc) {
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
