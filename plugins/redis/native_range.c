/*
 * native_range.c - NAY.RANGE: whether a range filter (nay_range.h), loaded from a native file, may
 * have a key between two keys, both included. 0 is certain.
 *
 * Both ends are items by the key description of the filter, as in NAY.TEST: an end that is no value
 * of the type, and a first end above the second, are errors, never a nay.
 */
#include <nay_range.h>

#include "native.h"
#include "reply.h"

#define ERROR_ENDS "ERR the first end of the range is above the second"

/* Replies with the answer, or with the reason why there is none. */
static void range_reply(redis_ctx *ctx, const nay_filter *filter, redis_string *const ends[2]) {
  native_item items[2] = {{.key = NULL}, {.key = NULL}};
  nay_diag diag = {.what = NULL};
  nay_status status = NAY_OK;
  bool maybe = true;
  for (unsigned i = 0; i < 2 && status == NAY_OK; i++) {
    status = native_item_read(filter, ends[i], &items[i], &diag);
  }
  if (status != NAY_OK) {
    native_item_refused(ctx, filter, status, &diag);
  } else {
    status = nay_filter_may_contain_range(filter, items[0].key, items[0].len, items[1].key,
                                          items[1].len, &maybe);
    if (status == NAY_OK) redis.ReplyWithBool(ctx, maybe);
    if (status == NAY_EINVAL) reply_error(ctx, ERROR_ENDS);
    if (status != NAY_OK && status != NAY_EINVAL) native_reply_status(ctx, status, NULL);
  }
  for (unsigned i = 0; i < 2; i++) native_item_free(&items[i]);
}

int native_range_command(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc != 4) return redis.WrongArity(ctx);
  module_key key;
  nay_filter *filter = NULL;
  native_state state = native_open(ctx, argv[1], REDIS_READ, &key, &filter);
  if (state == NATIVE_ANSWERED) return REDIS_OK;
  if (state == NATIVE_MISSING) {
    redis.ReplyWithBool(ctx, false);
  } else if ((nay_kind_traits(nay_filter_kind(filter)) & NAY_CAN_RANGE) == 0) {
    reply_errorf(ctx, "ERR a %s filter does not answer ranges",
                 nay_kind_name(nay_filter_kind(filter)));
  } else {
    range_reply(ctx, filter, argv + 2);
  }
  key_close(&key);
  return REDIS_OK;
}
