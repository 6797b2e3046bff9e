/*
 * test_table_filters_own.c - filters inside tables that nay wrote: every layout, codecs, policies
 * and prefix extractors of the caller, and filter blocks whose last byte is wrong.
 */
#define _POSIX_C_SOURCE 200809L
#include "block/footer.h"
#include "support/directory.h"
#include "support/table_keys.h"

/* ---- our own ---- */

/* A codec that keeps the blocks for itself and leaves an eighth of their bytes in the file. */
static struct {
  uint8_t *blocks[256];
  size_t lens[256];
  uint8_t n;
} kept;

static size_t keep_bound(void *c, size_t len) { return (void)c, len / 8 + 8; }

static nay_status keep_compress(void *c, const void *src, size_t len, void *dst, size_t cap,
                                size_t *dst_len) {
  (void)c, (void)cap;
  if (kept.n == 255 || len < 200) return NAY_ECORRUPT; /* the metaindex stays readable */
  kept.blocks[kept.n] = malloc(len);
  assert_non_null(kept.blocks[kept.n]);
  memcpy(kept.blocks[kept.n], src, len);
  kept.lens[kept.n] = len;
  *dst_len = len / 8 + 8;
  memset(dst, 0, *dst_len);
  *(uint8_t *)dst = kept.n++;
  return NAY_OK;
}

static nay_status keep_size(void *c, const void *src, size_t len, size_t *size) {
  (void)c;
  if (len == 0 || *(const uint8_t *)src >= kept.n) return NAY_ECORRUPT;
  *size = kept.lens[*(const uint8_t *)src];
  return NAY_OK;
}

static nay_status keep_uncompress(void *c, const void *src, size_t len, void *dst, size_t size) {
  (void)c, (void)len;
  memcpy(dst, kept.blocks[*(const uint8_t *)src], size);
  return NAY_OK;
}

static const nay_sst_codec keep = {sizeof keep,     77,  keep_bound, keep_compress, keep_size,
                                   keep_uncompress, NULL};

static golden_bytes own_table(const nay_sst_write_options *options, size_t n) {
  directory at = directory_make();
  const char *path = directory_at(&at, "own.ldb");
  nay_sst_writer *w;
  uint8_t key[GOLDEN_KEY_MAX], value[100] = {0};
  assert_ok(nay_sst_writer_new(path, options, NULL, NULL, &w));
  for (uint64_t i = 0; i < n; i++) {
    assert_ok(nay_sst_writer_add(w, key, golden_str(i, key), value, sizeof value, NULL));
  }
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  golden_bytes file = golden_read(path);
  directory_remove(&at);
  return file;
}

static void own_tables(void **state) {
  (void)state;
  nay_sst_prefix six = {.size = sizeof six};
  nay_policy small = {.size = sizeof small};
  assert_ok(nay_sst_prefix_find("nay.fixed.6", &six));
  assert_ok(nay_policy_find(NAY_POLICY_SMALL, 10, &small));
  const nay_sst_write_options options[] = {
      {sizeof(nay_sst_write_options), .filter = NAY_SST_FULL_FILTER},
      {sizeof(nay_sst_write_options), .filter = NAY_SST_PARTITIONED_FILTER, .partition_keys = 100},
      {.size = sizeof(nay_sst_write_options),
       .filter = NAY_SST_FULL_FILTER,
       .params = &(nay_params){sizeof(nay_params), .kind = NAY_RIBBON, .fpr = 0.01},
       .prefix = &six},
      {sizeof(nay_sst_write_options), .filter = NAY_SST_NO_FILTER, .prefix = &six},
      {sizeof(nay_sst_write_options), .filter = NAY_SST_BLOCK_FILTER, .policy = &small},
  };
  for (size_t i = 0; i < 5; i++) {
    golden_bytes file = own_table(&options[i], 3000);
    nay_sst_filters *t = open_table(file);
    nay_sst_filters_info info = {.size = sizeof info};
    nay_sst_filters_entry f = {.size = sizeof f};
    one_key *keys = sorted_keys("str", 3000);
    nay_sst_filters_stats(t, &info);
    assert_int_equal(info.engine, i == 4 ? NAY_SST_ENGINE_LEVELDB : NAY_SST_ENGINE_NAY);
    assert_int_equal(info.layout, options[i].filter);
    assert_true(info.understood || i == 3);
    assert_int_equal(maybes_of(t, keys, 3000), 3000);
    assert_true(absent_maybes(t) < 60);
    if (i == 1) assert_true(info.nfilters > 10);
    if (i == 2 || i == 3) assert_string_equal(info.prefix, "nay.fixed.6");
    if (i == 2) {
      assert_int_equal(info.nfilters, 2);
      assert_ok(nay_sst_filters_at(t, 1, &f));
      assert_true(f.of_prefixes);
    }
    if (i == 3) assert_false(info.whole_keys);
    nay_sst_filters_free(t);
    free(keys);
    free(file.at);
  }
}

