/*
 * test_sst_comparator.c - orders of keys other than bytewise: the library's own are total orders,
 * tables of every shape answer right in each of them, and a table in another order than the
 * caller's is refused by name.
 */
#include "nay_sst_cache.h"
#include "nay_sst_compact.h"
#include "nay_sst_filters.h"
#include "nay_sst_lookup.h"
#include "support/fold_order.h"
#include "support/sample_filters.h"
#include "support/snappy_codec.h"
#include "support/sst_calls.h"
#include "support/sst_sample.h"

#define N_ORDERS 4u
#define MAX_ENTRIES 250u

/* ---- comparators ---- */

/* By length, then bytewise; with separators: runs of 0x00 one byte longer than the key. */
static int length_compare(void *ctx, const void *a, size_t a_len, const void *b, size_t b_len) {
  (void)ctx;
  if (a_len != b_len) return a_len < b_len ? -1 : 1;
  return a_len == 0 ? 0 : memcmp(a, b, a_len);
}

/* The greatest key of this length: at or above every such key, below every longer one. */
static size_t length_separator(void *ctx, void *key, size_t len, const void *next,
                               size_t next_len) {
  (void)ctx;
  if (next == NULL || next_len > len) memset(key, 0xff, len);
  return len;
}

static nay_sst_comparator order_at(unsigned i) {
  nay_sst_comparator c = {.size = sizeof c};
  switch (i) {
    case 0: assert_ok(nay_sst_comparator_find("rocksdb.ReverseBytewiseComparator", &c)); return c;
    case 1: assert_ok(nay_sst_comparator_find("nay.decimal", &c)); return c;
    case 2: assert_ok(nay_sst_comparator_find("nay.prefix.3", &c)); return c;
    default:
      return (nay_sst_comparator){.size = sizeof c,
                                  .name = "test.length",
                                  .compare = length_compare,
                                  .separator = length_separator};
  }
}

static int sign(int x) { return (x > 0) - (x < 0); }

static int compare_at(const nay_sst_comparator *c, const sample_entry *a, const sample_entry *b) {
  return sign(c->compare(c->ctx, a->key, a->len, b->key, b->len));
}

static void draw_entry(sample *s, sample_entry *e) {
  unsigned style = (unsigned)sample_draw(s, 4);
  e->len = style < 3 ? sample_key(s, style, e->key) : sample_draw(s, 5);
  for (size_t i = 0; style == 3 && i < e->len; i++) e->key[i] = (uint8_t)('0' + sample_draw(s, 3));
}

/* Antisymmetric, transitive, and equal only if the bytes are. */
static void total_orders(void **unused) {
  (void)unused;
  sample s;
  sample_init(&s, 1);
  s.state = 5;
  for (unsigned i = 0; i < N_ORDERS; i++) {
    nay_sst_comparator c = order_at(i);
    for (int n = 0; n < TEST_SCALE(30000); n++) {
      sample_entry x[3] = {{.len = 0}};
      for (int k = 0; k < 3; k++) draw_entry(&s, &x[k]);
      int ab = compare_at(&c, &x[0], &x[1]), bc = compare_at(&c, &x[1], &x[2]);
      assert_int_equal(compare_at(&c, &x[1], &x[0]), -ab);
      assert_int_equal(ab == 0, sample_compare(&x[0], &x[1]) == 0);
      if (ab == bc) assert_int_equal(compare_at(&c, &x[0], &x[2]), ab);
    }
  }
  sample_free(&s);
}

static void decimal_by_value(void **unused) {
  (void)unused;
  const char *ascending[] = {
      "0", "00", "000", "1", "01", "7", "07", "12", "100", "0100", "99999999999999999999",
      "",  "-1", "1x",  "x"};
  nay_sst_comparator c = order_at(1);
  for (size_t i = 0; i < sizeof ascending / sizeof *ascending; i++) {
    for (size_t k = 0; k < sizeof ascending / sizeof *ascending; k++) {
      int got =
          c.compare(&c, ascending[i], strlen(ascending[i]), ascending[k], strlen(ascending[k]));
      assert_int_equal(sign(got), (i > k) - (i < k));
    }
  }
}

