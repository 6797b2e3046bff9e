/*
 * test_key_description.c - key descriptions: the grammar, canonical forms, which are the same, and
 * conversion by them; maps and tables that state one.
 */
#include "nay_key.h"
#include "nay_map.h"
#include "nay_sst.h"
#include "nay_sst_compact.h"
#include "nay_sst_filters.h"
#include "support/key_vectors.h"
#include "support/temp.h"
#include "support/test.h"

static const char *const names[] = {"text",      "int",  "float",   "bool", "date",
                                    "timestamp", "uuid", "numeric", "hex",  "b64"};
#define N_TYPES (sizeof names / sizeof names[0])

/* ---- the grammar ---- */

static void known_types_parse(void **state) {
  (void)state;
  nay_key_description d = {.size = sizeof d};
  for (size_t i = 0; i < N_TYPES; i++) {
    assert_ok(nay_key_description_parse(names[i], NULL, &d));
    assert_int_equal(d.type, i);
    assert_int_equal(d.ntransformations, 0);
  }
  assert_ok(nay_key_description_parse("bytes", NULL, &d));
  assert_int_equal(d.type, NAY_KEY_TEXT);
}

/* diag->offset is the first byte that the grammar does not allow. */
static void what_is_none_is_refused_at_its_byte(void **state) {
  (void)state;
  static const struct {
    const char *text;
    nay_status status;
    uint64_t offset;
  } rows[] = {
      {"", NAY_EINVAL, 0},
      {"1", NAY_EINVAL, 0},
      {"-int", NAY_EINVAL, 0},
      {"Int", NAY_EINVAL, 0},
      {"iNt", NAY_EINVAL, 1},
      {"int ", NAY_EINVAL, 3},
      {"int:3", NAY_EINVAL, 3},
      {"int,", NAY_EINVAL, 4},
      {"int,,a", NAY_EINVAL, 4},
      {"int,A", NAY_EINVAL, 4},
      {"int,a b", NAY_EINVAL, 5},
      {"int,a:\n", NAY_EINVAL, 6},
      {"int,a:%", NAY_EINVAL, 6},
      {"int,a:%2", NAY_EINVAL, 6},
      {"int,a:%2c", NAY_EINVAL, 6},
      {"int,a:%41", NAY_EINVAL, 6},
      {"int,a:\x7f", NAY_EINVAL, 6},
      {"int,a:\xc3", NAY_EINVAL, 6},
      {"itn", NAY_EVERSION, 0},
      {"u64le", NAY_EVERSION, 0},
      {"ipv4", NAY_EVERSION, 0},
      {"int,trim:", NAY_EVERSION, 4},
      {"int,trims", NAY_EVERSION, 4},
      {"int,trim,tri", NAY_EVERSION, 9},
      {"int,soundex,trim", NAY_EVERSION, 4},
      {"int,ignore-case", NAY_EVERSION, 4},
      {"text,a:%2C:%00,b", NAY_EVERSION, 5},
      {"ipv4,trim", NAY_EVERSION, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    nay_key_description d = {.size = sizeof d, .type = NAY_KEY_B64, .ntransformations = 77};
    nay_diag diag = {.offset = 999};
    if (nay_key_description_parse(rows[i].text, &diag, &d) != rows[i].status) {
      fail_msg("\"%s\"", rows[i].text);
    }
    assert_int_equal(diag.offset, rows[i].offset);
    assert_non_null(diag.what);
    assert_true(d.type == NAY_KEY_B64 && d.ntransformations == 77); /* untouched */
  }
}

static void the_longest_has_63_bytes(void **state) {
  (void)state;
  nay_key_description d = {.size = sizeof d};
  char text[80];
  for (size_t len = 1; len < sizeof text; len++) {
    memset(text, 'a', len);
    text[len] = '\0';
    bool fits = len <= NAY_KEY_DESCRIPTION_MAX;
    assert_status(nay_key_description_parse(text, NULL, &d), fits ? NAY_EVERSION : NAY_EINVAL);
    assert_int_equal(nay_key_description_same(text, text), fits);
  }
  /* a notation may become longer: what counts is the canonical form */
  memset(text, 'a', sizeof text);
  memcpy(text, "b64,", 4);
  text[63] = '\0';
  assert_false(nay_key_description_same(text, text));
  text[62] = '\0';
  assert_true(nay_key_description_same(text, text));
}

static void only_notations_of_text_are_the_same(void **state) {
  (void)state;
  static const char *const all[] = {
      "text",     "bytes",   "hex",     "b64",   "int",    "date",    "uuid",    "numeric",  "ipv4",
      "int,trim", "int,a:1", "int,a:2", "int,a", "int,a:", "int,a,b", "int,b,a", "int,a:1:2"};
  static const char *const none[] = {"", "INT", "int,", "text "};
  size_t n = sizeof all / sizeof all[0];
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < n; j++) {
      bool same = i == j || (i < 4 && j < 4);
      if (nay_key_description_same(all[i], all[j]) != same) fail_msg("%s, %s", all[i], all[j]);
    }
    for (size_t j = 0; j < 4; j++) {
      assert_false(nay_key_description_same(all[i], none[j]));
      assert_false(nay_key_description_same(none[j], none[j]));
    }
    assert_false(nay_key_description_same(all[i], NULL));
    assert_false(nay_key_description_same(NULL, all[i]));
  }
  assert_true(nay_key_description_same("hex,trim", "text,trim"));
  assert_false(nay_key_description_same("hex,trim", "text"));
}

