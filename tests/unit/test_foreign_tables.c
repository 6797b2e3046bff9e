/*
 * test_foreign_tables.c - tables that nori and mini-lsm wrote. A scan gives the entries of the
 * engine's own scan; gets find every key and no absent one; filters give the engine's own answers,
 * and the keys that the engine's filters miss are those it misses.
 *
 *     test_foreign_tables [DIRECTORY]     other vectors, as make_foreign_vectors.py writes them
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/crc32.h"
#include "golden/foreign_tables.h"
#include "nay_sst_filters.h"
#include "nay_sst_iter.h"
#include "support/sst_calls.h"

static const char *vectors = TEST_GOLDEN;

/* ---- entries ---- */

typedef struct text {
  char *at;
  size_t len, cap;
} text;

static void text_add(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void text_add(text *t, const char *format, ...) {
  va_list args;
  if (t->cap - t->len < 512) {
    t->cap = 2 * t->cap + 4096;
    t->at = realloc(t->at, t->cap);
    assert_non_null(t->at);
  }
  va_start(args, format);
  t->len += (size_t)vsnprintf(t->at + t->len, t->cap - t->len, format, args);
  va_end(args);
}

/* Returns the number of a key in its key set. */
static uint64_t index_of(const foreign_table *t, const nay_sst_entry *v) {
  uint8_t key[GOLDEN_KEY_MAX];
  for (uint64_t i = 0; i < t->n; i++) {
    size_t len = t->make(i, key);
    if (len == v->len && memcmp(key, v->key, len) == 0) return i;
  }
  fail_msg("%s: a key that is not of the set", t->file);
  return 0;
}

/* Appends an entry in the format of the engine's list. */
static void add_entry(const foreign_table *t, const nay_sst_iter *it, text *list) {
  size_t len, value_len;
  const void *key = nay_sst_iter_key(it, &len), *value = nay_sst_iter_value(it, &value_len);
  nay_sst_entry v = {.size = sizeof v};
  (void)key, (void)len;
  assert_ok(nay_sst_iter_entry(it, &v));
  for (size_t i = 0; i < v.len; i++) text_add(list, "%02x", ((const uint8_t *)v.key)[i]);
  text_add(list, "\t%llu\t%c\t%zu\t", (unsigned long long)index_of(t, &v),
           v.type == NAY_SST_DELETE ? 'T' : 'P', value_len);
  if (t->nori) {
    text_add(list, "%016llx\t%llu\t%llu\n", (unsigned long long)XXH64(value, value_len, 0),
             (unsigned long long)v.term, (unsigned long long)v.sequence);
  } else {
    text_add(list, "%08x\t%llu\n", nay__crc32(value, value_len), (unsigned long long)v.sequence);
  }
}

static void check_scan(const foreign_table *t, const nay_sst *sst) {
  nay_sst_iter *it;
  text list = {NULL, 0, 0};
  uint64_t n = 0, back = 0;
  text_add(&list, "%s", "");
  assert_ok(nay_sst_iter_new(sst, NULL, &it));
  nay_status status = nay_sst_iter_first(it);
  for (; status == NAY_OK; status = nay_sst_iter_next(it), n++) add_entry(t, it, &list);
  if (status != NAY_EEND) fail_msg("%s: %s", t->file, nay_sst_iter_diag(it)->what);
  assert_int_equal(n, t->nentries);
  if (nay__crc32((uint8_t *)list.at, list.len) != t->crc) fail_msg("%s: the entries", t->file);
  for (status = nay_sst_iter_last(it); status == NAY_OK; status = nay_sst_iter_prev(it)) back++;
  assert_status(status, NAY_EEND);
  assert_int_equal(back, n);
  nay_sst_info info = {.size = sizeof info};
  assert_ok(nay_sst_stats(sst, &info));
  size_t len = 0;
  if (nay_sst_iter_first(it) == NAY_OK) { /* with sequence number and deletion flag */
    const void *key = nay_sst_iter_key(it, &len);
    assert_int_equal(info.smallest_len, len);
    assert_memory_equal(info.smallest, key, len);
  }
  nay_sst_iter_free(it);
  free(list.at);
}

/* ---- keys ---- */

/* Looks keys up at the newest snapshot, one by one and in a batch. The first key of a block tests
 * that the index search does not stop one block too early. */
static void check_lookups(const foreign_table *t, const nay_sst *sst, const nay_sst_lookup *lookup,
                          const void *key, size_t len) {
  nay_sst_value value = {.size = sizeof value}, batch = {.size = sizeof batch};
  nay_status status = NAY_EINVAL;
  nay_status got = nay_sst_get(sst, key, len, NAY_SST_MAX_SEQUENCE, NULL, &value);
  if (got != (value.deleted ? NAY_ENOENT : NAY_OK)) {
    fail_msg("%s: a present key at a snapshot", t->file);
  }
  assert_ok(nay_sst_lookup_get_many(lookup, &key, &len, 1, NAY_SST_MAX_SEQUENCE, NULL, &batch,
                                    &status, NULL));
  if (status != (value.deleted ? NAY_ENOENT : NAY_OK)) {
    fail_msg("%s: a present key in a batch", t->file);
  }
  nay_sst_value_free(&value);
  nay_sst_value_free(&batch);
}

static void check_gets(const foreign_table *t, const nay_sst *sst) {
  nay_sst_lookup *lookup;
  assert_ok(
      nay_sst_lookup_new(&(nay_sst_lookup_level){sizeof(nay_sst_lookup_level), &sst, 1, false}, 1,
                         NULL, NULL, NULL, &lookup));
  uint8_t key[GOLDEN_KEY_MAX];
  nay_sst_value value = {.size = sizeof value};
  nay_diag diag = {.what = NULL};
  for (uint64_t i = 0; i < t->n; i++) {
    size_t len = t->make(i, key);
    nay_status status = nay_sst_get(sst, key, len, NAY_SST_NEWEST, &diag, &value);
    if (status != (value.deleted ? NAY_ENOENT : NAY_OK)) {
      fail_msg("%s: present key %llu", t->file, (unsigned long long)i);
    }
    assert_true(nay_sst_may_contain(sst, key, len));
    check_lookups(t, sst, lookup, key, len);
  }
  for (uint64_t i = 0; i < FOREIGN_ABSENT; i++) {
    size_t len = t->make(t->absent_first + i, key);
    assert_status(nay_sst_get(sst, key, len, NAY_SST_NEWEST, &diag, &value), NAY_ENOENT);
  }
  nay_sst_lookup_free(lookup);
  nay_sst_value_free(&value);
}

/* Compares the answers of the Bloom filter, and the number of keys that the engine's filters
 * miss. */
static void check_filter(const foreign_table *t, const nay_sst *sst) {
  uint8_t key[GOLDEN_KEY_MAX];
  const nay_filter *f = table_filter(sst);
  uint64_t nentries = 0, ndenied = 0;
  if (f != NULL) {
    for (uint64_t i = 0; i < FOREIGN_ABSENT; i++) {
      bool maybe = nay_filter_may_contain(f, key, t->make(t->absent_first + i, key));
      if (maybe != foreign_bit(t->absent, i)) fail_msg("%s: absent key %u", t->file, (unsigned)i);
    }
  }
  assert_ok(nay_sst_verify(sst, NULL, &nentries, &ndenied));
  assert_int_equal(nentries, t->nentries);
  assert_int_equal(ndenied, foreign_list_len(t->denied));
}

static bool full_filters(const nay_sst_filters *t) {
  const char *caveat;
  for (size_t i = 0; (caveat = nay_sst_filters_caveat(t, i)) != NULL; i++) {
    if (strstr(caveat, "full filter") != NULL) return true;
  }
  return false;
}

/* Compares the filters without the data: the engine's answers, except maybe where a full filter
 * misses keys. */
static void check_table_filters(const foreign_table *t) {
  uint8_t key[GOLDEN_KEY_MAX];
  nay_sst_filters_options how = {.size = sizeof how};
  how.codecs = nay_codecs(&how.ncodecs);
  nay_sst_filters *f;
  assert_ok(filters_layout(t->bytes.at, t->bytes.len, t->name, &how, NULL, NULL, &f));
  bool full = full_filters(f);
  assert_int_equal(full, foreign_list_len(t->denied) != 0);
  for (uint64_t i = 0; i < t->n; i++) {
    assert_true(nay_sst_filters_may_contain(f, key, t->make(i, key)));
  }
  for (uint64_t i = 0; i < FOREIGN_ABSENT && !full; i++) {
    bool maybe = nay_sst_filters_may_contain(f, key, t->make(t->absent_first + i, key));
    if (maybe != (t->absent[0] == '-' || foreign_bit(t->absent, i)))
      fail_msg("%s: %u", t->file, (unsigned)i);
  }
  nay_sst_filters_info info = {.size = sizeof info};
  nay_sst_filters_entry one = {.size = sizeof one};
  nay_sst_filters_stats(f, &info);
  assert_int_equal(info.ndamaged, 0);
  assert_int_equal(info.nkeys, t->nori ? t->nentries : 0);
  for (uint64_t i = 0; nay_sst_filters_at(f, i, &one) == NAY_OK; i++) {
    nay_filter *decoded;
    assert_ok(nay_format_decode(one.format, one.bytes, one.len, 0, NULL, NULL, &decoded));
    nay_filter_free(decoded);
  }
  nay_sst_filters_free(f);
}

static void check_info(const foreign_table *t, const nay_sst *sst) {
  static const struct {
    const char *form, *versions;
    uint32_t footer;
  } forms[] = {{"568d277", "none", 0},
               {"0330cd4", "none", 0},
               {"34fbb75", "sequence", 0},
               {"eefe694", "sequence", 0},
               {"5305f49", "term and index", 0},
               {"390efce", "term and index", 1},
               {"w3", "timestamp", 0}};
  nay_sst_info plain = {.size = sizeof plain};
  assert_ok(nay_sst_stats(sst, &plain));
  assert_non_null(plain.foreign);
  const nay_sst_foreign_info info = *plain.foreign;
  assert_int_equal(plain.nblocks, t->nblocks);
  assert_int_equal(plain.keys, NAY_SST_KEYS_INTERNAL);
  assert_string_equal(info.layout, t->name);
  if (t->nori) assert_int_equal(info.nentries, t->nentries);
  for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
    if (strcmp(forms[i].form, t->form) != 0 || t->n == 0) continue;
    assert_string_equal(info.versions, forms[i].versions);
    assert_int_equal(info.footer_version,
                     forms[i].footer + (forms[i].footer != 0 && info.filter_in_blocks));
  }
  bool raw = strcmp(t->form, "568d277") == 0 && strstr(t->file, "basic_lz4") != NULL;
  if (raw) assert_true(info.codec_ignored);
}

