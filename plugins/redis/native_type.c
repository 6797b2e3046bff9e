/*
 * native_type.c - the data type `nayfilter`: a native filter as a value of the server.
 *
 *   RDB   u parts: 1 a filter, 2 a partly loaded file; then for each part that is present
 *         u extras: 1 its clock is the server's, 2 a secret key follows, s 16 bytes
 *         u length, then strings of at most 16 MiB with that many bytes of a native file
 *   AOF   NAY.LOAD key offset bytes [SECONDS] [HASHKEY hex], in the same chunks
 *
 * The bytes are those of nay_filter_save, with the library's checksums, versions and validation: a
 * decoded filter is safe to query whoever wrote it. Saving makes no copy, and loading decodes into
 * the final buffer. A header with a length of 2^60 allocates a few megabytes until the bytes have
 * arrived.
 */
#include "native.h"

#include <string.h>

redis_type *native_type;
memory_use native_memory;

#define PART_FILTER 1u
#define PART_ARRIVING 2u
#define EXTRA_SECONDS 1u
#define EXTRA_SECRET 2u

/* ---- values ---- */

nay_allocator native_allocator(void) {
  nay_zallocator zero = memory_zallocator(&native_memory);
  return (nay_allocator){.alloc = zero.zalloc, .free = zero.free, .ctx = zero.ctx};
}

native_value *native_value_new(nay_filter *filter, const native_extras *extras) {
  nay_allocator a = native_allocator();
  native_value *value = a.alloc(a.ctx, sizeof *value);
  if (value == NULL) return NULL;
  *value = (native_value){.filter = NULL};
  if (filter != NULL && native_value_adopt(value, filter, extras) != NULL) {
    a.free(a.ctx, value, sizeof *value);
    return NULL;
  }
  memory_value_made(&native_memory);
  return value;
}

void native_value_free(native_value *value) {
  if (value == NULL) return;
  nay_allocator a = native_allocator();
  nay_filter_free(value->filter);
  nay__decoder_free(value->arriving);
  a.free(a.ctx, value, sizeof *value);
  memory_value_freed(&native_memory);
}

void native_value_drop_arriving(native_value *value) {
  nay__decoder_free(value->arriving);
  value->arriving = NULL;
  value->arriving_extras = (native_extras){.by_seconds = false};
}

/* Only a window by ticks has a clock that could be the server's. */
const char *native_value_refuses(const nay_filter *filter, const native_extras *extras) {
  nay_hash hash;
  nay_hasher hasher = {.size = sizeof hasher};
  nay_params params = {.size = sizeof params};
  nay_filter_hasher(filter, &hasher);
  switch (nay_hasher_hash(&hasher, "", 0, &hash)) {
    case NAY_OK: break;
    case NAY_EKEY: return "the file does not contain its secret key: give it with HASHKEY";
    default: return "this filter takes hashes from its caller, not keys";
  }
  if (!extras->by_seconds) return NULL;
  bool is_timed = nay_filter_params(filter, &params) == NAY_OK && params.window != 0;
  return is_timed ? NULL : "SECONDS is only for windows by time";
}

const char *native_value_adopt(native_value *value, nay_filter *filter,
                               const native_extras *extras) {
  if (extras->has_secret && nay_filter_unlock(filter, extras->secret) != NAY_OK) {
    return "HASHKEY is not the secret key of the filter";
  }
  const char *why = native_value_refuses(filter, extras);
  if (why != NULL) return why;
  nay_filter_free(value->filter);
  value->filter = filter;
  value->extras = *extras;
  value->generation = value->clock = 0;
  nay_params params = {.size = sizeof params};
  nay_stats stats = {.size = sizeof stats};
  if (extras->by_seconds && nay_filter_params(filter, &params) == NAY_OK &&
      nay_filter_stats(filter, &stats) == NAY_OK) {
    value->generation =
        params.window / params.generations + (params.window % params.generations != 0);
    value->clock = stats.clock;
  }
  return NULL;
}