static void names(void **unused) {
  (void)unused;
  nay_sst_comparator c = {.size = sizeof c};
  const char *good[] = {"rocksdb.ReverseBytewiseComparator", "nay.decimal", "nay.prefix.3",
                        "nay.prefix.65535"};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    assert_ok(nay_sst_comparator_find(good[i], &c));
    assert_string_equal(c.name, good[i]);
  }
  const char *bad[] = {"",
                       "nay.prefix.",
                       "nay.prefix.0",
                       "nay.prefix.65536",
                       "nay.prefix.1x",
                       "leveldb.BytewiseComparator",
                       "test.length"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_status(nay_sst_comparator_find(bad[i], &c), NAY_EINVAL);
  }
  assert_status(nay_sst_comparator_find("nay.prefix.0", &c), NAY_EINVAL);
  assert_status(nay_sst_comparator_find("nay.prefix.65536", &c), NAY_EINVAL);
  assert_status(nay_sst_comparator_find("rocksdb.ReverseBytewiseComparator", NULL), NAY_EINVAL);
}

/* ---- tables of every shape ---- */

static nay_sst_write_options draw_options(sample *s, const nay_policy *policy) {
  const uint32_t sizes[] = {1, 60, 300, 4096};
  nay_sst_write_options o = {.size = sizeof o,
                             .block_bytes = sizes[sample_draw(s, 4)],
                             .restart_interval = 1 + (uint32_t)sample_draw(s, 20),
                             .codec = sample_draw(s, 2) == 0 ? &snappy_codec : NULL,
                             .filter = (nay_sst_filter_layout)sample_draw(s, 4),
                             .partition_keys = 20,
                             .comparator = s->order};
  if (o.filter == NAY_SST_BLOCK_FILTER) o.policy = policy;
  return o;
}

static void tables_in_order(void **state) {
  nay_sst_comparator order = order_at(*(const unsigned *)*state);
  nay_policy policy = {.size = sizeof policy};
  const nay_policy *policies[] = {&policy};
  nay_sst_prefix three = {.size = sizeof three};
  assert_ok(nay_policy_find(NAY_POLICY_LEVELDB, 10, &policy));
  assert_ok(nay_sst_prefix_find("nay.fixed.3", &three));
  sample s;
  sample_init(&s, MAX_ENTRIES);
  s.order = &order;
  for (uint64_t seed = 0; seed < TEST_SCALE(300); seed++) {
    sample_fill(&s, seed, MAX_ENTRIES);
    nay_sst_write_options write = draw_options(&s, &policy);
    if (seed % 3 == 0) write.prefix = &three;
    size_t len;
    uint8_t *bytes = sample_bytes(&s, &write, &len);
    nay_sst_read_options how = {.size = sizeof how,
                                .codecs = snappy_codecs,
                                .ncodecs = 1,
                                .policies = policies,
                                .npolicies = 1,
                                .prefix = &three,
                                .comparator = &order};
    nay_sst *t;
    assert_ok(nay_sst_view(bytes, len, &how, NULL, NULL, &t));
    sample_check_iter(&s, t);
    sample_check_gets(&s, t);
    sample_check_filters(&s, bytes, len);
    nay_sst_free(t);
    free(bytes);
  }
  sample_free(&s);
}

