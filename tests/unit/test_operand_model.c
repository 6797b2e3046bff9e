/*
 * test_operand_model.c - a small LSM tree with merge operands against a model, in random programs.
 *
 * The model is a list of writes: values "=s", deletions and operands "+s", s being the sequence
 * number. A reader sees the value below and all operands above it, oldest first: "=3+7+9". A
 * program writes, flushes the memtable to level 0, compacts level 0 into level 1 and that into
 * level 2, which is the bottom, and takes and releases snapshots, all at random moments. After
 * each change every reader (now, and one for each snapshot) must see the model, by every call that
 * reads: gets below the memtable, gets, batches, traces, and iterators in both directions.
 */
#include "support/operand_store.h"

/* ---- gets ---- */

static void assert_text(const nay_sst_value *v, const char *want) {
  if (v->len != strlen(want) || memcmp(v->bytes, want, v->len) != 0) {
    fail_msg("%.*s, not %s", (int)v->len, (const char *)v->bytes, want);
  }
}

/* As an engine does: the memtable first, then the tables. Where the memtable has operands, a scan
 * with the memtable as a source combines them with the tables: assert_entry checks those. */
static void check_below(const store *st, unsigned user, unsigned moment, nay_sst_value *v) {
  char want[TEXT], key[32];
  unsigned newest;
  bool there = value_at(st, user, moment, want, &newest);
  if (newest > st->flushed) return;
  size_t len = spell(st, user, newest, key);
  nay_status status = nay_sst_lookup_get(st->lookup, key, len, moment, NULL, v, NULL);
  assert_status(status, there ? NAY_OK : NAY_ENOENT);
  if (there) assert_text(v, want);
}

typedef struct steps {
  unsigned operands;
  nay_sst_lookup_what last;
} steps;

static nay_status follow(void *ctx, const nay_sst_lookup_step *step) {
  steps *s = ctx;
  s->operands += step->what == NAY_SST_LOOKUP_OPERAND;
  s->last = step->what;
  return NAY_OK;
}

static nay_sst_counters counts_of(const store *st) {
  nay_sst_counters c = {.size = sizeof c};
  assert_ok(nay_sst_lookup_stats(st->lookup, &c));
  return c;
}

/* Of its tables, not of the lookup. */
static uint64_t gets_of(const store *st) {
  uint64_t gets = 0;
  for (unsigned i = 0; i < LEVELS; i++) {
    for (size_t k = 0; k < st->levels[i].n; k++) gets += counters_of(st->levels[i].at[k]).gets;
  }
  return gets;
}

static uint64_t operands_of(const store *st) { return counts_of(st).operands; }

/* In the tables alone, any spelling; a trace tells every operand that is counted. */
static void check_get(const store *st, unsigned user, unsigned moment, nay_sst_value *v) {
  char want[TEXT], key[32];
  unsigned newest;
  steps seen = {.operands = 0};
  bool there = value_at(st, user, moment < st->flushed ? moment : st->flushed, want, &newest);
  size_t len = spell(st, user, moment, key);
  uint64_t before = operands_of(st);
  nay_status status =
      nay_sst_lookup_explain(st->lookup, key, len, moment, follow, &seen, NULL, v, NULL);
  assert_status(status, there ? NAY_OK : NAY_ENOENT);
  assert_int_equal(seen.operands, operands_of(st) - before);
  if (!there) return;
  assert_text(v, want);
  assert_true(v->sequence == newest && !v->deleted);
  if (seen.operands == 0) assert_int_equal(seen.last, NAY_SST_LOOKUP_FOUND);
}

