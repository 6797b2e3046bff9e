/*
 * bf_dump.c - BF.SCANDUMP and BF.LOADCHUNK: filters as a header and chunks of at most 16 MiB.
 */
#include "bf.h"
#include "reply.h"

/* Iterator 0 requests the header, i > 0 the bytes from i - 1 on. The reply 0 without bytes is the
 * end. */
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
             nay__sbchain_chunk(chain, (uint64_t)iterator - 1, BF_CHUNK, &bytes, &len)) {
    reply_chunk(ctx, iterator + (long long)len, bytes, len);
  } else {
    reply_chunk(ctx, 0, "", 0);
  }
}

int bf_scandump(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc != 3) return redis.WrongArity(ctx);
  module_key key;
  if (bf_need(ctx, argv[1], &key) == NULL) return REDIS_OK;
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
  nay_status status = nay__sbchain_decode_header(bytes, len, &allocator, NULL, &chain);
  if (status == NAY_ENOMEM) return memory_error(ERROR_NO_MEMORY);
  if (status != NAY_OK) return "ERR received bad data";
  memory_value_made(&bf_memory);
  redis.ModuleTypeSetValue(key->handle, bf_type, chain);
  return NULL;
}

/* The iterator of a chunk is the one that BF.SCANDUMP returned with it: the end of the chunk. */
static const char *bf_load_chunk(module_key *key, long long iterator, const char *bytes,
                                 size_t len) {
  if (iterator <= 0 || (uint64_t)iterator < len) return "ERR received bad data";
  uint64_t behind = (uint64_t)iterator - len;
  nay_status status =
      behind == 0 ? NAY_EINVAL : nay__sbchain_load_chunk(key->value, behind - 1, bytes, len);
  if (status == NAY_EINVAL) return "ERR invalid offset - no link found";
  return status == NAY_OK ? NULL : "ERR invalid chunk - Too big for current filter";
}

int bf_loadchunk(redis_ctx *ctx, redis_string **argv, int argc) {
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
