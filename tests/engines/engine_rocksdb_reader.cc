// engine_rocksdb_reader.cc - see engine_table.h: RocksDB's reader of table files. Nothing here but
// the calls.
#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>

#include <memory>

#include "engine_table.h"

bool engine_rocksdb_walk(const char *path, void (*entry)(void *, engine_slice, engine_slice),
                         void *ctx) {
  rocksdb::Options options;
  rocksdb::SstFileReader reader(options);
  if (!reader.Open(path).ok()) return false;
  rocksdb::ReadOptions how;
  how.verify_checksums = true;
  std::unique_ptr<rocksdb::Iterator> it(reader.NewIterator(how));
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    rocksdb::Slice key = it->key(), value = it->value();
    entry(ctx, {reinterpret_cast<const uint8_t *>(key.data()), key.size()},
          {reinterpret_cast<const uint8_t *>(value.data()), value.size()});
  }
  return it->status().ok();
}
