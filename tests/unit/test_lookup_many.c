/*
 * test_lookup_many.c - a batch of gets answers as the gets do, key for key: values, versions,
 * tables, statuses, and counters but for the blocks that keys share. Over every kind of filter,
 * comparator, reading and layout of levels; with damaged tables and without memory.
 */
#include "nay_sst_cache.h"
#include "nay_sst_lookup.h"
#include "support/flaky.h"
#include "support/sst_history.h"

#define MOST 64u
#define BATCH 700u

static nay_policy leveldb_policy = {.size = sizeof leveldb_policy};
static const nay_policy *policies[] = {&leveldb_policy, &exact};
static nay_sst_prefix prefix = {.size = sizeof prefix};

/* How tables are written and read. */
typedef struct variant {
  const char *name;
  nay_sst_write_options write;
  nay_sst_read_options read;
  bool cache, mixed_seeds;
} variant;

#define WRITE .write.size = sizeof(nay_sst_write_options), .write.keys = NAY_SST_KEYS_INTERNAL
#define READ                                                                     \
  .read.size = sizeof(nay_sst_read_options), .read.keys = NAY_SST_KEYS_INTERNAL, \
  .read.policies = policies, .read.npolicies = 2, .read.codecs = snappy_codecs, .read.ncodecs = 1

static const variant variants[] = {
    {"no filter", WRITE, READ, .write.block_bytes = 300},
    {"full", WRITE, READ, .write.filter = NAY_SST_FULL_FILTER, .write.block_bytes = 200},
    {"full, seeds", WRITE, READ, .write.filter = NAY_SST_FULL_FILTER, .mixed_seeds = true},
    {"full, pread, snappy", WRITE, READ, .write.filter = NAY_SST_FULL_FILTER,
     .write.codec = &snappy_codec, .read.flags = NAY_SST_PREAD, .write.block_bytes = 300},
    {"full, pread, cache", WRITE, READ, .write.filter = NAY_SST_FULL_FILTER, .cache = true,
     .read.flags = NAY_SST_PREAD},
    {"partitioned", WRITE, READ, .write.filter = NAY_SST_PARTITIONED_FILTER,
     .write.partition_keys = 20, .write.block_bytes = 128, .read.flags = NAY_SST_PREAD},
    {"blocks", WRITE, READ, .write.filter = NAY_SST_BLOCK_FILTER, .write.policy = &leveldb_policy,
     .write.block_bytes = 200},
    {"full, policy", WRITE, READ, .write.filter = NAY_SST_FULL_FILTER, .write.policy = &exact},
    {"prefixes", WRITE, READ, .write.prefix = &prefix, .read.prefix = &prefix,
     .write.block_bytes = 128},
    {"no filters read", WRITE, READ, .write.filter = NAY_SST_FULL_FILTER,
     .read.flags = NAY_SST_NO_FILTERS | NAY_SST_PREAD},
};

/* ---- tables ---- */

typedef struct tree {
  history h;
  unsigned ntables;
  char paths[MOST][TEMP_MAX];
  const nay_sst *tables[MOST];
  nay_sst_cache *cache;
  nay_sst_lookup *lookup;
} tree;

static void tree_add(tree *t, const variant *v, unsigned a, unsigned b, unsigned first,
                     unsigned end) {
  char name[32];
  unsigned i = t->ntables++;
  nay_sst_write_options write = v->write;
  nay_sst_read_options read = v->read;
  nay_params p = {sizeof p, .bits_per_key = 6, .seed = v->mixed_seeds ? i % 3 : 0};
  if (write.policy == NULL) write.params = &p;
  read.cache = t->cache;
  snprintf(name, sizeof name, "many%u.ldb", i);
  history_write_users(&t->h, a, b, first, end, temp_path(t->paths[i], name), &write);
  t->tables[i] = open_table(t->paths[i], &read);
}

