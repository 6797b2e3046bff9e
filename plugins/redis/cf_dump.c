/*
 * cf_dump.c - CF.SCANDUMP and CF.LOADCHUNK: filters as a header and chunks.
 */
#include "cf.h"
#include "reply.h"

#define ERROR_POSITION "Invalid position"

/* CF.SCANDUMP key iterator: 0 returns the header, else the chunk at offset iterator - 1. */
int cf_scandump(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc != 3) return redis.WrongArity(ctx);
  long long at;
  if (redis.StringToLongLong(argv[2], &at) != REDIS_OK || at < 0) {
    return reply_error(ctx, ERROR_POSITION);
  }
  module_key key;
  nay_cfchain *chain = key_need(ctx, cf_open(ctx, argv[1], &key), &key);
  if (chain == NULL) return REDIS_OK;
  uint8_t header[NAY_CFCHAIN_HEADER_LEN];
  size_t len = sizeof header;
  const uint8_t *bytes = header;
  if (at == 0) {
    nay_cfchain_header h;
    nay__cfchain_describe(chain, &h);
    nay__cfchain_write_header(&h, header);
    at = 1;
  } else {
    bytes = nay__cfchain_chunk(chain, (uint64_t)at - 1, &len);
    at = bytes != NULL ? at + (long long)len : 0;
  }
  reply_chunk(ctx, at, bytes, len);
  key_close(&key);
  return REDIS_OK;
}

/* Loads a chunk into a filter; the iterator is the end of the chunk. */
static const char *cf_load_chunk(nay_cfchain *chain, long long at, const char *data, size_t len) {
  if (at < 1 || (uint64_t)at - 1 < len) return "Couldn't load chunk!";
  nay_status status = nay__cfchain_load(chain, (uint64_t)at - 1 - len, data, len);
  return status == NAY_OK ? NULL : "Couldn't load chunk!";
}

static const char *cf_load_header(module_key *key, const char *data, size_t len) {
  nay_cfchain_header header;
  if (len != NAY_CFCHAIN_HEADER_LEN) return "Invalid header";
  if (nay__cfchain_read_header(data, len, NULL, &header) != NAY_OK ||
      cf_create(key, &header) == NULL) {
    return memory_error("Couldn't create filter!");
  }
  return NULL;
}

/* CF.LOADCHUNK key iterator data: the header and every chunk are replicated. */
int cf_loadchunk(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc != 4) return redis.WrongArity(ctx);
  long long at;
  if (redis.StringToLongLong(argv[2], &at) != REDIS_OK || at == 0) {
    return reply_error(ctx, ERROR_POSITION);
  }
  size_t len;
  const char *data = redis.StringPtrLen(argv[3], &len);
  module_key key;
  key_state state = cf_open_write(ctx, argv[1], &key);
  const char *wrong;
  if (state == KEY_OTHER) {
    wrong = ERROR_WRONGTYPE;
  } else if (state == KEY_MISSING) {
    wrong = at == 1 ? cf_load_header(&key, data, len) : ERROR_NOT_FOUND;
  } else {
    wrong = at == 1 ? ERROR_EXISTS : cf_load_chunk(key.value, at, data, len);
  }
  key_close(&key);
  if (wrong != NULL) return reply_error(ctx, wrong);
  redis.ReplicateVerbatim(ctx);
  key_event(ctx, "cuckoo.loadchunk", argv[1]);
  return reply_ok(ctx);
}
