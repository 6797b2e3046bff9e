/*
 * lookup_many.c - gets many keys from many tables (RocksDB's MultiGet).
 *
 * A get of a single key goes from table to table: each filter probe waits for its own cache miss,
 * and the key is compared with the key range of every table. Here the keys are sorted, and each
 * table is given all keys that no newer table has answered:
 *
 *   keys      sorted once: a binary search finds the keys in a table's range, blocks are read in
 *             file order, and each block is read once for all its keys
 *   hashes    computed once, for all keys together
 *   filters   probed in one batch per table: the filter's lines stay in cache, its misses overlap
 *
 * A key leaves the batch when a table answers it with a value, a deletion or an error. A key whose
 * newest version is a merge operand leaves the batch, too: a get of that key alone continues from
 * that table. The caller's array is processed in chunks of MANY keys, which bounds the memory to
 * about 300 KiB.
 */
#include "table/get.h"
#include "tree/lookup.h"

#define MANY 4096u /* keys of a chunk */

/* many_key: an element of the sort. */
typedef struct many_key {
  uint64_t head;   /* bytewise order: the 8 bytes after the prefix that all keys share, big-endian;
                      custom comparators: 0 */
  uint32_t number; /* of the key in the chunk */
} many_key;

/* many_chunk: a chunk of keys. Its arrays are in one allocation. */
typedef struct many_chunk {
  const nay_sst_lookup *lookup;
  nay_order order;
  const void *const *keys; /* the caller's keys, from the first of the chunk */
  const size_t *lens;
  size_t n;
  many_key *sorted, *scratch; /* the sorted keys; scratch of the sort */
  nay_get_batch batch;        /* the keys that are not answered yet */
  void *memory;
  size_t memory_bytes;
} many_chunk;

/* ---- sorting ---- */

static nay_bytes many_bytes(const many_chunk *p, uint32_t number) {
  return (nay_bytes){p->lens[number] != 0 ? p->keys[number] : "", p->lens[number]};
}

static bool many_above(const many_chunk *p, const many_key *a, const many_key *b) {
  if (a->head != b->head) return a->head > b->head;
  nay_bytes x = many_bytes(p, a->number), y = many_bytes(p, b->number);
  return nay_sst__compare_users(p->order, x.at, x.len, y.at, y.len) > 0;
}

/* Length of the longest common prefix of all keys. */
static size_t many_common(const many_chunk *p) {
  nay_bytes first = many_bytes(p, 0);
  size_t common = first.len;
  for (uint32_t i = 1; i < p->n && common != 0; i++) {
    nay_bytes key = many_bytes(p, i);
    common = nay_sst__common(first.at, key.at, key.len < common ? key.len : common);
  }
  return common;
}

static uint64_t many_head(nay_bytes key, size_t common) {
  uint8_t head[8] = {0};
  size_t n = key.len - common < 8 ? key.len - common : 8;
  if (n != 0) memcpy(head, key.at + common, n);
  return (uint64_t)nay__load32be(head) << 32 | nay__load32be(head + 4);
}

/* Bottom-up merge sort, stable. Most comparisons are decided by the heads. */
static void many_sort(many_chunk *p) {
  size_t common = p->order.user == NULL ? many_common(p) : 0;
  for (uint32_t i = 0; i < p->n; i++) {
    p->sorted[i] = (many_key){0, i};
    if (p->order.user == NULL) p->sorted[i].head = many_head(many_bytes(p, i), common);
  }
  for (size_t width = 1; width < p->n; width *= 2) {
    for (size_t low = 0; low < p->n; low += 2 * width) {
      size_t middle = low + width < p->n ? low + width : p->n;
      size_t high = middle + width < p->n ? middle + width : p->n;
      size_t a = low, b = middle, out = low;
      while (a < middle && b < high) {
        bool second = many_above(p, &p->sorted[a], &p->sorted[b]);
        p->scratch[out++] = second ? p->sorted[b++] : p->sorted[a++];
      }
      while (a < middle) p->scratch[out++] = p->sorted[a++];
      while (b < high) p->scratch[out++] = p->sorted[b++];
    }
    many_key *done = p->scratch;
    p->scratch = p->sorted;
    p->sorted = done;
  }
}

static void many_fill(many_chunk *p) {
  nay_get_batch *b = &p->batch;
  many_sort(p);
  for (size_t i = 0; i < p->n; i++) {
    uint32_t number = p->sorted[i].number;
    b->keys[i] = many_bytes(p, number).at;
    b->lens[i] = p->lens[number];
    b->numbers[i] = number;
    b->statuses[number] = NAY_ENOENT;
    b->answered[number] = false;
    ((nay_sst_value *)(void *)(b->values + number * b->stride))->deleted = false;
  }
  b->n = p->n;
  b->hashed = false;
  b->nanswered = 0;
  b->noperands = 0;
  b->failed = UINT32_MAX;
}

