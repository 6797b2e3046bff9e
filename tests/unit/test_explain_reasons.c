/*
 * test_explain_reasons.c - what an explanation says beyond its steps: why a filter answers without
 * reading anything, levels, counters, seeds; and what the call does with odd arguments.
 */
#include "base/bytes.h"
#include "filter.h"
#include "nay_format.h"
#include "nay_map.h"
#include "support/explained.h"
#include "support/hashes.h"
#include "support/keys.h"
#include "support/temp.h"
#include "support/test.h"

static explained e;

static nay_filter *build(const nay_params *p, uint64_t n) {
  nay_builder *b;
  nay_filter *f;
  assert_ok(nay_builder_new(p, NULL, NULL, &b));
  for (uint64_t i = 0; i < n; i++)
    assert_ok(nay_builder_add_hash(b, (nay_hash){nay_hash_mix(i), 0}));
  assert_ok(nay_builder_finish(b, NULL, &f));
  nay_builder_free(b);
  return f;
}

static nay_explanation explain_key(const nay_filter *f, const char *key) {
  nay_explanation why = {.size = sizeof why};
  assert_ok(nay_filter_explain(f, key, strlen(key), NULL, NULL, &why));
  assert_int_equal(why.maybe, nay_filter_may_contain(f, key, strlen(key)));
  return why;
}

static nay_explanation explain_number(const nay_filter *f, uint64_t i) {
  const char *wrong = explained_hash(f, (nay_hash){nay_hash_mix(i), 0}, NULL, &e);
  if (wrong != NULL) fail_msg("%s", wrong);
  return e.why;
}

static nay_kind kind_at(size_t i) {
  const nay_family *family = nay__family_at(i);
  return family != NULL ? family->kind : NAY_AUTO;
}

/* ---- without reading anything ---- */

static void a_locked_filter_says_so(void **state) {
  (void)state;
  nay_params p = {.size = sizeof p,
                  .kind = NAY_BLOCKED,
                  .nkeys = 10,
                  .fpr = 0.01,
                  .hash = NAY_HASH_SIPHASH,
                  .key = {7}};
  uint8_t file[4096];
  size_t len;
  nay_filter *f = build(&p, 0), *locked;
  assert_ok(nay_filter_encode(f, file, sizeof file, &len));
  assert_ok(nay_filter_decode(file, len, NULL, NULL, &locked));
  nay_explanation why = explain_key(locked, "foo");
  assert_true(why.maybe);
  assert_int_equal(why.reason, NAY_REASON_LOCKED);
  assert_int_equal(why.nsteps, 0);
  assert_int_equal(why.hash_kind, NAY_HASH_SIPHASH);
  assert_int_equal(why.seed, 0); /* the check value of the key is no seed */
  assert_ok(nay_filter_unlock(locked, p.key));
  assert_int_equal(explain_key(locked, "foo").reason, NAY_REASON_NO_MATCH);
  nay_filter_free(locked);
  nay_filter_free(f);
}

static void a_filter_of_hashes_says_so(void **state) {
  (void)state;
  nay_params p = {sizeof p, .kind = NAY_BLOOM, .nkeys = 10, .fpr = 0.01, .hash = NAY_HASH_CALLER};
  nay_filter *f = build(&p, 5);
  assert_int_equal(explain_key(f, "foo").reason, NAY_REASON_NO_HASH);
  assert_int_equal(explain_number(f, 3).reason, NAY_REASON_MATCH);
  nay_filter_free(f);
}

/* Writes a file with one byte of its body flipped. */
static void damage(const char *path, long from_the_end) {
  FILE *file = fopen(path, "r+b");
  assert_non_null(file);
  assert_int_equal(fseek(file, -from_the_end, SEEK_END), 0);
  int c = fgetc(file);
  assert_int_equal(fseek(file, -from_the_end, SEEK_END), 0);
  assert_int_equal(fputc(c ^ 0x40, file), c ^ 0x40);
  assert_int_equal(fclose(file), 0);
}

