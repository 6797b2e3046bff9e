/*
 * fmt_leveldb.c - the filters of LevelDB's built-in policy, "leveldb.BuiltinBloomFilter2".
 *
 *   | bits, max(64, n * bits_per_key) rounded up to bytes | k u8 |
 *
 * k = trunc(0.69 * bits_per_key) in [1, 30]; larger values are reserved and mean maybe. A filter of
 * fewer than 2 bytes matches nothing, as in LevelDB itself; one of no bytes stands in a filter
 * block wherever a range of the file has no keys. There is no checksum: LevelDB has one in the
 * block trailer, and does not verify it with default options.
 */
#include "format/classic.h"
#include "format/format.h"

#define LEVELDB_NO_BYTES 1u /* shape.extra of the filter of no bytes, which has no k either */

static nay_status leveldb_plan(uint64_t nkeys, double bits_per_key, nay_diag *diag,
                               nay_shape *shape) {
  uint64_t nbits;
  NAY_TRY(nay__classic_bits(nkeys, bits_per_key, diag, &nbits));
  uint32_t k = (uint32_t)(bits_per_key * 0.69);
  *shape = (nay_shape){.nunits = nay__round_up(nay__max_u64(64, nbits), 8),
                       .k = k < 1    ? 1
                            : k > 30 ? 30
                                     : k};
  return NAY_OK;
}

static nay_status leveldb_parse(const uint8_t *bytes, size_t len, nay_diag *diag, nay_shape *shape,
                                nay_span *payload) {
  (void)diag;                            /* any bytes are a filter */
  size_t array = len == 0 ? 0 : len - 1; /* one byte is k and no bits */
  *shape = len == 0 ? (nay_shape){.extra = LEVELDB_NO_BYTES}
                    : (nay_shape){.nunits = (uint64_t)array * 8, .k = bytes[len - 1]};
  *payload = (nay_span){(uint8_t *)(uintptr_t)bytes, array};
  return NAY_OK;
}

static size_t leveldb_size(const nay_filter *f) {
  return f->shape.extra == LEVELDB_NO_BYTES ? 0 : f->nbytes + 1;
}

static void leveldb_encode(const nay_filter *f, uint8_t *dst) {
  if (f->shape.extra == LEVELDB_NO_BYTES) return;
  if (f->nbytes != 0) memcpy(dst, f->bits.bytes, f->nbytes);
  dst[f->nbytes] = (uint8_t)f->shape.k;
}

static nay_hash leveldb_bloom_hash_of(const uint8_t *key, size_t len) {
  return (nay_hash){nay__leveldb_hash(key, len, NAY_LEVELDB_SEED), 0};
}
static const nay_foreign_hash leveldb_bloom_hash = {
    .kind = (nay_hash_kind)64, .name = "leveldb", .hash = leveldb_bloom_hash_of};

const nay_format nay__format_leveldb = {
    .name = "leveldb",
    .about = "LevelDB's built-in Bloom policy (leveldb.BuiltinBloomFilter2)",
    .family = &nay__family_rotating,
    .hash = &leveldb_bloom_hash,
    .plan = leveldb_plan,
    .parse = leveldb_parse,
    .overhead = 1,
    .size = leveldb_size,
    .encode = leveldb_encode,
};
