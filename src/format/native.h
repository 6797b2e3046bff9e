/*
 * native.h - the native file: where its parts lie, and parsing it in place. The specification is
 * doc/formats/nay.md.
 *
 *   0            header, 64 bytes; its last 8 are the XXH3 of the first 56
 *   64           section table, 16 bytes for each section: type u32, flags u32, length u64
 *                chunk digests, 8 bytes for each 64 KiB of the body: XXH3 of the chunk
 *                directory digest, 8 bytes: XXH3 of everything from offset 56 (the digest of the
 *                header) up to here
 *                zeros to the next multiple of 64
 *   body_at      the sections, in table order, each starting at a multiple of 64
 *
 * Lengths are stored and offsets are computed from them, so no offset can overlap or point outside.
 *
 *   native_encode.c     filter to bytes: a buffer, a stream, a range of the file
 *   native_parse.c      header, directory and body, verified in that order
 *   native_sections.c   the sections of the body
 *   params_plan.c       nay_params_plan: what a filter and its file cost
 *   fmt_nay.c           decode and view, and the format's entry in NAY_FORMATS
 *   native_file.c       save, open and map
 *   decoder.c           a file that arrives in pieces
 */
#ifndef NAY_FORMAT_NATIVE_H
#define NAY_FORMAT_NATIVE_H

#include "family/lazy.h"
#include "filter.h"

/* ---- layout ---- */

#define NAY_NATIVE_MAGIC "\x89nay\r\n\x1a\n" /* 8 bytes */
#define NAY_NATIVE_VERSION 1u

/* Offsets of the header's fields. */
enum {
  NAY_AT_MAGIC = 0,
  NAY_AT_VERSION = 8,
  NAY_AT_KIND = 9,
  NAY_AT_HASH = 10,
  NAY_AT_REQUIRED = 11, /* flags: a reader that does not know one refuses the file */
  NAY_AT_OPTIONAL = 12, /* flags: a reader ignores those that it does not know */
  NAY_AT_NSECTIONS = 13,
  NAY_AT_ZERO = 14, /* u16, zero */
  NAY_AT_SEED = 16,
  NAY_AT_NKEYS = 24,
  NAY_AT_NUNITS = 32,
  NAY_AT_K = 40,
  NAY_AT_EXTRA = 44,
  NAY_AT_BODY_LEN = 48,
  NAY_AT_DIGEST = 56,
};

#define NAY_HEADER_LEN 64u
#define NAY_OPTIONAL_DERIVED 0x01u

/* Section types and their one flag. */
enum {
  NAY_SECTION_PAYLOAD = 1,
  NAY_SECTION_KEY = 2,
  NAY_SECTION_META = 3,
  NAY_SECTION_DESCRIPTION = 4, /* of how keys were made */
};
#define NAY_SECTION_REQUIRED 0x01u
#define NAY_SECTION_ALIGN 64u
#define NAY_SECTION_ENTRY 16u

/* nay__directory_end: offset of the directory digest: after section table and chunk digests. */
static inline uint64_t nay__directory_end(uint32_t nsections, uint64_t body_len) {
  uint64_t nchunks = nay__ceil_div(body_len, NAY_CHUNK);
  return NAY_HEADER_LEN + (uint64_t)nsections * NAY_SECTION_ENTRY + nchunks * 8;
}

/* nay__body_at: where the body starts. */
static inline uint64_t nay__body_at(uint32_t nsections, uint64_t body_len) {
  return nay__round_up(nay__directory_end(nsections, body_len) + 8, NAY_SECTION_ALIGN);
}

/* nay__section_start: where a section starts when the one before it ends at `end`. */
static inline uint64_t nay__section_start(uint64_t end) {
  return nay__round_up(end, NAY_SECTION_ALIGN);
}

/* ---- parsing ---- */

/* nay_native_header: what a verified header says. */
typedef struct nay_native_header {
  const nay_family *family;
  nay_shape shape;
  nay_hash_fn hasher;
  uint64_t nkeys;
  uint32_t nsections;
  uint32_t flags;
  uint64_t body_len;
  uint64_t payload_len; /* that this shape needs */
} nay_native_header;

/* When the chunks are verified: now, or each when it is first read. */
typedef enum nay_trust { NAY_VERIFY_ALL, NAY_VERIFY_AT_TOUCH } nay_trust;

/*
 * nay__native_parse: fills *f, which points into bytes (writable only if the caller owns them).
 * With NAY_VERIFY_AT_TOUCH f->lazy is allocated from f->allocator, which must be set.
 */
nay_status nay__native_parse(uint8_t *bytes, size_t len, nay_trust trust, nay_diag *diag,
                             nay_filter *f);

/* nay__native_sections: finds the sections of a body whose directory is verified, and sets payload,
 * key, metadata and key description of *f. */
nay_status nay__native_sections(uint8_t *bytes, size_t len, const nay_native_header *header,
                                nay_diag *diag, nay_filter *f);

/* nay__native_accept: a nay_accept (os/file.h): whether a file of this length may start like this.
 */
nay_status nay__native_accept(const uint8_t *start, size_t file_len, nay_diag *diag);

/* nay__native_length: the length of the file that starts with these 64 bytes. */
nay_status nay__native_length(const uint8_t *start, nay_diag *diag, size_t *len);

/* nay__native_handle: an empty filter for nay__native_parse to fill. */
nay_status nay__native_handle(const nay_allocator *allocator, uint32_t flags, nay_diag *diag,
                              nay_filter **filter);

/* nay__view_check: whether a filter fits into the caller's view; nay__view_set puts it there. */
nay_status nay__view_check(const nay_view *view, nay_diag *diag);
void nay__view_set(nay_view *view, const nay_filter *parsed);

/* nay__native_magic: whether the bytes start with the magic number of a native file. */
bool nay__native_magic(const uint8_t *bytes, size_t len);

#endif /* NAY_FORMAT_NATIVE_H */
