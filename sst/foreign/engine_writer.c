/* engine_writer.c - see engine_writer.h. */
#include "foreign/engine_writer.h"

#define FOREIGN_BLOCK_BYTES 4096u /* both engines' default block size */
#define FOREIGN_INTERVAL 16u      /* nori's default restart interval */
#define FOREIGN_BITS 10u          /* both engines' default bits per key */
#define FOREIGN_MAX (1u << 30)    /* limit for a key, a value and a block, in bytes */

/* ---- bytes ---- */

nay_status nay_sst__foreign_put(nay_foreign_writer *w, const void *bytes, size_t len) {
  NAY_TRY(nay_sst__io_write(&w->sink, bytes, len, &w->trouble));
  w->offset += len;
  return NAY_OK;
}

nay_status nay_sst__foreign_append_le(nay_buffer *to, uint64_t number, size_t width,
                                      const nay_allocator *a) {
  uint8_t bytes[8];
  nay__store64le(bytes, number);
  return nay__buffer_append(to, bytes, width, a);
}

nay_status nay_sst__foreign_append_be(nay_buffer *to, uint64_t number, size_t width,
                                      const nay_allocator *a) {
  uint8_t bytes[8];
  nay__store32be(bytes, (uint32_t)(number >> 32));
  nay__store32be(bytes + 4, (uint32_t)number);
  return nay__buffer_append(to, bytes + 8 - width, width, a);
}

nay_status nay_sst__foreign_encode(nay_foreign_writer *w, const nay_filter *filter) {
  const nay_format *format = nay_filter_format(filter);
  size_t size = nay_format_encoded_size(format, filter), len = 0;
  w->scratch.len = 0;
  NAY_TRY(nay__buffer_reserve(&w->scratch, size + 1, &w->allocator));
  NAY_TRY(nay_format_encode(format, filter, w->scratch.at, size, &len));
  w->scratch.len = len;
  return NAY_OK;
}

nay_status nay_sst__foreign_put_bloom(nay_foreign_writer *w, size_t *len) {
  nay_filter *f;
  NAY_TRY(nay_builder_finish(w->bloom, &w->trouble, &f));
  nay_status status = nay_sst__foreign_encode(w, f);
  nay_filter_free(f);
  NAY_TRY(status);
  *len = w->scratch.len;
  return nay_sst__foreign_put(w, w->scratch.at, w->scratch.len);
}

/* ---- options ---- */

static const nay_foreign_layout *foreign_layout_of(const nay_foreign_options *o) {
  static const struct {
    const char *name;
    const nay_foreign_layout *layout;
  } names[] = {{"nori-sst", &nay_sst__foreign_write_nori},
               {"mini-lsm-sst", &nay_sst__foreign_write_week2},
               {"mini-lsm-sst-day4", &nay_sst__foreign_write_day4},
               {"mini-lsm-sst-week1", &nay_sst__foreign_write_week1},
               {"mini-lsm-sst-week2", &nay_sst__foreign_write_week2},
               {"mini-lsm-sst-week3", &nay_sst__foreign_write_week3}};
  for (size_t i = 0; o->name != NULL && i < sizeof names / sizeof names[0]; i++) {
    if (strcmp(o->name, names[i].name) != 0) continue;
    bool nori = names[i].layout == &nay_sst__foreign_write_nori;
    return nori && o->quotient ? &nay_sst__foreign_write_nori_quotient : names[i].layout;
  }
  return NULL;
}

static nay_status foreign_check_options(const nay_foreign_options *o,
                                        const nay_foreign_layout *layout, nay_diag *diag) {
  bool nori =
      layout == &nay_sst__foreign_write_nori || layout == &nay_sst__foreign_write_nori_quotient;
  const nay_sst_codec *c = o->codec;
  if (layout == NULL)
    return nay__fail(diag, NAY_EINVAL, "layout: there is no such table layout", 0);
  if (o->block_bytes > FOREIGN_MAX || o->restart_interval > FOREIGN_MAX) {
    return nay__fail(diag, NAY_EINVAL, "block_bytes or restart_interval is too large", 0);
  }
  if (!nori && (c != NULL || o->quotient || o->bits_per_key != 0 || o->nkeys != 0 ||
                o->restart_interval != 0)) {
    return nay__fail(diag, NAY_EINVAL,
                     "codec, quotient, params and restart_interval are for nori alone", 0);
  }
  if (c != NULL && ((c->id != 2 && c->id != 4) || c->bound == NULL || c->compress == NULL)) {
    return nay__fail(diag, NAY_EINVAL, "codec: nori takes ids 4 (LZ4) and 2 (zstd)", 0);
  }
  return NAY_OK;
}

/* ---- calls ---- */

/* Sets the defaults, and opens the filter builder and the sink; `sink` NULL: the file at `path`.
   The sink is opened last, so no failure leaves it open. */
static nay_status foreign_writer_begin(nay_foreign_writer *w, const char *path,
                                       const nay_sst_target *sink, nay_diag *diag) {
  nay_foreign_options *o = &w->options;
  if (o->block_bytes == 0) o->block_bytes = FOREIGN_BLOCK_BYTES;
  if (o->restart_interval == 0) o->restart_interval = FOREIGN_INTERVAL;
  if (o->bits_per_key == 0) o->bits_per_key = FOREIGN_BITS;
  if (w->layout->filter != NULL) {
    nay_params p = {sizeof p, .nkeys = o->nkeys, .bits_per_key = o->bits_per_key};
    const nay_format *format = nay_format_find(w->layout->filter);
    NAY_TRY(nay_format_builder_new(format, &p, &w->allocator, diag, &w->bloom));
  }
  if (sink != NULL) {
    w->sink = *sink;
  } else {
    NAY_TRY(nay_sst__io_replace(path, !o->no_sync, &w->allocator, diag, &w->sink));
  }
  w->sink_open = true;
  return NAY_OK;
}

