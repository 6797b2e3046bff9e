/*
 * test_arguments.c - what cannot be done is refused: params out of range, with a text that names
 * the field; NULL everywhere; calls that a family does not have. Outputs stay untouched.
 */
#include <math.h>

#include "contract.h"
#include "filter.h"
#include "support/hashes.h"

#define RANDOM (&key_sets[3])

/* Under AddressSanitizer an absurd malloc shall return NULL, as it does without. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }

/* ---- params ---- */

typedef struct refusal {
  const char *names; /* a word of the text: the field that is to blame */
  nay_params params; /* kind is set by the test */
} refusal;

/* Whether the text has it as a word: "k" is in "k is above 64" and in "k: one of 3 or 4". */
static bool says(const char *text, const char *word) {
  size_t len = strlen(word);
  const char *at = text;
  for (; (at = strstr(at, word)) != NULL && len != 0; at++) {
    bool begins = at == text || at[-1] == ' ';
    if (begins && strchr(" :,;", at[len]) != NULL) return true;
  }
  return len == 0;
}

static void assert_refused(nay_params p, const char *names) {
  nay_plan plan = {.size = sizeof plan}, untouched = {.size = sizeof untouched};
  memset(&plan, 0x77, sizeof plan);
  plan.size = sizeof plan;
  memcpy(&untouched, &plan, sizeof plan);
  nay_diag diag = {.offset = 1, .os_error = 1};
  assert_status(nay_params_plan(&p, &diag, &plan), NAY_EINVAL);
  assert_non_null(diag.what);
  if (!says(diag.what, names)) fail_msg("\"%s\" does not name %s", diag.what, names);
  assert_true(diag.offset == 0 && diag.os_error == 0);
  assert_memory_equal(&plan, &untouched, sizeof plan);
  assert_status(nay_params_plan(&p, NULL, &plan), NAY_EINVAL);
  nay_filter *f = NULL;
  nay_builder *b = NULL;
  const nay_diag clean = {.offset = 1, .os_error = 1};
  const char *what = diag.what; /* the calls that make filters say the same */
  diag = clean;
  assert_status(nay_filter_new(&p, NULL, &diag, &f), NAY_EINVAL);
  assert_string_equal(diag.what, what);
  assert_null(f);
  if (p.nkeys != 0) { /* a builder counts the keys itself */
    diag = clean;
    assert_status(nay_builder_new(&p, NULL, &diag, &b), NAY_EINVAL);
    assert_string_equal(diag.what, what);
    assert_null(b);
    /* a static filter is sized by its keys, which are none here, not by nkeys */
    bool is_static = nay_kind_name(p.kind) && (nay_kind_traits(p.kind) & NAY_CAN_ADD) == 0;
    diag = clean;
    if (!is_static) {
      assert_status(nay_filter_build(&p, NULL, 0, NULL, &diag, &f), NAY_EINVAL);
      assert_string_equal(diag.what, what);
    }
    assert_null(f);
  }
}

