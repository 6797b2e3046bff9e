/*
 * test_puffin.c - Puffin files: those that Iceberg wrote are visited, and written again byte for
 * byte; filters go in and come out, compressed or not; files that are cut, changed or lies are
 * refused before memory is allocated for them.
 */
#include "golden/golden.h"
#include "nay_codecs.h"
#include "nay_sst_puffin.h"
#include "support/flaky.h"
#include "support/memory_file.h"

#define MAX_BLOBS 8u

/* ---- what was visited ---- */

typedef struct seen_blob {
  char type[64], codec[8], properties[128]; /* "name=value;" of each */
  int32_t fields[4];
  size_t nfields, len;
  int64_t snapshot_id, sequence_number;
  uint64_t offset, nbytes;
  nay_status status;
  uint8_t bytes[1 << 17];
} seen_blob;

typedef struct seen {
  seen_blob blobs[MAX_BLOBS];
  char properties[128];
  uint64_t nblobs, nvisited, nbytes_footer;
  bool compressed_footer, reads;
  nay_status ends_with; /* the status of the visitor */
} seen;

static void join_properties(const nay_sst_puffin_property *p, size_t n, char text[128]) {
  text[0] = '\0';
  for (size_t i = 0; i < n; i++) {
    size_t used = strlen(text);
    snprintf(text + used, 128 - used, "%s=%s;", p[i].name, p[i].value);
  }
}

static nay_status see(void *ctx, const nay_sst_puffin_info *info, const nay_sst_puffin_blob *blob,
                      bool *wanted) {
  seen *s = ctx;
  if (blob == NULL) {
    s->nblobs = info->nblobs;
    s->nbytes_footer = info->nbytes_footer;
    s->compressed_footer = info->compressed_footer;
    join_properties(info->properties, info->nproperties, s->properties);
    return s->ends_with;
  }
  if (blob->index >= MAX_BLOBS) return NAY_OK;
  seen_blob *b = &s->blobs[blob->index];
  if (blob->bytes == NULL && blob->status == NAY_OK) {
    assert_int_equal(blob->index, s->nvisited);
    s->nvisited++;
    snprintf(b->type, sizeof b->type, "%s", blob->type);
    snprintf(b->codec, sizeof b->codec, "%s", blob->codec != NULL ? blob->codec : "none");
    join_properties(blob->properties, blob->nproperties, b->properties);
    b->nfields = blob->nfields;
    for (size_t i = 0; i < blob->nfields && i < 4; i++) b->fields[i] = blob->fields[i];
    b->snapshot_id = blob->snapshot_id;
    b->sequence_number = blob->sequence_number;
    b->offset = blob->offset;
    b->nbytes = blob->nbytes;
    *wanted = s->reads;
    return NAY_OK;
  }
  b->status = blob->status;
  b->len = blob->len;
  assert_true(blob->bytes == NULL || blob->len <= sizeof b->bytes);
  if (blob->bytes != NULL) memcpy(b->bytes, blob->bytes, blob->len);
  return NAY_OK;
}

/* The codecs that this build has. */
static nay_sst_puffin_options with_codecs(const nay_sst_codec *codecs[2]) {
  size_t n = 0;
  const nay_sst_codec *zstd = nay_codec_find(NAY_CODEC_ZSTD);
  const nay_sst_codec *lz4 = nay_codec_find(NAY_CODEC_LZ4_FRAME);
  if (zstd != NULL) codecs[n++] = zstd;
  if (lz4 != NULL) codecs[n++] = lz4;
  return (nay_sst_puffin_options){
      .size = sizeof(nay_sst_puffin_options), .codecs = codecs, .ncodecs = n};
}

static nay_status visit_bytes(const void *bytes, size_t len, const nay_allocator *allocator,
                              nay_diag *diag, seen *s) {
  const nay_sst_codec *codecs[2];
  nay_sst_puffin_options o = with_codecs(codecs);
  memory_file m = {bytes, len};
  nay_sst_file file = {.size = sizeof file, .length = len, .read_at = memory_read, .ctx = &m};
  s->nvisited = 0;
  return nay_sst_puffin_visit(&file, &o, see, s, allocator, diag);
}

