/*
 * test_foreign_writer.c - tables of nori and mini-lsm written again from their entries have the
 * engine's own bytes. Entries that a layout cannot express are refused.
 *
 *     test_foreign_writer [DIRECTORY]     other vectors, as make_foreign_vectors.py writes them
 */
#include <unistd.h>

#include "golden/foreign_tables.h"
#include "nay_sst_compact.h"
#include "nay_sst_iter.h"
#include "support/sst_calls.h"
#include "support/temp.h"

static const char *vectors = TEST_GOLDEN;
static char out[TEMP_MAX];

/* ---- copying ---- */

static nay_sst *open_table(const char *path, const char *name) {
  nay_sst_read_options how = foreign_options(0);
  nay_sst *sst;
  nay_diag diag = {.what = NULL};
  nay_status status = open_layout(path, name, &how, NULL, &diag, &sst);
  if (status != NAY_OK) fail_msg("%s: %s", path, diag.what);
  return sst;
}

static uint64_t number_param(const foreign_row *row, const char *name) {
  const char *text = foreign_param(row, name);
  return text != NULL ? strtoull(text, NULL, 10) : 0;
}

/* Returns the options that the engine wrote the table with. */
static nay_sst_write_options options_of(const foreign_table *t, const foreign_row *row) {
  nay_sst_write_options o = {.size = sizeof o, .layout = t->name};
  o.block_bytes = (uint32_t)number_param(row, "block_size");
  if (!t->nori) return o;
  static const nay_codec_kind kinds[] = {0, NAY_CODEC_LZ4, NAY_CODEC_ZSTD_UNSIZED};
  o.restart_interval = (uint32_t)number_param(row, "restart_interval");
  o.quotient = strcmp(foreign_param(row, "filter"), "quotient") == 0;
  static nay_params params; /* the writer copies them */
  params = (nay_params){.size = sizeof params,
                        .bits_per_key = (double)number_param(row, "bloom_bits_per_key"),
                        .nkeys = number_param(row, "estimated_entries")};
  o.params = &params;
  o.codec = nay_codec_find(kinds[number_param(row, "compression")]);
  return o;
}

static void write_again(const foreign_table *t, const nay_sst_write_options *o) {
  nay_sst *from = open_table(t->path, t->name);
  nay_sst_iter *it;
  nay_sst_writer *w;
  nay_diag diag = {.what = NULL};
  assert_ok(nay_sst_writer_new(out, o, NULL, &diag, &w));
  assert_ok(nay_sst_iter_new(from, NULL, &it));
  for (nay_status status = nay_sst_iter_first(it); status == NAY_OK;
       status = nay_sst_iter_next(it)) {
    size_t len, value_len;
    const void *key = nay_sst_iter_key(it, &len), *value = nay_sst_iter_value(it, &value_len);
    nay_sst_entry v = {.size = sizeof v};
    (void)key, (void)len;
    assert_ok(nay_sst_iter_entry(it, &v));
    status = nay_sst_writer_add_entry(w, &v, value, value_len, &diag);
    if (status != NAY_OK) fail_msg("%s: %s", t->file, diag.what);
  }
  assert_ok(nay_sst_writer_finish(w, &diag));
  nay_sst_writer_free(w);
  nay_sst_iter_free(it);
  nay_sst_free(from);
}

/* Compares all entries of the two tables. */
static void assert_same_entries(const foreign_table *t) {
  nay_sst *a = open_table(t->path, t->name), *b = open_table(out, t->name);
  nay_sst_iter *i, *j;
  assert_ok(nay_sst_iter_new(a, NULL, &i));
  assert_ok(nay_sst_iter_new(b, NULL, &j));
  nay_status x = nay_sst_iter_first(i), y = nay_sst_iter_first(j);
  for (; x == NAY_OK; x = nay_sst_iter_next(i), y = nay_sst_iter_next(j)) {
    size_t n, m;
    assert_ok(y);
    const void *p = nay_sst_iter_key(i, &n), *q = nay_sst_iter_key(j, &m);
    assert_int_equal(n, m);
    assert_memory_equal(p, q, n);
    p = nay_sst_iter_value(i, &n);
    q = nay_sst_iter_value(j, &m);
    assert_int_equal(n, m);
    if (n != 0) assert_memory_equal(p, q, n);
    nay_sst_entry e = {.size = sizeof e}, f = {.size = sizeof f};
    assert_ok(nay_sst_iter_entry(i, &e));
    assert_ok(nay_sst_iter_entry(j, &f));
    assert_int_equal(e.term, f.term);
  }
  assert_status(y, NAY_EEND);
  nay_sst_iter_free(i);
  nay_sst_iter_free(j);
  nay_sst_free(a);
  nay_sst_free(b);
}

