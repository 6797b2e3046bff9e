/*
 * nay.hpp - libnay in C++17: header only, on the stable headers of libnay.
 *
 *   nay::filter seen(nay::params{nay::kind::blocked, 1000000, 0.01});
 *   seen.add("foo");
 *   if (!seen.may_contain("bar")) puts("nay");
 *
 * Objects own what they hold and move; copy() copies. Every call that can fail exists twice, as in
 * <filesystem>: try_add() returns a result<T>, which holds a value or a failure and never throws;
 * add() throws nay::error, and does not exist under -fno-exceptions. Nothing here uses RTTI.
 *
 * A key is bytes: a string_view, a span of bytes, or whatever converts to one. An integer is no key
 * until int_key(7) makes the eight bytes of it that every other language makes (doc/keys.md).
 *
 * Const calls are safe from many threads, as in nay.h. Memory comes from malloc; what these classes
 * allocate themselves (bitmaps, encoded bytes) from the allocator of std::vector.
 */
#ifndef NAY_HPP
#define NAY_HPP

#include <nay.h>
#include <nay_advanced.h>
#include <nay_format.h>
#include <nay_key.h>
#include <nay_map.h>
#include <nay_range.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>
#if __cplusplus >= 202002L
#include <span>
#endif
#if defined(__cpp_exceptions)
#include <stdexcept>
#define NAY_HPP_EXCEPTIONS 1
#endif

#if defined(__GNUC__)
#define NAY_HPP_COLD __attribute__((cold, noinline))
#else
#define NAY_HPP_COLD
#endif

namespace nay {

/* ---- errors ---------------------------------------------------------------------------------- */

/* What failed, in static text, and where: never allocates. */
struct failure {
  nay_status status = NAY_OK;
  const char *what = "";
  uint64_t offset = 0; /* of the input: the byte to blame; 0 when none is */
  int os_error = 0;    /* errno, when status is NAY_EIO */

  const char *status_text() const noexcept { return nay_status_text(status); }
};

#ifdef NAY_HPP_EXCEPTIONS
class error : public std::runtime_error {
 public:
  explicit error(const failure &why)
      : std::runtime_error(std::string(nay_status_text(why.status)) +
                           (*why.what != 0 ? std::string(": ") + why.what : std::string())),
        why_(why) {}
  nay_status status() const noexcept { return why_.status; }
  const failure &why() const noexcept { return why_; }

 private:
  failure why_;
};
#endif

namespace detail {
[[noreturn]] NAY_HPP_COLD inline void raise(const failure &why) {
#ifdef NAY_HPP_EXCEPTIONS
  throw error(why);
#else
  (void)why;
  std::abort();
#endif
}
}  // namespace detail

/*
 * result: a value, or a failure. value() of a failure throws nay::error; without exceptions it ends
 * the program: look first.
 */
template <typename T>
class [[nodiscard]] result {
 public:
  result(T value) noexcept(std::is_nothrow_move_constructible_v<T>)
      : ok_(true), value_(std::move(value)) {}
  result(const failure &why) noexcept : ok_(false), why_(why) {}
  result(result &&other) noexcept(std::is_nothrow_move_constructible_v<T>) : ok_(other.ok_) {
    if (ok_) {
      ::new (static_cast<void *>(&value_)) T(std::move(other.value_));
    } else {
      ::new (static_cast<void *>(&why_)) failure(other.why_);
    }
  }
  result &operator=(result &&) = delete;
  ~result() {
    if (ok_) value_.~T();
  }

  bool ok() const noexcept { return ok_; }
  explicit operator bool() const noexcept { return ok_; }
  nay_status status() const noexcept { return ok_ ? NAY_OK : why_.status; }
  failure why() const noexcept { return ok_ ? failure() : why_; }

  T &value() & {
    if (!ok_) detail::raise(why_);
    return value_;
  }
  const T &value() const & {
    if (!ok_) detail::raise(why_);
    return value_;
  }
  T &&value() && { return std::move(value()); }
  T &operator*() & { return value(); }
  T &&operator*() && { return std::move(value()); }
  T *operator->() { return &value(); }
  T value_or(T other) && { return ok_ ? std::move(value_) : std::move(other); }

 private:
  bool ok_;
  union { /* nothing of a failure is written when there is none */
    T value_;
    failure why_;
  };
};

template <>
class [[nodiscard]] result<void> {
 public:
  result() = default;
  result(const failure &why) : why_(why) {}
  bool ok() const noexcept { return why_.status == NAY_OK; }
  explicit operator bool() const noexcept { return ok(); }
  nay_status status() const noexcept { return why_.status; }
  const failure &why() const noexcept { return why_; }
  void value() const {
    if (!ok()) detail::raise(why_);
  }

