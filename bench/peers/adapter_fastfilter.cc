/*
 * adapter_fastfilter.cc - the filters of FastFilter/fastfilter_cpp that have a family of ours
 * beside them, with the settings of its own benchmark.
 *
 * They are called through its FilterAPI, whose Contain is not inlined. All hash by SimpleMixSplit,
 * but the homogeneous ribbon, which has its own. Static filters take all keys as a vector; others
 * are given one key per call. The checkout must have src/ and benchmarks/filterapi.h; all is
 * headers.
 */
#include <chrono>
#include <cstring>
#include <exception>
#include <memory>
#include <random>
#include <vector>

#include <filterapi.h>

#include "peer_loops.h"

namespace {

template <class Table>
class Filter {
 public:
  using Api = FilterAPI<Table>;

  explicit Filter(size_t n) : table_(Api::ConstructFromAddCount(n)) {}

  void Add(const bench_keys *keys) {
    for (size_t i = 0; i < keys->n; i++) Api::Add(keys->hashes[i], &table_);
  }

  void AddAll(std::vector<uint64_t> &keys) { Api::AddAll(keys, 0, keys.size(), &table_); }

  bool Answer(const bench_keys *keys, size_t i) const {
    return Api::Contain(keys->hashes[i], &table_);
  }

  uint64_t NBytes() const { return table_.SizeInBytes(); }

 private:
  Table table_;
};

/*
 * The keys as its calls want them. Copied once for a set, which its size and ends tell, so that
 * only the first build pays for it.
 */
std::vector<uint64_t> &AsVector(const bench_keys *keys) {
  static std::vector<uint64_t> copy;
  const uint64_t *first = keys->hashes, *end = first + keys->n;
  bool same =
      keys->n == copy.size() && keys->n > 0 && copy.front() == *first && copy.back() == end[-1];
  if (!same) copy.assign(first, end);
  return copy;
}

/* A table that is too full, or a build that does not succeed, throws. */
template <class Table>
void *Add(const bench_adapter *, const bench_keys *keys) try {
  auto filter = std::make_unique<Filter<Table>>(keys->n);
  filter->Add(keys);
  return filter.release();
} catch (const std::exception &) {
  return nullptr;
}

template <class Table>
void *Build(const bench_adapter *, const bench_keys *keys) try {
  auto filter = std::make_unique<Filter<Table>>(keys->n);
  filter->AddAll(AsVector(keys));
  return filter.release();
} catch (const std::exception &) {
  return nullptr;
}

template <class Table>
bench_adapter Make(const char *name, const char *family) {
  bench_adapter a = peer_adapter<Filter<Table>>("fastfilter", name, family);
  a.note = "built for this machine; Contain is not inlined, Add is";
  return a;
}

template <class Table>
bench_adapter Growing(const char *name, const char *family) {
  bench_adapter a = Make<Table>(name, family);
  a.add = Add<Table>;
  return a;
}

template <class Table>
bench_adapter Static(const char *name, const char *family) {
  bench_adapter a = Make<Table>(name, family);
  a.build = Build<Table>;
  return a;
}

using Hash = SimpleMixSplit;
using Fuse3 = xorbinaryfusefilter_lowmem::XorBinaryFuseFilter<uint64_t, uint8_t, Hash>;
using Fuse4 = xorbinaryfusefilter_lowmem4wise::XorBinaryFuseFilter<uint64_t, uint8_t, Hash>;

}  // namespace

const bench_adapter *nay_bench_adapters(size_t *n) {
  static const bench_adapter adapters[] = {
      Growing<SimdBlockFilterFixed<Hash>>("BlockedBloom", "blocked"),
      Growing<BloomFilter<uint64_t, 10, false, Hash>>("Bloom10", "bloom"),
      Growing<CuckooFilter<uint64_t, 12, SingleTable, Hash>>("Cuckoo12(2^k)", "cuckoo"),
      Growing<CuckooFilterStable<uint64_t, 12, SingleTable, Hash>>("Cuckoo12", "cuckoo"),
      Static<XorFilter<uint64_t, uint8_t, Hash>>("Xor8", "xor"),
      Static<Fuse3>("BinaryFuse8", "fuse"),
      Static<Fuse4>("BinaryFuse8-4wise", "fuse"),
      Static<HomogRibbonFilter<uint64_t, 8>>("HomogRibbon64_8", "ribbon"),
      Static<HomogRibbonFilter<uint64_t, 7>>("HomogRibbon64_7", "ribbon"),
      Growing<SuccinctCountingBlockedBloomFilter<uint64_t, 10, Hash>>("SuccCountBlock10",
                                                                      "counting"),
      Growing<CountingBloomFilter<uint64_t, 10, true, Hash>>("CountingBloom10", "counting"),
  };
  *n = sizeof adapters / sizeof adapters[0];
  return adapters;
}
