/*
 * fuzz_list.c - exact lists. The first byte says how: bit 0, the rest is a file, whose digests are
 * made right first if bit 1 is set; else the rest is adds, of which a list is built and compared
 * with a table: a byte for what is known of the key and its length, and two that the key is made
 * of.
 */
#include "nay_explain.h"
#include "nay_list.h"
#include "support/exercise.h"
#include "support/native.h"

/* One by one and in batches; whatever the answers are, they agree. */
static void list_probe(const nay_filter *list, uint64_t salt) {
  uint8_t bytes[70][24];
  const void *keys[70];
  size_t lens[70];
  uint64_t values[70], known[2], maybe[2], value;
  nay_stats stats = {.size = sizeof stats};
  CHECK(nay_filter_stats(list, &stats) == NAY_OK);
  for (unsigned i = 0; i < 70; i++) {
    for (unsigned k = 0; k < 24; k++) bytes[i][k] = (uint8_t)(nay_hash_mix(salt + i) >> k % 8 * 8);
    if (i % 3 == 0) bytes[i][2] = ',';
    keys[i] = bytes[i], lens[i] = i % 25;
  }
  nay_status all = nay_filter_get_many(list, keys, lens, 70, values, known);
  CHECK(nay_filter_may_contain_many(list, keys, lens, 70, maybe) == NAY_OK || all != NAY_OK);
  for (unsigned i = 0; i < 70; i++) {
    nay_status status = nay_filter_get(list, keys[i], lens[i], &value);
    if (all != NAY_OK) {
      CHECK(status == all && nay_filter_may_contain(list, keys[i], lens[i]));
      continue;
    }
    CHECK(status == (nay_bitmap_get(known, i) ? NAY_OK : NAY_ENOENT));
    CHECK(values[i] <= 1 && (status != NAY_OK || value == values[i]));
    CHECK(nay_bitmap_get(maybe, i) == (status == NAY_OK && value == 1));
    CHECK(nay_filter_may_contain(list, keys[i], lens[i]) == nay_bitmap_get(maybe, i));
    nay_explanation why = {.size = sizeof why};
    CHECK(nay_filter_explain(list, keys[i], lens[i], NULL, NULL, &why) == NAY_OK);
    CHECK(why.maybe == nay_bitmap_get(maybe, i));
  }
}

static void list_bytes(uint8_t *p, size_t len, bool seal) {
  flaky heap = {.fail_at = -1};
  nay_allocator a = flaky_allocator(&heap);
  nay_filter *list = NULL;
  nay_view view = {.size = sizeof view};
  if (seal) native_seal(p, len);
  nay_status status = nay_filter_decode(p, len, &a, NULL, &list);
  CHECK(heap.peak <= exercise_limit(len));
  CHECK((status == NAY_OK) == (nay_view_open(p, len, NULL, NULL, &view) == NAY_OK));
  if (status == NAY_OK && nay_filter_kind(list) == NAY_LIST) { /* or another family */
    list_probe(list, len);
    list_probe(nay_view_filter(&view), len);
    size_t size = nay_filter_encoded_size(list), written;
    uint8_t *again = malloc(size);
    CHECK(again != NULL && nay_filter_encode(list, again, size, &written) == NAY_OK);
    nay_filter *back = NULL;
    CHECK(nay_filter_decode(again, written, &a, NULL, &back) == NAY_OK);
    nay_filter_free(back);
    free(again);
  }
  nay_filter_free(list);
  CHECK(flaky_is_clean(&heap));
}

/* A key of 4 to 19 bytes, which begins with one of a few partitions. */
static size_t list_key(const uint8_t *p, uint8_t key[24]) {
  size_t len = 4 + (p[0] >> 2 & 15);
  memset(key, 'x', 24);
  key[0] = p[1] & 15;
  key[1] = ',';
  key[2] = p[1];
  key[3] = p[2];
  return len;
}

static void list_adds(const uint8_t *p, size_t n, unsigned how) {
  static uint8_t table[16][65536]; /* by length and the two bytes: what was added, a bit for each */
  memset(table, 0, sizeof table);
  nay_params params = {.size = sizeof params, .kind = NAY_LIST, .check_bits = how >> 1 & 3};
  if ((how & 1) != 0) params.list_prefix = how >> 3;
  if ((how & 1) == 0 && how >= 8) params.list_delimiter = ',';
  nay_builder *b;
  nay_filter *list = NULL;
  bool conflict = false;
  CHECK(nay_builder_new(&params, NULL, NULL, &b) == NAY_OK);
  for (size_t i = 0; i < n; i++) {
    const uint8_t *add = p + 3 * i;
    uint8_t key[24], *cell = &table[add[0] >> 2 & 15][add[1] | add[2] << 8];
    size_t len = list_key(add, key);
    unsigned status = add[0] & 3;
    if (status < 2) CHECK(nay_builder_add_value(b, key, len, status) == NAY_OK);
    if (status >= 2) CHECK(nay_builder_add(b, key, len) == NAY_OK);
    *cell |= (uint8_t)(1u << status);
    conflict |= (*cell & 3) == 3;
  }
  CHECK(nay_builder_finish(b, NULL, &list) == (conflict ? NAY_EINVAL : NAY_OK));
  for (size_t i = 0; i < n && !conflict; i++) {
    uint8_t key[24];
    uint64_t value;
    size_t len = list_key(p + 3 * i, key);
    unsigned listed = table[p[3 * i] >> 2 & 15][p[3 * i + 1] | p[3 * i + 2] << 8] >> 1 & 1;
    CHECK(nay_filter_get(list, key, len, &value) == NAY_OK && value == listed);
  }
  if (!conflict) list_probe(list, n);
  nay_filter_free(list);
  nay_builder_free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  size_t len = size - 1;
  uint8_t *p = malloc(len == 0 ? 1 : len); /* exact: a read past the end is seen */
  if (p == NULL) return 0;
  memcpy(p, data + 1, len);
  if ((data[0] & 1) != 0) list_bytes(p, len, (data[0] & 2) != 0);
  if ((data[0] & 1) == 0) list_adds(p, len / 3, data[0] >> 1);
  free(p);
  return 0;
}
