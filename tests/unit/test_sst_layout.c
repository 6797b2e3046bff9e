/*
 * test_sst_layout.c - blocks that are whole but stand in another's place: a damaged footer names
 * another block, whose checksum is right. Every table is tried with every pair of its blocks as
 * metaindex and index: the reader refuses all pairs but the right one. And blocks that seem empty.
 */
#include "nay_sst_cache.h"
#include "nay_sst_filters.h"
#include "support/sst_blocks.h"
#include "support/sst_numbers.h"
#include "support/sst_own_io.h"

#define NKEYS 200
#define MAX_BLOCKS 64

typedef struct shape {
  const char *name;
  nay_sst_write_options how;
} shape;

static nay_policy builtin = {.size = sizeof builtin}, small = {.size = sizeof small};
static nay_sst_prefix by_nine = {.size = sizeof by_nine};
static nay_sst_comparator reversed = {.size = sizeof reversed};

#define NSHAPES 7
static void shapes(shape s[NSHAPES]) {
  assert_ok(nay_policy_find(NAY_POLICY_LEVELDB, 10, &builtin));
  assert_ok(nay_sst_prefix_find("nay.fixed.9", &by_nine));
  s[0] = (shape){"no filter", {.block_bytes = 400}};
  s[1] = (shape){"one block", {.block_bytes = 1 << 20}};
  s[2] = (shape){"LevelDB's filter", {.filter = NAY_SST_BLOCK_FILTER, .policy = &builtin}};
  s[3] = (shape){"full", {.filter = NAY_SST_FULL_FILTER, .block_bytes = 700}};
  s[4] = (shape){"partitions",
                 {.filter = NAY_SST_PARTITIONED_FILTER, .partition_keys = 50, .block_bytes = 400}};
  s[5] = (shape){"prefixes", {.filter = NAY_SST_FULL_FILTER, .prefix = &by_nine}};
  s[6] = (shape){"properties", {.filter = NAY_SST_FULL_FILTER, .properties = true}};
  for (size_t i = 0; i < NSHAPES; i++) s[i].how.size = sizeof s[i].how;
}

static nay_sst_read_options reading(void) {
  static const nay_policy *const policies[] = {&builtin, &small};
  return (nay_sst_read_options){.size = sizeof(nay_sst_read_options),
                                .policies = policies,
                                .npolicies = small.name != NULL ? 2 : 1,
                                .prefix = &by_nine,
                                .keys = NAY_SST_KEYS_PLAIN};
}

static uint8_t *shape_bytes(const shape *s, unsigned n, size_t *len) {
  char path[TEMP_MAX];
  write_even(temp_path(path, "layout.ldb"), &s->how, n);
  uint8_t *bytes = sample_read(path, len);
  unlink(path);
  return bytes;
}

/* ---- the blocks of a table ---- */

typedef struct blocks {
  const uint8_t *bytes;
  nay_handle at[MAX_BLOCKS];
  size_t n;
} blocks;

static void add_block(blocks *b, nay_handle h) {
  assert_true(b->n < MAX_BLOCKS);
  b->at[b->n++] = h;
}

/* The blocks that a block names; the partitions too if it names their index. */
static void add_named(blocks *b, nay_handle index) {
  nay_allocator a = nay__allocator_default();
  nay_cursor c = {.order = NAY_BYTEWISE, .allocator = &a};
  assert_ok(nay_sst__block_open(b->bytes + index.offset, (size_t)index.size, NULL, &c.block));
  for (nay_status s = nay_sst__cursor_first(&c, NULL); s == NAY_OK;
       s = nay_sst__cursor_next(&c, NULL)) {
    nay_handle h;
    if (c.key.len == 8 && memcmp(c.key.at, "nay.keys", 8) == 0) continue;
    assert_non_null(nay_sst__handle_load(c.entry.value, c.entry.value + c.entry.value_len, &h));
    add_block(b, h);
    if (c.key.len > 16 && memcmp(c.key.at, "nay.partitioned.", 16) == 0) add_named(b, h);
  }
  nay__buffer_free(&c.key, &a);
}

