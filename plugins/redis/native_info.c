/*
 * native_info.c - NAY.INFO: what a filter knows of itself.
 *
 * Fill, keys and rate are read off the bits, all of them: a gigabyte takes about a third of a
 * second. A field that needs no such pass costs nothing when it is asked for alone.
 */
#include <math.h>
#include <string.h>

#include "reply.h"
#include "type_nay.h"

typedef struct facts {
  const native_value *value;
  const nay_filter *filter;
  nay_params params; /* zero for a static filter */
  nay_stats stats;   /* zero unless they were measured */
} facts;

static long long whole(double x) { return x >= 0 && x < 9e18 ? (long long)(x + 0.5) : -1; }

static void say_kind(redis_ctx *ctx, const facts *f) {
  redis.ReplyWithSimpleString(ctx, nay_kind_name(nay_filter_kind(f->filter)));
}

static void say_size(redis_ctx *ctx, const facts *f) {
  redis.ReplyWithLongLong(ctx, (long long)native_methods.mem_usage(f->value));
}

static void say_file(redis_ctx *ctx, const facts *f) {
  redis.ReplyWithLongLong(ctx, (long long)nay_filter_encoded_size(f->filter));
}

static void say_capacity(redis_ctx *ctx, const facts *f) {
  redis.ReplyWithLongLong(ctx, (long long)f->stats.nkeys);
}

static void say_hash(redis_ctx *ctx, const facts *f) {
  redis.ReplyWithSimpleString(ctx, nay_hash_name(f->stats.hash));
}

static void say_keys(redis_ctx *ctx, const facts *f) {
  redis.ReplyWithLongLong(ctx, whole(f->stats.nkeys_estimated));
}

static void say_fill(redis_ctx *ctx, const facts *f) { redis.ReplyWithDouble(ctx, f->stats.fill); }

static void say_rate(redis_ctx *ctx, const facts *f) {
  redis.ReplyWithDouble(ctx, isnan(f->stats.fpr_now) ? 1 : f->stats.fpr_now);
}

static void say_planned(redis_ctx *ctx, const facts *f) {
  redis.ReplyWithDouble(ctx, f->stats.fpr_planned);
}

static void say_overloaded(redis_ctx *ctx, const facts *f) {
  redis.ReplyWithBool(ctx, f->stats.overloaded);
}

static void say_probes(redis_ctx *ctx, const facts *f) { redis.ReplyWithLongLong(ctx, f->stats.k); }

static void say_levels(redis_ctx *ctx, const facts *f) {
  redis.ReplyWithLongLong(ctx, f->stats.nlevels);
}

static void say_limit(redis_ctx *ctx, const facts *f) {
  redis.ReplyWithLongLong(ctx, (long long)f->params.max_nbytes);
}

static void say_window(redis_ctx *ctx, const facts *f) {
  redis.ReplyWithLongLong(ctx, (long long)f->params.window);
}

static void say_unit(redis_ctx *ctx, const facts *f) {
  const char *unit = f->value->extras.by_seconds ? "seconds" : f->params.window != 0 ? "ticks" : "";
  bool by_keys = f->params.window == 0 && f->params.kind == NAY_WINDOW;
  redis.ReplyWithSimpleString(ctx, by_keys ? "keys" : unit);
}

static void say_clock(redis_ctx *ctx, const facts *f) {
  redis.ReplyWithLongLong(ctx, (long long)f->stats.clock);
}

static void say_arriving(redis_ctx *ctx, const facts *f) {
  size_t len = 0;
  nay_decoder_bytes(f->value->arriving, &len, NULL);
  redis.ReplyWithLongLong(ctx, (long long)len);
}

static void say_expected(redis_ctx *ctx, const facts *f) {
  uint64_t total = 0;
  nay_decoder_bytes(f->value->arriving, NULL, &total);
  redis.ReplyWithLongLong(ctx, (long long)total);
}

/* The order of the reply. Fields that need a filter are left out while there is none. */
static const struct field {
  const char *name;
  void (*say)(redis_ctx *ctx, const facts *facts);
  bool is_measured, needs_filter;
} fields[] = {
    {"kind", say_kind, false, true},
    {"size", say_size, false, false},
    {"file size", say_file, false, true},
    {"capacity", say_capacity, true, true},
    {"keys", say_keys, true, true},
    {"fill", say_fill, true, true},
    {"rate", say_rate, true, true},
    {"planned rate", say_planned, true, true},
    {"overloaded", say_overloaded, true, true},
    {"hash", say_hash, true, true},
    {"probes", say_probes, true, true},
    {"levels", say_levels, true, true},
    {"memory limit", say_limit, false, true},
    {"window", say_window, false, true},
    {"window unit", say_unit, false, true},
    {"clock", say_clock, true, true},
    {"bytes arrived", say_arriving, false, false},
    {"bytes expected", say_expected, false, false},
};
enum { NFIELDS = sizeof fields / sizeof fields[0] };

static void facts_gather(facts *f, bool measure) {
  if (f->filter == NULL) return;
  nay_filter_params(f->filter, &f->params);
  if (measure) nay_filter_stats(f->filter, &f->stats);
}

static int info_all(redis_ctx *ctx, facts *f) {
  long n = 0;
  facts_gather(f, true);
  for (size_t i = 0; i < NFIELDS; i++) n += f->filter != NULL || !fields[i].needs_filter;
  redis.ReplyWithMap(ctx, n);
  for (size_t i = 0; i < NFIELDS; i++) {
    if (f->filter == NULL && fields[i].needs_filter) continue;
    redis.ReplyWithSimpleString(ctx, fields[i].name);
    fields[i].say(ctx, f);
  }
  return REDIS_OK;
}

static int info_one(redis_ctx *ctx, facts *f, const redis_string *name) {
  for (size_t i = 0; i < NFIELDS; i++) {
    if (!word_is(name, fields[i].name)) continue;
    if (f->filter == NULL && fields[i].needs_filter) return reply_error(ctx, ERROR_LOADING);
    facts_gather(f, fields[i].is_measured);
    fields[i].say(ctx, f);
    return REDIS_OK;
  }
  return reply_error(ctx, "ERR no such field");
}

int native_info_command(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc < 2 || argc > 3) return redis.WrongArity(ctx);
  module_key key;
  facts f = {.value = NULL};
  key_state state = key_open(ctx, argv[1], REDIS_READ, native_type, &key);
  if (state != KEY_OURS) {
    reply_error(ctx, state == KEY_OTHER ? ERROR_WRONGTYPE : ERROR_NOT_FOUND);
  } else {
    f.value = key.value;
    f.filter = f.value->filter;
    if (argc == 3) {
      info_one(ctx, &f, argv[2]);
    } else {
      info_all(ctx, &f);
    }
  }
  key_close(&key);
  return REDIS_OK;
}
