/*
 * cf_type.c - the data type MBbloomCF: RedisBloom's cuckoo filter in an RDB file, in a DUMP, in an
 * AOF, in memory.
 *
 *   version 4   u filters | u buckets | u items | u deletes | u bucketsize | u maxiterations |
 *               u expansion | { u buckets, str slots } for each sub-filter
 *   before 4    u filters | u buckets | u items | { str slots } ; the rest was 2, 20 and 1 for all
 *
 * Restored bytes may come from an attacker. The library checks every number before it allocates,
 * the length of each string must agree with the numbers, and items are counted, not trusted.
 */

#include "cf.h"

redis_type *cf_type;
memory_use cf_memory;

nay_cfchain *cf_new(const nay_cfchain_header *header) {
  nay_zallocator memory = memory_zallocator(&cf_memory);
  nay_cfchain *chain;
  if (nay__cfchain_new(header, &memory, NULL, &chain) != NAY_OK) return NULL;
  memory_value_made(&cf_memory);
  return chain;
}

static void cf_free_value(void *value) {
  nay__cfchain_free(value);
  memory_value_freed(&cf_memory);
}

/* ---- RDB ---- */

static void cf_save(redis_io *io, void *value) {
  nay_cfchain_header h;
  nay__cfchain_describe(value, &h);
  redis.SaveUnsigned(io, h.nfilters);
  redis.SaveUnsigned(io, h.nbuckets);
  redis.SaveUnsigned(io, h.nitems);
  redis.SaveUnsigned(io, h.ndeletes);
  redis.SaveUnsigned(io, h.bucket_size);
  redis.SaveUnsigned(io, h.max_iterations);
  redis.SaveUnsigned(io, h.expansion);
  const uint8_t *slots;
  size_t len;
  for (uint64_t i = 0; (slots = nay__cfchain_slots(value, i, &len)) != NULL; i++) {
    redis.SaveUnsigned(io, len / h.bucket_size);
    redis.SaveStringBuffer(io, (const char *)slots, len);
  }
}

/* A 16-bit number; a larger one becomes 65,536, which is invalid in every field. */
static uint32_t cf_load_short(redis_io *io) {
  uint64_t value = redis.LoadUnsigned(io);
  return value > UINT16_MAX ? UINT16_MAX + 1u : (uint32_t)value;
}

static bool cf_load_header(redis_io *io, int encver, nay_cfchain_header *h) {
  *h = (nay_cfchain_header){
      .nfilters = redis.LoadUnsigned(io),
      .bucket_size = 2,
      .max_iterations = 20,
      .expansion = 1,
  };
  h->nbuckets = redis.LoadUnsigned(io);
  h->nitems = redis.LoadUnsigned(io);
  if (encver >= 4) {
    h->ndeletes = redis.LoadUnsigned(io);
    h->bucket_size = cf_load_short(io);
    h->max_iterations = cf_load_short(io);
    h->expansion = cf_load_short(io);
  }
  return !redis.IsIOError(io);
}

/* Loads one sub-filter; it adopts the buffer that the server read its slots into. */
static bool cf_load_filter(redis_io *io, int encver, nay_cfchain *chain, uint64_t i,
                           uint64_t nbuckets) {
  if (encver >= 4) nbuckets = redis.LoadUnsigned(io);
  size_t len = 0;
  char *slots = redis.IsIOError(io) ? NULL : redis.LoadStringBuffer(io, &len);
  if (slots == NULL) return false;
  if (redis.IsIOError(io) || nay__cfchain_adopt(chain, i, nbuckets, slots, len) != NAY_OK) {
    redis.Free(slots);
    return false;
  }
  memory_adopt(&cf_memory, len);
  return true;
}

static bool cf_load_filters(redis_io *io, int encver, const nay_cfchain_header *h,
                            nay_cfchain *chain) {
  uint64_t nbuckets = h->nbuckets;
  for (uint64_t i = 0; i < h->nfilters; i++, nbuckets *= h->expansion) {
    if (!cf_load_filter(io, encver, chain, i, nbuckets)) return false;
  }
  return nay__cfchain_finish(chain) == NAY_OK;
}