/* Every user twice, in any order, and keys that are not there. */
static void check_many(store *st, unsigned moment) {
  enum { N = 2 * USERS + 6 };
  char keys[N][32];
  const void *at[N];
  size_t lens[N], tables[N], table;
  nay_status statuses[N];
  nay_sst_value values[N], one = {.size = sizeof one};
  for (unsigned i = 0; i < N; i++) {
    lens[i] = spell(st, pick(st, USERS + 3), i, keys[i]);
    at[i] = keys[i];
    tables[i] = 77;
    values[i] = (nay_sst_value){.size = sizeof values[i]};
  }
  uint64_t gets = gets_of(st);
  nay_sst_counters a = counts_of(st);
  assert_ok(
      nay_sst_lookup_get_many(st->lookup, at, lens, N, moment, NULL, values, statuses, tables));
  nay_sst_counters b = counts_of(st);
  uint64_t between = gets_of(st);
  for (unsigned i = 0; i < N; i++) {
    uint64_t before = operands_of(st);
    table = 77;
    assert_status(nay_sst_lookup_get(st->lookup, at[i], lens[i], moment, NULL, &one, &table),
                  statuses[i]);
    st->nmany += operands_of(st) != before;
    assert_int_equal(tables[i], table);
    if (statuses[i] != NAY_OK) continue;
    assert_true(values[i].len == one.len && values[i].sequence == one.sequence);
    assert_memory_equal(values[i].bytes, one.bytes, one.len);
  }
  nay_sst_counters c = counts_of(st);
  assert_true(c.gets - b.gets == b.gets - a.gets &&
              c.operands - b.operands == b.operands - a.operands);
  assert_int_equal(gets_of(st) - between, between - gets);
  assert_true(c.out_of_range - b.out_of_range == b.out_of_range - a.out_of_range);
  assert_true(c.filter_checks - b.filter_checks == b.filter_checks - a.filter_checks);
  assert_true(c.filter_useful - b.filter_useful == b.filter_useful - a.filter_useful);
  for (unsigned i = 0; i < N; i++) nay_sst_value_free(&values[i]);
  nay_sst_value_free(&one);
}

/* ---- iterators ---- */

/* The user at `user` or behind it that the reader sees; USERS, or -1, if there is none. */
static int shown(const store *st, int user, int step, unsigned moment) {
  char want[TEXT];
  unsigned newest;
  while (user >= 0 && user < (int)USERS && !value_at(st, (unsigned)user, moment, want, &newest)) {
    user += step;
  }
  return user;
}

static void assert_entry(const store *st, nay_sst_scan *m, nay_status status, int user,
                         unsigned moment, nay_sst_value *pin) {
  char want[TEXT], key[32];
  unsigned newest;
  size_t len;
  nay_sst_entry v = {.size = sizeof v};
  bool there = user >= 0 && user < (int)USERS;
  assert_status(status, there ? NAY_OK : NAY_EEND);
  if (!there) return;
  value_at(st, (unsigned)user, moment, want, &newest);
  nay_sst_entry written = version_of(st, newest, key);
  assert_ok(nay_sst_scan_entry(m, &v));
  assert_true(v.sequence == newest && v.type == NAY_SST_PUT && v.len == written.len);
  assert_memory_equal(v.key, key, v.len);
  nay_sst_value shows = {.bytes = nay_sst_scan_value(m, &len), .len = len};
  assert_text(&shows, want);
  assert_ok(nay_sst_scan_pin(m, pin));
  assert_true(pin->sequence == newest && !pin->deleted);
  assert_text(pin, want);
}