 private:
  failure why_;
};

namespace detail {
inline failure why(nay_status status, const nay_diag &diag) {
  return {status, diag.what != nullptr ? diag.what : "", diag.offset, diag.os_error};
}
NAY_HPP_COLD inline failure why(nay_status status) { return {status, "", 0, 0}; }
inline result<void> done(nay_status status) {
  return status == NAY_OK ? result<void>() : result<void>(why(status));
}
inline result<void> done(nay_status status, const nay_diag &diag) {
  return status == NAY_OK ? result<void>() : result<void>(why(status, diag));
}
}  // namespace detail

namespace detail {
/* Text of C; empty for NULL, as of a filter that was moved from. */
inline std::string_view view_of(const char *text) {
  return text != nullptr ? std::string_view(text) : std::string_view();
}
/* False: C would take what is before the zero byte. */
inline bool is_c_string(const std::string &text) { return text.find('\0') == std::string::npos; }
inline failure zero_byte(const std::string &text) {
  return {NAY_EINVAL, "a zero byte", text.find('\0'), 0};
}
}  // namespace detail

/* ---- keys ------------------------------------------------------------------------------------ */

/* key: bytes that somebody else owns. A C string ends at its 0, a string_view where it ends. */
class key {
 public:
  constexpr key(std::string_view text) noexcept : data_(text.data()), size_(text.size()) {}
  key(const std::string &text) noexcept : data_(text.data()), size_(text.size()) {}
  constexpr key(const char *text) noexcept : key(std::string_view(text)) {}
  constexpr key(const void *data, size_t size) noexcept : data_(data), size_(size) {}
  template <size_t N>
  constexpr key(const std::array<uint8_t, N> &bytes) noexcept : data_(bytes.data()), size_(N) {}
  key(const std::vector<uint8_t> &bytes) noexcept : data_(bytes.data()), size_(bytes.size()) {}
#if __cplusplus >= 202002L
  template <typename T, size_t N>
  requires(sizeof(T) == 1) constexpr key(std::span<T, N> bytes) noexcept
      : data_(bytes.data()), size_(bytes.size()) {}
#endif
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  key(T) = delete; /* int_key(7), or std::to_string(7): they are different keys */

  constexpr const void *data() const noexcept { return data_; }
  constexpr size_t size() const noexcept { return size_; }

 private:
  const void *data_;
  size_t size_;
};

/* bytes: what a call reads. A key is bytes, too; the name says what is meant. */
using bytes = key;

/* int_key, float_key: the key of a value, the same in every language. Any integer, a date as days,
 * a timestamp as microseconds since 1970. */
template <typename T, typename = std::enable_if_t<std::is_integral_v<T>>>
std::array<uint8_t, 8> int_key(T value) noexcept {
  std::array<uint8_t, 8> made;
  nay_key_int(static_cast<int64_t>(value), made.data());
  return made;
}
inline std::array<uint8_t, 8> float_key(double value) noexcept {
  std::array<uint8_t, 8> made;
  nay_key_float(value, made.data());
  return made;
}

/* ordered_int_key, ordered_float_key: keys of range filters, whose bytes have the order of the
 * values; integers from -2^63 to 2^63 - 1. number_key: of an unsigned integer, no type of
 * doc/keys.md. */
inline std::array<uint8_t, 8> number_key(uint64_t value) noexcept {
  std::array<uint8_t, 8> made;
  nay_range_key(value, made.data());
  return made;
}
template <typename T, typename = std::enable_if_t<std::is_integral_v<T>>>
std::array<uint8_t, 8> ordered_int_key(T value) noexcept {
  static_assert(std::is_signed_v<T> || sizeof(T) < 8, "above 2^63 - 1 there is no such key");
  return number_key(nay_range_i64(value));
}
inline std::array<uint8_t, 8> ordered_float_key(double value) noexcept {
  return number_key(nay_range_double(value));
}

/* key_type: what a text stands for. */
enum class key_type {
  text = NAY_KEY_TEXT,
  integer = NAY_KEY_INT,
  floating = NAY_KEY_FLOAT,
  boolean = NAY_KEY_BOOL,
  date = NAY_KEY_DATE,
  timestamp = NAY_KEY_TIMESTAMP,
  uuid = NAY_KEY_UUID,
  numeric = NAY_KEY_NUMERIC,
  hex = NAY_KEY_HEX,
  b64 = NAY_KEY_B64,
  ordered_int = NAY_KEY_ORDERED_INT,
  ordered_float = NAY_KEY_ORDERED_FLOAT,
  ordered_date = NAY_KEY_ORDERED_DATE,
  ordered_timestamp = NAY_KEY_ORDERED_TIMESTAMP
};

/* try_parse_key: the key of a text of this type, "2024-02-29" or "-7". */
inline result<std::vector<uint8_t>> try_parse_key(key_type type, std::string_view text) {
  nay_diag diag = {};
  size_t n = 0;
  auto t = static_cast<nay_key_type>(type);
  nay_status status = nay_key_parse(t, text.data(), text.size(), &diag, nullptr, 0, &n);
  std::vector<uint8_t> made(n);
  uint8_t none;
  if (status == NAY_OK) {
    status = nay_key_parse(t, text.data(), text.size(), &diag, n != 0 ? made.data() : &none, n, &n);
  }
  if (status != NAY_OK) return detail::why(status, diag);
  return made;
}

/* ---- parameters ------------------------------------------------------------------------------ */

enum class kind {
  automatic = NAY_AUTO,
  bloom = NAY_BLOOM,
  blocked = NAY_BLOCKED,
  counting = NAY_COUNTING,
  scalable = NAY_SCALABLE,
  window = NAY_WINDOW,
  cuckoo = NAY_CUCKOO,
  xor_ = NAY_XOR,
  fuse = NAY_FUSE,
  ribbon = NAY_RIBBON,
  range = NAY_RANGE,
  map = NAY_MAP,
  list = NAY_LIST, /* nay_list.h builds it */
  automatic_static = NAY_AUTO_STATIC
};

/* range_keys: how the keys of a range filter end in a number. */
enum class range_keys { be8 = NAY_RANGE_BE8, be4 = NAY_RANGE_BE4, decimal = NAY_RANGE_DECIMAL };

using secret = std::array<uint8_t, 16>;

/* params: nay_params, with a kind, a number of keys and an FPR first. An aggregate: C++20 names its
 * fields, `nay::params{.kind = nay::kind::fuse, .fpr = 0.01}`. */
struct params {
  nay::kind kind = nay::kind::automatic;
  uint64_t nkeys = 0;
  double fpr = 0;
  double bits_per_key = 0;
  uint64_t nbytes = 0;
  uint64_t nbits = 0;
  uint32_t k = 0;
  uint32_t flags = 0;
  uint64_t fold = 0;
  uint64_t seed = 0;
  std::optional<nay::secret> secret = std::nullopt; /* SipHash-1-3 instead of XXH3 */
  bool caller_hashes = false;                       /* NAY_HASH_CALLER */
  uint32_t tag_bits = 0;
  uint32_t generations = 0;
  uint64_t window = 0;
  uint64_t max_nkeys = 0;
  uint64_t max_nbytes = 0;
  uint32_t threads = 0;
  uint32_t value_bits = 0;
  uint32_t check_bits = 0;
  uint64_t range_length = 0;
  nay::range_keys range_keys = nay::range_keys::be8;
  uint8_t range_delimiter = 0;