/* The filters of a table that nay wrote miss no key. */
static void assert_denies_nothing(const foreign_table *t) {
  uint64_t nentries, ndenied;
  nay_sst *sst = open_table(out, t->name);
  assert_ok(nay_sst_verify(sst, NULL, &nentries, &ndenied));
  assert_int_equal(nentries, t->nentries);
  assert_int_equal(ndenied, 0);
  nay_sst_free(sst);
}

static bool same_bytes(const foreign_table *t) {
  golden_bytes got = golden_read(out);
  bool same = got.len == t->bytes.len && memcmp(got.at, t->bytes.at, got.len) == 0;
  free(got.at);
  return same;
}

typedef struct tally {
  unsigned same, compressed, lossy;
} tally;

static tally check_all(const char *directory) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s/vectors.txt", vectors, directory);
  golden_bytes list = golden_read(path);
  char *rest = (char *)list.at;
  tally n = {0, 0, 0};
  for (foreign_row row; foreign_next(&rest, "table", &row);) {
    foreign_table t = foreign_read_table(vectors, directory, &row);
    nay_sst_write_options o = options_of(&t, &row);
    bool writable = !t.nori || strcmp(t.form, "390efce") == 0;
    bool other_footer = o.quotient && number_param(&row, "config_qf_remainder_bits") != 7;
    if (writable) {
      write_again(&t, &o);
      assert_same_entries(&t);
      assert_denies_nothing(&t);
      bool lossy = foreign_list_len(t.denied) != 0;
      bool same = same_bytes(&t);
      if (!same && o.codec == NULL && !lossy && !other_footer) fail_msg("%s: bytes", t.file);
      n.same += same;
      n.compressed += o.codec != NULL;
      n.lossy += lossy;
    }
    free(t.bytes.at);
  }
  free(list.at);
  print_message("# %s: %u tables with the same bytes, %u compressed, %u where it loses keys\n",
                directory, n.same, n.compressed, n.lossy);
  return n;
}

static void nori(void **state) {
  (void)state;
  tally n = check_all("nori-engine");
  assert_true(n.same >= 12 && n.lossy >= 1);
}

static void mini_lsm(void **state) {
  (void)state;
  tally n = check_all("mini-lsm-engine");
  assert_true(n.same >= 19);
}

/* ---- refusals ---- */

typedef struct refused {
  const char *layout;
  nay_sst_entry first, then;
  const char *first_value, *then_value;
  const char *why;
} refused;

static void entries_that_do_not_fit(void **state) {
  (void)state;
#define V sizeof(nay_sst_entry)
#define PUT NAY_SST_PUT
#define DELETE NAY_SST_DELETE
#define MERGE NAY_SST_MERGE
  static const refused cases[] = {
      {"nori-sst", {V, "b", 1, 0, PUT, 0}, {V, "a", 1, 0, PUT, 0}, "1", "2", "not above"},
      {"nori-sst", {V, "b", 1, 5, PUT, 0}, {V, "b", 1, 4, PUT, 0}, "1", "2", "not above"},
      {"nori-sst",
       {V, "b", 1, 0, PUT, 0},
       {V, "c", 1, 0, DELETE, 0},
       "1",
       "2",
       "deletion with a value"},
      {"nori-sst",
       {V, "b", 1, 0, PUT, 0},
       {V, "c", 1, UINT64_C(1) << 56, PUT, 0},
       "1",
       "2",
       "2^56"},
      {"nori-sst", {V, "b", 1, 0, PUT, 0}, {V, "c", 1, 0, MERGE, 0}, "1", "2", "merge operand"},
      {"mini-lsm-sst", {V, "b", 1, 0, PUT, 0}, {V, "b", 1, 0, PUT, 0}, "1", "2", "not above"},
      {"mini-lsm-sst", {V, "b", 1, 0, PUT, 0}, {V, "c", 1, 7, PUT, 0}, "1", "2", "no versions"},
      {"mini-lsm-sst", {V, "b", 1, 0, PUT, 0}, {V, "c", 1, 0, PUT, 0}, "1", "", "empty value"},
      {"mini-lsm-sst-week1", {V, "b", 1, 0, PUT, 0}, {V, "", 0, 0, PUT, 0}, "1", "2", "not above"},
      {"mini-lsm-sst-week3", {V, "b", 1, 5, PUT, 0}, {V, "b", 1, 5, PUT, 0}, "1", "2", "not above"},
      {"mini-lsm-sst-week3", {V, "b", 1, 5, PUT, 0}, {V, "b", 1, 6, PUT, 0}, "1", "2", "not above"},
  };
#undef PUT
#undef DELETE
#undef MERGE
#undef V
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const refused *c = &cases[i];
    nay_sst_write_options o = {.size = sizeof o, .layout = c->layout};
    nay_sst_writer *w;
    nay_diag diag = {.what = NULL};
    assert_ok(nay_sst_writer_new(out, &o, NULL, &diag, &w));
    assert_ok(
        nay_sst_writer_add_entry(w, &c->first, c->first_value, strlen(c->first_value), &diag));
    assert_status(
        nay_sst_writer_add_entry(w, &c->then, c->then_value, strlen(c->then_value), &diag),
        NAY_EINVAL);
    if (strstr(diag.what, c->why) == NULL) fail_msg("%s instead of %s", diag.what, c->why);
    assert_ok(nay_sst_writer_finish(w, &diag)); /* the refused entry has changed nothing */
    nay_sst_writer_free(w);
    nay_sst *sst = open_table(out, c->layout);
    nay_sst_value value = {.size = sizeof value};
    assert_ok(nay_sst_get(sst, "b", 1, NAY_SST_NEWEST, &diag, &value));
    assert_status(nay_sst_get(sst, "c", 1, NAY_SST_NEWEST, &diag, &value), NAY_ENOENT);
    nay_sst_value_free(&value);
    nay_sst_free(sst);
  }
}

