/* readahead.c - decides how much an iterator reads ahead; see readahead.h. */
#include "io/readahead.h"

#include "os/pages.h"

#define READAHEAD_AFTER 3u
#define READAHEAD_MIN_WINDOW 16384u

/* Records the access to a block. Returns the number of bytes to read from its start; 0: only the
   block. */
static size_t readahead_window(nay_readahead *r, uint64_t end, uint64_t at, size_t len) {
  bool follows = r->sequential != 0 && at >= r->last_end;
  r->sequential = follows ? r->sequential + (r->sequential < READAHEAD_AFTER) : 1;
  r->last_end = at + len;
  if (r->sequential < READAHEAD_AFTER) {
    r->window = 0;
    return 0;
  }
  if (at >= r->at && at + len <= r->end) return 0; /* already in the window */
  size_t window = r->window == 0 ? READAHEAD_MIN_WINDOW : r->window;
  if (r->window != 0 && window <= r->max_window / 2) window *= 2;
  if (window > r->max_window) window = r->max_window;
  if (window > end - at) window = (size_t)(end - at);
  return window > len ? window : 0;
}

static bool readahead_fill(nay_readahead *r, const nay_sst_file *file, uint64_t at, size_t window,
                           const nay_allocator *a) {
  r->at = r->end = 0;
  r->buffer.len = 0;
  r->window = 0;
  if (nay__buffer_reserve(&r->buffer, window, a) != NAY_OK) return false;
  if (nay_sst__io_read(file, at, r->buffer.at, window, NULL) != NAY_OK) return false;
  r->buffer.len = window;
  r->window = window;
  r->at = at;
  r->end = at + window;
  return true;
}

bool nay_sst__readahead_take(nay_readahead *r, const nay_sst_file *file, uint64_t end, uint64_t at,
                             uint8_t *dst, size_t len, const nay_allocator *a) {
  size_t window = readahead_window(r, end, at, len);
  if (window != 0 && !readahead_fill(r, file, at, window, a)) return false;
  if (at < r->at || at + len > r->end) return false;
  memcpy(dst, r->buffer.at + (at - r->at), len);
  return true;
}

void nay_sst__readahead_advise(nay_readahead *r, const uint8_t *file, uint64_t end, uint64_t at,
                               size_t len) {
  size_t window = readahead_window(r, end, at, len);
  if (window == 0) return;
  nay__pages_soon(file + at, window);
  r->window = window;
  r->at = at;
  r->end = at + window;
}
