/*
 * test_merge.c - many tables as one. A history of writes is spread over memtables, overlapping
 * tables and disjoint levels; random movements of merging iterators with random snapshots, bounds
 * and directions are compared with a sorted list of what a reader must see.
 */
#include "nay_sst_cache.h"
#include "support/flaky.h"
#include "support/merge_source.h"
#include "support/snappy_codec.h"
#include "support/temp.h"
#include "support/test.h"

#define MAX_ENTRIES 1200u
#define MAX_TABLES 40u
#define MAX_SOURCES 3u
#define N_USERS 160u

static uint64_t state;

static uint64_t draw(uint64_t below) {
  state += 0x9e3779b97f4a7c15u;
  return nay_hash_mix(state) % below;
}

/* ---- a history of writes ---- */

typedef struct entry {
  char user[16];
  size_t user_len;
  uint64_t sequence; /* of plain keys: 0 */
  bool deleted;
  char value[64];
  size_t value_len;
  unsigned age; /* of the source it is in: 0 is the newest */
} entry;

static const nay_sst_comparator *the_order; /* NULL: bytewise */
static size_t the_nsources;

static int compare_users(const char *a, size_t a_len, const char *b, size_t b_len) {
  if (the_order != NULL) return the_order->compare(the_order->ctx, a, a_len, b, b_len);
  size_t n = a_len < b_len ? a_len : b_len;
  int order = n == 0 ? 0 : memcmp(a, b, n);
  return order != 0 ? order : (a_len > b_len) - (a_len < b_len);
}

static int compare_entries(const void *a, const void *b) {
  const entry *x = a, *y = b;
  int order = compare_users(x->user, x->user_len, y->user, y->user_len);
  if (order != 0) return order;
  if (x->sequence != y->sequence) return x->sequence > y->sequence ? -1 : 1;
  return (x->age > y->age) - (x->age < y->age);
}

/* The empty key, keys of few letters, and keys with a prefix of three bytes. */
static size_t draw_user(char *user) {
  uint64_t i = draw(N_USERS);
  if (i == 0) return 0;
  if (i < 40) return (size_t)snprintf(user, 16, "%llu", (unsigned long long)(i * 7));
  return (size_t)snprintf(user, 16, "%03llu/%04llu", (unsigned long long)(i % 13),
                          (unsigned long long)i);
}

static void draw_entry(entry *e, uint64_t sequence, unsigned age) {
  memset(e, 0, sizeof *e);
  e->user_len = draw_user(e->user);
  e->sequence = sequence;
  e->deleted = sequence != 0 && draw(4) == 0;
  e->age = age;
  if (e->deleted) return;
  e->value_len = draw(8) == 0
                     ? 0
                     : (size_t)snprintf(e->value, sizeof e->value, "%llu.%u %0*d",
                                        (unsigned long long)sequence, age, (int)draw(40), 0);
}

/* ---- a source over an array ---- */

typedef struct memtable {
  const entry *at;
  size_t n;
  size_t present; /* n: none */
  bool internal, stable;
  uint8_t key[32];
  char value[64];
  unsigned freed;
} memtable;

static nay_status memtable_at(memtable *m, size_t i, bool there) {
  m->present = there ? i : m->n;
  memset(m->key, 0xee, sizeof m->key); /* what was there is gone */
  memset(m->value, 0xee, sizeof m->value);
  if (!there) return NAY_EEND;
  const entry *e = &m->at[i];
  nay_sst_entry v = {
      sizeof v, e->user, e->user_len, e->sequence, e->deleted ? NAY_SST_DELETE : NAY_SST_PUT, 0};
  if (m->internal) {
    assert_ok(nay_sst_key_join(&v, m->key, sizeof m->key, NULL));
  } else {
    memcpy(m->key, e->user, e->user_len);
  }
  memcpy(m->value, e->value, e->value_len);
  return NAY_OK;
}

