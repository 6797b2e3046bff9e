// engine_rocksdb_matrix.cc - see engine_rocksdb_matrix.h.
#include "engine_rocksdb_matrix.h"

#include <rocksdb/cache.h>
#include <rocksdb/comparator.h>
#include <rocksdb/convenience.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "engine_rocksdb_model.h"
#include "engine_rocksdb_versions.h"
#include "nay_rocksdb.h"

const matrix_names matrix_dimensions[MATRIX_DIMENSIONS] = {
    {"policy",
     7,
     {"nay:10:0", "nay:10:1", "nay:10:2147483647", "nay:10:-1", "nay-compatible:10:0",
      "nay-compatible:10:-1", "nay-compatible:10:2147483647"}},
    {"layout", 4, {"full", "partitions 256", "partitions 1024", "partitions 4096"}},
    {"prefix", 4, {"none", "fixed 6", "capped 6", "noop"}},
    {"history", 6, {"puts", "overwrites", "deletes", "range deletes", "merges", "all"}},
    {"shape", 5, {"one flush", "flushes", "compacted", "for hits", "universal"}},
    {"comparator", 3, {"bytewise", "reverse", "timestamps"}},
    {"whole keys", 2, {"on", "off"}},
    {"index", 2, {"two-level", "binary"}},
    {"cache", 3, {"none", "index and filter", "pinned"}},
    {"format", ROCKS_LAST_FORMAT - 1, {"2", "3", "4", "5", "6", "7"}},
    {"memtable", 2, {"empty", "last writes, bloom"}},
    {"origin", 2, {"writes", "ingested"}},
    {"reopen", 5, {"no", "same", "read-only", "other policy", "stock"}},
    {"compression", 2, {"none", "Snappy, 4 threads"}},
    {"cut", 1 + ROCKS_DECOUPLES, {"with the index", "apart"}},
};

