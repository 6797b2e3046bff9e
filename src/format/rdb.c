/* rdb.c - see rdb.h. */
#include "format/rdb.h"

#include "base/bytes.h"
#include "format/lzf.h"

#define RDB_MODULE_2 7u
enum { RDB_EOF = 0, RDB_UNSIGNED = 2, RDB_DOUBLE = 4, RDB_STRING = 5 };
enum { RDB_INT8 = 0xc0, RDB_INT16 = 0xc1, RDB_INT32 = 0xc2, RDB_LZF = 0xc3 };
#define RDB_PACKED_FROM 21u /* shorter strings are not worth it */
#define RDB_ID_MASK (~(uint64_t)1023)

/*
 * CRC-64 with Jones' polynomial, reflected, as Redis has it. Four bits at a time, so that the table
 * stays short.
 */
static uint64_t rdb_crc64(const uint8_t *bytes, size_t len) {
  static const uint64_t table[16] = {
      0x0000000000000000u, 0x7d08ff3b88be6f81u, 0xfa11fe77117cdf02u, 0x8719014c99c2b083u,
      0xdf7adabd7a6e2d6fu, 0xa2722586f2d042eeu, 0x256b24ca6b12f26du, 0x5863dbf1e3ac9decu,
      0x95ac9329ac4bc9b5u, 0xe8a46c1224f5a634u, 0x6fbd6d5ebd3716b7u, 0x12b5926535897936u,
      0x4ad64994d625e4dau, 0x37deb6af5e9b8b5bu, 0xb0c7b7e3c7593bd8u, 0xcdcf48d84fe75459u};
  uint64_t crc = 0;
  for (size_t i = 0; i < len; i++) {
    crc ^= bytes[i];
    crc = table[crc & 15] ^ crc >> 4;
    crc = table[crc & 15] ^ crc >> 4;
  }
  return crc;
}

/* ---- reading ---- */

static uint64_t rdb_fail(nay_rdb_reader *r, const char *wrong) {
  if (r->wrong == NULL) r->wrong = wrong;
  return 0;
}

static const uint8_t *rdb_take(nay_rdb_reader *r, uint64_t n) {
  if (r->wrong != NULL || n > r->end - r->at) {
    rdb_fail(r, "the value is cut short");
    return NULL;
  }
  r->at += (size_t)n;
  return r->bytes + r->at - n;
}

static uint64_t rdb_big_endian(const uint8_t *p, unsigned n) {
  uint64_t value = 0;
  for (unsigned i = 0; i < n; i++) value = value << 8 | p[i];
  return value;
}

/* A length whose first byte has been read. */
static uint64_t rdb_length_after(nay_rdb_reader *r, uint8_t first) {
  if (first < 0x40) return first;
  unsigned n = first < 0x80 ? 1 : first == 0x80 ? 4 : first == 0x81 ? 8 : 0;
  if (n == 0) return rdb_fail(r, "a length of an unknown kind");
  const uint8_t *p = rdb_take(r, n);
  if (p == NULL) return 0;
  uint64_t high = first < 0x80 ? first & 63u : 0;
  return high << 8 | rdb_big_endian(p, n);
}

static uint64_t rdb_length(nay_rdb_reader *r) {
  const uint8_t *first = rdb_take(r, 1);
  return first == NULL ? 0 : rdb_length_after(r, *first);
}

static void rdb_expect(nay_rdb_reader *r, uint64_t opcode, const char *wrong) {
  if (rdb_length(r) != opcode) rdb_fail(r, wrong);
}

uint64_t nay__rdb_read_number(nay_rdb_reader *r) {
  rdb_expect(r, RDB_UNSIGNED, "a number was expected");
  return rdb_length(r);
}

uint64_t nay__rdb_read_double(nay_rdb_reader *r) {
  rdb_expect(r, RDB_DOUBLE, "a double was expected");
  const uint8_t *p = rdb_take(r, 8);
  return p == NULL ? 0 : nay__load64le(p);
}

/* The decimal digits of a number, as a string of up to 11 characters. */
static size_t rdb_digits(int64_t value, char digits[12]) {
  char reversed[12];
  size_t n = 0, len = 0;
  uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  do {
    reversed[n++] = (char)('0' + rest % 10);
    rest /= 10;
  } while (rest != 0);
  if (value < 0) digits[len++] = '-';
  while (n != 0) digits[len++] = reversed[--n];
  return len;
}