/* ---- RDB ---- */

static void rdb_save_extras(redis_io *io, const native_extras *extras) {
  redis.SaveUnsigned(
      io, (extras->by_seconds ? EXTRA_SECONDS : 0u) + (extras->has_secret ? EXTRA_SECRET : 0u));
  if (extras->has_secret) {
    redis.SaveStringBuffer(io, (const char *)extras->secret, sizeof extras->secret);
  }
}

static nay_status rdb_save_bytes(void *ctx, const void *bytes, size_t len) {
  const char *at = bytes;
  while (len > 0) {
    size_t piece = len < NATIVE_PIECE ? len : NATIVE_PIECE;
    redis.SaveStringBuffer(ctx, at, piece);
    at += piece;
    len -= piece;
  }
  return NAY_OK;
}

static void native_rdb_save(redis_io *io, void *ptr) {
  const native_value *value = ptr;
  redis.SaveUnsigned(io, (value->filter != NULL ? PART_FILTER : 0u) +
                             (value->arriving != NULL ? PART_ARRIVING : 0u));
  if (value->filter != NULL) {
    rdb_save_extras(io, &value->extras);
    redis.SaveUnsigned(io, nay_filter_encoded_size(value->filter));
    nay_filter_encode_stream(value->filter, rdb_save_bytes, io);
  }
  if (value->arriving != NULL) {
    size_t len;
    const void *bytes = nay__decoder_bytes(value->arriving, &len, NULL);
    rdb_save_extras(io, &value->arriving_extras);
    redis.SaveUnsigned(io, len);
    rdb_save_bytes(io, bytes, len);
  }
}

static bool rdb_load_extras(redis_io *io, native_extras *extras) {
  uint64_t bits = redis.LoadUnsigned(io);
  if (redis.IsIOError(io) || (bits & ~(uint64_t)(EXTRA_SECONDS | EXTRA_SECRET)) != 0) return false;
  *extras = (native_extras){.by_seconds = (bits & EXTRA_SECONDS) != 0,
                            .has_secret = (bits & EXTRA_SECRET) != 0};
  if (!extras->has_secret) return true;
  size_t len = 0;
  char *secret = redis.LoadStringBuffer(io, &len);
  bool ok = !redis.IsIOError(io) && secret != NULL && len == sizeof extras->secret;
  if (ok) memcpy(extras->secret, secret, sizeof extras->secret);
  if (secret != NULL) redis.Free(secret);
  return ok;
}

static bool rdb_load_piece(redis_io *io, nay_decoder *decoder, uint64_t *left) {
  size_t len = 0;
  nay_diag diag = {.what = "a piece is empty or too long"};
  char *bytes = redis.LoadStringBuffer(io, &len);
  bool ok = !redis.IsIOError(io) && bytes != NULL && len != 0 && len <= *left &&
            nay__decoder_add(decoder, bytes, len, &diag) == NAY_OK;
  if (bytes != NULL) redis.Free(bytes);
  if (!ok) redis.LogIOError(io, "warning", "nayfilter: %s", diag.what);
  *left -= ok ? len : 0;
  return ok;
}

/* Loads one part: the extras, and the bytes of a native file into a decoder. */
static nay_decoder *rdb_load_part(redis_io *io, native_extras *extras) {
  nay_allocator a = native_allocator();
  nay_decoder *decoder;
  if (!rdb_load_extras(io, extras) || nay__decoder_new(&a, &decoder) != NAY_OK) return NULL;
  uint64_t left = redis.LoadUnsigned(io);
  bool ok = !redis.IsIOError(io) && left != 0;
  while (ok && left > 0) ok = rdb_load_piece(io, decoder, &left);
  if (ok) return decoder;
  nay__decoder_free(decoder);
  return NULL;
}