static nay_status memtable_first(void *s) { return memtable_at(s, 0, ((memtable *)s)->n != 0); }
static nay_status memtable_last(void *s) {
  memtable *m = s;
  return memtable_at(m, m->n - 1, m->n != 0);
}
static nay_status memtable_next(void *s) {
  memtable *m = s;
  assert_true(m->present < m->n);
  return memtable_at(m, m->present + 1, m->present + 1 < m->n);
}
static nay_status memtable_prev(void *s) {
  memtable *m = s;
  assert_true(m->present < m->n);
  return memtable_at(m, m->present - 1, m->present != 0);
}
static nay_status memtable_seek(void *s, const void *key, size_t len) {
  memtable *m = s;
  size_t i = 0;
  while (i < m->n && compare_users(m->at[i].user, m->at[i].user_len, key, len) < 0) i++;
  return memtable_at(m, i, i < m->n);
}
static nay_status memtable_seek_for_prev(void *s, const void *key, size_t len) {
  memtable *m = s;
  size_t i = m->n;
  while (i > 0 && compare_users(m->at[i - 1].user, m->at[i - 1].user_len, key, len) > 0) i--;
  return memtable_at(m, i - 1, i != 0);
}
static const void *memtable_key(void *s, size_t *len) {
  memtable *m = s;
  assert_true(m->present < m->n);
  *len = m->at[m->present].user_len + (m->internal ? 8 : 0);
  return m->key;
}
static const void *memtable_value(void *s, size_t *len) {
  memtable *m = s;
  assert_true(m->present < m->n);
  *len = m->at[m->present].value_len;
  return m->stable ? m->at[m->present].value : m->value;
}
static void memtable_free(void *s) { ((memtable *)s)->freed++; }

static nay_sst_source source_of(memtable *m) {
  return (nay_sst_source)MERGE_SOURCE(memtable, .ctx = m, .free = memtable_free,
                                      .stable = m->stable);
}

/* ---- a tree ---- */

typedef struct tree {
  bool internal;
  entry all[MAX_ENTRIES]; /* in order */
  size_t n;
  entry of_source[MAX_ENTRIES]; /* the same, source by source, each in order */
  memtable memtables[MAX_SOURCES];
  nay_sst_source sources[MAX_SOURCES];
  size_t nsources;
  nay_sst *tables[MAX_TABLES];
  size_t ntables;
  nay_sst_lookup *lookup;
  nay_sst_cache *cache;
} tree;

static nay_sst *write_table(tree *t, const entry *at, size_t n, const nay_sst_prefix *prefix) {
  char path[TEMP_MAX];
  nay_sst_writer *w;
  nay_sst *table;
  nay_sst_write_options how = {.size = sizeof how,
                               .keys = t->internal ? NAY_SST_KEYS_INTERNAL : NAY_SST_KEYS_PLAIN,
                               .block_bytes = 1u << draw(12),
                               .restart_interval = 1 + (uint32_t)draw(8),
                               .codec = draw(3) == 0 ? &snappy_codec : NULL,
                               .filter = draw(2) == 0 ? NAY_SST_FULL_FILTER : NAY_SST_NO_FILTER,
                               .prefix = draw(2) == 0 ? prefix : NULL,
                               .comparator = the_order};
  nay_sst_read_options read = {.size = sizeof read,
                               .keys = how.keys,
                               .flags = draw(3) == 0 ? NAY_SST_PREAD : 0,
                               .codecs = snappy_codecs,
                               .ncodecs = 1,
                               .prefix = prefix,
                               .cache = draw(3) == 0 ? t->cache : NULL,
                               .comparator = the_order};
  assert_ok(nay_sst_writer_new(temp_path(path, "merge.ldb"), &how, NULL, NULL, &w));
  for (size_t i = 0; i < n; i++) {
    nay_sst_entry v = {sizeof v,
                       at[i].user,
                       at[i].user_len,
                       at[i].sequence,
                       at[i].deleted ? NAY_SST_DELETE : NAY_SST_PUT,
                       0};
    if (t->internal) {
      assert_ok(nay_sst_writer_add_entry(w, &v, at[i].value, at[i].value_len, NULL));
    } else {
      assert_ok(nay_sst_writer_add(w, v.key, v.len, at[i].value, at[i].value_len, NULL));
    }
  }
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  assert_ok(nay_sst_open(path, &read, NULL, NULL, &table));
  unlink(path);
  return table;
}

/* The writes of one source, in order; of plain keys, or of one sequence number, one per user key.
 */
static size_t draw_source(tree *t, unsigned age, uint64_t *sequence, size_t most) {
  entry *at = t->of_source + t->n;
  size_t n = draw(most + 1), kept = 0;
  for (size_t i = 0; i < n; i++) draw_entry(&at[i], t->internal ? --*sequence : 0, age);
  qsort(at, n, sizeof *at, compare_entries);
  for (size_t i = 0; i < n; i++) {
    if (kept != 0 && compare_entries(&at[kept - 1], &at[i]) == 0) continue;
    at[kept++] = at[i];
  }
  t->n += kept;
  return kept;
}

