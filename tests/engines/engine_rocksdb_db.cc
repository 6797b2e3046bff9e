// engine_rocksdb_db.cc - see engine_rocksdb_db.h.
#include "engine_rocksdb_db.h"

#include <rocksdb/comparator.h>
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/metadata.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/statistics.h>
#include <rocksdb/table.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "engine_rocksdb_versions.h"
#include "filter_bits.h"
#include "nay_rocksdb.h"

struct rocks_db {
  std::shared_ptr<rocksdb::Statistics> statistics;
  std::unique_ptr<rocksdb::DB> db;
};

namespace {

void check(const rocksdb::Status &status) {
  if (status.ok()) return;
  fprintf(stderr, "RocksDB: %s\n", status.ToString().c_str());
  abort();
}

std::shared_ptr<const rocksdb::FilterPolicy> policy_of(const rocks_options *o) {
  std::shared_ptr<const rocksdb::FilterPolicy> policy;
  if (o->policy == ROCKS_NONE) return policy;
  if (o->policy == ROCKS_BLOOM) {
    policy.reset(rocksdb::NewBloomFilterPolicy(o->bits_per_key));
    return policy;
  }
  if (o->policy == ROCKS_RIBBON) {
    policy.reset(rocksdb::NewRibbonFilterPolicy(o->bits_per_key, o->blocked_before_level));
    return policy;
  }
  bool compatible = o->policy == ROCKS_NAY_COMPATIBLE;
  if (o->by_string) {
    nay::RegisterRocksPolicy();
    std::string id = compatible ? "nay-compatible:" : "nay:";
    check(rocksdb::FilterPolicy::CreateFromString(rocksdb::ConfigOptions(),
                                                  id + std::to_string(o->bits_per_key), &policy));
    return policy;
  }
  nay::RocksOptions options;
  options.bytes = compatible ? nay::RocksBytes::kCompatible : nay::RocksBytes::kNay;
  options.bits_per_key = o->bits_per_key;
  options.blocked_before_level = o->blocked_before_level;
  check(nay::NewRocksPolicy(options, &policy));
  return policy;
}

rocksdb::Slice slice(const uint64_t &key) {
  return rocksdb::Slice(reinterpret_cast<const char *>(&key), sizeof key);
}

std::unique_ptr<rocksdb::FilterBitsBuilder> builder_of(const rocks_options *o) {
  rocksdb::BlockBasedTableOptions table;
  rocksdb::FilterBuildingContext context(table);
  return std::unique_ptr<rocksdb::FilterBitsBuilder>(policy_of(o)->GetBuilderWithContext(context));
}

}  // namespace

rocks_db *rocks_open(const char *path, const rocks_options *o) {
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy = policy_of(o);
  if (o->partitioned) {
    table.partition_filters = true;
    table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
    table.metadata_block_size = 1024;
  }
  if (o->no_checksums) table.checksum = rocksdb::kNoChecksum;
  rocksdb::Options options;
  options.create_if_missing = true;
  options.compression = rocksdb::kNoCompression;
  options.statistics = rocksdb::CreateDBStatistics();
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  std::unique_ptr<rocksdb::DB> db;
  if (!OpenRocks(options, path, &db).ok()) return nullptr;
  return new rocks_db{options.statistics, std::move(db)};
}

void rocks_close(rocks_db *db) { delete db; }

void rocks_put(rocks_db *db, const char *key) {
  rocksdb::WriteOptions write;
  write.disableWAL = true;
  check(db->db->Put(write, key, "value"));
}

void rocks_flush(rocks_db *db) { check(db->db->Flush(rocksdb::FlushOptions())); }

void rocks_compact(rocks_db *db) {
  rocksdb::CompactRangeOptions options;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
  check(db->db->CompactRange(options, nullptr, nullptr));
}

bool rocks_has(rocks_db *db, const char *key) {
  std::string value;
  rocksdb::Status status = db->db->Get(rocksdb::ReadOptions(), key, &value);
  if (!status.IsNotFound()) check(status);
  return status.ok();
}

