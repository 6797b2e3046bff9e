/*
 * nay_rocksdb.cc - see nay_rocksdb.h. A thin wrapper: keys go to a nay_builder, bytes come from
 * nay_format_encode, probes go to a nay_view over the block that RocksDB keeps.
 *
 * A filter never loses a key. One that cannot be built (out of memory) becomes a block that matches
 * everything; one that cannot be read (corrupt, of a later version) gets a reader that does.
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

constexpr size_t kMaxLevels = 64;

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
  nay_view view_;
};

/* ---- building ---- */

/*
 * One builder builds all filters of a table, one after the other. The calls of RocksDB 7.8:
 *
 *   full        AddKey* EstimateEntriesAdded Finish MaybePostVerify, then the destructor; no Finish
 *               where no key was added
 *   partitions  ApproximateNumEntries(metadata_block_size) once, then for each partition
 *               AddKey* EstimateEntriesAdded Finish MaybePostVerify, where AddKey* may be none
 *
 * The keys of a partition are not disjoint from those of its neighbours. A partition begins with
 * the key that ended the one before it where that key has more versions, with the prefix of that
 * key (for SeekForPrev), and ends with the prefix of the key that begins the next (for Seek); with
 * whole_key_filtering keys and prefixes alternate, without it each key repeats its prefix. So the
 * state of AddKey belongs to one partition: all of it is in Partition, and Finish starts a new one.
 */
class Builder : public rocksdb::FilterBitsBuilder {
 public:
  explicit Builder(const Recipe &recipe)
      : recipe_(recipe), native_(recipe.format == nay_format_find("nay")), now_(recipe) {}
  Builder(const Builder &) = delete;
  Builder &operator=(const Builder &) = delete;

  void AddKey(const Slice &key) override { now_.Add(key, native_); }

  size_t EstimateEntriesAdded() override { return nay_builder_nkeys(now_.keys); }

  Slice Finish(std::unique_ptr<const char[]> *memory) override {
    nay_filter *filter = nullptr;
    if (now_.keys != nullptr) nay_builder_finish(now_.keys, nullptr, &filter);
    Slice block = filter != nullptr ? Encode(filter, memory) : Everything(memory);
    nay_filter_free(filter);
    now_.Restart(recipe_);
    return block;
  }

  Slice Finish(std::unique_ptr<const char[]> *memory, Status *status) override {
    if (status != nullptr) *status = Status::OK();
    return Finish(memory);
  }

  Status MaybePostVerify(const Slice &) override { return Status::OK(); }

  /* How many entries a block of so many bytes holds: RocksDB sizes partitions by it. */
  size_t ApproximateNumEntries(size_t nbytes) override {
    nay_params params = recipe_.params;
    nay_plan plan = {};
    plan.size = sizeof plan;
    params.nkeys = 100000;
    if (nay_format_plan(recipe_.format, &params, nullptr, &plan) != NAY_OK) return nbytes;
    double bits = static_cast<double>(plan.nbits) / static_cast<double>(plan.nkeys);
    uint64_t overhead = plan.nbytes_file - plan.nbytes;
    return nbytes <= overhead
               ? 1
               : static_cast<size_t>(static_cast<double>(nbytes - overhead) * 8 / bits);
  }

 private:
  /* The keys since the last Finish. */
  struct Partition {
    nay_builder *keys = nullptr; /* nullptr: one was lost, the filter must match everything */
    std::string last;            /* the last of them, where there is one */

    explicit Partition(const Recipe &recipe) { Restart(recipe); }
    ~Partition() { nay_builder_free(keys); }

    /* All versions of a key come one after the other: the filter needs one. RocksDB's layouts leave
     * repeats out by themselves. */
    void Add(const Slice &key, bool native) {
      if (native && nay_builder_nkeys(keys) != 0 && key == last) return;
      if (nay_builder_add(keys, key.data(), key.size()) != NAY_OK) {
        nay_builder_free(keys);
        keys = nullptr;
      } else if (native) {
        last.assign(key.data(), key.size());
      }
    }

    /* A builder that could not finish still has its keys: a new one is made in any case. */
    void Restart(const Recipe &recipe) {
      nay_builder_free(keys);
      keys = nullptr;
      nay_format_builder(recipe.format, &recipe.params, nullptr, nullptr, &keys);
    }
  };

  /* A filter must not have 0 bytes, as RocksDB's ribbon of no keys has: its partitioned reader takes
   * such a filter for the end of the partitions, and MultiGet then skips keys that have no prefix
   * and were never to be filtered. */
  Slice Encode(const nay_filter *filter, std::unique_ptr<const char[]> *memory) {
    size_t size = nay_format_encoded_size(recipe_.format, filter), written = 0;
    std::unique_ptr<char[]> bytes(size != 0 ? new (std::nothrow) char[size] : nullptr);
    if (bytes == nullptr ||
        nay_format_encode(recipe_.format, filter, bytes.get(), size, &written) != NAY_OK) {
      return Everything(memory);
    }
    Slice block(bytes.get(), written);
    *memory = std::move(bytes);
    return block;
  }

  /* Needs no memory: RocksDB's own builders return such a constant as well. */
  static Slice Everything(std::unique_ptr<const char[]> *memory) {
    static const char zeros[kEverything] = {};
    memory->reset();
    return Slice(zeros, kEverything);
  }

  const Recipe recipe_;
  const bool native_;
  Partition now_;
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
    recipes->blocked = {nay_format_find("rocksdb-bloom"), rate};
    recipes->ribbon = {ribbon, rate};
    if (compatible()) return true;
    recipes->blocked.format = recipes->ribbon.format = nay_format_find("nay");
    recipes->blocked.params.kind = NAY_BLOCKED;
    recipes->ribbon.params.kind = NAY_RIBBON;
    recipes->ribbon.params.bits_per_key = 0;
    recipes->ribbon.params.fpr = plan.fpr;
    return true;
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
 * The policy for a string that names none. RocksDB drops the error of a factory when the string is in
 * an options file or in a list of options, and continues without a policy. It does not drop the error
 * of a policy that validates its options: those calls fail, and so does DB::Open.
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
 * For a name that no factory matches, RocksDB returns success and no policy. So these match whatever
 * begins like a name of ours, and FromId rejects the rest.
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
