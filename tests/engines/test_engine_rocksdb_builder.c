/*
 * test_engine_rocksdb_builder.c - plugins/rocksdb without a database: a builder that RocksDB uses
 * again for the next partition gives the bytes of a new one, whatever happened before, and a policy
 * that is named by a string is the one that was meant, or an error.
 */
#define _POSIX_C_SOURCE 200809L
#include "engine_rocksdb_builder.h"

#include <math.h>

#include "nay_format.h"
#include "support/directory.h"
#include "support/test.h"

/* ---- calls that fail: the linker sends the plug-in's calls here ---- */

typedef enum { FAIL_NONE, FAIL_MAKE, FAIL_ADD, FAIL_FINISH, FAIL_ENCODE, FAIL_KINDS } failure;
static struct {
  failure what;
  unsigned after; /* calls that succeed before; then one fails */
} planned;

static bool fails(failure what) {
  if (planned.what != what) return false;
  if (planned.after-- != 0) return false;
  planned.what = FAIL_NONE;
  return true;
}

nay_status __real_nay_format_builder_new(const nay_format *format, const nay_params *params,
                                         const nay_allocator *allocator, nay_diag *diag,
                                         nay_builder **builder);
nay_status __wrap_nay_format_builder_new(const nay_format *format, const nay_params *params,
                                         const nay_allocator *allocator, nay_diag *diag,
                                         nay_builder **builder) {
  if (fails(FAIL_MAKE)) return NAY_ENOMEM;
  return __real_nay_format_builder_new(format, params, allocator, diag, builder);
}

nay_status __real_nay_builder_add(nay_builder *builder, const void *key, size_t len);
nay_status __wrap_nay_builder_add(nay_builder *builder, const void *key, size_t len) {
  return fails(FAIL_ADD) ? NAY_ENOMEM : __real_nay_builder_add(builder, key, len);
}

nay_status __real_nay_builder_finish(nay_builder *builder, nay_diag *diag, nay_filter **filter);
nay_status __wrap_nay_builder_finish(nay_builder *builder, nay_diag *diag, nay_filter **filter) {
  return fails(FAIL_FINISH) ? NAY_ENOMEM : __real_nay_builder_finish(builder, diag, filter);
}

nay_status __real_nay_format_encode(const nay_format *format, const nay_filter *filter, void *dst,
                                    size_t cap, size_t *written);
nay_status __wrap_nay_format_encode(const nay_format *format, const nay_filter *filter, void *dst,
                                    size_t cap, size_t *written) {
  if (fails(FAIL_ENCODE)) return NAY_ENOMEM;
  return __real_nay_format_encode(format, filter, dst, cap, written);
}

/* ---- partitions as RocksDB makes them ---- */

/*
 * The keys of partitions, '|' between them; KEY/PREFIX is a call of AddKeyAndAlt. Every sequence
 * that RocksDB's two builders of filter blocks make at the border of two partitions, and some that
 * they do not.
 */
static const char *const sequences[] = {
    "a b c|d e f|g h i",            /* whole keys, one version each */
    "a b c|c d e|e f",              /* versions of a key on both sides */
    "c c c|c c c|c c",              /* nothing else for three partitions */
    "a1 a b1 b|b c1 c|c c2 d1 d",   /* keys and prefixes; a prefix on both sides */
    "a1 a a2 b|a b1 b b2 c|b c1 c", /* the next prefix before Finish, the last one after it */
    "a a a b|b b b c|b c c d",      /* prefixes alone: each key repeats its own */
    "ab ab ac|ac ac ad",            /* keys that are their own prefixes */
    "a||a|a||b a",                  /* partitions of no keys: all keys out of the domain */
    "|a a|",                        /* first and last */
    "<> a|<> a|a <>|<>",            /* the empty key: 7.8 adds it as the last prefix */
    "a b a b|b a b a|a",            /* not sorted: a reverse comparator, interleaved prefixes */
    "a1/a a2/a b/b|a b1/b c/c|b c", /* since 9.6: keys with their prefixes, both at the border */
    "a1/a|a1/a a2/a|a2/a b/b|b/b",  /* the prefix before is that of another partition */
    "a1/a b|a b1/b|<>/<> a/<>|<>",  /* keys out of the domain between them; empty prefixes */
};