namespace matrix {
namespace {

using rocksdb::Slice;
using rocksdb::Status;

enum { kPuts, kOverwrites, kDeletes, kRangeDeletes, kMerges, kMixed }; /* history */
enum { kOneFlush, kFlushes, kCompacted, kForHits, kUniversal };        /* shape */
enum { kBytewise, kReverse, kTimestamps };                             /* comparator */
enum { kNoReopen, kSame, kReadOnly, kOtherPolicy, kStock };            /* reopen */
constexpr unsigned kKeys = 1600, kGroup = 10, kHot = 320;

void Check(const Status &status, const char *what) {
  if (status.ok()) return;
  fprintf(stderr, "RocksDB, %s: %s\n", what, status.ToString().c_str());
  abort();
}

class Append : public rocksdb::AssociativeMergeOperator {
 public:
  bool Merge(const Slice &, const Slice *before, const Slice &value, std::string *after,
             rocksdb::Logger *) const override {
    *after = (before != nullptr ? before->ToString() : "") + value.ToString();
    return true;
  }
  const char *Name() const override { return "append"; }
};

/* ---- options ---- */

std::shared_ptr<const rocksdb::FilterPolicy> PolicyOf(const std::string &id) {
  static const bool registered = (nay::RegisterRocksPolicy(), true);
  (void)registered;
  std::shared_ptr<const rocksdb::FilterPolicy> policy;
  Check(rocksdb::FilterPolicy::CreateFromString(rocksdb::ConfigOptions(), id, &policy), id.c_str());
  return policy;
}

const rocksdb::Comparator *ComparatorOf(unsigned which) {
  if (which == kBytewise) return rocksdb::BytewiseComparator();
  if (which == kReverse) return rocksdb::ReverseBytewiseComparator();
  const rocksdb::Comparator *comparator = nullptr;
  Check(rocksdb::Comparator::CreateFromString(rocksdb::ConfigOptions(),
                                              "leveldb.BytewiseComparator.u64ts", &comparator),
        "comparator");
  return comparator;
}

rocksdb::BlockBasedTableOptions TableOf(const Database &d, const std::string &policy) {
  static const unsigned sizes[] = {4096, 256, 1024, 4096};
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy = PolicyOf(policy);
  table.partition_filters = d.is(MATRIX_LAYOUT) != 0;
  table.metadata_block_size = sizes[d.is(MATRIX_LAYOUT)];
  table.index_type = d.is(MATRIX_INDEX) == 0 ? rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch
                                             : rocksdb::BlockBasedTableOptions::kBinarySearch;
  table.whole_key_filtering = d.is(MATRIX_WHOLE_KEYS) == 0;
  table.cache_index_and_filter_blocks = d.is(MATRIX_CACHE) != 0;
  table.pin_l0_filter_and_index_blocks_in_cache = d.is(MATRIX_CACHE) == 2;
  table.pin_top_level_index_and_filter = d.is(MATRIX_CACHE) == 2;
  table.format_version = 2 + d.is(MATRIX_FORMAT);
#if ROCKS_DECOUPLES
  table.decouple_partitioned_filters = d.is(MATRIX_CUT) != 0;
#endif
  table.block_size = 256; /* blocks of a few keys: many places to cut a partition */
  return table;
}

void SetOptions(Database *d, const std::string &policy) {
  rocksdb::Options &o = d->options;
  o.env = d->env.get();
  o.create_if_missing = true;
  o.disable_auto_compactions = true;
  o.compression = rocksdb::kNoCompression;
  if (d->is(MATRIX_COMPRESSION) != 0) {
    o.compression = rocksdb::kSnappyCompression;
    o.compression_opts.parallel_threads = 4;
  }
  o.comparator = ComparatorOf(d->is(MATRIX_COMPARATOR));
  o.merge_operator = std::make_shared<Append>();
  o.target_file_size_base = 24 << 10;
  o.optimize_filters_for_hits = d->is(MATRIX_SHAPE) == kForHits;
  if (d->is(MATRIX_SHAPE) == kUniversal) o.compaction_style = rocksdb::kCompactionStyleUniversal;
  if (d->is(MATRIX_PREFIX) == 1) o.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(6));
  if (d->is(MATRIX_PREFIX) == 2) o.prefix_extractor.reset(rocksdb::NewCappedPrefixTransform(6));
  if (d->is(MATRIX_PREFIX) == 3) o.prefix_extractor.reset(rocksdb::NewNoopTransform());
  if (d->is(MATRIX_MEMTABLE) != 0) {
    o.memtable_prefix_bloom_size_ratio = 0.1;
    o.memtable_whole_key_filtering = true;
  }
  if (o.statistics == nullptr) o.statistics = rocksdb::CreateDBStatistics();
  o.table_factory.reset(rocksdb::NewBlockBasedTableFactory(TableOf(*d, policy)));
}

void Open(Database *d, bool read_only) {
  Check(OpenRocks(d->options, "/db", &d->db, read_only), "open");
}

/* ---- keys ---- */

/* Groups of ten share six characters; one key in 25 is just those, or shorter. */
std::string Key(const Database *d, unsigned i) {
  char key[32];
  if (i % 25 == 0) {
    snprintf(key, sizeof key, i % 2 == 0 && d->shorter ? "%04u" : "%06u", i / kGroup);
  } else {
    snprintf(key, sizeof key, "%06u%06u", i / kGroup, i % kGroup * 7);
  }
  return key;
}

std::string Value(unsigned i, unsigned version) {
  return "v" + std::to_string(version) + "." + std::to_string(i);
}

rocksdb::WriteOptions NoLog() {
  rocksdb::WriteOptions write;
  write.disableWAL = true;
  return write;
}

/* ---- writes, to both ---- */

void Put(Database *d, const std::string &key, const std::string &value) {
  Check(d->timestamps ? d->db->Put(NoLog(), key, Timestamp(d->now), value)
                      : d->db->Put(NoLog(), key, value),
        "Put");
  d->now++;
  d->map[key] = value;
}

void Delete(Database *d, const std::string &key) {
  Check(
      d->timestamps ? d->db->Delete(NoLog(), key, Timestamp(d->now)) : d->db->Delete(NoLog(), key),
      "Delete");
  d->now++;
  d->map.erase(key);
}

void DeleteRange(Database *d, std::string from, std::string to) {
  if (d->map.key_comp()(to, from)) std::swap(from, to);
  Check(d->db->DeleteRange(NoLog(), d->db->DefaultColumnFamily(), from, to), "DeleteRange");
  d->map.erase(d->map.lower_bound(from), d->map.lower_bound(to));
}

void Merge(Database *d, const std::string &key, const std::string &value) {
  Check(d->db->Merge(NoLog(), key, value), "Merge");
  d->map[key] += value;
}

void Remember(Database *d, const std::string &hot) {
  Moment m = {
      d->timestamps ? nullptr : d->db->GetSnapshot(), d->now - 1, Map(d->map.key_comp()), {}};
  if (hot.empty()) {
    m.map = d->map;
  } else {
    m.hot = *d->map.find(hot);
  }
  d->moments.push_back(m);
}

/* ---- the history, in phases; between them the shape is made ---- */

void Flush(Database *d) { Check(d->db->Flush(rocksdb::FlushOptions()), "Flush"); }

void BetweenPhases(Database *d) {
  unsigned shape = d->is(MATRIX_SHAPE);
  if (shape == kOneFlush) return;
  Flush(d);
  if (shape == kFlushes) return;
  rocksdb::CompactRangeOptions compact;
  compact.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
  Check(d->db->CompactRange(compact, nullptr, nullptr), "CompactRange");
}

void Ingest(Database *d) {
  std::vector<std::string> keys, files;
  for (unsigned i = 0; i < kKeys; i += 2) d->map[Key(d, i)] = Value(i, 0);
  for (auto &entry : d->map) keys.push_back(entry.first);
  for (size_t part = 0; part < 2; part++) {
    files.push_back("/ingest" + std::to_string(part));
    rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), d->options);
    Check(writer.Open(files.back()), "SstFileWriter");
    for (size_t i = part * keys.size() / 2; i < (part + 1) * keys.size() / 2; i++) {
      Check(writer.Put(keys[i], d->map[keys[i]]), "SstFileWriter::Put");
    }
    Check(writer.Finish(), "SstFileWriter::Finish");
  }
  Check(d->db->IngestExternalFile(files, rocksdb::IngestExternalFileOptions()), "ingest");
}

