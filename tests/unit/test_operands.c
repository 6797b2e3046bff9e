/*
 * test_operands.c - what is special about reading merge operands: operators that refuse, versions
 * that are not older, filters on the way, memory that is not there, thousands of operands.
 * test_operand_model.c has the answers.
 */
#include "nay_sst_cache.h"
#include "nay_sst_compact.h"
#include "nay_sst_iter.h"
#include "support/append_operator.h"
#include "support/flaky.h"
#include "support/sst_numbers.h"

#include "support/sst_memtable.h"

#define MOST 4u

/* A write of the key: '=', '-' or '+' and its text, at a sequence number. */
typedef struct version {
  const char *key;
  uint64_t sequence;
  const char *text;
} version;

typedef struct tree {
  nay_sst *at[MOST];
  size_t n;
  nay_sst_lookup *lookup;
} tree;

/* ---- trees ---- */

/* Refuses to combine anything with "!". */
static nay_status choosy(void *ctx, const nay_sst_operands *o, void *out, size_t room,
                         size_t *len) {
  if (memchr(o->newer, '!', o->newer_len) != NULL) return NAY_ECORRUPT;
  if (o->older != NULL && memchr(o->older, '!', o->older_len) != NULL) return NAY_ECORRUPT;
  return append_operator(ctx, o, out, room, len);
}

static nay_sst_entry version_of(const version *v) {
  return (nay_sst_entry){sizeof(nay_sst_entry), v->key, strlen(v->key), v->sequence,
                         .type = v->text[0] == '-'   ? NAY_SST_DELETE
                                 : v->text[0] == '+' ? NAY_SST_MERGE
                                                     : NAY_SST_PUT};
}

static nay_sst *table_of(const version *v, size_t n, const nay_sst_write_options *write,
                         const nay_sst_read_options *read, const nay_allocator *a) {
  char path[TEMP_MAX];
  nay_sst_writer *w;
  nay_sst *t;
  assert_ok(nay_sst_writer_new(temp_path(path, "operands.ldb"), write, NULL, NULL, &w));
  for (size_t i = 0; i < n; i++) {
    nay_sst_entry made = version_of(&v[i]);
    assert_ok(nay_sst_writer_add_entry(w, &made, v[i].text, strlen(v[i].text), NULL));
  }
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  assert_ok(nay_sst_open(path, read, a, NULL, &t));
  unlink(path);
  return t;
}

static const nay_sst_write_options write_internal = {
    .size = sizeof write_internal, .keys = NAY_SST_KEYS_INTERNAL, .block_bytes = 1};
static const nay_sst_read_options read_internal = {.size = sizeof read_internal,
                                                   .keys = NAY_SST_KEYS_INTERNAL};

static void tree_look(tree *t, nay_sst_merge_operator merge, const nay_allocator *a) {
  nay_sst_lookup_level all = {sizeof all, .tables = (const nay_sst *const *)t->at, .n = t->n};
  nay_sst_lookup_options how = {sizeof how, .merge = merge};
  assert_ok(nay_sst_lookup_new(&all, 1, &how, a, NULL, &t->lookup));
}

static void tree_free(tree *t) {
  nay_sst_lookup_free(t->lookup);
  for (size_t i = 0; i < t->n; i++) nay_sst_free(t->at[i]);
}

static nay_status get(const tree *t, const char *key, nay_diag *diag, nay_sst_value *v,
                      size_t *table) {
  return nay_sst_lookup_get(t->lookup, key, strlen(key), NAY_SST_NEWEST, diag, v, table);
}

static void assert_get(const tree *t, const char *key, const char *want) {
  nay_sst_value v = {.size = sizeof v};
  assert_ok(get(t, key, NULL, &v, NULL));
  assert_int_equal(v.len, strlen(want));
  assert_memory_equal(v.bytes, want, v.len);
  nay_sst_value_free(&v);
}

/* Every call that reads says the same of a key, and tells why. The iterator stays at the error, and
 * passes it by a seek to `after`. */
