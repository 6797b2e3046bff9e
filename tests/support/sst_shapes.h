/*
 * sst_shapes.h - tables of every shape, each opened in every way, and all that one may ask them:
 * plain and internal keys, two comparators, compressed or not, all kinds of filters; mapped, read,
 * viewed and through calls of the caller.
 */
#ifndef NAY_TEST_SST_SHAPES_H
#define NAY_TEST_SST_SHAPES_H

#include "block/footer.h"
#include "nay_sst.h"
#include "nay_sst_cache.h"
#include "nay_sst_compact.h"
#include "nay_sst_iter.h"
#include "nay_sst_lookup.h"
#include "support/sst_numbers.h"
#include "support/sst_own_io.h"
#include "table/table.h"

#define N_KEYS 120u
#define PREFIX 10u /* keys that share it: ten numbers */
#define MOST_BYTES (1u << 16)

/* ---- shapes ---- */

typedef struct shape {
  bool internal, reverse, compressed, prefix;
  unsigned filter; /* one of: */
} shape;

enum { NONE, BLOCK, FULL, FULL_POLICY, PARTS, PARTS_POLICY, N_FILTERS };

static nay_policy leveldb = {.size = sizeof leveldb};
static nay_sst_comparator reverse = {.size = sizeof reverse};
static nay_sst_prefix prefix = {.size = sizeof prefix};

/* A policy that any bytes satisfy, but no filter without bytes. */
static inline bool any_may_contain(void *ctx, const void *key, size_t key_len,
                                   const uint8_t *filter, size_t len) {
  (void)ctx, (void)key, (void)key_len, (void)filter;
  return len != 0;
}

static const nay_policy any = {
    .size = sizeof any, .name = "test.any", .create = exact_create, .may_contain = any_may_contain};
static const nay_policy *const policies[] = {&leveldb, &exact, &any};

static inline shape shape_of(unsigned i) {
  return (shape){i & 1, i >> 1 & 1, i >> 2 & 1, i >> 3 & 1, i >> 4};
}

static inline nay_sst_write_options shape_write(const shape *s) {
  static const nay_sst_filter_layout layouts[] = {
      NAY_SST_NO_FILTER,   NAY_SST_BLOCK_FILTER,       NAY_SST_FULL_FILTER,
      NAY_SST_FULL_FILTER, NAY_SST_PARTITIONED_FILTER, NAY_SST_PARTITIONED_FILTER};
  static const nay_params bloom = {.size = sizeof bloom, .kind = NAY_BLOOM, .bits_per_key = 10};
  static const nay_policy *const named[] = {NULL, &leveldb, NULL, &exact, NULL, &exact};
  return (nay_sst_write_options){
      .size = sizeof(nay_sst_write_options),
      .keys = s->internal ? NAY_SST_KEYS_INTERNAL : NAY_SST_KEYS_PLAIN,
      .block_bytes = 250,
      .codec = s->compressed ? &snappy_codec : NULL,
      .filter = layouts[s->filter],
      .policy = named[s->filter],
      .params = s->filter == PARTS ? &bloom : NULL, /* small partitions */
      .partition_keys = 15,
      .prefix = s->prefix ? &prefix : NULL,
      .comparator = s->reverse ? &reverse : NULL};
}

static inline nay_sst_read_options shape_read(const shape *s, nay_sst_cache *cache,
                                              uint32_t flags) {
  return (nay_sst_read_options){.size = sizeof(nay_sst_read_options),
                                .keys = s->internal ? NAY_SST_KEYS_INTERNAL : NAY_SST_KEYS_PLAIN,
                                .flags = flags,
                                .codecs = snappy_codecs,
                                .ncodecs = 1,
                                .policies = policies,
                                .npolicies = 3,
                                .prefix = &prefix,
                                .cache = cache,
                                .comparator = s->reverse ? &reverse : NULL};
}

/* Even numbers, or with `odd` the odd ones: tables of the same size. */
static inline void shape_make(const shape *s, const char *path, unsigned odd) {
  nay_sst_write_options how = shape_write(s);
  nay_sst_writer *w;
  char key[32], value[64];
  assert_ok(nay_sst_writer_new(path, &how, NULL, NULL, &w));
  for (unsigned i = 0; i < N_KEYS; i++) {
    unsigned number = 2 * (s->reverse ? N_KEYS - 1 - i : i) + odd;
    size_t len = number_key(number, key);
    int n = snprintf(value, sizeof value, "value %08u ..........", number);
    nay_sst_entry v = {.size = sizeof v, .key = key, .len = len, .sequence = 7};
    assert_ok(s->internal ? nay_sst_writer_add_entry(w, &v, value, (size_t)n, NULL)
                          : nay_sst_writer_add(w, key, len, value, (size_t)n, NULL));
  }
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
}

