/*
 * test_policy.c - the policies of nay_policy.h: no key is lost, whatever the set, the alignment and
 * the memory; LevelDB's bytes are those of the format; a flipped bit of "nay.small.v1" is a maybe.
 */
#include <pthread.h>

#include "nay_format.h"
#include "support/flaky.h"
#include "support/policy_keys.h"
#include "support/test.h"

#define N_POLICIES 2u

/* All policies of the library, by number. */
static nay_policy policy_at(unsigned i, uint32_t bits_per_key) {
  nay_policy policy = {.size = sizeof policy};
  const char *name = i == 0 ? NAY_POLICY_LEVELDB : NAY_POLICY_SMALL;
  assert_ok(nay_policy_find(name, bits_per_key, &policy));
  assert_string_equal(policy.name, name);
  return policy;
}

static const size_t sizes[] = {0, 1, 2, 3, 7, 20, 50, 64, 65, 500, 1000, 1001, 5000};
#define N_SIZES (sizeof sizes / sizeof sizes[0])

static void every_key_is_a_maybe_at_every_alignment(void **state) {
  (void)state;
  for (unsigned p = 0; p < N_POLICIES; p++) {
    nay_policy policy = policy_at(p, 10);
    for (size_t s = 0; s < N_SIZES; s++) {
      policy_keys keys = policy_keys_make(key_sets[s % N_KEY_SETS].make, s << 32, sizes[s]);
      policy_bytes filter = policy_make(&policy, &keys);
      assert_true(filter.len >= 1);
      for (size_t shift = 0; shift < 4; shift++) {
        uint8_t *moved = malloc(filter.len + shift);
        assert_non_null(moved);
        memcpy(moved + shift, filter.at, filter.len);
        assert_int_equal(policy_count(&policy, &keys, moved + shift, filter.len), keys.n);
        free(moved);
      }
      free(filter.at);
      policy_keys_free(&keys);
    }
  }
}

/* At 10 bits no policy lets 3 % of absent keys through; a set of no keys lets none. */
static void absent_keys_are_nays(void **state) {
  (void)state;
  for (unsigned p = 0; p < N_POLICIES; p++) {
    nay_policy policy = policy_at(p, 10);
    policy_keys absent = policy_keys_make(key_random, 1u << 20, 2000);
    for (size_t n = 0; n <= 1000; n += 500) {
      policy_keys keys = policy_keys_make(key_random, 0, n);
      policy_bytes filter = policy_make(&policy, &keys);
      size_t found = policy_count(&policy, &absent, filter.at, filter.len);
      assert_true(found <= (n == 0 ? 0 : 60));
      free(filter.at);
      policy_keys_free(&keys);
    }
    policy_keys_free(&absent);
  }
}

static void everything_matches_everything(void **state) {
  (void)state;
  policy_keys keys = policy_keys_make(key_random, 0, 300);
  for (unsigned p = 0; p < N_POLICIES; p++) {
    nay_policy policy = policy_at(p, 10);
    assert_int_equal(policy_count(&policy, &keys, (const uint8_t *)NAY_POLICY_EVERYTHING,
                                  NAY_POLICY_EVERYTHING_LEN),
                     keys.n);
  }
  policy_keys_free(&keys);
}

static void bytes_that_are_no_filter_match(void **state) {
  (void)state;
  policy_keys keys = policy_keys_make(key_random, 0, 50);
  const uint8_t zeros[64] = {0};
  uint8_t ones[64];
  memset(ones, 0xff, sizeof ones);
  for (unsigned p = 1; p < N_POLICIES; p++) { /* LevelDB's own takes any bytes for a filter */
    nay_policy policy = policy_at(p, 10);
    for (size_t len = 0; len <= sizeof zeros; len++) {
      assert_int_equal(policy_count(&policy, &keys, zeros, len), keys.n);
      assert_int_equal(policy_count(&policy, &keys, ones, len), keys.n);
    }
  }
  policy_keys_free(&keys);
}

