/*
 * test_table_filters.c - filters inside tables: every golden .ldb and .sst, their filters where the
 * engines put them and rebuilt from the keys, answers, and corrupt files.
 */
#define _POSIX_C_SOURCE 200809L
#include "hash/hash.h"
#include "support/flaky.h"
#include "support/table_keys.h"

/* ---- RocksDB ---- */

typedef struct sst_row {
  char file[64], set[16], policy[16], prefix[64], layout[16];
  unsigned n, format_version, checksum, whole, nentries;
  unsigned long offset, len;
  double bits;
  const char *partitions; /* the rest of the line */
} sst_row;

static sst_row read_row(const char *line) {
  sst_row r;
  int used = 0;
  assert_int_equal(sscanf(line, "%63s %15s %u %u %u %15s %lf %63s %u %u %15s %lu %lu%n", r.file,
                          r.set, &r.n, &r.format_version, &r.checksum, r.policy, &r.bits, r.prefix,
                          &r.whole, &r.nentries, r.layout, &r.offset, &r.len, &used),
                   13);
  r.partitions = line + used;
  return r;
}

static size_t prefix_of(const sst_row *r, const one_key *key) {
  size_t most = (size_t)(r->prefix[strlen(r->prefix) - 1] - '0');
  return key->len < most ? key->len : most;
}

/* What RocksDB 7.8.3 adds for the keys of a table: doc/formats/rocksdb.md. */
static void add_keys(nay_builder *b, const sst_row *r, const one_key *keys, size_t n) {
  bool prefixes = strcmp(r->prefix, "-") != 0;
  for (size_t i = 0; i < n; i++) {
    if (r->whole) assert_ok(nay_builder_add(b, keys[i].bytes, keys[i].len));
    if (!prefixes) continue;
    size_t len = prefix_of(r, &keys[i]);
    bool same = i != 0 && prefix_of(r, &keys[i - 1]) == len &&
                memcmp(keys[i].bytes, keys[i - 1].bytes, len) == 0;
    if (!same || (i == 1 && !r->whole)) assert_ok(nay_builder_add(b, keys[i].bytes, len));
    if (i == 0 && !r->whole) assert_ok(nay_builder_add(b, "", 0));
  }
}

static void check_rebuilt(const sst_row *r, const nay_sst_filters_entry *f, const one_key *keys,
                          size_t n) {
  nay_params p = {sizeof p, .bits_per_key = r->bits};
  nay_builder *b;
  nay_filter *made;
  assert_non_null(f->format);
  const char *name = strcmp(r->policy, "ribbon") == 0 && strstr(r->file, "l0_is_bloom") == NULL
                         ? "rocksdb-ribbon"
                         : nay_format_name(f->format);
  assert_ok(nay_format_builder_new(nay_format_find(name), &p, NULL, NULL, &b));
  add_keys(b, r, keys, n);
  assert_ok(nay_builder_finish(b, NULL, &made));
  nay_builder_free(b);
  golden_assert_encodes(made, f->bytes, f->len);
}

/* Partitions: where they are, what ends them; rebuilt when no prefix crosses their borders. */
static void check_partitions(const sst_row *r, const nay_sst_filters *t, const one_key *keys) {
  const char *rest = r->partitions;
  size_t first = 0;
  unsigned long offset, len;
  char hex[128];
  int used;
  nay_sst_filters_entry f = {.size = sizeof f};
  uint64_t i = 0;
  for (; sscanf(rest, " %lu %lu %127s%n", &offset, &len, hex, &used) == 3; i++, rest += used) {
    one_key last = {0};
    last.len = golden_from_hex(hex, strlen(hex), last.bytes);
    if (r->format_version < 3) last.len -= 8; /* internal keys */
    assert_ok(nay_sst_filters_at(t, i, &f));
    assert_int_equal(f.offset, offset);
    assert_int_equal(f.len, len);
    assert_int_equal(f.last_key_len, last.len);
    assert_memory_equal(f.last_key, last.bytes, last.len);
    size_t end = first;
    while (end < r->n && by_bytes(&keys[end], &last) <= 0) end++;
    if (strcmp(r->prefix, "-") == 0) check_rebuilt(r, &f, keys + first, end - first);
    first = end;
  }
  assert_int_equal(first, r->n);
  assert_status(nay_sst_filters_at(t, i, &f), NAY_EEND);
}

