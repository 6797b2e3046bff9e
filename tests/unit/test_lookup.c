/*
 * test_lookup.c - one key in many tables: levels, snapshots and the trace of a get against a model.
 *
 * The model is a history of writes. Its newest part is in overlapping tables, its older parts in
 * disjoint levels, cut at random users; every user is looked up at many moments.
 */
#include "nay_sst_lookup.h"

#include "support/flaky.h"
#include "support/sst_calls.h"
#include "support/sst_history.h"
#include "support/sst_seal.h"

#define MOST 64u

typedef struct tree {
  history h;
  unsigned nlevels, ntables;
  unsigned ends[4]; /* tables up to each level */
  nay_sst_lookup_level levels[4];
  char paths[MOST][TEMP_MAX];
  const nay_sst *tables[MOST];
  nay_sst_lookup *lookup;
} tree;

static void tree_add(tree *t, unsigned a, unsigned b, unsigned first, unsigned end,
                     const nay_sst_write_options *write, const nay_sst_read_options *read) {
  char name[32];
  unsigned i = t->ntables++;
  snprintf(name, sizeof name, "lookup%u.ldb", i);
  history_write_users(&t->h, a, b, first, end, temp_path(t->paths[i], name), write);
  t->tables[i] = open_table(t->paths[i], read);
}

static void tree_end_level(tree *t, unsigned first, bool disjoint) {
  t->levels[t->nlevels] = (nay_sst_lookup_level){.size = sizeof t->levels[0],
                                                 .tables = t->tables + first,
                                                 .n = t->ntables - first,
                                                 .disjoint = disjoint};
  t->ends[t->nlevels++] = t->ntables;
}

/* Level 0: the newest third, in four overlapping tables. Levels 1 and 2: a third each, disjoint. */
static void tree_make(tree *t, uint64_t seed, const nay_sst_write_options *write,
                      const nay_sst_read_options *read) {
  const unsigned third = N_WRITES / 3;
  *t = (tree){.nlevels = 0};
  history_make(&t->h, seed);
  for (unsigned i = 0; i < 4; i++) {
    unsigned b = N_WRITES - i * (third / 4);
    tree_add(t, b - third / 4 + 1, b, 0, N_USERS, write, read);
  }
  tree_end_level(t, 0, false);
  for (unsigned level = 1; level < 3; level++) {
    unsigned begin = t->ntables, b = (3 - level) * third;
    for (unsigned user = 0, n; user < N_USERS; user += n) {
      n = 1 + (unsigned)(nay_hash_mix(seed + 77 * user + level) % 40);
      if (n > N_USERS - user) n = N_USERS - user;
      tree_add(t, b - third + 1, b, user, user + n, write, read);
    }
    tree_end_level(t, begin, true);
  }
  assert_ok(nay_sst_lookup_new(t->levels, t->nlevels, NULL, NULL, NULL, &t->lookup));
}

static void tree_free(tree *t) {
  nay_sst_lookup_free(t->lookup);
  for (unsigned i = 0; i < t->ntables; i++) {
    nay_sst_free((nay_sst *)(uintptr_t)t->tables[i]);
    unlink(t->paths[i]);
  }
}

static unsigned tree_level(const tree *t, size_t table) {
  unsigned level = 0;
  while (table >= t->ends[level]) level++;
  return level;
}

/* ---- the trace ---- */

typedef struct steps {
  const tree *t;
  unsigned n, blocks, nays, ranges;
  size_t table; /* of the last step */
  bool ended;   /* in that table */
  nay_sst_lookup_what last;
} steps;

/* The order of the steps is that of a get: what ends a table is followed by another table. */
static nay_status follow(void *ctx, const nay_sst_lookup_step *step) {
  steps *s = ctx;
  assert_int_equal(step->size, sizeof *step);
  if (s->n != 0 && step->table != s->table) assert_true(s->ended && step->table > s->table);
  if (s->n != 0 && step->table == s->table) assert_false(s->ended);
  assert_int_equal(step->level, tree_level(s->t, step->table));
  if (step->what == NAY_SST_LOOKUP_BLOCK) { /* a filter of blocks is probed after the index */
    assert_true(s->last == NAY_SST_LOOKUP_INDEX || s->last == NAY_SST_LOOKUP_FILTER_MAYBE);
  }
  if (step->what == NAY_SST_LOOKUP_BLOCK || step->what == NAY_SST_LOOKUP_INDEX) {
    assert_true(step->nbytes > 0);
  }
  if (step->what == NAY_SST_LOOKUP_FOUND || step->what == NAY_SST_LOOKUP_DELETED) {
    assert_int_equal(s->last, NAY_SST_LOOKUP_BLOCK);
  }
  s->n++;
  s->blocks += step->what == NAY_SST_LOOKUP_BLOCK;
  s->nays += step->what == NAY_SST_LOOKUP_FILTER_NAY;
  s->ranges += step->what == NAY_SST_LOOKUP_OUT_OF_RANGE;
  s->ended = step->what >= NAY_SST_LOOKUP_FOUND || step->what == NAY_SST_LOOKUP_FILTER_NAY ||
             step->what == NAY_SST_LOOKUP_OUT_OF_RANGE;
  s->last = step->what;
  s->table = step->table;
  assert_string_not_equal(step->text, "unknown step");
  return NAY_OK;
}