static void assert_fails(const tree *t, const char *key, const char *after, nay_status want,
                         const char *why) {
  nay_sst_value v = {.size = sizeof v};
  nay_diag diag = {.what = NULL};
  nay_status one;
  const void *at = key;
  size_t len = strlen(key);
  assert_status(get(t, key, &diag, &v, NULL), want);
  assert_non_null(strstr(diag.what, why));
  diag.what = NULL;
  assert_status(
      nay_sst_lookup_get_many(t->lookup, &at, &len, 1, NAY_SST_MAX_SEQUENCE, &diag, &v, &one, NULL),
      want);
  assert_status(one, want);
  assert_non_null(strstr(diag.what, why));
  nay_sst_value_free(&v);
  nay_sst_scan *m;
  assert_ok(nay_sst_scan_new(t->lookup, NULL, NULL, NULL, &m));
  for (int back = 0; back < 2; back++) {
    nay_status status =
        back ? nay_sst_scan_seek_for_prev(m, key, len) : nay_sst_scan_seek(m, key, len);
    assert_status(status, want);
    assert_non_null(strstr(nay_sst_scan_diag(m)->what, why));
    assert_ptr_equal(nay_sst_scan_table(m), t->at[0]); /* of the newest operand */
    assert_status(nay_sst_scan_next(m), want);
    assert_status(nay_sst_scan_prev(m), want);
    assert_ok(nay_sst_scan_seek(m, after, strlen(after)));
    assert_status(nay_sst_scan_prev(m), want);
  }
  nay_sst_scan_free(m);
}

/* ---- errors ---- */

static void operators_may_refuse(void **state) {
  (void)state;
  static const version newer[] = {{"a", 9, "+1"}, {"b", 9, "+!"}, {"c", 9, "+1"}, {"d", 9, "+1"},
                                  {"e", 9, "+1"}, {"f", 9, "+1"}, {"g", 9, "=!"}},
                       older[] = {{"a", 5, "=1"}, {"c", 5, "+!"}, {"d", 5, "=!"}, {"e", 5, "-"},
                                  {"e", 4, "=!"}, {"f", 5, "=2"}, {"f", 4, "+!"}};
  tree t = {.n = 2};
  t.at[0] = table_of(newer, 7, &write_internal, &read_internal, NULL);
  t.at[1] = table_of(older, 7, &write_internal, &read_internal, NULL);
  tree_look(&t, choosy, NULL);
  assert_fails(&t, "b", "e", NAY_ECORRUPT, "could not be combined"); /* with nothing */
  assert_fails(&t, "c", "e", NAY_ECORRUPT, "could not be combined"); /* with an operand */
  assert_fails(&t, "d", "e", NAY_ECORRUPT, "could not be combined"); /* with a value */
  assert_get(&t, "a", "=1+1");
  assert_get(&t, "e", "+1"); /* what a deletion or a value hides is not combined */
  assert_get(&t, "f", "=2+1");
  assert_get(&t, "g", "=!");
  tree_free(&t);
}

/* A sequence number is that of one write: the same operand in two tables, or an operand in an older
 * table that is newer, is not counted twice but refused, as in a compaction. */
static void versions_must_be_older(void **state) {
  (void)state;
  static const version newer[] = {{"a", 7, "+1"}, {"b", 9, "+1"}, {"b", 7, "+1"}, {"c", 7, "+1"},
                                  {"d", 9, "+1"}, {"d", 7, "+1"}, {"z", 7, "=1"}},
                       older[] = {{"a", 7, "+1"},
                                  {"b", 8, "=1"},
                                  {"c", 7, "-"},
                                  {"d", 7, "+1"},
                                  {"z", 7, "+1"}};
  static const version typed[] = {{"a", 7, "+1"}, {"a", 7, "=1"}, {"z", 1, "=1"}};
  char path[TEMP_MAX];
  const char *why = "not older";
  tree t = {.n = 2};
  t.at[0] = table_of(newer, 7, &write_internal, &read_internal, NULL);
  t.at[1] = table_of(older, 5, &write_internal, &read_internal, NULL);
  tree_look(&t, append_operator, NULL);
  assert_fails(&t, "a", "z", NAY_ECORRUPT, why);
  assert_fails(&t, "c", "z", NAY_ECORRUPT, why);
  assert_fails(&t, "d", "z", NAY_ECORRUPT, why);
  nay_sst_value v = {.size = sizeof v};
  nay_diag diag = {.what = NULL};
  assert_status(get(&t, "b", &diag, &v, NULL), NAY_ECORRUPT);
  assert_get(&t, "z", "=1"); /* a value is the same however often it is there */
  nay_sst_compact_options how = {sizeof how, .merge = append_operator};
  temp_path(path, "twice.ldb");
  assert_status(nay_sst_compact((const nay_sst *const *)t.at, 2, path, &how, NULL, &diag, NULL),
                NAY_ECORRUPT);
  assert_non_null(strstr(diag.what, why));
  assert_int_equal(access(path, F_OK), -1);
  tree_free(&t);
  t = (tree){.n = 1};
  t.at[0] = table_of(typed, 3, &write_internal, &read_internal, NULL);
  tree_look(&t, append_operator, NULL);
  assert_fails(&t, "a", "z", NAY_ECORRUPT, why);
  tree_free(&t);
  nay_sst_value_free(&v);
}

