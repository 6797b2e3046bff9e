/*
 * test_key_types.c - the key description of a filter: it goes wherever the filter goes, plain text
 * leaves no trace, and filters of different descriptions are not comparable.
 */
#include "contract.h"
#include "nay_format.h"
#include "nay_key.h"

#define RANDOM (&key_sets[3])

static const char *const stored[] = {"int",       "float", "bool",   "date",
                                     "timestamp", "uuid",  "numeric"};
#define N_STORED (sizeof stored / sizeof stored[0])

static void assert_states(const nay_filter *f, const char *key) {
  assert_string_equal(nay_filter_key(f), key);
}

/* A filter that states it, with metadata and a stored secret: a file of every section. */
static nay_filter *stating(const nay_family *family, const char *key, uint64_t n) {
  nay_params p = contract_keyed(family, n);
  p.flags = NAY_STORE_KEY;
  nay_filter *f = contract_build(&p, RANDOM, 0, n);
  assert_ok(nay_filter_set_meta(f, "metadata", 8));
  assert_ok(nay_filter_set_key(f, key));
  return f;
}

static void text_leaves_no_trace(void **state) {
  static const char *const notations[] = {"text", "bytes", "hex", "b64"};
  nay_filter *f = contract_filter(*state, 100);
  assert_states(f, "text");
  bytes bare = bytes_of(f);
  for (size_t i = 0; i < 4; i++) {
    assert_ok(nay_filter_set_key(f, notations[i]));
    assert_states(f, "text");
    assert_unchanged(f, &bare);
  }
  assert_ok(nay_filter_set_key(f, "int"));
  assert_true(nay_filter_encoded_size(f) > bare.len);
  assert_ok(nay_filter_set_key(f, "hex"));
  assert_unchanged(f, &bare);
  bytes_free(&bare);
  nay_filter_free(f);
}

static void what_is_no_description_changes_nothing(void **state) {
  static const struct {
    const char *text;
    nay_status status;
  } rows[] = {{"", NAY_EINVAL},      {"Int", NAY_EINVAL},          {"int,", NAY_EINVAL},
              {" int", NAY_EINVAL},  {"int\n", NAY_EINVAL},        {NULL, NAY_EINVAL},
              {"itn", NAY_EVERSION}, {"int,soundex", NAY_EVERSION}};
  nay_filter *f = stating(*state, "date", 50);
  bytes before = bytes_of(f);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    assert_status(nay_filter_set_key(f, rows[i].text), rows[i].status);
    assert_unchanged(f, &before);
  }
  assert_status(nay_filter_set_key(NULL, "int"), NAY_EINVAL);
  assert_null(nay_filter_key(NULL));
  bytes_free(&before);
  nay_filter_free(f);
}

static void every_reader_keeps_it(void **state) {
  for (size_t i = 0; i < N_STORED; i++) {
    nay_filter *f = stating(*state, stored[i], 1000), *all[6];
    bytes b = bytes_of(f);
    nay_view view = {.size = sizeof view};
    nay_decoder *decoder;
    const char *path = saved(f, "stated");
    assert_ok(nay_filter_copy(f, NULL, NULL, &all[0]));
    assert_ok(nay_filter_decode(b.at, b.len, NULL, NULL, &all[1]));
    assert_ok(nay_filter_open(path, NULL, NULL, &all[2]));
    assert_ok(nay_filter_mmap(path, 0, NULL, NULL, &all[3]));
    assert_ok(nay_filter_mmap(path, NAY_MMAP_LAZY, NULL, NULL, &all[4]));
    assert_ok(nay__decoder_new(NULL, &decoder));
    for (size_t at = 0; at < b.len; at += 100) {
      assert_ok(nay__decoder_add(decoder, b.at + at, b.len - at < 100 ? b.len - at : 100, NULL));
    }
    assert_ok(nay__decoder_finish(decoder, NULL, &all[5]));
    nay__decoder_free(decoder);
    assert_ok(nay_view_open(b.at, b.len, NULL, NULL, &view));
    assert_states(nay_view_filter(&view), stored[i]);
    remove(path);
    for (size_t j = 0; j < 6; j++) {
      assert_states(all[j], stored[i]);
      assert_true(filters_equal(f, all[j]));
      nay_filter_free(all[j]);
    }
    bytes_free(&b);
    nay_filter_free(f);
  }
}

/* The section lies behind the payload, where an opened filter that grows will write. */
static void it_survives_adds_to_an_opened_file(void **state) {
  nay_filter *f = stating(*state, "timestamp", 100), *opened;
  const char *path = saved(f, "grows");
  assert_ok(nay_filter_open(path, NULL, NULL, &opened));
  remove(path);
  for (uint64_t i = 100; i < 2000; i++) {
    uint8_t key[KEY_MAX];
    nay_status status = nay_filter_add(opened, key, RANDOM->make(i, key), NULL);
    assert_true(status == NAY_OK || status == NAY_EFULL);
  }
  assert_states(opened, "timestamp");
  assert_ok(nay_filter_clear(opened));
  assert_states(opened, "timestamp");
  bytes b = bytes_of(opened);
  nay_filter *again;
  assert_ok(nay_filter_decode(b.at, b.len, NULL, NULL, &again));
  assert_states(again, "timestamp");
  bytes_free(&b);
  nay_filter_free(again);
  nay_filter_free(opened);
  nay_filter_free(f);
}

