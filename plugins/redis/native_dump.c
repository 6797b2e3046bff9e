/*
 * native_dump.c - NAY.LOAD and NAY.DUMP: native files in chunks of any length.
 *
 * The header of a file states its length, so no end marker is needed: the chunk with the last byte
 * completes the filter if every checksum matches. Until then the key answers from its previous
 * filter, or with an error; an incomplete filter never answers nay.
 *
 * A chunk that fails changes nothing. The client can send it again, or restart at offset 0.
 */
#include "native.h"
#include "reply.h"

enum { HEADER_LEN = 64 };
#define DUMP_MAX ((uint64_t)256 << 20)

/* ---- NAY.LOAD ---- */

typedef struct load {
  const char *bytes;
  size_t len;
  uint64_t offset;
  bool replace;
  native_extras extras;
} load;

/* NULL, or the error. */
static const char *load_parse(load *l, redis_string **argv, int argc) {
  *l = (load){.replace = false};
  l->bytes = redis.StringPtrLen(argv[3], &l->len);
  if (!native_parse_u64(argv[2], &l->offset)) return "ERR the offset must be an integer";
  for (int at = 4; at < argc; at++) {
    if (arg_is(argv[at], "REPLACE")) {
      l->replace = true;
    } else if (arg_is(argv[at], "SECONDS")) {
      l->extras.by_seconds = true;
    } else if (arg_is(argv[at], "HASHKEY") && at + 1 < argc) {
      if (!native_parse_hex(argv[++at], l->extras.secret)) {
        return "ERR HASHKEY must be 32 hexadecimal digits";
      }
      l->extras.has_secret = true;
    } else {
      return "ERR unknown option";
    }
  }
  if (l->len == 0) return "ERR the chunk is empty";
  if (l->offset == 0 && l->len < HEADER_LEN)
    return "ERR the first chunk must contain the 64 bytes of the header";
  return NULL;
}

/* Whether the chunk continues the load; if not, the client has received an error. */
static bool load_fits(redis_ctx *ctx, const load *l, const native_value *value) {
  size_t here = 0;
  if (value != NULL) nay__decoder_bytes(value->arriving, &here, NULL);
  if (l->offset == 0 && value != NULL && value->filter != NULL && !l->replace) {
    reply_error(ctx, "BUSYKEY Target key name already exists.");
    return false;
  }
  if (l->offset != 0 && l->offset != here) {
    reply_errorf(ctx, "ERR the next offset is %zu", here);
    return false;
  }
  return true;
}

static int load_reply_diag(redis_ctx *ctx, nay_status status, const nay_diag *diag) {
  if (status == NAY_ENOMEM) return reply_error(ctx, memory_error(ERROR_NO_MEMORY));
  return reply_errorf(ctx, "ERR %s (at byte %llu)", diag->what, (unsigned long long)diag->offset);
}

/* The options of the chunks so far and of this one. */
static native_extras load_extras(const load *l, const native_value *value) {
  if (l->offset == 0) return l->extras;
  native_extras extras = l->extras.has_secret ? l->extras : value->arriving_extras;
  extras.by_seconds = l->extras.by_seconds || value->arriving_extras.by_seconds;
  return extras;
}

/*
 * The last byte has arrived. The bytes are verified in place before the decoder releases them, so
 * that the client can still supply a missing or wrong secret key.
 */
static bool load_finish(redis_ctx *ctx, native_value *value, nay_decoder *decoder,
                        const native_extras *extras) {
  nay_diag diag = {.what = NULL};
  nay_view view = {.size = sizeof view};
  nay_filter *filter = NULL;
  size_t len;
  const void *bytes = nay__decoder_bytes(decoder, &len, NULL);
  const uint8_t *secret = extras->has_secret ? extras->secret : NULL;
  nay_status status = nay_view_open(bytes, len, secret, &diag, &view);
  const char *why = NULL;
  if (status == NAY_OK) why = native_value_refuses(nay_view_filter(&view), extras);
  if (status == NAY_OK && why == NULL) status = nay__decoder_finish(decoder, &diag, &filter);
  if (status == NAY_OK && why == NULL) why = native_value_adopt(value, filter, extras);
  if (status == NAY_OK && why == NULL) return true;
  nay_filter_free(filter);
  if (why != NULL) {
    reply_errorf(ctx, "ERR %s", why);
  } else {
    load_reply_diag(ctx, status, &diag);
  }
  return false;
}

