/*
 * fuzz_static.c - static families, twice over: sets of hashes that an enemy chose, and payloads
 * that an enemy wrote. The input is
 *
 *   family and slots, rate, way to build (3 bytes), number of hashes (1 byte), the hashes (8 bytes
 *   each, or what is left of the input), then patches of the payload: place (2 bytes), byte
 *
 * Every set must be built, keep all its keys, and give the same bytes in another order with every
 * key twice. A patched payload that check() accepts must be safe to probe.
 */
#include <stdlib.h>

#include "base/bytes.h"
#include "family/family.h"
#include "filter.h"
#include "nay_advanced.h"
#include "support/explained.h"

#define MAX_HASHES 255u

typedef struct fuzz {
  const uint8_t *at, *end;
  uint64_t hashes[2 * MAX_HASHES + 2];
  size_t n;
} fuzz;

static void require(bool condition) {
  if (!condition) abort();
}

static uint8_t next_byte(fuzz *z) { return z->at < z->end ? *z->at++ : 0; }

static nay_params draw_params(fuzz *z) {
  static const nay_kind kinds[] = {NAY_FUSE, NAY_FUSE, NAY_XOR, NAY_RIBBON};
  uint8_t kind = next_byte(z), rate = next_byte(z), way = next_byte(z);
  nay_params p = {sizeof p, .kind = kinds[kind % 4], .hash = NAY_HASH_CALLER};
  if (kind % 4 == 1) p.k = 4;
  p.fpr = 1.0 / (double)((uint64_t)1 << (1 + rate % 32)) * (1 + (rate / 32) / 8.0);
  p.threads = way & 3;
  if ((way & 4) != 0) p.flags |= NAY_LOW_MEMORY;
  if ((way & 8) != 0) p.flags |= NAY_NO_VERIFY;
  return p;
}

static void draw_hashes(fuzz *z) {
  z->n = next_byte(z);
  for (size_t i = 0; i < z->n; i++) {
    uint8_t bytes[8];
    for (unsigned b = 0; b < 8; b++) bytes[b] = next_byte(z);
    z->hashes[i] = nay__load64le(bytes);
  }
}

/* All answers, one by one, in batches and explained; with `maybe` every one must be maybe. */
static void probe(const nay_filter *f, const fuzz *z, bool maybe) {
  static explained e;
  for (size_t i = 0; i < z->n; i += 64) {
    size_t group = z->n - i < 64 ? z->n - i : 64;
    uint64_t word = 0;
    require(nay_filter_may_contain_hash_many(f, z->hashes + i, NULL, group, &word) == NAY_OK);
    for (size_t j = 0; j < group; j++) {
      bool one = nay_filter_may_contain_hash(f, (nay_hash){z->hashes[i + j], 0});
      require(one == (word >> j & 1) && (one || !maybe));
      if (j % 8 == 0) require(explained_hash(f, (nay_hash){z->hashes[i + j], 0}, NULL, &e) == NULL);
    }
  }
}

static void same_in_another_order(const nay_params *p, fuzz *z, const nay_filter *f) {
  nay_params q = *p;
  nay_filter *g;
  for (size_t i = 0; i < z->n; i++) z->hashes[2 * z->n - 1 - i] = z->hashes[i];
  q.threads = 0;
  q.flags = 0;
  require(nay_filter_build(&q, z->hashes, 2 * z->n, NULL, NULL, &g) == NAY_OK);
  require(f->nbytes == g->nbytes && f->nkeys == g->nkeys && f->shape.k == g->shape.k);
  require(memcmp(f->bits.bytes, g->bits.bytes, f->nbytes) == 0);
  nay_filter_free(g);
}

static void patch(fuzz *z, nay_filter *f) {
  while (z->at < z->end) {
    size_t place = next_byte(z);
    place = (place << 8 | next_byte(z)) % f->nbytes;
    f->bits.bytes[place] = next_byte(z);
    if (f->family->check(&f->shape, f->bits.bytes, f->nbytes, NULL) != NAY_OK) continue;
    nay__filter_attach(f, f->bits.bytes, f->nbytes); /* as a file with these bytes would be */
    nay_stats stats = {.size = sizeof stats};
    const uint8_t *addresses[NAY_MAX_ADDRESSES];
    probe(f, z, false);
    require(nay_filter_stats(f, &stats) == NAY_OK);
    for (size_t i = 0; i < z->n; i++) {
      unsigned n = f->family->probe_addresses(f, (nay_hash){z->hashes[i], 0}, addresses);
      for (unsigned a = 0; a < n; a++) {
        require(addresses[a] >= f->bits.bytes && addresses[a] < f->bits.bytes + f->nbytes);
      }
    }
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz z = {.at = data, .end = data + size};
  nay_params p = draw_params(&z);
  draw_hashes(&z);
  nay_filter *f;
  nay_status status = nay_filter_build(&p, z.hashes, z.n, NULL, NULL, &f);
  if (status != NAY_OK) {
    require(status == NAY_EINVAL); /* a rate that the family does not have */
    return 0;
  }
  probe(f, &z, true);
  same_in_another_order(&p, &z, f);
  patch(&z, f);
  nay_filter_free(f);
  return 0;
}