/* A disjoint level: cut between user keys. Some tables may be empty. */
static size_t cut_level(tree *t, const entry *at, size_t n, const nay_sst_prefix *prefix) {
  size_t first = t->ntables;
  while (n > 0 && t->ntables < MAX_TABLES - 8) {
    size_t len = 1 + draw(n);
    while (len < n && compare_users(at[len - 1].user, at[len - 1].user_len, at[len].user,
                                    at[len].user_len) == 0) {
      len++;
    }
    if (t->ntables + 9 == MAX_TABLES) len = n;
    t->tables[t->ntables++] = write_table(t, at, len, prefix);
    if (draw(6) == 0) t->tables[t->ntables++] = write_table(t, at, 0, prefix);
    at += len;
    n -= len;
  }
  assert_int_equal(n, 0);
  return t->ntables - first;
}

static void tree_make(tree *t, bool internal, const nay_sst_prefix *prefix) {
  memset(t, 0, sizeof *t);
  t->internal = internal;
  assert_ok(
      nay_sst_cache_new(&(nay_sst_cache_options){sizeof(nay_sst_cache_options), 4000, 1000, false},
                        NULL, NULL, &t->cache));
  unsigned age = 0;
  uint64_t sequence = 1000000;
  nay_sst_lookup_level levels[4] = {{.size = sizeof levels[0]}};
  t->nsources = the_nsources = draw(MAX_SOURCES + 1);
  for (size_t i = 0; i < t->nsources; i++, age++) {
    memtable *m = &t->memtables[i];
    m->at = t->of_source + t->n;
    m->internal = internal;
    m->stable = draw(2) == 0;
    m->n = m->present = draw_source(t, age, &sequence, 60);
    t->sources[i] = source_of(m);
  }
  size_t nlevels = draw(5);
  for (size_t i = 0; i < nlevels; i++) {
    nay_sst_lookup_level *level = &levels[i];
    *level = (nay_sst_lookup_level){.size = sizeof *level, .disjoint = i != 0 || draw(3) == 0};
    level->tables = (const nay_sst *const *)t->tables + t->ntables;
    size_t each = level->disjoint ? 1 : draw(6);
    for (size_t k = 0; k < each; k++, age++) {
      const entry *at = t->of_source + t->n;
      size_t n = draw_source(t, age, &sequence, 120);
      if (level->disjoint) {
        level->n = cut_level(t, at, n, prefix);
      } else {
        t->tables[t->ntables++] = write_table(t, at, n, prefix);
        level->n++;
      }
    }
  }
  assert_ok(nay_sst_lookup_new(levels, nlevels, NULL, NULL, NULL, &t->lookup));
  memcpy(t->all, t->of_source, sizeof t->all);
  qsort(t->all, t->n, sizeof *t->all, compare_entries);
}

static void tree_free(tree *t) {
  nay_sst_lookup_free(t->lookup);
  for (size_t i = 0; i < t->ntables; i++) nay_sst_free(t->tables[i]);
  nay_sst_cache_free(t->cache);
}

/* ---- what a reader must see ---- */

typedef struct view {
  nay_sst_scan_options how;
  uint64_t sequence;
  char lower[16], upper[16], prefix[16];
  const entry *at[MAX_ENTRIES];
  size_t n;
} view;

static bool in_bounds(const view *v, const entry *e) {
  const nay_sst_scan_options *o = &v->how;
  if (o->lower != NULL && compare_users(e->user, e->user_len, o->lower, o->lower_len) < 0) {
    return false;
  }
  if (o->upper != NULL && compare_users(e->user, e->user_len, o->upper, o->upper_len) >= 0) {
    return false;
  }
  return o->prefix == NULL ||
         (e->user_len >= o->prefix_len && memcmp(e->user, o->prefix, o->prefix_len) == 0);
}

static void view_make(const tree *t, view *v) {
  const entry *last = NULL; /* visible */
  v->n = 0;
  for (size_t i = 0; i < t->n; i++) {
    const entry *e = &t->all[i];
    if (!in_bounds(v, e) || (v->how.sequence != NULL && e->sequence > v->sequence)) continue;
    bool hidden =
        last != NULL && compare_users(last->user, last->user_len, e->user, e->user_len) == 0;
    last = e;
    if (hidden && !v->how.all_versions) continue;
    if (e->deleted && !v->how.keep_deletions && !v->how.all_versions) continue;
    v->at[v->n++] = e;
  }
}

