/*
 * fuzz_merge.c - merging iterators over two untrusted tables, with checksums that fit.
 *
 *   | flags u8 | number of movements u8 | movements | length of the first table u16le | table |
 * table |
 *
 * A movement of 0 to 5 is first, last, next, prev, seek, seek_for_prev; seeks take a key by the
 * rest of the byte. With an even number of movements there is a merge operator. Whatever the bytes
 * are: every call comes back, user keys ascend, and if neither
 * walk from end to end fails, both have as many entries.
 */
#include "nay_sst_iter.h"
#include "support/sst_seal.h"

static const char *const keys[] = {"", "key00000010", "a", "\xff\xff", "user/1", "b", "key"};

static const nay_sst_comparator *the_order;

static int compare(const void *a, size_t a_len, const void *b, size_t b_len) {
  nay_order order = {the_order, false};
  return nay_sst__compare_users(order, a, a_len, b, b_len);
}

/* Reads what it is at; the sum keeps the compiler from leaving it out. */
static unsigned touch(nay_sst_scan *m, nay_sst_value *pin) {
  size_t len, value_len;
  const uint8_t *key = nay_sst_scan_key(m, &len), *value = nay_sst_scan_value(m, &value_len);
  unsigned sum = 0;
  for (size_t i = 0; i < len; i++) sum += key[i];
  for (size_t i = 0; i < value_len; i++) sum += value[i];
  if (sum % 3 == 0 && nay_sst_scan_pin(m, pin) == NAY_OK) sum += pin->len != value_len;
  return sum;
}

/* From end to end; the number of entries, or SIZE_MAX if it failed. */
static size_t walk(nay_sst_scan *m, bool backward, bool strict) {
  nay_buffer last = {NULL, 0, 0};
  nay_allocator a = nay__allocator_default();
  nay_sst_value pin = {.size = sizeof pin};
  size_t n = 0;
  nay_status status = backward ? nay_sst_scan_last(m) : nay_sst_scan_first(m);
  for (; status == NAY_OK; n++) {
    size_t len;
    const uint8_t *key = nay_sst_scan_key(m, &len);
    int order = n == 0 ? 1 : compare(key, len, last.at, last.len);
    if (n != 0 && backward) order = -order;
    if (order < 0 || (strict && order == 0)) abort();
    last.len = 0;
    if (nay__buffer_append(&last, key, len, &a) != NAY_OK) abort();
    (void)touch(m, &pin);
    status = backward ? nay_sst_scan_prev(m) : nay_sst_scan_next(m);
  }
  if (status != NAY_EEND && nay_sst_scan_diag(m)->what == NULL) abort();
  nay_sst_value_free(&pin);
  nay__buffer_free(&last, &a);
  return status == NAY_EEND ? n : SIZE_MAX;
}

static void move(nay_sst_scan *m, uint8_t what) {
  const char *key = keys[what / 6 % (sizeof keys / sizeof *keys)];
  nay_sst_value pin = {.size = sizeof pin};
  nay_status status;
  switch (what % 6) {
    case 0: status = nay_sst_scan_first(m); break;
    case 1: status = nay_sst_scan_last(m); break;
    case 2: status = nay_sst_scan_next(m); break;
    case 3: status = nay_sst_scan_prev(m); break;
    case 4: status = nay_sst_scan_seek(m, key, strlen(key)); break;
    default: status = nay_sst_scan_seek_for_prev(m, key, strlen(key)); break;
  }
  if ((status == NAY_OK) != (nay_sst_scan_key(m, &(size_t){0}) != NULL)) abort();
  if (status == NAY_OK) (void)touch(m, &pin);
  nay_sst_value_free(&pin);
}

static void merge(const nay_sst_lookup *l, uint8_t flags, const uint8_t *moves, size_t nmoves) {
  nay_sst_scan *m;
  nay_sst_scan_options how = {.size = sizeof how,
                              .sequence = flags & 4 ? &(uint64_t){5} : NULL,
                              .lower = flags & 8 ? "key" : NULL,
                              .lower_len = flags & 8 ? 3 : 0,
                              .keep_deletions = (flags & 16) != 0,
                              .all_versions = (flags & 32) != 0};
  if (nay_sst_scan_new(l, &how, NULL, NULL, &m) != NAY_OK) return;
  for (size_t i = 0; i < nmoves; i++) move(m, moves[i]);
  size_t n = walk(m, false, !how.all_versions), back = walk(m, true, !how.all_versions);
  if (n != SIZE_MAX && back != SIZE_MAX && n != back) abort();
  nay_sst_scan_free(m);
}

static nay_sst *open_copy(const uint8_t *data, size_t len, const nay_sst_read_options *how,
                          uint8_t **copy) {
  nay_sst *t = NULL;
  *copy = malloc(len == 0 ? 1 : len); /* exactly as long, for the sanitizer */
  if (*copy == NULL) abort();
  memcpy(*copy, data, len);
  seal_table(*copy, len);
  return nay_sst_view(*copy, len, how, NULL, NULL, &t) == NAY_OK ? t : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 4 || size < (size_t)data[1] + 4) return 0;
  const nay_sst_codec *codecs[] = {&invert_codec};
  const uint8_t *moves = data + 2, *tables = moves + data[1] + 2;
  size_t left = size - (size_t)(tables - data), first = nay__load16le(tables - 2);
  if (first > left) first = left;
  nay_sst_comparator reverse = {.size = sizeof reverse};
  if (nay_sst_comparator_find("rocksdb.ReverseBytewiseComparator", &reverse) != NAY_OK) abort();
  the_order = data[0] & 64 ? &reverse : NULL;
  nay_sst_read_options how = {.size = sizeof how,
                              .keys = data[0] & 1 ? NAY_SST_KEYS_INTERNAL : NAY_SST_KEYS_PLAIN,
                              .codecs = codecs,
                              .ncodecs = data[0] >> 1 & 1,
                              .comparator = the_order,
                              .max_block_bytes = 1 << 16};
  uint8_t *bytes[2];
  nay_sst *t[2] = {open_copy(tables, first, &how, &bytes[0]),
                   open_copy(tables + first, left - first, &how, &bytes[1])};
  nay_sst_lookup *l;
  if (t[0] != NULL && t[1] != NULL) {
    nay_sst_lookup_options merges = {sizeof merges,
                                     .merge = data[1] % 2 == 0 ? append_operands : NULL};
    nay_sst_lookup_level level = {.size = sizeof level,
                                  .tables = (const nay_sst *const *)t,
                                  .n = 2,
                                  .disjoint = (data[0] & 128) != 0};
    if (nay_sst_lookup_new(&level, 1, &merges, NULL, NULL, &l) == NAY_OK) {
      merge(l, data[0], moves, data[1]);
      nay_sst_lookup_free(l);
    }
  }
  for (int i = 0; i < 2; i++) {
    nay_sst_free(t[i]);
    free(bytes[i]);
  }
  return 0;
}
