/* reply.c - replies that several commands give. */
#include "reply.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

int reply_ok(redis_ctx *ctx) { return redis.ReplyWithSimpleString(ctx, "OK"); }

int reply_error(redis_ctx *ctx, const char *text) { return redis.ReplyWithError(ctx, text); }

int reply_errorf(redis_ctx *ctx, const char *format, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return redis.ReplyWithError(ctx, text);
}

void reply_field(redis_ctx *ctx, const char *name, long long value) {
  redis.ReplyWithSimpleString(ctx, name);
  redis.ReplyWithLongLong(ctx, value);
}

bool reply_is_resp3(redis_ctx *ctx) { return (redis.GetContextFlags(ctx) & REDIS_CTX_RESP3) != 0; }

int reply_chunk(redis_ctx *ctx, long long next, const void *bytes, size_t len) {
  redis.ReplyWithArray(ctx, 2);
  redis.ReplyWithLongLong(ctx, next);
  if (bytes == NULL) return redis.ReplyWithNull(ctx);
  return redis.ReplyWithStringBuffer(ctx, bytes, len);
}

bool arg_is(const redis_string *argument, const char *word) {
  size_t len;
  const char *text = redis.StringPtrLen(argument, &len);
  return len == strlen(word) && strncasecmp(text, word, len) == 0;
}
