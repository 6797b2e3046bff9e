// nay_leveldb_cxx.cc - a nay_policy as a leveldb::FilterPolicy.
//
// Compiled here and not in a header: LevelDB is usually built without RTTI, and a class derived
// from one of its own then needs -fno-rtti, which users should not have to know.
#include <leveldb/filter_policy.h>
#include <leveldb/slice.h>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

#include "nay_leveldb.h"

namespace {

// Memory for one small filter on the stack, malloc for everything else.
class Desk {
 public:
  nay_allocator allocator() { return {Alloc, Free, this, {}}; }

 private:
  static void *Alloc(void *ctx, size_t size) {
    auto *desk = static_cast<Desk *>(ctx);
    if (desk->taken_ || size > sizeof desk->bytes_) return malloc(size);
    desk->taken_ = true;
    return desk->bytes_;
  }
  static void Free(void *ctx, void *p, size_t) {
    auto *desk = static_cast<Desk *>(ctx);
    if (p != desk->bytes_) return free(p);
    desk->taken_ = false;
  }

  bool taken_ = false;
  alignas(std::max_align_t) unsigned char bytes_[2048];
};

class Policy final : public leveldb::FilterPolicy {
 public:
  explicit Policy(const nay_policy &policy) : policy_(policy) {}

  const char *Name() const override { return policy_.name; }

  void CreateFilter(const leveldb::Slice *keys, int n, std::string *dst) const override {
    const size_t few = 512, count = static_cast<size_t>(n);
    const void *few_keys[few];
    size_t few_lens[few];
    if (count <= few) return Create(keys, count, few_keys, few_lens, dst);
    std::vector<const void *> at(count);
    std::vector<size_t> lens(count);
    Create(keys, count, at.data(), lens.data(), dst);
  }

  bool KeyMayMatch(const leveldb::Slice &key, const leveldb::Slice &filter) const override {
    return policy_.may_contain(policy_.ctx, key.data(), key.size(),
                               reinterpret_cast<const uint8_t *>(filter.data()), filter.size());
  }

 private:
  void Create(const leveldb::Slice *keys, size_t n, const void **at, size_t *lens,
              std::string *dst) const {
    for (size_t i = 0; i < n; i++) {
      at[i] = keys[i].data();
      lens[i] = keys[i].size();
    }
    Desk desk;
    const nay_allocator allocator = desk.allocator();
    uint8_t *filter = nullptr;
    size_t len = 0;
    if (policy_.create(policy_.ctx, at, lens, n, &allocator, &filter, &len) != NAY_OK) {
      dst->append(NAY_POLICY_EVERYTHING, NAY_POLICY_EVERYTHING_LEN);
      return;
    }
    dst->append(reinterpret_cast<const char *>(filter), len);
    allocator.free(allocator.ctx, filter, len);
  }

  const nay_policy policy_;
};

}  // namespace

namespace nay {

void LevelDBPolicyDeleter::operator()(const leveldb::FilterPolicy *policy) const { delete policy; }

LevelDBPolicy NewLevelDBPolicy(const nay_policy &policy) {
  return LevelDBPolicy(new Policy(policy));
}

LevelDBPolicy NewLevelDBPolicy(nay_leveldb_mode mode, int bits_per_key) {
  nay_policy policy = {};
  policy.size = sizeof policy;
  nay_status status = nay_leveldb_mode_policy(mode, bits_per_key, &policy);
  return status == NAY_OK ? NewLevelDBPolicy(policy) : LevelDBPolicy();
}

}  // namespace nay