  nay_params c() const noexcept {
    nay_params p = {};
    p.size = sizeof p;
    p.kind = static_cast<nay_kind>(kind);
    p.nkeys = nkeys, p.fpr = fpr, p.bits_per_key = bits_per_key, p.nbytes = nbytes;
    p.nbits = nbits, p.k = k, p.flags = flags, p.fold = fold, p.seed = seed;
    if (caller_hashes) p.hash = NAY_HASH_CALLER;
    if (secret) {
      p.hash = NAY_HASH_SIPHASH;
      for (size_t i = 0; i < secret->size(); i++) p.key[i] = (*secret)[i];
    }
    p.tag_bits = tag_bits, p.generations = generations, p.window = window;
    p.max_nkeys = max_nkeys, p.max_nbytes = max_nbytes, p.threads = threads;
    p.value_bits = value_bits, p.check_bits = check_bits;
    p.range_length = range_length, p.range_delimiter = range_delimiter;
    p.range_keys = static_cast<uint32_t>(range_keys);
    return p;
  }
};

using plan = nay_plan;
using stats = nay_stats;
using overlap = nay_overlap;
using hash = nay_hash;

/* try_plan: what a filter will be, before there is one. */
inline result<nay::plan> try_plan(const params &what) {
  nay_params p = what.c();
  nay_diag diag = {};
  nay::plan made = {};
  made.size = sizeof made;
  nay_status status = nay_params_plan(&p, &diag, &made);
  if (status != NAY_OK) return detail::why(status, diag);
  return made;
}

/* ---- bitmaps --------------------------------------------------------------------------------- */

/* bitmap: the answers of a batch. */
class bitmap {
 public:
  explicit bitmap(size_t n = 0) : words_(NAY_BITMAP_WORDS(n)), n_(n) {}
  bool operator[](size_t i) const noexcept { return nay_bitmap_get(words_.data(), i); }
  size_t size() const noexcept { return n_; }
  size_t count() const noexcept { return nay_bitmap_count(words_.data(), n_); }
  /* the first set bit at or after i, size() when there is none */
  size_t next(size_t i) const noexcept { return nay_bitmap_next(words_.data(), n_, i); }
  uint64_t *words() noexcept { return words_.data(); }
  const uint64_t *words() const noexcept { return words_.data(); }
  void resize(size_t n) {
    words_.resize(NAY_BITMAP_WORDS(n));
    n_ = n;
  }