/* The table that below_an_operand reads: the value `text` is damaged. */
static nay_sst *damaged_of(const version *v, size_t n, const char *text, uint8_t bytes[4096]) {
  char path[TEMP_MAX];
  nay_sst_writer *w;
  nay_sst *t;
  assert_ok(nay_sst_writer_new(temp_path(path, "below.ldb"), &write_internal, NULL, NULL, &w));
  for (size_t i = 0; i < n; i++) {
    nay_sst_entry made = version_of(&v[i]);
    assert_ok(nay_sst_writer_add_entry(w, &made, v[i].text, strlen(v[i].text), NULL));
  }
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  size_t len = fread(bytes, 1, 4096, f), at = 0;
  fclose(f);
  unlink(path);
  while (memcmp(bytes + at, text, strlen(text)) != 0) at++;
  bytes[at] ^= 1;
  assert_ok(nay_sst_view(bytes, len, &read_internal, NULL, NULL, &t));
  return t;
}

/* A table below that is damaged is an error of that table, by every call: in the block of its first
 * version, or of the second. */
static void damage_below_an_operand(void **state) {
  (void)state;
  static const version newer[] = {{"k", 9, "+9"}, {"z", 9, "=9"}},
                       older[] = {{"k", 5, "+5"}, {"k", 4, "=4"}};
  for (unsigned i = 0; i < 2; i++) {
    uint8_t bytes[4096];
    nay_sst_value v = {.size = sizeof v};
    nay_diag diag = {.what = NULL};
    nay_sst_scan *m;
    size_t table = 9;
    tree t = {.n = 2};
    t.at[0] = table_of(newer, 2, &write_internal, &read_internal, NULL);
    t.at[1] = damaged_of(older, 2, older[i].text, bytes);
    tree_look(&t, append_operator, NULL);
    assert_status(get(&t, "k", &diag, &v, &table), NAY_ECORRUPT);
    assert_true(table == 1 && strstr(diag.what, "checksum") != NULL);
    assert_ok(nay_sst_scan_new(t.lookup, NULL, NULL, NULL, &m));
    assert_status(nay_sst_scan_first(m), NAY_ECORRUPT);
    assert_ptr_equal(nay_sst_scan_table(m), t.at[1]);
    assert_ok(nay_sst_scan_seek(m, "l", 1));
    assert_status(nay_sst_scan_prev(m), NAY_ECORRUPT);
    assert_ptr_equal(nay_sst_scan_table(m), t.at[1]);
    nay_sst_scan_free(m);
    nay_sst_value_free(&v);
    tree_free(&t);
  }
}

static void no_operator(void **state) {
  (void)state;
  static const version one[] = {{"a", 7, "+1"}, {"b", 7, "=1"}};
  tree t = {.n = 1};
  t.at[0] = table_of(one, 2, &write_internal, &read_internal, NULL);
  tree_look(&t, NULL, NULL);
  assert_fails(&t, "a", "b", NAY_ENOTSUP, "no merge operator");
  nay_sst_value v = {.size = sizeof v};
  nay_sst_value_free(&v);
  tree_free(&t);
}

/* ---- filters ---- */

typedef struct told {
  nay_sst_lookup_what what[32];
  size_t table[32];
  unsigned n;
} told;

static nay_status tell(void *ctx, const nay_sst_lookup_step *step) {
  told *s = ctx;
  assert_true(s->n < 32);
  s->what[s->n] = step->what;
  s->table[s->n++] = step->table;
  return NAY_OK;
}

