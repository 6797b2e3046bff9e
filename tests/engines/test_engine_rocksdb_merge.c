/*
 * test_engine_rocksdb_merge.c - tables of a real RocksDB with merge operands, read by a lookup and
 * a merging iterator whose operator is that of the database.
 *
 * A random program of puts, deletes and merges, with snapshots, flushes and compactions, goes to a
 * database in table format 0, which is LevelDB's. After each flush every key at every snapshot, and
 * walks in both directions, must be what RocksDB says. Two operators: one appends, one adds
 * numbers. RocksDB combines operands in parts when it flushes and compacts, or (append with
 * `apart`) leaves them as they are.
 */
#define _POSIX_C_SOURCE 200809L
#include <rocksdb/c.h>

#include "nay_sst_iter.h"
#include "support/directory.h"
#include "support/test.h"

#define KEYS 60u
#define WRITES 3000u
#define MOST_TABLES 200u
#define MOST_SNAPSHOTS 4u

typedef struct shape {
  const char *name;
  bool numbers; /* else appended */
  bool apart;   /* no partial merge */
} shape;

typedef struct store {
  const shape *is;
  uint64_t random;
  directory at;
  rocksdb_t *db;
  rocksdb_options_t *options;
  const rocksdb_snapshot_t *snapshots[MOST_SNAPSHOTS];
  uint64_t sequences[MOST_SNAPSHOTS];
  unsigned nsnapshots;
  const nay_sst *tables[MOST_TABLES]; /* level after level */
  unsigned levels[MOST_TABLES];
  uint64_t numbers[MOST_TABLES]; /* of the files */
  unsigned ntables;
  nay_sst_lookup *lookup;
  uint64_t operands;  /* met by gets */
  unsigned ndisjoint; /* how often lower levels had disjoint tables */
} store;

static unsigned pick(store *s, unsigned below) {
  s->random = nay_hash_mix(s->random + 1);
  return (unsigned)(s->random % below);
}

static size_t key_of(unsigned i, char key[16]) { return (size_t)snprintf(key, 16, "key%04u", i); }

static void no_error(char *error) {
  if (error != NULL) fail_msg("RocksDB: %s", error);
}

/* ---- the operators: RocksDB's form, and ours ---- */

/* What all operands and the value below them make, oldest first. */
static char *combine_all(const shape *is, const char *base, size_t base_len,
                         const char *const *operands, const size_t *lens, int n, size_t *len) {
  uint64_t sum = 0, one;
  size_t total = base_len;
  for (int i = 0; i < n; i++) total += lens[i];
  if (is->numbers) total = sizeof sum;
  char *out = malloc(total + 1), *at = out;
  assert_non_null(out);
  for (int i = base != NULL ? -1 : 0; i < n; i++) {
    const char *part = i < 0 ? base : operands[i];
    size_t part_len = i < 0 ? base_len : lens[i];
    if (is->numbers) {
      memcpy(&one, part, sizeof one);
      sum += one;
    } else {
      memcpy(at, part, part_len);
      at += part_len;
    }
  }
  if (is->numbers) memcpy(out, &sum, sizeof sum);
  *len = total;
  return out;
}

static char *rocks_full(void *state, const char *key, size_t key_len, const char *base,
                        size_t base_len, const char *const *operands, const size_t *lens, int n,
                        unsigned char *success, size_t *len) {
  (void)key, (void)key_len;
  *success = 1;
  return combine_all(state, base, base != NULL ? base_len : 0, operands, lens, n, len);
}

static char *rocks_partial(void *state, const char *key, size_t key_len,
                           const char *const *operands, const size_t *lens, int n,
                           unsigned char *success, size_t *len) {
  const shape *is = state;
  (void)key, (void)key_len;
  *success = !is->apart;
  *len = 0;
  return is->apart ? NULL : combine_all(is, NULL, 0, operands, lens, n, len);
}