static seen *new_seen(bool reads) {
  seen *s = calloc(1, sizeof *s);
  assert_non_null(s);
  s->reads = reads;
  return s;
}

static golden_bytes golden_file(const char *name) {
  char path[512];
  snprintf(path, sizeof path, "%s/puffin/%s", TEST_GOLDEN, name);
  return golden_read(path);
}

static seen *see_golden(const char *name) {
  golden_bytes b = golden_file(name);
  seen *s = new_seen(true);
  nay_diag diag = {.what = NULL};
  nay_status status = visit_bytes(b.at, b.len, NULL, &diag, s);
  if (status != NAY_OK) fail_msg("%s: %s", name, diag.what);
  assert_int_equal(s->nvisited, s->nblobs);
  free(b.at);
  return s;
}

/* ---- Iceberg's files ---- */

/* MANIFEST.md: byte i of rnd:seed is byte i % 8 of sm(seed * 1000003 + i / 8). */
static uint8_t random_byte(uint64_t seed, size_t i) {
  uint64_t z = (seed * 1000003 + i / 8 + 1) * UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
  return (uint8_t)((z ^ z >> 31) >> 8 * (i % 8));
}

static void assert_random(const seen_blob *b, uint64_t seed, size_t len) {
  assert_int_equal(b->len, len);
  for (size_t i = 0; i < len; i++) assert_int_equal(b->bytes[i], random_byte(seed, i));
}

static void assert_repeated(const seen_blob *b, const char *text, size_t len) {
  assert_int_equal(b->len, len);
  for (size_t i = 0; i < len; i++) assert_int_equal(b->bytes[i], text[i % strlen(text)]);
}

static void icebergs_files(void **state) {
  (void)state;
  seen *s = see_golden("empty.puffin");
  assert_int_equal(s->nblobs, 0);
  assert_int_equal(s->nbytes_footer, 28);
  assert_string_equal(s->properties, "");
  free(s);
  s = see_golden("empty_created_by.puffin");
  assert_string_equal(s->properties, "created-by=test writer 1.0;");
  free(s);
  s = see_golden("one_small.puffin");
  assert_int_equal(s->nblobs, 1);
  assert_string_equal(s->blobs[0].type, "test-blob-v1");
  assert_string_equal(s->blobs[0].properties, "p=q;z=1;");
  assert_int_equal(s->blobs[0].nfields, 2);
  assert_int_equal(s->blobs[0].fields[1], 2);
  assert_int_equal(s->blobs[0].snapshot_id, 4242);
  assert_int_equal(s->blobs[0].sequence_number, 7);
  assert_random(&s->blobs[0], 1, 37);
  free(s);
  s = see_golden("three_mixed_zstd.puffin");
  assert_string_equal(s->properties,
                      "created-by=test writer 1.0;note=quote \" back \\ tab\t euro \xe2\x82\xac;");
  assert_random(&s->blobs[0], 2, 1000);
  assert_true(s->blobs[1].snapshot_id == INT64_C(9007199254740993)); /* no double has it */
  assert_string_equal(s->blobs[1].codec, "zstd");
  assert_int_equal(s->blobs[1].nbytes, 29);
  assert_int_equal(s->blobs[2].snapshot_id, -1);
  assert_int_equal(s->blobs[2].nfields, 0);
  assert_int_equal(s->blobs[2].len, 0);
  if (nay_codec_find(NAY_CODEC_ZSTD) != NULL) assert_repeated(&s->blobs[1], "abcdefg", 5000);
  free(s);
  s = see_golden("default_zstd.puffin");
  if (nay_codec_find(NAY_CODEC_ZSTD) != NULL) assert_random(&s->blobs[0], 4, 300);
  if (nay_codec_find(NAY_CODEC_ZSTD) != NULL) assert_repeated(&s->blobs[1], "x", 100000);
  assert_repeated(&s->blobs[2], "hello", 20);
  free(s);
  s = see_golden("with_filters.puffin");
  assert_string_equal(s->blobs[0].type, "x-spark-bloom");
  nay_filter *spark;
  assert_ok(nay_format_decode(nay_format_find("spark-v2"), s->blobs[0].bytes, s->blobs[0].len,
                              NAY_FORMAT_CERTAIN, NULL, NULL, &spark));
  nay_filter_free(spark);
  free(s);
  s = see_golden("real_sample-metric-data-uncompressed.bin");
  assert_int_equal(s->nblobs, 2);
  assert_memory_equal(s->blobs[0].bytes, "abcdefghi", 9);
  free(s);
}