static void draw_view(const tree *t, view *v) {
  nay_sst_scan_options *o = &v->how;
  *o = (nay_sst_scan_options){.size = sizeof *o, .sources = t->sources, .nsources = t->nsources};
  if (t->lookup == NULL || t->ntables == 0)
    o->keys = t->internal ? NAY_SST_KEYS_AUTO : NAY_SST_KEYS_PLAIN;
  if (t->ntables == 0 || draw(2) == 0) o->comparator = the_order;
  if (!t->internal) o->keys = NAY_SST_KEYS_PLAIN;
  if (t->internal && draw(2) == 0) {
    v->sequence = draw(20) == 0 ? 0 : 1000000 - draw(t->n + 2);
    o->sequence = &v->sequence;
  }
  if (draw(3) == 0) o->lower_len = draw_user(v->lower), o->lower = v->lower;
  if (draw(3) == 0) o->upper_len = draw_user(v->upper), o->upper = v->upper;
  if (the_order == NULL && draw(4) == 0) {
    o->prefix_len =
        (size_t)snprintf(v->prefix, sizeof v->prefix, "%03llu", (unsigned long long)draw(16)) -
        draw(3);
    o->prefix = v->prefix;
  }
  o->all_versions = draw(4) == 0;
  o->keep_deletions = draw(4) == 0;
  view_make(t, v);
}

/* ---- movements ---- */

static void assert_at(nay_sst_scan *m, const entry *e) {
  size_t len, value_len;
  const void *key = nay_sst_scan_key(m, &len), *value = nay_sst_scan_value(m, &value_len);
  nay_sst_entry version = {.size = sizeof version};
  assert_true((nay_sst_scan_key(m, &(size_t){0}) != NULL));
  assert_int_equal(len, e->user_len);
  assert_memory_equal(key, e->user, len);
  assert_int_equal(value_len, e->value_len);
  assert_memory_equal(value, e->value, value_len);
  assert_ok(nay_sst_scan_entry(m, &version));
  assert_int_equal(version.sequence, e->sequence);
  assert_int_equal(version.type == NAY_SST_DELETE, e->deleted);
  assert_int_equal(version.len, e->user_len);
  assert_int_equal(nay_sst_scan_table(m) == NULL, e->age < the_nsources);
}

/* The first of the view at or above a user key; or, if not `at`, above it. */
static size_t view_find(const view *v, const char *user, size_t len, bool at) {
  size_t i = 0;
  while (i < v->n) {
    int order = compare_users(v->at[i]->user, v->at[i]->user_len, user, len);
    if (at ? order >= 0 : order > 0) break;
    i++;
  }
  return i;
}

typedef struct pinned {
  nay_sst_value value;
  const entry *is;
} pinned;

static void check_pinned(const pinned *p) {
  if (p->is == NULL) return;
  assert_int_equal(p->value.len, p->is->value_len);
  assert_memory_equal(p->value.bytes, p->is->value, p->value.len);
  assert_int_equal(p->value.sequence, p->is->sequence);
  assert_int_equal(p->value.deleted, p->is->deleted);
}

/* One movement; *at is the position in the view, v->n when at no entry. */
static void move_once(nay_sst_scan *m, const view *v, size_t *at) {
  char user[16];
  size_t len;
  nay_status status;
  switch (draw(20)) {
    case 0:
      status = nay_sst_scan_first(m);
      *at = 0;
      break;
    case 1:
      status = nay_sst_scan_last(m);
      *at = v->n == 0 ? 0 : v->n - 1;
      break;
    case 2:
    case 3:
      len = draw_user(user);
      status = nay_sst_scan_seek(m, user, len);
      *at = view_find(v, user, len, true);
      break;
    case 4:
    case 5:
      len = draw_user(user);
      status = nay_sst_scan_seek_for_prev(m, user, len);
      *at = view_find(v, user, len, false);
      *at = *at == 0 ? v->n : *at - 1;
      break;
    default:
      if (draw(5) < (state >> 40 & 1 ? 4u : 1u)) { /* runs in one direction */
        status = nay_sst_scan_next(m);
        *at = *at == v->n ? v->n : *at + 1;
      } else {
        status = nay_sst_scan_prev(m);
        *at = *at == v->n || *at == 0 ? v->n : *at - 1;
      }
  }
  assert_status(status, *at < v->n ? NAY_OK : NAY_EEND);
}

