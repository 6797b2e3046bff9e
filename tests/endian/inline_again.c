/*
 * inline_again.c - inline probes (nay_inline.h) answer as the filter does on this CPU, which may
 * have another byte order, 32-bit words, or no vectors of which the header knows.
 */
#include <stdio.h>
#include <stdlib.h>

#include "nay_inline.h"

#define AGAIN_KEYS 20000u
#define AGAIN_PROBES 40000u /* the second half is absent */

static uint64_t hashes[AGAIN_PROBES];
static int n, failed;

static void report(bool ok, const char *what, unsigned number) {
  printf("%sok %d - %s %u\n", ok ? "" : "not ", ++n, what, number);
  failed |= !ok;
}

/* The bytes of a filter, as a view at an odd address. */
static bool view_of(nay_filter *filter, uint8_t **bytes, nay_view *view) {
  size_t len = filter != NULL ? nay_filter_encoded_size(filter) : 0, written;
  *bytes = malloc(len + 1);
  bool ok = *bytes != NULL && len != 0 &&
            nay_filter_encode(filter, *bytes + 1, len, &written) == NAY_OK &&
            nay_view_open(*bytes + 1, len, NULL, NULL, view) == NAY_OK;
  nay_filter_free(filter);
  return ok;
}

static nay_filter *build(nay_kind kind, uint32_t k, double fpr, double bits_per_key) {
  nay_params p = {sizeof p, .kind = kind, .k = k, .fpr = fpr, .bits_per_key = bits_per_key};
  p.nkeys = AGAIN_KEYS;
  p.hash = NAY_HASH_CALLER;
  nay_filter *filter = NULL;
  return nay_filter_build(&p, hashes, AGAIN_KEYS, NULL, NULL, &filter) == NAY_OK ? filter : NULL;
}

#define AGAIN(type)                                                                \
  static bool again_##type(nay_filter *filter) {                                   \
    uint8_t *bytes = NULL;                                                         \
    nay_view view = {.size = sizeof view};                                         \
    type probe;                                                                    \
    size_t maybes = 0;                                                             \
    bool ok = view_of(filter, &bytes, &view);                                      \
    const nay_filter *viewed = ok ? nay_view_filter(&view) : NULL;                 \
    ok = ok && type##_init(viewed, NULL, &probe) == NAY_OK;                        \
    for (size_t i = 0; ok && i < AGAIN_PROBES; i++) {                              \
      bool maybe = type##_may_contain(&probe, hashes[i]);                          \
      ok = maybe == nay_filter_may_contain_hash(viewed, (nay_hash){hashes[i], 0}); \
      maybes += maybe;                                                             \
    }                                                                              \
    free(bytes);                                                                   \
    return ok && maybes >= AGAIN_KEYS && maybes < AGAIN_PROBES;                    \
  }
AGAIN(nay_inline_blocked)
AGAIN(nay_inline_fuse8)
AGAIN(nay_inline_fuse16)
AGAIN(nay_inline_fuse8_4wise)
AGAIN(nay_inline_fuse16_4wise)

int main(void) {
  for (uint64_t i = 0; i < AGAIN_PROBES; i++) hashes[i] = nay_hash_mix(i);
  for (uint32_t k = 1; k <= 64; k += k < 17 ? 1 : 7) {
    report(again_nay_inline_blocked(build(NAY_BLOCKED, k, 0, 1.2 * k)), "blocked, k", k);
  }
  report(again_nay_inline_fuse8(build(NAY_FUSE, 3, 1.0 / 256, 0)), "fuse, 3 slots, bits", 8);
  report(again_nay_inline_fuse16(build(NAY_FUSE, 3, 1.0 / 65536, 0)), "fuse, 3 slots, bits", 16);
  report(again_nay_inline_fuse8_4wise(build(NAY_FUSE, 4, 1.0 / 256, 0)), "fuse, 4 slots, bits", 8);
  report(again_nay_inline_fuse16_4wise(build(NAY_FUSE, 4, 1.0 / 65536, 0)), "fuse, 4 slots, bits",
         16);
  printf("1..%d\n", n);
  return failed;
}
