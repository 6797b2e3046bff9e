/*
 * bf_type.c - the data type MBbloom--: how a chained Bloom filter is saved, loaded, copied and
 * moved.
 *
 * An RDB value (encoding version 4): size, links, options, growth, then for each link entries,
 * error, hashes, bits per entry, bits, n2, the array, size. Versions before 4 have no growth (it
 * was 2), before 2 no options, and version 0 no bits and n2. A rewritten AOF has the commands
 * BF.LOADCHUNK that a client would send after BF.SCANDUMP.
 *
 * The server's loader returns zeros after an error, so IsIOError is called before a field is used.
 * The library validates the values.
 */
#include "bf.h"

redis_type *bf_type;
memory_use bf_memory;

enum { BF_ENCVER_BITS = 1, BF_ENCVER_OPTIONS = 2, BF_ENCVER_GROWTH = 4 };

/* ---- sizes ---- */

size_t bf_size(const void *value) {
  nay_sbstats stats;
  nay__sbchain_stats(value, &stats);
  return (size_t)(32 + 64 * stats.nlinks + stats.nbytes);
}

void *bf_header(const nay_sbchain *chain, size_t *len) {
  size_t size = nay__sbchain_header_size(chain);
  void *header = redis.TryAlloc(size);
  if (header != NULL) (void)nay__sbchain_encode_header(chain, header, size, len);
  return header;
}

static size_t bf_free_effort(redis_string *key, const void *value) {
  (void)key;
  nay_sbstats stats;
  nay__sbchain_stats(value, &stats);
  return memory_free_effort(2 + stats.nlinks, stats.nbytes);
}

/* ---- RDB ---- */

static void bf_rdb_save(redis_io *io, void *value) {
  nay_sbstats stats;
  nay__sbchain_stats(value, &stats);
  redis.SaveUnsigned(io, stats.size);
  redis.SaveUnsigned(io, stats.nlinks);
  redis.SaveUnsigned(io, stats.options);
  redis.SaveUnsigned(io, stats.growth);
  nay_sblink link;
  for (uint64_t i = 0; nay__sbchain_link(value, i, &link) == NAY_OK; i++) {
    redis.SaveUnsigned(io, link.entries);
    redis.SaveDouble(io, link.error);
    redis.SaveUnsigned(io, link.hashes);
    redis.SaveDouble(io, link.bpe);
    redis.SaveUnsigned(io, link.nbits);
    redis.SaveUnsigned(io, link.n2);
    redis.SaveStringBuffer(io, (const char *)link.bytes, (size_t)link.nbytes);
    redis.SaveUnsigned(io, link.size);
  }
}