static void bad_params_are_refused(void **state) {
  const uint64_t too_many = ((uint64_t)1 << 56) + 1;
  const refusal table[] = {
      {"fpr", {.nkeys = 10}}, /* no size at all: the text lists the four */
      {"nbits", {.nkeys = 10}},
      {"fpr", {.nkeys = 10, .fpr = 0.0}},
      {"fpr", {.nkeys = 10, .fpr = 1.0}},
      {"fpr", {.nkeys = 10, .fpr = 1.5}},
      {"fpr", {.nkeys = 10, .fpr = -0.01}},
      {"fpr", {.nkeys = 10, .fpr = (double)INFINITY}},
      {"fpr", {.nkeys = 10, .fpr = -(double)INFINITY}},
      {"fpr", {.nkeys = 10, .fpr = (double)NAN}},
      {"bits_per_key", {.nkeys = 10, .bits_per_key = -1}},
      {"bits_per_key", {.nkeys = 10, .bits_per_key = 4096.1}},
      {"bits_per_key", {.nkeys = 10, .bits_per_key = (double)INFINITY}},
      {"bits_per_key", {.nkeys = 10, .bits_per_key = (double)NAN}},
      {"bits_per_key", {.nkeys = (uint64_t)1 << 56, .bits_per_key = 4096}},
      {"nkeys", {.fpr = 0.01}},
      {"nkeys", {.bits_per_key = 10}},
      {"nkeys", {.nbytes = 1000}},
      {"nkeys", {.nkeys = too_many, .fpr = 0.01}},
      {"nkeys", {.nkeys = (uint64_t)1 << 57, .fpr = 0.01}},
      {"nkeys", {.nkeys = UINT64_MAX, .nbits = 512}},
      {"nbytes", {.nkeys = 10, .nbytes = ((uint64_t)1 << 57) + 1}},
      {"nbits", {.nkeys = 10, .nbits = ((uint64_t)1 << 60) + 512}},
      {"only one", {.nkeys = 10, .fpr = 0.01, .bits_per_key = 10}},
      {"only one", {.nkeys = 10, .fpr = 0.01, .nbytes = 100}},
      {"only one", {.nkeys = 10, .bits_per_key = 10, .nbits = 512}},
      {"only one", {.nkeys = 10, .fpr = 0.1, .bits_per_key = 5, .nbytes = 64, .nbits = 512}},
      {"k", {.nkeys = 10, .fpr = 0.01, .k = 65}},
      {"k", {.nkeys = 10, .fpr = 0.01, .k = UINT32_MAX}},
      {"flags", {.nkeys = 10, .fpr = 0.01, .flags = 0x80000000u}},
      {"flags", {.nkeys = 10, .fpr = 0.01, .flags = NAY_IS_READ_ONLY}},
      {"hash", {.nkeys = 10, .fpr = 0.01, .hash = (nay_hash_kind)64}},
      {"hash", {.nkeys = 10, .fpr = 0.01, .hash = (nay_hash_kind)3}},
      {"hash", {.nkeys = 10, .fpr = 0.01, .hash = (nay_hash_kind)-1}},
      {"fold", {.nkeys = 10, .fpr = 0.01, .fold = UINT64_MAX}},
  };
  const nay_family *family = *state;
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
    nay_params p = table[i].params;
    p.size = sizeof p;
    p.kind = family->kind;
    /* scalable starts at a size of its own and takes no other than fpr: another text comes first */
    bool other_text = family->kind == NAY_SCALABLE && p.fpr == 0;
    if (family->kind == NAY_SCALABLE && p.nkeys == 0 && p.fpr != 0) continue;
    assert_refused(p, other_text ? "" : table[i].names);
  }
}

/* What only bit arrays know: sizes, probes and folds that do not fit each other. */
static void bad_sizes_are_refused(void **state) {
  const nay_family *family = *state;
  if (family->kind != NAY_BLOOM && family->kind != NAY_BLOCKED) return;
  const refusal table[] = {
      {"fold", {.nkeys = 10, .nbits = 512 * 7, .fold = 5}},
      {"fold", {.nkeys = 10, .nbytes = 64, .fold = 1000000}},
      {"fold", {.nkeys = (uint64_t)1 << 55, .bits_per_key = 17, .fold = ((uint64_t)1 << 59) + 1}},
      {"fold", {.nkeys = (uint64_t)1 << 55, .fpr = 0.0003, .fold = ((uint64_t)1 << 59) + 1}},
  };
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
    nay_params p = table[i].params;
    p.size = sizeof p;
    p.kind = family->kind;
    assert_refused(p, table[i].names);
  }
  const nay_params low = {sizeof low, .kind = NAY_BLOOM, .nkeys = (uint64_t)1 << 56, .fpr = 1e-300};
  const nay_params none = {sizeof none, .kind = NAY_BLOOM, .nkeys = 1, .bits_per_key = 0.1};
  const nay_params uneven = {sizeof uneven, .kind = NAY_BLOCKED, .nkeys = 10, .nbits = 1000};
  const nay_params tiny = {sizeof tiny, .kind = NAY_BLOCKED, .nkeys = 10, .nbytes = 63};
  const nay_params rare = {sizeof rare, .kind = NAY_BLOCKED, .nkeys = 1000, .fpr = 1e-15};
  if (family->kind == NAY_BLOOM) {
    assert_refused(low, "fpr");
    assert_refused(none, "bits_per_key");
  }
  if (family->kind == NAY_BLOCKED) {
    assert_refused(uneven, "nbits");
    assert_refused(tiny, "nbytes");
    assert_refused(rare, "fpr");
  }
}