static void wander(nay_sst_scan *m, const view *v, unsigned nmoves) {
  size_t at = v->n;
  pinned pins[8];
  for (size_t i = 0; i < 8; i++) pins[i] = (pinned){{.size = sizeof pins[i].value}, NULL};
  for (unsigned i = 0; i < nmoves; i++) {
    move_once(m, v, &at);
    if (at == v->n) {
      assert_false((nay_sst_scan_key(m, &(size_t){0}) != NULL));
      continue;
    }
    assert_at(m, v->at[at]);
    pinned *p = &pins[draw(8)];
    if (draw(8) != 0) continue;
    check_pinned(p);
    assert_ok(nay_sst_scan_pin(m, &p->value));
    p->is = v->at[at];
  }
  for (size_t i = 0; i < 8; i++) {
    check_pinned(&pins[i]);
    nay_sst_value_free(&pins[i].value);
  }
}

/* Both ways from end to end. */
static void walk(nay_sst_scan *m, const view *v) {
  nay_status status = nay_sst_scan_first(m);
  for (size_t i = 0; i < v->n; i++, status = nay_sst_scan_next(m)) {
    assert_ok(status);
    assert_at(m, v->at[i]);
  }
  assert_status(status, NAY_EEND);
  assert_status(nay_sst_scan_next(m), NAY_EEND);
  status = nay_sst_scan_last(m);
  for (size_t i = v->n; i-- > 0; status = nay_sst_scan_prev(m)) {
    assert_ok(status);
    assert_at(m, v->at[i]);
  }
  assert_status(status, NAY_EEND);
  assert_status(nay_sst_scan_prev(m), NAY_EEND);
}

typedef struct shape {
  bool internal;
  unsigned order; /* 0: bytewise */
} shape;

/* 100,000 movements and more over all shapes. */
static void as_the_model(void **shape_of) {
  static tree t;
  static view v;
  const shape *s = *shape_of;
  nay_sst_comparator order = {.size = sizeof order};
  nay_sst_prefix prefix = {.size = sizeof prefix};
  assert_ok(nay_sst_prefix_find("nay.fixed.3", &prefix));
  if (s->order == 1)
    assert_ok(nay_sst_comparator_find("rocksdb.ReverseBytewiseComparator", &order));
  if (s->order == 2) assert_ok(nay_sst_comparator_find("nay.decimal", &order));
  if (s->order == 3) assert_ok(nay_sst_comparator_find("nay.prefix.3", &order));
  the_order = s->order != 0 ? &order : NULL;
  for (unsigned round = 0; round < TEST_SCALE(40u); round++) {
    state = nay_hash_mix(round * 8 + s->order * 2 + s->internal);
    tree_make(&t, s->internal, &prefix);
    for (unsigned i = 0; i < 8; i++) {
      nay_sst_scan *m;
      draw_view(&t, &v);
      assert_ok(nay_sst_scan_new(t.lookup, &v.how, NULL, NULL, &m));
      assert_false((nay_sst_scan_key(m, &(size_t){0}) != NULL));
      assert_status(nay_sst_scan_next(m), NAY_EEND);
      walk(m, &v);
      wander(m, &v, 80);
      nay_sst_scan_free(m);
      for (size_t k = 0; k < t.nsources; k++) assert_int_equal(t.memtables[k].freed, i + 1);
    }
    tree_free(&t);
  }
  the_order = NULL;
}

int main(void) {
  static const shape shapes[] = {{true, 0}, {false, 0}, {true, 1}, {false, 1},
                                 {true, 2}, {false, 2}, {true, 3}, {false, 3}};
  const test_case tests[] = {
      TEST_WITH("as_the_model internal", as_the_model, &shapes[0]),
      TEST_WITH("as_the_model plain", as_the_model, &shapes[1]),
      TEST_WITH("as_the_model internal, reverse", as_the_model, &shapes[2]),
      TEST_WITH("as_the_model plain, reverse", as_the_model, &shapes[3]),
      TEST_WITH("as_the_model internal, decimal", as_the_model, &shapes[4]),
      TEST_WITH("as_the_model plain, decimal", as_the_model, &shapes[5]),
      TEST_WITH("as_the_model internal, prefix", as_the_model, &shapes[6]),
      TEST_WITH("as_the_model plain, prefix", as_the_model, &shapes[7]),
  };
  return run_all(tests);
}
