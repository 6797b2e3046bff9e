/*
 * test_growth.c - what memtables, lookups, merging iterators and compactions cost, in comparisons
 * of keys, reads and allocations, as there are more entries or more tables. A cache, which compares
 * no keys, is counted in instructions: tests/unit/test_growth_cache.py.
 */
#include "nay_sst.h"
#include "nay_sst_compact.h"
#include "nay_sst_lookup.h"
#include "nay_sst_memtable.h"
#include "support/flaky.h"
#include "support/growth.h"

/* ---- counting ---- */

static uint64_t ncompared, nread;

static int counted_compare(void *ctx, const void *a, size_t a_len, const void *b, size_t b_len) {
  size_t n = a_len < b_len ? a_len : b_len;
  int order = n == 0 ? 0 : memcmp(a, b, n);
  (void)ctx;
  ncompared++;
  return order != 0 ? order : (a_len > b_len) - (a_len < b_len);
}

static const nay_sst_comparator counted = {
    .size = sizeof counted, .name = "test.counted", .compare = counted_compare};

static nay_status counted_read(void *ctx, uint64_t at, void *dst, size_t len, nay_diag *diag) {
  (void)diag;
  nread++;
  memcpy(dst, (const uint8_t *)ctx + at, len);
  return NAY_OK;
}

/* ---- memtables ---- */

typedef struct key_order {
  const char *name;
  unsigned (*key)(unsigned i, unsigned n);
  bool one_sequence;
} key_order;

static unsigned ascending(unsigned i, unsigned n) { return (void)n, i; }
static unsigned descending(unsigned i, unsigned n) { return n - i; }
static unsigned shuffled(unsigned i, unsigned n) {
  return (unsigned)(nay_hash_mix(i) >> 40) * n + i; /* no two are the same */
}
static unsigned one_key(unsigned i, unsigned n) { return (void)i, (void)n, 7; }

static key_order order;

static uint64_t cost_of_memtable(size_t n) {
  nay_sst_memtable *m;
  char key[32];
  assert_ok(nay_sst_memtable_new(&counted, NULL, NULL, &m));
  ncompared = 0;
  for (unsigned i = 0; i < n; i++) {
    int len = snprintf(key, sizeof key, "%010u", order.key(i, (unsigned)n));
    nay_sst_entry v = {sizeof v, key, (size_t)len, .sequence = order.one_sequence ? 5 : i};
    assert_ok(nay_sst_memtable_add(m, &v, "v", 1, NULL));
  }
  for (unsigned i = 0; i < n; i++) {
    nay_sst_value v = {.size = sizeof v};
    int len = snprintf(key, sizeof key, "%010u", order.key(i, (unsigned)n));
    assert_ok(nay_sst_memtable_get(m, key, (size_t)len, NAY_SST_MAX_SEQUENCE, NULL, &v));
    nay_sst_value_free(&v);
  }
  nay_sst_memtable_free(m);
  return ncompared;
}

static void memtables(void **state) {
  (void)state;
  const key_order all[] = {{"ascending keys of one batch", ascending, true},
                           {"descending keys of one batch", descending, true},
                           {"random keys of one batch", shuffled, true},
                           {"ascending keys", ascending, false},
                           {"random keys", shuffled, false},
                           {"versions of one key", one_key, false}};
  for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
    order = all[i];
    growth_check(order.name, cost_of_memtable, 1000);
  }
}

/* ---- tables in memory ---- */

typedef struct tree {
  size_t n;
  const nay_sst **tables;
  nay_sst_memory **bytes;
} tree;

#define ENTRIES 16u

static size_t tree_key(size_t i, char key[32]) { return (size_t)snprintf(key, 32, "%012zu", i); }

static const nay_sst_comparator *user_order = &counted; /* NULL: bytewise, as LevelDB's tables */

/* Table t of n has ENTRIES keys: its own range of them, or every n-th one. */
static void tree_write(tree *t, size_t i, bool disjoint, bool properties) {
  nay_sst_target sink = {.size = sizeof sink};
  nay_sst_writer *w;
  nay_sst_write_options how = {sizeof how, .keys = NAY_SST_KEYS_INTERNAL, .block_bytes = 128,
                               .comparator = user_order, .properties = properties};
  assert_ok(nay_sst_memory_new(NULL, &t->bytes[i]));
  assert_ok(nay_sst_memory_target(t->bytes[i], &sink));
  assert_ok(nay_sst_writer_new_target(&sink, &how, NULL, NULL, &w));
  for (size_t k = 0; k < ENTRIES; k++) {
    char key[32];
    size_t len = tree_key(disjoint ? i * ENTRIES + k : k * t->n + i, key);
    nay_sst_entry v = {sizeof v, key, len, .sequence = 1 + i};
    assert_ok(nay_sst_writer_add_entry(w, &v, "value", 5, NULL));
  }
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  nay_sst_file file = {sizeof file, .read_at = counted_read};
  size_t len;
  file.ctx = (void *)(uintptr_t)nay_sst_memory_bytes(t->bytes[i], &len);
  file.length = len;
  nay_sst_read_options read = {sizeof read, .keys = NAY_SST_KEYS_INTERNAL,
                               .comparator = user_order};
  nay_sst *table;
  assert_ok(nay_sst_open_file(&file, &read, NULL, NULL, &table));
  t->tables[i] = table;
}