static nay_rdb_string rdb_read_integer(nay_rdb_reader *r, uint8_t first) {
  nay_rdb_string s = {0};
  unsigned n = first == RDB_INT8 ? 1 : first == RDB_INT16 ? 2 : 4;
  const uint8_t *p = rdb_take(r, n);
  if (p == NULL) return s;
  int64_t value = n == 1   ? (int8_t)p[0]
                  : n == 2 ? (int16_t)nay__load16le(p)
                           : (int32_t)nay__load32le(p);
  s.len = rdb_digits(value, s.digits);
  return s;
}

static nay_rdb_string rdb_read_packed(nay_rdb_reader *r) {
  nay_rdb_string s = {0};
  uint64_t npacked = rdb_length(r), len = rdb_length(r);
  /* before anybody allocates: no LZF of this length unpacks to more */
  if (npacked == 0 || len == 0 || len / NAY_LZF_MAX_RATIO > npacked) {
    rdb_fail(r, "a packed string claims too much");
    return s;
  }
  s.packed = rdb_take(r, npacked);
  if (s.packed == NULL) return s;
  s.npacked = (size_t)npacked;
  s.len = (size_t)len;
  return s;
}

nay_rdb_string nay__rdb_read_string(nay_rdb_reader *r) {
  nay_rdb_string s = {0};
  rdb_expect(r, RDB_STRING, "a string was expected");
  const uint8_t *first = rdb_take(r, 1);
  if (first == NULL) return s;
  if (*first == RDB_LZF) return rdb_read_packed(r);
  if (*first >= RDB_INT8 && *first <= RDB_INT32) return rdb_read_integer(r, *first);
  uint64_t len = rdb_length_after(r, *first);
  s.packed = rdb_take(r, len);
  if (s.packed != NULL) s.len = (size_t)len;
  return s;
}

bool nay__rdb_write_out(const nay_rdb_string *s, uint8_t *dst) {
  if (s->npacked != 0) return nay__lzf_expand(s->packed, s->npacked, dst, s->len);
  const void *bytes = s->packed != NULL ? (const void *)s->packed : s->digits;
  if (dst != NULL && s->len != 0) memcpy(dst, bytes, s->len);
  return true;
}

bool nay__rdb_starts(const uint8_t *bytes, size_t len, uint64_t type_id) {
  return len >= 10 && bytes[0] == RDB_MODULE_2 && bytes[1] == 0x81 &&
         (rdb_big_endian(bytes + 2, 8) & RDB_ID_MASK) == type_id;
}

nay_status nay__rdb_open(const uint8_t *bytes, size_t len, uint64_t type_id, unsigned encver,
                         nay_diag *diag, nay_rdb_reader *reader, uint32_t *rdb_version) {
  if (!nay__rdb_starts(bytes, len, type_id)) {
    return nay__fail(diag, NAY_EFORMAT, "not a value of this type, as DUMP writes it", 0);
  }
  if (len < 10 + NAY_RDB_FOOTER) return nay__fail(diag, NAY_ECORRUPT, "shorter than a value", len);
  if (rdb_crc64(bytes, len - 8) != nay__load64le(bytes + len - 8)) {
    return nay__fail(diag, NAY_ECORRUPT, "the checksum is wrong", len - 8);
  }
  if ((rdb_big_endian(bytes + 2, 8) & ~RDB_ID_MASK) != encver) {
    return nay__fail(diag, NAY_EVERSION, "this version of the type's encoding is not read", 2);
  }
  *rdb_version = nay__load16le(bytes + len - NAY_RDB_FOOTER);
  *reader = (nay_rdb_reader){.bytes = bytes, .at = 10, .end = len - NAY_RDB_FOOTER};
  return NAY_OK;
}

nay_status nay__rdb_close(const nay_rdb_reader *reader, nay_diag *diag) {
  nay_rdb_reader r = *reader;
  rdb_expect(&r, RDB_EOF, "the value does not end where it should");
  if (r.at != r.end) rdb_fail(&r, "bytes follow the value");
  return r.wrong == NULL ? NAY_OK : nay__fail(diag, NAY_ECORRUPT, r.wrong, r.at);
}

/* ---- writing ---- */

