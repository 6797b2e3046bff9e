/*
 * adapter_xor_singleheader.c - binary_fuse8 of FastFilter/xor_singleheader: three-wise, 8 bits of
 * fingerprint, the header that most users of the filter include.
 *
 * Its build reorders the caller's keys, which are not ours to change: the copy is part of the time
 * to build, as it would be for a user who needs them later. The checkout must have
 * include/binaryfusefilter.h.
 */
#include <stdlib.h>
#include <string.h>

#include <binaryfusefilter.h>

#include "peer_loops.h"

static uint64_t *xor_copy(const bench_keys *keys) {
  uint64_t *copy = malloc(keys->n * sizeof *copy);
  if (copy != NULL) memcpy(copy, keys->hashes, keys->n * sizeof *copy);
  return copy;
}

static void xor_free(void *filter) {
  binary_fuse8_free(filter);
  free(filter);
}

static void *xor_build(const bench_adapter *a, const bench_keys *keys) {
  (void)a;
  binary_fuse8_t *filter = calloc(1, sizeof *filter);
  uint64_t *copy = xor_copy(keys);
  bool ok = filter != NULL && copy != NULL && binary_fuse8_allocate((uint32_t)keys->n, filter) &&
            binary_fuse8_populate(copy, (uint32_t)keys->n, filter);
  free(copy);
  if (ok) return filter;
  if (filter != NULL) xor_free(filter);
  return NULL;
}

static PEER_CALL bool xor_contain(const binary_fuse8_t *filter, uint64_t hash) {
  return binary_fuse8_contain(hash, filter);
}

static bool xor_answer(const void *filter, const bench_keys *keys, size_t i) {
  return xor_contain(filter, keys->hashes[i]);
}

static size_t xor_probe(const void *filter, const bench_keys *keys) {
  return peer_probe(filter, keys, xor_answer);
}

static size_t xor_probe_alone(const void *filter, const bench_keys *keys) {
  return peer_probe_alone(filter, keys, xor_answer);
}

static uint64_t xor_nbytes(const void *filter) { return binary_fuse8_size_in_bytes(filter); }

const bench_adapter *nay_bench_adapters(size_t *n) {
  static const bench_adapter adapter = {.library = "xor_single",
                                        .version = PEER_VERSION_TEXT,
                                        .name = "binary_fuse8",
                                        .family = "fuse",
                                        .note = "its build includes a copy of the keys",
                                        .takes_hashes = true,
                                        .max_keys = UINT32_MAX,
                                        .build = xor_build,
                                        .probe = xor_probe,
                                        .probe_alone = xor_probe_alone,
                                        .nbytes = xor_nbytes,
                                        .free = xor_free};
  *n = 1;
  return &adapter;
}
