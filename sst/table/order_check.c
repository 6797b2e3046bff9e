/*
 * order_check.c - detects the kind of keys of a table, and verifies that they are in the order that
 * a search assumes.
 *
 * LevelDB's tables state neither the kind of their keys nor their comparator. Tables with nay's own
 * filters or properties state the kind; for others nay_sst__guess_order infers it from the keys.
 *
 * A search with a comparator other than the table's would miss keys. nay_sst__check_order therefore
 * verifies the index, and read_block.c verifies each data block on first use. This is not enough: a
 * key that another comparator put into another block is missed, although the block that is searched
 * is in order. So nay_sst__check_order also verifies a sample of blocks spread over the table,
 * which is all blocks of a small table, unless the file states that nay wrote it.
 */
#include "table/table.h"

#define ORDER_INDEX_KEYS 64u /* index keys examined to detect internal keys */
#define ORDER_SAMPLES 8u     /* data blocks verified, the first and the last included */

/* ---- kind of keys ---- */

typedef struct order_guess {
  nay_buffer last;
  size_t nkeys;
  bool internal; /* no key so far contradicts internal keys */
} order_guess;

static nay_status order_guess_key(nay_sst *t, order_guess *g, const nay_buffer *key) {
  nay_sst_entry v = {.size = sizeof v};
  nay_order internal = {t->order.user, true};
  bool ascends =
      g->nkeys == 0 || nay_sst__compare(internal, g->last.at, g->last.len, key->at, key->len) < 0;
  bool internal_key = nay_sst_key_split(key->at, key->len, &v) == NAY_OK;
  if (!internal_key || !ascends) g->internal = false;
  g->nkeys++;
  g->last.len = 0;
  return nay__buffer_append(&g->last, key->at, key->len, &t->allocator);
}

/* Examines up to `most` keys of a block. Damage ends the walk; it is reported by the reads of the
 * block. */
static nay_status order_guess_block(nay_sst *t, order_guess *g, const nay_block *block,
                                    size_t most) {
  nay_cursor c = {.block = *block, .order = NAY_BYTEWISE, .allocator = &t->allocator};
  nay_status status = nay_sst__cursor_first(&c, NULL), memory = NAY_OK;
  for (size_t i = 0; i < most && status == NAY_OK && memory == NAY_OK && g->internal; i++) {
    memory = order_guess_key(t, g, &c.key);
    status = nay_sst__cursor_next(&c, NULL);
  }
  nay__buffer_free(&c.key, &t->allocator);
  return status == NAY_ENOMEM ? status : memory;
}

nay_status nay_sst__guess_order(nay_sst *t, const nay_block *first_block) {
  order_guess g = {.internal = true};
  nay_status status = NAY_OK;
  if (first_block != NULL) status = order_guess_block(t, &g, first_block, SIZE_MAX);
  size_t nkeys = g.nkeys;
  g.nkeys = 0; /* index keys are compared with each other only */
  if (status == NAY_OK) status = order_guess_block(t, &g, &t->blocks.index, ORDER_INDEX_KEYS);
  bool any = nkeys + g.nkeys != 0;
  t->order.internal = any && g.internal;
  nay__buffer_free(&g.last, &t->allocator);
  return status;
}

/* ---- key order ---- */

/* Outcome of the sampled blocks. */
typedef struct order_samples {
  nay_hold *hold;
  bool any;          /* at least one block is in order */
  nay_status unread; /* why a block could not be read; NAY_OK: all could */
  nay_diag unread_why;
} order_samples;

/* Verifies one sampled block. NAY_ENOTSUP: its keys are in another order. A block that cannot be
 * read is recorded, and no error here. */
