/* entry_totals.c - totals over the entries of a table: counting, storing, loading and checking. See
 * entry_totals.h. */
#include "block/entry_totals.h"

#include "block/properties.h"

#define STATS_ENTRIES "nay.entries"
#define STATS_SMALLEST "nay.smallest.key"
#define STATS_LARGEST "nay.largest.key"

void nay_sst__table_stats_add(nay_table_stats *s, nay_order order, const uint8_t *key, size_t len,
                              size_t value_len) {
  s->key_bytes += len;
  s->value_bytes += value_len;
  if (order.internal) {
    uint64_t trailer = nay__load64le(key + len - NAY_KEY_TRAILER), sequence = trailer >> 8;
    s->ndeletions += (trailer & 0xff) == 0;
    s->nmerges += (trailer & 0xff) == 2;
    if (s->nentries == 0 || sequence < s->smallest_sequence) s->smallest_sequence = sequence;
    if (sequence > s->largest_sequence) s->largest_sequence = sequence;
  }
  s->nentries++;
}

/* The stored numbers by name, ascending. The names of the two keys sort between them: `key` is
 * written before the number of its row. */
typedef struct stats_row {
  const char *name;
  size_t at; /* offset in nay_table_stats */
  bool internal;
  const char *key; /* NULL: no key precedes the number */
} stats_row;

static const stats_row stats_rows[] = {
    {"nay.deletions", offsetof(nay_table_stats, ndeletions), true, NULL},
    {STATS_ENTRIES, offsetof(nay_table_stats, nentries), false, NULL},
    {"nay.key.bytes", offsetof(nay_table_stats, key_bytes), false, NULL},
    {"nay.largest.sequence", offsetof(nay_table_stats, largest_sequence), true, STATS_LARGEST},
    {"nay.merges", offsetof(nay_table_stats, nmerges), true, NULL},
    {"nay.smallest.sequence", offsetof(nay_table_stats, smallest_sequence), true, STATS_SMALLEST},
    {"nay.value.bytes", offsetof(nay_table_stats, value_bytes), false, NULL},
};
#define STATS_ROWS (sizeof stats_rows / sizeof stats_rows[0])

static nay_status stats_store_key(const nay_table_stats *s, const char *name,
                                  nay_block_builder *builder, const nay_allocator *a) {
  bool is_smallest = strcmp(name, STATS_SMALLEST) == 0;
  nay_bytes key = is_smallest ? s->smallest : s->largest;
  return nay_sst__property_add(builder, name, key.len != 0 ? key.at : (const uint8_t *)"", key.len,
                               a);
}

nay_status nay_sst__table_stats_store(const nay_table_stats *s, nay_order order,
                                      nay_block_builder *builder, const nay_allocator *a) {
  for (size_t i = 0; i < STATS_ROWS; i++) {
    const stats_row *row = &stats_rows[i];
    if (row->key != NULL && s->nentries != 0) NAY_TRY(stats_store_key(s, row->key, builder, a));
    if (row->internal && !order.internal) continue;
    uint64_t number;
    uint8_t value[NAY_VARINT64_MAX];
    memcpy(&number, (const uint8_t *)s + row->at, sizeof number);
    size_t len = (size_t)(nay__varint_store(value, number) - value);
    NAY_TRY(nay_sst__property_add(builder, row->name, value, len, a));
  }
  return NAY_OK;
}

nay_status nay_sst__table_stats_load(nay_table_stats *s, nay_bytes name, nay_bytes value) {
  if (nay_sst__bytes_are(name, STATS_SMALLEST)) {
    s->smallest = value;
    s->has_smallest = true;
  } else if (nay_sst__bytes_are(name, STATS_LARGEST)) {
    s->largest = value;
    s->has_largest = true;
  }
  for (size_t i = 0; i < STATS_ROWS; i++) {
    const uint8_t *end = value.at + value.len;
    uint64_t number = 0;
    if (!nay_sst__bytes_are(name, stats_rows[i].name)) continue;
    if (nay__varint64_load(value.at, end, &number) != end || value.len == 0) return NAY_ECORRUPT;
    memcpy((uint8_t *)s + stats_rows[i].at, &number, sizeof number);
    if (strcmp(stats_rows[i].name, STATS_ENTRIES) == 0) s->has_entries = true;
  }
  return NAY_OK;
}

bool nay_sst__table_stats_check(const nay_table_stats *s, nay_order order) {
  bool keys = s->nentries != 0;
  if (!s->has_entries) return !s->has_smallest && !s->has_largest;
  if (s->has_smallest != keys || s->has_largest != keys) return false;
  if (s->ndeletions > s->nentries || s->nmerges > s->nentries - s->ndeletions) return false;
  if (s->smallest_sequence > s->largest_sequence || s->largest_sequence > NAY_SST_MAX_SEQUENCE) {
    return false;
  }
  if (!keys) return s->key_bytes == 0 && s->value_bytes == 0;
  if (s->smallest.len > s->key_bytes || s->largest.len > s->key_bytes) return false;
  return nay_sst__compare_users(order, s->smallest.at, s->smallest.len, s->largest.at,
                                s->largest.len) <= 0;
}