/* The same table four ways. */
enum { MAPPED, PREAD, VIEW, OWN, N_ACCESSES };

typedef struct subject {
  shape shape;
  char path[TEMP_MAX];
  uint8_t bytes[MOST_BYTES];
  size_t len;
  nay_sst *want; /* without a cache */
  own_file file;
} subject;

static inline void subject_make(subject *s, unsigned number) {
  s->shape = shape_of(number);
  shape_make(&s->shape, temp_path(s->path, "shape.ldb"), 0);
  uint8_t *bytes = sample_read(s->path, &s->len);
  assert_true(s->len <= sizeof s->bytes);
  memcpy(s->bytes, bytes, s->len);
  free(bytes);
  nay_sst_read_options how = shape_read(&s->shape, NULL, 0);
  s->want = open_table(s->path, &how);
  s->file = (own_file){.bytes = s->bytes, .len = s->len, .fail_at = -1};
}

static inline void subject_free(subject *s) {
  nay_sst_free(s->want);
  unlink(s->path);
}

static inline nay_status subject_open(subject *s, unsigned access, nay_sst_cache *cache,
                                      uint32_t flags, const nay_allocator *a, nay_sst **t) {
  nay_sst_read_options how = shape_read(&s->shape, cache, flags);
  nay_sst_file file = own_file_of(&s->file);
  if (access == OWN) return nay_sst_open_file(&file, &how, a, NULL, t);
  if (access == VIEW) return nay_sst_view(s->bytes, s->len, &how, a, NULL, t);
  if (access == PREAD) how.flags |= NAY_SST_PREAD;
  return nay_sst_open(s->path, &how, a, NULL, t);
}

static inline nay_footer footer_of(const subject *s) {
  nay_footer f;
  assert_ok(nay_sst__footer_load(s->bytes + s->len - NAY_FOOTER, NAY_FOOTER, s->len, NULL, &f));
  return f;
}

static inline nay_sst_cache_info stats_of(const nay_sst_cache *cache) {
  nay_sst_cache_info s = {.size = sizeof s};
  assert_ok(nay_sst_cache_stats(cache, &s));
  return s;
}

/* ---- answers ---- */

static inline bool same_bytes(const void *a, size_t a_len, const void *b, size_t b_len) {
  return a_len == b_len && (a_len == 0 || memcmp(a, b, a_len) == 0);
}

static inline void assert_same_gets(const nay_sst *t, const nay_sst *want) {
  nay_sst_value a = {.size = sizeof a}, b = {.size = sizeof b};
  for (unsigned i = 0; i < 2 * N_KEYS + 3; i++) {
    char key[32];
    size_t len = number_key(i, key);
    uint64_t x, y;
    nay_status status = nay_sst_get(want, key, len, NAY_SST_NEWEST, NULL, &b);
    assert_status(nay_sst_get(t, key, len, NAY_SST_NEWEST, NULL, &a), status);
    assert_status(status, i % 2 == 0 && i < 2 * N_KEYS ? NAY_OK : NAY_ENOENT);
    if (status == NAY_OK) assert_true(same_bytes(a.bytes, a.len, b.bytes, b.len));
    assert_true(nay_sst_may_contain(t, key, len) == nay_sst_may_contain(want, key, len));
    assert_ok(nay_sst__approximate_offset(t, key, len, NULL, &x));
    assert_ok(nay_sst__approximate_offset(want, key, len, NULL, &y));
    assert_true(x == y);
  }
  nay_sst_value_free(&a);
  nay_sst_value_free(&b);
}

static inline void assert_same_entry(const nay_sst_iter *a, const nay_sst_iter *b) {
  size_t na, nb;
  const void *x = nay_sst_iter_key(a, &na), *y = nay_sst_iter_key(b, &nb);
  assert_true(same_bytes(x, na, y, nb));
  x = nay_sst_iter_value(a, &na);
  y = nay_sst_iter_value(b, &nb);
  assert_true(same_bytes(x, na, y, nb));
}