nay_status nay_sst__foreign_writer_new(const char *path, const nay_sst_target *sink,
                                       const nay_foreign_options *o, const nay_allocator *a,
                                       nay_diag *diag, nay_foreign_writer **writer) {
  const nay_foreign_layout *layout = foreign_layout_of(o);
  NAY_TRY(foreign_check_options(o, layout, diag));
  nay_foreign_writer *w = nay__alloc(a, sizeof *w);
  if (w == NULL) return nay__fail(diag, NAY_ENOMEM, "no memory for a writer", 0);
  *w = (nay_foreign_writer){.allocator = *a, .options = *o, .layout = layout};
  nay_status status = foreign_writer_begin(w, path, sink, diag);
  if (status != NAY_OK) {
    nay_sst__foreign_writer_free(w);
    return status;
  }
  *writer = w;
  return NAY_OK;
}

/* Returns why an entry cannot be added; NULL: it can. */
static const char *foreign_refuses(const nay_foreign_writer *w, const nay_foreign_entry_in *e) {
  nay_foreign_versions versions = w->layout->versions;
  if (e->len >= FOREIGN_MAX || e->value_len >= FOREIGN_MAX)
    return "a key or value of 1 GiB or more";
  if (e->deleted && e->value_len != 0) return "a deletion with a value";
  if (e->version > NAY_SST_MAX_SEQUENCE) return "a sequence number above 2^56 - 1";
  if (versions == NAY_FOREIGN_NO_VERSIONS && e->version != 0) {
    return "this layout has no versions: the sequence number must be 0";
  }
  if (versions != NAY_FOREIGN_TERM_AND_INDEX && e->term != 0) return "this layout has no terms";
  if (w->total != 0) {
    int sign = nay_sst__compare_bytes(w->last.at, w->last.len, e->key, e->len);
    bool older = versions == NAY_FOREIGN_TIMESTAMP && e->version < w->last_version;
    if (sign > 0 || (sign == 0 && !older)) return "the key is not above the one before it";
  }
  return w->layout->refuses(w, e);
}

static nay_status foreign_add(nay_foreign_writer *w, const nay_foreign_entry_in *e) {
  NAY_TRY(w->layout->add(w, e));
  if (w->bloom != NULL) NAY_TRY(nay_builder_add(w->bloom, e->key, e->len));
  w->last.len = 0;
  NAY_TRY(nay__buffer_append(&w->last, e->key, e->len, &w->allocator));
  w->last_version = e->version;
  w->max_version = nay__max_u64(w->max_version, e->version);
  w->total++;
  return NAY_OK;
}

nay_status nay_sst__foreign_writer_add(nay_foreign_writer *w, const nay_sst_entry *version,
                                       const void *value, size_t value_len, nay_diag *diag) {
  if ((version->key == NULL && version->len != 0) || (value == NULL && value_len != 0)) {
    return nay__fail(diag, NAY_EINVAL, "key or value is NULL", 0);
  }
  if ((unsigned)version->type > NAY_SST_DELETE) {
    return nay__fail(diag, NAY_EINVAL,
                     "a merge operand or an unknown type: this layout has neither", 0);
  }
  nay_foreign_entry_in e = {.key = version->len != 0 ? version->key : (const void *)"",
                            .value = value_len != 0 ? value : (const void *)"",
                            .len = version->len,
                            .value_len = value_len,
                            .version = version->sequence,
                            .term = version->term,
                            .deleted = version->type == NAY_SST_DELETE};
  if (w->finished) return nay__fail(diag, NAY_EINVAL, "the table is finished", 0);
  if (w->failed == NAY_OK) {
    const char *refused = foreign_refuses(w, &e);
    if (refused != NULL) return nay__fail(diag, NAY_EINVAL, refused, w->total);
    w->failed = foreign_add(w, &e);
  }
  if (w->failed != NAY_OK && diag != NULL) *diag = w->trouble;
  return w->failed;
}

nay_status nay_sst__foreign_writer_finish(nay_foreign_writer *w, nay_diag *diag) {
  if (w->finished) return nay__fail(diag, NAY_EINVAL, "the table is finished", 0);
  if (w->failed == NAY_OK) w->failed = w->layout->finish(w);
  if (w->failed == NAY_OK && !w->options.no_sync)
    w->failed = nay_sst__io_sync(&w->sink, &w->trouble);
  if (w->failed == NAY_OK) {
    w->sink_open = false;
    w->failed = nay_sst__io_finish(&w->sink, &w->trouble);
  }
  w->finished = true;
  if (w->failed == NAY_OK) return NAY_OK;
  if (w->trouble.what == NULL) w->trouble.what = nay_status_text(w->failed);
  if (diag != NULL) *diag = w->trouble;
  return w->failed;
}

void nay_sst__foreign_writer_free(nay_foreign_writer *w) {
  if (w == NULL) return;
  nay_allocator a = w->allocator;
  nay_buffer *buffers[] = {&w->block, &w->marks, &w->first, &w->last, &w->index, &w->scratch};
  for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++) nay__buffer_free(buffers[i], &a);
  nay_builder_free(w->bloom);
  nay_filter_free(w->quotient);
  if (w->sink_open) nay_sst__io_abort(&w->sink);
  nay__free(&a, w, sizeof *w);
}
