/* test_map_bytes.c - static maps: failing allocations, bytes and files, damage, hostile bytes. */
#include "redis/redis.h"
#include "support/flaky.h"
#include "support/maps.h"
#include "support/native.h"
#include "support/temp.h"

/* ---- memory ---- */

static void every_allocation_may_fail(void **state) {
  (void)state;
  pairs p = pairs_of(9000, 6, 1);
  memcpy(p.hashes + p.n, p.hashes, 80), memcpy(p.values + p.n, p.values, 80);
  p.n += 10; /* with duplicates */
  nay_params params = params_of(6, 3);
  nay_filter *whole = build(&params, &p);
  size_t len;
  uint8_t *bytes = bytes_of_map(whole, &len);
  for (unsigned what = 0; what < 3; what++) {
    for (long at = 0;; at++) {
      flaky heap = {.fail_at = at};
      nay_allocator a = flaky_allocator(&heap);
      nay_filter *map = NULL;
      nay_builder *builder = NULL;
      nay_status status = NAY_OK;
      if (what == 0) {
        status = nay__map_build_arrays(&params, p.hashes, p.values, p.n, &a, NULL, &map);
      } else if (what == 1) {
        status = nay_filter_decode(bytes, len, &a, NULL, &map);
      } else {
        status = nay_builder_new(&params, &a, NULL, &builder);
        for (size_t i = 0; i < p.n && status == NAY_OK; i++) {
          status = nay_builder_add_value_hash(builder, (nay_hash){p.hashes[i], 0}, p.values[i]);
        }
        if (status == NAY_OK) status = nay_builder_finish(builder, NULL, &map);
        nay_builder_free(builder);
      }
      if (status == NAY_OK) assert_same(map, whole);
      if (status != NAY_OK) assert_status(status, NAY_ENOMEM);
      if (status != NAY_OK) assert_null(map);
      nay_filter_free(map);
      assert_true(flaky_is_clean(&heap));
      if (status == NAY_OK) break;
    }
  }
  free(bytes);
  nay_filter_free(whole);
  pairs_free(&p);
}

/* ---- bytes ---- */

static nay_status append(void *ctx, const void *bytes, size_t len) {
  uint8_t **at = ctx;
  memcpy(*at, bytes, len);
  *at += len;
  return NAY_OK;
}

static void bytes_come_back(void **state) {
  (void)state;
  pairs p = pairs_of(9500, 11, 6);
  nay_params params = params_of(0, 5);
  nay_filter *map = build(&params, &p), *back;
  assert_ok(nay_filter_set_meta(map, "shards", 6));
  size_t len, meta_len;
  uint8_t *bytes = bytes_of_map(map, &len), *stream = malloc(len), *end = stream;
  assert_ok(nay_filter_encode_stream(map, append, &end));
  assert_int_equal(end - stream, len);
  assert_memory_equal(stream, bytes, len);
  size_t written;
  assert_status(nay_filter_encode(map, stream, len - 1, &written), NAY_EBUFFER);
  assert_status(nay_filter_encode(map, NULL, 0, &written), NAY_EINVAL); /* as of a filter */
  assert_ok(nay_filter_decode(bytes, len, NULL, NULL, &back));
  assert_all(back, &p);
  assert_same(map, back);
  assert_memory_equal(nay_filter_meta(back, &meta_len), "shards", 6);
  assert_int_equal(meta_len, 6);
  nay_filter_free(back);
  nay_view view = {.size = sizeof view};
  memcpy(stream, bytes, len); /* at any alignment */
  assert_ok(nay_view_open(stream, len, NULL, NULL, &view));
  assert_all(nay_view_filter(&view), &p);
  nay_stats stats = {.size = sizeof stats};
  assert_ok(nay_filter_stats(nay_view_filter(&view), &stats));
  assert_true(stats.read_only);
  free(bytes);
  free(stream);
  nay_filter_free(map);
  pairs_free(&p);
}

/* Redis loads filters, no maps: the header is enough to refuse one. */
static void the_decoder_refuses_maps(void **state) {
  (void)state;
  pairs p = pairs_of(500, 4, 6);
  nay_params params = params_of(0, 0);
  nay_filter *map = build(&params, &p);
  size_t len;
  uint8_t *bytes = bytes_of_map(map, &len);
  nay_decoder *decoder;
  nay_diag diag = {0};
  assert_ok(nay__decoder_new(NULL, &decoder));
  assert_ok(nay__decoder_add(decoder, bytes, 63, &diag));
  assert_status(nay__decoder_add(decoder, bytes + 63, 1, &diag), NAY_EFORMAT);
  assert_string_equal(diag.what, "a static map, not a filter");
  nay__decoder_free(decoder);
  free(bytes);
  nay_filter_free(map);
  pairs_free(&p);
}

