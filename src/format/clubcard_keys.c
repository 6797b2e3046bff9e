/* clubcard_keys.c - see clubcard_keys.h. Keys are SHA-256 digests, so bits of them are buckets. */
#include "format/clubcard_keys.h"

#include "base/sort.h"

void nay__clubset_free(nay_clubset *set, const nay_allocator *a) {
  nay__buffer_free(&set->items, a);
  nay__buffer_free(&set->buckets, a);
}

static int clubkey_order(const nay_clubkey *x, const nay_clubkey *y) {
  static const unsigned words[4] = {1, 0, 2, 3}; /* a[1] is what is sorted first */
  for (unsigned i = 0; i < 4; i++) {
    uint64_t p = x->a[words[i]], q = y->a[words[i]];
    if (p != q) return p < q ? -1 : 1;
  }
  return 0;
}

/* Of an array that is sorted but for ties in the leading bits of a[1]. */
static size_t clubset_settle(nay_clubitem *items, size_t n) {
  size_t kept = 0;
  for (size_t i = 0; i < n; i++) {
    nay_clubitem item = items[i];
    size_t at = kept;
    while (at > 0 && clubkey_order(&items[at - 1].key, &item.key) > 0) at--;
    if (at > 0 && clubkey_order(&items[at - 1].key, &item.key) == 0) continue;
    memmove(items + at + 1, items + at, (kept - at) * sizeof *items);
    items[at] = item;
    kept++;
  }
  return kept;
}

nay_status nay__clubset_sort(nay_clubset *set, const nay_allocator *a) {
  size_t n = nay__clubset_n(set), nbytes;
  if (n < 2) return NAY_OK;
  if (n > (size_t)1 << 31) return NAY_EFULL;
  unsigned bits = nay__log2_64(n - 1) + 1;
  nay_buffer sorted = {NULL, 0, 0};
  if (!nay__mul_ok(n, sizeof(uint64_t), &nbytes)) return NAY_ENOMEM;
  uint64_t *order = nay__alloc(a, nbytes);
  nay_status status = order == NULL ? NAY_ENOMEM : nay__buffer_reserve(&sorted, set->items.len, a);
  if (status == NAY_OK) {
    const nay_clubitem *items = nay__clubset_at(set);
    for (size_t i = 0; i < n; i++) order[i] = items[i].key.a[1] >> bits << bits | i;
    nay__sort_u64(order, n);
    nay_clubitem *to = (nay_clubitem *)(void *)sorted.at;
    for (size_t i = 0; i < n; i++) to[i] = items[order[i] & (((uint64_t)1 << bits) - 1)];
    sorted.len = clubset_settle(to, n) * sizeof *to;
    nay__buffer_free(&set->items, a);
    set->items = sorted;
  }
  nay__free(a, order, nbytes);
  return status;
}

static size_t clubset_bucket(const nay_clubset *set, const nay_clubkey *key) {
  return set->bucket_bits == 0 ? 0 : (size_t)(key->a[1] >> (64 - set->bucket_bits));
}

nay_status nay__clubset_index(nay_clubset *set, const nay_allocator *a) {
  size_t n = nay__clubset_n(set);
  set->bucket_bits = n < 2 ? 0 : nay__log2_64(n);
  size_t nbuckets = ((size_t)1 << set->bucket_bits) + 1;
  NAY_TRY(nay__buffer_reserve(&set->buckets, nbuckets * sizeof(uint32_t), a));
  uint32_t *first = (uint32_t *)(void *)set->buckets.at;
  const nay_clubitem *items = nay__clubset_at(set);
  size_t i = 0;
  for (size_t b = 0; b < nbuckets; b++) {
    while (i < n && clubset_bucket(set, &items[i].key) < b) i++;
    first[b] = (uint32_t)i;
  }
  return NAY_OK;
}

size_t nay__clubset_find(const nay_clubset *set, const nay_clubkey *key) {
  const uint32_t *first = (const uint32_t *)(const void *)set->buckets.at;
  const nay_clubitem *items = nay__clubset_at(set);
  size_t b = clubset_bucket(set, key);
  for (size_t i = first[b]; i < first[b + 1]; i++) {
    if (memcmp(&items[i].key, key, sizeof *key) == 0) return i;
  }
  return SIZE_MAX;
}

bool nay__clubrecords_count(const uint8_t *bytes, size_t len, size_t *n) {
  *n = 0;
  for (size_t at = 0; at < len; at += 1 + (size_t)bytes[at], ++*n) {
    if (bytes[at] == 0 || bytes[at] >= len - at) return false;
  }
  return true;
}

bool nay__clubrecords_next(nay_clubrecords *records, nay_clubitem *item) {
  if (records->at >= records->len) return false;
  const uint8_t *record = records->bytes + records->at;
  item->record = record;
  item->key = nay__clubkey(records->issuer, record + 1, record[0]);
  records->at += 1 + (size_t)record[0];
  return true;
}
