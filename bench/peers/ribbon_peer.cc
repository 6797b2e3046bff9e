/*
 * ribbon_peer.cc - nay's ribbon beside RocksDB's (Standard128Ribbon), 8-byte keys hashed by each
 * with its own function. bench/peers/ribbon compiles it against librocksdb.
 *
 * RocksDB's builder and reader are internal since 7.0: only their first virtual functions are
 * declared here, in the order that librocksdb 7.8 has them.
 */
#include <cstring>
#include <memory>
#include <vector>

#include <rocksdb/filter_policy.h>
#include <rocksdb/slice.h>
#include <rocksdb/table.h>

#include "peer_clock.h"

namespace rocksdb {
class FilterBitsBuilder {
 public:
  virtual ~FilterBitsBuilder() {}
  virtual void AddKey(const Slice &key) = 0;
  virtual size_t EstimateEntriesAdded() = 0;
  virtual Slice Finish(std::unique_ptr<const char[]> *buffer) = 0;
};
class FilterBitsReader {
 public:
  virtual ~FilterBitsReader() {}
  virtual bool MayMatch(const Slice &key) = 0;
  virtual void MayMatch(int n, Slice **keys, bool *may_match) = 0;
};
}  // namespace rocksdb

static const size_t kProbes = 4000000;

static void row(size_t n, const char *who, double build, double absent, double batch,
                double present, double bits, double fpr) {
  printf("%10zu  %-20s %9.1f %9.1f %9.1f %9.1f %9.3f %9.4f\n", n, who, build, absent, batch,
         present, bits, fpr * 100);
  fflush(stdout);
}

static rocksdb::Slice slice(const uint64_t &key) {
  return rocksdb::Slice(reinterpret_cast<const char *>(&key), 8);
}

static double run_rocksdb(const std::vector<uint64_t> &keys, const std::vector<uint64_t> &probes,
                          int rounds) {
  size_t n = keys.size(), hits = 0;
  rocksdb::BlockBasedTableOptions options;
  options.format_version = 5;
  /* 9.6: the policy takes the bits of a Bloom filter of the same rate, here 1% */
  std::unique_ptr<const rocksdb::FilterPolicy> policy(rocksdb::NewRibbonFilterPolicy(9.6, -1));
  rocksdb::FilterBuildingContext context(options);
  std::unique_ptr<const char[]> buffer;
  rocksdb::Slice filter;
  double build = 1e300;
  for (int r = 0; r < rounds; r++) {
    double start = seconds();
    std::unique_ptr<rocksdb::FilterBitsBuilder> builder(policy->GetBuilderWithContext(context));
    for (size_t i = 0; i < n; i++) builder->AddKey(slice(keys[i]));
    filter = builder->Finish(&buffer);
    double took = (seconds() - start) * 1e9 / (double)n;
    if (took < build) build = took;
  }
  std::unique_ptr<rocksdb::FilterBitsReader> reader(policy->GetFilterBitsReader(filter));
  double absent = BEST_OF(3, kProbes, {
    hits = 0;
    for (size_t i = 0; i < kProbes; i++) hits += reader->MayMatch(slice(probes[i]));
  });
  double batch = BEST_OF(3, kProbes, {
    for (size_t i = 0; i + 32 <= kProbes; i += 32) {
      rocksdb::Slice slices[32], *pointers[32];
      bool answers[32];
      for (size_t j = 0; j < 32; j++) {
        slices[j] = slice(probes[i + j]);
        pointers[j] = &slices[j];
      }
      reader->MayMatch(32, pointers, answers);
    }
  });
  size_t found = 0;
  double present = BEST_OF(3, n, {
    found = 0;
    for (size_t i = 0; i < n; i++) found += reader->MayMatch(slice(keys[i]));
  });
  die_unless(found == n, "rocksdb: a false nay");
  double fpr = (double)hits / (double)kProbes;
  row(n, "RocksDB", build, absent, batch, present, 8.0 * (double)filter.size() / (double)n, fpr);
  return fpr;
}

static void run_nay(const std::vector<uint64_t> &keys, const std::vector<uint64_t> &probes,
                    double fpr, int rounds, uint32_t threads, const char *who) {
  size_t n = keys.size(), hits = 0, found = 0;
  nay_params p = {};
  p.size = sizeof p;
  p.kind = NAY_RIBBON;
  p.fpr = fpr;
  p.threads = threads;
  nay_filter *f = NULL;
  double build = BEST_OF(rounds, n, {
    nay_builder *b;
    nay_filter_free(f);
    f = NULL;
    die_unless(nay_builder_new(&p, NULL, nullptr, &b) == NAY_OK, "nay: builder");
    for (size_t i = 0; i < n; i++) nay_builder_add(b, &keys[i], 8);
    die_unless(nay_builder_finish(b, nullptr, &f) == NAY_OK, "nay: build failed");
    nay_builder_free(b);
  });
  double absent = BEST_OF(3, kProbes, {
    hits = 0;
    for (size_t i = 0; i < kProbes; i++) hits += nay_filter_may_contain(f, &probes[i], 8);
  });
  std::vector<uint64_t> bitmap(kProbes / 64 + 1);
  double batch = BEST_OF(3, kProbes, {
    for (size_t i = 0; i + 64 <= kProbes; i += 64) {
      const void *pointers[64];
      size_t lens[64];
      for (size_t j = 0; j < 64; j++) {
        pointers[j] = &probes[i + j];
        lens[j] = 8;
      }
      nay_filter_may_contain_many(f, pointers, lens, 64, &bitmap[i / 64]);
    }
  });
  double present = BEST_OF(3, n, {
    found = 0;
    for (size_t i = 0; i < n; i++) found += nay_filter_may_contain(f, &keys[i], 8);
  });
  die_unless(found == n, "nay: a false nay");
  nay_stats stats = {};
  stats.size = sizeof stats;
  nay_filter_stats(f, &stats);
  row(n, who, build, absent, batch, present, (double)stats.nbits / (double)n,
      (double)hits / (double)kProbes);
  nay_filter_free(f);
}

int main(int argc, char **argv) {
  printf("%10s  %-20s %9s %9s %9s %9s %9s %9s\n", "keys", "", "build ns", "absent ns", "batch ns",
         "present", "bits/key", "fpr %");
  for (int i = 1; i < argc; i++) {
    size_t n = (size_t)strtoull(argv[i], NULL, 10);
    int rounds = n >= 5000000 ? 1 : 3;
    uint64_t *raw = make_keys(n, 0), *raw_probes = make_keys(kProbes, 7);
    std::vector<uint64_t> keys(raw, raw + n), probes(raw_probes, raw_probes + kProbes);
    free(raw);
    free(raw_probes);
    double fpr = run_rocksdb(keys, probes, rounds);
    run_nay(keys, probes, fpr, rounds, 1, "nay, same rate");
    run_nay(keys, probes, fpr, rounds, 2, "  2 threads");
  }
  return 0;
}