/* Without a codec the blob comes with the status that says so; the others come as ever. */
static void missing_codecs_are_told(void **state) {
  (void)state;
  golden_bytes b = golden_file("three_mixed_zstd.puffin");
  memory_file m = {b.at, b.len};
  nay_sst_file file = {.size = sizeof file, .length = b.len, .read_at = memory_read, .ctx = &m};
  seen *s = new_seen(true);
  assert_ok(nay_sst_puffin_visit(&file, NULL, see, s, NULL, NULL));
  assert_status(s->blobs[0].status, NAY_OK);
  assert_status(s->blobs[1].status, NAY_ENOTSUP);
  nay_sst_puffin_options small = {.size = sizeof small, .max_bytes = 500};
  s->nvisited = 0;
  assert_ok(nay_sst_puffin_visit(&file, &small, see, s, NULL, NULL));
  assert_status(s->blobs[0].status, NAY_EFULL);
  s->ends_with = NAY_EKEY; /* any status of a visitor is that of the visit */
  assert_status(nay_sst_puffin_visit(&file, NULL, see, s, NULL, NULL), NAY_EKEY);
  free(s);
  free(b.at);
}

/* ---- writing ---- */

static nay_sst_memory *write_file(const nay_sst_puffin_blob *blobs, size_t n,
                                  const nay_sst_puffin_options *o) {
  nay_sst_memory *memory;
  nay_sst_target target = {.size = sizeof target};
  nay_diag diag = {.what = NULL};
  assert_ok(nay_sst_memory_new(NULL, &memory));
  assert_ok(nay_sst_memory_target(memory, &target));
  nay_status status = nay_sst_puffin_write(&target, blobs, n, o, NULL, &diag);
  if (status != NAY_OK) fail_msg("%s", diag.what);
  return memory;
}

static void assert_written(const char *name, const nay_sst_puffin_blob *blobs, size_t n,
                           const nay_sst_puffin_property *properties, size_t nproperties) {
  nay_sst_puffin_options o = {
      .size = sizeof o, .properties = properties, .nproperties = nproperties};
  nay_sst_memory *memory = write_file(blobs, n, &o);
  golden_bytes want = golden_file(name);
  size_t len;
  const void *got = nay_sst_memory_bytes(memory, &len);
  assert_int_equal(len, want.len);
  assert_memory_equal(got, want.at, len);
  free(want.at);
  nay_sst_memory_free(memory);
}

static void icebergs_files_are_rebuilt(void **state) {
  (void)state;
  static const int32_t one[] = {1}, two[] = {1, 2}, other[] = {2};
  const nay_sst_puffin_property by = {"created-by", "test writer 1.0"},
                                test = {"created-by", "Test 1234"};
  const nay_sst_puffin_property pq[] = {{"p", "q"}, {"z", "1"}};
  uint8_t random[37];
  for (size_t i = 0; i < sizeof random; i++) random[i] = random_byte(1, i);
  nay_sst_puffin_blob small = {.size = sizeof small,
                               .type = "test-blob-v1",
                               .fields = two,
                               .nfields = 2,
                               .snapshot_id = 4242,
                               .sequence_number = 7,
                               .properties = pq,
                               .nproperties = 2,
                               .bytes = random,
                               .len = sizeof random};
  assert_written("empty.puffin", NULL, 0, NULL, 0);
  assert_written("real_empty-puffin-uncompressed.bin", NULL, 0, NULL, 0);
  assert_written("empty_created_by.puffin", NULL, 0, &by, 1);
  assert_written("one_small.puffin", &small, 1, &by, 1);
  seen *s = see_golden("real_sample-metric-data-uncompressed.bin");
  nay_sst_puffin_blob metric[2];
  for (unsigned i = 0; i < 2; i++) {
    metric[i] = (nay_sst_puffin_blob){.size = sizeof metric[i],
                                      .type = s->blobs[i].type,
                                      .fields = i == 0 ? one : other,
                                      .nfields = 1,
                                      .snapshot_id = 2,
                                      .sequence_number = 1,
                                      .bytes = s->blobs[i].bytes,
                                      .len = s->blobs[i].len};
  }
  assert_written("real_sample-metric-data-uncompressed.bin", metric, 2, &test, 1);
  free(s);
}