static void parameters_out_of_range_are_refused(void **state) {
  (void)state;
  nay_policy policy = {.size = sizeof policy}, before = {.size = sizeof before};
  memset(&before, 0x5a, sizeof before);
  policy = before;
  assert_status(nay_policy_find(NAY_POLICY_LEVELDB, 0, &policy), NAY_EINVAL);
  assert_status(nay_policy_find(NAY_POLICY_LEVELDB, 4097, &policy), NAY_EINVAL);
  assert_status(nay_policy_find(NAY_POLICY_SMALL, 0, &policy), NAY_EINVAL);
  assert_status(nay_policy_find(NAY_POLICY_SMALL, 4097, &policy), NAY_EINVAL);
  assert_status(nay_policy_find("nay.small.v2", 10, &policy), NAY_EINVAL);
  assert_status(nay_policy_find("", 10, &policy), NAY_EINVAL);
  assert_status(nay_policy_find(NULL, 10, &policy), NAY_EINVAL);
  assert_memory_equal(&policy, &before, sizeof policy);
  assert_status(nay_policy_find(NAY_POLICY_LEVELDB, 10, NULL), NAY_EINVAL);
  assert_status(nay_policy_find(NAY_POLICY_SMALL, 10, NULL), NAY_EINVAL);
}

static void wrong_arguments_of_create(void **state) {
  (void)state;
  const void *no_key[] = {NULL};
  size_t none = 0, one = 1, len = 77;
  uint8_t *filter = NULL;
  for (unsigned p = 0; p < N_POLICIES; p++) {
    nay_policy q = policy_at(p, 10);
    assert_status(q.create(q.ctx, NULL, NULL, 1, NULL, &filter, &len), NAY_EINVAL);
    assert_status(q.create(q.ctx, no_key, &one, 1, NULL, &filter, &len), NAY_EINVAL);
    assert_status(q.create(q.ctx, no_key, &none, 1, NULL, NULL, &len), NAY_EINVAL);
    assert_true(filter == NULL && len == 77);
    assert_ok(q.create(q.ctx, no_key, &none, 1, NULL, &filter, &len)); /* the empty key */
    assert_true(q.may_contain(q.ctx, NULL, 0, filter, len));
    assert_true(q.may_contain(q.ctx, "", 0, filter, len));
    free(filter);
    filter = NULL;
    len = 77;
  }
}

static void out_of_memory_at_each_call(void **state) {
  (void)state;
  for (unsigned p = 0; p < N_POLICIES; p++) {
    nay_policy policy = policy_at(p, 10);
    policy_keys keys = policy_keys_make(key_random, 0, 300);
    nay_status status = NAY_ENOMEM;
    for (long at = 0; status == NAY_ENOMEM; at++) {
      flaky heap = {.fail_at = at};
      nay_allocator a = flaky_allocator(&heap);
      uint8_t *filter = NULL;
      size_t len = 0;
      status = policy.create(policy.ctx, keys.at, keys.lens, keys.n, &a, &filter, &len);
      if (status == NAY_OK) {
        assert_true(at > 0);
        a.free(a.ctx, filter, len);
      }
      assert_true(flaky_is_clean(&heap));
    }
    assert_ok(status);
    policy_keys_free(&keys);
  }
}

/* ---- threads ---- */

typedef struct worker {
  const nay_policy *policy;
  const policy_keys *keys;
  policy_bytes shared; /* a filter that all ask */
  size_t found;
} worker;

static void *worker_run(void *arg) {
  worker *w = arg;
  for (int i = 0; i < 20; i++) {
    policy_bytes own = policy_make(w->policy, w->keys);
    w->found += policy_count(w->policy, w->keys, w->shared.at, w->shared.len);
    w->found += policy_count(w->policy, w->keys, own.at, own.len);
    free(own.at);
  }
  return NULL;
}

static void threads_share_a_policy(void **state) {
  (void)state;
  enum { N = 4 };
  for (unsigned p = 0; p < N_POLICIES; p++) {
    nay_policy policy = policy_at(p, 10);
    policy_keys keys = policy_keys_make(key_random, 0, 100);
    policy_bytes filter = policy_make(&policy, &keys);
    pthread_t threads[N];
    worker workers[N];
    for (unsigned i = 0; i < N; i++) {
      workers[i] = (worker){&policy, &keys, filter, 0};
      assert_int_equal(pthread_create(&threads[i], NULL, worker_run, &workers[i]), 0);
    }
    for (unsigned i = 0; i < N; i++) {
      pthread_join(threads[i], NULL);
      assert_int_equal(workers[i].found, 40 * keys.n);
    }
    free(filter.at);
    policy_keys_free(&keys);
  }
}

