/*
 * native_encode.c - a filter as a native file: to a buffer, to a stream, or a range of its bytes.
 *
 * The digests stand before the body that they cover, so there are two passes over the body: one
 * computes the digests, one writes. The payload is never copied.
 */
#include "base/bytes.h"
#include "format/native.h"
#include "redis/redis.h"

/* The parts of a file about to be written: small sections first, the payload last. */
#define NATIVE_MAX_PARTS 4u
typedef struct native_parts {
  struct {
    uint32_t type, flags;
    const uint8_t *at;
    size_t len;
  } section[NATIVE_MAX_PARTS];
  uint32_t nsections;
  uint64_t body_len;
} native_parts;

static void native_add_part(native_parts *parts, uint32_t type, uint32_t flags, const uint8_t *at,
                            size_t len) {
  uint32_t i = parts->nsections++;
  assert(i < NATIVE_MAX_PARTS);
  parts->section[i].type = type;
  parts->section[i].flags = flags;
  parts->section[i].at = at;
  parts->section[i].len = len;
  parts->body_len = nay__section_start(parts->body_len) + len;
}

static bool native_stores_key(const nay_filter *f) {
  return f->hasher.kind == NAY_HASH_SIPHASH && !f->hasher.locked && (f->flags & NAY_STORE_KEY) != 0;
}

static native_parts native_split(const nay_filter *f) {
  native_parts parts = {.nsections = 0};
  if (native_stores_key(f)) {
    native_add_part(&parts, NAY_SECTION_KEY, NAY_SECTION_REQUIRED, f->hasher.key,
                    sizeof f->hasher.key);
  }
  if (f->key_text[0] != '\0') {
    native_add_part(&parts, NAY_SECTION_DESCRIPTION, 0, (const uint8_t *)f->key_text,
                    strlen(f->key_text));
  }
  if (f->meta_len != 0) native_add_part(&parts, NAY_SECTION_META, 0, f->meta, f->meta_len);
  native_add_part(&parts, NAY_SECTION_PAYLOAD, NAY_SECTION_REQUIRED, f->bits.bytes, f->nbytes);
  return parts;
}

static void native_put_header(const nay_filter *f, const native_parts *parts,
                              uint8_t header[NAY_HEADER_LEN]) {
  memset(header, 0, NAY_HEADER_LEN);
  memcpy(header, NAY_NATIVE_MAGIC, NAY_AT_VERSION);
  header[NAY_AT_VERSION] = NAY_NATIVE_VERSION;
  header[NAY_AT_KIND] = (uint8_t)f->family->kind;
  header[NAY_AT_HASH] = (uint8_t)f->hasher.kind;
  header[NAY_AT_OPTIONAL] = (f->flags & NAY_IS_DERIVED) != 0 ? NAY_OPTIONAL_DERIVED : 0;
  header[NAY_AT_NSECTIONS] = (uint8_t)parts->nsections;
  nay__store64le(header + NAY_AT_SEED, f->hasher.seed);
  nay__store64le(header + NAY_AT_NKEYS, f->nkeys);
  nay__store64le(header + NAY_AT_NUNITS, f->shape.nunits);
  nay__store32le(header + NAY_AT_K, f->shape.k);
  nay__store32le(header + NAY_AT_EXTRA, f->shape.extra);
  nay__store64le(header + NAY_AT_BODY_LEN, parts->body_len);
  nay__store64le(header + NAY_AT_DIGEST, XXH3_64bits(header, NAY_AT_DIGEST));
}

/* The front of the file is many small pieces (a digest is 8 bytes). They are buffered, so that the
 * sink gets few calls. */
typedef struct native_writer {
  nay_sink sink;
  void *ctx;
  XXH3_state_t directory; /* what the directory's digest covers */
  XXH3_state_t chunk;
  uint64_t in_chunk;
  size_t npending;
  uint8_t pending[4096];
} native_writer;

