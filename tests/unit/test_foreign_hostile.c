/*
 * test_foreign_hostile.c - tables of nori and mini-lsm that are truncated, have flipped bits, or
 * state false numbers. Opening fails with an offset, or gives a table that is safe to use. Memory
 * is bounded by the bytes of the file, and any allocation may fail.
 */
#include "golden/foreign_vectors.h"
#include "support/foreign_exercise.h"
#include "support/sst_calls.h"

typedef struct victim {
  const char *name, *file;
} victim;

static const victim victims[] = {
    {"nori-sst", "nori-engine/sst_568d277_emptykey.sst"},
    {"nori-sst", "nori-engine/sst_34fbb75_alltomb.sst"},
    {"nori-sst", "nori-engine/sst_390efce_emptykey.sst"},
    {"nori-sst", "nori-engine/sst_390efce_qf_one.sst"},
    {"mini-lsm-sst", "mini-lsm-engine/sst_w2_one.sst"},
    {"mini-lsm-sst-day4", "mini-lsm-engine/sst_w1d4_one.sst"},
    {"mini-lsm-sst-week1", "mini-lsm-engine/sst_w1d7_one.sst"},
    {"mini-lsm-sst-week2", "mini-lsm-engine/sst_w2_one.sst"},
    {"mini-lsm-sst-week3", "mini-lsm-engine/sst_w3_one.sst"},
};
#define N_VICTIMS (sizeof victims / sizeof victims[0])

static golden_bytes read_victim(const victim *v) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", TEST_GOLDEN, v->file);
  return golden_read(path);
}

/* ---- truncations and bit flips ---- */

static void every_truncation(void **state) {
  const victim *v = *state;
  golden_bytes b = read_victim(v);
  for (size_t len = 0; len < b.len; len++) {
    uint8_t *cut = malloc(len + 1);
    assert_non_null(cut);
    memcpy(cut + 1, b.at, len); /* a read past the end of the file is a read past the allocation */
    (void)exercise_foreign(cut + 1, len, v->name);
    seal_foreign(cut + 1, len, v->name);
    (void)exercise_foreign(cut + 1, len, v->name);
    free(cut);
  }
  assert_true(exercise_foreign(b.at, b.len, v->name));
  free(b.at);
}

static void every_flipped_bit(void **state) {
  const victim *v = *state;
  golden_bytes b = read_victim(v);
  bool checks =
      strcmp(v->name, "mini-lsm-sst-week2") == 0 || strcmp(v->name, "mini-lsm-sst-week3") == 0;
  uint8_t *copy = malloc(b.len);
  assert_non_null(copy);
  for (size_t bit = 0; bit < 8 * b.len; bit++) {
    memcpy(copy, b.at, b.len);
    copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
    bool opened = exercise_foreign(copy, b.len, v->name);
    bool in_data = bit / 8 < b.len - 64; /* the file has one block, then metadata and filter */
    if (checks && in_data && opened) {
      nay_sst *t;
      uint64_t n, denied;
      assert_ok(view_layout(copy, b.len, v->name, NULL, NULL, NULL, &t));
      assert_status(nay_sst_verify(t, NULL, &n, &denied), NAY_ECORRUPT);
      nay_sst_free(t);
    }
    seal_foreign(copy, b.len, v->name);
    (void)exercise_foreign(copy, b.len, v->name);
  }
  free(copy);
  free(b.at);
}

/* ---- false numbers ---- */

typedef struct lie {
  const char *file;
  int at; /* negative: from the end */
  unsigned width;
  uint64_t value;
  nay_status status;
  const char *what;
} lie;

