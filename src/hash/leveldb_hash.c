/*
 * leveldb_hash.c - the 32-bit hash of LevelDB 1.18 and later, of which its filters are made.
 * Tail bytes are unsigned here; older LevelDB and RocksDB sign-extend them and disagree on keys
 * whose last bytes are 0x80 or above.
 */
#include "base/bytes.h"
#include "hash/hash.h"

uint32_t nay__leveldb_hash(const uint8_t *p, size_t len, uint32_t seed) {
  const uint32_t m = 0xc6a4a793u;
  uint32_t h = seed ^ (uint32_t)(len * m);
  size_t rest = len;
  for (; rest >= 4; rest -= 4, p += 4) {
    h += nay__load32le(p);
    h *= m;
    h ^= h >> 16;
  }
  if (rest == 0) return h;
  if (rest == 3) h += (uint32_t)p[2] << 16;
  if (rest >= 2) h += (uint32_t)p[1] << 8;
  h += p[0];
  h *= m;
  return h ^ h >> 24;
}
