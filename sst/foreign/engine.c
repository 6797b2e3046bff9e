/* engine.c - see engine.h. */
#include "foreign/engine.h"

#include "block/codec.h"

#define FOREIGN_MAX_VERSION NAY_SST_MAX_SEQUENCE

static const nay_foreign_engine *const foreign_engines[] = {
    &nay_sst__foreign_nori,          &nay_sst__foreign_minilsm,
    &nay_sst__foreign_minilsm_day4,  &nay_sst__foreign_minilsm_week1,
    &nay_sst__foreign_minilsm_week2, &nay_sst__foreign_minilsm_week3,
};

const nay_foreign_engine *nay_sst__foreign_at(size_t i) {
  return i < sizeof foreign_engines / sizeof foreign_engines[0] ? foreign_engines[i] : NULL;
}

const nay_foreign_engine *nay_sst__foreign_find(const char *name) {
  const nay_foreign_engine *engine;
  for (size_t i = 0; name != NULL && (engine = nay_sst__foreign_at(i)) != NULL; i++) {
    if (strcmp(engine->name, name) == 0) return engine;
  }
  return NULL;
}

/* ---- opening ---- */

nay_status nay_sst__foreign_open(const nay_foreign_engine *engine, const nay_foreign_source *source,
                                 const nay_allocator *allocator, nay_diag *diag,
                                 nay_foreign **foreign) {
  nay_allocator a;
  NAY_TRY(nay__allocator_read(allocator, diag, &a));
  nay_foreign *f = nay__alloc(&a, sizeof *f);
  if (f == NULL) return nay__fail(diag, NAY_ENOMEM, "no memory for a table", 0);
  *f = (nay_foreign){.engine = engine, .allocator = a, .source = *source};
  if (f->source.max_block_bytes == 0) f->source.max_block_bytes = NAY_MAX_BLOCK;
  nay_status status = engine->open(f, diag);
  if (status != NAY_OK) {
    if (status == NAY_ENOMEM) nay__fail(diag, status, "no memory for a table", 0);
    nay_sst__foreign_free(f);
    return status;
  }
  *foreign = f;
  return NAY_OK;
}

void nay_sst__foreign_free(nay_foreign *f) {
  if (f == NULL) return;
  nay_allocator a = f->allocator;
  nay__buffer_free(&f->index_bytes, &a);
  nay__buffer_free(&f->blocks, &a);
  nay__free(&a, f, sizeof *f);
}

void nay_sst__foreign_scratch_free(nay_foreign_scratch *scratch, const nay_allocator *a) {
  nay__buffer_free(&scratch->stored, a);
  nay__buffer_free(&scratch->contents, a);
  nay__buffer_free(&scratch->key, a);
}

nay_status nay_sst__foreign_read(const nay_foreign *f, uint64_t offset, uint64_t len,
                                 nay_buffer *room, nay_diag *diag, nay_bytes *bytes) {
  assert(offset <= f->source.len && len <= f->source.len - offset);
  if (f->source.bytes != NULL) {
    *bytes = (nay_bytes){f->source.bytes + offset, (size_t)len};
    return NAY_OK;
  }
  room->len = 0;
  if (nay__buffer_reserve(room, (size_t)len + 1, &f->allocator) != NAY_OK) {
    return nay__fail(diag, NAY_ENOMEM, "no memory for a block", offset);
  }
  NAY_TRY(nay_sst__io_read(&f->source.file, offset, room->at, (size_t)len, diag));
  room->len = (size_t)len;
  *bytes = (nay_bytes){room->at, room->len};
  return NAY_OK;
}

nay_status nay_sst__foreign_add_block(nay_foreign *f, const nay_foreign_block *block,
                                      nay_diag *diag) {
  size_t n = nay_sst__foreign_nblocks(f);
  const nay_foreign_block *before = n != 0 ? nay_sst__foreign_block_at(f, n - 1) : NULL;
  uint64_t expected = before != NULL ? before->handle.offset + before->handle.size : 0;
  if (block->handle.offset != expected || block->handle.size == 0 ||
      block->handle.size > f->blocks_end - expected) {
    return nay__fail(diag, NAY_ECORRUPT, "the blocks of the index do not fill the file in order",
                     block->index_at);
  }
  int sign = before == NULL ? -1
                            : nay_sst__compare_bytes(before->first.at, before->first.len,
                                                     block->first.at, block->first.len);
  /* Versions of one key may continue in the next block if they have timestamps. */
  if (sign > 0 || (sign == 0 && f->versions != NAY_FOREIGN_TIMESTAMP)) {
    return nay__fail(diag, NAY_ECORRUPT, "the first keys of the index do not ascend",
                     block->index_at);
  }
  if (nay__buffer_append(&f->blocks, block, sizeof *block, &f->allocator) == NAY_OK) return NAY_OK;
  return nay__fail(diag, NAY_ENOMEM, "no memory for an index", block->index_at);
}

