/*
 * reply.h - replies that several commands give. ReplyWithBool and ReplyWithMap of the server turn
 * into integers and flat arrays for RESP2 clients by themselves.
 */
#ifndef NAY_REDIS_REPLY_H
#define NAY_REDIS_REPLY_H

#include "redis_api.h"

#define ERROR_WRONGTYPE "WRONGTYPE Operation against a key holding the wrong kind of value"
#define ERROR_NOT_FOUND "ERR not found"
#define ERROR_EXISTS "ERR item exists"
#define ERROR_NO_MEMORY "ERR Insufficient memory to create filter"

int reply_ok(redis_ctx *ctx);
int reply_error(redis_ctx *ctx, const char *text);

/* reply_errorf: replies with a formatted error of at most 255 characters. */
int reply_errorf(redis_ctx *ctx, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* reply_field: a name and a number of a map. */
void reply_field(redis_ctx *ctx, const char *name, long long value);

/* reply_is_resp3: whether the client speaks RESP3. */
bool reply_is_resp3(redis_ctx *ctx);

/* reply_chunk: the reply of a dump command: the next iterator, and bytes (NULL: a null reply). */
int reply_chunk(redis_ctx *ctx, long long next, const void *bytes, size_t len);

/* arg_is: whether an argument equals this word, ignoring case. */
bool arg_is(const redis_string *argument, const char *word);

#endif /* NAY_REDIS_REPLY_H */
