/* sbchain.h - inside a chained Bloom filter: what its operations and its bytes share. */
#ifndef NAY_SBCHAIN_H
#define NAY_SBCHAIN_H

#include "base/alloc.h"
#include "base/bits.h"
#include "base/compiler.h"
#include "redis/redis.h"

/* A probe reads the first four fields of a link and nothing else. */
typedef struct sblink {
  uint64_t modulus;    /* positions are taken modulo this: 2^n2 or nbits */
  uint64_t reciprocal; /* floor((2^64 - 1) / modulus) */
  uint8_t *bytes;
  uint32_t hashes;
  uint32_t n2;
  uint64_t entries, size, nbits, nbytes;
  double error, bpe;
} sblink;

struct nay_sbchain {
  sblink *links;
  uint32_t nlinks, room; /* links in use; links that the list has place for */
  uint32_t options, growth;
  uint32_t max_hashes; /* of all links: an untrusted chain need not tighten */
  uint64_t size;
  nay_zallocator allocator;
};

/* nay__sblink_plan: the shape of a link for `entries` items; no memory yet. NAY_EINVAL. */
nay_status nay__sblink_plan(uint64_t entries, double error, uint32_t options, sblink *link);

/* nay__sblink_rate_bpe: bits per entry for an FPR, with RedisBloom's constant. */
double nay__sblink_rate_bpe(double error);

/* nay__sblink_hashes: how many bits an item sets. */
uint32_t nay__sblink_hashes(double bpe);

/* nay__sblink_set_modulus: from nbits and n2. */
void nay__sblink_set_modulus(sblink *link);

/* nay__sblink_position: the bit that hash i of an item sets; the remainder without a division. */
NAY_INLINE uint64_t nay__sblink_position(const sblink *link, nay_hash hash, uint32_t i) {
  uint64_t x = hash.lo + i * hash.hi;
  uint64_t rest = x - nay__mulhi(x, link->reciprocal) * link->modulus;
  return rest >= link->modulus ? rest - link->modulus : rest;
}

/* nay__sblink_test: whether the link has an item of this hash. */
bool nay__sblink_test(const sblink *link, nay_hash hash);

/* nay__sblink_mark: sets its bits. */
void nay__sblink_mark(sblink *link, nay_hash hash);

/*
 * Dumps in place: the header is NAY_SB_HEAD bytes and NAY_SB_ROW for each link, then come the
 * arrays. nay__sb_read_row trusts the row; nay__sb_check_dump checks all rows first, and len
 * bytes of header and arrays together.
 */
enum { NAY_SB_HEAD = 20, NAY_SB_ROW = 53 };
void nay__sb_read_row(const uint8_t *row, sblink *link);
void nay__sb_write_row(const sblink *link, uint8_t *row);
nay_status nay__sb_check_dump(const uint8_t *bytes, size_t len, nay_diag *diag);

/* nay__sbchain_alloc: a chain without links. */
nay_status nay__sbchain_alloc(const nay_zallocator *allocator, nay_sbchain **chain);

/* nay__sbchain_push: appends a link, which takes its bytes along. NAY_ENOMEM: it did not. */
nay_status nay__sbchain_push(nay_sbchain *chain, const sblink *link);

/* nay__sbchain_push_zero: appends a link with an array of zeros. */
nay_status nay__sbchain_push_zero(nay_sbchain *chain, sblink *link);

#endif /* NAY_SBCHAIN_H */
