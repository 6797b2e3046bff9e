/*
 * test_merge_operands.c - merge operands, and types that LevelDB does not have, between values.
 *
 * The key b has three versions of every combination of types, between a and c; they are in one
 * table, in several, in sources, or in both. A walk in either direction, a seek and a get see the
 * newest version that is not above their sequence number: an operand there is combined with what is
 * below it, or without an operator an error of the table that has it; an operand below a value is
 * nothing.
 */
#include "support/merge_source.h"
#include "support/temp.h"
#include "support/test.h"

#define N_ENTRIES 5u
#define OTHER_TYPE 7u /* RocksDB's single deletion; the writer refuses it */

typedef struct entry {
  char user[2];
  uint64_t sequence;
  unsigned type; /* 0: a deletion, 1: a value, 2: an operand */
  unsigned child;
} entry;

/* ---- sources ---- */

typedef struct memtable {
  entry at[N_ENTRIES];
  size_t n, present;
  bool stable;
  uint8_t keys[N_ENTRIES][9];
  uint8_t key[9];
  char value[2];
} memtable;

static nay_status memtable_at(memtable *m, size_t i) {
  m->present = i < m->n ? i : m->n;
  memset(m->key, 0xee, sizeof m->key); /* what was there is gone */
  memset(m->value, 0xee, sizeof m->value);
  if (i >= m->n) return NAY_EEND;
  memcpy(m->key, m->keys[i], sizeof m->key);
  memcpy(m->value, m->at[i].user, sizeof m->value);
  return NAY_OK;
}

static nay_status memtable_first(void *s) { return memtable_at(s, 0); }
static nay_status memtable_last(void *s) { return memtable_at(s, ((memtable *)s)->n - 1); }
static nay_status memtable_next(void *s) { return memtable_at(s, ((memtable *)s)->present + 1); }
static nay_status memtable_prev(void *s) { return memtable_at(s, ((memtable *)s)->present - 1); }

static nay_status memtable_seek(void *s, const void *key, size_t len) {
  memtable *m = s;
  size_t i = 0;
  assert_int_equal(len, 1);
  while (i < m->n && m->at[i].user[0] < *(const char *)key) i++;
  return memtable_at(m, i);
}

static nay_status memtable_seek_for_prev(void *s, const void *key, size_t len) {
  memtable *m = s;
  size_t i = m->n;
  assert_int_equal(len, 1);
  while (i > 0 && m->at[i - 1].user[0] > *(const char *)key) i--;
  return memtable_at(m, i - 1);
}

static const void *memtable_key(void *s, size_t *len) {
  memtable *m = s;
  *len = sizeof m->key;
  return m->stable ? m->keys[m->present] : m->key;
}

static const void *memtable_value(void *s, size_t *len) {
  memtable *m = s;
  *len = 1;
  return m->stable ? m->at[m->present].user : m->value;
}

static void memtable_make(memtable *m, const entry *all, unsigned child, bool stable) {
  *m = (memtable){.stable = stable};
  for (unsigned i = 0; i < N_ENTRIES; i++) {
    if (all[i].child != child) continue;
    nay_sst_entry v = {sizeof v, all[i].user, 1, all[i].sequence, NAY_SST_PUT, 0};
    m->at[m->n] = all[i];
    assert_ok(nay_sst_key_join(&v, m->keys[m->n], sizeof m->keys[m->n], NULL));
    m->keys[m->n++][1] = (uint8_t)all[i].type;
  }
}

static nay_sst_source source_of(memtable *m) {
  return (nay_sst_source)MERGE_SOURCE(memtable, .ctx = m, .stable = m->stable);
}

/* ---- trees ---- */

/* Where the entries a, b at 4, 3 and 2, and c are: the number of a child, newest first. */
typedef struct layout {
  unsigned nsources, ntables;
  bool stable;
  unsigned child[N_ENTRIES];
} layout;