/* ---- tables ---- */

/* Removes the answered keys from the batch. */
static void many_remove_answered(nay_get_batch *b) {
  size_t n = 0;
  if (b->nanswered == 0) return;
  for (size_t i = 0; i < b->n; i++) {
    if (b->answered[b->numbers[i]]) continue;
    b->keys[n] = b->keys[i];
    b->lens[n] = b->lens[i];
    b->numbers[n] = b->numbers[i];
    if (b->hashed) b->lo[n] = b->lo[i];
    if (b->hashed) b->hi[n] = b->hi[i];
    n++;
  }
  b->n = n;
  b->nanswered = 0;
}

/* The position of the first key, from `from` on, at or above the smallest key of table t. */
static size_t many_lower_bound(const many_chunk *p, size_t from, const nay_sst *t) {
  const nay_get_batch *b = &p->batch;
  size_t to = b->n, len = nay_sst__user_len(t->order, t->range.smallest.len);
  while (from < to) {
    size_t middle = from + (to - from) / 2;
    if (nay_sst__compare_users(t->order, b->keys[middle], b->lens[middle], t->range.smallest.at,
                               len) < 0) {
      from = middle + 1;
    } else {
      to = middle;
    }
  }
  return from;
}

/* Repeats the get of one key, which met a merge operand in slot i of a level, from that slot on. A
 * disjoint level ignores i. */
static void many_resolve_key(many_chunk *p, size_t level, size_t i, size_t at) {
  nay_get_batch *b = &p->batch;
  uint32_t number = b->numbers[at];
  nay_sst_value *v = (nay_sst_value *)(void *)(b->values + number * b->stride);
  nay_target target = {many_bytes(p, number).at, b->lens[at], b->trailer};
  nay_hash_memo memo = {.set = b->hashed, .hasher = b->hasher};
  nay_diag why;
  size_t table = b->table;
  if (b->hashed) memo.hash = (nay_hash){b->lo[at], b->hi[at]};
  nay_status status =
      nay_sst__lookup_get_from(p->lookup, level, i, &target, &memo, &why, v, &table);
  b->nhashes += memo.nhashes;
  b->statuses[number] = status;
  if (b->tables != NULL) b->tables[number] = table;
  if (status != NAY_OK && status != NAY_ENOENT) nay_sst__get_failed(b, number, &why);
}

/* Resolves the merge operands that keys of the batch met in slot i of a level. */
static void many_resolve_operands(many_chunk *p, size_t level, size_t i) {
  nay_get_batch *b = &p->batch;
  for (size_t at = 0; at < b->n && b->noperands != 0; at++) {
    if (b->statuses[b->numbers[at]] != NAY_GET_OPERAND) continue;
    many_resolve_key(p, level, i, at);
    b->noperands--;
  }
}

/* Searches a disjoint level. Keys and tables both ascend, so each table gets one contiguous range
 * of keys, up to the smallest key of the next table. */
static void many_disjoint(many_chunk *p, size_t number) {
  const nay_level_slots *level = &p->lookup->levels[number];
  nay_get_batch *b = &p->batch;
  const nay_sst_lookup_slot *end = p->lookup->slots + level->first + level->n;
  for (size_t from = 0, to; from < b->n; from = to) {
    const nay_sst_lookup_slot *slot =
        nay_sst__lookup_find_slot(p->lookup, level, b->keys[from], b->lens[from]);
    const nay_sst_lookup_slot *next = slot != NULL ? slot + 1 : p->lookup->slots + level->first;
    to = next < end ? many_lower_bound(p, from, next->table) : b->n;
    if (slot == NULL) continue;
    b->table = slot->number;
    nay_sst__get_many(slot->table, b, from, to);
  }
  many_resolve_operands(p, number, 0);
  many_remove_answered(b);
}

static void many_level(many_chunk *p, size_t number) {
  const nay_level_slots *level = &p->lookup->levels[number];
  nay_get_batch *b = &p->batch;
  if (level->n == 0) return;
  if (level->disjoint) {
    many_disjoint(p, number);
    return;
  }
  for (size_t i = 0; i < level->n && b->n != 0; i++) {
    const nay_sst_lookup_slot *slot = &p->lookup->slots[level->first + i];
    b->table = slot->number;
    nay_sst__get_many(slot->table, b, 0, b->n);
    many_resolve_operands(p, number, i);
    many_remove_answered(b);
  }
}

/* ---- the call ---- */

