/*
 * filters_foreign.c - the filters of nori's and mini-lsm's tables as nay_sst_filters.
 *
 * A Bloom filter of the whole table is used in place, like any full filter. nori's filters inside
 * blocks are uncompressed, copied and decoded when the table is opened. nay_sst_filters lists them
 * as partitions: partition i covers the keys from the first key of block i up to the first key of
 * block i + 1.
 */
#include "cache/native_filter.h"
#include "filters/filters.h"

/* The filter of one block. */
typedef struct foreign_filter {
  size_t at, len;     /* range in t->foreign_bytes; len 0: the block has no filter */
  nay_filter *filter; /* NULL: damaged, or none */
  uint64_t offset;    /* file offset of the filter; if its block is compressed, of the block */
} foreign_filter;

static foreign_filter *foreign_filter_at(const nay_sst_filters *t, size_t i) {
  return (foreign_filter *)(void *)t->foreign_filters.at + i;
}

static size_t foreign_filter_count(const nay_sst_filters *t) {
  return t->foreign_filters.len / sizeof(foreign_filter);
}

/* ---- opening ---- */

static nay_status foreign_load_block(nay_sst_filters *t, size_t i, nay_foreign_scratch *scratch,
                                     nay_diag *diag) {
  const nay_foreign *f = t->foreign;
  nay_handle handle = nay_sst__foreign_block_at(f, i)->handle;
  nay_bytes contents, bytes;
  NAY_TRY(nay_sst__foreign_contents(f, i, scratch, diag, &contents));
  NAY_TRY(nay_sst__in_file(nay_sst__nori_block_filter(contents, diag, &bytes), diag, handle));
  bool in_place = contents.at == t->bytes + handle.offset;
  foreign_filter own = {.at = t->foreign_bytes.len, .len = bytes.len, .offset = handle.offset};
  if (in_place) own.offset += (uint64_t)(bytes.at - contents.at);
  NAY_TRY(nay__buffer_append(&t->foreign_bytes, bytes.at, bytes.len, &t->allocator));
  nay_status status = NAY_OK;
  if (bytes.len != 0) {
    status = nay_format_decode(f->format, bytes.at, bytes.len, 0, &t->allocator, NULL, &own.filter);
    if (status != NAY_ENOMEM) status = NAY_OK; /* a damaged filter is listed as such */
  }
  if (status == NAY_OK) {
    status = nay__buffer_append(&t->foreign_filters, &own, sizeof own, &t->allocator);
  }
  if (status != NAY_OK) nay_filter_free(own.filter);
  if (own.filter != NULL && status == NAY_OK) {
    nay_stats stats = {.size = sizeof stats};
    bool known = nay_filter_stats(own.filter, &stats) == NAY_OK;
    t->nfull += known && stats.fill == 1;
  }
  return status;
}

static nay_status foreign_load_blocks(nay_sst_filters *t, nay_diag *diag) {
  nay_foreign_scratch scratch = {.key = {NULL, 0, 0}};
  nay_status status = NAY_OK;
  for (size_t i = 0; i < nay_sst__foreign_nblocks(t->foreign) && status == NAY_OK; i++) {
    status = foreign_load_block(t, i, &scratch, diag);
  }
  nay_sst__foreign_scratch_free(&scratch, &t->allocator);
  return status;
}

/* Opens the Bloom filter. A filter of 0 bits in a table with entries would exclude all of them, so
 * it is not probed. */
static void foreign_load_bloom(nay_sst_filters *t) {
  const nay_foreign *f = t->foreign;
  const uint8_t *bytes = t->bytes + f->filter.offset;
  bool ok = nay_format_view(t->format, bytes, (size_t)f->filter.size, 0, NULL, &t->view) == NAY_OK;
  t->damaged = !ok;
  t->filter_nbits = ok ? nay_sst__filter_nbits(nay_view_filter(&t->view)) : 1;
  t->has_view = ok && (t->filter_nbits != 0 || nay_sst__foreign_nblocks(f) == 0);
}

nay_status nay_sst__filters_load_foreign(nay_sst_filters *t, const nay_foreign_engine *engine,
                                         size_t len, nay_diag *diag) {
  nay_foreign_source source = {.bytes = t->bytes, .len = len, .codecs = t->options.codecs};
  source.ncodecs = t->options.ncodecs;
  NAY_TRY(nay_sst__foreign_open(engine, &source, &t->allocator, diag, &t->foreign));
  const nay_foreign *f = t->foreign;
  t->engine = engine == &nay_sst__foreign_nori ? NAY_SST_ENGINE_NORI : NAY_SST_ENGINE_MINILSM;
  t->footer.format_version = f->footer_version;
  t->properties.nentries = f->nentries;
  t->properties.whole_keys = true;
  t->filter_nbits = 1;
  if (f->filter.size == 0 && !f->filter_in_blocks) return NAY_OK;
  t->format = f->format;
  const char *name = nay_format_name(f->format);
  nay_sst__name_set(t->policy_name, (nay_bytes){(const uint8_t *)name, strlen(name)});
  if (f->filter_in_blocks) {
    t->layout = NAY_SST_PARTITIONED_FILTER;
    return foreign_load_blocks(t, diag);
  }
  t->layout = NAY_SST_FULL_FILTER;
  t->filter.at = f->filter;
  foreign_load_bloom(t);
  return NAY_OK;
}

void nay_sst__filters_free_foreign(nay_sst_filters *t) {
  for (size_t i = 0; i < foreign_filter_count(t); i++)
    nay_filter_free(foreign_filter_at(t, i)->filter);
  nay__buffer_free(&t->foreign_filters, &t->allocator);
  nay__buffer_free(&t->foreign_bytes, &t->allocator);
  nay_sst__foreign_free(t->foreign);
}

/* ---- filters inside blocks ---- */

uint64_t nay_sst__filters_count_foreign(const nay_sst_filters *t) {
  return foreign_filter_count(t);
}

nay_sst_filters_entry nay_sst__filters_at_foreign(const nay_sst_filters *t, uint64_t i) {
  const foreign_filter *own = foreign_filter_at(t, (size_t)i);
  nay_sst_filters_entry f = {
      .bytes = nay__buffer_at(&t->foreign_bytes, own->at),
      .len = own->len,
      .offset = own->offset,
      .damaged = own->len != 0 && own->filter == NULL,
      .format = own->filter != NULL ? nay_filter_format(own->filter) : t->format};
  if (i + 1 < nay_sst__foreign_nblocks(t->foreign)) {
    nay_bytes next = nay_sst__foreign_block_at(t->foreign, (size_t)i + 1)->first;
    f.last_key = next.at;
    f.last_key_len = next.len;
  }
  return f;
}

bool nay_sst__filters_find_foreign(const nay_sst_filters *t, const void *key, size_t len,
                                   const nay_filter **filter, uint64_t *offset, bool *damaged) {
  size_t i = nay_sst__foreign_find_block(t->foreign, key, len);
  if (i == nay_sst__foreign_nblocks(t->foreign))
    return false; /* the key is before the first block, or there is no block */
  const foreign_filter *own = foreign_filter_at(t, i);
  *filter = own->filter;
  *offset = own->offset;
  *damaged = own->len != 0 && own->filter == NULL;
  return true;
}

const char *nay_sst_filters_caveat(const nay_sst_filters *t, size_t i) {
  if (t == NULL || t->foreign == NULL) return NULL;
  return nay_sst__foreign_caveat(t->foreign, t->filter_nbits, t->nfull, i);
}