/* Both walks, then random movements. What was pinned on the way stays. */
static void check_iterator(store *st, unsigned moment, nay_sst_value *pins) {
  nay_sst_scan *m;
  uint64_t sequence = moment;
  nay_sst_source source = memtable_source(&st->mem, pick(st, 2) == 0);
  nay_sst_scan_options how = {sizeof how, .sources = &source, .nsources = 1, .sequence = &sequence};
  how.comparator = st->is->order;
  assert_ok(nay_sst_scan_new(st->lookup, &how, NULL, NULL, &m));
  int at = shown(st, 0, 1, moment);
  nay_status status = nay_sst_scan_first(m);
  for (; status == NAY_OK; at = shown(st, at + 1, 1, moment), status = nay_sst_scan_next(m)) {
    assert_true(at < (int)USERS);
    assert_entry(st, m, status, at, moment, &pins[at % 2 == 0 ? at : (int)USERS]);
  }
  assert_entry(st, m, status, at, moment, &pins[0]);
  at = shown(st, USERS - 1, -1, moment);
  status = nay_sst_scan_last(m);
  for (; status == NAY_OK; at = shown(st, at - 1, -1, moment), status = nay_sst_scan_prev(m)) {
    assert_true(at >= 0);
    assert_entry(st, m, status, at, moment, &pins[at % 2 != 0 ? at : (int)USERS]);
  }
  assert_entry(st, m, status, at, moment, &pins[USERS]);
  for (unsigned i = 0; i < 12; i++) {
    char key[32];
    unsigned what = pick(st, 4), user = pick(st, USERS);
    bool valid = (nay_sst_scan_key(m, &(size_t){0}) != NULL);
    size_t len = spell(st, user, i, key);
    if (what < 2 && !valid) what += 2;
    if (what == 0) at = shown(st, at + 1, 1, moment), status = nay_sst_scan_next(m);
    if (what == 1) at = shown(st, at - 1, -1, moment), status = nay_sst_scan_prev(m);
    if (what == 2) at = shown(st, (int)user, 1, moment), status = nay_sst_scan_seek(m, key, len);
    if (what == 3) {
      at = shown(st, (int)user, -1, moment);
      status = nay_sst_scan_seek_for_prev(m, key, len);
    }
    assert_entry(st, m, status, at, moment, &pins[USERS]);
  }
  nay_sst_scan_free(m);
  for (at = shown(st, 0, 1, moment); at < (int)USERS; at = shown(st, at + 1, 1, moment)) {
    char want[TEXT];
    unsigned newest;
    value_at(st, (unsigned)at, moment, want, &newest);
    assert_text(&pins[at], want);
  }
}

/* All versions: operands come as they are. */
static void check_versions(store *st) {
  nay_sst_scan *m;
  nay_sst_source source = memtable_source(&st->mem, true);
  nay_sst_scan_options how = {sizeof how, .sources = &source, .nsources = 1, .all_versions = true};
  how.comparator = st->is->order;
  assert_ok(nay_sst_scan_new(st->lookup, &how, NULL, NULL, &m));
  for (nay_status s = nay_sst_scan_first(m); s == NAY_OK; s = nay_sst_scan_next(m)) {
    nay_sst_entry v = {.size = sizeof v};
    size_t len;
    assert_ok(nay_sst_scan_entry(m, &v));
    const char *value = nay_sst_scan_value(m, &len);
    assert_true((v.type == NAY_SST_DELETE) == (st->writes[v.sequence].type == DELETION));
    if (v.type == NAY_SST_MERGE) assert_true(len > 1 && value[0] == '+');
    if (v.sequence > st->flushed) assert_true((v.type == NAY_SST_MERGE) == (value[0] == '+'));
  }
  nay_sst_scan_free(m);
}

/* ---- programs ---- */

static void check_readers(store *st) {
  nay_sst_value v = {.size = sizeof v}, pins[USERS + 1];
  for (unsigned i = 0; i <= USERS; i++) pins[i] = (nay_sst_value){.size = sizeof pins[i]};
  store_relook(st);
  store_fill(st);
  for (size_t i = 0; i <= st->nsnapshots; i++) {
    unsigned moment = i == st->nsnapshots ? st->now : (unsigned)st->snapshots[i];
    for (unsigned user = 0; user < USERS + 2; user++) {
      check_below(st, user, moment, &v);
      check_get(st, user, moment, &v);
    }
    check_many(st, moment);
    check_iterator(st, moment, pins);
  }
  check_versions(st);
  for (unsigned i = 0; i <= USERS; i++) nay_sst_value_free(&pins[i]);
  nay_sst_value_free(&v);
}

