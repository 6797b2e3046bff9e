/*
 * test_sst_compact.c - many tables into one: the new table answers as the old ones did together,
 * for every reader that may still ask; and its filter is better than the union of theirs.
 */
#include "nay_sst_compact.h"
#include "nay_sst_lookup.h"
#include "support/flaky.h"
#include "support/sst_calls.h"
#include "support/sst_history.h"

#define N_TABLES 6u
typedef struct tables {
  char paths[N_TABLES][TEMP_MAX];
  nay_sst *at[N_TABLES]; /* newest first */
} tables;

static void tables_close(tables *t) {
  for (unsigned i = 0; i < N_TABLES; i++) {
    nay_sst_free(t->at[i]);
    unlink(t->paths[i]);
  }
}

static void tables_of_history(const history *h, const nay_sst_write_options *how, tables *t) {
  for (unsigned i = 0; i < N_TABLES; i++) {
    char name[32];
    unsigned age = N_TABLES - 1 - i, each = N_WRITES / N_TABLES;
    snprintf(name, sizeof name, "compact%u.ldb", i);
    history_write(h, age * each + 1, (age + 1) * each, temp_path(t->paths[i], name), how);
    t->at[i] = open_table(t->paths[i], &(nay_sst_read_options){.size = sizeof(nay_sst_read_options),
                                                               .keys = NAY_SST_KEYS_INTERNAL});
  }
}

static const nay_sst *const *const_tables(const tables *t) { return (const nay_sst *const *)t->at; }

/* What one table says of a user at a moment is what happened. */
static void assert_history(const nay_sst *t, const history *h, unsigned user, unsigned moment,
                           bool deletions_dropped) {
  char key[32], want[32];
  nay_sst_value v = {.size = sizeof v};
  unsigned s = history_at(h, user, moment);
  nay_status status = nay_sst_get(t, key, number_key(user, key), moment, NULL, &v);
  if (s == 0 || (h->deleted[s] && deletions_dropped)) {
    assert_status(status, NAY_ENOENT); /* or a deletion, kept for a snapshot that is above */
  } else {
    assert_status(status, h->deleted[s] ? NAY_ENOENT : NAY_OK);
    assert_int_equal(v.deleted, h->deleted[s]);
    if (!v.deleted) {
      assert_int_equal(v.len, sprintf(want, "write %u", s));
      assert_memory_equal(v.bytes, want, v.len);
    }
  }
  nay_sst_value_free(&v);
}

static uint64_t count_entries(const nay_sst *t) {
  nay_sst_iter *it;
  uint64_t n = 0;
  assert_ok(nay_sst_iter_new(t, NULL, &it));
  for (nay_status s = nay_sst_iter_first(it); s == NAY_OK; s = nay_sst_iter_next(it)) n++;
  nay_sst_iter_free(it);
  return n;
}

/* ---- internal keys ---- */

static void check_compaction(const history *h, const tables *t, bool bottom, unsigned snapshot) {
  char path[TEMP_MAX];
  nay_sst_write_options write = {sizeof write, .filter = NAY_SST_FULL_FILTER};
  uint64_t snapshots[] = {snapshot};
  nay_sst_compact_options how = {.size = sizeof how,
                                 .write = &write,
                                 .bottom = bottom,
                                 .snapshots = snapshots,
                                 .nsnapshots = snapshot != 0};
  nay_sst_compact_stats stats = {.size = sizeof stats};
  temp_path(path, "compacted.ldb");
  assert_ok(nay_sst_compact(const_tables(t), N_TABLES, path, &how, NULL, NULL, &stats));
  nay_sst *all = open_table(path, NULL);
  assert_int_equal(info_of(all).keys, NAY_SST_KEYS_INTERNAL);
  assert_int_equal(stats.read, N_WRITES);
  assert_int_equal(stats.written, count_entries(all));
  assert_int_equal(stats.read, stats.written + stats.superseded + stats.deletions);
  for (unsigned user = 0; user < N_USERS; user++) {
    if (snapshot != 0) assert_history(all, h, user, snapshot, bottom);
    assert_history(all, h, user, N_WRITES, bottom);
  }
  uint64_t live = 0, touched = 0;
  for (unsigned user = 0; user < N_USERS; user++) {
    unsigned s = history_at(h, user, N_WRITES);
    touched += s != 0;
    live += s != 0 && !h->deleted[s];
  }
  if (snapshot == 0) assert_int_equal(stats.written, bottom ? live : touched);
  nay_sst_free(all);
  unlink(path);
}

