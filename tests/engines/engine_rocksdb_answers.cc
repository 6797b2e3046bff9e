// engine_rocksdb_answers.cc - every way to read a database, compared with a std::map.
#include <rocksdb/slice_transform.h>

#include <cstdio>
#include <cstdlib>

#include "engine_rocksdb_model.h"
#include "engine_rocksdb_versions.h"

namespace matrix {
namespace {

using rocksdb::Slice;
using rocksdb::Status;

std::string Printable(const std::string &bytes) { return Slice(bytes).ToString(bytes.size() > 14); }

struct Reader {
  const Database &d;
  const Map &map;
  rocksdb::ReadOptions read;
  std::string timestamp, moment;
  Slice timestamp_slice;
  Answers *answers;

  Reader(const Database &database, const Map &model, const rocksdb::Snapshot *snapshot,
         uint64_t time, const std::string &name, Answers *to)
      : d(database), map(model), timestamp(Timestamp(time)), moment(name), answers(to) {
    read.snapshot = snapshot;
    timestamp_slice = timestamp;
    if (d.timestamps) read.timestamp = &timestamp_slice;
  }
  Reader(const Reader &) = delete;

  void Compare(const char *how, const std::string &key, const std::string &got,
               const std::string &want) {
    answers->asked++;
    if (got == want) return;
    answers->wrong.insert(moment + " " + how + " " + Printable(key) + ": " + got.substr(0, 30) +
                          ", not " + want.substr(0, 30));
  }

  std::string Want(const std::string &key) const {
    auto found = map.find(key);
    return found != map.end() ? "=" + found->second : "absent";
  }

  static std::string Got(const Status &status, const std::string &value) {
    if (status.ok()) return "=" + value;
    return status.IsNotFound() ? "absent" : status.ToString();
  }

  void Get(const std::string &key) {
    std::string value;
    Status status = d.db->Get(read, key, &value);
    Compare("Get", key, Got(status, value), Want(key));
  }

  void MultiGet(const std::vector<std::string> &keys) {
    constexpr size_t kBatch = 50;
    for (size_t from = 0; from < keys.size(); from += kBatch) {
      size_t n = std::min(kBatch, keys.size() - from);
      std::vector<Slice> slices(keys.begin() + from, keys.begin() + from + n);
      std::vector<rocksdb::PinnableSlice> values(n);
      std::vector<Status> statuses(n);
      d.db->MultiGet(read, d.db->DefaultColumnFamily(), n, slices.data(), values.data(),
                     statuses.data());
      for (size_t i = 0; i < n; i++) {
        Compare("MultiGet", keys[from + i], Got(statuses[i], values[i].ToString()),
                Want(keys[from + i]));
      }
    }
  }

  std::string At(rocksdb::Iterator *it) const {
    if (!it->status().ok()) return it->status().ToString();
    return it->Valid() ? it->key().ToString() + "=" + it->value().ToString() : "end";
  }

  /* Where a Seek, or a SeekForPrev, must stop; with a prefix: the same one, or nowhere. */
  std::string WantAt(const std::string &key, bool forward,
                     const rocksdb::SliceTransform *prefix) const {
    auto at = forward ? map.lower_bound(key) : map.upper_bound(key);
    if (forward ? at == map.end() : at == map.begin()) return "end";
    if (!forward) --at;
    if (prefix != nullptr &&
        (!prefix->InDomain(at->first) || prefix->Transform(at->first) != prefix->Transform(key))) {
      return "end";
    }
    return at->first + "=" + at->second;
  }

  /*
   * Not in RocksDB before 9.6 with partitions of prefixes alone, whatever the policy: a key in
   * front of the first key of a partition is looked for in that partition, to which the builder
   * adds the last prefix of the one before, but FullFilterBlockBuilder::AddPrefix keeps a last
   * prefix with whole_key_filtering only.
   */
  bool PrefixSeekForPrevWorks() const {
    return ROCKS_VERSION >= 9006 || d.is(MATRIX_LAYOUT) == 0 || d.is(MATRIX_WHOLE_KEYS) == 0;
  }

  void Seeks(const std::vector<std::string> &keys, bool prefixes) {
    const rocksdb::SliceTransform *prefix = prefixes ? d.options.prefix_extractor.get() : nullptr;
    if (prefixes && prefix == nullptr) return;
    /* an iterator with prefix_same_as_start asserts that every key it meets has a prefix */
    if (prefixes && d.is(MATRIX_PREFIX) == 1 && d.shorter) return;
    read.prefix_same_as_start = prefixes;
    read.total_order_seek = !prefixes;
    std::unique_ptr<rocksdb::Iterator> it(d.db->NewIterator(read));
    for (const std::string &key : keys) {
      if (prefix != nullptr && !prefix->InDomain(key)) continue;
      it->Seek(key);
      Compare(prefixes ? "prefix Seek" : "Seek", key, At(it.get()), WantAt(key, true, prefix));
      if (prefixes && !PrefixSeekForPrevWorks()) continue;
      it->SeekForPrev(key);
      Compare(prefixes ? "prefix SeekForPrev" : "SeekForPrev", key, At(it.get()),
              WantAt(key, false, prefix));
    }
  }

  void Scan() {
    read.prefix_same_as_start = false;
    read.total_order_seek = true;
    std::unique_ptr<rocksdb::Iterator> it(d.db->NewIterator(read));
    size_t n = 0;
    for (it->SeekToFirst(); it->Valid(); it->Next()) n++;
    Compare("scan", "", std::to_string(n), std::to_string(map.size()));
  }

  /* One key in `stride`: another one in the next turn. */
  std::vector<std::string> Some(const std::vector<std::string> &keys, unsigned stride,
                                unsigned turn) const {
    std::vector<std::string> some;
    for (size_t i = turn % stride; i < keys.size(); i += stride) some.push_back(keys[i]);
    return some;
  }

  void All(const std::vector<std::string> &keys) {
    const matrix_questions &q = d.questions;
    unsigned ways = q.stride == 1 ? 1 : 2;
    for (const std::string &key : Some(keys, ways, q.turn)) Get(key);
    MultiGet(Some(keys, ways, q.turn + 1));
    Seeks(Some(keys, q.stride, q.turn), true);
    Seeks(Some(keys, 16, q.turn), false);
    Scan();
  }
};

}  // namespace

void Ask(const Database &d, bool history, Answers *answers) {
  Reader(d, d.map, nullptr, d.now, "latest", answers).All(d.universe);
  std::vector<std::string> some; /* of the past every fourth key is asked */
  for (size_t i = 0; i < d.universe.size(); i += 4) some.push_back(d.universe[i]);
  for (size_t i = 0; history && i < d.moments.size(); i++) {
    const Moment &m = d.moments[i];
    std::string name = "moment " + std::to_string(i);
    if (m.hot.first.empty()) {
      Reader(d, m.map, m.snapshot, m.timestamp, name, answers).All(some);
    } else { /* the value of one key */
      Map one(d.map.key_comp());
      one.insert(m.hot);
      Reader reader(d, one, m.snapshot, m.timestamp, name, answers);
      reader.Get(m.hot.first);
      reader.MultiGet({m.hot.first});
    }
  }
}

}  // namespace matrix