/* The edges of the ranges, just inside. */
static void good_params_are_taken(void **state) {
  const nay_family *family = *state;
  const nay_params table[] = {
      {sizeof(nay_params), .nkeys = 1, .fpr = 0.999},
      {sizeof(nay_params), .nkeys = 1, .fpr = 0.001},
      {sizeof(nay_params), .nkeys = 1000, .bits_per_key = 4096},
      {sizeof(nay_params), .nkeys = 1000, .bits_per_key = 1},
      {sizeof(nay_params), .nkeys = (uint64_t)1 << 50, .fpr = 0.01},
      {sizeof(nay_params), .nkeys = 1, .nbytes = 64},
      {sizeof(nay_params), .nkeys = 10, .nbytes = (uint64_t)1 << 57},
      {sizeof(nay_params), .nbits = 512},
      {sizeof(nay_params), .nkeys = 10, .nbits = (uint64_t)1 << 60},
      {sizeof(nay_params), .nkeys = 10, .fpr = 0.01, .k = 1},
      {sizeof(nay_params), .nkeys = 10, .nbits = 512, .k = 64},
      {sizeof(nay_params), .nkeys = 10, .fpr = 0.01, .flags = NAY_CONCURRENT | NAY_STORE_KEY},
      {sizeof(nay_params), .nkeys = 10, .fpr = 0.01, .fold = 1},
  };
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
    nay_params p = table[i];
    nay_plan plan = {.size = sizeof plan};
    nay_diag diag = {.what = "none"};
    p.kind = family->kind;
    if (nay_params_plan(&p, &diag, &plan) != NAY_OK) fail_msg("params %zu: %s", i, diag.what);
    assert_int_equal(plan.kind, family->kind);
    assert_true(plan.nbits > 0 && plan.nbytes * 8 >= plan.nbits && plan.k >= 1);
    assert_true(plan.nbytes_file > plan.nbytes && plan.nbytes_build >= plan.nbytes);
    assert_true(plan.fpr >= 0 && plan.fpr <= 1);
    if (p.fpr != 0) assert_true(plan.fpr <= p.fpr);
    if (p.nbytes != 0) assert_true(plan.nbytes <= p.nbytes);
    if (p.nbits != 0) assert_int_equal(plan.nbits, p.nbits);
    if (p.k != 0) assert_int_equal(plan.k, p.k);
  }
}

/* 128 PiB: a family plans them and finds no memory, or says that it has no use for so much. */
static void absurd_sizes_are_out_of_memory(void **state) {
  nay_params p = {sizeof p, .kind = ((const nay_family *)*state)->kind, .nkeys = 10};
  p.nbytes = (uint64_t)1 << 57;
  nay_filter *f = NULL;
  nay_plan plan = {.size = sizeof plan};
  nay_status expected = nay_params_plan(&p, NULL, &plan) == NAY_OK ? NAY_ENOMEM : NAY_EINVAL;
  nay_diag diag = {.offset = 1, .os_error = 1};
  assert_status(nay_filter_new(&p, NULL, &diag, &f), expected);
  assert_true(expected != NAY_ENOMEM || says(diag.what, "memory"));
  diag = (nay_diag){.offset = 1, .os_error = 1};
  assert_status(nay_filter_build(&p, NULL, 0, NULL, &diag, &f), expected);
  assert_true(expected != NAY_ENOMEM || says(diag.what, "memory"));
  assert_null(f);
}