static void one_table_tells_the_same_history(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < TEST_SCALE(10) + 1; seed++) {
    history h;
    tables t;
    history_make(&h, seed);
    tables_of_history(
        &h, &(nay_sst_write_options){sizeof(nay_sst_write_options), .keys = NAY_SST_KEYS_INTERNAL},
        &t);
    for (unsigned bottom = 0; bottom < 2; bottom++) {
      check_compaction(&h, &t, bottom != 0, 0);
      check_compaction(&h, &t, bottom != 0, 1 + (unsigned)(nay_hash_mix(seed) % N_WRITES));
      check_compaction(&h, &t, bottom != 0, N_WRITES);
    }
    tables_close(&t);
  }
}

/* Only the newer half is compacted, not at the bottom: deletions still hide what lies below. */
static void deletions_above_older_tables_stay(void **state) {
  (void)state;
  char path[TEMP_MAX];
  history h;
  tables t;
  unsigned hidden = 0;
  history_make(&h, 42);
  tables_of_history(
      &h, &(nay_sst_write_options){sizeof(nay_sst_write_options), .keys = NAY_SST_KEYS_INTERNAL},
      &t);
  temp_path(path, "upper.ldb");
  assert_ok(nay_sst_compact(const_tables(&t), N_TABLES / 2, path, NULL, NULL, NULL, NULL));
  nay_sst *upper = open_table(
      path, &(nay_sst_read_options){sizeof(nay_sst_read_options), .keys = NAY_SST_KEYS_INTERNAL});
  const nay_sst *stack[1 + N_TABLES / 2] = {upper};
  for (unsigned i = 0; i < N_TABLES / 2; i++) stack[1 + i] = t.at[N_TABLES / 2 + i];
  nay_sst_lookup *lookup;
  assert_ok(nay_sst_lookup_new(
      &(nay_sst_lookup_level){sizeof(nay_sst_lookup_level), stack, 1 + N_TABLES / 2, false}, 1,
      NULL, NULL, NULL, &lookup));
  for (unsigned user = 0; user < N_USERS; user++) {
    char key[32];
    nay_sst_value v = {.size = sizeof v};
    unsigned s = history_at(&h, user, N_WRITES);
    nay_status status =
        nay_sst_lookup_get(lookup, key, number_key(user, key), NAY_SST_NEWEST, NULL, &v, NULL);
    assert_status(status, s == 0 || h.deleted[s] ? NAY_ENOENT : NAY_OK);
    hidden += s != 0 && h.deleted[s] && history_at(&h, user, N_WRITES / 2) != 0;
    nay_sst_value_free(&v);
  }
  assert_true(hidden > 10); /* there was something to hide */
  nay_sst_lookup_free(lookup);
  nay_sst_free(upper);
  unlink(path);
  tables_close(&t);
}

/* ---- plain keys ---- */

/* Table i has the numbers that are divisible by i + 2; its values say which table. */
static void plain_tables(tables *t, unsigned n, const nay_sst_write_options *how) {
  for (unsigned i = 0; i < N_TABLES; i++) {
    nay_sst_writer *w;
    char name[32], key[32], value[32];
    snprintf(name, sizeof name, "plain%u.ldb", i);
    assert_ok(nay_sst_writer_new(temp_path(t->paths[i], name), how, NULL, NULL, &w));
    for (unsigned number = 0; number < n; number += i + 2) {
      size_t len = number_key(number, key), value_len = (size_t)sprintf(value, "table %u", i);
      assert_ok(nay_sst_writer_add(w, key, len, value, value_len, NULL));
    }
    assert_ok(nay_sst_writer_finish(w, NULL));
    nay_sst_writer_free(w);
    t->at[i] = open_table(t->paths[i], NULL);
  }
}

