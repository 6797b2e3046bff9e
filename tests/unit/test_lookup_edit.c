/*
 * test_lookup_edit.c - a lookup made from the one before it, against one made from all tables: the
 * same tables in the same order, the same answers, the same errors.
 */
#include "nay_sst_lookup.h"
#include "support/flaky.h"
#include "support/sst_numbers.h"

#define N_TABLES 60u
#define N_LEVELS 3u
#define N_STEPS 400u

/* Table i has the keys [10 i, 10 i + 9); those of level 0 overlap, as each is there as well. The
 * last four are empty. */
static const nay_sst *tables[N_TABLES];

static void write_table(unsigned i, bool properties) {
  char path[TEMP_MAX], name[32], key[32];
  nay_sst_write_options how = {sizeof how, .properties = properties};
  nay_sst_writer *w;
  snprintf(name, sizeof name, "edit%u.ldb", i);
  assert_ok(nay_sst_writer_new(temp_path(path, name), &how, NULL, NULL, &w));
  for (unsigned k = 0; k < 9 && i < N_TABLES - 4; k++) {
    assert_ok(nay_sst_writer_add(w, key, number_key(10 * i + k, key), name, strlen(name), NULL));
  }
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  tables[i] = open_table(path, NULL);
  unlink(path);
}

/* model: which tables a level has, in order. */
typedef struct model {
  const nay_sst *at[N_LEVELS][N_TABLES];
  size_t n[N_LEVELS];
} model;

static unsigned number_of(const nay_sst *t) {
  unsigned i = 0;
  while (tables[i] != t) i++;
  return i;
}

static nay_status make_all(const model *m, nay_diag *diag, nay_sst_lookup **l) {
  nay_sst_lookup_level levels[N_LEVELS];
  for (unsigned i = 0; i < N_LEVELS; i++) {
    levels[i] = (nay_sst_lookup_level){sizeof levels[i], m->at[i], m->n[i], i != 0};
  }
  return nay_sst_lookup_new(levels, N_LEVELS, NULL, NULL, diag, l);
}

static void assert_same(const nay_sst_lookup *l, const model *m) {
  nay_sst_lookup *all;
  size_t number = 0;
  assert_ok(make_all(m, NULL, &all));
  for (unsigned i = 0; i < N_LEVELS; i++) {
    for (size_t k = 0; k < m->n[i]; k++) {
      assert_ptr_equal(nay_sst_lookup_table(l, number++), m->at[i][k]);
    }
  }
  assert_null(nay_sst_lookup_table(l, number));
  for (unsigned k = 0; k < 10 * N_TABLES; k += 7) {
    char key[32];
    nay_sst_value a = {.size = sizeof a}, b = {.size = sizeof b};
    size_t len = number_key(k, key), at = 999, want = 999;
    assert_status(nay_sst_lookup_get(l, key, len, NAY_SST_NEWEST, NULL, &a, &at),
                  nay_sst_lookup_get(all, key, len, NAY_SST_NEWEST, NULL, &b, &want));
    assert_int_equal(at, want);
    assert_int_equal(a.len, b.len);
    if (a.len != 0) assert_memory_equal(a.bytes, b.bytes, a.len);
    nay_sst_value_free(&a);
    nay_sst_value_free(&b);
  }
  nay_sst_lookup_free(all);
}

/* A random edit of a level, and what it makes of the model. Returns whether it may fail. */
static bool draw_edit(uint64_t draw, unsigned level, model *m, nay_sst_lookup_edit *e,
                      const nay_sst **removed, const nay_sst **added) {
  model old = *m;
  bool bad = false, taken[N_TABLES] = {false};
  size_t nremoved = 0, nadded = 0, n = 0;
  m->n[level] = 0;
  for (size_t i = 0; i < old.n[level]; i++) {
    bool go = nay_hash_mix(draw + i) % 4 == 0;
    if (go) removed[nremoved++] = old.at[level][i];
    if (!go) taken[number_of(old.at[level][i])] = true;
    if (!go) m->at[level][m->n[level]++] = old.at[level][i];
  }
  for (unsigned i = 0; i < N_TABLES - 4; i++) {
    if (nay_hash_mix(draw + 1000 + i) % 12 != 0) continue;
    if (taken[i]) {
      if (draw % 11 != 0 || level == 0) continue;
      bad = true; /* it is there already */
    }
    added[nadded++] = tables[i];
  }
  if (draw % 13 == 0 && nadded > 1 && level != 0) { /* not in order */
    const nay_sst *t = added[0];
    added[0] = added[nadded - 1];
    added[nadded - 1] = t;
    bad = true;
  }
  if (draw % 17 == 0) {
    removed[nremoved++] = tables[N_TABLES - 1]; /* in no level */
    bad = true;
  }
  if (level == 0) { /* before those that stay */
    for (size_t i = m->n[0]; i-- > 0;) m->at[0][i + nadded] = m->at[0][i];
    memcpy(m->at[0], added, nadded * sizeof *added);
    m->n[0] += nadded;
  } else {
    const nay_sst *merged[2 * N_TABLES];
    for (size_t i = 0, k = 0; i < m->n[level] || k < nadded;) {
      bool stays =
          k == nadded || (i < m->n[level] && number_of(m->at[level][i]) < number_of(added[k]));
      merged[n++] = stays ? m->at[level][i++] : added[k++];
    }
    if (n > N_TABLES) n = N_TABLES;
    memcpy(m->at[level], merged, n * sizeof *merged);
    m->n[level] = n;
  }
  *e = (nay_sst_lookup_edit){sizeof *e, level, removed, nremoved, added, nadded};
  return bad;
}