static tree tree_make(size_t n, bool disjoint, bool properties) {
  tree t = {.n = n, .tables = calloc(n, sizeof *t.tables), .bytes = calloc(n, sizeof *t.bytes)};
  for (size_t i = 0; i < n; i++) tree_write(&t, i, disjoint, properties);
  ncompared = nread = 0;
  return t;
}

static void tree_free(tree *t) {
  for (size_t i = 0; i < t->n; i++) {
    nay_sst_free((nay_sst *)(uintptr_t)t->tables[i]);
    nay_sst_memory_free(t->bytes[i]);
  }
  free(t->tables);
  free(t->bytes);
}

static nay_sst_lookup *tree_lookup(const tree *t, bool disjoint) {
  nay_sst_lookup *l;
  nay_sst_lookup_level level = {sizeof level, t->tables, t->n, disjoint};
  assert_ok(nay_sst_lookup_new(&level, 1, NULL, NULL, NULL, &l));
  return l;
}

/* ---- lookups ---- */

static uint64_t cost_of_lookup(size_t n) {
  tree t = tree_make(n, true, true);
  nay_sst_lookup *l = tree_lookup(&t, true);
  uint64_t cost = ncompared;
  assert_int_equal(nread, 0); /* the index has the last keys */
  nay_sst_lookup_free(l);
  tree_free(&t);
  return cost;
}

static uint64_t cost_of_gets(size_t n) {
  tree t = tree_make(n, true, true);
  nay_sst_lookup *l = tree_lookup(&t, true);
  nay_sst_value v = {.size = sizeof v};
  ncompared = nread = 0;
  for (size_t i = 0; i < n; i++) {
    char key[32];
    size_t len = tree_key(nay_hash_mix(i) % (n * ENTRIES), key);
    assert_ok(nay_sst_lookup_get(l, key, len, NAY_SST_NEWEST, NULL, &v, NULL));
  }
  assert_true(nread <= 2 * n);
  nay_sst_value_free(&v);
  nay_sst_lookup_free(l);
  tree_free(&t);
  return ncompared;
}

static uint64_t cost_of_batch(size_t n) {
  tree t = tree_make(n, true, true);
  nay_sst_lookup *l = tree_lookup(&t, true);
  char(*text)[32] = calloc(n, sizeof *text);
  const void **keys = calloc(n, sizeof *keys);
  size_t *lens = calloc(n, sizeof *lens);
  nay_sst_value *values = calloc(n, sizeof *values);
  nay_status *statuses = calloc(n, sizeof *statuses);
  for (size_t i = 0; i < n; i++) {
    lens[i] = tree_key(nay_hash_mix(i) % (n * ENTRIES), text[i]);
    keys[i] = text[i];
    values[i].size = sizeof values[i];
  }
  ncompared = nread = 0;
  assert_ok(nay_sst_lookup_get_many(l, keys, lens, n, NAY_SST_MAX_SEQUENCE, NULL, values, statuses,
                                    NULL));
  for (size_t i = 0; i < n; i++) nay_sst_value_free(&values[i]);
  free(text);
  free(keys);
  free(lens);
  free(values);
  free(statuses);
  nay_sst_lookup_free(l);
  tree_free(&t);
  return ncompared + nread;
}

/* n changes of one lookup, each of which takes a table out and puts the one before it back. */
static uint64_t cost_of_edits(size_t n) {
  tree t = tree_make(n, true, true);
  nay_sst_lookup *l = tree_lookup(&t, true);
  ncompared = nread = 0;
  for (size_t i = 0; i < n; i++) {
    const nay_sst *out = t.tables[nay_hash_mix(i) % n], *back = t.tables[nay_hash_mix(i - 1) % n];
    nay_sst_lookup_edit e = {sizeof e, .removed = &out, .nremoved = 1, .added = &back};
    nay_sst_lookup *next;
    e.nadded = i != 0 && back != out;
    if (i != 0 && back == out) continue;
    assert_ok(nay_sst_lookup_new_edited(l, &e, 1, NULL, NULL, &next));
    nay_sst_lookup_free(l);
    l = next;
  }
  assert_int_equal(nread, 0);
  nay_sst_lookup_free(l);
  tree_free(&t);
  return ncompared;
}

/* In bytewise order an index shortens the last key, unless the table has properties: then no block
 * is read to check a level. */
