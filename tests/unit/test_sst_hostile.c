/*
 * test_sst_hostile.c - tables that were damaged, cut, or made by an enemy. A key that is in the
 * table is found or the damage is reported: never a nay. Filters that are broken cost only work.
 */
#include "block/codec.h"
#include "support/sst_calls.h"
#include "support/sst_numbers.h"
#include "support/sst_seal.h"

#define SMALL 120 /* keys */

typedef struct victim {
  const char *name;
  nay_sst_write_options how;
} victim;

static nay_policy builtin = {.size = sizeof builtin};
static nay_sst_prefix by_five = {.size = sizeof by_five};

/* One table of each kind; small, so that every byte can be tried. */
static size_t victims(victim v[8]) {
  assert_ok(nay_policy_find(NAY_POLICY_LEVELDB, 10, &builtin));
  assert_ok(nay_sst_prefix_find("nay.fixed.9", &by_five));
  v[0] = (victim){"no filter", {.block_bytes = 400}};
  v[1] = (victim){"LevelDB's", {.filter = NAY_SST_BLOCK_FILTER, .policy = &builtin}};
  v[2] = (victim){"full", {.filter = NAY_SST_FULL_FILTER, .block_bytes = 700}};
  v[3] = (victim){"parts",
                  {.filter = NAY_SST_PARTITIONED_FILTER, .partition_keys = 50, .block_bytes = 300}};
  v[4] = (victim){"prefix", {.filter = NAY_SST_FULL_FILTER, .prefix = &by_five}};
  v[5] = (victim){"snappy",
                  {.filter = NAY_SST_FULL_FILTER, .codec = &snappy_codec, .block_bytes = 500}};
  for (size_t i = 0; i < 6; i++) v[i].how.size = sizeof v[i].how;
  return 6;
}

static nay_sst_read_options reading(void) {
  static const nay_policy *const policies[] = {&builtin};
  return (nay_sst_read_options){.size = sizeof(nay_sst_read_options),
                                .codecs = snappy_codecs,
                                .ncodecs = 1,
                                .policies = policies,
                                .npolicies = 1,
                                .prefix = &by_five,
                                .keys = NAY_SST_KEYS_PLAIN};
}

static uint8_t *victim_bytes(const victim *v, size_t *len) {
  char path[TEMP_MAX];
  write_even(temp_path(path, "victim.ldb"), &v->how, SMALL);
  uint8_t *bytes = sample_read(path, len);
  unlink(path);
  return bytes;
}

/* Every answer is right or an error with its place; returns how many were errors. */
static unsigned check_answers(const uint8_t *bytes, size_t len, nay_sst_counters *counters) {
  nay_sst_read_options how = reading();
  nay_sst *t;
  nay_sst_value v = {.size = sizeof v};
  nay_diag diag = {.offset = UINT64_MAX};
  unsigned errors = 0;
  nay_status status = nay_sst_view(bytes, len, &how, NULL, &diag, &t);
  if (status != NAY_OK) {
    assert_true(status == NAY_ECORRUPT || status == NAY_EFORMAT || status == NAY_ENOTSUP);
    assert_non_null(diag.what);
    assert_true(diag.offset <= len);
    return 1;
  }
  for (unsigned i = 0; i < 2 * SMALL - 1; i++) {
    char key[32], value[32];
    size_t key_len = number_key(i, key);
    diag = (nay_diag){.offset = UINT64_MAX};
    status = nay_sst_get(t, key, key_len, NAY_SST_NEWEST, &diag, &v);
    if (status == NAY_ECORRUPT || status == NAY_ENOTSUP) {
      assert_non_null(diag.what);
      assert_true(diag.offset <= len);
      errors++;
      continue;
    }
    assert_status(status, i % 2 == 0 ? NAY_OK : NAY_ENOENT);
    if (i % 2 != 0) continue;
    assert_int_equal(v.len, snprintf(value, sizeof value, "value %u", i));
    assert_memory_equal(v.bytes, value, v.len);
  }
  if (counters != NULL) table_counts(t, counters);
  nay_sst_value_free(&v);
  nay_sst_free(t);
  return errors;
}

static void every_flip(void **unused) {
  (void)unused;
  victim v[8];
  for (size_t n = victims(v), i = 0; i < n; i++) {
    size_t len, silent = 0, padding = 0;
    uint8_t *bytes = victim_bytes(&v[i], &len);
    assert_int_equal(check_answers(bytes, len, NULL), 0);
    for (size_t at = 0; at < len; at += TEST_SCALE(10) == 1 ? 7 : 1) {
      nay_sst_counters c = {.size = sizeof c};
      bytes[at] ^= (uint8_t)(1u << at % 8);
      unsigned errors = check_answers(bytes, len, &c);
      bytes[at] ^= (uint8_t)(1u << at % 8);
      if (errors != 0 || c.filter_faults != 0) continue;
      silent++; /* only the padding of the footer has no meaning */
      padding += at >= len - NAY_FOOTER;
    }
    assert_int_equal(silent, padding);
    free(bytes);
  }
}

