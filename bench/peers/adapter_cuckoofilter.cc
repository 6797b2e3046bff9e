/*
 * adapter_cuckoofilter.cc - the cuckoo filter of its inventors (efficient/cuckoofilter).
 *
 * Four tags of 12 bits a bucket in a plain table (SingleTable), hashed by their default
 * multiply-shift. The number of buckets is a power of two, so bits per key depend much on n; a set
 * that does not fit gives no row. The checkout must have src/; the headers need those of OpenSSL,
 * but nothing of it is called.
 */
#include <climits>
#include <memory>

#include <cuckoofilter.h>

#include "peer_loops.h"

namespace {

class Filter {
 public:
  explicit Filter(size_t n) : table_(n) {}

  bool Add(uint64_t hash) { return table_.Add(hash) == cuckoofilter::Ok; }

  bool Answer(const bench_keys *keys, size_t i) const { return Contain(keys->hashes[i]); }

  uint64_t NBytes() const { return table_.SizeInBytes(); }

 private:
  PEER_CALL bool Contain(uint64_t hash) const { return table_.Contain(hash) == cuckoofilter::Ok; }

  cuckoofilter::CuckooFilter<uint64_t, 12> table_;
};

void *Add(const bench_adapter *, const bench_keys *keys) {
  auto filter = std::make_unique<Filter>(keys->n);
  for (size_t i = 0; i < keys->n; i++) {
    if (!filter->Add(keys->hashes[i])) return nullptr;
  }
  return filter.release();
}

bench_adapter Make() {
  bench_adapter a = peer_adapter<Filter>("efficient", "cuckoo12", "cuckoo");
  a.note = "the number of its buckets is a power of two";
  a.add = Add;
  return a;
}

}  // namespace

const bench_adapter *nay_bench_adapters(size_t *n) {
  static const bench_adapter adapter = Make();
  *n = 1;
  return &adapter;
}
