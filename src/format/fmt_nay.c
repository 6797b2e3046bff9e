/*
 * fmt_nay.c - the native file: encode, parse, decode, view. Files on disk are in native_file.c.
 *
 * Every byte is covered: the header and the directory by their own digests, the body by one digest
 * for each 64 KiB, the gap between directory and body by the rule that padding is zero. The digests
 * form a chain (the directory's covers the header's, and holds those of the body), so that parts of
 * two good files do not make a third. Every flipped bit is noticed before it can make a false nay.
 *
 * The parser believes nothing. It walks header, directory, body in that order, and each part is
 * checked against its digest and against the length that is really there before a number from it
 * is used; nothing is allocated on the word of a header.
 */
#include "format/fmt_nay.h"

#include "base/bytes.h"
#include "base/spin.h"
#include "build/builder.h"
#include "build/static_build.h"
#include "family/lazy.h"
#include "format/layout.h"
#include "math/plan.h"

static const uint8_t native_magic[8] = {0x89, 'n', 'a', 'y', '\r', '\n', 0x1a, '\n'};

#define NATIVE_VERSION 1u

/* Header fields. */
enum {
  AT_MAGIC = 0,
  AT_VERSION = 8,
  AT_KIND = 9,
  AT_HASH = 10,
  AT_REQUIRED = 11, /* a flag here that the reader does not know means: do not read */
  AT_OPTIONAL = 12, /* a flag here may be ignored */
  AT_NSECTIONS = 13,
  AT_ZERO = 14, /* u16, zero */
  AT_SEED = 16,
  AT_NKEYS = 24,
  AT_NUNITS = 32,
  AT_K = 40,
  AT_EXTRA = 44,
  AT_BODY_LEN = 48,
  AT_DIGEST = 56,
};

#define NATIVE_OPTIONAL_DERIVED 0x01u

/* Section types and their one flag. */
enum { SECTION_PAYLOAD = 1, SECTION_KEY = 2, SECTION_META = 3 };
#define SECTION_REQUIRED 0x01u

/* Where the directory's digest stands: after the section table and the digests of the chunks. */
static uint64_t native_directory_end(uint32_t nsections, uint64_t body_len) {
  uint64_t nchunks = nay__ceil_div(body_len, NAY_CHUNK);
  return NAY_HEADER_LEN + (uint64_t)nsections * NAY_SECTION_ENTRY + nchunks * 8;
}

uint64_t nay__body_at(uint32_t nsections, uint64_t body_len) {
  return nay__round_up(native_directory_end(nsections, body_len) + 8, NAY_SECTION_ALIGN);
}

uint64_t nay__section_end(uint64_t at, uint64_t len) {
  return nay__round_up(at + len, NAY_SECTION_ALIGN);
}

bool nay__native_magic(const uint8_t *bytes, size_t len) {
  return len >= sizeof native_magic && memcmp(bytes, native_magic, sizeof native_magic) == 0;
}

/* ---- encode ---- */

/* The parts of a file about to be written: small sections first, the payload last. */
#define NATIVE_MAX_PARTS 3u
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
  parts->body_len = nay__section_end(parts->body_len, 0) + len;
}

static bool native_stores_key(const nay_filter *f) {
  return f->hasher.kind == NAY_HASH_SIPHASH && !f->hasher.locked && (f->flags & NAY_STORE_KEY) != 0;
}

static native_parts native_split(const nay_filter *f) {
  native_parts parts = {.nsections = 0};
  if (native_stores_key(f)) {
    native_add_part(&parts, SECTION_KEY, SECTION_REQUIRED, f->hasher.key, sizeof f->hasher.key);
  }
  if (f->meta_len != 0) native_add_part(&parts, SECTION_META, 0, f->meta, f->meta_len);
  native_add_part(&parts, SECTION_PAYLOAD, SECTION_REQUIRED, f->bits.bytes, f->nbytes);
  return parts;
}

static void native_put_header(const nay_filter *f, const native_parts *parts,
                              uint8_t header[NAY_HEADER_LEN]) {
  memset(header, 0, NAY_HEADER_LEN);
  memcpy(header, native_magic, sizeof native_magic);
  header[AT_VERSION] = NATIVE_VERSION;
  header[AT_KIND] = (uint8_t)f->family->kind;
  header[AT_HASH] = (uint8_t)f->hasher.kind;
  header[AT_OPTIONAL] = (f->flags & NAY_IS_DERIVED) != 0 ? NATIVE_OPTIONAL_DERIVED : 0;
  header[AT_NSECTIONS] = (uint8_t)parts->nsections;
  nay__store64le(header + AT_SEED, f->hasher.seed);
  nay__store64le(header + AT_NKEYS, f->nkeys);
  nay__store64le(header + AT_NUNITS, f->shape.nunits);
  nay__store32le(header + AT_K, f->shape.k);
  nay__store32le(header + AT_EXTRA, f->shape.extra);
  nay__store64le(header + AT_BODY_LEN, parts->body_len);
  nay__store64le(header + AT_DIGEST, XXH3_64bits(header, AT_DIGEST));
}

