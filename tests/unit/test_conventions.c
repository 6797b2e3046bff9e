/*
 * test_conventions.c - what all calls of libnay have in common, where it can be run: a call on a
 * whole filter that fails says why in its diag, structs are checked by their size, and a number
 * that is not known has a text but no name. tools/check_conventions.py reads the headers.
 */
#include "nay_explain.h"
#include "nay_file.h"
#include "nay_format.h"
#include "nay_key.h"
#include "support/temp.h"
#include "support/test.h"

static nay_filter *filter_of(nay_kind kind, uint64_t nbits, uint64_t seed) {
  nay_params p = {sizeof p, .kind = kind, .nbits = nbits, .k = 4, .seed = seed};
  if (kind == NAY_CUCKOO || kind == NAY_SCALABLE) {
    p = (nay_params){sizeof p, .kind = kind, .nkeys = 100, .fpr = 0.01, .seed = seed};
  }
  nay_filter *f;
  assert_ok(nay_filter_new(&p, NULL, NULL, &f));
  return f;
}

/* ---- diag ---- */

static void assert_says(nay_status status, nay_status wanted, nay_diag *diag, const char *words) {
  assert_status(status, wanted);
  assert_non_null(diag->what);
  if (strstr(diag->what, words) == NULL) fail_msg("\"%s\" lacks \"%s\"", diag->what, words);
  *diag = (nay_diag){.what = NULL};
}

static void whole_filters_say_why(void **state) {
  (void)state;
  nay_filter *a = filter_of(NAY_BLOCKED, 5120, 1), *other_seed = filter_of(NAY_BLOCKED, 5120, 2);
  nay_filter *bloom = filter_of(NAY_BLOOM, 5120, 1), *cuckoo = filter_of(NAY_CUCKOO, 0, 1);
  nay_filter *typed = filter_of(NAY_BLOCKED, 5120, 1), *out;
  nay_overlap overlap = {.size = sizeof overlap}, unsized = {.size = 0};
  nay_diag d = {.what = NULL};
  assert_ok(nay_filter_set_key(typed, "int"));
  assert_says(nay_filter_copy(NULL, NULL, &d, &out), NAY_EINVAL, &d, "NULL");
  nay_allocator half = {.alloc = NULL};
  assert_says(nay_filter_copy(a, &half, &d, &out), NAY_EINVAL, &d, "allocator");
  assert_says(nay_filter_merge(a, NULL, 1, &d), NAY_EINVAL, &d, "NULL");
  assert_says(nay_filter_merge(a, bloom, 1, &d), NAY_EMISMATCH, &d, "families");
  assert_says(nay_filter_merge(a, other_seed, 1, &d), NAY_EMISMATCH, &d, "seeds");
  assert_says(nay_filter_merge(a, typed, 1, &d), NAY_EMISMATCH, &d, "descriptions");
  assert_says(nay_filter_merge(a, a, 2, &d), NAY_EINVAL, &d, "max_fpr");
  assert_says(nay_filter_merge(cuckoo, cuckoo, 1, &d), NAY_ENOTSUP, &d, "family");
  for (unsigned i = 0; i < 2000; i++) {
    assert_ok(nay_filter_add_hash(a, (nay_hash){nay_hash_mix(i), 0}, NULL));
  }
  assert_says(nay_filter_merge(a, a, 0.001, &d), NAY_EFULL, &d, "max_fpr");
  assert_says(nay_filter_intersect(a, bloom, &d), NAY_EMISMATCH, &d, "families");
  assert_says(nay_filter_fold(a, 3, &d), NAY_EINVAL, &d, "factor");
  assert_says(nay_filter_fold(cuckoo, 1, &d), NAY_ENOTSUP, &d, "family");
  assert_says(nay_filter_shrink(a, 100, &d), NAY_ENOTSUP, &d, "family");
  assert_says(nay_filter_overlap(a, bloom, &d, &overlap), NAY_EMISMATCH, &d, "families");
  assert_says(nay_filter_overlap(a, a, &d, &unsized), NAY_EINVAL, &d, "size");
  assert_ok(nay_filter_merge(a, a, 1, &d)); /* success leaves it alone */
  assert_null(d.what);
  nay_filter *all[] = {a, other_seed, bloom, cuckoo, typed};
  for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++) nay_filter_free(all[i]);
}

/* A view may be read, and not changed: the diag says that it is the filter, not the family. */
static void read_only_filters_say_so(void **state) {
  (void)state;
  nay_filter *f = filter_of(NAY_BLOCKED, 5120, 1);
  size_t len = nay_filter_encoded_size(f);
  uint8_t *bytes = malloc(len);
  nay_view view = {.size = sizeof view};
  nay_diag d = {.what = NULL};
  assert_non_null(bytes);
  assert_ok(nay_filter_encode(f, bytes, len, &len));
  assert_ok(nay_view_open(bytes, len, NULL, NULL, &view));
  nay_filter *viewed = (nay_filter *)(uintptr_t)nay_view_filter(&view);
  assert_says(nay_filter_merge(viewed, f, 1, &d), NAY_ENOTSUP, &d, "read-only");
  assert_says(nay_filter_fold(viewed, 1, &d), NAY_ENOTSUP, &d, "read-only");
  nay_filter_free(f);
  free(bytes);
}

/* ---- sizes ---- */

/* The library writes into a view, a lock or a description of its own size, or none at all. */
static void structs_are_checked_by_size(void **state) {
  (void)state;
  nay_filter *f = filter_of(NAY_BLOCKED, 5120, 1);
  size_t len = nay_filter_encoded_size(f);
  uint8_t *bytes = malloc(len);
  char path[TEMP_MAX];
  assert_non_null(bytes);
  assert_ok(nay_filter_encode(f, bytes, len, &len));
  const size_t bad[] = {0, 8, 376, 100000};
  for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    nay_view view, before;
    nay_filelock lock = {.size = bad[i], .fd = -7};
    nay_key_description how = {.size = bad[i], .ntransformations = 9};
    memset(&view, 0x5a, sizeof view);
    view.size = bad[i];
    before = view;
    assert_status(nay_view_open(bytes, len, NULL, NULL, &view), NAY_EINVAL);
    assert_status(nay_format_view(nay_format_find("leveldb"), "\1\2\3\4\1", 5, 0, NULL, &view),
                  NAY_EINVAL);
    assert_memory_equal(&view, &before, sizeof view);
    if (bad[i] == 376) continue; /* more than a lock or a description has: 0 beyond is fine */
    assert_status(nay_file_lock(temp_path(path, "locked"), 0, NULL, &lock), NAY_EINVAL);
    assert_int_equal(lock.fd, -7);
    assert_status(nay_key_description_parse("int", NULL, &how), NAY_EINVAL);
    assert_int_equal(how.ntransformations, 9);
  }
  nay_filter_free(f);
  free(bytes);
}

/* ---- names and texts ---- */

static void numbers_that_are_not_known(void **state) {
  (void)state;
  assert_null(nay_status_name((nay_status)-99));
  assert_null(nay_kind_name((nay_kind)63));
  assert_null(nay_kind_name(NAY_AUTO_STATIC));
  assert_null(nay_hash_name((nay_hash_kind)63));
  assert_null(nay_key_type_name((nay_key_type)63));
  assert_non_null(nay_status_text((nay_status)-99));
  assert_int_equal(nay_format_traits(NULL), 0);
}

int main(void) {
  const test_case tests[] = {
      TEST(whole_filters_say_why),
      TEST(read_only_filters_say_so),
      TEST(structs_are_checked_by_size),
      TEST(numbers_that_are_not_known),
  };
  return run_all(tests);
}
