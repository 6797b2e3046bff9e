/*
 * sst_own_io.h - files and sinks of a caller, for tests: in memory, counted, and with one call that
 * fails, as any caller's may.
 */
#ifndef NAY_TEST_SST_OWN_IO_H
#define NAY_TEST_SST_OWN_IO_H

#include "nay_sst.h"
#include "support/test.h"

typedef struct own_file {
  const uint8_t *bytes;
  size_t len;
  long fail_at;       /* the read that fails, from 0; -1: none */
  nay_status failure; /* NAY_OK: it falls short, and does not say so */
  long reads, closes;
  size_t longest; /* read */
} own_file;

static inline nay_status own_read(void *ctx, uint64_t at, void *dst, size_t len, nay_diag *diag) {
  own_file *f = ctx;
  assert_true(len != 0 && at <= f->len && len <= f->len - at);
  if (f->reads++ == f->fail_at) {
    if (f->failure == NAY_OK) memcpy(dst, f->bytes + at, len / 2);
    if (f->failure == NAY_EIO) *diag = (nay_diag){.what = "own failure", .offset = at};
    return f->failure;
  }
  memcpy(dst, f->bytes + at, len);
  if (len > f->longest) f->longest = len;
  return NAY_OK;
}

static inline void own_close(void *ctx) { ((own_file *)ctx)->closes++; }

static inline nay_sst_file own_file_of(own_file *f) {
  return (nay_sst_file){sizeof(nay_sst_file), f->len, own_read, own_close, f};
}

typedef struct own_sink {
  uint8_t bytes[1u << 20];
  size_t len;
  long fail_at; /* the call that fails, of all; -1: none */
  nay_status failure;
  long calls, syncs, finishes, aborts;
  bool failed;
} own_sink;

static inline nay_status own_call(own_sink *s) {
  assert_false(s->failed || s->finishes != 0 || s->aborts != 0); /* nothing comes after those */
  s->failed = s->calls++ == s->fail_at;
  return s->failed ? s->failure : NAY_OK;
}

static inline nay_status own_write(void *ctx, const void *bytes, size_t len, nay_diag *diag) {
  own_sink *s = ctx;
  (void)diag;
  nay_status status = own_call(s);
  if (status != NAY_OK) return status;
  assert_true(len <= sizeof s->bytes - s->len);
  memcpy(s->bytes + s->len, bytes, len);
  s->len += len;
  return NAY_OK;
}

static inline nay_status own_sync(void *ctx, nay_diag *diag) {
  own_sink *s = ctx;
  (void)diag;
  nay_status status = own_call(s);
  s->syncs++;
  return status;
}

static inline nay_status own_finish(void *ctx, nay_diag *diag) {
  own_sink *s = ctx;
  (void)diag;
  nay_status status = own_call(s);
  s->finishes++;
  return status;
}

static inline void own_abort(void *ctx) {
  own_sink *s = ctx;
  assert_true(s->finishes == 0 && s->aborts == 0);
  s->aborts++;
}

static inline nay_sst_target own_sink_of(own_sink *s) {
  return (nay_sst_target){sizeof(nay_sst_target), own_write, own_sync, own_finish, own_abort, s};
}

#endif /* NAY_TEST_SST_OWN_IO_H */
