// The runner of tests/conformance for nay.hpp: prints TAP.
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
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
static nay::secret secret(const std::string &text) {
  nay::secret made{};
  for (size_t i = 0; i < 16; i++) made[i] = unhex(text)[i];
  return made;
}
static nay::params params(const Case &c) {
  nay::params p;
  nay_kind kind = NAY_AUTO;
  (void)nay_kind_parse(get(c, "kind").c_str(), &kind);
  p.kind = static_cast<nay::kind>(kind);
  p.nkeys = number(c, "nkeys"), p.nbytes = number(c, "nbytes"), p.nbits = number(c, "nbits");
  p.k = uint32_t(number(c, "k")), p.fold = number(c, "fold"), p.seed = number(c, "seed");
  p.fpr = std::strtod(get(c, "fpr").c_str(), nullptr);
  p.bits_per_key = std::strtod(get(c, "bits_per_key").c_str(), nullptr);
  p.value_bits = uint32_t(number(c, "value_bits")), p.check_bits = uint32_t(number(c, "check_bits"));
  p.range_length = number(c, "range_length"), p.range_delimiter = uint8_t(number(c, "range_delimiter"));
  p.range_keys = static_cast<nay::range_keys>(number(c, "range_keys"));
  if (c.count("secret")) p.secret = secret(get(c, "secret"));
  if (c.count("store_key")) p.flags |= NAY_STORE_KEY;
  return p;
}
static std::string text(const Bytes &b) { return std::string(b.begin(), b.end()); }
static std::vector<std::string> keys(const Case &c, const char *name = "keys") {
  std::string spec = get(c, name);
  size_t a = spec.find(':'), b = spec.rfind(':');
  std::vector<std::string> made;
  uint64_t first = std::stoull(spec.substr(a + 1));
  for (uint64_t i = 0; i < std::stoull(spec.substr(b + 1)); i++) made.push_back(spec.substr(0, a) + std::to_string(first + i));
  return made;
}
static nay::filter open(const Case &c, const char *name = "a") {
  Bytes b = read(get(c, name));
  if (c.count("flip")) b[number(c, "flip") / 8] ^= uint8_t(1u << number(c, "flip") % 8);
  if (c.count("cut")) b.resize(number(c, "cut"));
  if (c.count("append")) b.push_back(0);
  nay::filter f = c.count("format") ? nay::filter::decode_as(get(c, "format"), b) : nay::filter::decode(b);
  if (c.count("unlock")) f.unlock(secret(get(c, "unlock")));
  return f;
}
static Bytes typed(const char *type, const std::string &value) {
  nay_key_description how = {};
  how.size = sizeof how;
  (void)nay_key_description_parse(type, nullptr, &how);
  return nay::parse_key(static_cast<nay::key_type>(how.type), value);
}

static std::string answer(const Case &c) {
  const std::string op = get(c, "op");
  const Bytes key = unhex(get(c, "key"));
  if (op == "hash") {
    nay::params p = params(c);
    p.nkeys = 1, p.fpr = 0.5;
    return format("%016" PRIx64, nay::filter(p).hasher()(key).lo);
  }
  if (op == "key") {
    if (c.count("int")) return hex(nay::int_key(std::stoll(get(c, "int"))));
    if (c.count("float")) {
      uint64_t u = std::stoull(get(c, "float"), nullptr, 16);
      double x;
      std::memcpy(&x, &u, sizeof x);
      return hex(nay::float_key(x));
    }
    return hex(typed(get(c, "type").c_str(), text(unhex(get(c, "text")))));
  }
  if (op == "plan") {
    nay::plan p = nay::make_plan(params(c));
    return nay_kind_name(p.kind) + format(" %u", p.k) + format(" %" PRIu64, p.nbits) + format(" %" PRIu64, p.nbytes) +
           format(" %" PRIu64, p.nbytes_file) + " " + bits(p.fpr);
  }
  if (op == "status") {
    auto status = static_cast<nay_status>(std::stoi(get(c, "number")));
    return nay_status_name(status) + 4 + std::string(": ") + nay_status_text(status);
  }
  if (op == "add") {
    nay::filter f = c.count("format") ? nay::filter::make_as(get(c, "format"), params(c)) : nay::filter(params(c));
    if (c.count("key_type")) f.describe_keys(get(c, "key_type"));
    f.add_all(keys(c));
    return text(f.encode());
  }
  if (op == "build" && get(c, "kind") == "map") {
    nay::builder b(params(c));
    uint64_t i = 0, width = number(c, "value_bits"), mask = width == 64 ? UINT64_MAX : (uint64_t(1) << width) - 1;
    for (const std::string &k : keys(c)) b.add(k, i++ * number(c, "mul") & mask);
    return text(b.finish().encode());
  }
  if (op == "build") {
    std::vector<Bytes> all;
    const std::string type = c.count("key_type") ? get(c, "key_type") : "text";
    for (const std::string &k : keys(c)) all.push_back(typed(type.c_str(), k));
    nay::filter f = nay::filter::build(all, params(c));
    f.describe_keys(type);
    return text(f.encode());
  }
  nay::filter f = open(c);
  if (op == "open") return "OK";
  if (op == "count") return std::to_string(f.count(key));
  if (op == "get") return f.get(key) ? std::to_string(*f.get(key)) : "ENOENT";
  if (op == "ask") return std::string(f.key_description()) + (f.may_contain(f.as_key(text(key))) ? " maybe" : " nay");
  if (op == "stats") {
    nay::stats s = f.stats();
    return format("%u", s.k) + format(" %" PRIu64, s.nkeys) + format(" %" PRIu64, s.nbits) +
           format(" %" PRIu64, s.nbits_set) + " " + bits(s.nkeys_estimated) + " " + bits(s.fpr_now);
  }
  if (op == "probe") {
    Bytes map((keys(c).size() + 7) / 8);
    size_t i = 0;
    for (const std::string &k : keys(c)) map[i / 8] |= uint8_t(f.may_contain(k) << i % 8), i++;
    return hex(map);
  }
  if (op == "ranges") {
    std::vector<std::string> lo = keys(c), hi = keys(c, "ends");
    Bytes map((lo.size() + 7) / 8);
    for (size_t i = 0; i < lo.size(); i++) {
      map[i / 8] |= uint8_t(f.may_contain_range(f.as_key(lo[i]), f.as_key(hi[i])) << i % 8);
    }
    return hex(map);
  }
  if (op == "merge") f.merge(open(c, "b"), c.count("max_fpr") ? std::strtod(get(c, "max_fpr").c_str(), nullptr) : 1);
  if (op == "intersect") f.intersect(open(c, "b"));
  if (op == "fold") f.fold(number(c, "factor"));
  if (op == "remove") {
    for (const std::string &k : keys(c)) {
      if (!f.remove(k)) return "ENOENT";
    }
  }
  return text(f.encode());
}

int main(int, char **argv) {
  directory = argv[1];
  std::ifstream in(directory + "/vectors.jsonl");
  int n = 0, failed = 0;
  for (std::string line; std::getline(in, line);) {
    Case c;
    std::vector<std::string> parts;
    for (size_t at = 0, end; (end = line.find('"', at)) != std::string::npos; at = end + 1) {
      parts.push_back(line.substr(at, end - at));
    }
    for (size_t i = 1; i + 2 < parts.size(); i += 4) c[parts[i]] = parts[i + 2];
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
