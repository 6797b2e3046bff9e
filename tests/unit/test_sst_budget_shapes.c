/*
 * test_sst_budget_shapes.c - tables whose index and filters are in a cache, of every shape:
 * whatever fits into the budget, from one byte to all of it, the answers are those of a table that
 * has everything in memory.
 */
#include "support/append_operator.h"
#include "support/sst_calls.h"
#include "support/sst_shapes.h"

/* Whether the index of this table lies in memory as it is used: it then is in no cache. */
static bool index_in_place(const subject *s, unsigned access) {
  return !s->shape.compressed && (access == MAPPED || access == VIEW);
}

static void budgets_change_nothing(subject *s, unsigned access) {
  static const struct {
    size_t budget, filters;
    uint32_t flags;
  } how[] = {{1, 0, NAY_SST_BUDGETED},
             {1, 1, NAY_SST_BUDGETED},
             {3000, 2500, NAY_SST_BUDGETED},
             {1u << 20, 1u << 19, NAY_SST_BUDGETED},
             {3000, 2500, NAY_SST_BUDGETED | NAY_SST_PINNED}};
  for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
    nay_sst_cache *cache;
    nay_sst *t;
    assert_ok(nay_sst_cache_new(&(nay_sst_cache_options){sizeof(nay_sst_cache_options),
                                                         how[i].budget, how[i].filters, true},
                                NULL, NULL, &cache));
    assert_ok(subject_open(s, access, cache, how[i].flags, NULL, &t));
    assert_same_info(t, s->want);
    assert_same_gets(t, s->want);
    nay_sst_counters c = counters_of(t);
    assert_int_equal(c.filter_faults, 0);
    bool read = (how[i].flags & NAY_SST_PINNED) == 0 && !index_in_place(s, access);
    if (how[i].budget == 1 && read) assert_true(c.index_loads >= N_KEYS);
    if (how[i].budget > 3000 || !read) assert_int_equal(c.index_loads, 0);
    assert_same_walks(t, s->want);
    assert_same_lookups(t);
    if (access == OWN) assert_same_compaction(t, s->want);
    nay_sst_cache_info now = stats_of(cache);
    uint64_t most = how[i].budget > now.filter.held ? how[i].budget : now.filter.held;
    assert_true(now.filter.bytes + now.data.bytes <= most);
    nay_sst_free(t);
    assert_int_equal(stats_of(cache).filter.held, 0);
    nay_sst_cache_free(cache);
  }
}

static void every_shape(void **state) {
  (void)state;
  static subject s;
  for (unsigned i = 0; i < 16 * N_FILTERS; i++) {
    subject_make(&s, i);
    for (unsigned access = 0; access < N_ACCESSES; access++) budgets_change_nothing(&s, access);
    subject_free(&s);
  }
}

/* ---- what is pinned ---- */

/* Two tables may be open, and the index of one of them be cached. */
static size_t budget_for_one_index(subject *s) {
  nay_sst_cache *cache;
  nay_sst *t;
  assert_ok(nay_sst_cache_new(
      &(nay_sst_cache_options){sizeof(nay_sst_cache_options), 1u << 20, 1u << 20, true}, NULL, NULL,
      &cache));
  assert_ok(subject_open(s, PREAD, cache, NAY_SST_BUDGETED, NULL, &t));
  nay_sst_cache_info now = stats_of(cache);
  nay_sst_free(t);
  nay_sst_cache_free(cache);
  return (size_t)(2 * now.filter.held + (now.filter.bytes - now.filter.held) * 3 / 2);
}

/* An iterator goes on while others evict its index and close their tables. */
static void an_iterator_keeps_its_index(void **state) {
  (void)state;
  static subject s;
  nay_sst_cache *cache;
  nay_sst *t, *other;
  nay_sst_iter *it;
  unsigned n = 0;
  subject_make(&s, 0);
  size_t budget = budget_for_one_index(&s);
  assert_ok(nay_sst_cache_new(
      &(nay_sst_cache_options){sizeof(nay_sst_cache_options), budget, budget, true}, NULL, NULL,
      &cache));
  assert_ok(subject_open(&s, PREAD, cache, NAY_SST_BUDGETED, NULL, &t));
  assert_ok(nay_sst_iter_new(t, NULL, &it));
  uint64_t evictions = stats_of(cache).filter.evictions;
  for (nay_status status = nay_sst_iter_first(it); status == NAY_OK; n++) {
    assert_ok(subject_open(&s, OWN, cache, NAY_SST_BUDGETED, NULL, &other));
    assert_same_gets(other, s.want);
    nay_sst_free(other);
    status = nay_sst_iter_next(it);
  }
  assert_int_equal(n, N_KEYS);
  assert_true(stats_of(cache).filter.evictions > evictions);
  nay_sst_iter_free(it);
  nay_sst_free(t);
  nay_sst_cache_free(cache);
  subject_free(&s);
}