static void check_table(const foreign_table *t) {
  check_table_filters(t);
  nay_diag diag = {.what = NULL};
  nay_sst_read_options mapped = foreign_options(0), read = foreign_options(NAY_SST_PREAD);
  nay_sst *sst[4];
  nay_status status = NAY_OK;
  const char *any = t->nori ? t->name : "mini-lsm-sst";
  status = open_layout(t->path, any, &mapped, NULL, &diag, &sst[0]);
  if (status != NAY_OK) fail_msg("%s: %s at %u", t->file, diag.what, (unsigned)diag.offset);
  assert_ok(open_layout(t->path, t->name, &read, NULL, &diag, &sst[1]));
  assert_ok(view_layout(t->bytes.at, t->bytes.len, t->name, &mapped, NULL, &diag, &sst[2]));
  size_t n = 3;
  if (t->nori) assert_ok(nay_sst_open(t->path, &read, NULL, &diag, &sst[n++]));
  for (size_t i = 0; i < n; i++) {
    check_scan(t, sst[i]);
    check_gets(t, sst[i]);
    check_filter(t, sst[i]);
    check_info(t, sst[i]);
    nay_sst_free(sst[i]);
  }
}

static unsigned check_all(const char *directory) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s/vectors.txt", vectors, directory);
  golden_bytes list = golden_read(path);
  char *rest = (char *)list.at;
  unsigned n = 0;
  for (foreign_row row; foreign_next(&rest, "table", &row); n++) {
    foreign_table t = foreign_read_table(vectors, directory, &row);
    check_table(&t);
    free(t.bytes.at);
  }
  free(list.at);
  print_message("# %u tables in %s\n", n, directory);
  return n;
}

static void nori(void **state) {
  (void)state;
  assert_true(check_all("nori-engine") >= 80);
}

static void mini_lsm(void **state) {
  (void)state;
  assert_true(check_all("mini-lsm-engine") >= 15);
}

int main(int argc, char **argv) {
  if (argc > 1) vectors = argv[1];
  const test_case tests[] = {TEST(nori), TEST(mini_lsm)};
  return run_all(tests);
}
