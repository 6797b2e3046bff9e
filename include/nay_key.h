/* Stable: a program works with every later library of the same SONAME. */
/*
 * nay_key.h - typed values as keys: one canonical form, so that the same value is the same key in
 * every program and language.
 *
 *   uint8_t key[8];
 *   nay_key_int(-7, key);
 *   nay_filter_add(f, key, sizeof key, NULL);
 *
 *   size_t len;                          // the same key from text, such as a field of a CSV file
 *   if (nay_key_parse(NAY_KEY_INT, "-7", 2, &diag, key, sizeof key, &len) != NAY_OK) return 1;
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
 * little-endian, but in ordered keys. The type is not part of the key: values that are compared
 * must have one type.
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
  NAY_KEY_B64 = 9,       /* the bytes that the base64 text encodes */
  /* for range filters: 8 bytes, big-endian, in the order of the values; int: -2^63 to 2^63 - 1 */
  NAY_KEY_ORDERED_INT = 10,
  NAY_KEY_ORDERED_FLOAT = 11,
  NAY_KEY_ORDERED_DATE = 12,
  NAY_KEY_ORDERED_TIMESTAMP = 13
} nay_key_type;

/* nay_key_type_name: "text", "int", ..., "ordered-timestamp"; NULL for a number that no type has.
 * A name is a key description, so nay_key_description_parse is the inverse. */
NAY_API const char *nay_key_type_name(nay_key_type type);

/* ---- values ---------------------------------------------------------------------------------- */

/*
 * nay_key_int: an integer of any width; a bool as 0 or 1; a date as days, a timestamp as
 * microseconds since 1970-01-01 UTC, where INT64_MAX is "infinity" and INT64_MIN "-infinity". An
 * unsigned integer above 2^63 - 1 is cast, nay_key_int((int64_t)x, key): its key is that of
 * x - 2^64. Such a pair collides, which costs a false positive, never a false nay.
 */
NAY_API void nay_key_int(int64_t value, uint8_t key[8]);

/* nay_key_float: a float or double. -0 becomes +0, and every NaN 0x7ff8000000000000. */
NAY_API void nay_key_float(double value, uint8_t key[8]);

/* ---- text ------------------------------------------------------------------------------------ */

/*
 * NAY_KEY_NUMERIC_MAX: bytes of the longest numeric key: a sign, 131,072 digits before the point
 * and 16,383 after it, which are PostgreSQL's limits.
 */
#define NAY_KEY_NUMERIC_MAX (1u + 131072u + 1u + 16383u)

/*
 * nay_key_parse: text[0, len) of a type -> the key in dst[0, cap), *written bytes of it. White
 * space around the value is an error. len + 8 bytes are enough for every key but that of a numeric
 * with an exponent, which needs up to NAY_KEY_NUMERIC_MAX. dst may be NULL: then the text is
 * checked, *written is what the key needs, and cap is ignored. text and dst must not overlap. On
 * failure dst and *written are untouched. NAY_EINVAL: not a value of this type, or out of its
 * range; diag says what and at which byte. NAY_EBUFFER: the key is longer than cap.
 */
NAY_API nay_status nay_key_parse(nay_key_type type, const char *text, size_t len, nay_diag *diag,
                                 uint8_t *dst, size_t cap, size_t *written);

/* ---- transformations ------------------------------------------------------------------------- */

/* nay_key_transformation: what is done to a text before its type reads it. */
typedef enum nay_key_transformation {
  /* "trim": drops white space at both ends: space, \t, \n, \v, \f, \r. Bytes above 0x7f are no
   * white space, so that U+00A0 and the like stay. */
  NAY_KEY_TRIM = 1,
  /* "ascii-lower": A to Z become a to z. All other bytes stay, so that `É` is not `é`. */
  NAY_KEY_ASCII_LOWER = 2
} nay_key_transformation;

/* ---- descriptions ---------------------------------------------------------------------------- */