/* Versions of user keys, newest first, in a table of internal keys. */
static void internal_keys(void **state) {
  nay_sst_comparator order = order_at(*(const unsigned *)*state);
  nay_sst_write_options how = {sizeof how, .keys = NAY_SST_KEYS_INTERNAL, .block_bytes = 100,
                               .filter = NAY_SST_FULL_FILTER, .comparator = &order};
  nay_sst_read_options read = {sizeof read, .comparator = &order};
  char path[TEMP_MAX];
  sample s;
  sample_init(&s, MAX_ENTRIES);
  s.order = &order;
  sample_fill(&s, 4, MAX_ENTRIES);
  nay_sst_writer *w;
  assert_ok(nay_sst_writer_new(temp_path(path, "order.ldb"), &how, NULL, NULL, &w));
  for (size_t i = 0; i < s.n; i++) {
    for (uint64_t version = 3; version > 0; version--) {
      nay_sst_entry v = {sizeof v,
                         s.entries[i].key,
                         s.entries[i].len,
                         10 * version,
                         version == 2 ? NAY_SST_DELETE : NAY_SST_PUT,
                         0};
      assert_ok(nay_sst_writer_add_entry(w, &v, &version, sizeof version, NULL));
      if (version == 2) assert_status(nay_sst_writer_add_entry(w, &v, "", 0, NULL), NAY_EINVAL);
    }
  }
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  nay_sst *t;
  assert_ok(nay_sst_open(path, &read, NULL, NULL, &t));
  nay_sst_value v = {.size = sizeof v};
  for (size_t i = 0; i < s.n; i++) {
    for (uint64_t at = 0; at < 40; at += 3) {
      nay_status status = nay_sst_get(t, s.entries[i].key, s.entries[i].len, at, NULL, &v);
      assert_status(status, at < 10 || at / 10 == 2 ? NAY_ENOENT : NAY_OK);
      if (at < 10) continue;
      assert_int_equal(v.sequence, at < 30 ? at / 10 * 10 : 30);
      assert_int_equal(v.deleted, v.sequence == 20);
    }
  }
  nay_sst_value_free(&v);
  nay_sst_free(t);
  unlink(path);
  sample_free(&s);
}

/* ---- names are checked ---- */

static uint8_t *small_table(const nay_sst_comparator *order, nay_sst_filter_layout filter,
                            size_t *len) {
  sample s;
  sample_init(&s, MAX_ENTRIES);
  s.order = order;
  for (uint64_t seed = 0; s.n < 100; seed++) sample_fill(&s, seed, MAX_ENTRIES);
  nay_sst_write_options how = {sizeof how, .filter = filter, .comparator = order};
  uint8_t *bytes = sample_bytes(&s, &how, len);
  sample_free(&s);
  return bytes;
}

static nay_status open_with(const uint8_t *bytes, size_t len, const nay_sst_comparator *order,
                            uint32_t flags, char stored[NAY_SST_COMPARATOR_NAME]) {
  nay_sst_read_options how = {sizeof how, .flags = flags, .comparator = order,
                              .stored_comparator = stored};
  nay_sst *t = NULL;
  nay_diag diag = {.what = NULL};
  nay_status status = nay_sst_view(bytes, len, &how, NULL, &diag, &t);
  if (status != NAY_OK) assert_true(diag.what != NULL && diag.offset < len);
  if (status == NAY_EMISMATCH) assert_non_null(strstr(diag.what, "comparator"));
  nay_sst_free(t);
  return status;
}

static void another_name(void **unused) {
  (void)unused;
  for (unsigned i = 0; i <= N_ORDERS; i++) {
    nay_sst_comparator made = order_at(i);
    const nay_sst_comparator *maker = i < N_ORDERS ? &made : NULL;
    size_t len;
    uint8_t *bytes = small_table(maker, NAY_SST_FULL_FILTER, &len);
    for (unsigned k = 0; k <= N_ORDERS; k++) {
      nay_sst_comparator given = order_at(k);
      const nay_sst_comparator *reader = k < N_ORDERS ? &given : NULL;
      char stored[NAY_SST_COMPARATOR_NAME] = "x";
      assert_status(open_with(bytes, len, reader, 0, stored), i == k ? NAY_OK : NAY_EMISMATCH);
      assert_string_equal(stored, maker != NULL ? made.name : "");
    }
    nay_status by_name = i == 3 ? NAY_EMISMATCH : NAY_OK; /* test.length is not the library's */
    assert_status(open_with(bytes, len, NULL, NAY_SST_STORED_COMPARATOR, NULL), by_name);
    free(bytes);
  }
}

