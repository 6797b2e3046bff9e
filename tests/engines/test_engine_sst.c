/*
 * test_engine_sst.c - tables against the real LevelDB: the same bytes from the same entries, and
 * each reads what the other wrote, plain tables and those of a database.
 */
#include <dirent.h>

#include "check_theirs.h"
#include "nay_sst_filters.h"
#include "nay_sst_lookup.h"
#include "support/snappy_codec.h"
#include "support/sst_calls.h"

#define N_TABLES 5000
#define N_OWN_FILTERS 400
#define MAX_ENTRIES 400

typedef struct both {
  engine_table_options theirs;
  nay_sst_write_options ours;
  nay_policy policy;
} both;

static void draw_options(sample *s, both *b) {
  const size_t sizes[] = {1, 60, 300, 1024, 4096, 20000};
  b->theirs = (engine_table_options){.block_bytes = sizes[sample_draw(s, 6)],
                                     .restart_interval = 1 + (int)sample_draw(s, 20),
                                     .snappy = sample_draw(s, 2) == 0,
                                     .filter_bits = (int)sample_draw(s, 4) * 6};
  b->ours = (nay_sst_write_options){
      .size = sizeof(nay_sst_write_options),
      .block_bytes = (uint32_t)b->theirs.block_bytes,
      .restart_interval = (uint32_t)b->theirs.restart_interval,
      .codec = b->theirs.snappy ? &snappy_codec : NULL,
  };
  if (b->theirs.filter_bits == 0) return;
  b->policy = (nay_policy){.size = sizeof b->policy};
  assert_ok(nay_policy_find(NAY_POLICY_LEVELDB, (uint32_t)b->theirs.filter_bits, &b->policy));
  b->ours.filter = NAY_SST_BLOCK_FILTER;
  b->ours.policy = &b->policy;
}

static uint8_t *build_theirs(const sample *s, const engine_table_options *o, size_t *len) {
  engine_slice *keys = malloc((s->n + 1) * sizeof *keys);
  engine_slice *values = malloc((s->n + 1) * sizeof *values);
  assert_true(keys != NULL && values != NULL);
  for (size_t i = 0; i < s->n; i++) {
    keys[i] = (engine_slice){s->entries[i].key, s->entries[i].len};
    values[i] = (engine_slice){s->entries[i].value, s->entries[i].value_len};
  }
  uint8_t *bytes = engine_table_build(o, keys, values, s->n, len);
  assert_non_null(bytes);
  free(keys);
  free(values);
  return bytes;
}

/* Ours walks and asks a table of theirs; what kind of keys it has, it is not told. */
static void check_ours(sample *s, const both *b, const uint8_t *bytes, size_t len) {
  const nay_policy *policies[] = {&b->policy};
  nay_sst_read_options how = {.size = sizeof how,
                              .codecs = snappy_codecs,
                              .ncodecs = 1,
                              .policies = policies,
                              .npolicies = b->theirs.filter_bits != 0};
  nay_sst *t;
  nay_sst_info info = {.size = sizeof info};
  nay_sst_counters counters = {.size = sizeof counters};
  assert_ok(nay_sst_view(bytes, len, &how, NULL, NULL, &t));
  nay_sst_stats(t, &info);
  assert_int_equal(info.keys, NAY_SST_KEYS_PLAIN);
  assert_int_equal(info.filter_used, b->theirs.filter_bits != 0);
  sample_check_iter(s, t);
  sample_check_gets(s, t);
  table_counts(t, &counters);
  assert_int_equal(counters.filter_faults, 0);
  if (info.filter_used)
    assert_int_equal(counters.gets, counters.out_of_range + counters.filter_checks);
  nay_sst_free(t);
}