 private:
  std::vector<uint64_t> words_;
  size_t n_;
};

namespace detail {
/* Whether the bytes of a key made of a `const T &` are those of the T, and not of a temporary: a
 * std::filesystem::path is none of them, as it converts to a new string. */
template <typename T>
struct lends : std::is_convertible<const T &, std::string_view> {};
template <>
struct lends<key> : std::true_type {};
template <>
struct lends<std::vector<uint8_t>> : std::true_type {};
template <size_t N>
struct lends<std::array<uint8_t, N>> : std::true_type {};
#if __cplusplus >= 202002L
template <typename T, size_t N>
struct lends<std::span<T, N>> : std::bool_constant<sizeof(T) == 1> {};
#endif

template <typename T>
key lent(const T &item) noexcept {
  if constexpr (std::is_convertible_v<const T &, std::string_view>) {
    return key(static_cast<std::string_view>(item));
  } else {
    return key(item);
  }
}

/* Whether an iterator can be left behind: what an input iterator read is gone with the next. */
template <typename Iterator>
constexpr bool stays() noexcept {
#if __cplusplus >= 202002L
  return std::forward_iterator<Iterator>;
#else
  return std::is_base_of_v<std::forward_iterator_tag,
                           typename std::iterator_traits<Iterator>::iterator_category>;
#endif
}

/*
 * Gives the keys of a range to call(keys, lens, n, at), up to 1,024 at a time: a multiple of 64, so
 * that the words of a bitmap never straddle two calls. Stops at a failure.
 */
template <typename Range, typename Call>
nay_status in_blocks(Range &&range, Call call) {
  constexpr size_t block = 1024;
  using reference = decltype(*std::begin(range));
  using item_type = std::remove_cv_t<std::remove_reference_t<reference>>;
  static_assert(lends<item_type>::value,
                "the range has no keys, or items that make their bytes on the fly");
  static_assert(std::is_lvalue_reference_v<reference> ||
                    std::is_same_v<item_type, std::string_view> || std::is_same_v<item_type, key>,
                "the range makes its keys on the fly, and they are gone before the batch is");
  static_assert(stays<decltype(std::begin(range))>(),
                "an input range reads each key into the place of the one before");
  const void *keys[block];
  size_t lens[block];
  size_t n = 0, at = 0;
  for (auto &&item : range) {
    key one = lent(item);
    keys[n] = one.data();
    lens[n++] = one.size();
    if (n < block) continue;
    nay_status status = call(keys, lens, n, at);
    if (status != NAY_OK) return status;
    at += n;
    n = 0;
  }
  return n == 0 ? NAY_OK : call(keys, lens, n, at);
}
}  // namespace detail

/* ---- hashers --------------------------------------------------------------------------------- */

/* hasher: the hash function of a filter, with its seed or secret key. A value, which outlives it.
 */
class hasher {
 public:
  result<nay::hash> try_hash(key k) const {
    nay::hash made = {};
    nay_status status = nay_hasher_hash(&hasher_, k.data(), k.size(), &made);
    if (status != NAY_OK) return detail::why(status);
    return made;
  }
#ifdef NAY_HPP_EXCEPTIONS
  nay::hash operator()(key k) const { return try_hash(k).value(); }
#endif
  friend bool operator==(const hasher &a, const hasher &b) noexcept {
    return nay_hasher_same(&a.hasher_, &b.hasher_);
  }
  friend bool operator!=(const hasher &a, const hasher &b) noexcept { return !(a == b); }

 private:
  friend class reader;
  nay_hasher hasher_ = {sizeof(nay_hasher), {}};
};

/* ---- filters --------------------------------------------------------------------------------- */

class filter;

/* reader: what can be asked of a filter or a view. It owns nothing and dangles when that is gone:
 * take it as a parameter, `void f(const nay::reader &)`. */
class reader {
 public:
  /* false is certain */
  bool may_contain(key k) const noexcept {
    return nay_filter_may_contain(filter_, k.data(), k.size());
  }
  bool may_contain(nay::hash h) const noexcept { return nay_filter_may_contain_hash(filter_, h); }
  void prefetch(nay::hash h) const noexcept { nay_filter_prefetch(filter_, h); }

  /* may_contain_all: the answers for a range of keys; their cache misses overlap. Damage that a
   * lazily mapped filter meets is a failure: the answers would be maybe. */
  template <typename Range>
  result<bitmap> try_may_contain_all(Range &&keys) const {
    bitmap answers;
    nay_status status = detail::in_blocks(
        keys, [&](const void *const *ptrs, const size_t *lens, size_t many, size_t at) {
          answers.resize(at + many);
          return nay_filter_may_contain_many(filter_, ptrs, lens, many, answers.words() + at / 64);
        });
    if (status != NAY_OK) return detail::why(status);
    return answers;
  }
  result<bitmap> try_may_contain_hashes(const uint64_t *lo, size_t n) const {
    bitmap answers(n);
    nay_status status = nay_filter_may_contain_hash_many(filter_, lo, nullptr, n, answers.words());
    if (status != NAY_OK) return detail::why(status);
    return answers;
  }

