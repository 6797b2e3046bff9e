/* test_decoder.c - hostile input of the decoder, and the memory that it may take. */
#include "hash/hash.h"
#include "support/flaky.h"
#include "support/test.h"

static void a_decoder_refuses_nonsense(void **state) {
  (void)state;
  nay_decoder *d;
  nay_filter *g;
  assert_status(nay__decoder_new(NULL, NULL), NAY_EINVAL);
  assert_ok(nay__decoder_new(NULL, &d));
  assert_status(nay__decoder_add(NULL, "x", 1, NULL), NAY_EINVAL);
  assert_status(nay__decoder_add(d, NULL, 1, NULL), NAY_EINVAL);
  assert_ok(nay__decoder_add(d, NULL, 0, NULL));
  assert_status(nay__decoder_finish(d, NULL, NULL), NAY_EINVAL);
  assert_status(nay__decoder_finish(NULL, NULL, &g), NAY_EINVAL);
  assert_status(nay__decoder_truncate(NULL, 0), NAY_EINVAL);
  size_t len = 9;
  uint64_t total = 9;
  assert_null(nay__decoder_bytes(NULL, &len, &total));
  assert_true(len == 0 && total == 0);
  nay__decoder_free(d);
}

/* ---- what a header may cost ---- */

static void store(uint8_t *at, uint64_t x) {
  for (unsigned i = 0; i < 8; i++) at[i] = (uint8_t)(x >> 8 * i);
}

/* A header that claims nblocks of a blocked filter, its digest right. */
static void claim(uint8_t header[64], uint64_t nblocks) {
  nay_params p = {sizeof p, .kind = NAY_BLOCKED, .nbits = 512, .k = 6};
  nay_filter *f;
  assert_ok(nay_filter_new(&p, NULL, NULL, &f));
  assert_ok(nay__filter_encode_range(f, 0, header, 64));
  nay_filter_free(f);
  store(header + 32, nblocks);
  store(header + 48, nblocks * 64);
  store(header + 56, XXH3_64bits(header, 56));
}

/* Memory follows what was sent, not what was promised. */
static void a_claim_costs_eight_times_what_is_sent(void **state) {
  (void)state;
  uint8_t header[64], zeros[65536] = {0};
  const uint64_t claims[] = {(uint64_t)1 << 34, (uint64_t)1 << 45, (uint64_t)1 << 51};
  for (size_t i = 0; i < 3; i++) {
    flaky heap = {.fail_at = -1};
    nay_allocator a = flaky_allocator(&heap);
    nay_decoder *d;
    assert_ok(nay__decoder_new(&a, &d));
    claim(header, claims[i]);
    size_t own = heap.live + 64; /* the decoder, and what alignment takes */
    assert_ok(nay__decoder_add(d, header, sizeof header, NULL));
    assert_true(heap.peak <= own + 8 * sizeof header);
    size_t sent = sizeof header, piece = 1;
    for (; sent < (size_t)10 << 20; piece = piece < sizeof zeros / 2 ? 2 * piece : sizeof zeros) {
      assert_ok(nay__decoder_add(d, zeros, piece, NULL));
      sent += piece;
      assert_true(heap.live <= own + 8 * sent);
      assert_true(heap.peak <= own + 9 * sent + 64); /* while what has come is copied */
    }
    nay__decoder_free(d);
    assert_true(flaky_is_clean(&heap));
  }
  nay_decoder *d;
  nay_diag diag;
  assert_ok(nay__decoder_new(NULL, &d));
  claim(header, (uint64_t)1 << 57);
  assert_status(nay__decoder_add(d, header, sizeof header, &diag), NAY_ECORRUPT);
  nay__decoder_free(d);
}

int main(void) {
  const test_case tests[] = {TEST(a_decoder_refuses_nonsense),
                             TEST(a_claim_costs_eight_times_what_is_sent)};
  return run_all(tests);
}
