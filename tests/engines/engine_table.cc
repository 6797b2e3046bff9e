// engine_table.cc - see engine_table.h. Nothing here but the calls.
#include "engine_table.h"

#include <leveldb/comparator.h>
#include <leveldb/db.h>
#include <leveldb/env.h>
#include <leveldb/filter_policy.h>
#include <leveldb/iterator.h>
#include <leveldb/options.h>
#include <leveldb/table.h>
#include <leveldb/table_builder.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace {

leveldb::Slice slice(engine_slice s) {
  return leveldb::Slice(s.len != 0 ? reinterpret_cast<const char *>(s.at) : "", s.len);
}

engine_slice slice(const leveldb::Slice &s) {
  return {reinterpret_cast<const uint8_t *>(s.data()), s.size()};
}

class StringFile : public leveldb::WritableFile {
 public:
  leveldb::Status Append(const leveldb::Slice &data) override {
    bytes.append(data.data(), data.size());
    return leveldb::Status::OK();
  }
  leveldb::Status Close() override { return leveldb::Status::OK(); }
  leveldb::Status Flush() override { return leveldb::Status::OK(); }
  leveldb::Status Sync() override { return leveldb::Status::OK(); }
  std::string bytes;
};

class MemoryFile : public leveldb::RandomAccessFile {
 public:
  MemoryFile(const uint8_t *bytes, size_t len) : bytes_(bytes), len_(len) {}
  leveldb::Status Read(uint64_t offset, size_t n, leveldb::Slice *result, char *) const override {
    if (offset > len_) return leveldb::Status::IOError("past the end");
    size_t left = len_ - static_cast<size_t>(offset);
    *result = leveldb::Slice(reinterpret_cast<const char *>(bytes_) + offset, n < left ? n : left);
    return leveldb::Status::OK();
  }

 private:
  const uint8_t *bytes_;
  size_t len_;
};

class Reverse : public leveldb::Comparator {
 public:
  int Compare(const leveldb::Slice &a, const leveldb::Slice &b) const override {
    return b.compare(a);
  }
  const char *Name() const override { return "test.reverse"; }
  void FindShortestSeparator(std::string *, const leveldb::Slice &) const override {}
  void FindShortSuccessor(std::string *) const override {}
};

class Numeric : public Reverse {
 public:
  int Compare(const leveldb::Slice &a, const leveldb::Slice &b) const override {
    if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
    return a.compare(b);
  }
  const char *Name() const override { return "test.numeric"; }
};

class Prefix : public Reverse {
 public:
  int Compare(const leveldb::Slice &a, const leveldb::Slice &b) const override {
    leveldb::Slice head_a(a.data(), std::min<size_t>(a.size(), 3));
    leveldb::Slice head_b(b.data(), std::min<size_t>(b.size(), 3));
    int order = head_a.compare(head_b);
    return order != 0 ? order : b.compare(a);
  }
  const char *Name() const override { return "test.prefix"; }
};

std::string fold(const leveldb::Slice &key) {
  std::string folded(key.data(), key.size());
  for (char &c : folded) c = static_cast<char>(c | 0x20);
  return folded;
}

class Fold : public Reverse {
 public:
  int Compare(const leveldb::Slice &a, const leveldb::Slice &b) const override {
    return leveldb::Slice(fold(a)).compare(fold(b));
  }
  const char *Name() const override { return "test.fold"; }
};

std::atomic<uint64_t> fold_nays;

// What LevelDB's documentation asks for: a comparator that ignores bytes needs a policy that does.
class FoldPolicy : public leveldb::FilterPolicy {
 public:
  explicit FoldPolicy(int bits) : inner_(leveldb::NewBloomFilterPolicy(bits)) {}
  const char *Name() const override { return "test.FoldFilter"; }
  void CreateFilter(const leveldb::Slice *keys, int n, std::string *dst) const override {
    std::vector<std::string> folded;
    for (int i = 0; i < n; i++) folded.push_back(fold(keys[i]));
    std::vector<leveldb::Slice> slices(folded.begin(), folded.end());
    inner_->CreateFilter(slices.data(), n, dst);
  }
  bool KeyMayMatch(const leveldb::Slice &key, const leveldb::Slice &filter) const override {
    bool maybe = inner_->KeyMayMatch(fold(key), filter);
    fold_nays += !maybe;
    return maybe;
  }

 private:
  std::unique_ptr<const leveldb::FilterPolicy> inner_;
};

const leveldb::FilterPolicy *policy_of(engine_comparator comparator, int bits) {
  if (bits == 0) return nullptr;
  if (comparator == ENGINE_FOLD) return new FoldPolicy(bits);
  return leveldb::NewBloomFilterPolicy(bits);
}

const leveldb::Comparator *comparator_of(engine_comparator comparator) {
  static const Reverse reverse;
  static const Numeric numeric;
  static const Prefix prefix;
  static const Fold folded;
  if (comparator == ENGINE_FOLD) return &folded;
  if (comparator == ENGINE_PREFIX) return &prefix;
  if (comparator == ENGINE_REVERSE) return &reverse;
  return comparator == ENGINE_NUMERIC ? &numeric : leveldb::BytewiseComparator();
}