/* A native filter and Parquet's, plain and compressed, under a plain and a compressed footer. */
static void filters_go_in_and_come_out(void **state) {
  (void)state;
  static const char *const codecs_names[] = {NULL, "zstd", "lz4"};
  const nay_sst_codec *codecs[2];
  const nay_sst_puffin_property property = {"referenced-data-file",
                                            "data/\x01\"\\\n\xc3\xa9.parquet"};
  const int32_t field = -7;
  nay_params p = {.size = sizeof p, .nkeys = 1000, .fpr = 0.01};
  nay_filter *f;
  assert_ok(nay_filter_new(&p, NULL, NULL, &f));
  for (uint64_t i = 0; i < 1000; i++) assert_ok(nay_filter_add(f, &i, sizeof i, NULL));
  golden_bytes native = golden_encode(f);
  nay_filter_free(f);
  f = golden_by_new(nay_format_find("sbbf"), golden_u64le, 1000, 10);
  golden_bytes parquet = golden_encode(f);
  nay_filter_free(f);
  for (unsigned c = 0; c < 6; c++) {
    const char *codec = codecs_names[c % 3];
    nay_sst_puffin_options o = with_codecs(codecs);
    if ((codec != NULL || c >= 3) && o.ncodecs != 2) continue;
    o.compress_footer = c >= 3;
    nay_sst_puffin_blob blobs[3] = {
        {.type = NAY_SST_PUFFIN_NAY, .bytes = native.at, .len = native.len},
        {.type = NAY_SST_PUFFIN_SBBF, .bytes = parquet.at, .len = parquet.len},
        {.type = "", .snapshot_id = INT64_MIN}};
    for (unsigned i = 0; i < 3; i++) {
      blobs[i].size = sizeof blobs[i];
      blobs[i].codec = codec;
      blobs[i].fields = &field;
      blobs[i].nfields = 1;
      blobs[i].sequence_number = INT64_MAX;
      blobs[i].properties = &property;
      blobs[i].nproperties = 1;
    }
    nay_sst_memory *memory = write_file(blobs, 3, &o);
    size_t len;
    const void *bytes = nay_sst_memory_bytes(memory, &len);
    seen *s = new_seen(true);
    assert_ok(visit_bytes(bytes, len, NULL, NULL, s));
    assert_int_equal(s->compressed_footer, o.compress_footer);
    assert_int_equal(s->nblobs, 3);
    for (unsigned i = 0; i < 3; i++) {
      assert_status(s->blobs[i].status, NAY_OK);
      assert_int_equal(s->blobs[i].len, blobs[i].len);
      assert_memory_equal(s->blobs[i].bytes, blobs[i].bytes, blobs[i].len);
      assert_int_equal(s->blobs[i].fields[0], -7);
      assert_true(s->blobs[i].sequence_number == INT64_MAX);
      assert_string_equal(s->blobs[i].properties,
                          "referenced-data-file=data/\x01\"\\\n\xc3\xa9.parquet;");
    }
    assert_true(s->blobs[2].snapshot_id == INT64_MIN);
    assert_ok(nay_filter_decode(s->blobs[0].bytes, s->blobs[0].len, NULL, NULL, &f));
    nay_filter_free(f);
    free(s);
    nay_sst_memory_free(memory);
  }
  free(native.at);
  free(parquet.at);
}

/* ---- bytes that lie ---- */

