/*
 * native_sections.c - the sections of a native file's body: payload, stored key, metadata, key
 * description. A reader skips a section of an unknown type, unless the file marks it as required.
 */
#include "base/bytes.h"
#include "format/native.h"

/* In a lazy map: what any probe may read. */
static bool native_tail_ok(const nay_filter *f) {
  uint64_t tail = f->family->tail != NULL ? f->family->tail(&f->shape) : 0;
  return nay__lazy_range_ok(f->lazy, f->bits.bytes + f->nbytes - tail, (size_t)tail);
}

/* One section at its place: remembered, skipped, or a reason to refuse. */
static nay_status native_take_section(uint8_t *at, size_t len, uint32_t type, uint32_t flags,
                                      uint64_t offset, const nay_native_header *h, nay_diag *diag,
                                      nay_filter *f) {
  switch (type) {
    case NAY_SECTION_PAYLOAD:
      if (f->bits.bytes != NULL) return nay__fail(diag, NAY_ECORRUPT, "two payloads", offset);
      if (!h->family->self_sized && len != h->payload_len) {
        return nay__fail(diag, NAY_ECORRUPT, "the payload's length does not fit the header",
                         offset);
      }
      nay__filter_attach(f, at, len);
      if (f->lazy != NULL && !native_tail_ok(f)) {
        return nay__fail(diag, NAY_ECORRUPT, "the checksum of a chunk is wrong", offset);
      }
      return NAY_OK;
    case NAY_SECTION_KEY:
      if (h->hasher.kind != NAY_HASH_SIPHASH || len != sizeof f->hasher.key || !f->hasher.locked) {
        return nay__fail(diag, NAY_ECORRUPT, "a secret key where none belongs", offset);
      }
      if (nay__hasher_unlock(&f->hasher, at) != NAY_OK) {
        return nay__fail(diag, NAY_ECORRUPT, "the stored key does not fit its check value", offset);
      }
      f->flags |= NAY_STORE_KEY;
      return NAY_OK;
    case NAY_SECTION_META:
      if (f->meta != NULL) return nay__fail(diag, NAY_ECORRUPT, "two metadata sections", offset);
      if (len == 0) return nay__fail(diag, NAY_ECORRUPT, "an empty metadata section", offset);
      if (f->lazy != NULL && !nay__lazy_range_ok(f->lazy, at, len)) { /* users see all of it */
        return nay__fail(diag, NAY_ECORRUPT, "the checksum of the metadata is wrong", offset);
      }
      f->meta = at;
      f->meta_len = len;
      return NAY_OK;
    case NAY_SECTION_DESCRIPTION:
      if (f->key_text[0] != '\0') {
        return nay__fail(diag, NAY_ECORRUPT, "two key descriptions", offset);
      }
      if (!nay__key_stored(at, len, f->key_text)) {
        return nay__fail(diag, NAY_ECORRUPT, "the key description is not one that files state",
                         offset);
      }
      return NAY_OK;
    default:
      if ((flags & NAY_SECTION_REQUIRED) == 0) return NAY_OK;
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

/* Where section i starts: at the next multiple of 64 after the end of the one before, with zeros
 * between, which lie in the chunk of its last byte. */
static nay_status native_section_start(const uint8_t *p, size_t len, uint32_t i, nay_diag *diag,
                                       uint64_t *at) {
  uint64_t end = *at, start = i != 0 ? nay__section_start(end) : end;
  if (start > len || !nay__all_zero(p + end, (size_t)(start - end))) {
    return nay__fail(diag, NAY_ECORRUPT, "padding after a section is missing or not zero", end);
  }
  *at = start;
  return NAY_OK;
}

nay_status nay__native_sections(uint8_t *p, size_t len, const nay_native_header *h, nay_diag *diag,
                                nay_filter *f) {
  uint64_t at = len - h->body_len;
  for (uint32_t i = 0; i < h->nsections; i++) {
    uint64_t entry_at = NAY_HEADER_LEN + (uint64_t)i * NAY_SECTION_ENTRY;
    const uint8_t *entry = p + entry_at;
    uint32_t type = nay__load32le(entry), flags = nay__load32le(entry + 4);
    uint64_t section_len = nay__load64le(entry + 8);
    if ((flags & ~NAY_SECTION_REQUIRED) != 0) {
      return nay__fail(diag, NAY_EVERSION, "a section has an unknown flag", entry_at + 4);
    }
    NAY_TRY(native_section_start(p, len, i, diag, &at));
    if (section_len > len - at) {
      return nay__fail(diag, NAY_ECORRUPT, "a section is longer than the body", entry_at + 8);
    }
    NAY_TRY(native_edges_ok(f, p + at, (size_t)section_len, at, diag));
    NAY_TRY(native_take_section(p + at, (size_t)section_len, type, flags, at, h, diag, f));
    at += section_len;
  }
  if (at != len) return nay__fail(diag, NAY_ECORRUPT, "bytes after the last section", at);
  if (f->bits.bytes == NULL) return nay__fail(diag, NAY_ECORRUPT, "no payload", NAY_HEADER_LEN);
  return NAY_OK;
}
