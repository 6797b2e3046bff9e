/* cfsub.c - see cfsub.h. */
#include "redis/cfsub.h"

#include "base/bytes.h"
#include "base/compiler.h"

uint64_t nay__cf_count(const nay_cfsub *sub, uint32_t bucket_size, const nay_cfkey *key) {
  const uint8_t *a = nay__cf_bucket(sub, bucket_size, key->h1);
  const uint8_t *b = nay__cf_bucket(sub, bucket_size, key->h2);
  uint64_t count = 0;
  for (uint32_t i = 0; i < bucket_size; i++) {
    count += (a[i] == key->fp) + (unsigned)(b != a && b[i] == key->fp);
  }
  return count;
}

static uint8_t cf_swap(uint8_t *slot, uint8_t fp) {
  uint8_t old = *slot;
  *slot = fp;
  return old;
}

bool nay__cf_kick(const nay_cfsub *sub, uint32_t bucket_size, uint32_t max_iterations,
                  const nay_cfkey *key) {
  uint64_t at = key->h1 & (sub->nbuckets - 1);
  uint32_t victim = 0;
  uint8_t fp = key->fp;
  for (uint32_t i = 0; i < max_iterations; i++) {
    fp = cf_swap(nay__cf_bucket(sub, bucket_size, at) + victim, fp);
    at = nay__cf_partner(at, fp) & (sub->nbuckets - 1);
    uint8_t *bucket = nay__cf_bucket(sub, bucket_size, at);
    uint8_t *empty = memchr(bucket, 0, bucket_size);
    if (empty != NULL) {
      *empty = fp;
      return true;
    }
    victim = victim + 1 == bucket_size ? 0 : victim + 1;
  }
  for (uint32_t i = 0; i < max_iterations; i++) {
    victim = victim == 0 ? bucket_size - 1 : victim - 1;
    at = nay__cf_partner(at, fp) & (sub->nbuckets - 1);
    fp = cf_swap(nay__cf_bucket(sub, bucket_size, at) + victim, fp);
  }
  assert(fp == key->fp);
  return false;
}

uint64_t nay__cf_occupied(const uint8_t *slots, size_t n) {
  uint64_t occupied = 0;
  for (size_t i = 0; i < n; i++) occupied += slots[i] != 0;
  return occupied;
}