/* A nay between two operands skips its own table; operands over several blocks are one table's. */
static void a_nay_skips_one_table(void **state) {
  (void)state;
  static const version at0[] = {{"k", 9, "+9"}, {"k", 8, "+8"}},
                       at1[] = {{"a", 7, "=a"}, {"z", 7, "=z"}},
                       at2[] = {{"k", 3, "+3"}, {"k", 2, "=2"}, {"k", 1, "+1"}},
                       at3[] = {{"k", 0, "=0"}};
  static const nay_sst_lookup_what want[] = {
      NAY_SST_LOOKUP_FILTER_MAYBE, NAY_SST_LOOKUP_INDEX,        NAY_SST_LOOKUP_BLOCK,
      NAY_SST_LOOKUP_OPERAND,      NAY_SST_LOOKUP_BLOCK,        NAY_SST_LOOKUP_OPERAND,
      NAY_SST_LOOKUP_FILTER_NAY,   NAY_SST_LOOKUP_FILTER_MAYBE, NAY_SST_LOOKUP_INDEX,
      NAY_SST_LOOKUP_BLOCK,        NAY_SST_LOOKUP_OPERAND,      NAY_SST_LOOKUP_BLOCK,
      NAY_SST_LOOKUP_FOUND};
  static const size_t tables[] = {0, 0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 2, 2};
  const nay_policy *policies[] = {&exact};
  nay_sst_write_options write = write_internal;
  nay_sst_read_options read = read_internal;
  write.filter = NAY_SST_FULL_FILTER;
  write.policy = &exact;
  read.policies = policies;
  read.npolicies = 1;
  tree t = {.n = 4};
  t.at[0] = table_of(at0, 2, &write, &read, NULL);
  t.at[1] = table_of(at1, 2, &write, &read, NULL);
  t.at[2] = table_of(at2, 3, &write, &read, NULL);
  t.at[3] = table_of(at3, 1, &write, &read, NULL);
  tree_look(&t, append_operator, NULL);
  told seen = {.n = 0};
  nay_sst_value v = {.size = sizeof v};
  size_t table = 9;
  assert_ok(nay_sst_lookup_explain(t.lookup, "k", 1, 9, tell, &seen, NULL, &v, &table));
  assert_true(v.len == 8 && memcmp(v.bytes, "=2+3+8+9", 8) == 0 && v.sequence == 9 && table == 0);
  assert_int_equal(seen.n, sizeof want / sizeof *want);
  for (unsigned i = 0; i < seen.n; i++) {
    assert_true(seen.what[i] == want[i] && seen.table[i] == tables[i]);
  }
  nay_sst_counters c = {.size = sizeof c};
  assert_ok(nay_sst_lookup_stats(t.lookup, &c));
  assert_true(c.gets == 1 && c.operands == 3 && c.filter_useful == 1 && c.block_reads == 4);
  assert_true(counters_of(t.at[3]).gets == 0 && counters_of(t.at[2]).operands == 1);
  nay_sst_value_free(&v);
  tree_free(&t);
}

/* ---- memory ---- */

enum { GET, GET_MANY, FORWARD, BACKWARD, N_CALLS };

/* One call of each kind; at NAY_OK its value is right. */
static nay_status call_one(const tree *t, unsigned what, const nay_allocator *a, nay_sst_value *v) {
  static const char want[] = "=1+2+3+4+5";
  const void *key = "k";
  size_t len = 1;
  nay_status status, one;
  nay_sst_scan *m = NULL;
  switch (what) {
    case GET:
      status = nay_sst_lookup_get(t->lookup, key, len, NAY_SST_NEWEST, NULL, v, NULL);
      break;
    case GET_MANY:
      status = nay_sst_lookup_get_many(t->lookup, &key, &len, 1, 9, NULL, v, &one, NULL);
      assert_status(status, one);
      break;
    default:
      status = nay_sst_scan_new(t->lookup, NULL, a, NULL, &m);
      if (status == NAY_OK) status = what == FORWARD ? nay_sst_scan_first(m) : nay_sst_scan_last(m);
      if (status == NAY_OK) status = nay_sst_scan_pin(m, v);
      nay_sst_scan_free(m);
      break;
  }
  if (status == NAY_OK) {
    assert_int_equal(v->len, sizeof want - 1);
    assert_memory_equal(v->bytes, want, v->len);
  }
  return status;
}

/* Each allocation fails in turn, once or for ever: an error, no leak, and the same value works in
 * the next call. */