static bool rdb_load_filter(redis_io *io, native_value *value) {
  native_extras extras;
  nay_filter *filter = NULL;
  nay_diag diag = {.what = NULL};
  nay_decoder *decoder = rdb_load_part(io, &extras);
  if (decoder == NULL) return false;
  const char *why = nay__decoder_finish(decoder, &diag, &filter) == NAY_OK
                        ? native_value_adopt(value, filter, &extras)
                        : diag.what;
  nay__decoder_free(decoder);
  if (why == NULL) return true;
  nay_filter_free(filter);
  redis.LogIOError(io, "warning", "nayfilter: %s", why);
  return false;
}

/* A partly loaded file must be incomplete: the last byte would have made it a filter. */
static bool rdb_load_arriving(redis_io *io, native_value *value) {
  size_t len;
  uint64_t total;
  value->arriving = rdb_load_part(io, &value->arriving_extras);
  if (value->arriving == NULL) return false;
  nay__decoder_bytes(value->arriving, &len, &total);
  return len < total;
}

static void *native_rdb_load(redis_io *io, int encver) {
  if (encver != NATIVE_ENCVER) {
    redis.LogIOError(io, "warning", "nayfilter: version %d of the encoding is not known", encver);
    return NULL;
  }
  uint64_t parts = redis.LoadUnsigned(io);
  if (redis.IsIOError(io) || parts == 0 || parts > (PART_FILTER | PART_ARRIVING)) return NULL;
  native_value *value = native_value_new(NULL, NULL);
  if (value == NULL) return NULL;
  bool ok = (parts & PART_FILTER) == 0 || rdb_load_filter(io, value);
  ok = ok && ((parts & PART_ARRIVING) == 0 || rdb_load_arriving(io, value));
  if (ok) return value;
  native_value_free(value);
  return NULL;
}

/* ---- AOF ---- */

typedef struct aof_args {
  redis_string *at[4];
  size_t n;
} aof_args;

static void aof_push(aof_args *args, const char *text) {
  args->at[args->n++] = redis.CreateString(NULL, text, strlen(text));
}

/* The options at the end of NAY.LOAD. */
static aof_args aof_options(const native_extras *extras) {
  aof_args args = {.n = 0};
  if (extras->by_seconds) aof_push(&args, "SECONDS");
  if (extras->has_secret) {
    char hex[33];
    native_hex(extras->secret, hex);
    aof_push(&args, "HASHKEY");
    aof_push(&args, hex);
  }
  return args;
}

static void aof_emit(redis_io *io, redis_string *key, uint64_t offset, const void *bytes,
                     size_t len, const aof_args *args) {
  redis.EmitAOF(io, "NAY.LOAD", "slbv", key, (long long)offset, (const char *)bytes, len, args->at,
                args->n);
}

static void aof_filter(redis_io *io, redis_string *key, const native_value *value,
                       const aof_args *args) {
  size_t size = nay_filter_encoded_size(value->filter);
  char *piece = redis.Alloc(size < NATIVE_PIECE ? size : NATIVE_PIECE);
  for (size_t at = 0; at < size; at += NATIVE_PIECE) {
    size_t len = size - at < NATIVE_PIECE ? size - at : NATIVE_PIECE;
    if (nay__filter_encode_range(value->filter, at, piece, len) != NAY_OK) break;
    aof_emit(io, key, at, piece, len, args);
  }
  redis.Free(piece);
}

static void aof_arriving(redis_io *io, redis_string *key, const native_value *value,
                         const aof_args *args) {
  size_t size;
  const uint8_t *bytes = nay__decoder_bytes(value->arriving, &size, NULL);
  for (size_t at = 0; at < size; at += NATIVE_PIECE) {
    aof_emit(io, key, at, bytes + at, size - at < NATIVE_PIECE ? size - at : NATIVE_PIECE, args);
  }
}

