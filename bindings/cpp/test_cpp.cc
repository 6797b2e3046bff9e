// nay.hpp as a user meets it; built with exceptions as C++20, and without exceptions and RTTI as C++17. Prints TAP.
#include <cerrno>  // its macros have the names of our statuses
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <list>
#include <nay.hpp>
#include <set>

static int n, failed;
static void ok(bool good, const char *what) {
  failed += !good;
  std::printf("%sok %d - %s\n", good ? "" : "not ", ++n, what);
}

static_assert(!std::is_copy_constructible_v<nay::filter> && !std::is_copy_assignable_v<nay::filter>);
static_assert(std::is_nothrow_move_constructible_v<nay::filter> && std::is_nothrow_move_assignable_v<nay::filter>);
static_assert(!std::is_copy_constructible_v<nay::builder> && std::is_nothrow_move_constructible_v<nay::builder>);
static_assert(!std::is_move_constructible_v<nay::view>, "a view has pointers into itself");
static_assert(!std::is_convertible_v<int, nay::key> && !std::is_convertible_v<double, nay::key>);
static_assert(sizeof(nay::filter) == sizeof(void *));
#ifdef NAY_HPP_EXCEPTIONS
static_assert(std::is_constructible_v<nay::view, std::vector<uint8_t> &> && std::is_constructible_v<nay::view, const char *> &&
              !std::is_constructible_v<nay::view, std::vector<uint8_t>> && !std::is_constructible_v<nay::view, std::string>,
              "a view of a temporary has no bytes");
#endif

static_assert(!nay::detail::stays<std::istream_iterator<std::string>>(), "it reads each word into the place of the last");
static_assert(!nay::detail::lends<std::filesystem::path>::value, "a path converts to a new string");
static_assert(nay::detail::lends<std::string>::value && nay::detail::lends<char[8]>::value &&
              nay::detail::lends<const char *>::value && !nay::detail::lends<int>::value);

// converts to a view of what it owns
struct name {
  std::string text;
  operator std::string_view() const { return text; }
};

static nay::params some(nay::kind kind) {
  nay::params p;
  p.kind = kind, p.nkeys = 1000, p.fpr = 0.01;
  return p;
}

static void test_ownership() {
  nay::result<nay::filter> made = nay::filter::try_make(some(nay::kind::blocked));
  nay::filter a = std::move(made).value();
  ok(a.try_add("foo").value() && !a.try_add("foo").value(), "add tells whether the key was new");
  nay::filter b = std::move(a);
  ok(b.may_contain("foo") && !b.may_contain("bar"), "a moved filter answers");
  ok(a.may_contain("bar") && a.try_add("x").status() == NAY_EINVAL && a.try_stats().status() == NAY_EINVAL &&
         !a.try_encode() && !a.try_merge(b) && !a.try_copy() && a.nbytes() == 0 &&
         a.meta().empty() && a.key_description().empty() && a.format().empty() && !a.try_as_key("1") &&
         a.kind() == nay::kind::automatic && !a.health() && !a.try_hasher(),
     "a moved-from filter says maybe, and its other calls fail");
  a = b.try_copy().value();
  a.try_add("bar").value();
  ok(a.may_contain("bar") && !b.may_contain("bar"), "a copy is independent");
  a = std::move(b);
  ok(!a.may_contain("bar"), "an assignment moves");
  nay_filter *raw = a.release();
  ok(raw != nullptr && nay::filter::adopt(raw).may_contain("foo"), "release and adopt");
}

