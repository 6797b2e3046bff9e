/*
 * test_sst_nkeys.c - a full filter that is sized before its keys come: the same bytes where the
 * number is right, a plan that is kept where it is not, and no hashes that wait.
 */
#include "support/flaky.h"
#include "support/sst_calls.h"
#include "support/sst_numbers.h"

#define N_KEYS 5000u

static uint8_t *table_bytes(const nay_params *params, unsigned n, bool internal, size_t *len,
                            size_t *peak) {
  char path[TEMP_MAX], key[32];
  flaky heap = {.fail_at = -1};
  nay_allocator a = flaky_allocator(&heap);
  nay_sst_write_options how = {sizeof how, .filter = NAY_SST_FULL_FILTER, .params = params,
                               .keys = internal ? NAY_SST_KEYS_INTERNAL : NAY_SST_KEYS_PLAIN};
  nay_sst_writer *w;
  temp_path(path, "nkeys.ldb");
  assert_ok(nay_sst_writer_new(path, &how, &a, NULL, &w));
  for (unsigned i = 0; i < n; i++) {
    nay_sst_entry v = {sizeof v, key, number_key(i, key), .sequence = 2};
    if (!internal) assert_ok(nay_sst_writer_add(w, v.key, v.len, "v", 1, NULL));
    for (; internal && v.sequence-- > 0;) { /* two versions of each */
      assert_ok(nay_sst_writer_add_entry(w, &v, "v", 1, NULL));
    }
  }
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  assert_true(flaky_is_clean(&heap));
  if (peak != NULL) *peak = heap.peak;
  uint8_t *bytes = sample_read(path, len);
  unlink(path);
  return bytes;
}

static const nay_kind kinds[] = {NAY_BLOOM,  NAY_BLOCKED, NAY_COUNTING,
                                 NAY_CUCKOO, NAY_FUSE,    NAY_RIBBON};

static void the_right_number(void **state) {
  (void)state;
  for (unsigned i = 0; i < 2 * sizeof kinds / sizeof *kinds; i++) {
    nay_params p = {sizeof p, .kind = kinds[i / 2], .fpr = 0.02}, sized = p;
    size_t len, other;
    sized.nkeys = N_KEYS;
    uint8_t *a = table_bytes(&p, N_KEYS, i % 2 != 0, &len, NULL);
    uint8_t *b = table_bytes(&sized, N_KEYS, i % 2 != 0, &other, NULL);
    assert_int_equal(len, other);
    assert_memory_equal(a, b, len);
    free(a);
    free(b);
  }
}

/* Of few keys, too, where the filter is the smallest that the kind has. */
static void few_keys(void **state) {
  (void)state;
  const double sizes[] = {1, 10, 40};
  unsigned made = 0;
  for (int kind = 1; nay_kind_name((nay_kind)kind) != NULL; kind++) {
    for (unsigned i = 0; i < 3; i++) {
      nay_params p = {sizeof p, .kind = (nay_kind)kind, .bits_per_key = sizes[i]}, sized = p;
      for (unsigned n = 1; n <= 300; n += 1 + n / 3) {
        nay_sst_write_options how = {sizeof how, .filter = NAY_SST_FULL_FILTER, .params = &p};
        nay_sst_writer *w;
        if (nay_sst_writer_new("few", &how, NULL, NULL, &w) != NAY_OK) break;
        nay_sst_writer_free(w);
        size_t len, other;
        sized.nkeys = n;
        uint8_t *a = table_bytes(&p, n, false, &len, NULL);
        uint8_t *b = table_bytes(&sized, n, false, &other, NULL);
        assert_int_equal(len, other);
        assert_memory_equal(a, b, len);
        free(a);
        free(b);
        made++;
      }
    }
  }
  assert_true(made > 200);
}