/* Numbers of keys and bits that have nothing to do with each other are planned in no time. */
static void absurd_ratios_are_planned_quickly(void **state) {
  for (unsigned keys = 0; keys <= 56; keys += 7) {
    for (unsigned bits = 9; bits <= 60; bits += 3) {
      nay_params p = {sizeof p, .kind = ((const nay_family *)*state)->kind};
      p.nkeys = (uint64_t)1 << keys;
      p.nbits = (uint64_t)1 << bits;
      nay_plan plan = {.size = sizeof plan};
      assert_ok(nay_params_plan(&p, NULL, &plan));
      assert_true(plan.fpr >= 0 && plan.fpr <= 1 && plan.k >= 1 && plan.k <= 64);
      if (keys > bits + 4) assert_true(plan.fpr > 0.99);
      if (bits > keys + 10) assert_true(plan.fpr < 1e-6);
    }
  }
}

/* ---- calls that a family does not have ---- */

static void refuses_what_it_cannot(void **state) {
  const nay_family *family = *state;
  nay_filter *f = contract_filter(family, 100), *g = contract_filter(family, 100), *made = NULL;
  bytes before = bytes_of(f);
  uint8_t key[KEY_MAX];
  size_t len = RANDOM->make(1, key);
  uint64_t number = 77;
  bool is_new = true;
  nay_overlap overlap = {.size = sizeof overlap};
  if (!contract_can(family, NAY_CAN_ADD)) {
    nay_params p = contract_params(family, 100);
    nay_diag diag = {.offset = 1, .os_error = 1};
    assert_status(nay_filter_new(&p, NULL, &diag, &made), NAY_ENOTSUP);
    assert_true(says(diag.what, "kind"));
    assert_null(made);
    assert_status(nay_filter_add(f, key, len, &is_new), NAY_ENOTSUP);
    assert_status(nay_filter_add_hash(f, contract_hash(1), &is_new), NAY_ENOTSUP);
    assert_status(nay_filter_add_hash_many(f, &number, NULL, 1, NULL, NULL), NAY_ENOTSUP);
    assert_status(nay_filter_clear(f), NAY_ENOTSUP);
  }
  if (!contract_can(family, NAY_CAN_REMOVE)) {
    assert_status(nay_filter_remove(f, key, len), NAY_ENOTSUP);
    assert_status(nay_filter_remove_hash(f, contract_hash(1)), NAY_ENOTSUP);
  }
  if (!contract_can(family, NAY_CAN_COUNT)) {
    assert_status(nay_filter_count(f, key, len, &number), NAY_ENOTSUP);
    assert_status(nay__filter_count_hash(f, contract_hash(1), &number), NAY_ENOTSUP);
  }
  if (!contract_can(family, NAY_CAN_EXPIRE)) assert_status(nay_filter_advance(f, 1), NAY_ENOTSUP);
  if (!contract_can(family, NAY_CAN_MERGE)) {
    assert_status(nay_filter_merge(f, g, 1.0, NULL), NAY_ENOTSUP);
    assert_status(nay_filter_overlap(f, g, NULL, &overlap), NAY_ENOTSUP);
  }
  if (!contract_can(family, NAY_CAN_INTERSECT)) {
    assert_status(nay_filter_intersect(f, g, NULL), NAY_ENOTSUP);
  }
  if (!contract_can(family, NAY_CAN_FOLD)) {
    assert_status(nay_filter_fold(f, 2, NULL), NAY_ENOTSUP);
    assert_status(nay_filter_fold_factor(f, 0.1, &number), NAY_ENOTSUP);
  }
  assert_int_equal(number, 77);
  assert_true(is_new);
  assert_unchanged(f, &before);
  bytes_free(&before);
  nay_filter_free(f);
  nay_filter_free(g);
}

