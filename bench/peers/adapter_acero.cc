/*
 * adapter_acero.cc - the blocked Bloom filter of Arrow's Acero, made for hash joins.
 *
 * A key sets its bits in one 64-bit word; the number of words is a power of two, with 8 to 16 bits
 * a key. It is built by the single-threaded builder, 4096 hashes a call, with AVX2 where the filter
 * decides so. Batches of probes are of 1024, a mini-batch of Acero's, without AVX2: the filter has
 * such a path up to 256 KiB, but there (seen at 515410b2a1) the sign of a 32-bit mask spreads, and
 * keys 4 to 7 of eight are maybe whenever key 3 is. Nothing is lost, but false positives rise by
 * half and differ from those of single probes, for which the runner would leave the row out.
 *
 * The checkout must have cpp/src/arrow. The two files of the filter are compiled in; of Arrow's
 * core they need so little that it stands below, and Arrow need not be built. What they mention but
 * do not reach here is dropped by the linker, provided that nothing of Arrow is exported.
 */
#include <cstdlib>
#include <memory>
#include <new>

#include <arrow/acero/bloom_filter.h>
#include <arrow/buffer.h>
#include <arrow/util/cpu_info.h>

#include "peer_loops.h"

namespace arrow {

Buffer::Buffer()
    : is_mutable_(true),
      is_cpu_(true),
      data_(nullptr),
      size_(0),
      capacity_(0),
      device_type_(DeviceAllocationType::kCPU) {}

/* Called for failures only, and nothing below reports one. */
void Status::CopyFrom(const Status &) { std::abort(); }

namespace {

constexpr std::align_val_t kAlignment{64}; /* as Arrow's own pool has it */

class Memory final : public Buffer {
 public:
  explicit Memory(int64_t size) : words_(::operator new(static_cast<size_t>(size), kAlignment)) {
    data_ = static_cast<const uint8_t *>(words_);
    size_ = capacity_ = size;
  }

  ~Memory() override { ::operator delete(words_, kAlignment); }

 private:
  void *words_;
};

}  // namespace

Result<std::unique_ptr<Buffer>> AllocateBuffer(int64_t size, MemoryPool *) {
  return std::unique_ptr<Buffer>(new Memory(size));
}

}  // namespace arrow

namespace {

constexpr int64_t kAddFlags = arrow::internal::CpuInfo::AVX2;
constexpr int64_t kProbeFlags = 0;
constexpr size_t kAddBatch = 4096;
constexpr size_t kProbeBatch = 1024;

class Filter {
 public:
  bool Build(const bench_keys *keys) {
    arrow::acero::BloomFilterBuilder_SingleThreaded builder;
    const auto n = static_cast<int64_t>(keys->n);
    if (!builder.Begin(1, kAddFlags, nullptr, n, 1, &bloom_).ok()) return false;
    for (size_t i = 0; i < keys->n; i += kAddBatch) {
      const auto rows = static_cast<int64_t>(peer_batch(keys, i, kAddBatch));
      if (!builder.PushNextBatch(0, rows, keys->hashes + i).ok()) return false;
    }
    return true;
  }

  bool Answer(const bench_keys *keys, size_t i) const { return Find(keys->hashes[i]); }

  size_t AnswerBatch(const bench_keys *keys, size_t i) const {
    uint64_t bits[kProbeBatch / 64] = {};
    const auto rows = static_cast<int64_t>(peer_batch(keys, i, kProbeBatch));
    bloom_.Find(kProbeFlags, rows, keys->hashes + i, reinterpret_cast<uint8_t *>(bits));
    size_t maybe = 0;
    for (uint64_t word : bits) maybe += static_cast<size_t>(__builtin_popcountll(word));
    return maybe;
  }

  uint64_t NBytes() const { return uint64_t{sizeof(uint64_t)} << bloom_.log_num_blocks(); }

 private:
  PEER_CALL bool Find(uint64_t hash) const { return bloom_.Find(hash); }

  arrow::acero::BlockedBloomFilter bloom_;
};

void *AddBatch(const bench_adapter *, const bench_keys *keys) try {
  auto filter = std::make_unique<Filter>();
  return filter->Build(keys) ? filter.release() : nullptr;
} catch (const std::bad_alloc &) {
  return nullptr;
}

size_t ProbeBatch(const void *handle, const bench_keys *keys) {
  auto *filter = static_cast<const Filter *>(handle);
  size_t maybe = 0;
  for (size_t i = 0; i < keys->n; i += kProbeBatch) maybe += filter->AnswerBatch(keys, i);
  return maybe;
}

bench_adapter Make() {
  bench_adapter a = peer_adapter<Filter>("arrow", "Acero", "blocked");
  a.note = "size a power of two; adds by 4096, batches of 1024 without its AVX2 path, which errs";
  a.add_batch = AddBatch;
  a.probe_batch = ProbeBatch;
  return a;
}

}  // namespace

const bench_adapter *nay_bench_adapters(size_t *n) {
  static const bench_adapter adapter = Make();
  *n = 1;
  return &adapter;
}