static const char *const policies[] = {"nay:10:-1",
                                       "nay:10:2147483647",
                                       "nay-compatible:10:-1",
                                       "nay-compatible:10:2147483647",
                                       "ribbonfilter:10:-1",
                                       "bloomfilter:10"};

typedef struct part {
  uint8_t *block;
  size_t len, entries;
} part;

static const char *unless_empty(const char *key) { return strcmp(key, "<>") == 0 ? "" : key; }

/* False: this builder has no AddKeyAndAlt. */
static bool add_key(rocks_builder *b, char *key) {
  char *slash = strchr(key, '/');
  if (slash == NULL) {
    rocks_builder_add(b, unless_empty(key));
    return true;
  }
  *slash = '\0';
  return rocks_builder_add_alt(b, unless_empty(key), unless_empty(slash + 1));
}

/* Adds the keys up to '|' or the end; what remains behind it, or NULL. */
static const char *add_part(rocks_builder *b, const char *keys) {
  char key[16];
  while (*keys != '\0' && *keys != '|') {
    size_t len = strcspn(keys, " |");
    if (len != 0) {
      snprintf(key, sizeof key, "%.*s", (int)len, keys);
      assert_true(add_key(b, key));
    }
    keys += len + (keys[len] == ' ');
  }
  return *keys == '|' ? keys + 1 : NULL;
}

static bool has_sequence(const char *policy, const char *keys) {
  rocks_builder *b = rocks_builder_new(policy);
  bool has = strchr(keys, '/') == NULL || rocks_builder_add_alt(b, "key", "alt");
  rocks_builder_free(b);
  return has;
}

static part finish(rocks_builder *b) {
  part p;
  p.entries = rocks_builder_entries(b);
  p.block = rocks_builder_finish(b, &p.len);
  return p;
}

static part fresh(const char *policy, const char *keys) {
  rocks_builder *b = rocks_builder_new(policy);
  add_part(b, keys);
  part p = finish(b);
  rocks_builder_free(b);
  return p;
}

static void assert_same(part a, part b, const char *policy, const char *keys) {
  if (a.entries != b.entries || a.len != b.len || memcmp(a.block, b.block, a.len) != 0)
    fail_msg("%s: a used builder gives %zu entries, %zu bytes, a new one %zu, %zu; at \"%s\"",
             policy, a.entries, a.len, b.entries, b.len, keys);
}

static void a_used_builder_is_as_good_as_new(void **state) {
  (void)state;
  for (size_t p = 0; p < sizeof policies / sizeof *policies; p++) {
    for (size_t s = 0; s < sizeof sequences / sizeof *sequences; s++) {
      if (!has_sequence(policies[p], sequences[s])) continue;
      rocks_builder *b = rocks_builder_new(policies[p]);
      for (const char *keys = sequences[s], *next; keys != NULL; keys = next) {
        next = add_part(b, keys);
        part used = finish(b), made = fresh(policies[p], keys);
        assert_same(used, made, policies[p], keys);
        free(used.block);
        free(made.block);
      }
      rocks_builder_free(b);
    }
  }
}

/* A partition of no keys: a block of 0 bytes would be taken for the end of the partitions. */
static void no_block_is_empty(void **state) {
  (void)state;
  for (size_t p = 0; p < 4; p++) { /* nay's */
    part none = fresh(policies[p], "");
    assert_true(none.entries == 0 && none.len != 0);
    free(none.block);
  }
}

/* The number of entries that RocksDB's own builders report: num_filter_entries of a table. */
static void entries_are_those_of_rocksdb(void **state) {
  (void)state;
  for (size_t s = 0; s < sizeof sequences / sizeof *sequences; s++) {
    if (!has_sequence("bloomfilter:10", sequences[s])) continue;
    rocks_builder *builders[] = {rocks_builder_new("nay:10:0"),
                                 rocks_builder_new("nay-compatible:10:0"),
                                 rocks_builder_new("bloomfilter:10")};
    for (const char *keys = sequences[s], *next; keys != NULL; keys = next) {
      size_t entries[3];
      for (int i = 0; i < 3; i++) {
        next = add_part(builders[i], keys);
        part p = finish(builders[i]);
        entries[i] = p.entries;
        free(p.block);
      }
      assert_int_equal(entries[0], entries[2]);
      assert_int_equal(entries[1], entries[2]);
    }
    for (int i = 0; i < 3; i++) rocks_builder_free(builders[i]);
  }
}

