// The runner of tests/conformance for nay.hpp: what each operation answers.
#include "conformance_kit.hpp"

static nay::params params(const Case &c) {
  nay::params p;
  nay_kind kind = NAY_AUTO;
  (void)nay_kind_parse(get(c, "kind").c_str(), &kind);
  p.kind = static_cast<nay::kind>(kind);
  p.nkeys = number(c, "nkeys"), p.nbytes = number(c, "nbytes"), p.nbits = number(c, "nbits");
  p.k = number32(c, "k"), p.fold = number(c, "fold"), p.seed = number(c, "seed");
  p.fpr = real(c, "fpr"), p.bits_per_key = real(c, "bits_per_key");
  p.value_bits = number32(c, "value_bits"), p.check_bits = number32(c, "check_bits");
  p.range_length = number(c, "range_length"), p.range_delimiter = uint8_t(number(c, "range_delimiter"));
  p.range_keys = static_cast<nay::range_keys>(number(c, "range_keys"));
  if (c.count("secret")) p.secret = secret(get(c, "secret"));
  if (c.count("store_key")) p.flags |= NAY_STORE_KEY;
  return p;
}
static nay::filter open(const Case &c, const char *name) {
  nay::filter f = c.count("format") ? nay::filter::decode_as(get(c, "format"), file(c, name)) : nay::filter::decode(file(c, name));
  if (c.count("unlock")) f.unlock(secret(get(c, "unlock")));
  return f;
}
static Bytes typed(const std::string &type, const std::string &value) {
  nay_key_description how = {};
  how.size = sizeof how;
  (void)nay_key_description_parse(type.c_str(), nullptr, &how);
  return nay::parse_key(static_cast<nay::key_type>(how.type), value);
}
static std::string plan(const nay::plan &p) {
  return nay_kind_name(p.kind) + format(" %u", p.k) + format(" %" PRIu64, p.nbits) + format(" %" PRIu64, p.nbytes) +
         format(" %" PRIu64, p.nbytes_file) + " " + bits(p.fpr);
}
static std::string stats(const nay::stats &s) {
  return format("%u", s.k) + format(" %" PRIu64, s.nkeys) + format(" %" PRIu64, s.nbits) + format(" %" PRIu64, s.nbits_set) +
         " " + bits(s.nkeys_estimated) + " " + bits(s.fpr_now);
}
static nay::filter add(const Case &c) {
  nay::filter f = c.count("format") ? nay::filter::make_as(get(c, "format"), params(c)) : nay::filter(params(c));
  if (c.count("key_type")) f.describe_keys(get(c, "key_type"));
  f.add_all(keys(c));
  return f;
}
static nay::filter build(const Case &c) {
  nay::builder b(params(c));
  const std::string type = c.count("key_type") ? get(c, "key_type") : "text";
  uint64_t i = 0, mask = UINT64_MAX >> (64 - number(c, "value_bits")) % 64;
  for (const std::string &k : keys(c)) {
    if (get(c, "kind") == "map") b.add(k, i++ * number(c, "mul") & mask);
    else b.add(typed(type, k));
  }
  nay::filter f = b.finish();
  f.describe_keys(type);
  return f;
}

static std::string change(const Case &c, const std::string &op, nay::filter f) {
  if (op == "merge") f.merge(open(c, "b"), real(c, "max_fpr", 1));
  if (op == "intersect") f.intersect(open(c, "b"));
  if (op == "fold") f.fold(number(c, "factor"));
  for (const std::string &k : op == "remove" ? keys(c) : std::vector<std::string>()) {
    if (!f.remove(k)) return "ENOENT";
  }
  return text(f.encode());
}
static std::string ask(const Case &c, const std::string &op, const nay::filter &f) {
  const Bytes key = unhex(get(c, "key"));
  const std::vector<std::string> all = keys(c), ends = keys(c, "ends");
  if (op == "open") return "OK";
  if (op == "count") return std::to_string(f.count(key));
  if (op == "get") return f.get(key) ? std::to_string(*f.get(key)) : "ENOENT";
  if (op == "ask") return std::string(f.key_description()) + (f.may_contain(f.as_key(text(key))) ? " maybe" : " nay");
  if (op == "stats") return stats(f.stats());
  if (op == "probe") return bitmap(all.size(), [&](size_t i) { return f.may_contain(all[i]); });
  return bitmap(all.size(), [&](size_t i) { return f.may_contain_range(f.as_key(all[i]), f.as_key(ends[i])); });
}
static std::string answer(const Case &c) {
  const std::string op = get(c, "op");
  nay::params one = params(c);
  one.nkeys = 1, one.fpr = 0.5;
  auto status = static_cast<nay_status>(number(c, "number"));
  if (op == "hash") return format("%016" PRIx64, nay::filter(one).hasher()(unhex(get(c, "key"))).lo);
  if (op == "key" && c.count("int")) return hex(nay::int_key(std::stoll(get(c, "int"))));
  if (op == "key" && c.count("float")) return hex(nay::float_key(double_of(c, "float")));
  if (op == "key") return hex(typed(get(c, "type"), text(unhex(get(c, "text")))));
  if (op == "plan") return plan(nay::make_plan(params(c)));
  if (op == "status") return nay_status_name(status) + 4 + std::string(": ") + nay_status_text(status);
  if (op == "add" || op == "build") return text((op == "add" ? add(c) : build(c)).encode());
  const bool changes = op == "merge" || op == "intersect" || op == "fold" || op == "remove";
  return changes ? change(c, op, open(c, "a")) : ask(c, op, open(c, "a"));
}
int main(int, char **argv) { return run(argv[1], answer); }
