/*
 * test_codecs.c - the ready codecs: what they compress comes back, every damaged block is refused
 * or has exactly the size that was said, and tables are written and read with each of them.
 */
#include <nay_codecs.h>
#include <string.h>
#include <zstd.h>

#include "support/temp.h"
#include "support/test.h"

#define CODEC_KIND(name, id, text) NAY_CODEC_##name,
static const nay_codec_kind kinds[] = {NAY_CODECS(CODEC_KIND) NAY_CODEC_ZSTD_UNSIZED};
enum { NKINDS = sizeof kinds / sizeof *kinds };

/* Bytes with `period` different values in turn, and some noise. */
static uint8_t *sample(size_t len, unsigned period, unsigned noise) {
  uint8_t *bytes = malloc(len + 1);
  uint32_t state = 1 + period;
  for (size_t i = 0; i < len; i++) {
    state = state * 1664525u + 1013904223u;
    bytes[i] = (state >> 24) < noise ? (uint8_t)(state >> 16) : (uint8_t)(i % period);
  }
  return bytes;
}

static uint8_t *pack(const nay_sst_codec *c, const uint8_t *bytes, size_t len, size_t *n) {
  uint8_t *out = malloc(c->bound(c->ctx, len) + 1);
  assert_ok(c->compress(c->ctx, bytes, len, out, c->bound(c->ctx, len), n));
  assert_true(*n <= c->bound(c->ctx, len));
  return out;
}

static void what_is_compressed_comes_back(void **state) {
  (void)state;
  static const size_t lens[] = {0, 1, 2, 17, 255, 256, 4096, 70000, 1u << 20};
  for (size_t k = 0; k < NKINDS; k++) {
    const nay_sst_codec *c = nay_codec_find(kinds[k]);
    assert_non_null(c);
    assert_int_equal(c->id, kinds[k] & 0xff);
    for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
      for (unsigned noise = 0; noise <= 256; noise += 64) {
        uint8_t *bytes = sample(lens[i], 7, noise);
        size_t n, size;
        uint8_t *packed = pack(c, bytes, lens[i], &n);
        assert_ok(c->uncompressed_size(c->ctx, packed, n, &size));
        assert_int_equal(size, lens[i]);
        uint8_t *back = malloc(size + 1);
        assert_ok(c->uncompress(c->ctx, packed, n, back, size));
        assert_memory_equal(back, bytes, size);
        free(back);
        free(packed);
        free(bytes);
      }
    }
  }
}

/* Uncompresses into exactly as many bytes as were said: AddressSanitizer sees one more. */
static void try_damaged(const nay_sst_codec *c, const uint8_t *packed, size_t n) {
  size_t size;
  uint8_t *copy = malloc(n != 0 ? n : 1); /* exactly: nor is a byte read beyond it */
  memcpy(copy, packed, n);
  if (c->uncompressed_size(c->ctx, copy, n, &size) == NAY_OK && size <= 1u << 20) {
    uint8_t *back = malloc(size != 0 ? size : 1);
    (void)c->uncompress(c->ctx, copy, n, back, size);
    free(back);
  }
  free(copy);
}

