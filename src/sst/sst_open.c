/* sst_open.c - opens a table: footer, index, filters, and what kind of keys it has. */
#include "os/file.h"
#include "sst/sst.h"

#define OPEN_INDEX_KEYS 64u /* looked at to tell internal keys */
#define OPEN_BLOCKS 8u      /* looked at for the order of their keys, the first and last included */

/* ---- internal keys or plain ones ---- */

typedef struct open_guess {
  nay_buffer last;
  size_t nkeys;
  bool internal; /* no key so far speaks against it */
} open_guess;

static nay_status open_guess_key(nay_sst *t, open_guess *g, const nay_buffer *key) {
  nay_sst_version ignored;
  bool ascends = g->nkeys == 0 ||
                 nay__compare(NAY_INTERNAL_KEYS, g->last.at, g->last.len, key->at, key->len) < 0;
  if (nay_sst_key_split(key->at, key->len, &ignored) != NAY_OK || !ascends) g->internal = false;
  g->nkeys++;
  g->last.len = 0;
  return nay__buffer_append(&g->last, key->at, key->len, &t->allocator);
}

/* Up to `most` keys of a block. Damage is not looked for here: it ends the walk. */
static nay_status open_guess_block(nay_sst *t, open_guess *g, const nay_block *block, size_t most) {
  nay_cursor c = {.block = *block, .order = NAY_BYTEWISE, .allocator = &t->allocator};
  nay_status status = nay__cursor_first(&c, NULL), memory = NAY_OK;
  for (size_t i = 0; i < most && status == NAY_OK && memory == NAY_OK && g->internal; i++) {
    memory = open_guess_key(t, g, &c.key);
    status = nay__cursor_next(&c, NULL);
  }
  nay__buffer_free(&c.key, &t->allocator);
  return status == NAY_ENOMEM ? status : memory;
}

static nay_status open_guess_order(nay_sst *t, const nay_block *first_block) {
  open_guess g = {.internal = true};
  nay_status status = NAY_OK;
  if (first_block != NULL) status = open_guess_block(t, &g, first_block, SIZE_MAX);
  size_t nkeys = g.nkeys;
  g.nkeys = 0; /* the index starts over */
  if (status == NAY_OK) status = open_guess_block(t, &g, &t->index, OPEN_INDEX_KEYS);
  bool any = nkeys + g.nkeys != 0;
  t->order = any && g.internal ? NAY_INTERNAL_KEYS : NAY_BYTEWISE;
  nay__buffer_free(&g.last, &t->allocator);
  return status;
}

/* ---- the range of keys ---- */

static nay_status open_copy(nay_sst *t, nay_buffer *to, const nay_buffer *key) {
  to->len = 0;
  return nay__buffer_append(to, key->at, key->len, &t->allocator);
}

/* The index: how many blocks, where the first is, the last key. */
static nay_status open_walk_index(nay_sst *t, nay_diag *diag, nay_handle *first) {
  nay_cursor c = {.block = t->index, .order = NAY_BYTEWISE, .allocator = &t->allocator};
  nay_status status = nay__cursor_first(&c, diag);
  t->empty = status == NAY_ENOENT;
  if (status == NAY_OK) {
    status = nay__sst_handle(t, c.entry.value, c.entry.value_len, diag, first);
  }
  while (status == NAY_OK) {
    t->nblocks++;
    status = nay__cursor_next(&c, diag);
  }
  /* past the end the cursor still has the last key */
  if (status == NAY_ENOENT) status = t->empty ? NAY_OK : open_copy(t, &t->largest, &c.key);
  nay__buffer_free(&c.key, &t->allocator);
  return status;
}

/*
 * The first block: its first key, and all of them to tell of which kind they are. That it cannot be
 * read is no reason not to open the table: whoever asks for its keys will be told.
 */