  /* may_contain_range: of a range filter: whether a key may lie in [lo, hi], both ends included. In
   * doubt true. NAY_EINVAL: lo is above hi. */
  result<bool> try_may_contain_range(key lo, key hi) const {
    bool maybe = true;
    nay_status status =
        nay_filter_may_contain_range(filter_, lo.data(), lo.size(), hi.data(), hi.size(), &maybe);
    if (status != NAY_OK) return detail::why(status);
    return maybe;
  }
  /* may_contain_ranges: [lo[i], hi[i]] for keys that are number_key's. */
  result<bitmap> try_may_contain_ranges(const uint64_t *lo, const uint64_t *hi, size_t n) const {
    bitmap answers(n);
    nay_status status = nay_filter_may_contain_range_u64_many(filter_, lo, hi, n, answers.words());
    if (status != NAY_OK) return detail::why(status);
    return answers;
  }

  /* count: at most how often the key was added. */
  result<uint64_t> try_count(key k) const {
    uint64_t n = 0;
    nay_status status = nay_filter_count(filter_, k.data(), k.size(), &n);
    if (status != NAY_OK) return detail::why(status);
    return n;
  }

  /* get: of a map: the value of a key; nothing: the key is certainly not in it. */
  result<std::optional<uint64_t>> try_get(key k) const {
    uint64_t value = 0;
    nay_status status = nay_filter_get(filter_, k.data(), k.size(), &value);
    if (status == NAY_ENOENT) return std::optional<uint64_t>();
    if (status != NAY_OK) return detail::why(status);
    return std::optional<uint64_t>(value);
  }

  result<nay::stats> try_stats() const {
    nay::stats made = {};
    made.size = sizeof made;
    nay_status status = nay_filter_stats(filter_, &made);
    if (status != NAY_OK) return detail::why(status);
    return made;
  }
  result<nay::overlap> try_overlap(const reader &other) const {
    nay::overlap made = {};
    nay_diag diag = {};
    made.size = sizeof made;
    nay_status status = nay_filter_overlap(filter_, other.filter_, &diag, &made);
    if (status != NAY_OK) return detail::why(status, diag);
    return made;
  }
  result<nay::hasher> try_hasher() const {
    nay::hasher made;
    nay_status status = nay_filter_hasher(filter_, &made.hasher_);
    if (status != NAY_OK) return detail::why(status);
    return made;
  }
  result<filter> try_copy() const;

  /* The native file; of a filter in another system's layout, that layout. */
  result<std::vector<uint8_t>> try_encode() const {
    const nay_format *format = nay_filter_format(filter_);
    size_t n = nay_format_encoded_size(format, filter_);
    std::vector<uint8_t> made(n);
    uint8_t none;
    nay_status status = nay_format_encode(format, filter_, n != 0 ? made.data() : &none, n, &n);
    if (status != NAY_OK) return detail::why(status);
    made.resize(n);
    return made;
  }
  /* save: replaces the file atomically. */
  result<void> try_save(const std::string &path) const {
    if (!detail::is_c_string(path)) return detail::zero_byte(path);
    nay_diag diag = {};
    return detail::done(nay_filter_save(filter_, path.c_str(), &diag), diag);
  }

  nay::kind kind() const noexcept { return static_cast<nay::kind>(nay_filter_kind(filter_)); }
  /* health: a failure once a lazily mapped filter has met damage. */
  result<void> health() const { return detail::done(nay_filter_health(filter_)); }
  size_t nbytes() const noexcept { return nay_filter_nbytes(filter_); }
  std::string_view key_description() const noexcept {
    return detail::view_of(nay_filter_key(filter_));
  }
  std::string_view format() const noexcept {
    const nay_format *format = nay_filter_format(filter_);
    return detail::view_of(format != nullptr ? nay_format_name(format) : nullptr);
  }
  std::string_view meta() const noexcept {
    size_t n = 0;
    auto *at = static_cast<const char *>(nay_filter_meta(filter_, &n));
    return at != nullptr ? std::string_view(at, n) : std::string_view();
  }

