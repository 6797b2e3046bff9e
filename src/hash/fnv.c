/* fnv.c - FNV-1a, 64 bits: one multiplication per byte. Weak alone; the lab layout mixes the
 * result.
 */
#include "hash/hash.h"

uint64_t nay__fnv1a64(const uint8_t *p, size_t len) {
  uint64_t h = 0xcbf29ce484222325u;
  for (size_t i = 0; i < len; i++) h = (h ^ p[i]) * 0x100000001b3u;
  return h;
}
