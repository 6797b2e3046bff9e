/*
 * fuzz_map.c - static maps. The first byte says how: bit 0, the rest is a file, whose digests are
 * made right first if bit 1 is set; else the rest is a set of pairs, two bytes for a key and one
 * for its value, of which a map is built and compared with a table.
 */
#include "build/map_build.h"
#include "filter.h"
#include "nay_explain.h"
#include "nay_map.h"
#include "support/exercise.h"
#include "support/native.h"

/* Lookups: single and batch agree. */
static void map_probe(const nay_filter *map, uint64_t salt) {
  uint64_t hashes[70], values[70], bitmap[2], value;
  nay_stats stats = {.size = sizeof stats};
  CHECK(nay_filter_stats(map, &stats) == NAY_OK);
  CHECK(stats.value_bits >= 1 && stats.value_bits + stats.check_bits <= 64);
  for (unsigned i = 0; i < 70; i++) hashes[i] = nay_hash_mix(salt + i);
  bitmap[0] = nay__map_get(map, hashes, 64, values);
  bitmap[1] = nay__map_get(map, hashes + 64, 6, values + 64);
  for (unsigned i = 0; i < 70; i++) {
    nay_status status = nay_filter_get_hash(map, (nay_hash){hashes[i], 0}, &value);
    CHECK(status == ((bitmap[i / 64] >> i % 64 & 1) != 0 ? NAY_OK : NAY_ENOENT));
    CHECK(status != NAY_OK || value == values[i]);
    nay_hash hash = {hashes[i], 0};
    CHECK(nay_filter_may_contain_hash(map, hash) == (status == NAY_OK || stats.check_bits == 0));
    nay_explanation why = {.size = sizeof why};
    CHECK(nay__filter_explain_hash(map, hash, NULL, NULL, &why) == NAY_OK);
    CHECK(why.maybe == nay_filter_may_contain_hash(map, hash));
    CHECK(values[i] <= UINT64_MAX >> (64 - stats.value_bits));
  }
}

static void map_bytes(uint8_t *p, size_t len, bool seal) {
  flaky heap = {.fail_at = -1};
  nay_allocator a = flaky_allocator(&heap);
  nay_filter *map = NULL;
  nay_view view = {.size = sizeof view};
  if (seal) native_seal(p, len);
  nay_status status = nay_filter_decode(p, len, &a, NULL, &map);
  CHECK(heap.peak <= exercise_limit(len));
  CHECK((status == NAY_OK) == (nay_view_open(p, len, NULL, NULL, &view) == NAY_OK));
  bool is_map = status == NAY_OK && nay_filter_kind(map) == NAY_MAP; /* or another family */
  if (is_map) {
    map_probe(map, len);
    map_probe(nay_view_filter(&view), len);
    size_t size = nay_filter_encoded_size(map), written;
    uint8_t *again = malloc(size);
    CHECK(again != NULL && nay_filter_encode(map, again, size, &written) == NAY_OK);
    nay_filter *back = NULL;
    CHECK(nay_filter_decode(again, written, &a, NULL, &back) == NAY_OK);
    nay_filter_free(back);
    free(again);
  }
  nay_filter_free(map);
  CHECK(flaky_is_clean(&heap));
}

static void map_pairs(const uint8_t *p, size_t n, unsigned check_bits) {
  static uint16_t table[65536]; /* 1 + the value; 0: absent */
  uint64_t *hashes = calloc(n + 1, 8), *values = calloc(n + 1, 8), conflict = UINT64_MAX;
  memset(table, 0, sizeof table);
  for (size_t i = 0; i < n; i++) {
    unsigned key = p[3 * i] | (unsigned)p[3 * i + 1] << 8;
    values[i] = p[3 * i + 2];
    hashes[i] = key; /* not mixed: crowds */
    if (table[key] == 0) table[key] = (uint16_t)(values[i] + 1);
    if (table[key] != values[i] + 1 && conflict == UINT64_MAX) conflict = i;
  }
  nay_params params = {
      .size = sizeof params, .kind = NAY_MAP, .check_bits = check_bits, .hash = NAY_HASH_CALLER};
  nay_filter *map = NULL;
  nay_diag diag = {.offset = 0};
  nay_status status = nay__map_build_arrays(&params, hashes, values, n, NULL, &diag, &map);
  CHECK(status == (conflict == UINT64_MAX ? NAY_OK : NAY_EINVAL));
  CHECK(status == NAY_OK || diag.offset == conflict);
  for (size_t i = 0; i < n && status == NAY_OK; i++) {
    uint64_t value;
    CHECK(nay_filter_get_hash(map, (nay_hash){hashes[i], 0}, &value) == NAY_OK &&
          value == values[i]);
  }
  if (status == NAY_OK) map_probe(map, n);
  nay_filter_free(map);
  free(hashes);
  free(values);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  size_t len = size - 1;
  uint8_t *p = malloc(len == 0 ? 1 : len); /* exact: a read past the end is seen */
  if (p == NULL) return 0;
  memcpy(p, data + 1, len);
  if ((data[0] & 1) != 0) map_bytes(p, len, (data[0] & 2) != 0);
  if ((data[0] & 1) == 0) map_pairs(p, len / 3, data[0] >> 2 & 15);
  free(p);
  return 0;
}