/* The same key over and over, a moment for each: its versions fill partitions. */
void HotKey(Database *d, unsigned i) {
  std::string key = Key(d, i);
  for (unsigned version = 0; version < kHot; version++) {
    Put(d, key, Value(i, 100 + version) + std::string(60, '.'));
    Remember(d, key);
  }
}

void Change(Database *d, unsigned history, unsigned i, unsigned version) {
  if (history == kMixed) history = kOverwrites + i / 3 % 4;
  switch (history) {
    case kOverwrites: Put(d, Key(d, i), Value(i, version)); break;
    case kDeletes: Delete(d, Key(d, i)); break;
    case kRangeDeletes:
      if (i % 7 == 0) DeleteRange(d, Key(d, i), Key(d, i + 13));
      break;
    case kMerges: Merge(d, Key(d, i), Value(i, version)); break;
    default: break;
  }
}

void Write(Database *d) {
  unsigned history = d->is(MATRIX_HISTORY);
  if (d->is(MATRIX_ORIGIN) != 0) Ingest(d);
  for (unsigned i = 0; i < kKeys; i += 2) Put(d, Key(d, i), Value(i, 0));
  Remember(d, "");
  if (history == kOverwrites || history == kMixed) HotKey(d, 702);
  BetweenPhases(d);
  for (unsigned version = 1; history != kPuts && version < 3; version++) {
    for (unsigned i = version; i < kKeys; i += 3) Change(d, history, i, version);
    Remember(d, "");
    BetweenPhases(d);
  }
  if (d->is(MATRIX_MEMTABLE) != 0) Flush(d);
  for (unsigned i = 0; i < kKeys; i += 8) Put(d, Key(d, i), Value(i, 9)); /* some come back */
  if (d->is(MATRIX_MEMTABLE) == 0) {
    Flush(d);
    BetweenPhases(d);
  }
  for (unsigned i = 0; i < kKeys + 50; i++) d->universe.push_back(Key(d, i));
  for (unsigned i = 0; i < kKeys; i += 5) d->universe.push_back(Key(d, i) + "x");
  for (unsigned i = 0; i < kKeys; i += 20) { /* prefixes that are not there, among those that are */
    d->universe.push_back(Key(d, i + 1).substr(0, 5) + "x" + std::to_string(i));
  }
}

void Forget(Database *d) {
  for (const Moment &m : d->moments) {
    if (m.snapshot != nullptr) d->db->ReleaseSnapshot(m.snapshot);
  }
  d->moments.clear();
}

