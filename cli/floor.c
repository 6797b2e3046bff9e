/* floor.c - see floor.h. */
#include "floor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hashers.h"
#include "maker.h"

#define FLOOR_BYTES 131072u
#define FLOOR_LINE 8u /* words of a cache line */

static double floor_read(const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) die(EXIT_TROUBLE, "cannot open %s: %s", path, strerror(errno));
  uint8_t *bytes = must_alloc(FLOOR_BYTES);
  double start = now_seconds();
  while (read(fd, bytes, FLOOR_BYTES) > 0) {
  }
  double took = now_seconds() - start;
  close(fd);
  free(bytes);
  return took;
}

/* The adds of an ideal filter: one word of one cache line for each key. */
static double floor_touch(uint64_t *lines, uint64_t nlines, const uint64_t *hashes, size_t n) {
  double start = now_seconds();
  for (size_t i = 0; i < n; i += 64) {
    size_t group = n - i < 64 ? n - i : 64;
    uint64_t *at[64];
    for (size_t j = 0; j < group; j++) {
      at[j] = lines + FLOOR_LINE * ((hashes[i + j] >> 32) * nlines >> 32);
      __builtin_prefetch(at[j], 1);
    }
    for (size_t j = 0; j < group; j++) *at[j] |= hashes[i + j];
  }
  return now_seconds() - start;
}

static double floor_build(const options *o, const keys_options *keys, nay_params *p,
                          const char *path) {
  options quiet = *o;
  uint64_t nkeys;
  quiet.quiet = true;
  double start = now_seconds();
  nay_filter_free(make_filter(&quiet, keys, NULL, p, &path, 1, &nkeys));
  return now_seconds() - start;
}

floor_times floor_measure(const options *o, const size_options *size, const char *path) {
  const keys_options keys = {.threads = 1};
  floor_times t = {.read = floor_read(path)};
  nay_params p = size_params(size, NULL, 0.01);
  if (p.nkeys == 0 && !stream_count(&keys, &path, 1, &p.nkeys)) die(EXIT_TROUBLE, "give -n");
  if (p.kind == NAY_AUTO) p.kind = NAY_BLOCKED;
  nay_filter *f = new_filter(NULL, &p);
  nay_stats s = {.size = sizeof s};
  nay_filter_stats(f, &s);
  nay_hasher hasher = filter_hasher(f);
  uint64_t nlines = s.nbits / 512 + 1;
  uint64_t *lines = aligned_alloc(64, (size_t)nlines * 64);
  if (lines == NULL) die(EXIT_TROUBLE, "out of memory");
  memset(lines, 0, (size_t)nlines * 64);
  key_stream *stream = stream_open(o, &keys, &path, 1, f);
  for (key_batch *b; (b = stream_next(stream)) != NULL;) {
    double start = now_seconds();
    nay_hasher_hash_many(&hasher, b->keys, b->lens, b->n, b->lo, b->hi); /* again: now in cache */
    t.hash += now_seconds() - start;
    t.touch += floor_touch(lines, nlines, b->lo, b->n);
  }
  t.nkeys = stream_nkeys(stream);
  stream_close(stream);
  free(lines);
  nay_filter_free(f);
  t.build = floor_build(o, &keys, &p, path);
  return t;
}