/* What AddKeyAndAlt adds, in RocksDB's order: the comment at FilterBitsBuilder lists the repeats
 * that are left out, its builders add a prefix in front of its key. */
static const struct {
  const char *calls, *entries;
} with_alt[] = {
    {"b1/b", "b b1"},
    {"b1/b b2/b b3/b", "b b1 b2 b3"},     /* one prefix */
    {"b1/b b1/b b1/b", "b b1"},           /* versions of a key */
    {"b/b", "b"},                         /* a key is its own prefix */
    {"b/b b1/b b2/b", "b b1 b2"},         /* the first of its group, */
    {"b2/b b1/b b/b", "b b2 b1"},         /* or the last: a reverse comparator */
    {"a b1/b", "a b b1"},                 /* after AddKey */
    {"b b1/b", "b b1"},                   /* the prefix of the partition before */
    {"b1 b1/b", "b1 b"},                  /* a key that repeats, behind its prefix */
    {"b1/b b1", "b b1"},                  /* AddKey repeats the key, */
    {"b1/b b", "b b1 b"},                 /* and does not know the prefix */
    {"b1/b c1/c b2/b", "b b1 c c1 b b2"}, /* only the prefix before is known */
    {"b1/b b c1/c", "b b1 b c c1"},       /* the next prefix before Finish: by AddKey, */
    {"b1/b c/c c1/c", "b b1 c c1"},       /* and as its own prefix */
    {"b1/b c/b1 b/c", "b b1 c b"},        /* the prefix is the key before */
    {"<>/<> a/<> a1/a", "<> a a1"},       /* empty: a key, and a prefix */
    {"a/<> b/<>", "<> a b"},
};

static void alt_entries_are_those_of_rocksdb(void **state) {
  (void)state;
  for (size_t p = 0; p < sizeof policies / sizeof *policies; p++) {
    for (size_t i = 0; i < sizeof with_alt / sizeof *with_alt; i++) {
      if (!has_sequence(policies[p], with_alt[i].calls)) continue;
      part got = fresh(policies[p], with_alt[i].calls);
      part want = fresh(policies[p], with_alt[i].entries);
      size_t n = 1;
      for (const char *at = with_alt[i].entries; *at != '\0'; at++) n += *at == ' ';
      assert_int_equal(want.entries, n);
      assert_same(got, want, policies[p], with_alt[i].calls);
      free(got.block);
      free(want.block);
    }
  }
}

/* ---- sizes ---- */

static part of_keys(const char *policy, size_t n) {
  char key[32];
  rocks_builder *b = rocks_builder_new(policy);
  for (size_t i = 0; i < n; i++) {
    snprintf(key, sizeof key, "key %zu", i);
    rocks_builder_add(b, key);
  }
  part p = finish(b);
  rocks_builder_free(b);
  return p;
}

/* RocksDB is told nearly the size of the filter that it gets: a small block is rounded up. */
static void space_is_that_of_the_block(void **state) {
  (void)state;
  static const size_t sizes[] = {1, 2, 3, 10, 83, 100, 122, 500, 1000, 3000, 20000, 300000};
  for (size_t p = 0; p < sizeof policies / sizeof *policies; p++) {
    rocks_builder *b = rocks_builder_new(policies[p]);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      size_t space;
      if (!rocks_builder_space(b, sizes[i], &space)) continue;
      part made = of_keys(policies[p], sizes[i]);
      double off = (double)made.len - (double)space;
      if (off > 256 + 0.02 * (double)space || off < -64 - 0.02 * (double)space)
        fail_msg("%s: %zu keys have %zu bytes, not %zu", policies[p], sizes[i], made.len, space);
      free(made.block);
    }
    rocks_builder_free(b);
  }
}

/* Partitions are as large as they may be: a fiftieth more entries would exceed metadata_block_size.
 */