leveldb::Options make_options(const engine_table_options *o) {
  leveldb::Options options;
  options.comparator = comparator_of(o->comparator);
  options.block_size = o->block_bytes;
  options.block_restart_interval = o->restart_interval;
  options.compression = o->snappy ? leveldb::kSnappyCompression : leveldb::kNoCompression;
  options.filter_policy = policy_of(o->comparator, o->filter_bits);
  return options;
}

}  // namespace

struct engine_table {
  std::unique_ptr<MemoryFile> file;
  std::unique_ptr<const leveldb::FilterPolicy> policy;
  std::unique_ptr<leveldb::Table> table;
  std::unique_ptr<leveldb::Iterator> iter;

  bool entry(engine_slice *key, engine_slice *value) {
    if (!iter->Valid()) return false;
    *key = slice(iter->key());
    *value = slice(iter->value());
    return true;
  }
};

struct engine_db {
  std::unique_ptr<const leveldb::FilterPolicy> policy;
  std::unique_ptr<leveldb::DB> db;
};

uint8_t *engine_table_build(const engine_table_options *o, const engine_slice *keys,
                            const engine_slice *values, size_t n, size_t *len) {
  leveldb::Options options = make_options(o);
  std::unique_ptr<const leveldb::FilterPolicy> policy(options.filter_policy);
  StringFile file;
  {
    leveldb::TableBuilder builder(options, &file);
    for (size_t i = 0; i < n; i++) builder.Add(slice(keys[i]), slice(values[i]));
    if (!builder.Finish().ok()) return nullptr;
  }
  *len = file.bytes.size();
  uint8_t *copy = static_cast<uint8_t *>(malloc(*len));
  if (copy != nullptr) memcpy(copy, file.bytes.data(), *len);
  return copy;
}

engine_table *engine_table_open(const uint8_t *bytes, size_t len, int filter_bits,
                                engine_comparator comparator) {
  std::unique_ptr<engine_table> t(new engine_table);
  leveldb::Options options;
  options.paranoid_checks = true;
  options.comparator = comparator_of(comparator);
  t->policy.reset(policy_of(comparator, filter_bits));
  options.filter_policy = t->policy.get();
  t->file.reset(new MemoryFile(bytes, len));
  leveldb::Table *table = nullptr;
  if (!leveldb::Table::Open(options, t->file.get(), len, &table).ok()) return nullptr;
  t->table.reset(table);
  leveldb::ReadOptions read;
  read.verify_checksums = true;
  t->iter.reset(table->NewIterator(read));
  return t.release();
}

void engine_table_close(engine_table *table) {
  if (table != nullptr) table->iter.reset();  // before the table it walks
  delete table;
}

bool engine_table_first(engine_table *t, engine_slice *key, engine_slice *value) {
  t->iter->SeekToFirst();
  return t->entry(key, value);
}

bool engine_table_next(engine_table *t, engine_slice *key, engine_slice *value) {
  t->iter->Next();
  return t->entry(key, value);
}

bool engine_table_seek(engine_table *t, engine_slice target, engine_slice *key,
                       engine_slice *value) {
  t->iter->Seek(slice(target));
  return t->entry(key, value);
}

uint64_t engine_table_offset(engine_table *t, engine_slice key) {
  return t->table->ApproximateOffsetOf(slice(key));
}

bool engine_table_failed(engine_table *t) { return !t->iter->status().ok(); }

engine_db *engine_db_open(const char *path, const engine_table_options *o) {
  std::unique_ptr<engine_db> e(new engine_db);
  leveldb::Options options = make_options(o);
  e->policy.reset(options.filter_policy);
  options.create_if_missing = true;
  leveldb::DB *db = nullptr;
  if (!leveldb::DB::Open(options, path, &db).ok()) return nullptr;
  e->db.reset(db);
  return e.release();
}

bool engine_db_repair(const char *path, const engine_table_options *o) {
  leveldb::Options options = make_options(o);
  std::unique_ptr<const leveldb::FilterPolicy> policy(options.filter_policy);
  return leveldb::RepairDB(path, options).ok();
}

uint64_t engine_db_nays(void) { return fold_nays; }

bool engine_db_put(engine_db *e, engine_slice key, engine_slice value) {
  leveldb::WriteOptions how;
  if (value.at == nullptr) return e->db->Delete(how, slice(key)).ok();
  return e->db->Put(how, slice(key), slice(value)).ok();
}

bool engine_db_flush(engine_db *e) {
  // a range that no key is in: the memtable is written, and no level has anything to compact
  leveldb::Slice nowhere("\xff\xff\xff\xff\xff\xff\xff\xff\xff", 9);
  e->db->CompactRange(&nowhere, &nowhere);
  return true;
}

bool engine_db_get(engine_db *e, engine_slice key, uint8_t **value, size_t *len) {
  std::string found;
  if (!e->db->Get(leveldb::ReadOptions(), slice(key), &found).ok()) return false;
  *len = found.size();
  *value = static_cast<uint8_t *>(malloc(found.size() + 1));
  if (*value != nullptr) memcpy(*value, found.data(), found.size());
  return *value != nullptr;
}

void engine_db_close(engine_db *db) { delete db; }

bool engine_db_destroy(const char *path) {
  return leveldb::DestroyDB(path, leveldb::Options()).ok();
}
