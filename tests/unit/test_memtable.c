/*
 * test_memtable.c - nay_sst_memtable.h against a sorted list: gets at all sequences, walks and
 * seeks in both directions with several comparators, the table that it becomes; readers beside the
 * writer; memory that runs out; what it refuses.
 */
#define _GNU_SOURCE 1

#include "nay_sst_memtable.h"

#include <pthread.h>
#include <stdatomic.h>

#include "support/flaky.h"
#include "support/temp.h"
#include "support/test.h"

enum { ENTRIES = 600, USERS = 90 };

typedef struct entry {
  char user[12];
  size_t len;
  uint64_t sequence;
  bool deleted;
} entry;

static nay_sst_memtable_info info_of(const nay_sst_memtable *m) {
  nay_sst_memtable_info info = {.size = sizeof info};
  assert_ok(nay_sst_memtable_stats(m, &info));
  return info;
}
static uint64_t entries_of(const nay_sst_memtable *m) { return info_of(m).nentries; }
static uint64_t bytes_of(const nay_sst_memtable *m) { return info_of(m).nbytes; }

static const nay_sst_comparator *the_order;

static int order_of(const void *a, const void *b) {
  const entry *x = a, *y = b;
  int order = nay_sst_compare(the_order, x->user, x->len, y->user, y->len);
  return order != 0 ? order : x->sequence > y->sequence ? -1 : 1;
}

static entry entry_of(uint64_t sequence) {
  entry e = {.sequence = sequence};
  uint64_t r = nay_hash_mix(sequence + 1000);
  unsigned user = (unsigned)(r % USERS);
  if (user != 0) e.len = (size_t)snprintf(e.user, sizeof e.user, "%u", user * 37 % 1000);
  e.deleted = r >> 60 == 0;
  return e;
}

static nay_sst_entry version_of(const entry *e) {
  return (nay_sst_entry){sizeof(nay_sst_entry), e->user, e->len, e->sequence,
                         .type = e->deleted ? NAY_SST_DELETE : NAY_SST_PUT};
}

static size_t value_of(const entry *e, char value[24]) {
  return (size_t)snprintf(value, 24, "%llu", (unsigned long long)e->sequence);
}

static nay_sst_memtable *memtable_of(const entry *all, size_t n, const nay_sst_comparator *order) {
  nay_sst_memtable *m;
  char value[24];
  assert_ok(nay_sst_memtable_new(order, NULL, NULL, &m));
  assert_int_equal(bytes_of(m), 0);
  for (size_t i = 0; i < n; i++) { /* in another order than that of the list */
    const entry *e = &all[i * 7 % n];
    nay_sst_entry v = version_of(e);
    assert_ok(nay_sst_memtable_add(m, &v, value, value_of(e, value), NULL));
    assert_status(nay_sst_memtable_add(m, &v, "", 0, NULL), NAY_EINVAL); /* the same once more */
  }
  assert_int_equal(entries_of(m), n);
  return m;
}

static void check_at(const nay_sst_source *s, nay_status status, const entry *e) {
  char value[24];
  nay_sst_entry v = {.size = sizeof v};
  size_t len, value_len;
  assert_status(status, e != NULL ? NAY_OK : NAY_EEND);
  if (e == NULL) return;
  const void *key = s->key(s->ctx, &len), *bytes = s->value(s->ctx, &value_len);
  assert_ok(nay_sst_key_split(key, len, &v));
  assert_int_equal(v.len, e->len);
  assert_memory_equal(v.key, e->user, e->len);
  assert_int_equal(v.sequence, e->sequence);
  assert_int_equal(v.type == NAY_SST_DELETE, e->deleted);
  assert_int_equal(value_len, value_of(e, value));
  assert_memory_equal(bytes, value, value_len);
}

