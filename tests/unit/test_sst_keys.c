/*
 * test_sst_keys.c - what the keys of a table are, plain or internal: the table states it, or the
 * reader guesses. A reader that cannot read what states it must not guess instead: with the wrong
 * kind of keys a search finds nothing. So every bit of the metaindex, and every read, may be wrong.
 */
#include "nay_sst.h"
#include "support/sst_blocks.h"
#include "support/sst_own_io.h"
#include "support/sst_sample.h"

#define NKEYS 60

/* The kinds of keys. */
typedef enum kind {
  PLAIN,
  PLAIN_LIKE_INTERNAL, /* they end in eight bytes that could be a trailer */
  INTERNAL,
  INTERNAL_MERGE, /* one is a merge operand */
  NKINDS
} kind;

static nay_policy builtin = {.size = sizeof builtin};
static nay_sst_prefix by_four = {.size = sizeof by_four};

#define NSHAPES 6
static nay_sst_write_options shape_of(size_t i) {
  static const nay_sst_filter_layout filters[NSHAPES] = {
      NAY_SST_NO_FILTER,          NAY_SST_BLOCK_FILTER, NAY_SST_FULL_FILTER,
      NAY_SST_PARTITIONED_FILTER, NAY_SST_NO_FILTER,    NAY_SST_NO_FILTER};
  assert_ok(nay_policy_find(NAY_POLICY_LEVELDB, 10, &builtin));
  assert_ok(nay_sst_prefix_find("nay.fixed.4", &by_four));
  return (nay_sst_write_options){.size = sizeof(nay_sst_write_options),
                                 .block_bytes = 300,
                                 .filter = filters[i],
                                 .policy = i == 1 ? &builtin : NULL,
                                 .partition_keys = 20,
                                 .prefix = i == 4 ? &by_four : NULL,
                                 .properties = i == 5};
}

/* Key i as a caller gives it to a get. */
static size_t key_of(kind k, unsigned i, char key[32]) {
  size_t len = (size_t)snprintf(key, 32, "user%04u", i);
  if (k != PLAIN_LIKE_INTERNAL) return len;
  memcpy(key + len, "\1\7\0\0\0\0\0", 8);
  return len + 8;
}

static uint8_t *table_of(kind k, size_t shape, size_t *len) {
  char path[TEMP_MAX], key[32];
  nay_sst_write_options how = shape_of(shape);
  nay_sst_writer *w;
  bool internal = k >= INTERNAL;
  how.keys = internal ? NAY_SST_KEYS_INTERNAL : NAY_SST_KEYS_PLAIN;
  assert_ok(nay_sst_writer_new(temp_path(path, "keys.ldb"), &how, NULL, NULL, &w));
  for (unsigned i = 0; i < NKEYS; i++) {
    size_t n = key_of(k, i, key);
    nay_sst_entry v = {
        sizeof v, key, n, 7, k == INTERNAL_MERGE && i == 30 ? NAY_SST_MERGE : NAY_SST_PUT, 0};
    if (internal) {
      assert_ok(nay_sst_writer_add_entry(w, &v, "v", 1, NULL));
    } else {
      assert_ok(nay_sst_writer_add(w, key, n, "v", 1, NULL));
    }
  }
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  uint8_t *bytes = sample_read(path, len);
  unlink(path);
  return bytes;
}

/* Whether a sound table opens as what it is without being told: only plain keys that look like
 * internal ones, in a table that LevelDB could have written, do not. */
static bool is_known(kind k, size_t shape) { return k != PLAIN_LIKE_INTERNAL || shape >= 2; }

/* Every key is found, or damage is reported; returns how many were found. */
static unsigned ask(const nay_sst *t, kind k) {
  nay_sst_value v = {.size = sizeof v};
  unsigned found = 0;
  for (unsigned i = 0; i < NKEYS; i++) {
    char key[32];
    size_t len = key_of(k, i, key);
    nay_status status = nay_sst_get(t, key, len, NAY_SST_NEWEST, NULL, &v);
    if (k == INTERNAL_MERGE && i == 30) { /* a get does not combine it */
      assert_true(status != NAY_ENOENT);
      continue;
    }
    assert_true(status == NAY_OK || status == NAY_ECORRUPT || status == NAY_EIO);
    assert_true(nay_sst_may_contain(t, key, len));
    found += status == NAY_OK;
  }
  nay_sst_value_free(&v);
  return found;
}

typedef void (*tried)(kind k, uint8_t *bytes, size_t len);

static void for_every_table(tried call) {
  for (kind k = PLAIN; k < NKINDS; k++) {
    for (size_t shape = 0; shape < NSHAPES; shape++) {
      size_t len;
      if (!is_known(k, shape)) continue;
      uint8_t *bytes = table_of(k, shape, &len);
      call(k, bytes, len);
      free(bytes);
    }
  }
}