static void check_info(const sst_row *r, const nay_sst_filters_info *info) {
  static const char *const sums[] = {"none", "crc32c", "xxh32", "xxh64", "xxh3"};
  bool full = strcmp(r->layout, "full") == 0, none = strcmp(r->layout, "none") == 0;
  assert_int_equal(info->engine, NAY_SST_ENGINE_ROCKSDB);
  assert_int_equal(info->format_version, r->format_version);
  assert_string_equal(info->checksum, sums[r->checksum]);
  assert_int_equal(info->layout, full   ? NAY_SST_FULL_FILTER
                                 : none ? NAY_SST_NO_FILTER
                                        : NAY_SST_PARTITIONED_FILTER);
  assert_int_equal(info->nentries, r->nentries);
  assert_string_equal(info->policy_option,
                      strcmp(r->policy, "bloom") == 0 ? "bloomfilter" : "ribbonfilter");
  assert_int_equal(info->ndamaged, 0);
  if (strcmp(r->prefix, "-") == 0) assert_null(info->prefix);
  if (strcmp(r->prefix, "-") != 0) assert_string_equal(info->prefix, r->prefix);
  if (none) {
    assert_null(info->policy);
    return;
  }
  assert_true(info->understood && info->nfilters != 0);
  assert_int_equal(info->whole_keys, r->whole);
  assert_int_equal(info->prefixes, strcmp(r->prefix, "-") != 0);
  assert_string_equal(info->policy, "rocksdb.BuiltinBloomFilter");
}

static void check_sst(const char *line) {
  sst_row r = read_row(line);
  char path[512];
  snprintf(path, sizeof path, TEST_GOLDEN "/rocksdb/%s", r.file);
  golden_bytes file = golden_read(path);
  nay_sst_filters *t = open_table(file);
  nay_sst_filters_info info = {.size = sizeof info};
  nay_sst_filters_entry f = {.size = sizeof f};
  one_key *keys = sorted_keys(r.set, r.n);
  assert_true(nay_sst_filters_recognise(file.at, file.len));
  nay_sst_filters_stats(t, &info);
  check_info(&r, &info);
  assert_int_equal(maybes_of(t, keys, r.n), r.n);
  if (info.layout == NAY_SST_NO_FILTER) {
    assert_int_equal(absent_maybes(t), GOLDEN_ABSENT);
  } else {
    /* 2000 absent keys have two prefixes of six bytes: one false positive is a thousand */
    unsigned most = !r.whole ? 1000 : r.bits < 8 ? 120 : 60;
    if (absent_maybes(t) > most) fail_msg("%s: %u", r.file, absent_maybes(t));
  }
  if (info.layout == NAY_SST_FULL_FILTER) {
    assert_ok(nay_sst_filters_at(t, 0, &f));
    assert_int_equal(f.offset, r.offset);
    assert_int_equal(f.len, r.len);
    if (strstr(r.file, "offm") == NULL) check_rebuilt(&r, &f, keys, r.n);
  }
  if (info.layout == NAY_SST_PARTITIONED_FILTER) check_partitions(&r, t, keys);
  nay_sst_filters_free(t);
  free(keys);
  free(file.at);
}

static void rocksdb_tables(void **state) {
  (void)state;
  golden_bytes table = golden_read(TEST_GOLDEN "/rocksdb/tables.txt");
  char *rest = (char *)table.at, *line;
  unsigned files = 0;
  while ((line = golden_line(&rest)) != NULL) {
    check_sst(line);
    files++;
  }
  assert_int_equal(files, 42);
  free(table.at);
}

/* ---- LevelDB ---- */