/* A file with four bytes of blobs and this footer. */
static golden_bytes file_of(const char *json, size_t len, uint32_t flags) {
  golden_bytes b = {malloc(len + 64), 0};
  assert_non_null(b.at);
  memcpy(b.at, "PFA1blobPFA1", 12);
  memcpy(b.at + 12, json, len);
  for (unsigned i = 0; i < 4; i++) b.at[12 + len + i] = (uint8_t)(len >> 8 * i);
  for (unsigned i = 0; i < 4; i++) b.at[16 + len + i] = (uint8_t)(flags >> 8 * i);
  memcpy(b.at + 20 + len, "PFA1", 4);
  b.len = len + 24;
  return b;
}

#define BLOB(members) "{\"blobs\":[{" members "}]}"
#define HEAD "\"type\":\"t\",\"fields\":[1],\"snapshot-id\":1,\"sequence-number\":1"
#define RANGE(offset, length) HEAD ",\"offset\":" offset ",\"length\":" length

static void footers_that_lie(void **state) {
  (void)state;
  static const struct {
    const char *json, *what; /* NULL: taken */
  } cases[] = {
      {BLOB(RANGE("4", "4")), NULL},
      {BLOB(RANGE("4", "4") ",\"properties\":null,\"compression-codec\":null"), NULL},
      {" {\"new\":{\"a\":[1,-2.5e3,true,{\"b\":null}],\"c\":[]},\"blobs\":[ ] , "
       "\"properties\":{}}\n",
       NULL},
      {BLOB(RANGE("8", "0") ",\"extra\":[[],{}]"), NULL},
      {"{\"blobs\":[{" RANGE("4", "2") "},{" RANGE("6", "2") "},{" RANGE("6", "0") "}]}", NULL},
      {"{\"blobs\":[{" RANGE("4", "3") "},{" RANGE("6", "2") "}]}", "two blobs share bytes"},
      {"{\"blobs\":[{" RANGE("4", "4") "},{" RANGE("4", "4") "}]}", "two blobs share bytes"},
      {"{\"blobs\":[{" RANGE("4", "4") "},{" RANGE("5", "1") "}]}", "two blobs share bytes"},
      {BLOB(RANGE("4", "5")), "a blob lies outside of the file"},
      {BLOB(RANGE("3", "1")), "a blob lies outside of the file"},
      {BLOB(RANGE("9", "0")), "a blob lies outside of the file"},
      {BLOB(RANGE("9223372036854775807", "9223372036854775807")),
       "a blob lies outside of the file"},
      {BLOB(RANGE("-1", "4")), "an offset or length is negative"},
      {BLOB(RANGE("4", "9223372036854775808")), "a number of the JSON is above 64 bits"},
      {BLOB(RANGE("4", "99999999999999999999999")), "a number of the JSON is above 64 bits"},
      {BLOB(RANGE("4", "4.0")), "a number of the JSON is not a whole one"},
      {BLOB(RANGE("4", "1e0")), "a number of the JSON is not a whole one"},
      {BLOB(RANGE("04", "4")), "a number of the JSON is not a whole one"},
      {BLOB(RANGE("\"4\"", "4")), "a number of the JSON is not a whole one"},
      {BLOB(HEAD ",\"offset\":4"), "a blob lacks a member"},
      {BLOB(RANGE("4", "4") ",\"length\":4"), "a member of a blob stands twice"},
      {BLOB("\"type\":\"t\",\"fields\":[2147483648]"), "the id of a field is above 32 bits"},
      {BLOB("\"type\":\"t\",\"fields\":{}"), "fields are not a list"},
      {BLOB("\"type\":7"), "a text of the JSON is missing"},
      {"{\"blobs\":{}}", "blobs are not a list"},
      {"{\"blobs\":[7]}", "a blob is not an object"},
      {"{\"blobs\":[],\"blobs\":[]}", "a member of the footer stands twice"},
      {"{\"blobs\":[],\"properties\":[]}", "properties are not an object"},
      {"{\"properties\":{}}", "the footer has no blobs"},
      {"[]", "the footer is not a JSON object"},
      {"{\"blobs\":[]}x", "bytes follow the JSON of the footer"},
      {"{\"blobs\":[]", "a comma is missing in the JSON"},
      {"{\"blobs\":[],}", "a text of the JSON is missing"},
      {"{\"blobs\":[] \"a\":1}", "a comma is missing in the JSON"},
      {"{\"a\":[1 2],\"blobs\":[]}", "a comma is missing in the JSON"},
      {"{\"a\":{\"b\" 1},\"blobs\":[]}", "a colon is missing in the JSON"},
      {"{\"a\":[1,],\"blobs\":[]}", "a value of the JSON is missing"},
      {"{\"a\":nul,\"blobs\":[]}", "a value of the JSON is missing"},
      {"{\"a\":", "a value of the JSON is missing"},
      {"{\"a", "a text of the JSON has no end, a control character, or is not UTF-8"},
      {"{\"\xc0\x80\":1}", "a text of the JSON has no end, a control character, or is not UTF-8"},
      {"{\"\xed\xa0\x80\":1}",
       "a text of the JSON has no end, a control character, or is not UTF-8"},
      {"{\"\x01\":1}", "a text of the JSON has no end, a control character, or is not UTF-8"},
      {"{\"\\u0000\":1}", "an escape of the JSON is none"},
      {"{\"\\ud800\":1}", "an escape of the JSON is none"},
      {"{\"\\ud800\\u0041\":1}", "an escape of the JSON is none"},
      {"{\"\\udc00\":1}", "an escape of the JSON is none"},
      {"{\"\\u12g4\":1}", "an escape of the JSON is none"},
      {"{\"\\q\":1}", "an escape of the JSON is none"},
      {"{\"\\", "an escape of the JSON is none"},
  };
  seen *s = new_seen(true);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    nay_diag diag = {.what = NULL};
    golden_bytes b = file_of(cases[i].json, strlen(cases[i].json), 0);
    nay_status status = visit_bytes(b.at, b.len, NULL, &diag, s);
    bool as_wanted = cases[i].what == NULL ? status == NAY_OK
                                           : status == NAY_ECORRUPT && diag.what != NULL &&
                                                 strcmp(diag.what, cases[i].what) == 0;
    if (!as_wanted)
      fail_msg("%s: %d %s", cases[i].json, (int)status, diag.what != NULL ? diag.what : "");
    free(b.at);
  }
  free(s);
}

