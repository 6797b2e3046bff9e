/* test_threaded_add.c - several threads write the same bytes as one. */
#include <stdlib.h>

#include "support/test.h"

#define N 300000u

static uint64_t hashes[N];

/* Duplicates, and a skew: many keys of one part. */
static void make_hashes(uint64_t seed) {
  for (uint64_t i = 0; i < N; i++) {
    hashes[i] = nay_hash_mix(seed + i % (N - 1000));
    if (i % 3 == 0) hashes[i] >>= 3;
  }
}

static nay_filter *built(const nay_params *p, size_t n) {
  nay_filter *f;
  assert_int_equal(nay_filter_build(p, hashes, n, NULL, NULL, &f), NAY_OK);
  return f;
}

static nay_filter *streamed(const nay_params *p, size_t n) {
  nay_builder *b;
  nay_filter *f;
  assert_int_equal(nay_builder_new(p, NULL, NULL, &b), NAY_OK);
  for (size_t i = 0; i < n; i++) {
    assert_int_equal(nay_builder_add_hash(b, (nay_hash){hashes[i], 0}), NAY_OK);
  }
  assert_int_equal(nay_builder_finish(b, NULL, &f), NAY_OK);
  nay_builder_free(b);
  return f;
}

static void assert_same_bytes(const nay_filter *a, const nay_filter *b) {
  size_t size = nay_filter_encoded_size(a), written;
  assert_int_equal(nay_filter_encoded_size(b), size);
  uint8_t *bytes = malloc(2 * size);
  assert_non_null(bytes);
  assert_int_equal(nay_filter_encode(a, bytes, size, &written), NAY_OK);
  assert_int_equal(nay_filter_encode(b, bytes + size, size, &written), NAY_OK);
  assert_memory_equal(bytes, bytes + size, size);
  free(bytes);
}

static void same_bytes(void **state) {
  (void)state;
  const nay_kind kinds[] = {NAY_BLOOM, NAY_BLOCKED, NAY_COUNTING};
  const uint32_t threads[] = {1, 2, 3, 8};
  for (unsigned k = 0; k < 3; k++) {
    for (unsigned t = 0; t < 4; t++) {
      make_hashes(k << 8 | t);
      /* too few planned keys fill the pools of counting: what saturates depends on the order */
      nay_params p = {sizeof p, .kind = kinds[k], .nkeys = t % 2 == 0 ? N : N / 2, .fpr = 0.01};
      if (t == 3) p.nkeys = 0;
      size_t n = N - 1000 * k - t;
      nay_filter *alone = built(&p, n);
      p.threads = threads[t];
      nay_filter *many = built(&p, n), *stream = streamed(&p, n);
      assert_same_bytes(alone, many);
      assert_same_bytes(alone, stream);
      for (size_t i = 0; i < n; i += 7) {
        assert_true(nay_filter_may_contain_hash(many, (nay_hash){hashes[i], 0}));
      }
      nay_filter_free(alone);
      nay_filter_free(many);
      nay_filter_free(stream);
    }
  }
}

/* One block has nothing to share out; neither have few keys. */
static void small_filters(void **state) {
  (void)state;
  make_hashes(9);
  for (unsigned k = 0; k < 3; k++) {
    const nay_kind kinds[] = {NAY_BLOOM, NAY_BLOCKED, NAY_COUNTING};
    nay_params p = {sizeof p, .kind = kinds[k], .nkeys = N, .nbits = 1024};
    p.k = 3;
    nay_filter *alone = built(&p, N);
    p.threads = 8;
    nay_filter *many = built(&p, N);
    assert_same_bytes(alone, many);
    nay_filter_free(many);
    many = built(&p, 3);
    nay_filter_free(many);
    nay_filter_free(alone);
  }
}

int main(void) {
  const test_case tests[] = {TEST(same_bytes), TEST(small_filters)};
  return run_all(tests);
}