/* The verbs that family.h requires of every family; callers do not test them for NULL. */
static void required_verbs_are_there(void **state) {
  const nay_family *family = *state;
  bool adds = contract_can(family, NAY_CAN_ADD);
  const struct {
    const char *name;
    bool present;
  } required[] = {
      {"plan", family->plan != NULL},
      {"payload", family->payload != NULL},
      {"fpr", family->fpr != NULL},
      {"census", family->census != NULL},
      {"test", family->test != NULL},
      {"explain", family->explain != NULL},
      {"batch", family->batch != NULL},
      {"batch->test", family->batch != NULL && family->batch->test != NULL},
      {"add", !adds || family->add != NULL},
      {"to_params", !adds || family->to_params != NULL},
      {"batch->add", !adds || (family->batch != NULL && family->batch->add != NULL)},
  };
  for (size_t i = 0; i < sizeof required / sizeof *required; i++) {
    assert_string_equal(required[i].present ? "" : required[i].name, ""); /* shows the name */
  }
}

/* The traits say what the calls do. */
static void traits_tell_the_truth(void **state) {
  const nay_family *family = *state;
  nay_kind kind = NAY_AUTO;
  assert_int_equal(nay_kind_traits(family->kind), family->traits);
  assert_string_equal(nay_kind_name(family->kind), family->name);
  assert_ok(nay_kind_parse(family->name, &kind));
  assert_int_equal(kind, family->kind);
  nay_family_algebra none = {.merge = NULL},
                     verbs = family->algebra != NULL ? *family->algebra : none;
  assert_int_equal(contract_can(family, NAY_CAN_ADD), family->add != NULL);
  assert_true(contract_can(family, NAY_CAN_ADD) != (nay__family_solver(family) != NULL));
  assert_int_equal(contract_can(family, NAY_CAN_REMOVE), family->remove != NULL);
  assert_int_equal(contract_can(family, NAY_CAN_COUNT), family->count != NULL);
  assert_int_equal(contract_can(family, NAY_CAN_EXPIRE), family->advance != NULL);
  assert_int_equal(contract_can(family, NAY_CAN_MERGE), verbs.merge || verbs.join);
  assert_int_equal(contract_can(family, NAY_CAN_INTERSECT), verbs.intersect != NULL);
  assert_int_equal(contract_can(family, NAY_CAN_FOLD), verbs.fold || verbs.fold_and_seal);
}

/* ---- NULL and other nonsense, call by call ---- */