/* LevelDB's filters need the index; a codec opens it, and without one all filters are asked. */
static void a_compressed_index(void **state) {
  (void)state;
  const nay_sst_codec *codecs[] = {&keep};
  nay_policy policy = {.size = sizeof policy};
  assert_ok(nay_policy_find(NAY_POLICY_LEVELDB, 10, &policy));
  nay_sst_write_options how = {
      .size = sizeof how, .filter = NAY_SST_BLOCK_FILTER, .policy = &policy, .codec = &keep};
  nay_sst_filters_options with = {sizeof with, .codecs = codecs, .ncodecs = 1};
  golden_bytes file = own_table(&how, 3000);
  one_key *keys = sorted_keys("str", 3000);
  for (int i = 0; i < 2; i++) {
    nay_sst_filters *t;
    nay_sst_filters_info info = {.size = sizeof info};
    assert_ok(nay_sst_filters_open(file.at, file.len, i == 0 ? NULL : &with, NULL, NULL, &t));
    nay_sst_filters_stats(t, &info);
    assert_int_equal(info.engine, NAY_SST_ENGINE_LEVELDB);
    assert_int_equal(info.index_known, i == 1);
    assert_true(info.nfilters > 5);
    assert_int_equal(maybes_of(t, keys, 3000), 3000);
    unsigned maybes = absent_maybes(t);
    assert_true(i == 0 ? maybes > 100 : maybes < 60);
    nay_sst_filters_free(t);
  }
  while (kept.n != 0) free(kept.blocks[--kept.n]);
  free(keys);
  free(file.at);
}

/* A policy that no format has is the caller's to bring. */
static void a_policy_of_the_caller(void **state) {
  (void)state;
  nay_policy policy = {.size = sizeof policy};
  assert_ok(nay_policy_find(NAY_POLICY_LEVELDB, 10, &policy));
  policy.name = "somebody.else";
  const nay_policy *policies[] = {&policy};
  nay_sst_filters_options with = {sizeof with, .policies = policies, .npolicies = 1};
  static const nay_sst_filter_layout layouts[] = {NAY_SST_BLOCK_FILTER, NAY_SST_FULL_FILTER,
                                                  NAY_SST_PARTITIONED_FILTER};
  one_key *keys = sorted_keys("str", 1000);
  for (size_t i = 0; i < 6; i++) {
    nay_sst_write_options how = {
        .size = sizeof how, .filter = layouts[i / 2], .policy = &policy, .partition_keys = 100};
    golden_bytes file = own_table(&how, 1000);
    nay_sst_filters *t;
    nay_sst_filters_info info = {.size = sizeof info};
    assert_ok(nay_sst_filters_open(file.at, file.len, i % 2 == 0 ? NULL : &with, NULL, NULL, &t));
    nay_sst_filters_stats(t, &info);
    assert_int_equal(info.understood, i % 2 == 1);
    assert_string_equal(info.policy, "somebody.else");
    assert_int_equal(maybes_of(t, keys, 1000), 1000);
    unsigned maybes = absent_maybes(t);
    assert_true(i % 2 == 0 ? maybes == GOLDEN_ABSENT : maybes < 60);
    nay_sst_filters_free(t);
    free(file.at);
  }
  free(keys);
}