static void the_newest_table_wins(void **state) {
  (void)state;
  enum { N = 5000 };
  char path[TEMP_MAX], key[32], want[32];
  tables t;
  nay_sst_compact_stats stats = {.size = sizeof stats};
  plain_tables(&t, N, NULL);
  temp_path(path, "plain.ldb");
  assert_ok(nay_sst_compact(const_tables(&t), N_TABLES, path, NULL, NULL, NULL, &stats));
  nay_sst *all = open_table(path, NULL);
  uint64_t present = 0;
  for (unsigned number = 0; number < N; number++) {
    nay_sst_value v = {.size = sizeof v};
    unsigned newest = 0;
    while (newest < N_TABLES && number % (newest + 2) != 0) newest++;
    nay_status status = nay_sst_get(all, key, number_key(number, key), NAY_SST_NEWEST, NULL, &v);
    assert_status(status, newest < N_TABLES ? NAY_OK : NAY_ENOENT);
    if (status == NAY_OK) {
      assert_int_equal(v.len, sprintf(want, "table %u", newest));
      assert_memory_equal(v.bytes, want, v.len);
      present++;
    }
    nay_sst_value_free(&v);
  }
  assert_int_equal(stats.written, present);
  assert_int_equal(stats.read, present + stats.superseded);
  assert_int_equal(stats.deletions, 0);
  nay_sst_free(all);
  unlink(path);
  tables_close(&t);
}

static void the_new_table_may_replace_an_input(void **state) {
  (void)state;
  tables t;
  plain_tables(&t, 1000, NULL);
  assert_ok(nay_sst_compact(const_tables(&t), N_TABLES, t.paths[0], NULL, NULL, NULL, NULL));
  assert_int_equal(count_entries(t.at[0]), 500); /* the old file, which is still open */
  nay_sst *all = open_table(t.paths[0], NULL);
  assert_true(count_entries(all) > 700);
  nay_sst_free(all);
  tables_close(&t);
}

/* ---- filters ---- */

/*
 * What one might do instead: or the filters of the inputs, which have the same size and hash. It
 * loses no key. But keys that were deleted are still maybes, each of them, and the bits of all that
 * was ever written raise the rate for everybody else.
 */
static void merging_filters_would_not_be_exact(void **state) {
  (void)state;
  char path[TEMP_MAX];
  history h;
  tables t;
  history_make(&h, 7);
  nay_sst_write_options write = {
      .size = sizeof write,
      .keys = NAY_SST_KEYS_INTERNAL,
      .filter = NAY_SST_FULL_FILTER,
      .params = &(nay_params){sizeof(nay_params), .kind = NAY_BLOOM, .nbits = 8 * N_USERS, .k = 5},
  };
  nay_sst_compact_options how = {sizeof how, .write = &write, .bottom = true};
  tables_of_history(&h, &write, &t);
  temp_path(path, "filters.ldb");
  assert_ok(nay_sst_compact(const_tables(&t), N_TABLES, path, &how, NULL, NULL, NULL));
  nay_sst *all = open_table(
      path, &(nay_sst_read_options){sizeof(nay_sst_read_options), .keys = NAY_SST_KEYS_INTERNAL});
  const nay_filter *rebuilt = table_filter(all);
  nay_filter *merged;
  assert_ok(nay_filter_copy(table_filter(t.at[0]), NULL, NULL, &merged));
  for (unsigned i = 1; i < N_TABLES; i++) {
    assert_ok(nay_filter_merge(merged, table_filter(t.at[i]), 1.0, NULL));
  }
  unsigned deleted = 0, rebuilt_maybe = 0;
  for (unsigned user = 0; user < N_USERS; user++) {
    char key[32];
    size_t len = number_key(user, key);
    unsigned s = history_at(&h, user, N_WRITES);
    if (s != 0 && !h.deleted[s]) assert_true(nay_filter_may_contain(rebuilt, key, len));
    if (s == 0 || !h.deleted[s]) continue;
    deleted++;
    assert_true(nay_filter_may_contain(merged, key, len));
    rebuilt_maybe += nay_filter_may_contain(rebuilt, key, len);
  }
  nay_stats old = {.size = sizeof old}, new = {.size = sizeof new};
  assert_ok(nay_filter_stats(merged, &old));
  assert_ok(nay_filter_stats(rebuilt, &new));
  assert_int_equal(old.nbits, new.nbits);
  assert_true(new.nbits_set < old.nbits_set &&new.fpr_now < old.fpr_now);
  assert_true(deleted >= 30 && rebuilt_maybe <= deleted / 5);
  print_message(
      "# %u deleted keys: merged filters say maybe to all, the rebuilt one to %u; rate of "
      "others %.4f, %.4f\n",
      deleted, rebuilt_maybe, old.fpr_now, new.fpr_now);
  nay_filter_free(merged);
  nay_sst_free(all);
  unlink(path);
  tables_close(&t);
}

