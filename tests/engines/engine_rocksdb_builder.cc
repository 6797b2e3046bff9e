// engine_rocksdb_builder.cc - see engine_rocksdb_builder.h.
#include "engine_rocksdb_builder.h"

#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/options_util.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "engine_rocksdb_versions.h"
#include "filter_builder.h"
#include "nay_rocksdb.h"

using rocksdb::BlockBasedTableOptions;
using rocksdb::Slice;
using rocksdb::Status;
typedef std::shared_ptr<const rocksdb::FilterPolicy> Policy;

struct rocks_builder {
  Policy policy;
  std::unique_ptr<rocksdb::FilterBitsBuilder> builder;
  bool ours;

  /* The functions that RocksDB before 9.6 or 10.9 does not call can be tested with it. */
  nay::Builder *nays() const { return static_cast<nay::Builder *>(builder.get()); }
};

namespace {

void once() {
  static const bool registered = (nay::RegisterRocksPolicy(), true);
  (void)registered;
}

rocks_named describe(const Status &status, const Policy &policy) {
  rocks_named named = {status.ok(), policy != nullptr, "", ""};
  if (policy != nullptr) snprintf(named.id, sizeof named.id, "%s", policy->GetId().c_str());
  snprintf(named.message, sizeof named.message, "%s", status.ToString().c_str());
  return named;
}

Policy policy_in(const std::shared_ptr<rocksdb::TableFactory> &factory) {
  auto *table = factory->GetOptions<BlockBasedTableOptions>();
  return table != nullptr ? table->filter_policy : nullptr;
}

Status by_table(const char *id, Policy *policy) {
  BlockBasedTableOptions made;
  Status status = rocksdb::GetBlockBasedTableOptionsFromString(
      rocksdb::ConfigOptions(), BlockBasedTableOptions(), "filter_policy=" + std::string(id),
      &made);
  *policy = made.filter_policy;
  return status;
}

Status by_family(const char *id, Policy *policy) {
  rocksdb::ColumnFamilyOptions made;
  Status status = rocksdb::GetColumnFamilyOptionsFromString(
      rocksdb::ConfigOptions(), rocksdb::ColumnFamilyOptions(),
      "block_based_table_factory={filter_policy=" + std::string(id) + ";}", &made);
  *policy = policy_in(made.table_factory);
  return status;
}

Status by_old_api(const char *id, Policy *policy) {
#if ROCKSDB_MAJOR >= 8 /* which has none */
  return by_table(id, policy);
#else
  BlockBasedTableOptions made;
  Status status = rocksdb::GetBlockBasedTableOptionsFromString(
      BlockBasedTableOptions(), "filter_policy=" + std::string(id), &made);
  *policy = made.filter_policy;
  return status;
#endif
}

Status open_and_close(const rocksdb::Options &options, const char *path) {
  std::unique_ptr<rocksdb::DB> db;
  Status status = OpenRocks(options, path, &db);
  return status.ok() ? db->Put({}, "key", "value") : status;
}

rocksdb::Options options_of(const BlockBasedTableOptions &table, rocksdb::Env *env) {
  rocksdb::Options options;
  options.env = env;
  options.create_if_missing = true;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

/* A database in memory: nothing is left of it. */
Status try_to_open(const Policy &policy) {
  std::unique_ptr<rocksdb::Env> env(rocksdb::NewMemEnv(rocksdb::Env::Default()));
  BlockBasedTableOptions table;
  table.filter_policy = policy;
  return open_and_close(options_of(table, env.get()), "/db");
}

/* A minimal OPTIONS file. */
Status by_file(const char *id, Policy *policy) {
  std::unique_ptr<rocksdb::Env> env(rocksdb::NewMemEnv(rocksdb::Env::Default()));
  std::string text =
      "[Version]\nrocksdb_version=7.8.3\noptions_file_version=1.1\n[DBOptions]\n"
      "[CFOptions \"default\"]\n[TableOptions/BlockBasedTable \"default\"]\nfilter_policy=" +
      std::string(id) + "\n";
  Status status = rocksdb::WriteStringToFile(env.get(), text, "/OPTIONS", false);
  rocksdb::ConfigOptions config;
  config.env = env.get();
  rocksdb::DBOptions db_options;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  if (status.ok()) {
    status = rocksdb::LoadOptionsFromFile(config, "/OPTIONS", &db_options, &families);
  }
  if (status.ok()) *policy = policy_in(families.at(0).options.table_factory);
  return status;
}

Policy must(const char *id) {
  once();
  Policy policy;
  Status status = rocksdb::FilterPolicy::CreateFromString(rocksdb::ConfigOptions(), id, &policy);
  if (status.ok() && policy != nullptr) return policy;
  fprintf(stderr, "%s: %s\n", id, status.ToString().c_str());
  abort();
}

std::string block_of(const Policy &policy, const rocksdb::FilterBuildingContext &context) {
  std::unique_ptr<rocksdb::FilterBitsBuilder> builder(policy->GetBuilderWithContext(context));
  if (builder == nullptr) return "no filter";
  for (int i = 0; i < 1000; i++) builder->AddKey(std::to_string(i));
  std::unique_ptr<const char[]> memory;
  return builder->Finish(&memory).ToString();
}

}  // namespace

rocks_named rocks_policy_by(rocks_route route, const char *id) {
  once();
  Policy policy;
  Status status;
  switch (route) {
    case ROCKS_BY_POLICY:
      status = rocksdb::FilterPolicy::CreateFromString(rocksdb::ConfigOptions(), id, &policy);
      break;
    case ROCKS_BY_TABLE: status = by_table(id, &policy); break;
    case ROCKS_BY_FAMILY: status = by_family(id, &policy); break;
    case ROCKS_BY_OLD_API: status = by_old_api(id, &policy); break;
    case ROCKS_BY_FILE: status = by_file(id, &policy); break;
    case ROCKS_ROUTES: abort();
  }
  if (status.ok()) status = try_to_open(policy);
  return describe(status, policy);
}

bool rocks_reload(const char *path, const char *id, rocks_named *loaded) {
  BlockBasedTableOptions table;
  table.filter_policy = must(id);
  if (!open_and_close(options_of(table, rocksdb::Env::Default()), path).ok()) return false;

  rocksdb::DBOptions db_options;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  Status status =
      rocksdb::LoadLatestOptions(rocksdb::ConfigOptions(), path, &db_options, &families);
  if (!status.ok() || families.size() != 1) return false;
  *loaded = describe(status, policy_in(families[0].options.table_factory));
  return open_and_close(rocksdb::Options(db_options, families[0].options), path).ok();
}

unsigned rocks_flush_partitions(const char *id, unsigned n) {
  std::unique_ptr<rocksdb::Env> env(rocksdb::NewMemEnv(rocksdb::Env::Default()));
  BlockBasedTableOptions table;
  table.filter_policy = must(id);
  table.partition_filters = true;
  table.index_type = BlockBasedTableOptions::kTwoLevelIndexSearch;
  table.metadata_block_size = table.block_size = 256;
  std::unique_ptr<rocksdb::DB> db;
  Status status = OpenRocks(options_of(table, env.get()), "/db", &db);
  auto key_of = [](unsigned i) { return std::to_string(1000000 + i); };
  for (unsigned i = 0; i < n && status.ok(); i++) status = db->Put({}, key_of(i), "here");
  if (status.ok()) status = db->Flush({});
  unsigned found = 0;
  std::string value;
  for (unsigned i = 0; i < n && status.ok(); i++) found += db->Get({}, key_of(i), &value).ok();
  return found;
}

rocks_named rocks_policy_new(bool compatible, double bits_per_key, int blocked_before_level) {
  nay::RocksOptions options;
  options.bytes = compatible ? nay::RocksBytes::kCompatible : nay::RocksBytes::kNay;
  options.bits_per_key = bits_per_key;
  options.blocked_before_level = blocked_before_level;
  Policy policy;
  Status status = nay::NewRocksPolicy(options, &policy);
  return describe(status, policy);
}

bool rocks_same_filters(const char *id, const char *other) {
  using Reason = rocksdb::TableFileCreationReason;
  Policy one = must(id), two = must(other);
  BlockBasedTableOptions table;
  rocksdb::FilterBuildingContext context(table);
  bool same = true;
  for (auto style : {rocksdb::kCompactionStyleLevel, rocksdb::kCompactionStyleUniversal,
                     rocksdb::kCompactionStyleFIFO}) {
    for (auto reason : {Reason::kFlush, Reason::kCompaction, Reason::kRecovery, Reason::kMisc}) {
      for (int level = -1; level < 7; level++) {
        context.compaction_style = style;
        context.reason = reason;
        context.level_at_creation = level;
        same &= block_of(one, context) == block_of(two, context);
      }
    }
  }
  return same;
}

rocks_builder *rocks_builder_new(const char *id) {
  BlockBasedTableOptions table;
  rocksdb::FilterBuildingContext context(table);
  Policy policy = must(id);
  auto *builder = policy->GetBuilderWithContext(context);
  return new rocks_builder{policy, std::unique_ptr<rocksdb::FilterBitsBuilder>(builder),
                           strncmp(id, "nay", 3) == 0};
}

void rocks_builder_add(rocks_builder *b, const char *key) { b->builder->AddKey(key); }

bool rocks_builder_add_alt(rocks_builder *b, const char *key, const char *alt) {
#if NAY_ROCKSDB_VERSION >= 9006
  b->builder->AddKeyAndAlt(key, alt);
  return true;
#else
  if (b->ours) b->nays()->AddKeyAndAlt(key, alt);
  return b->ours;
#endif
}

bool rocks_builder_space(rocks_builder *b, size_t nentries, size_t *nbytes) {
#if NAY_ROCKSDB_VERSION >= 10009
  *nbytes = b->builder->CalculateSpace(nentries);
  return true;
#else
  if (b->ours) *nbytes = b->nays()->CalculateSpace(nentries);
  return b->ours;
#endif
}

double rocks_builder_fpr(rocks_builder *b, size_t nentries, size_t nbytes) {
  return b->nays()->EstimatedFpRate(nentries, nbytes);
}

size_t rocks_builder_room(rocks_builder *b, size_t nbytes) {
  return b->builder->ApproximateNumEntries(nbytes);
}

size_t rocks_builder_entries(rocks_builder *b) { return b->builder->EstimateEntriesAdded(); }

uint8_t *rocks_builder_finish(rocks_builder *b, size_t *len) {
  std::unique_ptr<const char[]> memory;
  Status status;
  Slice block = b->builder->Finish(&memory, &status);
  if (!status.ok() || !b->builder->MaybePostVerify(block).ok()) abort();
  uint8_t *copy = static_cast<uint8_t *>(malloc(block.size() + 1));
  if (copy == nullptr) abort();
  if (block.size() != 0) memcpy(copy, block.data(), block.size());
  *len = block.size();
  return copy;
}

bool rocks_builder_may_match(const rocks_builder *b, const uint8_t *block, size_t len,
                             const char *key) {
  std::unique_ptr<rocksdb::FilterBitsReader> reader(
      b->policy->GetFilterBitsReader(Slice(reinterpret_cast<const char *>(block), len)));
  return reader->MayMatch(key);
}

void rocks_builder_free(rocks_builder *b) { delete b; }