static void room_is_what_fits(void **state) {
  (void)state;
  static const size_t limits[] = {0, 1, 6, 64, 200, 256, 1000, 1024, 4096, 65536};
  for (size_t p = 0; p < 4; p++) { /* nay's */
    rocks_builder *b = rocks_builder_new(policies[p]);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
      size_t room = rocks_builder_room(b, limits[i]);
      part fits = of_keys(policies[p], room), more = of_keys(policies[p], room + 1 + room / 50);
      assert_true(fits.len <= limits[i] || room == 1);
      assert_true(more.len > limits[i]);
      free(fits.block);
      free(more.block);
    }
    assert_true(rocks_builder_room(b, SIZE_MAX) > (size_t)1 << 24);
    rocks_builder_free(b);
  }
}

static void rates_fall_with_the_size(void **state) {
  (void)state;
  for (size_t p = 0; p < 4; p++) { /* nay's */
    rocks_builder *b = rocks_builder_new(policies[p]);
    for (size_t n = 1; n < 1000000; n = n * 3 + 1) {
      size_t space;
      assert_true(rocks_builder_space(b, n, &space));
      double fpr = rocks_builder_fpr(b, n, space);
      assert_true(fpr > 0 && fpr < 1);
      assert_true(n < 1000 || (fpr > 0.006 && fpr < 0.013)); /* 10 bits per key: 0.95% */
      assert_true(rocks_builder_fpr(b, n, space / 2) > fpr);
      assert_true(rocks_builder_fpr(b, n, space * 2) < fpr);
      assert_true(rocks_builder_fpr(b, n, 0) == 1);
      assert_true(rocks_builder_fpr(b, 0, space) == 0);
    }
    rocks_builder_free(b);
  }
}

/* ---- no memory ---- */

static void assert_matches_all(const rocks_builder *b, part p) {
  char key[16];
  for (unsigned i = 0; i < 500; i++) {
    snprintf(key, sizeof key, "any %u", i);
    assert_true(rocks_builder_may_match(b, p.block, p.len, key));
  }
}

/* One call fails while the first partition is made: it matches all keys, the next is as ever. */
static void one_failure(const char *policy, failure what, unsigned after) {
  static const char first[] = "a b c d", second[] = "d e f";
  if (what == FAIL_MAKE) planned.what = what, planned.after = 0;
  rocks_builder *b = rocks_builder_new(policy);
  if (what != FAIL_MAKE) planned.what = what, planned.after = after;
  add_part(b, first);
  part p = finish(b);
  assert_int_equal(planned.what, FAIL_NONE);
  assert_int_equal(p.entries, 4); /* at 0 RocksDB would not write it, and probe another */
  assert_matches_all(b, p);
  free(p.block);
  add_part(b, second);
  part used = finish(b), made = fresh(policy, second);
  assert_same(used, made, policy, second);
  free(used.block);
  free(made.block);
  rocks_builder_free(b);
}

static void a_failure_is_forgotten(void **state) {
  (void)state;
  for (size_t p = 0; p < 4; p++) { /* nay's */
    for (failure what = FAIL_MAKE; what < FAIL_KINDS; what++) {
      for (unsigned after = 0; after < (what == FAIL_ADD ? 4 : 1); after++) {
        one_failure(policies[p], what, after);
      }
    }
  }
}

/* The builder for the next partition cannot be made: that one matches all, the third is as ever. */
static void a_failed_restart_is_forgotten(void **state) {
  (void)state;
  for (size_t p = 0; p < 4; p++) {
    rocks_builder *b = rocks_builder_new(policies[p]);
    add_part(b, "a b");
    planned.what = FAIL_MAKE, planned.after = 0;
    free(finish(b).block);
    add_part(b, "c d");
    part all = finish(b);
    assert_matches_all(b, all);
    free(all.block);
    add_part(b, "d e");
    part used = finish(b), made = fresh(policies[p], "d e");
    assert_same(used, made, policies[p], "d e");
    free(used.block);
    free(made.block);
    rocks_builder_free(b);
  }
}

