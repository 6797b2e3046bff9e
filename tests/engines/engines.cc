// engines.cc - see engines.h. Nothing here but the calls: what is compared is compared in C.
#include "engines.h"

#include <farmhash.h>
#include <leveldb/filter_policy.h>
#include <leveldb/slice.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace {

leveldb::Slice slice(const uint8_t *bytes, size_t len) {
  return leveldb::Slice(len != 0 ? reinterpret_cast<const char *>(bytes) : "", len);
}

}  // namespace

uint8_t *engine_leveldb_create(int bits_per_key, const uint8_t *const *keys, const size_t *lens,
                               size_t n, size_t *filter_len) {
  std::unique_ptr<const leveldb::FilterPolicy> policy(leveldb::NewBloomFilterPolicy(bits_per_key));
  std::vector<leveldb::Slice> slices;
  for (size_t i = 0; i < n; i++) slices.push_back(slice(keys[i], lens[i]));
  std::string filter;
  policy->CreateFilter(slices.data(), static_cast<int>(n), &filter);
  *filter_len = filter.size();
  if (filter.empty()) return nullptr;
  uint8_t *copy = static_cast<uint8_t *>(malloc(filter.size()));
  if (copy != nullptr) memcpy(copy, filter.data(), filter.size());
  return copy;
}

bool engine_leveldb_may_match(const uint8_t *key, size_t len, const uint8_t *filter,
                              size_t filter_len) {
  // the number of bits is only for building: readers take everything from the filter
  static const leveldb::FilterPolicy *const policy = leveldb::NewBloomFilterPolicy(10);
  return policy->KeyMayMatch(slice(key, len), slice(filter, filter_len));
}

uint32_t engine_farmhash_fingerprint32(const uint8_t *bytes, size_t len) {
  return util::Fingerprint32(reinterpret_cast<const char *>(bytes), len);
}
