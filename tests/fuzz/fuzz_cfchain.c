/*
 * fuzz_cfchain.c - RedisBloom's cuckoo chain: a header from a stranger, then calls. The input is 38
 * bytes of header and one byte for each call: its two highest bits say which, the others name one
 * of 64 items. What must hold after each: the items counted are the slots in use; what was added
 * is a maybe; a call that failed has changed nothing; a dump loads as the same chain.
 */
#include "redis/cfsub.h"
#include "redis/redis.h"
#include "support/exercise.h"

#define MAX_SLOTS \
  65536u /* of a chain that is fuzzed: time, not memory, is what there is little of */

static uint64_t chain_check(const nay_cfchain *chain) {
  nay_cfchain_header h;
  uint64_t occupied = 0, digest = 0;
  size_t len;
  const uint8_t *slots;
  nay__cfchain_describe(chain, &h);
  for (uint64_t i = 0; (slots = nay__cfchain_slots(chain, i, &len)) != NULL; i++) {
    occupied += nay__cf_occupied(slots, len);
    for (size_t s = 0; s < len; s++) digest = (digest ^ slots[s]) * 0x100000001b3u;
  }
  CHECK(occupied == h.nitems);
  return nay_hash_mix(digest) ^ h.nitems ^ h.ndeletes << 32 ^ h.nfilters << 48;
}

/* Reading all slots before and after is what takes the time: `looks` says whether to. */
static void chain_call(nay_cfchain *chain, uint8_t call, bool looks) {
  uint64_t hash = nay_hash_mix(call & 63), before = looks ? chain_check(chain) : 0;
  nay_cfchain_header h;
  bool had = nay__cfchain_has(chain, hash);
  CHECK(had == (nay__cfchain_count(chain, hash) != 0));
  nay__cfchain_describe(chain, &h);
  switch (call >> 6) {
    case 0:
    case 1:
      /* a chain that would grow beyond what is fuzzed is left alone */
      if (nay__cfchain_nbytes(chain) > MAX_SLOTS || h.expansion > 4) return;
      if (nay__cfchain_add(chain, hash) == NAY_OK) {
        CHECK(nay__cfchain_has(chain, hash));
      } else {
        CHECK(!looks || chain_check(chain) == before);
      }
      break;
    case 2:
      CHECK(nay__cfchain_remove(chain, hash) == had);
      if (!had && looks) CHECK(chain_check(chain) == before);
      break;
    default: nay__cfchain_compact(chain); CHECK(!had || nay__cfchain_has(chain, hash));
  }
  if (looks) (void)chain_check(chain);
}

static void chain_round_trip(const nay_cfchain *chain) {
  nay_cfchain_header h, again;
  uint8_t bytes[NAY_CFCHAIN_HEADER_LEN];
  nay_cfchain *loaded;
  nay__cfchain_describe(chain, &h);
  nay__cfchain_write_header(&h, bytes);
  CHECK(nay__cfchain_read_header(bytes, sizeof bytes, NULL, &again) == NAY_OK);
  CHECK(nay__cfchain_new(&again, NULL, NULL, &loaded) == NAY_OK);
  const uint8_t *chunk;
  size_t len;
  for (uint64_t at = 0; (chunk = nay__cfchain_chunk(chain, at, &len)) != NULL; at += len) {
    CHECK(nay__cfchain_load(loaded, at, chunk, len) == NAY_OK);
    CHECK(len == 1 || nay__cfchain_load(loaded, at + 1, chunk, len) == NAY_EINVAL);
  }
  CHECK(chain_check(loaded) == chain_check(chain));
  nay__cfchain_free(loaded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  nay_cfchain_header h;
  uint64_t nslots;
  nay_cfchain *chain;
  flaky heap = {.fail_at = -1};
  nay_zallocator a = flaky_zallocator(&heap);
  if (size < NAY_CFCHAIN_HEADER_LEN) return 0;
  if (nay__cfchain_read_header(data, NAY_CFCHAIN_HEADER_LEN, NULL, &h) != NAY_OK) return 0;
  CHECK(nay__cfchain_nslots(&h, NULL, &nslots) == NAY_OK && h.nitems <= nslots);
  if (nslots > MAX_SLOTS || h.nfilters > 32) return 0;
  h.max_iterations = 1 + h.max_iterations % 50; /* kicks are what takes the time */
  CHECK(nay__cfchain_new(&h, &a, NULL, &chain) == NAY_OK);
  for (size_t i = NAY_CFCHAIN_HEADER_LEN; i < size && i < 200; i++)
    chain_call(chain, data[i], i % 16 == 0);
  chain_round_trip(chain);
  nay__cfchain_free(chain);
  CHECK(flaky_is_clean(&heap));
  return 0;
}