/* 64 levels are skipped, 65 and a megabyte of brackets are refused. */
static void deep_json_is_refused(void **state) {
  (void)state;
  static const size_t depths[] = {64, 65, 100000};
  static char json[1 << 20];
  seen *s = new_seen(false);
  for (unsigned i = 0; i < 3; i++) {
    size_t n = depths[i], at = 0;
    memcpy(json, "{\"a\":", 5);
    for (at = 5; at < 5 + n; at++) json[at] = '[';
    for (size_t j = 0; j < n; j++) json[at++] = ']';
    memcpy(json + at, ",\"blobs\":[]}", 12);
    golden_bytes b = file_of(json, at + 12, 0);
    nay_diag diag = {.what = NULL};
    assert_status(visit_bytes(b.at, b.len, NULL, &diag, s), i == 0 ? NAY_OK : NAY_ECORRUPT);
    if (i != 0) assert_string_equal(diag.what, "values of the JSON are nested more than 64 deep");
    free(b.at);
  }
  free(s);
}

static void flags_and_ends(void **state) {
  (void)state;
  const char *json = "{\"blobs\":[]}";
  seen *s = new_seen(false);
  nay_diag diag;
  for (unsigned bit = 1; bit < 32; bit++) {
    golden_bytes b = file_of(json, 12, (uint32_t)1 << bit);
    assert_status(visit_bytes(b.at, b.len, NULL, &diag, s), NAY_EVERSION);
    free(b.at);
  }
  golden_bytes b = file_of(json, 12, 1); /* says that it is compressed */
  if (nay_codec_find(NAY_CODEC_LZ4_FRAME) != NULL) {
    assert_status(visit_bytes(b.at, b.len, NULL, &diag, s), NAY_ECORRUPT);
  }
  memory_file m = {b.at, b.len};
  nay_sst_file file = {.size = sizeof file, .length = b.len, .read_at = memory_read, .ctx = &m};
  assert_status(nay_sst_puffin_visit(&file, NULL, see, s, NULL, NULL), NAY_ENOTSUP);
  free(b.at);
  assert_status(visit_bytes("PFA1", 4, NULL, &diag, s), NAY_EFORMAT);
  assert_status(visit_bytes("PAR1PFA1{\"blobs\":[]}\x0c\0\0\0\0\0\0\0PFA1", 32, NULL, &diag, s),
                NAY_EFORMAT);
  free(s);
}