static nay_status native_flush(native_writer *w) {
  size_t len = w->npending;
  w->npending = 0;
  return len != 0 ? w->sink(w->ctx, w->pending, len) : NAY_OK;
}

/* A piece of the front, at most 64 bytes. */
static nay_status native_put(native_writer *w, const void *bytes, size_t len) {
  if (len > sizeof w->pending - w->npending) NAY_TRY(native_flush(w));
  memcpy(w->pending + w->npending, bytes, len);
  w->npending += len;
  return NAY_OK;
}

static nay_status native_put_digest(native_writer *w, const XXH3_state_t *state) {
  uint8_t digest[8];
  nay__store64le(digest, XXH3_64bits_digest(state));
  XXH3_64bits_update(&w->directory, digest, sizeof digest);
  return native_put(w, digest, sizeof digest);
}

/* Adds bytes of the body to its digests: one goes out whenever a chunk is complete. */
static nay_status native_digest_bytes(native_writer *w, const uint8_t *p, size_t len) {
  while (len > 0) {
    size_t room = NAY_CHUNK - (size_t)w->in_chunk, take = len < room ? len : room;
    XXH3_64bits_update(&w->chunk, p, take);
    w->in_chunk += take;
    p += take;
    len -= take;
    if (w->in_chunk < NAY_CHUNK) break;
    NAY_TRY(native_put_digest(w, &w->chunk));
    XXH3_64bits_reset(&w->chunk);
    w->in_chunk = 0;
  }
  return NAY_OK;
}

static nay_status native_write_bytes(native_writer *w, const uint8_t *p, size_t len) {
  return len != 0 ? w->sink(w->ctx, p, len) : NAY_OK;
}

static const uint8_t native_zeros[NAY_SECTION_ALIGN] = {0};

/* Calls `each` for every run of bytes in the body: the sections and the zeros between them. */
static nay_status native_walk_body(const native_parts *parts, native_writer *w,
                                   nay_status (*each)(native_writer *, const uint8_t *, size_t)) {
  uint64_t at = 0;
  for (uint32_t i = 0; i < parts->nsections; i++) {
    size_t pad = (size_t)(nay__section_start(at) - at);
    NAY_TRY(each(w, native_zeros, pad));
    NAY_TRY(each(w, parts->section[i].at, parts->section[i].len));
    at += pad + parts->section[i].len;
  }
  return NAY_OK;
}

static nay_status native_put_directory(const native_parts *parts, native_writer *w) {
  for (uint32_t i = 0; i < parts->nsections; i++) {
    uint8_t entry[NAY_SECTION_ENTRY];
    nay__store32le(entry, parts->section[i].type);
    nay__store32le(entry + 4, parts->section[i].flags);
    nay__store64le(entry + 8, parts->section[i].len);
    XXH3_64bits_update(&w->directory, entry, sizeof entry);
    NAY_TRY(native_put(w, entry, sizeof entry));
  }
  XXH3_64bits_reset(&w->chunk);
  NAY_TRY(native_walk_body(parts, w, native_digest_bytes));
  if (w->in_chunk != 0) NAY_TRY(native_put_digest(w, &w->chunk));
  return native_put_digest(w, &w->directory);
}

/* Everything before the body. */
static nay_status native_write_front(const nay_filter *f, const native_parts *parts,
                                     native_writer *w) {
  uint8_t header[NAY_HEADER_LEN];
  native_put_header(f, parts, header);
  NAY_TRY(native_put(w, header, sizeof header));
  XXH3_64bits_reset(&w->directory);
  XXH3_64bits_update(&w->directory, header + NAY_AT_DIGEST, NAY_HEADER_LEN - NAY_AT_DIGEST);
  NAY_TRY(native_put_directory(parts, w));
  uint64_t end = nay__directory_end(parts->nsections, parts->body_len) + 8;
  size_t pad = (size_t)(nay__body_at(parts->nsections, parts->body_len) - end);
  NAY_TRY(native_put(w, native_zeros, pad));
  return native_flush(w);
}