static void null_keys(nay_filter *f) {
  uint64_t n = 5, bitmap[2] = {0, 0};
  const void *keys[1] = {"k"};
  const size_t lens[1] = {1};
  const uint64_t lo[1] = {1};
  nay_hash hash = {1, 2};
  bool is_new = true;
  assert_status(nay_filter_add(NULL, "k", 1, &is_new), NAY_EINVAL);
  assert_status(nay_filter_add(f, NULL, 1, &is_new), NAY_EINVAL);
  assert_status(nay_filter_add_hash(NULL, hash, &is_new), NAY_EINVAL);
  assert_true(is_new);
  assert_true(nay_filter_may_contain(NULL, "k", 1));
  assert_true(nay_filter_may_contain(f, NULL, 1));
  assert_true(nay_filter_may_contain_hash(NULL, hash));
  assert_status(nay_filter_remove(NULL, "k", 1), NAY_EINVAL);
  assert_status(nay_filter_remove(f, NULL, 1), NAY_EINVAL);
  assert_status(nay_filter_remove_hash(NULL, hash), NAY_EINVAL);
  assert_status(nay_filter_count(NULL, "k", 1, &n), NAY_EINVAL);
  assert_status(nay_filter_count(f, NULL, 1, &n), NAY_EINVAL);
  assert_status(nay_filter_count(f, "k", 1, NULL), NAY_EINVAL);
  assert_status(nay__filter_count_hash(NULL, hash, &n), NAY_EINVAL);
  assert_status(nay__filter_count_hash(f, hash, NULL), NAY_EINVAL);
  assert_status(nay_filter_advance(NULL, 1), NAY_EINVAL);
  assert_status(filter_hash(NULL, "k", 1, &hash), NAY_EINVAL);
  assert_status(filter_hash(f, NULL, 1, &hash), NAY_EINVAL);
  assert_status(filter_hash(f, "k", 1, NULL), NAY_EINVAL);
  assert_true(hash.lo == 1 && hash.hi == 2 && n == 5);
  assert_false(filter_same_hash(NULL, f) || filter_same_hash(f, NULL));
  assert_status(nay_filter_add_many(NULL, keys, lens, 1, bitmap, NULL), NAY_EINVAL);
  assert_status(nay_filter_add_many(f, NULL, lens, 1, bitmap, NULL), NAY_EINVAL);
  assert_status(nay_filter_add_many(f, keys, NULL, 1, bitmap, NULL), NAY_EINVAL);
  assert_status(nay_filter_add_hash_many(NULL, lo, NULL, 1, bitmap, NULL), NAY_EINVAL);
  assert_status(nay_filter_add_hash_many(f, NULL, NULL, 1, bitmap, NULL), NAY_EINVAL);
  assert_int_equal(bitmap[0], 0);
  assert_status(nay_filter_may_contain_many(NULL, keys, lens, 1, bitmap), NAY_EINVAL);
  assert_int_equal(bitmap[0], 1); /* maybe: nothing is known */
  bitmap[0] = 0;
  assert_status(nay_filter_may_contain_many(f, NULL, lens, 65, bitmap), NAY_EINVAL);
  assert_true(bitmap[0] == UINT64_MAX && bitmap[1] == 1);
  assert_status(nay_filter_may_contain_many(f, keys, NULL, 1, bitmap), NAY_EINVAL);
  assert_status(nay_filter_may_contain_many(f, keys, lens, 1, NULL), NAY_EINVAL);
  assert_status(nay_filter_may_contain_hash_many(NULL, lo, NULL, 1, bitmap), NAY_EINVAL);
  assert_status(nay_filter_may_contain_hash_many(f, NULL, NULL, 1, bitmap), NAY_EINVAL);
  assert_status(nay_filter_may_contain_hash_many(f, lo, NULL, 1, NULL), NAY_EINVAL);
  assert_ok(nay_filter_may_contain_many(f, NULL, NULL, 0, NULL)); /* nothing asked */
  assert_ok(nay_filter_may_contain_hash_many(f, NULL, NULL, 0, NULL));
}

static void null_wholes(nay_filter *f) {
  const double rates[] = {0, -1, 1.5, (double)NAN, (double)INFINITY};
  nay_filter *out = f;
  nay_stats stats = {.size = sizeof stats};
  nay_overlap overlap = {.size = sizeof overlap};
  uint64_t factor = 9;
  size_t len = 9;
  uint8_t key[16] = {0};
  assert_status(nay_filter_copy(NULL, NULL, NULL, &out), NAY_EINVAL);
  assert_status(nay_filter_copy(f, NULL, NULL, NULL), NAY_EINVAL);
  assert_status(nay_filter_clear(NULL), NAY_EINVAL);
  assert_status(nay_filter_merge(NULL, f, 1.0, NULL), NAY_EINVAL);
  assert_status(nay_filter_merge(f, NULL, 1.0, NULL), NAY_EINVAL);
  assert_status(nay_filter_intersect(NULL, f, NULL), NAY_EINVAL);
  assert_status(nay_filter_intersect(f, NULL, NULL), NAY_EINVAL);
  assert_status(nay_filter_fold(NULL, 2, NULL), NAY_EINVAL);
  assert_status(nay_filter_fold_factor(NULL, 0.1, &factor), NAY_EINVAL);
  assert_status(nay_filter_fold_factor(f, 0.1, NULL), NAY_EINVAL);
  for (size_t i = 0; i < 5; i++) {
    if (contract_can(f->family, NAY_CAN_MERGE)) {
      assert_status(nay_filter_merge(f, f, rates[i], NULL), NAY_EINVAL);
    }
    assert_status(nay_filter_fold_factor(f, rates[i], &factor), NAY_EINVAL);
  }
  assert_int_equal(factor, 9);
  assert_status(nay_filter_stats(NULL, &stats), NAY_EINVAL);
  assert_status(nay_filter_stats(f, NULL), NAY_EINVAL);
  assert_status(nay_filter_overlap(NULL, f, NULL, &overlap), NAY_EINVAL);
  assert_status(nay_filter_overlap(f, NULL, NULL, &overlap), NAY_EINVAL);
  assert_status(nay_filter_overlap(f, f, NULL, NULL), NAY_EINVAL);
  assert_status(nay_filter_unlock(NULL, key), NAY_EINVAL);
  assert_status(nay_filter_unlock(f, NULL), NAY_EINVAL);
  assert_null(nay_filter_meta(NULL, &len));
  assert_int_equal(len, 0);
  assert_null(nay_filter_meta(f, NULL));
  assert_status(nay_filter_set_meta(NULL, "m", 1), NAY_EINVAL);
  assert_status(nay_filter_set_meta(f, NULL, 1), NAY_EINVAL);
  assert_status(nay_filter_health(NULL), NAY_EINVAL);
  assert_ptr_equal(out, f);
  nay_filter_free(NULL);
}