static void cut_and_changed_files(void **state) {
  (void)state;
  static const char *const names[] = {"three_mixed_zstd.puffin", "one_small.puffin"};
  seen *s = new_seen(true);
  unsigned ntaken = 0, n = 0;
  for (unsigned f = 0; f < 2; f++) {
    golden_bytes b = golden_file(names[f]);
    for (size_t len = 0; len < b.len; len++)
      assert_true(visit_bytes(b.at, len, NULL, NULL, s) != NAY_OK);
    for (size_t i = 0; i < 8 * b.len; i++, n++) {
      b.at[i / 8] ^= (uint8_t)(1u << i % 8);
      nay_status status = visit_bytes(b.at, b.len, NULL, NULL, s);
      ntaken += status == NAY_OK;
      b.at[i / 8] ^= (uint8_t)(1u << i % 8);
    }
    free(b.at);
  }
  print_message("# %u of %u changed files are taken\n", ntaken, n);
  free(s);
}

/* A size that no frame of so few bytes can have, and one above the limit. */
static void sizes_are_checked_before_memory(void **state) {
  (void)state;
  if (nay_codec_find(NAY_CODEC_ZSTD) == NULL) skip();
  /* a zstd frame that states 2^40 bytes */
  static const uint8_t frame[] = {0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0};
  nay_sst_puffin_blob blob = {
      .size = sizeof blob, .type = "t", .bytes = frame, .len = sizeof frame};
  nay_sst_memory *memory = write_file(&blob, 1, NULL);
  size_t len;
  const char *bytes = nay_sst_memory_bytes(memory, &len);
  char changed[512];
  assert_true(len < 400);
  memcpy(changed, bytes, len);
  /* name the codec in the footer, which grows by so many bytes */
  const char extra[] = ",\"compression-codec\":\"zstd\"";
  size_t at = len - 12 - 3, more = sizeof extra - 1;
  memmove(changed + at + more, changed + at, len - at);
  memcpy(changed + at, extra, more);
  changed[len + more - 12] = (char)(changed[len + more - 12] + (char)more);
  flaky heap = {.fail_at = -1};
  nay_allocator a = flaky_allocator(&heap);
  seen *s = new_seen(true);
  assert_ok(visit_bytes(changed, len + more, &a, NULL, s));
  assert_status(s->blobs[0].status, NAY_ECORRUPT);
  assert_true(heap.peak < 4096);
  assert_true(flaky_is_clean(&heap));
  free(s);
  nay_sst_memory_free(memory);
}

/* ---- failing calls ---- */

static void every_allocation_fails(void **state) {
  (void)state;
  golden_bytes b = golden_file("three_mixed_zstd.puffin");
  seen *s = new_seen(true);
  for (long fail_at = 0;; fail_at++) {
    flaky heap = {.fail_at = fail_at};
    nay_allocator a = flaky_allocator(&heap);
    nay_status status = visit_bytes(b.at, b.len, &a, NULL, s);
    assert_true(flaky_is_clean(&heap));
    assert_true(status == NAY_OK || status == NAY_ENOMEM);
    if (heap.calls <= fail_at) break;
    bool told = status == NAY_ENOMEM;
    for (unsigned i = 0; i < 3; i++) told |= s->blobs[i].status == NAY_ENOMEM;
    assert_true(told);
  }
  free(s);
  free(b.at);
}

typedef struct broken_target {
  unsigned nwrites, fail_at, aborts, finishes;
} broken_target;

static nay_status broken_write(void *ctx, const void *bytes, size_t len, nay_diag *diag) {
  broken_target *t = ctx;
  (void)bytes;
  (void)len;
  (void)diag;
  return t->nwrites++ == t->fail_at ? NAY_EIO : NAY_OK;
}