static void rdb_put(nay_rdb_writer *w, const void *bytes, size_t len) {
  if (w->dst != NULL && len != 0) memcpy(w->dst + w->len, bytes, len);
  w->len += len;
}

static void rdb_put_big_endian(nay_rdb_writer *w, uint8_t first, uint64_t value, unsigned n) {
  uint8_t bytes[9] = {first};
  for (unsigned i = 0; i < n; i++) bytes[1 + i] = (uint8_t)(value >> (8 * (n - 1 - i)));
  rdb_put(w, bytes, 1 + n);
}

static void rdb_put_length(nay_rdb_writer *w, uint64_t value) {
  if (value < 1u << 6) {
    rdb_put_big_endian(w, (uint8_t)value, 0, 0);
  } else if (value < 1u << 14) {
    rdb_put_big_endian(w, (uint8_t)(0x40 | value >> 8), value, 1);
  } else if (value <= UINT32_MAX) {
    rdb_put_big_endian(w, 0x80, value, 4);
  } else {
    rdb_put_big_endian(w, 0x81, value, 8);
  }
}

void nay__rdb_begin(nay_rdb_writer *w, uint64_t type_id, unsigned encver) {
  rdb_put_length(w, RDB_MODULE_2);
  rdb_put_big_endian(w, 0x81, type_id | encver, 8);
}

void nay__rdb_write_number(nay_rdb_writer *w, uint64_t value) {
  rdb_put_length(w, RDB_UNSIGNED);
  rdb_put_length(w, value);
}

void nay__rdb_write_double(nay_rdb_writer *w, uint64_t bits) {
  uint8_t bytes[8];
  nay__store64le(bytes, bits);
  rdb_put_length(w, RDB_DOUBLE);
  rdb_put(w, bytes, sizeof bytes);
}

/* Strings that are the digits of a 32-bit integer become that integer. */
static bool rdb_put_integer(nay_rdb_writer *w, const uint8_t *bytes, size_t len) {
  char digits[12];
  int64_t value = 0;
  if (len == 0 || len > 11) return false;
  for (size_t i = bytes[0] == '-'; i < len; i++) {
    if (bytes[i] < '0' || bytes[i] > '9') return false;
    value = value * 10 + (bytes[i] - '0');
  }
  if (bytes[0] == '-') value = -value;
  if (value < INT32_MIN || value > INT32_MAX) return false;
  /* not "007" or "-0": those would come back as others */
  if (rdb_digits(value, digits) != len || memcmp(digits, bytes, len) != 0) return false;
  unsigned n = value >= INT8_MIN && value <= INT8_MAX ? 1 : value == (int16_t)value ? 2 : 4;
  uint8_t out[5] = {n == 1 ? RDB_INT8 : n == 2 ? RDB_INT16 : RDB_INT32};
  nay__store32le(out + 1, (uint32_t)value);
  rdb_put(w, out, 1 + n);
  return true;
}

static bool rdb_put_packed(nay_rdb_writer *w, const uint8_t *bytes, size_t len) {
  if (len < RDB_PACKED_FROM) return false;
  size_t npacked = nay__lzf_compress(bytes, len, NULL, len - 4, w->table);
  if (npacked == 0) return false;
  rdb_put_big_endian(w, RDB_LZF, 0, 0);
  rdb_put_length(w, npacked);
  rdb_put_length(w, len);
  if (w->dst != NULL) nay__lzf_compress(bytes, len, w->dst + w->len, len - 4, w->table);
  w->len += npacked;
  return true;
}

void nay__rdb_write_string(nay_rdb_writer *w, const uint8_t *bytes, size_t len) {
  rdb_put_length(w, RDB_STRING);
  if (rdb_put_integer(w, bytes, len) || rdb_put_packed(w, bytes, len)) return;
  rdb_put_length(w, len);
  rdb_put(w, bytes, len);
}

void nay__rdb_end(nay_rdb_writer *w, uint32_t rdb_version) {
  uint8_t bytes[8];
  rdb_put_length(w, RDB_EOF);
  nay__store16le(bytes, (uint16_t)rdb_version);
  rdb_put(w, bytes, 2);
  if (w->dst != NULL) nay__store64le(bytes, rdb_crc64(w->dst, w->len));
  rdb_put(w, bytes, 8);
}