static void known_transformations_have_one_spelling(void **state) {
  (void)state;
  static const struct {
    const char *text, *canonical;
    uint64_t bits;
  } rows[] = {
      {"text,trim", "text,trim", NAY_KEY_TRIM},
      {"hex,ascii-lower", "text,ascii-lower", NAY_KEY_ASCII_LOWER},
      {"int,ascii-lower,trim", "int,trim,ascii-lower", NAY_KEY_TRIM | NAY_KEY_ASCII_LOWER},
      {"int,trim,trim,trim", "int,trim", NAY_KEY_TRIM},
      {"date,trim,ascii-lower,trim", "date,trim,ascii-lower", NAY_KEY_TRIM | NAY_KEY_ASCII_LOWER},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    nay_key_description d = {.size = sizeof d};
    char canonical[NAY_KEY_DESCRIPTION_MAX + 1];
    assert_ok(nay_key_description_parse(rows[i].text, NULL, &d));
    assert_int_equal(d.transformations, rows[i].bits);
    assert_int_equal(d.ntransformations, __builtin_popcountll(rows[i].bits));
    assert_ok(nay_key_description_canonical(rows[i].text, strlen(rows[i].text), NULL, canonical));
    assert_string_equal(canonical, rows[i].canonical);
    assert_true(nay_key_description_same(rows[i].text, canonical));
  }
  /* among unknown ones the order may matter */
  assert_false(nay_key_description_same("int,trim,x", "int,x,trim"));
  assert_false(nay_key_description_same("int,trim", "int,trim,ascii-lower"));
}

/* ---- conversion ---- */

static void golden_descriptions_hold(void **state) {
  (void)state;
  assert_in_range(key_descriptions_check(TEST_GOLDEN "/keys/descriptions.txt"), 150, 10000);
}

/* Every byte at either end, alone and in a text. */
static void trim_and_lower_know_ascii_alone(void **state) {
  (void)state;
  nay_key_description trim = {.size = sizeof trim}, lower = {.size = sizeof lower};
  assert_ok(nay_key_description_parse("text,trim", NULL, &trim));
  assert_ok(nay_key_description_parse("text,ascii-lower", NULL, &lower));
  for (int byte = 0; byte < 256; byte++) {
    const char text[5] = {(char)byte, (char)byte, 'x', (char)byte, '\0'};
    bool space = byte == ' ' || (byte >= '\t' && byte <= '\r');
    bool upper = byte >= 'A' && byte <= 'Z';
    uint8_t key[12];
    size_t len = 99;
    assert_ok(nay_key_convert(&trim, text, 4, NULL, key, sizeof key, &len));
    assert_int_equal(len, space ? 1 : 4);
    assert_memory_equal(key, space ? "x" : text, len);
    assert_ok(nay_key_convert(&trim, text, 2, NULL, key, sizeof key, &len));
    assert_int_equal(len, space ? 0 : 2);
    assert_ok(nay_key_convert(&lower, text, 4, NULL, key, sizeof key, &len));
    assert_int_equal(len, 4);
    assert_int_equal(key[0], upper ? byte + 32 : byte);
    assert_int_equal(key[2], 'x');
  }
  size_t len = 99;
  assert_ok(nay_key_convert(&trim, NULL, 0, NULL, NULL, 0, &len));
  assert_int_equal(len, 0);
  assert_ok(nay_key_convert(&lower, NULL, 0, NULL, NULL, 0, &len));
  assert_int_equal(len, 0);
}

