/* lazy.c - see lazy.h. */
#include "family/lazy.h"

#include "base/bytes.h"
#include "base/compiler.h"
#include "hash/hash.h"

enum { LAZY_UNKNOWN = 0, LAZY_GOOD = 1, LAZY_BAD = 2 };

size_t nay__lazy_size(size_t nchunks) { return sizeof(nay_lazy) + nchunks; }

static bool lazy_chunk_ok(nay_lazy *lazy, size_t chunk) {
  assert(chunk < lazy->nchunks);
  uint8_t state = nay__atomic_acquire8(&lazy->state[chunk]);
  if (NAY_LIKELY(state == LAZY_GOOD)) return true;
  if (state == LAZY_BAD) return false;
  size_t start = chunk * NAY_CHUNK;
  size_t len = lazy->body_len - start < NAY_CHUNK ? lazy->body_len - start : NAY_CHUNK;
  if (lazy->soon != NULL) lazy->soon(lazy->body + start, len);
  bool good = XXH3_64bits(lazy->body + start, len) == nay__load64le(lazy->digests + 8 * chunk);
  nay__atomic_release8(&lazy->state[chunk], good ? LAZY_GOOD : LAZY_BAD);
  if (!good) nay__atomic_release8(&lazy->bad, 1);
  return good;
}

bool nay__lazy_ok(nay_lazy *lazy, const uint8_t *at) {
  return lazy_chunk_ok(lazy, (size_t)(at - lazy->body) / NAY_CHUNK);
}

bool nay__lazy_range_ok(nay_lazy *lazy, const uint8_t *at, size_t len) {
  if (len == 0) return true;
  size_t start = (size_t)(at - lazy->body);
  bool ok = true;
  for (size_t i = start / NAY_CHUNK; i <= (start + len - 1) / NAY_CHUNK; i++) {
    ok &= lazy_chunk_ok(lazy, i);
  }
  return ok;
}

bool nay__lazy_all_ok(nay_lazy *lazy) {
  return nay__lazy_range_ok(lazy, lazy->body, lazy->body_len);
}
