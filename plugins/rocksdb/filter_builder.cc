/*
 * filter_builder.cc - see filter_builder.h. Keys go to a nay_builder, bytes come from
 * nay_format_encode. A filter that cannot be built (out of memory) becomes a block that matches
 * everything.
 */
#include "filter_builder.h"

#include <algorithm>
#include <cmath>
#include <new>

namespace nay {
namespace {

using rocksdb::Slice;

/* Six zero bytes match everything in RocksDB's layouts; no native filter is so short. Needs no
 * memory: RocksDB's own builders return such a constant as well. */
Slice Everything(std::unique_ptr<const char[]> *memory) {
  static const char zeros[6] = {};
  memory->reset();
  return Slice(zeros, sizeof zeros);
}

}  // namespace

/* ---- keys ---- */

/* All versions of a key come one after the other: the filter needs one. */
void Builder::Partition::Add(const Slice &key) {
  if (!IsLast(key)) Store(key);
}

/*
 * A key and its prefix. The order of entries and the repeats that are left out are RocksDB's, so
 * that a compatible filter has the bytes of RocksDB's own: a prefix that is not that of the call
 * before goes in front of its key, and either is left out where the entry before, or the prefix of
 * the call before, is equal (a key may be its own prefix).
 */
void Builder::Partition::AddWithAlt(const Slice &key, const Slice &alt) {
  bool add_key = !IsLast(key) && !IsAlt(key);
  if (!IsAlt(alt) && alt != key && !IsLast(alt)) Store(alt);
  alt_.assign(alt.data(), alt.size());
  has_alt_ = true;
  if (add_key) Store(key);
}

void Builder::Partition::Store(const Slice &key) {
  if (nay_builder_add(keys_, key.data(), key.size()) != NAY_OK) {
    nay_builder_free(keys_);
    keys_ = nullptr;
  }
  last_.assign(key.data(), key.size());
  entries_.store(Entries() + 1, std::memory_order_relaxed); /* one thread writes */
}

/* A builder that could not finish still has its keys: a new one is made in any case. */
void Builder::Partition::Restart(const Recipe &recipe) {
  nay_builder_free(keys_);
  keys_ = nullptr;
  nay_format_builder_new(recipe.format, &recipe.params, nullptr, nullptr, &keys_);
  entries_.store(0, std::memory_order_relaxed);
  has_alt_ = false;
}

/* ---- blocks ---- */

Slice Builder::Finish(std::unique_ptr<const char[]> *memory) {
  nay_filter *filter = nullptr;
  if (now_.Keys() != nullptr) nay_builder_finish(now_.Keys(), nullptr, &filter);
  Slice block = filter != nullptr ? Encode(filter, memory) : Everything(memory);
  nay_filter_free(filter);
  now_.Restart(recipe_);
  return block;
}

/* A filter must not have 0 bytes, as RocksDB's ribbon of no keys has: its partitioned reader takes
 * such a filter for the end of the partitions, and MultiGet then skips keys that have no prefix
 * and were never to be filtered. */
Slice Builder::Encode(const nay_filter *filter, std::unique_ptr<const char[]> *memory) const {
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

/* ---- sizes ---- */

bool Recipe::Plan(size_t nentries, nay_plan *plan) const {
  nay_params sized = params;
  sized.nkeys = nentries;
  *plan = {};
  plan->size = sizeof *plan;
  return nay_format_plan(format, &sized, nullptr, plan) == NAY_OK;
}

bool Recipe::Measure() {
  nay_plan plan;
  if (!Plan(100000, &plan)) return false;
  overhead = static_cast<double>(plan.nbytes_file - plan.nbytes);
  bytes_per_entry = static_cast<double>(plan.nbytes) / 100000;
  return true;
}

/* The most entries whose block has at most so many bytes, by bisection; at least 1. No policy has
 * less than half a bit per key. */
size_t Builder::ApproximateNumEntries(size_t nbytes) {
  size_t fits = 1, exceeds = std::min(nbytes, size_t{1} << 40) * 16 + 2;
  while (exceeds - fits > 1) {
    size_t middle = fits + (exceeds - fits) / 2;
    nay_plan plan;
    (recipe_.Plan(middle, &plan) && plan.nbytes_file <= nbytes ? fits : exceeds) = middle;
  }
  return fits;
}

size_t Builder::CalculateSpace(size_t nentries) {
  double space = recipe_.overhead + static_cast<double>(nentries) * recipe_.bytes_per_entry;
  return static_cast<size_t>(space) + 1;
}

/* At another size the logarithm of the rate is in proportion to the bits per entry, as it is for
 * every family at its best parameters. */
double Builder::EstimatedFpRate(size_t nentries, size_t nbytes) {
  nay_plan plan;
  if (nentries == 0) return 0;
  if (!recipe_.Plan(nentries, &plan) || plan.nbytes == 0) return 1;
  double payload = static_cast<double>(nbytes) - recipe_.overhead;
  if (payload <= 0) return 1;
  return std::pow(plan.fpr, payload / static_cast<double>(plan.nbytes));
}

}  // namespace nay