/* ---- LevelDB's bytes ---- */

static void leveldb_bytes_are_those_of_the_format(void **state) {
  (void)state;
  const nay_format *format = nay_format_find("leveldb");
  for (uint32_t b = 1; b <= 60; b++) {
    nay_policy policy = policy_at(0, b);
    policy_keys keys = policy_keys_make(key_sets[b % N_KEY_SETS].make, b, b * b);
    policy_bytes ours = policy_make(&policy, &keys);
    nay_params params = {sizeof params, .nkeys = keys.n, .bits_per_key = b};
    nay_filter *f;
    assert_ok(nay_format_new(format, &params, NULL, NULL, &f));
    assert_ok(nay_filter_add_many(f, keys.at, keys.lens, keys.n, NULL, NULL));
    uint8_t *bytes = malloc(ours.len);
    size_t written;
    assert_ok(nay_format_encode(format, f, bytes, ours.len, &written));
    assert_int_equal(written, ours.len);
    assert_memory_equal(bytes, ours.at, written);
    nay_filter_free(f);
    free(bytes);
    free(ours.at);
    policy_keys_free(&keys);
  }
}

/* ---- nay.small.v1 ---- */

/* As many bytes as LevelDB, whatever is asked for. */
static void small_filters_have_leveldb_s_size(void **state) {
  (void)state;
  for (uint32_t b = 1; b <= 40; b++) {
    nay_policy leveldb = policy_at(0, b), small = policy_at(1, b);
    for (size_t n = 0; n < 100; n += 1 + n / 7) {
      policy_keys keys = policy_keys_make(key_sequential, 0, n);
      policy_bytes a = policy_make(&leveldb, &keys), c = policy_make(&small, &keys);
      assert_int_equal(a.len, c.len);
      free(a.at);
      free(c.at);
      policy_keys_free(&keys);
    }
  }
}

/* Repeats and order change nothing but the size, which counts every entry as LevelDB does. */
static void small_filters_count_a_key_once(void **state) {
  (void)state;
  nay_policy small = policy_at(1, 10);
  policy_keys keys = policy_keys_make(key_random, 0, 40),
              repeated = policy_keys_make(key_random, 0, 80);
  for (size_t i = 0; i < 80; i++) repeated.at[i] = keys.at[i % 40];
  policy_bytes a = policy_make(&small, &repeated);
  for (size_t i = 0; i < 80; i++) repeated.at[i] = keys.at[39 - i / 2];
  policy_bytes b = policy_make(&small, &repeated);
  assert_int_equal(a.len, b.len);
  assert_memory_equal(a.at, b.at, a.len);
  assert_int_equal((a.at[0] - 1) % 21 + 1, 14); /* k of 20 bits per key: 19.7 * ln 2 */
  free(a.at);
  free(b.at);
  policy_keys_free(&keys);
  policy_keys_free(&repeated);
}

