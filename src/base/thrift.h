/*
 * thrift.h - a strict reader of Thrift's compact protocol, as Parquet writes it: structs are read
 * field by field, and what the caller does not know is skipped.
 *
 * Bytes may come from anyone. A reader that has met a fault stays at it: every later read gives 0,
 * an empty text, or no further field, so that callers check `bad` once, at the end of a struct.
 * Nothing is allocated, no call recurses, and no count is believed that the bytes left cannot hold.
 */
#ifndef NAY_THRIFT_H
#define NAY_THRIFT_H

#include "base/base.h"

typedef enum nay_thrift_type {
  NAY_THRIFT_TRUE = 1, /* a boolean field has its value in its type */
  NAY_THRIFT_FALSE = 2,
  NAY_THRIFT_I8 = 3,
  NAY_THRIFT_I16 = 4,
  NAY_THRIFT_I32 = 5,
  NAY_THRIFT_I64 = 6,
  NAY_THRIFT_DOUBLE = 7,
  NAY_THRIFT_BINARY = 8,
  NAY_THRIFT_LIST = 9,
  NAY_THRIFT_SET = 10,
  NAY_THRIFT_MAP = 11,
  NAY_THRIFT_STRUCT = 12,
  NAY_THRIFT_UUID = 13
} nay_thrift_type;

#define NAY_THRIFT_MAX_DEPTH 24u /* of what is skipped */

typedef struct nay_thrift {
  const uint8_t *at, *end;
  const char *bad; /* what is wrong at `at`; NULL: nothing yet */
} nay_thrift;

/* nay_thrift_field: where a struct is read. All zero before its first field. */
typedef struct nay_thrift_field {
  int32_t id;
  unsigned type; /* nay_thrift_type */
} nay_thrift_field;

/* nay__thrift_next: the next field of a struct; false at its end, and after a fault. The caller
 * reads the field, or skips it. */
bool nay__thrift_next(nay_thrift *t, nay_thrift_field *field);

/* nay__thrift_skip: the value of a field. */
void nay__thrift_skip(nay_thrift *t, const nay_thrift_field *field);

/* nay__thrift_int: an integer field of 8, 16, 32 or 64 bits, or a boolean. A fault: another type.
 */
int64_t nay__thrift_int(nay_thrift *t, const nay_thrift_field *field);

/* nay__thrift_binary: the bytes of a text field, where they are. */
const uint8_t *nay__thrift_binary(nay_thrift *t, const nay_thrift_field *field, size_t *len);

/* nay__thrift_list: how many elements a list of this type has; they follow. */
size_t nay__thrift_list(nay_thrift *t, const nay_thrift_field *field, unsigned type);

/* nay__thrift_element: an element of a list of texts. */
const uint8_t *nay__thrift_element(nay_thrift *t, size_t *len);

/* nay__thrift_struct: whether a field is a struct, whose fields follow. A fault: it is not. */
bool nay__thrift_struct(nay_thrift *t, const nay_thrift_field *field);

#endif /* NAY_THRIFT_H */
