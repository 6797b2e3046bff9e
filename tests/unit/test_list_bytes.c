/* test_list_bytes.c - exact lists: failing allocations, files, damage, hostile bytes, identities.
 */
#include "support/flaky.h"
#include "support/lists.h"
#include "support/native.h"
#include "support/temp.h"

/* ---- memory ---- */

static nay_status build_with(const nay_params *params, const universe *u, const nay_allocator *a,
                             nay_filter **list) {
  nay_builder *b = NULL;
  nay_status status = nay_builder_new(params, a, NULL, &b);
  if (status == NAY_OK) status = list_add_all(b, u);
  if (status == NAY_OK) status = nay_builder_finish(b, NULL, list);
  nay_builder_free(b);
  return status;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  universe u = universe_of(1500, 20, 0.2, 1);
  for (unsigned flags = 0; flags <= NAY_LOW_MEMORY; flags += NAY_LOW_MEMORY) {
    nay_params params = list_params(4, 3);
    params.flags = flags;
    params.spill_dir = "/tmp";
    nay_filter *whole = list_of(&params, &u);
    for (long at = 0;; at += flags != 0 && at > 9 ? 41 : at < 400 ? 1 : 13) {
      flaky heap = {.fail_at = at};
      nay_allocator a = flaky_allocator(&heap);
      nay_filter *list = NULL;
      nay_status status = build_with(&params, &u, &a, &list);
      if (status == NAY_OK) assert_same_list(list, whole);
      if (status != NAY_OK) assert_status(status, NAY_ENOMEM);
      if (status != NAY_OK) assert_null(list);
      nay_filter_free(list);
      assert_true(flaky_is_clean(&heap));
      if (status == NAY_OK) break;
    }
    nay_filter_free(whole);
  }
  universe_free(&u);
}

/* A builder whose finish failed has all its keys. */
static void a_failed_finish_keeps_the_keys(void **state) {
  (void)state;
  universe u = universe_of(1500, 20, 0.2, 1);
  nay_params params = list_params(4, 3);
  nay_filter *whole = list_of(&params, &u);
  flaky heap = {.fail_at = -1};
  nay_allocator a = flaky_allocator(&heap);
  nay_builder *b;
  assert_ok(nay_builder_new(&params, &a, NULL, &b));
  assert_ok(list_add_all(b, &u));
  for (long k = 0;; k += 7) {
    nay_filter *list = NULL;
    heap.fail_at = heap.calls + k;
    nay_status status = nay_builder_finish(b, NULL, &list);
    if (status == NAY_OK) assert_same_list(list, whole);
    nay_filter_free(list);
    if (status == NAY_OK) break;
    assert_status(status, NAY_ENOMEM);
  }
  nay_builder_free(b);
  assert_true(flaky_is_clean(&heap));
  nay_filter_free(whole);
  universe_free(&u);
}

/* ---- files ---- */

static void bytes_come_back(void **state) {
  (void)state;
  universe u = universe_of(20000, 12, 0.07, 6);
  nay_params params = list_params(4, 4);
  params.list_base = 77;
  nay_filter *list = list_of(&params, &u), *back, *copy;
  char path[TEMP_MAX];
  temp_path(path, "list.nay");
  assert_ok(nay_filter_set_meta(list, "who", 3));
  assert_ok(nay_filter_save(list, path, NULL));
  assert_ok(nay_filter_copy(list, NULL, NULL, &copy));
  assert_list(copy, &u);
  nay_stats stats = list_stats(list);
  assert_int_equal(stats.list_base, 77);
  assert_int_equal(stats.list_prefix, 4);
  for (unsigned how = 0; how < 3; how++) {
    assert_ok(how == 0 ? nay_filter_open(path, NULL, NULL, &back)
                       : nay_filter_mmap(path, how == 1 ? 0 : NAY_MMAP_LAZY, NULL, NULL, &back));
    assert_int_equal(nay_filter_kind(back), NAY_LIST);
    assert_list(back, &u);
    assert_same_list(back, list);
    nay_stats again = list_stats(back);
    assert_true(again.list_id == stats.list_id && again.nlisted == stats.nlisted);
    assert_true(again.list_bound == stats.list_bound);
    nay_filter_free(back);
  }
  size_t len;
  uint8_t *bytes = bytes_of_list(list, &len);
  nay_view view = {.size = sizeof view};
  assert_ok(nay_view_open(bytes, len, NULL, NULL, &view));
  assert_list(nay_view_filter(&view), &u);
  free(bytes);
  nay_filter_free(copy);
  nay_filter_free(list);
  universe_free(&u);
}