static void rocks_nothing(void *state) { (void)state; }
static void rocks_delete(void *state, const char *value, size_t len) {
  (void)state, (void)len;
  free((void *)(uintptr_t)value);
}
static const char *rocks_name(void *state) { return ((const shape *)state)->name; }

static nay_status our_operator(void *ctx, const nay_sst_operands *o, void *out, size_t cap,
                               size_t *len) {
  const char *newer = o->newer;
  char *all = combine_all(ctx, o->older, o->older_len, &newer, &o->newer_len, 1, len);
  if (*len <= cap) memcpy(out, all, *len);
  free(all);
  return *len <= cap ? NAY_OK : NAY_EBUFFER;
}

/* ---- the database ---- */

static void store_open(store *s, const shape *is, uint64_t seed) {
  char *error = NULL;
  *s = (store){.is = is, .random = nay_hash_mix(seed), .at = directory_make()};
  rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
  rocksdb_block_based_options_set_format_version(table, 0);
  rocksdb_block_based_options_set_checksum(table, 1); /* crc32c */
  rocksdb_block_based_options_set_block_size(table, 256);
  s->options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(s->options, 1);
  rocksdb_options_set_compression(s->options, rocksdb_no_compression);
  rocksdb_options_set_block_based_table_factory(s->options, table);
  rocksdb_options_set_disable_auto_compactions(s->options, 1);
  rocksdb_options_set_target_file_size_base(s->options, 2000);
  rocksdb_options_set_merge_operator(
      s->options, rocksdb_mergeoperator_create((void *)(uintptr_t)is, rocks_nothing, rocks_full,
                                               rocks_partial, rocks_delete, rocks_name));
  s->db = rocksdb_open(s->options, directory_at(&s->at, "db"), &error);
  no_error(error);
  rocksdb_block_based_options_destroy(table);
}

static void store_write(store *s) {
  rocksdb_writeoptions_t *how = rocksdb_writeoptions_create();
  char key[16], value[16], *error = NULL;
  uint64_t number = pick(s, 1000);
  size_t len = key_of(pick(s, KEYS), key), value_len = sizeof number;
  unsigned what = pick(s, 10);
  if (s->is->numbers) {
    memcpy(value, &number, sizeof number);
  } else {
    value_len =
        (size_t)snprintf(value, sizeof value, "%c%u", what < 2 ? '=' : '+', (unsigned)number);
  }
  if (what < 2) rocksdb_put(s->db, how, key, len, value, value_len, &error);
  if (what == 2) rocksdb_delete(s->db, how, key, len, &error);
  if (what > 2) rocksdb_merge(s->db, how, key, len, value, value_len, &error);
  no_error(error);
  rocksdb_writeoptions_destroy(how);
}

static void store_snapshot(store *s) {
  if (s->nsnapshots < MOST_SNAPSHOTS && pick(s, 2) == 0) {
    s->sequences[s->nsnapshots] = rocksdb_get_latest_sequence_number(s->db);
    s->snapshots[s->nsnapshots++] = rocksdb_create_snapshot(s->db);
  } else if (s->nsnapshots != 0) {
    unsigned i = pick(s, s->nsnapshots);
    rocksdb_release_snapshot(s->db, s->snapshots[i]);
    s->snapshots[i] = s->snapshots[--s->nsnapshots];
    s->sequences[i] = s->sequences[s->nsnapshots];
  }
}

static void store_flush(store *s) {
  rocksdb_flushoptions_t *how = rocksdb_flushoptions_create();
  char *error = NULL;
  rocksdb_flush(s->db, how, &error);
  no_error(error);
  rocksdb_flushoptions_destroy(how);
}

/* ---- its tables ---- */

static void tables_close(store *s) {
  nay_sst_lookup_free(s->lookup);
  for (unsigned i = 0; i < s->ntables; i++) nay_sst_free((nay_sst *)(uintptr_t)s->tables[i]);
  s->lookup = NULL;
  s->ntables = 0;
}

/* Level 0 newest first, the others by their keys, as the files of a level are listed. */
static bool comes_before(const store *s, unsigned i, unsigned level, uint64_t number) {
  if (s->levels[i] != level) return s->levels[i] < level;
  return level != 0 || s->numbers[i] > number;
}