/* ---- merge operands over many blocks ---- */

#define N_OPERANDS 60u

static void write_operands(const char *path) {
  nay_sst_write_options how = {
      .size = sizeof how, .keys = NAY_SST_KEYS_INTERNAL, .block_bytes = 100};
  nay_sst_writer *w;
  assert_ok(nay_sst_writer_new(path, &how, NULL, NULL, &w));
  for (unsigned i = N_OPERANDS; i > 0; i--) {
    char value = (char)('0' + i);
    nay_sst_entry v = {sizeof v, .key = "key", .len = 3, .sequence = i,
                       .type = i > 1 ? NAY_SST_MERGE : NAY_SST_PUT};
    assert_ok(nay_sst_writer_add_entry(w, &v, &value, 1, NULL));
  }
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
}

/* A get that meets operands goes on through the blocks behind the first, by the index it pinned. */
static void operands_keep_the_index(void **state) {
  (void)state;
  char path[TEMP_MAX];
  nay_sst_cache *cache;
  nay_sst_lookup *l;
  nay_sst_value v = {.size = sizeof v};
  nay_sst_lookup_options merge = {sizeof merge, .merge = append_operator};
  write_operands(temp_path(path, "operands.ldb"));
  assert_ok(nay_sst_cache_new(&(nay_sst_cache_options){sizeof(nay_sst_cache_options), 1, 0, true},
                              NULL, NULL, &cache));
  nay_sst_read_options how = {sizeof how, .keys = NAY_SST_KEYS_INTERNAL, .cache = cache};
  how.flags = NAY_SST_PREAD | NAY_SST_BUDGETED;
  const nay_sst *t = open_table(path, &how);
  assert_true(info_of(t).nblocks > 5);
  nay_sst_lookup_level level = {sizeof level, .tables = &t, .n = 1};
  assert_ok(nay_sst_lookup_new(&level, 1, &merge, NULL, NULL, &l));
  for (unsigned i = 1; i <= N_OPERANDS; i++) {
    assert_ok(nay_sst_lookup_get(l, "key", 3, i, NULL, &v, NULL));
    assert_int_equal(v.len, i);
    for (unsigned k = 0; k < i; k++) assert_int_equal(((const char *)v.bytes)[k], '1' + (int)k);
  }
  assert_true(counters_of(t).index_loads == N_OPERANDS);
  nay_sst_value_free(&v);
  nay_sst_lookup_free(l);
  nay_sst_free((nay_sst *)(uintptr_t)t);
  nay_sst_cache_free(cache);
  unlink(path);
}

/* NAY_SST_PINNED: what stays is held, and a budget for nothing else does not evict it. */
static void pinned_tables_hold(void **state) {
  (void)state;
  static subject s;
  for (unsigned filter = 0; filter < N_FILTERS; filter++) {
    nay_sst_cache *cache;
    nay_sst *pinned, *other;
    subject_make(&s, filter << 4 | 8);
    assert_ok(nay_sst_cache_new(
        &(nay_sst_cache_options){sizeof(nay_sst_cache_options), 1u << 20, 1u << 19, true}, NULL,
        NULL, &cache));
    assert_ok(subject_open(&s, PREAD, cache, NAY_SST_BUDGETED, NULL, &other));
    uint64_t least = stats_of(cache).filter.held;
    assert_true(stats_of(cache).filter.entries >= 2); /* its index, its prefix filter */
    assert_ok(subject_open(&s, PREAD, cache, NAY_SST_BUDGETED | NAY_SST_PINNED, NULL, &pinned));
    uint64_t held = stats_of(cache).filter.held - least;
    assert_true(held >= least + footer_of(&s).index.size + info_of(pinned).prefix_bytes);
    assert_true((table_filter(pinned) != NULL) == (filter == FULL));
    assert_null(table_filter(other));
    nay_sst_free(other);
    assert_same_gets(pinned, s.want);
    assert_int_equal(stats_of(cache).filter.held, held);
    nay_sst_free(pinned);
    nay_sst_cache_free(cache);
    subject_free(&s);
  }
}

static void pinned_without_budget_is_refused(void **state) {
  (void)state;
  nay_sst *t = NULL;
  nay_diag diag = {.what = NULL};
  nay_sst_read_options how = {.size = sizeof how, .flags = NAY_SST_PINNED};
  assert_status(nay_sst_view("", 0, &how, NULL, &diag, &t), NAY_EINVAL);
  assert_non_null(diag.what);
}

int main(void) {
  const test_case tests[] = {
      TEST(every_shape),
      TEST(an_iterator_keeps_its_index),
      TEST(operands_keep_the_index),
      TEST(pinned_tables_hold),
      TEST(pinned_without_budget_is_refused),
  };
  return shapes_init() ? run_all(tests) : 1;
}
