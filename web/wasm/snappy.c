/*
 * snappy.c - a decoder of snappy's raw format, for the compressed blocks of tables: LevelDB
 * compresses with it unless told otherwise. There is no encoder: tables are only read here.
 *
 *   length of the output, varint32 | element | element | ...
 *
 *   tag & 3   element
 *   0         literal: (tag >> 2) + 1 bytes, or that many as 1 to 4 bytes after the tag say (60 to
 * 63) 1         copy: 4 to 11 bytes, offset of 11 bits: 3 in the tag, 8 behind it 2, 3      copy:
 * (tag >> 2) + 1 bytes, offset of 2 or 4 bytes behind it
 *
 * A copy may overlap what it writes. The bytes may come from anyone: each element is checked
 * against both ends before a byte is written, and the output must end with the input.
 */
#include "snappy.h"

#include <string.h>

typedef struct snappy_input {
  const uint8_t *at, *end;
} snappy_input;

static bool input_number(snappy_input *in, unsigned nbytes, uint32_t *number) {
  if ((size_t)(in->end - in->at) < nbytes) return false;
  *number = 0;
  for (unsigned i = 0; i < nbytes; i++) *number |= (uint32_t)in->at[i] << 8 * i;
  in->at += nbytes;
  return true;
}

static bool input_varint(snappy_input *in, uint32_t *number) {
  *number = 0;
  for (unsigned shift = 0; shift < 35; shift += 7) {
    if (in->at == in->end) return false;
    uint8_t byte = *in->at++;
    if (shift == 28 && byte > 15) return false;
    *number |= (uint32_t)(byte & 127u) << shift;
    if (byte < 128) return true;
  }
  return false;
}

/* A literal's length, or a copy's length and offset (0 for a literal). */
static bool input_element(snappy_input *in, uint32_t *len, uint32_t *offset) {
  uint32_t tag = *in->at++;
  *offset = 0;
  *len = (tag >> 2) + 1;
  switch (tag & 3) {
    case 0:
      if (*len <= 60) return true;
      if (!input_number(in, *len - 60, len) || *len == UINT32_MAX) return false;
      ++*len;
      return true;
    case 1:
      *len = (tag >> 2 & 7) + 4;
      if (!input_number(in, 1, offset)) return false;
      *offset |= tag >> 5 << 8;
      break;
    default:
      if (!input_number(in, (tag & 3) == 2 ? 2 : 4, offset)) return false;
  }
  return *offset != 0;
}

nay_status nayw_snappy_size(void *ctx, const void *src, size_t len, size_t *size) {
  (void)ctx;
  snappy_input in = {src, (const uint8_t *)src + len};
  uint32_t number;
  if (!input_varint(&in, &number)) return NAY_ECORRUPT;
  *size = number;
  return NAY_OK;
}

nay_status nayw_snappy_uncompress(void *ctx, const void *src, size_t len, void *dst, size_t size) {
  (void)ctx;
  snappy_input in = {src, (const uint8_t *)src + len};
  uint8_t *out = dst, *end = out + size;
  uint32_t number, offset;
  if (!input_varint(&in, &number) || number != size) return NAY_ECORRUPT;
  while (in.at < in.end) {
    if (!input_element(&in, &number, &offset) || number > (size_t)(end - out)) return NAY_ECORRUPT;
    if (offset == 0) {
      if (number > (size_t)(in.end - in.at)) return NAY_ECORRUPT;
      memcpy(out, in.at, number);
      in.at += number;
    } else {
      if (offset > (size_t)(out - (uint8_t *)dst)) return NAY_ECORRUPT;
      const uint8_t *from = out - offset;
      for (uint32_t i = 0; i < number; i++) out[i] = from[i]; /* may overlap */
    }
    out += number;
  }
  return out == end ? NAY_OK : NAY_ECORRUPT;
}
