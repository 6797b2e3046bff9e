/*
 * native_info.c - NAY.INFO: the properties of a filter.
 *
 * Fill, number of keys and FPR are computed from all bits: a gigabyte takes about a third of a
 * second. A request for one field that needs no such pass makes none.
 */
#include <math.h>
#include <string.h>

#include "native.h"
#include "reply.h"

#define ERROR_NO_FIELD "ERR no such field"

typedef struct facts {
  const native_value *value;
  const nay_filter *filter;
  nay_params params; /* zero for a static filter */
  nay_stats stats;   /* zero unless they were measured */
} facts;

static long long whole(double x) { return x >= 0 && x < 9e18 ? (long long)(x + 0.5) : -1; }

static void info_kind(redis_ctx *ctx, const facts *f) {
  redis.ReplyWithSimpleString(ctx, nay_kind_name(nay_filter_kind(f->filter)));
}

static void info_size(redis_ctx *ctx, const facts *f) {
  redis.ReplyWithLongLong(ctx, (long long)native_methods.mem_usage(f->value));
}

static void info_file(redis_ctx *ctx, const facts *f) {
  redis.ReplyWithLongLong(ctx, (long long)nay_filter_encoded_size(f->filter));
}

static void info_capacity(redis_ctx *ctx, const facts *f) {
  redis.ReplyWithLongLong(ctx, (long long)f->stats.nkeys);
}

static void info_hash(redis_ctx *ctx, const facts *f) {
  redis.ReplyWithSimpleString(ctx, nay_hash_name(f->stats.hash));
}

static void info_key_type(redis_ctx *ctx, const facts *f) {
  redis.ReplyWithSimpleString(ctx, nay_filter_key(f->filter));
}

static void info_keys(redis_ctx *ctx, const facts *f) {
  redis.ReplyWithLongLong(ctx, whole(f->stats.nkeys_estimated));
}

static void info_fill(redis_ctx *ctx, const facts *f) { redis.ReplyWithDouble(ctx, f->stats.fill); }

static void info_rate(redis_ctx *ctx, const facts *f) {
  redis.ReplyWithDouble(ctx, isnan(f->stats.fpr_now) ? 1 : f->stats.fpr_now);
}

static void info_planned(redis_ctx *ctx, const facts *f) {
  redis.ReplyWithDouble(ctx, f->stats.fpr_planned);
}

static void info_overloaded(redis_ctx *ctx, const facts *f) {
  redis.ReplyWithBool(ctx, f->stats.overloaded);
}

static void info_saturated(redis_ctx *ctx, const facts *f) {
  redis.ReplyWithBool(ctx, f->stats.saturated);
}

static void info_probes(redis_ctx *ctx, const facts *f) {
  redis.ReplyWithLongLong(ctx, f->stats.k);
}

static void info_levels(redis_ctx *ctx, const facts *f) {
  redis.ReplyWithLongLong(ctx, f->stats.nlevels);
}

static void info_range(redis_ctx *ctx, const facts *f) {
  redis.ReplyWithLongLong(ctx, whole((double)f->stats.range_length));
}

static void info_exact(redis_ctx *ctx, const facts *f) {
  redis.ReplyWithBool(ctx, f->stats.range_exact != 0);
}

static void info_limit(redis_ctx *ctx, const facts *f) {
  redis.ReplyWithLongLong(ctx, (long long)f->params.max_nbytes);
}

static void info_window(redis_ctx *ctx, const facts *f) {
  uint64_t length = f->params.window != 0 ? f->params.window : f->params.nkeys;
  redis.ReplyWithLongLong(ctx, (long long)length);
}

static void info_unit(redis_ctx *ctx, const facts *f) {
  const char *timed = f->value->extras.by_seconds ? "seconds" : "ticks";
  redis.ReplyWithSimpleString(ctx, f->params.window != 0 ? timed : "keys");
}

static void info_clock(redis_ctx *ctx, const facts *f) {
  redis.ReplyWithLongLong(ctx, (long long)f->stats.clock);
}