static void native_aof_rewrite(redis_io *io, redis_string *key, void *ptr) {
  const native_value *value = ptr;
  for (unsigned part = PART_FILTER; part <= PART_ARRIVING; part++) {
    bool is_filter = part == PART_FILTER;
    if (is_filter ? value->filter == NULL : value->arriving == NULL) continue;
    aof_args args = aof_options(is_filter ? &value->extras : &value->arriving_extras);
    if (!is_filter && value->filter != NULL) aof_push(&args, "REPLACE");
    (is_filter ? aof_filter : aof_arriving)(io, key, value, &args);
    for (size_t i = 0; i < args.n; i++) redis.FreeString(NULL, args.at[i]);
  }
}

/* ---- memory ---- */

/* The requested bytes: the allocator rounds large blocks up, but their last pages stay untouched.
 */
static size_t native_mem_usage(const void *ptr) {
  const native_value *value = ptr;
  size_t arriving = 0;
  if (value->arriving != NULL) nay__decoder_bytes(value->arriving, &arriving, NULL);
  return sizeof *value + nay_filter_nbytes(value->filter) + arriving;
}

/* In pages, because unmapping them takes the time. Above 64 the server frees in a thread. */
static size_t native_free_effort(redis_string *key, const void *ptr) {
  (void)key;
  return 1 + native_mem_usage(ptr) / 4096;
}

static void *native_copy(redis_string *from, redis_string *to, const void *ptr) {
  (void)from;
  (void)to;
  const native_value *value = ptr;
  nay_allocator a = native_allocator();
  nay_filter *filter;
  if (value->filter == NULL || nay_filter_copy(value->filter, &a, NULL, &filter) != NAY_OK)
    return NULL;
  native_value *copy = native_value_new(filter, &value->extras);
  if (copy == NULL) nay_filter_free(filter);
  return copy;
}

/*
 * Three or four blocks, and no cursor: the allocator moves blocks of its slabs, at most 14 KiB; the
 * payload of a larger filter has pages of its own, which do not fragment, and stays in place.
 */
static int native_defrag(redis_defrag *ctx, redis_string *key, void **ptr) {
  (void)key;
  native_value *moved = redis.DefragAlloc(ctx, *ptr);
  if (moved != NULL) *ptr = moved;
  native_value *value = *ptr;
  value->filter = nay__filter_move(value->filter, memory_move, ctx);
  return 0;
}

/* ---- digest ---- */

static nay_status digest_add(void *ctx, const void *bytes, size_t len) {
  redis.DigestAddStringBuffer(ctx, bytes, len);
  return NAY_OK;
}

static void digest_extras(redis_digest *digest, const native_extras *extras) {
  redis.DigestAddLongLong(digest, extras->by_seconds);
  redis.DigestAddStringBuffer(digest, (const char *)extras->secret, sizeof extras->secret);
}

static void native_digest(redis_digest *digest, void *ptr) {
  const native_value *value = ptr;
  if (value->filter != NULL) {
    digest_extras(digest, &value->extras);
    nay_filter_encode_stream(value->filter, digest_add, digest);
  }
  if (value->arriving != NULL) {
    size_t len;
    const void *bytes = nay__decoder_bytes(value->arriving, &len, NULL);
    digest_extras(digest, &value->arriving_extras);
    redis.DigestAddStringBuffer(digest, bytes, len);
  }
  redis.DigestEndSequence(digest);
}

static void native_free(void *ptr) { native_value_free(ptr); }

/* No `unlink`: a filter holds nothing but memory. */
redis_type_methods native_methods = {.version = REDIS_TYPE_METHODS_VERSION,
                                     .rdb_load = native_rdb_load,
                                     .rdb_save = native_rdb_save,
                                     .aof_rewrite = native_aof_rewrite,
                                     .mem_usage = native_mem_usage,
                                     .digest = native_digest,
                                     .free = native_free,
                                     .free_effort = native_free_effort,
                                     .copy = native_copy,
                                     .defrag = native_defrag};
