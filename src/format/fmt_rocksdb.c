/*
 * fmt_rocksdb.c - the filter blocks of RocksDB's block-based tables.
 *
 *   | bits | which u8 | 4 bytes, by layout |
 *
 *   rocksdb-bloom    | lines of 64 bytes | ff | 00 | probes u8 | 00 00 |        FastLocalBloom
 *   rocksdb-ribbon   | segments of 16 bytes | fe | seed u8 | blocks u24 |       Standard128Ribbon
 *   rocksdb-legacy   | lines of 64 bytes | probes u8 | lines u32 |              until format 4
 *
 * Five bytes or fewer hold no key and answer nay. `which` 0, and every value that RocksDB reserves,
 * answers maybe; six zero bytes are what writers put for that. These bytes have no checksum:
 * RocksDB has one in the trailer of each block.
 */
#include "format/rocksdb.h"

nay_status nay__rocksdb_check_bits(double *bits_per_key, nay_diag *diag) {
  if (!(*bits_per_key >= 0.5 && *bits_per_key <= 100)) {
    return nay__fail(diag, NAY_EINVAL, "bits_per_key is not between 0.5 and 100, RocksDB's range",
                     0);
  }
  if (*bits_per_key < 1) *bits_per_key = 1;
  return NAY_OK;
}

uint32_t nay__rocksdb_millibits(double bits_per_key) {
  return (uint32_t)(bits_per_key * 1000 + 0.500001); /* the nudge is RocksDB's */
}

uint32_t nay__rocksdb_probes(uint32_t millibits) {
  static const uint32_t most[] = {2080,  3580,  5100,  6640,  8300,  10070,
                                  11720, 14001, 16050, 18300, 22001, 25501};
  if (millibits > 50000) return 24;
  for (uint32_t k = 1; k <= sizeof most / sizeof most[0]; k++) {
    if (millibits <= most[k - 1]) return k;
  }
  return (millibits - 1) / 2000 - 1;
}

/* The layout of a block. An empty or reserved block is in the layout that the caller named. */
static const nay_format *rocksdb_variant(const nay_format *named, const uint8_t *bytes,
                                         size_t len) {
  if (len <= NAY_ROCKSDB_TRAILER) return named;
  uint8_t which = bytes[len - NAY_ROCKSDB_TRAILER];
  if (which == NAY_ROCKSDB_BLOOM) return &nay__format_rocksdb_bloom;
  if (which == NAY_ROCKSDB_RIBBON) return &nay__format_rocksdb_ribbon;
  return which >= 1 && which <= 127 ? &nay__format_rocksdb_legacy : named;
}

/* Any bytes are a filter. */
static nay_status rocksdb_parse(const uint8_t *bytes, size_t len, nay_diag *diag, nay_shape *shape,
                                nay_span *payload) {
  (void)diag;
  *payload = (nay_span){(uint8_t *)(uintptr_t)bytes, len};
  *shape = (nay_shape){.nunits = 0};
  if (len <= NAY_ROCKSDB_TRAILER) return NAY_OK;
  uint8_t which = bytes[len - NAY_ROCKSDB_TRAILER];
  if (which == NAY_ROCKSDB_BLOOM) {
    *shape = nay__rocksdb_bloom_shape(bytes, len);
  } else if (which == NAY_ROCKSDB_RIBBON) {
    *shape = nay__rocksdb_ribbon_shape(bytes, len);
  } else if (which >= 1 && which <= 127) {
    *shape = nay__rocksdb_legacy_shape(bytes, len);
  } else {
    shape->extra = NAY_ROCKSDB_MAYBE;
  }
  return NAY_OK;
}

static size_t rocksdb_size(const nay_filter *f) { return f->nbytes; }

static void rocksdb_encode(const nay_filter *f, uint8_t *dst) {
  if (f->nbytes != 0) memcpy(dst, f->bits.bytes, f->nbytes);
}

/* XXH3 of xxHash 0.7.2, a preview that RocksDB kept. */
static nay_hash rocksdb_hash_of(const uint8_t *key, size_t len) {
  return (nay_hash){nay__xxph3(key, len), 0};
}
const nay_foreign_hash nay__rocksdb_hash = {
    .kind = (nay_hash_kind)72, .name = "xxph3", .hash = rocksdb_hash_of};

/* LevelDB's, with signed tail bytes. */
static nay_hash rocksdb_legacy_hash_of(const uint8_t *key, size_t len) {
  return (nay_hash){nay__leveldb_hash_s8(key, len, NAY_LEVELDB_SEED), 0};
}
static const nay_foreign_hash rocksdb_legacy_hash = {
    .kind = (nay_hash_kind)73, .name = "leveldb-s8", .hash = rocksdb_legacy_hash_of};

const nay_format nay__format_rocksdb_bloom = {
    .name = "rocksdb-bloom",
    .about = "RocksDB's Bloom filter since format 5 (FastLocalBloom)",
    .family = &nay__family_rocksdb_bloom,
    .hash = &nay__rocksdb_hash,
    .plan = nay__rocksdb_bloom_plan,
    .rate = nay__rocksdb_bloom_rate,
    .variant = rocksdb_variant,
    .parse = rocksdb_parse,
    .size = rocksdb_size,
    .encode = rocksdb_encode,
};

const nay_format nay__format_rocksdb_legacy = {
    .name = "rocksdb-legacy",
    .about = "RocksDB's Bloom filter until format 4",
    .family = &nay__family_rocksdb_legacy,
    .hash = &rocksdb_legacy_hash,
    .plan = nay__rocksdb_legacy_plan,
    .rate = nay__rocksdb_bloom_rate,
    .variant = rocksdb_variant,
    .parse = rocksdb_parse,
    .size = rocksdb_size,
    .encode = rocksdb_encode,
};

const nay_format nay__format_rocksdb_ribbon = {
    .name = "rocksdb-ribbon",
    .about = "RocksDB's ribbon filter (Standard128Ribbon)",
    .family = &nay__family_rocksdb_ribbon,
    .hash = &nay__rocksdb_hash,
    .plan = nay__rocksdb_ribbon_plan,
    .rate = nay__rocksdb_ribbon_rate,
    .variant = rocksdb_variant,
    .parse = rocksdb_parse,
    .size = rocksdb_size,
    .encode = rocksdb_encode,
};