/* ---- what can go wrong ---- */

static void plain_and_internal_do_not_mix(void **state) {
  (void)state;
  char path[TEMP_MAX];
  history h;
  tables plain, internal;
  nay_diag diag = {.what = NULL};
  history_make(&h, 1);
  plain_tables(&plain, 100, NULL);
  tables_of_history(
      &h, &(nay_sst_write_options){sizeof(nay_sst_write_options), .keys = NAY_SST_KEYS_INTERNAL},
      &internal);
  temp_path(path, "mixed.ldb");
  const nay_sst *mixed[] = {plain.at[0], internal.at[0]};
  assert_status(nay_sst_compact(mixed, 2, path, NULL, NULL, &diag, NULL), NAY_EMISMATCH);
  assert_non_null(diag.what);
  nay_sst_write_options write = {sizeof write, .keys = NAY_SST_KEYS_INTERNAL};
  nay_sst_compact_options how = {sizeof how, .write = &write, .bottom = true};
  assert_status(nay_sst_compact(mixed, 1, path, &how, NULL, NULL, NULL), NAY_EMISMATCH);
  assert_status(nay_sst_compact(mixed, 0, path, NULL, NULL, NULL, NULL), NAY_EINVAL);
  assert_status(nay_sst_compact(NULL, 1, path, NULL, NULL, NULL, NULL), NAY_EINVAL);
  assert_status(nay_sst_compact(mixed, 1, NULL, NULL, NULL, NULL, NULL), NAY_EINVAL);
  mixed[0] = NULL;
  assert_status(nay_sst_compact(mixed, 2, path, NULL, NULL, NULL, NULL), NAY_EINVAL);
  assert_int_equal(access(path, F_OK), -1);
  tables_close(&plain);
  tables_close(&internal);
}

/* A table of nothing but deletions becomes an empty one, which goes with tables of any kind. */
static void empty_tables_are_tables(void **state) {
  (void)state;
  char path[TEMP_MAX], other[TEMP_MAX];
  nay_sst_writer *w;
  nay_sst_write_options how = {sizeof how, .keys = NAY_SST_KEYS_INTERNAL};
  assert_ok(nay_sst_writer_new(temp_path(path, "gone.ldb"), &how, NULL, NULL, &w));
  assert_ok(nay_sst_writer_add_entry(w,
                                     &(nay_sst_entry){sizeof(nay_sst_entry), .key = "x", .len = 1,
                                                      .sequence = 9, .type = NAY_SST_DELETE},
                                     "", 0, NULL));
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  nay_sst *t = open_table(path, NULL);
  const nay_sst *one[] = {t};
  nay_sst_compact_stats stats = {.size = sizeof stats};
  temp_path(other, "empty.ldb");
  nay_sst_compact_options bottom = {sizeof bottom, .bottom = true};
  assert_ok(nay_sst_compact(one, 1, other, &bottom, NULL, NULL, &stats));
  assert_true(stats.written == 0 && stats.deletions == 1);
  nay_sst *empty = open_table(other, NULL);
  const nay_sst *both[] = {empty, t};
  assert_ok(nay_sst_compact(both, 2, path, NULL, NULL, NULL, &stats));
  assert_int_equal(stats.written, 1);
  nay_sst_free(empty);
  nay_sst_free(t);
  unlink(path);
  unlink(other);
}

