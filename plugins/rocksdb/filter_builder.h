/*
 * filter_builder.h - the builder of filter blocks that the policy gives to RocksDB. Private to the
 * plug-in and its tests.
 *
 * RocksDB makes one builder for each table. It builds all filters of the table, one after the
 * other:
 *
 *   full        (AddKey | AddKeyAndAlt)* EstimateEntriesAdded Finish MaybePostVerify, then the
 *               destructor; no Finish where no key was added
 *   partitions  ApproximateNumEntries(metadata_block_size), then for each partition
 *               (AddKey | AddKeyAndAlt)* EstimateEntriesAdded Finish MaybePostVerify, where no key
 *               may have been added
 *
 * EstimateEntriesAdded may be called after every key and, since 10.9, by another thread. It decides
 * more than sizes: since 9.6 RocksDB writes no filter, and no last partition, where it is 0, and
 * probes keys behind the last partition in that one. So it counts keys that were lost (out of
 * memory) as well.
 *
 * The keys of a partition are not disjoint from those of its neighbours. A partition begins with
 * the key that ended the one before it where that key has more versions, with the prefix of that
 * key (for SeekForPrev), and ends with the prefix of the key that begins the next (for Seek). So
 * the state of AddKey belongs to one partition: all of it is in Partition, and Finish starts a new
 * one.
 */
#ifndef NAY_ROCKSDB_FILTER_BUILDER_H
#define NAY_ROCKSDB_FILTER_BUILDER_H

#include <nay_advanced.h>
#include <nay_format.h>

#include <atomic>
#include <memory>
#include <string>

#include "filter_bits.h"

namespace nay {

/* A layout and the parameters of its filters, the number of keys apart. */
struct Recipe {
  const nay_format *format;
  nay_params params;
  double overhead, bytes_per_entry; /* of a block of 100,000 entries */

  /* The plan of a filter of so many entries. False: there is none. */
  bool Plan(size_t nentries, nay_plan *plan) const;
  /* Sets what depends on a plan. False: there is none. */
  bool Measure();
};

class Builder : public rocksdb::FilterBitsBuilder {
 public:
  explicit Builder(const Recipe &recipe) : recipe_(recipe), now_(recipe) {}
  Builder(const Builder &) = delete;
  Builder &operator=(const Builder &) = delete;

  void AddKey(const rocksdb::Slice &key) override { now_.Add(key); }
  void AddKeyAndAlt(const rocksdb::Slice &key, const rocksdb::Slice &alt)
      NAY_ROCKSDB_SINCE_9_6(override) {
    now_.AddWithAlt(key, alt);
  }
  size_t EstimateEntriesAdded() override { return now_.Entries(); }
  rocksdb::Slice Finish(std::unique_ptr<const char[]> *memory) override;
  rocksdb::Slice Finish(std::unique_ptr<const char[]> *memory, rocksdb::Status *status) override {
    if (status != nullptr) *status = rocksdb::Status::OK();
    return Finish(memory);
  }
  rocksdb::Status MaybePostVerify(const rocksdb::Slice &) override { return rocksdb::Status::OK(); }

  /* How many entries a block of so many bytes holds: RocksDB sizes partitions by it, once. */
  size_t ApproximateNumEntries(size_t nbytes) override;
  /* Bytes of a block of so many entries, nearly: RocksDB adds them to the size of the growing table
   * after each of its data blocks, so this computes no plan. */
  size_t CalculateSpace(size_t nentries) NAY_ROCKSDB_SINCE_10_9(override);
  /* The false-positive rate of a block: exact where the size is that of its plan. */
  double EstimatedFpRate(size_t nentries, size_t nbytes) NAY_ROCKSDB_SINCE_10_9(override);

 private:
  /* The keys since the last Finish. */
  class Partition {
   public:
    explicit Partition(const Recipe &recipe) { Restart(recipe); }
    ~Partition() { nay_builder_free(keys_); }
    Partition(const Partition &) = delete;
    Partition &operator=(const Partition &) = delete;

    void Add(const rocksdb::Slice &key);
    void AddWithAlt(const rocksdb::Slice &key, const rocksdb::Slice &alt);
    size_t Entries() const { return entries_.load(std::memory_order_relaxed); }
    /* The builder of its keys; nullptr: one was lost, the filter must match everything. */
    nay_builder *Keys() const { return keys_; }
    void Restart(const Recipe &recipe);

   private:
    bool IsLast(const rocksdb::Slice &key) const { return Entries() != 0 && key == last_; }
    bool IsAlt(const rocksdb::Slice &key) const { return has_alt_ && key == alt_; }
    void Store(const rocksdb::Slice &key);

    nay_builder *keys_ = nullptr;
    std::atomic<size_t> entries_{0}; /* stored, and lost */
    std::string last_;               /* the last entry, where there is one */
    std::string alt_;                /* of the last call with one */
    bool has_alt_ = false;
  };

  rocksdb::Slice Encode(const nay_filter *filter, std::unique_ptr<const char[]> *memory) const;

  const Recipe recipe_;
  Partition now_;
};

}  // namespace nay

#endif /* NAY_ROCKSDB_FILTER_BUILDER_H */
