/*
 * nay_rocksdb.cc - see nay_rocksdb.h. A thin wrapper: filter_builder.cc builds, probes go to a
 * nay_view over the block that RocksDB keeps.
 *
 * A filter never loses a key: a block that cannot be read (corrupt, of a later version) gets a
 * reader that matches everything.
 */
#include "nay_rocksdb.h"

#include <nay_advanced.h>
#include <nay_format.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/object_registry.h>
#include <rocksdb/version.h>

#include <charconv>
#include <climits>
#include <cmath>
#include <new>
#include <string>
#include <vector>

#include "filter_bits.h"
#include "filter_builder.h"

namespace nay {
namespace {

using rocksdb::FilterBuildingContext;
using rocksdb::Slice;
using rocksdb::Status;

constexpr char kNayName[] = "nay.rocksdb.v1";
constexpr char kBuiltinName[] = "rocksdb.BuiltinBloomFilter";
constexpr char kId[] = "nay", kCompatibleId[] = "nay-compatible";

constexpr size_t kMaxLevels = 64;

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
    view_.size = sizeof view_;
    return nay_format_view(format, block.data(), block.size(), 0, nullptr, &view_) == NAY_OK;
  }

  bool MayMatch(const Slice &key) override {
    return nay_filter_may_contain(nay_view_filter(&view_), key.data(), key.size());
  }

  /* MultiGet: up to 32 keys. They are hashed, their cache lines prefetched, then tested. */
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
  nay_view view_ = {};
};

/* ---- the policy ---- */

class RocksPolicy : public rocksdb::FilterPolicy {
 public:
  explicit RocksPolicy(const RocksOptions &options) : options_(options) {}

  const char *Name() const override { return compatible() ? kCompatibleId : kId; }
  const char *CompatibilityName() const override { return compatible() ? kBuiltinName : kNayName; }
  /* What ParseId reads back, to the last bit of each number of bits; OPTIONS files keep it. */
  std::string GetId() const override {
    std::string id = std::string(Name()) + ":" + Decimal(options_.bits_per_key) + ":" +
                     std::to_string(options_.blocked_before_level);
    char before = ':';
    for (double bits : options_.bits_per_level) {
      id += before + Decimal(bits);
      before = ',';
    }
    return id;
  }

  /* Computes the parameters of all filters, or says which option is wrong. */
  Status Plan() {
    if (!PlanBits(options_.bits_per_key, &others_)) {
      return Status::InvalidArgument("bits_per_key is not between 0.5 and 100");
    }
    if (options_.bits_per_level.size() > kMaxLevels) {
      return Status::InvalidArgument("bits_per_level has more than 64 levels");
    }
    for (double bits : options_.bits_per_level) {
      Recipes level;
      level.none = bits == 0 && !std::signbit(bits);
      if (!level.none && !PlanBits(bits, &level)) {
        return Status::InvalidArgument("bits_per_level: neither 0 nor between 0.5 and 100");
      }
      levels_.push_back(level);
    }
    return Status::OK();
  }

  rocksdb::FilterBitsBuilder *GetBuilderWithContext(
      const FilterBuildingContext &context) const override {
    int level = Level(context);
    size_t at = level < 0 ? 0 : static_cast<size_t>(level); /* a flush writes level 0 */
    const Recipes &recipes = at < levels_.size() ? levels_[at] : others_;
    if (recipes.none) return nullptr; /* RocksDB then writes no filter */
    return new Builder(level < options_.blocked_before_level ? recipes.blocked : recipes.ribbon);
  }

  rocksdb::FilterBitsReader *GetFilterBitsReader(const Slice &block) const override {
    auto reader = std::make_unique<Reader>();
    if (reader->Open(others_.blocked.format, block)) return reader.release();
    return new MatchAll;
  }

 private:
  /* Both kinds of filter for some bits per key. */
  struct Recipes {
    bool none = false;
    Recipe blocked = {}, ribbon = {};
  };

  bool compatible() const { return options_.bytes == RocksBytes::kCompatible; }

  bool PlanBits(double bits, Recipes *recipes) const {
    nay_params rate = {};
    nay_plan plan = {};
    rate.size = sizeof rate;
    plan.size = sizeof plan;
    rate.nkeys = 1000000;
    rate.bits_per_key = bits;
    const nay_format *ribbon = nay_format_find("rocksdb-ribbon");
    if (nay_format_plan(ribbon, &rate, nullptr, &plan) != NAY_OK) return false;
    rate.nkeys = 0;
    recipes->blocked = {nay_format_find("rocksdb-bloom"), rate, 0, 0};
    recipes->ribbon = {ribbon, rate, 0, 0};
    if (!compatible()) {
      recipes->blocked.format = recipes->ribbon.format = nay_format_find("nay");
      recipes->blocked.params.kind = NAY_BLOCKED;
      recipes->ribbon.params.kind = NAY_RIBBON;
      recipes->ribbon.params.bits_per_key = 0;
      recipes->ribbon.params.fpr = plan.fpr;
    }
    return recipes->blocked.Measure() && recipes->ribbon.Measure();
  }

  /* The level of a table, by RocksDB's interpretation of the context. */
  static int Level(const FilterBuildingContext &context) {
    bool leveled = context.compaction_style == rocksdb::kCompactionStyleLevel ||
                   context.compaction_style == rocksdb::kCompactionStyleUniversal;
    if (!leveled) return INT_MAX - 1;
    if (context.reason == rocksdb::TableFileCreationReason::kFlush) return -1;
    return context.level_at_creation >= 0 ? context.level_at_creation : INT_MAX - 1;
  }