static void assert_reads(bool properties, uint64_t least, uint64_t most) {
  user_order = NULL;
  tree t = tree_make(200, true, properties);
  user_order = &counted;
  nay_sst_lookup *l = tree_lookup(&t, true);
  assert_true(nread >= least && nread <= most);
  nread = 0;
  const nay_sst *gone = t.tables[100];
  nay_sst_lookup_edit out = {sizeof out, .removed = &gone, .nremoved = 1};
  nay_sst_lookup_edit in = {sizeof in, .added = &gone, .nadded = 1};
  nay_sst_lookup *without, *with;
  assert_ok(nay_sst_lookup_new_edited(l, &out, 1, NULL, NULL, &without));
  assert_int_equal(nread, 0);
  assert_ok(nay_sst_lookup_new_edited(without, &in, 1, NULL, NULL, &with));
  assert_true(nread <= (properties ? 0 : 2)); /* its own last block, and that of the one before */
  nay_sst_lookup_free(with);
  nay_sst_lookup_free(without);
  nay_sst_lookup_free(l);
  tree_free(&t);
}

static void lookups(void **state) {
  (void)state;
  assert_reads(true, 0, 0);
  assert_reads(false, 150, 199);
  growth_check("a lookup of n tables", cost_of_lookup, 100);
  growth_check("n gets from n tables", cost_of_gets, 100);
  growth_check("a batch of n gets from n tables", cost_of_batch, 100);
  growth_check("n edits of n tables", cost_of_edits, 100);
}

/* ---- merging iterators ---- */

static bool disjoint_tables;

static uint64_t cost_of_scan(size_t n) {
  tree t = tree_make(n, disjoint_tables, false);
  nay_sst_lookup *l = tree_lookup(&t, disjoint_tables);
  flaky heap = {.fail_at = -1};
  nay_allocator a = flaky_allocator(&heap);
  nay_sst_scan *m;
  size_t seen = 0, back = 0;
  ncompared = nread = 0;
  assert_ok(nay_sst_scan_new(l, NULL, &a, NULL, &m));
  for (nay_status s = nay_sst_scan_first(m); s == NAY_OK; s = nay_sst_scan_next(m)) seen++;
  for (nay_status s = nay_sst_scan_last(m); s == NAY_OK; s = nay_sst_scan_prev(m)) back++;
  assert_true(seen == n * ENTRIES && back == seen);
  nay_sst_scan_free(m);
  nay_sst_lookup_free(l);
  tree_free(&t);
  return ncompared + nread + (uint64_t)heap.calls;
}

static uint64_t cost_of_seeks(size_t n) {
  tree t = tree_make(n, true, false);
  nay_sst_lookup *l = tree_lookup(&t, true);
  nay_sst_scan *m;
  ncompared = nread = 0;
  assert_ok(nay_sst_scan_new(l, NULL, NULL, NULL, &m));
  for (size_t i = 0; i < n; i++) {
    char key[32];
    size_t len = tree_key(nay_hash_mix(i) % (n * ENTRIES), key);
    assert_ok(nay_sst_scan_seek(m, key, len));
  }
  nay_sst_scan_free(m);
  nay_sst_lookup_free(l);
  tree_free(&t);
  return ncompared + nread;
}

static void merging_iterators(void **state) {
  (void)state;
  disjoint_tables = true;
  growth_check("a scan of n disjoint tables", cost_of_scan, 50);
  disjoint_tables = false;
  growth_check("a scan of n overlapping tables", cost_of_scan, 50);
  growth_check("n seeks in n disjoint tables", cost_of_seeks, 100);
}

/* ---- compactions ---- */

static const nay_sst_target *next_memory(void *ctx) {
  static nay_sst_target sink;
  nay_sst_memory *memory = ctx; /* each table replaces the one before it */
  sink = (nay_sst_target){.size = sizeof sink};
  assert_ok(nay_sst_memory_target(memory, &sink));
  return &sink;
}

static uint64_t compact_in_ranges; /* bytes of a table; 0: there is one */

static uint64_t cost_of_compaction(size_t n) {
  tree t = tree_make(n, disjoint_tables, false);
  flaky heap = {.fail_at = -1};
  nay_allocator a = flaky_allocator(&heap);
  nay_sst_memory *memory;
  assert_ok(nay_sst_memory_new(NULL, &memory));
  nay_sst_outputs to = {sizeof to, .next_target = next_memory, .ctx = memory};
  nay_sst_compact_options how = {sizeof how, .target_bytes = compact_in_ranges};
  nay_sst_compact_stats stats = {.size = sizeof stats};
  assert_ok(nay_sst_compact_to(t.tables, n, &to, &how, &a, NULL, &stats));
  assert_int_equal(stats.written, n * ENTRIES);
  nay_sst_memory_free(memory);
  tree_free(&t);
  return ncompared + nread + (uint64_t)heap.calls;
}

static void compactions(void **state) {
  (void)state;
  disjoint_tables = true;
  growth_check("a compaction of n disjoint tables", cost_of_compaction, 50);
  compact_in_ranges = 500; /* as many ranges as tables */
  growth_check("a compaction of n disjoint tables in n ranges", cost_of_compaction, 50);
  disjoint_tables = false;
  compact_in_ranges = 0;
  growth_check("a compaction of n overlapping tables", cost_of_compaction, 50);
}

int main(void) {
  const test_case tests[] = {
      TEST(memtables),
      TEST(lookups),
      TEST(merging_iterators),
      TEST(compactions),
  };
  return run_all(tests);
}
