/*
 * test_leveldb_matrix.c - real LevelDB databases with every combination of options that changes
 * their tables, against a model of what is in them: the plug-in loses no key whatever the
 * comparator, and our readers of tables answer right with it, and right or not at all without.
 */
#define _GNU_SOURCE 1
#include "database.h"
#include "nay_sst_filters.h"
#include "nay_sst_iter.h"
#include "nay_sst_lookup.h"
#include "support/snappy_codec.h"

#define N_KEYS TEST_SCALE(1200u)
#define MAX_KEYS 1200u
#define MAX_TABLES 64

/* ---- comparators ---- */

typedef int (*compare)(void *, const char *, size_t, const char *, size_t);

static int bytewise(void *unused, const char *a, size_t a_len, const char *b, size_t b_len) {
  size_t n = a_len < b_len ? a_len : b_len;
  int order = n == 0 ? 0 : memcmp(a, b, n);
  (void)unused;
  return order != 0 ? order : (a_len > b_len) - (a_len < b_len);
}

static int reverse(void *unused, const char *a, size_t a_len, const char *b, size_t b_len) {
  return bytewise(unused, b, b_len, a, a_len);
}

/* Numbers in decimal, by their value. */
static int numeric(void *unused, const char *a, size_t a_len, const char *b, size_t b_len) {
  if (a_len != b_len) return a_len < b_len ? -1 : 1;
  return bytewise(unused, a, a_len, b, b_len);
}

static const char *name_of(void *name) { return name; }
static void no_destructor(void *unused) { (void)unused; }

/* ---- a combination ---- */

typedef enum filter { NO_FILTER, BUILTIN, COMPATIBLE, NAY, N_FILTERS } filter;
typedef enum order { BYTEWISE, REVERSE, NUMERIC, N_ORDERS } order;

typedef struct combination {
  order order;
  filter filter;
  bool snappy, small_blocks, compacted;
} combination;

/* What is in the database: the version of each key, 0 when it is not there. */
typedef struct model {
  unsigned version[MAX_KEYS];
} model;

static size_t key_of(unsigned i, char key[32]) {
  return (size_t)snprintf(key, 32, "%u", 3 * i * i + 7 * i); /* one to seven digits */
}

static size_t absent_key_of(unsigned i, char key[32]) {
  return (size_t)snprintf(key, 32, "%u.%u", 3 * i * i + 7 * i, i % 10);
}

static size_t value_of(unsigned i, unsigned version, char value[200]) {
  return (size_t)snprintf(value, 200, "version %u of key %u, %0*u", version, i, 20 + (int)(i % 50),
                          i);
}

static leveldb_filterpolicy_t *policy_of(filter f) {
  switch (f) {
    case BUILTIN: return leveldb_filterpolicy_create_bloom(10);
    case COMPATIBLE: return nay_leveldb_policy(NAY_LEVELDB_COMPATIBLE, 10);
    case NAY: return nay_leveldb_policy(NAY_LEVELDB_NAY, 10);
    default: return NULL;
  }
}

typedef struct opened {
  database d;
  leveldb_comparator_t *comparator;
} opened;

static opened combination_open(const char *path, const combination *c) {
  static const compare orders[] = {bytewise, reverse, numeric};
  static char names[][16] = {"", "test.reverse", "test.numeric"};
  opened o = {{NULL, leveldb_options_create(), leveldb_readoptions_create(), policy_of(c->filter)},
              NULL};
  char *error = NULL;
  leveldb_options_t *options = o.d.options;
  leveldb_options_set_create_if_missing(options, 1);
  leveldb_options_set_write_buffer_size(options, 64 << 10);
  leveldb_options_set_block_size(options, c->small_blocks ? 256 : 4096);
  leveldb_options_set_block_restart_interval(options, c->small_blocks ? 3 : 16);
  leveldb_options_set_compression(options,
                                  c->snappy ? leveldb_snappy_compression : leveldb_no_compression);
  if (o.d.policy != NULL) leveldb_options_set_filter_policy(options, o.d.policy);
  if (c->order != BYTEWISE) {
    o.comparator =
        leveldb_comparator_create(names[c->order], no_destructor, orders[c->order], name_of);
    leveldb_options_set_comparator(options, o.comparator);
  }
  o.d.db = leveldb_open(options, path, &error);
  database_check(error);
  return o;
}

static void combination_close(opened *o) {
  database_close(&o->d);
  if (o->comparator != NULL) leveldb_comparator_destroy(o->comparator);
}

/* ---- writing and reading ---- */