  /* The fewest digits that parse to the same number, independent of the locale. */
  static std::string Decimal(double number) {
    char digits[400]; /* any double has fewer */
    auto end = std::to_chars(digits, digits + sizeof digits, number, std::chars_format::fixed);
    return std::string(digits, end.ptr);
  }

  RocksOptions options_;
  Recipes others_;              /* bits_per_key */
  std::vector<Recipes> levels_; /* bits_per_level */
};

std::string CompiledVersion() {
  return std::to_string(ROCKSDB_MAJOR) + "." + std::to_string(ROCKSDB_MINOR);
}

Status MakePolicy(const RocksOptions &options, std::unique_ptr<const rocksdb::FilterPolicy> *made) {
  std::string runs = rocksdb::GetRocksVersionAsString(false);
  if (runs != CompiledVersion()) {
    return Status::NotSupported("nay was compiled for RocksDB " + CompiledVersion() + ", this is " +
                                runs);
  }
  auto policy = std::make_unique<RocksPolicy>(options);
  Status status = policy->Plan();
  if (status.ok()) *made = std::move(policy);
  return status;
}

/* ---- policies by name ---- */

/* Parses a number and the separator or the end after it. */
template <typename Number>
bool TakeNumber(const char **at, const char *end, char separator, Number *number) {
  auto parsed = std::from_chars(*at, end, *number);
  if (parsed.ec != std::errc() || (parsed.ptr != end && *parsed.ptr != separator)) return false;
  *at = parsed.ptr;
  return true;
}

/* NAME:BITS or NAME:BITS:LEVEL or NAME:BITS:LEVEL:BITS0,BITS1,... */
bool ParseId(const std::string &id, RocksOptions *options) {
  size_t colon = id.find(':');
  std::string name = id.substr(0, colon);
  if (colon == std::string::npos || (name != kId && name != kCompatibleId)) return false;
  options->bytes = name == kId ? RocksBytes::kNay : RocksBytes::kCompatible;
  const char *at = id.data() + colon + 1, *end = id.data() + id.size();
  if (!TakeNumber(&at, end, ':', &options->bits_per_key)) return false;
  if (at == end) return true;
  if (!TakeNumber(&++at, end, ':', &options->blocked_before_level)) return false;
  while (at != end && options->bits_per_level.size() <= kMaxLevels) {
    double bits;
    if (!TakeNumber(&++at, end, ',', &bits)) return false;
    options->bits_per_level.push_back(bits);
  }
  return true; /* MakePolicy refuses too many levels */
}

/*
 * The policy for a string that names none. RocksDB drops the error of a factory when the string is
 * in an options file or in a list of options, and continues without a policy. It does not drop the
 * error of a policy that validates its options: those calls fail, and so does DB::Open.
 */
class RefusedPolicy : public rocksdb::FilterPolicy {
 public:
  RefusedPolicy(const std::string &id, const Status &why) : id_(id), why_(why) {}
  const char *Name() const override { return "nay.refused"; }
  const char *CompatibilityName() const override { return Name(); }
  std::string GetId() const override { return id_; }
  Status PrepareOptions(const rocksdb::ConfigOptions &) override { return why_; }
  Status ValidateOptions(const rocksdb::DBOptions &,
                         const rocksdb::ColumnFamilyOptions &) const override {
    return why_;
  }
  rocksdb::FilterBitsBuilder *GetBuilderWithContext(const FilterBuildingContext &) const override {
    return nullptr;
  }
  rocksdb::FilterBitsReader *GetFilterBitsReader(const Slice &) const override {
    return new MatchAll;
  }

 private:
  std::string id_;
  Status why_;
};

const rocksdb::FilterPolicy *FromId(const std::string &id,
                                    std::unique_ptr<const rocksdb::FilterPolicy> *made,
                                    std::string *) {
  RocksOptions options;
  Status status = Status::InvalidArgument(
      "filter_policy is not nay:BITS_PER_KEY[:BLOCKED_BEFORE_LEVEL[:BITS_OF_LEVEL_0,...]], nor "
      "nay-compatible:...",
      id);
  if (ParseId(id, &options)) status = MakePolicy(options, made);
  if (!status.ok()) made->reset(new RefusedPolicy(id, status));
  return made->get();
}

}  // namespace

Status NewRocksPolicy(const RocksOptions &options,
                      std::shared_ptr<const rocksdb::FilterPolicy> *policy) {
  std::unique_ptr<const rocksdb::FilterPolicy> made;
  Status status = MakePolicy(options, &made);
  if (status.ok()) *policy = std::move(made);
  return status;
}

/*
 * For a name that no factory matches, RocksDB returns success and no policy. So these match
 * whatever begins like a name of ours, and FromId rejects the rest.
 */
void RegisterRocksPolicy() {
  using Library = rocksdb::ObjectLibrary;
  auto library = Library::Default();
  library->AddFactory<const rocksdb::FilterPolicy>(
      Library::PatternEntry(kId, true).AddSeparator(":", false), FromId);
  library->AddFactory<const rocksdb::FilterPolicy>(
      Library::PatternEntry("nay-", true).AddSeparator("", false), FromId);
}

}  // namespace nay