/* Whichever key is lost, in the last partition too: RocksDB finds all. */
static void no_lost_key_is_denied(void **state) {
  (void)state;
  enum { N = 700 }; /* two to seven partitions */
  for (size_t p = 0; p < 4; p++) {
    for (unsigned after = 0; after < N; after += after < N - 53 ? 53 : 13) {
      planned.what = FAIL_ADD, planned.after = after;
      assert_int_equal(rocks_flush_partitions(policies[p], N), N);
      assert_int_equal(planned.what, FAIL_NONE);
    }
  }
}

/* ---- policies by name ---- */

#define TEN "9,9,9,9,9,9,9,9,9,9"
static const struct {
  const char *id, *same; /* what GetId says of it; NULL: refused */
} names[] = {
    {"nay:10", "nay:10:0"},
    {"nay:10:0", "nay:10:0"},
    {"nay:10:-1", "nay:10:-1"},
    {"nay:10:3", "nay:10:3"},
    {"nay:10:2147483647", "nay:10:2147483647"},
    {"nay:10:-2147483648", "nay:10:-2147483648"},
    {"nay:10.000000", "nay:10:0"},
    {"nay:9.9", "nay:9.9:0"},
    {"nay:6.666666666666667:1", "nay:6.666666666666667:1"},
    {"nay:0.5", "nay:0.5:0"},
    {"nay:100", "nay:100:0"},
    {"nay:1e1", "nay:10:0"},
    {"nay-compatible:10", "nay-compatible:10:0"},
    {"nay-compatible:10:-1", "nay-compatible:10:-1"},
    {"nay-compatible:12.25:2", "nay-compatible:12.25:2"},
    {"nay", NULL},
    {"nay:", NULL},
    {"nay::", NULL},
    {"nay::1", NULL},
    {"nay:ten", NULL},
    {"nay:10x", NULL},
    {"nay:10 ", "nay:10:0"}, /* RocksDB trims */
    {"nay:10,5", NULL},
    {"nay:+10", NULL},
    {"nay:-10", NULL},
    {"nay:0", NULL},
    {"nay:0.49", NULL},
    {"nay:100.1", NULL},
    {"nay:1e9", NULL},
    {"nay:1e999", NULL},
    {"nay:nan", NULL},
    {"nay:inf", NULL},
    {"nay:10:", NULL},
    {"nay:10:x", NULL},
    {"nay:10:1.5", NULL},
    {"nay:10:1x", NULL},
    {"nay:10:2147483648", NULL},
    {"nay:10:0:0", "nay:10:0:0"},
    {"nay:10:0:20,15.5,0,9", "nay:10:0:20,15.5,0,9"},
    {"nay:10:-1:6.666666666666667,0.5,100", "nay:10:-1:6.666666666666667,0.5,100"},
    {"nay-compatible:10:0:1e1,12", "nay-compatible:10:0:10,12"},
    {"nay:10:0:", NULL},
    {"nay:10:0:,", NULL},
    {"nay:10:0:9,", NULL},
    {"nay:10:0:9,,9", NULL},
    {"nay:10:0:9:9", NULL},
    {"nay:10:0:9,x", NULL},
    {"nay:10:0:-0", NULL},
    {"nay:10:0:-9", NULL},
    {"nay:10:0:0.4", NULL},
    {"nay:10:0:9,101", NULL},
    {"nay:10:0:nan", NULL},
    {"nay:10:0:9,inf", NULL},
    {"nay:0:0:9", NULL},
    {"nay:10::9", NULL},
    {"nay:10:9,9", NULL},
    {"nay-compatible:10:0:9,", NULL},
    {"nay:10:0:" TEN "," TEN "," TEN "," TEN "," TEN "," TEN ",9,9,9,9",
     "nay:10:0:" TEN "," TEN "," TEN "," TEN "," TEN "," TEN ",9,9,9,9"},
    {"nay:10:0:" TEN "," TEN "," TEN "," TEN "," TEN "," TEN ",9,9,9,9,9", NULL}, /* 65 levels */
    {"nay-compatible", NULL},
    {"nay-compatible:", NULL},
    {"nay-compatible:x", NULL},
    {"nay-compatible:10:x", NULL},
    {"nay-compatble:10", NULL},
    {"nay-", NULL},
};