static void filters_of_two_descriptions_do_not_meet(void **state) {
  nay_params p = contract_params(*state, 500);
  nay_filter *a = contract_build(&p, RANDOM, 0, 200), *b = contract_build(&p, RANDOM, 100, 200);
  nay_overlap overlap = {.size = sizeof overlap};
  for (int turn = 0; turn < 3; turn++) { /* one of them, the other, both */
    assert_ok(nay_filter_set_key(a, turn != 1 ? "int" : "text"));
    assert_ok(nay_filter_set_key(b, turn == 0 ? "text" : turn == 1 ? "int" : "date"));
    bytes before_a = bytes_of(a), before_b = bytes_of(b);
    assert_status(nay_filter_merge(a, b, 1.0, NULL), NAY_EMISMATCH);
    assert_status(nay_filter_overlap(a, b, NULL, &overlap), NAY_EMISMATCH);
    if (contract_can(*state, NAY_CAN_INTERSECT)) {
      assert_status(nay_filter_intersect(a, b, NULL), NAY_EMISMATCH);
    }
    assert_unchanged(a, &before_a);
    assert_unchanged(b, &before_b);
    bytes_free(&before_a);
    bytes_free(&before_b);
  }
  assert_ok(nay_filter_set_key(a, "date"));
  assert_ok(nay_filter_merge(a, b, 1.0, NULL));
  assert_states(a, "date");
  assert_all_maybe(a, RANDOM, 0, 300);
  nay_filter_free(a);
  nay_filter_free(b);
}

static void folding_keeps_it(void **state) {
  nay_params big = {sizeof big, .kind = ((const nay_family *)*state)->kind, .nbits = 512 * 60,
                    .nkeys = 500};
  nay_params small = big;
  small.nbits = 512 * 20;
  nay_filter *a = contract_new(&big), *b = contract_new(&small);
  assert_ok(nay_filter_set_key(a, "bool"));
  assert_ok(nay_filter_set_key(b, "int"));
  bytes before = bytes_of(a);
  small.k = big.k = 0;
  assert_status(nay_filter_merge(a, b, 1.0, NULL), NAY_EMISMATCH); /* not after folding either */
  assert_unchanged(a, &before);
  assert_ok(nay_filter_fold(a, 3, NULL));
  assert_states(a, "bool");
  bytes_free(&before);
  nay_filter_free(a);
  nay_filter_free(b);
}

static void shrinking_keeps_it(void **state) {
  const nay_family *family = *state;
  nay_filter *f = stating(family, "numeric", 5000);
  if (family->algebra != NULL && family->algebra->shrink != NULL) {
    assert_ok(nay_filter_shrink(f, stats_of(f).nbits / 8 * 3 / 4, NULL));
  }
  assert_states(f, "numeric");
  nay_filter_free(f);
}

/* A layout of another system has no place for it, whatever its family. */
static void other_layouts_refuse_it(void **state) {
  (void)state;
  const nay_format *format;
  size_t tried = 0;
  for (size_t i = 0; (format = nay_format_at(i)) != NULL; i++) {
    nay_params p = {sizeof p, .nkeys = 100, .bits_per_key = 10};
    nay_filter *f, *copy;
    if (strcmp(nay_format_name(format), "nay") == 0) continue;
    if (nay_format_new(format, &p, NULL, NULL, &f) != NAY_OK) continue;
    tried++;
    assert_status(nay_filter_set_key(f, "int"), NAY_ENOTSUP);
    assert_ok(nay_filter_set_key(f, "hex"));
    assert_ok(nay_filter_copy(f, NULL, NULL, &copy));
    assert_states(f, "text");
    assert_states(copy, "text");
    nay_filter_free(f);
    nay_filter_free(copy);
  }
  assert_true(tried > 5);
}

int main(void) {
  static const contract_test tests[] = {
      CONTRACT(text_leaves_no_trace, 0),
      CONTRACT(what_is_no_description_changes_nothing, 0),
      CONTRACT(every_reader_keeps_it, 0),
      CONTRACT(it_survives_adds_to_an_opened_file, NAY_CAN_ADD),
      CONTRACT(filters_of_two_descriptions_do_not_meet, NAY_CAN_MERGE),
      CONTRACT(folding_keeps_it, NAY_CAN_MERGE | CONTRACT_FOLDS_WHOLE),
      CONTRACT(shrinking_keeps_it, 0),
      CONTRACT(other_layouts_refuse_it, 0),
  };
  return contract_run_all(tests);
}