/* What nay_key_parse reads of the trimmed text in lower case, and its offsets in the whole one. */
static void offsets_count_bytes_of_the_whole_text(void **state) {
  (void)state;
  nay_key_description d = {.size = sizeof d};
  nay_diag diag = {.offset = 99};
  uint8_t key[8];
  size_t len = 99;
  assert_ok(nay_key_description_parse("int,trim", NULL, &d));
  assert_status(nay_key_convert(&d, "   7x ", 6, &diag, key, 8, &len), NAY_EINVAL);
  assert_int_equal(diag.offset, 4);
  assert_int_equal(len, 99);
  assert_status(nay_key_convert(&d, NULL, 1, &diag, key, 8, &len), NAY_EINVAL);
  assert_status(nay_key_convert(&d, " 7", 2, &diag, key, 8, NULL), NAY_EINVAL);
  assert_status(nay_key_convert(&d, " 7", 2, &diag, key, 7, &len), NAY_EBUFFER);
  d.transformations |= UINT64_C(1) << 40;
  assert_status(nay_key_convert(&d, " 7", 2, &diag, key, 8, &len), NAY_EVERSION);
}

static void conversion_is_that_of_the_type(void **state) {
  (void)state;
  static const char *const texts[] = {"",
                                      "7",
                                      "007",
                                      "0x7",
                                      "true",
                                      "2024-02-29",
                                      "1.50",
                                      "6162",
                                      "YWI=",
                                      "seven",
                                      "123e4567-e89b-12d3-a456-426614174000"};
  for (size_t i = 0; i < N_TYPES; i++) {
    nay_key_description d = {.size = sizeof d};
    assert_ok(nay_key_description_parse(names[i], NULL, &d));
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++) {
      uint8_t a[64], b[64];
      size_t alen = 99, blen = 99, measured = 99;
      nay_diag x = {.what = NULL}, y = {.what = NULL};
      size_t len = strlen(texts[t]);
      nay_status one = nay_key_convert(&d, texts[t], len, &x, a, sizeof a, &alen);
      nay_status two = nay_key_parse((nay_key_type)i, texts[t], len, &y, b, sizeof b, &blen);
      assert_true(one == two && alen == blen && x.offset == y.offset && x.what == y.what);
      if (one == NAY_OK) assert_memory_equal(a, b, alen);
      assert_status(nay_key_convert(&d, texts[t], len, NULL, NULL, 0, &measured), one);
      assert_int_equal(measured, alen);
      if (one == NAY_OK && alen > 0) {
        assert_status(nay_key_convert(&d, texts[t], len, NULL, a, alen - 1, &alen), NAY_EBUFFER);
      }
    }
  }
}

/* The parameters have no description: the twin gets it from the filter. */
static void a_twin_merges_once_it_states_the_same(void **state) {
  (void)state;
  nay_params p = {sizeof p, .kind = NAY_BLOOM, .nkeys = 100, .fpr = 0.01}, is = {.size = sizeof is};
  nay_filter *f, *twin;
  assert_ok(nay_filter_new(&p, NULL, NULL, &f));
  assert_ok(nay_filter_set_key(f, "int"));
  assert_ok(nay_filter_params(f, &is));
  assert_ok(nay_filter_new(&is, NULL, NULL, &twin));
  assert_status(nay_filter_merge(twin, f, 1, NULL), NAY_EMISMATCH);
  assert_ok(nay_filter_set_key(twin, nay_filter_key(f)));
  assert_ok(nay_filter_merge(twin, f, 1, NULL));
  nay_filter_free(f);
  nay_filter_free(twin);
}

static void bad_arguments_are_refused(void **state) {
  (void)state;
  nay_key_description d = {.size = sizeof d};
  uint8_t key[8];
  size_t len = 99;
  assert_status(nay_key_description_parse(NULL, NULL, &d), NAY_EINVAL);
  assert_status(nay_key_description_parse("int", NULL, NULL), NAY_EINVAL);
  assert_status(nay_key_convert(NULL, "7", 1, NULL, key, 8, &len), NAY_EINVAL);
  assert_ok(nay_key_description_parse("int", NULL, &d));
  assert_status(nay_key_convert(&d, NULL, 1, NULL, key, 8, &len), NAY_EINVAL);
  assert_status(nay_key_convert(&d, "7", 1, NULL, key, 8, NULL), NAY_EINVAL);
  d.ntransformations = 1; /* which no library of this version makes */
  assert_status(nay_key_convert(&d, "7", 1, NULL, key, 8, &len), NAY_EVERSION);
  assert_int_equal(len, 99);
}

/* ---- maps ---- */