static nay_status null_sink(void *ctx, const void *p, size_t len) {
  (void)ctx, (void)p, (void)len;
  return NAY_OK;
}

static void null_bytes(nay_filter *f) {
  uint8_t buffer[64];
  size_t written = 9;
  nay_filter *out = f;
  nay_view view = {.size = sizeof view};
  nay_diag diag = {.what = NULL};
  assert_int_equal(nay_filter_encoded_size(NULL), 0);
  assert_status(nay_filter_encode(NULL, buffer, sizeof buffer, &written), NAY_EINVAL);
  assert_status(nay_filter_encode(f, NULL, 0, &written), NAY_EINVAL);
  assert_status(nay_filter_encode(f, buffer, sizeof buffer, NULL), NAY_EINVAL);
  assert_int_equal(written, 9);
  assert_status(nay_filter_encode_stream(NULL, null_sink, NULL), NAY_EINVAL);
  assert_status(nay_filter_encode_stream(f, NULL, NULL), NAY_EINVAL);
  assert_status(nay_filter_decode(NULL, 1, NULL, &diag, &out), NAY_EINVAL);
  assert_non_null(diag.what);
  assert_status(nay_filter_decode(buffer, 1, NULL, NULL, NULL), NAY_EINVAL);
  assert_status(nay_filter_decode(NULL, 0, NULL, NULL, &out), NAY_EFORMAT);
  assert_status(nay_filter_decode("#!/bin/sh\n", 10, NULL, NULL, &out), NAY_EFORMAT);
  assert_status(nay_filter_save(NULL, "x", NULL), NAY_EINVAL);
  assert_status(nay_filter_save(f, NULL, NULL), NAY_EINVAL);
  assert_status(nay_filter_open(NULL, NULL, NULL, &out), NAY_EINVAL);
  assert_status(nay_filter_open("x", NULL, NULL, NULL), NAY_EINVAL);
  assert_status(nay_filter_mmap(NULL, 0, NULL, NULL, &out), NAY_EINVAL);
  assert_status(nay_filter_mmap("x", 0, NULL, NULL, NULL), NAY_EINVAL);
  assert_status(nay_filter_mmap("x", 0x02, NULL, &diag, &out), NAY_EINVAL);
  assert_non_null(strstr(diag.what, "flag"));
  assert_status(nay_view_open(NULL, 1, NULL, NULL, &view), NAY_EINVAL);
  assert_status(nay_view_open(buffer, 1, NULL, NULL, NULL), NAY_EINVAL);
  assert_status(nay_view_open(NULL, 0, NULL, NULL, &view), NAY_EFORMAT);
  assert_true(nay_filter_may_contain(nay_view_filter(NULL), "k", 1));
  assert_ptr_equal(out, f);
}