std::string OtherPolicy(const std::string &policy) {
  return policy.find("compatible") != std::string::npos ? "nay:10:0" : "nay-compatible:10:0";
}

/* The whole life of a database with one policy. */
Answers Run(const matrix_config &config, matrix_questions questions, const std::string &policy,
            uint64_t *nays, size_t *keys) {
  Database d;
  Answers answers;
  d.config = config;
  d.questions = questions;
  d.timestamps = d.is(MATRIX_COMPARATOR) == kTimestamps;
  d.shorter = d.is(MATRIX_PREFIX) != 1 || d.is(MATRIX_HISTORY) % 2 != 0;
  d.map = Map(Before{d.is(MATRIX_COMPARATOR) == kReverse});
  d.env.reset(rocksdb::NewMemEnv(rocksdb::Env::Default()));
  SetOptions(&d, policy);
  Open(&d, false);
  Write(&d);
  Ask(d, true, &answers);
  Forget(&d);
  if (d.is(MATRIX_REOPEN) != kNoReopen) {
    if (d.is(MATRIX_MEMTABLE) != 0) Flush(&d); /* there is no log */
    d.db.reset();
    if (d.is(MATRIX_REOPEN) == kOtherPolicy) SetOptions(&d, OtherPolicy(policy));
    if (d.is(MATRIX_REOPEN) == kStock) SetOptions(&d, "ribbonfilter:10:0");
    Open(&d, d.is(MATRIX_REOPEN) == kReadOnly);
    Ask(d, false, &answers);
  }
  *nays = d.options.statistics->getTickerCount(rocksdb::BLOOM_FILTER_USEFUL) +
          d.options.statistics->getTickerCount(rocksdb::BLOOM_FILTER_PREFIX_USEFUL);
  *keys = d.map.size();
  d.db.reset();
  return answers;
}

}  // namespace

std::string Timestamp(uint64_t now) { /* 8 bytes, little-endian, as the comparator reads them */
  std::string bytes(8, '\0');
  for (size_t i = 0; i < 8; i++) bytes[i] = static_cast<char>(now >> 8 * i & 0xff);
  return bytes;
}

}  // namespace matrix

bool matrix_possible(const matrix_config *c) {
  using namespace matrix;
  bool timestamps = c->at[MATRIX_COMPARATOR] == kTimestamps;
  unsigned history = c->at[MATRIX_HISTORY];
  if (timestamps && (history == kRangeDeletes || history == kMerges || history == kMixed)) {
    return false; /* 7.8: no Merge with timestamps; the others are not written here */
  }
  if (timestamps && c->at[MATRIX_ORIGIN] != 0) return false;    /* likewise */
  return c->at[MATRIX_LAYOUT] == 0 || c->at[MATRIX_INDEX] == 0; /* partitions: two levels */
}

bool matrix_filters(const matrix_config *c) {
  bool any = c->at[MATRIX_PREFIX] != 0 || c->at[MATRIX_WHOLE_KEYS] == 0;
  return any && c->at[MATRIX_SHAPE] != matrix::kForHits; /* which has none in the last level */
}

matrix_result matrix_run(const matrix_config *config, matrix_questions questions) {
  matrix_result result = {};
  const char *policy = matrix_dimensions[MATRIX_POLICY].values[config->at[MATRIX_POLICY]];
  size_t keys = 0;
  matrix::Answers ours = matrix::Run(*config, questions, policy, &result.filter_nays, &keys);
  result.answers = ours.asked;
  result.keys = keys;
  if (ours.wrong.empty()) return result;
  uint64_t unused;
  matrix::Answers stock = matrix::Run(*config, questions, "bloomfilter:10", &unused, &keys);
  for (const std::string &wrong : ours.wrong) {
    if (stock.wrong.count(wrong) != 0) {
      result.wrong_stock++;
    } else if (result.wrong++ == 0) {
      snprintf(result.first, sizeof result.first, "%s", wrong.c_str());
    }
  }
  return result;
}

void matrix_print(const matrix_config *config, char *text, size_t cap) {
  std::string all;
  for (int i = 0; i < MATRIX_DIMENSIONS; i++) {
    const matrix_names &names = matrix_dimensions[i];
    all += std::string(i == 0 ? "" : ", ") + names.name + " " + names.values[config->at[i]];
  }
  snprintf(text, cap, "%s", all.c_str());
}