/* Ends the explanation at step *ctx. */
static nay_status stop_at(void *ctx, const nay_sst_lookup_step *step) {
  unsigned *left = ctx;
  assert_true(*left != 0); /* not called again after its failure */
  (void)step;
  return --*left == 0 ? NAY_ECANCELED : NAY_OK;
}

static void check_stops(const tree *t, const void *key, size_t len, unsigned moment,
                        unsigned nsteps) {
  for (unsigned n = 1; n <= nsteps; n++) {
    nay_sst_value v = {.size = sizeof v};
    unsigned left = n;
    nay_diag diag = {.what = NULL};
    assert_status(
        nay_sst_lookup_explain(t->lookup, key, len, moment, stop_at, &left, &diag, &v, NULL),
        NAY_ECANCELED);
    assert_int_equal(left, 0);
    assert_non_null(diag.what);
    nay_sst_value_free(&v);
  }
}

/* ---- against the model ---- */

static void assert_same(const nay_sst_value *a, const nay_sst_value *b) {
  assert_true(a->deleted == b->deleted && a->sequence == b->sequence && a->len == b->len);
  if (a->len != 0) assert_memory_equal(a->bytes, b->bytes, a->len);
}

static void check_get(const tree *t, unsigned user, unsigned moment) {
  char key[32], want[32];
  size_t len = number_key(user, key), table = 999, traced = 999;
  unsigned s = history_at(&t->h, user, moment);
  nay_sst_value v = {.size = sizeof v}, again = {.size = sizeof again};
  steps seen = {.t = t, .ended = true};
  nay_status status = nay_sst_lookup_get(t->lookup, key, len, moment, NULL, &v, &table);
  assert_status(status, s == 0 || t->h.deleted[s] ? NAY_ENOENT : NAY_OK);
  assert_int_equal(v.deleted, s != 0 && t->h.deleted[s]);
  if (status == NAY_OK) {
    assert_int_equal(v.sequence, s);
    assert_int_equal(v.len, history_value(s, want));
    assert_memory_equal(v.bytes, want, v.len);
  }
  assert_status(
      nay_sst_lookup_explain(t->lookup, key, len, moment, follow, &seen, NULL, &again, &traced),
      status);
  check_stops(t, key, len, moment, seen.n);
  assert_int_equal(traced, table);
  assert_true(seen.ended && (s == 0 || seen.table == table));
  if (status == NAY_OK) {
    assert_same(&v, &again);
    assert_int_equal(seen.last, NAY_SST_LOOKUP_FOUND);
  }
  if (v.deleted) assert_int_equal(seen.last, NAY_SST_LOOKUP_DELETED);
  nay_sst_value_free(&v);
  nay_sst_value_free(&again);
}

static void levels_tell_the_history(void **state) {
  (void)state;
  const nay_sst_filter_layout filters[] = {NAY_SST_NO_FILTER, NAY_SST_FULL_FILTER,
                                           NAY_SST_PARTITIONED_FILTER, NAY_SST_BLOCK_FILTER};
  nay_policy policy = {.size = sizeof policy};
  assert_ok(nay_policy_find(NAY_POLICY_LEVELDB, 10, &policy));
  const nay_policy *policies[] = {&policy};
  for (uint64_t seed = 0; seed < TEST_SCALE(8) + 4; seed++) {
    tree t;
    nay_sst_write_options write = {sizeof write, .keys = NAY_SST_KEYS_INTERNAL, .block_bytes = 256};
    nay_sst_read_options read = {
        .size = sizeof read, .keys = NAY_SST_KEYS_INTERNAL, .policies = policies, .npolicies = 1};
    write.filter = filters[seed % 4];
    if (write.filter == NAY_SST_BLOCK_FILTER) write.policy = &policy;
    tree_make(&t, seed, &write, &read);
    for (unsigned user = 0; user < N_USERS + 3; user++) {
      for (unsigned moment = 1; moment < N_WRITES; moment += 331) check_get(&t, user, moment);
      check_get(&t, user, N_WRITES);
    }
    nay_sst_counters c = {.size = sizeof c};
    assert_ok(nay_sst_lookup_stats(t.lookup, &c));
    assert_true(c.gets > N_USERS && (c.filter_checks != 0) == (seed % 4 != 0));
    tree_free(&t);
  }
}

