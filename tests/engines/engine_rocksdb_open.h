/*
 * engine_rocksdb_open.h - opens a database: into a pointer before RocksDB 11, which returns the
 * owner.
 */
#ifndef NAY_TEST_ENGINE_ROCKSDB_OPEN_H
#define NAY_TEST_ENGINE_ROCKSDB_OPEN_H

#include <rocksdb/db.h>
#include <rocksdb/version.h>

#include <memory>
#include <string>

inline rocksdb::Status OpenRocks(const rocksdb::Options &options, const std::string &path,
                                 std::unique_ptr<rocksdb::DB> *db, bool read_only = false) {
#if ROCKSDB_MAJOR >= 11
  return read_only ? rocksdb::DB::OpenForReadOnly(options, path, db)
                   : rocksdb::DB::Open(options, path, db);
#else
  rocksdb::DB *opened = nullptr;
  rocksdb::Status status = read_only ? rocksdb::DB::OpenForReadOnly(options, path, &opened)
                                     : rocksdb::DB::Open(options, path, &opened);
  db->reset(opened);
  return status;
#endif
}

#endif /* NAY_TEST_ENGINE_ROCKSDB_OPEN_H */