/* The chunk in the middle of the file is bad; keys of the others are explained as ever. */
static void damage_is_the_reason(void **state) {
  (void)state;
  char path[TEMP_MAX];
  unsigned kinds = 0;
  for (size_t i = 0; kind_at(i) != NAY_AUTO; i++) {
    if (nay__family_find(kind_at(i))->probe_addresses == NULL) continue; /* verified when mapped */
    nay_params p = {sizeof p, .kind = kind_at(i), .nkeys = 200000, .fpr = 0.001};
    nay_filter *f = build(&p, p.nkeys), *lazy;
    assert_ok(nay_filter_save(f, temp_path(path, "damaged"), NULL));
    damage(path, 150000);
    assert_ok(nay_filter_mmap(path, NAY_MMAP_LAZY, NULL, NULL, &lazy));
    remove(path);
    unsigned bad = 0;
    for (uint64_t n = 0; n < 1000; n++) {
      nay_explanation why = explain_number(lazy, n);
      bad += why.reason == NAY_REASON_DAMAGED;
      assert_true(why.maybe && (why.reason == NAY_REASON_MATCH) == (why.nsteps != 0));
      assert_true(why.reason == NAY_REASON_MATCH || why.reason == NAY_REASON_DAMAGED);
    }
    assert_in_range(bad, 100, 999);
    assert_status(nay_filter_health(lazy), NAY_ECORRUPT);
    nay_filter_free(lazy);
    nay_filter_free(f);
    kinds++;
  }
  assert_true(kinds >= 5);
}

/* ---- the same answer for every key ---- */

static void a_filter_of_no_keys_says_so(void **state) {
  (void)state;
  for (size_t i = 0; kind_at(i) != NAY_AUTO; i++) {
    nay_params p = {sizeof p, .kind = kind_at(i), .nkeys = 1, .fpr = 0.01};
    bool is_static = (nay_kind_traits(p.kind) & NAY_CAN_ADD) == 0;
    if (is_static) p.nkeys = 0;
    nay_filter *f = build(&p, 0);
    nay_explanation why = explain_number(f, 1);
    assert_false(why.maybe);
    if (!is_static) assert_int_equal(why.reason, NAY_REASON_NO_MATCH);
    nay_filter_free(f);
  }
  nay_view view = {.size = sizeof view};
  assert_ok(nay_format_view(nay_format_find("leveldb"), "", 0, 0, NULL, &view));
  assert_int_equal(explain_number(nay_view_filter(&view), 1).reason, NAY_REASON_NO_KEYS);
  assert_ok(nay_format_view(nay_format_find("rocksdb-ribbon"), "", 0, 0, NULL, &view));
  assert_int_equal(explain_number(nay_view_filter(&view), 1).reason, NAY_REASON_NO_KEYS);
  assert_ok(nay_format_view(nay_format_find("rocksdb-bloom"), "\0\0\0\0\0\0", 6, 0, NULL, &view));
  assert_int_equal(explain_number(nay_view_filter(&view), 1).reason, NAY_REASON_NO_ANSWER);
}

/* A fuse filter whose only shard has no factor. */
static void a_shard_may_have_no_answer(void **state) {
  (void)state;
  nay_params p = {sizeof p, .kind = NAY_FUSE, .nkeys = 100, .fpr = 0.01};
  nay_filter *f = build(&p, 100);
  assert_int_equal(explain_number(f, 1).shard_seed % 2, 1);
  static const nay_explain_reason reasons[] = {NAY_REASON_NO_KEYS, 0, NAY_REASON_NO_ANSWER};
  for (unsigned factor = 0; factor <= 2; factor += 2) {
    nay__store64le(f->bits.bytes + 24, factor);
    nay__filter_attach(f, f->bits.bytes, f->nbytes);
    nay_explanation why = explain_number(f, 1);
    assert_int_equal(why.reason, reasons[factor]);
    assert_int_equal(why.shard_seed, factor);
    assert_int_equal(e.steps[0].kind, NAY_STEP_CONSTANT);
  }
  nay_filter_free(f);
}

/* An exact list has an answer for each key, not one for all. */
static void a_list_says_what_it_says_of_the_key(void **state) {
  (void)state;
  nay_params p = {.size = sizeof p, .kind = NAY_LIST};
  nay_builder *b;
  nay_filter *f;
  assert_ok(nay_builder_new(&p, NULL, NULL, &b));
  assert_ok(nay_builder_add_value(b, "foo", 3, 1));
  assert_ok(nay_builder_add_value(b, "bar", 3, 0));
  assert_ok(nay_builder_finish(b, NULL, &f));
  for (unsigned listed = 0; listed < 2; listed++) {
    const char *wrong = explained_key(f, listed ? "foo" : "bar", 3, &e);
    if (wrong != NULL) fail_msg("%s", wrong);
    assert_true(e.why.maybe == listed && e.why.ngroups == 1 && e.n == 1);
    assert_int_equal(e.why.reason, listed ? NAY_REASON_MATCH : NAY_REASON_NO_MATCH);
    assert_int_equal(e.steps[0].kind, NAY_STEP_ANSWER);
    assert_string_equal(e.steps[0].name, "answer");
  }
  nay_filter_free(f);
  nay_builder_free(b);
}

/* ---- the hash, and what becomes of it ---- */