/* A get in a disjoint level probes one table, however many there are. */
static void one_table_of_a_disjoint_level(void **state) {
  (void)state;
  tree t;
  nay_sst_write_options write = {sizeof write, .keys = NAY_SST_KEYS_INTERNAL};
  nay_sst_read_options read = {sizeof read, .keys = NAY_SST_KEYS_INTERNAL};
  tree_make(&t, 5, &write, &read);
  for (unsigned user = 0; user < N_USERS; user++) {
    char key[32];
    steps seen = {.t = &t, .ended = true};
    nay_sst_value v = {.size = sizeof v};
    size_t len = number_key(user, key);
    (void)nay_sst_lookup_explain(t.lookup, key, len, 0, follow, &seen, NULL, &v, NULL);
    assert_true(seen.blocks + seen.ranges <= 4 + 2);
    nay_sst_value_free(&v);
  }
  tree_free(&t);
}

/* ---- levels that are not ---- */

static nay_sst *table_of(const char *const *keys, size_t n, const char *name, char *path) {
  nay_sst_writer *w;
  assert_ok(nay_sst_writer_new(temp_path(path, name), NULL, NULL, NULL, &w));
  for (size_t i = 0; i < n; i++) {
    assert_ok(nay_sst_writer_add(w, keys[i], strlen(keys[i]), keys[i], strlen(keys[i]), NULL));
  }
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  return open_table(path, NULL);
}