static blocks blocks_of(const uint8_t *bytes, size_t len, nay_footer *f) {
  blocks b = {.bytes = bytes};
  assert_ok(nay_sst__footer_load(bytes, len, len, NULL, f));
  add_named(&b, f->index);
  add_named(&b, f->metaindex);
  add_block(&b, f->metaindex);
  add_block(&b, f->index);
  return b;
}

static void put_footer(uint8_t *bytes, size_t len, nay_handle metaindex, nay_handle index) {
  nay_sst__footer_store(bytes + len - NAY_FOOTER,
                        &(nay_footer){.metaindex = metaindex, .index = index});
}

/* ---- footers ---- */

static void assert_answers(const uint8_t *bytes, size_t len) {
  nay_sst_read_options how = reading();
  nay_sst *t;
  assert_ok(nay_sst_view(bytes, len, &how, NULL, NULL, &t));
  ask_all(t, NKEYS);
  assert_int_equal(counters_of(t).filter_faults, 0);
  nay_sst_free(t);
}

static void assert_refused(const uint8_t *bytes, size_t len) {
  nay_sst_read_options how = reading();
  nay_sst *t;
  nay_sst_filters *filters;
  nay_diag diag = {.what = NULL};
  assert_status(nay_sst_view(bytes, len, &how, NULL, &diag, &t), NAY_ECORRUPT);
  assert_non_null(diag.what);
  how.flags = NAY_SST_NO_FILTERS;
  assert_status(nay_sst_view(bytes, len, &how, NULL, &diag, &t), NAY_ECORRUPT);
  if (nay_sst_filters_open(bytes, len, NULL, NULL, NULL, &filters) != NAY_OK) return;
  for (unsigned i = 0; i < NKEYS; i++) { /* what remains of its filters denies no key */
    char key[32];
    assert_true(nay_sst_filters_may_contain(filters, key, number_key(2 * i, key)));
  }
  nay_sst_filters_free(filters);
}

static void try_every_pair(uint8_t *bytes, size_t len) {
  nay_footer f;
  blocks b = blocks_of(bytes, len, &f);
  assert_answers(bytes, len);
  for (size_t i = 0; i < b.n; i++) {
    for (size_t j = 0; j < b.n; j++) {
      bool right = b.at[i].offset == f.metaindex.offset && b.at[j].offset == f.index.offset;
      put_footer(bytes, len, b.at[i], b.at[j]);
      if (!right) assert_refused(bytes, len);
    }
  }
  put_footer(bytes, len, f.metaindex, f.index);
  assert_answers(bytes, len);
}

static void every_pair_of_blocks(void **unused) {
  (void)unused;
  shape s[NSHAPES];
  shapes(s);
  for (size_t i = 0; i < NSHAPES; i++) {
    size_t len;
    uint8_t *bytes = shape_bytes(&s[i], NKEYS, &len);
    try_every_pair(bytes, len);
    free(bytes);
  }
}

/* RocksDB's order: the metaindex is the last block. Its format 0, and Pebble's LevelDB format, have
 * LevelDB's footer. */
static uint8_t *as_rocksdb(const uint8_t *bytes, const nay_footer *from, size_t *len) {
  nay_allocator a = nay__allocator_default();
  nay_buffer file = {NULL, 0, 0};
  nay_block_builder b = {.interval = 1};
  size_t data = (size_t)from->metaindex.offset, index = (size_t)from->index.size;
  nay_footer f = {.index = {data, index}};
  assert_ok(nay_sst__block_reset(&b, &a));
  assert_ok(nay__buffer_append(&file, bytes, data, &a));
  assert_ok(nay__buffer_append(&file, bytes + from->index.offset, index + NAY_BLOCK_TRAILER, &a));
  add_entry(&b, "rocksdb.num.entries", (nay_handle){NKEYS, 0}, &a);
  nay_handle properties = put_block(&file, &b, &a);
  add_entry(&b, "rocksdb.properties", properties, &a);
  f.metaindex = put_block(&file, &b, &a);
  put_end(&file, f.metaindex, f.index, &a);
  nay_sst__block_builder_free(&b, &a);
  *len = file.len;
  return file.at;
}