static void hash_and_seed_are_those_of_the_filter(void **state) {
  (void)state;
  nay_params p = {sizeof p, .kind = NAY_BLOCKED, .nkeys = 10, .fpr = 0.01, .seed = 99};
  nay_filter *f = build(&p, 5);
  nay_hash hash;
  assert_ok(filter_hash(f, "foo", 3, &hash));
  nay_explanation why = explain_key(f, "foo");
  assert_int_equal(why.hash.lo, hash.lo);
  assert_int_equal(why.word, hash.lo);
  assert_int_equal(why.seed, 99);
  assert_int_equal(why.hash_kind, NAY_HASH_XXH3);
  assert_int_equal(why.nshards, 1);
  assert_ptr_equal(why.payload, f->bits.bytes);
  assert_int_equal(why.payload_nbytes, f->nbytes);
  nay_filter_free(f);
}

/* Hashes that crowd one shard draw a premix; the word is what is left of the hash then. */
static void crowded_hashes_are_premixed(void **state) {
  (void)state;
  uint64_t *hashes = malloc(300000 * sizeof *hashes);
  assert_non_null(hashes);
  for (uint64_t i = 0; i < 300000; i++) hashes[i] = i;
  nay_params p = {sizeof p, .kind = NAY_RIBBON, .fpr = 0.01, .hash = NAY_HASH_CALLER};
  nay_filter *f;
  assert_ok(nay_filter_build(&p, hashes, 300000, NULL, NULL, &f));
  for (uint64_t i = 0; i < 350000; i += 50) {
    const char *wrong = explained_hash(f, (nay_hash){i, 0}, NULL, &e);
    if (wrong != NULL) fail_msg("%s", wrong);
    assert_true(e.why.premix != 0);
    assert_int_equal(e.why.word, nay_hash_mix(i ^ e.why.premix));
  }
  free(hashes);
  nay_filter_free(f);
}

/* ---- levels, generations, counters ---- */

static void levels_of_scalable(void **state) {
  (void)state;
  nay_params p = {sizeof p, .kind = NAY_SCALABLE, .nkeys = 100, .fpr = 0.01};
  nay_filter *f;
  assert_ok(nay_filter_new(&p, NULL, NULL, &f));
  for (uint64_t i = 0; i < 1000; i++)
    assert_ok(nay_filter_add_hash(f, (nay_hash){nay_hash_mix(i), 0}, NULL));
  nay_stats stats = {.size = sizeof stats};
  assert_ok(nay_filter_stats(f, &stats));
  assert_int_equal(stats.nlevels, 3); /* two halves for 100 keys, two for 300, one for 900 */
  nay_explanation first = explain_number(f, 0), last = explain_number(f, 999);
  assert_int_equal(first.ngroups, 5);
  assert_int_equal(first.level, 0); /* the oldest half comes last */
  assert_int_equal(first.group, 4);
  assert_int_equal(last.level, stats.nlevels - 1);
  assert_int_equal(last.group, 0);
  nay_filter_free(f);
}

static void generations_have_an_age(void **state) {
  (void)state;
  nay_params p = {.size = sizeof p,
                  .kind = NAY_WINDOW,
                  .nkeys = 1000,
                  .fpr = 1e-4,
                  .generations = 4,
                  .window = 40};
  nay_filter *f;
  assert_ok(nay_filter_new(&p, NULL, NULL, &f));
  for (uint64_t now = 0; now < 70; now += 10) { /* one key in each generation */
    assert_ok(nay_filter_advance(f, now));
    assert_ok(nay_filter_add_hash(f, (nay_hash){nay_hash_mix(now), 0}, NULL));
    for (uint64_t then = 0; then <= now; then += 10) {
      nay_explanation why = explain_number(f, then);
      uint64_t age = (now - then) / 10;
      assert_int_equal(why.maybe, age <= 4);
      assert_int_equal(why.ngroups, 5);
      if (why.maybe) assert_int_equal(why.level, age);
    }
  }
  nay_filter_free(f);
}

static void counters_of_counting(void **state) {
  (void)state;
  nay_params p = {sizeof p, .kind = NAY_COUNTING, .nkeys = 1000, .fpr = 0.01};
  nay_filter *f = build(&p, 1000);
  nay_hash hash = {nay_hash_mix(5), 0};
  for (unsigned copies = 1; copies < 40; copies++) { /* 15 sticks */
    uint64_t count, least = 15;
    assert_ok(nay__filter_count_hash(f, hash, &count));
    (void)explain_number(f, 5);
    for (size_t i = 0; i < e.n; i++) {
      assert_in_range(e.steps[i].counter, copies < 15 ? copies : 15, 15);
      if (e.steps[i].counter < least) least = e.steps[i].counter;
    }
    assert_int_equal(least, count);
    assert_ok(nay_filter_add_hash(f, hash, NULL));
  }
  for (uint64_t i = 2000; i < 2500; i++) { /* a clear bit counts nothing */
    (void)explain_number(f, i);
    for (size_t s = 0; s < e.n; s++) assert_true((e.steps[s].counter != 0) == e.steps[s].ok);
  }
  nay_filter_free(f);
}