static nay_status broken_finish(void *ctx, nay_diag *diag) {
  broken_target *t = ctx;
  (void)diag;
  t->finishes++;
  return NAY_OK;
}

static void broken_abort(void *ctx) { ((broken_target *)ctx)->aborts++; }

static void every_write_fails(void **state) {
  (void)state;
  nay_sst_puffin_blob blob = {.size = sizeof blob, .type = "t", .bytes = "1", .len = 1};
  for (unsigned fail_at = 0;; fail_at++) {
    broken_target t = {.fail_at = fail_at};
    nay_sst_target target = {.size = sizeof target,
                             .write = broken_write,
                             .finish = broken_finish,
                             .abort = broken_abort,
                             .ctx = &t};
    nay_status status = nay_sst_puffin_write(&target, &blob, 1, NULL, NULL, NULL);
    assert_int_equal(t.aborts, status != NAY_OK);
    assert_int_equal(t.finishes, status == NAY_OK);
    if (status == NAY_OK) break;
    assert_status(status, NAY_EIO);
  }
}

static void refuse_blob(nay_sst_puffin_blob blob, nay_status wanted) {
  broken_target t = {.fail_at = 99};
  nay_sst_target target = {.size = sizeof target,
                           .write = broken_write,
                           .finish = broken_finish,
                           .abort = broken_abort,
                           .ctx = &t};
  nay_diag diag = {.what = NULL};
  assert_status(nay_sst_puffin_write(&target, &blob, 1, NULL, NULL, &diag), wanted);
  assert_non_null(diag.what);
  assert_int_equal(t.aborts, 1);
  assert_int_equal(t.finishes, 0);
}

static void arguments(void **state) {
  (void)state;
  const nay_sst_puffin_property bad = {"name", "\xff"}, lacks = {NULL, "value"};
  nay_sst_puffin_blob good = {.size = sizeof good, .type = "t"}, blob = good;
  blob.type = NULL;
  refuse_blob(blob, NAY_EINVAL);
  blob = good;
  blob.type = "\xe2\x82";
  refuse_blob(blob, NAY_EINVAL);
  blob = good;
  blob.len = 1;
  refuse_blob(blob, NAY_EINVAL);
  blob = good;
  blob.nfields = 1;
  refuse_blob(blob, NAY_EINVAL);
  blob = good;
  blob.nproperties = 1;
  refuse_blob(blob, NAY_EINVAL);
  blob.properties = &bad;
  refuse_blob(blob, NAY_EINVAL);
  blob.properties = &lacks;
  refuse_blob(blob, NAY_EINVAL);
  blob = good;
  blob.codec = "gzip";
  refuse_blob(blob, NAY_EINVAL);
  blob.codec = "zstd";
  refuse_blob(blob, NAY_ENOTSUP);
  blob = good;
  blob.size = 3;
  refuse_blob(blob, NAY_EINVAL);
  nay_sst_file file = {.size = sizeof file};
  assert_status(nay_sst_puffin_visit(NULL, NULL, see, NULL, NULL, NULL), NAY_EINVAL);
  assert_status(nay_sst_puffin_visit(&file, NULL, NULL, NULL, NULL, NULL), NAY_EINVAL);
  assert_status(nay_sst_puffin_visit(&file, NULL, see, NULL, NULL, NULL), NAY_EINVAL);
  assert_status(nay_sst_puffin_write(NULL, NULL, 0, NULL, NULL, NULL), NAY_EINVAL);
}

int main(void) {
  const test_case tests[] = {
      TEST(icebergs_files),
      TEST(missing_codecs_are_told),
      TEST(icebergs_files_are_rebuilt),
      TEST(filters_go_in_and_come_out),
      TEST(footers_that_lie),
      TEST(deep_json_is_refused),
      TEST(flags_and_ends),
      TEST(cut_and_changed_files),
      TEST(sizes_are_checked_before_memory),
      TEST(every_allocation_fails),
      TEST(every_write_fails),
      TEST(arguments),
  };
  return run_all(tests);
}