static const layout layouts[] = {
    {0, 1, false, {0, 0, 0, 0, 0}}, /* one table */
    {0, 3, false, {2, 0, 1, 2, 2}}, /* a table for each version */
    {1, 0, false, {0, 0, 0, 0, 0}}, /* one source */
    {1, 0, true, {0, 0, 0, 0, 0}},  {2, 0, false, {1, 0, 1, 1, 0}},
    {1, 1, false, {1, 0, 1, 1, 1}}, /* the newest version in a source, the others in a table */
    {1, 2, true, {2, 0, 0, 1, 2}},
};

typedef struct tree {
  const layout *is;
  bool merges;          /* there is an operator */
  entry all[N_ENTRIES]; /* in order */
  memtable memtables[2];
  nay_sst_source sources[2];
  nay_sst *tables[3];
  nay_sst_lookup *lookup;
} tree;

static nay_sst *write_table(const entry *all, unsigned child) {
  char path[TEMP_MAX];
  nay_sst_writer *w;
  nay_sst *t;
  nay_sst_write_options how = {sizeof how, .keys = NAY_SST_KEYS_INTERNAL, .block_bytes = 1};
  nay_sst_read_options read = {sizeof read, .keys = NAY_SST_KEYS_INTERNAL};
  assert_ok(nay_sst_writer_new(temp_path(path, "operands.ldb"), &how, NULL, NULL, &w));
  for (unsigned i = 0; i < N_ENTRIES; i++) {
    const entry *e = &all[i];
    if (e->child != child) continue;
    nay_sst_entry v = {sizeof v, e->user, 1, e->sequence,
                       .type = e->type == 0   ? NAY_SST_DELETE
                               : e->type == 2 ? NAY_SST_MERGE
                                              : NAY_SST_PUT};
    assert_ok(nay_sst_writer_add_entry(w, &v, e->user, 1, NULL));
  }
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  assert_ok(nay_sst_open(path, &read, NULL, NULL, &t));
  unlink(path);
  return t;
}

/* One b for each version that counts. */
static nay_status append(void *ctx, const nay_sst_operands *o, void *out, size_t room,
                         size_t *len) {
  (void)ctx;
  assert_true(o->key_len == 1 && *(const char *)o->key == 'b' && (o->base || o->older != NULL));
  *len = o->older_len + o->newer_len;
  if (*len > room) return NAY_EBUFFER;
  memset(out, 'b', *len);
  return NAY_OK;
}

/* false: a table would have a type that the writer refuses. */
static bool tree_make(tree *t, const layout *is, const unsigned types[3], bool merges) {
  const entry all[N_ENTRIES] = {{"a", 1, 1, 0},
                                {"b", 4, types[0], 0},
                                {"b", 3, types[1], 0},
                                {"b", 2, types[2], 0},
                                {"c", 1, 1, 0}};
  memcpy(t->all, all, sizeof all);
  t->is = is;
  t->merges = merges;
  for (unsigned i = 0; i < N_ENTRIES; i++) {
    t->all[i].child = is->child[i];
    if (all[i].type == OTHER_TYPE && is->child[i] >= is->nsources) return false;
  }
  for (unsigned i = 0; i < is->nsources; i++) {
    memtable_make(&t->memtables[i], t->all, i, is->stable);
    t->sources[i] = source_of(&t->memtables[i]);
  }
  for (unsigned i = 0; i < is->ntables; i++) t->tables[i] = write_table(t->all, is->nsources + i);
  nay_sst_lookup_level one = {sizeof one, (const nay_sst *const *)t->tables, is->ntables, false};
  nay_sst_lookup_options how = {sizeof how, .merge = merges ? append : NULL};
  assert_ok(nay_sst_lookup_new(&one, 1, &how, NULL, NULL, &t->lookup));
  return true;
}

static void tree_free(tree *t) {
  nay_sst_lookup_free(t->lookup);
  for (unsigned i = 0; i < t->is->ntables; i++) nay_sst_free(t->tables[i]);
}

