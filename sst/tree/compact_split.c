/*
 * compact_split.c - splits the key space of a compaction into ranges of about equal size.
 *
 * A k-way merge of the inputs' indexes gives the sizes of all data blocks in key order. After each
 * range_bytes of blocks, the user key of the index entry becomes a cut. An index key serves even if
 * no table has it. The number of threads plays no part, so it cannot change the outputs. Indexes
 * that live in a cache are read from the file, all at the same time.
 */
#include "tree/compact.h"

typedef struct split_source {
  nay_cursor cursor;
  nay_index_pin pin;
  const nay_sst *table;
} split_source;

typedef struct split {
  nay_compaction *c;
  nay_merge_heap heap;
  split_source *sources;
} split;

static nay_status split_add_cut(nay_compaction *c, nay_bytes user) {
  const nay_allocator *a = &c->allocator;
  if (c->ncuts == c->cuts_capacity) {
    size_t capacity = c->cuts_capacity != 0 ? 2 * c->cuts_capacity : 16, bytes;
    if (!nay__mul_ok(capacity, sizeof *c->cuts, &bytes)) return NAY_ENOMEM;
    nay_buffer *cuts = nay__alloc(a, bytes);
    if (cuts == NULL) return NAY_ENOMEM;
    if (c->ncuts != 0) memcpy(cuts, c->cuts, c->ncuts * sizeof *cuts);
    nay__free(a, c->cuts, c->cuts_capacity * sizeof *cuts);
    c->cuts = cuts;
    c->cuts_capacity = capacity;
  }
  nay_buffer cut = {NULL, 0, 0};
  NAY_TRY(nay__buffer_append(&cut, user.at, user.len, a));
  c->cuts[c->ncuts++] = cut;
  return NAY_OK;
}

/* Whether a cut at this key is above the last cut, so that the range between them can have keys. */
static bool split_is_above(const nay_compaction *c, nay_bytes user) {
  if (user.len == 0) return false; /* its buffer is NULL: no bound for iterators */
  if (c->ncuts == 0) return true;
  const nay_buffer *last = &c->cuts[c->ncuts - 1];
  return nay_sst__compare_users(c->order, last->at, last->len, user.at, user.len) < 0;
}

static nay_status split_push(split *s, size_t age, nay_diag *diag) {
  split_source *source = &s->sources[age];
  const nay_sst *t = source->table;
  const nay_block *index;
  if (t->range.empty) return NAY_OK;
  NAY_TRY(nay_sst__table_index(t, &source->pin, diag, &index));
  source->cursor = (nay_cursor){.block = *index, .order = t->order, .allocator = &s->c->allocator};
  nay_status status = nay_sst__cursor_first(&source->cursor, diag);
  if (status == NAY_EEND) return NAY_OK;
  NAY_TRY(status);
  nay_sst__merge_push(
      &s->heap, (nay_merge_input){source->cursor.key.at, source->cursor.key.len, age, source});
  return NAY_OK;
}

static nay_status split_advance(split *s, nay_merge_input *top, nay_diag *diag) {
  split_source *source = top->source;
  nay_status status = nay_sst__cursor_next(&source->cursor, diag);
  if (status == NAY_EEND) {
    nay_sst__merge_pop(&s->heap);
    return NAY_OK;
  }
  NAY_TRY(status);
  top->key = source->cursor.key.at;
  top->len = source->cursor.key.len;
  nay_sst__merge_sink(&s->heap);
  return NAY_OK;
}

static nay_status split_run(split *s, uint64_t range_bytes, nay_diag *diag) {
  uint64_t sum = 0;
  for (size_t i = 0; i < s->c->ntables; i++) NAY_TRY(split_push(s, i, diag));
  for (nay_merge_input *top; (top = nay_sst__merge_top(&s->heap)) != NULL;) {
    const split_source *source = top->source;
    const nay_entry *e = &source->cursor.entry;
    nay_bytes user = {top->key, nay_sst__user_len(s->c->order, top->len)};
    nay_handle handle;
    NAY_TRY(nay_sst__table_handle(source->table, e->value, e->value_len, diag, &handle));
    sum += handle.size;
    if (sum >= range_bytes && split_is_above(s->c, user)) {
      NAY_TRY(split_add_cut(s->c, user));
      sum = 0;
    }
    NAY_TRY(split_advance(s, top, diag));
  }
  return NAY_OK;
}

nay_status nay_sst__compact_split(nay_compaction *c, nay_diag *diag) {
  const nay_allocator *a = &c->allocator;
  uint64_t target = c->options.target_bytes, bytes = c->options.range_bytes;
  if (bytes == 0) bytes = target < UINT64_MAX / 8 ? 8 * target : UINT64_MAX;
  if (target == 0) return NAY_OK; /* one output: one range */
  for (size_t i = 0; i < c->ntables; i++) {
    if (c->tables[i].sorting.unknown != NAY_OK)
      return NAY_OK; /* such a table cannot be sought in */
  }
  split s = {.c = c, .heap = {.order = c->order}};
  size_t size = c->ntables * sizeof *s.sources;
  s.sources = nay__alloc(a, size);
  nay_status status = s.sources == NULL ? NAY_ENOMEM : NAY_OK;
  for (size_t i = 0; status == NAY_OK && i < c->ntables; i++) {
    s.sources[i] = (split_source){.table = &c->tables[i]};
  }
  if (status == NAY_OK) status = nay_sst__merge_reserve(&s.heap, c->ntables, a);
  bool allocated = status == NAY_OK;
  if (allocated) status = split_run(&s, bytes, diag);
  for (size_t i = 0; allocated && i < c->ntables; i++) {
    nay__buffer_free(&s.sources[i].cursor.key, a);
    nay_sst__table_index_unpin(s.sources[i].table, &s.sources[i].pin);
  }
  nay_sst__merge_free(&s.heap, a);
  nay__free(a, s.sources, size);
  return status;
}
