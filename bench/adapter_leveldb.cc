/* adapter_leveldb.cc - LevelDB's Bloom policy at 10 bits per key, as one filter over all keys. */
#include <leveldb/db.h>
#include <leveldb/filter_policy.h>

#include <climits>
#include <memory>
#include <string>
#include <vector>

#include "adapter.h"

namespace {

struct Filter {
  std::unique_ptr<const leveldb::FilterPolicy> policy{leveldb::NewBloomFilterPolicy(10)};
  std::string bytes;
};

leveldb::Slice KeyAt(const bench_keys *keys, size_t i) {
  if (keys->strings != nullptr) return {keys->strings + i * BENCH_KEY_LEN, BENCH_KEY_LEN};
  return {reinterpret_cast<const char *>(keys->hashes + i), sizeof(uint64_t)};
}

/* Its one call takes all keys as an array of slices; making the array is part of the price. */
void *Build(const bench_adapter *, const bench_keys *keys) {
  auto filter = std::make_unique<Filter>();
  std::vector<leveldb::Slice> slices;
  slices.reserve(keys->n);
  for (size_t i = 0; i < keys->n; i++) slices.push_back(KeyAt(keys, i));
  filter->policy->CreateFilter(slices.data(), static_cast<int>(keys->n), &filter->bytes);
  return filter.release();
}

size_t Probe(const void *handle, const bench_keys *keys) {
  auto *filter = static_cast<const Filter *>(handle);
  size_t maybe = 0;
  for (size_t i = 0; i < keys->n; i++) {
    maybe += filter->policy->KeyMayMatch(KeyAt(keys, i), filter->bytes);
  }
  return maybe;
}

size_t ProbeAlone(const void *handle, const bench_keys *keys) {
  auto *filter = static_cast<const Filter *>(handle);
  size_t maybe = 0;
  for (size_t i = 0; i < keys->n;) {
    bool answer = filter->policy->KeyMayMatch(KeyAt(keys, i), filter->bytes);
    maybe += answer;
    i = bench_next(i, answer);
  }
  return maybe;
}

uint64_t NBytes(const void *handle) { return static_cast<const Filter *>(handle)->bytes.size(); }

void Free(void *handle) { delete static_cast<Filter *>(handle); }

bench_adapter Make() {
  bench_adapter a = {};
  a.library = "leveldb";
  static const std::string version =
      std::to_string(leveldb::kMajorVersion) + "." + std::to_string(leveldb::kMinorVersion);
  a.version = version.c_str();
  a.name = "bloom";
  a.family = "bloom";
  a.takes_hashes = a.takes_strings = a.hashes_inside = true;
  a.max_keys = INT_MAX;
  a.build = Build;
  a.probe = Probe;
  a.probe_alone = ProbeAlone;
  a.nbytes = NBytes;
  a.free = Free;
  return a;
}

}  // namespace

extern "C" const bench_adapter *bench_leveldb_adapters(size_t *n) {
  static const bench_adapter adapters[] = {Make()};
  *n = 1;
  return adapters;
}