/* Allocates the arrays of a chunk of n keys, those with the strictest alignment first. */
static nay_status many_alloc(many_chunk *p, size_t n) {
  nay_get_batch *b = &p->batch;
  size_t words = (n + 63) / 64;
  p->memory_bytes = n * (2 * sizeof(many_key) + sizeof *b->keys + sizeof *b->lens + sizeof *b->lo +
                         sizeof *b->hi + sizeof *b->numbers + sizeof *b->answered) +
                    words * sizeof *b->bitmap;
  p->memory = nay__alloc(&p->lookup->allocator, p->memory_bytes);
  if (p->memory == NULL) return NAY_ENOMEM;
  p->sorted = p->memory;
  p->scratch = p->sorted + n;
  b->lo = (uint64_t *)(void *)(p->scratch + n);
  b->hi = b->lo + n;
  b->bitmap = b->hi + n;
  b->keys = (const void **)(void *)(b->bitmap + words);
  b->lens = (size_t *)(void *)(b->keys + n);
  b->numbers = (uint32_t *)(void *)(b->lens + n);
  b->answered = (bool *)(void *)(b->numbers + n);
  return NAY_OK;
}

static nay_status many_check(const nay_sst_lookup *l, const void *const *keys, const size_t *lens,
                             size_t n, uint64_t sequence, nay_diag *diag,
                             const nay_sst_value *values, const nay_status *statuses) {
  bool arrays = keys != NULL && lens != NULL && values != NULL && statuses != NULL;
  if (l == NULL || (!arrays && n != 0) || sequence > NAY_SST_MAX_SEQUENCE) {
    return nay__fail(diag, NAY_EINVAL, "lookup or an array is NULL, or sequence is too large", 0);
  }
  for (size_t i = 0; i < n; i++) {
    const uint8_t *v = (const uint8_t *)values + i * values[0].size;
    NAY_TRY(nay__abi_check(NAY_ABI_SST_VALUE, v, diag));
    if (((const nay_sst_value *)(const void *)v)->size != values[0].size) {
      return nay__fail(diag, NAY_EINVAL, "the values differ in their struct size", i);
    }
    if (keys[i] == NULL && lens[i] != 0) {
      return nay__fail(diag, NAY_EINVAL, "the key is NULL but its length is not 0", i);
    }
  }
  return NAY_OK;
}

/* The key order of the lookup: that of its first table with keys. All tables with keys agree. */
static nay_order many_order(const nay_sst_lookup *l) {
  for (size_t i = 0; i < l->nslots; i++) {
    if (!l->slots[i].table->range.empty) return l->slots[i].table->order;
  }
  return NAY_BYTEWISE;
}

static nay_status many_chunk_get(many_chunk *p) {
  const nay_sst_lookup *l = p->lookup;
  nay_get_batch *b = &p->batch;
  b->nhashes = 0;
  many_fill(p);
  for (size_t i = 0; i < l->nlevels && b->n != 0; i++) many_level(p, i);
  nay__atomic_add64(&l->counts[0], p->n);
  if (b->nhashes != 0) nay__atomic_add64(&l->counts[1], b->nhashes);
  return b->failed == UINT32_MAX ? NAY_OK : b->statuses[b->failed];
}

nay_status nay_sst_lookup_get_many(const nay_sst_lookup *l, const void *const *keys,
                                   const size_t *lens, size_t n, uint64_t sequence, nay_diag *diag,
                                   nay_sst_value *values, nay_status *statuses, size_t *tables) {
  NAY_TRY(many_check(l, keys, lens, n, sequence, diag, values, statuses));
  if (n == 0) return NAY_OK;
  nay_diag why;
  many_chunk p = {.lookup = l, .order = many_order(l)};
  p.batch = (nay_get_batch){
      .trailer = NAY_KEY_TRAILER_OF(sequence), .stride = values[0].size, .why = &why};
  p.batch.merges = l->merge.call != NULL;
  if (many_alloc(&p, n < MANY ? n : MANY) != NAY_OK) {
    for (size_t i = 0; i < n; i++) statuses[i] = NAY_ENOMEM;
    return nay__fail(diag, NAY_ENOMEM, "no memory for a batch of keys", 0);
  }
  nay_status first = NAY_OK;
  for (size_t at = 0; at < n; at += p.n) {
    p.n = n - at < MANY ? n - at : MANY;
    p.keys = keys + at;
    p.lens = lens + at;
    p.batch.values = (uint8_t *)values + at * p.batch.stride;
    p.batch.statuses = statuses + at;
    p.batch.tables = tables != NULL ? tables + at : NULL;
    nay_status status = many_chunk_get(&p);
    if (first == NAY_OK && status != NAY_OK && diag != NULL) *diag = why;
    if (first == NAY_OK) first = status;
  }
  nay_sst__hold_free(p.batch.hold);
  nay_sst__hold_free(p.batch.filter_hold);
  nay__free(&l->allocator, p.memory, p.memory_bytes);
  return first;
}
