// The cases of tests/conformance: fields, keys, files, and TAP. The runner is conformance.cc.
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <nay.hpp>

using Case = std::map<std::string, std::string>;
using Bytes = std::vector<uint8_t>;
static std::string directory;

static std::string get(const Case &c, const char *name) { return c.count(name) ? c.at(name) : ""; }
static uint64_t number(const Case &c, const char *name) { return std::strtoull(get(c, name).c_str(), nullptr, 10); }
static Bytes unhex(const std::string &hex) {
  Bytes made;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) made.push_back(uint8_t(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return made;
}
template <typename T>
static std::string format(const char *how, T value) {
  char text[64];
  return std::string(text, size_t(std::snprintf(text, sizeof text, how, value)));
}
static std::string hex(nay::bytes b) {
  std::string made;
  for (size_t i = 0; i < b.size(); i++) made += format("%02x", static_cast<const uint8_t *>(b.data())[i]);
  return made;
}
static std::string bits(double x) {
  uint64_t u;
  std::memcpy(&u, &x, sizeof u);
  return format("%016" PRIx64, u);
}
static Bytes read(const std::string &name) {
  std::ifstream in(directory + "/files/" + name, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(in), {});
}
static double double_of(const Case &c, const char *name) { /* its bits */
  uint64_t u = std::stoull(get(c, name), nullptr, 16);
  double x;
  std::memcpy(&x, &u, sizeof x);
  return x;
}
static double real(const Case &c, const char *name, double otherwise = 0) {
  return c.count(name) ? std::strtod(get(c, name).c_str(), nullptr) : otherwise;
}
static uint32_t number32(const Case &c, const char *name) { return uint32_t(number(c, name)); }
static nay::secret secret(const std::string &text) {
  nay::secret made{};
  for (size_t i = 0; i < 16; i++) made[i] = unhex(text)[i];
  return made;
}
static std::string text(const Bytes &b) { return std::string(b.begin(), b.end()); }
static std::vector<std::string> keys(const Case &c, const char *name = "keys") {
  std::string spec = get(c, name);
  if (spec.empty()) return {};
  size_t a = spec.find(':'), b = spec.rfind(':');
  std::vector<std::string> made;
  uint64_t first = std::stoull(spec.substr(a + 1));
  for (uint64_t i = 0; i < std::stoull(spec.substr(b + 1)); i++) made.push_back(spec.substr(0, a) + std::to_string(first + i));
  return made;
}
/* A file, damaged as the case says. */
static Bytes file(const Case &c, const char *name) {
  Bytes b = read(get(c, name));
  if (c.count("flip")) b[number(c, "flip") / 8] ^= uint8_t(1u << number(c, "flip") % 8);
  if (c.count("cut")) b.resize(number(c, "cut"));
  if (c.count("append")) b.push_back(0);
  return b;
}
static std::string bitmap(size_t n, const std::function<bool(size_t)> &maybe) {
  Bytes map((n + 7) / 8);
  for (size_t i = 0; i < n; i++) map[i / 8] |= uint8_t(maybe(i) << i % 8);
  return hex(map);
}
static Case parse(const std::string &line) { /* its strings stand between quotes */
  Case c;
  std::vector<std::string> parts;
  for (size_t at = 0, end; (end = line.find('"', at)) != std::string::npos; at = end + 1) {
    parts.push_back(line.substr(at, end - at));
  }
  for (size_t i = 1; i + 2 < parts.size(); i += 4) c[parts[i]] = parts[i + 2];
  return c;
}

/* Prints TAP; the exit status. */
static int run(const char *kit, std::string (*answer)(const Case &)) {
  directory = kit;
  std::ifstream in(directory + "/vectors.jsonl");
  int n = 0, failed = 0;
  for (std::string line; std::getline(in, line);) {
    const Case c = parse(line);
    std::string got, want = get(c, "want");
    try {
      got = answer(c);
    } catch (const nay::error &e) {
      got = nay_status_name(e.status()) + 4;
    }
    bool same = got == (want[0] == '@' ? text(read(want.substr(1))) : want);
    failed += !same;
    std::printf("%sok %d - %s\n", same ? "" : "not ", ++n, get(c, "name").c_str());
    if (!same) std::printf("# got %.200s, not %.200s\n", got.c_str(), want.c_str());
  }
  std::printf("1..%d\n", n);
  return failed || n == 0;
}