static void mini_lsm_limits(void **state) {
  (void)state;
  static uint8_t big[65536];
  nay_sst_write_options o = {.size = sizeof o, .layout = "mini-lsm-sst", .block_bytes = 1 << 20};
  nay_sst_writer *w;
  nay_diag diag = {.what = NULL};
  memset(big, 'x', sizeof big);
  assert_ok(nay_sst_writer_new(out, &o, NULL, &diag, &w));
  nay_sst_entry v = {sizeof v, .key = big, .len = 65536, .sequence = 0, .type = NAY_SST_PUT};
  assert_status(nay_sst_writer_add_entry(w, &v, "1", 1, &diag), NAY_EINVAL);
  v.len = 1;
  assert_status(nay_sst_writer_add_entry(w, &v, big, 65536, &diag), NAY_EINVAL);
  assert_status(
      nay_sst_writer_add_entry(w,
                               &(nay_sst_entry){sizeof(nay_sst_entry), .key = "", .len = 0,
                                                .sequence = 0, .type = NAY_SST_PUT},
                               "1", 1, &diag),
      NAY_EINVAL);
  assert_status(nay_sst_writer_finish(w, &diag), NAY_EINVAL); /* the table has no entry */
  assert_non_null(strstr(diag.what, "without entries"));
  nay_sst_writer_free(w);
  /* offsets have 16 bits, so blocks above 64 KiB are split */
  assert_ok(nay_sst_writer_new(out, &o, NULL, &diag, &w));
  for (unsigned i = 0; i < 20; i++) {
    char key[16];
    v = (nay_sst_entry){sizeof(nay_sst_entry), .key = key,
                        .len = (size_t)snprintf(key, sizeof key, "k%03u", i), .sequence = 0,
                        .type = NAY_SST_PUT};
    assert_ok(nay_sst_writer_add_entry(w, &v, big, 20000, &diag));
  }
  assert_ok(nay_sst_writer_finish(w, &diag));
  nay_sst_writer_free(w);
  nay_sst *sst = open_table(out, "mini-lsm-sst");
  nay_sst_info info = {.size = sizeof info};
  nay_sst_stats(sst, &info);
  assert_int_equal(info.nblocks, 5);
  nay_sst_free(sst);
}

