/*
 * bench_rocksdb.cc - the RocksDB plug-in beside RocksDB's own policies: bytes, rate, nanoseconds to
 * make and to ask, through the classes that RocksDB itself calls.
 *
 *   nay-bench-rocksdb [keys [bits]]     1000000 and 10 when left out
 */
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "filter_bits.h"
#include "nay_rocksdb.h"

namespace {

using Clock = std::chrono::steady_clock;
using Policy = std::shared_ptr<const rocksdb::FilterPolicy>;

uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

rocksdb::Slice KeyAt(const std::vector<uint64_t> &keys, size_t i) {
  return rocksdb::Slice(reinterpret_cast<const char *>(&keys[i]), sizeof keys[i]);
}

double Nanoseconds(Clock::time_point from, size_t n) {
  std::chrono::duration<double, std::nano> took = Clock::now() - from;
  return took.count() / static_cast<double>(n);
}

size_t AskBatches(rocksdb::FilterBitsReader *reader, const std::vector<uint64_t> &keys) {
  constexpr size_t kBatch = 32; /* as MultiGet */
  rocksdb::Slice slices[kBatch], *pointers[kBatch];
  bool answers[kBatch];
  size_t maybes = 0;
  for (size_t j = 0; j < kBatch; j++) pointers[j] = &slices[j];
  for (size_t i = 0; i + kBatch <= keys.size(); i += kBatch) {
    for (size_t j = 0; j < kBatch; j++) slices[j] = KeyAt(keys, i + j);
    reader->MayMatch(kBatch, pointers, answers);
    for (size_t j = 0; j < kBatch; j++) maybes += answers[j];
  }
  return maybes;
}

struct Result {
  double make = 1e9, ask = 1e9, batch = 1e9;
  size_t bytes = 0, maybes = 0;
};

void Round(const Policy &policy, const std::vector<uint64_t> &keys,
           const std::vector<uint64_t> &absent, Result *best) {
  rocksdb::BlockBasedTableOptions table;
  rocksdb::FilterBuildingContext context(table);
  std::unique_ptr<rocksdb::FilterBitsBuilder> builder(policy->GetBuilderWithContext(context));
  std::unique_ptr<const char[]> memory;
  Clock::time_point start = Clock::now();
  for (size_t i = 0; i < keys.size(); i++) builder->AddKey(KeyAt(keys, i));
  rocksdb::Slice block = builder->Finish(&memory);
  best->make = std::min(best->make, Nanoseconds(start, keys.size()));
  std::unique_ptr<rocksdb::FilterBitsReader> reader(policy->GetFilterBitsReader(block));
  start = Clock::now();
  size_t maybes = 0;
  for (size_t i = 0; i < absent.size(); i++) maybes += reader->MayMatch(KeyAt(absent, i));
  best->ask = std::min(best->ask, Nanoseconds(start, absent.size()));
  start = Clock::now();
  if (AskBatches(reader.get(), absent) != maybes) abort();
  best->batch = std::min(best->batch, Nanoseconds(start, absent.size()));
  best->bytes = block.size();
  best->maybes = maybes;
}

/* The best of five rounds: what disturbs a round only makes it slower. */
void Measure(const char *name, const Policy &policy, const std::vector<uint64_t> &keys,
             const std::vector<uint64_t> &absent) {
  Result r;
  for (int round = 0; round < 5; round++) Round(policy, keys, absent, &r);
  printf("%-23s %10zu bytes %7.3f bits/key %8.4f %%  make %5.1f ns  ask %5.1f ns  batch %5.1f ns\n",
         name, r.bytes, 8.0 * static_cast<double>(r.bytes) / static_cast<double>(keys.size()),
         100.0 * static_cast<double>(r.maybes) / static_cast<double>(absent.size()), r.make, r.ask,
         r.batch);
}

Policy Nay(nay::RocksBytes bytes, double bits, int level) {
  nay::RocksOptions options;
  options.bytes = bytes;
  options.bits_per_key = bits;
  options.blocked_before_level = level;
  Policy policy;
  rocksdb::Status status = nay::NewRocksPolicy(options, &policy);
  if (!status.ok()) {
    fprintf(stderr, "%s\n", status.ToString().c_str());
    exit(1);
  }
  return policy;
}

}  // namespace

int main(int argc, char **argv) {
  size_t n = argc > 1 ? strtoull(argv[1], nullptr, 10) : 1000000;
  double bits = argc > 2 ? strtod(argv[2], nullptr) : 10;
  std::vector<uint64_t> keys(n), absent(1 << 20);
  for (size_t i = 0; i < n; i++) keys[i] = Mix(i);
  for (size_t i = 0; i < absent.size(); i++) absent[i] = Mix(n + i);
  constexpr int kAlways = INT_MAX;
  Measure("RocksDB Bloom", Policy(rocksdb::NewBloomFilterPolicy(bits)), keys, absent);
  Measure("nay compatible blocked", Nay(nay::RocksBytes::kCompatible, bits, kAlways), keys, absent);
  Measure("nay blocked", Nay(nay::RocksBytes::kNay, bits, kAlways), keys, absent);
  Measure("RocksDB ribbon", Policy(rocksdb::NewRibbonFilterPolicy(bits, -1)), keys, absent);
  Measure("nay compatible ribbon", Nay(nay::RocksBytes::kCompatible, bits, -1), keys, absent);
  Measure("nay ribbon", Nay(nay::RocksBytes::kNay, bits, -1), keys, absent);
  return 0;
}