static nay_status open_first_block(nay_sst *t, nay_handle handle) {
  nay_hold *hold = NULL;
  nay_bytes contents;
  nay_block block;
  nay_cursor c = {.order = NAY_BYTEWISE, .allocator = &t->allocator};
  nay_status status = nay__sst_read(t, handle, &hold, NULL, &contents);
  if (status == NAY_OK) status = nay__block_open(contents.at, contents.len, NULL, &block);
  bool readable = status == NAY_OK;
  if (t->order_guessed && status != NAY_ENOMEM) {
    nay_status memory = open_guess_order(t, readable ? &block : NULL);
    if (memory != NAY_OK) status = memory;
  }
  if (status == NAY_OK) {
    c.block = block;
    status = nay__cursor_first(&c, NULL);
    if (status == NAY_OK) status = open_copy(t, &t->smallest, &c.key);
    t->has_smallest = status == NAY_OK;
  }
  nay__buffer_free(&c.key, &t->allocator);
  nay__hold_free(hold);
  return status == NAY_ENOMEM ? status : NAY_OK;
}

static nay_status open_codec_of(nay_sst *t, nay_handle handle) {
  uint64_t at = handle.offset + handle.size;
  if (t->bytes != NULL) {
    t->first_codec = t->bytes[at];
    return NAY_OK;
  }
  return nay__file_pread(t->fd, at, &t->first_codec, 1, NULL);
}

/* ---- tables of RocksDB, format 0 ---- */

static bool open_is(const uint8_t *text, size_t len, const char *what) {
  return len == strlen(what) && memcmp(text, what, len) == 0;
}

/* They have LevelDB's footer and blocks, but may have an index of indexes. */
static nay_status open_property(const nay_cursor *c, nay_diag *diag) {
  const nay_entry *e = &c->entry;
  if (open_is(c->key.at, c->key.len, "rocksdb.block.based.table.index.type") &&
      (e->value_len != 4 || nay__load32le(e->value) > 1)) {
    return nay__fail(diag, NAY_ENOTSUP, "a table of RocksDB with a partitioned index", e->at);
  }
  return NAY_OK;
}

static nay_status open_properties(nay_sst *t, nay_diag *diag) {
  nay_hold *hold = NULL;
  nay_bytes bytes;
  nay_cursor c = {.order = NAY_BYTEWISE, .allocator = &t->allocator};
  nay_status status = nay__sst_read(t, t->properties, &hold, diag, &bytes);
  if (status == NAY_OK) status = nay__block_open(bytes.at, bytes.len, diag, &c.block);
  if (status == NAY_OK) status = nay__cursor_first(&c, diag);
  while (status == NAY_OK) {
    status = open_property(&c, diag);
    if (status == NAY_OK) status = nay__cursor_next(&c, diag);
  }
  nay__buffer_free(&c.key, &t->allocator);
  nay__hold_free(hold);
  return status == NAY_ENOENT ? NAY_OK : nay__sst_in_file(status, diag, t->properties);
}

/* ---- the order of keys ---- */

/*
 * A search is right only if the keys are in the order it assumes, and LevelDB's file does not name
 * the comparator. So the index is checked here, and each block when it is first used. A key that
 * another comparator has put into another block than its own would still be missed: the search does
 * not come to that block. Blocks all over the table are therefore checked here as well, and all of
 * a small one, unless the file says that it is ours.
 */
static nay_status open_check_index(nay_sst *t, nay_diag *diag) {
  return nay__block_check(&t->index, t->order, NULL, NULL, &t->allocator, diag);
}

/* What became of the blocks that were looked at. */
typedef struct open_look {
  nay_hold *hold;
  bool any;          /* one is in order */
  nay_status unread; /* why another could not be read */
  nay_diag unread_why;
} open_look;

/* One block. NAY_ENOTSUP: its keys are in another order. That it cannot be read is no error here.
 */