static void the_same_bytes_and_answers(void **unused) {
  (void)unused;
  sample s;
  sample_init(&s, MAX_ENTRIES);
  for (uint64_t seed = 0; seed < TEST_SCALE(N_TABLES); seed++) {
    both b;
    size_t len, their_len;
    sample_fill(&s, seed, MAX_ENTRIES);
    draw_options(&s, &b);
    uint8_t *theirs = build_theirs(&s, &b.theirs, &their_len);
    uint8_t *ours = sample_bytes(&s, &b.ours, &len);
    if (len != their_len || memcmp(ours, theirs, len) != 0) {
      fail_msg("table %llu: %zu entries, %zu bytes, LevelDB's has %zu", (unsigned long long)seed,
               s.n, len, their_len);
    }
    check_ours(&s, &b, theirs, their_len);
    check_theirs(&s, ours, len, b.theirs.filter_bits, ENGINE_BYTEWISE);
    free(theirs);
    free(ours);
  }
  sample_free(&s);
}

/* Filters that LevelDB does not know do not disturb it. */
static void leveldb_ignores_our_filters(void **unused) {
  (void)unused;
  sample s;
  nay_sst_prefix prefix = {.size = sizeof prefix};
  nay_params range = {.size = sizeof range, .fpr = 0.01, .range_length = 100};
  sample_init(&s, MAX_ENTRIES);
  assert_ok(nay_sst_prefix_find("nay.fixed.3", &prefix));
  for (uint64_t seed = 0; seed < TEST_SCALE(N_OWN_FILTERS); seed++) {
    both b;
    size_t len;
    sample_fill(&s, seed + 1000000, MAX_ENTRIES);
    draw_options(&s, &b);
    b.ours.policy = NULL;
    b.ours.filter = seed % 2 == 0 ? NAY_SST_FULL_FILTER : NAY_SST_PARTITIONED_FILTER;
    b.ours.partition_keys = 30;
    b.ours.prefix = seed % 3 == 0 ? &prefix : NULL;
    b.ours.range = seed % 4 < 2 ? &range : NULL;
    uint8_t *ours = sample_bytes(&s, &b.ours, &len);
    check_theirs(&s, ours, len, 10, ENGINE_BYTEWISE);
    free(ours);
  }
  sample_free(&s);
}

/* ---- other comparators ---- */

static int compare_reverse(const void *a, const void *b) { return sample_compare(b, a); }

static int compare_numeric(const void *a, const void *b) {
  const sample_entry *x = a, *y = b;
  if (x->len != y->len) return x->len < y->len ? -1 : 1;
  return sample_compare(a, b);
}

static bool is_bytewise(const sample *s) {
  for (size_t i = 1; i < s->n; i++) {
    if (sample_compare(&s->entries[i - 1], &s->entries[i]) >= 0) return false;
  }
  return true;
}

/* A key that is there is found, or the answer is an error that says why; never a nay. */
static void check_never_nay(const sample *s, const nay_sst *t) {
  nay_sst_value v = {.size = sizeof v};
  for (size_t i = 0; i < s->n; i++) {
    nay_diag diag = {.what = NULL};
    const sample_entry *e = &s->entries[i];
    nay_status status = nay_sst_get(t, e->key, e->len, NAY_SST_NEWEST, &diag, &v);
    if (status != NAY_OK) {
      assert_status(status, NAY_ENOTSUP);
      assert_non_null(diag.what);
    }
    assert_true(nay_sst_may_contain(t, e->key, e->len));
  }
  nay_sst_value_free(&v);
}

static void check_walks_are_refused(const nay_sst *t) {
  nay_sst_iter *it;
  nay_status status;
  assert_ok(nay_sst_iter_new(t, NULL, &it));
  for (status = nay_sst_iter_first(it); status == NAY_OK;) status = nay_sst_iter_next(it);
  assert_status(status, NAY_ENOTSUP);
  assert_non_null(nay_sst_iter_diag(it)->what);
  for (status = nay_sst_iter_last(it); status == NAY_OK;) status = nay_sst_iter_prev(it);
  assert_status(status, NAY_ENOTSUP);
  nay_sst_iter_free(it);
}

/* The filters of the table alone, whatever its order. */
static void check_filters(const sample *s, const uint8_t *bytes, size_t len, size_t ncodecs) {
  nay_sst_filters *t;
  nay_sst_filters_options how = {sizeof how, .codecs = snappy_codecs, .ncodecs = ncodecs};
  assert_ok(nay_sst_filters_open(bytes, len, &how, NULL, NULL, &t));
  for (size_t i = 0; i < s->n; i++) {
    assert_true(nay_sst_filters_may_contain(t, s->entries[i].key, s->entries[i].len));
  }
  nay_sst_filters_free(t);
}

