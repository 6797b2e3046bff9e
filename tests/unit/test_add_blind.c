/*
 * test_add_blind.c - an add whose caller does not ask whether the key is new takes a shorter way;
 * it must leave the same bytes, and must not be taken where an add is refused or needs a lock.
 */
#include "filter.h"
#include "support/temp.h"
#include "support/test.h"

#define N 3000u

static nay_filter *make(uint32_t k, uint32_t flags, nay_hash_kind hash) {
  nay_params p = {.size = sizeof p,
                  .kind = NAY_BLOCKED,
                  .nkeys = N,
                  .bits_per_key = 12,
                  .k = k,
                  .flags = flags};
  p.hash = hash;
  nay_filter *f;
  assert_int_equal(nay_filter_new(&p, NULL, NULL, &f), NAY_OK);
  return f;
}

static void assert_same_bytes(const nay_filter *a, const nay_filter *b) {
  assert_int_equal(a->nbytes, b->nbytes);
  assert_memory_equal(a->bits.bytes, b->bits.bytes, a->nbytes);
}

/* Key i: 0 to 39 bytes. */
static size_t key_of(uint64_t i, uint8_t key[40]) {
  for (unsigned j = 0; j < 40; j++) key[j] = (uint8_t)nay_hash_mix(i << 8 | j);
  return (size_t)(nay_hash_mix(i) % 40);
}

static void asked_and_unasked_leave_the_same(void **state) {
  (void)state;
  for (uint32_t k = 1; k <= 32; k++) {
    nay_hash_kind hash = k % 4 == 0 ? NAY_HASH_SIPHASH : NAY_HASH_XXH3;
    nay_filter *a = make(k, 0, hash), *b = make(k, 0, hash);
    assert_non_null(b->add_blind);
    for (uint64_t i = 0; i < N; i++) {
      nay_hash h = {nay_hash_mix(i), 0};
      uint8_t key[40];
      size_t len = key_of(i, key);
      bool is_new;
      if (i % 2 == 0) {
        assert_int_equal(nay_filter_add_hash(a, h, &is_new), NAY_OK);
        assert_int_equal(nay_filter_add_hash(b, h, NULL), NAY_OK);
      } else {
        assert_int_equal(nay_filter_add(a, key, len, &is_new), NAY_OK);
        assert_int_equal(nay_filter_add(b, key, len, NULL), NAY_OK);
      }
    }
    assert_same_bytes(a, b);
    assert_int_equal(nay_filter_add(b, NULL, 0, NULL), NAY_OK);
    assert_int_equal(nay_filter_add(b, NULL, 1, NULL), NAY_EINVAL);
    nay_filter_free(a);
    nay_filter_free(b);
  }
  assert_int_equal(nay_filter_add(NULL, "x", 1, NULL), NAY_EINVAL);
  assert_int_equal(nay_filter_add_hash(NULL, (nay_hash){1, 0}, NULL), NAY_EINVAL);
}

/* Every add takes its lock, in a copy too. */
static void filters_of_many_threads_lock(void **state) {
  (void)state;
  nay_filter *plain = make(7, 0, NAY_HASH_XXH3);
  nay_filter *shared = make(7, NAY_CONCURRENT, NAY_HASH_XXH3), *copy;
  assert_int_equal(nay_filter_copy(shared, NULL, NULL, &copy), NAY_OK);
  assert_true(plain->add_blind != NULL && shared->add_blind == NULL && copy->add_blind == NULL);
  nay_filter *all[] = {plain, shared, copy};
  for (unsigned i = 0; i < 3; i++) {
    for (uint64_t j = 0; j < N; j++) {
      assert_int_equal(nay_filter_add_hash(all[i], (nay_hash){nay_hash_mix(j), 0}, NULL), NAY_OK);
    }
    assert_same_bytes(plain, all[i]);
  }
  for (unsigned i = 0; i < 3; i++) nay_filter_free(all[i]);
}

static void assert_refuses(nay_filter *f) {
  assert_null(f->add_blind);
  assert_int_equal(nay_filter_add_hash(f, (nay_hash){nay_hash_mix(9), 0}, NULL), NAY_ENOTSUP);
  assert_int_equal(nay_filter_add(f, "a key", 5, NULL), NAY_ENOTSUP);
}

static void read_only_filters_refuse(void **state) {
  (void)state;
  nay_filter *f = make(7, 0, NAY_HASH_XXH3), *mapped, *copy;
  char path[TEMP_MAX];
  assert_int_equal(nay_filter_save(f, temp_path(path, "blind"), NULL), NAY_OK);
  for (unsigned flags = 0; flags <= NAY_MMAP_LAZY; flags += NAY_MMAP_LAZY) {
    assert_int_equal(nay_filter_mmap(path, flags, NULL, NULL, &mapped), NAY_OK);
    assert_refuses(mapped);
    assert_int_equal(nay_filter_copy(mapped, NULL, NULL, &copy), NAY_OK);
    assert_non_null(copy->add_blind);
    assert_int_equal(nay_filter_add(copy, "a key", 5, NULL), NAY_OK);
    assert_true(nay_filter_may_contain(copy, "a key", 5));
    assert_false(nay_filter_may_contain(mapped, "a key", 5));
    nay_filter_free(copy);
    nay_filter_free(mapped);
  }
  assert_int_equal(remove(path), 0);
  nay_filter_free(f);
}

/* The payload moves to another place: blind adds must follow it. */
static void a_folded_filter_takes_more(void **state) {
  (void)state;
  nay_params p = {sizeof p, .kind = NAY_BLOCKED, .nkeys = N, .fpr = 0.01, .fold = 4};
  nay_filter *a, *b;
  assert_int_equal(nay_filter_new(&p, NULL, NULL, &a), NAY_OK);
  assert_int_equal(nay_filter_new(&p, NULL, NULL, &b), NAY_OK);
  assert_int_equal(nay_filter_fold(a, 4, NULL), NAY_OK);
  for (uint64_t i = 0; i < N; i++) {
    assert_int_equal(nay_filter_add_hash(a, (nay_hash){nay_hash_mix(i), 0}, NULL), NAY_OK);
    assert_int_equal(nay_filter_add_hash(b, (nay_hash){nay_hash_mix(i), 0}, NULL), NAY_OK);
  }
  assert_int_equal(nay_filter_fold(b, 4, NULL), NAY_OK);
  assert_same_bytes(a, b);
  nay_filter_free(a);
  nay_filter_free(b);
}

int main(void) {
  const test_case tests[] = {
      TEST(asked_and_unasked_leave_the_same),
      TEST(filters_of_many_threads_lock),
      TEST(read_only_filters_refuse),
      TEST(a_folded_filter_takes_more),
  };
  return run_all(tests);
}
