/*
 * translated.c - a table of nori or mini-lsm behind the nay_sst interface: index and blocks are
 * translated to LevelDB's layout (engine.h), and the Bloom filter becomes the full filter. Filters
 * inside blocks are not probed: the block must be read first, and then a search is as fast.
 */
#include "table/translated.h"

#include "nay_sst_iter.h"

/* ---- opening ---- */

/* Opens the Bloom filter. nori writes a filter of 0 bits for tables that were planned empty; with
 * entries in the table it would exclude all of them, so it is not used and counts as a fault. */
static nay_status foreign_open_filter(nay_sst *t, nay_diag *diag) {
  const nay_foreign *f = t->foreign;
  nay_buffer buffer = {NULL, 0, 0};
  nay_bytes bytes;
  if (f->filter.size == 0) return NAY_OK;
  const char *name = nay_format_name(f->format);
  t->filters.layout = NAY_SST_FULL_FILTER;
  t->filters.nbytes = f->filter.size;
  NAY_TRY(nay__buffer_append(&t->filters.policy_name, name, strlen(name) + 1, &t->allocator));
  if ((t->options.flags & NAY_SST_NO_FILTERS) != 0) return NAY_OK;
  nay_status status =
      nay_sst__foreign_read(f, f->filter.offset, f->filter.size, &buffer, diag, &bytes);
  if (status == NAY_OK) {
    nay_filter *filter = NULL;
    status = nay_format_decode(f->format, bytes.at, bytes.len, 0, &t->allocator, diag, &filter);
    t->filters.full = nay_sst__native_filter_of(filter);
    if (status != NAY_OK && status != NAY_ENOMEM) {
      nay_sst__filter_fault(t); /* a damaged filter is not used */
      status = NAY_OK;
    }
  }
  nay__buffer_free(&buffer, &t->allocator);
  t->filters.used = t->filters.full.filter != NULL &&
                    (nay_sst__filter_nbits(t->filters.full.filter) != 0 || t->range.empty);
  if (t->filters.full.filter != NULL && !t->filters.used) nay_sst__filter_fault(t);
  return status;
}

/* Translates the index. A hold owns it, as with an index that was read from a file. */
static nay_status foreign_open_index(nay_sst *t, nay_diag *diag) {
  nay_hold *h = nay__alloc(&t->allocator, sizeof *h);
  if (h == NULL) return NAY_ENOMEM;
  *h = (nay_hold){.allocator = t->allocator};
  t->blocks.index_hold = h;
  NAY_TRY(nay_sst__foreign_translate_index(t->foreign, &h->plain, &t->range.largest, diag));
  NAY_TRY(nay_sst__block_open(h->plain.at, h->plain.len, diag, &t->blocks.index));
  t->blocks.n = nay_sst__foreign_nblocks(t->foreign);
  t->range.empty = t->blocks.n == 0;
  t->meta.footer.index = (nay_handle){t->foreign->blocks_end, 0};
  if (t->range.empty) return NAY_OK;
  /* The index has user keys. The smallest internal key of a user key has the largest trailer. */
  uint8_t trailer[NAY_KEY_TRAILER];
  const nay_foreign_block *first = nay_sst__foreign_block_at(t->foreign, 0);
  nay__store64le(trailer, NAY_KEY_TRAILER_NEWEST);
  NAY_TRY(nay__buffer_append(&t->range.smallest, first->first.at, first->first.len, &t->allocator));
  NAY_TRY(nay__buffer_append(&t->range.smallest, trailer, sizeof trailer, &t->allocator));
  t->range.has_smallest = true;
  NAY_TRY(nay_sst__first_block(t, first->handle));
  return nay_sst__note_checks(t);
}

