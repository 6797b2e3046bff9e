// cost c|cpp add|has|none N: N calls of C's functions or of nay.hpp's, for cost.sh to count instructions.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nay.hpp>

static char keys[1024][16];

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  const bool cpp = std::strcmp(argv[1], "cpp") == 0;
  const long n = std::atol(argv[3]);
  long sum = 0;
  for (int i = 0; i < 1024; i++) std::snprintf(keys[i], sizeof keys[i], "key%08d", i);
  nay::filter f = nay::filter::try_make(nay::params{nay::kind::blocked, 100000, 0.01}).value();
  nay_filter *c = f.c();
  if (std::strcmp(argv[2], "add") == 0) {
    if (cpp) {
      for (long i = 0; i < n; i++) sum += f.try_add(nay::key(keys[i % 1024], 11)).value();
    } else {
      for (long i = 0; i < n; i++) {
        bool is_new = false;
        if (nay_filter_add(c, keys[i % 1024], 11, &is_new) != NAY_OK) return 1;
        sum += is_new;
      }
    }
  } else if (std::strcmp(argv[2], "has") == 0) {
    if (cpp) {
      for (long i = 0; i < n; i++) sum += f.may_contain(nay::key(keys[i % 1024], 11));
    } else {
      for (long i = 0; i < n; i++) sum += nay_filter_may_contain(c, keys[i % 1024], 11);
    }
  }
  std::printf("%ld\n", sum);
}