/* Changes a field of nori's footer and recomputes the checksum. */
static void nori_footer_lies(void **state) {
  (void)state;
  static const lie lies[] = {
      {"emptykey", -64, 8, UINT64_MAX, NAY_ECORRUPT, "the index lies outside of the file"},
      {"emptykey", -64, 8, 1, NAY_ECORRUPT, "does not lie between index and footer"},
      {"emptykey", -56, 8, UINT64_MAX, NAY_ECORRUPT, "the index lies outside of the file"},
      {"emptykey", -56, 8, 3, NAY_ECORRUPT, "the index lies outside of the file"},
      {"emptykey", -48, 8, 0, NAY_ECORRUPT, "does not lie between index and footer"},
      {"emptykey", -40, 8, UINT64_MAX, NAY_ECORRUPT, "does not lie between index and footer"},
      {"emptykey", -40, 8, 0, NAY_ECORRUPT, "the index does not end at the footer"},
      {"emptykey", -32, 1, 3, NAY_ECORRUPT, "a codec other than 0, 1 and 2"},
      {"emptykey", -27, 8, 0, NAY_ECORRUPT, "the entry count contradicts the block count"},
      {"emptykey", -19, 1, 3, NAY_EVERSION, "a footer version above 2"},
      {"emptykey", -19, 1, 2, NAY_ECORRUPT, "version 2 with a Bloom filter"},
      {"emptykey", -12, 1, 'X', NAY_EFORMAT, "not a table of nori"},
  };
  for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
    golden_bytes b = read_victim(&victims[2]);
    nay_diag diag = {.offset = UINT64_MAX};
    nay_sst *t = NULL;
    uint8_t *at = b.at + b.len + lies[i].at;
    for (unsigned j = 0; j < lies[i].width; j++) at[j] = (uint8_t)(lies[i].value >> 8 * j);
    nay__store32le(b.at + b.len - 4, nay_sst__crc32c(0, b.at + b.len - 64, 60));
    assert_status(view_layout(b.at, b.len, "nori-sst", NULL, NULL, &diag, &t), lies[i].status);
    if (strstr(diag.what, lies[i].what) == NULL) fail_msg("%zu: %s", i, diag.what);
    assert_true(diag.offset <= b.len);
    free(b.at);
  }
}

/* ---- handmade blocks ---- */

typedef struct bytes_out {
  uint8_t at[4096];
  size_t len;
} bytes_out;

static void put(bytes_out *o, const void *bytes, size_t len) {
  memcpy(o->at + o->len, bytes, len);
  o->len += len;
}

static void put_le(bytes_out *o, uint64_t v, unsigned width) {
  for (unsigned i = 0; i < width; i++) o->at[o->len++] = (uint8_t)(v >> 8 * i);
}

/* Makes a version-1 table of one block, whose first key is "a". */
static bytes_out nori_table(const void *block, size_t len, uint64_t nentries, uint8_t codec) {
  bytes_out o = {.len = 0};
  put(&o, block, len);
  size_t index = o.len;
  put(&o, "\1a", 2);
  put_le(&o, 0, 8);
  put_le(&o, len, 4);
  put_le(&o, 1, 4);
  size_t footer = o.len;
  put_le(&o, index, 8);
  put_le(&o, footer - index, 8);
  put_le(&o, 0, 8);
  put_le(&o, 0, 8);
  put_le(&o, codec, 1);
  put_le(&o, 4096, 4);
  put_le(&o, nentries, 8);
  put_le(&o, 1, 1);
  put_le(&o, 0, 6);
  put(&o, "NORISSTL", 8);
  put_le(&o, nay_sst__crc32c(0, o.at + footer, 60), 4);
  return o;
}

#define RESTART "\0\0\0\0\1\0\0\0"

static void nori_block_lies(void **state) {
  (void)state;
  static const struct {
    const char *block;
    size_t len;
    const char *what; /* expected error; NULL: none */
  } cases[] = {
#define BLOCK(text) text, sizeof text - 1
      {BLOCK("\0\1\1\0\0av" RESTART), NULL},
      {BLOCK("\0\1\x80\x80\x80\x80\x80\x80\x80\x80\x80\1\0\0a" RESTART), NULL}, /* a deletion */
      {BLOCK("\0\1\x80\x80\x80\x80\x80\x80\x80\x80\x80\2\0\0a" RESTART), "does not fit"},
      {BLOCK("\0\1\x81\x80\x80\x80\x80\x80\x80\x80\x80\x80\1\0a" RESTART), "does not fit"},
      {BLOCK("\0\1\xff\xff\xff\xff\xff\xff\xff\xff\x7f\0\0av" RESTART), "does not fit"},
      {BLOCK("\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\1\0\0av" RESTART), "does not fit"},
      {BLOCK("\1\0\1\0\0av" RESTART), "does not fit"}, /* the first entry shares a prefix */
      {BLOCK("\0\1\1\0\0bv" RESTART), "not the one in the index"},
      {BLOCK("\0\1\1\0\0av\0\1\1\0\0av" RESTART), "do not ascend"},
      {BLOCK("\0\1\1\0\0av\3\0\0\0\1\0\0\0"), "not at an entry"},
      {BLOCK("\0\1\1\0\0av\0\0\0\0"), "not at an entry"}, /* no restart point */
      {BLOCK("\0\1\1\0\0av\xff\xff\xff\xff"), "more restarts than bytes"},
      {BLOCK("\0\1\1\0\0av\1\1\1\0\0bw\0\0\0\0\7\0\0\0\2\0\0\0"), "has no whole key"},
      {BLOCK("\1\0\0"), "too short"},
      {BLOCK(RESTART), "not at an entry"}, /* no entry */
      {BLOCK("\0\1\1\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\1"
             "av" RESTART),
       "2^56"},
#undef BLOCK
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    bytes_out o = nori_table(cases[i].block, cases[i].len, 1, 0);
    nay_diag diag = {.offset = UINT64_MAX};
    nay_sst *t = NULL;
    nay_status status = view_layout(o.at, o.len, "nori-sst", NULL, NULL, &diag, &t);
    if ((status == NAY_OK) != (cases[i].what == NULL)) fail_msg("%zu: %s", i, diag.what);
    if (status != NAY_OK && strstr(diag.what, cases[i].what) == NULL)
      fail_msg("%zu: %s", i, diag.what);
    if (status != NAY_OK) assert_true(diag.offset <= cases[i].len);
    nay_sst_free(t);
    (void)exercise_foreign(o.at, o.len, "nori-sst");
  }
}

