/*
 * hash_spill.c - see hash_spill.h.
 *
 * In memory: 256 buffers of 64 KiB, and one byte per chunk of the file, its bucket. Finding the
 * chunks of a bucket scans those bytes; 10^9 keys have 122,071 chunks.
 */
#include "build/hash_spill.h"

#include "os/spill.h"

#define SPILL_BUCKETS 256u
#define SPILL_CHUNK 8192u /* words */

struct nay_hash_spill {
  nay_allocator allocator;
  int fd;
  unsigned nwords;  /* of a record */
  size_t full;      /* words of a full buffer: whole records */
  nay_diag trouble; /* with the file, when it was last read or written */
  uint64_t n;
  uint8_t *owner; /* the bucket of each chunk in the file */
  size_t nchunks, owner_cap;
  uint64_t *read_buffer;
  size_t used[SPILL_BUCKETS];
  uint64_t buffer[SPILL_BUCKETS + 1][SPILL_CHUNK]; /* the last one for reading */
};

nay_status nay__hash_spill_new(const char *directory, unsigned nwords,
                               const nay_allocator *allocator, nay_diag *diag,
                               nay_hash_spill **spill) {
  nay_hash_spill *s = nay__alloc(allocator, sizeof *s);
  if (s == NULL)
    return nay__fail(diag, NAY_ENOMEM, "no memory for the buffers of a temporary file", 0);
  s->allocator = *allocator;
  s->nwords = nwords;
  s->full = SPILL_CHUNK / nwords * nwords;
  s->trouble = (nay_diag){.what = NULL};
  s->owner = NULL;
  s->owner_cap = 0;
  s->read_buffer = s->buffer[SPILL_BUCKETS];
  nay__hash_spill_clear(s);
  nay_status status = nay__spill_open(directory, diag, &s->fd);
  if (status != NAY_OK) {
    nay__free(allocator, s, sizeof *s);
    return status;
  }
  *spill = s;
  return NAY_OK;
}

void nay__hash_spill_clear(nay_hash_spill *s) {
  s->n = 0;
  s->nchunks = 0;
  memset(s->used, 0, sizeof s->used);
}

static nay_status spill_grow(nay_hash_spill *s) {
  if (s->nchunks < s->owner_cap) return NAY_OK;
  size_t cap = s->owner_cap == 0 ? 4096 : s->owner_cap * 2;
  uint8_t *owner = nay__alloc(&s->allocator, cap);
  if (owner == NULL) return NAY_ENOMEM;
  if (s->nchunks != 0) memcpy(owner, s->owner, s->nchunks);
  nay__free(&s->allocator, s->owner, s->owner_cap);
  s->owner = owner;
  s->owner_cap = cap;
  return NAY_OK;
}

static nay_status spill_flush(nay_hash_spill *s, unsigned bucket) {
  NAY_TRY(spill_grow(s));
  NAY_TRY(nay__spill_write(s->fd, (uint64_t)s->nchunks * sizeof s->buffer[0], s->buffer[bucket],
                           sizeof s->buffer[0], &s->trouble));
  s->owner[s->nchunks++] = (uint8_t)bucket;
  s->used[bucket] = 0;
  return NAY_OK;
}

nay_status nay__hash_spill_add(nay_hash_spill *s, const uint64_t *record) {
  unsigned bucket = (unsigned)(record[0] >> 56);
  if (s->used[bucket] == s->full) NAY_TRY(spill_flush(s, bucket));
  for (unsigned i = 0; i < s->nwords; i++) s->buffer[bucket][s->used[bucket]++] = record[i];
  s->n++;
  return NAY_OK;
}

const nay_diag *nay__hash_spill_trouble(const nay_hash_spill *s) { return &s->trouble; }

uint64_t nay__hash_spill_count(const nay_hash_spill *s) { return s->n; }

nay_status nay__hash_spill_read(nay_hash_spill *s, uint64_t lo, uint64_t hi,
                                void (*piece)(void *ctx, const uint64_t *records, size_t n),
                                void *ctx) {
  unsigned first = (unsigned)(lo >> 56), last = (unsigned)(hi >> 56);
  uint64_t *buffer = s->read_buffer;
  for (size_t i = 0; i < s->nchunks; i++) {
    if (s->owner[i] < first || s->owner[i] > last) continue;
    NAY_TRY(nay__spill_read(s->fd, (uint64_t)i * sizeof s->buffer[0], buffer, sizeof s->buffer[0],
                            &s->trouble));
    piece(ctx, buffer, s->full / s->nwords);
  }
  for (unsigned b = first; b <= last; b++) {
    if (s->used[b] != 0) piece(ctx, s->buffer[b], s->used[b] / s->nwords);
  }
  return NAY_OK;
}

void nay__hash_spill_free(nay_hash_spill *s) {
  if (s == NULL) return;
  nay__spill_close(s->fd);
  nay_allocator a = s->allocator;
  nay__free(&a, s->owner, s->owner_cap);
  nay__free(&a, s, sizeof *s);
}