static void a_damaged_input_leaves_no_output(void **state) {
  (void)state;
  char path[TEMP_MAX];
  tables t;
  nay_diag diag = {.what = NULL};
  plain_tables(&t, 20000, NULL);
  size_t len;
  uint8_t *bytes = sample_read(t.paths[2], &len);
  bytes[len / 2] ^= 1; /* in a data block */
  nay_sst *bad;
  assert_ok(nay_sst_view(bytes, len, NULL, NULL, NULL, &bad));
  const nay_sst *inputs[] = {t.at[0], bad, t.at[1]};
  temp_path(path, "damaged.ldb");
  assert_status(nay_sst_compact(inputs, 3, path, NULL, NULL, &diag, NULL), NAY_ECORRUPT);
  assert_true(diag.what != NULL && diag.offset > 0 && diag.offset < len);
  assert_int_equal(access(path, F_OK), -1);
  nay_sst_free(bad);
  free(bytes);
  tables_close(&t);
}

static void memory_may_run_out_at_each_call(void **state) {
  (void)state;
  char path[TEMP_MAX];
  tables t;
  plain_tables(&t, 2000, NULL);
  temp_path(path, "memory.ldb");
  nay_sst_write_options write = {sizeof write, .filter = NAY_SST_FULL_FILTER};
  nay_sst_compact_options how = {sizeof how, .write = &write, .bottom = true};
  nay_status status = NAY_ENOMEM;
  for (long at = 0; status == NAY_ENOMEM; at++) {
    flaky heap = {.fail_at = at};
    nay_allocator a = flaky_allocator(&heap);
    status = nay_sst_compact(const_tables(&t), N_TABLES, path, &how, &a, NULL, NULL);
    assert_true(flaky_is_clean(&heap));
    assert_int_equal(access(path, F_OK), status == NAY_OK ? 0 : -1);
  }
  assert_ok(status);
  unlink(path);
  tables_close(&t);
}

static nay_status count_calls(void *ctx, const nay_sst_compact_stats *so_far) {
  uint64_t *last = ctx;
  assert_true(so_far->read > *last && so_far->read >= so_far->written);
  *last = so_far->read;
  return NAY_OK;
}

static void progress_is_told(void **state) {
  (void)state;
  char path[TEMP_MAX];
  tables t;
  uint64_t last = 0;
  plain_tables(&t, 30000, NULL);
  nay_sst_compact_options how = {sizeof how, .progress = count_calls, .progress_ctx = &last};
  temp_path(path, "progress.ldb");
  assert_ok(nay_sst_compact(const_tables(&t), N_TABLES, path, &how, NULL, NULL, NULL));
  assert_true(last >= 30000);
  unlink(path);
  tables_close(&t);
}

int main(void) {
  const test_case tests[] = {
      TEST(one_table_tells_the_same_history),
      TEST(deletions_above_older_tables_stay),
      TEST(the_newest_table_wins),
      TEST(the_new_table_may_replace_an_input),
      TEST(merging_filters_would_not_be_exact),
      TEST(plain_and_internal_do_not_mix),
      TEST(empty_tables_are_tables),
      TEST(a_damaged_input_leaves_no_output),
      TEST(memory_may_run_out_at_each_call),
      TEST(progress_is_told),
  };
  return run_all(tests);
}