static void every_pair_with_the_metaindex_last(void **unused) {
  (void)unused;
  shape s[NSHAPES];
  shapes(s);
  nay_allocator a = nay__allocator_default();
  for (size_t i = 0; i < 2; i++) {
    size_t len, rocksdb_len;
    nay_footer f;
    uint8_t *bytes = shape_bytes(&s[i], NKEYS, &len);
    assert_ok(nay_sst__footer_load(bytes, len, len, NULL, &f));
    uint8_t *rocksdb = as_rocksdb(bytes, &f, &rocksdb_len);
    try_every_pair(rocksdb, rocksdb_len);
    nay__free(&a, rocksdb, rocksdb_len);
    free(bytes);
  }
}

/* Without keys there is no data to hide: such tables open, with whatever meta blocks they have. */
static void empty_tables(void **unused) {
  (void)unused;
  shape s[NSHAPES];
  shapes(s);
  assert_ok(nay_sst_comparator_find("rocksdb.ReverseBytewiseComparator", &reversed));
  for (size_t i = 0; i < NSHAPES + 1; i++) {
    size_t len;
    nay_sst *t;
    nay_sst_read_options how = reading();
    shape own = i < NSHAPES ? s[i] : (shape){"comparator", {.comparator = &reversed}};
    own.how.size = sizeof own.how;
    how.comparator = own.how.comparator;
    uint8_t *bytes = shape_bytes(&own, 0, &len);
    assert_ok(nay_sst_view(bytes, len, &how, NULL, NULL, &t));
    assert_null(info_of(t).upper_bound);
    nay_sst_free(t);
    free(bytes);
  }
}

/* ---- filters ---- */

typedef enum damage { EXCHANGED, FIRST_OVER_SECOND, SECOND_OVER_FIRST } damage;

/* Two blocks of one length, with their trailers. */
static void misplace(uint8_t *bytes, nay_handle a, nay_handle b, damage how) {
  size_t len = (size_t)a.size + NAY_BLOCK_TRAILER;
  uint8_t *kept = malloc(len);
  memcpy(kept, bytes + a.offset, len);
  if (how != FIRST_OVER_SECOND) memcpy(bytes + a.offset, bytes + b.offset, len);
  if (how != SECOND_OVER_FIRST) memcpy(bytes + b.offset, kept, len);
  free(kept);
}

/* The data answers, in every way to open the table and to probe its filters; and prefixes. */
static void assert_left_out(const uint8_t *bytes, size_t len) {
  nay_sst_cache *cache;
  nay_sst_filters *filters;
  nay_sst_filters_info info = {.size = sizeof info};
  assert_ok(nay_sst_cache_new(
      &(nay_sst_cache_options){sizeof(nay_sst_cache_options), 1 << 20, 1 << 20, false}, NULL, NULL,
      &cache));
  for (int way = 0; way < 3; way++) {
    own_file file = {.bytes = bytes, .len = len, .fail_at = -1};
    nay_sst_file own = own_file_of(&file);
    nay_sst_read_options how = reading();
    nay_sst *t;
    nay_sst_iter *it;
    if (way == 2) how.cache = cache;
    if (way == 2) how.flags = NAY_SST_BUDGETED;
    assert_ok(way == 0 ? nay_sst_view(bytes, len, &how, NULL, NULL, &t)
                       : nay_sst_open_file(&own, &how, NULL, NULL, &t));
    ask_all(t, NKEYS);
    assert_ok(nay_sst_iter_new(t, NULL, &it));
    for (unsigned i = 0; i < NKEYS; i++) {
      char key[32];
      (void)number_key(2 * i, key);
      assert_ok(nay_sst_iter_seek_prefix(it, key, 9));
    }
    assert_true(counters_of(t).filter_faults > 0);
    nay_sst_iter_free(it);
    nay_sst_free(t);
  }
  nay_sst_cache_free(cache);
  assert_ok(nay_sst_filters_open(bytes, len, NULL, NULL, NULL, &filters));
  assert_ok(nay_sst_filters_stats(filters, &info));
  assert_true(info.ndamaged > 0);
  for (unsigned i = 0; i < NKEYS; i++) {
    char key[32];
    assert_true(nay_sst_filters_may_contain(filters, key, number_key(2 * i, key)));
  }
  nay_sst_filters_free(filters);
}