static void a_map_states_it(void **state) {
  (void)state;
  nay_params p = {.size = sizeof p, .kind = NAY_MAP, .value_bits = 8, .check_bits = 8};
  nay_builder *b;
  nay_filter *map, *all[3];
  nay_view view = {.size = sizeof view};
  uint8_t key[8];
  char path[TEMP_MAX];
  assert_ok(nay_builder_new(&p, NULL, NULL, &b));
  for (int64_t i = 0; i < 100; i++) {
    nay_key_int(i, key);
    assert_ok(nay_builder_add_value(b, key, 8, (uint64_t)i));
  }
  assert_ok(nay_builder_finish(b, NULL, &map));
  nay_builder_free(b);
  size_t bare = nay_filter_encoded_size(map), len;
  assert_string_equal(nay_filter_key(map), "text");
  assert_ok(nay_filter_set_key(map, "hex"));
  assert_int_equal(nay_filter_encoded_size(map), bare);
  assert_status(nay_filter_set_key(map, "itn"), NAY_EVERSION);
  assert_ok(nay_filter_set_key(map, "int"));
  uint8_t *bytes = malloc(nay_filter_encoded_size(map));
  assert_ok(nay_filter_encode(map, bytes, nay_filter_encoded_size(map), &len));
  temp_path(path, "map-states");
  assert_ok(nay_filter_save(map, path, NULL));
  assert_ok(nay_filter_open(path, NULL, NULL, &all[0]));
  assert_ok(nay_filter_mmap(path, NAY_MMAP_LAZY, NULL, NULL, &all[1]));
  assert_ok(nay_filter_decode(bytes, len, NULL, NULL, &all[2]));
  assert_ok(nay_view_open(bytes, len, NULL, NULL, &view));
  assert_string_equal(nay_filter_key(nay_view_filter(&view)), "int");
  remove(path);
  for (size_t i = 0; i < 3; i++) {
    uint64_t value = 0;
    assert_string_equal(nay_filter_key(all[i]), "int");
    nay_key_int(42, key);
    assert_ok(nay_filter_get(all[i], key, 8, &value));
    assert_int_equal(value, 42);
    nay_filter_free(all[i]);
  }
  assert_null(nay_filter_key(NULL));
  assert_status(nay_filter_set_key(NULL, "int"), NAY_EINVAL);
  free(bytes);
  nay_filter_free(map);
}

/* ---- tables ---- */

/* A table of the integers from first on, each a key of 8 bytes in the order of the bytes. */
static void write_table(const char *path, nay_sst_write_options *o, int64_t first, bool empty) {
  nay_sst_writer *w;
  uint8_t key[8];
  assert_ok(nay_sst_writer_new(path, o, NULL, NULL, &w));
  for (int64_t i = first; !empty && i < first + 50; i++) {
    nay_key_int(i, key);
    assert_ok(nay_sst_writer_add(w, key, 8, "v", 1, NULL));
  }
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
}

static uint8_t *read_file(const char *path, size_t *len) {
  FILE *file = fopen(path, "rb");
  uint8_t *bytes = malloc(1 << 20);
  assert_non_null(file);
  *len = fread(bytes, 1, 1 << 20, file);
  fclose(file);
  return bytes;
}

static void assert_table_states(const char *path, const char *key) {
  nay_sst *t;
  nay_sst_info info = {.size = sizeof info};
  assert_ok(nay_sst_open(path, NULL, NULL, NULL, &t));
  assert_ok(nay_sst_stats(t, &info));
  if (key == NULL) assert_null(info.key);
  if (key != NULL) assert_string_equal(info.key, key);
  nay_sst_free(t);
  size_t len;
  uint8_t *bytes = read_file(path, &len);
  nay_sst_filters *f;
  nay_sst_filters_info filters = {.size = sizeof filters};
  assert_ok(nay_sst_filters_open(bytes, len, NULL, NULL, NULL, &f));
  assert_ok(nay_sst_filters_stats(f, &filters));
  if (key == NULL) assert_null(filters.key);
  if (key != NULL) assert_string_equal(filters.key, key);
  nay_sst_filters_free(f);
  free(bytes);
}