/* A table whose name cannot be read is an error, for any reader. */
static void damaged_name(void **unused) {
  (void)unused;
  nay_sst_comparator order = order_at(0);
  size_t len, found = 0;
  uint8_t *bytes = small_table(&order, NAY_SST_NO_FILTER, &len);
  for (size_t at = 0; at + strlen(order.name) < len; at++) {
    if (memcmp(bytes + at, order.name, strlen(order.name)) != 0) continue;
    found++;
    bytes[at] ^= 1;
    assert_status(open_with(bytes, len, &order, 0, NULL), NAY_ECORRUPT);
    assert_status(open_with(bytes, len, NULL, 0, NULL), NAY_ECORRUPT);
    bytes[at] ^= 1;
  }
  assert_int_equal(found, 1);
  free(bytes);
}

static void an_empty_table_has_the_name(void **unused) {
  (void)unused;
  nay_sst_comparator order = order_at(0), other = order_at(1);
  sample s;
  sample_init(&s, 1);
  s.order = &order;
  nay_sst_write_options how = {sizeof how, .filter = NAY_SST_FULL_FILTER, .comparator = &order};
  size_t len;
  uint8_t *bytes = sample_bytes(&s, &how, &len);
  assert_ok(open_with(bytes, len, &order, 0, NULL));
  assert_status(open_with(bytes, len, &other, 0, NULL), NAY_EMISMATCH);
  assert_status(open_with(bytes, len, NULL, 0, NULL), NAY_EMISMATCH);
  free(bytes);
  sample_free(&s);
}

static void refused_comparators(void **unused) {
  (void)unused;
  char path[TEMP_MAX];
  nay_sst_comparator good = order_at(0), nameless = good, endless = good, callless = good,
                     bytewise = good;
  nameless.name[0] = '\0';
  memset(endless.name, 'x', sizeof endless.name);
  callless.compare = NULL;
  strcpy(bytewise.name, "leveldb.BytewiseComparator");
  const nay_sst_comparator *bad[] = {&nameless, &endless, &callless, &bytewise};
  size_t len;
  uint8_t *bytes = small_table(NULL, NAY_SST_NO_FILTER, &len);
  temp_path(path, "refused.ldb");
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    nay_sst_writer *w;
    nay_sst_write_options how = {sizeof how, .comparator = bad[i]};
    nay_diag diag = {.what = NULL};
    assert_status(nay_sst_writer_new(path, &how, NULL, &diag, &w), NAY_EINVAL);
    assert_non_null(diag.what);
    assert_status(open_with(bytes, len, bad[i], 0, NULL), NAY_EINVAL);
  }
  free(bytes);
}

/* ---- equal keys of other bytes ---- */

static void equal_keys_of_other_bytes(void **unused) {
  (void)unused;
  char path[TEMP_MAX];
  nay_sst_comparator order = fold;
  nay_sst_write_options how = {sizeof how, .filter = NAY_SST_FULL_FILTER, .comparator = &order};
  nay_sst_read_options read = {sizeof read, .comparator = &order};
  nay_sst_writer *w;
  nay_sst *t;
  nay_sst_value v = {.size = sizeof v};
  temp_path(path, "fold.ldb");
  assert_status(nay_sst_writer_new(path, &how, NULL, NULL, &w), NAY_EINVAL);
  how.filter = NAY_SST_NO_FILTER;
  assert_ok(nay_sst_writer_new(path, &how, NULL, NULL, &w));
  assert_ok(nay_sst_writer_add(w, "Apple", 5, "1", 1, NULL));
  assert_status(nay_sst_writer_add(w, "aPPle", 5, "1", 1, NULL), NAY_EINVAL);
  assert_ok(nay_sst_writer_add(w, "banana", 6, "2", 1, NULL));
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  assert_ok(nay_sst_open(path, &read, NULL, NULL, &t));
  assert_ok(nay_sst_get(t, "APPLE", 5, NAY_SST_NEWEST, NULL, &v));
  assert_status(nay_sst_get(t, "APPL", 4, NAY_SST_NEWEST, NULL, &v), NAY_ENOENT);
  nay_sst_free(t);
  /* without saying so, it is an error rather than an answer that a filter could contradict */
  order.equal_may_differ = false;
  assert_ok(nay_sst_open(path, &read, NULL, NULL, &t));
  assert_ok(nay_sst_get(t, "Apple", 5, NAY_SST_NEWEST, NULL, &v));
  assert_status(nay_sst_get(t, "APPLE", 5, NAY_SST_NEWEST, NULL, &v), NAY_EINVAL);
  nay_sst_value_free(&v);
  nay_sst_free(t);
  unlink(path);
}