static void try_sound(kind k, uint8_t *bytes, size_t len) {
  nay_sst *t;
  nay_sst_info info = {.size = sizeof info};
  assert_ok(nay_sst_view(bytes, len, NULL, NULL, NULL, &t));
  assert_ok(nay_sst_stats(t, &info));
  assert_int_equal(info.keys, k >= INTERNAL ? NAY_SST_KEYS_INTERNAL : NAY_SST_KEYS_PLAIN);
  assert_int_equal(ask(t, k), k == INTERNAL_MERGE ? NKEYS - 1 : NKEYS);
  nay_sst_free(t);
}

static void sound(void **unused) {
  (void)unused;
  for_every_table(try_sound);
}

static void try_metaindex(kind k, uint8_t *bytes, size_t len) {
  nay_footer f;
  nay_sst *t;
  (void)k;
  assert_ok(nay_sst__footer_load(bytes, len, len, NULL, &f));
  uint64_t from = f.metaindex.offset, to = from + f.metaindex.size + NAY_BLOCK_TRAILER;
  for (uint64_t bit = from * 8; bit < to * 8; bit++) {
    nay_diag diag = {.what = NULL};
    bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    assert_status(nay_sst_view(bytes, len, NULL, NULL, &diag, &t), NAY_ECORRUPT);
    assert_true(diag.offset >= from && diag.offset < to);
    bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
}

static void every_bit_of_the_metaindex(void **unused) {
  (void)unused;
  for_every_table(try_metaindex);
}

/* One read fails: the open, or gets of the keys that it was for. */
static void try_reads(kind k, uint8_t *bytes, size_t len) {
  static const nay_status failures[] = {NAY_EIO, NAY_ECORRUPT};
  for (size_t i = 0; i < 2; i++) {
    bool failed = true;
    for (long at = 0; failed; at++) {
      own_file file = {.bytes = bytes, .len = len, .fail_at = at, .failure = failures[i]};
      nay_sst_file own = own_file_of(&file);
      nay_sst *t;
      nay_status status = nay_sst_open_file(&own, NULL, NULL, NULL, &t);
      failed = file.reads > at;
      if (status != NAY_OK) {
        assert_true(failed && status == failures[i]);
        continue;
      }
      (void)ask(t, k);
      nay_sst_free(t);
    }
  }
}

static void every_read(void **unused) {
  (void)unused;
  for_every_table(try_reads);
}

/* The first block tells what the keys are, where nothing states it. */
static void try_first_block(kind k, uint8_t *bytes, size_t len) {
  for (size_t at = 0; at < 300; at += 11) {
    nay_sst *t;
    bytes[at] ^= 16;
    assert_ok(nay_sst_view(bytes, len, NULL, NULL, NULL, &t));
    assert_true(ask(t, k) < NKEYS);
    nay_sst_free(t);
    bytes[at] ^= 16;
  }
}

static void the_first_block(void **unused) {
  (void)unused;
  for_every_table(try_first_block);
}

/* Plain keys of which only one, in the first block, could not be an internal key, and an index of
 * whole keys, as LevelDB's with the caller's comparators. */
static void only_the_first_block_tells(void **unused) {
  (void)unused;
  nay_allocator a = nay__allocator_default();
  nay_buffer file = {NULL, 0, 0};
  nay_block_builder b = {.interval = 1};
  nay_handle data[2], value = {0, 1};
  static const char *const keys[] = {"user0001\1\7\7\7\7\7\7\7", "user0002\1\7\7\7\7\7\7\7"};
  assert_ok(nay_sst__block_reset(&b, &a));
  add_entry(&b, "short", value, &a);
  for (size_t i = 0; i < 2; i++) {
    add_entry(&b, keys[i], value, &a);
    data[i] = put_block(&file, &b, &a);
  }
  nay_handle metaindex = put_block(&file, &b, &a);
  for (size_t i = 0; i < 2; i++) add_entry(&b, keys[i], data[i], &a);
  nay_handle index = put_block(&file, &b, &a);
  put_end(&file, metaindex, index, &a);
  for (int damaged = 0; damaged < 2; damaged++) {
    nay_sst *t;
    nay_sst_value v = {.size = sizeof v};
    file.at[4] ^= (uint8_t)damaged;
    assert_ok(nay_sst_view(file.at, file.len, NULL, NULL, NULL, &t));
    assert_status(nay_sst_get(t, keys[1], 16, NAY_SST_NEWEST, NULL, &v),
                  damaged ? NAY_ECORRUPT : NAY_OK);
    assert_true(nay_sst_may_contain(t, keys[1], 16));
    nay_sst_value_free(&v);
    nay_sst_free(t);
  }
  nay_sst__block_builder_free(&b, &a);
  nay__buffer_free(&file, &a);
}

int main(void) {
  const test_case tests[] = {
      TEST(sound),           TEST(every_bit_of_the_metaindex), TEST(every_read),
      TEST(the_first_block), TEST(only_the_first_block_tells),
  };
  return run_all(tests);
}
