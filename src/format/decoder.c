/*
 * decoder.c - a native file that arrives in pieces.
 *
 * The bytes are collected where they stay: the filter that comes out probes them in place, as
 * one from nay_filter_open does, and there is no second copy of the payload. The length is in the
 * header, which is untrusted; so the buffer grows towards it by factors of eight, each only when
 * the one before is full. A false length costs at most eight times the bytes that were sent; a true
 * one copies bytes once or not at all, and at most an eighth of them exists twice for a moment.
 */
#include "format/native.h"
#include "redis/redis.h"

#define DECODER_STEP 8u

struct nay_decoder {
  nay_allocator allocator;
  nay_memory memory;
  size_t len, cap; /* bytes here, and room for them */
  size_t total;    /* 0: not known yet */
};

nay_status nay__decoder_new(const nay_allocator *allocator, nay_decoder **decoder) {
  if (decoder == NULL) return NAY_EINVAL;
  nay_allocator a;
  NAY_TRY(nay__allocator_read(allocator, NULL, &a));
  nay_decoder *d = nay__alloc(&a, sizeof *d);
  if (d == NULL) return NAY_ENOMEM;
  *d = (nay_decoder){.allocator = a};
  *decoder = d;
  return NAY_OK;
}

void nay__decoder_free(nay_decoder *d) {
  if (d == NULL) return;
  nay_allocator a = d->allocator;
  nay__memory_free(&a, &d->memory);
  nay__free(&a, d, sizeof *d);
}

/* The least of total, total / 8, total / 64, ... that has room for `need`: below eight times it. */
static size_t decoder_room(size_t total, size_t need) {
  size_t room = total;
  while (room / DECODER_STEP >= need) room /= DECODER_STEP;
  return room;
}

static nay_status decoder_reserve(nay_decoder *d, size_t total, size_t need) {
  if (need <= d->cap) return NAY_OK;
  size_t cap = decoder_room(total, need);
  nay_memory fresh;
  NAY_TRY(nay__memory_raw(&d->allocator, cap, &fresh));
  if (d->len != 0) memcpy(fresh.at, d->memory.at, d->len);
  nay__memory_free(&d->allocator, &d->memory);
  d->memory = fresh;
  d->cap = cap;
  return NAY_OK;
}

/* The total, once the bytes here and those that come make up a header. */
static nay_status decoder_length(const nay_decoder *d, const uint8_t *bytes, size_t len,
                                 nay_diag *diag, size_t *total) {
  uint8_t start[NAY_HEADER_LEN];
  *total = d->total;
  if (d->total != 0 || len < NAY_HEADER_LEN - d->len) return NAY_OK;
  if (d->len != 0) memcpy(start, d->memory.at, d->len);
  memcpy(start + d->len, bytes, NAY_HEADER_LEN - d->len);
  NAY_TRY(nay__native_length(start, diag, total));
  if (start[NAY_AT_KIND] == NAY_LIST) {
    return nay__fail(diag, NAY_EFORMAT, "an exact list, not a filter", NAY_AT_KIND);
  }
  if (start[NAY_AT_KIND] != NAY_MAP) return NAY_OK;
  return nay__fail(diag, NAY_EFORMAT, "a static map, not a filter", NAY_AT_KIND);
}

nay_status nay__decoder_add(nay_decoder *d, const void *bytes, size_t len, nay_diag *diag) {
  if (d == NULL || (bytes == NULL && len != 0)) {
    return nay__fail(diag, NAY_EINVAL, "decoder or bytes is NULL", 0);
  }
  if (len == 0) return NAY_OK;
  size_t total;
  NAY_TRY(decoder_length(d, bytes, len, diag, &total));
  size_t most = total != 0 ? total : NAY_HEADER_LEN;
  if (len > most - d->len) {
    return nay__fail(diag, NAY_ECORRUPT, "more bytes than the header says", most);
  }
  if (decoder_reserve(d, most, d->len + len) != NAY_OK) {
    return nay__fail(diag, NAY_ENOMEM, "no memory for the bytes", d->len);
  }
  memcpy(d->memory.at + d->len, bytes, len);
  d->len += len;
  d->total = total;
  return NAY_OK;
}

const void *nay__decoder_bytes(const nay_decoder *d, size_t *len, uint64_t *total) {
  if (len != NULL) *len = d != NULL ? d->len : 0;
  if (total != NULL) *total = d != NULL ? d->total : 0;
  return d != NULL ? d->memory.at : NULL;
}

nay_status nay__decoder_truncate(nay_decoder *d, size_t len) {
  if (d == NULL || len > d->len) return NAY_EINVAL;
  d->len = len;
  if (len < NAY_HEADER_LEN) d->total = 0;
  return NAY_OK;
}

nay_status nay__decoder_finish(nay_decoder *d, nay_diag *diag, nay_filter **filter) {
  if (d == NULL || filter == NULL) {
    return nay__fail(diag, NAY_EINVAL, "decoder or filter is NULL", 0);
  }
  if (d->total == 0 || d->len != d->total) {
    return nay__fail(diag, NAY_ECORRUPT, "bytes are missing at the end", d->len);
  }
  nay_filter *f;
  NAY_TRY(nay__native_handle(&d->allocator, 0, diag, &f));
  nay_status status = nay__native_parse(d->memory.at, d->len, NAY_VERIFY_ALL, diag, f);
  if (status != NAY_OK) {
    nay_filter_free(f);
    return status;
  }
  f->memory = d->memory;
  *d = (nay_decoder){.allocator = d->allocator};
  *filter = f;
  return NAY_OK;
}