/* A partition in the place of another, or the full filter in that of the prefixes: checksums match,
 * but they are not the blocks that the table names. */
static void misplaced_filters(void **unused) {
  (void)unused;
  unsigned tried = 0;
  assert_ok(nay_sst_prefix_find("nay.fixed.9", &by_nine));
  assert_ok(nay_policy_find(NAY_POLICY_SMALL, 10, &small));
  for (size_t shape_number = 0; shape_number < 4; shape_number++) {
    bool full = shape_number % 2 == 0;
    nay_params params = {.size = sizeof params, .kind = NAY_BLOCKED, .nbits = 4096};
    shape s = {"", {.size = sizeof s.how, .partition_keys = 50, .block_bytes = 400}};
    s.how.params = &params;
    s.how.prefix = &by_nine;
    s.how.filter = full ? NAY_SST_FULL_FILTER : NAY_SST_PARTITIONED_FILTER;
    if (shape_number == 3) s.how.policy = &small; /* the bytes of a policy */
    if (shape_number == 2) s.how.properties = true;
    size_t len;
    nay_footer f;
    uint8_t *bytes = shape_bytes(&s, NKEYS, &len), *copy = malloc(len);
    blocks b = {.bytes = bytes};
    assert_ok(nay_sst__footer_load(bytes, len, len, NULL, &f));
    add_named(&b, f.metaindex);
    for (size_t i = 0; i < b.n; i++) {
      for (size_t j = 0; j < i; j++) {
        bool same =
            memcmp(bytes + b.at[i].offset, bytes + b.at[j].offset, (size_t)b.at[i].size) == 0;
        if (b.at[i].size != b.at[j].size || same) continue;
        for (damage how = EXCHANGED; how <= SECOND_OVER_FIRST; how++) {
          memcpy(copy, bytes, len);
          misplace(copy, b.at[i], b.at[j], how);
          assert_left_out(copy, len);
          tried++;
        }
      }
    }
    free(copy);
    free(bytes);
  }
  assert_true(tried > 20);
}

/* ---- restarts ---- */

/* Makes a block look empty, under a checksum that fits: without restarts, or with a first one
 * behind the entries. */
static void hide_entries(uint8_t *bytes, nay_handle h, bool no_restarts) {
  uint8_t *end = bytes + h.offset + h.size;
  size_t restarts = 4 * (size_t)nay__load32le(end - 4);
  nay__store32le(no_restarts ? end - 4 : end - 4 - restarts,
                 no_restarts ? 0 : (uint32_t)(h.size - 4 - restarts));
  nay_sst__block_trailer_store(end, 0, bytes + h.offset, (size_t)h.size);
}

/* All keys, or an error: no walk ends early, no get says nay. */
static void assert_nothing_hidden(const uint8_t *bytes, size_t len) {
  nay_sst_read_options how = reading();
  nay_sst *t;
  nay_sst_iter *it;
  nay_sst_value v = {.size = sizeof v};
  unsigned n = 0, errors = 0;
  nay_status status = nay_sst_view(bytes, len, &how, NULL, NULL, &t);
  if (status != NAY_OK) {
    assert_status(status, NAY_ECORRUPT);
    return;
  }
  for (unsigned i = 0; i < NKEYS; i++) {
    char key[32];
    status = nay_sst_get(t, key, number_key(2 * i, key), NAY_SST_NEWEST, NULL, &v);
    assert_true(status == NAY_OK || status == NAY_ECORRUPT);
    errors += status != NAY_OK;
  }
  assert_ok(nay_sst_iter_new(t, NULL, &it));
  for (status = nay_sst_iter_first(it); status == NAY_OK; status = nay_sst_iter_next(it)) n++;
  assert_status(status, errors != 0 ? NAY_ECORRUPT : NAY_EEND);
  assert_true(errors != 0 || n == NKEYS);
  nay_sst_iter_free(it);
  nay_sst_value_free(&v);
  nay_sst_free(t);
}