/* Three rounds of puts and deletions in no order. */
static void fill(opened *o, model *m) {
  leveldb_writeoptions_t *write = leveldb_writeoptions_create();
  for (unsigned round = 1; round <= 3; round++) {
    for (unsigned n = 0; n < N_KEYS; n++) {
      unsigned i = n * 7919u % N_KEYS;
      char key[32], value[200], *error = NULL;
      uint64_t dice = nay_hash_mix(round * 100000u + i) % 8;
      size_t len = key_of(i, key);
      if (dice < 5) {
        leveldb_put(o->d.db, write, key, len, value, value_of(i, round, value), &error);
        m->version[i] = round;
      } else if (dice == 5) {
        leveldb_delete(o->d.db, write, key, len, &error);
        m->version[i] = 0;
      }
      database_check(error);
    }
  }
  leveldb_writeoptions_destroy(write);
}

static void check_database(const opened *o, const model *m) {
  for (unsigned i = 0; i < N_KEYS; i++) {
    char key[32], want[200], *error = NULL;
    size_t len;
    char *value = leveldb_get(o->d.db, o->d.read, key, key_of(i, key), &len, &error);
    database_check(error);
    assert_int_equal(value != NULL, m->version[i] != 0);
    if (value != NULL) {
      assert_int_equal(len, value_of(i, m->version[i], want));
      assert_memory_equal(value, want, len);
    }
    leveldb_free(value);
    value = leveldb_get(o->d.db, o->d.read, key, absent_key_of(i, key), &len, &error);
    database_check(error);
    assert_null(value);
  }
}

/* ---- its tables, read by us ---- */

/* `at` is opened without the comparator, `ordered` with it. */
typedef struct tables {
  nay_sst *at[MAX_TABLES], *ordered[MAX_TABLES];
  size_t n, refused, nordered;
} tables;

/* LevelDB's comparators behind our interface: `state` is the function. */
static int by_leveldb(void *ctx, const void *a, size_t a_len, const void *b, size_t b_len) {
  compare call = *(const compare *)ctx;
  return call(NULL, a, a_len, b, b_len);
}

static const nay_sst_comparator *comparator_of(order o) {
  static compare calls[] = {bytewise, reverse, numeric};
  static nay_sst_comparator made[] = {
      {.size = 0},
      {sizeof made[0], .name = "test.reverse", .compare = by_leveldb, .ctx = &calls[REVERSE]},
      {sizeof made[0], .name = "test.numeric", .compare = by_leveldb, .ctx = &calls[NUMERIC]}};
  return o == BYTEWISE ? NULL : &made[o];
}

/* Every entry of a table is found by its key; or the table is refused, which is an answer. */
static nay_status check_walk(const nay_sst *t) {
  nay_sst_iter *it;
  nay_sst_value v = {.size = sizeof v};
  assert_ok(nay_sst_iter_new(t, NULL, &it));
  nay_status status = nay_sst_iter_first(it);
  for (; status == NAY_OK; status = nay_sst_iter_next(it)) {
    size_t len;
    const void *key = nay_sst_iter_key(it, &len);
    nay_sst_entry version = {.size = sizeof version};
    assert_ok(nay_sst_key_split(key, len, &version));
    assert_status(nay_sst_get(t, version.key, version.len, NAY_SST_NEWEST, NULL, &v),
                  v.deleted ? NAY_ENOENT : NAY_OK);
    assert_true(v.sequence >= version.sequence);
  }
  nay_sst_value_free(&v);
  nay_sst_iter_free(it);
  return status;
}

static void open_one(const char *path, const combination *c, const nay_policy *const *policies,
                     tables *t) {
  nay_sst_read_options how = {.size = sizeof how,
                              .codecs = snappy_codecs,
                              .ncodecs = 1,
                              .policies = policies,
                              .npolicies = 2};
  nay_diag diag = {.what = NULL};
  nay_status status = nay_sst_open(path, &how, NULL, &diag, &t->at[t->n]);
  if (status == NAY_OK) {
    nay_status walked = check_walk(t->at[t->n]);
    if (c->order == BYTEWISE) assert_status(walked, NAY_EEND);
    if (walked != NAY_EEND) assert_status(walked, NAY_ENOTSUP);
    t->n++;
    return;
  }
  assert_status(status, NAY_ENOTSUP);
  assert_non_null(strstr(diag.what, "comparator"));
  t->refused++;
}

/* With the database's comparator every table can be read. */
static void open_ordered(const char *path, const combination *c, const nay_policy *const *policies,
                         tables *t) {
  nay_sst_read_options how = {.size = sizeof how,
                              .codecs = snappy_codecs,
                              .ncodecs = 1,
                              .policies = policies,
                              .npolicies = 2,
                              .comparator = comparator_of(c->order)};
  nay_sst *table;
  assert_ok(nay_sst_open(path, &how, NULL, NULL, &table));
  assert_status(check_walk(table), NAY_EEND);
  t->ordered[t->nordered++] = table;
}

/* A database that is closed while it compacts leaves a table without its end. */
static bool is_whole(const char *path) {
  size_t len = 0;
  uint8_t *bytes = directory_read(path, &len);
  assert_non_null(bytes);
  bool whole = nay_sst_filters_recognise(bytes, len);
  free(bytes);
  return whole;
}