static void check_walks(const nay_sst_memtable *m, const entry *all, size_t n) {
  nay_sst_source s = {.size = sizeof s};
  assert_ok(nay_sst_memtable_source(m, &s));
  assert_true(s.stable);
  nay_status status = s.first(s.ctx);
  for (size_t i = 0; i < n; i++, status = s.next(s.ctx)) check_at(&s, status, &all[i]);
  assert_status(status, NAY_EEND);
  status = s.last(s.ctx);
  for (size_t i = n; i-- > 0; status = s.prev(s.ctx)) check_at(&s, status, &all[i]);
  assert_status(status, NAY_EEND);
  for (unsigned user = 0; user < 1010; user++) { /* keys that are there, and others */
    char key[12] = "";
    size_t len = user == 0 ? 0 : (size_t)snprintf(key, sizeof key, "%u", user), at = 0, past;
    while (at < n && nay_sst_compare(the_order, all[at].user, all[at].len, key, len) < 0) at++;
    check_at(&s, s.seek(s.ctx, key, len), at < n ? &all[at] : NULL);
    for (past = at;
         past < n && nay_sst_compare(the_order, all[past].user, all[past].len, key, len) == 0;)
      past++;
    check_at(&s, s.seek_for_prev(s.ctx, key, len), past > 0 ? &all[past - 1] : NULL);
  }
  s.free(s.ctx);
}

static void check_gets(const nay_sst_memtable *m, const entry *all, size_t n) {
  nay_sst_value value = {.size = sizeof value};
  for (size_t i = 0; i < n; i++) {
    char want[24];
    bool first = i == 0 || nay_sst_compare(the_order, all[i - 1].user, all[i - 1].len, all[i].user,
                                           all[i].len) != 0;
    uint64_t upto = first ? NAY_SST_MAX_SEQUENCE : all[i - 1].sequence - 1;
    for (unsigned k = 0; k < 2; k++) {
      uint64_t at = k == 0 ? all[i].sequence : upto;
      assert_status(nay_sst_memtable_get(m, all[i].user, all[i].len, at, NULL, &value),
                    all[i].deleted ? NAY_ENOENT : NAY_OK);
      assert_int_equal(value.sequence, all[i].sequence);
      assert_int_equal(value.deleted, all[i].deleted);
      assert_int_equal(value.len, value_of(&all[i], want));
      assert_memory_equal(value.bytes, want, value.len);
    }
    bool last = i + 1 == n || nay_sst_compare(the_order, all[i + 1].user, all[i + 1].len,
                                              all[i].user, all[i].len) != 0;
    if (last && all[i].sequence > 0)
      assert_status(
          nay_sst_memtable_get(m, all[i].user, all[i].len, all[i].sequence - 1, NULL, &value),
          NAY_ENOENT);
  }
  assert_status(nay_sst_memtable_get(m, "none", 4, NAY_SST_MAX_SEQUENCE, NULL, &value), NAY_ENOENT);
  nay_sst_value_free(&value);
}

/* It becomes a table, which has the same entries in the same order. */
static void check_table(const nay_sst_memtable *m, const entry *all, size_t n) {
  char path[TEMP_MAX];
  nay_sst_write_options write = {sizeof write, .comparator = the_order};
  nay_sst_read_options read = {sizeof read, .keys = NAY_SST_KEYS_INTERNAL, .comparator = the_order};
  nay_sst *t;
  nay_sst_iter *it;
  temp_path(path, "memtable");
  assert_ok(nay_sst_memtable_write(m, path, &write, NULL));
  assert_ok(nay_sst_open(path, &read, NULL, NULL, &t));
  assert_ok(nay_sst_iter_new(t, NULL, &it));
  nay_status status = nay_sst_iter_first(it);
  for (size_t i = 0; i < n; i++, status = nay_sst_iter_next(it)) {
    nay_sst_entry v = {.size = sizeof v};
    size_t len;
    assert_ok(status);
    const void *key = nay_sst_iter_key(it, &len);
    assert_ok(nay_sst_key_split(key, len, &v));
    assert_int_equal(v.sequence, all[i].sequence);
  }
  assert_status(status, NAY_EEND);
  nay_sst_iter_free(it);
  nay_sst_free(t);
  unlink(path);
}

