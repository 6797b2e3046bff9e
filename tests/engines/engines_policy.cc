// engines_policy.cc - see engines_policy.h. Written as a user of the plug-in would.
#include "engines_policy.h"

#include <leveldb/db.h>
#include <leveldb/filter_policy.h>

#include <cstdio>
#include <string>
#include <vector>

bool engine_policy_exists(nay_leveldb_mode mode, int bits_per_key) {
  return nay::NewLevelDBPolicy(mode, bits_per_key) != nullptr;
}

bool engine_policy_makes(nay_leveldb_mode mode, int bits_per_key, const void *const *keys,
                         const size_t *lens, size_t n, const uint8_t *filter, size_t len) {
  auto policy = nay::NewLevelDBPolicy(mode, bits_per_key);
  std::vector<leveldb::Slice> slices;
  for (size_t i = 0; i < n; i++) slices.emplace_back(static_cast<const char *>(keys[i]), lens[i]);
  std::string dst = "before";
  policy->CreateFilter(slices.data(), static_cast<int>(n), &dst);
  bool same = dst == "before" + std::string(reinterpret_cast<const char *>(filter), len);
  for (const auto &key : slices) same &= policy->KeyMayMatch(key, dst.substr(6));
  return same;
}

namespace {

std::string KeyAt(size_t i) { return "key " + std::to_string(i * 7919); }

size_t Found(leveldb::DB *db, size_t n) {
  size_t found = 0;
  std::string value;
  for (size_t i = 0; i < n; i++) found += db->Get({}, KeyAt(i), &value).ok() && value == KeyAt(i);
  return found;
}

}  // namespace

size_t engine_policy_database(const char *path, nay_leveldb_mode mode, size_t n) {
  size_t found = 0;
  for (int round = 0; round < 2; round++) {
    auto filter = nay::NewLevelDBPolicy(mode, 10);
    leveldb::Options options;
    options.create_if_missing = true;
    options.filter_policy = filter.get();
    leveldb::DB *db = nullptr;
    if (!leveldb::DB::Open(options, path, &db).ok()) return 0;
    for (size_t i = 0; round == 0 && i < n; i++) db->Put({}, KeyAt(i), KeyAt(i));
    db->CompactRange(nullptr, nullptr);
    found = Found(db, n);
    delete db;
  }
  return found;
}