static void leveldb_tables(void **state) {
  (void)state;
  static const struct {
    const char *file, *set;
    unsigned n, nfilters;
    bool index_known;
  } rows[] = {
      {"table_str_n0_b10_none", "str", 0, 0, true},
      {"table_str_n0_b10_snappy", "str", 0, 0, true},
      {"table_str_n1_b10_none", "str", 1, 1, true},
      {"table_str_n2_b10_snappy", "str", 2, 1, true},
      {"table_str_n100_b10_none", "str", 100, 1, true},
      {"table_str_n10000_b10_none", "str", 10000, 47, true},
      {"table_str_n10000_b10_snappy", "str", 10000, 24, false},
      {"table_str_n1000_b10_none_bs512", "str", 1000, 5, true},
      {"table_u64le_n1000_b12_none_bs20000", "u64le", 1000, 7, true},
      {"table_varlen_n300_b10_none", "varlen", 300, 22, true},
      {"table_varlen_n300_b10_snappy", "varlen", 300, 5, false},
      {"db_str_n2000_b10_none", "str", 2000, 17, true},
      {"db_str_n2000_b10_snappy", "str", 2000, 7, false},
      {"db_str_n50_b10_none_dups", "str", 50, 1, true},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char path[512];
    snprintf(path, sizeof path, TEST_GOLDEN "/leveldb-tables/%s.ldb", rows[i].file);
    golden_bytes file = golden_read(path);
    nay_sst_filters *t = open_table(file);
    nay_sst_filters_info info = {.size = sizeof info};
    one_key *keys = sorted_keys(rows[i].set, rows[i].n);
    nay_sst_filters_stats(t, &info);
    assert_int_equal(info.engine, NAY_SST_ENGINE_LEVELDB);
    assert_int_equal(info.layout, NAY_SST_BLOCK_FILTER);
    assert_string_equal(info.policy, "leveldb.BuiltinBloomFilter2");
    assert_true(info.understood && info.ndamaged == 0);
    assert_int_equal(info.nfilters + info.nempty, rows[i].nfilters);
    if (info.index_known != rows[i].index_known) fail_msg("%s: index %d", path, info.index_known);
    assert_int_equal(maybes_of(t, keys, rows[i].n), rows[i].n);
    /* abs is before all keys of str, so there is one filter to ask; or all of them */
    assert_true(absent_maybes(t) < (info.index_known ? 60 : 600));
    nay_sst_filters_free(t);
    free(keys);
    free(file.at);
  }
}

/* ---- format 6 and 7, made by hand from what doc/formats/rocksdb.md says ---- */

typedef struct hand_made {
  uint8_t bytes[4096];
  size_t len;
  uint32_t context;
} hand_made;

static void put32(uint8_t *p, uint32_t v) {
  for (unsigned i = 0; i < 4; i++) p[i] = (uint8_t)(v >> (8 * i));
}

static uint32_t hand_sum(const uint8_t *bytes, size_t len, uint32_t context, size_t offset) {
  uint32_t sum = (uint32_t)XXH3_64bits(bytes, len - 1) ^ bytes[len - 1] * 0x6b9083d9u;
  return context == 0 ? sum : sum + (context ^ (uint32_t)offset);
}

/* Appends the frame to what stands from `at` on. */
static void hand_frame(hand_made *h, size_t at) {
  h->bytes[h->len++] = 0;
  uint32_t sum = hand_sum(h->bytes + at, h->len - at, h->context, at);
  put32(h->bytes + h->len, sum);
  h->len += 4;
}

static void hand_make(hand_made *h, uint32_t version, uint32_t context, const char *name) {
  static const uint8_t magic[8] = {0xf7, 0xcf, 0xf4, 0x85, 0xb7, 0x41, 0xe2, 0x88};
  nay_filter *f = golden_by_builder(nay_format_find("rocksdb-bloom"), golden_str, 50, 10);
  size_t written, meta = 0;
  *h = (hand_made){.context = context};
  assert_ok(nay_format_encode(nay_filter_format(f), f, h->bytes, 100, &written));
  nay_filter_free(f);
  h->len = written;
  hand_frame(h, 0);
  meta = h->len;
  size_t name_len = strlen(name);
  uint8_t head[] = {0, (uint8_t)name_len, 2};
  memcpy(h->bytes + h->len, head, 3);
  memcpy(h->bytes + h->len + 3, name, name_len);
  h->len += 3 + name_len;
  h->bytes[h->len++] = 0;
  h->bytes[h->len++] = (uint8_t)written;
  put32(h->bytes + h->len, 0);
  put32(h->bytes + h->len + 4, 1);
  h->len += 8;
  uint32_t meta_size = (uint32_t)(h->len - meta);
  hand_frame(h, meta);
  uint8_t *footer = h->bytes + h->len;
  memset(footer, 0, 53);
  footer[0] = 4;
  put32(footer + 1, 0x007a003e);
  put32(footer + 9, context);
  put32(footer + 13, meta_size);
  put32(footer + 41, version);
  memcpy(footer + 45, magic, 8);
  put32(footer + 5, hand_sum(footer, 53, context, h->len));
  h->len += 53;
}

