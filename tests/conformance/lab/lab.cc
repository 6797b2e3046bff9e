// The lab in C++: foo and bar in its layout, false positives, a union. Prints what the program of each other language prints.
#include <cstdio>
#include <nay.hpp>

static nay::filter lab(uint64_t nkeys) {
  nay::params p;
  p.nkeys = nkeys, p.bits_per_key = 10;
  return nay::filter::make_as("lab", p);
}

static std::vector<std::string> keys(const char *prefix, int first, int n) {
  std::vector<std::string> made;
  for (int i = first; i < first + n; i++) made.push_back(prefix + std::to_string(i));
  return made;
}

int main() {
  nay::filter two = lab(2), a = lab(600), b = lab(600);
  two.add("foo");
  two.add("bar");
  for (uint8_t byte : two.encode()) std::printf("%02x", byte);
  a.add_all(keys("key", 0, 400));
  b.add_all(keys("key", 200, 400));
  a.merge(b);
  std::printf("\nunion: %zu of 600 members, %zu of 4000 others\n", a.may_contain_all(keys("key", 0, 600)).count(),
              a.may_contain_all(keys("absent", 0, 4000)).count());
  try {
    a.remove("key1");
  } catch (const nay::error &e) {
    std::printf("remove: %s\n", nay_status_text(e.status()));
  }
}