/* A 32-bit number; a larger one becomes a value that fails every check. */
static uint32_t bf_load_u32(redis_io *io) {
  uint64_t value = redis.LoadUnsigned(io);
  return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

/* Loads the fields of a link; returns its array, which the caller owns. NULL: an error. */
static void *bf_load_link(redis_io *io, int encver, nay_sblink *link) {
  *link = (nay_sblink){.entries = redis.LoadUnsigned(io)};
  link->error = redis.LoadDouble(io);
  link->hashes = bf_load_u32(io);
  link->bpe = redis.LoadDouble(io);
  if (encver >= BF_ENCVER_BITS) {
    link->nbits = redis.LoadUnsigned(io);
    link->n2 = bf_load_u32(io);
  }
  if (redis.IsIOError(io)) return NULL;
  size_t len = 0;
  void *bytes = redis.LoadStringBuffer(io, &len);
  if (bytes == NULL) return NULL;
  link->nbytes = len;
  link->size = redis.LoadUnsigned(io);
  /* a double above 2^63 cannot be converted, and no filter has so many bits */
  double need = (double)link->entries * link->bpe;
  if (encver < BF_ENCVER_BITS && need >= 1 && need < 9e18) link->nbits = (uint64_t)need;
  if (link->nbits == 0 && link->n2 > 0 && link->n2 < 64) link->nbits = link->nbytes * 8;
  return bytes;
}

static bool bf_load_links(redis_io *io, int encver, uint64_t nlinks, nay_sbchain *chain,
                          nay_diag *diag) {
  for (uint64_t i = 0; i < nlinks; i++) {
    nay_sblink link;
    void *bytes = bf_load_link(io, encver, &link);
    if (bytes == NULL) return false;
    if (redis.IsIOError(io) || nay__sbchain_take(chain, &link, bytes, diag) != NAY_OK) {
      redis.Free(bytes);
      return false;
    }
    memory_adopt(&bf_memory, (size_t)link.nbytes);
  }
  return nay__sbchain_finish(chain, diag) == NAY_OK;
}

static void *bf_rdb_load(redis_io *io, int encver) {
  nay_diag diag = {.what = "the value is truncated"};
  if (encver > bf_part.encver) return NULL;
  uint64_t size = redis.LoadUnsigned(io), nlinks = redis.LoadUnsigned(io);
  uint64_t options = encver >= BF_ENCVER_OPTIONS ? redis.LoadUnsigned(io) : 0;
  uint64_t growth = encver >= BF_ENCVER_GROWTH ? redis.LoadUnsigned(io) : 2;
  if (redis.IsIOError(io)) return NULL;
  nay_zallocator allocator = memory_zallocator(&bf_memory);
  nay_sbchain *chain = NULL;
  if (nay__sbchain_begin(size, options, growth, &allocator, &diag, &chain) == NAY_OK &&
      bf_load_links(io, encver, nlinks, chain, &diag)) {
    memory_value_made(&bf_memory);
    return chain;
  }
  nay__sbchain_free(chain);
  redis.LogIOError(io, "warning", "nay: a Bloom filter cannot be loaded: %s", diag.what);
  return NULL;
}

/* ---- AOF ---- */

static void bf_aof_rewrite(redis_io *io, redis_string *key, void *value) {
  size_t len;
  void *header = bf_header(value, &len);
  if (header == NULL) {
    redis.LogIOError(io, "warning", "nay: out of memory while writing a Bloom filter");
    return;
  }
  redis.EmitAOF(io, "BF.LOADCHUNK", "slb", key, 1ll, header, len);
  redis.Free(header);
  const uint8_t *bytes;
  for (uint64_t at = 0; nay__sbchain_chunk(value, at, BF_CHUNK, &bytes, &len); at += len) {
    redis.EmitAOF(io, "BF.LOADCHUNK", "slb", key, (long long)(at + len + 1), bytes, len);
  }
}

/* ---- memory and copies ---- */

static void bf_free(void *value) {
  nay__sbchain_free(value);
  memory_value_freed(&bf_memory);
}

static void *bf_copy(redis_string *from, redis_string *to, const void *value) {
  (void)from, (void)to;
  nay_zallocator allocator = memory_zallocator(&bf_memory);
  nay_sbchain *copy;
  if (nay__sbchain_copy(value, &allocator, &copy) != NAY_OK) return NULL;
  memory_value_made(&bf_memory);
  return copy;
}

static void bf_digest(redis_digest *digest, void *value) {
  size_t len;
  void *header = bf_header(value, &len);
  if (header == NULL) return;
  redis.DigestAddStringBuffer(digest, header, len);
  redis.Free(header);
  const uint8_t *bytes;
  for (uint64_t at = 0; nay__sbchain_chunk(value, at, BF_CHUNK, &bytes, &len); at += len) {
    redis.DigestAddStringBuffer(digest, (const char *)bytes, len);
  }
  redis.DigestEndSequence(digest);
}

static bool bf_move_part(void **value, uint64_t part, redis_defrag *ctx) {
  nay_sbchain *chain = *value;
  bool is_part = nay__sbchain_move(&chain, part, memory_move, ctx);
  *value = chain;
  return is_part;
}

static int bf_defrag(redis_defrag *ctx, redis_string *key, void **value) {
  (void)key;
  return memory_defrag(ctx, value, bf_move_part);
}

redis_type_methods bf_methods = {.version = REDIS_TYPE_METHODS_VERSION,
                                 .rdb_load = bf_rdb_load,
                                 .rdb_save = bf_rdb_save,
                                 .aof_rewrite = bf_aof_rewrite,
                                 .mem_usage = bf_size,
                                 .digest = bf_digest,
                                 .free = bf_free,
                                 .free_effort = bf_free_effort,
                                 .copy = bf_copy,
                                 .defrag = bf_defrag};
