/*
 * grafite_missed.cc - counts the ranges that contain a key and that Grafite's filter answers with no:
 * doc/design/0049. Whoever has the header and its copy of sux builds it; it prints the table there.
 *
 * 20,000 filters of 50 random 64-bit keys at 12 bits a key, 50 ranges each: a range of the stated
 * length that begins at most so far before a key that it contains. Keys and ranges are the same for
 * each length; the filters draw their own hash functions.
 */
#include <cstdint>
#include <cstdio>
#include <vector>

#include <grafite/grafite.hpp>

using Filter = grafite::filter<grafite::ef_sux_vector>;

static uint64_t Mix(uint64_t x) { /* SplitMix64 */
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

int main() {
  const unsigned nkeys = 50, nfilters = 20000, nranges = 50;
  const uint64_t r = nkeys << 10; /* of Grafite: n * 2^(12 - 2) */
  const uint64_t lengths[] = {1, 16, 256, 1024, 4096, r / 2, r, r + r / 2};
  for (uint64_t length : lengths) {
    uint64_t missed = 0, across = 0, missed_across = 0, state = 1;
    for (unsigned i = 0; i < nfilters; i++) {
      std::vector<uint64_t> keys(nkeys);
      for (uint64_t &key : keys) key = Mix(state++);
      Filter filter(keys.begin(), keys.end(), 12.0);
      for (unsigned j = 0; j < nranges; j++) {
        uint64_t key = keys[Mix(state++) % nkeys], below = Mix(state++) % length;
        uint64_t lo = key < below ? 0 : key - below, hi = lo + (length - 1);
        if (hi < lo) continue;
        bool crosses = lo / r != hi / r, found = filter.query(lo, hi);
        across += crosses;
        missed += !found;
        missed_across += !found && crosses;
      }
    }
    std::printf("length %6llu: %7llu of %u missed; %7llu cross a multiple of r, %llu of those missed\n",
                (unsigned long long)length, (unsigned long long)missed, nfilters * nranges,
                (unsigned long long)across, (unsigned long long)missed_across);
  }
}
