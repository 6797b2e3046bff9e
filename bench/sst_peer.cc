// sst_peer.cc - see sst_peer.h. Files are LevelDB's own: its Env maps them for reading.
#include "sst_peer.h"

#include <leveldb/cache.h>
#include <leveldb/env.h>
#include <leveldb/filter_policy.h>
#include <leveldb/iterator.h>
#include <leveldb/options.h>
#include <leveldb/table.h>
#include <leveldb/table_builder.h>

#include <memory>

struct sst_peer {
  std::unique_ptr<leveldb::Cache> cache;
  std::unique_ptr<leveldb::RandomAccessFile> file;
  std::unique_ptr<leveldb::Table> table;
  std::unique_ptr<leveldb::Iterator> iter;
  leveldb::ReadOptions read;
};

bool sst_peer_write(const char *path, const sst_records *r, bool snappy, int filter_bits) {
  leveldb::Options options;
  std::unique_ptr<const leveldb::FilterPolicy> policy;
  if (filter_bits != 0) policy.reset(leveldb::NewBloomFilterPolicy(filter_bits));
  options.filter_policy = policy.get();
  options.compression = snappy ? leveldb::kSnappyCompression : leveldb::kNoCompression;
  leveldb::WritableFile *opened = nullptr;
  if (!leveldb::Env::Default()->NewWritableFile(path, &opened).ok()) return false;
  std::unique_ptr<leveldb::WritableFile> file(opened);
  leveldb::TableBuilder builder(options, file.get());
  for (size_t i = 0; i < r->n; i++) {
    builder.Add(leveldb::Slice(r->keys + i * r->key_len, r->key_len),
                leveldb::Slice(r->values + i % 1000, r->value_len));
  }
  return builder.Finish().ok() && file->Sync().ok() && file->Close().ok();
}

sst_peer *sst_peer_open(const char *path, bool verify) {
  std::unique_ptr<sst_peer> p(new sst_peer);
  leveldb::Options options;
  uint64_t size = 0;
  p->cache.reset(leveldb::NewLRUCache(0));
  options.block_cache = p->cache.get();
  p->read.verify_checksums = verify;
  p->read.fill_cache = false;
  leveldb::RandomAccessFile *file = nullptr;
  leveldb::Table *table = nullptr;
  if (!leveldb::Env::Default()->GetFileSize(path, &size).ok() ||
      !leveldb::Env::Default()->NewRandomAccessFile(path, &file).ok()) {
    return nullptr;
  }
  p->file.reset(file);
  if (!leveldb::Table::Open(options, file, size, &table).ok()) return nullptr;
  p->table.reset(table);
  p->iter.reset(table->NewIterator(p->read));
  return p.release();
}

void sst_peer_close(sst_peer *p) {
  p->iter.reset();
  p->table.reset();
  delete p;
}

size_t sst_peer_get(sst_peer *p, const char *keys, size_t n, size_t key_len) {
  size_t found = 0;
  for (size_t i = 0; i < n; i++) {
    leveldb::Slice key(keys + i * key_len, key_len);
    p->iter->Seek(key);
    found += p->iter->Valid() && p->iter->key() == key;
  }
  return found;
}

uint64_t sst_peer_scan(sst_peer *p) {
  uint64_t bytes = 0;
  for (p->iter->SeekToFirst(); p->iter->Valid(); p->iter->Next()) {
    bytes += p->iter->key().size() + p->iter->value().size();
  }
  return bytes;
}