/* ---- separators ---- */

static size_t lying_separator(void *ctx, void *key, size_t len, const void *next, size_t next_len) {
  (void)next;
  (void)next_len;
  uint64_t *state = ctx;
  *state = nay_hash_mix(*state + 1);
  if (len != 0) ((uint8_t *)key)[*state % len] ^= (uint8_t)(*state >> 32);
  return *state >> 8 & 1 ? (*state >> 9) % (len + 4) : 0;
}

/* Whatever a separator returns, the index stays right. */
static void separators_that_lie(void **unused) {
  (void)unused;
  sample s;
  sample_init(&s, MAX_ENTRIES);
  for (uint64_t seed = 0; seed < TEST_SCALE(200); seed++) {
    uint64_t lies = seed;
    nay_sst_comparator order = order_at(seed % N_ORDERS);
    order.separator = lying_separator;
    order.ctx = &lies;
    s.order = &order;
    sample_fill(&s, seed, MAX_ENTRIES);
    nay_sst_write_options write = {sizeof write, .block_bytes = 60, .comparator = &order};
    nay_sst_read_options how = {sizeof how, .comparator = &order};
    size_t len;
    nay_sst *t;
    uint8_t *bytes = sample_bytes(&s, &write, &len);
    assert_ok(nay_sst_view(bytes, len, &how, NULL, NULL, &t));
    sample_check_iter(&s, t);
    sample_check_gets(&s, t);
    nay_sst_free(t);
    free(bytes);
  }
  sample_free(&s);
}

/* ---- prefixes ---- */

static void put_events(const char *path, const nay_sst_comparator *order,
                       const nay_sst_prefix *prefix) {
  nay_sst_writer *w;
  nay_sst_write_options how = {sizeof how, .prefix = prefix, .comparator = order,
                               .block_bytes = 100};
  assert_ok(nay_sst_writer_new(path, &how, NULL, NULL, &w));
  for (unsigned user = 0; user < 50; user++) {
    for (unsigned time = 20; time-- > 0;) { /* newest first */
      char key[16];
      int len = snprintf(key, sizeof key, "%03u%04u", user * 2, time);
      assert_ok(nay_sst_writer_add(w, key, (size_t)len, "", 0, NULL));
    }
  }
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
}

/* Ranges inside a prefix: the filter denies users that are not there, and no others. */
static void prefix_ranges(void **unused) {
  (void)unused;
  char path[TEMP_MAX], from[16], to[16];
  nay_sst_comparator order = order_at(2);
  nay_sst_prefix prefix = {.size = sizeof prefix};
  assert_ok(nay_sst_prefix_find("nay.fixed.3", &prefix));
  put_events(temp_path(path, "events.ldb"), &order, &prefix);
  nay_sst_read_options how = {sizeof how, .prefix = &prefix, .comparator = &order};
  nay_sst *t;
  nay_sst_iter *it;
  assert_ok(nay_sst_open(path, &how, NULL, NULL, &t));
  assert_ok(nay_sst_iter_new(t, NULL, &it));
  for (unsigned user = 0; user < 100; user++) {
    unsigned n = 0;
    snprintf(from, sizeof from, "%03u9999", user);
    snprintf(to, sizeof to, "%03u", user); /* the last key of its prefix */
    nay_status status = nay_sst_iter_seek_range(it, from, 7, to, 3);
    for (; status == NAY_OK; status = nay_sst_iter_next(it)) n++;
    assert_status(status, NAY_EEND);
    assert_int_equal(n, user % 2 == 0 ? 20 : 0);
  }
  nay_sst_counters c = {.size = sizeof c};
  table_counts(t, &c);
  assert_int_equal(c.prefix_checks, 100);
  assert_true(c.prefix_useful > 40);
  assert_ok(nay_sst_iter_seek_range(it, "0019999", 7, "002", 3)); /* two prefixes: not probed */
  assert_status(nay_sst_iter_seek_prefix(it, "002", 3), NAY_ENOTSUP);
  table_counts(t, &c);
  assert_int_equal(c.prefix_checks, 100);
  nay_sst_iter_free(it);
  nay_sst_free(t);
  unlink(path);
}