nay_status nay_sst__open_foreign(nay_sst *t, const nay_foreign_engine *engine, nay_diag *diag) {
  nay_foreign_source source = {.bytes = t->source.bytes,
                               .file = t->source.file,
                               .len = t->source.len,
                               .codecs = t->options.codecs,
                               .ncodecs = t->options.ncodecs,
                               .max_block_bytes = t->options.max_block_bytes};
  NAY_TRY(nay_sst__foreign_open(engine, &source, &t->allocator, diag, &t->foreign));
  const nay_foreign *f = t->foreign;
  if (t->options.comparator != NULL) {
    return nay__fail(diag, NAY_EMISMATCH, "tables of this engine are in bytewise order", 0);
  }
  t->order = NAY_INTERNAL_KEYS;
  t->sorting.named = true;
  t->meta.footer.at =
      f->blocks_end +
      NAY_BLOCK_TRAILER; /* nay_sst__handle_fits expects a trailer after each block */
  t->blocks.first_codec = f->stored_raw ? 0 : f->codec;
  NAY_TRY(foreign_open_index(t, diag));
  NAY_TRY(foreign_open_filter(t, diag));
  if (f->filter_in_blocks) {
    const char *name = nay_format_name(f->format);
    t->filters.layout = NAY_SST_BLOCK_FILTER;
    NAY_TRY(nay__buffer_append(&t->filters.policy_name, name, strlen(name) + 1, &t->allocator));
  }
  return t->range.empty ? NAY_OK : nay_sst__check_order(t, diag);
}

/* ---- blocks ---- */

nay_status nay_sst__read_foreign(const nay_sst *t, nay_handle handle, nay_hold *hold,
                                 nay_diag *diag, nay_bytes *contents) {
  size_t i = nay_sst__foreign_block_of(t->foreign, handle.offset);
  if (i == nay_sst__foreign_nblocks(t->foreign)) {
    return nay__fail(diag, NAY_ECORRUPT, "an index entry has no valid block handle", handle.offset);
  }
  NAY_TRY(nay_sst__foreign_translate(t->foreign, i, &hold->scratch, &hold->plain, diag));
  *contents = (nay_bytes){hold->plain.at, hold->plain.len};
  return NAY_OK;
}

/* Returns the term of an entry. A translated block stores the terms of its entries after the
 * restart array. */
uint64_t nay_sst__foreign_term(const nay_block *block, uint32_t entry_at) {
  const uint8_t *restarts = block->bytes + block->end;
  const uint8_t *terms = restarts + 4 * (size_t)block->nrestarts + 4;
  uint32_t low = 0, high = block->nrestarts;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (nay__load32le(restarts + 4 * (size_t)middle) < entry_at) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return nay__load64le(terms + 8 * (size_t)low);
}

/* ---- description ---- */

const char *nay_sst_layout_at(size_t i) {
  const nay_foreign_engine *engine = nay_sst__foreign_at(i);
  return engine != NULL ? engine->name : NULL;
}

const char *nay_sst_layout_about(const char *name) {
  const nay_foreign_engine *engine = nay_sst__foreign_find(name);
  return engine != NULL ? engine->about : NULL;
}

/* Returns the name of the form that was detected; an engine name may stand for several. */
static const char *foreign_layout(const nay_foreign *f) {
  static const char *const forms[16] = {[0] = "mini-lsm-sst-day4",
                                        [3] = "mini-lsm-sst-week1",
                                        [7] = "mini-lsm-sst-week2",
                                        [15] = "mini-lsm-sst-week3"};
  return f->engine == &nay_sst__foreign_nori ? f->engine->name : forms[f->form];
}

void nay_sst__foreign_info(const nay_sst *t, nay_sst_foreign_info *info) {
  static const char *const versions[] = {"none", "sequence", "term and index", "timestamp"};
  static const char *const codecs[] = {"none", "lz4", "zstd"};
  const nay_foreign *f = t->foreign;
  bool nori = f->engine == &nay_sst__foreign_nori, filtered = f->filter.size != 0;
  *info = (nay_sst_foreign_info){
      .size = sizeof *info,
      .layout = foreign_layout(f),
      .footer_version = f->footer_version,
      .versions = versions[f->versions],
      .versions_tried = nori && f->footer_version == 0 && !t->range.empty,
      .codec = codecs[f->codec],
      .codec_ignored = f->stored_raw,
      .has_checksums = f->has_checksums,
      .has_nentries = f->has_nentries,
      .nentries = f->nentries,
      .block_bytes = f->block_bytes,
      .max_version = f->max_version,
      .filter = filtered || f->filter_in_blocks ? nay_format_name(f->format) : NULL,
      .filter_in_blocks = f->filter_in_blocks,
  };
}