static void many_edits(void **state) {
  (void)state;
  model m = {.n = {0}};
  nay_sst_lookup *l;
  unsigned failed = 0, empty = 0;
  assert_ok(make_all(&m, NULL, &l));
  for (unsigned step = 0; step < N_STEPS; step++) {
    model next = m;
    nay_sst_lookup_edit edits[N_LEVELS];
    const nay_sst *removed[N_LEVELS][2 * N_TABLES], *added[N_LEVELS][2 * N_TABLES];
    size_t n = 0;
    bool bad = false;
    for (unsigned level = 0; level < N_LEVELS; level++) {
      uint64_t draw = nay_hash_mix(step * 10 + level);
      if (draw % 3 == 0) continue;
      bad |= draw_edit(draw, level, &next, &edits[n], removed[n], added[n]);
      n++;
    }
    if (next.n[0] > N_TABLES / 2) continue;
    nay_diag diag = {.what = NULL};
    nay_sst_lookup *edited = NULL;
    nay_status status = nay_sst_lookup_new_edited(l, edits, n, NULL, &diag, &edited);
    assert_status(status, bad ? NAY_EINVAL : NAY_OK);
    assert_int_equal(diag.what != NULL, bad);
    failed += bad;
    empty += n == 0;
    if (bad) {
      assert_null(edited);
      assert_same(l, &m); /* as it was */
      continue;
    }
    assert_same(edited, &next);
    nay_sst_lookup_free(l);
    l = edited;
    m = next;
  }
  assert_true(failed > 20 && empty > 5 && m.n[1] > 5);
  nay_sst_lookup_free(l);
}

static void empty_tables(void **state) {
  (void)state;
  model m = {.n = {0}};
  nay_sst_lookup *l, *edited, *back;
  assert_ok(make_all(&m, NULL, &l));
  const nay_sst *some[] = {tables[N_TABLES - 1], tables[3], tables[N_TABLES - 2], tables[5],
                           tables[N_TABLES - 3]};
  nay_sst_lookup_edit e = {sizeof e, .level = 1, .added = some, .nadded = 5};
  assert_ok(nay_sst_lookup_new_edited(l, &e, 1, NULL, NULL, &edited));
  for (unsigned i = 0; i < 5; i++) assert_ptr_equal(nay_sst_lookup_table(edited, i), some[i]);
  const nay_sst *gone[] = {tables[N_TABLES - 2], tables[5]}, *between = tables[4];
  e = (nay_sst_lookup_edit){sizeof e, 1, gone, 2, &between, 1};
  assert_ok(nay_sst_lookup_new_edited(edited, &e, 1, NULL, NULL, &back));
  assert_ptr_equal(nay_sst_lookup_table(back, 1), tables[3]);
  assert_ptr_equal(nay_sst_lookup_table(back, 2), tables[4]);
  assert_null(nay_sst_lookup_table(back, 4));
  nay_sst_lookup_free(back);
  nay_sst_lookup_free(edited);
  nay_sst_lookup_free(l);
}

/* A level that overlaps may have a table several times: one name stands for all copies, and a
 * second name is an error, wherever it is. */
static void copies(void **state) {
  (void)state;
  const nay_sst *a = tables[1], *b = tables[2], *c = tables[3];
  const nay_sst *all[] = {a, b, a, c, a};
  nay_sst_lookup_level level = {sizeof level, all, 5, false};
  nay_sst_lookup *l, *edited = NULL;
  assert_ok(nay_sst_lookup_new(&level, 1, NULL, NULL, NULL, &l));
  const nay_sst *names[] = {b, a, c, a};
  nay_sst_lookup_edit e = {sizeof e, .removed = names + 1, .nremoved = 1};
  assert_ok(nay_sst_lookup_new_edited(l, &e, 1, NULL, NULL, &edited));
  assert_ptr_equal(nay_sst_lookup_table(edited, 0), b);
  assert_ptr_equal(nay_sst_lookup_table(edited, 1), c);
  assert_null(nay_sst_lookup_table(edited, 2));
  nay_sst_lookup_free(edited);
  edited = NULL;
  nay_diag diag = {.what = NULL};
  const struct { size_t from, n, offset; } twice[] = {{0, 4, 3}, {1, 3, 2}};
  for (unsigned i = 0; i < 2; i++) {
    e.removed = names + twice[i].from;
    e.nremoved = twice[i].n;
    assert_status(nay_sst_lookup_new_edited(l, &e, 1, NULL, &diag, &edited), NAY_EINVAL);
    assert_int_equal(diag.offset, twice[i].offset);
    assert_string_equal(diag.what, "a removed table is named twice");
  }
  names[3] = tables[4];
  e.removed = names;
  e.nremoved = 4;
  assert_status(nay_sst_lookup_new_edited(l, &e, 1, NULL, &diag, &edited), NAY_EINVAL);
  assert_int_equal(diag.offset, 3);
  assert_string_equal(diag.what, "a removed table is not in its level");
  assert_null(edited);
  nay_sst_lookup_free(l);
}