static void blocks_without_restarts(void **unused) {
  (void)unused;
  shape s[NSHAPES];
  shapes(s);
  for (size_t i = 0; i < NSHAPES; i++) {
    size_t len;
    nay_footer f;
    uint8_t *bytes = shape_bytes(&s[i], NKEYS, &len), *copy = malloc(len);
    assert_ok(nay_sst__footer_load(bytes, len, len, NULL, &f));
    blocks b = {.bytes = bytes};
    add_named(&b, f.index);
    add_block(&b, f.index);
    add_block(&b, f.metaindex);
    for (size_t j = 0; j < 2 * b.n; j++) {
      memcpy(copy, bytes, len);
      hide_entries(copy, b.at[j / 2], j % 2 == 0);
      assert_nothing_hidden(copy, len);
    }
    free(copy);
    free(bytes);
  }
}

/* ---- an index that is not one of this file ---- */

/* Three data blocks of one entry, and an index with the handles of these; the metaindex names a
 * filter of an unknown policy: `meta`, or the empty block behind the data. */
static nay_status open_index_of(const int list[3], const nay_handle *meta, nay_diag *diag) {
  static const char *const keys[] = {"a", "b", "c"};
  nay_allocator a = nay__allocator_default();
  nay_buffer file = {NULL, 0, 0};
  nay_block_builder b = {.interval = 1};
  nay_handle data[3];
  nay_footer f;
  nay_sst *t = NULL;
  assert_ok(nay_sst__block_reset(&b, &a));
  for (size_t i = 0; i < 3; i++) {
    add_entry(&b, keys[i], (nay_handle){0, 1}, &a);
    data[i] = put_block(&file, &b, &a);
  }
  nay_handle own = put_block(&file, &b, &a);
  add_entry(&b, "filter.unknown", meta != NULL ? *meta : own, &a);
  f.metaindex = put_block(&file, &b, &a);
  for (size_t i = 0; i < 3; i++) {
    if (list[i] >= 0) add_entry(&b, keys[i], data[list[i]], &a);
  }
  f.index = put_block(&file, &b, &a);
  put_end(&file, f.metaindex, f.index, &a);
  nay_status status = nay_sst_view(file.at, file.len, NULL, NULL, diag, &t);
  nay_sst_free(t);
  nay_sst__block_builder_free(&b, &a);
  nay__buffer_free(&file, &a);
  return status;
}

static void indexes(void **unused) {
  (void)unused;
  static const struct {
    int list[3];
    nay_handle meta;
    const char *what; /* NULL: the index is sound */
  } cases[] = {
      {{0, 1, 2}, {0, 0}, NULL},
      {{0, -1, 2}, {0, 0}, NULL}, /* a gap, where nay's partitions and RocksDB's padding are */
      {{-1, 1, 2}, {0, 0}, "the first block of the index does not begin the file"},
      {{0, 0, 1}, {0, 0}, "the blocks of the index overlap"},
      {{0, 2, 1}, {0, 0}, "the blocks of the index overlap"},
      {{-1, -1, -1}, {0, 0}, "the index is empty, but the file begins with a data block"},
      {{0, 1, 2}, {3, 4}, "a block of the index lies behind the first meta block"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    nay_diag diag = {.what = NULL};
    const nay_handle *meta = cases[i].meta.size != 0 ? &cases[i].meta : NULL;
    nay_status status = open_index_of(cases[i].list, meta, &diag);
    assert_status(status, cases[i].what == NULL ? NAY_OK : NAY_ECORRUPT);
    if (cases[i].what != NULL) assert_string_equal(diag.what, cases[i].what);
  }
}

int main(void) {
  const test_case tests[] = {
      TEST(every_pair_of_blocks),
      TEST(every_pair_with_the_metaindex_last),
      TEST(empty_tables),
      TEST(misplaced_filters),
      TEST(blocks_without_restarts),
      TEST(indexes),
  };
  return run_all(tests);
}