static nay_status open_look_at(nay_sst *t, const nay_entry *entry, open_look *look,
                               nay_diag *diag) {
  nay_handle handle = {0, 0};
  nay_bytes contents;
  nay_block block;
  nay_diag why = {NULL, 0, 0};
  nay_status status = nay__sst_handle(t, entry->value, entry->value_len, &why, &handle);
  if (status == NAY_OK) status = nay__sst_read(t, handle, &look->hold, &why, &contents);
  if (status == NAY_OK) {
    status = nay__block_open(contents.at, contents.len, &why, &block);
    status = nay__sst_in_file(status, &why, handle);
  }
  bool readable = status == NAY_OK;
  if (readable) status = nay__sst_check_block(t, entry, handle, &block, &why);
  look->any = look->any || status == NAY_OK;
  if (status == NAY_OK) return NAY_OK;
  if (status == NAY_ENOMEM || (readable && status == NAY_ENOTSUP)) {
    if (diag != NULL) *diag = why;
    return status;
  }
  if (look->unread != NAY_ENOTSUP) {
    look->unread = status;
    look->unread_why = why;
  }
  return NAY_OK;
}

/*
 * A damaged block is for those who ask for its keys, as long as another one shows the order. Blocks
 * without their codec are the rule in a table that has any: then the order stays unknown.
 */
static void open_judge(nay_sst *t, const open_look *look) {
  if (t->order_named || (look->any && look->unread != NAY_ENOTSUP)) return;
  t->order_unknown = look->unread;
  t->order_unknown_why = look->unread_why;
}

static nay_status open_check_blocks(nay_sst *t, nay_diag *diag) {
  nay_cursor c = {.block = t->index, .order = NAY_BYTEWISE, .allocator = &t->allocator};
  open_look look = {.unread = NAY_OK};
  uint64_t step = (t->nblocks - 1) / (OPEN_BLOCKS - 1) + 1;
  if (t->order_named) step = t->nblocks;
  nay_status status = nay__cursor_first(&c, diag);
  for (uint64_t i = 0; status == NAY_OK; i++) {
    bool last = i + 1 == t->nblocks && !t->order_named;
    if (i % step == 0 || last) status = open_look_at(t, &c.entry, &look, diag);
    if (status == NAY_OK) status = nay__cursor_next(&c, diag);
  }
  open_judge(t, &look);
  nay__buffer_free(&c.key, &t->allocator);
  nay__hold_free(look.hold);
  return status == NAY_ENOENT ? NAY_OK : status;
}

/* ---- opening ---- */

static nay_status open_footer(nay_sst *t, nay_diag *diag, nay_footer *footer) {
  uint8_t bytes[NAY_FOOTER];
  if (t->file_len < NAY_FOOTER) {
    return nay__fail(diag, NAY_EFORMAT, "no table: shorter than a footer", t->file_len);
  }
  t->limit = t->file_len - NAY_FOOTER;
  if (t->bytes != NULL) {
    memcpy(bytes, t->bytes + t->limit, sizeof bytes);
  } else {
    NAY_TRY(nay__file_pread(t->fd, t->limit, bytes, sizeof bytes, diag));
  }
  return nay__footer_load(bytes, t->file_len, diag, footer);
}

/* Room to note which blocks were checked. */
static nay_status open_checked(nay_sst *t) {
  t->checked_len = t->index.end / 32 + 1;
  t->checked = nay__alloc(&t->allocator, t->checked_len);
  if (t->checked == NULL) return NAY_ENOMEM;
  memset(t->checked, 0, t->checked_len);
  return NAY_OK;
}

static nay_status open_parts(nay_sst *t, nay_diag *diag) {
  nay_footer footer;
  nay_bytes index;
  nay_handle first;
  NAY_TRY(open_footer(t, diag, &footer));
  NAY_TRY(nay__sst_read(t, footer.index, &t->index_hold, diag, &index));
  NAY_TRY(
      nay__sst_in_file(nay__block_open(index.at, index.len, diag, &t->index), diag, footer.index));
  NAY_TRY(nay__sst_in_file(open_walk_index(t, diag, &first), diag, footer.index));
  t->order_guessed = t->options.keys == NAY_SST_KEYS_AUTO;
  if (t->options.keys == NAY_SST_KEYS_INTERNAL) t->order = NAY_INTERNAL_KEYS;
  NAY_TRY(nay__sst_filters_open(t, footer.metaindex));
  if (t->rocksdb) NAY_TRY(open_properties(t, diag));
  if (t->empty) return NAY_OK;
  NAY_TRY(open_checked(t));
  NAY_TRY(open_codec_of(t, first));
  NAY_TRY(open_first_block(t, first));
  NAY_TRY(nay__sst_in_file(open_check_index(t, diag), diag, footer.index));
  return open_check_blocks(t, diag);
}