void rocks_has_many(rocks_db *db, const char *const *keys, int n, bool *found) {
  std::vector<rocksdb::Slice> slices(keys, keys + n);
  std::vector<rocksdb::PinnableSlice> values(slices.size());
  std::vector<rocksdb::Status> statuses(slices.size());
  db->db->MultiGet(rocksdb::ReadOptions(), db->db->DefaultColumnFamily(), slices.size(),
                   slices.data(), values.data(), statuses.data());
  for (int i = 0; i < n; i++) found[i] = statuses[static_cast<size_t>(i)].ok();
}

rocks_tickers rocks_count(rocks_db *db) {
  rocks_tickers t = {
      db->statistics->getAndResetTickerCount(rocksdb::BLOOM_FILTER_USEFUL),
      db->statistics->getAndResetTickerCount(rocksdb::BLOOM_FILTER_FULL_POSITIVE),
      db->statistics->getAndResetTickerCount(rocksdb::BLOOM_FILTER_FULL_TRUE_POSITIVE)};
  return t;
}

bool rocks_table(rocks_db *db, size_t i, char *path, size_t cap) {
  std::vector<rocksdb::LiveFileMetaData> files;
  db->db->GetLiveFilesMetaData(&files);
  if (i >= files.size()) return false;
  snprintf(path, cap, "%s%s", files[i].db_path.c_str(), files[i].name.c_str());
  return true;
}

unsigned rocks_first_format(void) { return ROCKS_FIRST_FORMAT; }

unsigned rocks_last_format(void) { return ROCKS_LAST_FORMAT; }

void rocks_write_table(const char *path, const rocks_table_options *o, size_t n,
                       void (*key_of)(unsigned i, char key[ROCKS_KEY])) {
  rocks_options policy = {o->policy, o->bits_per_key, -1, false, false, false};
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy = policy_of(&policy);
  table.format_version = o->format_version;
  table.checksum = static_cast<rocksdb::ChecksumType>(o->checksum);
  table.whole_key_filtering = !o->prefixes_only;
  table.index_block_restart_interval = static_cast<int>(o->restart_interval);
  table.optimize_filters_for_memory = o->memory;
  if (o->metadata_block != 0) {
    table.partition_filters = true;
    table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
    table.metadata_block_size = o->metadata_block;
  }
  rocksdb::Options options;
  options.compression = rocksdb::kNoCompression;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  if (o->fixed_prefix != 0) {
    options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(o->fixed_prefix));
  } else if (o->capped_prefix != 0) {
    options.prefix_extractor.reset(rocksdb::NewCappedPrefixTransform(o->capped_prefix));
  }
  if (o->reverse) options.comparator = rocksdb::ReverseBytewiseComparator();
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options);
  check(writer.Open(path));
  for (size_t i = 0; i < n; i++) {
    char key[ROCKS_KEY];
    key_of(static_cast<unsigned>(o->reverse ? n - 1 - i : i), key);
    check(writer.Put(key, key));
  }
  check(writer.Finish());
}

uint8_t *rocks_build(const rocks_options *o, const uint64_t *keys, size_t n, size_t *len) {
  auto builder = builder_of(o);
  for (size_t i = 0; i < n; i++) builder->AddKey(slice(keys[i]));
  std::unique_ptr<const char[]> memory;
  rocksdb::Status status;
  rocksdb::Slice block = builder->Finish(&memory, &status);
  check(status);
  check(builder->MaybePostVerify(block));
  uint8_t *copy = static_cast<uint8_t *>(malloc(block.size() + 1));
  if (copy != nullptr && block.size() != 0) memcpy(copy, block.data(), block.size());
  *len = block.size();
  return copy;
}

void *rocks_reader(const rocks_options *o, const uint8_t *block, size_t len) {
  return policy_of(o)->GetFilterBitsReader(
      rocksdb::Slice(reinterpret_cast<const char *>(block), len));
}

bool rocks_reader_may_match(void *reader, uint64_t key) {
  rocksdb::Slice one = slice(key), *pointer = &one;
  auto *r = static_cast<rocksdb::FilterBitsReader *>(reader);
  bool alone = r->MayMatch(one), batch = !alone;
  r->MayMatch(1, &pointer, &batch);
  if (alone != batch) abort();
  return alone;
}

void rocks_reader_close(void *reader) { delete static_cast<rocksdb::FilterBitsReader *>(reader); }

size_t rocks_approximate(const rocks_options *o, size_t nbytes) {
  return builder_of(o)->ApproximateNumEntries(nbytes);
}
