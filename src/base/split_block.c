/* split_block.c - see split_block.h. */
#include "base/split_block.h"

#include "base/thrift.h"

/* A union whose one member is number 1, an empty struct: the only algorithm, hash and codec. */
static bool split_block_union(nay_thrift *t, const nay_thrift_field *field) {
  nay_thrift_field member = {0, 0};
  unsigned known = 0, other = 0;
  if (!nay__thrift_struct(t, field)) return false;
  while (nay__thrift_next(t, &member)) {
    known += member.id == 1 && member.type == NAY_THRIFT_STRUCT;
    other += member.id != 1 || member.type != NAY_THRIFT_STRUCT;
    nay__thrift_skip(t, &member);
  }
  return known == 1 && other == 0;
}

nay_status nay__sbbf_header(const uint8_t *bytes, size_t len, size_t *header, uint64_t *nbytes,
                            const char **what, size_t *at) {
  nay_thrift t = {bytes, bytes + len, NULL};
  nay_thrift_field field = {0, 0};
  int64_t size = -1;
  unsigned unions = 0;
  bool other = false;
  while (nay__thrift_next(&t, &field)) {
    if (field.id == 1) {
      size = nay__thrift_int(&t, &field);
    } else if (field.id >= 2 && field.id <= 4) {
      unions |= 1u << field.id;
      other |= !split_block_union(&t, &field);
    } else {
      nay__thrift_skip(&t, &field);
    }
  }
  *at = (size_t)(t.at - bytes);
  *what = t.bad;
  if (t.bad != NULL) return NAY_ECORRUPT;
  if (other || unions != (1u << 2 | 1u << 3 | 1u << 4)) {
    *what = "another algorithm, hash or compression of Parquet";
    return NAY_ENOTSUP;
  }
  if (size < NAY_SBBF_BYTES || size % NAY_SBBF_BYTES != 0 || size > INT32_MAX) {
    *what = "numBytes is not a number of blocks of 32 bytes";
    return NAY_ECORRUPT;
  }
  *header = *at;
  *nbytes = (uint64_t)size;
  return NAY_OK;
}
