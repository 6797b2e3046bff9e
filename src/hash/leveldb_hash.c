/*
 * leveldb_hash.c - the 32-bit hash of LevelDB, of which its filters are made, in its two forms.
 * In LevelDB 1.18 and later the up to three bytes at the end are unsigned. In older LevelDB and in
 * RocksDB's legacy filters they are signed, so the two disagree on keys whose tail has a byte of
 * 0x80 or above.
 */
#include "base/bytes.h"
#include "hash/hash.h"

#define LEVELDB_M 0xc6a4a793u

static uint32_t leveldb_words(const uint8_t *p, size_t len, uint32_t seed) {
  uint32_t h = seed ^ (uint32_t)(len * LEVELDB_M);
  for (; len >= 4; len -= 4, p += 4) {
    h += nay__load32le(p);
    h *= LEVELDB_M;
    h ^= h >> 16;
  }
  return h;
}

/* The tail, its bytes already as wide as they count. */
static uint32_t leveldb_tail(uint32_t h, uint32_t tail) {
  h = (h + tail) * LEVELDB_M;
  return h ^ h >> 24;
}

uint32_t nay__leveldb_hash(const uint8_t *p, size_t len, uint32_t seed) {
  uint32_t h = leveldb_words(p, len, seed), tail = 0;
  size_t rest = len % 4;
  if (rest == 0) return h;
  for (size_t i = 0; i < rest; i++) tail += (uint32_t)p[len - rest + i] << 8 * i;
  return leveldb_tail(h, tail);
}

uint32_t nay__leveldb_hash_s8(const uint8_t *p, size_t len, uint32_t seed) {
  uint32_t h = leveldb_words(p, len, seed), tail = 0;
  size_t rest = len % 4;
  if (rest == 0) return h;
  for (size_t i = 0; i < rest; i++) {
    uint32_t extended = (uint32_t)p[len - rest + i] | (p[len - rest + i] >= 0x80 ? ~0xffu : 0);
    tail += extended << 8 * i;
  }
  return leveldb_tail(h, tail);
}