static void info_arrived(redis_ctx *ctx, const facts *f) {
  size_t len = 0;
  nay__decoder_bytes(f->value->arriving, &len, NULL);
  redis.ReplyWithLongLong(ctx, (long long)len);
}

static void info_expected(redis_ctx *ctx, const facts *f) {
  uint64_t total = 0;
  nay__decoder_bytes(f->value->arriving, NULL, &total);
  redis.ReplyWithLongLong(ctx, (long long)total);
}

/* The values that have a field. */
typedef enum about { ANY, FILTER, GROWING, WINDOW, RANGES, ARRIVING } about;

/* The order of the reply. */
static const struct field {
  const char *name;
  void (*reply)(redis_ctx *ctx, const facts *facts);
  about about;
  bool is_measured;
} fields[] = {
    {"kind", info_kind, FILTER, false},
    {"size", info_size, ANY, false},
    {"file size", info_file, FILTER, false},
    {"capacity", info_capacity, FILTER, true},
    {"keys", info_keys, FILTER, true},
    {"fill", info_fill, FILTER, true},
    {"rate", info_rate, FILTER, true},
    {"planned rate", info_planned, FILTER, true},
    {"overloaded", info_overloaded, FILTER, true},
    {"saturated", info_saturated, FILTER, true},
    {"hash", info_hash, FILTER, true},
    {"key type", info_key_type, FILTER, false},
    {"probes", info_probes, FILTER, true},
    {"levels", info_levels, FILTER, true},
    {"memory limit", info_limit, GROWING, false},
    {"window", info_window, WINDOW, false},
    {"window unit", info_unit, WINDOW, false},
    {"clock", info_clock, WINDOW, true},
    {"range length", info_range, RANGES, true},
    {"exact", info_exact, RANGES, true},
    {"bytes arrived", info_arrived, ARRIVING, false},
    {"bytes expected", info_expected, ARRIVING, false},
};
enum { NFIELDS = sizeof fields / sizeof fields[0] };

static bool has_field(const facts *f, const struct field *field) {
  unsigned traits = f->filter != NULL ? nay_kind_traits(nay_filter_kind(f->filter)) : 0;
  switch (field->about) {
    case FILTER: return f->filter != NULL;
    case GROWING: return (traits & NAY_CAN_GROW) != 0;
    case WINDOW: return (traits & NAY_CAN_EXPIRE) != 0;
    case RANGES: return (traits & NAY_CAN_RANGE) != 0;
    case ARRIVING: return f->value->arriving != NULL;
    case ANY: break;
  }
  return true;
}

static void facts_gather(facts *f, bool measure) {
  if (f->filter == NULL) return;
  f->params = (nay_params){.size = sizeof f->params};
  f->stats = (nay_stats){.size = sizeof f->stats};
  nay_filter_params(f->filter, &f->params);
  if (measure) nay_filter_stats(f->filter, &f->stats);
}

static int info_all(redis_ctx *ctx, facts *f) {
  long n = 0;
  facts_gather(f, true);
  for (size_t i = 0; i < NFIELDS; i++) n += has_field(f, &fields[i]);
  redis.ReplyWithMap(ctx, n);
  for (size_t i = 0; i < NFIELDS; i++) {
    if (!has_field(f, &fields[i])) continue;
    redis.ReplyWithSimpleString(ctx, fields[i].name);
    fields[i].reply(ctx, f);
  }
  return REDIS_OK;
}

static int info_one(redis_ctx *ctx, facts *f, const redis_string *name) {
  for (size_t i = 0; i < NFIELDS; i++) {
    if (!arg_is(name, fields[i].name)) continue;
    if (!has_field(f, &fields[i])) {
      return reply_error(ctx, f->filter == NULL ? ERROR_LOADING : ERROR_NO_FIELD);
    }
    facts_gather(f, fields[i].is_measured);
    fields[i].reply(ctx, f);
    return REDIS_OK;
  }
  return reply_error(ctx, ERROR_NO_FIELD);
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
