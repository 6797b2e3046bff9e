// consumer.cpp - the public headers from C++17: a filter of the words of a vector.
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "nay.h"

struct FilterFree {
  void operator()(nay_filter *filter) const { nay_filter_free(filter); }
};

static bool may_contain(const nay_filter *filter, std::string_view key) {
  return nay_filter_may_contain(filter, key.data(), key.size());
}

int main() {
  nay_params params{};
  params.size = sizeof params;
  params.nkeys = 3;
  params.fpr = 1e-6;
  nay_filter *raw = nullptr;
  if (nay_filter_new(&params, nullptr, nullptr, &raw) != NAY_OK) return 1;
  std::unique_ptr<nay_filter, FilterFree> filter(raw);
  for (const std::string &key : std::vector<std::string>{"ay", "aye", "yes"}) {
    if (nay_filter_add(filter.get(), key.data(), key.size(), nullptr) != NAY_OK) return 1;
  }
  std::puts(may_contain(filter.get(), "aye") && !may_contain(filter.get(), "no") ? "nay" : "wrong");
  return 0;
}