static void keys_and_secrets(void **state) {
  (void)state;
  static const nay_hash_kind kinds[] = {NAY_HASH_XXH3, NAY_HASH_SIPHASH};
  const uint8_t secret[16] = "0123456789abcde", wrong[16] = "x";
  for (unsigned k = 0; k < 2; k++) {
    nay_params params = {
        .size = sizeof params, .kind = NAY_MAP, .hash = kinds[k], .seed = 5, .check_bits = 16};
    memcpy(params.key, secret, 16);
    nay_builder *builder;
    nay_filter *map, *back;
    char key[32];
    assert_ok(nay_builder_new(&params, NULL, NULL, &builder));
    for (unsigned i = 0; i < 1000; i++) {
      snprintf(key, sizeof key, "key-%u", i);
      assert_ok(nay_builder_add_value(builder, key, strlen(key), i * 3));
    }
    assert_ok(nay_builder_finish(builder, NULL, &map));
    nay_builder_free(builder);
    size_t len;
    uint8_t *bytes = bytes_of_map(map, &len);
    uint64_t value;
    assert_ok(nay_filter_decode(bytes, len, NULL, NULL, &back));
    if (k == 1) {
      assert_status(nay_filter_get(back, "key-1", 5, &value), NAY_EKEY);
      assert_status(nay_filter_unlock(back, wrong), NAY_EKEY);
      assert_ok(nay_filter_unlock(back, secret));
    }
    const void *keys[2] = {key, "absent"};
    for (unsigned i = 0; i < 1000; i++) {
      snprintf(key, sizeof key, "key-%u", i);
      size_t lens[2] = {strlen(key), 6};
      uint64_t values[2], bitmap;
      assert_ok(nay_filter_get(back, key, strlen(key), &value));
      assert_int_equal(value, i * 3);
      assert_ok(nay_filter_get_many(back, keys, lens, 2, values, &bitmap));
      assert_int_equal(values[0], i * 3);
      assert_int_equal(bitmap, 1);
    }
    assert_status(nay_filter_get(back, "absent", 6, &value), NAY_ENOENT);
    nay_filter_free(back);
    nay_filter_free(map);
    free(bytes);
  }
}

/* Saved, opened, mapped, mapped lazily; and what a damaged chunk does to each. */
static void files(void **state) {
  (void)state;
  pairs p = pairs_of(100000, 16, 6); /* 200 KB: the first and the last chunk are read at once */
  nay_params params = params_of(0, 0);
  nay_filter *map = build(&params, &p), *back = NULL;
  char path[TEMP_MAX];
  temp_path(path, "map");
  assert_ok(nay_filter_save(map, path, NULL));
  assert_ok(nay_filter_open(path, NULL, NULL, &back));
  assert_all(back, &p);
  assert_same(map, back);
  nay_filter_free(back);
  for (unsigned flags = 0; flags <= NAY_MMAP_LAZY; flags++) {
    assert_ok(nay_filter_mmap(path, flags, NULL, NULL, &back));
    assert_all(back, &p);
    assert_ok(nay_filter_health(back));
    assert_ok(nay__filter_all_verified(back));
    assert_same(map, back);
    nay_filter_free(back);
  }
  back = NULL;
  assert_status(nay_filter_mmap(path, 4, NULL, NULL, &back), NAY_EINVAL);
  assert_status(nay_filter_open("/nowhere/map", NULL, NULL, &back), NAY_EIO);
  FILE *file = fopen(path, "r+b");
  assert_int_equal(fseek(file, 80000, SEEK_SET), 0); /* in the second chunk */
  assert_int_equal(fwrite("damage", 1, 6, file), 6);
  fclose(file);
  assert_status(nay_filter_open(path, NULL, NULL, &back), NAY_ECORRUPT);
  assert_status(nay_filter_mmap(path, 0, NULL, NULL, &back), NAY_ECORRUPT);
  assert_ok(nay_filter_mmap(path, NAY_MMAP_LAZY, NULL, NULL, &back));
  unsigned good = 0, bad = 0;
  for (size_t i = 0; i < p.n; i++) {
    uint64_t value = 0, many;
    nay_status status = nay_filter_get_hash(back, (nay_hash){p.hashes[i], 0}, &value);
    assert_status(maps_get_hashes(back, &p.hashes[i], 1, &many, NULL), status);
    good += status == NAY_OK;
    bad += status == NAY_ECORRUPT;
    if (status == NAY_OK) assert_int_equal(value, p.values[i]);
  }
  assert_int_equal(good + bad, p.n);
  assert_true(good > p.n / 4 && bad > p.n / 4);
  assert_status(nay_filter_health(back), NAY_ECORRUPT);
  assert_status(nay__filter_all_verified(back), NAY_ECORRUPT);
  assert_status(nay_filter_save(back, path, NULL), NAY_ECORRUPT);
  nay_filter_free(back);
  unlink(path);
  nay_filter_free(map);
  pairs_free(&p);
}

static void flip_in_file(const char *path, long offset) {
  FILE *file = fopen(path, "r+b");
  assert_int_equal(fseek(file, offset, SEEK_SET), 0);
  int byte = fgetc(file);
  assert_int_equal(fseek(file, offset, SEEK_SET), 0);
  assert_int_equal(fputc(byte ^ 1, file), byte ^ 1);
  fclose(file);
}