/* ---- arguments ---- */

typedef struct stopping {
  uint64_t calls, at;
} stopping;

static nay_status stop_at(void *ctx, const nay_explain_step *step) {
  stopping *s = ctx;
  (void)step;
  return s->calls++ == s->at ? NAY_EIO : NAY_OK;
}

static void the_visitor_can_stop_it(void **state) {
  (void)state;
  for (size_t i = 0; kind_at(i) != NAY_AUTO; i++) {
    nay_params p = {sizeof p, .kind = kind_at(i), .nkeys = 500, .fpr = 0.01};
    nay_filter *f = build(&p, 500);
    uint64_t nsteps = explain_number(f, 1).nsteps;
    nay_explanation why = {.size = sizeof why, .nsteps = 77};
    for (uint64_t at = 0; at < nsteps; at++) {
      stopping s = {0, at};
      assert_status(nay__filter_explain_hash(f, (nay_hash){nay_hash_mix(1), 0}, stop_at, &s, &why),
                    NAY_EIO);
      assert_int_equal(s.calls, at + 1);
      assert_int_equal(why.nsteps, 77);
    }
    nay_filter_free(f);
  }
}

/* Blocks of exactly the size that is stated: nothing is written past it, what is ours is there. */
static void every_size_of_the_struct(void **state) {
  (void)state;
  nay_params p = {sizeof p, .kind = NAY_BLOCKED, .nkeys = 10, .fpr = 0.01};
  nay_filter *f = build(&p, 5);
  for (size_t size = 0; size <= sizeof(nay_explanation) + 64; size++) {
    size_t block = size < sizeof(size_t) ? sizeof(size_t) : size;
    uint8_t *bytes = malloc(block);
    assert_non_null(bytes);
    memset(bytes, 0xdd, block);
    nay_explanation *why = (nay_explanation *)(void *)bytes;
    why->size = size;
    nay_status status = nay_filter_explain(f, "foo", 3, NULL, NULL, why);
    assert_int_equal(why->size, size);
    if (size < sizeof *why) {
      assert_status(status, NAY_EINVAL);
      for (size_t i = sizeof(size_t); i < block; i++) assert_int_equal(bytes[i], 0xdd);
    } else {
      assert_ok(status);
      assert_int_equal(why->nsteps, f->shape.k);
      for (size_t i = sizeof *why; i < size; i++) assert_int_equal(bytes[i], 0);
    }
    free(bytes);
  }
  nay_explanation why = {.size = SIZE_MAX};
  assert_status(nay_filter_explain(f, "foo", 3, NULL, NULL, &why), NAY_EINVAL);
  nay_filter_free(f);
}

static void null_is_refused(void **state) {
  (void)state;
  nay_params p = {sizeof p, .kind = NAY_BLOCKED, .nkeys = 10, .fpr = 0.01};
  nay_filter *f = build(&p, 5);
  nay_explanation why = {.size = sizeof why, .nsteps = 77};
  assert_status(nay_filter_explain(NULL, "foo", 3, NULL, NULL, &why), NAY_EINVAL);
  assert_status(nay_filter_explain(f, NULL, 3, NULL, NULL, &why), NAY_EINVAL);
  assert_status(nay_filter_explain(f, "foo", 3, NULL, NULL, NULL), NAY_EINVAL);
  assert_status(nay__filter_explain_hash(NULL, (nay_hash){1, 2}, NULL, NULL, &why), NAY_EINVAL);
  assert_status(nay__filter_explain_hash(f, (nay_hash){1, 2}, NULL, NULL, NULL), NAY_EINVAL);
  assert_int_equal(why.nsteps, 77);
  assert_ok(nay_filter_explain(f, NULL, 0, NULL, NULL, &why)); /* the key of no bytes */
  nay_filter_free(f);
}

int main(void) {
  const test_case tests[] = {
      TEST(a_locked_filter_says_so),
      TEST(a_filter_of_hashes_says_so),
      TEST(damage_is_the_reason),
      TEST(a_filter_of_no_keys_says_so),
      TEST(a_shard_may_have_no_answer),
      TEST(a_list_says_what_it_says_of_the_key),
      TEST(hash_and_seed_are_those_of_the_filter),
      TEST(crowded_hashes_are_premixed),
      TEST(levels_of_scalable),
      TEST(generations_have_an_age),
      TEST(counters_of_counting),
      TEST(the_visitor_can_stop_it),
      TEST(every_size_of_the_struct),
      TEST(null_is_refused),
  };
  return run_all(tests);
}
