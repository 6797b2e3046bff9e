/*
 * adapter_grafite.cc - Grafite's range filter over its Elias-Fano sequence, for nay-bench-range. An
 * adapter: whoever has the header and its copy of sux builds it. A build copies the keys, because
 * the filter asks for iterators; that copy is not timed by itself, and is below 1% of a build.
 */
#include <cstring>
#include <new>

#include <grafite/grafite.hpp>

extern "C" {
#include "../range_peer.h"
}

namespace {

using Filter = grafite::filter<grafite::ef_sux_vector>;

void *Build(const uint64_t *keys, size_t n, double fpr, uint64_t length) {
  try {
    std::vector<uint64_t> copy(keys, keys + n);
    return new Filter(copy.begin(), copy.end(), fpr, length);
  } catch (...) {
    return nullptr;
  }
}

size_t Ask(const void *filter, const uint64_t *lo, const uint64_t *hi, size_t n) {
  const Filter &f = *static_cast<const Filter *>(filter);
  size_t maybe = 0;
  for (size_t i = 0; i < n; i++) maybe += f.query(lo[i], hi[i]);
  return maybe;
}

size_t NBytes(const void *filter) { return static_cast<const Filter *>(filter)->size(); }

void Free(void *filter) { delete static_cast<Filter *>(filter); }

const range_peer peer = {"Grafite", Build, Ask, NBytes, Free};

}  // namespace

extern "C" __attribute__((visibility("default"))) const range_peer *nay_range_peer(void) {
  return &peer;
}