static void test_keys() {
  nay::filter f = nay::filter::try_make(some(nay::kind::bloom)).value();
  const uint8_t three[] = {1, 0, 2};
  f.try_add(nay::int_key(7)).value();
  f.try_add(std::string("with\0zero", 9)).value();
  f.try_add(nay::key(three, 3)).value();
  f.try_add("").value();
  ok(f.may_contain(nay::int_key(int8_t(7))) && f.may_contain(nay::int_key(7ull)), "integers of every width");
  ok(f.may_contain(std::string_view("with\0zero", 9)) && !f.may_contain("with"), "zero bytes are bytes");
  ok(f.may_contain(std::array<uint8_t, 3>{1, 0, 2}) && f.may_contain(std::vector<uint8_t>{1, 0, 2}), "containers");
  ok(f.may_contain(std::string_view()) && f.may_contain(nay::key(nullptr, 0)), "no bytes are a key");
#if __cplusplus >= 202002L
  const std::byte bytes[] = {std::byte{1}, std::byte{0}, std::byte{2}};
  ok(f.may_contain(std::span(three)) && f.may_contain(std::span<const std::byte>(bytes)), "spans");
#endif
  ok(nay::try_parse_key(nay::key_type::date, "1970-01-02").value() ==
         std::vector<uint8_t>({1, 0, 0, 0, 0, 0, 0, 0}), "a date as text");
  nay::result<std::vector<uint8_t>> bad = nay::try_parse_key(nay::key_type::date, "2023-02-29");
  ok(!bad && bad.status() == NAY_EINVAL && bad.why().offset == 8 && *bad.why().what != 0, "a failure says where");
  ok(nay::try_parse_key(nay::key_type::hex, "").value().empty(), "an empty key of a text");
  ok(f.try_describe_keys("int").ok() && f.try_as_key("007").value() == nay::try_parse_key(nay::key_type::integer, "7").value() &&
         !f.try_as_key("seven"), "texts become keys as the file says");
}

static void test_batches() {
  for (size_t size : {0u, 1u, 63u, 64u, 65u, 1023u, 1024u, 1025u, 5000u}) {
    std::vector<std::string> in, out;
    for (size_t i = 0; i < size; i++) in.push_back("in" + std::to_string(i)), out.push_back("out" + std::to_string(i));
    nay::filter one = nay::filter::try_make(some(nay::kind::blocked)).value(), many = one.try_copy().value();
    for (const std::string &k : in) one.try_add(k).value();
    size_t taken = 99;
    many.try_add_all(in, &taken).value();
    bool same = taken == size && one.try_encode().value() == many.try_encode().value();
    nay::bitmap answers = many.try_may_contain_all(in).value();
    same &= answers.size() == size && answers.count() == size;
    answers = many.try_may_contain_all(out).value();
    for (size_t i = 0; i < size; i++) same &= answers[i] == one.may_contain(out[i]);
    ok(same, ("batches of " + std::to_string(size)).c_str());
  }
  const char *const array[] = {"a", "b"};
  nay::filter f = nay::filter::try_make(some(nay::kind::cuckoo)).value();
  ok(f.try_add_all(array).ok() && f.try_add_all(std::set<std::string>{"c"}).ok() &&
         f.try_add_all(std::list<std::string_view>{"d"}).ok(), "any range of keys");
  std::vector<name> names{{"a name that is too long to lie inside of its string"}, {"another name of which that is true"}};
  ok(f.try_add_all(names).ok() && f.may_contain(names[0].text) && f.may_contain(names[1].text) &&
         f.try_may_contain_all(names).value().count() == 2, "what converts to a string_view");
  nay::params few;
  few.kind = nay::kind::cuckoo, few.nkeys = 10, few.fpr = 0.01;
  nay::filter full = nay::filter::try_make(few).value();
  std::vector<std::string> keys;
  for (int i = 0; i < 3000; i++) keys.push_back(std::to_string(i));
  size_t taken = 0;
  nay::result<void> r = full.try_add_all(keys, &taken);
  bool there = taken > 0 && taken < 3000;
  for (size_t i = 0; i < taken; i++) there &= full.may_contain(keys[i]);
  ok(r.status() == NAY_EFULL && there, "a batch that fails says how many keys it took");
}

