/* test_files.c - filters on disk: save, open, map, and what a damaged file may do: nothing. */
#include "contract.h"
#include "support/hashes.h"

#define RANDOM (&key_sets[3])

static const uint64_t sizes[] = {0, 1, 100, 10000, 100000};
#define N_SIZES (sizeof sizes / sizeof sizes[0])

/* ---- save, open, map ---- */

static void files_give_the_filter_back(void **state) {
  for (size_t i = 0; i < N_SIZES; i++) {
    nay_params p = contract_params(*state, 0);
    nay_filter *f = contract_build(&p, RANDOM, 0, sizes[i]), *opened, *mapped, *lazy;
    assert_ok(nay_filter_set_meta(f, "for the file", 12));
    const char *path = saved(f, "files");
    assert_ok(nay_filter_open(path, NULL, NULL, &opened));
    assert_ok(nay_filter_mmap(path, 0, NULL, NULL, &mapped));
    assert_ok(nay_filter_mmap(path, NAY_MMAP_LAZY, NULL, NULL, &lazy));
    remove(path); /* what is open needs the name no longer */
    nay_filter *all[] = {opened, mapped, lazy};
    for (size_t j = 0; j < 3; j++) {
      size_t len;
      assert_same_answers(f, all[j], RANDOM, 2 * sizes[i]);
      assert_ok(nay_filter_health(all[j]));
      assert_memory_equal(nay_filter_meta(all[j], &len), "for the file", 12);
      assert_int_equal(len, 12);
      assert_int_equal(stats_of(all[j]).read_only, j != 0);
      assert_true(filters_equal(f, all[j]));
      nay_filter_free(all[j]);
    }
    nay_filter_free(f);
  }
}

/* Saving over a file replaces it whole; what has the old one mapped keeps the old one. */
static void saving_replaces_the_file(void **state) {
  nay_filter *big = contract_filter(*state, 5000), *small = contract_filter(*state, 10), *old, *new;
  char path[TEMP_MAX];
  temp_path(path, "replace");
  assert_ok(nay_filter_save(big, path, NULL));
  assert_ok(nay_filter_mmap(path, NAY_MMAP_LAZY, NULL, NULL, &old));
  assert_ok(nay_filter_save(small, path, NULL));
  assert_ok(nay_filter_open(path, NULL, NULL, &new));
  assert_true(filters_equal(small, new));
  assert_true(filters_equal(big, old));
  remove(path);
  nay_filter_free(big);
  nay_filter_free(small);
  nay_filter_free(old);
  nay_filter_free(new);
}

static void missing_files_are_told(void **state) {
  nay_filter *f = contract_filter(*state, 10), *out = (nay_filter *)state;
  nay_diag diag = {.what = NULL};
  char path[TEMP_MAX];
  temp_path(path, "no-such-directory/file");
  assert_status(nay_filter_save(f, path, &diag), NAY_EIO);
  assert_true(diag.what != NULL && diag.os_error != 0);
  diag = (nay_diag){.what = NULL};
  assert_status(nay_filter_open(path, NULL, &diag, &out), NAY_EIO);
  assert_true(diag.what != NULL && diag.os_error != 0);
  diag = (nay_diag){.what = NULL};
  assert_status(nay_filter_mmap(path, 0, NULL, &diag, &out), NAY_EIO);
  assert_true(diag.what != NULL && diag.os_error != 0);
  assert_ptr_equal(out, state);
  nay_filter_free(f);
}

/* ---- read-only ---- */

static void assert_refuses_writes(nay_filter *f, const nay_filter *other) {
  const void *keys[1] = {"key"};
  const size_t lens[1] = {3};
  const uint64_t lo[1] = {42};
  bytes before = bytes_of(f);
  assert_status(nay_filter_add(f, "key", 3, NULL), NAY_ENOTSUP);
  assert_status(nay_filter_add_hash(f, contract_hash(1), NULL), NAY_ENOTSUP);
  assert_status(nay_filter_add_many(f, keys, lens, 1, NULL, NULL), NAY_ENOTSUP);
  assert_status(nay_filter_add_hash_many(f, lo, NULL, 1, NULL, NULL), NAY_ENOTSUP);
  assert_status(nay_filter_remove(f, "key", 3), NAY_ENOTSUP);
  assert_status(nay_filter_remove_hash(f, contract_hash(1)), NAY_ENOTSUP);
  assert_status(nay_filter_advance(f, 1), NAY_ENOTSUP);
  assert_status(nay_filter_clear(f), NAY_ENOTSUP);
  assert_status(nay_filter_merge(f, other, 1.0, NULL), NAY_ENOTSUP);
  assert_status(nay_filter_intersect(f, other, NULL), NAY_ENOTSUP);
  assert_status(nay_filter_fold(f, 1, NULL), NAY_ENOTSUP);
  assert_unchanged(f, &before);
  bytes_free(&before);
}

static void mapped_filters_refuse_writes(void **state) {
  nay_filter *f = contract_filter(*state, 1000), *mapped, *lazy, *copy;
  const char *path = saved(f, "read-only");
  assert_ok(nay_filter_mmap(path, 0, NULL, NULL, &mapped));
  assert_ok(nay_filter_mmap(path, NAY_MMAP_LAZY, NULL, NULL, &lazy));
  remove(path);
  assert_refuses_writes(mapped, f);
  assert_refuses_writes(lazy, f);
  assert_ok(nay_filter_copy(lazy, NULL, NULL, &copy)); /* a copy takes them */
  assert_false(stats_of(copy).read_only);
  if (contract_can(*state, NAY_CAN_ADD)) contract_add(copy, RANDOM, 1000, 10);
  nay_filter_free(f);
  nay_filter_free(mapped);
  nay_filter_free(lazy);
  nay_filter_free(copy);
}

