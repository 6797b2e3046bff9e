/*
 * test_engine_merge.c - our merging iterator over the tables of a LevelDB database, beside
 * LevelDB's own iterator over that database: random movements in both directions, with LevelDB's
 * comparator and with others.
 */
#define _GNU_SOURCE 1
#include "database.h"
#include "nay_sst_iter.h"
#include "support/snappy_codec.h"

#define N_KEYS 3000u
#define N_TABLES 3u /* one more, and LevelDB compacts them in the background */
#define N_WRITES 12000u
#define N_MOVES TEST_SCALE(30000u)
#define MAX_TABLES 64

static uint64_t state;

static uint64_t draw(uint64_t below) {
  state += 0x9e3779b97f4a7c15u;
  return nay_hash_mix(state) % below;
}

static size_t draw_key(char key[32]) {
  uint64_t i = draw(N_KEYS);
  return (size_t)snprintf(key, 32, "%llu/%llu", (unsigned long long)(i % 40),
                          (unsigned long long)(i * i));
}

/* ---- a database ---- */

static int by_comparator(void *comparator, const char *a, size_t a_len, const char *b,
                         size_t b_len) {
  const nay_sst_comparator *c = comparator;
  return c->compare(c->ctx, a, a_len, b, b_len);
}
static const char *name_of(void *comparator) { return ((nay_sst_comparator *)comparator)->name; }
static void no_destructor(void *unused) { (void)unused; }

typedef struct opened {
  database d;
  leveldb_comparator_t *comparator;
} opened;

static opened open_database(const char *path, nay_sst_comparator *order) {
  opened o = {{NULL, leveldb_options_create(), leveldb_readoptions_create(), NULL}, NULL};
  char *error = NULL;
  leveldb_options_set_create_if_missing(o.d.options, 1);
  leveldb_options_set_write_buffer_size(o.d.options, 16 << 20);
  leveldb_options_set_block_size(o.d.options, 512);
  if (order != NULL) {
    o.comparator = leveldb_comparator_create(order, no_destructor, by_comparator, name_of);
    leveldb_options_set_comparator(o.d.options, o.comparator);
  }
  o.d.db = leveldb_open(o.d.options, path, &error);
  database_check(error);
  return o;
}

static void close_database(opened *o) {
  database_close(&o->d);
  if (o->comparator != NULL) leveldb_comparator_destroy(o->comparator);
}

static void fill(const opened *o) {
  leveldb_writeoptions_t *write = leveldb_writeoptions_create();
  for (unsigned i = 0; i < N_WRITES / N_TABLES; i++) {
    char key[32], value[64], *error = NULL;
    size_t len = draw_key(key);
    if (draw(4) == 0) {
      leveldb_delete(o->d.db, write, key, len, &error);
    } else {
      int value_len = snprintf(value, sizeof value, "write %u %0*d", i, (int)draw(30), 0);
      leveldb_put(o->d.db, write, key, len, value, (size_t)value_len, &error);
    }
    database_check(error);
  }
  leveldb_writeoptions_destroy(write);
}

/* ---- its tables ---- */

typedef struct tables {
  const nay_sst *at[MAX_TABLES];
  size_t n;
} tables;

/* In no order: the sequence numbers tell what is newer. */
static void open_tables(const directory *f, const nay_sst_comparator *order, tables *t) {
  nay_sst_read_options how = {
      .size = sizeof how, .codecs = snappy_codecs, .ncodecs = 1, .comparator = order};
  DIR *dir = opendir(f->path);
  assert_non_null(dir);
  for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
    size_t len = strlen(e->d_name);
    nay_sst *table;
    if (len < 5 || strcmp(e->d_name + len - 4, ".ldb") != 0) continue;
    assert_true(t->n < MAX_TABLES);
    assert_ok(nay_sst_open(directory_at(f, e->d_name), &how, NULL, NULL, &table));
    t->at[t->n++] = table;
  }
  closedir(dir);
  assert_int_equal(t->n, N_TABLES);
}

/* ---- side by side ---- */

