/*
 * fmt_sbbf.c - a split-block Bloom filter as Parquet stores it: a header, then the blocks.
 *
 *   | BloomFilterHeader in Thrift's compact protocol | numBytes bytes |
 *
 *   BloomFilterHeader  1: numBytes i32, 2: algorithm, 3: hash, 4: compression, each a union of one
 *                      empty struct: BLOCK, XXHASH, UNCOMPRESSED
 *
 * as written: 15 <numBytes, zigzag> 1c 1c 00 00 1c 1c 00 00 1c 1c 00 00 00. Readers take any other
 * order of bytes that means the same, skip fields they do not know, and refuse a union with another
 * member: it is another filter. The hash is XXH64 with seed 0 of the value in PLAIN encoding,
 * without a length; family/sbbf.c has the rest. The layout has no checksum, and no count of keys.
 *
 * Size: writers round up to a power of two of bytes, from 32 on; so do plans by FPR or bits per key
 * here. --nbits gives any number of whole blocks.
 */
#include "base/bytes.h"
#include "base/split_block.h"
#include "base/varint.h"
#include "family/sbbf.h"
#include "format/format.h"
#include "math/elementary.h"

#define SBBF_MAX_BYTES (UINT64_C(1) << 30) /* the largest power of two of an i32 */

static const uint8_t split_block_unions[13] = {0x1c, 0x1c, 0,    0, 0x1c, 0x1c, 0,
                                               0,    0x1c, 0x1c, 0, 0,    0};

static nay_status sbbf_size_by(const nay_params *p, nay_sizing by, nay_diag *diag,
                               nay_shape *shape) {
  double bytes = (double)p->nkeys * p->bits_per_key / 8;
  if (by == NAY_BY_NBITS) {
    if (p->nbits % NAY_SBBF_BITS != 0 || p->nbits / 8 >= 2 * SBBF_MAX_BYTES) {
      return nay__fail(diag, NAY_EINVAL, "nbits is not a number of blocks of 256 below 2^34", 0);
    }
    *shape = (nay_shape){p->nbits / NAY_SBBF_BITS, 8, 0};
    return NAY_OK;
  }
  if (by == NAY_BY_FPR) { /* m = -8 n / ln(1 - p^(1/8)) bits */
    double root = nay__sqrt(nay__sqrt(nay__sqrt(p->fpr)));
    bytes = (double)p->nkeys * -8 / nay__ln(1 - root) / 8;
  }
  /* below an FPR of 10^-130 the logarithm is that of 1, and the size no number of bytes */
  if (!(bytes >= 0 && bytes <= (double)SBBF_MAX_BYTES)) {
    return nay__fail(diag, NAY_EINVAL, "nkeys needs more than 2^30 bytes", 0);
  }
  uint64_t rounded = NAY_SBBF_BYTES;
  while (rounded < (uint64_t)bytes) rounded *= 2;
  *shape = (nay_shape){rounded / NAY_SBBF_BYTES, 8, 0};
  return NAY_OK;
}

static nay_status sbbf_parse(const uint8_t *bytes, size_t len, nay_diag *diag, nay_shape *shape,
                             nay_span *payload) {
  const char *what;
  uint64_t nbytes;
  size_t header, at;
  nay_status status = nay__sbbf_header(bytes, len, &header, &nbytes, &what, &at);
  if (status != NAY_OK) return nay__fail(diag, status, what, at);
  if (nbytes > len - header) {
    return nay__fail(diag, NAY_ECORRUPT, "numBytes is more than the bytes that are there", at);
  }
  *shape = (nay_shape){nbytes / NAY_SBBF_BYTES, 8, 0};
  *payload = (nay_span){(uint8_t *)(uintptr_t)bytes + header, (size_t)nbytes};
  return NAY_OK;
}

static bool sbbf_fits(const uint8_t *head, size_t nhead, uint64_t len) {
  uint64_t zigzag;
  const uint8_t *after =
      nhead > 1 && head[0] == 0x15 ? nay__varint64_load(head + 1, head + nhead, &zigzag) : NULL;
  if (after == NULL || (size_t)(head + nhead - after) < sizeof split_block_unions) return false;
  return memcmp(after, split_block_unions, sizeof split_block_unions) == 0 && zigzag % 64 == 0 &&
         zigzag != 0 && len - (uint64_t)(after - head) - sizeof split_block_unions == zigzag / 2;
}

static size_t sbbf_header(uint64_t nbytes, uint8_t header[32]) {
  header[0] = 0x15;
  uint8_t *at = nay__varint_store(header + 1, 2 * nbytes);
  memcpy(at, split_block_unions, sizeof split_block_unions);
  return (size_t)(at - header) + sizeof split_block_unions;
}

static size_t sbbf_size(const nay_filter *f) {
  uint8_t header[32];
  return sbbf_header(f->nbytes, header) + f->nbytes;
}

static uint64_t sbbf_planned_size(const nay_shape *shape, uint64_t nkeys) {
  uint8_t header[32];
  uint64_t nbytes = shape->nunits * NAY_SBBF_BYTES;
  (void)nkeys;
  return sbbf_header(nbytes, header) + nbytes;
}

static void sbbf_encode(const nay_filter *f, uint8_t *dst) {
  size_t header = sbbf_header(f->nbytes, dst);
  memcpy(dst + header, f->bits.bytes, f->nbytes);
}

static nay_hash sbbf_hash_of(const uint8_t *key, size_t len) {
  return (nay_hash){XXH64(key, len, 0), 0};
}
static const nay_foreign_hash sbbf_hash = {
    .kind = (nay_hash_kind)105, .name = "xxh64", .hash = sbbf_hash_of};

const nay_format nay__format_sbbf = {
    .name = "sbbf",
    .about = "the split-block Bloom filter of Parquet, with its header",
    .family = &nay__family_sbbf,
    .hash = &sbbf_hash,
    .size_by = sbbf_size_by,
    .takes = NAY_TAKES_NBITS,
    .parse = sbbf_parse,
    .fits = sbbf_fits,
    .overhead = 17,
    .packed_size = sbbf_planned_size,
    .size = sbbf_size,
    .encode = sbbf_encode,
};
