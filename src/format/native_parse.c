/*
 * native_parse.c - verifies a native file in place.
 *
 * Every byte is covered: the header and the directory by digests of their own, the body by one
 * digest for each 64 KiB, the gap between directory and body by the rule that padding is zero. The
 * digests form a chain (the directory's covers the header's, and holds those of the body), so parts
 * of two good files do not make a third. Every flipped bit is detected before it can cause a false
 * nay.
 *
 * The parser trusts nothing. It walks header, directory, body in that order, and checks each part
 * against its digest and against the length of the input before it uses a number from it; nothing
 * is allocated on the word of a header.
 */
#include "base/bytes.h"
#include "format/native.h"
#include "math/plan.h"

bool nay__native_magic(const uint8_t *bytes, size_t len) {
  return len >= NAY_AT_VERSION && memcmp(bytes, NAY_NATIVE_MAGIC, NAY_AT_VERSION) == 0;
}

/* ---- header and directory ---- */

/* Family and hash first: what only a newer reader knows is NAY_EVERSION, whatever its shape. */
static nay_status native_parse_kind(const uint8_t *p, nay_diag *diag, nay_native_header *h) {
  h->family = nay__family_find((nay_kind)p[NAY_AT_KIND]);
  if (h->family == NULL) {
    return nay__fail(diag, NAY_EVERSION, "unknown kind of filter", NAY_AT_KIND);
  }
  h->hasher =
      (nay_hash_fn){.kind = (nay_hash_kind)p[NAY_AT_HASH], .seed = nay__load64le(p + NAY_AT_SEED)};
  switch (h->hasher.kind) {
    case NAY_HASH_XXH3: h->hasher = nay__hasher_seed(h->hasher.seed); break;
    case NAY_HASH_CALLER: break;
    case NAY_HASH_SIPHASH: h->hasher.locked = true; break;
    default: return nay__fail(diag, NAY_EVERSION, "unknown hash function", NAY_AT_HASH);
  }
  h->shape = (nay_shape){nay__load64le(p + NAY_AT_NUNITS), nay__load32le(p + NAY_AT_K),
                         nay__load32le(p + NAY_AT_EXTRA)};
  uint64_t nbits;
  if (h->family->payload(&h->shape, &nbits, &h->payload_len)) return NAY_OK;
  return nay__fail(diag, NAY_ECORRUPT, "impossible size or number of probes", NAY_AT_NUNITS);
}

/* What can be said of a header before any of its numbers is used. */
static nay_status native_check_header(const uint8_t *p, size_t len, nay_diag *diag) {
  if (!nay__native_magic(p, len)) {
    return nay__fail(diag, NAY_EFORMAT, "no magic number: not a nay file", 0);
  }
  if (len < NAY_HEADER_LEN) return nay__fail(diag, NAY_ECORRUPT, "shorter than a header", len);
  /* the version first: a later one may put its digest elsewhere */
  if (p[NAY_AT_VERSION] != NAY_NATIVE_VERSION) {
    return nay__fail(diag, NAY_EVERSION, "unknown version of the file format", NAY_AT_VERSION);
  }
  if (XXH3_64bits(p, NAY_AT_DIGEST) != nay__load64le(p + NAY_AT_DIGEST)) {
    return nay__fail(diag, NAY_ECORRUPT, "the checksum of the header is wrong", NAY_AT_DIGEST);
  }
  return NAY_OK;
}