static void tables_add(store *s, const char *name, unsigned level) {
  char path[512];
  nay_sst *t;
  nay_diag diag = {.what = NULL};
  uint64_t number = strtoull(name + 1, NULL, 10);
  unsigned at = s->ntables++;
  assert_true(s->ntables <= MOST_TABLES);
  snprintf(path, sizeof path, "%s/db%s", s->at.path, name);
  if (nay_sst_open(path, NULL, NULL, &diag, &t) != NAY_OK) fail_msg("%s: %s", name, diag.what);
  for (; at > 0 && !comes_before(s, at - 1, level, number); at--) {
    s->tables[at] = s->tables[at - 1];
    s->levels[at] = s->levels[at - 1];
    s->numbers[at] = s->numbers[at - 1];
  }
  s->tables[at] = t;
  s->levels[at] = level;
  s->numbers[at] = number;
}

/* RocksDB may put versions of one key into two tables of a level, the newer ones first. A lookup
 * takes that as tables that overlap. */
static nay_status tables_look(store *s, bool disjoint) {
  nay_sst_lookup_level levels[8];
  for (unsigned level = 0, i = 0; level < 8; level++) {
    unsigned first = i;
    while (i < s->ntables && s->levels[i] == level) i++;
    levels[level] = (nay_sst_lookup_level){sizeof levels[0], s->tables + first, i - first,
                                           disjoint && level != 0};
  }
  nay_sst_lookup_options how = {sizeof how, .merge = our_operator};
  how.merge_ctx = (void *)(uintptr_t)s->is;
  return nay_sst_lookup_new(levels, 8, &how, NULL, NULL, &s->lookup);
}

static void tables_open(store *s) {
  const rocksdb_livefiles_t *files = rocksdb_livefiles(s->db);
  tables_close(s);
  for (int i = 0; i < rocksdb_livefiles_count(files); i++) {
    tables_add(s, rocksdb_livefiles_name(files, i), (unsigned)rocksdb_livefiles_level(files, i));
  }
  rocksdb_livefiles_destroy(files);
  nay_status status = tables_look(s, true);
  s->ndisjoint += status == NAY_OK && s->ntables != 0 && s->levels[s->ntables - 1] != 0;
  if (status != NAY_OK) assert_status(status, NAY_EINVAL);
  if (status != NAY_OK) assert_ok(tables_look(s, false));
}

/* ---- comparing ---- */

static void assert_same(const char *a, size_t a_len, const void *b, size_t b_len) {
  if (a_len != b_len || (a_len != 0 && memcmp(a, b, a_len) != 0)) {
    fail_msg("RocksDB: %.*s, nay: %.*s", (int)a_len, a, (int)b_len, (const char *)b);
  }
}

static void compare_gets(store *s, const rocksdb_readoptions_t *read, uint64_t sequence) {
  char names[KEYS][16];
  const void *keys[KEYS];
  size_t lens[KEYS];
  nay_status statuses[KEYS];
  nay_sst_value values[KEYS], v = {.size = sizeof v};
  for (unsigned i = 0; i < KEYS; i++) {
    lens[i] = key_of(i, names[i]);
    keys[i] = names[i];
    values[i] = (nay_sst_value){.size = sizeof values[i]};
  }
  assert_ok(
      nay_sst_lookup_get_many(s->lookup, keys, lens, KEYS, sequence, NULL, values, statuses, NULL));
  for (unsigned i = 0; i < KEYS; i++) {
    char *error = NULL;
    size_t len;
    char *want = rocksdb_get(s->db, read, keys[i], lens[i], &len, &error);
    no_error(error);
    nay_status status = nay_sst_lookup_get(s->lookup, keys[i], lens[i], sequence, NULL, &v, NULL);
    assert_status(status, want != NULL ? NAY_OK : NAY_ENOENT);
    assert_status(statuses[i], status);
    if (want == NULL) continue;
    assert_same(want, len, v.bytes, v.len);
    assert_same(want, len, values[i].bytes, values[i].len);
    rocksdb_free(want);
  }
  for (unsigned i = 0; i < KEYS; i++) nay_sst_value_free(&values[i]);
  nay_sst_value_free(&v);
}