static nay_status open_check(const nay_sst_read_options *o, nay_diag *diag) {
  if ((unsigned)o->keys > NAY_SST_KEYS_INTERNAL ||
      (o->flags & ~(NAY_SST_PREAD | NAY_SST_NO_FILTERS)) != 0) {
    return nay__fail(diag, NAY_EINVAL, "no such kind of keys, or an unknown flag", 0);
  }
  if ((o->codecs == NULL && o->ncodecs != 0) || (o->policies == NULL && o->npolicies != 0)) {
    return nay__fail(diag, NAY_EINVAL, "codecs or policies are NULL", 0);
  }
  for (size_t i = 0; i < o->ncodecs; i++) {
    const nay_codec *c = o->codecs[i];
    if (c == NULL || c->uncompressed_size == NULL || c->uncompress == NULL) {
      return nay__fail(diag, NAY_EINVAL, "a codec is NULL or has no calls", i);
    }
  }
  for (size_t i = 0; i < o->npolicies; i++) {
    const nay_policy *p = o->policies[i];
    if (p == NULL || p->name == NULL || p->may_match == NULL) {
      return nay__fail(diag, NAY_EINVAL, "a policy is NULL or has no name or call", i);
    }
  }
  if (o->prefix == NULL || o->prefix->extract != NULL) return NAY_OK;
  return nay__fail(diag, NAY_EINVAL, "the prefix has no extractor", 0);
}

static nay_status open_new(const nay_sst_read_options *options, const nay_allocator *allocator,
                           nay_diag *diag, nay_sst **sst) {
  nay_sst_read_options o = {.keys = NAY_SST_KEYS_AUTO};
  if (options != NULL) o = *options;
  NAY_TRY(open_check(&o, diag));
  nay_allocator a = nay__allocator_or_default(allocator);
  nay_sst *t = nay__alloc(&a, sizeof *t);
  nay_sst_tally *counts = nay__alloc(&a, sizeof *counts);
  if (t == NULL || counts == NULL) {
    nay__free(&a, t, sizeof *t);
    nay__free(&a, counts, sizeof *counts);
    return nay__fail(diag, NAY_ENOMEM, "no memory for a table", 0);
  }
  *counts = (nay_sst_tally){.out_of_range = 0};
  *t = (nay_sst){.allocator = a, .options = o, .fd = -1, .counts = counts};
  if (o.cache != NULL) t->cache_id = nay__cache_id(o.cache);
  *sst = t;
  return NAY_OK;
}

static nay_status open_finish(nay_sst *t, nay_diag *diag, nay_sst **sst) {
  nay_status status = open_parts(t, diag);
  if (status != NAY_OK) {
    if (status == NAY_ENOMEM) nay__fail(diag, status, "no memory for a table", 0);
    nay_sst_free(t);
    return status;
  }
  *sst = t;
  return NAY_OK;
}

nay_status nay_sst_open(const char *path, const nay_sst_read_options *options,
                        const nay_allocator *allocator, nay_diag *diag, nay_sst **sst) {
  nay_sst *t;
  size_t len = 0;
  nay_status status;
  if (path == NULL || sst == NULL) return nay__fail(diag, NAY_EINVAL, "path or sst is NULL", 0);
  NAY_TRY(open_new(options, allocator, diag, &t));
  if ((t->options.flags & NAY_SST_PREAD) != 0) {
    status = nay__file_open(path, diag, &t->fd, &len);
  } else {
    status = nay__file_map(path, diag, &t->mapping, &len);
    t->bytes = t->mapping != NULL ? t->mapping : (const uint8_t *)"";
  }
  t->file_len = len;
  if (status == NAY_OK) return open_finish(t, diag, sst);
  nay_sst_free(t);
  return status;
}