  /* as_key: the key of a text as the filter's file describes it: "007" is 7 where keys are "int".
   */
  result<std::vector<uint8_t>> try_as_key(std::string_view text) const {
    nay_key_description how = {};
    nay_diag diag = {};
    size_t n = 0;
    how.size = sizeof how;
    nay_status status = nay_key_description_parse(nay_filter_key(filter_), &diag, &how);
    if (status == NAY_OK) {
      status = nay_key_convert(&how, text.data(), text.size(), &diag, nullptr, 0, &n);
    }
    std::vector<uint8_t> made(n);
    uint8_t none;
    if (status == NAY_OK) {
      status = nay_key_convert(&how, text.data(), text.size(), &diag, n != 0 ? made.data() : &none,
                               n, &n);
    }
    if (status != NAY_OK) return detail::why(status, diag);
    return made;
  }

#ifdef NAY_HPP_EXCEPTIONS
  template <typename Range>
  bitmap may_contain_all(Range &&keys) const {
    return try_may_contain_all(std::forward<Range>(keys)).value();
  }
  bool may_contain_range(key lo, key hi) const { return try_may_contain_range(lo, hi).value(); }
  bitmap may_contain_ranges(const uint64_t *lo, const uint64_t *hi, size_t n) const {
    return try_may_contain_ranges(lo, hi, n).value();
  }
  uint64_t count(key k) const { return try_count(k).value(); }
  std::optional<uint64_t> get(key k) const { return try_get(k).value(); }
  nay::stats stats() const { return try_stats().value(); }
  nay::overlap overlap(const reader &other) const { return try_overlap(other).value(); }
  nay::hasher hasher() const { return try_hasher().value(); }
  filter copy() const;
  std::vector<uint8_t> encode() const { return try_encode().value(); }
  void save(const std::string &path) const { try_save(path).value(); }
  std::vector<uint8_t> as_key(std::string_view text) const { return try_as_key(text).value(); }
#endif

  /* For calls of C that are not here. */
  const nay_filter *c() const noexcept { return filter_; }

 protected:
  explicit reader(const nay_filter *filter) noexcept : filter_(filter) {}
  const nay_filter *filter_;
};

/* filter: one that this object owns. A moved-from filter is empty: it says maybe to every key, and
 * its other calls are NAY_EINVAL. */
class filter : public reader {
 public:
  filter(filter &&other) noexcept : reader(std::exchange(other.filter_, nullptr)) {}
  filter &operator=(filter &&other) noexcept {
    std::swap(filter_, other.filter_);
    return *this;
  }
  filter(const filter &) = delete;
  filter &operator=(const filter &) = delete;
  ~filter() { nay_filter_free(c()); }

  /* Takes over a filter that C made. */
  static filter adopt(nay_filter *made) noexcept { return filter(made); }
  nay_filter *release() noexcept {
    return const_cast<nay_filter *>(std::exchange(filter_, nullptr));
  }

  /* An empty filter that takes adds. */
  static result<filter> try_make(const params &what) {
    nay_params p = what.c();
    return made([&](nay_diag *d, nay_filter **f) { return nay_filter_new(&p, nullptr, d, f); });
  }
  /* In another system's layout: "leveldb", "lab". NAY_EINVAL: there is no such layout. */
  static result<filter> try_make_as(const std::string &layout, const params &what) {
    if (!detail::is_c_string(layout)) return detail::zero_byte(layout);
    nay_params p = what.c();
    const nay_format *format = nay_format_find(layout.c_str());
    if (format == nullptr) return unknown_layout();
    return made(
        [&](nay_diag *d, nay_filter **f) { return nay_format_new(format, &p, nullptr, d, f); });
  }
  /* Of a range of keys: every kind, and the only way to make the static ones. */
  template <typename Range>
  static result<filter> try_build(Range &&keys, const params &what);

  /* From the bytes of a file: checked before it answers, whoever wrote them. */
  static result<filter> try_decode(bytes from) {
    return made([&](nay_diag *d, nay_filter **f) {
      return nay_filter_decode(from.data(), from.size(), nullptr, d, f);
    });
  }
  static result<filter> try_decode_as(const std::string &layout, bytes from) {
    if (!detail::is_c_string(layout)) return detail::zero_byte(layout);
    const nay_format *format = nay_format_find(layout.c_str());
    if (format == nullptr) return unknown_layout();
    return made([&](nay_diag *d, nay_filter **f) {
      return nay_format_decode(format, from.data(), from.size(), 0, nullptr, d, f);
    });
  }
  static result<filter> try_open(const std::string &path) {
    if (!detail::is_c_string(path)) return detail::zero_byte(path);
    return made(
        [&](nay_diag *d, nay_filter **f) { return nay_filter_open(path.c_str(), nullptr, d, f); });
  }
  /* Probes a file in place, read-only; lazily: verified when it is first read. */
  static result<filter> try_mmap(const std::string &path, bool lazily = false) {
    if (!detail::is_c_string(path)) return detail::zero_byte(path);
    return made([&](nay_diag *d, nay_filter **f) {
      return nay_filter_mmap(path.c_str(), lazily ? NAY_MMAP_LAZY : 0, nullptr, d, f);
    });
  }