static void every_allocation_may_fail(void **state) {
  (void)state;
  static const version at0[] = {{"k", 5, "+5"}, {"k", 4, "+4"}}, at1[] = {{"k", 3, "+3"}},
                       at2[] = {{"k", 2, "+2"}, {"k", 1, "=1"}};
  for (unsigned what = 0; what < 3 * N_CALLS; what++) {
    flaky heap = {.fail_at = -1};
    nay_allocator a = flaky_allocator(&heap);
    nay_sst_read_options read = read_internal;
    nay_sst_cache *cache = NULL;
    tree t = {.n = 3};
    if (what % 3 != 0) read.flags = NAY_SST_PREAD;
    if (what % 3 == 2)
      assert_ok(
          nay_sst_cache_new(&(nay_sst_cache_options){sizeof(nay_sst_cache_options), 4096, 0, false},
                            &a, NULL, &cache));
    read.cache = cache;
    t.at[0] = table_of(at0, 2, &write_internal, &read, &a);
    t.at[1] = table_of(at1, 1, &write_internal, &read, &a);
    t.at[2] = table_of(at2, 2, &write_internal, &read, &a);
    tree_look(&t, append_operator, &a);
    nay_status status = NAY_ENOMEM;
    for (long at = 0; status != NAY_OK; at++) {
      nay_sst_value v = {.size = sizeof v};
      flaky_arm(&heap, at, at % 2 != 0);
      status = call_one(&t, what / 3, &a, &v);
      if (status != NAY_OK) assert_status(status, NAY_ENOMEM);
      flaky_arm(&heap, -1, false);
      assert_ok(call_one(&t, what / 3, &a, &v));
      nay_sst_value_free(&v);
      assert_true(at < 200);
    }
    tree_free(&t);
    nay_sst_cache_free(cache);
    assert_true(flaky_is_clean(&heap));
  }
}

/* Numbers that are added: the value stays as short as it is. */
static nay_status add(void *ctx, const nay_sst_operands *o, void *out, size_t room, size_t *len) {
  uint64_t a = 0, b = 0;
  (void)ctx;
  *len = sizeof a;
  if (o->newer_len != sizeof a || (o->older != NULL && o->older_len != sizeof b))
    return NAY_ECORRUPT;
  if (room < sizeof a) return NAY_EBUFFER;
  memcpy(&a, o->newer, sizeof a);
  if (o->older != NULL) memcpy(&b, o->older, sizeof b);
  a += b;
  memcpy(out, &a, sizeof a);
  return NAY_OK;
}

/* However many operands there are, a get and an iterator need memory for two. */
static void memory_is_bounded(void **state) {
  (void)state;
  enum { N = 20000 };
  char path[TEMP_MAX];
  nay_sst_writer *w;
  nay_sst *table;
  nay_sst_write_options how = {sizeof how, .keys = NAY_SST_KEYS_INTERNAL};
  assert_ok(nay_sst_writer_new(temp_path(path, "many.ldb"), &how, NULL, NULL, &w));
  for (uint64_t s = N; s > 0; s--) {
    nay_sst_entry v = {sizeof v, "counter", 7, s, NAY_SST_MERGE, 0};
    assert_ok(nay_sst_writer_add_entry(w, &v, (const char *)&s, sizeof s, NULL));
  }
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  nay_sst_read_options read = {sizeof read, .keys = NAY_SST_KEYS_INTERNAL, .flags = NAY_SST_PREAD};
  flaky heap = {.fail_at = -1};
  nay_allocator a = flaky_allocator(&heap);
  assert_ok(nay_sst_open(path, &read, &a, NULL, &table));
  unlink(path);
  tree t = {.at = {table}, .n = 1};
  tree_look(&t, add, &a);
  nay_sst_value v = {.size = sizeof v};
  size_t before = heap.live;
  uint64_t sum;
  heap.peak = before;
  assert_ok(nay_sst_lookup_get(t.lookup, "counter", 7, N - 1, NULL, &v, NULL));
  memcpy(&sum, v.bytes, sizeof sum);
  assert_true(v.len == sizeof sum && sum == (uint64_t)N * (N - 1) / 2 && v.sequence == N - 1);
  assert_true(heap.peak - before < 16384);
  nay_sst_scan *m;
  assert_ok(nay_sst_scan_new(t.lookup, NULL, &a, NULL, &m));
  assert_ok(nay_sst_scan_last(m));
  assert_ok(nay_sst_scan_pin(m, &v));
  memcpy(&sum, v.bytes, sizeof sum);
  assert_int_equal(sum, (uint64_t)N * (N + 1) / 2);
  assert_status(nay_sst_scan_prev(m), NAY_EEND);
  assert_true(heap.peak - before < 40000);
  nay_sst_scan_free(m);
  nay_sst_value_free(&v);
  tree_free(&t);
  assert_true(flaky_is_clean(&heap));
}

int main(void) {
  const test_case tests[] = {
      TEST(operators_may_refuse), TEST(versions_must_be_older), TEST(damage_below_an_operand),
      TEST(no_operator),          TEST(a_nay_skips_one_table),  TEST(every_allocation_may_fail),
      TEST(memory_is_bounded),
  };
  return run_all(tests);
}