static void compare_walk(const store *s, const rocksdb_readoptions_t *read, uint64_t sequence,
                         bool backward) {
  nay_sst_scan *m;
  nay_sst_scan_options how = {sizeof how, .sequence = &sequence};
  rocksdb_iterator_t *it = rocksdb_create_iterator(s->db, read);
  assert_ok(nay_sst_scan_new(s->lookup, &how, NULL, NULL, &m));
  (backward ? rocksdb_iter_seek_to_last : rocksdb_iter_seek_to_first)(it);
  nay_status status = backward ? nay_sst_scan_last(m) : nay_sst_scan_first(m);
  for (; rocksdb_iter_valid(it); (backward ? rocksdb_iter_prev : rocksdb_iter_next)(it)) {
    size_t len, want_len;
    assert_ok(status);
    const char *want = rocksdb_iter_key(it, &want_len);
    const void *is = nay_sst_scan_key(m, &len);
    assert_same(want, want_len, is, len);
    want = rocksdb_iter_value(it, &want_len);
    is = nay_sst_scan_value(m, &len);
    assert_same(want, want_len, is, len);
    status = backward ? nay_sst_scan_prev(m) : nay_sst_scan_next(m);
  }
  assert_status(status, NAY_EEND);
  nay_sst_scan_free(m);
  rocksdb_iter_destroy(it);
}

static void compare_readers(store *s) {
  tables_open(s);
  for (unsigned i = 0; i <= s->nsnapshots; i++) {
    rocksdb_readoptions_t *read = rocksdb_readoptions_create();
    uint64_t sequence = rocksdb_get_latest_sequence_number(s->db);
    if (i < s->nsnapshots) {
      rocksdb_readoptions_set_snapshot(read, s->snapshots[i]);
      sequence = s->sequences[i];
    }
    compare_gets(s, read, sequence);
    for (int backward = 0; backward < 2; backward++) compare_walk(s, read, sequence, backward);
    rocksdb_readoptions_destroy(read);
  }
  nay_sst_counters c = {.size = sizeof c};
  assert_ok(nay_sst_lookup_stats(s->lookup, &c));
  s->operands += c.operands;
}

static void tables_of_rocksdb(void **state) {
  store s;
  unsigned deepest = 0;
  store_open(&s, *state, 7);
  for (unsigned n = 0; n < WRITES;) {
    for (unsigned some = 1 + pick(&s, 150); some > 0; some--, n++) {
      store_write(&s);
      if (pick(&s, 60) == 0) store_snapshot(&s);
    }
    store_flush(&s);
    compare_readers(&s);
    if (pick(&s, 4) != 0) continue;
    rocksdb_compact_range(s.db, NULL, 0, NULL, 0);
    compare_readers(&s);
    if (s.ntables != 0 && s.levels[s.ntables - 1] > deepest) deepest = s.levels[s.ntables - 1];
  }
  assert_true(s.operands > 500 && deepest > 0 && s.ndisjoint > 0);
  tables_close(&s);
  while (s.nsnapshots != 0) rocksdb_release_snapshot(s.db, s.snapshots[--s.nsnapshots]);
  rocksdb_close(s.db);
  rocksdb_options_destroy(s.options);
  directory_remove(&s.at);
}

int main(void) {
  static const shape shapes[] = {
      {"append", false, false}, {"append, apart", false, true}, {"add", true, false}};
  const test_case tests[] = {TEST_WITH("append", tables_of_rocksdb, &shapes[0]),
                             TEST_WITH("append, operands apart", tables_of_rocksdb, &shapes[1]),
                             TEST_WITH("add", tables_of_rocksdb, &shapes[2])};
  return run_all(tests);
}