/* Five overlapping tables, and two disjoint levels with gaps below them. */
static void tree_make(tree *t, const variant *v, uint64_t seed) {
  nay_sst_lookup_level levels[3];
  const unsigned third = N_WRITES / 3;
  *t = (tree){.ntables = 0};
  if (v->cache)
    assert_ok(nay_sst_cache_new(
        &(nay_sst_cache_options){sizeof(nay_sst_cache_options), 20000, 20000, false}, NULL, NULL,
        &t->cache));
  history_make(&t->h, seed);
  for (unsigned i = 0; i < 5; i++) {
    unsigned b = N_WRITES - i * (third / 5);
    tree_add(t, v, b - third / 5 + 1, b, 0, N_USERS);
  }
  levels[0] = (nay_sst_lookup_level){.size = sizeof levels[0], .tables = t->tables, .n = 5};
  for (unsigned level = 1; level < 3; level++) {
    unsigned begin = t->ntables, b = (3 - level) * third;
    for (unsigned user = level * 7, n; user < N_USERS; user += n + level) {
      n = 1 + (unsigned)(nay_hash_mix(seed + 77 * user + level) % 40);
      if (n > N_USERS - user) n = N_USERS - user;
      tree_add(t, v, b - third + 1, b, user, user + n);
    }
    levels[level] = (nay_sst_lookup_level){.size = sizeof levels[0],
                                           .tables = t->tables + begin,
                                           .n = t->ntables - begin,
                                           .disjoint = true};
  }
  assert_ok(nay_sst_lookup_new(levels, 3, NULL, NULL, NULL, &t->lookup));
}

static void tree_free(tree *t) {
  nay_sst_lookup_free(t->lookup);
  for (unsigned i = 0; i < t->ntables; i++) {
    nay_sst_free((nay_sst *)(uintptr_t)t->tables[i]);
    unlink(t->paths[i]);
  }
  nay_sst_cache_free(t->cache);
}

/* ---- a batch beside gets ---- */

typedef struct batch {
  char text[BATCH][32];
  const void *keys[BATCH];
  size_t lens[BATCH], n;
  nay_sst_value values[BATCH];
  nay_status statuses[BATCH];
  size_t tables[BATCH];
} batch;

/* Keys in any order: of users, between them, outside of all, empty, and some twice. */
static void batch_make(batch *b, uint64_t seed, size_t n) {
  b->n = n;
  for (size_t i = 0; i < n; i++) {
    uint64_t r = nay_hash_mix(seed * 1000 + i);
    size_t len = number_key((unsigned)(r % (N_USERS + 20)), b->text[i]);
    if (r >> 32 & 1) len += (size_t)snprintf(b->text[i] + len, 8, "%c", (int)('a' + r % 3));
    if ((r >> 40) % 50 == 0) len = (r >> 33) % 3;
    b->keys[i] = len != 0 ? b->text[i] : NULL;
    b->lens[i] = len;
    b->statuses[i] = NAY_EIO;
    b->tables[i] = 777;
    b->values[i] = (nay_sst_value){.size = sizeof b->values[i]};
  }
}

static void batch_free(batch *b) {
  for (size_t i = 0; i < b->n; i++) nay_sst_value_free(&b->values[i]);
}

static nay_sst_counters counters_lookup(const tree *t) {
  nay_sst_counters c = {.size = sizeof c};
  assert_ok(nay_sst_lookup_stats(t->lookup, &c));
  return c;
}

static void assert_counters(nay_sst_counters start, nay_sst_counters one, nay_sst_counters many) {
  const uint64_t *a = &start.gets, *b = &one.gets, *c = &many.gets;
  size_t n = (sizeof start - offsetof(nay_sst_counters, gets)) / sizeof *a;
  for (size_t i = 0; i < n; i++) {
    uint64_t alone = b[i] - a[i], together = c[i] - b[i];
    bool reads = a + i == &start.block_reads;
    /* what is cached differs, and a batch hashes for tables that its keys may not reach */
    bool others =
        a + i == &start.cache_hits || a + i == &start.filter_loads || a + i == &start.hashes;
    if (reads) assert_true(together <= alone);
    if (!reads && !others) assert_int_equal(together, alone);
  }
}

