// engine_rocksdb.cc - RocksDB's part of engines.h.
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "engines.h"
#include "filter_bits.h"

namespace {

namespace rdb = ROCKSDB_NAMESPACE;

rdb::Slice slice(const uint8_t *bytes, size_t len) {
  return rdb::Slice(len != 0 ? reinterpret_cast<const char *>(bytes) : "", len);
}

}  // namespace

uint8_t *engine_rocksdb_create(engine_rocksdb_kind kind, double bits_per_key,
                               const uint8_t *const *keys, const size_t *lens, size_t n,
                               size_t *filter_len) {
  std::unique_ptr<const rdb::FilterPolicy> policy(kind == ROCKSDB_RIBBON
                                                      ? rdb::NewRibbonFilterPolicy(bits_per_key, -1)
                                                      : rdb::NewBloomFilterPolicy(bits_per_key));
  rdb::BlockBasedTableOptions options;
  options.format_version = kind == ROCKSDB_LEGACY ? 4 : 5;
  options.optimize_filters_for_memory = false; /* sizes that do not depend on malloc */
  rdb::FilterBuildingContext context(options);
  std::unique_ptr<rdb::FilterBitsBuilder> builder(policy->GetBuilderWithContext(context));
  for (size_t i = 0; i < n; i++) builder->AddKey(slice(keys[i], lens[i]));
  std::unique_ptr<const char[]> memory;
  rdb::Slice filter = builder->Finish(&memory);
  uint8_t *copy = static_cast<uint8_t *>(malloc(filter.size() + 1));
  if (copy != nullptr && filter.size() != 0) memcpy(copy, filter.data(), filter.size());
  *filter_len = filter.size();
  return copy;
}

void *engine_rocksdb_open(const uint8_t *filter, size_t len) {
  static const rdb::FilterPolicy *const policy = rdb::NewBloomFilterPolicy(10);
  return policy->GetFilterBitsReader(slice(filter, len));
}

bool engine_rocksdb_may_match(void *reader, const uint8_t *key, size_t len) {
  return static_cast<rdb::FilterBitsReader *>(reader)->MayMatch(slice(key, len));
}

void engine_rocksdb_close(void *reader) { delete static_cast<rdb::FilterBitsReader *>(reader); }