static inline void assert_same_walks(const nay_sst *t, const nay_sst *want) {
  nay_sst_iter *a, *b;
  char key[32];
  assert_ok(nay_sst_iter_new(t, NULL, &a));
  assert_ok(nay_sst_iter_new(want, NULL, &b));
  nay_status status = nay_sst_iter_first(b);
  assert_status(nay_sst_iter_first(a), status);
  while (status == NAY_OK) {
    assert_same_entry(a, b);
    status = nay_sst_iter_next(b);
    assert_status(nay_sst_iter_next(a), status);
  }
  status = nay_sst_iter_last(b);
  assert_status(nay_sst_iter_last(a), status);
  while (status == NAY_OK) {
    assert_same_entry(a, b);
    status = nay_sst_iter_prev(b);
    assert_status(nay_sst_iter_prev(a), status);
  }
  for (unsigned i = 0; i < 2 * N_KEYS + 9; i += 5) {
    size_t len = number_key(i, key);
    status = nay_sst_iter_seek(b, key, len);
    assert_status(nay_sst_iter_seek(a, key, len), status);
    if (status == NAY_OK) assert_same_entry(a, b);
    status = nay_sst_iter_seek_for_prev(b, key, len);
    assert_status(nay_sst_iter_seek_for_prev(a, key, len), status);
    if (status == NAY_OK) assert_same_entry(a, b);
    status = nay_sst_iter_seek_range(b, key, len, key, PREFIX);
    assert_status(nay_sst_iter_seek_range(a, key, len, key, PREFIX), status);
  }
  nay_sst_iter_free(a);
  nay_sst_iter_free(b);
}

/* Batches and merges over the table twice: two pins of one index. */
static inline void assert_same_lookups(const nay_sst *t) {
  enum { N = 2 * N_KEYS };
  static char text[N][32];
  const void *keys[N];
  size_t lens[N];
  nay_status statuses[N];
  static nay_sst_value values[N];
  nay_sst_lookup *l;
  nay_sst_scan *m;
  assert_ok(nay_sst_lookup_new(&(nay_sst_lookup_level){sizeof(nay_sst_lookup_level),
                                                       (const nay_sst *const[]){t, t}, 2, false},
                               1, NULL, NULL, NULL, &l));
  for (unsigned i = 0; i < N; i++) {
    lens[i] = number_key(i, text[i]);
    keys[i] = text[i];
    values[i] = (nay_sst_value){.size = sizeof values[i]};
  }
  assert_ok(nay_sst_lookup_get_many(l, keys, lens, N, NAY_SST_MAX_SEQUENCE, NULL, values, statuses,
                                    NULL));
  for (unsigned i = 0; i < N; i++) {
    assert_status(statuses[i], i % 2 == 0 ? NAY_OK : NAY_ENOENT);
    nay_sst_value_free(&values[i]);
  }
  unsigned n = 0;
  assert_ok(nay_sst_scan_new(l, NULL, NULL, NULL, &m));
  for (nay_status s = nay_sst_scan_first(m); s == NAY_OK; s = nay_sst_scan_next(m)) n++;
  assert_int_equal(n, N_KEYS);
  nay_sst_scan_free(m);
  nay_sst_lookup_free(l);
}

static inline void assert_same_info(const nay_sst *t, const nay_sst *want) {
  nay_sst_info a = info_of(t), b = info_of(want);
  assert_true(same_bytes(a.smallest, a.smallest_len, b.smallest, b.smallest_len));
  assert_true(same_bytes(a.upper_bound, a.upper_bound_len, b.upper_bound, b.upper_bound_len));
  assert_true(a.nblocks == b.nblocks && a.filter == b.filter && a.filter_used == b.filter_used &&
              a.filter_bytes == b.filter_bytes && a.npartitions == b.npartitions &&
              a.prefix_used == b.prefix_used && a.prefix_bytes == b.prefix_bytes);
}

static inline void assert_same_compaction(const nay_sst *t, const nay_sst *want) {
  char a[TEMP_MAX], b[TEMP_MAX];
  size_t x, y;
  temp_path(a, "compacted.ldb");
  temp_path(b, "wanted.ldb");
  assert_ok(nay_sst_compact(&t, 1, a, NULL, NULL, NULL, NULL));
  assert_ok(nay_sst_compact(&want, 1, b, NULL, NULL, NULL, NULL));
  uint8_t *p = sample_read(a, &x), *q = sample_read(b, &y);
  assert_true(same_bytes(p, x, q, y));
  free(p);
  free(q);
  unlink(a);
  unlink(b);
}

static inline bool shapes_init(void) {
  return nay_policy_find(NAY_POLICY_LEVELDB, 10, &leveldb) == NAY_OK &&
         nay_sst_prefix_find("nay.fixed.10", &prefix) == NAY_OK &&
         nay_sst_comparator_find("rocksdb.ReverseBytewiseComparator", &reverse) == NAY_OK;
}

#endif /* NAY_TEST_SST_SHAPES_H */