size_t nay_sst__foreign_block_of(const nay_foreign *f, uint64_t offset) {
  size_t low = 0, high = nay_sst__foreign_nblocks(f);
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (nay_sst__foreign_block_at(f, middle)->handle.offset < offset) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  bool found = low < nay_sst__foreign_nblocks(f) &&
               nay_sst__foreign_block_at(f, low)->handle.offset == offset;
  return found ? low : nay_sst__foreign_nblocks(f);
}

size_t nay_sst__foreign_find_block(const nay_foreign *f, const void *key, size_t len) {
  size_t n = nay_sst__foreign_nblocks(f), low = 0, high = n;
  while (low < high) { /* the first keys of blocks below `low` are at or below `key` */
    size_t middle = low + (high - low) / 2;
    const nay_foreign_block *b = nay_sst__foreign_block_at(f, middle);
    if (nay_sst__compare_bytes(b->first.at, b->first.len, key, len) <= 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low == 0 ? n : low - 1;
}

/* ---- reading a block ---- */

nay_status nay_sst__foreign_contents(const nay_foreign *f, size_t i, nay_foreign_scratch *scratch,
                                     nay_diag *diag, nay_bytes *contents) {
  const nay_foreign_block *b = nay_sst__foreign_block_at(f, i);
  nay_bytes stored;
  NAY_TRY(
      nay_sst__foreign_read(f, b->handle.offset, b->handle.size, &scratch->stored, diag, &stored));
  return f->engine->contents(f, b, stored, &scratch->contents, diag, contents);
}

/* The state of nay_sst__foreign_walk: checks each entry against the previous one and against the
 * index, then calls `visit`. */
typedef struct foreign_check {
  const nay_foreign *foreign;
  size_t block;
  nay_buffer last; /* key of the previous entry */
  uint64_t last_version;
  uint64_t n; /* entries so far */
  nay_foreign_visit visit;
  void *ctx;
  nay_diag *diag;
} foreign_check;

static nay_status foreign_corrupt(const foreign_check *c, size_t at, const char *what) {
  return nay__fail(c->diag, NAY_ECORRUPT, what, at);
}

static bool foreign_equal(nay_bytes a, const uint8_t *b, size_t len) {
  return a.len == len && (len == 0 || memcmp(a.at, b, len) == 0);
}

static nay_status foreign_check_entry(void *ctx, const nay_foreign_entry *e) {
  foreign_check *c = ctx;
  const nay_foreign_block *b = nay_sst__foreign_block_at(c->foreign, c->block);
  if (c->n == 0) {
    if (!foreign_equal(b->first, e->key.at, e->key.len) ||
        (b->last.at != NULL && b->first_version != e->version)) {
      return foreign_corrupt(c, e->at, "the first key of a block is not the one in the index");
    }
  } else {
    int sign = nay_sst__compare_bytes(c->last.at, c->last.len, e->key.at, e->key.len);
    bool timestamps = c->foreign->versions == NAY_FOREIGN_TIMESTAMP;
    if (sign > 0 || (sign == 0 && (!timestamps || e->version >= c->last_version))) {
      return foreign_corrupt(c, e->at, "the keys of a block do not ascend");
    }
  }
  if (e->version > FOREIGN_MAX_VERSION) {
    return nay__fail(c->diag, NAY_ENOTSUP, "a version above 2^56 - 1", e->at);
  }
  if (e->key.len > UINT32_MAX / 2 || e->value.len > UINT32_MAX / 2) {
    return nay__fail(c->diag, NAY_ENOTSUP, "a key or a value of 2 GiB or more", e->at);
  }
  c->last.len = 0;
  if (nay__buffer_append(&c->last, e->key.at, e->key.len, &c->foreign->allocator) != NAY_OK) {
    return nay__fail(c->diag, NAY_ENOMEM, "no memory for a key", e->at);
  }
  c->last_version = e->version;
  c->n++;
  return c->visit != NULL ? c->visit(c->ctx, e) : NAY_OK;
}

/* Checks the last key of the block against the index. */
static nay_status foreign_check_end(const foreign_check *c) {
  const nay_foreign_block *b = nay_sst__foreign_block_at(c->foreign, c->block);
  if (c->n == 0) return foreign_corrupt(c, 0, "a block has no entry");
  if (b->last.at != NULL) {
    bool same =
        foreign_equal(b->last, c->last.at, c->last.len) && b->last_version == c->last_version;
    return same ? NAY_OK
                : foreign_corrupt(c, 0, "the last key of a block is not the one in the index");
  }
  if (c->block + 1 == nay_sst__foreign_nblocks(c->foreign)) return NAY_OK;
  nay_bytes next = nay_sst__foreign_block_at(c->foreign, c->block + 1)->first;
  if (nay_sst__compare_bytes(c->last.at, c->last.len, next.at, next.len) < 0) return NAY_OK;
  return foreign_corrupt(c, 0, "a key of a block is not below the first key of the next");
}

nay_status nay_sst__foreign_walk(const nay_foreign *f, size_t i, nay_foreign_scratch *scratch,
                                 nay_foreign_visit visit, void *ctx, nay_diag *diag) {
  nay_bytes contents;
  foreign_check c = {.foreign = f, .block = i, .visit = visit, .ctx = ctx, .diag = diag};
  NAY_TRY(nay_sst__foreign_contents(f, i, scratch, diag, &contents));
  nay_status status = f->engine->walk(f, contents, &scratch->key, foreign_check_entry, &c, diag);
  if (status == NAY_OK) status = foreign_check_end(&c);
  nay__buffer_free(&c.last, &f->allocator);
  return nay_sst__in_file(status, diag, nay_sst__foreign_block_at(f, i)->handle);
}

/* ---- translation ---- */

static nay_status foreign_append_key(nay_buffer *key, nay_bytes user, uint64_t trailer,
                                     const nay_allocator *a) {
  uint8_t bytes[NAY_KEY_TRAILER];
  nay__store64le(bytes, trailer);
  key->len = 0;
  NAY_TRY(nay__buffer_append(key, user.at, user.len, a));
  return nay__buffer_append(key, bytes, sizeof bytes, a);
}

typedef struct foreign_translation {
  const nay_allocator *a;
  nay_block_builder builder;
  nay_buffer key, terms;
} foreign_translation;

static nay_status foreign_translate_entry(void *ctx, const nay_foreign_entry *e) {
  foreign_translation *t = ctx;
  uint8_t term[8];
  nay__store64le(term, e->term);
  NAY_TRY(foreign_append_key(&t->key, e->key, e->version << 8 | !e->deleted, t->a));
  NAY_TRY(nay__buffer_append(&t->terms, term, sizeof term, t->a));
  NAY_TRY(
      nay_sst__block_add(&t->builder, t->key.at, t->key.len, 0, e->value.at, e->value.len, t->a));
  return t->builder.bytes.len > UINT32_MAX / 2 ? NAY_ENOMEM : NAY_OK;
}

/* Finishes a translated block with its terms and their number, and swaps it with *to. */
static nay_status foreign_translation_finish(foreign_translation *t, nay_buffer *to) {
  uint8_t count[4];
  nay_buffer *bytes = &t->builder.bytes;
  nay__store32le(count, (uint32_t)(t->terms.len / 8));
  NAY_TRY(nay_sst__block_finish(&t->builder, t->a));
  NAY_TRY(nay__buffer_append(bytes, t->terms.at, t->terms.len, t->a));
  NAY_TRY(nay__buffer_append(bytes, count, sizeof count, t->a));
  nay_buffer old = *to;
  *to = *bytes;
  *bytes = old;
  return NAY_OK;
}

static void foreign_translation_free(foreign_translation *t) {
  nay_sst__block_builder_free(&t->builder, t->a);
  nay__buffer_free(&t->key, t->a);
  nay__buffer_free(&t->terms, t->a);
}

nay_status nay_sst__foreign_translate(const nay_foreign *f, size_t i, nay_foreign_scratch *scratch,
                                      nay_buffer *to, nay_diag *diag) {
  foreign_translation t = {.a = &f->allocator, .builder = {.interval = 1}};
  nay_status status = nay_sst__block_reset(&t.builder, t.a);
  if (status == NAY_OK) {
    status = nay_sst__foreign_walk(f, i, scratch, foreign_translate_entry, &t, diag);
  }
  if (status == NAY_OK) status = foreign_translation_finish(&t, to);
  foreign_translation_free(&t);
  if (status != NAY_ENOMEM) return status;
  return nay__fail(diag, NAY_ENOMEM, "no memory for a block",
                   nay_sst__foreign_block_at(f, i)->handle.offset);
}

typedef struct foreign_last {
  const nay_allocator *a;
  nay_buffer *key;
} foreign_last;

static nay_status foreign_keep_last(void *ctx, const nay_foreign_entry *e) {
  foreign_last *last = ctx;
  return foreign_append_key(last->key, e->key, e->version << 8, last->a);
}

/* The last key of the table, taken from the index or, if that has no last keys, from the last
 * block. */
static nay_status foreign_largest(const nay_foreign *f, nay_buffer *largest, nay_diag *diag) {
  size_t n = nay_sst__foreign_nblocks(f);
  const nay_foreign_block *b = nay_sst__foreign_block_at(f, n - 1);
  if (b->last.at != NULL) {
    return foreign_append_key(largest, b->last, b->last_version << 8, &f->allocator);
  }
  nay_foreign_scratch scratch = {.key = {NULL, 0, 0}};
  foreign_last last = {&f->allocator, largest};
  nay_status status = nay_sst__foreign_walk(f, n - 1, &scratch, foreign_keep_last, &last, diag);
  nay_sst__foreign_scratch_free(&scratch, &f->allocator);
  return status;
}

/*
 * Adds the index entry of block i. An index key of block.h is at or above the last key of its block
 * and below the first key of the next. If the foreign index has only first keys, the index key is
 * the next block's first key with a trailer that sorts before all versions of that key.
 */
static nay_status foreign_index_entry(const nay_foreign *f, size_t i, const nay_buffer *largest,
                                      foreign_translation *t) {
  uint8_t value[NAY_HANDLE_MAX];
  const nay_foreign_block *b = nay_sst__foreign_block_at(f, i);
  size_t len = nay_sst__handle_store(value, b->handle);
  if (i + 1 == nay_sst__foreign_nblocks(f)) {
    return nay_sst__block_add(&t->builder, largest->at, largest->len, 0, value, len, t->a);
  }
  if (b->last.at != NULL) {
    NAY_TRY(foreign_append_key(&t->key, b->last, b->last_version << 8, t->a));
  } else {
    nay_bytes next = nay_sst__foreign_block_at(f, i + 1)->first;
    NAY_TRY(foreign_append_key(&t->key, next, NAY_KEY_TRAILER_BEFORE_ALL, t->a));
  }
  return nay_sst__block_add(&t->builder, t->key.at, t->key.len, 0, value, len, t->a);
}

nay_status nay_sst__foreign_translate_index(const nay_foreign *f, nay_buffer *to,
                                            nay_buffer *largest, nay_diag *diag) {
  foreign_translation t = {.a = &f->allocator, .builder = {.interval = 1}};
  size_t n = nay_sst__foreign_nblocks(f);
  nay_status status = n != 0 ? foreign_largest(f, largest, diag) : NAY_OK;
  if (status == NAY_OK) status = nay_sst__block_reset(&t.builder, t.a);
  for (size_t i = 0; i < n && status == NAY_OK; i++)
    status = foreign_index_entry(f, i, largest, &t);
  if (status == NAY_OK) status = nay_sst__block_finish(&t.builder, t.a);
  if (status == NAY_OK) {
    *to = t.builder.bytes;
    t.builder.bytes = (nay_buffer){NULL, 0, 0};
  }
  foreign_translation_free(&t);
  return status;
}

/* ---- caveats ---- */

const char *nay_sst__foreign_caveat(const nay_foreign *f, uint64_t nbits, uint64_t nfull,
                                    size_t i) {
  const char *list[5];
  size_t n = 0;
  bool nori = f->engine == &nay_sst__foreign_nori, entries = nay_sst__foreign_nblocks(f) != 0;
  if (nori) {
    list[n++] = "only the footer has a checksum: damage that still parses gives wrong answers";
  } else if (!f->has_checksums) {
    list[n++] = "nothing has a checksum: damage that still parses gives wrong answers";
  }
  if (f->filter_in_blocks) {
    list[n++] =
        "the filter is inside each block, which must be read for it: it saves no block read";
  }
  if (nfull != 0) {
    list[n++] =
        "a block has a full filter: nori dropped further keys of it and denies them; here "
        "every key of such a block is maybe";
  }
  if (nori && nbits == 0 && entries) {
    list[n++] =
        "the filter has no bits, as it was planned for 0 entries: nori denies every key of "
        "this table; here the filter is not used";
  }
  if (nori && (nbits & (nbits - 1)) != 0) {
    list[n++] =
        "the filter is from before 2025-10-31: nori of today takes another modulus and "
        "denies most keys of this table; here they are found";
  }
  return i < n ? list[i] : NULL;
}