/* ---- damage ---- */

#define DAMAGED_KEYS 400000u

/* A file of many chunks with one bit wrong in the middle of its body. */
static nay_filter *damaged_file(const nay_family *family, char path[TEMP_MAX]) {
  nay_filter *f = contract_filter(family, DAMAGED_KEYS);
  bytes b = bytes_of(f);
  assert_true(b.len > 4 * 65536); /* the middle is far from the chunks that opening looks at */
  b.at[b.len / 2] ^= 0x04;
  FILE *file = fopen(temp_path(path, "damaged"), "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(b.at, 1, b.len, file), b.len);
  assert_int_equal(fclose(file), 0);
  bytes_free(&b);
  return f;
}

static void damage_is_found_at_open(void **state) {
  char path[TEMP_MAX];
  nay_filter *f = damaged_file(*state, path), *out = f;
  nay_diag diag = {.what = NULL};
  assert_status(nay_filter_open(path, NULL, &diag, &out), NAY_ECORRUPT);
  assert_true(diag.what != NULL && diag.offset != 0 && diag.os_error == 0);
  diag = (nay_diag){.what = NULL};
  assert_status(nay_filter_mmap(path, 0, NULL, &diag, &out), NAY_ECORRUPT);
  assert_true(diag.what != NULL && diag.offset != 0 && diag.os_error == 0);
  assert_ptr_equal(out, f);
  remove(path);
  nay_filter_free(f);
}

/* Probed lazily, the damaged chunk answers maybe: no key is lost, and health tells. A family that
 * cannot tell what a probe will read has its files verified at once, lazy or not. */
static void damage_is_a_maybe_when_lazy(void **state) {
  char path[TEMP_MAX];
  nay_filter *f = damaged_file(*state, path), *lazy = NULL, *copy = NULL;
  nay_status mapped = nay_filter_mmap(path, NAY_MMAP_LAZY, NULL, NULL, &lazy);
  if (((const nay_family *)*state)->probe_addresses == NULL) {
    assert_status(mapped, NAY_ECORRUPT);
    assert_null(lazy);
    remove(path);
    nay_filter_free(f);
    return;
  }
  assert_ok(mapped);
  assert_ok(nay_filter_health(lazy));
  uint64_t more = 0;
  for (uint64_t i = 0; i < 20000; i++) {
    uint64_t absent = DAMAGED_KEYS + i;
    assert_true(contract_has(lazy, RANDOM, i));
    bool good = contract_has(f, RANDOM, absent), seen = contract_has(lazy, RANDOM, absent);
    assert_true(seen || !good);
    more += seen && !good;
  }
  assert_true(more > 0);
  assert_status(nay_filter_health(lazy), NAY_ECORRUPT);
  nay_stats stats = {.size = sizeof stats};
  uint64_t bitmap[1], lo[2] = {1, 2};
  char other[TEMP_MAX];
  assert_status(nay_filter_may_contain_hash_many(lazy, lo, NULL, 2, bitmap), NAY_ECORRUPT);
  assert_status(nay_filter_stats(lazy, &stats), NAY_ECORRUPT);
  assert_status(nay_filter_copy(lazy, NULL, NULL, &copy), NAY_ECORRUPT);
  assert_status(nay_filter_save(lazy, temp_path(other, "damaged-again"), NULL), NAY_ECORRUPT);
  assert_null(copy);
  remove(path);
  nay_filter_free(lazy);
  nay_filter_free(f);
}

/* Batches in a lazy map are the single answers, chunk by chunk. */
static void lazy_batches_are_single_probes(void **state) {
  nay_filter *f = contract_filter(*state, 50000), *lazy;
  const char *path = saved(f, "lazy-batch");
  assert_ok(nay_filter_mmap(path, NAY_MMAP_LAZY, NULL, NULL, &lazy));
  remove(path);
  for (uint64_t start = 0; start < 100000; start += 64) {
    uint64_t lo[64], bitmap[1];
    for (unsigned i = 0; i < 64; i++) {
      uint8_t key[KEY_MAX];
      nay_hash h;
      assert_ok(filter_hash(f, key, RANDOM->make(start + i, key), &h));
      lo[i] = h.lo;
    }
    assert_ok(nay_filter_may_contain_hash_many(lazy, lo, NULL, 64, bitmap));
    for (unsigned i = 0; i < 64; i++) {
      bool single = nay_filter_may_contain_hash(f, (nay_hash){lo[i], 0});
      assert_int_equal(bitmap[0] >> i & 1, single);
    }
  }
  nay_filter_free(lazy);
  nay_filter_free(f);
}

int main(void) {
  const contract_test tests[] = {
      CONTRACT(files_give_the_filter_back, 0),     CONTRACT(saving_replaces_the_file, 0),
      CONTRACT(missing_files_are_told, 0),         CONTRACT(mapped_filters_refuse_writes, 0),
      CONTRACT(damage_is_found_at_open, 0),        CONTRACT(damage_is_a_maybe_when_lazy, 0),
      CONTRACT(lazy_batches_are_single_probes, 0),
  };
  return contract_run_all(tests);
}
