/*
 * engine_rocksdb_versions.h - what differs between versions of RocksDB, for the tests of the
 * plug-in.
 */
#ifndef NAY_TEST_ENGINE_ROCKSDB_VERSIONS_H
#define NAY_TEST_ENGINE_ROCKSDB_VERSIONS_H

#include <rocksdb/db.h>
#include <rocksdb/version.h>

#include <memory>
#include <string>

#define ROCKS_VERSION (ROCKSDB_MAJOR * 1000 + ROCKSDB_MINOR)

/* The versions of the table format that it writes. */
#define ROCKS_FIRST_FORMAT (ROCKS_VERSION >= 11000 ? 2u : 0u)
#define ROCKS_LAST_FORMAT (ROCKS_VERSION >= 10004 ? 7u : ROCKS_VERSION >= 8006 ? 6u : 5u)

/* Whether partitions of a filter can be cut apart from those of the index. */
#define ROCKS_DECOUPLES (ROCKS_VERSION >= 9006)

/* Opens a database. Since 11.0 RocksDB returns the owner alone, before it a pointer alone. */
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

#endif /* NAY_TEST_ENGINE_ROCKSDB_VERSIONS_H */