/*
 * A key description says how the keys of a filter, a map or a table were made of texts. A file
 * carries it, so that nobody has to remember it:
 *
 *   nay_filter_set_key(f, "int");                             // before the file is saved
 *
 *   nay_key_description d = {.size = sizeof d};               // in another program, from its file
 *   if (nay_key_description_parse(nay_filter_key(f), &diag, &d) != NAY_OK) return 1;
 *   if (nay_key_convert(&d, "007", 3, &diag, key, sizeof key, &len) != NAY_OK) return 1;
 *   maybe = nay_filter_may_contain(f, key, len);
 *
 * It is a text of at most NAY_KEY_DESCRIPTION_MAX bytes:
 *
 *   description      type *( "," transformation )
 *   transformation   name *( ":" argument )
 *   type, name       [a-z] [a-z0-9-]*
 *   argument         bytes; those that are not printable ASCII, and , : % stand as %XX
 *
 * The transformations are applied to the text in this order, then the type reads it. text, bytes,
 * hex and b64 are one type, whose name in files is text: hex and b64 are notations of a text and
 * are decoded first. "trim" and "ascii-lower" are known and have no argument; their order does not
 * matter, and files state them once, in this order. trim also drops white space around a notation;
 * ascii-lower changes keys of type text alone: the other types read letters of either case. A
 * transformation that a library does not know is NAY_EVERSION where a key is converted; a file with
 * it still opens, copies and merges.
 */
#define NAY_KEY_DESCRIPTION_MAX 63u

/* nay_key_description: a description that this library can follow; nothing in it is allocated. */
typedef struct nay_key_description {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  nay_key_type type;
  uint32_t ntransformations;
  uint64_t transformations; /* nay_key_transformation, or-ed */
  uint64_t reserved[13];    /* the library's */
} nay_key_description;

/*
 * nay_key_description_parse: NAY_EINVAL: not a description; NAY_EVERSION: a type or a
 * transformation that this library does not know. diag->offset counts bytes of the text.
 */
NAY_API nay_status nay_key_description_parse(const char *text, nay_diag *diag,
                                             nay_key_description *description);

/*
 * nay_key_description_canonical: the one spelling of the description text[0, len), ended by 0:
 * notations become the type that they are a notation of. Types and transformations need not be
 * known here. Files state this form, and nothing for "text". NAY_EINVAL: not a description.
 */
NAY_API nay_status nay_key_description_canonical(const char *text, size_t len, nay_diag *diag,
                                                 char canonical[NAY_KEY_DESCRIPTION_MAX + 1]);

/*
 * nay_key_description_same: whether two descriptions make the same keys of the same values: equal
 * but for text, bytes, hex and b64, which are one type. False if one is no description.
 */
NAY_API bool nay_key_description_same(const char *a, const char *b);

/*
 * nay_key_convert: as nay_key_parse, for a description; dst has room for len + 8 bytes, or what a
 * call with NULL measured. diag->offset counts bytes of the text before it is transformed.
 */
NAY_API nay_status nay_key_convert(const nay_key_description *description, const char *text,
                                   size_t len, nay_diag *diag, uint8_t *dst, size_t cap,
                                   size_t *written);

/*
 * nay_filter_key: the key description of a filter, which ends in 0 and lives as long as the filter;
 * "text" when none was set. Calls that take keys take their bytes, whatever it says.
 */
NAY_API const char *nay_filter_key(const nay_filter *filter);

/*
 * nay_filter_set_key: changes what the filter states, not its keys. Filters with different
 * descriptions do not merge. NAY_EINVAL, NAY_EVERSION: as nay_key_description_parse. NAY_ENOTSUP:
 * another system's layout, which has no place for any but text.
 */
NAY_API nay_status nay_filter_set_key(nay_filter *filter, const char *description);

#ifdef __cplusplus
}
#endif

#endif /* NAY_KEY_H */