/* Every single bit of a filter, and every bit of where it starts and ends. */
static void a_flipped_bit_is_a_maybe(void **state) {
  (void)state;
  policy_keys absent = policy_keys_make(key_random, 1u << 30, 8);
  for (size_t n = 0; n <= 130; n += n < 40 ? 1 : 9) {
    nay_policy small = policy_at(1, 4 + (uint32_t)n % 17);
    policy_keys keys = policy_keys_make(key_random, n << 10, n);
    policy_bytes filter = policy_make(&small, &keys);
    for (size_t bit = 0; bit < filter.len * 8; bit++) {
      filter.at[bit / 8] ^= (uint8_t)(1u << bit % 8);
      assert_int_equal(policy_count(&small, &keys, filter.at, filter.len), n);
      assert_int_equal(policy_count(&small, &absent, filter.at, filter.len), absent.n);
      filter.at[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    free(filter.at);
    policy_keys_free(&keys);
  }
  policy_keys_free(&absent);
}

/* Filters side by side, as in a filter block; either end of one moves by a power of two. */
static void a_moved_end_is_a_maybe(void **state) {
  (void)state;
  enum { FILTERS = 60 };
  static uint8_t block[FILTERS * 200];
  size_t start[FILTERS + 1] = {0};
  for (size_t i = 0; i < FILTERS; i++) {
    nay_policy small = policy_at(1, 10);
    policy_keys keys = policy_keys_make(key_random, i << 10, 1 + i * 2);
    policy_bytes filter = policy_make(&small, &keys);
    memcpy(block + start[i], filter.at, filter.len);
    start[i + 1] = start[i] + filter.len;
    free(filter.at);
    policy_keys_free(&keys);
  }
  nay_policy small = policy_at(1, 10);
  for (size_t i = 0; i < FILTERS; i++) {
    policy_keys keys = policy_keys_make(key_random, i << 10, 1 + i * 2);
    for (unsigned j = 0; j < 16; j++) {
      size_t from = start[i] ^ (size_t)1 << j, to = start[i + 1] ^ (size_t)1 << j;
      if (from <= start[i + 1]) {
        assert_int_equal(policy_count(&small, &keys, block + from, start[i + 1] - from), keys.n);
      }
      if (start[i] <= to && to <= start[FILTERS]) {
        assert_int_equal(policy_count(&small, &keys, block + start[i], to - start[i]), keys.n);
      }
    }
    policy_keys_free(&keys);
  }
}

/* As doc/design/0011-small-filters.md says, computed word by word. */
static uint8_t documented_check(const uint8_t *filter, size_t len) {
  uint64_t x = 0;
  for (size_t i = 0; i < len - 1; i += 8) {
    uint64_t word = 0;
    for (size_t b = 0; b < 8 && i + b < len - 1; b++) word |= (uint64_t)filter[i + b] << (8 * b);
    unsigned r = 5 * (unsigned)(i / 8 % 4);
    x ^= r == 0 ? word : word << r | word >> (64 - r);
  }
  return (uint8_t)(83 * (len % 3) + x % 83);
}

static void the_check_is_the_documented_one(void **state) {
  (void)state;
  for (size_t n = 0; n < 1500; n += 1 + n / 9) {
    nay_policy small = policy_at(1, 10);
    policy_keys keys = policy_keys_make(key_random, n, n);
    policy_bytes filter = policy_make(&small, &keys);
    assert_int_equal(filter.at[filter.len - 1], documented_check(filter.at, filter.len));
    assert_int_equal((filter.at[0] - 1) / 84, filter.len % 3);
    free(filter.at);
    policy_keys_free(&keys);
  }
}

/* The bytes are for ever: these were written by the first version. */
static void small_bytes_do_not_change(void **state) {
  (void)state;
  const char *const words[] = {"foo", "bar", "nay", "maybe", "", "foo"};
  const size_t lens[] = {3, 3, 3, 5, 0, 3};
  static const uint8_t want[] = {0x72, 0xbb, 0x64, 0x01, 0xe0, 0x6f, 0x18, 0xc5, 0xe3, 0x78};
  nay_policy small = policy_at(1, 12);
  uint8_t *filter;
  size_t len;
  assert_ok(small.create(small.ctx, (const void *const *)words, lens, 6, NULL, &filter, &len));
  assert_int_equal(len, sizeof want);
  assert_memory_equal(filter, want, len);
  free(filter);
}

int main(void) {
  const test_case tests[] = {
      TEST(every_key_is_a_maybe_at_every_alignment),
      TEST(absent_keys_are_nays),
      TEST(everything_matches_everything),
      TEST(bytes_that_are_no_filter_match),
      TEST(parameters_out_of_range_are_refused),
      TEST(wrong_arguments_of_create),
      TEST(out_of_memory_at_each_call),
      TEST(threads_share_a_policy),
      TEST(leveldb_bytes_are_those_of_the_format),
      TEST(small_filters_have_leveldb_s_size),
      TEST(small_filters_count_a_key_once),
      TEST(a_flipped_bit_is_a_maybe),
      TEST(a_moved_end_is_a_maybe),
      TEST(the_check_is_the_documented_one),
      TEST(small_bytes_do_not_change),
  };
  return run_all(tests);
}