const char *nay_sst_caveat(const nay_sst *t, size_t i) {
  if (t == NULL || t->foreign == NULL) return NULL;
  return nay_sst__foreign_caveat(
      t->foreign,
      t->filters.full.filter != NULL ? nay_sst__filter_nbits(t->filters.full.filter) : 1, 0, i);
}

/* ---- verification: keys that the engine's own filters exclude ---- */

typedef struct foreign_verify {
  const nay_filter *filter; /* filter of the table or of the current block; NULL: none */
  uint64_t nentries, ndenied;
} foreign_verify;

static nay_status foreign_verify_entry(void *ctx, const nay_foreign_entry *e) {
  foreign_verify *v = ctx;
  v->nentries++;
  if (v->filter == NULL) return NAY_OK;
  v->ndenied += !nay_filter_may_contain(v->filter, e->key.at, e->key.len);
  return NAY_OK;
}

/* Decodes the quotient filter in a block. Leaves *filter alone if the block has none. */
static nay_status foreign_block_filter(const nay_foreign *f, size_t i, nay_foreign_scratch *scratch,
                                       nay_diag *diag, nay_filter **filter) {
  nay_bytes contents, bytes;
  NAY_TRY(nay_sst__foreign_contents(f, i, scratch, diag, &contents));
  NAY_TRY(nay_sst__in_file(nay_sst__nori_block_filter(contents, diag, &bytes), diag,
                           nay_sst__foreign_block_at(f, i)->handle));
  if (bytes.len == 0) return NAY_OK;
  nay_status status = nay_format_decode(f->format, bytes.at, bytes.len, NAY_FORMAT_AS_WRITTEN,
                                        &f->allocator, diag, filter);
  return nay_sst__in_file(status, diag, nay_sst__foreign_block_at(f, i)->handle);
}

/* Probes the filters of a table in LevelDB's layout for each of its keys. */
static nay_status verify_table(const nay_sst *t, nay_diag *diag, foreign_verify *v) {
  nay_sst_iter *it;
  NAY_TRY(nay_sst_iter_new(t, diag, &it));
  nay_status status = nay_sst_iter_first(it);
  for (; status == NAY_OK; status = nay_sst_iter_next(it)) {
    size_t len;
    const void *key = nay_sst_iter_key(it, &len);
    v->nentries++;
    len = nay_sst__user_len(t->order, len);
    v->ndenied += !nay_sst_may_contain(t, key, len) || nay_sst__range_filter_denies(t, key, len);
  }
  if (status != NAY_EEND && diag != NULL) *diag = *nay_sst_iter_diag(it);
  nay_sst_iter_free(it);
  return status == NAY_EEND ? NAY_OK : status;
}

static nay_status verify_foreign(const nay_sst *t, nay_diag *diag, foreign_verify *verify) {
  const nay_foreign *f = t->foreign;
  nay_foreign_scratch scratch = {.key = {NULL, 0, 0}};
  foreign_verify v = {.filter = t->filters.full.filter};
  nay_status status = NAY_OK;
  for (size_t i = 0; i < nay_sst__foreign_nblocks(f) && status == NAY_OK; i++) {
    nay_filter *own = NULL;
    if (f->filter_in_blocks) status = foreign_block_filter(f, i, &scratch, diag, &own);
    if (f->filter_in_blocks) v.filter = own;
    if (status == NAY_OK) {
      status = nay_sst__foreign_walk(f, i, &scratch, foreign_verify_entry, &v, diag);
    }
    nay_filter_free(own);
  }
  nay_sst__foreign_scratch_free(&scratch, &f->allocator);
  if (status == NAY_OK && f->has_nentries && v.nentries != f->nentries) {
    status = nay__fail(diag, NAY_ECORRUPT, "the number of entries differs from the footer",
                       f->source.len);
  }
  *verify = v;
  return status;
}

nay_status nay_sst_verify(const nay_sst *t, nay_diag *diag, uint64_t *nentries, uint64_t *ndenied) {
  foreign_verify v = {.filter = NULL};
  if (t == NULL || nentries == NULL || ndenied == NULL) {
    return nay__fail(diag, NAY_EINVAL, "table or counts are NULL", 0);
  }
  NAY_TRY((t->foreign != NULL ? verify_foreign : verify_table)(t, diag, &v));
  *nentries = v.nentries;
  *ndenied = v.ndenied;
  return NAY_OK;
}