/*
 * Two passes over the body, one to digest it and one to write it, because the digests come first.
 * The front of the file is many small pieces (a digest is 8 bytes): they are gathered, so that a
 * sink sees few calls.
 */
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
    size_t pad = (size_t)(nay__section_end(at, 0) - at);
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
  XXH3_64bits_update(&w->directory, header + AT_DIGEST, NAY_HEADER_LEN - AT_DIGEST);
  NAY_TRY(native_put_directory(parts, w));
  uint64_t end = native_directory_end(parts->nsections, parts->body_len) + 8;
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
  NAY_TRY(nay_filter_copy(f, &f->allocator, &still));
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

nay_status nay_filter_encode_range(const nay_filter *f, uint64_t offset, void *dst, size_t len) {
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

/* ---- parse ---- */

/* What the header says, once it has been checked. */
typedef struct native_header {
  const nay_family *family;
  nay_shape shape;
  nay_hasher hasher;
  uint64_t nkeys;
  uint32_t nsections;
  uint32_t flags;
  uint64_t body_len;
  uint64_t payload_len; /* that this shape needs */
} native_header;

static nay_status native_parse_kind(const uint8_t *p, nay_diag *diag, native_header *h) {
  h->family = nay__family_find((nay_kind)p[AT_KIND]);
  if (h->family == NULL) return nay__fail(diag, NAY_EVERSION, "unknown kind of filter", AT_KIND);
  h->shape = (nay_shape){nay__load64le(p + AT_NUNITS), nay__load32le(p + AT_K),
                         nay__load32le(p + AT_EXTRA)};
  uint64_t nbits;
  if (!h->family->payload(&h->shape, &nbits, &h->payload_len)) {
    return nay__fail(diag, NAY_ECORRUPT, "impossible size or number of probes", AT_NUNITS);
  }
  h->hasher = (nay_hasher){.kind = (nay_hash_kind)p[AT_HASH], .seed = nay__load64le(p + AT_SEED)};
  switch (h->hasher.kind) {
    case NAY_HASH_XXH3: h->hasher = nay__hasher_seed(h->hasher.seed); return NAY_OK;
    case NAY_HASH_CALLER: return NAY_OK;
    case NAY_HASH_SIPHASH: h->hasher.locked = true; return NAY_OK;
    default: return nay__fail(diag, NAY_EVERSION, "unknown hash function", AT_HASH);
  }
}

/* What can be said of a header before any of its numbers is used. */
static nay_status native_check_header(const uint8_t *p, size_t len, nay_diag *diag) {
  if (!nay__native_magic(p, len)) {
    return nay__fail(diag, NAY_EFORMAT, "no magic number: not a nay file", 0);
  }
  if (len < NAY_HEADER_LEN) return nay__fail(diag, NAY_ECORRUPT, "shorter than a header", len);
  /* the version first: a later one may put its digest elsewhere */
  if (p[AT_VERSION] != NATIVE_VERSION) {
    return nay__fail(diag, NAY_EVERSION, "unknown version of the file format", AT_VERSION);
  }
  if (XXH3_64bits(p, AT_DIGEST) != nay__load64le(p + AT_DIGEST)) {
    return nay__fail(diag, NAY_ECORRUPT, "the checksum of the header is wrong", AT_DIGEST);
  }
  return NAY_OK;
}

/* Reads at most NAY_HEADER_LEN bytes of p; the file has len. */
static nay_status native_parse_header(const uint8_t *p, size_t len, nay_diag *diag,
                                      native_header *h) {
  NAY_TRY(native_check_header(p, len, diag));
  if (p[AT_REQUIRED] != 0) {
    return nay__fail(diag, NAY_EVERSION, "a required flag is not known", AT_REQUIRED);
  }
  if (!nay__all_zero(p + AT_ZERO, 2)) {
    return nay__fail(diag, NAY_ECORRUPT, "a reserved field is not zero", AT_ZERO);
  }
  h->flags = (p[AT_OPTIONAL] & NATIVE_OPTIONAL_DERIVED) != 0 ? NAY_IS_DERIVED : 0;
  h->nsections = p[AT_NSECTIONS];
  h->nkeys = nay__load64le(p + AT_NKEYS);
  if (h->nkeys > NAY_MAX_NKEYS) {
    return nay__fail(diag, NAY_ECORRUPT, "the number of keys is above 2^56", AT_NKEYS);
  }
  h->body_len = nay__load64le(p + AT_BODY_LEN);
  if (h->body_len >= len) { /* before any sum with it */
    return nay__fail(diag, NAY_ECORRUPT, "the body is longer than the file", AT_BODY_LEN);
  }
  if (nay__body_at(h->nsections, h->body_len) + h->body_len != len) {
    return nay__fail(diag, NAY_ECORRUPT, "the length of the file is not what its header says", len);
  }
  return native_parse_kind(p, diag, h);
}

nay_status nay__native_accept(const uint8_t *start, size_t file_len, nay_diag *diag) {
  native_header h = {.family = NULL};
  return native_parse_header(start, file_len, diag, &h);
}

nay_status nay__native_length(const uint8_t *start, nay_diag *diag, size_t *len) {
  NAY_TRY(native_check_header(start, NAY_HEADER_LEN, diag));
  uint64_t body_len = nay__load64le(start + AT_BODY_LEN);
  /* a payload has 2^60 bits at most; the rest of the body is small, or not of this world */
  bool possible = body_len <= NAY_MAX_NBITS;
  uint64_t total = possible ? nay__body_at(start[AT_NSECTIONS], body_len) + body_len : 0;
  size_t size = 0;
  if (!possible || !nay__size_ok(total, &size)) {
    return nay__fail(diag, NAY_ECORRUPT, "the body is longer than any can be", AT_BODY_LEN);
  }
  NAY_TRY(nay__native_accept(start, size, diag));
  *len = size;
  return NAY_OK;
}

/* The digest covers that of the header, the section table and those of the chunks. */
static nay_status native_check_directory(const uint8_t *p, const native_header *h, nay_diag *diag) {
  size_t end = (size_t)native_directory_end(h->nsections, h->body_len);
  size_t body = (size_t)nay__body_at(h->nsections, h->body_len);
  if (XXH3_64bits(p + AT_DIGEST, end - AT_DIGEST) != nay__load64le(p + end)) {
    return nay__fail(diag, NAY_ECORRUPT, "the checksum of the directory is wrong", end);
  }
  if (!nay__all_zero(p + end + 8, body - end - 8)) {
    return nay__fail(diag, NAY_ECORRUPT, "padding after the directory is not zero", end + 8);
  }
  return NAY_OK;
}

/* One section at its place: remembered, skipped, or a reason to refuse. */
static nay_status native_take_section(uint8_t *at, size_t len, uint32_t type, uint32_t flags,
                                      uint64_t offset, const native_header *h, nay_diag *diag,
                                      nay_filter *f) {
  switch (type) {
    case SECTION_PAYLOAD:
      if (f->bits.bytes != NULL) return nay__fail(diag, NAY_ECORRUPT, "two payloads", offset);
      if (!h->family->self_sized && len != h->payload_len) {
        return nay__fail(diag, NAY_ECORRUPT, "the payload's length does not fit the header",
                         offset);
      }
      nay__filter_attach(f, at, len);
      return NAY_OK;
    case SECTION_KEY:
      if (h->hasher.kind != NAY_HASH_SIPHASH || len != sizeof f->hasher.key || !f->hasher.locked) {
        return nay__fail(diag, NAY_ECORRUPT, "a secret key where none belongs", offset);
      }
      if (nay__hasher_unlock(&f->hasher, at) != NAY_OK) {
        return nay__fail(diag, NAY_ECORRUPT, "the stored key does not fit its check value", offset);
      }
      f->flags |= NAY_STORE_KEY;
      return NAY_OK;
    case SECTION_META:
      if (f->meta != NULL) return nay__fail(diag, NAY_ECORRUPT, "two metadata sections", offset);
      if (len == 0) return nay__fail(diag, NAY_ECORRUPT, "an empty metadata section", offset);
      if (f->lazy != NULL && !nay__lazy_range_ok(f->lazy, at, len)) { /* users see all of it */
        return nay__fail(diag, NAY_ECORRUPT, "the checksum of the metadata is wrong", offset);
      }
      f->meta = at;
      f->meta_len = len;
      return NAY_OK;
    default:
      if ((flags & SECTION_REQUIRED) == 0) return NAY_OK;
      return nay__fail(diag, NAY_EVERSION, "a required section is not known", offset);
  }
}

/* In a lazy map: the chunks in which a section starts or ends are read here, so verify them now. */
static nay_status native_edges_ok(const nay_filter *f, const uint8_t *at, size_t len,
                                  uint64_t offset, nay_diag *diag) {
  if (f->lazy == NULL || len == 0) return NAY_OK;
  bool ok = nay__lazy_ok(f->lazy, at) && nay__lazy_ok(f->lazy, at + len - 1);
  return ok ? NAY_OK : nay__fail(diag, NAY_ECORRUPT, "the checksum of a chunk is wrong", offset);
}

static nay_status native_take_sections(uint8_t *p, size_t len, const native_header *h,
                                       nay_diag *diag, nay_filter *f) {
  uint64_t at = len - h->body_len;
  for (uint32_t i = 0; i < h->nsections; i++) {
    uint64_t entry_at = NAY_HEADER_LEN + (uint64_t)i * NAY_SECTION_ENTRY;
    const uint8_t *entry = p + entry_at;
    uint32_t type = nay__load32le(entry), flags = nay__load32le(entry + 4);
    uint64_t section_len = nay__load64le(entry + 8);
    if ((flags & ~SECTION_REQUIRED) != 0) {
      return nay__fail(diag, NAY_EVERSION, "a section has an unknown flag", entry_at + 4);
    }
    if (section_len > len - at) {
      return nay__fail(diag, NAY_ECORRUPT, "a section is longer than the body", entry_at + 8);
    }
    NAY_TRY(native_edges_ok(f, p + at, (size_t)section_len, at, diag));
    NAY_TRY(native_take_section(p + at, (size_t)section_len, type, flags, at, h, diag, f));
    uint64_t end = at + section_len;
    at = i + 1 < h->nsections ? nay__section_end(at, section_len) : end;
    if (at > len || !nay__all_zero(p + end, (size_t)(at - end))) {
      return nay__fail(diag, NAY_ECORRUPT, "padding after a section is missing or not zero", end);
    }
  }
  if (at != len) return nay__fail(diag, NAY_ECORRUPT, "bytes after the last section", at);
  if (f->bits.bytes == NULL) return nay__fail(diag, NAY_ECORRUPT, "no payload", NAY_HEADER_LEN);
  return NAY_OK;
}

static nay_status native_verify_body(const uint8_t *p, size_t len, const native_header *h,
                                     nay_diag *diag) {
  const uint8_t *digests = p + NAY_HEADER_LEN + h->nsections * NAY_SECTION_ENTRY;
  size_t body = len - (size_t)h->body_len;
  for (size_t at = body; at < len; at += NAY_CHUNK, digests += 8) {
    size_t chunk = len - at < NAY_CHUNK ? len - at : NAY_CHUNK;
    if (XXH3_64bits(p + at, chunk) != nay__load64le(digests)) {
      return nay__fail(diag, NAY_ECORRUPT, "the checksum of a chunk is wrong", at);
    }
  }
  return NAY_OK;
}

static nay_status native_make_lazy(uint8_t *p, size_t len, const native_header *h, nay_diag *diag,
                                   nay_filter *f) {
  size_t nchunks = (size_t)nay__ceil_div(h->body_len, NAY_CHUNK);
  nay_lazy *lazy = nay__alloc(&f->allocator, nay__lazy_size(nchunks));
  if (lazy == NULL) return nay__fail(diag, NAY_ENOMEM, "no memory for the state of the chunks", 0);
  memset(lazy, 0, nay__lazy_size(nchunks));
  lazy->body = p + len - (size_t)h->body_len;
  lazy->body_len = (size_t)h->body_len;
  lazy->digests = p + NAY_HEADER_LEN + h->nsections * NAY_SECTION_ENTRY;
  lazy->nchunks = nchunks;
  f->lazy = lazy;
  return NAY_OK;
}

/* The invariants of the payload that only its family knows. Offsets count from the file's start. */
static nay_status native_check_payload(const uint8_t *p, const nay_filter *f, nay_diag *diag) {
  if (f->family->check == NULL) return NAY_OK;
  nay_diag inner = {.what = "the payload is not what its family writes"};
  nay_status status = f->family->check(&f->shape, f->bits.bytes, f->nbytes, &inner);
  if (status == NAY_OK) return NAY_OK;
  return nay__fail(diag, status, inner.what, (uint64_t)(f->bits.bytes - p) + inner.offset);
}

nay_status nay__native_parse(uint8_t *p, size_t len, nay_trust trust, nay_diag *diag,
                             nay_filter *f) {
  native_header h = {.family = NULL};
  NAY_TRY(native_parse_header(p, len, diag, &h));
  NAY_TRY(native_check_directory(p, &h, diag));
  f->family = h.family;
  f->shape = h.shape;
  f->hasher = h.hasher;
  f->nkeys = h.nkeys;
  f->flags |= h.flags;
  /* a family that cannot tell what a probe will read has to be verified now */
  bool at_touch = trust == NAY_VERIFY_AT_TOUCH && f->family->touch != NULL;
  NAY_TRY(at_touch ? native_make_lazy(p, len, &h, diag, f) : native_verify_body(p, len, &h, diag));
  NAY_TRY(native_take_sections(p, len, &h, diag, f));
  return native_check_payload(p, f, diag);
}

/* ---- decode and view ---- */

nay_status nay__native_handle(const nay_allocator *allocator, uint32_t flags, nay_diag *diag,
                              nay_filter **filter) {
  nay_allocator a = nay__allocator_or_default(allocator);
  nay_filter *f = nay__alloc(&a, sizeof *f);
  if (f == NULL) return nay__fail(diag, NAY_ENOMEM, "no memory for the filter", 0);
  *f = (nay_filter){.allocator = a, .flags = flags};
  *filter = f;
  return NAY_OK;
}

nay_status nay_filter_decode(const void *bytes, size_t len, const nay_allocator *allocator,
                             nay_diag *diag, nay_filter **filter) {
  if (filter == NULL || (bytes == NULL && len != 0)) {
    return nay__fail(diag, NAY_EINVAL, "bytes or filter is NULL", 0);
  }
  nay_filter parsed = {.flags = NAY_IS_READ_ONLY};
  NAY_TRY(nay__native_parse((uint8_t *)(uintptr_t)bytes, len, NAY_VERIFY_ALL, diag, &parsed));
  nay_status status = nay_filter_copy(&parsed, allocator, filter);
  return status == NAY_OK ? NAY_OK : nay__fail(diag, status, "no memory for the filter", 0);
}

_Static_assert(sizeof(nay_filter) <= sizeof(nay_view), "nay_view is too small for a filter");

nay_status nay_view_open(const void *bytes, size_t len, const uint8_t *key, nay_diag *diag,
                         nay_view *view) {
  if (view == NULL || (bytes == NULL && len != 0)) {
    return nay__fail(diag, NAY_EINVAL, "bytes or view is NULL", 0);
  }
  nay_filter parsed = {.flags = NAY_IS_READ_ONLY};
  NAY_TRY(nay__native_parse((uint8_t *)(uintptr_t)bytes, len, NAY_VERIFY_ALL, diag, &parsed));
  if (key != NULL && nay__hasher_unlock(&parsed.hasher, key) != NAY_OK) {
    return nay__fail(diag, NAY_EKEY, "the key does not fit its check value", AT_SEED);
  }
  memcpy(view, &parsed, sizeof parsed);
  return NAY_OK;
}

const nay_filter *nay_view_filter(const nay_view *view) {
  return (const nay_filter *)(const void *)view;
}

/* ---- plan: here, because what a filter costs includes its file ---- */

nay_status nay_params_plan(const nay_params *params, nay_diag *diag, nay_plan *plan) {
  const nay_family *family;
  nay_shape shape;
  nay_hasher hasher;
  if (plan == NULL) return nay__fail(diag, NAY_EINVAL, "plan is NULL", 0);
  NAY_TRY(nay__resolve(params, diag, &family, &shape, &hasher));
  nay_plan p = {.kind = family->kind, .k = shape.k, .nkeys = params->nkeys};
  if (!family->payload(&shape, &p.nbits, &p.nbytes)) {
    return nay__fail(diag, NAY_EINVAL, "the size cannot be addressed", 0);
  }
  bool key = hasher.kind == NAY_HASH_SIPHASH && (params->flags & NAY_STORE_KEY) != 0;
  uint64_t body = p.nbytes + (key ? NAY_SECTION_ALIGN : 0);
  p.nbytes_file = nay__body_at(key ? 2 : 1, body) + body;
  p.nbytes_build = p.nbytes + NAY_CACHE_LINE + sizeof(nay_filter);
  if (family->shared && (params->flags & NAY_CONCURRENT) != 0) p.nbytes_build += NAY_NSTRIPES;
  if (family->ordered) p.nbytes_build += nay__builder_memory(params->nkeys);
  if (family->build != NULL) p.nbytes_build += nay__static_build_memory(family, &shape, params);
  if (params->nkeys != 0) p.bits_per_key = (double)p.nbits / (double)params->nkeys;
  p.fpr = family->fpr(&shape, params->nkeys);
  p.fpr_limit = p.fpr;
  if (family->foresee != NULL) family->foresee(params, &shape, &p);
  *plan = p;
  return NAY_OK;
}