static void every_truncation(void **unused) {
  (void)unused;
  victim v[8];
  for (size_t n = victims(v), i = 0; i < n; i++) {
    size_t len;
    uint8_t *bytes = victim_bytes(&v[i], &len);
    for (size_t cut = 0; cut < len; cut++) {
      uint8_t *exact_bytes = malloc(cut + 1);
      nay_sst *t;
      nay_diag diag = {.what = NULL};
      nay_sst_read_options how = reading();
      memcpy(exact_bytes, bytes, cut);
      nay_status status = nay_sst_view(exact_bytes, cut, &how, NULL, &diag, &t);
      assert_true(status == NAY_EFORMAT || status == NAY_ECORRUPT);
      assert_non_null(diag.what);
      free(exact_bytes);
    }
    free(bytes);
  }
}

/* Finds the block that a metaindex key with this start points to. */
static nay_handle meta_handle(const uint8_t *bytes, size_t len, const char *start) {
  nay_allocator a = nay__allocator_default();
  nay_footer f;
  nay_handle h = {0, 0};
  nay_cursor c = {.order = NAY_BYTEWISE, .allocator = &a};
  assert_ok(nay_sst__footer_load(bytes, len, len, NULL, &f));
  assert_ok(
      nay_sst__block_open(bytes + f.metaindex.offset, (size_t)f.metaindex.size, NULL, &c.block));
  for (nay_status s = nay_sst__cursor_first(&c, NULL); s == NAY_OK;
       s = nay_sst__cursor_next(&c, NULL)) {
    if (c.key.len < strlen(start) || memcmp(c.key.at, start, strlen(start)) != 0) continue;
    assert_non_null(nay_sst__handle_load(c.entry.value, c.entry.value + c.entry.value_len, &h));
  }
  nay__buffer_free(&c.key, &a);
  assert_true(h.size != 0);
  return h;
}

/* A filter that is damaged, with and without a checksum that fits, is left out and counted. */
static void broken_filters_cost_only_work(void **unused) {
  (void)unused;
  static const char *const names[] = {NULL, "filter.", "nay.full.", "nay.partitioned.",
                                      "nay.full."};
  victim v[8];
  victims(v);
  for (size_t i = 1; i < 5; i++) {
    size_t len;
    uint8_t *bytes = victim_bytes(&v[i], &len);
    nay_handle h = meta_handle(bytes, len, names[i]);
    nay_sst_counters c = {.size = sizeof c};
    bytes[h.offset + h.size / 2] ^= 4;
    assert_int_equal(check_answers(bytes, len, &c), 0);
    assert_true(c.filter_faults > 0);
    assert_true(c.block_reads >= SMALL);
    if (i == 2 || i == 4) { /* native filters have checksums of their own */
      nay_sst__block_trailer_store(bytes + h.offset + h.size, 0, bytes + h.offset, (size_t)h.size);
      assert_int_equal(check_answers(bytes, len, &c), 0);
      assert_true(c.filter_faults > 0);
    }
    free(bytes);
  }
}

static void put_footer(uint8_t *bytes, size_t len, nay_handle metaindex, nay_handle index) {
  nay_sst__footer_store(bytes + len - NAY_FOOTER,
                        &(nay_footer){.metaindex = metaindex, .index = index});
}

static void hostile_sizes(void **unused) {
  (void)unused;
  enum { LEN = 200 };
  uint8_t bytes[LEN] = {0};
  nay_sst *t;
  nay_diag diag;
  const nay_handle good = {0, 8};
  const nay_handle bad[] = {{UINT64_MAX, 1},       {1, UINT64_MAX}, {0, LEN - NAY_FOOTER},
                            {LEN - NAY_FOOTER, 0}, {LEN, 0},        {UINT64_MAX, UINT64_MAX},
                            {0, 1ull << 40}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    put_footer(bytes, LEN, good, bad[i]);
    assert_status(nay_sst_view(bytes, LEN, NULL, NULL, &diag, &t), NAY_ECORRUPT);
    put_footer(bytes, LEN, bad[i], good);
    assert_status(nay_sst_view(bytes, LEN, NULL, NULL, &diag, &t), NAY_ECORRUPT);
    assert_int_equal(diag.offset, LEN - NAY_FOOTER);
  }
  /* an index with more restarts than bytes; entries that are longer than the block */
  enum { AT = LEN - NAY_FOOTER - 19 - NAY_BLOCK_TRAILER };
  const nay_handle index = {AT, 19}, metaindex = {AT - 8 - NAY_BLOCK_TRAILER, 8};
  put_footer(bytes, LEN, metaindex, index);
  nay__store32le(bytes + metaindex.offset + 4, 1); /* it is empty */
  memset(bytes + AT, 0xff, 19);
  seal_table(bytes, LEN);
  assert_status(nay_sst_view(bytes, LEN, NULL, NULL, &diag, &t), NAY_ECORRUPT);
  assert_string_equal(diag.what, "a block has more restarts than bytes");
  const uint8_t entry[19] = {0, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 'a', 'b', 0, 0, 0, 0, 0, 0, 1};
  memcpy(bytes + AT, entry, sizeof entry);
  nay__store32le(bytes + AT + 11, 0);
  nay__store32le(bytes + AT + 15, 1);
  seal_table(bytes, LEN);
  assert_status(nay_sst_view(bytes, LEN, NULL, NULL, &diag, &t), NAY_ECORRUPT);
  assert_string_equal(diag.what, "a block has an entry that does not fit");
}