static void test_kinds() {
  std::vector<std::string> keys;
  for (int i = 0; i < 1000; i++) keys.push_back("key" + std::to_string(i));
  for (nay::kind kind : {nay::kind::bloom, nay::kind::blocked, nay::kind::counting, nay::kind::scalable, nay::kind::window,
                         nay::kind::cuckoo, nay::kind::xor_, nay::kind::fuse, nay::kind::ribbon}) {
    nay::filter f = nay::filter::try_build(keys, some(kind)).value();
    nay::filter again = nay::filter::try_decode(f.try_encode().value()).value();
    bool good = f.kind() == kind && again.kind() == kind && f.format() == "nay";
    for (const std::string &k : keys) good &= again.may_contain(k);
    ok(good, nay_kind_name(static_cast<nay_kind>(kind)));
  }
  ok(nay::filter::try_make(some(nay::kind::fuse)).status() == NAY_ENOTSUP, "a static filter is built, not made");
  nay::filter c = nay::filter::try_build(keys, some(nay::kind::counting)).value();
  ok(c.try_remove("key1").value() && c.try_count("key1").value() == 0 && !c.try_remove("none such").value(),
     "remove and count");
  nay::filter other = nay::filter::try_make(some(nay::kind::bloom)).value();
  ok(c.try_merge(other).status() == NAY_EMISMATCH, "a merge of two kinds");
  nay::params p;
  p.kind = nay::kind::map, p.value_bits = 12, p.check_bits = 20;
  nay::builder b = nay::builder::try_make(p).value();
  b.try_add("ada", 1815).value();
  b.try_add("grace", 1906).value();
  ok(b.try_add("no value").status() == NAY_ENOTSUP && b.nkeys() == 2, "a map wants values");
  nay::filter map = b.try_finish().value();
  ok(*map.try_get("ada").value() == 1815 && !map.try_get("alan").value() && c.try_get("ada").status() == NAY_ENOTSUP,
     "a map");
  nay::filter lab = nay::filter::try_make_as("lab", [] { nay::params l; l.nkeys = 2; l.bits_per_key = 10; return l; }()).value();
  lab.try_add("foo").value(), lab.try_add("bar").value();
  ok(lab.try_encode().value() == std::vector<uint8_t>({7, 0, 0, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0xb2, 0xa6, 0x09}) &&
         !nay::filter::try_make_as("none", p) && lab.format() == "lab", "the lab's layout");
}

static void test_ranges() {
  nay::params p;
  p.kind = nay::kind::range, p.fpr = 0.001, p.range_length = 100;
  nay::builder b = nay::builder::try_make(p).value();
  for (int64_t i = -500; i < 500; i++) b.try_add(nay::ordered_int_key(1000 * i)).value();
  nay::filter f = b.try_finish().value();
  f.try_describe_keys("ordered-int").value();
  bool all = true, wrong = false;
  int maybes = 0;
  std::vector<uint64_t> lo, hi;
  for (int64_t i = -500; i < 500; i++) {
    all &= f.try_may_contain_range(nay::ordered_int_key(1000 * i - 99), nay::ordered_int_key(1000 * i)).value();
    maybes += f.try_may_contain_range(nay::ordered_int_key(1000 * i + 1), nay::ordered_int_key(1000 * i + 100)).value();
    wrong |= f.try_may_contain_range(nay::ordered_int_key(i + 1), nay::ordered_int_key(i)).status() != NAY_EINVAL;
    lo.push_back(nay_range_i64(1000 * i + 1)), hi.push_back(nay_range_i64(1000 * i + 100));
  }
  ok(all && maybes < 20 && !wrong, "ranges of a range filter");
  ok(f.try_may_contain_ranges(lo.data(), hi.data(), 1000).value().count() == size_t(maybes) &&
         f.try_may_contain_ranges(nullptr, nullptr, 0).value().size() == 0 &&
         f.try_may_contain_ranges(hi.data(), lo.data(), 1000).status() == NAY_EINVAL, "batches of ranges");
  ok(f.try_may_contain_range(f.try_as_key("-99").value(), f.try_as_key("0").value()).value() &&
         f.try_as_key("9223372036854775808").status() == NAY_EINVAL, "the ends as texts");
  nay::filter none = nay::filter::try_make(some(nay::kind::bloom)).value();
  p.nkeys = 10;
  ok(none.try_may_contain_range("a", "b").status() == NAY_ENOTSUP &&
         nay::filter::try_make(p).status() == NAY_ENOTSUP, "other filters have no ranges");
  p.range_keys = nay::range_keys::decimal, p.range_delimiter = ':';
  nay::filter users = nay::filter::try_build(std::vector<std::string>{"u:100", "u:900", "v:1"}, p).value();
  ok(users.try_may_contain_range("u:90", "u:100").value() && !users.try_may_contain_range("u:101", "u:200").value() &&
         users.try_may_contain_range("u:1", "v:1").value(), "prefixes and decimal numbers");
}