static void assert_same(const leveldb_iterator_t *theirs, nay_sst_scan *ours, nay_status status) {
  char *error = NULL;
  leveldb_iter_get_error(theirs, &error);
  database_check(error);
  assert_status(status, leveldb_iter_valid(theirs) ? NAY_OK : NAY_EEND);
  if (status != NAY_OK) return;
  size_t len, their_len;
  const char *key = leveldb_iter_key(theirs, &their_len);
  const void *own = nay_sst_scan_key(ours, &len);
  assert_int_equal(len, their_len);
  assert_memory_equal(own, key, len);
  const char *value = leveldb_iter_value(theirs, &their_len);
  own = nay_sst_scan_value(ours, &len);
  assert_int_equal(len, their_len);
  assert_memory_equal(own, value, len);
}

static nay_status move_both(leveldb_iterator_t *theirs, nay_sst_scan *ours) {
  char key[32];
  size_t len;
  bool there = leveldb_iter_valid(theirs) != 0;
  switch (draw(there ? 40 : 3)) {
    case 0: leveldb_iter_seek_to_first(theirs); return nay_sst_scan_first(ours);
    case 1: leveldb_iter_seek_to_last(theirs); return nay_sst_scan_last(ours);
    case 2:
      len = draw_key(key);
      leveldb_iter_seek(theirs, key, len);
      return nay_sst_scan_seek(ours, key, len);
    default: break;
  }
  if (draw(8) < (state >> 40 & 1 ? 7u : 1u)) {
    leveldb_iter_next(theirs);
    return nay_sst_scan_next(ours);
  }
  leveldb_iter_prev(theirs);
  return nay_sst_scan_prev(ours);
}

static void as_leveldb(void **order_name) {
  nay_sst_comparator comparator = {.size = sizeof comparator}, *order = NULL;
  if (*order_name != NULL) {
    assert_ok(nay_sst_comparator_find(*order_name, &comparator));
    order = &comparator;
  }
  directory f = directory_make();
  tables t = {.n = 0};
  nay_sst_lookup *l;
  nay_sst_scan *m;
  state = 7;
  opened o = open_database(f.path, order);
  for (unsigned i = 0; i < N_TABLES; i++) {
    fill(&o);
    close_database(&o);
    o = open_database(f.path, order); /* the log becomes a table */
  }
  open_tables(&f, order, &t);
  assert_ok(
      nay_sst_lookup_new(&(nay_sst_lookup_level){sizeof(nay_sst_lookup_level), t.at, t.n, false}, 1,
                         NULL, NULL, NULL, &l));
  assert_ok(nay_sst_scan_new(l, NULL, NULL, NULL, &m));
  leveldb_iterator_t *theirs = leveldb_create_iterator(o.d.db, o.d.read);
  unsigned n = 0;
  leveldb_iter_seek_to_first(theirs);
  for (nay_status s = nay_sst_scan_first(m); s == NAY_OK; s = nay_sst_scan_next(m), n++) {
    assert_same(theirs, m, s);
    leveldb_iter_next(theirs);
  }
  assert_false(leveldb_iter_valid(theirs));
  assert_true(n > N_KEYS / 2);
  for (unsigned i = 0; i < N_MOVES; i++) assert_same(theirs, m, move_both(theirs, m));
  leveldb_iter_destroy(theirs);
  nay_sst_scan_free(m);
  nay_sst_lookup_free(l);
  for (size_t i = 0; i < t.n; i++) nay_sst_free((nay_sst *)(uintptr_t)t.at[i]);
  close_database(&o);
  directory_remove(&f);
}

int main(void) {
  const test_case tests[] = {
      TEST_WITH("as_leveldb bytewise", as_leveldb, NULL),
      TEST_WITH("as_leveldb reverse", as_leveldb, "rocksdb.ReverseBytewiseComparator"),
      TEST_WITH("as_leveldb decimal", as_leveldb, "nay.decimal"),
      TEST_WITH("as_leveldb prefix", as_leveldb, "nay.prefix.2"),
  };
  return run_all(tests);
}