static nay_status order_sample_block(nay_sst *t, const nay_entry *entry, order_samples *samples,
                                     nay_diag *diag) {
  nay_handle handle = {0, 0};
  nay_bytes contents;
  nay_block block;
  nay_diag why = {.what = NULL};
  nay_status status = nay_sst__table_handle(t, entry->value, entry->value_len, &why, &handle);
  if (status == NAY_OK) status = nay_sst__table_read(t, handle, &samples->hold, &why, &contents);
  if (status == NAY_OK) {
    status = nay_sst__table_block_open(t, contents, handle, &why, &block);
  }
  bool readable = status == NAY_OK;
  if (readable) status = nay_sst__check_block(t, &t->blocks.index, entry, handle, &block, &why);
  samples->any = samples->any || status == NAY_OK;
  if (status == NAY_OK) return NAY_OK;
  if (status == NAY_ENOMEM || (readable && status == NAY_ENOTSUP)) {
    if (diag != NULL) *diag = why;
    return status;
  }
  if (samples->unread != NAY_ENOTSUP) {
    samples->unread = status;
    samples->unread_why = why;
  }
  return NAY_OK;
}

/* Decides from the samples whether searches can be trusted. A damaged block is reported by gets of
 * its keys, as long as another block shows the order. A missing codec usually concerns most blocks,
 * so then the order stays unknown. */
static void order_decide(nay_sst *t, const order_samples *samples) {
  if (t->sorting.named || (samples->any && samples->unread != NAY_ENOTSUP)) return;
  t->sorting.unknown = samples->unread;
  t->sorting.unknown_why = samples->unread_why;
}

static nay_status order_check_samples(nay_sst *t, nay_diag *diag) {
  nay_cursor c = {.block = t->blocks.index, .order = NAY_BYTEWISE, .allocator = &t->allocator};
  order_samples samples = {.unread = NAY_OK};
  uint64_t step = (t->blocks.n - 1) / (ORDER_SAMPLES - 1) + 1;
  if (t->sorting.named) step = t->blocks.n;
  nay_status status = nay_sst__cursor_first(&c, diag);
  for (uint64_t i = 0; status == NAY_OK; i++) {
    bool last = i + 1 == t->blocks.n && !t->sorting.named;
    if (i % step == 0 || last) status = order_sample_block(t, &c.entry, &samples, diag);
    if (status == NAY_OK) status = nay_sst__cursor_next(&c, diag);
  }
  order_decide(t, &samples);
  nay__buffer_free(&c.key, &t->allocator);
  nay_sst__hold_free(samples.hold);
  return status == NAY_EEND ? NAY_OK : status;
}

nay_status nay_sst__check_order(nay_sst *t, nay_diag *diag) {
  nay_status status =
      nay_sst__block_check(&t->blocks.index, t->order, NULL, NULL, &t->allocator, diag);
  NAY_TRY(nay_sst__in_file(status, diag, t->meta.footer.index));
  return order_check_samples(t, diag);
}

nay_status nay_sst__join(const nay_sst *t, size_t number, nay_diag *diag, const nay_sst **first) {
  if (t->range.empty) return NAY_OK; /* an empty table has no order */
  if (*first == NULL) {
    *first = t;
    return NAY_OK;
  }
  if (t->meta.for_ingestion || (*first)->meta.for_ingestion) {
    return nay__fail(
        diag, NAY_ENOTSUP,
        "a table for ingestion into RocksDB cannot be merged: nothing tells which is newer",
        number);
  }
  if (nay_sst__same_comparator((*first)->order.user, t->order.user)) return NAY_OK;
  return nay__fail(diag, NAY_EMISMATCH, "tables with different comparators", number);
}

nay_status nay_sst__join_all(const nay_sst *const *tables, size_t n, nay_diag *diag,
                             const nay_sst_comparator **user) {
  const nay_sst *first = NULL;
  for (size_t i = 0; i < n; i++) {
    NAY_TRY(nay_sst__join(tables[i], i, diag, &first));
  }
  if (first == NULL && n != 0) first = tables[0];
  *user = first != NULL ? first->order.user : NULL;
  return NAY_OK;
}
