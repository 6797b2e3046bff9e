/*
 * native_window.c - NAY.ADVANCE, and the clock of windows by seconds.
 *
 * The master's clock counts: before it writes to a window by seconds it reads its clock, and when a
 * generation has ended it replicates NAY.ADVANCE with that second. Replicas and the AOF replay the
 * master's times and never read their own clocks. Reads do not advance a window: a read must not
 * change a key, and a replica must answer as its master does. So a key expires with the first write
 * after its time, never early.
 */
#include "native.h"
#include "reply.h"

static uint64_t window_now(void) {
  long long now = redis.Milliseconds();
  return now > 0 ? (uint64_t)now / 1000 : 0;
}

/* A window never goes back, and does not advance within a generation. */
static bool window_is_due(const native_value *value, uint64_t now) {
  if (value->clock == 0) return true;
  return now / value->generation > value->clock / value->generation;
}

static void window_replicate(redis_ctx *ctx, redis_string *name, uint64_t now) {
  redis.Replicate(ctx, "NAY.ADVANCE", "sl", name, (long long)now);
}

static nay_status window_move(native_value *value, uint64_t now) {
  nay_status status = nay_filter_advance(value->filter, now);
  if (status == NAY_OK && value->extras.by_seconds) value->clock = now;
  return status;
}

void native_tick(redis_ctx *ctx, redis_string *name, native_value *value) {
  if (!value->extras.by_seconds || must_obey(ctx)) return;
  uint64_t now = window_now();
  if (window_is_due(value, now) && window_move(value, now) == NAY_OK) {
    window_replicate(ctx, name, now);
  }
}

/* The time that a command states or implies. NULL, or the error. */
static const char *window_moment(redis_ctx *ctx, const native_value *value, redis_string **argv,
                                 int argc, uint64_t *now) {
  bool by_seconds = value->extras.by_seconds;
  if (argc == 2) {
    *now = window_now();
    return by_seconds ? NULL : "ERR the time is missing: this window counts ticks";
  }
  if (!native_parse_u64(argv[2], now) || *now > INT64_MAX) return "ERR the time must be an integer";
  if (by_seconds && *now > window_now() && !must_obey(ctx)) {
    return "ERR the time is later than the clock of the server";
  }
  return NULL;
}

static int window_reply(redis_ctx *ctx, nay_status status) {
  switch (status) {
    case NAY_OK: return reply_ok(ctx);
    case NAY_EINVAL: return reply_error(ctx, "ERR the clock cannot go back");
    case NAY_ENOTSUP: return reply_error(ctx, "ERR this filter has no clock");
    default: return native_reply_status(ctx, status, NULL);
  }
}

int native_advance_command(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc < 2 || argc > 3) return redis.WrongArity(ctx);
  module_key key;
  nay_filter *filter;
  nay_params params = {.size = sizeof params};
  uint64_t now = 0;
  native_state state = native_open(ctx, argv[1], REDIS_READ | REDIS_WRITE, &key, &filter);
  if (state == NATIVE_ANSWERED) return REDIS_OK;
  const char *error = NULL;
  if (state == NATIVE_MISSING) {
    error = ERROR_NOT_FOUND;
  } else if (nay_filter_params(filter, &params) != NAY_OK || params.window == 0) {
    error = "ERR this filter has no clock";
  } else {
    error = window_moment(ctx, key.value, argv, argc, &now);
  }
  nay_status status = error == NULL ? window_move(key.value, now) : NAY_OK;
  key_close(&key);
  if (error != NULL) return reply_error(ctx, error);
  if (status == NAY_OK) {
    window_replicate(ctx, argv[1], now);
    key_event(ctx, "nay.advance", argv[1]);
  }
  return window_reply(ctx, status);
}