  /* add: whether the filter would have said nay before. */
  result<bool> try_add(key k) {
    bool is_new = false;
    nay_status status = nay_filter_add(c(), k.data(), k.size(), &is_new);
    if (status != NAY_OK) return detail::why(status);
    return is_new;
  }
  result<bool> try_add(nay::hash h) {
    bool is_new = false;
    nay_status status = nay_filter_add_hash(c(), h, &is_new);
    if (status != NAY_OK) return detail::why(status);
    return is_new;
  }
  /* add_all: a range of keys. `taken`, if there, becomes how many were added: all of them, unless
   * the call fails. */
  template <typename Range>
  result<void> try_add_all(Range &&keys, size_t *taken = nullptr) {
    size_t sum = 0;
    nay_status status = detail::in_blocks(
        keys, [&](const void *const *ptrs, const size_t *lens, size_t many, size_t) {
          size_t done = 0;
          nay_status each = nay_filter_add_many(c(), ptrs, lens, many, nullptr, &done);
          sum += done;
          return each;
        });
    if (taken != nullptr) *taken = sum;
    return detail::done(status);
  }
  /* remove: false: the key tests nay, and nothing changed. Never remove a key that was not added.
   */
  result<bool> try_remove(key k) {
    nay_status status = nay_filter_remove(c(), k.data(), k.size());
    if (status == NAY_ENOENT) return false;
    if (status != NAY_OK) return detail::why(status);
    return true;
  }

  result<void> try_merge(const reader &other, double max_fpr = 1) {
    nay_diag diag = {};
    return detail::done(nay_filter_merge(c(), other.c(), max_fpr, &diag), diag);
  }
  result<void> try_intersect(const reader &other) {
    nay_diag diag = {};
    return detail::done(nay_filter_intersect(c(), other.c(), &diag), diag);
  }
  result<void> try_fold(uint64_t factor) {
    nay_diag diag = {};
    return detail::done(nay_filter_fold(c(), factor, &diag), diag);
  }
  result<void> try_shrink(uint64_t nbytes) {
    nay_diag diag = {};
    return detail::done(nay_filter_shrink(c(), nbytes, &diag), diag);
  }
  result<void> try_clear() { return detail::done(nay_filter_clear(c())); }
  result<void> try_advance(uint64_t now) { return detail::done(nay_filter_advance(c(), now)); }
  result<void> try_unlock(const secret &s) {
    return detail::done(nay_filter_unlock(c(), s.data()));
  }
  result<void> try_set_meta(bytes meta) {
    return detail::done(nay_filter_set_meta(c(), meta.data(), meta.size()));
  }
  result<void> try_describe_keys(const std::string &description) {
    if (!detail::is_c_string(description)) return detail::zero_byte(description);
    return detail::done(nay_filter_set_key(c(), description.c_str()));
  }

#ifdef NAY_HPP_EXCEPTIONS
  explicit filter(const params &what) : filter(try_make(what).value()) {}
  static filter make_as(const std::string &layout, const params &what) {
    return try_make_as(layout, what).value();
  }
  template <typename Range>
  static filter build(Range &&keys, const params &what) {
    return try_build(std::forward<Range>(keys), what).value();
  }
  static filter decode(bytes from) { return try_decode(from).value(); }
  static filter decode_as(const std::string &layout, bytes from) {
    return try_decode_as(layout, from).value();
  }
  static filter open(const std::string &path) { return try_open(path).value(); }
  static filter mmap(const std::string &path, bool lazily = false) {
    return try_mmap(path, lazily).value();
  }
  bool add(key k) { return try_add(k).value(); }
  bool add(nay::hash h) { return try_add(h).value(); }
  template <typename Range>
  void add_all(Range &&keys) {
    try_add_all(std::forward<Range>(keys)).value();
  }
  bool remove(key k) { return try_remove(k).value(); }
  void merge(const reader &other, double max_fpr = 1) { try_merge(other, max_fpr).value(); }
  void intersect(const reader &other) { try_intersect(other).value(); }
  void fold(uint64_t factor) { try_fold(factor).value(); }
  void shrink(uint64_t nbytes) { try_shrink(nbytes).value(); }
  void clear() { try_clear().value(); }
  void advance(uint64_t now) { try_advance(now).value(); }
  void unlock(const secret &s) { try_unlock(s).value(); }
  void set_meta(bytes meta) { try_set_meta(meta).value(); }
  void describe_keys(const std::string &description) { try_describe_keys(description).value(); }
#endif

  using reader::c;
  nay_filter *c() noexcept { return const_cast<nay_filter *>(filter_); }

 private:
  friend class builder;
  friend class reader;
  explicit filter(nay_filter *made) noexcept : reader(made) {}