/* Adds the chunk. Returns how many bytes are missing, or -1: nothing has changed. */
static long long load_take(redis_ctx *ctx, const load *l, native_value *value) {
  nay_allocator a = native_allocator();
  nay_diag diag = {.what = NULL};
  nay_decoder *decoder = l->offset != 0 ? value->arriving : NULL;
  if (decoder == NULL && nay__decoder_new(&a, &decoder) != NAY_OK) {
    reply_error(ctx, memory_error(ERROR_NO_MEMORY));
    return -1;
  }
  native_extras extras = load_extras(l, value);
  size_t len = 0;
  uint64_t total = 0;
  nay_status status = nay__decoder_add(decoder, l->bytes, l->len, &diag);
  nay__decoder_bytes(decoder, &len, &total);
  if (status == NAY_OK && !memory_permits(total)) status = NAY_ENOMEM;
  if (status != NAY_OK) load_reply_diag(ctx, status, &diag);
  bool is_last = status == NAY_OK && len == total;
  bool ok = status == NAY_OK && (!is_last || load_finish(ctx, value, decoder, &extras));
  if (!ok) {
    nay__decoder_truncate(decoder, (size_t)l->offset);
    if (decoder != value->arriving) nay__decoder_free(decoder);
    return -1;
  }
  if (decoder != value->arriving) native_value_drop_arriving(value);
  value->arriving = decoder;
  value->arriving_extras = extras;
  if (is_last) native_value_drop_arriving(value);
  return (long long)(total - len);
}

int native_load_command(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc < 4) return redis.WrongArity(ctx);
  load l;
  module_key key;
  const char *error = load_parse(&l, argv, argc);
  if (error != NULL) return reply_error(ctx, error);
  key_state state = key_open(ctx, argv[1], REDIS_READ | REDIS_WRITE, native_type, &key);
  native_value *value = state == KEY_OURS ? key.value : NULL;
  long long missing = -1;
  if (state == KEY_OTHER) {
    reply_error(ctx, ERROR_WRONGTYPE);
  } else if (load_fits(ctx, &l, value)) {
    if (value == NULL) value = native_value_new(NULL, NULL);
    if (value == NULL) {
      reply_error(ctx, ERROR_NO_MEMORY);
    } else {
      missing = load_take(ctx, &l, value);
      if (state == KEY_MISSING && missing < 0) native_value_free(value);
      if (state == KEY_MISSING && missing >= 0) {
        redis.ModuleTypeSetValue(key.handle, native_type, value);
      }
    }
  }
  key_close(&key);
  if (missing < 0) return REDIS_OK;
  redis.ReplicateVerbatim(ctx);
  if (missing == 0) key_event(ctx, "nay.load", argv[1]);
  return redis.ReplyWithLongLong(ctx, missing);
}

/* ---- NAY.DUMP ---- */

static int dump_reply(redis_ctx *ctx, const nay_filter *filter, uint64_t offset, uint64_t count) {
  size_t size = nay_filter_encoded_size(filter);
  if (offset >= size) return reply_errorf(ctx, "ERR the offset is not below %zu", size);
  size_t len = size - offset < count ? (size_t)(size - offset) : (size_t)count;
  char *piece = redis.TryAlloc(len);
  if (piece == NULL) return reply_error(ctx, ERROR_NO_MEMORY);
  nay_status status = nay__filter_encode_range(filter, offset, piece, len);
  if (status == NAY_OK) {
    uint64_t next = offset + len;
    reply_chunk(ctx, next < size ? (long long)next : 0, piece, len);
  } else {
    native_reply_status(ctx, status, NULL);
  }
  redis.Free(piece);
  return REDIS_OK;
}

int native_dump_command(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc < 3 || argc > 4) return redis.WrongArity(ctx);
  module_key key;
  nay_filter *filter;
  uint64_t offset, count = NATIVE_PIECE;
  if (!native_parse_u64(argv[2], &offset))
    return reply_error(ctx, "ERR the offset must be an integer");
  if (argc == 4 && (!native_parse_u64(argv[3], &count) || count == 0 || count > DUMP_MAX)) {
    return reply_error(ctx, "ERR the count must be a number of bytes up to 268435456");
  }
  native_state state = native_open(ctx, argv[1], REDIS_READ, &key, &filter);
  if (state == NATIVE_ANSWERED) return REDIS_OK;
  if (state == NATIVE_MISSING) {
    reply_error(ctx, ERROR_NOT_FOUND);
  } else {
    dump_reply(ctx, filter, offset, count);
  }
  key_close(&key);
  return REDIS_OK;
}