static void it_is_a_sorted_list(void **state) {
  (void)state;
  nay_sst_comparator reverse = {.size = sizeof reverse}, decimal = {.size = sizeof decimal};
  assert_ok(nay_sst_comparator_find("rocksdb.ReverseBytewiseComparator", &reverse));
  assert_ok(nay_sst_comparator_find("nay.decimal", &decimal));
  const nay_sst_comparator *orders[] = {NULL, &reverse, &decimal};
  for (size_t k = 0; k < 3; k++) {
    entry all[ENTRIES + 1];
    size_t n = 0;
    the_order = orders[k];
    for (uint64_t i = 0; i < ENTRIES; i++) all[n++] = entry_of(i == 0 ? 0 : i * 3);
    all[n] = entry_of(7);
    all[n++].sequence = NAY_SST_MAX_SEQUENCE;
    qsort(all, n, sizeof all[0], order_of);
    nay_sst_memtable *m = memtable_of(all, n, the_order);
    check_walks(m, all, n);
    check_gets(m, all, n);
    check_table(m, all, n);
    nay_sst_write_options other = {sizeof other, .comparator = k == 0 ? &reverse : NULL};
    assert_status(nay_sst_memtable_write(m, "/nonexistent/t", &other, NULL), NAY_EMISMATCH);
    nay_sst_memtable_free(m);
  }
}

/* One more than fits a page, and one that is larger than a page, or empty. */
static void entries_of_any_size(void **state) {
  (void)state;
  static char large[300000];
  nay_sst_memtable *m;
  nay_sst_value value = {.size = sizeof value};
  assert_ok(nay_sst_memtable_new(NULL, NULL, NULL, &m));
  for (uint64_t i = 0; i < 40; i++) {
    nay_sst_entry v = {sizeof v, large, i % 3 == 0 ? 0 : i * 5000, i, .type = NAY_SST_PUT};
    memset(large, (int)i, sizeof large);
    assert_ok(nay_sst_memtable_add(m, &v, large, i % 2 == 0 ? 0 : i * 7000, NULL));
    assert_ok(nay_sst_memtable_get(m, v.key, v.len, i, NULL, &value));
    assert_int_equal(value.len, i % 2 == 0 ? 0 : i * 7000);
    if (value.len != 0) assert_memory_equal(value.bytes, large, value.len);
  }
  assert_true(bytes_of(m) > 1000000);
  nay_sst_value_free(&value);
  nay_sst_memtable_free(m);
}

/* ---- threads ---- */

typedef struct shared {
  nay_sst_memtable *m;
  _Atomic uint64_t published;
} shared;

/* All that was published is there, in order, and nothing is half there. */
static void *read_all(void *ctx) {
  shared *s = ctx;
  nay_sst_source source = {.size = sizeof source};
  assert_ok(nay_sst_memtable_source(s->m, &source));
  for (uint64_t seen = 0; seen < ENTRIES;) {
    seen = s->published;
    uint64_t n = 0, last = UINT64_MAX;
    for (nay_status at = source.first(source.ctx); at == NAY_OK; at = source.next(source.ctx)) {
      nay_sst_entry v = {.size = sizeof v};
      size_t len, value_len;
      const void *key = source.key(source.ctx, &len);
      assert_ok(nay_sst_key_split(key, len, &v));
      const char *value = source.value(source.ctx, &value_len);
      entry e = {.sequence = v.sequence};
      char want[24];
      assert_true(value_len == value_of(&e, want) && memcmp(value, want, value_len) == 0);
      assert_true(v.sequence < last);
      last = v.sequence;
      n += v.sequence <= seen;
    }
    assert_true(n >= seen);
  }
  source.free(source.ctx);
  return NULL;
}

static void readers_beside_the_writer(void **state) {
  (void)state;
  shared s = {.published = 0};
  pthread_t readers[2];
  assert_ok(nay_sst_memtable_new(NULL, NULL, NULL, &s.m));
  for (unsigned i = 0; i < 2; i++)
    assert_int_equal(pthread_create(&readers[i], NULL, read_all, &s), 0);
  for (uint64_t i = 1; i <= ENTRIES; i++) {
    entry e = {.user = "k", .len = 1, .sequence = i};
    char value[24];
    nay_sst_entry v = version_of(&e);
    assert_ok(nay_sst_memtable_add(s.m, &v, value, value_of(&e, value), NULL));
    s.published = i;
  }
  for (unsigned i = 0; i < 2; i++) pthread_join(readers[i], NULL);
  nay_sst_memtable_free(s.m);
}