static void run_program(const shape *is, uint64_t seed) {
  static store st;
  st = (store){.is = is, .random = nay_hash_mix(seed)};
  if (is->cache_bytes != 0)
    assert_ok(nay_sst_cache_new(
        &(nay_sst_cache_options){sizeof(nay_sst_cache_options), is->cache_bytes, 4096, false}, NULL,
        NULL, &st.cache));
  while (st.now < MOST_WRITES) {
    unsigned n = 1 + pick(&st, 30), what = pick(&st, 8);
    for (; n > 0 && st.now < MOST_WRITES && st.now - st.flushed < MEMTABLE_MOST - 30; n--) {
      store_write(&st);
    }
    if (what < 2) store_snapshot(&st);
    if (what > 1) store_flush(&st);
    if (what == 5) store_compact(&st, 0);
    if (what == 6) store_compact(&st, 1);
    if (what == 7) {
      store_compact(&st, 0);
      store_compact(&st, 1);
    }
    if (st.now - st.flushed >= MEMTABLE_MOST - 30) store_flush(&st);
    check_readers(&st);
  }
  assert_true(st.noperands > 100 && st.nmany > 10);
  nay_sst_lookup_free(st.lookup);
  for (unsigned i = 0; i < LEVELS; i++) {
    for (size_t k = 0; k < st.levels[i].n; k++) nay_sst_free(st.levels[i].at[k]);
  }
  nay_sst_cache_free(st.cache);
}

static void programs(void **state) {
  for (uint64_t seed = 0; seed < TEST_SCALE(10) + 1; seed++) run_program(*state, seed);
}

/* A comparator that calls other bytes the same key and does not say so is refused, also where the
 * newest operand has the bytes that are looked up. */
static void equal_keys_that_may_not_differ(void **state) {
  nay_sst_comparator silent = fold;
  nay_sst_write_options write = {sizeof write, .keys = NAY_SST_KEYS_INTERNAL, .comparator = &fold};
  nay_sst_read_options read = {sizeof read, .keys = NAY_SST_KEYS_INTERNAL, .comparator = &silent};
  char path[TEMP_MAX];
  nay_sst_writer *w;
  nay_sst *t;
  nay_sst_lookup *l;
  nay_diag diag = {.what = NULL};
  nay_sst_value v = {.size = sizeof v};
  nay_sst_entry newer = {sizeof newer, "KEY", 3, 9, NAY_SST_MERGE, 0},
                older = {sizeof older, "key", 3, 7, NAY_SST_PUT, 0};
  (void)state;
  silent.equal_may_differ = false;
  assert_ok(nay_sst_writer_new(temp_path(path, "silent.ldb"), &write, NULL, NULL, &w));
  assert_ok(nay_sst_writer_add_entry(w, &newer, "+9", 2, NULL));
  assert_ok(nay_sst_writer_add_entry(w, &older, "=7", 2, NULL));
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  assert_ok(nay_sst_open(path, &read, NULL, NULL, &t));
  unlink(path);
  nay_sst_lookup_level one = {sizeof one, .tables = (const nay_sst *const[]){t}, .n = 1};
  nay_sst_lookup_options how = {sizeof how, .merge = append};
  assert_ok(nay_sst_lookup_new(&one, 1, &how, NULL, NULL, &l));
  assert_status(nay_sst_lookup_get(l, "KEY", 3, NAY_SST_NEWEST, &diag, &v, NULL), NAY_EINVAL);
  assert_non_null(strstr(diag.what, "comparator"));
  nay_sst_value_free(&v);
  nay_sst_lookup_free(l);
  nay_sst_free(t);
}

int main(void) {
  static const shape shapes[] = {
      {"mapped, full filters", NULL, NAY_SST_FULL_FILTER, 64, 0, 0},
      {"read, partitioned filters", NULL, NAY_SST_PARTITIONED_FILTER, 64, NAY_SST_PREAD, 0},
      {"cached, no filters", NULL, NAY_SST_NO_FILTER, 300, NAY_SST_PREAD, 2000},
      {"equal_may_differ", &fold, NAY_SST_NO_FILTER, 64, 0, 0},
      {"equal_may_differ, read", &fold, NAY_SST_NO_FILTER, 200, NAY_SST_PREAD, 0},
  };
  enum { N = sizeof shapes / sizeof *shapes };
  test_case tests[N + 1] = {[N] = TEST(equal_keys_that_may_not_differ)};
  for (size_t i = 0; i < N; i++) {
    tests[i] = (test_case)TEST_WITH(shapes[i].name, programs, &shapes[i]);
  }
  return run_list("test_operand_model.c", tests, N + 1);
}