static void a_level_must_be_disjoint(void **state) {
  (void)state;
  /* the index of `a` ends in the separator "b": above all keys of `b`, none of which is in `a` */
  const char *const a[] = {"aa", "apple"}, *const b[] = {"aq", "az"}, *const c[] = {"az", "c"},
                    *const d[] = {"d"};
  char paths[5][TEMP_MAX];
  const nay_sst *t[] = {table_of(a, 2, "a.ldb", paths[0]), table_of(b, 2, "b.ldb", paths[1]),
                        table_of(c, 2, "c.ldb", paths[2]), table_of(d, 1, "d.ldb", paths[3]),
                        table_of(d, 0, "e.ldb", paths[4])};
  struct {
    unsigned order[4];
    size_t n;
    int bad; /* -1: none */
  } cases[] = {
      {{0, 1, 3}, 3, -1}, {{0, 4, 1, 3}, 4, -1}, {{4, 0, 2, 4}, 4, -1}, {{4}, 1, -1},
      {{1, 0}, 2, 1},     {{0, 1, 2}, 3, 2},     {{0, 0}, 2, 1},        {{0, 4, 3, 1}, 4, 3},
      {{3, 4, 3}, 3, 2},  {{0}, 0, -1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const nay_sst *tables[4];
    nay_sst_lookup *l;
    nay_diag diag = {.what = NULL};
    for (size_t k = 0; k < cases[i].n; k++) tables[k] = t[cases[i].order[k]];
    nay_sst_lookup_level levels[] = {
        {.size = sizeof levels[0], .tables = &t[4], .n = 1},
        {.size = sizeof levels[0], .tables = tables, .n = cases[i].n, .disjoint = true}};
    nay_status status = nay_sst_lookup_new(levels, 2, NULL, NULL, &diag, &l);
    assert_status(status, cases[i].bad < 0 ? NAY_OK : NAY_EINVAL);
    if (status != NAY_OK) {
      assert_non_null(diag.what);
      assert_int_equal(diag.offset, 1 + (unsigned)cases[i].bad);
      continue;
    }
    for (size_t k = 0; k < cases[i].n; k++) {
      nay_sst_info info = info_of(tables[k]);
      nay_sst_value v = {.size = sizeof v};
      size_t table = 99;
      if (info.smallest == NULL) continue;
      assert_ok(nay_sst_lookup_get(l, info.smallest, info.smallest_len, NAY_SST_NEWEST, NULL, &v,
                                   &table));
      assert_int_equal(table, 1 + k);
      assert_status(nay_sst_lookup_get(l, "apples", 6, NAY_SST_NEWEST, NULL, &v, NULL), NAY_ENOENT);
      assert_status(nay_sst_lookup_get(l, "", 0, NAY_SST_NEWEST, NULL, &v, NULL), NAY_ENOENT);
      nay_sst_value_free(&v);
    }
    nay_sst_lookup_free(l);
  }
  for (unsigned i = 0; i < 5; i++) {
    nay_sst_free((nay_sst *)(uintptr_t)t[i]);
    unlink(paths[i]);
  }
}

/* The properties of a table state a last key that is below its own, and every checksum fits. Its
 * keys must not be denied, whether a reader asks this table or a lookup in a disjoint level. */
static void properties_that_lie(void **state) {
  (void)state;
  const char *const keys[] = {"0100", "0200", "0999"}, *const above[] = {"0500", "2"};
  char path[TEMP_MAX], other[TEMP_MAX];
  nay_sst_write_options how = {sizeof how, .properties = true};
  nay_sst_writer *w;
  nay_sst *t;
  nay_sst_lookup *l;
  size_t len, lies = 0;
  assert_ok(nay_sst_writer_new(temp_path(path, "lies.ldb"), &how, NULL, NULL, &w));
  for (unsigned i = 0; i < 3; i++) assert_ok(nay_sst_writer_add(w, keys[i], 4, "v", 1, NULL));
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  uint8_t *bytes = sample_read(path, &len);
  for (size_t at = 0; at + 19 < len; at++) {
    if (memcmp(bytes + at, "largest.key0999", 15) != 0) continue;
    memcpy(bytes + at + 11, "0200", 4);
    lies++;
  }
  assert_int_equal(lies, 1);
  seal_properties(bytes, len);
  assert_ok(nay_sst_view(bytes, len, NULL, NULL, NULL, &t));
  nay_sst_properties p = {.size = sizeof p};
  assert_true(table_states(t, &p));
  assert_memory_equal(p.largest, "0200", 4);
  nay_sst_value v = {.size = sizeof v};
  for (unsigned i = 0; i < 3; i++) assert_ok(nay_sst_get(t, keys[i], 4, NAY_SST_NEWEST, NULL, &v));
  const nay_sst *level[] = {t, table_of(above, 2, "above.ldb", other)};
  nay_sst_lookup_level both = {sizeof both, level, 2, true};
  assert_status(nay_sst_lookup_new(&both, 1, NULL, NULL, NULL, &l), NAY_EINVAL);
  both.n = 1;
  assert_ok(nay_sst_lookup_new(&both, 1, NULL, NULL, NULL, &l));
  for (unsigned i = 0; i < 3; i++)
    assert_ok(nay_sst_lookup_get(l, keys[i], 4, NAY_SST_NEWEST, NULL, &v, NULL));
  nay_sst_lookup *edited;
  nay_sst_lookup_edit e = {sizeof e, .added = &level[1], .nadded = 1};
  assert_status(nay_sst_lookup_new_edited(l, &e, 1, NULL, NULL, &edited), NAY_EINVAL);
  nay_sst_value_free(&v);
  nay_sst_lookup_free(l);
  nay_sst_free(t);
  nay_sst_free((nay_sst *)(uintptr_t)level[1]);
  unlink(path);
  unlink(other);
  free(bytes);
}

static void bad_arguments(void **state) {
  (void)state;
  nay_sst_lookup *l;
  nay_diag diag = {.what = NULL};
  const nay_sst *none[] = {NULL};
  nay_sst_lookup_level level = {.size = sizeof level, .tables = none, .n = 1};
  assert_status(nay_sst_lookup_new(&level, 1, NULL, NULL, &diag, &l), NAY_EINVAL);
  assert_non_null(diag.what);
  level = (nay_sst_lookup_level){.size = sizeof level, .n = 1};
  assert_status(nay_sst_lookup_new(&level, 1, NULL, NULL, NULL, &l), NAY_EINVAL);
  assert_status(nay_sst_lookup_new(NULL, 1, NULL, NULL, NULL, &l), NAY_EINVAL);
  assert_status(nay_sst_lookup_new(NULL, 0, NULL, NULL, NULL, NULL), NAY_EINVAL);
  assert_ok(nay_sst_lookup_new(NULL, 0, NULL, NULL, NULL, &l));
  nay_sst_value v = {.size = sizeof v};
  assert_status(nay_sst_lookup_get(l, "k", 1, NAY_SST_NEWEST, NULL, &v, NULL), NAY_ENOENT);
  assert_status(nay_sst_lookup_get(l, "k", 1, UINT64_MAX, NULL, &v, NULL), NAY_EINVAL);
  nay_sst_lookup_free(l);
  for (long at = 0; at < 2; at++) {
    flaky heap = {.fail_at = at};
    nay_allocator a = flaky_allocator(&heap);
    assert_status(
        nay_sst_lookup_new(&(nay_sst_lookup_level){sizeof(nay_sst_lookup_level), NULL, 0, false}, 1,
                           NULL, &a, NULL, &l),
        NAY_ENOMEM);
    assert_true(flaky_is_clean(&heap));
  }
}

int main(void) {
  const test_case tests[] = {
      TEST(levels_tell_the_history),
      TEST(one_table_of_a_disjoint_level),
      TEST(a_level_must_be_disjoint),
      TEST(properties_that_lie),
      TEST(bad_arguments),
  };
  return run_all(tests);
}