static nay_status check_batch(const tree *t, batch *b, unsigned moment) {
  nay_sst_counters start = counters_lookup(t);
  nay_status first = NAY_OK;
  static nay_sst_value alone[BATCH];
  static nay_status statuses[BATCH];
  static size_t tables[BATCH];
  nay_diag diag = {.what = NULL}, want = {.what = NULL};
  for (size_t i = 0; i < b->n; i++) {
    nay_diag why = {.what = NULL};
    alone[i] = (nay_sst_value){.size = sizeof alone[i]};
    tables[i] = 777;
    statuses[i] =
        nay_sst_lookup_get(t->lookup, b->keys[i], b->lens[i], moment, &why, &alone[i], &tables[i]);
    bool error = statuses[i] != NAY_OK && statuses[i] != NAY_ENOENT;
    if (first == NAY_OK && error) first = statuses[i], want = why;
  }
  nay_sst_counters one = counters_lookup(t);
  assert_status(nay_sst_lookup_get_many(t->lookup, b->keys, b->lens, b->n, moment, &diag, b->values,
                                        b->statuses, b->tables),
                first);
  if (first != NAY_OK) {
    assert_string_equal(diag.what, want.what);
    assert_int_equal(diag.offset, want.offset);
  }
  for (size_t i = 0; i < b->n; i++) {
    const nay_sst_value *v = &b->values[i], *w = &alone[i];
    assert_status(b->statuses[i], statuses[i]);
    assert_int_equal(b->tables[i], tables[i]);
    assert_int_equal(v->deleted, w->deleted);
    if (statuses[i] == NAY_OK) {
      assert_true(v->len == w->len && v->sequence == w->sequence);
      assert_memory_equal(v->bytes, w->bytes, v->len);
    }
    nay_sst_value_free(&alone[i]);
  }
  if (first == NAY_OK) assert_counters(start, one, counters_lookup(t));
  return first;
}

static void a_batch_is_its_gets(void **state) {
  (void)state;
  static tree t;
  static batch b;
  for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
    for (uint64_t seed = 0; seed < TEST_SCALE(4) + 1; seed++) {
      tree_make(&t, &variants[v], seed);
      for (unsigned i = 0; i < 8; i++) {
        const size_t sizes[] = {1, 2, 3, 63, 64, 65, 200, BATCH};
        batch_make(&b, seed * 8 + i, sizes[i]);
        assert_ok(check_batch(&t, &b, i == 0 ? N_WRITES : 400 * i));
        assert_ok(check_batch(&t, &b, N_WRITES)); /* into values that hold something */
        batch_free(&b);
      }
      tree_free(&t);
    }
  }
}

/* More keys than a piece of a batch has, in a custom order, and shared blocks are read once. */
static void large_batches_share_blocks(void **state) {
  (void)state;
  enum { N = 9000 };
  char path[TEMP_MAX];
  nay_sst_comparator reverse = {.size = sizeof reverse};
  assert_ok(nay_sst_comparator_find("rocksdb.ReverseBytewiseComparator", &reverse));
  for (unsigned custom = 0; custom < 2; custom++) {
    nay_sst_writer *w;
    nay_sst_write_options how = {sizeof how, .comparator = custom ? &reverse : NULL};
    assert_ok(nay_sst_writer_new(temp_path(path, "large.ldb"), &how, NULL, NULL, &w));
    char(*text)[32] = malloc(N * sizeof *text);
    const void **keys = malloc(N * sizeof *keys);
    size_t *lens = malloc(N * sizeof *lens);
    nay_sst_value *values = calloc(N, sizeof *values);
    nay_status *statuses = malloc(N * sizeof *statuses);
    for (unsigned i = 0; i < N; i++) {
      unsigned at = custom ? N - 1 - i : i;
      lens[at] = number_key(at, text[at]);
      if (at % 3 != 0)
        assert_ok(nay_sst_writer_add(w, text[at], lens[at], text[at], lens[at], NULL));
    }
    assert_ok(nay_sst_writer_finish(w, NULL));
    nay_sst_writer_free(w);
    for (unsigned i = 0; i < N; i++) {
      unsigned at = (unsigned)((uint64_t)i * 7919 % N);
      keys[i] = text[at];
      lens[i] = strlen(text[at]);
      values[i].size = sizeof *values;
    }
    nay_sst_read_options read = {
        .size = sizeof read, .comparator = custom ? &reverse : NULL, .flags = NAY_SST_PREAD};
    nay_sst *t = open_table(path, &read);
    const nay_sst *one[] = {t};
    nay_sst_lookup *l;
    assert_ok(
        nay_sst_lookup_new(&(nay_sst_lookup_level){sizeof(nay_sst_lookup_level), one, 1, false}, 1,
                           NULL, NULL, NULL, &l));
    uint64_t before = counters_of(t).block_reads;
    assert_ok(nay_sst_lookup_get_many(l, keys, lens, N, 0, NULL, values, statuses, NULL));
    for (unsigned i = 0; i < N; i++) {
      bool there = (unsigned)((uint64_t)i * 7919 % N) % 3 != 0;
      assert_status(statuses[i], there ? NAY_OK : NAY_ENOENT);
      if (there) assert_memory_equal(values[i].bytes, keys[i], lens[i]);
      nay_sst_value_free(&values[i]);
    }
    uint64_t blocks = info_of(t).nblocks, pieces = (N + 4095) / 4096;
    assert_true(blocks > 20 && counters_of(t).block_reads - before <= blocks * pieces);
    nay_sst_lookup_free(l);
    nay_sst_free(t);
    free(text);
    free((void *)(uintptr_t)keys);
    free(lens);
    free(values);
    free(statuses);
    unlink(path);
  }
}