  template <typename Make>
  static result<filter> made(Make make) {
    nay_diag diag = {};
    nay_filter *f = nullptr;
    nay_status status = make(&diag, &f);
    if (status != NAY_OK) return detail::why(status, diag);
    return filter(f);
  }
  static failure unknown_layout() { return {NAY_EINVAL, "no layout has this name", 0, 0}; }
};

inline result<filter> reader::try_copy() const {
  return filter::made(
      [&](nay_diag *d, nay_filter **f) { return nay_filter_copy(filter_, nullptr, d, f); });
}
#ifdef NAY_HPP_EXCEPTIONS
inline filter reader::copy() const { return try_copy().value(); }
#endif

/* ---- builders -------------------------------------------------------------------------------- */

/* builder: for static kinds, maps, and keys whose number is not known before. */
class builder {
 public:
  builder(builder &&other) noexcept : builder_(std::exchange(other.builder_, nullptr)) {}
  builder &operator=(builder &&other) noexcept {
    std::swap(builder_, other.builder_);
    return *this;
  }
  builder(const builder &) = delete;
  builder &operator=(const builder &) = delete;
  ~builder() { nay_builder_free(builder_); }

  static result<builder> try_make(const params &what) {
    nay_params p = what.c();
    nay_diag diag = {};
    nay_builder *b = nullptr;
    nay_status status = nay_builder_new(&p, nullptr, &diag, &b);
    if (status != NAY_OK) return detail::why(status, diag);
    return builder(b);
  }
  result<void> try_add(key k) {
    return detail::done(nay_builder_add(builder_, k.data(), k.size()));
  }
  result<void> try_add(nay::hash h) { return detail::done(nay_builder_add_hash(builder_, h)); }
  /* A key of a map, and its value. */
  result<void> try_add(key k, uint64_t value) {
    return detail::done(nay_builder_add_value(builder_, k.data(), k.size(), value));
  }
  /* The filter; the builder is then empty. When it fails, the builder keeps its keys. */
  result<filter> try_finish() {
    return filter::made(
        [&](nay_diag *d, nay_filter **f) { return nay_builder_finish(builder_, d, f); });
  }
  /* How many keys were added, duplicates included. */
  uint64_t nkeys() const noexcept { return nay_builder_nkeys(builder_); }

#ifdef NAY_HPP_EXCEPTIONS
  explicit builder(const params &what) : builder(try_make(what).value()) {}
  void add(key k) { try_add(k).value(); }
  void add(nay::hash h) { try_add(h).value(); }
  void add(key k, uint64_t value) { try_add(k, value).value(); }
  filter finish() { return try_finish().value(); }
#endif

 private:
  explicit builder(nay_builder *made) noexcept : builder_(made) {}
  nay_builder *builder_;
};

template <typename Range>
result<filter> filter::try_build(Range &&keys, const params &what) {
  result<builder> b = builder::try_make(what);
  if (!b) return b.why();
  for (auto &&k : keys) {
    result<void> added = b->try_add(key(k));
    if (!added) return added.why();
  }
  return b->try_finish();
}

/* ---- views ----------------------------------------------------------------------------------- */

/* view: a filter over bytes that stay where they are; nothing is allocated. It cannot be moved. */
class view : public reader {
  template <typename T> /* an lvalue is a T & */
  using if_owned =
      std::enable_if_t<std::is_same_v<T, std::string> || std::is_same_v<T, std::vector<uint8_t>>>;

 public:
  view() noexcept : reader(nullptr) { view_.size = sizeof view_; }
  view(const view &) = delete;
  view &operator=(const view &) = delete;

  /* with: the secret key of a filter whose file does not contain it. A failure leaves no filter. */
  result<void> try_open(bytes from, const secret *with = nullptr) {
    nay_diag diag = {};
    filter_ = nullptr;
    nay_status status = nay_view_open(from.data(), from.size(),
                                      with != nullptr ? with->data() : nullptr, &diag, &view_);
    if (status == NAY_OK) filter_ = nay_view_filter(&view_);
    return detail::done(status, diag);
  }
  /* Of a temporary, whose bytes are gone when the call returns. */
  template <typename T, typename = if_owned<T>>
  void try_open(T &&, const secret * = nullptr) = delete;
#ifdef NAY_HPP_EXCEPTIONS
  explicit view(bytes from, const secret *with = nullptr) : view() { try_open(from, with).value(); }
  template <typename T, typename = if_owned<T>>
  explicit view(T &&, const secret * = nullptr) = delete;
#endif

 private:
  nay_view view_ = {};
};

#ifdef NAY_HPP_EXCEPTIONS
inline nay::plan make_plan(const params &what) { return try_plan(what).value(); }
inline std::vector<uint8_t> parse_key(key_type type, std::string_view text) {
  return try_parse_key(type, text).value();
}
#endif

}  // namespace nay

#endif /* NAY_HPP */
