/*
 * nay_key.h - typed values as keys: one canonical form, so that the same value is the same key in
 * every program and language.
 *
 *   uint8_t key[8];
 *   nay_key_int(-7, key);
 *   nay_filter_add(f, key, sizeof key, NULL);
 *
 *   size_t len;                          // the same key from text, such as a field of a CSV file
 *   if (nay_key_parse(NAY_KEY_INT, "-7", 2, key, sizeof key, &len, &diag) != NAY_OK) return 1;
 *
 * doc/keys.md is the specification; tests/golden/keys/keys.txt has test vectors. Nothing here
 * allocates, reads the locale or computes in floating point.
 */
#ifndef NAY_KEY_H
#define NAY_KEY_H

#include "nay.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * nay_key_type: what a text stands for, and how its value becomes key bytes. All integers are
 * little-endian. The type is not part of the key: values that are compared must have one type.
 */
typedef enum nay_key_type {
  NAY_KEY_TEXT = 0,      /* the bytes as they are: UTF-8, not normalised, not validated */
  NAY_KEY_INT = 1,       /* -2^63 to 2^64 - 1, decimal or 0x: 8 bytes, modulo 2^64 */
  NAY_KEY_FLOAT = 2,     /* the nearest IEEE 754 binary64: 8 bytes; one zero, one NaN */
  NAY_KEY_BOOL = 3,      /* true, false, t, f, 1, 0: the integer 1 or 0 */
  NAY_KEY_DATE = 4,      /* YYYY-MM-DD: days since 1970-01-01, as an integer */
  NAY_KEY_TIMESTAMP = 5, /* ISO 8601: microseconds since 1970-01-01T00:00Z, as an integer */
  NAY_KEY_UUID = 6,      /* 16 bytes in the order in which they are printed */
  NAY_KEY_NUMERIC = 7,   /* exact decimal: its shortest text without an exponent */
  NAY_KEY_HEX = 8,       /* the bytes that the hexadecimal digits encode */
  NAY_KEY_B64 = 9        /* the bytes that the base64 text encodes */
} nay_key_type;

/* nay_key_type_name: "text", "int", ..., "b64"; NULL for a number that no type has. */
NAY_API const char *nay_key_type_name(nay_key_type type);

/* nay_key_type_parse: the inverse. NAY_EINVAL when the name is not known. */
NAY_API nay_status nay_key_type_parse(const char *name, nay_key_type *type);

/* ---- values ---------------------------------------------------------------------------------- */

/*
 * nay_key_int: a signed integer of any width; a bool as 0 or 1; a date as days, a timestamp as
 * microseconds since 1970-01-01 UTC, where INT64_MAX is "infinity" and INT64_MIN "-infinity".
 */
NAY_API void nay_key_int(int64_t value, uint8_t key[8]);

/*
 * nay_key_uint: an unsigned integer of any width. Up to 2^63 - 1 its key is that of nay_key_int;
 * above, that of value - 2^64: such a pair collides, which costs a false positive, never a false
 * nay.
 */
NAY_API void nay_key_uint(uint64_t value, uint8_t key[8]);

/* nay_key_float: a float or double. -0 becomes +0, and every NaN 0x7ff8000000000000. */
NAY_API void nay_key_float(double value, uint8_t key[8]);

/* ---- text ------------------------------------------------------------------------------------ */

/*
 * NAY_KEY_NUMERIC_MAX: bytes of the longest numeric key: a sign, 131,072 digits before the point
 * and 16,383 after it, which are PostgreSQL's limits.
 */
#define NAY_KEY_NUMERIC_MAX (1u + 131072u + 1u + 16383u)

/*
 * nay_key_parse: text[0, len) of a type -> the key in out[0, cap), *key_len bytes of it. White
 * space around the value is an error. len + 8 bytes are enough for every key but that of a numeric
 * with an exponent, which needs up to NAY_KEY_NUMERIC_MAX. out may be NULL: then the text is
 * checked, *key_len is what the key needs, and cap is ignored. text and out must not overlap. On
 * failure out and *key_len are untouched. NAY_EINVAL: not a value of this type, or out of its
 * range; diag says what and at which byte. NAY_EBUFFER: the key is longer than cap.
 */
NAY_API nay_status nay_key_parse(nay_key_type type, const char *text, size_t len, uint8_t *out,
                                 size_t cap, size_t *key_len, nay_diag *diag);

#ifdef __cplusplus
}
#endif

#endif /* NAY_KEY_H */
