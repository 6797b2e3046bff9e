// engine_rocksdb_levels.cc - see engine_rocksdb_levels.h.
#include "engine_rocksdb_levels.h"

#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/metadata.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/statistics.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/options_util.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "engine_rocksdb_versions.h"
#include "nay_rocksdb.h"

struct leveled_db {
  rocksdb::Options options;
  std::string id;
  std::unique_ptr<rocksdb::DB> db;
};

namespace {

void check(const rocksdb::Status &status) {
  if (status.ok()) return;
  fprintf(stderr, "RocksDB: %s\n", status.ToString().c_str());
  abort();
}

std::string Key(const leveled_keys &keys, unsigned i) {
  char digits[16];
  snprintf(digits, sizeof digits, "%06u", keys.first + i * keys.step);
  return keys.prefix + std::string(digits);
}

bool OptionsOf(const char *path, const leveled_policy *policy, rocksdb::Options *options) {
  static const bool registered = (nay::RegisterRocksPolicy(), true);
  (void)registered;
  if (policy->id == nullptr) {
    rocksdb::DBOptions db_options;
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    if (!rocksdb::LoadLatestOptions(rocksdb::ConfigOptions(), path, &db_options, &families).ok()) {
      return false;
    }
    *options = rocksdb::Options(db_options, families[0].options);
    return true;
  }
  rocksdb::BlockBasedTableOptions table;
  check(rocksdb::FilterPolicy::CreateFromString(rocksdb::ConfigOptions(), policy->id,
                                                &table.filter_policy));
  if (policy->partitioned) {
    table.partition_filters = true;
    table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  }
  options->create_if_missing = true;
  options->disable_auto_compactions = true;
  options->table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return true;
}

}  // namespace

leveled_db *leveled_open(const char *path, const leveled_policy *policy) {
  auto made = std::make_unique<leveled_db>();
  if (!OptionsOf(path, policy, &made->options)) return nullptr;
  made->options.statistics = rocksdb::CreateDBStatistics();
  auto *table = made->options.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
  made->id = table->filter_policy != nullptr ? table->filter_policy->GetId() : "";
  if (!OpenRocks(made->options, path, &made->db).ok()) return nullptr;
  return made.release();
}

void leveled_close(leveled_db *db) { delete db; }

const char *leveled_id(const leveled_db *db) { return db->id.c_str(); }

void leveled_write(leveled_db *db, leveled_keys keys, int level) {
  for (unsigned i = 0; i < keys.n; i++) check(db->db->Put({}, Key(keys, i), "here"));
  check(db->db->Flush({}));
  if (level == 0) return;
  std::vector<rocksdb::LiveFileMetaData> files;
  std::vector<std::string> inputs;
  db->db->GetLiveFilesMetaData(&files);
  for (const auto &file : files) {
    if (file.level == 0) inputs.push_back(file.name);
  }
  check(db->db->CompactFiles(rocksdb::CompactionOptions(), inputs, level));
}

void leveled_ingest(leveled_db *db, const char *directory, leveled_keys keys) {
  std::string path = directory + std::string("/ingested.sst");
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), db->options);
  check(writer.Open(path));
  for (unsigned i = 0; i < keys.n; i++) check(writer.Put(Key(keys, i), "here"));
  check(writer.Finish());
  check(db->db->IngestExternalFile({path}, rocksdb::IngestExternalFileOptions()));
}

bool leveled_table(leveled_db *db, size_t i, char *path, size_t cap, int *level) {
  std::vector<rocksdb::LiveFileMetaData> files;
  db->db->GetLiveFilesMetaData(&files);
  if (i >= files.size()) return false;
  snprintf(path, cap, "%s%s", files[i].db_path.c_str(), files[i].name.c_str());
  *level = files[i].level;
  return true;
}

bool leveled_has(leveled_db *db, const char *key) {
  std::string value;
  rocksdb::Status status = db->db->Get({}, key, &value);
  if (!status.IsNotFound()) check(status);
  return status.ok();
}

uint64_t leveled_maybes(leveled_db *db) {
  return db->options.statistics->getAndResetTickerCount(rocksdb::BLOOM_FILTER_FULL_POSITIVE);
}