/* ---- what a reader must see ---- */

/* The version of b; NULL: there is none. */
static const entry *newest_at(const tree *t, uint64_t sequence) {
  for (unsigned i = 1; i < 4; i++) {
    if (t->all[i].sequence <= sequence) return &t->all[i];
  }
  return NULL;
}

/* How long the value of that version is, with those below it; 0: it is an error of *failed. */
static size_t value_len_of(const tree *t, const entry *b, const entry **failed) {
  size_t len = 1;
  *failed = b;
  if (b->type > 2 || (b->type == 2 && !t->merges)) return 0;
  for (; b->type == 2 && b < &t->all[3]; len++) {
    b++;
    *failed = b;
    if (b->type == 0) break;
    if (b->type > 2) return 0;
  }
  return len;
}

static const nay_sst *table_of(const tree *t, const entry *e) {
  return e->child < t->is->nsources ? NULL : t->tables[e->child - t->is->nsources];
}

static void assert_value(nay_sst_scan *m, char user, size_t want) {
  size_t len, value_len;
  nay_sst_value pin = {.size = sizeof pin};
  const char *key = nay_sst_scan_key(m, &len), *value = nay_sst_scan_value(m, &value_len);
  assert_true((nay_sst_scan_key(m, &(size_t){0}) != NULL) && len == 1 && key[0] == user &&
              value_len == want);
  for (size_t i = 0; i < want; i++) assert_true(value[i] == user);
  assert_ok(nay_sst_scan_pin(m, &pin));
  assert_int_equal(pin.len, want);
  assert_memory_equal(pin.bytes, value, want);
  nay_sst_value_free(&pin);
}

static void assert_at(nay_sst_scan *m, char user) { assert_value(m, user, 1); }

/* The iterator was moved to b, or past it to `behind`. */
static void assert_b(const tree *t, nay_sst_scan *m, nay_status status, const entry *b,
                     bool keep_deletions, char behind) {
  if (b == NULL || (b->type == 0 && !keep_deletions)) {
    assert_ok(status);
    assert_at(m, behind);
    return;
  }
  const entry *failed;
  size_t len = value_len_of(t, b, &failed);
  if (len == 0) {
    assert_status(status, NAY_ENOTSUP);
    assert_non_null(nay_sst_scan_diag(m)->what);
    assert_ptr_equal(nay_sst_scan_table(m), table_of(t, failed));
  } else {
    nay_sst_entry v = {.size = sizeof v};
    assert_ok(status);
    assert_value(m, 'b', len);
    assert_ok(nay_sst_scan_entry(m, &v));
    assert_true(v.sequence == b->sequence &&
                v.type == (b->type == 0 ? NAY_SST_DELETE : NAY_SST_PUT));
    assert_ptr_equal(nay_sst_scan_table(m), table_of(t, b));
  }
}

