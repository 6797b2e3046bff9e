// bench_leveldb.cc - the LevelDB plug-in beside LevelDB's own policy, in one run:
//
//   nay-bench-leveldb [bits_per_key]      default: 10
//
// making and asking filters of 20, 50 and 500 keys, and a real database that is asked for keys
// which are not there. All numbers are the best of several rounds that take turns, so that what
// disturbs the machine disturbs all alike.
#include <leveldb/db.h>
#include <leveldb/filter_policy.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "nay_leveldb.h"

namespace {

constexpr int kRounds = 25;
constexpr int kSides = 3;
const char *const kNames[kSides] = {"LevelDB's own", "compatible", "nay"};

struct Side {
  std::unique_ptr<const leveldb::FilterPolicy> own;
  nay::LevelDBPolicy ours;
  const leveldb::FilterPolicy *policy() const { return own ? own.get() : ours.get(); }
};

std::vector<Side> MakeSides(int bits_per_key) {
  std::vector<Side> sides(kSides);
  sides[0].own.reset(leveldb::NewBloomFilterPolicy(bits_per_key));
  sides[1].ours = nay::NewLevelDBPolicy(NAY_LEVELDB_COMPATIBLE, bits_per_key);
  sides[2].ours = nay::NewLevelDBPolicy(NAY_LEVELDB_NAY, bits_per_key);
  return sides;
}

// Of this thread alone: what else runs on the machine does not count.
double ThreadTime() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

template <typename F>
double Nanoseconds(size_t n, F f) {
  double start = ThreadTime();
  f();
  return (ThreadTime() - start) / static_cast<double>(n);
}

// Keys of 16 bytes in order, side by side, as LevelDB keeps them until their filter is made. Two
// sets of other seeds have no key in common, but for one in 10^12.
struct Keys {
  std::string bytes;
  std::vector<leveldb::Slice> slices;
  Keys(unsigned seed, size_t n) {
    std::mt19937_64 random(seed);
    std::vector<unsigned long long> numbers(n);
    for (auto &number : numbers) number = random() % 1000000000000;
    std::sort(numbers.begin(), numbers.end());
    char key[32];
    for (auto number : numbers) {
      bytes.append(key, static_cast<size_t>(snprintf(key, sizeof key, "user%012llu", number)));
    }
    for (size_t i = 0; i < n; i++) slices.emplace_back(bytes.data() + 16 * i, 16);
  }
};

struct Times {
  double best[kSides] = {1e18, 1e18, 1e18};
  void Add(int side, double ns) { best[side] = std::min(best[side], ns); }
  void Print(const char *what) const {
    printf("%-28s", what);
    for (int i = 0; i < kSides; i++) printf("  %13.1f", best[i]);
    printf("  %9.2f  %9.2f\n", best[0] / best[1], best[0] / best[2]);
  }
};

void BenchFilters(const std::vector<Side> &sides, size_t per_filter) {
  const size_t filters = 20000 / per_filter, n = filters * per_filter;
  Keys present(1, n), absent(2, n);
  Times create, hit, miss;
  size_t maybe = 0;
  for (int round = 0; round < kRounds; round++) {
    for (int s = 0; s < kSides; s++) {
      const leveldb::FilterPolicy *policy = sides[s].policy();
      std::string all;
      std::vector<size_t> ends(1, 0);
      create.Add(s, Nanoseconds(n, [&] {
                   for (size_t f = 0; f < filters; f++) {
                     policy->CreateFilter(&present.slices[f * per_filter],
                                          static_cast<int>(per_filter), &all);
                     ends.push_back(all.size());
                   }
                 }));
      auto ask = [&](const Keys &keys) {
        for (size_t i = 0; i < n; i++) {
          size_t f = i / per_filter;
          leveldb::Slice filter(all.data() + ends[f], ends[f + 1] - ends[f]);
          maybe += policy->KeyMayMatch(keys.slices[i], filter);
        }
      };
      hit.Add(s, Nanoseconds(n, [&] { ask(present); }));
      miss.Add(s, Nanoseconds(n, [&] { ask(absent); }));
    }
  }
  if (maybe < n) exit(1);
  std::string of = " (" + std::to_string(per_filter) + " keys)";
  create.Print(("create, a key" + of).c_str());
  miss.Print(("absent key" + of).c_str());
  hit.Print(("present key" + of).c_str());
}

std::unique_ptr<leveldb::DB> OpenFull(const std::string &path, const Side &side, const Keys &keys,
                                      size_t value_size) {
  leveldb::Options options;
  options.create_if_missing = true;
  options.filter_policy = side.policy();
  leveldb::DB *db = nullptr;
  if (!leveldb::DB::Open(options, path, &db).ok()) exit(1);
  std::mt19937_64 random(7);
  std::string value(value_size, 'v');
  for (const auto &key : keys.slices) {
    for (auto &c : value) c = static_cast<char>(random());
    if (!db->Put({}, key, value).ok()) exit(1);
  }
  db->CompactRange(nullptr, nullptr);
  return std::unique_ptr<leveldb::DB>(db);
}

void BenchGetMissing(const std::vector<Side> &sides, size_t n, size_t value_size) {
  char directory[] = "nay-bench-leveldb-XXXXXX";
  if (mkdtemp(directory) == nullptr) exit(1);
  Keys present(1, n), absent(2, 5000);
  std::shuffle(absent.slices.begin(), absent.slices.end(), std::mt19937_64(3));
  Times times;
  {
    std::vector<std::unique_ptr<leveldb::DB>> dbs; /* written in order: all have the same layout */
    for (int s = 0; s < kSides; s++) {
      dbs.push_back(OpenFull(std::string(directory) + "/" + std::to_string(s), sides[s], present,
                             value_size));
    }
    std::string value;
    for (int round = 0; round < 4 * kRounds; round++) {
      for (int s = 0; s < kSides; s++) {
        times.Add(s, Nanoseconds(absent.slices.size(), [&] {
                    for (const auto &key : absent.slices) {
                      if (!dbs[s]->Get({}, key, &value).IsNotFound()) exit(1);
                    }
                  }));
      }
    }
  }
  std::filesystem::remove_all(directory);
  times.Print(("get missing, " + std::to_string(value_size) + "-byte values").c_str());
}

}  // namespace

int main(int argc, char **argv) {
  int bits_per_key = argc > 1 ? atoi(argv[1]) : 10;
  auto sides = MakeSides(bits_per_key);
  if (argc > 2 || sides[2].policy() == nullptr) {
    fprintf(stderr, "usage: nay-bench-leveldb [bits_per_key]\n");
    return 2;
  }
  printf("LevelDB %d.%d, %d bits per key; nanoseconds, and how many times as fast\n",
         leveldb::kMajorVersion, leveldb::kMinorVersion, bits_per_key);
  printf("%-28s", "");
  for (const char *name : kNames) printf("  %13s", name);
  printf("  %9s  %9s\n", kNames[1], kNames[2]);
  for (size_t n : {20, 50, 500}) BenchFilters(sides, n);
  BenchGetMissing(sides, 200000, 100);
  BenchGetMissing(sides, 500000, 8);
  return 0;
}