/* LevelDB's file does not name its comparator: the order of keys must tell. */
static void other_comparators(void **comparator) {
  sample s;
  unsigned refused = 0, read = 0;
  engine_comparator order = *(const engine_comparator *)*comparator;
  sample_init(&s, MAX_ENTRIES);
  for (uint64_t seed = 0; seed < TEST_SCALE(N_TABLES); seed++) {
    both b;
    size_t len;
    nay_sst *t;
    nay_diag diag = {.what = NULL};
    sample_fill(&s, seed + 2000000, seed % 4 == 0 ? 5 : MAX_ENTRIES);
    draw_options(&s, &b);
    b.theirs.comparator = order;
    if (s.n != 0) {
      qsort(s.entries, s.n, sizeof *s.entries,
            order == ENGINE_REVERSE ? compare_reverse : compare_numeric);
    }
    uint8_t *theirs = build_theirs(&s, &b.theirs, &len);
    const nay_policy *policies[] = {&b.policy};
    nay_sst_read_options how = {.size = sizeof how,
                                .codecs = snappy_codecs,
                                .ncodecs = seed % 3 != 0, /* blocks that cannot be read */
                                .policies = policies,
                                .npolicies = b.theirs.filter_bits != 0,
                                .keys = NAY_SST_KEYS_PLAIN};
    nay_status status = nay_sst_view(theirs, len, &how, NULL, &diag, &t);
    bool bytewise = is_bytewise(&s);
    if (bytewise && how.ncodecs != 0) assert_ok(status);
    if (order == ENGINE_REVERSE && !bytewise && how.ncodecs != 0) {
      assert_status(status, NAY_ENOTSUP);
      assert_non_null(strstr(diag.what, "comparator"));
    }
    if (status == NAY_OK) {
      check_never_nay(&s, t);
      if (!bytewise) check_walks_are_refused(t);
      nay_sst_free(t);
    }
    *(status == NAY_OK ? &read : &refused) += 1;
    check_filters(&s, theirs, len, how.ncodecs);
    free(theirs);
  }
  assert_true(refused > read);
  sample_free(&s);
}

/* ---- a database ---- */

#define DB_KEYS 3000
#define DB_FLUSHES 3

static size_t db_key(unsigned i, uint8_t key[SAMPLE_KEY_MAX]) {
  return (size_t)snprintf((char *)key, SAMPLE_KEY_MAX, "key%u", i * 7919u % 100003u);
}

/* Puts, overwrites and deletions; each flush leaves one table. */
static void db_fill(engine_db *db) {
  uint8_t key[SAMPLE_KEY_MAX], value[200];
  for (unsigned flush = 0; flush < DB_FLUSHES; flush++) {
    for (unsigned i = 0; i < DB_KEYS; i++) {
      uint64_t dice = nay_hash_mix(i + flush * DB_KEYS);
      if (dice % 3 == 0) continue;
      for (unsigned again = 0; again <= dice % 4; again++) { /* up to four versions in one table */
        memset(value, 'a' + (int)(dice >> 8) % 20 + (int)again, sizeof value);
        bool deletes = (dice >> (16 + again)) % 5 == 0;
        engine_slice v = {deletes ? NULL : value, (dice >> 24) % sizeof value};
        assert_true(engine_db_put(db, (engine_slice){key, db_key(i, key)}, v));
      }
    }
    assert_true(engine_db_flush(db));
  }
}

static int by_number_down(const void *a, const void *b) {
  return strcmp((const char *)b, (const char *)a); /* six digits each */
}

static size_t db_tables(const char *directory, char names[][TEMP_MAX + 300], size_t most) {
  DIR *dir = opendir(directory);
  size_t n = 0;
  assert_non_null(dir);
  for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
    size_t len = strlen(e->d_name);
    if (len < 5 || strcmp(e->d_name + len - 4, ".ldb") != 0) continue;
    assert_true(n < most);
    snprintf(names[n++], TEMP_MAX + 300, "%s/%s", directory, e->d_name);
  }
  closedir(dir);
  qsort(names, n, sizeof names[0], by_number_down);
  return n;
}