/* ---- many tables ---- */

static nay_sst *one_key(const char *path, const nay_sst_comparator *order, const char *key) {
  nay_sst_writer *w;
  nay_sst *t;
  nay_sst_write_options how = {sizeof how, .comparator = order};
  nay_sst_read_options read = {sizeof read, .comparator = order};
  assert_ok(nay_sst_writer_new(path, &how, NULL, NULL, &w));
  if (key != NULL) assert_ok(nay_sst_writer_add(w, key, strlen(key), key, strlen(key), NULL));
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  assert_ok(nay_sst_open(path, &read, NULL, NULL, &t));
  unlink(path);
  return t;
}

static void many_tables_of_one_order(void **unused) {
  (void)unused;
  char path[TEMP_MAX];
  nay_sst_comparator reverse = order_at(0), decimal = order_at(1);
  temp_path(path, "many.ldb");
  nay_sst *a = one_key(path, &decimal, "7"), *b = one_key(path, &decimal, "12");
  nay_sst *other = one_key(path, &reverse, "7"), *plain = one_key(path, NULL, "7");
  nay_sst *empty = one_key(path, &reverse, NULL);
  nay_sst_lookup *l;
  const nay_sst *good[] = {b, empty, a}, *bad[] = {a, other}, *worse[] = {a, plain};
  assert_status(
      nay_sst_lookup_new(&(nay_sst_lookup_level){sizeof(nay_sst_lookup_level), bad, 2, false}, 1,
                         NULL, NULL, NULL, &l),
      NAY_EMISMATCH);
  assert_status(
      nay_sst_lookup_new(&(nay_sst_lookup_level){sizeof(nay_sst_lookup_level), worse, 2, false}, 1,
                         NULL, NULL, NULL, &l),
      NAY_EMISMATCH);
  assert_ok(
      nay_sst_lookup_new(&(nay_sst_lookup_level){sizeof(nay_sst_lookup_level), good, 3, false}, 1,
                         NULL, NULL, NULL, &l));
  nay_sst_lookup_free(l);
  assert_status(nay_sst_compact(bad, 2, path, NULL, NULL, NULL, NULL), NAY_EMISMATCH);
  nay_sst_write_options write = {sizeof write, .comparator = &reverse};
  nay_sst_compact_options how = {sizeof how, .write = &write};
  assert_status(nay_sst_compact(good, 3, path, &how, NULL, NULL, NULL), NAY_EMISMATCH);
  write.comparator = NULL; /* that of the inputs */
  assert_ok(nay_sst_compact(good, 3, path, &how, NULL, NULL, NULL));
  nay_sst_read_options read = {sizeof read, .comparator = &decimal};
  nay_sst *merged;
  nay_sst_iter *it;
  size_t len;
  assert_ok(nay_sst_open(path, &read, NULL, NULL, &merged));
  assert_ok(nay_sst_iter_new(merged, NULL, &it));
  assert_ok(nay_sst_iter_first(it));
  assert_memory_equal(nay_sst_iter_key(it, &len), "7", 1);
  assert_ok(nay_sst_iter_next(it));
  assert_memory_equal(nay_sst_iter_key(it, &len), "12", 2);
  nay_sst_iter_free(it);
  nay_sst *all[] = {a, b, other, plain, empty, merged};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) nay_sst_free(all[i]);
  unlink(path);
}

/* Where the empty key is not the first one, a range from the first key starts there all the same;
 * so does the first range of a compaction with several outputs. */
typedef struct out_paths {
  char path[64][TEMP_MAX];
  size_t n;
  uint64_t entries;
} out_paths;

static const char *next_path(void *ctx) {
  out_paths *out = ctx;
  char name[32];
  assert_true(out->n < 64);
  snprintf(name, sizeof name, "out%zu.ldb", out->n);
  temp_path(out->path[out->n], name);
  return out->path[out->n++];
}