/* Where the filter block of a LevelDB table is. */
static nay_handle filter_block_of(const nay_sst_filters *t, size_t file_len, const uint8_t *file) {
  nay_sst_filters_entry first = {.size = sizeof first};
  nay_footer footer;
  assert_ok(nay_sst_filters_at(t, 0, &first));
  assert_ok(nay_sst__footer_load(file, file_len, file_len, NULL, &footer));
  /* the metaindex follows it */
  return (nay_handle){first.offset, footer.metaindex.offset - NAY_BLOCK_TRAILER - first.offset};
}

/* Whatever the last byte of LevelDB's filter block is, nay_sst and nay_sst_filters agree on every
 * key; a shift that no file offset has (lg above 63) is no filter. */
static void every_lg(void **state) {
  (void)state;
  enum { N = 600 };
  nay_policy policy = {.size = sizeof policy};
  assert_ok(nay_policy_find(NAY_POLICY_LEVELDB, 10, &policy));
  const nay_policy *policies[] = {&policy};
  nay_sst_write_options how = {sizeof how, .filter = NAY_SST_BLOCK_FILTER, .policy = &policy};
  nay_sst_read_options read = {sizeof read, .policies = policies, .npolicies = 1};
  golden_bytes file = own_table(&how, N);
  nay_sst_filters *t = open_table(file);
  nay_handle block = filter_block_of(t, file.len, file.at);
  nay_sst_filters_free(t);
  for (unsigned lg = 0; lg < 256; lg++) {
    nay_sst *sst;
    file.at[block.offset + block.size - 1] = (uint8_t)lg;
    nay_sst__block_trailer_store(file.at + block.offset + block.size, 0, file.at + block.offset,
                                 (size_t)block.size);
    t = open_table(file);
    assert_ok(nay_sst_view(file.at, file.len, &read, NULL, NULL, &sst));
    for (uint64_t i = 0; i < N; i++) {
      uint8_t key[GOLDEN_KEY_MAX];
      size_t len = golden_str(i, key);
      bool maybe = table_may_contain(t, key, len);
      assert_int_equal(maybe, nay_sst_may_contain(sst, key, len));
      assert_true(maybe || (lg < 64 && lg != 11));
    }
    nay_sst_free(sst);
    nay_sst_filters_free(t);
  }
  free(file.at);
}

static nay_status up_to_comma(void *ctx, const void *key, size_t len, size_t *prefix_len) {
  const char *comma = memchr(key, ',', len);
  (void)ctx;
  if (comma == NULL) return NAY_ENOENT;
  *prefix_len = (size_t)(comma - (const char *)key) + 1;
  return NAY_OK;
}

/* The extractor of a caller whose name only resembles one of nay's is unknown: all keys are maybe.
 */
static void names_that_are_no_extractors(void **state) {
  (void)state;
  static const char *const names[] = {"nay.delimiter.x",  "nay.delimiter.",  "nay.delimiter.256",
                                      "nay.delimiter.4x", "nay.fixed.",      "nay.fixed.0",
                                      "nay.fixed.1x",     "nay.fixed.65536", "nay.fixed.-1"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    nay_sst_prefix comma = {sizeof comma, .extract = up_to_comma};
    nay_sst_write_options how = {sizeof how, .prefix = &comma};
    directory at = directory_make();
    nay_sst_writer *w;
    snprintf(comma.name, sizeof comma.name, "%s", names[i]);
    assert_ok(nay_sst_writer_new(directory_at(&at, "x"), &how, NULL, NULL, &w));
    assert_ok(nay_sst_writer_add(w, "a\0b,c", 5, "", 0, NULL));
    assert_ok(nay_sst_writer_finish(w, NULL));
    nay_sst_writer_free(w);
    golden_bytes file = golden_read(directory_at(&at, "x"));
    nay_sst_filters *t = open_table(file);
    assert_true(nay_sst_filters_may_contain(t, "a\0b,c", 5));
    nay_sst_filters_free(t);
    free(file.at);
    directory_remove(&at);
  }
}

int main(void) {
  const test_case tests[] = {
      TEST(own_tables), TEST(a_compressed_index),           TEST(a_policy_of_the_caller),
      TEST(every_lg),   TEST(names_that_are_no_extractors),
  };
  return run_all(tests);
}