static void a_table_states_it(void **state) {
  (void)state;
  char path[TEMP_MAX];
  nay_policy policy = {.size = sizeof policy};
  assert_ok(nay_policy_find(NAY_POLICY_LEVELDB, 10, &policy));
  temp_path(path, "states.ldb");
  for (int filter = NAY_SST_NO_FILTER; filter <= NAY_SST_PARTITIONED_FILTER; filter++) {
    for (int shape = 0; shape < 4; shape++) { /* with properties or not, empty or not */
      nay_sst_write_options o = {
          .size = sizeof o, .filter = (nay_sst_filter_layout)filter, .properties = shape % 2 != 0};
      if (filter == NAY_SST_BLOCK_FILTER) o.policy = &policy;
      o.key = "int";
      write_table(path, &o, 1, shape >= 2);
      assert_table_states(path, "int");
      o.key = "int,trim:%2C"; /* not known here: stated all the same */
      write_table(path, &o, 1, shape >= 2);
      assert_table_states(path, "int,trim:%2C");
      o.key = "hex";
      write_table(path, &o, 1, shape >= 2);
      bool ours = shape % 2 != 0 || (filter > NAY_SST_BLOCK_FILTER && shape < 2);
      assert_table_states(path, ours ? "text" : NULL); /* LevelDB could have written it */
    }
  }
  remove(path);
  nay_sst_write_options bad = {.size = sizeof bad, .key = "Int"};
  nay_sst_writer *w = NULL;
  nay_diag diag = {.what = NULL};
  assert_status(nay_sst_writer_new(path, &bad, NULL, &diag, &w), NAY_EINVAL);
  assert_non_null(diag.what);
}

/* Two tables of stated types (NULL: neither states one) become one, or are refused. */
static void assert_compacts(const char *a, const char *b, const char *write, const char *key) {
  char paths[3][TEMP_MAX];
  const nay_sst *tables[2];
  const char *types[] = {a, b};
  for (size_t i = 0; i < 2; i++) {
    nay_sst_write_options o = {.size = sizeof o, .key = types[i]};
    if (types[i] != NULL) o.filter = NAY_SST_FULL_FILTER;
    temp_path(paths[i], i == 0 ? "compact-a.ldb" : "compact-b.ldb");
    write_table(paths[i], &o, i == 0 ? 1 : 101, false);
    nay_sst *t;
    assert_ok(nay_sst_open(paths[i], NULL, NULL, NULL, &t));
    tables[i] = t;
  }
  temp_path(paths[2], "compact-out.ldb");
  nay_sst_write_options o = {.size = sizeof o, .filter = NAY_SST_FULL_FILTER, .key = write};
  nay_sst_compact_options how = {.size = sizeof how, .write = &o};
  nay_diag diag = {.what = NULL};
  nay_status status = nay_sst_compact(tables, 2, paths[2], &how, NULL, &diag, NULL);
  assert_status(status, key != NULL ? NAY_OK : NAY_EMISMATCH);
  if (key != NULL) assert_table_states(paths[2], key);
  if (key == NULL) assert_non_null(diag.what);
  for (size_t i = 0; i < 3; i++) remove(paths[i]);
  for (size_t i = 0; i < 2; i++) nay_sst_free((nay_sst *)(uintptr_t)tables[i]);
}

static void a_compaction_keeps_it(void **state) {
  (void)state;
  assert_compacts("int", "int", NULL, "int");
  assert_compacts("int,a", "int,a", NULL, "int,a"); /* not known here */
  assert_compacts("int", "int", "int", "int");
  assert_compacts("text", "hex", NULL, "text");
  assert_compacts("int", "date", NULL, NULL);
  assert_compacts("int", "text", NULL, NULL);
  assert_compacts("int", NULL, NULL, NULL);
  assert_compacts(NULL, "int", NULL, NULL);
  assert_compacts("int", NULL, "int", "int"); /* the caller says what the other is */
  assert_compacts(NULL, NULL, "int", "int");
  assert_compacts(NULL, NULL, NULL, "text");
  assert_compacts("int", "int", "date", NULL);
  assert_compacts("text", "text", "int", NULL);
}

int main(void) {
  static const test_case tests[] = {
      TEST(known_types_parse),
      TEST(what_is_none_is_refused_at_its_byte),
      TEST(the_longest_has_63_bytes),
      TEST(only_notations_of_text_are_the_same),
      TEST(known_transformations_have_one_spelling),
      TEST(golden_descriptions_hold),
      TEST(trim_and_lower_know_ascii_alone),
      TEST(offsets_count_bytes_of_the_whole_text),
      TEST(conversion_is_that_of_the_type),
      TEST(a_twin_merges_once_it_states_the_same),
      TEST(bad_arguments_are_refused),
      TEST(a_map_states_it),
      TEST(a_table_states_it),
      TEST(a_compaction_keeps_it),
  };
  return run_all(tests);
}