static void done_path(void *ctx, const nay_sst_output *output) {
  ((out_paths *)ctx)->entries += output->entries;
}

static void ranges_from_the_first_key(void **state) {
  enum { N = 600 };
  const nay_sst_comparator order = order_at(*(const unsigned *)*state);
  char path[TEMP_MAX], keys[N][8];
  nay_sst_write_options write = {sizeof write, .comparator = &order, .block_bytes = 512};
  nay_sst_read_options read = {sizeof read, .comparator = &order};
  nay_sst_writer *w;
  nay_sst *t;
  nay_sst_iter *it;
  for (size_t i = 0; i < N; i++) { /* sorted by insertion */
    char key[8];
    size_t at = i, len = (size_t)snprintf(key, sizeof key, "%05zu", i * 7 % N + 1000);
    for (; at > 0 && order.compare(order.ctx, key, len, keys[at - 1], len) < 0; at--)
      memcpy(keys[at], keys[at - 1], sizeof key);
    memcpy(keys[at], key, sizeof key);
  }
  temp_path(path, "first.ldb");
  assert_ok(nay_sst_writer_new(path, &write, NULL, NULL, &w));
  for (size_t i = 0; i < N; i++) assert_ok(nay_sst_writer_add(w, keys[i], 5, "value", 5, NULL));
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  assert_ok(nay_sst_open(path, &read, NULL, NULL, &t));
  assert_ok(nay_sst_iter_new(t, NULL, &it));
  nay_status status = nay_sst_iter_seek_range(it, NULL, 0, keys[N / 2], 5);
  for (size_t i = 0; i < N / 2; i++, status = nay_sst_iter_next(it)) {
    size_t len;
    assert_ok(status);
    assert_memory_equal(nay_sst_iter_key(it, &len), keys[i], 5);
  }
  assert_status(status, NAY_EEND);
  nay_sst_iter_free(it);
  static out_paths out;
  out = (out_paths){.n = 0};
  nay_sst_outputs outputs = {sizeof outputs, .next = next_path, .done = done_path, .ctx = &out};
  nay_sst_compact_options how = {sizeof how, .write = &write, .target_bytes = 1000,
                                 .range_bytes = 2000};
  const nay_sst *tables[] = {t};
  assert_ok(nay_sst_compact_to(tables, 1, &outputs, &how, NULL, NULL, NULL));
  assert_true(out.n > 2);
  assert_int_equal(out.entries, N);
  for (size_t i = 0; i < out.n; i++) unlink(out.path[i]);
  nay_sst_free(t);
  unlink(path);
}

int main(void) {
  static const unsigned at[N_ORDERS] = {0, 1, 2, 3};
  const test_case tests[] = {
      TEST(total_orders),
      TEST(decimal_by_value),
      TEST(names),
      TEST_WITH("tables_in_order reverse", tables_in_order, &at[0]),
      TEST_WITH("tables_in_order decimal", tables_in_order, &at[1]),
      TEST_WITH("tables_in_order prefix", tables_in_order, &at[2]),
      TEST_WITH("tables_in_order length", tables_in_order, &at[3]),
      TEST_WITH("internal_keys reverse", internal_keys, &at[0]),
      TEST_WITH("internal_keys decimal", internal_keys, &at[1]),
      TEST_WITH("internal_keys prefix", internal_keys, &at[2]),
      TEST_WITH("internal_keys length", internal_keys, &at[3]),
      TEST(another_name),
      TEST(damaged_name),
      TEST(an_empty_table_has_the_name),
      TEST(refused_comparators),
      TEST(equal_keys_of_other_bytes),
      TEST(separators_that_lie),
      TEST(prefix_ranges),
      TEST(many_tables_of_one_order),
      TEST_WITH("ranges_from_the_first_key reverse", ranges_from_the_first_key, &at[0]),
      TEST_WITH("ranges_from_the_first_key decimal", ranges_from_the_first_key, &at[1]),
      TEST_WITH("ranges_from_the_first_key prefix", ranges_from_the_first_key, &at[2]),
      TEST_WITH("ranges_from_the_first_key length", ranges_from_the_first_key, &at[3]),
  };
  return run_all(tests);
}
