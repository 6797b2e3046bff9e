/*
 * leveldb_hash.c - the 32-bit hash of LevelDB filters, in its two forms. LevelDB 1.18 and later
 * read the tail of up to three bytes as unsigned, older LevelDB and RocksDB's legacy filters as
 * signed: the two differ for keys whose tail has a byte of 0x80 or above.
 */
#include "base/bytes.h"
#include "hash/hash.h"

#define LEVELDB_M 0xc6a4a793u

static inline uint32_t leveldb_round(uint32_t h, const uint8_t *p) {
  h = (h + nay__load32le(p)) * LEVELDB_M;
  return h ^ h >> 16;
}

static uint32_t leveldb_words(const uint8_t *p, size_t len, uint32_t seed) {
  uint32_t h = seed ^ (uint32_t)(len * LEVELDB_M);
  for (; len >= 4; len -= 4, p += 4) h = leveldb_round(h, p);
  return h;
}

void nay__leveldb_hash_four(const void *const keys[4], size_t len, uint32_t seed,
                            uint32_t hashes[4]) {
  const uint8_t *a = keys[0], *b = keys[1], *c = keys[2], *d = keys[3];
  uint32_t ha = seed ^ (uint32_t)(len * LEVELDB_M), hb = ha, hc = ha, hd = ha;
  for (size_t i = 0; i < len; i += 4) {
    ha = leveldb_round(ha, a + i);
    hb = leveldb_round(hb, b + i);
    hc = leveldb_round(hc, c + i);
    hd = leveldb_round(hd, d + i);
  }
  hashes[0] = ha;
  hashes[1] = hb;
  hashes[2] = hc;
  hashes[3] = hd;
}

/* tail: the sum of the shifted bytes, sign-extended or not. */
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