static void options_that_are_wrong(void **state) {
  (void)state;
  const nay_sst_codec *snappy = nay_codec_find(NAY_CODEC_SNAPPY);
  const nay_sst_codec *lz4 = nay_codec_find(NAY_CODEC_LZ4);
  const struct {
    nay_sst_write_options o;
    const char *why;
  } cases[] = {
      {{sizeof(nay_sst_write_options), .layout = "leveldb"}, "layout"},
      {{sizeof(nay_sst_write_options), .layout = "nori-sst", .properties = true}, "LevelDB"},
      {{sizeof(nay_sst_write_options), .quotient = true}, "quotient"},
      {{sizeof(nay_sst_write_options) - 1, .layout = "nori-sst"}, "size"},
      {{sizeof(nay_sst_write_options), .layout = "nori-sst", .block_bytes = UINT32_MAX}, "block"},
      {{sizeof(nay_sst_write_options), .layout = "nori-sst", .codec = snappy}, "codec"},
      {{sizeof(nay_sst_write_options), .layout = "mini-lsm-sst", .codec = lz4}, "codec"},
      {{sizeof(nay_sst_write_options), .layout = "mini-lsm-sst", .quotient = true}, "quotient"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    nay_diag diag = {.what = NULL};
    nay_sst_writer *w = NULL;
    assert_status(nay_sst_writer_new(out, &cases[i].o, NULL, &diag, &w), NAY_EINVAL);
    assert_null(w);
    if (strstr(diag.what, cases[i].why) == NULL) fail_msg("%s", diag.what);
  }
}

/* A writer that is freed before finish leaves the old file. */
static void an_abandoned_table_leaves_the_old_one(void **state) {
  (void)state;
  nay_sst_write_options o = {.size = sizeof o, .layout = "nori-sst"};
  nay_sst_writer *w;
  nay_sst_entry v = {sizeof v, .key = "k", .len = 1, .sequence = 0, .type = NAY_SST_PUT};
  assert_ok(nay_sst_writer_new(out, &o, NULL, NULL, &w));
  v.term = 3;
  assert_ok(nay_sst_writer_add_entry(w, &v, "one", 3, NULL));
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  golden_bytes before = golden_read(out);
  assert_ok(nay_sst_writer_new(out, &o, NULL, NULL, &w));
  v.term = 3;
  assert_ok(nay_sst_writer_add_entry(w, &v, "two", 3, NULL));
  nay_sst_writer_free(w);
  golden_bytes after = golden_read(out);
  assert_int_equal(before.len, after.len);
  assert_memory_equal(before.at, after.at, before.len);
  free(before.at);
  free(after.at);
}

/* ---- versions of one key in several tables ---- */

static nay_sst *one_version(const char *name, const char *file, uint64_t sequence) {
  char path[TEMP_MAX];
  nay_sst_write_options o = {.size = sizeof o, .layout = name};
  nay_sst_writer *w;
  nay_sst_entry v = {.size = sizeof v, .key = "key", .len = 3, .sequence = sequence};
  uint8_t value = (uint8_t)('0' + sequence);
  uint64_t term = strcmp(name, "nori-sst") == 0;
  temp_path(path, file);
  assert_ok(nay_sst_writer_new(path, &o, NULL, NULL, &w));
  v.term = term;
  assert_ok(nay_sst_writer_add_entry(w, &v, &value, 1, NULL));
  v.key = "other";
  v.len = 5;
  v.term = term;
  assert_ok(nay_sst_writer_add_entry(w, &v, &value, 1, NULL));
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  nay_sst *t = open_table(path, name);
  unlink(path);
  return t;
}

/* The tables share their first key, and any of them may have its newest version. */
static void compactions_start_with_the_newest_version(void **unused) {
  static const char *const names[] = {"mini-lsm-sst-week3", "nori-sst"};
  static const unsigned orders[][3] = {{3, 6, 9}, {3, 9, 6}, {6, 3, 9},
                                       {6, 9, 3}, {9, 3, 6}, {9, 6, 3}};
  (void)unused;
  for (size_t i = 0; i < 12; i++) {
    const nay_sst *tables[3];
    nay_sst *open[3], *result;
    char path[TEMP_MAX];
    nay_sst_value v = {.size = sizeof v};
    nay_sst_write_options write = {.size = sizeof write, .keys = NAY_SST_KEYS_INTERNAL};
    nay_sst_compact_options how = {.size = sizeof how, .write = &write};
    for (size_t j = 0; j < 3; j++) {
      tables[j] = open[j] = one_version(names[i / 6], "version.sst", orders[i % 6][j]);
    }
    temp_path(path, "compacted.ldb");
    assert_ok(nay_sst_compact(tables, 3, path, &how, NULL, NULL, NULL));
    assert_ok(nay_sst_open(path, NULL, NULL, NULL, &result));
    assert_ok(nay_sst_get(result, "key", 3, NAY_SST_NEWEST, NULL, &v));
    assert_int_equal(v.sequence, 9);
    assert_memory_equal(v.bytes, "9", 1);
    nay_sst_value_free(&v);
    nay_sst_free(result);
    for (size_t j = 0; j < 3; j++) nay_sst_free(open[j]);
    unlink(path);
  }
}

int main(int argc, char **argv) {
  if (argc > 1) vectors = argv[1];
  temp_path(out, "foreign-writer.sst");
  const test_case tests[] = {
      TEST(nori),
      TEST(mini_lsm),
      TEST(entries_that_do_not_fit),
      TEST(mini_lsm_limits),
      TEST(options_that_are_wrong),
      TEST(an_abandoned_table_leaves_the_old_one),
      TEST(compactions_start_with_the_newest_version),
  };
  int failed = run_all(tests);
  (void)unlink(out);
  return failed;
}
