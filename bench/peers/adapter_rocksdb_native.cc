/*
 * adapter_rocksdb_native.cc - RocksDB's FastLocalBloom compiled for this machine, so with the AVX2
 * probe that a packaged library leaves out. The row of adapter_rocksdb.cc is the packaged one.
 *
 * Called are the functions of util/bloom_impl.h themselves, at 10 bits per key, with no virtual
 * reader or builder between: what the best build could do. Keys are prefetched as its callers do
 * it: 8 ahead when adding, all keys of a batch when probing. The checkout must have include/,
 * port/ and util/, of which util/hash.cc and util/xxhash.cc are compiled in.
 */
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <util/bloom_impl.h>
#include <util/hash.h>

#include "peer_loops.h"

namespace {

using Bloom = ROCKSDB_NAMESPACE::FastLocalBloomImpl;

constexpr size_t kLine = 64; /* bytes, the block of a key */
constexpr size_t kBitsPerKey = 10;
constexpr size_t kAhead = 8; /* keys prefetched before the one that is added */

/* A key whose cache line has been prefetched. */
struct Prepared {
  uint32_t hash;
  uint32_t offset;
};

uint64_t HashOf(const bench_keys *keys, size_t i) {
  if (keys->strings == nullptr) return keys->hashes[i];
  return ROCKSDB_NAMESPACE::Hash64(keys->strings + i * BENCH_KEY_LEN, BENCH_KEY_LEN);
}

class Filter {
 public:
  explicit Filter(size_t n)
      : nbytes_(static_cast<uint32_t>((n * kBitsPerKey + 8 * kLine - 1) / (8 * kLine) * kLine)),
        probes_(Bloom::ChooseNumProbes(kBitsPerKey * 1000)),
        bytes_(static_cast<char *>(std::aligned_alloc(kLine, nbytes_)), std::free) {
    if (bytes_ != nullptr) std::memset(bytes_.get(), 0, nbytes_);
  }

  bool Ok() const { return bytes_ != nullptr; }

  Prepared Prepare(uint64_t hash) const {
    Prepared key = {static_cast<uint32_t>(hash >> 32), 0};
    Bloom::PrepareHash(static_cast<uint32_t>(hash), nbytes_, bytes_.get(), &key.offset);
    return key;
  }

  void Add(const Prepared &key) {
    Bloom::AddHashPrepared(key.hash, probes_, bytes_.get() + key.offset);
  }

  bool MayMatch(const Prepared &key) const {
    return Bloom::HashMayMatchPrepared(key.hash, probes_, bytes_.get() + key.offset);
  }

  bool Answer(const bench_keys *keys, size_t i) const { return MayMatch(HashOf(keys, i)); }

  uint64_t NBytes() const { return nbytes_; }

 private:
  PEER_CALL bool MayMatch(uint64_t hash) const {
    return Bloom::HashMayMatch(static_cast<uint32_t>(hash), static_cast<uint32_t>(hash >> 32),
                               nbytes_, probes_, bytes_.get());
  }

  uint32_t nbytes_;
  int probes_;
  std::unique_ptr<char, void (*)(void *)> bytes_;
};

/* Key i takes the place in the ring that key i - kAhead leaves. */
void *Add(const bench_adapter *, const bench_keys *keys) {
  auto filter = std::make_unique<Filter>(keys->n);
  if (!filter->Ok()) return nullptr;
  Prepared ring[kAhead];
  const size_t first = std::min(keys->n, kAhead);
  for (size_t i = 0; i < first; i++) ring[i] = filter->Prepare(HashOf(keys, i));
  for (size_t i = first; i < keys->n; i++) {
    Prepared &place = ring[i % kAhead];
    filter->Add(place);
    place = filter->Prepare(HashOf(keys, i));
  }
  for (size_t i = 0; i < first; i++) filter->Add(ring[i]);
  return filter.release();
}

size_t ProbeBatch(const void *handle, const bench_keys *keys) {
  auto *filter = static_cast<const Filter *>(handle);
  Prepared batch[BENCH_BATCH];
  size_t maybe = 0;
  for (size_t i = 0; i < keys->n; i += BENCH_BATCH) {
    const size_t n = peer_batch(keys, i, BENCH_BATCH);
    for (size_t j = 0; j < n; j++) batch[j] = filter->Prepare(HashOf(keys, i + j));
    for (size_t j = 0; j < n; j++) maybe += filter->MayMatch(batch[j]);
  }
  return maybe;
}

bench_adapter Make() {
  bench_adapter a = peer_adapter<Filter>("rocksdb-native", "FastLocal", "blocked");
  a.note = "the functions of util/bloom_impl.h, built for this machine, no virtual call";
  a.takes_strings = true;
  a.max_keys = uint64_t{UINT32_MAX} / kBitsPerKey * 8; /* its lengths are of 32 bits */
  a.add = Add;
  a.probe_batch = ProbeBatch;
  return a;
}

}  // namespace

const bench_adapter *nay_bench_adapters(size_t *n) {
  static const bench_adapter adapter = Make();
  *n = 1;
  return &adapter;
}
