/* readahead.c - see readahead.h. */
#include "sst/readahead.h"

#include "os/pages.h"

#define READAHEAD_RUN 3u
#define READAHEAD_FIRST 16384u

/* Notes a block. How many bytes to read from it on; 0: no more than itself. */
static size_t readahead_step(nay_readahead *r, uint64_t end, uint64_t at, size_t len) {
  bool follows = r->run != 0 && at >= r->next;
  r->run = follows ? r->run + (r->run < READAHEAD_RUN) : 1;
  r->next = at + len;
  if (r->run < READAHEAD_RUN) {
    r->window = 0;
    return 0;
  }
  if (at >= r->at && at + len <= r->end) return 0; /* it is there */
  size_t window = r->window == 0 ? READAHEAD_FIRST : r->window;
  if (r->window != 0 && window <= r->most / 2) window *= 2;
  if (window > r->most) window = r->most;
  if (window > end - at) window = (size_t)(end - at);
  return window > len ? window : 0;
}

static bool readahead_fill(nay_readahead *r, const nay_sst_file *file, uint64_t at, size_t window,
                           const nay_allocator *a) {
  r->at = r->end = 0;
  r->buffer.len = 0;
  r->window = 0;
  if (nay__buffer_reserve(&r->buffer, window, a) != NAY_OK) return false;
  if (nay__io_read(file, at, r->buffer.at, window, NULL) != NAY_OK) return false;
  r->buffer.len = window;
  r->window = window;
  r->at = at;
  r->end = at + window;
  return true;
}

bool nay__readahead_take(nay_readahead *r, const nay_sst_file *file, uint64_t end, uint64_t at,
                         uint8_t *dst, size_t len, const nay_allocator *a) {
  size_t window = readahead_step(r, end, at, len);
  if (window != 0 && !readahead_fill(r, file, at, window, a)) return false;
  if (at < r->at || at + len > r->end) return false;
  memcpy(dst, r->buffer.at + (at - r->at), len);
  return true;
}

void nay__readahead_advise(nay_readahead *r, const uint8_t *file, uint64_t end, uint64_t at,
                           size_t len) {
  size_t window = readahead_step(r, end, at, len);
  if (window == 0) return;
  nay__pages_soon(file + at, window);
  r->window = window;
  r->at = at;
  r->end = at + window;
}