static void a_name_is_a_policy_or_an_error(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    for (rocks_route route = 0; route < ROCKS_ROUTES; route++) {
      rocks_named made = rocks_policy_by(route, names[i].id);
      /* a trailing space goes through RocksDB's own parsers only */
      if (route == ROCKS_BY_POLICY && strchr(names[i].id, ' ') != NULL) continue;
      bool good = names[i].same != NULL;
      if (made.ok != good || (good && !made.exists))
        fail_msg("\"%s\" by route %d: %s, policy \"%s\"", names[i].id, (int)route, made.message,
                 made.id);
      if (good) assert_string_equal(made.id, names[i].same);
      if (!good) assert_non_null(strstr(made.message, "nvalid argument"));
    }
  }
}

static const double bits[] = {0.5, 1, 6.6666666666666667, 9.9, 10, 10.000000001, 99.99, 100};
static const int levels[] = {INT32_MIN, -1, 0, 1, 6, INT32_MAX};

/* Every option: GetId, made again from it, is the same policy. */
static void options_survive_their_id(void **state) {
  (void)state;
  for (size_t i = 0; i < 2 * sizeof bits / sizeof *bits; i++) {
    for (size_t l = 0; l < sizeof levels / sizeof *levels; l++) {
      rocks_named made = rocks_policy_new(i % 2 != 0, bits[i / 2], levels[l]);
      assert_true(made.ok && made.exists);
      for (rocks_route route = 0; route < ROCKS_ROUTES; route++) {
        rocks_named again = rocks_policy_by(route, made.id);
        assert_true(again.ok && again.exists);
        assert_string_equal(again.id, made.id);
      }
      const char *two = strchr(made.id, ':') + 1;
      char *end;
      assert_true(strtod(two, &end) == bits[i / 2]); /* to the last bit */
      assert_int_equal(strtol(end + 1, NULL, 10), levels[l]);
    }
  }
}

/* The OPTIONS file of a database: the loaded policy makes the same filters at every level. */
static void options_survive_the_options_file(void **state) {
  (void)state;
  static const char *const ids[] = {"nay:10:-1",
                                    "nay:10:0",
                                    "nay:10:2",
                                    "nay:7.5:2147483647",
                                    "nay-compatible:10:0",
                                    "nay-compatible:16:-1",
                                    "nay-compatible:10:1",
                                    "nay-compatible:6.667:2147483647",
                                    "nay:10:0:20,15.5,0,9",
                                    "nay:10:0:20,15.5,0,9.25",
                                    "nay-compatible:10:1:20,15.5,0,9.25"};
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
    directory at = directory_make();
    rocks_named loaded;
    assert_true(rocks_reload(directory_at(&at, "db"), ids[i], &loaded));
    assert_true(loaded.exists);
    assert_string_equal(loaded.id, ids[i]);
    assert_true(rocks_same_filters(ids[i], loaded.id));
    for (size_t j = 0; j < i; j++) assert_false(rocks_same_filters(ids[i], ids[j]));
    directory_remove(&at);
  }
}

static void nonsense_is_refused(void **state) {
  (void)state;
  const double wrong[] = {-1, 0, 0.49, 100.5, 1e300, (double)NAN, (double)INFINITY};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    rocks_named made = rocks_policy_new(i % 2 != 0, wrong[i], 0);
    if (made.ok || made.exists) fail_msg("%g is taken", wrong[i]);
  }
}

int main(void) {
  const test_case tests[] = {
      TEST(a_used_builder_is_as_good_as_new), TEST(no_block_is_empty),
      TEST(entries_are_those_of_rocksdb),     TEST(alt_entries_are_those_of_rocksdb),
      TEST(space_is_that_of_the_block),       TEST(room_is_what_fits),
      TEST(rates_fall_with_the_size),         TEST(a_failure_is_forgotten),
      TEST(a_failed_restart_is_forgotten),    TEST(no_lost_key_is_denied),
      TEST(a_name_is_a_policy_or_an_error),   TEST(options_survive_their_id),
      TEST(options_survive_the_options_file), TEST(nonsense_is_refused),
  };
  return run_all(tests);
}