static void test_files(const std::string &path) {
  std::vector<std::string> keys{"foo", "bar"};
  nay::filter f = nay::filter::try_build(keys, some(nay::kind::blocked)).value();
  ok(f.try_set_meta("about").ok() && f.try_save(path).ok(), "save");
  nay::filter opened = nay::filter::try_open(path).value(), mapped = nay::filter::try_mmap(path, true).value();
  ok(opened.may_contain("foo") && mapped.may_contain("bar") && mapped.meta() == "about" && mapped.health().ok() &&
         mapped.try_add("x").status() == NAY_ENOTSUP, "open and mmap");
  std::vector<uint8_t> bytes = f.try_encode().value();
  {
    nay::view v;
    ok(v.may_contain("anything"), "a view of nothing says maybe");
    ok(v.try_open(bytes).ok() && v.may_contain("foo") && !v.may_contain("baz") && v.try_copy()->try_add("baz").ok(), "a view");
  }
  const std::string zero("\0", 1);
  ok(nay::filter::try_open(path + zero).status() == NAY_EINVAL && nay::filter::try_mmap(path + zero).status() == NAY_EINVAL &&
         f.try_save(path + zero).status() == NAY_EINVAL && f.try_describe_keys("int" + zero).status() == NAY_EINVAL &&
         nay::filter::try_decode_as("nay" + zero, bytes).status() == NAY_EINVAL &&
         nay::filter::try_make_as("lab" + zero, some(nay::kind::bloom)).why().offset == 3, "names with a zero byte");
  bytes[100] ^= 1;
  nay::result<nay::filter> damaged = nay::filter::try_decode(bytes);
  ok(damaged.status() == NAY_ECORRUPT && *damaged.why().what != 0, "damage is a failure");
  bool all = true;
  for (size_t len = 0; len < bytes.size(); len++) all &= !nay::filter::try_decode(nay::bytes(bytes.data(), len));
  ok(all, "no prefix of a file is one");
  ok(nay::filter::try_open(path + ".none").why().os_error == ENOENT, "errno of a file that is not there");
  std::remove(path.c_str());
  nay::params p = some(nay::kind::blocked);
  p.secret = nay::secret{1, 2, 3};
  nay::filter keyed = nay::filter::try_make(p).value();
  keyed.try_add("foo").value();
  nay::filter locked = nay::filter::try_decode(keyed.try_encode().value()).value();
  ok(locked.may_contain("bar") && locked.try_unlock(nay::secret{}).status() == NAY_EKEY, "a locked filter says maybe");
  ok(locked.try_unlock(nay::secret{1, 2, 3}).ok() && locked.may_contain("foo") && !locked.may_contain("bar"), "unlock");
  nay::hasher h = locked.try_hasher().value();
  ok(h == keyed.try_hasher().value() && h != f.try_hasher().value() && locked.may_contain(h.try_hash("foo").value()) &&
         !locked.may_contain(h.try_hash("bar").value()), "hashers");
}

#ifdef NAY_HPP_EXCEPTIONS
template <typename Call>
static nay_status thrown(Call call) {
  try {
    call();
  } catch (const nay::error &e) {
    return std::strlen(e.what()) > 5 && dynamic_cast<const std::runtime_error *>(&e) ? e.status() : NAY_OK;
  }
  return NAY_OK;
}

static void test_exceptions() {
  nay::filter f(some(nay::kind::blocked));
  ok(f.add("a") && !f.add("a") && f.stats().nkeys == 1000 && f.copy().may_contain("a"), "calls that throw return values");
  ok(thrown([&] { f.remove("a"); }) == NAY_ENOTSUP && thrown([&] { f.fold(1000003); }) == NAY_EINVAL &&
         thrown([] { nay::filter::decode("no filter"); }) == NAY_EFORMAT &&
         thrown([] { nay::filter bad(nay::params{}); }) == NAY_EINVAL &&
         thrown([] { nay::view v("no filter"); }) == NAY_EFORMAT &&
         thrown([] { nay::parse_key(nay::key_type::integer, "x"); }) == NAY_EINVAL, "errors");
  ok(f.may_contain("a") && f.may_contain_all(std::vector<std::string>{"a", "b"})[0], "a failed call changes nothing");
#if __cplusplus >= 202002L
  nay::filter g(nay::params{.kind = nay::kind::fuse, .fpr = 0.01, .nbits = 0}.kind == nay::kind::fuse
                    ? nay::filter::build(std::vector<std::string>{"x"}, {.kind = nay::kind::fuse, .fpr = 0.01})
                    : nay::filter(nay::params{}));
  ok(g.may_contain("x"), "named fields");
#endif
}
#endif

int main(int, char **argv) {
  test_ownership();
  test_keys();
  test_batches();
  test_kinds();
  test_ranges();
  test_files(std::string(argv[0]) + ".test.nay");
#ifdef NAY_HPP_EXCEPTIONS
  test_exceptions();
#endif
  std::printf("1..%d\n", n);
  return failed != 0;
}