/* Identities: another key, another answer or another base is another list. */
static void lists_have_identities(void **state) {
  (void)state;
  universe u = universe_of(3000, 4, 0.1, 6);
  nay_params params = list_params(4, 0);
  nay_filter *list = list_of(&params, &u);
  uint64_t id = list_stats(list).list_id;
  nay_filter_free(list);
  for (unsigned what = 0; what < 3; what++) {
    params.list_base = what == 0 ? id : 0;
    params.seed = what == 1;
    u.listed[9] ^= what == 2;
    list = list_of(&params, &u);
    assert_true(list_stats(list).list_id != id && list_stats(list).list_id != 0);
    nay_filter_free(list);
  }
  universe_free(&u);
}

/* ---- damage ---- */

/* No flipped bit and no truncation is an answer. */
static void damage_is_an_error(void **state) {
  (void)state;
  universe u = universe_of(900, 5, 0.1, 6);
  nay_params params = list_params(4, 2);
  nay_filter *list = list_of(&params, &u), *back = NULL;
  size_t len;
  uint8_t *bytes = bytes_of_list(list, &len);
  for (size_t i = 0; i < len; i++) {
    bytes[i] ^= (uint8_t)(1u << i % 8);
    assert_true(nay_filter_decode(bytes, len, NULL, NULL, &back) != NAY_OK);
    bytes[i] ^= (uint8_t)(1u << i % 8);
    assert_true(nay_filter_decode(bytes, i, NULL, NULL, &back) != NAY_OK);
  }
  assert_null(back);
  free(bytes);
  nay_filter_free(list);
  universe_free(&u);
}

/* Damage under good checksums: refused, or some list, but never a read outside of the payload. */
static void hostile_bytes(void **state) {
  (void)state;
  unsigned refused = 0, taken = 0;
  for (uint64_t t = 0; t < 3; t++) {
    universe u = universe_of(t == 0 ? 40 : 9000, 5, t == 1 ? 0.5 : 0.1, 6);
    nay_params params = list_params(t == 2 ? 0 : 4, (uint32_t)t);
    nay_filter *list = list_of(&params, &u), *back;
    size_t len;
    uint8_t *bytes = bytes_of_list(list, &len), *copy = malloc(len);
    for (uint64_t round = 0; round < TEST_SCALE(20000); round++) {
      memcpy(copy, bytes, len);
      uint64_t word = nay_hash_mix(round + t * 1000003);
      size_t at =
          word % 3 == 0 ? 32 + word / 64 % 16 : 64 + word / 64 % (len < 600 ? len - 64 : 500);
      copy[at] = (uint8_t)(word >> 56);
      if (word % 5 == 0) copy[at ^ 1] = (uint8_t)(word >> 48);
      native_seal(copy, len);
      if (nay_filter_decode(copy, len, NULL, NULL, &back) != NAY_OK) {
        refused++;
        continue;
      }
      taken++;
      for (size_t i = 0; i < 70; i++) {
        uint64_t value;
        nay_status status = nay_filter_get(back, u.keys[i % u.n], UNIVERSE_KEY - i % 9, &value);
        assert_true(status == NAY_OK || status == NAY_ENOENT || status == NAY_EKEY ||
                    status == NAY_ENOTSUP);
      }
      nay_filter_free(back);
    }
    free(bytes);
    free(copy);
    nay_filter_free(list);
    universe_free(&u);
  }
  assert_true(refused > 100 && taken > 100);
}

int main(void) {
  const test_case tests[] = {
      TEST(every_allocation_may_fail), TEST(a_failed_finish_keeps_the_keys),
      TEST(bytes_come_back),           TEST(lists_have_identities),
      TEST(damage_is_an_error),        TEST(hostile_bytes),
  };
  return run_all(tests);
}