static void null_makers(const nay_family *family) {
  nay_params p = contract_params(family, 10);
  nay_plan plan = {.size = sizeof plan};
  nay_diag diag = {.what = NULL};
  nay_filter *f = NULL;
  nay_builder *b = NULL;
  assert_status(nay_params_plan(NULL, &diag, &plan), NAY_EINVAL);
  assert_non_null(strstr(diag.what, "params"));
  assert_status(nay_params_plan(&p, &diag, NULL), NAY_EINVAL);
  assert_non_null(strstr(diag.what, "plan"));
  assert_status(nay_filter_new(NULL, NULL, NULL, &f), NAY_EINVAL);
  assert_status(nay_filter_new(&p, NULL, NULL, NULL), NAY_EINVAL);
  assert_status(nay_filter_build(NULL, NULL, 0, NULL, NULL, &f), NAY_EINVAL);
  assert_status(nay_filter_build(&p, NULL, 1, NULL, NULL, &f), NAY_EINVAL);
  assert_status(nay_filter_build(&p, NULL, 0, NULL, NULL, NULL), NAY_EINVAL);
  assert_status(nay_builder_new(NULL, NULL, NULL, &b), NAY_EINVAL);
  assert_status(nay_builder_new(&p, NULL, NULL, NULL), NAY_EINVAL);
  assert_status(nay_builder_add(NULL, "k", 1), NAY_EINVAL);
  assert_status(nay_builder_add_hash(NULL, contract_hash(1)), NAY_EINVAL);
  assert_int_equal(nay_builder_nkeys(NULL), 0);
  assert_status(nay_builder_finish(NULL, NULL, &f), NAY_EINVAL);
  assert_ok(nay_builder_new(&p, NULL, NULL, &b));
  assert_status(nay_builder_finish(b, NULL, NULL), NAY_EINVAL);
  nay_builder_free(b);
  nay_builder_free(NULL);
  assert_null(f);
}

static void nonsense_is_refused(void **state) {
  nay_filter *f = contract_filter(*state, 100);
  bytes before = bytes_of(f);
  null_keys(f);
  null_wholes(f);
  null_bytes(f);
  null_makers(*state);
  assert_unchanged(f, &before);
  bytes_free(&before);
  nay_filter_free(f);
}

static void unknown_kinds_are_refused(void **state) {
  (void)state;
  const int numbers[] = {30, 77, 255, 257, -1};
  for (size_t i = 0; i < 5; i++) {
    nay_params p = {sizeof p, .kind = (nay_kind)numbers[i], .nkeys = 10, .fpr = 0.01};
    assert_refused(p, "kind");
    assert_null(nay_kind_name(p.kind));
    assert_int_equal(nay_kind_traits(p.kind), 0);
  }
  nay_kind kind = NAY_BLOOM;
  const char *const names[] = {"", "Bloom", "bloom ", "blo", "nosuch"};
  for (size_t i = 0; i < 5; i++) assert_status(nay_kind_parse(names[i], &kind), NAY_EINVAL);
  assert_status(nay_kind_parse(NULL, &kind), NAY_EINVAL);
  assert_status(nay_kind_parse("bloom", NULL), NAY_EINVAL);
  assert_int_equal(kind, NAY_BLOOM);
  assert_ok(nay_kind_parse("auto", &kind));
  assert_int_equal(kind, NAY_AUTO);
  assert_string_equal(nay_kind_name(NAY_AUTO), "auto");
}

int main(void) {
  const contract_test tests[] = {
      CONTRACT(required_verbs_are_there, 0),
      CONTRACT(bad_params_are_refused, 0),
      CONTRACT(bad_sizes_are_refused, NAY_CAN_ADD | NAY_CAN_FOLD),
      CONTRACT_SETS(good_params_are_taken, NAY_CAN_FOLD),
      CONTRACT(absurd_sizes_are_out_of_memory, NAY_CAN_ADD),
      CONTRACT_SETS(absurd_ratios_are_planned_quickly, NAY_CAN_FOLD),
      CONTRACT(refuses_what_it_cannot, 0),
      CONTRACT(traits_tell_the_truth, 0),
      CONTRACT(nonsense_is_refused, 0),
      CONTRACT(unknown_kinds_are_refused, 0),
  };
  return contract_run_all(tests);
}