static void later_formats(void **state) {
  (void)state;
  static const char *const names[] = {"fullfilter.rocksdb.BuiltinBloomFilter",
                                      "fullfilter.bloomfilter", "fullfilter.ribbonfilter",
                                      "fullfilter.rocksdb.internal.FastLocalBloomFilter"};
  for (uint32_t i = 0; i < 8; i++) {
    hand_made h;
    nay_sst_filters *t;
    nay_sst_filters_info info = {.size = sizeof info};
    hand_make(&h, 6 + i % 2, i < 4 ? 0 : 0x12345678, names[i % 4]);
    assert_ok(nay_sst_filters_open(h.bytes, h.len, NULL, NULL, NULL, &t));
    nay_sst_filters_stats(t, &info);
    assert_int_equal(info.format_version, 6 + i % 2);
    assert_int_equal(info.ndamaged, 0);
    one_key *keys = sorted_keys("str", 50);
    assert_int_equal(maybes_of(t, keys, 50), 50);
    assert_true(absent_maybes(t) < 60);
    nay_sst_filters_free(t);
    for (size_t bit = 0; bit < h.len * 8; bit++) { /* every byte is under some checksum */
      h.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
      if (nay_sst_filters_open(h.bytes, h.len, NULL, NULL, NULL, &t) == NAY_OK) {
        assert_int_equal(maybes_of(t, keys, 50), 50);
        nay_sst_filters_free(t);
      }
      h.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    free(keys);
  }
  hand_made h;
  nay_sst_filters *t = NULL;
  nay_diag diag;
  hand_make(&h, 8, 0, names[0]);
  assert_status(nay_sst_filters_open(h.bytes, h.len, NULL, NULL, &diag, &t), NAY_EVERSION);
  assert_non_null(strstr(diag.what, "above 7"));
}

/* A filter of an unknown policy is listed, and answers maybe. */
static void an_unknown_policy(void **state) {
  (void)state;
  hand_made h;
  nay_sst_filters *t;
  nay_sst_filters_info info = {.size = sizeof info};
  nay_sst_filters_entry f = {.size = sizeof f};
  hand_make(&h, 6, 0, "fullfilter.somebody.else");
  assert_ok(nay_sst_filters_open(h.bytes, h.len, NULL, NULL, NULL, &t));
  nay_sst_filters_stats(t, &info);
  assert_string_equal(info.policy, "somebody.else");
  assert_false(info.understood);
  assert_int_equal(absent_maybes(t), GOLDEN_ABSENT);
  assert_ok(nay_sst_filters_at(t, 0, &f));
  assert_null(f.format);
  assert_int_equal(f.len, 69);
  nay_sst_filters_free(t);
}

/* ---- damage ---- */

static const char *const small_files[] = {
    "rocksdb/sst_bloom_n100.sst", "rocksdb/sst_part_bloom_one.sst", "rocksdb/sst_ribbon_n2.sst",
    "leveldb-tables/table_str_n100_b10_none.ldb", "leveldb-tables/db_str_n50_b10_none_dups.ldb"};
#define N_SMALL (sizeof small_files / sizeof small_files[0])

static golden_bytes read_small(size_t i) {
  char path[512];
  snprintf(path, sizeof path, TEST_GOLDEN "/%s", small_files[i]);
  return golden_read(path);
}

static unsigned members_of(size_t i) {
  static const unsigned n[] = {100, 10, 2, 100, 50};
  return n[i];
}

/* One flipped bit never loses a key: it is an error, a maybe, or somewhere in the data. */
static void flips_lose_no_key(void **state) {
  (void)state;
  for (size_t i = 0; i < N_SMALL; i++) {
    golden_bytes file = read_small(i);
    one_key *keys = sorted_keys("str", members_of(i));
    for (size_t bit = 0; bit < file.len * 8; bit++) {
      nay_sst_filters *t;
      nay_diag diag = {.what = NULL};
      file.at[bit / 8] ^= (uint8_t)(1u << bit % 8);
      nay_status status = nay_sst_filters_open(file.at, file.len, NULL, NULL, &diag, &t);
      if (status == NAY_OK) {
        if (maybes_of(t, keys, members_of(i)) != members_of(i)) {
          fail_msg("%s: bit %u loses a key", small_files[i], (unsigned)bit);
        }
        nay_sst_filters_free(t);
      } else {
        assert_non_null(diag.what);
      }
      file.at[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    free(keys);
    free(file.at);
  }
}

static void a_damaged_filter_is_told(void **state) {
  (void)state;
  golden_bytes file = golden_read(TEST_GOLDEN "/rocksdb/sst_part_bloom.sst");
  file.at[63653 + 7] ^= 1; /* the third of twelve partitions */
  nay_sst_filters *t = open_table(file);
  nay_sst_filters_info info = {.size = sizeof info};
  nay_sst_filters_entry f = {.size = sizeof f};
  one_key *keys = sorted_keys("str", 10000);
  nay_sst_filters_stats(t, &info);
  assert_int_equal(info.nfilters, 12);
  assert_int_equal(info.ndamaged, 1);
  assert_ok(nay_sst_filters_at(t, 2, &f));
  assert_true(f.damaged);
  assert_int_equal(maybes_of(t, keys, 10000), 10000);
  assert_true(table_may_contain(t, "key002000x", 10)); /* in its range all are maybes */
  assert_true(table_may_contain(t, "key002000y", 10));
  free(keys);
  nay_sst_filters_free(t);
  free(file.at);
}

static void truncations(void **state) {
  (void)state;
  for (size_t i = 0; i < N_SMALL; i++) {
    golden_bytes file = read_small(i);
    for (size_t len = 0; len < file.len; len++) {
      nay_sst_filters *t = NULL;
      nay_diag diag = {.what = NULL};
      assert_status(nay_sst_filters_open(file.at, len, NULL, NULL, &diag, &t), NAY_EFORMAT);
      assert_false(nay_sst_filters_recognise(file.at, len));
      assert_non_null(diag.what);
      assert_null(t);
    }
    free(file.at);
  }
}

static void no_memory(void **state) {
  (void)state;
  for (size_t i = 0; i < N_SMALL; i++) {
    golden_bytes file = read_small(i);
    for (long call = 0; call < 40; call++) {
      flaky memory = {.fail_at = call};
      nay_allocator allocator = flaky_allocator(&memory);
      nay_sst_filters *t = NULL;
      nay_diag diag = {.what = NULL};
      nay_status status = nay_sst_filters_open(file.at, file.len, NULL, &allocator, &diag, &t);
      if (status != NAY_OK) assert_status(status, NAY_ENOMEM);
      if (status != NAY_OK) assert_non_null(diag.what);
      nay_sst_filters_free(t);
      assert_int_equal(memory.objects, 0);
    }
    free(file.at);
  }
}

static void null_arguments(void **state) {
  (void)state;
  nay_sst_filters *t = NULL;
  nay_sst_filters_entry f = {.size = sizeof f};
  assert_status(nay_sst_filters_open(NULL, 5, NULL, NULL, NULL, &t), NAY_EINVAL);
  assert_status(nay_sst_filters_open("x", 1, NULL, NULL, NULL, NULL), NAY_EINVAL);
  assert_status(nay_sst_filters_open(NULL, 0, NULL, NULL, NULL, &t), NAY_EFORMAT);
  assert_status(nay_sst_filters_at(NULL, 0, &f), NAY_EINVAL);
  assert_true(nay_sst_filters_may_contain(NULL, "foo", 3));
  bool maybe = false;
  explained_probes probes = {NULL, 0, false};
  assert_status(nay_sst_filters_explain(NULL, "foo", 3, explained_probe, &probes, &maybe),
                NAY_EINVAL);
  assert_false(maybe);
  assert_false(nay_sst_filters_recognise(NULL, 100));
  nay_sst_filters_free(NULL);
}

int main(void) {
  const test_case tests[] = {
      TEST(rocksdb_tables),    TEST(leveldb_tables),    TEST(later_formats),
      TEST(an_unknown_policy), TEST(flips_lose_no_key), TEST(a_damaged_filter_is_told),
      TEST(truncations),       TEST(no_memory),         TEST(null_arguments),
  };
  return run_all(tests);
}