/* From a and from c, with a change of direction, by seeks, and with b as a bound. */
static void check_reader(const tree *t, uint64_t sequence, bool keep) {
  const entry *b = newest_at(t, sequence);
  nay_sst_scan *m;
  nay_sst_scan_options how = {.size = sizeof how,
                              .sources = t->sources,
                              .nsources = t->is->nsources,
                              .sequence = &sequence,
                              .keep_deletions = keep};
  const nay_sst_lookup *lookup = t->is->ntables != 0 ? t->lookup : NULL;
  if (lookup == NULL && t->merges) how.merge = append;
  assert_ok(nay_sst_scan_new(lookup, &how, NULL, NULL, &m));
  assert_ok(nay_sst_scan_first(m));
  assert_at(m, 'a');
  assert_b(t, m, nay_sst_scan_next(m), b, keep, 'c');
  assert_ok(nay_sst_scan_last(m));
  assert_at(m, 'c');
  assert_b(t, m, nay_sst_scan_prev(m), b, keep, 'a');
  const entry *failed;
  bool fails = b != NULL && value_len_of(t, b, &failed) == 0;
  bool shown = b != NULL && !fails && (b->type != 0 || keep);
  if (fails) { /* the error stays, until a seek */
    assert_status(nay_sst_scan_prev(m), NAY_ENOTSUP);
    assert_status(nay_sst_scan_next(m), NAY_ENOTSUP);
  } else if (shown) {
    assert_ok(nay_sst_scan_prev(m));
    assert_at(m, 'a');
    assert_b(t, m, nay_sst_scan_next(m), b, keep, 'c');
    assert_ok(nay_sst_scan_next(m));
    assert_at(m, 'c');
    assert_status(nay_sst_scan_next(m), NAY_EEND);
  }
  assert_b(t, m, nay_sst_scan_seek(m, "b", 1), b, keep, 'c');
  assert_b(t, m, nay_sst_scan_seek_for_prev(m, "b", 1), b, keep, 'a');
  assert_ok(nay_sst_scan_seek(m, "c", 1));
  assert_b(t, m, nay_sst_scan_prev(m), b, keep, 'a'); /* turns */
  assert_ok(nay_sst_scan_seek_for_prev(m, "a", 1));
  assert_b(t, m, nay_sst_scan_next(m), b, keep, 'c'); /* turns */
  nay_sst_scan_free(m);
  how.lower = "c";
  how.lower_len = 1;
  assert_ok(nay_sst_scan_new(lookup, &how, NULL, NULL, &m));
  assert_ok(nay_sst_scan_last(m));
  assert_status(nay_sst_scan_prev(m), NAY_EEND); /* b is below the bound */
  nay_sst_scan_free(m);
}

static void check_get(const tree *t, uint64_t sequence) {
  const entry *b = newest_at(t, sequence);
  nay_sst_value v = {.size = sizeof v};
  if (t->is->nsources != 0) return;
  const entry *failed;
  size_t len = b == NULL || b->type == 0 ? 0 : value_len_of(t, b, &failed), table = 9;
  nay_status want = b == NULL || b->type == 0 ? NAY_ENOENT : len != 0 ? NAY_OK : NAY_ENOTSUP;
  const void *key = "b";
  const size_t key_len = 1;
  for (int many = 0; many < 2; many++) {
    nay_status one;
    nay_status status = many ? nay_sst_lookup_get_many(t->lookup, &key, &key_len, 1, sequence, NULL,
                                                       &v, &one, &table)
                             : nay_sst_lookup_get(t->lookup, key, 1, sequence, NULL, &v, &table);
    if (many && status == NAY_OK) status = one;
    assert_status(status, want);
    if (want == NAY_OK) {
      assert_true(v.len == len && v.sequence == b->sequence && !v.deleted);
      for (size_t i = 0; i < len; i++) assert_true(((const char *)v.bytes)[i] == 'b');
      assert_ptr_equal(t->tables[table], table_of(t, b));
    }
  }
  nay_sst_value_free(&v);
}

static void every_combination(void **state) {
  const bool merges = *state != NULL;
  static const unsigned kinds[] = {0, 1, 2, OTHER_TYPE};
  unsigned ntrees = 0;
  for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
    for (unsigned k = 0; k < 64; k++) {
      const unsigned types[] = {kinds[k % 4], kinds[k / 4 % 4], kinds[k / 16]};
      tree t;
      if (!tree_make(&t, &layouts[i], types, merges)) continue;
      for (uint64_t sequence = 1; sequence < 6; sequence++) {
        check_reader(&t, sequence, false);
        check_reader(&t, sequence, true);
        check_get(&t, sequence);
      }
      tree_free(&t);
      ntrees++;
    }
  }
  assert_int_equal(ntrees, 2 * 27 + 3 * 64 + 36 + 48);
}

int main(void) {
  const test_case tests[] = {
      TEST_WITH("hidden_operands_are_nothing", every_combination, NULL),
      TEST_WITH("operands_are_combined", every_combination, ""),
  };
  return run_all(tests);
}