/* What nay_map.h says of NAY_MMAP_LAZY: damage in the first or the last chunk fails the open,
 * damage in between does not. */
static void lazy_verifies_ends_at_open(void **state) {
  (void)state;
  pairs p = pairs_of(100000, 16, 6); /* 200 KB, four chunks, the codes in the last */
  nay_params params = params_of(0, 0);
  nay_filter *map = build(&params, &p), *back = NULL;
  long len = (long)nay_filter_encoded_size(map), last = (len - 64) / 65536 * 65536;
  char path[TEMP_MAX];
  temp_path(path, "map");
  assert_ok(nay_filter_save(map, path, NULL));
  const long at_open[] = {0, 63, 64, 200, 65000, last + 300, len - 7, len - 1};
  for (unsigned i = 0; i < sizeof at_open / sizeof *at_open; i++) {
    flip_in_file(path, at_open[i]);
    assert_int_not_equal(nay_filter_mmap(path, NAY_MMAP_LAZY, NULL, NULL, &back), NAY_OK);
    assert_null(back);
    flip_in_file(path, at_open[i]);
  }
  for (long at = 65536 + 300; at < last; at += 65536) {
    flip_in_file(path, at);
    assert_ok(nay_filter_mmap(path, NAY_MMAP_LAZY, NULL, NULL, &back));
    assert_ok(nay_filter_health(back));
    assert_status(nay__filter_all_verified(back), NAY_ECORRUPT);
    nay_filter_free(back);
    back = NULL;
    flip_in_file(path, at);
  }
  unlink(path);
  nay_filter_free(map);
  pairs_free(&p);
}

/* Every flipped bit and every truncation is an error. */
static void damage_is_found(void **state) {
  (void)state;
  pairs p = pairs_of(40, 3, 6);
  nay_params params = params_of(0, 0);
  nay_filter *map = build(&params, &p), *back = NULL;
  size_t len;
  uint8_t *bytes = bytes_of_map(map, &len);
  for (size_t i = 0; i < len * 8; i++) {
    bytes[i / 8] ^= (uint8_t)(1u << i % 8);
    assert_int_not_equal(nay_filter_decode(bytes, len, NULL, NULL, &back), NAY_OK);
    bytes[i / 8] ^= (uint8_t)(1u << i % 8);
  }
  for (size_t i = 0; i < len; i++) {
    assert_int_not_equal(nay_filter_decode(bytes, i, NULL, NULL, &back), NAY_OK);
  }
  assert_null(back);
  free(bytes);
  nay_filter_free(map);
  pairs_free(&p);
}

/* An attacker who can compute digests: refused, or safe to use. */
static void hostile_headers(void **state) {
  (void)state;
  pairs p = pairs_of(9000, 3, 6);
  nay_params params = params_of(0, 2);
  nay_filter *map = build(&params, &p);
  size_t len, opened = 0;
  uint8_t *bytes = bytes_of_map(map, &len), *copy = malloc(len);
  for (uint64_t t = 0; t < (uint64_t)TEST_SCALE(20000) + 500; t++) {
    uint64_t dice = nay_hash_mix(t);
    size_t cut = (dice & 7) == 0 ? dice >> 8 & 63 : 0;
    memcpy(copy, bytes, len);
    uint8_t *payload = copy + len - map->nbytes;
    if (dice & 8) copy[24 + (dice >> 16) % 24] ^= (uint8_t)(1u << (dice >> 24 & 7));
    if (dice & 16) memset(copy + len - 16, (int)(dice >> 32 & 255), 10);      /* codes */
    if (dice & 32) copy[len - 1 - (dice >> 40) % 6] ^= (uint8_t)(dice >> 48); /* trailer */
    if (dice & 64) payload[(dice >> 20) % map->nbytes] ^= 1;
    native_seal(copy, len - cut);
    nay_filter *back = NULL;
    if (nay_filter_decode(copy, len - cut, NULL, NULL, &back) != NAY_OK) continue;
    opened++;
    uint64_t hashes[64], values[64], bitmap = 0, value;
    for (unsigned i = 0; i < 64; i++) hashes[i] = nay_hash_mix(dice + i);
    assert_ok(maps_get_hashes(back, hashes, 64, values, &bitmap));
    for (unsigned i = 0; i < 64; i++) {
      nay_status status = nay_filter_get_hash(back, (nay_hash){hashes[i], 0}, &value);
      assert_int_equal(status == NAY_OK, bitmap >> i & 1);
      if (status == NAY_OK) assert_int_equal(value, values[i]);
    }
    nay_filter_free(back);
  }
  assert_true(opened > 50);
  free(bytes);
  free(copy);
  nay_filter_free(map);
  pairs_free(&p);
}

int main(void) {
  const test_case tests[] = {
      TEST(every_allocation_may_fail), TEST(bytes_come_back), TEST(the_decoder_refuses_maps),
      TEST(keys_and_secrets),          TEST(files),           TEST(lazy_verifies_ends_at_open),
      TEST(damage_is_found),           TEST(hostile_headers),
  };
  return run_all(tests);
}