static void bad_arguments(void **state) {
  (void)state;
  model m = {.n = {0}};
  nay_sst_lookup *l, *edited = NULL;
  nay_diag diag = {.what = NULL};
  const nay_sst *none = NULL, *one = tables[1];
  assert_ok(make_all(&m, NULL, &l));
  const nay_sst_lookup_edit bad[][2] = {
      {{sizeof bad[0][0], .level = N_LEVELS}, {sizeof bad[0][0], .level = N_LEVELS + 1}},
      {{sizeof bad[0][0], .level = 1}, {sizeof bad[0][0], .level = 1}},
      {{sizeof bad[0][0], .level = 1}, {sizeof bad[0][0], .level = 0}},
      {{sizeof bad[0][0], .level = 1}, {8, .level = 2}},
      {{sizeof bad[0][0], .nadded = 1}, {sizeof bad[0][0], .level = 2}},
      {{sizeof bad[0][0], .nremoved = 1}, {sizeof bad[0][0], .level = 2}},
      {{sizeof bad[0][0], .added = &none, .nadded = 1}, {sizeof bad[0][0], .level = 2}},
      {{sizeof bad[0][0], .removed = &none, .nremoved = 1}, {sizeof bad[0][0], .level = 2}},
      {{sizeof bad[0][0], .removed = &one, .nremoved = 1}, {sizeof bad[0][0], .level = 2}},
  };
  for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_status(nay_sst_lookup_new_edited(l, bad[i], 2, NULL, &diag, &edited), NAY_EINVAL);
    assert_non_null(diag.what);
  }
  assert_status(nay_sst_lookup_new_edited(NULL, NULL, 0, NULL, NULL, &edited), NAY_EINVAL);
  assert_status(nay_sst_lookup_new_edited(l, NULL, 1, NULL, NULL, &edited), NAY_EINVAL);
  assert_status(nay_sst_lookup_new_edited(l, NULL, 0, NULL, NULL, NULL), NAY_EINVAL);
  assert_null(edited);
  assert_null(nay_sst_lookup_table(NULL, 0));
  bool done = false;
  for (long at = 0; !done; at++) {
    flaky heap = {.fail_at = at};
    nay_allocator a = flaky_allocator(&heap);
    nay_sst_lookup_edit e = {sizeof e, .level = 1, .added = &one, .nadded = 1};
    nay_status status = nay_sst_lookup_new_edited(l, &e, 1, &a, &diag, &edited);
    assert_status(status, heap.calls > at ? NAY_ENOMEM : NAY_OK);
    if (status == NAY_OK) nay_sst_lookup_free(edited);
    assert_true(flaky_is_clean(&heap));
    done = heap.calls <= at;
  }
  nay_sst_lookup_free(l);
}

/* A table in another order, beside or instead of the others. */
static void other_comparators(void **state) {
  (void)state;
  char path[TEMP_MAX];
  nay_sst_comparator reverse = {.size = sizeof reverse};
  assert_ok(nay_sst_comparator_find("rocksdb.ReverseBytewiseComparator", &reverse));
  nay_sst_write_options how = {sizeof how, .comparator = &reverse};
  nay_sst_read_options read = {sizeof read, .comparator = &reverse};
  nay_sst_writer *w;
  assert_ok(nay_sst_writer_new(temp_path(path, "other.ldb"), &how, NULL, NULL, &w));
  assert_ok(nay_sst_writer_add(w, "key", 3, "v", 1, NULL));
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  const nay_sst *other = open_table(path, &read), *first = tables[0];
  nay_sst_lookup_level level = {sizeof level, &first, 1, true};
  nay_sst_lookup *l, *edited;
  nay_diag diag = {.what = NULL};
  assert_ok(nay_sst_lookup_new(&level, 1, NULL, NULL, NULL, &l));
  nay_sst_lookup_edit e = {sizeof e, .added = &other, .nadded = 1};
  assert_status(nay_sst_lookup_new_edited(l, &e, 1, NULL, &diag, &edited), NAY_EMISMATCH);
  assert_true(diag.offset < 2 && diag.what != NULL);
  nay_sst_lookup_free(l);
  nay_sst_free((nay_sst *)(uintptr_t)other);
  unlink(path);
}

int main(void) {
  const test_case tests[] = {
      TEST(many_edits),    TEST(empty_tables),      TEST(copies),
      TEST(bad_arguments), TEST(other_comparators),
  };
  for (unsigned i = 0; i < N_TABLES; i++) write_table(i, i % 2 == 0);
  int failed = run_all(tests);
  for (unsigned i = 0; i < N_TABLES; i++) nay_sst_free((nay_sst *)(uintptr_t)tables[i]);
  return failed;
}