/* Whether the filters of a table alone say maybe, for each key of the model. */
static void ask_filters(const char *path, bool maybe[MAX_KEYS]) {
  size_t len = 0;
  nay_sst_filters *t;
  nay_sst_filters_options how = {sizeof how, .codecs = snappy_codecs, .ncodecs = 1};
  uint8_t *bytes = directory_read(path, &len);
  assert_non_null(bytes);
  assert_ok(nay_sst_filters_open(bytes, len, &how, NULL, NULL, &t));
  for (unsigned i = 0; i < N_KEYS; i++) {
    char key[32];
    maybe[i] = maybe[i] || nay_sst_filters_may_contain(t, key, key_of(i, key));
  }
  nay_sst_filters_free(t);
  free(bytes);
}

static void check_lookup(const tables *t, const model *m) {
  nay_sst_lookup *l;
  nay_sst_value v = {.size = sizeof v};
  assert_ok(nay_sst_lookup_new(
      &(nay_sst_lookup_level){sizeof(nay_sst_lookup_level), (const nay_sst *const *)t->ordered,
                              t->nordered, false},
      1, NULL, NULL, NULL, &l));
  for (unsigned i = 0; i < N_KEYS; i++) {
    char key[32], want[200];
    nay_status status = nay_sst_lookup_get(l, key, key_of(i, key), NAY_SST_NEWEST, NULL, &v, NULL);
    assert_status(status, m->version[i] != 0 ? NAY_OK : NAY_ENOENT);
    if (status == NAY_OK) {
      assert_int_equal(v.len, value_of(i, m->version[i], want));
      assert_memory_equal(v.bytes, want, v.len);
    }
    assert_status(nay_sst_lookup_get(l, key, absent_key_of(i, key), NAY_SST_NEWEST, NULL, &v, NULL),
                  NAY_ENOENT);
  }
  nay_sst_value_free(&v);
  nay_sst_lookup_free(l);
}

static void check_tables(const directory *f, const combination *c, const model *m) {
  nay_policy leveldb = {.size = sizeof leveldb}, small = {.size = sizeof small};
  const nay_policy *policies[] = {&leveldb, &small};
  bool maybe[MAX_KEYS] = {false};
  tables t = {.n = 0};
  assert_ok(nay_policy_find(NAY_POLICY_LEVELDB, 10, &leveldb));
  assert_ok(nay_policy_find(NAY_POLICY_SMALL, 10, &small));
  DIR *dir = opendir(f->path);
  assert_non_null(dir);
  for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
    size_t len = strlen(e->d_name);
    if (len < 5 || strcmp(e->d_name + len - 4, ".ldb") != 0) continue;
    if (!c->compacted && !is_whole(directory_at(f, e->d_name))) continue;
    assert_true(t.n < MAX_TABLES);
    open_one(directory_at(f, e->d_name), c, policies, &t);
    open_ordered(directory_at(f, e->d_name), c, policies, &t);
    ask_filters(directory_at(f, e->d_name), maybe);
  }
  closedir(dir);
  assert_true(t.n + t.refused > 0);
  if (c->order == BYTEWISE) assert_int_equal(t.refused, 0);
  if (c->order == REVERSE) assert_int_equal(t.n, 0);
  if (c->order == NUMERIC) assert_true(t.refused > 0);
  for (unsigned i = 0; i < N_KEYS; i++) assert_true(maybe[i] || m->version[i] == 0);
  if (c->compacted) check_lookup(&t, m);
  for (size_t i = 0; i < t.n; i++) nay_sst_free(t.at[i]);
  for (size_t i = 0; i < t.nordered; i++) nay_sst_free(t.ordered[i]);
}

static void check_combination(const combination *c) {
  static model m;
  directory f = directory_make();
  memset(&m, 0, sizeof m);
  opened o = combination_open(f.path, c);
  fill(&o, &m);
  if (c->compacted) database_compact(&o.d);
  check_database(&o, &m);
  combination_close(&o);
  o = combination_open(f.path, c); /* the log, if any, becomes a table */
  check_database(&o, &m);
  combination_close(&o);
  check_tables(&f, c, &m);
  directory_remove(&f);
}

/* Of the three options that are on or off, each pair in all four ways. */
static void combinations(void **comparator) {
  combination c = {.order = *(const order *)*comparator};
  for (c.filter = NO_FILTER; c.filter < N_FILTERS; c.filter++) {
    for (unsigned bits = 0; bits < 4; bits++) {
      c.snappy = (bits & 1) != 0;
      c.small_blocks = (bits & 2) != 0;
      c.compacted = c.snappy == c.small_blocks;
      check_combination(&c);
    }
  }
}

int main(void) {
  static const order orders[] = {BYTEWISE, REVERSE, NUMERIC};
  const test_case tests[] = {
      TEST_WITH("combinations bytewise", combinations, &orders[0]),
      TEST_WITH("combinations reverse", combinations, &orders[1]),
      TEST_WITH("combinations numeric", combinations, &orders[2]),
  };
  return run_all(tests);
}