/* The number of keys is not that of their prefixes: their filter is the same with any. */
static void prefixes_are_counted(void **state) {
  (void)state;
  char path[TEMP_MAX];
  uint64_t bytes = 0;
  nay_sst_prefix by_ten = {.size = sizeof by_ten};
  assert_ok(nay_sst_prefix_find("nay.fixed.10", &by_ten));
  for (uint64_t n = 0; n < 3; n++) {
    nay_params p = {sizeof p, .kind = NAY_COUNTING, .nkeys = n, .bits_per_key = 10};
    nay_sst_write_options how = {sizeof how, .filter = NAY_SST_FULL_FILTER, .params = &p,
                                 .prefix = &by_ten};
    write_even(temp_path(path, "prefixes.ldb"), &how, N_KEYS);
    nay_sst *t = open_table(path, NULL);
    if (n == 0) bytes = info_of(t).prefix_bytes;
    assert_true(bytes > 0 && info_of(t).prefix_bytes == bytes);
    nay_sst_free(t);
    unlink(path);
  }
}

/* Fewer keys than said: the plan is what was asked. More: every key is still found. */
static void another_number(void **state) {
  (void)state;
  const uint64_t said[] = {1, N_KEYS / 2, 3 * N_KEYS};
  for (unsigned i = 0; i < 3; i++) {
    nay_params p = {sizeof p, .kind = NAY_BLOCKED, .nkeys = said[i], .bits_per_key = 12};
    nay_plan plan = {.size = sizeof plan};
    size_t len;
    nay_sst *t;
    uint8_t *bytes = table_bytes(&p, N_KEYS, false, &len, NULL);
    assert_ok(nay_params_plan(&p, NULL, &plan));
    assert_ok(nay_sst_view(bytes, len, NULL, NULL, NULL, &t));
    nay_stats s = {.size = sizeof s};
    assert_ok(nay_filter_stats(table_filter(t), &s));
    assert_true(s.nkeys == said[i] && s.nbits == plan.nbits);
    for (unsigned k = 0; k < N_KEYS; k++) {
      char key[32];
      assert_true(nay_sst_may_contain(t, key, number_key(k, key)));
    }
    nay_sst_free(t);
    free(bytes);
  }
}

static void no_hashes_wait(void **state) {
  (void)state;
  enum { N = 300000 };
  nay_params p = {sizeof p, .kind = NAY_BLOCKED, .bits_per_key = 8}, sized = p;
  size_t len, counted, streamed;
  sized.nkeys = N;
  free(table_bytes(&p, N, false, &len, &counted));
  free(table_bytes(&sized, N, false, &len, &streamed));
  print_message("# peak of a writer: %zu bytes, with nkeys %zu\n", counted, streamed);
  assert_true(streamed + N * 6 < counted); /* 8 bytes a key, but for one page */
}

static void refused(void **state) {
  (void)state;
  nay_policy policy = {.size = sizeof policy};
  nay_params p = {sizeof p, .nkeys = 5, .fpr = 0.01};
  nay_sst_writer *w;
  assert_ok(nay_policy_find(NAY_POLICY_SMALL, 10, &policy));
  const nay_sst_write_options bad[] = {
      {sizeof *bad, .params = &p},
      {sizeof *bad, .params = &p, .filter = NAY_SST_PARTITIONED_FILTER},
      {sizeof *bad, .params = &p, .filter = NAY_SST_BLOCK_FILTER, .policy = &policy},
      {sizeof *bad, .params = &p, .filter = NAY_SST_FULL_FILTER, .policy = &policy},
  };
  for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
    nay_diag diag = {.what = NULL};
    assert_status(nay_sst_writer_new("never", &bad[i], NULL, &diag, &w), NAY_EINVAL);
    assert_non_null(diag.what);
  }
}

int main(void) {
  const test_case tests[] = {
      TEST(the_right_number), TEST(few_keys),       TEST(prefixes_are_counted),
      TEST(another_number),   TEST(no_hashes_wait), TEST(refused),
  };
  return run_all(tests);
}
