/* ldb_file.h - where the filter block of a LevelDB table is: enough to damage it on purpose. */
#ifndef NAY_TEST_LDB_FILE_H
#define NAY_TEST_LDB_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The filter block's contents, without its trailer of 5 bytes. */
typedef struct ldb_filter_block {
  uint64_t offset, size;
  uint64_t filters; /* bytes of it that are filters; then come their offsets, then 5 bytes */
  char name[64];    /* of the policy */
} ldb_filter_block;

static inline uint64_t ldb_varint(const uint8_t **p) {
  uint64_t v = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    uint8_t byte = *(*p)++;
    v |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) break;
  }
  return v;
}

/* From the bytes of a whole file that LevelDB wrote; false when it has no filter. */
static inline bool ldb_find_filter(const uint8_t *file, size_t len, ldb_filter_block *block) {
  if (len < 48) return false;
  const uint8_t *p = file + len - 48;
  uint64_t at = ldb_varint(&p), size = ldb_varint(&p);
  if (at + size + 5 > len || file[at + size] != 0) return false; /* compressed: not seen so far */
  p = file + at;
  uint64_t shared = ldb_varint(&p), name_len = ldb_varint(&p), value_len = ldb_varint(&p);
  if (size <= 8 || shared != 0 || value_len == 0 || name_len < 8 || name_len - 7 >= 64)
    return false;
  memcpy(block->name, p + 7, name_len - 7); /* after "filter." */
  block->name[name_len - 7] = '\0';
  p += name_len;
  block->offset = ldb_varint(&p);
  block->size = ldb_varint(&p);
  if (block->size < 5 || block->offset + block->size > len) return false;
  const uint8_t *w = file + block->offset + block->size - 5;
  block->filters =
      (uint64_t)w[0] | (uint64_t)w[1] << 8 | (uint64_t)w[2] << 16 | (uint64_t)w[3] << 24;
  return true;
}

#endif /* NAY_TEST_LDB_FILE_H */
