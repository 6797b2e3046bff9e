/*
 * filter_bits.h - two abstract classes of RocksDB that its installed headers only name.
 *
 * A FilterPolicy is public, but the builder and the reader of filter bits that it returns have been
 * declared in an internal header since 7.0. Both are abstract, so declaring their virtual functions
 * in the same order is enough to call them and to derive from them; no symbol of the library is
 * needed. A wrong order would call the wrong function, so only versions that were compared compile:
 * all releases from 7.0.3 to 11.8. 9.6 inserted AddKeyAndAlt; 10.9 appended two functions.
 *
 * A version of RocksDB's main branch is not a release: main said 9.6 before and after the first of
 * these changes, and 10.9 before and after the second. So a version that was not released when this
 * was written must be asked for: README.md says which commit NAY_ROCKSDB_MAIN stands for.
 */
#ifndef NAY_ROCKSDB_FILTER_BITS_H
#define NAY_ROCKSDB_FILTER_BITS_H

#include <rocksdb/slice.h>
#include <rocksdb/status.h>
#include <rocksdb/version.h>

#include <cstddef>
#include <memory>

#define NAY_ROCKSDB_VERSION (ROCKSDB_MAJOR * 1000 + ROCKSDB_MINOR)
#ifdef NAY_ROCKSDB_MAIN
#define NAY_ROCKSDB_LAST 11009
#else
#define NAY_ROCKSDB_LAST 11008
#endif
#if NAY_ROCKSDB_VERSION < 7000 || (NAY_ROCKSDB_VERSION == 7000 && ROCKSDB_PATCH < 3) || \
    NAY_ROCKSDB_VERSION > NAY_ROCKSDB_LAST
#error \
    "filter_bits.h knows the classes of RocksDB 7.0.3 to 11.8 only: see plugins/rocksdb/README.md"
#endif

/* What follows a function that RocksDB's class has since a version: nothing before it. */
#if NAY_ROCKSDB_VERSION >= 9006
#define NAY_ROCKSDB_SINCE_9_6(specifier) specifier
#else
#define NAY_ROCKSDB_SINCE_9_6(specifier)
#endif
#if NAY_ROCKSDB_VERSION >= 10009
#define NAY_ROCKSDB_SINCE_10_9(specifier) specifier
#else
#define NAY_ROCKSDB_SINCE_10_9(specifier)
#endif

namespace ROCKSDB_NAMESPACE {

class FilterBitsBuilder {
 public:
  virtual ~FilterBitsBuilder() {}
  virtual void AddKey(const Slice &key) = 0;
#if NAY_ROCKSDB_VERSION >= 9006
  virtual void AddKeyAndAlt(const Slice &key, const Slice &alt) = 0;
#endif
  virtual size_t EstimateEntriesAdded() = 0;
  virtual Slice Finish(std::unique_ptr<const char[]> *memory) = 0;
  virtual Slice Finish(std::unique_ptr<const char[]> *memory, Status *status) = 0;
  virtual Status MaybePostVerify(const Slice &filter) = 0;
  virtual size_t ApproximateNumEntries(size_t nbytes) = 0;
#if NAY_ROCKSDB_VERSION >= 10009
  virtual size_t CalculateSpace(size_t nentries) = 0;
  virtual double EstimatedFpRate(size_t nentries, size_t nbytes) = 0;
#endif
};

class FilterBitsReader {
 public:
  virtual ~FilterBitsReader() {}
  virtual bool MayMatch(const Slice &key) = 0;
  virtual void MayMatch(int n, Slice **keys, bool *answers) = 0;
};

}  // namespace ROCKSDB_NAMESPACE

#endif /* NAY_ROCKSDB_FILTER_BITS_H */
