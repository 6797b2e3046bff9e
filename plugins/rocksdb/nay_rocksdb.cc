/*
 * nay_rocksdb.cc - see nay_rocksdb.h. A thin coat: keys go to a nay_builder, bytes come from
 * nay_format_encode, questions go to a nay_view over the block that RocksDB keeps.
 *
 * A filter never makes a key disappear. What cannot be made (no memory) becomes a block that
 * matches everything; what cannot be read (damaged, of a later version) gets a reader that does.
 */
#include "nay_rocksdb.h"

#include <nay.h>
#include <nay_format.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/object_registry.h>
#include <rocksdb/version.h>

#include <climits>
#include <cstdlib>
#include <cstring>
#include <string>

#include "filter_bits.h"

namespace nay {
namespace {

using rocksdb::FilterBuildingContext;
using rocksdb::Slice;
using rocksdb::Status;

constexpr char kNayName[] = "nay.rocksdb.v1";
constexpr char kBuiltinName[] = "rocksdb.BuiltinBloomFilter";
constexpr char kId[] = "nay", kCompatibleId[] = "nay-compatible";

/* Six zero bytes match everything in RocksDB's layouts; no native filter is so short. */
constexpr size_t kEverything = 6;

struct Recipe {
  const nay_format *format;
  nay_params params;
};

/* ---- reading ---- */

class MatchAll : public rocksdb::FilterBitsReader {
 public:
  bool MayMatch(const Slice &) override { return true; }
  void MayMatch(int n, Slice **, bool *answers) override {
    for (int i = 0; i < n; i++) answers[i] = true;
  }
};

class Reader : public rocksdb::FilterBitsReader {
 public:
  bool Open(const nay_format *format, const Slice &block) {
    return nay_format_view(format, block.data(), block.size(), nullptr, &view_) == NAY_OK;
  }

  bool MayMatch(const Slice &key) override {
    return nay_filter_may_contain(nay_view_filter(&view_), key.data(), key.size());
  }

  /* MultiGet: up to 32 keys. They are hashed, their lines asked for, then tested. */
  void MayMatch(int n, Slice **keys, bool *answers) override {
    for (int done = 0; done < n; done += kBatch) {
      int some = n - done < kBatch ? n - done : kBatch;
      const void *at[kBatch];
      size_t lens[kBatch];
      uint64_t bitmap = ~uint64_t{0};
      for (int i = 0; i < some; i++) {
        at[i] = keys[done + i]->data();
        lens[i] = keys[done + i]->size();
      }
      nay_filter_may_contain_many(nay_view_filter(&view_), at, lens, static_cast<size_t>(some),
                                  &bitmap);
      for (int i = 0; i < some; i++) answers[done + i] = (bitmap >> i & 1) != 0;
    }
  }

 private:
  static constexpr int kBatch = 64;
  nay_view view_;
};

/* ---- making ---- */

class Builder : public rocksdb::FilterBitsBuilder {
 public:
  explicit Builder(const Recipe &recipe)
      : recipe_(recipe), native_(recipe.format == nay_format_find("nay")) {
    nay_format_builder(recipe.format, &recipe.params, nullptr, nullptr, &builder_);
  }
  ~Builder() override { nay_builder_free(builder_); }
  Builder(const Builder &) = delete;
  Builder &operator=(const Builder &) = delete;

  /* All versions of a key come one after the other: the filter needs one. RocksDB's layouts leave
   * repeats out by themselves. */
  void AddKey(const Slice &key) override {
    if (native_) {
      if (any_ && key == last_) return;
      any_ = true;
      last_.assign(key.data(), key.size());
    }
    if (builder_ == nullptr || nay_builder_add(builder_, key.data(), key.size()) != NAY_OK) {
      lost_ = true;
    }
  }

  size_t EstimateEntriesAdded() override { return nay_builder_nkeys(builder_); }

  Slice Finish(std::unique_ptr<const char[]> *memory) override {
    nay_filter *filter = nullptr;
    if (!lost_ && builder_ != nullptr) nay_builder_finish(builder_, &filter);
    Slice block = filter != nullptr ? Encode(filter, memory) : Everything(memory);
    nay_filter_free(filter);
    return block;
  }

  Slice Finish(std::unique_ptr<const char[]> *memory, Status *status) override {
    if (status != nullptr) *status = Status::OK();
    return Finish(memory);
  }

  Status MaybePostVerify(const Slice &) override { return Status::OK(); }

  /* How many entries a block of so many bytes holds: RocksDB cuts partitions by it. */
  size_t ApproximateNumEntries(size_t nbytes) override {
    nay_params params = recipe_.params;
    nay_plan plan;
    params.nkeys = 100000;
    if (nay_format_plan(recipe_.format, &params, nullptr, &plan) != NAY_OK) return nbytes;
    double bits = static_cast<double>(plan.nbits) / static_cast<double>(plan.nkeys);
    uint64_t overhead = plan.nbytes_file - plan.nbytes;
    return nbytes <= overhead
               ? 1
               : static_cast<size_t>(static_cast<double>(nbytes - overhead) * 8 / bits);
  }