/* Reads at most NAY_HEADER_LEN bytes of p; the file has len. */
static nay_status native_parse_header(const uint8_t *p, size_t len, nay_diag *diag,
                                      nay_native_header *h) {
  NAY_TRY(native_check_header(p, len, diag));
  if (p[NAY_AT_REQUIRED] != 0) {
    return nay__fail(diag, NAY_EVERSION, "a required flag is not known", NAY_AT_REQUIRED);
  }
  if (!nay__all_zero(p + NAY_AT_ZERO, 2)) {
    return nay__fail(diag, NAY_ECORRUPT, "a reserved field is not zero", NAY_AT_ZERO);
  }
  h->flags = (p[NAY_AT_OPTIONAL] & NAY_OPTIONAL_DERIVED) != 0 ? NAY_IS_DERIVED : 0;
  h->nsections = p[NAY_AT_NSECTIONS];
  h->nkeys = nay__load64le(p + NAY_AT_NKEYS);
  if (h->nkeys > NAY_MAX_NKEYS) {
    return nay__fail(diag, NAY_ECORRUPT, "the number of keys is above 2^56", NAY_AT_NKEYS);
  }
  h->body_len = nay__load64le(p + NAY_AT_BODY_LEN);
  if (h->body_len >= len) { /* before any sum with it */
    return nay__fail(diag, NAY_ECORRUPT, "the body is longer than the file", NAY_AT_BODY_LEN);
  }
  if (nay__body_at(h->nsections, h->body_len) + h->body_len != len) {
    return nay__fail(diag, NAY_ECORRUPT, "the length of the file is not what its header says", len);
  }
  return native_parse_kind(p, diag, h);
}

nay_status nay__native_accept(const uint8_t *start, size_t file_len, nay_diag *diag) {
  nay_native_header h = {.family = NULL};
  return native_parse_header(start, file_len, diag, &h);
}

nay_status nay__native_length(const uint8_t *start, nay_diag *diag, size_t *len) {
  NAY_TRY(native_check_header(start, NAY_HEADER_LEN, diag));
  uint64_t body_len = nay__load64le(start + NAY_AT_BODY_LEN);
  /* a payload has 2^60 bits at most; the rest of the body is small, or not of this world */
  bool possible = body_len <= NAY_MAX_NBITS;
  uint64_t total = possible ? nay__body_at(start[NAY_AT_NSECTIONS], body_len) + body_len : 0;
  size_t size = 0;
  if (!possible || !nay__size_ok(total, &size)) {
    return nay__fail(diag, NAY_ECORRUPT, "the body is longer than any can be", NAY_AT_BODY_LEN);
  }
  NAY_TRY(nay__native_accept(start, size, diag));
  *len = size;
  return NAY_OK;
}

/* The digest covers that of the header, the section table and those of the chunks. */
static nay_status native_check_directory(const uint8_t *p, const nay_native_header *h,
                                         nay_diag *diag) {
  size_t end = (size_t)nay__directory_end(h->nsections, h->body_len);
  size_t body = (size_t)nay__body_at(h->nsections, h->body_len);
  if (XXH3_64bits(p + NAY_AT_DIGEST, end - NAY_AT_DIGEST) != nay__load64le(p + end)) {
    return nay__fail(diag, NAY_ECORRUPT, "the checksum of the directory is wrong", end);
  }
  if (!nay__all_zero(p + end + 8, body - end - 8)) {
    return nay__fail(diag, NAY_ECORRUPT, "padding after the directory is not zero", end + 8);
  }
  return NAY_OK;
}

/* ---- body ---- */

static nay_status native_verify_body(const uint8_t *p, size_t len, const nay_native_header *h,
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

static nay_status native_make_lazy(uint8_t *p, size_t len, const nay_native_header *h,
                                   nay_diag *diag, nay_filter *f) {
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
  nay_native_header h = {.family = NULL};
  NAY_TRY(native_parse_header(p, len, diag, &h));
  NAY_TRY(native_check_directory(p, &h, diag));
  f->family = h.family;
  f->shape = h.shape;
  f->hasher = h.hasher;
  f->nkeys = h.nkeys;
  f->flags |= h.flags;
  /* a family that cannot tell what a probe will read has to be verified now */
  bool at_touch = trust == NAY_VERIFY_AT_TOUCH && f->family->probe_addresses != NULL;
  NAY_TRY(at_touch ? native_make_lazy(p, len, &h, diag, f) : native_verify_body(p, len, &h, diag));
  NAY_TRY(nay__native_sections(p, len, &h, diag, f));
  return native_check_payload(p, f, diag);
}