static void damaged_blocks_stay_in_bounds(void **state) {
  (void)state;
  uint8_t *bytes = sample(600, 31, 40);
  for (size_t k = 0; k < NKINDS; k++) {
    const nay_sst_codec *c = nay_codec_find(kinds[k]);
    size_t n, size;
    uint8_t *packed = pack(c, bytes, 600, &n);
    for (size_t len = 0; len < n; len++) {
      try_damaged(c, packed, len);
      uint8_t back[600];
      bool whole = c->uncompressed_size(c->ctx, packed, len, &size) == NAY_OK && size == 600 &&
                   c->uncompress(c->ctx, packed, len, back, size) == NAY_OK;
      assert_false(whole); /* a truncated block is not the whole one */
    }
    for (size_t bit = 0; bit < n * 8; bit++) {
      packed[bit / 8] ^= (uint8_t)(1u << bit % 8);
      try_damaged(c, packed, n);
      packed[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    free(packed);
  }
  free(bytes);
}

/* LevelDB asks the frame for its size and refuses one that does not state it. */
static void frames_of_zstd_state_their_size(void **state) {
  (void)state;
  uint8_t *bytes = sample(5000, 9, 10);
  for (size_t k = 0; k < NKINDS; k++) {
    if ((kinds[k] & 0xff) != NAY_CODEC_ZSTD) continue;
    size_t n;
    uint8_t *packed = pack(nay_codec_find(kinds[k]), bytes, 5000, &n);
    unsigned long long stated = ZSTD_getFrameContentSize(packed, n);
    assert_true(stated == (kinds[k] == NAY_CODEC_ZSTD ? 5000 : ZSTD_CONTENTSIZE_UNKNOWN));
    free(packed);
  }
  free(bytes);
}

static void tables_take_each(void **state) {
  (void)state;
  char path[TEMP_MAX], key[32], value[64];
  temp_path(path, "codecs.ldb");
  for (size_t k = 0; k < NKINDS; k++) {
    nay_sst_write_options write = {.size = sizeof write, .codec = nay_codec_find(kinds[k])};
    nay_sst_writer *w;
    assert_int_equal(nay_sst_writer_new(path, &write, NULL, NULL, &w), NAY_OK);
    for (int i = 0; i < 3000; i++) {
      snprintf(key, sizeof key, "key%06d", i);
      snprintf(value, sizeof value, "value of %06d", i);
      assert_int_equal(nay_sst_writer_add(w, key, strlen(key), value, strlen(value), NULL), NAY_OK);
    }
    assert_int_equal(nay_sst_writer_finish(w, NULL), NAY_OK);
    nay_sst_writer_free(w);
    nay_sst_read_options read = {.size = sizeof read};
    read.codecs = nay_codecs(&read.ncodecs);
    assert_int_equal(read.ncodecs, NKINDS - 1);
    nay_sst *t;
    nay_sst_value v = {.size = sizeof v};
    nay_sst_info info = {.size = sizeof info};
    assert_int_equal(nay_sst_open(path, &read, NULL, NULL, &t), NAY_OK);
    assert_int_equal(nay_sst_stats(t, &info), NAY_OK);
    assert_int_equal(info.codec, kinds[k] & 0xff);
    for (int i = 0; i < 3000; i += 7) {
      snprintf(key, sizeof key, "key%06d", i);
      snprintf(value, sizeof value, "value of %06d", i);
      assert_int_equal(nay_sst_get(t, key, strlen(key), NAY_SST_NEWEST, NULL, &v), NAY_OK);
      assert_int_equal(v.len, strlen(value));
      assert_memory_equal(v.bytes, value, v.len);
    }
    nay_sst_value_free(&v);
    nay_sst_free(t);
  }
  unlink(path);
}

static void each_has_a_name(void **state) {
  (void)state;
  static const char *const names[] = {NULL, "snappy", "zstd", NULL, "lz4"};
  for (unsigned id = 0; id < sizeof names / sizeof *names; id++) {
    const char *name = nay_codec_name(id);
    assert_int_equal(name == NULL, names[id] == NULL);
    if (name != NULL) assert_string_equal(name, names[id]);
  }
  assert_null(nay_codec_name(0x102)); /* ids alone have names */
}

static void others_are_not_there(void **state) {
  (void)state;
  assert_null(nay_codec_find((nay_codec_kind)0));
  assert_null(nay_codec_find((nay_codec_kind)3));
  assert_null(nay_codec_find((nay_codec_kind)0x101));
}

int main(void) {
  const test_case tests[] = {
      TEST(what_is_compressed_comes_back),
      TEST(damaged_blocks_stay_in_bounds),
      TEST(frames_of_zstd_state_their_size),
      TEST(tables_take_each),
      TEST(each_has_a_name),
      TEST(others_are_not_there),
  };
  return run_all(tests);
}