/* ---- damage ---- */

static void errors_are_those_of_the_gets(void **state) {
  (void)state;
  static tree t;
  static batch b;
  unsigned failed = 0;
  variant v = {WRITE, READ, .write.filter = NAY_SST_FULL_FILTER, .write.block_bytes = 200};
  for (uint64_t seed = 0; seed < TEST_SCALE(10) + 6; seed++) {
    tree_make(&t, &v, seed);
    /* some tables of the overlapping level are damaged in a data block each */
    const nay_sst *tables[5];
    uint8_t *bytes[5];
    for (unsigned i = 0; i < 5; i++) {
      size_t len;
      bytes[i] = sample_read(t.paths[i], &len);
      if (i % 2 == seed % 2) bytes[i][nay_hash_mix(seed * 5 + i) % (len / 2)] ^= 4;
      nay_sst *bad;
      assert_ok(nay_sst_view(bytes[i], len, &v.read, NULL, NULL, &bad));
      tables[i] = bad;
    }
    nay_sst_lookup_free(t.lookup);
    assert_ok(
        nay_sst_lookup_new(&(nay_sst_lookup_level){sizeof(nay_sst_lookup_level), tables, 5, false},
                           1, NULL, NULL, NULL, &t.lookup));
    batch_make(&b, seed, BATCH);
    failed += check_batch(&t, &b, N_WRITES) == NAY_ECORRUPT;
    batch_free(&b);
    for (unsigned i = 0; i < 5; i++) {
      nay_sst_free((nay_sst *)(uintptr_t)tables[i]);
      free(bytes[i]);
    }
    tree_free(&t);
  }
  assert_true(failed > 3);
}

/* A merge operand is no value, at its own sequence number as above it, the largest included. */
static void operands_are_refused(void **state) {
  (void)state;
  const uint64_t sequences[] = {5, NAY_SST_MAX_SEQUENCE};
  for (unsigned i = 0; i < 2; i++) {
    static tree t;
    static batch b;
    nay_sst_writer *w;
    nay_sst_iter *it;
    nay_sst_read_options read = {sizeof read, .keys = NAY_SST_KEYS_INTERNAL};
    nay_sst_write_options how = {sizeof how, .keys = NAY_SST_KEYS_INTERNAL};
    t = (tree){.ntables = 1};
    assert_ok(nay_sst_writer_new(temp_path(t.paths[0], "op.ldb"), &how, NULL, NULL, &w));
    nay_sst_entry v = {.size = sizeof v, .key = "key", .len = 3, .sequence = sequences[i]};
    v.type = NAY_SST_MERGE;
    assert_ok(nay_sst_writer_add_entry(w, &v, "+1", 2, NULL));
    assert_ok(nay_sst_writer_finish(w, NULL));
    nay_sst_writer_free(w);
    t.tables[0] = open_table(t.paths[0], &read);
    assert_ok(nay_sst_lookup_new(
        &(nay_sst_lookup_level){sizeof(nay_sst_lookup_level), t.tables, 1, false}, 1, NULL, NULL,
        NULL, &t.lookup));
    b = (batch){.n = 1, .keys = {"key"}, .lens = {3}, .values = {{.size = sizeof b.values[0]}}};
    b.tables[0] = 777;
    assert_status(check_batch(&t, &b, 4), NAY_OK);
    if (i == 0) assert_status(check_batch(&t, &b, 5), NAY_ENOTSUP);
    assert_status(nay_sst_lookup_get_many(t.lookup, b.keys, b.lens, 1, NAY_SST_MAX_SEQUENCE, NULL,
                                          b.values, b.statuses, NULL),
                  NAY_ENOTSUP);
    assert_ok(nay_sst_iter_new(t.tables[0], NULL, &it));
    assert_ok(nay_sst_iter_seek(it, "key", 3));
    nay_sst_iter_free(it);
    batch_free(&b);
    tree_free(&t);
  }
}