/* A codec that states a huge uncompressed size, or fails. */
static nay_status huge_size(void *ctx, const void *src, size_t len, size_t *size) {
  (void)ctx, (void)src, (void)len;
  *size = (size_t)1 << 40;
  return NAY_OK;
}

static void nori_codecs(void **state) {
  (void)state;
  nay_sst_codec huge = invert_codec, fails = invert_codec;
  huge.id = fails.id = 4;
  huge.uncompressed_size = huge_size;
  const nay_sst_codec *lists[] = {NULL, &huge, &fails};
  const nay_status expected[] = {NAY_ENOTSUP, NAY_EFULL, NAY_ECORRUPT};
  bytes_out o = nori_table("zzzz", 4, 1, 1);
  for (size_t i = 0; i < 3; i++) {
    nay_sst_read_options how = {sizeof how, .codecs = &lists[i], .ncodecs = lists[i] != NULL};
    nay_diag diag = {.offset = UINT64_MAX};
    nay_sst *t = NULL;
    assert_status(view_layout(o.at, o.len, "nori-sst", &how, NULL, &diag, &t), expected[i]);
    assert_int_equal(diag.offset, 0);
  }
}

/* ---- memory ---- */

static void every_allocation_may_fail(void **state) {
  const victim *v = *state;
  golden_bytes b = read_victim(v);
  bool done = false;
  for (long call = 0; !done; call++) {
    flaky memory = {.fail_at = call};
    nay_allocator allocator = flaky_allocator(&memory);
    nay_sst *t = NULL;
    nay_diag diag = {.what = NULL};
    uint64_t n, denied;
    nay_status status = view_layout(b.at, b.len, v->name, NULL, &allocator, &diag, &t);
    if (status == NAY_OK) status = nay_sst_verify(t, &diag, &n, &denied);
    if (status == NAY_OK) exercise_entries(t);
    nay_sst_free(t);
    done = memory.calls <= call;
    if (done) assert_ok(status);
    assert_true(status == NAY_OK || status == NAY_ENOMEM);
    assert_true(memory.objects == 0 && memory.faults == 0);
  }
  for (long call = 0, last = 0; call <= last; call++) {
    flaky memory = {.fail_at = call};
    nay_allocator allocator = flaky_allocator(&memory);
    nay_sst_filters *t = NULL;
    (void)filters_layout(b.at, b.len, v->name, NULL, &allocator, NULL, &t);
    nay_sst_filters_free(t);
    last = memory.calls > call ? call + 1 : call - 1;
    assert_true(memory.objects == 0 && memory.faults == 0);
  }
  free(b.at);
}

int main(void) {
  static const struct {
    const char *name;
    void (*run)(void **);
  } for_each[] = {{"every_truncation", every_truncation},
                  {"every_flipped_bit", every_flipped_bit},
                  {"every_allocation_may_fail", every_allocation_may_fail}};
  test_case tests[64] = {TEST(nori_footer_lies), TEST(nori_block_lies), TEST(nori_codecs)};
  static char names[64][96];
  size_t n = 3;
  for (size_t t = 0; t < 3; t++) {
    for (size_t i = 0; i < N_VICTIMS; i++, n++) {
      snprintf(names[n], sizeof names[n], "%s %s", for_each[t].name, victims[i].name);
      tests[n] = (test_case)TEST_WITH(names[n], for_each[t].run, &victims[i]);
    }
  }
  return run_list("foreign_hostile", tests, n);
}