/* Written again by us, entry by entry, a table of the database is the same file. */
static void check_rewrite(const nay_sst *t, const char *path, const nay_sst_write_options *how) {
  char copy[TEMP_MAX];
  assert_true(sample_copy_table(t, temp_path(copy, "again.ldb"), how) > 1000);
  sample_same_file(copy, path);
  unlink(copy);
}

static void check_lookup(engine_db *db, const nay_sst_lookup *l) {
  nay_sst_value v = {.size = sizeof v};
  size_t found = 0, deleted = 0;
  for (unsigned i = 0; i < DB_KEYS + 500; i++) {
    uint8_t key[SAMPLE_KEY_MAX], *value = NULL;
    size_t len = db_key(i, key), value_len = 0;
    bool there = engine_db_get(db, (engine_slice){key, len}, &value, &value_len);
    assert_status(nay_sst_lookup_get(l, key, len, NAY_SST_NEWEST, NULL, &v, NULL),
                  there ? NAY_OK : NAY_ENOENT);
    if (there) {
      assert_int_equal(v.len, value_len);
      assert_memory_equal(v.bytes, value, value_len);
    }
    found += there;
    deleted += v.deleted;
    free(value);
  }
  assert_true(found > 1000 && deleted > 100);
  nay_sst_value_free(&v);
}

static void a_database(void **snappy) {
  char directory[TEMP_MAX], names[16][TEMP_MAX + 300];
  nay_policy policy = {.size = sizeof policy};
  const nay_policy *policies[] = {&policy};
  const engine_table_options o = {4096, 16, *(const bool *)*snappy, 10, ENGINE_BYTEWISE};
  assert_ok(nay_policy_find(NAY_POLICY_LEVELDB, 10, &policy));
  temp_path(directory, o.snappy ? "db-snappy" : "db-plain");
  engine_db *db = engine_db_open(directory, &o);
  assert_non_null(db);
  db_fill(db);
  nay_sst *tables[16];
  size_t n = db_tables(directory, names, 16);
  assert_int_equal(n, DB_FLUSHES);
  nay_sst_read_options how = {.size = sizeof how,
                              .codecs = snappy_codecs,
                              .ncodecs = 1,
                              .policies = policies,
                              .npolicies = 1};
  nay_sst_write_options again = {.size = sizeof again,
                                 .keys = NAY_SST_KEYS_INTERNAL,
                                 .codec = o.snappy ? &snappy_codec : NULL,
                                 .filter = NAY_SST_BLOCK_FILTER,
                                 .policy = &policy};
  for (size_t i = 0; i < n; i++) {
    nay_sst_info info = {.size = sizeof info};
    assert_ok(nay_sst_open(names[i], &how, NULL, NULL, &tables[i]));
    nay_sst_stats(tables[i], &info);
    assert_int_equal(info.keys, NAY_SST_KEYS_INTERNAL);
    assert_true(info.keys_guessed && info.filter_used);
    check_rewrite(tables[i], names[i], &again);
  }
  nay_sst_lookup *l;
  assert_ok(nay_sst_lookup_new(&(nay_sst_lookup_level){sizeof(nay_sst_lookup_level),
                                                       (const nay_sst *const *)tables, n, false},
                               1, NULL, NULL, NULL, &l));
  check_lookup(db, l);
  nay_sst_lookup_free(l);
  for (size_t i = 0; i < n; i++) nay_sst_free(tables[i]);
  engine_db_close(db);
  assert_true(engine_db_destroy(directory));
}

int main(void) {
  static const bool yes = true, no = false;
  static const engine_comparator reverse = ENGINE_REVERSE, numeric = ENGINE_NUMERIC;
  const test_case tests[] = {
      TEST(the_same_bytes_and_answers),
      TEST(leveldb_ignores_our_filters),
      TEST_WITH("other_comparators reverse", other_comparators, &reverse),
      TEST_WITH("other_comparators numeric", other_comparators, &numeric),
      TEST_WITH("a_database none", a_database, &no),
      TEST_WITH("a_database snappy", a_database, &yes),
  };
  return run_all(tests);
}
