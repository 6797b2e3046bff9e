/*
 * fuzz_redis_bloom.c - a chained Bloom filter from strangers: a header with chunks, or the fields
 * of an RDB value. What is accepted can be probed, grown, dumped and read back to the same bytes.
 *
 *   0   bit 0: a header (else fields); bits 1-3: how many items are added afterwards
 *   1   length of the header, low byte first; fields: number of links
 *   3   the header, then a chunk; or fields: size, options, growth, then each link
 */
#include "base/bytes.h"
#include "support/exercise.h"
#include "support/zflaky.h"

enum { FIELDS = 24, LINK = 53, HEAP = 1 << 22 };

static void *small_zalloc(void *ctx, size_t size) {
  flaky *heap = ctx;
  return size > HEAP - heap->live ? NULL : zflaky_alloc(heap, size);
}

static double load_double(const uint8_t *p) {
  uint64_t bits = nay__load64le(p);
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static nay_sbchain *from_header(const uint8_t *p, size_t len, const nay_zallocator *a) {
  size_t header = nay__min_u64(nay__load16le(p + 1), len - 3);
  nay_sbchain *chain;
  if (nay__sbchain_decode_header(p + 3, header, a, NULL, &chain) != NAY_OK) return NULL;
  size_t rest = len - 3 - header;
  (void)nay__sbchain_load_chunk(chain, p[0] >> 4, p + 3 + header, rest);
  return chain;
}

/* The array of a link has the length that the fields say, up to what the input holds. */
static bool take_link(nay_sbchain *chain, const uint8_t *p, const nay_zallocator *a) {
  nay_sblink link = {.nbytes = nay__load64le(p),
                     .nbits = nay__load64le(p + 8),
                     .size = nay__load64le(p + 16),
                     .error = load_double(p + 24),
                     .bpe = load_double(p + 32),
                     .hashes = nay__load32le(p + 40),
                     .entries = nay__load64le(p + 44),
                     .n2 = p[52]};
  if (link.nbytes > 65536) link.nbytes = 65536;
  void *bytes = a->zalloc(a->ctx, (size_t)link.nbytes);
  if (bytes == NULL) return false;
  if (nay__sbchain_take(chain, &link, bytes, NULL) == NAY_OK) return true;
  a->free(a->ctx, bytes, (size_t)link.nbytes);
  return false;
}

static nay_sbchain *from_fields(const uint8_t *p, size_t len, const nay_zallocator *a) {
  if (len < 3 + FIELDS) return NULL;
  nay_sbchain *chain;
  size_t nlinks = p[1];
  if (nay__sbchain_begin(nay__load64le(p + 3), nay__load64le(p + 11), nay__load64le(p + 19), a,
                         NULL, &chain) != NAY_OK) {
    return NULL;
  }
  bool ok = nlinks <= (len - 3 - FIELDS) / LINK;
  for (size_t i = 0; ok && i < nlinks; i++) ok = take_link(chain, p + 3 + FIELDS + i * LINK, a);
  if (ok && nay__sbchain_finish(chain, NULL) == NAY_OK) return chain;
  nay__sbchain_free(chain);
  return NULL;
}

/* Batches answer as single items do. */
static void check_batch(nay_sbchain *chain) {
  const void *items[NAY_SB_BATCH];
  size_t lens[NAY_SB_BATCH], done = 0;
  uint8_t text[NAY_SB_BATCH];
  uint64_t is_new = 0, answers;
  for (unsigned i = 0; i < NAY_SB_BATCH; i++) {
    text[i] = (uint8_t)(100 + i);
    items[i] = &text[i];
    lens[i] = 1;
  }
  nay__sbchain_may_contain_many(chain, items, lens, NAY_SB_BATCH, &answers);
  (void)nay__sbchain_add_many(chain, items, lens, NAY_SB_BATCH, &is_new, &done);
  nay__sbchain_may_contain_many(chain, items, lens, NAY_SB_BATCH, &answers);
  CHECK((answers & is_new) == is_new);
  for (unsigned i = 0; i < NAY_SB_BATCH; i++) {
    CHECK(nay__sbchain_may_contain(chain, &text[i], 1) == (answers >> i & 1));
  }
}

static void check_round_trip(const nay_sbchain *chain, const nay_zallocator *a) {
  size_t len = nay__sbchain_header_size(chain), written;
  uint8_t *first = malloc(2 * len);
  CHECK(first != NULL);
  CHECK(nay__sbchain_encode_header(chain, first, len, &written) == NAY_OK && written == len);
  nay_sbchain *again;
  nay_status status = nay__sbchain_decode_header(first, len, a, NULL, &again);
  CHECK(status == NAY_OK || status == NAY_ENOMEM);
  if (status == NAY_OK) {
    CHECK(nay__sbchain_encode_header(again, first + len, len, &written) == NAY_OK);
    CHECK(memcmp(first, first + len, len) == 0);
    nay__sbchain_free(again);
  }
  free(first);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len) {
  if (len < 3) return 0;
  flaky heap = {.fail_at = -1};
  nay_zallocator a = {small_zalloc, flaky_free, &heap};
  nay_sbchain *chain = (p[0] & 1) != 0 ? from_header(p, len, &a) : from_fields(p, len, &a);
  if (chain != NULL) {
    for (unsigned i = 0; i < (p[0] >> 1 & 7u); i++) {
      uint8_t item[1] = {(uint8_t)i};
      if (nay__sbchain_add(chain, item, 1, NULL) != NAY_OK) break;
      CHECK(nay__sbchain_may_contain(chain, item, 1));
    }
    check_batch(chain);
    check_round_trip(chain, &a);
  }
  nay__sbchain_free(chain);
  CHECK(flaky_is_clean(&heap));
  return 0;
}