 private:
  Slice Encode(const nay_filter *filter, std::unique_ptr<const char[]> *memory) {
    size_t size = nay_format_encoded_size(recipe_.format, filter), written = 0;
    auto bytes = std::make_unique<char[]>(size != 0 ? size : 1);
    if (nay_format_encode(recipe_.format, filter, bytes.get(), size, &written) != NAY_OK) {
      return Everything(memory);
    }
    Slice block(bytes.get(), written);
    *memory = std::move(bytes);
    return block;
  }

  Slice Everything(std::unique_ptr<const char[]> *memory) {
    auto bytes = std::make_unique<char[]>(kEverything);
    memset(bytes.get(), 0, kEverything);
    Slice block(bytes.get(), kEverything);
    *memory = std::move(bytes);
    return block;
  }

  Recipe recipe_;
  nay_builder *builder_ = nullptr;
  std::string last_;
  bool native_;
  bool any_ = false;
  bool lost_ = false; /* a key could not be taken: the filter must match everything */
};

/* ---- the policy ---- */

class RocksPolicy : public rocksdb::FilterPolicy {
 public:
  explicit RocksPolicy(const RocksOptions &options) : options_(options) {}

  const char *Name() const override { return compatible() ? kCompatibleId : kId; }
  const char *CompatibilityName() const override { return compatible() ? kBuiltinName : kNayName; }
  std::string GetId() const override {
    return std::string(Name()) + ":" + std::to_string(options_.bits_per_key);
  }

  /* Works out what the two kinds of filter are made with. */
  bool Plan() {
    nay_params rate = {};
    nay_plan plan;
    rate.nkeys = 1000000;
    rate.bits_per_key = options_.bits_per_key;
    const nay_format *ribbon = nay_format_find("rocksdb-ribbon");
    if (nay_format_plan(ribbon, &rate, nullptr, &plan) != NAY_OK) return false;
    rate.nkeys = 0;
    blocked_ = {nay_format_find("rocksdb-bloom"), rate};
    ribbon_ = {ribbon, rate};
    if (compatible()) return true;
    blocked_.format = ribbon_.format = nay_format_find("nay");
    blocked_.params.kind = NAY_BLOCKED;
    ribbon_.params.kind = NAY_RIBBON;
    ribbon_.params.bits_per_key = 0;
    ribbon_.params.fpr = plan.fpr;
    return true;
  }

  rocksdb::FilterBitsBuilder *GetBuilderWithContext(
      const FilterBuildingContext &context) const override {
    return new Builder(Level(context) < options_.blocked_before_level ? blocked_ : ribbon_);
  }

  rocksdb::FilterBitsReader *GetFilterBitsReader(const Slice &block) const override {
    auto reader = std::make_unique<Reader>();
    if (reader->Open(blocked_.format, block)) return reader.release();
    return new MatchAll;
  }

 private:
  bool compatible() const { return options_.bytes == RocksBytes::kCompatible; }

  /* The level that a table is made for, with RocksDB's reading of the context. */
  static int Level(const FilterBuildingContext &context) {
    bool leveled = context.compaction_style == rocksdb::kCompactionStyleLevel ||
                   context.compaction_style == rocksdb::kCompactionStyleUniversal;
    if (!leveled) return INT_MAX - 1;
    if (context.reason == rocksdb::TableFileCreationReason::kFlush) return -1;
    return context.level_at_creation >= 0 ? context.level_at_creation : INT_MAX - 1;
  }

  RocksOptions options_;
  Recipe blocked_ = {}, ribbon_ = {};
};

std::string CompiledVersion() {
  return std::to_string(ROCKSDB_MAJOR) + "." + std::to_string(ROCKSDB_MINOR);
}

}  // namespace

Status NewRocksPolicy(const RocksOptions &options,
                      std::shared_ptr<const rocksdb::FilterPolicy> *policy) {
  std::string runs = rocksdb::GetRocksVersionAsString(false);
  if (runs != CompiledVersion()) {
    return Status::NotSupported("nay was compiled for RocksDB " + CompiledVersion() + ", this is " +
                                runs);
  }
  auto made = std::make_shared<RocksPolicy>(options);
  if (!made->Plan()) {
    return Status::InvalidArgument("bits_per_key is not between 0.5 and 100");
  }
  *policy = std::move(made);
  return Status::OK();
}

void RegisterRocksPolicy() {
  using Library = rocksdb::ObjectLibrary;
  for (RocksBytes bytes : {RocksBytes::kNay, RocksBytes::kCompatible}) {
    const char *id = bytes == RocksBytes::kNay ? kId : kCompatibleId;
    Library::Default()->AddFactory<const rocksdb::FilterPolicy>(
        Library::PatternEntry(id, false).AddNumber(":", false),
        [bytes](const std::string &uri, std::unique_ptr<const rocksdb::FilterPolicy> *guard,
                std::string *) -> const rocksdb::FilterPolicy * {
          RocksOptions options;
          options.bytes = bytes;
          options.bits_per_key = strtod(uri.c_str() + uri.find(':') + 1, nullptr);
          auto made = std::make_unique<RocksPolicy>(options);
          if (rocksdb::GetRocksVersionAsString(false) != CompiledVersion() || !made->Plan()) {
            return nullptr;
          }
          guard->reset(made.release());
          return guard->get();
        });
  }
}

}  // namespace nay
