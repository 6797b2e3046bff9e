/*
 * filter_bits.h - two abstract classes of RocksDB that its installed headers only name.
 *
 * A FilterPolicy is public, but the builder and the reader of filter bits that it returns have been
 * declared in an internal header since 7.0. Both are abstract, so declaring their virtual functions
 * in the same order is enough to call them and to derive from them; no symbol of the library is
 * needed. The order is the same in every release from 7.0 to 9.5. 9.6 inserted a function and 10.10
 * two more; a wrong order would call the wrong function, so versions that were not compared do not
 * compile.
 */
#ifndef NAY_ROCKSDB_FILTER_BITS_H
#define NAY_ROCKSDB_FILTER_BITS_H

#include <rocksdb/slice.h>
#include <rocksdb/status.h>
#include <rocksdb/version.h>

#include <cstddef>
#include <memory>

#define NAY_ROCKSDB_VERSION (ROCKSDB_MAJOR * 1000 + ROCKSDB_MINOR)
#if NAY_ROCKSDB_VERSION < 7000 || NAY_ROCKSDB_VERSION >= 9006
#error "filter_bits.h knows the classes of RocksDB 7.0 to 9.5 only: see plugins/rocksdb/README.md"
#endif

namespace ROCKSDB_NAMESPACE {

class FilterBitsBuilder {
 public:
  virtual ~FilterBitsBuilder() {}
  virtual void AddKey(const Slice &key) = 0;
  virtual size_t EstimateEntriesAdded() = 0;
  virtual Slice Finish(std::unique_ptr<const char[]> *memory) = 0;
  virtual Slice Finish(std::unique_ptr<const char[]> *memory, Status *status) = 0;
  virtual Status MaybePostVerify(const Slice &filter) = 0;
  virtual size_t ApproximateNumEntries(size_t nbytes) = 0;
};

class FilterBitsReader {
 public:
  virtual ~FilterBitsReader() {}
  virtual bool MayMatch(const Slice &key) = 0;
  virtual void MayMatch(int n, Slice **keys, bool *answers) = 0;
};

}  // namespace ROCKSDB_NAMESPACE

#endif /* NAY_ROCKSDB_FILTER_BITS_H */