/* ---- errors ---- */

static void memory_runs_out(void **state) {
  (void)state;
  static char value[30000];
  for (long n = 0; n < 40; n++) {
    flaky f = {.fail_at = n % 20, .for_ever = n < 20};
    nay_allocator a = flaky_allocator(&f);
    nay_sst_memtable *m;
    nay_status made = nay_sst_memtable_new(NULL, &a, NULL, &m);
    assert_status(made, n % 20 == 0 ? NAY_ENOMEM : NAY_OK);
    if (made != NAY_OK) continue;
    uint64_t added = 0;
    for (uint64_t i = 0; i < 20; i++) {
      nay_sst_entry v = {sizeof v, "k", 1, i, .type = NAY_SST_PUT};
      nay_status status = nay_sst_memtable_add(m, &v, value, sizeof value, NULL);
      if (status != NAY_OK) assert_status(status, NAY_ENOMEM);
      added += status == NAY_OK;
      assert_int_equal(entries_of(m), added);
    }
    nay_sst_source s = {.size = sizeof s};
    if (nay_sst_memtable_source(m, &s) == NAY_OK) s.free(s.ctx);
    nay_sst_memtable_free(m);
    assert_true(flaky_is_clean(&f));
  }
}

static void what_it_refuses(void **state) {
  (void)state;
  nay_sst_memtable *m;
  nay_sst_value value = {.size = sizeof value};
  nay_sst_source none = {.size = 3};
  nay_sst_comparator unnamed = {.size = sizeof unnamed};
  nay_sst_entry bad[] = {{sizeof bad[0], NULL, 3, 1, .type = NAY_SST_PUT},
                         {sizeof bad[0], "k", 1, NAY_SST_MAX_SEQUENCE + 1, .type = NAY_SST_PUT},
                         {sizeof bad[0], "k", 1, 1, .type = (nay_sst_entry_type)3},
                         {3, "k", 1, 1, .type = NAY_SST_PUT},
                         {sizeof bad[0], "not read", (1u << 30) - 8, 1, .type = NAY_SST_PUT}};
  assert_status(nay_sst_memtable_new(NULL, NULL, NULL, NULL), NAY_EINVAL);
  assert_status(nay_sst_memtable_new(&unnamed, NULL, NULL, &m), NAY_EINVAL);
  assert_ok(nay_sst_memtable_new(NULL, NULL, NULL, &m));
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    assert_status(nay_sst_memtable_add(m, &bad[i], "", 0, NULL), NAY_EINVAL);
  nay_sst_entry operand = {sizeof operand, "k", 1, 5, .type = NAY_SST_MERGE};
  assert_status(nay_sst_memtable_add(m, &operand, NULL, 1, NULL), NAY_EINVAL);
  assert_ok(nay_sst_memtable_add(m, &operand, "x", 1, NULL));
  assert_status(nay_sst_memtable_get(m, "k", 1, 9, NULL, &value), NAY_ENOTSUP);
  assert_status(nay_sst_memtable_get(m, "k", 1, 4, NULL, &value), NAY_ENOENT);
  assert_status(nay_sst_memtable_get(m, "k", 1, UINT64_MAX, NULL, &value), NAY_EINVAL);
  assert_status(nay_sst_memtable_get(m, NULL, 1, 4, NULL, &value), NAY_EINVAL);
  assert_status(nay_sst_memtable_source(m, &none), NAY_EINVAL);
  assert_status(nay_sst_memtable_write(m, "/nonexistent/t", NULL, NULL), NAY_EIO);
  nay_sst_memtable_free(m);
  nay_sst_memtable_free(NULL);
}

int main(void) {
  const test_case tests[] = {
      TEST(it_is_a_sorted_list), TEST(entries_of_any_size), TEST(readers_beside_the_writer),
      TEST(memory_runs_out),     TEST(what_it_refuses),
  };
  return run_all(tests);
}
