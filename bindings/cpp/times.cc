// ns of a call of C and of nay.hpp, for ../cost.py: 1,000 keys, a blocked filter in the cache, the least of ten interleaved runs.
#include <chrono>
#include <cstdio>
#include <nay.hpp>

template <typename Round>
static void time_of(double *least, Round round) {
  auto begun = std::chrono::steady_clock::now();
  long sum = 0;
  for (int i = 0; i < 5000; i++) sum += round();
  double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begun).count() / 5e6;
  if (sum < 0 || ns < *least) *least = ns; // sum: so that no call is left out
}

int main() {
  std::vector<std::string> all;
  std::vector<const void *> ptrs;
  std::vector<size_t> lens;
  for (int i = 0; i < 1000; i++) all.push_back("key" + std::to_string(i));
  for (const std::string &k : all) ptrs.push_back(k.data()), lens.push_back(k.size());
  nay::filter f = nay::filter::try_build(all, nay::params{nay::kind::blocked, 1000, 0.01}).value();
  nay_filter *c = f.c();
  double least[7] = {1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9};
  uint64_t bitmap[16];
  for (int run = 0; run < 10; run++) {
    time_of(&least[0], [&] {
      long sum = 0;
      for (const std::string &k : all) sum += nay_filter_may_contain(c, k.data(), k.size());
      return sum;
    });
    time_of(&least[1], [&] {
      long sum = 0;
      for (const std::string &k : all) sum += f.may_contain(k);
      return sum;
    });
    time_of(&least[2], [&] {
      long sum = 0;
      for (const std::string &k : all) {
        bool is_new = false;
        sum += nay_filter_add(c, k.data(), k.size(), &is_new) == NAY_OK && is_new;
      }
      return sum;
    });
    time_of(&least[3], [&] {
      long sum = 0;
      for (const std::string &k : all) sum += f.try_add(k).value();
      return sum;
    });
    time_of(&least[6], [&] { // each call waits for the answer before: what a call costs that nothing overlaps
      bool answer = true;
      for (const std::string &k : all) answer = nay_filter_may_contain(c, k.data() + !answer, k.size());
      return long(answer);
    });
    time_of(&least[4], [&] {
      return long(nay_filter_may_contain_many(c, ptrs.data(), lens.data(), 1000, bitmap) == NAY_OK && bitmap[0] != 0);
    });
    time_of(&least[5], [&] { return long(f.try_may_contain_all(all).value().size()); });
  }
  std::printf("may_contain: C %.2f ns, C++ %.2f ns\nadd: C %.2f ns, C++ %.2f ns\nbatch: C %.2f ns, C++ %.2f ns\nalone: C %.2f ns\n",
              least[0], least[1], least[2], least[3], least[4], least[5], least[6]);
}
