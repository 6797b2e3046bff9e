/*
 * test_sst_small_filters.c - filters of few keys. How many keys a table, or its last partition, has
 * is not the caller's choice: options that a writer takes make a table of any number of keys, with
 * a filter, and every add works. Over all families, sizes and layouts.
 */
#include "nay_advanced.h"
#include "support/sst_numbers.h"

static nay_sst_prefix by_ten = {.size = sizeof by_ten};

static const double sizes[] = {0.05, 0.6, 2, 5, 6.5, 10, 40, 1000};
static const unsigned counts[] = {1, 2, 3, 5, 9, 16, 17, 33, 60, 100, 300, 700};

/* Whether options of this size are taken; if so, tables of every number of keys are made. */
static bool try_size(nay_kind kind, double bits, nay_sst_filter_layout filter) {
  char path[TEMP_MAX];
  nay_params params = {.size = sizeof params, .kind = kind, .bits_per_key = bits};
  nay_sst_write_options how = {.size = sizeof how,
                               .filter = filter,
                               .params = &params,
                               .partition_keys = 50,
                               .block_bytes = 200,
                               .prefix = &by_ten,
                               .no_sync = true};
  nay_sst_read_options read = {.size = sizeof read, .prefix = &by_ten};
  nay_sst_writer *w;
  nay_diag diag = {.what = NULL};
  nay_status status = nay_sst_writer_new(temp_path(path, "small.ldb"), &how, NULL, &diag, &w);
  if (status != NAY_OK) {
    assert_status(status, NAY_EINVAL);
    assert_non_null(diag.what);
    return false;
  }
  assert_null(diag.what); /* filled on failure alone */
  nay_sst_writer_free(w);
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    write_even(path, &how, counts[i]);
    nay_sst *t = open_table(path, &read);
    ask_all(t, counts[i]);
    assert_true(info_of(t).filter_used && info_of(t).prefix_used);
    assert_int_equal(counters_of(t).filter_faults, 0);
    nay_sst_free(t);
  }
  unlink(path);
  return true;
}

static void every_number_of_keys(void **unused) {
  (void)unused;
  unsigned taken = 0, refused = 0;
  assert_ok(nay_sst_prefix_find("nay.fixed.10", &by_ten));
  for (int kind = NAY_BLOOM; nay_kind_name((nay_kind)kind) != NULL; kind++) {
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      bool full = try_size((nay_kind)kind, sizes[i], NAY_SST_FULL_FILTER);
      assert_true(try_size((nay_kind)kind, sizes[i], NAY_SST_PARTITIONED_FILTER) == full);
      *(full ? &taken : &refused) += 1;
    }
  }
  assert_true(taken >= 40 && refused >= 10); /* fingerprints below 4 bits, scalable by bits */
}

/* One rule: a builder, and nay_filter_build of the same hashes, size few keys alike. */
static void builders(void **unused) {
  (void)unused;
  for (int kind = NAY_BLOOM; nay_kind_name((nay_kind)kind) != NULL; kind++) {
    const uint32_t of_keys = NAY_CAN_RANGE | NAY_CAN_GET; /* not built of hashes */
    if ((nay_kind_traits((nay_kind)kind) & of_keys) != 0) continue;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      nay_params p = {.size = sizeof p, .kind = (nay_kind)kind, .bits_per_key = sizes[i]};
      uint64_t hashes[33];
      nay_builder *b;
      nay_filter *built, *made;
      nay_status status = nay_builder_new(&p, NULL, NULL, &b);
      for (unsigned j = 0; j < 33; j++) hashes[j] = nay_hash_mix(j + 1);
      if (status != NAY_OK) {
        assert_status(nay_filter_build(&p, hashes, 33, NULL, NULL, &made), status);
        continue;
      }
      for (unsigned j = 0; j < 33; j++) {
        assert_ok(nay_builder_add_hash(b, (nay_hash){hashes[j], 0}));
      }
      assert_ok(nay_builder_finish(b, NULL, &built));
      assert_ok(nay_filter_build(&p, hashes, 33, NULL, NULL, &made));
      assert_int_equal(nay_filter_encoded_size(built), nay_filter_encoded_size(made));
      nay_filter_free(built);
      nay_filter_free(made);
      nay_builder_free(b);
    }
  }
}

/* A fixed size that is too small for the keys is no mistake of the key that is added then. */
static void a_fixed_size(void **unused) {
  (void)unused;
  char path[TEMP_MAX], key[32];
  nay_params params = {.size = sizeof params, .kind = NAY_CUCKOO, .nbytes = 256};
  nay_sst_write_options how = {.size = sizeof how,
                               .filter = NAY_SST_PARTITIONED_FILTER,
                               .params = &params,
                               .partition_keys = 5000,
                               .no_sync = true};
  nay_sst_writer *w;
  nay_diag diag = {.what = NULL};
  nay_status status = NAY_OK;
  assert_ok(nay_sst_writer_new(temp_path(path, "fixed.ldb"), &how, NULL, NULL, &w));
  for (unsigned i = 0; i < 6000 && status == NAY_OK; i++) {
    status = nay_sst_writer_add(w, key, number_key(i, key), "", 0, NULL);
  }
  assert_status(status, NAY_EFULL);
  assert_status(nay_sst_writer_add(w, "z", 1, "", 0, NULL), NAY_EFULL); /* it is final */
  assert_status(nay_sst_writer_finish(w, &diag), NAY_EFULL);
  assert_string_equal(diag.what, "the size is too small for nkeys tags that find room");
  nay_sst_writer_free(w);
}

static void hashes_of_the_caller(void **unused) {
  (void)unused;
  char path[TEMP_MAX];
  nay_params params = {.size = sizeof params, .hash = NAY_HASH_CALLER};
  nay_sst_write_options how = {.size = sizeof how, .params = &params};
  nay_sst_writer *w;
  nay_diag diag;
  how.filter = NAY_SST_FULL_FILTER;
  assert_status(nay_sst_writer_new(temp_path(path, "caller.ldb"), &how, NULL, &diag, &w),
                NAY_EINVAL);
  assert_string_equal(diag.what, "params->hash: the writer hashes the keys");
}

int main(void) {
  const test_case tests[] = {
      TEST(every_number_of_keys),
      TEST(builders),
      TEST(a_fixed_size),
      TEST(hashes_of_the_caller),
  };
  return run_all(tests);
}
