/*
 * adapter_rocksdb.cc - RocksDB's full filters: FastLocalBloom and Standard128 Ribbon.
 *
 * The policy is public, but the builder and the reader of filter bits that it returns are declared
 * in a header that is not installed. Both are abstract classes, so declaring their virtual
 * functions in the same order is enough to call them. The order holds for 7.0 and later: 9.6
 * inserted one function, which is declared or not by the version of the installed headers.
 *
 * The library as packaged may be built for the baseline x86-64, without the AVX2 path of its probe:
 * a row says which build it is, not what the best build could do.
 */
#include <rocksdb/filter_policy.h>
#include <rocksdb/slice.h>
#include <rocksdb/status.h>
#include <rocksdb/table.h>
#include <rocksdb/version.h>

#include <memory>
#include <string>

#include "adapter.h"

namespace ROCKSDB_NAMESPACE {

class FilterBitsBuilder {
 public:
  virtual ~FilterBitsBuilder() = default;
  virtual void AddKey(const Slice &) = 0;
#if ROCKSDB_MAJOR > 9 || (ROCKSDB_MAJOR == 9 && ROCKSDB_MINOR >= 6)
  virtual void AddKeyAndAlt(const Slice &, const Slice &) = 0;
#endif
  virtual size_t EstimateEntriesAdded() = 0;
  virtual Slice Finish(std::unique_ptr<const char[]> *) = 0;
  /* others follow, which are not called here */
};

class FilterBitsReader {
 public:
  virtual ~FilterBitsReader() = default;
  virtual bool MayMatch(const Slice &) = 0;
  virtual void MayMatch(int, Slice **, bool *) = 0;
  virtual bool HashMayMatch(uint64_t) = 0; /* of the built-in readers, which all of these are */
};

uint64_t Hash64(const char *, size_t); /* of a key, as the builder makes it; exported */

}  // namespace ROCKSDB_NAMESPACE

namespace {

namespace rdb = ROCKSDB_NAMESPACE;

struct Filter {
  std::unique_ptr<const rdb::FilterPolicy> policy;
  std::unique_ptr<const char[]> memory;
  rdb::Slice bytes;
  std::unique_ptr<rdb::FilterBitsReader> reader;
};

enum Setting : uint64_t { kBloom, kRibbon };

rdb::Slice KeyAt(const bench_keys *keys, size_t i) {
  if (keys->strings != nullptr) return {keys->strings + i * BENCH_KEY_LEN, BENCH_KEY_LEN};
  return {reinterpret_cast<const char *>(keys->hashes + i), sizeof(uint64_t)};
}

uint64_t OwnHash(uint64_t word) {
  return rdb::Hash64(reinterpret_cast<const char *>(&word), sizeof word);
}

/* 10 bits per key for Bloom, and the ribbon filter of the same false-positive rate. */
void *Add(const bench_adapter *a, const bench_keys *keys) {
  auto filter = std::make_unique<Filter>();
  filter->policy.reset(a->setting == kRibbon ? rdb::NewRibbonFilterPolicy(10)
                                             : rdb::NewBloomFilterPolicy(10));
  rdb::BlockBasedTableOptions options;
  rdb::FilterBuildingContext context(options);
  std::unique_ptr<rdb::FilterBitsBuilder> builder(filter->policy->GetBuilderWithContext(context));
  if (builder == nullptr) return nullptr;
  for (size_t i = 0; i < keys->n; i++) builder->AddKey(KeyAt(keys, i));
  filter->bytes = builder->Finish(&filter->memory);
  filter->reader.reset(filter->policy->GetFilterBitsReader(filter->bytes));
  return filter->reader != nullptr ? filter.release() : nullptr;
}

bool Answer(rdb::FilterBitsReader *reader, const bench_keys *keys, size_t i) {
  return keys->strings != nullptr ? reader->MayMatch(KeyAt(keys, i))
                                  : reader->HashMayMatch(keys->hashes[i]);
}

size_t Probe(const void *handle, const bench_keys *keys) {
  rdb::FilterBitsReader *reader = static_cast<const Filter *>(handle)->reader.get();
  size_t maybe = 0;
  for (size_t i = 0; i < keys->n; i++) maybe += Answer(reader, keys, i);
  return maybe;
}

size_t ProbeAlone(const void *handle, const bench_keys *keys) {
  rdb::FilterBitsReader *reader = static_cast<const Filter *>(handle)->reader.get();
  size_t maybe = 0;
  for (size_t i = 0; i < keys->n;) {
    bool answer = Answer(reader, keys, i);
    maybe += answer;
    i = bench_next(i, answer);
  }
  return maybe;
}

/* As MultiGet does: at most 32 keys at a time, by pointers to slices. */
size_t ProbeBatch(const void *handle, const bench_keys *keys) {
  rdb::FilterBitsReader *reader = static_cast<const Filter *>(handle)->reader.get();
  rdb::Slice slices[BENCH_BATCH], *pointers[BENCH_BATCH];
  bool answers[BENCH_BATCH];
  for (int i = 0; i < BENCH_BATCH; i++) pointers[i] = &slices[i];
  size_t maybe = 0;
  for (size_t i = 0; i < keys->n; i += BENCH_BATCH) {
    size_t n = keys->n - i < BENCH_BATCH ? keys->n - i : BENCH_BATCH;
    for (size_t j = 0; j < n; j++) slices[j] = KeyAt(keys, i + j);
    reader->MayMatch(static_cast<int>(n), pointers, answers);
    for (size_t j = 0; j < n; j++) maybe += answers[j];
  }
  return maybe;
}

uint64_t NBytes(const void *handle) { return static_cast<const Filter *>(handle)->bytes.size(); }

void Free(void *handle) { delete static_cast<Filter *>(handle); }

bench_adapter Make(Setting setting, const char *name, const char *family) {
  static const std::string version = std::to_string(ROCKSDB_MAJOR) + "." +
                                     std::to_string(ROCKSDB_MINOR) + "." +
                                     std::to_string(ROCKSDB_PATCH);
  bench_adapter a = {};
  a.library = "rocksdb";
  a.version = version.c_str();
  a.name = name;
  a.family = family;
  a.note = "as packaged: built for the baseline x86-64, its own AVX2 probe is not compiled in";
  a.takes_hashes = a.takes_strings = a.hashes_inside = true;
  a.own_hash = OwnHash;
  a.setting = setting;
  a.add = Add;
  a.probe = Probe;
  a.probe_batch = ProbeBatch;
  a.probe_alone = ProbeAlone;
  a.nbytes = NBytes;
  a.free = Free;
  return a;
}

}  // namespace

extern "C" const bench_adapter *bench_rocksdb_adapters(size_t *n) {
  static const bench_adapter adapters[] = {Make(kBloom, "FastLocalBloom", "blocked"),
                                           Make(kRibbon, "Standard128Ribbon", "ribbon")};
  *n = sizeof adapters / sizeof adapters[0];
  return adapters;
}