static nay_status native_write(const nay_filter *f, nay_sink sink, void *ctx) {
  native_parts parts = native_split(f);
  native_writer w = {.sink = sink, .ctx = ctx};
  NAY_TRY(native_write_front(f, &parts, &w));
  return native_walk_body(&parts, &w, native_write_bytes);
}

static bool native_has_file(const nay_filter *f) {
  return f->format == NULL && nay__family_is_native(f->family);
}

/*
 * A filter that other threads may be adding to is copied first: the digests of the first pass would
 * not be those of the bytes that the second one sees.
 */
nay_status nay_filter_encode_stream(const nay_filter *f, nay_sink sink, void *ctx) {
  if (f == NULL || sink == NULL) return NAY_EINVAL;
  if (!native_has_file(f)) return NAY_ENOTSUP;
  NAY_TRY(nay__filter_all_verified(f));
  if ((f->flags & NAY_CONCURRENT) == 0) return native_write(f, sink, ctx);
  nay_filter *still;
  NAY_TRY(nay_filter_copy(f, &f->allocator, NULL, &still));
  nay_status status = native_write(still, sink, ctx);
  nay_filter_free(still);
  return status;
}

size_t nay_filter_encoded_size(const nay_filter *f) {
  if (f == NULL || !native_has_file(f)) return 0;
  native_parts parts = native_split(f);
  size_t size;
  uint64_t total = nay__body_at(parts.nsections, parts.body_len) + parts.body_len;
  return nay__size_ok(total, &size) ? size : 0;
}

/* The size is known before the first byte: the sink needs no check of its own. */
static nay_status native_to_buffer(void *ctx, const void *bytes, size_t len) {
  uint8_t **at = ctx;
  memcpy(*at, bytes, len);
  *at += len;
  return NAY_OK;
}

nay_status nay_filter_encode(const nay_filter *f, void *dst, size_t cap, size_t *written) {
  if (f == NULL || dst == NULL || written == NULL) return NAY_EINVAL;
  if (!native_has_file(f)) return NAY_ENOTSUP;
  size_t size = nay_filter_encoded_size(f);
  if (size == 0) return NAY_EFULL; /* more than this machine can address */
  if (cap < size) return NAY_EBUFFER;
  uint8_t *at = dst;
  NAY_TRY(nay_filter_encode_stream(f, native_to_buffer, &at));
  *written = size;
  return NAY_OK;
}

/* A sink that keeps what falls into a range of the file. */
typedef struct native_range {
  uint8_t *dst;
  uint64_t first, end; /* of the range */
  uint64_t at;         /* of the next byte that comes */
} native_range;

static nay_status native_to_range(void *ctx, const void *bytes, size_t len) {
  native_range *r = ctx;
  uint64_t first = nay__max_u64(r->first, r->at), end = nay__min_u64(r->end, r->at + len);
  if (first < end) {
    memcpy(r->dst + (first - r->first), (const uint8_t *)bytes + (first - r->at),
           (size_t)(end - first));
  }
  r->at += len;
  return NAY_OK;
}

nay_status nay__filter_encode_range(const nay_filter *f, uint64_t offset, void *dst, size_t len) {
  if (f == NULL || (dst == NULL && len != 0)) return NAY_EINVAL;
  if (!native_has_file(f) || (f->flags & NAY_CONCURRENT) != 0) return NAY_ENOTSUP;
  size_t size = nay_filter_encoded_size(f);
  if (offset > size || len > size - offset) return NAY_EINVAL;
  if (len == 0) return NAY_OK;
  NAY_TRY(nay__filter_all_verified(f));
  native_parts parts = native_split(f);
  uint64_t body_at = nay__body_at(parts.nsections, parts.body_len);
  native_range range = {dst, offset, offset + len, 0};
  native_writer w = {.sink = native_to_range, .ctx = &range};
  if (offset < body_at) NAY_TRY(native_write_front(f, &parts, &w));
  range.at = body_at;
  return native_walk_body(&parts, &w, native_write_bytes);
}