/* A compressed block that says it is huge is refused before memory is taken. */
static void a_bomb(void **unused) {
  (void)unused;
  victim v[8];
  size_t len;
  victims(v);
  uint8_t *bytes = victim_bytes(&v[5], &len);
  nay_sst_read_options how = reading();
  nay_sst *t;
  nay_sst_value value = {.size = sizeof value};
  nay_diag diag = {.what = NULL};
  how.max_block_bytes = 100;
  nay_status status = nay_sst_view(bytes, len, &how, NULL, &diag, &t);
  if (status == NAY_OK) { /* the index was too short to be compressed */
    status = nay_sst_get(t, "key00000010", 11, NAY_SST_NEWEST, &diag, &value);
    nay_sst_value_free(&value);
    nay_sst_free(t);
  }
  assert_status(status, NAY_EFULL);
  assert_string_equal(diag.what, "the uncompressed size of a block is above max_block_bytes");
  free(bytes);
}

/* A size that no codec reaches is damage: nothing is allocated or uncompressed for it. */
static nay_status claim_size(void *ctx, const void *src, size_t len, size_t *size) {
  (void)src, (void)len;
  *size = *(const size_t *)ctx;
  return NAY_OK;
}

static nay_status never_uncompress(void *ctx, const void *src, size_t len, void *dst, size_t size) {
  (void)ctx, (void)src, (void)len, (void)dst, (void)size;
  return NAY_ECORRUPT;
}

static void claims(void **unused) {
  (void)unused;
  static const size_t ratios[] = {0, 22, 32768, 0};
  for (uint8_t id = 1; id < 4; id++) {
    for (int above = 0; above < 2; above++) {
      uint8_t block[8 + NAY_BLOCK_TRAILER] = {0};
      size_t claim = (ratios[id] != 0 ? ratios[id] : 1000000) * 9 - !above, size;
      nay_sst_codec codec = {sizeof codec, id, .ctx = &claim};
      const nay_sst_codec *const list[] = {&codec}, *found;
      nay_diag diag = {.what = NULL};
      codec.uncompressed_size = claim_size;
      codec.uncompress = never_uncompress;
      block[8] = id;
      nay_status status = nay_sst__codec_plan(list, 1, false, block, (nay_handle){0, 8}, UINT64_MAX,
                                              &diag, &found, &size);
      assert_status(status, above && ratios[id] != 0 ? NAY_ECORRUPT : NAY_OK);
      if (status != NAY_OK) {
        assert_string_equal(diag.what,
                            "a compressed block states a size that its codec cannot produce");
      }
    }
  }
}

/* Random damage under checksums that fit: answers may be wrong, but all calls come back. */
static void sealed_damage(void **unused) {
  (void)unused;
  victim v[8];
  uint64_t state = 5;
  unsigned opened = 0, refused = 0;
  for (size_t n = victims(v), i = 0; i < n; i++) {
    size_t len;
    uint8_t *bytes = victim_bytes(&v[i], &len), *copy = malloc(len);
    nay_sst_read_options how = reading();
    how.max_block_bytes = 1 << 16;
    for (int round = 0; round < TEST_SCALE(2000); round++) {
      memcpy(copy, bytes, len);
      how.keys = (nay_sst_keys)(round % 3);
      for (uint64_t flips = 1 + (state >> 60) % 4; flips > 0; flips--) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        size_t at = (state >> 33) % (round % 2 == 0 ? len : 200); /* the end: index and footer */
        copy[round % 2 == 0 ? at : len - 1 - at % len] ^= (uint8_t)(1u << (state >> 30) % 8);
      }
      seal_table(copy, len);
      *(exercise_table(copy, len, &how) == NAY_OK ? &opened : &refused) += 1;
    }
    free(bytes);
    free(copy);
  }
  assert_true(opened > 100 && refused > 20);
}

int main(void) {
  const test_case tests[] = {
      TEST(every_flip),    TEST(every_truncation), TEST(broken_filters_cost_only_work),
      TEST(hostile_sizes), TEST(a_bomb),           TEST(claims),
      TEST(sealed_damage),
  };
  return run_all(tests);
}