static void memory_may_run_out(void **state) {
  (void)state;
  static tree t;
  static batch b;
  variant v = {WRITE, READ, .write.filter = NAY_SST_FULL_FILTER, .write.codec = &snappy_codec};
  nay_status status = NAY_ENOMEM;
  tree_make(&t, &v, 1);
  flaky heap = {.fail_at = -1};
  nay_allocator a = flaky_allocator(&heap);
  nay_sst *own;
  nay_sst_lookup *l;
  assert_ok(nay_sst_open(t.paths[0], &v.read, &a, NULL, &own));
  const nay_sst *one[] = {own};
  assert_ok(nay_sst_lookup_new(&(nay_sst_lookup_level){sizeof(nay_sst_lookup_level), one, 1, false},
                               1, NULL, &a, NULL, &l));
  for (long at = 0; status == NAY_ENOMEM; at++) {
    nay_diag diag = {.what = NULL};
    batch_make(&b, 1, 100);
    flaky_arm(&heap, at, false);
    status = nay_sst_lookup_get_many(l, b.keys, b.lens, b.n, N_WRITES, &diag, b.values, b.statuses,
                                     b.tables);
    flaky_arm(&heap, -1, false);
    if (status != NAY_OK) assert_non_null(diag.what);
    for (size_t i = 0; i < b.n; i++) { /* a key has the right answer or an error */
      nay_sst_value w = {.size = sizeof w};
      if (b.statuses[i] == NAY_ENOMEM) continue;
      assert_status(nay_sst_lookup_get(l, b.keys[i], b.lens[i], NAY_SST_NEWEST, NULL, &w, NULL),
                    b.statuses[i]);
      nay_sst_value_free(&w);
    }
    batch_free(&b);
  }
  assert_ok(status);
  nay_sst_lookup_free(l);
  nay_sst_free(own);
  assert_true(flaky_is_clean(&heap));
  tree_free(&t);
}

static void bad_arguments(void **state) {
  (void)state;
  static batch b;
  nay_sst_lookup *l;
  nay_diag diag = {.what = NULL};
  assert_ok(
      nay_sst_lookup_new(&(nay_sst_lookup_level){sizeof(nay_sst_lookup_level), NULL, 0, false}, 1,
                         NULL, NULL, NULL, &l));
  batch_make(&b, 1, 10);
  assert_ok(nay_sst_lookup_get_many(l, b.keys, b.lens, 10, 0, NULL, b.values, b.statuses, NULL));
  for (unsigned i = 0; i < 10; i++) assert_status(b.statuses[i], NAY_ENOENT);
  assert_ok(nay_sst_lookup_get_many(l, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL));
  b.statuses[0] = NAY_EIO;
  assert_status(nay_sst_lookup_get_many(l, NULL, b.lens, 1, 0, &diag, b.values, b.statuses, NULL),
                NAY_EINVAL);
  assert_non_null(diag.what);
  assert_status(
      nay_sst_lookup_get_many(l, b.keys, b.lens, 1, UINT64_MAX, NULL, b.values, b.statuses, NULL),
      NAY_EINVAL);
  b.values[7].size += 8;
  assert_status(nay_sst_lookup_get_many(l, b.keys, b.lens, 10, 0, NULL, b.values, b.statuses, NULL),
                NAY_EINVAL);
  b.values[7].size -= 8;
  b.keys[3] = NULL;
  b.lens[3] = 1;
  assert_status(nay_sst_lookup_get_many(l, b.keys, b.lens, 10, 0, NULL, b.values, b.statuses, NULL),
                NAY_EINVAL);
  assert_status(b.statuses[0], NAY_EIO); /* untouched */
  nay_sst_lookup_free(l);
}

int main(void) {
  assert_ok(nay_policy_find(NAY_POLICY_LEVELDB, 10, &leveldb_policy));
  assert_ok(nay_sst_prefix_find("nay.fixed.9", &prefix));
  const test_case tests[] = {
      TEST(a_batch_is_its_gets),          TEST(large_batches_share_blocks),
      TEST(errors_are_those_of_the_gets), TEST(memory_may_run_out),
      TEST(operands_are_refused),         TEST(bad_arguments),
  };
  return run_all(tests);
}