nay_status nay_sst_view(const void *bytes, size_t len, const nay_sst_read_options *options,
                        const nay_allocator *allocator, nay_diag *diag, nay_sst **sst) {
  nay_sst *t;
  if ((bytes == NULL && len != 0) || sst == NULL) {
    return nay__fail(diag, NAY_EINVAL, "bytes or sst is NULL", 0);
  }
  NAY_TRY(open_new(options, allocator, diag, &t));
  t->bytes = len != 0 ? bytes : "";
  t->file_len = len;
  return open_finish(t, diag, sst);
}

void nay_sst_free(nay_sst *t) {
  if (t == NULL) return;
  nay_allocator a = t->allocator;
  nay__sst_filters_free(t);
  nay__hold_free(t->index_hold);
  nay__free(&a, t->checked, t->checked_len);
  nay__buffer_free(&t->smallest, &a);
  nay__buffer_free(&t->largest, &a);
  if (t->mapping != NULL) nay__file_unmap(t->mapping, (size_t)t->file_len);
  if (t->fd >= 0) nay__file_close(t->fd);
  nay__free(&a, t->counts, sizeof *t->counts);
  nay__free(&a, t, sizeof *t);
}

/* ---- what it is ---- */

static const char *open_text(const nay_buffer *name) {
  return name->len != 0 ? (const char *)name->at : NULL;
}

void nay_sst_describe(const nay_sst *t, nay_sst_info *info) {
  bool internal = t->order == NAY_INTERNAL_KEYS;
  *info = (nay_sst_info){
      .keys = internal ? NAY_SST_KEYS_INTERNAL : NAY_SST_KEYS_PLAIN,
      .keys_guessed = t->order_guessed,
      .nbytes = t->file_len,
      .nblocks = t->nblocks,
      .codec = t->first_codec,
      .filter = t->filter,
      .filter_used = t->filter_used,
      .filter_bytes = t->filter_bytes,
      .npartitions = t->npartitions,
      .policy = open_text(&t->policy_name),
      .prefix = open_text(&t->prefix_name),
      .prefix_used = t->prefix != NULL,
      .prefix_bytes = t->prefix_bytes,
      .smallest =
          t->has_smallest ? (t->smallest.len != 0 ? t->smallest.at : (const void *)"") : NULL,
      .smallest_len = t->has_smallest ? t->smallest.len : 0,
      .largest = t->empty ? NULL : (t->largest.len != 0 ? t->largest.at : (const void *)""),
      .largest_len = t->largest.len,
  };
}

const nay_filter *nay_sst_filter_of(const nay_sst *t) { return t->full; }

void nay_sst_count(const nay_sst *t, nay_sst_counters *counters) {
  const nay_sst_tally *c = t->counts;
  uint64_t useful = nay__atomic_load64(&c->useful), maybe = nay__atomic_load64(&c->maybe);
  uint64_t out = nay__atomic_load64(&c->out_of_range);
  uint64_t prefix_useful = nay__atomic_load64(&c->prefix_useful);
  *counters = (nay_sst_counters){
      .gets = out + useful + maybe + nay__atomic_load64(&c->unfiltered),
      .out_of_range = out,
      .filter_checks = useful + maybe,
      .filter_useful = useful,
      .filter_false_positives = nay__atomic_load64(&c->false_positives),
      .filter_faults = nay__atomic_load64(&c->faults),
      .filter_loads = nay__atomic_load64(&c->loads),
      .prefix_checks = prefix_useful + nay__atomic_load64(&c->prefix_maybe),
      .prefix_useful = prefix_useful,
      .hashes = nay__atomic_load64(&c->hashes),
      .block_reads = nay__atomic_load64(&c->reads),
      .cache_hits = nay__atomic_load64(&c->hits),
  };
}