static void *cf_load(redis_io *io, int encver) {
  nay_cfchain_header h, loaded;
  nay_cfchain *chain;
  nay_diag diag = {.what = "version"};
  nay_zallocator memory = memory_zallocator(&cf_memory);
  if (encver > 4 || !cf_load_header(io, encver, &h)) return NULL;
  if (nay__cfchain_open(&h, &memory, &diag, &chain) != NAY_OK) {
    redis.LogIOError(io, "warning", "MBbloomCF: %s", diag.what);
    return NULL;
  }
  if (!cf_load_filters(io, encver, &h, chain)) {
    redis.LogIOError(io, "warning",
                     "MBbloomCF: the length of a sub-filter disagrees with the header");
    nay__cfchain_free(chain);
    return NULL;
  }
  nay__cfchain_describe(chain, &loaded);
  if (loaded.nitems != h.nitems) {
    redis.LogIOError(io, "notice", "MBbloomCF: the header says %llu items, counted %llu",
                     (unsigned long long)h.nitems, (unsigned long long)loaded.nitems);
  }
  memory_value_made(&cf_memory);
  return chain;
}

/* ---- AOF: the header, then chunks, each with the iterator that SCANDUMP gives for the next ----
 */

static void cf_rewrite(redis_io *io, redis_string *key, void *value) {
  nay_cfchain_header h;
  uint8_t header[NAY_CFCHAIN_HEADER_LEN];
  nay__cfchain_describe(value, &h);
  nay__cfchain_write_header(&h, header);
  redis.EmitAOF(io, "CF.LOADCHUNK", "slb", key, 1ll, (const char *)header, sizeof header);
  const uint8_t *chunk;
  size_t len;
  for (uint64_t at = 0; (chunk = nay__cfchain_chunk(value, at, &len)) != NULL;) {
    at += len;
    redis.EmitAOF(io, "CF.LOADCHUNK", "slb", key, (long long)(at + 1), (const char *)chunk, len);
  }
}

/* ---- memory ---- */

size_t cf_size(const void *value) { return (size_t)nay__cfchain_nbytes(value); }

static void cf_digest(redis_digest *digest, void *value) {
  nay_cfchain_header h;
  uint8_t header[NAY_CFCHAIN_HEADER_LEN];
  nay__cfchain_describe(value, &h);
  nay__cfchain_write_header(&h, header);
  redis.DigestAddStringBuffer(digest, (const char *)header, sizeof header);
  const uint8_t *slots;
  size_t len;
  for (uint64_t i = 0; (slots = nay__cfchain_slots(value, i, &len)) != NULL; i++) {
    redis.DigestAddStringBuffer(digest, (const char *)slots, len);
  }
  redis.DigestEndSequence(digest);
}

static size_t cf_free_effort(redis_string *key, const void *value) {
  (void)key;
  nay_cfchain_header h;
  nay__cfchain_describe(value, &h);
  return memory_free_effort(2 + h.nfilters, nay__cfchain_nbytes(value));
}

static void *cf_copy(redis_string *from, redis_string *to, const void *value) {
  (void)from;
  (void)to;
  nay_zallocator memory = memory_zallocator(&cf_memory);
  nay_cfchain *copy;
  if (nay__cfchain_copy(value, &memory, &copy) != NAY_OK) return NULL;
  memory_value_made(&cf_memory);
  return copy;
}

static bool cf_move_part(void **value, uint64_t part, redis_defrag *ctx) {
  nay_cfchain *chain = *value;
  bool is_part = nay__cfchain_move(&chain, part, memory_move, ctx);
  *value = chain;
  return is_part;
}

static int cf_defrag(redis_defrag *ctx, redis_string *key, void **value) {
  (void)key;
  return memory_defrag(ctx, value, cf_move_part);
}

redis_type_methods cf_methods = {
    .version = REDIS_TYPE_METHODS_VERSION,
    .rdb_load = cf_load,
    .rdb_save = cf_save,
    .aof_rewrite = cf_rewrite,
    .mem_usage = cf_size,
    .digest = cf_digest,
    .free = cf_free_value,
    .free_effort = cf_free_effort,
    .copy = cf_copy,
    .defrag = cf_defrag,
};
